/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The matrix multiplication's kernels: results, what they leave alone, and their accounts, which are
 * to be what stepping counts. */
#include "kernels/gemm/blas.h"
#include "kernels/gemm/plan.h"
#include "kernels/gemm/tile.h"
#include "kernels/gemm/traffic.h"
#include "tests/asm/call_shim.h"
#include "tests/harness/count/step/stepping.h"
#include "tests/unit.h"

enum { ROWS = 3 * CARM_GEMM_ROWS, COLUMNS = 3 * CARM_GEMM_COLUMNS, DEPTH = 4 * CARM_GEMM_STEP };

/* Blocks in the middle of larger matrices, whose other elements nobody may change. */
enum { MARGIN = 8, M = ROWS + 2 * MARGIN, N = COLUMNS + 2 * MARGIN, K = DEPTH + 2 * MARGIN };

static _Alignas(64) double a[M][K];
static _Alignas(64) double b[K][N];
static _Alignas(64) double bt[N][K];
static _Alignas(64) double c[M][N];

static const double canary = 0x1.badc0ffeep+9;

static void fill(void)
{
    for (int k = 0; k < K; k++) {
        for (int i = 0; i < M; i++) {
            a[i][k] = (double)((i * 7 + k * 3) % 11) - 5.0;
        }
        for (int j = 0; j < N; j++) {
            b[k][j] = (double)((k * 5 + j * 13) % 17) - 8.0;
            bt[j][k] = b[k][j];
        }
    }
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            c[i][j] = canary;
        }
    }
}

/* All in whole numbers: the order of additions does not show. */
static double expected(int i, int j, int depth, bool accumulate)
{
    double sum = accumulate ? canary : 0.0;
    for (int k = 0; k < depth; k++) {
        sum += a[MARGIN + i][MARGIN + k] * b[MARGIN + k][MARGIN + j];
    }
    return sum;
}

static struct carm_gemm_tiles block(bool strided, unsigned rows, unsigned columns, unsigned depth)
{
    return (struct carm_gemm_tiles){.a = &a[MARGIN][MARGIN],
                                    .b = strided ? &b[MARGIN][MARGIN] : &bt[MARGIN][MARGIN],
                                    .c = &c[MARGIN][MARGIN],
                                    .a_stride = sizeof a[0],
                                    .c_stride = sizeof c[0],
                                    .b_stride = strided ? sizeof b[0] : sizeof bt[0],
                                    .k = depth,
                                    .rows = rows,
                                    .columns = columns};
}

static bool runs_here(const struct carm_gemm_kernel *k)
{
    return cpu_has(k->isa) && (!k->fma || cpu_has_fma());
}

static bool inside(int x, unsigned len)
{
    return x >= MARGIN && x < MARGIN + (int)len;
}

static void check_result(const struct carm_gemm_kernel *kernel, const struct carm_gemm_tiles *t)
{
    const unsigned rows = (unsigned)t->rows * CARM_GEMM_ROWS;
    const unsigned columns = (unsigned)t->columns * CARM_GEMM_COLUMNS;
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            const double want = inside(i, rows) && inside(j, columns)
                                    ? expected(i - MARGIN, j - MARGIN, (int)t->k, t->accumulate)
                                    : canary;
            fail_if(
                c[i][j] != want, "%s: %llu x %llu tiles, depth %llu%s%s: C[%d][%d] is %g, not %g",
                kernel->name, (unsigned long long)t->rows, (unsigned long long)t->columns,
                (unsigned long long)t->k, t->accumulate ? ", added" : "",
                t->columns_outer ? ", columns outer" : "", i - MARGIN, j - MARGIN, c[i][j], want);
        }
    }
}

/* Calls fn for blocks of several shapes with both orders, adding or not. */
static void each_block(bool strided, void (*fn)(const struct carm_gemm_tiles *t, void *arg),
                       void *arg)
{
    static const unsigned shapes[][3] = {{1, 1, 8},  {1, 1, DEPTH}, {3, 1, 16},
                                         {1, 3, 24}, {3, 2, 8},     {2, 3, DEPTH}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int way = 0; way < 4; way++) {
            struct carm_gemm_tiles t = block(strided, shapes[s][0], shapes[s][1], shapes[s][2]);
            t.accumulate = way & 1;
            t.columns_outer = way & 2;
            fn(&t, arg);
        }
    }
}

static void multiply_one(const struct carm_gemm_tiles *t, void *arg)
{
    const struct carm_gemm_kernel *kernel = arg;
    fill();
    carm_gemm_tiles_run(kernel, t);
    check_result(kernel, t);
}

TEST(results)
{
    int n = 0;
    for (const struct carm_gemm_kernel *k = carm_gemm_kernels; k->name; k++) {
        if (runs_here(k)) {
            each_block(k->strided, multiply_one, (void *)(uintptr_t)k);
            n++;
        }
    }
    assert_true(n >= 3); /* scalar and SSE2 run on any x86-64 */
}

static const struct carm_gemm_kernel *guarded;

/* Stands in for a kernel: calls it with canaries in all registers. */
static void call_guarded(void *frame)
{
    static struct call call;
    const uint64_t bits = junk(CARM_DP);
    memset(&call, 0, sizeof call);
    call.fn = (carm_code_fn *)(uintptr_t)guarded->run;
    call.window = frame;
    call.width = cpu_has(CARM_AVX512) ? 64 : cpu_has(CARM_AVX) ? 32 : 16;
    call.mxcsr_in = MXCSR_MASKED;
    for (unsigned i = 0; i < 10; i++) {
        call.general_in[i] = 0xca11ee5a7ed00000ULL + i;
    }
    for (size_t at = 0; at < sizeof call.vectors; at += sizeof bits) {
        memcpy((uint8_t *)call.vectors + at, &bits, sizeof bits);
    }
    call_shim_run(&call);
    for (unsigned i = 0; i < 6; i++) { /* rbx rbp r12 r13 r14 r15 */
        assert_true(call.general[i] == call.general_in[i]);
    }
    assert_int_equal(call.rsp_moved, 0);
    assert_int_equal(call.stack_changed, 0);
    assert_int_equal(call.rflags & DIRECTION_FLAG, 0);
    assert_int_equal(call.mxcsr & ~(uint64_t)MXCSR_FLAGS, MXCSR_MASKED);
    /* junk is a signalling NaN: whoever calculates with it raises `invalid` */
    assert_int_equal(call.mxcsr & (MXCSR_FLAGS - MXCSR_INEXACT), 0);
    for (int r = 0; r < 16 && guarded->isa >= CARM_AVX; r++) {
        for (unsigned i = 16; i < call.width; i++) {
            assert_int_equal(call.vectors[r][i], 0); /* vzeroupper */
        }
    }
}

static void guard_one(const struct carm_gemm_tiles *t, void *arg)
{
    const struct carm_gemm_kernel *kernel = arg;
    struct carm_gemm_kernel in_place = *kernel;
    guarded = kernel;
    in_place.run = call_guarded;
    fill();
    carm_gemm_tiles_run(&in_place, t);
    check_result(kernel, t);
}

TEST(the_calling_convention)
{
    for (const struct carm_gemm_kernel *k = carm_gemm_kernels; k->name; k++) {
        if (runs_here(k)) {
            each_block(k->strided, guard_one, (void *)(uintptr_t)k);
        }
    }
}

void only_return(void *frame);
__asm__(".pushsection .text\nonly_return: ret\n.popsection");

static void check_account(const char *name, const struct carm_step_counts *got,
                          const struct carm_step_counts *none, struct carm_gemm_account want)
{
    /* the function that only returns has loaded its return address, too */
    want.loads -= 1.0;
    want.load_bytes -= 8.0;
    const struct {
        const char *what;
        double got, want;
    } all[] = {
        {"flops", (double)(flops(got, CARM_DP) - flops(none, CARM_DP)), want.flops},
        {"loads", (double)(got->loads - none->loads), want.loads},
        {"loaded bytes", (double)(got->load_bytes - none->load_bytes), want.load_bytes},
        {"stores", (double)(got->stores - none->stores), want.stores},
        {"stored bytes", (double)(got->store_bytes - none->store_bytes), want.store_bytes},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        fail_if(all[i].got != all[i].want, "%s: stepped %s %.0f, constructed %.0f", name,
                all[i].what, all[i].got, all[i].want);
    }
    assert_int_equal(flops(got, CARM_SP), 0);
    assert_int_equal(got->nt_stores, 0);
}

__attribute__((noinline)) static struct carm_step_counts step_tiles(
    const struct carm_gemm_kernel *kernel, const struct carm_gemm_tiles *t)
{
    begin(PLENTY);
    carm_gemm_tiles_run(kernel, t);
    return end(true);
}

static void step_one(const struct carm_gemm_tiles *t, void *arg)
{
    const struct carm_gemm_kernel *kernel = arg;
    struct carm_gemm_kernel empty = *kernel;
    struct carm_gemm_account account = {0};
    empty.run = only_return;
    fill();
    const struct carm_step_counts none = step_tiles(&empty, t);
    const struct carm_step_counts got = step_tiles(kernel, t);
    carm_gemm_tiles_account(kernel, t, &account);
    check_account(kernel->name, &got, &none, account);
}

TEST(accounts_are_what_is_stepped)
{
    needs_stepping();
    for (const struct carm_gemm_kernel *k = carm_gemm_kernels; k->name; k++) {
        if (runs_here(k)) {
            each_block(k->strided, step_one, (void *)(uintptr_t)k);
        }
    }
}

/* The loop alone: what the report calls the tile's intensity. */
TEST(the_loop_has_24_flops_for_7_elements)
{
    for (const struct carm_gemm_kernel *k = carm_gemm_kernels; k->name; k++) {
        struct carm_gemm_tiles t = block(k->strided, 1, 1, 8);
        struct carm_gemm_account less = {0};
        struct carm_gemm_account more = {0};
        carm_gemm_tiles_account(k, &t, &less);
        t.k += 8;
        carm_gemm_tiles_account(k, &t, &more);
        assert_true(more.flops - less.flops == 8 * 24.0);
        assert_true(more.load_bytes - less.load_bytes == 8 * 8.0 * (k->fma ? 7 : 10));
        assert_true(more.store_bytes == less.store_bytes);
    }
}

TEST(copies)
{
    static double moved[N][K];
    fill();
    for (int j = 0; j < N; j++) {
        for (int k = 0; k < K; k++) {
            moved[j][k] = canary;
        }
    }
    carm_gemm_transposed(&b[MARGIN][MARGIN], sizeof b[0], &moved[1][2], sizeof moved[0], DEPTH,
                         COLUMNS);
    for (int j = 0; j < N; j++) {
        for (int k = 0; k < K; k++) {
            const bool in = j >= 1 && j < 1 + COLUMNS && k >= 2 && k < 2 + DEPTH;
            assert_true(moved[j][k] == (in ? b[MARGIN + k - 2][MARGIN + j - 1] : canary));
        }
    }
    for (int j = 0; j < N; j++) {
        for (int k = 0; k < K; k++) {
            moved[j][k] = canary;
        }
    }
    carm_gemm_copied(&a[MARGIN][MARGIN], sizeof a[0], &moved[1][2], sizeof moved[0], ROWS, DEPTH);
    for (int j = 0; j < N; j++) {
        for (int k = 0; k < K; k++) {
            const bool in = j >= 1 && j < 1 + ROWS && k >= 2 && k < 2 + DEPTH;
            assert_true(moved[j][k] == (in ? a[MARGIN + j - 1][MARGIN + k - 2] : canary));
        }
    }
    carm_gemm_transposed(&b[0][0], sizeof b[0], NULL, 0, 0, 4);
    carm_gemm_copied(&a[0][0], sizeof a[0], NULL, 0, 4, 0);
}

__attribute__((noinline)) static struct carm_step_counts step_copy(bool transpose, size_t rows,
                                                                   size_t columns)
{
    begin(PLENTY);
    if (transpose) {
        carm_gemm_transposed(&b[0][0], sizeof b[0], &bt[0][0], sizeof bt[0], rows, columns);
    } else {
        carm_gemm_copied(&a[0][0], sizeof a[0], &bt[0][0], sizeof bt[0], rows, columns);
    }
    return end(true);
}

/* What surrounds the loops is the same for two sizes: the difference is the loops'. */
TEST(copies_are_what_is_stepped)
{
    needs_stepping();
    for (int transpose = 0; transpose < 2; transpose++) {
        struct carm_gemm_account small = {0};
        struct carm_gemm_account large = {0};
        const struct carm_step_counts s = step_copy(transpose, 8, 8);
        const struct carm_step_counts l = step_copy(transpose, 24, 16);
        if (transpose) {
            carm_gemm_transposed_account(8, 8, &small);
            carm_gemm_transposed_account(24, 16, &large);
        } else {
            carm_gemm_copied_account(8, 8, &small);
            carm_gemm_copied_account(24, 16, &large);
        }
        assert_true((double)(l.loads - s.loads) == large.loads - small.loads);
        assert_true((double)(l.stores - s.stores) == large.stores - small.stores);
        assert_true((double)(l.load_bytes - s.load_bytes) == large.load_bytes - small.load_bytes);
        assert_true((double)(l.store_bytes - s.store_bytes) ==
                    large.store_bytes - small.store_bytes);
        assert_int_equal(flops(&l, CARM_DP), 0);
    }
}

TEST(kernels_are_found)
{
    struct carm_cpu cpu = {.isa = {true, true, false, false, false}};
    const struct carm_gemm_kernel *k = carm_gemm_kernel_find(&cpu, CARM_SSE, false);
    assert_string_equal(k->name, "sse_mad");
    assert_null(carm_gemm_kernel_find(&cpu, CARM_AVX2, false));
    cpu.isa[CARM_AVX] = cpu.isa[CARM_AVX2] = cpu.fma = true;
    assert_string_equal(carm_gemm_kernel_find(&cpu, CARM_SSE, false)->name, "sse_fma");
    assert_string_equal(carm_gemm_kernel_find(&cpu, CARM_AVX, false)->name, "avx_mad");
    assert_string_equal(carm_gemm_kernel_find(&cpu, CARM_AVX, true)->name, "strided_scalar_mad");
    assert_string_equal(carm_gemm_kernel_find(&cpu, CARM_AVX2, false)->name, "avx2_fma");
    assert_string_equal(carm_gemm_kernel_find(&cpu, CARM_AVX2, true)->name, "strided_scalar_fma");
    assert_null(carm_gemm_kernel_find(&cpu, CARM_AVX512, false));
}

static const struct carm_gemm_caches caches = {.l1 = 3072, .l2 = 16384, .l3 = 65536};

static struct carm_gemm_plan version(int v, size_t n)
{
    const struct carm_cpu cpu = {.isa = {true, true}};
    const struct carm_gemm_kernels k = {carm_gemm_kernel_find(&cpu, CARM_SSE, true),
                                        carm_gemm_kernel_find(&cpu, CARM_SSE, false)};
    struct carm_gemm_plan plan;
    assert_ok(carm_gemm_version(&plan, v, n, &k, &caches, &err));
    return plan;
}

static void assert_close(double x, double y)
{
    fail_if(!(fabs(x - y) <= 1e-9 * fabs(y)), "%.17g is not %.17g", x, y);
}

enum { SIZE = 96 };
static const double matrix = 8.0 * SIZE * SIZE; /* bytes */

/* One after another, from the begin of a page. */
static struct carm_gemm untouched(void)
{
    struct carm_gemm g = {.n = SIZE, .m = SIZE, .columns = SIZE, .k = SIZE, .c_stride = 8 * SIZE};
    struct carm_buffer *const all[] = {&g.a, &g.b, &g.c, &g.bt, &g.pa};
    static char space[5 * 8 * SIZE * SIZE] __attribute__((aligned(4096)));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        all[i]->start = space + i * 8 * SIZE * SIZE;
    }
    return g;
}

/* One fully associative cache of so many lines for all cores. */
static struct carm_hierarchy_config one_cache(uint32_t lines, uint32_t cores)
{
    return (struct carm_hierarchy_config){
        .levels = {{64ULL * lines, lines, cores}}, .nlevels = 1, .cores = cores};
}

static double bytes_of(const struct carm_gemm_plan *p,
                       const struct carm_hierarchy_config *hierarchy, int threads, size_t rows,
                       double touches)
{
    const struct carm_gemm g = untouched();
    struct carm_gemm_traffic t;
    assert_ok(carm_gemm_traffic(p, &g, hierarchy, threads, rows, touches, &t, &err));
    assert_true(t.low <= t.bytes && t.bytes <= t.high);
    return t.bytes;
}

enum {
    ALL_LINES = 5 * SIZE * SIZE / 8,
    ROW = SIZE / 8,          /* lines of a row */
    LITTLE = SIZE * ROW / 2, /* half a matrix */
};

TEST(bytes_in_closed_form)
{
    const struct carm_hierarchy_config large = one_cache(ALL_LINES, 1);
    const struct carm_hierarchy_config little = one_cache(LITTLE, 1);
    struct carm_gemm_plan p = version(1, SIZE);
    /* all fits: A and B once, C read and written back */
    assert_close(bytes_of(&p, &large, 1, SIZE, INFINITY), 4.0 * matrix);
    assert_close(carm_gemm_compulsory_bytes(SIZE), 4.0 * matrix);
    /* ... and the transpose, read and written back */
    p = version(2, SIZE);
    assert_close(bytes_of(&p, &large, 1, SIZE, INFINITY), 6.0 * matrix);
    /* a tile's rows fit, B does not: its transpose once for each three rows; made before: B read, its
     * transpose read and written back */
    assert_close(bytes_of(&p, &little, 1, SIZE, INFINITY), (3.0 + 3.0 + SIZE / 3.0) * matrix);
    assert_close(bytes_of(&p, &little, 1, SIZE / 2, INFINITY),
                 (3.0 + 3.0 + SIZE / 3.0) / 2.0 * matrix);
    /* two threads with caches of their own: as often together */
    struct carm_hierarchy_config two = one_cache(LITTLE, 2);
    two.levels[0].shared_by = 1;
    assert_close(bytes_of(&p, &two, 2, SIZE, INFINITY), (3.0 + 3.0 + SIZE / 3.0) * matrix);
    /* ... and once for both where they share one and go through it together */
    const struct carm_hierarchy_config shared = one_cache(LITTLE, 2);
    assert_close(bytes_of(&p, &shared, 2, SIZE, INFINITY), (3.0 + 3.0 + SIZE / 6.0) * matrix);
    /* tiles down columns: A once for each four columns, and C's lines, which have eight, twice */
    p.columns_outer = true;
    assert_close(bytes_of(&p, &little, 1, SIZE, INFINITY), (3.0 + 1.0 + SIZE / 4.0 + 4.0) * matrix);
    p.columns_outer = false;
    /* not even a tile's seven rows fit: A comes again for each tile, too; C's lines for both their tiles,
     * and B's for both their columns of tiles when it is transposed */
    const struct carm_hierarchy_config tiny = one_cache(6 * ROW, 1);
    assert_close(bytes_of(&p, &tiny, 1, SIZE, INFINITY),
                 (4.0 + 4.0 + SIZE / 4.0 + SIZE / 3.0) * matrix);
    /* blocks of 24 x 24 that fit beside the next ones: B once for each 24 rows, A once */
    p.levels[p.nlevels++] = (struct carm_gemm_level){
        .name = "L3", .m = 24, .n = 24, .k = CARM_GEMM_ALL, .order = "ijk"};
    const struct carm_hierarchy_config blocks = one_cache(3 * 24 * ROW + 2 * 24 * 24 / 8, 1);
    assert_close(bytes_of(&p, &blocks, 1, SIZE, INFINITY), (3.0 + 3.0 + SIZE / 24.0) * matrix);
}

/* B as it is: half of a line is left for the next tile where the column of lines fits. */
TEST(bytes_of_short_rows)
{
    const struct carm_gemm_plan p = version(1, SIZE);
    const struct carm_hierarchy_config column = one_cache(2 * (SIZE + 4 * ROW), 1);
    const struct carm_hierarchy_config less = one_cache(SIZE - 4, 1);
    assert_close(bytes_of(&p, &column, 1, SIZE, INFINITY), (3.0 + SIZE / 3.0) * matrix);
    assert_true(bytes_of(&p, &less, 1, SIZE, INFINITY) > (3.0 + 2.0 * SIZE / 3.0) * matrix);
}

/* Fewer rows, and fewer sets, give the bytes of all. */
TEST(bytes_of_a_part)
{
    const struct carm_hierarchy_config little = one_cache(LITTLE, 1);
    const struct carm_gemm_plan p = version(2, SIZE);
    assert_close(bytes_of(&p, &little, 1, SIZE, 1e5), (3.0 + 3.0 + SIZE / 3.0) * matrix);
}

/* A library's bytes from two thin products: exact where they are as the rule says, and those of a whole
 * one that was stepped (OpenBLAS 0.3.21, its kernel for Zen: 32 x 32 and 48 x 48 x 1024; 192 x 192 x
 * 192). The bytes of 128 x 128 x 128, scaled by flops, would be 7% too many. */
TEST(bytes_of_a_library)
{
    double bytes[CARM_BLAS_PARTS];
    for (int i = 0; i < CARM_BLAS_PARTS; i++) {
        const double m = (double)carm_blas_parts[i];
        bytes[i] = CARM_BLAS_PART_DEPTH * (2.5 * m * m + 40.0 * m);
    }
    assert_close(carm_blas_scale(carm_blas_parts, bytes, 2000), 4e6 * (5000.0 + 40.0));
    const double stepped[CARM_BLAS_PARTS] = {4441808, 8869040};
    assert_true(fabs(carm_blas_scale(carm_blas_parts, stepped, 192) / 21566232 - 1.0) < 0.002);
    const double falling[CARM_BLAS_PARTS] = {8e6, 8e6};
    assert_true(carm_blas_scale(carm_blas_parts, falling, 192) == 0.0);
}
