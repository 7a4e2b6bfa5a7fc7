/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Findings of carm_published_check, for the units that make them. */
#ifndef CARM_MODELS_PUBLISHED_CHECK_H
#define CARM_MODELS_PUBLISHED_CHECK_H

#include "models/published/machines.h"

struct carm_findings {
    struct carm_published_disagreement *items;
    size_t n, room;
    bool full;                                /* out of memory: later ones go to spill */
    struct carm_published_disagreement spill; /* so that whoever adds one needs no check */
};

/* A new finding of that id; printed and computed are the caller's to fill. */
__attribute__((format(printf, 2, 3))) struct carm_published_disagreement *carm_finding_add(
    struct carm_findings *findings, const char *fmt, ...);

/* Decimals that the paper prints an intensity with: two digits that count. */
int carm_finding_decimals(double v);

/* flop/s of a printed ceiling at an intensity; 0 where there is none. */
double carm_printed_height(const struct carm_published_bound *ceiling, double intensity);

/* The statements of the paper's text that its tables bear out, or do not.
 * ceilings  room for one
 * returns 0 or -CARM_EINVAL (rows that cannot be placed) */
int carm_published_check_text(const struct carm_published *published,
                              struct carm_findings *findings, struct carm_ceilings *ceilings,
                              struct carm_err *err);

#endif
