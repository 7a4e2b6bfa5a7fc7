/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/ceilings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plots/labels.h"
#include "plots/roofline.h"

enum { DASHES = 5 }; /* dash types of gnuplot's terminals */

/* A line's colour in the palette of plots/scripts/common.gp: for memory or compute; if several sets' roofs are
 * overlaid, for the set. */
static unsigned line_rgb(size_t set, size_t nsets, bool compute, bool roof, bool aside)
{
    if (nsets > 1) {
        return carm_plot_rgb(set);
    }
    return roof ? 0x000000 : aside ? 0x707070 : compute ? 0x0072b2 : 0xb34700;
}

/* Adds one side of a set: its roof and, if the pane has one set, its ceilings. lowest out: the
 * lowest ceiling */
static void add_side(const struct carm_plot_pane *pane, size_t which, bool compute,
                     struct carm_scene *scene, struct carm_scene_side *to, double *lowest)
{
    const struct carm_ceilings *l = pane->sets[which];
    const struct carm_ceiling *list = compute ? l->compute : l->memory;
    const struct carm_ceiling *roof = compute ? carm_ceilings_peak(l) : carm_ceilings_slope(l);
    const double limit = (compute ? carm_ceilings_slope(l) : carm_ceilings_peak(l))->rate;
    const size_t n = compute ? l->ncompute : l->nmemory;
    for (size_t i = 0; i < n && to->n < CARM_SCENE_LINES_MAX; i++) {
        const bool is_roof = &list[i] == roof;
        if (pane->n > 1 ? !is_roof : list[i].aside && !pane->aside) {
            continue;
        }
        const double value = list[i].rate / scene->scale;
        struct carm_scene_line *line = &to->lines[to->n++];
        *line = (struct carm_scene_line){
            .value = value,
            .low = value,
            .high = value,
            .limit = limit / scene->scale,
            .rgb = line_rgb(which, pane->n, compute, is_roof, list[i].aside),
            .width = is_roof         ? 2.8
                     : list[i].aside ? 0.9
                                     : 1.6,
            .dash = is_roof && pane->n > 1 ? 1 + (int)(which % DASHES)
                    : list[i].aside        ? 3
                                           : 1};
        line->print_dash = line->dash;
        snprintf(line->name, sizeof line->name, "%.100s", pane->n > 1 ? l->title : list[i].name);
        if (pane->n == 1 && !is_roof && !list[i].aside) {
            *lowest = *lowest > 0.0 ? fmin(*lowest, value) : value;
        }
    }
}

static void add_kernels(const struct carm_plot_pane *pane, struct carm_scene *scene)
{
    _Static_assert((int)CARM_PLOT_KERNELS_MAX <= CARM_SCENE_UPRIGHTS_MAX,
                   "a scene takes all kernels");
    for (size_t i = 0; i < pane->nkernels; i++) {
        const struct carm_plot_kernel *k = &pane->kernels[i];
        struct carm_scene_upright *u = &scene->uprights[scene->nuprights++];
        u->x = k->intensity;
        u->y = k->performance / scene->scale;
        snprintf(u->label.text, sizeof u->label.text, "%.79s %.2f", k->name, k->intensity);
    }
}

/* Fills a scene of zeros. returns 0 or -CARM_EINVAL (ceilings without slope or peak) */
static int fill_scene(const struct carm_plot_pane *pane, struct carm_scene *scene,
                      struct carm_err *err)
{
    double most = 0;
    for (size_t i = 0; i < pane->n; i++) {
        const struct carm_ceiling *peak = pane->sets[i] ? carm_ceilings_peak(pane->sets[i]) : NULL;
        if (pane->sets[i] && (!peak || !carm_ceilings_slope(pane->sets[i]))) {
            return carm_fail(err, CARM_EINVAL,
                             "%.100s has no %s to draw; measure them with "
                             "`carm build --ceilings`",
                             pane->sets[i]->title, peak ? "memory ceilings" : "compute ceilings");
        }
        most = fmax(most, peak ? peak->rate : 0.0);
    }
    scene->scale = carm_plot_prefix(most, &scene->prefix);
    for (size_t i = 0; i < pane->n; i++) {
        if (pane->sets[i]) {
            add_side(pane, i, false, scene, &scene->slopes, &scene->lowest_memory);
            add_side(pane, i, true, scene, &scene->flats, &scene->lowest_compute);
        }
    }
    carm_scene_sort(&scene->slopes);
    carm_scene_sort(&scene->flats);
    add_kernels(pane, scene);
    const char *metric = pane->sets[0]->metric;
    snprintf(scene->operation, sizeof scene->operation, "%s", metric);
    snprintf(scene->rate, sizeof scene->rate, "%s/s", metric);
    snprintf(scene->bytes, sizeof scene->bytes, " %s",
             pane->bytes[0] ? pane->bytes : "of memory traffic");
    return 0;
}

/* returns as fill_scene, or -CARM_ENOMEM */
static int put_pane(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                    const struct carm_plot_pane *pane, struct carm_err *err)
{
    const struct carm_plot_input sets = {.nmodels = pane->n}; /* no points */
    struct carm_scene *scene = calloc(1, sizeof *scene);
    if (!scene) {
        return carm_fail(err, CARM_ENOMEM, "out of memory");
    }
    scene->input = &sets;
    int rc = fill_scene(pane, scene, err);
    rc = rc ? rc : carm_scene_layout(scene, box, CARM_SCENE_NAMES, err);
    if (rc == 0) {
        carm_scene_put(canvas, scene, pane->title);
        fputs("unset label\nunset object\n", canvas->out);
    }
    free(scene);
    return rc;
}

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

static int make_room(struct carm_plot_sheet *sheet, size_t rows, size_t columns, size_t nsets,
                     struct carm_err *err)
{
    memset(sheet, 0, sizeof *sheet);
    if (rows == 0 || columns == 0 || nsets == 0) {
        return carm_fail(err, CARM_EINVAL, "there is nothing to draw");
    }
    sheet->rows = rows;
    sheet->columns = columns;
    sheet->panes = calloc(rows * columns, sizeof *sheet->panes);
    sheet->sets = calloc(nsets, sizeof *sheet->sets);
    if (!sheet->panes || !sheet->sets) {
        return carm_fail(err, CARM_ENOMEM, "out of memory");
    }
    return 0;
}

/* The set with the highest peak among the selected sets with ceilings; NULL = none. */
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
    snprintf(sheet->title, sizeof sheet->title, "%s%s%s", model->machine.hostname,
             *model->machine.hostname && *model->machine.cpu ? ": " : "", model->machine.cpu);
    for (size_t i = 0; i < rows && rc == 0; i++) {
        const bool bottom = balance == CARM_PLOT_BALANCE_BOTTOM || i == 1;
        struct carm_plot_pane *pane = &sheet->panes[i];
        rc = carm_ceilings_of_roofs(model, set, bottom ? CARM_BALANCE_BOTTOM : CARM_BALANCE_TOP,
                                    &sheet->sets[i], err);
        pane->sets[0] = &sheet->sets[i];
        pane->n = 1;
        pane->aside = aside;
        snprintf(pane->title, sizeof pane->title,
                 "Roofline with ceilings, %.24s %.24s, %d thread%s%s", set->isa, set->precision,
                 set->threads, set->threads == 1 ? "" : "s", bottom ? bottom_title : "");
    }
    return rc;
}

/* Takes the kernels of table 4 for a pane: all, or only those that are (or are not) balanced by nature. */
static void take_kernels(const struct carm_published *published,
                         const struct carm_published_machine *m, bool all, bool balanced,
                         struct carm_plot_pane *pane)
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

/* Adds the panes of one machine, in one row or two. */
static void put_machine(const struct carm_published *published,
                        const struct carm_published_machine *m, enum carm_plot_balance balance,
                        struct carm_plot_sheet *sheet, size_t column)
{
    const bool has_bottom = m->compute_balance_bottom.n > 0;
    for (size_t row = 0; row < sheet->rows; row++) {
        const bool bottom = has_bottom && (balance == CARM_PLOT_BALANCE_BOTTOM || row == 1);
        if (row == 1 && !has_bottom) {
            return; /* one roofline for all kernels, as in figure 4 */
        }
        struct carm_plot_pane *pane = &sheet->panes[row * sheet->columns + column];
        struct carm_ceilings *ceilings = &sheet->sets[row * sheet->columns + column];
        carm_published_ceilings(m, bottom ? CARM_BALANCE_BOTTOM : CARM_BALANCE_TOP, ceilings);
        pane->sets[0] = ceilings;
        pane->n = 1;
        take_kernels(published, m, balance != CARM_PLOT_BALANCE_BOTH || !has_bottom, bottom, pane);
        snprintf(pane->title, sizeof pane->title, "%s%s", m->title, bottom ? bottom_title : "");
    }
}

static void put_overlay(const struct carm_published_machine *const *machines, size_t n,
                        struct carm_plot_sheet *sheet)
{
    struct carm_plot_pane *pane = &sheet->panes[0];
    snprintf(pane->title, sizeof pane->title, "Rooflines of ");
    for (size_t i = 0; i < n; i++) {
        carm_published_ceilings(machines[i], CARM_BALANCE_TOP, &sheet->sets[i]);
        pane->sets[pane->n++] = &sheet->sets[i];
        carm_text_append(pane->title, sizeof pane->title, "%s%s", i ? ", " : "",
                         machines[i]->title);
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
    snprintf(sheet->title, sizeof sheet->title, "As published: %s", published->citation);
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
            "the picture is too small for its panels; give more pixels with --size, or smaller "
            "letters with --font NAME,SIZE");
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
            rc = put_pane(&canvas, box, &sheet->panes[i], err);
        }
    }
    fputs("unset multiplot\n", out);
    return rc;
}

void carm_plot_sheet_close(struct carm_plot_sheet *sheet)
{
    free(sheet->panes);
    free(sheet->sets);
    memset(sheet, 0, sizeof *sheet);
}
