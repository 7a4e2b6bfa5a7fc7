/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known of the instructions behind a point: the columns that `carm run` and regions write
 * beside flops and bytes. */
#ifndef CARM_MODELS_PLACE_RUNMIX_H
#define CARM_MODELS_PLACE_RUNMIX_H

#include <stdbool.h>

enum carm_runmix_part {
    CARM_RUNMIX_INSTRUCTIONS,
    CARM_RUNMIX_FP, /* instructions that compute flops */
    CARM_RUNMIX_ADDS,
    CARM_RUNMIX_MULS,
    CARM_RUNMIX_FMAS,
    CARM_RUNMIX_PREFETCHES,
    CARM_RUNMIX_LOADS, /* accesses */
    CARM_RUNMIX_OTHER, /* flops, here and below: neither dp nor sp */
    CARM_RUNMIX_DP,    /* scalar; the next ones are of 128, 256 and 512 bits */
    CARM_RUNMIX_SP = CARM_RUNMIX_DP + 4,
    CARM_RUNMIX_COUNT = CARM_RUNMIX_SP + 4,
};

/* A part that is not known is negative. */
struct carm_runmix {
    double q[CARM_RUNMIX_COUNT];
};

/* The columns' names, which are those of the quantities of harness/count/quantities.h. */
static inline const char *carm_runmix_name(enum carm_runmix_part part)
{
    static const char *const names[] = {"instructions", "fp_instructions", "fp_adds", "fp_muls",
                                        "fp_fmas",      "prefetches",      "loads",   "flops_other",
                                        "dp_scalar",    "dp_128",          "dp_256",  "dp_512",
                                        "sp_scalar",    "sp_128",          "sp_256",  "sp_512"};
    return names[part];
}

static inline bool carm_runmix_has(const struct carm_runmix *mix, enum carm_runmix_part part)
{
    return mix->q[part] >= 0.0;
}

#endif
