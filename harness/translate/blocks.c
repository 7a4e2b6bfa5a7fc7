/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/translate/blocks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "harness/count/step/counts.h"

void carm_blocks_open(struct carm_blocks *blocks)
{
    memset(blocks, 0, sizeof *blocks);
    carm_modules_open(&blocks->modules);
}

void carm_blocks_close(struct carm_blocks *blocks)
{
    carm_modules_close(&blocks->modules);
    free(blocks->blocks);
    free(blocks->extras);
    free(blocks->places);
    memset(blocks, 0, sizeof *blocks);
}

int carm_blocks_add(struct carm_blocks *blocks, const struct carm_executed *block,
                    struct carm_err *err)
{
    const int rc = carm_array_grow(&blocks->blocks, &blocks->blocks_room, blocks->nblocks, 1,
                                   sizeof *blocks->blocks, "the blocks of the program", err);
    if (!rc) {
        blocks->blocks[blocks->nblocks++] = *block;
    }
    return rc;
}

int carm_blocks_add_extra(struct carm_blocks *blocks, const struct carm_extra *extra,
                          struct carm_err *err)
{
    const int rc = carm_array_grow(&blocks->extras, &blocks->extras_room, blocks->nextras, 1,
                                   sizeof *blocks->extras, "the blocks of the program", err);
    if (!rc) {
        blocks->extras[blocks->nextras++] = *extra;
    }
    return rc;
}

int carm_blocks_add_place(struct carm_blocks *blocks, uint32_t program, uint32_t counter,
                          const struct carm_executed *block, struct carm_err *err)
{
    const int rc = carm_array_grow(&blocks->places, &blocks->places_room, blocks->nplaces, 1,
                                   sizeof *blocks->places, "the blocks of the program", err);
    if (!rc) {
        blocks->places[blocks->nplaces++] = (struct carm_block_place){
            program, counter, block->module, block->at, block->executions};
    }
    return rc;
}

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_place(const void *left, const void *right)
{
    const struct carm_executed *a = left;
    const struct carm_executed *b = right;
    int order = compare(a->module, b->module);
    order = order ? order : compare(a->at, b->at);
    order = order ? order : compare(a->row.bytes, b->row.bytes);
    return order ? order : compare(a->row.end, b->row.end);
}

static int extras_by_place(const void *left, const void *right)
{
    const struct carm_extra *a = left;
    const struct carm_extra *b = right;
    const int order = compare(a->module, b->module);
    return order ? order : compare(a->at, b->at);
}

static int places_by_counter(const void *left, const void *right)
{
    const struct carm_block_place *a = left;
    const struct carm_block_place *b = right;
    const int order = compare(a->program, b->program);
    return order ? order : compare(a->counter, b->counter);
}

const struct carm_block_place *carm_blocks_place(const struct carm_blocks *blocks, uint32_t program,
                                                 uint32_t counter)
{
    const struct carm_block_place key = {.program = program, .counter = counter};
    return blocks->nplaces
               ? bsearch(&key, blocks->places, blocks->nplaces, sizeof key, places_by_counter)
               : NULL;
}

/* Whether two blocks have the same code, judged by their accounts, which have no padding.
 * Rewritten code has another account. */
static bool same_code(const struct carm_executed *a, const struct carm_executed *b)
{
    struct carm_step_counts x = {.instructions = 0};
    struct carm_step_counts y = {.instructions = 0};
    carm_tally_add(&x, &a->row, 1);
    carm_tally_add(&y, &b->row, 1);
    return by_place(a, b) == 0 && a->row.target == b->row.target && memcmp(&x, &y, sizeof x) == 0;
}

void carm_blocks_sort(struct carm_blocks *blocks)
{
    size_t n = 0;
    if (blocks->nblocks) {
        qsort(blocks->blocks, blocks->nblocks, sizeof *blocks->blocks, by_place);
    }
    for (size_t i = 0; i < blocks->nblocks; i++) {
        struct carm_executed *last = n ? &blocks->blocks[n - 1] : NULL;
        if (last && same_code(last, &blocks->blocks[i])) {
            last->executions += blocks->blocks[i].executions;
            last->row.entered |= blocks->blocks[i].row.entered;
        } else {
            blocks->blocks[n++] = blocks->blocks[i];
        }
    }
    blocks->nblocks = n;
    n = 0;
    if (blocks->nextras) {
        qsort(blocks->extras, blocks->nextras, sizeof *blocks->extras, extras_by_place);
    }
    for (size_t i = 0; i < blocks->nextras; i++) {
        struct carm_extra *last = n ? &blocks->extras[n - 1] : NULL;
        if (last && extras_by_place(last, &blocks->extras[i]) == 0) {
            carm_step_counts_add(&last->counts, &blocks->extras[i].counts, 1);
        } else {
            blocks->extras[n++] = blocks->extras[i];
        }
    }
    blocks->nextras = n;
    if (blocks->nplaces) {
        qsort(blocks->places, blocks->nplaces, sizeof *blocks->places, places_by_counter);
    }
}
