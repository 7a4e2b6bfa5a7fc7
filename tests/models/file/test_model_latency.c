/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Latencies in a model: written and read back, refused when wrong, looked up. */
#include "models/core.h"
#include "models/latency.h"
#include "tests/models/model_text.h"

#define FIGURE(k, i, p, l, t)                                                         \
    {                                                                                 \
        .kind = CARM_CORE_##k, .isa = (i), .precision = (p), .latency = (l),          \
        .latency_ci95 = {(l), (l)}, .throughput = (t), .throughput_ci95 = {(t), (t)}, \
        .clock_hz = 4e9,                                                              \
    }

static struct carm_core_figure core[] = {
    FIGURE(FP_ADD, "scalar", "dp", 3.0, 0.5),  FIGURE(FP_ADD, "avx2", "dp", 3.01, 0.51),
    FIGURE(FP_ADD, "avx512", "dp", 3.02, 1.0), FIGURE(INT_DIV, "", "int64", 18.0, 7.0),
    FIGURE(INT_ADD, "", "", 1.0, 0.25),        FIGURE(FP_SQRT, "avx2", "dp", 0.0, 0.0),
};
static struct carm_latency latency[] = {
    {.level = "L1", .page_bytes = 4096, .seconds = 1e-9, .ci95 = {1e-9, 1e-9}, .cycles = 4},
    {.level = "DRAM", .page_bytes = 4096, .note = "no memory"},
    {.level = "DRAM", .page_bytes = 2097152, .seconds = 1e-7, .ci95 = {9e-8, 2e-7}},
};
static struct carm_latency_point latency_points[] = {{4096, 1e-9, {1e-9, 1.1e-9}, 4, false},
                                                     {8192, 2e-9, {1e-9, 2e-9}, 8, true}};
static struct carm_latency_curve curves[] = {{CARM_LATENCY_PAGES, 4096, latency_points, 2}};
static struct carm_in_flight_point flight_points[] = {
    {1, 1e7, {1e7, 1e7}, false}, {4, 4e7, {4e7, 4e7}, false}, {16, 1e8, {1e8, 1e8}, false}};
static struct carm_in_flight flights[] = {{.level = "DRAM",
                                           .code = "scalar",
                                           .page_bytes = 4096,
                                           .working_set_bytes = 1 << 28,
                                           .latency_seconds = 1e-7,
                                           .rate = 9.8e7,
                                           .ci95 = {9e7, 1e8},
                                           .chains = 16,
                                           .lines = 9.8,
                                           .points = flight_points,
                                           .npoints = 3}};
static struct carm_loaded_point loaded_points[] = {{1e10, 1e-7, {1e-7, 1e-7}, false}};
static struct carm_loaded loaded[] = {{"1:0", 2, 4096, loaded_points, 1}};
static struct carm_core_pair pairs[] = {{0, 1, 4.5e-8, {4e-8, 5e-8}, false}};

/* The smallest model that is read, with all of these. */
static struct carm_model make_model(void)
{
    struct carm_model m = least_model(1);
    (void)snprintf(core[5].note, sizeof core[5].note, "not measured: no time");
    m.core = core;
    m.ncore = sizeof core / sizeof *core;
    m.latency = latency;
    m.nlatency = sizeof latency / sizeof *latency;
    m.latency_curves = curves;
    m.in_flight = flights;
    m.loaded = loaded;
    m.core_to_core = pairs;
    m.nlatency_curves = m.nin_flight = m.nloaded = m.ncore_to_core = 1;
    return m;
}

static struct carm_model *read_back(void)
{
    const struct carm_model m = make_model();
    return there_and_back(&m);
}

TEST(written_and_read)
{
    struct carm_model *m = read_back();
    assert_int_equal(m->ncore, 6);
    assert_memory_equal(m->core, core, sizeof core);
    assert_memory_equal(&m->in_flight->points[2], &flight_points[2], sizeof *flight_points);
    assert_true(m->loaded->points[0].bandwidth == 1e10 && m->core_to_core->to == 1);
}

TEST(looked_up)
{
    struct carm_model *m = read_back();
    assert_ptr_equal(carm_core_find(m, CARM_CORE_FP_ADD, "avx2", "dp"), &m->core[1]);
    assert_ptr_equal(carm_core_find(m, CARM_CORE_FP_ADD, "avx", "dp"), &m->core[1]);
    assert_ptr_equal(carm_core_find(m, CARM_CORE_FP_ADD, "scalar", "dp"), &m->core[0]);
    assert_null(carm_core_find(m, CARM_CORE_FP_ADD, "sse", "dp"));
    assert_null(carm_core_find(m, CARM_CORE_FP_ADD, "scalar", "sp"));
    assert_null(carm_core_find(m, CARM_CORE_FP_SQRT, "avx2", "dp"));
    assert_ptr_equal(carm_core_find(m, CARM_CORE_INT_DIV, "", "int64"), &m->core[3]);
    assert_null(carm_core_find(m, CARM_CORE_INT_DIV, "", "int32"));
    assert_ptr_equal(carm_core_find(m, CARM_CORE_INT_ADD, "", "int64"), &m->core[4]);
    assert_ptr_equal(carm_latency_find(m, "DRAM", CARM_LATENCY_LINES, 0), &m->latency[2]);
    assert_null(carm_latency_find(m, "DRAM", CARM_LATENCY_LINES, 4096));
    assert_ptr_equal(carm_in_flight_find(m, "DRAM"), m->in_flight);
    assert_null(carm_in_flight_find(m, "L2"));
}

TEST(words)
{
    for (int i = 0; i < CARM_CORE_KIND_COUNT; i++) {
        enum carm_core_kind kind = CARM_CORE_KIND_COUNT;
        assert_true(carm_core_kind_parse(carm_core_kind_name((enum carm_core_kind)i), &kind));
        assert_int_equal(kind, i); /* no word is there twice */
    }
    enum carm_core_kind kind = CARM_CORE_FP_ADD;
    assert_false(carm_core_kind_parse("addition", &kind));
}

TEST(refused)
{
    static const struct text_fault faults[] = {
        {"", "\"kind\": \"int-div\"", "\"kind\": \"int-dib\"", "core[3].kind"},
        {"", "not measured: no time", "", "core[5].note is empty"},
        {"", "no memory", "", "latency[1].note is empty"},
        {"", "\"isa\": \"avx512\"", "\"isa\": \"avx2\"", "core[2]"},
        {"", "\"order\": \"pages\"", "\"order\": \"page\"", "latency_curves[0].order"},
        {"", "\"chains\": 4", "\"chains\": 0", "in_flight[0].points[1].chains"},
    };
    const struct carm_model m = make_model();
    refuse_faults(&m, faults, sizeof faults / sizeof *faults);
}

/* The lowest rounds that agree, whatever disturbed the others. */
TEST(estimates)
{
    double figure = 0.0;
    struct carm_ci ci;
    double calm[] = {3.01, 3.0, 3.0, 3.01, 4.5, 3.9, 9.0, 3.0, 3.3, 3.6};
    assert_true(carm_core_estimate(calm, 10, 0.005, 1e-3, &figure, &ci));
    assert_true(figure >= 3.0 && figure <= 3.01 && ci.lo <= 3.0 && ci.hi >= 3.01 && ci.hi < 3.02);
    /* a round that an interrupted clock made too short has nobody to agree with */
    double misread[] = {2.7, 3.0, 3.0, 3.01, 3.0, 3.0};
    assert_true(carm_core_estimate(misread, 6, 0.005, 1e-3, &figure, &ci));
    assert_true(figure >= 3.0);
    /* two states: 2% apart are two, not one */
    double states[] = {3.0, 3.06, 3.06, 3.06, 3.06, 3.0, 3.0, 3.0};
    assert_true(carm_core_estimate(states, 8, 0.005, 1e-3, &figure, &ci));
    assert_true(figure == 3.0 && ci.hi < 3.06);
    double apart[] = {3.0, 3.2, 3.4, 3.7, 4.0, 5.0};
    assert_false(carm_core_estimate(apart, 6, 0.005, 1e-3, &figure, &ci));
    assert_true(figure == 3.0 && ci.hi == 3.7);
    assert_true(carm_core_estimate(apart, 6, 0.5, 1e-3, &figure, &ci));
}
