/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm study gemm: matrix multiplication in the steps of the cache-aware paper's figure 9. */
#include "cli/study_gemm.h"

#include <locale.h>
#include <stdlib.h>

#include "cli/interrupt.h"
#include "cli/node_lock.h"
#include "cli/study_rows.h"
#include "cli/study_setup.h"
#include "models/outfile.h"

/* Everything that can be wrong before measuring begins. */
static int prepare(struct carm_gemm_study *study, const struct carm_study_words *words,
                   const struct carm_cpu *cpu, const struct carm_topo *topo,
                   const struct carm_clock *clock, struct carm_err *err)
{
    int rc = carm_study_open_model(words->model, cpu, topo, clock, &study->model, err);
    rc = rc ? rc : carm_gemm_study_plan(study, words, cpu, topo, err);
    rc = rc || !words->plot ? rc : carm_outfile_check(words->plot, err);
    rc = rc || !words->output ? rc
                              : carm_study_rows_check(words->output, words->resume != NULL, err);
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
    struct carm_cpu cpu;
    struct carm_clock clock;
    struct carm_topo *topo = NULL;
    struct carm_node_lock lock = {.fd = -1};
    struct carm_gemm_study *study = calloc(1, sizeof *study);
    if (!study) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a study");
    }
    (void)setlocale(LC_NUMERIC, "C"); /* gnuplot reads 0.5, never 0,5 */
    carm_cpu_read(&cpu);
    int rc = carm_gemm_study_words(study, words, err);
    rc = rc ? rc : carm_topo_open(&topo, NULL, NULL, err);
    rc = rc ? rc : carm_clock_open(&clock, err);
    carm_interrupt_watch();
    rc = rc ? rc
            : carm_node_lock_open(&lock, "study", words->output ? words->output : "",
                                  &carm_interrupted, err);
    rc = rc ? rc : prepare(study, words, &cpu, topo, &clock, err);
    if (!rc) {
        rc = carm_gemm_study_measure(study, &cpu, topo, &clock, words->output, err);
        rc = rc ? rc : report(study, words, err);
    }
    carm_node_lock_close(&lock, rc == 0);
    carm_model_free(study->model);
    carm_topo_close(topo);
    free(study->plans);
    free(study->variants);
    free(study);
    return rc > 0 ? 0 : rc; /* another rank does it */
}
