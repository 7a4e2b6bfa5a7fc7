/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run writes and advises, from runs made by hand: rows of each free run with its times, CPU time, the
 * work and time that place a row, and when its parts would say nothing. Nothing is executed. */
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/csv.h"
#include "models/place/points.h"
#include "harness/place/place.h"
#include "run/parts.h"
#include "run/place.h"
#include "run/regions.h"
#include "run/rows.h"
#include "tests/run/loops.h"

static struct carm_run run;
static char path[64];

/* In place of the simulated caches, beside those of loops.h: what rows ask of them. */
static struct {
    size_t places, folds, nrows;
    int refuses; /* 1: places, 2: fold */
} asked;

int carm_run_levels_places(const struct carm_run_levels *l, const struct carm_blocks *blocks,
                           struct carm_profile_place **places, size_t *n, struct carm_err *e)
{
    assert_true(l && blocks == &run.blocks);
    asked.places++;
    if (asked.refuses == 1) {
        return carm_fail(e, CARM_ENOMEM, "no places");
    }
    *n = 2;
    *places = calloc(*n, sizeof **places);
    assert_non_null(*places);
    (*places)[0].module = (*places)[1].module = CARM_PROFILE_NOWHERE;
    (*places)[1].row = 77;
    return 0;
}

int carm_run_levels_fold(struct carm_run_levels *l, const struct carm_blocks *blocks,
                         const struct carm_profile_place *places, size_t nrows, struct carm_err *e)
{
    assert_true(l && blocks == &run.blocks && places[1].row != 77);
    asked.folds++;
    asked.nrows = nrows;
    return asked.refuses == 2 ? carm_fail(e, CARM_ENOMEM, "no fold") : 0;
}

void carm_run_levels_put(const struct carm_run_levels *l, size_t row, struct carm_counts *c)
{
    if (l) {
        carm_count_put(c, CARM_Q_L2_BYTES, 100.0 + (double)row, CARM_COUNTED_SIMULATED);
    }
}

static int set_up(void **state)
{
    memset(&run, 0, sizeof run);
    run.name = "made";
    run.row.seconds = 2.0;
    run.row.threads = 1;
    run.row.calls = 1;
    run.row.share = 1.0;
    (void)snprintf(run.row.name, sizeof run.row.name, "made");
    carm_count_put(&run.row.counts, CARM_Q_FLOPS, 3e9, CARM_COUNTED_TRANSLATED);
    carm_count_put(&run.row.counts, CARM_Q_TASK_SECONDS, 1.25, CARM_COUNTED_KERNEL);
    run.cpu_seconds = 1.25;
    run.user_seconds = 1.0;
    run.system_seconds = 0.25;
    (void)strcpy(path, "/tmp/carm-test-rows-XXXXXX");
    const int fd = mkstemp(path);
    return fd < 0 || close(fd) != 0;
}

static int tear_down(void **state)
{
    return unlink(path);
}

/* A number of each row of a column. returns how many rows there are */
static size_t column(const char *name, double *values, size_t room)
{
    struct carm_csv *csv = NULL;
    struct carm_csv_field *fields = NULL;
    size_t n = 0, at = SIZE_MAX, rows = 0;
    assert_ok(carm_csv_open(path, &csv, &err));
    while (carm_csv_next(csv, &fields, &n, &err) == 1) {
        for (size_t i = 0; i < n && at == SIZE_MAX; i++) {
            at = strcmp(fields[i].text, name) == 0 ? i : at;
        }
        assert_true(at < n);
        if (strcmp(fields[at].text, name) != 0) {
            assert_true(rows < room);
            values[rows++] = strtod(fields[at].text, NULL);
        }
    }
    carm_csv_close(csv);
    return rows;
}

/* The text of a row, from 0, in a column. */
static const char *cell(const char *name, size_t row)
{
    static char text[512];
    struct carm_csv *csv = NULL;
    struct carm_csv_field *fields = NULL;
    size_t n = 0, at = SIZE_MAX;
    assert_ok(carm_csv_open(path, &csv, &err));
    assert_true(carm_csv_next(csv, &fields, &n, &err) == 1);
    for (size_t i = 0; i < n; i++) {
        at = strcmp(fields[i].text, name) == 0 ? i : at;
    }
    for (size_t i = 0; i <= row; i++) {
        assert_true(carm_csv_next(csv, &fields, &n, &err) == 1 && at < n);
    }
    (void)snprintf(text, sizeof text, "%s", fields[at].text);
    carm_csv_close(csv);
    return text;
}

static void append(void)
{
    const struct carm_profile none = {.nrows = 0};
    assert_ok(carm_run_rows_append(path, &run, CARM_PROFILE_LOOPS, &none, NULL, NULL, &err));
}

TEST_BETWEEN(each_run_has_its_time, set_up, tear_down)
{
    struct carm_run_once each[3] = {{.seconds = 2.0}, {.seconds = 3.0}, {.seconds = 5.0}};
    double values[8];
    assert_int_equal(carm_run_rows_count(path), 0);
    append();
    assert_int_equal(carm_run_rows_count(path), 1);
    run.each = each;
    run.neach = 1;
    each[0].seconds = 7.0; /* of a single run, row.seconds is its time */
    append();
    assert_int_equal(column("seconds", values, 8), 2);
    assert_near(values[1], 2.0, 1e-12);
    assert_int_equal(unlink(path), 0);
    run.neach = 0;
    append();
    each[0].seconds = 2.0;
    run.neach = 3;
    append();
    assert_int_equal(carm_run_rows_count(path), 4);
    assert_int_equal(column("seconds", values, 8), 4);
    const double want[] = {2.0, 2.0, 3.0, 5.0};
    for (size_t i = 0; i < 4; i++) {
        assert_near(values[i], want[i], 1e-12);
    }
    assert_int_equal(column("task_seconds", values, 8), 4);
    assert_near(values[3], 1.25, 1e-12);
    assert_int_equal(column("flops", values, 8), 4);
    assert_near(values[0], 3e9, 0.5);
}

TEST_BETWEEN(names_may_have_lines, set_up, tear_down)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_true(fputs("name,flops\n\"a\nb\",1\nc,2\n", out) >= 0);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(carm_run_rows_count(path), 2);
    assert_int_equal(carm_run_rows_count("/nowhere/points.csv"), 0);
}

TEST_BETWEEN(work_and_time_of_a_row, set_up, tear_down)
{
    assert_false(carm_run_is_integers(&run.row));
    assert_near(carm_run_work(&run.row), 3e9, 0.5);
    assert_true(carm_run_waits(&run)); /* on a CPU for 1.25 s of 2 s */
    assert_near(carm_run_placed_seconds(&run), 1.25, 1e-12);
    run.cpu_seconds = 1.9;
    assert_false(carm_run_waits(&run));
    assert_near(carm_run_placed_seconds(&run), 2.0, 1e-12);
    run.cpu_seconds = 1.0;
    run.row.threads = 2; /* of several threads waiting is not known */
    assert_false(carm_run_waits(&run));
    run.row.metric = "exchange";
    run.row.operations = 7e9;
    assert_false(carm_run_is_integers(&run.row));
    run.row.metric = CARM_METRIC_INTEGERS;
    assert_true(carm_run_is_integers(&run.row));
    assert_near(carm_run_work(&run.row), 7e9, 0.5);
    assert_false(carm_run_is_short(&run));
    run.row.seconds = 0.9 * CARM_RUN_SHORTEST_SECONDS;
    assert_true(carm_run_is_short(&run));
    run.row.seconds = 0.0; /* unknown */
    assert_false(carm_run_is_short(&run));
}

static void misses(const char *text)
{
    char got[512];
    assert_ptr_equal(carm_parts_missing(got, sizeof got, &run), got);
    fail_if(text ? !strstr(got, text) : *got, "'%s' is not '%s'", got, text ? text : "");
}

TEST_BETWEEN(when_parts_say_nothing, set_up, tear_down)
{
    misses(NULL); /* nobody asked for samples */
    run.hz = 499;
    run.has_samples = true;
    run.samples.period = 1.0 / 499;
    run.samples.total = CARM_PROFILE_FEW;
    misses(NULL);
    /* 29 samples of 59 ms: too few, and twice ten times as many are enough */
    run.samples.total = CARM_PROFILE_FEW - 1;
    run.user_seconds = 59e-3;
    misses(
        "too short to see loops (29 samples of 59 ms of processor time). Try: carm run --repeat 11");
    run.samples.total = 1;
    misses("too short to see loops (1 sample of 59 ms of processor time). Take a larger problem");
    /* a second of processor time must have more: something was not sampled */
    run.user_seconds = 1.0;
    misses("shares of time are missing: 1 sample of 1e+03 ms of processor time (a set-user-id");
    run.samples.preloaded = true;
    misses("(static and set-user-id programs");
    run.samples.begun = 600; /* of 1.67 ms each */
    misses("in 600 threads and processes, and one that runs shorter than 2 ms has few");
    (void)snprintf(run.samples.incomplete, sizeof run.samples.incomplete, "the ring was full");
    misses("shares of time are missing: the ring was full");
    (void)snprintf(run.unsampled, sizeof run.unsampled, "forbidden");
    misses("shares of time are missing: forbidden");
    run.unsampled[0] = '\0';
    run.has_samples = false;
    run.no_time = true;
    misses("--no-time has no shares of time");
    run.always_sampled = true;
    misses(NULL);
}

static void add_row(int fd, const char *name, double seconds, uint64_t calls)
{
    struct carm_row row = {.calls = calls, .seconds = seconds, .share = 1.0};
    char file[64];
    (void)snprintf(file, sizeof file, "/proc/self/fd/%d", fd);
    (void)snprintf(row.name, sizeof row.name, "%s", name);
    assert_ok(carm_row_append(file, &row, 1, &err));
}

/* A hundred regions in both runs; and three whose time is not known: twice in a run, in the counted run alone, and with
 * another number of calls. */
TEST_BETWEEN(counted_regions_have_the_times_of_the_timed_run, set_up, tear_down)
{
    enum { N = 100 };
    struct carm_regions regions;
    double values[N + 4];
    char name[32];
    assert_ok(carm_regions_open(&regions, &err));
    for (int i = 0; i < N; i++) {
        (void)snprintf(name, sizeof name, "region %d", i);
        add_row(regions.times, name, 1.0 + i, 3);
        add_row(regions.counts, name, 0.0, 3);
    }
    add_row(regions.times, "twice", 9.0, 1);
    add_row(regions.times, "twice", 9.0, 1);
    add_row(regions.times, "other calls", 9.0, 1);
    add_row(regions.counts, "twice", 0.0, 1);
    add_row(regions.counts, "counted alone", 0.0, 1);
    add_row(regions.counts, "other calls", 0.0, 2);
    assert_ok(carm_regions_take(&regions, path, &err));
    carm_regions_close(&regions);
    assert_int_equal(column("seconds", values, N + 4), N + 3);
    for (int i = 0; i < N + 3; i++) {
        assert_near(values[i], i < N ? 1.0 + i : 0.0, 1e-12);
    }
    assert_string_equal(cell("name", 0), "region 0");
    assert_string_equal(cell("name", N), "twice");
    assert_string_equal(cell("calls", N + 2), "2");
}

/* Why a time is not known, behind the row's own note; without a timed run a row keeps its own time; files of other tools. */
TEST_BETWEEN(regions_say_why_their_time_is_unknown, set_up, tear_down)
{
    static const struct {
        int timed, counted; /* rows */
        uint64_t calls;     /* of the timed one */
        const char *note;
        double seconds;
    } cases[] = {{1, 1, 2, "", 5.0},
                 {1, 1, 3, "its time is unknown: the timed run had another number of calls", 0.0},
                 {2, 1, 2, "its time is unknown: several rows have this name", 0.0},
                 {1, 2, 2, "its time is unknown: several rows have this name", 0.0},
                 {0, 1, 2, "its time is unknown: it is not in the timed run", 0.0}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const size_t k = i / 2;
        struct carm_regions regions;
        char text[4096] = "", wanted[128];
        assert_ok(carm_regions_open(&regions, &err));
        add_row(regions.times, "another", 1.0, 1);
        for (int n = 0; n < cases[k].timed; n++) {
            add_row(regions.times, "r", 5.0, cases[k].calls);
        }
        for (int n = 0; n < cases[k].counted; n++) {
            struct carm_row row = {.calls = 2, .share = 1.0};
            char file[64];
            (void)snprintf(row.name, sizeof row.name, "r");
            (void)snprintf(row.note, sizeof row.note, "%s", i % 2 ? "own" : "");
            (void)snprintf(file, sizeof file, "/proc/self/fd/%d", regions.counts);
            assert_ok(carm_row_append(file, &row, 1, &err));
        }
        assert_int_equal(truncate(path, 0), 0);
        assert_ok(carm_regions_take(&regions, path, &err));
        carm_regions_close(&regions);
        double values[4];
        assert_int_equal(column("seconds", values, 4), cases[k].counted);
        assert_near(values[0], cases[k].seconds, 1e-12);
        FILE *in = fopen(path, "r");
        assert_non_null(in);
        (void)fread(text, 1, sizeof text - 1, in);
        (void)fclose(in);
        const bool both = i % 2 && *cases[k].note;
        (void)snprintf(wanted, sizeof wanted, ",%s%s%s,", i % 2 ? "own" : "", both ? "; " : "",
                       cases[k].note);
        assert_non_null(strstr(text, wanted));
        assert_int_equal(strstr(text, "its time is unknown") != NULL, *cases[k].note != '\0');
    }
    struct carm_regions regions;
    double values[2];
    assert_ok(carm_regions_open(&regions, &err));
    add_row(regions.counts, "r", 7.0, 2); /* counted alone: its time is of the counted run */
    assert_int_equal(truncate(path, 0), 0);
    assert_ok(carm_regions_take(&regions, path, &err));
    assert_int_equal(column("seconds", values, 2), 1);
    assert_near(values[0], 7.0, 1e-12);
    assert_string_equal(cell("note", 0), "");
    static const struct {
        const char *header, *sentence;
    } headers[] = {{"name,seconds,note", "the rows of the regions have no column 'calls'"},
                   {"names,seconds,calls,note", "the rows of the regions have no column 'name'"},
                   {"name,calls,note", "the rows of the regions have no column 'seconds'"},
                   {"name,seconds,calls", "the rows of the regions have no column 'note'"}};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        assert_true(ftruncate(regions.counts, 0) == 0 && lseek(regions.counts, 0, SEEK_SET) == 0 &&
                    dprintf(regions.counts, "%s\nr,1,,\n", headers[i].header) > 0);
        assert_refused(carm_regions_take(&regions, path, &err), -CARM_EFORMAT, headers[i].sentence);
    }
    /* a note as long as a field may be */
    enum { LONG = CARM_CSV_FIELD_MAX - 32 };
    char longest[LONG + 1];
    memset(longest, 'x', LONG);
    longest[LONG] = '\0';
    add_row(regions.times, "another", 1.0, 1);
    assert_true(ftruncate(regions.counts, 0) == 0 && lseek(regions.counts, 0, SEEK_SET) == 0 &&
                dprintf(regions.counts, "name,seconds,calls,note\nr,1,1,%s\n", longest) > 0 &&
                truncate(path, 0) == 0);
    assert_ok(carm_regions_take(&regions, path, &err));
    FILE *in = fopen(path, "r");
    char text[2 * CARM_CSV_FIELD_MAX] = "";
    assert_true(in && fread(text, 1, sizeof text - 1, in) > LONG && fclose(in) == 0);
    assert_non_null(strstr(text, longest));
    assert_non_null(strstr(text, "x; its time is unknown: it is not in the timed run"));
    assert_int_equal(truncate(path, 0), 0);
    /* a row behind which the file is broken, and no rows: nothing is written */
    static const char broken[] = "name,seconds,calls,note\nr,1,1,\nr\0,1,1,\n";
    struct stat is;
    assert_true(ftruncate(regions.counts, 0) == 0 && lseek(regions.counts, 0, SEEK_SET) == 0 &&
                write(regions.counts, broken, sizeof broken - 1) == sizeof broken - 1);
    assert_refused(carm_regions_take(&regions, path, &err), -CARM_EFORMAT, "a zero byte");
    assert_int_equal(ftruncate(regions.counts, 0), 0);
    assert_ok(carm_regions_take(&regions, path, &err));
    assert_true(stat(path, &is) == 0 && is.st_size == 0);
    carm_regions_close(&regions);
    assert_true(regions.times == -1 && regions.counts == -1);
}

/* The program of each run is told a file of this process, and the provider. */
TEST(regions_are_told_their_file)
{
    struct carm_regions regions;
    char wanted[64];
    assert_ok(carm_regions_open(&regions, &err));
    assert_true(regions.times >= 0 && regions.counts >= 0 && regions.times != regions.counts);
    (void)unsetenv("LD_BIND_NOW");
    assert_ok(carm_regions_first(&regions, &err));
    (void)snprintf(wanted, sizeof wanted, "/proc/%ld/fd/%d", (long)getpid(), regions.times);
    assert_string_equal(getenv("CARM_OUT"), wanted);
    assert_string_equal(getenv("CARM_COUNTERS"), "none");
    assert_null(getenv("LD_BIND_NOW"));
    assert_ok(carm_regions_again(&regions, &err));
    (void)snprintf(wanted, sizeof wanted, "/proc/%ld/fd/%d", (long)getpid(), regions.counts);
    assert_string_equal(getenv("CARM_OUT"), wanted);
    assert_string_equal(getenv("CARM_COUNTERS"), "translate");
    assert_string_equal(getenv("LD_BIND_NOW"), "1");
    (void)unsetenv("CARM_OUT");
    (void)unsetenv("CARM_COUNTERS");
    (void)unsetenv("LD_BIND_NOW");
    carm_regions_close(&regions);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* Descriptor 0 is one like others; where there is room for one file alone, neither stays open. */
TEST(regions_close_their_files)
{
    struct carm_regions regions;
    struct rlimit before, few;
    const int input = dup(0);
    assert_int_equal(close(0), 0);
    assert_ok(carm_regions_open(&regions, &err));
    const int counts = regions.counts;
    assert_true(regions.times == 0 && is_open(0) && is_open(counts));
    carm_regions_close(&regions);
    const bool closed = !is_open(0) && !is_open(counts);
    assert_true(input < 0 || dup2(input, 0) == 0);
    assert_true(closed && regions.times == -1 && regions.counts == -1);
    const int next = dup(0);
    assert_true(next > 0 && close(next) == 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = (rlim_t)next + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    const int rc = carm_regions_open(&regions, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(rc, -CARM_EIO);
    assert_non_null(strstr(err.text, "cannot make a file in memory"));
    assert_true(regions.times == -1 && regions.counts == -1 && !is_open(next));
    (void)close(input);
}

static void sample(struct carm_samples *s, const char *file, uint64_t n)
{
    uint32_t module = 0;
    assert_int_equal(carm_modules_add(&s->modules, file, strlen(file), 1, -1, &module), 0);
    s->samples = realloc(s->samples, (s->nsamples + 1) * sizeof *s->samples);
    s->samples[s->nsamples++] =
        (struct carm_sample){.module = module, .at = 0x1000, .n = n, .last = 9};
    s->total += n;
}

/* Two runs of 0.1 s, with a sample each millisecond. The third function has samples in the second run alone, the second
 * one in the first. */
TEST_BETWEEN(parts_have_the_times_of_each_run, set_up, tear_down)
{
    struct carm_run_once each[2] = {{.user_seconds = 0.1, .has_samples = true},
                                    {.user_seconds = 0.1, .has_samples = true}};
    struct carm_samples *const of[] = {&each[0].samples, &each[1].samples, &run.samples};
    static const uint64_t n[3][3] = {{60, 40, 0}, {80, 0, 20}, {140, 40, 20}};
    static const char *const files[] = {"/none/first", "/none/second", "/none/third"};
    struct carm_profile profile;
    double values[8];
    for (size_t r = 0; r < 3; r++) {
        carm_modules_open(&of[r]->modules);
        of[r]->period = 1e-3;
        for (size_t k = 0; k < 3; k++) {
            if (n[r][k]) {
                sample(of[r], files[k], n[r][k]);
            }
        }
    }
    run.has_samples = true;
    run.user_seconds = 0.1;
    run.system_seconds = 0.0;
    run.each = each;
    run.neach = 2;
    assert_ok(carm_parts_open(&profile, &run, CARM_PROFILE_FUNCTIONS, 0.0, NULL, 0, &err));
    assert_int_equal(profile.nrows, 3);
    assert_ok(carm_run_rows_append(path, &run, CARM_PROFILE_FUNCTIONS, &profile, NULL, NULL, &err));
    assert_int_equal(column("seconds", values, 8), 4);
    static const double want[] = {0.06, 0.04, 0.08, 0.02};
    for (size_t i = 0; i < 4; i++) {
        assert_near(values[i], want[i], 1e-9);
    }
    /* a run without samples, or with too few of them: the parts of all runs together, or one part */
    static const struct {
        size_t run, parts, rows;
        bool sampled;
        uint64_t total;
    } kinds[] = {{1, 3, 3, false, 100},
                 {0, 3, 3, false, 100},
                 {1, 3, 3, true, CARM_PROFILE_FEW - 1},
                 {1, 3, 4, true, CARM_PROFILE_FEW},
                 {1, 1, 1, false, 100}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        assert_int_equal(unlink(path), 0);
        each[kinds[i].run].has_samples = kinds[i].sampled;
        each[kinds[i].run].samples.total = kinds[i].total;
        profile.nrows = kinds[i].parts;
        assert_ok(
            carm_run_rows_append(path, &run, CARM_PROFILE_FUNCTIONS, &profile, NULL, NULL, &err));
        assert_int_equal(column("seconds", values, 8), kinds[i].rows);
        each[kinds[i].run].has_samples = true;
        each[kinds[i].run].samples.total = 100;
        profile.nrows = 3;
    }
    /* parts of a run without a row are among the others, wherever these are; without these they have none. A part without
     * samples is in the first run. */
    static const struct {
        size_t others, never, n;
        double seconds[5];
    } orders[] = {{2, 1, 5, {0.06, 0.0, 0.04, 0.08, 0.02}},
                  {1, 2, 5, {0.06, 0.04, 0.0, 0.08, 0.02}},
                  {9, 1, 3, {0.06, 0.0, 0.08, 0, 0}}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct carm_profile_row own[3];
        struct carm_profile parts = profile;
        memcpy(own, profile.rows, sizeof own);
        parts.rows = own;
        parts.nrows = orders[i].others < 3 ? 3 : 2;
        (void)snprintf(own[orders[i].never].name, sizeof own->name, "never");
        own[orders[i].never].seconds = 0.0;
        if (orders[i].others < 3) {
            (void)snprintf(own[orders[i].others].name, sizeof own->name, "others");
            own[orders[i].others].kind = CARM_PROFILE_OTHERS;
        }
        assert_int_equal(unlink(path), 0);
        assert_ok(
            carm_run_rows_append(path, &run, CARM_PROFILE_FUNCTIONS, &parts, NULL, NULL, &err));
        assert_int_equal(column("seconds", values, 8), orders[i].n);
        for (size_t k = 0; k < orders[i].n; k++) {
            assert_near(values[k], orders[i].seconds[k], 1e-9);
        }
    }
    /* the others come first */
    struct carm_profile_row first[2] = {
        {.kind = CARM_PROFILE_OTHERS, .name = "others", .seconds = 1}, profile.rows[0]};
    const struct carm_profile parts = {.rows = first, .nrows = 2, .has_time = true};
    static const double is[] = {0.04, 0.06, 0.02, 0.08};
    assert_int_equal(unlink(path), 0);
    assert_ok(carm_run_rows_append(path, &run, CARM_PROFILE_FUNCTIONS, &parts, NULL, NULL, &err));
    assert_int_equal(column("seconds", values, 8), 4);
    for (size_t k = 0; k < 4; k++) {
        assert_near(values[k], is[k], 1e-9);
    }
    carm_profile_close(&profile);
    for (size_t r = 0; r < 3; r++) {
        carm_samples_close(of[r]);
    }
}

/* A row has its name, bytes of the levels and verdict. */
TEST_BETWEEN(rows_are_filled_in, set_up, tear_down)
{
    struct carm_profile_row rows[] = {
        {.kind = CARM_PROFILE_FUNCTION, .name = "f", .share = 0.75, .seconds = 3.0},
        {.kind = CARM_PROFILE_LOOP, .name = "g loop", .share = 0.25, .seconds = 1.0}};
    const struct carm_profile parts = {
        .rows = rows, .nrows = 2, .has_counts = true, .has_time = true};
    const struct carm_run_verdict verdicts[] = {
        {.has = true, .verdict = {.limit = CARM_LIMIT_L2, .explains = 0.8}},
        {.has = true, .verdict = {.limit = CARM_LIMIT_DRAM, .explains = 0.9}}};
    struct carm_run_levels of = {.at = NULL};
    double values[4];
    assert_ok(carm_run_rows_append(path, &run, CARM_PROFILE_LOOPS, &parts, &of, verdicts, &err));
    assert_int_equal(column("l2_bytes", values, 4), 2);
    assert_true(values[0] == 100.0 && values[1] == 101.0);
    assert_string_equal(cell("name", 0), "made: f");
    assert_string_equal(cell("name", 1), "made: g loop");
    assert_string_equal(cell("limit", 0), "l2");
    assert_string_equal(cell("limit", 1), "dram");
    assert_string_equal(cell("seconds", 0), "3");
}

/* The instructions of simulated caches go to the rows of the blocks, where there are both. */
TEST_BETWEEN(rows_have_places_of_the_caches, set_up, tear_down)
{
    static const struct {
        bool levels, blocks;
        int refuses, rc;
        size_t places, folds;
    } of[] = {{false, false, 0, 0, 0, 0},          {true, false, 0, 0, 0, 0},
              {false, true, 0, 0, 0, 0},           {true, true, 0, 0, 1, 1},
              {true, true, 1, -CARM_ENOMEM, 1, 0}, {true, true, 2, -CARM_ENOMEM, 1, 1}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct carm_run_levels caches = {.at = NULL};
        struct carm_profile profile = {.nrows = 7};
        memset(&asked, 0, sizeof asked);
        asked.refuses = of[i].refuses;
        asked.nrows = SIZE_MAX;
        run.has_blocks = of[i].blocks;
        carm_blocks_open(&run.blocks);
        run.blocks.rest.instructions = 5;
        assert_int_equal(carm_run_rows_open(&profile, &run, CARM_PROFILE_LOOPS, 0.0,
                                            of[i].levels ? &caches : NULL, &err),
                         of[i].rc);
        assert_int_equal(asked.places, of[i].places);
        assert_int_equal(asked.folds, of[i].folds);
        assert_true(!asked.folds || asked.nrows == profile.nrows);
        if (!of[i].refuses) {
            assert_int_equal(profile.has_counts, of[i].blocks);
        }
        if (of[i].refuses != 1) {
            carm_profile_close(&profile);
        }
        carm_blocks_close(&run.blocks);
    }
}

/* Regions write their rows themselves: by translation this process tells them where, else the environment does. */
TEST_BETWEEN(regions_are_told_where, set_up, tear_down)
{
    static const char *const names[] = {"CARM_OUT", "CARM_COUNTERS", "CARM_STEP_BUDGET"};
    char full[PATH_MAX], cwd[PATH_MAX], wanted[PATH_MAX + 16], longest[PATH_MAX + 1];
    for (size_t i = 0; i < 3; i++) {
        (void)unsetenv(names[i]);
    }
    assert_non_null(getcwd(cwd, sizeof cwd));
    (void)snprintf(wanted, sizeof wanted, "%s/p.csv", cwd);
    run.provider = CARM_PROVIDER_TRANSLATE;
    assert_ok(carm_run_rows_by_regions(&run, "/a/p.csv", "5", full, &err));
    assert_string_equal(full, "/a/p.csv");
    assert_ptr_equal(run.regions, full);
    assert_int_equal(run.provider, CARM_PROVIDER_TRANSLATE);
    assert_null(getenv("CARM_OUT"));
    run.provider = CARM_PROVIDER_STEP;
    assert_ok(carm_run_rows_by_regions(&run, "p.csv", NULL, full, &err));
    assert_string_equal(full, wanted);
    assert_string_equal(getenv("CARM_OUT"), wanted);
    assert_string_equal(getenv("CARM_COUNTERS"), carm_provider_name(CARM_PROVIDER_STEP));
    assert_null(getenv("CARM_STEP_BUDGET"));
    assert_int_equal(run.provider, CARM_PROVIDER_NONE);
    assert_ok(carm_run_rows_by_regions(&run, "p.csv", "7", full, &err));
    assert_string_equal(getenv("CARM_STEP_BUDGET"), "7");
    memset(longest, 'x', PATH_MAX);
    longest[PATH_MAX] = '\0';
    longest[0] = '/';
    assert_refused(carm_run_rows_by_regions(&run, longest, NULL, full, &err), -CARM_EINVAL,
                   "path of --output is too long");
    longest[PATH_MAX - 1] = '\0'; /* as long as it may be */
    assert_ok(carm_run_rows_by_regions(&run, longest, NULL, full, &err));
    for (size_t i = 0; i < 3; i++) {
        (void)unsetenv(names[i]);
    }
}

/* Samples of a part by the kind of core that they were on. */
TEST(kinds_of_cores_have_shares)
{
    struct carm_profile_row row = {.samples = 8};
    struct carm_kind_shares of;
    char text[128], wanted[128];
    assert_string_equal(carm_run_kinds_text(text, sizeof text, &row), "");
    carm_run_kinds(&row, &of);
    assert_int_equal(of.n, 0);
    row.on[0] = 6;
    row.on[CARM_SAMPLE_KINDS - 1] = 2;
    (void)snprintf(wanted, sizeof wanted, "75%% on %s cores, 25%% on %s cores", carm_kind_word(0),
                   carm_kind_word(CARM_SAMPLE_KINDS - 1));
    assert_string_equal(carm_run_kinds_text(text, sizeof text, &row), wanted);
    carm_run_kinds(&row, &of);
    assert_int_equal(of.n, 2);
    assert_string_equal(of.word[0], carm_kind_word(0));
    assert_string_equal(of.word[1], carm_kind_word(CARM_SAMPLE_KINDS - 1));
    assert_near(of.share[0], 0.75, 1e-12);
    assert_near(of.share[1], 0.25, 1e-12);
    row.samples = 0;
    assert_string_equal(carm_run_kinds_text(text, sizeof text, &row), "");
}

/* Company at a fifth of the looks at the core of one thread. */
TEST(company_is_seen_often)
{
    static const struct {
        double shared;
        int threads;
        bool company;
    } rows[] = {{0.2, 1, true}, {0.19, 1, false}, {0.9, 2, false}, {0.0, 1, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_run r = {.has_samples = true};
        const struct carm_looks_sum core = {.shared = rows[i].shared};
        r.samples.threads = (__typeof__(r.samples.threads))rows[i].threads;
        assert_int_equal(carm_run_has_company(&r, &core), rows[i].company);
    }
}
