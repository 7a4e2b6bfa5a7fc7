/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every table of carm show --verbose. All print to standard output; errors of the stream stay in it (ferror). */
#pragma once

#include "cli/show/page.h"
#include "models/select.h"

void carm_show_machine(const struct carm_show_page *page, const struct carm_model *m);

/* For each level: the size that the OS reports, and the working set at which the measured curve leaves the plateau. */
void carm_show_levels(const struct carm_show_page *page, const struct carm_model *m);

/* The roofs of each selected set: rates, 95% intervals, ridge points, rounds, notes.
 * ceilings  also print the set's ceilings */
void carm_show_roofs(const struct carm_show_page *page, const struct carm_model *m,
                     const struct carm_select *sel, bool ceilings);

/* The ceilings of each selected set alone. */
void carm_show_ceilings(const struct carm_show_page *page, const struct carm_model *m,
                        const struct carm_select *sel);

/* Bandwidth over working set with the model's mix, of each selected set. */
void carm_show_curves(const struct carm_show_page *page, const struct carm_model *m,
                      const struct carm_select *sel);
void carm_show_scaling(const struct carm_show_page *page, const struct carm_model *m);

/* The results of carm validate. */
void carm_show_validation(const struct carm_show_page *page, const struct carm_model *m,
                          const struct carm_select *sel);
