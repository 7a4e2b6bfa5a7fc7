/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sparse matrices without dense blocks: rows of unequal length, columns anywhere. */
#pragma once

#include "kernels/spmv/csr.h"
#include "tests/unit.h"

/* Rows of 1 to 8 nonzeros, and each 16th 24 longer. */
static inline uint32_t irregular_length(uint32_t row, uint32_t columns)
{
    const uint32_t more = row % 16 == 3 ? 24 : 0;
    const uint32_t n = 1 + row * 7 % 8 + more;
    return n < columns ? n : columns;
}

/* Square. Closed by the caller. */
static inline void make_irregular(struct carm_csr *a, uint32_t rows)
{
    unsigned seed = rows;
    uint64_t nonzeros = 0;
    for (uint32_t i = 0; i < rows; i++) {
        nonzeros += irregular_length(i, rows);
    }
    assert_ok(carm_csr_open(a, "irregular", rows, rows, nonzeros, &err));
    for (uint32_t i = 0; i < rows; i++) {
        const uint32_t n = irregular_length(i, rows), at = a->start[i];
        a->start[i + 1] = at + n;
        for (uint32_t k = 0; k < n; k++) { /* one of each of n pieces of the row */
            const uint32_t begin = (uint32_t)((uint64_t)rows * k / n),
                           end = (uint32_t)((uint64_t)rows * (k + 1) / n);
            a->column[at + k] = begin + (uint32_t)rand_r(&seed) % (end - begin);
            a->value[at + k] = (double)rand_r(&seed) / RAND_MAX - 0.5;
        }
    }
}

/* As a Matrix Market file. */
static inline void write_irregular(const char *path, uint32_t rows)
{
    struct carm_csr a;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    make_irregular(&a, rows);
    (void)fprintf(f, "%%%%MatrixMarket matrix coordinate real general\n%u %u %u\n", rows, rows,
                  a.nonzeros);
    for (uint32_t i = 0; i < rows; i++) {
        for (uint32_t k = a.start[i]; k < a.start[i + 1]; k++) {
            (void)fprintf(f, "%u %u %.17g\n", i + 1, a.column[k] + 1, a.value[k]);
        }
    }
    assert_int_equal(fclose(f), 0);
    carm_csr_close(&a);
}
