/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program started on its own, held before its exec so that counters can be attached first. */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"
#include "run/output.h"

struct carm_launch {
    pid_t pid;                  /* -1 once the child was reaped */
    int gate;                   /* write end: a byte lets the child exec */
    int report;                 /* read end: exec's errno, or end of file after a successful exec */
    int keeper;                 /* socket to the keeper (launch.c); -1 = none */
    struct carm_output *output; /* receiver of discarded output; NULL = the output is the
                                 * caller's */
    double queued;              /* carm_seconds_queued at the program's end */
    int exec_errno;             /* errno of a failed exec: ENOENT, EACCES, ...; 0 = no failure */
};

enum carm_launch_flags {
    /* standard output and error are discarded, into files of the caller's kinds: run/output.h */
    CARM_LAUNCH_QUIET = 1,
    /* the child calls PTRACE_TRACEME and stops itself (SIGSTOP) instead of waiting at the gate */
    CARM_LAUNCH_TRACED = 2,
    /* the program's addresses are the same in each run, unless a container forbids this. The
     * dynamic linker's and string functions' counts depend on addresses */
    CARM_LAUNCH_PLACED = 4,
};

/* Forks; the child waits before its exec. If the calling process is killed, so is the program with
 * all that it has started.
 * argv         ended by NULL; argv[0] is searched in PATH
 * environment  ended by NULL; NULL = the caller's
 * flags        CARM_LAUNCH_...
 * returns 0 or -CARM_EIO */
int carm_launch_open(struct carm_launch *launch, char *const *argv, char *const *environment,
                     unsigned flags, struct carm_err *err);

/* Lets the child exec. For a traced child, call it after the tracer has seen the exec or the
 * end, to learn whether the exec succeeded.
 * name  for the message
 * returns 0 or -CARM_EIO (the command was not found or is not runnable, as the sentence says; the
 *         child has ended) */
int carm_launch_go(struct carm_launch *launch, const char *name, struct carm_err *err);

/* Waits for the program's end.
 * status  out: in waitpid's format
 * usage   out: of the program and its children, NULL = not wanted
 * returns 0 or -CARM_EIO */
int carm_launch_wait(struct carm_launch *launch, int *status, struct rusage *usage,
                     struct carm_err *err);

/* Seconds of a time in struct rusage. */
double carm_launch_seconds(struct timeval time);

/* Passes a signal on to all children of this process, once to each, and reaps them, for at most
 * 1 s. With PR_SET_CHILD_SUBREAPER these include processes that an ended program left running. */
void carm_launch_pass_on(int signo);

/* Kills a program that was not waited for. */
void carm_launch_close(struct carm_launch *launch);
