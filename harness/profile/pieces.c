/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cuts blocks into pieces. The counts of a piece follow without its code: a block that begins
 * inside another block and ends with it has the counts of the other block's tail. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "harness/profile/flow.h"

enum { DEPTH_MAX = 256 };

struct cut {
    const struct carm_executed *blocks; /* of the module, without CARM_END_PART */
    size_t n;
};

static bool is_part(const struct carm_executed *b)
{
    return b->row.end == CARM_END_PART;
}

static uint64_t end_of(const struct carm_executed *b)
{
    return b->at + b->row.bytes;
}

/* The first block that begins at or after an offset. */
static size_t first_from(const struct cut *cut, uint64_t at)
{
    size_t low;
    CARM_ARRAY_BISECT(low, cut->n, middle, cut->blocks[middle].at < at);
    return low;
}

static void subtract(struct carm_step_counts *a, const struct carm_step_counts *b, uint64_t times)
{
    carm_step_counts_sum(a, b, (int64_t)(~times + 1));
}

static void add(struct carm_step_counts *a, const struct carm_step_counts *b, uint64_t times)
{
    carm_step_counts_sum(a, b, (int64_t)times);
}

/* The counts of one execution of [at, end), where both are begins or ends of blocks.
 * returns false when the blocks do not determine the counts */
static bool account(const struct cut *cut, uint64_t at, uint64_t end, int depth,
                    struct carm_step_counts *out)
{
    struct carm_step_counts rest = {.instructions = 0};
    const struct carm_executed *some = NULL;
    memset(out, 0, sizeof *out);
    for (size_t i = first_from(cut, at); i < cut->n && cut->blocks[i].at == at; i++) {
        if (!some || end_of(some) != end) {
            some = &cut->blocks[i];
        }
    }
    if (!some || depth == DEPTH_MAX) {
        return at == end;
    }
    carm_tally_add(out, &some->row, 1);
    if (end_of(some) > end) {
        if (!account(cut, end, end_of(some), depth + 1, &rest)) {
            return false;
        }
        subtract(out, &rest, 1);
    } else if (end_of(some) < end) {
        if (!account(cut, end_of(some), end, depth + 1, &rest)) {
            return false;
        }
        add(out, &rest, 1);
    }
    return true;
}

/* Makes the module's pieces, each once. returns their number */
static size_t make_pieces(const struct cut *cut, struct carm_piece *pieces)
{
    size_t n = 0;
    for (size_t i = 0; i < cut->n; i++) {
        if (n == 0 || pieces[n - 1].at != cut->blocks[i].at) {
            memset(&pieces[n], 0, sizeof pieces[n]);
            pieces[n++].at = cut->blocks[i].at;
        }
    }
    return n;
}

/* Adds a block's counts to its pieces, from the last piece to the first. */
static void cut_block(const struct cut *cut, struct carm_flow *flow, struct carm_piece *first,
                      const struct carm_executed *b)
{
    const struct carm_piece *behind = flow->pieces + flow->npieces;
    struct carm_piece *last = first;
    struct carm_step_counts tail = {.instructions = 0};
    while (last + 1 < behind && last[1].at < end_of(b)) {
        last++;
    }
    if (end_of(b) >= last->end) {
        last->end = end_of(b);
        last->ends = (enum carm_tally_end)b->row.end;
        last->target = b->row.target;
    }
    for (struct carm_piece *p = last; p >= first; p--) {
        struct carm_step_counts whole = {.instructions = 0};
        bool known = true;
        if (p == first) {
            carm_tally_add(&whole, &b->row, 1);
        } else {
            known = account(cut, p->at, end_of(b), 0, &whole);
        }
        if (known) {
            add(&p->counts, &whole, b->executions);
            subtract(&p->counts, &tail, b->executions);
            tail = whole;
        } /* else the counts stay with the piece before */
        p->executions += b->executions;
        if (p != last) {
            p->end = p[1].at;
            p->ends = CARM_END_NEXT;
        }
    }
    first->entered |= b->row.entered;
}

static void add_extra(struct carm_flow *flow, uint64_t at, const struct carm_step_counts *counts,
                      struct carm_step_counts *rest)
{
    struct carm_piece *piece = carm_flow_find(flow, at);
    add(piece ? &piece->counts : rest, counts, 1);
}

struct carm_piece *carm_flow_find(const struct carm_flow *flow, uint64_t at)
{
    size_t low;
    CARM_ARRAY_BISECT(low, flow->npieces, middle, flow->pieces[middle].at <= at);
    return low && at < flow->pieces[low - 1].end ? &flow->pieces[low - 1] : NULL;
}

int carm_flow_open(struct carm_flow *flow, const struct carm_blocks *blocks, uint32_t module,
                   struct carm_step_counts *rest, struct carm_err *err)
{
    size_t n = 0;
    struct carm_executed *own = calloc(blocks->nblocks + 1, sizeof *own);
    struct carm_piece *pieces = calloc(blocks->nblocks + 1, sizeof *pieces);
    memset(flow, 0, sizeof *flow);
    if (!own || !pieces) {
        free(own);
        free(pieces);
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the program's blocks");
    }
    for (size_t i = 0; i < blocks->nblocks; i++) {
        if (blocks->blocks[i].module == module && !is_part(&blocks->blocks[i])) {
            own[n++] = blocks->blocks[i];
        }
    }
    const struct cut cut = {own, n};
    flow->pieces = pieces;
    flow->npieces = make_pieces(&cut, pieces);
    struct carm_piece *piece = pieces;
    for (size_t i = 0; i < n; i++) {
        while (piece->at != own[i].at) {
            piece++;
        }
        cut_block(&cut, flow, piece, &own[i]);
    }
    for (size_t i = 0; i < blocks->nblocks; i++) {
        const struct carm_executed *b = &blocks->blocks[i];
        if (b->module == module && is_part(b)) {
            struct carm_step_counts counts = {.instructions = 0};
            carm_tally_add(&counts, &b->row, b->executions);
            add_extra(flow, b->at, &counts, rest);
        }
    }
    for (size_t i = 0; i < blocks->nextras; i++) {
        if (blocks->extras[i].module == module) {
            add_extra(flow, blocks->extras[i].at, &blocks->extras[i].counts, rest);
        }
    }
    free(own);
    return 0;
}

void carm_flow_close(struct carm_flow *flow)
{
    free(flow->pieces);
    free(flow->loops);
    memset(flow, 0, sizeof *flow);
}
