/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A part of a program (a loop, a function) under the roofs of its own ISA, precision and
 * threads, and the program's gain when this part gets faster.
 * source: Amdahl 1967 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "models/model.h"
#include "models/place/own.h"
#include "models/place/place.h"
#include "models/place/points.h"
#include "models/place/runtime.h"

struct carm_hot {
    const struct carm_roofs
        *roofs; /* borrowed from the model; NULL = roofs mixed from kinds of cores for the part */
    char note[CARM_TEXT_MAX]; /* why other roofs than the part's own had to be chosen; "" =
                                     * they are its own */
    bool integers;            /* operations on integers; false = flops */
    bool placed;              /* it computes, more than 0.01 flop/byte: place is filled */
    bool unbounded;           /* the model has no peak of its operations: note says so */
    struct carm_place place;  /* on the cache-aware model */
    bool has_own;
    struct carm_own_roof own;
    /* The next ceiling above the part; for a part that does not compute, the bandwidth of the fastest level. */
    bool has_ceiling;
    char ceiling[CARM_NAME_MAX]; /* "L2", "fma" */
    double of_ceiling;           /* share of the roof that is reached, 0 .. 1 */
    const char *bound;           /* "memory", "compute", "both"; "" = not known */
    double gain;                 /* up to the roof of its own mix, or up to the machine's roof; >=
                                  * 1 */
};

/* point  has flops, operations on integers (by its metric), or only bytes; seconds > 0
 * returns false when the model has no roofs, nothing was counted, or there is no memory */
bool carm_hot_find(const struct carm_model *model, const struct carm_point *point,
                   struct carm_hot *out);

/* The program's gain when a part that takes `share` of its time gets `gain` times as fast. */
double carm_hot_amdahl(double share, double gain);

/* Whether a part computes enough for roofs of its operations: more than 0.01 for each byte. */
bool carm_hot_computes(double operations, double bytes);

/* "12%"; "<1%" for a positive share below 1%. returns dst */
const char *carm_hot_share(char dst[16], double share);

/* One sentence: the change to try and the program's gain. returns dst */
char *carm_hot_advice(char *dst, size_t size, const struct carm_hot *hot, double share);
