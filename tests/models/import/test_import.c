/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of other tools: what their numbers come to, what is refused and with which words, and that files which
 * are cut off anywhere are read or refused. */
#include <sys/mman.h>
#include <unistd.h>

#include "harness/count/quantities.h"
#include "models/file/points.h"
#include "models/file/select.h"
#include "models/file/work.h"
#include "models/import/rows.h"
#include "tests/unit.h"

static bool near(double value, double wanted)
{
    return fabs(value - wanted) <= 1e-9 * wanted;
}

/* A file that only this process sees. */
static const char *file_of(const char *text, size_t size)
{
    static char path[64];
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("import", 0);
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, text, size, 0), size);
    return path;
}

static char *sample(const char *name, size_t *size)
{
    char path[128];
    (void)snprintf(path, sizeof path, "tests/data/import/%s", name);
    FILE *in = fopen(path, "rb");
    char *text = malloc(1 << 16);
    assert_non_null(in);
    assert_non_null(text);
    *size = fread(text, 1, 1 << 16, in);
    assert_int_equal(fclose(in), 0);
    return text;
}

/* Reads all points; a copy of the numbers and names of the first most of them.
 * returns how many there are, or an error */
struct seen {
    char name[64];
    double flops, seconds;
};

static int read_text(const char *text, size_t size, const struct carm_points_how *how,
                     struct seen *seen, int most)
{
    struct carm_points *points = NULL;
    struct carm_point p;
    int n = 0;
    err.text[0] = '\0';
    int rc = carm_points_open(file_of(text, size), how, &points, &err);
    while (rc == 0 && (rc = carm_points_next(points, &p, &err)) == 1) {
        if (n < most) {
            (void)snprintf(seen[n].name, sizeof seen[n].name, "%s", p.name);
            seen[n].flops = p.flops;
            seen[n].seconds = p.seconds;
        }
        n++;
        rc = 0;
    }
    carm_points_close(points);
    return rc < 0 ? rc : n;
}

TEST(columns_of_counts)
{
    static const struct {
        const char *column;
        int quantity;
    } all[] = {{"instructions", CARM_Q_INSTRUCTIONS},
               {"cycles", CARM_Q_CYCLES},
               {"l2_bytes", CARM_Q_L2_BYTES},
               {"flops", -1},
               {"bytes", -1},
               {"dram_bytes", -1},
               {"seconds", -1}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_int_equal(carm_import_count_of(all[i].column), all[i].quantity);
    }
}

#define GB(members) "{\"context\": {}, \"benchmarks\": [{\"name\": \"a\"," members "}]}"
#define LIKWID      "TABLE,Group 1 Metric,MEM_DP,2\nMetric,HWThread 0\nRuntime (RDTSC) [s],"
#define ADVISOR     "ID,Function Call Sites and Loops,Self Elapsed Time,Self GFLOP,Self Memory GB\n"
#define CARM_TOOL   "Date,Method,Name,ISA,Precision,Threads,AI,Gflops,Bandwidth,Time\n"

TEST(refusals)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {GB("\"real_time\": 1, \"time_unit\": \"h\""), "line 1: time_unit is ns, us, ms or s"},
        {GB("\"real_time\": 1"), "time_unit is ns, us, ms or s"},
        {GB("\"real_time\": \"1\", \"time_unit\": \"s\""), "real_time is no number"},
        {GB("\"real_time\": 1, \"flops\": -1, \"time_unit\": \"s\""),
         "flops is no number of at least"},
        {GB("\"real_time\": 1, \"flops\": 1e200, \"time_unit\": \"s\""),
         "where every machine's are"},
        {"{\"context\": {},\n\"benchmarks\": [{\"name\": 1}]}",
         "line 2: a benchmark without a name"},
        {"{\"context\": {},\n\"benchmarks\": [", "no JSON"},
        {"{\"context\": {},\n\"benchmarks\": [] ", "line 2: the file ends where '}' is expected"},
        {"{\"context\": {}, \"benchmarks\": []} x", "text behind the end"},
        {"{\"context\": {}, \"benchmarks\": [1,2}", "line 1: an object goes here"},
        {"{\"context\": {\"num_cpus\": 0,5}}", "no JSON"},
        {GB("\"real_time\": 1, \"real_time\": 2, \"time_unit\": \"s\""), "has a member twice"},
        {GB("\"real_time\": 1,5, \"time_unit\": \"s\""), "no JSON"},
        {GB("\"real_time\": 1 ms, \"time_unit\": \"s\""), "no JSON"},
        {GB("\"real_time\": 0x1p3, \"time_unit\": \"s\""), "real_time is no number"},
        {"{\"context\": {}, \"benchmarks\": [{\"name\": \"a\\ud800\"}]}", "no JSON"},
        {"{\"results\": [{\"command\": \"a\", \"times\": [1 2]}]}", "no JSON"},
        {"{\"results\": [\n{\"mean\": 1}]}", "line 2: a result without a command"},
        {"{\"results\": [{\"command\": \"a\", \"times\": [1, 0]}]}",
         "time 2 is no number of seconds"},
        {"{\"results\": [{\"command\": \"a\", \"measurements\": [{\"time_wall_clock\": {\"value\": 1, "
         "\"unit\": \"minute\"}}]}]}",
         "time 1 is no number of seconds"},
        {"{\"counter-value\" : \"1,5\", \"event\" : \"cycles\"}", "run perf with LC_ALL=C"},
        {"{\"interval\" : 1.0, \"counter-value\" : \"1\", \"event\" : \"cycles\"}", "without -I"},
        {"{\"socket\" : \"S0\", \"counter-value\" : \"1\", \"event\" : \"cycles\"}",
         "by socket are no point"},
        {"{\"counter-value\" : \"1\"}\n", "no event of perf stat -j"},
        {"{\"counter-value\" : \"1\", \"event\" : \"cycles\"}\nSegmentation fault\n",
         "line 2: no JSON"},
        {"TABLE,Group 1\n", "is it cut off?"},
        {"TABLE,Group 1 Raw,MEM,2\n", "no table of metrics"},
        {LIKWID "1,2\n", NULL},
        {LIKWID "1.0s\n", "'1.0s' is no time of likwid's"},
        {LIKWID "1.0\nDP [MFLOP/s],-5\n", "'-5' is no number of likwid's"},
        {LIKWID "1.0\nDP [MFLOP/s],12", "line 4: the last line does not end: is the file cut off?"},
        {LIKWID "1.0,2.0\nDP [MFLOP/s],12\n",
         "only 1 of 2 threads have a value: is the file cut off?"},
        {ADVISOR "1,f,1.5ms,2,3\n", "Self Elapsed Time is '1.5ms', not a plain number of seconds"},
        {ADVISOR "1,f,1s,\"2,5\",3\n", "Self GFLOP is '2,5'"},
        {"{\"results\": [{\"command\": \"a\", \"times\": [0,5]}]}",
         "time 1 is no number of seconds"},
        {"{\"results\": [{\"command\": \"a\", \"times\": [1 ms]}]}", "no JSON"},
        {LIKWID "1.0\nDP [MFLOP/s],5 G\n", "'5 G' is no number of likwid's"},
        {CARM_TOOL "d,m,n,avx2,dp,1,1,1,1,1.2", "line 2: the last line does not end"},
        {CARM_TOOL "d,m,a,avx2,dp,1,0.1,2 G,3,4\n", "Gflops is '2 G', not a plain number"},
        {CARM_TOOL "d,m,a,avx2,dp,1,0,1,2,3,4\n", "the line has 11 fields"},
        {ADVISOR "1,f,1s,2\n", "line 2: the line has 4 fields, the header has 5"},
        {ADVISOR "1,f,1s,0,0\n", "no loop or function has flops or bytes"},
        {"ID\tFunction Call Sites and Loops\n", "--csv-delimiter=comma"},
        {"ID,Function Call Sites and Loops,Self Time\n", "no column Self GFLOP"},
        {CARM_TOOL "d,m,a,avx2,dp,1,0.1,2,3\n", "the line has 9 fields"},
        {CARM_TOOL "d,m,a,avx2,dp,1,0.1,-2,3,4\n", "Gflops is '-2', not a plain number"},
        {CARM_TOOL "d,m,,avx2,dp,1,0.1,2,3,4\n", "a point without a name"},
        {"{\"empirical\": {}}", "has roofs of ERT, no points"},
    };
    struct seen s[1];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const int n = read_text(bad[i].text, strlen(bad[i].text), NULL, s, 1);
        fail_if(bad[i].says ? n >= 0 || !strstr(err.text, bad[i].says) : n < 0, "%s: %s, not %s",
                bad[i].text, n < 0 ? err.text : "read", bad[i].says);
    }
}

/* A file that ends anywhere is read as far as it goes, or refused with a sentence. */
TEST(cut_off)
{
    static const char *const names[] = {"google-benchmark.json",
                                        "hyperfine.json",
                                        "hyperfine-2.json",
                                        "perf.json",
                                        "likwid.csv",
                                        "advisor.csv",
                                        "carm-tool.csv",
                                        "ert.json",
                                        "carm-tool-roofs.csv"};
    struct seen s[1];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size = 0;
        char *text = sample(names[i], &size);
        for (size_t n = 0; n < size; n += 7) {
            struct carm_model *m = NULL;
            if (read_text(text, n, NULL, s, 1) < 0) {
                assert_true(err.text[0]);
            }
            err.text[0] = '\0';
            if (carm_select_open(file_of(text, n), &m, NULL, &err)) {
                assert_true(err.text[0]);
            }
            carm_model_free(m);
        }
        free(text);
    }
}

/* Megabytes in one field. */
TEST(large)
{
    enum { SIZE = 4 << 20 };
    char *text = malloc(SIZE + 256);
    struct seen s[1];
    assert_non_null(text);
    static const char *const begins[] = {"{\"context\": {}, \"benchmarks\": [{\"name\": \"",
                                         LIKWID,
                                         ADVISOR "1,",
                                         CARM_TOOL "d,m,",
                                         "{\"counter-value\" : \"1\", \"event\" : \"",
                                         "{\"results\": [{\"command\": \"",
                                         "{\"results\": [{\"command\": \"a\", \"times\": [",
                                         "Name:,n,L1 Size:,",
                                         "{\"empirical\": {\"gbytes\": [\""};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        struct carm_model *m = NULL;
        const size_t n = strlen(begins[i]);
        memcpy(text, begins[i], n);
        memset(text + n, 'x', SIZE);
        assert_true(read_text(text, n + SIZE, NULL, s, 1) < 0);
        assert_true(err.text[0]);
        assert_int_not_equal(carm_select_open(file_of(text, n + SIZE), &m, NULL, &err), 0);
        assert_null(m);
    }
    /* a name that is closed: as long as a row of points.csv may have one, or a sentence */
    const size_t n = (size_t)snprintf(text, 256, "%s", begins[0]);
    memset(text + n, 'x', SIZE - n);
    const int end = snprintf(text + SIZE, 256, "\", \"real_time\": 1, \"time_unit\": \"s\"}]}");
    assert_true(read_text(text, (size_t)(SIZE + end), NULL, s, 1) < 0);
    assert_non_null(strstr(err.text, "bytes"));
    free(text);
}

/* Text is read through a window of 256 KiB: objects, strings and escapes lie across its ends, one is longer. */
TEST(windows)
{
    enum { ITEMS = 3000, WINDOW = 1 << 18, LONG = 700000 };
    const size_t room = 4 << 20;
    struct seen *s = calloc(ITEMS, sizeof *s);
    char *text = malloc(room);
    char name[32];
    assert_non_null(s);
    assert_non_null(text);
    size_t n =
        (size_t)sprintf(text, "{\"context\": {\"load\": [1, {\"a\": \"]\"}]},\n\"benchmarks\": [");
    for (int i = 0; i < ITEMS; i++) {
        n += (size_t)sprintf(text + n, "%s\n{\"name\": \"p%d\", \"label\": \"", i ? "," : "", i);
        for (int k = 0; k < i * 7 % 101; k++) {
            n += (size_t)sprintf(text + n, "\\\"\\\\");
        }
        const size_t more = i == ITEMS / 2 ? LONG : 0;
        memset(text + n, 'x', more);
        n += more;
        n += (size_t)sprintf(text + n,
                             "\", \"list\": [[], \"]\\\"\", {\"a\": 1}], \"real_time\": %d.25, "
                             "\"time_unit\": \"s\", \"flops\": %d}",
                             i, i + 1);
    }
    n += (size_t)sprintf(text + n, "]\n}\n");
    assert_in_range(n, 5 * WINDOW, room);
    assert_int_equal(read_text(text, n, NULL, s, ITEMS), ITEMS);
    for (int i = 0; i < ITEMS; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        assert_string_equal(s[i].name, name);
        assert_true(near(s[i].seconds, i + 0.25));
        assert_true(near(s[i].flops, i + 1));
    }
    for (size_t cut = WINDOW - 900; cut < WINDOW + 900; cut += 7) {
        assert_true(read_text(text, cut, NULL, s, 0) < 0);
        assert_true(strlen(err.text) > 10);
    }
    /* what is wrong far behind is told with its line */
    char *last = strstr(text, "{\"name\": \"p2990\"");
    memcpy(last, "{\"name\"?", 8);
    assert_true(read_text(text, n, NULL, s, 0) < 0);
    assert_non_null(strstr(err.text, "line 2993:"));
    free(text);
    free(s);
}

/* Rows of one name are runs of it, but for likwid, whose groups of a region are parts of one run. */
TEST(repeated_names)
{
#define TWICE "{\"name\": \"a\", \"real_time\": 1, \"time_unit\": \"s\"}"
    static const struct {
        const char *text;
        int rows;
    } files[] = {
        {"{\"context\": {}, \"benchmarks\": [" TWICE "," TWICE "]}", 2},
        {"{\"results\": [{\"command\": \"a\", \"median\": 1}, {\"command\": \"a\", \"median\": 2}]}",
         2},
        {ADVISOR "1,f,1s,2,3\n1,f,2s,2,3\n", 2},
        {CARM_TOOL "d,m,a,avx2,dp,1,0.1,2,3,4\nd,m,a,avx2,dp,1,0.1,2,3,4\n", 2},
        {LIKWID "1.0\nDP [MFLOP/s],5\n" LIKWID "1.0\nDP [MFLOP/s],5\n", 1},
    };
    struct seen s[4];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const int n = read_text(files[i].text, strlen(files[i].text), NULL, s, 4);
        fail_if(n != files[i].rows, "%s: %d rows, %s", files[i].text, n, err.text);
    }
}

TEST(formats)
{
    static const struct carm_points_how insists = {.format = "likwid"};
    static const struct carm_points_how points = {.format = "points"};
    static const struct carm_points_how none = {.format = "excel"};
    static const char csv[] = "name,flops,bytes,seconds\na,1,2,3\n";
    /* blanks before a line with the comma that some versions leave, and no end of the line */
    static const struct carm_points_how perf = {.format = "perf"};
    static const char line[] =
        "  {\"counter-value\" : \"5\", \"unit\" : \"ns\", \"event\" : \"duration_time\", }";
    struct seen s[1];
    assert_int_equal(read_text(line, sizeof line - 1, &perf, s, 1), 1);
    assert_true(near(s[0].seconds, 5e-9));
    assert_int_equal(read_text(csv, sizeof csv - 1, NULL, s, 1), 1);
    assert_int_equal(read_text(csv, sizeof csv - 1, &points, s, 1), 1);
    assert_true(read_text(csv, sizeof csv - 1, &insists, s, 1) < 0);
    assert_non_null(strstr(err.text, "no table of metrics"));
    assert_true(read_text(csv, sizeof csv - 1, &none, s, 1) < 0);
    assert_non_null(strstr(err.text, "not 'excel'"));
    assert_false(carm_select_is_model("tests/data/import/google-benchmark.json"));
    assert_true(carm_select_is_model("tests/data/import/ert.json"));
    assert_true(carm_select_is_model("tests/data/import/carm-tool-roofs.csv"));
    assert_true(carm_select_is_model("tests/data/sample-model.json"));
}

TEST(work)
{
    struct carm_work *w = NULL;
    static const char *const bad[] = {"name,flops\na,1\n", "name,flops,bytes\na,1,2\na,1,2\n",
                                      "name,flops,bytes\na,1 G,2\n", "name,flops,bytes\na,1\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_not_equal(carm_work_open(file_of(bad[i], strlen(bad[i])), &w, &err), 0);
        assert_null(w);
    }
    /* columns in any order; bytes of either kind */
    static const char *const good[] = {
        "bytes,name,flops\n3,a,2\n", "dram_bytes,flops,name\n3,2,a\n", "flops,bytes,name\n2,3,a\n"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_ok(carm_work_open(file_of(good[i], strlen(good[i])), &w, &err));
        const struct carm_work_row *row = carm_work_find(w, "a");
        assert_true(row && row->flops == 2 && (i == 1 ? row->dram_bytes : row->bytes) == 3);
        carm_work_close(w);
    }
    assert_ok(carm_work_open("tests/data/import/work.csv", &w, &err));
    assert_null(carm_work_find(w, "nothing"));
    assert_true(near(carm_work_find(w, "solve")->bytes, 1.6e10));
    carm_work_close(w);
}
