/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A user's wish to stop long work. */
#ifndef CARM_HARNESS_INTERRUPT_H
#define CARM_HARNESS_INTERRUPT_H

#include <signal.h>

/* Set by SIGINT and SIGTERM once they are watched: stop between two points. */
extern volatile sig_atomic_t carm_interrupted;

void carm_interrupt_watch(void);

#endif
