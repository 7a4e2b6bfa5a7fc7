/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PAPI's provider against a library that stands in for PAPI: groups, conflicts, multiplexing, targets
 * and failures with known counts. */
#define OWN_MAIN
#include <dlfcn.h>
#include <pthread.h>

#include "tests/harness/count/hand_recipe.h"
#include "tests/unit.h"

#define THREAD   CARM_EVENT_THREAD
#define SOCKET   CARM_EVENT_SOCKET
#define SOFTWARE CARM_EVENT_SOFTWARE

/* clang-format off */
static struct carm_event events[] = {
    {"cycles", "fake::F100", "", 0, "", true, 1, THREAD, 1.0},
    {"a", "fake::E1", "", 0, "", false, 1, THREAD, 1.0},
    {"b", "fake::E2", "", 0, "", false, 1, THREAD, 1.0},
    {"c", "fake::E3", "", 0, "", false, 1, THREAD, 1.0},
    {"d", "fake::E4", "", 0, "", false, 1, THREAD, 1.0},
    {"e", "fake::E5", "", 0, "", false, 1, THREAD, 1.0},
    {"f", "fake::E6", "", 0, "", false, 1, THREAD, 1.0},
    {"clock", "perf::S7", "", 0, "", false, 1, SOFTWARE, 1.0},
    {"dram", "fake_imc%d::U8", "", 0, "", false, 1, SOCKET, 1.0},
};
/* clang-format on */
enum { N = sizeof events / sizeof *events, CYCLES = 0, A = 1, F = 6, CLOCK = 7, DRAM = 8 };
static const int weights[N] = {100, 1, 2, 3, 4, 5, 6, 7, 8};

static struct fake_counters *fake;
static const struct carm_counter_target here = {.kind = CARM_TARGET_THREAD};

static int reset(void **state)
{
    memset(fake, 0, sizeof *fake);
    fake->counters = 8;
    return 0;
}

/* An event that PAPI knows by the recipe's second name only. */
TEST_BETWEEN(another_name, reset, NULL)
{
    struct carm_event one[] = {{"a", "absent::E3", "", 0x1c7, "", false, 1, THREAD, 1.0}};
    struct carm_recipe r = hand_recipe(one, 1, 4);
    struct carm_reading reading;
    (void)snprintf(r.pfm, sizeof r.pfm, "absent");
    (void)snprintf(r.pfm_also, sizeof r.pfm_also, "fake");
    struct carm_counters *c = hand_open(CARM_PROVIDER_PAPI, &r);
    struct carm_counter_set *s = hand_open_set(c, here, 0);
    hand_count(fake, s, 10, &reading);
    assert_true(reading.present);
    assert_true(reading.count == 30.0);
    carm_counter_set_close(s);
    carm_counters_close(c);
}

/* Every thread event is in exactly one group, with its count. */
static void check_groups(struct carm_counters *c, size_t expected)
{
    int seen[N] = {0};
    assert_int_equal(carm_counters_groups(c), expected);
    for (size_t g = 0; g < expected; g++) {
        struct carm_reading readings[N];
        struct carm_counter_set *s = hand_open_set(c, here, (int)g);
        hand_count(fake, s, 10, readings);
        int slots = 0;
        for (size_t i = 0; i < N; i++) {
            if (readings[i].present) {
                seen[i]++;
                slots += i >= A && i <= F;
                assert_true(readings[i].count == 10.0 * weights[i]);
                assert_true(readings[i].enabled == readings[i].running);
            }
        }
        assert_true(slots <= fake->counters);
        carm_counter_set_close(s);
    }
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(seen[i], i != DRAM);
    }
}

TEST_BETWEEN(eight_counters_hold_all, reset, NULL)
{
    const struct carm_recipe r = hand_recipe(events, N, 8);
    struct carm_counters *c = hand_open(CARM_PROVIDER_PAPI, &r);
    check_groups(c, 1);
    carm_counters_close(c);
    assert_int_equal(fake->sets_open, 0);
}

TEST_BETWEEN(four_counters_need_two_groups, reset, NULL)
{
    fake->counters = 4;
    const struct carm_recipe r = hand_recipe(events, N, 4);
    struct carm_counters *c = hand_open(CARM_PROVIDER_PAPI, &r);
    check_groups(c, 2);
    carm_counters_close(c);
    assert_int_equal(fake->sets_open, 0);
}

TEST_BETWEEN(conflicts_make_smaller_groups, reset, NULL)
{
    const struct carm_recipe r = hand_recipe(events, N, 8);
    for (int at_start = 0; at_start < 2; at_start++) {
        for (int free = 1; free < 6; free++) {
            (void)reset(NULL);
            fake->counters = free;
            fake->conflict_at_start = at_start == 1;
            struct carm_counters *c = hand_open(CARM_PROVIDER_PAPI, &r);
            check_groups(c, (size_t)((6 + free - 1) / free));
            carm_counters_close(c);
            assert_int_equal(fake->sets_open, 0);
        }
    }
}

TEST_BETWEEN(merged_events_take_pairs, reset, NULL)
{
    struct carm_event wide[] = {
        {"a", "fake::W1", "", 0, "", false, 2, THREAD, 1.0},
        {"b", "fake::E2", "", 0, "", false, 1, THREAD, 1.0},
        {"c", "fake::W3", "", 0, "", false, 2, THREAD, 1.0},
        {"d", "fake::W4", "", 0, "", false, 2, THREAD, 1.0},
    };
    static const struct {
        int counters;
        size_t groups;
    } cases[] = {{8, 1}, {7, 1}, {6, 2}, {5, 2}, {4, 2}, {3, 3}, {2, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct carm_recipe r = hand_recipe(wide, 4, cases[i].counters);
        struct carm_counters *c = hand_open(CARM_PROVIDER_PAPI, &r);
        assert_int_equal(carm_counters_groups(c), cases[i].groups);
        carm_counters_close(c);
    }
    /* one counter: only the plain one is left, the merged ones cannot be had */
    const struct carm_recipe r = hand_recipe(wide, 4, 1);
    struct carm_counters *c = hand_open(CARM_PROVIDER_PAPI, &r);
    struct carm_reading readings[4];
    struct carm_counter_set *s = hand_open_set(c, here, CARM_GROUPS_ALL);
    hand_count(fake, s, 5, readings);
    assert_false(readings[0].present);
    assert_true(readings[1].present && readings[1].count == 10.0);
    carm_counter_set_close(s);
    carm_counters_close(c);
}

TEST_BETWEEN(a_missing_event_is_not_present, reset, NULL)
{
    fake->missing = "E3";
    const struct carm_recipe r = hand_recipe(events, N, 8);
    struct carm_counters *c = hand_open(CARM_PROVIDER_PAPI, &r);
    struct carm_reading readings[N];
    struct carm_counter_set *s = hand_open_set(c, here, CARM_GROUPS_ALL);
    hand_count(fake, s, 3, readings);
    assert_false(readings[3].present);
    assert_true(readings[4].present && readings[4].count == 12.0);
    carm_counter_set_close(s);
    carm_counters_close(c);
}

static void check_refused(const struct carm_recipe *r, const struct carm_pmu_facts *facts,
                          const char *text)
{
    err = (struct carm_err){""};
    struct carm_counters *c = NULL;
    assert_int_equal(carm_counters_open_with(&c, CARM_PROVIDER_PAPI, r, facts, &err),
                     -CARM_ENOTSUP);
    assert_null(c);
    fail_if(!strstr(err.text, text), "\"%s\" is not in \"%s\"", text, err.text);
}

TEST_BETWEEN(failures_are_explained, reset, NULL)
{
    const struct carm_recipe r = hand_recipe(events, N, 8);
    struct carm_pmu_facts facts = hand_facts();
    fake->missing = "fake::";
    check_refused(&r, &facts,
                  "none of the events of a processor made by hand can be counted "
                  "(fake::F100: fake error -7)");
    facts.cpu_pmu = false;
    facts.hardware_errno = 2;
    (void)snprintf(facts.hypervisor, sizeof facts.hypervisor, "KVMKVMKVM");
    check_refused(&r, &facts, "PAPI cannot count here: the hypervisor (KVM) does not expose");
    check_refused(&r, &facts, "; choose a metal");
    fake->init = -1; /* PAPI_EINVAL */
    check_refused(&r, &facts, "the library found is another version; build carm again");
    fake->init = 0x05070000;
    check_refused(&r, &facts, "another version");
    fake->init = -3;
    check_refused(&r, &facts, "PAPI_library_init failed: fake error -3");
    assert_int_equal(fake->sets_open, 0);
    char *path = strdup(getenv("CARM_PAPI_LIBRARY"));
    (void)setenv("CARM_PAPI_LIBRARY", "/nonexistent/libpapi.so", 1);
    check_refused(&r, &facts, "PAPI cannot be loaded (/nonexistent/libpapi.so: cannot open");
    check_refused(&r, &facts, "; install PAPI");
    /* the usual library is not loaded where the kernel has told the reason */
    (void)unsetenv("CARM_PAPI_LIBRARY");
    check_refused(&r, &facts, "PAPI cannot count here: the hypervisor (KVM) does not expose");
    assert_null(dlopen("libpapi.so.7.0", RTLD_LAZY | RTLD_NOLOAD));
    (void)setenv("CARM_PAPI_LIBRARY", path, 1);
    free(path);
}

TEST_BETWEEN(too_many_events_are_refused, reset, NULL)
{
    /* the same event twice is what PAPI never puts into one set */
    struct carm_event twice[] = {{"a", "perf::S1", "", 0, "", false, 1, SOFTWARE, 1.0},
                                 {"b", "perf::S1", "", 0, "", false, 1, SOFTWARE, 1.0}};
    const struct carm_pmu_facts facts = hand_facts();
    const struct carm_recipe r = hand_recipe(twice, 2, 4);
    check_refused(&r, &facts,
                  "one at a time, but not together: fake error -8; stop other programs");
}

TEST_BETWEEN(multiplexing_is_undone_by_scaling, reset, NULL)
{
    fake->counters = 4;
    const struct carm_recipe r = hand_recipe(events, N, 4);
    struct carm_counters *c = hand_open(CARM_PROVIDER_PAPI, &r);
    struct carm_counter_set *s = hand_open_set(c, here, CARM_GROUPS_ALL);
    assert_int_equal(fake->multiplexed, 1);
    for (int never = 0; never < 2; never++) {
        struct carm_reading readings[N];
        fake->never_ran = never == 1;
        hand_count(fake, s, 1000, readings);
        for (size_t i = CYCLES; i <= F; i++) {
            assert_int_equal(readings[i].present, !never);
            if (!never) {
                assert_true(fabs(readings[i].running / readings[i].enabled - 4.0 / 6.0) < 1e-12);
                assert_true(fabs(readings[i].count * readings[i].enabled / readings[i].running -
                                 1000.0 * weights[i]) < 1e-6);
            }
        }
        assert_true(readings[CLOCK].present && readings[CLOCK].count == 7000.0);
        assert_true(readings[CLOCK].running == readings[CLOCK].enabled);
    }
    carm_counter_set_close(s);
    carm_counters_close(c);
}

TEST_BETWEEN(processes_are_attached_with_children, reset, NULL)
{
    const struct carm_recipe r = hand_recipe(events, N, 8);
    const struct carm_counter_target other = {.kind = CARM_TARGET_PROCESS, .pid = 4711};
    struct carm_counters *c = hand_open(CARM_PROVIDER_PAPI, &r);
    struct carm_counter_set *s = hand_open_set(c, other, CARM_GROUPS_ALL);
    assert_int_equal(fake->attached, 4711);
    assert_int_equal(fake->inherited, 1);
    carm_counter_set_close(s);
    fake->attach = -15;
    assert_refused(carm_counter_set_open(&s, c, other, CARM_GROUPS_ALL, &err), -CARM_ENOTSUP,
                   "PAPI cannot attach to process 4711: fake error -15; count a "
                   "program of your own, or as root");
    carm_counters_close(c);
    assert_int_equal(fake->sets_open, 0);
}

TEST_BETWEEN(sockets_sum_over_units, reset, NULL)
{
    const struct carm_counter_target sockets = {.kind = CARM_TARGET_SOCKETS};
    const struct carm_recipe r = hand_recipe(events, N, 8);
    struct carm_reading one[N];
    struct carm_reading three[N];
    struct carm_counters *c = hand_open(CARM_PROVIDER_PAPI, &r);
    struct carm_counter_set *s = NULL;
    assert_refused(carm_counter_set_open(&s, c, sockets, CARM_GROUPS_ALL, &err), -CARM_ENOTSUP,
                   "No uncore PMUs found");
    assert_int_equal(carm_counter_set_open(&s, c, sockets, 0, &err), -CARM_EINVAL);
    fake->units = 1;
    s = hand_open_set(c, sockets, CARM_GROUPS_ALL);
    hand_count(fake, s, 10, one);
    carm_counter_set_close(s);
    fake->units = 3;
    s = hand_open_set(c, sockets, CARM_GROUPS_ALL);
    hand_count(fake, s, 10, three);
    carm_counter_set_close(s);
    assert_true(one[DRAM].present && three[DRAM].present && !three[A].present);
    /* times the sockets of this machine */
    assert_true(one[DRAM].count >= 80.0 && fmod(one[DRAM].count, 80.0) == 0.0);
    assert_true(three[DRAM].count == 3.0 * one[DRAM].count);
    fake->missing = "U8";
    assert_refused(carm_counter_set_open(&s, c, sockets, CARM_GROUPS_ALL, &err), -CARM_ENOTSUP,
                   "count fake_imc0::U8:cpu=0: fake error -7");
    carm_counters_close(c);
    assert_int_equal(fake->sets_open, 0);
}

TEST_BETWEEN(wrong_order_is_refused, reset, NULL)
{
    const struct carm_recipe r = hand_recipe(events, N, 8);
    struct carm_reading readings[N];
    struct carm_counters *c = hand_open(CARM_PROVIDER_PAPI, &r);
    struct carm_counter_set *s = hand_open_set(c, here, 0);
    assert_int_equal(carm_counter_set_read(s, readings, &err), -CARM_EINVAL);
    assert_refused(carm_counter_set_stop(s, readings, &err), -CARM_EINVAL, "start them first");
    assert_ok(carm_counter_set_start(s, &err));
    assert_refused(carm_counter_set_start(s, &err), -CARM_EINVAL, "stop them first");
    fake->ticks += 4;
    assert_ok(carm_counter_set_read(s, readings, &err));
    assert_true(readings[A].count == 4.0);
    assert_ok(carm_counter_set_stop(s, NULL, &err));
    hand_count(fake, s, 2, readings); /* from 0 again */
    assert_true(readings[A].count == 2.0);
    assert_ok(carm_counter_set_start(s, &err));
    carm_counter_set_close(s); /* a running one */
    assert_int_equal(carm_counter_set_open(&s, c, here, 1, &err), -CARM_EINVAL);
    carm_counters_close(c);
    carm_counters_close(NULL);
    carm_counter_set_close(NULL);
    assert_int_equal(fake->sets_open, 0);
}

static void *use_a_set(void *arg)
{
    struct carm_counter_set *a = NULL;
    struct carm_counter_set *b = NULL;
    if (carm_counter_set_open(&a, arg, here, 0, &err) == 0 &&
        carm_counter_set_open(&b, arg, here, 0, &err) == 0) {
        carm_counter_set_close(a);
        carm_counter_set_close(b);
        return arg;
    }
    return NULL;
}

TEST_BETWEEN(ended_threads_are_forgotten, reset, NULL)
{
    const struct carm_recipe r = hand_recipe(events, N, 8);
    struct carm_counters *c = hand_open(CARM_PROVIDER_PAPI, &r);
    for (int i = 1; i <= 3; i++) {
        pthread_t thread;
        void *result = NULL;
        assert_int_equal(pthread_create(&thread, NULL, use_a_set, c), 0);
        (void)pthread_join(thread, &result);
        assert_ptr_equal(result, c);
        assert_int_equal(fake->unregistered, i); /* with its last set, not with each */
    }
    carm_counters_close(c);
}

int main(void)
{
#if !__has_include(<papi.h>)
    /* the stand-in needs PAPI's types */
    puts("1..1\nok 1 # SKIP papi.h is not here: apt install libpapi-dev");
    return 0;
#endif
    fake = hand_fake("CARM_PAPI_LIBRARY", "libpapi.so");
    if (!fake) {
        puts("1..1\nnot ok 1 - libpapi.so cannot be loaded");
        return 1;
    }
    return run_suite(NULL, NULL);
}
