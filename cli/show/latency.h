/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The latencies in `carm show`. */
#pragma once

#include "cli/show/page.h"

/* Prints latencies of levels, chains in flight and the figures of a core; nothing where the model has none. */
void carm_show_latency(const struct carm_show_page *page, const struct carm_model *model);
