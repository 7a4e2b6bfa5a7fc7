/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/points.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/csv.h"
#include "base/number.h"
#include "base/text.h"
#include "models/file/work.h"
#include "models/import/import.h"

/* Limits of numbers: beyond any machine's counts and times, and near enough to 1 that no quotient
 * overflows. */
static const double least = 1e-12;
static const double most = 1e30;

static const char example[] =
    "name,flops,bytes,seconds,dram_bytes,threads,isa,precision,counted_by";

struct carm_points {
    struct carm_csv *csv;
    struct carm_import_rows *rows; /* of another tool's file; NULL = the file has points */
    size_t row;                    /* index of the next row */
    struct carm_work *work;
    size_t width; /* number of fields of each line */
    struct carm_csv_field *fields;
    /* index of the column's field, or of the quantity in a row's counts; -1 = no such column */
    int field_of[CARM_POINT_COLUMNS];
    char note[512]; /* for a row without a line end */
    struct carm_point blank;
};

__attribute__((format(printf, 4, 5))) static int bad(const struct carm_points *p,
                                                     const struct carm_csv_field *f,
                                                     struct carm_err *err, const char *fmt, ...)
{
    char what[384];
    CARM_TEXT_OF_ARGS(what, fmt);
    return carm_fail(err, CARM_EFORMAT, "%.120s: line %zu, column %zu: %s", carm_csv_name(p->csv),
                     f->line, f->column, what);
}

/* Removes blanks at both ends, which people write behind commas. */
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

static bool to_number(const char *s, double *value)
{
    const char *end = carm_number_scan(s, value);
    return end && *end == '\0';
}

static int read_number(const struct carm_points *p, const struct carm_point_column *c,
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
    if (*v == 0.0 && (c->kind == CARM_POINT_POSITIVE || c->kind == CARM_POINT_WHOLE)) {
        return bad(p, f, err, "%s is %.40s, not more than zero; leave unknown values empty",
                   c->name, s);
    }
    if (c->kind == CARM_POINT_SHARE && *v > 1.0) {
        return bad(p, f, err, "%s is %.40s, more than 1: it is a share from 0 to 1", c->name, s);
    }
    if (c->kind == CARM_POINT_WHOLE && (*v != floor(*v) || *v > 1e9)) {
        return bad(p, f, err, "%s is %.40s, not a whole number from 1 to 1e9", c->name, s);
    }
    if ((*v > 0.0 && *v < least) || *v > most) {
        return bad(p, f, err, "%s is %.40s, outside %g to %g, where every machine's is", c->name, s,
                   least, most);
    }
    return 0;
}

static int read_header(struct carm_points *p, struct carm_err *err)
{
    const int rc = carm_csv_next(p->csv, &p->fields, &p->width, err);
    if (rc <= 0) {
        return rc ? rc
                  : carm_fail(err, CARM_EFORMAT,
                              "%.200s: the file is empty; its first line names the columns, such "
                              "as %s",
                              carm_csv_name(p->csv), example);
    }
    for (size_t k = 0; k < CARM_POINT_COLUMNS; k++) {
        p->field_of[k] = -1;
    }
    for (size_t i = 0; i < p->width; i++) {
        const char *name = trim(&p->fields[i]);
        for (size_t k = 0; k < CARM_POINT_COLUMNS; k++) {
            if (strcmp(name, carm_point_columns[k].name) != 0) {
                continue;
            }
            if (p->field_of[k] >= 0) {
                return bad(p, &p->fields[i], err, "the column %s appears twice", name);
            }
            p->field_of[k] = (int)i;
        }
    }
    const char *lacks =
        p->field_of[CARM_COLUMN_name] < 0                                               ? "name"
        : p->field_of[CARM_COLUMN_flops] < 0 && p->field_of[CARM_COLUMN_operations] < 0 ? "flops"
        : p->field_of[CARM_COLUMN_seconds] < 0                                          ? "seconds"
        : p->field_of[CARM_COLUMN_bytes] < 0 && p->field_of[CARM_COLUMN_dram_bytes] < 0
            ? "bytes' or 'dram_bytes"
            : NULL;
    if (lacks) {
        const bool other = p->width == 1 && strpbrk(p->fields[0].text, ";\t|");
        char found[160] = "";
        for (size_t i = 0; i < p->width; i++) {
            carm_text_list(found, sizeof found, ", ", "%s", p->fields[i].text);
        }
        bool words = true; /* control bytes are not printed */
        for (const char *at = found; *at; at++) {
            words = words && *at >= ' ' && *at <= '~';
        }
        return bad(p, &p->fields[0], err,
                   "the column '%s' is missing%s%s%s. The first line names the columns, such as %s",
                   lacks, words ? "; found: " : "", words ? found : "",
                   other ? " (separate fields by commas, not by ';', '|' or tabs)" : "", example);
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
    for (size_t k = 0; k < CARM_POINT_COLUMNS && p->rows; k++) {
        p->field_of[k] = carm_import_count_of(carm_point_columns[k].name);
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

/* Reads a field that is not empty. */
static int read_field(const struct carm_points *p, const struct carm_point_column *c,
                      const struct carm_csv_field *f, struct carm_point *point,
                      struct carm_err *err)
{
    double v;
    char *s = trim(f);
    if (c->kind == CARM_POINT_WORD) {
        lower(s);
    }
    if (carm_point_is_text(c)) {
        carm_point_put_text(point, c, s);
        return 0;
    }
    const int rc = *s ? read_number(p, c, f, s, &v, err) : 0;
    if (*s && rc == 0) {
        carm_point_put_number(point, c, v);
    }
    return rc;
}

static const struct carm_csv_field *field_of(const struct carm_points *p, size_t column)
{
    const int i = p->field_of[column];
    return i < 0 ? NULL : &p->fields[i];
}

/* Whether the line is the header again, of an appended file. */
static bool is_header(const struct carm_points *p)
{
    const struct carm_csv_field *flops = field_of(p, CARM_COLUMN_flops);
    return strcmp(field_of(p, CARM_COLUMN_name)->text, "name") == 0 &&
           (!flops || strcmp(flops->text, "flops") == 0) &&
           strcmp(field_of(p, CARM_COLUMN_seconds)->text, "seconds") == 0;
}

/* Refuses bounds that do not contain the value. */
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

/* Marks a point whose line ends with a number and without a line end: the file may be cut inside
 * the number, or a person wrote no last line end. */
static void check_end(struct carm_points *p, struct carm_point *point)
{
    for (size_t k = 0; k < CARM_POINT_COLUMNS && !point->unended && !carm_csv_ended(p->csv); k++) {
        point->unended = p->field_of[k] == (int)p->width - 1 &&
                         !carm_point_is_text(&carm_point_columns[k]) && *field_of(p, k)->text;
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
    for (size_t k = 0; k < CARM_POINT_COLUMNS && !rc; k++) {
        rc = p->field_of[k] < 0 ? 0
                                : read_field(p, &carm_point_columns[k], field_of(p, k), point, err);
    }
    if (!rc && !*point->name) {
        rc = bad(p, field_of(p, CARM_COLUMN_name), err, "name is empty: every point needs one");
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

/* Fills in quantities from the table of --work that the point's row does not have. */
static void fill_work(const struct carm_work *work, struct carm_point *point)
{
    const struct carm_work_row *w = carm_work_find(work, point->name);
    if (w) {
        point->flops = carm_point_knows(point->flops) ? point->flops : w->flops;
        point->bytes = carm_point_knows(point->bytes) ? point->bytes : w->bytes;
        point->dram_bytes = carm_point_knows(point->dram_bytes) ? point->dram_bytes : w->dram_bytes;
    }
}

/* Reads a row of another tool's file. */
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
    for (size_t k = 0; k < CARM_POINT_COLUMNS && row.counts; k++) {
        const int q = p->field_of[k];
        if (q >= 0 && row.counts[q] >= 0.0) {
            carm_point_put_number(point, &carm_point_columns[k], row.counts[q]);
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

static int next(void *points, struct carm_point *point, struct carm_err *err)
{
    return carm_points_next(points, point, err);
}

int carm_points_compare(const char *before, const char *after, const struct carm_points_how *how,
                        const struct carm_model *model, double noise, const char *only,
                        struct carm_changes **out, struct carm_err *err)
{
    const char *const paths[] = {before, after};
    const struct carm_points_how runs = {how->format, how->work, true};
    struct carm_changes_file of[2] = {{before, next, NULL}, {after, next, NULL}};
    int rc = 0;
    *out = NULL;
    for (int i = 0; i < 2 && !rc; i++) {
        struct carm_points *points = NULL;
        rc = carm_points_open(paths[i], &runs, &points, err);
        of[i].points = points;
    }
    rc = rc ? rc : carm_changes_read(of, model, noise, only, out, err);
    carm_points_close(of[0].points);
    carm_points_close(of[1].points);
    return rc;
}
