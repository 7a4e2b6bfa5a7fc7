/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures 9 and 10 of the cache-aware paper: the steps on both models side by side. */
#include <stdlib.h>

#include "cli/study/output.h"
#include "kernels/gemm/study.h"
#include "plots/study.h"

enum { GROUPS = 3 }; /* enum carm_gemm_access */

static struct carm_plot_study_point point_of(const struct carm_gemm_point *p)
{
    struct carm_plot_study_point point = {0};
    if (p->known) {
        point.intensity[CARM_PLOT_AWARE] = p->bytes > 0.0 ? p->flops / p->bytes : 0.0;
        point.intensity[CARM_PLOT_ORIGINAL] = p->dram_bytes > 0.0 ? p->flops / p->dram_bytes : 0.0;
        point.performance = carm_gemm_performance(p);
    }
    return point;
}

/* The variants by how they access the matrices, one group after the other.
 * points  [study->nvariants] out */
static void add_variants(const struct carm_gemm_study *study, struct carm_plot_study *plot,
                         struct carm_plot_study_point *points)
{
    static const char *const names[GROUPS] = {"B as it is", "B transposed", "both packed"};
    for (size_t g = 0; g < GROUPS; g++) {
        plot->groups[g] =
            (struct carm_plot_study_group){.name = names[g], .points = points, .colour = g};
        for (size_t i = 0; i < study->nvariants; i++) {
            if (study->variants[i].access == (enum carm_gemm_access)g) {
                *points++ = point_of(&study->variants[i]);
                plot->groups[g].n++;
            }
        }
    }
    plot->ngroups = GROUPS;
}

int carm_gemm_plot(const struct carm_study *study, const char *path, struct carm_err *err)
{
    const struct carm_gemm_study *gemm = (const struct carm_gemm_study *)study;
    struct carm_plot_study plot = {
        .kind = CARM_PLOT_STUDY_STEPS,
        .model = study->model,
        .roofs = study->roofs,
        .traffic_by = !*study->dram_lacks          ? ""
                      : gemm->precision == CARM_DP ? "simulated"
                                                   : "at least",
        .nsteps = CARM_GEMM_STEPS,
    };
    _Static_assert((int)CARM_GEMM_STEPS <= CARM_PLOT_STEPS_MAX, "the picture takes every step");
    struct carm_plot_study_point *variants = calloc(gemm->nvariants + 1, sizeof *variants);
    if (!variants) {
        return carm_fail(err, CARM_ENOMEM, "out of memory");
    }
    snprintf(plot.title, sizeof plot.title, "Matrix multiplication, n = %zu%s%s", gemm->n,
             gemm->precision == CARM_DP ? "" : ", ",
             gemm->precision == CARM_DP ? "" : carm_precision_name(gemm->precision));
    for (int i = 0; i < CARM_GEMM_STEPS; i++) {
        struct carm_plot_study_point *step = &plot.steps[i];
        *step = point_of(&gemm->steps[i]);
        /* libraries share a number; among variants the numbers alone */
        snprintf(step->name, sizeof step->name, "%d%s%s", i < CARM_GEMM_VERSIONS ? i + 1 : 6,
                 gemm->nvariants ? "" : " ", gemm->nvariants ? "" : gemm->steps[i].what);
    }
    if (gemm->nvariants) {
        add_variants(gemm, &plot, variants);
    }
    int rc = carm_plot_study_draw(&plot, path, err);
    free(variants);
    return rc;
}
