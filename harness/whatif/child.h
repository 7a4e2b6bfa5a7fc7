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
    uint64_t call_at;             /* a system call instruction of it */
    struct user_regs_struct regs; /* where it goes on */
};

/* Memory of a stopped process. return false where a part cannot be reached */
bool carm_child_read(pid_t pid, uint64_t at, void *to, size_t n);
bool carm_child_write(pid_t pid, uint64_t at, const void *from, size_t n);

/* A thread that is stopped and traced: reads its registers, and finds a system call instruction.
 * returns false: it has gone, or has none */
bool carm_child_take(struct carm_child *child, pid_t pid);

/* Makes a system call in its name; its registers and its mask of signals are then as before.
 * returns what the call returned, or -ESRCH: it has gone */
int64_t carm_child_call(struct carm_child *child, long number, const uint64_t arguments[6]);

/* A copy of it, stopped at the same place, traced, and killed when the tracer ends. Its parent is the parent of `of`:
 * `of` learns nothing of it.
 * returns 0 or a negative errno */
int carm_child_fork(struct carm_child *of, struct carm_child *out);

/* Kills and reaps; a child that was not forked, or has gone, is left alone. */
void carm_child_kill(struct carm_child *child);

enum carm_child_end {
    CARM_CHILD_ARRIVED, /* at a breakpoint instruction */
    CARM_CHILD_CALLED,  /* it wanted to make a system call, which was not made */
    CARM_CHILD_SIGNALED,
    CARM_CHILD_LATE, /* the time limit; it was killed */
    CARM_CHILD_GONE,
};

struct carm_child_outcome {
    enum carm_child_end end;
    int number;     /* of the signal or system call */
    uint64_t at;    /* where it stopped */
    uint64_t fault; /* of SIGSEGV and SIGBUS: the address */
};

/* Lets it run from its registers, without waiting. returns false: it cannot */
bool carm_child_go(struct carm_child *child);

/* Waits for the end of a run that carm_child_go began, until the time `until`, as carm_seconds_now. */
void carm_child_await(struct carm_child *child, double until, const volatile sig_atomic_t *stop,
                      struct carm_child_outcome *outcome);

/* Lets it run from its registers until a breakpoint instruction, a system call or a signal.
 * until  as carm_seconds_now: it is ended then
 * stop   set: as if that time had come; NULL */
void carm_child_run(struct carm_child *child, double until, const volatile sig_atomic_t *stop,
                    struct carm_child_outcome *outcome);

/* Like carm_child_run, but stops it every `each` seconds.
 * inside  counts the stops at addresses in begin .. end
 * returns the number of stops */
unsigned carm_child_sample(struct carm_child *child, double each, unsigned most, uint64_t begin,
                           uint64_t end, unsigned *inside);

/* The calling thread goes to the child's CPU, and back: where they take turns, a step takes 4 us on one CPU and 25 to 70
 * on two. */
void carm_child_go_beside(const struct carm_child *child, cpu_set_t *was);
void carm_child_come_back(const cpu_set_t *was);

/* Executes one instruction. returns false: it cannot, or the next one would be a system call */
bool carm_child_step(struct carm_child *child);
