/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks at the core that a program runs on: their sum, their number, and one at the own core. */
#include <sched.h>

#include "harness/profile/looks.h"
#include "tests/unit.h"

TEST(clocks_and_company)
{
    static struct carm_looks looks;
    struct carm_looks_sum sum;
    looks = (struct carm_looks){.n = 2};
    assert_false(carm_looks_sum(&looks, 0.0, &sum));
    looks.n = 11;
    for (size_t i = 0; i < looks.n; i++) {
        looks.of[i] = (struct carm_look){2e9 + 1e8 * (double)((7 * i) % 11), i < 3 ? 3.0 : 5.5};
    }
    assert_true(carm_looks_sum(&looks, 0.0, &sum));
    assert_near(sum.clock_hz, 2.5e9, 1.0);
    assert_near(sum.slowest, 2.1e9, 1.0);
    assert_near(sum.fastest, 2.9e9, 1.0);
    assert_near(sum.shared, 3.0 / 11.0, 1e-12);
    /* the whole run beside another thread: only the model knows the full width */
    assert_true(carm_looks_sum(&looks, 6.2, &sum));
    assert_near(sum.shared, 1.0, 1e-12);
}

TEST(long_runs_have_a_bounded_number)
{
    static struct carm_looks looks;
    const int cpu = sched_getcpu();
    carm_looks_begin(&looks);
    carm_looks_take(&looks, CPU_SETSIZE);
    assert_int_equal(looks.n, 0);
    for (int i = 0; i < CARM_LOOKS_MAX + 3; i++) {
        carm_looks_take(&looks, cpu);
    }
    /* halved once; the look that found no room and every other call behind it */
    assert_int_equal(looks.n, CARM_LOOKS_MAX / 2 + 2);
    carm_looks_end(&looks);
    struct carm_looks_sum sum;
    assert_true(carm_looks_sum(&looks, 0.0, &sum));
    assert_true(sum.clock_hz > 0.3e9 && sum.clock_hz < 8e9);
    assert_true(sum.slowest <= sum.clock_hz && sum.clock_hz <= sum.fastest);
}
