/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pictures of ceilings: a model's, or published machines'. */
#pragma once

#include "models/ceilings.h"
#include "models/file/select.h"
#include "models/published.h"
#include "plots/panel.h"

enum {
    CARM_PLOT_OVERLAYS_MAX = 8,
    CARM_PLOT_KERNELS_MAX = 16,
};

/* A kernel: a vertical line at its intensity, a cross at its performance. */
struct carm_plot_kernel {
    char name[CARM_NAME_MAX];
    double intensity;   /* operation/byte, > 0 */
    double performance; /* operation/s; 0 = none */
};

struct carm_plot_pane {
    /* Borrowed. NULL after the first set reserves the colour of a machine that this panel does not
     * show. */
    const struct carm_ceilings *sets[CARM_PLOT_OVERLAYS_MAX];
    size_t n;   /* 1 = one set with its ceilings and regions; more = only the sets' roofs */
    bool aside; /* also list ceilings aside */
    struct carm_plot_kernel kernels[CARM_PLOT_KERNELS_MAX];
    size_t nkernels;
    char title[CARM_TEXT_MAX];
    char bytes[CARM_NAME_MAX]; /* bytes of the x axis; "" = "of memory traffic" */
};

enum carm_plot_balance {
    CARM_PLOT_BALANCE_TOP,
    CARM_PLOT_BALANCE_BOTTOM,
    CARM_PLOT_BALANCE_BOTH, /* two rows, as figure 3 has two graphs for a computer: kernels that are
                             * balanced by nature are in the second */
};

/* Panes in rows and columns. */
struct carm_plot_sheet {
    struct carm_plot_pane *panes; /* [rows * columns], row by row; n == 0 = an empty place */
    size_t rows, columns;
    struct carm_ceilings *sets; /* that the panes show */
    char title[2 * CARM_TEXT_MAX + 8];
    const struct carm_plot_look *look; /* borrowed; NULL = as usual */
};

/* A sheet for the set with the highest peak among the selected sets with measured ceilings.
 * returns 0, -CARM_ENOTSUP (none has ceilings), -CARM_EINVAL or -CARM_ENOMEM; the sheet is to be
 * released with carm_plot_sheet_close in any case */
int carm_plot_sheet_of_model(const struct carm_model *model, const struct carm_select *select,
                             enum carm_plot_balance balance, bool aside,
                             struct carm_plot_sheet *sheet, struct carm_err *err);

/* machines  [n], borrowed
 * overlay   their roofs in one pane, as figure 1b
 * returns as above */
int carm_plot_sheet_of_published(const struct carm_published *published,
                                 const struct carm_published_machine *const *machines, size_t n,
                                 enum carm_plot_balance balance, bool overlay,
                                 struct carm_plot_sheet *sheet, struct carm_err *err);

/* Writes the whole gnuplot script. */
int carm_plot_sheet_put(FILE *out, const struct carm_plot_sheet *sheet, const char *format,
                        const char *title, struct carm_err *err);

void carm_plot_sheet_close(struct carm_plot_sheet *sheet);
