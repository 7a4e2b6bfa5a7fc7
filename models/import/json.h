/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walks through JSON text one value at a time, so that a long list takes the memory of one item.
 * Frequent values are taken as spans of the text; the others are parsed by jansson. */
#pragma once

#include <jansson.h>

#include "base/json_scan.h"
#include "models/import/readers.h"

struct carm_walk {
    struct carm_import *in;
    char *text; /* [room]: a window of the file, zero-terminated */
    size_t room;
    const char *at, *end; /* in text: the next value, the end */
    const char *counted;  /* lines are counted up to here */
    size_t line;
    int rc; /* result of reading the file */
    struct carm_err *err;
    char *texts; /* texts of the last object, one after another */
    size_t used, texts_room;
};

/* Reads in->csv from its beginning.
 * returns 0 or -CARM_ENOMEM; other errors come with the first value */
int carm_walk_open(struct carm_walk *walk, struct carm_import *in, struct carm_err *err);
void carm_walk_close(struct carm_walk *walk); /* also of a walk that did not open */

/* The number of the next line. */
size_t carm_walk_line(struct carm_walk *walk);

/* Passes blanks. returns the next character, '\0' at the end */
char carm_walk_peek(struct carm_walk *walk);

/* The next value, of any type; NULL with the failure in err. To be released with json_decref. */
json_t *carm_walk_value(struct carm_walk *walk);

/* Calls member for each member of the object that is the whole file, item for each item of the
 * next array. Both functions move behind the value.
 * returns 0, -CARM_EFORMAT, or the value of member or item */
int carm_walk_object(struct carm_walk *walk,
                     int (*member)(struct carm_walk *walk, const char *key, void *arg), void *arg);
int carm_walk_array(struct carm_walk *walk, int (*item)(struct carm_walk *walk, void *arg),
                    void *arg);

/* A text of an object, borrowed; NULL = none. */
const char *carm_json_text(json_t *object, const char *key);

/* Finds members of the next object, and moves behind it. Other members are ignored.
 * names   [n]
 * values  [n] out: spans of the text, valid until the walk goes on
 * returns 0, or -CARM_EFORMAT: it is no object, does not end, or has a member twice */
int carm_walk_members(struct carm_walk *walk, const struct carm_span *names, size_t n,
                      struct carm_span *values);

/* A member as a text, valid until the next carm_walk_members; *text is NULL for other values.
 * returns 0, -CARM_EFORMAT, -CARM_ENOMEM */
int carm_walk_text(struct carm_walk *walk, const struct carm_span *value, size_t line,
                   const char **text);

/* A member as a number: *value is -1 for a missing member or null.
 * returns 0, or -CARM_EFORMAT for a value that no machine can have */
int carm_walk_number(struct carm_walk *walk, const struct carm_span *value, const char *name,
                     size_t line, double *number);
