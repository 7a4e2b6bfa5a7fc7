/* SPDX-License-Identifier: MIT */
/* The back end that counts regions, chosen by the environment, and the target of its messages. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "harness/count/counters.h"
#include "harness/count/step/instruction.h"

enum { CARM_REGION_NOTE_MAX = 384 };

/* The back end: counters or steps or, with neither, the clock alone. Tests have their own. */
struct carm_region_source {
    /* counters of the calling thread; NULL functions and 0 where there are none */
    size_t nreadings;
    int (*open)(void **set, struct carm_err *err); /* running from then on */
    int (*read)(void *set, struct carm_reading *readings, struct carm_err *err);
    void (*close)(void *set);
    int (*evaluate)(const struct carm_reading *readings, struct carm_counts *out,
                    struct carm_err *err);
    /* steps, as in harness/count/step/trap.h */
    bool steps;
    bool every_call; /* not only a sample of the calls: harness/count/step/engine.h */
    int (*step_begin)(uint64_t budget, struct carm_err *err);
    int (*step_read)(struct carm_step_counts *counts, bool *complete, struct carm_err *err);
    int (*step_end)(struct carm_step_counts *counts, bool *complete, struct carm_err *err);
    void (*step_pause)(void);
    void (*step_resume)(void);
};

struct carm_region_setup {
    struct carm_region_source source;
    uint64_t step_budget; /* instructions of one call */
    bool rows_by_thread;
    char out[PATH_MAX];                /* absolute */
    char reason[CARM_REGION_NOTE_MAX]; /* why nothing is counted, "" */
};

/* Counters with this recipe, which is taken. returns as carm_counters_open */
int carm_region_setup_counters(struct carm_region_setup *setup, enum carm_provider p,
                               struct carm_recipe *recipe, struct carm_err *err);

/* Reads the set-up from the environment. returns false when regions are off */
bool carm_region_setup_read(struct carm_region_setup *setup);

/* One line on standard error, "carm: ...", unless there were too many already. */
__attribute__((format(printf, 1, 2))) void carm_region_say(const char *fmt, ...);
