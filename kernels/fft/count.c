/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts FFTW's instructions: its code is not ours, and a whole cube is too much to step. Some
 * lines along each axis, at their places in the cube and planned as in the case, are stepped and
 * scaled to all lines. The counts may differ where FFTW would handle more lines at a time, or copy
 * them. */
#include <stdio.h>

#include "harness/count/step/trap.h"
#include "harness/count/step/counts.h"
#include "kernels/fft/transform.h"

/* Lines of 512 points take some 20000 instructions each. */
enum { LINES = 8, LONG_LINES = 4, LONG = 256, BUDGET = 20000000 };

static const double planning_seconds = 0.2; /* of an optimised plan */

static int step_lines(const struct carm_fft *f, int axis, size_t many, struct carm_step_counts *sum,
                      struct carm_err *err)
{
    const double seconds = f->version == CARM_FFT_OPTIMISED ? planning_seconds : 0.0;
    struct carm_step_counts counts = {0};
    bool complete = false;
    void *plan = NULL;
    carm_fftw_complex *data = carm_fft_at(&f->cube, 0, 0);
    int rc = carm_fft_plan_lines(&f->fftw, &f->cube, axis, many, seconds, &plan, err);
    if (rc) {
        return rc;
    }
    rc = carm_step_begin(BUDGET, err);
    if (!rc) {
        f->fftw.execute(plan, data, data);
        rc = carm_step_end(&counts, &complete, err);
    }
    f->fftw.destroy(plan);
    if (!rc && (!complete || counts.unknown)) {
        rc = carm_fail(err, CARM_ENOTSUP, "FFTW executes more than %zu lines should", many);
    }
    carm_step_counts_add(sum, &counts, 1.0);
    return rc;
}

int carm_fft_count(struct carm_dwarf_case *base, struct carm_dwarf_work *work, struct carm_err *err)
{
    const struct carm_fft *f = (const struct carm_fft *)base;
    const size_t n = f->cube.n;
    const size_t most = n > LONG ? LONG_LINES : LINES;
    const size_t many = n < most ? n : most;
    struct carm_step_counts counts = {0};
    for (int axis = 0; axis < 3; axis++) {
        if (step_lines(f, axis, many, &counts, err)) {
            snprintf(work->core_note, sizeof work->core_note, "%.150s",
                     err ? err->text : "FFTW cannot be stepped here");
            return 0;
        }
    }
    const double factor = (double)n * (double)n / (double)many;
    carm_dwarf_scale(work, &counts, factor);
    snprintf(work->core_note, sizeof work->core_note,
             "FFTW's code for %zu lines along each axis, planned alone, stepped, x %.6g", many,
             factor);
    return 0;
}
