/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/points.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/csv.h"
#include "base/number.h"
#include "models/import/import.h"
#include "models/place/work.h"

enum kind {
    TEXT,
    WORD,     /* a text in lower case */
    COUNT,    /* a number of at least zero */
    POSITIVE, /* a number above zero */
    SHARE,    /* a number from 0 to 1 */
    WHOLE,    /* a whole number above zero */
};

/* Where a column's value goes: the offset in struct carm_point. */
#define AT(member) offsetof(struct carm_point, member)
static const struct column {
    const char *name;
    enum kind kind;
    size_t at;
} columns[] = {
    {"name", TEXT, AT(name)},
    {"flops", COUNT, AT(flops)},
    {"seconds", POSITIVE, AT(seconds)},
    {"bytes", COUNT, AT(bytes)},
    {"dram_bytes", COUNT, AT(dram_bytes)},
    {"threads", WHOLE, AT(threads)},
    {"isa", WORD, AT(isa)},
    {"precision", WORD, AT(precision)},
    {"counted_by", TEXT, AT(counted_by)},
    {"calls", COUNT, AT(calls)},
    {"share", SHARE, AT(share)},
    {"flops_low", COUNT, AT(flops_low)},
    {"flops_high", COUNT, AT(flops_high)},
    {"bytes_low", COUNT, AT(bytes_low)},
    {"bytes_high", COUNT, AT(bytes_high)},
    {"rank", TEXT, AT(rank)},
    {"host", TEXT, AT(host)},
    {"note", TEXT, AT(note)},
    {"operations", COUNT, AT(operations)},
    {"metric", TEXT, AT(metric)},
    {"job", TEXT, AT(job)},
    {"pid", TEXT, AT(pid)},
    {"aware_imbalance_at", COUNT, AT(imbalance_at[0])},
    {"original_imbalance_at", COUNT, AT(imbalance_at[1])},
    {"l2_bytes", COUNT, AT(level_bytes[0])},
    {"l3_bytes", COUNT, AT(level_bytes[1])},
    {"l2_bytes_low", COUNT, AT(level_low[0])},
    {"l2_bytes_high", COUNT, AT(level_high[0])},
    {"l3_bytes_low", COUNT, AT(level_low[1])},
    {"l3_bytes_high", COUNT, AT(level_high[1])},
    {"dram_bytes_low", COUNT, AT(level_low[2])},
    {"dram_bytes_high", COUNT, AT(level_high[2])},
    {"l2_unused", COUNT, AT(level_unused[0])},
    {"l3_unused", COUNT, AT(level_unused[1])},
    {"dram_unused", COUNT, AT(level_unused[2])},
    {"l2_compulsory", COUNT, AT(level_misses[0][CARM_MISS_COMPULSORY])},
    {"l2_capacity", COUNT, AT(level_misses[0][CARM_MISS_CAPACITY])},
    {"l2_conflict", COUNT, AT(level_misses[0][CARM_MISS_CONFLICT])},
    {"l2_coherence", COUNT, AT(level_misses[0][CARM_MISS_COHERENCE])},
    {"l3_compulsory", COUNT, AT(level_misses[1][CARM_MISS_COMPULSORY])},
    {"l3_capacity", COUNT, AT(level_misses[1][CARM_MISS_CAPACITY])},
    {"l3_conflict", COUNT, AT(level_misses[1][CARM_MISS_CONFLICT])},
    {"l3_coherence", COUNT, AT(level_misses[1][CARM_MISS_COHERENCE])},
    {"dram_compulsory", COUNT, AT(level_misses[2][CARM_MISS_COMPULSORY])},
    {"dram_capacity", COUNT, AT(level_misses[2][CARM_MISS_CAPACITY])},
    {"dram_conflict", COUNT, AT(level_misses[2][CARM_MISS_CONFLICT])},
    {"dram_coherence", COUNT, AT(level_misses[2][CARM_MISS_COHERENCE])},
    {"levels_by", WORD, AT(levels_by)},
    /* the mix, in the order of enum carm_runmix_part */
    {"instructions", COUNT, AT(mix.q[CARM_RUNMIX_INSTRUCTIONS])},
    {"fp_instructions", COUNT, AT(mix.q[CARM_RUNMIX_FP])},
    {"fp_adds", COUNT, AT(mix.q[CARM_RUNMIX_ADDS])},
    {"fp_muls", COUNT, AT(mix.q[CARM_RUNMIX_MULS])},
    {"fp_fmas", COUNT, AT(mix.q[CARM_RUNMIX_FMAS])},
    {"fp_divides", COUNT, AT(mix.q[CARM_RUNMIX_DIVIDES])},
    {"prefetches", COUNT, AT(mix.q[CARM_RUNMIX_PREFETCHES])},
    {"loads", COUNT, AT(mix.q[CARM_RUNMIX_LOADS])},
    {"stores", COUNT, AT(mix.q[CARM_RUNMIX_STORES])},
    {"load_bytes", COUNT, AT(mix.q[CARM_RUNMIX_LOAD_BYTES])},
    {"store_bytes", COUNT, AT(mix.q[CARM_RUNMIX_STORE_BYTES])},
    {"int_ops", COUNT, AT(mix.q[CARM_RUNMIX_INT_OPS])},
    {"int8_ops", COUNT, AT(mix.q[CARM_RUNMIX_INT])},
    {"int16_ops", COUNT, AT(mix.q[CARM_RUNMIX_INT + 1])},
    {"int32_ops", COUNT, AT(mix.q[CARM_RUNMIX_INT + 2])},
    {"int64_ops", COUNT, AT(mix.q[CARM_RUNMIX_INT + 3])},
    {"int_adds", COUNT, AT(mix.q[CARM_RUNMIX_INT_ADDS])},
    {"int_muls", COUNT, AT(mix.q[CARM_RUNMIX_INT_MULS])},
    {"int_logic", COUNT, AT(mix.q[CARM_RUNMIX_INT_LOGIC])},
    {"int_dots", COUNT, AT(mix.q[CARM_RUNMIX_INT_DOTS])},
    {"int_instructions", COUNT, AT(mix.q[CARM_RUNMIX_INT_INSTRUCTIONS])},
    {"flops_other", COUNT, AT(mix.q[CARM_RUNMIX_OTHER])},
    {"dp_scalar", COUNT, AT(mix.q[CARM_RUNMIX_DP])},
    {"dp_128", COUNT, AT(mix.q[CARM_RUNMIX_DP + 1])},
    {"dp_256", COUNT, AT(mix.q[CARM_RUNMIX_DP + 2])},
    {"dp_512", COUNT, AT(mix.q[CARM_RUNMIX_DP + 3])},
    {"sp_scalar", COUNT, AT(mix.q[CARM_RUNMIX_SP])},
    {"sp_128", COUNT, AT(mix.q[CARM_RUNMIX_SP + 1])},
    {"sp_256", COUNT, AT(mix.q[CARM_RUNMIX_SP + 2])},
    {"sp_512", COUNT, AT(mix.q[CARM_RUNMIX_SP + 3])},
    /* parts of programs */
    {"kind", TEXT, AT(kind)},
    {"source", TEXT, AT(source)},
    {"module", TEXT, AT(module)},
    {"time_share", SHARE, AT(time_share)},
    {"samples", COUNT, AT(samples)},
    {"entries", COUNT, AT(entries)},
    {"trips", COUNT, AT(trips)},
};
enum {
    NAME,
    FLOPS,
    SECONDS,
    BYTES,
    DRAM_BYTES,
    COLUMNS = sizeof columns / sizeof *columns,
    OPERATIONS = 18
};

/* Far beyond the life of any machine, and small enough that no quotient of two overflows. */
static const double least = 1e-12;
static const double most = 1e30;

static const char example[] =
    "name,flops,bytes,seconds,dram_bytes,threads,isa,precision,counted_by";

struct carm_points {
    struct carm_csv *csv;
    struct carm_import_rows *rows; /* of another tool's file; NULL = the file has points */
    size_t row;                    /* the next one */
    struct carm_work *work;
    size_t width; /* fields of each line */
    struct carm_csv_field *fields;
    int field_of[COLUMNS]; /* index of a field, or of a row's counts; -1 = no such column */
    char note[512];        /* of a row that does not end */
    struct carm_point blank;
};

__attribute__((format(printf, 4, 5))) static int bad(const struct carm_points *p,
                                                     const struct carm_csv_field *f,
                                                     struct carm_err *err, const char *fmt, ...)
{
    char what[384];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return carm_fail(err, CARM_EFORMAT, "%.120s: line %zu, column %zu: %s", carm_csv_name(p->csv),
                     f->line, f->column, what);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Without blanks at both ends, which people put behind commas. */
static char *trim(const struct carm_csv_field *f)
{
    char *s = f->text;
    if (f->quoted) {
        return s;
    }
    s += strspn(s, " \t");
    size_t n = strlen(s);
    while (n > 0 && (s[n - 1] == ' ' || s[n - 1] == '\t')) {
        n--;
    }
    s[n] = '\0';
    return s;
}

static void lower(char *s)
{
    for (; *s; s++) {
        if (*s >= 'A' && *s <= 'Z') {
            *s = (char)(*s - 'A' + 'a');
        }
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool to_number(const char *s, double *value)
{
    const char *end = carm_number_scan(s, value);
    return end && *end == '\0';
}

static int read_number(const struct carm_points *p, const struct column *c,
                       const struct carm_csv_field *f, const char *s, double *v,
                       struct carm_err *err)
{
    if (!to_number(s, v)) {
        const char *word = s + (*s == '-' || *s == '+');
        if (strncasecmp(word, "inf", 3) == 0 || strncasecmp(word, "nan", 3) == 0) {
            return bad(p, f, err, "%s is '%.40s', not a finite number; leave unknown values empty",
                       c->name, s);
        }
        return bad(p, f, err,
                   "%s is '%.40s', not a plain number (digits, '.', e+9; no unit, no spaces)",
                   c->name, s);
    }
    if (!isfinite(*v)) {
        return bad(p, f, err, "%s is '%.40s', not a finite number: a double ends at 1.8e308",
                   c->name, s);
    }
    if (*v < 0.0) {
        return bad(p, f, err, "%s is %.40s, less than zero", c->name, s);
    }
    if (*v == 0.0 && (c->kind == POSITIVE || c->kind == WHOLE)) {
        return bad(p, f, err, "%s is %.40s, not more than zero; leave unknown values empty",
                   c->name, s);
    }
    if (c->kind == SHARE && *v > 1.0) {
        return bad(p, f, err, "%s is %.40s, more than 1: it is a share from 0 to 1", c->name, s);
    }
    if (c->kind == WHOLE && (*v != floor(*v) || *v > 1e9)) {
        return bad(p, f, err, "%s is %.40s, not a whole number from 1 to 1e9", c->name, s);
    }
    if ((*v > 0.0 && *v < least) || *v > most) {
        return bad(p, f, err, "%s is %.40s, outside %g to %g, where every machine's is", c->name, s,
                   least, most);
    }
    return 0;
}

/* ---- the header ------------------------------------------------------------------------------ */

static int read_header(struct carm_points *p, struct carm_err *err)
{
    const int rc = carm_csv_next(p->csv, &p->fields, &p->width, err);
    if (rc == 0) {
        return carm_fail(err, CARM_EFORMAT,
                         "%.200s: the file is empty; its first line names the columns, such as %s",
                         carm_csv_name(p->csv), example);
    }
    if (rc < 0) {
        return rc;
    }
    for (size_t k = 0; k < COLUMNS; k++) {
        p->field_of[k] = -1;
    }
    for (size_t i = 0; i < p->width; i++) {
        const char *name = trim(&p->fields[i]);
        for (size_t k = 0; k < COLUMNS; k++) {
            if (strcmp(name, columns[k].name) != 0) {
                continue;
            }
            if (p->field_of[k] >= 0) {
                return bad(p, &p->fields[i], err, "the column %s appears twice", name);
            }
            p->field_of[k] = (int)i;
        }
    }
    const char *lacks = p->field_of[NAME] < 0                                   ? "name"
                        : p->field_of[FLOPS] < 0 && p->field_of[OPERATIONS] < 0 ? "flops"
                        : p->field_of[SECONDS] < 0                              ? "seconds"
                        : p->field_of[BYTES] < 0 && p->field_of[DRAM_BYTES] < 0
                            ? "bytes or dram_bytes"
                            : NULL;
    if (lacks) {
        const bool other = p->width == 1 && strpbrk(p->fields[0].text, ";\t|");
        return bad(p, &p->fields[0], err,
                   "no column %s%s; the first line names the columns, such as %s", lacks,
                   other ? " (fields are separated by commas, not by ';', '|' or tabs)" : "",
                   example);
    }
    return 0;
}

int carm_points_open(const char *path, const struct carm_points_how *how, struct carm_points **out,
                     struct carm_err *err)
{
    static const struct carm_points_how usual = {NULL, NULL, false};
    const struct carm_import_format *format = NULL;
    *out = NULL;
    how = how ? how : &usual;
    int rc = carm_import_find(how->format, &format, err);
    if (rc) {
        return rc;
    }
    struct carm_points *p = calloc(1, sizeof *p);
    if (!p) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to read %.256s", path);
    }
    p->blank = carm_point_blank();
    rc = carm_csv_open(path, &p->csv, err);
    if (!rc && (!how->format || strcmp(how->format, "auto") == 0)) {
        size_t n = 0;
        const char *begin = carm_csv_peek(p->csv, &n);
        format = carm_import_detect(begin, n);
    }
    rc = rc || !format ? rc : carm_import_points(format, p->csv, how->runs, &p->rows, err);
    rc = rc || !how->work ? rc : carm_work_open(how->work, &p->work, err);
    rc = rc || p->rows ? rc : read_header(p, err);
    for (size_t k = 0; k < COLUMNS && p->rows; k++) {
        p->field_of[k] = carm_import_count_of(columns[k].name);
    }
    if (rc) {
        carm_points_close(p);
        return rc;
    }
    *out = p;
    return 0;
}

void carm_points_close(struct carm_points *points)
{
    if (points) {
        carm_csv_close(points->csv);
        carm_work_close(points->work);
        carm_import_rows_close(points->rows);
        free(points);
    }
}

/* ---- the points ------------------------------------------------------------------------------ */

static void put_text(struct carm_point *point, const struct column *c, const char *s)
{
    memcpy((char *)point + c->at, &s, sizeof s);
}

static void put_number(struct carm_point *point, const struct column *c, double v)
{
    if (c->kind == WHOLE) {
        const int whole = (int)v;
        memcpy((char *)point + c->at, &whole, sizeof whole);
    } else {
        memcpy((char *)point + c->at, &v, sizeof v);
    }
}

static bool is_text(const struct column *c)
{
    return c->kind == TEXT || c->kind == WORD;
}

struct carm_point carm_point_blank(void)
{
    struct carm_point point;
    memset(&point, 0, sizeof point);
    for (size_t k = 0; k < COLUMNS; k++) {
        if (is_text(&columns[k])) {
            put_text(&point, &columns[k], "");
        } else if (columns[k].kind != WHOLE) {
            put_number(&point, &columns[k], CARM_POINT_UNKNOWN);
        }
    }
    return point;
}

/* A field that is there. */
static int read_field(const struct carm_points *p, const struct column *c,
                      const struct carm_csv_field *f, struct carm_point *point,
                      struct carm_err *err)
{
    double v;
    char *s = trim(f);
    if (c->kind == WORD) {
        lower(s);
    }
    if (is_text(c)) {
        put_text(point, c, s);
        return 0;
    }
    const int rc = *s ? read_number(p, c, f, s, &v, err) : 0;
    if (*s && rc == 0) {
        put_number(point, c, v);
    }
    return rc;
}

static const struct carm_csv_field *field_of(const struct carm_points *p, size_t column)
{
    const int i = p->field_of[column];
    return i < 0 ? NULL : &p->fields[i];
}

/* The header once more, of a file that was appended. */
static bool is_header(const struct carm_points *p)
{
    const struct carm_csv_field *flops = field_of(p, FLOPS);
    return strcmp(field_of(p, NAME)->text, "name") == 0 &&
           (!flops || strcmp(flops->text, "flops") == 0) &&
           strcmp(field_of(p, SECONDS)->text, "seconds") == 0;
}

/* Bounds that do not contain the value are an error in the file. */
static int check_bounds(const struct carm_points *p, const char *what, double value, double low,
                        double high, struct carm_err *err)
{
    const double slack = 1e-9 * fabs(value);
    if (!carm_point_knows(value) || ((!carm_point_knows(low) || low <= value + slack) &&
                                     (!carm_point_knows(high) || high >= value - slack))) {
        return 0;
    }
    return bad(p, &p->fields[0], err, "%s_low and %s_high do not hold %s (%.9g) between them", what,
               what, what, value);
}

/* A number in the last field of a line without an end: the file may be cut inside the number, or
 * a person may have written it without a last line end. */
static void check_end(struct carm_points *p, struct carm_point *point)
{
    for (size_t k = 0; k < COLUMNS && !point->unended && !carm_csv_ended(p->csv); k++) {
        point->unended =
            p->field_of[k] == (int)p->width - 1 && !is_text(&columns[k]) && *field_of(p, k)->text;
    }
    if (point->unended) {
        snprintf(
            p->note, sizeof p->note,
            "%.380s%sthe last line of the file does not end: if the file was cut off, its last "
            "number is wrong",
            point->note, *point->note ? "; " : "");
        point->note = p->note;
    }
}

static int read_point(struct carm_points *p, struct carm_point *point, struct carm_err *err)
{
    int rc = 0;
    *point = p->blank;
    point->line = p->fields[0].line;
    for (size_t k = 0; k < COLUMNS && !rc; k++) {
        rc = p->field_of[k] < 0 ? 0 : read_field(p, &columns[k], field_of(p, k), point, err);
    }
    if (!rc && !*point->name) {
        rc = bad(p, field_of(p, NAME), err, "name is empty: every point needs one");
    }
    rc = rc ? rc : check_bounds(p, "flops", point->flops, point->flops_low, point->flops_high, err);
    rc = rc ? rc : check_bounds(p, "bytes", point->bytes, point->bytes_low, point->bytes_high, err);
    for (int i = 0; i < 3 && !rc; i++) {
        static const char *const names[] = {"l2_bytes", "l3_bytes", "dram_bytes"};
        rc = check_bounds(p, names[i], i < 2 ? point->level_bytes[i] : point->dram_bytes,
                          point->level_low[i], point->level_high[i], err);
    }
    check_end(p, point);
    return rc;
}

/* Quantities of a point that the table of --work knows and the point's row does not. */
static void fill_work(const struct carm_work *work, struct carm_point *point)
{
    const struct carm_work_row *w = carm_work_find(work, point->name);
    if (w) {
        point->flops = carm_point_knows(point->flops) ? point->flops : w->flops;
        point->bytes = carm_point_knows(point->bytes) ? point->bytes : w->bytes;
        point->dram_bytes = carm_point_knows(point->dram_bytes) ? point->dram_bytes : w->dram_bytes;
    }
}

/* A row of another tool's file. */
static void read_row(const struct carm_points *p, struct carm_point *point)
{
    struct carm_import_row row;
    carm_import_rows_get(p->rows, p->row, &row);
    *point = p->blank;
    point->name = row.name;
    point->isa = row.isa;
    point->precision = row.precision;
    point->counted_by = row.counted_by;
    point->host = row.host;
    point->note = row.note;
    point->flops = row.flops;
    point->bytes = row.bytes;
    point->dram_bytes = row.dram_bytes;
    point->seconds = row.seconds;
    point->threads = (int)row.threads;
    point->calls = row.calls;
    point->share = row.share;
    point->bytes_low = row.bytes_low;
    point->bytes_high = row.bytes_high;
    point->line = row.line;
    for (size_t k = 0; k < COLUMNS && row.counts; k++) {
        const int q = p->field_of[k];
        if (q >= 0 && row.counts[q] >= 0.0) {
            put_number(point, &columns[k], row.counts[q]);
        }
    }
}

static int next_line(struct carm_points *points, struct carm_point *point, struct carm_err *err)
{
    size_t n = 0;
    do {
        const int rc = carm_csv_next(points->csv, &points->fields, &n, err);
        if (rc <= 0) {
            return rc;
        }
        if (n != points->width) {
            return bad(points, &points->fields[n < points->width ? n - 1 : points->width], err,
                       "the line has %zu field%s, the header has %zu: %s", n, n == 1 ? "" : "s",
                       points->width,
                       n < points->width ? "is it cut off?" : "a comma in a text needs quotes");
        }
    } while (is_header(points));
    const int rc = read_point(points, point, err);
    return rc ? rc : 1;
}

int carm_points_next(struct carm_points *points, struct carm_point *point, struct carm_err *err)
{
    int rc = 1;
    if (!points->rows) {
        rc = next_line(points, point, err);
    } else if (points->row < carm_import_rows_count(points->rows)) {
        read_row(points, point);
        points->row++;
    } else {
        rc = 0;
    }
    if (rc == 1 && points->work) {
        fill_work(points->work, point);
    }
    return rc;
}

bool carm_metric_is_flops(const char *metric)
{
    return !*metric || strcmp(metric, "flop") == 0 || strcmp(metric, "flops") == 0;
}

double carm_point_operations(const struct carm_point *point, const char *metric)
{
    const bool integers = !*point->metric && strcmp(metric, CARM_METRIC_INTEGERS) == 0;
    return integers && !carm_point_knows(point->operations) ? point->mix.q[CARM_RUNMIX_INT_OPS]
                                                            : point->operations;
}

const char *carm_point_unplaced_metric(const struct carm_point *point, const char *metric)
{
    if (*point->metric && strcmp(point->metric, metric) != 0) {
        return "its operations have another metric";
    }
    const double operations = carm_point_operations(point, metric);
    if (!carm_point_knows(operations)) {
        return carm_point_knows(point->flops) && !*point->metric
                   ? "its operations are flops"
                   : "its operations were not counted (column operations)";
    }
    if (!(operations > 0.0)) {
        return "it has none of these operations";
    }
    return carm_point_knows(point->seconds) ? NULL : "its time is not known";
}

const char *carm_point_unplaced(const struct carm_point *point)
{
    if (strcmp(point->metric, CARM_METRIC_INTEGERS) == 0) {
        return "its operations are on integers (leave --precision out, or name int8 to int64)";
    }
    if (!carm_metric_is_flops(point->metric)) {
        return "its operations are not flops (carm place --metric places them)";
    }
    if (!carm_point_knows(point->flops)) {
        return "its flops were not counted";
    }
    if (!(point->flops > 0.0)) {
        return "it computes nothing in floating point";
    }
    return carm_point_knows(point->seconds) ? NULL : "its time is not known";
}
