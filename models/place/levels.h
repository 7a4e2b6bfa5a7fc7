/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hierarchical view: one point for each level of the memory hierarchy, with the bytes that cross into
 * that level, under that level's own slope. The level whose point is nearest to its roof binds.
 * source: Yang, Kurth, Williams 2020, Hierarchical Roofline Analysis for GPUs, section 3 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "models/caches/counts.h"
#include "models/model.h"

enum { CARM_AT_L1, CARM_AT_L2, CARM_AT_L3, CARM_AT_DRAM, CARM_AT_COUNT };
enum { CARM_LEVELS_TEXT_MAX = 420 };

struct carm_levels_input {
    /* or operations on integers; 0 or less: none, so that bandwidth alone is the roof */
    double flops;
    double seconds; /* > 0 */
    bool integers;
    double bytes[CARM_AT_COUNT]; /* L1: of the core; else between the level and the one before it;
                                   * negative = unknown */
    double low[CARM_AT_COUNT], high[CARM_AT_COUNT]; /* interval of bytes; 0 or less = exact */
    double unused[CARM_AT_COUNT]; /* unused part of these bytes; negative = unknown */
    double misses[CARM_AT_COUNT][CARM_MISS_REASONS]; /* part of these bytes that misses of the
                                                      * level before fetched, by reason; all 0 =
                                                      * unknown */
};

struct carm_levels {
    const char *operation; /* "flop", "op" */
    size_t n;
    struct carm_levels_at {
        int level;                            /* CARM_AT_L1, ... */
        const char *name;                     /* "L1", ..., "DRAM" */
        double intensity;                     /* flop/byte of this level; 0 = no operations */
        double intensity_low, intensity_high; /* interval of intensity */
        double bandwidth;                     /* byte/s */
        double roof;                          /* flop/s at this intensity; 0 = no operations */
        double share;                         /* of the roof, or of the bandwidth */
        double unused;                        /* share of the bytes, negative = unknown */
        double misses[CARM_MISS_REASONS];     /* share of each reason; all 0 = unknown */
    } at[CARM_AT_COUNT];
    int binds;                         /* index, -1 = computation */
    double nearest;                    /* share of the roof of the level that binds */
    char advice[CARM_LEVELS_TEXT_MAX]; /* one sentence */
};

/* The slope of a level (CARM_AT_L1, ...) in the view of levels. L1: the bandwidth of the model's
 * mix at the core. Other levels: the bandwidth in bytes that come into the level. byte/s; 0 =
 * not measured */
double carm_levels_bandwidth(const struct carm_model *model, const struct carm_roofs *roofs,
                             int at);

/* "L1", ..., "DRAM" */
const char *carm_levels_name(int at);

/* Levels without bytes or without a slope are left out.
 * returns false when fewer than two are left: there is no such view */
bool carm_levels_place(const struct carm_model *model, const struct carm_roofs *roofs,
                       const struct carm_levels_input *in, struct carm_levels *out);

/* "L1 0.0757 flop/byte 20.1% of 12.3 Gflop/s, L2 ...", with intervals where bytes are uncertain; without operations
 * "L1 20.1% of 293 GB/s, L2 ...". returns dst */
char *carm_levels_text(char *dst, size_t size, const struct carm_levels *levels);
