/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers that are the same in every run. */
#pragma once

#include <stdint.h>

/* seed: not 0 */
static inline uint64_t next_random(uint64_t *seed) /* Marsaglia 2003, xorshift64 */
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}
