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
    char name[64], note[256], isa[16], precision[16], host[64];
    double flops, bytes, dram_bytes, seconds, share;
    int threads;
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
            (void)snprintf(seen[n].note, sizeof seen[n].note, "%s", p.note);
            (void)snprintf(seen[n].host, sizeof seen[n].host, "%s", p.host);
            (void)snprintf(seen[n].isa, sizeof seen[n].isa, "%s", p.isa);
            (void)snprintf(seen[n].precision, sizeof seen[n].precision, "%s", p.precision);
            seen[n].flops = p.flops;
            seen[n].bytes = p.bytes;
            seen[n].dram_bytes = p.dram_bytes;
            seen[n].seconds = p.seconds;
            seen[n].share = p.share;
            seen[n].threads = p.threads;
        }
        n++;
        rc = 0;
    }
    carm_points_close(points);
    return rc < 0 ? rc : n;
}

static int read_sample(const char *name, const struct carm_points_how *how, struct seen *seen,
                       int most)
{
    size_t size = 0;
    char *text = sample(name, &size);
    const int n = read_text(text, size, how, seen, most);
    free(text);
    fail_if(n < 0, "%s: %s", name, err.text);
    return n;
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

TEST(google)
{
    static const struct carm_points_how runs = {.runs = true};
    struct seen s[8];
    assert_int_equal(read_sample("google-benchmark.json", NULL, s, 8), 5);
    assert_string_equal(s[0].name, "BM_triad/4096");
    assert_string_equal(s[0].host, "sample");
    assert_true(near(s[0].seconds, 1024e-9) && near(s[0].flops, 8192) && near(s[0].bytes, 98304));
    assert_int_equal(s[0].threads, 1);
    /* rates of a benchmark with UseRealTime: for each second of it */
    assert_true(near(s[1].flops, 1e7) && near(s[1].bytes, 8e7) && near(s[1].seconds, 2e-3));
    assert_true(s[2].flops < 0.0 && s[2].bytes < 0.0);
    assert_non_null(strstr(s[2].note, "no counter named flops"));
    assert_non_null(strstr(s[3].note, "skipped it: no file"));
    assert_true(s[3].seconds < 0.0);
    assert_string_equal(s[4].name, "BM_copy"); /* the median of three */
    assert_true(near(s[4].seconds, 10.5e-6));
    assert_int_equal(read_sample("google-benchmark.json", &runs, s, 8), 7);
    assert_true(near(s[4].seconds, 10e-6) && near(s[6].seconds, 10.5e-6));
}

TEST(hyperfine)
{
    static const struct carm_points_how work = {.work = "tests/data/import/work.csv"};
    static const struct carm_points_how runs = {.work = "tests/data/import/work.csv", .runs = true};
    struct seen s[8];
    assert_int_equal(read_sample("hyperfine.json", &work, s, 8), 2);
    assert_true(near(s[0].seconds, 0.505) && near(s[0].flops, 2e9) && near(s[0].bytes, 1.6e10));
    assert_true(near(s[1].seconds, 0.2) && s[1].flops < 0.0);
    assert_int_equal(read_sample("hyperfine.json", &runs, s, 8), 5);
    assert_true(near(s[3].seconds, 0.53) && near(s[3].flops, 2e9));
    assert_int_equal(read_sample("hyperfine-2.json", &work, s, 8), 1);
    assert_string_equal(s[0].name, "solve");
    assert_true(near(s[0].seconds, 0.51));
}

TEST(perf)
{
    struct seen s[2];
    assert_int_equal(setenv("CARM_UARCH", "skylake-server", 1), 0);
    assert_int_equal(read_sample("perf.json", NULL, s, 2), 1);
    /* scalar, by its name; 256 bits, by its code, four flops each */
    assert_true(near(s[0].flops, 1e6 + 4.0 * 499.75e6) && near(s[0].seconds, 0.5));
    assert_true(s[0].bytes > 31.0 * 8e8 && s[0].bytes < 32.0 * 8e8 && near(s[0].share, 0.5));
    assert_int_equal(setenv("CARM_UARCH", "zen3", 1), 0);
    assert_int_equal(read_sample("perf.json", NULL, s, 2), 1);
    assert_true(s[0].flops < 0.0 && s[0].bytes < 0.0 && near(s[0].seconds, 0.5));
    assert_non_null(strstr(s[0].note, "none of its events is in the file"));
    /* blanks before a line with the comma that some versions leave, and no end of the line */
    static const char line[] =
        "  {\"counter-value\" : \"5\", \"unit\" : \"ns\", \"event\" : \"duration_time\", }";
    static const struct carm_points_how how = {.format = "perf"};
    assert_int_equal(read_text(line, strlen(line), &how, s, 2), 1);
    assert_true(near(s[0].seconds, 5e-9));
    assert_int_equal(unsetenv("CARM_UARCH"), 0);
}

TEST(likwid)
{
    struct seen s[4];
    assert_int_equal(read_sample("likwid.csv", NULL, s, 4), 3);
    assert_string_equal(s[0].name, "solve");
    assert_true(near(s[0].flops, 2e9) && near(s[0].seconds, 1.0) && near(s[0].dram_bytes, 6.4e9));
    assert_true(s[0].bytes < 0.0 && s[0].threads == 2);
    /* 2 GB in 0.25 s, flops counted for 0.5 s: joined by rates */
    assert_true(near(s[1].flops, 1e8) && near(s[1].dram_bytes, 4e9));
    assert_non_null(strstr(s[1].note, "joined by their rates"));
    assert_true(s[2].flops < 0.0 && s[2].dram_bytes < 0.0);
}

TEST(tables)
{
    struct seen s[4];
    assert_int_equal(read_sample("advisor.csv", NULL, s, 4), 2);
    assert_true(near(s[0].flops, 4.4e9) && near(s[0].bytes, 35.2e9) && near(s[0].seconds, 1.1));
    assert_string_equal(s[0].isa, "avx2");
    assert_true(near(s[1].flops, 0.68e9) && near(s[1].bytes, 2.72e9));
    assert_int_equal(read_sample("carm-tool.csv", NULL, s, 4), 3);
    assert_true(near(s[0].flops, 2e9) && near(s[0].bytes, 1.6e10) && near(s[0].seconds, 0.8));
    assert_true(s[1].threads == 4 && strcmp(s[1].isa, "avx512") == 0);
    assert_true(s[2].flops == 0.0 && s[2].bytes < 0.0);
}

TEST(roofs)
{
    struct carm_model *m = NULL;
    assert_ok(carm_select_open("tests/data/import/ert.json", &m, NULL, &err));
    assert_string_equal(m->roofs_of, "ERT 1.1.0");
    assert_int_equal(m->nroofs, 1);
    assert_int_equal(m->roofs[0].threads, 4);
    assert_true(near(carm_roofs_find_memory(m->roofs, "L2", "update")->bandwidth, 210.25e9));
    assert_true(near(carm_roofs_find_peak(m->roofs)->rate, 160.25e9));
    carm_model_free(m);
    assert_ok(carm_select_open("tests/data/import/carm-tool-roofs.csv", &m, NULL, &err));
    assert_int_equal(m->nroofs, 2);
    assert_int_equal(m->nlevels, 4);
    assert_true(near(carm_roofs_find_memory(m->roofs, "DRAM", "1:0")->bandwidth, 13e9));
    assert_true(near(carm_roofs_find_peak(m->roofs)->rate, 100.4e9)); /* the later one */
    assert_string_equal(m->config.ldst, "2:1");                       /* the first row's */
    assert_string_equal(m->config.precision, "dp");
    carm_model_free(m);
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

TEST(roof_refusals)
{
    static const char names[] =
        "Name:,n,L1 Size:,48,L2 Size:,1,L3 Size:,0,,L1,L1,L2,L2,L3,L3,DRAM,DRAM,"
        "FP,FP,FP FMA,FP_FMA\nDate,ISA\n";
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"{\"empirical\": {}}", "needs empirical.gbytes.data"},
        {"{\"spec\": {}}", "ERT measured nothing"},
        {"{\"empirical\": {\"gbytes\": {\"data\": [[\"L1\", -1]]}, \"gflops\": {\"data\": [[\"GFLOPs\", 1]]}}}",
         "above zero"},
        {"{\"empirical\": {\"gbytes\": {\"data\": [[\"HBM\", 1]]}, \"gflops\": {\"data\": [[\"GFLOPs\", 1]]}}}",
         "not 'HBM'"},
        {"Name:,n,L1 Size:\n", "is the file cut off?"},
        {names, "no roofs behind the two lines of names"},
    };
    char row[512];
    struct carm_model *m = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_not_equal(
            carm_select_open(file_of(bad[i].text, strlen(bad[i].text)), &m, NULL, &err), 0);
        fail_if(!strstr(err.text, bad[i].says), "%s: %s", bad[i].says, err.text);
    }
    (void)snprintf(row, sizeof row, "%sd,avx2,dp,0,2,1,No,1,add,1,1,1,1,1,1,1,1,1,1,1,1\n", names);
    assert_int_not_equal(carm_select_open(file_of(row, strlen(row)), &m, NULL, &err), 0);
    assert_non_null(strstr(err.text, "line 3: ISA, precision, threads"));
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
    struct seen s[1];
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
    assert_ok(carm_work_open("tests/data/import/work.csv", &w, &err));
    assert_null(carm_work_find(w, "nothing"));
    assert_true(near(carm_work_find(w, "solve")->bytes, 1.6e10));
    carm_work_close(w);
}
