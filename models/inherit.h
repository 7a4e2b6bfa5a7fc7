/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A later build never makes a model worse. Roofs, levels and latencies that the build did not measure, or measured
 * while disturbed, stay as in the earlier model. */
#pragma once

#include "models/model.h"

/* Moves parts that a new model lacks from an earlier model of the same machine and mix: sets, roofs of a set, ceilings,
 * levels that the new curve does not resolve, curves and their ends, latencies, checks by counters. A roof that is
 * disturbed in the new model and was not before is replaced by the earlier one. The configuration is joined: the words
 * of both, the larger number of repetitions. The validation is not moved, as it belongs to the earlier roofs.
 * before  loses the moved parts; its owner still releases it
 * returns 0 or -CARM_ENOMEM; both models can be released either way */
int carm_model_inherit(struct carm_model *model, struct carm_model *before, struct carm_err *err);
