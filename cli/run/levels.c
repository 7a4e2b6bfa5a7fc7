/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/run/levels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json_write.h"
#include "base/text.h"
#include "cli/run/report.h"
#include "harness/topo.h"
#include "models/caches/hierarchy.h"
#include "models/caches/linemap.h"
#include "models/caches/machine.h"

_Static_assert((int)CARM_ACCESS_LOAD == (int)CARM_ADDRESS_LOAD &&
                   (int)CARM_ACCESS_STORE == (int)CARM_ADDRESS_STORE &&
                   (int)CARM_ACCESS_STORE_NT == (int)CARM_ADDRESS_STORE_NT &&
                   (int)CARM_ACCESS_PREFETCH == (int)CARM_ADDRESS_PREFETCH &&
                   (int)CARM_ACCESS_PREFETCH_L2 == (int)CARM_ADDRESS_PREFETCH_L2,
               "both number the kinds alike");

struct carm_run_levels {
    struct carm_hierarchy *hierarchy;
    struct carm_hierarchy_config config;
    struct carm_hierarchy_counts counts;
    bool counted;
    uint32_t threads; /* seen */
    char caches[CARM_CACHES_TEXT_MAX];
    /* instructions, numbered from 1; 0 = all those for which there was no memory */
    bool by_code;
    struct carm_linemap numbers;
    struct carm_address_by *instructions; /* [ninstructions + 1] */
    size_t ninstructions, room;
    struct carm_hierarchy_counts *rows; /* [nrows] of the profile */
    size_t nrows;
};

/* The number of an instruction. */
static uint32_t number_of(struct carm_run_levels *l, const struct carm_address_by *by)
{
    enum { COUNTER_AT = 12, PROGRAM_AT = 32 };
    const uint64_t key =
        ((uint64_t)by->program << PROGRAM_AT | by->counter << COUNTER_AT | by->at) + 1;
    uint64_t *number = carm_linemap_add(&l->numbers, key);
    if (number && *number == 0 &&
        carm_array_grow(&l->instructions, &l->room, l->ninstructions + 1, 1,
                        sizeof *l->instructions, "the instructions", NULL) == 0) {
        *number = ++l->ninstructions;
        l->instructions[l->ninstructions] = *by;
    }
    return number ? (uint32_t)*number : 0;
}

static void take(void *arg, uint32_t thread, uint64_t address, uint32_t bytes,
                 enum carm_address_kind kind, const struct carm_address_by *by)
{
    struct carm_run_levels *l = arg;
    if (l->by_code) {
        carm_hierarchy_by(l->hierarchy, number_of(l, by));
    }
    l->threads = thread >= l->threads ? thread + 1 : l->threads;
    carm_hierarchy_access(l->hierarchy, thread % l->config.cores, address, bytes,
                          (enum carm_access_kind)kind);
}

/* The caches of this machine. returns their number */
static size_t read_ways(struct carm_cache_ways *out, size_t room)
{
    struct carm_topo *topo = NULL;
    struct carm_err none = {""};
    size_t n = 0;
    if (carm_topo_open(&topo, NULL, NULL, &none) != 0) {
        return 0;
    }
    for (size_t i = 0; i < topo->ncaches && n < room; i++) {
        const struct carm_topo_cache *c = &topo->caches[i];
        out[n++] = (struct carm_cache_ways){c->level, c->size_bytes, c->ways, c->inclusive};
    }
    carm_topo_close(topo);
    return n;
}

int carm_run_levels_open(struct carm_run_levels **out, const struct carm_model *model,
                         const char *prefetch, bool by_code, struct carm_address_sink *sink,
                         struct carm_err *err)
{
    enum { NUMBER_BITS = 12 };
    struct carm_cache_ways ways[CARM_TOPO_CACHES_MAX];
    struct carm_run_levels *l = calloc(1, sizeof *l);
    if (!l) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory");
    }
    l->by_code = by_code;
    const size_t n = read_ways(ways, CARM_TOPO_CACHES_MAX);
    int rc = carm_caches_of_model(model, ways, n, &l->config, l->caches, err);
    l->config.next_line = strcmp(prefetch, "next") == 0 || strcmp(prefetch, "both") == 0;
    l->config.streams = strcmp(prefetch, "streams") == 0 || strcmp(prefetch, "both") == 0;
    rc = rc ? rc : carm_hierarchy_open(&l->hierarchy, &l->config, err);
    if (!rc && !carm_linemap_open(&l->numbers, NUMBER_BITS, 1)) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory");
    }
    if (rc) {
        carm_run_levels_close(l);
        return rc;
    }
    *sink = (struct carm_address_sink){take, l};
    *out = l;
    return 0;
}

void carm_run_levels_close(struct carm_run_levels *levels)
{
    if (levels) {
        carm_hierarchy_close(levels->hierarchy);
        carm_linemap_close(&levels->numbers);
        free(levels->instructions);
        free(levels->rows);
        free(levels);
    }
}

static void add_note(struct carm_run *run, const char *text)
{
    const size_t used = strlen(run->row.note);
    snprintf(run->row.note + used, sizeof run->row.note - used, "%s%.200s", used ? "; " : "", text);
}

_Static_assert(CARM_Q_L2_COMPULSORY + CARM_MISS_REASONS == CARM_Q_L3_COMPULSORY &&
                   CARM_Q_L3_COMPULSORY + CARM_MISS_REASONS == CARM_Q_DRAM_COMPULSORY,
               "the reasons are in the order of enum carm_miss_reason");

/* first  CARM_Q_L2_COMPULSORY, ... */
static void put_misses(const struct carm_hierarchy_level_counts *level, enum carm_quantity first,
                       struct carm_counts *c)
{
    for (unsigned r = 0; r < CARM_MISS_REASONS; r++) {
        carm_count_put(c, (enum carm_quantity)(first + r),
                       (double)CARM_HIERARCHY_LINE * (double)level->misses[r],
                       CARM_COUNTED_SIMULATED);
    }
}

static void put(const struct carm_hierarchy_counts *from, struct carm_counts *c)
{
    static const enum carm_quantity bytes[] = {CARM_Q_L2_BYTES, CARM_Q_L3_BYTES};
    static const enum carm_quantity unused[] = {CARM_Q_L2_UNUSED, CARM_Q_L3_UNUSED};
    const size_t last = from->nlevels - 1;
    for (size_t k = 0; k <= last; k++) {
        const enum carm_quantity q = k == last ? CARM_Q_DRAM_BYTES
                                     : k < 2   ? bytes[k]
                                               : CARM_Q_COUNT;
        const enum carm_quantity u = k == last ? CARM_Q_DRAM_UNUSED
                                     : k < 2   ? unused[k]
                                               : CARM_Q_COUNT;
        if (q != CARM_Q_COUNT) {
            carm_count_put(c, q, carm_hierarchy_bytes(from, k), CARM_COUNTED_SIMULATED);
            carm_count_put(c, u, (double)from->levels[k].wasted_bytes, CARM_COUNTED_SIMULATED);
            put_misses(&from->levels[k],
                       k == last ? CARM_Q_DRAM_COMPULSORY
                       : k == 0  ? CARM_Q_L2_COMPULSORY
                                 : CARM_Q_L3_COMPULSORY,
                       c);
        }
    }
}

void carm_run_levels_take(struct carm_run_levels *l, struct carm_run *run)
{
    struct carm_err err = {""};
    if (!carm_count_has(&run->row.counts, CARM_Q_BYTES)) {
        return; /* the row says why it was not counted */
    }
    carm_hierarchy_flush(l->hierarchy);
    if (carm_hierarchy_read(l->hierarchy, &l->counts, &err) != 0) {
        add_note(run, err.text);
        return;
    }
    l->counted = true;
    put(&l->counts, &run->row.counts);
}

/* ---- rows of the profile ---- */

int carm_run_levels_places(const struct carm_run_levels *l, const struct carm_blocks *blocks,
                           struct carm_profile_place **places, size_t *n, struct carm_err *err)
{
    *n = l->ninstructions + 1;
    *places = calloc(*n, sizeof **places);
    if (!*places) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the profile");
    }
    for (size_t i = 0; i < *n; i++) {
        const struct carm_address_by *by = i ? &l->instructions[i] : NULL;
        const struct carm_block_place *block =
            by ? carm_blocks_place(blocks, by->program, by->counter) : NULL;
        (*places)[i].module = block ? block->module : CARM_PROFILE_NOWHERE;
        (*places)[i].at = block ? block->at + by->at : 0;
    }
    return 0;
}

int carm_run_levels_fold(struct carm_run_levels *l, const struct carm_profile_place *places,
                         size_t n, size_t nrows, struct carm_err *err)
{
    l->rows = calloc(nrows + 1, sizeof *l->rows);
    if (!l->rows) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the profile");
    }
    l->nrows = nrows;
    for (size_t i = 0; i < nrows; i++) {
        l->rows[i].nlevels = l->counts.nlevels;
    }
    for (size_t i = 0; i < n && places[i].row < nrows; i++) {
        struct carm_hierarchy_counts of;
        carm_hierarchy_read_by(l->hierarchy, (uint32_t)i, &of);
        carm_hierarchy_add(&l->rows[places[i].row], &of);
    }
    return 0;
}

static const struct carm_hierarchy_counts *row_of(const struct carm_run_levels *l, size_t row)
{
    return l && l->counted && row < l->nrows ? &l->rows[row] : NULL;
}

void carm_run_levels_put(const struct carm_run_levels *l, size_t row, struct carm_counts *c)
{
    const struct carm_hierarchy_counts *of = row_of(l, row);
    if (of && carm_count_has(c, CARM_Q_BYTES)) {
        put(of, c);
    }
}

char *carm_run_levels_reuse(char *dst, size_t size, const struct carm_run_levels *l, size_t row)
{
    const struct carm_hierarchy_counts *of = row_of(l, row);
    const struct carm_hierarchy_level_counts *first = of ? &of->levels[0] : NULL;
    dst[0] = '\0';
    if (first && first->fills) {
        snprintf(dst, size,
                 "a line is accessed %.3g times while it is in L1, and %.0f%% of its bytes never",
                 (double)first->lookups / (double)first->fills,
                 first->left ? 100.0 * (double)first->wasted_bytes / (64.0 * (double)first->left)
                             : 0.0);
    }
    return dst;
}

static json_t *level_json(const void *counts, size_t k)
{
    char name[16];
    const struct carm_hierarchy_counts *c = counts;
    const struct carm_hierarchy_level_counts *n = &c->levels[k];
    json_t *o = json_object();
    snprintf(name, sizeof name, "L%zu", k + 1);
    bool ok = carm_jwrite_text(o, "cache", name) && carm_jwrite_count(o, "lookups", n->lookups);
    for (int r = 0; r < CARM_MISS_REASONS && ok; r++) {
        ok = carm_jwrite_count(o, carm_miss_reason_name((enum carm_miss_reason)r), n->misses[r]);
    }
    return carm_jwrite_done(o,
                            ok && carm_jwrite_count(o, "fills", n->fills) &&
                                carm_jwrite_count(o, "writebacks", n->writebacks) &&
                                carm_jwrite_count(o, "prefetched", n->prefetched) &&
                                carm_jwrite_count(o, "useless", n->useless) &&
                                carm_jwrite_count(o, "unused_bytes", n->wasted_bytes) &&
                                carm_jwrite_number(o, "bytes_behind", carm_hierarchy_bytes(c, k)));
}

bool carm_run_levels_json(const struct carm_run_levels *l, size_t row, json_t *o)
{
    char reuse[160];
    const struct carm_hierarchy_counts *of = row_of(l, row);
    if (!of || of->accesses + of->prefetches == 0) {
        return true;
    }
    return carm_jwrite_array(o, "caches", of, of->nlevels, level_json) &&
           carm_jwrite_count(o, "coherence_transfers", of->transfers) &&
           carm_jwrite_count(o, "coherence_invalidations", of->invalidations) &&
           carm_jwrite_count(o, "nt_lines", of->nt_lines) &&
           carm_jwrite_count(o, "nt_partial", of->nt_partial) &&
           carm_jwrite_text_or_null(o, "reuse", carm_run_levels_reuse(reuse, sizeof reuse, l, row));
}

void carm_run_levels_report(const struct carm_run_levels *l)
{
    char bytes[CARM_TEXT_NUMBER_MAX];
    const struct carm_hierarchy_counts *c = &l->counts;
    if (!l->counted) {
        return;
    }
    carm_run_say("caches", "simulated: %s; %s prefetching", l->caches,
                 l->config.next_line || l->config.streams ? "with" : "without");
    if (l->threads > l->config.cores) {
        carm_run_say("", "%u threads take turns on %u simulated cores", l->threads,
                     l->config.cores);
    }
    for (size_t k = 0; k < c->nlevels; k++) {
        char head[16], reasons[160] = "";
        const struct carm_hierarchy_level_counts *n = &c->levels[k];
        const double misses = (double)carm_hierarchy_misses(c, k);
        size_t used = 0;
        for (int r = 0; r < CARM_MISS_REASONS; r++) {
            if (misses > 0.0 && (double)n->misses[r] >= 0.005 * misses) {
                used += (size_t)snprintf(reasons + used, sizeof reasons - used, "%s%.0f%% %s",
                                         used ? ", " : ": ", 100.0 * (double)n->misses[r] / misses,
                                         carm_miss_reason_name((enum carm_miss_reason)r));
            }
        }
        if (k + 1 == c->nlevels) {
            snprintf(head, sizeof head, "DRAM bytes");
        } else {
            snprintf(head, sizeof head, "L%zu bytes", k + 2);
        }
        carm_run_say(
            head, "%s; L%zu misses %.3g%% of %.4g lookups%s; %.0f%% of what came is never used%s",
            carm_text_si(bytes, sizeof bytes, carm_hierarchy_bytes(c, k), "B"), k + 1,
            n->lookups ? 100.0 * misses / (double)n->lookups : 0.0, (double)n->lookups, reasons,
            n->left ? 100.0 * (double)n->wasted_bytes / (64.0 * (double)n->left) : 0.0,
            n->useless ? " (prefetches among it)" : "");
    }
    if (c->transfers) {
        carm_run_say("coherence",
                     "%.4g misses of lines that another core had, %.4g lines taken by "
                     "stores of another core",
                     (double)c->transfers, (double)c->invalidations);
    }
}
