/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of harness/program/trace.c: one stepped thread of another program. */
#ifndef CARM_HARNESS_PROGRAM_TASK_H
#define CARM_HARNESS_PROGRAM_TASK_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/count/step/decode.h"

struct carm_task {
    pid_t tid;
    bool pending; /* an instruction is being executed whose counts are known */
    uint64_t rip; /* of that instruction */
    struct carm_step_counts delta;
    uint64_t nr, args[3]; /* of a system call that it is; nr = CARM_NO_CALL */
};

#define CARM_NO_CALL UINT64_MAX

/* All threads, by number; grows. */
struct carm_tasks {
    struct carm_task *slots;
    size_t room, n;
};

/* NULL when there is none of that number. Valid until the next addition or removal. */
struct carm_task *carm_tasks_find(struct carm_tasks *tasks, pid_t tid);
/* Finds or adds. NULL: not enough memory */
struct carm_task *carm_tasks_add(struct carm_tasks *tasks, pid_t tid, bool *is_new);
void carm_tasks_remove(struct carm_tasks *tasks, pid_t tid);
void carm_tasks_close(struct carm_tasks *tasks);

/* The processor that tracer and program share while stepped: a switch between two threads on one
 * processor is faster than a wake-up of another. What the program asks about its processors is
 * answered as without it. */
struct carm_sharing {
    bool on;
    bool program_chose; /* the program set an affinity itself: leave it alone */
    cpu_set_t program, tracer;
};

/* Notes what the instruction will do and lets the thread execute it.
 * signo  delivered with it, 0 = none
 * returns 0 or -1: the thread is gone or not stopped */
int carm_task_step(struct carm_task *task, struct carm_insns *effects, int signo);

/* The instruction was executed: adds its counts. */
void carm_task_commit(struct carm_task *task, struct carm_sharing *sharing,
                      struct carm_step_counts *counts);

/* At a signal's stop: whether the noted instruction was executed before. */
bool carm_task_executed(const struct carm_task *task);

#endif
