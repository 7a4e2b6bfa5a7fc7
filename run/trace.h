/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stepping of another program by ptrace, from its first instruction, with its threads and
 * children. Some 45 000 instructions a second, all threads together. Tracer and program share a
 * processor meanwhile, and the program sees its former processors. Processes that the program
 * leaves running are released at its end. The program can use SIGTRAP, but cannot block or
 * ignore it while it is stepped. Between two signals of a timer, at least CARM_TRACE_TIMER_GAP
 * instructions are executed: a timer of some kHz would otherwise leave a stepped program no time
 * between signals. 32-bit code counts as unknown. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "harness/count/step/instruction.h"

/* Instructions between two signals of timers: a millisecond at full speed. */
#define CARM_TRACE_TIMER_GAP 1000000

/* Why the counts do not cover the whole program. */
enum carm_trace_cut {
    CARM_TRACE_WHOLE,       /* the counts cover the whole program */
    CARM_TRACE_BUDGET,      /* the budget ended */
    CARM_TRACE_INTERRUPTED, /* the caller asked to stop */
    CARM_TRACE_SIGNALLED,   /* another process sent SIGTERM, SIGHUP, SIGINT or SIGQUIT */
    CARM_TRACE_OUTLIVED,    /* a child runs on after the program has ended */
    CARM_TRACE_FAILED,      /* memory or ptrace */
};

struct carm_trace {
    uint64_t budget; /* in: instructions of all threads together; then the program runs free */
    const volatile sig_atomic_t *interrupted; /* in: when set, stepping ends and the program runs
                                               * free; NULL = no such flag */
    void (*progress)(uint64_t instructions, void *arg); /* in: now and then; NULL */
    void *progress_arg;
    struct carm_step_counts counts; /* out */
    enum carm_trace_cut cut;        /* out */
    int cut_signal;                 /* out: of CARM_TRACE_SIGNALLED, else 0 */
    uint64_t threads, processes;    /* out: seen */
    int status;                     /* out: of the program, in waitpid's format */
};

/* Whether ptrace works here. returns 0 or -CARM_ENOTSUP with the setting in the way */
int carm_trace_check(struct carm_err *err);

/* Steps a program that was started stopped (run/launch.h; with PTRACE_TRACEME or without) and waits
 * for its end. The program gets its signals and may exec another program. Call it from the thread
 * that started the program; other children of this thread that end meanwhile are reaped.
 * returns 0; for a program that cannot be executed, too, with the child's status and no instructions;
 * -CARM_ENOTSUP, -CARM_EIO */
int carm_trace_run(pid_t pid, struct carm_trace *trace, struct carm_err *err);
