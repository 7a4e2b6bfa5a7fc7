/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/count/quantities.h"
#include "tests/unit.h"

TEST(sums_and_names)
{
    struct carm_counts a = {.note = "first"};
    struct carm_counts b = {.note = "second"};
    carm_count_put(&a, CARM_Q_FLOPS, 10, CARM_COUNTED_PMU);
    carm_count_put(&b, CARM_Q_FLOPS, 5, CARM_COUNTED_PMU);
    carm_count_put(&a, CARM_Q_LOADS, 1, CARM_COUNTED_PMU);
    carm_count_put(&b, CARM_Q_STORES, 1, CARM_COUNTED_PMU);
    b.q[CARM_Q_FLOPS].low = 0;
    b.q[CARM_Q_FLOPS].high = 7;
    b.q[CARM_Q_FLOPS].share = 0.5;
    carm_counts_add(&a, &b);
    assert_true(a.q[CARM_Q_FLOPS].value == 15);
    assert_true(a.q[CARM_Q_FLOPS].low == 10);
    assert_true(a.q[CARM_Q_FLOPS].high == 17);
    assert_true(a.q[CARM_Q_FLOPS].share == 0.5);
    assert_false(carm_count_has(&a, CARM_Q_LOADS));
    assert_false(carm_count_has(&a, CARM_Q_STORES));
    assert_string_equal(a.note, "first; second");
    carm_counts_add(&a, &b);
    assert_string_equal(a.note, "first; second");
    /* a note that does not fit as a whole is not cut */
    memset(b.note, 'x', sizeof b.note - 1);
    carm_counts_add(&a, &b);
    assert_string_equal(a.note, "first; second");
    for (unsigned q = 0; q < CARM_Q_COUNT; q++) {
        assert_int_equal(carm_quantity_find(carm_quantity_name((enum carm_quantity)q)), q);
    }
    assert_int_equal(carm_quantity_find("flopss"), CARM_Q_COUNT);
    assert_string_equal(carm_counted_name(CARM_COUNTED_NOT), "unavailable");
    assert_string_equal(carm_counted_name(CARM_COUNTED_CONSTRUCTED), "constructed");
}
