/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Verdicts on bounds that are written down, and bounds of memory from lines, walks and rates that are. */
#include "models/latency.h"
#include "models/verdict/verdict.h"
#include "tests/unit.h"

static const double clock_hz = 4e9;
static const struct carm_microarchitecture two_stores = {.core = {{"store", "", "", 0, 0.5}},
                                                         .ncore = 1};

static const struct carm_lower_bound *bound_of(const struct carm_bounds *b, enum carm_limit limit,
                                               const char *words)
{
    for (size_t i = 0; i < b->n; i++) {
        if (b->of[i].limit == limit && strstr(b->of[i].origin, words)) {
            return &b->of[i];
        }
    }
    return NULL;
}

/* Estimates come after bounds, and two bounds that are alike are both named. */
TEST(order)
{
    static const struct carm_verdict_code about = {.strided = true};
    struct carm_bounds b = {.n = 0};
    struct carm_verdict v;
    carm_bounds_add(&b, CARM_LIMIT_BRANCHES, 8.0, true, "x");
    carm_bounds_add(&b, CARM_LIMIT_LOADS, 2.0, false, "x");
    carm_verdict_find(&b, 10.5, 0.5, &about, &v);
    assert_int_equal(v.limit, CARM_LIMIT_BRANCHES);
    assert_near(v.explains, 10.0 / 10.5, 1e-9);
    carm_bounds_add(&b, CARM_LIMIT_L2, 9.0, false, "x");
    carm_bounds_add(&b, CARM_LIMIT_L3, 9.5, false, "x");
    carm_verdict_find(&b, 10.0, 0.5, &about, &v);
    assert_int_equal(v.limit, CARM_LIMIT_L3);
    assert_int_equal(v.second, CARM_LIMIT_L2);
    assert_near(v.explains, 0.95, 1e-9);
    assert_int_equal(v.advice[0].code, CARM_ADVICE_UNIT_STRIDE);
    assert_true(v.program.high <= 2.0 && v.program.high >= v.program.low);
    for (size_t i = 1; i < v.bounds.n; i++) {
        assert_true(v.bounds.of[i - 1].seconds >= v.bounds.of[i].seconds);
    }
}

/* The order of accesses is known where no cause explains enough; without it nothing is advised. */
TEST(half_explained)
{
    struct carm_verdict_code about = {.strided = true, .used = 0.125};
    struct carm_bounds b = {.n = 0};
    struct carm_verdict v;
    carm_bounds_add(&b, CARM_LIMIT_LOADS, 0.5, false, "x");
    carm_bounds_add(&b, CARM_LIMIT_LATENCY, 7.0, false, "x");
    carm_verdict_find(&b, 10.0, 1.0, &about, &v);
    assert_int_equal(v.limit, CARM_LIMIT_UNKNOWN);
    assert_int_equal(v.second, CARM_LIMIT_LATENCY);
    assert_int_equal(v.nadvice, 1);
    assert_int_equal(v.advice[0].code, CARM_ADVICE_UNIT_STRIDE);
    assert_int_equal(v.advice[0].removes, CARM_LIMIT_LATENCY);
    assert_near(v.program.low, 10.0 / 4.0, 1e-9); /* 3 are not explained, and twice 0.5 may stay */
    assert_near(v.program.high, 20.0, 1e-9);
    about.used = 0.75;
    carm_verdict_find(&b, 10.0, 1.0, &about, &v);
    assert_int_equal(v.nadvice, 0);
    about = (struct carm_verdict_code){.strided = true};
    carm_verdict_find(&b, 15.0, 1.0, &about, &v);
    assert_int_equal(v.nadvice, 0);
    assert_near(v.program.high, 1.0, 0.0);
}

/* Where an estimate is more than all that is known, it is named, with "may"; so is one of branches that exceeds the
 * time, as a predictor foresees some of them. */
TEST(doubt)
{
    static const struct carm_verdict_code about = {.scalar = true};
    static const struct {
        double branches;
        enum carm_limit is, second;
        double explains;
    } all[] = {{5.0, CARM_LIMIT_UNKNOWN, CARM_LIMIT_BRANCHES, 0.5},
               {0.5, CARM_LIMIT_UNKNOWN, CARM_LIMIT_ISSUE, 0.1},
               {7.0, CARM_LIMIT_BRANCHES, CARM_LIMIT_UNKNOWN, 0.8},
               {19.0, CARM_LIMIT_BRANCHES, CARM_LIMIT_UNKNOWN, 1.0},
               {21.0, CARM_LIMIT_UNKNOWN, CARM_LIMIT_ISSUE, 0.1}};
    struct carm_bounds both = {.n = 0};
    struct carm_lower_bound *most = NULL;
    struct carm_bounds probes = {.n = 0};
    struct carm_verdict_kept kept;
    struct carm_verdict v;
    char text[256];
    /* a bound explains enough, and they may explain more */
    carm_bounds_add(&both, CARM_LIMIT_BRANCHES, 10.5, true, "x");
    carm_bounds_add(&both, CARM_LIMIT_INTEGER, 7.6, false, "x");
    carm_verdict_find(&both, 10.0, 1.0, &about, &v);
    kept = carm_verdict_keep(&v);
    assert_string_equal(carm_verdict_limited_by(text, sizeof text, &kept),
                        "integer units and maybe mispredicted branches");
    /* a branch that waits for the same misses as the loads */
    carm_bounds_add(&probes, CARM_LIMIT_LATENCY, 6.4, false, "x");
    most = carm_bounds_add(&probes, CARM_LIMIT_BRANCHES, 35.0, true, "x");
    assert_non_null(most);
    most->at_most = true;
    carm_verdict_find(&probes, 10.0, 1.0, &about, &v);
    kept = carm_verdict_keep(&v);
    assert_string_equal(carm_verdict_limited_by(text, sizeof text, &kept),
                        "maybe memory latency and maybe mispredicted branches");
    assert_int_equal(v.advice[0].code, CARM_ADVICE_PREFETCH);
    /* a predictor knows the jumps of an interpreter's loops, and nothing is advised about them */
    struct carm_bounds jumps = {.n = 0};
    carm_bounds_add(&jumps, CARM_LIMIT_BRANCHES, 11.0, true, "x")->indirect = true;
    carm_bounds_add(&jumps, CARM_LIMIT_ISSUE, 4.0, false, "x");
    carm_verdict_find(&jumps, 10.0, 1.0, &about, &v);
    assert_true(v.limit == CARM_LIMIT_BRANCHES && v.nadvice == 0);
    carm_verdict_find(&jumps, 8.0, 1.0, &about, &v);
    assert_int_equal(v.limit, CARM_LIMIT_UNKNOWN);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct carm_bounds b = {.n = 0};
        carm_bounds_add(&b, CARM_LIMIT_BRANCHES, all[i].branches, true, "x");
        carm_bounds_add(&b, CARM_LIMIT_ISSUE, 1.0, false, "x");
        carm_verdict_find(&b, 10.0, 1.0, &about, &v);
        assert_int_equal(v.limit, all[i].is);
        assert_int_equal(v.second, all[i].second);
        assert_near(v.explains, all[i].explains, 1e-9);
        assert_int_equal(v.estimate, all[i].second != CARM_LIMIT_ISSUE);
        assert_true(all[i].branches < 10.0 || v.loop.low <= 1.0);
        kept = carm_verdict_keep(&v);
        if (i == 0) {
            assert_string_equal(carm_verdict_limited_by(text, sizeof text, &kept),
                                "not known (maybe mispredicted branches)");
            assert_string_equal(carm_verdict_text(text, sizeof text, &kept),
                                "may be limited by mispredicted branches for 50% of its time, the "
                                "rest is not known");
        }
    }
}

/* Half of the stores are of two lines, which take 5 cycles in place of 1. */
TEST(split_stores)
{
    static struct carm_core_figure split = {.kind = CARM_CORE_LINE_SPLIT_STORE, .throughput = 5.0};
    const struct carm_model model = {.core = &split, .ncore = 1};
    struct carm_bounds_input in = {.rates = {.model = &model, .theory = &two_stores},
                                   .clock_hz = clock_hz,
                                   .stores = {0.0, 0.0, 0.0, 2.0, 0.0},
                                   .split_stores = {0.0, 0.0, 0.0, 1.0, 0.0}};
    const struct carm_verdict_code code = {.whole_stores = 2.0 / 3.0};
    struct carm_bounds b;
    struct carm_verdict v;
    carm_bounds_find(&in, &b);
    assert_near(bound_of(&b, CARM_LIMIT_STORES, "across")->seconds * clock_hz, 5.5, 1e-9);
    carm_verdict_find(&b, 6.0 / clock_hz, 1.0, &code, &v);
    assert_int_equal(v.limit, CARM_LIMIT_STORES);
    assert_int_equal(v.advice[0].code, CARM_ADVICE_ALIGN);
}

/* Each load is behind a store at its place in another page, which takes 6 cycles with the store: an estimate. */
TEST(aliased_stores)
{
    static struct carm_core_figure alias = {.kind = CARM_CORE_ALIAS_4K, .throughput = 6.0};
    const struct carm_model model = {.core = &alias, .ncore = 1};
    struct carm_bounds_input in = {.rates = {.model = &model, .theory = &two_stores},
                                   .clock_hz = clock_hz,
                                   .loads = {1.0},
                                   .behind = {1.0},
                                   .stores = {1.0}};
    const struct carm_verdict_code code = {.scalar = true};
    struct carm_bounds b;
    struct carm_verdict v;
    carm_bounds_find(&in, &b);
    carm_verdict_find(&b, 6.2 / clock_hz, 1.0, &code, &v);
    assert_int_equal(v.limit, CARM_LIMIT_FORWARDING);
    assert_true(v.estimate);
    assert_int_equal(v.advice[0].code, CARM_ADVICE_SHIFT);
    carm_verdict_find(&b, 1.0 / clock_hz, 1.0, &code, &v); /* the time refutes it */
    assert_int_not_equal(v.limit, CARM_LIMIT_FORWARDING);
}

TEST(kernel)
{
    struct carm_bounds bounds = {.n = 0};
    struct carm_verdict_code code = {.faults = 0.75};
    struct carm_verdict v;
    carm_bounds_add(&bounds, CARM_LIMIT_KERNEL, 1.0, false, "of page faults");
    carm_verdict_find(&bounds, 1.0, 0.5, &code, &v);
    assert_int_equal(v.limit, CARM_LIMIT_KERNEL);
    assert_int_equal(v.advice[0].code, CARM_ADVICE_FEWER_FAULTS);
    assert_near(v.program.low, 1.0, 1e-9);
    assert_near(v.program.high, 2.0, 1e-9);
    /* the calls for new memory go with its faults: 78% by faults became 10.6 times as fast */
    assert_true(isinf(v.loop.high));
    assert_int_equal(v.nadvice, 1);
    static const struct {
        double faults;
        enum carm_advice_code advice;
    } others[] = {{0.3, CARM_ADVICE_LESS_KERNEL},
                  {NAN, CARM_ADVICE_LESS_KERNEL},
                  {0.05, CARM_ADVICE_FEWER_CALLS}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        code.faults = others[i].faults;
        carm_verdict_find(&bounds, 1.0, 0.5, &code, &v);
        assert_int_equal(v.advice[0].code, others[i].advice);
        assert_true(v.nadvice == 1 && isinf(v.loop.high));
    }
}

/* Bounds of memory with pages of 4 KiB, by a model that has them. */
TEST(small_pages)
{
    struct carm_in_flight flights[] = {
        {.level = "DRAM", .code = "scalar", .page_bytes = 4096, .rate = 1e8},
        {.level = "DRAM", .code = CARM_STREAM_LOADS, .page_bytes = 4096, .rate = 4e8},
        {.level = "DRAM", .code = CARM_STREAM_MIXED, .page_bytes = 4096, .rate = 5e8},
        {.level = "DRAM", .code = "scalar", .page_bytes = 2097152, .rate = 2e8}};
    struct carm_model model = {.in_flight = flights, .nin_flight = 4};
    struct carm_bounds_input in = {.rates.model = &model,
                                   .clock_hz = clock_hz,
                                   .bytes = {[CARM_FROM_DRAM] = 64.0},
                                   .scattered = {[CARM_FROM_DRAM] = 2.0},
                                   .written[CARM_FROM_DRAM] = 0.25};
    const struct carm_verdict_code code = {.scalar = true, .independent = 10e-9};
    struct carm_bounds bounds;
    struct carm_verdict v;
    carm_bounds_find(&in, &bounds);
    const struct carm_lower_bound *stream = bound_of(&bounds, CARM_LIMIT_DRAM, "4 KiB");
    const struct carm_lower_bound *misses = bound_of(&bounds, CARM_LIMIT_LATENCY, "4 KiB");
    assert_non_null(stream);
    assert_near(stream->seconds, 2e-9, 1e-15);
    assert_non_null(misses);
    assert_near(misses->seconds, 20e-9, 1e-15);
    carm_verdict_find(&bounds, 21e-9, 1.0, &code, &v);
    assert_int_equal(v.limit, CARM_LIMIT_LATENCY);
    assert_int_equal(v.advice[v.nadvice - 1].code, CARM_ADVICE_HUGE_PAGES);
    assert_int_equal(v.advice[0].code, CARM_ADVICE_PARTITION); /* all are in flight that can be */
    assert_near(v.advice[1].gain.high, 2.1, 1e-9);             /* with large pages */
    /* faster than such pages allow: it has larger ones, and these bounds do not hold */
    carm_verdict_find(&bounds, 12e-9, 1.0, &code, &v);
    assert_true(v.bounds.of[0].refuted);
    assert_int_equal(v.limit, CARM_LIMIT_LATENCY);
    assert_int_equal(v.nadvice, 1);
    assert_int_equal(v.advice[0].code, CARM_ADVICE_PARTITION);
    /* a fill writes half of its lines: its rate is not the mix's */
    in.scattered[CARM_FROM_DRAM] = 0.0;
    in.written[CARM_FROM_DRAM] = 0.5;
    carm_bounds_find(&in, &bounds);
    assert_null(bound_of(&bounds, CARM_LIMIT_DRAM, "4 KiB"));
    flights[3] = (struct carm_in_flight){
        .level = "DRAM", .code = CARM_STREAM_STORES, .page_bytes = 4096, .rate = 8e8};
    carm_bounds_find(&in, &bounds);
    assert_near(bound_of(&bounds, CARM_LIMIT_DRAM, "4 KiB")->seconds, 1.25e-9, 1e-15);
    in.written[CARM_FROM_DRAM] = 0.375;
    carm_bounds_find(&in, &bounds);
    assert_near(bound_of(&bounds, CARM_LIMIT_DRAM, "4 KiB")->seconds, 0.5 * (1.25e-9 + 2e-9),
                1e-15);
}

/* Beside each miss the more instructions write a register, the fewer misses are in flight. */
TEST(beside_misses)
{
    static const struct {
        double renamed, ns; /* an iteration's, of two misses */
    } cases[] = {{0.0, 16.0},  {4.0, 16.0},  {6.0, 52.0 / 3.0}, {10.0, 20.0},
                 {26.0, 30.0}, {34.0, 40.0}, {100.0, 122.5},    {900.0, 300.0}};
    struct carm_in_flight flights[] = {
        {.level = "DRAM",
         .code = "scalar",
         .page_bytes = 4096,
         .rate = 1 / 8e-9,
         .latency_seconds = 150e-9},
        {.level = "DRAM", .code = "scalar.b4", .page_bytes = 4096, .rate = 1 / 10e-9},
        {.level = "DRAM", .code = "scalar.b8", .page_bytes = 4096, .rate = 1 / 9e-9}, /* noise */
        {.level = "DRAM", .code = "scalar.b16", .page_bytes = 4096, .rate = 1 / 20e-9},
        {.level = "DRAM", .code = "scalar.b32", .page_bytes = 2097152, .rate = 1e12}};
    struct carm_model model = {.in_flight = flights, .nin_flight = 5};
    struct carm_bounds_input in = {.rates.model = &model,
                                   .clock_hz = clock_hz,
                                   .scattered = {[CARM_FROM_DRAM] = 2.0},
                                   .waited = 2.0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_bounds bounds;
        in.renamed = cases[i].renamed;
        carm_bounds_find(&in, &bounds);
        const struct carm_lower_bound *b = bound_of(&bounds, CARM_LIMIT_LATENCY, "4 KiB");
        assert_non_null(b);
        assert_near(b->seconds, 1e-9 * cases[i].ns, 1e-12);
    }
    /* nothing waits for the line of a store */
    struct carm_bounds bounds;
    in.waited = 0.0;
    carm_bounds_find(&in, &bounds);
    assert_near(bound_of(&bounds, CARM_LIMIT_LATENCY, "4 KiB")->seconds, 16e-9, 1e-12);
    in.waited = 1.0;
    in.renamed = 17.0;
    carm_bounds_find(&in, &bounds);
    assert_near(bound_of(&bounds, CARM_LIMIT_LATENCY, "4 KiB")->seconds, 28e-9, 1e-12);
}

/* Lines at random places, ns: loads from L3 1 (with 2 MiB pages 0.5), from memory 10 (5); stores 20 (12), of numbers loaded
 * from there 30, which with 2 MiB pages was not measured. */
TEST(scattered)
{
    enum { HUGE = 2 << 20 };
    static struct carm_in_flight flights[] = {
        {.level = "L3", .code = "scalar", .page_bytes = 4096, .rate = 1e9},
        {.level = "L3", .code = "scalar", .page_bytes = HUGE, .rate = 2e9},
        {.level = "DRAM", .code = "scalar", .page_bytes = 4096, .rate = 1e8},
        {.level = "DRAM", .code = "scalar", .page_bytes = HUGE, .rate = 2e8},
        {.level = "DRAM", .code = CARM_SCATTERED_STORES, .page_bytes = 4096, .rate = 5e7},
        {.level = "DRAM", .code = CARM_SCATTERED_STORES, .page_bytes = HUGE, .rate = 1e9 / 12},
        {.level = "DRAM", .code = CARM_SCATTERED_UPDATES, .page_bytes = 4096, .rate = 1e9 / 30}};
    const struct carm_model model = {.in_flight = flights,
                                     .nin_flight = sizeof flights / sizeof *flights};
    struct carm_bounds_input in = {.rates.model = &model,
                                   .clock_hz = clock_hz,
                                   .scattered = {[CARM_FROM_L3] = 1.0, [CARM_FROM_DRAM] = 4.0},
                                   .overwritten = {[CARM_FROM_DRAM] = 2.0},
                                   .rewritten = {[CARM_FROM_DRAM] = 1.0}};
    const struct carm_verdict_code code = {.scalar = true};
    struct carm_bounds b;
    struct carm_verdict v;
    carm_bounds_find(&in, &b);
    assert_int_equal(b.n, 2);
    assert_true(b.of[0].small_pages && b.of[0].saturated && b.of[1].saturated);
    assert_near(b.of[0].seconds, 81e-9, 1e-15);   /* 1 + 10 + 2 x 20 + 30 */
    assert_near(b.of[1].seconds, 34.5e-9, 1e-15); /* 0.5 + 2 x 5 + 2 x 12 */
    assert_near(b.of[0].huge_seconds, 34.5e-9, 1e-15);
    carm_verdict_find(&b, 90e-9, 1.0, &code, &v);
    assert_int_equal(v.limit, CARM_LIMIT_LATENCY);
    assert_int_equal(v.advice[0].code, CARM_ADVICE_PARTITION);
    assert_int_equal(v.advice[1].code, CARM_ADVICE_HUGE_PAGES);
    assert_near(v.advice[1].gain.high, 90 / 34.5, 1e-9);
}

/* 300 bytes each way between L2 and an L3 of victims, as a stream of loads has them: its 100 GB/s are of what comes. */
TEST(victims)
{
    static struct carm_memory_roof memory[] = {{.level = "L3", .ldst = "1:0", .bandwidth = 100e9},
                                               {.level = "DRAM", .ldst = "1:0", .bandwidth = 10e9}};
    static struct carm_roofs roofs = {.threads = 1, .memory = memory, .nmemory = 2};
    struct carm_bounds_input in = {.clock_hz = clock_hz, .roofs = &roofs, .victims = true};
    struct carm_bounds b;
    in.bytes[CARM_FROM_L3] = 600.0;
    in.bytes[CARM_FROM_DRAM] = 10.0;
    carm_bounds_find(&in, &b);
    assert_near(bound_of(&b, CARM_LIMIT_L3, "L3")->seconds, 3e-9, 1e-15);
    assert_near(bound_of(&b, CARM_LIMIT_DRAM, "DRAM")->seconds, 1e-9, 1e-15);
    in.victims = false;
    carm_bounds_find(&in, &b);
    assert_near(bound_of(&b, CARM_LIMIT_L3, "L3")->seconds, 6e-9, 1e-15);
}

/* A column of a matrix: a load and a store that each need a walk. Walks of 4 KiB pages take 6 and 3 ns, of 2 MiB pages 3
 * and 1; the lines come from L2 in 0.5 ns each. */
TEST(walks)
{
    static struct carm_in_flight flights[] = {
        {.level = CARM_WALK, .code = CARM_WALK_NEAR_LOADS, .page_bytes = 4096, .rate = 1e9 / 4},
        {.level = CARM_WALK, .code = CARM_WALK_FAR_LOADS, .page_bytes = 4096, .rate = 1e9 / 6},
        {.level = CARM_WALK, .code = CARM_WALK_FAR_STORES, .page_bytes = 4096, .rate = 1e9 / 3},
        {.level = CARM_WALK, .code = CARM_WALK_FAR_LOADS, .page_bytes = 2 << 20, .rate = 1e9 / 3},
        {.level = CARM_WALK, .code = CARM_WALK_FAR_STORES, .page_bytes = 2 << 20, .rate = 1e9},
        {.level = "L2", .code = "scalar", .page_bytes = 2 << 20, .rate = 2e9}};
    const struct carm_model model = {.in_flight = flights, .nin_flight = 6};
    struct carm_bounds_input in = {.rates.model = &model,
                                   .clock_hz = clock_hz,
                                   .scattered = {[CARM_FROM_L2] = 2.0},
                                   .walk_loads = {[CARM_WALKS_FAR] = 1.0},
                                   .walk_stores = {[CARM_WALKS_FAR] = 1.0}};
    struct carm_verdict_code code = {.strided = true, .used = 0.125};
    struct carm_bounds bounds;
    struct carm_verdict v;
    carm_bounds_find(&in, &bounds);
    const struct carm_lower_bound *walks = bound_of(&bounds, CARM_LIMIT_TLB, "walks");
    assert_non_null(walks);
    assert_near(walks->seconds, 9e-9, 1e-15);
    assert_near(walks->huge_seconds, 4e-9, 1e-15);
    carm_verdict_find(&bounds, 10e-9, 1.0, &code, &v);
    assert_int_equal(v.limit, CARM_LIMIT_TLB);
    assert_near(v.explains, 0.9, 1e-9);
    assert_int_equal(v.nadvice, 2);
    assert_int_equal(v.advice[0].code, CARM_ADVICE_UNIT_STRIDE);
    assert_int_equal(v.advice[1].code, CARM_ADVICE_HUGE_PAGES);
    assert_near(v.advice[1].gain.low, 2.0, 1e-9); /* 5 ns of 10 go */
    assert_near(v.advice[1].gain.high, 2.5, 1e-9);
    /* too little is explained: the order of the accesses is known all the same */
    carm_verdict_find(&bounds, 20e-9, 1.0, &code, &v);
    assert_int_equal(v.limit, CARM_LIMIT_UNKNOWN);
    assert_int_equal(v.second, CARM_LIMIT_TLB);
    assert_int_equal(v.advice[0].code, CARM_ADVICE_UNIT_STRIDE);
    assert_int_equal(v.advice[1].code, CARM_ADVICE_HUGE_PAGES);
    /* random pages: huge pages alone, with what they leave */
    code.strided = false;
    carm_verdict_find(&bounds, 10e-9, 1.0, &code, &v);
    assert_int_equal(v.nadvice, 1);
    assert_int_equal(v.advice[0].code, CARM_ADVICE_HUGE_PAGES);
    assert_near(v.loop.high, 2.5, 1e-9);
    /* pages side by side; stores of them were not measured */
    in.walk_loads[CARM_WALKS_NEAR] = 1.0;
    in.walk_loads[CARM_WALKS_FAR] = in.walk_stores[CARM_WALKS_FAR] = 0.0;
    carm_bounds_find(&in, &bounds);
    assert_near(bound_of(&bounds, CARM_LIMIT_TLB, "walks")->seconds, 4e-9, 1e-15);
    in.walk_stores[CARM_WALKS_NEAR] = 1.0;
    carm_bounds_find(&in, &bounds);
    assert_null(bound_of(&bounds, CARM_LIMIT_TLB, "walks"));
}

/* A walk to a page far from the last one takes 4 ns among 4096 pages, 5 among 8192, and 12 among 65536: 7/3 more for
 * each time twice as many pages from there on. Pages side by side, of 4096 and 16384: 2 and 6 ns. */
TEST(walks_of_more_pages)
{
    enum { MIB = 1 << 20, SMALL = 4096 };
    static struct carm_in_flight flights[] = {
        {CARM_WALK, CARM_WALK_FAR_LOADS, SMALL, 64 * MIB, .rate = 1e9 / 4},
        {CARM_WALK, CARM_WALK_FAR_MORE_LOADS, SMALL, 128 * MIB, .rate = 1e9 / 5},
        {CARM_WALK, CARM_WALK_WIDE_LOADS, SMALL, 256 * MIB, .rate = 1e9 / 12},
        {CARM_WALK, CARM_WALK_NEAR_LOADS, SMALL, 16 * MIB, .rate = 1e9 / 2},
        {CARM_WALK, CARM_WALK_NEAR_MORE_LOADS, SMALL, 64 * MIB, .rate = 1e9 / 6},
        {CARM_WALK, CARM_WALK_FAR_LOADS, 2 * MIB, 64 * MIB, .rate = 1e9 / 3},
        {CARM_WALK, CARM_WALK_NEAR_LOADS, 2 * MIB, 64 * MIB, .rate = 1e9 / 3}};
    static const struct {
        double pages, near, far, wide; /* ns */
    } cases[] = {{0, 2, 4, 4},      {256, 2, 4, 4},          {4096, 2, 4, 4},
                 {8192, 4, 5, 5},   {16384, 6, 5, 22 / 3.0}, {32768, 6, 5, 29 / 3.0},
                 {65536, 6, 5, 12}, {999999, 6, 5, 12}};
    const struct carm_model model = {.in_flight = flights, .nin_flight = 7};
    struct carm_model few = {.in_flight = flights, .nin_flight = 1}; /* of an earlier version */
    struct carm_bounds_input in = {.clock_hz = clock_hz};
    struct carm_bounds bounds;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double told[CARM_BOUNDS_WALKS] = {cases[i].near, cases[i].far, cases[i].wide};
        in.pages = cases[i].pages;
        for (int k = 0; k < CARM_BOUNDS_WALKS; k++) {
            memset(in.walk_loads, 0, sizeof in.walk_loads);
            in.walk_loads[k] = 0.5;
            in.rates.model = &model;
            carm_bounds_find(&in, &bounds);
            const struct carm_lower_bound *b =
                bound_of(&bounds, CARM_LIMIT_TLB, "0.5 loads and 0 ");
            assert_non_null(b);
            assert_near(b->seconds, 0.5e-9 * told[k], 1e-15);
            assert_near(b->huge_seconds, 1.5e-9, 1e-15);
        }
        in.rates.model = &few;
        carm_bounds_find(&in, &bounds);
        assert_near(bound_of(&bounds, CARM_LIMIT_TLB, "walks")->seconds, 2e-9, 1e-15);
    }
}

/* Lines 4096 bytes apart: 14 ns each from memory, 3 from L2. */
TEST(aliased)
{
    static struct carm_in_flight flights[] = {
        {.level = "DRAM", .code = "scalar", .page_bytes = 4096, .rate = 1e9 / 9},
        {.level = "L2", .code = CARM_ALIASED_LOADS, .page_bytes = 4096, .rate = 1e9 / 3},
        {.level = "DRAM", .code = CARM_ALIASED_LOADS, .page_bytes = 4096, .rate = 1e9 / 14},
        {.level = "DRAM", .code = CARM_ALIASED_UPDATES, .page_bytes = 4096, .rate = 1e9 / 20}};
    const struct carm_model model = {.in_flight = flights, .nin_flight = 4};
    struct carm_bounds_input in = {.rates.model = &model,
                                   .clock_hz = clock_hz,
                                   .scattered = {[CARM_FROM_DRAM] = 1.0},
                                   .aliased = {[CARM_FROM_L2] = 1.0, [CARM_FROM_DRAM] = 1.0}};
    const struct carm_verdict_code code = {.strided = true, .used = 0.125};
    struct carm_bounds bounds;
    struct carm_verdict v;
    carm_bounds_find(&in, &bounds);
    assert_true(bounds.of[0].aliased);
    assert_near(bounds.of[0].seconds, 17e-9, 1e-15);
    carm_verdict_find(&bounds, 18e-9, 1.0, &code, &v);
    assert_int_equal(v.limit, CARM_LIMIT_LATENCY);
    assert_int_equal(v.advice[0].code, CARM_ADVICE_UNIT_STRIDE);
    assert_int_equal(v.advice[1].code, CARM_ADVICE_PAD);
    in.updated = 0.5; /* of those of L2 no such rate is known */
    carm_bounds_find(&in, &bounds);
    assert_near(bounds.of[0].seconds, 20e-9, 1e-15);
}
