/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes to and from memory by a made-up processor's memory controllers, and around the repetitions of a
 * matrix multiplication. */
#define OWN_MAIN
#include "harness/machine/dram.h"
#include "kernels/gemm/plan.h"
#include "kernels/gemm/run.h"
#include "tests/harness/count/hand_recipe.h"
#include "tests/unit.h"

static struct fake_counters *fake;

/* 8 lines for each tick read from each unit, 1 written. */
static struct carm_event events[] = {
    {"cycles", "fake::F1", "", 0, "", true, 1, CARM_EVENT_THREAD, 1.0},
    {"rd", "fake_imc%d::U8", "", 0, "", false, 1, CARM_EVENT_SOCKET, 1.0},
    {"wr", "fake_imc%d::U1", "", 0, "", false, 1, CARM_EVENT_SOCKET, 1.0},
};
static struct carm_formula formulas[] = {
    {.quantity = CARM_Q_DRAM_READ_BYTES, .terms = {{1, 64.0}}, .nterms = 1},
    {.quantity = CARM_Q_DRAM_WRITE_BYTES, .terms = {{2, 64.0}}, .nterms = 1},
};

static struct carm_recipe recipe_of(size_t nformulas)
{
    struct carm_recipe r = hand_recipe(events, 3, 8);
    r.formulas = formulas;
    r.nformulas = nformulas;
    return r;
}

static int reset(void **state)
{
    memset(fake, 0, sizeof *fake);
    fake->counters = 8;
    fake->units = 2;
    fake->each_run = 10;
#if !__has_include(<papi.h>)
    skip_if(true, "built without papi.h");
#endif
    return 0;
}

TEST_BETWEEN(lines_become_bytes, reset, NULL)
{
    const struct carm_recipe r = recipe_of(2);
    struct carm_counters *c = hand_open(CARM_PROVIDER_PAPI, &r);
    struct carm_dram *d = NULL;
    double bytes = 0.0;
    assert_ok(carm_dram_open_with(&d, c, &err));
    for (int i = 0; i < 2; i++) { /* it can be used again */
        assert_ok(carm_dram_start(d, &err));
        assert_ok(carm_dram_stop(d, &bytes, &err));
        /* 2 units x 10 ticks x 9 lines, times the sockets of this machine */
        assert_true(bytes >= 2 * 10 * 9 * 64.0 && fmod(bytes, 2 * 10 * 9 * 64.0) == 0.0);
    }
    carm_dram_close(d);
    carm_counters_close(c);
    assert_int_equal(fake->sets_open, 0);
}

TEST_BETWEEN(what_lacks_is_told, reset, NULL)
{
    const struct carm_recipe none = recipe_of(0);
    const struct carm_recipe r = recipe_of(2);
    struct carm_counters *c = hand_open(CARM_PROVIDER_PAPI, &none);
    struct carm_dram *d = NULL;
    assert_refused(carm_dram_open_with(&d, c, &err), -CARM_ENOTSUP, "memory controllers are known");
    assert_null(d);
    carm_counters_close(c);
    for (int i = 0; i < 3; i++) { /* written bytes alone are not enough; bytes read, or all, are */
        static const enum carm_quantity quantities[] = {CARM_Q_DRAM_WRITE_BYTES,
                                                        CARM_Q_DRAM_READ_BYTES, CARM_Q_DRAM_BYTES};
        struct carm_formula one = {.quantity = quantities[i], .terms = {{1, 64.0}}, .nterms = 1};
        struct carm_recipe of_one = hand_recipe(events, 3, 8);
        of_one.formulas = &one;
        of_one.nformulas = 1;
        c = hand_open(CARM_PROVIDER_PAPI, &of_one);
        assert_int_equal(carm_dram_open_with(&d, c, &err), i == 0 ? -CARM_ENOTSUP : 0);
        carm_dram_close(d);
        carm_counters_close(c);
    }
    assert_int_equal(setenv("CARM_UARCH", "none-such", 1), 0);
    assert_refused(carm_dram_open(&d, &(struct carm_cpu){.family = 6}, &err), -CARM_ENOTSUP,
                   "none-such");
    assert_int_equal(unsetenv("CARM_UARCH"), 0);
    c = hand_open(CARM_PROVIDER_PAPI, &r);
    fake->units = 0;
    assert_refused(carm_dram_open_with(&d, c, &err), -CARM_ENOTSUP, "No uncore PMUs found");
    carm_counters_close(c);
}

/* Around each repetition, so that the median is what one of them moved. */
TEST_BETWEEN(around_a_multiplication, reset, NULL)
{
    const struct carm_recipe r = recipe_of(2);
    struct carm_counters *c = hand_open(CARM_PROVIDER_PAPI, &r);
    struct carm_run_limits limits = {0.01, NULL, NULL};
    struct carm_gemm_reference ref = {0};
    const struct carm_gemm_caches caches = {.l1 = 32768.0, .l2 = 524288.0, .l3 = 4194304.0};
    struct carm_gemm_kernels kernels;
    struct carm_gemm_result out;
    struct carm_gemm_plan plan;
    struct carm_gemm g;
    struct carm_topo *topo = NULL;
    struct carm_team *team = NULL;
    struct carm_clock clock;
    struct carm_cpu cpu;
    double bytes = 0.0;
    carm_cpu_read(&cpu);
    assert_ok(carm_dram_open_with(&limits.dram, c, &err));
    assert_ok(carm_dram_start(limits.dram, &err));
    assert_ok(carm_dram_stop(limits.dram, &bytes, &err));
    assert_ok(carm_topo_open(&topo, NULL, NULL, &err));
    assert_ok(carm_clock_open(&clock, &err));
    assert_ok(carm_team_open(&team, topo, &clock, 1, 4096, CARM_REPEAT_MAX, &err));
    assert_ok(carm_gemm_open(&g, 24, team, &err));
    assert_ok(carm_gemm_reference_plain(&ref, &g, 1, &err));
    kernels.strided = carm_gemm_kernel_find(&cpu, CARM_SSE, true);
    kernels.vector = carm_gemm_kernel_find(&cpu, CARM_SSE, false);
    assert_ok(carm_gemm_version(&plan, 3, 24, &kernels, &caches, &err));
    assert_ok(carm_gemm_measure(&plan, &g, team, &ref, limits, &out, &err));
    assert_true(out.times.reps > 1 && out.times.dram_bytes == bytes);
    struct carm_dram *dram = limits.dram;
    limits.dram = NULL;
    assert_ok(carm_gemm_measure(&plan, &g, team, &ref, limits, &out, &err));
    assert_true(out.times.dram_bytes == 0.0); /* not counted: the estimate stands in */
    carm_dram_close(dram);
    carm_counters_close(c);
    carm_gemm_reference_free(&ref);
    carm_gemm_close(&g);
    carm_team_close(team);
    carm_topo_close(topo);
}

int main(void)
{
    fake = hand_fake("CARM_PAPI_LIBRARY", "libpapi.so");
    if (!fake) {
        puts("1..1\nnot ok 1 - libpapi.so cannot be loaded");
        return 1;
    }
    return run_suite(NULL, NULL);
}
