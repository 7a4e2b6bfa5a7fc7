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
    const int places[] = {24, 8, 96, 500, 0, 1};
    const int expected[] = {1, 2, 4, 8, 16, 24, 32, 64, 96, 128, 192};
    int steps[CARM_SCALING_STEPS];
    assert_int_equal(carm_scaling_begin(192, places, 6, steps), 11);
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

/* Threads and rates, ascending; 0 threads end them. */
struct curve {
    const char *layout, *level;
    struct {
        int threads;
        double rate;
    } points[6];
};

static void put_curves(struct carm_model *m, const struct curve *curves, size_t n)
{
    m->scaling = calloc(n + 1, sizeof *m->scaling);
    for (m->nscaling = 0; m->nscaling < n && curves[m->nscaling].level; m->nscaling++) {
        struct carm_scaling *c = &m->scaling[m->nscaling];
        *c = make(curves[m->nscaling].layout, curves[m->nscaling].level);
        for (size_t k = 0; k < 6 && curves[m->nscaling].points[k].threads; k++) {
            put(c, curves[m->nscaling].points[k].threads, curves[m->nscaling].points[k].rate);
        }
    }
}

/* What is said about curves of up to 8 threads, where a place of 4 and one of 8 are known. */
TEST(curves_in_words)
{
    static const struct {
        struct curve curves[3];
        size_t most;
        const char *told;
    } cases[] = {
        {{{"compact", "DRAM", {{1, 10}, {2, 20}, {4, 20}, {8, 40}}}},
         9,
         "DRAM: 2 of 4 threads on l3:0 reach 95% of 20.00 B/s; "},
        {{{"compact", "DRAM", {{1, 10}, {2, 20}, {4, 40}, {8, 42}}}},
         9,
         "DRAM: 4 of 8 threads reach 95% of 42.00 B/s; 4 of its 8 threads are enough: they reach 95% of the bandwidth of DRAM"}, /* 95% at 4 */
        {{{"compact", "DRAM", {{1, 10}, {4, 39}, {8, 42}}}},
         9,
         "DRAM: 6 of 8 threads reach 95% of 42.00 B/s; 6 of its 8 threads are enough: they reach 95% of the bandwidth of DRAM"}, /* 39.9 between 5 and 6 */
        {{{"compact", "DRAM", {{1, 10}, {8, 80}}}}, 9, "DRAM: no saturation up to 8 threads; "},
        {{{"compact", "DRAM", {{1, 10}, {7, 75}, {8, 76}}}},
         9,
         "DRAM: 7 of 8 threads reach 95% of 76.00 B/s; 7 of its 8 threads are enough: they reach 95% of the bandwidth of DRAM"}, /* 7 of 8 are few enough */
        {{{"compact", "DRAM", {{1, 10}, {5, 50}, {8, 44.9}}}},
         9,
         "DRAM: 5 of 8 threads reach 95% of 50.00 B/s, all 8 get 44.90 B/s; 5 of its 8 threads are enough: they reach 95% of the bandwidth of DRAM"}, /* all get less than 90% */
        {{{"compact", "DRAM", {{1, 10}, {5, 50}, {8, 45}}}},
         9,
         "DRAM: 5 of 8 threads reach 95% of 50.00 B/s; 5 of its 8 threads are enough: they reach 95% of the bandwidth of DRAM"},
        {{{"compact", "peak", {{1, 10}, {5, 50}, {8, 40}}},
          {"compact", "L1", {{1, 10}, {8, 80}}},
          {"compact", "L2", {{1, 10}, {8, 80}}}},
         9,
         "peak: 5 of 8 threads reach 95% of 50.00 flop/s, all 8 get 40.00 flop/s; L1, L2: no saturation up to 8 threads; "},
        {{{"compact", "L1", {{1, 10}, {8, 80}}}, {"compact", "peak", {{1, 10}, {5, 50}, {8, 40}}}},
         1,
         "peak: 5 of 8 threads reach 95% of 50.00 flop/s, all 8 get 40.00 flop/s; "},
        {{{"compact", "DRAM", {{1, 10}}}, {"compact", "L1", {{1, 10}}}}, 9, ""},
        {{{"compact", "DRAM", {{1, 10}, {2, 20}}}}, 9, "DRAM: no saturation up to 2 threads; "},
        {{{"compact", "DRAM", {{1, 10}, {9, 90}, {10, 90}}}},
         9,
         "DRAM: 9 of 10 threads reach 95% of 90.00 B/s; "},
        {{{"compact", "DRAM", {{1, 50}, {8, 10}}}},
         9,
         "DRAM: 1 of 4 threads on l3:0 reach 95% of 50.00 B/s, all 4 get 32.86 B/s; DRAM: 1 of 8 threads reach 95% of 50.00 B/s, all 8 get 10.00 B/s; 1 of its 8 threads are enough: they reach 95% of the bandwidth of DRAM"},
        {{{"compact", "DRAM", {{2, 20}, {8, 80}}},
          {"spread", "DRAM", {{2, 22.3}, {4, 50}, {8, 90}}}},
         9,
         "DRAM: 4 threads get 40.00 B/s compact, 50.00 B/s spread; DRAM: no saturation up to 8 threads; "}, /* 25% more with 4 */
        {{{"compact", "DRAM", {{2, 20}, {8, 80}}},
          {"spread", "DRAM", {{2, 22.3}, {4, 44}, {9, 900}}}},
         9,
         "DRAM: 2 threads get 20.00 B/s compact, 22.30 B/s spread; DRAM: no saturation up to 8 threads; "}, /* from a ninth more on */
        {{{"compact", "DRAM", {{2, 20}, {8, 80}}},
          {"spread", "DRAM", {{2, 22.2}, {8, 88}}},
          {"spread", "L1", {{2, 99}}}},
         9,
         "DRAM: no saturation up to 8 threads; "},
        {{{"compact", "DRAM", {{4, 40}, {8, 41}}}, {"compact", "L2", {{4, 10}, {8, 10}}}},
         2,
         "DRAM: 4 of 8 threads reach 95% of 41.00 B/s; L2: 4 of 8 threads reach 95% of 10.00 B/s; 4 of its 8 threads are enough: they reach 95% of the bandwidth of DRAM"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_model *m = empty_model();
        char lines[9][CARM_SCALING_LINE], text[4096], words[160];
        size_t used = 0;
        put_curves(m, cases[i].curves, 3);
        m->scaling_units = calloc(m->nscaling_units = 2, sizeof *m->scaling_units);
        m->scaling_units[0] = (struct carm_scaling_unit){"l3:0", 4};
        m->scaling_units[1] = (struct carm_scaling_unit){"numa:0", 8};
        const size_t n = carm_scaling_say(m, lines, cases[i].most);
        for (size_t k = 0; k < n; k++) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s; ", lines[k]);
        }
        (void)snprintf(text + used, sizeof text - used, "%s",
                       carm_scaling_words(words, sizeof words, m, "DRAM", 8));
        assert_string_equal(text, cases[i].told);
    }
}

/* Sets of 1, 4 and 8 threads, and those that curves put between them: "threads (between) clock; bandwidth (interval) of
 * a cycle, ..., rate ..., peak of DRAM". */
TEST(each_figure_between)
{
    static const struct curve curves[] = {{"compact", "DRAM", {{1, 10}, {2, 18}, {4, 30}, {8, 32}}},
                                          {"compact", "L1", {{1, 50}, {4, 200}, {8, 360}}},
                                          {"compact", "peak", {{1, 4}, {2, 8}, {8, 30}}}};
    static const struct {
        int threads;
        double l1, dram, update, peak, dram_peak;
    } sets[] = {{1, 50, 10, 8, 4, 11}, {4, 200, 30, 0, 16, 33}, {8, 400, 32, 24, 30, 0}};
    static const struct {
        const char *isa;
        int threads;
        const char *told;
    } filled[] = {
        {"avx2", 1,
         "(0 0) 3; L1 2:1 50 (45 60) 8, DRAM 2:1 10 (0 0) 0, DRAM update 8 (0 0) 0, 4 (3.2 4.4) 16, 11A"},
        {"avx2", 2,
         "(1 4) 4; L1 2:1 100 (90 120) 8, DRAM 2:1 18 (0 0) 0, 8.1159 (6.4928 8.9275) 16.23, 19.8A"},
        {"avx2", 3,
         "(2 8) 4; L1 2:1 150 (135 180) 8, DRAM 2:1 24 (0 0) 0, 12.005 (9.6039 13.205) 16.01, 26.4A"},
        {"avx2", 4,
         "(0 0) 4; L1 2:1 200 (180 240) 8, DRAM 2:1 30 (0 0) 0, DRAM other 0 (0 0) 0, 16 (12.8 17.6) 16, 33A"},
        {"avx2", 5,
         "(2 8) 5; L1 2:1 246.67 (222 296) 7.893, DRAM 2:1 30.5 (0 0) 0, DRAM update 22.875 (0 0) 0, 19.62 (15.696 21.582) 16.74, 0"},
        {"avx2", 6,
         "(2 8) 5; L1 2:1 295.56 (266 354.67) 7.881, DRAM 2:1 31 (0 0) 0, DRAM update 23.25 (0 0) 0, 23.159 (18.528 25.475) 16.47, 0"},
        {"avx2", 7,
         "(2 8) 5; L1 2:1 346.67 (312 416) 7.924, DRAM 2:1 31.5 (0 0) 0, DRAM update 23.625 (0 0) 0, 26.62 (21.296 29.282) 16.23, 0"},
        {"avx2", 8,
         "(0 0) 5; L1 2:1 400 (360 480) 8 rounds, DRAM 2:1 32 (0 0) 0, DRAM update 24 (0 0) 0, 30 (24 33) 16 rounds, 0A"},
        {"sse", 2,
         "(1 4) 6; L1 2:1 100 (90 120) 8, DRAM 2:1 18 (0 0) 0, 8.3478 (6.6783 9.1826) 16.7, 19.8A"},
        {"sse", 4,
         "(0 0) 6; L1 2:1 200 (180 240) 8, DRAM 2:1 30 (0 0) 0, DRAM other 0 (0 0) 0, 16 (12.8 17.6) 16, 33A"},
        {"sse", 1,
         "(1 1) 6; L1 2:1 50 (45 60) 8, DRAM 2:1 10 (0 0) 0, 4.1739 (3.3391 4.5913) 16.7, 11A"}};
    struct carm_model *m = empty_model();
    put_curves(m, curves, 3);
    m->roofs = calloc(m->nroofs = 4, sizeof *m->roofs);
    for (size_t i = 0; i < 4; i++) { /* the last one: of an ISA without sets of fewer threads */
        struct carm_roofs *r = &m->roofs[i];
        const size_t k = i == 3 ? 1 : i;
        (void)strcpy(r->isa, i == 3 ? "sse" : "avx2");
        (void)strcpy(r->precision, "dp");
        r->threads = sets[k].threads;
        r->clock_hz = 3.0 + (double)i;
        r->memory = calloc(r->nmemory = 3, sizeof *r->memory);
        r->memory[0] = (struct carm_memory_roof){.level = "L1",
                                                 .ldst = "2:1",
                                                 .bandwidth = sets[k].l1,
                                                 .ci95 = {0.9 * sets[k].l1, 1.2 * sets[k].l1},
                                                 .bytes_per_cycle = 8};
        r->memory[1] =
            (struct carm_memory_roof){.level = "DRAM", .ldst = "2:1", .bandwidth = sets[k].dram};
        r->memory[2] = (struct carm_memory_roof){
            .level = "DRAM", .ldst = "update", .bandwidth = sets[k].update};
        if (!(sets[k].update > 0.0)) {
            (void)strcpy(r->memory[2].ldst, "other");
        }
        r->compute = calloc(r->ncompute = 1, sizeof *r->compute);
        r->compute[0] = (struct carm_compute_roof){.op = "fma",
                                                   .rate = sets[k].peak,
                                                   .ci95 = {0.8 * sets[k].peak, 1.1 * sets[k].peak},
                                                   .flops_per_cycle = 16};
        r->dram_peak = (struct carm_dram_peak){.bandwidth = sets[k].dram_peak, .code = "A"};
    }
    m->roofs[2].memory[0].rounds = calloc(1, sizeof *m->roofs[2].memory[0].rounds);
    m->roofs[2].memory[0].nrounds = 1;
    m->roofs[2].compute[0].rounds = calloc(1, sizeof *m->roofs[2].compute[0].rounds);
    m->roofs[2].compute[0].nrounds = 1;
    assert_ok(carm_scaling_fill(m, &err));
    for (size_t i = 0; i < sizeof filled / sizeof *filled; i++) {
        const struct carm_roofs *r =
            carm_model_find_roofs(m, filled[i].isa, "dp", filled[i].threads);
        char text[600] = "none";
        if (r) {
            (void)snprintf(text, sizeof text, "(%d %d) %g;", r->between[0], r->between[1],
                           r->clock_hz);
            for (size_t k = 0; k < r->nmemory; k++) {
                const struct carm_memory_roof *x = &r->memory[k];
                (void)snprintf(text + strlen(text), sizeof text - strlen(text),
                               " %s %s %.5g (%.5g %.5g) %.4g%s,", x->level, x->ldst, x->bandwidth,
                               x->ci95.lo, x->ci95.hi, x->bytes_per_cycle,
                               x->nrounds ? " rounds" : "");
            }
            (void)snprintf(text + strlen(text), sizeof text - strlen(text),
                           " %.5g (%.5g %.5g) %.4g%s, %.5g%s", r->compute->rate,
                           r->compute->ci95.lo, r->compute->ci95.hi, r->compute->flops_per_cycle,
                           r->compute->nrounds ? " rounds" : "", r->dram_peak.bandwidth,
                           r->dram_peak.code);
        }
        assert_string_equal(text, filled[i].told);
    }
    assert_true(carm_scaling_reaches(m, "avx2", "dp", 7));
    assert_false(carm_scaling_reaches(m, "avx2", "dp", 8));
    assert_false(carm_scaling_reaches(m, "avx2", "sp", 7));
    assert_true(carm_scaling_reaches(m, "sse", "dp", 3));
    assert_false(carm_scaling_reaches(m, "sse", "dp", 4));
    m->scaling[2].points[0].threads = 2; /* no peak of one thread */
    assert_false(carm_scaling_reaches(m, "avx2", "dp", 1));
}

/* Where the next number of threads is measured: in the middle of the ends, else where both lines beside leave most open. */
TEST(next_steps)
{
    static const struct {
        struct curve curves[2];
        double wide; /* half interval, relative */
        int next;
    } cases[] = {
        {{{"c", "DRAM", {{1, 10}, {4, 40}, {8, 42}}}}, 0, 2},
        {{{"c", "DRAM", {{1, 10}, {8, 40}, {16, 160}}}}, 0, 4},
        {{{"c", "DRAM", {{1, 10}, {4, 40}, {10, 60}, {16, 60}}}}, 0, 2},
        {{{"c", "DRAM", {{1, 10}, {4, 40}, {10, 60}, {16, 60}}}}, 0.5, 0},
        {{{"c", "DRAM", {{1, 10}, {2, 20}}}}, 0, 0},
        {{{"c", "DRAM", {{1, 10}, {2, 20}, {12, 60}, {22, 62}}}}, 0, 6},
        {{{"c", "DRAM", {{1, 10}, {8, 40}}}}, 0, 0},
        {{{"c", "DRAM", {{1, 10}, {4, 40}, {8, 77}}}}, 0, 2},
        {{{"c", "DRAM", {{1, 10}, {4, 40}, {8, 70}}}}, 0, 2},
        {{{"c", "L1", {{1, 10}, {4, 40}, {8, 70}}}, {"c", "DRAM", {{1, 10}, {5, 40}, {9, 42}}}},
         0,
         3},
        {{{"c", "DRAM", {{1, 10}, {5, 40}, {9, 42}}}, {"c", "L1", {{1, 10}, {4, 40}, {8, 70}}}},
         0,
         3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_model *m = empty_model();
        put_curves(m, cases[i].curves, 2);
        for (size_t k = 0; k < m->nscaling; k++) {
            for (size_t j = 0; j < m->scaling[k].npoints; j++) {
                struct carm_scaling_point *p = &m->scaling[k].points[j];
                p->ci95 = (struct carm_ci){p->rate * (1.0 - cases[i].wide),
                                           p->rate * (1.0 + cases[i].wide)};
            }
        }
        const int next = carm_scaling_next(m->scaling, m->nscaling);
        fail_if(next != cases[i].next, "%zu: %d", i, next);
    }
}
