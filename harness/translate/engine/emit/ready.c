/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ready code (harness/translate/layout.h) is made of the stock, in a process of carm's that executes none of a program's
 * code, or of what a program has translated, at its end. */
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

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

/* Marks the lines of the program's code on which a file's blocks depend. returns false: a line is in another file */
static bool mark_all(uint64_t *lines, const struct carm_tally_map *map, uint16_t number)
{
    for (uint32_t i = 0; i < carm_nblocks; i++) {
        const struct carm_block *block = &carm_blocks[i];
        if (block->file_map != number || block->gone) {
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

/* Reads the program's bytes. returns false: unreadable, since a mapping may be longer than its file */
static bool read_runs(const struct carm_ready_run *run, uint64_t n, uint64_t begin, uint8_t *to)
{
    enum { PIECES = 256 };
    static struct iovec from[PIECES];
    for (uint64_t i = 0; i < n;) {
        uint64_t bytes = 0;
        uint32_t k = 0;
        for (; i < n && k < PIECES; i++, k++) {
            from[k] = (struct iovec){(void *)(begin + (uint64_t)run[i].line * CARM_READY_LINE),
                                     (uint64_t)run[i].n * CARM_READY_LINE};
            bytes += from[k].iov_len;
        }
        if (carm_copy_pieces(to, from, k, bytes) != 0) {
            return false;
        }
        to += bytes;
    }
    return true;
}

/* Stores the marked lines. Neighbouring lines form runs, of at most the length that the engine compares at a time. */
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
    return read_runs(runs, nruns, map->begin, bytes);
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

static bool copy_part(struct carm_ready *to, uint64_t *at, struct carm_ready_part *part,
                      const struct carm_ready_part *from)
{
    void *room = carm_ready_room(to, at, part, from->bytes);
    if (room) {
        memcpy(room, carm_ready_at(carm_ready, from), from->bytes);
    }
    return room;
}

/* Stores the lines of a file that this process has mapped.
 * returns false: the file's blocks cannot be used again */
static bool put_lines_of(struct carm_ready *to, uint64_t *at, const struct carm_tally_map *map,
                         uint16_t number, struct carm_ready_file *f)
{
    const uint64_t bytes = (map->end - map->begin) / CARM_READY_LINE / 8 + sizeof(uint64_t);
    uint64_t *lines = carm_ranges_fixed(map->begin, map->end - map->begin)
                          ? carm_pages(bytes, PROT_READ | PROT_WRITE)
                          : NULL;
    const bool good = lines && mark_all(lines, map, number) && put_lines(to, at, map, lines, f);
    if (lines) {
        carm_pages_free(lines, bytes);
    }
    return good;
}

/* Stores a file.
 * old  the file in the ready code with which this process began; NULL: not in it
 * returns false: no room */
static bool put_file(struct carm_ready *to, uint64_t *at, struct carm_tally_map *map,
                     uint16_t number, const struct carm_ready_file *old, struct carm_ready_file *f)
{
    const struct carm_range *range = carm_ranges_find(map->begin);
    bool good = false;
    *f = (struct carm_ready_file){.begin = map->begin, .end = map->end};
    if (old && carm_cache_sleeps(number)) {
        good = old->end && copy_part(to, at, &f->runs, &old->runs) &&
               copy_part(to, at, &f->lines, &old->lines);
    } else if (range && range->map == number && carm_cache_is_awake(number)) {
        good = put_lines_of(to, at, map, number, f);
    }
    if (!good) {
        map->begin = 0;
        *f = (struct carm_ready_file){.begin = 0};
        return true;
    }
    return put_entries(to, at, number, f);
}

/* Copies the blocks in the order of their first execution, so that blocks of one phase lie together. */
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

static enum carm_ready_entered entered[CARM_TALLY_MAPS + 1]; /* by a block's file_map */

/* Finds the files whose entries go into the table: the program and ld.so, which are mapped when a program begins, and
 * files that this program has mapped later and still has. returns whether there are files of the first sort */
static bool find_entered(const struct carm_tally_map *maps, uint32_t nfiles)
{
    bool any = false;
    for (uint32_t i = 1; i <= nfiles; i++) {
        const struct carm_tally_map *map = &maps[i - 1];
        const struct carm_range *now = carm_ranges_find(map->begin);
        if (map->path[0] == '/' && now && now->map == i && carm_cache_is_awake((uint16_t)i)) {
            entered[i] = CARM_ENTERED_LATER;
        }
        for (uint32_t k = 0; k < carm_boot.nranges && entered[i]; k++) {
            if (map->begin == carm_boot.ranges[k].begin && map->end == carm_boot.ranges[k].end) {
                entered[i] = CARM_ENTERED_FIRST;
                any = true;
            }
        }
    }
    return any;
}

/* Enters the blocks file by file, so that entries with equal places chain to entries of files that were executed
 * before: these are most often used before, too. */
static void enter_by_file(enum carm_ready_entered how, uint32_t nfiles)
{
    static bool done[CARM_TALLY_MAPS + 1];
    for (uint32_t begin = 0; begin < carm_nblocks; begin++) {
        const uint16_t number = carm_blocks[begin].file_map;
        if (done[number] || entered[number] != how) {
            continue;
        }
        for (uint32_t i = begin; i < carm_nblocks; i++) {
            if (carm_blocks[i].file_map == number) {
                carm_cache_enter_again(i);
            }
        }
        done[number] = number <= nfiles;
    }
}

/* Enters all blocks, first the blocks of files whose entries programs map with the table. returns false: no room */
static bool put_table(struct carm_ready *to, uint64_t *at, const struct carm_tally_map *maps,
                      uint32_t nfiles)
{
    carm_cache_leave_all();
    const bool any = find_entered(maps, nfiles);
    enter_by_file(CARM_ENTERED_FIRST, nfiles);
    enter_by_file(CARM_ENTERED_LATER, nfiles);
    void *table = any ? carm_ready_room(to, at, &to->table, sizeof carm_table) : NULL;
    if (table) {
        memcpy(table, carm_table, sizeof carm_table);
    }
    enter_by_file(CARM_ENTERED_NOT, nfiles);
    return table || !any;
}

/* Fills in all parts of ready code except the cache's blocks.
 * maps  [nfiles] of the program; a file that is not mapped in this process has begin 0 */
static void put_all(struct carm_ready *to, const struct carm_tally_map *maps, uint32_t nfiles)
{
    const struct carm_tally_row *tally =
        (const struct carm_tally_row *)(CARM_TALLY_AT + CARM_TALLY_ROWS_AT);
    uint64_t at = CARM_PAGE;
    to->nfiles = nfiles;
    to->counters = CARM_TALLY->counters;
    bool good = put_table(to, &at, maps, nfiles) && carm_cache_store(to, &at);
    struct carm_tally_row *rows =
        good ? carm_ready_room(to, &at, &to->rows, to->counters * sizeof *rows) : NULL;
    struct carm_tally_map *names =
        rows ? carm_ready_room(to, &at, &to->tally_maps, nfiles * sizeof *names) : NULL;
    struct carm_ready_file *files =
        names ? carm_ready_room(to, &at, &to->files, nfiles * sizeof *files) : NULL;
    if (files) {
        memcpy(names, maps, nfiles * sizeof *names);
    }
    for (uint32_t i = 0; files && i < to->counters; i++) {
        memcpy(&rows[i], carm_account_row_of(i), sizeof *rows);
        rows[i].entered |= CARM_ROW_TAKEN | tally[i].entered;
    }
    for (uint32_t i = 0; i < nfiles && files && good; i++) {
        const struct carm_ready_file *old =
            carm_ready && i < carm_ready->nfiles
                ? (const struct carm_ready_file *)carm_ready_at(carm_ready, &carm_ready->files) + i
                : NULL;
        good = put_file(to, &at, &names[i], (uint16_t)(i + 1), old, &files[i]);
        files[i].entered = entered[i + 1];
        to->table.bytes = files[i].entered && !files[i].end ? 0 : to->table.bytes;
    }
    to->bytes = good && files && at <= CARM_READY_BYTES ? at : 0;
}

void carm_engine_ready(struct carm_ready_job *job)
{
    carm_stock_use(job->stock);
    if (carm_cache_open()) {
        take_all(job);
        put_all(job->to, job->maps, job->nfiles);
    }
}

/* ---- the end of a program, or an exec that may fail ---- */

/* New blocks from which on leaving code is worth the time: LEAST, plus a PART-th of the old blocks. */
enum { LEAST = 64, PART = 8 };

/* The process that has executed the program. Forked children leave nothing: their blocks are a part of all blocks. */
static int32_t process;
static bool left; /* code is left once: a program may try an exec in many folders */

void carm_ready_begin(const struct carm_thread *t)
{
    process = t->slot->pid;
}

bool carm_ready_wanted(const struct carm_thread *t)
{
    const uint32_t old = carm_ready ? carm_ready->nblocks : 0;
    return carm_boot.left && !left && t->slot->pid == process &&
           carm_nblocks - old >= LEAST + old / PART && carm_account_all() &&
           !CARM_TALLY->unknown_length && !carm_given_up();
}

void carm_ready_leave(void)
{
    const uint32_t maps = CARM_TALLY->maps;
    left = true;
    if (carm_cache_unlink_all()) {
        put_all((struct carm_ready *)CARM_LEFT_AT,
                (const struct carm_tally_map *)(CARM_TALLY_AT + CARM_TALLY_MAPS_AT),
                maps < CARM_TALLY_MAPS ? maps : CARM_TALLY_MAPS);
    }
}
