/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operands that name a published machine instead of a model's file. */
#ifndef CARM_MODELS_PUBLISHED_OPEN_H
#define CARM_MODELS_PUBLISHED_OPEN_H

#include "base/err.h"
#include "models/published/machines.h"

/* The collection that the program carries; to be released with carm_published_close. */
int carm_published_load(struct carm_published **out, struct carm_err *err);

/* Whether an operand is meant as a published machine: no file has that name, and it has neither a
 * '/' nor a '.'.
 * published  out: the collection, to be released with carm_published_close; NULL otherwise
 * machine    out: borrowed from it
 * returns 1; 0 for a model's file; -CARM_EINVAL where there is neither file nor machine of that
 * name (lists the machines), or as carm_published_load */
int carm_published_operand(const char *operand, struct carm_published **published,
                           const struct carm_published_machine **machine, struct carm_err *err);

#endif
