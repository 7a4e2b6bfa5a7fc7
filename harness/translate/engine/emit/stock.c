/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Takes blocks from the stock, which carm has translated (harness/translate/layout.h). */
#include <string.h>

#include "harness/translate/engine/emit/emit.h"
#include "harness/translate/layout.h"

static const struct carm_stock *stock; /* NULL: none */

static bool same(const uint8_t *a, const uint8_t *b, uint32_t n)
{
    uint32_t i = 0;
    while (i + 8 <= n && carm_stock_word(a + i) == carm_stock_word(b + i)) {
        i += 8;
    }
    while (i < n && a[i] == b[i]) {
        i++;
    }
    return i == n;
}

/* Whether b is the block at pc: its bytes are those in memory, of which `left` may be read. */
static bool fits(const struct carm_stock_block *b, const struct carm_stock_parts *p, uint64_t pc,
                 uint64_t left)
{
    if (b->bytes > left || !same(carm_stock_data(b, p->bytes), (const uint8_t *)pc, b->bytes)) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        const uint64_t at = pc + (uint64_t)(int64_t)b->peeked[i];
        if (b->npeeked[i] &&
            (!carm_ranges_fixed(at, b->npeeked[i]) ||
             !same(carm_stock_data(b, p->peeked[i]), (const uint8_t *)at, b->npeeked[i]))) {
            return false;
        }
    }
    return true;
}

const struct carm_stock_block *carm_stock_find(const struct carm_stock *in, uint64_t pc,
                                               uint64_t left, struct carm_stock_parts *p)
{
    if (left < sizeof(uint64_t)) {
        return NULL;
    }
    uint32_t unit = __atomic_load_n(
        &in->places[carm_stock_place(pc, carm_stock_word((const void *)pc))], __ATOMIC_ACQUIRE);
    while (unit) {
        const struct carm_stock_block *b = carm_stock_at(in, unit);
        carm_stock_part(b, sizeof(struct carm_tally_row), p);
        if (fits(b, p, pc, left)) {
            return b;
        }
        unit = b->next;
    }
    return NULL;
}

void carm_stock_open(void)
{
    stock = carm_boot.stock ? (const struct carm_stock *)CARM_STOCK_AT : NULL;
}

void carm_stock_use(const struct carm_stock *of)
{
    stock = of;
}

static bool add(uint8_t *field, int64_t more)
{
    int32_t value;
    memcpy(&value, field, sizeof value);
    const int64_t sum = value + more;
    const int32_t low = (int32_t)sum;
    memcpy(field, &low, sizeof low);
    return sum == low;
}

/* Adjusts the copied code to its place.
 * alias  from an executable address to the writable address of the same byte
 * returns false: a displacement cannot reach its data */
static bool fix(const struct carm_stock_block *b, const struct carm_stock_parts *p,
                const struct carm_block *block, uint8_t *rare, ptrdiff_t alias, uint32_t first_link)
{
    const struct carm_stock_fix *fixes =
        (const struct carm_stock_fix *)(const void *)carm_stock_data(b, p->fixes);
    const int64_t moved = (int64_t)(block->pc - (uint64_t)block->code) - b->from_code;
    const int64_t rarely = (int64_t)((uint64_t)rare - (uint64_t)block->code) - b->from_rare;
    bool good = true;
    for (uint32_t i = 0; i < b->nfixes; i++) {
        uint8_t *at = (fixes[i].rare ? rare : block->code) + fixes[i].at + alias;
        switch (fixes[i].how) {
        case CARM_FIX_RELATIVE:
            good &= add(at, moved);
            break;
        case CARM_FIX_RARE:
            good &= add(at, rarely);
            break;
        case CARM_FIX_LINK:
            add(at, first_link);
            break;
        case CARM_FIX_COUNTER:
            add(at, INT64_C(8) * block->counter);
            break;
        default: {
            const uint64_t to = carm_stock_word(at) + block->pc;
            memcpy(at, &to, sizeof to);
            break;
        }
        }
    }
    return good;
}

static void fill_rows(const struct carm_stock_block *b, const struct carm_stock_parts *p,
                      const struct carm_block *block, struct carm_tally_row *rows)
{
    memcpy(rows, carm_stock_data(b, p->rows), b->nrows * sizeof *rows);
    for (uint32_t i = 0; i < b->nrows; i++) {
        const uint8_t end = rows[i].end;
        rows[i].pc += block->pc;
        rows[i].map = block->file_map;
        rows[i].entered =
            CARM_ROW_TAKEN | (block->entry && end != CARM_END_PART ? CARM_ROW_ENTERED : 0);
        if (end == CARM_END_JUMP || end == CARM_END_BRANCH || end == CARM_END_CALL) {
            rows[i].target += block->pc;
        }
    }
}

static void make_links(const struct carm_stock_block *b, const struct carm_stock_parts *p,
                       const struct carm_block *block, const struct carm_emit *e, uint8_t *rare)
{
    const struct carm_stock_link *from =
        (const struct carm_stock_link *)(const void *)carm_stock_data(b, p->links);
    for (uint32_t i = 0; i < b->nlinks; i++, from++) {
        struct carm_link *link = &carm_links[carm_nlinks++];
        *link = (struct carm_link){
            .target = block->pc + (uint64_t)(int64_t)from->target,
            .patch = from->patch == CARM_STOCK_NONE ? NULL : block->code + from->patch,
            .stub = from->stub == CARM_STOCK_NONE ? NULL : rare + from->stub,
            .resume = from->resume == CARM_STOCK_NONE ? NULL : block->code + from->resume,
            .from = (uint32_t)(block - carm_blocks) & 0xffffffU,
            .exit = from->exit & 0xffU};
        if (link->patch) {
            carm_aim(e, link->patch, link->stub);
        }
    }
}

struct carm_block *carm_stock_take(uint64_t pc, const struct carm_range *range, bool is_indirect)
{
    struct carm_stock_parts p;
    static struct carm_tally_row rows[UINT8_MAX];
    bool again;
    const uint64_t left = carm_ranges_left(pc, CARM_BLOCK_BYTES_MAX);
    if (!stock || !carm_account_all() ||
        (range->flags & (CARM_RANGE_CHANGES | CARM_RANGE_PROTECTED))) {
        return NULL;
    }
    const struct carm_stock_block *b = carm_stock_find(stock, pc, left, &p);
    struct carm_region *region = b && carm_ranges_fixed(pc, b->bytes) ? carm_cache_room(pc) : NULL;
    if (!region || carm_nblocks == CARM_BLOCKS_MAX || carm_nlinks + b->nlinks > CARM_LINKS_MAX ||
        carm_nmaps + b->nmaps > CARM_MAPS_MAX) {
        return NULL;
    }
    struct carm_block *block = &carm_blocks[carm_nblocks];
    struct carm_emit e = {region->at, region->alias, NULL};
    const unsigned before = is_indirect ? CARM_CHECK_BYTES : 0;
    e.at += (b->align - ((uint64_t)e.at + before)) & 63;
    uint8_t *rare = region->rare + (-(uint64_t)region->rare & 7);
    *block = (struct carm_block){.pc = pc,
                                 .bytes = b->bytes,
                                 .inc_end = b->inc_end,
                                 .copies = b->copies,
                                 .kept = -1,
                                 .map = carm_nmaps,
                                 .nmap = b->nmaps,
                                 .file_map = range->map};
    if (is_indirect) {
        carm_write_check(&e, block);
    }
    block->code = e.at;
    block->end = e.at + b->code;
    memcpy(carm_alias(&e, block->code), carm_stock_data(b, p.code),
           (uint64_t)(p.rare - p.code) * CARM_STOCK_UNIT);
    memcpy(carm_alias(&e, rare), carm_stock_data(b, p.rare),
           (uint64_t)(p.maps - p.rare) * CARM_STOCK_UNIT);
    fill_rows(b, &p, block, rows);
    block->counter = carm_account_rows(rows, b->nrows, &again);
    if (block->counter == UINT32_MAX || !fix(b, &p, block, rare, region->alias, carm_nlinks)) {
        return NULL; /* the counters of the block stay 0 */
    }
    block->single = b->copies > 1 ? block->counter + 1 : 0;
    __atomic_fetch_add(&CARM_TALLY->taken, again ? 0 : b->nrows, __ATOMIC_RELAXED);
    make_links(b, &p, block, &e, rare);
    memcpy(&carm_maps[carm_nmaps], carm_stock_data(b, p.maps), b->nmaps * sizeof *carm_maps);
    carm_nmaps += b->nmaps;
    carm_nblocks++;
    region->at = block->end;
    region->rare = rare + b->rare;
    carm_ranges_mark(pc, pc + block->bytes);
    for (int i = 0; i < 2; i++) {
        if (b->npeeked[i]) {
            block->peeked[i] = pc + (uint64_t)(int64_t)b->peeked[i];
            carm_ranges_mark(block->peeked[i], block->peeked[i] + b->npeeked[i]);
        }
    }
    carm_cache_add(region, block);
    if (is_indirect) {
        carm_cache_enter(block);
    }
    return block;
}
