/* SPDX-License-Identifier: MIT */
#include "base/json_write.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

bool carm_jwrite_value(json_t *obj, const char *name, json_t *value)
{
    /* json_object_set_new takes the value, and returns -1 when it is NULL. */
    return json_object_set_new(obj, name, value) == 0;
}

static json_t *text(const char *s)
{
    json_t *v = json_string(s);
    if (v) {
        return v;
    }
    /* Not UTF-8 (a host name may be any bytes): keep the ASCII characters. */
    char *copy = strdup(s);
    if (!copy) {
        return NULL;
    }
    for (char *p = copy; *p; p++) {
        if ((unsigned char)*p >= 0x80) {
            *p = '?';
        }
    }
    v = json_string(copy);
    free(copy);
    return v;
}

static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

bool carm_jwrite_text(json_t *obj, const char *name, const char *s)
{
    return carm_jwrite_value(obj, name, text(s));
}

bool carm_jwrite_text_or_null(json_t *obj, const char *name, const char *s)
{
    return carm_jwrite_value(obj, name, *s ? text(s) : json_null());
}

bool carm_jwrite_number(json_t *obj, const char *name, double v)
{
    return carm_jwrite_value(obj, name, number(v));
}

bool carm_jwrite_count(json_t *obj, const char *name, uint64_t v)
{
    return carm_jwrite_value(obj, name, v <= INT64_MAX ? json_integer((json_int_t)v) : json_null());
}

bool carm_jwrite_count_or_null(json_t *obj, const char *name, uint64_t v)
{
    return v ? carm_jwrite_count(obj, name, v) : carm_jwrite_value(obj, name, json_null());
}

bool carm_jwrite_int(json_t *obj, const char *name, int v)
{
    return carm_jwrite_value(obj, name, json_integer(v));
}

bool carm_jwrite_bool(json_t *obj, const char *name, bool v)
{
    return carm_jwrite_value(obj, name, json_boolean(v));
}

bool carm_jwrite_numbers(json_t *obj, const char *name, const double *v, size_t n)
{
    json_t *a = json_array();
    for (size_t i = 0; i < n; i++) {
        if (json_array_append_new(a, number(v[i])) != 0) {
            json_decref(a);
            return false;
        }
    }
    return carm_jwrite_value(obj, name, a);
}

bool carm_jwrite_interval(json_t *obj, const char *name, struct carm_ci ci)
{
    return carm_jwrite_numbers(obj, name, (const double[]){ci.lo, ci.hi}, 2);
}

bool carm_jwrite_array(json_t *obj, const char *name, const void *items, size_t n,
                       json_t *(*make)(const void *items, size_t i))
{
    json_t *a = json_array();
    for (size_t i = 0; i < n; i++) {
        if (json_array_append_new(a, make(items, i)) != 0) {
            json_decref(a);
            return false;
        }
    }
    return carm_jwrite_value(obj, name, a);
}

json_t *carm_jwrite_done(json_t *obj, bool ok)
{
    if (ok) {
        return obj;
    }
    json_decref(obj);
    return NULL;
}

/* Printable ASCII is written unchanged; everything else through jansson, escaped. Bytes that are
 * not UTF-8 become '?', as do the format characters that carm_text_clean replaces. */
void carm_json_put_string(FILE *out, const char *s)
{
    const char *at = s;
    while (*at >= ' ' && *at <= '~' && *at != '"' && *at != '\\') {
        at++;
    }
    if (!*at) {
        putc_unlocked('"', out);
        fwrite_unlocked(s, 1, (size_t)(at - s), out);
        putc_unlocked('"', out);
        return;
    }
    char clean[8192];
    json_t *value = json_string(s);
    if (!value) {
        value = json_string(carm_text_clean(clean, sizeof clean, s, false));
    }
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
    fputs_unlocked(text ? text : "null", out);
    free(text);
    json_decref(value);
}

void carm_json_put_member(FILE *out, bool first, const char *name, const char *value)
{
    char text[128];
    const size_t comma = first ? 0 : 2, n = strlen(name), size = strlen(value);
    char *at = text;
    assert(comma + n + size + 4 <= sizeof text);
    at = mempcpy(at, ", ", comma);
    *at++ = '"';
    at = mempcpy(at, name, n);
    at = mempcpy(at, "\": ", 3);
    at = mempcpy(at, value, size);
    fwrite_unlocked(text, 1, (size_t)(at - text), out);
}

void carm_json_put_text(FILE *out, bool first, const char *name, const char *s)
{
    carm_json_put_member(out, first, name, "");
    carm_json_put_string(out, s);
}

void carm_json_put_text_or_null(FILE *out, bool first, const char *name, const char *s)
{
    if (*s) {
        carm_json_put_text(out, first, name, s);
    } else {
        carm_json_put_member(out, first, name, "null");
    }
}

char *carm_jwrite_line(json_t *value, size_t flags)
{
    char *text = value ? json_dumps(value, flags) : NULL;
    json_decref(value);
    const size_t n = text ? strlen(text) : 0;
    char *line = text ? realloc(text, n + 2) : NULL;
    if (!line) {
        free(text);
        return NULL;
    }
    memcpy(line + n, "\n", 2);
    return line;
}
