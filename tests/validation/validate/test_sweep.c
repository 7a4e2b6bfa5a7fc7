/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Test code C over one level: what the repair marks and replaces, what a point says of itself, and
 * the quick choice among schedules. Planted values are far beyond any real one, so that no timing
 * decides. */
#include "asm/code.h"
#include "harness/machine/search.h"
#include "models/validation.h"
#include "tests/unit.h"
#include "validation/validate/sweep.h"

enum { N = CARM_GRID_POINTS, REPS = 16, SET_BYTES = 16384 };

static const struct carm_validation_set set = {"sse", "dp", "mad", 1};
static struct carm_level levels[] = {{.level = "L1"}, {.level = "L2"}, {.level = "DRAM"}};
static struct carm_model model = {
    .config = {.ldst = "2:1"}, .levels = levels, .nlevels = sizeof levels / sizeof *levels};

/* Points of a roofline: none takes longer than one with more work. One that does is found by as much as
 * it is slow, whichever side of the ridge it lies on. */
TEST(slow_points_are_found)
{
    double intensity[N];
    double performance[N];
    double excess[N];
    for (size_t slow = 0; slow < N; slow++) {
        for (size_t g = 0; g < N; g++) {
            intensity[g] = carm_grid_intensity(g);
            performance[g] = fmin(10.0 * intensity[g], 20.0);
        }
        performance[slow] *= 0.8;
        carm_sweep_excess(intensity, performance, N, excess);
        for (size_t g = 0; g < N; g++) {
            /* at the ridge itself no other point shows it */
            const bool shows = g == slow && fabs(intensity[g] - 2.0) > 1e-9;
            assert_near(excess[g], shows ? 0.25 : 0.0, 1e-9);
        }
    }
}

/* A model's form is right when each round's point lies where codes A and B of the same rounds put it,
 * however they moved together. */
TEST(pairs_cancel_what_both_saw)
{
    struct carm_round rounds[8];
    struct carm_sweep_beside beside[8];
    for (size_t i = 0; i < 8; i++) {
        const double speed = 1.0 + 0.1 * (double)i;
        rounds[i] = (struct carm_round){.rate = 9.0 * speed};
        beside[i] = (struct carm_sweep_beside){.attainable = 10.0 * speed, .sound = true};
    }
    assert_near(carm_sweep_paired(18.0, rounds, beside, 8), 20.0, 1e-9);
    /* rounds of another state do not count ... */
    for (size_t i = 3; i < 8; i++) {
        rounds[i].rate *= 0.5;
        rounds[i].state = i % 2 ? CARM_STATE_SHARED : CARM_STATE_QUIET;
        beside[i].sound = i % 2;
    }
    assert_near(carm_sweep_paired(18.0, rounds, beside, 8), 20.0, 1e-9);
    /* ... unless there are hardly others; what was not measured never does */
    beside[0].attainable = 0.0;
    assert_near(carm_sweep_paired(18.0, rounds, beside, 8), 40.0, 1e-9);
    assert_near(carm_sweep_paired(18.0, rounds, beside, 1), 0.0, 0.0);
    assert_near(carm_sweep_paired(18.0, rounds, beside, 0), 0.0, 0.0);
}

TEST(shapes_by_hand)
{
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
        fail_if(memcmp(&shape, &cases[i].shape, sizeof shape) != 0,
                "case %zu: %llu iterations, %llu passes, %llu windows of %llu bytes", i,
                (unsigned long long)shape.iterations, (unsigned long long)shape.passes,
                (unsigned long long)shape.windows, (unsigned long long)shape.window_bytes);
    }
}

static struct carm_topo *topo;
static struct carm_clock tsc;
static struct carm_validate_plan plan;
static struct carm_team *team;
static char why_not[600]; /* "" when real runs are possible */

static int set_up(void **state)
{
    static struct carm_memory_roof memory[] = {
        {.level = "L1", .ldst = "2:1", .code = "A.sse.dp.2:1.u4"},
        {.level = "L1", .ldst = "2:1", .code = "A.sse.dp.2:1.u8"}};
    static struct carm_compute_roof compute[] = {{.op = "mad", .code = "B.sse.dp.mad.f48.c8"}};
    static struct carm_roofs roofs = {.isa = "sse",
                                      .precision = "dp",
                                      .memory = memory,
                                      .nmemory = 2,
                                      .compute = compute,
                                      .ncompute = 1};
    static const struct carm_plan_target target = {CARM_SSE, CARM_DP, CARM_MAD};
    err = (struct carm_err){""};
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
    carm_team_close(team);
    carm_validate_plan_close(&plan);
    carm_topo_close(topo);
    return 0;
}

static void need_a_machine(void)
{
    skip_if(why_not[0], "%s", why_not);
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

TEST(picks_one_of_equal_codes)
{
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
TEST(picks_the_better_code)
{
    need_a_machine();
    struct carm_code_spec specs[4];
    struct carm_image *image = NULL;
    const struct carm_code *codes[4];
    for (size_t best = 0; best < 4; best += 3) {
        for (size_t i = 0; i < 4; i++) {
            const char *name = i == best ? "A.scalar.dp.1:0.u8" : "C.scalar.dp.1:0.div.u4.f32.c8";
            assert_ok(carm_code_parse(name, &specs[i], &err));
        }
        assert_ok(carm_image_open(&image, specs, 4, &err));
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

static void open_sweep(struct carm_sweep *s, size_t level, uint64_t set_bytes)
{
    *s = (struct carm_sweep){.team = team,
                             .model = &model,
                             .plan = &plan,
                             .set = &set,
                             .level = level,
                             .a = carm_validate_plan_find(&plan, "A.sse.dp.2:1.u4"),
                             .b = carm_validate_plan_find(&plan, "B.sse.dp.mad.f48.c8"),
                             .set_bytes = set_bytes,
                             .reps = REPS};
    assert_non_null(s->b);
    assert_ok(carm_sweep_open(s, &err));
}

TEST(points_account_for_all_work)
{
    need_a_machine();
    static const uint64_t sizes[] = {SET_BYTES, 65536, 262144};
    struct carm_sweep s;
    bool wanted[N] = {[10] = true};
    for (size_t level = 0; level < 3; level++) {
        struct carm_validation_point point;
        const struct carm_validation_point *p = &point;
        open_sweep(&s, level, sizes[level]);
        carm_sweep_choose(&s, 10, true);
        carm_sweep_round(&s, wanted);
        carm_sweep_round(&s, wanted);
        assert_int_equal(s.points[10].series.n, 2);
        assert_int_equal(s.points[9].series.n, 0);
        assert_int_equal(s.memory.n, 4); /* before and after */
        assert_int_equal(s.compute.n, 4);
        carm_sweep_describe(&s, 10, &point);
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
        assert_true(p->seconds > 0.0 && p->reps > 0);
        assert_true(p->ci95.lo <= p->flops / p->seconds && p->flops / p->seconds <= p->ci95.hi);
        assert_true(p->paired > 0.0);
        assert_true(p->working_set_bytes <= sizes[level] &&
                    p->working_set_bytes > sizes[level] / 2);
        assert_string_equal(p->counted_by, "constructed");
        /* two rounds make no figure, but where they agree on what a core has for itself: then within 1% */
        assert_true(p->disturbed
                        ? p->note[0] != '\0'
                        : !s.points[10].series.shared && p->ci95.hi * 0.985 <= p->ci95.lo * 1.015);
        /* 2:1 misses at 4/3 as far as the set's home, then once in all repetitions */
        assert_int_equal(p->ntraffic, 2);
        for (size_t link = 1; link < 3; link++) {
            const double wanted_bytes =
                link <= level ? p->bytes * 4 / 3 : (double)p->working_set_bytes / (double)p->reps;
            assert_near(p->traffic[link - 1], wanted_bytes, 1e-9 * wanted_bytes);
        }
        carm_sweep_close(&s);
    }
}

/* All points have four rounds; one of them planted rates that cannot be. */
static void plant(struct carm_sweep *s, size_t slow)
{
    for (size_t g = 0; g < N; g++) {
        carm_sweep_choose(s, g, true);
    }
    for (int r = 0; r < 4; r++) {
        carm_sweep_round(s, NULL);
    }
    for (size_t g = 0; g < N; g++) {
        struct carm_series *series = &s->points[g].series;
        const struct carm_account *a = &series->code->account;
        const double intensity = (double)a->flops / (double)(a->load_bytes + a->store_bytes);
        for (size_t r = 0; r < series->n; r++) { /* bytes in a second; a real one is far below */
            series->rounds[r] = (struct carm_round){
                .rate = g == slow ? 1.0 : fmin(1e30, 1e30 / intensity), .at = (double)r};
        }
    }
}

/* A slow point chooses again, and runs; the others keep their schedules. */
TEST(a_slow_point_is_measured_again)
{
    need_a_machine();
    for (size_t slow = 0; slow < N; slow += 14) {
        struct carm_sweep s;
        open_sweep(&s, 0, SET_BYTES);
        s.budget_seconds = 0.1;
        plant(&s, slow);
        carm_sweep_repair(&s);
        const struct carm_series *again = &s.points[slow].series;
        assert_true(s.budget_seconds < 0.1);
        assert_true(s.points[slow].tried > 1);
        assert_true(again->n >= 4);
        assert_true(again->rounds[again->n - 1].rate > 1.0);
        for (size_t g = 0; g < N; g++) {
            assert_true(g == slow || s.points[g].tried == 1);
        }
        carm_sweep_close(&s);
    }
}

TEST(a_spent_budget_measures_nothing)
{
    need_a_machine();
    struct carm_sweep s;
    open_sweep(&s, 0, SET_BYTES);
    plant(&s, 3);
    carm_sweep_repair(&s);
    assert_near(s.budget_seconds, 0.0, 0.0);
    assert_int_equal(s.points[3].series.n, 4);
    assert_near(s.points[3].series.rounds[3].rate, 1.0, 0.0);
    carm_sweep_close(&s);
}

RUN_TESTS(set_up, tear_down)
