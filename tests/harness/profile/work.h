/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program that a test samples: the test's own file, started again. */
#pragma once

#include <time.h>

/* 0.2 s of processor time in user code. returns the program's exit status, 0 */
static inline int work(void)
{
    struct timespec t = {0, 0};
    do {
        for (volatile int i = 0; i < 1000000; i++) { /* its own code, not the kernel's */
        }
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while (t.tv_sec == 0 && t.tv_nsec < 200000000);
    return 0;
}
