/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Marked code as rows: exactly, by difference, or with the reason why not. */
#include "run/marks.h"
#include "tests/unit.h"

/* instructions of the first call, of the others, and of all; each has a load of 8 bytes */
static struct carm_mark mark(const char *name, uint64_t iterations, uint64_t calls, uint64_t first,
                             uint64_t second)
{
    struct carm_mark m = {.iterations = iterations, .calls = calls};
    strcpy(m.name, name);
    m.first.instructions = first;
    m.first.loads = first;
    m.first.load_bytes = 8 * first;
    m.second.instructions = calls > 1 ? second : 0;
    m.second.loads = m.second.instructions;
    m.second.load_bytes = 8 * m.second.loads;
    m.sum = m.first;
    carm_step_counts_sum(&m.sum, &m.second, (int64_t)calls - 1);
    return m;
}

static struct carm_row *rows;
static size_t nrows;

static void look(const struct carm_mark *marks, size_t n)
{
    free(rows);
    assert_int_equal(carm_marks_rows(marks, n, &rows, &nrows, NULL), 0);
}

static int done(void **state)
{
    free(rows);
    rows = NULL;
    return 0;
}

static void is(size_t i, const char *name, double instructions, const char *note)
{
    assert_true(i < nrows);
    assert_string_equal(rows[i].name, name);
    assert_true(fabs(rows[i].counts.q[CARM_Q_INSTRUCTIONS].value - instructions) < 1e-9);
    assert_true(fabs(rows[i].counts.q[CARM_Q_BYTES].value - 8.0 * instructions) < 1e-8);
    assert_int_equal(rows[i].counts.q[CARM_Q_BYTES].by, CARM_COUNTED_TRANSLATED);
    assert_near(rows[i].counts.q[CARM_Q_INSTRUCTIONS].low, instructions, 1e-9);
    assert_near(rows[i].counts.q[CARM_Q_INSTRUCTIONS].high, instructions, 1e-9);
    assert_near(rows[i].counts.q[CARM_Q_INSTRUCTIONS].share, 1.0, 0.0);
    assert_int_equal(rows[i].threads, 1);
    assert_near(rows[i].share, 1.0, 0.0);
    assert_int_equal(rows[i].counts.q[CARM_Q_CYCLES].by, CARM_COUNTED_NOT);
    fail_if(!strstr(rows[i].note, note), "'%s' is not in '%s'", note, rows[i].note);
}

TEST_BETWEEN(calls_of_one_number, NULL, done)
{
    struct carm_mark marks[] = {mark("same", 2, 5, 10, 10), mark("first", 1, 5, 90, 10),
                                mark("once", 4, 1, 10, 0), mark("differ", 1, 3, 100, 10),
                                mark("", 0, 1, 7, 0)};
    marks[3].differ = true;
    look(marks, 5);
    assert_int_equal(nrows, 5);
    is(0, "same", 5, "exact: 5 calls are equal");
    assert_int_equal(rows[0].calls, 10);
    is(1, "first", 10, "exact: 4 calls are equal; the first one had +80 instructions");
    is(2, "once", 2.5, "one call of 4 iterations, with its setup");
    is(3, "differ", 10, "not exact: the mean of 3 calls");
    is(4, "unnamed", 7, "one call of 1 iteration,");
    assert_int_equal(rows[4].calls, 1);
    /* two calls: one alone without what the first one does, or of two threads, that differ */
    struct carm_mark two[] = {mark("second", 1, 2, 90, 10), mark("threads", 1, 2, 90, 10),
                              mark("equal", 1, 2, 10, 10)};
    two[1].differ = true;
    look(two, 3);
    is(2, "equal", 10, "exact: 2 calls are equal");
    is(0, "second", 10, "the second of 2 calls; the first one had +80 instructions");
    is(1, "threads", 50, "not exact: the mean of 2 calls that differ");
}

TEST_BETWEEN(difference, NULL, done)
{
    /* 7 of setup and 3 an iteration; the very first call has 50 more, and other names lie between */
    const struct carm_mark marks[] = {mark("a", 1, 1, 60, 0),      mark("b", 10, 2, 37, 37),
                                      mark("a", 1000, 1, 3007, 0), mark("a", 10, 1, 37, 0),
                                      mark("a", 100, 3, 307, 307), mark("b", 20, 2, 67, 67)};
    look(marks, 6);
    assert_int_equal(nrows, 2);
    is(0, "a", 3, "exact: by difference of 10, 100 and 1000 iterations; setup: 7 instructions");
    assert_int_equal(rows[0].calls, 1311);
    is(1, "b", 3, "by difference of 10 and 20 iterations; setup: 7 instructions");
    assert_null(strstr(rows[1].note, "exact"));
}

TEST_BETWEEN(differences_that_differ, NULL, done)
{
    struct carm_mark marks[] = {mark("a", 10, 2, 37, 37), mark("a", 20, 2, 67, 67),
                                mark("a", 30, 2, 98, 98)};
    look(marks, 3);
    is(0, "a", 3.1,
       "not exact: an iteration has 3 instructions between 10 and 20 iterations, 3.1 between 20 and 30");
    marks[2] = mark("a", 30, 2, 97, 97); /* as many instructions, of other kinds */
    marks[2].second.flops[0][0] = 5;
    look(marks, 3);
    is(0, "a", 3,
       "not exact: an iteration has 3 instructions between 10 and 20 iterations, 3 between 20 and 30");
    assert_near(rows[0].counts.q[CARM_Q_FLOPS].value, 0.5, 1e-9);
    assert_string_equal(rows[0].isa, "scalar");
    marks[2] = mark("a", 30, 2, 60, 60);
    look(marks, 3);
    is(0, "a", 2, "not exact: 30 iterations count less than 20");
    marks[2] = mark("a", 30, 2, 97, 97);
    marks[2].differ = true;
    look(marks, 3);
    is(0, "a", 3, "not exact: calls with 30 iterations differ");
}

/* Two differences that agree within a millionth are told so, others are not exact. */
TEST_BETWEEN(differences_that_agree, NULL, done)
{
    struct carm_mark marks[] = {mark("a", 1000, 2, 3007, 3007), mark("a", 2000, 2, 6007, 6007),
                                mark("a", 10002000, 2, 30006017, 30006017)};
    look(marks, 3);
    is(0, "a", 3.000001,
       "by difference of 1000, 2000 and 10002000 iterations, which agree within 3e-07; setup: 7 ins");
    assert_null(strstr(rows[0].note, "exact"));
    marks[2] = mark("a", 10002000, 2, 30006037, 30006037);
    look(marks, 3);
    is(0, "a", 3.000003, "which agree within 1e-06");
    marks[2] = mark("a", 10002000, 2, 30006107, 30006107);
    look(marks, 3);
    is(0, "a", 3.00001,
       "not exact: an iteration has 3 instructions between 1000 and 2000 iterations");
}

/* The first call is left out when three other numbers of iterations are there, if it is one call. */
TEST_BETWEEN(first_calls_are_left_out, NULL, done)
{
    const struct carm_mark three[] = {mark("a", 10, 1, 90, 0), mark("a", 20, 1, 67, 0),
                                      mark("a", 30, 1, 97, 0)};
    look(three, 3);
    is(0, "a", 3, "not exact: an iteration has -2.3 instructions between 10 and 20 iterations");
    const struct carm_mark falling[] = {mark("a", 30, 1, 97, 0), mark("a", 10, 1, 37, 0),
                                        mark("a", 20, 1, 67, 0)};
    look(falling, 3);
    is(0, "a", 3, "exact: by difference of 10, 20 and 30 iterations");
    const struct carm_mark four[] = {mark("a", 40, 2, 999, 999), mark("a", 10, 1, 37, 0),
                                     mark("a", 20, 1, 67, 0), mark("a", 30, 1, 97, 0)};
    look(four, 4);
    is(0, "a", 90.2, "between 30 and 40"); /* not one call */
    const struct carm_mark largest[] = {mark("a", 40, 1, 999, 0), mark("a", 10, 1, 37, 0),
                                        mark("a", 20, 1, 67, 0), mark("a", 30, 1, 97, 0)};
    look(largest, 4);
    is(0, "a", 3, "exact: by difference of 10, 20 and 30 iterations");
    /* fewer instructions with more iterations, of which more are loads */
    struct carm_mark falls[] = {mark("a", 10, 1, 137, 0), mark("a", 20, 1, 67, 0),
                                mark("a", 30, 1, 97, 0)};
    falls[0].first.loads = 0;
    look(falls, 3);
    is(0, "a", 3,
       "an iteration has -7 instructions between 10 and 20 iterations, 3 between 20 and 30");
    const struct carm_mark twice[] = {mark("x", 7, 1, 40, 0), mark("x", 7, 1, 40, 0)};
    look(twice, 1);
    is(0, "x", 40.0 / 7, "one call of 7 iterations");
}

TEST_BETWEEN(nothing_marked, NULL, done)
{
    look(NULL, 0);
    assert_int_equal(nrows, 0);
}
