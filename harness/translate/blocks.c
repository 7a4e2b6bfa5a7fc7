/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/translate/blocks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
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
    free(blocks->index);
    free(blocks->extras);
    free(blocks->places);
    memset(blocks, 0, sizeof *blocks);
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

/* ---- blocks, each once ----
 * A script that starts 100 programs has 150 000 counters with counts, and 3000 blocks. */

/* Whether two blocks have the same code, judged by their accounts. Rewritten code has another account. */
static bool same_code(const struct carm_executed *a, const struct carm_executed *b)
{
    const struct carm_tally_row *x = &a->row, *y = &b->row;
    bool same = a->module == b->module && a->at == b->at && x->pc == y->pc &&
                x->target == y->target && x->bytes == y->bytes && x->end == y->end &&
                x->times == y->times;
#define SAME(member, ...) same = same && memcmp(&x->member, &y->member, sizeof x->member) == 0;
    CARM_STEP_COUNT_TABLE(SAME)
#undef SAME
    return same;
}

/* The place in the index that has the block, or the free place for it. */
static uint32_t *place_of(const struct carm_blocks *blocks, const struct carm_executed *block)
{
    const uint64_t key[] = {block->module, block->at};
    const uint64_t hash = carm_hash_bytes(blocks->seed, (const char *)key, sizeof key);
    size_t i = (size_t)(hash >> 32) & (blocks->index_room - 1);
    while (blocks->index[i] && !same_code(&blocks->blocks[blocks->index[i] - 1], block)) {
        i = (i + 1) & (blocks->index_room - 1);
    }
    return &blocks->index[i];
}

/* returns whether the index has room for one more block */
static bool make_room(struct carm_blocks *blocks)
{
    enum { FIRST = 1 << 12 };
    size_t room = blocks->index_room ? blocks->index_room : FIRST;
    while (room < 2 * (blocks->nblocks + 1)) {
        room *= 2;
    }
    if (blocks->index && room == blocks->index_room) {
        return true;
    }
    free(blocks->index);
    blocks->index = calloc(room, sizeof *blocks->index);
    blocks->index_room = room;
    blocks->seed = blocks->modules.paths.seed; /* secret: no program can provoke collisions */
    for (size_t i = 0; blocks->index && i < blocks->nblocks; i++) {
        *place_of(blocks, &blocks->blocks[i]) = (uint32_t)i + 1;
    }
    return blocks->index != NULL;
}

int carm_blocks_add(struct carm_blocks *blocks, const struct carm_executed *block,
                    struct carm_err *err)
{
    if (!make_room(blocks)) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the blocks of the program");
    }
    uint32_t *place = place_of(blocks, block);
    if (*place) {
        struct carm_executed *known = &blocks->blocks[*place - 1];
        known->executions += block->executions;
        known->row.entered |= block->row.entered;
        return 0;
    }
    const int rc = carm_array_grow(&blocks->blocks, &blocks->blocks_room, blocks->nblocks, 1,
                                   sizeof *blocks->blocks, "the blocks of the program", err);
    if (!rc) {
        blocks->blocks[blocks->nblocks++] = *block;
        *place = (uint32_t)blocks->nblocks;
    }
    return rc;
}

void carm_blocks_sort(struct carm_blocks *blocks)
{
    if (blocks->nblocks) {
        qsort(blocks->blocks, blocks->nblocks, sizeof *blocks->blocks, by_place);
    }
    free(blocks->index); /* the blocks' numbers have changed */
    blocks->index = NULL;
    size_t n = 0;
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
