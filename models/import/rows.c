/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/rows.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "harness/count/quantities.h"

enum { TEXTS = 5 };

struct carm_import_kept {
    struct carm_import_row row; /* texts and counts are in the arrays below */
    size_t name, others;        /* offsets of texts */
    size_t counts;              /* index + 1, 0 = none */
};

struct carm_import_rows {
    struct carm_import_kept *kept; /* [n] */
    size_t n, room;
    /* zero-terminated: each row's name; isa, precision, counted_by, host and note where they differ from those
     * of the row before */
    char *texts;
    size_t used, texts_room;
    double *counts; /* [ncounts][CARM_Q_COUNT] */
    size_t ncounts, counts_room;
};

int carm_import_rows_open(struct carm_import_rows **out, struct carm_err *err)
{
    *out = calloc(1, sizeof **out);
    return *out ? 0 : carm_fail(err, CARM_ENOMEM, "not enough memory for points");
}

void carm_import_rows_close(struct carm_import_rows *rows)
{
    if (rows) {
        free(rows->kept);
        free(rows->texts);
        free(rows->counts);
        free(rows);
    }
}

/* Quantities with a member in struct carm_import_row, or without a column in points.csv, are not
 * counts. */
int carm_import_count_of(const char *column)
{
    const enum carm_quantity q = carm_quantity_find(column);
    return q == CARM_Q_COUNT || q == CARM_Q_FLOPS || q == CARM_Q_BYTES || q == CARM_Q_DRAM_BYTES
               ? -1
               : (int)q;
}

/* Appends a text to texts, which has room for it. lower: in lower case */
static void put_text(struct carm_import_rows *rows, const char *text, bool lower)
{
    const size_t n = strlen(text) + 1;
    char *dst = rows->texts + rows->used;
    memcpy(dst, text, n);
    for (; lower && *dst; dst++) {
        *dst = (char)(*dst >= 'A' && *dst <= 'Z' ? *dst - 'A' + 'a' : *dst);
    }
    rows->used += n;
}

static bool same_texts(const char *at, const char *const texts[TEXTS])
{
    for (int i = 0; i < TEXTS; i++) {
        if (strcmp(at, texts[i]) != 0) {
            return false; /* also for a word in upper case, which is then stored again */
        }
        at += strlen(at) + 1;
    }
    return true;
}

int carm_import_rows_add(struct carm_import_rows *rows, const struct carm_import_row *row,
                         struct carm_err *err)
{
    const char *const names[TEXTS] = {row->isa, row->precision, row->counted_by, row->host,
                                      row->note};
    const char *texts[TEXTS];
    size_t size = strlen(row->name) + 1;
    for (int i = 0; i < TEXTS; i++) {
        texts[i] = names[i] ? names[i] : "";
        size += strlen(texts[i]) + 1;
    }
    int rc = carm_array_grow(&rows->kept, &rows->room, rows->n, 1, sizeof *rows->kept, "the points",
                             err);
    rc = rc ? rc
            : carm_array_grow(&rows->texts, &rows->texts_room, rows->used, size, 1, "the points",
                              err);
    rc = rc || !row->counts
             ? rc
             : carm_array_grow(&rows->counts, &rows->counts_room, rows->ncounts, 1,
                               CARM_Q_COUNT * sizeof *rows->counts, "the points", err);
    if (rc) {
        return rc;
    }
    const size_t before = rows->n ? rows->kept[rows->n - 1].others : 0;
    struct carm_import_kept *k = &rows->kept[rows->n++];
    *k = (struct carm_import_kept){*row, rows->used, before, 0};
    k->row.threads = row->threads >= 1.0 ? floor(row->threads) : 0.0;
    k->row.seconds = row->seconds > 0.0 ? row->seconds : -1.0;
    put_text(rows, row->name, false);
    if (rows->n == 1 || !same_texts(rows->texts + before, texts)) {
        k->others = rows->used;
        for (int i = 0; i < TEXTS; i++) {
            put_text(rows, texts[i], i < 2);
        }
    }
    if (row->counts) {
        memcpy(rows->counts + CARM_Q_COUNT * rows->ncounts, row->counts,
               CARM_Q_COUNT * sizeof *row->counts);
        k->counts = ++rows->ncounts;
    }
    return 0;
}

size_t carm_import_rows_count(const struct carm_import_rows *rows)
{
    return rows->n;
}

void carm_import_rows_get(const struct carm_import_rows *rows, size_t i,
                          struct carm_import_row *row)
{
    const struct carm_import_kept *k = &rows->kept[i];
    const char *text = rows->texts + k->others;
    *row = k->row;
    row->name = rows->texts + k->name;
    const char **const texts[TEXTS] = {&row->isa, &row->precision, &row->counted_by, &row->host,
                                       &row->note};
    for (int t = 0; t < TEXTS; t++) {
        *texts[t] = text;
        text += strlen(text) + 1;
    }
    row->counts = k->counts ? rows->counts + CARM_Q_COUNT * (k->counts - 1) : NULL;
}
