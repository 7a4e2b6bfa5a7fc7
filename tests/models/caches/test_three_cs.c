/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From counts to intensities and advice: counts made by hand, and kernels whose cure is known. */
#include "models/caches/three_cs.h"
#include "tests/unit.h"

static struct carm_three_cs eval(const struct carm_hierarchy_counts *counts,
                                 const struct carm_three_cs_lines *lines,
                                 const struct carm_three_cs_input *in)
{
    struct carm_three_cs t;
    memset(&t, 0, sizeof t);
    assert_ok(carm_three_cs_eval(counts, lines, in, &t, &err));
    return t;
}

static void says(const struct carm_three_cs *t, const char *words)
{
    fail_if(!strstr(t->advice, words), "'%s' does not say '%s'", t->advice, words);
}

/* 100 lines compulsory, 60 capacity, 40 conflict; 20 written, some of them again: 30 more times; 10 past
 * the caches. The first level does not matter. */
static const struct carm_hierarchy_counts by_hand = {
    .nlevels = 2,
    .levels = {{.misses = {300, 7, 7}, .writebacks = 90},
               {.misses = {100, 60, 40}, .writebacks = 50}},
    .nt_lines = 6,
    .nt_partial = 4,
};
static const struct carm_three_cs_lines lines_by_hand = {.stored = 20, .stored_only = 13};

TEST(divides_the_traffic)
{
    const struct carm_three_cs_input in = {.operations = 64.0 * 2600.0,
                                           .compulsory_bytes = 64.0 * 104.0};
    const struct carm_three_cs t = eval(&by_hand, &lines_by_hand, &in);
    const double fills[] = {100, 60, 40};
    const double writebacks[] = {20, 18, 12};
    for (size_t kind = 0; kind < CARM_THREE_CS_KINDS; kind++) {
        assert_near(t.fill[kind], 64.0 * fills[kind], 1e-12);
        assert_near(t.writeback[kind], 64.0 * writebacks[kind], 1e-12);
        assert_near(t.share[kind], (fills[kind] + writebacks[kind]) / 260.0, 1e-12);
    }
    assert_near(t.nontemporal, 640.0, 1e-12);
    assert_near(t.allocate, 13.0 / 260.0, 1e-12);
    const double lines[] = {260, 208, 130, 117, 104};
    for (size_t step = 0; step < CARM_THREE_CS_STEPS; step++) {
        assert_true(t.steps[step].known);
        assert_near(t.steps[step].bytes, 64.0 * lines[step], 1e-12);
        assert_near(t.steps[step].intensity, 2600.0 / lines[step], 1e-12);
        assert_near(t.steps[step].times, 260.0 / lines[step], 1e-12);
        assert_true(t.steps[step].at == 0.0);
    }
    says(&t, "Capacity misses cause 30% of the traffic: block the loops");
    says(&t, "1.43 times");
}

/* Intensities 10, 12.5, 20, 22.2, 25 under a ridge of 16. */
TEST(roofs_cap_the_gain)
{
    const struct carm_three_cs_input in = {.operations = 64.0 * 2600.0,
                                           .compulsory_bytes = 64.0 * 104.0,
                                           .bandwidth = 1e9,
                                           .peak = 16e9};
    struct carm_three_cs_input richer = in;
    const struct carm_three_cs t = eval(&by_hand, &lines_by_hand, &in);
    const double at[] = {10e9, 12.5e9, 16e9, 16e9, 16e9};
    for (size_t step = 0; step < CARM_THREE_CS_STEPS; step++) {
        assert_near(t.steps[step].at, at[step], 1e-12);
        assert_near(t.steps[step].times, at[step] / 10e9, 1e-12);
        assert_true(t.steps[step].compute == (step >= CARM_STEP_COMPULSORY));
    }
    says(&t, "1.43 times");
    richer.peak = 11e9; /* less than blocking could give */
    struct carm_three_cs u = eval(&by_hand, &lines_by_hand, &richer);
    says(&u, "1.10 times");
    richer.peak = 10e9; /* at the ridge */
    u = eval(&by_hand, &lines_by_hand, &richer);
    assert_true(u.steps[CARM_STEP_NOW].compute);
    richer.peak = 9e9;
    u = eval(&by_hand, &lines_by_hand, &richer);
    assert_true(u.steps[CARM_STEP_NOW].compute);
    assert_near(u.steps[CARM_STEP_COMPULSORY].times, 1.0, 1e-12);
    says(&u, "Memory does not limit it");
}

static void refuse(const struct carm_hierarchy_counts *counts,
                   const struct carm_three_cs_lines *lines, const struct carm_three_cs_input *in,
                   const char *words)
{
    struct carm_three_cs t;
    struct carm_three_cs before;
    err = (struct carm_err){""};
    memset(&t, 0x5a, sizeof t);
    memcpy(&before, &t, sizeof t);
    assert_int_equal(carm_three_cs_eval(counts, lines, in, &t, &err), -CARM_EINVAL);
    fail_if(!strstr(err.text, words), "'%s' does not say '%s'", err.text, words);
    assert_memory_equal(&t, &before, sizeof t);
}

TEST(refuses_nonsense)
{
    static const double bad[] = {-1.0, NAN, INFINITY};
    const struct carm_three_cs_input good = {1.0, 1.0, 1.0, 1.0};
    const struct carm_three_cs_lines no_lines = {0, 0};
    const struct carm_hierarchy_counts none = {.nlevels = 1};
    const struct carm_hierarchy_counts shared = {
        .nlevels = 1, .levels = {{.misses = {[CARM_MISS_COHERENCE] = 1}}}};
    struct carm_three_cs_input in = good;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        in = good;
        in.operations = bad[i];
        refuse(&by_hand, &lines_by_hand, &in, "needs operations");
        in = good;
        in.compulsory_bytes = bad[i];
        refuse(&by_hand, &lines_by_hand, &in, "compulsory bytes by formula");
        in = good;
        in.bandwidth = bad[i];
        refuse(&by_hand, &lines_by_hand, &in, "give both or neither");
    }
    in = good;
    in.peak = 0.0;
    refuse(&by_hand, &lines_by_hand, &in, "give both or neither");
    in = good;
    in.operations = 0.0;
    refuse(&by_hand, &lines_by_hand, &in, "needs operations");
    refuse(&none, &no_lines, &good, "moves no bytes");
    refuse(&shared, &lines_by_hand, &good, "trace one thread");
}

/* What a level tells of a trace of doubles. */
static struct carm_three_cs_trace *open_level(uint64_t size_bytes, uint32_t ways)
{
    const struct carm_hierarchy_config config = {
        .levels = {{size_bytes, ways, 1}}, .nlevels = 1, .cores = 1};
    struct carm_three_cs_trace *trace = NULL;
    assert_ok(carm_three_cs_open(&trace, &config, &err));
    return trace;
}

static struct carm_three_cs close_level(struct carm_three_cs_trace *trace, double operations,
                                        double compulsory)
{
    const struct carm_three_cs_input in = {.operations = operations,
                                           .compulsory_bytes = compulsory};
    struct carm_hierarchy_counts counts;
    struct carm_three_cs_lines lines;
    memset(&counts, 0, sizeof counts);
    assert_ok(carm_three_cs_read(trace, &counts, &lines, &err));
    carm_three_cs_close(trace);
    return eval(&counts, &lines, &in);
}

static void access_double(struct carm_three_cs_trace *trace, uint64_t i, bool store,
                          bool nontemporal)
{
    carm_three_cs_access(trace, 8 * i, 8, store, nontemporal);
}

/* One line more than a direct-mapped cache has: only two lines share a set and go on missing. LRU over all
 * lines would miss them, too: they are capacity misses, and nothing is to be gained from padding. */
TEST(misses_that_lru_has_too_are_capacity)
{
    enum { LINES = 12, ROUNDS = 5 };
    struct carm_three_cs_trace *trace = open_level((uint64_t)LINES * 64, 1);
    for (uint64_t i = 0; i < (uint64_t)(LINES + 1) * ROUNDS; i++) {
        carm_three_cs_access(trace, i % (LINES + 1) * 64, 8, false, false);
    }
    const struct carm_three_cs t = close_level(trace, 1000.0, 0.0);
    assert_near(t.fill[CARM_MISS_COMPULSORY], 64.0 * (LINES + 1), 1e-12);
    assert_near(t.fill[CARM_MISS_CAPACITY], 64.0 * 2 * (ROUNDS - 1), 1e-12);
    assert_near(t.steps[CARM_STEP_NO_CONFLICT].times, 1.0, 1e-12);
    assert_false(t.steps[CARM_STEP_FORMULA].known);
}

/* The sum of each column of a matrix in rows, 1 flop for each element. */
static struct carm_three_cs columns(uint64_t leading)
{
    struct carm_three_cs_trace *trace = open_level(32768, 8);
    for (uint64_t column = 0; column < 64; column++) {
        for (uint64_t row = 0; row < 64; row++) {
            access_double(trace, row * leading + column, false, false);
        }
    }
    return close_level(trace, 4096.0, 4096.0 * 8.0);
}

TEST(padding_is_the_advice)
{
    const struct carm_three_cs t = columns(512);
    says(&t, "Conflict misses cause 88% of the traffic: pad the arrays");
    says(&t, "at most 8.00 times");
    assert_near(t.steps[CARM_STEP_NOW].intensity, 1.0 / 64.0, 1e-12);
    assert_near(t.steps[CARM_STEP_NO_CONFLICT].intensity, 1.0 / 8.0, 1e-12);
    const struct carm_three_cs padded = columns(520);
    assert_near(padded.steps[CARM_STEP_NOW].intensity, 1.0 / 8.0, 1e-12);
    assert_near(padded.steps[CARM_STEP_NOW].bytes, padded.steps[CARM_STEP_FORMULA].bytes, 1e-12);
    says(&padded, "No kind of traffic");
}

/* Ten passes over twice the cache, or over each half in turn. */
static struct carm_three_cs passes(uint64_t block)
{
    const uint64_t n = 8192;
    struct carm_three_cs_trace *trace = open_level(32768, 8);
    for (uint64_t from = 0; from < n; from += block) {
        for (int pass = 0; pass < 10; pass++) {
            for (uint64_t i = from; i < from + block; i++) {
                access_double(trace, i, false, false);
            }
        }
    }
    return close_level(trace, 10.0 * (double)n, 8.0 * (double)n);
}

TEST(blocking_is_the_advice)
{
    const struct carm_three_cs t = passes(8192);
    says(&t, "Capacity misses cause 90% of the traffic: block the loops");
    assert_near(t.steps[CARM_STEP_NO_CONFLICT].intensity, 0.125, 1e-12);
    assert_near(t.steps[CARM_STEP_COMPULSORY].intensity, 1.25, 1e-12);
    const struct carm_three_cs blocked = passes(4096);
    assert_near(blocked.steps[CARM_STEP_NOW].intensity, 1.25, 1e-12);
    says(&blocked, "No kind of traffic");
}

/* The 7-point stencil of the paper: 8 flops for each 24 bytes, of which 8 are fills of what is
 * overwritten. The halo is read beyond the formula. */
static struct carm_three_cs stencil(bool nontemporal)
{
    const uint64_t n = 32;
    const uint64_t out = 1 << 20;
    const uint64_t neighbours[] = {0, 1, n, n * n};
    struct carm_three_cs_trace *trace = open_level(1 << 20, 16);
    for (uint64_t z = 1; z + 1 < n; z++) {
        for (uint64_t y = 1; y + 1 < n; y++) {
            for (uint64_t x = 1; x + 1 < n; x++) {
                const uint64_t at = (z * n + y) * n + x;
                for (size_t k = 0; k < 4; k++) {
                    access_double(trace, at - neighbours[k], false, false);
                    access_double(trace, at + neighbours[k], false, false);
                }
                access_double(trace, out + at, true, nontemporal);
            }
        }
    }
    const double points = 30.0 * 30.0 * 30.0;
    return close_level(trace, 8.0 * points, 24.0 * points);
}

TEST(stencil_is_the_papers)
{
    const struct carm_three_cs t = stencil(false);
    assert_near(t.steps[CARM_STEP_FORMULA].intensity, 1.0 / 3.0, 1e-12);
    /* rows of 32 points are 4 lines: 30 x 30 rows inside and 120 of the halo are read, the former
     * are written */
    assert_near(t.steps[CARM_STEP_NOW].bytes, (1020.0 + 900.0 + 900.0) * 4.0 * 64.0, 1e-12);
    assert_near(t.steps[CARM_STEP_COMPULSORY].times, 1.0, 1e-12);
    assert_true(t.share[CARM_MISS_COMPULSORY] == 1.0);
    says(&t, "lines that are only stored to");
    says(&t, "no-allocate");
    const double saved = t.steps[CARM_STEP_NOW].bytes - t.steps[CARM_STEP_NO_ALLOCATE].bytes;
    assert_near(saved, 30.0 * 30.0 * 32.0 * 8.0, 1e-12);
    const struct carm_three_cs past = stencil(true);
    assert_near(past.steps[CARM_STEP_NOW].bytes, t.steps[CARM_STEP_NO_ALLOCATE].bytes, 1e-12);
    says(&past, "No kind of traffic");
}

TEST(names_are_plain)
{
    assert_string_equal(carm_miss_reason_name(CARM_MISS_CAPACITY), "capacity");
    assert_string_equal(carm_miss_reason_name(CARM_MISS_REASONS), "");
    assert_string_equal(carm_three_cs_step_name(CARM_STEP_NO_CONFLICT), "without conflict misses");
    assert_string_equal(carm_three_cs_step_name(CARM_THREE_CS_STEPS), "");
}
