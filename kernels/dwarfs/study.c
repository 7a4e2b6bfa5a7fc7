/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dwarfs/study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/file/published.h"

const char *const carm_dwarf_titles[CARM_DWARF_KERNELS] = {"SpMV", "LBMHD", "Stencil", "3-D FFT",
                                                           "Transpose"};
const char *const carm_dwarf_words[CARM_DWARF_KERNELS] = {"spmv", "lbmhd", "stencil", "fft",
                                                          "transpose"};

/* Edges of the grids: the paper's stencil and transforms; LBMHD takes 1.2 kB a point, and at 64^3
 * leaves the caches by far. 0 ends them. */
static const size_t usual[CARM_DWARF_KERNELS][2] = {
    [CARM_DWARF_SPMV] = {0, 0},        [CARM_DWARF_LBMHD] = {64, 0},
    [CARM_DWARF_STENCIL] = {256, 0},   [CARM_DWARF_FFT] = {128, 512},
    [CARM_DWARF_TRANSPOSE] = {256, 0},
};

/* ---- items ----------------------------------------------------------------------------------- */

static void name_item(const struct carm_dwarf_study *study, struct carm_dwarf_item *item)
{
    const char *version = item->optimised ? "optimised" : "plain";
    const char *word = carm_dwarf_words[item->kernel];
    if (item->n) {
        snprintf(item->name, sizeof item->name, "dwarf-%s-%zu-%s", word, item->n, version);
    } else {
        const char *slash = study->matrix ? strrchr(study->matrix, '/') : NULL;
        snprintf(item->name, sizeof item->name, "dwarf-%s%s%.40s-%s", word,
                 study->matrix ? "-" : "",
                 slash           ? slash + 1
                 : study->matrix ? study->matrix
                                 : "",
                 version);
    }
}

/* Both versions, but a transform as large as the second size in the better one alone. */
static void add_items(struct carm_dwarf_study *study, enum carm_dwarf_kernel kernel, size_t n)
{
    for (size_t i = 0; i < 2 && (i == 0 || usual[kernel][i]); i++) {
        for (int optimised = i ? 1 : 0; optimised < 2; optimised++) {
            struct carm_dwarf_item *item = &study->items[study->nitems++];
            item->kernel = kernel;
            item->optimised = optimised != 0;
            item->n = n && usual[kernel][0] ? n : usual[kernel][i];
            name_item(study, item);
        }
        if (n) {
            break;
        }
    }
}

/* ---- the machine and its model
 * ----------------------------------------------------------------- */

static void limit_isa(struct carm_cpu *cpu, enum carm_isa most)
{
    for (int i = (int)most + 1; i < CARM_ISA_COUNT; i++) {
        cpu->isa[i] = false;
    }
}

/* The caches as one thread has them. */
static void choose_caches(struct carm_dwarf_study *study, const struct carm_topo *topo)
{
    for (size_t i = 0; i < topo->ncaches; i++) {
        const struct carm_topo_cache *c = &topo->caches[i];
        const double bytes = carm_study_cache_bytes(study->base.model, c->level, topo, 1);
        const double share =
            carm_study_cache_bytes(study->base.model, c->level, topo, study->base.threads);
        if (!(bytes > 0.0)) {
            continue;
        }
        if (c->level <= 2) {
            study->cache_bytes[c->level - 1] = share;
        }
        study->cache_bytes[2] = share;
        study->llc_all_bytes = fmax(bytes, share * study->base.threads);
    }
    if (carm_study_caches(study->base.model, topo, &study->caches, study->caches_text)) {
        study->caches.cores = 1; /* that work; the others' caches stay empty */
    }
}

/* The roof alone: for models without measured ceilings. */
static void roof_alone(const struct carm_roofs *roofs, struct carm_ceilings *ceilings)
{
    const double slope = roofs->dram_peak.bandwidth;
    const double peak = carm_roofs_find_peak(roofs)->rate;
    memset(ceilings, 0, sizeof *ceilings);
    snprintf(ceilings->title, sizeof ceilings->title, "%.16s, %d threads", roofs->isa,
             roofs->threads);
    snprintf(ceilings->metric, sizeof ceilings->metric, "flop");
    ceilings->memory[0] =
        (struct carm_ceiling){.name = "DRAM", .rate = slope, .ci95 = {slope, slope}};
    ceilings->compute[0] =
        (struct carm_ceiling){.name = "peak", .rate = peak, .ci95 = {peak, peak}};
    ceilings->nmemory = slope > 0.0 ? 1 : 0;
    ceilings->ncompute = 1;
}

static void choose_ceilings(struct carm_dwarf_study *study)
{
    struct carm_err ignored;
    study->has_ceilings = true;
    for (int order = CARM_BALANCE_TOP; order <= CARM_BALANCE_BOTTOM; order++) {
        if (carm_ceilings_of_roofs(study->base.model, study->base.roofs,
                                   (enum carm_ceilings_order)order, &study->ceilings[order],
                                   &ignored)) {
            study->has_ceilings = false;
            roof_alone(study->base.roofs, &study->ceilings[order]);
        }
    }
    /* a picture draws the slope, which measured ceilings have, too */
    study->base.has_dram = carm_ceilings_slope(&study->ceilings[CARM_BALANCE_TOP]) != NULL;
    study->moves = study->ceilings[CARM_BALANCE_TOP];
    study->moves.ncompute = 0;
    snprintf(study->moves.metric, sizeof study->moves.metric, "exchange");
}

/* Table 2's intensities. */
static int read_printed(struct carm_dwarf_study *study, struct carm_err *err)
{
    struct carm_published *published = NULL;
    const int rc = carm_published_load(&published, err);
    for (int k = 0; k < CARM_DWARF_KERNELS && !rc; k++) {
        const struct carm_published_kernel *kernel =
            carm_published_kernel(published, carm_dwarf_titles[k]);
        if (kernel) {
            study->printed[k].low = kernel->low;
            study->printed[k].high = kernel->high;
        }
    }
    carm_published_close(published);
    return rc;
}

static int plan_study(struct carm_study *base, const struct carm_study_options *options,
                      const struct carm_host *host, struct carm_err *err)
{
    struct carm_dwarf_study *study = (struct carm_dwarf_study *)base;
    const enum carm_isa isa = options->has_isa ? options->isa : carm_cpu_best_isa(&host->cpu);
    study->matrix = options->matrix;
    for (int k = 0; k < CARM_DWARF_KERNELS; k++) {
        if (!options->kernels || (options->kernels & 1U << k)) {
            add_items(study, (enum carm_dwarf_kernel)k, options->n);
        }
    }
    study->limited = host->cpu;
    int rc = carm_cpu_check(&host->cpu, isa, err);
    rc = rc ? rc : carm_study_choose_roofs(base, "dp", options->threads, host->topo, err);
    if (rc) {
        return rc;
    }
    limit_isa(&study->limited, isa);
    choose_ceilings(study);
    rc = read_printed(study, err);
    choose_caches(study, host->topo);
    return rc;
}

/* ---- points ---------------------------------------------------------------------------------- */

double carm_dwarf_point_dram_bytes(const struct carm_dwarf_point *point)
{
    return point->times.dram_bytes > 0.0 ? point->times.dram_bytes : point->work.compulsory_bytes;
}

const struct carm_ceilings *carm_dwarf_ceilings(const struct carm_dwarf_study *study,
                                                enum carm_dwarf_kernel kernel)
{
    return kernel == CARM_DWARF_TRANSPOSE ? &study->moves
           : kernel == CARM_DWARF_SPMV    ? &study->ceilings[CARM_BALANCE_BOTTOM]
                                          : &study->ceilings[CARM_BALANCE_TOP];
}

void carm_dwarf_point_place(const struct carm_dwarf_study *study, struct carm_dwarf_item *item)
{
    struct carm_dwarf_point *p = &item->point;
    struct carm_err ignored;
    const double dram = carm_dwarf_point_dram_bytes(p);
    const double operations = p->work.operations;
    const double seconds = p->times.seconds;
    const bool flops = item->kernel != CARM_DWARF_TRANSPOSE;
    p->has_aware = flops && p->work.core_bytes > 0.0 &&
                   carm_place_cache_aware(study->base.model, study->base.roofs, operations,
                                          p->work.core_bytes, seconds, &p->aware, &ignored) == 0;
    p->has_original = flops && carm_place_original(study->base.model, study->base.roofs, operations,
                                                   dram, seconds, &p->original, &ignored) == 0;
    p->has_sandwich =
        carm_ceilings_around(carm_dwarf_ceilings(study, item->kernel), operations / dram,
                             operations / seconds, false, &p->upper, &p->lower, &ignored) == 0;
}

/* The note of a row: the fields that reading it back needs, in this order. */
#define NOTE_NUMBERS "%.9g to %.9g s in %d runs; compulsory %.9g B; executed %.9g flop; error %.3g"

/* ---- reading --------------------------------------------------------------------------------- */

static void cut(char *dst, size_t size, const char *from, const char *to)
{
    snprintf(dst, size, "%.*s", (int)(to - from), from);
}

/* "SIZE; NUMBERS of BY[; disturbed]; DRAM bytes HOW; REST" */
static bool take_note(const char *note, struct carm_dwarf_point *p)
{
    const char *numbers = strstr(note, "; ");
    double fastest = 0.0, slowest = 0.0, reps = 0.0, compulsory = 0.0, flops = -1.0, error = -1.0;
    const char *at = numbers;
    if (!numbers || !carm_study_note_number(&at, "; ", &fastest) ||
        !carm_study_note_number(&at, " to ", &slowest) ||
        !carm_study_note_number(&at, " s in ", &reps) ||
        !carm_study_note_number(&at, " runs; compulsory ", &compulsory) ||
        !carm_study_note_number(&at, " B; executed ", &flops) ||
        !carm_study_note_number(&at, " flop; error ", &error)) {
        return false;
    }
    const char *by = strstr(at, " of ");
    const char *dram = strstr(numbers, "; DRAM bytes ");
    if (!by || !dram || by > dram || !(fastest > 0.0 && fastest <= slowest) || !(reps >= 1.0) ||
        reps > CARM_REPEAT_MAX || !(compulsory > 0.0) || !(flops >= 0.0) || !(error >= 0.0)) {
        return false;
    }
    const char *end = strstr(by, "; ");
    cut(p->size, sizeof p->size, note, numbers);
    cut(p->checked_by, sizeof p->checked_by, by + 4, end);
    p->times.fastest = fastest;
    p->times.slowest = slowest;
    p->times.reps = (int)reps;
    p->times.disturbed = strncmp(end, "; disturbed", 11) == 0;
    p->work.compulsory_bytes = compulsory;
    p->work.core_flops = flops;
    p->error = error;
    const char *rest = strstr(dram + 2, "; ");
    snprintf(p->work.core_note, sizeof p->work.core_note, "%.159s", rest ? rest + 2 : "");
    if (strncmp(dram, "; DRAM bytes counted", 20) != 0) {
        p->times.dram_bytes = 0.0;
    }
    return true;
}

static void take_row(struct carm_study *base, const struct carm_point *row)
{
    struct carm_dwarf_study *study = (struct carm_dwarf_study *)base;
    for (size_t i = 0; i < study->nitems; i++) {
        struct carm_dwarf_item *item = &study->items[i];
        const bool moves = item->kernel == CARM_DWARF_TRANSPOSE;
        struct carm_dwarf_point new = {.known = true, .kept = true};
        if (item->point.known || row->threads != study->base.threads ||
            strcmp(item->name, row->name) != 0) {
            continue;
        }
        new.work.operations = moves ? row->operations : row->flops;
        new.work.metric = moves ? "exchange" : "flop";
        new.work.core_bytes = fmax(0.0, row->bytes);
        new.work.core_by = row->bytes > 0.0 ? CARM_COUNTED_STEPPED : CARM_COUNTED_NOT;
        new.times.seconds = row->seconds;
        new.times.dram_bytes = fmax(0.0, row->dram_bytes);
        snprintf(new.isa, sizeof new.isa, "%.15s", row->isa);
        if (new.work.operations > 0.0 && take_note(row->note, &new)) {
            item->point = new;
            carm_dwarf_point_place(study, item);
            study->base.kept++;
        }
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

int carm_dwarf_rows_append(const struct carm_dwarf_study *study, const struct carm_dwarf_item *item,
                           const char *path, struct carm_err *err)
{
    const struct carm_dwarf_point *p = &item->point;
    const bool counted = p->times.dram_bytes > 0.0;
    struct carm_row *row = carm_study_row(&study->base, item->name, err);
    if (!row) {
        return -CARM_ENOMEM;
    }
    if (item->kernel == CARM_DWARF_TRANSPOSE) {
        row->operations = p->work.operations;
        row->metric = p->work.metric;
    } else {
        carm_count_put(&row->counts, CARM_Q_FLOPS, p->work.operations, CARM_COUNTED_CONSTRUCTED);
        carm_count_put(&row->counts, CARM_Q_FLOPS_DP, p->work.operations, CARM_COUNTED_CONSTRUCTED);
    }
    if (p->work.core_bytes > 0.0) {
        carm_count_put(&row->counts, CARM_Q_BYTES, p->work.core_bytes, p->work.core_by);
    }
    carm_count_put(&row->counts, CARM_Q_DRAM_BYTES, carm_dwarf_point_dram_bytes(p),
                   counted ? CARM_COUNTED_PMU : CARM_COUNTED_CONSTRUCTED);
    row->seconds = p->times.seconds;
    row->isa = p->isa;
    snprintf(row->note, sizeof row->note,
             "%.48s; " NOTE_NUMBERS " of %.80s%s; DRAM bytes %s; %.80s", p->size, p->times.fastest,
             p->times.slowest, p->times.reps, p->work.compulsory_bytes, p->work.core_flops,
             p->error, p->checked_by, p->times.disturbed ? "; disturbed" : "",
             counted ? "counted" : "compulsory", p->work.core_note);
    return carm_study_row_append(row, path, err);
}

/* ---- the study ------------------------------------------------------------------------------- */

static int has_points(const struct carm_study *base, struct carm_err *err)
{
    const struct carm_dwarf_study *study = (const struct carm_dwarf_study *)base;
    for (size_t i = 0; i < study->nitems; i++) {
        if (study->items[i].point.known) {
            return 0;
        }
    }
    return base->interrupted ? carm_fail(err, CARM_EINTR, "interrupted before the first point")
                             : carm_fail(err, CARM_ENOTSUP, "nothing could be measured: %.300s",
                                         study->items[0].left_out);
}

const struct carm_study_ops carm_dwarfs_study = {
    .name = "dwarfs",
    .bytes = sizeof(struct carm_dwarf_study),
    .plan = plan_study,
    .take = take_row,
    .measure = carm_dwarf_study_measure,
    .has_points = has_points,
};
