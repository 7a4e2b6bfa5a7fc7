/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "asm/builtin.h"

#include <string.h>

enum { ROW_BYTES = 64 }; /* of the table of constants, and its alignment */

int carm_builtin_open(struct carm_table *store, struct carm_err *err)
{
    const size_t size = (size_t)((uintptr_t)carm_builtin_end - (uintptr_t)carm_builtin_bytes);
    struct carm_err why = {""};
    memset(store, 0, sizeof *store);
    if (size == 0) {
        return 0;
    }
    const int rc = carm_table_open(store, carm_builtin_bytes, size, &why);
    return rc ? carm_fail(err, CARM_EFORMAT,
                          "the test codes that this program carries are damaged (%s): install it "
                          "anew",
                          why.text)
              : 0;
}

uint64_t carm_builtin_constants(const struct carm_table *store)
{
    char name[CARM_CODE_NAME_MAX];
    struct carm_code_layout layout = {.end = 0};
    struct carm_account account;
    if (store->n) {
        (void)carm_table_entry(store, store->n - 1, name, &layout, &account, NULL);
    }
    const uint64_t begin = (layout.end + ROW_BYTES - 1) / ROW_BYTES * ROW_BYTES;
    return begin < store->begin ? begin : store->begin;
}
