/* SPDX-License-Identifier: MIT */
#include "harness/count/recipe_json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char schema[] = "carm-counters/1";

void carm_recipe_json_bad(struct carm_recipe_json *r, const char *fmt, ...)
{
    if (r->rc) {
        return;
    }
    char what[400];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    r->rc = r->recipe[0]
                ? carm_fail(r->err, CARM_EFORMAT, "counter recipe %.48s: %s", r->recipe, what)
                : carm_fail(r->err, CARM_EFORMAT, "counter recipes: %s", what);
}

json_t *carm_recipe_json_load(struct carm_recipe_json *r, const char *text)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        carm_recipe_json_bad(r, "line %d: %.200s", error.line, error.text);
        return NULL;
    }
    const char *is = json_string_value(json_object_get(root, "schema"));
    if (!is || strcmp(is, schema) != 0) {
        carm_recipe_json_bad(r, "the schema is %.64s; this carm reads %s", is ? is : "missing",
                             schema);
        json_decref(root);
        return NULL;
    }
    return root;
}

void carm_recipe_json_text(struct carm_recipe_json *r, json_t *o, const char *what, const char *key,
                           char *to, size_t size)
{
    to[0] = '\0';
    json_t *v = json_object_get(o, key);
    if (!v) {
        return;
    }
    const char *s = json_string_value(v);
    if (!s) {
        carm_recipe_json_bad(r, "%s: \"%s\" is not a string", what, key);
    } else if (strlen(s) >= size) {
        carm_recipe_json_bad(r, "%s: \"%s\" is longer than %zu bytes", what, key, size - 1);
    } else {
        memcpy(to, s, strlen(s) + 1);
    }
}

double carm_recipe_json_number(struct carm_recipe_json *r, json_t *o, const char *what,
                               const char *key, double absent)
{
    json_t *v = json_object_get(o, key);
    if (!v) {
        return absent;
    }
    if (!json_is_number(v)) {
        carm_recipe_json_bad(r, "%s: \"%s\" is not a number", what, key);
        return absent;
    }
    const double value = json_number_value(v);
    if (value <= 0 && !(value == 0 && absent == 0)) {
        carm_recipe_json_bad(r, "%s: \"%s\" is not above 0", what, key);
    }
    return value;
}

bool carm_recipe_json_bool(struct carm_recipe_json *r, json_t *o, const char *what, const char *key)
{
    json_t *v = json_object_get(o, key);
    if (v && !json_is_boolean(v)) {
        carm_recipe_json_bad(r, "%s: \"%s\" is neither true nor false", what, key);
    }
    return json_is_true(v);
}

/* returns false where s is not a number of 32 bits from end to end */
static bool read_hex(const char *s, const char *end, unsigned long *value)
{
    char *stop = NULL;
    if (s[0] != '0' || s[1] != 'x') {
        return false;
    }
    *value = strtoul(s, &stop, 16);
    return stop == end && stop > s + 2 && *value <= 0xffffffffUL;
}

unsigned carm_recipe_json_hex(struct carm_recipe_json *r, json_t *o, const char *what,
                              const char *key)
{
    json_t *v = json_object_get(o, key);
    if (!v) {
        return 0;
    }
    const char *s = json_string_value(v);
    unsigned long value = 0;
    if (!s || !read_hex(s, s + strlen(s), &value)) {
        carm_recipe_json_bad(r, "%s: \"%s\" is not a string like \"0x81D0\"", what, key);
        return 0;
    }
    return (unsigned)value;
}

json_t *carm_recipe_json_array(struct carm_recipe_json *r, json_t *o, const char *what,
                               const char *key)
{
    json_t *v = json_object_get(o, key);
    if (v && !json_is_array(v)) {
        carm_recipe_json_bad(r, "%s: \"%s\" is not a list", what, key);
        return NULL;
    }
    return v;
}

void carm_recipe_json_only(struct carm_recipe_json *r, json_t *o, const char *what,
                           const char *const *names)
{
    if (!json_is_object(o)) {
        carm_recipe_json_bad(r, "%s is not an object", what);
        return;
    }
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(o, key, value)
    {
        bool known = false;
        for (size_t i = 0; names[i] && !known; i++) {
            known = strcmp(names[i], key) == 0;
        }
        if (!known) {
            carm_recipe_json_bad(r, "%s: there is no member \"%.64s\"", what, key);
        }
    }
}

bool carm_recipe_json_matches(struct carm_recipe_json *r, json_t *o, const char *vendor, int family,
                              int model)
{
    const char *is = json_string_value(json_object_get(o, "vendor"));
    json_t *models = carm_recipe_json_array(r, o, "models", "models");
    const unsigned has = carm_recipe_json_hex(r, o, "recipe", "family");
    if (!is || strcmp(is, vendor) != 0 || family < 0 || (int)has != family) {
        return false;
    }
    size_t i = 0;
    json_t *v = NULL;
    json_array_foreach(models, i, v)
    {
        const char *s = json_string_value(v);
        const char *dash = s ? strchr(s, '-') : NULL;
        unsigned long from = 0;
        unsigned long to = 0;
        bool good = s && read_hex(s, dash ? dash : s + strlen(s), &from);
        to = from;
        if (good && dash) {
            good = read_hex(dash + 1, s + strlen(s), &to) && from <= to;
        }
        if (!good) {
            carm_recipe_json_bad(r, "models: \"%.32s\" is not like \"0x55\" or \"0x30-0x4F\"",
                                 s ? s : "");
            return false;
        }
        if (model >= 0 && (unsigned long)model >= from && (unsigned long)model <= to) {
            return true;
        }
    }
    return false;
}
