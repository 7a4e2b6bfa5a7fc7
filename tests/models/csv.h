/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A reader of CSV files as RFC 4180 has them, for tests: independent of the writer. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CSV_COLUMNS_MAX = 128 };

struct csv_row {
    char *fields[CSV_COLUMNS_MAX];
    int n;
};

struct csv {
    char *text;           /* the file, in which the fields are */
    struct csv_row *rows; /* [0] is the header */
    int nrows;
};

static inline char *csv_slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n = 0;
    char *text = calloc(1, 1);
    while (f && text) {
        char *more = realloc(text, n + 65537);
        if (!more) {
            break;
        }
        text = more;
        const size_t got = fread(text + n, 1, 65536, f);
        n += got;
        text[n] = '\0';
        if (!got) {
            break;
        }
    }
    if (f) {
        (void)fclose(f);
    }
    return text;
}

/* One field at *at, which moves past its comma; ends the field with NUL. returns what ended it. */
static inline char csv_field(char **at, char **field)
{
    char *in = *at;
    char *out = in;
    *field = in;
    if (*in == '"') {
        for (in++; *in && !(in[0] == '"' && in[1] != '"'); in++) {
            in += *in == '"';
            *out++ = *in;
        }
        in += *in == '"';
    } else {
        in += strcspn(in, ",\n");
        out = in;
    }
    const char end = *in;
    *at = in + (end != '\0');
    *out = '\0';
    return end;
}

/* An absent file has no rows. */
static inline void csv_read(struct csv *csv, const char *path)
{
    csv->text = csv_slurp(path);
    csv->rows = NULL;
    csv->nrows = 0;
    for (char *at = csv->text; at && *at;) {
        struct csv_row *rows = realloc(csv->rows, (size_t)(csv->nrows + 1) * sizeof *rows);
        if (!rows) {
            return;
        }
        csv->rows = rows;
        struct csv_row *row = &rows[csv->nrows++];
        memset(row, 0, sizeof *row);
        while (row->n < CSV_COLUMNS_MAX && csv_field(&at, &row->fields[row->n++]) == ',') {
        }
    }
}

static inline void csv_free(struct csv *csv)
{
    free(csv->text);
    free(csv->rows);
}

/* A row's field by its column's name; NULL when there is no such column. */
static inline const char *csv_get(const struct csv *csv, int row, const char *column)
{
    for (int i = 0; i < csv->rows[0].n; i++) {
        if (strcmp(csv->rows[0].fields[i], column) == 0) {
            return i < csv->rows[row].n ? csv->rows[row].fields[i] : NULL;
        }
    }
    return NULL;
}

/* The nth row (from 0) of that name; 0 when there is none. */
static inline int csv_find(const struct csv *csv, const char *name, int nth)
{
    for (int i = 1; i < csv->nrows; i++) {
        if (strcmp(csv->rows[i].fields[0], name) == 0 && nth-- == 0) {
            return i;
        }
    }
    return 0;
}
