/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Caches to simulate from a model: sizes at the limits of what counts as the reported one, sharing, what is assumed. */
#include "models/caches/machine.h"
#include "tests/unit.h"

/* L2 of 64 KiB and no cache behind it, or L3 behind it: a knee within 25% or 35% of the size is the size. */
TEST(sizes)
{
    static const struct {
        uint64_t os, machine, knee;
        bool resolved, inner;
        uint64_t bytes;
        bool measured;
    } cases[] = {
        {65536, 0, 81920, true, false, 65536, false},
        {65536, 0, 81921, true, false, 81921, true},
        {65536, 0, 49152, true, false, 65536, false},
        {65536, 0, 49151, true, false, 49151, true},
        {65536, 0, 81921, true, true, 65536, false},
        {65536, 0, 88473, true, true, 65536, false},
        {65536, 0, 88474, true, true, 88474, true},
        {65536, 0, 88474, false, true, 65536, false},
        {65536, 0, 0, true, true, 65536, false},
        {0, 1000, 0, true, false, 1000, false},
        {0, 1000, 1251, true, false, 1251, true},
        {500, 1000, 501, true, false, 500, false},
        {0, 0, 1, true, false, 1, true},
        {0, 0, 0, true, false, 0, false},
        {0, 0, 7, false, false, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_cache caches[] = {{1, 32768, 1},
                                      {cases[i].machine ? 2 : 1, cases[i].machine, 1},
                                      {2, cases[i].machine ? 7 : 0, 1}, /* the first one counts */
                                      {cases[i].inner ? 3 : 1, 1 << 20, 1}};
        struct carm_level level = {.level = "L2",
                                   .os_size_bytes = cases[i].os,
                                   .knee_bytes = cases[i].knee,
                                   .resolved = cases[i].resolved};
        const struct carm_model m = {
            .machine = {.caches = caches, .ncaches = 4}, .levels = &level, .nlevels = 1};
        bool measured = !cases[i].measured;
        assert_int_equal(carm_caches_bytes(&m, &level, &measured), cases[i].bytes);
        assert_int_equal(measured, cases[i].measured);
        assert_int_equal(carm_caches_bytes(&m, &level, NULL), cases[i].bytes);
    }
}

/* 8 MiB measured of 32 MiB: 10 ps for a byte inside, 50 ps from memory, in between by the curve. */
TEST(shares_from_memory)
{
    static const struct {
        double mib, share;
        int threads;
    } cases[] = {
        {8, 1, 1},     {8.001, 0, 1},      {12, 0.125, 1}, /* 80e9 and 50e9: 15 ps */
        {16, 0.25, 1}, {24, 11.0 / 36, 1}, {31.999, 0.3750, 1}, {32, 1, 1},
        {12, 1, 2},    {12, 1, 4},         {24, 0, 3},
    };
    struct carm_level levels[] = {
        {.level = "L3", .os_size_bytes = 32 << 20, .knee_bytes = 8 << 20, .resolved = true},
        {.level = "DRAM"}};
    struct carm_curve_point points[] = {
        {.x = 4 << 20, .value = 400e9},      {.x = (4 << 20) + 1, .value = 100e9},
        {.x = 8 << 20, .value = 90e9},       {.x = (8 << 20) + 1000, .value = 150e9},
        {.x = 12 << 20, .value = 200e9 / 3}, {.x = 16 << 20, .value = 50e9},
        {.x = 64 << 20, .value = 20e9}};
    struct carm_curve curves[] = {{.threads = 2, .points = points, .npoints = 1},
                                  {.threads = 1, .points = points, .npoints = 7},
                                  {.threads = 1, .points = points, .npoints = 2},
                                  {.threads = 3, .points = points + 5, .npoints = 2}};
    struct carm_model m = {.levels = levels, .nlevels = 2, .curves = curves, .ncurves = 4};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double share =
            carm_caches_from_memory(&m, cases[i].threads, cases[i].mib * (1 << 20));
        fail_if(fabs(share - cases[i].share) > 1e-4, "%g MiB, %d threads: %.9g", cases[i].mib,
                cases[i].threads, share);
    }
    points[6].value = 60e9; /* memory as fast as the curve there: all comes from it */
    assert_near(carm_caches_from_memory(&m, 1, 16 << 20), 1.0, 0.0);
    points[6].value = 20e9;
    m.ncurves = 1;
    assert_near(carm_caches_from_memory(&m, 1, 16 << 20), 1.0, 0.0);
}

struct machine {
    int cores, threads;
    struct carm_cache caches[4];
    struct carm_level levels[6];
    size_t nlevels;
    struct carm_cache_ways ways[3];
    size_t nways;
    const char *text, *sizes;
};

TEST(machines)
{
    static const struct machine cases[] = {
        /* 6 cores of 2 threads: L2 of two cores, L3 of five threads' cores, to a multiple of two */
        {6,
         12,
         {{1, 49152, 2}, {2, 1 << 20, 4}, {3, 9 << 20, 10}, {2, 1 << 20, 2}},
         {{.level = "L1", .os_size_bytes = 49152},
          {.level = "L2", .os_size_bytes = 1 << 20},
          {.level = "L3", .os_size_bytes = 9 << 20},
          {.level = "DRAM"}},
         4,
         {{1, 49152, 12, 0}, {2, 1 << 20, 0, 0}, {3, 9 << 20, 18, 0}},
         3,
         "L1 48 KiB, 12 ways; L2 1 MiB, 8 ways (assumed), 2 cores; L3 9 MiB, 18 ways, 4 cores, holds victims",
         "6 2: 49152/12x1 1048576/8x2 9437184/18x4"},
        /* a fully associative last level, not known whether inclusive; a level without a size; no cores */
        {0,
         0,
         {{1, 32768, 1}, {2, 65536, 1}},
         {{.level = "L1", .os_size_bytes = 32768},
          {.level = "L7"},
          {.level = "L2", .os_size_bytes = 65536}},
         3,
         {{2, 65536, -1, -1}},
         1,
         "L1 32 KiB, 8 ways (assumed), L7 left out: its size is not known; L2 64 KiB, 64 ways, non-inclusive "
         "(assumed)",
         "1 0: 32768/8x1 65536/64x1"},
        /* one cache is first and last; sets that are not a power of two are kept, unless measured */
        {2000,
         2000,
         {{1, 1000 * 512, 1}},
         {{.level = "L1", .os_size_bytes = 1000 * 512}},
         1,
         {{1, 1000 * 512, 8, 1}},
         1,
         "L1 500 KiB, 8 ways",
         "1024 0: 512000/8x1"},
        {2,
         2,
         {{1, 64, 1}},
         {{.level = "L1", .knee_bytes = 990 * 1024, .resolved = true},
          {.level = "L0", .os_size_bytes = 64},
          {.level = "LLC", .os_size_bytes = 64},
          {.level = "M1", .os_size_bytes = 64}},
         4,
         {{0}},
         0,
         "L1 960 KiB (measured), 16 ways (assumed)",
         "2 0: 983040/16x1"},
        {2,
         2,
         {{1, 64, 1}},
         {{.level = "L1", .os_size_bytes = 64}, {.level = "L2", .os_size_bytes = 63}},
         2,
         {{0}},
         0,
         "L1 64 B, 1 ways (assumed), L2 left out: its size is not known",
         "2 0: 64/1x1"},
        /* four levels at most; ways of a machine of other sizes are not used */
        {2,
         2,
         {{1, 4096, 1}},
         {{.level = "L1", .os_size_bytes = 4096},
          {.level = "L2", .os_size_bytes = 8192},
          {.level = "L3", .os_size_bytes = 16384},
          {.level = "L4", .os_size_bytes = 32768},
          {.level = "L5", .os_size_bytes = 65536}},
         5,
         {{1, 4095, 4, 1}},
         1,
         "L1 4 KiB, 8 ways (assumed); L2 8 KiB, 8 ways (assumed); L3 16 KiB, 8 ways (assumed); L4 32 KiB, 16 "
         "ways (assumed), "
         "non-inclusive (assumed)",
         "2 0: 4096/8x1 8192/8x1 16384/8x1 32768/16x1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct machine c = cases[i];
        const struct carm_model m = {
            .machine = {.cores = c.cores, .threads = c.threads, .caches = c.caches, .ncaches = 4},
            .levels = c.levels,
            .nlevels = c.nlevels};
        struct carm_hierarchy_config config = {.nlevels = 9};
        char text[CARM_CACHES_TEXT_MAX], sizes[200];
        assert_ok(carm_caches_of_model(&m, c.ways, c.nways, &config, text, &err));
        assert_string_equal(text, c.text);
        int n = snprintf(sizes, sizeof sizes, "%u %d:", config.cores, (int)config.last);
        for (size_t k = 0; k < config.nlevels; k++) {
            n += snprintf(sizes + n, sizeof sizes - (size_t)n, " %d/%ux%u",
                          (int)config.levels[k].size_bytes, config.levels[k].ways,
                          config.levels[k].shared_by);
        }
        assert_string_equal(sizes, c.sizes);
    }
}
