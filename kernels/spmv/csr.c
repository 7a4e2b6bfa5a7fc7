/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/spmv/csr.h"

#include <string.h>

#include "kernels/context.h"

enum { ALIGN = 64 };

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

double carm_csr_bytes(double rows, double nonzeros)
{
    return (rows + 1.0) * sizeof(uint32_t) + nonzeros * (sizeof(double) + sizeof(uint32_t));
}

static int limits(const char *what, uint64_t rows, uint64_t columns, uint64_t nonzeros,
                  struct carm_err *err)
{
    if (rows < 1 || columns < 1) {
        return carm_fail(err, CARM_EINVAL, "%s: a matrix has at least one row and one column",
                         what);
    }
    if (rows > CARM_CSR_INDEX_MAX || columns > CARM_CSR_INDEX_MAX) {
        return carm_fail(err, CARM_EINVAL,
                         "%s: %llu x %llu is too large for 4-byte indices: at most %llu rows and "
                         "columns",
                         what, (unsigned long long)rows, (unsigned long long)columns,
                         (unsigned long long)CARM_CSR_INDEX_MAX);
    }
    if (nonzeros > CARM_CSR_NONZEROS_MAX) {
        return carm_fail(err, CARM_EINVAL, "%s: %llu nonzeros are too many: at most %llu", what,
                         (unsigned long long)nonzeros, (unsigned long long)CARM_CSR_NONZEROS_MAX);
    }
    return 0;
}

int carm_csr_open(struct carm_csr *a, const char *what, uint64_t rows, uint64_t columns,
                  uint64_t nonzeros, struct carm_err *err)
{
    memset(a, 0, sizeof *a);
    int rc = limits(what, rows, columns, nonzeros, err);
    rc = rc ? rc : carm_dwarf_fits(what, carm_csr_bytes((double)rows, (double)nonzeros), err);
    if (rc) {
        return rc;
    }
    const size_t starts = aligned((rows + 1) * sizeof(uint32_t));
    const size_t columns_bytes = aligned(nonzeros * sizeof(uint32_t));
    rc = carm_buffer_open(&a->memory, starts + columns_bytes + nonzeros * sizeof(double) + ALIGN,
                          err);
    if (rc) {
        return rc;
    }
    char *at = a->memory.start;
    a->rows = (uint32_t)rows;
    a->columns = (uint32_t)columns;
    a->nonzeros = (uint32_t)nonzeros;
    a->start = (void *)at;
    a->column = (void *)(at + starts);
    a->value = (void *)(at + starts + columns_bytes);
    return 0;
}

void carm_csr_close(struct carm_csr *a)
{
    carm_buffer_close(&a->memory);
    memset(a, 0, sizeof *a);
}

static void swap(uint32_t *column, double *value, size_t i, size_t j)
{
    const uint32_t c = column[i];
    const double v = value[i];
    column[i] = column[j];
    value[i] = value[j];
    column[j] = c;
    value[j] = v;
}

static void sift_down(uint32_t *column, double *value, size_t i, size_t n)
{
    for (size_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && column[child + 1] > column[child]) {
            child++;
        }
        if (column[child] <= column[i]) {
            return;
        }
        swap(column, value, i, child);
        i = child;
    }
}

/* Heap sort: works in place, and needs n log n steps for any order, also in a row of a million entries. */
static void sort_row(uint32_t *column, double *value, size_t n)
{
    for (size_t i = n / 2; i > 0; i--) {
        sift_down(column, value, i - 1, n);
    }
    for (size_t end = n; end > 1; end--) {
        swap(column, value, 0, end - 1);
        sift_down(column, value, 0, end - 1);
    }
}

static bool ascending(const uint32_t *column, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (column[i] < column[i - 1]) {
            return false;
        }
    }
    return true;
}

void carm_csr_tidy(struct carm_csr *a)
{
    uint32_t to = 0;
    uint32_t from = a->start[0];
    for (uint32_t row = 0; row < a->rows; row++) {
        const uint32_t end = a->start[row + 1];
        const uint32_t begin = to;
        if (!ascending(a->column + from, end - from)) {
            sort_row(a->column + from, a->value + from, end - from);
        }
        for (; from < end; from++) {
            if (to > begin && a->column[to - 1] == a->column[from]) {
                a->value[to - 1] += a->value[from];
            } else {
                a->column[to] = a->column[from];
                a->value[to] = a->value[from];
                to++;
            }
        }
        a->start[row + 1] = to;
    }
    a->nonzeros = to;
}
