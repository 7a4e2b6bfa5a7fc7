/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From groups to verdicts: their tables, and the control of false alarms over all of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/fleet/nodes.h"
#include "models/fleet/table.h"

/* ---- sheets ------------------------------------------------------------------------------------- */

static int by_roof(const void *key, const void *value)
{
    const uint32_t roof = *(const uint32_t *)key;
    const struct carm_fleet_value *v = value;
    return (roof > v->roof) - (roof < v->roof);
}

static const struct carm_fleet_value *find_value(const struct carm_fleet_row *row, uint32_t roof)
{
    return row->nvalues ? bsearch(&roof, row->values, row->nvalues, sizeof *row->values, by_roof)
                        : NULL;
}

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
            ids[n++] = r; /* n <= r: what it covers was looked at */
        }
    }
    return n;
}

static void set_cell(struct carm_fleet_sheet *s, size_t node, size_t j, double y, double own,
                     double rate, bool disturbed)
{
    const size_t at = node * s->nroofs + j;
    s->y[at] = (float)y;
    s->own[at] = (float)own;
    s->rate[at] = (float)rate;
    s->disturbed[at] = disturbed;
}

static void fill_now(const struct carm_fleet *fleet, const struct carm_fleet_group *group,
                     const uint32_t *ids, struct carm_fleet_sheet *s)
{
    for (size_t j = 0; j < s->nroofs; j++) {
        s->roofs[j] = &fleet->roofs[ids[j]];
        for (size_t i = 0; i < s->n; i++) {
            const struct carm_fleet_value *v =
                find_value(&fleet->rows[group->nodes[i].rows[0]], ids[j]);
            if (v) {
                s->reference[j] = s->reference[j] > 0.0 ? s->reference[j] : (double)v->rate;
                set_cell(s, i, j, log((double)v->rate / s->reference[j]), v->own, v->rate,
                         v->disturbed);
            }
        }
    }
}

/* ln(newest / median of the earlier ones that were not disturbed). The error of a median of k is that of
 * their mean times sqrt(pi/2) at most. */
static void fill_change(const struct carm_fleet *fleet, const struct carm_fleet_node *node,
                        uint32_t roof, struct carm_fleet_sheet *s, size_t i, size_t j,
                        double *earlier)
{
    const struct carm_fleet_value *now = find_value(&fleet->rows[node->rows[0]], roof);
    struct carm_fleet_centre centre;
    double own2 = 0.0;
    size_t n = 0;
    for (size_t k = 1; now && k < node->nrows; k++) {
        const struct carm_fleet_value *v = find_value(&fleet->rows[node->rows[k]], roof);
        if (v && !v->disturbed) {
            earlier[n++] = log((double)v->rate);
            own2 += (double)v->own * (double)v->own;
        }
    }
    if (!now || n == 0) {
        return;
    }
    carm_fleet_centre(earlier, n, earlier + n, &centre);
    own2 *= (n > 2 ? 1.5708 : 1.0) / ((double)n * (double)n);
    set_cell(s, i, j, log((double)now->rate) - centre.median,
             sqrt((double)now->own * (double)now->own + own2), now->rate, now->disturbed);
    s->reference[j] = 1.0;
}

static int judge_drift(const struct carm_fleet *fleet, struct carm_fleet_group *group,
                       const uint32_t *ids, size_t nroofs, struct carm_err *err)
{
    struct carm_fleet_sheet s;
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
    int rc = n ? carm_fleet_sheet_open(&s, n, nroofs, err) : 0;
    if (n && rc == 0) {
        s.change = true;
        s.is_virtual = *group->machine.hypervisor != '\0';
        for (size_t j = 0; j < nroofs; j++) {
            s.roofs[j] = &fleet->roofs[ids[j]];
            for (size_t i = 0; i < n; i++) {
                fill_change(fleet, &group->nodes[group->drifting[i]], ids[j], &s, i, j, earlier);
            }
        }
        rc = carm_fleet_table_make(&s, &group->drift, err);
        carm_fleet_sheet_close(&s);
    }
    free(earlier);
    return rc;
}

static int judge_group(const struct carm_fleet *fleet, struct carm_fleet_group *group,
                       uint32_t *ids, struct carm_err *err)
{
    struct carm_fleet_sheet s;
    const size_t nroofs = list_roofs(fleet, group, ids);
    int rc = carm_fleet_sheet_open(&s, group->nnodes, nroofs, err);
    if (rc) {
        return rc;
    }
    s.is_virtual = *group->machine.hypervisor != '\0';
    fill_now(fleet, group, ids, &s);
    rc = carm_fleet_table_make(&s, &group->now, err);
    carm_fleet_sheet_close(&s);
    return rc ? rc : judge_drift(fleet, group, ids, nroofs, err);
}

/* ---- verdicts ------------------------------------------------------------------------------------ */

/* The control of one kind of table (now, or drift) over all groups. */
struct control {
    struct carm_fleet *fleet;
    bool drift;
    double fdr, min_share;
    size_t ntests;    /* nodes that were judged */
    size_t nrejected; /* of these */
};

static struct carm_fleet_table *table_of(const struct control *c, size_t group)
{
    return c->drift ? &c->fleet->groups[group].drift : &c->fleet->groups[group].now;
}

static struct carm_fleet_test *test_at(struct carm_fleet_table *t, size_t node, size_t column)
{
    return &t->tests[node * t->ncolumns + column];
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

/* The most certain of a node's deviations that matter. */
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

/* Which roofs of an outlier accuse it: those that are significant at fdr times the share of nodes that were
 * rejected, so that the average share of false ones holds over the nodes that were selected.
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
