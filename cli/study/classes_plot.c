/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures 7 and 8 of the cache-aware paper: both models side by side. */
#include "cli/study/output.h"
#include "kernels/classes/study.h"
#include "plots/study.h"

struct picture {
    struct carm_plot_study plot;
    struct carm_plot_study_point points[CARM_CLASS_COUNT][CARM_CLASSES_K];
};

/* The measured points of a class; the first, every fifth and the last have names. */
static size_t collect(const struct carm_classes_side *side, struct carm_plot_study_point *points)
{
    size_t n = 0;
    unsigned last = 0;
    for (unsigned k = 0; k < CARM_CLASSES_K; k++) {
        last = side->points[k].known ? k : last;
    }
    for (unsigned k = 0; k < CARM_CLASSES_K; k++) {
        const struct carm_classes_point *p = &side->points[k];
        if (p->known) {
            points[n] = (struct carm_plot_study_point){
                .intensity = {[CARM_PLOT_AWARE] = p->flops / p->bytes,
                              [CARM_PLOT_ORIGINAL] = p->flops / p->dram_bytes},
                .performance = p->flops / p->seconds};
            if (k % 5 == 0 || k == last) {
                snprintf(points[n].name, sizeof points[n].name, k ? "2^%u" : "1st", k);
            }
            n++;
        }
    }
    return n;
}

static void fill(struct picture *picture, const struct carm_study *of)
{
    const struct carm_classes *study = (const struct carm_classes *)of;
    struct carm_plot_study *plot = &picture->plot;
    *plot = (struct carm_plot_study){.kind = CARM_PLOT_STUDY_CLASSES,
                                     .title = "Application classes",
                                     .model = of->model,
                                     .roofs = of->roofs};
    _Static_assert((int)CARM_CLASS_COUNT <= CARM_PLOT_GROUPS_MAX, "the picture takes every class");
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        const size_t n = collect(&study->sides[c], picture->points[c]);
        if (n) {
            plot->groups[plot->ngroups++] = (struct carm_plot_study_group){
                .name = carm_classes[c].name,
                .points = picture->points[c],
                .n = n,
                .colour = c,
                .shifts = study->sides[c].home + 1 < of->model->nlevels};
        }
    }
}

int carm_classes_plot_script(FILE *out, const struct carm_study *study, const char *format,
                             struct carm_err *err)
{
    struct picture picture = {0};
    fill(&picture, study);
    return carm_plot_study_put(out, &picture.plot, format, err);
}

int carm_classes_plot(const struct carm_study *study, const char *path, struct carm_err *err)
{
    struct picture picture = {0};
    fill(&picture, study);
    return carm_plot_study_draw(&picture.plot, path, err);
}
