/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/profile/profile.h"

#include <assert.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/text.h"
#include "harness/count/step/counts.h"
#include "harness/profile/flow.h"
#include "harness/profile/symbols.h"

#define NO_ROW SIZE_MAX

/* The samples of one thread in one row. */
struct hit {
    size_t row;
    struct carm_sample sample;
};

struct builder {
    struct carm_profile *profile;
    const struct carm_profile_input *in;
    struct carm_symbols *symbols;
    struct hit *hits;
    size_t nhits, hits_room;
    size_t unknown; /* row + 1; 0 = none yet */
};

const char *carm_profile_kind_name(enum carm_profile_kind kind)
{
    static const char *const names[] = {"loop", "body", "function", "kernel", "others", "unknown"};
    return names[kind];
}

double carm_profile_trips(const struct carm_profile_row *row, bool *about)
{
    const double entries = 0.5 * ((double)row->entries_low + (double)row->entries_high);
    *about = row->entries_low != row->entries_high;
    return row->kind == CARM_PROFILE_LOOP && !row->irreducible && entries > 0.0 &&
                   row->entries_high / 2 <= row->entries_low
               ? (double)row->executions / entries
               : 0.0;
}

void carm_profile_close(struct carm_profile *profile)
{
    for (size_t i = 0; i < profile->ncodes; i++) {
        carm_code_close(&profile->codes[i]);
    }
    free(profile->codes);
    free(profile->rows);
    memset(profile, 0, sizeof *profile);
}

static int add_row(struct builder *b, enum carm_profile_kind kind, const char *name, size_t *row,
                   struct carm_err *err)
{
    struct carm_profile *p = b->profile;
    const int rc =
        carm_array_grow(&p->rows, &p->room, p->nrows, 1, sizeof *p->rows, "the profile", err);
    if (!rc) {
        *row = p->nrows++;
        memset(&p->rows[*row], 0, sizeof p->rows[*row]);
        p->rows[*row].kind = kind;
        p->rows[*row].spread = -1.0;
        snprintf(p->rows[*row].name, sizeof p->rows[*row].name, "%s", name);
    }
    return rc;
}

static int add_hit(struct builder *b, size_t row, const struct carm_sample *sample,
                   struct carm_err *err)
{
    const struct hit hit = {row, *sample};
    return carm_array_append(&b->hits, &b->hits_room, &b->nhits, &hit, sizeof hit, "the profile",
                             err);
}

static int unknown_row(struct builder *b, size_t *row, struct carm_err *err)
{
    int rc = 0;
    if (!b->unknown) {
        rc = add_row(b, CARM_PROFILE_UNKNOWN, "code of no known file", row, err);
        b->unknown = rc ? 0 : *row + 1;
    }
    *row = b->unknown - 1;
    return rc;
}

/* ---- one module ---- */

/* A module of either run. */
struct module {
    const char *path;
    uint64_t code;    /* see struct carm_module */
    unsigned version; /* number of the file among all files with this path: 1, 2, ... */
    struct carm_symbols_module *symbols;
    const struct carm_symbols_function *functions;
    size_t nfunctions;
    bool lines; /* whether lines of functions are worth reading (lines_are_worth) */
    struct carm_flow flow;
    size_t *loops; /* [flow.nloops] rows */
    struct {
        uint32_t function;
        size_t row;
    } * bodies; /* in order of their functions */
    size_t nbodies, bodies_room;
};

/* Functions have even numbers, the code between them odd ones. */
static uint32_t function_at(const struct module *m, uint64_t at)
{
    size_t low;
    CARM_ARRAY_BISECT(low, m->nfunctions, middle, m->functions[middle].begin <= at);
    const bool inside = low && at < m->functions[low - 1].end;
    return (uint32_t)(2 * low + (inside ? 0 : 1));
}

static const struct carm_symbols_function *function_of(const struct module *m, uint32_t number)
{
    return number % 2 == 0 && number ? &m->functions[number / 2 - 1] : NULL;
}

static uint64_t begins(void *arg, uint32_t number)
{
    const struct module *m = arg;
    const struct carm_symbols_function *f = function_of(m, number);
    assert(number < 2 || m->functions);
    return f ? f->begin : number >= 2 ? m->functions[number / 2 - 1].end : 0;
}

static bool is_library(const char *path)
{
    return strstr(carm_symbols_file(path), ".so") != NULL || path[0] == '[';
}

/* "dot in solve loop solve.c:42 [libx.so]" of code at an offset.
 * last  of a loop: offset of its last byte */
static void name_row(const struct module *m, struct carm_profile_row *row, uint32_t function,
                     uint64_t at, uint64_t last)
{
    char name[160] = "", inlined[160] = "", where[160] = "", file[128] = "";
    const struct carm_symbols_function *f = function_of(m, function);
    row->at = at;
    if (m->symbols) {
        carm_symbols_name(name, sizeof name, m->symbols, f, at);
        if (row->kind == CARM_PROFILE_LOOP &&
            *carm_symbols_inlined(inlined, sizeof inlined, m->symbols, at, last)) {
            carm_text_append(inlined, sizeof inlined, " in ");
        }
        if (m->lines || row->kind == CARM_PROFILE_LOOP) {
            carm_symbols_source(row->source, sizeof row->source, m->symbols, at, last);
        }
    }
    if (row->kind == CARM_PROFILE_LOOP && row->source[0]) {
        snprintf(where, sizeof where, " loop %.127s", row->source);
    } else if (row->kind == CARM_PROFILE_LOOP) {
        snprintf(where, sizeof where, " loop +0x%llx",
                 (unsigned long long)(at - (f ? f->begin : 0)));
    }
    snprintf(row->module, sizeof row->module, "%.127s", carm_symbols_file(m->path));
    if (is_library(m->path) && strncmp(name, row->module, strlen(row->module)) != 0) {
        snprintf(file, sizeof file, " [%.90s]", row->module);
    }
    if (m->code == CARM_MODULE_CHANGED) {
        snprintf(file, sizeof file, " [%.60s, which has changed]", row->module);
    } else if (m->version > 1) {
        snprintf(file, sizeof file, " [%.60s, file %u of this path]", row->module, m->version);
    }
    snprintf(row->name, sizeof row->name, "%.60s%.*s%.70s%.44s", inlined, CARM_SYMBOLS_NAME, name,
             where, file);
}

/* The row of a function's code outside loops, or of the whole function. */
static int body_of(struct builder *b, struct module *m, uint32_t function, uint64_t at, size_t *row,
                   struct carm_err *err)
{
    size_t k;
    CARM_ARRAY_BISECT(k, m->nbodies, middle, m->bodies[middle].function < function);
    if (k < m->nbodies && m->bodies[k].function == function) {
        *row = m->bodies[k].row;
        return 0;
    }
    int rc = carm_array_grow(&m->bodies, &m->bodies_room, m->nbodies, 1, sizeof *m->bodies,
                             "the profile", err);
    rc =
        rc ? rc
           : add_row(b, b->in->by == CARM_PROFILE_LOOPS ? CARM_PROFILE_BODY : CARM_PROFILE_FUNCTION,
                     "", row, err);
    if (rc) {
        return rc;
    }
    memmove(&m->bodies[k + 1], &m->bodies[k], (m->nbodies - k) * sizeof *m->bodies);
    m->bodies[k].function = function;
    m->bodies[k].row = *row;
    m->nbodies++;
    const struct carm_symbols_function *f = function_of(m, function);
    at = f ? f->begin : at;
    name_row(m, &b->profile->rows[*row], function, at, at);
    return 0;
}

/* Adds the offset in the function to the names of loops with the same source line (an inner and
 * an outer loop, versions of a loop), so that the names of two runs agree. */
static void tell_apart(struct carm_profile *p, const struct module *m)
{
    for (size_t i = 0; i < m->flow.nloops; i++) {
        struct carm_profile_row *row = &p->rows[m->loops[i]];
        const struct carm_loop *loop = &m->flow.loops[i];
        bool twice = false;
        for (size_t k = 0; row->source[0] && k < m->flow.nloops && !twice; k++) {
            twice = k != i && m->flow.loops[k].function == loop->function &&
                    strcmp(p->rows[m->loops[k]].source, row->source) == 0;
        }
        if (twice) {
            const uint64_t begin = begins((void *)(uintptr_t)m, loop->function);
            carm_text_append(row->name, sizeof row->name, " +0x%llx",
                             (unsigned long long)(loop->at - begin));
        }
    }
}

static int rows_of_loops(struct builder *b, struct module *m, struct carm_err *err)
{
    int rc = 0;
    m->loops = calloc(m->flow.nloops + 1, sizeof *m->loops);
    if (!m->loops) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the profile");
    }
    for (size_t i = 0; i < m->flow.nloops && !rc && b->in->by == CARM_PROFILE_LOOPS; i++) {
        const struct carm_loop *loop = &m->flow.loops[i];
        rc = add_row(b, CARM_PROFILE_LOOP, "", &m->loops[i], err);
        if (!rc) {
            struct carm_profile_row *row = &b->profile->rows[m->loops[i]];
            name_row(m, row, loop->function, loop->at, loop->end - 1);
            row->irreducible = loop->irreducible;
            row->executions = loop->executions;
            row->entries_low = loop->entries_low;
            row->entries_high = loop->entries_high;
            row->parent = loop->parent ? m->loops[loop->parent - 1] + 1 : 0;
        }
    }
    if (!rc && b->in->by == CARM_PROFILE_LOOPS) {
        tell_apart(b->profile, m);
    }
    return rc;
}

static int count_pieces(struct builder *b, struct module *m, struct carm_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < m->flow.npieces && !rc; i++) {
        const struct carm_piece *p = &m->flow.pieces[i];
        size_t row = 0;
        if (p->loop && b->in->by == CARM_PROFILE_LOOPS) {
            row = m->loops[p->loop - 1];
        } else {
            rc = body_of(b, m, p->function, p->at, &row, err);
        }
        if (!rc) {
            struct carm_profile_row *r = &b->profile->rows[row];
            carm_step_counts_add(&r->counts, &p->counts, 1);
            const struct carm_symbols_function *f = function_of(m, p->function);
            const uint64_t calls = p->at == begins(m, p->function) ? p->executions : 0;
            r->executions += r->kind != CARM_PROFILE_LOOP ? calls : 0;
            r->allocations += f && f->allocates ? calls : 0;
        }
    }
    return rc;
}

/* The row of the code at an offset. */
static int row_of(struct builder *b, struct module *m, uint64_t at, size_t *row,
                  struct carm_err *err)
{
    const struct carm_piece *piece = carm_flow_find(&m->flow, at);
    if (piece && piece->loop && b->in->by == CARM_PROFILE_LOOPS) {
        *row = m->loops[piece->loop - 1];
        return 0;
    }
    return body_of(b, m, function_at(m, at), at, row, err);
}

/* number  of the module in the counted run */
static int place_places(struct builder *b, struct module *m, uint32_t number, struct carm_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < b->in->nplaces && !rc; i++) {
        struct carm_profile_place *place = &b->in->places[i];
        if (place->module == number) {
            rc = row_of(b, m, place->at, &place->row, err);
        }
    }
    return rc;
}

static int place_samples(struct builder *b, struct module *m, struct carm_err *err)
{
    const struct carm_samples *s = b->in->samples;
    int rc = 0;
    for (size_t i = 0; s && i < s->nsamples && !rc; i++) {
        const struct carm_sample *sample = &s->samples[i];
        if (s->modules.list[sample->module].code != m->code ||
            strcmp(carm_modules_path(&s->modules, sample->module), m->path) != 0) {
            continue;
        }
        size_t row = 0;
        rc = row_of(b, m, sample->at, &row, err);
        rc = rc ? rc : add_hit(b, row, sample, err);
    }
    return rc;
}

static int code_of(struct builder *b, const struct module *m, size_t loop, uint32_t function,
                   uint32_t number, size_t row, int fd, struct carm_err *err)
{
    struct carm_profile *p = b->profile;
    int rc = carm_array_grow(&p->codes, &p->codes_room, p->ncodes, 1, sizeof *p->codes,
                             "the profile", err);
    rc = rc ? rc : carm_code_open(&p->codes[p->ncodes], &m->flow, loop, function, number, fd, err);
    if (!rc) {
        p->rows[row].code = ++p->ncodes;
    }
    return rc;
}

static size_t outermost(const struct carm_flow *flow, size_t loop)
{
    while (flow->loops[loop].parent) {
        loop = flow->loops[loop].parent - 1;
    }
    return loop;
}

/* Reads the code of the rows with samples, and of the loops around and inside these. */
static int codes_of(struct builder *b, const struct module *m, uint32_t number, int file,
                    size_t first_hit, struct carm_err *err)
{
    int rc = 0;
    int fd = b->in->by != CARM_PROFILE_LOOPS ? -1
             : file >= 0                     ? fcntl(file, F_DUPFD_CLOEXEC, 0)
                                             : carm_module_open(AT_FDCWD, m->path);
    if (fd >= 0 && file < 0 && carm_module_code(fd) != m->code) {
        close(fd);
        fd = -1;
    }
    bool *wanted = calloc(m->flow.nloops + 1, sizeof *wanted); /* outermost loops */
    rc = wanted ? 0 : carm_fail(err, CARM_ENOMEM, "not enough memory for the profile");
    for (size_t k = first_hit; k < b->nhits && !rc && fd >= 0; k++) {
        const size_t row = b->hits[k].row;
        for (size_t i = 0; i < m->flow.nloops; i++) {
            if (m->loops[i] == row) {
                wanted[outermost(&m->flow, i)] = true;
            }
        }
        for (size_t i = 0; i < m->nbodies && !rc && !b->profile->rows[row].code; i++) {
            if (m->bodies[i].row == row) {
                rc = code_of(b, m, CARM_CODE_BODY, m->bodies[i].function, number, row, fd, err);
            }
        }
    }
    for (size_t i = 0; i < m->flow.nloops && !rc; i++) {
        if (wanted[outermost(&m->flow, i)]) {
            rc = code_of(b, m, i, m->flow.loops[i].function, number, m->loops[i], fd, err);
        }
    }
    free(wanted);
    carm_fd_close(fd);
    return rc;
}

static bool has_module(const struct carm_modules *modules, const char *path, uint64_t code)
{
    for (uint32_t i = 0; i < modules->n; i++) {
        if (modules->list[i].code == code && strcmp(carm_modules_path(modules, i), path) == 0) {
            return true;
        }
    }
    return false;
}

/* How many of the first n modules have this path and are not among `others`. */
static unsigned with_path(const struct carm_modules *modules, uint32_t n, const char *path,
                          const struct carm_modules *others)
{
    unsigned same = 0;
    for (uint32_t i = 0; i < n; i++) {
        const bool has = strcmp(carm_modules_path(modules, i), path) == 0;
        same += has && !(others && has_module(others, path, modules->list[i].code)) ? 1 : 0;
    }
    return same;
}

/* Whether reading a module's lines takes no longer than counting it did. Debug files of libraries are compressed: for
 * `true`, libc's and ld.so's take 66 ms, 14 ns a byte; in 14 ns, 14 instructions are counted. Lines of loops are always
 * read, as they are part of the names. */
static bool lines_are_worth(const struct module *m)
{
    enum { EACH = 14 };
    uint64_t instructions = 0;
    for (size_t i = 0; i < m->flow.npieces; i++) {
        instructions += m->flow.pieces[i].counts.instructions;
    }
    return instructions / EACH >= carm_symbols_line_bytes(m->symbols);
}

/* from    modules of either run
 * k       module in `from`: a file, or "[vdso]"
 * number  of the module in the counted run, or UINT32_MAX */
static int add_module(struct builder *b, const struct carm_modules *from, uint32_t k,
                      uint32_t number, struct carm_step_counts *rest, struct carm_err *err)
{
    struct module m = {
        .path = carm_modules_path(from, k), .code = from->list[k].code, .lines = true};
    int rc = 0;
    const struct carm_modules *counted =
        number == UINT32_MAX && b->in->blocks ? &b->in->blocks->modules : NULL;
    m.version = 1 + with_path(from, k, m.path, counted) +
                (counted ? with_path(counted, counted->n, m.path, NULL) : 0);
    m.symbols = carm_symbols_find(b->symbols, m.path, m.code, from->list[k].fd);
    if (!m.symbols) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for names of functions");
    }
    m.nfunctions = carm_symbols_functions(m.symbols, &m.functions);
    b->profile->has_allocator |= carm_symbols_allocate(m.symbols);
    if (number != UINT32_MAX) {
        rc = carm_flow_open(&m.flow, b->in->blocks, number, rest, err);
        for (size_t i = 0; i < m.flow.npieces; i++) {
            m.flow.pieces[i].function = function_at(&m, m.flow.pieces[i].at);
        }
        rc = rc ? rc : carm_flow_loops(&m.flow, begins, &m, err);
        m.lines = lines_are_worth(&m);
    }
    rc = rc ? rc : rows_of_loops(b, &m, err);
    rc = rc ? rc : count_pieces(b, &m, err);
    rc = rc ? rc : place_places(b, &m, number, err);
    const size_t first_hit = b->nhits;
    rc = rc ? rc : place_samples(b, &m, err);
    rc =
        rc || number == UINT32_MAX ? rc : codes_of(b, &m, number, from->list[k].fd, first_hit, err);
    carm_flow_close(&m.flow);
    free(m.loops);
    free(m.bodies);
    return rc;
}

/* ---- counts and samples of all modules ---- */

/* Whether counts, which are modulo 2^64, are negative. */
static bool is_negative(const struct carm_step_counts *counts)
{
    bool negative = false;
    for (size_t i = 0; i < CARM_STEP_WORDS; i++) {
        negative |= counts->q[i] >> 63 != 0;
    }
    return negative;
}

/* Finds the row for negative counts: the function body with the most executed instructions. Negative counts
 * belong to blocks that were left by a system call that a signal interrupted, a few instructions. */
static int corrected_row(struct builder *b, size_t *row, struct carm_err *err)
{
    const struct carm_profile *p = b->profile;
    const struct carm_profile_row *most = NULL;
    for (size_t i = 0; i < p->nrows; i++) {
        if (p->rows[i].kind != CARM_PROFILE_LOOP && p->rows[i].kind != CARM_PROFILE_UNKNOWN &&
            (!most || p->rows[i].counts.instructions > most->counts.instructions)) {
            most = &p->rows[i];
        }
    }
    if (!most) {
        return unknown_row(b, row, err);
    }
    *row = (size_t)(most - p->rows);
    return 0;
}

/* One row for all code of no file. */
static int add_anonymous(struct builder *b, struct carm_step_counts *rest, struct carm_err *err)
{
    static const struct carm_step_counts nothing;
    const struct carm_samples *s = b->in->samples;
    size_t row = 0;
    int rc = 0;
    for (size_t i = 0; s && i < s->nsamples && !rc; i++) {
        if (!*carm_modules_path(&s->modules, s->samples[i].module)) {
            rc = unknown_row(b, &row, err);
            rc = rc ? rc : add_hit(b, row, &s->samples[i], err);
        }
    }
    for (size_t i = 0; i < b->in->nplaces && !rc; i++) {
        if (b->in->places[i].row == NO_ROW) {
            rc = unknown_row(b, &b->in->places[i].row, err);
        }
    }
    if (!rc && memcmp(rest->q, nothing.q, sizeof nothing.q) != 0) {
        rc = is_negative(rest) ? corrected_row(b, &row, err) : unknown_row(b, &row, err);
        if (!rc) {
            carm_step_counts_add(&b->profile->rows[row].counts, rest, 1);
        }
    }
    return rc;
}

/* Adds the counts of code outside of files. */
static void rest_of_blocks(const struct carm_blocks *blocks, uint32_t module,
                           struct carm_step_counts *rest)
{
    for (size_t i = 0; i < blocks->nblocks; i++) {
        if (blocks->blocks[i].module == module) {
            carm_tally_add(rest, &blocks->blocks[i].row, blocks->blocks[i].executions);
        }
    }
    for (size_t i = 0; i < blocks->nextras; i++) {
        if (blocks->extras[i].module == module) {
            carm_step_counts_add(rest, &blocks->extras[i].counts, 1);
        }
    }
}

static int add_modules(struct builder *b, struct carm_err *err)
{
    const struct carm_blocks *blocks = b->in->blocks;
    const struct carm_samples *samples = b->in->samples;
    struct carm_step_counts rest = {.instructions = 0};
    int rc = 0;
    for (size_t i = 0; i < b->in->nplaces; i++) {
        b->in->places[i].row = NO_ROW;
    }
    for (uint32_t i = 0; blocks && i < blocks->modules.n && !rc; i++) {
        if (*carm_modules_path(&blocks->modules, i)) {
            rc = add_module(b, &blocks->modules, i, i, &rest, err);
        } else {
            rest_of_blocks(blocks, i, &rest);
        }
    }
    for (uint32_t i = 0; samples && i < samples->modules.n && !rc; i++) {
        const char *path = carm_modules_path(&samples->modules, i);
        if (*path &&
            !(blocks && has_module(&blocks->modules, path, samples->modules.list[i].code))) {
            rc = add_module(b, &samples->modules, i, UINT32_MAX, &rest, err);
        }
    }
    if (blocks) {
        carm_step_counts_add(&rest, &blocks->rest, 1);
    }
    return rc ? rc : add_anonymous(b, &rest, err);
}

/* ---- samples in order of time ---- */

static int by_row(const void *left, const void *right)
{
    const struct hit *a = left;
    const struct hit *b = right;
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    return a->sample.thread < b->sample.thread ? -1 : a->sample.thread > b->sample.thread;
}

static int by_last(const void *left, const void *right)
{
    const struct hit *a = left;
    const struct hit *b = right;
    return a->sample.last < b->sample.last ? -1 : a->sample.last > b->sample.last;
}

/* The largest sum of samples over threads that were in the row one after another.
 * hits  [n] of the row, one for each thread, sorted by their last samples
 * most  [n + 1] memory */
static uint64_t longest(const struct hit *hits, size_t n, uint64_t *most)
{
    most[0] = 0;
    for (size_t i = 0; i < n; i++) {
        size_t low; /* number of threads that had ended before this one began */
        CARM_ARRAY_BISECT(low, i, middle, hits[middle].sample.last < hits[i].sample.first);
        const uint64_t with = most[low] + hits[i].sample.n;
        most[i + 1] = with > most[i] ? with : most[i];
    }
    return most[n];
}

/* The largest number of threads with at least `least` samples that were in the row at one time. */
static int at_a_time(const struct hit *hits, size_t n, uint64_t least)
{
    int most = 0;
    for (size_t i = 0; i < n; i++) {
        int now = 0;
        for (size_t k = 0; k < n; k++) {
            now += hits[k].sample.n >= least && hits[k].sample.first <= hits[i].sample.first &&
                           hits[k].sample.last >= hits[i].sample.first
                       ? 1
                       : 0;
        }
        most = now > most ? now : most;
    }
    return most;
}

/* Sets each row's samples, slowest thread and number of threads. seconds: of one sample */
static int time_rows(struct builder *b, double seconds, struct carm_err *err)
{
    size_t n = 0;
    if (b->nhits) {
        qsort(b->hits, b->nhits, sizeof *b->hits, by_row);
    }
    for (size_t i = 0; i < b->nhits; i++) {
        if (n && by_row(&b->hits[n - 1], &b->hits[i]) == 0) {
            carm_sample_merge(&b->hits[n - 1].sample, &b->hits[i].sample);
        } else {
            b->hits[n++] = b->hits[i];
        }
    }
    uint64_t *memory = calloc(n + 1, sizeof *memory);
    if (!memory) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the profile");
    }
    for (size_t i = 0, end = 0; i < n; i = end) {
        struct carm_profile_row *row = &b->profile->rows[b->hits[i].row];
        uint64_t most = 0;
        for (end = i; end < n && b->hits[end].row == b->hits[i].row; end++) {
            row->samples += b->hits[end].sample.n;
            for (int k = 0; k < CARM_SAMPLE_KINDS; k++) {
                row->on[k] += b->hits[end].sample.on[k];
            }
            most = b->hits[end].sample.n > most ? b->hits[end].sample.n : most;
        }
        qsort(b->hits + i, end - i, sizeof *b->hits, by_last);
        row->seconds = (double)longest(b->hits + i, end - i, memory) * seconds;
        if (b->in->cpus > 0) {
            row->seconds = fmax(row->seconds, (double)row->samples * seconds / b->in->cpus);
        }
        row->threads = at_a_time(b->hits + i, end - i, (most + 9) / 10);
    }
    free(memory);
    return 0;
}

/* Wilson's interval of a share of n samples. */
static void interval(struct carm_profile_row *row, double n)
{
    const double z = 1.96, p = row->share;
    const double middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    const double half = z / (1.0 + z * z / n) * sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n));
    row->share_low = fmax(0.0, middle - half);
    row->share_high = fmin(1.0, middle + half);
}

static bool is_code(enum carm_profile_kind kind)
{
    return kind == CARM_PROFILE_LOOP || kind == CARM_PROFILE_BODY || kind == CARM_PROFILE_FUNCTION;
}

/* Whether a row's counts are impossible in its time. With few samples, the true time is at most the
 * time of n + 5 sqrt(n) + 25 samples.
 * sample  seconds */
static bool differs(const struct carm_profile_row *row, double sample)
{
    const double n = (double)(int64_t)row->counts.instructions;
    /* without stores: a repeated string instruction counts once for each element, and a core stores 64 a cycle */
    const double least = n - (double)(int64_t)row->counts.stores;
    const double samples = (double)row->samples;
    const double most = sample * (samples + 5.0 * sqrt(samples) + 25.0);
    return is_code(row->kind) &&
           (least > CARM_PROFILE_FASTEST * most ||
            (row->samples >= CARM_PROFILE_FEW && (least > CARM_PROFILE_FASTEST * sample * samples ||
                                                  n < CARM_PROFILE_SLOWEST * sample * samples)));
}

static int share_rows(struct builder *b, struct carm_err *err)
{
    struct carm_profile *p = b->profile;
    const struct carm_profile_input *in = b->in;
    const double all = in->user_seconds + in->system_seconds;
    int rc = 0;
    if (!in->samples || !in->samples->total || !(in->user_seconds > 0.0)) {
        return 0;
    }
    const double total = (double)in->samples->total;
    p->samples = in->samples->total;
    p->has_time = true;
    rc = time_rows(b, in->user_seconds / total, err);
    for (size_t i = 0; i < p->nrows; i++) {
        struct carm_profile_row *row = &p->rows[i];
        const double seconds = (double)row->samples * in->user_seconds / total;
        row->share = fmin(1.0, seconds / all); /* rounding may give more than 1 */
        interval(row, total * all / in->user_seconds);
        row->differs = p->has_counts && differs(row, in->user_seconds / total);
    }
    if (in->system_seconds > 0.0 && !rc) {
        size_t row = 0;
        rc = add_row(b, CARM_PROFILE_KERNEL, "the kernel", &row, err);
        if (!rc) {
            p->rows[row].share = p->rows[row].share_low = p->rows[row].share_high =
                in->system_seconds / all;
            p->rows[row].seconds = in->system_seconds;
        }
    }
    return rc;
}

/* ---- the rows' order ---- */

/* Sums the counts of loops with the loops inside them. Inner loops have later rows, so rows add
 * to their parents from the last to the first. */
static void sum_inside(struct carm_profile *p)
{
    for (size_t i = 0; i < p->nrows; i++) {
        p->rows[i].inside = p->rows[i].counts;
        p->rows[i].samples_inside = p->rows[i].samples;
    }
    for (size_t i = p->nrows; i > 0; i--) {
        const struct carm_profile_row *row = &p->rows[i - 1];
        if (row->parent) {
            carm_step_counts_add(&p->rows[row->parent - 1].inside, &row->inside, 1);
            p->rows[row->parent - 1].samples_inside += row->samples_inside;
        }
    }
}

static bool is_small(const struct carm_profile *p, const struct carm_profile_row *row, double all,
                     double min_share)
{
    const double share = p->has_time ? row->share : (double)(int64_t)row->counts.instructions / all;
    const bool few = p->has_time && row->samples < CARM_PROFILE_FEWEST;
    const bool hidden =
        row->differs && row->spread <= CARM_PROFILE_SPREAD; /* too many instructions for the time */
    const bool idle = row->kind == CARM_PROFILE_UNKNOWN && p->has_time && row->samples == 0;
    const bool small = is_code(row->kind) ? share < min_share || few : idle;
    return small && min_share > 0.0 && !hidden;
}

/* Updates the places after rows have moved. now: [rows before] the new row + 1 */
static void move_places(const struct builder *b, const size_t *now)
{
    for (size_t i = 0; i < b->in->nplaces; i++) {
        b->in->places[i].row = now[b->in->places[i].row] - 1;
    }
}

/* Folds small rows into one. Folded loops are kept behind the other rows, for their parents and their code. */
static int fold(struct builder *b, double min_share, struct carm_err *err)
{
    struct carm_profile *p = b->profile;
    size_t others = 0;
    size_t n = 0, nloops = 0;
    double all = 0.0;
    for (size_t i = 0; i < p->nrows; i++) {
        all += (double)(int64_t)p->rows[i].counts.instructions;
    }
    all = all > 0.0 ? all : 1.0;
    for (size_t i = 0; i < p->nrows; i++) {
        p->folded += is_small(p, &p->rows[i], all, min_share) ? 1 : 0;
    }
    if (p->folded == 0) {
        return 0;
    }
    const int rc = add_row(b, CARM_PROFILE_OTHERS, "others", &others, err);
    size_t *places = rc ? NULL : calloc(p->nrows, sizeof *places);
    if (!places) {
        return rc ? rc : carm_fail(err, CARM_ENOMEM, "not enough memory for the profile");
    }
    struct carm_profile_row *sum = &p->rows[others];
    for (size_t i = 0; i < others; i++) {
        const struct carm_profile_row *row = &p->rows[i];
        if (is_small(p, row, all, min_share)) {
            carm_step_counts_add(&sum->counts, &row->counts, 1);
            sum->allocations += row->allocations;
            sum->samples += row->samples;
            for (int k = 0; k < CARM_SAMPLE_KINDS; k++) {
                sum->on[k] += row->on[k];
            }
            sum->share = fmin(1.0, sum->share + row->share);
            sum->seconds += row->seconds;
            sum->threads = row->threads > sum->threads ? row->threads : sum->threads;
            nloops += row->kind == CARM_PROFILE_LOOP && row->code;
        } else {
            places[i] = ++n;
        }
    }
    struct carm_profile_row *rows = calloc(n + 1 + nloops, sizeof *rows);
    if (!rows) {
        free(places);
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the profile");
    }
    for (size_t i = 0, folded = n + 1; i < others; i++) {
        const struct carm_profile_row *row = &p->rows[i];
        places[i] = places[i]                                     ? places[i]
                    : row->kind == CARM_PROFILE_LOOP && row->code ? ++folded
                                                                  : 0;
        if (places[i]) {
            rows[places[i] - 1] = *row;
        }
    }
    for (size_t i = 0; i < n + 1 + nloops; i++) {
        rows[i].parent = rows[i].parent ? places[rows[i].parent - 1] : 0;
    }
    sum->inside = sum->counts;
    sum->samples_inside = sum->samples;
    if (p->has_time) {
        interval(sum, (double)p->samples);
    }
    rows[n++] = *sum;
    free(p->rows);
    p->rows = rows;
    p->nrows = n;
    p->nfolded_loops = nloops;
    p->room = n + nloops;
    for (size_t i = 0; i < others; i++) { /* places in folded loops go to the row of others */
        places[i] = places[i] && places[i] <= n ? places[i] : n;
    }
    move_places(b, places);
    free(places);
    return 0;
}

struct place {
    double share, instructions;
    size_t row;
    bool last;
};

static int by_share(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;
    if (a->last != b->last) {
        return a->last ? 1 : -1;
    }
    if (a->share != b->share) {
        return a->share > b->share ? -1 : 1;
    }
    if (a->instructions != b->instructions) {
        return a->instructions > b->instructions ? -1 : 1;
    }
    return a->row < b->row ? -1 : 1;
}

static int sort(struct builder *b, struct carm_err *err)
{
    struct carm_profile *p = b->profile;
    const size_t all = p->nrows + p->nfolded_loops;
    struct place *places = calloc(p->nrows + 1, sizeof *places);
    size_t *now = calloc(all + 1, sizeof *now);
    struct carm_profile_row *rows = calloc(all + 1, sizeof *rows);
    if (!places || !now || !rows) {
        free(places);
        free(now);
        free(rows);
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the profile");
    }
    for (size_t i = 0; i < p->nrows; i++) {
        const struct carm_profile_row *row = &p->rows[i];
        places[i] = (struct place){row->share, (double)(int64_t)row->counts.instructions, i,
                                   row->kind == CARM_PROFILE_OTHERS};
    }
    qsort(places, p->nrows, sizeof *places, by_share);
    for (size_t i = 0; i < p->nrows; i++) {
        rows[i] = p->rows[places[i].row];
        now[places[i].row] = i + 1;
    }
    for (size_t i = p->nrows; i < all; i++) {
        rows[i] = p->rows[i];
        now[i] = i + 1;
    }
    for (size_t i = 0; i < all; i++) {
        rows[i].parent = rows[i].parent ? now[rows[i].parent - 1] : 0;
    }
    move_places(b, now);
    free(p->rows);
    free(places);
    free(now);
    p->rows = rows;
    p->room = all + 1;
    return 0;
}

/* ---- two counted runs ---- */

static int by_code(const void *left, const void *right)
{
    const struct carm_profile_row *a = *(const struct carm_profile_row *const *)left;
    const struct carm_profile_row *b = *(const struct carm_profile_row *const *)right;
    const int module = strcmp(a->module, b->module);
    if (module || a->kind != b->kind) {
        return module ? module : a->kind < b->kind ? -1 : 1;
    }
    return a->at < b->at ? -1 : a->at > b->at;
}

static const struct carm_profile_row **sorted_by_code(const struct carm_profile *p)
{
    // NOLINTBEGIN(bugprone-sizeof-expression): an array of pointers
    const struct carm_profile_row **rows = calloc(p->nrows + 1, sizeof *rows);
    for (size_t i = 0; rows && i < p->nrows; i++) {
        rows[i] = &p->rows[i];
    }
    if (rows) {
        qsort(rows, p->nrows, sizeof *rows, by_code);
    }
    // NOLINTEND(bugprone-sizeof-expression)
    return rows;
}

/* Sets each row's spread: the difference of its instructions between the two profiles. */
static int compare(struct carm_profile *p, const struct carm_profile *second, struct carm_err *err)
{
    const struct carm_profile_row **others = sorted_by_code(second);
    if (!others) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the profile");
    }
    for (size_t i = 0; i < p->nrows; i++) {
        struct carm_profile_row *row = &p->rows[i];
        const struct carm_profile_row *key = row;
        const struct carm_profile_row *const *found =
            bsearch(&key, others, second->nrows, sizeof(const struct carm_profile_row *), by_code);
        const double a = (double)(int64_t)row->counts.instructions;
        const double b = found ? (double)(int64_t)(*found)->counts.instructions : 0.0;
        if (is_code(row->kind)) {
            row->spread = a == b ? 0.0 : fabs(a - b) / fmax(fabs(a), fabs(b));
            row->differs |= row->spread > CARM_PROFILE_SPREAD;
        }
    }
    p->counted_twice = true;
    free(others);
    return 0;
}

/* ---- building a profile ---- */

static int build(struct carm_profile *profile, const struct carm_profile_input *in,
                 struct carm_symbols *symbols, struct carm_err *err)
{
    struct builder b = {.profile = profile, .in = in, .symbols = symbols};
    memset(profile, 0, sizeof *profile);
    profile->has_counts = in->blocks != NULL;
    int rc = add_modules(&b, err);
    rc = rc ? rc : share_rows(&b, err);
    if (!rc && in->blocks && in->again) {
        const struct carm_profile_input other = {.blocks = in->again, .by = in->by};
        struct carm_profile second;
        rc = build(&second, &other, symbols, err);
        rc = rc ? rc : compare(profile, &second, err);
        carm_profile_close(&second);
    }
    if (!rc) {
        sum_inside(profile);
        rc = fold(&b, in->min_share, err);
    }
    rc = rc ? rc : sort(&b, err);
    free(b.hits);
    return rc;
}

int carm_profile_open(struct carm_profile *profile, const struct carm_profile_input *in,
                      struct carm_err *err)
{
    struct carm_symbols *symbols = NULL;
    int rc = carm_symbols_open(&symbols, err);
    memset(profile, 0, sizeof *profile);
    rc = rc ? rc : build(profile, in, symbols, err);
    carm_symbols_close(symbols);
    if (rc) {
        carm_profile_close(profile);
    }
    return rc;
}
