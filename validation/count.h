/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Test codes counted by the hardware, or by stepping, and compared with their construction: --counters of
 * `carm build` and `carm validate`. */
#ifndef CARM_VALIDATION_COUNT_H
#define CARM_VALIDATION_COUNT_H

#include "asm/image.h"
#include "harness/machine/clock.h"
#include "harness/count/counters.h"
#include "harness/machine/cpu.h"
#include "harness/machine/topo.h"
#include "models/model.h"

struct carm_code_counter {
    enum carm_provider provider;    /* PAPI, LIKWID, STEP or NONE */
    struct carm_recipe *recipe;     /* NULL with STEP and NONE */
    struct carm_counters *counters; /* NULL with STEP and NONE */
};

/* Opens who was asked for. word NULL is auto, which may end as NONE.
 * returns 0, -CARM_EINVAL (no such word), -CARM_ENOTSUP (one that was named does not work here) */
int carm_code_counter_open(struct carm_code_counter *counter, const char *word,
                           const struct carm_cpu *cpu, struct carm_err *err);
void carm_code_counter_close(struct carm_code_counter *counter);

/* Counts the first code of every kind in an image, before anything is measured: counters that answer
 * zero are found in a moment.
 * returns 0, -CARM_EFORMAT (they do, with the remedy), or what else went wrong */
int carm_code_counter_try(const struct carm_code_counter *counter, const struct carm_image *image,
                          const struct carm_topo *topo, const struct carm_clock *clock,
                          struct carm_err *err);

/* Counts every code of the image that the model's roofs or validation points name, and puts what was
 * found into the model. Does nothing with NONE. errors as above */
int carm_code_counter_check(const struct carm_code_counter *counter, const struct carm_image *image,
                            const struct carm_topo *topo, const struct carm_clock *clock,
                            struct carm_model *model, struct carm_err *err);

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
