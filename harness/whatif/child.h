/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A stopped process that is traced by the calling thread, and copies of it: system calls made in its name, forks
 * that their parent does not notice, and code that runs in them without making a system call.
 *
 * The program's own code and memory are never written: an injected call uses a system call instruction that is there
 * already, and every signal but SIGTRAP is blocked meanwhile, so that none is lost. */
#pragma once

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct carm_child {
    pid_t pid;                    /* 0 = none */
    uint64_t call_at;             /* address of a system call instruction in the process */
    struct user_regs_struct regs; /* the registers with which the process goes on */
};

/* Memory of a stopped process. return false where a part cannot be reached */
bool carm_child_read(pid_t pid, uint64_t at, void *to, size_t n);
bool carm_child_write(pid_t pid, uint64_t at, const void *from, size_t n);

/* A thread that is stopped and traced: reads its registers, and finds a system call instruction.
 * returns false: it has gone, or has none */
bool carm_child_take(struct carm_child *child, pid_t pid);

/* Makes the process execute a system call, and restores its registers and its mask of signals.
 * returns the result of the call, or -ESRCH: the process is gone */
int64_t carm_child_call(struct carm_child *child, long number, const uint64_t arguments[6]);

/* Forks a copy of the process, stopped at the same place, traced, and killed when the tracer ends. The copy's parent is
 * the parent of `of`, so that `of` does not notice the copy.
 * returns 0 or a negative errno */
int carm_child_fork(struct carm_child *of, struct carm_child *out);

/* Kills and reaps a copy. Does nothing for a child that was not forked, or is gone. */
void carm_child_kill(struct carm_child *child);

enum carm_child_end {
    CARM_CHILD_ARRIVED, /* at a breakpoint instruction */
    CARM_CHILD_CALLED,  /* before a system call, which was not made */
    CARM_CHILD_SIGNALED,
    CARM_CHILD_LATE, /* killed at the time limit */
    CARM_CHILD_GONE,
};

struct carm_child_outcome {
    enum carm_child_end end;
    int number;     /* of the signal or system call */
    uint64_t at;    /* where it stopped */
    uint64_t fault; /* of SIGSEGV and SIGBUS: the address */
};

/* Lets the process run from its registers, without waiting. returns false: it cannot run */
bool carm_child_go(struct carm_child *child);

/* Waits for the end of a run that carm_child_go began, until the time `until`, as carm_seconds_now. */
void carm_child_await(struct carm_child *child, double until, const volatile sig_atomic_t *stop,
                      struct carm_child_outcome *outcome);

/* Lets the process run from its registers until a breakpoint instruction, a system call or a signal.
 * until  time limit, on the clock of carm_seconds_now: the process is killed then
 * stop   when set, the process is killed at once; NULL = never */
void carm_child_run(struct carm_child *child, double until, const volatile sig_atomic_t *stop,
                    struct carm_child_outcome *outcome);

/* Like carm_child_run, but stops it every `each` seconds.
 * inside  counts the stops at addresses in begin .. end
 * returns the number of stops */
unsigned carm_child_sample(struct carm_child *child, double each, unsigned most, uint64_t begin,
                           uint64_t end, unsigned *inside);

/* Moves the calling thread to the child's CPU, and back: while tracer and child take turns, a step takes 4 us on one
 * CPU and 25 to 70 us on two. */
void carm_child_go_beside(const struct carm_child *child, cpu_set_t *was);
void carm_child_come_back(const cpu_set_t *was);

/* Executes one instruction. returns false: impossible, or the next instruction is a system call */
bool carm_child_step(struct carm_child *child);
