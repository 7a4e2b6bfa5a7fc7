/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/core_to_core.h"

#include <math.h>
#include <stdatomic.h>

enum { PAIRS_MAX = 16, RUNS = 5, ROUNDS = 1000 };

/* A line that two threads write in turn. */
struct pair {
    _Alignas(128) atomic_int turn; /* 0: the first thread's, 1: the other's */
    _Alignas(128) int other;       /* index of the other thread */
    double seconds;                /* of one way, the least of the runs */
};

static void pass(atomic_int *turn, int mine)
{
    for (int i = 0; i < ROUNDS; i++) {
        while (atomic_load_explicit(turn, memory_order_acquire) != mine) {
        }
        atomic_store_explicit(turn, 1 - mine, memory_order_release);
    }
}

static void pair_job(struct carm_worker *w, void *arg)
{
    struct pair *p = arg;
    for (int run = 0; run < RUNS; run++) {
        const uint64_t begin = carm_clock_now();
        if (w->index == 0) {
            pass(&p->turn, 0);
            const double ticks = (double)(carm_clock_now() - begin);
            p->seconds = fmin(p->seconds, ticks / (2.0 * ROUNDS) / w->team->clock->tsc_hz);
        } else if (w->index == p->other) {
            pass(&p->turn, 1);
        }
    }
}

double carm_core_to_core_seconds(struct carm_team *team)
{
    const int pairs = team->n - 1 < PAIRS_MAX ? team->n - 1 : PAIRS_MAX;
    double sum = 0.0;
    for (int i = 1; i <= pairs; i++) {
        struct pair p = {.other = i, .seconds = INFINITY};
        atomic_init(&p.turn, 0);
        carm_team_run(team, pair_job, &p);
        sum += p.seconds;
    }
    return pairs > 0 ? sum / pairs : 0.0;
}
