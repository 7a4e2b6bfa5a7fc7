/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The observer of a command's work: a line on the terminal that says what is being measured and how
 * long is left (quiet in a pipe), notes on standard error, and the user's wish to stop. */
#ifndef CARM_CLI_PROGRESS_H
#define CARM_CLI_PROGRESS_H

#include "base/observer.h"

/* From now on SIGINT and SIGTERM ask the observed work to stop. */
struct carm_observer carm_progress_open(void);

/* ---- until kernels/ takes an observer ------------------------------------------------------------ */

struct carm_progress {
    struct carm_observer observer;
};
void carm_progress_begin(struct carm_progress *p, double estimated_seconds);
#define carm_progress_step(p, ...)        carm_observer_step(&(p)->observer, __VA_ARGS__)
#define carm_progress_advance(p, seconds) carm_observer_advance(&(p)->observer, seconds)
#define carm_progress_end(p)              carm_observer_end(&(p)->observer)

#endif
