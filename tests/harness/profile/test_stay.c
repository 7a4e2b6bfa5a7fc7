/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/profile/stay.h"

#include <math.h>

#include "tests/unit.h"

/* From 1 to 0.8 within 1 ms, to 0.4 within 3 ms, and then to the power of the time. */
TEST(shares_are_between_the_figures)
{
    const struct carm_stay s = {
        .looked = true, .n = 2, .seconds = {1e-3, 3e-3}, .share = {0.8, 0.4}};
    static const struct {
        double seconds, share;
    } of[] = {{0.0, 1.0}, {0.5e-3, 0.9}, {1e-3, 0.8}, {2e-3, 0.6}, {3e-3, 0.4}, {6e-3, 0.16}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        assert_near(carm_stay_share(&s, of[i].seconds), of[i].share, 1e-12);
    }
    assert_near(carm_stay_half(&s), 2.5e-3, 1e-12);
    const struct carm_stay quiet = {.looked = true, .n = 1, .seconds = {1e-3}, .share = {1.0}};
    assert_near(carm_stay_share(&quiet, 1.0), 1.0, 0.0);
    assert_true(isinf(carm_stay_half(&quiet)));
    const struct carm_stay unknown = {.looked = true};
    assert_near(carm_stay_share(&unknown, 1.0), 1.0, 0.0);
    assert_true(isinf(carm_stay_half(&unknown)));
}

/* This machine's own: lines go, and do not come back by more than the figures scatter by. */
TEST(lines_go_with_time)
{
    struct carm_stay s;
    carm_stay_measure(&s, 8 << 20, 256 << 10);
    assert_true(s.looked && s.n <= CARM_STAY_WAITS);
    for (size_t i = 0; i < s.n; i++) {
        assert_in_range(1000.0 * s.share[i], 0, 1000);
        assert_true(i == 0 || s.seconds[i] > s.seconds[i - 1]);
    }
    assert_true(s.n == 0 || s.n == CARM_STAY_WAITS || s.share[s.n - 1] < 0.05);
    /* half of 4 MiB is in the cache before: nothing is measured */
    carm_stay_measure(&s, 8 << 20, (2 << 20) + 1);
    assert_true(s.looked && s.n == 0);
}

/* 64 MiB are in no cache that is as near as that of 128 KiB. */
TEST(memory_is_measured)
{
    struct carm_memory_now near, far;
    carm_memory_now_measure(&near, 128 << 10);
    carm_memory_now_measure(&far, 64 << 20);
    assert_true(near.looked && far.looked);
    assert_true(far.seconds > 2.0 * near.seconds);
    assert_true(far.bandwidth > 1e8 && near.bandwidth > far.bandwidth);
}
