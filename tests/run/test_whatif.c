/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the snapshots of a change say together. */
#include "run/whatif.h"
#include "tests/unit.h"

#define N 5

static const struct carm_whatif_error method = {0.10, 0.04};

TEST(equal_snapshots)
{
    const double ratios[N] = {2.0, 2.0, 2.0, 2.0, 2.0};
    const double nulls[N] = {1.0, 1.0, 1.0, 1.0, 1.0};
    struct carm_whatif_change c = {.measured = false};
    assert_true(carm_whatif_combine(ratios, nulls, N, 1.0, NAN, &method, &c));
    assert_true(c.measured && fabs(c.gain - 2.0) < 1e-12);
    assert_true(c.ci.lo < 2.0 && c.ci.hi > 2.0 && c.ci.lo > 1.5); /* the method's own error */
}

TEST(spread_widens)
{
    const double near[N] = {1.9, 2.0, 2.0, 2.0, 2.1};
    const double far[N] = {1.0, 1.5, 2.0, 2.5, 3.0};
    const double nulls[N] = {1.0, 1.0, 1.0, 1.0, 1.0};
    const double drifts[N] = {1.04, 1.04, 1.04, 1.04, 1.04};
    struct carm_whatif_change a, b, c;
    assert_true(carm_whatif_combine(near, nulls, N, 1.0, NAN, &method, &a));
    assert_true(carm_whatif_combine(far, nulls, N, 1.0, NAN, &method, &b));
    assert_true(carm_whatif_combine(near, drifts, N, 1.0, NAN, &method, &c));
    assert_true(b.ci.lo < a.ci.lo && b.ci.hi > a.ci.hi);
    assert_true(c.ci.lo < a.ci.lo && c.ci.hi > a.ci.hi);
}

/* Snapshots that take 1% to all of their limit never exceed a loop's time, and all loops take less than half a minute. */
TEST(snapshots_have_an_end)
{
    const double shares[] = {0.01, 0.1, 0.3, 0.45, 0.6, 1.0};
    double seconds = 0.0, limit = 0.0;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        double spent = 0.0;
        size_t n = 0;
        while (carm_whatif_time(n, spent, &seconds, &limit)) {
            assert_true(seconds > 0.0 && seconds <= limit && n < CARM_WHATIF_SNAPSHOTS);
            spent += shares[i] * limit;
            n++;
        }
        assert_true(n > 0 && spent < carm_whatif_loop_seconds);
        assert_true(shares[i] > 0.5 ||
                    n >= 3); /* a first one that takes half leaves two of a quarter */
    }
    /* three that keep to their times fit */
    double spent = 0.0;
    for (size_t n = 0; n < 3; n++) {
        assert_true(carm_whatif_time(n, spent, &seconds, &limit));
        spent += 0.99 * seconds;
    }
    assert_true(spent < carm_whatif_loop_seconds);
    assert_false(carm_whatif_time(3, spent, &seconds, &limit));
    assert_true(carm_whatif_time(3, 2.5, &seconds, &limit));
    assert_false(carm_whatif_time(CARM_WHATIF_SNAPSHOTS, 0.1, &seconds, &limit));
    assert_true(CARM_WHATIF_LOOPS * carm_whatif_loop_seconds <= 30.0);
}

/* At 4 GHz. Rows of 4: copies that gain 1.18 of 0.7 ns for an iteration may gain nearly twice as much by hand. A loop of
 * 1.5 cycles may take 2 without its stores. */
TEST(code_by_hand)
{
    const struct carm_whatif_change begin = {.gain = 1.18, .ci = {1.1, 1.3}};
    struct carm_whatif_change c = begin, d = begin;
    carm_whatif_by_hand(&c, 0.7e-9, 4.0, true, false);
    carm_whatif_by_hand(&d, 0.7e-9, 16.0, false, false);
    assert_true(fabs(c.ci.hi - 1.3 * 0.5932 / (0.5932 - 0.25 * (0.1525 * 2.4 + 4.0) / 4.0)) < 2e-3);
    assert_true(d.ci.hi > 1.3 && d.ci.hi < 1.32 && d.ci.lo == c.ci.lo && d.ci.lo < 1.1);
    c = d = begin;
    carm_whatif_by_hand(&c, 0.375e-9, 16.0, false, true);
    carm_whatif_by_hand(&d, 3.75e-9, 16.0, false, true);
    assert_true(fabs(c.ci.lo - 0.375 / 0.67) < 1e-9 && d.ci.lo > 1.05);
    /* a change that gains nothing says nothing of hidden limits */
    c = (struct carm_whatif_change){.gain = 0.9, .ci = {0.8, 1.0}};
    carm_whatif_by_hand(&c, 0.375e-9, 4.0, true, true);
    assert_true(c.ci.lo == 0.8 && c.ci.hi == 1.0);
}

/* Copies that take 0.8 times as long as the program: its time with the change may be theirs, or as much longer. */
TEST(copies_unlike_the_program)
{
    const double ratios[N] = {2.0, 2.0, 2.0, 2.0, 2.0};
    const double nulls[N] = {1.0, 1.0, 1.0, 1.0, 1.0};
    struct carm_whatif_change alike, faster, slower;
    assert_true(carm_whatif_combine(ratios, nulls, N, 1.0, 1.0, &method, &alike));
    assert_true(carm_whatif_combine(ratios, nulls, N, 1.0, 0.8, &method, &faster));
    assert_true(carm_whatif_combine(ratios, nulls, N, 1.0, 1.25, &method, &slower));
    assert_true(fabs(faster.gain - 2.0) < 1e-12 && fabs(slower.gain - 2.0) < 1e-12);
    assert_true(faster.ci.lo == alike.ci.lo && fabs(faster.ci.hi - alike.ci.hi / 0.8) < 1e-12);
    assert_true(slower.ci.hi == alike.ci.hi && fabs(slower.ci.lo - alike.ci.lo / 1.25) < 1e-12);
}

TEST(a_difference_of_samples)
{
    assert_true(carm_whatif_surely(0.85, 100, 1.0) == 1.0); /* +-20% */
    assert_true(fabs(carm_whatif_surely(0.5, 1e9, 1.0) - 0.5) < 1e-3);
    assert_true(fabs(carm_whatif_surely(2.0, 1e9, NAN) - 2.0) < 1e-3);
    const double some = carm_whatif_surely(0.5, 100, 1.0);
    assert_true(some > 0.6 && some < 0.62);
    assert_true(carm_whatif_surely(0.5, 100, 0.6) > some); /* the share inside is of few samples */
    assert_true(carm_whatif_surely(NAN, 100, 1.0) == 1.0);
    assert_true(carm_whatif_surely(0.5, 0.0, 1.0) == 1.0);
}

TEST(nothing_is_said)
{
    const double ratios[N] = {2.0, 2.0, NAN, NAN, NAN};
    const double all[N] = {2.0, 2.0, 2.0, 2.0, 2.0};
    const double nulls[N] = {1.0, 1.0, 1.0, 1.0, 1.0};
    const double differs[N] = {1.2, 1.2, 1.2, 1.2, 1.2};
    const double unknown[N] = {NAN, NAN, NAN, NAN, NAN};
    struct carm_whatif_change c = {.measured = true};
    assert_false(carm_whatif_combine(ratios, nulls, N, 1.0, NAN, &method, &c));
    assert_non_null(strstr(c.why, "only 2 snapshots"));
    assert_false(carm_whatif_combine(all, differs, N, 1.0, NAN, &method, &c));
    assert_non_null(strstr(c.why, "differs from itself by 20%"));
    assert_false(carm_whatif_combine(all, unknown, N, 1.0, NAN, &method, &c));
    assert_false(c.measured);
}

/* Half of the time is in other code, which was not changed: 1.5 times as fast in all is 3 times in the loop. */
TEST(the_rest_stays)
{
    const double ratios[N] = {1.5, 1.5, 1.5, 1.5, 1.5};
    const double nulls[N] = {1.0, 1.0, 1.0, 1.0, 1.0};
    struct carm_whatif_change c;
    assert_true(carm_whatif_combine(ratios, nulls, N, 0.5, NAN, &method, &c));
    assert_true(fabs(c.gain - 3.0) < 1e-9);
    assert_true(c.ci.lo < 2.0 && c.ci.hi > 6.0); /* as the half is of few samples */
    /* four fifths of 40 samples, within 12.4 points, and 4% of the ratio */
    const double less[N] = {1.2, 1.2, 1.2, 1.2, 1.2}, margin = 1.96 * sqrt(0.8 * 0.2 / 40);
    assert_true(carm_whatif_combine(less, nulls, N, 0.8, NAN, &method, &c));
    assert_near(c.gain, 0.8 / (1 / 1.2 - 0.2), 1e-9);
    assert_near(c.ci.lo, (0.8 + margin) / (exp(0.04) / 1.2 - (0.2 - margin)), 1e-9);
    assert_near(c.ci.hi, (0.8 - margin) / (exp(-0.04) / 1.2 - (0.2 + margin)), 1e-9);
    /* the other half alone would take that long */
    const double more[N] = {2.5, 2.5, 2.5, 2.5, 2.5};
    assert_false(carm_whatif_combine(more, nulls, N, 0.5, NAN, &method, &c));
    assert_non_null(strstr(c.why, "all that is left"));
}

static struct carm_whatif_change change(double gain, double half, double program)
{
    return (struct carm_whatif_change){
        .measured = true, .gain = gain, .ci = {gain - half, gain + half}, .program = program};
}

/* A loop of 80% of the time, limited by DRAM by its bounds: what was measured of the advice counts. */
TEST(verdicts_take_measured_gains)
{
    struct carm_profile_row row = {.share = 0.8};
    const struct carm_profile profile = {.rows = &row, .nrows = 1};
    struct carm_run_verdict v = {.has = true};
    struct carm_verdict *of = &v.verdict;
    struct carm_run_whatif w = {.nloops = 1};
    struct carm_whatif_change *changes = w.loops[0].changes;
    of->limit = CARM_LIMIT_DRAM;
    of->loop = (struct carm_verdict_gain){1.5, 8.0};
    of->advice[0] =
        (struct carm_verdict_advice){.code = CARM_ADVICE_BLOCK, .removes = CARM_LIMIT_DRAM};
    of->advice[1] =
        (struct carm_verdict_advice){.code = CARM_ADVICE_STREAM_STORES, .removes = CARM_LIMIT_DRAM};
    of->nadvice = 2;
    /* a bound is no advice, streaming stores gain nothing, huge pages do */
    changes[CARM_WHATIF_L1] = change(13.0, 1.0, NAN);
    changes[CARM_WHATIF_STREAMING] = change(0.9, 0.05, 0.95);
    changes[CARM_WHATIF_HUGE_PAGES] = change(2.0, 0.1, 1.0 / (0.2 + 0.8 / 2.0));
    carm_run_whatif_judge(&w, &profile, &v);
    assert_true(of->measured);
    assert_int_equal(of->nadvice, 2);
    assert_int_equal(of->advice[0].code, CARM_ADVICE_HUGE_PAGES);
    assert_int_equal(of->advice[1].code, CARM_ADVICE_BLOCK);
    assert_true(fabs(of->loop.low - 1.9) < 1e-9 && fabs(of->loop.high - 2.1) < 1e-9);
    assert_true(fabs(of->program.high - 1.0 / (0.2 + 0.8 / 2.1)) < 1e-9);
    assert_true(of->removal.high > 7.0); /* by the bounds, for the other advice */
    /* an interval around 1 says nothing for or against an advice; a narrow one takes it away */
    changes[CARM_WHATIF_HUGE_PAGES] = change(1.1, 0.2, 1.08);
    *of = (struct carm_verdict){.loop = {1.5, 8.0}, .nadvice = 1};
    of->advice[0].code = CARM_ADVICE_HUGE_PAGES;
    carm_run_whatif_judge(&w, &profile, &v);
    assert_true(of->nadvice == 1 && !of->measured && of->loop.high > 7.0);
    changes[CARM_WHATIF_HUGE_PAGES] = change(1.0, 0.04, 1.0);
    carm_run_whatif_judge(&w, &profile, &v);
    assert_true(of->nadvice == 0 && !of->measured);
    assert_true(fabs(of->loop.high - 1.0) < 1e-9 && fabs(of->program.high - 1.0) < 1e-9);
}
