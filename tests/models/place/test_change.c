/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points before and after: Welch's interval against a worked example and against times of known scatter, and
 * what of counts and roofs differs. */
#include <unistd.h>

#include "models/file/points.h"
#include "models/place/change.h"
#include "tests/unit.h"

static char paths[2][64];
static int code; /* of the last comparison */

static int set_up(void **state)
{
    for (int i = 0; i < 2; i++) {
        (void)strcpy(paths[i], "/tmp/carm-test-change-XXXXXX");
        const int fd = mkstemp(paths[i]);
        if (fd < 0 || close(fd)) {
            return -1;
        }
    }
    return 0;
}

static int tear_down(void **state)
{
    return unlink(paths[0]) || unlink(paths[1]);
}

static struct carm_changes *read_both(const char *before, const char *after, double noise)
{
    static const char header[] =
        "name,flops,bytes,seconds,counted_by,instructions,dp_scalar,dp_128,"
        "dp_256,dp_512,sp_scalar,sp_128,sp_256,sp_512,rank\n";
    const char *const text[] = {before, after};
    static const struct carm_points_how how = {NULL, NULL, false};
    struct carm_changes *c = NULL;
    for (int i = 0; i < 2; i++) {
        FILE *out = fopen(paths[i], "w");
        assert_non_null(out);
        assert_true(fputs(header, out) >= 0 && fputs(text[i], out) >= 0);
        assert_int_equal(fclose(out), 0);
    }
    err.text[0] = '\0';
    code = carm_points_compare(paths[0], paths[1], &how, NULL, noise, NULL, &c, &err);
    return c;
}

/* Logarithms 1, 2, 3 and 4, 6, 8, 10: variances 1 and 20/3, so 1/3 + 5/3 = 2; freedom 4 / (1/18 + 25/27) = 4.0755 */
TEST(interval)
{
    const double sum[] = {6, 28}, squares[] = {14, 216};
    const size_t runs[] = {3, 4};
    /* Student's t at 0.975 with 4.0755 degrees of freedom: 2.7550 */
    assert_near(carm_change_interval(sum, squares, runs, 1), sqrt(2.0) * 2.7550, 0.01);
    assert_true(carm_change_interval(sum, squares, runs, 10) >
                carm_change_interval(sum, squares, runs, 1));
    const double same[] = {3 * log(0.1), 4 * log(0.1)},
                 same_squares[] = {3 * log(0.1) * log(0.1), 4 * log(0.1) * log(0.1)};
    assert_near(carm_change_interval(same, same_squares, runs, 1), 0.0, 0.0);
}

#define TAIL               ",,,,,,,,,\n"
#define RUN(name, seconds) name ",1e9,8e9," seconds ",stepped," TAIL

static enum carm_change_verdict verdict(const char *before, const char *after, double noise)
{
    struct carm_changes *c = read_both(before, after, noise);
    assert_non_null(c);
    struct carm_change change;
    assert_true(carm_changes_get(c, 0, &change));
    carm_changes_close(c);
    return change.values[CARM_CHANGE_TIME].verdict;
}

TEST(times)
{
    const char *one = RUN("a", "1.00") RUN("a", "1.01") RUN("a", "0.99");
    const char *more = RUN("a", "1.10") RUN("a", "1.11") RUN("a", "1.09");
    const char *wide = RUN("a", "1.00") RUN("a", "1.50") RUN("a", "0.80");
    assert_int_equal(verdict(one, more, 0.01), CARM_CHANGE_DIFFERENT);
    assert_int_equal(verdict(one, one, 0.01), CARM_CHANGE_EQUAL);
    assert_int_equal(verdict(one, wide, 0.01), CARM_CHANGE_UNJUDGED); /* within a factor of 2 */
    assert_int_equal(verdict(one, more, 0.2), CARM_CHANGE_EQUAL);
    assert_int_equal(verdict(one, RUN("a", "9"), 0.01), CARM_CHANGE_UNJUDGED);
    assert_int_equal(verdict(one, "a,1e9,8e9,,stepped," TAIL, 0.01), CARM_CHANGE_UNKNOWN);
}

TEST(counts)
{
    struct carm_changes *c =
        read_both("a,1e9,8e9,1,translated,100,1e9,0,0,0,0,0,0,0,\n"
                  "p,1e9,8e9,1,pmu,100,1e9,0,0,0,0,0,0,0,\n",
                  "a,1e9,8e9,1,translated,101,0,0,1e9,0,0,0,0,0,\n"
                  "p,1.001e9,8e9,1,pmu,120,1e9,0,0,0,0,0,0,0,\nq,1,1,1,pmu," TAIL,
                  0.01);
    assert_non_null(c);
    struct carm_change first, second, none;
    const struct carm_change *a = &first, *p = &second;
    memset(&first, 0xff, sizeof first);
    assert_true(carm_changes_get(c, 0, &first) && carm_changes_get(c, 1, &second));
    assert_false(carm_changes_get(c, 2, &none));
    assert_string_equal(carm_changes_only(c, 1, 0, NULL), "q");
    assert_null(carm_changes_only(c, 0, 0, NULL));
    assert_true(a->exact && !p->exact);
    for (int k = 0; k < CARM_CHANGE_KINDS; k++) {
        assert_false(a->values[k].varies);
    }
    assert_int_equal(a->values[CARM_CHANGE_FLOPS].verdict, CARM_CHANGE_EQUAL);
    assert_int_equal(a->values[CARM_CHANGE_INSTRUCTIONS].verdict, CARM_CHANGE_DIFFERENT);
    assert_int_equal(a->values[CARM_CHANGE_VECTOR_SHARE].verdict, CARM_CHANGE_DIFFERENT);
    assert_near(a->values[CARM_CHANGE_VECTOR_SHARE].change, 1.0, 0.0);
    assert_int_equal(p->values[CARM_CHANGE_FLOPS].verdict, CARM_CHANGE_EQUAL);
    assert_int_equal(p->values[CARM_CHANGE_INSTRUCTIONS].verdict, CARM_CHANGE_DIFFERENT);
    assert_int_equal(p->values[CARM_CHANGE_DRAM_BYTES].verdict, CARM_CHANGE_UNKNOWN);
    carm_changes_close(c);
    /* a count that differs between runs of one file */
    c = read_both("a,1e9,8e9,1,stepped,100" TAIL "a,1e9,8e9,1,stepped,101" TAIL,
                  "a,1e9,8e9,1,stepped,100" TAIL, 0.01);
    assert_true(carm_changes_get(c, 0, &first));
    assert_true(first.values[CARM_CHANGE_INSTRUCTIONS].varies);
    carm_changes_close(c);
}

TEST(refusals)
{
    assert_null(read_both(RUN("a", "1"), RUN("b", "1"), 0.01));
    assert_non_null(strstr(err.text, "no point of the same name"));
    assert_null(read_both("a,1,1,1,pmu,,,,,,,,,,0\na,1,1,1,pmu,,,,,,,,,,1\n", RUN("a", "1"), 0.01));
    assert_non_null(strstr(err.text, "rows of several ranks"));
    assert_int_equal(code, -CARM_EINVAL);
}

RUN_TESTS(set_up, tear_down)
