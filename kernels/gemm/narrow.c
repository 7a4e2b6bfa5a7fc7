/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/gemm/narrow.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gemm/blas.h"

enum { CHECKED_ROWS = 64, LARGEST = 127, RESULT_BYTES = 4 };

static const double checked_products = 4e8; /* most multiplications of a check, about */

const size_t carm_narrow_parts[CARM_BLAS_PARTS] = {48, 96};

static size_t element_bytes(enum carm_precision precision)
{
    return carm_precisions[precision].bytes;
}

double carm_narrow_bytes(enum carm_precision precision, size_t n)
{
    return (double)n * (double)n * (double)(2 * element_bytes(precision) + RESULT_BYTES);
}

/* Bits of n/128 in bf16, the upper half of single precision: exact, as n has seven bits. */
static uint16_t to_bf16(int n)
{
    const float value = (float)n / 128.0f;
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static double from_bf16(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float value = 0.0f;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* The number of the next element, equal in every run: -127 .. 127, or its absolute value.
 * source of the constants: Knuth, The Art of Computer Programming 2, section 3.3.4 (MMIX) */
static int number(uint64_t *state, bool with_sign)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    const int n = (int)((*state >> 32) % (2 * LARGEST + 1)) - LARGEST;
    return with_sign || n >= 0 ? n : -n;
}

static void fill(void *matrix, enum carm_precision precision, bool with_sign, size_t first,
                 size_t last, uint64_t seed)
{
    uint64_t state = seed + first;
    for (size_t i = first; i < last; i++) {
        const int n = number(&state, with_sign || precision == CARM_BF16);
        if (precision == CARM_BF16) {
            ((uint16_t *)matrix)[i] = to_bf16(n);
        } else {
            ((uint8_t *)matrix)[i] = (uint8_t)n;
        }
    }
}

static void fill_job(struct carm_worker *w, void *arg)
{
    struct carm_narrow *g = arg;
    const size_t first = g->n * (size_t)w->index / (size_t)w->team->n * g->n;
    const size_t last = g->n * (size_t)(w->index + 1) / (size_t)w->team->n * g->n;
    fill(g->a.start, g->precision, false, first, last, 1);
    fill(g->b.start, g->precision, true, first, last, 1u << 20);
    memset((char *)g->c.start + first * RESULT_BYTES, 0, (last - first) * RESULT_BYTES);
}

int carm_narrow_open(struct carm_narrow *g, enum carm_precision precision, size_t n,
                     struct carm_team *team, struct carm_err *err)
{
    const double available = 0.9 * (double)carm_memory_available();
    const size_t bytes = n * n * element_bytes(precision);
    *g = (struct carm_narrow){.precision = precision, .n = n};
    if (available > 0.0 && carm_narrow_bytes(precision, n) > available) {
        return carm_fail(err, CARM_ENOMEM,
                         "three matrices of %zu x %zu take %.0f MiB and %.0f are free: choose a "
                         "smaller --n",
                         n, n, carm_narrow_bytes(precision, n) / 0x1p20, available / 0x1p20);
    }
    int rc = carm_buffer_open(&g->a, bytes, err);
    rc = rc ? rc : carm_buffer_open(&g->b, bytes, err);
    rc = rc ? rc : carm_buffer_open(&g->c, n * n * RESULT_BYTES, err);
    if (rc) {
        carm_narrow_close(g);
        return rc;
    }
    carm_team_run(team, fill_job, g);
    return 0;
}

void carm_narrow_close(struct carm_narrow *g)
{
    carm_buffer_close(&g->a);
    carm_buffer_close(&g->b);
    carm_buffer_close(&g->c);
}

struct product {
    const struct carm_onednn *lib;
    enum carm_precision precision;
    size_t m, depth;
    const void *a, *b;
    void *c;
};

static int multiply(void *context, int rep, struct carm_err *err)
{
    const struct product *p = context;
    (void)rep;
    return carm_onednn_multiply(p->lib, p->precision, p->m, p->m, p->depth, p->a, p->b, p->c, err);
}

int carm_narrow_measure(const struct carm_onednn *lib, struct carm_narrow *g,
                        const struct carm_team *team, struct carm_run_limits limits,
                        struct carm_run_times *out, struct carm_err *err)
{
    struct product product = {lib, g->precision, g->n, g->n, g->a.start, g->b.start, g->c.start};
    if (lib->set_threads) {
        lib->set_threads(team->n);
    } else if (team->n > 1) {
        return carm_fail(err, CARM_ENOTSUP,
                         "this %s is built without OpenMP, so that its number of threads cannot "
                         "be set: --threads 1",
                         lib->name);
    }
    memset(g->c.start, 0xff,
           g->n * g->n * RESULT_BYTES); /* old values must not pass for the result */
    return carm_repeat(team->clock, team->n, limits, multiply, &product, out, err);
}

static double element(const struct carm_narrow *g, const void *matrix, bool with_sign, size_t i)
{
    if (g->precision == CARM_BF16) {
        return from_bf16(((const uint16_t *)matrix)[i]);
    }
    return with_sign ? ((const int8_t *)matrix)[i] : ((const uint8_t *)matrix)[i];
}

/* One row of the product, exactly: a double holds sums of 32 768 products of 7 bits by 7. */
static void plain_row(const struct carm_narrow *g, size_t row, double *out)
{
    memset(out, 0, g->n * sizeof *out);
    for (size_t k = 0; k < g->n; k++) {
        const double a = element(g, g->a.start, false, row * g->n + k);
        for (size_t j = 0; j < g->n; j++) {
            out[j] += a * element(g, g->b.start, true, k * g->n + j);
        }
    }
}

static double result(const struct carm_narrow *g, size_t i)
{
    return g->precision == CARM_BF16 ? (double)((const float *)g->c.start)[i]
                                     : (double)((const int32_t *)g->c.start)[i];
}

int carm_narrow_check(const struct carm_narrow *g, const char *library, double *error, char by[64],
                      struct carm_err *err)
{
    const double n = (double)g->n;
    const size_t most = (size_t)fmin(CHECKED_ROWS, fmax(checked_products / (n * n), 2.0));
    const size_t rows = g->n < most ? g->n : most;
    /* the form of carm_gemm_tolerance, for sums in single precision; integers have no error */
    const double tolerance = g->precision == CARM_BF16 ? 0x1p-24 * n * (sqrt(n) + 8.0) : 0.0;
    double *want = calloc(g->n, sizeof *want);
    double largest = 0x1p-1000;
    double worst = 0.0;
    if (!want) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to check a product");
    }
    for (size_t i = 0; i < rows; i++) { /* the first and the last among them */
        const size_t row = rows > 1 ? i * (g->n - 1) / (rows - 1) : 0;
        plain_row(g, row, want);
        for (size_t j = 0; j < g->n; j++) {
            const double d = fabs(result(g, row * g->n + j) - want[j]);
            worst = isnan(d) ? INFINITY : fmax(worst, d);
            largest = fmax(largest, fabs(want[j]));
        }
    }
    free(want);
    snprintf(by, 64, "plain loops, %zu rows", rows);
    *error = worst / largest;
    if (!(*error <= tolerance)) {
        return carm_fail(err, CARM_EFORMAT,
                         "the result of %s is wrong: it differs from that of %s by %.3g of the "
                         "largest element, and rounding explains %.3g",
                         library, by, *error, tolerance);
    }
    return 0;
}

static void multiply_part(void *product)
{
    struct carm_err ignored;
    (void)multiply(product, 0, &ignored);
}

int carm_narrow_count(const struct carm_onednn *lib, enum carm_precision precision, size_t m,
                      size_t depth, struct carm_step_counts *counts, struct carm_err *err)
{
    const size_t bytes = (m * depth * element_bytes(precision) + 63) / 64 * 64;
    char *x = calloc(2 * bytes + m * m * RESULT_BYTES, 1);
    if (!x) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to count a library's product");
    }
    struct product product = {lib, precision, m, depth, x, x + bytes, x + 2 * bytes};
    fill(x, precision, false, 0, m * depth, 1);
    fill(x + bytes, precision, true, 0, m * depth, 2);
    if (lib->set_threads) {
        lib->set_threads(1);
    }
    int rc = multiply(&product, 0, err);
    rc = rc ? rc : carm_blas_step(lib->name, multiply_part, &product, counts, err);
    free(x);
    return rc;
}
