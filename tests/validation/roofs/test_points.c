/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurements on their way into a model. */
#include "tests/unit.h"
#include "validation/roofs/points.h"

/* Rounds of planted rates, as a series of that code. */
static struct carm_series series_of(const struct carm_code *code, const double *rates, size_t n)
{
    struct carm_series s = {
        .code = code,
        .work = 100.0,
        .reps = 64 * n,
        .shape = {.iterations = 4, .passes = 2, .windows = 3, .window_bytes = 64},
        .spread = {20.0, 25.0, 80.0, 100.0}};
    for (size_t i = 0; i < n; i++) {
        s.rounds[s.n++] =
            (struct carm_round){.rate = rates[i], .clock_hz = 25.0, .at = 1e9 + (double)i};
    }
    return s;
}

TEST(figures_of_rounds)
{
    static const struct carm_clock clock = {.tsc_hz = 1e9, .tick_quantum = 1.0};
    static const struct carm_code compute = {.spec = {.kind = CARM_KIND_B, .op = CARM_FMA},
                                             .name = "B.avx2.dp.fma.f40.c10"};
    static const struct carm_code memory = {
        .spec = {.kind = CARM_KIND_A, .mix = {.loads = 2, .stores = 1}, .streams = 3},
        .account = {.stride_bytes = 96},
        .name = "A.avx2.dp.2:1.u8"};
    const double rates[] = {49.0, 50.0, 51.0};
    struct carm_series s = series_of(&compute, rates, 3);
    struct carm_build_result result = {
        .series = &s, .threads = 1, .disturbed = true, .note = "why"};
    struct carm_roofs roofs;
    memset(&roofs, 0, sizeof roofs);
    carm_series_estimate(&s, &clock, &result.pooled);
    assert_ok(carm_build_add_compute(&roofs, &result, &err));
    const struct carm_compute_roof *r = &roofs.compute[0];
    assert_true(r->rate == 50.0 && r->clock_hz == 25.0 && r->flops_per_cycle == 2.0);
    assert_true(r->spread.min == 20.0 && r->spread.max == 100.0);
    assert_true(r->ci95.lo < 49.0 && r->ci95.hi > 51.0);
    assert_string_equal(r->op, "fma");
    assert_string_equal(r->counted_by, "constructed");
    assert_string_equal(r->note, "why");
    assert_true(r->disturbed && r->reps == 192 && r->nrounds == 3);
    assert_true(r->rounds[2].rate == 51.0);
    s = series_of(&memory, rates, 3);
    result.threads = 2;
    assert_ok(carm_build_add_memory(&roofs, "L2", &result, &err));
    const struct carm_memory_roof *m = &roofs.memory[0];
    assert_true(m->bandwidth == 50.0 && m->bytes_per_cycle == 1.0);
    assert_true(m->working_set_bytes == 2 * 3 * 3 * 64 && m->window_bytes == 64 && m->passes == 2);
    assert_string_equal(m->ldst, "2:1");
    free(roofs.compute[0].rounds);
    free(roofs.compute);
    free(roofs.memory[0].rounds);
    free(roofs.memory);
}

/* Seen on a busier one: a bandwidth of -4e12 in a curve. */
TEST(no_point_of_a_time_below_zero)
{
    struct carm_pooled pooled = {.rate = 50.0, .ci95 = {40.0, 60.0}, .sound = true};
    struct carm_curve curve;
    memset(&curve, 0, sizeof curve);
    assert_ok(carm_build_add_pooled_point(&curve, 1.0, &pooled, &err));
    pooled.ci95.lo = -1e-12;
    assert_ok(carm_build_add_pooled_point(&curve, 2.0, &pooled, &err));
    pooled.rate = -1e-12;
    assert_ok(carm_build_add_pooled_point(&curve, 3.0, &pooled, &err));
    assert_int_equal(curve.npoints, 1);
    assert_true(curve.points[0].x == 1.0 && curve.points[0].value == 50.0);
    free(curve.points);
}

/* Levels of a set whose curve shows them less clearly than that of fewer threads; a set may have more levels than the model. */
TEST(levels_that_more_threads_hide)
{
    static const struct {
        bool borrowed, here, before;
        const char *had, *note;
    } rows[] = {
        {true, true, true, "",
         "the curve of 4 threads shows no clear plateau here: the working sets of fewer threads "
         "are used"},
        {true, false, false, "late",
         "late; the curve of 4 threads shows no clear plateau here: the working sets of fewer "
         "threads are used"},
        {false, false, true, "",
         "the curve of 4 threads shows no clear plateau here, so it has no roof"},
        {false, false, false, "why", "why"},
        {false, true, true, "", ""},
        {false, true, false, "", ""}};
    enum { N = sizeof rows / sizeof *rows };
    struct carm_level levels[N];
    struct carm_build_levels more;
    struct carm_model m = {.levels = levels, .nlevels = N};
    memset(levels, 0, sizeof levels);
    memset(&more, 0, sizeof more);
    for (size_t i = 0; i < N; i++) {
        levels[i].resolved = rows[i].before;
        (void)strcpy(levels[i].note, rows[i].had);
        more.levels[i] = (struct carm_build_level){.borrowed = rows[i].borrowed,
                                                   .range = {.resolved = rows[i].here}};
    }
    more.levels[N].borrowed = true;
    carm_build_note_levels(&m, &more, 4); /* of no level */
    assert_string_equal(levels[0].note, "");
    more.n = N + 1;
    carm_build_note_levels(&m, &more, 4);
    for (size_t i = 0; i < N; i++) {
        assert_string_equal(levels[i].note, rows[i].note);
    }
}

/* The clock of a set is the median of its roofs', memory and compute alike. */
TEST(clock_of_a_set)
{
    struct carm_memory_roof memory[2] = {{.clock_hz = 5.0}, {.clock_hz = 1.0}};
    struct carm_compute_roof compute[1] = {{.clock_hz = 3.0}};
    struct carm_roofs roofs;
    memset(&roofs, 0, sizeof roofs);
    roofs.clock_hz = 7.0;
    carm_build_roofs_clock(&roofs);
    assert_near(roofs.clock_hz, 0.0, 0.0);
    roofs.memory = memory;
    roofs.compute = compute;
    roofs.nmemory = 2;
    carm_build_roofs_clock(&roofs);
    assert_near(roofs.clock_hz, 3.0, 0.0); /* between both */
    roofs.ncompute = 1;
    compute[0].clock_hz = 4.0;
    carm_build_roofs_clock(&roofs);
    assert_near(roofs.clock_hz, 4.0, 0.0);
}
