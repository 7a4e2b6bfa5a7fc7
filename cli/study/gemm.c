/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm study gemm: matrix multiplication in the steps of the cache-aware paper's figure 9. */
#include "kernels/gemm/study.h"

#include <stdlib.h>

#include "cli/progress.h"
#include "kernels/study/machine.h"
#include "kernels/study/setup.h"
#include "models/roofline.h"

/* Everything that can be wrong before measuring begins. */
static int prepare(struct carm_gemm_study *study, const struct carm_study_words *words,
                   const struct carm_study_machine *here, struct carm_err *err)
{
    int rc = carm_study_open_model(words->model, &here->cpu, here->topo, &here->clock,
                                   &study->model, err);
    rc = rc ? rc : carm_gemm_study_plan(study, words, &here->cpu, here->topo, err);
    rc = rc ? rc
            : carm_study_check_files(
                  words, carm_original_bandwidth(study->roofs, "DRAM", true, NULL) > 0.0, err);
    return rc || !words->resume ? rc : carm_gemm_rows_read(study, words->output, err);
}

static bool has_points(const struct carm_gemm_study *study)
{
    for (int i = 0; i < CARM_GEMM_STEPS; i++) {
        if (study->steps[i].known) {
            return true;
        }
    }
    return false;
}

/* What came of it, also of a study that was stopped. */
static int report(const struct carm_gemm_study *study, const struct carm_study_words *words,
                  struct carm_err *err)
{
    if (!has_points(study)) {
        return carm_fail(err, CARM_EINTR, "interrupted before the first point");
    }
    int rc = 0;
    if (words->json) {
        rc = carm_gemm_study_json(stdout, study, err);
    } else {
        carm_gemm_study_print(stdout, study);
    }
    rc = rc || !words->plot ? rc : carm_gemm_study_plot(study, words->plot, err);
    if (!rc && study->interrupted) {
        rc = carm_study_stopped(words, err);
    }
    return rc;
}

int carm_study_gemm(const struct carm_study_words *words, struct carm_err *err)
{
    struct carm_study_machine here;
    struct carm_observer observer = carm_progress_open();
    struct carm_gemm_study *study = calloc(1, sizeof *study);
    if (!study) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a study");
    }
    int rc =
        carm_study_enter(&here, words, &observer, carm_gemm_study_words(study, words, err), err);
    rc = rc ? rc : prepare(study, words, &here, err);
    if (!rc) {
        rc = carm_gemm_study_measure(study, &here.cpu, here.topo, &here.clock, words->output, err);
        rc = rc ? rc : report(study, words, err);
    }
    rc = carm_study_leave(&here, rc);
    carm_model_free(study->model);
    free(study->plans);
    free(study->variants);
    free(study);
    return rc;
}
