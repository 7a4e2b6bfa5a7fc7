/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/study/output.h"
#include "kernels/dwarfs/study.h"
#include "plots/ceilings.h"
#include "plots/gnuplot.h"

/* Adds kernels of flops to the pane with their order of ceilings. */
static void add_kernels(const struct carm_dwarf_study *study, const struct carm_ceilings *ceilings,
                        struct carm_plot_pane *pane)
{
    for (size_t i = 0; i < study->nitems && pane->nkernels < CARM_PLOT_KERNELS_MAX; i++) {
        const struct carm_dwarf_item *item = &study->items[i];
        const struct carm_dwarf_point *p = &item->point;
        if (!p->known || carm_dwarf_ceilings(study, item->kernel) != ceilings) {
            continue;
        }
        struct carm_plot_kernel *k = &pane->kernels[pane->nkernels++];
        snprintf(k->name, sizeof k->name, "%s%s%s", carm_dwarf_titles[item->kernel],
                 item->n == 512 ? " 512" : "", item->optimised ? "" : " plain");
        k->intensity = p->work.operations / carm_dwarf_point_dram_bytes(p);
        k->performance = p->work.operations / p->times.seconds;
    }
}

int carm_dwarfs_plot(const struct carm_study *of, const char *path, struct carm_err *err)
{
    const struct carm_dwarf_study *study = (const struct carm_dwarf_study *)of;
    static const char *const titles[] = {"balance on top", "balance at the bottom: SpMV"};
    struct carm_plot_sheet sheet = {.rows = 1};
    struct carm_plot_pane *panes = calloc(2, sizeof *panes);
    FILE *script;
    if (!panes) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the picture");
    }
    int rc = carm_gnuplot_open(&script, err);
    if (rc) {
        free(panes);
        return rc;
    }
    for (int order = CARM_BALANCE_TOP; order <= CARM_BALANCE_BOTTOM; order++) {
        struct carm_plot_pane *pane = &panes[sheet.columns];
        memset(pane, 0, sizeof *pane);
        pane->sets[0] = &study->ceilings[order];
        pane->n = 1;
        snprintf(pane->title, sizeof pane->title, "multiply/add %s", titles[order]);
        add_kernels(study, &study->ceilings[order], pane);
        sheet.columns += pane->nkernels ? 1 : 0;
    }
    sheet.panes = panes;
    snprintf(sheet.title, sizeof sheet.title, "%.80s, %d threads: kernels of the Roofline paper",
             study->base.model->machine.cpu, study->base.threads);
    rc = sheet.columns ? carm_plot_sheet_put(script, &sheet, carm_gnuplot_format(path), NULL, err)
                       : carm_fail(err, CARM_ENOTSUP,
                                   "no kernel of flops was measured: nothing to "
                                   "draw");
    rc = rc ? rc : carm_gnuplot_draw(script, path, err);
    fclose(script);
    free(panes);
    return rc;
}
