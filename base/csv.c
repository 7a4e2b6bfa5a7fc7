/* SPDX-License-Identifier: MIT */
#include "base/csv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"
#include "base/text.h"

enum { CHUNK = 65536, END = -1 };

struct carm_csv {
    FILE *in;
    char *name;
    size_t at, filled;   /* of chunk */
    size_t line, column; /* of the next character */
    size_t used;         /* of record */
    size_t nfields;
    bool begun;  /* a byte order mark was skipped, if there was one */
    bool ended;  /* the record has its line's end */
    char *whole; /* a line that came in several chunks */
    size_t room;
    struct carm_csv_field fields[CARM_CSV_FIELDS_MAX];
    unsigned char chunk[CHUNK];
    char record[CARM_CSV_RECORD_MAX];
};

/* Opens a stream, which the function owns, also on failure.
 * name  the file's name in messages */
static int open_stream(FILE *in, const char *name, struct carm_csv **out, struct carm_err *err)
{
    struct carm_csv *csv = calloc(1, sizeof *csv);
    *out = NULL;
    if (!csv || !(csv->name = strdup(name))) {
        free(csv);
        if (in != stdin) {
            fclose(in);
        }
        return carm_fail(err, CARM_ENOMEM, "not enough memory to read %.256s", name);
    }
    csv->line = 1;
    csv->column = 1;
    csv->in = in;
    *out = csv;
    return 0;
}

int carm_csv_open(const char *path, struct carm_csv **out, struct carm_err *err)
{
    const bool standard = strcmp(path, "-") == 0;
    FILE *in = standard ? stdin : fopen(path, "rbe");
    *out = NULL;
    if (!in) {
        return carm_fail(err, CARM_EIO, "cannot read %.256s: %s", path, strerror(errno));
    }
    return open_stream(in, standard ? "standard input" : path, out, err);
}

bool carm_csv_ended(const struct carm_csv *csv)
{
    return csv->ended;
}

const char *carm_csv_name(const struct carm_csv *csv)
{
    return csv->name;
}

void carm_csv_close(struct carm_csv *csv)
{
    if (!csv) {
        return;
    }
    if (csv->in && csv->in != stdin) {
        fclose(csv->in);
    }
    free(csv->name);
    free(csv->whole);
    free(csv);
}

static bool refill(struct carm_csv *csv)
{
    csv->at = 0;
    csv->filled = fread(csv->chunk, 1, sizeof csv->chunk, csv->in);
    return csv->filled > 0;
}

static inline int peek(struct carm_csv *csv)
{
    return csv->at < csv->filled || refill(csv) ? csv->chunk[csv->at] : END;
}

/* Passes the character that peek gave. A character of several bytes is one column. */
static inline void pass(struct carm_csv *csv)
{
    const unsigned char c = csv->chunk[csv->at++];
    if (c == '\n') {
        csv->line++;
        csv->column = 1;
    } else {
        csv->column += (c & 0xc0) != 0x80;
    }
}

static int bad(const struct carm_csv *csv, size_t line, size_t column, struct carm_err *err,
               const char *what)
{
    return carm_fail(err, CARM_EFORMAT, "%.200s: line %zu, column %zu: %s", csv->name, line, column,
                     what);
}

static int bad_here(const struct carm_csv *csv, struct carm_err *err, const char *what)
{
    return bad(csv, csv->line, csv->column, err, what);
}

static int zero_byte(const struct carm_csv *csv, struct carm_err *err)
{
    return bad_here(
        csv, err,
        "a zero byte: this is not text, or it is UTF-16; points are text in ASCII or UTF-8");
}

static int put(struct carm_csv *csv, const void *text, size_t n, struct carm_err *err)
{
    const struct carm_csv_field *f = &csv->fields[csv->nfields];
    if ((size_t)(csv->record + csv->used - f->text) + n > CARM_CSV_FIELD_MAX - 1) {
        return bad(csv, f->line, f->column, err,
                   f->quoted ? "a field of more than 4095 bytes: is its closing quote missing?"
                             : "a field of more than 4095 bytes: is this a file of points?");
    }
    if (csv->used + n + 1 > sizeof csv->record) {
        return bad(csv, csv->fields[0].line, 1, err,
                   "a line of more than 128 KiB: is this a file of points?");
    }
    memcpy(csv->record + csv->used, text, n);
    csv->used += n;
    return 0;
}

/* Copies and passes the characters up to the next one with a special meaning, or to the end of the chunk. */
static int put_run(struct carm_csv *csv, struct carm_err *err)
{
    static const bool means[256] = {
        [','] = true, ['"'] = true, ['\n'] = true, ['\r'] = true, ['\0'] = true};
    const unsigned char *begin = csv->chunk + csv->at, *end = csv->chunk + csv->filled;
    const unsigned char *c = begin;
    size_t columns = 0;
    for (; c < end && !means[*c]; c++) {
        columns += (*c & 0xc0) != 0x80;
    }
    csv->at += (size_t)(c - begin);
    csv->column += columns;
    return put(csv, begin, (size_t)(c - begin), err);
}

static bool ends_field(int c)
{
    return c == ',' || c == '\n' || c == END;
}

/* A CR belongs to the end of a line, or is an error. returns whether one was passed, or < 0 */
static int pass_cr(struct carm_csv *csv, struct carm_err *err)
{
    if (peek(csv) != '\r') {
        return 0;
    }
    const size_t line = csv->line;
    const size_t column = csv->column;
    pass(csv);
    const int c = peek(csv);
    return c == '\n' || c == END
               ? 1
               : bad(csv, line, column, err,
                     "a carriage return inside a line: lines end with LF or CRLF");
}

static int read_plain(struct carm_csv *csv, struct carm_err *err)
{
    int rc = 0;
    int c;
    while (!rc && !ends_field(c = peek(csv)) && c != '\r') {
        if (c == '"') {
            return bad_here(csv, err,
                            "a quote inside a field without quotes: put the field in quotes "
                            "and write \"\" for each one inside");
        }
        if (c == '\0') {
            return zero_byte(csv, err);
        }
        rc = put_run(csv, err);
    }
    rc = rc ? rc : pass_cr(csv, err);
    return rc < 0 ? rc : 0;
}

static int read_quoted(struct carm_csv *csv, struct carm_err *err)
{
    const struct carm_csv_field *f = &csv->fields[csv->nfields];
    int rc = 0;
    pass(csv);
    while (!rc) {
        const int c = peek(csv);
        if (c == END) {
            return bad(csv, f->line, f->column, err,
                       "missing closing quote: the field does not end");
        }
        if (c == '\0') {
            return zero_byte(csv, err);
        }
        const char one = (char)c;
        if (c != ',' && c != '"' && c != '\n' && c != '\r') {
            rc = put_run(csv, err);
            continue;
        }
        pass(csv);
        if (c == '"' && peek(csv) != '"') {
            break;
        }
        if (c == '"') {
            pass(csv);
        }
        rc = put(csv, &one, 1, err);
    }
    rc = rc ? rc : pass_cr(csv, err);
    if (rc >= 0 && !ends_field(peek(csv))) {
        return bad_here(csv, err,
                        "text after a closing quote: a comma or the line's end goes here");
    }
    return rc < 0 ? rc : 0;
}

static int read_record(struct carm_csv *csv, struct carm_err *err)
{
    csv->used = 0;
    csv->nfields = 0;
    for (;;) {
        if (csv->nfields == CARM_CSV_FIELDS_MAX) {
            return bad_here(csv, err, "more than 1024 fields: is this a file of points?");
        }
        struct carm_csv_field *f = &csv->fields[csv->nfields];
        f->text = csv->record + csv->used;
        f->line = csv->line;
        f->column = csv->column;
        f->quoted = peek(csv) == '"';
        const int rc = f->quoted ? read_quoted(csv, err) : read_plain(csv, err);
        if (rc) {
            return rc;
        }
        if (csv->used + 1 >= sizeof csv->record) {
            return bad(csv, csv->fields[0].line, 1, err,
                       "a line of more than 128 KiB: is this a file of points?");
        }
        csv->record[csv->used++] = '\0';
        csv->nfields++;
        const int c = peek(csv);
        csv->ended = c != END;
        if (c != END) {
            pass(csv);
        }
        if (c != ',') {
            return 0;
        }
    }
}

static int skip_comment(struct carm_csv *csv, struct carm_err *err)
{
    int c;
    while ((c = peek(csv)) != END && c != '\n') {
        if (c == '\0') {
            return zero_byte(csv, err);
        }
        pass(csv);
    }
    return 0;
}

static int skip_mark(struct carm_csv *csv, struct carm_err *err)
{
    const int c = peek(csv);
    csv->begun = true;
    if (csv->filled >= 2 && memcmp(csv->chunk, c == 0xff ? "\xff\xfe" : "\xfe\xff", 2) == 0) {
        return bad_here(csv, err, "the file is UTF-16; points are text in ASCII or UTF-8");
    }
    if (csv->filled >= 3 && memcmp(csv->chunk, "\xef\xbb\xbf", 3) == 0) {
        csv->at = 3;
    }
    return 0;
}

/* Whether the line has nothing but blanks. */
static bool is_empty(const struct carm_csv *csv)
{
    const struct carm_csv_field *f = &csv->fields[0];
    return csv->nfields == 1 && !f->quoted && f->text[strspn(f->text, " \t")] == '\0';
}

int carm_csv_next(struct carm_csv *csv, struct carm_csv_field **fields, size_t *n,
                  struct carm_err *err)
{
    int rc = csv->begun ? 0 : skip_mark(csv, err);
    bool found = false;
    while (!rc && !found && peek(csv) != END) {
        if (peek(csv) == '#') {
            rc = skip_comment(csv, err);
        } else {
            rc = read_record(csv, err);
            found = !is_empty(csv);
        }
    }
    if (ferror(csv->in)) {
        return carm_fail(err, CARM_EIO, "cannot read %.256s: %s", csv->name, strerror(errno));
    }
    *fields = csv->fields;
    *n = csv->nfields;
    return rc ? rc : found;
}

const char *carm_csv_peek(struct carm_csv *csv, size_t *n)
{
    static const char mark[] = "\xef\xbb\xbf";
    const size_t skip =
        peek(csv) == 0xef && csv->filled >= 3 && !memcmp(csv->chunk, mark, 3) ? 3 : 0;
    *n = csv->filled - skip;
    return (const char *)csv->chunk + skip;
}

int carm_csv_read(struct carm_csv *csv, char *dst, size_t room, size_t *n, struct carm_err *err)
{
    const int rc = csv->begun ? 0 : skip_mark(csv, err);
    const size_t left = csv->filled - csv->at;
    *n = left < room ? left : room;
    if (rc) {
        return rc;
    }
    memcpy(dst, csv->chunk + csv->at, *n);
    csv->at += *n;
    *n += fread(dst + *n, 1, room - *n, csv->in);
    if (ferror(csv->in)) {
        return carm_fail(err, CARM_EIO, "cannot read %.256s: %s", csv->name, strerror(errno));
    }
    return memchr(dst, '\0', *n)
               ? carm_fail(err, CARM_EFORMAT, "%.200s: a zero byte: the file is no text", csv->name)
               : 0;
}

int carm_csv_line(struct carm_csv *csv, char **line, struct carm_err *err)
{
    int rc = csv->begun ? 0 : skip_mark(csv, err);
    size_t used = 0;
    csv->ended = false;
    while (!rc && !csv->ended && peek(csv) != END) {
        char *begin = (char *)csv->chunk + csv->at;
        char *end = memchr(begin, '\n', csv->filled - csv->at);
        const size_t part = end ? (size_t)(end - begin) : csv->filled - csv->at;
        csv->ended = end != NULL;
        csv->at += part + csv->ended;
        if (memchr(begin, '\0', part)) {
            return carm_fail(err, CARM_EFORMAT, "%.200s: a zero byte: the file is no text",
                             csv->name);
        }
        if (end && used == 0) { /* the usual case: no copy is needed */
            *end = '\0';
            *line = begin;
            return 1;
        }
        rc = carm_array_grow(&csv->whole, &csv->room, used, part + 1, 1, csv->name, err);
        if (!rc) {
            memcpy(csv->whole + used, begin, part);
            csv->whole[used += part] = '\0';
        }
    }
    if (!rc && ferror(csv->in)) {
        rc = carm_fail(err, CARM_EIO, "cannot read %.256s: %s", csv->name, strerror(errno));
    }
    *line = csv->whole;
    return rc ? rc : csv->ended || used > 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Replaces characters that steer a terminal or hide text. Tabs and line ends stay. */
static void put_harmless(FILE *out, const char *s, size_t n)
{
    char piece[256];
    char clean[sizeof piece];
    while (n > 0) {
        size_t part = 0;
        while (part < n && part < sizeof piece - 1 && !strchr("\t\r\n", s[part])) {
            part++;
        }
        while (part > 1 && part < n && ((unsigned char)s[part] & 0xc0) == 0x80) {
            part--; /* does not cut a character of several bytes */
        }
        if (part == 0) {
            putc_unlocked(*s, out);
            part = 1;
        } else {
            memcpy(piece, s, part);
            piece[part] = '\0';
            fputs_unlocked(carm_text_clean(clean, sizeof clean, piece, false), out);
        }
        s += part;
        n -= part;
    }
}

static void put_part(FILE *out, const char *s, size_t n, bool clean)
{
    if (clean && carm_text_plain(s) < n) {
        put_harmless(out, s, n);
    } else {
        fwrite_unlocked(s, 1, n, out);
    }
}

static void put_field(FILE *out, const char *s, bool clean)
{
    size_t n = strlen(s);
    const bool quoted =
        n > 0 && (strpbrk(s, ",\"\r\n") || is_blank(s[0]) || s[0] == '#' || is_blank(s[n - 1]));
    if (!quoted) {
        put_part(out, s, n, clean);
        return;
    }
    putc_unlocked('"', out);
    for (const char *quote; (quote = strchr(s, '"')); s = quote + 1) {
        put_part(out, s, (size_t)(quote - s), clean);
        fputs_unlocked("\"\"", out);
    }
    put_part(out, s, strlen(s), clean);
    putc_unlocked('"', out);
}

void carm_csv_put(FILE *out, const char *text)
{
    put_field(out, text, false);
}

void carm_csv_put_clean(FILE *out, const char *text)
{
    put_field(out, text, true);
}

void carm_csv_number(FILE *out, double v)
{
    char text[CARM_NUMBER_MAX];
    if (!isfinite(v)) {
        return;
    }
    if (v == floor(v) && fabs(v) < 0x1p53) {
        fputs_unlocked(carm_number_exact(text, v), out);
        return;
    }
    snprintf(text, sizeof text, "%.12g", v);
    fputs_unlocked(text, out);
}
