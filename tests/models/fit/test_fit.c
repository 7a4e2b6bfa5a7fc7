/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rates from synthetic times of known truth: intervals that cover it as often as they say. */
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>

#include "models/fit/line.h"
#include "models/fit/robust.h"
#include "tests/random.h"

enum { SIZES = 29, SEEDS = 1000 };

static const double true_rate = 50e9;
static const double true_t0 = 2e-6;

/* 1 kB to 16 MB at half octaves: start-up outweighs work at one end, work start-up at the other. */
static double work_at(size_t i)
{
    return 1e3 * pow(2.0, 0.5 * (double)i);
}

static double time_at(size_t i)
{
    return true_t0 + work_at(i) / true_rate;
}

static void make_times(gsl_rng *rng, double noise, double work[SIZES], double seconds[SIZES])
{
    for (size_t i = 0; i < SIZES; i++) {
        work[i] = work_at(i);
        seconds[i] = time_at(i) * (1.0 + noise * gsl_ran_gaussian(rng, 1.0));
    }
}

static struct carm_fit_line fit(const double *work, const double *seconds, size_t n)
{
    struct carm_fit_line f;
    assert_ok(carm_fit_line(work, seconds, n, &f, &err));
    return f;
}

TEST(exact_times_give_exact_values)
{
    double work[SIZES];
    double seconds[SIZES];
    for (size_t i = 0; i < SIZES; i++) {
        work[i] = work_at(i);
        seconds[i] = time_at(i);
    }
    struct carm_fit_line f = fit(work, seconds, SIZES);
    assert_int_equal(f.n, SIZES);
    assert_near(f.rate.value, true_rate, 1e-11 * true_rate);
    assert_near(f.rate.se, 0.0, 1e-11 * true_rate);
    assert_near(f.rate.lo, true_rate, 1e-11 * true_rate);
    assert_near(f.rate.hi, true_rate, 1e-11 * true_rate);
    assert_near(f.t0.value, true_t0, 1e-11 * true_t0);
    assert_near(f.t0.se, 0.0, 1e-11 * true_t0);
    assert_near(f.rrmse, 0.0, 1e-12);
    /* exact but for two: they do not count */
    seconds[3] *= 10.0;
    seconds[27] *= 10.0;
    f = fit(work, seconds, SIZES);
    assert_near(f.rate.value, true_rate, 1e-11 * true_rate);
    assert_near(f.t0.value, true_t0, 1e-11 * true_t0);
    /* ... except in rrmse: (1 - 1/10)^2 twice */
    assert_near(f.rrmse, sqrt(2.0 * 0.81 / SIZES), 1e-9);
    /* no start-up cost, other units, the smallest n */
    const double few_work[] = {1.0, 2.0, 3.0, 5.0};
    const double few_seconds[] = {0.5, 1.0, 1.5, 2.5};
    f = fit(few_work, few_seconds, 4);
    assert_near(f.rate.value, 2.0, 1e-12);
    assert_near(f.t0.value, 0.0, 1e-12);
    assert_false(isnan(f.rate.lo) || isnan(f.rate.hi) || isnan(f.t0.lo) || isnan(f.t0.hi));
}

/* Standard errors of weighted least squares with known noise: of the rate and of t0. */
static void theory(double noise, double *rate_se, double *t0_se)
{
    double a = 0.0;
    double b = 0.0;
    double c = 0.0;
    for (size_t i = 0; i < SIZES; i++) {
        const double w = 1.0 / (time_at(i) * time_at(i));
        a += w;
        b += w * work_at(i);
        c += w * work_at(i) * work_at(i);
    }
    *t0_se = noise * sqrt(c / (a * c - b * b));
    *rate_se = noise * sqrt(a / (a * c - b * b)) * true_rate * true_rate;
}

/* 93% of 1000 seeds: binomial, standard deviation 0.7%. At 10%, rows scaled by the measured times
 * would lower times by 2%, a standard error, and fail. */
TEST(intervals_cover_the_truth)
{
    static const double noises[] = {0.01, 0.03, 0.10};
    gsl_rng *rng = random_of(2014);
    const double t = gsl_cdf_tdist_Pinv(0.975, SIZES - 2);
    for (size_t k = 0; k < sizeof noises / sizeof *noises; k++) {
        int rate = 0;
        int t0 = 0;
        double rate_width = 0.0;
        double t0_width = 0.0;
        for (int seed = 0; seed < SEEDS; seed++) {
            double work[SIZES];
            double seconds[SIZES];
            make_times(rng, noises[k], work, seconds);
            const struct carm_fit_line f = fit(work, seconds, SIZES);
            /* the interval is even in seconds per work, of which the error has the same share as of the rate */
            assert_near(f.rate.value / f.rate.lo + f.rate.value / f.rate.hi, 2.0, 1e-9);
            const double errors = (f.rate.value / f.rate.lo - 1.0) * f.rate.value / f.rate.se;
            assert_true(errors > t - 1e-9 && errors < 1.05 * t); /* outliers are left out */
            rate += f.rate.lo <= true_rate && true_rate <= f.rate.hi ? 1 : 0;
            t0 += f.t0.lo <= true_t0 && true_t0 <= f.t0.hi ? 1 : 0;
            rate_width += (f.rate.hi - f.rate.lo) / 2.0 / SEEDS;
            t0_width += (f.t0.hi - f.t0.lo) / 2.0 / SEEDS;
        }
        double rate_se = 0.0;
        double t0_se = 0.0;
        theory(noises[k], &rate_se, &t0_se);
        print_message("line, noise %.2f: rate %d t0 %d of %d; width over theory %.2f %.2f\n",
                      noises[k], rate, t0, SEEDS, rate_width / (t * rate_se),
                      t0_width / (t * t0_se));
        assert_in_range(rate, SEEDS * 93 / 100, SEEDS * 97 / 100);
        assert_in_range(t0, SEEDS * 93 / 100, SEEDS * 97 / 100);
        assert_near(rate_width / (t * rate_se), 1.0, 0.15);
        assert_near(t0_width / (t * t0_se), 1.0, 0.15);
    }
}

/* 5% of the times tenfold: the rate moves by less than 1% at 1% noise, and less than 2% at 3%, which
 * is what leaving points out does; the intervals go on covering and stay narrow. */
TEST(slow_outliers_do_not_move_it)
{
    static const double noises[] = {0.01, 0.03};
    static const double limits[] = {0.01, 0.02};
    enum { OUTLIER_SEEDS = 300 };
    gsl_rng *rng = random_of(2015);
    for (size_t k = 0; k < 2; k++) {
        int covered = 0;
        double most = 0.0;
        double wider = 0.0;
        for (int seed = 0; seed < OUTLIER_SEEDS; seed++) {
            double work[SIZES];
            double seconds[SIZES];
            make_times(rng, noises[k], work, seconds);
            const struct carm_fit_line clean = fit(work, seconds, SIZES);
            for (size_t i = 0; i < SIZES; i++) {
                seconds[i] *= gsl_rng_uniform(rng) < 0.05 ? 10.0 : 1.0;
            }
            const struct carm_fit_line dirty = fit(work, seconds, SIZES);
            most = fmax(most, fabs(dirty.rate.value / clean.rate.value - 1.0));
            covered += dirty.rate.lo <= true_rate && true_rate <= dirty.rate.hi ? 1 : 0;
            wider += dirty.rate.se / clean.rate.se / OUTLIER_SEEDS;
        }
        print_message(
            "line, noise %.2f, outliers: moved %.4f at most, rate %d of %d, se %.2f times\n",
            noises[k], most, covered, OUTLIER_SEEDS, wider);
        assert_true(most < limits[k]);
        assert_true(covered >= OUTLIER_SEEDS * 93 / 100);
        assert_true(wider < 1.3);
    }
}

static void refuse(const double *work, const double *seconds, size_t n, const char *words)
{
    struct carm_fit_line f;
    struct carm_fit_line before;
    err = (struct carm_err){""};
    memset(&f, 0x5a, sizeof f);
    memcpy(&before, &f, sizeof f);
    assert_int_equal(carm_fit_line(work, seconds, n, &f, &err), -CARM_EINVAL);
    fail_if(!strstr(err.text, words), "'%s' does not say '%s'", err.text, words);
    assert_memory_equal(&f, &before, sizeof f);
}

TEST(refuses_what_has_no_rate)
{
    static const double bad[] = {0.0, -1.0, NAN, INFINITY};
    const double work[] = {1, 2, 3, 4, 5};
    const double seconds[] = {1, 2, 3, 4, 5};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double copy[5];
        memcpy(copy, work, sizeof copy);
        copy[2] = bad[i];
        refuse(copy, seconds, 5, "work[2] is");
        refuse(work, copy, 5, "seconds[2] is");
        memcpy(copy, work, sizeof copy);
        copy[0] = bad[i];
        refuse(copy, seconds, 5, "work[0] is");
    }
    refuse(work, seconds, 3, "3 points");
    refuse(work, seconds, 0, "0 points");
    const double alike[] = {7, 7, 7, 7, 7};
    refuse(alike, seconds, 5, "same work");
    refuse(work, alike, 5, "do not grow");
    const double falling[] = {5, 4, 3, 2, 1};
    refuse(work, falling, 5, "do not grow");
    const double scattered[] = {3, 1, 4, 1, 5};
    refuse(work, scattered, 5, "do not grow");
}

/* Numbers worked out by hand. Absolute values 1 2 3 4 5: their median 3, without the least two 4. */
TEST(robust_statistics)
{
    const double u[] = {-3, 1, 5, -2, 4}, same[] = {2, 2, 2, -2}, limit = 6.07;
    double scratch[5];
    assert_near(carm_robust_scale(u, 5, 0, scratch), 1.482602218505602 * 3, 1e-12);
    assert_near(carm_robust_scale(u, 5, 2, scratch), 1.482602218505602 * 4, 1e-12);
    assert_near(carm_robust_scale(u, 5, 1, scratch), 1.482602218505602 * 3.5, 1e-12);
    assert_near(carm_robust_weight(0.0), 1.0, 0.0);
    assert_near(carm_robust_weight(-0.5 * limit), 0.75 * 0.75, 1e-12);
    assert_near(carm_robust_weight(limit), 0.0, 0.0);
    assert_near(carm_robust_weight(-2.0 * limit), 0.0, 0.0);
    /* residuals of half and of twice the limit: psi 0.75^2 / 2 and 0, its derivative 0.75 (0.75 - 1) and 0, whose mean is
     * below the least; both of a tenth of the limit: 0.99 (0.99 - 0.04) */
    const double far_[] = {0.5, 2.0}, near_[] = {0.1, -0.1};
    const double psi = 0.28125 * limit, of_far = 0.75 * (0.75 - 1.0),
                 variance = 0.5 * of_far * of_far - 0.01;
    assert_near(carm_robust_sigma(far_, 2, 1, 1.0 / limit),
                (1.0 + 0.5 * variance / 0.01) / limit * psi / 0.1, 1e-9);
    assert_near(carm_robust_sigma(near_, 2, 1, 1.0 / limit),
                0.1 * 0.99 * 0.99 * sqrt(2.0) / (0.99 * 0.95), 1e-9);
    /* of residuals that are all 2 the scale is 2: 8 log 2 + 4 * 5 log 1.25; of zeros it is the floor */
    assert_near(carm_robust_deviance(same, 4, 1e-9), 8.0 * log(2.0) + 20.0 * log(1.25), 1e-9);
    assert_near(carm_robust_deviance((double[]){0.0, 0.0}, 2, 1e-3), 4.0 * log(1e-3), 1e-9);
    assert_near(carm_robust_deviance((double[]){1e-9, 1e-9}, 2, 1e-3), 4.0 * log(1e-3), 1e-6);
}

/* The least number of points and of sizes; one that is far out does not count, two that leave one size alone do. */
TEST(few_points)
{
    struct carm_fit_line f = fit((double[]){1, 2, 2, 2}, (double[]){3, 5, 5, 5}, 4);
    assert_near(f.rate.value, 0.5, 1e-12);
    assert_near(f.t0.value, 1.0, 1e-12);
    /* residuals 0.01 to and fro: bisquare weights are all but 1, so nearly least squares of seconds / fitted */
    const double work[] = {1, 2, 3, 4, 5, 6}, off[] = {0.01, -0.01, -0.01, 0.01, 0.01, -0.01};
    double seconds[6], a = 0.0, b = 0.0, c = 0.0;
    for (size_t i = 0; i < 6; i++) {
        const double t = 1.0 + 2.0 * work[i];
        seconds[i] = t * (1.0 + off[i]);
        a += 1.0 / (t * t);
        b += work[i] / (t * t);
        c += work[i] * work[i] / (t * t);
    }
    f = fit(work, seconds, 6);
    const double t = gsl_cdf_tdist_Pinv(0.975, 4);
    assert_near(f.rate.value, 0.5, 0.01);
    assert_near((f.t0.hi - f.t0.lo) / 2.0 / f.t0.se, t, 1e-9);
    assert_near((f.t0.hi + f.t0.lo) / 2.0, f.t0.value, 1e-9);
    assert_near(f.rate.value / f.rate.lo - 1.0, t * f.rate.se / f.rate.value, 1e-9);
    /* standard errors by the textbook: residuals' variance of n - 2, within what bisquare leaves */
    const double sigma = 0.01 * sqrt(6.0 / 4.0);
    assert_near(f.t0.se / (sigma * sqrt(c / (a * c - b * b))), 1.0, 0.25);
    assert_near(f.rate.se / (sigma * sqrt(a / (a * c - b * b)) * 0.25), 1.0, 0.25);
    assert_near(
        f.rrmse, 0.01,
        0.002); /* four exact points beside one; five times of one size, so that the other size's two count */
    f = fit((double[]){1, 2, 3, 4, 5}, (double[]){3, 5, 7, 9, 110}, 5);
    assert_near(f.rate.value, 0.5, 1e-12);
    assert_near(f.rate.se + f.t0.se, 0.0, 0.0);
    f = fit((double[]){2, 2, 2, 2, 2, 4, 4}, (double[]){5, 5.01, 4.99, 5.02, 4.98, 8, 11}, 7);
    assert_near(f.rate.value, 4.0 / 9.0, 1e-6);
    assert_near(f.t0.value, 0.5, 1e-6);
    assert_true(f.rate.se > 0.05);
}

/* Figures of lines with noise that is the same each time, as they were when they covered the truth: near outliers and
 * far ones, and a line that falls below 0. */
TEST(figures_stay)
{
    static const double below[] = {.05, 2.1, 3.9, 6.3, 8.0, 9.7, 12.4, 13.9};
    static const double wanted[][7] = {
        {1.99379649, 0.0247021261, 1.94300717, 2.0473123, 3.01379191, 0.100030297, 0.209977347},
        {0.499591575, 0.00633850032, 0.484548823, 0.515598252, -1.95162014, 0.0254896503,
         0.027132543}};
    for (size_t k = 0; k < 2; k++) {
        double work[20], seconds[20];
        for (size_t i = 0; i < 20; i++) {
            work[i] = k ? (double)(i + 1) : 1.0 + (double)(i * i);
            seconds[i] = k ? below[i % 8]
                           : (3.0 + 0.5 * work[i]) * (1.0 + 0.03 * sin(7.3 * (double)(i * i))) *
                                 (i == 4    ? 1.2
                                  : i == 9  ? 0.85
                                  : i == 13 ? 10
                                  : i == 16 ? 1.12
                                            : 1);
        }
        const struct carm_fit_line f = fit(work, seconds, k ? 8 : 20);
        const double is[] = {f.rate.value, f.rate.se, f.rate.lo, f.rate.hi,
                             f.t0.value,   f.t0.se,   f.rrmse};
        for (size_t j = 0; j < 7; j++) {
            assert_near(is[j] / wanted[k][j], 1.0, 1e-6);
        }
    }
}
