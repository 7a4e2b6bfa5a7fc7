/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Machines that differ from the measured one: what is read, what changes in a model, what it brings. */
#include "models/core.h"
#include "models/latency.h"
#include "models/place/settings.h"
#include "tests/unit.h"

#define near(value, wanted) assert_near(value, wanted, 1e-9 * fabs(wanted))

TEST(words)
{
    static const char *const bad[] = {"",
                                      "L2",
                                      "L2=",
                                      "L2=2Q",
                                      "L2=-2M",
                                      "L2=0x",
                                      "L2=1000x",
                                      "L0=2M",
                                      "L10=2M",
                                      "dram=2M",
                                      "peak=2",
                                      "peak=2M",
                                      "foo=2x",
                                      "x.peak=2x",
                                      "L2.peak=2x",
                                      "bandwidth=2x",
                                      "L2.bandwidth=2M",
                                      "L2=2M,",
                                      "L2=2M,,peak=2x",
                                      "L2=nanx"};
    struct carm_settings s;
    assert_ok(carm_settings_parse("l2=2M,L3=1.5x,Dram.Bandwidth=2x,L1.latency=0.5x,peak=2x,"
                                  "CLOCK=1.2X,L3.size=48MiB",
                                  &s, &err));
    assert_int_equal(s.n, 7);
    assert_string_equal(s.of[0].level, "L2");
    assert_int_equal(s.of[0].bytes, 2 << 20);
    assert_int_equal(s.of[1].bytes, 0);
    near(s.of[1].factor, 1.5);
    assert_int_equal(s.of[2].quantity, CARM_SETTING_BANDWIDTH);
    assert_string_equal(s.of[2].level, "DRAM");
    assert_int_equal(s.of[3].quantity, CARM_SETTING_LATENCY);
    assert_int_equal(s.of[4].quantity, CARM_SETTING_PEAK);
    assert_string_equal(s.of[4].level, "");
    assert_int_equal(s.of[5].quantity, CARM_SETTING_CLOCK);
    assert_int_equal(s.of[6].bytes, 48 << 20);
    assert_true(carm_settings_size(&s));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fail_if(carm_settings_parse(bad[i], &s, &err) != -CARM_EINVAL, "'%s' was read", bad[i]);
    }
    assert_ok(carm_settings_parse("peak=2x", &s, &err));
    assert_false(carm_settings_size(&s));
}

/* L1 32 KiB, L2 1 MiB, DRAM, each with a roof and a latency; one FMA roof. */
static struct carm_level levels[3];
static struct carm_memory_roof memory[3];
static struct carm_compute_roof peak;
static struct carm_latency latencies[3];
static struct carm_latency_point points[3];
static struct carm_latency_curve curve;
static struct carm_in_flight flight[2];
static struct carm_core_figure core[3];
static struct carm_roofs roofs;
static struct carm_model model;

static void make(void)
{
    static const char *const names[] = {"L1", "L2", "DRAM"};
    static const uint64_t sizes[] = {32 << 10, 1 << 20, 0},
                          sets[] = {16 << 10, 512 << 10, 64 << 20};
    memset(&model, 0, sizeof model);
    memset(&roofs, 0, sizeof roofs);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(levels[i].level, sizeof levels[i].level, "%s", names[i]);
        levels[i].os_size_bytes = sizes[i];
        levels[i].knee_bytes = sizes[i];
        levels[i].resolved = true;
        (void)snprintf(memory[i].level, sizeof memory[i].level, "%s", names[i]);
        memory[i].bandwidth = 100e9 / (i + 1);
        memory[i].bytes_per_cycle = 40.0 / (i + 1);
        (void)snprintf(latencies[i].level, sizeof latencies[i].level, "%s", names[i]);
        latencies[i].seconds = 1e-9 * (i + 1);
        points[i] =
            (struct carm_latency_point){.working_set_bytes = sets[i], .seconds = 1e-9 * (i + 1)};
    }
    curve = (struct carm_latency_curve){CARM_LATENCY_RANDOM, 4096, points, 3};
    flight[0] = (struct carm_in_flight){.level = "DRAM", .code = "scalar", .rate = 1e9};
    flight[1] = (struct carm_in_flight){.level = "DRAM", .code = CARM_STREAM_LOADS, .rate = 1e9};
    core[0] =
        (struct carm_core_figure){.kind = CARM_CORE_FP_ADD, .throughput = 1.0, .latency = 4.0};
    core[1] = (struct carm_core_figure){.kind = CARM_CORE_LOAD, .throughput = 1.0};
    core[2] = (struct carm_core_figure){.kind = CARM_CORE_INT_ADD, .throughput = 1.0};
    peak.rate = 50e9;
    peak.flops_per_cycle = 16.0;
    roofs = (struct carm_roofs){
        .clock_hz = 3e9, .memory = memory, .nmemory = 3, .compute = &peak, .ncompute = 1};
    roofs.dram_peak.bandwidth = 30e9;
    model = (struct carm_model){.levels = levels,
                                .nlevels = 3,
                                .roofs = &roofs,
                                .nroofs = 1,
                                .latency = latencies,
                                .nlatency = 3,
                                .latency_curves = &curve,
                                .nlatency_curves = 1,
                                .in_flight = flight,
                                .nin_flight = 2,
                                .core = core,
                                .ncore = 3};
}

static void apply(const char *list, char *text, size_t size)
{
    struct carm_settings s;
    make();
    assert_ok(carm_settings_parse(list, &s, &err));
    assert_ok(carm_settings_apply(&s, &model, &err));
    carm_settings_text(text, size, &s);
}

TEST(sizes)
{
    char text[CARM_SETTINGS_TEXT_MAX];
    apply("L2=4x", text, sizeof text);
    assert_string_equal(text, "L2 4 MiB (1 MiB today)");
    assert_int_equal(levels[1].os_size_bytes, 4 << 20);
    assert_false(levels[1].resolved); /* else the measured size would count */
    assert_true(levels[0].resolved);
    /* dependent loads beyond L1 are as fast as in a quarter of their working set today */
    assert_int_equal(points[0].working_set_bytes, 16 << 10);
    assert_int_equal(points[1].working_set_bytes, 2 << 20);
    assert_int_equal(points[2].working_set_bytes, 256 << 20);
    /* a guest has only a part of it, by its curve: what is simulated is what grows */
    struct carm_settings twice;
    make();
    levels[1].knee_bytes = 512 << 10;
    assert_ok(carm_settings_parse("L2=2x", &twice, &err));
    assert_ok(carm_settings_apply(&twice, &model, &err));
    assert_string_equal(carm_settings_text(text, sizeof text, &twice), "L2 1 MiB (512 KiB today)");
    apply("L2=1300000", text, sizeof text); /* to a sixteenth */
    assert_int_equal(levels[1].os_size_bytes % 65536, 0);
    assert_true(levels[1].os_size_bytes > 1260000 && levels[1].os_size_bytes < 1340000);
}

TEST(rates)
{
    char text[CARM_SETTINGS_TEXT_MAX];
    apply("dram.bandwidth=2x,L2.latency=0.5x", text, sizeof text);
    assert_string_equal(text, "DRAM bandwidth 2x and L2 latency 0.5x");
    near(memory[2].bandwidth, 200e9 / 3);
    near(memory[1].bandwidth, 50e9);
    near(roofs.dram_peak.bandwidth, 60e9);
    near(flight[0].rate, 1e9); /* independent misses wait for latency, streams for bandwidth */
    near(flight[1].rate, 2e9);
    near(latencies[1].seconds, 1e-9);
    near(latencies[2].seconds, 3e-9);
    near(points[1].seconds, 1e-9);
    near(points[2].seconds, 3e-9);
    apply("dram.latency=2x", text, sizeof text);
    near(flight[0].rate, 0.5e9);
    near(flight[1].rate, 1e9);
    apply("L1.bandwidth=2x", text, sizeof text);
    near(memory[0].bytes_per_cycle, 80.0);
    near(core[1].throughput, 0.5);
    near(core[0].throughput, 1.0);
    apply("peak=2x", text, sizeof text);
    near(peak.rate, 100e9);
    near(peak.flops_per_cycle, 32.0);
    near(core[0].throughput, 0.5);
    near(core[0].latency, 4.0);
    near(core[2].throughput, 1.0);
    apply("clock=1.5x", text, sizeof text);
    near(roofs.clock_hz, 4.5e9);
    near(peak.rate, 75e9);
    near(peak.flops_per_cycle, 16.0);
    near(memory[0].bandwidth, 150e9);
    near(memory[0].bytes_per_cycle, 40.0);
    near(memory[2].bandwidth, 100e9 / 3);
    near(latencies[1].seconds, 2e-9 / 1.5);
    near(core[0].throughput, 1.0); /* cycles */
}

TEST(lacking)
{
    struct carm_settings s;
    make();
    assert_ok(carm_settings_parse("L3=2x", &s, &err));
    assert_refused(carm_settings_apply(&s, &model, &err), -CARM_EINVAL, "no cache L3");
    assert_ok(carm_settings_parse("L4.bandwidth=2x", &s, &err));
    assert_int_equal(carm_settings_apply(&s, &model, &err), -CARM_EINVAL);
    model.nlatency = 0;
    assert_ok(carm_settings_parse("L2.latency=2x", &s, &err));
    assert_refused(carm_settings_apply(&s, &model, &err), -CARM_EINVAL, "--latency");
}

TEST(gains)
{
    struct carm_bounds today = {.n = 0}, there = {.n = 0};
    double before = 0.0, after = 0.0;
    enum carm_limit limit;
    char text[32];
    /* 8 of 10 s for DRAM become 4, of which 2 stay, or shrink as well */
    struct carm_verdict_gain g = carm_setting_gain(10.0, 8.0, 4.0);
    near(g.low, 10.0 / 6.0);
    near(g.high, 2.0);
    assert_string_equal(carm_setting_words(text, sizeof text, g), "1.7..2x");
    g = carm_setting_gain(10.0, 8.0, 16.0); /* a slower machine */
    near(g.low, 0.5);
    near(g.high, 10.0 / 18.0);
    g = carm_setting_gain(10.0, 8.0, 8.0);
    assert_string_equal(carm_setting_words(text, sizeof text, g), "1x");

    /* a bound that the time refutes today does not come back; the next one holds; estimates are left out */
    static const char dram[] = "%.0f bytes", pages[] = "%.0f bytes of small pages",
                      jumps[] = "%.0f jumps";
    const struct {
        enum carm_limit limit;
        double today, there;
        bool estimate;
        const char *form;
    } rows[] = {{CARM_LIMIT_DRAM, 8.0, 3.0, false, dram},
                {CARM_LIMIT_DRAM, 20.0, 9.0, false, pages},
                {CARM_LIMIT_L3, 5.0, 5.0, false, dram},
                {CARM_LIMIT_BRANCHES, 9.0, 9.0, true, jumps}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        carm_bounds_add(&today, rows[i].limit, rows[i].today, rows[i].estimate, rows[i].form, 1.0);
        carm_bounds_add(&there, rows[i].limit, rows[i].there, rows[i].estimate, rows[i].form, 1.0);
#pragma GCC diagnostic pop
    }
    today.of[0].refuted = true; /* 20 s of 10 */
    carm_setting_bounds(&today, &there, false, &before, &after, &limit);
    near(before, 8.0);
    near(after, 5.0);
    assert_int_equal(limit, CARM_LIMIT_L3);
    carm_setting_bounds(&today, &there, true, &before, &after,
                        &limit); /* mispredictions add to it */
    near(before, 17.0);
    near(after, 14.0);
    assert_int_equal(limit, CARM_LIMIT_L3);
}
