/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In a process of carm's that executes none of a program's code: ready code is made of the stock
 * (harness/translate/layout.h). */
#include <string.h>
#include <sys/mman.h>

#include "harness/translate/engine/emit/emit.h"

__attribute__((visibility("default"))) void carm_engine_ready(struct carm_ready_job *job);

enum { WORD = 64 };

static void mark(uint64_t *lines, const struct carm_tally_map *map, uint64_t begin, uint64_t end)
{
    end = end < map->end ? end : map->end;
    for (uint64_t i = (begin - map->begin) / CARM_READY_LINE;
         i * CARM_READY_LINE + map->begin < end; i++) {
        lines[i / WORD] |= UINT64_C(1) << i % WORD;
    }
}

/* Marks the lines of the program's code that the blocks of a file depend on. returns false: not all are of this file */
static bool mark_all(uint64_t *lines, const struct carm_tally_map *map, uint16_t number)
{
    for (uint32_t i = 0; i < carm_nblocks; i++) {
        const struct carm_block *block = &carm_blocks[i];
        if (block->file_map != number) {
            continue;
        }
        mark(lines, map, block->pc, block->pc + block->bytes);
        for (int k = 0; k < 2; k++) {
            const uint64_t at = block->peeked[k];
            if (at && (at < map->begin || at >= map->end)) {
                return false;
            }
            if (at) {
                mark(lines, map, at, at + CARM_PEEK_BYTES);
            }
        }
    }
    return true;
}

static bool is_marked(const uint64_t *lines, uint64_t i)
{
    return lines[i / WORD] >> i % WORD & 1;
}

/* Neighbours of the marked lines form runs, of at most so many that the engine compares one at a time. */
static bool put_lines(struct carm_ready *to, uint64_t *at, const struct carm_tally_map *map,
                      const uint64_t *lines, struct carm_ready_file *f)
{
    enum { MOST = 128 };
    const uint64_t n = (map->end - map->begin) / CARM_READY_LINE;
    uint64_t nruns = 0, nlines = 0;
    struct carm_ready_run *runs = NULL;
    uint8_t *bytes = NULL;
    for (int pass = 0; pass < 2; pass++) {
        struct carm_ready_run run = {0, 0};
        nruns = nlines = 0;
        for (uint64_t i = 0; i <= n; i++) {
            const bool marked = i < n && is_marked(lines, i);
            if (run.n && (!marked || run.n == MOST)) {
                if (runs) {
                    runs[nruns] = run;
                }
                nruns++;
                run.n = 0;
            }
            if (marked) {
                run.line = run.n ? run.line : (uint32_t)i;
                run.n++;
                if (bytes) {
                    memcpy(bytes + nlines * CARM_READY_LINE,
                           (const void *)(map->begin + i * CARM_READY_LINE), CARM_READY_LINE);
                }
                nlines++;
            }
        }
        if (pass == 0) {
            runs = carm_ready_room(to, at, &f->runs, nruns * sizeof *runs);
            bytes = runs ? carm_ready_room(to, at, &f->lines, nlines * CARM_READY_LINE) : NULL;
            if (!bytes) {
                return false;
            }
        }
    }
    return true;
}

static bool put_entries(struct carm_ready *to, uint64_t *at, uint16_t number,
                        struct carm_ready_file *f)
{
    struct carm_ready_entry *entries = NULL;
    uint64_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        n = 0;
        for (uint32_t i = 0; i < carm_nblocks; i++) {
            const struct carm_block *block = &carm_blocks[i];
            if (block->file_map == number && block->entered && entries) {
                entries[n] = (struct carm_ready_entry){.entry = (uint64_t)block->entry,
                                                       .chain = *block->chain,
                                                       .place = (uint32_t)(block->pc & 0xffff),
                                                       .block = i};
            }
            n += block->file_map == number && block->entered;
        }
        entries = pass == 0 ? carm_ready_room(to, at, &f->entries, n * sizeof *entries) : entries;
        if (!entries) {
            return false;
        }
    }
    return true;
}

static bool put_file(struct carm_ready *to, uint64_t *at, const struct carm_tally_map *map,
                     uint16_t number, struct carm_ready_file *f)
{
    const uint64_t bytes = (map->end - map->begin) / CARM_READY_LINE / 8 + sizeof(uint64_t);
    uint64_t *lines = map->begin ? carm_pages(bytes, PROT_READ | PROT_WRITE) : NULL;
    bool good = true;
    if (lines && mark_all(lines, map, number)) {
        *f = (struct carm_ready_file){.begin = map->begin, .end = map->end};
        good = put_lines(to, at, map, lines, f) && put_entries(to, at, number, f);
    }
    if (lines) {
        carm_pages_free(lines, bytes);
    }
    return good;
}

/* Blocks in the order in which the program came to them, so that those of one phase lie together. */
static void take_all(const struct carm_ready_job *job)
{
    const struct carm_tally_map *maps = job->maps;
    for (uint32_t i = 0; i < job->nfiles; i++) {
        if (maps[i].begin) {
            (void)carm_ranges_set(maps[i].begin, maps[i].end, true, CARM_RANGE_KNOWN);
            struct carm_range *range = carm_ranges_find(maps[i].begin);
            range->map = (uint16_t)(i + 1);
        }
    }
    for (uint32_t i = 0; i < job->n; i++) {
        const uint64_t pc = job->at[i] >> 1;
        const struct carm_range *range = carm_ranges_find(pc);
        if (range && !carm_cache_find(pc)) {
            (void)carm_stock_take(pc, range, job->at[i] & 1);
        }
    }
}

/* The entries of a file lead to those of files that were executed before, which are most often in use before. */
static void enter_by_file(uint32_t nfiles)
{
    static bool done[CARM_TALLY_MAPS + 1];
    carm_cache_leave_all();
    for (uint32_t first = 0; first < carm_nblocks; first++) {
        const uint16_t number = carm_blocks[first].file_map;
        for (uint32_t i = first; !done[number] && i < carm_nblocks; i++) {
            if (carm_blocks[i].file_map == number && carm_blocks[i].entered) {
                carm_cache_enter_again(&carm_blocks[i]);
            }
        }
        done[number] = number <= nfiles;
    }
}

void carm_engine_ready(struct carm_ready_job *job)
{
    const struct carm_tally_map *maps = job->maps;
    struct carm_ready *to = job->to;
    const struct carm_tally_row *rows =
        (const struct carm_tally_row *)(CARM_TALLY_AT + CARM_TALLY_ROWS_AT);
    uint64_t at = CARM_PAGE;
    carm_stock_use(job->stock);
    if (!carm_cache_open()) {
        return;
    }
    take_all(job);
    enter_by_file(job->nfiles);
    to->nfiles = job->nfiles;
    to->counters = CARM_TALLY->counters;
    const uint64_t row_bytes = to->counters * sizeof *rows;
    const uint64_t map_bytes = job->nfiles * sizeof *maps;
    bool good = carm_cache_store(to, &at);
    void *room = good ? carm_ready_room(to, &at, &to->rows, row_bytes) : NULL;
    if (room) {
        memcpy(room, rows, row_bytes);
        room = carm_ready_room(to, &at, &to->tally_maps, map_bytes);
    }
    if (room) {
        memcpy(room, maps, map_bytes);
        room = carm_ready_room(to, &at, &to->files, job->nfiles * sizeof(struct carm_ready_file));
    }
    struct carm_ready_file *files = room;
    for (uint32_t i = 0; i < job->nfiles && good; i++) {
        good = files && put_file(to, &at, &maps[i], (uint16_t)(i + 1), &files[i]);
    }
    to->bytes = good && files ? at : 0;
}
