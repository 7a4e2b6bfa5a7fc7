/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The runtime-oriented ceilings in closed form: made-up machines with round rates. */
#include "models/place/runtime.h"
#include "tests/unit.h"

enum { DP = CARM_RUNMIX_DP, SP = CARM_RUNMIX_SP };

/* Peak 80 (fma), add and mul 40 flop/s; avx2 beside it with 50; DRAM 12 byte/s. */
static struct carm_compute_roof wide[] = {
    {.op = "fma", .rate = 80}, {.op = "add", .rate = 40}, {.op = "mul", .rate = 40}};
static struct carm_compute_roof narrow[] = {{.op = "fma", .rate = 50}};
static struct carm_ceiling_roof ceilings[] = {
    {.group = CARM_CEILING_IN_CORE, .name = "tlp add", .rate = 1},
    {.group = CARM_CEILING_IN_CORE, .name = "ilp add", .rate = 5},
    {.group = CARM_CEILING_IN_CORE, .name = "ilp fma", .rate = 8},
    {.group = CARM_CEILING_IN_CORE, .name = "simd16 add", .rate = 10},
    {.group = CARM_CEILING_IN_CORE, .name = "simd16 fma", .rate = 20},
    {.group = CARM_CEILING_IN_CORE, .name = "simd32 fma", .rate = 0, .note = "not measured"},
    {.group = CARM_CEILING_MIX, .name = "fp 1/2", .rate = 60},
    {.group = CARM_CEILING_MIX, .name = "fp 1", .rate = 80},
    {.group = CARM_CEILING_MIX, .name = "fp 1/4", .rate = 30},
    {.group = CARM_CEILING_MEMORY, .name = "dot", .rate = 11},
    {.group = CARM_CEILING_MEMORY, .name = "small set", .rate = 15},
    {.group = CARM_CEILING_MEMORY, .name = "dot no-prefetch", .rate = 9},
};
enum { NCEILINGS = sizeof ceilings / sizeof *ceilings };
static struct carm_roofs sets[2];
static struct carm_model model;
static struct carm_runmix mix;
static struct carm_runtime found;

static int set_up(void **state)
{
    sets[0] = (struct carm_roofs){.isa = "avx512",
                                  .precision = "dp",
                                  .threads = 1,
                                  .compute = wide,
                                  .ncompute = 3,
                                  .dram_peak = {.bandwidth = 12, .code = "A"},
                                  .ceilings = ceilings,
                                  .nceilings = NCEILINGS};
    sets[1] = (struct carm_roofs){
        .isa = "avx2", .precision = "dp", .threads = 1, .compute = narrow, .ncompute = 1};
    model = (struct carm_model){.roofs = sets, .nroofs = 2};
    for (int i = 0; i < CARM_RUNMIX_COUNT; i++) {
        mix.q[i] = -1.0;
    }
    return 0;
}

static const struct carm_runtime_ceiling *find(enum carm_runtime_kind kind, double flops)
{
    carm_runtime_find(&model, &sets[0], &mix, flops, &found);
    return &found.ceilings[kind];
}

#define assert_rate(c, want)                       \
    do {                                           \
        assert_true((c)->known);                   \
        assert_near((c)->rate, want, 1e-9);        \
        assert_near((c)->gain, 80 / (want), 1e-9); \
    } while (0)

TEST_BETWEEN(all_or_nothing_in_vectors, set_up, NULL)
{
    mix.q[DP] = 100;
    const struct carm_runtime_ceiling *c = find(CARM_RUNTIME_SIMD, 100);
    assert_rate(c, 8.0); /* the scalar ceiling, the better one of add and fma */
    assert_near(c->share, 0, 0);
    assert_string_equal(c->name, "SIMD as run: 0% of flops in vectors");
    assert_string_equal(c->step, "vectorise");
    mix.q[DP] = 0;
    mix.q[DP + 3] = 100;
    c = find(CARM_RUNTIME_SIMD, 100);
    assert_rate(c, 80.0);
    assert_near(c->share, 1, 0);
}

/* 1 / (0.5 / 8 + 0.25 / 20 + 0.25 / 50): scalar and sse from the ceilings, avx2 from its roofs */
TEST_BETWEEN(widths_add_their_times, set_up, NULL)
{
    mix.q[DP] = 50;
    mix.q[DP + 1] = 25;
    mix.q[DP + 2] = 25;
    const struct carm_runtime_ceiling *c = find(CARM_RUNTIME_SIMD, 100);
    assert_rate(c, 1 / (0.5 / 8 + 0.25 / 20 + 0.25 / 50));
    assert_near(c->share, 0.5, 1e-12);
    assert_string_equal(c->how, "scalar 50%, 16 bytes 25%, 32 bytes 25% of its dp flops; rates: "
                                "in-core ceilings, narrower ISAs, the peak");
    assert_string_equal(c->brief, "SIMD share 50%");
}

TEST_BETWEEN(without_ceilings_lanes_scale, set_up, NULL)
{
    sets[0].nceilings = 0;
    mix.q[DP] = 100;
    assert_rate(find(CARM_RUNTIME_SIMD, 100), 80.0 / 8);
    assert_non_null(strstr(found.ceilings[0].how, "the peak scaled by lanes"));
    (void)strcpy(sets[1].isa, "sse"); /* measured: no lanes */
    mix.q[DP] = 0;
    mix.q[DP + 1] = 100;
    assert_rate(find(CARM_RUNTIME_SIMD, 100), 50.0);
    sets[1].threads = 2; /* another set's */
    assert_rate(find(CARM_RUNTIME_SIMD, 100), 80.0 / 4);
    /* wider than the roofs: the peak */
    (void)strcpy(sets[0].isa, "avx2");
    mix.q[DP + 1] = 0;
    mix.q[DP + 3] = 100;
    assert_rate(find(CARM_RUNTIME_SIMD, 100), 80.0);
}

/* 16 flops a cycle are one FMA of 8 lanes: cores that split it, or fuse two units for it, start two of the
 * narrower ones. 32 are two. */
TEST_BETWEEN(one_wide_instruction_a_cycle, set_up, NULL)
{
    struct carm_compute_roof fma[] = {{.op = "fma", .rate = 80, .flops_per_cycle = 15.9}};
    sets[0].compute = fma;
    sets[0].ncompute = 1;
    sets[0].nceilings = 0;
    model.nroofs = 1;
    mix.q[DP + 2] = 100;
    assert_near(find(CARM_RUNTIME_SIMD, 100)->rate, 80, 1e-9);
    mix.q[DP + 2] = 0;
    mix.q[DP] = 100;
    assert_near(find(CARM_RUNTIME_SIMD, 100)->rate, 80.0 / 4, 1e-9);
    fma[0].flops_per_cycle = 32;
    assert_near(find(CARM_RUNTIME_SIMD, 100)->rate, 80.0 / 8, 1e-9);
}

TEST_BETWEEN(unknown_widths_are_not_guessed, set_up, NULL)
{
    assert_false(find(CARM_RUNTIME_SIMD, 100)->known);
    mix.q[DP + 2] = 98; /* 2% of the flops have no width */
    assert_false(find(CARM_RUNTIME_SIMD, 100)->known);
    mix.q[CARM_RUNMIX_OTHER] = 1.5;
    assert_true(find(CARM_RUNTIME_SIMD, 100)->known);
    mix.q[DP + 2] = 0;
    mix.q[SP + 2] = 100;
    assert_false(find(CARM_RUNTIME_SIMD, 100)->known);
    assert_non_null(strstr(found.ceilings[0].how, "none of its flops have the roofs' precision"));
}

static void put_ops(double fp, double adds, double muls, double fmas)
{
    mix.q[CARM_RUNMIX_FP] = fp;
    mix.q[CARM_RUNMIX_ADDS] = adds;
    mix.q[CARM_RUNMIX_MULS] = muls;
    mix.q[CARM_RUNMIX_FMAS] = fmas;
}

TEST_BETWEEN(kinds_add_their_times, set_up, NULL)
{
    put_ops(10, 0, 0, 10);
    assert_rate(find(CARM_RUNTIME_BALANCE, 20), 80.0);
    put_ops(10, 10, 0, 0);
    assert_rate(find(CARM_RUNTIME_BALANCE, 10), 40.0);
    put_ops(10, 4, 2, 4); /* 14 flops: 8 / 80 + 6 / 40 */
    assert_rate(find(CARM_RUNTIME_BALANCE, 14), 14 / (8.0 / 80 + 6.0 / 40));
    assert_near(found.ceilings[CARM_RUNTIME_BALANCE].share, 8.0 / 14, 1e-12);
    put_ops(12, 4, 2, 4); /* two divisions stand as adds */
    assert_rate(find(CARM_RUNTIME_BALANCE, 16), 16 / (8.0 / 80 + 8.0 / 40));
}

TEST_BETWEEN(pairs_have_the_rate_of_mad, set_up, NULL)
{
    static struct carm_compute_roof roofs[] = {{.op = "fma", .rate = 80},
                                               {.op = "mad", .rate = 60},
                                               {.op = "add", .rate = 40},
                                               {.op = "mul", .rate = 40}};
    sets[0].compute = roofs;
    sets[0].ncompute = 4;
    put_ops(10, 6, 4, 0); /* four pairs, two adds */
    assert_rate(find(CARM_RUNTIME_BALANCE, 10), 10 / (8.0 / 60 + 2.0 / 40));
    sets[0].ncompute = 3; /* no mul: pairs do without it, more multiplies do not */
    assert_rate(find(CARM_RUNTIME_BALANCE, 10), 10 / (8.0 / 60 + 2.0 / 40));
    put_ops(10, 4, 6, 0);
    assert_false(find(CARM_RUNTIME_BALANCE, 10)->known);
    put_ops(10, -1, 6, 0);
    assert_false(find(CARM_RUNTIME_BALANCE, 10)->known);
    assert_non_null(strstr(found.ceilings[1].how, "were not counted separately"));
}

/* mad twice as fast as add: adds have their own units, and go on beside multiplies and FMAs. */
TEST_BETWEEN(adds_beside_the_rest, set_up, NULL)
{
    static struct carm_compute_roof roofs[] = {{.op = "fma", .rate = 80},
                                               {.op = "mad", .rate = 80},
                                               {.op = "add", .rate = 40},
                                               {.op = "mul", .rate = 40}};
    sets[0].compute = roofs;
    sets[0].ncompute = 4;
    put_ops(10, 5, 0, 5); /* 15 flops in 0.125 s: more than the peak, which is 80 */
    assert_rate(find(CARM_RUNTIME_BALANCE, 15), 80.0);
    put_ops(10, 6, 2, 2); /* adds take 0.15 s, the rest 0.1 s */
    assert_rate(find(CARM_RUNTIME_BALANCE, 12), 12 / 0.15);
    put_ops(10, 8, 1, 1);
    assert_rate(find(CARM_RUNTIME_BALANCE, 11), 11 / 0.2);
    /* with a roof of FMAs and adds in turn a program's own mix reaches it, and FMAs alone have
     * nothing to gain */
    static struct carm_compute_roof mixed[] = {{.op = "fma", .rate = 80},
                                               {.op = "mad", .rate = 80},
                                               {.op = "add", .rate = 40},
                                               {.op = "mul", .rate = 40},
                                               {.op = "fma+add", .rate = 120}};
    sets[0].compute = mixed;
    sets[0].ncompute = 5;
    put_ops(10, 5, 0, 5);
    assert_near(find(CARM_RUNTIME_BALANCE, 15)->rate, 120.0, 1e-12);
    assert_near(found.ceilings[CARM_RUNTIME_BALANCE].gain, 1.0, 1e-12);
    put_ops(10, 0, 0, 10);
    assert_rate(find(CARM_RUNTIME_BALANCE, 20), 80.0);
    assert_near(found.ceilings[CARM_RUNTIME_BALANCE].gain, 1.0, 1e-12);
    put_ops(10, 10, 0, 0);
    assert_rate(find(CARM_RUNTIME_BALANCE, 10), 40.0);
    assert_near(found.ceilings[CARM_RUNTIME_BALANCE].gain, 2.0, 1e-12);
}

TEST_BETWEEN(nature_of_a_kernel, set_up, NULL)
{
    assert_false(carm_runmix_is_balanced(&mix));
    put_ops(10, 5, 5, 0);
    assert_true(carm_runmix_is_balanced(&mix));
    put_ops(10, 7, 3, 0);
    assert_false(carm_runmix_is_balanced(&mix));
    put_ops(10, 0, 0, 10);
    assert_true(carm_runmix_is_balanced(&mix));
    put_ops(10, 0, 0, 0);
    assert_false(carm_runmix_is_balanced(&mix));
}

TEST_BETWEEN(shares_of_floating_point, set_up, NULL)
{
    const struct {
        double share, rate;
    } want[] = {
        {1, 80},
        {0.5, 60},
        {0.25, 30},
        {0.125, 15},
        {0.01, 1.2},
        /* time of a flop goes with 1 / share: between 2 and 4 at 3, between 1 and 2 at 1.6 */
        {1.0 / 3, 1 / (0.5 / 60 + 0.5 / 30)},
        {1 / 1.6, 1 / (0.4 / 80 + 0.6 / 60)}};
    mix.q[CARM_RUNMIX_INSTRUCTIONS] = 1000;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        mix.q[CARM_RUNMIX_FP] = 1000 * want[i].share;
        assert_rate(find(CARM_RUNTIME_FP_SHARE, 1), want[i].rate);
    }
    mix.q[CARM_RUNMIX_FP] = 0;
    assert_false(find(CARM_RUNTIME_FP_SHARE, 1)->known);
    mix.q[CARM_RUNMIX_FP] = 100;
    sets[0].nceilings = 6; /* those in the core alone */
    assert_false(find(CARM_RUNTIME_FP_SHARE, 1)->known);
    assert_non_null(strstr(found.ceilings[2].how, "carm build --ceilings"));
}

TEST_BETWEEN(prefetches, set_up, NULL)
{
    mix.q[CARM_RUNMIX_LOADS] = 1000;
    assert_false(find(CARM_RUNTIME_PREFETCH, 1)->known);
    mix.q[CARM_RUNMIX_PREFETCHES] = 9;
    const struct carm_runtime_ceiling *c = find(CARM_RUNTIME_PREFETCH, 1);
    assert_true(c->known && c->memory);
    assert_near(c->rate, 9, 0);
    assert_near(c->gain, 12.0 / 9, 1e-12);
    mix.q[CARM_RUNMIX_PREFETCHES] = 10;
    c = find(CARM_RUNTIME_PREFETCH, 1);
    assert_near(c->rate, 12, 0);
    assert_non_null(strstr(c->name, "present"));
    sets[0].dram_peak.bandwidth = 0; /* the best of the ceilings stands for it */
    assert_near(find(CARM_RUNTIME_PREFETCH, 1)->rate, 11, 0);
    sets[0].nceilings = 0;
    assert_false(find(CARM_RUNTIME_PREFETCH, 1)->known);
}

/* The SIMD ceiling of 8 against a roof of 80, and of 40 further left. */
TEST_BETWEEN(what_it_gives_at_a_place, set_up, NULL)
{
    struct carm_place p = {.intensity = 10, .performance = 5, .roof = 80, .above = 0};
    mix.q[DP] = 100;
    const struct carm_runtime_ceiling *c = find(CARM_RUNTIME_SIMD, 100);
    assert_near(carm_runtime_times(c, CARM_PLACE_ORIGINAL, &p), 10, 1e-12);
    assert_near(carm_runtime_times(c, CARM_PLACE_CACHE_AWARE, &p), 10, 1e-12);
    p.roof = 40;
    assert_near(carm_runtime_times(c, CARM_PLACE_ORIGINAL, &p), 5, 1e-12);
    p.performance = 20; /* an estimate that the point has passed */
    assert_near(carm_runtime_times(c, CARM_PLACE_ORIGINAL, &p), 2, 1e-12);
    p.roof = 6; /* lower than the ceiling: SIMD gives nothing there */
    p.performance = 5;
    assert_near(carm_runtime_times(c, CARM_PLACE_ORIGINAL, &p), 1, 1e-12);
    /* one of memory, 9 byte/s, counts on the original model alone */
    mix.q[CARM_RUNMIX_LOADS] = 1000;
    mix.q[CARM_RUNMIX_PREFETCHES] = 0;
    c = find(CARM_RUNTIME_PREFETCH, 100);
    p.intensity = 0.5;
    assert_near(carm_runtime_times(c, CARM_PLACE_ORIGINAL, &p), 6.0 / 5, 1e-12);
    p.performance = 1;
    assert_near(carm_runtime_times(c, CARM_PLACE_ORIGINAL, &p), 6.0 / 4.5, 1e-12);
    assert_near(carm_runtime_times(c, CARM_PLACE_CACHE_AWARE, &p), 1, 1e-12);
    p.roof = 7; /* of a small set, say: prefetching ends at 12 byte/s */
    assert_near(carm_runtime_times(c, CARM_PLACE_ORIGINAL, &p), 6.0 / 4.5, 1e-12);
}

TEST_BETWEEN(advice_has_the_dearest_one, set_up, NULL)
{
    struct carm_place p = {.intensity = 10, .performance = 5, .roof = 80, .nceilings = 1};
    p.ceilings[0].at = 10;
    mix.q[DP] = 100;
    put_ops(10, 10, 0, 0);
    (void)find(CARM_RUNTIME_SIMD, 100);
    (void)strcpy(p.advice, "plain");
    carm_runtime_advise(&found, CARM_PLACE_ORIGINAL, &p);
    assert_string_equal(p.advice, "SIMD share 0%: vectorise: at most 10.0x; plain");
    p.ceilings[0].at = 6; /* lower than the scalar ceiling: it binds first */
    (void)strcpy(p.advice, "plain");
    carm_runtime_advise(&found, CARM_PLACE_ORIGINAL, &p);
    assert_string_equal(p.advice, "plain; SIMD share 0%: vectorise: at most 10.0x");
    p.over = true;
    (void)strcpy(p.advice, "plain");
    carm_runtime_advise(&found, CARM_PLACE_ORIGINAL, &p);
    assert_string_equal(p.advice, "plain");
    p.over = false;
    memset(p.advice, 'x', sizeof p.advice - 1); /* no room */
    p.advice[sizeof p.advice - 1] = '\0';
    carm_runtime_advise(&found, CARM_PLACE_ORIGINAL, &p);
    assert_int_equal(p.advice[0], 'x');
    assert_int_equal(strlen(p.advice), sizeof p.advice - 1);
}
