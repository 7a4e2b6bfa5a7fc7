/* SPDX-License-Identifier: GPL-3.0-or-later */
/* points.csv: the columns of instructions and of operations that are no flops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/count/quantities.h"
#include "harness/count/row.h"
#include "models/file/points.h"
#include "models/place/merge.h"
#include "tests/models/near.h"

static char path[64];
static struct carm_err err;
static struct carm_points *points;
static struct carm_point p;

static int set_up(void **state)
{
    (void)state;
    (void)strcpy(path, "/tmp/carm-test-mix-XXXXXX");
    const int fd = mkstemp(path);
    points = NULL;
    err.text[0] = '\0';
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    carm_points_close(points);
    return unlink(path);
}

static int open_text(const char *text)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
    return carm_points_open(path, NULL, &points, &err);
}

static void next(void)
{
    if (carm_points_next(points, &p, &err) != 1) {
        fail_msg("%s", err.text);
    }
}

/* What `carm run` writes is what is read, quantity by quantity. */
static void rows_of_carm_run_have_their_mix(void **state)
{
    (void)state;
    struct carm_row row = {.name = "n", .seconds = 1, .calls = 1, .isa = "", .precision = ""};
    for (int q = 0; q < CARM_Q_COUNT; q++) {
        carm_count_put(&row.counts, (enum carm_quantity)q, 1000 + q, CARM_COUNTED_STEPPED);
    }
    assert_int_equal(carm_row_append(path, &row, 1, &err), 0);
    assert_int_equal(carm_points_open(path, NULL, &points, &err), 0);
    next();
    for (int i = 0; i < CARM_RUNMIX_COUNT; i++) {
        const enum carm_quantity q = carm_quantity_find(carm_runmix_name((enum carm_runmix_part)i));
        assert_true(q < CARM_Q_COUNT);
        assert_near(p.mix.q[i], 1000 + (int)q, 0.0);
    }
}

static void what_no_column_tells_is_unknown(void **state)
{
    (void)state;
    assert_int_equal(open_text("name,flops,bytes,seconds,fp_adds\na,1,1,1,\nb,1,1,1,3\n"), 0);
    next();
    for (int i = 0; i < CARM_RUNMIX_COUNT; i++) {
        assert_false(carm_runmix_has(&p.mix, (enum carm_runmix_part)i));
    }
    assert_false(carm_point_knows(p.operations));
    assert_string_equal(p.metric, "");
    next();
    assert_near(p.mix.q[CARM_RUNMIX_ADDS], 3, 0.0);
}

static void operations_stand_for_flops(void **state)
{
    (void)state;
    assert_int_equal(
        open_text("name,operations,metric,bytes,seconds\nt,7,exchange,2,1\n"
                  "name,operations,metric,bytes,seconds\nu,0,,2,1\nv,,,2,1\nw,1,flop,2,1\n"),
        0);
    next();
    assert_near(p.operations, 7, 0.0);
    assert_string_equal(p.metric, "exchange");
    assert_false(carm_point_knows(p.flops));
    assert_null(carm_point_unplaced_metric(&p, "exchange"));
    assert_string_equal(carm_point_unplaced_metric(&p, "compare"),
                        "its operations have another metric");
    assert_non_null(strstr(carm_point_unplaced(&p), "its operations are not flops"));
    next(); /* the header that came again is none */
    assert_string_equal(carm_point_unplaced_metric(&p, "exchange"),
                        "it has none of these operations");
    next();
    assert_non_null(strstr(carm_point_unplaced_metric(&p, "exchange"), "were not counted"));
    next();
    assert_string_equal(carm_point_unplaced(&p), "its flops were not counted");
    assert_true(carm_metric_is_flops(p.metric));
}

static void refuses(const char *text, const char *why)
{
    carm_points_close(points);
    const int rc = open_text(text);
    if (!rc) {
        assert_int_equal(carm_points_next(points, &p, &err), -CARM_EFORMAT);
    }
    if (!strstr(err.text, why)) {
        fail_msg("'%s' does not say '%s'", err.text, why);
    }
}

static void refuses_bad_ones(void **state)
{
    (void)state;
    refuses("name,bytes,seconds\na,1,1\n", "no column flops");
    refuses("name,operations,bytes,seconds\na,-1,1,1\n", "operations is -1, less than zero");
    refuses("name,flops,bytes,seconds,dp_512\na,1,1,1,many\n", "dp_512 is 'many', not a plain");
    refuses("name,flops,bytes,seconds,loads,loads\na,1,1,1,1,1\n", "loads");
}

static void merges_operations_and_mix(void **state)
{
    (void)state;
    struct carm_merge *m = NULL;
    struct carm_merged sum;
    assert_int_equal(
        open_text("name,operations,metric,bytes,seconds,fp_adds,dp_512,loads\n"
                  "t,7,exchange,2,1,1,10,5\nt,8,exchange,2,1,2,20,\nt,1,other,2,1,,,\n"),
        0);
    assert_int_equal(carm_merge_open(&m, &err), 0);
    for (int i = 0; i < 2; i++) {
        next();
        assert_int_equal(carm_merge_add(m, &p, &err), 0);
    }
    next();
    assert_int_equal(carm_merge_add(m, &p, &err), -CARM_EINVAL);
    assert_non_null(strstr(err.text, "metrics 'exchange' and 'other'"));
    carm_merge_get(m, 0, &sum);
    assert_near(sum.point.operations, 15, 0.0);
    assert_string_equal(sum.point.metric, "exchange");
    assert_near(sum.point.mix.q[CARM_RUNMIX_ADDS], 3, 0.0);
    assert_near(sum.point.mix.q[CARM_RUNMIX_DP + 3], 30, 0.0);
    assert_false(carm_runmix_has(&sum.point.mix, CARM_RUNMIX_LOADS)); /* one row lacks it */
    assert_false(carm_runmix_has(&sum.point.mix, CARM_RUNMIX_MULS));
    carm_merge_close(m);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(rows_of_carm_run_have_their_mix), TEST(what_no_column_tells_is_unknown),
        TEST(operations_stand_for_flops),      TEST(refuses_bad_ones),
        TEST(merges_operations_and_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
