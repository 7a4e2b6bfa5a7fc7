/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kinds of cores of a hybrid CPU: roofs mixed by the share of a loop's samples on each kind. */
#ifndef CARM_MODELS_PLACE_KINDS_H
#define CARM_MODELS_PLACE_KINDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "models/model.h"

enum { CARM_KIND_WORD = 8 };

/* The share of a loop's samples on each kind of core. */
struct carm_kind_shares {
    char word[CARM_KINDS_MAX][CARM_KIND_WORD]; /* "p", "e", "lp" */
    double share[CARM_KINDS_MAX];              /* 0 .. 1, 1 in all */
    size_t n;                                  /* 0 = not known */
};

/* "p:0.62 e:0.38", the column cores of points.csv. Shares are divided by their sum.
 * returns false, with n 0, for other texts */
bool carm_kinds_parse(const char *text, struct carm_kind_shares *out);

/* The text of shares, in hundredths; "" = not known. returns dst */
char *carm_kinds_text(char *dst, size_t size, const struct carm_kind_shares *shares);

/* The model of a kind, borrowed: the model itself where it is of this kind, or one inside it. NULL = not measured */
const struct carm_model *carm_kinds_find(const struct carm_model *model, const char *word);

/* Roofs of threads that are on each kind for a share of the time: on average, they reach the sum of share times roof.
 * Sets and roofs that one of the kinds does not have are left out.
 * *mixed  a copy of the model with these roofs, which borrows all else; to be released with carm_kinds_close; NULL where
 *         nothing can be mixed
 * note    out: how the roofs were mixed, or why they were not; "" = shares not known
 * returns 0 or -CARM_ENOMEM */
int carm_kinds_mix(const struct carm_model *model, const struct carm_kind_shares *shares,
                   struct carm_model **mixed, char note[CARM_TEXT_MAX], struct carm_err *err);
void carm_kinds_close(struct carm_model *mixed); /* NULL allowed */

#endif
