/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/published.h"
#include "kernels/dwarfs/study.h"
#include "kernels/study/setup.h"

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

enum { N_MAX = 1024 };

/* ---- words ----------------------------------------------------------------------------------- */

static void name_item(const struct carm_dwarf_study *study, struct carm_dwarf_item *item)
{
    const char *version = item->optimised ? "optimised" : "plain";
    const char *word = carm_dwarf_words[item->kernel];
    if (item->n) {
        (void)snprintf(item->name, sizeof item->name, "dwarf-%s-%zu-%s", word, item->n, version);
    } else {
        const char *slash = study->matrix ? strrchr(study->matrix, '/') : NULL;
        (void)snprintf(item->name, sizeof item->name, "dwarf-%s%s%.40s-%s", word,
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

static int parse_kernels(const char *list, bool wanted[CARM_DWARF_KERNELS], struct carm_err *err)
{
    while (list && *list) {
        const size_t len = strcspn(list, ",");
        int k = 0;
        while (k < CARM_DWARF_KERNELS && (strlen(carm_dwarf_words[k]) != len ||
                                          strncmp(list, carm_dwarf_words[k], len) != 0)) {
            k++;
        }
        if (k == CARM_DWARF_KERNELS) {
            return carm_fail(err, CARM_EINVAL,
                             "--kernels takes spmv, lbmhd, stencil, fft and transpose, joined by "
                             "commas, not \"%.40s\"",
                             list);
        }
        wanted[k] = true;
        list += len + (list[len] == ',');
    }
    return 0;
}

int carm_dwarf_study_words(struct carm_dwarf_study *study, const struct carm_study_words *words,
                           struct carm_err *err)
{
    bool wanted[CARM_DWARF_KERNELS] = {false};
    long n = 0;
    long threads = 0;
    const char *strange = words->variants  ? "variants"
                          : words->largest ? "largest"
                          : words->budget  ? "budget"
                                           : NULL;
    if (strange) {
        return carm_fail(err, CARM_EINVAL, "--%s is not for carm study dwarfs", strange);
    }
    study->matrix = words->matrix;
    int rc = carm_study_check_words(words, err);
    rc = rc || !words->n ? rc : carm_study_count("n", words->n, 1, N_MAX, &n, err);
    rc = rc || !words->threads
             ? rc
             : carm_study_count("threads", words->threads, 1, 1 << 20, &threads, err);
    rc = rc ? rc : parse_kernels(words->kernels, wanted, err);
    for (int k = 0; k < CARM_DWARF_KERNELS && !rc; k++) {
        if (wanted[k] || !words->kernels || !*words->kernels) {
            add_items(study, (enum carm_dwarf_kernel)k, (size_t)n);
        }
    }
    study->threads = (int)threads;
    return rc;
}

/* ---- what the machine and its model have ----------------------------------------------------- */

static void limit_isa(struct carm_cpu *cpu, enum carm_isa most)
{
    for (int i = (int)most + 1; i < CARM_ISA_COUNT; i++) {
        cpu->isa[i] = false;
    }
}

/* The caches as one thread has them; the last one by its measured size. */
static int choose_caches(struct carm_dwarf_study *study, const struct carm_topo *topo,
                         struct carm_err *err)
{
    for (size_t i = 0; i < topo->ncaches && study->ncaches < CARM_CACHE_SIM_LEVELS_MAX; i++) {
        const bool last = i + 1 == topo->ncaches;
        const double bytes = carm_study_cache_bytes(study->model, topo->caches[i].level, topo, 1);
        char note[CARM_THREE_CS_NOTE_MAX];
        if (!(bytes >= CARM_CACHE_SIM_LINE)) {
            continue;
        }
        const int rc = carm_three_cs_level((uint64_t)bytes, topo->caches[i].ways, last,
                                           &study->caches[study->ncaches], note, err);
        if (rc) {
            return rc;
        }
        if (*note && topo->caches[i].ways <= 0) { /* ways were assumed */
            (void)snprintf(study->caches_note, sizeof study->caches_note, "%s", note);
        }
        study->ncaches++;
        const double share =
            carm_study_cache_bytes(study->model, topo->caches[i].level, topo, study->threads);
        if (topo->caches[i].level <= 2) {
            study->cache_bytes[topo->caches[i].level - 1] = share;
        }
        study->cache_bytes[2] = share;
        study->llc_all_bytes = fmax(bytes, share * study->threads);
    }
    return 0;
}

/* The roof alone: for models without measured ceilings. */
static void roof_alone(const struct carm_roofs *roofs, struct carm_ceilings *ceilings)
{
    const double slope = roofs->dram_peak.bandwidth;
    const double peak = carm_roofs_find_peak(roofs)->rate;
    memset(ceilings, 0, sizeof *ceilings);
    (void)snprintf(ceilings->title, sizeof ceilings->title, "%.16s, %d threads", roofs->isa,
                   roofs->threads);
    (void)snprintf(ceilings->metric, sizeof ceilings->metric, "flop");
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
        if (carm_ceilings_of_roofs(study->model, study->roofs, (enum carm_ceilings_order)order,
                                   &study->ceilings[order], &ignored)) {
            study->has_ceilings = false;
            roof_alone(study->roofs, &study->ceilings[order]);
        }
    }
    study->moves = study->ceilings[CARM_BALANCE_TOP];
    study->moves.ncompute = 0;
    (void)snprintf(study->moves.metric, sizeof study->moves.metric, "exchange");
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

int carm_dwarf_study_plan(struct carm_dwarf_study *study, const struct carm_study_words *words,
                          const struct carm_cpu *cpu, const struct carm_topo *topo,
                          struct carm_err *err)
{
    enum carm_isa isa = carm_cpu_best_isa(cpu);
    study->cpu = cpu;
    study->limited = *cpu;
    study->threads = study->threads ? study->threads : topo->cores;
    int rc = carm_topo_check_threads(topo, study->threads, err);
    if (!rc && words->isa) {
        rc = carm_isa_parse(words->isa, &isa, err);
        rc = rc ? rc : carm_cpu_check(cpu, isa, err);
    }
    if (rc) {
        return rc;
    }
    limit_isa(&study->limited, isa);
    study->roofs = carm_place_roofs(study->model, "dp", study->threads, study->roofs_note);
    if (!study->roofs || !carm_roofs_find_peak(study->roofs)) {
        return carm_fail(err, CARM_ENOTSUP,
                         "the model has no compute roof; `carm build` measures this machine");
    }
    choose_ceilings(study);
    rc = read_printed(study, err);
    return rc ? rc : choose_caches(study, topo, err);
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
                   carm_place_cache_aware(study->model, study->roofs, operations,
                                          p->work.core_bytes, seconds, &p->aware, &ignored) == 0;
    p->has_original = flops && carm_place_original(study->model, study->roofs, operations, dram,
                                                   seconds, &p->original, &ignored) == 0;
    p->has_sandwich =
        carm_ceilings_around(carm_dwarf_ceilings(study, item->kernel), operations / dram,
                             operations / seconds, false, &p->upper, &p->lower, &ignored) == 0;
}
