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
 * 1.5 cycles may take 2 without its stores, and a cycle if its code lies well. */
TEST(code_by_hand)
{
    const struct carm_whatif_change begin = {.gain = 1.18, .ci = {1.1, 1.3}};
    struct carm_whatif_change c = begin, d = begin;
    carm_whatif_by_hand(&c, 0.7e-9, 4.0, true, 1.0);
    carm_whatif_by_hand(&d, 0.7e-9, 16.0, false, 1.0);
    assert_true(fabs(c.ci.hi - 1.3 * 0.5932 / (0.5932 - 0.25 * (0.1525 * 2.4 + 4.0) / 4.0)) < 2e-3);
    assert_true(d.ci.hi > 1.3 && d.ci.hi < 1.32 && d.ci.lo == c.ci.lo && d.ci.lo < 1.1);
    c = d = begin;
    carm_whatif_by_hand(&c, 0.375e-9, 16.0, false, 2.0);
    carm_whatif_by_hand(&d, 3.75e-9, 16.0, false, 2.0);
    assert_near(c.ci.lo, 0.375 / 0.66, 1e-9);
    assert_true(d.ci.lo > 1.05);
    c = begin;
    carm_whatif_by_hand(&c, 0.3e-9, 16.0, false, 1.0);
    assert_near(c.ci.lo, 0.3 / 0.33, 1e-9);
    /* a change that gains nothing says nothing of hidden limits */
    c = (struct carm_whatif_change){.gain = 0.9, .ci = {0.8, 1.0}};
    carm_whatif_by_hand(&c, 0.375e-9, 4.0, true, 2.0);
    assert_true(c.ci.lo == 0.8 && c.ci.hi == 1.0);
}

TEST(whole_groups_of_instructions)
{
    struct carm_body_op ops[14] = {{.at = 0}};
    struct carm_body body = {.ops = ops, .n = 6, .blocks = 1};
    for (size_t i = 0; i < 14; i++) {
        ops[i].at = 64 + 4 * i;
        ops[i].in.length = 4;
    }
    assert_near(carm_whatif_least_cycles(&body, false), 1.0, 0.0);
    assert_near(carm_whatif_least_cycles(&body, true), 2.0, 0.0);
    body.n = 7;
    assert_near(carm_whatif_least_cycles(&body, false), 2.0, 0.0);
    ops[5].in.meta.category = ZYDIS_CATEGORY_BINARY;
    ops[6].kind = CARM_BODY_BRANCH;
    assert_near(carm_whatif_least_cycles(&body, false), 1.0, 0.0);
    body.n = 14;
    assert_near(carm_whatif_least_cycles(&body, true), 3.0, 0.0);
    body.blocks = 2; /* they may be of different ways */
    assert_near(carm_whatif_least_cycles(&body, false), 1.0, 0.0);
    ops[13].at = 128;
    assert_near(carm_whatif_least_cycles(&body, false), 2.0, 0.0);
    /* the first two are one; behind the last one nothing is */
    memset(ops, 0, sizeof ops);
    body = (struct carm_body){.ops = ops, .n = 7, .blocks = 1};
    ops[0].in.meta.category = ops[6].in.meta.category = ZYDIS_CATEGORY_BINARY;
    ops[7].kind = CARM_BODY_BRANCH;
    for (size_t i = 0; i < 14; i++) {
        ops[i].in.length = 1;
    }
    assert_near(carm_whatif_least_cycles(&body, false), 2.0, 0.0);
    ops[1].kind = CARM_BODY_BRANCH;
    assert_near(carm_whatif_least_cycles(&body, false), 1.0, 0.0);
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
    const double more[N] = {1.5, 1.5, 1.5, 1.5, 1.5};
    assert_false(carm_whatif_combine(all, more, N, 1.0, NAN, &method, &c));
    assert_non_null(strstr(c.why, "differs from itself by 50%"));
    assert_false(carm_whatif_combine(all, unknown, N, 1.0, NAN, &method, &c));
    assert_non_null(strstr(c.why, "differs from itself by 100%"));
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

/* With data in L1, half of the time is in the code around the loop, which waits for memory now: it gained 3 times in all,
 * the loop 6 times. */
TEST(the_rest_waits)
{
    struct carm_whatif_change c = {.gain = 3.0, .ci = {2.7, 3.3}};
    const double margin = 1.96 * sqrt(0.5 * 0.5 / 40);
    carm_whatif_inside(&c, 1.0, 0.5);
    assert_near(c.gain, 6.0, 1e-9);
    assert_near(c.ci.lo, 2.7 / (0.5 + margin), 1e-9);
    assert_near(c.ci.hi, 3.3 / (0.5 - margin), 1e-9);
    /* as much outside as before, of a time that did not change: nothing is added to the gain; 98% are all */
    c = (struct carm_whatif_change){.gain = 1.0, .ci = {0.9, 1.1}};
    carm_whatif_inside(&c, 0.8, 0.8);
    assert_near(c.gain, 1.0, 1e-9);
    c = (struct carm_whatif_change){.gain = 2.0, .ci = {1.9, 2.1}};
    carm_whatif_inside(&c, NAN, 0.98);
    assert_near(c.gain, 2.0, 1e-9);
    assert_near(c.ci.hi, 2.1, 1e-9);
    /* few samples: no more than twice as much */
    carm_whatif_inside(&c, 1.0, 0.1);
    assert_near(c.ci.hi, 42.0, 1e-9);
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

/* 97.5% quantiles of Student's t for n snapshots, as tabulated; then 2. Two alternating ratios e^0.3 and e^0.5 of as many. */
TEST(intervals_of_few_snapshots)
{
    static const double t[] = {4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                               2.306, 2.262, 2.228, 2.0,   2.0};
    static const struct carm_whatif_error errors[] = {{0.0, 0.0}, {0.1, 0.01}, {0.1, 0.04}};
    double ratios[16], nulls[16];
    for (size_t n = 3; n < 3 + sizeof t / sizeof *t; n++) {
        double mean = 0.0, squares = 0.0;
        struct carm_whatif_change c;
        for (size_t i = 0; i < n; i++) {
            ratios[i] = exp(i % 2 ? 0.5 : 0.3);
            nulls[i] = 1.02;
            mean += (i % 2 ? 0.5 : 0.3) / (double)n;
        }
        for (size_t i = 0; i < n; i++) {
            squares += (log(ratios[i]) - mean) * (log(ratios[i]) - mean);
        }
        const double middle = n % 2 ? 0.3 : 0.4;
        const double spread = t[n - 3] * sqrt(squares / (double)((n - 1) * n));
        for (size_t k = 0; k < 3; k++) {
            const double half =
                spread + log(1.02) + fmax(errors[k].least, errors[k].share * middle);
            assert_true(carm_whatif_combine(ratios, nulls, n, 1.0, NAN, &errors[k], &c));
            assert_near(c.gain, exp(middle), 1e-9);
            assert_near(c.ci.lo, exp(middle - half), 1e-9);
            assert_near(c.ci.hi, exp(middle + half), 1e-9);
        }
    }
    /* snapshots that did not measure it, or nothing, do not count; 10% between copies of unchanged code is too much */
    const double some[] = {2.0, NAN, 2.0, 0.0, 2.0}, alike[] = {NAN, 0.91, 0.91, 0.91, NAN},
                 apart[] = {1.0, 1.11, 1.11, 1.11, 1.0};
    struct carm_whatif_change c;
    assert_true(carm_whatif_combine(some, alike, 5, 0.98, NAN, &errors[0], &c)); /* 98% are all */
    assert_near(c.gain, 2.0, 1e-9);
    assert_near(c.ci.hi, 2.0 / 0.91, 1e-9);
    assert_false(carm_whatif_combine(some, apart, 5, 1.0, NAN, &errors[0], &c));
    assert_non_null(strstr(c.why, "differs from itself by 11%"));
    assert_true(carm_whatif_combine(some, alike, 5, 0.97, NAN, &errors[0], &c)); /* 97% are not */
    assert_near(c.gain, 0.97 / (0.5 - 0.03), 1e-9);
    assert_false(carm_whatif_combine(some, alike, 2, 1.0, NAN, &errors[0], &c));
}

TEST(times_of_snapshots)
{
    static const struct {
        size_t n;
        double spent;
        bool due;
        double seconds, limit;
    } cases[] = {{0, 0.0, true, 0.45 * 3.9, 3.9}, {1, 1.0, true, 1.45, 2.9},
                 {2, 1.0, true, 2.9, 2.9},        {2, 3.79, true, 0.11, 0.11},
                 {2, 3.81, false, 0.09, 0.09},    {3, 2.9, true, 1.0, 1.0},
                 {3, 2.93, false, 0.97, 0.97},    {4, 3.0, true, 0.9, 0.9},
                 {4, 3.13, false, 0.77, 0.77},    {5, 1.0, false, 2.9, 2.9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double seconds = 0.0, limit = 0.0;
        assert_int_equal(carm_whatif_time(cases[i].n, cases[i].spent, &seconds, &limit),
                         cases[i].due);
        assert_near(seconds, cases[i].seconds, 1e-9);
        assert_near(limit, cases[i].limit, 1e-9);
    }
}

/* A gain of 2 of 1 ns: half of the time may hide another limit. Interval 1.5 .. 3. */
TEST(by_hand_in_numbers)
{
    static const struct {
        double seconds, iterations;
        bool entered;
        double cycles, lo, hi;
    } cases[] = {
        {1e-9, 10.0, false, 1.0, 1.5 * 0.5 / 0.625, 3.0 * 0.5 / (0.5 - 0.12 * 0.25)},
        {1e-9, 10.0, true, 1.0, 1.5 * 0.5 / 0.625, 3.0 * 0.5 / (0.5 - 0.52 * 0.25)},
        {1e-9, 0.0, false, 1.0, 1.5 * 0.5 / 0.625, 6.0}, /* at most twice */
        {1e-9, 2.0, false, 2.0, 1.5 * 0.5 / 0.625, 3.0 * 0.5 / (0.5 - 0.6 * 0.25)},
        {0.5e-9, 10.0, false, 2.0, 0.5 / 0.66, 3.0 * 0.25 / (0.25 - 0.12 * 0.25)},
        {2e-9, 1.0, false, 1.0, 1.5 * 1.0 / 1.125, 3.0 * 1.0 / (1.0 - 1.2 * 0.25)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_whatif_change c = {.gain = 2.0, .ci = {1.5, 3.0}};
        carm_whatif_by_hand(&c, cases[i].seconds, cases[i].iterations, cases[i].entered,
                            cases[i].cycles);
        assert_near(c.ci.lo, cases[i].lo, 1e-9);
        assert_near(c.ci.hi, cases[i].hi, 1e-9);
        assert_near(c.gain, 2.0, 0.0);
    }
    /* without a gain nothing is hidden; a gain of 1% is one */
    struct carm_whatif_change none = {.gain = 1.0, .ci = {0.9, 1.1}};
    carm_whatif_by_hand(&none, 1e-9, 10.0, true, 1.0);
    assert_near(none.ci.hi, 1.1, 0.0);
    struct carm_whatif_change little = {.gain = 1.01, .ci = {0.9, 1.1}};
    carm_whatif_by_hand(&little, 1.01e-9, 10.0, true, 1.0);
    assert_near(little.ci.hi, 1.1 / (1.0 - (0.01 / 1.01 * 2.4 + 4.0) / 10.0 * 0.25), 1e-9);
    /* 100 samples: 19.6%; with 80% inside also a quarter of 1/40 */
    assert_near(carm_whatif_surely(0.5, 100, 1.0), 0.5 * exp(0.196), 1e-9);
    assert_near(carm_whatif_surely(2.0, 100, 0.98), 2.0 * exp(-0.196), 1e-9);
    assert_near(carm_whatif_surely(4.0, 100, 0.8), 4.0 * exp(-1.96 * sqrt(0.01 + 0.25 / 40)), 1e-9);
    assert_near(carm_whatif_surely(4.0, 100, 0.97),
                4.0 * exp(-1.96 * sqrt(0.01 + 0.03 / 0.97 / 40)), 1e-9);
}

/* Shares of few samples: of 96% it may be all, of 3% none, where no lower bound is left. */
TEST(shares_near_their_ends)
{
    const double nulls[N] = {1.0, 1.0, 1.0, 1.0, 1.0}, half[N] = {1.5, 1.5, 1.5, 1.5, 1.5},
                 slower[N] = {0.5, 0.5, 0.5, 0.5, 0.5}, less[N] = {0.9, 0.9, 0.9, 0.9, 0.9};
    const double margin = 1.96 * sqrt(0.96 * 0.04 / 40), few = 1.96 * sqrt(0.03 * 0.97 / 40);
    struct carm_whatif_change c = {.gain = 3.0, .ci = {2.7, 3.3}};
    carm_whatif_inside(&c, 1.0, 0.96);
    assert_near(c.gain, 3.0 / 0.96, 1e-9);
    assert_near(c.ci.lo, 2.7, 1e-9);
    assert_near(c.ci.hi, 3.3 / (0.96 - margin), 1e-9);
    assert_true(carm_whatif_combine(half, nulls, N, 0.96, NAN, &method, &c));
    assert_near(c.ci.lo, 1.5 * exp(-log(1.5) * 0.1), 1e-9); /* all of it */
    assert_near(c.ci.hi, (0.96 - margin) / (exp(-log(1.5) * 0.1) / 1.5 - (0.04 + margin)), 1e-9);
    assert_true(carm_whatif_combine(less, nulls, N, 0.03, NAN, &method, &c));
    assert_near(c.ci.lo, 0.0, 0.0);
    assert_near(c.gain, 0.03 / (1 / 0.9 - 0.97), 1e-9);
    assert_near(c.ci.hi, (0.03 + few) / (exp(-0.04) / 0.9 - (0.97 - few)), 1e-9);
    assert_true(carm_whatif_combine(slower, nulls, N, 1.0, NAN, &method, &c));
    assert_near(c.gain, 0.5, 1e-9);
}

/* A nest gains as its rows do: 1.25 of the program by 2 of the loop are 40% of the time. Of two changes of one advice, the
 * better one counts; the others keep an advice if they may gain. */
TEST(best_of_two_changes)
{
    struct carm_profile_row rows[] = {{.share = 0.1}, {.share = 0.5}};
    const struct carm_profile profile = {.rows = rows, .nrows = 2};
    struct carm_run_verdict v[2] = {{.has = false}, {.has = true}};
    struct carm_verdict *of = &v[1].verdict;
    struct carm_run_whatif w = {.nloops = 1};
    struct carm_whatif_change *changes = w.loops[0].changes;
    w.loops[0].row = 1;
    of->loop = (struct carm_verdict_gain){1.0, 9.0};
    of->advice[0].code = CARM_ADVICE_PREFETCH;
    of->advice[1].code = CARM_ADVICE_NO_BRANCH;
    of->nadvice = 2;
    changes[CARM_WHATIF_PREFETCH] = change(1.5, 0.1, 1.2);
    changes[CARM_WHATIF_INDIRECT] = change(2.0, 0.1, 1.25);
    changes[CARM_WHATIF_KNOWN] = change(1.2, 0.1, 1.1);
    carm_run_whatif_judge(&w, &profile, v);
    assert_int_equal(of->nadvice, 2);
    assert_int_equal(of->advice[0].code, CARM_ADVICE_PREFETCH);
    assert_near(of->loop.low, 1.9, 1e-9);
    assert_near(of->loop.high, 2.1, 1e-9);
    assert_near(of->program.low, 1.0 / (0.6 + 0.4 / 1.9), 1e-9);
    assert_near(of->program.high, 1.0 / (0.6 + 0.4 / 2.1), 1e-9);
    assert_int_equal(of->advice[1].code, CARM_ADVICE_NO_BRANCH);
    /* a row without a verdict gets none */
    w.loops[0].row = 0;
    carm_run_whatif_judge(&w, &profile, v);
    assert_true(!v[0].verdict.measured && v[0].verdict.nadvice == 0);
}

/* Loops without a row or behind the last one, and changes that were not measured, say nothing. */
TEST(loops_without_verdicts)
{
    struct carm_profile_row row = {.share = 0.5};
    const struct carm_profile profile = {.rows = &row, .nrows = 1};
    struct carm_run_verdict v[2] = {{.has = true}, {.has = true}};
    struct carm_run_whatif w = {.nloops = 1};
    w.loops[0].row = 1; /* a folded loop */
    w.loops[0].changes[CARM_WHATIF_KNOWN] = change(1.5, 0.1, 1.2);
    w.loops[1].changes[CARM_WHATIF_KNOWN] = change(1.5, 0.1, 1.2);
    carm_run_whatif_judge(&w, &profile, v);
    assert_false(v[0].verdict.measured || v[1].verdict.measured);
    w.loops[0].row = 0;
    w.loops[0].changes[CARM_WHATIF_CHAINS] = change(1.2, 0.1, 1.1);
    w.loops[0].changes[CARM_WHATIF_KNOWN].measured = false;
    w.loops[0].changes[CARM_WHATIF_HUGE_PAGES] = change(9.0, 0.1, 1.2);
    w.loops[0].changes[CARM_WHATIF_HUGE_PAGES].measured = false;
    v[0].verdict.advice[0].code = CARM_ADVICE_PREFETCH;
    v[0].verdict.nadvice = 1;
    carm_run_whatif_judge(&w, &profile, v);
    assert_true(v[0].verdict.measured);
    assert_int_equal(v[0].verdict.nadvice, 2);
    assert_int_equal(v[0].verdict.advice[0].code, CARM_ADVICE_BREAK_CHAIN);
    assert_int_equal(v[0].verdict.advice[1].code, CARM_ADVICE_PREFETCH);
    assert_near(v[0].verdict.loop.low, 1.1, 1e-9);
    /* 1.01 to 1.21 in a nest of a quarter of the time leaves the bounds, of as much time */
    v[0] = (struct carm_run_verdict){.has = true, .verdict.loop = {1.0, 2.0}};
    w.loops[0].changes[CARM_WHATIF_CHAINS] = change(1.11, 0.1, 1.0 / (0.75 + 0.25 / 1.11));
    carm_run_whatif_judge(&w, &profile, v);
    assert_near(v[0].verdict.program.high, 1.0 / (0.75 + 0.25 / 2.0), 1e-9);
}

CLOSED_BY(carm_modules_close)

/* Which loops are tried: of 5% of the time or more, of known code in a file, entered at one place; with all loops inside
 * them, of which a program of nothing is left before any is reached. */
TEST(loops_to_try)
{
    enum { MANY = 25 };
    char *argv[] = {"true", NULL};
    struct carm_flow_code codes[2] = {{.npieces = 1, .nops = 1, .module = 0},
                                      {.npieces = 1, .nops = 1, .module = 1}};
    struct carm_profile_row rows[5 + MANY + 1] = {
        {.kind = CARM_PROFILE_LOOP, .share = 0.3, .samples = 30, .samples_inside = 60, .code = 1},
        {.kind = CARM_PROFILE_FUNCTION, .share = 0.3, .code = 1},
        {.kind = CARM_PROFILE_LOOP,
         .share = 0.2,
         .parent = 1,
         .samples = 20,
         .samples_inside = 20,
         .code = 1},
        {.kind = CARM_PROFILE_LOOP, .share = 0.05, .code = 1, .samples = 1, .samples_inside = 1},
        {.kind = CARM_PROFILE_LOOP, .share = 0.049, .code = 1}};
    struct carm_profile profile = {
        .rows = rows, .nrows = 5, .codes = codes, .ncodes = 2, .has_time = true};
    struct carm_run run = {
        .argv = argv, .has_blocks = true, .row.seconds = 0.1, .user_seconds = 1.0};
    struct carm_run_whatif w;
    uint32_t number = 0;
    carm_modules_open(&run.blocks.modules);
    (void)closed_later(by_carm_modules_close, &run.blocks.modules);
    assert_ok(carm_modules_add(&run.blocks.modules, "/nonexistent", 12, 1, -1, &number));
    assert_ok(carm_modules_add(&run.blocks.modules, "", 0, 2, -1, &number));
    assert_ok(carm_run_whatif(&w, &run, &profile, 0, &err));
    assert_int_equal(w.nloops, 3);
    static const struct {
        size_t row;
        double share;
        bool nest;
    } tried[] = {{0, 0.5, true}, {2, 0.2, false}, {3, 0.05, false}};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(w.loops[i].row, tried[i].row);
        assert_near(w.loops[i].share, tried[i].share, 1e-9);
        assert_int_equal(w.loops[i].nest, tried[i].nest);
        assert_non_null(strstr(w.loops[i].why, "the program's first process did not reach it"));
        assert_true(isnan(w.loops[i].null) && isnan(w.loops[i].copied) && isnan(w.loops[i].inside));
        assert_int_equal(w.loops[i].snapshots, 0);
        assert_false(w.loops[i].changes[CARM_WHATIF_L1].measured);
    }
    assert_string_equal(w.why, "");
    assert_near(w.seconds, 0.0, 0.0);
    /* why a loop is not tried; four at most */
    rows[0].irreducible = true;
    rows[2] = (struct carm_profile_row){.kind = CARM_PROFILE_LOOP, .share = 0.2};
    rows[3] = (struct carm_profile_row){.kind = CARM_PROFILE_LOOP, .share = 0.2, .code = 2};
    rows[4] = (struct carm_profile_row){.kind = CARM_PROFILE_LOOP, .share = 0.1, .code = 1};
    for (size_t i = 0; i < MANY; i++) {
        rows[5 + i] = (struct carm_profile_row){
            .kind = CARM_PROFILE_LOOP, .share = 0.05, .code = 1, .parent = 5};
    }
    static const char *const whys[] = {"it is entered at several places", "its code is not known",
                                       "its code was made at run time"};
    for (size_t inside = 23; inside <= 24; inside++) {
        profile.nrows = 5 + inside;
        profile.nfolded_loops = 1; /* for which there is no room */
        assert_ok(carm_run_whatif(&w, &run, &profile, 0, &err));
        assert_int_equal(w.nloops, 4);
        for (size_t i = 0; i < 3; i++) {
            assert_string_equal(w.loops[i].why, whys[i]);
        }
        assert_non_null(strstr(w.loops[3].why, inside == 23
                                                   ? "first process did not reach it"
                                                   : "there are too many loops inside it"));
        assert_near(w.loops[3].share, inside == 23 ? 1.0 : 0.1, 1e-9);
    }
    codes[0].nops = 0;
    profile.nfolded_loops = 0;
    assert_ok(carm_run_whatif(&w, &run, &profile, 0, &err));
    assert_string_equal(w.loops[3].why, "its code is not known");
    /* a profile without loops, a run below 0.1 s, a profile without times */
    profile.nrows = 0;
    assert_ok(carm_run_whatif(&w, &run, &profile, 0, &err));
    assert_string_equal(w.why, "no loop takes 5% of the time");
    run.row.seconds = 0.0999;
    assert_ok(carm_run_whatif(&w, &run, &profile, 0, &err));
    assert_string_equal(w.why, "the program runs 0.0999 s: snapshots of it need 0.1 s");
    profile.has_time = false;
    assert_ok(carm_run_whatif(&w, &run, &profile, 0, &err));
    assert_string_equal(w.why, "the loops' counts and shares of time are not known");
    profile.has_time = true;
    run.has_blocks = false;
    assert_ok(carm_run_whatif(&w, &run, &profile, 0, &err));
    assert_string_equal(w.why, "the loops' counts and shares of time are not known");
}

/* Loops with less than two thirds of the time of a loop around them are tried as that one's nest, once; also where it is
 * folded. Its iterations take up to 4 ms. */
TEST(nests_to_try)
{
    char *argv[] = {"true", NULL};
    struct carm_flow_code code = {.npieces = 1, .nops = 1};
    struct carm_profile_row rows[4] = {
        {.kind = CARM_PROFILE_LOOP, .share = 0.4, .samples_inside = 40, .parent = 4, .code = 1},
        {.kind = CARM_PROFILE_LOOP, .share = 0.3, .samples_inside = 30, .parent = 4, .code = 1},
        {.kind = CARM_PROFILE_OTHERS, .share = 0.3},
        {.kind = CARM_PROFILE_LOOP, .samples_inside = 70, .executions = 1000, .code = 1}};
    const struct carm_profile profile = {.rows = rows,
                                         .nrows = 3,
                                         .nfolded_loops = 1,
                                         .codes = &code,
                                         .ncodes = 1,
                                         .has_time = true,
                                         .samples = 100};
    struct carm_run run = {
        .argv = argv, .has_blocks = true, .row.seconds = 0.1, .user_seconds = 1.0};
    struct carm_run_verdict verdicts[3] = {{.has = true}, {.has = true}, {.has = true}};
    struct carm_run_whatif w;
    uint32_t number = 0;
    carm_modules_open(&run.blocks.modules);
    (void)closed_later(by_carm_modules_close, &run.blocks.modules);
    assert_ok(carm_modules_add(&run.blocks.modules, "/nonexistent", 12, 1, -1, &number));
    assert_ok(carm_run_whatif(&w, &run, &profile, 0, &err));
    assert_int_equal(w.nloops, 1);
    assert_int_equal(w.loops[0].row, 3);
    assert_true(w.loops[0].nest);
    assert_near(w.loops[0].share, 0.7, 1e-9);
    carm_run_whatif_judge(&w, &profile, verdicts); /* a folded loop has no verdict */
    rows[0].samples_inside = 47;                   /* 0.67 of 70 */
    assert_ok(carm_run_whatif(&w, &run, &profile, 0, &err));
    assert_int_equal(w.nloops, 2);
    assert_int_equal(w.loops[0].row, 0);
    assert_int_equal(w.loops[1].row, 3);
    rows[0].samples_inside = 67; /* 0.67 of 100, exactly */
    rows[3].samples_inside = 100;
    assert_ok(carm_run_whatif(&w, &run, &profile, 0, &err));
    assert_int_equal(w.nloops, 2);
    assert_int_equal(w.loops[0].row, 0);
    rows[3].samples_inside = 70;
    for (int k = 0; k < 3; k++) {
        rows[0].samples_inside = 40;
        rows[3].executions = k == 0 ? 174 : 1000; /* 4.02 ms */
        rows[3].irreducible = k == 1;
        rows[3].code = k != 2;
        assert_ok(carm_run_whatif(&w, &run, &profile, 0, &err));
        assert_int_equal(w.nloops, 2);
        assert_int_equal(w.loops[1].row, 1);
        assert_false(w.loops[1].nest);
    }
}

TEST(words_of_changes)
{
    assert_string_equal(carm_whatif_word(CARM_WHATIF_STREAM4), "stream_in_l1");
    assert_string_equal(carm_whatif_words(CARM_WHATIF_HUGE_PAGES), "its pages were huge");
    assert_string_equal(carm_whatif_advice(CARM_WHATIF_PREFETCH), "__builtin_prefetch");
}
