/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/startup.h"

#include <math.h>

#include "models/fit/line.h"

int carm_validation_startup(struct carm_team *team, const struct carm_code *code,
                            uint64_t set_bytes, double target_seconds, size_t reps,
                            struct carm_validation_roof *roof, struct carm_err *err)
{
    enum { SIZES = 11, HALVES_BELOW = 8, REPS = 512 };
    double work[SIZES];
    double seconds[SIZES];
    double last = 0.0;
    size_t n = 0;
    struct carm_shape full;
    struct carm_fit_line line;
    carm_measure_shape(team, code, set_bytes, target_seconds, &full);
    const double whole = (double)(full.iterations * full.passes);
    for (int i = 0; i < SIZES; i++) { /* half octaves from 1/16 to 2 of a repetition */
        struct carm_shape shape;
        struct carm_measurement m;
        const double wanted = whole * pow(2.0, 0.5 * (i - HALVES_BELOW));
        carm_measure_shape_of(code, set_bytes, (uint64_t)wanted, &shape);
        carm_measure_run(team, code, &shape, reps < REPS ? reps : REPS, 0.0, NULL, &m);
        const double done = code->account.stride_bytes ? m.bytes : m.flops;
        if (m.seconds.median > 0.0 && done > last) {
            last = done;
            work[n] = done;
            seconds[n++] = m.seconds.median;
        }
    }
    int rc = carm_fit_line(work, seconds, n, &line, err);
    if (rc == -CARM_ENOMEM) {
        return rc;
    }
    if (rc == 0) {
        roof->rate = line.rate.value;
        roof->rate_se = line.rate.se;
        roof->t0 = line.t0.value;
        roof->t0_se = line.t0.se;
    }
    return 0; /* times that do not grow with work say nothing: the roof has no such rate */
}
