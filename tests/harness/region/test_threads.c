/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Regions of many threads: nothing is lost when they run, end, exit, are cancelled or are left. */
#include <pthread.h>
#include <sched.h>

#include "tests/harness/region/fake.h"

enum { THREADS = 64, CALLS = 200 };

static pthread_barrier_t barrier;

static void *work(void *arg)
{
    const uint64_t i = (uint64_t)(uintptr_t)arg;
    char own[32];
    (void)snprintf(own, sizeof own, "own %d", (int)i);
    (void)pthread_barrier_wait(&barrier);
    for (int k = 0; k < CALLS; k++) {
        (void)carm_region_begin("shared");
        fake_work(i);
        (void)carm_region_begin(own);
        fake_work(1);
        (void)carm_region_end(own);
        (void)carm_region_end("shared");
    }
    (void)pthread_barrier_wait(&barrier);
    return NULL;
}

static int run_threads(bool flush)
{
    pthread_t threads[THREADS];
    expect(pthread_barrier_init(&barrier, NULL, THREADS + 1) == 0);
    for (uintptr_t i = 0; i < THREADS; i++) {
        expect(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    }
    (void)pthread_barrier_wait(&barrier);
    for (int k = 0; flush && k < 20; k++) {
        expect(carm_region_flush() == 0);
    }
    (void)pthread_barrier_wait(&barrier);
    for (int i = 0; i < THREADS; i++) {
        expect(pthread_join(threads[i], NULL) == 0);
    }
    expect(atomic_load(&fake_opened) == atomic_load(&fake_closed));
    return 0;
}

static int run_and_join(void)
{
    return run_threads(false);
}

static int run_and_flush(void)
{
    return run_threads(true);
}

TEST_OF_REGIONS(threads_are_summed)
{
    fake_run(FAKE_COUNTERS, run_and_join);
    assert_int_equal(csv.nrows, 1 + 1 + THREADS);
    assert_number("shared", "flops", CALLS * (THREADS * (THREADS - 1) / 2 + THREADS));
    assert_number("shared", "calls", CALLS * THREADS);
    assert_number("shared", "threads", THREADS);
    for (int i = 0; i < THREADS; i++) {
        char own[32];
        (void)snprintf(own, sizeof own, "own %d", i);
        assert_number(own, "flops", CALLS);
        assert_number(own, "threads", 1);
    }
    assert_string_equal(said, "");
}

/* The rows of one name over all flushes. */
static double sum_rows(const char *name, const char *column)
{
    double sum = 0.0;
    for (int nth = 0; csv_find(&csv, name, nth); nth++) {
        sum += strtod(field(name, nth, column), NULL);
    }
    return sum;
}

TEST_OF_REGIONS(flushes_meanwhile_lose_nothing)
{
    fake_run(FAKE_COUNTERS, run_and_flush);
    assert_true(sum_rows("shared", "flops") == CALLS * (THREADS * (THREADS - 1) / 2 + THREADS));
    assert_true(sum_rows("shared", "calls") == CALLS * THREADS);
    assert_true(sum_rows("own 7", "flops") == CALLS);
    assert_string_equal(said, "");
}

TEST_OF_REGIONS(each_thread_has_a_row)
{
    fake_by_thread = true;
    fake_run(FAKE_COUNTERS, run_and_join);
    fake_by_thread = false;
    assert_int_equal(csv.nrows, 1 + 2 * THREADS);
    assert_true(sum_rows("shared", "flops") == CALLS * (THREADS * (THREADS - 1) / 2 + THREADS));
    assert_true(sum_rows("shared", "threads") == THREADS);
    assert_non_null(strstr(field("own 3", 0, "note"), "thread "));
    assert_string_not_equal(field("shared", 0, "note"), field("shared", 1, "note"));
}

static void *be_short(void *arg)
{
    (void)carm_region_begin("short");
    fake_work((uint64_t)(uintptr_t)arg);
    (void)carm_region_end("short");
    return NULL;
}

static int thousand_threads(void)
{
    for (uintptr_t i = 0; i < 1000; i++) {
        pthread_t t;
        expect(pthread_create(&t, NULL, be_short, (void *)i) == 0);
        expect(pthread_join(t, NULL) == 0);
    }
    expect(carm_region_begin("main") == 0);
    fake_work(5);
    return carm_region_end("main");
}

TEST_OF_REGIONS(threads_that_ended_keep_their_counts)
{
    fake_run(FAKE_COUNTERS, thousand_threads);
    assert_number("short", "flops", 999 * 1000 / 2);
    assert_number("short", "threads", 1000);
    assert_number("main", "threads", 1);
}

static void *exit_inside(void *arg)
{
    (void)arg;
    (void)carm_region_begin("good");
    fake_work(10);
    (void)carm_region_end("good");
    (void)carm_region_begin("left");
    exit(0);
}

static int exit_from_a_thread(void)
{
    pthread_t t;
    expect(carm_region_begin("good") == 0);
    fake_work(1);
    expect(carm_region_end("good") == 0);
    expect(carm_region_begin("waiting") == 0);
    expect(pthread_create(&t, NULL, exit_inside, NULL) == 0);
    (void)pthread_join(t, NULL);
    return 1;
}

TEST_OF_REGIONS(exit_from_a_thread_writes_all)
{
    fake_run(FAKE_COUNTERS, exit_from_a_thread);
    assert_number("good", "flops", 11);
    assert_number("good", "threads", 2);
    assert_int_equal(count_lines(said, "region 'left' never ended on 1 thread:"), 1);
    assert_int_equal(count_lines(said, "region 'waiting' never ended on 1 thread:"), 1);
    assert_int_equal(count_lines(said, "\n"), 2);
}

static void *wait_for_the_end(void *arg)
{
    (void)carm_region_begin("good");
    fake_work(10);
    (void)carm_region_end("good");
    (void)carm_region_begin("cancelled");
    (void)pthread_barrier_wait(arg);
    for (;;) {
        pthread_testcancel();
        (void)sched_yield();
    }
    return NULL;
}

static int cancel(void)
{
    enum { N = 3 };
    pthread_t threads[N];
    expect(pthread_barrier_init(&barrier, NULL, N + 1) == 0);
    for (int i = 0; i < N; i++) {
        expect(pthread_create(&threads[i], NULL, wait_for_the_end, &barrier) == 0);
    }
    (void)pthread_barrier_wait(&barrier);
    for (int i = 0; i < N; i++) {
        expect(pthread_cancel(threads[i]) == 0);
        expect(pthread_join(threads[i], NULL) == 0);
    }
    expect(carm_region_flush() == 0);
    return 0;
}

TEST_OF_REGIONS(cancelled_threads_keep_their_counts)
{
    fake_run(FAKE_COUNTERS, cancel);
    assert_number("good", "flops", 30);
    assert_number("good", "threads", 3);
    assert_string_equal(
        said, "carm: region 'cancelled' never ended on 3 threads: that call is not counted\n");
}

static void *refuse_here(void *arg)
{
    fake_refuses = true;
    be_short(arg);
    return NULL;
}

static int one_thread_has_no_counters(void)
{
    pthread_t t;
    be_short((void *)1);
    expect(pthread_create(&t, NULL, refuse_here, (void *)2) == 0);
    return pthread_join(t, NULL);
}

TEST_OF_REGIONS(a_thread_without_counters_leaves_no_sum)
{
    fake_run(FAKE_COUNTERS, one_thread_has_no_counters);
    assert_empty("short", "flops");
    assert_number("short", "threads", 2);
    assert_string_equal(field("short", 0, "counted_by"), "unavailable: the fake counter refuses");
}

static void *fork_often(void *arg)
{
    for (int i = 0; i < 20; i++) {
        int status = -1;
        const pid_t pid = fork();
        if (pid == 0) {
            be_short((void *)1);
            _exit(carm_region_flush() !=
                  0); /* exit would look for leaks of threads that are gone */
        }
        if (waitpid(pid, &status, 0) != pid || status != 0) {
            return NULL;
        }
    }
    return arg;
}

static int fork_beside_threads(void)
{
    pthread_t forker;
    void *well = NULL;
    expect(pthread_create(&forker, NULL, fork_often, &barrier) == 0);
    const int rc = run_threads(false);
    expect(pthread_join(forker, &well) == 0 && well);
    return rc;
}

TEST_OF_REGIONS(forks_beside_threads_do_no_harm)
{
#ifdef __SANITIZE_ADDRESS__
    skip_if(true, "ASan's allocator may be locked in a child of many threads");
#endif
    fake_run(FAKE_COUNTERS, fork_beside_threads);
    assert_number("shared", "calls", CALLS * THREADS);
    assert_true(sum_rows("short", "flops") == 20);
    assert_false(csv_find(&csv, "shared", 1)); /* of the children none */
}
