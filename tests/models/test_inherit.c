/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a partial or disturbed build leaves of the model before. */
#include "models/core.h"
#include "models/inherit.h"
#include "models/latency.h"
#include "models/scaling.h"
#include "tests/models/model_text.h"

static void *array(size_t n, size_t size)
{
    void *a = calloc(n, size);
    assert_non_null(a);
    return a;
}

static void name(char *dst, const char *text)
{
    (void)snprintf(dst, CARM_NAME_MAX, "%s", text);
}

/* One set with memory roofs of the first n levels, a peak, a level each, and a curve of n points.
 * factor  of all rates */
static struct carm_model *make(const char *isa, size_t n, double factor)
{
    static const char *const levels[] = {"L1", "L2", "DRAM"};
    struct carm_model *m = empty_model();
    m->roofs = array(m->nroofs = 1, sizeof *m->roofs);
    struct carm_roofs *r = m->roofs;
    name(r->isa, isa);
    name(r->precision, "dp");
    name(m->config.precision, "dp");
    m->config.reps = 8192;
    r->threads = 1;
    r->memory = array(r->nmemory = n, sizeof *r->memory);
    r->compute = array(r->ncompute = 1, sizeof *r->compute);
    name(r->compute->op, "fma");
    r->compute->rate = 50e9 * factor;
    m->levels = array(m->nlevels = 3, sizeof *m->levels);
    m->curves = array(m->ncurves = 1, sizeof *m->curves);
    name(m->curves->isa, isa);
    m->curves->threads = 1;
    m->curves->points = array(m->curves->npoints = n, sizeof *m->curves->points);
    for (size_t i = 0; i < 3; i++) {
        name(m->levels[i].level, levels[i]);
        m->levels[i].resolved = i < n;
        m->levels[i].knee_bytes = i < n ? 1000 * (i + 1) : 0;
    }
    for (size_t i = 0; i < n; i++) {
        name(r->memory[i].level, levels[i]);
        name(r->memory[i].ldst, "1:0");
        (void)snprintf(r->memory[i].code, sizeof r->memory[i].code, "%s.%s", isa, levels[i]);
        r->memory[i].bandwidth = 100e9 * factor / (double)(i + 1);
        r->memory[i].rounds = array(r->memory[i].nrounds = 2, sizeof *r->memory[i].rounds);
        m->curves->points[i].x = 1e4 * (double)(i + 1);
    }
    if (n == 3) {
        r->dram_peak.bandwidth = r->memory[2].bandwidth;
        name(r->dram_peak.code, r->memory[2].code);
    }
    return m;
}

static void inherit(struct carm_model *model, struct carm_model *before)
{
    assert_ok(carm_model_inherit(model, before, &err));
}

TEST(some_levels_keep_the_others)
{
    struct carm_model *before = make("avx2", 3, 1.0);
    before->core = array(before->ncore = 1, sizeof *before->core);
    before->latency = array(before->nlatency = 2, sizeof *before->latency);
    before->scaling = array(before->nscaling = 2, sizeof *before->scaling);
    before->scaling_units = array(before->nscaling_units = 1, sizeof *before->scaling_units);
    before->levels[0].knee_bytes = 55;
    struct carm_model *m = make("avx2", 1, 1.1);
    inherit(m, before);
    assert_int_equal(m->nroofs, 1);
    assert_int_equal(m->roofs->nmemory, 3);
    assert_true(m->roofs->memory[0].bandwidth == 100e9 * 1.1); /* the new one */
    assert_string_equal(m->roofs->memory[2].level, "DRAM");
    assert_int_equal(m->roofs->memory[2].nrounds, 2);
    assert_true(m->roofs->dram_peak.bandwidth == m->roofs->memory[2].bandwidth);
    assert_true(m->roofs->compute->rate == 50e9 * 1.1);
    assert_true(m->levels[0].knee_bytes == 1000);
    assert_true(m->levels[1].resolved && m->levels[1].knee_bytes == 2000);
    assert_int_equal(m->ncurves, 1);
    assert_int_equal(m->curves->npoints, 3);
    assert_int_equal(m->ncore, 1);
    assert_int_equal(m->nlatency, 2);
    assert_true(m->nscaling == 2 && m->nscaling_units == 1);
}

TEST(some_isas_keep_the_others)
{
    struct carm_model *before = make("avx512", 3, 1.0);
    struct carm_model *m = make("sse", 3, 0.5);
    name(before->config.precision, "dp,int8");
    name(m->config.precision, "sp,dp");
    m->config.quick = true;
    m->config.reps = 1024;
    inherit(m, before);
    assert_int_equal(m->nroofs, 2);
    assert_string_equal(m->roofs[0].isa, "avx512");
    assert_string_equal(m->roofs[1].isa, "sse");
    assert_int_equal(m->ncurves, 2);
    assert_string_equal(m->config.precision, "sp,dp,int8");
    assert_false(m->config.quick);
    assert_int_equal(m->config.reps, 8192);
}

/* A disturbed roof does not replace one that was not; any other new one does. */
TEST(bad_days_harm_nothing)
{
    struct carm_model *before = make("avx2", 3, 1.0);
    struct carm_model *m = make("avx2", 3, 0.7);
    m->roofs->memory[1].disturbed = true;
    m->roofs->memory[2].disturbed = before->roofs->memory[2].disturbed = true;
    m->roofs->compute->disturbed = true;
    inherit(m, before);
    assert_int_equal(m->roofs->nmemory, 3);
    assert_true(m->roofs->memory[0].bandwidth == 100e9 * 0.7);
    assert_true(m->roofs->memory[1].bandwidth == 50e9 && !m->roofs->memory[1].disturbed);
    assert_true(m->roofs->memory[2].disturbed && m->roofs->memory[2].bandwidth < 30e9);
    assert_true(m->roofs->compute->rate == 50e9);
}

/* Arrays that a build did not measure come from the model before, each whole; those that it measured stay. */
TEST(each_array_is_kept)
{
    struct carm_model *before = empty_model(), *m = empty_model(), *own = empty_model(),
                      *more = empty_model();
/* clang-format off */
#define ARRAYS(X) \
    X(core, 1) X(latency, 2) X(latency_curves, 3) X(in_flight, 4) X(loaded, 5) X(core_to_core, 6) X(numa_nodes, 7) \
    X(numa, 8) X(scaling, 9) X(scaling_units, 10) X(checks, 11) X(kinds, 12)
/* clang-format on */
#define PUT(name, count)                                                   \
    before->name = array(before->n##name = (count), sizeof *before->name); \
    more->name = array(more->n##name = (count) + 1, sizeof *more->name);   \
    own->name = array(own->n##name = 1, sizeof *own->name);
    ARRAYS(PUT)
    inherit(m, before);
    inherit(own, more);
#define CHECK(name, count)                                                                  \
    assert_true(m->n##name == (count) && m->name && before->n##name == 0 && !before->name); \
    assert_true(own->n##name == 1 && own->name && more->n##name == (count) + 1 && more->name);
    ARRAYS(CHECK)
}

/* Sets by threads, the widest ISA first, then by precision; the first level, too, keeps its plateau. */
TEST(sets_in_order)
{
    static const struct {
        int threads;
        const char *isa, *precision;
    } sets[] = {{4, "avx2", "dp"},
                {1, "sse", "dp"},
                {4, "avx512", "dp"},
                {1, "avx2", "sp"},
                {2, "scalar", "dp"}},
      ordered[] = {{1, "avx2", "dp"},   {1, "avx2", "sp"},   {1, "sse", "dp"},
                   {2, "scalar", "dp"}, {4, "avx512", "dp"}, {4, "avx2", "dp"}};
    struct carm_model *m = make("avx2", 3, 1.0), *before = empty_model();
    before->roofs = array(before->nroofs = 5, sizeof *before->roofs);
    for (size_t i = 0; i < 5; i++) {
        before->roofs[i].threads = sets[i].threads;
        name(before->roofs[i].isa, sets[i].isa);
        name(before->roofs[i].precision, sets[i].precision);
    }
    before->levels = array(before->nlevels = 2, sizeof *before->levels);
    name(before->levels[0].level, "L7");
    name(before->levels[1].level, "L1");
    before->levels[0].resolved = before->levels[1].resolved = true;
    before->levels[1].knee_bytes = 77;
    m->levels[0].resolved = false;
    m->levels[0].knee_bytes = 5;
    name(before->config.precision, "p,int16,sp");
    name(m->config.precision, "sp,int1");
    inherit(m, before);
    assert_int_equal(m->nroofs, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(m->roofs[i].threads, ordered[i].threads);
        assert_string_equal(m->roofs[i].isa, ordered[i].isa);
        assert_string_equal(m->roofs[i].precision, ordered[i].precision);
    }
    assert_true(m->levels[0].resolved && m->levels[0].knee_bytes == 77);
    assert_true(m->levels[1].resolved && m->levels[1].knee_bytes == 2000);
    assert_string_equal(m->config.precision, "sp,int1,p,int16");
}

/* Points of 2% more are points beyond the end; a curve is one by its threads, ISA, precision and kind. */
TEST(curves_go_on)
{
    for (int k = 0; k < 5; k++) {
        struct carm_model *before = make("avx2", 3, 1.0), *m = make("avx2", 1, 1.0);
        m->curves->points[0].x = 1e4 / 1.02;
        before->curves->points[0].x = k ? 1.0001e4 : 0.9999e4;
        before->curves->threads += k == 1;
        name(before->curves->isa, k == 2 ? "sse" : "avx2");
        name(before->curves->precision, k == 3 ? "sp" : "");
        name(before->curves->kind, k == 4 ? "1:0" : "");
        inherit(m, before);
        assert_int_equal(m->ncurves, k ? 2 : 1);
        assert_int_equal(m->curves->npoints, k ? 1 : 3);
        assert_near(m->curves->points[m->curves->npoints - 1].x, k ? 1e4 / 1.02 : 3e4, 1e-6);
    }
    struct carm_model *before = make("avx2", 3, 1.0), *m = make("avx2", 1, 1.0);
    m->curves->points[0].x = 1e4 / 1.02;
    before->curves->points[0].x = 1.0001e4;
    inherit(m, before);
    assert_int_equal(m->curves->npoints, 4);
}
