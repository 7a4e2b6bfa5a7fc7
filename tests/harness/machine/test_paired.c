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

TEST(shared_in_every_round)
{
    struct carm_paired seen = {0};
    note(&seen, 16, 11, false);
    note(&seen, 8, 5, false); /* of others than the sixteen */
    assert_false(carm_paired_is(&seen, 16));
    note(&seen, 16, 1, false);
    assert_true(carm_paired_is(&seen, 16));
    /* fewer threads may have cores of their own */
    assert_false(carm_paired_is(&seen, 8));
    note(&seen, 8, 12, true);
    assert_true(carm_paired_is(&seen, 16));
}

TEST(some_rounds_of_their_own_are_enough)
{
    struct carm_paired seen = {0};
    note(&seen, 16, 20, false);
    note(&seen, 16, 1, true); /* a misread width */
    assert_true(carm_paired_is(&seen, 16));
    note(&seen, 16, 1, true);
    assert_false(carm_paired_is(&seen, 16));
    note(&seen, 16, 19, false); /* 39 for two */
    assert_false(carm_paired_is(&seen, 16));
    note(&seen, 16, 1, false);
    assert_true(carm_paired_is(&seen, 16));
}

TEST(two_threads_may_have_bad_luck)
{
    struct carm_paired seen = {0};
    note(&seen, 2, 100, false);
    assert_false(carm_paired_is(&seen, 2));
}

TEST(more_threads_are_seen_anew)
{
    struct carm_paired seen = {0};
    note(&seen, 8, 12, false);
    assert_true(carm_paired_is(&seen, 8));
    note(&seen, 16, 11, false);
    assert_false(carm_paired_is(&seen, 16));
    note(&seen, 16, 1, false);
    assert_true(carm_paired_is(&seen, 16));
}
