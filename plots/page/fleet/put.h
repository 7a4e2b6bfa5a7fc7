/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pieces of a fleet's page data that several files write. All may be called for an output that fails:
 * the caller looks at ferror(out) at the end. */
#ifndef CARM_PLOTS_PAGE_FLEET_PUT_H
#define CARM_PLOTS_PAGE_FLEET_PUT_H

#include <stdio.h>

#include "cli/fleet/report.h"

/* ,"name":"text" */
void carm_fleet_put_member(FILE *out, const char *name, const char *text);

/* A share, or another number, in steps: round(v / step), null for NaN. */
void carm_fleet_put_steps(FILE *out, double v, double step);

/* -100 log10 q, -1 = NaN */
void carm_fleet_put_chance(FILE *out, double q);

/* The roof of a column: its index in the fleet; of a family, fleet->nroofs. */
size_t carm_fleet_roof_of(const struct carm_fleet *fleet, const struct carm_fleet_column *column);

/* The value of that roof in a row, or NULL. */
const struct carm_fleet_value *carm_fleet_value_of(const struct carm_fleet_row *row, size_t roof);

/* ,"history":{...},"drift":[...],"shifts":[...] of a group */
void carm_fleet_put_history(FILE *out, const struct carm_fleet_report *report,
                            const struct carm_fleet_group *group);

#endif
