/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order of all latencies, their deadlines, and pairs of cores, on a planted machine. The parts stand here. */
#include <time.h>

#include "models/core.h"
#include "tests/counter.h"
#include "tests/validation/golden.h"
#include "validation/latency/latency.h"

enum { CORES = 5, LOOK = 1000 /* ticks of a look at the counter */ };

static const double tsc_hz = 1e9;

static struct {
    const char *name;
    int cores;
    bool quick;
    double seconds;   /* between two looks at the clock */
    int without;      /* thread whose pairs have no time; 0 = none */
    bool wild;        /* looks differ by a factor of two */
    bool uncontended; /* contended additions have no time */
    size_t over_at;   /* part after which the deadline is over, from 1; 0 = none */
    int fails;        /* part that fails, from 1; 0 = none */
    bool stops;       /* the user stops in the first pair */
    bool no_deadline, past;
} of;

static struct {
    size_t parts, teams, looks, adds;
    double now, ticks;
} seen;

static volatile sig_atomic_t stop;

static double counter_now(void)
{
    return seen.ticks += LOOK;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    seen.now += of.seconds;
    *out = (struct timespec){(time_t)seen.now, (long)(1e9 * (seen.now - floor(seen.now)))};
    return 0;
}

int carm_team_open(struct carm_team **out, const struct carm_topo *topo,
                   const struct carm_clock *clock, int n, size_t bytes_per_thread, size_t max_reps,
                   struct carm_err *e)
{
    struct carm_team *team = calloc(1, sizeof *team);
    assert_non_null(team);
    assert_true(bytes_per_thread == 0 && max_reps == 64 && clock->tsc_hz == tsc_hz);
    *team = (struct carm_team){.topo = topo, .clock = clock, .n = n, .size = n};
    seen.teams++;
    *out = team;
    return 0;
}

void carm_team_close(struct carm_team *team)
{
    seen.teams -= team != NULL;
    free(team);
}

bool carm_team_is_over(const struct carm_team *team)
{
    return of.over_at && seen.parts >= of.over_at;
}

double carm_core_to_core_once(struct carm_team *team, int other)
{
    const int *order = team->topo->order;
    assert_true(other == 1 && team->n == 2 && team->topo->pus == 2);
    const double nearest = 20e-9 * abs(order[1] - order[0]);
    const double look = (double)(seen.looks++ * 7 % 5); /* 0 2 4 1 3 */
    stop = of.stops;
    return of.without && (order[0] == of.without || order[1] == of.without) && look > 3.0
               ? 0.0
               : nearest * (1.0 + look * (of.wild ? 0.25 : 0.1));
}

double carm_contended_add_seconds(struct carm_team *team, int other)
{
    assert_int_equal(other, 1);
    const size_t look = seen.adds++;
    return of.uncontended || look == 2 ? 0.0 : 10e-9 * (1.0 + 0.001 * (double)look);
}

/* A part of the latencies. */
static int part(const char *name, struct carm_latency_run *run, struct carm_err *e)
{
    const uint64_t end = run->team->deadline.tsc;
    seen.parts++;
    const double left = end ? ((double)end - seen.ticks) / tsc_hz : -1.0;
    (void)fprintf(text, "%s: %d thread, deadline in %.3f s%s%s\n", name, run->team->n,
                  round(1e3 * left) / 1e3 + 0.0, /* no -0 */
                  run->options.quick ? ", quick" : "",
                  run->team->deadline.stop == &stop ? "" : ", without stop");
    run->clock_hz = 2e9;
    return of.fails == (int)seen.parts ? carm_fail(e, CARM_ENOMEM, "%s fails", name) : 0;
}

int carm_latency_core(struct carm_latency_run *run, struct carm_err *e)
{
    run->model->core = calloc(3, sizeof *run->model->core);
    assert_non_null(run->model->core);
    run->model->ncore = 1;
    assert_non_null(carm_chain_image_find(run->image, "P.k1"));
    assert_null(
        carm_chain_image_find(run->image, "G.avx512.k8")); /* which this CPU does not have */
    return part("core", run, e);
}

int carm_latency_memory(struct carm_latency_run *run, struct carm_err *e)
{
    return part("memory", run, e);
}

int carm_latency_loaded(struct carm_latency_run *run, struct carm_err *e)
{
    return part("loaded", run, e);
}

static void show(const char *what, double done, double left)
{
    (void)fprintf(text, "step: %s, %.1f%%\n", what, 100.0 * done);
}

static void say(const char *words)
{
    (void)fprintf(text, "said: %s\n", words);
}

static void walk(void)
{
    static int order[CORES] = {0, 1, 2, 3, 4};
    static struct carm_observer observer = {.show = show, .say = say, .stop = &stop};
    struct carm_topo topo = {.pus = CORES, .cores = of.cores, .order = order};
    struct carm_host host = {.topo = &topo, .clock = {.tsc_hz = tsc_hz}, .observer = &observer};
    const struct carm_latency_options options = {.quick = of.quick};
    struct carm_model *m = calloc(1, sizeof *m);
    assert_non_null(m);
    memset(&seen, 0, sizeof seen);
    seen.now = 1000.0;
    stop = 0;
    (void)fprintf(text, "---- %s\n", of.name);
    carm_observer_begin(&observer, carm_latency_seconds(&options));
    counter_plant(counter_now);
    const struct carm_deadline deadline = {of.no_deadline ? 0
                                           : of.past      ? 1
                                                          : (uint64_t)(100 * tsc_hz),
                                           &stop};
    const int rc = carm_latency_measure(&options, &host, deadline, m, &err);
    counter_plant(NULL);
    (void)fprintf(text, "returned %d%s%s, %.1f of %.1f s\n", rc, rc ? ": " : "", rc ? err.text : "",
                  observer.done, observer.total);
    assert_int_equal(seen.teams, 0);
    for (size_t i = 0; i < m->ncore_to_core; i++) {
        const struct carm_core_pair *p = &m->core_to_core[i];
        (void)fprintf(text, "%d to %d: %.4g ns (%.4g to %.4g)%s\n", p->from, p->to,
                      1e9 * p->seconds, 1e9 * p->ci95.lo, 1e9 * p->ci95.hi,
                      p->disturbed ? " DISTURBED" : "");
    }
    for (size_t i = 1; i < m->ncore; i++) {
        const struct carm_core_figure *f = &m->core[i];
        (void)fprintf(text, "%s: %.5g cycles (%.5g to %.5g) at %.3g GHz%s\n",
                      carm_core_kind_name(f->kind), f->throughput, f->throughput_ci95.lo,
                      f->throughput_ci95.hi, 1e-9 * f->clock_hz, f->disturbed ? " DISTURBED" : "");
    }
    carm_model_free(m);
}

TEST(all_latencies)
{
    text_open();
    of.name = "five cores";
    of.cores = CORES;
    of.seconds = 0.01;
    walk();
    of.name = "quick, in time for some pairs";
    of.quick = true;
    of.seconds = 0.09;
    walk();
    of.name = "not quick, in time for more";
    of.quick = false;
    of.seconds = 0.25;
    walk();
    of.seconds = 0.01;
    of.name = "looks differ, and a thread has no time";
    of.wild = true;
    of.without = 2;
    walk();
    of.wild = false;
    of.without = 0;
    of.name = "two cores, additions without a time";
    of.cores = 2;
    of.uncontended = true;
    walk();
    of.uncontended = false;
    of.name = "one core";
    of.cores = 1;
    walk();
    of.cores = 3;
    of.name = "without a deadline";
    of.no_deadline = true;
    walk();
    of.no_deadline = false;
    of.name = "deadline in the past";
    of.past = true;
    walk();
    of.past = false;
    of.name = "over behind memory";
    of.over_at = 2;
    walk();
    of.name = "over behind streams";
    of.over_at = 3;
    walk();
    of.over_at = 0;
    of.name = "stopped";
    of.stops = true;
    walk();
    of.stops = false;
    for (of.fails = 1; of.fails <= 3; of.fails++) {
        of.name = "a part fails";
        walk();
    }
    text_is("latencies");
}
