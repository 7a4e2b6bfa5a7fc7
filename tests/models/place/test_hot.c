/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a part of a program gives the whole: Amdahl's law, and the sentence that says it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "models/place/hot.h"

static void shares_limit_the_gain(void **state)
{
    (void)state;
    assert_true(fabs(carm_hot_amdahl(0.5, 2.0) - 4.0 / 3.0) < 1e-12);
    assert_true(fabs(carm_hot_amdahl(0.75, INFINITY) - 4.0) < 1e-12);
    assert_true(fabs(carm_hot_amdahl(0.3, 1.0) - 1.0) < 1e-12);
}

static void one_sentence_says_it(void **state)
{
    char text[512];
    struct carm_hot hot = {.placed = true, .gain = 2.0};
    (void)state;
    snprintf(
        hot.place.advice, sizeof hot.place.advice,
        "between the ceilings of L2 and L1: part of its data may come from L2; try blocking for L1; "
        "at most 1.5x up to it, 8.0x to the roof");
    assert_string_equal(
        carm_hot_advice(text, sizeof text, &hot, 0.5),
        "between the ceilings of L2 and L1: part of its data may come from L2; try blocking for L1; at "
        "the roof, the program would run 1.33x as fast");
    hot.gain = 1.0;
    snprintf(hot.place.advice, sizeof hot.place.advice, "at the peak (fma): nothing is left");
    assert_string_equal(
        carm_hot_advice(text, sizeof text, &hot, 0.998),
        "at the peak (fma): nothing is left; it is at the roof: only less work can make it faster");
    hot.has_own = true;
    hot.own.gain = 3.0;
    assert_string_equal(carm_hot_advice(text, sizeof text, &hot, 0.75),
                        "at the peak (fma): nothing is left; it is at its own roof: only another "
                        "algorithm, other operations or wider vectors can make it faster");
    assert_true(carm_hot_computes(0.05, 1.0) && carm_hot_computes(1.0, 0.0));
    assert_false(carm_hot_computes(0.002, 1.0)); /* gawk's interpreter */
    hot.unbounded = true;
    snprintf(hot.place.advice, sizeof hot.place.advice, "below the ceiling of DRAM");
    snprintf(hot.note, sizeof hot.note, "the model has no int32 roofs");
    assert_string_equal(
        carm_hot_advice(text, sizeof text, &hot, 0.75),
        "below the ceiling of DRAM; how much is left is not known: the model has no "
        "int32 roofs");
    hot = (struct carm_hot){.of_ceiling = 0.001, .gain = 1000.0};
    snprintf(hot.ceiling, sizeof hot.ceiling, "L1");
    assert_string_equal(
        carm_hot_advice(text, sizeof text, &hot, 0.998),
        "computes next to nothing and uses <1% of the bandwidth of L1: it may wait for cache misses, "
        "dependent instructions or branches, or execute too many instructions; without it, the program "
        "would take <1% of its time");
    assert_string_equal(carm_hot_advice(text, 9, &hot, 0.2), "computes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_limit_the_gain),
        cmocka_unit_test(one_sentence_says_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
