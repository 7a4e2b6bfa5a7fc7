/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The counts of one map of an analysis.yaml: total's, or a layer's. */
#ifndef CARM_MODELS_SOL_ANALYSIS_VALUES_H
#define CARM_MODELS_SOL_ANALYSIS_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "models/sol/count.h"
#include "models/sol/yaml.h"

enum carm_sol_value {
    CARM_SOL_COUNT_MACS,
    CARM_SOL_COUNT_FLOPS,
    CARM_SOL_COUNT_OTHER,
    CARM_SOL_COUNT_UNFUSED,
    CARM_SOL_COUNT_FUSED,
    CARM_SOL_COUNT_PREFETCHED,
    CARM_SOL_COUNT_MODEL_IO,
    CARM_SOL_COUNT_INTERMEDIATE,
    CARM_SOL_COUNT_WEIGHT,
    CARM_SOL_COUNT_INPUT,
    CARM_SOL_COUNT_OUTPUT,
    CARM_SOL_COUNT_LAYERS,
    CARM_SOL_COUNT_INTERMEDIATES,
    CARM_SOL_COUNT_KEYS,
};

/* One map's values: total's, or a layer's. */
struct carm_sol_values {
    uint64_t v[CARM_SOL_COUNT_KEYS];
    size_t line[CARM_SOL_COUNT_KEYS]; /* 0 = not given */
    size_t map;                       /* line of the map */
    const char *where;                /* what messages call it */
};

/* "macs", "flops", ... */
const char *carm_sol_values_key(int key);

/* Reads the map that begins next; keys of no count are passed over.
 * values  where is set, the rest 0
 * returns 0, -CARM_EIO, -CARM_ENOMEM, -CARM_EFORMAT (file, line, reason) */
int carm_sol_values_read(struct carm_yaml *yaml, struct carm_sol_values *values,
                         struct carm_err *err);

/* Refuses values that lack what is required, and members that do not agree. */
int carm_sol_values_check(const struct carm_yaml *yaml, const struct carm_sol_values *values,
                          struct carm_err *err);

/* The counts of checked values: intermediate, where it is not given, is what fusing takes away. */
void carm_sol_values_count(const struct carm_sol_values *values, struct carm_sol_counts *counts);

#endif
