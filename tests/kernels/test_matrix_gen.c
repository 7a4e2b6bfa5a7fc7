/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Generated matrices: structure, size, repeatability; the blocks that are chosen for them. */
#include "kernels/spmv/block.h"
#include "kernels/spmv/generate.h"
#include "tests/unit.h"

static void generate(const struct carm_matrix_spec *spec, struct carm_csr *a)
{
    assert_ok(carm_matrix_generate(spec, a, &err));
}

TEST(generators)
{
    for (int kind = 0; kind < CARM_MATRIX_KINDS; kind++) {
        for (uint64_t rows = 1; rows < 3000; rows = rows * 3 + 1) {
            const struct carm_matrix_spec spec = {.kind = (enum carm_matrix_kind)kind,
                                                  .rows = rows};
            struct carm_csr a;
            struct carm_csr b;
            generate(&spec, &a);
            generate(&spec, &b);
            assert_true(a.rows >= rows && a.start[0] == 0 && a.start[a.rows] == a.nonzeros);
            for (uint32_t i = 0; i < a.rows; i++) {
                assert_true(a.start[i] < a.start[i + 1]);
                for (uint32_t k = a.start[i]; k < a.start[i + 1]; k++) {
                    assert_true(a.column[k] < a.columns);
                    assert_true(k == a.start[i] || a.column[k - 1] < a.column[k]);
                    assert_true(isfinite(a.value[k]) && a.value[k] != 0.0);
                }
            }
            assert_memory_equal(a.column, b.column, a.nonzeros * sizeof *a.column);
            assert_memory_equal(a.value, b.value, a.nonzeros * sizeof *a.value);
            carm_csr_close(&a);
            carm_csr_close(&b);
        }
    }
}

TEST(sizes_of_generators)
{
    for (int kind = 0; kind < CARM_MATRIX_KINDS; kind++) {
        const struct carm_matrix_spec spec = {.kind = (enum carm_matrix_kind)kind,
                                              .bytes = 3000000};
        struct carm_csr a;
        generate(&spec, &a);
        const double bytes = carm_csr_bytes(a.rows, a.nonzeros);
        fail_if(!(bytes > 0.9 * 3e6 && bytes < 1.2 * 3e6), "%s takes %g bytes",
                carm_matrix_kind_name(spec.kind), bytes);
        carm_csr_close(&a);
    }
    assert_int_equal(carm_matrix_edge(27), 3);
    assert_int_equal(carm_matrix_edge(28), 4);
    assert_int_equal(carm_matrix_edge(1), 1);
}

TEST(seeds_and_power)
{
    struct carm_matrix_spec spec = {.kind = CARM_MATRIX_POWER, .rows = 20000};
    struct carm_csr a;
    struct carm_csr b;
    uint32_t longest = 0;
    uint32_t shortest = UINT32_MAX;
    generate(&spec, &a);
    spec.seed = 1;
    generate(&spec, &b);
    assert_true(a.nonzeros != b.nonzeros || memcmp(a.column, b.column, a.nonzeros) != 0);
    for (uint32_t i = 0; i < a.rows; i++) {
        const uint32_t n = a.start[i + 1] - a.start[i];
        longest = n > longest ? n : longest;
        shortest = n < shortest ? n : shortest;
    }
    assert_int_equal(shortest, 3);
    assert_true(longest > 300 && longest <= 5000);
    carm_csr_close(&a);
    carm_csr_close(&b);
}

/* The eigenvector that grids are checked by: A x is eigenvalue x, in every row. */
TEST(eigenvectors)
{
    for (int kind = CARM_MATRIX_GRID7; kind <= CARM_MATRIX_GRID27; kind++) {
        for (uint32_t m = 1; m < 12; m++) {
            const struct carm_matrix_spec spec = {.kind = (enum carm_matrix_kind)kind,
                                                  .rows = (uint64_t)m * m * m};
            double axis[3 * 12];
            struct carm_csr a;
            generate(&spec, &a);
            assert_int_equal(a.rows, m * m * m);
            const double eigenvalue = carm_matrix_grid_eigen(spec.kind, m, axis);
            for (uint32_t i = 0; i < a.rows; i++) {
                double sum = 0.0;
                for (uint32_t k = a.start[i]; k < a.start[i + 1]; k++) {
                    const uint32_t j = a.column[k];
                    sum += a.value[k] * axis[j % m] * axis[m + j / m % m] * axis[2 * m + j / m / m];
                }
                assert_near(
                    sum, eigenvalue * axis[i % m] * axis[m + i / m % m] * axis[2 * m + i / m / m],
                    1e-13);
            }
            carm_csr_close(&a);
        }
    }
}

TEST(chosen_blocks)
{
    static const struct {
        enum carm_matrix_kind kind;
        unsigned block, r, c;
    } known[] = {
        {CARM_MATRIX_FEM, 1, 1, 1},   {CARM_MATRIX_FEM, 2, 2, 2},   {CARM_MATRIX_FEM, 3, 3, 3},
        {CARM_MATRIX_FEM, 4, 4, 4},   {CARM_MATRIX_FEM, 8, 8, 4},   {CARM_MATRIX_RANDOM, 0, 1, 1},
        {CARM_MATRIX_POWER, 0, 1, 1}, {CARM_MATRIX_GRID7, 0, 1, 1},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct carm_matrix_spec spec = {
            .kind = known[i].kind, .bytes = 4000000, .block = known[i].block};
        struct carm_csr a;
        unsigned r = 0;
        unsigned c = 0;
        generate(&spec, &a);
        carm_bcsr_choose(&a, &r, &c);
        fail_if(r != known[i].r || c != known[i].c, "%s with blocks of %u: %u x %u",
                carm_matrix_kind_name(spec.kind), spec.block, r, c);
        carm_csr_close(&a);
    }
}

TEST(threads_get_as_much)
{
    static const uint32_t start[] = {0, 10, 10, 11, 12, 13, 14, 15, 16, 20};
    assert_int_equal(carm_spmv_split(start, 9, 0, 2), 0);
    assert_int_equal(carm_spmv_split(start, 9, 1, 2), 1); /* the first row has half of all */
    assert_int_equal(carm_spmv_split(start, 9, 2, 2), 9);
    for (int n = 1; n < 30; n++) { /* more threads than rows, too */
        for (int t = 0; t < n; t++) {
            assert_true(carm_spmv_split(start, 9, t, n) <= carm_spmv_split(start, 9, t + 1, n));
        }
    }
}

RUN_TESTS(NULL, NULL)
