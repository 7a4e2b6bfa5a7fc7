/* SPDX-License-Identifier: GPL-3.0-or-later */
/* More loops with their twins, of other shapes: nests, structures, SSE code, single precision, integers, hashes.
 * Compile with -O2 -fno-math-errno -fno-tree-loop-distribute-patterns. */
#include "twin.h"

#include <emmintrin.h>

static float *u, *v;
static int64_t *w;
static int64_t rows, cols;

/* ---- nests over a matrix ---- */

static void open_grid(void)
{
    rows = l1 ? 20 : 2048;
    cols = l1 ? 32 : 2048;
    n = rows * cols;
    per = (double)(rows - 2) * (double)(cols - 2);
    a = get((size_t)n * 8);
    b = get((size_t)n * 8);
    for (int64_t i = 0; i < n; i++)
        a[i] = 1.0 + (double)(i % 7);
}
static inline double mean_around(int64_t i, int64_t j)
{
    return 0.25 * (a[(i - 1) * cols + j] + a[(i + 1) * cols + j] + a[i * cols + j - 1] +
                   a[i * cols + j + 1]);
}
/* the inner loop goes down the columns */
static NOINLINE void jacobi_down(void)
{
    for (int64_t j = 1; j < cols - 1; j++)
        for (int64_t i = 1; i < rows - 1; i++)
            b[i * cols + j] = mean_around(i, j);
}
static NOINLINE void jacobi_down_pf(void)
{
    for (int64_t j = 1; j < cols - 1; j++)
        for (int64_t i = 1; i < rows - 1; i++) {
            __builtin_prefetch(&a[(i + 1 + lines) * cols + j]);
            b[i * cols + j] = mean_around(i, j);
        }
}
static NOINLINE void jacobi_down_nostore(void)
{
    for (int64_t j = 1; j < cols - 1; j++)
        for (int64_t i = 1; i < rows - 1; i++) {
            double x = mean_around(i, j);
            HOLD(x);
        }
}
static NOINLINE void jacobi(void)
{
    for (int64_t i = 1; i < rows - 1; i++)
        for (int64_t j = 1; j < cols - 1; j++)
            b[i * cols + j] = mean_around(i, j);
}
static NOINLINE void jacobi_nostore(void)
{
    for (int64_t i = 1; i < rows - 1; i++)
        for (int64_t j = 1; j < cols - 1; j++) {
            double x = mean_around(i, j);
            HOLD(x);
        }
}
static NOINLINE void transpose(void)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            b[j * rows + i] = a[i * cols + j];
}
static NOINLINE void transpose_nostore(void)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            double x = a[i * cols + j];
            HOLD(x);
        }
}
static void open_square(void)
{
    rows = cols = l1 ? 24 : 320;
    n = rows * cols;
    per = (double)n * (double)rows;
    a = get((size_t)n * 8);
    b = get((size_t)n * 8);
    c = get((size_t)n * 8);
    for (int64_t i = 0; i < n; i++)
        a[i] = b[i] = 1.0 + (double)(i % 7);
}
static NOINLINE void matmul(void)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < rows; j++) {
            double s = 0;
            for (int64_t k = 0; k < rows; k++)
                s += a[i * rows + k] * b[k * rows + j];
            c[i * rows + j] = s;
        }
}
static NOINLINE void matmul4(void)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < rows; j++) {
            double s[4] = {0};
            for (int64_t k = 0; k + 3 < rows; k += 4) {
                SIDE_BY_SIDE (l, 4) {
                    s[l] += a[i * rows + k + l] * b[(k + l) * rows + j];
                    HOLD(s[l]);
                }
            }
            c[i * rows + j] = s[0] + s[1] + s[2] + s[3];
        }
}

/* ---- streams ---- */

static void open_singles(void)
{
    n = l1 ? 1536 : elements;
    u = get((size_t)n * 4 + 64);
    v = get((size_t)n * 4 + 64);
    for (int64_t i = 0; i < n; i++) {
        u[i] = 1.0f + 1e-3f * (float)(i % 100);
        v[i] = 2.0f;
    }
}
static NOINLINE void sum(void)
{
    float s = 0;
    for (int64_t i = 0; i < n; i++)
        s += u[i];
    sink = s;
}
static NOINLINE void sum4(void)
{
    float s[4] = {0};
    for (int64_t i = 0; i + 3 < n; i += 4) {
        SIDE_BY_SIDE (j, 4) {
            s[j] += u[i + j];
            HOLD(s[j]);
        }
    }
    sink = s[0] + s[1] + s[2] + s[3];
}
static NOINLINE void product(void)
{
    float s = 1;
    for (int64_t i = 0; i < n; i++)
        s = s * (0.5f * u[i]) + 1.0f;
    sink = s;
}
static NOINLINE void product4(void)
{
    float s[4] = {1, 1, 1, 1};
    for (int64_t i = 0; i + 3 < n; i += 4) {
        SIDE_BY_SIDE (j, 4) {
            s[j] = s[j] * (0.5f * u[i + j]) + 1.0f;
            HOLD(s[j]);
        }
    }
    sink = s[0] + s[1] + s[2] + s[3];
}
static NOINLINE void roots(void)
{
    for (int64_t i = 0; i < n; i += 4)
        _mm_store_ps(v + i, _mm_sqrt_ps(_mm_load_ps(u + i)));
}
static NOINLINE void roots_cheap(void)
{
    for (int64_t i = 0; i < n; i += 4)
        _mm_store_ps(v + i, _mm_mul_ps(_mm_load_ps(u + i), _mm_load_ps(u + i)));
}
static NOINLINE void axpy(void)
{
    for (int64_t i = 0; i < n; i += 4)
        _mm_store_ps(v + i, _mm_add_ps(_mm_load_ps(v + i),
                                       _mm_mul_ps(_mm_set1_ps(1e-9f), _mm_load_ps(u + i))));
}
static NOINLINE void axpy_nostore(void)
{
    for (int64_t i = 0; i < n; i += 4) {
        __m128 x =
            _mm_add_ps(_mm_load_ps(v + i), _mm_mul_ps(_mm_set1_ps(1e-9f), _mm_load_ps(u + i)));
        HOLD(x);
    }
}
static void open_longs(void)
{
    n = l1 ? 1024 : elements;
    a = get((size_t)n * 8 + 64);
    b = get((size_t)n * 8 + 64);
    for (int64_t i = 0; i < n; i++)
        a[i] = 1.0 + 1e-3 * (double)(i % 100);
}
static NOINLINE void copy8(void)
{
    for (int64_t i = 0; i < n; i++) {
        double x = a[i];
        HOLD(x);
        b[i] = x;
    }
}
static NOINLINE void copy8_nostore(void)
{
    for (int64_t i = 0; i < n; i++) {
        double x = a[i];
        HOLD(x);
    }
}
static NOINLINE void zero8(void)
{
    int64_t *p = (int64_t *)b;
    for (int64_t i = 0; i < n; i++) {
        p[i] = n;
        KEEP(p);
    }
}
static NOINLINE void zero8_nt(void)
{
    long long *p = (long long *)b;
    for (int64_t i = 0; i < n; i++) {
        _mm_stream_si64(p + i, n);
        KEEP(p);
    }
    _mm_sfence();
}
/* a number of each page */
static void open_pages(void)
{
    cols = l1 ? 8 : 520;
    n = l1 ? 512 : 64 << 10;
    a = get((size_t)(n * cols) * 8);
}
static NOINLINE void pages(void)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) {
        s += a[i * cols];
        HOLD(s);
    }
    sink = s;
}
static NOINLINE void scan(void)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++)
        b[i] = s += a[i];
}
static NOINLINE void scan_nostore(void)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) {
        s += a[i];
        HOLD(s);
    }
}

/* ---- divisions ---- */

static void open_points(void)
{
    n = 600;
    a = get((size_t)n * 8 * 4);
    b = get((size_t)n * 8);
    per = (double)n * 64;
    for (int64_t i = 0; i < n * 4; i++)
        a[i] = (double)(next_random() % 1000) * 1e-3;
}
/* forces of all points on some; structures of four numbers */
static NOINLINE void forces(void)
{
    for (int64_t i = 0; i < 64; i++) {
        double s = 0;
        for (int64_t k = 0; k < n; k++) {
            const double x = a[4 * k] - a[4 * i], y = a[4 * k + 1] - a[4 * i + 1],
                         z = a[4 * k + 2] - a[4 * i + 2], d = x * x + y * y + z * z + 1e-3;
            s += a[4 * k + 3] / (d * __builtin_sqrt(d));
        }
        b[i] = s;
    }
}
static NOINLINE void forces_cheap(void)
{
    for (int64_t i = 0; i < 64; i++) {
        double s = 0;
        for (int64_t k = 0; k < n; k++) {
            const double x = a[4 * k] - a[4 * i], y = a[4 * k + 1] - a[4 * i + 1],
                         z = a[4 * k + 2] - a[4 * i + 2], d = x * x + y * y + z * z + 1e-3;
            s += a[4 * k + 3] * (d * (d * d));
        }
        b[i] = s;
    }
}
static NOINLINE void ratio_l3(void)
{
    for (int64_t i = 0; i < n; i++)
        b[i] = a[i] / (a[i] + 1.5);
}
static NOINLINE void ratio_l3_cheap(void)
{
    for (int64_t i = 0; i < n; i++)
        b[i] = a[i] * (a[i] + 1.5);
}
/* each quotient is made of the one before: cheaper, and still a chain */
static NOINLINE void continued(void)
{
    double s = 1;
    for (int64_t i = 0; i < n; i++)
        s = a[i] / (s + 1.0);
    sink = s;
}
static NOINLINE void continued_cheap(void)
{
    double s = 1;
    for (int64_t i = 0; i < n; i++)
        s = a[i] * (s + 1.0); /* soon infinite, which costs nothing */
    sink = s;
}

/* ---- indices ---- */

enum { KEYS = 1 << 20 };

/* a table with a place for each hash: keys of eight bytes with a value */
static void open_hash(void)
{
    m = l1 ? 256 : 8 << 20; /* entries of 16 bytes */
    n = l1 ? 512 : KEYS;
    w = get((size_t)m * 16);
    a = get((size_t)(n + AHEAD) * 8);
    for (int64_t i = 0; i < m; i++)
        w[2 * i] = w[2 * i + 1] = i;
    for (int64_t i = 0; i < n + AHEAD; i++)
        ((uint64_t *)a)[i] = next_random();
}
static NOINLINE void hash(void)
{
    const uint64_t *k = (const uint64_t *)a;
    const int shift = 64 - __builtin_ctzll((uint64_t)m);
    int64_t s = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t at = (k[i] * 0x9e3779b97f4a7c15u) >> shift;
        s += w[2 * at + 1];
    }
    sink = (double)s;
}
static NOINLINE void hash_pf(void)
{
    const uint64_t *k = (const uint64_t *)a;
    const int shift = 64 - __builtin_ctzll((uint64_t)m);
    int64_t s = 0;
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(&w[2 * ((k[i + AHEAD] * 0x9e3779b97f4a7c15u) >> shift)]);
        const uint64_t at = (k[i] * 0x9e3779b97f4a7c15u) >> shift;
        s += w[2 * at + 1];
    }
    sink = (double)s;
}
/* the same, where a key may be another one: the result decides a branch */
static NOINLINE void lookup(void)
{
    const uint64_t *k = (const uint64_t *)a;
    const int shift = 64 - __builtin_ctzll((uint64_t)m);
    int64_t s = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t at = (k[i] * 0x9e3779b97f4a7c15u) >> shift;
        if (w[2 * at] & 1) {
            s += w[2 * at + 1];
            KEEP(0);
        }
    }
    sink = (double)s;
}
static NOINLINE void lookup_known(void)
{
    const uint64_t *k = (const uint64_t *)a;
    const int shift = 64 - __builtin_ctzll((uint64_t)m);
    int64_t s = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t at = (k[i] * 0x9e3779b97f4a7c15u) >> shift;
        s += w[2 * at + 1] & -(w[2 * at] & 1);
    }
    sink = (double)s;
}
static void open_csr(void)
{
    rows = l1 ? 16 : 256 << 10;
    cols = l1 ? 512 : 2 << 20;
    n = rows * 24;
    ix = get((size_t)(n + AHEAD) * 4);
    w = get((size_t)(rows + 1) * 8);
    a = get((size_t)n * 8);
    b = get((size_t)cols * 8);
    c = get((size_t)rows * 8);
    for (int64_t r = 0, k = 0; r <= rows; r++) {
        w[r] = k;
        k += r % 2 ? 16 : 32;
    }
    for (int64_t i = 0; i < n; i++)
        ix[i] = (uint32_t)(next_random() % (uint64_t)cols);
}
static NOINLINE void csr(void)
{
    for (int64_t r = 0; r < rows; r++) {
        double s = 0;
        for (int64_t k = w[r]; k < w[r + 1]; k++)
            s += a[k] * b[ix[k]];
        c[r] = s;
    }
}
static NOINLINE void csr_pf(void)
{
    for (int64_t r = 0; r < rows; r++) {
        double s = 0;
        for (int64_t k = w[r]; k < w[r + 1]; k++) {
            __builtin_prefetch(&b[ix[k + AHEAD]]);
            s += a[k] * b[ix[k]];
        }
        c[r] = s;
    }
}
/* random updates: the index is made in a register */
static void open_updates(void)
{
    m = l1 ? 1024 : 16 << 20;
    n = 1 << 18;
    w = get((size_t)m * 8);
}
static NOINLINE void updates(void)
{
    uint64_t x = rng;
    for (int64_t i = 0; i < n; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        w[(x >> 33) & (uint64_t)(m - 1)] ^= (int64_t)x;
    }
    rng = x;
}
/* a list with a number in each element */
static void open_list(void)
{
    m = 2 << 20; /* lines */
    n = 1 << 19;
    w = get((size_t)m * 64);
    uint32_t *order = shuffled((size_t)m);
    for (int64_t i = 0; i < m; i++)
        w[8 * order[i]] = (int64_t)(w + 8 * (int64_t)order[(i + 1) % m]);
    free(order);
}
static int64_t *here;
static NOINLINE void list(void)
{
    int64_t *p = here ? here : w;
    int64_t s = 0;
    for (int64_t i = 0; i < n; i++) {
        s += p[1];
        p = (int64_t *)*p;
    }
    here = p;
    sink = (double)s;
}
static void open_bytes(void)
{
    n = 1 << 16;
    ix = get(1024);
    a = get((size_t)n);
    for (int64_t i = 0; i < n; i++)
        ((uint8_t *)a)[i] = (uint8_t)next_random();
}
static NOINLINE void bytes(void)
{
    const uint8_t *p = (const uint8_t *)a;
    for (int64_t i = 0; i < n; i++)
        ix[p[i]]++;
}
/* a checksum by a table: each load waits for the one before */
static NOINLINE void checksum(void)
{
    const uint8_t *p = (const uint8_t *)a;
    uint32_t s = 1;
    for (int64_t i = 0; i < n; i++)
        s = ix[(s ^ p[i]) & 255] ^ (s >> 8);
    sink = s;
}

/* ---- decided by data ---- */

static void open_numbers(void)
{
    n = 1 << 20;
    ix = get((size_t)n * 4);
    w = get((size_t)n * 8);
    a = get((size_t)n * 8);
    for (int64_t i = 0; i < n; i++)
        ix[i] = (uint32_t)(next_random() & 0xffff);
    if (sorted)
        sort_indices();
    for (int64_t i = 0; i < n; i++)
        a[i] = ix[i];
}
/* takes some out: one in four */
static NOINLINE void filter(void)
{
    int64_t k = 0;
    for (int64_t i = 0; i < n; i++)
        if (ix[i] < 0x4000) {
            w[k] = i;
            k++;
            KEEP(0);
        }
    sink = (double)k;
}
static NOINLINE void three_ways(void)
{
    double s = 0, t = 1;
    for (int64_t i = 0; i < n; i++) {
        if (a[i] < 0x5555) {
            s += a[i];
            HOLD(s);
        } else if (a[i] < 0xaaaa) {
            t += 0.5 * a[i];
            HOLD(t);
        } else {
            w[i] = i;
        }
    }
    sink = s + t;
}
static NOINLINE void search(void)
{
    int64_t s = 0;
    for (int64_t i = 0; i < n; i++) {
        const double x = (double)(((uint64_t)i * 40503u) & 0xffff);
        int64_t lo = 0, hi = n;
        while (lo < hi) {
            const int64_t mid = (lo + hi) / 2;
            if (a[mid] < x) {
                lo = mid + 1;
                KEEP(0);
            } else {
                hi = mid;
                KEEP(0);
            }
        }
        s += lo;
    }
    sink = (double)s;
}
static NOINLINE void insertion(void)
{
    static double copy[512];
    memcpy(copy, a, sizeof copy);
    for (int64_t i = 1; i < 512; i++) {
        const double x = copy[i];
        int64_t k = i;
        for (; k > 0 && copy[k - 1] > x; k--)
            copy[k] = copy[k - 1];
        copy[k] = x;
    }
    sink = copy[0];
}
static NOINLINE void mandelbrot(void)
{
    int64_t s = 0;
    for (int64_t i = 0; i < 4096; i++) {
        const double p = -2.0 + 0.04 * (double)(i % 64), q = -1.2 + 0.04 * (double)(i / 64);
        double x = 0, y = 0;
        int k = 0;
        while (x * x + y * y < 4.0 && k < 60) {
            const double t = x * x - y * y + p;
            y = 2.0 * x * y + q;
            x = t;
            k++;
        }
        s += k;
    }
    sink = (double)s;
}

static const struct twin twins[] = {
    {"jacobi_down",
     0,
     open_grid,
     jacobi_down,
     {{"huge_pages"},
      {"prefetch", jacobi_down_pf},
      {"without_stores", jacobi_down_nostore},
      {"data_in_l1"},
      {"all_cores"}}},
    {"jacobi",
     0,
     open_grid,
     jacobi,
     {{"huge_pages"}, {"without_stores", jacobi_nostore}, {"data_in_l1"}, {"all_cores"}}},
    {"transpose",
     0,
     open_grid,
     transpose,
     {{"huge_pages"}, {"without_stores", transpose_nostore}, {"data_in_l1"}, {"all_cores"}}},
    {"matmul", 0, open_square, matmul, {{"chains_broken", matmul4}}},
    {"sum_l1", 2000, open_singles, sum, {{"chains_broken", sum4}, {"all_cores"}}},
    {"sum_dram",
     16 << 20,
     open_singles,
     sum,
     {{"chains_broken", sum4}, {"huge_pages"}, {"data_in_l1"}}},
    {"product_l1", 2000, open_singles, product, {{"chains_broken", product4}}},
    {"roots_l1", 2000, open_singles, roots, {{"divisions_cheap", roots_cheap}}},
    {"axpy_dram",
     16 << 20,
     open_singles,
     axpy,
     {{"huge_pages"}, {"without_stores", axpy_nostore}, {"data_in_l1"}, {"all_cores"}}},
    {"copy8_l3",
     512 << 10,
     open_longs,
     copy8,
     {{"huge_pages"}, {"without_stores", copy8_nostore}, {"data_in_l1"}}},
    {"copy8_dram",
     16 << 20,
     open_longs,
     copy8,
     {{"huge_pages"}, {"without_stores", copy8_nostore}, {"data_in_l1"}}},
    {"zero8_dram", 16 << 20, open_longs, zero8, {{"huge_pages"}, {"streaming_stores", zero8_nt}}},
    {"pages", 0, open_pages, pages, {{"huge_pages"}, {"data_in_l1"}}},
    {"scan_l3", 512 << 10, open_longs, scan, {{"without_stores", scan_nostore}, {"huge_pages"}}},
    {"forces_l1", 0, open_points, forces, {{"divisions_cheap", forces_cheap}}},
    {"ratio_l3",
     512 << 10,
     open_longs,
     ratio_l3,
     {{"divisions_cheap", ratio_l3_cheap}, {"data_in_l1"}}},
    {"continued_l1", 1000, open_longs, continued, {{"divisions_cheap", continued_cheap}}},
    {"hash",
     0,
     open_hash,
     hash,
     {{"huge_pages"}, {"prefetch_indirect", hash_pf}, {"data_in_l1"}, {"all_cores"}}},
    {"lookup", 0, open_hash, lookup, {{"huge_pages"}, {"branches_known", lookup_known}}},
    {"csr", 0, open_csr, csr, {{"huge_pages"}, {"prefetch_indirect", csr_pf}, {"data_in_l1"}}},
    {"updates", 0, open_updates, updates, {{"huge_pages"}, {"data_in_l1"}, {"all_cores"}}},
    {"list", 0, open_list, list, {{"huge_pages"}, {"all_cores"}}},
    {"bytes_l1", 0, open_bytes, bytes, {{"all_cores"}}},
    {"checksum_l1", 0, open_bytes, checksum, {{"all_cores"}}},
    {"filter", 0, open_numbers, filter, {{"branches_known"}}},
    {"three_ways", 0, open_numbers, three_ways, {{"branches_known"}}},
    {"search", 0, open_numbers, search},
    {"insertion", 0, open_numbers, insertion},
    {"mandelbrot", 1000, open_longs, mandelbrot},
};

int main(int argc, char **argv)
{
    return run_twins(argc, argv, twins, sizeof twins / sizeof *twins);
}
