/* SPDX-License-Identifier: GPL-3.0-or-later */
/* System calls without a C library. Errors are returned as -errno. */
#pragma once

#include <stdint.h>
#include <sys/syscall.h>

static inline long carm_sys6(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                             uint64_t f)
{
    long result = nr;
    register uint64_t r10 __asm__("r10") = d;
    register uint64_t r8 __asm__("r8") = e;
    register uint64_t r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline long carm_sys4(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return carm_sys6(nr, a, b, c, d, 0, 0);
}

static inline long carm_sys2(long nr, uint64_t a, uint64_t b)
{
    return carm_sys6(nr, a, b, 0, 0, 0, 0);
}
