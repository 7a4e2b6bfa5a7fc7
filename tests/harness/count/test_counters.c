/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's software events through the real PAPI: they need no counters, so start, read, stop,
 * threads, other processes and too many events are tried on every machine that lets them be counted. */
#define OWN_MAIN
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/harness/count/hand_recipe.h"
#include "tests/unit.h"

#define SOFTWARE CARM_EVENT_SOFTWARE

enum { CLOCK, FAULTS, SWITCHES, UNKNOWN, N };
static struct carm_event events[N] = {
    {"clock", "perf::TASK-CLOCK", "", 0, "", false, 1, SOFTWARE, 1.0},
    {"faults", "perf::PAGE-FAULTS", "", 0, "", false, 1, SOFTWARE, 1.0},
    {"switches", "perf::CONTEXT-SWITCHES", "", 0, "", false, 1, SOFTWARE, 1.0},
    {"unknown", "perf::NO-SUCH-EVENT", "", 0, "", false, 1, SOFTWARE, 1.0},
};
enum { PAGES = 512 };

static const struct carm_counter_target here = {.kind = CARM_TARGET_THREAD};
static struct carm_recipe recipe;
static struct carm_counters *counters;
static bool kernel; /* context switches may be counted */

static struct carm_counter_set *open_set(struct carm_counter_target target)
{
    struct carm_counter_set *s = NULL;
    assert_ok(carm_counter_set_open(&s, counters, target, CARM_GROUPS_ALL, &err));
    return s;
}

static double cpu_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void burn(double seconds)
{
    const double until = cpu_seconds() + seconds;
    while (cpu_seconds() < until) {
    }
}

static bool touch_pages(void)
{
    const size_t size = (size_t)PAGES * 4096;
    volatile char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        return false;
    }
    (void)madvise((void *)p, size, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < size; i += 4096) {
        p[i] = 1;
    }
    return munmap((void *)p, size) == 0;
}

static void nap(void)
{
    const struct timespec t = {.tv_nsec = 1000000};
    (void)nanosleep(&t, NULL);
}

TEST(known_work_is_counted)
{
    struct carm_reading readings[N];
    struct carm_counter_set *s = open_set(here);
    for (int round = 0; round < 2; round++) { /* from 0 at each start */
        const double before = cpu_seconds();
        assert_ok(carm_counter_set_start(s, &err));
        const double inside = cpu_seconds();
        burn(0.01);
        assert_true(touch_pages());
        for (int i = 0; i < 5; i++) {
            nap();
        }
        const double until = cpu_seconds();
        assert_ok(carm_counter_set_stop(s, readings, &err));
        const double after = cpu_seconds();
        assert_true(readings[CLOCK].present);
        assert_true(readings[CLOCK].enabled == 1.0 && readings[CLOCK].running == 1.0);
        /* the two clocks of the kernel differ by some microseconds at each change of tasks */
        assert_true(readings[CLOCK].count * 1e-9 > 0.5 * (until - inside));
        assert_true(readings[CLOCK].count * 1e-9 < 2.0 * (after - before));
        assert_true(readings[FAULTS].present && readings[FAULTS].count >= PAGES);
        assert_true(readings[FAULTS].count < 2 * PAGES);
        assert_int_equal(readings[SWITCHES].present, kernel);
        assert_true(!kernel || readings[SWITCHES].count >= 5);
        assert_false(readings[UNKNOWN].present);
    }
    carm_counter_set_close(s);
}

TEST(reads_never_fall)
{
    struct carm_reading last[N] = {{0}};
    struct carm_counter_set *s = open_set(here);
    assert_int_equal(carm_counter_set_read(s, last, &err), -CARM_EINVAL);
    assert_ok(carm_counter_set_start(s, &err));
    assert_int_equal(carm_counter_set_start(s, &err), -CARM_EINVAL);
    for (int i = 0; i < 1000; i++) {
        struct carm_reading now[N];
        assert_ok(carm_counter_set_read(s, now, &err));
        assert_true(now[CLOCK].count > last[CLOCK].count || i == 0);
        assert_true(now[FAULTS].count >= last[FAULTS].count);
        memcpy(last, now, sizeof last);
    }
    assert_ok(carm_counter_set_stop(s, NULL, &err));
    assert_int_equal(carm_counter_set_stop(s, NULL, &err), -CARM_EINVAL);
    carm_counter_set_close(s);
}

TEST(one_set_runs_on_a_thread)
{
    struct carm_counter_set *a = open_set(here);
    struct carm_counter_set *b = open_set(here);
    assert_ok(carm_counter_set_start(a, &err));
    assert_refused(carm_counter_set_start(b, &err), -CARM_ENOTSUP, "one set at a time on a thread");
    assert_ok(carm_counter_set_stop(a, NULL, &err));
    assert_ok(carm_counter_set_start(b, &err));
    carm_counter_set_close(a);
    carm_counter_set_close(b); /* runs */
}

struct worker {
    double seconds;         /* in: to burn */
    double counted, really; /* by the set and by the thread's own clock around it */
    bool good;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    struct carm_reading readings[N];
    struct carm_counter_set *s = NULL;
    const double before = cpu_seconds();
    if (carm_counter_set_open(&s, counters, here, 0, &err) == 0 &&
        carm_counter_set_start(s, &err) == 0) {
        burn(w->seconds);
        w->good = carm_counter_set_stop(s, readings, &err) == 0;
        w->really = cpu_seconds() - before;
        w->counted = readings[CLOCK].count * 1e-9;
    }
    carm_counter_set_close(s);
    return NULL;
}

TEST(threads_count_themselves)
{
    enum { THREADS = 8 };
    for (int round = 0; round < 4; round++) {
        pthread_t threads[THREADS];
        struct worker workers[THREADS];
        for (int i = 0; i < THREADS; i++) {
            workers[i] = (struct worker){.seconds = 0.001 * (i + 1)};
            assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            (void)pthread_join(threads[i], NULL);
        }
        for (int i = 0; i < THREADS; i++) {
            assert_true(workers[i].good);
            assert_true(workers[i].counted > 0.1 * workers[i].seconds);
            /* its own time and no other's: all together burn 36 times the first one's */
            assert_true(workers[i].counted < 2.0 * workers[i].really);
        }
    }
}

static void *burn_and_touch(void *arg)
{
    burn(0.02);
    return touch_pages() ? arg : NULL;
}

/* What a counted program does: three threads and a child with a child. */
static void run_program(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        if (pthread_create(&threads[i], NULL, burn_and_touch, NULL)) {
            _exit(1);
        }
    }
    for (int i = 0; i < 3; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    for (int depth = 0; depth < 2; depth++) {
        const pid_t pid = fork();
        if (pid) {
            (void)waitpid(pid, NULL, 0);
            _exit(pid < 0);
        }
        (void)burn_and_touch(NULL);
    }
    _exit(0);
}

TEST(a_program_is_counted_with_its_children)
{
    struct carm_reading readings[N];
    int gate[2];
    char byte = 0;
    int status = 0;
    assert_int_equal(pipe(gate), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (read(gate[0], &byte, 1) == 1) {
            run_program();
        }
        _exit(2);
    }
    const struct carm_counter_target target = {.kind = CARM_TARGET_PROCESS, .pid = pid};
    struct carm_counter_set *s = open_set(target);
    assert_ok(carm_counter_set_start(s, &err));
    assert_ok(carm_counter_set_read(s, readings, &err));
    assert_true(readings[CLOCK].count < 5e6);
    assert_int_equal(write(gate[1], &byte, 1), 1);
    burn(0.05); /* of ours, which must not count */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_ok(carm_counter_set_stop(s, readings, &err));
    /* 5 x 20 ms and 5 x PAGES, plus what starting threads and processes takes */
    assert_true(readings[CLOCK].present && readings[FAULTS].present);
    assert_true(readings[CLOCK].count * 1e-9 > 0.05);
    assert_true(readings[FAULTS].count >= 5 * PAGES);
    assert_true(readings[FAULTS].count < 10 * PAGES);
    assert_int_equal(readings[SWITCHES].present, kernel);
    /* started again: from 0, though children brought counts */
    assert_ok(carm_counter_set_start(s, &err));
    assert_ok(carm_counter_set_stop(s, readings, &err));
    assert_true(readings[CLOCK].present && readings[CLOCK].count == 0.0);
    assert_true(readings[FAULTS].present && readings[FAULTS].count == 0.0);
    carm_counter_set_close(s);
    (void)close(gate[0]);
    (void)close(gate[1]);
    /* one that is gone */
    assert_refused(carm_counter_set_open(&s, counters, target, CARM_GROUPS_ALL, &err),
                   -CARM_ENOTSUP, "process");
}

TEST(no_room_is_an_ordinary_error)
{
    struct rlimit limit;
    struct carm_counter_set *s = NULL;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    /* the next descriptor but one is the last */
    const int next = dup(0);
    assert_true(next >= 0);
    (void)close(next);
    const struct rlimit few = {.rlim_cur = (rlim_t)next + 1, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    const int rc = carm_counter_set_open(&s, counters, here, CARM_GROUPS_ALL, &err);
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    assert_int_equal(rc, -CARM_ENOTSUP);
    assert_non_null(strstr(err.text, "PAPI cannot count perf::"));
    assert_int_equal(dup(0), next); /* nothing was left open */
    (void)close(next);
    test_known_work_is_counted(NULL);
}

TEST(many_events_fit_or_are_refused)
{
    static const char *const names[] = {"TASK-CLOCK",       "CPU-CLOCK",    "PAGE-FAULTS",
                                        "CONTEXT-SWITCHES", "MINOR-FAULTS", "MAJOR-FAULTS",
                                        "CPU-MIGRATIONS"};
    static const char *const modes[] = {":u=1", ":k=1", ":u=1:k=1", ":u=0:k=1"};
    enum { MODES = 4, MANY = 7 * MODES };
    static struct carm_event many[MANY];
    struct carm_counters *c = NULL;
    struct carm_counter_set *s = NULL;
    struct carm_reading readings[MANY];
    skip_if(!kernel, "kernel.perf_event_paranoid forbids kernel mode");
    for (int i = 0; i < MANY; i++) {
        many[i] = events[CLOCK];
        (void)snprintf(many[i].papi, sizeof many[i].papi, "perf::%s%s", names[i / MODES],
                       modes[i % MODES]);
    }
    const struct carm_recipe r = hand_recipe(many, MANY, 6);
    assert_ok(carm_counters_open(&c, CARM_PROVIDER_PAPI, &r, &err));
    assert_ok(carm_counter_set_open(&s, c, here, CARM_GROUPS_ALL, &err));
    assert_ok(carm_counter_set_start(s, &err));
    assert_true(touch_pages());
    nap();
    assert_ok(carm_counter_set_stop(s, readings, &err));
    for (int i = 0; i < MANY; i++) {
        assert_true(readings[i].present);
    }
    assert_true(readings[0].count > 0.0);
    assert_true(readings[2 * MODES].count >= PAGES);   /* page faults in user mode */
    assert_true(readings[3 * MODES + 1].count >= 1.0); /* context switches in kernel mode */
    assert_true(readings[3 * MODES + 3].count >= 1.0);
    carm_counter_set_close(s);
    carm_counters_close(c);
    /* one twice: PAPI refuses it in one set */
    many[1] = many[0];
    assert_refused(carm_counters_open(&c, CARM_PROVIDER_PAPI, &r, &err), -CARM_ENOTSUP,
                   "one at a time, but not together");
}

TEST(the_processor_s_own_events_or_the_reason)
{
    struct carm_event own[] = {
        {"none", "nosuch::EVENT", "", 0, "", false, 1, CARM_EVENT_THREAD, 1.0},
        events[CLOCK],
    };
    const struct carm_recipe r = hand_recipe(own, 2, 4);
    struct carm_counters *c = NULL;
    struct carm_probe probe;
    assert_int_equal(carm_counters_open(&c, CARM_PROVIDER_PAPI, &r, &err), -CARM_ENOTSUP);
    carm_counters_probe(CARM_PROVIDER_PAPI, &r, NULL, &probe);
    assert_int_equal(probe.provider, CARM_PROVIDER_PAPI);
    assert_true(probe.software);
    assert_true(probe.version[0] >= '0' && probe.version[0] <= '9');
    print_message("papi %s: works %d, \"%s\"; \"%s\"; \"%s\"\n", probe.version, probe.works,
                  probe.reason, probe.remedy, probe.note);
    assert_int_equal(probe.works, probe.reason[0] == '\0');
    if (!probe.works) {
        assert_non_null(strstr(err.text, probe.reason));
        assert_non_null(strstr(err.text, probe.remedy));
    }
    carm_counters_probe(CARM_PROVIDER_PAPI, NULL, "family 99 is unknown", &probe);
    assert_false(probe.works);
    assert_string_equal(probe.reason, "family 99 is unknown");
    carm_counters_probe(CARM_PROVIDER_LIKWID, &r, NULL, &probe);
    assert_false(probe.works); /* the recipe has nothing for it */
    assert_true(probe.reason[0] != '\0');
    print_message("likwid %s: \"%s\"; \"%s\"\n", probe.version, probe.reason, probe.remedy);
    carm_counters_probe(CARM_PROVIDER_NONE, &r, NULL, &probe);
    assert_string_equal(probe.reason, "none has no counters");
}

TEST(names_and_their_inverse)
{
    enum carm_provider p = CARM_PROVIDER_NONE;
    for (int i = 0; i < CARM_PROVIDER_COUNT; i++) {
        const char *name = carm_provider_name((enum carm_provider)i);
        assert_ok(carm_provider_parse(name, &p, &err));
        assert_int_equal((int)p, i);
    }
    assert_int_equal(carm_provider_parse("perf", &p, &err), -CARM_EINVAL);
    assert_string_equal(
        err.text,
        "\"perf\" is not a counter back end: use auto, papi, likwid, step, translate or none");
}

int main(void)
{
    struct carm_pmu_facts facts;
    err = (struct carm_err){""};
    carm_pmu_facts_read(&facts, "");
    kernel = carm_pmu_may_count_kernel(&facts);
    recipe = hand_recipe(events, N, 4);
    if (carm_counters_open(&counters, CARM_PROVIDER_PAPI, &recipe, &err)) {
        printf("1..1\nok 1 # SKIP %s\n", err.text);
        return 0;
    }
    const int failed = run_suite(NULL, NULL);
    carm_counters_close(counters);
    return failed;
}
