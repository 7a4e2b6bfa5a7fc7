/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scaling over threads: numbers of threads to measure, saturation, roofs between measured numbers. */
#include "models/place/set.h"
#include "models/scaling.h"
#include "tests/models/model_text.h"

/* A curve in closed form. */
typedef double curve_fn(int threads);

static double linear(int t)
{
    return 10e9 * t;
}

/* A channel that four threads saturate. */
static double four(int t)
{
    return 10e9 * fmin(t, 4);
}

static double five(int t)
{
    return 10e9 * fmin(t, 5);
}

/* Each L3 of 8 cores has a path that four threads saturate. */
static double stairs(int t)
{
    return 10e9 * (4 * (double)(t / 8) + fmin(t % 8, 4));
}

/* Rises to 12 threads, then declines. */
static double declines(int t)
{
    return t <= 12 ? 10e9 * t : 120e9 - 4e9 * (t - 12);
}

static void put(struct carm_scaling *c, int threads, double rate)
{
    size_t at = c->npoints++;
    for (; at > 0 && c->points[at - 1].threads > threads; at--) {
        c->points[at] = c->points[at - 1];
    }
    c->points[at] = (struct carm_scaling_point){
        .threads = threads, .rate = rate, .ci95 = {0.995 * rate, 1.005 * rate}, .code = "A"};
}

static struct carm_scaling make(const char *layout, const char *level)
{
    struct carm_scaling c = {.isa = "avx2", .precision = "dp"};
    (void)snprintf(c.layout, sizeof c.layout, "%s", layout);
    (void)snprintf(c.level, sizeof c.level, "%s", level);
    (void)snprintf(c.kind, sizeof c.kind, "%s", strcmp(level, "peak") == 0 ? "fma" : "2:1");
    c.points = calloc(2 * CARM_SCALING_STEPS, sizeof *c.points);
    assert_non_null(c.points);
    return c;
}

/* Measures as a build does. noise: relative, alternating */
static size_t measure(struct carm_scaling *c, curve_fn *f, int most, const int *places, size_t n,
                      double noise)
{
    int steps[CARM_SCALING_STEPS];
    const size_t first = carm_scaling_begin(most, places, n, steps);
    for (size_t i = 0; i < first; i++) {
        put(c, steps[i], f(steps[i]) * (1.0 + (i % 2 ? noise : -noise)));
    }
    for (int next = 0; c->npoints < CARM_SCALING_STEPS && (next = carm_scaling_next(c, 1)) > 0;) {
        for (size_t i = 0; i < c->npoints; i++) {
            assert_int_not_equal(c->points[i].threads, next);
        }
        put(c, next, f(next) * (1.0 + (c->npoints % 2 ? noise : -noise)));
    }
    return c->npoints;
}

/* The largest error of a line between measured numbers, relative. */
static double worst(const struct carm_scaling *c, curve_fn *f, int most)
{
    double off = 0.0;
    int between[2];
    for (int t = 1; t <= most; t++) {
        off = fmax(off, fabs(carm_scaling_rate(c, t, between) / f(t) - 1.0));
        assert_true(between[0] <= t && t <= between[1]);
    }
    return off;
}

TEST(first_steps)
{
    const int places[] = {8, 96, 24, 500};
    const int expected[] = {1, 2, 4, 8, 16, 24, 32, 64, 96, 128, 192};
    int steps[CARM_SCALING_STEPS];
    assert_int_equal(carm_scaling_begin(192, places, 4, steps), 11);
    assert_memory_equal(steps, expected, sizeof expected);
    assert_int_equal(carm_scaling_begin(1, NULL, 0, steps), 1);
    assert_int_equal(carm_scaling_begin(2, NULL, 0, steps), 2);
    int many[40];
    for (int i = 0; i < 40; i++) {
        many[i] = 3 + i;
    }
    assert_int_equal(carm_scaling_begin(1 << 20, many, 40, steps), CARM_SCALING_STEPS);
    assert_int_equal(steps[CARM_SCALING_STEPS - 1], 1 << 20);
}

/* A straight line takes no further run; a bend is found on its thread. */
TEST(steps_go_where_the_curve_bends)
{
    static const struct {
        curve_fn *f;
        int most;
        size_t runs; /* at most */
        double off;
    } cases[] = {{linear, 16, 5, 1e-9},   {linear, 1024, 11, 1e-9}, {four, 8, 5, 1e-9},
                 {five, 8, 6, 1e-9},      {four, 192, 12, 1e-9},    {five, 64, 11, 0.05},
                 {declines, 16, 8, 0.05}, {stairs, 16, 13, 0.06}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_scaling c = make("compact", "DRAM");
        const size_t runs = measure(&c, cases[i].f, cases[i].most, NULL, 0, 0.0);
        const double off = worst(&c, cases[i].f, cases[i].most);
        if (runs > cases[i].runs || off > cases[i].off) {
            print_error("case %zu: %zu runs, off by %g\n", i, runs, off);
        }
        assert_true(runs <= cases[i].runs && off <= cases[i].off);
        free(c.points);
    }
}

/* 24 caches are more steps than there are runs: the number of runs is bounded. */
TEST(runs_are_bounded)
{
    const int places[] = {8, 96};
    struct carm_scaling c = make("compact", "DRAM");
    assert_true(measure(&c, stairs, 192, places, 2, 0.0) <= CARM_SCALING_STEPS);
    assert_true(worst(&c, stairs, 192) < 0.35);
    free(c.points);
}

/* Rates that scatter within their intervals need no run more. */
TEST(noise_is_no_bend)
{
    struct carm_scaling c = make("compact", "L1");
    for (int t = 1; t <= 16; t *= 2) {
        put(&c, t, linear(t) * (t == 4 ? 0.94 : 1.03));
        struct carm_scaling_point *p = &c.points[c.npoints - 1];
        p->ci95 = (struct carm_ci){0.85 * p->rate, 1.15 * p->rate};
    }
    assert_int_equal(carm_scaling_next(&c, 1), 0);
    for (size_t i = 0; i < c.npoints; i++) {
        c.points[i].ci95 = (struct carm_ci){c.points[i].rate, c.points[i].rate};
    }
    assert_true(carm_scaling_next(&c, 1) > 0);
    free(c.points);
}

TEST(saturation)
{
    const int places[] = {8};
    struct carm_scaling c = make("compact", "DRAM");
    measure(&c, stairs, 16, places, 1, 0.0);
    assert_int_equal(carm_scaling_enough(&c, 8), 4);
    assert_true(carm_scaling_saturates(4, 8));
    assert_int_equal(carm_scaling_enough(&c, 3), 3);
    assert_false(carm_scaling_saturates(3, 3));
    assert_int_equal(carm_scaling_enough(&c, 16), 12);
    assert_int_equal(carm_scaling_enough(&c, 17), 0); /* not measured */
    free(c.points);
    c = make("compact", "DRAM");
    measure(&c, declines, 16, NULL, 0, 0.0);
    assert_int_equal(carm_scaling_enough(&c, 16), 12); /* of the best, not of the last */
    free(c.points);
    c = make("compact", "L1");
    measure(&c, linear, 16, NULL, 0, 0.0);
    assert_int_equal(carm_scaling_enough(&c, 16), 16);
    free(c.points);
}

/* A model of 16 cores, two L3: full sets of 1, 8 and 16 threads, and curves. */
static struct carm_model *make_model(void)
{
    static const int threads[] = {1, 8, 16};
    static const char *const mixes[] = {"2:1", "1:0"};
    struct carm_model *m = empty_model();
    m->roofs = calloc(m->nroofs = 3, sizeof *m->roofs);
    m->levels = calloc(m->nlevels = 2, sizeof *m->levels);
    (void)snprintf(m->levels[0].level, CARM_NAME_MAX, "L1");
    (void)snprintf(m->levels[1].level, CARM_NAME_MAX, "DRAM");
    (void)snprintf(m->config.ldst, CARM_NAME_MAX, "2:1");
    for (size_t i = 0; i < 3; i++) {
        struct carm_roofs *r = &m->roofs[i];
        const int t = threads[i];
        (void)snprintf(r->isa, CARM_NAME_MAX, "avx2");
        (void)snprintf(r->precision, CARM_NAME_MAX, "dp");
        r->threads = t;
        r->clock_hz = 3e9;
        r->memory = calloc(r->nmemory = 4, sizeof *r->memory);
        r->compute = calloc(r->ncompute = 1, sizeof *r->compute);
        for (size_t k = 0; k < 4; k++) {
            struct carm_memory_roof *x = &r->memory[k];
            (void)snprintf(x->level, CARM_NAME_MAX, "%s", k < 2 ? "L1" : "DRAM");
            (void)snprintf(x->ldst, CARM_NAME_MAX, "%s", mixes[k % 2]);
            /* loads alone: 0.8 of the mix with one thread, 0.9 with 8, the same with 16 */
            x->bandwidth = (k < 2 ? 50.0 * linear(t) / 10.0 : stairs(t)) *
                           (k % 2 ? 0.8 + 0.1 * (double)i : 1.0);
            x->ci95 = (struct carm_ci){0.99 * x->bandwidth, 1.01 * x->bandwidth};
        }
        (void)snprintf(r->compute->op, CARM_NAME_MAX, "fma");
        r->compute->rate = 4.0 * linear(t);
        r->compute->flops_per_cycle = 4.0 * 10.0 / 3.0;
        r->dram_peak.bandwidth = stairs(t);
    }
    m->scaling = calloc(m->nscaling = 4, sizeof *m->scaling);
    const int places[] = {8};
    m->scaling[0] = make("compact", "DRAM");
    measure(&m->scaling[0], stairs, 16, places, 1, 0.0);
    m->scaling[1] = make("compact", "L1");
    measure(&m->scaling[1], linear, 16, places, 1, 0.0);
    m->scaling[2] = make("compact", "peak");
    measure(&m->scaling[2], linear, 16, places, 1, 0.0);
    m->scaling[3] = make("spread", "DRAM");
    put(&m->scaling[3], 1, 10e9);
    put(&m->scaling[3], 8, 80e9);
    put(&m->scaling[3], 16, 80e9);
    m->scaling_units = calloc(m->nscaling_units = 1, sizeof *m->scaling_units);
    m->scaling_units[0] = (struct carm_scaling_unit){"l3:0", 8};
    return m;
}

static double bandwidth(const struct carm_roofs *r, const char *level, const char *mix)
{
    const struct carm_memory_roof *m = carm_roofs_find_memory(r, level, mix);
    assert_non_null(m);
    return m->bandwidth;
}

TEST(roofs_between)
{
    struct carm_model *m = make_model();
    char note[CARM_TEXT_MAX];
    char text[160];
    assert_int_equal(carm_scaling_fill(m, NULL), 0);
    assert_int_equal(m->nroofs, 16);
    for (int t = 1; t <= 16; t++) {
        const struct carm_roofs *r = carm_model_find_roofs(m, "avx2", "dp", t);
        assert_non_null(r);
        assert_true(fabs(bandwidth(r, "L1", "2:1") - 50e9 * t) < 1.0);
        assert_true(fabs(r->compute->rate - 40e9 * t) < 1.0);
        assert_true(fabs(bandwidth(r, "DRAM", "2:1") / stairs(t) - 1.0) < 0.06);
        assert_true(fabs(r->compute->flops_per_cycle - 40.0 / 3.0) < 1e-9);
    }
    const struct carm_roofs *four_threads = carm_model_find_roofs(m, "avx2", "dp", 4);
    /* three sevenths of the way from 0.8 to 0.9 */
    assert_true(fabs(bandwidth(four_threads, "DRAM", "1:0") / 40e9 - (0.8 + 0.3 / 7.0)) < 1e-9);
    assert_true(fabs(four_threads->dram_peak.bandwidth - 40e9) < 1.0);
    assert_true(carm_place_roofs(m, "dp", 4, note) == four_threads);
    assert_non_null(strstr(note, "the roofs of 4 threads are from carm build --scaling"));
    const struct carm_roofs *three = carm_place_roofs(m, "dp", 3, note);
    assert_int_equal(three->threads, 3);
    assert_non_null(
        strstr(note, "the roofs of 3 threads are interpolated between 2 and 4 threads"));
    assert_string_equal(carm_scaling_origin(text, sizeof text, &m->roofs[0]), "");
    carm_place_roofs(m, "dp", 20, note);
    assert_non_null(strstr(note, "the model has no roofs for 20 threads"));
}

TEST(no_curve_no_roof)
{
    struct carm_model *m = make_model();
    free(m->scaling[2].points);
    m->scaling[2] = m->scaling[--m->nscaling]; /* the peak's curve goes */
    assert_int_equal(carm_scaling_fill(m, NULL), 0);
    assert_int_equal(m->nroofs, 3);
}

/* A default build's sets of sp have computation alone. They draw nothing by themselves; points of sp go under them with the
 * roofs of memory of dp. */
TEST(sp_takes_the_memory_of_dp)
{
    struct carm_model *m = read_sample();
    char note[CARM_TEXT_MAX];
    struct carm_roofs *dp = &m->roofs[0], *sp = &m->roofs[1];
    for (size_t i = 0; i < sp->nmemory; i++) {
        free(sp->memory[i].rounds);
    }
    sp->nmemory = 0;
    sp->threads = 1;
    (void)snprintf(sp->precision, sizeof sp->precision, "sp");
    assert_true(carm_model_is_beside(m, sp) && !carm_model_is_beside(m, dp));
    assert_ptr_equal(carm_place_roofs(m, "sp", 1, note), dp);
    assert_non_null(strstr(note, "no sp roofs"));
    (void)snprintf(sp->isa, sizeof sp->isa, "scalar"); /* moves half as many bytes */
    assert_ok(carm_scaling_fill(m, &err));
    assert_int_equal(sp->nmemory, 0);
    (void)snprintf(sp->isa, sizeof sp->isa, "avx512");
    assert_ok(carm_scaling_fill(m, &err));
    assert_int_equal(sp->nmemory, dp->nmemory);
    assert_near(bandwidth(sp, "L1", "2:1"), bandwidth(dp, "L1", "2:1"), 0.0);
    assert_near(sp->dram_peak.bandwidth, dp->dram_peak.bandwidth, 0.0);
    assert_ptr_equal(carm_place_roofs_of(m, "avx512", "sp", 1, note), sp);
    assert_string_equal(note, "");
}

TEST(sentences)
{
    struct carm_model *m = make_model();
    char lines[8][CARM_SCALING_LINE];
    assert_int_equal(carm_scaling_say(m, lines, 8), 4);
    assert_string_equal(lines[0], "DRAM: 4 of 8 threads on l3:0 reach 95% of 40.00 GB/s");
    assert_string_equal(lines[1], "DRAM: 12 of 16 threads reach 95% of 80.00 GB/s");
    assert_string_equal(lines[2], "DRAM: 8 threads get 40.00 GB/s compact, 80.00 GB/s spread");
    assert_string_equal(lines[3], "L1, peak: no saturation up to 16 threads");
    assert_int_equal(carm_scaling_say(m, lines, 2), 2);
}
