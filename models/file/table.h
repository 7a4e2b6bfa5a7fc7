/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects of a JSON file by tables: one row for each member drives the reader, the writer and the test of
 * the schema. A member with a row in its table is read, checked and written without further code. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/json_read.h"

/* The kind of a member in the file, and the type that holds it. */
enum carm_member_kind {
    CARM_MEMBER_CONST,          /* the constant text `what`, without a member of the struct */
    CARM_MEMBER_TEXT,           /* char[size] */
    CARM_MEMBER_NAME,           /* char[size], not empty */
    CARM_MEMBER_TEXT_OR_NULL,   /* char[size]; null for "" */
    CARM_MEMBER_WORD,           /* an enum: the text words(value) */
    CARM_MEMBER_BOOL,           /* bool */
    CARM_MEMBER_INT,            /* int, at least `least` */
    CARM_MEMBER_COUNT,          /* uint64_t, at least `least` */
    CARM_MEMBER_COUNT_OR_NULL,  /* uint64_t, at least 1; null for 0 */
    CARM_MEMBER_NUMBER,         /* double, from least to most */
    CARM_MEMBER_NUMBER_ABOVE,   /* double, more than least */
    CARM_MEMBER_NUMBER_OR_NULL, /* double, at least 0; null for less */
    CARM_MEMBER_POSITIVE,       /* double, CARM_JREAD_LEAST to CARM_JREAD_MOST */
    CARM_MEMBER_POSITIVE_WHOLE, /* like POSITIVE; whole numbers are written without a fraction */
    CARM_MEMBER_NUMBERS,        /* double[most], at least 0; their number is a size_t at `other` */
    CARM_MEMBER_INTERVAL, /* struct carm_ci around the double at `other`, or around of(object) */
    CARM_MEMBER_OBJECT,   /* a struct of the table */
    CARM_MEMBER_ARRAY,    /* pointer to structs of the table, at most `most`; their number is a
                                 * size_t at `other` */
};

enum {
    CARM_MEMBER_OPTIONAL =
        1 << 0, /* may be missing; left out where it is 0, "" or empty (an object:
                                     * where its first member is) */
    CARM_MEMBER_WITH_LAST = 1 << 1, /* present exactly where the optional member before it is
                                     * present */
    CARM_MEMBER_KEY = 1 << 2,       /* no two objects of an array agree in all their keys */
    CARM_MEMBER_DETAIL = 1 << 3,    /* ignored in lean reading: a fleet does not use it */
};

struct carm_table;
struct carm_member;

/* Checks a member beyond what its row describes, after the member was read. Failures go to
 * carm_jread_bad.
 * root    the struct of the whole file; all members before this one have been read
 * object  the struct that the member is in */
typedef void carm_member_check(struct carm_jread *r, const struct carm_member *member,
                               const void *root, const void *object);

struct carm_member {
    const char *name;
    enum carm_member_kind kind;
    unsigned flags;
    size_t offset; /* in the struct of the object */
    size_t size;   /* of a text */
    size_t other;
    double least, most;
    const char *what;          /* of a constant: the text; of a word: the name of the words' set,
                                * for messages */
    const char *(*words)(int); /* NULL behind the last */
    double (*of)(const void *object);
    const struct carm_table *table;
    carm_member_check *check; /* NULL = none */
};

struct carm_table {
    const struct carm_member *members; /* in the order in which they are written */
    size_t n;
    size_t size; /* of the struct */
};

/* Reads an object into a zeroed struct. Members that the table does not know are ignored.
 * lean  members with CARM_MEMBER_DETAIL are not read and may be missing
 * After a failure, the members read so far are to be released with carm_table_free, too. */
void carm_table_read(struct carm_jread *r, json_t *object, const struct carm_table *table,
                     bool lean, void *dst);

/* The object of a struct, or NULL when out of memory. */
json_t *carm_table_make(const struct carm_table *table, const void *src);

/* Calls each with every text of a struct and of the structs in it, except words and constants. */
void carm_table_each_text(const struct carm_table *table, void *object,
                          void (*each)(const struct carm_member *member, char *text, void *arg),
                          void *arg);

/* Releases the arrays of a struct, not the struct. */
void carm_table_free(const struct carm_table *table, void *object);
