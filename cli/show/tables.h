/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Roofs as CSV, for programs. */
#pragma once

#include "base/err.h"
#include "models/file/select.h"
#include "models/model.h"

struct carm_show_table {
    const struct carm_model *model;
    const struct carm_select *select; /* which sets */
};

/* A row for each memory roof, compute roof, DRAM peak and ceiling.
 * path  NULL = standard output
 * returns as carm_outfile_print */
int carm_show_put_csv(const struct carm_show_table *table, const char *path, struct carm_err *err);

/* Writes roofs in the CARM Tool's format: a row for each set and mix of loads and stores.
 * returns as above, or -CARM_EINVAL: the model has no mix that the CARM Tool can name */
int carm_show_put_carm_tool(const struct carm_show_table *table, const char *path,
                            struct carm_err *err);
