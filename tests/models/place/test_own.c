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
    struct carm_memory_roof more[10];
    put_accesses(2, 32, 1, 32);
    assert_levels(96, 96 / (1 / 1.0 + 64 / 64.0));
    memcpy(more, wide, sizeof wide);
    more[9] = (struct carm_memory_roof){.level = "L2", .ldst = "2:1update", .bandwidth = 53};
    sets[0].memory = more;
    sets[0].nmemory = 10;
    assert_levels(96, 53);
}

/* A mix that is slower than a composition of its neighbours binds nobody. */
TEST_BETWEEN(the_hull_is_below_slow_mixes, set_up, NULL)
{
    struct carm_memory_roof slow[3] = {wide[2], wide[1], wide[3]};
    slow[1].bandwidth = 40; /* half at 64, half at 32 is 42.7 */
    sets[0].memory = slow;
    sets[0].nmemory = 3;
    model.nlevels = 1;
    put_accesses(1, 32, 1, 32);
    find();
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
    split[2].bytes_per_cycle = 32;
    sets[0].memory = split;
    assert_levels(96.0 / 2, 1 / (1.0 / 3 / 32 + 2.0 / 3 / 64));
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
