/* SPDX-License-Identifier: MIT */
/* The observer of long work. Work below the command line prints nothing and watches no signals.
 * It reports each step to its observer, which a command provides (cli/progress.h), and asks the
 * observer whether the user wants it to stop. */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "base/err.h"

/* CLOCK_MONOTONIC, seconds */
double carm_seconds_now(void);

/* Seconds that a process's first thread was ready and waited for a processor (/proc/PID/schedstat); NAN = not known. */
double carm_seconds_queued(int pid);

/* {0} is an observer that shows nothing and never stops the work, but measures its time.
 * Called from one thread. */
struct carm_observer {
    /* Shows the step that begins.
     * what  borrowed; NULL = the work has ended
     * done  0 to 1
     * left  seconds; 0 when unknown */
    void (*show)(const char *what, double done, double left_seconds);
    /* Gives the user a sentence, without a newline. */
    void (*say)(const char *text);
    const volatile sig_atomic_t *stop; /* set: the user wants the work to stop; NULL = never */
    /* of the work, set by carm_observer_begin: */
    double total, done; /* estimated seconds of the whole work, and of its finished part */
    double started;     /* time of carm_seconds_now */
};

/* Begins work with an estimate of its seconds; 0 = unknown. */
void carm_observer_begin(struct carm_observer *o, double estimated_seconds);

/* Announces the next step. */
__attribute__((format(printf, 2, 3))) void carm_observer_step(struct carm_observer *o,
                                                              const char *fmt, ...);

/* Notes the end of a step with its estimate of seconds. */
void carm_observer_advance(struct carm_observer *o, double estimated_seconds);

/* The work is over. returns the seconds since it began */
double carm_observer_end(struct carm_observer *o);

/* Gives the user a sentence of at most 511 characters. */
__attribute__((format(printf, 2, 3))) void carm_observer_say(const struct carm_observer *o,
                                                             const char *fmt, ...);

/* Whether the user wants the work to stop; to be asked between two points. */
bool carm_observer_stopped(const struct carm_observer *o);

/* carm_observer_stopped for a function that can fail. returns 0, or -CARM_EINTR with "interrupted" */
int carm_observer_check(const struct carm_observer *o, struct carm_err *err);

/* Set by SIGINT and SIGTERM once they are watched. An observer's stop usually points here. */
extern volatile sig_atomic_t carm_interrupted;

/* The first SIGINT or SIGTERM sets carm_interrupted, and the work ends in order. A second Ctrl-C (SIGINT) ends the
 * process at once. A signal that carm inherited as ignored stays ignored. */
void carm_interrupt_watch(void);

/* Restores the signals, so that they end the process, for work that does not ask the observer. */
void carm_interrupt_release(void);
