/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opponents against carm's codes in one run: pairs of short runs in turn, in rounds over all rows, until each
 * row can be decided or the time is up. Prints a table at the end. */
#pragma once

#include "harness/machine/measure.h"
#include "models/model.h"

enum { BENCH_ROUNDS_MAX = 256 };

struct bench_row;

/* Another program's rate on the row's working set, byte/s or flop/s; 0 = it cannot or failed.
 * roof  what carm's code just reached, for the length of the run */
typedef double bench_run_fn(const struct bench_row *row, const struct carm_topo *topo, double roof);

struct bench_row {
    const char *name, *what; /* the opponent; the mix or operation of the roof; borrowed */
    const char *isa, *level; /* borrowed from the model; level "" for a peak */
    const char *code;        /* carm's; borrowed */
    struct carm_code theirs; /* run in carm's harness, unless other is set */
    bench_run_fn *other;
    uint64_t set_bytes; /* of all threads; 0 for a peak */
    double target;      /* seconds of a repetition */
    int threads;
    bool alone; /* each thread counts by itself: nothing is shared */

    /* found */
    size_t n;                        /* rounds with a sound pair */
    double ratios[BENCH_ROUNDS_MAX]; /* opponent over roof: the median of the round's pairs */
    double roofs[BENCH_ROUNDS_MAX];
    double best, best_roof; /* fastest sound runs of both */
};

/* Where a model's roof is found, for bench_row. */
void bench_row_memory(struct bench_row *row, const struct carm_model *model,
                      const struct carm_roofs *roofs, const struct carm_memory_roof *roof,
                      const struct carm_topo *topo);
void bench_row_compute(struct bench_row *row, const struct carm_roofs *roofs,
                       const struct carm_compute_roof *roof);

/* Runs rows[n] for so long and prints the table. A round opens its buffers anew, so that its pages are others.
 * returns 0 or the error of an image or a team */
int bench_rows(struct bench_row *rows, size_t n, const struct carm_topo *topo,
               const struct carm_clock *clock, double seconds, struct carm_err *err);

/* main of a program MODEL.json [SECONDS]. find: rows of a model, at most max; returns how many. */
typedef size_t bench_find_fn(const struct carm_model *model, const struct carm_topo *topo,
                             struct bench_row *rows, size_t max);
int bench_main(int argc, char **argv, const char *title, bench_find_fn *find);
