/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm study classes: the cache-aware paper's application classes on both models. */
#include "kernels/classes/study.h"

#include <stdlib.h>

#include "cli/progress.h"
#include "kernels/study/machine.h"
#include "kernels/study/setup.h"
#include "models/roofline.h"

/* Everything that can be wrong before measuring begins. */
static int prepare(struct carm_classes *study, const struct carm_study_words *words,
                   const struct carm_study_machine *here, struct carm_err *err)
{
    int rc = carm_study_open_model(words->model, &here->cpu, here->topo, &here->clock,
                                   &study->model, err);
    rc = rc ? rc : carm_classes_plan(study, words, &here->cpu, here->topo, err);
    rc = rc ? rc
            : carm_study_check_files(
                  words, carm_original_bandwidth(study->roofs, "DRAM", true, NULL) > 0.0, err);
    return rc || !words->resume ? rc : carm_classes_rows_read(study, words->output, err);
}

static bool has_points(const struct carm_classes *study)
{
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        for (size_t k = 0; k < CARM_CLASSES_K; k++) {
            if (study->sides[c].points[k].known) {
                return true;
            }
        }
    }
    return false;
}

/* What came of it, also of a study that was stopped. */
static int report(const struct carm_classes *study, const struct carm_study_words *words,
                  struct carm_err *err)
{
    if (!has_points(study)) {
        return study->interrupted
                   ? carm_fail(err, CARM_EINTR, "interrupted before the first point")
                   : carm_fail(err, CARM_ENOTSUP,
                               "no instance fits into the budget of %g s: give more with --budget",
                               study->budget);
    }
    int rc = 0;
    if (words->json) {
        rc = carm_classes_print_json(stdout, study, err);
    } else {
        carm_classes_print(stdout, study);
    }
    rc = rc || !words->plot ? rc : carm_classes_plot(study, words->plot, err);
    if (!rc && study->interrupted) {
        rc = carm_study_stopped(words, err);
    }
    return rc;
}

int carm_study_classes(const struct carm_study_words *words, struct carm_err *err)
{
    struct carm_study_machine here;
    struct carm_observer observer = carm_progress_open();
    struct carm_classes *study = calloc(1, sizeof *study);
    if (!study) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a study");
    }
    int rc = carm_study_enter(&here, words, &observer, carm_classes_check_words(words, err), err);
    rc = rc ? rc : prepare(study, words, &here, err);
    if (!rc) {
        rc = carm_classes_measure(study, here.topo, &here.clock, carm_classes_rows_append,
                                  (void *)(uintptr_t)words->output, err);
        rc = rc ? rc : report(study, words, err);
    }
    rc = carm_study_leave(&here, rc);
    carm_model_free(study->model);
    free(study);
    return rc;
}
