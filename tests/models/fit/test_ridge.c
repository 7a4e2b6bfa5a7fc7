/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rooflines fitted to synthetic points: exact values, refusals, cross validation. How well they fit
 * noisy points is in test_ridge_noise.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "models/fit/ridge.h"
#include "tests/models/fit/ridge_points.h"
#include "tests/models/near.h"

static void forms_by_hand(void **state)
{
    (void)state;
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

static void exact_points_give_exact_values(void **state)
{
    (void)state;
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

static void refuse(enum carm_ridge form, const struct carm_ridge_point *points, size_t n,
                   double issue, const char *words)
{
    struct carm_ridge_fit f;
    struct carm_ridge_fit before;
    struct carm_err err = {""};
    memset(&f, 0x5a, sizeof f);
    memcpy(&before, &f, sizeof f);
    assert_int_equal(carm_ridge_fit(form, points, n, issue, &f, &err), -CARM_EINVAL);
    if (!strstr(err.text, words)) {
        fail_msg("'%s' does not say '%s'", err.text, words);
    }
    assert_memory_equal(&f, &before, sizeof f);
}

/* Points of one side only tell one roof, with or without noise, and with an outlier at the very end
 * that looks like the other side. */
static void refuses_one_side_of_the_ridge(void **state)
{
    (void)state;
    static const double sizes[] = {0.0, 0.01, 0.10};
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, 2018);
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
    gsl_rng_free(rng);
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
static void one_point_does_not_make_a_roof(void **state)
{
    (void)state;
    enum { FEW = 12 };
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, 2022);
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
            }
        }
    }
    gsl_rng_free(rng);
}

static void refuses_values_out_of_range(void **state)
{
    (void)state;
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
    }
}

static void predict(const struct carm_ridge_point *points, size_t n, double *predicted)
{
    struct carm_err err = {""};
    if (carm_ridge_cross_validate(CARM_RIDGE_SHARP, points, n, INFINITY, predicted, &err)) {
        fail_msg("%s", err.text);
    }
}

static void predictions_have_not_seen_the_point(void **state)
{
    (void)state;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, 2021);
    struct carm_ridge_point points[POINTS];
    make_points(rng, CARM_RIDGE_SHARP, INFINITY, 0.03, points);
    gsl_rng_free(rng);
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

static void cross_validation_needs_two_halves(void **state)
{
    (void)state;
    struct carm_ridge_point points[POINTS];
    make_points(NULL, CARM_RIDGE_SHARP, INFINITY, 0.0, points);
    double predicted[POINTS] = {7.0};
    struct carm_err err = {""};
    assert_int_equal(
        carm_ridge_cross_validate(CARM_RIDGE_SHARP, points, 11, INFINITY, predicted, &err),
        -CARM_EINVAL);
    assert_non_null(strstr(err.text, "each half"));
    assert_int_equal(
        carm_ridge_cross_validate(CARM_RIDGE_SHARP, points + 14, 15, INFINITY, predicted, &err),
        -CARM_EINVAL);
    assert_non_null(strstr(err.text, "bandwidth cannot be estimated"));
    assert_near(predicted[0], 7.0, 0);
    predict(points + 6, 12, predicted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_by_hand),
        cmocka_unit_test(exact_points_give_exact_values),
        cmocka_unit_test(refuses_one_side_of_the_ridge),
        cmocka_unit_test(one_point_does_not_make_a_roof),
        cmocka_unit_test(refuses_values_out_of_range),
        cmocka_unit_test(predictions_have_not_seen_the_point),
        cmocka_unit_test(cross_validation_needs_two_halves),
    };
    return cmocka_run_group_tests_name("ridge", tests, NULL, NULL);
}
