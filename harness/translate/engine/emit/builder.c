/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The builder, a process of carm's that executes none of a program's code: it translates blocks for the stock
 * (harness/translate/layout.h). */
#include <string.h>

#include "harness/translate/engine/emit/emit.h"

_Static_assert(EXIT_FLAGS + 1 == CARM_STOCK_EXITS, "the last reason to leave a block");

static struct carm_notes notes;

__attribute__((visibility("default"))) void carm_engine_build(struct carm_stock *to,
                                                              struct carm_stock_job *job);

/* Fills the header of a block: the places of its notes, and the rest. returns false: other programs cannot use the
 * block */
static bool describe(const struct carm_block *block, const uint8_t *rare, const uint8_t *rare_end,
                     uint32_t first_link, uint32_t first_row, struct carm_stock_block *b)
{
    const struct carm_tally_row *rows =
        (const struct carm_tally_row *)(CARM_TALLY_AT + CARM_TALLY_ROWS_AT);
    const uint32_t nlinks = carm_nlinks - first_link;
    const uint32_t nrows = CARM_TALLY->counters - first_row;
    *b = (struct carm_stock_block){.bytes = (uint16_t)block->bytes,
                                   .code = (uint16_t)(block->end - block->code),
                                   .rare = (uint16_t)(rare_end - rare),
                                   .inc_end = block->inc_end,
                                   .nmaps = (uint16_t)block->nmap,
                                   .nfixes = (uint16_t)notes.n,
                                   .nlinks = (uint8_t)nlinks,
                                   .nrows = (uint8_t)nrows,
                                   .copies = block->copies,
                                   .align = (uint64_t)block->code & 63,
                                   .from_code = (int64_t)(block->pc - (uint64_t)block->code),
                                   .from_rare = rare - block->code};
    if (notes.full || block->checked || block->source || nlinks > UINT8_MAX || nrows > UINT8_MAX ||
        block->nmap > UINT16_MAX || block->counter != first_row) {
        return false;
    }
    for (uint32_t i = first_row; i < first_row + nrows; i++) {
        if (rows[i].unknown) { /* each program notes its own first unknown instruction */
            return false;
        }
    }
    for (int i = 0; i < 2; i++) {
        const int64_t off = (int64_t)(notes.peeked[i] - block->pc);
        if (notes.peeked[i] && off != (int32_t)off) {
            return false;
        }
        b->peeked[i] = notes.peeked[i] ? (int32_t)off : 0;
        b->npeeked[i] = notes.peeked[i] ? notes.npeeked[i] : 0;
    }
    return true;
}

static void subtract(uint8_t *field, uint32_t less)
{
    uint32_t value;
    memcpy(&value, field, sizeof value);
    value -= less;
    memcpy(field, &value, sizeof value);
}

/* Makes the copied code independent of its place: numbers count from 0, addresses from pc. */
static void put_fixes(struct carm_stock_block *b, const struct carm_stock_parts *p,
                      const struct carm_block *block, const uint8_t *rare, uint32_t first_link)
{
    struct carm_stock_fix *fixes = (struct carm_stock_fix *)(uintptr_t)carm_stock_data(b, p->fixes);
    for (uint32_t i = 0; i < notes.n; i++) {
        const uint8_t *at = notes.list[i].at;
        const bool is_rare = at < block->code || at >= block->end;
        fixes[i] = (struct carm_stock_fix){.at = (uint16_t)(at - (is_rare ? rare : block->code)),
                                           .rare = is_rare,
                                           .how = (uint8_t)notes.list[i].how};
        uint8_t *copy =
            (uint8_t *)(uintptr_t)carm_stock_data(b, is_rare ? p->rare : p->code) + fixes[i].at;
        if (notes.list[i].how == CARM_FIX_LINK) {
            subtract(copy, first_link);
        } else if (notes.list[i].how == CARM_FIX_COUNTER) {
            subtract(copy, 8 * block->counter);
        } else if (notes.list[i].how == CARM_FIX_PC) {
            const uint64_t off = carm_stock_word(copy) - block->pc;
            memcpy(copy, &off, sizeof off);
        }
    }
}

static uint16_t offset(const uint8_t *at, const uint8_t *from)
{
    return at ? (uint16_t)(at - from) : CARM_STOCK_NONE;
}

static void put_parts(struct carm_stock_block *b, const struct carm_stock_parts *p,
                      const struct carm_block *block, const uint8_t *rare, uint32_t first_link)
{
    struct carm_stock_link *links =
        (struct carm_stock_link *)(uintptr_t)carm_stock_data(b, p->links);
    struct carm_tally_row *rows = (struct carm_tally_row *)(uintptr_t)carm_stock_data(b, p->rows);
    memcpy((void *)(uintptr_t)carm_stock_data(b, p->bytes), (const void *)block->pc, block->bytes);
    for (int i = 0; i < 2; i++) {
        memcpy((void *)(uintptr_t)carm_stock_data(b, p->peeked[i]), (const void *)notes.peeked[i],
               b->npeeked[i]);
    }
    memcpy((void *)(uintptr_t)carm_stock_data(b, p->code), block->code, b->code);
    memcpy((void *)(uintptr_t)carm_stock_data(b, p->rare), rare, b->rare);
    memcpy((void *)(uintptr_t)carm_stock_data(b, p->maps), &carm_maps[block->map],
           b->nmaps * sizeof *carm_maps);
    for (uint32_t i = 0; i < b->nlinks; i++) {
        const struct carm_link *link = &carm_links[first_link + i];
        links[i] = (struct carm_stock_link){.target = (int32_t)(link->target - block->pc),
                                            .patch = offset(link->patch, block->code),
                                            .stub = offset(link->stub, rare),
                                            .resume = offset(link->resume, block->code),
                                            .exit = link->exit};
    }
    memcpy(rows,
           (const struct carm_tally_row *)(CARM_TALLY_AT + CARM_TALLY_ROWS_AT) + block->counter,
           b->nrows * sizeof *rows);
    for (uint32_t i = 0; i < b->nrows; i++) {
        rows[i].pc -= block->pc;
        rows[i].target -= rows[i].target ? block->pc : 0;
    }
    put_fixes(b, p, block, rare, first_link);
}

/* Adds a block. Programs may read the stock meanwhile: the block can be found only when it is complete. */
static bool put(struct carm_stock *to, const struct carm_block *block, const uint8_t *rare,
                const uint8_t *rare_end, uint32_t first_link, uint32_t first_row)
{
    struct carm_stock_block header;
    struct carm_stock_parts p;
    if (!describe(block, rare, rare_end, first_link, first_row, &header)) {
        return true;
    }
    carm_stock_part(&header, sizeof(struct carm_tally_row), &p);
    const uint32_t unit = to->used;
    if (unit + p.end > CARM_STOCK_BYTES / CARM_STOCK_UNIT) {
        return false;
    }
    header.place = carm_stock_place(block->pc, carm_stock_word((const void *)block->pc));
    uint32_t *place = &to->places[header.place];
    struct carm_stock_block *b = (struct carm_stock_block *)(uintptr_t)carm_stock_at(to, unit);
    header.next = *place;
    header.size = p.end;
    *b = header;
    put_parts(b, &p, block, rare, first_link);
    to->used = unit + p.end;
    to->blocks++;
    __atomic_store_n(place, unit, __ATOMIC_RELEASE);
    return true;
}

static bool build(struct carm_stock *to, uint64_t pc, uint64_t end)
{
    struct carm_stock_parts p;
    const char *why = NULL;
    struct carm_region *region = carm_cache_room(pc);
    if (end - pc < sizeof(uint64_t) || carm_cache_find(pc) ||
        carm_stock_find(to, pc, end - pc, &p)) {
        return true;
    }
    if (!region) {
        return false;
    }
    region->rare += -(uint64_t)region->rare & 7;
    const uint8_t *rare = region->rare;
    const uint32_t first_link = carm_nlinks;
    const uint32_t first_row = CARM_TALLY->counters;
    notes.n = 0;
    notes.full = false;
    notes.peeked[0] = notes.peeked[1] = 0;
    const struct carm_block *block = carm_translate(pc, false, &why);
    return !block || put(to, block, rare, region->rare, first_link, first_row);
}

void carm_engine_build(struct carm_stock *to, struct carm_stock_job *job)
{
    static bool opened;
    if (!opened && (!carm_cache_open() || !carm_account_open())) {
        return;
    }
    opened = true;
    carm_notes = &notes;
    (void)carm_ranges_set(job->begin, job->end, true, CARM_RANGE_KNOWN);
    for (uint32_t i = 0; i < job->n; i++) {
        if (job->offsets[i] < job->end - job->begin &&
            !build(to, job->begin + job->offsets[i], job->end)) {
            break;
        }
    }
    if (carm_ranges_set(job->begin, job->end, false, 0)) {
        carm_cache_forget(job->begin, job->end);
    }
}
