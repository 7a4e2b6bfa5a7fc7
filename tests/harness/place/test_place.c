/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words for places on synthetic machines: what is kept, in which order, and how it is named. */
#include <sched.h>

#include "harness/place/place.h"
#include "tests/topo.h"

/* two sockets of two L3 of four cores of two hardware threads: CPUs 0 to 31 */
static const char two_sockets[] = "pack:2 [numa(memory=1GB)] l3:2(size=32MB) core:4 "
                                  "l2:1(size=1MB) l1:1(size=32KB) pu:2";

static struct carm_topo *open_on(const char *on)
{
    struct carm_topo *t = topo_of(two_sockets, NULL);
    assert_ok(carm_topo_on(t, on, &err));
    return t;
}

TEST(place_is_as_if_started_there)
{
    struct carm_topo *t = open_on("l3:2");
    const int want[] = {16, 18, 20, 22, 17, 19, 21, 23};
    assert_int_equal(t->pus, 8);
    assert_int_equal(t->cores, 4);
    assert_int_equal(t->packages, 1);
    assert_int_equal(t->nodes, 1);
    assert_int_equal(t->caches[2].instances, 1);
    assert_memory_equal(t->order, want, sizeof want);
    assert_string_equal(t->on, "l3:2");
}

TEST(sets_of_one_order)
{
    struct carm_topo *t = open_on(NULL);
    int threads[8];
    size_t n = 0;
    assert_ok(carm_topo_threads(t, "cores,1/l3,1,2/l3", threads, 8, &n, &err));
    const int counts[] = {1, 4, 8, 16};
    const int first[] = {0, 8, 16, 24};
    assert_int_equal(n, 4);
    assert_memory_equal(threads, counts, sizeof counts);
    assert_memory_equal(t->order, first, sizeof first);
    assert_string_equal(t->layout, "cores,1/l3,1,2/l3");
    for (int i = 0; i < t->pus; i++) { /* every hardware thread once */
        for (int k = 0; k < i; k++) {
            assert_int_not_equal(t->order[i], t->order[k]);
        }
    }
    /* the usual order has these sets: it stays */
    t = open_on(NULL);
    assert_ok(carm_topo_threads(t, "1,1/core,2/core,compact", threads, 8, &n, &err));
    assert_int_equal(n, 3);
    assert_int_equal(threads[1], 16);
    assert_int_equal(threads[2], 32);
    assert_string_equal(t->layout, "");
    assert_int_equal(t->order[1], 2);
    assert_int_equal(carm_topo_threads(t, "4,1/l3", threads, 8, &n, &err), -CARM_EINVAL);
    assert_int_equal(carm_topo_threads(t, "1,2,3", threads, 2, &n, &err), -CARM_EINVAL);
    assert_int_equal(carm_topo_threads(t, "spread", threads, 8, &n, &err), -CARM_EINVAL);
}

TEST(spread_goes_round_the_units)
{
    struct carm_topo *t = open_on(NULL);
    int threads[8];
    size_t n = 0;
    assert_ok(carm_topo_threads(t, "spread,2,8,all", threads, 8, &n, &err));
    const int want[] = {0, 16, 8, 24, 2, 18, 10, 26};
    assert_memory_equal(t->order, want, sizeof want);
}

TEST(names_are_words)
{
    static const struct {
        const char *on, *threads, *name;
    } cases[] = {
        {NULL, "1", "core:0"},
        {NULL, "4", "l3:0"},
        {NULL, "8", "socket:0"},
        {NULL, "cores", "machine"},
        {NULL, "all", "machine 2/core"},
        {NULL, "1/l3", "1/l3"},
        {NULL, "1/socket", "1/socket"},
        {NULL, "3", "cpu:0,2,4"},
        {"socket:1", "cores", "socket:1"},
        {"socket:1", "4", "l3:2"},
        {"core:5", "2/core", "core:5 2/core"},
        {"core:0,1", "2", "core:0,1"},
        {"cpu:16-23", "4", "l3:2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_topo *t = open_on(cases[i].on);
        char name[CARM_TOPO_PLACE_MAX];
        int threads = 0;
        size_t n = 0;
        assert_ok(carm_topo_threads(t, cases[i].threads, &threads, 1, &n, &err));
        assert_string_equal(carm_topo_name(t, threads, name), cases[i].name);
    }
}

TEST(this_machine_is_bound)
{
    struct carm_topo *t = topo_of(NULL, NULL);
    char on[32];
    const int cpu = t->order[t->pus - 1];
    snprintf(on, sizeof on, "cpu:%d", cpu);
    assert_ok(carm_topo_on(t, on, &err));
    skip_if(carm_topo_bind(t, &err), "%s", err.text);
    assert_int_equal(sched_getcpu(), cpu);
}
