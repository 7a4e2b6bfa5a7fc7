/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of points.csv: what is written can be read back, and other files are left alone. */
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/job.h"
#include "harness/count/recipe.h"
#include "harness/count/row.h"
#include "tests/models/csv.h"
#include "tests/folder.h"

/* The rows that a test has read last. */
static struct csv csv;

static void read_rows(const char *file)
{
    csv_free(&csv);
    csv_read(&csv, file);
}

static char path[512];

static int set_path(void **state)
{
    const int rc = make_folder(state);
    (void)snprintf(path, sizeof path, "%s", path_of("points.csv"));
    return rc;
}

static struct carm_row make_row(const char *name)
{
    struct carm_row row = {
        .seconds = 0.1, .threads = 4, .isa = "avx2", .precision = "dp", .calls = 3, .share = 0.5};
    (void)snprintf(row.name, sizeof row.name, "%s", name);
    carm_count_put(&row.counts, CARM_Q_FLOPS, 123456789012345678.0, CARM_COUNTED_PMU);
    carm_count_put(&row.counts, CARM_Q_BYTES, 1e15 / 3.0, CARM_COUNTED_PMU);
    carm_count_put(&row.counts, CARM_Q_LOADS, 7.0, CARM_COUNTED_PMU);
    row.counts.q[CARM_Q_BYTES].low = 10.0;
    row.counts.q[CARM_Q_BYTES].high = 20.5;
    return row;
}

static void append(const struct carm_row *rows, int n)
{
    assert_ok(carm_row_append(path, rows, n, &err));
}

#define assert_field(csv, row, column, value)           \
    do {                                                \
        const char *field_ = csv_get(csv, row, column); \
        assert_non_null(field_);                        \
        assert_string_equal(field_, value);             \
    } while (0)

TEST_BETWEEN(columns_are_as_the_header_says, set_path, remove_folder)
{
    struct carm_row row = make_row("solve");
    (void)snprintf(row.note, sizeof row.note, "one");
    (void)snprintf(row.counts.note, sizeof row.counts.note, "two");
    append(&row, 1);
    row.operations = 4096;
    row.metric = "exchange";
    row.part = (struct carm_row_part){.kind = "loop", .time_share = 0.25, .samples = 1000};
    row.part.entries = 3;
    row.part.trips = 0.5;
    row.part.limit = "latency";
    row.part.limit_by = "bound";
    row.part.advice = "prefetch";
    (void)snprintf(row.asks_for, sizeof row.asks_for, "the time, threads");
    (void)snprintf(row.part.cores, sizeof row.part.cores, "p:0.62 e:0.38");
    row.part.explains = 0.875;
    row.part.gain_low = 1.5;
    (void)snprintf(row.part.source, sizeof row.part.source, "a,b.c:42");
    (void)snprintf(row.part.module, sizeof row.part.module, "libx.so.1");
    append(&row, 1);
    read_rows(path);
    assert_int_equal(csv.nrows, 3);
    static const char *const parts[][2] = {
        {"kind", "loop"},          {"time_share", "0.25"}, {"samples", "1000"},
        {"entries", "3"},          {"trips", "0.5"},       {"source", "a,b.c:42"},
        {"module", "libx.so.1"},   {"limit", "latency"},   {"limit_by", "bound"},
        {"explains", "0.875"},     {"second", ""},         {"gain_low", "1.5"},
        {"gain_high", ""},         {"advice", "prefetch"}, {"asks_for", "the time, threads"},
        {"cores", "p:0.62 e:0.38"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        assert_field(&csv, 1, parts[i][0], "");
        assert_field(&csv, 2, parts[i][0], parts[i][1]);
    }
    assert_field(&csv, 1, "operations", "");
    assert_field(&csv, 1, "metric", "");
    assert_field(&csv, 2, "operations", "4096");
    assert_field(&csv, 2, "metric", "exchange");
    static const char *const first[] = {
        "name",       "flops",     "bytes",      "seconds",    "dram_bytes", "threads",
        "isa",        "precision", "counted_by", "calls",      "share",      "flops_low",
        "flops_high", "bytes_low", "bytes_high", "operations", "metric"};
    const int nfirst = (int)(sizeof first / sizeof *first);
    for (int i = 0; i < nfirst; i++) {
        assert_string_equal(csv.rows[0].fields[i], first[i]);
    }
    assert_int_equal(csv.rows[0].n, nfirst + CARM_Q_COUNT - 3 + 12 + 16);
    for (int q = 0; q < CARM_Q_COUNT; q++) {
        assert_non_null(csv_get(&csv, 0, carm_quantity_name((enum carm_quantity)q)));
    }
    for (int i = 1; i < 3; i++) {
        assert_int_equal(csv.rows[i].n, csv.rows[0].n);
        assert_field(&csv, i, "name", "solve");
        assert_field(&csv, i, "seconds", "0.1");
        assert_field(&csv, i, "dram_bytes", "");
        assert_field(&csv, i, "threads", "4");
        assert_field(&csv, i, "isa", "avx2");
        assert_field(&csv, i, "precision", "dp");
        assert_field(&csv, i, "counted_by", "pmu");
        assert_field(&csv, i, "calls", "3");
        assert_field(&csv, i, "share", "0.5");
        assert_field(&csv, i, "loads", "7");
        assert_field(&csv, i, "stores", "");
        assert_field(&csv, i, "bytes_low", "10");
        assert_field(&csv, i, "bytes_high", "20.5");
        assert_field(&csv, i, "note", "one; two");
        assert_true(strtod(csv_get(&csv, i, "flops"), NULL) == 123456789012345678.0);
        assert_true(strtod(csv_get(&csv, i, "bytes"), NULL) == 1e15 / 3.0);
        assert_int_equal(atol(csv_get(&csv, i, "pid")), getpid());
    }
}

TEST_BETWEEN(what_lacks_is_empty_with_its_reason, set_path, remove_folder)
{
    struct carm_row row = {.name = "bare", .calls = 1};
    (void)snprintf(row.note, sizeof row.note, "no counters, none at all");
    append(&row, 1);
    read_rows(path);
    static const char *const empty[] = {"flops",     "bytes",  "seconds",   "dram_bytes",
                                        "threads",   "isa",    "precision", "share",
                                        "flops_low", "cycles", "energy"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        assert_field(&csv, 1, empty[i], "");
    }
    assert_field(&csv, 1, "counted_by", "unavailable: no counters, none at all");
}

TEST_BETWEEN(bytes_alone_tell_who_counted, set_path, remove_folder)
{
    struct carm_row row = {.name = "haswell"};
    carm_count_put(&row.counts, CARM_Q_BYTES, 64.0, CARM_COUNTED_PMU);
    append(&row, 1);
    read_rows(path);
    assert_field(&csv, 1, "counted_by", "pmu");
    assert_field(&csv, 1, "flops", "");
}

TEST_BETWEEN(any_name_comes_back, set_path, remove_folder)
{
    static const char *const names[] = {"a,b", "say \"hi\"",  "two\nlines", " spaces ",
                                        "\"",  ",",           "\r",         "\033[2J",
                                        "",    "caf\xc3\xa9", "'=1+1'",     "# no comment"};
    const int n = (int)(sizeof names / sizeof *names);
    for (int i = 0; i < n; i++) {
        struct carm_row row = make_row(names[i]);
        append(&row, 1);
    }
    read_rows(path);
    assert_int_equal(csv.nrows, n + 1);
    for (int i = 0; i < n; i++) {
        char shown[64]; /* what breaks a line or steers a terminal */
        snprintf(shown, sizeof shown, "%s", names[i]);
        for (char *c = shown; *c; c++) {
            *c = *c == '\n' || *c == '\r' || *c == '\033' ? '?' : *c;
        }
        assert_field(&csv, i + 1, "name", shown);
        assert_field(&csv, i + 1, "loads", "7");
    }
    /* quoted: readers may take a line that begins with # for a comment */
    char text[65536] = "";
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    (void)fclose(f);
    assert_non_null(strstr(text, "\n\"# no comment\","));
}

static void refuse(int code, const char *where, const char *what)
{
    err = (struct carm_err){""};
    struct carm_row row = make_row("x");
    assert_int_equal(carm_row_check(where, &err), code);
    assert_non_null(strstr(err.text, what));
    err.text[0] = '\0';
    assert_int_equal(carm_row_append(where, &row, 1, &err), code);
    assert_non_null(strstr(err.text, what));
    assert_non_null(strstr(err.text, where));
}

TEST_BETWEEN(other_files_stay_as_they_are, set_path, remove_folder)
{
    static const char *const texts[] = {
        "name,flops,bytes,seconds,dram_bytes,threads,isa,precision,counted_by\n", "x\n",
        "name,flops,bytes,seconds,dram_bytes,threads,isa,precision,counted_by,level,op\n1\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put_file("points.csv", texts[i]);
        refuse(-CARM_EFORMAT, path, "another kind of file");
        char *now = csv_slurp(path);
        assert_string_equal(now, texts[i]);
        free(now);
    }
}

TEST_BETWEEN(what_cannot_be_written_is_said, set_path, remove_folder)
{
    refuse(-CARM_EIO, "/nonexistent/points.csv", "folder that exists");
    refuse(-CARM_EIO, folder, "cannot be written");
    struct carm_row row = make_row("x");
    if (access("/dev/full", W_OK) == 0) {
        assert_refused(carm_row_append("/dev/full", &row, 1, &err), -CARM_EIO, "No space left");
    }
}

TEST_BETWEEN(half_a_line_does_not_swallow_the_next, set_path, remove_folder)
{
    struct carm_row row = make_row("whole");
    append(&row, 1);
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    (void)fputs("killed,1", f);
    (void)fclose(f);
    append(&row, 1);
    read_rows(path);
    assert_int_equal(csv.nrows, 4);
    assert_field(&csv, 3, "name", "whole");
}

/* What is killed before its first row leaves a file that can be read. */
TEST_BETWEEN(checking_writes_a_header, set_path, remove_folder)
{
    for (int i = 0; i < 2; i++) {
        assert_ok(carm_row_check(path, &err));
        char *now = csv_slurp(path);
        assert_true(strncmp(now, "name,", 5) == 0);
        assert_ptr_equal(strchr(now, '\n'), now + strlen(now) - 1);
        free(now);
    }
    const struct carm_row row = make_row("first");
    assert_ok(carm_row_append(path, &row, 1, &err));
    read_rows(path);
    assert_int_equal(csv.nrows, 2);
}

TEST_BETWEEN(processes_append_at_once, set_path, remove_folder)
{
    enum { PROCESSES = 8, TIMES = 40, ROWS = 3 };
    for (int p = 0; p < PROCESSES; p++) {
        if (fork() == 0) {
            struct carm_row rows[ROWS] = {make_row("a"), make_row("b"), make_row("c")};
            int rc = 0;
            for (int i = 0; i < TIMES; i++) {
                rc |= carm_row_append(path, rows, ROWS, NULL);
            }
            _exit(rc != 0);
        }
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status = 1;
        (void)wait(&status);
        assert_int_equal(status, 0);
    }
    read_rows(path);
    assert_int_equal(csv.nrows, 1 + PROCESSES * TIMES * ROWS);
    for (int i = 1; i < csv.nrows; i++) {
        assert_int_equal(csv.rows[i].n, csv.rows[0].n);
        assert_int_equal(csv.rows[i].fields[0][0], 'a' + (i - 1) % ROWS);
    }
}

/* Who comes first writes the header; here all do. */
TEST_BETWEEN(one_header_of_many_first_ones, set_path, remove_folder)
{
    enum { PROCESSES = 4, ROUNDS = 100 };
    for (int round = 0; round < ROUNDS; round++) {
        int gate[2];
        char byte = 0;
        (void)unlink(path);
        assert_int_equal(pipe(gate), 0);
        for (int p = 0; p < PROCESSES; p++) {
            if (fork() == 0) {
                struct carm_row row = make_row("x");
                (void)close(gate[1]);
                (void)!read(gate[0], &byte, 1); /* the end of file opens it for all */
                _exit(carm_row_append(path, &row, 1, NULL) != 0);
            }
        }
        (void)close(gate[0]);
        (void)close(gate[1]);
        for (int p = 0; p < PROCESSES; p++) {
            int status = 1;
            (void)wait(&status);
            assert_int_equal(status, 0);
        }
        read_rows(path);
        assert_int_equal(csv.nrows, 1 + PROCESSES);
        assert_false(csv_find(&csv, "name", 0));
    }
}

TEST_BETWEEN(decimal_points_are_points, set_path, remove_folder)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "de_DE.utf8"};
    const char *set = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !set; i++) {
        set = setlocale(LC_ALL, names[i]);
    }
    skip_if(!set, "no locale with a decimal comma is installed");
    struct carm_row row = make_row("x");
    append(&row, 1);
    read_rows(path);
    (void)setlocale(LC_ALL, "C");
    assert_field(&csv, 1, "seconds", "0.1");
}

static struct carm_row describe(double dp_scalar, double dp_256, double sp_512, double all)
{
    struct carm_row row = {.name = "x"};
    carm_count_put(&row.counts, CARM_Q_DP_SCALAR, dp_scalar, CARM_COUNTED_PMU);
    carm_count_put(&row.counts, CARM_Q_DP_256, dp_256, CARM_COUNTED_PMU);
    carm_count_put(&row.counts, CARM_Q_SP_512, sp_512, CARM_COUNTED_PMU);
    carm_count_put(&row.counts, CARM_Q_FLOPS_DP, dp_scalar + dp_256, CARM_COUNTED_PMU);
    carm_count_put(&row.counts, CARM_Q_FLOPS_SP, sp_512, CARM_COUNTED_PMU);
    carm_count_put(&row.counts, CARM_Q_FLOPS, all, CARM_COUNTED_PMU);
    carm_row_describe(&row);
    return row;
}

TEST(widths_and_precisions_are_named)
{
    struct carm_row row = describe(100, 900, 0, 1000);
    assert_string_equal(row.isa, "avx2");
    assert_string_equal(row.precision, "dp");
    row = describe(1000, 5, 0, 1005); /* a stray vector instruction */
    assert_string_equal(row.isa, "scalar");
    row = describe(100, 0, 900, 1000);
    assert_string_equal(row.isa, "avx512");
    assert_string_equal(row.precision, "mixed");
    row = describe(0, 0, 900, 900);
    assert_string_equal(row.precision, "sp");
    row = describe(100, 0, 0, 1000); /* most flops are of an unknown width */
    assert_string_equal(row.isa, "");
    row = describe(0, 0, 0, 0);
    assert_string_equal(row.isa, "");
    assert_string_equal(row.precision, "");
}

static struct carm_row describe_integers(double flops, double int8, double int32, double bytes)
{
    struct carm_row row = {.name = "x"};
    carm_count_put(&row.counts, CARM_Q_FLOPS, flops, CARM_COUNTED_TRANSLATED);
    carm_count_put(&row.counts, CARM_Q_BYTES, bytes, CARM_COUNTED_TRANSLATED);
    carm_count_put(&row.counts, CARM_Q_INT_OPS, int8 + int32, CARM_COUNTED_TRANSLATED);
    carm_count_put(&row.counts, CARM_Q_INT8_OPS, int8, CARM_COUNTED_TRANSLATED);
    carm_count_put(&row.counts, CARM_Q_INT32_OPS, int32, CARM_COUNTED_TRANSLATED);
    carm_count_put(&row.counts, CARM_Q_INT_128, 1, CARM_COUNTED_TRANSLATED);
    carm_count_put(&row.counts, CARM_Q_INT_256, int8 + int32 - 1, CARM_COUNTED_TRANSLATED);
    carm_row_describe(&row);
    return row;
}

TEST(programs_of_integers_are_found)
{
    struct carm_row row = describe_integers(100, 1500, 500, 1000);
    assert_string_equal(row.metric, "op");
    assert_true(row.operations == 2000);
    assert_string_equal(row.precision, "int8");
    assert_string_equal(row.isa, "avx2");
    row = describe_integers(0, 500, 1500, 1000);
    assert_string_equal(row.precision, "int32");
    row = describe_integers(200, 1500, 500, 1000); /* flops, with their indices */
    assert_null(row.metric);
    row = describe_integers(0, 1500, 500, 1e6); /* a library that searches strings */
    assert_null(row.metric);
    assert_string_equal(row.precision, "");
}

/* What no vector has done, tiles have. */
TEST(products_of_tiles_are_found)
{
    struct carm_row row = {.name = "x"};
    carm_count_put(&row.counts, CARM_Q_INT_OPS, 32768, CARM_COUNTED_STEPPED);
    carm_count_put(&row.counts, CARM_Q_INT8_OPS, 32000, CARM_COUNTED_STEPPED);
    carm_count_put(&row.counts, CARM_Q_INT_512, 768, CARM_COUNTED_STEPPED);
    carm_row_describe(&row);
    assert_string_equal(row.isa, "amx");
    assert_string_equal(row.precision, "int8");
}

TEST(cpuid_is_the_kernels)
{
    struct carm_cpuid id;
    char line[256];
    int found = 0;
    carm_cpuid_read(&id);
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f) && found < 3) {
        char *value = strchr(line, ':');
        if (!value) {
            continue;
        }
        value += strlen(value) > 2 ? 2 : 1;
        value[strcspn(value, "\n")] = '\0';
        if (strncmp(line, "vendor_id", 9) == 0) {
            assert_string_equal(id.vendor, value);
            found++;
        } else if (strncmp(line, "cpu family", 10) == 0) {
            assert_int_equal(id.family, atoi(value));
            found++;
        } else if (strncmp(line, "model\t", 6) == 0) {
            assert_int_equal(id.model, atoi(value));
            found++;
        }
    }
    if (f) {
        (void)fclose(f);
    }
    assert_int_equal(found, 3);
}

/* ---- launcher ---- */

/* A row that is written now has that rank. */
static void assert_rank(const char *want)
{
    struct carm_row row = {.rank = "99"};
    carm_row_describe(&row);
    assert_string_equal(row.rank, want);
}

TEST(ranks_are_the_launchers)
{
    static const char *const names[] = {"SLURM_PROCID", "MV2_COMM_WORLD_RANK", "PMI_RANK",
                                        "PMIX_RANK", "OMPI_COMM_WORLD_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)unsetenv(names[i]);
    }
    assert_rank("");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char want[16];
        (void)snprintf(want, sizeof want, "%zu", i + 10);
        (void)setenv(names[i], want, 1);
        assert_rank(want); /* the later ones come first */
    }
    (void)setenv("OMPI_COMM_WORLD_RANK", "12,\"x", 1);
    assert_rank("13");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)unsetenv(names[i]);
    }
}

static const char *const job_words[] = {
    "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_JOB_ID",  "PBS_JOBID",
    "LSB_JOBID",          "SLURM_STEP_ID",       "PMIX_NAMESPACE"};

static void forget_jobs(void)
{
    for (size_t i = 0; i < sizeof job_words / sizeof *job_words; i++) {
        (void)unsetenv(job_words[i]);
    }
}

#define assert_job(want)                         \
    do {                                         \
        struct carm_job job_;                    \
        carm_job_read(&job_);                    \
        assert_string_equal(job_.program, want); \
    } while (0)

/* A row that is written now has that job. */
static void assert_row_has(const char *job)
{
    char file[] = "/tmp/carm-launcher-XXXXXX";
    const struct carm_row row = {.name = "solve"};
    const int fd = mkstemp(file);
    assert_true(fd >= 0 && close(fd) == 0);
    assert_ok(carm_row_append(file, &row, 1, &err));
    read_rows(file);
    (void)unlink(file);
    assert_non_null(csv.rows);
    assert_int_equal(csv.nrows, 2);
    assert_string_equal(csv_get(&csv, 1, "job"), job);
}

TEST(jobs_are_the_launchers)
{
    forget_jobs();
    assert_job("");
    (void)setenv("PMIX_NAMESPACE", "1477246977", 1); /* mpirun on one's own */
    assert_job("1477246977");
    (void)setenv("SLURM_JOB_ID", "4711", 1); /* ... in a job of Slurm's */
    (void)setenv("SLURM_STEP_ID", "0", 1);   /* which its daemons on other nodes have alone */
    assert_job("4711.1477246977");
    (void)unsetenv("SLURM_STEP_ID");
    assert_job("4711.1477246977");
    (void)setenv("PMIX_NAMESPACE", "slurm.pmix.4711.3", 1); /* srun --mpi=pmix */
    (void)setenv("SLURM_STEP_ID", "3", 1);
    assert_job("4711.3");
    (void)unsetenv("PMIX_NAMESPACE"); /* srun */
    assert_job("4711.3");
    (void)setenv("SLURM_ARRAY_JOB_ID", "4700", 1);
    assert_job("4711.3"); /* an array without a task is none */
    (void)setenv("SLURM_ARRAY_TASK_ID", "11", 1);
    assert_job("4700_11.3");
    assert_row_has("4700_11.3");
    forget_jobs();
    (void)setenv("LSB_JOBID", "5", 1);
    assert_job("5");
    (void)setenv("PBS_JOBID", "17[2].server", 1);
    assert_job("17[2].server");
    (void)setenv("PBS_JOBID", "17,\n\"x", 1); /* no name of a job */
    assert_job("5");
    (void)setenv("LSB_JOBID", "", 1);
    assert_job("");
    forget_jobs();
}

/* /dev/stdout of `carm run -o /dev/stdout | head`. */
TEST(a_pipe_gets_rows_and_its_end_is_an_error)
{
    const struct carm_row row = make_row("solve");
    int ends[2];
    char name[64], text[4096] = "";
    assert_int_equal(pipe(ends), 0);
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", ends[1]);
    assert_ok(carm_row_append(name, &row, 1, &err));
    assert_true(read(ends[0], text, sizeof text - 1) > 0);
    assert_non_null(strstr(text, "\nsolve,"));
    (void)close(ends[0]);
    (void)signal(SIGPIPE, SIG_IGN); /* which ends carm, as it ends others in front of `head` */
    assert_refused(carm_row_append(name, &row, 1, &err), -CARM_EIO, "cannot be written");
    (void)close(ends[1]);
}
