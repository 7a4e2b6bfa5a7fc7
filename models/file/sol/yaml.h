/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a YAML document by libyaml into a tree, for graphs, architectures and analyses. An alias becomes a copy of its
 * anchor's items; all aliases together become no more items than CARM_YAML_GROWTH for each character of the file so
 * far, and no more than CARM_YAML_COPIES_MAX: no small file can grow large. Refused: tags that are not YAML's own, a
 * second document, nesting deeper than CARM_YAML_DEPTH_MAX, more items than CARM_YAML_ITEMS_MAX, and more text than
 * CARM_YAML_BYTES_MAX. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    CARM_YAML_DEPTH_MAX = 16,
    CARM_YAML_SCALAR_MAX = 1 << 20,
    CARM_YAML_GROWTH = 4,
    CARM_YAML_COPIES_MAX = 10000000,
    CARM_YAML_ITEMS_MAX = 1 << 25, /* 800 MiB of items: a graph of some 800 000 layers */
};
#define CARM_YAML_BYTES_MAX ((size_t)2 << 30)

enum carm_yaml_kind { CARM_YAML_MAP, CARM_YAML_LIST, CARM_YAML_SCALAR };

/* A map, a list or a scalar. Behind a list are its members, behind a map its keys, each followed by its value; each
 * member and value is followed by its own items. */
struct carm_yaml_item {
    uint8_t kind;    /* enum carm_yaml_kind */
    bool plain;      /* a scalar without quotes: it may be null, a boolean or a number */
    uint8_t depth;   /* number of maps and lists around the item */
    uint32_t line;   /* from 1; of the alias, for an item copied from an anchor */
    uint32_t length; /* of text */
    uint32_t size;   /* number of items: this one and all inside it */
    union {
        const char *text; /* of a scalar: UTF-8, without NUL inside; "" for a map and a list */
        size_t at; /* while the document is read: offset of text in the text of all scalars */
    };
};

struct carm_yaml;

/* Reads a whole document.
 * path  "-" is standard input
 * root  the message for a document that is not a map; NULL = any document is good
 * returns 0, -CARM_EIO, -CARM_ENOMEM, -CARM_EFORMAT (file, line, reason) */
int carm_yaml_open(const char *path, const char *root, struct carm_yaml **yaml,
                   struct carm_err *err);
int carm_yaml_open_text(const char *text, size_t size_bytes, const char *name, const char *root,
                        struct carm_yaml **yaml, struct carm_err *err);
void carm_yaml_close(struct carm_yaml *yaml); /* NULL allowed */

const struct carm_yaml_item *carm_yaml_root(const struct carm_yaml *yaml);

/* The item behind an item and all items inside it: the next member of a list; the next key behind a value. */
static inline const struct carm_yaml_item *carm_yaml_after(const struct carm_yaml_item *item)
{
    return item + item->size;
}

/* A map's keys in turn; key + 1 is the key's value. Refused: a map or a list as a key, and the merge key <<.
 * key  NULL at first, then the key before
 * rc   in: failure of the key before, which ends the loop; out: 0 or -CARM_EFORMAT
 * returns NULL at the end and after a failure */
const struct carm_yaml_item *carm_yaml_next_key(const struct carm_yaml *yaml,
                                                const struct carm_yaml_item *map,
                                                const struct carm_yaml_item *key, int *rc,
                                                struct carm_err *err);

/* Fills err with "FILE, line N: ..." and returns -CARM_EFORMAT. */
int carm_yaml_refuse(const struct carm_yaml *yaml, size_t line, struct carm_err *err,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The value of a scalar. Other values are refused with their line; what: the value's name in the message.
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
