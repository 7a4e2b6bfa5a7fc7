/* SPDX-License-Identifier: MIT */
/* Counts of a piece of the calling thread's own code, in a program that `carm run --counters translate` runs.
 * The counts are those of harness/count/step/trap.h and cost little, as the engine counts all instructions anyway. A
 * system call that the kernel does not have asks the engine. Without the engine, the kernel answers ENOSYS.
 *
 * Two differences from trap.h: handlers of signals count as well, and only direct calls into a function with
 * CARM_STEP_TEXT are left out. Set LD_BIND_NOW, so that no call leads through the dynamic linker. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "harness/count/step/instruction.h"

enum { CARM_ENGINE_CALL = 0x0ca2f001 }; /* number of the system call */

/* First argument of the system call. The engine returns 0 or a negative number. */
enum carm_engine_request {
    CARM_ENGINE_OPEN,   /* begin, end: code that does not count; size of struct carm_step_counts */
    CARM_ENGINE_BEGIN,  /* counts from here on */
    CARM_ENGINE_PAUSE,  /* nothing counts from here on */
    CARM_ENGINE_RESUME, /* counts again */
    CARM_ENGINE_READ,   /* struct carm_step_counts *: of this thread since it began; paused */
    CARM_ENGINE_END,
};

/* Whether the engine is there. returns 0 or -CARM_ENOTSUP */
int carm_engine_check(struct carm_err *err);

/* Like the functions of trap.h with these names. All but begin are called while counting is paused. The budget
 * is ignored; complete is false when the engine has given up. */
int carm_engine_begin(uint64_t budget, struct carm_err *err);
int carm_engine_read(struct carm_step_counts *counts, bool *complete, struct carm_err *err);
int carm_engine_end(struct carm_step_counts *counts, bool *complete, struct carm_err *err);
void carm_engine_pause(void);
void carm_engine_resume(void);
