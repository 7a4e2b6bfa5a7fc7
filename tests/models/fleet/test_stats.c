/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Median, spread, p values and their adjustment against closed forms, hand-worked lists and simulation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/models/fleet/generate.h"
#include "tests/models/near.h"

static void centre_by_hand(void **state)
{
    (void)state;
    /* deviations from 3: 2 1 0 1 97 -> 0 1 1 2 97, median 1 */
    double v[] = {100, 2, 1, 4, 3}, scratch[6];
    struct carm_fleet_centre c;
    carm_fleet_centre(v, 5, scratch, &c);
    assert_int_equal(c.n, 5);
    assert_near(c.median, 3.0, 0.0);
    assert_near(c.sigma, 1.482602218505602, 1e-12);
    assert_near(c.min, 1.0, 0.0);
    assert_near(c.max, 100.0, 0.0);
    assert_near(c.p5, 1.2, 1e-12); /* 5% of 4 steps behind the first */
    assert_near(c.p95, 80.8, 1e-12);
    /* even: deviations from 2.5: 1.5 .5 .5 1.5 -> median 1 */
    double even[] = {1, 2, 3, 4};
    carm_fleet_centre(even, 4, scratch, &c);
    assert_near(c.median, 2.5, 0.0);
    assert_near(c.sigma, 1.482602218505602, 1e-12);
    double one[] = {7};
    carm_fleet_centre(one, 1, scratch, &c);
    assert_near(c.median, 7.0, 0.0);
    assert_near(c.sigma, 0.0, 0.0);
    assert_near(c.p95, 7.0, 0.0);
}

/* The table of Benjamini and Hochberg 1995, section 3.2: fifteen p values, four of which are rejected at
 * 0.05, where Bonferroni's method rejects three. */
static void bh_of_the_paper(void **state)
{
    (void)state;
    const double sorted[] = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                             0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
    double p[17], q[17];
    size_t order[17];
    size_t rejected = 0;
    p[3] = p[11] = NAN; /* no tests: in the way */
    for (size_t i = 0, k = 0; i < 15; i++, k++) {
        k += k == 3 || k == 11;
        p[k] = sorted[(i * 7) % 15];
    }
    assert_int_equal(carm_fleet_bh(p, 17, order, q), 15);
    assert_true(isnan(q[3]) && isnan(q[11]));
    for (size_t i = 0; i < 17; i++) {
        rejected += q[i] <= 0.05;
        assert_true(i == 3 || i == 11 || q[i] >= p[i]);
        if (p[i] == 0.0095) {
            assert_near(q[i], 0.0095 * 15 / 4, 1e-15);
        } else if (p[i] == 0.0278 || p[i] == 0.0201) {
            assert_near(q[i], p[i] == 0.0201 ? 0.0201 * 15 / 5 : 0.0298 * 15 / 7, 1e-15);
        } else if (p[i] == 1.0) {
            assert_near(q[i], 1.0, 0.0);
        }
    }
    assert_int_equal(rejected, 4);
    assert_int_equal(carm_fleet_bh(p, 0, order, q), 0);
}

static void p_values(void **state)
{
    (void)state;
    assert_near(carm_fleet_p(0.0, 100), 1.0, 1e-12);
    assert_near(carm_fleet_p(1.959964, 4), 0.05, 1e-6); /* a known spread: the normal */
    assert_near(carm_fleet_p(-1.959964, 4), 0.05, 1e-6);
    /* t with 4.1 degrees of freedom lies between the tables' 4 and 5 at 4.604 */
    assert_true(carm_fleet_p(4.604, 10) < 0.01 && carm_fleet_p(4.032, 10) > 0.01);
    assert_near(carm_fleet_p(3.0, 1000000) / 0.0026998, 1.0, 1e-3);
    assert_true(carm_fleet_p(40.0, 1000000) >= 0.0);
}

/* Under the null, p <= 1% comes up in at most 1% of nodes, whatever their number. */
static void p_values_hold(void **state)
{
    (void)state;
    static const size_t sizes[] = {5, 6, 8, 11, 20, 50, 200};
    uint64_t seed = 1;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const size_t n = sizes[k];
        const size_t runs = 60000 / n;
        size_t low = 0;
        for (size_t r = 0; r < runs; r++) {
            double v[200], x[200], scratch[200];
            struct carm_fleet_centre c;
            for (size_t i = 0; i < n; i++) {
                v[i] = x[i] = gen_normal(&seed);
            }
            carm_fleet_centre(v, n, scratch, &c);
            for (size_t i = 0; i < n; i++) {
                low += carm_fleet_p((x[i] - c.median) / c.sigma, n) <= 0.01;
            }
        }
        /* 600 expected at most; those of one run hang together: twice the binomial's five sigmas */
        assert_true(low < 600 + 240);
        assert_true(low > 200); /* and it is no wall */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(centre_by_hand),
        cmocka_unit_test(bh_of_the_paper),
        cmocka_unit_test(p_values),
        cmocka_unit_test(p_values_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
