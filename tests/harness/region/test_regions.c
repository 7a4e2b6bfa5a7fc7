/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Regions: every good call is in its row, once, and every bad one is named. */
#include <pthread.h>
#include <signal.h>

#include "tests/harness/region/fake.h"

static int call(const char *name, uint64_t work)
{
    const int rc = carm_region_begin(name);
    fake_work(work);
    return rc + carm_region_end(name);
}

static int nest(void)
{
    for (int i = 0; i < 3; i++) {
        expect(carm_region_begin("outer") == 0);
        fake_work(10);
        expect(call("inner", 5) == 0);
        expect(call("inner", 6) == 0);
        expect(carm_region_end("outer") == 0);
    }
    fake_work(1000); /* in no region */
    return 0;
}

TEST_OF_REGIONS(inner_regions_count_for_outer_ones)
{
    fake_run(FAKE_COUNTERS, nest);
    assert_int_equal(csv.nrows, 3);
    assert_number("outer", "flops", 63);
    assert_number("outer", "bytes", 504);
    assert_number("outer", "calls", 3);
    assert_number("outer", "threads", 1);
    assert_number("outer", "share", 1);
    assert_string_equal(field("outer", 0, "counted_by"), "pmu");
    assert_number("inner", "flops", 33);
    assert_number("inner", "calls", 6);
    assert_true(strtod(field("outer", 0, "seconds"), NULL) >=
                strtod(field("inner", 0, "seconds"), NULL));
    assert_string_equal(said, "");
}

static int recurse(void)
{
    enum { DEEP = 1000 };
    for (int i = 0; i < DEEP; i++) { /* directly: no room is needed */
        expect(carm_region_begin("r") == 0);
        fake_work(1);
    }
    for (int i = 0; i < DEEP; i++) {
        expect(carm_region_end("r") == 0);
    }
    expect(carm_region_begin("a") == 0); /* through another */
    expect(carm_region_begin("b") == 0);
    expect(call("a", 7) == 0);
    expect(carm_region_end("b") == 0);
    fake_work(1);
    expect(carm_region_end("a") == 0);
    return 0;
}

TEST_OF_REGIONS(recursion_counts_once)
{
    fake_run(FAKE_COUNTERS, recurse);
    assert_number("r", "flops", 1000);
    assert_number("r", "calls", 1);
    assert_number("a", "flops", 8);
    assert_number("a", "calls", 1);
    assert_number("b", "flops", 7);
    assert_string_equal(said, "");
}

static int too_deep(void)
{
    enum { DEEP = CARM_REGION_DEPTH_MAX + 20 };
    char name[32];
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < DEEP; i++) {
            (void)snprintf(name, sizeof name, "level %d", i);
            expect(carm_region_begin(name) == (i < CARM_REGION_DEPTH_MAX ? 0 : -1));
            fake_work(1);
        }
        for (int i = DEEP - 1; i >= 0; i--) {
            (void)snprintf(name, sizeof name, "level %d", i);
            expect(carm_region_end(name) == (i < CARM_REGION_DEPTH_MAX ? 0 : -1));
        }
    }
    return call("after", 3);
}

TEST_OF_REGIONS(deeper_than_the_stack_is_said)
{
    fake_run(FAKE_COUNTERS, too_deep);
    assert_int_equal(csv.nrows, 1 + CARM_REGION_DEPTH_MAX + 1);
    assert_number("level 0", "flops", 2 * (CARM_REGION_DEPTH_MAX + 20));
    assert_number("level 63", "flops", 2 * 21);
    assert_number("after", "flops", 3);
    assert_int_equal(count_lines(said, "'level 64' is ignored: regions nest at most 64 deep"), 1);
    assert_int_equal(count_lines(said, "\n"), 20);
}

static int unbalance(void)
{
    expect(carm_region_end("never begun") == -1);
    for (int i = 0; i < 5; i++) {
        expect(call("good", 10) == 0);
        expect(carm_region_end("good") == -1); /* a second end */
        expect(carm_region_begin("outer") == 0);
        expect(carm_region_begin("forgotten") == 0);
        fake_work(1);
        expect(carm_region_end("outer") == 0);
        expect(carm_region_begin("x") == 0);
        expect(carm_region_end("y") == -1);
        expect(carm_region_end("x") == 0);
    }
    return 0;
}

TEST_OF_REGIONS(unbalanced_regions_are_named_once)
{
    fake_run(FAKE_COUNTERS, unbalance);
    assert_int_equal(csv.nrows, 4);
    assert_number("good", "flops", 50);
    assert_number("good", "calls", 5);
    assert_number("outer", "flops", 5);
    assert_number("x", "calls", 5);
    assert_int_equal(count_lines(said, "region 'never begun' ended without a begin"), 1);
    assert_int_equal(count_lines(said, "region 'good' ended without a begin"), 1);
    assert_int_equal(count_lines(said, "region 'y' ended without a begin"), 1);
    assert_int_equal(
        count_lines(said, "region 'forgotten' was still open where 'outer' around it ended"), 1);
    assert_int_equal(count_lines(said, "\n"), 4);
}

static char long_name[200];

static int odd_names(void)
{
    memset(long_name, 'n', sizeof long_name - 1);
    expect(carm_region_begin(NULL) == -1);
    expect(carm_region_end(NULL) == -1);
    expect(carm_region_begin("") == -1);
    expect(carm_region_end("") == -1);
    expect(call(long_name, 1) == -2);
    expect(call(long_name, 1) == -2);
    expect(call(long_name + sizeof long_name - 1 - CARM_REGION_NAME_MAX, 2) == 0);
    expect(call("a,b", 3) == 0);
    expect(call("say \"hi\"", 4) == 0);
    expect(call("two\nlines\033[2J", 5) == 0);
    expect(carm_region_end("bad\n\033[2J") == -1);
    return 0;
}

TEST_OF_REGIONS(odd_names_are_kept_or_refused)
{
    fake_run(FAKE_COUNTERS, odd_names);
    memset(long_name, 'n', CARM_REGION_NAME_MAX);
    assert_int_equal(csv.nrows, 5);
    assert_number(long_name, "flops", 2);
    assert_number("a,b", "flops", 3);
    assert_number("say \"hi\"", "flops", 4);
    assert_number("two?lines?[2J", "flops", 5);
    assert_int_equal(count_lines(said, "a region without a name"), 1);
    assert_int_equal(count_lines(said, "a name has at most 127 bytes"), 1);
    assert_int_equal(count_lines(said, "'bad??[2J'"), 1);
    assert_int_equal(count_lines(said, "\n"), 3);
}

/* One buffer for all names: the address alone says nothing. */
static int many_names(void)
{
    char name[32];
    for (int turn = 0; turn < 2; turn++) {
        for (uint64_t i = 0; i < 10000; i++) {
            (void)snprintf(name, sizeof name, "region %d", (int)i);
            expect(call(name, i) == 0);
        }
    }
    return 0;
}

TEST_OF_REGIONS(ten_thousand_names)
{
    fake_run(FAKE_COUNTERS, many_names);
    assert_int_equal(csv.nrows, 10001);
    for (int i = 0; i < 10000; i++) { /* in the order of their first use */
        char name[32];
        (void)snprintf(name, sizeof name, "region %d", i);
        assert_string_equal(csv.rows[i + 1].fields[0], name);
        assert_int_equal(atoi(csv.rows[i + 1].fields[1]), 2 * i);
    }
    assert_string_equal(said, "");
}

static int leave_open(void)
{
    expect(call("good", 10) == 0);
    expect(carm_region_begin("open") == 0);
    expect(call("good", 10) == 0);
    fake_work(5);
    return 0;
}

TEST_OF_REGIONS(regions_that_never_end_are_named)
{
    fake_run(FAKE_COUNTERS, leave_open);
    assert_int_equal(csv.nrows, 2);
    assert_number("good", "flops", 20);
    assert_string_equal(said,
                        "carm: region 'open' never ended on 1 thread: that call is not counted\n");
}

static int refuse_counters(void)
{
    fake_refuses = true;
    return call("r", 10);
}

TEST_OF_REGIONS(without_counters_there_is_time)
{
    fake_run(FAKE_COUNTERS, refuse_counters);
    assert_empty("r", "flops");
    assert_empty("r", "share");
    assert_true(strtod(field("r", 0, "seconds"), NULL) > 0.0);
    assert_string_equal(field("r", 0, "counted_by"), "unavailable: the fake counter refuses");
    fake_run(FAKE_TIME, nest);
    assert_string_equal(field("inner", 0, "counted_by"), "unavailable: time alone");
    assert_true(strtod(field("inner", 0, "seconds"), NULL) > 0.0);
}

static int miss_a_read(void)
{
    expect(call("r", 10) == 0);
    fake_unreadable = true;
    expect(call("r", 10) == 0);
    fake_unreadable = false;
    return call("s", 10);
}

TEST_OF_REGIONS(a_missed_read_is_no_zero)
{
    fake_run(FAKE_COUNTERS, miss_a_read);
    assert_empty("r", "flops");
    assert_non_null(strstr(field("r", 0, "note"), "could not be read"));
    assert_number("s", "flops", 10);
}

static int multiplex(void)
{
    fake_running = 0.25;
    expect(call("m", 100) == 0);
    return call("m", 300);
}

static int multiplex_by_share(void)
{
    fake_constant = true;
    return multiplex();
}

TEST_OF_REGIONS(multiplexed_counts_are_scaled_and_marked)
{
    fake_run(FAKE_COUNTERS, multiplex);
    assert_number("m", "flops", 400);
    assert_number("m", "share", 0.25);
    assert_non_null(strstr(field("m", 0, "note"), "25%"));
    assert_int_equal(unlink(fake_out), 0);
    fake_run(FAKE_COUNTERS, multiplex_by_share);
    assert_number("m", "flops", 400);
    assert_number("m", "share", 0.25);
}

static int flush_twice(void)
{
    expect(carm_region_flush() == 0);
    expect(call("a", 1) == 0);
    expect(carm_region_begin("open") == 0);
    expect(call("b", 2) == 0);
    expect(carm_region_flush() == 0);
    expect(carm_region_flush() == 0);
    expect(call("a", 10) == 0);
    fake_work(100);
    expect(carm_region_end("open") == 0);
    expect(carm_region_flush() == 0);
    expect(call("a", 1000) == 0);
    _exit(0); /* what was not flushed is lost */
}

TEST_OF_REGIONS(a_flush_has_what_came_since)
{
    fake_run(FAKE_COUNTERS, flush_twice);
    assert_int_equal(csv.nrows, 5);
    assert_string_equal(field("a", 0, "flops"), "1");
    assert_string_equal(field("a", 1, "flops"), "10");
    assert_number("b", "flops", 2);
    assert_number("open", "flops", 112);
    assert_string_equal(said, "");
}

static char moved[128];

static int flush_later(void)
{
    expect(call("a", 1) == 0);
    expect(rename(fake_dir, moved) == 0);
    expect(carm_region_flush() == -1);
    expect(call("a", 2) == 0);
    expect(rename(moved, fake_dir) == 0);
    return 0;
}

TEST_OF_REGIONS(rows_wait_until_they_can_be_written)
{
    (void)snprintf(moved, sizeof moved, "%s-moved", fake_dir);
    fake_run(FAKE_COUNTERS, flush_later);
    assert_int_equal(csv.nrows, 2);
    assert_number("a", "flops", 3);
    assert_int_equal(count_lines(said, "rows are kept for later: "), 1);
    assert_int_equal(count_lines(said, "\n"), 1);
}

static void *end_before_the_fork(void *arg)
{
    (void)call("ended", 5);
    return arg;
}

static int fork_inside(void)
{
    int status = -1;
    pthread_t t;
    expect(pthread_create(&t, NULL, end_before_the_fork, NULL) == 0);
    expect(pthread_join(t, NULL) == 0);
    expect(call("both", 1) == 0);
    expect(carm_region_begin("outer") == 0);
    fake_work(10);
    const pid_t pid = fork();
    if (pid == 0) {
        expect(call("both", 20) == 0);
        fake_work(40);
        expect(carm_region_end("outer") == 0); /* the parent's */
        expect(call("outer", 80) == 0);        /* its own */
        exit(0);
    }
    expect(waitpid(pid, &status, 0) == pid && status == 0);
    expect(carm_region_end("outer") == 0);
    return call("both", 2);
}

TEST_OF_REGIONS(a_child_has_its_own_rows)
{
    fake_run(FAKE_COUNTERS, fork_inside);
    assert_int_equal(csv.nrows, 6); /* the child's come first: it ended first */
    assert_number("ended", "flops", 5);
    assert_string_equal(field("ended", 0, "pid"), field("both", 1, "pid"));
    assert_string_equal(field("both", 0, "flops"), "20");
    assert_string_equal(field("outer", 0, "flops"), "80");
    assert_string_equal(field("both", 1, "flops"), "3");
    assert_string_equal(field("outer", 1, "flops"), "10");
    assert_string_not_equal(field("both", 0, "pid"), field("both", 1, "pid"));
    assert_string_equal(field("both", 0, "pid"), field("outer", 0, "pid"));
    assert_string_equal(said, "");
    assert_int_equal(unlink(fake_out), 0);
    fake_run(FAKE_STEPS, fork_inside); /* the fork is in a stepped call */
    assert_string_equal(field("both", 0, "flops"), "20");
    assert_string_equal(field("outer", 0, "flops"), "80");
    assert_string_equal(field("outer", 1, "flops"), "10");
}

static void on_signal(int signo)
{
    (void)signo;
    (void)call("handler", 1);
}

static int handle_signals(void)
{
    expect(call("handler", 0) == 0); /* the handler must not be the first: that takes memory */
    expect(signal(SIGUSR1, on_signal) != SIG_ERR);
    for (int i = 0; i < 100; i++) {
        expect(carm_region_begin("main") == 0);
        expect(raise(SIGUSR1) == 0);
        expect(carm_region_end("main") == 0);
    }
    return 0;
}

TEST_OF_REGIONS(handlers_have_regions)
{
    fake_run(FAKE_COUNTERS, handle_signals);
    assert_number("main", "flops", 100);
    assert_number("handler", "flops", 100);
    assert_string_equal(said, "");
}
