/* SPDX-License-Identifier: GPL-3.0-or-later */
/* points.csv: what is read, what is refused and with which words, and what a merge sums. */
#include <inttypes.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/number.h"
#include "base/text.h"
#include "harness/count/quantities.h"
#include "harness/count/row.h"
#include "models/file/points.h"
#include "models/place/merge.h"
#include "tests/models/random.h"
#include "tests/unit.h"

#define HEADER "name,flops,bytes,seconds,dram_bytes,threads,isa,precision,counted_by\n"

static char path[64];
static struct carm_points *points;
static struct carm_point p;

static int set_up(void **state)
{
    (void)strcpy(path, "/tmp/carm-test-points-XXXXXX");
    const int fd = mkstemp(path);
    points = NULL;
    err.text[0] = '\0';
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
    carm_points_close(points);
    return unlink(path);
}

/* Makes the file and opens it. returns what carm_points_open does */
static int open_bytes(const char *text, size_t size)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(text, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
    carm_points_close(points);
    return carm_points_open(path, NULL, &points, &err);
}

static void open_text(const char *text)
{
    fail_if(open_bytes(text, strlen(text)), "%s", err.text);
}

static void next(void)
{
    const int rc = carm_points_next(points, &p, &err);
    fail_if(rc != 1, "%d: %s", rc, err.text);
}

static void end(void)
{
    assert_ok(carm_points_next(points, &p, &err));
    assert_ok(carm_points_next(points, &p, &err));
}

TEST_BETWEEN(reads_all_columns, set_up, tear_down)
{
    open_text(HEADER "gemm,1e9,2.5e9,0.25,123,4,AVX2, dp ,pmu\nempty,,,,,,AZ[,,\n");
    next();
    assert_string_equal(p.name, "gemm");
    assert_near(p.flops, 1e9, 0.0);
    assert_near(p.bytes, 2.5e9, 0.0);
    assert_near(p.seconds, 0.25, 0.0);
    assert_near(p.dram_bytes, 123, 0.0);
    assert_int_equal(p.threads, 4);
    assert_string_equal(p.isa, "avx2");
    assert_string_equal(p.precision, "dp");
    assert_string_equal(p.counted_by, "pmu");
    assert_string_equal(p.host, "");
    assert_string_equal(p.job, "");
    assert_false(carm_point_knows(p.bytes_low));
    assert_null(carm_point_unplaced(&p));
    next();
    assert_false(carm_point_knows(p.flops));
    assert_false(carm_point_knows(p.seconds));
    assert_int_equal(p.threads, 0);
    assert_int_equal(p.line, 3);
    assert_string_equal(p.isa, "az[");
    assert_string_equal(carm_point_unplaced(&p), "its flops were not counted");
    end();
}

TEST_BETWEEN(columns_in_any_order, set_up, tear_down)
{
    open_text(
        "junk, seconds ,note,dram_bytes,name,flops,rank,host,bytes_low,pid,job,original_imbalance_at\n"
        "x,2,why,3,\tn \t,4,7,node,,12,4711.0,6e9\n");
    next();
    assert_string_equal(p.name, "n");
    assert_near(p.seconds, 2, 0.0);
    assert_near(p.flops, 4, 0.0);
    assert_near(p.dram_bytes, 3, 0.0);
    assert_false(carm_point_knows(p.bytes));
    assert_string_equal(p.note, "why");
    assert_string_equal(p.rank, "7");
    assert_string_equal(p.pid, "12");
    assert_false(carm_point_knows(p.imbalance_at[0]));
    assert_near(p.imbalance_at[1], 6e9, 0.0);
    assert_string_equal(p.job, "4711.0");
    assert_string_equal(p.host, "node");
    end();
}

TEST_BETWEEN(quotes_marks_and_comments, set_up, tear_down)
{
    open_text("\xef\xbb\xbf# a comment, with \"\r\n\r\nname,flops,bytes,seconds\r\n"
              "\"a \"\"b\"\", c\r\nd\",1,2,3\r\n  \t\r\n# more\r\n\"#no comment\",4,5,6\r\n"
              "name,flops,bytes,seconds\r\nlast,7,8,9");
    next();
    assert_string_equal(p.name, "a \"b\", c\r\nd");
    assert_int_equal(p.line, 4);
    next();
    assert_string_equal(p.name, "#no comment");
    assert_int_equal(p.line, 8); /* the quoted line end counted */
    next();                      /* the header that came again is none */
    assert_string_equal(p.name, "last");
    assert_near(p.seconds, 9, 0.0);
    end();
}

TEST_BETWEEN(numbers, set_up, tear_down)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0.1", 0.1},
                {"+5", 5},
                {"3.", 3},
                {".5", 0.5},
                {"1E+3", 1e3},
                {"123456789012345678", 123456789012345678.0},
                {"0.12345678901234567", 0.12345678901234567},
                {"999999999999999", 999999999999999.0},
                {"1e-12", 1e-12},
                {"1e30", 1e30},
                {"0", 0.0},
                {"00000000000000000001", 1}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "name,flops,bytes,seconds\nn,%s,1,1\n", good[i].text);
        open_text(text);
        next();
        assert_true(p.flops == good[i].value);
    }
}

/* Each row after the header, and what is said of it. */
TEST_BETWEEN(refuses_rows, set_up, tear_down)
{
    static const struct {
        const char *row, *said;
    } bad[] = {
        {"a,1,1", "line 2, column 5: the line has 3 fields, the header has 9: is it cut off?"},
        {"a,1,1,1,,,,,,9", "line 2, column 14: the line has 10 fields, the header has 9: a comma"},
        {"a,1,1,0,,,,,", "line 2, column 7: seconds is 0, not more than zero"},
        {"a,1,1,-2,,,,,", "line 2, column 7: seconds is -2, less than zero"},
        {"a,-1,1,1,,,,,", "column 3: flops is -1, less than zero"},
        {"a,inf,1,1,,,,,", "flops is 'inf', not a finite number"},
        {"a,-Infinity,1,1,,,,,", "flops is '-Infinity', not a finite number"},
        {"a,1,NaN,1,,,,,", "bytes is 'NaN', not a finite number"},
        {"a,1e999,1,1,,,,,", "flops is '1e999', not a finite number"},
        {"a,1e40,1,1,,,,,", "flops is 1e40, outside 1e-12 to 1e+30"},
        {"a,1.01e30,1,1,,,,,", "flops is 1.01e30, outside"},
        {"a,1,1,1e-20,,,,,", "seconds is 1e-20, outside"},
        {"a,1,1,0.99e-12,,,,,", "seconds is 0.99e-12, outside"},
        {"a,12x,1,1,,,,,", "flops is '12x', not a plain number"},
        {"a,1,1,1.5 s,,,,,", "seconds is '1.5 s', not a plain number"},
        {"a,1.2.3,1,1,,,,,", "flops is '1.2.3', not a plain number"},
        {"a,0x10,1,1,,,,,", "flops is '0x10', not a plain number"},
        {"a,1e,1,1,,,,,", "flops is '1e', not a plain number"},
        {"a,.,1,1,,,,,", "flops is '.', not a plain number"},
        {"a,-,1,1,,,,,", "flops is '-', not a plain number"},
        {"a,1,1,1,,1.5,,,", "column 10: threads is 1.5, not a whole number"},
        {"a,1,1,1,,1e30,,,", "threads is 1e30, not a whole number from 1 to 1e9"},
        {"a,1,1,1,,1000000001,,,", "threads is 1000000001, not a whole number from 1 to 1e9"},
        {"a,1,1,1,,0,,,", "threads is 0, not more than zero"},
        {",1,1,1,,,,,", "line 2, column 1: name is empty"},
        {"\xc3\xa4\xc3\xb6,1,1,0,,,,,", "line 2, column 8: seconds"}, /* characters, not bytes */
        {"\"a\nb\",1,1,0,,,,,", "line 3, column 8: seconds"},
        {"a\"b,1,1,1,,,,,", "line 2, column 2: a quote inside a field without quotes"},
        {"a, \"1\",1,1,,,,,", "line 2, column 4: a quote inside"},
        {"\"a\"b,1,1,1,,,,,", "line 2, column 4: text after a closing quote"},
        {"x,\"a,1,1,1,,,,,", "line 2, column 3: missing closing quote"},
        {"a,1\r,1,1,,,,,", "line 2, column 4: a carriage return inside a line"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, HEADER "%s\n", bad[i].row);
        open_text(text);
        p.threads = 7;
        assert_int_equal(carm_points_next(points, &p, &err), -CARM_EFORMAT);
        assert_in_range(p.threads, 0, 7); /* no number that was refused */
        fail_if(!strstr(err.text, bad[i].said) || strncmp(err.text, path, strlen(path)) != 0,
                "\"%s\": %s", bad[i].row, err.text);
    }
}

TEST_BETWEEN(refuses_bounds_and_shares, set_up, tear_down)
{
    open_text("name,flops,bytes,seconds,bytes_low,bytes_high\nn,1,5,1,6,7\n");
    assert_refused(carm_points_next(points, &p, &err), -CARM_EFORMAT,
                   "bytes_low and bytes_high do not hold bytes (5)");
    open_text("name,flops,bytes,seconds,share\nn,1,5,1,1.5\n");
    assert_refused(carm_points_next(points, &p, &err), -CARM_EFORMAT, "share is 1.5, more than 1");
    static const char *const names[] = {"flops", "bytes", "l2_bytes", "l3_bytes", "dram_bytes"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[256];
        (void)snprintf(text, sizeof text,
                       "name,seconds%s%s,%s,%s_low,%s_high\nn,1%s%s,5,4,6\nn,1%s%s,5,6,\n",
                       i == 0 ? "" : ",flops", i == 1 || i == 4 ? "" : ",bytes", names[i], names[i],
                       names[i], i == 0 ? "" : ",1", i == 1 || i == 4 ? "" : ",1",
                       i == 0 ? "" : ",1", i == 1 || i == 4 ? "" : ",1");
        open_text(text);
        next();
        (void)snprintf(text, sizeof text, "%s_low and %s_high do not hold %s (5)", names[i],
                       names[i], names[i]);
        assert_refused(carm_points_next(points, &p, &err), -CARM_EFORMAT, text);
    }
    /* bounds that are rounded to nine digits hold the value */
    static const struct {
        const char *row;
        bool held;
    } bounds[] = {{"5,5,", true},
                  {"5,,5", true},
                  {"5,5.0000000045,", true},
                  {"5,5.0000000055,", false},
                  {"5,,4.9999999955", true},
                  {"5,,4.9999999945", false},
                  {",6,4", true}};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        char text[128];
        (void)snprintf(
            text, sizeof text,
            "name,flops,threads,share,seconds,bytes,bytes_low,bytes_high\nn,1,1e9,1,1,%s\n",
            bounds[i].row);
        open_text(text);
        assert_int_equal(carm_points_next(points, &p, &err), bounds[i].held ? 1 : -CARM_EFORMAT);
    }
}

TEST_BETWEEN(refuses_headers, set_up, tear_down)
{
    static const struct {
        const char *text, *said;
    } bad[] = {
        {"", "the file is empty; its first line names the columns, such as name,flops"},
        {"# only\n\n", "the file is empty"},
        {"flops,bytes,seconds\n",
         "line 1, column 1: the column 'name' is missing; found: flops, bytes, seconds."},
        {"~ a,n\n", "the column 'name' is missing; found: ~ a, n. The first line"},
        {"\037a\n", "the column 'name' is missing. The first line"},
        {"\177a\n", "the column 'name' is missing. The first line"},
        {"name,bytes,seconds\n", "the column 'flops' is missing;"},
        {"name,flops,bytes\n", "the column 'seconds' is missing;"},
        {"name,flops,seconds\n", "the column 'bytes' or 'dram_bytes' is missing;"},
        {"name,flops,bytes,seconds,flops\n", "line 1, column 26: the column flops appears twice"},
        {"name;flops;bytes;seconds\n", "separate fields by commas, not by ';'"},
        {"{\"schema\": \"carm-model/1\"}", "a quote inside a field"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(open_bytes(bad[i].text, strlen(bad[i].text)), -CARM_EFORMAT);
        assert_null(points);
        fail_if(!strstr(err.text, bad[i].said), "\"%s\": %s", bad[i].text, err.text);
    }
}

TEST_BETWEEN(refuses_what_is_no_text, set_up, tear_down)
{
    static const char zero[] = "name,flops,bytes,seconds\nn,1\0,2,3\n";
    assert_int_equal(open_bytes(zero, sizeof zero - 1), 0);
    assert_refused(carm_points_next(points, &p, &err), -CARM_EFORMAT,
                   "line 2, column 4: a zero byte");
    static const char quoted[] = "name,flops,bytes,seconds\n\"n\0\",1,2,3\n";
    assert_int_equal(open_bytes(quoted, sizeof quoted - 1), 0);
    assert_refused(carm_points_next(points, &p, &err), -CARM_EFORMAT,
                   "line 2, column 3: a zero byte");
    assert_int_equal(open_bytes("\xff\xfen\0a\0", 6), -CARM_EFORMAT);
    assert_non_null(strstr(err.text, "UTF-16"));
    carm_points_close(points);
    points = NULL;
    assert_refused(carm_points_open("/nonexistent/p.csv", NULL, &points, &err), -CARM_EIO,
                   "cannot read /nonexistent/p.csv: No such file");
    assert_refused(carm_points_open("/", NULL, &points, &err), -CARM_EIO,
                   "cannot read /: Is a directory");
}

/* A field of n bytes in the first data row, quoted or not. */
static int long_field(size_t n, bool quoted)
{
    static char text[400000];
    size_t used = (size_t)sprintf(text, "name,flops,bytes,seconds\n%s", quoted ? "\"" : "");
    memset(text + used, 'x', n);
    used += n;
    used += (size_t)sprintf(text + used, "%s,1,2,3\n", quoted ? "\"" : "");
    assert_int_equal(open_bytes(text, used), 0);
    return carm_points_next(points, &p, &err);
}

TEST_BETWEEN(refuses_what_is_too_long, set_up, tear_down)
{
    assert_int_equal(long_field(CARM_CSV_FIELD_MAX - 1, false), 1);
    assert_int_equal(strlen(p.name), CARM_CSV_FIELD_MAX - 1);
    assert_int_equal(long_field(CARM_CSV_FIELD_MAX, false), -CARM_EFORMAT);
    assert_non_null(strstr(err.text, "line 2, column 1: a field of more than 4095 bytes"));
    assert_int_equal(long_field(300000, true), -CARM_EFORMAT);
    assert_non_null(strstr(err.text, "is its closing quote missing?"));

    static char text[8192];
    memset(text, ',', sizeof text - 1);
    assert_int_equal(open_bytes(text, sizeof text - 1), -CARM_EFORMAT);
    assert_non_null(strstr(err.text, "more than 1024 fields"));

    static char wide[1024 * 300];
    size_t used = (size_t)sprintf(wide, "name,flops,bytes,seconds");
    for (int row = 0; row < 2; row++) {
        for (int i = 0; i < 1000; i++) {
            const size_t n = row ? 200 : 1;
            wide[used++] = ',';
            memset(wide + used, 'y', n);
            used += n;
        }
        used += row ? 0 : (size_t)sprintf(wide + used, "\nn,1,2,3");
    }
    assert_int_equal(open_bytes(wide, used), 0);
    assert_refused(carm_points_next(points, &p, &err), -CARM_EFORMAT,
                   "line 2, column 1: a line of more than 128 KiB");
}

TEST_BETWEEN(not_placeable, set_up, tear_down)
{
    open_text("name,flops,bytes,seconds\na,0,1,1\nb,1,1,\nc,1,,1\n");
    next();
    assert_string_equal(carm_point_unplaced(&p), "it computes nothing in floating point");
    next();
    assert_string_equal(carm_point_unplaced(&p), "its time is not known");
    next();
    assert_null(carm_point_unplaced(&p));
}

/* ---- merging ---- */

TEST_BETWEEN(merges, set_up, tear_down)
{
    struct carm_merge *m = NULL;
    struct carm_merged sum;
    open_text("name,flops,bytes,seconds,dram_bytes,threads,isa,precision,counted_by,rank,host,"
              "bytes_low,bytes_high\n"
              "a,10,100,1,7,2,sse,dp,pmu,0,h,90,120\nb,1,1,1,,1,,,,0,h,,\n"
              "a,20,200,3,8,2,avx2,sp,pmu,1,h,,\na,30,300,2,9,2,sse,dp,pmu,2,i,,\n"
              "b,1,1,,,1,,,,0,h,,\n");
    assert_ok(carm_merge_open(&m, &err));
    while (carm_points_next(points, &p, &err) == 1) {
        assert_ok(carm_merge_add(m, &p, &err));
    }
    assert_int_equal(carm_merge_names(m), 2);
    carm_merge_get(m, 0, &sum);
    assert_string_equal(sum.point.name, "a");
    assert_int_equal(sum.rows, 3);
    assert_near(sum.point.flops, 60, 0.0);
    assert_near(sum.point.bytes, 600, 0.0);
    assert_near(sum.point.bytes_low, 590, 0.0);
    assert_near(sum.point.bytes_high, 620, 0.0);
    assert_near(sum.point.dram_bytes, 24, 0.0);
    assert_near(sum.point.seconds, 3, 0.0);
    assert_near(sum.imbalance, 1.5, 1e-12); /* 3 over the mean of 1, 3, 2 */
    assert_int_equal(sum.point.threads, 6);
    assert_string_equal(sum.point.isa, "avx2");
    assert_string_equal(sum.point.precision, "mixed");
    assert_string_equal(sum.point.counted_by, "pmu");
    assert_string_equal(sum.note, "its rows come from several hosts, but the roofs are for one");
    carm_merge_get(m, 1, &sum);
    assert_string_equal(sum.point.name, "b");
    assert_false(carm_point_knows(sum.point.seconds)); /* one row has none */
    assert_false(carm_point_knows(sum.point.dram_bytes));
    assert_near(sum.imbalance, 0.0, 0.0);
    assert_string_equal(sum.note, "1 of its 2 rows has no seconds, so the sum is unknown; rank 0 "
                                  "appears 2 times: rows of repeated runs must not be summed");
    carm_merge_close(m);
}

/* Many names: the table grows, order stays, every sum is its own. */
TEST_BETWEEN(merges_many, set_up, tear_down)
{
    enum { N = 5000 };
    struct carm_merge *m = NULL;
    struct carm_merged sum;
    char name[32];
    assert_ok(carm_merge_open(&m, &err));
    open_text("name,flops,bytes,seconds\nx,1,1,1\n");
    next();
    p.name = name;
    for (int i = 0; i < 3 * N; i++) {
        (void)snprintf(name, sizeof name, "p%d", i % N);
        p.flops = i % N;
        assert_ok(carm_merge_add(m, &p, &err));
    }
    assert_int_equal(carm_merge_names(m), N);
    for (int i = 0; i < N; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        carm_merge_get(m, (size_t)i, &sum);
        assert_string_equal(sum.point.name, name);
        assert_int_equal(sum.rows, 3);
        assert_near(sum.point.flops, 3.0 * i, 0.0);
    }
    carm_merge_close(m);
}

/* ---- numbers as text ---- */

TEST_BETWEEN(writes_numbers, set_up, tear_down)
{
    char text[CARM_NUMBER_MAX];
    char wanted[64];
    static const double special[] = {
        0,    1,    10,   999999, 999999.5, 1000000, 0.0001,    1e-5,    0.001,         123456.7,
        1e14, 1e15, 1e22, 0.1,    1e-12,    99999.4, 0.0099999, 1.5e300, 0.00099999951, 100000};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        (void)snprintf(wanted, sizeof wanted, "%.6g", special[i]);
        assert_string_equal(carm_number_short(text, special[i]), wanted);
    }
    uint64_t r = 12345;
    for (int i = 0; i < 100000; i++) {
        r = r * 6364136223846793005u + 1442695040888963407u;
        const double v = (double)(r >> 11) / (double)(1u << (r % 31 + 1)) / 1e6;
        (void)snprintf(wanted, sizeof wanted, "%.6g", v);
        if (strcmp(carm_number_short(text, v), wanted) != 0) {
            assert_near(strtod(text, NULL), v, 0.51e-5 * v); /* the half */
        }
        (void)snprintf(wanted, sizeof wanted, "%.15g", v);
        if (v != floor(v)) {
            assert_string_equal(carm_number_exact(text, v), wanted);
        }
        const double fixed[] = {v / 1e9, (double)(r >> 40) / 8.0, (double)(r >> 44) / 200.0};
        for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k++) {
            (void)snprintf(wanted, sizeof wanted, "%.*f", i % 4, fixed[k]);
            assert_string_equal(carm_number_fixed(text, fixed[k], i % 4), wanted);
        }
    }
    assert_string_equal(carm_number_exact(text, 9007199254740991.0), "9007199254740991");
    assert_string_equal(carm_number_exact(text, 0.25), "0.25");
    assert_string_equal(carm_number_exact(text, 0.0), "0");
}

/* Half a number looks like one: 12 of 1250. */
TEST_BETWEEN(lines_without_an_end, set_up, tear_down)
{
    static const char says[] =
        "the last line of the file does not end: if the file was cut off, its last number is "
        "wrong";
    open_text("name,flops,bytes,seconds\na,1,1,1250\nb,1,1,12");
    next();
    assert_string_equal(p.note, "");
    assert_false(p.unended);
    next();
    assert_string_equal(p.note, says);
    assert_true(p.unended);
    open_text("name,note,flops,bytes,seconds\nb,mine,1,1,12");
    next();
    assert_non_null(strstr(p.note, "mine; the last line"));
    static const char *const whole[] = {
        "name,flops,bytes,seconds\na,1,1,12\n", "name,flops,bytes,seconds\na,1,1,12\r\n",
        "name,flops,bytes,seconds,counted_by\na,1,1,12,constr", /* no number */
        "name,flops,bytes,seconds,mine\na,1,1,12,77", "name,flops,seconds,bytes\na,1,12,"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        open_text(whole[i]);
        next();
        assert_string_equal(p.note, "");
        assert_false(p.unended);
    }
}

/* ---- numbers and texts of it ---- */

static void reads_as_strtod(const char *text)
{
    double got = -1.0;
    char *end;
    const double wanted = strtod(text, &end);
    fail_if(carm_number_scan(text, &got) != end || memcmp(&got, &wanted, sizeof got) != 0,
            "%s: %a, not %a", text, got, wanted);
}

/* Every digit counts: of doubles with 15 to 17 digits, of as many random digits as there may be, and of the
 * halves between doubles, where the rounding turns. */
TEST_BETWEEN(reads_numbers, set_up, tear_down)
{
    static const char *const special[] = {"0",
                                          "-0",
                                          "0.000000000000000000000000000000",
                                          "00000000000000000000000000012",
                                          "1e22",
                                          "1e23",
                                          "9007199254740993",
                                          "9007199254740993e1",
                                          "-9007199254740993.5e-1",
                                          "18446744073709551615",
                                          "9999999999999999999e27",
                                          "1e-27",
                                          "9999999999999999999e-27",
                                          "12345678901234567890123",
                                          "1e308",
                                          "1e309",
                                          "4.9e-324",
                                          "1e-400",
                                          "2.2250738585072011e-308",
                                          "0.1e-5x",
                                          "1.",
                                          ".5",
                                          "1e5000000000",
                                          "00.00000000000000000000000000001e30"};
    char text[96];
    uint64_t r = 88172645463325252U;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        reads_as_strtod(special[i]);
    }
    for (int i = 0; i < 400000; i++) {
        double v;
        const uint64_t bits = next_random(&r), exponent = 1023 - 60 + next_random(&r) % 200;
        const uint64_t pattern = (bits & 0xfffffffffffffU) | exponent << 52;
        memcpy(&v, &pattern, sizeof v);
        (void)snprintf(text, sizeof text, i % 2 ? "%.*e" : "%.*g", 15 + i % 3, v);
        reads_as_strtod(text);
        (void)snprintf(text, sizeof text, "%" PRIu64 "e%d", bits >> (i % 40), (int)(r % 61) - 30);
        reads_as_strtod(text);
        (void)snprintf(text, sizeof text, "%" PRIu64 ".%" PRIu64, r % 1000, bits >> (i % 30));
        reads_as_strtod(text);
        /* 54 bits that end in one: the half between two doubles, and what is next to it */
        const uint64_t half = (UINT64_C(1) << 53 | bits >> 11 | 1) << (i % 10);
        (void)snprintf(text, sizeof text, "%" PRIu64, half + (uint64_t)(i / 10 % 3) - 1);
        reads_as_strtod(text);
        /* ... and behind the point: half / 2^k = half x 5^k / 10^k */
        const uint64_t small = (UINT64_C(1) << 53 | bits >> 11 | 1);
        (void)snprintf(text, sizeof text, "%" PRIu64 "e-%d", small * (i % 2 ? 5 : 125),
                       i % 2 ? 1 : 3);
        reads_as_strtod(text);
    }
}

#define FORMATS_AS(size, ...)                                                  \
    do {                                                                       \
        char got[96], wanted[96];                                              \
        (void)snprintf(wanted, size, __VA_ARGS__);                             \
        assert_string_equal(carm_text_format(got, size, __VA_ARGS__), wanted); \
    } while (0)

TEST_BETWEEN(formats, set_up, tear_down)
{
    for (size_t size = 1; size < 40; size++) {
        FORMATS_AS(size, "plain");
        FORMATS_AS(size, "%s and %s", "one", "");
        FORMATS_AS(size, "%.1fx %s, %.0f %.6f", 0.05, "x", 2.5, 1.0 / 3.0);
        FORMATS_AS(size, "%s %.2f", "large", 1e12);
        FORMATS_AS(size, "%s %.2f", "negative", -1.0);
        FORMATS_AS(size, "%s %.3s %d %% %.10f", "a", "words", 7, 0.1);
    }
}

/* ---- mix ---- */

/* What `carm run` writes is what is read, quantity by quantity. */
TEST_BETWEEN(rows_of_carm_run_have_their_mix, set_up, tear_down)
{
    struct carm_row row = {.name = "n", .seconds = 1, .calls = 1, .isa = "", .precision = ""};
    for (int q = 0; q < CARM_Q_COUNT; q++) {
        carm_count_put(&row.counts, (enum carm_quantity)q, 1000 + q, CARM_COUNTED_STEPPED);
    }
    assert_ok(carm_row_append(path, &row, 1, &err));
    assert_ok(carm_points_open(path, NULL, &points, &err));
    next();
    for (int i = 0; i < CARM_RUNMIX_COUNT; i++) {
        const enum carm_quantity q = carm_quantity_find(carm_runmix_name((enum carm_runmix_part)i));
        assert_true(q < CARM_Q_COUNT);
        assert_near(p.mix.q[i], 1000 + (int)q, 0.0);
    }
}

TEST_BETWEEN(what_no_column_tells_is_unknown, set_up, tear_down)
{
    open_text("name,flops,bytes,seconds,fp_adds\na,1,1,1,\nb,1,1,1,3\n");
    next();
    for (int i = 0; i < CARM_RUNMIX_COUNT; i++) {
        assert_false(carm_runmix_has(&p.mix, (enum carm_runmix_part)i));
    }
    assert_false(carm_point_knows(p.operations));
    assert_string_equal(p.metric, "");
    next();
    assert_near(p.mix.q[CARM_RUNMIX_ADDS], 3, 0.0);
}

TEST_BETWEEN(operations_stand_for_flops, set_up, tear_down)
{
    open_text("name,operations,metric,bytes,seconds\nt,7,exchange,2,1\n"
              "name,operations,metric,bytes,seconds\nu,0,,2,1\nv,,,2,1\nw,1,flop,2,1\n");
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
    const int rc = open_bytes(text, strlen(text));
    if (!rc) {
        assert_int_equal(carm_points_next(points, &p, &err), -CARM_EFORMAT);
    }
    fail_if(!strstr(err.text, why), "'%s' does not say '%s'", err.text, why);
}

TEST_BETWEEN(refuses_bad_ones, set_up, tear_down)
{
    refuses("name,operations,bytes,seconds\na,-1,1,1\n", "operations is -1, less than zero");
    refuses("name,flops,bytes,seconds,dp_512\na,1,1,1,many\n", "dp_512 is 'many', not a plain");
    refuses("name,flops,bytes,seconds,loads,loads\na,1,1,1,1,1\n", "loads");
}

TEST_BETWEEN(merges_operations_and_mix, set_up, tear_down)
{
    struct carm_merge *m = NULL;
    struct carm_merged sum;
    open_text("name,operations,metric,bytes,seconds,fp_adds,dp_512,loads\n"
              "t,7,exchange,2,1,1,10,5\nt,8,exchange,2,1,2,20,\nt,1,other,2,1,,,\n");
    assert_ok(carm_merge_open(&m, &err));
    for (int i = 0; i < 2; i++) {
        next();
        assert_ok(carm_merge_add(m, &p, &err));
    }
    next();
    assert_refused(carm_merge_add(m, &p, &err), -CARM_EINVAL, "metrics 'exchange' and 'other'");
    carm_merge_get(m, 0, &sum);
    assert_near(sum.point.operations, 15, 0.0);
    assert_string_equal(sum.point.metric, "exchange");
    assert_near(sum.point.mix.q[CARM_RUNMIX_ADDS], 3, 0.0);
    assert_near(sum.point.mix.q[CARM_RUNMIX_DP + 3], 30, 0.0);
    assert_false(carm_runmix_has(&sum.point.mix, CARM_RUNMIX_LOADS)); /* one row lacks it */
    assert_false(carm_runmix_has(&sum.point.mix, CARM_RUNMIX_MULS));
    carm_merge_close(m);
}
