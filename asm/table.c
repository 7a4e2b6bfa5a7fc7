/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "asm/table.h"

#include <string.h>

/* What CARM_FILE and CODE_END of asm/carm.inc lay down. */
struct image_header {
    uint64_t magic, table_begin, table_end, zero;
};
struct image_entry {
    uint64_t begin, end, loop_begin, loop_end;
    uint64_t loads, load_bytes, stores, store_bytes, nt_stores, fp_instructions, flops, prefetches;
    uint64_t int_instructions, instructions, stride_bytes, setup_loads, setup_load_bytes;
    char name[CARM_CODE_NAME_MAX];
};
#define IMAGE_MAGIC 0x314d524143ULL /* "CARM1" */

int carm_table_open(struct carm_table *table, const uint8_t *bytes, size_t size,
                    struct carm_err *err)
{
    struct image_header head;
    if (size < sizeof head) {
        return carm_fail(err, CARM_EFORMAT, "an image of test codes is only %zu bytes long", size);
    }
    memcpy(&head, bytes, sizeof head);
    if (head.magic != IMAGE_MAGIC || head.table_end > size || head.table_begin < sizeof head ||
        head.table_begin > head.table_end ||
        (head.table_end - head.table_begin) % sizeof(struct image_entry) != 0) {
        return carm_fail(err, CARM_EFORMAT, "an image of test codes has no table of them");
    }
    *table = (struct carm_table){.bytes = bytes,
                                 .size = size,
                                 .begin = head.table_begin,
                                 .n = (size_t)(head.table_end - head.table_begin) /
                                      sizeof(struct image_entry)};
    return 0;
}

static void read_entry(const struct carm_table *table, size_t i, struct image_entry *e)
{
    memcpy(e, table->bytes + table->begin + i * sizeof *e, sizeof *e);
    e->name[sizeof e->name - 1] = '\0';
}

int carm_table_entry(const struct carm_table *table, size_t i, char name[CARM_CODE_NAME_MAX],
                     struct carm_code_layout *layout, struct carm_account *account,
                     struct carm_err *err)
{
    struct image_entry e;
    read_entry(table, i, &e);
    if (e.begin < sizeof(struct image_header) || e.begin > e.loop_begin ||
        e.loop_begin > e.loop_end || e.loop_end > e.end || e.end > table->begin) {
        return carm_fail(err, CARM_EFORMAT, "entry %zu of an image of test codes lies outside it",
                         i);
    }
    memcpy(name, e.name, sizeof e.name);
    *layout = (struct carm_code_layout){e.begin, e.end, e.loop_begin, e.loop_end};
    *account = (struct carm_account){
        .loads = e.loads,
        .load_bytes = e.load_bytes,
        .stores = e.stores,
        .store_bytes = e.store_bytes,
        .nt_stores = e.nt_stores,
        .fp_instructions = e.fp_instructions,
        .flops = e.flops,
        .prefetches = e.prefetches,
        .int_instructions = e.int_instructions,
        .instructions = e.instructions,
        .stride_bytes = e.stride_bytes,
        .setup_loads = e.setup_loads,
        .setup_load_bytes = e.setup_load_bytes,
    };
    return 0;
}

bool carm_table_find(const struct carm_table *table, const char *name,
                     struct carm_code_layout *layout, struct carm_account *account)
{
    size_t low = 0;
    size_t high = table->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        struct image_entry e;
        char found[CARM_CODE_NAME_MAX];
        read_entry(table, middle, &e);
        const int order = strcmp(name, e.name);
        if (order == 0) {
            return carm_table_entry(table, middle, found, layout, account, NULL) == 0;
        }
        low = order > 0 ? middle + 1 : low;
        high = order < 0 ? middle : high;
    }
    return false;
}
