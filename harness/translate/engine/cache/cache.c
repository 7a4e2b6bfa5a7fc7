/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cache of translated code: regions near the program's modules, within reach of addresses
 * relative to the instruction pointer and each mapped twice (cache.h), and tables of blocks. A forgotten block is unlinked, but
 * its code stays: the block is used again when the program's code at its address becomes the
 * same again. The engine's lock protects everything here. */
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "harness/translate/engine/cache/cache.h"
#include "harness/translate/engine/sys.h"
#include "harness/translate/image.h"

enum {
    REGIONS_MAX = 64,
    BORROWED_MAX =
        REGIONS_MAX /
        2, /* with this many regions, a child copies a region instead of opening one more */
    HASH_FIRST = 1 << 12, /* places; twice the blocks at least */
    VERSIONS = 8,         /* forgotten blocks that are kept for one address */
    TABLE_MASK = 0xffff,
    BLOCK_LEAST = 16, /* bytes: a counter's increment of 9, an exit of 5, padding */
};
#define REGION_BYTES (UINT64_C(32) << 20)
#define REACH        (UINT64_C(1536) << 20)
#define STEP         (UINT64_C(64) << 20)
#define LOW          (UINT64_C(1) << 31)
#define LOW_TOP      (CARM_IMAGE_AT - REGION_BYTES)
#define LOW_TRIES    UINT64_C(12)

struct carm_block *carm_blocks;
struct carm_link *carm_links;
struct carm_map *carm_maps;
uint32_t carm_nblocks, carm_nlinks, carm_nmaps;
void *carm_table[1 << 16] __attribute__((visibility("default"), aligned(4096)));

static struct carm_region regions[REGIONS_MAX];
static uint32_t nregions;
static uint32_t *hash; /* block + 1 */
static uint32_t hash_places;

uint64_t carm_ready_bytes;
static bool tried[CARM_TALLY_MAPS + 1], awake[CARM_TALLY_MAPS + 1]; /* by a block's file_map */
static bool
    early[CARM_TALLY_MAPS + 1]; /* the file's entries are in the table before the file is mapped */
static uint32_t nready;         /* blocks of ready code: the first ones */

/* Whether a block of ready code has not been compared with the program's bytes. */
static bool is_asleep(uint32_t number)
{
    return number < nready && !awake[carm_blocks[number].file_map];
}

/* Populates all pages: places are used in random order, and each page would fault twice, for a read and for a write. */
static uint32_t *new_hash(uint32_t places)
{
    uint32_t *made = carm_pages((uint64_t)places * sizeof *made, PROT_READ | PROT_WRITE);
    if (made) {
        carm_pages_now(made, (uint64_t)places * sizeof *made);
    }
    return made;
}

static bool take_ready(void);
static void leave_chain(const struct carm_block *block);
static bool take_table(void);

bool carm_cache_open(void)
{
    const int prot = PROT_READ | PROT_WRITE;
    const struct carm_ready *r = (const struct carm_ready *)CARM_READY_AT;
    carm_blocks = carm_pages((uint64_t)CARM_BLOCKS_MAX * sizeof *carm_blocks, prot);
    carm_links = carm_pages((uint64_t)CARM_LINKS_MAX * sizeof *carm_links, prot);
    carm_maps = carm_pages((uint64_t)CARM_MAPS_MAX * sizeof *carm_maps, prot);
    if (carm_blocks && carm_links && carm_maps && carm_boot.ready && r->bytes && take_ready()) {
        return carm_ready != NULL && take_table();
    }
    carm_pages_now(carm_table, sizeof carm_table); /* its places are used in random order */
    hash_places = HASH_FIRST;
    hash = new_hash(hash_places);
    return carm_blocks && carm_links && carm_maps && hash;
}

/* ---- regions ---- */

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static void free_region(uint8_t *pages, uint8_t *alias)
{
    carm_pages_free(pages, REGION_BYTES);
    if (alias) {
        carm_pages_free(alias, REGION_BYTES);
    }
}

/* at  0 = anywhere */
static struct carm_region *new_region(uint64_t at)
{
    uint8_t *pages = carm_pages_reserve(at, REGION_BYTES);
    if (!pages) {
        return NULL;
    }
    uint8_t *alias = carm_pages_alias(REGION_BYTES);
    if (!alias || !carm_pages_execute(alias, pages, REGION_BYTES)) {
        free_region(pages, alias);
        return NULL;
    }
    struct carm_region *region = &regions[nregions];
    region->begin = region->at = pages;
    region->alias = alias - pages;
    region->end = region->begin + REGION_BYTES;
    region->rare_begin = region->rare =
        region->begin + REGION_BYTES / (carm_boot.sample.wanted ? 4 : 2);
    region->nblocks = 0;
    region->holder = CARM_REGION_OWN;
    /* the program's own code is in another region than the libraries', and often little */
    region->ahead = region->rare_ahead = (struct carm_ahead){0, nregions > 0};
    region->blocks =
        carm_pages(REGION_BYTES / BLOCK_LEAST * sizeof *region->blocks, PROT_READ | PROT_WRITE);
    if (!region->blocks) {
        free_region(pages, alias);
        return NULL;
    }
    nregions++;
    return region;
}

/* ---- ready code ----
 * Its regions are like regions that a forked child borrows: a process that must write to a region copies it. */

/* Maps a part in place of the engine's pages. */
static bool put(const struct carm_ready_part *part, void *to, int prot)
{
    return part->bytes == 0 ||
           carm_pages_map((int)carm_boot.ready - 1, part->at, to, part->bytes, prot);
}

static bool is_in_place(const void *at)
{
    return carm_ready && (uint64_t)at - CARM_READY_AT < carm_ready_bytes;
}

static bool take_region(const struct carm_ready *of, const struct carm_ready_region *r,
                        struct carm_region *region)
{
    *region = (struct carm_region){.begin = (uint8_t *)r->begin,
                                   .end = (uint8_t *)r->begin + REGION_BYTES,
                                   .at = (uint8_t *)r->at,
                                   .rare_begin = (uint8_t *)r->rare_begin,
                                   .rare = (uint8_t *)r->rare,
                                   .holder = CARM_REGION_BORROWED,
                                   .nblocks = (uint32_t)r->nblocks,
                                   .blocks = carm_ready_at(of, &r->blocks)};
    return put(&r->code, region->begin, PROT_READ | PROT_EXEC) &&
           put(&r->rarely, region->rare_begin, PROT_READ | PROT_EXEC);
}

/* Maps the ready code. returns false: the program has other memory at the code's addresses. carm_ready stays NULL if
 * memory ran out after a part was mapped */
static bool take_ready(void)
{
    const struct carm_ready *r = (const struct carm_ready *)CARM_READY_AT;
    const int rw = PROT_READ | PROT_WRITE;
    bool good = true;
    carm_ready_bytes = r->bytes;
    if (r->blocks.bytes != r->nblocks * sizeof *carm_blocks || r->nblocks > CARM_BLOCKS_MAX ||
        r->links.bytes != r->nlinks * sizeof *carm_links || r->nlinks > CARM_LINKS_MAX ||
        r->maps.bytes != r->nmaps * sizeof *carm_maps || r->nmaps > CARM_MAPS_MAX ||
        r->hash.bytes != r->places * sizeof *hash || (r->places & (r->places - 1)) ||
        r->places <= r->nblocks) {
        return false;
    }
    for (uint32_t i = 0; i < r->nregions; i++) {
        if (!carm_pages_reserve(r->regions[i].begin, REGION_BYTES)) {
            while (i-- > 0) {
                carm_pages_free((void *)r->regions[i].begin, REGION_BYTES);
            }
            return false;
        }
    }
    hash_places = r->places;
    hash = carm_ready_at(r, &r->hash);
    good = put(&r->blocks, carm_blocks, rw) && put(&r->links, carm_links, rw) &&
           put(&r->maps, carm_maps, rw);
    for (; nregions < r->nregions && good; nregions++) {
        good = take_region(r, &r->regions[nregions], &regions[nregions]);
    }
    carm_nblocks = nready = r->nblocks;
    carm_nlinks = r->nlinks;
    carm_nmaps = r->nmaps;
    carm_ready = good ? r : NULL;
    return true;
}

static bool same(const uint8_t *a, const uint8_t *b, uint64_t n)
{
    uint64_t i = 0;
    while (i < n && carm_stock_word(a + i) == carm_stock_word(b + i)) {
        i += sizeof(uint64_t);
    }
    return i >= n;
}

/* Whether the program has the lines on which the blocks of a file depend. A mapping may be longer than its file, so the
 * last line is copied first: if it can be read, all lines can. */
static bool has_lines(const struct carm_ready_file *f)
{
    static uint8_t last[CARM_READY_LINE];
    const struct carm_ready_run *run = carm_ready_at(carm_ready, &f->runs);
    const uint8_t *lines = carm_ready_at(carm_ready, &f->lines);
    const uint64_t n = f->runs.bytes / sizeof *run;
    const uint64_t end = n ? (uint64_t)run[n - 1].line + run[n - 1].n : 0;
    if (end * CARM_READY_LINE > f->end - f->begin) {
        return false;
    }
    const struct iovec from = {(void *)(f->begin + (end - 1) * CARM_READY_LINE), sizeof last};
    if (n && carm_copy_pieces(last, &from, 1, sizeof last) != 0) {
        return false;
    }
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t bytes = (uint64_t)run[i].n * CARM_READY_LINE;
        const uint8_t *at = (const uint8_t *)f->begin + (uint64_t)run[i].line * CARM_READY_LINE;
        if (run[i].line + (uint64_t)run[i].n > end || !same(at, lines, bytes)) {
            return false;
        }
        lines += bytes;
    }
    return true;
}

static const struct carm_ready_file *ready_file(uint32_t number)
{
    return (const struct carm_ready_file *)carm_ready_at(carm_ready, &carm_ready->files) +
           (number - 1);
}

/* Whether the blocks of a file may be executed. */
static bool fits(const struct carm_ready_file *f)
{
    return f->begin < f->end && carm_ranges_fixed(f->begin, f->end - f->begin) && has_lines(f);
}

static bool is_first_here(uint32_t number)
{
    const struct carm_ready_file *f = ready_file(number);
    const struct carm_range *range = carm_ranges_find(f->begin);
    return range && range->map == number && fits(f);
}

static bool overlaps(const struct carm_ready_file *f, uint64_t begin, uint64_t end)
{
    return f->begin < end && begin < f->end;
}

/* Whether the table's entries of a file fit this program: its code is there, or nothing is there yet. */
static bool is_entered(uint32_t number)
{
    const struct carm_ready_file *f = ready_file(number);
    bool free = f->end != 0;
    for (uint32_t i = 0; i < carm_boot.nranges; i++) {
        free = free && !overlaps(f, carm_boot.ranges[i].begin, carm_boot.ranges[i].end);
    }
    return f->entered == CARM_ENTERED_NOT ||
           (f->entered == CARM_ENTERED_FIRST ? is_first_here(number) : free);
}

/* Maps the table of ready code with its entries, if all files that are mapped now are unchanged. Writing the entries
 * one by one would copy 35 pages of the table for `true`, each at a page fault. returns false: no memory */
static bool take_table(void)
{
    bool here = carm_ready->table.bytes == sizeof carm_table;
    for (uint32_t i = 1; i <= carm_ready->nfiles && here; i++) {
        here = is_entered(i);
    }
    if (!here) {
        carm_pages_now(carm_table, sizeof carm_table);
        return true;
    }
    for (uint32_t i = 1; i <= carm_ready->nfiles; i++) {
        if (ready_file(i)->entered == CARM_ENTERED_FIRST) {
            tried[i] = awake[i] = true;
            carm_ranges_mark(ready_file(i)->begin, ready_file(i)->end);
        }
        early[i] = ready_file(i)->entered == CARM_ENTERED_LATER;
    }
    return put(&carm_ready->table, carm_table, PROT_READ | PROT_WRITE);
}

static void enter_all(const struct carm_ready_file *f)
{
    const struct carm_ready_entry *e = carm_ready_at(carm_ready, &f->entries);
    for (uint64_t i = 0; i < f->entries.bytes / sizeof *e; i++) {
        void **slot = &carm_table[e[i].place & TABLE_MASK];
        if (*slot == (void *)e[i].chain) {
            __atomic_store_n(slot, (void *)e[i].entry, __ATOMIC_RELEASE);
        } else { /* its chain cannot be written: the block gets a new entry when a branch misses */
            carm_blocks[e[i].block].entered = false;
            carm_blocks[e[i].block].entry = NULL;
            carm_blocks[e[i].block].chain = NULL;
        }
    }
}

/* Removes the entries of a file from the table, if the file is not mapped as expected. */
static void leave_early(uint32_t number)
{
    const struct carm_ready_file *f = ready_file(number);
    const struct carm_ready_entry *e = carm_ready_at(carm_ready, &f->entries);
    early[number] = false;
    for (uint64_t i = 0; i < f->entries.bytes / sizeof *e; i++) {
        leave_chain(&carm_blocks[e[i].block]);
    }
}

bool carm_cache_wake(const struct carm_range *range)
{
    const uint32_t number = range->map;
    if (!carm_ready || !number || number > carm_ready->nfiles || tried[number]) {
        return false;
    }
    const struct carm_ready_file *f = ready_file(number);
    tried[number] = true;
    if (!fits(f)) {
        return false;
    }
    if (!early[number]) {
        enter_all(f);
    }
    carm_ranges_mark(f->begin, f->end);
    awake[number] = true;
    return true;
}

void carm_cache_mapped(uint64_t begin, uint64_t end, bool all)
{
    for (uint32_t i = 1; carm_ready && i <= carm_ready->nfiles; i++) {
        const struct carm_ready_file *f = ready_file(i);
        if (!early[i] || tried[i] || !overlaps(f, begin, end)) {
            continue;
        }
        /* a part of a longer mapping may be mapped over later: such a file is compared when it is executed */
        const bool whole = all && begin == f->begin && end == f->end;
        const struct carm_range *range = whole ? carm_ranges_look(begin) : NULL;
        if (!range || range->map != i || !carm_cache_wake(range)) {
            leave_early(i);
        }
    }
}

void carm_cache_leave_all(void)
{
    for (uint32_t i = 0; i <= TABLE_MASK; i++) {
        carm_table[i] = (void *)(uintptr_t)carm_entry_miss;
    }
}

void carm_cache_enter_again(uint32_t number)
{
    struct carm_block *block = &carm_blocks[number];
    if (block->entered && !is_asleep(number)) {
        block->entered = false;
        carm_cache_enter(block);
    }
}

bool carm_cache_sleeps(uint32_t number)
{
    return !tried[number];
}

bool carm_cache_is_awake(uint32_t number)
{
    return !carm_ready || number > carm_ready->nfiles || awake[number];
}

void *carm_ready_room(struct carm_ready *to, uint64_t *at, struct carm_ready_part *part, uint64_t n)
{
    *part = (struct carm_ready_part){*at, n};
    *at += (n + CARM_PAGE - 1) & ~(uint64_t)(CARM_PAGE - 1);
    if (*at > CARM_READY_BYTES) {
        return NULL;
    }
    carm_pages_now(carm_ready_at(to, part), n);
    return carm_ready_at(to, part);
}

static bool store(struct carm_ready *to, uint64_t *at, struct carm_ready_part *part,
                  const void *from, uint64_t n)
{
    void *room = carm_ready_room(to, at, part, n);
    if (room) {
        memcpy(room, from, n);
    }
    return room;
}

static struct carm_region *region_of(uint64_t at)
{
    for (uint32_t i = 0; i < nregions; i++) {
        if (at >= (uint64_t)regions[i].begin && at < (uint64_t)regions[i].end) {
            return &regions[i];
        }
    }
    return NULL;
}

/* ---- forks ----
 * Parent and child share the memory of the code, and neither writes it: a child writes new blocks into its own region.
 * A process that must write to shared code copies it first. 300 forks of a small program take 217 ms of processor time;
 * with a copy at each fork 302 ms. */

enum { LINKS_LATER = 512 };
static uint32_t
    unlinked; /* exits through the engine since the fork; after LINKS_LATER, a copy that links them */

/* Copies the list of a region's blocks: the list in ready code has no room for more. */
static bool copy_blocks(struct carm_region *region)
{
    uint32_t *copy =
        carm_pages(REGION_BYTES / BLOCK_LEAST * sizeof *region->blocks, PROT_READ | PROT_WRITE);
    if (copy) {
        memcpy(copy, region->blocks, region->nblocks * sizeof *copy);
        region->blocks = copy;
    }
    return copy;
}

/* Copies a region's code. Other threads may be executing it. returns false: no memory */
static bool own(struct carm_region *region)
{
    const ptrdiff_t rare = region->rare_begin - region->begin;
    if (is_in_place(region->blocks) && !copy_blocks(region)) {
        return false;
    }
    uint8_t *alias = region->holder == CARM_REGION_OWN ? NULL : carm_pages_alias(REGION_BYTES);
    if (!alias) {
        return region->holder == CARM_REGION_OWN;
    }
    carm_pages_now(alias, (uint64_t)(region->at - region->begin));
    carm_pages_now(alias + rare, (uint64_t)(region->rare - region->rare_begin));
    memcpy(alias, region->begin, (size_t)(region->at - region->begin));
    memcpy(alias + rare, region->rare_begin, (size_t)(region->rare - region->rare_begin));
    if (!carm_pages_execute(alias, region->begin, REGION_BYTES)) {
        carm_pages_free(alias, REGION_BYTES);
        return false;
    }
    if (region->holder == CARM_REGION_LENT) {
        carm_pages_free(region->begin + region->alias, REGION_BYTES);
    }
    region->alias = alias - region->begin;
    region->ahead.until = region->rare_ahead.until = 0;
    region->holder = CARM_REGION_OWN;
    return true;
}

/* The writable address of 4 or 8 bytes of code; NULL: no memory, and the counting is given up. The thread then leaves
 * the cache before it executes code. */
static void *alias_of(const void *at)
{
    struct carm_region *region = region_of((uint64_t)at);
    if (!own(region)) {
        carm_give_up("there is no memory for the code of a forked process");
        return NULL;
    }
    return (uint8_t *)(uintptr_t)at + region->alias;
}

void carm_cache_fork_parent(void)
{
    for (uint32_t i = 0; i < nregions; i++) {
        if (regions[i].holder == CARM_REGION_OWN) {
            regions[i].holder = CARM_REGION_LENT;
        }
    }
    unlinked = 0;
}

void carm_cache_fork_child(void)
{
    carm_cache_forked = true;
    for (uint32_t i = 0; i < nregions; i++) {
        if (regions[i].holder != CARM_REGION_BORROWED) {
            carm_pages_free(regions[i].begin + regions[i].alias, REGION_BYTES);
            regions[i].holder = CARM_REGION_BORROWED;
        }
    }
    unlinked = 0;
}

/* ---- room for blocks and code ---- */

static void fill_ahead(struct carm_region *region)
{
    static struct carm_ahead blocks, links, maps;
    carm_pages_ahead(&blocks, &carm_blocks[carm_nblocks]);
    carm_pages_ahead(&links, &carm_links[carm_nlinks]);
    carm_pages_ahead(&maps, &carm_maps[carm_nmaps]);
    carm_pages_ahead(&region->ahead, region->at + region->alias);
    carm_pages_ahead(&region->rare_ahead, region->rare + region->alias);
}

static bool has_room(const struct carm_region *region)
{
    return region->rare_begin - region->at > CARM_BLOCK_CODE_MAX &&
           region->end - region->rare > CARM_BLOCK_CODE_MAX &&
           (region->holder != CARM_REGION_BORROWED || nregions >= BORROWED_MAX);
}

/* The latest region that has room and is within reach of pc (any: at any distance). NULL: none */
static struct carm_region *latest(uint64_t pc, bool any)
{
    for (uint32_t i = nregions; i > 0; i--) {
        const uint64_t begin = (uint64_t)regions[i - 1].begin;
        /* in the low 2 GiB every address reaches every other */
        const bool reaches = pc < LOW ? begin < LOW : distance(begin, pc) < REACH;
        if ((any || reaches) && has_room(&regions[i - 1])) {
            return &regions[i - 1];
        }
    }
    return NULL;
}

static struct carm_region *find_room(uint64_t pc)
{
    struct carm_region *region = latest(pc, false);
    if (region) {
        return own(region) ? region : NULL;
    }
    if (nregions == REGIONS_MAX) {
        return NULL;
    }
    if (pc < LOW) { /* far above the program's heap, below the engine */
        static bool full;
        for (uint64_t i = 0; !full && !region && i < LOW_TRIES; i++) {
            region = new_region(LOW_TOP - i * STEP);
        }
        full = !region;
        /* static arrays of 1.5 GiB and more may be in the way. Operands relative to rip then become absolute
         * (write.c); code of the stock is usable only if it has no such operands */
        region = region ? region : latest(pc, true);
        return !region ? new_region(0) : own(region) ? region : NULL;
    }
    /* Tries addresses below the code first: the heap grows above. One GiB around the code is left to the program,
     * unless the program has reserved everything beyond, like Java, whose C library reserves each STEP for a thread */
    const uint64_t page = pc & ~(STEP - 1), far = UINT64_C(1) << 30;
    for (uint64_t off = far; off < REACH - STEP && !region; off += STEP) {
        region = page > off + STEP ? new_region(page - off) : NULL;
    }
    for (uint64_t off = far; off < REACH - STEP && !region; off += STEP) {
        region = new_region(page + off);
    }
    for (uint64_t off = far; off > REGION_BYTES && !region; off -= REGION_BYTES) {
        region = page > off + STEP ? new_region(page - off) : NULL;
        region = region ? region : new_region(page + off);
    }
    return region;
}

struct carm_region *carm_cache_room(uint64_t pc)
{
    struct carm_region *region = find_room(pc);
    if (region) {
        fill_ahead(region);
    }
    return region;
}

struct carm_block *carm_cache_owner(uint64_t at)
{
    const struct carm_region *region = region_of(at);
    if (!region || region->nblocks == 0) {
        return NULL;
    }
    uint32_t low = 0;
    uint32_t high = region->nblocks;
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if ((uint64_t)carm_blocks[region->blocks[middle]].code <= at) {
            low = middle;
        } else {
            high = middle;
        }
    }
    struct carm_block *block = &carm_blocks[region->blocks[low]];
    return at >= (uint64_t)block->code && at < (uint64_t)block->end ? block : NULL;
}

static uint64_t source_of(uint64_t at)
{
    const struct carm_block *block = carm_cache_owner(at);
    for (uint32_t i = 0; block && i < block->nmap; i++) {
        const struct carm_map *map = &carm_maps[block->map + i];
        if ((uint64_t)block->code + map->cache == at) {
            return block->pc + map->source;
        }
    }
    return at;
}

uint64_t carm_cache_original(uint64_t at, bool half)
{
    const uint64_t low = UINT32_MAX;
    for (uint32_t i = 0; half && i < nregions; i++) {
        const uint64_t begin = (uint64_t)regions[i].begin;
        const uint64_t whole = begin + ((at - begin) & low);
        if (whole < (uint64_t)regions[i].end) {
            return source_of(whole);
        }
    }
    return half ? at : source_of(at);
}

/* ---- blocks by address ----
 * Open addressing. Forgotten blocks keep their entries until the table grows. */

static uint32_t hash_of(uint64_t pc)
{
    return (uint32_t)(pc * 0x9e3779b97f4a7c15ULL >> 32) & (hash_places - 1);
}

struct carm_block *carm_cache_find(uint64_t pc)
{
    for (uint32_t i = hash_of(pc); hash[i]; i = (i + 1) & (hash_places - 1)) {
        struct carm_block *block = &carm_blocks[hash[i] - 1];
        if (block->pc == pc && !block->gone && !is_asleep(hash[i] - 1)) {
            return block;
        }
    }
    return NULL;
}

/* Inserts a block. Of the forgotten versions at its address, VERSIONS are kept. */
static void insert(uint32_t number)
{
    const uint64_t pc = carm_blocks[number].pc;
    unsigned versions = 0;
    uint32_t i = hash_of(pc);
    for (; hash[i]; i = (i + 1) & (hash_places - 1)) {
        const struct carm_block *other = &carm_blocks[hash[i] - 1];
        if (other->pc == pc && other->gone && ++versions == VERSIONS) {
            break;
        }
    }
    hash[i] = number + 1;
}

struct carm_block *carm_cache_again(uint64_t pc, const uint8_t *bytes, uint64_t n, bool checked,
                                    const struct carm_block **latest)
{
    *latest = NULL;
    for (uint32_t i = hash_of(pc); hash[i]; i = (i + 1) & (hash_places - 1)) {
        struct carm_block *block = &carm_blocks[hash[i] - 1];
        if (block->pc != pc || !block->gone) {
            continue;
        }
        if (!block->last && block->checked == checked && block->bytes <= n &&
            memcmp(block->source, bytes, block->bytes) == 0) {
            block->gone = false;
            return block;
        }
        *latest = block > *latest ? block : *latest;
    }
    return NULL;
}

/* Doubles the table. Without memory the table stays as it is, and look-ups are slower. */
static void grow(void)
{
    uint32_t *bigger = new_hash(2 * hash_places);
    if (!bigger) {
        return;
    }
    uint32_t *old = hash;
    const uint32_t places = hash_places;
    hash = bigger;
    hash_places *= 2;
    for (uint32_t i = 0; i < places; i++) {
        if (old[i] && !carm_blocks[old[i] - 1].last) {
            insert(old[i] - 1);
        }
    }
    if (!is_in_place(old)) {
        carm_pages_free(old, places * sizeof *old);
    }
}

void carm_cache_add(struct carm_region *region, struct carm_block *block)
{
    const uint32_t number = (uint32_t)(block - carm_blocks);
    if (2 * carm_nblocks > hash_places) {
        grow();
    }
    insert(number);
    region->blocks[region->nblocks++] = number;
}

/* ---- links ---- */

uint32_t carm_link_new(uint32_t from, uint64_t target, enum carm_exit exit)
{
    if (carm_nlinks == CARM_LINKS_MAX) {
        return UINT32_MAX;
    }
    carm_links[carm_nlinks] = (struct carm_link){
        .target = target, .from = from & 0xffffffU, .exit = (unsigned)exit & 0xffU};
    return carm_nlinks++;
}

static bool reaches(const uint8_t *patch, const uint8_t *to)
{
    const int64_t off = (int64_t)((uint64_t)to - ((uint64_t)patch + 4));
    return off == (int32_t)off;
}

enum {
    JUMP = 0xe9,
    NOTHING = 0x0f
}; /* the byte before a jump's displacement: of a jump, of a nop in its place */

static bool is_nothing(const uint8_t *patch)
{
    return patch[-1] == NOTHING;
}

static bool is_conditional(const uint8_t *patch)
{
    return patch[-2] == 0x0f && (patch[-1] & 0xf0) == 0x80;
}

/* If the target is the code behind the jump, the jump becomes a nop of the same length: each executed jump takes a
 * place in the processor's branch predictor; cc1 takes 1.1 times as long with these jumps. Code behind a jump begins
 * at a multiple of 8, so that the 8 bytes before it are written at once. Other displacements lie within one cache line
 * (write.c). Other threads see the old instruction or the new one. */
static void set_jump(const uint8_t *patch, const uint8_t *to)
{
    static const uint8_t nothing[CARM_JUMP_BYTES] = {NOTHING, 0x1f, 0x44, 0, 0};
    const uint32_t off = (uint32_t)((uint64_t)to - ((uint64_t)patch + sizeof off));
    uint8_t *at = alias_of(patch);
    if (at && off != 0 && !is_nothing(patch)) {
        __atomic_store_n((uint32_t *)(void *)at, off, __ATOMIC_RELEASE);
    } else if (at) {
        union {
            uint8_t bytes[CARM_BLOCK_ALIGN];
            uint64_t word;
        } u;
        at -= sizeof u - sizeof off;
        memcpy(u.bytes, at, sizeof u);
        memcpy(u.bytes + sizeof u - CARM_JUMP_BYTES, nothing, CARM_JUMP_BYTES);
        if (off != 0) {
            u.bytes[sizeof u - CARM_JUMP_BYTES] = JUMP;
            memcpy(u.bytes + sizeof u - sizeof off, &off, sizeof off);
        }
        __atomic_store_n((uint64_t *)(void *)at, u.word, __ATOMIC_RELEASE);
    }
}

static const uint8_t *goes_to(const uint8_t *patch)
{
    int32_t off;
    memcpy(&off, patch, sizeof off);
    return patch + sizeof off + (is_nothing(patch) ? 0 : off);
}

void carm_cache_link(struct carm_link *link, struct carm_block *to)
{
    if (!link->patch || !reaches(link->patch, to->code) || carm_blocks[link->from].gone ||
        goes_to(link->patch) != link->stub) { /* another thread has linked the jump already */
        return;
    }
    if (region_of((uint64_t)link->patch)->holder != CARM_REGION_OWN && ++unlinked < LINKS_LATER) {
        return;
    }
    set_jump(link->patch, to->code);
    link->next = to->incoming;
    to->incoming = (uint32_t)(link - carm_links) + 1;
}

void carm_cache_link_all(void)
{
    for (uint32_t i = 0; i < nregions; i++) {
        if (regions[i].holder == CARM_REGION_LENT && !own(&regions[i])) {
            return;
        }
    }
    for (uint32_t i = 0; i < carm_nlinks; i++) {
        struct carm_block *to = carm_links[i].patch ? carm_cache_find(carm_links[i].target) : NULL;
        if (to && !is_asleep(carm_links[i].from)) {
            carm_cache_link(&carm_links[i], to);
        }
    }
}

/* A conditional branch whose target is the code behind the block gets the opposite condition, and the jump behind it
 * becomes a nop: without this, cc1 takes 1.1 times as long. No thread executes this code meanwhile.
 * taken, on  links of the branch and of the jump */
static void turn(struct carm_link *taken, struct carm_link *on)
{
    uint8_t *patch = taken->patch;
    if (!patch || !on->patch || !is_conditional(patch) ||
        goes_to(patch) != on->patch + sizeof(uint32_t)) {
        return;
    }
    uint8_t *condition = alias_of(patch - 1);
    if (condition) {
        const uint8_t *target = goes_to(patch);
        *condition ^= 1;
        set_jump(patch, goes_to(on->patch));
        set_jump(on->patch, target);
        taken->patch = on->patch;
        on->patch = patch;
    }
}

bool carm_cache_store(struct carm_ready *to, uint64_t *at)
{
    bool good = nregions <= CARM_READY_REGIONS;
    for (uint32_t i = 0; i < carm_nlinks; i++) {
        struct carm_link *link = &carm_links[i];
        struct carm_block *block = link->patch ? carm_cache_find(link->target) : NULL;
        if (block && block->file_map == carm_blocks[link->from].file_map) {
            carm_cache_link(link, block);
        }
        if (i > 0 && link->from == link[-1].from && !is_asleep(link->from)) {
            turn(&link[-1], link);
        }
    }
    to->nblocks = carm_nblocks;
    to->nlinks = carm_nlinks;
    to->nmaps = carm_nmaps;
    to->places = hash_places;
    good = good && store(to, at, &to->blocks, carm_blocks, carm_nblocks * sizeof *carm_blocks) &&
           store(to, at, &to->links, carm_links, carm_nlinks * sizeof *carm_links) &&
           store(to, at, &to->maps, carm_maps, carm_nmaps * sizeof *carm_maps) &&
           store(to, at, &to->hash, hash, hash_places * sizeof *hash);
    to->nregions = nregions;
    for (uint32_t i = 0; i < nregions && good; i++) {
        const struct carm_region *from = &regions[i];
        struct carm_ready_region *r = &to->regions[i];
        r->begin = (uint64_t)from->begin;
        r->at = (uint64_t)from->at;
        r->rare_begin = (uint64_t)from->rare_begin;
        r->rare = (uint64_t)from->rare;
        r->nblocks = from->nblocks;
        good = store(to, at, &r->code, from->begin, (uint64_t)(from->at - from->begin)) &&
               store(to, at, &r->rarely, from->rare_begin,
                     (uint64_t)(from->rare - from->rare_begin)) &&
               store(to, at, &r->blocks, from->blocks, from->nblocks * sizeof *from->blocks);
    }
    return good;
}

bool carm_cache_unlink_all(void)
{
    for (uint32_t i = 0; i < nregions; i++) {
        if (!own(&regions[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < carm_nblocks; i++) {
        carm_blocks[i].incoming = is_asleep(i) ? carm_blocks[i].incoming : 0;
    }
    for (uint32_t i = 0; i < carm_nlinks; i++) {
        const struct carm_link *link = &carm_links[i];
        if (link->patch && !is_asleep(link->from) && goes_to(link->patch) != link->stub) {
            set_jump(link->patch, link->stub);
        }
    }
    return true;
}

/* entry of a block: checks that the branch's target is this block
 *     mov ecx, gs:[target + 2]
 *     lea rcx, [rcx - (pc >> 16)]
 *     jrcxz on
 *     jmp [chain]
 * on: mov rcx, gs:[s_rcx]
 * The block's number is stored before the entry. Bits 48 and above of the target are not compared,
 * since that would cost another load at each return: a branch to a non-canonical address, which
 * should fault, then reaches the block. */
void carm_cache_enter(struct carm_block *block)
{
    void **slot = &carm_table[block->pc & TABLE_MASK];
    if (block->entered || !block->chain) {
        return;
    }
    uint64_t *chain = alias_of(block->chain);
    if (!chain) {
        return;
    }
    block->entered = true;
    __atomic_store_n(chain, (uint64_t)*slot, __ATOMIC_RELEASE);
    __atomic_store_n(slot, (void *)block->entry, __ATOMIC_RELEASE);
}

static void leave_chain(const struct carm_block *block)
{
    const uint64_t *at = (uint64_t *)(void *)&carm_table[block->pc & TABLE_MASK];
    bool in_table = true;
    while (*at != (uint64_t)block->entry) {
        if (*at == (uint64_t)(uintptr_t)carm_entry_miss) {
            return;
        }
        const struct carm_block *other = &carm_blocks[((const uint32_t *)*at)[-1]];
        if (!other->chain) {
            return;
        }
        at = other->chain;
        in_table = false;
    }
    uint64_t *written = in_table ? (uint64_t *)(uintptr_t)at : alias_of(at);
    if (written) {
        __atomic_store_n(written, *block->chain, __ATOMIC_RELEASE);
    }
}

/* Forgets a block. A block without a copy of its source, or with peeked code (live.c), never
 * comes back. */
static void forget(struct carm_block *block)
{
    block->gone = true;
    block->last |= !block->source || block->peeked[0] || block->peeked[1];
    for (uint32_t i = block->incoming; i; i = carm_links[i - 1].next) {
        struct carm_link *link = &carm_links[i - 1];
        set_jump(link->patch, link->stub);
    }
    block->incoming = 0;
    if (block->entered) {
        leave_chain(block);
        block->entered = false;
    }
}

void carm_cache_forget_block(struct carm_block *block)
{
    if (!block->gone) {
        forget(block);
    }
}

void carm_cache_forget_all(void)
{
    for (uint32_t i = 0; i < carm_nblocks; i++) {
        if (!is_asleep(i)) {
            carm_cache_forget_block(&carm_blocks[i]);
            carm_blocks[i].last = true;
        }
    }
}

static bool relies_on(const struct carm_block *block, uint64_t begin, uint64_t end)
{
    for (int i = 0; i < 2; i++) {
        const uint64_t at = block->peeked[i];
        if (at && at < end && at + CARM_PEEK_BYTES > begin) {
            return true;
        }
    }
    return block->pc < end && block->pc + block->bytes > begin;
}

void carm_cache_forget(uint64_t begin, uint64_t end)
{
    for (uint32_t i = 0; i < carm_nblocks; i++) {
        struct carm_block *block = &carm_blocks[i];
        if (!block->gone && !is_asleep(i) && relies_on(block, begin, end)) {
            forget(block);
        }
    }
}
