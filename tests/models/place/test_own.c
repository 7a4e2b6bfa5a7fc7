/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The roofs of a point's own mix in closed form: made-up machines with round rates. */
#include "models/place/own.h"
#include "tests/unit.h"

enum { DP = CARM_RUNMIX_DP };

/* Two loads of 32 bytes and a store beside them each second; L2 moves 32 bytes, twice as many where a line
 * is updated. Scalar: the same accesses of 8 bytes. */
static struct carm_memory_roof wide[] = {
    {.level = "L1", .ldst = "2:1", .bandwidth = 96, .bytes_per_cycle = 96},
    {.level = "L1", .ldst = "1:1", .bandwidth = 64, .bytes_per_cycle = 64},
    {.level = "L1", .ldst = "1:0", .bandwidth = 64, .bytes_per_cycle = 64},
    {.level = "L1", .ldst = "0:1", .bandwidth = 32, .bytes_per_cycle = 32},
    {.level = "L2", .ldst = "2:1", .bandwidth = 32},
    {.level = "L2", .ldst = "1:0", .bandwidth = 32},
    {.level = "L2", .ldst = "0:1", .bandwidth = 16},
    {.level = "L2", .ldst = "nt", .bandwidth = 20},
    {.level = "L2", .ldst = "update", .bandwidth = 64},
};
static struct carm_memory_roof scalar[] = {
    {.level = "L1", .ldst = "2:1", .bandwidth = 24},
    {.level = "L1", .ldst = "1:0", .bandwidth = 16},
    {.level = "L1", .ldst = "0:1", .bandwidth = 8},
    {.level = "L2", .ldst = "2:1", .bandwidth = 20},
    {.level = "L2", .ldst = "1:0", .bandwidth = 15},
    {.level = "L2", .ldst = "0:1", .bandwidth = 7},
};
static struct carm_compute_roof ops[] = {{.op = "fma", .rate = 160},
                                         {.op = "mad", .rate = 160},
                                         {.op = "add", .rate = 80},
                                         {.op = "mul", .rate = 80},
                                         {.op = "div", .rate = 8}};
static struct carm_compute_roof scalar_ops[] = {
    {.op = "fma", .rate = 40}, {.op = "mad", .rate = 40}, {.op = "add", .rate = 20},
    {.op = "mul", .rate = 20}, {.op = "div", .rate = 4},  {.op = "sqrt", .rate = 2}};
static struct carm_level levels[] = {{.level = "L1"}, {.level = "L2"}};
static struct carm_roofs sets[2];
static struct carm_model model;
static struct carm_runmix mix;
static struct carm_own own;
static double flops;

static int set_up(void **state)
{
    flops = 100;
    sets[0] = (struct carm_roofs){.isa = "avx2",
                                  .precision = "dp",
                                  .threads = 1,
                                  .memory = wide,
                                  .nmemory = 9,
                                  .compute = ops,
                                  .ncompute = 5};
    sets[1] = (struct carm_roofs){.isa = "scalar",
                                  .precision = "dp",
                                  .threads = 1,
                                  .memory = scalar,
                                  .nmemory = 6,
                                  .compute = scalar_ops,
                                  .ncompute = 6};
    model = (struct carm_model){
        .roofs = sets, .nroofs = 2, .levels = levels, .nlevels = 2, .config.ldst = "2:1"};
    for (int i = 0; i < CARM_RUNMIX_COUNT; i++) {
        mix.q[i] = -1.0;
    }
    return 0;
}

/* Loads and stores of that many bytes each. */
static void put_accesses(double loads, double load_width, double stores, double store_width)
{
    mix.q[CARM_RUNMIX_LOADS] = loads;
    mix.q[CARM_RUNMIX_STORES] = stores;
    mix.q[CARM_RUNMIX_LOAD_BYTES] = loads * load_width;
    mix.q[CARM_RUNMIX_STORE_BYTES] = stores * store_width;
}

static void find(void)
{
    carm_own_find(&model, &sets[0], &mix, flops, -1, &own);
}

#define assert_levels(l1, l2)                           \
    do {                                                \
        find();                                         \
        assert_true(own.has_memory);                    \
        assert_int_equal(own.nlevels, 2);               \
        assert_string_equal(own.levels[0].level, "L1"); \
        assert_near(own.levels[0].bandwidth, l1, 1e-9); \
        assert_near(own.levels[1].bandwidth, l2, 1e-9); \
        assert_near(own.bandwidth, l1, 1e-9);           \
    } while (0)

TEST_BETWEEN(measured_mixes_have_their_rates, set_up, NULL)
{
    put_accesses(2, 32, 0, 32);
    assert_levels(64, 32);
    assert_string_equal(own.memory, "loads alone (measured: 1:0), 32 bytes an access");
    put_accesses(2, 32, 2, 32);
    assert_levels(64, 64); /* the faster one of 1:1 and update */
    put_accesses(0, 32, 2, 32);
    assert_levels(32, 20); /* ... of 0:1 and nt */
    assert_string_equal(own.memory, "stores alone (measured: 0:1), 32 bytes an access");
    assert_near(own.stores, 1, 0);
    assert_near(own.access_bytes, 32, 1e-12);
}

/* 3:1 is three quarters of the way from 1:0 to 2:1; the ports allow 128 bytes in 1.5 s, just that. */
TEST_BETWEEN(time_for_each_byte_is_linear_between, set_up, NULL)
{
    put_accesses(3, 32, 1, 32);
    assert_levels(128 / 1.5, 1 / (0.5 / 32 + 0.5 / 64));
    assert_string_equal(own.memory,
                        "3:1 loads to stores (between 1:0 and 2:1), 32 bytes an access");
    put_accesses(3, 32, 2, 32); /* 160 bytes in 2 s */
    assert_levels(80, 1 / (0.2 / 32 + 0.8 / 64));
    put_accesses(1, 32, 3, 32);
    assert_levels(128 / 3.0, 1 / (0.5 / 64 + 0.5 / 20));
    assert_string_equal(own.memory,
                        "1:3 loads to stores (between 1:1 and 0:1), 32 bytes an access");
}

/* y += a x in L2: 192 bytes in 5 s of loads alone and of updates one after the other, and in 4 s where lines go
 * out while others come in. */
TEST_BETWEEN(updates_beside_loads_are_measured, set_up, NULL)
{
    struct carm_memory_roof more[12];
    put_accesses(2, 32, 1, 32);
    assert_levels(96, 96 / (1 / 1.0 + 64 / 64.0));
    memcpy(more, wide, sizeof wide);
    more[9] = (struct carm_memory_roof){.level = "L2", .ldst = "2:1update", .bandwidth = 53};
    more[10] =
        (struct carm_memory_roof){.level = "L2", .ldst = "1", .bandwidth = 999}; /* no mixes */
    more[11] = (struct carm_memory_roof){.level = "L2", .ldst = "copy", .bandwidth = 999};
    sets[0].memory = more;
    sets[0].nmemory = 12;
    assert_levels(96, 53);
    put_accesses(0, 32, 2, 32);
    assert_levels(32, 20);
}

/* A mix that is slower than a composition of its neighbours binds nobody. */
TEST_BETWEEN(the_hull_is_below_slow_mixes, set_up, NULL)
{
    struct carm_memory_roof slow[3] = {wide[2], wide[1], wide[3]};
    slow[1].bandwidth = 42.2; /* half at 64, half at 32 is 42.7 */
    sets[0].memory = slow;
    sets[0].nmemory = 3;
    model.nlevels = 1;
    put_accesses(1, 32, 1, 32);
    find();
    assert_true(own.has_memory);
    assert_near(own.bandwidth, 1 / (0.5 / 64 + 0.5 / 32), 1e-9);
}

TEST_BETWEEN(widths_are_those_of_accesses, set_up, NULL)
{
    put_accesses(2, 8, 1, 8);
    assert_levels(24, 20);
    put_accesses(4, 8, 2, 8); /* and as many bytes in wide ones: 3 of 32, 12 of 8 */
    mix.q[CARM_RUNMIX_LOADS] = 8 + 2;
    mix.q[CARM_RUNMIX_STORES] = 4 + 1;
    mix.q[CARM_RUNMIX_LOAD_BYTES] = 128;
    mix.q[CARM_RUNMIX_STORE_BYTES] = 64;
    assert_levels(1 / (0.5 / 24 + 0.5 / 96),
                  1 / (0.5 / 20 + 0.5 / (1 / (1.0 / 3 / 32 + 2.0 / 3 / 64))));
    mix.q[CARM_RUNMIX_STORES] = -1; /* widths unknown: the roofs' own */
    find();
    assert_near(own.bandwidth, 96, 1e-9);
    assert_near(own.access_bytes, 0, 0);
    (void)strcpy(sets[1].isa, "avx512");
    find();
    assert_near(own.bandwidth, 96, 1e-9);
    (void)strcpy(sets[1].isa, "scalar");
    sets[0].nmemory = 0; /* by other roofs alone */
    put_accesses(2, 8, 1, 8);
    assert_levels(24, 20);
    assert_string_equal(own.memory, "2:1 loads to stores, 8 bytes an access");
    sets[0].nmemory = 9;
    (void)strcpy(sets[1].isa, "sse");
    put_accesses(2, 16, 1, 16);
    assert_levels(24, 20);
    put_accesses(2, 8, 1, 8);
    (void)strcpy(sets[1].isa,
                 "rvv"); /* of unknown width, or of more threads: the wide ones are scaled */
    assert_levels(24, 24);
    (void)strcpy(sets[1].isa, "scalar");
    sets[1].threads = 2;
    assert_levels(24, 24);
}

/* Bytes load and store alike, but by narrow loads and wide stores: 4 loads and a store in 2 s. */
TEST_BETWEEN(loads_and_stores_of_two_widths, set_up, NULL)
{
    model.nlevels = 1;
    put_accesses(4, 8, 1, 32);
    find();
    assert_true(own.bandwidth >= 32 - 1e-9); /* no lower than the ports */
}

TEST_BETWEEN(narrower_than_measured_is_scaled, set_up, NULL)
{
    model.nroofs = 1;
    put_accesses(2, 8, 1, 8);
    assert_levels(96.0 / 4, 96.0 / 4); /* L1's accesses bind in L2, too */
    assert_string_equal(
        own.memory,
        "2:1 loads to stores (measured: 2:1), 8 bytes an access (scaled from wider ones)");
    /* one wide load a cycle may be two narrow ones */
    struct carm_memory_roof split[9];
    memcpy(split, wide, sizeof split);
    sets[0].memory = split;
    for (int cycle = 0; cycle <= 48; cycle += 48) { /* not known, and one and a half */
        split[2].bytes_per_cycle = cycle;
        assert_levels(96.0 / 4, 96.0 / 4);
    }
    split[2].bytes_per_cycle = 32;
    assert_levels(96.0 / 2, 1 / (1.0 / 3 / 32 + 2.0 / 3 / 64));
    sets[0].nmemory = model.nlevels = 1; /* 2:1 alone */
    find();
    assert_near(own.bandwidth, 96.0 / 4, 1e-9);
}

TEST_BETWEEN(what_is_not_known_is_not_guessed, set_up, NULL)
{
    find();
    assert_false(own.has_memory || own.has_compute);
    assert_string_equal(own.memory, "its loads and stores were not counted");
    sets[0].nmemory = 1; /* 2:1 alone */
    model.nroofs = 1;
    put_accesses(1, 32, 1, 32);
    find();
    assert_false(own.has_memory);
    assert_non_null(strstr(own.memory, "carm build --ldst"));
    struct carm_memory_roof some[] = {wide[0], wide[2]};
    sets[0].memory = some; /* a third of the bytes, but half of the accesses store */
    sets[0].nmemory = 2;
    put_accesses(2, 32, 2, 16);
    find();
    assert_near(own.bandwidth, 72, 1e-9);
    some[0].bandwidth = some[1].bandwidth = 0;
    find();
    assert_false(own.has_memory);
}

static void put_ops(double adds, double muls, double fmas, double divides)
{
    mix.q[CARM_RUNMIX_FP] = adds + muls + fmas + divides;
    mix.q[CARM_RUNMIX_ADDS] = adds;
    mix.q[CARM_RUNMIX_MULS] = muls;
    mix.q[CARM_RUNMIX_FMAS] = fmas;
    mix.q[CARM_RUNMIX_DIVIDES] = divides;
    mix.q[CARM_RUNMIX_ROOTS] = 0;
}

/* All flops in that width, so many as the operations make. */
static void put_width(int w)
{
    const double lanes = w ? 1 << w : 1;
    for (int i = DP; i < CARM_RUNMIX_COUNT; i++) {
        mix.q[i] = 0;
    }
    flops = lanes * (mix.q[CARM_RUNMIX_FP] + mix.q[CARM_RUNMIX_FMAS]);
    mix.q[DP + w] = flops;
}

TEST_BETWEEN(operations_have_the_rates_of_their_width, set_up, NULL)
{
    put_ops(100, 0, 0, 0);
    put_width(2);
    find();
    assert_true(own.has_compute && !own.has_memory);
    assert_near(own.peak, 80, 1e-9);
    put_ops(50, 50, 0, 0); /* side by side: mad is as fast as both together */
    put_width(2);
    find();
    assert_near(own.peak, 160, 1e-9);
    put_width(0);
    find();
    assert_near(own.peak, 40, 1e-9);
    put_ops(100, 0, 0, 0);
    put_width(0);
    find();
    assert_near(own.peak, 20, 1e-9);
    model.nroofs = 1; /* scaled by lanes */
    find();
    assert_near(own.peak, 80.0 / 4, 1e-9);
    put_ops(100, 0, 0, 0);
    put_width(1);
    find();
    assert_near(own.peak, 80.0 / 2, 1e-9);
    const struct carm_roofs other[] = {sets[1], sets[0]}; /* in another order, and another width */
    model.roofs = (struct carm_roofs *)other;
    model.nroofs = 2;
    put_width(0);
    carm_own_find(&model, &other[1], &mix, flops, -1, &own);
    assert_near(own.peak, 20, 1e-9);
    model.roofs = sets;
    mix.q[DP] = flops = 50; /* half of the instructions have other elements */
    find();
    assert_near(own.peak, 10, 1e-9);
    (void)strcpy(sets[1].isa, "avx512");
    put_width(3);
    find();
    assert_near(own.peak, 20, 1e-9);
    model.nroofs = 1;
    (void)strcpy(sets[0].precision, "sp"); /* one of 8 lanes */
    put_width(0);
    mix.q[CARM_RUNMIX_SP] = flops;
    mix.q[DP] = 0;
    find();
    assert_near(own.peak, 80.0 / 8, 1e-9);
}

/* FMAs and additions beside them exceed the peak of FMAs alone, and are not above their own roof for it. */
TEST_BETWEEN(mixtures_have_their_roof, set_up, NULL)
{
    static struct carm_compute_roof all[] = {{.op = "fma", .rate = 160},
                                             {.op = "mad", .rate = 160},
                                             {.op = "add", .rate = 80},
                                             {.op = "mul", .rate = 80},
                                             {.op = "fma+add", .rate = 236}};
    sets[0].compute = all;
    put_ops(50, 0, 50, 0);
    put_width(2);
    find();
    assert_near(own.peak, 236, 1e-9); /* the ports would allow 240 */
    put_ops(0, 0, 100, 0);
    put_width(2);
    find();
    assert_near(own.peak, 160, 1e-9);
}

/* An instruction takes its time whatever its lanes: as many scalar additions as wide ones take half of it. */
TEST_BETWEEN(narrow_instructions_take_as_long, set_up, NULL)
{
    put_ops(100, 0, 0, 0);
    put_width(2);
    mix.q[DP] = 50;
    mix.q[DP + 2] = 200;
    flops = 250;
    find();
    assert_near(own.peak, 80.0 * 250 / 400, 1e-9);
    ops[2].flops_per_cycle = 4; /* one wide instruction a cycle, perhaps two narrow ones */
    ops[0].flops_per_cycle = 8;
    find();
    assert_near(own.peak, 80, 1e-9);
    ops[0].flops_per_cycle = ops[2].flops_per_cycle = 0;
}

TEST_BETWEEN(divisions_bind_beside_the_rest, set_up, NULL)
{
    put_ops(45, 45, 0, 10);
    put_width(2);
    find();
    assert_near(own.peak, 8 / 0.1, 1e-9);
    put_ops(40, 49, 5, 1);
    put_width(2);
    find();
    assert_true(own.peak > 100);
    put_ops(0, 0, 0, 100);
    put_width(0);
    find();
    assert_near(own.peak, 4, 1e-9);
    assert_non_null(strstr(own.compute, "100% in divisions and roots"));
    mix.q[CARM_RUNMIX_ROOTS] = 50; /* half of them at 4, half at 2 */
    find();
    assert_near(own.peak, 100.0 / (50.0 / 4 + 50.0 / 2), 1e-9);
    mix.q[CARM_RUNMIX_ROOTS] = -1; /* not known: divisions */
    find();
    assert_near(own.peak, 4, 1e-9);
}

static struct carm_compute_roof integers[] = {
    {.op = "add", .rate = 96}, {.op = "logic", .rate = 128}, {.op = "dot", .rate = 128}};
static struct carm_compute_roof short_integers[] = {{.op = "mul", .rate = 16}};

/* Vectors of 32 bytes, at most 4 in a second: 3 additions, 2 dot products of 64 operations each. */
TEST_BETWEEN(integers_have_the_roofs_of_their_kinds, set_up, NULL)
{
    strcpy(sets[0].precision, "int8");
    strcpy(sets[1].precision, "int16");
    strcpy(sets[1].isa, "avx2");
    sets[0].compute = integers;
    sets[0].ncompute = 3;
    sets[1].compute = short_integers;
    sets[1].ncompute = 1;
    find();
    assert_false(own.has_compute); /* its kinds are not known */
    mix.q[CARM_RUNMIX_INT] = 100;
    mix.q[CARM_RUNMIX_INT_INSTRUCTIONS] = 100.0 / 32;
    mix.q[CARM_RUNMIX_INT_ADDS] = 100;
    find();
    assert_near(own.peak, 96, 1e-9);
    assert_string_equal(own.compute, "32 operations an instruction, 100% additions");
    mix.q[CARM_RUNMIX_INT_ADDS] = 50;
    mix.q[CARM_RUNMIX_INT_LOGIC] = 50; /* beside the additions: 4 instructions bind */
    find();
    assert_near(own.peak, 128, 1e-9);
    mix.q[CARM_RUNMIX_INT_INSTRUCTIONS] = 100.0 / 16; /* vectors half as wide */
    find();
    assert_near(own.peak, 64, 1e-9);
    mix.q[CARM_RUNMIX_INT] = 50; /* the others on elements of another width: no kind binds alone */
    mix.q[CARM_RUNMIX_INT_ADDS] = 100;
    mix.q[CARM_RUNMIX_INT_INSTRUCTIONS] = 100.0 / 32;
    find();
    assert_near(own.peak, 128, 1e-9);
    mix.q[CARM_RUNMIX_INT_INSTRUCTIONS] = 100.0 / 8;
    for (int wide_ones = 0; wide_ones < 2; wide_ones++) { /* 10 of 8 or 32 lanes in a second */
        (void)strcpy(sets[1].isa, wide_ones ? "avx512" : "sse");
        short_integers[0].rate = wide_ones ? 320 : 80;
        find();
        assert_near(own.peak, 80, 1e-9);
    }
    sets[1].threads = 2;
    find();
    assert_near(own.peak, 32, 1e-9);
    integers[2].rate = 512; /* 8 dot products in a second */
    find();
    assert_near(own.peak, 64, 1e-9);
    integers[2].rate = 128;
    sets[1].threads = 1;
    short_integers[0].rate = 16;
    (void)strcpy(sets[1].isa, "scalar"); /* no vectors */
    mix.q[CARM_RUNMIX_INT_INSTRUCTIONS] = 50;
    find();
    assert_near(own.peak, 8, 1e-9);
    (void)strcpy(sets[0].isa, "scalar");
    find();
    assert_false(own.has_compute);
}

TEST_BETWEEN(places, set_up, NULL)
{
    struct carm_place_set set;
    struct carm_place place = {.intensity = 1, .performance = 50, .roof = 96, .share = 50 / 96.0};
    struct carm_own_roof roof;
    char text[256];
    carm_place_prepare(&set, &model, &sets[0]);
    put_accesses(2, 32, 0, 32);
    find();
    assert_true(carm_own_place(&own, &set, CARM_PLACE_CACHE_AWARE, &place, &roof));
    assert_near(roof.roof, 64, 1e-9);
    assert_near(roof.share, 50.0 / 64, 1e-9);
    assert_near(roof.gain, 1.5, 1e-9);
    assert_near(roof.peak, 160, 0); /* the machine's */
    assert_string_equal(
        carm_own_text(text, sizeof text, &roof, &place),
        "at 78.1% of what its instructions allow, at 52.1% of the machine's roof; with these "
        "instructions at most 1.3x is left; wider vectors, other operations or another algorithm "
        "could give another 1.5x");
    assert_false(carm_own_place(&own, &set, CARM_PLACE_ORIGINAL, &place, &roof));
    place.roof = 60; /* as that of 2:1 in L2 is for an update */
    place.share = 50 / 60.0;
    assert_true(carm_own_place(&own, &set, CARM_PLACE_CACHE_AWARE, &place, &roof));
    assert_string_equal(
        carm_own_text(text, sizeof text, &roof, &place),
        "at 78.1% of what its instructions allow, at 83.3% of the machine's roof; with these "
        "instructions at most 1.3x is left; its loads and stores are faster than those of the "
        "machine's roof");
    place.performance = 70;
    assert_true(carm_own_place(&own, &set, CARM_PLACE_CACHE_AWARE, &place, &roof));
    assert_non_null(strstr(carm_own_text(text, sizeof text, &roof, &place), "above its own roof"));
}

/* "loads and stores; operations; levels, of all; share of stores, bytes an access; peak" */
static const char *told(double bytes)
{
    static char text[1024];
    carm_own_find(&model, &sets[0], &mix, flops, bytes, &own);
    int used = snprintf(text, sizeof text, "%s; %s;", own.memory, own.compute);
    for (size_t i = 0; i < own.nlevels; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used, " %s %.5g", own.levels[i].level,
                         own.levels[i].bandwidth);
    }
    (void)snprintf(text + used, sizeof text - (size_t)used, ", %.5g; %.4g, %.5g; %s%s%.5g",
                   own.bandwidth, own.stores, own.access_bytes, own.has_memory ? "m" : "",
                   own.has_compute ? "c" : "", own.peak);
    return text;
}

/* Loads and stores by number and by bytes, of a machine with roofs of two widths, and of one. */
TEST_BETWEEN(loads_and_stores_in_words, set_up, NULL)
{
    static const struct {
        double loads, load_bytes, stores, store_bytes, bytes;
        size_t nroofs;
        const char *told;
    } cases[] = {
        {2, 64, 1, 32, -1, 2,
         "2:1 loads to stores (measured: 2:1), 32 bytes an access; its vector widths were not counted; its adds, multiplies and FMAs were not counted separately; L1 96 L2 48, 96; 0.3333, 32; m160"},
        {2000, 64000, 1, 32, -1, 2,
         "loads alone (measured: 1:0), 32 bytes an access; its vector widths were not counted; its adds, multiplies and FMAs were not counted separately; L1 64.032 L2 32.016, 64.032; 0.0004998, 32; m160"},
        {1, 32, 1999, 63968, -1, 2,
         "stores alone (measured: 0:1), 32 bytes an access; its vector widths were not counted; its adds, multiplies and FMAs were not counted separately; L1 32.016 L2 20.014, 32.016; 0.9995, 32; m160"},
        {500, 16000, 1, 32, -1, 2,
         "500:1 loads to stores (between 1:0 and 2:1), 32 bytes an access; its vector widths were not counted; its adds, multiplies and FMAs were not counted separately; L1 64.128 L2 32.064, 64.128; 0.001996, 32; m160"},
        {1, 32, 500, 16000, -1, 2,
         "1:500 loads to stores (between 1:1 and 0:1), 32 bytes an access; its vector widths were not counted; its adds, multiplies and FMAs were not counted separately; L1 32.064 L2 20.055, 32.064; 0.998, 32; m160"},
        {989, 31648, 1, 32, -1, 2,
         "989:1 loads to stores (between 1:0 and 2:1), 32 bytes an access; its vector widths were not counted; its adds, multiplies and FMAs were not counted separately; L1 64.065 L2 32.032, 64.065; 0.00101, 32; m160"},
        {4, 32, 1, 32, -1, 2,
         "1:1 loads to stores (measured: 1:1), 12.8 bytes an access; its vector widths were not counted; its adds, multiplies and FMAs were not counted separately; L1 32 L2 24.49, 32; 0.5, 12.8; m160"},
        {1, 32, 4, 32, -1, 2,
         "1:1 loads to stores (measured: 1:1), 12.8 bytes an access; its vector widths were not counted; its adds, multiplies and FMAs were not counted separately; L1 25.6 L2 22.513, 25.6; 0.5, 12.8; m160"},
        {1, 8, 1, 32, -1, 2,
         "1:4 loads to stores (between 1:1 and 0:1), 20 bytes an access; its vector widths were not counted; its adds, multiplies and FMAs were not counted separately; L1 40 L2 36.842, 40; 0.8, 20; m160"},
        {3, 48, 1, 16, -1, 2,
         "3:1 loads to stores (between 1:0 and 2:1), 16 bytes an access; its vector widths were not counted; its adds, multiplies and FMAs were not counted separately; L1 42.667 L2 29.691, 42.667; 0.25, 16; m160"},
        {3, 192, 1, 64, -1, 2,
         "3:1 loads to stores (between 1:0 and 2:1), 64 bytes an access; its vector widths were not counted; its adds, multiplies and FMAs were not counted separately; L1 85.333 L2 42.667, 85.333; 0.25, 64; m160"},
        {3, 12, 1, 4, -1, 2,
         "3:1 loads to stores (between 1:0 and 2:1), 4 bytes an access (scaled from wider ones); its vector widths were not counted; its adds, multiplies and FMAs were not counted separately; L1 10.667 L2 10.667, 10.667; 0.25, 4; m160"},
        {3, 12, 1, 4, -1, 1, "3:1 loads to stores (between 1:0 and 2:1), 4 bytes an access (scaled from wider ones); its vector widths were not counted; its adds, multiplies and FMAs were not counted separately; L1 10.667 L2 10.667, 10.667; 0.25, 4; m160"},
        {3, 192, 1, 64, -1, 1,
         "3:1 loads to stores (between 1:0 and 2:1), 64 bytes an access; its vector widths were not counted; its adds, multiplies and FMAs were not counted separately; L1 85.333 L2 42.667, 85.333; 0.25, 64; m160"},
        {4, 16, 1, 32, -1, 1,
         "1:2 loads to stores (between 1:1 and 0:1), 9.6 bytes an access (scaled from wider ones); its vector widths were not counted; its adds, multiplies and FMAs were not counted separately; L1 24 L2 24, 24; 0.6667, 9.6; m160"},
        {-1, 64, -1, 32, -1, 2,
         "2:1 loads to stores (measured: 2:1); its vector widths were not counted; its adds, multiplies and FMAs were not counted separately; L1 96 L2 48, 96; 0.3333, 0; m160"},
        {2, -1, 1, -1, 48, 2,
         "2:1 loads to stores (measured: 2:1), 16 bytes an access; its vector widths were not counted; its adds, multiplies and FMAs were not counted separately; L1 48 L2 32.727, 48; 0.3333, 16; m160"},
        {2, 63, 1, 31.5, -1, 1,
         "2:1 loads to stores (measured: 2:1), 31.5 bytes an access (scaled from wider ones); its vector widths were not counted; its adds, multiplies and FMAs were not counted separately; L1 94.5 L2 48, 94.5; 0.3333, 31.5; m160"},
        {2, -1, 1, -1, 0, 2,
         "2:1 loads to stores (measured: 2:1); its vector widths were not counted; its adds, multiplies and FMAs were not counted separately; L1 96 L2 48, 96; 0.3333, 0; m160"},
        {2, 64, 1, -1, 96, 2,
         "2:1 loads to stores (measured: 2:1), 32 bytes an access; its vector widths were not counted; its adds, multiplies and FMAs were not counted separately; L1 96 L2 48, 96; 0.3333, 32; m160"},
        {0, 0, 0, 0, 0, 2,
         "it loads and stores nothing; its vector widths were not counted; its adds, multiplies and FMAs were not counted separately;, 0; 0, 0; 160"},
        {0, 0, 0, 0, 5, 2,
         "its loads and stores were not counted; its vector widths were not counted; its adds, multiplies and FMAs were not counted separately;, 0; 0, 0; 160"},
        {-1, -1, -1, -1, 0, 2,
         "its loads and stores were not counted; its vector widths were not counted; its adds, multiplies and FMAs were not counted separately;, 0; 0, 0; 160"},
        {0.5, 16, 0.25, 8, -1, 2,
         "2:1 loads to stores (measured: 2:1), 32 bytes an access; its vector widths were not counted; its adds, multiplies and FMAs were not counted separately; L1 96 L2 48, 96; 0.3333, 32; m160"},
        {2, -1, -1, -1, 64, 2,
         "its loads and stores were not counted; its vector widths were not counted; its adds, multiplies and FMAs were not counted separately;, 0; 0, 0; 160"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mix.q[CARM_RUNMIX_LOADS] = cases[i].loads;
        mix.q[CARM_RUNMIX_STORES] = cases[i].stores;
        mix.q[CARM_RUNMIX_LOAD_BYTES] = cases[i].load_bytes;
        mix.q[CARM_RUNMIX_STORE_BYTES] = cases[i].store_bytes;
        model.nroofs = cases[i].nroofs;
        assert_string_equal(told(cases[i].bytes), cases[i].told);
    }
}

/* Operations by kind and width. */
TEST_BETWEEN(operations_in_words, set_up, NULL)
{
    static const struct {
        double adds, muls, fmas, divides, roots, scalar, sse, avx2, avx512;
        size_t nroofs;
        const char *told;
    } cases[] = {
        {100, 0, 0, 0, 0, 0, 0, 399, 0, 2,
         "its loads and stores were not counted; 32 bytes 100% of its dp flops; rates: the peak; 0% of flops in FMAs;, 0; 0, 0; c80"},
        {50, 0, 50, 0, 0, 0, 0, 600, 0, 2,
         "its loads and stores were not counted; 32 bytes 100% of its dp flops; rates: the peak; 66.7% of flops in FMAs;, 0; 0, 0; c160"},
        {50, 30, 10, 5, 0, 0, 0, 420, 0, 2,
         "its loads and stores were not counted; 32 bytes 100% of its dp flops; rates: the peak; 19% of flops in FMAs, 4.76% in divisions and roots;, 0; 0, 0; c152.73"},
        {50, 30, 10, 20, 5, 120, 0, 0, 0, 2,
         "its loads and stores were not counted; scalar 100% of its dp flops; rates: narrower ISAs, the peak; 16.7% of flops in FMAs, 16.7% in divisions and roots;, 0; 0, 0; c19.2"}, /* 6.25 s of the divider */
        {50, 30, 10, 20, 25, 120, 0, 0, 0, 2,
         "its loads and stores were not counted; scalar 100% of its dp flops; rates: narrower ISAs, the peak; 16.7% of flops in FMAs, 16.7% in divisions and roots;, 0; 0, 0; c12"}, /* 10 s */
        {50, 30, 10, 20, 5, 120, 0, 0, 0, 1,
         "its loads and stores were not counted; scalar 100% of its dp flops; rates: the peak scaled by lanes, the peak; 16.7% of flops in FMAs, 16.7% in divisions and roots;, 0; 0, 0; c34.286"}, /* 2.5 s by the rates of vectors */
        {0, 0, 100, 0, 0, 0, 400, 0, 0, 2,
         "its loads and stores were not counted; 16 bytes 100% of its dp flops; rates: the peak scaled by lanes, the peak; 100% of flops in FMAs;, 0; 0, 0; c80"},
        {60, 20, 20, 0, 0, 60, 0, 240, 0, 2,
         "its loads and stores were not counted; scalar 20%, 32 bytes 80% of its dp flops; rates: narrower ISAs, the peak; 33.3% of flops in FMAs;, 0; 0, 0; c100"},
        {60, 20, 20, 0, 0, 300, 0, 3, 0, 2,
         "its loads and stores were not counted; scalar 99%, 32 bytes 0.99% of its dp flops; rates: narrower ISAs, the peak; 33.3% of flops in FMAs;, 0; 0, 0; c40"},
        {60, 20, 20, 0, 0, 300, 0, 2.9, 0, 2,
         "its loads and stores were not counted; scalar 99%, 32 bytes 0.957% of its dp flops; rates: narrower ISAs, the peak; 33.3% of flops in FMAs;, 0; 0, 0; c40"},
        {60, 20, 20, 0, 0, 0, 120, 240, 0, 1,
         "its loads and stores were not counted; 16 bytes 33.3%, 32 bytes 66.7% of its dp flops; rates: the peak scaled by lanes, the peak; 33.3% of flops in FMAs;, 0; 0, 0; c120"},
        {60, 20, 20, 0, 0, 0, 0, 0, 960, 2,
         "its loads and stores were not counted; 64 bytes 100% of its dp flops; rates: the peak; 33.3% of flops in FMAs;, 0; 0, 0; c160"},
        {100, 0, 0, 0, 0, -1, -1, -1, -1, 2,
         "its loads and stores were not counted; its vector widths were not counted; 0% of flops in FMAs;, 0; 0, 0; c80"},
        {-1, 20, 20, 0, 0, 400, 0, 0, 0, 2,
         "its loads and stores were not counted; scalar 100% of its dp flops; rates: narrower ISAs, the peak; its adds, multiplies and FMAs were not counted separately;, 0; 0, 0; c40"},
        {60, 20, 20, 0, 0, 0, 0, 300, 0, 2,
         "its loads and stores were not counted; 32 bytes 100% of its dp flops; rates: the peak; 33.3% of flops in FMAs;, 0; 0, 0; c100"},
        {0.5, 0, 0, 0.25, 0.125, 0.75, 0, 0, 0, 2,
         "its loads and stores were not counted; its vector widths were not counted; 0% of flops in FMAs, 33.3% in divisions and roots;, 0; 0, 0; c24"},
        {0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
         "its loads and stores were not counted; its vector widths were not counted; none of its instructions compute;, 0; 0, 0; 160"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_ops(cases[i].adds, cases[i].muls, cases[i].fmas, cases[i].divides);
        mix.q[CARM_RUNMIX_ROOTS] = cases[i].roots;
        const double in[] = {cases[i].scalar, cases[i].sse, cases[i].avx2, cases[i].avx512};
        memcpy(&mix.q[DP], in, sizeof in);
        flops = fmax(1.0, in[0] + in[1] + in[2] + in[3]);
        model.nroofs = cases[i].nroofs;
        assert_string_equal(told(-1), cases[i].told);
    }
    sets[0].ncompute = 0;
    assert_non_null(strstr(told(-1), "the model has no peak;"));
}

/* Operations on vectors of integers: of one width of elements, of several; kinds with roofs and without. */
TEST_BETWEEN(integers_in_words, set_up, NULL)
{
    static struct carm_compute_roof all[] = {{.op = "add", .rate = 96},
                                             {.op = "logic", .rate = 128},
                                             {.op = "ifma", .rate = 48},
                                             {.op = "mul", .rate = 24}};
    static const struct {
        double instructions, int8, int16, int32, int64, adds, muls, logic, dots;
        const char *told;
    } cases[] = {
        {10, 0, 0, 100, 0, 50, 30, 20, 0,
         "its loads and stores were not counted; 10 operations an instruction, 50% additions, 30% multiplications, 20% logic;, 0; 0, 0; c80"},
        {10, 0, 0, 99, 1, 50, 30, 20, 0,
         "its loads and stores were not counted; 10 operations an instruction, 50% additions, 30% multiplications, 20% logic;, 0; 0, 0; c80"},
        {10, 0, 0, 98.9, 1.1, 50, 30, 20, 0,
         "its loads and stores were not counted; 10 operations an instruction, 50% additions, 30% multiplications, 20% logic;, 0; 0, 0; c128"},
        {10, 100, 0, 0, 0, 50, 30, 20, 0,
         "its loads and stores were not counted; 10 operations an instruction, 50% additions, 30% multiplications, 20% logic;, 0; 0, 0; c128"},
        {10, 0, 0, 100, 0, 0, 0, 0, 100,
         "its loads and stores were not counted; 10 operations an instruction, 100% dot products;, 0; 0, 0; c48"},
        {1, 0, 0, 100, 0, 1, 0.9, 98.1, 0,
         "its loads and stores were not counted; 100 operations an instruction, 1% additions, 98.1% logic;, 0; 0, 0; c128"},
        {0.5, 0, 0, 100, 0, 100, -1, -1, -1,
         "its loads and stores were not counted; 200 operations an instruction, 100% additions;, 0; 0, 0; c96"},
        {0, 0, 0, 100, 0, 100, -1, -1, -1,
         "its loads and stores were not counted; its operations were not counted by kind;, 0; 0, 0; 0"},
        {-1, 0, 0, 100, 0, 100, -1, -1, -1,
         "its loads and stores were not counted; its operations were not counted by kind;, 0; 0, 0; 0"},
    };
    (void)strcpy(sets[0].precision, "int32");
    (void)strcpy(sets[1].precision, "int8");
    (void)strcpy(sets[1].isa, "sse"); /* 16 lanes: dot products of two operations */
    sets[0].compute = all;
    sets[0].ncompute = 4;
    sets[1].compute = integers;
    sets[1].ncompute = 3;
    flops = 100;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double of[] = {cases[i].int8, cases[i].int16, cases[i].int32, cases[i].int64};
        memcpy(&mix.q[CARM_RUNMIX_INT], of, sizeof of);
        mix.q[CARM_RUNMIX_INT_INSTRUCTIONS] = cases[i].instructions;
        mix.q[CARM_RUNMIX_INT_ADDS] = cases[i].adds;
        mix.q[CARM_RUNMIX_INT_MULS] = cases[i].muls;
        mix.q[CARM_RUNMIX_INT_LOGIC] = cases[i].logic;
        mix.q[CARM_RUNMIX_INT_DOTS] = cases[i].dots;
        assert_string_equal(told(-1), cases[i].told);
    }
}

/* What is left, at the limits of the words. */
TEST(roofs_in_words)
{
    static const struct {
        double share, gain;
        const char *told;
    } cases[] = {
        {1.031, 1.0,
         "at 103.1% of what its instructions allow, at 40.0% of the machine's roof; above its own roof: its counts are wrong, the roof is too low, or its accesses are faster than the measured vector ones (integer registers, lines stored whole)"},
        {1.029, 1.0,
         "at 102.9% of what its instructions allow, at 40.0% of the machine's roof; with these instructions nothing is left"},
        {0.971, 1.029,
         "at 97.1% of what its instructions allow, at 40.0% of the machine's roof; with these instructions nothing is left"},
        {0.969, 1.031,
         "at 96.9% of what its instructions allow, at 40.0% of the machine's roof; with these instructions at most 1x is left; wider vectors, other operations or another algorithm could give another 1x"},
        {0.5, 0.971,
         "at 50.0% of what its instructions allow, at 40.0% of the machine's roof; with these instructions at most 2x is left"},
        {0.5, 0.969,
         "at 50.0% of what its instructions allow, at 40.0% of the machine's roof; with these instructions at most 2x is left; its loads and stores are faster than those of the machine's roof"},
        {0.0011, 1,
         "at 0.1% of what its instructions allow, at 40.0% of the machine's roof; with these instructions at most 909x is left"},
        {0.00099, 1,
         "at 0.1% of what its instructions allow, at 40.0% of the machine's roof; with these instructions over 1000x is left"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct carm_own_roof roof = {.share = cases[i].share, .gain = cases[i].gain};
        const struct carm_place place = {.share = 0.4};
        char text[400];
        assert_string_equal(carm_own_text(text, sizeof text, &roof, &place), cases[i].told);
    }
}
