/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stepping of another program from its first instruction, its threads and children included, by
 * ptrace. Some 45 000 instructions a second, all threads together. Tracer and program share a processor
 * meanwhile, and the program is told of the processors that it had before. What the program leaves
 * running when it ends is let go. A program that both handles and blocks SIGTRAP loses its handler;
 * 32-bit code counts as unknown. */
#ifndef CARM_HARNESS_PROGRAM_TRACE_H
#define CARM_HARNESS_PROGRAM_TRACE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "harness/count/step/instruction.h"

struct carm_trace {
    uint64_t budget; /* in: instructions of all threads together; past it the program runs free */
    const volatile sig_atomic_t *interrupted; /* in: set: stop stepping, let it run free; NULL */
    void (*progress)(uint64_t instructions, void *arg); /* in: now and then; NULL */
    void *progress_arg;
    struct carm_step_counts counts; /* out */
    bool complete;                  /* out: all was stepped */
    uint64_t threads, processes;    /* out: seen */
    int status;                     /* out: of the program, as waitpid gives it */
};

/* Whether ptrace works here. returns 0 or -CARM_ENOTSUP with the setting in the way */
int carm_trace_check(struct carm_err *err);

/* Steps a program that was started stopped (harness/program/launch.h; with PTRACE_TRACEME or without) and waits
 * for its end. Signals reach it; it may exec another. To be called by the thread that started it; other
 * children of this thread that end meanwhile are reaped.
 * a program that cannot be executed: 0, with the status that the child chose and no instructions
 * returns 0, -CARM_ENOTSUP, -CARM_EIO */
int carm_trace_run(pid_t pid, struct carm_trace *trace, struct carm_err *err);

#endif
