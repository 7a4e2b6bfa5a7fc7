/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A later build never makes a model worse: roofs, levels and latencies that it did not measure, or that were disturbed
 * while it did, stay as in the model before. */
#pragma once

#include "models/model.h"

/* Moves parts that a new model lacks from one of the same machine and mix: sets, roofs of a set, ceilings, levels that
 * the new curve does not resolve, curves and their ends, latencies, checks by counters. A roof that is disturbed in
 * the new model and was not before is replaced by the earlier one. The configuration becomes that of both. The
 * validation is not moved: it is of the earlier roofs.
 * before  loses what is moved; released by its owner as ever
 * returns 0 or -CARM_ENOMEM; both models can be released either way */
int carm_model_inherit(struct carm_model *model, struct carm_model *before, struct carm_err *err);
