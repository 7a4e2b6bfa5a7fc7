/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a build foresees: its seconds, roofs and repetitions, on synthetic machines, worked out by hand. */
#include "harness/machine/search.h"
#include "tests/topo.h"
#include "validation/latency/latency.h"
#include "validation/roofs/ceilings.h"
#include "validation/roofs/levels.h"
#include "validation/roofs/numa.h"
#include "validation/roofs/plan.h"
#include "validation/roofs/run.h"

static const char four_cores[] = "pack:1 l3:1(size=33554432) core:4 l2:1(size=1048576) "
                                 "l1:1(size=49152) pu:1";
static const char two_nodes[] = "pack:2 [numa(memory=1GB)] l3:1(size=33554432) core:2 "
                                "l2:1(size=1048576) l1:1(size=49152) pu:1";

static struct carm_build_config config;
static struct carm_cpu cpu;
static struct carm_topo *topo;

/* Words that are not given: one thread, dp, fma, 2:1, 1 GiB, ten minutes, no latencies. */
static struct carm_build_outlook foresee_on(const char *machine, struct carm_build_words w)
{
    struct carm_build_outlook out;
    topo = topo_of(machine, NULL);
    cpu = (struct carm_cpu){.fma = true};
    cpu.isa[CARM_SCALAR] = cpu.isa[CARM_SSE] = cpu.isa[CARM_AVX] = cpu.isa[CARM_AVX2] = true;
    w.threads = w.threads ? w.threads : "1";
    w.ops = w.ops ? w.ops : "fma";
    w.ldst = w.ldst ? w.ldst : "2:1";
    w.memory = w.memory ? w.memory : "1G";
    w.budget = w.budget ? w.budget : "600";
    w.latency = w.latency ? w.latency : "no";
    assert_ok(carm_build_configure(&config, &w, &cpu, topo, &err));
    const struct carm_host host = {.cpu = cpu, .topo = topo};
    carm_build_foresee(&config, &host, &out);
    return out;
}

static struct carm_build_outlook foresee(struct carm_build_words w)
{
    return foresee_on(four_cores, w);
}

/* Seconds of a repetition: of a core's own levels and computation 6 us, of L3 9, of memory 20, and 1 us beside it. All
 * levels together: */
static const double core = 7e-6, levels = 7e-6 + 7e-6 + 10e-6 + 21e-6;
static const double curve_point = 8e-6;
enum { SEARCH = 3000 }; /* repetitions of a roof's search */

/* A sweep from 2 KiB to 512 MiB, 18 octaves of 3 points of 4 x 512 repetitions; four roofs of memory and one of
 * computation, with 8192 repetitions. */
TEST(one_roof_of_each_level)
{
    const struct carm_build_outlook o =
        foresee((struct carm_build_words){.isa = "avx2", .precision = "dp"});
    const double sweep = 18 * 3 * (4 * 512) * curve_point;
    assert_near(o.seconds, sweep + (8192 + SEARCH) * (core + levels), 1e-9);
    assert_near(o.most_seconds, 600.0, 0.0);
    assert_int_equal(o.reps, 8192);
    assert_int_equal(o.roofs, 5);
    assert_int_equal(o.scaling.n, 0);
}

/* Of --levels, the roofs, the scaling and the sweep, which ends at 2.5 times the last of the caches, or in memory. */
TEST(levels_that_are_asked_for)
{
    static const struct {
        const char *levels;
        size_t roofs;
        double mib, each; /* end of the sweep; seconds of a repetition of all levels */
    } rows[] = {{"L1", 2, 0.1171875, 7e-6}, {"L1,L2", 3, 2.5, 14e-6}, {"L2", 2, 2.5, 7e-6},
                {"L3", 2, 80.0, 10e-6},     {"DRAM", 2, 512, 21e-6},  {"L3,DRAM", 3, 512, 31e-6},
                {NULL, 5, 512, 45e-6}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct carm_build_outlook o = foresee((struct carm_build_words){
            .isa = "avx2", .precision = "dp", .levels = rows[i].levels, .scaling = "yes"});
        assert_int_equal(o.roofs, rows[i].roofs);
        const double scaling = 2048 * (core + rows[i].each) + rows[i].mib * (1 << 20) / 2e9;
        assert_near(o.scaling.seconds, scaling, 1e-9);
        assert_near(o.seconds,
                    log2(rows[i].mib * 512) * 3 * (4 * 512) * curve_point +
                        (8192 + SEARCH) * (core + rows[i].each) + scaling,
                    1e-6);
    }
}

/* Narrower ISAs beside the widest: 4 rounds of 512, half of the search, and no updates; non-temporal stores for the
 * widest alone, in memory. A precision beside the leading one has computation alone, and of that mad only without fma. */
TEST(less_beside_the_widest)
{
    struct carm_build_outlook o =
        foresee((struct carm_build_words){.precision = "dp", .ldst = "2:1,update,nt"});
    const double sweep = 18 * 3 * (4 * 512) * curve_point;
    const double all = 8192 + SEARCH, few = 0.5 * 4 * 512 + 0.5 * SEARCH;
    assert_int_equal(config.nisas, 3);
    assert_near(o.seconds, sweep + all * (core + 2 * levels + 21e-6) + 2 * few * (core + levels),
                1e-9);
    assert_int_equal(o.roofs, 1 + 9 + 2 * 5);
    o = foresee((struct carm_build_words){.isa = "avx2", .ops = "fma,mad"});
    assert_near(o.seconds, sweep + all * (2 * core + levels) + 2 * (0.5 * 4 * 512) * core, 1e-9);
    assert_int_equal(o.roofs, 4 + 2 + 1);
    o = foresee((struct carm_build_words){.isa = "scalar", .precision = "dp,sp", .ops = "add"});
    assert_int_equal(o.roofs, 2 * 5); /* both are asked for */
    o = foresee((struct carm_build_words){.isa = "scalar", .ops = "add"});
    assert_int_equal(o.roofs, 5); /* no scalar sp beside dp */
}

/* Buffers of one and of four threads share 768 MiB: the first thread keeps one of its own, the others a quarter each. */
TEST(each_number_of_threads_is_swept)
{
    const struct carm_build_outlook o = foresee((struct carm_build_words){
        .isa = "avx2", .precision = "dp", .threads = "1,4", .memory = "768M"});
    const double octaves = 2 * (18 + log2(1.5 / 1.75)) - 2; /* the second sweep begins at 8 KiB */
    assert_near(o.seconds,
                octaves * 3 * (4 * 512) * curve_point + 2 * (8192 + SEARCH) * (core + levels),
                1e-6);
    assert_int_equal(o.roofs, 10);
}

/* Repetitions of a short time are those that half of what ceilings, scaling and latencies leave is enough for. */
static void check_reps(const struct carm_build_outlook *o, double seconds, double reserved,
                       double estimate, size_t asked)
{
    const double reps = 0.5 * (seconds - reserved) / estimate * (double)asked;
    assert_near((double)o->reps, floor(reps), 1.0);
    assert_near(o->most_seconds, seconds, 0.0);
}

TEST(a_short_time_has_fewer_repetitions)
{
    static const char *const budgets[] = {"5", "40", "100", "300"};
    const struct carm_build_words words = {.isa = "avx2", .precision = "dp", .reps = "1000000"};
    struct carm_build_words w = words;
    w.budget = "86400";
    const double all = foresee(w).seconds;
    assert_near(all, 18 * 3 * 250000 * curve_point + (1e6 + SEARCH) * (core + levels), 1e-6);
    w.scaling = "yes";
    const struct carm_build_outlook scaled = foresee(w);
    const double scaling = scaled.scaling.seconds;
    /* 1, 2 and 4 threads: a quarter of the repetitions, and first touches of 512 MiB at 2 GB/s */
    assert_int_equal(scaled.scaling.n, 1);
    assert_near(scaling, 250000 * (core + levels) + 0.5 * 0.536870912, 1e-6);
    assert_near(scaled.seconds, all + scaling, 1e-6);
    w.scaling = NULL;
    w.ceilings = "mix";
    const double ceilings = foresee(w).seconds - all;
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        const double b = atof(budgets[i]);
        w = words;
        w.budget = budgets[i];
        struct carm_build_outlook o = foresee(w);
        check_reps(&o, b, 0.0, all, 1000000);
        w.scaling = "yes";
        o = foresee(w);
        check_reps(&o, b, fmin(fmax(2.0 * scaling, CARM_BUDGET_SCALING), 0.4 * b), all + scaling,
                   1000000);
        w.scaling = NULL;
        w.ceilings = "mix";
        o = foresee(w);
        check_reps(&o, b, fmin(fmax(2.0 * ceilings, CARM_BUDGET_CEILINGS), 0.4 * b), all + ceilings,
                   1000000);
    }
    w = words;
    w.budget = "1"; /* raised to 5 s */
    const struct carm_build_outlook least = foresee(w);
    check_reps(&least, 5.0, 0.0, all, 1000000);
}

/* Latencies take twice their estimate, and memory domains theirs, where these are less than half of the time. */
TEST(latencies_have_their_part)
{
    const struct carm_latency_options options = {.quick = false};
    const double latency = carm_latency_seconds(&options), numa = 0.5 * 2 * 2;
    const double wanted = 2.0 * latency + numa;
    const double budgets[] = {10.0, 20.0, 30.0, 60.0, wanted / 0.505};
    struct carm_build_words w = {
        .isa = "avx2", .precision = "dp", .reps = "1000000", .budget = "86400"};
    const double all = foresee_on(two_nodes, w).seconds;
    w.scaling = "yes";
    const double scaling = foresee_on(two_nodes, w).scaling.seconds;
    w.scaling = NULL;
    w.latency = "yes";
    assert_near(foresee_on(two_nodes, w).seconds, all + latency + numa, 1e-6);
    assert_near(foresee(w).seconds -
                    foresee_on(four_cores, (struct carm_build_words){.isa = "avx2",
                                                                     .precision = "dp",
                                                                     .reps = "1000000",
                                                                     .budget = "86400"})
                        .seconds,
                latency, 1e-6);
    size_t with = 0;
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        char budget[32];
        (void)snprintf(budget, sizeof budget, "%.6f", budgets[i]);
        const double b = atof(budget), part = wanted < 0.5 * b ? wanted : 0.0;
        w.budget = budget;
        w.scaling = NULL;
        struct carm_build_outlook o = foresee_on(two_nodes, w);
        check_reps(&o, b, part, all, 1000000);
        w.scaling = "yes";
        o = foresee_on(two_nodes, w);
        check_reps(&o, b, part + fmin(fmax(2.0 * scaling, CARM_BUDGET_SCALING), 0.4 * (b - part)),
                   all + scaling, 1000000);
        with += wanted < 0.5 * b ? 1 : 0;
    }
    assert_in_range(with, 1, 3);
}

/* 64 repetitions at least, or as few as were asked for. */
TEST(fewest_repetitions)
{
    static const struct {
        const char *reps;
        size_t planned;
    } rows[] = {{"16", 16}, {"63", 63}, {"64", 64}, {"200", 64}, {"1000", 64}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        /* all roofs of all ISAs in 5 s, of which ceilings and scaling may take four fifths */
        const struct carm_build_outlook o =
            foresee((struct carm_build_words){.reps = rows[i].reps,
                                              .budget = "5",
                                              .ops = "fma,add,mul,div,sqrt,mad,fma+add,2fma+add",
                                              .ldst = "2:1,1:1,1:0,0:1,update,2:1update,nt",
                                              .threads = "1,2,3,4",
                                              .ceilings = "",
                                              .scaling = "yes"});
        fail_if(o.reps != rows[i].planned, "%s: %zu", rows[i].reps, o.reps);
    }
}

/* Each ceiling's candidates are searched with 900 repetitions each; those with fewer threads and with small sets run the
 * best code again. */
TEST(ceilings_take_their_time)
{
    static const char *const groups[] = {"in-core", "mix", "memory", "busy", "traffic"};
    for (size_t g = 0; g < 5; g++) {
        struct carm_ceiling_point points[CARM_CEILING_POINTS_MAX];
        (void)foresee((struct carm_build_words){
            .isa = "avx2", .precision = "dp", .ceilings = groups[g], .threads = "4"});
        const struct carm_build build = {
            .config = &config, .cpu = &cpu, .topo = topo, .reps = 1000};
        const size_t n = carm_ceilings_plan(&config, &cpu, points);
        const double one_core = 1000 + 900, again_core = one_core * core;
        double wanted = g == 2   ? 2 * one_core * 21e-6
                        : g == 3 ? 2 * again_core
                        : g == 4 ? 2 * one_core * 21e-6
                                 : 0.0; /* of 2 threads and of 1 */
        for (size_t i = 0; i < n; i++) {
            wanted += (1000.0 + 900.0 * (double)points[i].ncodes) *
                      (points[i].place == CARM_CEILING_CORE ? core : 21e-6);
        }
        assert_true(g == 3 ? n == 0 : n > 0);
        assert_near(carm_build_ceilings_seconds(&build, 4), wanted, 1e-9);
    }
}

/* Of many repetitions, a sweep has a quarter in four rounds; of few, as many as there are, down to 4 x 32. */
TEST(sweeps_have_four_rounds)
{
    static const struct {
        size_t reps, each;
    } rows[] = {{1, 32},     {128, 32},   {129, 33},   {400, 100},  {512, 128},
                {1024, 128}, {2048, 128}, {2049, 129}, {8192, 512}, {8193, 513}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t each = 0;
        assert_int_equal(carm_build_sweep_rounds(rows[i].reps, &each), 4);
        assert_int_equal(each, rows[i].each);
    }
}
