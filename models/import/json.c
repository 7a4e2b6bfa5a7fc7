/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"
#include "base/text.h"

enum {
    TEXTS_MAX = 65536, /* bytes of one object's texts; a name has up to 4095 */
    WINDOW = 1 << 18,  /* bytes of the window, if no value is longer: it stays in a cache */
    VALUE_MAX = 1 << 30,
};

/* Fails with a message, unless reading already failed. */
__attribute__((format(printf, 3, 4))) static int bad(struct carm_walk *walk, size_t line,
                                                     const char *fmt, ...)
{
    char what[320];
    CARM_TEXT_OF_ARGS(what, fmt);
    return walk->rc ? walk->rc : carm_import_bad(walk->in, line, walk->err, "%s", what);
}

int carm_walk_open(struct carm_walk *walk, struct carm_import *in, struct carm_err *err)
{
    *walk = (struct carm_walk){.in = in, .line = 1, .err = err};
    walk->room = WINDOW;
    walk->texts_room = TEXTS_MAX;
    walk->text = calloc(1, walk->room);
    walk->texts = malloc(walk->texts_room);
    walk->at = walk->end = walk->counted = walk->text;
    return walk->text && walk->texts
               ? 0
               : carm_fail(err, CARM_ENOMEM, "not enough memory to read %.200s", in->name);
}

void carm_walk_close(struct carm_walk *walk)
{
    free(walk->texts);
    free(walk->text);
}

size_t carm_walk_line(struct carm_walk *walk)
{
    walk->line += carm_scan_lines(walk->counted, walk->at);
    walk->counted = walk->at;
    return walk->line;
}

/* Moves the unread rest to the front and reads more behind it. returns false at the end of the file
 * and after an error */
static bool read_on(struct carm_walk *walk)
{
    size_t left = (size_t)(walk->end - walk->at), n = 0;
    carm_walk_line(walk);
    memmove(walk->text, walk->at, left);
    if (!walk->rc && left + 1 == walk->room) {
        walk->rc = left < VALUE_MAX ? carm_array_grow(&walk->text, &walk->room, left + 1, 1, 1,
                                                      walk->in->name, walk->err)
                                    : bad(walk, walk->line, "a value of more than 1 GiB");
    }
    if (!walk->rc) {
        walk->rc =
            carm_csv_read(walk->in->csv, walk->text + left, walk->room - left - 1, &n, walk->err);
        n = walk->rc ? 0 : n;
    }
    walk->at = walk->counted = walk->text;
    walk->end = walk->text + left + n;
    walk->text[left + n] = '\0';
    return n > 0;
}

char carm_walk_peek(struct carm_walk *walk)
{
    do {
        while (walk->at < walk->end && strchr(" \t\r\n", *walk->at)) {
            walk->at++;
        }
    } while (walk->at == walk->end && read_on(walk));
    return *walk->at;
}

json_t *carm_walk_value(struct carm_walk *walk)
{
    json_error_t error;
    struct carm_span all;
    struct carm_scan s;
    carm_walk_peek(walk);
    do {
        s = (struct carm_scan){walk->at, walk->end};
        carm_scan_value(&s, &all);
    } while (s.at >= s.end && read_on(walk)); /* until the whole value is in the buffer */
    const size_t line = carm_walk_line(walk);
    json_t *value = json_loadb(walk->at, (size_t)(walk->end - walk->at),
                               JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY, &error);
    if (!value) {
        bad(walk, line + (error.line > 0 ? (size_t)error.line - 1 : 0), "no JSON: %.160s",
            error.text);
        return NULL;
    }
    walk->at += error.position;
    return value;
}

/* Moves behind the expected character c. */
static int pass(struct carm_walk *walk, char c)
{
    const char got = carm_walk_peek(walk);
    if (got == c) {
        walk->at++;
        return 0;
    }
    return got ? bad(walk, carm_walk_line(walk), "no JSON: '%c' is expected here, not '%c'", c,
                     got >= ' ' && got <= '~' ? got : '?')
               : bad(walk, carm_walk_line(walk),
                     "the file ends where '%c' is expected: is it cut off?", c);
}

static int read_member(struct carm_walk *walk,
                       int (*member)(struct carm_walk *walk, const char *key, void *arg), void *arg)
{
    json_t *key = carm_walk_value(walk);
    if (!key) {
        return -CARM_EFORMAT;
    }
    int rc = json_is_string(key)
                 ? pass(walk, ':')
                 : bad(walk, carm_walk_line(walk), "no JSON: a member's name is expected here");
    rc = rc ? rc : member(walk, json_string_value(key), arg);
    json_decref(key);
    return rc;
}

int carm_walk_object(struct carm_walk *walk,
                     int (*member)(struct carm_walk *walk, const char *key, void *arg), void *arg)
{
    int rc = pass(walk, '{');
    bool more = !rc && carm_walk_peek(walk) != '}';
    while (more && !rc) {
        rc = read_member(walk, member, arg);
        more = !rc && carm_walk_peek(walk) == ',';
        walk->at += more;
    }
    rc = rc ? rc : pass(walk, '}');
    return rc || (!carm_walk_peek(walk) && !walk->rc)
               ? rc
               : bad(walk, carm_walk_line(walk), "text behind the end of the object");
}

int carm_walk_array(struct carm_walk *walk, int (*item)(struct carm_walk *walk, void *arg),
                    void *arg)
{
    int rc = pass(walk, '[');
    bool more = !rc && carm_walk_peek(walk) != ']';
    while (more && !rc) {
        rc = item(walk, arg);
        more = !rc && carm_walk_peek(walk) == ',';
        walk->at += more;
    }
    return rc ? rc : pass(walk, ']');
}

const char *carm_json_text(json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* returns the end of the next object; NULL = not an object; at: place of the error */
static const char *find_members(const struct carm_walk *walk, const struct carm_span *names,
                                size_t n, struct carm_span *values, const char **at, bool *twice)
{
    struct carm_scan s = {walk->at, walk->end};
    struct carm_span name, value;
    bool first = true;
    size_t likely = 0; /* likely next member: files repeat the order of members */
    int next = carm_scan_take(&s, '{') ? carm_scan_name(&s, &first, &name) : -1;
    memset(values, 0, n * sizeof *values);
    *twice = false;
    for (; next > 0; next = carm_scan_name(&s, &first, &name)) {
        if (!carm_scan_value(&s, &value)) {
            next = -1;
            break;
        }
        size_t i = likely;
        for (size_t k = 0; k < n && !carm_span_same(&name, &names[i]); k++) {
            i = i + 1 < n ? i + 1 : 0;
        }
        if (carm_span_same(&name, &names[i])) {
            *twice = *twice || values[i].at;
            values[i] = value;
            likely = i + 1 < n ? i + 1 : 0;
        }
    }
    *at = s.at;
    return next == 0 ? s.at : NULL;
}

int carm_walk_members(struct carm_walk *walk, const struct carm_span *names, size_t n,
                      struct carm_span *values)
{
    const char *end, *at;
    bool twice;
    walk->used = 0;
    do {
        end = find_members(walk, names, n, values, &at, &twice);
    } while (!end && at >= walk->end && read_on(walk)); /* until the whole value is in the buffer */
    if (end && !twice) {
        walk->at = end;
        return 0;
    }
    const size_t line = carm_walk_line(walk);
    json_t *why = carm_walk_value(walk); /* jansson's message describes the error */
    const bool object = json_is_object(why);
    json_decref(why);
    return why ? bad(walk, line, "%s",
                     object ? "an object has a member twice" : "an object goes here")
               : -CARM_EFORMAT;
}

/* ASCII without escapes needs no conversion. */
static bool is_plain(const struct carm_span *text)
{
    for (size_t i = 0; i < text->size; i++) {
        if (text->at[i] < ' ' || text->at[i] == '\\' || text->at[i] == 0x7f) {
            return false; /* char is signed: bytes beyond ASCII are below ' ' */
        }
    }
    return true;
}

int carm_walk_text(struct carm_walk *walk, const struct carm_span *value, size_t line,
                   const char **text)
{
    const bool is = value->at && *value->at == '"';
    json_error_t error;
    json_t *parsed = NULL;
    const char *from = is ? value->at + 1 : NULL;
    size_t size = is ? value->size - 2 : 0;
    *text = NULL;
    if (!is) {
        return 0;
    }
    if (!is_plain(&(struct carm_span){from, size})) {
        parsed = json_loadb(value->at, value->size, JSON_DECODE_ANY, &error);
        if (!parsed) {
            return carm_import_bad(walk->in, line, walk->err, "no JSON: %.160s", error.text);
        }
        from = json_string_value(parsed);
        size = json_string_length(parsed);
    }
    /* texts of one object are used together, so the array must not move */
    int rc = walk->used + size + 1 <= walk->texts_room
                 ? 0
                 : carm_import_bad(walk->in, line, walk->err, "texts of more than %zu bytes",
                                   walk->texts_room);
    if (!rc) {
        char *dst = walk->texts + walk->used;
        memcpy(dst, from, size);
        dst[size] = '\0';
        walk->used += size + 1;
        *text = dst;
    }
    json_decref(parsed);
    return rc;
}

int carm_walk_number(struct carm_walk *walk, const struct carm_span *value, const char *name,
                     size_t line, double *number)
{
    *number = -1.0;
    if (!value->at || carm_span_is(value, "null")) {
        return 0;
    }
    const char *end =
        *value->at == '+' || *value->at == '.' ? NULL : carm_number_scan(value->at, number);
    if (end != value->at + value->size || *number < 0.0 || !isfinite(*number)) {
        return carm_import_bad(walk->in, line, walk->err, "%.40s is no number of at least zero",
                               name);
    }
    return 0;
}
