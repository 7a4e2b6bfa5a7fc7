/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm run --levels: the program's addresses go to a simulation of the model's caches, and what that
 * counts to the row. */
#ifndef CARM_CLI_RUN_LEVELS_H
#define CARM_CLI_RUN_LEVELS_H

#include <jansson.h>

#include "harness/profile/profile.h"
#include "run/count.h"
#include "models/model.h"

struct carm_run_levels;

struct carm_run_prefetch {
    const char *word; /* "none", "next", "streams" or "both" */
    bool next_line, streams;
};

/* The prefetchers of that word, or NULL. */
const struct carm_run_prefetch *carm_run_prefetch_find(const char *word);

/* prefetch  the prefetchers that are simulated
 * share     of the accesses and the sets to simulate; 1 = all; 0 = all, but 1% of a long program
 * by_code   keep apart what each instruction does, for the loops
 * sink      out: for struct carm_run; borrowed until it is closed
 * returns 0; -CARM_ENOTSUP, -CARM_ENOMEM, -CARM_EINVAL with the reason */
int carm_run_levels_open(struct carm_run_levels **out, const struct carm_model *model,
                         const struct carm_run_prefetch *prefetch, double share, bool by_code,
                         struct carm_address_sink *sink, struct carm_err *err);
void carm_run_levels_close(struct carm_run_levels *levels); /* NULL allowed */

/* Processor time of a free run up to which all accesses are simulated by default: that takes some hundred times
 * as long. */
#define CARM_RUN_LEVELS_WHOLE_SECONDS 1.0

/* For `timed` of struct carm_run. */
void carm_run_levels_timed(void *levels, double cpu_seconds);

/* When the program has ended: fills the row's bytes of the levels where the program was counted; else, or
 * when the simulation failed, the row's note says why there are none. */
void carm_run_levels_take(struct carm_run_levels *levels, struct carm_run *run);

/* The instructions that loaded and stored, for struct carm_profile_input; then, with the rows that they
 * were given, the sums of each row of the profile. places: to be freed
 * returns 0 or -CARM_ENOMEM */
int carm_run_levels_places(const struct carm_run_levels *levels, const struct carm_blocks *blocks,
                           struct carm_profile_place **places, size_t *n, struct carm_err *err);
int carm_run_levels_fold(struct carm_run_levels *levels, const struct carm_blocks *blocks,
                         const struct carm_profile_place *places, size_t n, size_t nrows,
                         struct carm_err *err);

/* Of a row of the profile; levels may be NULL.
 * put     adds its bytes of the levels to the counts
 * json    adds its lookups, misses and unused bytes of each level to an object; returns false: no memory
 * reuse   one sentence: how often a line is used while it is there; returns dst, "" = none came */
void carm_run_levels_put(const struct carm_run_levels *levels, size_t row, struct carm_counts *c);
bool carm_run_levels_json(const struct carm_run_levels *levels, size_t row, json_t *o);
char *carm_run_levels_reuse(char *dst, size_t size, const struct carm_run_levels *levels,
                            size_t row);

/* Prints the levels, the reasons of their misses, and what is unused. */
void carm_run_levels_report(const struct carm_run_levels *levels);

#endif
