/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The matrix multiplication's simulated DRAM bytes against closed forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "kernels/gemm/blas.h"
#include "kernels/gemm/plan.h"
#include "kernels/gemm/traffic.h"

static const struct carm_gemm_caches caches = {.l1 = 3072, .l2 = 16384, .l3 = 65536};

static struct carm_gemm_plan version(int v, size_t n)
{
    const struct carm_cpu cpu = {.isa = {true, true}};
    const struct carm_gemm_kernels k = {carm_gemm_kernel_find(&cpu, CARM_SSE, true),
                                        carm_gemm_kernel_find(&cpu, CARM_SSE, false)};
    struct carm_gemm_plan plan;
    struct carm_err err;
    if (carm_gemm_version(&plan, v, n, &k, &caches, &err)) {
        fail_msg("%s", err.text);
    }
    return plan;
}

static void assert_near(double x, double y)
{
    if (!(fabs(x - y) <= 1e-9 * fabs(y))) {
        fail_msg("%.17g is not %.17g", x, y);
    }
}

/* ---- matrices that nobody touches ---- */

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
    struct carm_err err;
    if (carm_gemm_traffic(p, &g, hierarchy, threads, rows, touches, &t, &err)) {
        fail_msg("%s", err.text);
    }
    assert_true(t.low <= t.bytes && t.bytes <= t.high);
    return t.bytes;
}

enum {
    ALL_LINES = 5 * SIZE * SIZE / 8,
    ROW = SIZE / 8,          /* lines of a row */
    LITTLE = SIZE * ROW / 2, /* half a matrix */
};

static void bytes_in_closed_form(void **state)
{
    (void)state;
    const struct carm_hierarchy_config large = one_cache(ALL_LINES, 1);
    const struct carm_hierarchy_config little = one_cache(LITTLE, 1);
    struct carm_gemm_plan p = version(1, SIZE);
    /* all fits: A and B once, C read and written back */
    assert_near(bytes_of(&p, &large, 1, SIZE, INFINITY), 4.0 * matrix);
    assert_near(carm_gemm_compulsory_bytes(SIZE), 4.0 * matrix);
    /* ... and the transpose, read and written back */
    p = version(2, SIZE);
    assert_near(bytes_of(&p, &large, 1, SIZE, INFINITY), 6.0 * matrix);
    /* a tile's rows fit, B does not: its transpose once for each three rows; made before: B read, its
     * transpose read and written back */
    assert_near(bytes_of(&p, &little, 1, SIZE, INFINITY), (3.0 + 3.0 + SIZE / 3.0) * matrix);
    assert_near(bytes_of(&p, &little, 1, SIZE / 2, INFINITY),
                (3.0 + 3.0 + SIZE / 3.0) / 2.0 * matrix);
    /* two threads with caches of their own: as often together */
    struct carm_hierarchy_config two = one_cache(LITTLE, 2);
    two.levels[0].shared_by = 1;
    assert_near(bytes_of(&p, &two, 2, SIZE, INFINITY), (3.0 + 3.0 + SIZE / 3.0) * matrix);
    /* ... and once for both where they share one and go through it together */
    const struct carm_hierarchy_config shared = one_cache(LITTLE, 2);
    assert_near(bytes_of(&p, &shared, 2, SIZE, INFINITY), (3.0 + 3.0 + SIZE / 6.0) * matrix);
    /* tiles down columns: A once for each four columns, and C's lines, which have eight, twice */
    p.columns_outer = true;
    assert_near(bytes_of(&p, &little, 1, SIZE, INFINITY), (3.0 + 1.0 + SIZE / 4.0 + 4.0) * matrix);
    p.columns_outer = false;
    /* not even a tile's seven rows fit: A comes again for each tile, too; C's lines for both their tiles,
     * and B's for both their columns of tiles when it is transposed */
    const struct carm_hierarchy_config tiny = one_cache(6 * ROW, 1);
    assert_near(bytes_of(&p, &tiny, 1, SIZE, INFINITY),
                (4.0 + 4.0 + SIZE / 4.0 + SIZE / 3.0) * matrix);
    /* blocks of 24 x 24 that fit beside the next ones: B once for each 24 rows, A once */
    p.levels[p.nlevels++] = (struct carm_gemm_level){
        .name = "L3", .m = 24, .n = 24, .k = CARM_GEMM_ALL, .order = "ijk"};
    const struct carm_hierarchy_config blocks = one_cache(3 * 24 * ROW + 2 * 24 * 24 / 8, 1);
    assert_near(bytes_of(&p, &blocks, 1, SIZE, INFINITY), (3.0 + 3.0 + SIZE / 24.0) * matrix);
}

/* B as it is: half of a line is left for the next tile where the column of lines fits. */
static void bytes_of_short_rows(void **state)
{
    (void)state;
    const struct carm_gemm_plan p = version(1, SIZE);
    const struct carm_hierarchy_config column = one_cache(2 * (SIZE + 4 * ROW), 1);
    const struct carm_hierarchy_config less = one_cache(SIZE - 4, 1);
    assert_near(bytes_of(&p, &column, 1, SIZE, INFINITY), (3.0 + SIZE / 3.0) * matrix);
    assert_true(bytes_of(&p, &less, 1, SIZE, INFINITY) > (3.0 + 2.0 * SIZE / 3.0) * matrix);
}

/* Fewer rows, and fewer sets, give the bytes of all. */
static void bytes_of_a_part(void **state)
{
    (void)state;
    const struct carm_hierarchy_config little = one_cache(LITTLE, 1);
    const struct carm_gemm_plan p = version(2, SIZE);
    assert_near(bytes_of(&p, &little, 1, SIZE, 1e5), (3.0 + 3.0 + SIZE / 3.0) * matrix);
}

/* A library's bytes from two thin products: exact where they are as the rule says, and those of a whole
 * one that was stepped (OpenBLAS 0.3.21, its kernel for Zen: 32 x 32 and 48 x 48 x 1024; 192 x 192 x
 * 192). The bytes of 128 x 128 x 128, scaled by flops, would be 7% too many. */
static void bytes_of_a_library(void **state)
{
    (void)state;
    double bytes[CARM_BLAS_PARTS];
    for (int i = 0; i < CARM_BLAS_PARTS; i++) {
        const double m = (double)carm_blas_parts[i];
        bytes[i] = CARM_BLAS_PART_DEPTH * (2.5 * m * m + 40.0 * m);
    }
    assert_near(carm_blas_scale(carm_blas_parts, bytes, 2000), 4e6 * (5000.0 + 40.0));
    const double stepped[CARM_BLAS_PARTS] = {4441808, 8869040};
    assert_true(fabs(carm_blas_scale(carm_blas_parts, stepped, 192) / 21566232 - 1.0) < 0.002);
    const double falling[CARM_BLAS_PARTS] = {8e6, 8e6};
    assert_true(carm_blas_scale(carm_blas_parts, falling, 192) == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_in_closed_form),
        cmocka_unit_test(bytes_of_short_rows),
        cmocka_unit_test(bytes_of_a_part),
        cmocka_unit_test(bytes_of_a_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
