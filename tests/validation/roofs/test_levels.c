/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a build plans on machines unlike this one: synthetic topologies and curves. */
#include "tests/topo.h"
#include "validation/roofs/levels.h"
#include "validation/series.h"

#define KIB 1024.0
#define MIB (1024.0 * 1024.0)

static const char two_sockets[] = "pack:2 numa:1 l3:1(size=33554432) core:4 l2:1(size=1048576) "
                                  "l1:1(size=49152) pu:2";

struct fixture {
    struct carm_topo *topo;
    struct carm_cpu cpu;
    struct carm_build_config config;
    struct carm_build build;
    struct carm_curve_point points[128];
    struct carm_curve curve;
};
static struct fixture f;

static void open_fixture(const char *synthetic, struct carm_build_words words)
{
    memset(&f, 0, sizeof f);
    f.topo = topo_of(synthetic, NULL);
    for (int i = 0; i < CARM_VECTOR_ISAS; i++) {
        f.cpu.isa[i] = true;
    }
    f.cpu.fma = true;
    words.memory = words.memory ? words.memory : "1G";
    assert_ok(carm_build_configure(&f.config, &words, &f.cpu, f.topo, &err));
    f.build = (struct carm_build){.config = &f.config, .cpu = &f.cpu, .topo = f.topo};
}

/* A curve of steps: value[i] up to size[i], the last one to the end. */
static void draw(const double *size, const double *value, size_t n, double first, double end)
{
    f.curve = (struct carm_curve){.points = f.points};
    for (double x = first; x <= end && f.curve.npoints < 128; x *= pow(2.0, 1.0 / 3.0)) {
        size_t level = 0;
        while (level + 1 < n && x > size[level]) {
            level++;
        }
        f.points[f.curve.npoints++] = (struct carm_curve_point){.x = x, .value = value[level]};
    }
}

TEST(defaults_are_one_thread_and_all_cores)
{
    open_fixture(two_sockets, (struct carm_build_words){.isa = NULL});
    assert_int_equal(f.config.nthreads, 3);
    assert_int_equal(f.config.threads[0], 1);
    assert_int_equal(f.config.threads[1], 4); /* the cores of one socket, which share its L3 */
    assert_int_equal(f.config.threads[2], 8); /* one for each core, not for each hardware thread */
    assert_int_equal(f.config.nisas, 4);      /* avx2, sse and scalar beside it */
    assert_int_equal(f.config.isas[0], CARM_AVX512);
    assert_int_equal(f.config.reps, 8192);
    assert_int_equal(f.config.nmixes, 7);
    open_fixture(two_sockets, (struct carm_build_words){
                                  .threads = "all,4,1,4", .isa = "sse,avx2", .ldst = "nt,1:1,2:1"});
    assert_int_equal(f.config.nthreads, 3);
    assert_int_equal(f.config.threads[2], 16);
    assert_int_equal(f.config.isas[0], CARM_AVX2); /* the widest finds the levels */
    assert_int_equal(f.config.mixes[0].loads, 1);  /* and a mix that stays in the caches */
    assert_true(f.config.mixes[1].nontemporal);
}

/* Both sockets' caches count where both are used; memory is past eight times all of them. */
TEST(the_sweep_leaves_every_cache)
{
    open_fixture(two_sockets, (struct carm_build_words){.threads = "1,8", .memory = "4G"});
    assert_int_equal(carm_build_curve_end(&f.build, 1), 512 * MIB);
    /* the first of 1 and 8 threads keeps all of one set's memory, the others an eighth each */
    f.config.memory_bytes = (uint64_t)(1.875 * 100 * MIB);
    assert_int_equal(carm_build_curve_end(&f.build, 8), 100 * MIB);
    assert_int_equal(carm_build_curve_end(&f.build, 1), 100 * MIB);
    open_fixture(two_sockets, (struct carm_build_words){.levels = "L1,L2"});
    assert_int_equal(carm_build_curve_end(&f.build, 2), 2.5 * 2 * MIB);
    open_fixture("pack:1 l3:1(size=503316480) core:2 l2:1(size=2097152) l1:1(size=49152) pu:1",
                 (struct carm_build_words){.memory = "8G"});
    assert_int_equal(carm_build_curve_end(&f.build, 1), 8 * 480 * MIB);
    f.topo->caches[2].size_bytes = 0; /* not reported: the one before counts */
    assert_int_equal(carm_build_curve_end(&f.build, 1), 512 * MIB);
    f.topo->caches[1].size_bytes = 80 << 20;
    assert_int_equal(carm_build_curve_end(&f.build, 1), 640 * MIB);
    open_fixture("pack:1 core:2 pu:1", (struct carm_build_words){.memory = "8G"});
    assert_int_equal(carm_build_curve_end(&f.build, 1), 1024 * MIB);
}

TEST(working_sets_lie_inside_their_level)
{
    struct carm_build_levels levels;
    const double value[] = {800e9, 270e9, 110e9, 43e9};
    open_fixture(two_sockets, (struct carm_build_words){.isa = NULL});
    for (int threads = 1; threads <= 8; threads *= 8) {
        /* with 8 threads: eight L1 and L2, two L3 */
        const double shared = threads == 8 ? 2.0 : 1.0;
        const double size[] = {48 * KIB * threads, 1 * MIB * threads, 32 * MIB * shared};
        draw(size, value, 4, 2 * KIB * threads, 1024 * MIB);
        carm_build_find_levels(&f.build, threads, &f.curve, NULL, NULL, &levels);
        assert_int_equal(levels.n, 4);
        double below = 0.0;
        for (size_t i = 0; i < 3; i++) {
            const struct carm_build_level *l = &levels.levels[i];
            assert_true(l->range.resolved && l->nsets > 0);
            assert_string_equal(l->note, "");
            assert_true((double)l->knee_bytes > 0.8 * (double)l->os_size_bytes); /* of one cache */
            assert_true((double)l->knee_bytes < 1.3 * (double)l->os_size_bytes);
            for (size_t k = 0; k < l->nsets; k++) {
                double all = (double)l->sets[k] * threads;
                assert_true(all > below && all < size[i]);
            }
            below = size[i];
        }
        assert_string_equal(levels.levels[3].name, "DRAM");
        assert_true((double)levels.levels[3].sets[0] * threads > 8.0 * size[2]);
    }
}

/* 480 MiB by the OS, 100 of them ours: half of the reported size would be memory. */
TEST(a_misreported_cache_is_said)
{
    struct carm_build_levels levels;
    const double size[] = {48 * KIB, 2 * MIB, 100 * MIB};
    const double value[] = {500e9, 120e9, 29e9, 15e9};
    open_fixture("pack:1 l3:1(size=503316480) core:2 l2:1(size=2097152) l1:1(size=49152) pu:1",
                 (struct carm_build_words){.isa = NULL});
    draw(size, value, 4, 2 * KIB, 1024 * MIB);
    carm_build_find_levels(&f.build, 1, &f.curve, NULL, NULL, &levels);
    const struct carm_build_level *l3 = &levels.levels[2];
    assert_non_null(strstr(l3->note, "the OS reports 480 MiB"));
    for (size_t k = 0; k < l3->nsets; k++) {
        assert_true((double)l3->sets[k] < 100 * MIB);
    }
}

/* A burst seemed to end the first cache at 10 KiB, and others hold most of the last: the first is tried at its
 * size, the last at a part of what is left. */
TEST(early_ends_are_not_believed)
{
    struct carm_build_levels levels;
    const double size[] = {10 * KIB, 1 * MIB, 9 * MIB};
    const double value[] = {800e9, 270e9, 110e9, 43e9};
    open_fixture(two_sockets, (struct carm_build_words){.isa = NULL});
    draw(size, value, 4, 2 * KIB, 1024 * MIB);
    carm_build_find_levels(&f.build, 1, &f.curve, NULL, NULL, &levels);
    const struct carm_build_level *l1 = &levels.levels[0];
    const struct carm_build_level *l3 = &levels.levels[2];
    assert_int_equal(l1->nsets, CARM_LEVEL_SETS);
    assert_near((double)l1->sets[2], 0.65 * 48 * KIB, 1.0);
    for (size_t i = 0; i < l3->nsets; i++) {
        assert_true((double)l3->sets[i] > 1 * MIB && (double)l3->sets[i] < 9 * MIB);
    }
    assert_true((double)l3->sets[l3->nsets - 1] < 4 * MIB);
}

/* A curve of more threads that is too restless for a plateau: the cache is the same one. */
TEST(unclear_caches_are_borrowed)
{
    struct carm_build_levels one;
    struct carm_build_levels two;
    const double value[] = {800e9, 270e9, 110e9, 43e9};
    const double size1[] = {48 * KIB, 1 * MIB, 32 * MIB};
    open_fixture(two_sockets, (struct carm_build_words){.isa = NULL});
    draw(size1, value, 4, 2 * KIB, 1024 * MIB);
    carm_build_find_levels(&f.build, 1, &f.curve, NULL, NULL, &one);
    const double size2[] = {96 * KIB, 2 * MIB, 32 * MIB};
    draw(size2, value, 4, 4 * KIB, 1024 * MIB);
    for (size_t i = 0; i < f.curve.npoints; i++) {
        if (f.points[i].x > 96 * KIB && f.points[i].x < 2 * MIB) {
            f.points[i].value *= i % 2 ? 0.6 : 1.0;
        }
    }
    carm_build_find_levels(&f.build, 2, &f.curve, NULL, NULL, &two);
    assert_false(two.levels[1].range.resolved);
    double lo = -1.0;
    double hi = -1.0;
    assert_true(carm_build_doubts_levels(&f.build, &two, &lo, &hi));
    assert_near(lo, 48 * KIB, 1.0); /* from inside the first cache of two ... */
    assert_near(hi, 4 * MIB, 1.0);  /* ... to past the second */
    assert_false(carm_build_doubts_levels(&f.build, &one, &lo, &hi));
    one.levels[0].knee_bytes = 10 * 1024; /* a burst seemed to end the first cache */
    assert_true(carm_build_doubts_levels(&f.build, &one, &lo, &hi));
    assert_near(lo, 0.0, 0.0);
    assert_near(hi, 96 * KIB, 1.0);
    one.levels[0].knee_bytes = 40 * 1024;
    one.levels[2].knee_bytes = 9 << 20; /* a shared cache may hold less for us than it is large */
    assert_false(carm_build_doubts_levels(&f.build, &one, &lo, &hi));
    assert_int_equal(two.levels[1].nsets, 0);
    carm_build_find_levels(&f.build, 2, &f.curve, NULL, &one, &two);
    assert_true(two.levels[1].borrowed);
    assert_near(two.levels[1].range.hi, 2.0 * one.levels[1].range.hi, 1.0); /* two instances */
    assert_true(two.levels[1].nsets > 0);
    assert_false(two.levels[2].borrowed);
}

/* A clock that strides by a fifth from point to point: plateaus per second are gone, those per cycle
 * are not. */
TEST(a_wandering_clock_hides_nothing)
{
    struct carm_build_levels levels;
    double clocks[128];
    const double size[] = {48 * KIB, 1 * MIB, 32 * MIB};
    const double value[] = {800e9, 270e9, 110e9, 43e9};
    open_fixture(two_sockets, (struct carm_build_words){.isa = NULL});
    draw(size, value, 4, 2 * KIB, 1024 * MIB);
    for (size_t i = 0; i < f.curve.npoints; i++) {
        clocks[i] = i % 3 ? 4.4e9 : 3.5e9;
        if (f.points[i].x <= 1 * MIB) {
            f.points[i].value *= clocks[i] / 4.4e9;
        }
    }
    carm_build_find_levels(&f.build, 1, &f.curve, NULL, NULL, &levels);
    assert_false(levels.levels[0].range.resolved && levels.levels[1].range.resolved);
    carm_build_find_levels(&f.build, 1, &f.curve, clocks, NULL, &levels);
    assert_near(levels.levels[0].range.lo, f.points[0].x, 0.0);
    for (size_t i = 0; i < 4; i++) {
        assert_true(levels.levels[i].range.resolved);
        assert_near(levels.levels[i].range.bandwidth, value[i], 1e-3 * value[i]);
    }
}

TEST(levels_without_reported_caches)
{
    struct carm_build_levels levels;
    const double size[] = {32 * KIB, 1 * MIB};
    const double value[] = {400e9, 90e9, 20e9};
    open_fixture("pack:1 core:2 pu:1", (struct carm_build_words){.isa = NULL});
    draw(size, value, 3, 2 * KIB, 512 * MIB);
    carm_build_find_levels(&f.build, 1, &f.curve, NULL, NULL, &levels);
    assert_int_equal(levels.n, 3);
    assert_string_equal(levels.levels[1].name, "L2");
    assert_int_equal(levels.levels[1].os_size_bytes, 0);
    for (size_t i = 0; i < 3; i++) {
        assert_true(levels.levels[i].range.resolved);
        assert_near(levels.levels[i].range.bandwidth, value[i], 1.0);
    }
}

/* Neighbours slow the first cache and the last one in three rounds of four, down to the first points of memory: the plateau seems to
 * end at 71 MiB. One round shows the true end. With the cache itself as large in all rounds, the late end stays. */
TEST(a_late_end_needs_the_fastest_rounds)
{
    enum { POINTS = 128 };
    static struct carm_series points[POINTS];
    const double size[] = {48 * KIB, 100 * KIB, 1 * MIB, 32 * MIB, 71 * MIB};
    const double slowed[] = {800e9, 790e9, 270e9, 60e9, 57e9, 43e9};
    const double full[] = {1600e9, 790e9, 270e9, 110e9, 57e9, 43e9};
    for (int seldom = 1; seldom >= 0; seldom--) {
        struct carm_build_levels levels;
        double clocks[CARM_CURVE_POINTS_MAX];
        struct carm_curve curve = {.npoints = 0};
        open_fixture(two_sockets, (struct carm_build_words){.isa = NULL});
        struct carm_build_set set = {.build = &f.build, .threads = 1};
        struct carm_build_sweep sweep = {.set = &set, .points = points};
        const struct carm_clock clock = {.tsc_hz = 3e9};
        f.build.clock = &clock;
        memset(points, 0, sizeof points);
        draw(size, slowed, 6, 2 * KIB, 1024 * MIB);
        for (sweep.n = 0; sweep.n < f.curve.npoints; sweep.n++) {
            struct carm_series *p = &points[sweep.n];
            const double x = f.points[sweep.n].x;
            size_t level = 0;
            while (level < 5 && x > size[level]) {
                level++;
            }
            *p = (struct carm_series){.shared = true,
                                      .clock_hz = &set.clock_hz,
                                      .work = x,
                                      .shape = {.windows = 1, .window_bytes = (uint64_t)x}};
            for (p->n = 0; p->n < 4; p->n++) {
                p->rounds[p->n] =
                    (struct carm_round){.rate = (p->n == 2 && seldom ? full : slowed)[level] *
                                                (1.0 - 1e-3 * (double)p->n),
                                        .clock_hz = 3e9,
                                        .at = (double)p->n};
            }
        }
        assert_ok(carm_build_sweep_curve(&sweep, false, &curve, clocks, &err));
        carm_build_find_levels(&f.build, 1, &curve, clocks, NULL, &levels);
        assert_true(levels.levels[0].range.knee > 80 * KIB &&
                    levels.levels[2].range.knee > 64 * MIB);
        assert_ok(carm_build_doubt_late(&sweep, NULL, &levels, &err));
        assert_int_equal(levels.levels[0].range.knee < 64 * KIB, seldom);
        assert_int_equal(levels.levels[2].range.knee < 40 * MIB, seldom);
        assert_true(levels.levels[1].range.knee < 2 * MIB);
        free(curve.points);
    }
}

/* Points of L1 that differ by a third, beside neighbours: no plateau, but a step at its end. */
TEST(a_step_at_the_reported_size_is_a_cache)
{
    static const double sizes[] = {48 * KIB, 1 * MIB, 32 * MIB, 1e12};
    static const double values[] = {480e9, 90e9, 24e9, 16e9};
    static const double flat[] = {110e9, 90e9, 24e9, 16e9};
    struct carm_build_levels levels;
    open_fixture(two_sockets, (struct carm_build_words){.threads = "1"});
    for (int plain = 0; plain < 2; plain++) {
        draw(sizes, plain ? flat : values, 4, 3 * KIB, 1024 * MIB);
        for (size_t i = 0; i < f.curve.npoints && f.points[i].x <= 48 * KIB; i++) {
            f.points[i].value *= i % 3 == 0 ? 1.0 : i % 3 == 1 ? 0.72 : 0.86;
        }
        carm_build_find_levels(&f.build, 1, &f.curve, NULL, NULL, &levels);
        assert_false(levels.levels[0].range.resolved);
        assert_true(levels.levels[1].range.resolved);
        const struct carm_level_range before = levels.levels[1].range;
        carm_build_assume_levels(&f.build, &f.curve, &levels);
        assert_int_equal(levels.levels[0].range.resolved, !plain);
        assert_near(levels.levels[1].range.hi, before.hi, 0.0);
        if (!plain) {
            assert_true(levels.levels[0].nsets > 0);
            for (size_t i = 0; i < levels.levels[0].nsets; i++) {
                assert_in_range(levels.levels[0].sets[i], 16 * KIB, 40 * KIB);
            }
            assert_true(strstr(levels.levels[0].note, "the size that the OS reports") != NULL);
        }
    }
}

/* ---- each figure of a level by hand ----
 * Steps at the reported sizes of one core and a socket's L3: the curve's points are 2.5 KiB times 2^(k/3) for each thread,
 * so that the last ones inside are 40 KiB (12), 1016 KiB (26) and 32510 KiB (41), and memory's last is 1016 MiB (56). */
static double point(double k)
{
    return 2.5 * KIB * pow(2.0, k / 3.0);
}

static void find_steps(int threads, const double *size, size_t n, double end,
                       const struct carm_build_levels *fewer, struct carm_build_levels *levels)
{
    const double value[] = {800e9, 270e9, 110e9, 43e9};
    draw(size, value, n, 2.5 * KIB * threads, end);
    carm_build_find_levels(&f.build, threads, &f.curve, NULL, fewer, levels);
}

/* Half and four fifths of what is left of the plateau below nine tenths of the reported size, and 0.65 of this size. */
TEST(sets_are_shares_of_the_level)
{
    static const double sets[3][CARM_LEVEL_SETS] = {{20, 32, 0.65 * 48},
                                                    {0.5 * 921.6, 0.8 * 921.6, 0.65 * 1024},
                                                    {0.5 * 29491.2, 0.8 * 29491.2, 0.65 * 32768}};
    static const double last[] = {12, 26, 41};
    struct carm_build_levels l;
    open_fixture(two_sockets, (struct carm_build_words){.isa = NULL});
    for (int threads = 1; threads <= 8; threads *= 8) {
        const double l3s = threads == 8 ? 2.0 : 1.0;
        const double size[] = {48 * KIB * threads, MIB * threads, 32 * MIB * l3s};
        find_steps(threads, size, 4, 1024 * MIB, NULL, &l);
        assert_int_equal(l.threads, threads);
        assert_int_equal(l.n, 4);
        for (size_t i = 0; i < 3; i++) {
            const struct carm_build_level *x = &l.levels[i];
            const double scale = i == 2 ? l3s / threads : 1.0;
            const uint64_t os[] = {48 << 10, 1 << 20, 32 << 20};
            assert_int_equal(x->os_size_bytes, os[i]);
            assert_near((double)x->knee_bytes, point(last[i] + 0.5), 1.0);
            assert_int_equal(x->nsets, CARM_LEVEL_SETS);
            for (size_t k = 0; k < CARM_LEVEL_SETS; k++) {
                assert_near((double)x->sets[k], sets[i][k] * KIB * scale, 1.0);
            }
            assert_false(x->borrowed);
        }
        assert_int_equal(l.levels[3].nsets, 1);
        assert_near((double)l.levels[3].sets[0] * threads, f.points[f.curve.npoints - 1].x, 8.0);
        assert_int_equal(l.levels[3].knee_bytes, 0);
        assert_int_equal(l.levels[3].os_size_bytes, 0);
    }
}

/* Others hold most of a shared cache: three times the cache before it at most; sets that the cache before it may hold are
 * left out. From 0.67 of the reported size on, it is believed. A core's own cache has the reported size in any case. */
TEST(sets_of_caches_that_end_early)
{
    const double l2 = point(26), third = 0.65 * 32 * MIB;
    const struct {
        size_t level;
        double last; /* point of the plateau */
        size_t n;
        double sets[CARM_LEVEL_SETS];
    } rows[] = {{2, 30, 2, {0.8 * point(30), 0.8 * point(30)}},
                {2, 35, 3, {0.5 * point(35), 0.8 * point(35), 3.0 * l2}},
                {2, 38, 3, {0.5 * point(38), 0.8 * point(38), 3.0 * l2}},
                {2, 39, 3, {0.5 * point(39), 0.8 * point(39), third}},
                {0, 6, 3, {0.5 * point(6), 0.8 * point(6), 0.65 * 48 * KIB}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_build_levels l;
        double size[] = {48 * KIB, 1 * MIB, 32 * MIB};
        open_fixture(two_sockets, (struct carm_build_words){.isa = NULL});
        size[rows[i].level] = point(rows[i].last + 0.5);
        find_steps(1, size, 4, 1024 * MIB, NULL, &l);
        const struct carm_build_level *x = &l.levels[rows[i].level];
        fail_if(x->nsets != rows[i].n, "row %zu: %zu sets", i, x->nsets);
        for (size_t k = 0; k < x->nsets; k++) {
            assert_near((double)x->sets[k], rows[i].sets[k], 1.0);
        }
    }
    struct carm_build_levels l;
    const double larger[] = {48 * KIB, 1 * MIB, point(39.5)}; /* 0.68 of 33 MiB */
    open_fixture("pack:1 l3:1(size=34603008) core:2 l2:1(size=1048576) l1:1(size=49152) pu:1",
                 (struct carm_build_words){.isa = NULL});
    find_steps(1, larger, 4, 1024 * MIB, NULL, &l);
    assert_near((double)l.levels[2].sets[2], 0.65 * 33 * MIB, 1.0);
    const double size[] = {32 * KIB, 1 * MIB};
    open_fixture("pack:1 core:2 pu:1", (struct carm_build_words){.isa = NULL});
    find_steps(1, size, 3, 512 * MIB, NULL, &l); /* sizes are not known */
    for (size_t i = 0; i < 2; i++) { /* the last point of a plateau passes for the size */
        const double shares[] = {0.5 * 0.9, 0.8 * 0.9, 0.65};
        assert_int_equal(l.levels[i].nsets, 3);
        for (size_t k = 0; k < 3; k++) {
            assert_near((double)l.levels[i].sets[k], shares[k] * point(i ? 26 : 11), 1.0);
        }
    }
}

/* A range that begins and ends inside the caches before it has one set: the middle of it on the log scale. */
TEST(a_borrowed_range_has_a_set)
{
    struct carm_build_levels one, four;
    const double size[] = {48 * KIB * 4, 4 * MIB, 32 * MIB}, value[] = {800e9, 270e9, 110e9, 43e9};
    open_fixture(two_sockets, (struct carm_build_words){.isa = NULL});
    memset(&one, 0, sizeof one);
    one.threads = 1;
    one.n = 4;
    one.levels[2].range = (struct carm_level_range){true, 1280 * KIB, 2000 * KIB, 2200 * KIB, 9e9};
    draw(size, value, 4, 10 * KIB, 1024 * MIB);
    for (size_t i = 0; i < f.curve.npoints; i++) {
        f.points[i].value *= f.points[i].x > 4 * MIB && f.points[i].x < 34 * MIB && i % 2 ? 0.6 : 1;
    }
    carm_build_find_levels(&f.build, 4, &f.curve, NULL, &one, &four);
    const struct carm_build_level *l = &four.levels[2];
    assert_true(l->borrowed && l->nsets == 1);
    assert_near((double)l->sets[0], 500 * KIB, 1.0);
    assert_int_equal(l->knee_bytes, 2200 * 1024);
    assert_near(l->range.lo, 1280 * KIB, 0.0); /* one L3 each */
    assert_near(l->range.bandwidth, 9e9, 0.0);
    one.levels[2].range.hi = 12300 * KIB; /* half of it is 1.51 times the second caches of four */
    carm_build_find_levels(&f.build, 4, &f.curve, NULL, &one, &four);
    assert_int_equal(l->nsets, 3);
    one.n = 3; /* the last level of fewer threads is memory */
    carm_build_find_levels(&f.build, 4, &f.curve, NULL, &one, &four);
    assert_false(four.levels[2].borrowed);
    one.n = 4;
    one.levels[2].range =
        (struct carm_level_range){.resolved = true}; /* recalled: it has a set alone */
    carm_build_find_levels(&f.build, 4, &f.curve, NULL, &one, &four);
    assert_false(four.levels[2].borrowed);
}

TEST(levels_say_what_is_odd)
{
    static const struct {
        const char *levels;
        double memory_mib; /* 0: a GiB */
        double end_mib;    /* of the curve */
        double last[5];    /* points of steps; 0 = no more */
        size_t noise;      /* level whose points are uneven; 0 = none */
        int threads;       /* 1, or 8 of 1 and 8 */
        size_t level;
        const char *note;
    } rows[] = {
        {NULL, 0, 1024, {12, 26, 41}, 0, 1, 2, ""},
        {NULL,
         0,
         0.5,
         {12},
         0,
         1,
         2,
         "the time for the curve was over at 508 KiB: give more with --budget"},
        {NULL,
         0,
         0.5,
         {12},
         0,
         1,
         3,
         "the time for the curve was over at 508 KiB: give more with --budget"},
        {NULL,
         0,
         0.001,
         {12},
         0,
         1,
         0,
         "the time for the curve was over before its first point: give more with --budget"},
        {NULL,
         39,
         39,
         {12, 26, 41},
         0,
         1,
         3,
         "the working set ended at 31.7 MiB, the memory limit: give --memory 129M or more to leave "
         "the last cache"},
        {NULL,
         100,
         52,
         {12, 26, 41},
         0,
         8,
         3,
         "the working set ended at 50.4 MiB, the memory limit: give --memory 481M or more to leave "
         "the last cache"},
        {NULL, 0, 1024, {12, 26, 41}, 1, 1, 1, "the curve has no plateau of its own here"},
        {"L1,DRAM", 0, 1024, {12, 26, 41}, 1, 1, 1, "not asked for (--levels)"},
        {"L1,DRAM", 0, 1024, {12, 26, 41}, 0, 1, 1, ""},
        {NULL,
         0,
         1024,
         {12, 26, 38},
         0,
         1,
         2,
         "the OS reports 32 MiB, the curve leaves the plateau at 17.8 MiB: the roof is the "
         "plateau's"},
        {NULL, 0, 1024, {12, 26, 39}, 0, 1, 2, ""},
        {NULL, 0, 1024, {12, 26, 42}, 0, 1, 2, ""},
        {NULL,
         0,
         1024,
         {12, 26, 43},
         0,
         1,
         2,
         "the OS reports 32 MiB, the curve leaves the plateau at 56.6 MiB: the roof is the "
         "plateau's"},
        {NULL,
         0,
         1024,
         {12, 26, 41, 47},
         0,
         1,
         2,
         "the curve has 1 more plateau before memory that no reported cache explains"},
        {NULL,
         0,
         1024,
         {12, 26, 41, 46, 51},
         0,
         1,
         2,
         "the curve has 2 more plateaus before memory that no reported cache explains"},
    };
    static const double values[] = {800e9, 270e9, 160e9, 110e9, 75e9, 43e9};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_build_levels l;
        double size[5], value[6];
        size_t n = 0;
        open_fixture(two_sockets,
                     (struct carm_build_words){.levels = rows[i].levels, .threads = "1,8"});
        if (rows[i].threads == 1) {
            f.config.nthreads = 1;
        }
        f.config.memory_bytes =
            (uint64_t)((rows[i].memory_mib > 0 ? rows[i].memory_mib : 1024) * MIB);
        for (; n < 5 && rows[i].last[n] > 0; n++) {
            const int instances = n == 2 && rows[i].threads == 8 ? 2 : rows[i].threads;
            size[n] = point(rows[i].last[n] + 0.5) * instances;
            value[n] = values[n];
        }
        value[n] = n == 1 ? 270e9 : 43e9;
        draw(size, value, n + 1, 2.5 * KIB * rows[i].threads, rows[i].end_mib * MIB);
        for (size_t k = 0; k < f.curve.npoints && rows[i].noise; k++) {
            const bool inside = f.points[k].x > size[0] && f.points[k].x < size[1];
            f.points[k].value *= inside && k % 2 ? 0.6 : 1.0;
        }
        carm_build_find_levels(&f.build, rows[i].threads, &f.curve, NULL, NULL, &l);
        const struct carm_build_level *x = &l.levels[rows[i].level];
        fail_if(strcmp(x->note, rows[i].note) != 0, "row %zu: %s", i, x->note);
        assert_true(!rows[i].levels || x->nsets == 0);
    }
}

/* Levels of two threads as they are reported: 96 KiB, 2 MiB and 32 MiB together. */
static struct carm_build_levels as_reported(void)
{
    struct carm_build_levels l = {.threads = 2, .n = 4};
    for (size_t i = 0; i < 4; i++) {
        struct carm_build_level *x = &l.levels[i];
        x->os_size_bytes = i < 3 ? f.topo->caches[i].size_bytes : 0;
        x->knee_bytes = x->os_size_bytes;
        x->range.knee = (double)x->os_size_bytes * (i < 2 ? 2.0 : 1.0);
        x->range.resolved = true;
        (void)snprintf(x->name, sizeof x->name, i < 3 ? "L%zu" : "DRAM", i + 1);
    }
    return l;
}

/* More rounds from half of the cache before the first doubtful one to twice the last doubtful one. */
TEST(doubts_are_about_some_points)
{
    static const struct {
        const char *levels;
        size_t level, unresolved; /* unresolved: a second level; 0 = none */
        bool resolved;
        double knee, reach; /* shares of the reported size */
        bool doubt;
        double lo, hi;
    } rows[] = {
        {NULL, 0, 0, true, 1, 1, false, 0, 0},
        {NULL, 0, 0, false, 1, 1, true, 0, 192 * KIB},
        {NULL, 1, 0, false, 1, 1, true, 48 * KIB, 4 * MIB},
        {NULL, 2, 0, false, 1, 1, true, MIB, 64 * MIB},
        {NULL, 3, 0, false, 1, 1, false, 0, 0}, /* memory ends the curve */
        {NULL, 0, 2, false, 1, 1, true, 0, 64 * MIB},
        {NULL, 0, 0, true, 0.59, 1, true, 0, 192 * KIB},
        {NULL, 0, 0, true, 0.61, 1, false, 0, 0},
        {NULL, 0, 0, true, 0, 1, false, 0, 0},   /* its end was not seen */
        {NULL, 2, 0, true, 0.1, 1, false, 0, 0}, /* others may hold the rest */
        {NULL, 1, 0, true, 1, 1.51, true, 48 * KIB, 2 * 1.51 * 2 * MIB},
        {NULL, 1, 0, true, 1, 1.49, false, 0, 0},
        {"L2,DRAM", 0, 0, false, 1, 1, false, 0, 0},
        {"L2,DRAM", 0, 1, false, 1, 1, true, 48 * KIB, 4 * MIB},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        open_fixture(two_sockets, (struct carm_build_words){.levels = rows[i].levels});
        struct carm_build_levels l = as_reported();
        struct carm_build_level *x = &l.levels[rows[i].level];
        double lo = 0, hi = 0;
        l.levels[rows[i].unresolved].range.resolved = rows[i].unresolved == 0;
        x->range.resolved = rows[i].resolved;
        x->range.knee *= rows[i].reach;
        x->knee_bytes = (uint64_t)((double)x->knee_bytes * rows[i].knee);
        fail_if(carm_build_doubts_levels(&f.build, &l, &lo, &hi) != rows[i].doubt, "row %zu", i);
        assert_near(lo, rows[i].lo, 1e-6);
        assert_near(hi, rows[i].hi, 1.0);
        x->os_size_bytes = 0; /* not reported: from there on everything */
        assert_int_equal(carm_build_doubts_levels(&f.build, &l, &lo, &hi),
                         rows[i].doubt && rows[i].reach <= 1 && !(rows[i].knee < 1));
        assert_true(!rows[i].doubt || rows[i].reach > 1 || rows[i].knee < 1 || rows[i].unresolved ||
                    isinf(hi));
    }
}

/* The median up to four fifths of the reported size is more than 1.3 times that from 1.25 to 4 times it. */
TEST(a_step_is_between_medians)
{
    static const struct {
        const char *levels;
        int threads;
        bool resolved;
        double inside; /* the middle of three */
        bool assumed;
    } rows[] = {{NULL, 1, false, 130.1, true}, {NULL, 1, false, 129.9, false},
                {NULL, 1, true, 130.1, false}, {"L2", 1, false, 130.1, false},
                {"L1", 1, false, 130.1, true}, {NULL, 16, false, 130.1, false},
                {NULL, 8, false, 130.1, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double w = rows[i].inside;
        const int t = rows[i].threads;
        /* four fifths of 48 KiB are 38.4 (here the product of 0.8), 1.25 times are 60 and 4 times 192 */
        const double at[] = {10, 20, 0.8 * 48, 39, 60, 61, 100, 192, 193},
                     values[] = {w - 20, w, w + 50, 1, 1000, 99, 100, 150, 1000};
        struct carm_build_levels l;
        open_fixture(two_sockets, (struct carm_build_words){.levels = rows[i].levels});
        l = as_reported();
        l.threads = t;
        l.levels[0].range.resolved = rows[i].resolved;
        f.curve = (struct carm_curve){.points = f.points, .npoints = 9};
        for (size_t k = 0; k < 9; k++) {
            f.points[k] =
                (struct carm_curve_point){.x = at[k] * KIB * (t == 16 ? 8 : t), .value = values[k]};
        }
        carm_build_assume_levels(&f.build, &f.curve, &l);
        const struct carm_build_level *x = &l.levels[0];
        fail_if((x->nsets > 0) != rows[i].assumed, "row %zu", i);
        if (rows[i].assumed) {
            assert_true(x->range.resolved && x->nsets == CARM_LEVEL_SETS);
            assert_near(x->range.lo, 10 * KIB * t, 0.0);
            assert_near(x->range.hi, 0.8 * 48 * KIB * t, 1e-6);
            assert_near(x->range.knee, 48 * KIB * t, 0.0);
            assert_near(x->range.bandwidth, w, 0.0);
            assert_near((double)x->sets[0], 0.4 * 48 * KIB, 1.0);
            assert_near((double)x->sets[1], 0.64 * 48 * KIB, 1.0);
            assert_near((double)x->sets[2], 0.65 * 48 * KIB, 1.0);
        }
    }
    /* an unresolved second cache begins at twice the first */
    struct carm_build_levels l;
    open_fixture(two_sockets, (struct carm_build_words){.threads = "1"});
    l = as_reported();
    l.threads = 1;
    l.levels[1].range.resolved = false;
    f.curve = (struct carm_curve){.points = f.points, .npoints = 4};
    const double at[] = {47, 49, 1300, 4000}, values[] = {1, 131, 100, 100};
    for (size_t k = 0; k < 4; k++) {
        f.points[k] = (struct carm_curve_point){.x = at[k] * KIB, .value = values[k]};
    }
    carm_build_assume_levels(&f.build, &f.curve, &l);
    assert_near(l.levels[1].range.lo, 96 * KIB, 0.0);
    assert_near(l.levels[1].range.hi, 0.8 * MIB, 1e-6);
    assert_near(l.levels[1].range.bandwidth, 131, 0.0);
    l = as_reported();
    l.threads = 1;
    l.levels[1].range.resolved = false;
    f.curve.npoints = 2; /* nothing outside */
    carm_build_assume_levels(&f.build, &f.curve, &l);
    assert_int_equal(l.levels[1].nsets, 0);
}

/* No two threads share a private cache; the last cache and memory are none. */
TEST(private_caches)
{
    static const struct {
        size_t level;
        int threads;
        bool own;
    } rows[] = {{0, 1, true}, {1, 1, true}, {2, 1, false},  {3, 1, false},
                {0, 8, true}, {1, 8, true}, {0, 16, false}, {1, 16, false}};
    open_fixture(two_sockets, (struct carm_build_words){.isa = NULL});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(carm_build_is_private(f.topo, rows[i].level, rows[i].threads),
                         rows[i].own);
    }
}

/* The figure of all rounds where it is sound, else the median of the sound rounds, else the fastest; points without a
 * round are left out. fast: the fastest sound round */
TEST(points_of_few_rounds)
{
    static const struct {
        size_t n;
        double rates[4];
        enum carm_state states[4];
        double value, fast;
        bool sound;
    } rows[] = {
        {0, {0}, {CARM_STATE_QUIET}, 0, 0, false},
        {3, {10, 12, 11}, {CARM_STATE_QUIET, CARM_STATE_QUIET, CARM_STATE_QUIET}, 11, 12, true},
        {3, {10, 30, 20}, {CARM_STATE_QUIET, CARM_STATE_SHARED, CARM_STATE_SHARED}, 10, 10, false},
        {2, {30, 20}, {CARM_STATE_SHARED, CARM_STATE_UNEVEN}, 30, 30, false},
        {3, {10, 14, 50}, {CARM_STATE_QUIET, CARM_STATE_QUIET, CARM_STATE_SHARED}, 12, 14, false},
        {4,
         {11, 10, 12, 90},
         {CARM_STATE_QUIET, CARM_STATE_QUIET, CARM_STATE_QUIET, CARM_STATE_SHARED},
         11,
         12,
         true}};
    enum { N = sizeof rows / sizeof *rows };
    static struct carm_series points[N + 1]; /* the last one is beyond the sweep */
    const struct carm_clock clock = {.tsc_hz = 3e9};
    double clocks[CARM_CURVE_POINTS_MAX];
    open_fixture(two_sockets, (struct carm_build_words){.isa = NULL});
    struct carm_build_set set = {.build = &f.build, .threads = 2, .clock_hz = 7.0};
    struct carm_build_sweep sweep = {.set = &set, .points = points, .n = N};
    f.build.clock = &clock;
    for (size_t i = 0; i < N; i++) {
        points[i] = (struct carm_series){.shared = true,
                                         .clock_hz = &set.clock_hz,
                                         .work = 1.0,
                                         .n = rows[i].n,
                                         .shape = {.windows = 3, .window_bytes = 64 * (i + 1)}};
        for (size_t k = 0; k < rows[i].n; k++) {
            points[i].rounds[k] = (struct carm_round){.rate = rows[i].rates[k],
                                                      .clock_hz = 3e9 + 1e6 * (double)i,
                                                      .state = rows[i].states[k]};
        }
    }
    points[N] = (struct carm_series){.n = 64};
    for (size_t k = 0; k < 64; k++) {
        points[N].rounds[k] = (struct carm_round){.rate = 1.0, .clock_hz = k % 2 ? 3e9 : 4e9};
    }
    for (int fast = 0; fast < 2; fast++) {
        struct carm_curve curve = {.npoints = 0};
        assert_ok(carm_build_sweep_curve(&sweep, fast, &curve, clocks, &err));
        assert_near(set.clock_hz, 0.0, 0.0); /* too few rounds to say that it wanders */
        assert_int_equal(curve.npoints, N - 1);
        for (size_t i = 1; i < N; i++) {
            const struct carm_curve_point *p = &curve.points[i - 1];
            const double wanted = fast ? rows[i].fast : rows[i].value;
            fail_if(fabs(p->value - wanted) > 1e-9, "row %zu: %g", i, p->value);
            assert_true(p->ci95.lo <= rows[i].value && rows[i].value <= p->ci95.hi);
            assert_int_equal(p->disturbed, !rows[i].sound);
            assert_near(p->x, 2.0 * 3 * 64 * (double)(i + 1), 0.0);
            assert_near(clocks[i - 1], 3e9 + 1e6 * (double)i, 1e-3);
        }
        free(curve.points);
    }
}
