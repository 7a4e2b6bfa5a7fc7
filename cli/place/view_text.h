/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the table of `carm place --by` says of a parallel program's ranks. */
#ifndef CARM_CLI_PLACE_VIEW_TEXT_H
#define CARM_CLI_PLACE_VIEW_TEXT_H

#include "cli/place/print.h"

/* "4 ranks on 2 nodes". returns dst */
char *carm_view_size_text(char *dst, size_t size, const struct carm_view *view);

/* The spread of intensity and performance, who was slowest and fastest; "" where nothing is known.
 * unit  "flop". returns dst */
char *carm_view_spread_text(char *dst, size_t size, const struct carm_view *view, const char *unit);

/* The imbalances, what they take and the ceilings that they leave; "" for one rank. returns dst */
char *carm_view_imbalance_text(char *dst, size_t size, const struct carm_placed *placed,
                               const char *unit);

#endif
