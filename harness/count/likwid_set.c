/* SPDX-License-Identifier: MIT */
/* likwid: counts of CPUs between two moments. perfmon has one state for the whole process, in which one
 * group counts on all CPUs: sets share it, and each subtracts what it found at its start. */
#include "harness/count/likwid.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct likwid_set {
    const struct carm_likwid_group *group;
    int cpu;            /* of a thread's set; -1: all */
    size_t first, last; /* likwid's threads that are added up */
    double *base, *now; /* [nevents] of the recipe */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Sums by event of the recipe; NAN where likwid has none.
 * stopped  likwid read the counters when it stopped them */
static int read_sums(const struct carm_counter_set *s, double *sums, bool stopped,
                     struct carm_err *err)
{
    const struct carm_likwid *l = s->counters->state;
    const struct likwid_set *set = s->state;
    const struct carm_recipe *r = s->counters->recipe;
    const int rc = stopped         ? 0
                   : set->cpu >= 0 ? l->read_counters_cpu(set->cpu)
                                   : l->read_counters();
    if (rc) {
        return carm_fail(err, CARM_EIO, "likwid cannot read its counters (%d)", rc);
    }
    for (size_t i = 0; i < r->nevents; i++) {
        sums[i] = NAN;
    }
    for (size_t j = 0; j < set->group->n; j++) {
        const size_t i = set->group->event[j];
        for (size_t t = set->first; i < r->nevents && t <= set->last; t++) {
            const double value = l->get_result(set->group->id, (int)j, (int)t);
            if (!isnan(value)) { /* NAN: a counter that is not there */
                sums[i] = (isnan(sums[i]) ? 0.0 : sums[i]) + value * r->events[i].likwid_scale;
            }
        }
    }
    return 0;
}

static int choose_cpu(const struct carm_likwid *l, struct likwid_set *set, struct carm_err *err)
{
    int *cpus = NULL;
    const size_t n = carm_likwid_cpus(&cpus);
    const int cpu = n == 1 ? cpus[0] : -1;
    free(cpus);
    if (n != 1) {
        return carm_fail(err, CARM_ENOTSUP,
                         "likwid counts hardware threads, not programs: pin the thread to one CPU "
                         "(it may use %zu), or count by papi",
                         n);
    }
    for (size_t t = 0; t < l->ncpus; t++) {
        if (l->cpus[t] == cpu) {
            set->cpu = cpu;
            set->first = set->last = t;
            return 0;
        }
    }
    return carm_fail(
        err, CARM_ENOTSUP,
        "likwid was started without CPU %d: open the counters before threads are pinned", cpu);
}

int carm_likwid_set_open(struct carm_counter_set *s, struct carm_err *err)
{
    struct carm_likwid *l = s->counters->state;
    const size_t n = s->counters->recipe->nevents;
    int rc = 0;
    if (s->target.kind == CARM_TARGET_SOCKETS && !l->sockets) {
        return carm_counters_refuse(err, "likwid (whole sockets)",
                                    "it has no socket events for this processor", "count by papi");
    }
    struct likwid_set *set = calloc(1, sizeof *set);
    double *base = calloc(2 * n + 1, sizeof *base);
    if (!set || !base) {
        rc = carm_fail(err, CARM_ENOMEM, "no memory for a set of counters");
        goto fail;
    }
    set->base = base;
    set->now = base + n;
    set->cpu = -1;
    set->last = l->ncpus - 1;
    set->group = s->target.kind == CARM_TARGET_SOCKETS ? &l->groups[l->ngroups - 1]
                 : s->group == CARM_GROUPS_ALL         ? &l->groups[0]
                                                       : &l->groups[s->group];
    if (s->target.kind == CARM_TARGET_THREAD) {
        rc = choose_cpu(l, set, err);
    }
    if (rc) {
        goto fail;
    }
    s->state = set;
    return 0;
fail:
    free(base);
    free(set);
    return rc;
}

int carm_likwid_set_start(struct carm_counter_set *s, struct carm_err *err)
{
    struct carm_likwid *l = s->counters->state;
    const struct likwid_set *set = s->state;
    int rc = 0;
    (void)pthread_mutex_lock(&mutex);
    if (l->users > 0 && l->active != set->group->id) {
        rc = carm_fail(err, CARM_ENOTSUP,
                       "likwid counts one group at a time on all CPUs, and another one runs: stop "
                       "that, or count by papi");
        goto out;
    }
    if (l->users == 0) {
        int status = l->setup_counters(set->group->id);
        status = status ? status : l->start_counters();
        if (status) {
            rc = carm_fail(err, CARM_EIO,
                           "likwid cannot start its counters (%d): another program may hold them",
                           status);
            goto out;
        }
        l->active = set->group->id;
    }
    rc = read_sums(s, set->base, false, err);
    if (rc == 0) {
        l->users++;
    } else if (l->users == 0) {
        (void)l->stop_counters();
    }
out:
    (void)pthread_mutex_unlock(&mutex);
    return rc;
}

int carm_likwid_set_read(struct carm_counter_set *s, bool stop, struct carm_reading *readings,
                         struct carm_err *err)
{
    struct carm_likwid *l = s->counters->state;
    const struct likwid_set *set = s->state;
    const size_t n = s->counters->recipe->nevents;
    (void)pthread_mutex_lock(&mutex);
    int rc = 0;
    const bool last = stop && l->users == 1;
    if (last && l->stop_counters()) {
        rc = carm_fail(err, CARM_EIO, "likwid cannot stop its counters");
    }
    rc = rc ? rc : read_sums(s, set->now, last, err);
    if (stop) {
        l->users--;
    }
    (void)pthread_mutex_unlock(&mutex);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        readings[i].present = !isnan(set->now[i]);
        if (readings[i].present) {
            readings[i].count = set->now[i] - set->base[i];
            readings[i].enabled = readings[i].running = 1.0;
        }
    }
    return rc;
}

void carm_likwid_set_close(struct carm_counter_set *s)
{
    struct likwid_set *set = s->state;
    free(set->base);
    free(set);
}
