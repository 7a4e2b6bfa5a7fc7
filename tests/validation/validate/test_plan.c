/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The test codes of a validation, for every ISA: planning assembles and recounts them but runs
 * none, so that this processor may lack what they use. */
#include "asm/code.h"
#include "tests/fingerprint.h"
#include "tests/unit.h"
#include "validation/validate/plan.h"

/* A model whose one set of roofs names a code A and a code B. */
struct fixture {
    struct carm_model model;
    struct carm_roofs roofs;
    struct carm_memory_roof memory[2];
    struct carm_compute_roof compute[2];
};

static void set_up_model(struct fixture *f, const char *ldst)
{
    memset(f, 0, sizeof *f);
    (void)snprintf(f->model.config.ldst, sizeof f->model.config.ldst, "%s", ldst);
    f->memory[0] = (struct carm_memory_roof){.level = "L1"};
    f->memory[1] = (struct carm_memory_roof){.level = "L1", .ldst = "4:1", .code = "unread"};
    (void)snprintf(f->memory[0].ldst, sizeof f->memory[0].ldst, "%s", ldst);
    (void)snprintf(f->memory[0].code, sizeof f->memory[0].code, "A.avx512.dp.%s.u6", ldst);
    f->compute[0] = (struct carm_compute_roof){.op = "fma", .code = "B.avx512.dp.fma.f40.c10"};
    f->compute[1] = (struct carm_compute_roof){.op = "mad", .code = "B.avx512.dp.mad.f48.c12"};
    (void)strcpy(f->roofs.isa, "avx512");
    (void)strcpy(f->roofs.precision, "dp");
    f->roofs.memory = f->memory;
    f->roofs.nmemory = 2;
    f->roofs.compute = f->compute;
    f->roofs.ncompute = 2;
    f->model.roofs = &f->roofs;
    f->model.nroofs = 1;
}

static void open_plan(struct carm_validate_plan *plan, const char *ldst,
                      const struct carm_plan_target *targets, size_t n, bool quick)
{
    static struct fixture f;
    set_up_model(&f, ldst);
    const int rc = carm_validate_plan_open(plan, &f.model, targets, n, quick, &err);
    skip_if(rc == -CARM_ENOTSUP, "%s", err.text);
    fail_if(rc, "%s", err.text);
}

TEST(the_grid_is_half_octaves)
{
    assert_int_equal(CARM_GRID_POINTS, 29);
    assert_near(carm_grid_intensity(0), 1.0 / 256, 0.0);
    assert_near(carm_grid_intensity(CARM_GRID_POINTS - 1), 64.0, 0.0);
    for (size_t i = 1; i < CARM_GRID_POINTS; i++) {
        assert_near(carm_grid_intensity(i) / carm_grid_intensity(i - 1), sqrt(2.0), 1e-14);
    }
}

/* One grid point of one target. returns how many schedules it has */
static size_t check_point(const struct carm_validate_plan *plan, size_t target, size_t grid)
{
    const struct carm_plan_target *t = &plan->targets[target];
    const double wanted = carm_grid_intensity(grid);
    const struct carm_code *codes[CARM_SCHEDULES_MAX];
    const struct carm_code *first[CARM_SCHEDULES_MAX];
    const size_t n = carm_validate_plan_schedules(plan, target, grid, false, codes);
    const size_t nfirst = carm_validate_plan_schedules(plan, target, grid, true, first);
    uint64_t flops0 = 0;
    uint64_t bytes0 = 0;
    size_t without = 0;
    assert_in_range(n, 1, CARM_SCHEDULES_MAX);
    assert_int_equal(n, plan->count[target][grid]); /* none is cut off */
    carm_code_intensity(&codes[0]->spec, &flops0, &bytes0);
    for (size_t i = 0; i < n; i++) {
        const struct carm_code_spec *s = &codes[i]->spec;
        const struct carm_account *a = &codes[i]->account;
        uint64_t flops = 0;
        uint64_t bytes = 0;
        assert_true(s->kind == CARM_KIND_C && s->isa == t->isa && s->precision == t->precision &&
                    s->op == t->op && carm_mix_equal(&s->mix, &plan->mix));
        carm_code_intensity(s, &flops, &bytes);
        fail_if(!(fabs((double)flops / (double)bytes / wanted - 1.0) <= 0.01),
                "%s has %.6g flop/byte, not %.6g", codes[i]->name, (double)flops / (double)bytes,
                wanted);
        fail_if(flops != flops0 || bytes != bytes0, "%s and %s differ in intensity", codes[i]->name,
                codes[0]->name);
        /* and what was assembled is what was asked for */
        assert_int_equal(a->flops * bytes, flops * (a->load_bytes + a->store_bytes));
        for (size_t k = 0; k < i; k++) {
            fail_if(strcmp(codes[i]->name, codes[k]->name) == 0, "%s comes twice", codes[i]->name);
        }
        without += s->prefetch_bytes == 0 ? 1 : 0;
    }
    assert_in_range(nfirst, 1, CARM_SCHEDULES_MAX);
    assert_int_equal(nfirst, without);
    for (size_t i = 0; i < nfirst; i++) {
        assert_int_equal(first[i]->spec.prefetch_bytes, 0);
        assert_int_equal(first[i]->account.prefetches, 0);
    }
    return n;
}

/* returns how many schedules all of its points have */
static size_t check_plan(const struct carm_validate_plan *plan)
{
    size_t all = 0;
    for (size_t t = 0; t < plan->ntargets; t++) {
        for (size_t g = 0; g < CARM_GRID_POINTS; g++) {
            all += check_point(plan, t, g);
        }
    }
    assert_true(plan->empty && plan->empty->spec.kind == CARM_KIND_EMPTY);
    assert_true(plan->nissue > 0);
    for (size_t i = 0; i < plan->nissue; i++) {
        const struct carm_code *code = &plan->image->codes[plan->first_issue + i];
        assert_int_equal(code->spec.kind, CARM_KIND_W);
        assert_int_equal(code->spec.isa, CARM_SCALAR); /* any processor runs them */
        /* the closing branch takes no slot of its own */
        assert_int_equal(carm_account_slots(&code->account), code->account.instructions - 1);
        assert_true(carm_account_slots(&code->account) > 40);
    }
    return all;
}

TEST(every_isa_has_every_intensity)
{
    static const struct carm_plan_target targets[] = {
        /* scalar sp and avx512 dp: the_whole_table_adds_schedules */
        {CARM_SCALAR, CARM_DP, CARM_FMA}, {CARM_SSE, CARM_DP, CARM_MAD},
        {CARM_SSE, CARM_SP, CARM_FMA},    {CARM_AVX, CARM_DP, CARM_MAD},
        {CARM_AVX, CARM_SP, CARM_MAD},    {CARM_AVX2, CARM_DP, CARM_FMA},
        {CARM_AVX2, CARM_SP, CARM_MAD},   {CARM_AVX512, CARM_DP, CARM_MAD},
        {CARM_AVX512, CARM_SP, CARM_FMA},
    };
    enum { N = sizeof targets / sizeof *targets };
    struct carm_validate_plan plan;
    open_plan(&plan, "2:1", targets, N, true);
    assert_int_equal(plan.ntargets, N);
    for (size_t t = 0; t < N; t++) {
        assert_memory_equal(&plan.targets[t], &targets[t], sizeof *targets);
    }
    (void)check_plan(&plan);
    carm_validate_plan_close(&plan);
    assert_null(plan.image);
}

/* The schedules of 1 flop/byte, whose shortest loop is 1 unit and 12 fused operations, which are repeated to the
 * nearest length. */
TEST(a_point_has_its_schedules)
{
    static const char names[] =
        "u3.f36.c12 u3.f36.c8 u3.f36.c4 u3.f36.c12.p256 u3.f36.c12.s3 u3.f36.c12.p1024 "
        "u6.f72.c12.s6 u3.f36.c12.p1024.s3 u3.f36.c5 u3.f36.c12.block u3.f36.c5.block "
        "u6.f72.c12 u6.f72.c5 u6.f72.c9 u2.f24.c12 u2.f24.c4 u6.f72.c12.block "
        "u6.f72.c5.block4 u3.f36.c6.block u3.f36.c8.p256 u3.f36.c5.p256 u3.f36.c4.p256 "
        "u3.f36.c12.p256.block u6.f72.c12.p256 u3.f36.c12.p512 u6.f72.c12.p2048 ";
    static const struct carm_plan_target target = {CARM_AVX2, CARM_DP, CARM_FMA};
    static struct carm_code_spec specs[2 * CARM_SCHEDULES_MAX];
    char found[1024] = "";
    struct carm_mix mix;
    size_t n = 0;
    assert_ok(carm_mix_parse("2:1", &mix, &err));
    assert_ok(carm_validate_add_schedules(&target, &mix, 16, true, specs, &n, &err));
    assert_int_equal(n, 6);
    n = 0;
    assert_ok(carm_validate_add_schedules(&target, &mix, 16, false, specs, &n, &err));
    for (size_t i = 0; i < n; i++) {
        char name[CARM_CODE_NAME_MAX];
        carm_code_name(&specs[i], name);
        (void)snprintf(found + strlen(found), sizeof found - strlen(found), "%s ",
                       strstr(name, ".u") + 1);
    }
    assert_string_equal(found, names);
}

/* The schedules of all points of several mixes and operations, in their order, also of a quick validation; the codes
 * that keep a core's width busy. */
TEST(schedules_stay)
{
    static const struct carm_plan_target targets[] = {{CARM_AVX512, CARM_DP, CARM_FMA},
                                                      {CARM_AVX2, CARM_SP, CARM_ADD},
                                                      {CARM_SCALAR, CARM_DP, CARM_MAD}};
    static const char *const mixes[] = {"2:1",    "1:1", "1:0", "0:1", "3:1",
                                        "update", "nt",  "4:1", "5:2", "2:1update"};
    enum { MIXES = sizeof mixes / sizeof *mixes };
    static struct carm_code_spec specs[CARM_GRID_POINTS * 2 * CARM_SCHEDULES_MAX];
    uint64_t print = FINGERPRINT_NONE;
    size_t all = 0;
    for (size_t i = 0; i < 2 * 3 * MIXES; i++) {
        struct carm_mix mix;
        assert_ok(carm_mix_parse(mixes[i % MIXES], &mix, &err));
        for (size_t g = 0; g < CARM_GRID_POINTS; g++) {
            size_t n = 0;
            assert_ok(carm_validate_add_schedules(&targets[i / MIXES % 3], &mix, g, i >= 3 * MIXES,
                                                  specs, &n, &err));
            for (size_t k = 0; k < n; k++) {
                char name[CARM_CODE_NAME_MAX];
                carm_code_name(&specs[k], name);
                print = fingerprint(print, name, strlen(name) + 1);
            }
            all += n;
        }
    }
    size_t issue = 0;
    char first[CARM_CODE_NAME_MAX], last[CARM_CODE_NAME_MAX];
    assert_ok(carm_validate_add_issue(specs, &issue, &err));
    assert_int_equal(issue, 8);
    carm_code_name(&specs[0], first);
    carm_code_name(&specs[7], last);
    assert_string_equal(first, "W.scalar.dp.1:0.mad.u16.f24.c12.i24");
    assert_string_equal(last, "W.scalar.dp.1:0.mad.u24.f24.c12.i24");
    fail_if(all != 19128 || print != UINT64_C(0x4715ada64091b749), "%zu schedules, 0x%llx", all,
            (unsigned long long)print);
}

/* All schedules, where loops are longest and where they are shortest. */
TEST(the_whole_table_adds_schedules)
{
    static const struct carm_plan_target targets[] = {{CARM_AVX512, CARM_DP, CARM_FMA},
                                                      {CARM_SCALAR, CARM_SP, CARM_MAD}};
    enum { QUICK_MOST = 5 };
    struct carm_validate_plan plan;
    open_plan(&plan, "2:1", targets, 2, false);
    assert_true(check_plan(&plan) > (size_t)2 * CARM_GRID_POINTS * QUICK_MOST * 2);
    carm_validate_plan_close(&plan);
}

TEST(other_mixes_have_every_intensity)
{
    static const struct carm_plan_target targets[] = {{CARM_AVX2, CARM_DP, CARM_FMA},
                                                      {CARM_SCALAR, CARM_SP, CARM_ADD}};
    static const char *const mixes[] = {"1:1", "update", "1:0", "nt"};
    for (size_t i = 0; i < sizeof mixes / sizeof *mixes; i++) {
        struct carm_validate_plan plan;
        char name[16];
        open_plan(&plan, mixes[i], targets, 2, true);
        carm_mix_name(&plan.mix, name);
        assert_string_equal(name, mixes[i]);
        (void)check_plan(&plan);
        carm_validate_plan_close(&plan);
    }
}

TEST(codes_behind_the_roofs_are_found)
{
    static const struct carm_plan_target target = {CARM_SSE, CARM_DP, CARM_MAD};
    static const char *const names[] = {"A.avx512.dp.2:1.u6", "B.avx512.dp.fma.f40.c10",
                                        "B.avx512.dp.mad.f48.c12"};
    struct carm_validate_plan plan;
    open_plan(&plan, "2:1", &target, 1, true);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct carm_code *code = carm_validate_plan_find(&plan, names[i]);
        assert_non_null(code);
        assert_string_equal(code->name, names[i]);
    }
    /* and by any other spelling of the name that a person may have given in the file */
    assert_ptr_equal(carm_validate_plan_find(&plan, "B.avx512.dp.mad.f048.c12"),
                     carm_validate_plan_find(&plan, names[2]));
    /* roofs of other mixes are not validated: their codes are not even read */
    assert_null(carm_validate_plan_find(&plan, "unread"));
    assert_null(carm_validate_plan_find(&plan, "A.avx512.dp.2:1.u60"));
    assert_null(carm_validate_plan_find(&plan, ""));
    carm_validate_plan_close(&plan);
}

/* returns its code and leaves the sentence */
static int refuse(const struct fixture *f, const struct carm_plan_target *targets, size_t n,
                  struct carm_err *failure)
{
    struct carm_validate_plan plan;
    const int rc = carm_validate_plan_open(&plan, &f->model, targets, n, true, failure);
    assert_null(plan.image);
    assert_null(plan.first);
    return rc;
}

TEST(refuses_what_no_carm_knows)
{
    static const struct carm_plan_target target = {CARM_SSE, CARM_DP, CARM_MAD};
    static struct carm_plan_target many[CARM_PLAN_TARGETS_MAX + 1];
    struct fixture f;
    set_up_model(&f, "2:1");
    (void)snprintf(f.memory[0].code, sizeof f.memory[0].code, "A.avx1024.dp.2:1.u6");
    assert_int_equal(refuse(&f, &target, 1, &err), -CARM_EFORMAT);
    assert_non_null(
        strstr(err.text, "roofs[0].memory[0].code is a test code that this carm does not know"));
    assert_non_null(strstr(err.text, "avx1024"));
    /* a code of another kind, ISA, mix or operation has not measured that roof */
    static const char *const foreign[] = {"B.avx512.dp.fma.f40.c10", "A.sse.dp.2:1.u6",
                                          "A.avx512.sp.2:1.u6", "A.avx512.dp.1:0.u6"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        set_up_model(&f, "2:1");
        (void)snprintf(f.memory[0].code, sizeof f.memory[0].code, "%s", foreign[i]);
        assert_refused(refuse(&f, &target, 1, &err), -CARM_EFORMAT, "roofs[0].memory[0].code is ");
        assert_non_null(strstr(err.text, "which cannot have measured that avx512 L1 roof"));
    }
    set_up_model(&f, "2:1");
    (void)snprintf(f.compute[1].code, sizeof f.compute[1].code, "B.avx512.dp.pow.f48.c12");
    assert_int_equal(refuse(&f, &target, 1, &err), -CARM_EFORMAT);
    assert_non_null(
        strstr(err.text, "roofs[0].compute[1].code is a test code that this carm does not know"));
    assert_non_null(strstr(err.text, "pow"));
    set_up_model(&f, "2:1");
    (void)snprintf(f.model.config.ldst, sizeof f.model.config.ldst, "two to one");
    assert_refused(refuse(&f, &target, 1, &err), -CARM_EINVAL, "two to one");
    set_up_model(&f, "2:1");
    assert_refused(refuse(&f, many, CARM_PLAN_TARGETS_MAX + 1, &err), -CARM_EINVAL,
                   "65 combinations");
}
