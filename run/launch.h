/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program started on its own, held before its exec so that counters can be attached first. */
#ifndef CARM_RUN_LAUNCH_H
#define CARM_RUN_LAUNCH_H

#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"
#include "run/output.h"

struct carm_launch {
    pid_t pid;  /* -1 when it is gone */
    int gate;   /* write end: a byte lets it go */
    int report; /* read end: exec's errno comes here, or end of file when it went well */
    struct carm_output *output; /* where it goes if it is discarded; NULL = the caller's */
    int exec_errno;             /* why exec failed: ENOENT, EACCES, ...; 0 = it did not */
};

enum carm_launch_flags {
    /* standard output and error are discarded, but of the caller's kinds: run/output.h */
    CARM_LAUNCH_QUIET = 1,
    /* it asks to be traced, and stops itself (SIGSTOP) instead of waiting at the gate */
    CARM_LAUNCH_TRACED = 2,
    /* its addresses are the same each time, unless the kernel (a container) forbids it: what the dynamic linker
     * and string functions execute depends on them */
    CARM_LAUNCH_PLACED = 4,
};

/* Forks; the child waits before its exec, and is killed when the calling thread ends.
 * argv         ended by NULL; argv[0] is looked for in PATH
 * environment  ended by NULL; NULL = the caller's
 * flags        CARM_LAUNCH_...
 * returns 0 or -CARM_EIO */
int carm_launch_open(struct carm_launch *launch, char *const *argv, char *const *environment,
                     unsigned flags, struct carm_err *err);

/* Lets it exec; of a traced one, call it after the tracer has seen the exec or the end, to learn
 * whether the exec went well.
 * name  for the message
 * returns 0 or -CARM_EIO (the command was not found or may not be run: the sentence says which;
 * the child is gone then) */
int carm_launch_go(struct carm_launch *launch, const char *name, struct carm_err *err);

/* Waits for its end: status as waitpid gives it.
 * usage  out: what it and its children used, NULL = not wanted
 * returns 0 or -CARM_EIO */
int carm_launch_wait(struct carm_launch *launch, int *status, struct rusage *usage,
                     struct carm_err *err);

/* Passes a signal on to all children of this process, once to each, and reaps them, for 1 s at most: with
 * PR_SET_CHILD_SUBREAPER, to what a program that has ended left running. */
void carm_launch_pass_on(int signo);

/* Kills what was not waited for. */
void carm_launch_close(struct carm_launch *launch);

#endif
