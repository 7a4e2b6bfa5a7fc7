/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Generated matrices: structure, size, repeatability; the blocks that are chosen for them. */
#include "kernels/spmv/block.h"
#include "kernels/spmv/generate.h"
#include "tests/kernels/irregular.h"

static void generate(const struct carm_matrix_spec *spec, struct carm_csr *a)
{
    assert_ok(carm_matrix_generate(spec, a, &err));
}

TEST(rows_are_sorted_and_repeatable)
{
    for (uint64_t rows = 1; rows < 3000; rows = rows * 3 + 1) {
        struct carm_matrix_spec spec = {.rows = rows};
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
        carm_csr_close(&b);
        spec.seed = 1;
        generate(&spec, &b);
        assert_int_equal(a.nonzeros, b.nonzeros);
        assert_memory_not_equal(a.value, b.value, a.nonzeros * sizeof *a.value);
        carm_csr_close(&a);
        carm_csr_close(&b);
    }
}

TEST(bytes_choose_the_rows)
{
    const struct carm_matrix_spec spec = {.bytes = 3000000};
    struct carm_csr a;
    generate(&spec, &a);
    assert_near(carm_csr_bytes(a.rows, a.nonzeros), 3e6, 0.1 * 3e6);
    carm_csr_close(&a);
}

TEST(chosen_blocks)
{
    static const unsigned known[][3] = {/* unknowns of a node, rows and columns of a block */
                                        {1, 1, 1}, {2, 2, 2}, {3, 3, 3},
                                        {4, 4, 4}, {8, 8, 4}, {0, 1, 1}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct carm_matrix_spec spec = {.bytes = 4000000, .block = known[i][0]};
        struct carm_csr a;
        unsigned r = 0;
        unsigned c = 0;
        if (spec.block) {
            generate(&spec, &a);
        } else {
            make_irregular(&a, 5000);
        }
        carm_bcsr_choose(&a, &r, &c);
        fail_if(r != known[i][1] || c != known[i][2], "blocks of %u: %u x %u", spec.block, r, c);
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
