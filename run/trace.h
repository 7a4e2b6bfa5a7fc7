/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stepping of another program from its first instruction, its threads and children included, by
 * ptrace. Some 45 000 instructions a second, all threads together. Tracer and program share a processor
 * meanwhile, and the program is told of the processors that it had before. What the program leaves
 * running when it ends is let go. SIGTRAP is the program's as well, but cannot be blocked or ignored
 * while it is stepped. A timer's signal comes after at least CARM_TRACE_TIMER_GAP instructions since the
 * last one, since a timer of some kHz would leave a stepped program no time between its signals. 32-bit
 * code counts as unknown. */
#ifndef CARM_RUN_TRACE_H
#define CARM_RUN_TRACE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "harness/count/step/instruction.h"

/* Instructions between two signals of timers: a millisecond at full speed. */
#define CARM_TRACE_TIMER_GAP 1000000

/* Why the counts are not those of the whole program. */
enum carm_trace_cut {
    CARM_TRACE_WHOLE,       /* they are */
    CARM_TRACE_BUDGET,      /* the budget ended */
    CARM_TRACE_INTERRUPTED, /* the caller asked for it */
    CARM_TRACE_SIGNALLED,   /* another process sent SIGTERM, SIGHUP, SIGINT or SIGQUIT */
    CARM_TRACE_OUTLIVED,    /* a child runs on after the program has ended */
    CARM_TRACE_FAILED,      /* memory or ptrace */
};

struct carm_trace {
    uint64_t budget; /* in: instructions of all threads together; past it the program runs free */
    const volatile sig_atomic_t *interrupted; /* in: set: stop stepping, let it run free; NULL */
    void (*progress)(uint64_t instructions, void *arg); /* in: now and then; NULL */
    void *progress_arg;
    struct carm_step_counts counts; /* out */
    enum carm_trace_cut cut;        /* out */
    int cut_signal;                 /* out: of CARM_TRACE_SIGNALLED, else 0 */
    uint64_t threads, processes;    /* out: seen */
    int status;                     /* out: of the program, as waitpid gives it */
};

/* Whether ptrace works here. returns 0 or -CARM_ENOTSUP with the setting in the way */
int carm_trace_check(struct carm_err *err);

/* Steps a program that was started stopped (run/launch.h; with PTRACE_TRACEME or without) and waits
 * for its end. Signals reach it; it may exec another. To be called by the thread that started it; other
 * children of this thread that end meanwhile are reaped.
 * a program that cannot be executed: 0, with the status that the child chose and no instructions
 * returns 0, -CARM_ENOTSUP, -CARM_EIO */
int carm_trace_run(pid_t pid, struct carm_trace *trace, struct carm_err *err);

#endif
