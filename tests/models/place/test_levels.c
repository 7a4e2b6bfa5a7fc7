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

/* The text of the levels; of each its number, bandwidth, roof, unused share and misses; what binds, how near; the advice. */
static const char *told(const struct carm_levels *l, bool any)
{
    static char text[2048];
    char levels[512];
    size_t used = 0;
    for (size_t i = 0; i < l->n; i++) {
        const struct carm_levels_at *at = &l->at[i];
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "%d %g %.4g %g (%.3g %.3g %.3g %.3g), ", at->level, at->bandwidth,
                                 at->roof, at->unused, at->misses[0], at->misses[1], at->misses[2],
                                 at->misses[3]);
    }
    (void)snprintf(text + used, sizeof text - used, "%s; %s%d at %.4g: %s",
                   carm_levels_text(levels, sizeof levels, l), any ? "" : "no ", l->binds,
                   l->nearest, l->advice);
    return text;
}

/* In 10 s L1 moves 1000 bytes, L2 500, L3 200, DRAM 100; the peak is 400 flops. */
TEST(in_words)
{
    static const struct {
        struct carm_levels_input in;
        const char *told;
    } cases
        [] =
            {
                /* near the limits of the words: 0.5, 0.8 and 1.1 of a roof */
                {{.flops = 10, .bytes = {100, -1, 99.6, -1}},
                 "0 100 10 0 (0 0 0 0), 2 20 2.008 0 (0 0 0 0), L1 0.1 flop/byte 10.0% of 10.00 flop/s, L3 0.1 flop/byte 49.8% of 2.008 flop/s; 1 at 0.498: L3 is nearest to its roof, at 50% of it: latency, or too few accesses at a time, may limit it"},
                {{.flops = 10, .bytes = {100, -1, 100.4, -1}},
                 "0 100 10 0 (0 0 0 0), 2 20 1.992 0 (0 0 0 0), L1 0.1 flop/byte 10.0% of 10.00 flop/s, L3 0.0996 flop/byte 50.2% of 1.992 flop/s; 1 at 0.502: L3 may bind it, at 50% of its roof: block for L1"},
                {{.flops = 10, .bytes = {790, 100, -1, 5}, .unused = {197.5, 0, 0, 0}},
                 "0 100 1.266 0.25 (0 0 0 0), 1 50 5 0 (0 0 0 0), 3 10 20 0 (0 0 0 0), L1 0.0127 flop/byte 79.0% of 1.266 flop/s, L2 0.1 flop/byte 20.0% of 5.000 flop/s, DRAM 2 flop/byte 5.0% of 20.00 flop/s; 0 at 0.79: L1 may bind it, at 79% of its roof; 25% of its bytes are never used: change the layout, so that lines bring only what is used"},
                {{.flops = 10, .bytes = {810, 100, -1, 5}, .unused = {200, 0, 0, 0}},
                 "0 100 1.235 0.246914 (0 0 0 0), 1 50 5 0 (0 0 0 0), 3 10 20 0 (0 0 0 0), L1 0.0123 flop/byte 81.0% of 1.235 flop/s, L2 0.1 flop/byte 20.0% of 5.000 flop/s, DRAM 2 flop/byte 5.0% of 20.00 flop/s; 0 at 0.81: L1 bound, 81% of its roof; 25% of its bytes are never used: keep more in registers, use wider accesses"},
                {{.flops = 10, .bytes = {100, 545, -1, 5}, .unused = {-1, 2.7, -1, -1}},
                 "0 100 10 -1 (0 0 0 0), 1 50 0.9174 0.00495413 (0 0 0 0), 3 10 20 -1 (0 0 0 0), L1 0.1 flop/byte 10.0% of 10.00 flop/s, L2 0.0183 flop/byte 109.0% of 0.917 flop/s, DRAM 2 flop/byte 5.0% of 20.00 flop/s; 1 at 1.09: L2 bound, 109% of its roof: block for L1"},
                {{.flops = 10, .bytes = {100, 555, -1, 5}, .unused = {-1, 2.8, -1, -1}},
                 "0 100 10 -1 (0 0 0 0), 1 50 0.9009 0.00504505 (0 0 0 0), 3 10 20 -1 (0 0 0 0), L1 0.1 flop/byte 10.0% of 10.00 flop/s, L2 0.018 flop/byte 111.0% of 0.901 flop/s, DRAM 2 flop/byte 5.0% of 20.00 flop/s; 1 at 1.11: L2 is above its roof, at 111% of it; 1% of its bytes are never used: too many bytes were counted, or the roof was disturbed while it was measured"},
                /* misses by their reasons, a quarter each; unused bytes of a quarter and more than all */
                {{.flops = 10, .bytes = {100, 450, 20, 5}, .misses = {[CARM_AT_L2] = {100, 100, 100, 100}}}, "0 100 10 0 (0 0 0 0), 1 50 1.111 0 (0.25 0.25 0.25 0.25), 2 20 10 0 (0 0 0 0), 3 10 20 0 (0 0 0 0), L1 0.1 flop/byte 10.0% of 10.00 flop/s, L2 0.0222 flop/byte 90.0% of 1.111 flop/s, L3 0.5 flop/byte 10.0% of 10.00 flop/s, DRAM 2 flop/byte 5.0% of 20.00 flop/s; 1 at 0.9: L2 bound, 90% of its roof: 25% coherence misses: put what different threads write into different cache lines (false sharing)"},
                {{.flops = 10,
                  .bytes = {100, 450, 20, 5},
                  .misses = {[CARM_AT_L2] = {100, 101, 101, 98}}},
                 "0 100 10 0 (0 0 0 0), 1 50 1.111 0 (0.25 0.253 0.253 0.245), 2 20 10 0 (0 0 0 0), 3 10 20 0 (0 0 0 0), L1 0.1 flop/byte 10.0% of 10.00 flop/s, L2 0.0222 flop/byte 90.0% of 1.111 flop/s, L3 0.5 flop/byte 10.0% of 10.00 flop/s, DRAM 2 flop/byte 5.0% of 20.00 flop/s; 1 at 0.9: L2 bound, 90% of its roof: 25% conflict misses of L1: pad rows and arrays, so that they fall into different sets"},
                {{.flops = 10,
                  .bytes = {100, 450, 20, 5},
                  .misses = {[CARM_AT_L2] = {0.4, 0.4, -1, 0.1}}},
                 "0 100 10 0 (0 0 0 0), 1 50 1.111 0 (0.444 0.444 0 0.111), 2 20 10 0 (0 0 0 0), 3 10 20 0 (0 0 0 0), L1 0.1 flop/byte 10.0% of 10.00 flop/s, L2 0.0222 flop/byte 90.0% of 1.111 flop/s, L3 0.5 flop/byte 10.0% of 10.00 flop/s, DRAM 2 flop/byte 5.0% of 20.00 flop/s; 1 at 0.9: L2 bound, 90% of its roof: 44% compulsory misses of L1: each line comes once, so only smaller data or fused passes help"},
                {{.flops = 10,
                  .bytes = {100, 450, 20, 5},
                  .misses = {[CARM_AT_L2] = {0.3, 0.4, 0.2, 0.1}}},
                 "0 100 10 0 (0 0 0 0), 1 50 1.111 0 (0.3 0.4 0.2 0.1), 2 20 10 0 (0 0 0 0), 3 10 20 0 (0 0 0 0), L1 0.1 flop/byte 10.0% of 10.00 flop/s, L2 0.0222 flop/byte 90.0% of 1.111 flop/s, L3 0.5 flop/byte 10.0% of 10.00 flop/s, DRAM 2 flop/byte 5.0% of 20.00 flop/s; 1 at 0.9: L2 bound, 90% of its roof: block for L1: 40% capacity misses"},
                {{.flops = 10, .bytes = {100, 450, 20, 5}, .unused = {0, 900, 0.5, -1}},
                 "0 100 10 0 (0 0 0 0), 1 50 1.111 1 (0 0 0 0), 2 20 10 0.025 (0 0 0 0), 3 10 20 -1 (0 0 0 0), L1 0.1 flop/byte 10.0% of 10.00 flop/s, L2 0.0222 flop/byte 90.0% of 1.111 flop/s, L3 0.5 flop/byte 10.0% of 10.00 flop/s, DRAM 2 flop/byte 5.0% of 20.00 flop/s; 1 at 0.9: L2 bound, 90% of its roof; 100% of its bytes are never used: change the layout, so that lines bring only what is used"},
                /* false sharing, where it is most; of the first of equal ones */
                {{.flops = 10,
                  .bytes = {100, 20, 20, 20},
                  .misses = {[CARM_AT_L2] = {1, 1, 1, 1},
                             [CARM_AT_L3] = {2, 0, 0, 1},
                             [CARM_AT_DRAM] = {2, 0, 0, 1}}},
                 "0 100 10 0 (0 0 0 0), 1 50 25 0 (0.25 0.25 0.25 0.25), 2 20 10 0 (0.667 0 0 0.333), 3 10 5 0 (0.667 0 0 0.333), L1 0.1 flop/byte 10.0% of 10.00 flop/s, L2 0.5 flop/byte 4.0% of 25.00 flop/s, L3 0.5 flop/byte 10.0% of 10.00 flop/s, DRAM 0.5 flop/byte 20.0% of 5.000 flop/s; 3 at 0.2: DRAM is nearest to its roof, at 20% of it: 33% of the misses that lead to L3 are coherence misses: put what different threads write into different cache lines (false sharing)"},
                {{.flops = 10,
                  .bytes = {400, 20, 20, 20},
                  .misses = {[CARM_AT_L1] = {1, 0, 0, 1}, [CARM_AT_L2] = {1, 0, 0, 0.33}}},
                 "0 100 2.5 0 (0.5 0 0 0.5), 1 50 25 0 (0.752 0 0 0.248), 2 20 10 0 (0 0 0 0), 3 10 5 0 (0 0 0 0), L1 0.025 flop/byte 40.0% of 2.500 flop/s, L2 0.5 flop/byte 4.0% of 25.00 flop/s, L3 0.5 flop/byte 10.0% of 10.00 flop/s, DRAM 0.5 flop/byte 20.0% of 5.000 flop/s; 0 at 0.4: L1 is nearest to its roof, at 40% of it: 50% of the misses that lead to L1 are coherence misses: put what different threads write into different cache lines (false sharing)"},
                /* computation; intervals; no operations; equal levels: the first */
                {{.flops = 300,
                  .bytes = {300, 90, 1, 10},
                  .low = {0, 45, 0.5, 10},
                  .high = {600, 0, 2, 10}},
                 "0 100 40 0 (0 0 0 0), 1 50 40 0 (0 0 0 0), 2 20 40 0 (0 0 0 0), 3 10 40 0 (0 0 0 0), L1 1 (0.5 to 1) flop/byte 75.0% of 40.00 flop/s, L2 3.33 (3.33 to 6.67) flop/byte 75.0% of 40.00 flop/s, L3 300 (150 to 600) flop/byte 75.0% of 40.00 flop/s, DRAM 30 flop/byte 75.0% of 40.00 flop/s; -1 at 0.75: computation binds: it reaches more of the peak than of the bandwidth of any level"},
                {{.flops = 150, .bytes = {100, 30, 1, 1}},
                 "0 100 40 0 (0 0 0 0), 1 50 40 0 (0 0 0 0), 2 20 40 0 (0 0 0 0), 3 10 40 0 (0 0 0 0), L1 1.5 flop/byte 37.5% of 40.00 flop/s, L2 5 flop/byte 37.5% of 40.00 flop/s, L3 150 flop/byte 37.5% of 40.00 flop/s, DRAM 150 flop/byte 37.5% of 40.00 flop/s; -1 at 0.375: it reaches 38% of the peak, and less of the bandwidth of each level: latency or dependent operations may limit it"},
                {{.flops = 0, .bytes = {500, 250, 100, 50}, .low = {1, 1, 1, 1}, .high = {900, 900, 900, 900}}, "0 100 0 0 (0 0 0 0), 1 50 0 0 (0 0 0 0), 2 20 0 0 (0 0 0 0), 3 10 0 0 (0 0 0 0), L1 50.0% of 100.0 B/s, L2 50.0% of 50.00 B/s, L3 50.0% of 20.00 B/s, DRAM 50.0% of 10.00 B/s; 0 at 0.5: L1 may bind it, at 50% of its roof: keep more in registers, use wider accesses"},
                {{.flops = -1, .bytes = {0.5, 0.25, 0, 0}},
                 "0 100 0 0 (0 0 0 0), 1 50 0 0 (0 0 0 0), L1 0.1% of 100.0 B/s, L2 0.1% of 50.00 B/s; 0 at 0.0005: L1 is nearest to its roof, at 0% of it: latency, or too few accesses at a time, may limit it"},
                {{.flops = 40, .integers = true, .bytes = {900, 25, -1, -1}},
                 "0 100 4.444 0 (0 0 0 0), 1 50 80 0 (0 0 0 0), L1 0.0444 op/byte 90.0% of 4.444 op/s, L2 1.6 op/byte 5.0% of 80.00 op/s; 0 at 0.9: L1 bound, 90% of its roof: keep more in registers, use wider accesses"},
            };
    const struct carm_roofs r = roofs();
    const struct carm_model m = model();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_levels l;
        struct carm_levels_input in = cases[i].in;
        in.seconds = 10.0;
        memset(&l, 0x5a, sizeof l);
        const bool any = carm_levels_place(&m, &r, &in, &l);
        assert_string_equal(told(&l, any), cases[i].told);
    }
    /* roofs without a peak have no levels; a level without a roof at the mix has no slope */
    struct carm_roofs none = r;
    struct carm_levels l;
    none.ncompute = 0;
    assert_false(carm_levels_place(&m, &none, &cases[0].in, &l));
    assert_int_equal(l.n, 0);
    none.nmemory = 0;
    assert_near(carm_levels_bandwidth(&m, &none, CARM_AT_L1), 0.0, 0.0);
    assert_near(carm_levels_bandwidth(&m, &none, CARM_AT_DRAM), 10.0, 0.0);
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
