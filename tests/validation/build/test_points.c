/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurements on their way into a model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "validation/build/points.h"

static struct carm_measurement made(double min, double p5)
{
    static const struct carm_code code = {.spec = {.kind = CARM_KIND_B, .op = CARM_FMA},
                                          .name = "B.avx2.dp.fma.f40.c10"};
    struct carm_measurement m = {.code = &code, .threads = 1, .flops = 100.0, .cycles = 50.0};
    m.seconds = (struct carm_stats){.n = 64,
                                    .min = min,
                                    .p5 = p5,
                                    .median = 2.0,
                                    .p95 = 4.0,
                                    .max = 5.0,
                                    .ci_lo = 1.9,
                                    .ci_hi = 2.1};
    return m;
}

static void rates_of_times(void **state)
{
    const struct carm_measurement m = made(1.0, 1.25);
    struct carm_roofs roofs;
    struct carm_err err = {""};
    (void)state;
    memset(&roofs, 0, sizeof roofs);
    assert_int_equal(carm_build_add_compute(&roofs, &m, &err), 0);
    const struct carm_compute_roof *r = &roofs.compute[0];
    assert_true(r->rate == 50.0);
    assert_true(r->spread.min == 20.0 && r->spread.p5 == 25.0);
    assert_true(r->spread.p95 == 80.0 && r->spread.max == 100.0);
    assert_true(r->flops_per_cycle == 2.0);
    assert_string_equal(r->counted_by, "constructed");
    free(roofs.compute);
}

/* Seen on a busy machine: the model refused its own file for a spread of -1.2e13. */
static void no_rate_of_a_time_below_zero(void **state)
{
    const struct {
        double min, p5, max_rate, p95_rate;
    } cases[] = {{-1e-12, 1.25, 80.0, 80.0}, {0.0, 1.25, 80.0, 80.0}, {-1.0, -0.5, 50.0, 50.0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct carm_measurement m = made(cases[i].min, cases[i].p5);
        struct carm_roofs roofs;
        struct carm_err err = {""};
        memset(&roofs, 0, sizeof roofs);
        assert_int_equal(carm_build_add_compute(&roofs, &m, &err), 0);
        assert_true(roofs.compute[0].spread.max == cases[i].max_rate);
        assert_true(roofs.compute[0].spread.p95 == cases[i].p95_rate);
        free(roofs.compute);
    }
}

/* Seen on a busier one: a bandwidth of -4e12 in a curve. */
static void no_point_of_a_time_below_zero(void **state)
{
    struct carm_measurement m = made(1.0, 1.25);
    struct carm_curve curve;
    struct carm_err err = {""};
    (void)state;
    memset(&curve, 0, sizeof curve);
    assert_int_equal(carm_build_add_curve_point(&curve, 1.0, &m, 100.0, &err), 0);
    m.seconds.ci_lo = -1e-12;
    assert_int_equal(carm_build_add_curve_point(&curve, 2.0, &m, 100.0, &err), 0);
    m.seconds.median = -1e-12;
    assert_int_equal(carm_build_add_curve_point(&curve, 3.0, &m, 100.0, &err), 0);
    assert_int_equal(curve.npoints, 1);
    assert_true(curve.points[0].x == 1.0 && curve.points[0].value == 50.0);
    free(curve.points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_of_times),
        cmocka_unit_test(no_rate_of_a_time_below_zero),
        cmocka_unit_test(no_point_of_a_time_below_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
