/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory domains of a build: the matrix with measurements that are made up, pages on the one node that every machine
 * has, nodes of synthetic machines. */
#include "harness/machine/buffer.h"
#include "harness/machine/clock.h"
#include "tests/models/model_text.h"
#include "tests/topo.h"
#include "validation/roofs/numa.h"

enum { GB = 1 << 30 };

static const struct carm_numa_node nodes[] = {{0, 8, GB, ""}, {1, 8, GB, ""}, {2, 0, GB, "HBM"}};

static char words[128]; /* that were said */

static void say(const char *what)
{
    (void)snprintf(words + strlen(words), sizeof words - strlen(words), "%s;", what);
}

static struct {
    int calls;
    volatile sig_atomic_t *stop_at_third;
    int fail; /* of the second pair */
} fake;

static int measure(void *arg, const struct carm_numa_node *from, const struct carm_numa_node *to,
                   struct carm_numa_pair *p, struct carm_err *failure)
{
    fake.calls++;
    assert_ptr_equal(arg, &fake);
    assert_true((from == NULL) == (p->from < 0) && (to == NULL) == (p->to < 0));
    if (fake.calls == 2 && fake.fail) {
        return carm_fail(failure, CARM_ENOMEM, "planted");
    }
    if (fake.calls == 3 && fake.stop_at_third) {
        *fake.stop_at_third = 1;
    }
    p->threads = from ? from->cores : 16;
    if (to && to->cores == 0 && from->node == 1) {
        return 0; /* no time: no figure and no note */
    }
    /* less than one of each: what is more than none counts */
    p->seconds = p->from == 1 && p->to == 1 ? 1e-7 : 0.0;
    p->bandwidth = p->seconds > 0.0 ? 0.0 : 0.01 * (10 * (p->from + 2) + p->to + 1);
    return 0;
}

TEST(matrix_has_all_pairs)
{
    struct carm_model *m = empty_model();
    struct carm_observer observer = {.say = say};
    memset(&fake, 0, sizeof fake);
    *words = '\0';
    assert_ok(carm_build_fill_numa(m, nodes, 3, (struct carm_deadline){0}, &observer, measure,
                                   &fake, &err));
    assert_int_equal(fake.calls, 7);
    assert_int_equal(m->nnuma, 6); /* one had no figure */
    assert_int_equal(m->nnuma_nodes, 3);
    assert_true(carm_numa_find(m, 1, 0)->bandwidth == 0.31);
    assert_string_equal(words, "");
    assert_int_equal(carm_numa_find(m, -1, -1)->threads, 16);
    assert_null(carm_numa_find(m, 1, 2));
}

TEST(a_short_time_has_the_first_pairs)
{
    struct carm_model *m = empty_model();
    struct carm_observer observer = {.say = say};
    volatile sig_atomic_t over = 0;
    memset(&fake, 0, sizeof fake);
    *words = '\0';
    fake.stop_at_third = &over;
    assert_ok(carm_build_fill_numa(m, nodes, 3, (struct carm_deadline){.stop = &over}, &observer,
                                   measure, &fake, &err));
    assert_int_equal(m->nnuma, 3);
    assert_true(carm_numa_find(m, 0, 0) && carm_numa_find(m, 1, 1) && carm_numa_find(m, -1, -1));
    assert_string_equal(words, "memory domains: time for 3 of 7 pairs of nodes;");
    m = empty_model();
    assert_ok(carm_build_fill_numa(m, nodes, 3, (struct carm_deadline){.stop = &over}, &observer,
                                   measure, &fake, &err));
    assert_int_equal(m->nnuma_nodes, 0); /* no pair at all */
}

TEST(an_error_ends_it)
{
    struct carm_model *m = empty_model();
    struct carm_observer observer = {.say = say};
    memset(&fake, 0, sizeof fake);
    *words = '\0';
    fake.fail = 1;
    assert_int_equal(carm_build_fill_numa(m, nodes, 3, (struct carm_deadline){0}, &observer,
                                          measure, &fake, &err),
                     -CARM_ENOMEM);
    assert_string_equal(err.text, "planted");
    assert_string_equal(words, "");
    assert_int_equal(m->nnuma_nodes, 0);
}

/* Pages are where they were asked for, and are seen where they are not. */
TEST(pages_are_bound)
{
    struct carm_buffer b;
    const int here = 0;
    const int nowhere = 900;
    assert_ok(carm_buffer_open(&b, 4 << 20, &err));
    assert_true(carm_buffer_share_on(&b, 0) < 0.0); /* not touched */
    if (carm_buffer_bind(&b, &here, 1, &err)) {
        carm_buffer_close(&b);
        skip_if(true, "%s", err.text);
    }
    carm_buffer_touch(&b, 2 << 20);
    b.touched = 4 << 20; /* half of these pages are nowhere yet: they do not count */
    const double half = carm_buffer_share_on(&b, 0);
    assert_true(half < 0.0 || half == 1.0);
    b.touched = 2 << 20;
    carm_buffer_touch(&b, 4 << 20);
    const double share = carm_buffer_share_on(&b, 0);
    assert_true(share < 0.0 || share == 1.0); /* a sandbox may hide it */
    assert_true(share < 0.0 || carm_buffer_share_on(&b, 7) == 0.0);
    carm_buffer_close(&b);
    assert_ok(carm_buffer_open(&b, 2 << 20, &err));
    assert_refused(carm_buffer_bind(&b, &nowhere, 1, &err), -CARM_ENOTSUP,
                   "cannot ask for memory of NUMA node 900");
    carm_buffer_close(&b);
}

TEST(nodes_of_machines)
{
    struct carm_topo *t = topo_of("pack:2 [numa(memory=1GB)] l3:2(size=32MB) core:4 "
                                  "l2:1(size=1MB) l1:1(size=32KB) pu:2",
                                  NULL);
    struct carm_topo_memory m[8];
    assert_int_equal(carm_topo_memories(t, m, 8), 2);
    assert_true(m[1].node == 1 && m[1].cores == 8 && m[1].bytes > 0);
    assert_true(carm_topo_memory_has(t, 1, 16) && !carm_topo_memory_has(t, 0, 16));
    assert_true(carm_build_numa_seconds(t) == 2.0);
    t = topo_of("pack:2 [numa(memory=1GB)] [numa(memory=2GB)] core:1 pu:2", NULL);
    assert_true(carm_build_numa_seconds(t) == 4.0);     /* from two nodes to four */
    assert_int_equal(carm_build_instances(t, 0, 2), 1); /* no cache is known */
    t = topo_of("pack:8 [numa(memory=1GB)] core:64 pu:1", NULL);
    assert_true(carm_build_numa_seconds(t) == 10.0); /* bounded */
    t = topo_of("pack:1 [numa(memory=1GB)] core:4 pu:1", NULL);
    assert_true(carm_build_numa_seconds(t) == 0.0);
}
