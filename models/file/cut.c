/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/cut.h"

#include <string.h>

enum { DEPTH_MAX = 64 }; /* a model has 6 */

/* ---- a walk that makes no tree ------------------------------------------------------------------- */

struct scan {
    const char *at, *end;
};

static void skip_blanks(struct scan *s)
{
    while (s->at < s->end &&
           (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t')) {
        s->at++;
    }
}

static bool take(struct scan *s, char c)
{
    skip_blanks(s);
    if (s->at >= s->end || *s->at != c) {
        return false;
    }
    s->at++;
    return true;
}

/* From a quote to behind the one that closes. */
static bool skip_string(struct scan *s)
{
    for (s->at++; s->at < s->end; s->at++) {
        if (*s->at == '\\') {
            s->at++;
        } else if (*s->at == '"') {
            s->at++;
            return true;
        }
    }
    return false;
}

/* From an opening bracket to behind its closing one; kinds must agree. */
static bool skip_brackets(struct scan *s)
{
    char open[DEPTH_MAX];
    size_t depth = 0;
    while (s->at < s->end) {
        const char c = *s->at;
        if (c == '"') {
            if (!skip_string(s)) {
                return false;
            }
            continue;
        }
        if (c == '{' || c == '[') {
            if (depth == DEPTH_MAX) {
                return false;
            }
            open[depth++] = c;
        } else if (c == '}' || c == ']') {
            if (open[--depth] != (c == '}' ? '{' : '[')) {
                return false;
            }
        }
        s->at++;
        if (depth == 0) {
            return true;
        }
    }
    return false;
}

static bool skip_value(struct scan *s)
{
    skip_blanks(s);
    if (s->at >= s->end) {
        return false;
    }
    if (*s->at == '"') {
        return skip_string(s);
    }
    if (*s->at == '{' || *s->at == '[') {
        return skip_brackets(s);
    }
    const char *begin = s->at;
    while (s->at < s->end && !memchr(",]} \n\r\t", *s->at, 8)) {
        s->at++;
    }
    return s->at > begin;
}

/* Takes the comma before the next item, or the closing bracket.
 * first    in and out: no item was taken yet
 * returns 1 (an item comes), 0 (closed), -1 (neither) */
static int scan_next(struct scan *s, bool *first, char close)
{
    if (take(s, close)) {
        return 0;
    }
    if (!*first && !take(s, ',')) {
        return -1;
    }
    *first = false;
    return 1;
}

/* A value of any kind; strings keep their quotes. */
static bool scan_value(struct scan *s, struct carm_span *value)
{
    skip_blanks(s);
    value->at = s->at;
    const bool good = skip_value(s);
    value->size = (size_t)(s->at - value->at);
    return good;
}

static bool scan_end(struct scan *s)
{
    skip_blanks(s);
    return s->at == s->end;
}

/* The next member's name, without quotes, and the colon behind it. returns as scan_next */
static int scan_name(struct scan *s, bool *first, struct carm_span *name)
{
    const int more = scan_next(s, first, '}');
    if (more <= 0) {
        return more;
    }
    skip_blanks(s);
    if (s->at >= s->end || *s->at != '"' || !scan_value(s, name) || !take(s, ':')) {
        return -1;
    }
    name->at++;
    name->size -= 2;
    return 1;
}

static bool span_is(const struct carm_span *span, const char *word)
{
    return span->size == strlen(word) && memcmp(span->at, word, span->size) == 0;
}

bool carm_span_find(const char *text, size_t size, const char *const *names, size_t n,
                    struct carm_span *values)
{
    struct scan s = {text, text + size};
    struct carm_span name;
    struct carm_span value;
    bool first = true;
    memset(values, 0, n * sizeof *values);
    if (!take(&s, '{')) {
        return false;
    }
    int more = scan_name(&s, &first, &name);
    for (; more > 0; more = scan_name(&s, &first, &name)) {
        if (!scan_value(&s, &value)) {
            return false;
        }
        for (size_t i = 0; i < n; i++) {
            if (span_is(&name, names[i])) {
                if (values[i].at) {
                    return false;
                }
                values[i] = value;
            }
        }
    }
    return more == 0 && scan_end(&s);
}

/* ---- the copy of a table's members ---------------------------------------------------------------- */

struct cutter {
    struct scan in;
    char *out;
};

static void put(struct cutter *c, const char *text, size_t size)
{
    memcpy(c->out, text, size);
    c->out += size;
}

/* In place of the comma behind the last one, if there was one. */
static void put_close(struct cutter *c, bool empty, char close)
{
    c->out -= !empty;
    *c->out++ = close;
}

static const struct carm_member *find_member(const struct carm_table *t,
                                             const struct carm_span *name)
{
    for (size_t i = 0; i < t->n; i++) {
        if (span_is(name, t->members[i].name)) {
            return t->members[i].flags & CARM_MEMBER_DETAIL ? NULL : &t->members[i];
        }
    }
    return NULL;
}

static bool cut_object(struct cutter *c, const struct carm_table *t);

static bool cut_array(struct cutter *c, const struct carm_table *t)
{
    bool first = true;
    if (!take(&c->in, '[')) {
        return false;
    }
    put(c, "[", 1);
    int more = scan_next(&c->in, &first, ']');
    for (; more > 0; more = scan_next(&c->in, &first, ']')) {
        if (!cut_object(c, t)) {
            return false;
        }
        put(c, ",", 1);
    }
    put_close(c, first, ']');
    return more == 0;
}

static bool cut_value(struct cutter *c, const struct carm_member *m)
{
    struct carm_span value;
    if (m->kind == CARM_MEMBER_OBJECT) {
        return cut_object(c, m->table);
    }
    if (m->kind == CARM_MEMBER_ARRAY) {
        return cut_array(c, m->table);
    }
    if (!scan_value(&c->in, &value)) {
        return false;
    }
    put(c, value.at, value.size);
    return true;
}

static bool cut_object(struct cutter *c, const struct carm_table *t)
{
    struct carm_span name;
    struct carm_span value;
    bool first = true;
    bool empty = true;
    if (!take(&c->in, '{')) {
        return false;
    }
    put(c, "{", 1);
    int more = scan_name(&c->in, &first, &name);
    for (; more > 0; more = scan_name(&c->in, &first, &name)) {
        const struct carm_member *m = find_member(t, &name);
        if (!m) {
            if (!scan_value(&c->in, &value)) {
                return false;
            }
            continue;
        }
        put(c, name.at - 1, name.size + 2);
        put(c, ":", 1);
        if (!cut_value(c, m)) {
            return false;
        }
        put(c, ",", 1);
        empty = false;
    }
    put_close(c, empty, '}');
    return more == 0;
}

size_t carm_table_cut(const struct carm_table *table, const char *text, size_t size, char *dst)
{
    struct cutter c = {{text, text + size}, dst};
    return cut_object(&c, table) && scan_end(&c.in) ? (size_t)(c.out - dst) : 0;
}
