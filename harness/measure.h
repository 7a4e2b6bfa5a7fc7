/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine: a test code, run many times on windows of a working set, and what came of it. */
#ifndef CARM_HARNESS_MEASURE_H
#define CARM_HARNESS_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "asm/image.h"
#include "harness/stats.h"
#include "harness/team.h"

/* What one repetition does on each thread: `passes` passes of `iterations` loop iterations over one
 * window; the repetitions take the `windows` windows of the working set in turn. With two streams a
 * window is a piece of the first one and the same piece of the second (harness/window.h). With a stride
 * each lap around the set reads others of its lines. Kind R has one window, from which each repetition
 * draws other lines. */
struct carm_shape {
    uint64_t iterations, passes, windows;
    uint64_t
        window_bytes; /* iterations x stride, of each stream; R: a power of two of lines, the whole
                            * set; 0 for codes without memory */
};

struct carm_measurement {
    const struct carm_code *code;
    int threads;
    struct carm_shape shape;
    struct carm_stats seconds; /* of one repetition, all threads: first start to last end, the
                                * empty code's time subtracted */
    double bytes, flops;       /* of one repetition, all threads: loaded and stored, no line that is
                                * left out */
    double cycles;       /* median core cycles of one repetition: each repetition's time by the
                                * clock that was measured beside it, so that a moving clock cancels */
    double clock_hz;     /* core clock under this load: cycles / seconds.median */
    double clock_spread; /* relative: late in the point against early */
    double shortfall;    /* by how much it misses what was expected; 0 when it does not */
    double slow_share;   /* repetitions that took over 1.5 times the median */
    double steal_share;  /* of the time, taken by the hypervisor (/proc/stat) */
    int64_t switches;    /* involuntary context switches */
    uint64_t migrations;
    int attempts;
    bool disturbed;
    char note[160]; /* why it is disturbed; "" when it is not */
};

/* Time that may still go into measuring disturbed points again. */
struct carm_budget {
    double seconds;
};

/* Measures the empty code, so that its time can be subtracted from later points. */
void carm_measure_calibrate(struct carm_team *team, const struct carm_code *empty);

/* Chooses, for each thread by itself, the 2 MiB page of its buffer on which a working set of that
 * size streams fastest; later sets that fit there lie there. On bare metal all are alike; in a
 * virtual machine the pages behind a 2 MiB page may be scattered, so that a set conflicts with
 * itself in the L2 cache, more on one than on another.
 * set_bytes  of one thread, at most 2 MiB; places: how many pages to try */
void carm_measure_place(struct carm_team *team, const struct carm_code *code, uint64_t set_bytes,
                        size_t places);

/* Chooses windows and passes so that one repetition takes about target_seconds.
 * set_bytes  working set of one thread; rounded down to whole loop iterations (up to one); of two
 *            streams both, with up to 4 KiB of padding; kind R: to a power of two of lines (up to two).
 *            It is touched here. Ignored for codes without memory. */
void carm_measure_shape(struct carm_team *team, const struct carm_code *code, uint64_t set_bytes,
                        double target_seconds, struct carm_shape *shape);

/* The shape of a repetition of about `want` loop iterations on a working set of that size,
 * which has to be touched. */
void carm_measure_shape_of(const struct carm_code *code, uint64_t set_bytes, uint64_t want,
                           struct carm_shape *shape);

/* The working set of one thread, bytes: all windows, of both streams where there are two, without their
 * padding. With a stride it contains the lines that one lap leaves out and another one reads. */
uint64_t carm_measure_set_bytes(const struct carm_code *code, const struct carm_shape *shape);

/* Runs reps (<= team->max_reps) repetitions after one warming lap and describes them. Measures again
 * up to twice when disturbed, while the budget (NULL = none) lasts, and keeps the quietest.
 * expect  byte or flop per core cycle, all threads, that short measurements just before promised, or
 *         fewer threads gave; 0 = none. A point that falls 3% short of it was disturbed by something
 *         that no counter shows. Only for what a core does by itself: shared caches can start fast
 *         and settle lower (writes into an L3: 129 to 102 GB/s after some milliseconds seen), where
 *         the long measurement is right. */
void carm_measure_run(struct carm_team *team, const struct carm_code *code,
                      const struct carm_shape *shape, size_t reps, double expect,
                      struct carm_budget *budget, struct carm_measurement *out);

/* How candidates are compared. */
enum carm_search {
    CARM_SEARCH_CORE,   /* per core cycle, so that a wandering clock does not choose */
    CARM_SEARCH_SHARED, /* per second, and three times as long: a shared cache, which has a clock of
                         * its own and settles within milliseconds only */
    CARM_SEARCH_MEMORY, /* per second */
};

/* The best of n candidates (at most 64) by their median rate, in interleaved rounds of short
 * measurements; the first three run a longer final.
 * rates  [n] out: byte or flop per cycle or second of each, NULL = not wanted
 * returns its index */
size_t carm_measure_best(struct carm_team *team, const struct carm_code *const *codes, size_t n,
                         uint64_t set_bytes, double target_seconds, enum carm_search search,
                         double *rates);

/* Rates of a measurement and of its interval: work is m->bytes or m->flops. */
double carm_measure_rate(const struct carm_measurement *m, double work);

#endif
