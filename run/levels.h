/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm run --levels: the program's addresses go to a simulation of the model's caches. The counted bytes, lookups
 * and misses of each level go to the rows of points.csv. */
#pragma once

#include "harness/profile/profile.h"
#include "models/caches/machine.h"
#include "models/caches/sampled.h"
#include "models/model.h"
#include "run/count.h"

struct carm_run_levels;

/* Each simulated level's lookups, misses and bytes: of a row of the profile, or of the whole program. */
struct carm_run_figures {
    struct carm_level_estimate levels[CARM_HIERARCHY_LEVELS_MAX];
    struct carm_hierarchy_counts counts; /* 0 where a sample was simulated */
};

/* How the caches were simulated, and the whole program's figures. */
struct carm_run_simulation {
    struct carm_hierarchy_config config;
    char caches[CARM_CACHES_TEXT_MAX]; /* the caches in words */
    bool sampled;                      /* a sample of the accesses was simulated, by the plan */
    bool by_length;                    /* the program's length decided whether a sample is taken */
    struct carm_sampled_plan plan;
    uint32_t threads; /* threads of the program with loads or stores */
    bool counted;     /* the simulation ended well: the figures hold */
    struct carm_run_figures whole;
};

struct carm_run_prefetch {
    const char *word; /* "none", "next", "streams" or "both" */
    bool next_line, streams;
};

/* The prefetchers with a name, or NULL. */
const struct carm_run_prefetch *carm_run_prefetch_find(const char *word);

/* changed   NULL, or a model with other caches, which get the same accesses (models/place/settings.h)
 * prefetch  prefetchers to simulate
 * share     share of accesses and sets to simulate; 1 = all; 0 = all of a short program, 1% of a
 *           long one
 * by_code   count accesses for each instruction, so that each loop has figures
 * sink      out: for struct carm_run; borrowed until carm_run_levels_close
 * returns 0; -CARM_ENOTSUP, -CARM_ENOMEM, -CARM_EINVAL with the reason */
int carm_run_levels_open(struct carm_run_levels **out, const struct carm_model *model,
                         const struct carm_model *changed, const struct carm_run_prefetch *prefetch,
                         double share, bool by_code, struct carm_address_sink *sink,
                         struct carm_err *err);
void carm_run_levels_close(struct carm_run_levels *levels); /* NULL allowed */

/* Processor time of a free run up to which all accesses are simulated by default. Simulating
 * takes some hundred times as long as the run. */
#define CARM_RUN_LEVELS_WHOLE_SECONDS 1.0

/* For `timed` of struct carm_run. */
void carm_run_levels_timed(void *levels, double cpu_seconds);

/* After the program's end: sets the row's bytes of the levels if the program was counted.
 * Otherwise, or when the simulation failed, the row's note has the reason.
 * rows  false: the row is not changed */
void carm_run_levels_take(struct carm_run_levels *levels, struct carm_run *run, bool rows);

/* carm_run_levels_places: the instructions with loads and stores, for struct carm_profile_input.
 * carm_run_levels_rows: sums the simulated counts of these places for each row of the profile.
 * places  to be freed
 * returns 0 or -CARM_ENOMEM */
int carm_run_levels_places(const struct carm_run_levels *levels, const struct carm_blocks *blocks,
                           struct carm_profile_place **places, size_t *n, struct carm_err *err);
int carm_run_levels_fold(struct carm_run_levels *levels, const struct carm_blocks *blocks,
                         const struct carm_profile_place *places, size_t nrows,
                         struct carm_err *err);

/* Adds the bytes of the levels of a row of the profile to its counts. levels may be NULL. */
void carm_run_levels_put(const struct carm_run_levels *levels, size_t row, struct carm_counts *c);

/* The figures of a row of the profile; NULL where nothing was simulated, or levels is NULL. */
const struct carm_run_figures *carm_run_levels_row(const struct carm_run_levels *levels,
                                                   size_t row);
/* The places of an instruction's recorded accesses. */
/* Registers of HyperLogLog, which is right within 1.04 / sqrt(64) = 13%.
 * source: Flajolet et al. 2007 */
enum { CARM_RUN_PAGES_BITS = 6, CARM_RUN_PAGES_KEPT = 1 << CARM_RUN_PAGES_BITS };

struct carm_run_places {
    uint8_t sketch[CARM_RUN_PAGES_KEPT]; /* of its pages; carm_run_levels_pages counts them */
    double split;                        /* share of the accesses that touch two lines */
    double contended; /* share of the accesses to lines that several threads write */
    double aliased;   /* share of the loads after a store at the same offset of another page */
    double pages;     /* number of pages of 4 KiB, within some 13% */
    /* of steps from one recorded access of the instruction to the next: */
    double apart;      /* share of the moves by 4096 bytes or more */
    int64_t step;      /* bytes of most steps; 0 = they differ, or a sample was simulated */
    double translated; /* accesses for which a TLB was simulated */
    double walks; /* share of the translated accesses that walks page tables, with pages of 4 KiB */
    /* distance from the page of the last walk: 0 = the next page, 1 = CARM_WALK_FAR or more ... */
    double far;
    double wide; /* ... the same scale from CARM_WALK_FAR to CARM_WALK_WIDE */
};

/* Position of a number of pages between `from` (0) and `to` (1), limited to 0 .. 1 */
static inline double carm_run_between(double pages, double from, double to)
{
    const double at = (pages - from) / (to - from);
    return at < 0.0 ? 0.0 : at > 1.0 ? 1.0 : at;
}

/* Lines that one instruction's loads and stores brought into L1 from each level behind L1.
 * module, at  of the instruction, in the blocks of the run
 * lines       out: [CARM_HIERARCHY_LEVELS_MAX] by the level that held the line; the last: memory
 * returns whether the instruction has figures */
bool carm_run_levels_lines(const struct carm_run_levels *levels, const struct carm_blocks *blocks,
                           uint32_t module, uint64_t at, double *lines,
                           struct carm_run_places *places);
/* The number of pages of 4 KiB that several instructions of a loop access together, within some 13%.
 * sketch  for each register the largest value of the instructions' sketches */
double carm_run_levels_pages(const struct carm_run_levels *levels,
                             const uint8_t sketch[CARM_RUN_PAGES_KEPT]);
const struct carm_run_simulation *carm_run_levels_about(const struct carm_run_levels *levels);
/* The figures of the changed model's caches; NULL where there are none. */
const struct carm_run_levels *carm_run_levels_changed(const struct carm_run_levels *levels);
