/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Order statistics: closed forms, and an interval that covers the truth as often as it says. */
#include <gsl/gsl_randist.h>

#include "harness/machine/probe.h"
#include "harness/machine/stats.h"
#include "tests/random.h"

TEST(describes_small_samples)
{
    double odd[] = {5, 1, 4, 2, 3};
    struct carm_stats s;
    carm_stats_describe(odd, 5, &s);
    assert_near(s.median, 3.0, 0);
    assert_near(s.min, 1.0, 0);
    assert_near(s.max, 5.0, 0);
    assert_near(s.ci_lo, 1.0, 0); /* too few for an interval: the whole range */
    assert_near(s.ci_hi, 5.0, 0);
    double even[] = {4, 1, 3, 2};
    assert_near(carm_stats_median(even, 4), 2.5, 0);
    double one[] = {7};
    carm_stats_describe(one, 1, &s);
    assert_near(s.median, 7.0, 0);
    assert_near(s.ci_lo, 7.0, 0);
    assert_near(s.p95, 7.0, 0);
}

TEST(quantiles_are_linear)
{
    double v[101];
    struct carm_stats s;
    for (int i = 0; i <= 100; i++) {
        v[i] = (double)((i * 37) % 101);
    }
    carm_stats_describe(v, 101, &s);
    assert_near(s.median, 50.0, 0);
    assert_near(s.p5, 5.0, 1e-9);
    assert_near(s.p95, 95.0, 1e-9);
    /* ranks 101/2 -+ 1.96 sqrt(101)/2 = 40.65 and 60.35, rounded outwards */
    assert_near(s.ci_lo, 40.0, 0);
    assert_near(s.ci_hi, 61.0, 0);
}

/* The interval must hold the true median in 95% of samples: 1000 samples of a skewed distribution
 * with outliers, as timings are; the count is binomial, standard deviation 7. */
TEST(interval_covers_the_median)
{
    gsl_rng *rng = random_of(20141);
    const double truth = exp(0.0);
    int covered = 0;
    for (int round = 0; round < 1000; round++) {
        double v[200];
        struct carm_stats s;
        for (int i = 0; i < 200; i++) {
            v[i] = gsl_ran_lognormal(rng, 0.0, 0.5);
        }
        carm_stats_describe(v, 200, &s);
        covered += s.ci_lo <= truth && truth <= s.ci_hi ? 1 : 0;
    }
    assert_in_range(covered, 930, 985);
}

/* The ranks n / 2 - 0.98 sqrt(n), rounded down, and n / 2 + 0.98 sqrt(n), rounded up; of fewer than 8 all. */
TEST(interval_has_its_ranks)
{
    static const struct {
        size_t n;
        double lo, hi;
    } rows[] = {{1000, 469, 531}, {900, 420, 480}, {11, 2, 9}, {10, 1, 9}, {9, 1, 8}, {8, 1, 7},
                {7, 0, 6},        {6, 0, 5},       {5, 0, 4},  {4, 0, 3},  {2, 0, 1}};
    double v[1000];
    struct carm_stats s;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int k = 0; k < 1000; k++) {
            v[k] = k;
        }
        carm_stats_describe(v, rows[i].n, &s);
        assert_near(s.ci_lo, rows[i].lo, 0.0);
        assert_near(s.ci_hi, rows[i].hi, 0.0);
    }
}

/* The widest bins of three that have 8 samples, and one more for each 200 of all; of them and their two neighbours below,
 * the fullest. */
TEST(widths_that_repeat_count)
{
    static const struct {
        unsigned seen[3][2]; /* bins of 1/20: their samples */
        double full;
    } rows[] = {{{{110, 7}}, 0.0},
                {{{110, 8}}, 5.525},
                {{{110, 3}, {111, 3}, {112, 2}}, 5.525},
                {{{110, 3}, {111, 3}, {113, 2}}, 0.0},
                {{{110, 2}, {112, 6}}, 5.625},
                {{{112, 8}, {110, 20}, {109, 30}}, 5.525},
                {{{112, 8}, {111, 8}}, 5.625},
                {{{64, 192}, {110, 8}}, 3.225},
                {{{64, 191}, {110, 9}}, 5.525},
                {{{64, 9000}, {110, 52}}, 3.225},
                {{{64, 9000}, {110, 53}}, 5.525},
                {{{319, 8}}, 15.975},
                {{{319, 8}, {314, 9}}, 15.975},
                {{{1, 8}}, 0.075},
                {{{1, 8}, {0, 20}}, 0.025},
                {{{0, 8}}, 0.0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_widths w = {.n = 0};
        for (int k = 0; k < 3; k++) {
            for (unsigned n = 0; n < rows[i].seen[k][1]; n++) {
                carm_widths_add(&w, (rows[i].seen[k][0] + 0.5) / 20.0);
            }
        }
        fail_if(fabs(carm_widths_full(&w) - rows[i].full) > 1e-9, "row %zu: %g", i,
                carm_widths_full(&w));
    }
    static const double widths[] = {0.0, 15.99, 16.0, -0.001, -1.0, 1e9};
    struct carm_widths w = {.n = 0};
    for (size_t i = 0; i < 6; i++) { /* two are widths */
        carm_widths_add(&w, widths[i]);
        assert_int_equal(w.n, i < 2 ? i + 1 : 2);
    }
    assert_true(w.seen[0] == 1 && w.seen[319] == 1);
}
