/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the two models say of a point, by hand: attainable performance, the original model's
 * bandwidths and the bytes that it counts; the application classes of Ilic et al. 2014, Table 2. */
#include "models/roofline.h"
#include "tests/unit.h"

enum { L1, L2, L3, DRAM }; /* homes; the links into L2, L3 and DRAM have the same numbers */

TEST(the_slope_then_the_peak)
{
    /* 32 byte and 8 flop a nanosecond: the ridge is at 1/4 */
    assert_near(carm_roofline_eval(0x1p-8, 32e9, 8e9), 125e6, 0.0);
    assert_near(carm_roofline_eval(0.125, 32e9, 8e9), 4e9, 0.0);
    assert_near(carm_roofline_eval(0.25, 32e9, 8e9), 8e9, 0.0);
    assert_near(carm_roofline_eval(0.5, 32e9, 8e9), 8e9, 0.0);
    assert_near(carm_roofline_eval(64.0, 32e9, 8e9), 8e9, 0.0);
}

TEST(operations_are_found_by_name)
{
    struct carm_compute_roof compute[] = {{.op = "fma", .rate = 1.0}, {.op = "mad", .rate = 2.0}};
    const struct carm_roofs roofs = {.compute = compute, .ncompute = 2};
    const struct carm_roofs none = {.compute = NULL};
    assert_ptr_equal(carm_roofs_find_compute(&roofs, "fma"), &compute[0]);
    assert_ptr_equal(carm_roofs_find_compute(&roofs, "mad"), &compute[1]);
    assert_null(carm_roofs_find_compute(&roofs, "ma"));
    assert_null(carm_roofs_find_compute(&none, "fma"));
    struct carm_compute_roof mixed[] = {{.op = "fma+add", .rate = 3.0}, {.op = "fma", .rate = 2.0}};
    const struct carm_roofs both = {.compute = mixed, .ncompute = 2};
    assert_ptr_equal(carm_roofs_find_peak(&both), &mixed[0]);
    assert_ptr_equal(carm_roofs_find_plain_peak(&both), &mixed[1]);
    assert_null(carm_roofs_find_plain_peak(&none));
}

TEST(bandwidth_is_the_best_of_certain_streams)
{
    /* Plain stores move up to twice what the core writes, how often nobody knows without counters;
     * non-temporal ones do not enter a cache. Both are fastest here, and neither may be taken. */
    struct carm_memory_roof memory[] = {
        {.level = "L2", .ldst = "2:1", .bandwidth = 70e9, .code = "mix"},
        {.level = "L2", .ldst = "0:1", .bandwidth = 90e9, .code = "stores"},
        {.level = "L2", .ldst = "nt", .bandwidth = 95e9, .code = "nt"},
        {.level = "L2", .ldst = "1:0", .bandwidth = 50e9, .code = "loads"},
        {.level = "L2", .ldst = "update", .bandwidth = 60e9, .code = "update"},
        {.level = "L2", .ldst = "2:1update", .bandwidth = 65e9, .code = "update by"},
        {.level = "L3", .ldst = "1:0", .bandwidth = 30e9, .code = "loads"},
        {.level = "L3", .ldst = "update", .bandwidth = 20e9, .code = "update"},
        {.level = "L4", .ldst = "2:1", .bandwidth = 25e9, .code = "mix"},
        {.level = "L5", .ldst = "update", .bandwidth = 15e9, .code = "update"},
        {.level = "DRAM", .ldst = "1:0", .bandwidth = 12e9, .code = "loads"},
    };
    struct carm_roofs roofs = {.memory = memory,
                               .nmemory = sizeof memory / sizeof *memory,
                               .dram_peak = {.bandwidth = 11e9, .code = "peak"}};
    const char *code = NULL;
    assert_near(carm_original_bandwidth(&roofs, "L2", false, &code), 65e9, 0.0);
    assert_string_equal(code, "update by");
    assert_near(carm_original_bandwidth(&roofs, "L3", false, &code), 30e9, 0.0);
    assert_string_equal(code, "loads");
    assert_near(carm_original_bandwidth(&roofs, "L5", false, &code), 15e9, 0.0);
    assert_string_equal(code, "update");
    /* memory: what the best of all streams gave, although a single roof is above it */
    assert_near(carm_original_bandwidth(&roofs, "DRAM", true, &code), 11e9, 0.0);
    assert_string_equal(code, "peak");
    assert_near(carm_original_bandwidth(&roofs, "L2", false, NULL), 65e9, 0.0);
    /* none */
    assert_near(carm_original_bandwidth(&roofs, "L4", false, &code), 0.0, 0.0);
    assert_string_equal(code, "");
    assert_near(carm_original_bandwidth(&roofs, "L1", false, &code), 0.0, 0.0);
    roofs.dram_peak = (struct carm_dram_peak){.bandwidth = 0.0};
    assert_near(carm_original_bandwidth(&roofs, "DRAM", true, &code), 0.0, 0.0);
    assert_string_equal(code, "");
}

/* 3000 bytes that the core loads and stores, of a set of 64 MiB passed once in 1024 repetitions. */
static struct carm_stream stream(double loads, double stores)
{
    const double all = loads + stores;
    return (struct carm_stream){.load_bytes = 3000.0 * loads / all,
                                .store_bytes = 3000.0 * stores / all,
                                .set_bytes = 64.0 * 1024 * 1024,
                                .repetitions = 1024};
}

TEST(a_stream_from_memory_crosses_every_link)
{
    for (size_t link = 1; link <= DRAM; link++) {
        struct carm_stream s = stream(2, 1);
        /* filled, allocated and written back: (2 + 2 x 1) / 3 */
        assert_near(carm_traffic_bytes(&s, link, DRAM), 3000.0 * 4 / 3, 1e-9);
        s = stream(1, 1);
        assert_near(carm_traffic_bytes(&s, link, DRAM), 3000.0 * 3 / 2, 1e-9);
        s.update = true; /* the load fills the line that the store writes */
        assert_near(carm_traffic_bytes(&s, link, DRAM), 3000.0, 1e-9);
        s = stream(1, 0);
        assert_near(carm_traffic_bytes(&s, link, DRAM), 3000.0, 1e-9);
        s = stream(0, 1);
        assert_near(carm_traffic_bytes(&s, link, DRAM), 6000.0, 1e-9);
        s.nontemporal = true;
        assert_near(carm_traffic_bytes(&s, link, DRAM), 3000.0, 1e-9);
        s = stream(2, 1);
        s.nontemporal = true;
        assert_near(carm_traffic_bytes(&s, link, DRAM), 3000.0, 1e-9);
    }
}

/* Behind the set's home only its first touch is seen, shared by the repetitions, however much the
 * core moves and stores. */
TEST(behind_its_home_a_set_is_seen_once)
{
    struct carm_stream s = stream(2, 1);
    s.set_bytes = 16384;
    assert_near(carm_traffic_bytes(&s, L2, L1), 16.0, 0.0);
    assert_near(carm_traffic_bytes(&s, DRAM, L1), 16.0, 0.0);
    s.set_bytes = 512 * 1024;
    assert_near(carm_traffic_bytes(&s, L2, L2), 4000.0, 1e-9);
    assert_near(carm_traffic_bytes(&s, L3, L2), 512.0, 0.0);
    assert_near(carm_traffic_bytes(&s, DRAM, L2), 512.0, 0.0);
    assert_near(carm_traffic_bytes(&s, L3, L3), 4000.0, 1e-9);
    s.load_bytes *= 100.0;
    s.update = true;
    assert_near(carm_traffic_bytes(&s, DRAM, L2), 512.0, 0.0);
}

/* Three classes of applications that run N iterations over their data; loads alone here, as the
 * paper counts no write-allocates. */
static const struct {
    const char *name;
    size_t home;
    double bytes, flops; /* of one iteration: 4.5 KiB, 2 MiB, 61 MiB */
    double intensity;    /* as the core sees it, for any N */
    double at16;         /* iterations after which the original model sees 16 flop/byte */
} classes[] = {
    {"APP-L1", L1, 4608, 72, 1.0 / 64, 1024},
    {"APP-L3", L3, 2097152, 524288, 1.0 / 4, 64},
    {"APP-D", DRAM, 63963136, 1023410176, 16, 1},
};

/* Intensity at memory after N iterations. */
static double original_intensity(size_t i, double iterations)
{
    const struct carm_stream s = {
        .load_bytes = classes[i].bytes, .set_bytes = classes[i].bytes, .repetitions = iterations};
    return classes[i].flops / carm_traffic_bytes(&s, DRAM, classes[i].home);
}

TEST(classes_of_the_paper_move_in_the_original_model_alone)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        assert_near(classes[i].flops / classes[i].bytes, classes[i].intensity, 0.0);
        assert_near(original_intensity(i, classes[i].at16), 16.0, 0.0);
        for (double n = 1; n <= 4096; n *= 2) {
            const double grown = classes[i].home == DRAM ? 1.0 : n;
            assert_near(original_intensity(i, n), classes[i].intensity * grown, 0.0);
        }
    }
}

/* The same application: bound by memory at first, by the peak later, while nothing about it or the
 * machine has changed. i7-3770K: 25.6 GB/s and 112 GF/s (tests/data/machines.json). */
TEST(the_original_model_moves_its_verdict)
{
    const double bandwidth = 25.6e9;
    const double peak = 112e9;
    assert_near(carm_roofline_eval(original_intensity(0, 1), bandwidth, peak), 0.4e9, 1e-3);
    assert_near(carm_roofline_eval(original_intensity(0, 1024), bandwidth, peak), peak, 0.0);
    assert_near(carm_roofline_eval(original_intensity(1, 1), bandwidth, peak), 6.4e9, 1e-3);
    assert_near(carm_roofline_eval(original_intensity(1, 64), bandwidth, peak), peak, 0.0);
}
