/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures 7 and 8 of the cache-aware paper: both models side by side. */
#include <stdlib.h>

#include "cli/study/output.h"
#include "kernels/classes/study.h"

/* Adds the measured points of a class; the first, every fifth and the last have names. */
static void add_class(struct carm_plot_input *in, const struct carm_classes *study, size_t class)
{
    const struct carm_classes_side *side = &study->sides[class];
    const size_t before = in->npoints;
    unsigned last = 0;
    for (unsigned k = 0; k < CARM_CLASSES_K; k++) {
        last = side->points[k].known ? k : last;
    }
    for (unsigned k = 0; k < CARM_CLASSES_K; k++) {
        const struct carm_classes_point *p = &side->points[k];
        if (p->known) {
            struct carm_plot_point *to = &in->points[in->npoints++];
            *to =
                carm_study_plot_point(&study->base, p->flops, p->bytes, p->dram_bytes, p->seconds);
            to->file = in->nfiles;
            if (k % 5 == 0 || k == last) {
                snprintf(to->name, sizeof to->name, k ? "2^%u" : "1st", k);
            }
        }
    }
    if (in->npoints > before) {
        snprintf(in->files[in->nfiles++], sizeof in->files[0], "%s", carm_classes[class].name);
    }
}

static int open_input(const struct carm_study *of, struct carm_plot_input *in, struct carm_err *err)
{
    *in = (struct carm_plot_input){.lines = true};
    in->points = calloc((size_t)CARM_CLASS_COUNT * CARM_CLASSES_K, sizeof *in->points);
    for (size_t c = 0; c < CARM_CLASS_COUNT && in->points; c++) {
        add_class(in, (const struct carm_classes *)of, c);
    }
    return in->points ? 0 : carm_fail(err, CARM_ENOMEM, "out of memory");
}

static const char title[] = "Application classes";

int carm_classes_plot_script(FILE *out, const struct carm_study *study, const char *format,
                             struct carm_err *err)
{
    struct carm_plot_input in;
    int rc = open_input(study, &in, err);
    rc = rc ? rc : carm_study_plot_put(out, study, &in, "roofline", title, format, err);
    free(in.points);
    return rc;
}

int carm_classes_plot(const struct carm_study *study, const char *path, struct carm_err *err)
{
    struct carm_plot_input in;
    int rc = open_input(study, &in, err);
    rc = rc ? rc : carm_study_plot_draw(study, &in, "roofline", title, path, err);
    free(in.points);
    return rc;
}
