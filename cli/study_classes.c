/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm study classes: the cache-aware paper's application classes on both models. */
#include "cli/study_classes.h"

#include <locale.h>
#include <stdlib.h>

#include "cli/interrupt.h"
#include "cli/node_lock.h"
#include "cli/study_rows.h"
#include "cli/study_setup.h"
#include "models/outfile.h"

/* Everything that can be wrong before measuring begins. */
static int prepare(struct carm_classes *study, const struct carm_study_words *words,
                   const struct carm_cpu *cpu, const struct carm_topo *topo,
                   const struct carm_clock *clock, struct carm_err *err)
{
    int rc = carm_study_open_model(words->model, cpu, topo, clock, &study->model, err);
    rc = rc ? rc : carm_classes_plan(study, words, cpu, topo, err);
    rc = rc || !words->plot ? rc : carm_outfile_check(words->plot, err);
    rc = rc || !words->output ? rc
                              : carm_study_rows_check(words->output, words->resume != NULL, err);
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
    struct carm_cpu cpu;
    struct carm_clock clock;
    struct carm_topo *topo = NULL;
    struct carm_node_lock lock = {.fd = -1};
    struct carm_classes *study = calloc(1, sizeof *study);
    if (!study) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a study");
    }
    (void)setlocale(LC_NUMERIC, "C"); /* gnuplot reads 0.5, never 0,5 */
    carm_cpu_read(&cpu);
    int rc = carm_classes_check_words(words, err);
    rc = rc ? rc : carm_topo_open(&topo, NULL, NULL, err);
    rc = rc ? rc : carm_clock_open(&clock, err);
    carm_interrupt_watch();
    rc = rc ? rc
            : carm_node_lock_open(&lock, "study", words->output ? words->output : "",
                                  &carm_interrupted, err);
    rc = rc ? rc : prepare(study, words, &cpu, topo, &clock, err);
    if (!rc) {
        rc = carm_classes_measure(study, topo, &clock, carm_classes_rows_append,
                                  (void *)(uintptr_t)words->output, err);
        rc = rc ? rc : report(study, words, err);
    }
    carm_node_lock_close(&lock, rc == 0);
    carm_model_free(study->model);
    carm_topo_close(topo);
    free(study);
    return rc > 0 ? 0 : rc; /* another rank does it */
}
