/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared parts of the readers of other tools' files: keeping a row, reading numbers. */
#pragma once

#include <stdbool.h>

#include "base/csv.h"
#include "base/err.h"
#include "harness/count/quantities.h"
#include "models/import/rows.h"
#include "models/model.h"

struct carm_import {
    struct carm_csv *csv; /* nothing was read from it yet */
    const char *name;     /* the file's name in messages */
    bool runs;            /* a row for each repetition */
    struct carm_import_rows *rows;
};

/* All unknown. */
struct carm_import_row carm_import_row(const char *name, size_t line);

/* Keeps a copy of a row.
 * returns 0; -CARM_EFORMAT: no name, or one that is too long; an impossible quantity; -CARM_ENOMEM */
int carm_import_put(struct carm_import *in, const struct carm_import_row *row,
                    struct carm_err *err);

/* Reads a plain decimal number of at least zero, without text behind it. returns false for others
 * and impossible values */
bool carm_import_number(const char *text, double *value);

/* Fails with file and line. */
__attribute__((format(printf, 4, 5))) int carm_import_bad(const struct carm_import *in, size_t line,
                                                          struct carm_err *err, const char *fmt,
                                                          ...);

/* ---- one for each format ------------------------------------------------------------------------ */

int carm_import_google(struct carm_import *in, struct carm_err *err);
int carm_import_hyperfine(struct carm_import *in, struct carm_err *err);
int carm_import_perf(struct carm_import *in, struct carm_err *err);
int carm_import_likwid(struct carm_import *in, struct carm_err *err);
int carm_import_advisor(struct carm_import *in, struct carm_err *err);
int carm_import_carm_tool(struct carm_import *in, struct carm_err *err);

int carm_import_ert_roofs(struct carm_import *in, struct carm_model *model, struct carm_err *err);
int carm_import_carm_tool_roofs(struct carm_import *in, struct carm_model *model,
                                struct carm_err *err);
