/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks at the core that a program runs on, while it runs: clock and issue width. Each interrupts the program for some
 * 60 us. A thread that sleeps between two looks gets the processor before one that computes, so the core is as warm
 * as the program keeps it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CARM_LOOKS_MAX = 256 };

struct carm_look {
    double clock; /* core cycles per tick of the TSC; hertz after carm_looks_end */
    double width; /* instructions per cycle, of those that carm_probe_width issues */
};

struct carm_looks {
    struct carm_look of[CARM_LOOKS_MAX];
    size_t n;
    size_t every, turn; /* calls for each look that is kept, and calls since the last */
    double overhead;    /* ticks, carm_clock_overhead */
    uint64_t tsc, ns;   /* at the begin */
};

void carm_looks_begin(struct carm_looks *looks);

/* Looks at a processor: moves the calling thread to it, and back. Beyond CARM_LOOKS_MAX looks, every second look is
 * dropped, and half as many are taken from then on. No effect if the thread may not run on this processor. */
void carm_looks_take(struct carm_looks *looks, int cpu);

/* The clocks become hertz. */
void carm_looks_end(struct carm_looks *looks);

struct carm_looks_sum {
    double clock_hz;         /* median */
    double slowest, fastest; /* hertz, 10th and 90th percentile */
    double
        shared; /* share of the looks at which something else ran on the core's other hardware thread */
};

/* full  instructions per cycle of a core whose other threads are idle; 0 = the widest of the looks
 * returns whether there are at least three */
bool carm_looks_sum(const struct carm_looks *looks, double full, struct carm_looks_sum *out);
