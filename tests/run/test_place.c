/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of a program on a hybrid CPU: from made-up samples on its p and e cores to roofs that are mixed by them. */
#include "run/place.h"

#include <sched.h>

#include "models/file/kinds.h"
#include "models/place/kinds.h"
#include "tests/models/place/two_kinds.h"

enum { PERIODS = 400 };

/* In place of the simulated caches: counts that one row of the profile gets where it has bytes. */
struct carm_run_levels {
    size_t row;
    double bytes;
};

void carm_run_levels_put(const struct carm_run_levels *levels, size_t row, struct carm_counts *c)
{
    static const enum carm_quantity all[] = {CARM_Q_L2_BYTES, CARM_Q_L3_BYTES, CARM_Q_DRAM_BYTES};
    for (size_t i = 0; levels && row == levels->row && carm_count_has(c, CARM_Q_BYTES) && i < 3;
         i++) {
        carm_count_put(c, all[i], levels->bytes, CARM_COUNTED_SIMULATED);
    }
}

static struct carm_model *model;
static struct carm_profile profile;
static struct carm_run run = {.name = "made"};

/* Of the samples of one function of each file, so many on p, e and lp cores. Its threads are two, and follow one another. */
static void add(const char *file, uint64_t p, uint64_t e, uint64_t lp)
{
    struct carm_samples *s = &run.samples;
    const uint64_t on[CARM_SAMPLE_KINDS] = {p, e, lp};
    uint32_t module = 0;
    assert_int_equal(carm_modules_add(&s->modules, file, strlen(file), 1, -1, &module), 0);
    s->samples = realloc(s->samples, (s->nsamples + CARM_SAMPLE_KINDS) * sizeof *s->samples);
    for (uint32_t k = 0; k < CARM_SAMPLE_KINDS; k++) {
        struct carm_sample one = {
            .module = module, .thread = k % 2, .at = 0x1000, .n = on[k], .first = 10 * k};
        one.last = one.first + 9;
        one.on[k] = on[k];
        s->samples[s->nsamples] = one;
        s->nsamples += on[k] > 0;
        s->total += on[k];
    }
}

static int set_up(void **state)
{
    model = make_kind("", 1.0);
    struct carm_model *p = make_kind("kind:p", 1.0), *e = make_kind("kind:e", 0.5);
    assert_ok(carm_kinds_put(model, p, &err));
    assert_ok(carm_kinds_put(model, e, &err));
    carm_modules_open(&run.samples.modules);
    run.has_samples = true;
    run.samples.period = 1e-3;
    run.user_seconds = 1e-3 * PERIODS;
    add("/none/mostly_p", 75, 25, 0);
    add("/none/only_p", 100, 0, 0);
    add("/none/only_e", 0, 100, 0);
    add("/none/with_lp", 90, 0, 10);
    assert_ok(carm_parts_open(&profile, &run, CARM_PROFILE_FUNCTIONS, 0.0, NULL, 0, &err));
    profile.has_counts = true;
    for (size_t i = 0; i < profile.nrows; i++) { /* 1 flop for 16 bytes */
        profile.rows[i].counts.instructions = 1000000;
        profile.rows[i].counts.flops[0][0] = 500000;
        profile.rows[i].counts.loads = 1000000;
        profile.rows[i].counts.load_bytes = 8000000;
    }
    return 0;
}

static int tear_down(void **state)
{
    carm_profile_close(&profile);
    carm_samples_close(&run.samples);
    return 0;
}

static struct carm_run_placed place(const char *file)
{
    struct carm_run_placed out = {.placed = false};
    for (size_t i = 0; i < profile.nrows; i++) {
        if (strcmp(profile.rows[i].module, file) == 0) {
            carm_run_part_place(&out, &run, &profile, NULL, model, i);
            assert_true(out.placed && out.hot.placed);
            return out;
        }
    }
    fail_msg("no row of %s", file);
    return out;
}

TEST(roofs_are_mixed_by_the_samples)
{
    const struct carm_run_placed p = place("only_p"), e = place("only_e"), m = place("mostly_p");
    assert_string_equal(p.row.part.cores, "p:1.00");
    assert_string_equal(e.row.part.cores, "e:1.00");
    assert_string_equal(m.row.part.cores, "p:0.75 e:0.25");
    const double of_p = p.hot.place.roof;
    assert_near(e.hot.place.roof, 0.5 * of_p, 1e-6 * of_p);
    assert_near(m.hot.place.roof, (0.75 + 0.25 * 0.5) * of_p, 1e-6 * of_p);
    /* the same work in the same time: under a lower roof it is nearer to it */
    assert_near(e.hot.place.share, 2.0 * p.hot.place.share, 1e-6);
    assert_near(m.hot.place.share, p.hot.place.share / 0.875, 1e-6);
    assert_null(m.hot.roofs); /* of no model */
    assert_int_equal(p.row.calls, 1);
    assert_near(p.row.share, 1.0, 0.0);
}

TEST(an_unmeasured_kind_keeps_the_roofs_of_the_machine)
{
    const struct carm_run_placed p = place("only_p"), lp = place("with_lp");
    assert_string_equal(lp.row.part.cores, "p:0.90 lp:0.10");
    assert_near(lp.hot.place.roof, p.hot.place.roof, 1e-6 * p.hot.place.roof);
    assert_non_null(lp.hot.roofs);
}

/* One point for each level: its own bytes, their bounds, what of them was not used, and why they came. */
TEST(levels_have_their_own_bytes)
{
    static const struct {
        enum carm_quantity q;
        double value;
    } of[] = {
        {CARM_Q_BYTES, 64e6},        {CARM_Q_L2_BYTES, 32e6},      {CARM_Q_L3_BYTES, 16e6},
        {CARM_Q_DRAM_BYTES, 8e6},    {CARM_Q_L2_UNUSED, 8e6},      {CARM_Q_L3_UNUSED, 8e6},
        {CARM_Q_L2_COMPULSORY, 1e6}, {CARM_Q_L2_CAPACITY, 2e6},    {CARM_Q_L2_CONFLICT, 3e6},
        {CARM_Q_L2_COHERENCE, 4e6},  {CARM_Q_L3_COMPULSORY, 1e6},  {CARM_Q_L3_CAPACITY, 0},
        {CARM_Q_L3_CONFLICT, 1e6},   {CARM_Q_DRAM_COMPULSORY, 0},  {CARM_Q_DRAM_CAPACITY, 1e6},
        {CARM_Q_DRAM_CONFLICT, 4e6}, {CARM_Q_DRAM_COHERENCE, 3e6}, {CARM_Q_FLOPS, 16e6},
        {CARM_Q_INT_DOTS, 5e6},      {CARM_Q_INT_LOGIC, 6e6},      {CARM_Q_INT_MULS, 7e6}};
    static const struct {
        double intensity, unused, misses[CARM_MISS_REASONS];
    } is[] = {{0.25, -1.0, {0, 0, 0, 0}},
              {0.5, 0.25, {0.1, 0.2, 0.3, 0.4}},
              {1.0, 0.5, {0.5, 0, 0.5, 0}},
              {2.0, -1.0, {0, 0.125, 0.5, 0.375}}};
    struct carm_row row = {.seconds = 0.5, .threads = 1};
    struct carm_levels out;
    char note[CARM_TEXT_MAX];
    const struct carm_roofs *roofs = carm_place_roofs(model, "dp", 1, note);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        carm_count_put(&row.counts, of[i].q, of[i].value, CARM_COUNTED_SIMULATED);
    }
    row.counts.q[CARM_Q_L3_BYTES].low = 8e6;
    row.counts.q[CARM_Q_L3_BYTES].high = 32e6;
    assert_true(carm_run_place_levels(&row, model, roofs, &out));
    assert_int_equal(out.n, CARM_AT_COUNT);
    assert_string_equal(out.operation, "flop");
    for (size_t i = 0; i < CARM_AT_COUNT; i++) {
        const struct carm_levels_at *at = &out.at[i];
        assert_int_equal(at->level, i);
        assert_near(at->intensity, is[i].intensity, 1e-12);
        assert_near(at->intensity_low, i == CARM_AT_L3 ? 0.5 : is[i].intensity, 1e-12);
        assert_near(at->intensity_high, i == CARM_AT_L3 ? 2.0 : is[i].intensity, 1e-12);
        assert_near(at->unused, is[i].unused, 1e-12);
        assert_near(at->share, 16e6 / 0.5 / at->roof, 1e-9);
        for (int r = 0; r < CARM_MISS_REASONS; r++) {
            assert_near(at->misses[r], is[i].misses[r], 1e-12);
        }
    }
    row.metric = CARM_METRIC_INTEGERS;
    row.operations = 32e6;
    assert_true(carm_run_place_levels(&row, model, roofs, &out));
    assert_near(out.at[0].intensity, 0.5, 1e-12);
    assert_string_equal(out.operation, CARM_METRIC_INTEGERS);
    row.seconds = 0.0;
    assert_false(carm_run_place_levels(&row, model, roofs, &out));
    row.seconds = 0.5;
    row.counts.q[CARM_Q_L2_BYTES].by = CARM_COUNTED_NOT;
    assert_false(carm_run_place_levels(&row, model, roofs, &out));
    row.metric = NULL;
    row.counts.q[CARM_Q_FLOPS].by = CARM_COUNTED_NOT; /* none are not one */
    assert_near(carm_run_work(&row), 0.0, 0.0);
}

/* Which parts have a place, and points of their levels. */
TEST(parts_that_are_placed)
{
    static const struct {
        enum carm_profile_kind kind;
        bool no_model, no_counts, no_time, differs, no_levels;
        uint64_t samples;
        bool placed, levels;
    } of[] = {{CARM_PROFILE_FUNCTION, 0, 0, 0, 0, 0, 100, true, true},
              {CARM_PROFILE_LOOP, 0, 0, 0, 0, 0, 1, true, true},
              {CARM_PROFILE_FUNCTION, 1, 0, 0, 0, 0, 100, false, false},
              {CARM_PROFILE_FUNCTION, 0, 1, 0, 0, 0, 100, false, false},
              {CARM_PROFILE_FUNCTION, 0, 0, 1, 0, 0, 100, false, true},
              {CARM_PROFILE_FUNCTION, 0, 0, 0, 1, 0, 100, false, false},
              {CARM_PROFILE_FUNCTION, 0, 0, 0, 0, 1, 100, true, false},
              {CARM_PROFILE_FUNCTION, 0, 0, 0, 0, 0, 0, false, false},
              {CARM_PROFILE_OTHERS, 0, 0, 0, 0, 0, 100, false, true},
              {CARM_PROFILE_UNKNOWN, 0, 0, 0, 0, 0, 100, false, true}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct carm_profile_row row = profile.rows[0];
        const struct carm_run_levels levels = {.row = 0, .bytes = 4e6};
        struct carm_profile one = {
            .rows = &row, .nrows = 1, .has_counts = !of[i].no_counts, .has_time = !of[i].no_time};
        struct carm_run_placed out = {.placed = false};
        row.kind = of[i].kind;
        row.differs = of[i].differs;
        row.samples = of[i].samples;
        row.seconds = 0.25;
        row.threads = 1;
        carm_run_part_place(&out, &run, &one, of[i].no_levels ? NULL : &levels,
                            of[i].no_model ? NULL : model, 0);
        fail_if(out.placed != of[i].placed || out.has_levels != of[i].levels, "case %zu: %d %d", i,
                out.placed, out.has_levels);
        const struct carm_point *p = &out.point;
        assert_ptr_equal(p->name, out.row.name);
        assert_true(p->flops == (of[i].no_counts ? CARM_POINT_UNKNOWN : 500000.0) &&
                    p->bytes == (of[i].no_counts ? CARM_POINT_UNKNOWN : 8e6) &&
                    p->seconds == 0.25 && p->threads == 1 && p->operations == 0.0);
        assert_string_equal(p->precision, of[i].no_counts ? "" : "dp");
        assert_string_equal(p->isa, of[i].no_counts ? "" : "scalar");
        assert_string_equal(p->metric, "");
        const bool known = carm_runmix_has(&p->mix, CARM_RUNMIX_INSTRUCTIONS);
        assert_int_equal(known, !of[i].no_counts);
        assert_true(!known || (p->mix.q[CARM_RUNMIX_INSTRUCTIONS] == 1e6 &&
                               p->mix.q[CARM_RUNMIX_LOADS] == 1e6 &&
                               p->mix.q[CARM_RUNMIX_LOAD_BYTES] == 8e6));
        assert_true(!out.has_levels || out.levels.at[1].intensity == 0.125);
        struct carm_runmix none;
        carm_run_mix(&none, &(struct carm_counts){.note = ""});
        assert_false(carm_runmix_any(&none));
    }
}

/* Two threads with 75 and 25 samples at a time, on one CPU: they take turns. On two, the longer one has the time. */
TEST(threads_take_turns_on_one_cpu)
{
    cpu_set_t before, few;
    CPU_ZERO(&few);
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&few) < 2; cpu++) {
        struct carm_profile p;
        if (!CPU_ISSET((size_t)cpu, &before)) {
            continue;
        }
        CPU_SET((size_t)cpu, &few);
        for (size_t i = 0; i < run.samples.nsamples; i++) {
            run.samples.samples[i].first = 0;
        }
        assert_int_equal(sched_setaffinity(0, sizeof few, &few), 0);
        assert_ok(carm_parts_open(&p, &run, CARM_PROFILE_FUNCTIONS, 0.0, NULL, 0, &err));
        assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
        const struct carm_profile_row *row = p.rows;
        while (row < p.rows + p.nrows && strcmp(row->module, "mostly_p") != 0) {
            row++;
        }
        assert_true(row < p.rows + p.nrows);
        assert_near(row->seconds, CPU_COUNT(&few) == 1 ? 0.1 : 0.075, 1e-9);
        carm_profile_close(&p);
    }
}

RUN_TESTS(set_up, tear_down)
