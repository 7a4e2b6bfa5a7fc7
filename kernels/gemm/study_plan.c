/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gemm/study.h"
#include "kernels/study/setup.h"

/* ---- words -------------------------------------------------------------------------------------- */

int carm_gemm_study_words(struct carm_gemm_study *study, const struct carm_study_words *words,
                          struct carm_err *err)
{
    long n = 2304;
    long variants = 0;
    long threads = 0;
    int rc = words->n ? carm_study_count("n", words->n, 1, CARM_GEMM_N_MAX, &n, err) : 0;
    if (!rc && words->variants) {
        rc = carm_study_count("variants", words->variants, 0, CARM_GEMM_VARIANTS_MAX, &variants,
                              err);
    }
    if (!rc && words->threads) {
        rc = carm_study_count("threads", words->threads, 1, 1 << 20, &threads, err);
    }
    if (!rc && words->isa) {
        rc = carm_isa_parse(words->isa, &study->isa, err);
    }
    rc = rc ? rc : carm_study_check_words(words, err);
    if (!rc && words->largest) {
        rc = carm_fail(err, CARM_EINVAL, "--largest is for carm study classes");
    }
    if (!rc && words->budget) {
        rc = carm_fail(err, CARM_EINVAL, "--budget is for carm study classes");
    }
    study->n = (size_t)n;
    study->nvariants = (size_t)variants;
    study->threads = (int)threads;
    return rc;
}

/* ---- what the machine and its model have ----------------------------------------------------------- */

static int choose_kernels(struct carm_gemm_study *study, const struct carm_study_words *words,
                          const struct carm_cpu *cpu, struct carm_err *err)
{
    int rc = 0;
    if (!words->isa) {
        study->isa = carm_cpu_best_isa(cpu);
    } else {
        rc = carm_cpu_check(cpu, study->isa, err);
    }
    study->kernels.strided = rc ? NULL : carm_gemm_kernel_find(cpu, study->isa, true);
    study->kernels.vector = rc ? NULL : carm_gemm_kernel_find(cpu, study->isa, false);
    if (!rc && (!study->kernels.strided || !study->kernels.vector)) {
        rc = carm_fail(err, CARM_ENOTSUP,
                       "the %s kernel needs FMA, which this CPU lacks: try --isa avx or --isa sse",
                       carm_isa_name(study->isa));
    }
    return rc;
}

static int choose_variants(struct carm_gemm_study *study, struct carm_err *err)
{
    const size_t wanted = study->nvariants;
    if (wanted == 0) {
        return 0;
    }
    study->plans = calloc(wanted, sizeof *study->plans);
    study->variants = calloc(wanted, sizeof *study->variants);
    if (!study->plans || !study->variants) {
        study->nvariants = 0;
        return carm_fail(err, CARM_ENOMEM, "not enough memory for %zu variants", wanted);
    }
    study->nvariants =
        carm_gemm_variants(study->plans, wanted, study->n, &study->kernels, &study->caches);
    return 0;
}

int carm_gemm_study_plan(struct carm_gemm_study *study, const struct carm_study_words *words,
                         const struct carm_cpu *cpu, const struct carm_topo *topo,
                         struct carm_err *err)
{
    study->threads = study->threads ? study->threads : topo->cores;
    int rc = carm_topo_check_threads(topo, study->threads, err);
    rc = rc ? rc : choose_kernels(study, words, cpu, err);
    if (rc) {
        return rc;
    }
    study->roofs = carm_place_roofs(study->model, "dp", study->threads, study->roofs_note);
    if (!study->roofs || !carm_roofs_find_peak(study->roofs)) {
        return carm_fail(err, CARM_ENOTSUP,
                         "the model has no compute roof; `carm build` measures this machine");
    }
    study->caches.l1 = carm_study_cache_bytes(study->model, 1, topo, study->threads);
    study->caches.l2 = carm_study_cache_bytes(study->model, 2, topo, study->threads);
    study->caches.l3 = carm_study_cache_bytes(study->model, 3, topo, study->threads);
    study->llc_bytes = study->caches.l3 > 0.0   ? study->caches.l3
                       : study->caches.l2 > 0.0 ? study->caches.l2
                                                : study->caches.l1;
    return choose_variants(study, err);
}

/* ---- points --------------------------------------------------------------------------------------- */

void carm_gemm_point_name(char dst[64], size_t n, const char *plan)
{
    (void)snprintf(dst, 64, "gemm-%zu-%.40s", n, plan);
}

void carm_gemm_point_place(const struct carm_gemm_study *study, struct carm_gemm_point *p)
{
    struct carm_err ignored;
    p->has_aware =
        p->bytes > 0.0 && carm_place_cache_aware(study->model, study->roofs, p->flops, p->bytes,
                                                 p->seconds, &p->aware, &ignored) == 0;
    p->has_original = p->dram_bytes > 0.0 &&
                      carm_place_original(study->model, study->roofs, p->flops, p->dram_bytes,
                                          p->seconds, &p->original, &ignored) == 0;
}
