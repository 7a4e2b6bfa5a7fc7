/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stepping of a sample of the calls: which ones, what is made of them and of their time. */
#include "tests/harness/region/fake.h"

static int call(const char *name, uint64_t work)
{
    const int rc = carm_region_begin(name);
    fake_work(work);
    return rc + carm_region_end(name);
}

static bool was_stepped; /* the last probed call */

static int probe(const char *name, uint64_t work)
{
    int rc = carm_region_begin(name);
    was_stepped = fake_step.active;
    fake_work(work);
    return rc + carm_region_end(name);
}

static int sample(void)
{
    for (int i = 1; i <= 20; i++) {
        expect(probe("even", 10) == 0);
        expect(was_stepped == (i == 1 || i == 2 || i == 4 || i == 8 || i == 16));
        expect(call("uneven", i == 8 ? 40 : i == 4 ? 5 : 10) == 0);
    }
    return call("once", 7);
}

TEST_OF_REGIONS(calls_1_2_4_8_are_stepped)
{
    fake_run(FAKE_STEPS, sample);
    assert_number("even", "flops", 200);
    assert_number("even", "flops_low", 200);
    assert_number("even", "flops_high", 200);
    assert_number("even", "bytes", 1600);
    assert_number("even", "share", 0.25);
    assert_number("even", "calls", 20);
    assert_string_equal(field("even", 0, "counted_by"), "stepped");
    assert_string_equal(field("even", 0, "isa"), "avx512");
    assert_true(strtod(field("even", 0, "seconds"), NULL) > 0.0);
    assert_non_null(strstr(field("even", 0, "note"),
                           "5 stepped calls and the time of 15 others, scaled to 20"));
    /* 10, 10, 5, 40, 10 were stepped; the other 15 calls may be the least or the most of these */
    assert_number("uneven", "flops", 75 * 4);
    assert_number("uneven", "flops_low", 75 + 15 * 5);
    assert_number("uneven", "flops_high", 75 + 15 * 40);
    assert_number("uneven", "bytes_high", 8 * (75 + 15 * 40));
    assert_number("once", "flops", 7);
    assert_number("once", "share", 1);
    assert_empty("once", "seconds");
    assert_non_null(strstr(field("once", 0, "note"), "CARM_COUNTERS=none for its time"));
    assert_string_equal(said, "");
}

static int go_past_the_budget(void)
{
    for (int i = 0; i < 10; i++) {
        expect(call("long", 1001) == 0);
        expect(call("at first", i < 1 ? 1001 : 10) == 0);
    }
    return 0;
}

TEST_OF_REGIONS(calls_past_the_budget_are_left_out)
{
    fake_run(FAKE_STEPS, go_past_the_budget);
    assert_empty("long", "flops");
    assert_true(strtod(field("long", 0, "seconds"), NULL) > 0.0);
    assert_non_null(strstr(field("long", 0, "counted_by"),
                           "unavailable: no call was stepped to the end within 1000 instructions"));
    assert_non_null(strstr(field("long", 0, "note"), "CARM_STEP_BUDGET"));
    assert_number("at first", "flops", 100); /* calls 2, 4 and 8 */
    assert_number("at first", "share", 0.3);
    assert_non_null(strstr(field("at first", 0, "note"), "some calls were not stepped"));
}

static int give_up(void)
{
    for (int i = 1; i <= 64; i++) {
        expect(probe("long", 1001) == 0);
        expect(was_stepped == (i <= 2));
    }
    return 0;
}

TEST_OF_REGIONS(hopeless_regions_are_given_up)
{
    fake_run(FAKE_STEPS, give_up);
    assert_empty("long", "flops");
}

static int nest(void)
{
    for (int i = 0; i < 4; i++) {
        expect(carm_region_begin("outer") == 0);
        fake_work(100);
        for (int k = 0; k < 3; k++) {
            expect(call("inner", 10) == 0);
        }
        expect(carm_region_end("outer") == 0);
    }
    return 0;
}

TEST_OF_REGIONS(inner_regions_take_differences)
{
    fake_run(FAKE_STEPS, nest);
    assert_number("outer", "flops", 520);
    assert_number("outer", "share", 0.75); /* calls 1, 2, 4 */
    assert_number("inner", "flops", 120);
    assert_number("inner", "fp_instructions", 120);
    assert_number("inner", "fp_adds", 120);
    assert_number("inner", "fp_fmas", 0);
    assert_number("inner", "prefetches", 240);
    assert_number("outer", "prefetches", 1040);
    /* nine in stepped calls; the 8th, in the third one, by itself */
    assert_string_equal(field("inner", 0, "calls"), "12");
    assert_true(strtod(field("inner", 0, "share"), NULL) > 10.0 / 12.0 - 1e-9);
    /* the only unstepped call of outer holds a stepped one of inner: no time of it is clean */
    assert_empty("outer", "seconds");
    assert_true(strtod(field("inner", 0, "seconds"), NULL) > 0.0);
}

static int nest_in_a_long_one(void)
{
    expect(carm_region_begin("program") == 0);
    fake_work(5000);
    for (int i = 0; i < 16; i++) {
        expect(call("kernel", 10) == 0);
    }
    return carm_region_end("program");
}

TEST_OF_REGIONS(regions_in_one_past_its_budget_are_stepped)
{
    fake_run(FAKE_STEPS, nest_in_a_long_one);
    assert_empty("program", "flops");
    assert_empty("program", "seconds");
    assert_number("kernel", "flops", 160);
    assert_number("kernel", "share", 5.0 / 16.0);
    assert_true(strtod(field("kernel", 0, "seconds"), NULL) > 0.0);
}

static int drop_the_stepped(void)
{
    expect(carm_region_begin("outer") == 0); /* stepped */
    expect(carm_region_begin("forgotten") == 0);
    expect(carm_region_end("outer") == 0);
    expect(!fake_step.active);
    expect(call("outer", 1) == 0);
    expect(call("outer", 1) == 0);
    expect(carm_region_begin("outer") == 0); /* the third was not */
    expect(carm_region_begin("new") == 0);
    fake_work(3);
    expect(carm_region_end("new") == 0);
    expect(carm_region_begin("forgotten") == 0);
    expect(carm_region_end("outer") == 0);
    expect(!fake_step.active);
    expect(carm_region_begin("again") == 0);
    expect(carm_region_begin("left") == 0);
    return 0; /* stepping when the program ends */
}

TEST_OF_REGIONS(missing_ends_end_the_stepping)
{
    fake_run(FAKE_STEPS, drop_the_stepped);
    assert_number("outer", "calls", 4);
    assert_number("new", "flops", 3);
    assert_int_equal(count_lines(said, "region 'forgotten' was still open"), 1);
    assert_int_equal(count_lines(said, "never ended on 1 thread"), 2);
}

static int refuse(void)
{
    fake_refuses = true;
    return call("r", 1);
}

TEST_OF_REGIONS(without_stepping_there_is_time)
{
    fake_run(FAKE_STEPS, refuse);
    assert_string_equal(field("r", 0, "counted_by"), "unavailable: the fake stepper refuses");
    assert_true(strtod(field("r", 0, "seconds"), NULL) > 0.0);
}

static int flush_between(void)
{
    for (int i = 1; i <= 3; i++) {
        expect(call("r", 1) == 0);
    }
    expect(carm_region_flush() == 0);
    for (int i = 1; i <= 2; i++) { /* counted from 1 again: these are stepped */
        expect(probe("r", 5) == 0);
        expect(was_stepped);
    }
    return 0;
}

TEST_OF_REGIONS(each_flush_has_its_own_sample)
{
    fake_run(FAKE_STEPS, flush_between);
    assert_string_equal(field("r", 0, "flops"), "3");
    assert_string_equal(field("r", 1, "flops"), "10");
    assert_string_equal(field("r", 1, "flops_low"), "10");
}
