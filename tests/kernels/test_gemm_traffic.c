/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The estimate of the matrix multiplication's DRAM bytes against closed forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "kernels/gemm/blas.h"
#include "kernels/gemm/plan.h"

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

static void dram_bytes_in_closed_form(void **state)
{
    (void)state;
    enum { SIZE = 96 };
    const double n2 = 8.0 * SIZE * SIZE; /* bytes of a matrix */
    struct carm_gemm g = {.n = SIZE, .m = SIZE, .columns = SIZE, .k = SIZE, .c_stride = 8 * SIZE};
    struct carm_gemm_plan p = version(1, SIZE);
    /* all fits: A and B once, C read and written back */
    assert_near(carm_gemm_dram_bytes(&p, &g, 1e9, 1, 1, SIZE), 4.0 * n2);
    assert_near(carm_gemm_compulsory_bytes(SIZE), 4.0 * n2);
    assert_near(carm_gemm_dram_bytes(&p, &g, 1e9, 1, 1, SIZE / 2), 2.0 * n2);
    /* ... and B twice with its transpose read, written and written back */
    p = version(2, SIZE);
    assert_near(carm_gemm_dram_bytes(&p, &g, 1e9, 1, 1, SIZE), 7.0 * n2);
    /* a tile's rows fit, B does not: B once for each three rows */
    const double little = 8.0 * SIZE * (SIZE / 2.0);
    assert_near(carm_gemm_dram_bytes(&p, &g, little, 1, 1, SIZE), (3.0 + 3.0 + SIZE / 3.0) * n2);
    /* two threads stream it each for their own rows: as often together */
    assert_near(carm_gemm_dram_bytes(&p, &g, little, 1, 2, SIZE), (3.0 + 3.0 + SIZE / 3.0) * n2);
    /* ... and once for both where they share a cache of twice the size and go through it together */
    assert_near(carm_gemm_dram_bytes(&p, &g, little, 2, 2, SIZE), (3.0 + 3.0 + SIZE / 6.0) * n2);
    /* two halves that B fits together, but not alone: shared, all comes once, as with one thread */
    assert_near(carm_gemm_dram_bytes(&p, &g, 0.7 * n2, 1, 2, SIZE), (3.0 + 3.0 + SIZE / 3.0) * n2);
    assert_near(carm_gemm_dram_bytes(&p, &g, 0.7 * n2, 2, 2, SIZE), 7.0 * n2);
    assert_near(carm_gemm_dram_bytes(&p, &g, 1.4 * n2, 1, 1, SIZE), 7.0 * n2);
    /* tiles down columns: A once for each four columns */
    p.columns_outer = true;
    assert_near(carm_gemm_dram_bytes(&p, &g, little, 1, 1, SIZE), (3.0 + 3.0 + SIZE / 4.0) * n2);
    p.columns_outer = false;
    /* not even a tile's seven rows fit: A comes again for each tile, too */
    assert_near(carm_gemm_dram_bytes(&p, &g, 8.0 * SIZE * 4, 1, 1, SIZE),
                (3.0 + 2.0 + SIZE / 4.0 + SIZE / 3.0) * n2);
    /* blocks of 24 x 24 that fit: B once for each 24 rows, A once */
    p.levels[p.nlevels++] = (struct carm_gemm_level){
        .name = "L3", .m = 24, .n = 24, .k = CARM_GEMM_ALL, .order = "ijk"};
    assert_near(carm_gemm_dram_bytes(&p, &g, little + 8.0 * 24 * 24, 1, 1, SIZE),
                (3.0 + 3.0 + SIZE / 24.0) * n2);
    /* the other order: A once for each 24 columns */
    memcpy(p.levels[0].order, "jik", 4);
    assert_near(carm_gemm_dram_bytes(&p, &g, little + 8.0 * 24 * 24, 1, 1, SIZE),
                (3.0 + 3.0 + SIZE / 24.0) * n2);
    /* cut along k on the outside, C does not stay: read and written back for each slice, while the
     * slices of A and B of 24 fit */
    p.levels[0] =
        (struct carm_gemm_level){.name = "L1", .m = SIZE, .n = SIZE, .k = 24, .order = "kij"};
    assert_near(carm_gemm_dram_bytes(&p, &g, 8.0 * SIZE * 24 * 1.5, 1, 1, SIZE),
                (3.0 + 2.0 + 2.0 * SIZE / 24.0) * n2);
}

/* B as it is: half of a line is left for the next tile where the column of lines fits. */
static void dram_bytes_of_short_rows(void **state)
{
    (void)state;
    enum { SIZE = 96 };
    const double n2 = 8.0 * SIZE * SIZE;
    const struct carm_gemm g = {.n = SIZE, .m = SIZE, .columns = SIZE, .k = SIZE};
    const struct carm_gemm_plan p = version(1, SIZE);
    assert_near(carm_gemm_dram_bytes(&p, &g, 64.0 * SIZE + 8.0 * SIZE * 3, 1, 1, SIZE),
                (3.0 + SIZE / 3.0) * n2);
    assert_near(carm_gemm_dram_bytes(&p, &g, 64.0 * SIZE - 8.0, 1, 1, SIZE),
                (2.0 + SIZE / 4.0 + 2.0 * SIZE / 3.0) * n2); /* nor does A stay, then */
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
        cmocka_unit_test(dram_bytes_in_closed_form),
        cmocka_unit_test(dram_bytes_of_short_rows),
        cmocka_unit_test(bytes_of_a_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
