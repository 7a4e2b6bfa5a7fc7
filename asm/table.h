/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table that nasm's output ends with: where each code lies in it, and the account that the macros
 * kept (CODE_END of asm/carm.inc). */
#ifndef CARM_ASM_TABLE_H
#define CARM_ASM_TABLE_H

#include "asm/code.h"
#include "asm/recount.h"

/* A view of an assembled image, whose bytes are borrowed. */
struct carm_table {
    const uint8_t *bytes; /* of the whole image, unaligned */
    size_t size;
    uint64_t begin; /* offset of the table, which is also where codes and constants end */
    size_t n;       /* codes in it */
};

/* returns 0 or -CARM_EFORMAT: these bytes are no such image */
int carm_table_open(struct carm_table *table, const uint8_t *bytes, size_t size,
                    struct carm_err *err);

/* The i-th code, i < n. name, layout and account are untouched on error.
 * returns 0 or -CARM_EFORMAT: its parts are out of order or outside the image */
int carm_table_entry(const struct carm_table *table, size_t i, char name[CARM_CODE_NAME_MAX],
                     struct carm_code_layout *layout, struct carm_account *account,
                     struct carm_err *err);

/* Finds a code by its name in a table that is sorted by name, as strcmp orders them.
 * returns false, with layout and account untouched: it is not there, or its entry is bad */
bool carm_table_find(const struct carm_table *table, const char *name,
                     struct carm_code_layout *layout, struct carm_account *account);

#endif
