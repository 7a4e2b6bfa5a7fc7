/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of points over commits: their order, the series of their points, and steps. */
#include "models/file/history.h"
#include "tests/folder.h"

#define HEADER "name,flops,bytes,seconds,counted_by,instructions,asks_for\n"

static struct carm_history h;
static const struct carm_points_how how;
static char *paths[4]; /* operands */
static const char *commits;
static int listed;

static FILE *list(void)
{
    listed++;
    return commits ? fmemopen((char *)commits, strlen(commits), "r") : NULL;
}

static int set_up(void **state)
{
    listed = 0;
    commits = NULL;
    h = (struct carm_history){.nfiles = 0};
    return make_folder(state);
}

static int tear_down(void **state)
{
    carm_history_close(&h);
    return remove_folder(state);
}

/* A file with a program of so many instructions, 100 flops and 800 bytes */
static void put_count(const char *file, double instructions)
{
    char text[256];
    (void)snprintf(text, sizeof text, HEADER "x,100,800,,translated,%.0f,\n", instructions);
    put_file(file, text);
}

static int read_folder(void)
{
    paths[0] = folder;
    carm_history_close(&h);
    return carm_history_read(&h, paths, 1, &how, 0.01, NULL, list, &err);
}

static const struct carm_history_series *of(const char *name, enum carm_change_kind kind)
{
    for (size_t i = 0; i < h.nseries; i++) {
        if (strcmp(h.series[i].name, name) == 0 && h.series[i].kind == kind) {
            return &h.series[i];
        }
    }
    return NULL;
}

static void assert_labels(const char *wanted)
{
    char all[256] = "";
    for (size_t i = 0; i < h.nfiles; i++) {
        (void)snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? " " : "",
                       h.labels[i]);
        assert_true(access(h.paths[i], R_OK) == 0);
    }
    assert_string_equal(all, wanted);
}

/* Numbers in names are numbers; what is no *.csv and what is hidden is passed over. */
TEST_BETWEEN(names_in_order, set_up, tear_down)
{
    static const char *const names[] = {"v10.csv", "v9.csv", "v1.csv", ".v2.csv",
                                        "v3.txt",  ".csv",   "v4.csv~"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        put_count(names[i], 1000);
    }
    assert_ok(read_folder());
    assert_labels("v1 v9 v10");
    assert_true(!h.by_commit && h.ncommits == 0 && h.unlike == 0);
    assert_int_equal(listed, 0);
}

/* The hash of a commit is 7 to 40 of its hexadecimal digits; files that are none come last, by name. */
TEST_BETWEEN(commits_in_order, set_up, tear_down)
{
    static const char *const names[] = {"0000002.csv",
                                        "0000001.csv",
                                        "123456.csv",
                                        "0123456789012345678901234567890123456789.csv",
                                        "01234567890123456789012345678901234567890.csv",
                                        "000000g.csv",
                                        "feedbee.csv"};
    commits =
        "0000001aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n123456aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
        "0123456789012345678901234567890123456789\n0000002aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        put_count(names[i], 1000);
    }
    assert_ok(read_folder());
    assert_labels("0000001 0123456789012345678901234567890123456789 0000002 000000g "
                  "01234567890123456789012345678901234567890 123456 feedbee");
    assert_true(h.by_commit && h.ncommits == 3);
    assert_int_equal(listed, 1);
    commits = "0000002aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"; /* of one file alone: it is the first */
    assert_ok(read_folder());
    assert_true(h.by_commit && h.ncommits == 1);
    assert_string_equal(h.labels[0], "0000002");
    commits = NULL; /* no repository */
    assert_ok(read_folder());
    assert_true(!h.by_commit && h.ncommits == 0);
    assert_string_equal(h.labels[0], "0000001"); /* by name */
    assert_int_equal(listed, 3);
}

/* Operands are taken in their order; too few of them are refused. */
TEST_BETWEEN(files_in_their_order, set_up, tear_down)
{
    char first[128], second[128];
    put_count("b.csv", 1000);
    put_count("a", 1000);
    (void)snprintf(first, sizeof first, "%s", path_of("b.csv"));
    (void)snprintf(second, sizeof second, "%s", path_of("a"));
    paths[0] = first;
    paths[1] = second;
    assert_ok(carm_history_read(&h, paths, 2, &how, 0.01, NULL, list, &err));
    assert_labels("b a");
    carm_history_close(&h);
    assert_refused(carm_history_read(&h, paths, 1, &how, 0.01, NULL, list, &err), -CARM_EINVAL,
                   "a history needs a folder with a file for each commit, or two files and more");
    assert_int_equal(h.nseries, 0);
    assert_refused(read_folder(), -CARM_EINVAL, "has fewer than two files *.csv"); /* b.csv alone */
}

/* Counts: each change is a step. Quantities without values have no series, and names that one file of two has none. */
TEST_BETWEEN(steps_of_counts, set_up, tear_down)
{
    static const double counts[] = {1000, 1000, 1001, 1001, 900};
    const struct carm_history_series *s;
    for (size_t i = 0; i < 5; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "%zu.csv", i);
        put_count(name, counts[i]);
    }
    assert_ok(read_folder());
    assert_int_equal(h.nseries, 3); /* flops, bytes, instructions */
    s = of("x", CARM_CHANGE_INSTRUCTIONS);
    assert_true(s && s->exact && !s->asks);
    for (size_t i = 0; i < 5; i++) {
        assert_near(s->values[i], counts[i], 0);
        assert_null(s->causes[i]); /* no parts */
    }
    assert_int_equal(s->nsteps, 2);
    assert_true(s->steps[0].at == 2 && s->steps[0].before == 1000 && s->steps[0].after == 1001);
    assert_true(s->steps[1].at == 4 && s->steps[1].before == 1001 && s->steps[1].after == 900);
    s = of("x", CARM_CHANGE_BYTES);
    assert_true(s && s->exact && s->nsteps == 0 && s->values[4] == 800);
    assert_null(of("x", CARM_CHANGE_TIME));
    { /* several points of a file have series of their own */
        char text[256];
        for (int i = 0; i < 3; i++) {
            (void)snprintf(
                text, sizeof text,
                HEADER
                "x,100,800,,translated,1000,\ny,%d,8,,translated,7,\nz,1,1,,translated,%d,\n",
                i, 10 * i + 1);
            put_file(i == 0 ? "0.csv" : i == 1 ? "1.csv" : "2.csv", text);
        }
        assert_ok(read_folder());
        assert_int_equal(h.nseries, 9);
        for (int i = 0; i < 3; i++) {
            assert_near(of("y", CARM_CHANGE_FLOPS)->values[i], i, 0);
            assert_near(of("z", CARM_CHANGE_INSTRUCTIONS)->values[i], 10 * i + 1, 0);
        }
        put_count("0.csv", 1000);
        put_count("1.csv", 1000);
    }
    /* a file with another name alone: both pairs with it have none in common */
    put_file("2.csv", HEADER "y,1,1,,translated,1,\n");
    assert_ok(read_folder());
    assert_int_equal(h.unlike, 2);
    s = of("x", CARM_CHANGE_INSTRUCTIONS);
    assert_true(isnan(s->values[2]) && s->values[1] == 1000 && s->values[3] == 1001);
    assert_true(s->nsteps == 2 && s->steps[0].at == 3 && s->steps[1].at == 4);
    assert_null(of("y", CARM_CHANGE_INSTRUCTIONS));
    put_file("1.csv", HEADER "z,1,1,,translated,1,\n");
    put_file("3.csv", HEADER "z,1,1,,translated,1,\n");
    assert_refused(read_folder(), -CARM_EINVAL, ""); /* no two neighbours are alike */
    assert_int_equal(h.unlike, 4);
}

/* Counters scatter, and so do times. A program that asks for what varies has steps from a thousandth on. */
TEST_BETWEEN(what_is_exact, set_up, tear_down)
{
    static const struct {
        const char *by, *asks;
        double last;
        bool exact, asking;
        size_t steps;
    } cases[] = {{"translated", "the time", 100090, true, true, 0},
                 {"translated", "the time", 100110, true, true, 1},
                 {"translated", "", 100001, true, false, 1},
                 {"pmu", "the time", 200000, false, false, 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        for (int i = 0; i < 3; i++) {
            char name[8], text[256];
            (void)snprintf(name, sizeof name, "%d.csv", i);
            (void)snprintf(text, sizeof text, HEADER "x,,800,0.5,%s,%.0f,%s\n", cases[k].by,
                           i == 2 ? cases[k].last : 100000, cases[k].asks);
            put_file(name, text);
        }
        assert_ok(read_folder());
        const struct carm_history_series *s = of("x", CARM_CHANGE_INSTRUCTIONS),
                                         *time = of("x", CARM_CHANGE_TIME);
        assert_int_equal(s->exact, cases[k].exact);
        assert_int_equal(s->asks, cases[k].asking);
        assert_int_equal(s->nsteps, cases[k].steps);
        assert_true(time && !time->exact && !time->asks && time->nsteps == 0);
        assert_near(time->values[2], 0.5, 1e-12);
    }
}

/* A change of a program is explained by its parts, the largest three; a program without its own row is their sum. */
TEST_BETWEEN(causes_of_steps, set_up, tear_down)
{
    for (int i = 0; i < 3; i++) {
        char name[8], text[512];
        (void)snprintf(name, sizeof name, "%d.csv", i);
        (void)snprintf(
            text, sizeof text,
            "name,flops,bytes,seconds,counted_by,instructions,kind\nx: a,0,0,,translated,%d,function\n"
            "x: b,0,0,,translated,%d,function\nx: c,0,0,,translated,%d,function\n"
            "x: d,0,0,,translated,%d,function\nx: e,0,0,,translated,10,function\n",
            i ? 200 : 100, i ? 150 : 100, i ? 130 : 100, i ? 120 : 100);
        put_file(name, text);
    }
    assert_ok(read_folder());
    const struct carm_history_series *s = of("x", CARM_CHANGE_INSTRUCTIONS);
    assert_non_null(s);
    assert_true(s->values[0] == 410 && s->values[1] == 610 && s->values[2] == 610);
    assert_string_equal(s->causes[1], "50% in a, 25% in b, 15% in c");
    assert_null(s->causes[0]);
    assert_null(s->causes[2]);
    assert_null(of("x: a", CARM_CHANGE_INSTRUCTIONS));
}
