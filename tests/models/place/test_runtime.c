/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The runtime-oriented ceilings in closed form: made-up machines with round rates. */
#include "models/place/runtime.h"
#include "tests/unit.h"

enum { DP = CARM_RUNMIX_DP, SP = CARM_RUNMIX_SP };

/* Peak 80 (fma), add and mul 40 flop/s; avx2 beside it with 50; DRAM 12 byte/s. */
static struct carm_compute_roof wide[] = {
    {.op = "fma", .rate = 80}, {.op = "add", .rate = 40}, {.op = "mul", .rate = 40}, {.op = "mad"}};
static struct carm_compute_roof narrow[] = {{.op = "fma", .rate = 50}};
static struct carm_ceiling_roof ceilings[] = {
    {.group = CARM_CEILING_IN_CORE, .name = "tlp add", .rate = 1},
    {.group = CARM_CEILING_IN_CORE, .name = "ilp add", .rate = 5},
    {.group = CARM_CEILING_IN_CORE, .name = "ilp fma", .rate = 8},
    {.group = CARM_CEILING_IN_CORE, .name = "simd16 add", .rate = 10},
    {.group = CARM_CEILING_IN_CORE, .name = "simd16 fma", .rate = 20},
    {.group = CARM_CEILING_IN_CORE, .name = "simd32 fma", .rate = 0, .note = "not measured"},
    {.group = CARM_CEILING_MIX, .name = "fp 1/2", .rate = 60},
    {.group = CARM_CEILING_MIX, .name = "another", .rate = 99},
    {.group = CARM_CEILING_MIX, .name = "fp 1", .rate = 80},
    {.group = CARM_CEILING_MIX, .name = "fp 1/4", .rate = 30},
    {.group = CARM_CEILING_MEMORY, .name = "dot", .rate = 11},
    {.group = CARM_CEILING_MEMORY, .name = "small set", .rate = 15},
    {.group = CARM_CEILING_MEMORY, .name = "dot no-prefetch", .rate = 9},
    {.group = CARM_CEILING_MIX, .name = "fp 1/8", .note = "not measured"},
    {.group = CARM_CEILING_IN_CORE, .name = "fp 1/8", .rate = 70},
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
    (void)strcpy(sets[0].isa, "rvv"); /* unknown ones are widest */
    assert_rate(find(CARM_RUNTIME_SIMD, 100), 80.0);
    mix.q[DP + 2] = 100;
    assert_rate(find(CARM_RUNTIME_SIMD, 200), 2 / (1.0 / 40 + 1.0 / 80));
    sets[0].ncompute = 0;
    assert_string_equal(find(CARM_RUNTIME_SIMD, 200)->how,
                        "none of its flops have the roofs' precision");
    set_up(NULL); /* the first set of a model, and the first ceiling */
    mix.q[DP + 2] = 100;
    model.roofs = sets + 1;
    model.nroofs = 1;
    assert_rate(find(CARM_RUNTIME_SIMD, 100), 50.0);
    mix.q[DP + 2] = 0;
    mix.q[DP] = 100;
    sets[0].ceilings = ceilings + 2;
    sets[0].nceilings = 1;
    assert_rate(find(CARM_RUNTIME_SIMD, 100), 8.0);
    (void)strcpy(sets[0].isa, "scalar");
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
    for (int cycle = 24; cycle <= 32; cycle += 8) { /* from one and a half on */
        fma[0].flops_per_cycle = cycle;
        assert_near(find(CARM_RUNTIME_SIMD, 100)->rate, 80.0 / 8, 1e-9);
    }
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
    put_ops(1, 0.4, 0.6, 0);
    assert_false(find(CARM_RUNTIME_BALANCE, 1)->known);
    /* ceilings in place of roofs */
    (void)strcpy(sets[0].isa, "sse");
    sets[0].ncompute = 1;
    put_ops(10, 10, 0, 0);
    assert_rate(find(CARM_RUNTIME_BALANCE, 10), 10);
    put_ops(10, -1, 6, 0);
    assert_false(find(CARM_RUNTIME_BALANCE, 10)->known);
    assert_non_null(strstr(found.ceilings[1].how, "were not counted separately"));
}

/* mad twice as fast as add: adds have their own units, and go on beside multiplies and FMAs. */
TEST_BETWEEN(adds_beside_the_rest, set_up, NULL)
{
    struct carm_compute_roof roofs[] = {{.op = "fma", .rate = 80},
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
    sets[0].compute = roofs + 1; /* no roof of FMAs: pairs alone take 0.15 s */
    sets[0].ncompute = 3;
    roofs[1].rate = 70;
    put_ops(10, 4, 6, 0);
    assert_near(find(CARM_RUNTIME_BALANCE, 10)->rate, 10 / 0.15, 1e-9);
    put_ops(10, 0, 0, 10); /* as one multiply and one add */
    assert_near(find(CARM_RUNTIME_BALANCE, 20)->rate, 70, 1e-9);
    sets[0].ncompute = 0;
    assert_string_equal(find(CARM_RUNTIME_BALANCE, 20)->how, "none of its instructions compute");
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
    static const struct {
        double adds, muls, fmas; /* balanced from 40 to 60% of multiplies on */
        bool balanced;
    } rows[] = {{-1, -1, -1, false},   {5, 5, 0, true},      {7, 3, 0, false},
                {6, 4, 0, true},       {4, 6, 0, true},      {3.9, 6.1, 0, false},
                {0.25, 0.25, 0, true}, {0.25, -1, 0, false}, {2, -1, 10, false},
                {0, 0, 10, true},      {0, 0, 0, false},     {1, 0, 2, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put_ops(10, rows[i].adds, rows[i].muls, rows[i].fmas);
        fail_if(carm_runmix_is_balanced(&mix) != rows[i].balanced, "row %zu", i);
    }
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
    sets[0].ceilings = ceilings + 6; /* the first one counts */
    sets[0].nceilings = 1;
    assert_rate(find(CARM_RUNTIME_FP_SHARE, 1), 12.0);
    sets[0].ncompute = 0;
    assert_false(find(CARM_RUNTIME_FP_SHARE, 1)->known);
    sets[0].ncompute = 3;
    sets[0].ceilings = ceilings;
    sets[0].nceilings = 6; /* those in the core alone */
    assert_false(find(CARM_RUNTIME_FP_SHARE, 1)->known);
    assert_non_null(strstr(found.ceilings[2].how, "carm build --ceilings"));
}

TEST_BETWEEN(prefetches, set_up, NULL)
{
    mix.q[CARM_RUNMIX_LOADS] = 1000;
    mix.q[CARM_RUNMIX_PREFETCHES] = 10;
    sets[0].dram_peak.bandwidth = 0; /* the best of the ceilings stands for it */
    assert_near(find(CARM_RUNTIME_PREFETCH, 1)->rate, 11, 0);
    sets[0].ceilings = ceilings + 10;
    sets[0].nceilings = 1;
    assert_near(find(CARM_RUNTIME_PREFETCH, 1)->rate, 11, 0);
    sets[0].nceilings = 0;
    assert_false(find(CARM_RUNTIME_PREFETCH, 1)->known);
    sets[0].dram_peak.bandwidth = 12;
    assert_near(find(CARM_RUNTIME_PREFETCH, 1)->rate, 12, 0);
    mix.q[CARM_RUNMIX_PREFETCHES] = 0;
    assert_false(find(CARM_RUNTIME_PREFETCH, 1)->known);
}

static void scale(double by)
{
    for (int i = 0; i < 4; i++) {
        wide[i].rate *= by;
    }
    for (int i = 0; i < NCEILINGS; i++) {
        ceilings[i].rate *= by;
    }
    for (int i = 0; i < CARM_RUNMIX_COUNT; i++) {
        mix.q[i] *= mix.q[i] > 0 ? by : 1.0;
    }
    narrow[0].rate *= by;
    sets[0].dram_peak.bandwidth *= by;
}

/* The same machine and program in kilo gain the same. Without mad, and with and without units of adds. */
TEST_BETWEEN(no_unit_is_special, set_up, NULL)
{
    for (int i = 0; i < 6; i++) {
        set_up(NULL);
        sets[0].ncompute = 4;
        wide[3].rate = i % 3 == 0 ? 0 : i % 3 == 1 ? 60 : 70;
        put_ops(i < 3 ? 8 : 6, i < 3 ? 5 : 1, i < 3 ? 0 : 3, 2);
        mix.q[DP] = mix.q[DP + 1] = mix.q[DP + 2] = mix.q[DP + 3] = 3;
        mix.q[CARM_RUNMIX_INSTRUCTIONS] = 24;
        mix.q[CARM_RUNMIX_LOADS] = 10;
        mix.q[CARM_RUNMIX_PREFETCHES] = i % 2;
        carm_runtime_find(&model, &sets[0], &mix, 12, &found);
        struct carm_runtime whole = found;
        scale(1.0 / 1024);
        carm_runtime_find(&model, &sets[0], &mix, 12.0 / 1024, &found);
        scale(1024);
        for (int k = 0; k < CARM_RUNTIME_COUNT; k++) {
            const struct carm_runtime_ceiling *c = &found.ceilings[k], *w = &whole.ceilings[k];
            assert_true(c->known && w->known);
            assert_near(c->rate * 1024, w->rate, 1e-9);
            assert_near(c->gain, w->gain, 1e-9);
            assert_string_equal(c->name, w->name);
            assert_true(k == CARM_RUNTIME_FP_SHARE || strcmp(c->how, w->how) == 0);
        }
    }
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
    p.ceilings[0].at = 7.8; /* 3% are within the error of both */
    (void)strcpy(p.advice, "plain");
    carm_runtime_advise(&found, CARM_PLACE_ORIGINAL, &p);
    assert_string_equal(p.advice, "SIMD share 0%: vectorise: at most 10.0x; plain");
    p.ceilings[0].at = 7.7;
    (void)strcpy(p.advice, "plain");
    carm_runtime_advise(&found, CARM_PLACE_ORIGINAL, &p);
    assert_string_equal(p.advice, "plain; SIMD share 0%: vectorise: at most 10.0x");
    p.performance = 72.7; /* a tenth is worth a word */
    carm_runtime_advise(&found, CARM_PLACE_ORIGINAL, &p);
    assert_string_equal(
        p.advice,
        "plain; SIMD share 0%: vectorise: at most 10.0x; 0% of flops in FMAs: FMA, or as many multiplies as adds: at most 1.1x");
    p.performance = 73;
    (void)strcpy(p.advice, "plain");
    carm_runtime_advise(&found, CARM_PLACE_ORIGINAL, &p);
    assert_string_equal(p.advice, "plain");
    p.performance = 5;
    p.over = true;
    (void)strcpy(p.advice, "plain");
    carm_runtime_advise(&found, CARM_PLACE_ORIGINAL, &p);
    assert_string_equal(p.advice, "plain");
    p.over = false;
    const size_t room = sizeof p.advice - 1 - strlen("; SIMD share 0%: vectorise: at most 10.0x");
    for (size_t n = room; n <= room + 1; n++) { /* it fits, and not */
        memset(p.advice, 0, sizeof p.advice);
        memset(p.advice, 'x', n);
        carm_runtime_advise(&found, CARM_PLACE_ORIGINAL, &p);
        assert_int_equal(p.advice[0], 'x');
        assert_int_equal(strlen(p.advice), n == room ? sizeof p.advice - 1 : n);
    }
    set_up(NULL); /* a ceiling of memory: 9 byte/s, 4.5 flop/s here */
    mix.q[CARM_RUNMIX_LOADS] = 1000;
    mix.q[CARM_RUNMIX_PREFETCHES] = 0;
    (void)find(CARM_RUNTIME_PREFETCH, 100);
    p = (struct carm_place){.intensity = 0.5, .performance = 4, .roof = 80, .nceilings = 1};
    for (int first = 0; first < 2; first++) {
        p.ceilings[0].at = first ? 5 : 4;
        (void)strcpy(p.advice, "plain");
        carm_runtime_advise(&found, CARM_PLACE_ORIGINAL, &p);
        assert_string_equal(
            p.advice, first ? "no software prefetch: prefetch by software: at most 1.3x; plain"
                            : "plain; no software prefetch: prefetch by software: at most 1.3x");
    }
}

/* "kind rate of architecture, gain, share; name; brief; step; how", or why it is not known; * of memory */
static const char *told(enum carm_runtime_kind kind, double flops)
{
    static char text[1024];
    const struct carm_runtime_ceiling *c = find(kind, flops);
    if (!c->known) {
        assert_true(!*c->name && !*c->brief && !*c->step && c->rate == 0.0);
        return c->how;
    }
    (void)snprintf(text, sizeof text, "%g of %g%s, %.5g, %.5g; %s; %s; %s; %s", c->rate,
                   c->architecture, c->memory ? "*" : "", c->gain, c->share, c->name, c->brief,
                   c->step, c->how);
    return text;
}

/* Each member of a ceiling. */
TEST_BETWEEN(in_words, set_up, NULL)
{
    static const struct {
        double flops, other, scalar, sse, avx2, avx512, sp;
        const char *told;
    } simd[] = {
        {100, -1, 10, 0, 0, 90, 0,
         "42.1053 of 80, 1.9, 0.9; SIMD as run: 90% of flops in vectors; SIMD share 90%; wider vectors; scalar 10%, 64 bytes 90% of its dp flops; rates: in-core ceilings, the peak"},
        {100, -1, 11, 0, 0, 89, 0,
         "40.201 of 80, 1.99, 0.89; SIMD as run: 89% of flops in vectors; SIMD share 89%; vectorise; scalar 11%, 64 bytes 89% of its dp flops; rates: in-core ceilings, the peak"},
        {100, -1, 0, 99, 0, 0, 0,
         "20 of 80, 4, 1; SIMD as run: 100% of flops in vectors; SIMD share 100%; wider vectors; 16 bytes 100% of its dp flops; rates: in-core ceilings, the peak"},
        {100, -1, 0, 98.9, 0, 0, 0, "its vector widths were not counted"},
        {100, 60, -1, -1, 40, -1, -1,
         "50 of 80, 1.6, 1; SIMD as run: 100% of flops in vectors; SIMD share 100%; wider vectors; 32 bytes 100% of its dp flops; rates: narrower ISAs, the peak"},
        {100, 100, 0, -1, -1, -1, -1, "its vector widths were not counted"},
        {100, -1, 0, 0, 0, 0, 100, "none of its flops have the roofs' precision"},
        {0.5, -1, 0.25, 0.25, 0, 0, 0,
         "11.4286 of 80, 7, 0.5; SIMD as run: 50% of flops in vectors; SIMD share 50%; vectorise; scalar 50%, 16 bytes 50% of its dp flops; rates: in-core ceilings, the peak"},
    };
    for (size_t i = 0; i < sizeof simd / sizeof *simd; i++) {
        const double dp[] = {simd[i].scalar, simd[i].sse, simd[i].avx2, simd[i].avx512};
        memcpy(&mix.q[DP], dp, sizeof dp);
        mix.q[SP] = mix.q[SP + 1] = mix.q[SP + 2] = fmin(simd[i].sp, 0.0);
        mix.q[SP + 3] = simd[i].sp;
        mix.q[CARM_RUNMIX_OTHER] = simd[i].other;
        assert_string_equal(told(CARM_RUNTIME_SIMD, simd[i].flops), simd[i].told);
    }
    static const struct {
        double fp, adds, muls, fmas;
        const char *told;
    } balance[] = {
        {20, 4, 2, 10,
         "60 of 80, 1.3333, 0.66667; balance as run: 66.7% of flops in FMAs; 66.7% of flops in FMAs; FMA, or as many multiplies as adds; 20% adds, 10% multiplies, 50% FMAs, 20% others (as adds) of its FP instructions; rates: the roofs' operations"},
        {0, 0, 0, 0, "none of its instructions compute"},
        {10, 6, 5, 0,
         "40 of 80, 2, 0; balance as run: 0% of flops in FMAs; 0% of flops in FMAs; FMA, or as many multiplies as adds; 54.5% adds, 45.5% multiplies, 0% FMAs, 0% others (as adds) of its FP instructions; rates: the roofs' operations"},
        {0.5, 0.25, 0, 0.25,
         "60 of 80, 1.3333, 0.66667; balance as run: 66.7% of flops in FMAs; 66.7% of flops in FMAs; FMA, or as many multiplies as adds; 50% adds, 0% multiplies, 50% FMAs, 0% others (as adds) of its FP instructions; rates: the roofs' operations"},
        {0.2, 0, 0.2, 0,
         "40 of 80, 2, 0; balance as run: 0% of flops in FMAs; 0% of flops in FMAs; FMA, or as many multiplies as adds; 0% adds, 100% multiplies, 0% FMAs, 0% others (as adds) of its FP instructions; rates: the roofs' operations"},
        {8, 0, 0, 8,
         "80 of 80, 1, 1; balance as run: 100% of flops in FMAs; 100% of flops in FMAs; FMA, or as many multiplies as adds; 0% adds, 0% multiplies, 100% FMAs, 0% others (as adds) of its FP instructions; rates: the roofs' operations"},
        {-1, 1, 1, 1, "its adds, multiplies and FMAs were not counted separately"},
        {1, 1, 1, -1, "its adds, multiplies and FMAs were not counted separately"},
        {1, 1, -1, 1, "its adds, multiplies and FMAs were not counted separately"},
    };
    for (size_t i = 0; i < sizeof balance / sizeof *balance; i++) {
        put_ops(balance[i].fp, balance[i].adds, balance[i].muls, balance[i].fmas);
        assert_string_equal(told(CARM_RUNTIME_BALANCE, 1), balance[i].told);
    }
    static const struct {
        double fp, instructions;
        const char *told;
    } shares[] = {
        {50, 100,
         "60 of 80, 1.3333, 0.5; FP share as run: 50% of instructions; FP share 50%; fewer other instructions between the computing ones; 50 of 100 instructions compute; rates: fp 1/2 and fp 1"},
        {70, 100,
         "70 of 80, 1.1429, 0.7; FP share as run: 70% of instructions; FP share 70%; fewer other instructions between the computing ones; 70 of 100 instructions compute; rates: fp 1/2 and fp 1"},
        {200, 100,
         "80 of 80, 1, 1; FP share as run: 100% of instructions; FP share 100%; fewer other instructions between the computing ones; 200 of 100 instructions compute; rates: fp 1"},
        {10, 100,
         "12 of 80, 6.6667, 0.1; FP share as run: 10% of instructions; FP share 10%; fewer other instructions between the computing ones; 10 of 100 instructions compute; rates: fp 1/4"},
        {0.3, 1,
         "36 of 80, 2.2222, 0.3; FP share as run: 30% of instructions; FP share 30%; fewer other instructions between the computing ones; 0.3 of 1 instructions compute; rates: fp 1/4 and fp 1/2"},
        {0, 100, "none of its instructions compute"},
        {1, 0, "its floating-point instructions were not counted"},
        {-1, 100, "its floating-point instructions were not counted"}};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        mix.q[CARM_RUNMIX_FP] = shares[i].fp;
        mix.q[CARM_RUNMIX_INSTRUCTIONS] = shares[i].instructions;
        assert_string_equal(told(CARM_RUNTIME_FP_SHARE, 1), shares[i].told);
    }
    static const struct {
        double loads, prefetches;
        const char *told;
    } prefetched[] = {
        {1000, 10,
         "12 of 12*, 1, 0.01; software prefetch as run: present; with software prefetch; prefetch by software; 0.01 prefetches for each load; rate: the best stream"},
        {1000, 9.99,
         "9 of 12*, 1.3333, 0.00999; software prefetch as run: absent; no software prefetch; prefetch by software; 0.00999 prefetches for each load; rate: streams without software prefetch"},
        {0.5, 0,
         "9 of 12*, 1.3333, 0; software prefetch as run: absent; no software prefetch; prefetch by software; 0 prefetches for each load; rate: streams without software prefetch"},
        {0, 5, "its software prefetches were not counted"},
        {5, -1, "its software prefetches were not counted"}};
    for (size_t i = 0; i < sizeof prefetched / sizeof *prefetched; i++) {
        mix.q[CARM_RUNMIX_LOADS] = prefetched[i].loads;
        mix.q[CARM_RUNMIX_PREFETCHES] = prefetched[i].prefetches;
        assert_string_equal(told(CARM_RUNTIME_PREFETCH, 1), prefetched[i].told);
    }
}
