/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/marks.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/count/step/counts.h"

/* The counts of a call with one number of iterations. */
struct level {
    double iterations;
    bool exact; /* all calls except the first are equal */
    struct carm_counts counts;
};

static void divide(struct carm_counts *counts, double by)
{
    for (int q = 0; q < CARM_Q_COUNT; q++) {
        counts->q[q].value /= by;
    }
}

/* Counts stay below 2^53 for hours of processor time, so differences of doubles are exact. */
static void find_level(const struct carm_mark *m, struct level *out)
{
    const double iterations = m->iterations ? (double)m->iterations : 1.0;
    struct carm_step_counts s = m->calls > 1 ? m->second : m->first;
    double calls = 1.0;
    if (m->differ) {
        s = m->sum;
        calls = (double)m->calls;
        if (m->calls > 2) {
            carm_step_counts_subtract(&s, &m->first);
            calls--;
        }
    }
    *out = (struct level){.iterations = iterations, .exact = !m->differ};
    carm_step_counts_to_counts(&s, 1.0, &out->counts);
    divide(&out->counts, calls);
}

/* The counts of one iteration, by the difference of two numbers of iterations. returns false if more iterations have
 * smaller counts */
static bool find_slope(const struct level *low, const struct level *high, struct carm_counts *out)
{
    bool rises = true;
    *out = high->counts;
    for (int q = 0; q < CARM_Q_COUNT; q++) {
        out->q[q].value = (high->counts.q[q].value - low->counts.q[q].value) /
                          (high->iterations - low->iterations);
        rises = rises && out->q[q].value >= 0.0;
    }
    return rises;
}

/* The largest difference of counts, as a share of b's */
static double apart(const struct carm_counts *a, const struct carm_counts *b)
{
    double most = 0.0;
    for (int q = 0; q < CARM_Q_COUNT; q++) {
        if (a->q[q].value != b->q[q].value) {
            most = fmax(most, fabs(a->q[q].value / b->q[q].value - 1.0));
        }
    }
    return most;
}

static double instructions(const struct carm_counts *c)
{
    return c->q[CARM_Q_INSTRUCTIONS].value;
}

/* Fills in a row by differences of the three largest numbers of iterations.
 * of  [n] ascending, n = 2 or 3 */
static void by_difference(const struct level *of, size_t n, struct carm_row *row)
{
    struct carm_counts before;
    const struct level *high = &of[n - 1], *low = &of[n - 2];
    char *note = row->note;
    const size_t size = sizeof row->note;
    if (!find_slope(low, high, &row->counts)) {
        row->counts = high->counts;
        divide(&row->counts, high->iterations);
        snprintf(
            note, size,
            "not exact: %.0f iterations count less than %.0f, so setup has a part in the counts",
            high->iterations, low->iterations);
        return;
    }
    const double setup =
        instructions(&high->counts) - high->iterations * instructions(&row->counts);
    if (!high->exact || !low->exact) {
        snprintf(note, size, "not exact: calls with %.0f iterations differ from each other",
                 high->exact ? low->iterations : high->iterations);
    } else if (n == 2) {
        snprintf(note, size, "by difference of %.0f and %.0f iterations; setup: %.0f instructions",
                 low->iterations, high->iterations, setup);
    } else if (find_slope(&of[n - 3], low, &before) && apart(&before, &row->counts) == 0.0) {
        snprintf(note, size,
                 "exact: by difference of %.0f, %.0f and %.0f iterations; setup: %.0f instructions",
                 of[n - 3].iterations, low->iterations, high->iterations, setup);
    } else if (apart(&before, &row->counts) < 1e-6) {
        snprintf(
            note, size,
            "by difference of %.0f, %.0f and %.0f iterations, which agree within %.1g; setup: %.0f "
            "instructions",
            of[n - 3].iterations, low->iterations, high->iterations, apart(&before, &row->counts),
            setup);
    } else {
        snprintf(
            note, size,
            "not exact: an iteration has %.9g instructions between %.0f and %.0f iterations, %.9g "
            "between %.0f and %.0f",
            instructions(&before), of[n - 3].iterations, low->iterations,
            instructions(&row->counts), low->iterations, high->iterations);
    }
}

static void by_calls(const struct carm_mark *m, const struct level *of, struct carm_row *row)
{
    const double more = (double)m->first.instructions - (double)m->second.instructions;
    const unsigned long long calls = m->calls;
    row->counts = of->counts;
    divide(&row->counts, of->iterations);
    if (m->differ) {
        snprintf(row->note, sizeof row->note,
                 "not exact: the mean of %llu calls that differ from each other", calls);
    } else if (m->calls == 1) {
        snprintf(
            row->note, sizeof row->note,
            "one call of %.0f iteration%s, with its setup; mark it twice with other numbers of "
            "iterations to count without",
            of->iterations, of->iterations > 1.0 ? "s" : "");
    } else if (more != 0.0 && m->calls == 2) {
        snprintf(row->note, sizeof row->note,
                 "the second of 2 calls; the first one had %+.0f instructions", more);
    } else if (more != 0.0) {
        snprintf(row->note, sizeof row->note,
                 "exact: %llu calls are equal; the first one had %+.0f instructions", calls - 1,
                 more);
    } else {
        snprintf(row->note, sizeof row->note, "exact: %llu calls are equal", calls);
    }
}

static int by_iterations(const void *a, const void *b)
{
    const struct carm_mark *x = *(const struct carm_mark *const *)a;
    const struct carm_mark *y = *(const struct carm_mark *const *)b;
    return (x->iterations > y->iterations) - (x->iterations < y->iterations);
}

/* The row of the name of marks[at].
 * of  [n] room */
static void put_row(const struct carm_mark *marks, size_t n, size_t at, const struct carm_mark **of,
                    struct carm_row *row)
{
    enum { LEVELS = 3 };
    struct level levels[LEVELS] = {{.iterations = 0.0}};
    size_t k = 0;
    *row = (struct carm_row){.threads = 1, .share = 1.0};
    snprintf(row->name, sizeof row->name, "%s", *marks[at].name ? marks[at].name : "unnamed");
    for (size_t i = at; i < n; i++) {
        if (strcmp(marks[i].name, marks[at].name) == 0) {
            of[k++] = &marks[i];
            row->calls += marks[i].calls * (marks[i].iterations ? marks[i].iterations : 1);
        }
    }
    /* the first call also binds symbols and fills caches: it is left out when three other calls are left */
    const size_t skip = k > LEVELS && of[0]->calls == 1 ? 1 : 0;
    qsort(of + skip, k - skip, sizeof *of, by_iterations);
    const size_t nlevels = k < LEVELS ? k : LEVELS;
    for (size_t i = 0; i < nlevels; i++) {
        find_level(of[k - nlevels + i], &levels[i]);
    }
    if (nlevels > 1) {
        by_difference(levels, nlevels, row);
    } else {
        by_calls(of[0], &levels[0], row);
    }
    for (int q = 0; q < CARM_Q_COUNT; q++) {
        struct carm_count *c = &row->counts.q[q];
        c->low = c->high = c->value;
        c->by = c->by == CARM_COUNTED_NOT ? c->by : CARM_COUNTED_TRANSLATED;
    }
    carm_row_describe(row);
}

int carm_marks_rows(const struct carm_mark *marks, size_t n, struct carm_row **rows, size_t *nrows,
                    struct carm_err *err)
{
    *nrows = 0;
    *rows = calloc(n + 1, sizeof **rows);
    const struct carm_mark **of = calloc(n + 1, sizeof *of);
    if (!*rows || !of) {
        free(of);
        free(*rows);
        *rows = NULL;
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the rows of marked code");
    }
    for (size_t i = 0; i < n; i++) {
        size_t first = 0;
        while (strcmp(marks[first].name, marks[i].name) != 0) {
            first++;
        }
        if (first == i) {
            put_row(marks, n, i, of, &(*rows)[(*nrows)++]);
        }
    }
    free(of);
    return 0;
}
