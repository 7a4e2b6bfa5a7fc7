/* SPDX-License-Identifier: GPL-3.0-or-later */
/* likwid's provider against a library that stands in for likwid, and the choice between providers. */
#define OWN_MAIN
#include <pthread.h>
#include <sched.h>

#include "tests/harness/count/hand_recipe.h"
#include "tests/unit.h"

#define THREAD   CARM_EVENT_THREAD
#define SOCKET   CARM_EVENT_SOCKET
#define SOFTWARE CARM_EVENT_SOFTWARE

/* clang-format off */
static struct carm_event events[] = {
    {"cycles", "", "F100", 0, "FIXC1", true, 1, THREAD, 1.0},
    {"a", "", "E1", 0, "", false, 1, THREAD, 1.0},
    {"flops", "", "E5", 0, "", false, 2, THREAD, 1.0},
    {"b", "", "E2", 0, "", false, 1, THREAD, 1.0},
    {"c", "", "E3", 0, "", false, 1, THREAD, 1.0},
    {"clock", "perf::TASK-CLOCK", "", 0, "", false, 1, SOFTWARE, 1.0},
    {"dram", "", "U8", 0, "MBOX%dC0", false, 1, SOCKET, 1.0},
    {"energy", "", "J2", 0, "PWR0", false, 1, SOCKET, 0x1p32},
};
/* clang-format on */
enum {
    N = sizeof events / sizeof *events,
    CYCLES = 0,
    A = 1,
    FLOPS = 2,
    B,
    C,
    CLOCK,
    DRAM,
    ENERGY
};

static struct fake_counters *fake;
static const struct carm_counter_target thread_target = {.kind = CARM_TARGET_THREAD};
static const struct carm_counter_target process = {.kind = CARM_TARGET_PROCESS, .pid = 1};
static const struct carm_counter_target sockets = {.kind = CARM_TARGET_SOCKETS};

static int reset(void **state)
{
    memset(fake, 0, sizeof *fake);
    fake->counters = 6;
    fake->units = 2;
    return 0;
}

static int affinity(cpu_set_t *set)
{
    CPU_ZERO(set);
    assert_int_equal(sched_getaffinity(0, sizeof *set, set), 0);
    return CPU_COUNT(set);
}

/* What all CPUs together count of one: likwid's thread t counts t + 1 times. */
static double all_cpus(void)
{
    cpu_set_t set;
    const int n = affinity(&set);
    return n * (n + 1) / 2.0;
}

TEST_BETWEEN(events_get_their_counters, reset, NULL)
{
    const struct carm_recipe r = hand_recipe(events, 6, 6);
    struct carm_counters *c = hand_open(CARM_PROVIDER_LIKWID, &r);
    assert_int_equal(carm_counters_groups(c), 1);
    assert_string_equal(fake->last_events, "E5:PMC0,MERGE:PMC1,F100:FIXC1,E1:PMC2,E2:PMC3,E3:PMC4");
    assert_int_equal(fake->mode, 0);
    assert_int_equal(fake->inits, 1);
    struct carm_counters *second = NULL;
    const struct carm_pmu_facts facts = hand_facts();
    assert_refused(carm_counters_open_with(&second, CARM_PROVIDER_LIKWID, &r, &facts, &err),
                   -CARM_ENOTSUP, "open already");
    carm_counters_close(c);
    assert_int_equal(fake->inits, 0);
}

TEST_BETWEEN(processes_are_all_cpus, reset, NULL)
{
    const struct carm_recipe r = hand_recipe(events, N, 6);
    struct carm_reading readings[N];
    struct carm_counters *c = hand_open(CARM_PROVIDER_LIKWID, &r);
    struct carm_counter_set *s = hand_open_set(c, process, CARM_GROUPS_ALL);
    for (int round = 0; round < 3; round++) {
        hand_count(fake, s, 10, readings);
        assert_true(readings[CYCLES].present && readings[CYCLES].count == 1000.0 * all_cpus());
        assert_true(readings[FLOPS].present && readings[FLOPS].count == 50.0 * all_cpus());
        assert_true(readings[B].count == 20.0 * all_cpus());
        assert_true(readings[B].enabled == readings[B].running);
        assert_false(readings[CLOCK].present || readings[DRAM].present);
    }
    assert_int_equal(fake->running, 0);
    carm_counter_set_close(s);
    carm_counters_close(c);
}

TEST_BETWEEN(sockets_count_units_and_joule, reset, NULL)
{
    const struct carm_recipe r = hand_recipe(events, N, 6);
    struct carm_reading readings[N];
    struct carm_counters *c = hand_open(CARM_PROVIDER_LIKWID, &r);
    struct carm_counter_set *s = hand_open_set(c, sockets, CARM_GROUPS_ALL);
    hand_count(fake, s, 10, readings);
    assert_true(readings[DRAM].present && readings[DRAM].count == 2 * 80.0 * all_cpus());
    /* recipes have perf's units of energy */
    assert_true(readings[ENERGY].count == 20.0 * all_cpus() * 4294967296.0);
    assert_false(readings[A].present);
    carm_counter_set_close(s);
    carm_counters_close(c);
}

TEST_BETWEEN(a_missing_event_is_not_present, reset, NULL)
{
    fake->missing = "E2";
    const struct carm_recipe r = hand_recipe(events, 6, 6);
    struct carm_reading readings[N];
    struct carm_counters *c = hand_open(CARM_PROVIDER_LIKWID, &r);
    struct carm_counter_set *s = hand_open_set(c, process, 0);
    hand_count(fake, s, 1, readings);
    assert_false(readings[B].present);
    assert_true(readings[C].present && readings[C].count == 3.0 * all_cpus());
    carm_counter_set_close(s);
    carm_counters_close(c);
}

TEST_BETWEEN(groups_take_turns, reset, NULL)
{
    const struct carm_recipe r = hand_recipe(events, 6, 3);
    struct carm_reading readings[N];
    struct carm_counters *c = hand_open(CARM_PROVIDER_LIKWID, &r);
    assert_int_equal(carm_counters_groups(c), 2);
    struct carm_counter_set *first = hand_open_set(c, process, 0);
    struct carm_counter_set *second = hand_open_set(c, process, 1);
    hand_count(fake, first, 10, readings);
    assert_true(readings[A].present && readings[FLOPS].present && !readings[B].present);
    hand_count(fake, second, 10, readings);
    assert_true(readings[B].count == 20.0 * all_cpus() && !readings[A].present);
    assert_int_equal(fake->setups, 2);
    assert_ok(carm_counter_set_start(first, &err));
    assert_refused(carm_counter_set_start(second, &err), -CARM_ENOTSUP, "one group at a time");
    carm_counter_set_close(second);
    carm_counter_set_close(first);
    assert_int_equal(fake->running, 0);
    carm_counters_close(c);
}

struct pinned {
    struct carm_counters *c;
    int cpu, index;
    bool good;
};

static void *count_pinned(void *arg)
{
    struct pinned *p = arg;
    struct carm_reading readings[N];
    struct carm_counter_set *s = NULL;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)p->cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0 &&
        carm_counter_set_open(&s, p->c, thread_target, 0, &err) == 0 &&
        carm_counter_set_start(s, &err) == 0) {
        fake->ticks += 10;
        p->good = carm_counter_set_read(s, readings, &err) == 0 &&
                  readings[C].count == 30.0 * (p->index + 1);
        fake->ticks += 10;
        p->good = p->good && carm_counter_set_stop(s, readings, &err) == 0 &&
                  readings[C].count == 60.0 * (p->index + 1);
    }
    carm_counter_set_close(s);
    return NULL;
}

TEST_BETWEEN(threads_must_be_pinned, reset, NULL)
{
    const struct carm_recipe r = hand_recipe(events, 6, 6);
    struct carm_counters *c = hand_open(CARM_PROVIDER_LIKWID, &r);
    struct carm_counter_set *s = NULL;
    cpu_set_t set;
    int index = 0;
    if (affinity(&set) > 1) {
        assert_refused(carm_counter_set_open(&s, c, thread_target, 0, &err), -CARM_ENOTSUP,
                       "pin the thread to one CPU");
    }
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &set)) {
            struct pinned p = {.c = c, .cpu = (int)cpu, .index = index++};
            pthread_t thread;
            assert_int_equal(pthread_create(&thread, NULL, count_pinned, &p), 0);
            (void)pthread_join(thread, NULL);
            assert_true(p.good);
        }
    }
    carm_counters_close(c);
}

static void check_refused(enum carm_provider p, const struct carm_pmu_facts *facts,
                          const char *text)
{
    const struct carm_recipe r = hand_recipe(events, 5, 6);
    err = (struct carm_err){""};
    struct carm_counters *c = NULL;
    assert_int_equal(carm_counters_open_with(&c, p, &r, facts, &err), -CARM_ENOTSUP);
    assert_null(c);
    fail_if(!strstr(err.text, text), "\"%s\" is not in \"%s\"", text, err.text);
}

TEST_BETWEEN(failures_are_explained, reset, NULL)
{
    struct carm_pmu_facts facts = hand_facts();
    fake->init = -5;
    fake->noise = "\nERROR: Cannot get access to MSRs\nand more\n";
    check_refused(CARM_PROVIDER_LIKWID, &facts,
                  "likwid cannot count here: ERROR: Cannot get access to MSRs; `likwid-perfctr");
    fake->noise = NULL;
    check_refused(CARM_PROVIDER_LIKWID, &facts, "perfmon_init failed");
    (void)reset(NULL);
    fake->missing = ":";
    check_refused(CARM_PROVIDER_LIKWID, &facts, "it refuses the events E5:PMC0,MERGE");
    assert_int_equal(fake->inits, 0); /* closed again */
    facts.msr_errno = 2;
    check_refused(CARM_PROVIDER_LIKWID, &facts, "the kernel module msr is not loaded; modprobe");
    assert_int_equal(fake->inits, 0); /* it may end the process: never called in vain */
}

TEST_BETWEEN(auto_takes_what_there_is, reset, NULL)
{
    struct carm_pmu_facts facts = hand_facts();
    struct carm_counters *c = NULL;
    const struct carm_recipe r = hand_recipe(events, 5, 6);
    char *path = strdup(getenv("CARM_PAPI_LIBRARY"));
    (void)setenv("CARM_PAPI_LIBRARY", "/nonexistent/libpapi.so", 1);
    assert_ok(carm_counters_open_with(&c, CARM_PROVIDER_AUTO, &r, &facts, &err));
    assert_int_equal(carm_counters_provider(c), CARM_PROVIDER_LIKWID);
    assert_ptr_equal(carm_counters_recipe(c), &r);
    carm_counters_close(c);
    facts.msr_errno = 2;
    check_refused(CARM_PROVIDER_AUTO, &facts, "PAPI cannot count here: ");
    check_refused(CARM_PROVIDER_AUTO, &facts, "; likwid cannot count here: /dev/cpu");
    (void)setenv("CARM_PAPI_LIBRARY", path, 1);
    free(path);
#if __has_include(<papi.h>)
    facts = hand_facts();
    facts.cpu_pmu = false;
    facts.hardware_errno = 2;
    (void)snprintf(facts.hypervisor, sizeof facts.hypervisor, "XenVMMXenVMM");
    check_refused(CARM_PROVIDER_AUTO, &facts,
                  "neither PAPI nor likwid can count here: the hypervisor (Xen) does not expose");
    struct carm_event both = events[A];
    (void)snprintf(both.papi, sizeof both.papi, "fake::E1");
    const struct carm_recipe one = hand_recipe(&both, 1, 6);
    facts = hand_facts();
    assert_ok(carm_counters_open_with(&c, CARM_PROVIDER_AUTO, &one, &facts, &err));
    assert_int_equal(carm_counters_provider(c), CARM_PROVIDER_PAPI);
    carm_counters_close(c);
#endif
    check_refused(CARM_PROVIDER_NONE, &facts, "none has no counters to open");
    check_refused(CARM_PROVIDER_STEP, &facts, "step has no counters to open");
}

int main(void)
{
    fake = hand_fake("CARM_LIKWID_LIBRARY", "liblikwid.so");
    if (!fake || !hand_fake("CARM_PAPI_LIBRARY", "libpapi.so")) {
        puts("1..1\nnot ok 1 - liblikwid.so and libpapi.so cannot be loaded");
        return 1;
    }
    return run_suite(NULL, NULL);
}
