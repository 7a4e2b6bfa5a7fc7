/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads of a team by a kernel that the tests play: the shares of a job's time, the naps of a wait, threads that do
 * not start, and the start line. No time decides: waits end by what was noted. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tests/harness/machine/machine.h"

enum { NAPS_MOST = 64 };

static struct {
    bool clocks;                          /* they are played */
    double wall[2], ran[2];               /* seconds before and after a job */
    const char *sched[2];                 /* /proc/thread-self/schedstat; NULL = none */
    size_t walls, rans, scheds, switches; /* looks so far */
    atomic_bool naps;                     /* noted, and as short as can be */
    long nap[NAPS_MOST];                  /* nanoseconds */
    atomic_size_t nnaps;
    atomic_uint_fast64_t first; /* TSC at the first nap */
    int refused;                /* thread that the system refuses to start, from 1 on; 0 = none */
    int started;
} kernel;

static void *of_library(const char *name)
{
    void *const found = dlsym(RTLD_NEXT, name);
    assert_non_null(found);
    return found;
}

#define REAL(name, ...)                        \
    static __typeof__(name) *real;             \
    if (!real) {                               \
        void *const found = of_library(#name); \
        memcpy(&real, &found, sizeof real);    \
    }                                          \
    return real(__VA_ARGS__)

int clock_gettime(clockid_t id, struct timespec *t)
{
    if (kernel.clocks && (id == CLOCK_MONOTONIC || id == CLOCK_THREAD_CPUTIME_ID)) {
        const double s =
            id == CLOCK_MONOTONIC ? kernel.wall[kernel.walls++ % 2] : kernel.ran[kernel.rans++ % 2];
        *t = (struct timespec){(time_t)s, (long)((s - floor(s)) * 1e9 + 0.5)};
        return 0;
    }
    REAL(clock_gettime, id, t);
}

ssize_t pread(int fd, void *to, size_t size, off_t at)
{
    if (kernel.clocks) {
        const char *text = kernel.sched[kernel.scheds++ % 2];
        const size_t n = text ? strlen(text) : 0;
        assert_true(n < size && at == 0);
        memcpy(to, text ? text : "", n);
        return text ? (ssize_t)n : -1;
    }
    REAL(pread, fd, to, size, at);
}

int getrusage(__rusage_who_t who, struct rusage *usage)
{
    if (kernel.clocks && who == RUSAGE_THREAD) {
        *usage = (struct rusage){.ru_nivcsw = kernel.switches++ % 2 ? 17 : 10};
        return 0;
    }
    REAL(getrusage, who, usage);
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
    if (atomic_load(&kernel.naps)) {
        const size_t i = atomic_load(&kernel.nnaps);
        if (i == 0) {
            atomic_store(&kernel.first, carm_clock_now());
        }
        if (i < NAPS_MOST) {
            kernel.nap[i] = time->tv_nsec + 1000000000 * time->tv_sec;
        }
        atomic_store(&kernel.nnaps, i + 1);
        return sched_yield();
    }
    REAL(nanosleep, time, left);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *arg)
{
    if (++kernel.started == kernel.refused) {
        return EAGAIN;
    }
    REAL(pthread_create, thread, attributes, run, arg);
}

static void clear(void)
{
    memset(&kernel, 0, sizeof kernel);
}

static void do_nothing(struct carm_worker *w, void *arg)
{
}

static void nap_once(struct carm_worker *w, void *arg)
{
    atomic_store(&w->team->naps, 1);
}

/* Shares of a second: the thread ran, was ready to run, and did neither, which is waiting if the thread slept. */
TEST(a_job_has_its_shares)
{
    static const struct {
        double wall, ran;       /* in the job */
        const char *after;      /* of "1000000000 300000000 5" */
        double queued, stopped; /* shares */
    } rows[] = {
        {2.0, 0.5, "0 1300000000 6\n", 0.5, 0.25}, {2.0, 2.0, "0 300000000 6\n", 0.0, 0.0},
        {2.0, 1.5, "0 1300000000 6\n", 0.5, 0.0},  {2.0, 0.5, NULL, -0.15, 0.9},
        {0.0, 0.0, "0 1300000000 6\n", 0.0, 0.0},  {0.5, 0.25, "0 400000000 6\n", 0.2, 0.3}};
    struct carm_team *team = open_team(1, MIB, 64);
    struct carm_worker *w = &team->workers[0];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int slept = 0; slept < 2; slept++) {
            clear();
            kernel.wall[0] = 7.0;
            kernel.wall[1] = 7.0 + rows[i].wall;
            kernel.ran[0] = 3.0;
            kernel.ran[1] = 3.0 + rows[i].ran;
            kernel.sched[0] = "1000000000 300000000 5\n";
            kernel.sched[1] = rows[i].after;
            kernel.clocks = true;
            carm_team_run(team, slept ? nap_once : do_nothing, NULL);
            kernel.clocks = false;
            assert_near(w->queued_share, rows[i].queued, 1e-9);
            assert_near(w->stopped_share, slept ? 0.0 : rows[i].stopped, 1e-9);
            assert_int_equal(w->switches, 7);
        }
    }
}

/* The first thread comes late, after so many naps of the other one, or only after a first nap. */
static void come_late(struct carm_worker *w, void *arg)
{
    const size_t naps = *(const size_t *)arg;
    if (w->index == 0) {
        while (atomic_load(&kernel.nnaps) < naps) {
            sched_yield();
        }
    }
    (void)carm_team_line_wait(w->team, 0);
}

static void wait_for_naps(struct carm_team *team, size_t naps)
{
    clear();
    atomic_store(&kernel.naps, true);
    carm_team_line_reset(team);
    carm_team_run(team, come_late, &naps);
    atomic_store(&kernel.naps, false);
}

/* A wait of a millisecond spins. Then naps are twice as long each time, from 50 us to 1.6 ms, and are one wait. */
TEST(naps_grow)
{
    skip_if(topo->pus < 2, "no two hardware threads");
    static const long wanted[] = {50000, 100000, 200000, 400000, 800000, 1600000, 1600000, 1600000};
    struct carm_team *team = open_team(2, MIB, 64);
    const double begin = (double)carm_clock_now();
    wait_for_naps(team, 8);
    assert_true((double)kernel.first - begin > 1e-3 * tsc.tsc_hz);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(kernel.nap[i], wanted[i]);
    }
    assert_int_equal(atomic_load(&team->naps), 1);
}

static uint64_t begun; /* TSC */

/* Naps of waits before, as many as there are told. */
static void come_late_again(struct carm_worker *w, void *arg)
{
    const unsigned before = *(const unsigned *)arg;
    if (w->index == 1) {
        atomic_store(&w->team->naps, before);
        begun = carm_clock_now();
        (void)carm_team_line_wait(w->team, 0);
    } else {
        while (atomic_load(&kernel.nnaps) < 1) {
            sched_yield();
        }
        (void)carm_team_line_wait(w->team, 0);
    }
}

/* A wait spins half as long after each wait of its job that was long, but for 20 us. The shortest of some tries counts,
 * as a busy machine lengthens all. */
TEST(later_waits_nap_earlier)
{
    skip_if(topo->pus < 2, "no two hardware threads");
    static const struct {
        unsigned before;
        double least, most; /* us */
    } rows[] = {{0, 1000, 1e9}, {1, 500, 990}, {2, 250, 490}, {3, 125, 240}, {40, 20, 60}};
    struct carm_team *team = open_team(2, MIB, 64);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double shortest = INFINITY;
        for (int k = 0; k < 200 && (k < 3 || shortest > rows[i].most); k++) {
            unsigned before = rows[i].before;
            clear();
            atomic_store(&kernel.naps, true);
            carm_team_line_reset(team);
            carm_team_run(team, come_late_again, &before);
            atomic_store(&kernel.naps, false);
            shortest = fmin(shortest, ((double)kernel.first - (double)begun) / tsc.tsc_hz * 1e6);
            assert_int_equal(atomic_load(&team->naps), before + 1);
        }
        fail_if(!(shortest > rows[i].least && shortest < rows[i].most), "after %u waits: %g us",
                rows[i].before, shortest);
    }
}

/* The system refuses to start the second thread: the first one ends, and the message has the number. */
TEST(threads_that_do_not_start)
{
    skip_if(topo->pus < 2, "no two hardware threads");
    struct carm_team *team = NULL;
    for (int i = 1; i <= 2; i++) {
        char words[64];
        clear();
        kernel.refused = i;
        (void)snprintf(words, sizeof words, "cannot start thread %d of 2: raise the limit", i);
        assert_refused(carm_team_open(&team, topo, &tsc, 2, MIB, 64, &err), -CARM_ENOMEM, words);
        assert_null(team);
    }
    clear();
    struct carm_team *one = open_team(1, MIB, 64);
    clear();
    kernel.refused = 1;
    assert_refused(carm_team_touch_from(one, topo->order[0], MIB, &err), -CARM_ENOMEM,
                   "cannot start a thread to touch memory: raise the limit");
    assert_int_equal(one->workers[0].buffer.touched, 0);
    clear();
}

/* Processors that there are not: the thread's refusal is the team's. */
TEST(threads_that_cannot_be_pinned)
{
    struct carm_topo other = *topo;
    struct carm_team *team = NULL;
    int order[] = {4000, topo->order[0]};
    other.order = order;
    assert_refused(carm_team_open(&team, &other, &tsc, 1, MIB, 64, &err), -CARM_ENOTSUP,
                   "cannot pin a thread to CPU 4000");
    assert_null(team);
    assert_int_equal(carm_team_open(&team, &other, &tsc, 1, MIB, 64, NULL), -CARM_ENOTSUP);
    assert_null(team);
}

/* Buffers of both threads, their room, and what is touched in each. */
TEST(threads_have_their_buffers)
{
    skip_if(topo->pus < 2, "no two hardware threads");
    for (int less = 0; less < 2; less++) {
        const size_t bytes[] = {less ? 2 * MIB : 6 * MIB, less ? 6 * MIB : 2 * MIB};
        struct carm_team *team = NULL;
        assert_ok(carm_team_open_sized(&team, topo, &tsc, 2, bytes, 64, &err));
        (void)closed_later(by_carm_team_close, team);
        assert_int_equal(carm_team_room(team), 2 * MIB);
        assert_true(carm_team_touch(team, 4 * MIB)); /* all that there is */
        for (int i = 0; i < 2; i++) {
            const size_t most = bytes[i] < 4 * MIB ? bytes[i] : 4 * MIB;
            assert_int_equal(team->workers[i].buffer.bytes, bytes[i]);
            assert_int_equal(team->workers[i].buffer.touched, most);
            assert_int_equal(team->workers[i].index, i);
            assert_int_equal(team->workers[i].pu, topo->order[i]);
        }
        assert_int_equal(team->n, 2);
        assert_int_equal(team->size, 2);
        assert_int_equal(team->max_reps, 64);
        assert_near(team->patience_seconds, 2e-3, 0.0);
        close_opened();
    }
}

/* All threads have as much; and one whose memory is untouched is not passed over for the other's. */
TEST(each_thread_touches)
{
    skip_if(topo->pus < 2, "no two hardware threads");
    for (int first = 0; first < 2; first++) {
        struct carm_team *team = open_team(2, 3 * MIB, 64);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(team->workers[i].buffer.bytes, 4 * MIB);
        }
        carm_buffer_touch(&team->workers[first].buffer, 2 * MIB);
        assert_true(carm_team_touch(team, MIB));
        assert_int_equal(team->workers[first].buffer.touched, 2 * MIB);
        assert_int_equal(team->workers[1 - first].buffer.touched, MIB);
        close_opened();
    }
}

static void count_run(struct carm_worker *w, void *arg)
{
    atomic_int *ran = arg;
    atomic_fetch_add(&ran[w->index], 1);
}

/* The first threads work, the others rest until they are used again. */
TEST(threads_work_when_they_are_used)
{
    skip_if(topo->pus < 2, "no two hardware threads");
    static const int used[] = {2, 1, 1, 2, 2, 1, 9, 1, 2};
    struct carm_team *team = open_team(2, MIB, 64);
    atomic_int ran[2] = {0};
    int wanted[2] = {0};
    for (size_t i = 0; i < sizeof used / sizeof *used; i++) {
        carm_team_use(team, used[i]);
        assert_int_equal(team->n, used[i] > 2 ? 2 : used[i]);
        carm_team_run(team, count_run, ran);
        wanted[0]++;
        wanted[1] += used[i] > 1;
        assert_int_equal(ran[0], wanted[0]);
        assert_int_equal(ran[1], wanted[1]);
    }
}

/* Threads that share cores by design are never separate, nor is one thread. */
TEST(teams_are_taken_apart)
{
    skip_if(topo->pus < 2, "no two hardware threads");
    static const struct {
        int cores, n;
        bool shares, separate;
    } rows[] = {
        {2, 2, false, true}, {1, 2, true, false}, {2, 1, false, false}, {3, 2, false, true}};
    struct carm_team *team = open_team(2, MIB, 64);
    struct carm_topo other = *topo;
    team->topo = &other;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        other.cores = rows[i].cores;
        team->n = rows[i].n;
        carm_team_separate(team, true);
        assert_int_equal(team->separate, rows[i].separate);
        assert_int_equal(carm_team_shares(team), rows[i].shares);
        carm_team_separate(team, false);
        assert_false(team->separate);
    }
    team->n = 2;
    team->topo = topo;
}

/* A deadline that is over before the last thread arrives: nobody passes, and all leave their job. */
static void arrive(struct carm_worker *w, void *arg)
{
    bool *passed = arg;
    passed[w->index] = carm_team_line_wait(w->team, 0);
}

TEST(nobody_passes_after_the_deadline)
{
    static volatile sig_atomic_t stop;
    for (int n = 1; n <= (topo->pus < 2 ? 1 : 2); n++) {
        for (int how = 0; how < 3; how++) { /* in time, by a wish, by a thread that has seen it */
            struct carm_team *team = open_team(n, MIB, 64);
            bool passed[2] = {how == 0, how == 0};
            stop = how == 1;
            team->deadline.stop = &stop;
            carm_team_line_reset(team);
            if (how == 0) {
                carm_team_run(team, arrive, passed);
                assert_true(passed[0] && passed[1]);
                assert_false(atomic_load(&team->over));
                assert_int_equal(atomic_load(&team->go), n > 1 ? 1 : 0);
            } else if (how == 1) {
                passed[0] = passed[1] = true;
                carm_team_run(team, arrive, passed);
                assert_true(!passed[0] && (n == 1 || !passed[1]));
                assert_true(atomic_load(&team->over));
                assert_int_equal(atomic_load(&team->go), 0);
                stop = 0; /* a later job has its own deadline */
                carm_team_line_reset(team);
                carm_team_run(team, arrive, passed);
                assert_true(passed[0] && (n == 1 || passed[1]));
            } else if (n == 2) { /* the other one has arrived */
                atomic_store(&team->arrived, 1);
                atomic_store(&team->over, true);
                assert_false(carm_team_line_wait(team, 0));
                assert_int_equal(atomic_load(&team->go), 0);
            }
            close_opened();
        }
    }
}

/* Of several looks at a line the least counts: no more than the time of all of them over their ways. */
TEST(lines_take_a_part_of_the_time)
{
    skip_if(topo->pus < 2, "no two hardware threads");
    struct carm_team *team = open_team(2, MIB, 64);
    const uint64_t begin = carm_clock_now();
    const double once = carm_core_to_core_once(team, 1);
    const uint64_t middle = carm_clock_now();
    const double mean = carm_core_to_core_seconds(team);
    const uint64_t end = carm_clock_now();
    const double add = carm_contended_add_seconds(team, 1);
    const uint64_t last = carm_clock_now();
    assert_true(once > 0.0 && once <= (double)(middle - begin) / tsc.tsc_hz / (3 * 2 * 100));
    assert_true(mean > 0.0 && mean <= (double)(end - middle) / tsc.tsc_hz / (5 * 2 * 1000));
    assert_true(add > 0.0 && add <= (double)(last - end) / tsc.tsc_hz / 20000);
}

static int set_up(void **state)
{
    topo = topo_of(NULL, NULL);
    return carm_clock_open(&tsc, &err);
}

RUN_TESTS(set_up, NULL)
