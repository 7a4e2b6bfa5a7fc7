/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads YAML as a stream of events by libyaml, with limits, for graphs, architectures and
 * analyses. An alias yields the items of its anchor; all aliases together yield no more items
 * than CARM_YAML_GROWTH for each character of the file so far, and no more than
 * CARM_YAML_COPIES_MAX: no small file can grow large. Tags that are not YAML's own, a second
 * document and nesting deeper than CARM_YAML_DEPTH_MAX are refused. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    CARM_YAML_DEPTH_MAX = 16,
    CARM_YAML_SCALAR_MAX = 1 << 20,
    CARM_YAML_GROWTH = 4,
    CARM_YAML_COPIES_MAX = 10000000
};

enum carm_yaml_kind {
    CARM_YAML_MAP,
    CARM_YAML_LIST,
    CARM_YAML_SCALAR,
    CARM_YAML_CLOSE, /* of the innermost map or list */
    CARM_YAML_END,   /* of the document */
};

struct carm_yaml_item {
    enum carm_yaml_kind kind;
    const char *text; /* of a scalar: UTF-8, without NUL inside; until the next item */
    size_t length;
    bool plain;  /* not quoted: may be null, a boolean or a number */
    size_t line; /* from 1; of the alias, where one gave it */
};

struct carm_yaml;

/* path "-" is standard input. returns 0, -CARM_EIO, -CARM_ENOMEM */
int carm_yaml_open(const char *path, struct carm_yaml **yaml, struct carm_err *err);
int carm_yaml_open_text(const char *text, size_t size_bytes, const char *name,
                        struct carm_yaml **yaml, struct carm_err *err); /* text borrowed */
void carm_yaml_close(struct carm_yaml *yaml);                           /* NULL allowed */

/* The next item. returns 0, -CARM_EIO, -CARM_ENOMEM, -CARM_EFORMAT (file, line, reason) */
int carm_yaml_next(struct carm_yaml *yaml, struct carm_yaml_item *item, struct carm_err *err);

/* The next key of a map: a scalar, or CARM_YAML_CLOSE at the map's end. Refused: a map or a list as
 * a key, and the merge key <<. */
int carm_yaml_key(struct carm_yaml *yaml, struct carm_yaml_item *item, struct carm_err *err);

/* The loops over a map's keys and a list's members: each call reads the next one.
 * rc  in: result of the call before, 0 at first; out: 0 or as carm_yaml_next
 * returns false at the end and after a failure */
bool carm_yaml_more_keys(struct carm_yaml *yaml, struct carm_yaml_item *key, int *rc,
                         struct carm_err *err);
bool carm_yaml_more_members(struct carm_yaml *yaml, struct carm_yaml_item *member, int *rc,
                            struct carm_err *err);

/* Passes over the value that begins next. */
int carm_yaml_skip(struct carm_yaml *yaml, struct carm_err *err);

/* Passes over the rest of the map or list that was opened last, and its close. */
int carm_yaml_leave(struct carm_yaml *yaml, struct carm_err *err);

/* Fills err with "FILE, line N: ..." and returns -CARM_EFORMAT. */
int carm_yaml_refuse(const struct carm_yaml *yaml, size_t line, struct carm_err *err,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The value of a scalar. Other values are refused with their line and the words of `what`.
 * carm_yaml_count: an integer 0 .. INT64_MAX, exact, also as 1_000; neither 1e6 nor 010
 * carm_yaml_number: finite */
int carm_yaml_count(const struct carm_yaml *yaml, const struct carm_yaml_item *item,
                    const char *what, uint64_t *value, struct carm_err *err);
int carm_yaml_number(const struct carm_yaml *yaml, const struct carm_yaml_item *item,
                     const char *what, double *value, struct carm_err *err);
int carm_yaml_bool(const struct carm_yaml *yaml, const struct carm_yaml_item *item,
                   const char *what, bool *value, struct carm_err *err);

/* Whether a scalar says "nothing": null, ~ or empty, unquoted. */
bool carm_yaml_is_null(const struct carm_yaml_item *item);
