/* SPDX-License-Identifier: MIT */
/* Stepping of the calling thread by the trap flag: exact counts of a piece of its own code. Slow (some
 * 100 000 instructions a second): never take a time from a stepped run.
 *
 * Counted are the thread's own instructions in user mode, libraries included. The first is behind the return of the
 * outermost function with CARM_STEP_TEXT that begins the stepping. The last is the `call` or `jmp` into the function
 * that ends the stepping; the PLT's instructions on this way count. Not counted are the program's signal handlers, the
 * threads and processes that the thread starts, and the kernel. While stepped, the thread can neither block SIGTRAP nor
 * install a handler for SIGTRAP; both calls seem to succeed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "harness/count/step/instruction.h"

/* Functions between the code to be counted and carm_step_begin, _read or _end. A stepped thread
 * counts nothing from the call of such a function to its return, whatever the function calls. */
#define CARM_STEP_TEXT __attribute__((section("carm_step_text"), noinline))

/* Whether the trap flag works here; found out once, then remembered.
 * returns 0 or -CARM_ENOTSUP, naming the obstacle */
int carm_step_check(struct carm_err *err);

/* Begins to step the calling thread; the instructions of begin and end themselves, and the call that
 * leads into end, are not counted. What the thread starts (threads, processes) and its signal
 * handlers are not stepped.
 * budget  instructions; past it the thread runs on unstepped
 * returns 0, -CARM_EINVAL (already stepping), -CARM_ENOMEM, -CARM_ENOTSUP (another handler of SIGTRAP,
 * a debugger) */
int carm_step_begin(uint64_t budget, struct carm_err *err);

/* Counts so far of the current stepping, up to the call that leads here. The counts of a region
 * within a region are the difference of two reads.
 * complete  false when the budget ended before
 * returns 0 or -CARM_EINVAL (not stepping) */
int carm_step_read(struct carm_step_counts *counts, bool *complete, struct carm_err *err);

/* Ends the stepping.
 * complete  false when the budget ended before, or the program left the trap flag behind (a jump out of
 *           a signal handler)
 * returns 0 or -CARM_EINVAL (not stepping) */
int carm_step_end(struct carm_step_counts *counts, bool *complete, struct carm_err *err);

/* Whether the calling thread is between begin and end, also while paused or past the budget. False in a forked
 * child. */
bool carm_step_active(void);

/* Between pause and resume, the thread runs at full speed, for long work that does not count. Call both in a function
 * with CARM_STEP_TEXT. No effect on a thread that is not stepped. */
void carm_step_pause(void);
void carm_step_resume(void);
