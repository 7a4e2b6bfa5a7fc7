/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps in series of values: exact ones, and those that scatter. */
#include "models/place/steps.h"
#include "tests/unit.h"

enum { N = 60 };
static const double alarm = 0.001;

static uint64_t seed;

static double uniform(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2.0 * log(uniform())) * cos(2.0 * M_PI * uniform());
}

/* Times of 10 ms that scatter by 5%; one in ten is disturbed and up to twice as long. */
static void fill(double *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        values[i] = 0.01 * exp(0.05 * normal()) * (uniform() < 0.1 ? 1.0 + uniform() : 1.0);
    }
}

static size_t steps(const double *values, size_t n, struct carm_history_step *out)
{
    size_t found = 0;
    assert_ok(carm_history_steps(values, n, 0.01, alarm, out, &found, &err));
    return found;
}

TEST(exact_changes_are_steps)
{
    const double values[] = {NAN, 100.0, 100.0, NAN, 101.0, 101.0, 100.0, NAN, 100.0};
    struct carm_history_step out[9];
    assert_int_equal(carm_history_changes(values, 9, 0.0, out), 2);
    assert_int_equal(out[0].at, 4);
    assert_true(out[0].before == 100.0 && out[0].after == 101.0);
    assert_int_equal(out[1].at, 6);
    assert_int_equal(carm_history_changes(values, 9, 0.0101, out), 0);
}

/* 200 at a rate of 0.001: one alarm or none in 98% of all sets of series; this set has none. */
TEST(quiet_histories_have_no_step)
{
    double values[N];
    struct carm_history_step out[N];
    size_t alarms = 0;
    seed = 1;
    for (int i = 0; i < 200; i++) {
        fill(values, N);
        alarms += steps(values, N, out) > 0;
    }
    assert_int_equal(alarms, 0);
}

/* The rate itself, with a rate that 1000 series can show: 1%, so that 22 and more have a chance of 0.1%. */
TEST(false_alarms_are_as_rare_as_stated)
{
    double values[N];
    struct carm_history_step out[N];
    size_t alarms = 0, found = 0;
    seed = 2;
    for (int i = 0; i < 1000; i++) {
        fill(values, 30);
        assert_int_equal(carm_history_steps(values, 30, 0.0, 0.01, out, &found, NULL), 0);
        alarms += found > 0;
    }
    assert_in_range(alarms, 1, 21);
}

TEST(planted_steps_are_found)
{
    double values[N];
    struct carm_history_step out[N];
    size_t found = 0;
    seed = 3;
    for (int i = 0; i < 100; i++) {
        fill(values, N);
        for (size_t k = 40; k < N; k++) {
            values[k] *= 1.2;
        }
        const size_t n = steps(values, N, out);
        found += n == 1 && out[0].at >= 32 && out[0].at <= 48 &&
                 fabs(out[0].after / out[0].before - 1.2) < 0.06;
    }
    assert_true(found >= 98);
}

/* Twenty values around 15 and twenty around 25: each side has the median of its own. */
TEST(sides_have_their_medians)
{
    double values[2 * 20];
    struct carm_history_step out[2 * 20];
    for (size_t i = 0; i < 20; i++) {
        values[i] = 14.05 + 0.1 * (double)(7 * i % 20);
        values[20 + i] = 24.05 + 0.1 * (double)(7 * i % 20);
    }
    assert_int_equal(steps(values, 40, out), 1);
    assert_int_equal(out[0].at, 20);
    assert_near(out[0].before, 15.0, 1e-9);
    assert_near(out[0].after, 25.0, 1e-9);
}

TEST(up_and_down_again)
{
    double values[N];
    struct carm_history_step out[N];
    seed = 4;
    fill(values, N);
    for (size_t k = 20; k < 40; k++) {
        values[k] *= 1.5;
    }
    values[30] = NAN;
    assert_int_equal(steps(values, N, out), 2);
    assert_in_range(out[0].at, 19, 21);
    assert_in_range(out[1].at, 39, 41);
    assert_true(out[0].after > 1.4 * out[0].before && out[1].after < out[1].before / 1.4);
}

TEST(few_and_equal_values_have_none)
{
    double values[N];
    struct carm_history_step out[N];
    for (size_t n = 0; n < N; n++) {
        values[n] = 2.0;
        assert_int_equal(steps(values, n, out), 0);
    }
    for (size_t n = 0; n < 14;
         n++) { /* seven on each side: 2 of 3432 orders, more than half of the alarms */
        values[n] = n < 7 ? 1.0 + 0.001 * (double)n : 2.0 + 0.001 * (double)n;
    }
    assert_int_equal(steps(values, 14, out), 0);
    for (size_t n = 0; n < 16; n++) {
        values[n] = n < 8 ? 1.0 + 0.001 * (double)n : 2.0 + 0.001 * (double)n;
    }
    assert_int_equal(steps(values, 16, out), 1);
    assert_int_equal(out[0].at, 8);
}

/* 40 values separate from 60 better than 80 from 20, by a step that is too small to count. */
TEST(small_steps_hide_none)
{
    double values[100];
    struct carm_history_step out[100];
    size_t found = 0;
    for (size_t i = 0; i < 100; i++) {
        values[i] = (i < 40 ? 100.0 : i < 80 ? 108.0 : 200.0) + (double)(7 * i % 5);
    }
    assert_ok(carm_history_steps(values, 100, 0.1, alarm, out, &found, &err));
    assert_int_equal(found, 1);
    assert_int_equal(out[0].at, 80);
    assert_true(out[0].before == 106.0 && out[0].after == 202.0);
}

/* Levels with a scatter of 4 around them, far from one another: each place, and the medians of both sides. Values of 0 are
 * missing. */
TEST(many_steps)
{
    static const struct {
        size_t length[6]; /* of each level */
        double level[6];
        size_t missing; /* each so many-th value; 0 = none */
    } cases[] = {{{10, 20, 30, 0}, {100, 200, 300}, 0},
                 {{25, 8, 25, 0}, {100, 200, 100}, 0},
                 {{20, 20, 20, 20, 20, 0}, {100, 200, 300, 200, 400}, 3},
                 {{30, 30, 30, 30, 30, 30}, {500, 100, 400, 200, 300, 600}, 7},
                 {{200, 220, 0}, {100, 160}, 5}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double values[512], of[512];
        struct carm_history_step out[512];
        size_t begin[7] = {0}, n = 0, levels = 0, found = 0;
        double medians[7];
        seed = c;
        for (; levels < 6 && cases[c].length[levels]; levels++) {
            size_t m = 0;
            begin[levels] = SIZE_MAX;
            for (size_t i = 0; i < cases[c].length[levels]; i++, n++) {
                const double v = cases[c].level[levels] + floor(8.0 * uniform()) - 4.0;
                const bool lacks = cases[c].missing && n % cases[c].missing == 1;
                values[n] = lacks ? NAN : v;
                if (!lacks) {
                    begin[levels] = begin[levels] == SIZE_MAX ? n : begin[levels];
                    size_t at = m++;
                    for (; at > 0 && of[at - 1] > v; at--) {
                        of[at] = of[at - 1];
                    }
                    of[at] = v;
                }
            }
            medians[levels] = 0.5 * (of[(m - 1) / 2] + of[m / 2]);
        }
        assert_ok(carm_history_steps(values, n, 0.1, alarm, out, &found, &err));
        fail_if(found != levels - 1, "%zu: %zu, at %zu %zu", c, found, out[0].at, out[1].at);
        for (size_t k = 0; k < found; k++) {
            assert_int_equal(out[k].at, begin[k + 1]);
            assert_near(out[k].before, medians[k], 0.0);
            assert_near(out[k].after, medians[k + 1], 0.0);
        }
        /* steps of less than the share are none */
        assert_ok(carm_history_steps(values, n, 5.1, alarm, out, &found, &err));
        assert_int_equal(found, 0);
    }
}
