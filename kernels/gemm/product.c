/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/gemm/product.h"

#include <string.h>

static size_t round_up(size_t x, size_t unit)
{
    return (x + unit - 1) / unit * unit;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t carm_gemm_even(size_t len, size_t most, size_t unit)
{
    if (most >= len) {
        return len;
    }
    most = most < unit ? unit : most / unit * unit;
    const size_t pieces = (len + most - 1) / most;
    return round_up((len + pieces - 1) / pieces, unit);
}

static void pad(struct carm_gemm *g, size_t n)
{
    g->n = n;
    g->m = round_up(n, CARM_GEMM_ROWS);
    g->columns = round_up(n, CARM_GEMM_COLUMNS);
    g->k = round_up(n, CARM_GEMM_STEP);
    g->c_stride = g->columns * sizeof(double);
}

/* Bytes of the five matrices of a size. */
static double matrices_bytes(size_t n)
{
    struct carm_gemm g;
    pad(&g, n);
    const double m = (double)g.m;
    const double columns = (double)g.columns;
    const double k = (double)g.k;
    return sizeof(double) * (2.0 * m * k + 2.0 * k * columns + m * columns);
}

/* Values in [-1, 1), the same for every run: a linear congruential generator's upper bits.
 * source of the constants: Knuth, The Art of Computer Programming 2, section 3.3.4 (MMIX) */
static double value(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-52 - 1.0;
}

static void fill_rows(double *x, size_t stride, size_t first, size_t last, size_t rows,
                      size_t columns, size_t padded, uint64_t seed)
{
    for (size_t i = first; i < last; i++) {
        uint64_t state = seed + i;
        double *row = x + i * stride;
        for (size_t j = 0; j < padded; j++) {
            row[j] = i < rows && j < columns ? value(&state) : 0.0;
        }
    }
}

struct share {
    size_t first, last;
};

static struct share share_of(size_t len, size_t unit, int i, int n)
{
    const size_t pieces = len / unit;
    const size_t a = pieces * (size_t)i / (size_t)n;
    const size_t b = pieces * (size_t)(i + 1) / (size_t)n;
    return (struct share){a * unit, b * unit};
}

static void fill_job(struct carm_worker *w, void *arg)
{
    const struct carm_gemm *g = arg;
    const struct share m = share_of(g->m, CARM_GEMM_ROWS, w->index, w->team->n);
    const struct share n = share_of(g->columns, CARM_GEMM_COLUMNS, w->index, w->team->n);
    const struct share k = share_of(g->k, CARM_GEMM_STEP, w->index, w->team->n);
    fill_rows(g->a.start, g->k, m.first, m.last, g->n, g->n, g->k, 1);
    fill_rows(g->b.start, g->columns, k.first, k.last, g->n, g->n, g->columns, 1u << 20);
    fill_rows(g->c.start, g->columns, m.first, m.last, 0, 0, g->columns, 0);
    fill_rows(g->bt.start, g->k, n.first, n.last, 0, 0, g->k, 0);
    fill_rows(g->pa.start, g->k, m.first, m.last, 0, 0, g->k, 0);
}

static int check_size(size_t n, struct carm_err *err)
{
    if (n < 1 || n > CARM_GEMM_N_MAX) {
        return carm_fail(err, CARM_EINVAL, "--n is 1 to %d", CARM_GEMM_N_MAX);
    }
    /* the library's threads and the page tables need memory, too */
    const double available = 0.9 * (double)carm_memory_available();
    if (available > 0.0 && matrices_bytes(n) > available) {
        size_t fits = n;
        while (fits > 64 && matrices_bytes(fits) > available) {
            fits -= fits / 16 + 1;
        }
        return carm_fail(err, CARM_ENOMEM,
                         "five matrices of %zu x %zu take %.0f MiB and %.0f are free: --n %zu fits",
                         n, n, matrices_bytes(n) / 0x1p20, available / 0x1p20, fits);
    }
    return 0;
}

int carm_gemm_open(struct carm_gemm *g, size_t n, struct carm_team *team, struct carm_err *err)
{
    memset(g, 0, sizeof *g);
    int rc = check_size(n, err);
    if (rc) {
        return rc;
    }
    pad(g, n);
    struct {
        struct carm_buffer *buffer;
        size_t elements;
    } const all[] = {{&g->a, g->m * g->k},
                     {&g->b, g->k * g->columns},
                     {&g->c, g->m * g->columns},
                     {&g->bt, g->columns * g->k},
                     {&g->pa, g->m * g->k}};
    for (size_t i = 0; i < sizeof all / sizeof *all && !rc; i++) {
        rc = carm_buffer_open(all[i].buffer, all[i].elements * sizeof(double), err);
    }
    if (rc) {
        carm_gemm_close(g);
        return rc;
    }
    carm_team_run(team, fill_job, g);
    return 0;
}

void carm_gemm_close(struct carm_gemm *g)
{
    carm_buffer_close(&g->a);
    carm_buffer_close(&g->b);
    carm_buffer_close(&g->c);
    carm_buffer_close(&g->bt);
    carm_buffer_close(&g->pa);
}

void carm_gemm_rows(const struct carm_gemm *g, int thread, int threads, size_t rows, size_t *first,
                    size_t *count)
{
    const struct share all = share_of(g->m, CARM_GEMM_ROWS, thread, threads);
    const struct share slab =
        share_of(round_up(smaller(rows, g->m), CARM_GEMM_ROWS), CARM_GEMM_ROWS, thread, threads);
    *first = all.first;
    *count = smaller(slab.last - slab.first, all.last - all.first);
}

struct walk {
    const struct carm_gemm_plan *plan;
    carm_gemm_block_fn *fn;
    void *arg;
};

/* Begin and length of a block, and a level's size, in the dimension of one loop. */
static size_t *begin_of(struct carm_gemm_block *b, char dimension)
{
    return dimension == 'i' ? &b->i : dimension == 'j' ? &b->j : &b->k;
}

static size_t *length_of(struct carm_gemm_block *b, char dimension)
{
    return dimension == 'i' ? &b->ni : dimension == 'j' ? &b->nj : &b->nk;
}

static size_t wanted(const struct carm_gemm_level *l, char dimension, size_t len)
{
    return dimension == 'i'   ? carm_gemm_even(len, l->m, CARM_GEMM_ROWS)
           : dimension == 'j' ? carm_gemm_even(len, l->n, CARM_GEMM_COLUMNS)
                              : carm_gemm_even(len, l->k, CARM_GEMM_STEP);
}

/* Loop number `loop` counts through the levels, three loops each. */
static void descend(const struct walk *w, int loop, struct carm_gemm_block b)
{
    if (loop == 3 * w->plan->nlevels) {
        w->fn(&b, w->arg);
        return;
    }
    const struct carm_gemm_level *level = &w->plan->levels[loop / 3];
    const char dimension = level->order[loop % 3];
    const size_t begin = *begin_of(&b, dimension);
    const size_t len = *length_of(&b, dimension);
    const size_t size = wanted(level, dimension, len);
    for (size_t at = 0; at < len; at += size) {
        *begin_of(&b, dimension) = begin + at;
        *length_of(&b, dimension) = smaller(size, len - at);
        descend(w, loop + 1, b);
    }
}

void carm_gemm_walk(const struct carm_gemm_plan *plan, const struct carm_gemm *g, size_t first,
                    size_t count, carm_gemm_block_fn *fn, void *arg)
{
    const struct walk w = {plan, fn, arg};
    if (count > 0) {
        descend(&w, 0,
                (struct carm_gemm_block){.i = first, .ni = count, .nj = g->columns, .nk = g->k});
    }
}

/* The depth of a slice of a packed plan: its innermost block's. */
static size_t slice_of(const struct carm_gemm_plan *plan, const struct carm_gemm *g)
{
    size_t k = g->k;
    for (int i = 0; i < plan->nlevels; i++) {
        k = carm_gemm_even(k, plan->levels[i].k, CARM_GEMM_STEP);
    }
    return k;
}

size_t carm_gemm_moves(const struct carm_gemm_plan *plan, const struct carm_gemm *g, int thread,
                       int threads, size_t *k, struct carm_gemm_move *moves)
{
    const struct share n = share_of(g->columns, CARM_GEMM_COLUMNS, thread, threads);
    const struct share m = share_of(g->m, CARM_GEMM_ROWS, thread, threads);
    const bool packed = plan->access == CARM_GEMM_PACKED;
    const size_t at = *k;
    const size_t nk = smaller(packed ? slice_of(plan, g) : g->k, g->k - at);
    if (plan->access == CARM_GEMM_STRIDED) {
        *k = g->k;
        return 0;
    }
    *k += nk;
    moves[0] = (struct carm_gemm_move){.transposed = true,
                                       .src = at * g->columns + n.first,
                                       .dst = at * g->columns + n.first * nk,
                                       .src_stride = g->c_stride,
                                       .dst_stride = nk * sizeof(double),
                                       .rows = nk,
                                       .columns = n.last - n.first};
    if (packed) {
        moves[1] = (struct carm_gemm_move){.src = m.first * g->k + at,
                                           .dst = g->m * at + m.first * nk,
                                           .src_stride = g->k * sizeof(double),
                                           .dst_stride = nk * sizeof(double),
                                           .rows = m.last - m.first,
                                           .columns = nk};
    }
    return packed ? 2 : 1;
}

void carm_gemm_arrange(const struct carm_gemm_plan *plan, const struct carm_gemm *g, int thread,
                       int threads)
{
    struct carm_gemm_move moves[CARM_GEMM_MOVES_MAX];
    for (size_t k = 0; k < g->k;) {
        const size_t n = carm_gemm_moves(plan, g, thread, threads, &k, moves);
        for (size_t i = 0; i < n; i++) {
            const struct carm_gemm_move *m = &moves[i];
            const double *src = m->transposed ? g->b.start : g->a.start;
            double *dst = m->transposed ? g->bt.start : g->pa.start;
            (m->transposed ? carm_gemm_transposed : carm_gemm_copied)(
                src + m->src, m->src_stride, dst + m->dst, m->dst_stride, m->rows, m->columns);
        }
    }
}

static void arrange_account(const struct carm_gemm_plan *plan, const struct carm_gemm *g,
                            int thread, int threads, struct carm_gemm_account *account)
{
    struct carm_gemm_move moves[CARM_GEMM_MOVES_MAX];
    for (size_t k = 0; k < g->k;) {
        const size_t n = carm_gemm_moves(plan, g, thread, threads, &k, moves);
        for (size_t i = 0; i < n; i++) {
            (moves[i].transposed ? carm_gemm_transposed_account : carm_gemm_copied_account)(
                moves[i].rows, moves[i].columns, account);
        }
    }
}

struct visit {
    const struct carm_gemm_plan *plan;
    const struct carm_gemm *g;
    struct carm_gemm_account *account;
};

/* The kernel's arguments for a block, without the matrices, which an account does not need. */
static struct carm_gemm_tiles shape_of(const struct carm_gemm_plan *plan, const struct carm_gemm *g,
                                       const struct carm_gemm_block *block)
{
    const bool packed = plan->access == CARM_GEMM_PACKED;
    const size_t row_bytes = (packed ? block->nk : g->k) * sizeof(double);
    return (struct carm_gemm_tiles){.a_stride = row_bytes,
                                    .b_stride =
                                        plan->access == CARM_GEMM_STRIDED ? g->c_stride : row_bytes,
                                    .c_stride = g->c_stride,
                                    .k = block->nk,
                                    .rows = block->ni / CARM_GEMM_ROWS,
                                    .columns = block->nj / CARM_GEMM_COLUMNS,
                                    .columns_outer = plan->columns_outer,
                                    .accumulate = block->k > 0};
}

struct carm_gemm_tiles carm_gemm_tiles(const struct carm_gemm_plan *plan, const struct carm_gemm *g,
                                       const struct carm_gemm_block *block)
{
    const double *a = g->a.start;
    const double *b = g->b.start;
    const double *bt = g->bt.start;
    const double *pa = g->pa.start;
    double *c = g->c.start;
    struct carm_gemm_tiles tiles = shape_of(plan, g, block);
    tiles.c = c + block->i * g->columns + block->j;
    switch (plan->access) {
    case CARM_GEMM_STRIDED:
        tiles.a = a + block->i * g->k + block->k;
        tiles.b = b + block->k * g->columns + block->j;
        break;
    case CARM_GEMM_TRANSPOSED:
        tiles.a = a + block->i * g->k + block->k;
        tiles.b = bt + block->j * g->k + block->k;
        break;
    case CARM_GEMM_PACKED:
        /* slice after slice, each with all rows of the matrix */
        tiles.a = pa + g->m * block->k + block->i * block->nk;
        tiles.b = bt + g->columns * block->k + block->j * block->nk;
        break;
    }
    return tiles;
}

static void multiply_block(const struct carm_gemm_block *block, void *arg)
{
    const struct visit *v = arg;
    const struct carm_gemm_tiles tiles = carm_gemm_tiles(v->plan, v->g, block);
    carm_gemm_tiles_run(v->plan->kernel, &tiles);
}

static void account_block(const struct carm_gemm_block *block, void *arg)
{
    const struct visit *v = arg;
    const struct carm_gemm_tiles tiles = shape_of(v->plan, v->g, block);
    carm_gemm_tiles_account(v->plan->kernel, &tiles, v->account);
}

void carm_gemm_multiply(const struct carm_gemm_plan *plan, const struct carm_gemm *g, size_t first,
                        size_t count)
{
    struct visit v = {plan, g, NULL};
    carm_gemm_walk(plan, g, first, count, multiply_block, &v);
}

void carm_gemm_account(const struct carm_gemm_plan *plan, const struct carm_gemm *g, int threads,
                       size_t rows, struct carm_gemm_account *arrange,
                       struct carm_gemm_account *multiply)
{
    for (int t = 0; t < threads; t++) {
        size_t first = 0;
        size_t count = 0;
        carm_gemm_rows(g, t, threads, rows, &first, &count);
        if (arrange) {
            arrange_account(plan, g, t, threads, arrange);
        }
        if (multiply) {
            struct visit v = {plan, g, multiply};
            carm_gemm_walk(plan, g, first, count, account_block, &v);
        }
    }
}
