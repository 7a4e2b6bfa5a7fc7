/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The main of the programs whose limits are known. PROGRAM NAME prints how many iterations take about half a second;
 * PROGRAM NAME K runs the loop that often and prints its seconds on
 * processors. The number of iterations is an argument, so that a
 * counted run does the same as the free one. */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../random.h"

#define LOOP __attribute__((noinline))

#ifndef __cplusplus
static size_t n; /* elements of the data */

static inline void keep_memory(void)
{
    __asm__ volatile("" ::: "memory");
}
/* passes over all elements i, until k elements are done */
#define EACH(i)                                      \
    for (size_t r = 0; r < k; r += n, keep_memory()) \
        for (size_t i = 0; i < n; i++)
#endif

struct loop {
    const char *name;
    void (*set_up)(size_t bytes);
    void (*run)(size_t k);
    size_t bytes; /* of the working set */
};

/* Seconds of all threads on processors: other programs' time does not count. */
static inline double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline int run_loop(const struct loop *loops, size_t nloops, int argc, char **argv)
{
    for (size_t i = 0; i < nloops; i++) {
        const struct loop *l = &loops[i];
        if (argc < 2) {
            puts(l->name);
        }
        if (argc < 2 || strcmp(l->name, argv[1]) != 0) {
            continue;
        }
        if (l->set_up) {
            l->set_up(l->bytes);
        }
        if (argc > 2) {
            const double begin = cpu();
            l->run(strtoull(argv[2], NULL, 10));
            printf("%.6f\n", cpu() - begin);
            return 0;
        }
#ifdef __cplusplus
        size_t k = 1 << 10;
#else
        size_t k = n > 1 << 10 ? n : 1 << 10; /* a pass or more */
#endif
        double seconds = 0.0;
        while (seconds < 0.05) {
            k *= 2;
            const double begin = now(), ran = cpu();
            l->run(k);
            /* others may hold the processor; a loop that sleeps uses it hardly */
            seconds = fmax(cpu() - ran, 0.05 * (now() - begin));
        }
        const double wanted = l->bytes > 1 << 20 ? 1.5 : 0.5; /* large sets take time to make */
        printf("%zu\n", (size_t)((double)k * wanted / seconds));
        return 0;
    }
    return argc < 2 ? 0 : 2;
}
