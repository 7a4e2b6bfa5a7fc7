/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program of known loops (hot.h). Its argument is the number of iterations of each. It prints the processor time
 * that each took. */
#include "tests/harness/profile/hot.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void hot_library(uint64_t n, double *at);
void hot_template(uint64_t n);

static double data[64] __attribute__((aligned(64)));

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* "name seconds", of a call in the thread that makes it */
#define TIMED(name, call)                            \
    do {                                             \
        const double begin_ = now();                 \
        call;                                        \
        printf("%s %.9f\n", (name), now() - begin_); \
    } while (0)

__attribute__((noinline)) static void scalar(uint64_t n)
{
    LOOP(n, data, SCALAR);
}

__attribute__((noinline)) static void sse(uint64_t n)
{
    LOOP(n, data, SSE);
}

__attribute__((noinline)) static void avx2(uint64_t n)
{
    LOOP(n, data, AVX2);
}

__attribute__((noinline)) static void avx512(uint64_t n)
{
    LOOP(n, data, AVX512);
}

/* 100 times n / 100 */
__attribute__((noinline)) static void nested(uint64_t n)
{
    for (int i = 0; i < 100; i++) {
        __asm__ volatile(""
                         : "+r"(i)); /* else GCC 14 copies the inner loop, for even and odd turns */
        LOOP(n / 100, data, LIGHT);
    }
}

static inline __attribute__((always_inline)) void inlined(uint64_t n)
{
    LOOP(n, data, SCALAR);
}

__attribute__((noinline)) static void caller(uint64_t n)
{
    inlined(n);
}

/* depth times n / 10, innermost first */
__attribute__((noinline)) static void recursive(uint64_t n, int depth)
{
    if (depth > 1) {
        recursive(n, depth - 1);
    }
    LOOP(n / 10, data, SSE);
}

__attribute__((noinline)) static void parallel(uint64_t n)
{
#pragma omp parallel num_threads(2)
    TIMED("parallel", LOOP(n / 2, data, LIGHT));
}

int main(int argc, char **argv)
{
    const uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
    TIMED("scalar", scalar(n));
    TIMED("sse", sse(n));
    if (__builtin_cpu_supports("avx2")) {
        TIMED("avx2", avx2(n));
    }
    if (__builtin_cpu_supports("avx512f")) {
        TIMED("avx512", avx512(n));
    }
    TIMED("nested", nested(n));
    TIMED("caller", caller(n));
    TIMED("recursive", recursive(n, 10));
    parallel(n);
    TIMED("hot_library", hot_library(n, data));
#ifdef TEMPLATE
    TIMED("over", hot_template(n));
#endif
    return 0;
}
