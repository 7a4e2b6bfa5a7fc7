/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a fleet's page shows of nodes that have several models. */
#include <math.h>

#include "plots/page/fleet/put.h"
#include "cli/fleet/show.h"
#include "base/number.h"
#include "base/json_write.h"

/* Values of earlier models that a page holds for one group, and models of one node: with more, the oldest
 * stay away. */
enum { VALUES_MOST = 1500000, MODELS_MOST = 64, MODELS_LEAST = 2 };

static size_t models_most(const struct carm_fleet_group *group)
{
    const size_t each = group->drift.n * group->now.ncolumns;
    const size_t most = each ? VALUES_MOST / each : 0;
    return most < MODELS_LEAST ? MODELS_LEAST : most > MODELS_MOST ? MODELS_MOST : most;
}

/* Roofs only, against the median of the group's newest models. */
static void put_model(FILE *out, const struct carm_fleet *fleet,
                      const struct carm_fleet_group *group, const struct carm_fleet_row *row)
{
    bool first = true;
    carm_json_put_string(out, row->time);
    (void)fputs(",[", out);
    for (size_t j = 0; j < group->now.ncolumns; j++) {
        const struct carm_fleet_column *c = &group->now.columns[j];
        if (c->family) {
            continue;
        }
        const struct carm_fleet_value *v = carm_fleet_value_of(row, carm_fleet_roof_of(fleet, c));
        (void)fputs(first ? "" : ",", out);
        first = false;
        carm_fleet_put_steps(out, v && c->median > 0.0 ? (double)v->rate / c->median - 1.0 : NAN,
                             1e-5);
    }
    (void)fputc(']', out);
}

/* "history": [[node, models in all, [time, [share by column]], ...], ...], newest first */
static void put_models(FILE *out, const struct carm_fleet *fleet,
                       const struct carm_fleet_group *group)
{
    const size_t most = models_most(group);
    bool first = true;
    (void)fputs(",\n\"history\":[", out);
    for (size_t i = 0; i < group->nnodes; i++) {
        const struct carm_fleet_node *node = &group->nodes[i];
        if (node->nrows < 2) {
            continue;
        }
        (void)fprintf(out, "%s[%zu,%zu", first ? "\n " : ",\n ", i, node->nrows);
        first = false;
        for (size_t k = 0; k < node->nrows && k < most; k++) {
            (void)fputs(",[", out);
            put_model(out, fleet, group, &fleet->rows[node->rows[k]]);
            (void)fputc(']', out);
        }
        (void)fputc(']', out);
    }
    (void)fputc(']', out);
}

static void put_label(FILE *out, const struct carm_fleet_column *c)
{
    char label[CARM_FLEET_LABEL_MAX];
    carm_fleet_put_member(out, "roof", carm_fleet_label(label, sizeof label, c, false));
}

/* Nodes whose own change is an outlier or suspect. */
static void put_drift(FILE *out, const struct carm_fleet_group *group)
{
    const struct carm_fleet_table *t = &group->drift;
    bool first = true;
    (void)fputs(",\n\"drift\":[", out);
    for (size_t i = 0; i < t->n; i++) {
        const struct carm_fleet_judged *judged = &t->judged[i];
        if (judged->verdict == CARM_FLEET_SOUND || judged->worst < 0) {
            continue;
        }
        const struct carm_fleet_test *test = carm_fleet_test_of(t, i, (size_t)judged->worst);
        (void)fprintf(out, "%s{\"node\":%zu,\"verdict\":\"%c\",\"chance\":", first ? "\n " : ",\n ",
                      group->drifting[i], ".umsf"[judged->verdict]);
        carm_fleet_put_chance(out, isnan(test->q) ? (double)test->p : (double)test->q);
        (void)fputs(",\"share\":", out);
        carm_fleet_put_steps(out, test->share, 1e-5);
        (void)fputs(",\"z\":", out);
        carm_fleet_put_steps(out, test->z, 1e-2);
        put_label(out, &t->columns[judged->worst]);
        (void)fputc('}', out);
        first = false;
    }
    (void)fputc(']', out);
}

/* Changes that the group's nodes share, as carm fleet show has them. */
static void put_shifts(FILE *out, const struct carm_fleet_report *report,
                       const struct carm_fleet_group *group)
{
    const struct carm_fleet_table *t = &group->drift;
    bool first = true;
    (void)fputs(",\n\"shifts\":[", out);
    for (size_t j = 0; j < t->ncolumns; j++) {
        const struct carm_fleet_column *c = &t->columns[j];
        const double share = expm1(c->centre.median);
        const double p = carm_fleet_shift_p(c) * (double)t->ncolumns;
        if (p > report->options.fdr || fabs(share) < report->options.min_share) {
            continue;
        }
        (void)fprintf(out, "%s{\"n\":%zu,\"share\":", first ? "\n " : ",\n ", c->centre.n);
        carm_fleet_put_steps(out, share, 1e-5);
        put_label(out, c);
        (void)fputc('}', out);
        first = false;
    }
    (void)fputc(']', out);
}

void carm_fleet_put_history(FILE *out, const struct carm_fleet_report *report,
                            const struct carm_fleet_group *group)
{
    put_models(out, report->fleet, group);
    put_drift(out, group);
    put_shifts(out, report, group);
}
