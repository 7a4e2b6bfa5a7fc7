/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/spmv/market.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/text.h"
#include "kernels/context.h"

enum {
    LINE_MAX_BYTES = 1024, /* the format's own limit */
    /* Most rows or columns that a file may declare beside those that its entries suggest. Graphs have empty rows, but
     * with more of them than this, SpMV would only measure y. */
    SPARSEST_FREE = 1 << 20,
    SPARSEST_FOR_ENTRY = 16,
};

enum field { REAL, INTEGER, PATTERN };
enum symmetry { GENERAL, SYMMETRIC, SKEW };

struct reader {
    FILE *file;
    const char *path;
    struct carm_err *err;
    uint64_t line; /* of text, from 1 */
    char text[LINE_MAX_BYTES + 2];
    uint64_t file_bytes;
    enum field field;
    enum symmetry symmetry;
    uint64_t rows, columns, entries;
    long data;          /* offset of the first entry */
    uint64_t data_line; /* number of the line before the first entry */
};

struct entry {
    uint32_t row, column; /* from 0 */
    double value;
};

__attribute__((format(printf, 3, 4))) static int refuse(const struct reader *r,
                                                        enum carm_error code, const char *fmt, ...)
{
    char reason[256];
    CARM_TEXT_OF_ARGS(reason, fmt);
    return carm_fail(r->err, code, "%s:%llu: %s", r->path, (unsigned long long)r->line, reason);
}

static int skip_line(struct reader *r)
{
    int c = 0;
    do {
        c = fgetc(r->file);
    } while (c != '\n' && c != EOF);
    return ferror(r->file)
               ? carm_fail(r->err, CARM_EIO, "%s: %s", r->path, strerror(errno ? errno : EIO))
               : 0;
}

/* Reads one line of any content into text. returns 1, 0 at the end, negative on error */
static int any_line(struct reader *r)
{
    errno = 0;
    if (!fgets(r->text, sizeof r->text, r->file)) {
        if (ferror(r->file)) {
            return carm_fail(r->err, CARM_EIO, "%s: %s", r->path, strerror(errno ? errno : EIO));
        }
        return 0;
    }
    r->line++;
    const size_t n = strlen(r->text);
    if (n > 0 && r->text[n - 1] == '\n') {
        return 1;
    }
    if (n + 1 == sizeof r->text) {
        if (r->text[0] != '%') {
            return refuse(r, CARM_EFORMAT, "a line of more than %d characters", LINE_MAX_BYTES);
        }
        const int rc = skip_line(r);
        return rc ? rc : 1;
    }
    return feof(r->file) ? 1 : refuse(r, CARM_EFORMAT, "a zero byte: this is not a text file");
}

static const char *skip_space(const char *at)
{
    while (isspace((unsigned char)*at)) {
        at++;
    }
    return at;
}

/* Reads the next line that is neither a comment nor empty. returns as any_line */
static int next_line(struct reader *r)
{
    for (;;) {
        const int rc = any_line(r);
        if (rc <= 0 || (r->text[0] != '%' && *skip_space(r->text) != '\0')) {
            return rc;
        }
    }
}

/* Reads an unsigned whole number at *at, and moves *at behind it. */
static bool whole(const char **at, uint64_t *value)
{
    const char *begin = skip_space(*at);
    char *end = NULL;
    if (!isdigit((unsigned char)*begin)) {
        return false;
    }
    errno = 0;
    *value = strtoull(begin, &end, 10);
    *at = end;
    return errno == 0 && (isspace((unsigned char)*end) || *end == '\0');
}

static int header(struct reader *r)
{
    char object[32] = "";
    char format[32] = "";
    char field[32] = "";
    char symmetry[32] = "";
    char more = '\0';
    const int rc = any_line(r);
    if (rc < 0) {
        return rc;
    }
    if (rc == 0) {
        return carm_fail(r->err, CARM_EFORMAT, "%s: the file is empty", r->path);
    }
    const int n = sscanf(r->text, "%%%%MatrixMarket %31s %31s %31s %31s %c", object, format, field,
                         symmetry, &more);
    if (n != 4 || strcasecmp(object, "matrix") != 0) {
        return refuse(r, CARM_EFORMAT,
                      "not the header of a Matrix Market matrix: \"%%%%MatrixMarket matrix "
                      "coordinate real general\" is one");
    }
    if (strcasecmp(format, "coordinate") != 0) {
        return refuse(r, CARM_ENOTSUP, "format \"%s\" is not supported: only coordinate is",
                      format);
    }
    if (strcasecmp(field, "real") == 0) {
        r->field = REAL;
    } else if (strcasecmp(field, "integer") == 0) {
        r->field = INTEGER;
    } else if (strcasecmp(field, "pattern") == 0) {
        r->field = PATTERN;
    } else {
        return refuse(r, CARM_ENOTSUP,
                      "field \"%s\" is not supported: real, integer and pattern are", field);
    }
    if (strcasecmp(symmetry, "general") == 0) {
        r->symmetry = GENERAL;
    } else if (strcasecmp(symmetry, "symmetric") == 0) {
        r->symmetry = SYMMETRIC;
    } else if (strcasecmp(symmetry, "skew-symmetric") == 0) {
        r->symmetry = SKEW;
    } else {
        return refuse(r, CARM_ENOTSUP,
                      "symmetry \"%s\" is not supported: general, symmetric and skew-symmetric are",
                      symmetry);
    }
    return 0;
}

/* Checks that the declared number of entries fits the rest of the file, the memory and 4-byte indices. */
static int plausible(struct reader *r)
{
    /* "1 1" and a line end, which the last entry may lack; a value takes two bytes more */
    const uint64_t least = r->field == PATTERN ? 4 : 6;
    const uint64_t rest = r->file_bytes - (uint64_t)r->data;
    if (r->rows < 1 || r->columns < 1 || r->rows > CARM_CSR_INDEX_MAX ||
        r->columns > CARM_CSR_INDEX_MAX) {
        return refuse(r, CARM_EINVAL, "%llu x %llu: rows and columns can be 1 to %llu",
                      (unsigned long long)r->rows, (unsigned long long)r->columns,
                      (unsigned long long)CARM_CSR_INDEX_MAX);
    }
    if (r->symmetry != GENERAL && r->rows != r->columns) {
        return refuse(r, CARM_EFORMAT, "%llu x %llu: a symmetric matrix is square",
                      (unsigned long long)r->rows, (unsigned long long)r->columns);
    }
    if (r->entries > (rest + 1) / least) {
        return refuse(r, CARM_EFORMAT,
                      "%llu entries are claimed, but the %llu bytes that follow have room for %llu "
                      "at most",
                      (unsigned long long)r->entries, (unsigned long long)rest,
                      (unsigned long long)((rest + 1) / least));
    }
    const uint64_t most = SPARSEST_FREE + SPARSEST_FOR_ENTRY * r->entries;
    if (r->rows > most || r->columns > most) {
        return refuse(
            r, CARM_EINVAL,
            "%llu x %llu with %llu entries: almost all rows or columns are empty; at most "
            "%llu are read",
            (unsigned long long)r->rows, (unsigned long long)r->columns,
            (unsigned long long)r->entries, (unsigned long long)most);
    }
    const uint64_t stored = r->symmetry == GENERAL ? r->entries : 2 * r->entries;
    if (stored > CARM_CSR_NONZEROS_MAX) {
        return refuse(r, CARM_EINVAL, "%llu stored entries are too many: at most %llu",
                      (unsigned long long)stored, (unsigned long long)CARM_CSR_NONZEROS_MAX);
    }
    /* rows twice: the matrix, and a counter for each row */
    const double bytes = carm_csr_bytes((double)r->rows * 2.0, (double)stored);
    return carm_dwarf_fits(r->path, bytes, r->err);
}

static int sizes(struct reader *r)
{
    const int rc = next_line(r);
    if (rc < 0) {
        return rc;
    }
    if (rc == 0) {
        return refuse(r, CARM_EFORMAT, "the file ends before its line of sizes");
    }
    const char *at = r->text;
    if (!whole(&at, &r->rows) || !whole(&at, &r->columns) || !whole(&at, &r->entries) ||
        *skip_space(at) != '\0') {
        return refuse(r, CARM_EFORMAT,
                      "not a line of sizes: rows, columns and entries are wanted, each below 2^64");
    }
    r->data = ftell(r->file);
    r->data_line = r->line;
    if (r->data < 0 || (uint64_t)r->data > r->file_bytes) {
        return carm_fail(r->err, CARM_EIO, "%s: changed while it was read", r->path);
    }
    return plausible(r);
}

static int value_of(const struct reader *r, const char *at, double *value)
{
    char *end = NULL;
    at = skip_space(at);
    if (r->field == PATTERN) {
        *value = 1.0;
        end = (char *)(uintptr_t)at;
    } else if (r->field == INTEGER) {
        errno = 0;
        *value = (double)strtoll(at, &end, 10);
        if (errno != 0) {
            return refuse(r, CARM_EFORMAT, "an integer beyond 64 bits");
        }
    } else {
        *value = strtod(at, &end);
    }
    if (r->field != PATTERN && (end == at || !(isspace((unsigned char)*end) || *end == '\0'))) {
        return refuse(r, CARM_EFORMAT, "no %s number after row and column",
                      r->field == INTEGER ? "whole" : "real");
    }
    if (*skip_space(end) != '\0') {
        return refuse(r, CARM_EFORMAT, "text after the numbers");
    }
    if (!isfinite(*value)) {
        return refuse(r, CARM_EFORMAT, "a value that is no finite number");
    }
    return 0;
}

static int parse_entry(const struct reader *r, struct entry *e)
{
    uint64_t row = 0;
    uint64_t column = 0;
    const char *at = r->text;
    if (!whole(&at, &row) || !whole(&at, &column)) {
        return refuse(r, CARM_EFORMAT, "not an entry: row and column are whole numbers from 1");
    }
    if (row < 1 || row > r->rows || column < 1 || column > r->columns) {
        return refuse(r, CARM_EFORMAT, "entry %llu, %llu lies outside of %llu x %llu",
                      (unsigned long long)row, (unsigned long long)column,
                      (unsigned long long)r->rows, (unsigned long long)r->columns);
    }
    if ((r->symmetry == SYMMETRIC && column > row) || (r->symmetry == SKEW && column >= row)) {
        return refuse(r, CARM_EFORMAT,
                      "entry %llu, %llu: a %s matrix has entries below %s diagonal only",
                      (unsigned long long)row, (unsigned long long)column,
                      r->symmetry == SKEW ? "skew-symmetric" : "symmetric",
                      r->symmetry == SKEW ? "the" : "or on the");
    }
    e->row = (uint32_t)(row - 1);
    e->column = (uint32_t)(column - 1);
    return value_of(r, at, &e->value);
}

/* Calls put for every entry of the file. returns 0, or the error of an entry or of their number */
static int each_entry(struct reader *r, int (*put)(void *arg, const struct entry *e), void *arg)
{
    int rc = 0;
    uint64_t n = 0;
    struct entry e = {0, 0, 0.0};
    if (fseek(r->file, r->data, SEEK_SET) != 0) {
        return carm_fail(r->err, CARM_EIO, "%s: %s", r->path, strerror(errno));
    }
    r->line = r->data_line;
    while ((rc = next_line(r)) > 0) {
        if (++n > r->entries) {
            return refuse(r, CARM_EFORMAT, "more than the %llu entries that are claimed",
                          (unsigned long long)r->entries);
        }
        rc = parse_entry(r, &e);
        if (!rc && put(arg, &e)) {
            rc = carm_fail(r->err, CARM_EIO, "%s: changed while it was read", r->path);
        }
        if (rc) {
            return rc;
        }
    }
    if (!rc && n < r->entries) {
        return refuse(r, CARM_EFORMAT, "the file ends after %llu of %llu entries",
                      (unsigned long long)n, (unsigned long long)r->entries);
    }
    return rc;
}

struct counting {
    uint32_t *rows; /* entries of each row */
    uint64_t nonzeros;
    bool mirrored; /* each entry off the diagonal counts twice */
};

static int count_one(void *arg, const struct entry *e)
{
    struct counting *c = arg;
    c->rows[e->row]++;
    c->nonzeros++;
    if (c->mirrored && e->row != e->column) {
        c->rows[e->column]++;
        c->nonzeros++;
    }
    return 0;
}

struct filling {
    struct carm_csr *a;
    uint32_t *left; /* entries of each row that are not read yet */
    double sign;    /* of the mirrored entry; 0 = not mirrored */
};

static int fill_one(struct filling *f, uint32_t row, uint32_t column, double value)
{
    if (f->left[row] == 0) {
        return -1;
    }
    const uint32_t at = f->a->start[row + 1] - f->left[row]--;
    f->a->column[at] = column;
    f->a->value[at] = value;
    return 0;
}

static int fill_entry(void *arg, const struct entry *e)
{
    struct filling *f = arg;
    int rc = fill_one(f, e->row, e->column, e->value);
    if (!rc && f->sign != 0.0 && e->row != e->column) {
        rc = fill_one(f, e->column, e->row, f->sign * e->value);
    }
    return rc;
}

static int finite_sums(const struct reader *r, const struct carm_csr *a)
{
    for (uint32_t k = 0; k < a->nonzeros; k++) {
        if (!isfinite(a->value[k])) {
            return carm_fail(
                r->err, CARM_EFORMAT,
                "%s: an entry is given twice, and the sum of its values is no finite number",
                r->path);
        }
    }
    return 0;
}

static int fill(struct reader *r, const struct counting *counted, struct carm_csr *a)
{
    struct filling f = {.a = a, .left = counted->rows};
    int rc = carm_csr_open(a, r->path, r->rows, r->columns, counted->nonzeros, r->err);
    if (rc) {
        return rc;
    }
    for (uint32_t i = 0; i < a->rows; i++) {
        a->start[i + 1] = a->start[i] + counted->rows[i];
    }
    f.sign = r->symmetry == GENERAL ? 0.0 : r->symmetry == SKEW ? -1.0 : 1.0;
    rc = each_entry(r, fill_entry, &f);
    if (!rc) {
        carm_csr_tidy(a);
        rc = finite_sums(r, a);
    }
    if (rc) {
        carm_csr_close(a);
    }
    return rc;
}

static int read_matrix(struct reader *r, struct carm_csr *out)
{
    struct counting counted = {0};
    struct carm_csr a;
    int rc = header(r);
    rc = rc ? rc : sizes(r);
    if (rc) {
        return rc;
    }
    counted.mirrored = r->symmetry != GENERAL;
    counted.rows = calloc(r->rows, sizeof *counted.rows);
    if (!counted.rows) {
        return carm_fail(r->err, CARM_ENOMEM, "%s: not enough memory for %llu rows", r->path,
                         (unsigned long long)r->rows);
    }
    rc = each_entry(r, count_one, &counted);
    rc = rc ? rc : fill(r, &counted, &a);
    free(counted.rows);
    if (!rc) {
        *out = a;
    }
    return rc;
}

int carm_matrix_market_read(const char *path, struct carm_csr *a, struct carm_err *err)
{
    struct reader r = {.path = path, .err = err};
    struct stat s;
    r.file = fopen(path, "r");
    if (!r.file) {
        return carm_fail(err, CARM_EIO, "%s: %s", path, strerror(errno));
    }
    int rc = 0;
    if (fstat(fileno(r.file), &s) != 0) {
        rc = carm_fail(err, CARM_EIO, "%s: %s", path, strerror(errno));
    } else if (!S_ISREG(s.st_mode)) {
        rc = carm_fail(err, CARM_EIO,
                       "%s is %s: a Matrix Market file is wanted, which is read twice", path,
                       S_ISDIR(s.st_mode) ? "a directory" : "not a regular file");
    } else {
        r.file_bytes = (uint64_t)s.st_size;
        rc = read_matrix(&r, a);
    }
    fclose(r.file);
    return rc;
}
