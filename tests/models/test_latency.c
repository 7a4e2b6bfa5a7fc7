/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plateau of a level in a curve of dependent loads. */
#include "models/core.h"
#include "models/latency.h"
#include "tests/unit.h"

/* L2 of 1 MiB, L3 of 32 MiB: sets of 2, 2.8, 4, 5.6, 8, 11, 16 MiB are L3's, then DRAM. */
enum { L3 = 7, N = 10 };
static const double sizes[N] = {2.0, 2.83, 4.0, 5.66, 8.0, 11.3, 16.0, 32.0, 64.0, 128.0};

static struct carm_latency plateau(const double *ns, double below)
{
    static struct carm_latency_point points[N];
    const struct carm_latency_curve curve = {.points = points, .npoints = N};
    struct carm_latency l = {.seconds = 0.0};
    for (int i = 0; i < N; i++) {
        const double seconds = 1e-9 * ns[i];
        points[i] =
            (struct carm_latency_point){.working_set_bytes = (uint64_t)(sizes[i] * (1 << 20)),
                                        .seconds = seconds,
                                        .ci95 = {0.99 * seconds, 1.01 * seconds},
                                        .cycles = 3.7 * ns[i]};
    }
    carm_latency_plateau(&l, &curve, 2 << 20, 16 << 20, 1e-9 * below);
    return l;
}

TEST(of_a_whole_cache)
{
    const double ns[N] = {10.0, 12.0, 13.5, 14.0, 14.2, 14.4, 15.0, 60.0, 110.0, 120.0};
    const struct carm_latency l = plateau(ns, 72.0);
    assert_true(fabs(l.seconds - 14.2e-9) < 1e-15);
    assert_true(l.ci95.lo < 12.0e-9 && l.ci95.hi > 15.0e-9);
    assert_true(l.reach_bytes == 16 << 20);
    assert_int_equal(l.note[0], 0);
}

/* Neighbours have most of the cache: four points of 66 to 76 ns are a longer run than three of 13 to 15, and none of
 * this level. */
TEST(of_a_part_of_a_cache)
{
    const double ns[N] = {13.0, 14.5, 15.0, 66.0, 74.0, 76.0, 75.0, 90.0, 125.0, 130.0};
    const struct carm_latency l = plateau(ns, 78.0);
    assert_true(fabs(l.seconds - 14.5e-9) < 1e-15);
    assert_true(l.ci95.hi < 16e-9);
    assert_true(l.reach_bytes == 4 << 20);
    assert_non_null(strstr(l.note, "75 ns at 16384 KiB, which the cache should hold"));
}

TEST(of_none)
{
    const double ns[N] = {80.0, 82.0, 85.0, 86.0, 88.0, 90.0, 92.0, 95.0, 100.0, 110.0};
    const struct carm_latency l = plateau(ns, 66.0);
    assert_true(l.seconds == 0.0);
    assert_non_null(strstr(l.note, "no working set lies in this level alone"));
}

/* The second level holds 8 MiB of pages without a miss, and at 12 MiB some miss: it has less than 3072. */
TEST(of_the_tlb)
{
    static struct carm_latency_point points[] = {{.working_set_bytes = 8 << 20},
                                                 {.working_set_bytes = 12 << 20},
                                                 {.working_set_bytes = 16 << 20}};
    static struct carm_latency_curve curves[] = {
        {.order = CARM_LATENCY_PAGES, .page_bytes = 4096, .points = points, .npoints = 3},
        {.order = CARM_LATENCY_RANDOM, .page_bytes = 4096, .points = points + 2, .npoints = 1}};
    static struct carm_latency levels[] = {{.level = "TLB1",
                                            .order = CARM_LATENCY_PAGES,
                                            .page_bytes = 4096,
                                            .seconds = 1e-9,
                                            .reach_bytes = 1 << 18},
                                           {.level = "TLB2",
                                            .order = CARM_LATENCY_PAGES,
                                            .page_bytes = 4096,
                                            .seconds = 2e-9,
                                            .reach_bytes = 8 << 20}};
    struct carm_model m = {
        .latency = levels, .nlatency = 2, .latency_curves = curves, .nlatency_curves = 2};
    assert_true(carm_latency_tlb_pages(&m) == 3072.0);
    levels[1].reach_bytes = 0; /* beyond the largest set */
    assert_true(carm_latency_tlb_pages(&m) == 0.0);
    m.nlatency = 1;
    assert_true(carm_latency_tlb_pages(&m) == 2048.0);
    m.nlatency = 0;
    assert_true(carm_latency_tlb_pages(&m) == 0.0);
}

/* 10 ns a load at best, 20 ns beside 16 instructions, 40 ns beside 31; a rate beside more instructions that is better is
 * noise. Beyond, as from 16 to 31, up to the latency of one load. */
TEST(loads_beside_instructions)
{
    enum { PAGE = 4096 };
    static struct carm_in_flight all[] = {
        {.level = "DRAM",
         .code = "scalar",
         .page_bytes = PAGE,
         .rate = 1e8,
         .latency_seconds = 80e-9},
        {.level = "DRAM", .code = CARM_BESIDE "1", .page_bytes = PAGE, .rate = 5e7},
        {.level = "DRAM", .code = CARM_BESIDE "16", .page_bytes = PAGE, .rate = 5e7},
        {.level = "L3", .code = CARM_BESIDE "20", .page_bytes = PAGE, .rate = 1e6},
        {.level = "DRAM", .code = CARM_BESIDE "20", .page_bytes = 2 * PAGE, .rate = 1e6},
        {.level = "DRAM", .code = CARM_BESIDE "31", .page_bytes = PAGE, .rate = 2.5e7},
        {.level = "DRAM", .code = CARM_BESIDE "46", .page_bytes = PAGE, .rate = 5e7}};
    static const double ns[][2] = {{0, 10},    {1, 10},  {8.5, 15}, {16, 20},
                                   {23.5, 30}, {31, 40}, {40, 40},  {60, 40}};
    struct carm_model model = {.in_flight = all, .nin_flight = sizeof all / sizeof *all};
    for (size_t i = 0; i < sizeof ns / sizeof *ns; i++) {
        assert_near(1e9 * carm_in_flight_beside(&model, ns[i][0]), ns[i][1], 1e-9);
    }
    model.nin_flight--;
    assert_near(1e9 * carm_in_flight_beside(&model, 46), 60, 1e-9);
    assert_near(1e9 * carm_in_flight_beside(&model, 100), 80, 1e-9);
    model.nin_flight = 1;
    assert_near(1e9 * carm_in_flight_beside(&model, 46), 10, 1e-9);
    model.nin_flight = 0;
    assert_near(carm_in_flight_beside(&model, 46), 0.0, 0.0);
}

/* Which figure: of the level, order and pages, and of those measured; of independent loads the fastest. */
TEST(figures_are_found)
{
    static struct carm_latency all[] = {
        {.level = "L2", .order = CARM_LATENCY_RANDOM, .page_bytes = 4096},
        {.level = "L2", .order = CARM_LATENCY_LINES, .page_bytes = 4096, .seconds = 1e-9},
        {.level = "L2", .order = CARM_LATENCY_RANDOM, .page_bytes = 2 << 20, .seconds = 2e-9},
        {.level = "L2", .order = CARM_LATENCY_RANDOM, .page_bytes = 4096, .seconds = 3e-9}};
    static struct carm_in_flight flights[] = {
        {.level = "L2", .code = "gather.avx2", .page_bytes = 4096, .rate = 9.0},
        {.level = "L2",
         .code = "scalar",
         .page_bytes = 4096,
         .rate = 1.0,
         .latency_seconds = 80e-9},
        {.level = "L2", .code = "scalar", .page_bytes = 2 << 20, .rate = 3.0},
        {.level = "L2", .code = "scalar", .page_bytes = 1 << 30, .rate = 2.0},
        {.level = "L3", .code = "scalar", .page_bytes = 4096, .rate = 0.0}};
    const struct carm_model m = {
        .latency = all, .nlatency = 4, .in_flight = flights, .nin_flight = 5};
    assert_ptr_equal(carm_latency_find(&m, "L2", CARM_LATENCY_RANDOM, 4096), &all[3]);
    assert_ptr_equal(carm_latency_find(&m, "L2", CARM_LATENCY_RANDOM, 0), &all[2]);
    assert_ptr_equal(carm_latency_find(&m, "L2", CARM_LATENCY_LINES, 0), &all[1]);
    assert_null(carm_latency_find(&m, "L2", CARM_LATENCY_LINES, 2 << 20));
    assert_null(carm_latency_find(&m, "L3", CARM_LATENCY_LINES, 0));
    assert_ptr_equal(carm_in_flight_find(&m, "L2"), &flights[2]);
    assert_null(carm_in_flight_find(&m, "L3"));
    assert_ptr_equal(carm_in_flight_of(&m, "L2", "scalar", 4096), &flights[1]);
    assert_ptr_equal(carm_in_flight_of(&m, "L2", "gather.avx2", 4096), &flights[0]);
    assert_null(carm_in_flight_of(&m, "L2", "scalar", 8192));
    assert_null(carm_in_flight_of(&m, "L3", "scalar", 4096));
    assert_near(carm_in_flight_lines(&flights[1], 8e9), 10.0,
                1e-9); /* 125e6 lines a second, 80 ns each */
    assert_string_equal(carm_latency_order_name(CARM_LATENCY_PAGES), "pages");
}

/* Twice the latency is half the rate, of streams where they are asked for. */
TEST(changed_latency)
{
    for (int streams = 0; streams < 2; streams++) {
        struct carm_latency all[] = {
            {.level = "DRAM", .seconds = 1.0, .cycles = 3.0, .ci95 = {0.5, 2.0}},
            {.level = "L3", .seconds = 1.0},
            {.level = "DRAM", .seconds = 5.0}};
        struct carm_in_flight flights[] = {
            {.level = "DRAM",
             .code = "scalar",
             .rate = 8.0,
             .latency_seconds = 1.0,
             .ci95 = {6.0, 10.0}},
            {.level = "DRAM", .code = CARM_STREAM_LOADS, .rate = 8.0, .latency_seconds = 1.0},
            {.level = "L3", .code = "scalar", .rate = 8.0, .latency_seconds = 1.0}};
        struct carm_model m = {
            .latency = all, .nlatency = 3, .in_flight = flights, .nin_flight = 3};
        assert_int_equal(carm_latency_scale(&m, "DRAM", 2.0, streams), 2);
        assert_true(all[0].seconds == 2.0 && all[0].cycles == 6.0 && all[0].ci95.lo == 1.0 &&
                    all[0].ci95.hi == 4.0);
        assert_true(all[1].seconds == 1.0 && all[2].seconds == 10.0);
        assert_true(flights[0].rate == 4.0 && flights[0].latency_seconds == 2.0 &&
                    flights[0].ci95.lo == 3.0 && flights[0].ci95.hi == 5.0);
        assert_near(flights[1].rate, streams ? 4.0 : 8.0, 0.0);
        assert_near(flights[2].rate, 8.0, 0.0);
        assert_int_equal(carm_latency_scale(&m, "L1", 2.0, true), 0);
    }
    for (int clock = 0; clock < 2; clock++) {
        struct carm_memory_roof r = {.bandwidth = 4.0, .bytes_per_cycle = 2.0, .ci95 = {3.0, 5.0}};
        carm_memory_roof_scale(&r, 0.5, clock);
        assert_true(r.bandwidth == 2.0 && r.ci95.lo == 1.5 && r.ci95.hi == 2.5);
        assert_near(r.bytes_per_cycle, clock ? 2.0 : 1.0, 0.0);
    }
}

/* All of a plateau: its median point with the interval of all its points, its reach, a disturbed point; points of 25% more
 * are of it, and of more are not. */
TEST(of_points_in_a_row)
{
    static const struct {
        double ns[N], below;
        double size, seconds, lo, hi, reach;
        bool noted;
    } cases[] = {
        {{10.0, 12.4, 12.49, 10.1, 10.2, 10.3, 10.4, 60.0, 110.0, 120.0},
         72.0,
         5.66,
         10.1,
         9.9,
         12.6149,
         16.0,
         false},
        /* 12.6 is too much beside 10: the five behind it are a longer run than the two before */
        {{10.0, 10.0, 12.6, 12.0, 12.1, 12.2, 12.3, 60.0, 110.0, 120.0},
         72.0,
         8.0,
         12.1,
         11.88,
         12.726,
         16.0,
         false},
        /* two runs of three: the first; what follows later on the same height is reached, beyond the cache, too */
        {{10.0, 10.1, 10.2, 15.0, 15.1, 15.2, 30.0, 12.0, 12.6, 13.0},
         72.0,
         2.83,
         10.1,
         9.9,
         10.302,
         64.0,
         true},
        /* slower than twice the fastest, or than the level behind: not of this level */
        {{10.0, 20.1, 20.2, 20.3, 20.4, 20.5, 20.6, 60.0, 110.0, 120.0},
         72.0,
         2.0,
         10.0,
         9.9,
         10.1,
         2.0,
         false},
        {{10.0, 19.7, 19.8, 19.9, 19.9, 19.9, 19.9, 60.0, 110.0, 120.0},
         72.0,
         8.0,
         19.9,
         19.503,
         20.099,
         16.0,
         false},
        {{10.0, 19.7, 19.8, 19.9, 19.9, 19.9, 19.9, 60.0, 110.0, 120.0},
         15.0,
         2.0,
         10.0,
         9.9,
         10.1,
         2.0,
         false},
        {{10.0, 11.0, 11.0, 24.0, 25.1, 24.0, 25.1, 60.0, 110.0, 120.0},
         72.0,
         2.83,
         11.0,
         9.9,
         11.11,
         4.0,
         false},
        {{10.0, 11.0, 11.0, 24.0, 25.1, 24.0, 27.6, 60.0, 110.0, 120.0},
         72.0,
         2.83,
         11.0,
         9.9,
         11.11,
         4.0,
         true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct carm_latency l = plateau(cases[i].ns, cases[i].below);
        assert_near(1e9 * l.seconds, cases[i].seconds, 1e-9);
        assert_near(l.cycles, 3.7 * cases[i].seconds, 1e-9);
        assert_near(1e9 * l.ci95.lo, cases[i].lo, 1e-6);
        assert_near(1e9 * l.ci95.hi, cases[i].hi, 1e-6);
        assert_int_equal(l.working_set_bytes, (uint64_t)(cases[i].size * (1 << 20)));
        assert_int_equal(l.reach_bytes, (uint64_t)(cases[i].reach * (1 << 20)));
        assert_int_equal(l.note[0] != '\0', cases[i].noted);
        assert_false(l.disturbed);
    }
}

/* Four rounds or more that agree within 1%, or 0.02 cycles; the interval has them all, and half a percent each side. */
TEST(rounds_of_a_core)
{
    static const struct {
        double rounds[6];
        size_t n;
        double figure, lo, hi;
        bool agree;
    } cases[] = {
        {{4.0, 4.01, 4.02, 4.04}, 4, 4.02, 3.9999, 4.0401, true},
        {{4.04, 4.02, 4.01, 4.0, 9.0, 4.041}, 6, 4.02, 3.9999, 4.0401, true},
        {{4.0, 4.01, 4.02, 4.041}, 4, 4.0, 3.98, 4.02, false},
        {{4.0, 4.01, 4.03, 4.041}, 4, 4.0, 3.98, 4.03, false},
        {{1.0, 4.0, 4.01, 4.02, 4.04}, 5, 4.02, 3.9999, 4.0401, true},
        {{0.5, 0.51, 0.52, 0.519}, 4, 0.519, 0.5, 0.521595, true},
        {{0.5, 0.51, 0.521, 0.519}, 4, 0.5, 0.4975, 0.519, false},
        {{7.0, 7.0, 7.0, 7.0, 7.0}, 5, 7.0, 6.965, 7.035, true},
        {{7.0}, 1, 7.0, 6.965, 7.035, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double rounds[6], figure = 0.0;
        struct carm_ci ci;
        memcpy(rounds, cases[i].rounds, sizeof rounds);
        assert_int_equal(carm_core_estimate(rounds, cases[i].n, 0.01, 0.005, &figure, &ci),
                         cases[i].agree);
        assert_near(figure, cases[i].figure, 1e-12);
        assert_near(ci.lo, fmin(cases[i].lo, 0.995 * cases[i].figure), 1e-9);
        assert_near(ci.hi, fmax(cases[i].hi, 1.005 * cases[i].figure), 1e-9);
    }
    static const struct {
        struct carm_core_figure f;
        double factor;
    } together[] = {
        {{.throughput = 2.0,
          .latency = 3.0,
          .together = {.threads = 4, .throughput = 5.0, .latency = 9.0}},
         2.5},
        {{.throughput = 2.0, .latency = 3.0, .together = {.threads = 4, .latency = 9.0}}, 3.0},
        {{.latency = 3.0, .together = {.threads = 4, .throughput = 5.0, .latency = 9.0}}, 3.0},
        {{.throughput = 2.0, .together = {.threads = 4}}, 0.0},
        {{.throughput = 2.0, .together = {.threads = 0, .throughput = 5.0}}, 0.0},
        {{.throughput = 2.0, .disturbed = true, .together = {.threads = 4, .throughput = 5.0}},
         0.0},
        {{.throughput = 2.0, .together = {.threads = 4, .throughput = 5.0, .disturbed = true}},
         0.0}};
    for (size_t i = 0; i < sizeof together / sizeof *together; i++) {
        assert_near(carm_core_together_factor(&together[i].f), together[i].factor, 1e-12);
    }
}
