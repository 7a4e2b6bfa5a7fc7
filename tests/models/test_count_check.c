/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts beside construction: the judgement, and the way through a model file. */
#include "models/count_check.h"
#include "tests/models/model_text.h"

static struct carm_count_check made(double flops, double loads, double stores)
{
    struct carm_count_check c = {.code = "A", .counted_by = "papi", .recipe = "zen4"};
    c.flops = (struct carm_checked){1000.0, flops};
    c.loads = (struct carm_checked){2000.0, loads};
    c.stores = (struct carm_checked){500.0, stores};
    return c;
}

TEST(the_largest_deviation_is_told)
{
    struct carm_count_check c = made(1005.0, 2010.0, 499.0);
    carm_count_check_judge(&c, false);
    assert_true(fabs(c.deviation - 0.005) < 1e-12);
    assert_string_equal(c.note, "");
    c = made(500.0, 2100.0, 500.0);
    carm_count_check_judge(&c, false);
    assert_true(fabs(c.deviation + 0.5) < 1e-12);
    assert_non_null(strstr(c.note, "flops -50.0%"));
    assert_non_null(strstr(c.note, "counts an FMA once"));
    c = made(1000.0, 2100.0, 500.0);
    carm_count_check_judge(&c, false);
    assert_non_null(strstr(c.note, "loads +5.0%: more accesses than issued"));
    carm_count_check_judge(&c, true);
    assert_non_null(strstr(c.note, "upper bound"));
    c = made(1000.0, 2000.0, 400.0);
    carm_count_check_judge(&c, false);
    assert_non_null(strstr(c.note, "stores -20.0%: fewer"));
}

TEST(what_was_not_counted_does_not_deviate)
{
    struct carm_count_check c = made(-1.0, 2000.0, 500.0);
    c.stores = (struct carm_checked){0.0, 17.0}; /* of start and stop */
    carm_count_check_judge(&c, false);
    assert_true(c.deviation == 0.0);
    assert_string_equal(c.note, "");
}

TEST(through_a_file)
{
    struct carm_model m = least_model(1);
    char *text = carm_model_to_json(&m);
    assert_null(strstr(text, "count_checks"));
    free(text);

    struct carm_count_check c = made(-1.0, 2100.0, 500.0);
    carm_count_check_judge(&c, false);
    assert_ok(carm_count_check_add(&m, &c, &err));
    c.loads.counted = 2000.0;
    carm_count_check_judge(&c, false);
    assert_ok(carm_count_check_add(&m, &c, &err)); /* replaces it */
    assert_int_equal(m.nchecks, 1);
    (void)strcpy(c.code, "B");
    assert_ok(carm_count_check_add(&m, &c, &err));
    struct carm_model *back = there_and_back(&m);
    assert_int_equal(back->nchecks, 2);
    assert_string_equal(back->checks[1].code, "B");
    assert_string_equal(back->checks[0].recipe, "zen4");
    assert_true(back->checks[0].flops.counted == -1.0);
    assert_true(back->checks[0].flops.constructed == 1000.0);
    assert_true(back->checks[0].loads.counted == 2000.0);

    refuse_faults(&m,
                  &(const struct text_fault){"", "\"counted_by\": \"papi\"",
                                             "\"xounted_by\": \"papi\"",
                                             "count_checks[0].counted_by"},
                  1);
    free(m.checks);
}
