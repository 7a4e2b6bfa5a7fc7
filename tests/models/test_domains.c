/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory domains of a model: the order of measuring, the sentences, the file. */
#include "models/latency.h"
#include "tests/models/model_text.h"

enum { GB = 1 << 30 };

/* Two domains of 14 cores, HBM beside each, one with CXL memory alone. */
static struct carm_numa_node nodes[] = {
    {0, 14, GB, ""}, {1, 14, GB, ""}, {2, 0, GB, "HBM"}, {4, 0, GB, "CXL-DRAM"}};
enum { NODES = sizeof nodes / sizeof *nodes };

TEST(telling_pairs_first)
{
    static const int expected[][2] = {{0, 0}, {1, 1}, {-1, -1}, {0, 2}, {0, 4},
                                      {1, 2}, {1, 4}, {0, 1},   {1, 0}};
    struct carm_numa_pair pairs[NODES * NODES + 1];
    assert_int_equal(carm_numa_plan(nodes, NODES, pairs), 9);
    for (size_t i = 0; i < 9; i++) {
        assert_int_equal(pairs[i].from, expected[i][0]);
        assert_int_equal(pairs[i].to, expected[i][1]);
    }
    /* the far ends of a row of eight sockets come last */
    struct carm_numa_node eight[8];
    struct carm_numa_pair more[65];
    for (int i = 0; i < 8; i++) {
        eight[i] = (struct carm_numa_node){.node = i, .cores = 1, .memory_bytes = GB};
    }
    assert_int_equal(carm_numa_plan(eight, 8, more), 65);
    assert_true(more[63].from == 0 && more[63].to == 7 && more[64].from == 7 && more[64].to == 0);
    /* one node with cores: nothing to interleave over */
    assert_int_equal(carm_numa_plan(&nodes[1], 3, pairs), 3);
}

static double own = 100e9; /* of the second domain */

static size_t put(struct carm_numa_pair *pairs)
{
    const size_t n = carm_numa_plan(nodes, NODES, pairs);
    for (size_t i = 0; i < n; i++) {
        struct carm_numa_pair *p = &pairs[i];
        p->threads = p->from < 0 ? 28 : 14;
        p->bandwidth = p->from < 0        ? 190e9
                       : p->to == 2       ? 300e9
                       : p->to == 4       ? 25e9
                       : p->from != p->to ? 60e9
                       : p->from == 1     ? own
                                          : 100e9;
        p->bandwidth_ci95 = (struct carm_ci){0.99 * p->bandwidth, 1.01 * p->bandwidth};
        p->seconds = p->from < 0 ? 0.0 : p->to == 4 ? 250e-9 : p->from == p->to ? 90e-9 : 140e-9;
        p->seconds_ci95 = (struct carm_ci){p->seconds, p->seconds};
    }
    return n;
}

TEST(sentences)
{
    struct carm_numa_pair pairs[NODES * NODES + 1];
    char lines[8][CARM_NUMA_LINE];
    struct carm_model m = {.numa_nodes = nodes, .nnuma_nodes = NODES, .numa = pairs};
    assert_int_equal(carm_numa_say(&m, lines, 8), 0); /* one node: nothing was measured */
    m.nnuma = put(pairs);
    assert_int_equal(carm_numa_say(&m, lines, 8), 5);
    assert_string_equal(lines[0], "a domain's own memory: 100.0 GB/s, 90 ns");
    assert_string_equal(lines[1], "another domain's memory: 60.00 GB/s, 140 ns");
    assert_string_equal(lines[2], "numa:2, memory only, HBM: 300.0 GB/s, 140 ns");
    assert_string_equal(lines[3], "numa:4, memory only, CXL-DRAM: 25.00 GB/s, 250 ns");
    assert_string_equal(lines[4], "pages interleaved, all cores: 190.0 GB/s");
    own = 80e9;
    m.nnuma = put(pairs);
    assert_int_equal(carm_numa_say(&m, lines, 8), 6);
    assert_string_equal(lines[0], "a domain's own memory: 80.00 GB/s to 100.0 GB/s, 90 ns");
    assert_string_equal(lines[2], "numa:1 is slower than a like domain: 80.00 GB/s of 100.0 GB/s "
                                  "from its own memory");
    /* within the noise of a shared figure, a tenth; beyond it */
    static const double near[] = {95e9, 91e9, 89e9};
    for (int i = 0; i < 3; i++) {
        own = near[i];
        m.nnuma = put(pairs);
        assert_int_equal(carm_numa_say(&m, lines, 8), i == 2 ? 6 : 5);
    }
    /* latencies alone; a range of both */
    own = 100e9;
    m.nnuma = put(pairs);
    for (size_t i = 0; i < m.nnuma; i++) {
        pairs[i].seconds *= pairs[i].from == 1 ? 1.5 : 1.0;
        pairs[i].bandwidth *= pairs[i].from != pairs[i].to ? 0.0 : pairs[i].from == 1 ? 0.95 : 1.0;
    }
    assert_int_equal(carm_numa_say(&m, lines, 8), 5);
    assert_string_equal(lines[0], "a domain's own memory: 95.00 GB/s to 100.0 GB/s, 90 to 135 ns");
    assert_string_equal(lines[1], "another domain's memory: bandwidth not known, 140 to 210 ns");
    assert_string_equal(lines[3],
                        "numa:4, memory only, CXL-DRAM: bandwidth not known, 250 to 375 ns");
    char name[40];
    carm_numa_name(name, &(struct carm_numa_pair){.from = 0, .to = 0});
    assert_string_equal(name, "numa:0 memory");
    carm_numa_name(name, &(struct carm_numa_pair){.from = 0, .to = 2});
    assert_string_equal(name, "numa:0 to numa:2");
    carm_numa_name(name, &(struct carm_numa_pair){.from = -1, .to = -1});
    assert_string_equal(name, "interleaved");
    own = 80e9;
    m.nnuma = put(pairs);
    pairs[1].disturbed = true; /* accuses nobody */
    assert_int_equal(carm_numa_say(&m, lines, 8), 5);
    nodes[1].cores = 12; /* another kind of domain */
    m.nnuma = put(pairs);
    assert_int_equal(carm_numa_say(&m, lines, 8), 5);
    nodes[1].cores = 14;
    own = 100e9;
    assert_int_equal(carm_numa_say(&m, lines, 2), 2);
}

/* The roofs of pages elsewhere: those of the sets whose threads are on one node, by the pair's ratio. */
TEST(pages_elsewhere)
{
    struct carm_numa_pair pairs[NODES * NODES + 1];
    struct carm_memory_roof memory[2][2];
    struct carm_roofs roofs[2];
    struct carm_latency latency = {.level = "DRAM", .seconds = 90e-9};
    for (int remote = 0; remote < 2; remote++) {
        struct carm_model m = {.numa_nodes = nodes,
                               .nnuma_nodes = NODES,
                               .numa = pairs,
                               .roofs = roofs,
                               .nroofs = 2,
                               .latency = &latency,
                               .nlatency = 1};
        m.nnuma = put(pairs);
        for (int i = 0; i < 2; i++) {
            memory[i][1] = (struct carm_memory_roof){.level = "L1", .bandwidth = 200e9};
            memory[i][0] = (struct carm_memory_roof){
                .level = "DRAM", .bandwidth = 50e9, .bytes_per_cycle = 10, .ci95 = {49e9, 51e9}};
            roofs[i] = (struct carm_roofs){.threads = i ? 28 : 14,
                                           .memory = memory[i],
                                           .nmemory = 2,
                                           .dram_peak = {.bandwidth = 95e9}};
        }
        latency.seconds = 90e-9;
        assert_ok(carm_numa_use(&m, remote ? "numa:1" : "interleaved", &err));
        assert_near(memory[0][1].bandwidth, 200e9, 0.0);
        assert_near(memory[0][0].bytes_per_cycle, remote ? 6 : 10, 1e-9);
        assert_near(memory[0][0].bandwidth, remote ? 30e9 : 50e9, 1.0); /* 60 of 100 GB/s */
        assert_near(memory[0][0].ci95.hi, remote ? 30.6e9 : 51e9, 1.0);
        assert_near(memory[1][0].bandwidth, remote ? 50e9 : 100e9, 1.0); /* 190 of 95 GB/s */
        assert_near(roofs[1].dram_peak.bandwidth, remote ? 95e9 : 190e9, 1.0);
        assert_near(latency.seconds, remote ? 140e-9 : 90e-9, 1e-12);
        assert_string_equal(
            m.changed,
            remote
                ? "DRAM roofs of up to 14 threads are those from numa:0 to the memory of numa:1: 0.60 times the bandwidth of its own, latency 1.56 times"
                : "DRAM roofs of 28 threads are those of pages interleaved over all nodes");
        (void)snprintf(m.machine.on, sizeof m.machine.on, "numa:1");
        assert_ok(carm_numa_use(&m, "numa:4", &err));
        assert_non_null(strstr(m.changed, "from numa:1 to the memory of numa:4: 0.25 times"));
        for (int own_one = 0; own_one < 2; own_one++) { /* one of both latencies is not known */
            pairs[own_one ? 1 : 6].seconds = 0;
            assert_ok(carm_numa_use(&m, "numa:4", &err));
            assert_non_null(strstr(m.changed, "latency not known"));
            pairs[own_one ? 1 : 6].seconds = own_one ? 90e-9 : 250e-9;
        }
        assert_refused(carm_numa_use(&m, "numa:7", &err), -CARM_ENOTSUP,
                       "no bandwidth to numa:7; it has numa:0 to numa:0, ");
        assert_non_null(strstr(err.text, "numa:1 to"));
        for (size_t i = 0; i < m.nnuma; i++) { /* latencies alone were measured */
            pairs[i].bandwidth *= pairs[i].from != 1;
        }
        (void)carm_numa_use(&m, "numa:7", &err);
        assert_null(strstr(err.text, "numa:1 to"));
        static const char *const bad[] = {"node1", "numa.1", "numa:", "numa:x", "numa:1x"};
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            assert_refused(carm_numa_use(&m, bad[i], &err), -CARM_EINVAL,
                           "write numa:1 or interleaved");
        }
        m.nnuma = m.nnuma_nodes = 0;
        assert_refused(carm_numa_use(&m, "numa:1", &err), -CARM_ENOTSUP, "several NUMA nodes");
        assert_refused(carm_numa_use(&m, "interleaved", &err), -CARM_ENOTSUP, "several NUMA nodes");
    }
}

TEST(file)
{
    struct carm_numa_pair pairs[NODES * NODES + 1];
    struct carm_model m = least_model(28);
    m.numa_nodes = nodes;
    m.nnuma_nodes = NODES;
    m.numa = pairs;
    m.nnuma = put(pairs);
    struct carm_model *back = there_and_back(&m);
    assert_int_equal(back->nnuma_nodes, NODES);
    assert_string_equal(back->numa_nodes[3].kind, "CXL-DRAM");
    assert_true(carm_numa_find(back, 1, 4)->seconds == 250e-9);
    assert_true(carm_numa_find(back, -1, -1)->bandwidth == 190e9);
    assert_null(carm_numa_find(back, 2, 0));
    pairs[0].from = -2;
    refuse_model(&m, "m.json: numa[0].from is -2, outside -1..");
    pairs[0].from = 0;
    pairs[0].bandwidth = pairs[0].seconds = 0.0;
    pairs[0].bandwidth_ci95 = pairs[0].seconds_ci95 = (struct carm_ci){0.0, 0.0};
    refuse_model(&m, "m.json: numa[0].note is empty");
}
