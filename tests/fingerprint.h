/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One number for a long text that is to stay as it is: codes and plans, by which figures of two versions of carm compare.
 * A change that is meant changes the number. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FINGERPRINT_NONE UINT64_C(0xcbf29ce484222325)

/* FNV-1a; before: FINGERPRINT_NONE, or that of what comes before */
static inline uint64_t fingerprint(uint64_t before, const void *what, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        before = (before ^ ((const uint8_t *)what)[i]) * UINT64_C(0x100000001b3);
    }
    return before;
}
