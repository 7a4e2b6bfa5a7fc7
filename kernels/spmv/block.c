/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/spmv/block.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kernels/context.h"

enum {
    SAMPLE_ROWS = 24,       /* rows of a piece: whole blocks of any r */
    SAMPLE_PIECES = 256,    /* spread over the matrix */
    NARROW = UINT16_MAX + 1 /* columns of blocks that an index of 2 bytes can address */
};

static const unsigned shapes_r[] = {1, 2, 3, 4, 8};
static const unsigned shapes_c[] = {1, 2, 3, 4};

#define COUNT(a) (sizeof(a) / sizeof *(a))

bool carm_bcsr_shape(unsigned r, unsigned c)
{
    return ((r >= 1 && r <= 4) || r == CARM_BLOCK_ROWS_MAX) && c >= 1 &&
           c <= CARM_BLOCK_COLUMNS_MAX;
}

/* Walks the entries of the rows of one row of blocks by ascending column of blocks. */
struct cursor {
    const struct carm_csr *a;
    uint32_t first, rows, c;
    uint32_t at[CARM_BLOCK_ROWS_MAX]; /* next entry of each row */
};

static struct cursor cursor_at(const struct carm_csr *a, uint32_t block_row, unsigned r, unsigned c)
{
    struct cursor k = {.a = a, .first = block_row * r, .c = c};
    k.rows = a->rows - k.first < r ? a->rows - k.first : r;
    for (uint32_t i = 0; i < k.rows; i++) {
        k.at[i] = a->start[k.first + i];
    }
    return k;
}

/* Finds the next column of blocks, and puts its nonzeros into dense [c x r], if not NULL. returns false: no more */
static bool next_block(struct cursor *k, unsigned r, uint32_t *block_column, double *dense)
{
    const struct carm_csr *a = k->a;
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < k->rows; i++) {
        if (k->at[i] < a->start[k->first + i + 1] && a->column[k->at[i]] / k->c < least) {
            least = a->column[k->at[i]] / k->c;
        }
    }
    if (least == UINT32_MAX) {
        return false;
    }
    *block_column = least;
    for (uint32_t i = 0; i < k->rows; i++) {
        while (k->at[i] < a->start[k->first + i + 1] && a->column[k->at[i]] / k->c == least) {
            if (dense) {
                dense[(size_t)(a->column[k->at[i]] - least * k->c) * r + i] = a->value[k->at[i]];
            }
            k->at[i]++;
        }
    }
    return true;
}

/* Number of blocks in a row of blocks. span: out: columns of blocks from the first to the last. */
static uint32_t count_blocks(const struct carm_csr *a, uint32_t block_row, unsigned r, unsigned c,
                             uint32_t *first, uint32_t *span)
{
    struct cursor k = cursor_at(a, block_row, r, c);
    uint32_t column = 0;
    uint32_t n = 0;
    *first = 0;
    *span = 0;
    while (next_block(&k, r, &column, NULL)) {
        *first = n == 0 ? column : *first;
        *span = column - *first + 1;
        n++;
    }
    return n;
}

static double block_bytes(unsigned r, unsigned c, bool narrow)
{
    return (double)(r * c) * sizeof(double) + (narrow ? sizeof(uint16_t) : sizeof(uint32_t));
}

/* Bytes that the sampled rows would take. */
static double sampled_bytes(const struct carm_csr *a, unsigned r, unsigned c)
{
    const uint32_t pieces = (a->rows + SAMPLE_ROWS - 1) / SAMPLE_ROWS;
    const uint32_t step = (pieces + SAMPLE_PIECES - 1) / SAMPLE_PIECES;
    double blocks = 0.0;
    double rows = 0.0;
    bool narrow = true;
    for (uint32_t piece = 0; piece < pieces; piece += step) {
        const uint32_t end =
            (piece + 1) * SAMPLE_ROWS < a->rows ? (piece + 1) * SAMPLE_ROWS : a->rows;
        for (uint32_t row = piece * SAMPLE_ROWS; row < end; row += r) {
            uint32_t first = 0;
            uint32_t span = 0;
            blocks += count_blocks(a, row / r, r, c, &first, &span);
            narrow = narrow && span <= NARROW;
            rows += 1.0;
        }
    }
    return blocks * block_bytes(r, c, narrow) + rows * (narrow ? 2.0 : 1.0) * sizeof(uint32_t);
}

void carm_bcsr_choose(const struct carm_csr *a, unsigned *r, unsigned *c)
{
    double best = 0.0;
    for (size_t i = 0; i < COUNT(shapes_r); i++) {
        for (size_t j = 0; j < COUNT(shapes_c); j++) {
            const double bytes = sampled_bytes(a, shapes_r[i], shapes_c[j]);
            if (i + j == 0 || bytes < best) {
                best = bytes;
                *r = shapes_r[i];
                *c = shapes_c[j];
            }
        }
    }
}

uint32_t carm_spmv_split(const uint32_t *start, uint32_t rows, int t, int n)
{
    const uint64_t want = (uint64_t)start[rows] * (uint64_t)t / (uint64_t)n;
    uint32_t row = rows;
    if (t != n) {
        CARM_ARRAY_BISECT(row, rows, middle, start[middle] < want);
    }
    return row;
}

struct arrays {
    const struct carm_csr *a;
    uint32_t r, c;
    uint32_t rows; /* of blocks */
    const uint32_t *counted;
    uint32_t *start, *base, *index32;
    uint16_t *index16;
    double *value;
};

static void fill_rows(const struct arrays *to, uint32_t first, uint32_t end)
{
    for (uint32_t row = first; row < end; row++) {
        struct cursor k = cursor_at(to->a, row, to->r, to->c);
        uint32_t n = to->counted[row];
        uint32_t column = 0;
        /* memory is zero, so only nonzeros are written; each page is first written by its owner */
        while (next_block(&k, to->r, &column, to->value + (size_t)n * to->r * to->c)) {
            if (n == to->counted[row]) {
                to->base[row] = to->index16 ? column : 0;
            }
            if (to->index16) {
                to->index16[n] = (uint16_t)(column - to->base[row]);
            } else {
                to->index32[n] = column;
            }
            n++;
        }
        to->start[row + 1] = n;
    }
}

static void fill_job(struct carm_worker *w, void *arg)
{
    const struct arrays *to = arg;
    fill_rows(to, carm_spmv_split(to->counted, to->rows, w->index, w->team->n),
              carm_spmv_split(to->counted, to->rows, w->index + 1, w->team->n));
}

static size_t aligned(double bytes)
{
    return ((size_t)bytes + 63) / 64 * 64;
}

static int take(struct carm_bcsr *b, struct arrays *to, bool narrow, struct carm_err *err)
{
    const size_t starts = aligned((b->block_rows + 1.0) * sizeof(uint32_t));
    const size_t indices = aligned((double)b->blocks * (narrow ? sizeof(uint16_t) : 4));
    const size_t values = aligned((double)b->blocks * b->r * b->c * sizeof(double));
    int rc = carm_dwarf_fits("the blocked matrix", (double)(2 * starts + indices + values), err);
    rc = rc ? rc : carm_buffer_open(&b->memory, 2 * starts + indices + values, err);
    if (rc) {
        return rc;
    }
    char *at = b->memory.start;
    to->start = (void *)at;
    to->base = (void *)(at + starts);
    to->index16 = narrow ? (void *)(at + 2 * starts) : NULL;
    to->index32 = narrow ? NULL : (void *)(at + 2 * starts);
    to->value = (void *)(at + 2 * starts + indices);
    b->start = to->start;
    b->base = to->base;
    b->index16 = to->index16;
    b->index32 = to->index32;
    b->value = to->value;
    return 0;
}

int carm_bcsr_open(struct carm_bcsr *b, const struct carm_csr *a, unsigned r, unsigned c,
                   struct carm_team *team, struct carm_err *err)
{
    struct arrays to = {.a = a, .r = r, .c = c};
    bool narrow = true;
    memset(b, 0, sizeof *b);
    b->r = r;
    b->c = c;
    b->block_rows = (a->rows + r - 1) / r;
    uint32_t *counted = calloc((size_t)b->block_rows + 1, sizeof *counted);
    if (!counted) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for %u rows of blocks",
                         b->block_rows);
    }
    for (uint32_t row = 0; row < b->block_rows; row++) {
        uint32_t first = 0;
        uint32_t span = 0;
        counted[row + 1] = counted[row] + count_blocks(a, row, r, c, &first, &span);
        narrow = narrow && span <= NARROW;
    }
    b->blocks = counted[b->block_rows];
    to.rows = b->block_rows;
    to.counted = counted;
    const int rc = take(b, &to, narrow, err);
    if (!rc) {
        carm_team_run(team, fill_job, &to);
    }
    free(counted);
    return rc;
}

void carm_bcsr_close(struct carm_bcsr *b)
{
    carm_buffer_close(&b->memory);
    memset(b, 0, sizeof *b);
}

double carm_bcsr_bytes(const struct carm_bcsr *b)
{
    const double starts = b->block_rows + 1.0 + (b->index16 ? b->block_rows : 0.0);
    return starts * sizeof(uint32_t) + b->blocks * block_bytes(b->r, b->c, b->index16 != NULL);
}
