/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/sol.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plots/ceilings.h"
#include "plots/gnuplot.h"

enum {
    NAME_LETTERS = 22,
    LAYERS_MAX = 8, /* with more points, their names would hide the plot */
};

static void put_ceiling(struct carm_ceiling *list, size_t *n, const char *name, double rate,
                        bool aside)
{
    if (rate > 0.0 && *n < CARM_CEILINGS_MAX) {
        struct carm_ceiling *r = &list[(*n)++];
        memset(r, 0, sizeof *r);
        carm_text_clean(r->name, sizeof r->name, name, false);
        r->rate = rate;
        r->ci95 = (struct carm_ci){rate, rate};
        r->aside = aside;
    }
}

static int by_rate(const void *a, const void *b)
{
    const struct carm_ceiling *x = a, *y = b;
    return (x->rate > y->rate) - (x->rate < y->rate);
}

/* Makes the ceilings. The chain has DRAM and the contractions' peak, the limits of the guide's
 * estimates. The levels on the chip and the other operations are ceilings aside. */
static void make_ceilings(const struct carm_sol_view *v, struct carm_ceilings *out)
{
    const struct carm_sol_arch *a = v->arch;
    const double hz = a->freq_ghz * 1e9;
    char peak[CARM_NAME_MAX];
    memset(out, 0, sizeof *out);
    carm_text_clean(out->title, sizeof out->title, a->name, false);
    snprintf(out->metric, sizeof out->metric, "flop");
    snprintf(peak, sizeof peak, "%s contractions", carm_sol_precision_name(v->precision));
    put_ceiling(out->memory, &out->nmemory, "DRAM", a->dram_byte_per_cycle * hz, false);
    for (size_t i = 0; i < a->nlevels; i++) {
        put_ceiling(out->memory, &out->nmemory, a->levels[i].name, a->levels[i].byte_per_cycle * hz,
                    true);
    }
    put_ceiling(out->compute, &out->ncompute, peak, 2.0 * a->mac_per_cycle[v->precision] * hz,
                false);
    put_ceiling(out->compute, &out->ncompute, "other operations",
                a->other_per_cycle[v->precision] * hz, true);
    qsort(out->memory, out->nmemory, sizeof *out->memory, by_rate);
    qsort(out->compute, out->ncompute, sizeof *out->compute, by_rate);
}

/* Adds a point, if it has flops, bytes and time. */
static void put_point(struct carm_plot_pane *pane, const char *name, double flops,
                      const struct carm_sol_estimate *e)
{
    if (!(flops > 0.0 && e->intensity > 0.0 && isfinite(e->intensity) && e->seconds > 0.0) ||
        pane->nkernels == CARM_PLOT_KERNELS_MAX) {
        return;
    }
    struct carm_plot_kernel *k = &pane->kernels[pane->nkernels++];
    carm_text_cut(k->name, sizeof k->name, name, NAME_LETTERS, false);
    k->intensity = e->intensity;
    k->performance = flops / e->seconds;
}

static void put_graph(const struct carm_sol_view *v, struct carm_plot_pane *pane)
{
    static const char *const names[] = {"unfused", "fused", "fused+prefetched"};
    const double flops = carm_sol_flops(&v->analysis->total);
    for (int m = CARM_SOL_UNFUSED; m < CARM_SOL_MODELS; m++) {
        put_point(pane, names[m], flops, carm_sol_view_graph(v, (enum carm_sol_model)m));
    }
}

/* Adds operations, unfused, as fused ones may have no bytes of their own. */
static void put_operations(const struct carm_sol_view *v, struct carm_plot_pane *pane)
{
    uint32_t working = 0;
    const uint32_t n = carm_sol_view_layers(v);
    for (uint32_t i = 0; i < n; i++) {
        working += carm_sol_view_works(v, i);
    }
    for (uint32_t i = 0; i < n && working <= LAYERS_MAX; i++) {
        const struct carm_sol_estimate e = carm_sol_view_layer(v, i, CARM_SOL_UNFUSED);
        put_point(pane, carm_sol_view_layer_name(v, i), carm_sol_flops(&v->analysis->layers[i]),
                  &e);
    }
}

static int draw(const char *path, const struct carm_sol_view *v, struct carm_plot_pane *pane,
                struct carm_err *err)
{
    struct carm_plot_sheet sheet = {.panes = pane, .rows = 1, .columns = 1};
    char name[CARM_TEXT_MAX];
    snprintf(sheet.title, sizeof sheet.title, "Speed of light of %s",
             carm_text_cut(name, sizeof name, v->name, 60, false));
    FILE *script;
    int rc = carm_gnuplot_open(&script, err);
    if (rc) {
        return rc;
    }
    rc = carm_plot_sheet_put(script, &sheet, carm_gnuplot_format(path), NULL, err);
    rc = rc ? rc : carm_gnuplot_draw(script, path, err);
    fclose(script);
    return rc;
}

int carm_sol_plot_write(const char *path, const struct carm_sol_view *view, struct carm_err *err)
{
    struct carm_ceilings *ceilings = calloc(1, sizeof *ceilings);
    struct carm_plot_pane *pane = calloc(1, sizeof *pane);
    int rc = 0;
    if (!ceilings || !pane) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory to draw");
    } else {
        make_ceilings(view, ceilings);
        pane->sets[0] = ceilings;
        pane->n = 1;
        pane->aside = true;
        snprintf(pane->title, sizeof pane->title,
                 "%.80s, %.20s at %.4g GHz: crosses are "
                 "estimates",
                 ceilings->title, carm_sol_precision_name(view->precision), view->arch->freq_ghz);
        put_graph(view, pane);
        put_operations(view, pane);
        rc = pane->nkernels > 0
                 ? draw(path, view, pane, err)
                 : carm_fail(err, CARM_EINVAL,
                             "nothing to draw: the graph computes nothing or moves nothing");
    }
    free(pane);
    free(ceilings);
    return rc;
}
