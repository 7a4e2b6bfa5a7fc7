/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/classes/study.h"
#include "kernels/study/setup.h"
#include "harness/buffer.h"
#include "models/roofline.h"

#define DEFAULT_BUDGET 60.0

/* ---- words ----------------------------------------------------------------------------------- */

static int parse_words(const struct carm_study_words *words, struct carm_classes *study,
                       struct carm_err *err)
{
    long n = 0;
    int rc = 0;
    study->largest = CARM_CLASS_K_MAX;
    study->budget = DEFAULT_BUDGET;
    if (words->n || words->variants) {
        return carm_fail(err, CARM_EINVAL, "--%s belongs to carm study gemm",
                         words->n ? "n" : "variants");
    }
    if (words->largest) {
        rc = carm_study_count("largest", words->largest, 0, CARM_CLASS_K_MAX, &n, err);
        study->largest = (unsigned)n;
    }
    rc = rc || !words->budget ? rc : carm_study_budget(words->budget, &study->budget, err);
    if (!rc && words->threads) {
        rc = carm_study_count("threads", words->threads, 1, 65536, &n, err);
        study->threads = (int)n;
    }
    return rc ? rc : carm_study_check_words(words, err);
}

int carm_classes_check_words(const struct carm_study_words *words, struct carm_err *err)
{
    struct carm_classes none = {.threads = 0};
    return parse_words(words, &none, err);
}

/* ---- levels ---------------------------------------------------------------------------------- */

uint64_t carm_classes_cache_bytes(const struct carm_model *model, size_t level,
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
        (void)carm_classes_cache_bytes(model, i, topo, threads, &instance, &sharers);
        if (instance && bytes * (uint64_t)sharers <= instance) {
            break;
        }
    }
    return i;
}

/* ---- ISA and roofs --------------------------------------------------------------------------- */

/* Roofs of this ISA and as many threads, or NULL. avx and avx2 have vectors of one width. */
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

/* One thread for each core, if the model knows so many; else the most that it knows. */
static int usual_threads(const struct carm_model *model, const struct carm_topo *topo)
{
    int most = 0;
    for (size_t i = 0; i < model->nroofs; i++) {
        const int n = model->roofs[i].threads;
        if (n == topo->cores) {
            return n;
        }
        most = n > most && n <= topo->pus ? n : most;
    }
    return most ? most : topo->cores;
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

/* The widest ISA that the model has roofs of and in which APP-L1 comes out as in table 2; else the
 * widest that it has roofs of: points of another ISA can lie over them. */
static enum carm_isa usual_isa(const struct carm_classes *study, const struct carm_cpu *cpu)
{
    for (int exact = 1; exact >= 0; exact--) {
        for (int i = CARM_ISA_COUNT; i-- > 0;) {
            const enum carm_isa isa = (enum carm_isa)i;
            if (cpu->isa[i] && find_roofs(study->model, isa, study->threads) &&
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
    study->roofs = find_roofs(study->model, study->target.isa, study->threads);
    if (study->roofs) {
        return 0;
    }
    char note[CARM_TEXT_MAX];
    study->roofs = carm_place_roofs(study->model, "dp", study->threads, note);
    if (!study->roofs) {
        return carm_fail(err, CARM_ENOTSUP, "the model has no roofs; `carm build` measures them");
    }
    (void)snprintf(study->roofs_note, sizeof study->roofs_note,
                   "the model has no roofs of %s dp with %d thread%s, so those of %.16s %.16s with "
                   "%d stand here: carm build --isa %s --threads %d measures them",
                   isa, study->threads, study->threads == 1 ? "" : "s", study->roofs->isa,
                   study->roofs->precision, study->roofs->threads, isa, study->threads);
    return 0;
}

/* ---- classes --------------------------------------------------------------------------------- */

static int plan_class(struct carm_classes *study, size_t c, const struct carm_topo *topo,
                      struct carm_err *err)
{
    struct carm_classes_side *s = &study->sides[c];
    const struct carm_class *class = &carm_classes[c];
    const uint64_t wanted =
        c == CARM_APP_D ? carm_class_enlarge(class->bytes, study->last_cache_bytes, study->threads)
                        : class->bytes;
    const int rc = carm_class_plan(&s->plan, class, wanted, &study->target, err);
    if (rc) {
        return rc;
    }
    s->home = c == CARM_APP_D
                  ? study->model->nlevels - 1
                  : carm_classes_home(study->model, topo, study->threads, s->plan.bytes);
    const uint64_t all = s->plan.bytes * (uint64_t)study->threads;
    const uint64_t room = carm_memory_available();
    if (room && all > room / 2) {
        (void)snprintf(s->left_out, sizeof s->left_out,
                       "its sets take %llu MiB, and %llu MiB of memory are available: take fewer "
                       "--threads",
                       (unsigned long long)(all >> 20), (unsigned long long)(room >> 20));
    }
    return 0;
}

/* The level before memory, if the model knows its size. */
static void find_last_cache(struct carm_classes *study, const struct carm_topo *topo)
{
    const struct carm_model *m = study->model;
    for (size_t i = m->nlevels - 1; i-- > 0 && !study->last_cache_bytes;) {
        uint64_t instance = 0;
        int sharers = 1;
        study->last_cache_bytes =
            carm_classes_cache_bytes(m, i, topo, study->threads, &instance, &sharers);
        (void)snprintf(study->last_cache, sizeof study->last_cache, "%s",
                       study->last_cache_bytes ? m->levels[i].level : "");
    }
}

int carm_classes_plan(struct carm_classes *study, const struct carm_study_words *words,
                      const struct carm_cpu *cpu, const struct carm_topo *topo,
                      struct carm_err *err)
{
    struct carm_class_target *t = &study->target;
    int rc = parse_words(words, study, err);
    if (rc) {
        return rc;
    }
    if (study->model->nlevels == 0 || study->model->nroofs == 0) {
        return carm_fail(err, CARM_ENOTSUP,
                         "the model has no levels or no roofs; `carm build` measures them");
    }
    study->threads = study->threads ? study->threads : usual_threads(study->model, topo);
    rc = carm_topo_check_threads(topo, study->threads, err);
    rc = rc ? rc : carm_mix_parse(study->model->config.ldst, &t->mix, err);
    if (rc) {
        return rc;
    }
    t->precision = CARM_DP;
    t->ops[t->nops++] = CARM_MAD;
    if (cpu->fma) {
        t->ops[t->nops++] = CARM_FMA;
    }
    if (words->isa) {
        rc = carm_isa_parse(words->isa, &t->isa, err);
        rc = rc ? rc : carm_cpu_check(cpu, t->isa, err);
    } else {
        t->isa = usual_isa(study, cpu);
    }
    rc = rc ? rc : choose_roofs(study, err);
    find_last_cache(study, topo);
    for (size_t c = 0; c < CARM_CLASS_COUNT && !rc; c++) {
        rc = plan_class(study, c, topo, err);
    }
    return rc;
}

void carm_classes_construct(const struct carm_classes *study, size_t class, unsigned k,
                            const struct carm_account *account, struct carm_classes_point *point)
{
    const struct carm_classes_side *s = &study->sides[class];
    const struct carm_class_work w =
        carm_class_work(&s->plan, account, (uint64_t)1 << k, study->threads);
    const struct carm_stream stream = {.load_bytes = w.load_bytes,
                                       .store_bytes = w.store_bytes,
                                       .update = study->target.mix.update,
                                       .set_bytes = (double)s->plan.bytes * study->threads,
                                       .repetitions = 1.0};
    point->flops = w.flops;
    point->bytes = w.load_bytes + w.store_bytes;
    point->dram_bytes = carm_traffic_bytes(&stream, study->model->nlevels - 1, s->home);
}
