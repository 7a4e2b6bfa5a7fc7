/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placement in closed form: a made-up machine with round roofs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "models/place.h"

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
    struct carm_err err = {""};
    assert_int_equal(carm_place_cache_aware(&model, &sets[0], flops, bytes, seconds, &p, &err), 0);
    return p;
}

static void assert_near(double a, double b)
{
    assert_true(a > b * 0.999999 && a < b * 1.000001);
}

/* I = 0.1: L1 allows 10, L2 5, DRAM 1; no horizontal ceiling shows (20 > 10). */
static void left_of_the_ridge(void **state)
{
    (void)state;
    const struct carm_place p = place(4.0, 40.0, 1.0);
    assert_near(p.intensity, 0.1);
    assert_near(p.performance, 4.0);
    assert_near(p.roof, 10.0);
    assert_near(p.share, 0.4);
    assert_int_equal(p.nceilings, 3);
    assert_string_equal(p.ceilings[p.above].name, "L2");
    assert_string_equal(p.ceilings[p.below].name, "DRAM");
    assert_near(p.ceilings[p.above].at, 5.0);
    assert_int_equal(p.bound, CARM_BOUND_MEMORY);
    assert_false(p.over);
    assert_non_null(strstr(p.advice, "below the L2 ceiling"));
    assert_non_null(strstr(p.advice, "at most 1.2x under it, 2.5x to the roof"));
}

static void at_a_slope(void **state)
{
    (void)state;
    const struct carm_place p = place(4.9, 49.0, 1.0);
    assert_string_equal(p.ceilings[p.above].name, "L2");
    assert_non_null(strstr(p.advice, "bound by L2: block for L1; at most 2.0x until the next"));
}

/* I = 1: L1 and L2 lie over the peak there and do not show; DRAM 10, add 20, avx2 fma 30, fma 40. */
static void right_of_the_ridge(void **state)
{
    (void)state;
    const struct carm_place p = place(25.0, 25.0, 1.0);
    assert_near(p.roof, 40.0);
    assert_int_equal(p.nceilings, 4);
    assert_string_equal(p.ceilings[0].name, "DRAM");
    assert_string_equal(p.ceilings[1].name, "add");
    assert_string_equal(p.ceilings[2].name, "avx2 fma");
    assert_string_equal(p.ceilings[3].name, "fma");
    assert_true(p.ceilings[3].roof);
    assert_int_equal(p.above, 2);
    assert_int_equal(p.below, 1);
    assert_int_equal(p.bound, CARM_BOUND_COMPUTE);
}

/* I = 0.42: L1 allows 42, fma 40: within a tenth of the peak only when both show. L2's 21 and add's
 * 20 bind together. */
static void bound_by_both(void **state)
{
    (void)state;
    const struct carm_place p = place(19.0, 19.0 / 0.42, 1.0);
    assert_string_equal(p.ceilings[p.above].name, "add");
    assert_int_equal(p.bound, CARM_BOUND_BOTH);
}

static void above_the_roof(void **state)
{
    (void)state;
    struct carm_place p = place(12.0, 100.0, 1.0); /* exactly 12 under 12: on it */
    assert_false(p.over);
    p = place(15.0, 100.0, 1.0 / 1.1);
    assert_true(p.over);
    assert_int_equal(p.above, -1);
    assert_near(p.performance, 16.5); /* never clipped */
    assert_true(p.share > 1.09);
    assert_non_null(strstr(p.advice, "times the roof"));
}

static void original(void **state)
{
    (void)state;
    struct carm_place p;
    struct carm_err err = {""};
    assert_int_equal(carm_place_original(&model, &sets[0], 6.0, 6.0, 1.0, &p, &err), 0);
    assert_near(p.roof, 12.0); /* the DRAM peak, not the 2:1 roof */
    assert_string_equal(p.ceilings[p.above].name, "DRAM");
    assert_int_equal(carm_place_original(&model, &sets[1], 6.0, 6.0, 1.0, &p, &err), -CARM_ENOTSUP);
    assert_non_null(strstr(err.text, "carm build"));
}

static void refuses_nothing_counted(void **state)
{
    (void)state;
    struct carm_place p;
    struct carm_err err = {""};
    assert_int_equal(carm_place_cache_aware(&model, &sets[0], 0.0, 1.0, 1.0, &p, &err),
                     -CARM_EINVAL);
    assert_int_equal(carm_place_cache_aware(&model, &sets[0], 1.0, 1.0, 0.0, &p, &err),
                     -CARM_EINVAL);
}

static void chooses_roofs(void **state)
{
    char note[CARM_TEXT_MAX];
    (void)state;
    assert_ptr_equal(carm_place_roofs(&model, "dp", 1, note), &sets[0]);
    assert_string_equal(note, "");
    assert_ptr_equal(carm_place_roofs(&model, "", 0, note), &sets[2]);
    assert_ptr_equal(carm_place_roofs(&model, "dp", 3, note), &sets[2]);
    assert_non_null(strstr(note, "no roofs of 3 threads"));
    assert_ptr_equal(carm_place_roofs(&model, "sp", 1, note), &sets[0]);
    assert_non_null(strstr(note, "no sp roofs"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(left_of_the_ridge),       cmocka_unit_test(at_a_slope),
        cmocka_unit_test(right_of_the_ridge),      cmocka_unit_test(bound_by_both),
        cmocka_unit_test(above_the_roof),          cmocka_unit_test(original),
        cmocka_unit_test(refuses_nothing_counted), cmocka_unit_test(chooses_roofs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
