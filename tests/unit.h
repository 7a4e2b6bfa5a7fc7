/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What suites begin with: cmocka, the headers that it needs and those that most suites need, and tests that register
 * themselves where they are defined:
 *
 *     TEST(name) { ... }                              a test; cmocka's parameter `state` is there
 *     TEST_BETWEEN(name, set_up, tear_down) { ... }   each NULL or a function of `void **state`
 *     RUN_TESTS(set_up, tear_down)                    set_up before all tests, tear_down behind them; without it there are none
 *
 * main runs the tests in the order of the file. A suite with a main of its own defines OWN_MAIN before this header.
 *
 * Helpers give what they open to closed_later, so that tests close nothing:
 *
 *     CLOSED_BY(carm_topo_close)                      of a file or header, once
 *     return closed_later(by_carm_topo_close, topo);  closed after the test, the last first; returns its argument */
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

static struct carm_err err; /* of the test: empty when it begins */

enum { TESTS_MAX = 128 };
static struct CMUnitTest suite_tests[TESTS_MAX];
static size_t suite_size;

static inline void add_test(struct CMUnitTest test)
{
    assert_true(suite_size < TESTS_MAX);
    suite_tests[suite_size++] = test;
}

struct opened {
    void (*close)(void *what);
    void *what;
};
static struct opened *suite_opened;
static size_t suite_nopened;
static size_t suite_kept; /* opened by the set-ups: they stay until all tests are done */

#define CLOSED_BY(close)                      \
    static inline void by_##close(void *what) \
    {                                         \
        close(what);                          \
    }

static inline void *closed_later(void (*close)(void *what), void *what)
{
    suite_opened = realloc(suite_opened, (suite_nopened + 1) * sizeof *suite_opened);
    assert_non_null(suite_opened);
    suite_opened[suite_nopened++] = (struct opened){close, what};
    return what;
}

/* At the end of each test; a long test may call it in between. */
static inline void close_opened(void)
{
    while (suite_nopened > suite_kept) {
        suite_nopened--;
        suite_opened[suite_nopened].close(suite_opened[suite_nopened].what);
    }
}

static inline int run_suite(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    const int failed = _cmocka_run_group_tests("tests", suite_tests, suite_size, set_up, tear_down);
    suite_kept = 0;
    close_opened();
    free(suite_opened);
    return failed;
}

/* The body that follows is a test, which a constructor adds: gcc and clang call those of a file in their order. */
#define TEST_ADDED(name, add)                                      \
    static void body_##name(void **state);                         \
    static void test_##name(void **state)                          \
    {                                                              \
        err.text[0] = '\0';                                        \
        suite_kept = suite_nopened;                                \
        body_##name(state);                                        \
        close_opened();                                            \
    }                                                              \
    __attribute__((constructor)) static void add_test_##name(void) \
    {                                                              \
        add;                                                       \
    }                                                              \
    static void body_##name(void **state)
#define TEST_BETWEEN(name, set_up, tear_down) \
    TEST_ADDED(name, add_test((struct CMUnitTest){#name, test_##name, set_up, tear_down, NULL}))
#define TEST(name) TEST_BETWEEN(name, NULL, NULL)
#define RUN_TESTS(set_up, tear_down)                           \
    __attribute__((constructor)) static void set_fixture(void) \
    {                                                          \
        suite_set_up = (set_up);                               \
        suite_tear_down = (tear_down);                         \
    }
#ifndef OWN_MAIN
static CMFixtureFunction suite_set_up, suite_tear_down;

int main(void)
{
    return run_suite(suite_set_up, suite_tear_down);
}
#endif

#define fail_if(condition, ...)    \
    do {                           \
        if (condition) {           \
            fail_msg(__VA_ARGS__); \
        }                          \
    } while (0)

#define skip_if(condition, ...)         \
    do {                                \
        if (condition) {                \
            print_message("skipped: "); \
            print_message(__VA_ARGS__); \
            print_message("\n");        \
            skip();                     \
        }                               \
    } while (0)

/* A call that fills err must return 0. */
#define assert_ok(call) fail_if((call) != 0, "%s: %s", #call, err.text)

/* A call that fills err must return a code, with these words in its sentence. */
#define assert_refused(call, code, words)                                          \
    do {                                                                           \
        assert_int_equal(call, code);                                              \
        fail_if(!strstr(err.text, words), "'%s' is not in '%s'", words, err.text); \
    } while (0)

/* A text with the first `old` behind the first `after` replaced, freed after the test. */
static inline char *text_changed(const char *text, const char *after, const char *old,
                                 const char *with)
{
    const char *from = strstr(text, after);
    const char *at = from ? strstr(from, old) : NULL;
    fail_if(!at, "no %s behind %s in the text", old, after);
    char *out = closed_later(free, malloc(strlen(text) + strlen(with) + 1));
    assert_non_null(out);
    (void)sprintf(out, "%.*s%s%s", (int)(at - text), text, with, at + strlen(old));
    return out;
}

/* Comparison of doubles: cmocka's assert_float_equal rounds to float. */
#define assert_near(value, wanted, tolerance)                           \
    do {                                                                \
        double near_v = (value);                                        \
        double near_w = (wanted);                                       \
        if (!(fabs(near_v - near_w) <= (tolerance))) {                  \
            fail_msg("%s is %.17g, not %.17g", #value, near_v, near_w); \
        }                                                               \
    } while (0)
