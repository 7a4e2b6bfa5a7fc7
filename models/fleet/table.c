/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/fleet/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Shares that a median of 8192 repetitions kept as a float cannot tell, and the spread from which on a
 * steadier roof has no more weight in its family. */
static const double resolution = 1e-4, steady = 1e-3;

static const double normal_95 = 1.959964;

struct maker {
    const struct carm_fleet_sheet *sheet;
    struct carm_fleet_table *table;
    double *v, *scratch; /* [n] */
    double *centre;      /* [nroofs] of y */
    double *spread;      /* [nroofs] of a typical node, its own error included */
    double *own2;        /* [nroofs] median square of own errors */
};

int carm_fleet_sheet_open(struct carm_fleet_sheet *sheet, size_t n, size_t nroofs,
                          struct carm_err *err)
{
    const size_t cells = n * nroofs;
    memset(sheet, 0, sizeof *sheet);
    sheet->n = n;
    sheet->nroofs = nroofs;
    sheet->roofs = calloc(nroofs + 1, sizeof(const struct carm_fleet_roof *));
    sheet->reference = calloc(nroofs + 1, sizeof *sheet->reference);
    sheet->y = calloc(cells + 1, sizeof *sheet->y);
    sheet->own = calloc(cells + 1, sizeof *sheet->own);
    sheet->rate = calloc(cells + 1, sizeof *sheet->rate);
    sheet->disturbed = calloc(cells + 1, sizeof *sheet->disturbed);
    if (!sheet->roofs || !sheet->reference || !sheet->y || !sheet->own || !sheet->rate ||
        !sheet->disturbed) {
        carm_fleet_sheet_close(sheet);
        return carm_fail(err, CARM_ENOMEM, "not enough memory to judge %zu nodes", n);
    }
    for (size_t i = 0; i < cells; i++) {
        sheet->y[i] = NAN;
    }
    return 0;
}

void carm_fleet_sheet_close(struct carm_fleet_sheet *sheet)
{
    free(sheet->roofs);
    free(sheet->reference);
    free(sheet->y);
    free(sheet->own);
    free(sheet->rate);
    free(sheet->disturbed);
}

static struct carm_fleet_test *test_at(struct carm_fleet_table *t, size_t node, size_t column)
{
    return &t->tests[node * t->ncolumns + column];
}

/* Fewer than three nodes do not tell which of them is off. */
static bool judges(const struct maker *m, size_t n)
{
    return n >= 3 || (m->sheet->change && n > 0);
}

/* ---- one roof ------------------------------------------------------------------------------------ */

static double floor_of(const struct maker *m, const struct carm_fleet_roof *roof)
{
    const double floor = carm_compare_floor(roof->noise, m->sheet->is_virtual) / normal_95;
    return m->sheet->change ? floor * sqrt(2.0) : floor;
}

static void find_extremes(const struct maker *m, size_t column, struct carm_fleet_column *c)
{
    float low = INFINITY;
    float high = -INFINITY;
    c->low = c->high = CARM_FLEET_NONE;
    for (size_t i = 0; i < m->sheet->n; i++) {
        const struct carm_fleet_test *t = test_at(m->table, i, column);
        if (isnan(t->share) || t->disturbed) {
            continue;
        }
        if (t->share < low) {
            low = t->share;
            c->low = (ptrdiff_t)i;
        }
        if (t->share > high) {
            high = t->share;
            c->high = (ptrdiff_t)i;
        }
    }
}

/* Centre and spread of roof j over its undisturbed nodes. returns how many these are */
static size_t centre_roof(struct maker *m, size_t j, struct carm_fleet_column *c)
{
    const struct carm_fleet_sheet *s = m->sheet;
    struct carm_fleet_centre own;
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const size_t at = i * s->nroofs + j;
        if (!isnan(s->y[at])) {
            c->ndisturbed += s->disturbed[at];
            if (!s->disturbed[at]) {
                m->v[n++] = (double)s->own[at] * (double)s->own[at];
            }
        }
    }
    if (n == 0) {
        return 0;
    }
    carm_fleet_centre(m->v, n, m->scratch, &own);
    n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const size_t at = i * s->nroofs + j;
        if (!isnan(s->y[at]) && !s->disturbed[at]) {
            m->v[n++] = s->y[at];
        }
    }
    carm_fleet_centre(m->v, n, m->scratch, &c->centre);
    m->own2[j] = own.median;
    m->centre[j] = c->centre.median;
    const double rest = c->centre.sigma * c->centre.sigma - own.median;
    c->sigma = rest > 0.0 ? sqrt(rest) : 0.0;
    if (n < CARM_FLEET_FEW) {
        c->sigma = fmax(c->sigma, floor_of(m, &c->roof));
        m->centre[j] = s->change ? 0.0 : m->centre[j];
    }
    m->spread[j] = fmax(sqrt(c->sigma * c->sigma + own.median), resolution);
    return n;
}

static void judge_roof(struct maker *m, size_t j)
{
    const struct carm_fleet_sheet *s = m->sheet;
    struct carm_fleet_column *c = &m->table->columns[j];
    c->roof = *s->roofs[j];
    const size_t n = centre_roof(m, j, c);
    for (size_t i = 0; i < s->n; i++) {
        struct carm_fleet_test *t = test_at(m->table, i, j);
        const size_t at = i * s->nroofs + j;
        const double own = s->own[at];
        t->share = t->z = t->p = t->q = NAN;
        t->rate = s->rate[at];
        t->disturbed = s->disturbed[at];
        if (n == 0 || isnan(s->y[at])) {
            continue;
        }
        const double d = (double)s->y[at] - m->centre[j];
        t->share = (float)expm1(d);
        if (judges(m, n)) {
            const double z = d / fmax(sqrt(c->sigma * c->sigma + own * own), resolution);
            t->z = (float)z;
            t->p = t->disturbed || c->roof.clock ? NAN : (float)carm_fleet_p(z, n);
        }
    }
    c->median = n ? s->reference[j] * exp(c->centre.median) : 0.0;
    find_extremes(m, j, c);
}

/* ---- a family ------------------------------------------------------------------------------------ */

/* Sums over the roofs of a family that one node has, undisturbed. */
struct sums {
    size_t n;
    double w, r; /* of 1/spread^2, 1/spread */
    double d;    /* weighted mean deviation */
    double more; /* variance of d by own errors above the usual */
};

/* Whether a roof is one of the family that c stands for. The DRAM peak is the best of the roofs that are in
 * it already; ceilings and clocks have none. */
static bool belongs(const struct carm_fleet_column *c, const struct carm_fleet_roof *roof)
{
    return *c->roof.family && strcmp(roof->family, c->roof.family) == 0 &&
           roof->kind != CARM_COMPARE_DRAM_PEAK && !roof->clock &&
           (c->roof.threads == 0 || roof->threads == c->roof.threads);
}

static bool in_family(const struct maker *m, size_t j, const struct carm_fleet_column *c)
{
    return belongs(c, m->sheet->roofs[j]) && judges(m, m->table->columns[j].centre.n);
}

static struct sums sum_node(const struct maker *m, size_t node, const struct carm_fleet_column *c)
{
    const struct carm_fleet_sheet *s = m->sheet;
    struct sums sums = {0, 0.0, 0.0, 0.0, 0.0};
    for (size_t j = 0; j < s->nroofs; j++) {
        const size_t at = node * s->nroofs + j;
        if (!in_family(m, j, c) || isnan(s->y[at]) || s->disturbed[at]) {
            continue;
        }
        const double spread = fmax(m->spread[j], steady);
        const double w = 1.0 / (spread * spread);
        const double own2 = (double)s->own[at] * (double)s->own[at];
        sums.n++;
        sums.w += w;
        sums.r += 1.0 / spread;
        sums.d += w * ((double)s->y[at] - m->centre[j]);
        sums.more += w * w * fmax(0.0, own2 - m->own2[j]);
    }
    if (sums.n) {
        sums.d /= sums.w;
        sums.more /= sums.w * sums.w;
    }
    return sums;
}

/* Variance of the weighted mean when all pairs of roofs have that correlation. */
static double mean_variance(const struct sums *s, double correlation)
{
    return ((1.0 - correlation) * s->w + correlation * s->r * s->r) / (s->w * s->w);
}

/* The mean correlation that gives a variance, within what there can be. */
static double correlation_of(const struct sums *s, double variance)
{
    const double span = s->r * s->r - s->w;
    const double correlation = span > 0.0 ? (variance * s->w * s->w - s->w) / span : 1.0;
    return fmin(fmax(correlation, 0.0), 1.0);
}

/* Gathers the means of nodes that have at least so many of the roofs into v. */
static size_t gather_means(const struct maker *m, const struct carm_fleet_column *c, size_t least,
                           struct sums *sample)
{
    size_t n = 0;
    for (size_t i = 0; i < m->sheet->n; i++) {
        const struct sums s = sum_node(m, i, c);
        if (s.n >= least) {
            *sample = s;
            m->v[n++] = s.d;
        }
    }
    return n;
}

static void judge_family(struct maker *m, size_t column)
{
    struct carm_fleet_column *c = &m->table->columns[column];
    const size_t n = m->sheet->n;
    struct sums sample = {0, 0.0, 0.0, 0.0, 0.0};
    double scale = 1.0;
    size_t have = gather_means(m, c, c->nroofs, &sample);
    if (have < CARM_FLEET_FEW || have < n / 2) {
        have = gather_means(m, c, 1, &sample);
    }
    c->correlation = 1.0;
    c->low = c->high = CARM_FLEET_NONE;
    if (have) {
        carm_fleet_centre(m->v, have, m->scratch, &c->centre);
    }
    if (have >= CARM_FLEET_FEW) {
        const double variance = c->centre.sigma * c->centre.sigma;
        c->correlation = correlation_of(&sample, variance);
        scale = fmax(variance, resolution * resolution) / mean_variance(&sample, c->correlation);
    }
    c->sigma = have ? sqrt(scale * mean_variance(&sample, c->correlation)) : 0.0;
    const double centre = have >= CARM_FLEET_FEW ? c->centre.median : 0.0;
    for (size_t i = 0; i < n; i++) {
        struct carm_fleet_test *t = test_at(m->table, i, column);
        const struct sums s = sum_node(m, i, c);
        t->share = t->z = t->p = t->q = NAN;
        if (s.n == 0) {
            continue;
        }
        const double z = (s.d - centre) / sqrt(scale * mean_variance(&s, c->correlation) + s.more);
        t->share = (float)expm1(s.d - centre);
        t->z = (float)z;
        t->p = (float)carm_fleet_p(z, have);
    }
    find_extremes(m, column, c);
}

/* Adds a family's column unless it is there, or has one roof only. returns whether it is there */
static bool add_family(struct maker *m, const struct carm_fleet_roof *roof, int threads)
{
    struct carm_fleet_table *t = m->table;
    struct carm_fleet_column c = {.family = true, .roof = *roof};
    c.roof.isa = c.roof.precision = c.roof.unit = "";
    c.roof.name = roof->family;
    c.roof.threads = threads;
    c.roof.kind = CARM_COMPARE_MEMORY;
    for (size_t k = m->sheet->nroofs; k < t->ncolumns; k++) {
        if (strcmp(t->columns[k].roof.family, roof->family) == 0 &&
            t->columns[k].roof.threads == threads) {
            return true;
        }
    }
    for (size_t i = 0; i < m->sheet->nroofs; i++) {
        c.nroofs += belongs(&c, m->sheet->roofs[i]);
    }
    if (c.nroofs > 1) {
        t->columns[t->ncolumns++] = c;
    }
    return c.nroofs > 1;
}

/* For each family a column of all its roofs, and where it was measured with several numbers of threads one
 * for each of them: a memory channel that lacks shows with all threads only. */
static void find_families(struct maker *m)
{
    const struct carm_fleet_sheet *s = m->sheet;
    for (size_t j = 0; j < s->nroofs; j++) {
        if (!add_family(m, s->roofs[j], 0)) {
            continue;
        }
        for (size_t i = 0; i < s->nroofs; i++) {
            if (s->roofs[i]->threads != s->roofs[j]->threads &&
                strcmp(s->roofs[i]->family, s->roofs[j]->family) == 0) {
                (void)add_family(m, s->roofs[j], s->roofs[j]->threads);
                (void)add_family(m, s->roofs[j], s->roofs[i]->threads);
            }
        }
    }
}

/* ---- a node -------------------------------------------------------------------------------------- */

void carm_fleet_adjust(const struct carm_fleet_table *table, size_t node, double *scratch,
                       size_t *order, double *adjusted)
{
    const size_t n = table->ncolumns;
    double *of_roofs = scratch + n;
    double *of_families = scratch + 2 * n;
    size_t tests[2] = {0, 0};
    for (int family = 0; family < 2; family++) {
        for (size_t j = 0; j < n; j++) {
            const bool mine = table->columns[j].family == (family == 1);
            scratch[j] = mine ? (double)carm_fleet_test_of(table, node, j)->p : NAN;
        }
        tests[family] = carm_fleet_bh(scratch, n, order, family ? of_families : of_roofs);
    }
    const double times = tests[0] && tests[1] ? 2.0 : 1.0;
    for (size_t j = 0; j < n; j++) {
        adjusted[j] = fmin(1.0, times * (table->columns[j].family ? of_families[j] : of_roofs[j]));
        if (isnan(table->columns[j].family ? of_families[j] : of_roofs[j])) {
            adjusted[j] = NAN;
        }
    }
}

static int judge_nodes(struct carm_fleet_table *table, struct carm_err *err)
{
    double *scratch = calloc(4 * table->ncolumns + 1, sizeof *scratch);
    size_t *order = calloc(table->ncolumns + 1, sizeof *order);
    if (!scratch || !order) {
        free(scratch);
        free(order);
        return carm_fail(err, CARM_ENOMEM, "not enough memory to judge %zu nodes", table->n);
    }
    double *adjusted = scratch + 3 * table->ncolumns;
    for (size_t i = 0; i < table->n; i++) {
        double p = NAN;
        carm_fleet_adjust(table, i, scratch, order, adjusted);
        for (size_t j = 0; j < table->ncolumns; j++) {
            p = fmin(p, adjusted[j]); /* NaN only when both are */
        }
        table->judged[i] = (struct carm_fleet_judged){.p = p, .q = NAN, .worst = CARM_FLEET_NONE};
    }
    free(scratch);
    free(order);
    return 0;
}

/* ---- all together -------------------------------------------------------------------------------- */

static int make(struct maker *m, struct carm_err *err)
{
    const struct carm_fleet_sheet *s = m->sheet;
    struct carm_fleet_table *t = m->table;
    t->n = s->n;
    t->ncolumns = s->nroofs;
    /* at most half as many families as roofs, and again for their numbers of threads */
    t->columns = calloc(2 * s->nroofs + 1, sizeof *t->columns);
    t->judged = calloc(s->n + 1, sizeof *t->judged);
    if (t->columns) {
        find_families(m);
        t->tests = calloc(s->n * t->ncolumns + 1, sizeof *t->tests);
    }
    if (!t->columns || !t->judged || !t->tests) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to judge %zu nodes", s->n);
    }
    for (size_t j = 0; j < s->nroofs; j++) {
        judge_roof(m, j);
    }
    for (size_t j = s->nroofs; j < t->ncolumns; j++) {
        judge_family(m, j);
    }
    return judge_nodes(t, err);
}

int carm_fleet_table_make(const struct carm_fleet_sheet *sheet, struct carm_fleet_table *table,
                          struct carm_err *err)
{
    const size_t n = sheet->n + 1;
    const size_t roofs = sheet->nroofs + 1;
    double *room = calloc(2 * n + 3 * roofs, sizeof *room);
    memset(table, 0, sizeof *table);
    if (!room) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to judge %zu nodes", sheet->n);
    }
    struct maker m = {.sheet = sheet,
                      .table = table,
                      .v = room,
                      .scratch = room + n,
                      .centre = room + 2 * n,
                      .spread = room + 2 * n + roofs,
                      .own2 = room + 2 * n + 2 * roofs};
    const int rc = make(&m, err);
    free(room);
    return rc;
}
