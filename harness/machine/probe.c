/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/machine/probe.h"

#include "harness/machine/clock.h"

enum {
    LOOPS = 512, /* some 2.7 us: a quantum of 10 ns is 0.4% */
    FEWEST = 8,  /* a width counts as seen with this many samples ... */
    CLUSTER = 3, /* ... in this many neighbouring bins */
};

#define FOUR(x) x x x x
/* One third no-operations, which need an issue slot and no port; two thirds additions, which do
 * not depend on one another */
#define SIX \
    "nop\n\tadd $1, %%eax\n\tnop\n\tlea 1(%%rcx), %%edx\n\tadd $1, %%ebx\n\tlea 3(%%rcx), %%esi\n\t"

/* of the loop below: 16 times SIX, dec and jnz */
static const double instructions = LOOPS * (16.0 * 6.0 + 2.0);

/* weak: a test replaces it by planted samples */
__attribute__((weak)) double carm_probe_width(double overhead)
{
    uint32_t n = LOOPS;
    uint32_t cpu = 0;
    const uint64_t begin = carm_clock_start();
    __asm__ volatile("1:\n\t" FOUR(FOUR(SIX)) "dec %0\n\tjnz 1b"
                     : "+r"(n)
                     :
                     : "eax", "ebx", "edx", "esi", "cc");
    return instructions / ((double)(carm_clock_stop(&cpu) - begin) - overhead);
}

void carm_widths_add(struct carm_widths *widths, double width)
{
    const double at = width * CARM_WIDTH_BINS_EACH;
    if (at >= 0.0 && at < CARM_WIDTH_BINS) {
        widths->seen[(int)at]++;
        widths->n++;
    }
}

double carm_widths_full(const struct carm_widths *widths)
{
    /* Good samples of a core fall into neighbouring bins. Samples that came out too wide are
     * spread over many bins. */
    const uint64_t need = FEWEST + widths->n / 200;
    const uint32_t *seen = widths->seen;
    int bin = CARM_WIDTH_BINS - CLUSTER;
    while (bin > 0 && (uint64_t)seen[bin] + seen[bin + 1] + seen[bin + 2] < need) {
        bin--;
    }
    int most = bin;
    for (int i = bin + CLUSTER - 1; i >= 0 && i > bin - CLUSTER;
         i--) { /* the cluster's fullest bin, not its edge */
        most = seen[i] > seen[most] ? i : most;
    }
    return bin > 0 ? (most + 0.5) / CARM_WIDTH_BINS_EACH : 0.0;
}
