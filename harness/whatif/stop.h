/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stops a running program at the head of a loop by hardware breakpoints in its running threads; its code is not
 * changed. Threads that wait in a system call are left alone, since some calls (epoll_wait) would return early. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { CARM_STOP_HEADS = 4, CARM_STOP_THREADS = 256 }; /* x86 has four breakpoint registers */

struct carm_stop {
    pid_t pid; /* of the process, a child of the calling process */
    struct {
        pid_t tid;
        bool stopped;
        int signal; /* to be delivered when the thread goes on; 0 = none */
    } threads[CARM_STOP_THREADS];
    size_t nthreads;
    bool
        masked; /* a thread blocks or ignores SIGTRAP, so it gets no breakpoint, which would reset its handling */
    bool
        untraced; /* a thread cannot be traced: another process traces it, or it has another user */
    bool ended;   /* the process has ended; status is as waitpid gives it */
    int status;
};

/* Waits until a running thread is about to execute one of the heads, at most `seconds` seconds. Then the threads
 * that were running are stopped until carm_stop_release.
 * heads   [n] addresses, n <= CARM_STOP_HEADS
 * thread  out: the thread at the head
 * returns the number of the head; -1: no head was reached, and all threads go on, or the process has ended */
int carm_stop_at(struct carm_stop *stop, const uint64_t *heads, size_t n, double seconds,
                 const volatile sig_atomic_t *interrupted, pid_t *thread);

/* Lets all threads go on, with the signals that have arrived. */
void carm_stop_release(struct carm_stop *stop);

/* Whether the process has ended; then stop->status is set. */
bool carm_stop_ended(struct carm_stop *stop);

/* Waits for the end of the process. */
void carm_stop_await_end(struct carm_stop *stop);
