/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/gemm/traffic.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "models/caches/hierarchy.h"
#include "models/caches/sampled.h"

enum { LINE = CARM_HIERARCHY_LINE, IN_LINE = LINE / (int)sizeof(double) };
_Static_assert((int)CARM_GEMM_STEP == (int)IN_LINE, "k goes by whole lines");

/* Most touches that are simulated: some 100 ns each. */
static const double simulated_touches = 5e6;
/* From this share of all touches on, all are simulated. */
static const double share_of_all = 0.25;

/* The phase to which bytes belong. */
enum phase { ARRANGE, MULTIPLY, PHASES };

/* The simulation: one of the two pointers is used. */
struct simulation {
    struct carm_hierarchy *all;
    struct carm_sampled *some;
    enum phase phase;
};

/* The blocks of a thread, and its next tile. */
struct walk {
    struct carm_gemm_block *blocks;
    size_t n, room, at, row, column;
    bool failed;
};

static inline void touch(const struct simulation *s, int core, uint64_t address, uint32_t bytes,
                         enum carm_access_kind kind)
{
    const uint32_t c = (uint32_t)core;
    if (s->all) {
        carm_hierarchy_access(s->all, c, address, bytes, kind);
    } else if (carm_sampled_has(s->some, address, bytes, 0)) {
        carm_sampled_access(s->some, c, c, address, bytes, kind, 0, false, (uint32_t)s->phase);
    }
}

static uint64_t address(const struct carm_buffer *matrix, size_t element)
{
    return (uint64_t)(uintptr_t)matrix->start + element * sizeof(double);
}

static void touch_move(const struct simulation *s, const struct carm_gemm *g, int core,
                       const struct carm_gemm_move *m)
{
    const uint64_t from = address(m->transposed ? &g->b : &g->a, m->src);
    const uint64_t to = address(m->transposed ? &g->bt : &g->pa, m->dst);
    const uint64_t tile = CARM_GEMM_COLUMNS * sizeof(double);
    if (!m->transposed) {
        for (size_t i = 0; i < m->rows; i++) {
            for (size_t at = 0; at < m->columns * sizeof(double); at += LINE) {
                touch(s, core, from + i * m->src_stride + at, LINE, CARM_ACCESS_LOAD);
                touch(s, core, to + i * m->dst_stride + at, LINE, CARM_ACCESS_STORE);
            }
        }
        return;
    }
    for (size_t j = 0; j < m->columns; j += CARM_GEMM_COLUMNS) {
        for (size_t i = 0; i < m->rows; i += IN_LINE) {
            for (size_t k = i; k < i + IN_LINE && k < m->rows; k++) {
                touch(s, core, from + k * m->src_stride + j * sizeof(double), (uint32_t)tile,
                      CARM_ACCESS_LOAD);
            }
            for (size_t k = j; k < j + CARM_GEMM_COLUMNS; k++) {
                touch(s, core, to + k * m->dst_stride + i * sizeof(double), LINE,
                      CARM_ACCESS_STORE);
            }
        }
    }
}

/* Touches the lines of tile (i, j) of a block. */
static void touch_tile(const struct simulation *s, int core, const struct carm_gemm_tiles *t,
                       bool strided, size_t i, size_t j)
{
    const uint64_t tile = CARM_GEMM_COLUMNS * sizeof(double);
    const uint64_t a = (uint64_t)(uintptr_t)t->a + i * CARM_GEMM_ROWS * t->a_stride;
    const uint64_t b =
        (uint64_t)(uintptr_t)t->b + (strided ? j * tile : j * CARM_GEMM_COLUMNS * t->b_stride);
    const uint64_t c = (uint64_t)(uintptr_t)t->c + i * CARM_GEMM_ROWS * t->c_stride + j * tile;
    for (uint64_t k = 0; k < t->k; k += IN_LINE) {
        for (uint64_t r = 0; r < CARM_GEMM_ROWS; r++) {
            touch(s, core, a + r * t->a_stride + k * sizeof(double), LINE, CARM_ACCESS_LOAD);
        }
        for (uint64_t x = 0; x < (strided ? IN_LINE : CARM_GEMM_COLUMNS); x++) {
            touch(s, core,
                  strided ? b + (k + x) * t->b_stride : b + x * t->b_stride + k * sizeof(double),
                  (uint32_t)(strided ? tile : LINE), CARM_ACCESS_LOAD);
        }
    }
    for (uint64_t r = 0; r < CARM_GEMM_ROWS; r++) {
        if (t->accumulate) {
            touch(s, core, c + r * t->c_stride, (uint32_t)tile, CARM_ACCESS_LOAD);
        }
        touch(s, core, c + r * t->c_stride, (uint32_t)tile, CARM_ACCESS_STORE);
    }
}

static void add_block(const struct carm_gemm_block *block, void *arg)
{
    struct walk *w = arg;
    w->failed = w->failed || carm_array_grow(&w->blocks, &w->room, w->n, 1, sizeof *w->blocks,
                                             "the blocks", NULL) != 0;
    if (!w->failed) {
        w->blocks[w->n++] = *block;
    }
}

/* Touches the next tile of a core. returns false: there is none left */
static bool next_tile(const struct simulation *s, const struct carm_gemm_plan *plan,
                      const struct carm_gemm *g, int core, struct walk *w)
{
    if (w->at == w->n) {
        return false;
    }
    const struct carm_gemm_tiles t = carm_gemm_tiles(plan, g, &w->blocks[w->at]);
    touch_tile(s, core, &t, plan->access == CARM_GEMM_STRIDED, w->row, w->column);
    size_t *inner = t.columns_outer ? &w->row : &w->column;
    size_t *outer = t.columns_outer ? &w->column : &w->row;
    if (++*inner == (t.columns_outer ? t.rows : t.columns)) {
        *inner = 0;
        ++*outer;
    }
    if (*outer == (t.columns_outer ? t.columns : t.rows)) {
        *outer = 0;
        w->at++;
    }
    return true;
}

/* share  share of the touches that is simulated; all, if these caches cannot be sampled */
static int open_simulation(struct simulation *s, const struct carm_hierarchy_config *caches,
                           double share, struct carm_err *err)
{
    struct carm_sampled_plan plan;
    const int rc = share < share_of_all
                       ? carm_sampled_open(&s->some, caches, NULL, share, 0, &plan, err)
                       : -CARM_ENOTSUP;
    return rc == -CARM_ENOTSUP ? carm_hierarchy_open(&s->all, caches, err) : rc;
}

static int read_simulation(const struct simulation *s, size_t nlevels,
                           struct carm_gemm_traffic out[PHASES], struct carm_err *err)
{
    struct carm_hierarchy_counts counts;
    int rc = 0;
    if (s->all) {
        carm_hierarchy_flush(s->all);
        rc = carm_hierarchy_read(s->all, &counts, err);
    } else {
        rc = carm_sampled_end(s->some, 0.0, err);
    }
    for (uint32_t phase = 0; phase < PHASES && !rc; phase++) {
        struct carm_level_estimate levels[CARM_HIERARCHY_LEVELS_MAX];
        struct carm_sampled_sum sum = {.cold = 0.0};
        if (s->all) {
            carm_hierarchy_read_by(s->all, phase, &counts);
            carm_sampled_exact(&counts, levels);
        } else {
            carm_sampled_add(s->some, phase, 0.0, &sum);
            carm_sampled_read(s->some, &sum, levels);
        }
        const struct carm_level_estimate *last = &levels[nlevels - 1];
        out[phase] = (struct carm_gemm_traffic){last->bytes, last->low, last->high};
    }
    return rc;
}

/* Simulates `rows` rows, with bytes by phase. */
static int simulate(const struct carm_gemm_plan *plan, const struct carm_gemm *g,
                    const struct carm_hierarchy_config *caches, int threads, size_t rows,
                    double share, struct carm_gemm_traffic out[PHASES], struct carm_err *err)
{
    struct simulation s = {.phase = ARRANGE};
    struct walk *walks = calloc((size_t)threads, sizeof *walks);
    if (!walks) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory");
    }
    int rc = open_simulation(&s, caches, share, err);
    for (int t = 0; t < threads && !rc; t++) {
        struct carm_gemm_move moves[CARM_GEMM_MOVES_MAX];
        size_t first = 0, count = 0;
        for (size_t k = 0; k < g->k;) {
            const size_t n = carm_gemm_moves(plan, g, t, threads, &k, moves);
            for (size_t i = 0; i < n; i++) {
                touch_move(&s, g, t % (int)caches->cores, &moves[i]);
            }
        }
        carm_gemm_rows(g, t, threads, rows, &first, &count);
        carm_gemm_walk(plan, g, first, count, add_block, &walks[t]);
        rc = walks[t].failed ? carm_fail(err, CARM_ENOMEM, "not enough memory") : 0;
    }
    s.phase = MULTIPLY;
    if (!rc && s.all) {
        carm_hierarchy_by(s.all, MULTIPLY);
    }
    for (bool any = true; any && !rc;) {
        any = false;
        for (int t = 0; t < threads; t++) {
            any |= next_tile(&s, plan, g, t % (int)caches->cores, &walks[t]);
        }
    }
    rc = rc ? rc : read_simulation(&s, caches->nlevels, out, err);
    for (int t = 0; t < threads; t++) {
        free(walks[t].blocks);
    }
    free(walks);
    carm_hierarchy_close(s.all);
    carm_sampled_close(s.some);
    return rc;
}

int carm_gemm_traffic(const struct carm_gemm_plan *plan, const struct carm_gemm *g,
                      const struct carm_hierarchy_config *caches, int threads, size_t rows,
                      double touches, struct carm_gemm_traffic *out, struct carm_err *err)
{
    struct carm_gemm_traffic whole[PHASES] = {{0.0, 0.0, 0.0}};
    struct carm_gemm_traffic half[PHASES] = {{0.0, 0.0, 0.0}};
    const double for_a_row =
        (double)g->columns / CARM_GEMM_COLUMNS * (double)g->k / IN_LINE / CARM_GEMM_ROWS *
        (plan->access == CARM_GEMM_STRIDED ? CARM_GEMM_ROWS + IN_LINE
                                           : CARM_GEMM_ROWS + CARM_GEMM_COLUMNS);
    const size_t unit = (size_t)threads * CARM_GEMM_ROWS;
    const double all = for_a_row * (double)rows;
    size_t some = rows;
    if (all > touches) { /* two simulations; the longer one gets two thirds of the touches */
        some = 2 * unit * (size_t)fmax(1.0, touches / for_a_row / 3.0 / (double)unit);
        some = some < rows ? some : rows;
    }
    const double share = simulated_touches / (for_a_row * (double)some);
    const size_t half_of_some = some / 2;
    int rc = simulate(plan, g, caches, threads, some, share, whole, err);
    if (!rc && some < rows) {
        rc = simulate(plan, g, caches, threads, half_of_some, share, half, err);
    }
    if (rc) {
        return rc;
    }
    /* rows beyond are extrapolated: they have the bytes of the longer simulation's second half */
    const double more = some < rows ? (double)(rows - some) / (double)half_of_some : 0.0;
    const double arranged = (double)rows / (double)g->m;
    const struct carm_gemm_traffic *a = &whole[ARRANGE];
    const struct carm_gemm_traffic *m = &whole[MULTIPLY];
    const double longer = (double)rows / (double)some;
    out->bytes = m->bytes + more * fmax(0.0, m->bytes - half[MULTIPLY].bytes) + arranged * a->bytes;
    out->low =
        fmax(0.0, out->bytes - longer * (m->bytes - m->low) - arranged * (a->bytes - a->low));
    out->high = out->bytes + longer * (m->high - m->bytes) + arranged * (a->high - a->bytes);
    return 0;
}

double carm_gemm_compulsory_bytes(size_t n)
{
    return 4.0 * sizeof(double) * (double)n * (double)n;
}
