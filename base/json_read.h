/* SPDX-License-Identifier: MIT */
/* Checked reading of a JSON file. Each function takes one member out of an object. On failure
 * its message names file, place and reason.
 *
 * The first failure stays in rc and err; every later read yields harmless values (0, "", NULL).
 * So each member of a struct is one line of code, and only loops look at rc. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { CARM_JREAD_PLACE_MAX = 160 };

/* Limits of a plausible positive quantity in any unit of these files: a picosecond (loads of one chain in L1 took
 * 0.77 ns on an Emerald Rapids), and a thousand exaflop/s. */
#define CARM_JREAD_LEAST 1e-12
#define CARM_JREAD_MOST  1e21

struct carm_jread {
    const char *file; /* the file's name in messages; borrowed */
    struct carm_err *err;
    int rc;                           /* 0 or a negative CARM_E* */
    char place[CARM_JREAD_PLACE_MAX]; /* of the current object: "roofs[0].memory[2]" */
};

/* Parses the text. returns an object to be released with json_decref, or NULL with r->rc set: the
 * message has line and column */
json_t *carm_jread_parse(struct carm_jread *r, const char *text, size_t size_bytes);

/* Notes a failure, unless one is noted already.
 * name  the wrong member of the current object, NULL for the object itself
 * fmt   the text after the place: "is missing", ... */
__attribute__((format(printf, 3, 4))) void carm_jread_bad(struct carm_jread *r, const char *name,
                                                          const char *fmt, ...);

/* Appends a member to the place. returns a value for carm_jread_leave, which restores the place. */
__attribute__((format(printf, 2, 3))) size_t carm_jread_enter(struct carm_jread *r, const char *fmt,
                                                              ...);
void carm_jread_leave(struct carm_jread *r, size_t old);

/* The member of that name, or NULL with the failure noted. Borrowed from obj. */
json_t *carm_jread_member(struct carm_jread *r, json_t *obj, const char *name);

/* Copies a string of less than size bytes; v may be NULL (nothing is copied then). */
void carm_jread_copy(struct carm_jread *r, json_t *v, const char *name, char *dst, size_t size);
void carm_jread_text(struct carm_jread *r, json_t *obj, const char *name, char *dst, size_t size);
/* A text that is not empty. */
void carm_jread_name(struct carm_jread *r, json_t *obj, const char *name, char *dst, size_t size);

bool carm_jread_bool(struct carm_jread *r, json_t *obj, const char *name);

/* Finite numbers: any; positive and plausible; at least zero. */
double carm_jread_number(struct carm_jread *r, json_t *obj, const char *name);
double carm_jread_positive(struct carm_jread *r, json_t *obj, const char *name);
double carm_jread_nonnegative(struct carm_jread *r, json_t *obj, const char *name);

/* Whole numbers of at least min. 4096.0 is a whole number, too: JSON has one kind of number. */
uint64_t carm_jread_count(struct carm_jread *r, json_t *obj, const char *name, uint64_t min);
int carm_jread_int(struct carm_jread *r, json_t *obj, const char *name, int min);
/* At least 1, or null, which is 0. */
uint64_t carm_jread_count_or_null(struct carm_jread *r, json_t *obj, const char *name);

/* An array of at most max numbers, at least zero. returns how many; 0 on failure */
size_t carm_jread_numbers(struct carm_jread *r, json_t *obj, const char *name, size_t max,
                          double *v);

/* An array of two numbers, at least zero, with value between them. A value that was computed
 * from other members may lie outside by a rounding error. */
void carm_jread_interval(struct carm_jread *r, json_t *obj, const char *name, double value,
                         double *lo, double *hi);

/* The member as an object, borrowed. */
json_t *carm_jread_object(struct carm_jread *r, json_t *obj, const char *name);

/* The member as an array of at most max objects, borrowed.
 * size    bytes of the struct that one object becomes
 * items   address of a pointer to such structs: set to a zeroed array for all objects, to be
 *         released with free
 * nitems  how many; 0 on failure */
json_t *carm_jread_array(struct carm_jread *r, json_t *obj, const char *name, size_t max,
                         size_t size, void *items, size_t *nitems);

/* Refuses members with names not in known[n]: a misspelt member would read as a missing one. */
void carm_jread_only(struct carm_jread *r, json_t *obj, const char *const *known, size_t n);

/* Reads "0x2A" or "0x30-0x4F", both at most `most`. returns false and notes the failure for another value */
bool carm_jread_range(struct carm_jread *r, json_t *v, const char *name, uint32_t most,
                      uint32_t *first, uint32_t *last);
