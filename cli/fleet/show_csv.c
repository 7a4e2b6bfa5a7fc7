/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fleet as CSV: a row for each node and roof, and for each node and family of roofs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fleet/show.h"
#include "base/csv.h"
#include "base/outfile.h"

/* Empty where it is not known. */
static void put_number(FILE *out, double v, int digits)
{
    if (isnan(v)) {
        (void)fputc(',', out);
    } else {
        (void)fprintf(out, ",%.*g", digits, v);
    }
}

static void put_row(FILE *out, const struct carm_fleet_page *page, size_t g, size_t i, size_t j)
{
    const struct carm_fleet_group *group = &page->fleet->groups[g];
    const struct carm_fleet_node *node = &group->nodes[i];
    const struct carm_fleet_column *c = &group->now.columns[j];
    const struct carm_fleet_test *t = carm_fleet_test_of(&group->now, i, j);
    const struct carm_fleet_judged *judged = &group->now.judged[i];
    (void)fprintf(out, "%zu,", g + 1);
    carm_csv_put_clean(out, node->name);
    (void)fputc(',', out);
    carm_csv_put_clean(out, page->fleet->rows[node->rows[0]].time);
    (void)fputc(',', out);
    carm_csv_put_clean(out, c->roof.isa);
    (void)fputc(',', out);
    carm_csv_put_clean(out, c->roof.precision);
    (void)fprintf(out, ",%d,%s,", c->roof.threads,
                  c->family       ? "level"
                  : c->roof.clock ? "clock"
                                  : carm_compare_kind_name(c->roof.kind));
    carm_csv_put_clean(out, c->roof.name);
    (void)fprintf(out, ",%s", c->roof.unit);
    put_number(out, c->family ? NAN : (double)t->rate, 7);
    put_number(out, c->family || c->centre.n == 0 ? NAN : c->median, 7);
    put_number(out, 100.0 * c->sigma, 4);
    put_number(out, 100.0 * (double)t->share, 5);
    put_number(out, t->z, 5);
    put_number(out, t->p, 4);
    put_number(out, t->q, 4);
    (void)fprintf(out, ",%d,%d", t->disturbed, t->flagged);
    put_number(out, judged->p, 4);
    put_number(out, judged->q, 4);
    (void)fprintf(out, ",%s\n", carm_fleet_verdict_name(judged->verdict));
}

static int put_all(FILE *out, const void *context, struct carm_err *err)
{
    const struct carm_fleet_page *page = context;
    (void)err;
    (void)fputs("group,node,time,isa,precision,threads,kind,name,unit,value,median,spread_percent,"
                "off_percent,z,p,q,disturbed,flag,node_p,node_q,verdict\n",
                out);
    for (size_t g = 0; g < page->fleet->ngroups; g++) {
        const struct carm_fleet_table *t = &page->fleet->groups[g].now;
        for (size_t i = 0; i < t->n && carm_fleet_wants_group(page, g); i++) {
            for (size_t j = 0; j < t->ncolumns; j++) {
                if (!isnan(carm_fleet_test_of(t, i, j)->share) &&
                    carm_fleet_wants_column(page, &t->columns[j])) {
                    put_row(out, page, g, i, j);
                }
            }
        }
    }
    return 0;
}

int carm_fleet_put_csv(const struct carm_fleet_page *page, const char *path, struct carm_err *err)
{
    return carm_outfile_print(path, put_all, page, err);
}
