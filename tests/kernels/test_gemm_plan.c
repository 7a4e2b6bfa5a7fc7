/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The matrix multiplication's variants: every one covers the problem once and computes the right
 * product; their accounts against stepping. */
#include "kernels/gemm/plan.h"
#include "kernels/gemm/run.h"
#include "tests/harness/count/step/stepping.h"
#include "tests/kernels/machine.h"
#include "tests/unit.h"

/* Caches so small that a small problem has blocks on all levels. */
static const struct carm_gemm_caches caches = {.l1 = 3072, .l2 = 16384, .l3 = 65536};

static struct carm_gemm_kernels kernels_of(enum carm_isa isa)
{
    const struct carm_gemm_kernels k = {carm_gemm_kernel_find(&cpu, isa, true),
                                        carm_gemm_kernel_find(&cpu, isa, false)};
    assert_non_null(k.strided);
    assert_non_null(k.vector);
    return k;
}

static void open_gemm(struct carm_gemm *g, size_t n, struct carm_team *team)
{
    assert_ok(carm_gemm_open(g, n, team, &err));
}

static struct carm_gemm_plan version(int v, size_t n, const struct carm_gemm_kernels *k)
{
    struct carm_gemm_plan plan;
    assert_ok(carm_gemm_version(&plan, v, n, k, &caches, &err));
    return plan;
}

TEST(even_pieces)
{
    assert_int_equal(carm_gemm_even(2304, 279, 8), 256); /* nine of them */
    assert_int_equal(carm_gemm_even(2304, 2304, 8), 2304);
    assert_int_equal(carm_gemm_even(2304, 5000, 8), 2304);
    assert_int_equal(carm_gemm_even(100, 0, 4), 4);
    assert_int_equal(carm_gemm_even(100, 60, 4), 52);
    assert_int_equal(carm_gemm_even(5, 3, 3), 3);
}

TEST(versions)
{
    char text[96];
    const struct carm_gemm_kernels k = kernels_of(CARM_SSE);
    const struct carm_gemm_caches here = {32768, 1048576, 5908000};
    const struct carm_gemm_caches none = {32768, 0, 0};
    struct carm_gemm_plan p;
    assert_ok(carm_gemm_version(&p, 1, 2304, &k, &here, &err));
    assert_ptr_equal(p.kernel, k.strided);
    assert_int_equal(p.nlevels, 0);
    assert_string_equal(carm_gemm_blocks_text(text, sizeof text, &p, 2304), "-");
    assert_ok(carm_gemm_version(&p, 5, 2304, &k, &here, &err));
    assert_string_equal(carm_gemm_blocks_text(text, sizeof text, &p, 2304),
                        "L3 117x116x- L2 -x36x- L1 -x8x256");
    assert_int_equal(p.access, CARM_GEMM_PACKED);
    /* what is meant to fit does */
    assert_true((p.levels[0].m + p.levels[0].n) * 2304 * 8 <= 5908000);
    assert_true((p.levels[1].n + CARM_GEMM_ROWS) * 2304 * 8 <= 1048576);
    assert_true((p.levels[2].n + CARM_GEMM_ROWS) * p.levels[2].k * 8 <= 32768);
    assert_ok(carm_gemm_version(&p, 2, 2304, &k, &none, &err));
    assert_refused(carm_gemm_version(&p, 3, 2304, &k, &none, &err), -CARM_ENOTSUP, "no L3");
}

TEST(sizes_are_refused)
{
    struct carm_gemm g;
    assert_int_equal(carm_gemm_open(&g, 0, NULL, &err), -CARM_EINVAL);
    assert_refused(carm_gemm_open(&g, CARM_GEMM_N_MAX + 1, NULL, &err), -CARM_EINVAL, "--n");
}

/* Every variant covers the problem once, along k in order. */
struct cover {
    const struct carm_gemm *g;
    size_t *next; /* [m x columns] of the tiles' elements: how far along k they are */
};

static void cover_block(const struct carm_gemm_block *b, void *arg)
{
    const struct cover *v = arg;
    assert_true(b->ni > 0 && b->nj > 0 && b->nk > 0);
    assert_true(b->i % CARM_GEMM_ROWS == 0 && b->ni % CARM_GEMM_ROWS == 0);
    assert_true(b->j % CARM_GEMM_COLUMNS == 0 && b->nj % CARM_GEMM_COLUMNS == 0);
    assert_true(b->k % CARM_GEMM_STEP == 0 && b->nk % CARM_GEMM_STEP == 0);
    for (size_t i = b->i; i < b->i + b->ni; i++) {
        for (size_t j = b->j; j < b->j + b->nj; j++) {
            assert_int_equal(v->next[i * v->g->columns + j], b->k);
            v->next[i * v->g->columns + j] += b->nk;
        }
    }
}

static void check_cover(const struct carm_gemm_plan *plan, const struct carm_gemm *g, int threads)
{
    struct cover v = {g, calloc(g->m * g->columns, sizeof *v.next)};
    assert_non_null(v.next);
    for (int t = 0; t < threads; t++) {
        size_t first = 0;
        size_t count = 0;
        carm_gemm_rows(g, t, threads, g->m, &first, &count);
        carm_gemm_walk(plan, g, first, count, cover_block, &v);
    }
    for (size_t i = 0; i < g->m * g->columns; i++) {
        assert_int_equal(v.next[i], g->k);
    }
    free(v.next);
}

static struct carm_gemm_plan *variants_of(size_t want, size_t n, const struct carm_gemm_kernels *k,
                                          size_t *count)
{
    struct carm_gemm_plan *plans = calloc(want, sizeof *plans);
    assert_non_null(plans);
    *count = carm_gemm_variants(plans, want, n, k, &caches);
    return plans;
}

TEST(all_variants_cover_the_problem)
{
    size_t count = 0;
    const struct carm_gemm_kernels k = kernels_of(CARM_SSE);
    struct carm_team *team = team_of(1);
    struct carm_gemm g;
    open_gemm(&g, 70, team);
    struct carm_gemm_plan *plans = variants_of(CARM_GEMM_VARIANTS_MAX, 70, &k, &count);
    assert_true(count >= 100 && count < CARM_GEMM_VARIANTS_MAX);
    for (size_t i = 0; i < count; i++) {
        check_cover(&plans[i], &g, 3);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(plans[i].name, plans[j].name);
        }
    }
    free(plans);
    plans = variants_of(100, 70, &k, &count);
    assert_int_equal(count, 100);
    free(plans);
    for (int v = 1; v <= CARM_GEMM_VERSIONS; v++) {
        const struct carm_gemm_plan p = version(v, 70, &k);
        check_cover(&p, &g, 2);
        check_cover(&p, &g, 30); /* more threads than rows of tiles */
    }
    carm_gemm_close(&g);
}

static const struct carm_run_limits quick = {0.05, NULL, NULL};

static void check_products(size_t n, int threads, enum carm_isa isa, size_t variants)
{
    size_t count = 0;
    const struct carm_gemm_kernels k = kernels_of(isa);
    struct carm_team *team = team_of(threads);
    struct carm_gemm_reference ref = {0};
    struct carm_gemm_result r;
    struct carm_gemm g;
    open_gemm(&g, n, team);
    assert_ok(carm_gemm_reference_plain(&ref, &g, threads, &err));
    assert_true(ref.nrows > 0 && ref.largest > 0.0);
    struct carm_gemm_plan *plans = variants_of(variants, n, &k, &count);
    for (size_t i = 0; i < count + CARM_GEMM_VERSIONS; i++) {
        const struct carm_gemm_plan p = i < count ? plans[i] : version((int)(i - count) + 1, n, &k);
        fail_if(carm_gemm_measure(&p, &g, team, &ref, quick, &r, &err), "n = %zu, %s: %s", n,
                p.name, err.text);
        assert_true(r.times.seconds > 0.0 && r.times.reps >= 1 &&
                    r.error <= carm_gemm_tolerance(n));
        assert_true(r.times.fastest <= r.times.seconds && r.times.seconds <= r.times.slowest);
    }
    free(plans);
    carm_gemm_reference_free(&ref);
    carm_gemm_close(&g);
}

TEST(products_are_right)
{
    check_products(1, 1, CARM_SSE, 4);
    check_products(7, 1, CARM_SCALAR, 4);
    check_products(96, 1, carm_cpu_best_isa(&cpu), 60);
    check_products(101, 1, CARM_SSE, 30);
}

TEST(products_of_two_threads_are_right)
{
    check_products(96, 2, carm_cpu_best_isa(&cpu), 60);
    check_products(5, 2, CARM_SSE, 4);
}

TEST(a_wrong_product_is_an_error)
{
    const struct carm_gemm_kernels k = kernels_of(CARM_SSE);
    struct carm_team *team = team_of(1);
    struct carm_gemm_reference ref = {0};
    struct carm_gemm_result r;
    struct carm_gemm g;
    open_gemm(&g, 40, team);
    assert_ok(carm_gemm_reference_plain(&ref, &g, 1, &err));
    const struct carm_gemm_plan p = version(5, 40, &k);
    ref.values[ref.nrows * 40 - 1] += 1e-9;
    assert_refused(carm_gemm_measure(&p, &g, team, &ref, quick, &r, &err), -CARM_EFORMAT, "wrong");
    ref.values[ref.nrows * 40 - 1] = NAN;
    assert_int_equal(carm_gemm_measure(&p, &g, team, &ref, quick, &r, &err), -CARM_EFORMAT);
    carm_gemm_reference_free(&ref);
    carm_gemm_close(&g);
}

TEST(the_user_may_stop)
{
    const struct carm_gemm_kernels k = kernels_of(CARM_SSE);
    const volatile sig_atomic_t stop = 1;
    const struct carm_observer observer = {.stop = &stop};
    const struct carm_run_limits limits = {1.0, &observer, NULL};
    struct carm_team *team = team_of(1);
    struct carm_gemm_reference ref = {0};
    struct carm_gemm_result r;
    struct carm_gemm g;
    open_gemm(&g, 40, team);
    const struct carm_gemm_plan p = version(2, 40, &k);
    assert_int_equal(carm_gemm_measure(&p, &g, team, &ref, limits, &r, &err), -CARM_EINTR);
    carm_gemm_close(&g);
}

TEST(libraries_agree_with_plain_loops)
{
    enum { SIZE = 90 };
    struct carm_team *team = team_of(1);
    int found = 0;
    for (int i = 0; i < CARM_BLAS_KINDS; i++) {
        struct carm_blas blas;
        struct carm_gemm_reference plain = {0};
        struct carm_gemm_reference own = {0};
        struct carm_gemm_result r;
        struct carm_gemm g;
        if (carm_blas_open(&blas, i, &err)) {
            assert_non_null(strstr(err.text, carm_blas_kind(i)));
            continue;
        }
        found++;
        open_gemm(&g, SIZE, team);
        assert_ok(carm_gemm_reference_plain(&plain, &g, 1, &err));
        assert_ok(carm_gemm_measure_library(&blas, &g, team, &plain, quick, &r, &err));
        assert_ok(carm_gemm_measure_library(&blas, &g, team, &own, quick, &r, &err));
        assert_int_equal(own.nrows, SIZE);
        assert_string_equal(own.by, carm_blas_kind(i));
        carm_gemm_reference_free(&plain);
        carm_gemm_reference_free(&own);
        carm_gemm_close(&g);
        carm_blas_close(&blas);
    }
    skip_if(found == 0, "no tuned BLAS is installed");
}

__attribute__((noinline)) static struct carm_step_counts step_all(const struct carm_gemm_plan *plan,
                                                                  const struct carm_gemm *g)
{
    begin(PLENTY);
    carm_gemm_arrange(plan, g, 0, 1);
    carm_gemm_multiply(plan, g, 0, g->m);
    return end(true);
}

static void count_block(const struct carm_gemm_block *b, void *arg)
{
    size_t *blocks = arg;
    (void)b;
    (*blocks)++;
}

static double bytes_and_blocks(const struct carm_gemm_plan *p, const struct carm_gemm *g,
                               size_t *blocks)
{
    struct carm_gemm_account a = {0};
    *blocks = 0;
    carm_gemm_account(p, g, 1, g->m, &a, &a);
    carm_gemm_walk(p, g, 0, g->m, count_block, blocks);
    return a.load_bytes + a.store_bytes;
}

/* Kernels alone are compared exactly in tests/kernels/test_gemm.c; here the loops around them run, too. They
 * have no flop, and what they load and store for each block must be nothing beside the blocks of
 * the study at full size. */
static void check_driver(int v, size_t n, const struct carm_gemm_kernels *k)
{
    const struct carm_gemm_caches usual = {32768, 1048576, 5.9e6};
    const struct carm_gemm full = {.n = 2304, .m = 2304, .columns = 2304, .k = 2304};
    struct carm_team *team = team_of(1);
    struct carm_gemm_account account = {0};
    struct carm_gemm_plan p = version(v, n, k);
    struct carm_gemm g;
    size_t blocks = 0;
    size_t full_blocks = 0;
    open_gemm(&g, n, team);
    carm_gemm_account(&p, &g, 1, g.m, &account, &account);
    const double bytes = bytes_and_blocks(&p, &g, &blocks);
    const struct carm_step_counts s = step_all(&p, &g);
    const double stepped = (double)(s.load_bytes + s.store_bytes);
    const double each = (stepped - bytes) / (double)blocks;
    assert_true((double)flops(&s, CARM_DP) == account.flops);
    assert_true(stepped >= bytes);
    assert_ok(carm_gemm_version(&p, v, 2304, k, &usual, &err));
    const double full_bytes = bytes_and_blocks(&p, &full, &full_blocks);
    const double share = each * (double)full_blocks / full_bytes;
    print_message(
        "version %d, n = %zu: %.0f flops both; %.0f bytes constructed, %.0f stepped: %.0f "
        "for a block's loops, %.2g%% of all at n = 2304 with %zu blocks\n",
        v, n, account.flops, bytes, stepped, each, 100.0 * share, full_blocks);
    assert_true(share < 0.005);
    carm_gemm_close(&g);
}

TEST(accounts_of_versions)
{
    needs_stepping();
    const struct carm_gemm_kernels k = kernels_of(carm_cpu_best_isa(&cpu));
    check_driver(1, 24, &k);
    for (int v = 2; v <= CARM_GEMM_VERSIONS; v++) {
        check_driver(v, 48, &k);
    }
}

/* Threads and slabs add up to the whole. */
TEST(accounts_add_up)
{
    const struct carm_gemm_kernels k = kernels_of(CARM_SSE);
    struct carm_team *team = team_of(1);
    struct carm_gemm_account one = {0};
    struct carm_gemm_account two = {0};
    struct carm_gemm_account half = {0};
    struct carm_gemm g;
    open_gemm(&g, 96, team);
    const struct carm_gemm_plan p = version(2, 96, &k);
    carm_gemm_account(&p, &g, 1, g.m, NULL, &one);
    carm_gemm_account(&p, &g, 2, g.m, NULL, &two);
    carm_gemm_account(&p, &g, 2, g.m / 2, NULL, &half);
    assert_true(one.flops == two.flops && one.store_bytes < two.store_bytes + 1.0);
    assert_true(half.flops * 2.0 == two.flops);
    /* 2 n^3, and the two lanes of each sum added up */
    assert_true(one.flops == 2.0 * 96 * 96 * 96 + 96.0 * 96);
    carm_gemm_close(&g);
}

RUN_TESTS(open_machine, NULL)
