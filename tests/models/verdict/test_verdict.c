/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Verdicts of bounds that are given, and their gains. */
#include "models/latency.h"
#include "models/verdict/verdict.h"
#include "tests/unit.h"

static const double clock_hz = 4e9;

static const struct carm_microarchitecture zen = {
    .issue = 6.0, .core = {{"branch-mispredicted", "", "", 16, 0}}, .ncore = 1};

/* Memory that others share may be faster than while its rates were measured: its bound is named with "may". */
TEST(refuted)
{
    static const struct carm_verdict_code about = {.scalar = true};
    static const struct {
        enum carm_limit limit, is;
        double seconds;
    } all[] = {{CARM_LIMIT_LATENCY, CARM_LIMIT_LATENCY, 29.0},
               {CARM_LIMIT_DRAM, CARM_LIMIT_DRAM, 13.0},
               {CARM_LIMIT_LATENCY, CARM_LIMIT_UNKNOWN, 50.0}, /* too much for another state */
               {CARM_LIMIT_TLB, CARM_LIMIT_UNKNOWN, 13.0},     /* the pages may be larger */
               {CARM_LIMIT_CHAIN, CARM_LIMIT_UNKNOWN, 13.0}};  /* the core's own rates stay */
    struct carm_verdict v;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct carm_bounds b = {.n = 0};
        carm_bounds_add(&b, all[i].limit, all[i].seconds, false, "x");
        carm_bounds_add(&b, CARM_LIMIT_ISSUE, 7.0, false, "x");
        carm_verdict_find(&b, 10.0, 1.0, &about, &v);
        assert_int_equal(v.limit, all[i].is);
        assert_int_equal(v.estimate, v.limit != CARM_LIMIT_UNKNOWN);
        assert_near(v.loop.low, 1.0, 1e-9);
        /* what explains the time without it is the limit */
        b.n = 0;
        carm_bounds_add(&b, all[i].limit, all[i].seconds, false, "x");
        carm_bounds_add(&b, CARM_LIMIT_ISSUE, 9.0, false, "x");
        carm_verdict_find(&b, 10.0, 1.0, &about, &v);
        assert_int_equal(v.limit, CARM_LIMIT_ISSUE);
    }
    struct carm_bounds b = {.n = 0};
    carm_bounds_add(&b, CARM_LIMIT_ISSUE, 7.0, false, "x");
    carm_bounds_add(&b, CARM_LIMIT_DRAM, 13.0, false, "x")->small_pages = true; /* likewise */
    carm_verdict_find(&b, 10.0, 1.0, &about, &v);
    assert_int_equal(v.limit, CARM_LIMIT_UNKNOWN);
    b.n = 0;
    const struct carm_verdict_code repeats = {.repeats = true};
    carm_bounds_add(&b, CARM_LIMIT_L2, 9.0, false, "x");
    carm_bounds_add(&b, CARM_LIMIT_ISSUE, 0.01, false, "x");
    carm_verdict_find(&b, 10.0, 1.0, &repeats, &v);
    assert_true(v.limit == CARM_LIMIT_L2 && isinf(v.loop.high));
    carm_bounds_add(&b, CARM_LIMIT_L1, 4.0, true, "x")->strings = true;
    carm_verdict_find(&b, 10.0, 1.0, &repeats, &v);
    assert_int_equal(v.limit, CARM_LIMIT_L2);
    assert_near(v.loop.high, 10.0 / 4.0, 1e-9);
    assert_near(v.loop.low, 1.0, 0.0);
}

/* Of 10 s, no bound explains 7.5: a core and its memory may work one after the other. */
TEST(one_after_the_other)
{
    static const enum carm_limit no = CARM_LIMIT_UNKNOWN;
    static const struct carm_verdict_code about = {.scalar = true};
    static const struct {
        struct {
            enum carm_limit limit;
            double seconds, huge;
            bool estimate;
        } bounds[4];
        enum carm_limit is, second;
        double explains;
    } all[] = {
        {{{CARM_LIMIT_DRAM, 5, 0, 0}, {CARM_LIMIT_LOADS, 2.5, 0, 0}},
         CARM_LIMIT_DRAM,
         CARM_LIMIT_LOADS,
         0.75},
        {{{CARM_LIMIT_DRAM, 5, 0, 0}, {CARM_LIMIT_LOADS, 2.4, 0, 0}},
         CARM_LIMIT_UNKNOWN,
         CARM_LIMIT_DRAM,
         0.5},
        /* of each part the largest bound alone */
        {{{CARM_LIMIT_ISSUE, 5, 0, 0}, {CARM_LIMIT_FP, 4, 0, 0}, {CARM_LIMIT_CHAIN, 3, 0, 0}},
         CARM_LIMIT_UNKNOWN,
         CARM_LIMIT_ISSUE,
         0.5},
        {{{CARM_LIMIT_LATENCY, 6, 0, 0}, {CARM_LIMIT_DRAM, 4, 0, 0}},
         CARM_LIMIT_UNKNOWN,
         CARM_LIMIT_LATENCY,
         0.6},
        {{{CARM_LIMIT_L3, 4, 0, 0}, {CARM_LIMIT_L2, 3, 0, 0}, {CARM_LIMIT_ISSUE, 2, 0, 0}},
         CARM_LIMIT_L3,
         CARM_LIMIT_L2,
         0.9},
        {{{CARM_LIMIT_ISSUE, 7, 0, 0}, {CARM_LIMIT_DRAM, 6, 0, 0}},
         CARM_LIMIT_ISSUE,
         CARM_LIMIT_DRAM,
         1.0},
        /* a small part is within the error of a large one */
        {{{CARM_LIMIT_DRAM, 7.2, 0, 0}, {CARM_LIMIT_ISSUE, 0.9, 0, 0}},
         CARM_LIMIT_UNKNOWN,
         CARM_LIMIT_DRAM,
         0.72},
        /* with translations apart, lines take as long as in large pages */
        {{{CARM_LIMIT_LATENCY, 6, 5, 0}, {CARM_LIMIT_TLB, 2.5, 1, 0}},
         CARM_LIMIT_LATENCY,
         CARM_LIMIT_TLB,
         0.75},
        {{{CARM_LIMIT_LATENCY, 6, 5, 0}, {CARM_LIMIT_TLB, 2.4, 1, 0}},
         CARM_LIMIT_UNKNOWN,
         CARM_LIMIT_LATENCY,
         0.6},
        /* neither what the time refutes nor an estimate is a part; a larger estimate is told in their place */
        {{{CARM_LIMIT_L1, 13, 0, 0}, {CARM_LIMIT_DRAM, 5, 0, 0}, {CARM_LIMIT_L2, 1, 0, 0}},
         CARM_LIMIT_UNKNOWN,
         CARM_LIMIT_DRAM,
         0.5},
        {{{CARM_LIMIT_DRAM, 5, 0, 0}, {CARM_LIMIT_FORWARDING, 2.4, 0, 1}},
         CARM_LIMIT_UNKNOWN,
         CARM_LIMIT_DRAM,
         0.5},
        {{{CARM_LIMIT_BRANCHES, 2.2, 0, 1},
          {CARM_LIMIT_DRAM, 2.1, 0, 0},
          {CARM_LIMIT_L2, 2, 0, 0},
          {CARM_LIMIT_ISSUE, 2, 0, 0}},
         CARM_LIMIT_UNKNOWN,
         CARM_LIMIT_BRANCHES,
         0.22},
    };
    struct carm_verdict v;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct carm_bounds b = {.n = 0};
        for (size_t k = 0; k < 4; k++) {
            struct carm_lower_bound *of =
                carm_bounds_add(&b, all[i].bounds[k].limit, all[i].bounds[k].seconds,
                                all[i].bounds[k].estimate, "x");
            if (of) {
                of->huge_seconds = all[i].bounds[k].huge;
            }
        }
        carm_verdict_find(&b, 10.0, 1.0, &about, &v);
        fail_if(v.limit != all[i].is || v.second != all[i].second, "%zu: %s, %s", i,
                carm_limit_name(v.limit), carm_limit_name(v.second));
        assert_near(v.explains, all[i].explains, 1e-9);
        assert_true(v.limit == no || v.estimate);
    }
}

/* Huge pages shorten a wait by the walks where the wait is known to be one of independent misses. */
TEST(huge_pages)
{
    static const struct {
        double seconds, branches, low, high;
    } all[] = {{9.5, 0.0, 10.0 / 6.0, 10.0 / 5.5},
               {8.5, 9.0, 1.0, 10.0 / 4.5}, /* mispredictions wait for the same lines */
               {5.0, 0.0, 1.0, 10.0}};      /* half of the time is not known */
    static const struct carm_verdict_code about = {.strided = true, .used = 0.1};
    struct carm_verdict v;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct carm_bounds b = {.n = 0};
        struct carm_lower_bound *walks =
            carm_bounds_add(&b, CARM_LIMIT_LATENCY, all[i].seconds, false, "x");
        walks->small_pages = true;
        walks->huge_seconds = all[i].seconds - 4.0;
        if (all[i].branches > 0.0) {
            carm_bounds_add(&b, CARM_LIMIT_BRANCHES, all[i].branches, true, "x")->at_most = true;
        }
        carm_bounds_add(&b, CARM_LIMIT_ISSUE, 0.5, false, "x");
        carm_verdict_find(&b, 10.0, 1.0, &about, &v);
        assert_int_equal(v.nadvice, 2);
        assert_int_equal(v.advice[1].code, CARM_ADVICE_HUGE_PAGES);
        assert_near(v.advice[1].gain.low, all[i].low, 1e-9);
        assert_near(v.advice[1].gain.high, all[i].high, 1e-9);
    }
}

/* Of what may limit it nothing says that it is done. */
TEST(nothing_left)
{
    static const struct carm_verdict_code alone = {.body = true},
                                          beside = {.body = true, .company = 1.0};
    struct carm_bounds b = {.n = 0};
    struct carm_verdict v;
    carm_bounds_add(&b, CARM_LIMIT_L1, 9.0, false, "x");
    carm_verdict_find(&b, 10.0, 1.0, &alone, &v);
    assert_int_equal(carm_verdict_first(&v), CARM_ADVICE_NOTHING);
    carm_verdict_find(&b, 17.0, 1.0, &beside, &v);
    assert_true(v.limit == CARM_LIMIT_L1 && v.estimate && v.nadvice == 0);
}

/* Something on the core's other hardware thread stretches what the two share, by up to twice while it runs. */
TEST(company)
{
    static const struct {
        enum carm_limit limit;
        double seconds, company;
        enum carm_limit is;
    } all[] = {
        {CARM_LIMIT_ISSUE, 5.0, 0.6, CARM_LIMIT_ISSUE},   /* 8 of 10 */
        {CARM_LIMIT_ISSUE, 5.0, 0.4, CARM_LIMIT_UNKNOWN}, /* 7 of 10 */
        {CARM_LIMIT_L2, 5.0, 1.0, CARM_LIMIT_L2},         /* all */
        {CARM_LIMIT_CHAIN, 5.0, 1.0, CARM_LIMIT_UNKNOWN}, /* a chain waits as long beside others */
        {CARM_LIMIT_LATENCY, 5.0, 1.0, CARM_LIMIT_UNKNOWN}, /* and so do misses */
        {CARM_LIMIT_ISSUE, 8.0, 1.0, CARM_LIMIT_ISSUE}};    /* explains enough by itself: sure */
    struct carm_verdict v;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct carm_verdict_code code = {.company = all[i].company};
        struct carm_bounds b = {.n = 0};
        carm_bounds_add(&b, all[i].limit, all[i].seconds, false, "x");
        carm_bounds_add(&b, CARM_LIMIT_DRAM, 2.0, false, "x");
        carm_verdict_find(&b, 10.0, 1.0, &code, &v);
        assert_int_equal(v.limit, all[i].is);
        assert_near(v.seconds, 10.0, 1e-9);
        const bool by_company = all[i].is != CARM_LIMIT_UNKNOWN && all[i].seconds < 7.5;
        assert_int_equal(v.estimate, by_company);
        if (by_company) {
            const double alone = fmax(all[i].seconds, 10.0 / (1.0 + all[i].company));
            assert_near(v.explains, fmin(1.0, 0.1 * all[i].seconds * (1.0 + all[i].company)), 1e-9);
            if (!carm_limit_is_memory(v.limit)) { /* blocking for L1 removes DRAM's bound, too */
                assert_near(v.loop.high, alone / 2.0, 1e-9);
            }
        }
    }
}

/* Every class of instruction with a word has a kind of the model; codes are those that programs rely on. */
TEST(gains)
{
    struct carm_bounds b = {.n = 0};
    struct carm_verdict v;
    /* vectors of 8 elements: the bounds of the code shrink, those of memory do not */
    carm_bounds_add(&b, CARM_LIMIT_ISSUE, 9.0, false, "x");
    carm_bounds_add(&b, CARM_LIMIT_DRAM, 3.0, false, "x");
    struct carm_verdict_code code = {.scalar = true, .widening = 8.0};
    carm_verdict_find(&b, 10.0, 1.0, &code, &v);
    assert_near(v.loop.high, 10.0 / 3.0, 1e-9);
    assert_near(v.loop.low, 10.0 / 7.0, 1e-9);
    /* outside loops there is nothing to make vectors of */
    assert_int_equal(v.advice[0].code, CARM_ADVICE_VECTORISE);
    code.body = true;
    carm_verdict_find(&b, 10.0, 1.0, &code, &v);
    assert_int_equal(v.advice[0].code, CARM_ADVICE_FEWER_INSTRUCTIONS);
    /* strides: lines of which an eighth is used */
    b.n = 0;
    carm_bounds_add(&b, CARM_LIMIT_LATENCY, 9.0, false, "x");
    carm_bounds_add(&b, CARM_LIMIT_DRAM, 4.0, false, "x");
    code = (struct carm_verdict_code){.strided = true, .used = 0.125};
    carm_verdict_find(&b, 10.0, 1.0, &code, &v);
    assert_near(v.loop.high, 20.0, 1e-9);
    code.used = 0.25; /* columns side by side use a line again: rows need it once for 8 numbers */
    code.dense = 0.125;
    carm_verdict_find(&b, 10.0, 1.0, &code, &v);
    assert_near(v.loop.high, 20.0, 1e-9);
    /* a chain: four side by side at least, any number at most */
    b.n = 0;
    carm_bounds_add(&b, CARM_LIMIT_CHAIN, 9.0, false, "x");
    carm_bounds_add(&b, CARM_LIMIT_ISSUE, 0.5, false, "x");
    code = (struct carm_verdict_code){.scalar = true, .sums = true, .widening = 8.0};
    carm_verdict_find(&b, 10.0, 1.0, &code, &v);
    assert_near(v.loop.low, 10.0 / (1.0 + 9.0 / 4.0), 1e-9);
    assert_near(v.loop.high, 10.0 / (0.5 / 8.0), 1e-9);
    /* likewise lists */
    b.n = 0;
    carm_bounds_add(&b, CARM_LIMIT_LATENCY, 9.0, false, "x");
    carm_bounds_add(&b, CARM_LIMIT_ISSUE, 0.5, false, "x");
    code = (struct carm_verdict_code){.scalar = true};
    carm_verdict_find(&b, 10.0, 1.0, &code, &v);
    assert_int_equal(v.advice[0].code, CARM_ADVICE_PREFETCH);
    assert_near(v.loop.low, 10.0 / (1.0 + 9.0 / 4.0), 1e-9);
    /* loads across two lines */
    b.n = 0;
    carm_bounds_add(&b, CARM_LIMIT_LOADS, 9.0, false, "x");
    code = (struct carm_verdict_code){.whole_lines = 0.5};
    carm_verdict_find(&b, 10.0, 1.0, &code, &v);
    assert_int_equal(v.advice[0].code, CARM_ADVICE_ALIGN);
    assert_near(v.loop.high, 10.0 / 4.5, 1e-9);
    /* not known, nearly all loads within a line, or stores: nothing to align */
    static const double aligned[] = {0.0, CARM_VERDICT_BOTH, 1.0};
    for (size_t i = 0; i < 3; i++) {
        code.whole_lines = aligned[i];
        carm_verdict_find(&b, 10.0, 1.0, &code, &v);
        assert_int_equal(v.advice[0].code, CARM_ADVICE_NOTHING);
    }
    b.n = 0;
    carm_bounds_add(&b, CARM_LIMIT_STORES, 9.0, false, "x");
    code.whole_lines = 0.5;
    carm_verdict_find(&b, 10.0, 1.0, &code, &v);
    assert_int_equal(v.advice[0].code, CARM_ADVICE_NOTHING);
    /* variables on the stack: the chain of the operations themselves stays */
    b.n = 0;
    carm_bounds_add(&b, CARM_LIMIT_FORWARDING, 9.0, false, "x");
    carm_bounds_add(&b, CARM_LIMIT_ISSUE, 3.0, false, "x");
    code = (struct carm_verdict_code){.scalar = true, .widening = 8.0, .chain_left = 2.5};
    carm_verdict_find(&b, 10.0, 1.0, &code, &v);
    assert_near(v.loop.high, 4.0, 1e-9);
    /* a branch whose condition comes from memory: half of the outcomes cost the miss */
    struct carm_bounds_input branch = {.rates.theory = &zen,
                                       .clock_hz = clock_hz,
                                       .mispredicted = 0.5,
                                       .resolve_cycles = 5.0,
                                       .resolve_missing = 300.0};
    carm_bounds_find(&branch, &b);
    assert_int_equal(b.n, 1);
    assert_int_equal(b.of[0].limit, CARM_LIMIT_BRANCHES);
    assert_true(b.of[0].estimate && b.of[0].at_most);
    carm_verdict_find(&b, 100.0 / clock_hz, 1.0, &code, &v);
    assert_int_equal(v.limit, CARM_LIMIT_BRANCHES);
    assert_int_equal(v.advice[0].code, CARM_ADVICE_NO_BRANCH);
    assert_true(v.estimate);
    assert_near(b.of[0].seconds * clock_hz, 0.5 * (16.0 + 5.0) + 300.0, 1e-6);
    /* a chain through data about as large as a cache: the time tells how much of it others have */
    struct carm_bounds_input chase = {
        .clock_hz = clock_hz, .missing_cycles = 60.0, .border_cycles = 400.0};
    carm_bounds_find(&chase, &b);
    carm_verdict_find(&b, 200.0 / clock_hz, 1.0, &code, &v);
    assert_int_equal(v.limit, CARM_LIMIT_LATENCY);
    assert_true(v.estimate && v.advice[0].code == CARM_ADVICE_PREFETCH);
    carm_verdict_find(&b, 64.0 / clock_hz, 1.0, &code, &v);
    assert_false(v.estimate);
    carm_verdict_find(&b, 800.0 / clock_hz, 1.0, &code, &v);
    assert_int_equal(v.limit, CARM_LIMIT_UNKNOWN);
    /* memory that takes 1.3 times as long now: 91% of the time; 1.05 times is not enough for 75% */
    b.n = 0;
    carm_bounds_add(&b, CARM_LIMIT_ISSUE, 72.0, false, "x");
    carm_bounds_add(&b, CARM_LIMIT_DRAM, 70.0, false, "roof");
    code = (struct carm_verdict_code){.slower = 1.3};
    carm_verdict_find(&b, 100.0, 1.0, &code, &v);
    assert_int_equal(v.limit, CARM_LIMIT_DRAM);
    assert_true(v.estimate);
    assert_near(v.explains, 0.91, 1e-9);
    assert_string_equal(v.bounds.of[1].origin,
                        "roof; memory took 1.3 times as long beside the run");
    code.slower = 1.05; /* the core and memory one after the other */
    carm_verdict_find(&b, 100.0, 1.0, &code, &v);
    assert_int_equal(v.limit, CARM_LIMIT_ISSUE);
    assert_int_equal(v.second, CARM_LIMIT_DRAM);
    /* an estimate of the same cause has the bound's time in it: 65% and 70% are not 135% */
    b.n = 0;
    carm_bounds_add(&b, CARM_LIMIT_LATENCY, 65.0, false, "x");
    carm_bounds_add(&b, CARM_LIMIT_LATENCY, 70.0, true, "x")->at_most = true;
    carm_verdict_find(&b, 100.0, 1.0, &code, &v);
    assert_int_equal(v.limit, CARM_LIMIT_UNKNOWN);
    assert_int_equal(v.second, CARM_LIMIT_LATENCY);
    assert_near(v.explains, 0.7, 1e-9);
    /* mispredictions that wait for the same memory, at most 30% */
    carm_bounds_add(&b, CARM_LIMIT_BRANCHES, 30.0, true, "x")->at_most = true;
    carm_verdict_find(&b, 100.0, 1.0, &code, &v);
    assert_int_equal(v.limit, CARM_LIMIT_LATENCY);
    assert_int_equal(v.second, CARM_LIMIT_BRANCHES);
    assert_true(v.estimate);
    assert_near(v.explains, 0.95, 1e-9);
    /* lines that threads write in turn: the estimate is of the most, and the verdict says "may" */
    struct carm_bounds_input in = {
        .clock_hz = clock_hz, .contended = 2.0, .transfer_seconds = 50e-9};
    carm_bounds_find(&in, &b);
    assert_int_equal(b.n, 1);
    carm_verdict_find(&b, 4e-9, 1.0, &code, &v);
    assert_int_equal(v.limit, CARM_LIMIT_LATENCY);
    assert_true(v.estimate);
    assert_near(v.explains, 1.0, 1e-9);
    assert_int_equal(v.advice[0].code, CARM_ADVICE_APART);
    assert_near(v.loop.low, 1.0, 1e-9);
    in.locked = 2.0; /* an atomic counter is of all threads: it has no line of one's own */
    carm_bounds_find(&in, &b);
    carm_verdict_find(&b, 4e-9, 1.0, &code, &v);
    assert_int_equal(v.limit, CARM_LIMIT_LATENCY);
    assert_int_equal(v.advice[0].code, CARM_ADVICE_FEWER_ATOMICS);
}

/* Gains below 5% are none; an interval within 10% is one number. */
TEST(gains_in_words)
{
    static const struct {
        struct carm_verdict_gain gain;
        const char *text;
    } cases[] = {{{1.0, 1.05}, "-"},       {{1.0, 1.06}, "up to 1.1x"},
                 {{1.04, INFINITY}, "-"},  {{1.06, INFINITY}, "over 1.1x"},
                 {{2.0, 2.19}, "2.2x"},    {{2.0, 2.21}, "2..2.2x"},
                 {{1.06, 3.0}, "1.1..3x"}, {{1.04, 3.0}, "up to 3x"},
                 {{1.06, 1.1}, "1.1x"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        assert_string_equal(carm_verdict_gain_text(text, sizeof text, &cases[i].gain),
                            cases[i].text);
    }
}
