/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verdict/missing.h"

#include "models/latency.h"

#include "tests/unit.h"

static struct carm_latency latency[] = {
    {.level = "L1", .order = CARM_LATENCY_RANDOM, .page_bytes = 4096, .seconds = 1e-9},
    {.level = "L2", .order = CARM_LATENCY_RANDOM, .page_bytes = 4096, .seconds = 4e-9},
    {.level = "L3", .order = CARM_LATENCY_RANDOM, .page_bytes = 4096, .seconds = 15e-9},
    {.level = "L3", .order = CARM_LATENCY_RANDOM, .page_bytes = 2 << 20, .seconds = 12e-9},
    {.level = "DRAM", .order = CARM_LATENCY_LINES, .page_bytes = 4096, .seconds = 115e-9},
    {.level = "walk", .order = CARM_LATENCY_PAGES, .page_bytes = 4096, .seconds = 30e-9}};
static struct carm_latency_point points[] = {{.working_set_bytes = 4096, .seconds = 1e-9},
                                             {.working_set_bytes = 1 << 20, .seconds = 5e-9},
                                             {.working_set_bytes = 8 << 20, .seconds = 20e-9}};
static struct carm_latency_curve curve = {
    .order = CARM_LATENCY_RANDOM, .page_bytes = 4096, .points = points, .npoints = 3};
static const struct carm_model model = {
    .latency = latency, .nlatency = 6, .latency_curves = &curve, .nlatency_curves = 1};

/* At 2 GHz. */
TEST(misses_take_the_models_latencies)
{
    struct carm_bounds_input in = {.rates.model = &model, .clock_hz = 2e9};
    const double lines[CARM_FROM_PLACES] = {4, 2, 1};
    assert_near(carm_missing_beyond(&in, lines, 8.0), 2 * (4 * 3 + 2 * 14 + 114) / 8.0, 1e-9);
    assert_near(carm_missing_beyond(&in, lines, 0.0), 0.0, 0.0);
    assert_near(carm_missing_memory(&in), 100e-9, 1e-15);
    assert_near(carm_missing_random(&in, (8 << 20) - 1), 2 * 4, 1e-9);
    assert_near(carm_missing_random(&in, 8 << 20), 2 * 19, 1e-9);
    assert_near(carm_missing_random(&in, 100), 0.0, 0.0);
    assert_near(carm_missing_walks(&in, 0.5, lines, 8.0), 2 * 30 * (0.5 - 0.125), 1e-9);
    assert_near(carm_missing_walks(&in, 0.1, lines, 8.0), 0.0, 0.0);
    in.huge = true;
    assert_near(carm_missing_memory(&in), 103e-9, 1e-15);
    assert_near(carm_missing_random(&in, 8 << 20), 0.0, 0.0);
    assert_near(carm_missing_walks(&in, 0.5, lines, 8.0), 0.0, 0.0);
}

/* One line of a chain in 100 ns: 1024 lines of 64 KiB are brought in 102.4 us, by two threads in half of that. */
TEST(a_loop_comes_back)
{
    struct carm_bounds_input in = {.rates.model = &model, .clock_hz = 2e9, .chained = {0, 1, 0}};
    assert_near(carm_missing_back(&in, 64 << 10, 1 << 20, 100e-9), 1024 * 100e-9, 1e-12);
    assert_near(carm_missing_back(&in, 64 << 10, 32 << 10, 100e-9), 512 * 100e-9, 1e-12);
    in.threads = 2;
    assert_near(carm_missing_back(&in, 64 << 10, 1 << 20, 100e-9), 512 * 100e-9, 1e-12);
    /* independent misses, of which eight are on the way: 12.5 ns of an iteration */
    in = (struct carm_bounds_input){.rates.model = &model, .scattered = {9, 1, 9}};
    assert_near(carm_missing_back(&in, 64 << 10, 1 << 20, 125e-9), 1024 * 125e-9, 1e-12);
    assert_near(carm_missing_back(&in, 64 << 10, 1 << 20, 126e-9), 0.0, 0.0);
    assert_near(carm_missing_back(&(struct carm_bounds_input){.rates.model = &model}, 64 << 10,
                                  1 << 20, 1e-9),
                0.0, 0.0);
}

/* The slowest ISA but scalar, with one thread; large pages before small ones. */
TEST(memory_as_the_model_has_it)
{
    struct carm_memory_roof of[] = {{.level = "DRAM", .ldst = "1:0", .bandwidth = 9e9},
                                    {.level = "DRAM", .ldst = "1:0", .bandwidth = 12e9},
                                    {.level = "DRAM", .ldst = "1:0", .bandwidth = 11e9},
                                    {.level = "DRAM", .ldst = "1:0", .bandwidth = 10e9}};
    struct carm_roofs roofs[] = {{.isa = "scalar", .threads = 1, .memory = &of[0], .nmemory = 1},
                                 {.isa = "sse", .threads = 1, .memory = &of[1], .nmemory = 1},
                                 {.isa = "avx2", .threads = 1, .memory = &of[2], .nmemory = 1},
                                 {.isa = "avx2", .threads = 2, .memory = &of[3], .nmemory = 1}};
    struct carm_model m = model;
    assert_near(carm_missing_stream(&m), 0.0, 0.0);
    m.roofs = roofs;
    m.nroofs = 4;
    assert_near(carm_missing_stream(&m), 11e9, 0.0);
    assert_near(carm_missing_load(&m), 0.0, 0.0);
    struct carm_latency dram[] = {
        {.level = "DRAM", .order = CARM_LATENCY_RANDOM, .page_bytes = 4096, .seconds = 170e-9},
        {.level = "DRAM", .order = CARM_LATENCY_RANDOM, .page_bytes = 2 << 20, .seconds = 150e-9}};
    m.latency = dram;
    m.nlatency = 1;
    assert_near(carm_missing_load(&m), 170e-9, 0.0);
    m.nlatency = 2;
    assert_near(carm_missing_load(&m), 150e-9, 0.0);
}
