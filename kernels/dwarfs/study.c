/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dwarfs/study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/file/published.h"

/* Edges of the grids: the paper's for stencil and transforms; LBMHD takes 1.2 kB a point, and at 64^3 is much
 * larger than the caches. 0 ends the list. */
static const size_t usual[CARM_DWARF_KERNELS][2] = {
    [CARM_DWARF_SPMV] = {0, 0},        [CARM_DWARF_LBMHD] = {64, 0},
    [CARM_DWARF_STENCIL] = {256, 0},   [CARM_DWARF_FFT] = {128, 512},
    [CARM_DWARF_TRANSPOSE] = {256, 0},
};

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

/* Adds both versions of a kernel; a transform of the second size only in the better version. */
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
        study->caches.cores = 1; /* only one core works; the caches of others stay empty */
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
    /* a picture needs memory's slope, which is among the measured ceilings */
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
    .take = carm_dwarf_take_row,
    .measure = carm_dwarf_study_measure,
    .has_points = has_points,
};
