/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures 9 and 10 of the cache-aware paper: the steps on both models side by side. */
#include <stdlib.h>

#include "cli/study/output.h"
#include "kernels/gemm/study.h"

/* step  as in struct carm_plot_point; file: entry of the legend */
static void add_point(struct carm_plot_input *in, const struct carm_gemm_study *s,
                      const struct carm_gemm_point *p, int step, size_t file)
{
    if (p->known) {
        struct carm_plot_point *to = &in->points[in->npoints++];
        *to = carm_study_plot_point(&s->base, p->flops, p->bytes, p->dram_bytes, p->seconds);
        to->step = step;
        to->file = file;
        snprintf(to->name, sizeof to->name, "gemm-%zu-%d-%s", s->n, step, p->what);
    }
}

int carm_gemm_plot(const struct carm_study *study, const char *path, struct carm_err *err)
{
    /* steps, then the variants by enum carm_gemm_access */
    static const char *const groups[] = {"", "B as it is", "B transposed", "both packed"};
    const struct carm_gemm_study *gemm = (const struct carm_gemm_study *)study;
    const bool dp = gemm->precision == CARM_DP;
    struct carm_plot_input in = {.traffic_by = !*study->dram_lacks ? ""
                                               : dp                ? "simulated"
                                                                   : "at least"};
    char title[96];
    in.points = calloc(CARM_GEMM_STEPS + gemm->nvariants, sizeof *in.points);
    if (!in.points) {
        return carm_fail(err, CARM_ENOMEM, "out of memory");
    }
    for (; in.nfiles < sizeof groups / sizeof *groups; in.nfiles++) {
        snprintf(in.files[in.nfiles], sizeof in.files[0], "%s", groups[in.nfiles]);
    }
    for (int i = 0; i < CARM_GEMM_STEPS; i++) { /* all libraries have number 6 */
        add_point(&in, gemm, &gemm->steps[i], i < CARM_GEMM_VERSIONS ? i + 1 : 6, 0);
    }
    for (size_t i = 0; i < gemm->nvariants; i++) {
        add_point(&in, gemm, &gemm->variants[i], -1, 1 + (size_t)gemm->variants[i].access);
    }
    snprintf(title, sizeof title, "Matrix multiplication, n = %zu%s%s", gemm->n, dp ? "" : ", ",
             dp ? "" : carm_precision_name(gemm->precision));
    const int rc = carm_study_plot_draw(study, &in, "gemm", title, path, err);
    free(in.points);
    return rc;
}
