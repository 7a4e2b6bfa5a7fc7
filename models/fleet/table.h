/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The judgement of one group: what each roof and each family of roofs says of each node. */
#ifndef CARM_MODELS_FLEET_TABLE_H
#define CARM_MODELS_FLEET_TABLE_H

#include "models/fleet/fleet.h"

/* What a table is made from: n nodes by nroofs roofs. */
struct carm_fleet_sheet {
    size_t n, nroofs;
    const struct carm_fleet_roof **roofs; /* [nroofs] */
    double *reference;                    /* [nroofs] rate that y is relative to */
    float *y;                             /* [n * nroofs] ln(rate / reference); NaN = none */
    float *own;                           /* standard error of y */
    float *rate;
    bool *disturbed;
    bool change;     /* y is a change over time: 0 is the centre where nodes are few */
    bool is_virtual; /* for carm_compare_floor */
};

/* returns 0 or -CARM_ENOMEM; to be released with carm_fleet_sheet_close */
int carm_fleet_sheet_open(struct carm_fleet_sheet *sheet, size_t n, size_t nroofs,
                          struct carm_err *err);

void carm_fleet_sheet_close(struct carm_fleet_sheet *sheet);

/* Fills columns, tests (all but q and flagged) and the p of each node.
 *
 * A roof: deviation from the median over sqrt(spread^2 + own error^2), where the spread is that of the
 * nodes (1.4826 MAD) less the median of their own errors. Of fewer than CARM_FLEET_FEW nodes
 * carm_compare_floor tells the spread; of fewer than three nothing is judged (but changes are).
 *
 * A family (a level with all numbers of threads, and with each; the computation): the mean of its roofs' deviations, weighted by 1/spread^2, which is what tells best when all of
 * them are slower by the same share. Its spread is measured as a roof's, so that roofs that move together
 * count as what they are; for nodes that lack some of the roofs it is scaled by the mean correlation which
 * it implies.
 *
 * A node: the smaller of Simes' p of its families and of its roofs, doubled.
 * source: Simes 1986, "An improved Bonferroni procedure for multiple tests of significance"
 * returns 0 or -CARM_ENOMEM */
int carm_fleet_table_make(const struct carm_fleet_sheet *sheet, struct carm_fleet_table *table,
                          struct carm_err *err);

/* Adjusted p values of one node's tests, as carm_fleet_bh gives them within its families and within its
 * roofs, doubled where it has both. The smallest is the node's p.
 * scratch  [3 * ncolumns]
 * order    [ncolumns]
 * adjusted [ncolumns] out; NaN = not judged */
void carm_fleet_adjust(const struct carm_fleet_table *table, size_t node, double *scratch,
                       size_t *order, double *adjusted);

#endif
