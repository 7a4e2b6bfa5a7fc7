/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The second look at a set's roofs: what it measures again, what it marks, what it leaves. The planted
 * rates are so far from any core's that no timing decides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "validation/build/roofs.h"

static struct carm_cpu cpu;
static struct carm_topo *topo;
static struct carm_clock tsc;
static struct carm_build_config config;
static struct carm_build_plan plan;
static struct carm_team *team;
static char why_not[600]; /* "" when real runs are possible */

static struct carm_level levels[] = {
    {.level = "L1"}, {.level = "L2"}, {.level = "L3"}, {.level = "DRAM"}};
static const struct carm_model model = {.levels = levels,
                                        .nlevels = sizeof levels / sizeof *levels};

static int set_up(void **state)
{
    (void)state;
    const struct carm_build_words words = {
        .isa = "sse", .ldst = "2:1", .ops = "mad", .threads = "1", .reps = "64", .memory = "64M"};
    struct carm_err err = {""};
    carm_cpu_read(&cpu);
    int rc = carm_topo_open(&topo, NULL, NULL, &err);
    rc = rc ? rc : carm_clock_open(&tsc, &err);
    rc = rc ? rc : carm_build_configure(&config, &words, &cpu, topo, &err);
    rc = rc ? rc : carm_build_plan_open(&plan, &config, &cpu, &err);
    rc = rc ? rc : carm_team_open(&team, topo, &tsc, 1, (size_t)4 << 20, 2048, &err);
    if (rc == 0) {
        carm_measure_calibrate(team, plan.empty);
        carm_team_touch(team, (size_t)1 << 20);
    } else if (rc == -CARM_ENOTSUP) { /* no nasm, no usable TSC, no right to pin */
        (void)snprintf(why_not, sizeof why_not, "%s", err.text);
        rc = 0;
    } else {
        print_message("%s\n", err.text);
    }
    return rc;
}

static int tear_down(void **state)
{
    (void)state;
    carm_team_close(team);
    if (plan.image) {
        carm_build_plan_close(&plan);
    }
    carm_topo_close(topo);
    return 0;
}

static void doubts_by_sort_of_level(void **state)
{
    (void)state;
    static const struct {
        double rate, again;
        bool shared, measure, doubtful;
    } cases[] = {
        {100, 100, false, false, false},  {100, 102.9, false, false, false},
        {100, 103.1, false, true, false}, {100, 50, false, false, false}, /* slowed just now */
        {100, 114, true, false, false},   {100, 116, true, false, true},
        {100, 84, true, false, true},     {100, 86, true, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool doubtful = !cases[i].doubtful;
        assert_int_equal(
            carm_build_doubts(cases[i].rate, cases[i].again, cases[i].shared, &doubtful),
            cases[i].measure);
        assert_int_equal(doubtful, cases[i].doubtful);
    }
}

/* A memory roof of a code of the plan on a small set, with planted rates. */
static struct carm_memory_roof memory_roof(const char *level, double rate)
{
    const struct carm_code *codes[CARM_CANDIDATES_MAX];
    assert_true(carm_build_plan_memory(&plan, CARM_SSE, CARM_DP, &config.mixes[0], true, codes) >
                0);
    const uint64_t window = codes[0]->account.stride_bytes * 32;
    struct carm_memory_roof roof = {.bandwidth = rate,
                                    .bytes_per_cycle = rate,
                                    .working_set_bytes = 2 * window,
                                    .window_bytes = window,
                                    .passes = 8};
    (void)snprintf(roof.level, sizeof roof.level, "%s", level);
    (void)snprintf(roof.code, sizeof roof.code, "%s", codes[0]->name);
    return roof;
}

static struct carm_compute_roof compute_roof(double rate)
{
    const struct carm_code *codes[CARM_CANDIDATES_MAX];
    assert_true(carm_build_plan_compute(&plan, CARM_SSE, CARM_DP, CARM_MAD, codes) > 0);
    struct carm_compute_roof roof = {.op = "mad", .rate = rate, .flops_per_cycle = rate};
    (void)snprintf(roof.code, sizeof roof.code, "%s", codes[0]->name);
    return roof;
}

static void looks_again(void **state)
{
    (void)state;
    if (why_not[0]) {
        print_message("skipped: %s\n", why_not);
        skip();
    }
    enum { SLOW = 0, FAST, SHARED_SLOW, SHARED_FAST, MARKED };
    struct carm_memory_roof memory[] = {memory_roof("L1", 1e-3), memory_roof("L2", 1e9),
                                        memory_roof("L3", 1e-3), memory_roof("DRAM", 1e30),
                                        memory_roof("DRAM", 1e30)};
    struct carm_compute_roof compute[] = {compute_roof(1e-3), compute_roof(1e9)};
    struct carm_roofs roofs = {
        .memory = memory, .nmemory = 5, .compute = compute, .ncompute = 2, .threads = 1};
    struct carm_budget budget = {.seconds = 0.0};
    struct carm_err err = {""};
    memory[MARKED].disturbed = true; /* its reason stays */
    (void)snprintf(memory[MARKED].note, sizeof memory[MARKED].note, "preempted 7 times");
    assert_int_equal(carm_build_recheck(&plan, team, &model, &roofs, 64, &budget, &err), 0);
    assert_true(memory[SLOW].bytes_per_cycle > 0.1);
    assert_int_equal(memory[SLOW].reps, 64);
    assert_string_equal(memory[SLOW].level, "L1");
    assert_string_equal(memory[SLOW].code, memory[FAST].code);
    assert_non_null(strstr(memory[SLOW].note, "a second look was "));
    assert_non_null(strstr(memory[SLOW].note, "% faster"));
    assert_true(memory[FAST].bytes_per_cycle == 1e9 && !memory[FAST].disturbed);
    assert_string_equal(memory[FAST].note, "");
    assert_true(memory[SHARED_SLOW].bandwidth == 1e-3 && memory[SHARED_SLOW].disturbed);
    assert_non_null(strstr(memory[SHARED_SLOW].note, "% faster"));
    assert_true(memory[SHARED_FAST].bandwidth == 1e30 && memory[SHARED_FAST].disturbed);
    assert_string_equal(memory[SHARED_FAST].note, "a second look was 100% slower");
    assert_string_equal(memory[MARKED].note, "preempted 7 times");
    assert_true(compute[0].flops_per_cycle > 0.1 && compute[0].reps == 64);
    assert_non_null(strstr(compute[0].note, "a second look was "));
    assert_true(compute[1].flops_per_cycle == 1e9 && !compute[1].disturbed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubts_by_sort_of_level),
        cmocka_unit_test(looks_again),
    };
    return cmocka_run_group_tests_name("build_again", tests, set_up, tear_down);
}
