/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The points of a validation as CSV: every column is read back, what is not known is empty, no name
 * breaks the table. */
#include <unistd.h>

#include "base/csv.h"
#include "cli/validate/csv.h"
#include "models/validation.h"
#include "tests/unit.h"

/* One set of roofs of each of one and two threads on L1, L2 and DRAM. */
static struct {
    struct carm_model model;
    struct carm_level levels[3];
    struct carm_roofs roofs[2];
    struct carm_memory_roof memory;
    struct carm_compute_roof compute;
    struct carm_err err;
} f;

static int set_up(void **state)
{
    memset(&f, 0, sizeof f);
    f.levels[0] = (struct carm_level){.level = "L1"};
    f.levels[1] = (struct carm_level){.level = "L2"};
    f.levels[2] = (struct carm_level){.level = "DRAM"};
    f.memory = (struct carm_memory_roof){.level = "L2", .ldst = "2:1", .bandwidth = 50e9};
    f.compute = (struct carm_compute_roof){.op = "fma", .rate = 99.5e9};
    for (int i = 0; i < 2; i++) {
        f.roofs[i] = (struct carm_roofs){.precision = "dp",
                                         .threads = i + 1,
                                         .memory = &f.memory,
                                         .nmemory = 1,
                                         .compute = &f.compute,
                                         .ncompute = 1,
                                         .dram_peak = {.bandwidth = 0.9e9}};
        (void)strcpy(f.roofs[i].isa, i ? "sse" : "avx2");
    }
    (void)strcpy(f.model.config.ldst, "2:1");
    f.model.levels = f.levels;
    f.model.nlevels = 3;
    f.model.roofs = f.roofs;
    f.model.nroofs = 2;
    return 0;
}

static int tear_down(void **state)
{
    free(f.model.validation_points);
    return 0;
}

TEST_BETWEEN(points_go_beside_the_model, set_up, tear_down)
{
    char path[24];
    assert_int_equal(carm_validate_csv_path("a/host.json", path, sizeof path, &f.err), 0);
    assert_string_equal(path, "a/host.points.csv");
    assert_int_equal(carm_validate_csv_path("host", path, sizeof path, &f.err), 0);
    assert_string_equal(path, "host.points.csv");
    assert_int_equal(carm_validate_csv_path("host.json5", path, sizeof path, &f.err), 0);
    assert_string_equal(path, "host.json5.points.csv");
    assert_int_equal(carm_validate_csv_path(".json", path, sizeof path, &f.err), 0);
    assert_string_equal(path, ".json.points.csv");
    assert_int_equal(carm_validate_csv_path("a23456789012.json", path, sizeof path, &f.err), 0);
    assert_int_equal(strlen(path), 24 - 1);
    assert_int_equal(carm_validate_csv_path("a234567890123.json", path, sizeof path, &f.err),
                     -CARM_EIO);
    assert_non_null(strstr(f.err.text, "name it with --csv"));
}

enum {
    NAME,
    FLOPS,
    BYTES,
    SECONDS,
    DRAM_BYTES,
    THREADS,
    ISA,
    PRECISION,
    COUNTED_BY,
    LEVEL,
    OP,
    INTENSITY,
    PERFORMANCE,
    CI95_LO,
    CI95_HI,
    CACHE_AWARE,
    ORIGINAL,
    BESIDE,
    CLOCK_HZ,
    SET_BYTES,
    REPS,
    DISTURBED,
    CODE,
    COLUMNS
};

static char fields[4][COLUMNS][128]; /* header, then points */

/* Writes the model's points and reads them back, each row of as many fields as the header. */
static void write_and_read(size_t rows)
{
    char path[] = "/tmp/carm-test-csv-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    fail_if(carm_validate_write_csv(&f.model, path, &f.err), "%s", f.err.text);
    struct carm_csv *csv = NULL;
    assert_int_equal(carm_csv_open(path, &csv, &f.err), 0);
    (void)unlink(path);
    struct carm_csv_field *row_fields = NULL;
    size_t n = 0;
    for (size_t row = 0; row < rows; row++) {
        assert_int_equal(carm_csv_next(csv, &row_fields, &n, &f.err), 1);
        assert_int_equal(n, COLUMNS);
        for (size_t i = 0; i < n; i++) {
            (void)snprintf(fields[row][i], sizeof fields[row][i], "%s", row_fields[i].text);
        }
    }
    assert_int_equal(carm_csv_next(csv, &row_fields, &n, &f.err), 0);
    carm_csv_close(csv);
}

static double value(size_t row, size_t column)
{
    char *end = NULL;
    const double v = strtod(fields[row][column], &end);
    assert_true(end != fields[row][column] && *end == '\0');
    return v;
}

static const struct carm_validation_point point = {
    .set = {"avx2", "dp", "fma", 1},
    .level = "L2",
    .code = "C.avx2.dp.2:1.fma.u3.f8.c4",
    .flops = 1e6 / 3,
    .bytes = 1e6 / 7,
    .seconds = 1e-5 / 3,
    .ci95 = {9e10, 1.1e11},
    .traffic = {2e5, 1e4 / 3},
    .ntraffic = 2,
    .beside = 4.5e10,
    .clock_hz = 3.7e9,
    .working_set_bytes = (uint64_t)1 << 53,
    .reps = 8192,
    .counted_by = "constructed",
    .disturbed = true,
};

TEST_BETWEEN(points_come_back, set_up, tear_down)
{
    const double intensity = point.flops / point.bytes;
    struct carm_validation_point other = point;
    other.set.threads = 2;
    other.disturbed = false;
    (void)strcpy(other.set.isa, "sse");
    assert_int_equal(carm_validation_add_point(&f.model, &point, &f.err), 0);
    assert_int_equal(carm_validation_add_point(&f.model, &other, &f.err), 0);
    write_and_read(3);
    /* an application's points begin like this: DESIGN, section 5 */
    static const char *const names[COLUMNS] = {
        "name",        "flops",     "bytes",         "seconds",    "dram_bytes",
        "threads",     "isa",       "precision",     "counted_by", "level",
        "op",          "intensity", "performance",   "ci95_lo",    "ci95_hi",
        "cache_aware", "original",  "code_a_beside", "clock_hz",   "working_set_bytes",
        "reps",        "disturbed", "code"};
    for (size_t i = 0; i < COLUMNS; i++) {
        assert_string_equal(fields[0][i], names[i]);
    }
    assert_string_equal(fields[1][NAME], "C-L2-2.33333");
    assert_near(value(1, FLOPS), point.flops, 0.0); /* to the last bit */
    assert_near(value(1, BYTES), point.bytes, 0.0);
    assert_near(value(1, SECONDS), point.seconds, 0.0);
    assert_near(value(1, DRAM_BYTES), point.traffic[1], 0.0);
    assert_near(value(1, THREADS), 1.0, 0.0);
    assert_string_equal(fields[1][ISA], "avx2");
    assert_string_equal(fields[1][PRECISION], "dp");
    assert_string_equal(fields[1][COUNTED_BY], "constructed");
    assert_string_equal(fields[1][LEVEL], "L2");
    assert_string_equal(fields[1][OP], "fma");
    assert_near(value(1, INTENSITY), value(1, FLOPS) / value(1, BYTES), 1e-8 * intensity);
    assert_near(value(1, PERFORMANCE), 1e11, 1e3);
    assert_near(value(1, CI95_LO), 9e10, 1.0);
    assert_near(value(1, CI95_HI), 1.1e11, 1.0);
    assert_near(value(1, CACHE_AWARE), 99.5e9, 1.0); /* 50 GB/s x 2.33 is above the peak */
    assert_near(value(1, ORIGINAL), 90e9, 100.0);    /* 100 flop/byte at memory, 0.9 GB/s */
    assert_near(value(1, BESIDE), 4.5e10, 1.0);
    assert_near(value(1, CLOCK_HZ), 3.7e9, 1.0);
    assert_string_equal(fields[1][SET_BYTES], "9007199254740992");
    assert_string_equal(fields[1][REPS], "8192");
    assert_string_equal(fields[1][DISTURBED], "1");
    assert_string_equal(fields[1][CODE], point.code);
    assert_string_equal(fields[2][THREADS], "2");
    assert_string_equal(fields[2][ISA], "sse");
    assert_string_equal(fields[2][DISTURBED], "0");
}

/* What is not known is empty, never 0. */
TEST_BETWEEN(the_unknown_is_left_empty, set_up, tear_down)
{
    struct carm_validation_point p = point;
    p.beside = 0.0;
    assert_int_equal(carm_validation_add_point(&f.model, &p, &f.err), 0);
    p.ntraffic = 0;
    assert_int_equal(carm_validation_add_point(&f.model, &p, &f.err), 0);
    (void)strcpy(p.set.op, "div"); /* no roof */
    p.ntraffic = 2;
    assert_int_equal(carm_validation_add_point(&f.model, &p, &f.err), 0);
    write_and_read(4);
    assert_string_equal(fields[1][BESIDE], "");
    assert_true(value(1, DRAM_BYTES) > 0.0 && value(1, ORIGINAL) > 0.0);
    assert_string_equal(fields[2][DRAM_BYTES], "");
    assert_string_equal(fields[2][ORIGINAL], "");
    assert_true(value(2, CACHE_AWARE) > 0.0);
    assert_string_equal(fields[3][CACHE_AWARE], "");
    assert_string_equal(fields[3][ORIGINAL], "");
    f.roofs[0].dram_peak.bandwidth = 0.0;
    write_and_read(4);
    assert_string_equal(fields[1][ORIGINAL], "");
    assert_true(value(1, CACHE_AWARE) > 0.0);
}

/* Names from a foreign file cannot break the table. */
TEST_BETWEEN(text_is_quoted, set_up, tear_down)
{
    struct carm_validation_point p = point;
    (void)strcpy(p.level, "L\"2,x");
    (void)strcpy(p.set.isa, "a,b");
    (void)strcpy(p.set.precision, "d\"p");
    (void)strcpy(p.set.op, "f\nma");
    (void)strcpy(p.counted_by, "unavailable: no, \"really\"");
    (void)strcpy(p.code, "C,\r\tx");
    assert_int_equal(carm_validation_add_point(&f.model, &p, &f.err), 0);
    write_and_read(2);
    assert_string_equal(fields[1][NAME], "C-L\"2,x-2.33333");
    assert_string_equal(fields[1][ISA], "a,b");
    assert_string_equal(fields[1][PRECISION], "d\"p");
    assert_string_equal(fields[1][LEVEL], "L\"2,x");
    assert_string_equal(fields[1][OP], "f\nma");
    assert_string_equal(fields[1][COUNTED_BY], "unavailable: no, \"really\"");
    assert_string_equal(fields[1][CODE], "C,\r\tx");
}
