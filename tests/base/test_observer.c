/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who watches long work: what it is shown, how the rest is estimated, and how it stops the work. */
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/observer.h"
#include "tests/unit.h"

static struct {
    char what[256];
    double done, left;
    int calls, ends;
} seen;
static char said[600];

static void show(const char *what, double done, double left_seconds)
{
    if (!what) {
        seen.ends++;
        return;
    }
    snprintf(seen.what, sizeof seen.what, "%s", what);
    seen.done = done;
    seen.left = left_seconds;
    seen.calls++;
}

static void say(const char *text)
{
    snprintf(said, sizeof said, "%s", text);
}

TEST(steps_are_shown)
{
    struct carm_observer o = {.show = show};
    memset(&seen, 0, sizeof seen);
    carm_observer_begin(&o, 10.0);
    carm_observer_step(&o, "%d of %s", 1, "two");
    assert_string_equal(seen.what, "1 of two");
    assert_true(seen.done == 0.0 && seen.left == 10.0);
    carm_observer_advance(&o, 0.5); /* too little to correct the estimate by */
    carm_observer_step(&o, "on");
    assert_true(seen.done == 0.05 && seen.left == 9.5);
    carm_observer_advance(&o, 20.0); /* slower than estimated */
    carm_observer_step(&o, "still on");
    assert_true(seen.done == 1.0 && seen.left == 0.0);
    assert_int_equal(seen.calls, 3);
    assert_int_equal(seen.ends, 0);
    assert_true(carm_observer_end(&o) >= 0.0);
    assert_int_equal(seen.ends, 1);
}

/* Where the work went faster than estimated, so will the rest. */
TEST(the_pace_corrects_the_estimate)
{
    struct carm_observer o = {.show = show};
    carm_observer_begin(&o, 1000.0);
    carm_observer_advance(&o, 900.0);
    carm_observer_step(&o, "on");
    assert_true(seen.done == 0.9);
    assert_true(seen.left < 100.0);
}

TEST(nobody_watches)
{
    struct carm_observer o = {0};
    carm_observer_begin(&o, 0.0);
    carm_observer_step(&o, "a step");
    carm_observer_say(&o, "a word");
    assert_false(carm_observer_stopped(&o));
    assert_ok(carm_observer_check(&o, &err));
    assert_true(carm_observer_end(&o) >= 0.0);
}

TEST(the_user_stops_it)
{
    volatile sig_atomic_t stop = 0;
    const struct carm_observer o = {.say = say, .stop = &stop};
    carm_observer_say(&o, "rank %d waits", 3);
    assert_string_equal(said, "rank 3 waits");
    assert_ok(carm_observer_check(&o, &err));
    stop = 1;
    assert_true(carm_observer_stopped(&o));
    assert_int_equal(carm_observer_check(&o, &err), -CARM_EINTR);
    assert_string_equal(err.text, "interrupted");
}

/* A process that gets the first signal, waits, and gets the second. returns how it ended: a signal, or 0 */
static int ended_by(int first, int second, long wait_ns)
{
    int status = 0;
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const struct timespec wait = {0, wait_ns};
        (void)signal(SIGINT, SIG_DFL);
        (void)signal(SIGTERM, SIG_DFL);
        carm_interrupt_watch();
        raise(first);
        if (!carm_interrupted) {
            _exit(3);
        }
        nanosleep(&wait, NULL);
        raise(second);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* The first signal lets the work end in order, the second Ctrl-C ends it at once. */
TEST(the_second_interrupt_ends)
{
    assert_int_equal(ended_by(SIGINT, SIGINT, 200000000), SIGINT);
    assert_int_equal(ended_by(SIGTERM, SIGINT, 200000000), SIGINT);
    assert_int_equal(ended_by(SIGINT, SIGTERM, 200000000), 0);
    assert_int_equal(ended_by(SIGTERM, SIGTERM, 200000000), 0);
}
