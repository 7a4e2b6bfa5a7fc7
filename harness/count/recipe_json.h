/* SPDX-License-Identifier: MIT */
/* Checked reading of data/counters.json, for the units of harness/count/recipe.h alone: each function takes
 * one member out of an object and notes the first thing that is wrong. */
#ifndef CARM_HARNESS_COUNT_RECIPE_JSON_H
#define CARM_HARNESS_COUNT_RECIPE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct carm_recipe_json {
    const char *recipe; /* whose mistakes these are; "" = of the whole file */
    struct carm_err *err;
    int rc; /* 0, or of the first mistake */
};

/* Notes a mistake; the sentence begins with the recipe's name. */
__attribute__((format(printf, 2, 3))) void carm_recipe_json_bad(struct carm_recipe_json *r,
                                                                const char *fmt, ...);

/* Parses the text and checks its schema. returns a new reference, NULL with r->rc */
json_t *carm_recipe_json_load(struct carm_recipe_json *r, const char *text);

/* Members; what is absent leaves "", the default, or NULL. what: the object's name in messages. */
void carm_recipe_json_text(struct carm_recipe_json *r, json_t *o, const char *what, const char *key,
                           char *to, size_t size);
double carm_recipe_json_number(struct carm_recipe_json *r, json_t *o, const char *what,
                               const char *key, double absent);
bool carm_recipe_json_bool(struct carm_recipe_json *r, json_t *o, const char *what,
                           const char *key);
/* "0x81D0" */
unsigned carm_recipe_json_hex(struct carm_recipe_json *r, json_t *o, const char *what,
                              const char *key);
json_t *carm_recipe_json_array(struct carm_recipe_json *r, json_t *o, const char *what,
                               const char *key);
/* Refuses members that are not among the names of a list that ends with NULL. */
void carm_recipe_json_only(struct carm_recipe_json *r, json_t *o, const char *what,
                           const char *const *names);

/* Whether o's vendor, family and models ("0x55", "0x30-0x4F") have this processor. */
bool carm_recipe_json_matches(struct carm_recipe_json *r, json_t *o, const char *vendor, int family,
                              int model);

#endif
