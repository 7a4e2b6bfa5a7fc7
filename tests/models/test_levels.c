/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Levels from synthetic curves with known answers: ideal machines, noise of known size, caches that
 * the OS misreports or hides, memory out of reach. */
#include <gsl/gsl_randist.h>

#include "models/levels.h"
#include "tests/random.h"

#define KIB 1024.0
#define MIB (1024.0 * 1024.0)

enum { POINTS_MAX = 128 };

struct machine {
    double size[6];      /* byte: where each plateau ends; 0 ends the list */
    double bandwidth[7]; /* of each plateau, memory's last */
    double slope;        /* the fall from a plateau to the next takes this factor of working set */
};

/* B(beta) of a machine: flat, then a fall along the log scale. */
static size_t make_curve(const struct machine *m, double end, int steps, gsl_rng *rng, double noise,
                         double *x, double *b)
{
    size_t n = 0;
    for (double w = 2 * KIB; w <= end * 1.001 && n < POINTS_MAX; w *= pow(2.0, 1.0 / steps)) {
        double value = m->bandwidth[0];
        for (int i = 0; m->size[i] > 0.0; i++) {
            double t = log(w / m->size[i]) / log(m->slope);
            t = fmin(1.0, fmax(0.0, t));
            value *= pow(m->bandwidth[i + 1] / m->bandwidth[i], t);
        }
        x[n] = w;
        b[n++] = value * (rng ? exp(gsl_ran_gaussian(rng, noise)) : 1.0);
    }
    return n;
}

static const struct machine four_levels = {
    {48 * KIB, 1 * MIB, 32 * MIB, 0}, {800e9, 270e9, 110e9, 43e9}, 1.5};
static const double reported[] = {48 * KIB, 1 * MIB, 32 * MIB};

/* A test's curve, and its levels. */
static double x[POINTS_MAX], b[POINTS_MAX];
static struct carm_level_range r[4];
static size_t hidden;

TEST(finds_four_levels)
{
    hidden = 9;
    const size_t n = make_curve(&four_levels, 256 * MIB, 3, NULL, 0, x, b);
    carm_levels_match(x, b, n, reported, 3, r, &hidden);
    assert_int_equal(hidden, 0);
    for (int i = 0; i < 4; i++) {
        assert_true(r[i].resolved);
        assert_near(r[i].bandwidth, four_levels.bandwidth[i], 0.001 * four_levels.bandwidth[i]);
    }
    for (int i = 0; i < 3; i++) { /* within one step of the curve */
        assert_true(r[i].knee > reported[i] / 1.3 && r[i].knee < reported[i] * 1.6);
    }
    assert_near(r[3].knee, 0.0, 0);
}

/* One plateau up to twice the reported size and more is the cache's, not memory's. */
TEST(a_flat_curve_is_one_level)
{
    static const struct machine flat = {{0}, {100e9}, 1.5};
    for (size_t caches = 1; caches <= 3; caches++) {
        const double end = 8.0 * reported[caches - 1];
        const size_t n = make_curve(&flat, end, 3, NULL, 0, x, b);
        carm_levels_match(x, b, n, reported, caches, r, &hidden);
        size_t resolved = 0;
        for (size_t level = 0; level <= caches; level++) {
            resolved += r[level].resolved;
            fail_if(r[level].resolved && (r[level].bandwidth != 100e9 || r[level].knee != 0.0),
                    "level %zu", level);
        }
        assert_int_equal(resolved, 1);
        assert_false(r[caches].resolved);
    }
}

/* The cloud machine of DESIGN.md: the OS says 480 MiB, the plateau ends at 100, memory begins at
 * 400. Half of the reported size would give memory's bandwidth. */
TEST(follows_the_curve_where_the_os_misreports)
{
    const struct machine m = {{48 * KIB, 2 * MIB, 100 * MIB, 0}, {500e9, 120e9, 29e9, 15e9}, 4.0};
    const double os[] = {48 * KIB, 2 * MIB, 480 * MIB};
    size_t n = make_curve(&m, 2048 * MIB, 3, NULL, 0, x, b);
    carm_levels_match(x, b, n, os, 3, r, &hidden);
    assert_true(r[2].resolved && r[3].resolved);
    assert_near(r[2].bandwidth, 29e9, 0.5e9);
    assert_near(r[3].bandwidth, 15e9, 0.3e9);
    assert_true(r[2].knee > 85 * MIB && r[2].knee < 170 * MIB);
    assert_true(r[2].hi < 150 * MIB);
    /* the same where the sweep stops at twice what the OS says */
    n = make_curve(&m, 960 * MIB, 3, NULL, 0, x, b);
    carm_levels_match(x, b, n, os, 3, r, &hidden);
    assert_true(r[2].resolved && r[3].resolved);
    assert_near(r[3].bandwidth, 15e9, 0.3e9);
}

TEST(leaves_memory_unresolved_when_out_of_reach)
{
    /* the curve ends inside L3's plateau, and on the slope behind it */
    const double ends[] = {20 * MIB, 40 * MIB};
    for (int i = 0; i < 2; i++) {
        size_t n = make_curve(&four_levels, ends[i], 3, NULL, 0, x, b);
        carm_levels_match(x, b, n, reported, 3, r, &hidden);
        assert_true(r[2].resolved);
        assert_false(r[3].resolved);
    }
}

TEST(does_not_invent_a_level)
{
    /* the OS reports an L3 that makes no difference */
    const struct machine m = {{32 * KIB, 1 * MIB, 0}, {400e9, 90e9, 20e9}, 1.5};
    const double os[] = {32 * KIB, 1 * MIB, 8 * MIB};
    size_t n = make_curve(&m, 256 * MIB, 3, NULL, 0, x, b);
    carm_levels_match(x, b, n, os, 3, r, &hidden);
    assert_true(r[0].resolved && r[1].resolved);
    assert_true(r[2].resolved != r[3].resolved || !r[3].resolved);
    assert_true(r[3].resolved);
    assert_near(r[3].bandwidth, 20e9, 1e9);
    assert_false(r[2].resolved);
}

TEST(counts_a_cache_that_the_os_hides)
{
    size_t n = make_curve(&four_levels, 512 * MIB, 3, NULL, 0, x, b);
    carm_levels_match(x, b, n, reported, 2, r, &hidden);
    assert_int_equal(hidden, 1);
    assert_true(r[2].resolved);
    assert_near(r[2].bandwidth, 43e9, 1e9);
}

/* Neighbours take half of memory's bandwidth while the curve is measured: still memory, and no
 * hidden cache. */
TEST(knows_memory_that_neighbours_move)
{
    size_t n = make_curve(&four_levels, 1024 * MIB, 3, NULL, 0, x, b);
    b[n - 1] = b[n - 2] = b[n - 3] = 0.55 * b[n - 1];
    carm_levels_match(x, b, n, reported, 3, r, &hidden);
    assert_true(r[3].resolved);
    assert_near(r[3].bandwidth, 0.55 * 43e9, 1e9);
    for (size_t i = 0; i < n; i++) { /* settling slowly */
        if (x[i] > 40 * MIB) {
            b[i] = 43e9 * (1.0 + 0.2 * fmax(0.0, 1.0 - log2(x[i] / (40 * MIB)) / 3.0));
        }
    }
    carm_levels_match(x, b, n, reported, 3, r, &hidden);
    assert_true(r[3].resolved);
    assert_int_equal(hidden, 0);
}

/* 16 threads of a guest of an Emerald Rapids that neighbours disturbed at each point: no plateau, neither of L3 nor of
 * memory, but its last octave is 6 times beyond the last cache. A curve that ends at twice this cache has no memory. */
TEST(knows_memory_behind_a_cache_without_plateau)
{
    static const double kib[] = {48,     96,     192,    384,     768,    1248,   2016,
                                 3216,   5088,   8064,   12864,   20160,  31008,  49152,
                                 77760,  131040, 194208, 243984,  316800, 395808, 498864,
                                 626400, 786624, 999360, 1251936, 1572432};
    static const double gb[] = {3752, 4454, 4094, 2620, 1352, 1359, 897,  1251, 1306,
                                1291, 1290, 532,  232,  284,  203,  171,  185,  143,
                                134,  99.6, 104,  96,   114,  97,   92.7, 97.2};
    enum { N = sizeof kib / sizeof *kib, TWICE = 22 };
    static const double os[] = {16 * 48 * KIB, 16 * 2 * MIB, 300 * MIB};
    for (size_t i = 0; i < N; i++) {
        x[i] = kib[i] * KIB;
        b[i] = gb[i] * 1e9;
    }
    carm_levels_match(x, b, N, os, 3, r, &hidden);
    assert_true(r[3].resolved);
    assert_near(r[3].bandwidth, 97e9, 1e9);
    carm_levels_match(x, b, TWICE, os, 3, r, &hidden);
    assert_false(r[3].resolved);
}

/* Two plateaus inside one cache (a prefetcher that starts late): the roof is the higher. */
TEST(takes_the_attainable_plateau)
{
    size_t n = 0;
    for (double w = 2 * KIB; w < 64 * MIB; w *= pow(2.0, 1.0 / 3)) {
        x[n] = w;
        b[n++] = w < 48 * KIB ? 800e9 : w < 300 * KIB ? 200e9 : w < 1.01 * MIB ? 270e9 : 40e9;
    }
    carm_levels_match(x, b, n, reported, 2, r, &hidden);
    assert_true(r[1].resolved);
    assert_near(r[1].bandwidth, 270e9, 1e9);
}

/* Neighbours leave a quarter of the last cache: its second plateau is memory's, where the curve goes on far enough beyond
 * the cache's whole size. */
TEST(takes_the_end_for_memory)
{
    for (int far = 0; far < 2; far++) {
        size_t n = 0;
        for (double w = 2 * KIB; w < (far ? 96 : 60) * MIB; w *= pow(2.0, 1.0 / 3)) {
            x[n] = w;
            b[n++] = w < 48 * KIB ? 800e9 : w < 1 * MIB ? 270e9 : w < 8 * MIB ? 200e9 : 40e9;
        }
        carm_levels_match(x, b, n, reported, 3, r, &hidden);
        assert_true(r[2].resolved);
        assert_near(r[2].bandwidth, 200e9, 1e9);
        assert_int_equal(r[3].resolved, far);
        assert_near(r[3].bandwidth, far ? 40e9 : 0.0, 1e9);
    }
}

TEST(finds_levels_in_noise)
{
    gsl_rng *rng = random_of(7);
    int good = 0;
    for (int round = 0; round < 200; round++) {
        size_t n = make_curve(&four_levels, 256 * MIB, 3, rng, 0.02, x, b);
        carm_levels_match(x, b, n, reported, 3, r, &hidden);
        int right = 0;
        for (int i = 0; i < 4; i++) {
            right += r[i].resolved && fabs(r[i].bandwidth / four_levels.bandwidth[i] - 1.0) < 0.03;
        }
        good += right == 4 ? 1 : 0;
    }
    assert_true(good >= 195);
}

TEST(survives_odd_curves)
{
    const double bytes[] = {2048, 4096, 8192};
    const double flat[] = {1e9, 1e9, 1e9};
    const double os[] = {48 * KIB};
    struct carm_plateau p[4];
    carm_levels_match(bytes, flat, 0, os, 1, r, &hidden);
    assert_false(r[0].resolved || r[1].resolved);
    carm_levels_match(bytes, flat, 1, os, 1, r, &hidden);
    assert_false(r[0].resolved || r[1].resolved);
    assert_int_equal(carm_levels_plateaus(bytes, flat, 3, p, 4), 1);
    assert_int_equal(carm_levels_plateaus(bytes, flat, 2, p, 4), 0);
    carm_levels_match(bytes, flat, 3, os, 1, r, &hidden);
    assert_true(r[0].resolved);
    assert_false(r[1].resolved);
}

static void read_points(const char *text, double *bytes, double *of)
{
    char *end = NULL;
    for (size_t k = 0; *text; text = end + strspn(end, " ")) {
        double value = strtod(text, &end), times = 1;
        if (*end == '*') {
            times = value;
            value = strtod(end + 1, &end);
        }
        for (; times > 0; times--) {
            bytes[k] = (double)(1 << k);
            of[k++] = value;
        }
    }
}

/* Levels of points that are written down: "resolved lo..hi knee bandwidth", of two caches up to 64 and 1024 and of memory. */
TEST(points_in_words)
{
    enum { N = 16 };
    static const struct {
        const char *b; /* "7*800 50": at 1, 2, 4, ..., 32768 */
        size_t n;
        double os_first, os_last;
        const char *told;
    } cases[] = {
        {"7*800 4*200 5*50", N, 64, 1024,
         "1..64 90.51 800; 128..1024 1448.2 200; 2048..32768 0 50; 0"},
        /* a plateau's largest is 1.12 times its smallest, or more */
        {"800 720 3*800 715 800 4*200 5*50", N, 64, 1024,
         "1..64 90.51 800; 128..1024 1448.2 200; 2048..32768 0 50; 0"},
        {"800 720 800 700 800 700 720 4*200 5*50", N, 64, 1024,
         "1..4 90.51 800; 128..1024 1448.2 200; 2048..32768 0 50; 0"},
        {"100 2*112 4*90 4*50 5*10", N, 64, 1024,
         "1..4 5.6569 112; 128..1024 1448.2 50; 2048..32768 0 10; 0"},
        {"100 2*113 4*90 4*50 5*10", N, 64, 1024,
         "8..64 90.51 90; 128..1024 1448.2 50; 2048..32768 0 10; 0"},
        /* neighbours of nearly one height, of 6% */
        {"4*800 750 760 755 4*200 5*50", N, 64, 1024,
         "1..64 90.51 800; 128..1024 1448.2 200; 2048..32768 0 50; 0"},
        /* a step down for one point alone, and for good */
        {"5*800 700 2*800 3*200 5*50", N, 64, 1024,
         "1..128 181.02 800; 256..1024 1448.2 200; 2048..32768 0 50; 0"},
        {"4*800 2*719 600 4*200 5*50", N, 64, 1024,
         "1..32 45.255 800; 128..1024 1448.2 200; 2048..32768 0 50; 0"},
        /* the second cache is no faster than memory, or by less than a tenth */
        {"7*800 4*200 5*181", N, 64, 1024, "1..64 90.51 800; no 0..0 0 0; 128..32768 0 181; 0"},
        {"7*800 4*200 5*179", N, 64, 1024, "1..64 90.51 800; no 0..0 0 0; 128..32768 0 179; 0"},
        {"7*200 4*185 5*50", N, 64, 1024, "1..1024 1448.2 200; no 0..0 0 0; 2048..32768 0 50; 0"},
        /* a cache that is not reported: 1.5 times as fast as memory */
        {"5*800 3*200 4*76 4*50", N, 16, 128,
         "1..16 22.627 800; 32..128 181.02 200; 4096..32768 0 50; 1"},
        {"5*800 3*200 4*74 4*50", N, 16, 128,
         "1..16 22.627 800; 32..128 181.02 200; 4096..32768 0 50; 0"},
        /* memory without a plateau: the last octave, four times beyond the knee */
        {"7*800 4*200 100 80 64 50 40", N, 64, 1024,
         "1..64 90.51 800; 128..1024 1448.2 200; 16384..32768 0 45; 0"},
        {"7*800 4*200 100 80 60", 13, 64, 1024,
         "1..64 90.51 800; 128..1024 1448.2 200; no 0..0 0 0; 0"},
        {"7*800 4*200 100 80 60", 12, 64, 1024,
         "1..64 90.51 800; 128..1024 1448.2 200; no 0..0 0 0; 0"},
        {"7*800 400 300 200 150 100 80 60 40 20", N, 64, 1024,
         "1..64 90.51 800; no 0..0 0 0; 16384..32768 0 30; 0"},
        {"7*800 400 300 200 150 100 80 60", 13, 64, 1024,
         "1..64 90.51 800; no 0..0 0 0; 2048..4096 0 90; 0"},
        {"7*800 400 300 200 150 100 80 60", 12, 64, 1024,
         "1..64 90.51 800; no 0..0 0 0; no 0..0 0 0; 0"},
        /* the end of the last cache's plateaus is memory */
        {"4*800 5*200 5*50", 14, 8, 4096, "1..8 11.314 800; 16..256 362.04 200; 512..8192 0 50; 0"},
        {"4*800 5*200 5*50", 13, 8, 4096, "1..8 11.314 800; 16..256 362.04 200; no 0..0 0 0; 0"},
        {"800 400 200 100 50 25 12 6 3 1.5 0.7 0.3 0.1 0.05 0.02 0.01", N, 64, 1024,
         "no 0..0 0 0; no 0..0 0 0; no 0..0 0 0; 0"},
        /* one of six strays; two plateaus of one height, two or three apart */
        {"2*800 500 3*800 5*200 5*50", N, 32, 1024,
         "1..32 45.255 800; 64..1024 1448.2 200; 2048..32768 0 50; 0"},
        {"3*800 2*600 3*780 3*200 5*50", N, 128, 1024,
         "1..128 181.02 780; 256..1024 1448.2 200; 2048..32768 0 50; 0"},
        {"3*800 3*600 3*800 2*200 5*50", N, 256, 1024,
         "1..4 5.6569 800; no 0..0 0 0; 2048..32768 0 50; 0"},
        /* the curve ends with its step */
        {"7*800 200 800", 8, 64, 1024, "1..64 90.51 800; no 0..0 0 0; no 0..0 0 0; 0"},
        /* the end of the curve is off, by one and by two points */
        {"4*800 5*200 4*50 40", 14, 8, 4096,
         "1..8 11.314 800; 16..256 362.04 200; 512..4096 0 50; 0"},
        {"4*800 5*200 3*50 40 30", 14, 8, 4096,
         "1..8 11.314 800; 16..256 362.04 200; 4096..8192 0 35; 0"},
        {"7*800 4*200 4*50 30", N, 64, 1024,
         "1..64 90.51 800; 128..1024 1448.2 200; 2048..16384 0 50; 0"},
        {"7*800 4*200 3*50 30 20", N, 64, 1024,
         "1..64 90.51 800; 128..1024 1448.2 200; 16384..32768 0 25; 0"},
    };
    double bytes[N], b_of[N];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        size_t used = 0;
        read_points(cases[i].b, bytes, b_of);
        hidden = 9;
        carm_levels_match(bytes, b_of, cases[i].n, (double[]){cases[i].os_first, cases[i].os_last},
                          2, r, &hidden);
        for (size_t k = 0; k < 3; k++) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%g..%g %.5g %.5g; ",
                                     r[k].resolved ? "" : "no ", r[k].lo, r[k].hi, r[k].knee,
                                     r[k].bandwidth);
        }
        (void)snprintf(text + used, sizeof text - used, "%zu", hidden);
        assert_string_equal(text, cases[i].told);
    }
    /* a single cache: memory begins within its reported size, or has no plateau; without a reported cache all is memory */
    static const struct {
        const char *b;
        double os, first, memory;
    } single[] = {{"5*200 9*50", 4096, 32, 50},
                  {"9*200 100 80 64 50 40", 256, 4096, 45},
                  {"7*800", 0, 1, 800}};
    for (size_t i = 0; i < 3; i++) {
        read_points(single[i].b, bytes, b_of);
        carm_levels_match(bytes, b_of, i < 2 ? 14 : 7, &single[i].os, i < 2, r, &hidden);
        assert_near(r[i < 2].bandwidth, single[i].memory, 1e-9);
        assert_near(r[i < 2].lo, single[i].first, 0.0);
        assert_near(r[i < 2].knee, 0.0, 0.0);
    }
}
