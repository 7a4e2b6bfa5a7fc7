/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Matrix Market files: what is read, and what is refused with file, line and reason. */
#include <unistd.h>

#include "kernels/spmv/market.h"
#include "tests/unit.h"

static char path[64];

static int make_path(void **state)
{
    (void)snprintf(path, sizeof path, "/tmp/carm-mtx-XXXXXX");
    const int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
    return unlink(path);
}

static void write_bytes(const char *text, size_t n)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static int read_text(const char *text, struct carm_csr *a)
{
    write_bytes(text, strlen(text));
    memset(&err, 0, sizeof err);
    return carm_matrix_market_read(path, a, &err);
}

#define HEAD "%%MatrixMarket matrix coordinate "

static const struct carm_csr *read_good(const char *text)
{
    static struct carm_csr a;
    carm_csr_close(&a);
    fail_if(read_text(text, &a), "%s", err.text);
    return &a;
}

/* Element of a matrix, 0 where there is none. */
static double element(const struct carm_csr *a, uint32_t row, uint32_t column)
{
    for (uint32_t k = a->start[row]; k < a->start[row + 1]; k++) {
        if (a->column[k] == column) {
            return a->value[k];
        }
    }
    return 0.0;
}

static void assert_dense(const struct carm_csr *a, uint32_t rows, uint32_t columns,
                         uint32_t nonzeros, const double *want)
{
    assert_int_equal(a->rows, rows);
    assert_int_equal(a->columns, columns);
    assert_int_equal(a->nonzeros, nonzeros);
    assert_int_equal(a->start[rows], nonzeros);
    for (uint32_t i = 0; i < rows; i++) {
        for (uint32_t j = 0; j < columns; j++) {
            assert_near(element(a, i, j), want[i * columns + j], 0.0);
        }
        for (uint32_t k = a->start[i] + 1; k < a->start[i + 1]; k++) {
            assert_true(a->column[k - 1] < a->column[k]);
        }
    }
}

TEST(real_general)
{
    static const double want[] = {1.5, 0, 0, -2e3, 0, 0, 0, 0.25, 0, 3, 0, 7};
    /* out of order, with comments, empty lines and blanks, the last line without its end */
    assert_dense(read_good(HEAD "real general\n% a comment\n%\n\n3 4 6\n2 4 0.25\n1 4 -2e3\n"
                                "\n  3   2\t+3 \n% another\n3 4 7\n1 1 1.5\n2 1 0"),
                 3, 4, 6, want);
    assert_int_equal(read_good(HEAD "real general\n1 1 0\n")->nonzeros, 0);
    assert_int_equal(read_good(HEAD "real general\n1048592 9 1\n1048592 9 1\n")->rows, 1048592);
}

TEST(windows_lines_and_capitals)
{
    static const double want[] = {0, 4, 5, 0};
    assert_dense(read_good("%%MatrixMarket MATRIX Coordinate Integer GENERAL\r\n%c\r\n\r\n2 2 2\r\n"
                           "1 2 4\r\n2 1 5\r\n"),
                 2, 2, 2, want);
}

TEST(patterns)
{
    static const double want[] = {1, 1, 0, 1};
    assert_dense(read_good(HEAD "pattern general\n2 2 3\n1 1\n1 2\n2 2\n"), 2, 2, 3, want);
}

TEST(symmetries)
{
    static const double symmetric[] = {1, 2, 0, 2, 0, 3, 0, 3, 4};
    static const double skew[] = {0, -2, 0, 2, 0, -3, 0, 3, 0};
    assert_dense(read_good(HEAD "real symmetric\n3 3 4\n1 1 1\n2 1 2\n3 2 3\n3 3 4\n"), 3, 3, 6,
                 symmetric);
    assert_dense(read_good(HEAD "integer skew-symmetric\n3 3 2\n3 2 3\n2 1 2\n"), 3, 3, 4, skew);
}

TEST(duplicates_are_summed)
{
    static const double want[] = {0, 6, 4, 0, 0, 0, 0, 0, 1};
    static const double mirrored[] = {0, 5, 5, 0};
    assert_dense(read_good(HEAD "real general\n3 3 5\n1 2 1\n3 3 1\n1 2 2\n1 3 4\n1 2 3\n"), 3, 3,
                 3, want);
    assert_dense(read_good(HEAD "real symmetric\n2 2 2\n2 1 2\n2 1 3\n"), 2, 2, 2, mirrored);
}

/* Long rows in reverse: sorted in place. */
TEST(long_rows)
{
    enum { N = 3000 };
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fprintf(f, "%sinteger general\n2 %d %d\n", HEAD, N, 2 * N);
    for (int i = 0; i < N; i++) {
        const int column = (i * 1009 + 7) % N; /* every one, in disorder */
        (void)fprintf(f, "1 %d %d\n2 %d %d\n", column + 1, column, N - i, N - i - 1);
    }
    assert_int_equal(fclose(f), 0);
    struct carm_csr a;
    assert_ok(carm_matrix_market_read(path, &a, &err));
    assert_int_equal(a.nonzeros, 2 * N);
    for (uint32_t k = 0; k < 2 * N; k++) {
        assert_int_equal(a.column[k], k % N);
        assert_near(a.value[k], k % N, 0.0);
    }
    carm_csr_close(&a);
}

struct refusal {
    const char *text;
    int code;
    int line; /* 0: none is named */
    const char *reason;
};

static const struct refusal refusals[] = {
    {"", CARM_EFORMAT, 0, "the file is empty"},
    {"\n", CARM_EFORMAT, 1, "not the header"},
    {"1 1 1\n1 1 1\n", CARM_EFORMAT, 1, "not the header"},
    {"%%MatrixMarket matrix coordinate real\n1 1 0\n", CARM_EFORMAT, 1, "not the header"},
    {"%%MatrixMarket vector coordinate real general\n", CARM_EFORMAT, 1, "not the header"},
    {HEAD "real general more\n", CARM_EFORMAT, 1, "not the header"},
    {"%%MatrixMarket matrix array real general\n1 1\n1\n", CARM_ENOTSUP, 1, "format \"array\""},
    {HEAD "complex general\n1 1 1\n1 1 1 1\n", CARM_ENOTSUP, 1, "field \"complex\""},
    {HEAD "real hermitian\n1 1 1\n1 1 1\n", CARM_ENOTSUP, 1, "symmetry \"hermitian\""},
    {HEAD "real general\n", CARM_EFORMAT, 1, "before its line of sizes"},
    {HEAD "real general\n% only\n% comments\n", CARM_EFORMAT, 3, "before its line of sizes"},
    {HEAD "real general\n2 2\n", CARM_EFORMAT, 2, "not a line of sizes"},
    {HEAD "real general\n2 2 1 1\n", CARM_EFORMAT, 2, "not a line of sizes"},
    {HEAD "real general\n2 -2 1\n", CARM_EFORMAT, 2, "not a line of sizes"},
    {HEAD "real general\n2 2 1.5\n", CARM_EFORMAT, 2, "not a line of sizes"},
    {HEAD "real general\n99999999999999999999 2 1\n", CARM_EFORMAT, 2, "not a line of sizes"},
    {HEAD "real general\n0 2 0\n", CARM_EINVAL, 2, "rows and columns can be 1 to"},
    {HEAD "real general\n4294967296 4294967296 1\n1 1 1\n", CARM_EINVAL, 2, "can be 1 to"},
    {HEAD "real general\n2 18446744073709551615 1\n1 1 1\n", CARM_EINVAL, 2, "can be 1 to"},
    {HEAD "real symmetric\n2 3 1\n1 1 1\n", CARM_EFORMAT, 2, "a symmetric matrix is square"},
    {HEAD "real general\n1000000 1000000 1000000000000\n1 1 1\n", CARM_EFORMAT, 2,
     "1000000000000 entries are claimed, but the 6 bytes that follow have room for 1 at most"},
    {HEAD "real general\n2 2 18446744073709551615\n1 1 1\n", CARM_EFORMAT, 2,
     "entries are claimed"},
    {HEAD "real general\n2 2 1\n", CARM_EFORMAT, 2, "entries are claimed"},
    {HEAD "real general\n300000000 2 1\n1 1 1\n", CARM_EINVAL, 2,
     "300000000 x 2 with 1 entries: almost all rows or columns are empty; at most 1048592 are read"},
    {HEAD "real general\n2 1048593 1\n1 1 1\n", CARM_EINVAL, 2, "rows or columns are empty"},
    {HEAD "real general\n2 2 2\n1 1 1.000000000\n", CARM_EFORMAT, 3, "ends after 1 of 2 entries"},
    {HEAD "real general\n2 2 1\n1 1 1\n2 2 2\n", CARM_EFORMAT, 4, "more than the 1 entries"},
    {HEAD "real general\n2 2 1\n3 1 1\n", CARM_EFORMAT, 3, "entry 3, 1 lies outside of 2 x 2"},
    {HEAD "real general\n2 2 1\n1 3 1\n", CARM_EFORMAT, 3, "lies outside"},
    {HEAD "real general\n2 2 1\n0 1 1\n", CARM_EFORMAT, 3, "lies outside"},
    {HEAD "real general\n2 2 1\n-1 1 1\n", CARM_EFORMAT, 3, "not an entry"},
    {HEAD "real general\n2 2 1\n1,1,1\n", CARM_EFORMAT, 3, "not an entry"},
    {HEAD "real general\n2 2 1\n99999999999999999999 1 1\n", CARM_EFORMAT, 3, "not an entry"},
    {HEAD "real general\n2 2 1\n1 1   \n", CARM_EFORMAT, 3, "no real number"},
    {HEAD "real general\n2 2 1\n1 1 x\n", CARM_EFORMAT, 3, "no real number"},
    {HEAD "real general\n2 2 1\n1 1 nan\n", CARM_EFORMAT, 3, "no finite number"},
    {HEAD "real general\n2 2 1\n1 1 -inf\n", CARM_EFORMAT, 3, "no finite number"},
    {HEAD "real general\n2 2 1\n1 1 1e999\n", CARM_EFORMAT, 3, "no finite number"},
    {HEAD "real general\n2 2 1\n1 1 1 2\n", CARM_EFORMAT, 3, "text after the numbers"},
    {HEAD "real general\n2 2 1\n1 1 1x\n", CARM_EFORMAT, 3, "no real number"},
    {HEAD "pattern general\n2 2 1\n1 1 1\n", CARM_EFORMAT, 3, "text after the numbers"},
    {HEAD "integer general\n2 2 1\n1 1 1.5\n", CARM_EFORMAT, 3, "no whole number"},
    {HEAD "integer general\n2 2 1\n1 1 99999999999999999999\n", CARM_EFORMAT, 3, "beyond 64 bits"},
    {HEAD "real symmetric\n2 2 1\n1 2 1\n", CARM_EFORMAT, 3, "below or on the diagonal"},
    {HEAD "real skew-symmetric\n2 2 1\n1 1 1\n", CARM_EFORMAT, 3, "below the diagonal"},
    {HEAD "real general\n1 1 2\n1 1 1e308\n1 1 1e308\n", CARM_EFORMAT, 0, "given twice"},
};

TEST(are_refused)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const struct refusal *r = &refusals[i];
        char begin[96];
        struct carm_csr a;
        const int rc = read_text(r->text, &a);
        if (r->line) {
            (void)snprintf(begin, sizeof begin, "%s:%d: ", path, r->line);
        } else {
            (void)snprintf(begin, sizeof begin, "%s: ", path);
        }
        fail_if(rc != -r->code || strncmp(err.text, begin, strlen(begin)) != 0 ||
                    !strstr(err.text, r->reason),
                "\"%s\" gives %d \"%s\", not %d \"%s...%s\"", r->text, rc, err.text, -r->code,
                begin, r->reason);
    }
}

TEST(long_lines)
{
    static char text[8192];
    /* a comment may be as long as it likes */
    int n = snprintf(text, sizeof text, "%sreal general\n%%", HEAD);
    memset(text + n, 'c', 5000);
    (void)snprintf(text + n + 5000, sizeof text - (size_t)n - 5000, "\n1 1 1\n1 1 2\n");
    assert_near(element(read_good(text), 0, 0), 2.0, 0.0);
    n = snprintf(text, sizeof text, "%sreal general\n1 1 1\n1 1 0.", HEAD);
    memset(text + n, '3', 5000);
    text[n + 5000] = '\0';
    struct carm_csr a;
    assert_int_equal(read_text(text, &a), -CARM_EFORMAT);
    assert_non_null(strstr(err.text, ":3: a line of more than 1024 characters"));
}

TEST(no_text)
{
    static const char bytes[] = HEAD "real general\n2 2 1\n1 1\0 1\n";
    struct carm_csr a;
    write_bytes(bytes, sizeof bytes - 1);
    assert_refused(carm_matrix_market_read(path, &a, &err), -CARM_EFORMAT, ":3: a zero byte");
}

/* A sparse file: room for so many entries, but there is no memory for them. */
TEST(beyond_memory)
{
    static const double takes = 64e9; /* bytes */
    struct carm_csr a;
    assert_int_equal(read_text(HEAD "real general\n2000000000 2 9000000000\n1 1 1\n", &a),
                     -CARM_EFORMAT);
    assert_int_equal(truncate(path, (off_t)1 << 36), 0);
    assert_refused(carm_matrix_market_read(path, &a, &err), -CARM_EINVAL,
                   ":2: 9000000000 stored entries are too many");
    assert_int_equal(read_text(HEAD "real general\n2000000000 2 4000000000\n1 1 1\n", &a),
                     -CARM_EFORMAT);
    skip_if((double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) > takes,
            "this machine has the memory");
    assert_int_equal(truncate(path, (off_t)1 << 36), 0);
    assert_refused(carm_matrix_market_read(path, &a, &err), -CARM_ENOMEM, "takes ");
}

TEST(no_files)
{
    struct carm_csr a;
    assert_refused(carm_matrix_market_read("/nonexistent/x.mtx", &a, &err), -CARM_EIO,
                   "/nonexistent/x.mtx: No such file");
    assert_refused(carm_matrix_market_read("/tmp", &a, &err), -CARM_EIO, "/tmp is a directory");
    assert_refused(carm_matrix_market_read("/dev/null", &a, &err), -CARM_EIO, "not a regular file");
}

RUN_TESTS(make_path, remove_path)
