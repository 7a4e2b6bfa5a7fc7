/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/spmv/generate.h"

#include <math.h>
#include <string.h>

#include "kernels/context.h"

enum {
    FEM_BLOCKS = 27, /* as hexahedra in space: a node and its neighbours */
    FEM_BAND = 2048, /* nodes: the part of x that a row needs stays in a cache */
    RANDOM_ROW = 16,
    POWER_ROW = 3,
    POWER_SAMPLE = 65536, /* rows, for the mean length */
    GRID_NEIGHBOURS = 27,
};

struct generator {
    enum carm_matrix_kind kind;
    uint64_t seed;
    uint64_t rows;
    unsigned per_row, block;
    uint32_t edge;
};

/* Any row's numbers, without the numbers of the rows before. source: Steele, Lea, Flood 2014, SplitMix64 */
static uint64_t mix(uint64_t seed, uint64_t row, uint64_t k)
{
    uint64_t z = seed + 0x9e3779b97f4a7c15U * (row * 0x100000001b3U + k + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/* (0, 1) */
static double unit(uint64_t bits)
{
    return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

/* [-1, 1) without 0 */
static double signed_unit(uint64_t bits)
{
    return 2.0 * unit(bits) - 1.0;
}

/* One of each of `pieces` equal pieces of [0, n): ascending, no two the same. n >= pieces */
static uint64_t stratum(uint64_t n, uint64_t pieces, uint64_t k, uint64_t bits)
{
    const uint64_t begin = n * k / pieces;
    const uint64_t end = n * (k + 1) / pieces;
    return begin + bits % (end - begin);
}

/* A row of each kind: returns its length; column NULL: nothing else. */
static uint32_t scattered_row(const struct generator *g, uint64_t row, uint64_t length,
                              uint32_t *column, double *value)
{
    length = length < g->rows ? length : g->rows;
    for (uint64_t k = 0; column && k < length; k++) {
        column[k] = (uint32_t)stratum(g->rows, length, k, mix(g->seed, row, 2 * k));
        value[k] = signed_unit(mix(g->seed, row, 2 * k + 1));
    }
    return (uint32_t)length;
}

/* No row is longer than a quarter of all: one thread could not have less than it. */
static uint64_t power_length(const struct generator *g, uint64_t row)
{
    const double most = fmax(g->per_row, (double)g->rows / 4.0);
    const double x = g->per_row * pow(unit(mix(~g->seed, row, 0)), -1.0 / 1.5);
    return (uint64_t)fmin(x, most);
}

static uint32_t fem_row(const struct generator *g, uint64_t row, uint32_t *column, double *value)
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
        /* the node itself is always there */
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

static uint32_t grid_row(const struct generator *g, uint64_t row, uint32_t *column, double *value)
{
    const int64_t m = g->edge;
    const int64_t at = (int64_t)row;
    const int64_t x = at % m;
    const int64_t y = at / m % m;
    const int64_t z = at / (m * m);
    const bool all = g->kind == CARM_MATRIX_GRID27;
    uint32_t n = 0;
    for (int k = 0; k < GRID_NEIGHBOURS; k++) {
        const int dx = k % 3 - 1;
        const int dy = k / 3 % 3 - 1;
        const int dz = k / 9 - 1;
        const bool inside =
            x + dx >= 0 && x + dx < m && y + dy >= 0 && y + dy < m && z + dz >= 0 && z + dz < m;
        if (!inside || (!all && dx * dx + dy * dy + dz * dz > 1)) {
            continue;
        }
        if (column) {
            const bool centre = dx == 0 && dy == 0 && dz == 0;
            column[n] = (uint32_t)(at + dx + m * (dy + m * dz));
            value[n] = !centre ? -1.0 : all ? 26.0 : 6.0;
        }
        n++;
    }
    return n;
}

static uint32_t row_of(const struct generator *g, uint64_t row, uint32_t *column, double *value)
{
    switch (g->kind) {
    case CARM_MATRIX_FEM:
        return fem_row(g, row, column, value);
    case CARM_MATRIX_GRID7:
    case CARM_MATRIX_GRID27:
        return grid_row(g, row, column, value);
    case CARM_MATRIX_RANDOM:
        return scattered_row(g, row, g->per_row, column, value);
    case CARM_MATRIX_POWER:
    case CARM_MATRIX_KINDS:
        break;
    }
    return scattered_row(g, row, power_length(g, row), column, value);
}

uint32_t carm_matrix_edge(uint64_t rows)
{
    uint32_t m = (uint32_t)cbrt((double)rows);
    m = m > 1 ? m - 1 : 1;
    while ((uint64_t)m * m * m < rows) {
        m++;
    }
    return m;
}

/* A row's nonzeros on average, far from the boundary. */
static double mean_length(struct generator *g)
{
    double sum = 0.0;
    switch (g->kind) {
    case CARM_MATRIX_FEM:
        return (double)g->per_row * g->block;
    case CARM_MATRIX_GRID7:
        return 7.0;
    case CARM_MATRIX_GRID27:
        return 27.0;
    case CARM_MATRIX_RANDOM:
        return g->per_row;
    case CARM_MATRIX_POWER:
    case CARM_MATRIX_KINDS:
        break;
    }
    g->rows = POWER_SAMPLE;
    for (uint64_t row = 0; row < POWER_SAMPLE; row++) {
        sum += (double)power_length(g, row);
    }
    return sum / POWER_SAMPLE;
}

static double grid_nonzeros(enum carm_matrix_kind kind, double m)
{
    return kind == CARM_MATRIX_GRID27 ? (3 * m - 2) * (3 * m - 2) * (3 * m - 2)
                                      : 7 * m * m * m - 6 * m * m;
}

/* The least edge of a grid whose matrix takes so many bytes. */
static uint32_t grid_edge(enum carm_matrix_kind kind, double bytes)
{
    uint32_t m = 1;
    /* 7 nonzeros a row take 88 bytes: 2^20 along an edge are beyond any index */
    while (m < (1U << 20) &&
           carm_csr_bytes((double)m * m * m, grid_nonzeros(kind, (double)m)) < bytes) {
        m++;
    }
    return m;
}

static bool is_grid(enum carm_matrix_kind kind)
{
    return kind == CARM_MATRIX_GRID7 || kind == CARM_MATRIX_GRID27;
}

static int settle(struct generator *g, const struct carm_matrix_spec *spec, struct carm_err *err)
{
    static const unsigned usual[CARM_MATRIX_KINDS] = {[CARM_MATRIX_FEM] = FEM_BLOCKS,
                                                      [CARM_MATRIX_RANDOM] = RANDOM_ROW,
                                                      [CARM_MATRIX_POWER] = POWER_ROW};
    if ((unsigned)spec->kind >= CARM_MATRIX_KINDS || spec->block > 8 ||
        (spec->rows == 0 && spec->bytes == 0)) {
        return carm_fail(err, CARM_EINVAL,
                         "a generated matrix has a kind, its rows or its bytes, and blocks of 1 "
                         "to 8");
    }
    *g = (struct generator){.kind = spec->kind, .seed = spec->seed};
    g->per_row = spec->per_row ? spec->per_row : usual[spec->kind];
    g->block = spec->kind != CARM_MATRIX_FEM ? 1 : spec->block ? spec->block : 4;
    if (is_grid(g->kind)) {
        g->edge =
            spec->rows ? carm_matrix_edge(spec->rows) : grid_edge(g->kind, (double)spec->bytes);
        g->rows = (uint64_t)g->edge * g->edge * g->edge;
        return 0;
    }
    if (spec->rows) {
        g->rows = spec->rows;
    } else {
        const double row_bytes = carm_csr_bytes(1.0, mean_length(g)) - carm_csr_bytes(0.0, 0.0);
        g->rows = (uint64_t)ceil((double)spec->bytes / row_bytes);
    }
    /* whole blocks */
    g->rows = (g->rows + g->block - 1) / g->block * g->block;
    return 0;
}

const char *carm_matrix_kind_name(enum carm_matrix_kind kind)
{
    static const char *const names[CARM_MATRIX_KINDS] = {"fem", "grid7", "grid27", "random",
                                                         "power"};
    return names[kind];
}

int carm_matrix_generate(const struct carm_matrix_spec *spec, struct carm_csr *a,
                         struct carm_err *err)
{
    struct generator g = {.kind = spec->kind, .block = 1, .edge = 1};
    struct carm_csr made;
    uint64_t nonzeros = 0;
    int rc = settle(&g, spec, err);
    if (rc) {
        return rc;
    }
    const char *name = carm_matrix_kind_name(spec->kind);
    /* a size beyond all memory is refused before its rows are counted: each has a nonzero at least */
    const double least = carm_csr_bytes((double)g.rows, (double)g.rows);
    rc = carm_dwarf_fits(name, fmax(least, spec->rows ? 0.0 : (double)spec->bytes), err);
    if (rc) {
        return rc;
    }
    for (uint64_t row = 0; row < g.rows; row++) {
        nonzeros += row_of(&g, row, NULL, NULL);
    }
    rc = carm_csr_open(&made, name, g.rows, g.rows, nonzeros, err);
    if (rc) {
        return rc;
    }
    for (uint32_t row = 0; row < made.rows; row++) {
        const uint32_t at = made.start[row];
        made.start[row + 1] = at + row_of(&g, row, made.column + at, made.value + at);
    }
    *a = made;
    return 0;
}

double carm_matrix_grid_eigen(enum carm_matrix_kind kind, uint32_t edge, double *axis)
{
    /* long double: near their zeros sines of doubles have lost digits */
    const long double pi = acosl(-1.0L);
    long double sum = 0.0L;
    long double product = 1.0L;
    for (uint32_t d = 0; d < 3; d++) {
        const uint32_t mode = edge > d ? d + 1 : edge;
        const long double angle = mode * pi / (edge + 1.0L);
        for (uint32_t i = 0; i < edge; i++) {
            axis[d * edge + i] = (double)sinl(angle * (i + 1.0L));
        }
        sum += 2.0L * cosl(angle);
        product *= 1.0L + 2.0L * cosl(angle);
    }
    return (double)(kind == CARM_MATRIX_GRID27 ? 27.0L - product : 6.0L - sum);
}
