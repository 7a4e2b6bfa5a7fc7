/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/pick.h"

#include <gsl/gsl_sort_double.h>

enum { MOST = 64, REPS = 48, FINALISTS = 3, FINAL_ROUNDS = 2, FINAL_REPS = 96 };

/* Byte per cycle or second of a short run. */
static double run_once(struct carm_team *team, const struct carm_code *code,
                       const struct carm_shape *shape, size_t reps, enum carm_search search)
{
    struct carm_measurement m;
    reps *= search == CARM_SEARCH_SHARED ? 2 : 1; /* a shared cache settles late */
    carm_measure_run(team, code, shape, reps < team->max_reps ? reps : team->max_reps, 0.0, NULL,
                     &m);
    return m.bytes / (search == CARM_SEARCH_CORE ? m.cycles : m.seconds.median);
}

size_t carm_measure_pick(struct carm_team *team, const struct carm_code *const *codes, size_t n,
                         uint64_t set_bytes, double target_seconds, enum carm_search search,
                         struct carm_shape *shape, double *rate)
{
    struct carm_shape shapes[MOST];
    double found[MOST];
    size_t order[MOST];
    n = n < MOST ? n : MOST;
    carm_measure_shape(team, codes[0], set_bytes, target_seconds, &shapes[0]);
    const uint64_t bytes = shapes[0].iterations * shapes[0].passes * codes[0]->account.stride_bytes;
    for (size_t i = 0; i < n; i++) {
        carm_measure_shape_of(codes[i], set_bytes, bytes / codes[i]->account.stride_bytes,
                              &shapes[i]);
        found[i] = run_once(team, codes[i], &shapes[i], REPS, search);
    }
    gsl_sort_index(order, found, 1, n); /* ascending */
    const size_t finalists = n < FINALISTS ? n : FINALISTS;
    size_t best = order[n - 1];
    double best_rate = 0.0;
    for (size_t i = n - finalists; i < n; i++) {
        double rounds[FINAL_ROUNDS + 1] = {found[order[i]]};
        for (int r = 1; r <= FINAL_ROUNDS; r++) {
            rounds[r] = run_once(team, codes[order[i]], &shapes[order[i]], FINAL_REPS, search);
        }
        const double median = carm_stats_median(rounds, FINAL_ROUNDS + 1);
        if (median > best_rate) {
            best_rate = median;
            best = order[i];
        }
    }
    *shape = shapes[best];
    if (rate) {
        *rate = best_rate;
    }
    return best;
}
