/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Test code C over one level: what the repair marks and replaces, what a point says of itself, and
 * the quick choice among schedules. Planted values are far beyond any real one, so that no timing
 * decides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asm/code.h"
#include "harness/search.h"
#include "models/validation.h"
#include "tests/models/near.h"
#include "validation/validate/sweep.h"

enum { N = CARM_GRID_POINTS, REPS = 16, SET_BYTES = 16384 };

static const struct carm_validation_set set = {"sse", "dp", "mad", 1};
static struct carm_level levels[] = {{.level = "L1"}, {.level = "L2"}, {.level = "DRAM"}};
static struct carm_model model = {
    .config = {.ldst = "2:1"}, .levels = levels, .nlevels = sizeof levels / sizeof *levels};

/* ---- a sweep that is repaired without a measurement ------------------------------------------ */

/* Points of a quiet level: with more flops a byte takes longer and a flop less long, code A steady. */
static void quiet(struct carm_sweep *s, struct carm_budget *budget)
{
    *budget = (struct carm_budget){.seconds = 0.0};
    *s = (struct carm_sweep){.model = &model, .set = &set, .level = 2, .budget = budget};
    for (size_t g = 0; g < N; g++) {
        s->points[g] =
            (struct carm_validation_point){.flops = 1e3 * carm_grid_intensity(g),
                                           .bytes = 1e3,
                                           .seconds = 1e-6 * (1.0 + carm_grid_intensity(g)),
                                           .beside = 10e9};
    }
}

static void marks_points_among_neighbours(void **state)
{
    (void)state;
    static const struct {
        size_t grid;
        double beside;
        const char *note; /* NULL: ordinary spread */
    } cases[] = {
        {0, 10.8e9, "code A beside it was 8% from its usual speed: neighbours"},
        {5, 9.2e9, "code A beside it was 8% from its usual speed: neighbours"},
        {9, 10.6e9, NULL},
        {10, 9.4e9, NULL},
        {N - 1, 2.5e9, "code A beside it was 75% from its usual speed: neighbours"},
    };
    struct carm_sweep s;
    struct carm_budget budget;
    quiet(&s, &budget);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s.points[cases[i].grid].beside = cases[i].beside;
    }
    s.points[20].beside = 5e9; /* known before to be disturbed: the reason stays */
    s.points[20].disturbed = true;
    (void)strcpy(s.points[20].note, "preempted");
    struct carm_validation_point wanted[N];
    memcpy(wanted, s.points, sizeof wanted);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].note) {
            wanted[cases[i].grid].disturbed = true;
            (void)strcpy(wanted[cases[i].grid].note, cases[i].note);
        }
    }
    carm_sweep_repair(&s);
    for (size_t g = 0; g < N; g++) {
        if (memcmp(&s.points[g], &wanted[g], sizeof *wanted) != 0) {
            fail_msg("point %zu: disturbed %d, \"%s\"", g, s.points[g].disturbed, s.points[g].note);
        }
    }
}

/* Usual is the median: a third of the points far off neither moves it nor hides. */
static void usual_is_the_median(void **state)
{
    (void)state;
    struct carm_sweep s;
    struct carm_budget budget;
    quiet(&s, &budget);
    for (size_t g = 0; g < 10; g++) {
        s.points[g].beside = 2e9 + 1e8 * (double)g;
    }
    carm_sweep_repair(&s);
    for (size_t g = 0; g < N; g++) {
        assert_int_equal(s.points[g].disturbed, g < 10);
    }
}

/* Levels that a core has for itself have nothing beside their points: nothing to mark. */
static void private_levels_have_no_neighbours(void **state)
{
    (void)state;
    struct carm_sweep s;
    struct carm_budget budget;
    quiet(&s, &budget);
    for (size_t g = 0; g < N; g++) {
        s.points[g].beside = 0.0;
    }
    carm_sweep_repair(&s);
    for (size_t g = 0; g < N; g++) {
        assert_false(s.points[g].disturbed);
        assert_string_equal(s.points[g].note, "");
    }
}

/* Points slower than such with more flops stay as they are once the budget is spent. There is no
 * team here: a measurement would not go unnoticed. */
static void a_spent_budget_measures_nothing(void **state)
{
    (void)state;
    struct carm_sweep s;
    struct carm_budget budget;
    struct carm_validation_point before[N];
    quiet(&s, &budget);
    s.points[3].seconds = 1.0;
    s.points[7].seconds = 2e-5;
    memcpy(before, s.points, sizeof before);
    carm_sweep_repair(&s);
    assert_memory_equal(s.points, before, sizeof before);
    budget.seconds = -1.0; /* the last attempt took longer than was left */
    carm_sweep_repair(&s);
    assert_memory_equal(s.points, before, sizeof before);
    assert_near(budget.seconds, -1.0, 0.0);
    /* points that need no repair cost none of what is left */
    quiet(&s, &budget);
    budget.seconds = 1.0;
    memcpy(before, s.points, sizeof before);
    carm_sweep_repair(&s);
    assert_memory_equal(s.points, before, sizeof before);
    assert_near(budget.seconds, 1.0, 0.0);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static void shapes_by_hand(void **state)
{
    (void)state;
    static const struct {
        uint64_t stride, set_bytes, want;
        struct carm_shape shape; /* iterations, passes, windows, bytes of a window */
    } cases[] = {
        {0, 0, 77, {77, 1, 1, 0}}, /* no memory: iterations alone */
        {0, 4096, 0, {1, 1, 1, 0}},
        {100, 1050, 25, {10, 3, 1, 1000}}, /* 10 cover the set: whole passes, rounded up */
        {100, 1050, 30, {10, 3, 1, 1000}},
        {100, 1050, 31, {10, 4, 1, 1000}},
        {100, 1050, 10, {10, 1, 1, 1000}},
        {100, 1050, 9, {5, 1, 2, 500}}, /* less: windows of the same size, at most as asked */
        {100, 1050, 5, {5, 1, 2, 500}},
        {100, 1050, 4, {3, 1, 3, 300}},
        {100, 1050, 1, {1, 1, 10, 100}},
        {100, 1050, 0, {1, 1, 10, 100}},
        {100, 99, 6, {1, 6, 1, 100}},                          /* one iteration is the least */
        {64, (uint64_t)1 << 31, 1000, {999, 1, 33555, 63936}}, /* 2 GiB */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct carm_code code = {.account = {.stride_bytes = cases[i].stride}};
        struct carm_shape shape;
        carm_measure_shape_of(&code, cases[i].set_bytes, cases[i].want, &shape);
        if (memcmp(&shape, &cases[i].shape, sizeof shape) != 0) {
            fail_msg("case %zu: %llu iterations, %llu passes, %llu windows of %llu bytes", i,
                     (unsigned long long)shape.iterations, (unsigned long long)shape.passes,
                     (unsigned long long)shape.windows, (unsigned long long)shape.window_bytes);
        }
    }
}

/* ---- real runs ------------------------------------------------------------------------------- */

static struct carm_topo *topo;
static struct carm_clock tsc;
static struct carm_validate_plan plan;
static struct carm_team *team;
static char why_not[600]; /* "" when real runs are possible */

static int set_up(void **state)
{
    (void)state;
    static struct carm_memory_roof memory[] = {
        {.level = "L1", .ldst = "2:1", .code = "A.sse.dp.2:1.u4"},
        {.level = "L1", .ldst = "2:1", .code = "A.sse.dp.2:1.u8"}};
    static struct carm_roofs roofs = {
        .isa = "sse", .precision = "dp", .memory = memory, .nmemory = 2};
    static const struct carm_plan_target target = {CARM_SSE, CARM_DP, CARM_MAD};
    struct carm_err err = {""};
    model.roofs = &roofs;
    model.nroofs = 1;
    int rc = carm_topo_open(&topo, NULL, NULL, &err);
    rc = rc ? rc : carm_clock_open(&tsc, &err);
    rc = rc ? rc : carm_validate_plan_open(&plan, &model, &target, 1, true, &err);
    rc = rc ? rc : carm_team_open(&team, topo, &tsc, 1, (size_t)4 << 20, 128, &err);
    if (rc == 0) {
        carm_measure_calibrate(team, plan.empty);
    } else if (rc == -CARM_ENOTSUP) { /* no nasm, no usable TSC, no right to pin */
        (void)snprintf(why_not, sizeof why_not, "%s", err.text);
        rc = 0;
    }
    return rc;
}

static int tear_down(void **state)
{
    (void)state;
    carm_team_close(team);
    carm_validate_plan_close(&plan);
    carm_topo_close(topo);
    return 0;
}

static void need_a_machine(void)
{
    if (why_not[0]) {
        print_message("skipped: %s\n", why_not);
        skip();
    }
}

/* All of the set but less than an iteration for each window and one. */
static void assert_covers(const struct carm_shape *s, uint64_t stride, uint64_t set_bytes)
{
    const uint64_t all = s->windows * s->window_bytes;
    assert_true(s->iterations >= 1 && s->passes >= 1 && s->windows >= 1);
    assert_int_equal(s->window_bytes, s->iterations * stride);
    assert_true(all <= set_bytes);
    assert_true(all + (s->windows + 1) * stride > set_bytes);
}

static void picks_one_of_equal_codes(void **state)
{
    (void)state;
    need_a_machine();
    const struct carm_code *codes[] = {carm_validate_plan_find(&plan, "A.sse.dp.2:1.u4"),
                                       carm_validate_plan_find(&plan, "A.sse.dp.2:1.u8")};
    for (int search = CARM_SEARCH_CORE; search <= CARM_SEARCH_MEMORY; search++) {
        double rate = 0.0;
        struct carm_shape shape;
        const size_t k = carm_measure_pick(team, codes, 2, SET_BYTES, CARM_TARGET_CORE,
                                           (enum carm_search)search, &shape, &rate);
        assert_in_range(k, 0, 1);
        assert_true(rate > 0.0 && isfinite(rate));
        assert_covers(&shape, codes[k]->account.stride_bytes, SET_BYTES);
    }
    struct carm_shape shape;
    assert_int_equal(carm_measure_pick(team, codes + 1, 1, SET_BYTES, CARM_TARGET_CORE,
                                       CARM_SEARCH_CORE, &shape, NULL),
                     0);
    assert_covers(&shape, codes[1]->account.stride_bytes, SET_BYTES);
}

/* Four loads beside 32 divisions are no match for loads alone, wherever in the list. The shape is
 * the chosen code's. */
static void picks_the_better_code(void **state)
{
    (void)state;
    need_a_machine();
    struct carm_code_spec specs[4];
    struct carm_err err;
    struct carm_image *image = NULL;
    const struct carm_code *codes[4];
    for (size_t best = 0; best < 4; best += 3) {
        for (size_t i = 0; i < 4; i++) {
            const char *name = i == best ? "A.scalar.dp.1:0.u8" : "C.scalar.dp.1:0.div.u4.f32.c8";
            assert_int_equal(carm_code_parse(name, &specs[i], &err), 0);
        }
        assert_int_equal(carm_image_open(&image, specs, 4, &err), 0);
        for (size_t i = 0; i < 4; i++) {
            codes[i] = &image->codes[i];
        }
        struct carm_shape shape;
        assert_int_equal(carm_measure_pick(team, codes, 4, SET_BYTES, CARM_TARGET_CORE,
                                           CARM_SEARCH_CORE, &shape, NULL),
                         best);
        assert_covers(&shape, codes[best]->account.stride_bytes, SET_BYTES);
        carm_image_close(image);
    }
}

static void open_sweep(struct carm_sweep *s, size_t level, uint64_t set_bytes,
                       struct carm_budget *budget)
{
    *s = (struct carm_sweep){.team = team,
                             .model = &model,
                             .plan = &plan,
                             .set = &set,
                             .level = level,
                             .a = carm_validate_plan_find(&plan, "A.sse.dp.2:1.u4"),
                             .set_bytes = set_bytes,
                             .reps = REPS,
                             .budget = budget};
}

static void points_account_for_all_work(void **state)
{
    (void)state;
    need_a_machine();
    static const uint64_t sizes[] = {SET_BYTES, 65536, 262144};
    struct carm_budget budget = {.seconds = 0.0};
    struct carm_sweep s;
    for (size_t level = 0; level < 3; level++) {
        open_sweep(&s, level, sizes[level], &budget);
        carm_sweep_point(&s, 10);
        const struct carm_validation_point *p = &s.points[10];
        const struct carm_code *code = carm_validate_plan_find(&plan, p->code);
        uint64_t flops = 0;
        uint64_t bytes = 0;
        assert_non_null(code);
        carm_code_intensity(&code->spec, &flops, &bytes);
        assert_true(carm_validation_set_equal(&p->set, &set));
        assert_string_equal(p->level, levels[level].level);
        assert_near(p->flops * (double)bytes, p->bytes * (double)flops, 0.0); /* exact */
        assert_near(p->slots / p->flops,
                    (double)carm_account_slots(&code->account) / (double)code->account.flops,
                    1e-12);
        assert_true(p->seconds > 0.0 && p->reps == REPS);
        assert_true(p->ci95.lo <= p->flops / p->seconds && p->flops / p->seconds <= p->ci95.hi);
        assert_true(p->working_set_bytes <= sizes[level] &&
                    p->working_set_bytes > sizes[level] / 2);
        assert_string_equal(p->counted_by, "constructed");
        /* 2:1 misses at 4/3 as far as the set's home, then once in all repetitions */
        assert_int_equal(p->ntraffic, 2);
        for (size_t link = 1; link < 3; link++) {
            const double wanted =
                link <= level ? p->bytes * 4 / 3 : (double)p->working_set_bytes / REPS;
            assert_near(p->traffic[link - 1], wanted, 1e-9 * wanted);
        }
        assert_true((p->beside > 0.0) == (level > 0)); /* shared levels */
        assert_true((s.control_shape.iterations > 0) == (level > 0));
    }
}

/* One point is measured anew, no other changes. */
static void assert_repairs_only(struct carm_sweep *s, size_t grid)
{
    struct carm_validation_point before[N];
    memcpy(before, s->points, sizeof before);
    carm_sweep_repair(s);
    const struct carm_validation_point *p = &s->points[grid];
    assert_int_equal(p->reps, REPS);
    assert_near(p->flops / p->bytes, carm_grid_intensity(grid), 0.01 * carm_grid_intensity(grid));
    before[grid] = *p;
    assert_memory_equal(s->points, before, sizeof before);
}

/* One point took 1000 s a byte, those with more flops 1 s, those with less next to nothing; a flop took
 * 1 s with few of them and next to nothing with many. */
static void a_slow_point_is_measured_again(void **state)
{
    (void)state;
    need_a_machine();
    struct carm_budget budget = {.seconds = 60.0};
    struct carm_sweep s;
    open_sweep(&s, 0, SET_BYTES, &budget);
    for (size_t g = 0; g < N; g++) {
        s.points[g] = (struct carm_validation_point){.flops = g < 14   ? 1e-20
                                                              : g > 14 ? 1e20
                                                                       : 1.0,
                                                     .bytes = 1.0,
                                                     .seconds = g < 14   ? 1e-20
                                                                : g > 14 ? 1.0
                                                                         : 1e3};
    }
    assert_repairs_only(&s, 14);
    assert_true(budget.seconds < 60.0);
    assert_true(s.points[14].seconds / s.points[14].bytes < 1.0);
}

/* The last point has none with more flops beside it: it took 1000 s a flop where others took 1, for
 * many more bytes. */
static void a_point_slow_for_its_flops_is_measured_again(void **state)
{
    (void)state;
    need_a_machine();
    struct carm_budget budget = {.seconds = 60.0};
    struct carm_sweep s;
    open_sweep(&s, 0, SET_BYTES, &budget);
    for (size_t g = 0; g < N; g++) {
        s.points[g] = (struct carm_validation_point){
            .flops = 1.0, .bytes = g + 1 < N ? 1e20 : 1.0, .seconds = g + 1 < N ? 1.0 : 1e3};
    }
    assert_repairs_only(&s, N - 1);
    assert_true(s.points[N - 1].seconds / s.points[N - 1].flops < 1.0);
}

/* Beside one point code A had 1200 byte/s, beside the others 1000; whatever it has now is further
 * away: the old point stays and is marked. After three attempts no more are made. */
static void of_two_disturbed_points_the_nearer_stays(void **state)
{
    (void)state;
    need_a_machine();
    struct carm_budget budget = {.seconds = 60.0};
    struct carm_validation_point before[N];
    struct carm_sweep s;
    open_sweep(&s, 2, 65536, &budget);
    for (size_t g = 0; g < N; g++) {
        s.points[g] = (struct carm_validation_point){
            .flops = 1.0, .bytes = 1.0, .seconds = 1.0, .beside = g == 4 ? 1200.0 : 1000.0};
    }
    memcpy(before, s.points, sizeof before);
    carm_sweep_repair(&s);
    before[4].disturbed = true;
    (void)strcpy(before[4].note, "code A beside it was 20% from its usual speed: neighbours");
    assert_memory_equal(s.points, before, sizeof before);
    assert_true(budget.seconds < 60.0 && budget.seconds > 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_points_among_neighbours),
        cmocka_unit_test(usual_is_the_median),
        cmocka_unit_test(private_levels_have_no_neighbours),
        cmocka_unit_test(a_spent_budget_measures_nothing),
        cmocka_unit_test(shapes_by_hand),
        cmocka_unit_test(picks_one_of_equal_codes),
        cmocka_unit_test(picks_the_better_code),
        cmocka_unit_test(points_account_for_all_work),
        cmocka_unit_test(a_slow_point_is_measured_again),
        cmocka_unit_test(a_point_slow_for_its_flops_is_measured_again),
        cmocka_unit_test(of_two_disturbed_points_the_nearer_stays),
    };
    return cmocka_run_group_tests_name("sweep", tests, set_up, tear_down);
}
