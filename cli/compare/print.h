/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared parts of the outputs of `carm compare`: a table for people, CSV, JSON. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "models/compare.h"

enum { CARM_COMPARE_WIDE = 113 }; /* columns of the table with words */

struct carm_compare_page {
    const struct carm_compare *compare;
    const char *files[CARM_COMPARE_MOST]; /* each model's file */
    struct carm_compare_options options;  /* options of carm_compare_make */
    double noise;                         /* of --noise, a share; negative = noise from the table of
                        * models/compare.c */
    double threshold;                     /* of --threshold, a share; negative = none */
    bool ignore_clock; /* --threshold ignores values that are the same per cycle */
    bool ascii;
    bool verbose; /* also print roofs without a difference */
    bool narrow;  /* marks in place of words: the terminal is narrower than the table with words */
};

/* A change in per cent: "-12.3%", "0.0%". returns dst */
char *carm_compare_percent(char *dst, size_t size, double share);

void carm_compare_put_table(const struct carm_compare_page *page);

/* path  NULL = standard output
 * returns 0, -CARM_ENOMEM or -CARM_EIO */
int carm_compare_put_csv(const struct carm_compare_page *page, const char *path,
                         struct carm_err *err);
int carm_compare_put_json(const struct carm_compare_page *page, struct carm_err *err);
