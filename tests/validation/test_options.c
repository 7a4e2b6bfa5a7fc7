/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of options that a build and a validation share, at the ends of what is taken. */
#include "tests/unit.h"
#include "validation/options.h"

static char joined[600];

static int join(void *to, const char *word, struct carm_err *failure)
{
    int *left = to;
    (void)strcat(strcat(joined, "|"), word);
    return --*left == 0 ? carm_fail(failure, CARM_EINVAL, "enough") : 0;
}

static int each(const char *list, int most)
{
    joined[0] = '\0';
    return carm_list_each(list, "ops", join, &most, &err);
}

TEST(words_of_lists)
{
    char many[2 * CARM_LIST_MAX + 3] = "a";
    char longest[300] = "";
    assert_ok(each("a,bc,,d,", 9));
    assert_string_equal(joined, "|a|bc||d");
    assert_refused(each("a,b,c", 2), -CARM_EINVAL, "enough");
    assert_string_equal(joined, "|a|b");
    assert_refused(each("", 9), -CARM_EINVAL, "--ops needs at least one value");
    assert_refused(each(",,", 9), -CARM_EINVAL, "--ops needs at least one value");
    for (int i = 1; i < CARM_LIST_MAX; i++) {
        (void)strcat(many, ",b");
    }
    assert_ok(each(many, 99));
    assert_refused(each(strcat(many, ",b"), 99), -CARM_EINVAL, "--ops: at most 16 values");
    memset(longest, 'x', 255);
    assert_ok(each(longest, 9));
    longest[255] = 'x';
    assert_refused(each(longest, 9), -CARM_EINVAL, "' is too long");
}

TEST(levels_of_a_list)
{
    struct carm_level_list l = {.n = 0};
    assert_true(carm_level_list_has(&l, "L1")); /* no list: all */
    l = (struct carm_level_list){.names = {"L1", "DRAM"}, .n = 2};
    assert_true(carm_level_list_has(&l, "L1") && carm_level_list_has(&l, "DRAM"));
    assert_false(carm_level_list_has(&l, "L2"));
}

TEST(repetitions)
{
    static const struct {
        const char *word;
        size_t reps; /* 0 = refused */
    } rows[] = {{"16", 16},
                {"15", 0},
                {"1048576", 1 << 20},
                {"1048577", 0},
                {"-16", 0},
                {"+16", 0},
                {"", 0},
                {"64x", 0},
                {"1e3", 0},
                {" 64", 0},
                {"99999999999999999999", 0}};
    size_t reps = 77;
    assert_ok(carm_reps_parse(NULL, &reps, &err));
    assert_int_equal(reps, 77);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        reps = 0;
        if (rows[i].reps) {
            assert_ok(carm_reps_parse(rows[i].word, &reps, &err));
        } else {
            assert_refused(carm_reps_parse(rows[i].word, &reps, &err), -CARM_EINVAL,
                           "give 16 to 1048576 repetitions");
        }
        assert_int_equal(reps, rows[i].reps);
    }
}

/* 60 s for 8192 repetitions, 10 for a quick build's 1024, in proportion for fewer and not for more. */
TEST(budgets)
{
    static const struct {
        const char *word;
        bool quick;
        size_t reps;
        double seconds; /* -1 = refused */
    } rows[] = {
        {NULL, false, 8192, 60.0},    {NULL, false, 4096, 30.0}, {NULL, false, 100000, 60.0},
        {NULL, true, 1024, 10.0},     {NULL, true, 256, 2.5},    {NULL, true, 2048, 10.0},
        {"0", false, 8192, 0.0},      {"0.5", true, 16, 0.5},    {"86400", false, 16, 86400.0},
        {"86401", false, 8192, -1.0}, {"-1", false, 8192, -1.0}, {"x", false, 8192, -1.0},
        {"", false, 8192, -1.0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double seconds = -1.0;
        const int rc =
            carm_budget_parse(rows[i].word, 60.0, rows[i].quick, rows[i].reps, &seconds, &err);
        assert_int_equal(rc, rows[i].seconds < 0.0 ? -CARM_EINVAL : 0);
        assert_true(rc || seconds == rows[i].seconds);
    }
}
