/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fake machine for whole builds and validations: the functions of harness/machine/measure.h and team.h stand here,
 * with a bandwidth for each level, a peak for each operation and a speed for each code. */
#pragma once

#include <dlfcn.h>
#include <errno.h>
#include <linux/mempolicy.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <hwloc.h>

#include "harness/place/host.h"
#include "harness/machine/measure.h"
#include "models/roofline.h"
#include "tests/fingerprint.h"
#include "tests/unit.h"
#include "validation/count.h"
#include "validation/latency/latency.h"
#include "validation/roofs/ceilings.h"
#include "validation/roofs/run.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)

enum { THREADS = 4, LEVELS = 4, MOST = 32 /* threads of any machine */ };

static const char machine[] = "pack:1 numa:1 l3:1(size=8388608) core:4 l2:1(size=1048576) "
                              "l1:1(size=49152) pu:1";
static const char two_nodes[] = "pack:2 [numa(memory=1GB)] l3:1(size=8388608) core:2 "
                                "l2:1(size=1048576) l1:1(size=49152) pu:1";
static const char *const names[LEVELS] = {"L1", "L2", "L3", "DRAM"};
/* byte/s of one thread and of all four; the last cache and memory are shared */
static const double bandwidth[2][LEVELS] = {{200e9, 100e9, 40e9, 20e9},
                                            {800e9, 400e9, 120e9, 30e9}};
static const double clock_hz = 3e9;

/* byte/s of any number of threads: each adds one's rate up to that of all */
static double bandwidth_of(size_t level, int threads)
{
    return fmin(threads * bandwidth[0][level], bandwidth[1][level]);
}

/* Relative speeds of codes, from the least on. */
static struct {
    double least, span;
} speeds = {0.80, 0.20};

/* Relative speed of a code, up to 1: no two that are candidates for one roof are alike. */
static double speed_of(const char *name)
{
    uint32_t h = 2166136261U;
    for (const char *c = name; *c; c++) {
        h = (h ^ (unsigned char)*c) * 16777619U;
    }
    return speeds.least + speeds.span * (double)(h >> 8) / (double)(1U << 24);
}

static double speed(const struct carm_code *code)
{
    return speed_of(code->name);
}

static double peak(const struct carm_code *code)
{
    const double each = code->spec.op == CARM_FMA ? 96e9 : 48e9;
    return each * carm_isa_vector_bytes(code->spec.isa, code->spec.precision) / 32.0;
}

static size_t level_of(uint64_t set_bytes, int threads)
{
    if (set_bytes <= 48 * KIB) {
        return 0;
    }
    return set_bytes <= MIB ? 1 : set_bytes * (uint64_t)threads <= 8 * MIB ? 2 : 3;
}

/* Seconds of an iteration of one of so many threads. near: share of memory's bandwidth */
static double seconds_of(const struct carm_code *code, size_t level, int threads, double near)
{
    const double bytes = (double)(code->account.load_bytes + code->account.store_bytes);
    return fmax(bytes / (bandwidth_of(level, threads) * near),
                (double)code->account.flops / (peak(code) * threads)) /
           speed(code);
}

/* Two fast cores, and two slow ones (CPUs 4 and 5) with a first cache of 32 KiB and a common second one of 2 MiB. */
static const char hybrid[] = "pack:1 numa:1 l3:1(size=8388608) l2:3(size=1048576) core:2 "
                             "l1:1(size=49152) pu:1";
/* Rates of a slow core relative to a fast one, by level; the last is the peak's. */
static const double slowness[LEVELS + 1] = {0.5, 0.6, 0.8, 0.9, 0.4};
static bool two_kinds; /* the machine is this one */

/* Keeps the cores of the hybrid machine, and ranks them. */
static inline void make_hybrid(struct carm_topo *topo)
{
    static const int cpus[THREADS] = {0, 2, 4, 5};
    for (int slow = 0; slow < 2; slow++) {
        hwloc_bitmap_t set = hwloc_bitmap_alloc();
        for (int i = 0; i < 2; i++) {
            hwloc_bitmap_set(set, (unsigned)cpus[2 * slow + i]);
            hwloc_get_obj_by_type(topo->hwloc, HWLOC_OBJ_L1CACHE, (unsigned)cpus[2 * slow + i])
                ->attr->cache.size = (slow ? 32 : 48) * KIB;
        }
        assert_int_equal(hwloc_cpukinds_register(topo->hwloc, set, slow ? 0 : 1, 0, NULL, 0), 0);
        hwloc_bitmap_free(set);
    }
    hwloc_get_obj_by_type(topo->hwloc, HWLOC_OBJ_L2CACHE, 2)->attr->cache.size = 2 * MIB;
    assert_ok(carm_topo_keep(topo, cpus, THREADS, &err));
    two_kinds = true;
}

/* How many of the first threads are on slow cores. */
static int slow_of(const int *order, int threads)
{
    int n = 0;
    for (int i = 0; i < threads && two_kinds; i++) {
        n += order[i] >= 4;
    }
    return n;
}

/* The level of a working set of each of so many threads, as the threads of one kind have it. */
static size_t level_of_kind(uint64_t set_bytes, int threads, int slow, bool is_slow)
{
    const size_t level = level_of(set_bytes, threads);
    if (!is_slow || level > 1) {
        return is_slow && set_bytes * (uint64_t)slow <= 2 * MIB ? 1 : level;
    }
    return set_bytes <= 32 * KIB ? 0 : set_bytes * (uint64_t)slow <= 2 * MIB ? 1 : 2;
}

/* Rate of threads of which some are slow, byte/s: all have the same work, and the last one counts. */
static double bandwidth_of_kinds(uint64_t set_bytes, int threads, int slow)
{
    double least = INFINITY;
    for (int is_slow = threads == slow; is_slow <= (slow > 0); is_slow++) {
        const size_t level = level_of_kind(set_bytes, threads, slow, is_slow);
        least = fmin(least, bandwidth_of(level, threads) * (is_slow ? slowness[level] : 1.0));
    }
    return least;
}

/* Pages of the two nodes: those of the buffers that were bound last. */
static struct {
    int bound;      /* node; 2 = both in turn, -1 = not bound */
    int elsewhere;  /* of 64 pages, how many are on another node */
    bool forbidden; /* to bind memory */
    int only_first; /* node whose latency is not known; -1 = none */
    int binds;      /* calls */
} pages = {.bound = -1, .only_first = -1};

/* In place of the library's: the calls about pages. */
long syscall(long number, ...)
{
    long a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++) {
        a[i] = va_arg(args, long);
    }
    va_end(args);
    if (number == SYS_mbind) {
        const unsigned long mask = *(const unsigned long *)a[3]; // NOLINT: the call's own address
        if (pages.forbidden) {
            errno = EPERM;
            return -1;
        }
        assert_int_equal(a[2], mask == 3 ? MPOL_INTERLEAVE : MPOL_BIND);
        pages.bound = (int)mask - 1;
        pages.binds++;
        return 0;
    }
    if (number == SYS_move_pages) {
        assert_int_equal(a[1], 64);
        for (int i = 0; i < 64; i++) {
            ((int *)a[4])[i] = i < pages.elsewhere ? 1 - pages.bound : pages.bound; // NOLINT
        }
        return 0;
    }
    static long (*real)(long, ...);
    void *const found = dlsym(RTLD_NEXT, "syscall");
    memcpy(&real, &found, sizeof real);
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Memory of the other node is half as fast, of both three quarters. */
static double nearness(const struct carm_team *team)
{
    const int node = carm_topo_node_of(team->topo, team->topo->order[0]);
    return pages.bound < 0 ? 1.0 : pages.bound == 2 ? 0.75 : pages.bound == node ? 1.0 : 0.5;
}

int carm_latency_at(struct carm_latency_run *run, int node, struct carm_latency *out,
                    struct carm_err *failure)
{
    const bool near = carm_topo_node_of(run->host->topo, run->host->topo->order[0]) == node;
    assert_int_equal(run->team->n, 1);
    assert_true(run->options.quick && run->options.memory_bytes == UINT64_C(1) << 30);
    const double s = near ? 100e-9 : 180e-9;
    *out = (struct carm_latency){.seconds = s,
                                 .ci95 = {0.9 * s, 1.1 * s},
                                 .page_bytes = 2 * MIB,
                                 .disturbed = near && node == pages.only_first};
    if (node == pages.only_first) {
        out->seconds = near ? s : 0.0;
        (void)snprintf(out->note, sizeof out->note, "a note of node %d", node);
    }
    return 0;
}

static struct {
    size_t runs, teams;
    size_t stop_at; /* run that ends the time; 0 = none */
    size_t shared; /* of so many runs, one meets a shared core and takes a third longer; 0 = none */
    uint64_t l3_bytes;    /* of the last cache; 0 = as reported */
    double slow;          /* share of its rate that a team of two has; 0 = all */
    uint64_t largest;     /* working set of all threads together */
    bool below_room;      /* no set was larger than a thread's buffer */
    size_t reps, patient; /* repetitions of all runs; runs that may wait for cores of their own */
    double target;        /* seconds of a repetition, of the shape that was asked for last */
    uint64_t
        print;    /* fingerprint of all runs in their order, and of what else is done with teams */
    double noise; /* a run takes at most so much longer, relative */
    size_t odd;   /* of so many runs, one is disturbed, by each kind in turn; 0 = none */
    int backward; /* runs of so many threads take less time than none: below the empty code's; 0 = none */
    const char *fails; /* a part of the names of codes whose runs have no repetition; NULL = none */
    double now;        /* seconds that all runs have taken */
    double lag;        /* seconds that a run waits before it begins */
    double
        counter_hz; /* of the planted counter (tests/counter.h); 0 = the real one, which runs do not change */
    /* is told of each run before it; NULL = nobody */
    void (*watch)(const struct carm_team *team, const struct carm_code *code, uint64_t set_bytes,
                  size_t reps);
    /* and of what else is done with the team */
    void (*other)(const struct carm_team *team, const char *what, double number, double second);
} seen;

static void tell(const struct carm_team *team, const char *what, double number, double second)
{
    const double numbers[] = {team->n, number, second};
    seen.print = fingerprint(fingerprint(seen.print, what, strlen(what)), numbers, sizeof numbers);
    if (seen.other) {
        seen.other(team, what, number, second);
    }
}

/* In place of the library's: the time of day is of the runs, so that rounds lie as far apart as on a machine. */
int clock_gettime(clockid_t clock, struct timespec *out)
{
    static int (*real)(clockid_t, struct timespec *);
    if (clock == CLOCK_REALTIME || seen.counter_hz > 0.0) {
        const double now = 1.8e9 + seen.now;
        *out = (struct timespec){(time_t)now, (long)(1e9 * (now - floor(now)))};
        return 0;
    }
    void *const found = dlsym(RTLD_NEXT, "clock_gettime");
    memcpy(&real, &found, sizeof real);
    return real(clock, out);
}

/* In place of the library's: notes of figures name nice, with which tests may run. */
int getpriority(__priority_which_t which, id_t who)
{
    return 0;
}

/* From 0 to 1, another one for each run. */
static double chance(size_t run)
{
    const uint64_t mixed = (run + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return (double)((mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 11) /
           (double)(UINT64_C(1) << 53);
}

/* What a run's repetitions tell of the machine: one of `odd` runs is disturbed. */
static void disturb(struct carm_measurement *m)
{
    static const enum carm_disturbance kinds[] = {
        CARM_UNEVEN, CARM_CORE_SHARED, CARM_PREEMPTED, CARM_STOLEN,    CARM_MIGRATED,
        CARM_CUT,    CARM_CLOCK_MOVED, CARM_TOO_FAST,  CARM_TOO_SHORT, CARM_CORE_SHARED};
    const size_t n = seen.odd ? seen.runs / seen.odd : 0;
    if (!seen.odd || seen.runs % seen.odd) {
        return;
    }
    m->disturbance = kinds[n % (sizeof kinds / sizeof *kinds)];
    m->own_share = m->disturbance == CARM_CORE_SHARED ? 0.0 : 1.0;
    m->cut = m->disturbance == CARM_CUT;
    m->clock_hz *= m->disturbance == CARM_CLOCK_MOVED ? 0.9 : 1.0;
    /* faster than it can be, or slower than it is */
    const double factor = m->disturbance == CARM_TOO_FAST ? 0.5 : 1.0 + 0.1 * (double)(1 + n % 3);
    m->seconds.median *= factor;
    m->seconds.p95 *= factor;
    m->seconds.max *= factor;
}

/* Number, repetitions, patient runs and fingerprint of the measurements since `seen` was cleared: which ones, and in which
 * order, follows from the plan, the rates and the budget alone. A change that is meant changes them. */
static inline void runs_are(size_t runs, size_t reps, size_t patient, uint64_t print)
{
    fail_if(seen.runs != runs || seen.reps != reps || seen.patient != patient ||
                seen.print != print,
            "runs are %zu, %zu, %zu, 0x%llx", seen.runs, seen.reps, seen.patient,
            (unsigned long long)seen.print);
}

static volatile sig_atomic_t over;

/* Ticks of the planted counter. */
static inline double counter_now(void)
{
    return (1e3 + seen.now) * seen.counter_hz;
}

/* Ticks of the team's deadline; 0 by the real counter. */
static inline double deadline_of(const struct carm_team *team)
{
    return seen.counter_hz > 0.0 ? (double)team->deadline.tsc : 0.0;
}

/* A run ends at the team's deadline, with the repetitions so far; less than an eighth of them tell little. */
static void end_by_deadline(const struct carm_team *team, struct carm_measurement *m)
{
    const double s = m->seconds.median;
    if (!(seen.counter_hz > 0.0) || team->deadline.tsc == 0) {
        return;
    }
    double left = ((double)team->deadline.tsc - counter_now()) / seen.counter_hz;
    seen.now += fmax(0.0, fmin(seen.lag, left));
    left -= seen.lag;
    if (left < (double)m->seconds.n * s) {
        const size_t wanted = m->seconds.n;
        m->seconds.n = left > 0.0 ? (size_t)(left / s) : 0;
        seen.now += fmax(left, 0.0) - (double)m->seconds.n * s; /* of the repetition that was cut */
        m->cut = m->seconds.n < wanted / 8;
        m->disturbance = m->cut ? CARM_CUT : m->disturbance;
    }
}

void carm_measure_shape(struct carm_team *team, const struct carm_code *code, uint64_t set_bytes,
                        double target_seconds, struct carm_shape *shape)
{
    seen.target = target_seconds;
    seen.print = fingerprint(seen.print, &target_seconds, sizeof target_seconds);
    if (seen.counter_hz > 0.0) {
        tell(team, code->name, (double)set_bytes,
             ((double)team->deadline.tsc - counter_now()) / seen.counter_hz);
    }
    carm_measure_shape_of(code, set_bytes, 1024, shape);
}

void carm_measure_run(struct carm_team *team, const struct carm_code *code,
                      const struct carm_shape *shape, size_t reps, struct carm_measurement *m)
{
    const double work = (double)(shape->iterations * shape->passes) * team->n;
    const uint64_t set = carm_measure_set_bytes(code, shape);
    const double bytes = (double)(code->account.load_bytes + code->account.store_bytes);
    *m = (struct carm_measurement){.code = code, .threads = team->n, .shape = *shape};
    m->bytes = work * bytes;
    m->flops = work * (double)code->account.flops;
    if (seen.watch) {
        seen.watch(team, code, set, reps);
    }
    size_t level = level_of(set, team->n);
    if (level > 1 && seen.l3_bytes) {
        level = set * (uint64_t)team->n <= seen.l3_bytes ? 2 : 3;
    }
    const bool meets = seen.shared && seen.runs % seen.shared == 0;
    const double factor = (1.0 + seen.noise * chance(seen.runs)) * (meets ? 4.0 / 3 : 1.0) /
                          (seen.slow > 0.0 && team->n == 2 ? seen.slow : 1.0);
    const int slow = slow_of(team->topo->order, team->n);
    const double s =
        slow > 0
            ? factor * work *
                  fmax(bytes / bandwidth_of_kinds(set, team->n, slow),
                       (double)code->account.flops / (peak(code) * team->n * slowness[LEVELS])) /
                  speed(code)
            : factor * work * seconds_of(code, level, team->n, level == 3 ? nearness(team) : 1.0);
    m->seconds = (struct carm_stats){
        .n = reps, .median = s, .ci_lo = s, .ci_hi = s, .min = s, .p5 = s, .p95 = s, .max = s};
    if (seen.noise > 0.0) {
        m->seconds.min = s * (1.0 - 0.5 * seen.noise);
        m->seconds.p5 = s * (1.0 - 0.3 * seen.noise);
        m->seconds.p95 = s * (1.0 + seen.noise);
        m->seconds.max = s * (1.0 + 2.0 * seen.noise);
    }
    m->cycles = s * clock_hz;
    m->clock_hz = clock_hz;
    m->own_share = meets ? 0.0 : 1.0;
    m->width_share = 1.0;
    m->disturbance = meets ? CARM_CORE_SHARED : CARM_UNDISTURBED;
    disturb(m);
    end_by_deadline(team, m);
    seen.now += (double)m->seconds.n * m->seconds.median;
    if (seen.fails && strstr(code->name, seen.fails)) {
        m->seconds = (struct carm_stats){.n = 0};
    }
    if (seen.backward == team->n) {
        m->seconds.median = -1e-12;
    }
    const double numbers[] = {team->n,
                              (double)shape->iterations,
                              (double)shape->passes,
                              (double)set,
                              (double)reps,
                              team->separate,
                              team->overhead.together,
                              (double)team->workers[0].place,
                              (double)team->workers[team->n - 1].place,
                              team->patience_seconds};
    over = ++seen.runs == seen.stop_at;
    seen.reps += reps;
    seen.patient += team->patience_seconds > 0.0;
    seen.print = fingerprint(fingerprint(seen.print, code->name, strlen(code->name)), numbers,
                             sizeof numbers);
    seen.largest = set * (uint64_t)team->n > seen.largest ? set * (uint64_t)team->n : seen.largest;
    seen.below_room = seen.below_room && carm_window_span(code, shape) <= carm_team_room(team);
}

void carm_measure_calibrate(struct carm_team *team, const struct carm_code *empty)
{
    team->overhead.together =
        1e-9 * (double)(seen.runs % 97); /* so that it is seen which one counts */
    tell(team, "calibrate", deadline_of(team), 0.0);
}

int carm_measure_own_alone(struct carm_team *team)
{
    return team->n;
}

void carm_measure_watch(struct carm_team *team, double seconds)
{
    tell(team, "watch", seconds, 0.0);
}

void carm_measure_place(struct carm_team *team, const struct carm_code *code, uint64_t set_bytes,
                        size_t places)
{
    assert_true(places > 0);
    for (int i = 0; i < team->n; i++) {
        team->workers[i].place = (set_bytes + (uint64_t)i) % 1021 * 64;
    }
    tell(team, code->name, (double)set_bytes, (double)places);
}

double carm_measure_rate(const struct carm_measurement *m, double work)
{
    return m->seconds.n > 0 ? work / m->seconds.median : 0.0;
}

enum carm_disturbance carm_measure_judge(const struct carm_measurement *m)
{
    return CARM_UNDISTURBED;
}

int carm_team_open_sized(struct carm_team **out, const struct carm_topo *topo,
                         const struct carm_clock *clock, int n, const size_t *bytes,
                         size_t max_reps, struct carm_err *failure)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++) {
        sum += (double)bytes[i] * (i + 1);
    }
    struct carm_team *team = calloc(1, sizeof *team);
    assert_non_null(team);
    assert_true(n >= 1 && n <= MOST);
    *team =
        (struct carm_team){.topo = topo, .clock = clock, .n = n, .size = n, .max_reps = max_reps};
    team->workers = calloc((size_t)n, sizeof *team->workers);
    assert_non_null(team->workers);
    for (int i = 0; i < n; i++) {
        team->workers[i] =
            (struct carm_worker){.team = team, .buffer = {.bytes = bytes[i], .touched = bytes[i]}};
    }
    seen.teams++;
    tell(team, "open", sum, (double)max_reps);
    *out = team;
    return 0;
}

int carm_team_open(struct carm_team **out, const struct carm_topo *topo,
                   const struct carm_clock *clock, int n, size_t bytes_per_thread, size_t max_reps,
                   struct carm_err *failure)
{
    size_t bytes[MOST];
    for (int i = 0; i < MOST; i++) {
        bytes[i] = bytes_per_thread;
    }
    return carm_team_open_sized(out, topo, clock, n, bytes, max_reps, failure);
}

void carm_team_close(struct carm_team *team)
{
    if (team) {
        seen.teams--;
        free(team->workers);
        free(team);
    }
}

bool carm_team_is_over(const struct carm_team *team)
{
    return carm_deadline_over(&team->deadline);
}

void carm_team_run(struct carm_team *team, carm_job_fn *job, void *arg)
{
    fail_msg("nothing is executed here");
}

void carm_team_use(struct carm_team *team, int n)
{
    assert_true(n >= 1 && n <= team->size);
    team->n = n;
}

bool carm_team_shares(const struct carm_team *team)
{
    return team->n > team->topo->cores;
}

void carm_team_separate(struct carm_team *team, bool separate)
{
    team->separate = separate;
}

size_t carm_team_room(const struct carm_team *team)
{
    size_t room = SIZE_MAX;
    for (int i = 0; i < team->n; i++) {
        room = team->workers[i].buffer.bytes < room ? team->workers[i].buffer.bytes : room;
    }
    return room;
}

bool carm_team_touch(struct carm_team *team, size_t bytes_per_thread)
{
    tell(team, "touch", (double)bytes_per_thread, deadline_of(team));
    assert_true(bytes_per_thread <= carm_team_room(team));
    return true;
}

void carm_team_line_reset(struct carm_team *team)
{
}

bool carm_team_line_wait(struct carm_team *team, uint64_t repetition)
{
    return true;
}

int carm_team_touch_from(struct carm_team *team, int pu, size_t bytes_per_thread,
                         struct carm_err *failure)
{
    assert_true(bytes_per_thread <= carm_team_room(team));
    return 0;
}

double carm_core_to_core_seconds(struct carm_team *team)
{
    return team->n > 1 ? 50e-9 : 0.0;
}

double carm_core_to_core_once(struct carm_team *team, int other)
{
    return team->n > 1 ? 50e-9 : 0.0;
}

double carm_contended_add_seconds(struct carm_team *team, int other)
{
    return team->n > other ? 10e-9 : 0.0;
}

static struct carm_winners *winners; /* of a search; NULL = none */

/* words.isa  NULL: avx2 alone; "": as a build without the word */
static struct carm_model *build_on(const char *of, struct carm_build_config *config,
                                   struct carm_build_words words, struct carm_host *host)
{
    struct carm_build_outlook outlook;
    const struct carm_code_counter counter = {.provider = CARM_PROVIDER_NONE};
    struct carm_build_done done = {.reps = 0};
    struct carm_model *model = NULL;
    seen.runs = seen.teams = seen.reps = seen.patient = 0;
    seen.print = FINGERPRINT_NONE;
    seen.largest = 0;
    seen.below_room = true;
    static struct carm_observer observer; /* shows nothing */
    *host = (struct carm_host){.clock = {.tsc_hz = clock_hz, .synchronous = true},
                               .observer = &observer};
    assert_ok(carm_topo_open(&host->topo, of, NULL, &err));
    for (int i = 0; i < CARM_VECTOR_ISAS; i++) {
        host->cpu.isa[i] = i != CARM_AVX512;
    }
    host->cpu.fma = true;
    words.isa = !words.isa ? "avx2" : *words.isa ? words.isa : NULL;
    words.threads = words.threads ? words.threads : "1,4";
    words.memory = "1G";
    words.budget = "600";
    words.reps = "256";
    words.latency = "no";
    words.scaling = "yes";
    assert_ok(carm_build_configure(config, &words, &host->cpu, host->topo, &err));
    config->found = winners;
    (void)strcpy(config->machine, "Zen 3");
    carm_build_foresee(config, host, &outlook);
    assert_ok(carm_build_run(config, host, &counter, NULL, &model, &done, &err));
    /* as was foreseen: the roofs, and the time by what each step is said to take */
    size_t roofs = 0;
    for (size_t i = 0; i < model->nroofs; i++) {
        roofs += model->roofs[i].nmemory + model->roofs[i].ncompute;
    }
    assert_int_equal(roofs, outlook.roofs);
    assert_near(observer.total, outlook.seconds, 1e-9);
    assert_near(observer.done / observer.total, 1.0, 0.05);
    assert_int_equal(seen.teams, 0);
    assert_true(seen.below_room);
    assert_int_equal(done.missing, 0);
    assert_int_equal(done.reps, 256);
    return model;
}

static inline struct carm_model *build(struct carm_build_config *config,
                                       struct carm_build_words words, struct carm_host *host)
{
    return build_on(machine, config, words, host);
}

/* The highest speed of the candidates for a roof. */
static inline double best_speed(const struct carm_build_plan *plan, const struct carm_mix *mix,
                                bool first)
{
    const struct carm_code *codes[CARM_CANDIDATES_MAX];
    double best = 0.0;
    const size_t n = carm_build_plan_memory(plan, CARM_AVX2, CARM_DP, mix, first, codes);
    assert_true(n > 3);
    for (size_t i = 0; i < n; i++) {
        best = fmax(best, speed(codes[i]));
    }
    return best;
}

/* A fingerprint of all figures of a model: its JSON from the configuration on, without times of day. */
static inline void figures_are(const struct carm_model *m, uint64_t wanted)
{
    char *json = carm_model_to_json(m);
    uint64_t print = FINGERPRINT_NONE;
    assert_non_null(json);
    for (char *line = strtok(strstr(json, "\"config\""), "\n"); line; line = strtok(NULL, "\n")) {
        const bool day = strstr(line, "\"at\":") || strstr(line, "\"validated\":");
        print = day ? print : fingerprint(print, line, strlen(line));
    }
    free(json);
    fail_if(print != wanted, "figures are 0x%llx", (unsigned long long)print);
}
