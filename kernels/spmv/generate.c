/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/spmv/generate.h"

#include <math.h>

#include "kernels/context.h"

enum {
    FEM_BLOCKS = 27, /* a node and its neighbours in a mesh of hexahedra */
    FEM_BLOCK = 4,
    FEM_BAND = 2048, /* nodes: the part of x that a row needs stays in a cache */
};

struct generator {
    uint64_t seed, rows;
    unsigned per_row, block;
};

/* The k-th random number of a row, independent of other rows. source: Steele, Lea, Flood 2014, SplitMix64 */
static uint64_t mix(uint64_t seed, uint64_t row, uint64_t k)
{
    uint64_t z = seed + 0x9e3779b97f4a7c15U * (row * 0x100000001b3U + k + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/* A number in (0, 1) */
static double unit(uint64_t bits)
{
    return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

/* A number in [-1, 1) except 0 */
static double signed_unit(uint64_t bits)
{
    return 2.0 * unit(bits) - 1.0;
}

/* A number in the k-th of `pieces` equal pieces of [0, n): ascending with k, all different. n >= pieces */
static uint64_t stratum(uint64_t n, uint64_t pieces, uint64_t k, uint64_t bits)
{
    const uint64_t begin = n * k / pieces;
    const uint64_t end = n * (k + 1) / pieces;
    return begin + bits % (end - begin);
}

/* Makes a row. column NULL: only its length is computed. returns the row's length */
static uint32_t make_row(const struct generator *g, uint64_t row, uint32_t *column, double *value)
{
    const uint64_t nodes = g->rows / g->block;
    const uint64_t node = row / g->block;
    const uint64_t band = nodes < FEM_BAND ? nodes : FEM_BAND;
    const uint64_t blocks = g->per_row < band ? g->per_row : band;
    const uint64_t middle = node > band / 2 ? node - band / 2 : 0;
    const uint64_t first = middle < nodes - band ? middle : nodes - band;
    uint32_t n = 0;
    for (uint64_t k = 0; column && k < blocks; k++) {
        uint64_t at = first + stratum(band, blocks, k, mix(g->seed, node, k));
        /* the row always has the node itself */
        if (node - first >= band * k / blocks && node - first < band * (k + 1) / blocks) {
            at = node;
        }
        for (unsigned j = 0; j < g->block; j++) {
            column[n] = (uint32_t)(at * g->block + j);
            value[n] = signed_unit(mix(~g->seed, row, n)) +
                       (column[n] == row ? (double)(blocks * g->block) : 0.0);
            n++;
        }
    }
    return (uint32_t)(blocks * g->block);
}

static int settle(struct generator *g, const struct carm_matrix_spec *spec, struct carm_err *err)
{
    if (spec->block > 8 || (spec->rows == 0 && spec->bytes == 0)) {
        return carm_fail(err, CARM_EINVAL,
                         "a generated matrix has its rows or its bytes, and blocks of 1 to 8");
    }
    *g = (struct generator){.seed = spec->seed, .rows = spec->rows};
    g->per_row = spec->per_row ? spec->per_row : FEM_BLOCKS;
    g->block = spec->block ? spec->block : FEM_BLOCK;
    if (!g->rows) {
        const double row_bytes =
            carm_csr_bytes(1.0, (double)g->per_row * g->block) - carm_csr_bytes(0.0, 0.0);
        g->rows = (uint64_t)ceil((double)spec->bytes / row_bytes);
    }
    g->rows = (g->rows + g->block - 1) / g->block * g->block;
    return 0;
}

int carm_matrix_generate(const struct carm_matrix_spec *spec, struct carm_csr *a,
                         struct carm_err *err)
{
    static const char name[] = "the generated matrix";
    struct generator g = {.rows = 0};
    struct carm_csr made;
    uint64_t nonzeros = 0;
    int rc = settle(&g, spec, err);
    if (rc) {
        return rc;
    }
    /* a size beyond all memory is refused before its rows are counted: each row has at least one nonzero */
    const double least = carm_csr_bytes((double)g.rows, (double)g.rows);
    rc = carm_dwarf_fits(name, fmax(least, spec->rows ? 0.0 : (double)spec->bytes), err);
    if (rc) {
        return rc;
    }
    for (uint64_t row = 0; row < g.rows; row++) {
        nonzeros += make_row(&g, row, NULL, NULL);
    }
    rc = carm_csr_open(&made, name, g.rows, g.rows, nonzeros, err);
    if (rc) {
        return rc;
    }
    for (uint32_t row = 0; row < made.rows; row++) {
        const uint32_t at = made.start[row];
        made.start[row + 1] = at + make_row(&g, row, made.column + at, made.value + at);
    }
    *a = made;
    return 0;
}
