/* SPDX-License-Identifier: MIT */
/* CSV in and out, with RFC 4180 quoting.
 *
 * The reader gives one record at a time. Lines end with LF or CRLF; a byte order mark, empty lines
 * and lines that begin with '#' are skipped. Memory does not grow with the file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

enum {
    CARM_CSV_FIELD_MAX = 4096,    /* bytes of one field, with its ending zero */
    CARM_CSV_RECORD_MAX = 131072, /* bytes of all fields of a record */
    CARM_CSV_FIELDS_MAX = 1024,
};

struct carm_csv_field {
    char *text;          /* zero-terminated, without its quotes; until the next record is read */
    size_t line, column; /* begin of the field, both from 1; columns are characters */
    bool quoted;
};

struct carm_csv;

/* path  "-" is standard input
 * returns 0, -CARM_EIO or -CARM_ENOMEM; *out is NULL then */
int carm_csv_open(const char *path, struct carm_csv **out, struct carm_err *err);

/* The beginning of the file, up to 64 KiB without a byte order mark, before any record is read.
 * Callers tell the kind of the file from it. Borrowed until the next call; *n is 0 for an empty
 * file. */
const char *carm_csv_peek(struct carm_csv *csv, size_t *n);

/* The next bytes unchanged, in place of records, for files that are not CSV.
 * dst  [room]; *n is less than room only at the end
 * returns 0, -CARM_EIO, -CARM_EFORMAT (a zero byte, UTF-16) */
int carm_csv_read(struct carm_csv *csv, char *dst, size_t room, size_t *n, struct carm_err *err);

/* The next line unchanged, without its line end (carm_csv_ended: whether there was one), in place of a record.
 * *line may be changed, and is valid until the next call.
 * returns 1, 0 at the end, errors as above or -CARM_ENOMEM */
int carm_csv_line(struct carm_csv *csv, char **line, struct carm_err *err);

/* The next record.
 * fields  out: [n], borrowed until the next call
 * returns 1, 0 at the end, -CARM_EIO or -CARM_EFORMAT (names file, line and column) */
int carm_csv_next(struct carm_csv *csv, struct carm_csv_field **fields, size_t *n,
                  struct carm_err *err);

/* Whether the latest record has a line end. Without it the file may be cut off, and half a number looks
 * like a number. */
bool carm_csv_ended(const struct carm_csv *csv);

/* The file's name in messages; borrowed. */
const char *carm_csv_name(const struct carm_csv *csv);

void carm_csv_close(struct carm_csv *csv); /* NULL allowed */

/* Writes one text field; the caller writes commas and line ends. A field is quoted only where it
 * must be: it has a comma, a quote, CR or LF, begins or ends with a blank (readers strip
 * blanks), or begins with '#' (a comment to the reader above). The stream is not locked. */
void carm_csv_put(FILE *out, const char *text);

/* carm_csv_put for text from a file that may be shown in a terminal: bytes that carm_text_clean
 * (base/text.h) replaces, except tab, CR and LF, become '?'. */
void carm_csv_put_clean(FILE *out, const char *text);

/* A number: whole ones below 2^53 in full, others with twelve digits, nothing for one that is not
 * finite. */
void carm_csv_number(FILE *out, double v);
