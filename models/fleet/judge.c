/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From groups to verdicts: the evidence of each roof and each family of roofs against each node,
 * and the control of false alarms over all groups. */
#include "models/fleet/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/fleet/nodes.h"

/* resolution: smallest spread, as a share: the resolution of a median of 8192 repetitions in a float. steady: spread
 * below which a roof gets no more weight in its family. */
static const double resolution = 1e-4, steady = 1e-3;

/* the 97.5% quantile of the standard normal distribution */
static const double normal_95 = 1.959964;

/* The standard error of a figure from rounds over half its interval. The interval is for a difference between two runs,
 * from four batches (models/rounds.h); 3.182446 is Student's t. */
static const double error_of_rounds = 1.0 / (3.182446 * M_SQRT2);

/* The data of a table: n nodes by nroofs roofs. */
struct sheet {
    size_t n, nroofs;
    const struct carm_fleet_roof **roofs; /* [nroofs] */
    double *reference;                    /* [nroofs] reference rate of y */
    float *y;                             /* [n * nroofs] ln(rate / reference); NaN = none */
    float *own;                           /* standard error of y */
    float *rate;
    bool *disturbed;
    bool *without;   /* [nroofs] whether a value is not from rounds */
    bool change;     /* y is a change over time: 0 is the centre where nodes are few */
    bool is_virtual; /* for carm_compare_floor */
};

struct maker {
    const struct sheet *sheet;
    struct carm_fleet_table *table;
    double *v, *scratch; /* [n] */
    double *centre;      /* [nroofs] of y */
    double *spread;      /* [nroofs] of a typical node, with its own error */
    double *own2;        /* [nroofs] median square of own errors */
};

static void sheet_close(struct sheet *sheet)
{
    free(sheet->roofs);
    free(sheet->reference);
    free(sheet->y);
    free(sheet->own);
    free(sheet->rate);
    free(sheet->disturbed);
    free(sheet->without);
}

/* To be released with sheet_close. */
static int sheet_open(struct sheet *sheet, size_t n, size_t nroofs, struct carm_err *err)
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
    sheet->without = calloc(nroofs + 1, sizeof *sheet->without);
    if (!sheet->roofs || !sheet->reference || !sheet->y || !sheet->own || !sheet->rate ||
        !sheet->disturbed || !sheet->without) {
        sheet_close(sheet);
        carm_fail(err, CARM_ENOMEM, "not enough memory to judge %zu nodes", n);
        return -CARM_ENOMEM;
    }
    for (size_t i = 0; i < cells; i++) {
        sheet->y[i] = NAN;
    }
    return 0;
}

static struct carm_fleet_test *test_at(struct carm_fleet_table *t, size_t node, size_t column)
{
    return &t->tests[node * t->ncolumns + column];
}

/* Whether n nodes can be judged: with fewer than three, the deviating node is unknown. */
static bool judges(const struct maker *m, size_t n)
{
    return n >= 3 || (m->sheet->change && n > 0);
}

/* ---- one roof ---- */

static double floor_of(const struct maker *m, size_t j)
{
    const struct sheet *s = m->sheet;
    const bool is_virtual = s->is_virtual && s->without[j];
    const double floor = carm_compare_floor(s->roofs[j]->noise, is_virtual) / normal_95;
    return m->sheet->change ? floor * sqrt(2.0) : floor;
}

/* The smallest spread between builds that is assumed for n nodes, beyond their own errors.
 * A spread estimated from few nodes is often too small: five nodes that agreed by chance made a sixth an outlier at 16%
 * of memory's bandwidth. */
static double least_spread(const struct maker *m, size_t j, size_t n)
{
    enum { MANY = 20 }; /* from 8 degrees of freedom (carm_fleet_p) the estimate suffices */
    const struct sheet *s = m->sheet;
    const double between = n < MANY && !s->without[j]
                               ? carm_compare_between(s->roofs[j]->noise, s->is_virtual, true)
                               : 0.0;
    const double unseen = (s->change ? 2.0 : 1.0) * between * between - m->own2[j];
    const double least = unseen > 0.0 ? sqrt(unseen) : 0.0;
    return n < CARM_FLEET_FEW ? fmax(least, floor_of(m, j)) : least;
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

/* Centre and spread of roof j over its undisturbed nodes. returns their number */
static size_t centre_roof(struct maker *m, size_t j, struct carm_fleet_column *c)
{
    const struct sheet *s = m->sheet;
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
    c->sigma = fmax(c->sigma, least_spread(m, j, n));
    if (n < CARM_FLEET_FEW) {
        m->centre[j] = s->change ? 0.0 : m->centre[j];
    }
    m->spread[j] = fmax(sqrt(c->sigma * c->sigma + own.median), resolution);
    return n;
}

static void judge_roof(struct maker *m, size_t j)
{
    const struct sheet *s = m->sheet;
    struct carm_fleet_column *c = &m->table->columns[j];
    c->roof = *s->roofs[j];
    const size_t n = centre_roof(m, j, c);
    for (size_t i = 0; i < s->n; i++) {
        struct carm_fleet_test *t = test_at(m->table, i, j);
        const size_t at = i * s->nroofs + j;
        /* An interval from rounds is itself an estimate from few rounds. An interval that is narrow
         * by chance must not make a node an outlier. */
        const double own2 = fmax((double)s->own[at] * (double)s->own[at], m->own2[j]);
        t->share = t->z = t->p = t->q = NAN;
        t->rate = s->rate[at];
        t->disturbed = s->disturbed[at];
        if (n == 0 || isnan(s->y[at])) {
            continue;
        }
        const double d = (double)s->y[at] - m->centre[j];
        t->share = (float)expm1(d);
        if (judges(m, n)) {
            const double z = d / fmax(sqrt(c->sigma * c->sigma + own2), resolution);
            t->z = (float)z;
            t->p = t->disturbed || c->roof.clock ? NAN : (float)carm_fleet_p(z, n);
        }
    }
    c->median = n ? s->reference[j] * exp(c->centre.median) : 0.0;
    find_extremes(m, j, c);
}

/* ---- a family ---- */

/* Sums over a node's undisturbed roofs of a family. */
struct sums {
    size_t n;
    double w, r; /* of 1/spread^2, 1/spread */
    double d;    /* weighted mean deviation */
    double more; /* variance of d by own errors above the median error */
};

/* Whether a roof belongs to the family of column c. The DRAM peak does not, as it is the best of the family's roofs;
 * ceilings and clocks have no family. */
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
    const struct sheet *s = m->sheet;
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

/* Variance of the weighted mean if all pairs of roofs have this correlation. */
static double mean_variance(const struct sums *s, double correlation)
{
    return ((1.0 - correlation) * s->w + correlation * s->r * s->r) / (s->w * s->w);
}

/* The mean correlation that gives a variance, limited to its possible range. */
static double correlation_of(const struct sums *s, double variance)
{
    const double span = s->r * s->r - s->w;
    const double correlation = span > 0.0 ? (variance * s->w * s->w - s->w) / span : 1.0;
    return fmin(fmax(correlation, 0.0), 1.0);
}

/* Gathers the means of nodes with at least `least` of the roofs into v. */
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

/* Adds a family's column, if it is new and has several roofs. returns whether the column exists */
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

/* Adds a column of all roofs of each family, and one for each of several numbers of threads: a
 * missing memory channel shows only with all threads. */
static void find_families(struct maker *m)
{
    const struct sheet *s = m->sheet;
    for (size_t j = 0; j < s->nroofs; j++) {
        if (!add_family(m, s->roofs[j], 0)) {
            continue;
        }
        for (size_t i = 0; i < s->nroofs; i++) {
            if (s->roofs[i]->threads != s->roofs[j]->threads &&
                strcmp(s->roofs[i]->family, s->roofs[j]->family) == 0) {
                add_family(m, s->roofs[j], s->roofs[j]->threads);
                add_family(m, s->roofs[j], s->roofs[i]->threads);
            }
        }
    }
}

/* ---- a node ---- */

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
            p = fmin(p, adjusted[j]); /* NaN only if both are NaN */
        }
        table->judged[i] = (struct carm_fleet_judged){.p = p, .q = NAN, .worst = CARM_FLEET_NONE};
    }
    free(scratch);
    free(order);
    return 0;
}

/* ---- the table of a group ---- */

static int make(struct maker *m, struct carm_err *err)
{
    const struct sheet *s = m->sheet;
    struct carm_fleet_table *t = m->table;
    t->n = s->n;
    t->ncolumns = s->nroofs;
    /* room: at most half as many families as roofs, twice, as families also exist by number of
     * threads */
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

/* Fills columns, tests (all but q and flagged) and the p of each node.
 *
 * A roof: deviation from the median over sqrt(spread^2 + own error^2), where the spread is that of the
 * nodes (1.4826 MAD) less the median of their own errors, and the own error is that median at least. For fewer than
 * CARM_FLEET_FEW nodes carm_compare_floor gives the spread: that of a physical machine if all figures are from rounds.
 * Fewer than three nodes are not judged, but their changes are.
 *
 * A family (a level with all numbers of threads, and with each; the computation): the mean of its roofs' deviations,
 * weighted by 1/spread^2: the most sensitive test for roofs that are all slower by the same share. Its spread is
 * measured like a roof's, which includes the correlation of its roofs; for nodes without some of the roofs it is scaled
 * by the mean correlation that it implies.
 *
 * A node: the smaller of Simes' p of its families and of its roofs, doubled.
 * source: Simes 1986, "An improved Bonferroni procedure for multiple tests of significance"
 * returns 0 or -CARM_ENOMEM */
static int table_make(const struct sheet *sheet, struct carm_fleet_table *table,
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

/* ---- sheets ---- */

/* The roofs that the newest rows of n nodes have.
 * ids  [fleet->nroofs] out
 * returns how many */
static size_t list_roofs(const struct carm_fleet *fleet, const struct carm_fleet_group *group,
                         uint32_t *ids)
{
    size_t n = 0;
    memset(ids, 0, fleet->nroofs * sizeof *ids);
    for (size_t i = 0; i < group->nnodes; i++) {
        const struct carm_fleet_row *row = &fleet->rows[group->nodes[i].rows[0]];
        for (size_t k = 0; k < row->nvalues; k++) {
            ids[row->values[k].roof] = 1;
        }
    }
    for (uint32_t r = 0; r < fleet->nroofs; r++) {
        if (ids[r]) {
            ids[n++] = r; /* n <= r: the list replaces the marks in place */
        }
    }
    return n;
}

/* Turns intervals from rounds into standard errors where the nodes' spread can be estimated, as the
 * spread includes the variation between runs. With few nodes only the intervals show this
 * variation, so they are used unchanged. */
static void scale_own(struct sheet *s)
{
    for (size_t j = 0; j < s->nroofs; j++) {
        size_t n = 0;
        for (size_t i = 0; i < s->n; i++) {
            const size_t at = i * s->nroofs + j;
            n += !isnan(s->y[at]) && !s->disturbed[at];
        }
        for (size_t i = 0; i < s->n && n >= CARM_FLEET_FEW && !s->without[j]; i++) {
            s->own[i * s->nroofs + j] *= (float)(normal_95 * error_of_rounds);
        }
    }
}

static bool has_rounds(const struct carm_fleet_row *row, const struct carm_fleet_roof *roof)
{
    return row->rounds && roof->kind != CARM_COMPARE_CEILING && !roof->clock;
}

static void set_cell(struct sheet *s, size_t node, size_t j, double y, double own, double rate,
                     bool disturbed)
{
    const size_t at = node * s->nroofs + j;
    s->y[at] = (float)y;
    s->own[at] = (float)own;
    s->rate[at] = (float)rate;
    s->disturbed[at] = disturbed;
}

static void fill_now(const struct carm_fleet *fleet, const struct carm_fleet_group *group,
                     const uint32_t *ids, struct sheet *s)
{
    for (size_t j = 0; j < s->nroofs; j++) {
        s->roofs[j] = &fleet->roofs[ids[j]];
        for (size_t i = 0; i < s->n; i++) {
            const struct carm_fleet_row *row = &fleet->rows[group->nodes[i].rows[0]];
            const struct carm_fleet_value *v = carm_fleet_value_of(row, ids[j]);
            if (v) {
                s->without[j] |= !has_rounds(row, s->roofs[j]);
                s->reference[j] = s->reference[j] > 0.0 ? s->reference[j] : (double)v->rate;
                set_cell(s, i, j, log((double)v->rate / s->reference[j]), v->own, v->rate,
                         v->disturbed);
            }
        }
    }
}

/* ln(newest / median of the earlier, undisturbed values). The error of a median of k values is
 * at most that of their mean times sqrt(pi/2). */
static void fill_change(const struct carm_fleet *fleet, const struct carm_fleet_node *node,
                        uint32_t roof, struct sheet *s, size_t i, size_t j, double *earlier)
{
    const struct carm_fleet_value *now = carm_fleet_value_of(&fleet->rows[node->rows[0]], roof);
    struct carm_fleet_centre centre;
    double own2 = 0.0;
    size_t n = 0;
    for (size_t k = 1; now && k < node->nrows; k++) {
        const struct carm_fleet_row *row = &fleet->rows[node->rows[k]];
        const struct carm_fleet_value *v = carm_fleet_value_of(row, roof);
        if (v && !v->disturbed) {
            s->without[j] |= !has_rounds(row, s->roofs[j]);
            earlier[n++] = log((double)v->rate);
            own2 += (double)v->own * (double)v->own;
        }
    }
    if (!now || n == 0) {
        return;
    }
    carm_fleet_centre(earlier, n, earlier + n, &centre);
    own2 *= (n > 2 ? 1.5708 : 1.0) / ((double)n * (double)n);
    s->without[j] |= !has_rounds(&fleet->rows[node->rows[0]], s->roofs[j]);
    set_cell(s, i, j, log((double)now->rate) - centre.median,
             sqrt((double)now->own * (double)now->own + own2), now->rate, now->disturbed);
    s->reference[j] = 1.0;
}

static int judge_drift(const struct carm_fleet *fleet, struct carm_fleet_group *group,
                       const uint32_t *ids, size_t nroofs, struct carm_err *err)
{
    struct sheet s;
    size_t n = 0;
    size_t most = 0;
    group->drifting = calloc(group->nnodes, sizeof *group->drifting);
    for (size_t i = 0; group->drifting && i < group->nnodes; i++) {
        struct carm_fleet_node *node = &group->nodes[i];
        if (node->nrows > 1) {
            node->drift = (ptrdiff_t)n;
            group->drifting[n++] = i;
            most = node->nrows > most ? node->nrows : most;
        }
    }
    double *earlier = calloc(2 * most + 1, sizeof *earlier);
    if (!group->drifting || !earlier) {
        free(earlier);
        return carm_fail(err, CARM_ENOMEM, "not enough memory to judge %zu nodes", group->nnodes);
    }
    int rc = n ? sheet_open(&s, n, nroofs, err) : 0;
    if (n && rc == 0) {
        s.change = true;
        s.is_virtual = *group->machine.hypervisor != '\0';
        for (size_t j = 0; j < nroofs; j++) {
            s.roofs[j] = &fleet->roofs[ids[j]];
            for (size_t i = 0; i < n; i++) {
                fill_change(fleet, &group->nodes[group->drifting[i]], ids[j], &s, i, j, earlier);
            }
        }
        scale_own(&s);
        rc = table_make(&s, &group->drift, err);
        sheet_close(&s);
    }
    free(earlier);
    return rc;
}

static int judge_group(const struct carm_fleet *fleet, struct carm_fleet_group *group,
                       uint32_t *ids, struct carm_err *err)
{
    struct sheet s;
    const size_t nroofs = list_roofs(fleet, group, ids);
    int rc = sheet_open(&s, group->nnodes, nroofs, err);
    if (rc) {
        return rc;
    }
    s.is_virtual = *group->machine.hypervisor != '\0';
    fill_now(fleet, group, ids, &s);
    scale_own(&s);
    rc = table_make(&s, &group->now, err);
    sheet_close(&s);
    return rc ? rc : judge_drift(fleet, group, ids, nroofs, err);
}

/* ---- verdicts ---- */

/* The control of false alarms in one kind of table (now, or drift) over all groups. */
struct control {
    struct carm_fleet *fleet;
    bool drift;
    double fdr, min_share;
    size_t ntests;    /* nodes that were judged */
    size_t nrejected; /* rejected among them */
};

static struct carm_fleet_table *table_of(const struct control *c, size_t group)
{
    return c->drift ? &c->fleet->groups[group].drift : &c->fleet->groups[group].now;
}

static int control_nodes(struct control *c, struct carm_err *err)
{
    size_t n = 0;
    size_t at = 0;
    for (size_t g = 0; g < c->fleet->ngroups; g++) {
        n += table_of(c, g)->n;
    }
    double *p = calloc(2 * n + 1, sizeof *p);
    size_t *order = calloc(n + 1, sizeof *order);
    if (!p || !order) {
        free(p);
        free(order);
        return carm_fail(err, CARM_ENOMEM, "not enough memory to judge %zu nodes", n);
    }
    for (size_t g = 0; g < c->fleet->ngroups; g++) {
        for (size_t i = 0; i < table_of(c, g)->n; i++) {
            p[at++] = table_of(c, g)->judged[i].p;
        }
    }
    c->ntests = carm_fleet_bh(p, n, order, p + n);
    at = n;
    for (size_t g = 0; g < c->fleet->ngroups; g++) {
        for (size_t i = 0; i < table_of(c, g)->n; i++) {
            table_of(c, g)->judged[i].q = p[at];
            c->nrejected += p[at++] <= c->fdr;
        }
    }
    free(p);
    free(order);
    return 0;
}

/* The most certain deviation of a node that is large enough. */
static ptrdiff_t worst_of(struct carm_fleet_table *t, size_t node, bool flagged, bool slow,
                          double min_share)
{
    ptrdiff_t worst = CARM_FLEET_NONE;
    float most = -1.0F;
    for (size_t j = 0; j < t->ncolumns; j++) {
        const struct carm_fleet_test *test = test_at(t, node, j);
        if (isnan(test->p) || (flagged && !test->flagged) || (slow && test->share >= 0.0F) ||
            fabs((double)test->share) < min_share) {
            continue;
        }
        if (fabsf(test->z) > most) {
            most = fabsf(test->z);
            worst = (ptrdiff_t)j;
        }
    }
    return worst;
}

static void decide(const struct control *c, struct carm_fleet_table *t, size_t node)
{
    struct carm_fleet_judged *judged = &t->judged[node];
    judged->worst = worst_of(t, node, true, true, c->min_share);
    if (judged->worst >= 0) {
        judged->verdict = CARM_FLEET_SLOW;
        return;
    }
    judged->worst = worst_of(t, node, true, false, c->min_share);
    if (judged->worst >= 0) {
        judged->verdict = CARM_FLEET_FAST;
        return;
    }
    if (judged->q <= c->fdr) {
        judged->verdict = CARM_FLEET_SMALL;
        return;
    }
    if (judged->p <= CARM_FLEET_SUSPECT) {
        judged->worst = worst_of(t, node, false, false, c->min_share);
        judged->verdict = judged->worst >= 0 ? CARM_FLEET_SUSPECT_NODE : CARM_FLEET_SOUND;
    }
}

/* Flags the roofs of an outlier that are significant at fdr times the share of rejected nodes. This
 * keeps the average share of false roofs over the selected nodes.
 * source: Benjamini and Bogomolov 2014, "Selective inference on multiple families of hypotheses" */
static void flag_node(const struct control *c, struct carm_fleet_table *t, size_t node,
                      double *scratch, size_t *order)
{
    double *adjusted = scratch + 3 * t->ncolumns;
    const double q_node = t->judged[node].q;
    const double rejected = c->nrejected ? (double)c->nrejected : 1.0;
    carm_fleet_adjust(t, node, scratch, order, adjusted);
    for (size_t j = 0; j < t->ncolumns; j++) {
        struct carm_fleet_test *test = test_at(t, node, j);
        if (isnan(adjusted[j])) {
            continue;
        }
        const double q = fmin(1.0, fmax(q_node, adjusted[j] * (double)c->ntests / rejected));
        test->q = (float)q;
        test->flagged = q <= c->fdr && fabs((double)test->share) >= c->min_share;
    }
}

static int control_table(const struct control *c, struct carm_fleet_table *t, struct carm_err *err)
{
    double *scratch = calloc(4 * t->ncolumns + 1, sizeof *scratch);
    size_t *order = calloc(t->ncolumns + 1, sizeof *order);
    if (!scratch || !order) {
        free(scratch);
        free(order);
        return carm_fail(err, CARM_ENOMEM, "not enough memory to judge %zu nodes", t->n);
    }
    for (size_t i = 0; i < t->n; i++) {
        if (!isnan(t->judged[i].p)) {
            flag_node(c, t, i, scratch, order);
            decide(c, t, i);
        }
    }
    free(scratch);
    free(order);
    return 0;
}

static int control(struct control *c, struct carm_err *err)
{
    int rc = control_nodes(c, err);
    for (size_t g = 0; g < c->fleet->ngroups && rc == 0; g++) {
        rc = control_table(c, table_of(c, g), err);
    }
    return rc;
}

int carm_fleet_judge(struct carm_fleet *fleet, const struct carm_fleet_options *options,
                     struct carm_err *err)
{
    struct carm_fleet_found *found = NULL;
    size_t nfound = 0;
    int rc = carm_fleet_find_nodes(fleet, &found, &nfound, err);
    rc = rc ? rc : carm_fleet_make_groups(fleet, found, nfound, err);
    free(found);
    uint32_t *ids = calloc(fleet->nroofs + 1, sizeof *ids);
    if (!ids) {
        return rc ? rc : carm_fail(err, CARM_ENOMEM, "not enough memory for a fleet's roofs");
    }
    for (size_t g = 0; g < fleet->ngroups && rc == 0; g++) {
        rc = judge_group(fleet, &fleet->groups[g], ids, err);
    }
    free(ids);
    struct control now = {.fleet = fleet, .fdr = options->fdr, .min_share = options->min_share};
    struct control drift = now;
    drift.drift = true;
    rc = rc ? rc : control(&now, err);
    rc = rc ? rc : control(&drift, err);
    fleet->njudged = now.ntests;
    fleet->ndrifting = drift.ntests;
    return rc;
}
