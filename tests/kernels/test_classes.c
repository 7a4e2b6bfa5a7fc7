/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The application classes' codes: table 2 in closed form, loops that do exactly that, the enlarging of
 * APP-D, the budget, and one real instance. No timing decides. */
#include "asm/code.h"
#include "asm/image.h"
#include "harness/machine/measure.h"
#include "kernels/classes/run.h"
#include "tests/unit.h"

#define MIB ((uint64_t)1 << 20)

static struct carm_class_target target_of(enum carm_isa isa, unsigned loads, unsigned stores)
{
    return (struct carm_class_target){.isa = isa,
                                      .precision = CARM_DP,
                                      .mix = {.loads = loads, .stores = stores},
                                      .ops = {CARM_MAD, CARM_FMA},
                                      .nops = 2};
}

/* 72 flops over 4.5 KiB are 1/64, 524 288 over 2 MiB 1/4, 1 023 410 176 over 61 MiB 16. */
TEST(table_2)
{
    assert_int_equal(carm_classes[CARM_APP_L1].bytes, 4608);
    assert_int_equal(carm_classes[CARM_APP_L1].flops * 64, carm_classes[CARM_APP_L1].bytes);
    assert_int_equal(carm_classes[CARM_APP_L3].bytes, 2 * MIB);
    assert_int_equal(carm_classes[CARM_APP_L3].flops * 4, carm_classes[CARM_APP_L3].bytes);
    assert_int_equal(carm_classes[CARM_APP_D].bytes, 61 * MIB);
    assert_int_equal(carm_classes[CARM_APP_D].flops, 1023410176);
    assert_int_equal(carm_classes[CARM_APP_D].flops, carm_classes[CARM_APP_D].bytes * 16);
}

/* Every code of every plan does the plan's work: whole loops, the intensity of table 2. */
static void check_plan(const struct carm_class_plan *p)
{
    const struct carm_class *class = p->class;
    assert_true(p->nspecs > 0 && p->nspecs <= CARM_CLASS_CODES_MAX);
    assert_true(p->bytes > 0 && p->bytes / class->bytes <= 8);
    assert_true(p->flops * class->bytes == p->bytes * class->flops);
    for (size_t i = 0; i < p->nspecs; i++) {
        const struct carm_code_spec *s = &p->specs[i];
        uint64_t flops = 0;
        uint64_t bytes = 0;
        fail_if(carm_code_check(s, &err), "%s: %s", class->name, err.text);
        carm_code_intensity(s, &flops, &bytes);
        assert_true(flops * class->bytes == bytes * class->flops);
        assert_int_equal(p->bytes % (s->units * carm_mix_unit_bytes(s)), 0);
        for (size_t k = 0; k < i; k++) {
            char a[CARM_CODE_NAME_MAX], b[CARM_CODE_NAME_MAX];
            carm_code_name(s, a);
            carm_code_name(&p->specs[k], b);
            assert_string_not_equal(a, b);
        }
    }
}

TEST(codes_do_the_work_of_table_2)
{
    static const unsigned mixes[][2] = {{2, 1}, {1, 1}, {1, 0}, {0, 1}, {3, 1}, {5, 3}};
    struct carm_class_plan p;
    for (size_t m = 0; m < sizeof mixes / sizeof *mixes; m++) {
        for (int isa = 0; isa < CARM_VECTOR_ISAS; isa++) {
            const struct carm_class_target t =
                target_of((enum carm_isa)isa, mixes[m][0], mixes[m][1]);
            for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
                assert_ok(carm_class_plan(&p, &carm_classes[c], carm_classes[c].bytes, &t, &err));
                check_plan(&p);
            }
            /* large sets come within a loop of what is wanted */
            assert_true(llabs((long long)(p.bytes - p.wanted)) < 8192);
        }
    }
}

/* The paper's 2:1: up to 256 bits APP-L1 comes out as printed; 72 flops are 4.5 pairs of 512-bit
 * multiplications and additions. */
TEST(app_l1_is_exact_up_to_256_bits)
{
    struct carm_class_plan p;
    for (int isa = 0; isa < CARM_VECTOR_ISAS; isa++) {
        const struct carm_class_target t = target_of((enum carm_isa)isa, 2, 1);
        assert_ok(carm_class_plan(&p, &carm_classes[CARM_APP_L1], carm_classes[CARM_APP_L1].bytes,
                                  &t, &err));
        assert_true(carm_class_exact(&p) == (isa != CARM_AVX512));
    }
    assert_int_equal(p.bytes, 6144); /* avx512, the last */
    assert_int_equal(p.flops, 96);
}

TEST(other_mixes_are_refused)
{
    struct carm_class_plan p;
    struct carm_class_target t = target_of(CARM_SSE, 2, 1);
    t.mix.nontemporal = true;
    assert_refused(carm_class_plan(&p, &carm_classes[0], 4608, &t, &err), -CARM_ENOTSUP,
                   "--ldst 2:1");
    t.mix = (struct carm_mix){.loads = 1, .stores = 1, .update = true};
    assert_int_equal(carm_class_plan(&p, &carm_classes[0], 4608, &t, &err), -CARM_ENOTSUP);
}

TEST(enlarging_leaves_the_last_cache)
{
    assert_int_equal(carm_class_enlarge(61 * MIB, 0, 1), 61 * MIB);         /* no cache */
    assert_int_equal(carm_class_enlarge(61 * MIB, 8 * MIB, 1), 61 * MIB);   /* the paper's */
    assert_int_equal(carm_class_enlarge(61 * MIB, 32 * MIB, 1), 128 * MIB); /* 4 x 32 */
    assert_int_equal(carm_class_enlarge(61 * MIB, 32 * MIB, 4), 61 * MIB);  /* 244 in all */
    assert_int_equal(carm_class_enlarge(61 * MIB, 256 * MIB, 1), 1024 * MIB);
    assert_int_equal(carm_class_enlarge(61 * MIB, 256 * MIB, 3), 342 * MIB); /* in whole MiB */
    assert_int_equal(carm_class_enlarge(61 * MIB, 256 * MIB, 4), 256 * MIB);
}

TEST(the_cheapest_that_fits_is_next)
{
    assert_int_equal(carm_class_next((double[]){3.0, 1.0, 2.0}, 3, 10.0), 1);
    assert_int_equal(carm_class_next((double[]){3.0, 0.0, 2.0}, 3, 10.0), 2); /* 0 = done */
    assert_int_equal(carm_class_next((double[]){3.0, 0.0, 2.0}, 3, 2.0), 2);
    assert_int_equal(carm_class_next((double[]){3.0, 0.0, 2.0}, 3, 1.9), 3); /* none fits */
    assert_int_equal(carm_class_next((double[]){0.0, 0.0, 0.0}, 3, 10.0), 3);
    assert_int_equal(carm_class_next((double[]){1e-9, 1.0, 1.0}, 3, -1.0), 3);
}

/* A machine with L1 at 1 us, L3 at 100 us and memory at 50 ms an iteration: what a budget buys. */
TEST(a_budget_cuts_the_long_ones)
{
    static const double one[] = {1e-6, 1e-4, 5e-2};
    unsigned k[3] = {0, 0, 0};
    double left = 60.0;
    for (;;) {
        double cost[3];
        for (size_t c = 0; c < 3; c++) {
            const double t = one[c] * exp2(k[c]);
            cost[c] = k[c] <= CARM_CLASS_K_MAX ? t * (double)carm_class_runs(t) : 0.0;
        }
        const size_t c = carm_class_next(cost, 3, left);
        if (c == 3) {
            break;
        }
        left -= cost[c];
        k[c]++;
    }
    assert_true(left >= 0.0);
    assert_int_equal(k[0], 21); /* all of APP-L1 */
    assert_true(k[1] >= 16 && k[1] < 21);
    assert_true(k[2] >= 6 && k[2] < 12);
}

TEST(runs_are_odd_and_bounded)
{
    for (double t = 1e-9; t < 1e3; t *= 1.3) {
        const size_t n = carm_class_runs(t);
        assert_true(n % 2 == 1 && n <= 1001);
        assert_true(n == 1 || (double)n * t <= 1.5 + 1e-9);
    }
    assert_int_equal(carm_class_runs(1e-9), 1001);
    assert_int_equal(carm_class_runs(0.4), 3);
    assert_int_equal(carm_class_runs(0.6), 1);
}

TEST(an_instance_runs_and_stops)
{
    struct carm_topo *topo = NULL;
    struct carm_clock clock;
    struct carm_team *team = NULL;
    struct carm_image *image = NULL;
    struct carm_class_plan p;
    volatile sig_atomic_t stop = 0;
    const struct carm_class_target t = target_of(CARM_SSE, 2, 1);
    if (carm_topo_open(&topo, NULL, NULL, &err) || carm_clock_open(&clock, &err)) {
        carm_topo_close(topo);
        skip_if(true, "no instance is run: %s", err.text);
    }
    assert_ok(carm_class_plan(&p, &carm_classes[CARM_APP_L1], 4608, &t, &err));
    const struct carm_code_spec specs[] = {p.specs[0], {.kind = CARM_KIND_EMPTY, .units = 1}};
    assert_ok(carm_image_open(&image, specs, 2, &err));
    assert_ok(carm_team_open(&team, topo, &clock, 1, 4 * MIB, 2048, &err));
    carm_measure_calibrate(team, &image->codes[1]);
    struct carm_class_run run = {.plan = &p,
                                 .code = &image->codes[0],
                                 .iterations = 1000,
                                 .call_iterations = 300,
                                 .runs = 5,
                                 .evict = true};
    team->deadline.stop = &stop;
    assert_ok(carm_class_run(team, &run, &err));
    assert_true(run.seconds > 0.0 && run.whole_seconds > run.seconds);
    /* every third vector was written, up to the end of the set and no further */
    double *values = team->workers[0].buffer.start;
    for (size_t i = 0; i < 2 * p.bytes / sizeof *values; i++) {
        values[i] = 123.0;
    }
    run.iterations = 1;
    assert_ok(carm_class_run(team, &run, &err));
    for (size_t i = 0; i < 2 * p.bytes / sizeof *values; i++) {
        assert_true((values[i] == 123.0) == (i >= p.bytes / sizeof *values || i / 2 % 3 != 2));
    }
    stop = 1;
    assert_int_equal(carm_class_run(team, &run, &err), -CARM_EINTR);
    carm_team_close(team);
    carm_image_close(image);
    carm_topo_close(topo);
}

/* What a code was asked to do. */
static struct {
    uint64_t passes, largest, calls, iterations;
    char *window;
} asked;

static void note_call(void *window, uint64_t iterations, uint64_t passes, uint64_t extra)
{
    (void)extra;
    asked.passes += passes;
    asked.largest = passes > asked.largest ? passes : asked.largest;
    asked.calls++;
    asked.iterations = iterations;
    asked.window = window;
    *(volatile char *)window = 1;
}

/* However it is cut into calls, each run is all its iterations over the whole set. */
TEST(every_iteration_is_run)
{
    static const struct {
        uint64_t iterations, call_iterations, calls;
    } cases[] = {{1, 1, 1}, {1000, 1000, 1}, {1000, 300, 4}, {1000, 1, 1000}, {8, 3, 3}, {5, 9, 1}};
    struct carm_topo *topo = NULL;
    struct carm_clock clock;
    struct carm_team *team = NULL;
    struct carm_class_plan p;
    const struct carm_class_target t = target_of(CARM_SSE, 2, 1);
    const struct carm_code code = {.account = {.stride_bytes = 768}, .run = note_call};
    if (carm_topo_open(&topo, NULL, NULL, &err) || carm_clock_open(&clock, &err)) {
        carm_topo_close(topo);
        skip_if(true, "no instance is run: %s", err.text);
    }
    assert_ok(carm_class_plan(&p, &carm_classes[CARM_APP_L1], 4608, &t, &err));
    assert_ok(carm_team_open(&team, topo, &clock, 1, 4 * MIB, 16, &err));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_class_run run = {.plan = &p,
                                     .code = &code,
                                     .iterations = cases[i].iterations,
                                     .call_iterations = cases[i].call_iterations,
                                     .runs = 3};
        memset(&asked, 0, sizeof asked);
        assert_ok(carm_class_run(team, &run, &err));
        assert_int_equal(asked.passes, 3 * cases[i].iterations);
        assert_int_equal(asked.calls, 3 * cases[i].calls);
        assert_true(asked.largest <= cases[i].call_iterations);
        assert_int_equal(asked.iterations, 6);
        assert_ptr_equal(asked.window, team->workers[0].buffer.start);
    }
    carm_team_close(team);
    carm_topo_close(topo);
}
