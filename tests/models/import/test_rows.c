/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each member of each row that other tools' files come to, in whole: small files, their numbers worked out by hand. */
#include <sys/mman.h>
#include <unistd.h>

#include "models/file/points.h"
#include "models/file/select.h"
#include "models/import/rows.h"
#include "tests/models/figures.h"

static char path[64];

static const char *file_of(const char *text)
{
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("import", 0);
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    const size_t size = strlen(text);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, text, size, 0), size);
    return path;
}

static void put_number(struct figures *r, const char *name, double value)
{
    if (!(value < 0.0)) {
        put(r, " %s %.9g", name, value);
    }
}

static void put_word(struct figures *r, const char *name, const char *word)
{
    if (*word) {
        put(r, " %s %s", name, word);
    }
}

static void put_point(struct figures *r, const struct carm_point *p)
{
    put(r, "%s:", strcmp(p->name, strrchr(path, '/') + 1) == 0 ? "(file)" : p->name);
    put_number(r, "flops", p->flops);
    put_number(r, "bytes", p->bytes);
    put_number(r, "low", p->bytes_low);
    put_number(r, "high", p->bytes_high);
    put_number(r, "dram", p->dram_bytes);
    put_number(r, "s", p->seconds);
    put_number(r, "share", p->share);
    for (size_t k = 0; k < CARM_POINT_COLUMNS; k++) {
        const struct carm_point_column *c = &carm_point_columns[k];
        if (c->kind == CARM_POINT_COUNT &&
            !strstr("flops bytes dram_bytes bytes_low bytes_high", c->name)) {
            double value;
            memcpy(&value, (const char *)p + c->at, sizeof value);
            put_number(r, c->name, value);
        }
    }
    put(r, " x%d", p->threads);
    put_word(r, "isa", p->isa);
    put_word(r, "precision", p->precision);
    put_word(r, "by", p->counted_by);
    put_word(r, "on", p->host);
    put(r, "%s%s\n", *p->note ? "; " : "", p->note);
}

/* The rows, or behind "refused: " the sentence without the name of the file. */
static const struct figures *rows_at(const char *file, const struct carm_points_how *how)
{
    struct figures *rows = no_figures();
    struct carm_points *points = NULL;
    struct carm_point p;
    int rc = carm_points_open(file, how, &points, &err);
    while (rc == 0 && (rc = carm_points_next(points, &p, &err)) == 1) {
        put_point(rows, &p);
        rc = 0;
    }
    carm_points_close(points);
    if (rc < 0) {
        const char *what = strstr(err.text, ": ");
        put(rows, "refused%s\n", what ? what : err.text);
    }
    return rows;
}

static const struct figures *rows_of(const char *text, bool runs)
{
    const struct carm_points_how how = {.runs = runs};
    return rows_at(file_of(text), &how);
}

struct file {
    const char *text, *rows, *runs; /* runs: with a row for each; NULL = the same */
};

static void check(const struct file *files, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (int runs = 0; runs < 2; runs++) {
            expect(rows_of(files[i].text, runs),
                   runs && files[i].runs ? files[i].runs : files[i].rows,
                   runs ? "runs of file" : "file", i);
        }
    }
}

#define CHECK(files) check(files, sizeof(files) / sizeof *(files))

/* Each text of a row is its own, and in memory once for rows that follow each other with all of them. */
TEST(texts_of_rows)
{
    static const char *const texts[][6] = {{"N", "a", "b", "c", "d", "e"},
                                           {"n", "a", "b", "c", "d", "F"},
                                           {"n", "a", "b", "c", "d", "F"},
                                           {"n", "AZ", "[@`{", "X", "", "f"},
                                           {"n", "", "b", "c", "d", "f"}};
    enum { N = sizeof texts / sizeof *texts };
    struct carm_import_rows *rows = NULL;
    struct carm_import_row of[N];
    assert_ok(carm_import_rows_open(&rows, &err));
    for (size_t i = 0; i < N; i++) {
        const char *const *t = texts[i];
        const struct carm_import_row row = {.name = t[0],
                                            .isa = t[1],
                                            .precision = t[2],
                                            .counted_by = t[3],
                                            .host = t[4],
                                            .note = t[5]};
        assert_ok(carm_import_rows_add(rows, &row, &err));
    }
    for (size_t i = 0; i < N; i++) {
        const char *const *t = texts[i];
        carm_import_rows_get(rows, i, &of[i]);
        assert_string_equal(of[i].name, t[0]);
        assert_string_equal(of[i].isa, i == 3 ? "az" : t[1]);
        assert_string_equal(of[i].precision, t[2]);
        assert_string_equal(of[i].counted_by, t[3]);
        assert_string_equal(of[i].host, t[4]);
        assert_string_equal(of[i].note, t[5]);
        assert_null(of[i].counts);
    }
    assert_ptr_equal(of[1].isa, of[2].isa);
    carm_import_rows_close(rows);
}

#define GOOGLE(context, benchmarks) "{\"context\": {" context "}, \"benchmarks\": [" benchmarks "]}"

TEST(google)
{
    static const struct file files[] = {
        /* members of a benchmark, its units of time */
        {GOOGLE(
             "\"host_name\": \"node\\n1\"",
             "{\"name\": \"a\", \"real_time\": 2, \"time_unit\": \"ns\", \"threads\": 3, \"flops\": 5, "
             "\"bytes\": 7, \"dram_bytes\": 11},"
             "{\"name\": \"b\", \"real_time\": 2, \"time_unit\": \"us\", \"flops\": 5},"
             "{\"name\": \"c\", \"real_time\": 2, \"time_unit\": \"ms\", \"bytes\": 0},"
             "{\"name\": \"d\", \"real_time\": 2, \"time_unit\": \"s\"}"),
         "a: flops 5 bytes 7 dram 11 s 2e-09 x3 by Google Benchmark on node?1\n"
         "b: flops 5 s 2e-06 x0 by Google Benchmark on node?1; the benchmark has no counter named bytes\n"
         "c: bytes 0 s 0.002 x0 by Google Benchmark on node?1; the benchmark has no counter named flops\n"
         "d: s 2 x0 by Google Benchmark on node?1; the benchmark has no counter named flops, and none named bytes\n",
         NULL},
        /* rates are for each second of a processor, or of real time where the name says so */
        {GOOGLE(
             "",
             "{\"name\": \"a\", \"real_time\": 4, \"cpu_time\": 2, \"time_unit\": \"s\", "
             "\"flops_per_second\": 10, \"bytes_per_second\": 100, \"dram_bytes_per_second\": 0.5},"
             "{\"name\": \"a/manual_time\", \"real_time\": 4, \"cpu_time\": 2, \"time_unit\": \"s\", "
             "\"flops_per_second\": 10, \"bytes\": 0, \"bytes_per_second\": 9},"
             "{\"name\": \"a/real_time\", \"real_time\": 4, \"cpu_time\": 2, \"time_unit\": \"s\", "
             "\"flops_per_second\": 0, \"bytes_per_second\": 100},"
             "{\"name\": \"b\", \"real_time\": 4, \"time_unit\": \"s\", \"flops_per_second\": 10, \"bytes\": 1}"),
         "a: flops 20 bytes 200 dram 1 s 4 x0 by Google Benchmark\n"
         "a/manual_time: flops 40 bytes 0 s 4 x0 by Google Benchmark\n"
         "a/real_time: flops 0 bytes 400 s 4 x0 by Google Benchmark\n"
         "b: bytes 1 s 4 x0 by Google Benchmark; the benchmark has no counter named flops\n",
         NULL},
        {"{\"context\": {}, \"benchmarks\": [\n{\"name\": \"a\", \"real_time\": 1, \"time_unit\": \"s\"}, \n"
         "{\"real_time\": 1}]}",
         "refused: line 3: a benchmark without a name\n", NULL},
        /* skipped or failed, with and without a reason; "false" is neither */
        {GOOGLE(
             "",
             "{\"name\": \"a\", \"error_occurred\": true, \"error_message\": \"no file\"},"
             "{\"name\": \"b\", \"skipped\": true, \"skip_message\": \"no GPU\"},"
             "{\"name\": \"c\", \"skipped\": true},"
             "{\"name\": \"d\", \"error_occurred\": false, \"real_time\": 1, \"time_unit\": \"s\", "
             "\"flops\": 1, \"bytes\": 1}"),
         "a: x0 by Google Benchmark; Google Benchmark skipped it: no file\n"
         "b: x0 by Google Benchmark; Google Benchmark skipped it: no GPU\n"
         "c: x0 by Google Benchmark; Google Benchmark skipped it\n"
         "d: flops 1 bytes 1 s 1 x0 by Google Benchmark\n",
         NULL},
        /* repetitions and their aggregates; a median alone is a row in both cases */
        {GOOGLE(
             "",
             "{\"name\": \"a\", \"run_name\": \"a\", \"run_type\": \"iteration\", \"repetitions\": 2, "
             "\"real_time\": 1, "
             "\"time_unit\": \"s\", \"flops\": 1, \"bytes\": 1},"
             "{\"name\": \"a\", \"run_name\": \"a\", \"run_type\": \"iteration\", \"repetitions\": 2, "
             "\"real_time\": 3, "
             "\"time_unit\": \"s\", \"flops\": 1, \"bytes\": 1},"
             "{\"name\": \"a_mean\", \"run_name\": \"a\", \"run_type\": \"aggregate\", \"aggregate_name\": "
             "\"mean\", "
             "\"repetitions\": 2, \"real_time\": 2, \"time_unit\": \"s\", \"flops\": 1, \"bytes\": 1},"
             "{\"name\": \"a_median\", \"run_name\": \"a\", \"run_type\": \"aggregate\", \"aggregate_name\": "
             "\"median\", "
             "\"repetitions\": 2, \"real_time\": 2, \"time_unit\": \"s\", \"flops\": 1, \"bytes\": 1},"
             "{\"name\": \"b_median\", \"run_name\": \"b\", \"run_type\": \"aggregate\", \"aggregate_name\": "
             "\"median\", "
             "\"repetitions\": 2, \"real_time\": 5, \"time_unit\": \"s\", \"flops\": 1, \"bytes\": 1},"
             "{\"name\": \"c\", \"run_name\": \"c\", \"run_type\": \"iteration\", \"repetitions\": 1, "
             "\"real_time\": 4, "
             "\"time_unit\": \"s\", \"flops\": 1, \"bytes\": 1}"),
         "a: flops 1 bytes 1 s 2 x0 by Google Benchmark\n"
         "b: flops 1 bytes 1 s 5 x0 by Google Benchmark\n"
         "c: flops 1 bytes 1 s 4 x0 by Google Benchmark\n",
         "a: flops 1 bytes 1 s 1 x0 by Google Benchmark\n"
         "a: flops 1 bytes 1 s 3 x0 by Google Benchmark\n"
         "b: flops 1 bytes 1 s 5 x0 by Google Benchmark\n"
         "c: flops 1 bytes 1 s 4 x0 by Google Benchmark\n"},
        /* old files: an aggregate is known by its name, which is more than its end */
        {GOOGLE(
             "",
             "{\"name\": \"a_mean\", \"real_time\": 1, \"time_unit\": \"s\"},"
             "{\"name\": \"a_cv\", \"real_time\": 1, \"time_unit\": \"s\"},"
             "{\"name\": \"a_BigO\", \"real_time\": 1, \"time_unit\": \"s\"},"
             "{\"name\": \"a_RMS\", \"real_time\": 1, \"time_unit\": \"s\"},"
             "{\"name\": \"_max\", \"real_time\": 1, \"time_unit\": \"s\", \"flops\": 1, \"bytes\": 1}"),
         "_max: flops 1 bytes 1 s 1 x0 by Google Benchmark\n", NULL},
    };
    CHECK(files);
}

TEST(hyperfine)
{
#define NOTE "flops and bytes come from --work FILE\n"
    static const struct file files[] = {
        {"{\"results\": [{\"command\": \"a\", \"median\": 9, \"times\": [4, 1, 2]}, "
         "{\"command\": \"b\", \"times\": [1, 4]},"
         "{\"command\": \"c\", \"median\": 9, \"times\": []},{\"command\": \"x\", \"median\": 9, \"times\": 5},"
         "{\"command\": \"d\", \"median\": null},"
         "{\"command\": \"e f\", \"name\": \"e\", \"median\": 0.5}]}",
         "a: s 2 x0 by hyperfine; median of 3 runs, from 1 to 4 s; " NOTE
         "b: s 2.5 x0 by hyperfine; median of 2 runs, from 1 to 4 s; " NOTE
         "c: s 9 x0 by hyperfine; hyperfine measures times; " NOTE
         "x: s 9 x0 by hyperfine; hyperfine measures times; " NOTE
         "d: x0 by hyperfine; hyperfine measures times; " NOTE
         "e: s 0.5 x0 by hyperfine; hyperfine measures times; " NOTE,
         "a: s 4 x0 by hyperfine; hyperfine measures times; " NOTE
         "a: s 1 x0 by hyperfine; hyperfine measures times; " NOTE
         "a: s 2 x0 by hyperfine; hyperfine measures times; " NOTE
         "b: s 1 x0 by hyperfine; hyperfine measures times; " NOTE
         "b: s 4 x0 by hyperfine; hyperfine measures times; " NOTE
         "c: s 9 x0 by hyperfine; hyperfine measures times; " NOTE
         "x: s 9 x0 by hyperfine; hyperfine measures times; " NOTE
         "d: x0 by hyperfine; hyperfine measures times; " NOTE
         "e: s 0.5 x0 by hyperfine; hyperfine measures times; " NOTE},
        {"{\"schema_version\": 2, \"results\": [{\"command\": \"a\", \"measurements\": ["
         "{\"exit_code\": 0, \"time_wall_clock\": {\"unit\": \"second\", \"value\": 0.25}},"
         "{\"time_wall_clock\": {\"value\": 0.75, \"unit\": \"second\"}}]}]}",
         "a: s 0.5 x0 by hyperfine; median of 2 runs, from 0.25 to 0.75 s; " NOTE,
         "a: s 0.25 x0 by hyperfine; hyperfine measures times; " NOTE
         "a: s 0.75 x0 by hyperfine; hyperfine measures times; " NOTE},
        {"{\"results\": [{\"command\": \"a\", \"times\": [0.123456]}, "
         "{\"command\": \"b\", \"times\": [0.123456, 0.3, 0.987654]}]}",
         "a: s 0.123456 x0 by hyperfine; median of 1 runs, from 0.1235 to 0.1235 s; " NOTE
         "b: s 0.3 x0 by hyperfine; median of 3 runs, from 0.1235 to 0.9877 s; " NOTE,
         "a: s 0.123456 x0 by hyperfine; hyperfine measures times; " NOTE
         "b: s 0.123456 x0 by hyperfine; hyperfine measures times; " NOTE
         "b: s 0.3 x0 by hyperfine; hyperfine measures times; " NOTE
         "b: s 0.987654 x0 by hyperfine; hyperfine measures times; " NOTE},
        {"{\"results\": [{\"command\": \"a\"}\001]}",
         "refused: line 1: no JSON: ']' is expected here, not '?'\n", NULL},
        {"{\"results\": [{\"command\": \"a\"}\177]}",
         "refused: line 1: no JSON: ']' is expected here, not '?'\n", NULL},
        {"{\"results\": [{\"command\": \"a\"}~]}",
         "refused: line 1: no JSON: ']' is expected here, not '~'\n", NULL},
        {"{\"results\": [{\"command\": \"a\", \"times\": [1, -1]}]}",
         "refused: line 1: time 2 is no number of seconds above zero\n", NULL},
        {"{\"results\": [{\"command\": \"a\", \"times\": [1, 2}]}",
         "refused: line 1: no JSON: ']' expected near '}'\n", NULL},
    };
    CHECK(files);
}

#define EVENT(name, value) \
    "{\"counter-value\" : \"" value "\", \"unit\" : \"\", \"event\" : \"" name "\"}\n"
#define TIMED(name, value, unit, more)                                                           \
    "{\"counter-value\" : \"" value "\", \"unit\" : \"" unit "\", \"event\" : \"" name "\"" more \
    "}\n"
#define SCALARS(scalar)                                  \
    EVENT("fp_arith_inst_retired.scalar_double", scalar) \
    EVENT("r04c7", "0")                                  \
    EVENT("r10c7", "0")                                  \
    EVENT("r40c7", "0")                                  \
    EVENT("r02c7", "0") EVENT("r08c7", "0") EVENT("r20c7", "0") EVENT("r80c7", "0")

#define EVENTS  "r01c7,r04c7,r10c7,r02c7,r08c7,r20c7,r40c7,r80c7,r81d0,r82d0,r412e\n"
#define NOT_ALL "recipe skylake-server: not all of its events are in the file: " EVENTS
#define NONE \
    "recipe skylake-server: none of its events is in the file (CARM_UARCH=NAME names another recipe): " EVENTS

/* Events by name, by code and in PAPI's and libpfm's forms; the time of the run. */
TEST(perf)
{
    static const struct file files[] = {
        {SCALARS("100") EVENT("mem_inst_retired.all_loads", "30") EVENT(
             "mem_inst_retired.all_stores", "10") TIMED("duration_time", "2000000000", "ns", ""),
         "(file): flops 100 bytes 320 low 320 high 320 s 2 share 1 loads 30 stores 10 load_bytes 240 "
         "store_bytes 80 dp_scalar 100 dp_128 0 dp_256 0 dp_512 0 sp_scalar 0 sp_128 0 sp_256 0 sp_512 0 x0 by "
         "perf stat; recipe skylake-server: bytes are accesses x 8, the mean width of FP instructions (widths "
         "seen: 8 to 8)\n",
         NULL},
        /* task-clock over the processors in use, unless the time is there; a second run begins with an event again */
        {TIMED("task-clock", "3000", "msec",
               ", \"metric-value\" : \"1.5\", \"metric-unit\" : \"CPUs utilized\"") SCALARS("7")
             TIMED("task-clock", "3000", "msec",
                   ", \"metric-value\" : \"1.5\", \"metric-unit\" : \"CPUs utilized\"")
                 TIMED("duration_time", "5000000000", "ns", "")
                     EVENT("cpu/event=0xc7,umask=0x1/u", "8"),
         "(file): flops 7 s 2 share 1 dp_scalar 7 dp_128 0 dp_256 0 dp_512 0 sp_scalar 0 sp_128 0 sp_256 0 "
         "sp_512 0 task_seconds 3 x0 by perf stat; time is task-clock over CPUs in use; recipe skylake-server\n"
         "(file): s 5 dp_scalar 8 task_seconds 3 x0 by perf stat; " NOT_ALL,
         NULL},
        /* forms of one event, each a run; one that was counted half of the time, and not at all */
        {EVENT("r01c7", "1") EVENT("skx::FP_ARITH_INST_RETIRED:SCALAR_DOUBLE", "2")
             EVENT("FP_ARITH_INST_RETIRED.SCALAR_DOUBLE:ukhH", "3") EVENT(
                 "FP_ARITH_INST_RETIRED_SCALAR_DOUBLE",
                 "4") "{\"counter-value\" : \"5\", \"event\" : \"r01c7\", \"pcnt-running\" : 0.5}\n"
                      "{\"counter-value\" : \"5\", \"event\" : \"r01c7\", \"pcnt-running\" : 0.0}\n"
                      "{\"counter-value\" : \"<not counted>\", \"event\" : \"r01c7\"}\n",
         "(file): dp_scalar 2 x0 by perf stat; " NOT_ALL
         "(file): dp_scalar 3 x0 by perf stat; " NOT_ALL
         "(file): dp_scalar 5 x0 by perf stat; " NOT_ALL "(file): x0 by perf stat; " NONE
         "(file): x0 by perf stat; " NONE,
         NULL},
        {TIMED("duration_time", "<not counted>", "ns", "")
             TIMED("task-clock", "3000", "msec",
                   ", \"metric-value\" : \"1.5\", \"metric-unit\" : \"CPUs utilized\"")
                 EVENT("instructions", "0"),
         "(file): s 2 instructions 0 task_seconds 3 x0 by perf stat; time is task-clock over CPUs in use; " NONE,
         NULL},
        {TIMED(
             "task-clock", "3000", "msec",
             ", \"metric-value\" : \"1.x\", \"metric-unit\" : \"CPUs "
             "utilized\"") "{\"metric-value\" : \"3\", \"metric-unit\" : \"more\"}\n" EVENT("r01c7:ukhHG",
                                                                                            "5"),
         "(file): task_seconds 3 x0 by perf stat; " NONE, NULL},
        {TIMED("task-clock", "3000", "msec", "") TIMED("page-faults", "5", "", ""),
         "(file): task_seconds 3 x0 by perf stat; " NONE, NULL},
    };
    assert_int_equal(setenv("CARM_UARCH", "skylake-server", 1), 0);
    CHECK(files);
    assert_int_equal(unsetenv("CARM_UARCH"), 0);
}

#define TABLE(region, group, metrics) \
    "TABLE," region "Group 1 Metric," group ",2\nMetric,HWThread 0,HWThread 1\n" metrics

TEST(likwid)
{
#define NO_BYTES "likwid does not count the bytes of loads and stores\n"
    static const struct file files[] = {
        /* two threads: flops are rates times a thread's own time, the time is the slower's */
        {TABLE(
             "", "MEM_DP",
             "Runtime (RDTSC) [s],2,0.5\nDP [MFLOP/s],10,40\nSP [MFLOP/s],3,0\nMemory data volume [GBytes],1,2\n"),
         "program: flops 46000000 dram 3e+09 s 2 x2 precision mixed by likwid; " NO_BYTES, NULL},
        {TABLE("", "MEM_DP", "Runtime (RDTSC) [s],0.5,2\nDP MFLOP/s,10,40\nSP MFLOP/s,0,0\n"),
         "program: flops 85000000 s 2 x2 precision dp by likwid; " NO_BYTES, NULL},
        {TABLE("Region r,", "FLOPS_SP", "Runtime (RDTSC) [s],1,1\nSP [MFLOP/s],10,40\n"),
         "r: flops 50000000 s 1 x2 precision sp by likwid; only single precision was counted; " NO_BYTES,
         NULL},
        /* a value that is none, a thread without time */
        {TABLE("", "MEM_DP",
               "Runtime (RDTSC) [s],1,1\nDP [MFLOP/s],10,-\nMemory data volume [GBytes],nan,2\n"),
         "program: s 1 x2 by likwid; " NO_BYTES, NULL},
        {TABLE("", "MEM_DP",
               "Runtime (RDTSC) [s],1,0\nDP [MFLOP/s],10,10\nMemory data volume [GBytes],1,-nan\n"),
         "program: s 1 x2 by likwid; " NO_BYTES, NULL},
        {TABLE("", "MEM_DP", "Runtime (RDTSC) [s],1,0\nMemory data volume [GBytes],1,0\n"),
         "program: dram 1e+09 s 1 x2 by likwid; " NO_BYTES, NULL},
        {TABLE("", "DP", "Runtime (RDTSC) [s],1\nDP [MFLOP/s],0\n"),
         "program: flops 0 s 1 x1 precision dp by likwid; only double precision was counted; " NO_BYTES,
         NULL},
        {TABLE("", "SP", "Runtime (RDTSC) [s],1\nSP [MFLOP/s],0\nMemory data volume [GBytes],0\n"),
         "program: flops 0 dram 0 s 1 x1 precision sp by likwid; only single precision was counted; " NO_BYTES,
         NULL},
        /* groups of one region: the first with flops, the first with DRAM bytes, joined by rates; behind STRUCT none */
        {TABLE("Region r,", "MEM", "Runtime (RDTSC) [s],0.5\nMemory data volume [GBytes],8\n") TABLE(
             "Region s,", "MEM", "Runtime (RDTSC) [s],4\nMemory data volume [GBytes],9\n")
             TABLE("Region r,", "FLOPS_DP", "Runtime (RDTSC) [s],2\nDP [MFLOP/s],10\n")
                 TABLE("Region r,", "FLOPS_DP", "Runtime (RDTSC) [s],2\nDP [MFLOP/s],99\n") TABLE(
                     "Region r,", "MEM",
                     "Runtime (RDTSC) [s],3\nMemory data volume [GBytes],77\n") "STRUCT,Info,3\nDP [MFLOP/s],5\n",
         "r: flops 20000000 dram 3.2e+10 s 2 x1 precision dp by likwid; only double precision was counted; "
         "flops and DRAM bytes "
         "are of two groups, joined by their rates; " NO_BYTES
         "s: dram 9e+09 s 4 x1 by likwid; " NO_BYTES,
         NULL},
        {TABLE("Region r,", "MEM", "Runtime (RDTSC) [s],0\nMemory data volume [GBytes],8\n")
             TABLE("Region r,", "FLOPS_DP", "Runtime (RDTSC) [s],1\nDP [MFLOP/s],10\n"),
         "r: flops 10000000 dram 8e+09 s 1 x1 precision dp by likwid; only double precision was counted; "
         "flops and DRAM bytes are of two groups, joined by their rates; " NO_BYTES,
         NULL},
        {"TABLE,Group 1 Raw,MEM,2\nRuntime (RDTSC) [s],4\n" TABLE("", "L2",
                                                                  "Runtime (RDTSC) [s],inf\n"),
         "program: x1 by likwid; " NO_BYTES, NULL},
        {TABLE("", "MEM", "Runtime (RDTSC) [s],1,1\nMemory data volume [GBytes],1\n"),
         "refused: line 4: only 1 of 2 threads have a value: is the file cut off?\n", NULL},
        {"TABLE,\nx\n", "refused: line 1: no table of likwid-perfctr: is it cut off?\n", NULL},
        {"TABLE,Group 1 Metric\n", "refused: line 1: no table of likwid-perfctr: is it cut off?\n",
         NULL},
    };
    CHECK(files);
}

TEST(advisor)
{
#define HEADER "ID,Function Call Sites and Loops,"
    static const struct file files[] = {
        /* work, or rates times the time; bytes, or flops over the intensity; loops without either have no row */
        {HEADER
         "Source Location,Self Elapsed Time,Self Time,Self GFLOP,Self GFLOPS,Self Memory GB,Self AI,Self DRAM GB,"
         "Vector ISA\n"
         "1,f,x.c:3,2s,9s,0.4,7,0.8,0.1,0.16,AVX-512 VNNI\n"
         "2,g x.c:4,x.c:4,2,9,,0.2,,0.5,,AVX; SSE\n"
         "3,h,,0.5s,1s,0,,0.2,0,0,SSE4\n"
         "4,i,,,1s,1,,,,,\n"
         "5,j,,1s,1s,< 0.001,,0,,,\n"
         "6,,,1s,1s,1,,1,,,\n"
         "7,k,,1s,1s,0,,0,,,\n"
         "8,l,,1s,1s,,,0.5,,N/A,\n",
         "f (x.c:3): flops 400000000 bytes 800000000 dram 160000000 s 2 x0 isa avx512 by Intel Advisor\n"
         "g x.c:4: flops 400000000 bytes 800000000 s 2 x0 isa avx2 by Intel Advisor\n"
         "h: flops 0 bytes 200000000 dram 0 s 0.5 x0 isa sse by Intel Advisor\n"
         "i: flops 1e+09 x0 by Intel Advisor\n"
         "l: bytes 500000000 s 1 x0 by Intel Advisor\n",
         NULL},
        {"a report\n" HEADER "Self Time,Self GFLOPS,Self AI\n1,f,2s,3,0.5\n",
         "f: flops 6e+09 bytes 1.2e+10 s 2 x0 by Intel Advisor; time is Self Time, the sum of all threads: "
         "with several, ask "
         "for Self Elapsed Time (--show-all-columns)\n",
         NULL},
        {"Function Call Sites and Loops,Self Elapsed Time,Self GFLOP\nf,1s,2\n",
         "f: flops 2e+09 s 1 x0 by Intel Advisor\n", NULL},
        /* of two columns of a name the first; no bytes are bytes */
        {"Self GFLOPS,Function Call Sites and Loops,Self Elapsed Time,Self GFLOPS,Self Memory GB,Self AI\n"
         "3,f,2s,9,0,\n3,g,2,9,,0\n0,h,2,9,1,\n3,i,0,9,1,\n",
         "f: flops 6e+09 bytes 0 s 2 x0 by Intel Advisor\ng: flops 6e+09 s 2 x0 by Intel Advisor\n"
         "h: flops 0 bytes 1e+09 s 2 x0 by Intel Advisor\ni: bytes 1e+09 x0 by Intel Advisor\n",
         NULL},
        {"Self Elapsed Time,Function Call Sites and Loops,Self Time,Self GFLOP\n,f,9s,1\n",
         "f: flops 1e+09 x0 by Intel Advisor\n", NULL},
        {HEADER "Self Time,Self GFLOPS\n1,f,1,2s\n",
         "refused: line 2: Self GFLOPS is '2s', not a plain number\n", NULL},
        {HEADER "Self Time,Self GFLOP,Self Memory GB\n1,f,1,2,2s\n",
         "refused: line 2: Self Memory GB is '2s', not a plain number\n", NULL},
        {HEADER "Self Time,Self GFLOP,Self AI\n1,f,1,2,2s\n",
         "refused: line 2: Self AI is '2s', not a plain number\n", NULL},
        {HEADER "Self Time,Self GFLOP,Self DRAM GB\n1,f,1,2,2s\n",
         "refused: line 2: Self DRAM GB is '2s', not a plain number\n", NULL},
        {"Self Time,Function Call Sites and Loops,Self GFLOP\n1,f,s\n",
         "refused: line 2: Self GFLOP is 's', not a plain number\n", NULL},
        {"Self GFLOP,Function Call Sites and Loops,Self Elapsed Time\n1,f,2\n",
         "f: flops 1e+09 s 2 x0 by Intel Advisor\n", NULL},
        {HEADER "Self Time,Self GFLOP\n1,,1,1\n",
         "refused: no loop or function has flops or bytes: collect them with advisor --collect=tripcounts "
         "--flop\n",
         NULL},
        {HEADER "Self GFLOP\n1,f,2\n",
         "refused: line 1: no column Self Elapsed Time or Self Time (--show-all-columns)\n", NULL},
        {HEADER "Self Time,Self GFLOP\n1,f,s,2\n",
         "refused: line 2: Self Time is 's', not a plain number of seconds\n", NULL},
        {HEADER "Self Time,Self GFLOP\n1,f,1,2s\n",
         "refused: line 2: Self GFLOP is '2s', not a plain number\n", NULL},
    };
    CHECK(files);
}

TEST(carm_tool)
{
#define TOOL "Date,Method,Name,ISA,Precision,Threads,AI,Gflops,Bandwidth,Time\n"
    static const struct file files[] = {
        {TOOL
         "d,PMU,a,AVX2,dp,3,0.5,2,9,4\nd,,b,,,0,0,2,9,4\nd,SDE,c,sse,sp,1,0.5,0,9,4\nd,SDE,e,sse,sp,1,1,1,1,0\n",
         "a: flops 8e+09 bytes 1.6e+10 s 4 x3 isa avx2 precision dp by CARM Tool PMU\n"
         "b: flops 8e+09 s 4 x0 by CARM Tool; the CARM Tool found no arithmetic intensity, so its bytes are "
         "unknown\n"
         "c: flops 0 bytes 0 s 4 x1 isa sse precision sp by CARM Tool SDE\n"
         "e: x1 isa sse precision sp by CARM Tool SDE; the CARM Tool found no arithmetic intensity, so its "
         "bytes are unknown\n",
         NULL},
        {TOOL "d,,a,,,,0.5,2,9,0.5\n", "a: flops 1e+09 bytes 2e+09 s 0.5 x0 by CARM Tool\n", NULL},
        {TOOL "d,,a,,,1s,1,1,1,1\n", "refused: line 2: Threads is '1s', not a plain number\n",
         NULL},
        {TOOL "d,,a,,,1,1s,1,1,1\n", "refused: line 2: AI is '1s', not a plain number\n", NULL},
        {TOOL "d,,a,,,1,1,1s,1,1\n", "refused: line 2: Gflops is '1s', not a plain number\n", NULL},
        {TOOL "d,,a,,,1,1,1,1,1s\n", "refused: line 2: Time is '1s', not a plain number\n", NULL},
        {"Date,Method,Name,ISA,Precision,Threads,AI,Gflops\n", "refused: line 1: no column Time\n",
         NULL},
    };
    CHECK(files);
}

/* What is known of a model of roofs. */
static const struct figures *roofs_at(const char *file)
{
    struct figures *rows = no_figures();
    struct carm_model *m = NULL;
    if (carm_select_open(file, &m, NULL, &err)) {
        const char *what = strstr(err.text, ": ");
        put(rows, "refused%s\n", what ? what : err.text);
        return rows;
    }
    put(rows, "%s, %s on %s, %s %s %s\n", m->roofs_of, m->machine.cpu, m->machine.hostname,
        m->created, m->config.precision, m->config.ldst);
    for (size_t i = 0; i < m->nlevels; i++) {
        assert_int_equal(m->levels[i].knee_bytes, 0);
        put(rows, "%s %llu%s ", m->levels[i].level, (unsigned long long)m->levels[i].os_size_bytes,
            m->levels[i].resolved ? "" : " unresolved");
    }
    for (size_t s = 0; s < m->nroofs; s++) {
        const struct carm_roofs *r = &m->roofs[s];
        put(rows, "\n%s %s x%d, %g:", r->isa, r->precision, r->threads, r->dram_peak.bandwidth);
        for (size_t i = 0; i < r->nmemory; i++) {
            const struct carm_memory_roof *x = &r->memory[i];
            const double all[] = {x->ci95.lo,   x->ci95.hi,    x->spread.min,
                                  x->spread.p5, x->spread.p95, x->spread.max};
            put(rows, " %s %s %g", x->level, x->ldst, x->bandwidth);
            for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
                assert_near(all[k], x->bandwidth, 0.0);
            }
        }
        for (size_t i = 0; i < r->ncompute; i++) {
            const struct carm_compute_roof *x = &r->compute[i];
            const double all[] = {x->ci95.lo,   x->ci95.hi,    x->spread.min,
                                  x->spread.p5, x->spread.p95, x->spread.max};
            put(rows, " %s %g%s%s", x->op, x->rate, *x->note ? "; " : "", x->note);
            for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
                assert_near(all[k], x->rate, 0.0);
            }
        }
    }
    put(rows, "\n");
    carm_model_free(m);
    return rows;
}

/* Files that the tools themselves have written. */
TEST(samples)
{
#define WORK "tests/data/import/work.csv"
    static const struct {
        const char *name, *uarch;
        struct carm_points_how how;
        const char *rows;
    } files[] = {
        {"google-benchmark.json",
         "",
         {.runs = false},
         "BM_triad/4096: flops 8192 bytes 98304 s 1.024e-06 x1 by "
         "Google Benchmark on sample\n"
         "BM_dot/real_time: flops 10000000 bytes 80000000 s 0.002 x2 by Google Benchmark on sample\n"
         "BM_times_only: s 1.5 x1 by Google Benchmark on sample; the benchmark has no counter named flops, and none "
         "named bytes\n"
         "BM_broken: x0 by Google Benchmark on sample; Google Benchmark skipped it: no file\n"
         "BM_copy: flops 20000 bytes 160000 s 1.05e-05 x1 by Google Benchmark on sample\n"},
        {"google-benchmark.json",
         "",
         {.runs = true},
         "BM_triad/4096: flops 8192 bytes 98304 s 1.024e-06 x1 by "
         "Google Benchmark on sample\n"
         "BM_dot/real_time: flops 10000000 bytes 80000000 s 0.002 x2 by Google Benchmark on sample\n"
         "BM_times_only: s 1.5 x1 by Google Benchmark on sample; the benchmark has no counter named flops, and none "
         "named bytes\n"
         "BM_broken: x0 by Google Benchmark on sample; Google Benchmark skipped it: no file\n"
         "BM_copy: flops 20000 bytes 160000 s 1e-05 x1 by Google Benchmark on sample\n"
         "BM_copy: flops 20000 bytes 160000 s 1.1e-05 x1 by Google Benchmark on sample\n"
         "BM_copy: flops 20000 bytes 160000 s 1.05e-05 x1 by Google Benchmark on sample\n"},
        {"hyperfine.json",
         "",
         {.work = WORK},
         "./solve 1000: flops 2e+09 bytes 1.6e+10 s 0.505 x0 by "
         "hyperfine; median of 4 runs, from 0.5 to 0.53 s; flops and bytes come from --work FILE\n"
         "./other: s 0.2 x0 by hyperfine; hyperfine measures times; flops and bytes come from --work FILE\n"},
        {"hyperfine.json",
         "",
         {.work = WORK, .runs = true},
         "./solve 1000: flops 2e+09 bytes 1.6e+10 s 0.5 x0 "
         "by hyperfine; hyperfine measures times; flops and bytes come from --work FILE\n"
         "./solve 1000: flops 2e+09 bytes 1.6e+10 s 0.51 x0 by hyperfine; hyperfine measures times; flops and bytes come "
         "from --work FILE\n"
         "./solve 1000: flops 2e+09 bytes 1.6e+10 s 0.5 x0 by hyperfine; hyperfine measures times; flops and bytes come "
         "from --work FILE\n"
         "./solve 1000: flops 2e+09 bytes 1.6e+10 s 0.53 x0 by hyperfine; hyperfine measures times; flops and bytes come "
         "from --work FILE\n"
         "./other: s 0.2 x0 by hyperfine; hyperfine measures times; flops and bytes come from --work FILE\n"},
        {"hyperfine-2.json",
         "",
         {.work = WORK},
         "solve: flops 2e+09 bytes 1.6e+10 s 0.51 x0 by hyperfine; "
         "median of 2 runs, from 0.5 to 0.52 s; flops and bytes come from --work FILE\n"},
        {"perf.json",
         "skylake-server",
         {.runs = false},
         "perf: flops 2e+09 bytes 2.55616575e+10 low 6.4e+09 "
         "high 2.56e+10 s 0.5 share 0.5 instructions 4e+09 loads 600000000 stores 200000000 load_bytes "
         "1.91712431e+10 store_bytes 6.39041438e+09 dp_scalar 1000000 dp_128 0 dp_256 1.999e+09 dp_512 0 "
         "sp_scalar 0 sp_128 0 sp_256 0 sp_512 0 task_seconds 0.5 x0 by perf stat; recipe skylake-server: bytes "
         "are accesses x 32, the mean width of FP instructions (widths seen: 8 to 32)\n"},
        {"perf.json",
         "zen3",
         {.runs = false},
         "perf: s 0.5 instructions 4e+09 task_seconds 0.5 x0 by perf "
         "stat; recipe zen3: none of its events is in the file (CARM_UARCH=NAME names another recipe): "
         "r0076,r00c0,r0129,r0229,r0429,r0f03,r4844\n"},
        {"likwid.csv",
         "",
         {.runs = false},
         "solve: flops 2e+09 dram 6.4e+09 s 1 x2 precision dp by likwid; "
         "only double precision was counted; likwid does not count the bytes of loads and stores\n"
         "copy: flops 100000000 dram 4e+09 s 0.5 x1 precision dp by likwid; only double precision was counted; flops and "
         "DRAM bytes are of two groups, joined by their rates; likwid does not count the bytes of loads and stores\n"
         "idle: s 0.25 x1 by likwid; likwid does not count the bytes of loads and stores\n"},
        {"advisor.csv",
         "",
         {.runs = false},
         "[loop in multiply at solve.c:32]: flops 4.4e+09 bytes 3.52e+10 s "
         "1.1 x0 isa avx2 by Intel Advisor\n"
         "[loop in multiply at solve.c:39]: flops 680000000 bytes 2.72e+09 s 0.34 x0 by Intel Advisor\n"},
        {"carm-tool.csv",
         "",
         {.runs = false},
         "spmv: flops 2e+09 bytes 1.6e+10 s 0.8 x1 isa avx2 precision dp "
         "by CARM Tool DR-ROI\n"
         "dgemm: flops 7.53125e+10 bytes 9.4140625e+09 s 1.25 x4 isa avx512 precision dp by CARM Tool PMU\n"
         "integers: flops 0 s 0.5 x0 by CARM Tool SDE; the CARM Tool found no arithmetic intensity, so its bytes are "
         "unknown\n"},
        {"ert.json",
         "",
         {.runs = false},
         "ERT 1.1.0, roofs of ERT 1.1.0 on node7,  dp update\n"
         "L1 0 L2 0 DRAM 0 \n"
         "unknown dp x4, 2.05e+10: L1 update 4.805e+11 L2 update 2.1025e+11 DRAM update 2.05e+10 best 1.6025e+11; "
         "measured with 8 threads, the bandwidths with 4\n"},
        {"carm-tool-roofs.csv",
         "",
         {.runs = false},
         "CARM Tool, roofs of CARM Tool on node7, 2026-01-15 "
         "10:00:00 dp 2:1\n"
         "L1 49152 L2 1310720 L3 31457280 DRAM 0 \n"
         "avx512 dp x1, 0: L1 2:1 4.805e+11 L2 2:1 2.1025e+11 L3 2:1 6.05e+10 DRAM 2:1 1.21e+10 L1 1:0 3.9e+11 L2 1:0 "
         "1.8e+11 L3 1:0 5.8e+10 DRAM 1:0 1.3e+10 add 5.01e+10 fma 1.004e+11\n"
         "scalar dp x4, 0: L1 2:1 1e+11 L2 2:1 9e+10 L3 2:1 6e+10 DRAM 2:1 3e+10 mul 1.25e+10 fma 2.5e+10\n"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "tests/data/import/%s", files[i].name);
        assert_int_equal(setenv("CARM_UARCH", files[i].uarch, 1), 0);
        expect(carm_select_is_model(name) ? roofs_at(name) : rows_at(name, &files[i].how),
               files[i].rows, files[i].name, i);
    }
    assert_int_equal(unsetenv("CARM_UARCH"), 0);
}

#define ERT(memory, compute, more)                              \
    "{\"empirical\": {\"gbytes\": {\"data\": [" memory "]" more \
    "}, \"gflops\": {\"data\": [" compute "]}}}"
#define TOOL_ROOFS(l1, l3)                                \
    "Name:,n,L1 Size:," l1 ",L2 Size:,1.5,L3 Size:," l3   \
    ",,L1,L1,L2,L2,L3,L3,DRAM,DRAM,FP,FP,FP FMA,FP_FMA\n" \
    "Date,ISA\n"

#define NO_SENSE \
    "refused: line 3: ISA, precision, threads, loads, stores or FP Inst. make no sense\n"
#define NO_ROOF \
    "refused: line 1: a roof of ERT is a name and a number of GB/s or Gflop/s above zero\n"
#define NAME_OF_80 \
    "a name of 80 bytes: one more than the most of an ISA_ precision and FP Inst_ row"

TEST(roofs)
{
    static const struct {
        const char *text, *roofs;
    } files[] = {
        {ERT("[\"L1\", 2], [\"DRAM\", 1]", "[\"GFLOPs\", 3], [\"FP16 GFLOPs\", 9]", ""),
         "ERT, roofs of ERT on ,  dp update\nL1 0 DRAM 0 \nunknown dp x1, 1e+09: L1 update 2e+09 DRAM update "
         "1e+09 best 3e+09\n"},
        {ERT("[\"L9\", 2], [\"L9\", 3]",
             "[\"FP32 GFLOPs\", 3], [\"SP GFLOPs\", 4], [\"DP GFLOPs\", 5]",
             ", \"metadata\": {\"MPI_PROCS\": 3, \"OPENMP_THREADS\": 2}"),
         "ERT, roofs of ERT on ,  sp update\nL9 0 \nunknown sp x6, 0: L9 update 3e+09 best 4e+09; measured "
         "with 1 thread, the "
         "bandwidths with 6\n"},
        {"{\"spec\": {}}", "refused: no member empirical: ERT measured nothing\n"},
        {"Name:,n,L1 Size:\n",
         "refused: line 1: its first line is no head of the CARM Tool's roofs: is the file cut off?\n"},
        {TOOL_ROOFS("1", "0"), "refused: no roofs behind the two lines of names\n"},
        {TOOL_ROOFS("1", "0") "t0,avx2,dp,0,2,1,No,1,add,1,9,2,9,3,9,4,9,5,9,6,9\n", NO_SENSE},
        {ERT("[\"L1\", -1]", "[\"HP\", 1]", ""), NO_ROOF},
        {ERT("", "[\"HP\", 1]", ""),
         "refused: line 1: ERT's file needs empirical.gbytes.data and empirical.gflops.data\n"},
        {ERT("[\"L1\", 1]", "", ""),
         "refused: line 1: ERT's file needs empirical.gbytes.data and empirical.gflops.data\n"},
        {ERT("[5, 1]", "[\"HP\", 1]", ""), NO_ROOF},
        {ERT("[\"L1\", 2]", "[\"HP\", 1]", ", \"metadata\": {\"MPI_PROCS\": 100}"),
         "ERT, roofs of ERT on ,  hp update\nL1 0 \nunknown hp x100, 0: L1 update 2e+09 best 1e+09; "
         "measured with 1 thread, the bandwidths with 100\n"},
        {"{\"spec\": {}, \"empirical\": {\"metadata\": {\"HOSTNAME\": \"h\\ni\", \"ERT_VERSION\": \"1\\n1\"}, "
         "\"gbytes\": {\"data\": [[\"L1\", 2]]}, \"gflops\": {\"data\": [[\"HP\", 1]], "
         "\"metadata\": {\"OPENMP_THREADS\": 100}}}}",
         "ERT 1?1, roofs of ERT 1?1 on h?i,  hp update\nL1 0 \nunknown hp x1, 0: L1 update 2e+09 best 1e+09; "
         "measured with 100 threads, the bandwidths with 1\n"},
        {ERT("[\"L1\", 2]", "[\"HP\", 1]",
             ", \"metadata\": {\"MPI_PROCS\": 1e6, \"OPENMP_THREADS\": 1}"),
         "ERT, roofs of ERT on ,  hp update\nL1 0 \nunknown hp x1000000, 0: L1 update 2e+09 best 1e+09; "
         "measured with 1 thread, the bandwidths with 1000000\n"},
        {ERT("[\"L1\", 1e-9]", "[\"HP\", 1e15]", ", \"metadata\": {\"MPI_PROCS\": 0.5}"),
         "ERT, roofs of ERT on ,  hp update\nL1 0 \nunknown hp x1, 0: L1 update 1 best 1e+24\n"},
        {ERT("[\"L1\", 1]", "[\"HP\", 1.01e15]", ""), NO_ROOF},
        {ERT("[\"L1\", 0.9e-9]", "[\"HP\", 1]", ""), NO_ROOF},
        {ERT("[\"L0\", 1]", "[\"HP\", 1]", ""),
         "refused: line 1: ERT's levels are L1, L2, ... and DRAM, not 'L0'\n"},
        {ERT("[\"L10\", 1]", "[\"HP\", 1]", ""),
         "refused: line 1: ERT's levels are L1, L2, ... and DRAM, not 'L10'\n"},
        {TOOL_ROOFS("48", "0") "t0,avx2,dp,2,2,1,No,1,add,1,9,2,9,3,9,4,9,5,9,6,9\n"
                               "t1,avx2,dp,2,1,0,No,1,mul,7,9,0,9,3,9,4,9,8,9,6.5,9\n"
                               "t2,sse,sp,2,1,0,No,1,mul,7,9,0,9,3,9,4,9,0,9,0,9\n",
         "CARM Tool, roofs of CARM Tool on n, t0 dp 2:1\nL1 49152 L2 1024 DRAM 0 \navx2 dp x2, 0: L1 2:1 "
         "1e+09 L2 2:1 2e+09 "
         "DRAM 2:1 4e+09 L1 1:0 7e+09 DRAM 1:0 4e+09 add 5e+09 fma 6.5e+09 mul 8e+09\nsse sp x2, 0: L1 1:0 "
         "7e+09 DRAM 1:0 4e+09\n"},
        {"Name:,\"n\nm\",L1 Size:,1,L2 Size:,0,L3 Size:,0,,L1,L1,L2,L2,L3,L3,DRAM,DRAM,FP,FP,FP FMA,FP_FMA\n"
         "Date,ISA\nt0,avx2,dp,2,2,1,No,1,add,1,9,2,9,3,9,4,9,5,9,6,9\n",
         "CARM Tool, roofs of CARM Tool on n?m, t0 dp 2:1\nL1 1024 DRAM 0 \navx2 dp x2, 0: L1 2:1 1e+09 DRAM "
         "2:1 4e+09 add 5e+09 fma 6e+09\n"},
        {TOOL_ROOFS("1", "0") "t0," NAME_OF_80 ",dp,2,1,1,No,1,add,1,9,2,9,3,9,4,9,5,9,6,9\n",
         NO_SENSE},
        {TOOL_ROOFS("1", "0") "t0,a," NAME_OF_80 ",2,1,1,No,1,add,1,9,2,9,3,9,4,9,5,9,6,9\n",
         NO_SENSE},
        {TOOL_ROOFS("1", "0") "t0,a,dp,2,1,1,No,1," NAME_OF_80 ",1,9,2,9,3,9,4,9,5,9,6,9\n",
         NO_SENSE},
        {TOOL_ROOFS("1e9", "0") "t0,avx2,dp,2,2,1,No,1,add,1e-9,9,2,9,3,9,4,9,1e12,9,0,9\n",
         "CARM Tool, roofs of CARM Tool on n, t0 dp 2:1\nL1 1024000000000 L2 1024 DRAM 0 \navx2 dp x2, 0: L1 "
         "2:1 1 L2 2:1 2e+09 "
         "DRAM 2:1 4e+09 add 1e+21\n"},
        {TOOL_ROOFS("1.1e9", "0"), "refused: line 1: a cache of 1.1e+09 KiB\n"},
        {TOOL_ROOFS("x", "0"), "refused: line 1: a cache's size is 'x', not a plain number\n"},
        {TOOL_ROOFS("1", "0") "t0,avx2,dp,2,2,1,No,1,add,1e-10,9,2,9,3,9,4,9,1,9,0,9\n",
         "refused: line 3: L1 is 0.1, no machine's\n"},
        {TOOL_ROOFS("1", "0") "t0,avx2,dp,2,2,1,No,1,add,1e-9,9,2,9,3,9,4,9,1.1e12,9,0,9\n",
         "refused: line 3: FP is 1.1e+21, no machine's\n"},
        {TOOL_ROOFS("1", "0") "t0,avx2,dp,2,2,1,No,1,add,1\n",
         "refused: line 3: the line has 10 fields, not 21: is it cut off?\n"},
        {TOOL_ROOFS("1", "0") "t0,avx2,dp,2,1e7,1,No,1,add,1,9,2,9,3,9,4,9,5,9,6,9\n", NO_SENSE},
        {TOOL_ROOFS("1", "0") "t0,avx2,dp,2,1,1e7,No,1,add,1,9,2,9,3,9,4,9,5,9,6,9\n", NO_SENSE},
        {TOOL_ROOFS("1", "0") "t0,avx2,dp,1e7,1,1,No,1,add,1,9,2,9,3,9,4,9,5,9,6,9\n", NO_SENSE},
        {TOOL_ROOFS("1", "0") "t0,,dp,2,1,1,No,1,add,1,9,2,9,3,9,4,9,5,9,6,9\n", NO_SENSE},
        {TOOL_ROOFS("1", "0") "t0,avx2,dp,2,1,1,No,1,,1,9,2,9,3,9,4,9,5,9,6,9\n", NO_SENSE},
        {TOOL_ROOFS("1", "0") "\"t\n0\",avx2,dp,1e6,1e6,1e6,No,1,add,1,9,2,9,3,9,4,9,5,9,6,9\n",
         "CARM Tool, roofs of CARM Tool on n, t?0 dp 1000000:1000000\nL1 1024 L2 1024 DRAM 0 \navx2 dp x1000000, 0: "
         "L1 1000000:1000000 "
         "1e+09 L2 1000000:1000000 2e+09 DRAM 1000000:1000000 4e+09 add 5e+09 fma 6e+09\n"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        expect(roofs_at(file_of(files[i].text)), files[i].roofs, "file", i);
    }
}
