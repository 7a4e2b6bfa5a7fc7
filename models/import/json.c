/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

enum { TEXTS_MAX = 65536 }; /* bytes of one object's texts: a name has up to 4095 */

int carm_walk_open(struct carm_walk *walk, struct carm_import *in, char **text,
                   struct carm_err *err)
{
    size_t size = 0;
    *walk = (struct carm_walk){.in = in, .line = 1, .err = err};
    *text = NULL;
    const int rc = carm_csv_text(in->csv, text, &size, err);
    if (rc == 0) {
        walk->at = walk->counted = *text;
        walk->end = *text + size;
        walk->room = TEXTS_MAX;
        walk->texts = malloc(walk->room);
    }
    return rc || walk->texts
               ? rc
               : carm_fail(err, CARM_ENOMEM, "not enough memory to read %.200s", in->name);
}

void carm_walk_close(struct carm_walk *walk, char *text)
{
    free(walk->texts);
    free(text);
}

size_t carm_walk_line(struct carm_walk *walk)
{
    const char *line = walk->counted;
    while ((line = memchr(line, '\n', (size_t)(walk->at - line))) != NULL) {
        walk->line++;
        line++;
    }
    walk->counted = walk->at;
    return walk->line;
}

char carm_walk_peek(struct carm_walk *walk)
{
    while (walk->at < walk->end && strchr(" \t\r\n", *walk->at)) {
        walk->at++;
    }
    return walk->at < walk->end ? *walk->at : '\0';
}

json_t *carm_walk_value(struct carm_walk *walk)
{
    json_error_t error;
    carm_walk_peek(walk);
    const size_t line = carm_walk_line(walk);
    json_t *value = json_loadb(walk->at, (size_t)(walk->end - walk->at),
                               JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY, &error);
    if (!value) {
        carm_import_bad(walk->in, line + (error.line > 0 ? (size_t)error.line - 1 : 0), walk->err,
                        "no JSON: %.160s", error.text);
        return NULL;
    }
    walk->at += error.position;
    return value;
}

/* Passes that character. */
static int pass(struct carm_walk *walk, char c)
{
    const char got = carm_walk_peek(walk);
    if (got == c) {
        walk->at++;
        return 0;
    }
    return got ? carm_import_bad(walk->in, carm_walk_line(walk), walk->err,
                                 "no JSON: '%c' goes here, not '%c'", c,
                                 got >= ' ' && got <= '~' ? got : '?')
               : carm_import_bad(walk->in, carm_walk_line(walk), walk->err,
                                 "the file ends where '%c' goes: is it cut off?", c);
}

static int read_member(struct carm_walk *walk,
                       int (*member)(struct carm_walk *walk, const char *key, void *arg), void *arg)
{
    json_t *key = carm_walk_value(walk);
    if (!key) {
        return -CARM_EFORMAT;
    }
    int rc = json_is_string(key) ? pass(walk, ':')
                                 : carm_import_bad(walk->in, carm_walk_line(walk), walk->err,
                                                   "no JSON: a member's name goes here");
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
    return rc || !carm_walk_peek(walk) ? rc
                                       : carm_import_bad(walk->in, carm_walk_line(walk), walk->err,
                                                         "text behind the end of the object");
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

/* ---- without a tree ------------------------------------------------------------------------------- */

int carm_walk_members(struct carm_walk *walk, const char *const *names, size_t n,
                      struct carm_span *values)
{
    struct carm_scan s = {walk->at, walk->end};
    struct carm_span name, value;
    bool first = true, twice = false;
    size_t likely = 0; /* files have members in one order */
    int more = carm_scan_take(&s, '{') ? carm_scan_name(&s, &first, &name) : -1;
    memset(values, 0, n * sizeof *values);
    walk->used = 0;
    for (; more > 0; more = carm_scan_name(&s, &first, &name)) {
        if (!carm_scan_value(&s, &value)) {
            more = -1;
            break;
        }
        size_t i = likely;
        for (size_t k = 0; k < n && !carm_span_is(&name, names[i]); k++) {
            i = i + 1 < n ? i + 1 : 0;
        }
        if (carm_span_is(&name, names[i])) {
            twice = twice || values[i].at;
            values[i] = value;
            likely = i + 1 < n ? i + 1 : 0;
        }
    }
    if (more == 0 && !twice) {
        walk->at = s.at;
        return 0;
    }
    const size_t line = carm_walk_line(walk);
    json_t *why = carm_walk_value(walk); /* which says what is wrong */
    const bool object = json_is_object(why);
    json_decref(why);
    return why ? carm_import_bad(walk->in, line, walk->err, "%s",
                                 object ? "an object has a member twice" : "an object goes here")
               : -CARM_EFORMAT;
}

/* ASCII without escapes is what it stands for. */
static bool is_plain(const struct carm_span *text)
{
    for (size_t i = 0; i < text->size; i++) {
        if (text->at[i] < ' ' || text->at[i] == '\\' || text->at[i] == 0x7f) {
            return false; /* char is signed: other bytes than ASCII are below ' ' */
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
    /* texts of one object are used together: the array does not move while they are */
    int rc = walk->used + size + 1 <= walk->room
                 ? 0
                 : carm_import_bad(walk->in, line, walk->err, "texts of more than %zu bytes",
                                   walk->room);
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
