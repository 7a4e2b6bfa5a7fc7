/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/machine/team.h"

#include <fcntl.h>
#include <hwloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/observer.h"

/* Default of carm_team.patience_seconds: some 200 looks at the cores of 10 us each. */
static const double patience = 2e-3;

/* Longest spinning wait before a thread sleeps, and the least to which such waits reduce it in the
 * same job. Threads with a core each wait some microseconds for one another, and some
 * milliseconds when one is preempted. With 193 threads on 2 processors, spinning alone took 300
 * ms for each repetition. */
static const double spin_seconds = 1e-3;
static const double spin_least_seconds = 20e-6;
enum {
    NAP_NS = 50000,        /* the first nap of a wait; each further nap is twice as long ... */
    NAP_DOUBLINGS = 5,     /* ... up to 1.6 ms */
    SPINS = 64,            /* turns of a waiting loop between two looks at the clock: some 2 us */
    TOUCH_BYTES = 1 << 21, /* written between two looks at the deadline */
};

static int64_t involuntary_switches(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

/* Times of this thread so far, seconds. */
struct usage {
    double wall, ran, queued; /* queued: ready to run, while others ran on its CPU */
};

/* schedstat  the thread's /proc/thread-self/schedstat: "ran_ns queued_ns slices"; -1 = none
 * source: Linux, Documentation/scheduler/sched-stats.rst */
static struct usage usage_of(int schedstat)
{
    struct usage u = {.wall = carm_seconds_now()};
    struct timespec ran;
    char text[96];
    const ssize_t n = schedstat < 0 ? -1 : pread(schedstat, text, sizeof text - 1, 0);
    if (n > 0) {
        char *queued = NULL; /* the second word, in ns; the first is the time that it ran */
        text[n] = '\0';
        (void)strtoull(text, &queued, 10);
        u.queued = 1e-9 * (double)strtoull(queued, NULL, 10);
    }
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran) == 0) { /* schedstat's time lags by a tick */
        u.ran = (double)ran.tv_sec + 1e-9 * (double)ran.tv_nsec;
    }
    return u;
}

/* Notes the shares of the last job's time in which other programs ran, or the thread was stopped. */
static void note_usage(struct carm_worker *w, const struct usage *before, const struct usage *after)
{
    const double wall = after->wall - before->wall;
    const double queued = after->queued - before->queued;
    const double away = wall - (after->ran - before->ran) - queued;
    w->queued_share = wall > 0.0 ? queued / wall : 0.0;
    /* a thread that waits for others sleeps, too */
    w->stopped_share =
        wall > 0.0 && atomic_load(&w->team->naps) == 0 ? fmax(away, 0.0) / wall : 0.0;
}

static void *worker_main(void *arg)
{
    const int schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    struct carm_worker *w = arg;
    struct carm_team *team = w->team;
    uint64_t seen = 0;
    w->rc = carm_topo_pin(team->topo, w->pu, &w->err);
    w->clock_overhead = carm_clock_overhead();
    /* the first touch of the time stamps' pages must not fall into the first measurement */
    memset(w->begin, 0, team->max_reps * sizeof *w->begin);
    memset(w->end, 0, team->max_reps * sizeof *w->end);
    for (;;) {
        pthread_mutex_lock(&team->lock);
        /* All jobs until the latest change of n have ended, and their arguments are gone: a thread that comes back or
         * wakes late may have missed some of them. A job of fewer threads does not wake those at rest. */
        while (!team->closing && (w->index >= team->n || team->generation == seen ||
                                  team->generation == team->joined)) {
            pthread_cond_wait(w->index < team->n ? &team->wake : &team->rest, &team->lock);
        }
        seen = team->generation;
        carm_job_fn *job = team->job;
        void *job_arg = team->arg;
        const bool closing = team->closing;
        pthread_mutex_unlock(&team->lock);
        if (closing) {
            carm_fd_close(schedstat);
            return NULL;
        }
        const struct usage begin = usage_of(schedstat);
        int64_t before = involuntary_switches();
        job(w, job_arg);
        w->switches = involuntary_switches() - before;
        const struct usage end = usage_of(schedstat);
        note_usage(w, &begin, &end);
        pthread_mutex_lock(&team->lock);
        if (--team->running == 0) {
            pthread_cond_signal(&team->done);
        }
        pthread_mutex_unlock(&team->lock);
    }
}

void carm_team_run(struct carm_team *team, carm_job_fn *job, void *arg)
{
    pthread_mutex_lock(&team->lock);
    atomic_store(&team->over, false);
    atomic_store(&team->naps, 0);
    team->job = job;
    team->arg = arg;
    team->running = team->n;
    team->generation++;
    pthread_cond_broadcast(&team->wake);
    while (team->running > 0) {
        pthread_cond_wait(&team->done, &team->lock);
    }
    pthread_mutex_unlock(&team->lock);
}

static void nothing(struct carm_worker *w, void *arg)
{
    (void)w;
    (void)arg;
}

/* Buffers, time stamps and threads. returns 0 or negative */
static int start_workers(struct carm_team *team, const size_t *bytes, struct carm_err *err)
{
    const size_t probes = 2 * (team->max_reps / CARM_CLOCK_EVERY) + 8; /* 8 more for short blocks */
    for (int i = 0; i < team->n; i++) {
        struct carm_worker *w = &team->workers[i];
        w->team = team;
        w->index = i;
        w->pu = team->topo->order[i];
        w->begin = calloc(team->max_reps, sizeof *w->begin);
        w->end = calloc(team->max_reps, sizeof *w->end);
        w->ratios = calloc(probes, sizeof *w->ratios);
        w->widths = calloc(probes, sizeof *w->widths);
        if (!w->begin || !w->end || !w->ratios || !w->widths) {
            return carm_fail(err, CARM_ENOMEM, "not enough memory for %zu repetitions",
                             team->max_reps);
        }
        int rc = carm_buffer_open(&w->buffer, bytes[i], err);
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
    int rc = carm_topo_check_threads(topo, n, err);
    if (rc) {
        return rc;
    }
    size_t *bytes = calloc((size_t)n, sizeof *bytes);
    if (!bytes) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for %d threads", n);
    }
    for (int i = 0; i < n; i++) {
        bytes[i] = bytes_per_thread;
    }
    rc = carm_team_open_sized(out, topo, clock, n, bytes, max_reps, err);
    free(bytes);
    return rc;
}

int carm_team_open_sized(struct carm_team **out, const struct carm_topo *topo,
                         const struct carm_clock *clock, int n, const size_t *bytes,
                         size_t max_reps, struct carm_err *err)
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
    team->patience_seconds = patience;
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->wake, NULL);
    pthread_cond_init(&team->rest, NULL);
    pthread_cond_init(&team->done, NULL);
    team->workers = calloc((size_t)n, sizeof *team->workers);
    team->seconds = calloc(max_reps, sizeof *team->seconds);
    team->cycles = calloc(max_reps, sizeof *team->cycles);
    team->counts = calloc(max_reps, sizeof *team->counts);
    if (!team->workers || !team->seconds || !team->cycles || !team->counts) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for %d threads", n);
        goto out;
    }
    team->n = n;
    team->size = n;
    rc = start_workers(team, bytes, err);
    if (rc) {
        goto out;
    }
    carm_team_run(team, nothing, NULL); /* all threads are pinned when this returns */
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
    pthread_mutex_lock(&team->lock);
    team->closing = true;
    pthread_cond_broadcast(&team->wake);
    pthread_cond_broadcast(&team->rest);
    pthread_mutex_unlock(&team->lock);
    for (int i = 0; i < team->size; i++) {
        struct carm_worker *w = &team->workers[i];
        if (w->started) {
            pthread_join(w->thread, NULL);
        }
        carm_buffer_close(&w->buffer);
        free(w->begin);
        free(w->end);
        free(w->ratios);
        free(w->widths);
    }
    free(team->workers);
    free(team->seconds);
    free(team->cycles);
    free(team->counts);
    pthread_cond_destroy(&team->done);
    pthread_cond_destroy(&team->rest);
    pthread_cond_destroy(&team->wake);
    pthread_mutex_destroy(&team->lock);
    free(team);
}

bool carm_team_is_over(const struct carm_team *team)
{
    return carm_deadline_over(&team->deadline);
}

static void touch_buffer(struct carm_worker *w, size_t bytes)
{
    for (size_t at = w->buffer.touched; at < bytes && !carm_team_is_over(w->team);) {
        at = bytes - at > TOUCH_BYTES ? at + TOUCH_BYTES : bytes;
        carm_buffer_touch(&w->buffer, at);
    }
}

static void touch_job(struct carm_worker *w, void *arg)
{
    const size_t *bytes = arg;
    touch_buffer(w, *bytes);
}

static bool is_touched(const struct carm_team *team, size_t bytes)
{
    bool all = true;
    for (int i = 0; i < team->n; i++) {
        const struct carm_buffer *b = &team->workers[i].buffer;
        all = all && (b->touched >= bytes || b->touched == b->bytes);
    }
    return all;
}

bool carm_team_touch(struct carm_team *team, size_t bytes_per_thread)
{
    if (!is_touched(team, bytes_per_thread)) {
        carm_team_run(team, touch_job, &bytes_per_thread);
    }
    return is_touched(team, bytes_per_thread);
}

bool carm_team_shares(const struct carm_team *team)
{
    return team->n > team->topo->cores || carm_paired_is(&team->paired, team->n);
}

void carm_team_separate(struct carm_team *team, bool separate)
{
    team->separate = separate && team->n > 1 && !carm_team_shares(team);
}

size_t carm_team_room(const struct carm_team *team)
{
    size_t least = team->workers[0].buffer.bytes;
    for (int i = 1; i < team->n; i++) {
        const size_t bytes = team->workers[i].buffer.bytes;
        least = bytes < least ? bytes : least;
    }
    return least;
}

void carm_team_use(struct carm_team *team, int n)
{
    pthread_mutex_lock(&team->lock);
    n = n < team->size ? n : team->size;
    if (n != team->n) {
        team->n = n;
        team->joined = team->generation;
        pthread_cond_broadcast(&team->wake);
        pthread_cond_broadcast(&team->rest);
    }
    pthread_mutex_unlock(&team->lock);
}

void carm_team_line_reset(struct carm_team *team)
{
    atomic_store(&team->arrived, 0);
    atomic_store(&team->go, 0);
}

/* A wait for another thread: zeroed before it begins. */
struct wait {
    uint64_t begin; /* TSC at the first look */
    unsigned naps;
};

/* One turn of a waiting loop. Waits of up to a millisecond spin, so that the thread continues at
 * once. A thread that waits longer sleeps, since the awaited thread may need its processor. After
 * such waits in a job, threads spin for less, down to 20 us.
 * returns false when the deadline is over: the wait is in vain, and every thread of the team
 * leaves its job */
static bool wait_on(struct carm_team *team, struct wait *wait)
{
    const uint64_t now = carm_clock_now();
    if (wait->begin == 0) {
        wait->begin = now;
    }
    if (carm_team_is_over(team)) {
        atomic_store(&team->over, true);
    }
    if (atomic_load(&team->over)) {
        return false;
    }
    const unsigned before = atomic_load_explicit(&team->naps, memory_order_relaxed);
    const double spin =
        fmax(ldexp(spin_seconds, -(int)(before < 16 ? before : 16)), spin_least_seconds);
    if (wait->naps > 0 || (double)(now - wait->begin) > spin * team->clock->tsc_hz) {
        const unsigned doublings = wait->naps < NAP_DOUBLINGS ? wait->naps : NAP_DOUBLINGS;
        const struct timespec nap = {.tv_nsec = (long)NAP_NS << doublings};
        if (wait->naps++ == 0) {
            atomic_fetch_add(&team->naps, 1);
        }
        nanosleep(&nap, NULL);
    }
    return true;
}

/* Waits until a repetition was started. returns false: the deadline is over */
static bool wait_for_go(struct carm_team *team, uint64_t repetition)
{
    struct wait wait = {.begin = 0};
    for (unsigned spins = 1; atomic_load_explicit(&team->go, memory_order_acquire) <= repetition;
         spins++) {
        if (spins % SPINS == 0 && !wait_on(team, &wait)) {
            /* the last thread may have started the repetition without seeing the deadline */
            return atomic_load_explicit(&team->go, memory_order_acquire) > repetition;
        }
    }
    return true;
}

bool carm_team_line_wait(struct carm_team *team, uint64_t repetition)
{
    if (team->n == 1) {
        atomic_store_explicit(&team->over, carm_team_is_over(team), memory_order_relaxed);
        return !atomic_load_explicit(&team->over, memory_order_relaxed);
    }
    const uint64_t all = (repetition + 1) * (uint64_t)team->n;
    if (atomic_fetch_add(&team->arrived, 1) + 1 == all) {
        if (atomic_load(&team->over) || carm_team_is_over(team)) {
            atomic_store(&team->over, true);
            return false;
        }
        /* The instant of start must be later than the cache line with start_tsc takes to every
         * core, also on another socket: a thread that reads the line later starts late. */
        double ahead = (1e-6 + 20e-9 * team->n) * team->clock->tsc_hz;
        atomic_store_explicit(&team->start_tsc, carm_clock_now() + (uint64_t)ahead,
                              memory_order_relaxed);
        atomic_store_explicit(&team->go, repetition + 1, memory_order_release);
    } else if (!wait_for_go(team, repetition)) {
        return false;
    }
    if (!team->clock->synchronous) {
        return true; /* the TSCs differ: another processor's start_tsc has no meaning here */
    }
    const uint64_t start = atomic_load_explicit(&team->start_tsc, memory_order_relaxed);
    while (carm_clock_now() < start) {
    }
    return true;
}

/* ---- memory without affinity ---- */

struct touching {
    struct carm_team *team;
    int pu;
    size_t bytes;
    int rc;
    struct carm_err err;
};

static void *touch(void *arg)
{
    struct touching *t = arg;
    t->rc = carm_topo_pin(t->team->topo, t->pu, &t->err);
    for (int i = 0; i < t->team->n && !t->rc; i++) {
        touch_buffer(&t->team->workers[i], t->bytes);
    }
    return NULL;
}

/* Whether the memory is on the NUMA node of the touching thread. Passes where the system does
 * not report the node. */
static int check_place(const struct carm_team *team, int pu, size_t bytes, struct carm_err *err)
{
    const struct carm_topo *topo = team->topo;
    const int index = carm_topo_node_of(topo, pu);
    const hwloc_obj_t node =
        index < 0 ? NULL : hwloc_get_obj_by_type(topo->hwloc, HWLOC_OBJ_NUMANODE, (unsigned)index);
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    int rc = 0;
    if (!set) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to look where memory lies");
    }
    for (int i = 0; i < team->n && node && !rc; i++) {
        /* a page in the middle represents all */
        const char *page = (const char *)team->workers[i].buffer.start + bytes / 2;
        if (hwloc_get_area_memlocation(topo->hwloc, page, 1, set, HWLOC_MEMBIND_BYNODESET) == 0 &&
            !hwloc_bitmap_iszero(set) && !hwloc_bitmap_isset(set, node->os_index)) {
            rc = carm_fail(err, CARM_ENOTSUP,
                           "memory touched on NUMA node %u lies on another one (a memory policy: "
                           "run without numactl)",
                           node->os_index);
        }
    }
    hwloc_bitmap_free(set);
    return rc;
}

int carm_team_touch_from(struct carm_team *team, int pu, size_t bytes_per_thread,
                         struct carm_err *err)
{
    struct touching t = {.team = team, .pu = pu, .bytes = bytes_per_thread};
    pthread_t thread;
    if (pthread_create(&thread, NULL, touch, &t) != 0) {
        return carm_fail(err, CARM_ENOMEM,
                         "cannot start a thread to touch memory: raise the limit of processes "
                         "(ulimit -u)");
    }
    pthread_join(thread, NULL);
    if (t.rc) {
        *err = t.err;
        return t.rc;
    }
    return check_place(team, pu, bytes_per_thread, err);
}

/* ---- core-to-core latency ---- */

enum { PAIRS_MAX = 16, RUNS = 5, ROUNDS = 1000 };

/* A line that two threads write in turn. */
struct pair {
    _Alignas(128) atomic_int turn; /* 0: the first thread's, 1: the other's */
    _Alignas(128) int other;       /* index of the other thread */
    int runs, rounds;
    double seconds; /* seconds of one way, the least of the runs; INFINITY = no run ended */
};

/* returns false: the deadline was over before all rounds were done */
static bool pass(struct carm_team *team, atomic_int *turn, int mine, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        struct wait wait = {.begin = 0};
        for (unsigned spins = 1; atomic_load_explicit(turn, memory_order_acquire) != mine;
             spins++) {
            if (spins % SPINS == 0 && !wait_on(team, &wait)) {
                return false;
            }
        }
        atomic_store_explicit(turn, 1 - mine, memory_order_release);
    }
    return true;
}

static void pair_job(struct carm_worker *w, void *arg)
{
    struct pair *p = arg;
    bool whole = true;
    for (int run = 0; run < p->runs && whole; run++) {
        const uint64_t begin = carm_clock_now();
        if (w->index == 0) {
            whole = pass(w->team, &p->turn, 0, p->rounds);
            const double ticks = (double)(carm_clock_now() - begin);
            const double seconds = ticks / (2.0 * p->rounds) / w->team->clock->tsc_hz;
            p->seconds = whole ? fmin(p->seconds, seconds) : p->seconds;
        } else if (w->index == p->other) {
            whole = pass(w->team, &p->turn, 1, p->rounds);
        }
    }
}

static double run_pair(struct carm_team *team, int other, int runs, int rounds)
{
    /* the first turn is the first thread's: 0 */
    struct pair p = {.other = other, .runs = runs, .rounds = rounds, .seconds = INFINITY};
    carm_team_run(team, pair_job, &p);
    return isfinite(p.seconds) ? p.seconds : 0.0;
}

double carm_core_to_core_once(struct carm_team *team, int other)
{
    return run_pair(team, other, 3, 100);
}

double carm_core_to_core_seconds(struct carm_team *team)
{
    const int pairs = team->n - 1 < PAIRS_MAX ? team->n - 1 : PAIRS_MAX;
    double sum = 0.0;
    int known = 0;
    while (known < pairs) {
        const double seconds = run_pair(team, known + 1, RUNS, ROUNDS);
        if (!(seconds > 0.0)) {
            break; /* the deadline is over */
        }
        sum += seconds;
        known++;
    }
    return known > 0 ? sum / known : 0.0;
}

/* ---- contended additions ---- */

enum { ADDS = 20000 };

struct contest {
    _Alignas(128) atomic_ulong sum;
    _Alignas(128)
        atomic_int phase; /* 0: wait for the other thread, 1: both add, 2: the first has finished */
    int other;            /* index of the other thread */
    double seconds;       /* of one addition; 0 = the deadline was over */
};

static void contest_job(struct carm_worker *w, void *arg)
{
    struct contest *c = arg;
    struct wait wait = {.begin = 0};
    if (w->index == c->other) {
        int waits = 0; /* another phase: the first thread has given up */
        atomic_compare_exchange_strong(&c->phase, &waits, 1);
        while (atomic_load_explicit(&c->phase, memory_order_relaxed) == 1) {
            for (int i = 0; i < SPINS; i++) {
                atomic_fetch_add_explicit(&c->sum, 1, memory_order_relaxed);
            }
        }
    } else if (w->index == 0) {
        bool waits = true;
        while (waits && atomic_load(&c->phase) == 0) {
            waits = wait_on(w->team, &wait);
        }
        const uint64_t begin = carm_clock_now();
        for (int i = 0; i < ADDS && waits; i++) {
            atomic_fetch_add_explicit(&c->sum, 1, memory_order_relaxed);
        }
        const double ticks = (double)(carm_clock_now() - begin);
        c->seconds = waits ? ticks / ADDS / w->team->clock->tsc_hz : 0.0;
        atomic_store(&c->phase, 2);
    }
}

double carm_contended_add_seconds(struct carm_team *team, int other)
{
    struct contest c = {.other = other};
    if (other < team->n) {
        carm_team_run(team, contest_job, &c);
    }
    return c.seconds;
}
