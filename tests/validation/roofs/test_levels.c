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
    assert_int_equal(carm_build_curve_end(&f.build, 1), 1024 * MIB);
    /* the first of 1 and 8 threads keeps all of one set's memory, the others an eighth each */
    f.config.memory_bytes = (uint64_t)(1.875 * 100 * MIB);
    assert_int_equal(carm_build_curve_end(&f.build, 8), 100 * MIB);
    assert_int_equal(carm_build_curve_end(&f.build, 1), 100 * MIB);
    open_fixture(two_sockets, (struct carm_build_words){.levels = "L1,L2"});
    assert_int_equal(carm_build_curve_end(&f.build, 2), 2.5 * 2 * MIB);
    open_fixture("pack:1 l3:1(size=503316480) core:2 l2:1(size=2097152) l1:1(size=49152) pu:1",
                 (struct carm_build_words){.memory = "8G"});
    assert_int_equal(carm_build_curve_end(&f.build, 1), 8 * 480 * MIB);
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

/* Neighbours slow the last cache in three rounds of four, down to the first points of memory: the plateau seems to
 * end at 71 MiB. One round shows the true end. With the cache itself as large in all rounds, the late end stays. */
TEST(a_late_end_needs_the_fastest_rounds)
{
    enum { POINTS = 128 };
    static struct carm_series points[POINTS];
    const double size[] = {48 * KIB, 1 * MIB, 32 * MIB, 71 * MIB};
    const double slowed[] = {800e9, 270e9, 60e9, 57e9, 43e9};
    const double full[] = {800e9, 270e9, 110e9, 57e9, 43e9};
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
        draw(size, slowed, 5, 2 * KIB, 1024 * MIB);
        for (sweep.n = 0; sweep.n < f.curve.npoints; sweep.n++) {
            struct carm_series *p = &points[sweep.n];
            const double x = f.points[sweep.n].x;
            const size_t level = x <= size[0]   ? 0
                                 : x <= size[1] ? 1
                                 : x <= size[2] ? 2
                                 : x <= size[3] ? 3
                                                : 4;
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
        assert_true(levels.levels[2].range.knee > 64 * MIB);
        assert_ok(carm_build_doubt_late(&sweep, NULL, &levels, &err));
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
