/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of a program on a hybrid CPU: from made-up samples on its p and e cores to roofs that are mixed by them. */
#include "run/place.h"

#include <sched.h>

#include "models/file/kinds.h"
#include "models/place/kinds.h"
#include "tests/models/place/two_kinds.h"

enum { PERIODS = 400 };

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
