/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops whose limit is known by construction. Each is a function of its own, so that carm names it. */
#include "harness.h"

#include <immintrin.h>

static volatile double sink;
static volatile uint64_t isink;

/* ---- data ---- */
static double *a, *b, *c;
static uint32_t *index_;
static void **ring;

static void data(size_t bytes)
{
    n = bytes / sizeof(double);
    a = aligned_alloc(4096, bytes + 4096);
    b = aligned_alloc(4096, bytes + 4096);
    c = aligned_alloc(4096, bytes + 4096);
    for (size_t i = 0; i < n; i++) {
        a[i] = 1.0 + 1e-9 * (double)(i & 1023);
        b[i] = 1.5;
        c[i] = 2.0;
    }
}

/* A cycle through all lines, in random order. */
static void make_ring(size_t bytes)
{
    const size_t lines = bytes / 64;
    char *base = aligned_alloc(4096, bytes);
    uint32_t *order = shuffled(lines);
    for (size_t i = 0; i < lines; i++) {
        *(void **)(base + 64 * (size_t)order[i]) = base + 64 * (size_t)order[(i + 1) % lines];
    }
    ring = (void **)base;
    free(order);
}

static void make_index(size_t bytes)
{
    data(bytes);
    index_ = malloc(n * sizeof *index_);
    for (size_t i = 0; i < n; i++) {
        index_[i] = (uint32_t)(next_random() % n);
    }
}

/* ---- loops: each does about as many iterations as asked ---- */

LOOP static void div_scalar(size_t k)
{
    EACH (i) {
        c[i] = a[i] / b[i];
    }
}
LOOP static void sqrt_scalar(size_t k)
{
    EACH (i) {
        c[i] = __builtin_sqrt(a[i]);
    }
}
LOOP static void div_sqrt(size_t k)
{
    EACH (i) {
        c[i] = b[i] / __builtin_sqrt(a[i]);
    }
}
LOOP static void div_sp(size_t k)
{
    float *x = (float *)a, *y = (float *)b, *z = (float *)c;
    EACH (i) {
        z[i] = x[i] / y[i];
    }
}
LOOP static void idiv(size_t k)
{
    uint64_t s = 0;
    for (uint32_t i = 1; i < k; i++) {
        s ^= UINT32_C(4000000000) / i;
    }
    isink = s;
}
LOOP static void sum(size_t k)
{
    double s = 0.0;
    EACH (i) {
        s += a[i];
    }
    sink = s;
}
LOOP static void sum_float(size_t k)
{
    float s = 0.0F;
    const float *x = (const float *)a;
    EACH (i) {
        s += x[i];
    }
    sink = s;
}
LOOP static void product(size_t k)
{
    double s = 1.0;
    EACH (i) {
        s *= a[i];
    }
    sink = s;
}
LOOP static void dot(size_t k)
{
    double s = 0.0;
    EACH (i) {
        s += a[i] * b[i];
    }
    sink = s;
}
LOOP static void horner(size_t k)
{
    double s = 0.1, x = 0.5;
    for (size_t i = 0; i < k; i++) {
        s = s * x + 1.25;
    }
    sink = s;
}
LOOP static void recurrence(size_t k)
{
    for (size_t r = 0; r < k; r += n) {
        for (size_t i = 1; i < n; i++) {
            a[i] = a[i - 1] * 0.5 + b[i];
        }
    }
}
LOOP static void hash_chain(size_t k)
{
    uint64_t h = 1469598103934665603ULL;
    for (size_t i = 0; i < k; i++) {
        h = (h ^ i) * 1099511628211ULL;
    }
    isink = h;
}
LOOP static void lcg(size_t k)
{
    uint64_t h = 1;
    for (size_t i = 0; i < k; i++) {
        h = h * 6364136223846793005ULL + 1442695040888963407ULL;
    }
    isink = h;
}
LOOP static void div_chain(size_t k)
{
    double s = 1.5;
    for (size_t i = 0; i < k; i++) {
        s = 1.25 / s;
    }
    sink = s;
}
LOOP static void xorshift(size_t k)
{
    uint64_t x = 88172645463325252ULL;
    for (size_t i = 0; i < k; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    isink = x;
}
LOOP static void chase(size_t k)
{
    void **p = ring;
    for (size_t i = 0; i < k; i++) {
        p = (void **)*p;
    }
    isink = (uint64_t)(uintptr_t)p;
}
LOOP static void gather(size_t k)
{
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    for (size_t r = 0; r < k; r += n) {
        for (size_t i = 0; i + 3 < n; i += 4) {
            s0 += a[index_[i]];
            s1 += a[index_[i + 1]];
            s2 += a[index_[i + 2]];
            s3 += a[index_[i + 3]];
        }
    }
    sink = s0 + s1 + s2 + s3;
}
LOOP static void histogram(size_t k)
{
    for (size_t i = 0; i < k; i++) {
        ((uint64_t *)a)[next_random() % n]++;
    }
}
LOOP static void branchy(size_t k)
{
    uint64_t s = 0;
    EACH (i) {
        if (index_[i] & 1) {
            s += 3;
            __asm__ volatile("" : "+r"(s));
        } else {
            s ^= i;
            __asm__ volatile("" : "+r"(s));
        }
    }
    isink = s;
}
LOOP static void branch_sorted(size_t k)
{
    uint64_t s = 0;
    EACH (i) {
        if (i < n / 2) {
            s += 3;
            __asm__ volatile("" : "+r"(s));
        } else {
            s ^= i;
            __asm__ volatile("" : "+r"(s));
        }
    }
    isink = s;
}
LOOP static void daxpy(size_t k)
{
    EACH (i) {
        b[i] += 1.5 * a[i];
    }
}
LOOP static void copy(size_t k)
{
    EACH (i) {
        b[i] = a[i];
        __asm__ volatile("" ::: "memory");
    }
}
LOOP static void triad(size_t k)
{
    EACH (i) {
        a[i] = b[i] + 1.5 * c[i];
    }
}
LOOP static void fill(size_t k)
{
    EACH (i) {
        a[i] = 1.5;
    }
}
/* A smoothing that walks down columns of square matrices, of rows of about 2000 numbers (a known length, which is no
 * multiple of 4096 bytes), and a scaling of columns with a length of rows that the loop gets. */
enum { SIDE = 2000 };
LOOP static void column_smooth(size_t k)
{
    double(*x)[SIDE] = (double(*)[SIDE])a, (*y)[SIDE] = (double(*)[SIDE])b;
    for (size_t r = 0; r < k; r += (size_t)SIDE * SIDE) {
        for (size_t j = 1; j < SIDE - 1; j++) {
            for (size_t i = 1; i < SIDE - 1; i++) {
                y[i][j] = 0.25 * (x[i - 1][j] + x[i + 1][j] + x[i][j - 1] + x[i][j + 1]);
            }
        }
    }
}
LOOP static void scale_by(double *x, size_t rows, size_t columns, size_t row)
{
    for (size_t j = 0; j < columns; j++) {
        for (size_t i = 0; i < rows; i++) {
            x[i * row + j] *= 1.0000001;
        }
    }
}
LOOP static void column_scale(size_t k)
{
    const size_t row = 4003, rows = n / row;
    for (size_t r = 0; r < k; r += rows * row) {
        scale_by(a, rows, row, row);
    }
}
/* Rows of a known multiple of 4096 bytes: the lines of a column are of one set of L1. */
LOOP static void column_aliased(size_t k)
{
    enum { ROW = 4096, COLUMNS = 64 };
    for (size_t r = 0; r < k; r += n / ROW * COLUMNS) {
        for (size_t j = 0; j < COLUMNS; j++) {
            for (size_t i = 0; i < n / ROW; i++) {
                a[i * ROW + j] *= 1.0000001;
            }
        }
    }
}
LOOP static void column_aliased_l2(size_t k)
{
    enum { ROW = 512 };
    for (size_t r = 0; r < k; r += n) {
        for (size_t j = 0; j < ROW; j++) {
            for (size_t i = 0; i < n / ROW; i++) {
                a[i * ROW + j] *= 1.0000001;
            }
        }
    }
}
LOOP static void stride_sum(size_t k)
{
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    const size_t rows = n / 512; /* 4 KiB apart */
    for (size_t r = 0; r < k; r += n) {
        for (size_t j = 0; j < 512; j++) {
            for (size_t i = 0; i + 3 < rows; i += 4) {
                s0 += a[i * 512 + j];
                s1 += a[i * 512 + 512 + j];
                s2 += a[i * 512 + 1024 + j];
                s3 += a[i * 512 + 1536 + j];
            }
        }
    }
    sink = s0 + s1 + s2 + s3;
}
LOOP static void loads_avx2(size_t k)
{
    __asm__ volatile(
        "1:\n\t"
        "vmovaps (%1), %%ymm0\n\tvmovaps 32(%1), %%ymm1\n\tvmovaps 64(%1), %%ymm2\n\tvmovaps 96(%1), %%ymm3\n\t"
        "vmovaps 128(%1), %%ymm0\n\tvmovaps 160(%1), %%ymm1\n\tvmovaps 192(%1), %%ymm2\n\tvmovaps 224(%1), %%ymm3\n\t"
        "sub $8, %0\n\tjg 1b"
        : "+r"(k)
        : "r"(a)
        : "xmm0", "xmm1", "xmm2", "xmm3", "cc");
}
LOOP static void stores_avx2(size_t k)
{
    __asm__ volatile(
        "1:\n\t"
        "vmovaps %%ymm0, (%1)\n\tvmovaps %%ymm0, 32(%1)\n\tvmovaps %%ymm0, 64(%1)\n\tvmovaps %%ymm0, 96(%1)\n\t"
        "vmovaps %%ymm0, 128(%1)\n\tvmovaps %%ymm0, 160(%1)\n\tvmovaps %%ymm0, 192(%1)\n\tvmovaps %%ymm0, 224(%1)\n\t"
        "sub $8, %0\n\tjg 1b"
        : "+r"(k)
        : "r"(a)
        : "memory", "cc");
}
LOOP static void issue_add(size_t k)
{
    __asm__ volatile(
        "1:\n\t"
        "mov %%rax, %%r8\n\tmov %%rax, %%r9\n\tmov %%rax, %%r10\n\tmov %%rax, %%r11\n\t"
        "mov %%rcx, %%r8\n\tmov %%rcx, %%r9\n\tmov %%rcx, %%r10\n\tmov %%rcx, %%r11\n\t"
        "mov %%rax, %%r8\n\tmov %%rax, %%r9\n\tmov %%rax, %%r10\n\tmov %%rax, %%r11\n\t"
        "nop\n\tnop\n\tnop\n\tnop\n\tnop\n\t"
        "sub $8, %0\n\tjg 1b"
        : "+r"(k)
        :
        : "r8", "r9", "r10", "r11", "cc");
}
LOOP static void int_units(size_t k)
{
    __asm__ volatile(
        "1:\n\t"
        "add $1, %%r8\n\tadd $1, %%r9\n\tadd $1, %%r10\n\tadd $1, %%r11\n\t"
        "xor %%rax, %%r8\n\txor %%rax, %%r9\n\txor %%rax, %%r10\n\txor %%rax, %%r11\n\t"
        "add $1, %%r8\n\tadd $1, %%r9\n\tadd $1, %%r10\n\tadd $1, %%r11\n\t"
        "sub $8, %0\n\tjg 1b"
        : "+r"(k)
        :
        : "r8", "r9", "r10", "r11", "cc");
}
LOOP static void imul_units(size_t k)
{
    __asm__ volatile(
        "1:\n\t"
        "imul %%rax, %%r8\n\timul %%rax, %%r9\n\timul %%rax, %%r10\n\timul %%rax, %%r11\n\t"
        "sub $4, %0\n\tjg 1b"
        : "+r"(k)
        :
        : "r8", "r9", "r10", "r11", "cc");
}
#define EIGHT(op, r)                                                                             \
    op " %%" r "15, %%" r "14, %%" r "0\n\t" op " %%" r "15, %%" r "14, %%" r "1\n\t" op " %%" r \
       "15, %%" r "14, %%" r "2\n\t" op " %%" r "15, %%" r "14, %%" r "3\n\t" op " %%" r         \
       "15, %%" r "14, %%" r "4\n\t" op " %%" r "15, %%" r "14, %%" r "5\n\t" op " %%" r         \
       "15, %%" r "14, %%" r "6\n\t" op " %%" r "15, %%" r "14, %%" r "7\n\t"
#define FP(name, body)                                                                          \
    LOOP static void name(size_t k)                                                             \
    {                                                                                           \
        __asm__ volatile(                                                                       \
            "vxorps %%xmm14,%%xmm14,%%xmm14\n\tvxorps %%xmm15,%%xmm15,%%xmm15\n\t1:\n\t" body   \
            "sub $8, %0\n\tjg 1b"                                                               \
            : "+r"(k)                                                                           \
            :                                                                                   \
            : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm14", "xmm15", \
              "cc");                                                                            \
    }
FP(fma_avx2, EIGHT("vfmadd231pd", "ymm"))
FP(fma_avx512, EIGHT("vfmadd231pd", "zmm"))
FP(mul_sse, EIGHT("vmulpd", "xmm"))
FP(add_scalar, EIGHT("vaddsd", "xmm"))
FP(add_avx2_sp, EIGHT("vaddps", "ymm"))
LOOP static void straddle(size_t k)
{
    uint64_t s = 0;
    for (size_t i = 0; i < k; i++) {
        __asm__ volatile("movl %k0, (%1)\n\tmovl %k0, 4(%1)\n\tmovq (%1), %0"
                         : "+r"(s)
                         : "r"(a)
                         : "memory");
    }
    isink = s;
}
LOOP static void memory_sum(size_t k)
{
    volatile double s = 0.0;
    for (size_t i = 0; i < k; i++) {
        s += 1.5;
    }
}
static void faults(size_t k)
{
    for (size_t i = 0; i < k; i += 4096) {
        volatile char *p = aligned_alloc(4096, 64 << 20);
        for (size_t j = 0; j < 64 << 20; j += 4096) {
            p[j] = 1;
        }
        free((void *)(uintptr_t)p);
    }
}
LOOP static void spin(size_t k)
{
    for (size_t i = 0; i < k; i++) {
        __asm__ volatile("pause");
    }
}

static const struct loop loops[] = {
    {"div", data, div_scalar, 8 << 10},
    {"sqrt", data, sqrt_scalar, 8 << 10},
    {"div_sqrt", data, div_sqrt, 8 << 10},
    {"div_sp", data, div_sp, 8 << 10},
    {"idiv", NULL, idiv, 0},
    {"sum_l1", data, sum, 16 << 10},
    {"sum_l2", data, sum, 512 << 10},
    {"sum_l3", data, sum, 8 << 20},
    {"sum_float", data, sum_float, 8 << 10},
    {"product", data, product, 8 << 10},
    {"dot_l1", data, dot, 8 << 10},
    {"horner", NULL, horner, 0},
    {"recurrence", data, recurrence, 8 << 10},
    {"hash_chain", NULL, hash_chain, 0},
    {"lcg", NULL, lcg, 0},
    {"div_chain", NULL, div_chain, 0},
    {"xorshift", NULL, xorshift, 0},
    {"chase_l1", make_ring, chase, 16 << 10},
    {"chase_l2", make_ring, chase, 512 << 10},
    {"chase_l3", make_ring, chase, 8 << 20},
    {"chase_dram", make_ring, chase, 128 << 20},
    {"gather_l3", make_index, gather, 8 << 20},
    {"gather_dram", make_index, gather, 128 << 20},
    {"histogram_dram", data, histogram, 128 << 20},
    {"branchy", make_index, branchy, 16 << 20},
    {"branch_sorted", make_index, branch_sorted, 256 << 10},
    {"daxpy_l1", data, daxpy, 8 << 10},
    {"daxpy_l2", data, daxpy, 256 << 10},
    {"daxpy_l3", data, daxpy, 4 << 20},
    {"daxpy_dram", data, daxpy, 128 << 20},
    {"copy_dram", data, copy, 128 << 20},
    {"triad_l1", data, triad, 8 << 10},
    {"triad_l3", data, triad, 4 << 20},
    {"triad_dram", data, triad, 128 << 20},
    {"fill_dram", data, fill, 128 << 20},
    {"sum_dram", data, sum, 128 << 20},
    {"stride_l2", data, stride_sum, 512 << 10},
    {"stride_dram", data, stride_sum, 128 << 20},
    {"column_smooth", data, column_smooth, SIDE *SIDE * 8},
    {"column_scale", data, column_scale, 128 << 20},
    {"column_aliased", data, column_aliased, 128 << 20},
    {"column_aliased_l2", data, column_aliased_l2, 512 << 10},
    {"loads_avx2", data, loads_avx2, 8 << 10},
    {"stores_avx2", data, stores_avx2, 8 << 10},
    {"issue", NULL, issue_add, 0},
    {"int_units", NULL, int_units, 0},
    {"imul_units", NULL, imul_units, 0},
    {"fma_avx2", NULL, fma_avx2, 0},
    {"fma_avx512", NULL, fma_avx512, 0},
    {"mul_sse", NULL, mul_sse, 0},
    {"add_scalar", NULL, add_scalar, 0},
    {"add_avx2_sp", NULL, add_avx2_sp, 0},
    {"straddle", data, straddle, 4 << 10},
    {"memory_sum", NULL, memory_sum, 0},
    {"faults", NULL, faults, 0},
    {"spin", NULL, spin, 0},
};

int main(int argc, char **argv)
{
    return run_loop(loops, sizeof loops / sizeof *loops, argc, argv);
}
