/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program of known loops (hot.h). Its argument is the number of iterations of each. */
#include "tests/harness/profile/hot.h"

#include <stdio.h>
#include <stdlib.h>

void hot_library(uint64_t n, double *at);

static double data[64] __attribute__((aligned(64)));

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

/* 100 times n / 100 */
__attribute__((noinline)) static void nested(uint64_t n)
{
    for (int i = 0; i < 100; i++) {
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
    LOOP(n / 2, data, LIGHT);
}

int main(int argc, char **argv)
{
    const uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
    scalar(n);
    sse(n);
    if (__builtin_cpu_supports("avx2")) {
        avx2(n);
    }
    nested(n);
    caller(n);
    recursive(n, 10);
    parallel(n);
    hot_library(n, data);
    return 0;
}
