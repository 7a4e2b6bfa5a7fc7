/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which threads share cores in every round. */
#include "harness/machine/paired.h"
#include "tests/unit.h"

static void note(struct carm_paired *seen, int n, int rounds, bool own)
{
    for (int i = 0; i < rounds; i++) {
        carm_paired_note(seen, n, own);
    }
}

static void shared_in_every_round(void **state)
{
    struct carm_paired seen = {0};
    note(&seen, 16, 11, false);
    assert_false(carm_paired_is(&seen, 16));
    note(&seen, 16, 1, false);
    assert_true(carm_paired_is(&seen, 16));
    /* fewer threads may have cores of their own */
    assert_false(carm_paired_is(&seen, 8));
    note(&seen, 8, 12, true);
    assert_true(carm_paired_is(&seen, 16));
}

static void some_rounds_of_their_own_are_enough(void **state)
{
    struct carm_paired seen = {0};
    note(&seen, 16, 20, false);
    note(&seen, 16, 1, true); /* a misread width */
    assert_true(carm_paired_is(&seen, 16));
    note(&seen, 16, 1, true);
    assert_false(carm_paired_is(&seen, 16));
}

static void two_threads_may_have_bad_luck(void **state)
{
    struct carm_paired seen = {0};
    note(&seen, 2, 100, false);
    assert_false(carm_paired_is(&seen, 2));
}

static void more_threads_are_seen_anew(void **state)
{
    struct carm_paired seen = {0};
    note(&seen, 8, 12, false);
    assert_true(carm_paired_is(&seen, 8));
    note(&seen, 16, 11, false);
    assert_false(carm_paired_is(&seen, 16));
    note(&seen, 16, 1, false);
    assert_true(carm_paired_is(&seen, 16));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_in_every_round),
        cmocka_unit_test(some_rounds_of_their_own_are_enough),
        cmocka_unit_test(two_threads_may_have_bad_luck),
        cmocka_unit_test(more_threads_are_seen_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
