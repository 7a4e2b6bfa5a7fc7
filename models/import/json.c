/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/json.h"

#include <stdlib.h>
#include <string.h>

int carm_walk_open(struct carm_walk *walk, struct carm_import *in, char **text,
                   struct carm_err *err)
{
    size_t size = 0;
    const int rc = carm_csv_text(in->csv, text, &size, err);
    if (rc == 0) {
        *walk = (struct carm_walk){in, *text, *text + size, *text, 1, err};
    }
    return rc;
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

int carm_json_number(struct carm_walk *walk, json_t *object, const char *key, size_t line,
                     double *value)
{
    json_t *v = json_object_get(object, key);
    *value = -1.0;
    if (!v || json_is_null(v)) {
        return 0;
    }
    const double number = json_number_value(v);
    if (!json_is_number(v) || number < 0.0) {
        return carm_import_bad(walk->in, line, walk->err, "%.40s is no number of at least zero",
                               key);
    }
    *value = number;
    return 0;
}
