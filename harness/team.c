/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/team.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static int64_t involuntary_switches(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

static void *worker_main(void *arg)
{
    struct carm_worker *w = arg;
    struct carm_team *team = w->team;
    uint64_t seen = 0;
    w->rc = carm_topo_pin(team->topo, w->pu, &w->err);
    w->clock_overhead = carm_clock_overhead();
    /* the first touch of the time stamps' pages belongs here, not into the first measurement */
    memset(w->begin, 0, team->max_reps * sizeof *w->begin);
    memset(w->end, 0, team->max_reps * sizeof *w->end);
    for (;;) {
        (void)pthread_mutex_lock(&team->lock);
        while (team->generation == seen) {
            (void)pthread_cond_wait(&team->wake, &team->lock);
        }
        seen = team->generation;
        carm_job_fn *job = team->job;
        void *job_arg = team->arg;
        (void)pthread_mutex_unlock(&team->lock);
        if (!job) {
            return NULL;
        }
        int64_t before = involuntary_switches();
        job(w, job_arg);
        w->switches = involuntary_switches() - before;
        (void)pthread_mutex_lock(&team->lock);
        if (--team->running == 0) {
            (void)pthread_cond_signal(&team->done);
        }
        (void)pthread_mutex_unlock(&team->lock);
    }
}

void carm_team_run(struct carm_team *team, carm_job_fn *job, void *arg)
{
    (void)pthread_mutex_lock(&team->lock);
    team->job = job;
    team->arg = arg;
    team->running = team->n;
    team->generation++;
    (void)pthread_cond_broadcast(&team->wake);
    while (job && team->running > 0) {
        (void)pthread_cond_wait(&team->done, &team->lock);
    }
    (void)pthread_mutex_unlock(&team->lock);
}

static void nothing(struct carm_worker *w, void *arg)
{
    (void)w;
    (void)arg;
}

/* Buffers, time stamps and threads. returns 0 or negative */
static int start_workers(struct carm_team *team, size_t bytes_per_thread, struct carm_err *err)
{
    for (int i = 0; i < team->n; i++) {
        struct carm_worker *w = &team->workers[i];
        w->team = team;
        w->index = i;
        w->pu = team->topo->order[i];
        w->begin = calloc(team->max_reps, sizeof *w->begin);
        w->end = calloc(team->max_reps, sizeof *w->end);
        w->ratios = calloc(team->max_reps / CARM_CLOCK_EVERY + 1, sizeof *w->ratios);
        if (!w->begin || !w->end || !w->ratios) {
            return carm_fail(err, CARM_ENOMEM, "not enough memory for %zu repetitions",
                             team->max_reps);
        }
        int rc = carm_buffer_open(&w->buffer, bytes_per_thread, err);
        if (rc) {
            return rc;
        }
        if (pthread_create(&w->thread, NULL, worker_main, w) != 0) {
            return carm_fail(err, CARM_ENOMEM,
                             "cannot start thread %d of %d: raise the limit of processes (ulimit "
                             "-u) or lower --threads",
                             i + 1, team->n);
        }
        w->started = true;
    }
    return 0;
}

int carm_team_open(struct carm_team **out, const struct carm_topo *topo,
                   const struct carm_clock *clock, int n, size_t bytes_per_thread, size_t max_reps,
                   struct carm_err *err)
{
    struct carm_team *team = NULL;
    int rc = carm_topo_check_threads(topo, n, err);
    if (rc) {
        return rc;
    }
    team = aligned_alloc(128, sizeof *team);
    if (!team) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a team of threads");
    }
    memset(team, 0, sizeof *team);
    team->topo = topo;
    team->clock = clock;
    team->max_reps = max_reps;
    (void)pthread_mutex_init(&team->lock, NULL);
    (void)pthread_cond_init(&team->wake, NULL);
    (void)pthread_cond_init(&team->done, NULL);
    team->workers = calloc((size_t)n, sizeof *team->workers);
    team->seconds = calloc(max_reps, sizeof *team->seconds);
    team->cycles = calloc(max_reps, sizeof *team->cycles);
    if (!team->workers || !team->seconds || !team->cycles) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for %d threads", n);
        goto out;
    }
    team->n = n;
    rc = start_workers(team, bytes_per_thread, err);
    if (rc) {
        goto out;
    }
    carm_team_run(team, nothing, NULL); /* all are pinned once this returns */
    for (int i = 0; i < n && !rc; i++) {
        rc = team->workers[i].rc;
        if (rc && err) {
            *err = team->workers[i].err;
        }
    }
out:
    if (rc) {
        carm_team_close(team);
    } else {
        *out = team;
    }
    return rc;
}

void carm_team_close(struct carm_team *team)
{
    if (!team) {
        return;
    }
    carm_team_run(team, NULL, NULL);
    for (int i = 0; i < team->n; i++) {
        struct carm_worker *w = &team->workers[i];
        if (w->started) {
            (void)pthread_join(w->thread, NULL);
        }
        carm_buffer_close(&w->buffer);
        free(w->begin);
        free(w->end);
        free(w->ratios);
    }
    free(team->workers);
    free(team->seconds);
    free(team->cycles);
    (void)pthread_cond_destroy(&team->done);
    (void)pthread_cond_destroy(&team->wake);
    (void)pthread_mutex_destroy(&team->lock);
    free(team);
}

static void touch_job(struct carm_worker *w, void *arg)
{
    const size_t *bytes = arg;
    carm_buffer_touch(&w->buffer, *bytes);
}

void carm_team_touch(struct carm_team *team, size_t bytes_per_thread)
{
    if (team->workers[0].buffer.touched < bytes_per_thread) {
        carm_team_run(team, touch_job, &bytes_per_thread);
    }
}

void carm_team_line_reset(struct carm_team *team)
{
    atomic_store(&team->arrived, 0);
    atomic_store(&team->go, 0);
}

void carm_team_line_wait(struct carm_team *team, uint64_t repetition)
{
    if (team->n == 1) {
        return;
    }
    const uint64_t all = (repetition + 1) * (uint64_t)team->n;
    if (atomic_fetch_add(&team->arrived, 1) + 1 == all) {
        /* far enough ahead for the line to reach every core's cache, on another socket too: what is
         * late here becomes skew */
        double ahead = (1e-6 + 20e-9 * team->n) * team->clock->tsc_hz;
        atomic_store_explicit(&team->start_tsc, carm_clock_now() + (uint64_t)ahead,
                              memory_order_relaxed);
        atomic_store_explicit(&team->go, repetition + 1, memory_order_release);
    } else {
        while (atomic_load_explicit(&team->go, memory_order_acquire) <= repetition) {
        }
    }
    if (!team->clock->synchronous) {
        return; /* another processor's instant means nothing here */
    }
    const uint64_t start = atomic_load_explicit(&team->start_tsc, memory_order_relaxed);
    while (carm_clock_now() < start) {
    }
}
