/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/ceilings.h"

#include <stdlib.h>
#include <string.h>

/* Pixels. A panel's margins hold its ticks, its labels and its title. */
enum {
    PANEL_WIDTH = 720,
    PANEL_HEIGHT = 560,
    SINGLE_WIDTH = 960,
    HEAD_HEIGHT = 34, /* the picture's title */
    MARGIN_LEFT = 84,
    MARGIN_RIGHT = 24,
    MARGIN_BOTTOM = 60,
    MARGIN_TOP = 32,
};

static const char bottom_title[] = ", multiply/add balance at the bottom";

static int make_room(struct carm_plot_sheet *sheet, size_t rows, size_t columns, size_t nladders,
                     struct carm_err *err)
{
    memset(sheet, 0, sizeof *sheet);
    if (rows == 0 || columns == 0 || nladders == 0) {
        return carm_fail(err, CARM_EINVAL, "there is nothing to draw");
    }
    sheet->rows = rows;
    sheet->columns = columns;
    sheet->panes = calloc(rows * columns, sizeof *sheet->panes);
    sheet->ladders = calloc(nladders, sizeof *sheet->ladders);
    if (!sheet->panes || !sheet->ladders) {
        return carm_fail(err, CARM_ENOMEM, "out of memory");
    }
    return 0;
}

/* The set of the highest peak among those with ceilings; NULL = none has any. */
static const struct carm_roofs *set_with_ceilings(const struct carm_model *model,
                                                  const struct carm_select *select)
{
    const struct carm_roofs *best = NULL;
    double most = -1;
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *set = &model->roofs[i];
        const struct carm_compute_roof *peak = carm_roofs_find_peak(set);
        const double rate = peak ? peak->rate : 0;
        if (set->nceilings > 0 && rate > most && carm_select_has(select, set->isa, set->threads)) {
            best = set;
            most = rate;
        }
    }
    return best;
}

int carm_plot_sheet_of_model(const struct carm_model *model, const struct carm_select *select,
                             enum carm_plot_balance balance, bool aside,
                             struct carm_plot_sheet *sheet, struct carm_err *err)
{
    const struct carm_roofs *set = set_with_ceilings(model, select);
    const size_t rows = balance == CARM_PLOT_BALANCE_BOTH ? 2 : 1;
    int rc = make_room(sheet, rows, 1, rows, err);
    if (rc) {
        return rc;
    }
    if (!set) {
        return carm_fail(err, CARM_ENOTSUP,
                         "the model has no ceilings for this choice; `carm build --ceilings` "
                         "measures them");
    }
    (void)snprintf(sheet->title, sizeof sheet->title, "%s%s%s", model->machine.hostname,
                   *model->machine.hostname && *model->machine.cpu ? ": " : "", model->machine.cpu);
    for (size_t i = 0; i < rows && rc == 0; i++) {
        const bool bottom = balance == CARM_PLOT_BALANCE_BOTTOM || i == 1;
        struct carm_plot_ladder *pane = &sheet->panes[i];
        rc = carm_ladder_of_roofs(model, set, bottom ? CARM_BALANCE_BOTTOM : CARM_BALANCE_TOP,
                                  &sheet->ladders[i], err);
        pane->ladders[0] = &sheet->ladders[i];
        pane->n = 1;
        pane->aside = aside;
        (void)snprintf(pane->title, sizeof pane->title,
                       "Roofline with ceilings, %.24s %.24s, %d thread%s%s", set->isa,
                       set->precision, set->threads, set->threads == 1 ? "" : "s",
                       bottom ? bottom_title : "");
    }
    return rc;
}

/* The kernels of table 4 that a pane shows: all, or those that are balanced by nature or are not. */
static void take_kernels(const struct carm_published *published,
                         const struct carm_published_machine *m, bool all, bool balanced,
                         struct carm_plot_ladder *pane)
{
    for (size_t i = 0; i < m->nresults && pane->nkernels < CARM_PLOT_KERNELS_MAX; i++) {
        const struct carm_published_result *res = &m->results[i];
        const struct carm_published_kernel *k = carm_published_kernel(published, res->kernel);
        if (!all && k && k->balanced != balanced) {
            continue;
        }
        struct carm_plot_kernel *to = &pane->kernels[pane->nkernels++];
        memcpy(to->name, res->kernel, sizeof to->name);
        to->intensity = res->intensity;
        to->performance = res->performance;
    }
}

/* The panes of one machine: in one row or two. */
static void put_machine(const struct carm_published *published,
                        const struct carm_published_machine *m, enum carm_plot_balance balance,
                        struct carm_plot_sheet *sheet, size_t column)
{
    const bool has_bottom = m->compute_balance_bottom.n > 0;
    for (size_t row = 0; row < sheet->rows; row++) {
        const bool bottom = has_bottom && (balance == CARM_PLOT_BALANCE_BOTTOM || row == 1);
        if (row == 1 && !has_bottom) {
            return; /* one roofline for all kernels, as figure 4 */
        }
        struct carm_plot_ladder *pane = &sheet->panes[row * sheet->columns + column];
        struct carm_ladder *ladder = &sheet->ladders[row * sheet->columns + column];
        carm_published_ladder(m, bottom ? CARM_BALANCE_BOTTOM : CARM_BALANCE_TOP, ladder);
        pane->ladders[0] = ladder;
        pane->n = 1;
        take_kernels(published, m, balance != CARM_PLOT_BALANCE_BOTH || !has_bottom, bottom, pane);
        (void)snprintf(pane->title, sizeof pane->title, "%s%s", m->title,
                       bottom ? bottom_title : "");
    }
}

static void put_overlay(const struct carm_published_machine *const *machines, size_t n,
                        struct carm_plot_sheet *sheet)
{
    struct carm_plot_ladder *pane = &sheet->panes[0];
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        carm_published_ladder(machines[i], CARM_BALANCE_TOP, &sheet->ladders[i]);
        pane->ladders[pane->n++] = &sheet->ladders[i];
        const int k = snprintf(pane->title + used, sizeof pane->title - used, "%s%s",
                               i ? ", " : "Rooflines of ", machines[i]->title);
        used += k > 0 && (size_t)k < sizeof pane->title - used ? (size_t)k : 0;
    }
}

int carm_plot_sheet_of_published(const struct carm_published *published,
                                 const struct carm_published_machine *const *machines, size_t n,
                                 enum carm_plot_balance balance, bool overlay,
                                 struct carm_plot_sheet *sheet, struct carm_err *err)
{
    bool bottom = false;
    for (size_t i = 0; i < n; i++) {
        bottom = bottom || machines[i]->compute_balance_bottom.n > 0;
    }
    const size_t rows = !overlay && bottom && balance == CARM_PLOT_BALANCE_BOTH ? 2 : 1;
    int rc = make_room(sheet, rows, overlay ? 1 : n, rows * n, err);
    if (rc) {
        return rc;
    }
    if (overlay) {
        put_overlay(machines, n, sheet);
    }
    for (size_t i = 0; i < n && !overlay; i++) {
        put_machine(published, machines[i], balance, sheet, i);
    }
    (void)snprintf(sheet->title, sizeof sheet->title, "As published: %s", published->citation);
    return 0;
}

int carm_plot_sheet_put(FILE *out, const struct carm_plot_sheet *sheet, const char *format,
                        const char *title, struct carm_err *err)
{
    double width = sheet->columns == 1 ? SINGLE_WIDTH : PANEL_WIDTH * (double)sheet->columns;
    double height = HEAD_HEIGHT + PANEL_HEIGHT * (double)sheet->rows;
    carm_plot_look_size(sheet->look, &width, &height);
    const double panel = width / (double)sheet->columns;
    const double row_height = (height - HEAD_HEIGHT) / (double)sheet->rows;
    if (panel < 4 * MARGIN_LEFT || row_height < 4 * MARGIN_BOTTOM) {
        return carm_fail(
            err, CARM_EINVAL,
            "the picture is too small for its panels; --size takes more pixels, --font "
            "NAME,SIZE smaller letters");
    }
    const struct carm_plot_canvas canvas = {out, width, height, NULL, NULL};
    int rc = 0;
    carm_plot_put_head(out, sheet->look, width, height, format, title ? title : sheet->title);
    for (size_t i = 0; i < sheet->rows * sheet->columns && rc == 0; i++) {
        const int column = (int)(i % sheet->columns), row = (int)(i / sheet->columns);
        const struct carm_plot_box box = {
            panel * column + MARGIN_LEFT, row_height * ((int)sheet->rows - 1 - row) + MARGIN_BOTTOM,
            panel - MARGIN_LEFT - MARGIN_RIGHT, row_height - MARGIN_BOTTOM - MARGIN_TOP};
        if (sheet->panes[i].n > 0) {
            rc = carm_plot_ladder_panel(&canvas, box, &sheet->panes[i], err);
        }
    }
    (void)fputs("unset multiplot\n", out);
    return rc;
}

void carm_plot_sheet_close(struct carm_plot_sheet *sheet)
{
    free(sheet->panes);
    free(sheet->ladders);
    memset(sheet, 0, sizeof *sheet);
}
