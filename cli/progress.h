/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A line on the terminal that says what is being measured and how long is left. Quiet in a pipe. */
#ifndef CARM_CLI_PROGRESS_H
#define CARM_CLI_PROGRESS_H

#include <stdbool.h>

struct carm_progress {
    bool shown;         /* standard error is a terminal */
    double total, done; /* estimated seconds of the plan, and of what was finished */
    double started;     /* CLOCK_MONOTONIC, seconds */
};

void carm_progress_begin(struct carm_progress *p, double estimated_seconds);

/* Announces the next step. */
__attribute__((format(printf, 2, 3))) void carm_progress_step(struct carm_progress *p,
                                                              const char *fmt, ...);

/* A step that was estimated to take so many seconds is over. */
void carm_progress_advance(struct carm_progress *p, double estimated_seconds);

/* Clears the line. returns the seconds since the beginning */
double carm_progress_end(struct carm_progress *p);

#endif
