/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which threads share cores in every round, and work that threads share. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "harness/machine/paired.h"
#include "harness/machine/share.h"
#include "tests/unit.h"

static void note(struct carm_paired *seen, int n, int rounds, bool own)
{
    for (int i = 0; i < rounds; i++) {
        carm_paired_note(seen, n, own);
    }
}

TEST(shared_in_every_round)
{
    struct carm_paired seen = {0};
    note(&seen, 16, 11, false);
    note(&seen, 8, 5, false); /* of others than the sixteen */
    assert_false(carm_paired_is(&seen, 16));
    note(&seen, 16, 1, false);
    assert_true(carm_paired_is(&seen, 16));
    /* fewer threads may have cores of their own */
    assert_false(carm_paired_is(&seen, 8));
    note(&seen, 8, 12, true);
    assert_true(carm_paired_is(&seen, 16));
}

TEST(some_rounds_of_their_own_are_enough)
{
    struct carm_paired seen = {0};
    note(&seen, 16, 20, false);
    note(&seen, 16, 1, true); /* a misread width */
    assert_true(carm_paired_is(&seen, 16));
    note(&seen, 16, 1, true);
    assert_false(carm_paired_is(&seen, 16));
    note(&seen, 16, 19, false); /* 39 for two */
    assert_false(carm_paired_is(&seen, 16));
    note(&seen, 16, 1, false);
    assert_true(carm_paired_is(&seen, 16));
}

TEST(two_threads_may_have_bad_luck)
{
    struct carm_paired seen = {0};
    note(&seen, 2, 100, false);
    assert_false(carm_paired_is(&seen, 2));
    note(&seen, 3, 100, false);
    assert_false(carm_paired_is(&seen, 3));
    note(&seen, 4, 12, false); /* four do not */
    assert_true(carm_paired_is(&seen, 4));
}

static atomic_int started, working, ended;
static pthread_t caller;
static int refused_from; /* thread that the system refuses to start; 0 = none */

/* In place of the library's. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *),
                   void *arg)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *const found = real ? NULL : dlsym(RTLD_NEXT, "pthread_create");
    if (found) {
        memcpy(&real, &found, sizeof real);
    }
    return ++started == refused_from ? EAGAIN : real(thread, attributes, work, arg);
}

/* Begins with the others, and ends after the caller's part. */
static void *work(void *arg)
{
    atomic_fetch_add(&working, 1);
    for (int i = 0; i < 5000 && atomic_load(&working) < *(const int *)arg; i++) {
        (void)usleep(1000);
    }
    (void)usleep(pthread_equal(pthread_self(), caller) ? 0 : 30000);
    atomic_fetch_add(&ended, 1);
    return NULL;
}

/* As many threads work as are asked for, one of them the caller, or as are to be had, and all have ended then. */
TEST(threads_share_work)
{
    static const struct {
        int n, refused, working;
    } rows[] = {{1, 0, 1}, {2, 0, 2}, {3, 0, 3}, {8, 0, 8},
                {9, 0, 8}, {5, 3, 3}, {5, 1, 1}, {0, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
        int wanted = rows[i].n                       ? rows[i].working
                     : processors < CARM_THREADS_MAX ? processors
                                                     : CARM_THREADS_MAX;
        started = working = ended = 0;
        caller = pthread_self();
        refused_from = rows[i].refused;
        carm_threads_share(rows[i].n, work, &wanted);
        assert_int_equal(ended, wanted);
        assert_int_equal(working, wanted);
    }
}

TEST(more_threads_are_seen_anew)
{
    struct carm_paired seen = {0};
    note(&seen, 8, 12, false);
    assert_true(carm_paired_is(&seen, 8));
    note(&seen, 16, 11, false);
    assert_false(carm_paired_is(&seen, 16));
    note(&seen, 16, 1, false);
    assert_true(carm_paired_is(&seen, 16));
}
