/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recipes made by hand for tests of the providers, and the libraries that stand in for theirs. */
#pragma once

#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include "harness/count/counters.h"
#include "tests/harness/count/fake_counters.h"
#include "tests/unit.h"

static inline struct carm_recipe hand_recipe(struct carm_event *events, size_t n, int counters)
{
    struct carm_recipe r;
    memset(&r, 0, sizeof r);
    (void)snprintf(r.name, sizeof r.name, "hand");
    (void)snprintf(r.title, sizeof r.title, "a processor made by hand");
    r.counters = counters;
    r.events = events;
    r.nevents = n;
    return r;
}

/* A machine on which everything is allowed. */
static inline struct carm_pmu_facts hand_facts(void)
{
    struct carm_pmu_facts f;
    memset(&f, 0, sizeof f);
    f.cpu_pmu = true;
    f.perf = true;
    return f;
}

/* Lets variable name the library file beside this test program. returns what steers it, NULL when it
 * is not there */
static inline struct fake_counters *hand_fake(const char *variable, const char *file)
{
    char path[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
    if (n <= 0) {
        return NULL;
    }
    path[n] = '\0';
    /* they are in the folder of the tests' programs, which this one is somewhere below */
    char *tests = strstr(path, "/tests/");
    if (!tests) {
        return NULL;
    }
    (void)snprintf(tests, 64, "/tests/%s", file);
    (void)setenv(variable, path, 1);
    void *handle = dlopen(path, RTLD_NOW);
    return handle ? dlsym(handle, "fake") : NULL;
}

static inline struct carm_counters *hand_open(enum carm_provider provider,
                                              const struct carm_recipe *r)
{
    const struct carm_pmu_facts facts = hand_facts();
    struct carm_counters *c = NULL;
    assert_ok(carm_counters_open_with(&c, provider, r, &facts, &err));
    return c;
}

static inline struct carm_counter_set *hand_open_set(struct carm_counters *c,
                                                     struct carm_counter_target target, int group)
{
    struct carm_counter_set *s = NULL;
    assert_ok(carm_counter_set_open(&s, c, target, group, &err));
    return s;
}

/* From start to stop so many ticks go by. */
static inline void hand_count(struct fake_counters *fake, struct carm_counter_set *s, long ticks,
                              struct carm_reading *readings)
{
    assert_ok(carm_counter_set_start(s, &err));
    fake->ticks += ticks;
    assert_ok(carm_counter_set_stop(s, readings, &err));
}
