/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One point for each level, and the caches of a model as caches to simulate. */
#include "models/caches/machine.h"
#include "models/place/levels.h"
#include "tests/unit.h"

/* Slopes of 100, 50, 20 and 10 byte/s, a peak of 40 flop/s. */
static struct carm_memory_roof slopes[] = {
    {.level = "L1", .ldst = "2:1", .bandwidth = 100.0},
    {.level = "L2", .ldst = "1:0", .bandwidth = 50.0},
    {.level = "L3", .ldst = "1:0", .bandwidth = 20.0},
};
static struct carm_compute_roof peak = {.op = "fma", .rate = 40.0};

static struct carm_roofs roofs(void)
{
    return (struct carm_roofs){.memory = slopes,
                               .nmemory = sizeof slopes / sizeof *slopes,
                               .compute = &peak,
                               .ncompute = 1,
                               .dram_peak = {.bandwidth = 10.0}};
}

static struct carm_model model(void)
{
    struct carm_model m;
    memset(&m, 0, sizeof m);
    strcpy(m.config.ldst, "2:1"); /* NOLINT */
    return m;
}

TEST(binding)
{
    const struct carm_roofs r = roofs();
    const struct carm_model m = model();
    struct carm_levels l;
    /* 10 s: 400 of 1000 bytes of L1, 100 of 500, 180 of 200, 50 of 100 */
    struct carm_levels_input in = {
        .flops = 100.0, .seconds = 10.0, .bytes = {400, 100, 180, 50}, .unused = {-1, 0, 90, -1}};
    assert_true(carm_levels_place(&m, &r, &in, &l));
    assert_int_equal(l.n, 4);
    assert_string_equal(l.at[l.binds].name, "L3");
    assert_float_equal(l.at[0].share, 0.4, 1e-12);
    assert_float_equal(l.at[2].share, 0.9, 1e-12);
    assert_float_equal(l.at[2].unused, 0.5, 1e-12);
    assert_float_equal(l.at[3].intensity, 2.0, 1e-12);
    assert_float_equal(l.at[0].roof, 100.0 / 400 * 100, 1e-12);
    assert_float_equal(l.at[1].roof, 40.0, 1e-12); /* the peak */
    in.integers = true;                            /* under roofs of flops: by memory alone */
    assert_true(carm_levels_place(&m, &r, &in, &l));
    assert_float_equal(l.at[0].roof, 100.0 / 400 * 100, 1e-12);
    assert_float_equal(l.at[1].roof, 50.0, 1e-12);
    assert_float_equal(l.at[2].share, 0.9, 1e-12);
    in.integers = false;
    assert_true(carm_levels_place(&m, &r, &in, &l));
    assert_string_equal(l.advice,
                        "L3 bound, 90% of its roof; 50% of its bytes are never used: change "
                        "the layout, so that lines bring only what is used");
    in.unused[2] = 0.0;
    assert_true(carm_levels_place(&m, &r, &in, &l));
    assert_string_equal(l.advice, "L3 bound, 90% of its roof: block for L2");
    static const struct {
        double misses[CARM_MISS_REASONS];
        const char *says;
    } cases[] = {
        {{4, 96, 0, 0}, "L3 bound, 90% of its roof: block for L2: 96% capacity misses"},
        {{90, 5, 5, 0},
         "L3 bound, 90% of its roof: 90% compulsory misses of L2: each line comes once, so only smaller "
         "data or fused passes help"},
        {{20, 50, 30, 0},
         "L3 bound, 90% of its roof: 30% conflict misses of L2: pad rows and arrays, so that they fall "
         "into different sets"},
        {{20, 40, 10, 30},
         "L3 bound, 90% of its roof: 30% coherence misses: put what different threads write into "
         "different cache lines (false sharing)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(in.misses[CARM_AT_L3], cases[i].misses, sizeof in.misses[0]);
        assert_true(carm_levels_place(&m, &r, &in, &l));
        assert_string_equal(l.advice, cases[i].says);
    }
    in.seconds = 100.0;
    assert_true(carm_levels_place(&m, &r, &in, &l));
    assert_string_equal(l.advice,
                        "L3 is nearest to its roof, at 9% of it: 30% of the misses that lead to "
                        "L3 are coherence misses: put what different threads write into "
                        "different cache lines (false sharing)");
    memset(in.misses, 0, sizeof in.misses);
    in.seconds = 100.0;
    assert_true(carm_levels_place(&m, &r, &in, &l));
    assert_string_equal(l.advice, "L3 is nearest to its roof, at 9% of it: latency, or too few "
                                  "accesses at a time, may limit it");
    in.seconds = 5.0;
    assert_true(carm_levels_place(&m, &r, &in, &l));
    assert_string_equal(l.advice,
                        "L3 is above its roof, at 180% of it: too many bytes were counted, or "
                        "the roof was disturbed while it was measured");
    in.flops = 0.0; /* bandwidth alone */
    in.seconds = 15.0;
    assert_true(carm_levels_place(&m, &r, &in, &l));
    assert_non_null(strstr(l.advice, "L3 may bind it, at 60% of its roof"));
    in.seconds = 10.0;
    assert_true(carm_levels_place(&m, &r, &in, &l));
    assert_string_equal(l.at[l.binds].name, "L3");
    assert_float_equal(l.at[2].share, 0.9, 1e-12);
    char text[160];
    assert_string_equal(
        carm_levels_text(text, sizeof text, &l),
        "L1 40.0% of 100.0 B/s, L2 20.0% of 50.00 B/s, L3 90.0% of 20.00 B/s, DRAM 50.0% of 10.00 B/s");
    in = (struct carm_levels_input){
        .flops = 390.0, .seconds = 10.0, .bytes = {400, 10, -1, 5}, .unused = {-1, -1, -1, -1}};
    assert_true(carm_levels_place(&m, &r, &in, &l));
    assert_int_equal(l.n, 3);
    assert_int_equal(l.binds, -1);
    assert_string_equal(
        l.advice,
        "computation binds: it reaches more of the peak than of the bandwidth of any level");
    in.seconds = 100.0;
    assert_true(carm_levels_place(&m, &r, &in, &l));
    assert_float_equal(l.nearest, 0.0975, 1e-12);
    assert_string_equal(l.advice,
                        "it reaches 10% of the peak, and less of the bandwidth of each level: "
                        "latency or dependent operations may limit it");
    in.bytes[1] = in.bytes[3] = -1.0; /* one level is no hierarchy */
    assert_false(carm_levels_place(&m, &r, &in, &l));
}

static struct carm_cache caches[] = {{1, 32 << 10, 2}, {2, 1 << 20, 2}, {3, 32 << 20, 16}};

static struct carm_model machine(struct carm_level *levels, size_t n)
{
    struct carm_model m = model();
    m.machine.cores = 8;
    m.machine.threads = 16;
    m.machine.caches = caches;
    m.machine.ncaches = 3;
    m.levels = levels;
    m.nlevels = n;
    return m;
}

TEST(caches)
{
    struct carm_level levels[] = {
        {.level = "L1", .os_size_bytes = 32 << 10, .knee_bytes = 30 << 10, .resolved = true},
        {.level = "L2", .os_size_bytes = 1 << 20, .knee_bytes = 720 << 10, .resolved = true},
        {.level = "L3", .os_size_bytes = 32 << 20, .knee_bytes = 8 << 20, .resolved = true},
        {.level = "DRAM", .resolved = true}};
    const struct carm_cache_ways ways[] = {
        {1, 32 << 10, 8, 0}, {2, 1 << 20, 16, 0}, {3, 32 << 20, 16, 1}};
    const struct carm_model m = machine(levels, 4);
    struct carm_hierarchy_config c;
    char text[CARM_CACHES_TEXT_MAX];
    memset(&c, 0, sizeof c);
    assert_ok(carm_caches_of_model(&m, ways, 3, &c, text, &err));
    assert_string_equal(text,
                        "L1 32 KiB, 8 ways; L2 1 MiB, 16 ways; L3 8 MiB (measured), 16 ways, 8 "
                        "cores, inclusive");
    assert_int_equal(c.cores, 8);
    assert_int_equal(c.nlevels, 3);
    assert_int_equal(c.last, CARM_LAST_INCLUSIVE);
    assert_int_equal(c.levels[1].shared_by, 1); /* two hardware threads */
    const struct carm_cache_ways other[] = {{1, 48 << 10, 12, 0}, {2, 1 << 20, 16, 0}};
    char another[CARM_CACHES_TEXT_MAX];
    assert_ok(carm_caches_of_model(&m, other, 2, &c, another, &err));
    assert_ok(carm_caches_of_model(&m, NULL, 0, &c, text, &err));
    assert_string_equal(another, text); /* another machine's ways say nothing */
    assert_string_equal(text, "L1 32 KiB, 8 ways (assumed); L2 1 MiB, 8 ways (assumed); L3 8 MiB "
                              "(measured), 16 ways (assumed), 8 cores, non-inclusive (assumed)");
}

/* A cache of 32 MiB of which others had three quarters: sweeps over 8 to 32 MiB by the measured curve. */
TEST(from_memory)
{
    struct carm_level levels[] = {
        {.level = "L1", .os_size_bytes = 32 << 10},
        {.level = "L3", .os_size_bytes = 32 << 20, .knee_bytes = 8 << 20, .resolved = true},
        {.level = "DRAM"}};
    struct carm_curve_point points[] = {{.x = 4180000, .value = 400e9}, /* 0.498 of the 8 MiB */
                                        {.x = 4240000, .value = 100e9}, /* 0.505 */
                                        {.x = 16 << 20, .value = 50e9},
                                        {.x = 64 << 20, .value = 20e9}};
    struct carm_curve curve = {.threads = 1, .points = points, .npoints = 4};
    struct carm_model m = machine(levels, 3);
    assert_near(carm_caches_from_memory(&m, 1, 16 << 20), 1.0, 1e-9); /* no curve */
    m.curves = &curve;
    m.ncurves = 1;
    assert_near(carm_caches_from_memory(&m, 1, 8 << 20), 1.0,
                1e-9); /* it is held: nothing changes */
    assert_near(carm_caches_from_memory(&m, 1, 16 << 20), 0.25, 1e-9); /* 10 + 0.25 x 40 = 20 ps */
    assert_near(carm_caches_from_memory(&m, 1, 33 << 20), 1.0, 1e-9);
    assert_near(carm_caches_from_memory(&m, 2, 16 << 20), 1.0, 1e-9);
    levels[1].knee_bytes = 32 << 20;
    assert_near(carm_caches_from_memory(&m, 1, 16 << 20), 1.0, 1e-9);
}

/* Sizes that no ways divide, fully associative ones, and ways that nobody knows. */
TEST(whole_sets)
{
    struct carm_level levels[] = {{.level = "L1", .os_size_bytes = 128},
                                  {.level = "L2", .os_size_bytes = 32768},
                                  {.level = "L3", .knee_bytes = 1000000, .resolved = true}};
    struct carm_cache sizes[] = {{1, 128, 1}, {2, 32768, 1}};
    const struct carm_cache_ways ways[] = {{1, 128, 8, 0}, {2, 32768, -1, 0}};
    struct carm_model m = machine(levels, 3);
    struct carm_hierarchy_config c;
    char text[CARM_CACHES_TEXT_MAX];
    m.machine.caches = sizes;
    m.machine.ncaches = 2;
    memset(&c, 0, sizeof c);
    assert_ok(carm_caches_of_model(&m, ways, 2, &c, text, &err));
    assert_int_equal(c.levels[0].ways, 2);
    assert_int_equal(c.levels[1].ways, 64);
    assert_int_equal(c.levels[2].ways, 16);
    assert_int_equal(c.levels[2].size_bytes, 960 * 16 * 64); /* 976 sets, to four bits */
    struct carm_hierarchy *h = NULL;
    assert_ok(carm_hierarchy_open(&h, &c, &err));
    carm_hierarchy_close(h);
}

TEST(no_caches)
{
    struct carm_level levels[] = {{.level = "L7"}, {.level = "DRAM"}};
    const struct carm_model m = machine(levels, 2);
    struct carm_hierarchy_config c;
    char text[CARM_CACHES_TEXT_MAX];
    memset(&c, 0, sizeof c);
    assert_int_equal(carm_caches_of_model(&m, NULL, 0, &c, text, &err), -CARM_ENOTSUP);
    assert_string_equal(err.text, "the model has no cache whose size is known, so nothing can be "
                                  "simulated: carm build measures the levels");
}
