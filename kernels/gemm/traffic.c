/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "kernels/gemm/plan.h"

static const double line_bytes = 64.0;

/* Bytes of A, of B or its transpose, and of C: once for each element. */
struct bytes {
    double a, b, c;
};

struct nest {
    const struct carm_gemm_plan *plan;
    double capacity;
};

/* Rows, columns and depth of a part, as far as the loops have cut it. */
struct part {
    double i, j, k;
};

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static struct bytes footprint(const struct nest *n, struct part p)
{
    struct bytes f = {p.i * p.k, p.j * p.k, p.i * p.j};
    /* rows of B that are shorter than a line bring the whole line ... */
    const double line = line_bytes / sizeof(double);
    if (n->plan->access == CARM_GEMM_STRIDED && p.j < line) {
        /* ... the rest of which is there for the next tile where the column of lines fits */
        f.b = p.k * line_bytes > n->capacity ? p.k * line : f.b;
    }
    return (struct bytes){f.a * sizeof(double), f.b * sizeof(double), f.c * sizeof(double)};
}

static double total(struct bytes b)
{
    return b.a + b.b + b.c;
}

/* The dimension of a loop and how much of it an iteration takes. The loops over tiles come last:
 * whole rows of tiles, then tiles. */
static char loop_at(const struct carm_gemm_plan *plan, int loop, struct part p, double *size)
{
    if (loop >= 3 * plan->nlevels) {
        const bool columns = (loop == 3 * plan->nlevels) == plan->columns_outer;
        *size = columns ? CARM_GEMM_COLUMNS : CARM_GEMM_ROWS;
        return columns ? 'j' : 'i';
    }
    const struct carm_gemm_level *l = &plan->levels[loop / 3];
    const char dimension = l->order[loop % 3];
    *size = dimension == 'i'   ? smaller((double)l->m, p.i)
            : dimension == 'j' ? smaller((double)l->n, p.j)
                               : smaller((double)l->k, p.k);
    return dimension;
}

/* The rule of kernels/gemm/plan.h. */
static struct bytes traffic(const struct nest *n, int loop, struct part p)
{
    const struct bytes all = footprint(n, p);
    if (total(all) <= n->capacity || loop == 3 * n->plan->nlevels + 2) {
        return all;
    }
    double size = 0.0;
    const char dimension = loop_at(n->plan, loop, p, &size);
    struct part inner = p;
    double *len = dimension == 'i' ? &inner.i : dimension == 'j' ? &inner.j : &inner.k;
    const double iterations = fmax(1.0, *len / size);
    *len = smaller(size, *len);
    const double kept = total(footprint(n, inner)) <= n->capacity ? 1.0 : iterations;
    struct bytes t = traffic(n, loop + 1, inner);
    t.a *= dimension == 'j' ? kept : iterations;
    t.b *= dimension == 'i' ? kept : iterations;
    t.c *= dimension == 'k' ? kept : iterations;
    return t;
}

double carm_gemm_dram_bytes(const struct carm_gemm_plan *plan, const struct carm_gemm *g,
                            double llc_bytes, int threads, size_t rows)
{
    const struct nest n = {plan, llc_bytes};
    const struct part whole = {(double)g->m / threads, (double)g->columns, (double)g->k};
    const struct bytes t = traffic(&n, 0, whole);
    const double arranged = plan->access == CARM_GEMM_STRIDED ? 0.0
                            : plan->access == CARM_GEMM_PACKED
                                ? (double)g->k * (double)(g->columns + g->m)
                                : (double)g->k * (double)g->columns;
    const double bytes = (t.a + t.b + 2.0 * t.c) * threads + 3.0 * sizeof(double) * arranged;
    return bytes * (double)rows / (double)g->m;
}

double carm_gemm_compulsory_bytes(size_t n)
{
    return 4.0 * sizeof(double) * (double)n * (double)n;
}
