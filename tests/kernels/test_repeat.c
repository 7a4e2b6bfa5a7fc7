/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often a kernel runs within its time. */
#include "kernels/repeat.h"
#include "tests/unit.h"

/* of no machine: the limits of these tests are none, or far away */
static const struct carm_clock clock_here = {.tsc_hz = 1e9};

struct calls {
    int n, first, rc; /* calls; rep of the first; returned by the second */
};

static int call(void *context, int rep, struct carm_err *failure)
{
    struct calls *c = context;
    (void)failure;
    if (c->n++ == 0) {
        c->first = rep;
        return 0;
    }
    assert_int_equal(rep, c->n - 2);
    return c->rc;
}

static int repeat(struct calls *calls, double seconds, struct carm_run_times *times)
{
    const struct carm_run_limits limits = {.seconds = seconds};
    return carm_repeat(&clock_here, 1, limits, call, calls, times, &err);
}

TEST(without_time_the_first_run_is_measured)
{
    struct calls calls = {0};
    struct carm_run_times times;
    assert_int_equal(repeat(&calls, 0.0, &times), 0);
    assert_int_equal(calls.n, 1);
    assert_int_equal(times.reps, 1);
    assert_true(times.seconds > 0.0);
}

TEST(with_time_a_warm_up_and_every_repetition)
{
    struct calls calls = {0};
    struct carm_run_times times;
    assert_int_equal(repeat(&calls, 1e6, &times), 0);
    assert_int_equal(calls.first, -1);
    assert_int_equal(calls.n, 1 + CARM_REPEAT_MAX);
    assert_int_equal(times.reps, CARM_REPEAT_MAX);
}

TEST(an_error_ends_it)
{
    struct calls calls = {.rc = -CARM_ENOTSUP};
    struct carm_run_times times;
    assert_int_equal(repeat(&calls, 1e6, &times), -CARM_ENOTSUP);
    assert_int_equal(calls.n, 2);
}
