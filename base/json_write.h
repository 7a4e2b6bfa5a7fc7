/* SPDX-License-Identifier: MIT */
/* Writing of a JSON file: each function puts one member into an object.
 *
 * All answer false when memory ran out, and take obj = NULL for an object that could not be made:
 * so a struct is one chain of && that ends in carm_jwrite_done. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/number.h"

/* Any value; taken, also on failure. */
bool carm_jwrite_value(json_t *obj, const char *name, json_t *value);

/* Bytes that are no UTF-8 become '?'. */
bool carm_jwrite_text(json_t *obj, const char *name, const char *s);
bool carm_jwrite_text_or_null(json_t *obj, const char *name, const char *s); /* null for "" */

/* writes null for values that JSON cannot express: infinite, NaN, 2^63 and more */
bool carm_jwrite_number(json_t *obj, const char *name, double v);
bool carm_jwrite_count(json_t *obj, const char *name, uint64_t v);
bool carm_jwrite_count_or_null(json_t *obj, const char *name, uint64_t v); /* null for 0, too */
bool carm_jwrite_int(json_t *obj, const char *name, int v);
bool carm_jwrite_bool(json_t *obj, const char *name, bool v);

/* [n] numbers, and the two of an interval */
bool carm_jwrite_numbers(json_t *obj, const char *name, const double *v, size_t n);
bool carm_jwrite_interval(json_t *obj, const char *name, struct carm_ci ci);

/* An array of n items, each made by make(items, i). */
bool carm_jwrite_array(json_t *obj, const char *name, const void *items, size_t n,
                       json_t *(*make)(const void *items, size_t i));

/* obj when all members went in (ok), else NULL with obj released. */
json_t *carm_jwrite_done(json_t *obj, bool ok);

/* Writes a text as a JSON string, in ASCII alone; bytes that are no UTF-8 become '?', as do the format
 * characters that carm_text_clean knows. */
void carm_json_put_string(FILE *out, const char *s);

/* Members of an object without a tree, for files of millions: the comma, unless it is the first, the name, which is
 * our own and short, and its value. The stream is not locked. */
void carm_json_put_member(FILE *out, bool first, const char *name,
                          const char *value); /* writes the text unchanged */
void carm_json_put_text(FILE *out, bool first, const char *name, const char *s);
void carm_json_put_text_or_null(FILE *out, bool first, const char *name,
                                const char *s); /* null for "" */

/* The value, which it takes (NULL allowed), as text with a newline behind it; flags: of json_dumps.
 * returns text to be released with free, or NULL when memory ran out */
char *carm_jwrite_line(json_t *value, size_t flags);
