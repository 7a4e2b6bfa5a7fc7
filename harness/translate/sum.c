/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/translate/sum.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

#include "base/fd.h"
#include "base/hash.h"
#include "harness/translate/layout.h"
#include "harness/translate/memory_file.h"
#include "harness/count/step/counts.h"
#include "harness/translate/tally.h"

enum { OPEN_MAX_TALLIES = 512, FOLD_FROM = 64, CHUNK = 8192 };

struct located {
    uint64_t base;   /* address of the file's byte 0 */
    uint32_t module; /* number + 1; 0 = not found yet */
};

struct tally {
    int fd;
    pid_t pid; /* process that executed the program */
    uint32_t program;
    char *slots;     /* mapping of the tally's slots, to read their headers */
    uint32_t mapped; /* slots */
    bool cut;        /* a slot could not be added: no memory */
    int root;        /* directory at which the program's paths begin; -1 = carm's own root */
    uint32_t file;   /* module of the program + 1; 0 = unknown */
    uint64_t key;    /* of the program (carm_sums_key) */
    struct located
        *located; /* [CARM_TALLY_MAPS + 1] by the map's number; only while the tally is folded */
    char *header; /* header and rows */
    const struct carm_tally_row *ready; /* [nready] rows of ready code, in place of the header's */
    uint32_t nready;
    uint32_t passed;     /* counters whose code was passed to carm_sums_codes' take */
    uint32_t translated; /* of these, counters of blocks that are not from the stock */
};

struct carm_sums {
    struct tally tallies[OPEN_MAX_TALLIES];
    int n;
    struct carm_step_counts counts; /* counts of the closed tallies */
    struct { /* executions of ready code, which many programs share, are apart */
        const struct carm_tally_row *rows; /* [n] */
        uint64_t *counters;
        uint32_t n;
    } ready;
    struct carm_blocks blocks;       /* the counts by place in the code ... */
    bool wants_blocks, wants_places; /* ... if wanted */
    struct carm_marks marks;
    uint64_t threads, processes;
    uint64_t taken, counters;
    uint64_t compared; /* instructions */
    uint64_t execs;    /* number of tallies; all but the first belong to processes that were
                        * counted under another program before */
    char incomplete[CARM_TALLY_REASON_MAX];
    uint8_t unknown[16];
    uint32_t unknown_length;
    bool fixed;            /* the programs' addresses are the same in each run */
    struct timespec since; /* begin of the first program, or earlier */
    long processors;       /* of this machine */
    ino_t mounts;          /* carm's mount namespace; 0 = not read yet */
};

/* Programs can write their counts, so counts beyond what all processors can do in the time are refused. No processor
 * has reached 10 GHz. The fastest instruction is rep movsb, with one count for each byte: at most 64 bytes a cycle.
 * The most operations are AMX's, 2048 a cycle. Both bounds below are at least twice as high. */
#define MOST_HERTZ 1e10
enum { MOST_INSTRUCTIONS = 256, MOST_WORK = 4096 };
static const char impossible[] = "it has overwritten its counts: no processor reaches them";

static double most_cycles(const struct carm_sums *sums)
{
    struct timespec now = sums->since;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double seconds = (double)(now.tv_sec - sums->since.tv_sec) +
                           1e-9 * (double)(now.tv_nsec - sums->since.tv_nsec);
    return MOST_HERTZ * seconds * (double)(sums->processors > 0 ? sums->processors : 1);
}

static bool is_possible(const struct carm_sums *sums, const struct carm_step_counts *counts)
{
    const double cycles = most_cycles(sums);
    for (size_t i = 0; i < sizeof counts->q / sizeof counts->q[0]; i++) {
        if ((double)counts->q[i] > cycles * MOST_WORK) {
            return false;
        }
    }
    return (double)counts->instructions <= cycles * MOST_INSTRUCTIONS;
}

/* Whether corrections, which may be negative, are possible counts. */
static bool is_possible_extra(const struct carm_sums *sums, const struct carm_step_counts *extra)
{
    struct carm_step_counts counts = *extra;
    for (size_t i = 0; i < sizeof counts.q / sizeof counts.q[0]; i++) {
        counts.q[i] = (int64_t)counts.q[i] < 0 ? -counts.q[i] : counts.q[i];
    }
    return is_possible(sums, &counts);
}

#define HEAD_BYTES \
    ((size_t)CARM_TALLY_ROWS_AT + (size_t)CARM_TALLY_COUNTERS * sizeof(struct carm_tally_row))

int carm_sums_open(struct carm_sums **out, struct carm_err *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory");
    }
    carm_blocks_open(&(*out)->blocks);
    (*out)->wants_blocks = (*out)->wants_places = true;
    clock_gettime(CLOCK_MONOTONIC, &(*out)->since);
    (*out)->processors = sysconf(_SC_NPROCESSORS_CONF);
    return 0;
}

void carm_sums_want(struct carm_sums *sums, bool blocks, bool places)
{
    sums->wants_blocks = blocks;
    sums->wants_places = places;
}

static struct carm_tally *head(const struct tally *t)
{
    return (struct carm_tally *)(void *)t->header;
}

static struct carm_tally_slot *slot_of(const struct tally *t, uint32_t i)
{
    return (struct carm_tally_slot *)(void *)(t->slots + (uint64_t)i * CARM_TALLY_SLOT_BYTES +
                                              CARM_TALLY_SLOT_AT);
}

static uint32_t at_most(uint32_t n, uint32_t most)
{
    return n < most ? n : most;
}

/* Reads, once, a number that the program can overwrite at any time. */
static uint32_t number_in(const uint32_t *shared, uint32_t most)
{
    return at_most(__atomic_load_n(shared, __ATOMIC_ACQUIRE), most);
}

static size_t slots_bytes(uint32_t n)
{
    return (size_t)n * CARM_TALLY_SLOT_BYTES;
}

/* Number of slots in use, with all of their headers mapped. */
static uint32_t slots_of(struct tally *t)
{
    const uint32_t n = number_in(&head(t)->slots, CARM_TALLY_SLOTS);
    if (n > t->mapped) {
        void *more = mremap(t->slots, slots_bytes(t->mapped), slots_bytes(n), MREMAP_MAYMOVE);
        t->cut |= more == MAP_FAILED;
        t->slots = more == MAP_FAILED ? t->slots : more;
        t->mapped = more == MAP_FAILED ? t->mapped : n;
    }
    return at_most(n, t->mapped);
}

static void close_tally(struct tally *t)
{
    if (t->header != MAP_FAILED) {
        munmap(t->header, HEAD_BYTES);
    }
    if (t->slots != MAP_FAILED) {
        munmap(t->slots, slots_bytes(t->mapped));
    }
    carm_fd_close(t->root);
    close(t->fd);
}

void carm_sums_close(struct carm_sums *sums)
{
    for (int i = 0; sums && i < sums->n; i++) {
        close_tally(&sums->tallies[i]);
    }
    if (sums) {
        carm_blocks_close(&sums->blocks);
        free(sums->marks.of);
        free(sums->ready.counters);
    }
    free(sums);
}

/* ---- sums ---- */

/* Adds n words of the file to `words`. Holes of the sparse file are skipped.
 * n  words from `begin` on */
static void add_words(const struct tally *t, off_t begin, size_t n, uint64_t *words)
{
    const off_t end = begin + (off_t)(n * sizeof *words);
    static uint64_t chunk[CHUNK];
    for (off_t at = lseek(t->fd, begin, SEEK_DATA); at >= 0 && at < end;
         at = lseek(t->fd, at, SEEK_DATA)) {
        at = at < begin ? begin : at;
        const size_t want = (size_t)(end - at) < sizeof chunk ? (size_t)(end - at) : sizeof chunk;
        const ssize_t got = pread(t->fd, chunk, want, at);
        if (got <= 0) {
            break;
        }
        const size_t first = (size_t)(at - begin) / sizeof *chunk;
        for (size_t i = 0; i < (size_t)got / sizeof *chunk; i++) {
            words[first + i] += chunk[i];
        }
        at += got;
    }
}

/* Copies a row, which the program can write at any time.
 * entered  also read whether indirect branches enter the code, which the program notes in its tally */
static void read_row(const struct tally *t, uint32_t i, bool entered, struct carm_tally_row *out)
{
    const struct carm_tally_row *rows =
        (const struct carm_tally_row *)(const void *)(t->header + CARM_TALLY_ROWS_AT);
    memcpy(out, i < t->nready ? &t->ready[i] : &rows[i], sizeof *out);
    out->entered |= entered && i < t->nready ? rows[i].entered : 0;
}

static off_t slot_offset(uint32_t slot)
{
    return (off_t)CARM_TALLY_SLOTS_AT + (off_t)slot * CARM_TALLY_SLOT_BYTES;
}

static bool is_program(const struct carm_sums *sums, const struct tally *t, const char *path,
                       size_t length)
{
    const char *own = t->file ? carm_modules_path(&sums->blocks.modules, t->file - 1) : "";
    const size_t n = strlen(own);
    return n && length >= n && memcmp(path, own, n) == 0 &&
           (length == n || strcmp(path + n, " (deleted)") == 0);
}

/* The module of a map. The program's own file was opened when the program began. */
static int module_of(struct carm_sums *sums, const struct tally *t,
                     const struct carm_tally_map *map, uint32_t *module)
{
    const struct carm_mapping mapping = {.root = t->root,
                                         .begin = map->begin,
                                         .end = map->end,
                                         .inode = map->inode,
                                         .time_ns = map->time_ns};
    const size_t length = strnlen(map->path, sizeof map->path - 1);
    if (is_program(sums, t, map->path, length)) {
        *module = t->file - 1;
        return 0;
    }
    return carm_modules_find(&sums->blocks.modules, map->path, length, &mapping, module);
}

/* Converts an address of the program to file and offset.
 * number  of the map, + 1 */
static int locate(struct carm_sums *sums, const struct tally *t, uint32_t number, uint64_t pc,
                  uint32_t *module, uint64_t *at, uint64_t *base)
{
    const uint32_t maps = number_in(&head(t)->maps, CARM_TALLY_MAPS);
    struct located *known = &t->located[number <= maps ? number : 0];
    int rc = 0;
    if (!known->module) {
        struct carm_tally_map map = {.begin = 0};
        if (number && number <= maps) {
            memcpy(&map, t->header + CARM_TALLY_MAPS_AT + (size_t)(number - 1) * sizeof map,
                   sizeof map);
        }
        rc = module_of(sums, t, &map, module);
        known->base = map.begin - map.offset;
        known->module = rc ? 0 : *module + 1;
    } else {
        *module = known->module - 1;
    }
    *base = known->base;
    *at = pc - *base;
    return rc;
}

/* Adds increments of a row's counter, at most as many as the processors can execute. */
static void add_row(struct carm_sums *sums, const struct carm_tally_row *row, uint64_t increments,
                    double most)
{
    if ((double)increments > most) {
        snprintf(sums->incomplete, sizeof sums->incomplete, "%s", impossible);
    }
    carm_tally_add(&sums->counts, row, increments);
    sums->compared += row->compared ? increments * row->times * row->instructions : 0;
}

static void fold_ready(struct carm_sums *sums)
{
    const double most = most_cycles(sums) * MOST_INSTRUCTIONS;
    for (uint32_t i = 0; i < sums->ready.n; i++) {
        struct carm_tally_row row;
        if (sums->ready.counters[i]) {
            memcpy(&row, &sums->ready.rows[i], sizeof row);
            add_row(sums, &row, sums->ready.counters[i], most);
        }
    }
    free(sums->ready.counters);
    sums->ready.counters = NULL;
    sums->ready.rows = NULL;
    sums->ready.n = 0;
}

/* Adds up executions of ready code, to be counted by row once at the end: adding the rows of 100 programs with 2000
 * blocks each took 3% of their time.
 * returns false: no memory */
static bool gather_ready(struct carm_sums *sums, const struct tally *t, const uint64_t *counters)
{
    if (sums->ready.rows != t->ready || sums->ready.n != t->nready) {
        fold_ready(sums);
        sums->ready.counters = calloc((size_t)t->nready + 1, sizeof *counters);
        sums->ready.n = sums->ready.counters ? t->nready : 0;
        sums->ready.rows = t->ready;
    }
    for (uint32_t i = 0; i < sums->ready.n; i++) {
        sums->ready.counters[i] += counters[i];
    }
    return sums->ready.counters;
}

static int fold_blocks(struct carm_sums *sums, const struct tally *t, const uint64_t *counters,
                       uint32_t n)
{
    const double most =
        most_cycles(sums) * MOST_INSTRUCTIONS; /* an increment takes an instruction */
    const bool gathers = !sums->wants_blocks && t->nready && t->nready <= n;
    int rc = !gathers || gather_ready(sums, t, counters) ? 0 : -CARM_ENOMEM;
    for (uint32_t i = gathers ? t->nready : 0; i < n && !rc; i++) {
        uint64_t base = 0;
        struct carm_executed block = {.executions = 0};
        if (!counters[i]) {
            continue;
        }
        read_row(t, i, sums->wants_blocks, &block.row);
        block.row.entered &= CARM_ROW_ENTERED;
        add_row(sums, &block.row, counters[i], most);
        block.executions = counters[i] * block.row.times;
        block.row.times = 1;
        if (!sums->wants_blocks) {
            continue;
        }
        rc = locate(sums, t, block.row.map, block.row.pc, &block.module, &block.at, &base);
        block.row.pc = block.at;
        block.row.target -= base;
        rc = rc ? rc : carm_blocks_add(&sums->blocks, &block, NULL);
        if (!rc && sums->wants_places) {
            rc = carm_blocks_add_place(&sums->blocks, t->program, i, &block, NULL);
        }
    }
    return rc;
}

static int fold_extras(struct carm_sums *sums, const struct tally *t,
                       const struct carm_step_counts *extras, uint32_t n)
{
    const struct carm_tally_site *sites =
        (const struct carm_tally_site *)(const void *)(t->header + CARM_TALLY_SITES_AT);
    int rc = 0;
    for (uint32_t i = 0; i < n && !rc; i++) {
        uint64_t base = 0;
        struct carm_extra extra = {.counts = extras[i]};
        extra.counts.unknown_text[0] = '\0';
        if (!is_possible_extra(sums, &extra.counts)) {
            snprintf(sums->incomplete, sizeof sums->incomplete, "%s", impossible);
        }
        if (!sums->wants_blocks) {
            continue;
        }
        carm_step_counts_subtract(&sums->blocks.rest, &extra.counts);
        struct carm_tally_site site;
        memcpy(&site, &sites[i], sizeof site);
        rc = locate(sums, t, site.map, site.pc, &extra.module, &extra.at, &base);
        rc = rc ? rc : carm_blocks_add_extra(&sums->blocks, &extra, NULL);
    }
    return rc;
}

/* Takes the tally's reason, if it is a phrase of printable characters: others are not the engine's. */
static void take_reason(struct carm_sums *sums, const struct carm_tally *h)
{
    memcpy(sums->incomplete, h->reason, sizeof sums->incomplete);
    sums->incomplete[sizeof sums->incomplete - 1] = '\0';
    const char *at = sums->incomplete;
    while (isprint((unsigned char)*at)) {
        at++;
    }
    if (*at || at == sums->incomplete || h->reason[sizeof h->reason - 1]) {
        snprintf(sums->incomplete, sizeof sums->incomplete, "it has overwritten its counts");
    }
    const size_t used = strlen(sums->incomplete);
    if (strcmp(sums->incomplete, CARM_REASON_LACKS) == 0) {
        ZydisDisassembledInstruction x;
        if (ZYAN_SUCCESS(ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, 0, h->unknown_code,
                                               sizeof h->unknown_code, &x))) {
            snprintf(sums->incomplete + used, sizeof sums->incomplete - used, " (%s of %s)",
                     ZydisMnemonicGetString(x.info.mnemonic),
                     ZydisISASetGetString(x.info.meta.isa_set));
        }
    }
}

static void add_mark(struct carm_mark *to, const struct carm_mark *m)
{
    const struct carm_step_counts *again = to->calls > 1 ? &to->second : &to->first;
    const struct carm_step_counts *of[] = {&m->first, &m->second};
    to->differ = to->differ || m->differ;
    for (size_t i = 0; i < 2 && i < m->calls; i++) {
        to->differ = to->differ || memcmp(again->q, of[i]->q, sizeof again->q) != 0;
    }
    if (to->calls == 1) {
        to->second = m->first;
    }
    to->calls += m->calls;
    carm_step_counts_sum(&to->sum, &m->sum, 1);
}

/* The marks of one program. */
static void fold_marks(struct carm_sums *sums, const struct tally *t)
{
    const struct carm_tally_mark *marks =
        (const struct carm_tally_mark *)(const void *)(t->header + CARM_TALLY_MARKS_AT);
    const uint32_t n = number_in(&head(t)->marks, CARM_TALLY_MARKS);
    struct carm_mark *all = n ? realloc(sums->marks.of, (sums->marks.n + n) * sizeof *all) : NULL;
    sums->marks.lost += number_in(&head(t)->marks_lost, UINT32_MAX);
    if (n && !all) {
        snprintf(sums->incomplete, sizeof sums->incomplete, "there is no memory for its counts");
        return;
    }
    sums->marks.of = n ? all : sums->marks.of;
    for (uint32_t i = 0; i < n; i++) {
        struct carm_tally_mark of;
        struct carm_mark m = {.calls = 0};
        size_t k = 0;
        memcpy(&of, &marks[i], sizeof of); /* the program can write it at any time */
        memcpy(m.name, of.name, sizeof m.name - 1);
        m.iterations = of.iterations;
        m.calls = of.calls;
        m.differ = of.differ > 0;
        memcpy(m.first.q, of.first, sizeof of.first);
        memcpy(m.second.q, of.second, sizeof of.second);
        memcpy(m.sum.q, of.sum, sizeof of.sum);
        while (k < sums->marks.n &&
               (all[k].iterations != m.iterations || strcmp(all[k].name, m.name) != 0)) {
            k++;
        }
        if (!is_possible(sums, &m.sum)) {
            snprintf(sums->incomplete, sizeof sums->incomplete, "%s", impossible);
        } else if (m.calls && k < sums->marks.n) {
            add_mark(&all[k], &m);
        } else if (m.calls) {
            all[sums->marks.n++] = m;
        }
    }
}

static void fold(struct carm_sums *sums, struct tally *t)
{
    const struct carm_tally *h = head(t);
    const uint32_t n = number_in(&h->counters, CARM_TALLY_COUNTERS);
    const uint32_t sites = number_in(&h->sites, CARM_TALLY_SITES);
    const size_t words = sites * sizeof(struct carm_step_counts) / sizeof(uint64_t);
    uint64_t *counters = calloc(n + words + 1, sizeof *counters);
    t->located = calloc((size_t)CARM_TALLY_MAPS + 1, sizeof *t->located);
    for (uint32_t i = 0; counters && i < slots_of(t); i++) {
        struct carm_step_counts extra = slot_of(t, i)->extra;
        extra.unknown_text[0] = '\0';
        carm_step_counts_add(&sums->counts, &extra, 1);
        carm_step_counts_add(&sums->blocks.rest, &extra, 1);
        add_words(t, slot_offset(i) + CARM_TALLY_COUNTS_AT, n, counters);
        add_words(t, slot_offset(i) + CARM_TALLY_EXTRAS_AT, words, counters + n);
    }
    if (!counters || !t->located || t->cut || fold_blocks(sums, t, counters, n) != 0 ||
        fold_extras(sums, t, (const struct carm_step_counts *)(const void *)(counters + n),
                    sites) != 0) {
        snprintf(sums->incomplete, sizeof sums->incomplete, "there is no memory for its counts");
    }
    free(counters);
    free(t->located);
    t->located = NULL;
    fold_marks(sums, t);
    sums->counters += n;
    sums->taken += number_in(&h->taken, n);
    sums->threads += h->threads;
    sums->processes += h->processes;
    if (h->incomplete && !sums->incomplete[0]) {
        take_reason(sums, h);
    }
    if (!sums->unknown_length) {
        sums->unknown_length = number_in(&h->unknown_length, sizeof sums->unknown - 1);
        memcpy(sums->unknown, h->unknown_code, sizeof sums->unknown);
    }
}

/* Whether a process lives; a zombie does not. */
static bool lives(pid_t pid)
{
    char path[64];
    char line[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f) {
        return false;
    }
    const char *end = fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
    fclose(f);
    return end && end[1] == ' ' && end[2] != 'Z' && end[2] != 'X';
}

static bool in_use(struct tally *t)
{
    if (head(t)->slots == 0) { /* the process has not executed its first instruction */
        return lives(t->pid);
    }
    for (uint32_t i = 0; i < slots_of(t); i++) {
        const struct carm_tally_slot *slot = slot_of(t, i);
        if (__atomic_load_n(&slot->used, __ATOMIC_ACQUIRE) && lives(slot->pid)) {
            return true;
        }
    }
    return false;
}

bool carm_sums_in_use(struct carm_sums *sums)
{
    for (int i = 0; i < sums->n; i++) {
        if (in_use(&sums->tallies[i])) {
            return true;
        }
    }
    return false;
}

static void fold_ended(struct carm_sums *sums)
{
    for (int i = 0; i < sums->n;) {
        if (head(&sums->tallies[i])->slots && !in_use(&sums->tallies[i])) {
            fold(sums, &sums->tallies[i]);
            close_tally(&sums->tallies[i]);
            sums->tallies[i] = sums->tallies[--sums->n];
        } else {
            i++;
        }
    }
}

static bool shares_mounts(struct carm_sums *sums, pid_t pid)
{
    char link[64];
    struct stat own, its;
    if (!sums->mounts) {
        sums->mounts = stat("/proc/self/ns/mnt", &own) == 0 ? own.st_ino : 0;
    }
    snprintf(link, sizeof link, "/proc/%d/ns/mnt", (int)pid);
    return stat(link, &its) != 0 || !sums->mounts || its.st_ino == sums->mounts;
}

static bool open_tally(struct carm_sums *sums, pid_t pid, struct tally *out)
{
    struct tally t = {.fd = carm_memory_file("carm-tally", CARM_TALLY_BYTES),
                      .pid = pid,
                      .program = (uint32_t)sums->execs,
                      .slots = MAP_FAILED,
                      .mapped = 1,
                      .root = -1,
                      .header = MAP_FAILED};
    if (t.fd >= 0) {
        t.header = mmap(NULL, HEAD_BYTES, PROT_READ, MAP_SHARED, t.fd, 0);
        t.slots = mmap(NULL, slots_bytes(t.mapped), PROT_READ | PROT_WRITE, MAP_SHARED, t.fd,
                       CARM_TALLY_SLOTS_AT);
    }
    if (t.slots != MAP_FAILED) {
        madvise(t.slots, slots_bytes(t.mapped), MADV_DONTDUMP);
    }
    if (t.header == MAP_FAILED || t.slots == MAP_FAILED) {
        const int code = errno;
        if (t.fd >= 0) {
            close_tally(&t);
        }
        errno = code;
        return false;
    }
    *out = t;
    return true;
}

/* Whether addresses are the same in each run, which programs inherit. Without this, kept code would be of no use. */
static bool has_fixed_addresses(struct carm_sums *sums, pid_t pid)
{
    char path[64];
    unsigned personality = 0;
    if (sums->execs > 0) {
        return sums->fixed;
    }
    snprintf(path, sizeof path, "/proc/%d/personality", (int)pid);
    FILE *f = fopen(path, "re");
    sums->fixed = f && fscanf(f, "%x", &personality) == 1 && // NOLINT(cert-err34-c): the kernel's
                  (personality & ADDR_NO_RANDOMIZE);
    if (f) {
        (void)fclose(f);
    }
    return sums->fixed;
}

/* Opens the program's file and its root folder, which can be reached only while the process lives. */
static void look_at_process(struct carm_sums *sums, struct tally *t)
{
    char link[64], path[PATH_MAX];
    struct stat own, its;
    snprintf(link, sizeof link, "/proc/%d/exe", (int)t->pid);
    const ssize_t length = readlink(link, path, sizeof path);
    uint32_t number = 0;
    const struct carm_mapping mapping = {.pid = t->pid, .root = -1};
    if (length > 0 && length < (ssize_t)sizeof path &&
        carm_modules_find(&sums->blocks.modules, path, (size_t)length, &mapping, &number) == 0) {
        t->file = number + 1;
    }
    if (has_fixed_addresses(sums, t->pid) && t->file && stat(link, &its) == 0) {
        const uint64_t of[] = {its.st_dev, its.st_ino, (uint64_t)its.st_size,
                               (uint64_t)its.st_mtim.tv_sec, (uint64_t)its.st_mtim.tv_nsec};
        t->key =
            carm_hash_bytes(carm_hash_bytes(1, path, (size_t)length), (const char *)of, sizeof of);
    }
    snprintf(link, sizeof link, "/proc/%d/root", (int)t->pid);
    const int root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root >= 0 && fstat(root, &its) == 0 && stat("/", &own) == 0 &&
        (its.st_dev != own.st_dev || its.st_ino != own.st_ino || !shares_mounts(sums, t->pid))) {
        t->root = root;
        t->key = 0;
    } else if (root >= 0) {
        (void)close(root);
    }
}

int carm_sums_add(struct carm_sums *sums, pid_t pid, uint32_t *program, const char **why)
{
    struct tally t;
    if (sums->n >= FOLD_FROM) {
        fold_ended(sums);
    }
    if (sums->n == OPEN_MAX_TALLIES) {
        *why = "it starts too many programs";
        return -1;
    }
    if (!open_tally(sums, pid, &t)) {
        *why = errno == EFBIG ? "carm may not make a file of 64 GiB for its counts (ulimit -f)"
                              : "carm has no memory for its counts (ulimit -v)";
        return -1;
    }
    look_at_process(sums, &t);
    *program = t.program;
    sums->tallies[sums->n++] = t;
    sums->execs++;
    return t.fd;
}

/* ---- executed code ---- */

/* Number of counters of blocks that the program's processes have translated themselves. */
static uint32_t translated(const struct tally *t)
{
    const uint32_t counters = number_in(&head(t)->counters, CARM_TALLY_COUNTERS);
    return counters - number_in(&head(t)->taken, counters) +
           number_in(&head(t)->again, CARM_TALLY_COUNTERS);
}

uint64_t carm_sums_new_blocks(struct carm_sums *sums)
{
    uint64_t n = 0;
    for (int i = 0; i < sums->n; i++) {
        const struct tally *t = &sums->tallies[i];
        const uint32_t own = translated(t);
        n += own > t->translated ? own - t->translated : 0;
    }
    return n;
}

/* Passes the code of one map of a tally, for rows [begin, end), to take.
 * offsets  [end - begin] */
static void give_map(const struct tally *t, uint32_t number, uint32_t begin, uint32_t end,
                     uint32_t *offsets, void (*take)(void *arg, const struct carm_sums_code *),
                     void *arg)
{
    const struct carm_tally_row *rows =
        (const struct carm_tally_row *)(const void *)(t->header + CARM_TALLY_ROWS_AT);
    struct carm_tally_map map;
    memcpy(&map, t->header + CARM_TALLY_MAPS_AT + (size_t)(number - 1) * sizeof map, sizeof map);
    map.path[sizeof map.path - 1] = '\0';
    if (map.path[0] != '/' || map.end <= map.begin) {
        return;
    }
    struct carm_sums_code code = {.root = t->root >= 0 ? t->root : AT_FDCWD,
                                  .path = map.path + (t->root >= 0 ? 1 : 0),
                                  .offset = map.offset,
                                  .bytes = map.end - map.begin,
                                  .offsets = offsets};
    for (uint32_t i = begin; i < end; i++) {
        const uint64_t off = rows[i].pc - map.begin;
        if (rows[i].map == number && rows[i].end != CARM_END_PART &&
            !(rows[i].entered & CARM_ROW_TAKEN) && off < UINT32_MAX) {
            offsets[code.n++] = (uint32_t)off;
        }
    }
    if (code.n) {
        take(arg, &code);
    }
}

uint32_t carm_sums_file(const struct carm_sums *sums)
{
    return sums->n ? sums->tallies[sums->n - 1].file : 0;
}

uint64_t carm_sums_key(const struct carm_sums *sums)
{
    return sums->n ? sums->tallies[sums->n - 1].key : 0;
}

bool carm_sums_incomplete(const struct carm_sums *sums)
{
    bool is = sums->incomplete[0];
    for (int i = 0; i < sums->n; i++) {
        is |= head(&sums->tallies[i])->incomplete != 0;
    }
    return is;
}

bool carm_sums_executed(struct carm_sums *sums, uint32_t file, struct carm_sums_executed *out)
{
    const struct tally *t = NULL;
    uint32_t n = 0;
    for (int i = 0; i < sums->n; i++) {
        const uint32_t counters =
            number_in(&head(&sums->tallies[i])->counters, CARM_TALLY_COUNTERS);
        if (file && sums->tallies[i].file == file && counters > n) {
            t = &sums->tallies[i];
            n = counters;
        }
    }
    if (!t) {
        return false;
    }
    *out = (struct carm_sums_executed){.root = t->root >= 0 ? t->root : AT_FDCWD,
                                       .nmaps = number_in(&head(t)->maps, CARM_TALLY_MAPS)};
    out->maps = calloc((size_t)out->nmaps + 1, sizeof *out->maps);
    out->at = malloc(n * sizeof *out->at);
    if (!out->maps || !out->at) {
        free(out->maps);
        free(out->at);
        return false;
    }
    memcpy(out->maps, t->header + CARM_TALLY_MAPS_AT, out->nmaps * sizeof *out->maps);
    for (uint32_t i = 0; i < n; i++) {
        struct carm_tally_row row;
        read_row(t, i, true, &row);
        const struct carm_tally_map *map =
            row.map && row.map <= out->nmaps ? &out->maps[row.map - 1] : NULL;
        if (map && row.end != CARM_END_PART && row.pc >= map->begin && row.pc < map->end) {
            out->at[out->n++] = row.pc << 1 | (row.entered & CARM_ROW_ENTERED);
        }
    }
    return true;
}

bool carm_sums_prepare(struct carm_sums *sums, const struct carm_ready *ready, uint64_t mapped)
{
    struct tally *t = &sums->tallies[sums->n - 1];
    const struct carm_ready_part rows = ready->rows;
    const struct carm_tally h = {.counters = (uint32_t)(rows.bytes / sizeof *t->ready),
                                 .maps = ready->nfiles,
                                 .taken = (uint32_t)(rows.bytes / sizeof *t->ready)};
    const ssize_t maps = (ssize_t)ready->tally_maps.bytes;
    if (rows.at > mapped || rows.bytes > mapped - rows.at ||
        pwrite(t->fd, carm_ready_at(ready, &ready->tally_maps), (size_t)maps, CARM_TALLY_MAPS_AT) !=
            maps ||
        pwrite(t->fd, &h, sizeof h, 0) != (ssize_t)sizeof h) {
        return false;
    }
    t->ready = carm_ready_at(ready, &rows);
    t->nready = t->passed = h.counters;
    return true;
}

bool carm_sums_forks(const struct carm_sums *sums)
{
    enum { FORKS = 8 };
    for (int i = 0; i < sums->n; i++) {
        if (number_in(&head(&sums->tallies[i])->processes, UINT32_MAX) > FORKS) {
            return true;
        }
    }
    return false;
}

void carm_sums_codes(struct carm_sums *sums, void (*take)(void *arg, const struct carm_sums_code *),
                     void *arg)
{
    for (int i = 0; i < sums->n; i++) {
        struct tally *t = &sums->tallies[i];
        const uint32_t end = number_in(&head(t)->counters, CARM_TALLY_COUNTERS);
        const uint32_t maps = number_in(&head(t)->maps, CARM_TALLY_MAPS);
        const uint32_t begin = t->passed;
        uint32_t *offsets = take && end > begin ? malloc((end - begin) * sizeof *offsets) : NULL;
        for (uint32_t k = 1; offsets && k <= maps; k++) {
            give_map(t, k, begin, end, offsets, take, arg);
        }
        free(offsets);
        t->passed = end;
        t->translated = translated(t);
    }
}

void carm_sums_left(struct carm_sums *sums, pid_t pid)
{
    for (int k = 0; k < sums->n; k++) {
        struct tally *t = &sums->tallies[k];
        for (uint32_t i = 0; i < slots_of(t); i++) {
            struct carm_tally_slot *slot = slot_of(t, i);
            if (slot->used && slot->pid == pid) {
                __atomic_store_n(&slot->used, 0, __ATOMIC_RELEASE);
            }
        }
    }
}

static void name_unknown(const struct carm_sums *sums, struct carm_step_counts *counts)
{
    struct carm_accounts *accounts = NULL;
    struct carm_step_counts one = {.instructions = 0};
    if (counts->unknown && carm_accounts_open(&accounts, NULL, NULL) == 0) {
        carm_accounts_apply(accounts, NULL, sums->unknown, sums->unknown_length, NULL, &one);
        memcpy(counts->unknown_text, one.unknown_text, sizeof counts->unknown_text);
        carm_accounts_close(accounts);
    }
}

void carm_sums_take(struct carm_sums *sums, struct carm_sum *out, struct carm_blocks *blocks,
                    struct carm_marks *marks)
{
    const struct timespec moment = {0, 2000000};
    bool outlived = false;
    for (int k = 0; k < sums->n; k++) {
        bool used = in_use(&sums->tallies[k]);
        for (int i = 0; used && i < 10; i++) { /* the process may be ending */
            nanosleep(&moment, NULL);
            used = in_use(&sums->tallies[k]);
        }
        outlived |= used;
    }
    for (int k = 0; k < sums->n; k++) {
        fold(sums, &sums->tallies[k]);
    }
    fold_ready(sums);
    if (blocks) {
        carm_blocks_sort(&sums->blocks);
        *blocks = sums->blocks;
        carm_blocks_open(&sums->blocks);
    }
    out->counts = sums->counts;
    if (marks) {
        *marks = sums->marks;
        sums->marks = (struct carm_marks){.of = NULL};
    }
    out->compared = sums->compared;
    out->counters = sums->counters;
    out->taken = sums->taken;
    const uint64_t again = sums->execs > 1 ? sums->execs - 1 : 0;
    out->threads = sums->threads > again ? sums->threads - again : sums->threads;
    out->processes = sums->processes > again ? sums->processes - again : sums->processes;
    name_unknown(sums, &out->counts);
    if (!sums->incomplete[0] && !is_possible(sums, &out->counts)) {
        snprintf(sums->incomplete, sizeof sums->incomplete, "%s", impossible);
    }
    const char *why = sums->incomplete[0] ? sums->incomplete
                      : outlived ? "a child process was still running when the program ended"
                                 : "";
    snprintf(out->incomplete, sizeof out->incomplete, "%s", why);
}
