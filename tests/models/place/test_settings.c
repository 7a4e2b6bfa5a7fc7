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
                                      "L2=nanx",
                                      "L2=0.0099x",
                                      "L2=100.1x",
                                      "L2=63",
                                      "L2=10000000000000",
                                      "=2x",
                                      "verylong=2x",
                                      "L2=128.0000000000000000000000000000x"};
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
    assert_ok(carm_settings_parse("L9=100x,peak=0.01x,L1=64,L2=9999999999999", &s, &err));
    near(s.of[0].factor, 100.0);
    near(s.of[1].factor, 0.01);
    near(s.of[2].factor, 0.0);
    assert_int_equal(s.of[2].bytes, 64);
    assert_int_equal(s.of[3].bytes, 9999999999999);
    assert_ok(carm_settings_parse("L2=2M", &s, &err));
    assert_true(carm_settings_size(&s));
    assert_refused(carm_settings_parse(
                       "peak=2x,peak=2x,peak=2x,peak=2x,peak=2x,peak=2x,peak=2x,peak=2x,peak=2x,"
                       "peak=2x,peak=2x,peak=2x,peak=2x,peak=2x,peak=2x,peak=2x,peak=2x",
                       &s, &err),
                   -CARM_EINVAL, "at most ");
}

/* L1 32 KiB, L2 1 MiB, DRAM, each with a roof and a latency; one FMA roof. In front of the levels and behind each array
 * is an element that is not the model's. */
enum { BEHIND = 1 };
static struct carm_level all_levels[1 + 3], *const levels = all_levels + 1;
static struct carm_memory_roof memory[3 + BEHIND];
static struct carm_compute_roof peaks[1 + BEHIND], *const peak = peaks;
static struct carm_latency latencies[3 + BEHIND];
static struct carm_latency_point points[4 + BEHIND];
static struct carm_latency_curve curves[1 + BEHIND];
static struct carm_in_flight flight[2 + BEHIND];
static struct carm_core_figure core[3 + BEHIND];
static struct carm_roofs sets[1 + BEHIND], *const roofs = sets;
static struct carm_model model;

static void make(void)
{
    static const char *const names[] = {"L1", "L2", "DRAM"};
    static const uint64_t sizes[] = {32 << 10, 1 << 20, 0},
                          working[] = {32 << 10, 512 << 10, 64 << 20};
    all_levels[0] = (struct carm_level){.level = "L0", .os_size_bytes = 1 << 30};
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
            (struct carm_latency_point){.working_set_bytes = working[i], .seconds = 1e-9 * (i + 1)};
    }
    memory[3] = memory[2];
    latencies[3] = latencies[2];
    points[3] = (struct carm_latency_point){.working_set_bytes = 1 << 20, .seconds = 4e-9};
    points[4] = points[1];
    curves[0] = curves[1] = (struct carm_latency_curve){CARM_LATENCY_RANDOM, 4096, points, 4};
    flight[0] = (struct carm_in_flight){.level = "DRAM", .code = CARM_STREAM_LOADS, .rate = 1e9};
    flight[1] = (struct carm_in_flight){.level = "DRAM", .code = "scalar", .rate = 1e9};
    flight[2] = flight[0];
    core[0] = (struct carm_core_figure){
        .kind = CARM_CORE_FP_ADD, .throughput = 1.0, .latency = 4.0, .clock_hz = 3e9};
    core[1] = (struct carm_core_figure){.kind = CARM_CORE_LOAD, .throughput = 1.0};
    core[2] = (struct carm_core_figure){.kind = CARM_CORE_INT_ADD, .throughput = 1.0};
    core[3] = core[0];
    peak->rate = 50e9;
    peak->ci95 = (struct carm_ci){40e9, 60e9};
    peak->flops_per_cycle = 16.0;
    peaks[1] = *peak;
    roofs[0] = roofs[1] = (struct carm_roofs){.clock_hz = 3e9,
                                              .memory = memory,
                                              .nmemory = 3,
                                              .compute = peak,
                                              .ncompute = 1,
                                              .dram_peak.bandwidth = 30e9};
    model = (struct carm_model){.levels = levels,
                                .nlevels = 3,
                                .roofs = roofs,
                                .nroofs = 1,
                                .latency = latencies,
                                .nlatency = 3,
                                .latency_curves = curves,
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
    near(memory[3].bandwidth, 100e9 / 3);
    near(latencies[3].seconds, 3e-9);
    near(points[4].seconds, 2e-9);
    assert_int_equal(points[4].working_set_bytes, 512 << 10);
    near(flight[2].rate, 1e9);
    near(core[3].throughput, 1.0);
    near(core[3].clock_hz, 3e9);
    near(peaks[1].rate, 50e9);
    near(sets[1].clock_hz, 3e9);
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
    assert_int_equal(points[0].working_set_bytes, 32 << 10);
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
    apply("L1=2080", text, sizeof text); /* 16.25 x 128 */
    assert_int_equal(levels[0].os_size_bytes, 2048);
    assert_int_equal(points[0].working_set_bytes, 2048);
    apply("L2=0.03125x", text, sizeof text); /* none below the size of L1 */
    assert_int_equal(points[0].working_set_bytes, 32 << 10);
    assert_int_equal(points[1].working_set_bytes, 32 << 10);
    assert_int_equal(points[2].working_set_bytes, 2 << 20);
}

TEST(rates)
{
    char text[CARM_SETTINGS_TEXT_MAX];
    apply("dram.bandwidth=2x,L2.latency=0.5x", text, sizeof text);
    assert_string_equal(text, "DRAM bandwidth 2x and L2 latency 0.5x");
    near(memory[2].bandwidth, 200e9 / 3);
    near(memory[1].bandwidth, 50e9);
    near(roofs->dram_peak.bandwidth, 60e9);
    near(flight[1].rate, 1e9); /* independent misses wait for latency, streams for bandwidth */
    near(flight[0].rate, 2e9);
    near(latencies[1].seconds, 1e-9);
    near(latencies[2].seconds, 3e-9);
    near(points[0].seconds, 1e-9); /* as large as L1 */
    near(points[1].seconds, 1e-9);
    near(points[3].seconds, 2e-9); /* as large as L2 */
    near(points[2].seconds, 3e-9);
    apply("L1.latency=2x", text, sizeof text);
    near(points[0].seconds, 2e-9);
    near(points[1].seconds, 2e-9);
    near(latencies[0].seconds, 2e-9);
    apply("dram.latency=2x", text, sizeof text);
    near(flight[1].rate, 0.5e9);
    near(flight[0].rate, 1e9);
    apply("L1.bandwidth=2x", text, sizeof text);
    near(memory[0].bytes_per_cycle, 80.0);
    near(core[1].throughput, 0.5);
    near(core[0].throughput, 1.0);
    apply("peak=2x", text, sizeof text);
    near(peak->rate, 100e9);
    near(peak->ci95.lo, 80e9);
    near(peak->ci95.hi, 120e9);
    near(peak->flops_per_cycle, 32.0);
    near(core[0].throughput, 0.5);
    near(core[0].latency, 4.0);
    near(core[2].throughput, 1.0);
    apply("clock=1.5x", text, sizeof text);
    near(roofs->clock_hz, 4.5e9);
    near(core[0].clock_hz, 4.5e9);
    near(peak->rate, 75e9);
    near(peak->flops_per_cycle, 16.0);
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
    g = carm_setting_gain(7.5, 8.0, 4.0); /* a bound above the time leaves no rest */
    near(g.low, 7.5 / 4.0);
    near(g.high, 2.0);
    static const struct {
        struct carm_verdict_gain gain;
        const char *words;
    } words[] = {{{97.0, 100.0}, "97..100x"}, /* 3% */
                 {{97.1, 100.0}, "98.5x"},
                 {{19.4, 20.05}, "19..20x"}}; /* 3.2% */
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        assert_string_equal(carm_setting_words(text, sizeof text, words[i].gain), words[i].words);
    }

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
    today.of[0].refuted = true;                                   /* 20 s of 10 */
    today.of[today.n].seconds = there.of[there.n].seconds = 99.0; /* none of theirs */
    carm_setting_bounds(&today, &there, false, &before, &after, &limit);
    near(before, 8.0);
    near(after, 5.0);
    assert_int_equal(limit, CARM_LIMIT_L3);
    carm_setting_bounds(&today, &there, true, &before, &after,
                        &limit); /* mispredictions add to it */
    near(before, 17.0);
    near(after, 14.0);
    assert_int_equal(limit, CARM_LIMIT_L3);
    /* estimates alone; nothing at all */
    struct carm_bounds none = {.n = 0}, guess = none;
    carm_bounds_add(&guess, CARM_LIMIT_BRANCHES, 0.5, true, "x");
    carm_setting_bounds(&guess, &guess, true, &before, &after, &limit);
    near(before, 0.5);
    near(after, 0.5);
    assert_int_equal(limit, CARM_LIMIT_UNKNOWN);
    carm_setting_bounds(&none, &none, true, &before, &after, &limit);
    near(before + after, 0.0);
    carm_setting_bounds(&none, &guess, false, &before, &after, &limit);
    near(before + after, 0.0);
    /* a refuted bound of the same limit by another form, and of the same form for another limit */
    carm_bounds_add(&none, CARM_LIMIT_DRAM, 9.0, false, dram, 1.0)->refuted = true;
    guess.n = 0;
    carm_bounds_add(&guess, CARM_LIMIT_DRAM, 3.0, false, pages, 1.0);
    carm_bounds_add(&guess, CARM_LIMIT_L3, 4.0, false, dram, 1.0);
    carm_bounds_add(&guess, CARM_LIMIT_DRAM, 5.0, false, dram, 1.0);
    carm_setting_bounds(&none, &guess, false, &before, &after, &limit);
    near(before, 0.0);
    near(after, 4.0);
    guess.of[1].seconds = 1.0;
    carm_setting_bounds(&none, &guess, false, &before, &after, &limit);
    near(after, 3.0);
}
