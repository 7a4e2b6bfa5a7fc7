/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the outputs of `carm compare` have in common: a table for people, CSV, JSON, a picture. */
#ifndef CARM_CLI_COMPARE_PRINT_H
#define CARM_CLI_COMPARE_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "models/file/select.h"
#include "models/compare.h"

struct carm_compare_page {
    const struct carm_compare *compare;
    const char *files[CARM_COMPARE_MOST]; /* where each model is from */
    const struct carm_select *select;
    double noise;      /* of --noise, a share; negative = by the table of models/compare.c */
    double threshold;  /* of --threshold, a share; negative = none */
    bool ignore_clock; /* --threshold passes what is the same per cycle */
    bool ascii;
};

enum { CARM_COMPARE_FACT_MAX = 300, CARM_COMPARE_FACTS_MAX = 64 };

/* One thing that is known of each model, as text made safe to print. */
struct carm_compare_fact {
    char name[96];
    char text[CARM_COMPARE_MOST][CARM_COMPARE_FACT_MAX]; /* "-" = not known */
    bool same;                                           /* in all models */
};

/* Host, CPU, cores, memory, ... and how the models were built.
 * facts  [CARM_COMPARE_FACTS_MAX]
 * returns how many */
size_t carm_compare_machine_facts(const struct carm_compare_page *page,
                                  struct carm_compare_fact *facts);

/* Sizes and knees of the memory levels. As above. */
size_t carm_compare_level_facts(const struct carm_compare_page *page,
                                struct carm_compare_fact *facts);

/* A fitness that the baseline and another model have. */
struct carm_compare_score {
    const struct carm_validation
        *of[CARM_COMPARE_MOST]; /* [0] is there; NULL = not in that model */
};

/* The next one from *at on in the baseline's order; false = there are no more. */
bool carm_compare_next_score(const struct carm_compare_page *page, size_t *at,
                             struct carm_compare_score *score);

/* "A", "B", ... */
char carm_compare_letter(size_t model);

/* True where a cache line takes so different a time from thread to thread that the threads must have
 * run on cores that lie differently. */
bool carm_compare_moved(const struct carm_compare_set *set, size_t model);

/* A change in per cent: "-12.3%", "0.0%". returns dst */
char *carm_compare_percent(char *dst, size_t size, double share);

void carm_compare_put_table(const struct carm_compare_page *page);

/* Parts of the table. */

enum { CARM_COMPARE_NAME_WIDTH = 24 }; /* of the column that names a row */

/* A string of a file, made safe, in width columns; a negative width aligns to the right. */
void carm_compare_put_text(const struct carm_compare_page *page, int width, const char *s);

void carm_compare_put_models(const struct carm_compare_page *page);
void carm_compare_put_fitness(const struct carm_compare_page *page);

/* path  NULL = standard output
 * returns 0, -CARM_ENOMEM or -CARM_EIO */
int carm_compare_put_csv(const struct carm_compare_page *page, const char *path,
                         struct carm_err *err);
int carm_compare_put_json(const struct carm_compare_page *page, struct carm_err *err);

/* The roofs of all models on each other, a panel for each memory level, of the set with the
 * baseline's highest peak among those that all models have. `script`: the gnuplot script instead.
 * returns 0, -CARM_EINVAL (no such set), -CARM_ENOMEM or -CARM_EIO */
int carm_compare_plot(const struct carm_compare_page *page, const char *path, const char *format,
                      struct carm_err *err);

#endif
