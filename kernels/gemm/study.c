/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/gemm/study.h"

#include <stdlib.h>

enum { USUAL_N = 2304 }; /* the size in the paper's figure 9 */

static int choose_kernels(struct carm_gemm_study *study, const struct carm_study_options *options,
                          const struct carm_cpu *cpu, struct carm_err *err)
{
    study->isa = options->has_isa ? options->isa : carm_cpu_best_isa(cpu);
    int rc = carm_cpu_check(cpu, study->isa, err);
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

static int plan_study(struct carm_study *base, const struct carm_study_options *options,
                      const struct carm_host *host, struct carm_err *err)
{
    struct carm_gemm_study *study = (struct carm_gemm_study *)base;
    const struct carm_topo *topo = host->topo;
    study->n = options->n ? options->n : USUAL_N;
    study->nvariants = options->variants;
    study->precision = options->precision;
    int rc = carm_study_choose_roofs(base, carm_precision_name(study->precision), options->threads,
                                     topo, err);
    if (!rc && study->precision != CARM_DP) {
        return carm_gemm_narrow_plan(study, &host->cpu, err);
    }
    rc = rc ? rc : choose_kernels(study, options, &host->cpu, err);
    if (rc) {
        return rc;
    }
    study->caches.l1 = carm_study_cache_bytes(study->base.model, 1, topo, study->base.threads);
    study->caches.l2 = carm_study_cache_bytes(study->base.model, 2, topo, study->base.threads);
    study->caches.l3 = carm_study_cache_bytes(study->base.model, 3, topo, study->base.threads);
    carm_study_caches(study->base.model, topo, &study->hierarchy, study->hierarchy_text);
    return choose_variants(study, err);
}

static int has_points(const struct carm_study *base, struct carm_err *err)
{
    const struct carm_gemm_study *study = (const struct carm_gemm_study *)base;
    for (int i = 0; i < CARM_GEMM_STEPS; i++) {
        if (study->steps[i].known) {
            return 0;
        }
    }
    return base->interrupted ? carm_fail(err, CARM_EINTR, "interrupted before the first point")
                             : carm_fail(err, CARM_ENOTSUP, "nothing could be measured: %.300s",
                                         study->left_out[0]);
}

static void close_study(struct carm_study *base)
{
    struct carm_gemm_study *study = (struct carm_gemm_study *)base;
    free(study->plans);
    free(study->variants);
}

const struct carm_study_ops carm_gemm_study = {
    .name = "gemm",
    .bytes = sizeof(struct carm_gemm_study),
    .plan = plan_study,
    .take = carm_gemm_take_row,
    .measure = carm_gemm_study_measure,
    .has_points = has_points,
    .close = close_study,
};
