/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/work.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/csv.h"
#include "models/import/readers.h"

struct named {
    char *name;
    struct carm_work_row row;
};

struct carm_work {
    struct named *rows; /* by name */
    size_t n, room;
};

enum { NAME, FLOPS, BYTES, DRAM_BYTES, COLUMNS };
static const char *const columns[COLUMNS] = {"name", "flops", "bytes", "dram_bytes"};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static int bad(const struct carm_csv *csv, const struct carm_csv_field *f, struct carm_err *err,
               const char *what, const char *text)
{
    return carm_fail(err, CARM_EFORMAT, "%.120s: line %zu, column %zu: %s%.80s", carm_csv_name(csv),
                     f->line, f->column, what, text);
}

static int read_row(struct carm_work *w, const struct carm_csv *csv, const int at[COLUMNS],
                    const struct carm_csv_field *fields, struct carm_err *err)
{
    double v[COLUMNS] = {-1.0, -1.0, -1.0, -1.0};
    for (int k = FLOPS; k < COLUMNS; k++) {
        if (at[k] < 0) {
            continue;
        }
        const struct carm_csv_field *f = &fields[at[k]];
        if (*f->text && (!carm_import_number(f->text, &v[k]) || v[k] < 0.0)) {
            return bad(csv, f, err, "not a plain number of at least zero: ", f->text);
        }
    }
    const int rc = carm_array_grow(&w->rows, &w->room, w->n, 1, sizeof *w->rows, "the work", err);
    char *name = rc ? NULL : strdup(fields[at[NAME]].text);
    if (!name) {
        return rc ? rc : carm_fail(err, CARM_ENOMEM, "not enough memory for the work");
    }
    w->rows[w->n++] = (struct named){name, {v[FLOPS], v[BYTES], v[DRAM_BYTES]}};
    return 0;
}

static int read_all(struct carm_work *w, struct carm_csv *csv, struct carm_err *err)
{
    struct carm_csv_field *fields;
    size_t n = 0, width = 0;
    int at[COLUMNS] = {-1, -1, -1, -1};
    int rc;
    while ((rc = carm_csv_next(csv, &fields, &n, err)) == 1) {
        if (width == 0) {
            width = n;
            for (int k = 0; k < COLUMNS; k++) {
                for (size_t i = 0; i < n; i++) {
                    at[k] = strcmp(fields[i].text, columns[k]) == 0 ? (int)i : at[k];
                }
            }
            if (at[NAME] < 0 || at[FLOPS] < 0 || (at[BYTES] < 0 && at[DRAM_BYTES] < 0)) {
                return bad(csv, &fields[0], err,
                           "--work needs the columns name, flops, and bytes or dram_bytes", "");
            }
            continue;
        }
        rc = n == width ? read_row(w, csv, at, fields, err)
                        : bad(csv, &fields[0], err, "as many fields as the header has go here", "");
        if (rc) {
            return rc;
        }
    }
    return rc;
}

int carm_work_open(const char *path, struct carm_work **out, struct carm_err *err)
{
    struct carm_csv *csv = NULL;
    struct carm_work *w = calloc(1, sizeof *w);
    *out = NULL;
    if (!w) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to read %.256s", path);
    }
    int rc = carm_csv_open(path, &csv, err);
    rc = rc ? rc : read_all(w, csv, err);
    if (!rc && w->n > 0) {
        qsort(w->rows, w->n, sizeof *w->rows, by_name);
    }
    for (size_t i = 1; i < w->n && !rc; i++) {
        if (by_name(&w->rows[i - 1], &w->rows[i]) == 0) {
            rc = carm_fail(err, CARM_EFORMAT, "%.200s: '%.80s' is there twice", path,
                           w->rows[i].name);
        }
    }
    carm_csv_close(csv);
    if (rc) {
        carm_work_close(w);
        return rc;
    }
    *out = w;
    return 0;
}

void carm_work_close(struct carm_work *work)
{
    for (size_t i = 0; work && i < work->n; i++) {
        free(work->rows[i].name);
    }
    if (work) {
        free(work->rows);
        free(work);
    }
}

const struct carm_work_row *carm_work_find(const struct carm_work *work, const char *name)
{
    union {
        const char *in;
        char *out;
    } key = {.in = name}; /* bsearch only compares */
    const struct named wanted = {.name = key.out};
    const struct named *found =
        work->n ? bsearch(&wanted, work->rows, work->n, sizeof wanted, by_name) : NULL;
    return found ? &found->row : NULL;
}
