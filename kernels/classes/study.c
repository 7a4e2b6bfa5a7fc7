/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/classes/study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/machine/buffer.h"
#include "models/roofline.h"

/* Bytes of a level's cache that the threads together reach, by the model's measured knee (the
 * OS's size if the curve shows none); also the bytes of one instance, and the largest number of
 * threads that share an instance.
 * returns 0 for memory and where neither is known */
static uint64_t reached_bytes(const struct carm_model *model, size_t level,
                              const struct carm_topo *topo, int threads, uint64_t *instance,
                              int *sharers)
{
    const struct carm_level *l = &model->levels[level];
    int instances = 1;
    *instance = 0;
    *sharers = threads;
    if (level + 1 >= model->nlevels || l->level[0] != 'L') {
        return 0;
    }
    *instance = l->knee_bytes ? l->knee_bytes : l->os_size_bytes;
    const int number = (int)strtol(l->level + 1, NULL, 10);
    for (size_t i = 0; i < topo->ncaches; i++) {
        if (topo->caches[i].level == number) {
            carm_topo_cache_share(topo, number, threads, &instances, sharers);
        }
    }
    return *instance * (uint64_t)(instances > 0 ? instances : 1);
}

size_t carm_classes_home(const struct carm_model *model, const struct carm_topo *topo, int threads,
                         uint64_t bytes)
{
    size_t i = 0;
    for (; i + 1 < model->nlevels; i++) {
        uint64_t instance = 0;
        int sharers = 1;
        reached_bytes(model, i, topo, threads, &instance, &sharers);
        if (instance && bytes * (uint64_t)sharers <= instance) {
            break;
        }
    }
    return i;
}

/* Roofs of this ISA and number of threads, or NULL. avx and avx2 have vectors of the same width. */
static const struct carm_roofs *find_roofs(const struct carm_model *model, enum carm_isa isa,
                                           int threads)
{
    const char *other = isa == CARM_AVX2 ? "avx" : isa == CARM_AVX ? "avx2" : "";
    const struct carm_roofs *found = NULL;
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        const bool own = strcmp(r->isa, carm_isa_name(isa)) == 0;
        if (r->threads == threads && strcmp(r->precision, "dp") == 0 &&
            (own || (!found && strcmp(r->isa, other) == 0))) {
            found = r;
            if (own) {
                break;
            }
        }
    }
    return found;
}

/* One thread for each core, if the model has roofs for this number; else the largest number with roofs. */
static int usual_threads(const struct carm_model *model, const struct carm_topo *topo)
{
    int most = 0;
    for (size_t i = 0; i < model->nroofs; i++) {
        const int n = model->roofs[i].threads;
        if (n == carm_topo_cores(topo)) {
            return n;
        }
        most = n > most && n <= topo->pus ? n : most;
    }
    return most ? most : carm_topo_cores(topo);
}

static bool is_exact(const struct carm_classes *study, enum carm_isa isa)
{
    struct carm_class_target target = study->target;
    struct carm_class_plan plan;
    struct carm_err ignored;
    target.isa = isa;
    return carm_class_plan(&plan, &carm_classes[CARM_APP_L1], carm_classes[CARM_APP_L1].bytes,
                           &target, &ignored) == 0 &&
           carm_class_exact(&plan);
}

/* The widest ISA with roofs in the model in which APP-L1 has the intensity of table 2; else the widest ISA with
 * roofs: points of an ISA without roofs could lie over the roofs of another. */
static enum carm_isa usual_isa(const struct carm_classes *study, const struct carm_cpu *cpu)
{
    for (int exact = 1; exact >= 0; exact--) {
        for (int i = CARM_VECTOR_ISAS; i-- > 0;) {
            const enum carm_isa isa = (enum carm_isa)i;
            if (cpu->isa[i] && find_roofs(study->base.model, isa, study->base.threads) &&
                (!exact || is_exact(study, isa))) {
                return isa;
            }
        }
    }
    return carm_cpu_best_isa(cpu);
}

static int choose_roofs(struct carm_classes *study, struct carm_err *err)
{
    const char *isa = carm_isa_name(study->target.isa);
    study->base.roofs = find_roofs(study->base.model, study->target.isa, study->base.threads);
    study->base.has_dram = study->base.roofs != NULL &&
                           carm_original_bandwidth(study->base.roofs, "DRAM", true, NULL) > 0.0;
    if (study->base.roofs) {
        carm_place_note_disturbed(study->base.model, study->base.roofs, study->base.roofs_note);
        return 0;
    }
    char note[CARM_TEXT_MAX];
    study->base.roofs = carm_place_roofs(study->base.model, "dp", study->base.threads, note);
    if (!study->base.roofs) {
        return carm_fail(err, CARM_ENOTSUP, "the model has no roofs; `carm build` measures them");
    }
    snprintf(study->base.roofs_note, sizeof study->base.roofs_note,
             "the model has no roofs of %s dp with %d thread%s, so the roofs of %.16s %.16s "
             "with %d are used: carm build --isa %s --threads %d measures them",
             isa, study->base.threads, study->base.threads == 1 ? "" : "s", study->base.roofs->isa,
             study->base.roofs->precision, study->base.roofs->threads, isa, study->base.threads);
    return 0;
}

static int plan_class(struct carm_classes *study, size_t c, const struct carm_topo *topo,
                      struct carm_err *err)
{
    struct carm_classes_side *s = &study->sides[c];
    const struct carm_class *class = &carm_classes[c];
    const uint64_t wanted =
        c == CARM_APP_D
            ? carm_class_enlarge(class->bytes, study->last_cache_bytes, study->base.threads)
            : class->bytes;
    const int rc = carm_class_plan(&s->plan, class, wanted, &study->target, err);
    if (rc) {
        return rc;
    }
    s->home = c == CARM_APP_D
                  ? study->base.model->nlevels - 1
                  : carm_classes_home(study->base.model, topo, study->base.threads, s->plan.bytes);
    const uint64_t all = s->plan.bytes * (uint64_t)study->base.threads;
    const uint64_t room = carm_memory_available();
    if (room && all > room / 2) {
        snprintf(s->left_out, sizeof s->left_out,
                 "its sets take %llu MiB, and %llu MiB of memory are available: take fewer "
                 "--threads",
                 (unsigned long long)(all >> 20), (unsigned long long)(room >> 20));
    }
    return 0;
}

/* The level before memory, if the model knows its size. */
static void find_last_cache(struct carm_classes *study, const struct carm_topo *topo)
{
    const struct carm_model *m = study->base.model;
    for (size_t i = m->nlevels - 1; i-- > 0 && !study->last_cache_bytes;) {
        uint64_t instance = 0;
        int sharers = 1;
        study->last_cache_bytes =
            reached_bytes(m, i, topo, study->base.threads, &instance, &sharers);
        snprintf(study->last_cache, sizeof study->last_cache, "%s",
                 study->last_cache_bytes ? m->levels[i].level : "");
    }
}

static int plan_study(struct carm_study *base, const struct carm_study_options *options,
                      const struct carm_host *host, struct carm_err *err)
{
    struct carm_classes *study = (struct carm_classes *)base;
    const struct carm_cpu *cpu = &host->cpu;
    const struct carm_topo *topo = host->topo;
    struct carm_class_target *t = &study->target;
    study->largest = options->largest;
    if (study->base.model->nlevels == 0 || study->base.model->nroofs == 0) {
        return carm_fail(err, CARM_ENOTSUP,
                         "the model has no levels or no roofs; `carm build` measures them");
    }
    study->base.threads =
        options->threads ? options->threads : usual_threads(study->base.model, topo);
    int rc = carm_topo_check_threads(topo, study->base.threads, err);
    rc = rc ? rc : carm_mix_parse(study->base.model->config.ldst, &t->mix, err);
    if (rc) {
        return rc;
    }
    t->precision = CARM_DP;
    t->ops[t->nops++] = CARM_MAD;
    if (cpu->fma) {
        t->ops[t->nops++] = CARM_FMA;
    }
    t->isa = options->has_isa ? options->isa : usual_isa(study, cpu);
    rc = options->has_isa ? carm_cpu_check(cpu, t->isa, err) : 0;
    rc = rc ? rc : choose_roofs(study, err);
    find_last_cache(study, topo);
    for (size_t c = 0; c < CARM_CLASS_COUNT && !rc; c++) {
        rc = plan_class(study, c, topo, err);
    }
    return rc;
}

static int has_points(const struct carm_study *base, struct carm_err *err)
{
    const struct carm_classes *study = (const struct carm_classes *)base;
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        for (size_t k = 0; k < CARM_CLASSES_K; k++) {
            if (study->sides[c].points[k].known) {
                return 0;
            }
        }
    }
    return base->interrupted
               ? carm_fail(err, CARM_EINTR, "interrupted before the first point")
               : carm_fail(err, CARM_ENOTSUP,
                           "no instance fits into the budget of %g s: give more with --budget",
                           base->budget);
}

const struct carm_study_ops carm_classes_study = {
    .name = "classes",
    .bytes = sizeof(struct carm_classes),
    .plan = plan_study,
    .take = carm_classes_take,
    .measure = carm_classes_measure,
    .has_points = has_points,
};
