/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/search.h"

#include <gsl/gsl_sort_double.h>
#include <string.h>

enum { MOST = 64 }; /* candidates */

double carm_level_target(size_t level, size_t n)
{
    if (level + 1 == n) {
        return 20e-6;
    }
    return level + 2 == n && level > 0 ? 9e-6 : CARM_TARGET_CORE;
}

enum carm_search carm_level_search(size_t level, size_t n)
{
    if (level + 1 == n) {
        return CARM_SEARCH_MEMORY;
    }
    return level + 2 == n ? CARM_SEARCH_SHARED : CARM_SEARCH_CORE;
}

/* Bytes, or flops where there are none, per core cycle or second in a short run. */
static double try_code(struct carm_team *team, const struct carm_code *code,
                       const struct carm_shape *shape, size_t reps, enum carm_search search)
{
    struct carm_measurement m;
    carm_measure_run(team, code, shape, reps < team->max_reps ? reps : team->max_reps, 0.0, NULL,
                     &m);
    const double work = m.bytes > 0.0 ? m.bytes : m.flops;
    return work / (search == CARM_SEARCH_CORE ? m.cycles : m.seconds.median);
}

size_t carm_measure_best(struct carm_team *team, const struct carm_code *const *codes, size_t n,
                         uint64_t set_bytes, double target_seconds, enum carm_search search,
                         double *rates)
{
    enum { ROUNDS = 3, REPS = 64, FINALISTS = 3, FINAL_ROUNDS = 5, FINAL_REPS = 96 };
    struct carm_shape shapes[MOST];
    double rounds[MOST][FINAL_ROUNDS];
    double found[MOST];
    size_t order[MOST];
    n = n < MOST ? n : MOST;
    const size_t longer = search == CARM_SEARCH_SHARED ? 3 : 1;
    const size_t reps = REPS * longer;
    const size_t final_reps = FINAL_REPS * longer;
    for (size_t i = 0; i < n; i++) {
        carm_measure_shape(team, codes[i], set_bytes, target_seconds, &shapes[i]);
    }
    for (size_t r = 0; r < ROUNDS; r++) {
        for (size_t i = 0; i < n; i++) {
            rounds[i][r] = try_code(team, codes[i], &shapes[i], reps, search);
        }
    }
    for (size_t i = 0; i < n; i++) {
        found[i] = carm_stats_median(rounds[i], ROUNDS);
    }
    gsl_sort_index(order, found, 1, n); /* ascending */
    const size_t finalists = n < FINALISTS ? n : FINALISTS;
    for (size_t r = 0; r < FINAL_ROUNDS && n > 1; r++) {
        for (size_t i = n - finalists; i < n; i++) {
            rounds[order[i]][r] =
                try_code(team, codes[order[i]], &shapes[order[i]], final_reps, search);
        }
    }
    size_t best = order[n - 1];
    for (size_t i = n - finalists; i < n && n > 1; i++) {
        found[order[i]] = carm_stats_median(rounds[order[i]], FINAL_ROUNDS);
        if (i == n - finalists || found[order[i]] > found[best]) {
            best = order[i];
        }
    }
    if (rates) {
        memcpy(rates, found, n * sizeof *rates);
    }
    return best;
}

size_t carm_measure_pick(struct carm_team *team, const struct carm_code *const *codes, size_t n,
                         uint64_t set_bytes, double target_seconds, enum carm_search search,
                         struct carm_shape *shape, double *rate)
{
    enum { REPS = 48, FINALISTS = 3, FINAL_ROUNDS = 2, FINAL_REPS = 96 };
    struct carm_shape shapes[MOST];
    double found[MOST];
    size_t order[MOST];
    n = n < MOST ? n : MOST;
    const size_t longer = search == CARM_SEARCH_SHARED ? 2 : 1; /* a shared cache settles late */
    carm_measure_shape(team, codes[0], set_bytes, target_seconds, &shapes[0]);
    const uint64_t bytes = shapes[0].iterations * shapes[0].passes * codes[0]->account.stride_bytes;
    for (size_t i = 0; i < n; i++) {
        carm_measure_shape_of(codes[i], set_bytes, bytes / codes[i]->account.stride_bytes,
                              &shapes[i]);
        found[i] = try_code(team, codes[i], &shapes[i], REPS * longer, search);
    }
    gsl_sort_index(order, found, 1, n); /* ascending */
    const size_t finalists = n < FINALISTS ? n : FINALISTS;
    size_t best = order[n - 1];
    double best_rate = 0.0;
    for (size_t i = n - finalists; i < n; i++) {
        double rounds[FINAL_ROUNDS + 1] = {found[order[i]]};
        for (int r = 1; r <= FINAL_ROUNDS; r++) {
            rounds[r] =
                try_code(team, codes[order[i]], &shapes[order[i]], FINAL_REPS * longer, search);
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
