/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/gemm/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Share of a cache for the blocks: the rest is for C, the stack and data that pass through. Chosen by hand. */
static const double fill = 0.75;

enum { L1_COLUMNS = 2 * CARM_GEMM_COLUMNS }; /* columns of a block for L1 */

/* Number of rows of k elements that fit into a share of a cache. */
static double rows_in(double bytes, double share, size_t k)
{
    return floor(share * bytes / ((double)k * sizeof(double)));
}

/* Size of even pieces of at most x; all of n if it fits. */
static size_t cut(size_t n, double x, size_t unit)
{
    return x >= (double)n ? CARM_GEMM_ALL : carm_gemm_even(n, x > 0.0 ? (size_t)x : 0, unit);
}

/* A block for L3: as many rows of A as of B's transpose, of full depth. */
static void block_l3(struct carm_gemm_level *l, double bytes, size_t n, double share)
{
    const double rows = rows_in(bytes, share, n) / 2.0;
    *l = (struct carm_gemm_level){.name = "L3", .k = CARM_GEMM_ALL, .order = "ijk"};
    l->m = cut(n, rows, CARM_GEMM_ROWS);
    l->n = cut(n, rows, CARM_GEMM_COLUMNS);
}

/* A block for L2: rows of B's transpose beside three rows of A, of full depth. */
static void block_l2(struct carm_gemm_level *l, double bytes, size_t n, double share)
{
    const double rows = rows_in(bytes, share, n) - CARM_GEMM_ROWS;
    *l = (struct carm_gemm_level){
        .name = "L2", .m = CARM_GEMM_ALL, .k = CARM_GEMM_ALL, .order = "jik"};
    l->n = cut(n, rows, CARM_GEMM_COLUMNS);
}

/* A block for L1: two tiles' columns beside three rows of A, with the largest depth that fits. */
static void block_l1(struct carm_gemm_level *l, double bytes, size_t n, double share)
{
    const double most = share * bytes / sizeof(double) / (L1_COLUMNS + CARM_GEMM_ROWS);
    *l =
        (struct carm_gemm_level){.name = "L1", .m = CARM_GEMM_ALL, .n = L1_COLUMNS, .order = "kji"};
    l->k = cut(n, most, CARM_GEMM_STEP);
}

static int lacks(const char *level, struct carm_err *err)
{
    return carm_fail(err, CARM_ENOTSUP,
                     "the model knows no %s: carm build measures the levels of this machine",
                     level);
}

int carm_gemm_version(struct carm_gemm_plan *plan, int version, size_t n,
                      const struct carm_gemm_kernels *kernels,
                      const struct carm_gemm_caches *caches, struct carm_err *err)
{
    static const char *const names[] = {"1-basic", "2-transposed", "3-L3", "4-L2", "5-L1"};
    static const char *const whats[] = {"basic", "B transposed", "blocked for L3", "and for L2",
                                        "and for L1, packed"};
    memset(plan, 0, sizeof *plan);
    snprintf(plan->name, sizeof plan->name, "%s", names[version - 1]);
    snprintf(plan->what, sizeof plan->what, "%s", whats[version - 1]);
    plan->access = version == 1   ? CARM_GEMM_STRIDED
                   : version == 5 ? CARM_GEMM_PACKED
                                  : CARM_GEMM_TRANSPOSED;
    plan->kernel = version == 1 ? kernels->strided : kernels->vector;
    if (version >= 3) {
        if (!(caches->l3 > 0.0)) {
            return lacks("L3", err);
        }
        block_l3(&plan->levels[plan->nlevels++], caches->l3, n, fill);
    }
    if (version >= 4) {
        if (!(caches->l2 > 0.0)) {
            return lacks("L2", err);
        }
        block_l2(&plan->levels[plan->nlevels++], caches->l2, n, fill);
    }
    if (version >= 5) {
        if (!(caches->l1 > 0.0)) {
            return lacks("L1", err);
        }
        block_l1(&plan->levels[plan->nlevels++], caches->l1, n, fill);
    }
    return 0;
}

/* Every combination has a number; its digits, least significant first, are the choices below. */
struct choices {
    int columns_outer; /* order of tiles */
    int order_l1, order_l2, order_l3;
    int share;  /* of the caches that blocks fill */
    int levels; /* bit 0: L1, 1: L2, 2: L3 */
    int access; /* enum carm_gemm_access, from the fastest */
};

/* Shares of a cache that blocks fill; twice the cache shows the cost of blocks that do not fit. */
static const double shares[] = {0.5, 1.0, 0.25, 2.0};

enum { SHARES = sizeof shares / sizeof *shares, COMBINATIONS = 2 * 2 * 2 * 2 * SHARES * 8 * 3 };

static int digit(int *number, int base)
{
    const int d = *number % base;
    *number /= base;
    return d;
}

static struct choices choose(int number)
{
    struct choices c;
    c.columns_outer = digit(&number, 2);
    c.order_l1 = digit(&number, 2);
    c.order_l2 = digit(&number, 2);
    c.order_l3 = digit(&number, 2);
    c.share = digit(&number, SHARES);
    c.levels = digit(&number, 8);
    c.access = CARM_GEMM_PACKED - digit(&number, 3);
    return c;
}

/* Whether a combination differs in effect from all others. Choices without an effect stay 0.
 * With B in its original layout, which is slow, only the orders are tried. */
static bool is_new(const struct choices *c, const struct carm_gemm_caches *caches)
{
    const bool l1 = c->levels & 1;
    const bool l2 = c->levels & 2;
    const bool l3 = c->levels & 4;
    return !(l1 && !(caches->l1 > 0.0)) && !(l2 && !(caches->l2 > 0.0)) &&
           !(l3 && !(caches->l3 > 0.0)) && (l1 || c->order_l1 == 0) && (l2 || c->order_l2 == 0) &&
           (l3 || c->order_l3 == 0) && (c->levels || c->share == 0) &&
           (c->access != CARM_GEMM_PACKED || l1) &&
           (c->access != CARM_GEMM_STRIDED || (c->share == 0 && c->order_l2 == 0 && !l3));
}

static void build(struct carm_gemm_plan *plan, const struct choices *c, size_t n,
                  const struct carm_gemm_kernels *kernels, const struct carm_gemm_caches *caches)
{
    static const char *const accesses[] = {"B as it is", "B transposed", "both packed"};
    static const char *const short_accesses[] = {"s", "t", "p"};
    const double share = shares[c->share];
    memset(plan, 0, sizeof *plan);
    plan->access = (enum carm_gemm_access)c->access;
    plan->kernel = plan->access == CARM_GEMM_STRIDED ? kernels->strided : kernels->vector;
    plan->columns_outer = c->columns_outer;
    if (c->levels & 4) {
        struct carm_gemm_level *l = &plan->levels[plan->nlevels++];
        block_l3(l, caches->l3, n, share);
        snprintf(l->order, sizeof l->order, "%s", c->order_l3 ? "jik" : "ijk");
    }
    if (c->levels & 2) {
        struct carm_gemm_level *l = &plan->levels[plan->nlevels++];
        block_l2(l, caches->l2, n, share);
        if (c->order_l2) { /* cuts rows of A instead of columns of B */
            l->m = cut(n, (double)l->n, CARM_GEMM_ROWS);
            l->n = CARM_GEMM_ALL;
            snprintf(l->order, sizeof l->order, "ijk");
        }
    }
    if (c->levels & 1) {
        struct carm_gemm_level *l = &plan->levels[plan->nlevels++];
        block_l1(l, caches->l1, n, share);
        snprintf(l->order, sizeof l->order, "%s", c->order_l1 ? "jki" : "kji");
    }
    snprintf(plan->name, sizeof plan->name, "v-%s%d%d%d%d%d%d", short_accesses[c->access],
             c->levels, c->share, c->order_l3, c->order_l2, c->order_l1, c->columns_outer);
    snprintf(plan->what, sizeof plan->what, "%s, tiles %s", accesses[c->access],
             c->columns_outer ? "down columns" : "along rows");
}

size_t carm_gemm_variants(struct carm_gemm_plan *plans, size_t count, size_t n,
                          const struct carm_gemm_kernels *kernels,
                          const struct carm_gemm_caches *caches)
{
    size_t all = 0;
    size_t taken = 0;
    for (int i = 0; i < COMBINATIONS; i++) {
        const struct choices c = choose(i);
        all += is_new(&c, caches) ? 1 : 0;
    }
    count = count < all ? count : all;
    size_t seen = 0;
    for (int i = 0; i < COMBINATIONS && taken < count; i++) {
        const struct choices c = choose(i);
        if (!is_new(&c, caches)) {
            continue;
        }
        /* takes `count` variants, evenly spread over all */
        if (seen * count / all == taken) {
            build(&plans[taken++], &c, n, kernels, caches);
        }
        seen++;
    }
    return taken;
}

static void put_size(char *dst, size_t size, size_t block, size_t n)
{
    if (block >= n) {
        snprintf(dst, size, "-");
    } else {
        snprintf(dst, size, "%zu", block);
    }
}

char *carm_gemm_blocks_text(char *dst, size_t size, const struct carm_gemm_plan *plan, size_t n)
{
    snprintf(dst, size, "%s", plan->nlevels > 0 ? "" : "-");
    for (int i = 0; i < plan->nlevels; i++) {
        const struct carm_gemm_level *l = &plan->levels[i];
        char m[24];
        char c[24];
        char k[24];
        put_size(m, sizeof m, l->m, n);
        put_size(c, sizeof c, l->n, n);
        put_size(k, sizeof k, l->k, n);
        carm_text_list(dst, size, " ", "%s %sx%sx%s", l->name, m, c, k);
    }
    return dst;
}
