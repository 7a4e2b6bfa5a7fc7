/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm study dwarfs: the four kernels of the Roofline paper, and the transpose phase of its FFT. */
#include "kernels/dwarfs/study.h"

#include <stdlib.h>

#include "cli/progress.h"
#include "kernels/study/machine.h"
#include "kernels/study/setup.h"

/* Everything that can be wrong before measuring begins. */
static int prepare(struct carm_dwarf_study *study, const struct carm_study_words *words,
                   const struct carm_study_machine *here, struct carm_err *err)
{
    int rc = carm_study_open_model(words->model, &here->cpu, here->topo, &here->clock,
                                   &study->model, err);
    rc = rc ? rc : carm_dwarf_study_plan(study, words, &here->cpu, here->topo, err);
    rc = rc ? rc
            : carm_study_check_files(words, carm_ceilings_slope(&study->ceilings[0]) != NULL, err);
    return rc || !words->resume ? rc : carm_dwarf_rows_read(study, words->output, err);
}

static bool has_points(const struct carm_dwarf_study *study)
{
    for (size_t i = 0; i < study->nitems; i++) {
        if (study->items[i].point.known) {
            return true;
        }
    }
    return false;
}

/* What came of it, also of a study that was stopped. */
static int report(const struct carm_dwarf_study *study, const struct carm_study_words *words,
                  struct carm_err *err)
{
    if (!has_points(study)) {
        return study->interrupted
                   ? carm_fail(err, CARM_EINTR, "interrupted before the first point")
                   : carm_fail(err, CARM_ENOTSUP, "nothing could be measured: %.300s",
                               study->items[0].left_out);
    }
    int rc = 0;
    if (words->json) {
        rc = carm_dwarf_study_json(stdout, study, err);
    } else {
        carm_dwarf_study_print(stdout, study);
    }
    rc = rc || !words->plot ? rc : carm_dwarf_study_plot(study, words->plot, err);
    return !rc && study->interrupted ? carm_study_stopped(words, err) : rc;
}

int carm_study_dwarfs(const struct carm_study_words *words, struct carm_err *err)
{
    struct carm_study_machine here;
    struct carm_observer observer = carm_progress_open();
    struct carm_dwarf_study *study = calloc(1, sizeof *study);
    if (!study) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a study");
    }
    int rc =
        carm_study_enter(&here, words, &observer, carm_dwarf_study_words(study, words, err), err);
    rc = rc ? rc : prepare(study, words, &here, err);
    if (!rc) {
        rc = carm_dwarf_study_measure(study, here.topo, &here.clock, words->output, err);
        rc = rc ? rc : report(study, words, err);
    }
    rc = carm_study_leave(&here, rc);
    carm_model_free(study->model);
    free(study);
    return rc;
}
