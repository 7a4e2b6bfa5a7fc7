/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A test code, counted while it runs: what its construction is compared with. */
#ifndef CARM_VALIDATION_COUNT_CODE_H
#define CARM_VALIDATION_COUNT_CODE_H

#include "asm/image.h"
#include "harness/count/counters.h"

/* Runs a code on the calling thread, which has to be pinned: with counters some million instructions
 * for each group of events, so that what starting and stopping adds is far below 1%; without, a few
 * iterations by stepping, exactly.
 * counters     NULL: step
 * window       at least one page that is written to and large enough for one iteration of the code, both
 *              its streams and the lines that a stride leaves out included; unused by codes without
 *              memory
 * counted      out: what was counted. A count of zero that cannot be is an error.
 * constructed  out: what the code's account says of the same run
 * returns 0, -CARM_ENOTSUP (no stepping here, a window too small), -CARM_EFORMAT (a zero that cannot be) or -CARM_ENOMEM */
int carm_count_code(struct carm_counters *counters, const struct carm_code *code, void *window,
                    size_t window_bytes, struct carm_counts *counted,
                    struct carm_counts *constructed, struct carm_err *err);

#endif
