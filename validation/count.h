/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Test codes counted by the hardware, or by stepping, and compared with their construction: --counters of
 * `carm build` and `carm validate`. */
#pragma once

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

/* Opens the counter with a name. word NULL is auto, which may end as NONE.
 * returns 0, -CARM_EINVAL (no such name), -CARM_ENOTSUP (the named counter does not work here) */
int carm_code_counter_open(struct carm_code_counter *counter, const char *word,
                           const struct carm_cpu *cpu, struct carm_err *err);
void carm_code_counter_close(struct carm_code_counter *counter);

/* Counts the first code of every kind in an image, before anything is measured, so that counters that
 * read zero are found at once.
 * returns 0, -CARM_EFORMAT (zeros, with the remedy), or another error */
int carm_code_counter_try(const struct carm_code_counter *counter, const struct carm_image *image,
                          const struct carm_topo *topo, const struct carm_clock *clock,
                          struct carm_err *err);

/* Counts every code of the image that the model's roofs or validation points name, and adds the
 * comparisons to the model. Does nothing with NONE. returns as carm_code_counter_try */
int carm_code_counter_check(const struct carm_code_counter *counter, const struct carm_image *image,
                            const struct carm_topo *topo, const struct carm_clock *clock,
                            struct carm_model *model, struct carm_err *err);

/* Runs a code on the calling thread, which must be pinned. Counters count some million instructions
 * for each group of events, so that starting and stopping adds far less than 1%. Stepping counts a
 * few iterations exactly.
 * counters     NULL: step
 * window       at least one written page, large enough for one iteration of the code with all its streams
 *              and the lines that a stride leaves out; unused by codes without memory
 * counted      out: the counts; an impossible count of zero is an error
 * constructed  out: counts of the same run by the code's account
 * returns 0, -CARM_ENOTSUP (no stepping here, a window too small), -CARM_EFORMAT (an impossible
 * zero) or -CARM_ENOMEM */
int carm_count_code(struct carm_counters *counters, const struct carm_code *code, void *window,
                    size_t window_bytes, struct carm_counts *counted,
                    struct carm_counts *constructed, struct carm_err *err);
