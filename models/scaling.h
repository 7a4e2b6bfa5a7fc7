/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scaling: the bandwidth of each level and the peak over the number of threads, the `scaling[]` and
 * `scaling_units[]` of model.json; which numbers of threads to measure, where a curve saturates, and roofs for
 * numbers of threads between the measured ones. */
#pragma once

#include "models/model.h"

#define CARM_SCALING_COMPACT "compact" /* core after core */
#define CARM_SCALING_SPREAD  "spread"  /* round sockets, memory domains and caches in turn */
#define CARM_SCALING_PEAK    "peak"

enum {
    CARM_SCALING_STEPS = 24, /* numbers of threads of one layout that are measured, at most */
    CARM_SCALING_LINE = 200, /* of a sentence */
};

struct carm_scaling_point {
    int threads;
    double rate; /* byte/s or flop/s, all threads together */
    struct carm_ci ci95;
    char code[CARM_NAME_MAX];
    uint64_t working_set_bytes; /* all threads together; 0 = registers alone */
    bool disturbed;
};

/* The curve of one level, or of the peak, with one layout of threads. */
struct carm_scaling {
    char layout[CARM_NAME_MAX]; /* CARM_SCALING_COMPACT, _SPREAD, or the build's --threads */
    char isa[CARM_NAME_MAX];
    char precision[CARM_NAME_MAX];
    char level[CARM_NAME_MAX];         /* a level of the model, or CARM_SCALING_PEAK */
    char kind[CARM_NAME_MAX];          /* mix of loads and stores; of the peak the operation */
    struct carm_scaling_point *points; /* by threads, ascending */
    size_t npoints;
};

/* A place that the first `threads` threads of the first layout fill: 8 threads, "l3:0". */
struct carm_scaling_unit {
    char place[CARM_NAME_MAX];
    int threads;
};

/* ---- which numbers of threads to measure ------------------------------------------------------------ */

/* The first numbers of threads: powers of two, the threads of each place, the most.
 * places  [nplaces] threads of places, in any order
 * most    1 ..
 * steps   out, ascending
 * returns how many */
size_t carm_scaling_begin(int most, const int *places, size_t nplaces,
                          int steps[CARM_SCALING_STEPS]);

/* The number of threads at which a straight line between two measured neighbours may be furthest from the curve.
 * A concave curve, such as the curve of a resource which saturates, lies between this line and the lines through the
 * neighbours and the points beyond them.
 * curves  [n] of one layout
 * returns 0 where all curves are known to 5%, or within their intervals */
int carm_scaling_next(const struct carm_scaling *curves, size_t n);

/* ---- what the curves say ---------------------------------------------------------------------------- */

/* The curve of a level or the peak in the model's first layout, borrowed; NULL = not measured. */
const struct carm_scaling *carm_scaling_find(const struct carm_model *model, const char *level);

/* The rate of a number of threads, on a line between the measured numbers on both sides.
 * between  [2] out: the two measured numbers; both are `threads` where it was measured
 * returns 0 outside of the curve */
double carm_scaling_rate(const struct carm_scaling *curve, int threads, int between[2]);

/* The fewest threads that reach 95% of the best rate of up to `most` threads. `most` = the curve does not saturate; 0 =
 * outside of the curve. */
int carm_scaling_enough(const struct carm_scaling *curve, int most);

/* Whether few enough of `most` threads saturate a level to report it: nine tenths or fewer. */
bool carm_scaling_saturates(int enough, int most);

/* "4 of its 8 threads are enough: they reach 95% of the bandwidth of DRAM"; "" where the level does not saturate with
 * so many threads, or has no curve. returns dst */
char *carm_scaling_words(char *dst, size_t size, const struct carm_model *model, const char *level,
                         int threads);

/* A sentence for each place in which a level's bandwidth saturates, and for the whole machine:
 * "DRAM: 4 of 8 threads on l3:0 reach 95% of its bandwidth (31.2 GB/s)".
 * lines  [most] out
 * returns how many */
size_t carm_scaling_say(const struct carm_model *model, char (*lines)[CARM_SCALING_LINE],
                        size_t most);

/* ---- roofs of other numbers of threads -------------------------------------------------------------- */

/* Completes a model in memory, which must not be written afterwards. Vector sets of dp without memory roofs get those
 * of sp, or the reverse, as their loads and stores move the same bytes. Then roofs are added for numbers of threads
 * that have none and that the first layout's curves reach. A roof is the curve of its level, or of the peak, times the
 * roof's ratio to this curve, on a line between the two numbers of threads that have roofs. carm_roofs.between has the
 * measured numbers on both sides.
 * returns 0 or -CARM_ENOMEM */
int carm_scaling_fill(struct carm_model *model, struct carm_err *err);

/* Whether carm_scaling_fill can add roofs of an ISA and precision for a number of threads. */
bool carm_scaling_reaches(const struct carm_model *model, const char *isa, const char *precision,
                          int threads);

/* "the roofs of 3 threads are interpolated between 2 and 4 threads (carm build --scaling)" for roofs from
 * carm_scaling_fill, else "". returns dst */
char *carm_scaling_origin(char *dst, size_t size, const struct carm_roofs *roofs);
