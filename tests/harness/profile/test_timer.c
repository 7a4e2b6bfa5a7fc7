/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ring of the preloaded timer: a program that writes more than it holds, and slots that were never written. */
#define OWN_MAIN
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/profile/timer.h"
#include "tests/harness/profile/work.h"
#include "tests/unit.h"

struct seen {
    unsigned samples, maps, others, nowhere; /* nowhere: samples without a processor */
    uint32_t pid;
};

static void see(void *arg, const struct carm_record *record)
{
    struct seen *seen = arg;
    seen->samples += record->kind == CARM_RECORD_SAMPLE;
    seen->nowhere += record->kind == CARM_RECORD_SAMPLE &&
                     (record->cpu == 0 || record->cpu > (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
    seen->maps += record->kind == CARM_RECORD_MAP;
    seen->others += record->kind == CARM_RECORD_EXEC;
    seen->pid = record->pid;
}

TEST(a_full_ring_counts_what_is_lost)
{
    /* more than the program has libraries, fewer than these and its 50 samples (a tick of 4 ms) */
    enum { SLOTS = 32 };
    struct carm_timer *timer = NULL;
    struct seen seen = {0};
    char *argv[] = {(char *)"/proc/self/exe", (char *)"work", NULL};
    char *const *environment = NULL;
    pid_t pid = 0;
    int status = 0;
    assert_ok(carm_timer_open(&timer, 499, &err));
    struct carm_slots *slots = (struct carm_slots *)(uintptr_t)carm_timer_slots(timer);
    slots->n = SLOTS;
    environment = carm_timer_environment(timer);
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environment), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    if (!slots->attached) {
        carm_timer_close(timer);
        skip(); /* this program is static, or under a sanitizer that does not start with it */
    }
    assert_true(slots->lost > 0);
    assert_int_equal(slots->head, SLOTS);
    carm_timer_read(timer, true, see, &seen);
    assert_int_equal(seen.others, 1);
    assert_true(seen.maps > 2);
    assert_int_equal(seen.samples + seen.maps + seen.others, SLOTS);
    assert_int_equal(seen.pid, pid);
    assert_true(seen.samples > 0 && seen.nowhere == 0);
    carm_timer_close(timer);
}

TEST(a_slot_that_was_never_written_is_passed_over)
{
    struct carm_timer *timer = NULL;
    struct seen seen = {0};
    assert_ok(carm_timer_open(&timer, 499, &err));
    struct carm_slots *slots = (struct carm_slots *)(uintptr_t)carm_timer_slots(timer);
    slots->head = 3; /* the second writer was killed */
    slots->slots[0].ready = 1;
    slots->slots[2].ready = 3;
    carm_timer_read(timer, false, see, &seen);
    assert_int_equal(seen.samples, 1); /* it may come */
    for (int i = 0; i < 100; i++) {
        carm_timer_read(timer, false, see, &seen);
    }
    assert_int_equal(seen.samples, 2);
    assert_int_equal(slots->tail, 3);
    slots->head = 5;
    slots->slots[4].ready = 5;
    carm_timer_read(timer, true, see, &seen);
    assert_int_equal(seen.samples, 3);
    carm_timer_close(timer);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "work") == 0) {
        return work();
    }
    return run_suite(NULL, NULL);
}
