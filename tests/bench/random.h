/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random numbers, orders and the clock of the programs whose limits or gains are known. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static uint64_t rng = 88172645463325252u;
static inline uint64_t next_random(void)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return rng;
}

/* The numbers below count in random order, to be freed. */
static inline uint32_t *shuffled(size_t count)
{
    uint32_t *order = (uint32_t *)malloc(count * sizeof *order);
    for (size_t i = 0; i < count; i++) {
        order[i] = (uint32_t)i;
    }
    for (size_t i = count - 1; i > 0; i--) {
        const size_t k = next_random() % (i + 1);
        const uint32_t t = order[i];
        order[i] = order[k];
        order[k] = t;
    }
    return order;
}

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
