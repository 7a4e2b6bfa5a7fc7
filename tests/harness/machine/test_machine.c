/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The harness: buffers, clocks, teams and the repetition engine. Counts and invariants decide, never
 * a time. */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include <hwloc.h>

#include "harness/machine/measure.h"
#include "tests/harness/machine/machine.h"

enum { EMPTY, LOAD, TRIAD, UPDATE, FP, CODES };

static int set_up(void **state)
{
    const char *const names[CODES] = {"empty.scalar.dp", "A.sse.dp.1:0.u8", "A.sse.dp.2:1.u4",
                                      "A.sse.dp.update.u4", "B.sse.dp.mad.f40.c10"};
    return open_machine(names, CODES);
}

static size_t resident_bytes(void)
{
    unsigned long total = 0;
    unsigned long resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu %lu", &total, &resident), 2);
    (void)fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- buffers and memory ---- */

/* Reading never makes pages of its own (one shared page of zeros would be read at cache speed):
 * after a touch every page must really be there. */
TEST(buffers_have_real_pages)
{
    struct carm_buffer b;
    assert_ok(carm_buffer_open(&b, 64 * MIB, &err));
    assert_int_equal((uintptr_t)b.start % (2 * MIB), 0);
    size_t before = resident_bytes();
    carm_buffer_touch(&b, 32 * MIB);
    size_t after = resident_bytes();
    assert_true(after - before >= 32 * MIB - 64 * 1024);
    assert_true(after - before <= 36 * MIB); /* the rest is only reserved */
    carm_buffer_touch(&b, 16 * MIB);
    assert_int_equal(b.touched, 32 * MIB);
    carm_buffer_touch(&b, 512 * MIB); /* ends at the buffer */
    assert_int_equal(b.touched, b.bytes);
    uint64_t page = carm_buffer_page_bytes(&b);
    assert_true(page == (uint64_t)sysconf(_SC_PAGESIZE) || page == 2 * MIB);
    for (size_t i = 0; i < b.bytes / 8; i += 4096 / 8) {
        assert_near(((double *)b.start)[i], 1.0, 0.0);
    }
    carm_buffer_close(&b);
    carm_buffer_close(&b); /* twice is allowed */
}

/* The kernel's flags of the memory at an address have "dd": not in a core. */
TEST(buffers_are_in_no_core)
{
    struct carm_buffer b;
    char line[512];
    bool here = false, left_out = false;
    assert_ok(carm_buffer_open(&b, 4 * MIB, &err));
    FILE *f = fopen("/proc/self/smaps", "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        unsigned long begin = 0, end = 0;
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2) {
            here = begin <= (uintptr_t)b.start && (uintptr_t)b.start < end;
        } else if (here && strncmp(line, "VmFlags:", 8) == 0) {
            left_out = strstr(line, " dd") != NULL;
        }
    }
    assert_int_equal(fclose(f), 0);
    assert_true(left_out);
    carm_buffer_close(&b);
}

TEST(refuses_what_does_not_fit)
{
    struct carm_buffer b;
    struct carm_team *team = NULL;
    assert_refused(carm_buffer_open(&b, (size_t)1 << 50, &err), -CARM_ENOMEM, "--memory");
    assert_int_equal(carm_team_open(&team, topo, &tsc, topo->machine_pus + 1, MIB, 16, &err),
                     -CARM_EINVAL);
    assert_null(team);
    assert_int_equal(carm_team_open(&team, topo, &tsc, 1, (size_t)1 << 50, 16, &err), -CARM_ENOMEM);
    assert_null(team);
    assert_true(carm_memory_available() > 0);
    assert_true(carm_memory_available() <= carm_memory_total());
}

/* ---- engine ---- */

TEST(measurements_account_for_all_work)
{
    const int n = topo->pus > 1 ? 2 : 1;
    struct carm_team *team = open_team(1, MIB, 1);
    carm_measure_calibrate(team, &image->codes[EMPTY]);
    assert_true(team->overhead.together > 0.0); /* by a single repetition */
    team = open_team(n, 4 * MIB, 500);
    team->patience_seconds = 0.0; /* a run that has waited too long for its cores ends early */
    carm_measure_calibrate(team, &image->codes[EMPTY]);
    assert_true(team->overhead.together > 0.0);
    for (int code = LOAD; code < CODES; code++) {
        struct carm_shape s;
        struct carm_measurement m;
        const struct carm_account *a = &image->codes[code].account;
        carm_measure_shape(team, &image->codes[code], 20000, 20e-6, &s);
        carm_measure_run(team, &image->codes[code], &s, 500, &m);
        const double iterations = (double)s.iterations * (double)s.passes * n;
        assert_near(m.bytes, iterations * (double)(a->load_bytes + a->store_bytes), 0.0);
        assert_near(m.flops, iterations * (double)a->flops, 0.0);
        assert_true(m.seconds.n == 500 || (m.own_share < 1.0 && m.seconds.n > 0));
        assert_true(m.seconds.min <= m.seconds.ci_lo && m.seconds.ci_lo <= m.seconds.median);
        assert_true(m.seconds.median <= m.seconds.ci_hi && m.seconds.ci_hi <= m.seconds.max);
        assert_true(m.seconds.p5 <= m.seconds.median && m.seconds.median <= m.seconds.p95);
        assert_true(m.clock_hz > 1e8 && m.clock_hz < 1e10);
        assert_near(m.cycles, m.clock_hz * m.seconds.median, 1e-6 * m.cycles);
        assert_int_equal(m.threads, n);
        assert_int_equal(m.migrations, 0);
    }
}

/* Processors whose TSCs are not in step: the team neither waits for another's instant nor takes a
 * difference between two counters for a duration. */
TEST(works_without_common_time)
{
    struct carm_clock own = tsc;
    struct carm_team *team = NULL;
    struct carm_shape s;
    struct carm_measurement m;
    own.synchronous = false;
    assert_ok(carm_team_open(&team, topo, &own, topo->cores > 1 ? 2 : 1, MIB, 200, &err));
    team->patience_seconds = 0.0;
    atomic_store(&team->start_tsc, UINT64_MAX); /* an instant that never comes */
    carm_measure_calibrate(team, &image->codes[EMPTY]);
    carm_measure_shape(team, &image->codes[FP], 0, 10e-6, &s);
    carm_measure_run(team, &image->codes[FP], &s, 200, &m);
    assert_true(m.seconds.median > 0.0 && (m.seconds.n == 200 || m.own_share < 1.0));
    carm_team_close(team);
}

/* A cache line takes longer than a cycle from one thread to another, and less than a millisecond even
 * where they share one hardware thread's time; one thread alone has nobody to hand it to. */
TEST(lines_change_hands)
{
    struct carm_team *team = open_team(1, MIB, 16);
    assert_near(carm_core_to_core_seconds(team), 0.0, 0.0);
    close_opened();
    skip_if(topo->pus < 2, "one hardware thread has no other to hand a line to");
    team = open_team(2, MIB, 16);
    const double seconds = carm_core_to_core_seconds(team);
    assert_true(seconds > 1e-10 && seconds < 1e-3);
    const double one_way = carm_core_to_core_once(team, 1);
    assert_true(one_way > 1e-10 && one_way < 1e-3);
    const double add = carm_contended_add_seconds(team, 1);
    assert_true(add > 1e-10 && add < 1e-3);
    assert_near(carm_contended_add_seconds(team, 2), 0.0, 0.0); /* there is no such thread */
}

/* Windows and laps together touch all of the set and nothing else: after a run every value of an
 * updated set has flipped as often as its window came up, those behind it never. */
TEST(repetitions_cover_the_set)
{
    struct carm_team *team = open_team(1, 8 * MIB, 4096);
    struct carm_shape s;
    struct carm_measurement m;
    carm_measure_calibrate(team, &image->codes[EMPTY]);
    carm_measure_shape(team, &image->codes[UPDATE], 6 * MIB, 1e-6, &s);
    carm_team_touch(team, 8 * MIB);
    assert_true(s.windows > 2 && s.windows < 4096);
    double *values = team->workers[0].buffer.start;
    const size_t inside = s.windows * s.window_bytes / sizeof *values;
    const size_t per_window = s.window_bytes / sizeof *values;
    for (size_t i = 0; i < 8 * MIB / sizeof *values; i++) {
        values[i] = 1.0;
    }
    team->cursor = 0;
    /* the warming lap may be any number of windows, so window 0 stands for the parity of each: all
     * windows have been visited the same number of times or once more than the last */
    carm_measure_run(team, &image->codes[UPDATE], &s, s.windows, &m);
    for (size_t w = 0; w < s.windows; w++) {
        for (size_t i = 1; i < per_window; i++) {
            fail_if(values[w * per_window + i] != values[w * per_window],
                    "value %zu of window %zu was not updated with its window", i, w);
        }
    }
    size_t changes = 0; /* of parity from one window to the next: where the laps began and ended */
    for (size_t w = 1; w < s.windows; w++) {
        changes += values[w * per_window] != values[(w - 1) * per_window] ? 1 : 0;
    }
    assert_true(changes <= 2);
    for (size_t i = inside; i < 8 * MIB / sizeof *values; i++) {
        fail_if(values[i] != 1.0, "value %zu behind the set was changed", i - inside);
    }
}

/* ---- disturbance ---- */

struct rival {
    atomic_bool stop;
    int pu;
};

static void *spin_beside(void *arg)
{
    struct rival *r = arg;
    (void)carm_topo_pin(topo, r->pu, &err);
    while (!atomic_load(&r->stop)) {
    }
    return NULL;
}

/* A calibration that met a burst: the empty code seems to take longer than what is measured. */
TEST(a_bad_calibration_is_no_negative_time)
{
    struct carm_team *team = open_team(1, MIB, 256);
    struct carm_shape s;
    struct carm_measurement m;
    carm_measure_calibrate(team, &image->codes[EMPTY]);
    carm_measure_shape(team, &image->codes[FP], 0, 20e-6, &s);
    team->overhead.together = 0.001;
    carm_measure_run(team, &image->codes[FP], &s, 256, &m);
    assert_true(m.seconds.ci_lo > 0.0 && m.seconds.median >= m.seconds.ci_lo);
    assert_true(m.clock_hz > 0.0);
    assert_true(m.disturbance != CARM_UNDISTURBED);
}

/* A rival on the same processor preempts the worker: counted by the kernel, seen, and marked. */
TEST(notices_preemption)
{
    struct carm_team *team = open_team(1, MIB, 256);
    struct rival rival = {.pu = team->workers[0].pu};
    pthread_t thread;
    struct carm_shape s;
    struct carm_measurement m;
    carm_measure_calibrate(team, &image->codes[EMPTY]);
    carm_measure_shape(team, &image->codes[FP], 0, 2e-3, &s);
    assert_int_equal(pthread_create(&thread, NULL, spin_beside, &rival), 0);
    carm_measure_run(team, &image->codes[FP], &s, 256, &m);
    atomic_store(&rival.stop, true);
    (void)pthread_join(thread, NULL);
    assert_true(m.disturbance != CARM_UNDISTURBED);
    assert_true(m.switches > 0);
    assert_true(m.taken_share > 0.0 || access("/proc/thread-self/schedstat", R_OK) != 0);
}

/* A stand-in for the probe's reference: cores that were seen twice as wide as any is. So all repetitions
 * ran on what looks like half a core: when waiting did not help, one block of them tells enough, and is marked. */
TEST(notices_a_shared_core)
{
    struct carm_team *team = open_team(1, MIB, 1024);
    struct carm_shape s;
    struct carm_measurement m;
    carm_measure_calibrate(team, &image->codes[EMPTY]);
    carm_measure_shape(team, &image->codes[FP], 0, 5e-6, &s);
    carm_measure_run(team, &image->codes[FP], &s, 128, &m);
    assert_true(m.width_share > 0.1);
    for (int i = 0; i < 1000; i++) {
        carm_widths_add(&team->workers[0].seen_alone, 15.0);
        carm_widths_add(&team->workers[0].seen_together, 15.0);
    }
    carm_measure_run(team, &image->codes[FP], &s, 128, &m);
    assert_true(m.own_share == 0.0 && m.width_share < CARM_WIDTH_OWN);
    assert_int_equal(m.seconds.n, CARM_CLOCK_EVERY);
    assert_true(m.disturbance);
    assert_int_equal(carm_measure_own_alone(team), 0);
    team->patience_seconds = 0.0;
    carm_measure_run(team, &image->codes[FP], &s, 128, &m);
    assert_int_equal(m.seconds.n, 128);
}

/* What no two threads share counts for each thread by itself: its repetitions with a core of its own, however the
 * other thread's core was at that time. A thread that never had its core marks them all. */
TEST(threads_count_by_themselves)
{
    skip_if(topo->cores < 2, "no two cores");
    struct carm_team *team = open_team(2, MIB, 1024);
    struct carm_shape s;
    struct carm_measurement m;
    carm_measure_calibrate(team, &image->codes[EMPTY]);
    assert_true(team->overhead.each > 0.0);
    carm_measure_shape(team, &image->codes[FP], 0, 5e-6, &s);
    for (int planted = 0; planted < 2; planted++) {
        for (int i = 0; i < 2; i++) { /* nothing is known of the cores: they pass for own */
            team->workers[i].seen_alone = (struct carm_widths){.n = 0};
        }
        for (int i = 0; i < 1000 && planted; i++) {
            carm_widths_add(&team->workers[1].seen_alone, 15.0);
        }
        carm_team_separate(team, true);
        assert_true(team->separate);
        carm_measure_run(team, &image->codes[FP], &s, 128, &m);
        assert_true(m.seconds.median > 0.0 && m.seconds.ci_lo > 0.0);
        assert_true(team->separate); /* as it was asked for */
        assert_true(planted ? m.own_share == 0.0 && m.disturbance : m.own_share > 0.0);
        assert_true(planted ? m.seconds.n >= 128
                            : m.seconds.n == 128); /* of all, or those that count */
        assert_near(m.flops,
                    (double)(s.iterations * image->codes[FP].account.flops) * (double)s.passes * 2,
                    0.0);
    }
    carm_team_use(team, 1);
    carm_team_separate(team, true);
    assert_false(team->separate); /* of one thread there is nothing to take apart */
}

static atomic_int current, stale;
static atomic_bool released;
static _Thread_local int locks_left; /* until this thread is held, before it has the lock */

/* In place of the library's: holds a thread as a full machine may. */
int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    static int (*real)(pthread_mutex_t *);
    void *const found = real ? NULL : dlsym(RTLD_NEXT, "pthread_mutex_lock");
    if (found) {
        memcpy(&real, &found, sizeof real);
    }
    while (locks_left > 0 && !atomic_load(&released)) {
        if (locks_left > 1) {
            locks_left--;
            break;
        }
        sched_yield();
    }
    return real(mutex);
}

static _Thread_local bool wakes_late; /* from its next wait */

/* Likewise: a wait ends when the thread is released, whatever was signalled meanwhile. */
int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    static int (*real)(pthread_cond_t *, pthread_mutex_t *);
    /* without a version, dlsym finds the one for programs of before 2003 */
    void *const found = real ? NULL : dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2");
    if (found) {
        memcpy(&real, &found, sizeof real);
    }
    if (!wakes_late) {
        return real(cond, mutex);
    }
    wakes_late = false;
    pthread_mutex_unlock(mutex);
    while (!atomic_load(&released)) {
        sched_yield();
    }
    return pthread_mutex_lock(mutex);
}

static void check_arg(struct carm_worker *w, void *arg)
{
    atomic_fetch_add(&stale, *(const int *)arg != atomic_load(&current));
}

/* Thread 1 ends the job, and is held before it looks for another, or while it waits for one. */
static void be_late(struct carm_worker *w, void *arg)
{
    const bool waits = *(const bool *)arg;
    locks_left = w->index == 1 && !waits ? 2 : 0;
    wakes_late = w->index == 1 && waits;
}

/* A thread that comes back or wakes late, after the team has worked without it and uses it again, does not run the
 * job that has ended meanwhile, whose argument is gone. */
TEST(late_threads_run_no_old_job)
{
    skip_if(topo->pus < 2, "no two hardware threads");
    const struct timespec nap = {0, 50000000};
    for (int waits = 0; waits < 2; waits++) {
        struct carm_team *team = NULL;
        bool at_wait = waits;
        int arg = 1;
        atomic_store(&released, false);
        assert_ok(carm_team_open(&team, topo, &tsc, 2, MIB, 64, &err));
        (void)closed_later(by_carm_team_close, team);
        atomic_store(&current, arg);
        carm_team_run(team, be_late, &at_wait);
        nanosleep(&nap, NULL); /* in which the thread comes to its wait */
        carm_team_use(team, 1);
        carm_team_run(team, check_arg, &arg);
        carm_team_use(team, 2);
        arg = 2;
        atomic_store(&released, true);
        nanosleep(&nap, NULL); /* in which the thread would run the old job */
        assert_int_equal(atomic_load(&stale), 0);
        atomic_store(&current, arg);
        carm_team_run(team, check_arg, &arg);
        assert_int_equal(atomic_load(&stale), 0);
        close_opened();
    }
}

TEST(chooses_the_better_code)
{
    /* 8 loads beside 16 divisions are never faster than 8 loads: a factor of more than 20 */
    struct carm_code_spec specs[2];
    struct carm_image *two = NULL;
    double rates[2] = {0.0, 0.0};
    assert_ok(carm_code_parse("C.scalar.dp.1:0.div.u8.f16.c8", &specs[0], &err));
    assert_ok(carm_code_parse("A.scalar.dp.1:0.u8", &specs[1], &err));
    assert_ok(carm_image_open(&two, specs, 2, &err));
    struct carm_team *team = open_team(1, MIB, 64);
    const struct carm_code *codes[] = {&two->codes[0], &two->codes[1]};
    carm_measure_calibrate(team, &image->codes[EMPTY]);
    assert_int_equal(carm_measure_best(team, codes, 2, 8192, 8e-6, CARM_SEARCH_CORE, rates), 1);
    assert_true(rates[1] > rates[0] && rates[0] > 0.0);
    carm_image_close(two);
}

/* As many bytes are touched as are asked for, and no room is all of a buffer. */
TEST(threads_touch_their_memory)
{
    struct carm_team *team = open_team(1, 8 * MIB, 64);
    static const size_t bytes[] = {100, 3 * MIB, MIB, 5 * MIB + 1, 64 * MIB};
    static const size_t touched[] = {100, 3 * MIB, 3 * MIB, 5 * MIB + 1, 8 * MIB};
    for (size_t i = 0; i < 5; i++) {
        assert_true(carm_team_touch(team, bytes[i]));
        assert_int_equal(team->workers[0].buffer.touched, touched[i]);
    }
}

static struct {
    int node;             /* of pages; -1 = none, -2 = not known */
    int calls, elsewhere; /* a page at whose turn they are on node 5 */
} pages = {.node = -2};

/* In place of hwloc's. */
int hwloc_get_area_memlocation(hwloc_topology_t topology, const void *at, size_t bytes,
                               hwloc_bitmap_t set, int flags)
{
    const int node = ++pages.calls == pages.elsewhere ? 5 : pages.node;
    hwloc_bitmap_zero(set);
    return node == -2 ? -1 : node >= 0 ? hwloc_bitmap_set(set, (unsigned)node) : 0;
}

/* Pages of each thread are looked at; where the system does not say where they are, they pass. */
TEST(memory_lies_where_it_is_touched)
{
    const int threads = topo->pus < 2 ? 1 : 2, index = carm_topo_node_of(topo, topo->order[0]);
    const int here =
        index < 0 ? -1
                  : (int)hwloc_get_obj_by_type(topo->hwloc, HWLOC_OBJ_NUMANODE, (unsigned)index)
                        ->os_index;
    static const int nodes[] = {-2, -1, 0};
    for (int i = 0; i < 3; i++) {
        pages.node = nodes[i] < 0 ? nodes[i] : here;
        for (pages.elsewhere = 0; pages.elsewhere <= threads + 1; pages.elsewhere++) {
            struct carm_team *team = open_team(threads, MIB, 64);
            pages.calls = 0;
            if (pages.elsewhere == 0 || pages.elsewhere > threads || here < 0) {
                assert_ok(carm_team_touch_from(team, topo->order[0], MIB, &err));
                assert_int_equal(pages.calls, here < 0 ? 0 : threads);
            } else {
                assert_refused(carm_team_touch_from(team, topo->order[0], MIB, &err), -CARM_ENOTSUP,
                               "lies on another one");
            }
            close_opened();
        }
    }
    pages.node = -2;
    pages.elsewhere = 0;
}

TEST(another_core_touches_memory)
{
    struct carm_team *team = open_team(1, 4 * MIB, 64);
    assert_refused(carm_team_touch_from(team, 4000, 4 * MIB, &err), -CARM_ENOTSUP,
                   "cannot pin a thread to CPU 4000");
    assert_int_equal(team->workers[0].buffer.touched, 0);
    assert_ok(carm_team_touch_from(team, topo->order[topo->pus - 1], 4 * MIB, &err));
    assert_int_equal(team->workers[0].buffer.touched, 4 * MIB);
}

TEST(one_repetition_has_a_rate)
{
    const struct carm_measurement m = {.seconds = {.n = 1, .median = 2.0}};
    assert_near(carm_measure_rate(&m, 8.0), 4.0, 0.0);
}

static int threads_of_process(void)
{
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    while (readdir(tasks)) {
        n++;
    }
    (void)closedir(tasks);
    return n;
}

TEST(a_closed_team_has_no_threads)
{
    const int before = threads_of_process();
    for (int i = 0; i < 20; i++) {
        (void)open_team(topo->pus < 2 ? 1 : 2, MIB, 64);
        close_opened();
        /* pthread_join may return before the kernel has removed the thread from /proc */
        for (int k = 0; k < 1000 && threads_of_process() != before; k++) {
            (void)usleep(10000);
        }
        assert_int_equal(threads_of_process(), before);
    }
}

RUN_TESTS(set_up, NULL)
