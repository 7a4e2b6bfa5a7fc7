/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --counters of `carm build` and `carm validate`: test codes counted by the hardware (or by stepping)
 * and compared with their construction. */
#ifndef CARM_VALIDATION_COUNT_CHECK_H
#define CARM_VALIDATION_COUNT_CHECK_H

#include "asm/image.h"
#include "harness/clock.h"
#include "harness/count/counters.h"
#include "harness/cpu.h"
#include "harness/topo.h"
#include "models/model.h"

#define CARM_COUNTERS_HELP                                                                     \
    "Who counts the test codes, to compare with their construction: auto (papi, else likwid, " \
    "else nobody), papi, likwid, step (single-stepping, exact), none."

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

/* A line or a few about the model's checks, to standard output; nothing when there are none. */
void carm_count_checks_print(const struct carm_model *model);

#endif
