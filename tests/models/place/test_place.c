/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placement in closed form: a made-up machine with round roofs. */
#include "models/latency.h"
#include "models/place/place.h"
#include "tests/unit.h"

/* L1 100, L2 50, DRAM 10 byte/s; fma 40, add 20 flop/s; avx2 beside it: fma 30. Ridge 0.4. */
static struct carm_memory_roof memory[] = {
    {.level = "L1", .ldst = "2:1", .bandwidth = 100},
    {.level = "L1", .ldst = "1:0", .bandwidth = 150}, /* another mix: no ceiling */
    {.level = "L2", .ldst = "2:1", .bandwidth = 50},
    {.level = "DRAM", .ldst = "2:1", .bandwidth = 10},
};
static struct carm_compute_roof compute[] = {{.op = "fma", .rate = 40}, {.op = "add", .rate = 20}};
static struct carm_compute_roof narrow[] = {{.op = "fma", .rate = 30}};
static struct carm_compute_roof twice[] = {{.op = "fma", .rate = 80}};
static struct carm_roofs sets[] = {
    {.isa = "avx512",
     .precision = "dp",
     .threads = 1,
     .memory = memory,
     .nmemory = 4,
     .compute = compute,
     .ncompute = 2,
     .dram_peak = {.bandwidth = 12, .code = "A"}},
    {.isa = "avx2", .precision = "dp", .threads = 1, .compute = narrow, .ncompute = 1},
    {.isa = "avx512", .precision = "dp", .threads = 4, .compute = twice, .ncompute = 1},
};
static struct carm_level levels[] = {{.level = "L1"}, {.level = "L2"}, {.level = "DRAM"}};
static const struct carm_model model = {
    .config = {.ldst = "2:1"}, .levels = levels, .nlevels = 3, .roofs = sets, .nroofs = 3};

static struct carm_place place(double flops, double bytes, double seconds)
{
    struct carm_place p;
    assert_ok(carm_place_cache_aware(&model, &sets[0], flops, bytes, seconds, &p, &err));
    return p;
}

static void assert_close(double a, double b)
{
    assert_true(a > b * 0.999999 && a < b * 1.000001);
}

/* I = 0.1: L1 allows 10, L2 5, DRAM 1; no horizontal ceiling shows (20 > 10). */
TEST(left_of_the_ridge)
{
    const struct carm_place p = place(4.0, 40.0, 1.0);
    assert_close(p.intensity, 0.1);
    assert_close(p.performance, 4.0);
    assert_close(p.roof, 10.0);
    assert_close(p.share, 0.4);
    assert_int_equal(p.nceilings, 3);
    assert_string_equal(p.ceilings[p.above].name, "L2");
    assert_string_equal(p.ceilings[p.below].name, "DRAM");
    assert_close(p.ceilings[p.above].at, 5.0);
    assert_int_equal(p.bound, CARM_BOUND_MEMORY);
    assert_false(p.over);
    assert_string_equal(
        p.advice,
        "between the ceilings of DRAM and L2: part of its data may come from DRAM; try blocking for "
        "L2; at most 1.2x to the ceiling above, 2.5x to the roof");
    assert_close(p.intensity_low, p.intensity);
    assert_close(p.share_high, p.share);
}

/* A loop that keeps everything in registers: the peak alone bounds it. */
TEST(no_bytes_at_all)
{
    const struct carm_place p = place(8.0, 0.0, 1.0);
    assert_true(isinf(p.intensity) && isinf(p.intensity_low) && isinf(p.intensity_high));
    assert_close(p.roof, 40.0);
    assert_close(p.share, 0.2);
    assert_close(p.share_low, 0.2);
    assert_int_equal(p.nceilings, 3); /* add, avx2 fma, fma: no slope */
    assert_string_equal(p.ceilings[p.above].name, "add");
    assert_int_equal(p.bound, CARM_BOUND_COMPUTE);

    struct carm_place_set set;
    struct carm_place out;
    const struct carm_place_input in = {.flops = 8.0, .bytes = 0.0, .seconds = 1.0};
    carm_place_prepare_metric(&set, &model, &sets[0], "exchange", 0.0);
    assert_refused(carm_place_point(&set, CARM_PLACE_CACHE_AWARE, &in, &out, &err), -CARM_ENOTSUP,
                   "--peak");
    carm_place_prepare_metric(&set, &model, &sets[0], "exchange", 16.0);
    assert_ok(carm_place_point(&set, CARM_PLACE_CACHE_AWARE, &in, &out, &err));
    assert_close(out.share, 0.5);
}

/* Nothing below: the reason lies in the accesses themselves. */
TEST(below_all)
{
    const struct carm_place p = place(0.5, 5.0, 1.0);
    assert_string_equal(p.ceilings[p.above].name, "DRAM");
    assert_int_equal(p.below, -1);
    assert_non_null(strstr(p.advice, "below the ceiling of DRAM: it may wait for latency"));
    assert_non_null(strstr(p.advice, "at most 2.0x to the ceiling above, 20.0x to the roof"));
}

TEST(at_a_slope)
{
    const struct carm_place p = place(4.9, 49.0, 1.0);
    assert_string_equal(p.ceilings[p.above].name, "L2");
    assert_non_null(strstr(
        p.advice,
        "at the ceiling of L2, which may bind it: try blocking for L1; at most 2.0x to the next"));
}

/* I = 1: L1 and L2 lie over the peak there and do not show; DRAM 10, add 20, avx2 fma 30, fma 40. */
TEST(right_of_the_ridge)
{
    const struct carm_place p = place(25.0, 25.0, 1.0);
    assert_close(p.roof, 40.0);
    assert_int_equal(p.nceilings, 4);
    assert_string_equal(p.ceilings[0].name, "DRAM");
    assert_string_equal(p.ceilings[1].name, "add");
    assert_string_equal(p.ceilings[2].name, "avx2 fma");
    assert_string_equal(p.ceilings[3].name, "fma");
    assert_true(p.ceilings[3].roof);
    assert_int_equal(p.above, 2);
    assert_int_equal(p.below, 1);
    assert_int_equal(p.bound, CARM_BOUND_COMPUTE);
    assert_true(p.ceilings[2].narrow);
    assert_non_null(strstr(p.advice, "between the ceilings of DRAM and avx2 fma"));
    const struct carm_place at = place(29.0, 29.0, 1.0);
    assert_non_null(
        strstr(at.advice, "at the ceiling of avx2 fma; next: wider vectors; at most 1.4x"));
    const struct carm_place peak = place(39.0, 39.0, 1.0);
    assert_non_null(strstr(peak.advice, "at the peak (fma): 1.03x is left"));
}

/* I = 0.42: L1 allows 42, fma 40: within a tenth of the peak only when both show. L2's 21 and add's
 * 20 bind together. */
TEST(bound_by_both)
{
    const struct carm_place p = place(19.0, 19.0 / 0.42, 1.0);
    assert_string_equal(p.ceilings[p.above].name, "add");
    assert_int_equal(p.bound, CARM_BOUND_BOTH);
}

TEST(above_the_roof)
{
    struct carm_place p = place(12.0, 100.0, 1.0); /* exactly 12 under 12: on it */
    assert_false(p.over);
    p = place(15.0, 100.0, 1.0 / 1.1);
    assert_true(p.over);
    assert_int_equal(p.above, -1);
    assert_close(p.performance, 16.5); /* never clipped */
    assert_true(p.share > 1.09);
    /* 110 byte/s are within the 150 of loads alone, 165 are not */
    assert_non_null(strstr(p.advice, "1.10 times the roof (L1): its mix of loads and stores is "
                                     "faster than the model's; L1 reaches 1.5e-07 GB/s with the "
                                     "mix 1:0"));
    p = place(16.5, 165.0, 1.0);
    assert_non_null(strstr(p.advice, "1.65 times the roof (L1): 1.65e-07 GB/s is more than"));
    p = place(50.0, 50.0, 1.0);
    assert_non_null(strstr(p.advice, "1.25 times the roof (fma); possible reasons: its threads are "
                                     "not known, the roof was measured too low"));
}

static struct carm_place place_with(struct carm_place_input in)
{
    static struct carm_place_set set;
    struct carm_place p;
    carm_place_prepare(&set, &model, &sets[0]);
    assert_ok(carm_place_point(&set, CARM_PLACE_CACHE_AWARE, &in, &p, &err));
    return p;
}

/* What is certain goes before what the numbers suggest. */
TEST(reasons_for_above)
{
    struct carm_place_input in = {.flops = 80, .bytes = 80, .seconds = 1, .threads = 1};
    in.isa = "avx512";
    in.precision = "dp";
    assert_non_null(strstr(place_with(in).advice, "flops were counted that did not run"));
    in.precision = "sp";
    assert_non_null(strstr(place_with(in).advice, "it computes in sp, but the roof is for dp"));
    in.threads = 4;
    assert_non_null(strstr(place_with(in).advice, "it ran 4 threads, but the roof is for 1"));
    in.elsewhere = true;
    assert_non_null(strstr(place_with(in).advice, "of another machine"));
}

/* A point of one thread under the roofs of a model whose first two sets are given. */
static struct carm_place place_under(const struct carm_roofs roofs[2], double flops, double bytes,
                                     const char *isa)
{
    static struct carm_place_set set;
    struct carm_model m = model;
    struct carm_place p;
    const struct carm_place_input in = {
        .flops = flops, .bytes = bytes, .seconds = 1, .threads = 1, .isa = isa, .precision = "dp"};
    m.roofs = (struct carm_roofs *)roofs;
    m.nroofs = 2;
    carm_place_prepare(&set, &m, &roofs[0]);
    assert_int_equal(carm_place_point(&set, CARM_PLACE_CACHE_AWARE, &in, &p, NULL), 0);
    return p;
}

/* The reason is looked for in the roof before it is looked for in the count. */
TEST(the_roof_is_asked_first)
{
    char note[CARM_TEXT_MAX];
    struct carm_memory_roof low[] = {{.level = "L1", .ldst = "2:1", .bandwidth = 100},
                                     {.level = "L2", .ldst = "2:1", .bandwidth = 50}};
    struct carm_memory_roof other[] = {{.level = "L1", .ldst = "2:1", .bandwidth = 118},
                                       {.level = "L1", .ldst = "1:0", .bandwidth = 130}};
    struct carm_compute_roof peak[] = {{.op = "fma", .rate = 40}};
    struct carm_compute_roof higher[] = {{.op = "fma", .rate = 44}};
    struct carm_roofs roofs[2] = {sets[0], sets[1]};
    roofs[0].memory = low;
    roofs[0].nmemory = 2;
    roofs[0].compute = peak;
    roofs[0].ncompute = 1;
    roofs[1].memory = other;
    roofs[1].nmemory = 2;
    roofs[1].compute = higher;
    roofs[1].ncompute = 1;
    const char *other_isa =
        "1.20 times the roof (L1), which is for avx512: avx2 is faster there and "
        "reaches 1.3e-07 GB/s with the mix 1:0; --isa avx2 places it under";
    assert_non_null(strstr(place_under(roofs, 12, 120, "avx2").advice, other_isa));
    assert_non_null(strstr(place_under(roofs, 12, 120, "").advice, other_isa));
    assert_non_null(strstr(place_under(roofs, 12, 120, "avx512").advice, "another mix or ISA"));
    assert_non_null(strstr(place_under(roofs, 15, 150, "avx2").advice, "another mix or ISA"));
    assert_non_null(strstr(place_under(roofs, 44, 44, "avx2").advice,
                           "1.10 times the roof (fma), which is for avx512: avx2 is faster and "
                           "reaches 4.4e-08 Gflop/s"));
    roofs[1].threads = 2; /* no roofs of avx2 that serve */
    assert_non_null(strstr(place_under(roofs, 44, 44, "avx2").advice,
                           "(fma), which is for avx512: it computes in avx2, which can be faster; "
                           "carm build --isa avx2 measures it"));
    low[0].disturbed = peak[0].disturbed = true;
    const char *disturbed = "which was disturbed while it was measured and may be too low";
    assert_non_null(strstr(place_under(roofs, 12, 120, "avx2").advice, disturbed));
    assert_non_null(strstr(place_under(roofs, 80, 80, "avx512").advice, disturbed));
    /* and whoever chooses roofs is told */
    struct carm_model m = model;
    m.roofs = roofs;
    m.nroofs = 1;
    assert_ptr_equal(carm_place_roofs(&m, "dp", 1, note), &roofs[0]);
    assert_string_equal(note,
                        "disturbed while measured, so perhaps too low: L1, fma (carm build on a "
                        "quiet machine measures them again)");
}

/* The roofs of Zen 4: 32-byte vectors are faster in L1 and, here, in the peak. */
TEST(the_best_of_two_isas)
{
    static struct carm_place_set set;
    char note[CARM_TEXT_MAX];
    const struct carm_roofs *whose = NULL;
    struct carm_memory_roof wide[] = {{.level = "L1", .ldst = "2:1", .bandwidth = 299},
                                      {.level = "L2", .ldst = "2:1", .bandwidth = 118}};
    struct carm_memory_roof first[] = {
        {.level = "L1", .ldst = "2:1", .bandwidth = 352, .ci95 = {351, 353}}};
    struct carm_compute_roof peak[] = {{.op = "fma", .rate = 59}};
    struct carm_compute_roof other[] = {{.op = "fma+add", .rate = 88, .ci95 = {87, 89}}};
    struct carm_roofs roofs[2] = {sets[0], sets[1]};
    struct carm_model m = model;
    roofs[0].memory = wide;
    roofs[0].nmemory = 2;
    roofs[0].compute = peak;
    roofs[0].ncompute = 1;
    roofs[1].memory = first;
    roofs[1].nmemory = 1;
    roofs[1].compute = other;
    roofs[1].ncompute = 1;
    m.roofs = roofs;
    m.nroofs = 2;
    m.nlevels = 2;
    /* the narrower set is no set to be placed under, and its roofs are those of the wider one */
    assert_true(carm_model_is_beside(&m, &roofs[1]));
    assert_false(carm_model_is_beside(&m, &roofs[0]));
    assert_ptr_equal(carm_place_roofs_of(&m, "avx2", "dp", 1, note), &roofs[0]);
    { /* with all levels it is the set of its own points alone, whatever other mixes the wider one has */
        struct carm_memory_roof more[] = {
            wide[0], wide[1], {.level = "L2", .ldst = "1:0", .bandwidth = 120}};
        struct carm_memory_roof all[] = {first[0],
                                         {.level = "L2", .ldst = "2:1", .bandwidth = 110}};
        roofs[0].memory = more;
        roofs[0].nmemory = 3;
        roofs[1].memory = all;
        roofs[1].nmemory = 2;
        assert_true(carm_model_is_beside(&m, &roofs[1]));
        assert_true(carm_model_has_levels(&m, &roofs[1]));
        assert_ptr_equal(carm_place_roofs_of(&m, "avx2", "dp", 1, note), &roofs[1]);
        assert_ptr_equal(carm_place_roofs_of(&m, "avx", "dp", 1, note), &roofs[1]);
        assert_ptr_equal(carm_place_roofs_of(&m, "", "dp", 1, note), &roofs[0]);
        roofs[0].memory = wide;
        roofs[0].nmemory = 2;
        roofs[1].memory = first;
        roofs[1].nmemory = 1;
    }
    assert_ptr_equal(carm_model_best_memory(&m, &roofs[0], "L1", "2:1", &whose), &first[0]);
    assert_ptr_equal(whose, &roofs[1]);
    assert_ptr_equal(carm_model_best_memory(&m, &roofs[0], "L2", "2:1", &whose), &wide[1]);
    assert_ptr_equal(whose, &roofs[0]);
    assert_null(carm_model_best_memory(&m, &roofs[1], "L2", "2:1", NULL));
    assert_ptr_equal(carm_model_best_peak(&m, &roofs[0], &whose), &other[0]);
    assert_ptr_equal(carm_model_best_peak(&m, &roofs[1], &whose), &other[0]);
    carm_place_prepare(&set, &m, &roofs[0]);
    assert_close(set.sides[CARM_PLACE_CACHE_AWARE].slope, 352);
    assert_close(set.sides[CARM_PLACE_CACHE_AWARE].peak, 88);
    struct carm_place p = place_under(roofs, 34, 340, "avx512");
    assert_close(p.roof, 35.2);
    assert_string_equal(p.ceilings[p.nceilings - 1].name, "avx2 L1");
    assert_false(p.over);
    p = place_under(roofs, 80, 80, "avx512");
    assert_string_equal(p.ceilings[p.nceilings - 1].name, "avx2 fma+add");
    assert_close(p.roof, 88);
    /* as fast within 1%, or perhaps no faster: the set's own roof */
    first[0].ci95.lo = 301;
    other[0].ci95.lo = 59.5;
    assert_ptr_equal(carm_model_best_memory(&m, &roofs[0], "L1", "2:1", NULL), &wide[0]);
    assert_ptr_equal(carm_model_best_peak(&m, &roofs[0], NULL), &peak[0]);
    /* a wider ISA's is never a narrower one's, nor is that of other threads */
    wide[0].ci95.lo = 299;
    first[0].bandwidth = 100;
    assert_ptr_equal(carm_model_best_memory(&m, &roofs[1], "L1", "2:1", NULL), &first[0]);
    first[0].ci95.lo = 351;
    roofs[1].threads = 2;
    assert_ptr_equal(carm_model_best_memory(&m, &roofs[0], "L1", "2:1", NULL), &wide[0]);
    /* without a name the wider one goes first, whichever has the higher peak */
    assert_true(carm_roofs_precede(&roofs[1], &roofs[0]));
    roofs[1].threads = 1;
    assert_true(carm_roofs_precede(&roofs[0], &roofs[1]));
    assert_false(carm_roofs_precede(&roofs[1], &roofs[0]));
}

/* At or a little above a roof nothing is left, and nothing is advised that gives nothing. */
TEST(nothing_is_left)
{
    struct carm_compute_roof near[] = {{.op = "fma", .rate = 40}, {.op = "mad", .rate = 39.6}};
    struct carm_roofs roofs[2] = {sets[0], sets[1]};
    roofs[0].compute = near;
    const char *peak = "at the peak (fma): nothing is left; only fewer or cheaper operations";
    assert_non_null(strstr(place_under(roofs, 39.9, 39.9, "avx512").advice, peak));
    assert_non_null(strstr(place_under(roofs, 41, 41, "avx512").advice, peak));
    assert_non_null(strstr(place_under(roofs, 37, 37, "avx512").advice, "(fma): 1.08x is left"));
    assert_non_null(strstr(place_under(roofs, 10.2, 102, "avx512").advice,
                           "at the slope of L1, the roof: nothing is left; do more flops"));
}

/* Above FMA alone only few programs get: the advice says so, and what below it helps is as before. */
TEST(mixtures_are_above_fma)
{
    struct carm_compute_roof mixed[] = {{.op = "fma", .rate = 40},
                                        {.op = "mad", .rate = 39.6},
                                        {.op = "fma+add", .rate = 60},
                                        {.op = "add", .rate = 20}};
    struct carm_roofs roofs[2] = {sets[0], sets[1]};
    roofs[0].compute = mixed;
    roofs[0].ncompute = 4;
    const struct carm_place p = place_under(roofs, 39.9, 39.9, "avx512");
    assert_close(p.roof, 60);
    assert_non_null(strstr(p.advice, "at the ceiling of mad; next: additions beside the FMAs (few "
                                     "programs have additions to spare); at most 1.3x to the"));
    assert_non_null(strstr(place_under(roofs, 19.9, 19.9, "avx512").advice,
                           "at the ceiling of add; next: FMA, or as many multiplies as adds"));
    assert_non_null(strstr(place_under(roofs, 59.9, 59.9, "avx512").advice,
                           "at the peak (fma+add): nothing is left"));
}

/* 4 flops over 40 to 80 bytes; left of the ridge the share goes with the bytes. */
TEST(bounds)
{
    const struct carm_place p = place_with((struct carm_place_input){
        .flops = 4, .bytes = 50, .seconds = 1, .bytes_low = 40, .bytes_high = 80});
    assert_close(p.intensity_low, 0.05);
    assert_close(p.intensity_high, 0.1);
    assert_close(p.share, 0.5);
    assert_close(p.share_low, 0.4);
    assert_close(p.share_high, 0.8);
}

/* One miss after another, three of twenty, and a stream: what is on its way from DRAM by Little's law. */
TEST(lines_in_flight)
{
    static struct carm_in_flight flights[] = {
        {.level = "L2", .code = "scalar", .rate = 1, .lines = 9},
        {.level = "DRAM",
         .code = "scalar",
         .latency_seconds = 64.0,
         .rate = 20.0 / 64.0,
         .lines = 20.0}};
    struct carm_model m = model;
    m.in_flight = flights;
    m.nin_flight = 2;
    struct carm_place p;
    /* one thread: B byte/s are B / 64 lines/s, each 64 s on its way: B lines */
    assert_ok(carm_place_original(&m, &sets[0], 0.1, 1.0, 1.0, &p, &err));
    assert_non_null(strstr(
        p.advice, "on average 1.0 lines are in flight from DRAM to a core, which can have 20"));
    assert_non_null(strstr(p.advice, "more independent loads"));
    assert_ok(carm_place_original(&m, &sets[0], 0.3, 3.0, 1.0, &p, &err));
    assert_non_null(strstr(p.advice, "on average 3.0 lines"));
    assert_ok(carm_place_original(&m, &sets[0], 1.01, 10.1, 1.0, &p, &err));
    assert_non_null(strstr(p.advice, "on average 10 lines"));
    flights[1].lines = 3.5; /* nearly all: not what limits it */
    assert_ok(carm_place_original(&m, &sets[0], 0.3, 3.0, 1.0, &p, &err));
    assert_null(strstr(p.advice, "on average"));
    assert_ok(carm_place_original(&model, &sets[0], 0.3, 3.0, 1.0, &p, &err));
    assert_null(strstr(p.advice, "on average")); /* not measured */
}

/* div is listed and never next to a point; avx2's first level is a ceiling of its own. */
TEST(aside_and_narrow)
{
    static struct carm_memory_roof narrow_memory[] = {
        {.level = "L1", .ldst = "2:1", .bandwidth = 60}};
    static struct carm_compute_roof with_div[] = {{.op = "fma", .rate = 40},
                                                  {.op = "div", .rate = 2}};
    struct carm_roofs roofs[2] = {sets[0], sets[1]};
    roofs[0].compute = with_div;
    roofs[1].memory = narrow_memory;
    roofs[1].nmemory = 1;
    struct carm_model m = model;
    m.roofs = roofs;
    m.nroofs = 2;
    struct carm_place p;
    assert_ok(carm_place_cache_aware(&m, &roofs[0], 5.8, 29.0, 2.9, &p, &err));
    /* I = 0.2, P = 2: DRAM 2, div 2, L2 10, avx2 L1 12, L1 20 */
    assert_int_equal(p.nceilings, 5);
    assert_string_equal(p.ceilings[p.above].name, "DRAM");
    assert_ok(carm_place_cache_aware(&m, &roofs[0], 1.0, 1.0, 1.0, &p, &err));
    /* I = 1, P = 1: div's 2 is below DRAM's 10 */
    assert_string_equal(p.ceilings[p.above].name, "DRAM");
    assert_int_equal(p.below, -1);
    assert_ok(carm_place_cache_aware(&m, &roofs[0], 11.5, 57.5, 1.0, &p, &err));
    assert_string_equal(p.ceilings[p.above].name, "avx2 L1");
    assert_string_equal(p.ceilings[p.below].name, "L2");
    assert_non_null(strstr(p.advice, "at the ceiling of avx2 L1: try wider loads and stores"));
    /* narrower vectors load faster from L1: that is no other level to block for */
    narrow_memory[0].bandwidth = 120.0;
    narrow_memory[0].ci95 = (struct carm_ci){120.0, 120.0};
    assert_ok(carm_place_cache_aware(&m, &roofs[0], 19.5, 97.5, 1.0, &p, &err));
    assert_string_equal(p.ceilings[p.above].name, "L1");
    assert_non_null(
        strstr(p.advice, "at the ceiling of L1, which may bind it: do more flops per byte"));
    assert_ok(carm_place_cache_aware(&m, &roofs[0], 1e-3, 5e-3, 1.0, &p, &err));
    assert_non_null(strstr(p.advice, "dependent operations or divisions; over 1000x to the roof"));
}

/* Of more ceilings than there is room for the highest stay, the roof among them. */
TEST(many_levels)
{
    enum { N = CARM_CEILINGS_MAX + 10 };
    static struct carm_memory_roof many[N];
    static struct carm_level names[N];
    for (int i = 0; i < N; i++) {
        (void)snprintf(names[i].level, sizeof names[i].level, "L%d", i);
        many[i] = (struct carm_memory_roof){.ldst = "2:1", .bandwidth = 1000 - i};
        (void)snprintf(many[i].level, sizeof many[i].level, "L%d", i);
    }
    struct carm_roofs roofs = sets[0];
    roofs.memory = many;
    roofs.nmemory = N;
    struct carm_model m = {
        .config = {.ldst = "2:1"}, .levels = names, .nlevels = N, .roofs = &roofs, .nroofs = 1};
    struct carm_place p;
    assert_ok(carm_place_cache_aware(&m, &roofs, 1.0, 1000.0, 1.0, &p, &err));
    assert_int_equal(p.nceilings, CARM_CEILINGS_MAX);
    assert_string_equal(p.ceilings[p.nceilings - 1].name, "L0");
    assert_true(p.ceilings[p.nceilings - 1].roof);
    assert_close(p.roof, 1.0);
}

TEST(original)
{
    struct carm_place p;
    assert_ok(carm_place_original(&model, &sets[0], 6.0, 6.0, 1.0, &p, &err));
    assert_close(p.roof, 12.0); /* the DRAM peak, not the 2:1 roof */
    assert_string_equal(p.ceilings[p.above].name, "DRAM");
    /* roofs without a DRAM peak take that of as many threads, never of others */
    assert_ok(carm_place_original(&model, &sets[1], 6.0, 6.0, 1.0, &p, &err));
    assert_close(p.roof, 12.0);
    assert_ok(carm_place_original(&model, &sets[1], 600.0, 6.0, 1.0, &p, &err));
    assert_close(p.roof, 30.0);
    assert_refused(carm_place_original(&model, &sets[2], 6.0, 6.0, 1.0, &p, &err), -CARM_ENOTSUP,
                   "carm build");
}

TEST(refuses_nothing_counted)
{
    struct carm_place p;
    assert_int_equal(carm_place_cache_aware(&model, &sets[0], 0.0, 1.0, 1.0, &p, &err),
                     -CARM_EINVAL);
    assert_int_equal(carm_place_cache_aware(&model, &sets[0], 1.0, 1.0, 0.0, &p, &err),
                     -CARM_EINVAL);
    assert_int_equal(carm_place_cache_aware(&model, &sets[0], 1e300, 1e-300, 1.0, &p, &err),
                     -CARM_EINVAL);
    assert_refused(carm_place_cache_aware(&model, &sets[1], 1.0, 1.0, 1.0, &p, &err), -CARM_ENOTSUP,
                   "no memory roof of avx2 dp with 1 thread");
}

TEST(chooses_roofs)
{
    char note[CARM_TEXT_MAX];
    assert_ptr_equal(carm_place_roofs(&model, "dp", 1, note), &sets[0]);
    assert_string_equal(note, "");
    assert_ptr_equal(carm_place_roofs(&model, "", 0, note), &sets[2]);
    assert_ptr_equal(carm_place_roofs(&model, "dp", 3, note), &sets[2]);
    assert_non_null(strstr(note, "no roofs for 3 threads"));
    assert_ptr_equal(carm_place_roofs(&model, "sp", 1, note), &sets[0]);
    assert_non_null(strstr(note, "no sp roofs"));
    assert_ptr_equal(carm_place_roofs_of(&model, "avx2", "dp", 1, note), &sets[1]);
    assert_string_equal(note, "");
    assert_ptr_equal(carm_place_roofs_of(&model, "avx", "dp", 1, note), &sets[1]);
    assert_ptr_equal(carm_place_roofs_of(&model, "sse", "dp", 1, note), &sets[0]);
    assert_non_null(strstr(note, "no sse roofs, so those of avx512 are used"));
}
