/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/steps.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

size_t carm_history_changes(const double *values, size_t n, double share,
                            struct carm_history_step *out)
{
    double last = NAN;
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(values[i])) {
            continue;
        }
        if (fabs(values[i] - last) > share * fabs(last)) { /* false for the first value */
            out[found++] = (struct carm_history_step){i, last, values[i]};
        }
        last = values[i];
    }
    return found;
}

/* A series without its missing values. */
struct series {
    double *values, *ranks, *sorted; /* [n] */
    double *sums;                    /* [n + 1] */
    size_t *places;                  /* [n] places of the values in the caller's series */
    bool *begins;                    /* [n + 1] a segment begins here */
    double share, alarm;
    uint64_t state;
};

/* Ranks of values[begin .. end), relative to the middle rank: their sum is 0. Equal values have
 * equal ranks. */
static void rank(struct series *s, size_t begin, size_t end)
{
    const size_t n = end - begin;
    memcpy(s->sorted, s->values + begin, n * sizeof *s->sorted);
    gsl_sort(s->sorted, 1, n);
    for (size_t i = 0; i < n; i++) {
        size_t below; /* number of smaller values */
        size_t upto;  /* number of values that are not larger */
        CARM_ARRAY_BISECT(below, n, middle, s->sorted[middle] < s->values[begin + i]);
        CARM_ARRAY_BISECT(upto, n, middle, s->sorted[middle] <= s->values[begin + i]);
        s->ranks[i] = ((double)(below + upto) - (double)n) / 2.0;
    }
}

/* A stretch of the ranks. */
struct stretch {
    size_t begin, end;
};

/* The largest squared sum of the ranks of a stretch, over its variance, up to a factor common to all stretches.
 * sums  [n + 1] sums of the ranks before each place
 * all   stretches from any place, not only from the beginning
 * out   the stretch; NULL = not wanted */
static double largest(const double *sums, size_t n, bool all, struct stretch *out)
{
    double most = 0.0;
    for (size_t i = 0; i < (all ? n : 1); i++) {
        for (size_t j = i + 1; j <= n - (i == 0); j++) {
            const double sum = sums[j] - sums[i];
            const double is = sum * sum / ((double)(j - i) * (double)(n - (j - i)));
            if (is > most) {
                most = is;
                if (out) {
                    *out = (struct stretch){i, j};
                }
            }
        }
    }
    return most;
}

static void add_up(const double *ranks, size_t n, double *sums)
{
    sums[0] = 0.0;
    for (size_t i = 0; i < n; i++) {
        sums[i + 1] = sums[i] + ranks[i];
    }
}

/* splitmix64 with a fixed seed (the generator of harness/translate/engine/kernel/view.c): a series has the same steps
 * each time */
static uint64_t next_random(struct series *s)
{
    uint64_t x = s->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Whether at most alarm / 2 of the random orders of the ranks have a sum of at least `most`. Stops once this is
 * decided. */
static bool is_rare(struct series *s, size_t n, bool all, double most)
{
    enum { EXCEED = 10 }; /* expected number of larger sums at alarm / 2; chosen by hand */
    static const double rounding = 1e-9;
    const size_t orders = (size_t)(2 * EXCEED / s->alarm);
    size_t exceed = 1; /* the first order is the measured one */
    for (size_t k = 1; k < orders && exceed <= EXCEED; k++) {
        for (size_t i = n; i > 1; i--) {
            const size_t j = (size_t)(next_random(s) % i);
            const double r = s->ranks[j];
            s->ranks[j] = s->ranks[i - 1];
            s->ranks[i - 1] = r;
        }
        add_up(s->ranks, n, s->sums);
        exceed += largest(s->sums, n, all, NULL) >= most * (1.0 - rounding);
    }
    return exceed <= EXCEED;
}

static double median(struct series *s, size_t begin, size_t end)
{
    const size_t n = end - begin;
    memcpy(s->sorted, s->values + begin, n * sizeof *s->sorted);
    gsl_sort(s->sorted, 1, n);
    return gsl_stats_median_from_sorted_data(s->sorted, 1, n);
}

/* A stretch of values[begin .. end) that differs from the rest: from the beginning, which finds single steps best, else
 * from any place. Testing all stretches of more than SHORT values would take seconds. returns false without such a
 * stretch */
static bool find_stretch(struct series *s, size_t begin, size_t end, struct stretch *at)
{
    enum { LEAST = 4, SHORT = 300 };
    const size_t n = end - begin;
    for (int all = 0; all < (n <= SHORT ? 2 : 1) && n >= LEAST; all++) {
        rank(s, begin, end);
        add_up(s->ranks, n, s->sums);
        const double most = largest(s->sums, n, all, at);
        if (most > 0.0 && is_rare(s, n, all, most)) {
            return true;
        }
    }
    return false;
}

/* Marks the steps. The stack holds parts of the series to be tested. */
static void split(struct series *s, size_t n, size_t *stack)
{
    size_t depth = 0;
    stack[depth++] = 0;
    stack[depth++] = n;
    while (depth) {
        const size_t end = stack[--depth], begin = stack[--depth];
        struct stretch at = {0, 0};
        if (!find_stretch(s, begin, end, &at)) {
            continue;
        }
        const size_t places[] = {begin, begin + at.begin, begin + at.end, end};
        for (int k = 1; k < 3; k++) { /* the stretch may begin or end with the part */
            const size_t left = places[k - 1], middle = places[k], right = places[k + 1];
            if (left == middle || middle == right) {
                continue;
            }
            const double before = median(s, left, middle);
            s->begins[middle] = fabs(median(s, middle, right) - before) > s->share * before;
        }
        for (int k = 0; k < 3; k++) { /* a small step may separate better than a large one */
            if (places[k] < places[k + 1]) {
                stack[depth++] = places[k];
                stack[depth++] = places[k + 1];
            }
        }
    }
}

/* The end of the segment that begins at a place. */
static size_t end_of(const struct series *s, size_t begin, size_t n)
{
    size_t end = begin + 1;
    while (end < n && !s->begins[end]) {
        end++;
    }
    return end;
}

/* Removes one step that has become small by later steps beside it. returns false without such a
 * step */
static bool drop_small(struct series *s, size_t n)
{
    for (size_t i = 1, begin = 0; i < n; i++) {
        if (!s->begins[i]) {
            continue;
        }
        const double before = median(s, begin, i);
        if (!(fabs(median(s, i, end_of(s, i, n)) - before) > s->share * before)) {
            s->begins[i] = false;
            return true;
        }
        begin = i;
    }
    return false;
}

int carm_history_steps(const double *values, size_t n, double share, double alarm,
                       struct carm_history_step *out, size_t *nout, struct carm_err *err)
{
    struct series s = {.share = share, .alarm = alarm};
    size_t *stack = calloc(4 * n + 4, sizeof *stack);
    size_t m = 0;
    *nout = 0;
    s.values = calloc(4 * n + 1, sizeof *s.values);
    s.places = calloc(n + 1, sizeof *s.places);
    s.begins = calloc(n + 1, sizeof *s.begins);
    if (!stack || !s.values || !s.places || !s.begins) {
        free(stack);
        free(s.values);
        free(s.places);
        free(s.begins);
        return carm_fail(err, CARM_ENOMEM, "not enough memory for %zu values", n);
    }
    s.ranks = s.values + n;
    s.sorted = s.ranks + n;
    s.sums = s.sorted + n;
    for (size_t i = 0; i < n; i++) {
        if (!isnan(values[i])) {
            s.places[m] = i;
            s.values[m++] = values[i];
        }
    }
    split(&s, m, stack);
    while (drop_small(&s, m)) {
    }
    for (size_t i = 1, begin = 0; i < m; i++) {
        if (s.begins[i]) {
            out[(*nout)++] = (struct carm_history_step){s.places[i], median(&s, begin, i),
                                                        median(&s, i, end_of(&s, i, m))};
            begin = i;
        }
    }
    free(stack);
    free(s.values);
    free(s.places);
    free(s.begins);
    return 0;
}
