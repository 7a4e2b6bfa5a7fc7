/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walks through JSON text one value at a time, so that the memory of a long list is that of one of its
 * items. jansson parses each. */
#ifndef CARM_MODELS_IMPORT_JSON_H
#define CARM_MODELS_IMPORT_JSON_H

#include <jansson.h>

#include "models/import/readers.h"

struct carm_walk {
    struct carm_import *in;
    const char *at, *end;
    const char *counted; /* lines are counted up to here */
    size_t line;
    struct carm_err *err;
};

/* Reads all of in->csv; *text is to be released with free. returns as carm_csv_text */
int carm_walk_open(struct carm_walk *walk, struct carm_import *in, char **text,
                   struct carm_err *err);

/* The line that comes next. */
size_t carm_walk_line(struct carm_walk *walk);

/* Passes blanks. returns the next character, '\0' at the end */
char carm_walk_peek(struct carm_walk *walk);

/* The next value, of any type; NULL with the failure in err. To be released with json_decref. */
json_t *carm_walk_value(struct carm_walk *walk);

/* Calls member for each member of the object that is the whole file, item for each item of the array
 * that comes next; they pass the value.
 * returns 0, -CARM_EFORMAT, or what they return */
int carm_walk_object(struct carm_walk *walk,
                     int (*member)(struct carm_walk *walk, const char *key, void *arg), void *arg);
int carm_walk_array(struct carm_walk *walk, int (*item)(struct carm_walk *walk, void *arg),
                    void *arg);

/* A text of an object, NULL where there is none. Borrowed. */
const char *carm_json_text(json_t *object, const char *key);

/* A number of an object: *value is -1 where there is none, or null.
 * returns 0, or -CARM_EFORMAT where it is none that a machine can have */
int carm_json_number(struct carm_walk *walk, json_t *object, const char *key, size_t line,
                     double *value);

#endif
