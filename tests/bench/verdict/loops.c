/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops whose limit is known by how they are made: one of them runs for about a second. Each is a function of its
 * own, so that carm names it.
 * usage: loops NAME [SECONDS] */
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <immintrin.h>

#define LOOP __attribute__((noinline, noclone))
static volatile double sink;
static volatile uint64_t isink;

static uint64_t rng = 88172645463325252ULL;
static uint64_t next_random(void)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    return rng ^= rng << 17;
}

/* ---- data ---- */
static double *a, *b, *c;
static uint32_t *index_;
static void **ring;
static size_t n;

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
    uint32_t *order = malloc(lines * sizeof *order);
    for (size_t i = 0; i < lines; i++) {
        order[i] = (uint32_t)i;
    }
    for (size_t i = lines - 1; i > 0; i--) {
        const size_t k = next_random() % (i + 1);
        const uint32_t t = order[i];
        order[i] = order[k];
        order[k] = t;
    }
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
    for (size_t r = 0; r < k; r += n) {
        for (size_t i = 0; i < n; i++) {
            c[i] = a[i] / b[i];
        }
    }
}
LOOP static void sqrt_scalar(size_t k)
{
    for (size_t r = 0; r < k; r += n) {
        for (size_t i = 0; i < n; i++) {
            c[i] = __builtin_sqrt(a[i]);
        }
    }
}
LOOP static void div_sqrt(size_t k)
{
    for (size_t r = 0; r < k; r += n) {
        for (size_t i = 0; i < n; i++) {
            c[i] = b[i] / __builtin_sqrt(a[i]);
        }
    }
}
LOOP static void div_sp(size_t k)
{
    float *x = (float *)a, *y = (float *)b, *z = (float *)c;
    for (size_t r = 0; r < k; r += n) {
        for (size_t i = 0; i < n; i++) {
            z[i] = x[i] / y[i];
        }
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
    for (size_t r = 0; r < k; r += n) {
        for (size_t i = 0; i < n; i++) {
            s += a[i];
        }
    }
    sink = s;
}
LOOP static void sum_float(size_t k)
{
    float s = 0.0F;
    const float *x = (const float *)a;
    for (size_t r = 0; r < k; r += n) {
        for (size_t i = 0; i < n; i++) {
            s += x[i];
        }
    }
    sink = s;
}
LOOP static void product(size_t k)
{
    double s = 1.0;
    for (size_t r = 0; r < k; r += n) {
        for (size_t i = 0; i < n; i++) {
            s *= a[i];
        }
    }
    sink = s;
}
LOOP static void dot(size_t k)
{
    double s = 0.0;
    for (size_t r = 0; r < k; r += n) {
        for (size_t i = 0; i < n; i++) {
            s += a[i] * b[i];
        }
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
        rng ^= rng << 13;
        rng ^= rng >> 7;
        rng ^= rng << 17;
        ((uint64_t *)a)[rng % n]++;
    }
}
LOOP static void branchy(size_t k)
{
    uint64_t s = 0;
    for (size_t r = 0; r < k; r += n) {
        for (size_t i = 0; i < n; i++) {
            if (index_[i] & 1) {
                s += 3;
                __asm__ volatile("" : "+r"(s));
            } else {
                s ^= i;
                __asm__ volatile("" : "+r"(s));
            }
        }
    }
    isink = s;
}
LOOP static void branch_sorted(size_t k)
{
    uint64_t s = 0;
    for (size_t r = 0; r < k; r += n) {
        for (size_t i = 0; i < n; i++) {
            if (i < n / 2) {
                s += 3;
                __asm__ volatile("" : "+r"(s));
            } else {
                s ^= i;
                __asm__ volatile("" : "+r"(s));
            }
        }
    }
    isink = s;
}
LOOP static void daxpy(size_t k)
{
    for (size_t r = 0; r < k; r += n) {
        for (size_t i = 0; i < n; i++) {
            b[i] += 1.5 * a[i];
        }
        __asm__ volatile("" ::: "memory");
    }
}
LOOP static void copy(size_t k)
{
    for (size_t r = 0; r < k; r += n) {
        for (size_t i = 0; i < n; i++) {
            b[i] = a[i];
            __asm__ volatile("" ::: "memory");
        }
    }
}
LOOP static void triad(size_t k)
{
    for (size_t r = 0; r < k; r += n) {
        for (size_t i = 0; i < n; i++) {
            a[i] = b[i] + 1.5 * c[i];
        }
        __asm__ volatile("" ::: "memory");
    }
}
LOOP static void fill(size_t k)
{
    for (size_t r = 0; r < k; r += n) {
        for (size_t i = 0; i < n; i++) {
            a[i] = 1.5;
        }
        __asm__ volatile("" ::: "memory");
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

/* name, function, set-up, working set in bytes */
enum setup { NONE, DATA, RING, INDEX };
static const struct loop {
    const char *name;
    void (*run)(size_t k);
    enum setup setup;
    size_t bytes;
} loops[] = {
    {"div", div_scalar, DATA, 8 << 10},
    {"sqrt", sqrt_scalar, DATA, 8 << 10},
    {"div_sqrt", div_sqrt, DATA, 8 << 10},
    {"div_sp", div_sp, DATA, 8 << 10},
    {"idiv", idiv, NONE, 0},
    {"sum_l1", sum, DATA, 16 << 10},
    {"sum_l2", sum, DATA, 512 << 10},
    {"sum_l3", sum, DATA, 8 << 20},
    {"sum_float", sum_float, DATA, 8 << 10},
    {"product", product, DATA, 8 << 10},
    {"dot_l1", dot, DATA, 8 << 10},
    {"horner", horner, NONE, 0},
    {"recurrence", recurrence, DATA, 8 << 10},
    {"hash_chain", hash_chain, NONE, 0},
    {"lcg", lcg, NONE, 0},
    {"div_chain", div_chain, NONE, 0},
    {"xorshift", xorshift, NONE, 0},
    {"chase_l1", chase, RING, 16 << 10},
    {"chase_l2", chase, RING, 512 << 10},
    {"chase_l3", chase, RING, 8 << 20},
    {"chase_dram", chase, RING, 128 << 20},
    {"gather_l3", gather, INDEX, 8 << 20},
    {"gather_dram", gather, INDEX, 128 << 20},
    {"histogram_dram", histogram, DATA, 128 << 20},
    {"branchy", branchy, INDEX, 16 << 20},
    {"branch_sorted", branch_sorted, INDEX, 256 << 10},
    {"daxpy_l1", daxpy, DATA, 8 << 10},
    {"daxpy_l2", daxpy, DATA, 256 << 10},
    {"daxpy_l3", daxpy, DATA, 4 << 20},
    {"daxpy_dram", daxpy, DATA, 128 << 20},
    {"copy_dram", copy, DATA, 128 << 20},
    {"triad_l1", triad, DATA, 8 << 10},
    {"triad_l3", triad, DATA, 4 << 20},
    {"triad_dram", triad, DATA, 128 << 20},
    {"fill_dram", fill, DATA, 128 << 20},
    {"sum_dram", sum, DATA, 128 << 20},
    {"stride_l2", stride_sum, DATA, 512 << 10},
    {"stride_dram", stride_sum, DATA, 128 << 20},
    {"column_smooth", column_smooth, DATA, SIDE *SIDE * 8},
    {"column_scale", column_scale, DATA, 128 << 20},
    {"column_aliased", column_aliased, DATA, 128 << 20},
    {"column_aliased_l2", column_aliased_l2, DATA, 512 << 10},
    {"loads_avx2", loads_avx2, DATA, 8 << 10},
    {"stores_avx2", stores_avx2, DATA, 8 << 10},
    {"issue", issue_add, NONE, 0},
    {"int_units", int_units, NONE, 0},
    {"imul_units", imul_units, NONE, 0},
    {"fma_avx2", fma_avx2, NONE, 0},
    {"fma_avx512", fma_avx512, NONE, 0},
    {"mul_sse", mul_sse, NONE, 0},
    {"add_scalar", add_scalar, NONE, 0},
    {"add_avx2_sp", add_avx2_sp, NONE, 0},
    {"straddle", straddle, DATA, 4 << 10},
    {"memory_sum", memory_sum, NONE, 0},
    {"faults", faults, NONE, 0},
    {"spin", spin, NONE, 0},
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const size_t iterations = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        const struct loop *l = &loops[i];
        if (argc < 2) {
            puts(l->name);
        }
        if (strcmp(l->name, name) != 0) {
            continue;
        }
        if (l->setup == DATA) {
            data(l->bytes);
        } else if (l->setup == RING) {
            make_ring(l->bytes);
        } else if (l->setup == INDEX) {
            make_index(l->bytes);
        }
        /* The number of iterations is an argument, so that a counted run does the same. Without it: how many take
         * half a second. */
        if (iterations) {
            l->run(iterations);
            return 0;
        }
        size_t k = 1 << 16 > n ? 1 << 16 : n;
        double seconds = 0.0;
        while (seconds < 0.02) {
            const double begin = now();
            l->run(k);
            seconds = now() - begin;
            k *= 2;
        }
        /* large sets take time to make */
        const double wanted = l->bytes > 1 << 20 ? 1.5 : 0.5;
        printf("%zu\n", (size_t)((double)(k / 2) * wanted / seconds));
        return 0;
    }
    return argc < 2 ? 0 : 2;
}
