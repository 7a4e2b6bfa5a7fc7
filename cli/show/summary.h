/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model on one screen: the machine, its roofline, a table of levels and peaks, and their uncertainty. */
#pragma once

#include "cli/show/page.h"
#include "models/select.h"

/* Draws the roofline of the best selected set, or says why there is none.
 * columns, rows  largest size of the picture */
void carm_show_draw(const struct carm_show_page *page, const struct carm_model *m,
                    const struct carm_select *sel, int columns, int rows);

/* Prints to standard output; errors of the stream stay in it (ferror).
 * operand  from the command line, for the command in the last line; NULL = this machine's model
 * plot     with the roofline */
void carm_show_summary(const struct carm_show_page *page, const struct carm_model *m,
                       const struct carm_select *sel, const char *operand, bool plot);
