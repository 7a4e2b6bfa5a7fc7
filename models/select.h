/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a model that a command selects with --isa and --threads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "models/model.h"

enum { CARM_SELECT_MAX = 16 };

struct carm_select {
    char isa[CARM_SELECT_MAX][CARM_NAME_MAX];
    size_t nisa; /* 0 = all */
    int threads[CARM_SELECT_MAX];
    size_t nthreads;               /* 0 = all */
    char precision[CARM_NAME_MAX]; /* precision of the roofs that are drawn; "" = the first sets */
};

/* Reads comma-separated lists; NULL = all.
 * returns 0 or -CARM_EINVAL (names the list and the error) */
int carm_select_parse(struct carm_select *sel, const char *isa, const char *threads,
                      struct carm_err *err);

bool carm_select_has(const struct carm_select *sel, const char *isa, int threads);

/* Replaces each number of threads for which the model has no roofs of the selected ISAs and precision by the nearest
 * measured number (carm_roofs_distance).
 * note  out: a sentence that names the numbers and the command that measures them; "" = nothing was replaced
 * returns whether a number was replaced */
bool carm_select_nearest(struct carm_select *sel, const struct carm_model *model,
                         char note[CARM_TEXT_MAX]);

/* Checks each list against the model: returns 0 or -CARM_EINVAL with the sets that the model
 * has. */
int carm_select_check(const struct carm_select *sel, const struct carm_model *model,
                      struct carm_err *err);

/* The selected set of roofs with the highest compute roof, of the widest ISA with its threads
 * and precision, of dp and sp if the selection has them (the largest bandwidth where no set has
 * a compute roof), or NULL when none is selected. Borrowed from the model. */
const struct carm_roofs *carm_select_best(const struct carm_select *sel,
                                          const struct carm_model *model);

/* Like carm_model_best_memory (with the model's mix) and carm_model_best_peak, among selected sets only. */
const struct carm_memory_roof *carm_select_best_memory(const struct carm_select *sel,
                                                       const struct carm_model *model,
                                                       const struct carm_roofs *roofs,
                                                       const char *level,
                                                       const struct carm_roofs **whose);
const struct carm_compute_roof *carm_select_best_peak(const struct carm_select *sel,
                                                      const struct carm_model *model,
                                                      const struct carm_roofs *roofs,
                                                      const struct carm_roofs **whose);

/* Whether two names mean one host, such as node7 and node7.cluster.example. */
bool carm_select_same_host(const char *a, const char *b);
