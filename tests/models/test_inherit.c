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
    struct carm_model *m = make("avx2", 1, 1.1);
    inherit(m, before);
    assert_int_equal(m->nroofs, 1);
    assert_int_equal(m->roofs->nmemory, 3);
    assert_true(m->roofs->memory[0].bandwidth == 100e9 * 1.1); /* the new one */
    assert_string_equal(m->roofs->memory[2].level, "DRAM");
    assert_int_equal(m->roofs->memory[2].nrounds, 2);
    assert_true(m->roofs->dram_peak.bandwidth == m->roofs->memory[2].bandwidth);
    assert_true(m->roofs->compute->rate == 50e9 * 1.1);
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
