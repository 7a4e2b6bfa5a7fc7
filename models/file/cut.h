/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON text that is not parsed as a whole: where members are, and a model's text without what a fleet does
 * not look at. Brackets and strings are followed; numbers and words are taken as they are. */
#ifndef CARM_MODELS_FILE_CUT_H
#define CARM_MODELS_FILE_CUT_H

#include <stdbool.h>
#include <stddef.h>

#include "models/file/table.h"

/* Where a value is in a text. */
struct carm_span {
    const char *at; /* NULL = there is none */
    size_t size;
};

/* Finds members of the object that the text holds, and nothing else.
 * names   [n]
 * values  [n] out
 * returns false where the text is no object, has one of them twice, or goes on behind its end */
bool carm_span_find(const char *text, size_t size, const char *const *names, size_t n,
                    struct carm_span *values);

/* Copies the members that lean reading of a table looks at: most of a model's text is something else, and
 * a fleet has thousands of models.
 * dst  [size]
 * returns bytes; 0 where brackets or quotes do not close, or the text goes on behind its end */
size_t carm_table_cut(const struct carm_table *table, const char *text, size_t size, char *dst);

#endif
