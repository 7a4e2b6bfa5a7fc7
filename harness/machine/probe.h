/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The issue width as a probe: instructions that the core issues per cycle right now. A busy
 * thread on the other hardware thread of the core takes up to half of the width (3.0 instead of
 * 5.5 seen), also from another virtual machine. Neither stolen time nor context switches show
 * such a neighbour. */
#pragma once

#include <stdint.h>

enum { CARM_WIDTH_BINS = 320, CARM_WIDTH_BINS_EACH = 20 /* for one slot a cycle */ };

/* Widths that one hardware thread has shown. */
struct carm_widths {
    uint32_t seen[CARM_WIDTH_BINS]; /* in steps of 1 / CARM_WIDTH_BINS_EACH slots per cycle */
    uint64_t n;
};

/* A core counts as the thread's own from this share of its full width on: single samples scatter
 * by some per cent, a busy sibling takes up to half. */
#define CARM_WIDTH_OWN 0.90

/* One sample, some 3 us long: instructions for each TSC tick, of a mix that no execution port limits.
 * overhead  ticks, as carm_clock_overhead gives */
double carm_probe_width(double overhead);

/* Notes one width, slots per cycle. */
void carm_widths_add(struct carm_widths *widths, double width);

/* The full width, slots per cycle: the widest cluster of samples. Single samples that an
 * interrupt made too wide do not count. 0 before there are enough samples. */
double carm_widths_full(const struct carm_widths *widths);
