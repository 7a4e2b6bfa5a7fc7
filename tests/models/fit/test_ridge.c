/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rooflines fitted to synthetic points: exact values, refusals, cross validation. How well they fit
 * noisy points is in test_ridge_noise.c. */
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_randist.h>

#include "models/fit/ridge.h"
#include "tests/models/fit/ridge_points.h"
#include "tests/random.h"

TEST(forms_by_hand)
{
    assert_string_equal(carm_ridge_name(CARM_RIDGE_SHARP), "sharp");
    assert_string_equal(carm_ridge_name(CARM_RIDGE_ROUNDED), "rounded");
    assert_string_equal(carm_ridge_name(CARM_RIDGE_ISSUE), "issue");
    assert_string_equal(carm_ridge_name(CARM_RIDGE_ROUNDED_ISSUE), "rounded+issue");
    struct carm_ridge_params p = {.bandwidth = 10.0, .peak = 40.0, .p = 1.0, .issue = 6.0};
    assert_near(carm_ridge_eval(CARM_RIDGE_SHARP, &p, 2.0, 1.0), 20.0, 0);
    assert_near(carm_ridge_eval(CARM_RIDGE_SHARP, &p, 8.0, 1.0), 40.0, 0);
    /* 1/20 + 1/40 = 3/40 s/flop */
    assert_near(carm_ridge_eval(CARM_RIDGE_ROUNDED, &p, 2.0, 1.0), 40.0 / 3.0, 1e-13);
    /* 6 slots/s at half a slot for one flop: 12 flop/s; + 1/12 = 19/120 */
    assert_near(carm_ridge_eval(CARM_RIDGE_ISSUE, &p, 2.0, 0.5), 12.0, 0);
    assert_near(carm_ridge_eval(CARM_RIDGE_ISSUE, &p, 2.0, 0.0), 20.0, 0);
    assert_near(carm_ridge_eval(CARM_RIDGE_ROUNDED_ISSUE, &p, 2.0, 0.5), 120.0 / 19.0, 1e-13);
    p.p = 2.0;
    assert_near(carm_ridge_eval(CARM_RIDGE_ROUNDED, &p, 4.0, 1.0), 40.0 / sqrt(2.0), 1e-13);
    p.p = 5000.0;
    assert_near(carm_ridge_eval(CARM_RIDGE_ROUNDED, &p, 1e-9, 1.0), 1e-8, 1e-20);
    p.p = INFINITY;
    assert_near(carm_ridge_eval(CARM_RIDGE_ROUNDED, &p, 4.0, 1.0), 40.0, 0);
    assert_near(carm_ridge_eval(CARM_RIDGE_ROUNDED_ISSUE, &p, 4.0, 0.5), 12.0, 0);
    p.issue = INFINITY;
    assert_near(carm_ridge_eval(CARM_RIDGE_ISSUE, &p, 2.0, 0.5), 20.0, 0);
}

TEST(exact_points_give_exact_values)
{
    static const double sharp[] = {1.0, 2.0, 8.0};
    for (enum carm_ridge form = 0; form < CARM_RIDGE_COUNT; form++) {
        const bool rounded = form == CARM_RIDGE_ROUNDED || form == CARM_RIDGE_ROUNDED_ISSUE;
        for (size_t k = 0; k < (rounded ? 3 : 1); k++) {
            for (int outliers = 0; outliers < 2; outliers++) {
                struct carm_ridge_point points[POINTS];
                make_points(NULL, form, sharp[k], 0.0, points);
                points[4].performance /= outliers ? 10.0 : 1.0;
                points[22].performance /= outliers ? 10.0 : 1.0;
                const struct carm_ridge_fit f = fit(form, points, POINTS);
                assert_int_equal(f.form, form);
                assert_int_equal(f.n, POINTS);
                assert_near(f.bandwidth.value / truth.bandwidth, 1.0, 1e-8);
                assert_near(f.peak.value / truth.peak, 1.0, 1e-8);
                assert_near(f.bandwidth.se / truth.bandwidth, 0.0, 1e-8);
                assert_near(f.peak.se / truth.peak, 0.0, 1e-8);
                assert_near(f.bandwidth.lo / truth.bandwidth, 1.0, 1e-7);
                assert_near(f.peak.hi / truth.peak, 1.0, 1e-7);
                assert_true(isfinite(f.aicc) && isfinite(f.correlation));
                assert_near(f.issue, truth.issue, 0);
                assert_near(f.at.bandwidth, f.bandwidth.value, 0);
                assert_near(f.at.peak, f.peak.value, 0);
                assert_near(f.at.issue, truth.issue, 0);
                if (rounded) {
                    assert_near(f.p.value, sharp[k], 1e-6 * sharp[k]);
                    assert_near(f.p.se, 0.0, 1e-6 * sharp[k]);
                    assert_near(f.at.p, f.p.value, 0);
                } else {
                    assert_true(isinf(f.p.value) && isinf(f.at.p));
                }
            }
        }
    }
}

/* Rounder points than p = 1 give p = 1, and points of 1 / p just below 1 their own p. */
TEST(sharpness_has_a_least_value)
{
    static const double q[] = {1.01, 0.99};
    for (size_t k = 0; k < 2; k++) {
        struct carm_ridge_point points[POINTS];
        make_points(NULL, CARM_RIDGE_ROUNDED, 1.0 / q[k], 0.0, points);
        const struct carm_ridge_fit f = fit(CARM_RIDGE_ROUNDED, points, POINTS);
        assert_near(f.p.value, k == 0 ? 1.0 : 1.0 / q[k], k == 0 ? 0.0 : 1e-6);
        assert_near(f.at.p, f.p.value, 0.0);
        assert_true(f.p.lo >= 1.0);
    }
}

static void refuse(enum carm_ridge form, const struct carm_ridge_point *points, size_t n,
                   double issue, const char *words)
{
    struct carm_ridge_fit f;
    struct carm_ridge_fit before;
    err = (struct carm_err){""};
    memset(&f, 0x5a, sizeof f);
    memcpy(&before, &f, sizeof f);
    assert_int_equal(carm_ridge_fit(form, points, n, issue, &f, &err), -CARM_EINVAL);
    fail_if(!strstr(err.text, words), "'%s' does not say '%s'", err.text, words);
    assert_memory_equal(&f, &before, sizeof f);
}

/* Points of one side only tell one roof, with or without noise, and with an outlier at the very end
 * that looks like the other side. */
TEST(refuses_one_side_of_the_ridge)
{
    static const double sizes[] = {0.0, 0.01, 0.10};
    gsl_rng *rng = random_of(2018);
    for (size_t k = 0; k < 3; k++) {
        for (int seed = 0; seed < 40; seed++) {
            struct carm_ridge_point points[POINTS];
            make_points(sizes[k] > 0.0 ? rng : NULL, CARM_RIDGE_SHARP, INFINITY, sizes[k], points);
            /* the ridge is at 2^-2, index 12 */
            for (enum carm_ridge form = 0; form <= CARM_RIDGE_ROUNDED; form++) {
                refuse(form, points, 12, INFINITY, "peak cannot be estimated");
                refuse(form, points + 13, 16, INFINITY, "bandwidth cannot be estimated");
            }
            points[13].performance /= 10.0;
            refuse(CARM_RIDGE_SHARP, points + 13, 16, INFINITY, "bandwidth cannot be estimated");
        }
    }
    /* 1 slot/s: issue binds every point */
    struct carm_ridge_point points[POINTS];
    make_points(NULL, CARM_RIDGE_SHARP, INFINITY, 0.0, points);
    for (size_t i = 0; i < POINTS; i++) {
        points[i].performance = 1.0 / points[i].slots;
    }
    refuse(CARM_RIDGE_ISSUE, points, POINTS, 1.0, "cannot be estimated");
    refuse(CARM_RIDGE_ROUNDED_ISSUE, points, POINTS, 1.0, "cannot be estimated");
}

/* A roof that hangs on one point would follow it wherever it is, outlier or not. */
TEST(one_point_does_not_make_a_roof)
{
    enum { FEW = 12 };
    gsl_rng *rng = random_of(2022);
    for (int seed = 0; seed < 40; seed++) {
        for (int two = 0; two < 2; two++) {
            struct carm_ridge_point points[FEW];
            for (size_t i = 0; i < FEW; i++) {
                /* the ridge is at 0.25 */
                const double x = i == 0 ? 0.10 : i == 1 && two ? 0.15 : 0.3 * pow(1.5, (double)i);
                points[i] =
                    (struct carm_ridge_point){x,
                                              carm_ridge_eval(CARM_RIDGE_SHARP, &truth, x, 0.0) *
                                                  (1.0 + 0.01 * gsl_ran_gaussian(rng, 1.0)),
                                              0.01, 0.0};
            }
            if (two) {
                assert_near(fit(CARM_RIDGE_SHARP, points, FEW).bandwidth.value / truth.bandwidth,
                            1.0, 0.04);
            } else {
                refuse(CARM_RIDGE_SHARP, points, FEW, INFINITY, "bandwidth cannot be estimated");
                points[7].performance /= 10.0; /* nor does an outlier beside it */
                refuse(CARM_RIDGE_SHARP, points, FEW, INFINITY, "bandwidth cannot be estimated");
            }
        }
    }
}

TEST(refuses_values_out_of_range)
{
    static const double bad[] = {0.0, -1.0, NAN, INFINITY};
    struct carm_ridge_point points[POINTS];
    make_points(NULL, CARM_RIDGE_SHARP, INFINITY, 0.0, points);
    refuse(CARM_RIDGE_SHARP, points, 5, INFINITY, "5 points are too few");
    refuse(CARM_RIDGE_COUNT, points, POINTS, INFINITY, "no form");
    refuse(CARM_RIDGE_ISSUE, points, POINTS, 0.0, "issue rate");
    refuse(CARM_RIDGE_ISSUE, points, POINTS, NAN, "issue rate");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct carm_ridge_point copy[POINTS];
        memcpy(copy, points, sizeof copy);
        copy[3].intensity = bad[i];
        refuse(CARM_RIDGE_SHARP, copy, POINTS, INFINITY, "intensity of point 3 is");
        memcpy(copy, points, sizeof copy);
        copy[4].performance = bad[i];
        refuse(CARM_RIDGE_SHARP, copy, POINTS, INFINITY, "performance of point 4 is");
        memcpy(copy, points, sizeof copy);
        copy[5].sigma = bad[i];
        refuse(CARM_RIDGE_SHARP, copy, POINTS, INFINITY, "sigma of point 5 is");
        memcpy(copy, points, sizeof copy);
        copy[6].slots = bad[i];
        if (bad[i] != 0.0) {
            refuse(CARM_RIDGE_ISSUE, copy, POINTS, 1e9, "slots of point 6 are");
        }
        fit(CARM_RIDGE_SHARP, copy, POINTS); /* not looked at */
        copy[0].sigma = bad[i];
        refuse(CARM_RIDGE_SHARP, copy, POINTS, INFINITY, "sigma of point 0 is");
        copy[0].sigma = copy[1].sigma;
        copy[POINTS - 1].intensity = bad[i];
        refuse(CARM_RIDGE_SHARP, copy, POINTS, INFINITY, "intensity of point 28 is");
    }
}

static void predict(const struct carm_ridge_point *points, size_t n, double *predicted)
{
    assert_ok(carm_ridge_cross_validate(CARM_RIDGE_SHARP, points, n, INFINITY, predicted, &err));
}

TEST(predictions_have_not_seen_the_point)
{
    gsl_rng *rng = random_of(2021);
    struct carm_ridge_point points[POINTS];
    make_points(rng, CARM_RIDGE_SHARP, INFINITY, 0.03, points);
    double before[POINTS];
    predict(points, POINTS, before);
    for (size_t changed = 0; changed < POINTS; changed++) {
        const double kept = points[changed].performance;
        double after[POINTS];
        int moved = 0;
        points[changed].performance *= 1.02; /* too little to be taken for an outlier */
        predict(points, POINTS, after);
        for (size_t i = 0; i < POINTS; i++) {
            if (i % 2 == changed % 2) {
                assert_near(after[i], before[i], 0);
            } else {
                moved += after[i] != before[i] ? 1 : 0;
            }
        }
        assert_true(moved > 0);
        points[changed].performance = kept * 1000.0;
        predict(points, POINTS, after);
        assert_near(after[changed], before[changed], 0);
        points[changed].performance = kept;
    }
    /* two machines in turn: each point is predicted by the other one */
    make_points(NULL, CARM_RIDGE_SHARP, INFINITY, 0.0, points);
    for (size_t i = 1; i < POINTS; i += 2) {
        points[i].performance *= 2.0;
    }
    predict(points, POINTS, before);
    for (size_t i = 0; i < POINTS; i++) {
        assert_near(before[i] / points[i].performance, i % 2 ? 0.5 : 2.0, 1e-8);
    }
}

TEST(cross_validation_needs_two_halves)
{
    struct carm_ridge_point points[POINTS];
    make_points(NULL, CARM_RIDGE_SHARP, INFINITY, 0.0, points);
    double predicted[POINTS] = {7.0};
    assert_refused(
        carm_ridge_cross_validate(CARM_RIDGE_SHARP, points, 11, INFINITY, predicted, &err),
        -CARM_EINVAL, "each half");
    assert_refused(
        carm_ridge_cross_validate(CARM_RIDGE_SHARP, points + 14, 15, INFINITY, predicted, &err),
        -CARM_EINVAL, "bandwidth cannot be estimated");
    assert_near(predicted[0], 7.0, 0);
    predict(points + 6, 12, predicted);
}

/* Standard errors of log bandwidth and log peak that noise of known size leaves, from derivatives
 * taken by differences. */
static void theory(enum carm_ridge form, double p, const struct carm_ridge_point *points,
                   double se[2])
{
    const size_t k = isinf(p) ? 2 : 3;
    const double h = 1e-5;
    double information[9] = {0.0};
    for (size_t i = 0; i < POINTS; i++) {
        double d[3];
        for (size_t j = 0; j < k; j++) {
            double value[2];
            for (int side = 0; side < 2; side++) {
                struct carm_ridge_params t = sharpness(p);
                const double factor = exp(side ? h : -h);
                t.bandwidth *= j == 0 ? factor : 1.0;
                t.peak *= j == 1 ? factor : 1.0;
                t.p *= j == 2 ? factor : 1.0;
                value[side] = log(carm_ridge_eval(form, &t, points[i].intensity, points[i].slots));
            }
            d[j] = (value[1] - value[0]) / (2.0 * h) / points[i].sigma;
        }
        for (size_t a = 0; a < k; a++) {
            for (size_t b = 0; b < k; b++) {
                information[a * k + b] += d[a] * d[b];
            }
        }
    }
    gsl_matrix_view m = gsl_matrix_view_array(information, k, k);
    gsl_linalg_cholesky_decomp1(&m.matrix);
    gsl_linalg_cholesky_invert(&m.matrix);
    se[0] = sqrt(information[0]);
    se[1] = sqrt(information[k + 1]);
}

/* How often and how widely intervals cover over seeds of one case. */
struct tally {
    int seeds, bandwidth, peak, p, sharp;
    double bandwidth_width, peak_width; /* mean half-width on the log scale over theory's */
};

static void count_cover(gsl_rng *rng, enum carm_ridge form, double p, double noise, int seeds,
                        struct tally *sum)
{
    struct tally one = {.seeds = seeds};
    struct carm_ridge_point points[POINTS];
    make_points(NULL, form, p, noise, points);
    double se[2];
    theory(form, p, points, se);
    const double t = gsl_cdf_tdist_Pinv(0.975, isinf(p) ? POINTS - 2 : POINTS - 3);
    for (int seed = 0; seed < seeds; seed++) {
        make_points(rng, form, p, noise, points);
        const struct carm_ridge_fit f = fit(form, points, POINTS);
        one.bandwidth += covers(f.bandwidth, truth.bandwidth);
        one.peak += covers(f.peak, truth.peak);
        one.p += covers(f.p, p);
        one.sharp += isinf(f.p.value) ? 1 : 0;
        assert_true(f.p.lo >= 1.0 && f.p.lo <= f.p.value && f.p.value <= f.p.hi);
        one.bandwidth_width += log(f.bandwidth.hi / f.bandwidth.lo) / 2.0 / (t * se[0]) / seeds;
        one.peak_width += log(f.peak.hi / f.peak.lo) / 2.0 / (t * se[1]) / seeds;
    }
    print_message(
        "%s p %g noise %.2f: bandwidth %d peak %d p %d of %d (%d without rounding); width "
        "over theory %.2f %.2f\n",
        carm_ridge_name(form), p, noise, one.bandwidth, one.peak, one.p, seeds, one.sharp,
        one.bandwidth_width, one.peak_width);
    assert_near(one.bandwidth_width, 1.0, 0.2);
    assert_near(one.peak_width, 1.0, 0.2);
    sum->seeds += seeds;
    sum->bandwidth += one.bandwidth;
    sum->peak += one.peak;
    sum->p += one.p;
}

static const double noises[] = {0.01, 0.03, 0.10};

/* 93% of 1000 seeds at each noise: binomial, standard deviation 0.7%. */
TEST(sharp_intervals_cover_the_truth)
{
    gsl_rng *rng = random_of(2014);
    for (size_t k = 0; k < 3; k++) {
        struct tally sum = {0};
        count_cover(rng, CARM_RIDGE_SHARP, INFINITY, noises[k], 1000, &sum);
        assert_in_range(sum.bandwidth, 930, 970);
        assert_in_range(sum.peak, 930, 970);
    }
}

/* 93% of 900 seeds for each p, 300 at each noise. */
TEST(rounded_intervals_cover_the_truth)
{
    static const double sharp[] = {2.0, 4.0, 8.0};
    gsl_rng *rng = random_of(2015);
    for (size_t j = 0; j < 3; j++) {
        struct tally sum = {0};
        for (size_t k = 0; k < 3; k++) {
            count_cover(rng, CARM_RIDGE_ROUNDED, sharp[j], noises[k], 300, &sum);
        }
        assert_in_range(sum.bandwidth, 837, 880);
        assert_in_range(sum.peak, 837, 880);
        assert_in_range(sum.p, 837, 885);
    }
}

/* The better half of the points must count more: the intervals cover, and are as narrow as known
 * weights allow; a fit without weights would be 2.5 times as wide. Only ratios of sigma matter. */
TEST(weights_count)
{
    enum { SEEDS = 500 };
    gsl_rng *rng = random_of(2016);
    int bandwidth = 0;
    int peak = 0;
    double width = 0.0;
    struct carm_ridge_point points[POINTS];
    for (int seed = 0; seed < SEEDS; seed++) {
        make_points(NULL, CARM_RIDGE_SHARP, INFINITY, 1.0, points);
        for (size_t i = 0; i < POINTS; i++) {
            points[i].sigma = (i / 2) % 2 ? 0.01 : 0.10;
            points[i].performance *= exp(points[i].sigma * gsl_ran_gaussian(rng, 1.0));
        }
        const struct carm_ridge_fit f = fit(CARM_RIDGE_SHARP, points, POINTS);
        bandwidth += covers(f.bandwidth, truth.bandwidth);
        peak += covers(f.peak, truth.peak);
        double se[2];
        theory(CARM_RIDGE_SHARP, INFINITY, points, se);
        width += f.bandwidth.se / f.bandwidth.value / se[0] / SEEDS;
        for (size_t i = 0; i < POINTS; i++) {
            points[i].sigma *= 1000.0;
        }
        const struct carm_ridge_fit g = fit(CARM_RIDGE_SHARP, points, POINTS);
        assert_near(g.bandwidth.value / f.bandwidth.value, 1.0, 1e-9);
        assert_near(g.bandwidth.se / f.bandwidth.se, 1.0, 1e-6);
    }
    print_message("two sigmas: bandwidth %d peak %d of %d; se over theory %.2f\n", bandwidth, peak,
                  SEEDS, width);
    assert_true(bandwidth >= SEEDS * 93 / 100);
    assert_true(peak >= SEEDS * 93 / 100);
    assert_near(width, 1.0, 0.2);
}

/* 5% of the points slowed tenfold: neither roof moves by 1% at 1% noise, nor by 2.5% at 3%, which is
 * what leaving the points out does. */
TEST(outliers_do_not_move_a_roof)
{
    static const double limits[] = {0.01, 0.025};
    static const double sharp[] = {INFINITY, 2.0, 8.0};
    gsl_rng *rng = random_of(2017);
    for (size_t j = 0; j < 3; j++) {
        const enum carm_ridge form = isinf(sharp[j]) ? CARM_RIDGE_SHARP : CARM_RIDGE_ROUNDED;
        for (size_t k = 0; k < 2; k++) {
            double most = 0.0;
            int covered = 0;
            for (int seed = 0; seed < 100; seed++) {
                struct carm_ridge_point points[POINTS];
                make_points(rng, form, sharp[j], noises[k], points);
                const struct carm_ridge_fit clean = fit(form, points, POINTS);
                for (size_t i = 0; i < POINTS; i++) {
                    points[i].performance /= gsl_rng_uniform(rng) < 0.05 ? 10.0 : 1.0;
                }
                const struct carm_ridge_fit dirty = fit(form, points, POINTS);
                most = fmax(most, fabs(dirty.bandwidth.value / clean.bandwidth.value - 1.0));
                most = fmax(most, fabs(dirty.peak.value / clean.peak.value - 1.0));
                covered += covers(dirty.bandwidth, truth.bandwidth);
                covered += covers(dirty.peak, truth.peak);
            }
            print_message("%s p %g noise %.2f, outliers: moved %.4f at most; roofs covered %d of "
                          "200\n",
                          carm_ridge_name(form), sharp[j], noises[k], most, covered);
            assert_true(most < limits[k]);
            assert_true(covered >= 182); /* binomial: 190, standard deviation 3 */
        }
    }
}

/* Sharp points seen by the rounded form: the interval of p is open to infinity, an estimate that
 * shows no rounding agrees with the sharp form, and its larger number of parameters costs it. */
TEST(sharp_points_show_no_rounding)
{
    enum { SEEDS = 100 };
    gsl_rng *rng = random_of(2019);
    int open = 0;
    int sharp = 0;
    for (int seed = 0; seed < SEEDS; seed++) {
        struct carm_ridge_point points[POINTS];
        make_points(rng, CARM_RIDGE_SHARP, INFINITY, 0.03, points);
        const struct carm_ridge_fit s = fit(CARM_RIDGE_SHARP, points, POINTS);
        const struct carm_ridge_fit r = fit(CARM_RIDGE_ROUNDED, points, POINTS);
        open += isinf(r.p.hi) ? 1 : 0;
        assert_true(r.p.lo > 4.0);
        if (isinf(r.p.value)) {
            sharp++;
            assert_true(isinf(r.at.p) && isinf(r.p.se));
            assert_near(r.bandwidth.value, s.bandwidth.value, 0);
            assert_near(r.peak.se, s.peak.se, 0);
            assert_true(r.aicc > s.aicc + 1.0);
        }
    }
    print_message("sharp points: %d of %d without rounding, %d intervals open\n", sharp, SEEDS,
                  open);
    assert_true(sharp >= 30);
    assert_true(open >= 93);
}

TEST(criterion_finds_the_form)
{
    enum { SEEDS = 100 };
    static const double sizes[] = {0.01, 0.03};
    gsl_rng *rng = random_of(2020);
    for (size_t k = 0; k < 2; k++) {
        for (enum carm_ridge made = 0; made <= CARM_RIDGE_ISSUE; made++) {
            int found = 0;
            double lead = 0.0; /* of the true form over the better of the others */
            for (int seed = 0; seed < SEEDS; seed++) {
                struct carm_ridge_point points[POINTS];
                make_points(rng, made, 2.0, sizes[k], points);
                double best_other = INFINITY;
                double own = INFINITY;
                for (enum carm_ridge form = 0; form <= CARM_RIDGE_ISSUE; form++) {
                    const double aicc = fit(form, points, POINTS).aicc;
                    if (form == made) {
                        own = aicc;
                    } else {
                        best_other = fmin(best_other, aicc);
                    }
                }
                found += own < best_other ? 1 : 0;
                lead += (best_other - own) / SEEDS;
            }
            print_message("%s points, noise %.2f: found %d of %d, ahead by %.1f\n",
                          carm_ridge_name(made), sizes[k], found, SEEDS, lead);
            /* Sharp is the limit of rounded: a parameter too many wins by chance in some 8%. Issue
             * cuts five points by a quarter at most, as a rounding might: at 3% noise the two are
             * nearer to each other. */
            const int wanted = made == CARM_RIDGE_SHARP ? 85 : (k == 0 ? 99 : 90);
            assert_true(found >= wanted);
            assert_true(lead > (made == CARM_RIDGE_SHARP ? 1.0 : 6.0));
        }
    }
}

/* Log performance at an estimate moved by h on the scales of log bandwidth, log peak and q = 1 / p. */
static double moved(enum carm_ridge form, const struct carm_ridge_params *at,
                    const struct carm_ridge_point *point, const double h[3])
{
    struct carm_ridge_params t = *at;
    t.bandwidth *= exp(h[0]);
    t.peak *= exp(h[1]);
    t.p = isinf(t.p) && h[2] == 0.0 ? t.p : 1.0 / (1.0 / t.p + h[2]);
    return log(carm_ridge_eval(form, &t, point->intensity, point->slots));
}

/* Errors of a fit, by the definitions: residuals times the square root of weights of mean 1, bisquare weights at 6.07 scales, a
 * scale of the residuals but the k least, Huber's equation 7.6.5 with 7.6.6, derivatives by differences. */
struct reference {
    size_t n, k;
    double weight[POINTS], residual[POINTS], robust[POINTS], derivative[POINTS][3];
    double sigma, squares, per_square, t, deviance;
    double cov[9];
};

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void refer(enum carm_ridge form, const struct carm_ridge_params *at, size_t k,
                  const struct carm_ridge_point *points, struct reference *r)
{
    double all = 0.0, sizes[POINTS], psi2 = 0.0, slope = 0.0, slope2 = 0.0, weights = 0.0,
           s2 = 1e-4;
    *r = (struct reference){.k = k};
    for (size_t i = 0; i < POINTS; i++) {
        all += 1.0 / (points[i].sigma * points[i].sigma) / POINTS;
    }
    for (size_t i = 0; i < POINTS; i++) {
        r->weight[i] = 1.0 / (points[i].sigma * points[i].sigma) / all;
        r->residual[i] = moved(form, at, &points[i], (double[3]){0.0}) - log(points[i].performance);
        sizes[i] = sqrt(r->weight[i]) * fabs(r->residual[i]);
        for (size_t j = 0; j < k; j++) {
            double h[3] = {0.0};
            h[j] = 1e-6;
            r->derivative[i][j] = moved(form, at, &points[i], h);
            h[j] = -1e-6;
            r->derivative[i][j] = (r->derivative[i][j] - moved(form, at, &points[i], h)) / 2e-6;
        }
    }
    qsort(sizes, POINTS, sizeof *sizes, by_size);
    const size_t left = POINTS - k, middle = k + left / 2;
    const double scale =
        1.4826022185 * (left % 2 ? sizes[middle] : 0.5 * (sizes[middle - 1] + sizes[middle]));
    for (size_t i = 0; i < POINTS; i++) {
        const double z = sqrt(r->weight[i]) * r->residual[i] / scale, a = z * z / (6.07 * 6.07);
        r->robust[i] = a < 1.0 ? (1.0 - a) * (1.0 - a) : 0.0;
        if (r->robust[i] > 0.0) {
            const double d = (1.0 - a) * (1.0 - 5.0 * a);
            r->n++;
            weights += r->robust[i];
            psi2 += z * z * r->robust[i] * r->robust[i];
            slope += d;
            slope2 += d * d;
            r->squares += r->robust[i] * z * z * scale * scale;
        }
    }
    const double n = (double)r->n;
    slope /= n;
    r->sigma = (1.0 + (double)k / n * (slope2 / n - slope * slope) / (slope * slope)) * scale *
               sqrt(psi2 / (n - (double)k)) / slope;
    r->per_square = r->sigma * r->sigma * weights / n;
    r->t = gsl_cdf_tdist_Pinv(0.975, n - (double)k);
    for (size_t i = 0; i < POINTS; i++) {
        for (size_t j = 0; j < k * k && r->robust[i] > 0.0; j++) {
            r->cov[j] += r->weight[i] * r->derivative[i][j / k] * r->derivative[i][j % k];
        }
    }
    gsl_matrix_view m = gsl_matrix_view_array(r->cov, k, k);
    gsl_linalg_cholesky_decomp1(&m.matrix);
    gsl_linalg_cholesky_invert(&m.matrix);
    for (int pass = 0; pass < 3000; pass++) { /* likelihood of Student's t with 4 degrees, by EM */
        double sum = 0.0;
        for (size_t i = 0; i < POINTS; i++) {
            const double u2 = r->weight[i] * r->residual[i] * r->residual[i];
            sum += 5.0 * u2 / (4.0 + u2 / s2) / POINTS;
        }
        s2 = sum;
    }
    r->deviance = POINTS * log(s2);
    for (size_t i = 0; i < POINTS; i++) {
        r->deviance += 5.0 * log1p(r->weight[i] * r->residual[i] * r->residual[i] / (4.0 * s2));
    }
}

/* Least squares with a held p, by Newton's steps: how far their root has risen above the best fit's, in standard errors. */
static double rise_at(enum carm_ridge form, const struct carm_ridge_fit *f, double p,
                      const struct carm_ridge_point *points, const struct reference *best)
{
    struct carm_ridge_params at = f->at;
    double squares = 0.0;
    at.p = p;
    for (int step = 0; step < 50; step++) {
        double a[3] = {0.0}, b[2] = {0.0};
        squares = 0.0;
        for (size_t i = 0; i < POINTS; i++) {
            const double w = best->weight[i] * best->robust[i];
            const double r =
                moved(form, &at, &points[i], (double[3]){0.0}) - log(points[i].performance);
            double d[2];
            for (size_t j = 0; j < 2; j++) {
                double up[3] = {0.0}, down[3] = {0.0};
                up[j] = 1e-6;
                down[j] = -1e-6;
                d[j] =
                    (moved(form, &at, &points[i], up) - moved(form, &at, &points[i], down)) / 2e-6;
                b[j] += w * r * d[j];
            }
            a[0] += w * d[0] * d[0];
            a[1] += w * d[0] * d[1];
            a[2] += w * d[1] * d[1];
            squares += w * r * r;
        }
        const double det = a[0] * a[2] - a[1] * a[1];
        at.bandwidth *= exp((a[1] * b[1] - a[2] * b[0]) / det);
        at.peak *= exp((a[1] * b[0] - a[0] * b[1]) / det);
    }
    return sqrt((squares - best->squares) / best->per_square);
}

/* Two sigmas, noise of a few percent that is the same each time, an outlier. */
TEST(errors_by_their_definitions)
{
    static const enum carm_ridge forms[] = {CARM_RIDGE_SHARP, CARM_RIDGE_ISSUE, CARM_RIDGE_ROUNDED,
                                            CARM_RIDGE_ROUNDED_ISSUE};
    for (size_t k = 0; k < 4; k++) {
        const enum carm_ridge form = forms[k];
        const bool rounded = k >= 2;
        const size_t free_ones = rounded ? 3 : 2;
        struct carm_ridge_point points[POINTS];
        struct reference r;
        const struct carm_ridge_params made = sharpness(rounded ? 2.0 : INFINITY);
        make_points(NULL, form, made.p, 1.0, points);
        for (size_t i = 0; i < POINTS; i++) {
            points[i].intensity *= 1.2; /* no point at the ridge, where there is no derivative */
            points[i].performance =
                carm_ridge_eval(form, &made, points[i].intensity, points[i].slots);
            points[i].sigma = i % 3 ? 0.02 : 0.01;
            points[i].performance *= exp(points[i].sigma * 1.5 * sin(7.3 * (double)(i * i)));
        }
        points[3].performance *= 0.2;
        const struct carm_ridge_fit f = fit(form, points, POINTS);
        refer(form, &f.at, free_ones, points, &r);
        assert_int_equal(r.n, POINTS - 1);
        for (size_t j = 0; j < free_ones;
             j++) { /* the fit is where the weighted derivatives are 0 */
            double sum = 0.0, sizes = 0.0;
            for (size_t i = 0; i < POINTS; i++) {
                const double each = r.weight[i] * r.robust[i] * r.residual[i] * r.derivative[i][j];
                sum += each;
                sizes += fabs(each);
            }
            assert_near(sum / sizes, 0.0, 1e-3);
        }
        const struct carm_estimate *e[] = {&f.bandwidth, &f.peak};
        for (size_t j = 0; j < 2; j++) {
            const double se = r.sigma * sqrt(r.cov[j * free_ones + j]);
            assert_near(e[j]->se / e[j]->value / se, 1.0, 2e-3);
            assert_near(log(e[j]->value / e[j]->lo) / (r.t * se), 1.0, 2e-3);
            assert_near(log(e[j]->hi / e[j]->value) / (r.t * se), 1.0, 2e-3);
        }
        assert_near(f.correlation, r.cov[1] / sqrt(r.cov[0] * r.cov[free_ones + 1]), 2e-3);
        assert_near(f.aicc, r.deviance + (rounded ? 8.0 + 40.0 / 24.0 : 6.0 + 24.0 / 25.0), 1e-6);
        if (rounded) {
            assert_near(f.p.se / (f.p.value * f.p.value) / (r.sigma * sqrt(r.cov[8])), 1.0, 2e-3);
            assert_near(rise_at(form, &f, f.p.lo, points, &r) / r.t, 1.0, 2e-3);
            assert_near(rise_at(form, &f, f.p.hi, points, &r) / r.t, 1.0, 2e-3);
        }
    }
}
