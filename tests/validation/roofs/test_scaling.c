/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a build with --scaling measures on synthetic machines: numbers of threads, layouts, working sets. */
#include "harness/place/place.h"
#include "tests/topo.h"
#include "validation/roofs/scaling.h"

enum { MIB = 1 << 20 };

/* Two sockets of two L3 of four cores of two hardware threads. */
static const char two_sockets[] = "pack:2 [numa(memory=1GB)] l3:2(size=32MB) core:4 "
                                  "l2:1(size=1MB) l1:1(size=32KB) pu:2";
static const char one_l3[] =
    "pack:1 [numa(memory=1GB)] l3:1(size=32MB) core:8 l2:1(size=1MB) l1:1(size=32KB) pu:1";
static const char no_cache[] = "pack:1 [numa(memory=1GB)] core:4 pu:1";

static void plan(struct carm_topo *topo, const char *threads, struct carm_scaling_plan *out)
{
    struct carm_build_config config = {
        .memory_bytes = 64 * MIB, .reps = 8192, .levels = {.n = 2, .names = {"L1", "DRAM"}}};
    struct carm_build build = {.config = &config, .topo = topo, .reps = 8192};
    assert_ok(
        carm_topo_threads(topo, threads, config.threads, CARM_LIST_MAX, &config.nthreads, &err));
    carm_build_plan_scaling(&build, out);
}

/* Seconds: 2048 repetitions of 6 us (peak), 6 (L1) and 20 (DRAM), with 1 us between them, in each run and in at most four
 * runs more; 64 MiB that are touched at 2 GB/s; both twice where threads are spread, too. */
TEST(first_numbers_are_places)
{
    struct carm_topo *t = topo_of(two_sockets, NULL);
    struct carm_scaling_plan p;
    const int sixteen[] = {1, 2, 4, 8, 16};
    plan(t, "1,cores", &p);
    assert_int_equal(p.n, 5);
    assert_memory_equal(p.steps, sixteen, sizeof sixteen);
    assert_true(p.spread);
    assert_near(p.seconds, 2 * (9 * 2048 * 35e-6 + 64 * MIB / 2e9), 1e-9);
    plan(t, "6,all", &p); /* second hardware threads where they are asked for */
    const int all[] = {1, 2, 4, 6, 8, 16, 32};
    assert_int_equal(p.n, 7);
    assert_memory_equal(p.steps, all, sizeof all);
    assert_near(p.seconds, 1.6560250406, 1e-9);
    t = topo_of(one_l3, NULL);
    plan(t, "1,cores", &p);
    assert_false(p.spread); /* the same CPUs */
    assert_near(p.seconds, 0.6069944319, 1e-9);
    t = topo_of(two_sockets, NULL);
    plan(t, "1/l3", &p); /* one layout, its own */
    const int four[] = {1, 2, 4};
    assert_int_equal(p.n, 3);
    assert_memory_equal(p.steps, four, sizeof four);
    assert_false(p.spread);
    assert_near(p.seconds, 0.3454402560, 1e-9);
}

TEST(spread_goes_round)
{
    struct carm_topo *t = topo_of(two_sockets, NULL);
    int order[32];
    const int first[] = {0, 16, 8, 24, 2, 18, 10, 26};
    assert_int_equal(carm_topo_spread(t, order), 0);
    assert_memory_equal(order, first, sizeof first);
    assert_int_equal(t->order[1], 2); /* as it was */
}

/* A working set fills each cache, and memory beyond it, as that of the roof does. */
TEST(sets_fill_caches_alike)
{
    struct carm_topo *t = topo_of(two_sockets, NULL);
    struct carm_topo spread = *t;
    int order[32];
    const size_t l3 = 2;
    const size_t dram = 3;
    assert_int_equal(carm_topo_spread(t, order), 0);
    spread.order = order;
    /* of the roof's four threads on an L3: 4 MiB each */
    assert_int_equal(carm_scaling_set(t, t, l3, 4 * MIB, 16, 16), 4 * MIB);
    assert_int_equal(carm_scaling_set(t, t, l3, 4 * MIB, 16, 4), 4 * MIB);
    assert_int_equal(carm_scaling_set(t, t, l3, 4 * MIB, 16, 2), 8 * MIB);
    assert_int_equal(carm_scaling_set(t, t, l3, 4 * MIB, 16, 1), 16 * MIB);
    assert_int_equal(carm_scaling_set(&spread, t, l3, 4 * MIB, 16, 4), 16 * MIB);
    assert_int_equal(carm_scaling_set(&spread, t, dram, 32 * MIB, 16, 8), 64 * MIB);
    /* of one thread's roof */
    assert_int_equal(carm_scaling_set(t, t, dram, 128 * MIB, 1, 4), 32 * MIB);
    t = topo_of(no_cache, NULL);
    assert_int_equal(carm_scaling_set(t, t, 0, 8 * MIB, 4, 2), 16 * MIB);
}
