/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loops or functions of a program that has run: the table of `carm run`, and its JSON. */
#pragma once

#include <stdio.h>

#include "models/model.h"
#include "run/levels.h"
#include "run/parts.h"
#include "run/verdict.h"
#include "run/whatif.h"

/* Prints the parts to standard error, by time, then advice for the largest parts without a verdict. verdicts:
 * [profile->nrows], NULL = none
 * levels  NULL = the bytes of the levels were not asked for
 * model   NULL = none, with the reason in why */
void carm_run_show_parts(const struct carm_run *run, const struct carm_profile *profile,
                         const struct carm_run_levels *levels, const struct carm_model *model,
                         const struct carm_run_verdict *verdicts, const char *why);

/* Notes on missing or uncertain samples and roofs. */
void carm_run_show_notes(const struct carm_run *run, const struct carm_profile *profile,
                         const struct carm_model *model, const char *why);

/* The results of a run. */
struct carm_run_found {
    const struct carm_run *run;
    const struct carm_profile *profile;
    const struct carm_run_levels *levels;    /* NULL = the bytes of the levels were not asked for */
    const struct carm_model *model;          /* NULL = none */
    const struct carm_run_verdict *verdicts; /* [profile->nrows]; NULL = none */
    const struct carm_run_whatif *whatif;    /* NULL = not asked for */
    const struct carm_run_changed *changed;  /* NULL = no --set */
};

/* An object with the run and an array of its parts. context: a struct carm_run_found
 * returns 0 or -CARM_ENOMEM, -CARM_EIO */
int carm_run_write_parts(FILE *out, const void *context, struct carm_err *err);
