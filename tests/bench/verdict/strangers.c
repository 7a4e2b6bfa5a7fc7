/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops as programs have them, each with its limit known by construction, and changed twins (`_x`) that do the same
 * work without it. strangers.py has their truth and their flags. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <immintrin.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

static double *a, *b, *c;
static uint32_t *x;
static uint8_t *bytes_;
volatile double sink;
volatile uint64_t isink;

static void *get(size_t bytes)
{
    void *p =
        mmap(NULL, bytes + (1 << 21), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return (void *)(((uintptr_t)p + (1 << 21) - 1) & ~(uintptr_t)((1 << 21) - 1));
}

/* three arrays of as many bytes together */
static void three(size_t bytes)
{
    n = bytes / 24 / 8 * 8;
    a = get(n * 8);
    b = get(n * 8 + 4096);
    c = get(n * 8 + 8192);
    b += 64; /* not on the same sets */
    c += 192;
    for (size_t i = 0; i < n; i++) {
        a[i] = 1.0 + 1e-9 * (double)(i & 1023);
        b[i] = 1.5;
        c[i] = 0.25;
    }
}
static void one(size_t bytes)
{
    n = bytes / 8;
    a = get(bytes);
    b = c = a;
    for (size_t i = 0; i < n; i++) {
        a[i] = 1.0 + 1e-9 * (double)(i & 1023);
    }
}
static void text(size_t bytes)
{
    n = bytes;
    bytes_ = get(bytes + 64);
    for (size_t i = 0; i < n; i++) {
        bytes_[i] = (uint8_t)(1 + next_random() % 250);
    }
}
static void numbers(size_t bytes) /* random indices into an array of the same length */
{
    n = bytes / 12;
    a = get(n * 8);
    x = get(n * 4);
    for (size_t i = 0; i < n; i++) {
        a[i] = (double)i;
        x[i] = (uint32_t)(next_random() % n);
    }
}

/* ---- bodies, roots, divisions ---- */
enum { BODIES = 256 };
static double px[BODIES], py[BODIES], pz[BODIES], ax[BODIES];
static void bodies(size_t bytes)
{
    (void)bytes;
    for (int i = 0; i < BODIES; i++) {
        px[i] = (double)(next_random() % 1000) / 1000.0;
        py[i] = (double)(next_random() % 1000) / 1000.0;
        pz[i] = (double)(next_random() % 1000) / 1000.0;
    }
}
LOOP static void nbody(size_t k)
{
    for (size_t r = 0; r < k; r += BODIES) {
        const int i = (int)(r / BODIES % BODIES);
        double f = 0.0;
        for (int j = 0; j < BODIES; j++) {
            const double dx = px[j] - px[i], dy = py[j] - py[i], dz = pz[j] - pz[i];
            const double d2 = dx * dx + dy * dy + dz * dz + 0.01;
            f += dx * (1.0 / (d2 * __builtin_sqrt(d2)));
        }
        ax[i] += f;
    }
}
LOOP static void nbody_x(
    size_t k) /* an estimate and Newton's steps in place of root and division */
{
    for (size_t r = 0; r < k; r += BODIES) {
        const int i = (int)(r / BODIES % BODIES);
        double f = 0.0;
        for (int j = 0; j < BODIES; j++) {
            const double dx = px[j] - px[i], dy = py[j] - py[i], dz = pz[j] - pz[i];
            const double d2 = dx * dx + dy * dy + dz * dz + 0.01;
            double y = (double)_mm_cvtss_f32(_mm_rsqrt_ss(_mm_set_ss((float)d2)));
            y *= 1.5 - 0.5 * d2 * y * y;
            y *= 1.5 - 0.5 * d2 * y * y;
            f += dx * (y * y * y);
        }
        ax[i] += f;
    }
}
LOOP static void normalise(size_t k)
{
    EACH (i) {
        c[i] = a[i] / b[i & 7];
    }
}
LOOP static void normalise_x(size_t k)
{
    double inverse[8];
    for (int i = 0; i < 8; i++) {
        inverse[i] = 1.0 / b[i];
    }
    EACH (i) {
        c[i] = a[i] * inverse[i & 7];
    }
}
LOOP static void gcd(size_t k)
{
    uint64_t s = 0;
    for (size_t i = 1; i < k; i += 30) {
        uint64_t u = UINT64_C(1836311903) + i, v = UINT64_C(1134903170);
        while (v) {
            const uint64_t t = u % v;
            u = v;
            v = t;
        }
        s += u;
    }
    isink = s;
}
LOOP static void modulo(size_t k)
{
    uint32_t s = 0;
    const volatile uint32_t prime = 10007;
    const uint32_t p = prime;
    EACH (i) {
        s += x[i] % p;
    }
    isink = s;
}
LOOP static void modulo_x(size_t k)
{
    uint32_t s = 0;
    EACH (i) {
        s += x[i] & 8191;
    }
    isink = s;
}
LOOP static void newton(size_t k) /* each root waits for the one before */
{
    double s = 2.0;
    for (size_t i = 0; i < k; i++) {
        s = __builtin_sqrt(s + 1.25);
    }
    sink = s;
}

/* ---- chains ---- */
LOOP static void sum(size_t k)
{
    double s = 0.0;
    EACH (i) {
        s += a[i];
    }
    sink = s;
}
LOOP static void sum_x(size_t k)
{
    double s[8] = {0};
    for (size_t r = 0; r < k; r += n) {
        for (size_t i = 0; i + 8 <= n; i += 8) {
            s[0] += a[i];
            s[1] += a[i + 1];
            s[2] += a[i + 2];
            s[3] += a[i + 3];
            s[4] += a[i + 4];
            s[5] += a[i + 5];
            s[6] += a[i + 6];
            s[7] += a[i + 7];
        }
    }
    sink = s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
}
LOOP static void prefix(size_t k)
{
    for (size_t r = 0; r < k; r += n) {
        double s = 0.0;
        for (size_t i = 0; i < n; i++) {
            s += a[i];
            b[i] = s;
        }
    }
}
LOOP static void seidel(size_t k) /* one dimension of a Gauss-Seidel sweep */
{
    for (size_t r = 0; r < k; r += n) {
        for (size_t i = 1; i + 1 < n; i++) {
            a[i] = 0.5 * (a[i - 1] + a[i + 1]);
        }
    }
}
LOOP static void mandelbrot(size_t k)
{
    double s = 0.0;
    for (size_t r = 0; r < k; r += 1000) {
        double zr = 0.0, zi = 0.0;
        const double cr = -0.1 + 1e-9 * (double)r, ci = 0.65;
        for (int i = 0; i < 1000; i++) {
            const double t = zr * zr - zi * zi + cr;
            zi = 2.0 * zr * zi + ci;
            zr = t;
        }
        s += zr;
    }
    sink = s;
}
LOOP static void mandelbrot_x(size_t k) /* four points at a time */
{
    double s = 0.0;
    for (size_t r = 0; r < k; r += 4000) {
        double zr[4] = {0}, zi[4] = {0};
        const double cr = -0.1 + 1e-9 * (double)r, ci = 0.65;
        for (int i = 0; i < 1000; i++) {
            for (int j = 0; j < 4; j++) {
                const double t = zr[j] * zr[j] - zi[j] * zi[j] + cr;
                zi[j] = 2.0 * zr[j] * zi[j] + ci;
                zr[j] = t;
            }
        }
        s += zr[0] + zr[1] + zr[2] + zr[3];
    }
    sink = s;
}
LOOP static void fnv(size_t k)
{
    uint64_t h = 14695981039346656037ULL;
    EACH (i) {
        h = (h ^ bytes_[i]) * 1099511628211ULL;
    }
    isink = h;
}
LOOP static void fnv_x(size_t k) /* four strings side by side */
{
    uint64_t h[4] = {1, 2, 3, 4};
    const size_t q = n / 4;
    for (size_t r = 0; r < k; r += n) {
        for (size_t i = 0; i < q; i++) {
            h[0] = (h[0] ^ bytes_[i]) * 1099511628211ULL;
            h[1] = (h[1] ^ bytes_[i + q]) * 1099511628211ULL;
            h[2] = (h[2] ^ bytes_[i + 2 * q]) * 1099511628211ULL;
            h[3] = (h[3] ^ bytes_[i + 3 * q]) * 1099511628211ULL;
        }
    }
    isink = h[0] ^ h[1] ^ h[2] ^ h[3];
}
static uint32_t crc_table[256];
static void crc_up(size_t bytes)
{
    text(bytes);
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t v = i;
        for (int j = 0; j < 8; j++) {
            v = v & 1 ? UINT32_C(0xedb88320) ^ (v >> 1) : v >> 1;
        }
        crc_table[i] = v;
    }
}
LOOP static void crc(size_t k)
{
    uint32_t h = ~UINT32_C(0);
    EACH (i) {
        h = crc_table[(h ^ bytes_[i]) & 255] ^ (h >> 8);
    }
    isink = h;
}
LOOP __attribute__((target("sse4.2"))) static void crc_insn(size_t k)
{
    uint64_t h = 0;
    for (size_t r = 0; r < k * 8; r += n) {
        for (size_t i = 0; i + 8 <= n; i += 8) {
            uint64_t v;
            memcpy(&v, bytes_ + i, 8);
            h = _mm_crc32_u64(h, v);
        }
    }
    isink = h;
}
LOOP static void x87(size_t k)
{
    long double s = 1.0L;
    for (size_t i = 0; i < k; i++) {
        s = s * 0.75L + 1e-3L;
    }
    sink = (double)s;
}
LOOP static void bits(size_t k) /* one bit after the other */
{
    uint64_t s = 0;
    for (size_t r = 0; r < k; r += 64) {
        uint64_t v = r * 0x9e3779b97f4a7c15ULL, w = 0;
        for (int i = 0; i < 64; i++) {
            w = (w << 1) | (v & 1);
            v >>= 1;
        }
        s += w;
    }
    isink = s;
}
LOOP static void random_walk(size_t k)
{
    uint64_t s = 1, t = 0;
    for (size_t i = 0; i < k; i++) {
        s = s * 6364136223846793005ULL + 1442695040888963407ULL;
        t += s >> 33;
    }
    isink = t;
}
LOOP static void counter(size_t k) /* an element again and again */
{
    EACH (i) {
        b[(size_t)bytes_[i] & 0] += 1.0;
        __asm__ volatile("" ::: "memory");
    }
}
static void counter_up(size_t bytes)
{
    text(bytes);
    b = get(4096);
}

/* ---- loads, stores, units ---- */
LOOP __attribute__((target("avx2,fma"))) static void dot_avx2(size_t k)
{
    for (size_t r = 0; r < k; r += n / 4) {
        __m256d s[8];
        for (int j = 0; j < 8; j++) {
            s[j] = _mm256_setzero_pd();
        }
        for (size_t i = 0; i + 32 <= n; i += 32) {
#pragma GCC unroll 8
            for (size_t j = 0; j < 8; j++) {
                s[j] = _mm256_fmadd_pd(_mm256_load_pd(a + i + 4 * j), _mm256_load_pd(b + i + 4 * j),
                                       s[j]);
            }
        }
        sink = s[0][0] + s[1][0] + s[2][0] + s[3][0] + s[4][0] + s[5][0] + s[6][0] + s[7][0];
    }
}
LOOP __attribute__((target("avx2,fma"))) static void fma_chains(size_t k)
{
    __m256d s[12];
    const __m256d f = _mm256_set1_pd(0.999), g = _mm256_set1_pd(1e-3);
    for (int j = 0; j < 12; j++) {
        s[j] = _mm256_set1_pd(1.0);
    }
    for (size_t i = 0; i < k; i += 12) {
#pragma GCC unroll 12
        for (int j = 0; j < 12; j++) {
            s[j] = _mm256_fmadd_pd(s[j], f, g);
        }
    }
    double t = 0.0;
    for (int j = 0; j < 12; j++) {
        t += s[j][0];
    }
    sink = t;
}
LOOP __attribute__((target("avx512f"))) static void copy_avx512(size_t k)
{
    for (size_t r = 0; r < k; r += n / 8, keep_memory()) {
        for (size_t i = 0; i + 32 <= n; i += 32) {
            _mm512_store_pd(b + i, _mm512_load_pd(a + i));
            _mm512_store_pd(b + i + 8, _mm512_load_pd(a + i + 8));
            _mm512_store_pd(b + i + 16, _mm512_load_pd(a + i + 16));
            _mm512_store_pd(b + i + 24, _mm512_load_pd(a + i + 24));
        }
    }
}
static void two(size_t bytes)
{
    n = bytes / 16 / 64 * 64;
    a = get(n * 8);
    b = get(n * 8);
    memset(a, 0, n * 8);
    memset(b, 0, n * 8);
}
#define SUM_LINES(name, offset)                                                                  \
    LOOP __attribute__((target("avx2"))) static void name(size_t k)                              \
    {                                                                                            \
        __m256i s[8];                                                                            \
        const char *p = (const char *)a + (offset);                                              \
        memset(s, 0, sizeof s);                                                                  \
        for (size_t r = 0; r < k; r += n / 8) {                                                  \
            for (size_t i = 0; i + 64 <= n; i += 64) {                                           \
                _Pragma("GCC unroll 8") for (size_t j = 0; j < 8; j++)                           \
                {                                                                                \
                    s[j] = _mm256_xor_si256(                                                     \
                        s[j], _mm256_loadu_si256((const __m256i *)(p + 8 * i + 64 * j)));        \
                }                                                                                \
            }                                                                                    \
        }                                                                                        \
        isink = (uint64_t)(s[0][0] ^ s[1][0] ^ s[2][0] ^ s[3][0] ^ s[4][0] ^ s[5][0] ^ s[6][0] ^ \
                           s[7][0]);                                                             \
    }
SUM_LINES(split_lines, 48) /* every load is in two lines */
SUM_LINES(split_lines_x, 32)
LOOP __attribute__((target("avx2"))) static void shuffles(size_t k)
{
    __m256i s0 = _mm256_set1_epi8(1), s1 = s0, s2 = s0, s3 = s0;
    const __m256i m = _mm256_set1_epi8(3);
    for (size_t i = 0; i < k; i += 4) {
        __asm__ volatile("" : "+x"(s0), "+x"(s1), "+x"(s2), "+x"(s3));
        s0 = _mm256_shuffle_epi8(s0, m);
        s1 = _mm256_shuffle_epi8(s1, m);
        s2 = _mm256_shuffle_epi8(s2, m);
        s3 = _mm256_shuffle_epi8(s3, m);
    }
    isink = (uint64_t)(s0[0] ^ s1[0] ^ s2[0] ^ s3[0]);
}
LOOP static void convert(size_t k) /* numbers to bytes, one by one */
{
    EACH (i) {
        c[i] = (double)(int64_t)(a[i] * 3.0);
    }
}
LOOP __attribute__((target("popcnt"))) static void popcounts(size_t k)
{
    uint64_t s = 0;
    const uint64_t *p = (const uint64_t *)a;
    for (size_t r = 0; r < k; r += n) {
        for (size_t i = 0; i + 4 <= n; i += 4) {
            s += (uint64_t)__builtin_popcountll(p[i]) + (uint64_t)__builtin_popcountll(p[i + 1]) +
                 (uint64_t)__builtin_popcountll(p[i + 2]) +
                 (uint64_t)__builtin_popcountll(p[i + 3]);
        }
    }
    isink = s;
}
LOOP static void scan(size_t k) /* the length of a string */
{
    uint64_t s = 0;
    for (size_t r = 0; r < k; r += n, keep_memory()) {
        const uint8_t *p = bytes_;
        while (*p) {
            p++;
        }
        s += (uint64_t)(p - bytes_);
    }
    isink = s;
}
LOOP static void butterfly(size_t k) /* one pass of an FFT, re and im apart */
{
    for (size_t r = 0; r < k; r += n / 4, keep_memory()) {
        double *re = a, *im = a + n / 2;
        const size_t h = n / 4;
        for (size_t i = 0; i < h; i++) {
            const double wr = b[i], wi = c[i];
            const double tr = re[i + h] * wr - im[i + h] * wi, ti = re[i + h] * wi + im[i + h] * wr;
            const double ur = re[i], ui = im[i];
            re[i] = ur + tr;
            im[i] = ui + ti;
            re[i + h] = ur - tr;
            im[i + h] = ui - ti;
        }
        for (size_t i = 0; i < n; i++) {
            a[i] = 1.0;
        }
    }
}
LOOP static void polynomial(size_t k)
{
    EACH (i) {
        const double v = a[i];
        double y = 1e-3;
        for (int j = 0; j < 12; j++) {
            y = y * v + 0.5;
        }
        c[i] = y;
    }
}
LOOP __attribute__((target("avx2"))) static void gather_avx2(size_t k)
{
    __m256d s = _mm256_setzero_pd(), t = s;
    for (size_t r = 0; r < k; r += n) {
        for (size_t i = 0; i + 8 <= n; i += 8) {
            s = _mm256_add_pd(s,
                              _mm256_i32gather_pd(a, _mm_loadu_si128((const __m128i *)(x + i)), 8));
            t = _mm256_add_pd(
                t, _mm256_i32gather_pd(a, _mm_loadu_si128((const __m128i *)(x + i + 4)), 8));
        }
    }
    sink = s[0] + t[0];
}

/* ---- matrices ---- */
static size_t side;
static void matrices(size_t bytes)
{
    three(bytes);
    side = 1;
    while (side * side * 24 * 4 <= bytes) {
        side *= 2;
    }
}
static void square(size_t bytes) /* two matrices */
{
    n = bytes / 16;
    a = get(n * 8);
    b = get(n * 8);
    side = 1;
    while (side * side * 16 < bytes) {
        side *= 2;
    }
    for (size_t i = 0; i < n; i++) {
        a[i] = b[i] = 1.0;
    }
}
LOOP static void matmul(size_t k)
{
    size_t done = 0;
    while (done < k) {
        for (size_t i = 0; i < side && done < k; i++) {
            for (size_t j = 0; j < side; j++) {
                double s = 0.0;
                for (size_t l = 0; l < side; l++) {
                    s += a[i * side + l] * b[l * side + j];
                }
                c[i * side + j] = s;
            }
            done += side * side;
        }
    }
}
LOOP static void matmul_x(size_t k)
{
    size_t done = 0;
    while (done < k) {
        for (size_t i = 0; i < side && done < k; i++) {
            for (size_t l = 0; l < side; l++) {
                const double t = a[i * side + l];
                for (size_t j = 0; j < side; j++) {
                    c[i * side + j] += t * b[l * side + j];
                }
            }
            done += side * side;
        }
    }
}
LOOP static void jacobi(size_t k) /* the inner loop goes down a column */
{
    for (size_t r = 0; r < k; r += side * side, keep_memory()) {
        for (size_t j = 1; j + 1 < side; j++) {
            for (size_t i = 1; i + 1 < side; i++) {
                b[i * side + j] = 0.25 * (a[(i - 1) * side + j] + a[(i + 1) * side + j] +
                                          a[i * side + j - 1] + a[i * side + j + 1]);
            }
        }
    }
}
LOOP static void jacobi_x(size_t k)
{
    for (size_t r = 0; r < k; r += side * side, keep_memory()) {
        for (size_t i = 1; i + 1 < side; i++) {
            for (size_t j = 1; j + 1 < side; j++) {
                b[i * side + j] = 0.25 * (a[(i - 1) * side + j] + a[(i + 1) * side + j] +
                                          a[i * side + j - 1] + a[i * side + j + 1]);
            }
        }
    }
}
LOOP static void transpose(size_t k)
{
    for (size_t r = 0; r < k; r += side * side, keep_memory()) {
        for (size_t i = 0; i < side; i++) {
            for (size_t j = 0; j < side; j++) {
                b[j * side + i] = a[i * side + j];
            }
        }
    }
}
LOOP static void transpose_x(size_t k)
{
    for (size_t r = 0; r < k; r += side * side, keep_memory()) {
        for (size_t ii = 0; ii < side; ii += 16) {
            for (size_t jj = 0; jj < side; jj += 16) {
                for (size_t i = ii; i < ii + 16; i++) {
                    for (size_t j = jj; j < jj + 16; j++) {
                        b[j * side + i] = a[i * side + j];
                    }
                }
            }
        }
    }
}

/* ---- memory ---- */
LOOP static void daxpy(size_t k)
{
    EACH (i) {
        b[i] += 1.5 * a[i];
    }
}
LOOP static void triad(size_t k)
{
    EACH (i) {
        c[i] = a[i] + 1.5 * b[i];
    }
}
LOOP static void set_memory(size_t k)
{
    for (size_t r = 0; r < k; r += n, keep_memory()) {
        memset(a, (int)r & 1, n * 8);
    }
}
LOOP static void copy_memory(size_t k)
{
    for (size_t r = 0; r < k; r += n, keep_memory()) {
        memcpy(b, a, n * 8);
    }
}
LOOP static void update_field(size_t k) /* one field of a structure of 64 bytes */
{
    struct particle {
        double x, y, z, u, v, w, m, q;
    } *p = (struct particle *)a;
    for (size_t r = 0; r < k; r += n / 8, keep_memory()) {
        for (size_t i = 0; i < n / 8; i++) {
            p[i].x += 0.5 * p[i].u;
        }
    }
}
LOOP static void update_field_x(size_t k) /* fields in arrays of their own */
{
    double *px = a, *pu = a + n / 8;
    for (size_t r = 0; r < k; r += n / 8, keep_memory()) {
        for (size_t i = 0; i < n / 8; i++) {
            px[i] += 0.5 * pu[i];
        }
    }
}
struct node {
    struct node *next;
    double value;
    char rest[48];
};
static struct node *head;
static void list(size_t bytes)
{
    const size_t m = bytes / sizeof(struct node);
    struct node *nodes = get(bytes);
    uint32_t *order = shuffled(m);
    for (size_t i = 0; i < m; i++) {
        nodes[order[i]].next = &nodes[order[(i + 1) % m]];
        nodes[order[i]].value = 1.0;
    }
    head = nodes;
    free(order);
}
LOOP static void list_sum(size_t k)
{
    double s = 0.0;
    const struct node *p = head;
    for (size_t i = 0; i < k; i++) {
        s += p->value;
        p = p->next;
    }
    sink = s;
}
static uint32_t *columns;
static void sparse(size_t bytes) /* eight elements a row, anywhere */
{
    n = bytes / 8;
    a = get(n * 8);
    c = get(n * 8);
    columns = get(n * 8 * 4);
    b = get(n * 8 * 8);
    for (size_t i = 0; i < n; i++) {
        a[i] = 1.0;
    }
    for (size_t i = 0; i < 8 * n; i++) {
        columns[i] = (uint32_t)(next_random() % n);
        b[i] = 0.5;
    }
}
LOOP static void spmv(size_t k)
{
    for (size_t r = 0; r < k; r += 8 * n) {
        for (size_t i = 0; i < n && r + 8 * i < k; i++) {
            double s = 0.0;
            for (size_t l = 8 * i; l < 8 * i + 8; l++) {
                s += b[l] * a[columns[l]];
            }
            c[i] = s;
        }
    }
}
static void pages(size_t bytes)
{
    n = bytes / 4096;
    bytes_ = get(bytes);
    madvise(bytes_, bytes, MADV_NOHUGEPAGE);
    memset(bytes_, 1, bytes);
}
LOOP static void page_walk(size_t k) /* a byte of each page, each page's line another */
{
    uint64_t s = 0;
    for (size_t i = 0; i < k; i++) {
        const size_t p = i * 167 % n;
        s += bytes_[p * 4096 + (p * 64 & 4095)];
    }
    isink = s;
}
LOOP static void histogram(size_t k) /* the bins are in L1 */
{
    uint32_t *h = (uint32_t *)c;
    EACH (i) {
        h[bytes_[i]]++;
    }
}
static void histogram_up(size_t bytes)
{
    text(bytes);
    c = get(4096);
}
LOOP static void random_update(size_t k)
{
    for (size_t i = 0; i < k; i++) {
        a[next_random() & (n - 1)] += 1.0;
    }
}

/* ---- branches ---- */
static uint32_t *keys;
static void sorted(size_t bytes)
{
    n = bytes / 4;
    keys = get(bytes);
    for (size_t i = 0; i < n; i++) {
        keys[i] = (uint32_t)(i * 7);
    }
}
LOOP static void search(size_t k)
{
    uint64_t s = 0;
    size_t steps = 0;
    while (steps < k) {
        const uint32_t key = (uint32_t)(next_random() % (7 * n));
        size_t low = 0, high = n;
        while (low < high) {
            const size_t middle = (low + high) / 2;
            steps++;
            if (keys[middle] < key) {
                low = middle + 1;
                __asm__ volatile("" : "+r"(low));
            } else {
                high = middle;
                __asm__ volatile("" : "+r"(high));
            }
        }
        s += low;
    }
    isink = s;
}
LOOP static void threshold(size_t k)
{
    uint64_t s = 0;
    EACH (i) {
        if (bytes_[i] >= 126) {
            s += bytes_[i];
            __asm__ volatile("" : "+r"(s));
        }
    }
    isink = s;
}
LOOP static void threshold_x(size_t k)
{
    uint64_t s = 0;
    EACH (i) {
        s += bytes_[i] & (uint8_t) - (bytes_[i] >= 126);
        __asm__ volatile("" : "+r"(s));
    }
    isink = s;
}
LOOP static uint64_t f0(uint64_t v)
{
    return v + 1;
}
LOOP static uint64_t f1(uint64_t v)
{
    return v ^ 5;
}
LOOP static uint64_t f2(uint64_t v)
{
    return v - 3;
}
LOOP static uint64_t f3(uint64_t v)
{
    return v << 1;
}
LOOP static void dispatch(size_t k)
{
    static uint64_t (*const table[])(uint64_t) = {f0, f1, f2, f3};
    uint64_t s = 1;
    EACH (i) {
        s = table[bytes_[i] & 3](s);
    }
    isink = s;
}

/* ---- the kernel, threads ---- */
LOOP static void temporaries(size_t k)
{
    for (size_t r = 0; r < k; r += 1 << 21) {
        double *t = mmap(NULL, 1 << 24, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(t, 1 << 24, MADV_NOHUGEPAGE);
        for (size_t i = 0; i < 1 << 21; i++) {
            t[i] = 1.5;
        }
        munmap(t, 1 << 24);
    }
}
LOOP static void temporaries_x(size_t k)
{
    double *t = mmap(NULL, 1 << 24, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t r = 0; r < k; r += 1 << 21, keep_memory()) {
        for (size_t i = 0; i < 1 << 21; i++) {
            t[i] = 1.5;
        }
    }
}
LOOP static void small_writes(size_t k)
{
    const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (size_t i = 0; i < k; i++) {
        if (write(fd, "x", 1) != 1) {
            abort();
        }
    }
    close(fd);
}
LOOP static void yields(size_t k)
{
    for (size_t i = 0; i < k; i++) {
        sched_yield();
    }
}
LOOP static void sleeps(size_t k)
{
    for (size_t i = 0; i < k; i += 4096) {
        usleep(1000);
    }
}

static size_t share;
static void in_two(void *(*f)(void *), size_t k)
{
    pthread_t t;
    share = k / 2;
    pthread_create(&t, NULL, f, (void *)1);
    f(NULL);
    pthread_join(t, NULL);
}
static struct {
    _Alignas(64) volatile uint64_t of[2];
    _Alignas(64) volatile uint64_t apart[2][8];
} hits;
LOOP static void *hit(void *arg)
{
    volatile uint64_t *p = &hits.of[arg != NULL];
    for (size_t i = 0; i < share; i++) {
        *p = *p + 1;
    }
    return NULL;
}
static void false_sharing(size_t k)
{
    in_two(hit, k);
}
LOOP static void *hit_apart(void *arg)
{
    volatile uint64_t *p = hits.apart[arg != NULL];
    for (size_t i = 0; i < share; i++) {
        *p = *p + 1;
    }
    return NULL;
}
static void false_sharing_x(size_t k)
{
    in_two(hit_apart, k);
}
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
LOOP static void *lock_loop(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < share; i++) {
        pthread_mutex_lock(&mutex);
        isink++;
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}
static void lock_contention(size_t k)
{
    in_two(lock_loop, k);
}
static volatile int turn;
LOOP static void *spin_work(void *arg) /* one works, the other waits for it */
{
    double s = 1.0;
    if (arg) {
        while (turn == 0) {
            _mm_pause();
        }
        return NULL;
    }
    for (size_t i = 0; i < share; i++) {
        s = s * 0.99 + 0.5;
    }
    sink = s;
    turn = 1;
    return NULL;
}
static void spin_wait(size_t k)
{
    turn = 0;
    in_two(spin_work, k);
}
LOOP static void *triad_part(void *arg)
{
    const size_t begin = arg ? n / 2 : 0, end = arg ? n : n / 2;
    for (size_t r = 0; r < share; r += n / 2, keep_memory()) {
        for (size_t i = begin; i < end; i++) {
            c[i] = a[i] + 1.5 * b[i];
        }
    }
    return NULL;
}
static void triad_two(size_t k)
{
    in_two(triad_part, k);
}
LOOP static void *sum_part(void *arg)
{
    const size_t begin = arg ? n / 2 : 0, end = arg ? n : n / 2;
    double s = 0.0;
    for (size_t r = 0; r < share; r += n / 2) {
        for (size_t i = begin; i < end; i++) {
            s += a[i];
        }
    }
    sink = s;
    return NULL;
}
static void sum_two(size_t k)
{
    in_two(sum_part, k);
}
#ifdef _OPENMP
#include <omp.h>
LOOP static void imbalance(size_t k)
{
    double t[2] = {0};
#pragma omp parallel num_threads(2)
    for (int r = 0; r < 10; r++) {
        const int me = omp_get_thread_num();
        double s = 1.0;
        for (size_t i = 0; i < (me ? k / 1000 : k / 10); i++) {
            s = s * 0.99 + 0.5;
        }
        t[me] = s;
#pragma omp barrier
    }
    sink = t[0] + t[1];
}
LOOP static void stencil_two(size_t k) /* seven points, three dimensions */
{
    const size_t m = 160;
    for (size_t r = 0; r < k; r += m * m * m) {
#pragma omp parallel for num_threads(2)
        for (size_t z = 1; z < m - 1; z++) {
            for (size_t y = 1; y < m - 1; y++) {
                const double *p = a + (z * m + y) * m;
                double *q = b + (z * m + y) * m;
                for (size_t i = 1; i < m - 1; i++) {
                    q[i] = 0.1 * (p[i] + p[i - 1] + p[i + 1] + p[i - m] + p[i + m] + p[i - m * m] +
                                  p[i + m * m]);
                }
            }
        }
    }
}
#else
#define imbalance   NULL
#define stencil_two NULL
#endif

static const struct loop loops[] = {
    {"nbody", bodies, nbody, 0},
    {"nbody_x", bodies, nbody_x, 0},
    {"normalise", three, normalise, 8 << 10},
    {"normalise_x", three, normalise_x, 8 << 10},
    {"gcd", NULL, gcd, 0},
    {"modulo", numbers, modulo, 16 << 10},
    {"modulo_x", numbers, modulo_x, 16 << 10},
    {"newton", NULL, newton, 0},
    {"sum_l1", one, sum, 16 << 10},
    {"sum_l1_x", one, sum_x, 16 << 10},
    {"sum_l2", one, sum, 512 << 10},
    {"sum_l2_x", one, sum_x, 512 << 10},
    {"prefix", three, prefix, 16 << 10},
    {"seidel", one, seidel, 32 << 20},
    {"mandelbrot", NULL, mandelbrot, 0},
    {"mandelbrot_x", NULL, mandelbrot_x, 0},
    {"fnv", text, fnv, 16 << 10},
    {"fnv_x", text, fnv_x, 16 << 10},
    {"crc", crc_up, crc, 16 << 10},
    {"crc_insn", text, crc_insn, 16 << 10},
    {"x87", NULL, x87, 0},
    {"bits", NULL, bits, 0},
    {"random_walk", NULL, random_walk, 0},
    {"counter", counter_up, counter, 8 << 10},
    {"dot_avx2", two, dot_avx2, 16 << 10},
    {"fma_chains", NULL, fma_chains, 0},
    {"copy_avx512_l2", two, copy_avx512, 384 << 10},
    {"copy_avx512_l3", two, copy_avx512, 6 << 20},
    {"split_lines", one, split_lines, 16 << 10},
    {"split_lines_x", one, split_lines_x, 16 << 10},
    {"shuffles", NULL, shuffles, 0},
    {"convert", three, convert, 12 << 10},
    {"popcounts", one, popcounts, 8 << 10},
    {"scan", text, scan, 16 << 10},
    {"butterfly", three, butterfly, 24 << 10},
    {"polynomial", three, polynomial, 12 << 10},
    {"gather_avx2", numbers, gather_avx2, 12 << 10},
    {"matmul_l1", matrices, matmul, 24 << 10},
    {"matmul_l1_x", matrices, matmul_x, 24 << 10},
    {"matmul_large", matrices, matmul, 96 << 20},
    {"matmul_large_x", matrices, matmul_x, 96 << 20},
    {"jacobi", square, jacobi, 64 << 20},
    {"jacobi_x", square, jacobi_x, 64 << 20},
    {"transpose", square, transpose, 64 << 20},
    {"transpose_x", square, transpose_x, 64 << 20},
    {"daxpy_l1", three, daxpy, 24 << 10},
    {"daxpy_l3", three, daxpy, 6 << 20},
    {"daxpy_dram", three, daxpy, 192 << 20},
    {"triad_dram", three, triad, 192 << 20},
    {"set_memory", one, set_memory, 128 << 20},
    {"copy_memory", two, copy_memory, 128 << 20},
    {"update_field", one, update_field, 128 << 20},
    {"update_field_x", one, update_field_x, 128 << 20},
    {"list_sum_l2", list, list_sum, 512 << 10},
    {"list_sum_dram", list, list_sum, 128 << 20},
    {"spmv_dram", sparse, spmv, 32 << 20},
    {"page_walk", pages, page_walk, 512 << 20},
    {"histogram", histogram_up, histogram, 64 << 10},
    {"random_update_dram", one, random_update, 128 << 20},
    {"search_l1", sorted, search, 16 << 10},
    {"search_dram", sorted, search, 128 << 20},
    {"threshold", text, threshold, 4 << 20},
    {"threshold_x", text, threshold_x, 4 << 20},
    {"dispatch", text, dispatch, 4 << 20},
    {"temporaries", NULL, temporaries, 0},
    {"temporaries_x", NULL, temporaries_x, 0},
    {"small_writes", NULL, small_writes, 0},
    {"yields", NULL, yields, 0},
    {"sleeps", NULL, sleeps, 0},
    {"false_sharing", NULL, false_sharing, 0},
    {"false_sharing_x", NULL, false_sharing_x, 0},
    {"lock_contention", NULL, lock_contention, 0},
    {"spin_wait", NULL, spin_wait, 0},
    {"triad_two", three, triad_two, 192 << 20},
    {"sum_two", one, sum_two, 16 << 10},
    {"imbalance", NULL, imbalance, 0},
    {"stencil_two", square, stencil_two, 64 << 20},
};

int main(int argc, char **argv)
{
    return run_loop(loops, sizeof loops / sizeof *loops, argc, argv);
}
