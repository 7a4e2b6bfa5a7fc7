/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of `carm report`: plots/report.html with style, scripts and data in their places. */
#ifndef CARM_REPORT_PAGE_H
#define CARM_REPORT_PAGE_H

#include <stdio.h>

#include "asm/err.h"

/* returns 0 or -CARM_ENOTSUP: this build has no d3 (names the package and what to do) */
int carm_report_ready(struct carm_err *err);

/* Writes the page.
 * data  JSON as carm_report_data gives it */
void carm_report_put_page(FILE *out, const char *data);

#endif
