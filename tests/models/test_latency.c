/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plateau of a level in a curve of dependent loads. */
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
        {.order = CARM_LATENCY_RANDOM, .page_bytes = 4096, .points = points + 2, .npoints = 1},
        {.order = CARM_LATENCY_PAGES, .page_bytes = 4096, .points = points, .npoints = 3}};
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
    model.nin_flight = 0;
    assert_near(carm_in_flight_beside(&model, 46), 0.0, 0.0);
}
