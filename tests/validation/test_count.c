/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Test codes, counted: by stepping exactly, by a processor that a test makes up with the deviations that
 * it makes up, and in the way of a command from codes to a model's checks. */
#include "harness/count/step/trap.h"
#include "tests/harness/count/hand_recipe.h"
#include "tests/harness/machine/machine.h"
#include "validation/count.h"

enum { CODES = 16, LOGIC = 13, LONG = 14 };

static struct fake_counters *fake;

static int set_up(void **state)
{
    static const char *const names[CODES] = {"A.sse.dp.2:1.u4",
                                             "B.sse.dp.mad.f40.c10",
                                             "C.scalar.sp.1:1.add.u4.f8.c4",
                                             "A.sse.dp.0:1.u8",
                                             "A.sse.dp.1:1.u4.s2",
                                             "A.scalar.sp.1:1nt.u4.p512.s2",
                                             "C.sse.dp.2:0.mad.u4.f8.c4.s2",
                                             "A.sse.dp.1:0.u8.j8",
                                             "A.sse.sp.1:0.u8.j256",
                                             "R.sse.dp.u4",
                                             "R.scalar.sp.u1",
                                             "B.sse.sp.mul.f16.c8.i45",
                                             "C.sse.int16.2:1.mul.u4.f8.c4",
                                             "B.sse.int32.logic.f16.c8",
                                             "A.sse.dp.1:0.u180",
                                             "A.sse.dp.1:0.u480"};
    fake = hand_fake("CARM_PAPI_LIBRARY", "libpapi.so");
    return open_machine(names, CODES);
}

static _Alignas(64) char window[1 << 17];

TEST(stepping_is_exact)
{
    skip_if(carm_step_check(&err) != 0, "%s", err.text);
    for (size_t i = 0; i < CODES; i++) {
        const bool integer = carm_precisions[image->codes[i].spec.precision].integer;
        const enum carm_quantity same[] = {i == LOGIC ? CARM_Q_LOADS
                                           : integer  ? CARM_Q_INT_OPS
                                                      : CARM_Q_FLOPS,
                                           CARM_Q_LOADS,
                                           CARM_Q_STORES,
                                           CARM_Q_LOAD_BYTES,
                                           CARM_Q_STORE_BYTES,
                                           CARM_Q_BYTES};
        struct carm_counts counted;
        struct carm_counts constructed;
        assert_ok(carm_count_code(NULL, &image->codes[i], window, sizeof window, &counted,
                                  &constructed, &err));
        for (size_t k = 0; k < sizeof same / sizeof *same; k++) {
            assert_true(counted.q[same[k]].value == constructed.q[same[k]].value);
            assert_int_equal(counted.q[same[k]].by, CARM_COUNTED_STEPPED);
        }
        /* 400 instructions are two iterations of 180 loads, and none of 480: one; of both at least two passes */
        assert_true(i < LONG || constructed.q[CARM_Q_LOADS].value == (i == LONG ? 720 : 960));
        assert_true(i != LOGIC || constructed.q[CARM_Q_INT_OPS].value == 0.0);
    }
}

/* One iteration of two lines, 1024 lines apart, reaches over the window. */
TEST(a_window_too_small)
{
    struct carm_counts counted;
    struct carm_counts constructed;
    struct carm_code_spec spec;
    struct carm_image *far = NULL;
    assert_ok(carm_code_parse("A.sse.dp.1:0.u8.j1024", &spec, &err));
    assert_ok(carm_image_open(&far, &spec, 1, &err));
    assert_refused(carm_count_code(NULL, &far->codes[0], window, sizeof window - 64, &counted,
                                   &constructed, &err),
                   -CARM_ENOTSUP, "A.sse.dp.1:0.u8.j1024 needs a window of 131072 bytes");
    carm_image_close(far);
}

/* A processor whose counters show, for each run: flops 1000 ticks, loads 2000, stores 1000; weights turn
 * them into what code i constructs, times 1, 1 and off. */
static struct carm_event events[] = {
    {"flops", "fake::E1", "", 0, "", false, 1, CARM_EVENT_THREAD, 1.0},
    {"loads", "fake::E2", "", 0, "", false, 1, CARM_EVENT_THREAD, 1.0},
    {"stores", "fake::E1:x", "", 0, "", false, 1, CARM_EVENT_THREAD, 1.0},
};
static struct carm_formula formulas[] = {
    {.quantity = CARM_Q_FLOPS, .terms = {{0, 0.0}}, .nterms = 1, .required = true},
    {.quantity = CARM_Q_LOADS, .terms = {{1, 0.0}}, .nterms = 1, .required = true},
    {.quantity = CARM_Q_STORES, .terms = {{2, 0.0}}, .nterms = 1, .required = true},
};

static struct carm_recipe made_up(void)
{
    struct carm_recipe r = hand_recipe(events, 3, 8);
    r.formulas = formulas;
    r.nformulas = 3;
    return r;
}

static void need_papi(void)
{
#if !__has_include(<papi.h>)
    skip_if(true, "built without papi.h");
#endif
}

/* Counters that are named must work; without a word, they may be none. */
TEST(counters_by_their_names)
{
    const struct carm_cpu unknown = {.vendor = "Nobody"};
    static const struct {
        const char *word;
        int code;
        enum carm_provider provider;
        const char *says;
    } rows[] = {{"none", 0, CARM_PROVIDER_NONE, ""},
                {"step", 0, CARM_PROVIDER_STEP, ""},
                {NULL, 0, CARM_PROVIDER_NONE, ""},
                {"papi", -CARM_ENOTSUP, CARM_PROVIDER_NONE, "Nobody"},
                {"translate", -CARM_EINVAL, CARM_PROVIDER_NONE,
                 "--counters translate counts whole programs (carm run): use step"},
                {"abacus", -CARM_EINVAL, CARM_PROVIDER_AUTO, "abacus"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_code_counter counter;
        err.text[0] = '\0';
        const int rc = carm_code_counter_open(&counter, rows[i].word, &unknown, &err);
        fail_if(rc != rows[i].code || !strstr(err.text, rows[i].says), "row %zu: %d %s", i, rc,
                err.text);
        assert_int_equal(counter.provider, rows[i].provider);
        assert_true(counter.recipe == NULL && counter.counters == NULL);
        if (!rc) { /* nothing is counted */
            struct carm_model model = {.nchecks = 0};
            assert_true(
                rows[i].word && *rows[i].word == 's'
                    ? true
                    : carm_code_counter_try(&counter, image, topo, &tsc, &err) == 0 &&
                          carm_code_counter_check(&counter, image, topo, &tsc, &model, &err) == 0 &&
                          model.nchecks == 0);
            carm_code_counter_close(&counter);
            assert_int_equal(counter.provider, CARM_PROVIDER_NONE);
        }
    }
}

TEST(a_zero_that_cannot_be)
{
    const struct carm_recipe recipe = made_up();
    struct carm_counts counted;
    struct carm_counts constructed;
    need_papi();
    fake->each_run = 0;
    for (size_t i = 0; i < 3; i++) {
        formulas[i].terms[0].weight = 1.0;
    }
    struct carm_counters *c = hand_open(CARM_PROVIDER_PAPI, &recipe);
    assert_int_equal(
        carm_count_code(c, &image->codes[2], window, sizeof window, &counted, &constructed, &err),
        -CARM_EFORMAT);
    assert_true(constructed.q[CARM_Q_FLOPS].value > 1e5);
    struct carm_code_counter counter = {CARM_PROVIDER_PAPI, NULL, c};
    assert_refused(carm_code_counter_try(&counter, image, topo, &tsc, &err), -CARM_EFORMAT,
                   "code A.sse.dp.2:1.u4: ");
    assert_non_null(strstr(err.text, "--counters none"));
    carm_counters_close(c);
}

TEST(deviations_reach_the_model)
{
    struct carm_recipe recipe = made_up();
    struct carm_compute_roof compute = {.op = "add"};
    struct carm_roofs roofs = {.isa = "sse", .compute = &compute, .ncompute = 1};
    struct carm_model model = {.roofs = &roofs, .nroofs = 1};
    struct carm_counts counted;
    struct carm_counts constructed;
    need_papi();
    fake->each_run = 1000;
    struct carm_counters *c = hand_open(CARM_PROVIDER_PAPI, &recipe);
    struct carm_code_counter counter = {CARM_PROVIDER_PAPI, &recipe, c};
    (void)snprintf(compute.code, sizeof compute.code, "%s", image->codes[2].name);
    for (size_t i = 0; i < 3; i++) {
        formulas[i].terms[0].weight = 1.0;
    }
    assert_ok(
        carm_count_code(c, &image->codes[2], window, sizeof window, &counted, &constructed, &err));
    formulas[0].terms[0].weight = constructed.q[CARM_Q_FLOPS].value / 1000.0;
    formulas[1].terms[0].weight = constructed.q[CARM_Q_LOADS].value / 2000.0;
    for (int off = 0; off < 2; off++) {
        formulas[2].terms[0].weight =
            constructed.q[CARM_Q_STORES].value / 1000.0 * (off ? 1.25 : 1.0);
        assert_ok(carm_code_counter_check(&counter, image, topo, &tsc, &model, &err));
        assert_int_equal(model.nchecks, 1); /* the code that a roof names, and no other */
        assert_string_equal(model.checks[0].code, image->codes[2].name);
        assert_string_equal(model.checks[0].counted_by, "papi");
        assert_string_equal(model.checks[0].recipe, "hand");
        const double d = model.checks[0].deviation - (off ? 0.25 : 0.0);
        assert_true(d > -1e-9 && d < 1e-9);
        assert_int_equal(strstr(model.checks[0].note, "stores +25.0%") != NULL, off);
    }
    /* codes of roofs of memory, of ceilings and of points, too */
    struct carm_memory_roof memory = {.level = "L1"};
    struct carm_ceiling_roof ceiling = {.group = CARM_CEILING_IN_CORE};
    struct carm_validation_point point = {.level = "L1"};
    char *const codes[] = {memory.code, compute.code, ceiling.code, point.code};
    for (size_t i = 0; i < 4; i++) {
        compute.code[0] = '\0';
        (void)strcpy(codes[i], image->codes[2].name);
        roofs = (struct carm_roofs){.memory = &memory,
                                    .nmemory = i == 0,
                                    .compute = &compute,
                                    .ncompute = 1,
                                    .ceilings = &ceiling,
                                    .nceilings = i == 2};
        model.validation_points = &point;
        model.nvalidation_points = i == 3;
        model.nchecks = 0;
        assert_ok(carm_code_counter_check(&counter, image, topo, &tsc, &model, &err));
        assert_int_equal(model.nchecks, 1);
        assert_string_equal(model.checks[0].code, image->codes[2].name);
    }
    /* operations that are not compared; stores that are none and shown as none, and operations that are some */
    (void)strcpy(point.code, image->codes[LOGIC].name);
    model.nchecks = 0;
    formulas[1].terms[0].weight = 1.0;
    formulas[2].terms[0].weight = 0.0;
    assert_ok(carm_code_counter_check(&counter, image, topo, &tsc, &model, &err));
    assert_near(model.checks[0].flops.counted, -1.0, 0.0);
    assert_ok(
        carm_count_code(c, &image->codes[7], window, sizeof window, &counted, &constructed, &err));
    formulas[0].terms[0].weight = 0.0;
    assert_int_equal(
        carm_count_code(c, &image->codes[6], window, sizeof window, &counted, &constructed, &err),
        -CARM_EFORMAT);
    counter.recipe = NULL; /* not of the heap */
    carm_code_counter_close(&counter);
    free(model.checks);
}

RUN_TESTS(set_up, NULL)
