/* SPDX-License-Identifier: MIT */
#include "base/json_read.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_scan.h"
#include "base/number.h"
#include "base/text.h"

void carm_jread_bad(struct carm_jread *r, const char *name, const char *fmt, ...)
{
    if (r->rc) {
        return;
    }
    char reason[256];
    char clean[256];
    CARM_TEXT_OF_ARGS(reason, fmt);
    r->rc = carm_fail(r->err, CARM_EFORMAT, "%.200s: %s%s%s%s%s", r->file, r->place,
                      name && *r->place ? "." : "", name ? name : "", name || *r->place ? " " : "",
                      carm_text_clean(clean, sizeof clean, reason, false));
}

/* ---- parses plain text into a tree, five times as fast as jansson. NULL: not plain, jansson parses it ---- */

enum { DEPTH_MAX = 64, NAME_ROOM = 128, DIGITS_MAX = 18 };

/* Whether a string has no escapes, and no characters that must be escaped. */
static bool is_plain(const struct carm_span *s)
{
    size_t i = 0;
    while (i < s->size && (unsigned char)s->at[i] >= ' ' && s->at[i] != '\\') {
        i++;
    }
    return i == s->size;
}

static const char *pass_digits(const char *at)
{
    while (*at >= '0' && *at <= '9') {
        at++;
    }
    return at;
}

/* The number of a span; a character that no number contains must follow. */
static json_t *make_number(const struct carm_span *s)
{
    const char *whole = s->at + (*s->at == '-');
    const char *at = pass_digits(whole);
    bool good = at > whole && (*whole != '0' || at == whole + 1);
    const size_t digits = (size_t)(at - whole);
    const char *end = s->at + s->size;
    const bool is_real = at < end;
    double v = 0.0;
    if (*at == '.') {
        const char *point = at++;
        at = pass_digits(at);
        good = good && at > point + 1;
    }
    if (*at == 'e' || *at == 'E') {
        at += 1 + (at[1] == '-' || at[1] == '+');
        const char *power = at;
        at = pass_digits(at);
        good = good && at > power;
    }
    if (!good || at != end) {
        return NULL;
    }
    if (!is_real) {
        return digits <= DIGITS_MAX ? json_integer(strtoll(s->at, NULL, 10)) : NULL;
    }
    return carm_number_scan(s->at, &v) && isfinite(v) ? json_real(v) : NULL;
}

static json_t *take_value(struct carm_scan *s, int depth);

/* Fills a new object or array. returns it, or NULL */
static json_t *take_items(struct carm_scan *s, char close, int depth)
{
    json_t *all = depth == DEPTH_MAX ? NULL : close == '}' ? json_object() : json_array();
    bool first = true;
    int more = all ? 1 : -1;
    size_t n = 0;
    while (more > 0) {
        struct carm_span name = {"", 0};
        char text[NAME_ROOM];
        more = close == '}' ? carm_scan_name(s, &first, &name) : carm_scan_next(s, &first, close);
        if (more > 0) {
            const bool good = name.size < sizeof text && is_plain(&name);
            json_t *value = good ? take_value(s, depth + 1) : NULL;
            memcpy(text, name.at, good ? name.size : 0);
            text[good ? name.size : 0] = '\0';
            const int rc = close == '}' ? json_object_set_new(all, text, value)
                                        : json_array_append_new(all, value);
            more = rc == 0 ? 1 : -1;
            n++;
        }
    }
    if (more < 0 || (close == '}' && json_object_size(all) != n)) { /* a name occurs twice */
        json_decref(all);
        return NULL;
    }
    return all;
}

static json_t *take_value(struct carm_scan *s, int depth)
{
    struct carm_span v;
    if (carm_scan_take(s, '{')) {
        return take_items(s, '}', depth);
    }
    if (carm_scan_take(s, '[')) {
        return take_items(s, ']', depth);
    }
    if (!carm_scan_value(s, &v) || s->at == s->end) {
        return NULL;
    }
    if (*v.at == '"') {
        v = (struct carm_span){v.at + 1, v.size - 2};
        return is_plain(&v) ? json_stringn(v.at, v.size) : NULL;
    }
    return carm_span_is(&v, "true")    ? json_true()
           : carm_span_is(&v, "false") ? json_false()
           : carm_span_is(&v, "null")  ? json_null()
                                       : make_number(&v);
}

/* An object with nothing behind it. */
static json_t *parse_plain(const char *text, size_t size)
{
    struct carm_scan s = {text, text + size};
    json_t *root = carm_scan_take(&s, '{') ? take_items(&s, '}', 0) : NULL;
    if (root && !carm_scan_end(&s)) {
        json_decref(root);
        return NULL;
    }
    return root;
}

json_t *carm_jread_parse(struct carm_jread *r, const char *text, size_t size_bytes)
{
    json_error_t e;
    json_t *root = parse_plain(text, size_bytes);
    if (root) {
        return root;
    }
    errno = 0;
    root = json_loadb(text, size_bytes, JSON_REJECT_DUPLICATES, &e);
    if (!root && (errno == ENOMEM || e.line < 0)) { /* jansson reports some of these as "invalid
                                                     * token" */
        r->rc = carm_fail(r->err, CARM_ENOMEM, "%.200s: not enough memory", r->file);
        return NULL;
    }
    if (!root) {
        bool cut = json_error_code(&e) == json_error_premature_end_of_input;
        char clean[sizeof e.text];
        r->rc = carm_fail(r->err, CARM_EFORMAT, "%.200s: line %d, column %d: %s%s", r->file, e.line,
                          e.column, cut ? "the file ends too early: " : "",
                          carm_text_clean(clean, sizeof clean, e.text, false));
        return NULL;
    }
    if (!json_is_object(root)) {
        r->rc = carm_fail(r->err, CARM_EFORMAT, "%.200s: is not a JSON object", r->file);
        json_decref(root);
        return NULL;
    }
    return root;
}

size_t carm_jread_enter(struct carm_jread *r, const char *fmt, ...)
{
    size_t old = strlen(r->place);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(r->place + old, CARM_JREAD_PLACE_MAX - old, fmt, ap);
    va_end(ap);
    return old;
}

void carm_jread_leave(struct carm_jread *r, size_t old)
{
    r->place[old] = 0;
}

json_t *carm_jread_member(struct carm_jread *r, json_t *obj, const char *name)
{
    json_t *v = json_object_get(obj, name);
    if (!v) {
        carm_jread_bad(r, name, "is missing");
    }
    return v;
}

void carm_jread_copy(struct carm_jread *r, json_t *v, const char *name, char *dst, size_t size)
{
    const char *s = json_string_value(v);
    if (!v) {
        return;
    }
    if (!s) {
        carm_jread_bad(r, name, "is not a string");
    } else if (strlen(s) >= size) {
        carm_jread_bad(r, name, "is longer than %zu bytes", size - 1);
    } else {
        memcpy(dst, s, strlen(s) + 1);
    }
}

void carm_jread_text(struct carm_jread *r, json_t *obj, const char *name, char *dst, size_t size)
{
    carm_jread_copy(r, carm_jread_member(r, obj, name), name, dst, size);
}

void carm_jread_name(struct carm_jread *r, json_t *obj, const char *name, char *dst, size_t size)
{
    carm_jread_text(r, obj, name, dst, size);
    if (!*dst) {
        carm_jread_bad(r, name, "is empty");
    }
}

bool carm_jread_bool(struct carm_jread *r, json_t *obj, const char *name)
{
    json_t *v = carm_jread_member(r, obj, name);
    if (v && !json_is_boolean(v)) {
        carm_jread_bad(r, name, "is neither true nor false");
    }
    return json_is_true(v);
}

static double to_number(struct carm_jread *r, json_t *v, const char *name)
{
    if (v && !json_is_number(v)) {
        carm_jread_bad(r, name, "is %s, not a number",
                       json_is_null(v) ? "null" : "of another type");
    }
    return json_number_value(v); /* JSON has no way to write an infinite number or NaN */
}

double carm_jread_number(struct carm_jread *r, json_t *obj, const char *name)
{
    return to_number(r, carm_jread_member(r, obj, name), name);
}

double carm_jread_positive(struct carm_jread *r, json_t *obj, const char *name)
{
    double d = carm_jread_number(r, obj, name);
    if (!(d > 0)) {
        carm_jread_bad(r, name, "is %g, not more than zero", d);
        /* Measured values lie far inside the range. A value outside it would break every axis. */
    } else if (d < CARM_JREAD_LEAST || d > CARM_JREAD_MOST) {
        carm_jread_bad(r, name, "is %g, outside %g..%g", d, CARM_JREAD_LEAST, CARM_JREAD_MOST);
    }
    return d;
}

double carm_jread_nonnegative(struct carm_jread *r, json_t *obj, const char *name)
{
    double d = carm_jread_number(r, obj, name);
    if (!(d >= 0)) {
        carm_jread_bad(r, name, "is %g, less than zero", d);
    }
    return d;
}

/* v may be NULL (0 then) */
static uint64_t to_count(struct carm_jread *r, json_t *v, const char *name, uint64_t min,
                         uint64_t max)
{
    json_int_t i = json_integer_value(v);
    double d = json_number_value(v);
    if (json_is_real(v) && d == floor(d) && fabs(d) <= 0x1p53) {
        i = (json_int_t)d;
    } else if (v && !json_is_integer(v)) {
        carm_jread_bad(r, name, "is not a whole number");
    }
    if (v && (i < 0 || (uint64_t)i < min || (uint64_t)i > max)) {
        carm_jread_bad(r, name, "is %lld, outside %llu..%llu", (long long)i,
                       (unsigned long long)min, (unsigned long long)max);
        return 0;
    }
    return (uint64_t)i;
}

uint64_t carm_jread_count(struct carm_jread *r, json_t *obj, const char *name, uint64_t min)
{
    return to_count(r, carm_jread_member(r, obj, name), name, min, INT64_MAX);
}

int carm_jread_int(struct carm_jread *r, json_t *obj, const char *name, int min)
{
    json_t *v = carm_jread_member(r, obj, name);
    const json_int_t below = json_is_integer(v) ? json_integer_value(v) : 0;
    if (below >= 0 || min >= 0) {
        return (int)to_count(r, v, name, min < 0 ? 0 : (uint64_t)min, INT_MAX);
    }
    if (below < min) {
        carm_jread_bad(r, name, "is %lld, outside %d..%d", (long long)below, min, INT_MAX);
        return 0;
    }
    return (int)below;
}

uint64_t carm_jread_count_or_null(struct carm_jread *r, json_t *obj, const char *name)
{
    json_t *v = carm_jread_member(r, obj, name);
    return json_is_null(v) ? 0 : to_count(r, v, name, 1, INT64_MAX);
}

size_t carm_jread_numbers(struct carm_jread *r, json_t *obj, const char *name, size_t max,
                          double *v)
{
    json_t *a = carm_jread_member(r, obj, name);
    size_t n = json_array_size(a);
    if (a && !json_is_array(a)) {
        carm_jread_bad(r, name, "is not an array");
    } else if (n > max) {
        carm_jread_bad(r, name, "has %zu entries, more than %zu", n, max);
    }
    size_t old = carm_jread_enter(r, "%s%s", *r->place ? "." : "", name);
    for (size_t i = 0; i < n && !r->rc; i++) {
        size_t oldi = carm_jread_enter(r, "[%zu]", i);
        v[i] = to_number(r, json_array_get(a, i), NULL);
        if (!(v[i] >= 0)) {
            carm_jread_bad(r, NULL, "is %g, less than zero", v[i]);
        } else if (v[i] > CARM_JREAD_MOST) {
            carm_jread_bad(r, NULL, "is %g, more than %g", v[i], CARM_JREAD_MOST);
        }
        carm_jread_leave(r, oldi);
    }
    carm_jread_leave(r, old);
    return r->rc ? 0 : n;
}

void carm_jread_interval(struct carm_jread *r, json_t *obj, const char *name, double value,
                         double *lo, double *hi)
{
    json_t *v = carm_jread_member(r, obj, name);
    *lo = *hi = 0;
    if (!v) {
        return;
    }
    if (!json_is_array(v) || json_array_size(v) != 2) {
        carm_jread_bad(r, name, "is not an array of two numbers");
        return;
    }
    *lo = to_number(r, json_array_get(v, 0), name);
    *hi = to_number(r, json_array_get(v, 1), name);
    const double slack = 1e-12 * value;
    if (!(*lo >= 0 && *lo <= value + slack && value - slack <= *hi)) {
        carm_jread_bad(r, name, "[%g, %g] does not hold its value %g", *lo, *hi, value);
    }
}

json_t *carm_jread_object(struct carm_jread *r, json_t *obj, const char *name)
{
    json_t *v = carm_jread_member(r, obj, name);
    if (v && !json_is_object(v)) {
        carm_jread_bad(r, name, "is not an object");
        return NULL;
    }
    return v;
}

json_t *carm_jread_array(struct carm_jread *r, json_t *obj, const char *name, size_t max,
                         size_t size, void *items, size_t *nitems)
{
    json_t *v = r->rc ? NULL : carm_jread_member(r, obj, name);
    size_t n = json_array_size(v);
    if (!v) {
        return NULL;
    }
    if (!json_is_array(v)) {
        carm_jread_bad(r, name, "is not an array");
        return NULL;
    }
    if (n > max) {
        carm_jread_bad(r, name, "has %zu entries, more than %zu", n, max);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        if (json_is_object(json_array_get(v, i))) {
            continue;
        }
        size_t old = carm_jread_enter(r, "%s%s[%zu]", *r->place ? "." : "", name, i);
        carm_jread_bad(r, NULL, "is not an object");
        carm_jread_leave(r, old);
        return NULL;
    }
    if (n == 0) {
        return v;
    }
    void *room = calloc(n, size);
    if (!room) {
        if (!r->rc) {
            r->rc = carm_fail(r->err, CARM_ENOMEM, "out of memory while reading %.200s", r->file);
        }
        return NULL;
    }
    memcpy(items, &room, sizeof room);
    *nitems = n;
    return v;
}

void carm_jread_only(struct carm_jread *r, json_t *obj, const char *const *known, size_t n)
{
    const char *key;
    json_t *value;
    json_object_foreach(obj, key, value)
    {
        size_t i = 0;
        while (i < n && strcmp(known[i], key) != 0) {
            i++;
        }
        if (i == n) {
            carm_jread_bad(r, NULL, "has a member \"%.40s\", which this carm does not know", key);
        }
    }
}

/* Reads "0x2A" at *s, which moves behind the number. */
static bool take_hex(const char **s, uint32_t most, uint32_t *value)
{
    char *end;
    if ((*s)[0] != '0' || (*s)[1] != 'x' || !isxdigit((unsigned char)(*s)[2])) {
        return false;
    }
    const unsigned long v = strtoul(*s, &end, 16);
    *s = end;
    *value = (uint32_t)v;
    return v <= most;
}

bool carm_jread_range(struct carm_jread *r, json_t *v, const char *name, uint32_t most,
                      uint32_t *first, uint32_t *last)
{
    const char *text = json_string_value(v);
    const char *s = text ? text : "";
    bool good = take_hex(&s, most, first);
    *last = *first;
    if (good && *s == '-') {
        s++;
        good = take_hex(&s, most, last) && *first <= *last;
    }
    if (!good || *s) {
        carm_jread_bad(r, name, "is %s%.30s%s, not of the form \"0x30\" or \"0x30-0x4F\"",
                       text ? "\"" : "", text ? text : "no string", text ? "\"" : "");
    }
    return good && !*s;
}
