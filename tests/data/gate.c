/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A benchmark for tests of gates: it reads numbers, sorts and adds them. What macros add to it, a gate has to find. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef TURNS
#define TURNS 20
#endif

enum { NUMBERS = 20000 };

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* As many numbers as the text has. */
static size_t parse_numbers(const char *text, double *out)
{
    size_t n = 0;
    for (char *end; *text; text = end + 1) {
        out[n++] = strtod(text, &end);
    }
    return n;
}

__attribute__((noinline)) static double add(const double *numbers, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += numbers[i];
    }
    return sum;
}

int main(void)
{
    char *text = malloc(NUMBERS * 16), *at = text;
    double *numbers = malloc(NUMBERS * sizeof *numbers), sum = 0.0;
    unsigned seed = 1;
    for (int i = 0; i < NUMBERS; i++) {
        seed = seed * 1664525 + 1013904223;
        at += sprintf(at, "%u.%u ", seed >> 16, seed & 4095);
    }
    const size_t n = parse_numbers(text, numbers);
    qsort(numbers, n, sizeof *numbers, by_value);
    for (int i = 0; i < TURNS; i++) {
        sum += add(numbers, n);
        __asm__ volatile("" : : "r"(numbers) : "memory"); /* each turn adds them anew */
    }
#ifdef ONE
    __asm__ volatile("nop");
#endif
#ifdef BYTES
    volatile long *copy = malloc(BYTES);
    for (size_t i = 0; i < BYTES / sizeof *copy; i++) {
        copy[i] = 0;
    }
#endif
#ifdef SLEEP
    nanosleep(&(struct timespec){0, SLEEP * 1000000L}, NULL);
#endif
    printf("%.17g\n", sum);
    free(text);
    free(numbers);
    return 0;
}
