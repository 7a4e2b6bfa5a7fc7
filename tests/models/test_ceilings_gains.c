/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ceilings: what lies next to a point, regions of intensity, what optimisations give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "models/ceilings.h"
#include "tests/models/near.h"

static void put(struct carm_ceiling *list, size_t *n, const char *name, double rate, bool aside)
{
    struct carm_ceiling *r = &list[(*n)++];
    memset(r, 0, sizeof *r);
    (void)strcpy(r->name, name);
    r->rate = rate;
    r->ci95 = (struct carm_ci){rate, rate};
    r->aside = aside;
}

/* Figure 2: slopes 2.7, 4.8, 11, 15; horizontals 2.2, 8.8, 17.6; one aside on each side. */
static struct carm_ceilings figure2(void)
{
    struct carm_ceilings l = {.metric = "flop"};
    put(l.memory, &l.nmemory, "unit stride", 2.7, false);
    put(l.memory, &l.nmemory, "affinity", 4.8, false);
    put(l.memory, &l.nmemory, "half the traffic", 7.5, true);
    put(l.memory, &l.nmemory, "prefetch", 11, false);
    put(l.memory, &l.nmemory, "roof", 15, false);
    put(l.compute, &l.ncompute, "ilp", 2.2, false);
    put(l.compute, &l.ncompute, "fp 1/2", 5, true);
    put(l.compute, &l.ncompute, "balance", 8.8, false);
    put(l.compute, &l.ncompute, "peak", 17.6, false);
    put(l.compute, &l.ncompute, "turbo", 20, true);
    return l;
}

static void roofs(void **state)
{
    (void)state;
    struct carm_ceilings l = figure2();
    assert_string_equal(carm_ceilings_slope(&l)->name, "roof");
    assert_string_equal(carm_ceilings_peak(&l)->name, "peak");
    assert_near(carm_ceilings_ridge(&l), 17.6 / 15, 1e-12);
    l.nmemory = 0;
    assert_null(carm_ceilings_slope(&l));
    assert_near(carm_ceilings_ridge(&l), 0, 0);
    assert_string_equal(carm_region_name(CARM_REGION_MEMORY), "memory");
    assert_string_equal(carm_region_name(CARM_REGION_BOTH), "memory and compute");
    assert_string_equal(carm_region_name(CARM_REGION_COMPUTE), "compute");
}

static void sandwich(void **state)
{
    (void)state;
    static const struct {
        double intensity, performance;
        bool aside;
        const char *upper, *lower; /* NULL = none */
    } cases[] = {
        {1, 5, false, "balance", "affinity"},
        {1, 5, true, "fp 1/2", "affinity"}, /* at it: it is the upper one */
        {1, 6, true, "half the traffic", "fp 1/2"},
        {1, 2.2, false, "ilp", NULL}, /* at the lowest */
        {1, 2.2001, false, "unit stride", "ilp"},
        {1, 1, false, "ilp", NULL},
        {1, 15, false, "roof", "prefetch"}, /* at the roof */
        {1, 15.01, false, NULL, "roof"},    /* above it: not the peak, which binds nothing */
        {0.1, 1.2, false, "roof", "prefetch"},
        {0.1, 2, false, NULL, "roof"}, /* 2.2 lies above the roof here */
        {10, 17, false, "peak", "balance"},
        {10, 18, true, NULL, "peak"}, /* an aside above the roof binds nothing */
        {10, 18, false, NULL, "peak"},
    };
    const struct carm_ceilings l = figure2();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_ceiling_around u, d;
        assert_int_equal(carm_ceilings_around(&l, cases[i].intensity, cases[i].performance,
                                              cases[i].aside, &u, &d, NULL),
                         0);
        const char *upper = !u.known    ? ""
                            : u.compute ? l.compute[u.index].name
                                        : l.memory[u.index].name;
        const char *lower = !d.known    ? ""
                            : d.compute ? l.compute[d.index].name
                                        : l.memory[d.index].name;
        assert_string_equal(upper, cases[i].upper ? cases[i].upper : "");
        assert_string_equal(lower, cases[i].lower ? cases[i].lower : "");
        if (u.known) {
            assert_near(u.at,
                        u.compute ? l.compute[u.index].rate
                                  : l.memory[u.index].rate * cases[i].intensity,
                        1e-12);
        }
    }
}

static void sandwich_refuses(void **state)
{
    (void)state;
    static const double bad[] = {0, -1, (double)NAN, (double)INFINITY};
    const struct carm_ceilings l = figure2();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct carm_ceiling_around u, d;
        struct carm_err err = {""};
        assert_int_equal(carm_ceilings_around(&l, bad[i], 1, false, &u, &d, &err), -CARM_EINVAL);
        assert_non_null(strstr(err.text, "intensity"));
        assert_int_equal(carm_ceilings_around(&l, 1, bad[i], false, &u, &d, &err), -CARM_EINVAL);
        assert_non_null(strstr(err.text, "performance"));
        assert_false(u.known || d.known);
    }
}

struct want {
    const char *name;
    double from, to, times;
};

static void check_gains(double intensity, double performance, enum carm_region want_region,
                        const struct want *want, size_t nwant)
{
    const struct carm_ceilings l = figure2();
    struct carm_gain g[2 * CARM_CEILINGS_MAX];
    enum carm_region region;
    const size_t n = carm_ceilings_gains(&l, intensity, performance, &region, g);
    assert_int_equal(region, want_region);
    assert_int_equal(n, nwant);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(g[i].compute ? l.compute[g[i].index].name : l.memory[g[i].index].name,
                            want[i].name);
        assert_near(g[i].from, want[i].from, 1e-7);
        assert_near(g[i].to, want[i].to, 1e-7);
        assert_near(g[i].times, want[i].times, 1e-7);
    }
}

static void gains(void **state)
{
    (void)state;
    /* Below 2.2 / 15 no horizontal is in reach: the yellow triangle. */
    static const struct want memory[] = {{"unit stride", 0.27, 0.48, 4.8 / 2.7},
                                         {"affinity", 0.48, 1.1, 11 / 4.8},
                                         {"prefetch", 1.1, 1.5, 15.0 / 11}};
    check_gains(0.1, 0, CARM_REGION_MEMORY, memory, 3);
    /* Between: both, from the bottom up; what a step gives is capped by the roof of 7.5. */
    static const struct want both[] = {{"unit stride", 1.35, 2.4, 4.8 / 2.7},
                                       {"ilp", 2.2, 7.5, 7.5 / 2.2},
                                       {"affinity", 2.4, 5.5, 11 / 4.8},
                                       {"prefetch", 5.5, 7.5, 15.0 / 11}};
    check_gains(0.5, 0, CARM_REGION_BOTH, both, 4);
    /* Right of 17.6 / 2.7 no slope lies below the peak: the blue trapezoid. */
    static const struct want compute[] = {{"ilp", 2.2, 8.8, 4}, {"balance", 8.8, 17.6, 2}};
    check_gains(8, 0, CARM_REGION_COMPUTE, compute, 2);
    check_gains(8, (double)NAN, CARM_REGION_COMPUTE, compute, 2);
    check_gains(17.6 / 2.7 + 1e-9, 0, CARM_REGION_COMPUTE, compute, 2);
    check_gains(17.6 / 15 - 1e-9, 0, CARM_REGION_BOTH,
                (const struct want[]){{"ilp", 2.2, 8.8, 4},
                                      {"unit stride", 3.168, 5.632, 4.8 / 2.7},
                                      {"affinity", 5.632, 12.906666666, 11 / 4.8},
                                      {"balance", 8.8, 17.599999985, 17.599999985 / 8.8},
                                      {"prefetch", 12.906666666, 17.599999985, 15.0 / 11}},
                5);
}

static void gains_of_a_point(void **state)
{
    (void)state;
    /* At 3 the ceilings below 2.4 are broken; one that it stands above counts from the point on. */
    static const struct want at3[] = {{"ilp", 2.2, 7.5, 7.5 / 3},
                                      {"affinity", 2.4, 5.5, 5.5 / 3},
                                      {"prefetch", 5.5, 7.5, 15.0 / 11}};
    check_gains(0.5, 3, CARM_REGION_BOTH, at3, 3);
    /* At the roof, or above it, nothing is left. */
    check_gains(0.5, 7.5, CARM_REGION_BOTH, NULL, 0);
    check_gains(0.5, 9, CARM_REGION_BOTH, NULL, 0);
    check_gains(0, 9, CARM_REGION_MEMORY, NULL, 0);
}

/* Roofs alone: the ridge point decides. */
static void without_ceilings(void **state)
{
    (void)state;
    struct carm_ceilings l = {.metric = "flop"};
    struct carm_gain g[2 * CARM_CEILINGS_MAX];
    enum carm_region region;
    put(l.memory, &l.nmemory, "roof", 10, false);
    put(l.compute, &l.ncompute, "peak", 40, false);
    assert_int_equal(carm_ceilings_gains(&l, 3.9, 0, &region, g), 0);
    assert_int_equal(region, CARM_REGION_MEMORY);
    assert_int_equal(carm_ceilings_gains(&l, 4.1, 0, &region, g), 0);
    assert_int_equal(region, CARM_REGION_COMPUTE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roofs),
        cmocka_unit_test(sandwich),
        cmocka_unit_test(sandwich_refuses),
        cmocka_unit_test(gains),
        cmocka_unit_test(gains_of_a_point),
        cmocka_unit_test(without_ceilings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
