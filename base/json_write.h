/* SPDX-License-Identifier: MIT */
/* Writing of a JSON file: each function puts one member into an object.
 *
 * All return false when memory ran out, and accept obj = NULL (an object that could not be made),
 * so that a struct is written by one chain of && that ends in carm_jwrite_done. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/number.h"

/* Any value; the function takes it, also on failure. */
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

/* Arrays: n numbers; the two ends of an interval */
bool carm_jwrite_numbers(json_t *obj, const char *name, const double *v, size_t n);
bool carm_jwrite_interval(json_t *obj, const char *name, struct carm_ci ci);

/* An array of n items, each made by make(items, i). */
bool carm_jwrite_array(json_t *obj, const char *name, const void *items, size_t n,
                       json_t *(*make)(const void *items, size_t i));

/* returns obj if all members were put in (ok); else releases obj and returns NULL. */
json_t *carm_jwrite_done(json_t *obj, bool ok);

/* Writes a text as a JSON string, in ASCII alone. Bytes that are not UTF-8, and the format characters that
 * carm_text_clean replaces, become '?'. */
void carm_json_put_string(FILE *out, const char *s);

/* Write a member of an object without a tree, for files with millions of members: a comma unless it is the first, the
 * name (not escaped, short), and the value. The stream is not locked. */
void carm_json_put_member(FILE *out, bool first, const char *name,
                          const char *value); /* writes the text unchanged */
void carm_json_put_text(FILE *out, bool first, const char *name, const char *s);
void carm_json_put_text_or_null(FILE *out, bool first, const char *name,
                                const char *s); /* null for "" */

/* Writes a value as text with a newline at its end, and releases the value (NULL allowed); flags: of json_dumps.
 * returns text to be released with free, or NULL when memory ran out */
char *carm_jwrite_line(json_t *value, size_t flags);
