/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/gemm/blas.h"

#include <assert.h>
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct kind {
    const char *name;
    const char *package;    /* Debian's name */
    const char *files[4];   /* newest first */
    const char *threads[2]; /* calls that set the number of threads */
    const char *detail;     /* a call that returns a text, or NULL */
} kinds[CARM_BLAS_KINDS] = {
    {"OpenBLAS",
     "libopenblas0",
     {"libopenblas.so.0", "libopenblas.so", NULL},
     {"openblas_set_num_threads", NULL},
     "openblas_get_config"},
    {"BLIS",
     "libblis4-pthread",
     {"libblis.so.4", "libblis.so.3", "libblis.so", NULL},
     {"bli_thread_set_num_threads", NULL},
     "bli_info_get_version_str"},
    {"MKL",
     "intel-mkl",
     {"libmkl_rt.so.2", "libmkl_rt.so.1", "libmkl_rt.so", NULL},
     {"MKL_Set_Num_Threads", NULL},
     NULL},
};

/* Copies a function's address from dlsym's data pointer: POSIX lets them have one representation, ISO C does not. */
static void copy_function(void *function, void *address)
{
    memcpy(function, &address, sizeof address);
}

const char *carm_blas_kind(int i)
{
    return kinds[i].name;
}

static void describe(struct carm_blas *blas, const struct kind *kind)
{
    const char *(*text)(void) = NULL;
    if (kind->detail) {
        copy_function(&text, dlsym(blas->handle, kind->detail));
    }
    const char *s = text ? text() : NULL;
    snprintf(blas->detail, sizeof blas->detail, "%s", s ? s : "");
}

int carm_blas_open(struct carm_blas *blas, int i, struct carm_err *err)
{
    const struct kind *kind = &kinds[i];
    memset(blas, 0, sizeof *blas);
    for (int f = 0; kind->files[f] && !blas->handle; f++) {
        blas->handle = dlopen(kind->files[f], RTLD_NOW | RTLD_LOCAL);
    }
    blas->dgemm = blas->handle ? dlsym(blas->handle, "dgemm_") : NULL;
    if (!blas->dgemm) {
        carm_blas_close(blas);
        return carm_fail(err, CARM_ENOTSUP,
                         "%s is not installed (Debian and Ubuntu: apt-get install %s)", kind->name,
                         kind->package);
    }
    snprintf(blas->name, sizeof blas->name, "%s", kind->name);
    copy_function(&blas->set_threads, dlsym(blas->handle, kind->threads[0]));
    describe(blas, kind);
    return 0;
}

void carm_blas_close(struct carm_blas *blas)
{
    /* The library is never unloaded: its threads may still run its code. */
    memset(blas, 0, sizeof *blas);
}

void carm_blas_dgemm(const struct carm_blas *blas, size_t m, size_t n, size_t k, const double *a,
                     size_t a_stride, const double *b, size_t b_stride, double *c, size_t c_stride)
{
    /* Fortran is column-major: it sees the transposes of our matrices, and C^T = B^T x A^T. The
     * hidden lengths of the two characters come last. */
    void (*dgemm)(const char *, const char *, const int *, const int *, const int *, const double *,
                  const double *, const int *, const double *, const int *, const double *,
                  double *, const int *, size_t, size_t) = NULL;
    assert(m <= INT_MAX && n <= INT_MAX && k <= INT_MAX && a_stride <= INT_MAX);
    const int fm = (int)n;
    const int fn = (int)m;
    const int fk = (int)k;
    const int lda = (int)b_stride;
    const int ldb = (int)a_stride;
    const int ldc = (int)c_stride;
    const double one = 1.0;
    const double zero = 0.0;
    copy_function(&dgemm, blas->dgemm);
    dgemm("N", "N", &fm, &fn, &fk, &one, b, &lda, a, &ldb, &zero, c, &ldc, 1, 1);
}

static const uint64_t budget = 100000000; /* instructions: far above the number for such a
                                           * product */

const size_t carm_blas_parts[CARM_BLAS_PARTS] = {32, 48};

double carm_blas_scale(const size_t *rows, const double *bytes, size_t n)
{
    const double m0 = (double)rows[0];
    const double m1 = (double)rows[1];
    /* bytes for each row and step of depth: kernel x m + packing */
    const double y0 = bytes[0] / (CARM_BLAS_PART_DEPTH * m0);
    const double y1 = bytes[1] / (CARM_BLAS_PART_DEPTH * m1);
    const double kernel = (y1 - y0) / (m1 - m0);
    const double packing = y0 - kernel * m0;
    const double size = (double)n;
    return kernel > 0.0 ? fmax(size * size * (kernel * size + packing), 0.0) : 0.0;
}

int carm_blas_step(const char *name, void (*multiply)(void *product), void *product,
                   struct carm_step_counts *counts, struct carm_err *err)
{
    bool complete = false;
    memset(counts, 0, sizeof *counts);
    int rc = carm_step_check(err);
    if (rc) {
        return rc;
    }
    multiply(product); /* the first call initialises the library */
    rc = carm_step_begin(budget, err);
    if (!rc) {
        multiply(product);
        rc = carm_step_end(counts, &complete, err);
    }
    if (!rc && !complete) {
        rc = carm_fail(err, CARM_ENOTSUP, "%s runs longer than a small product should", name);
    }
    return rc;
}

struct square {
    const struct carm_blas *blas;
    size_t m, depth;
    double *a, *b, *c;
};

static void multiply_square(void *product)
{
    const struct square *s = product;
    carm_blas_dgemm(s->blas, s->m, s->m, s->depth, s->a, s->depth, s->b, s->m, s->c, s->m);
}

int carm_blas_count(const struct carm_blas *blas, size_t m, size_t depth,
                    struct carm_step_counts *counts, struct carm_err *err)
{
    const size_t area = m * depth;
    double *x = calloc(2 * area + m * m, sizeof *x);
    if (!x) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to count a library's product");
    }
    struct square product = {blas, m, depth, x, x + area, x + 2 * area};
    for (size_t i = 0; i < 2 * area; i++) {
        x[i] = 1.0;
    }
    if (blas->set_threads) {
        blas->set_threads(1);
    }
    const int rc = carm_blas_step(blas->name, multiply_square, &product, counts, err);
    free(x);
    return rc;
}
