/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The latencies in `carm show`. */
#ifndef CARM_CLI_SHOW_LATENCY_H
#define CARM_CLI_SHOW_LATENCY_H

#include <stdbool.h>

#include "models/model.h"

/* Prints latencies of levels, chains in flight and the figures of a core; nothing where the model has none. */
void carm_show_latency(const struct carm_model *model, bool ascii);

#endif
