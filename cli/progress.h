/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The observer of a command's work: a line on the terminal with the current measurement and the
 * remaining time (quiet in a pipe), notes on standard error, and requests of the user to stop. */
#pragma once

#include "base/observer.h"

/* From now on SIGINT and SIGTERM ask the observed work to stop. */
struct carm_observer carm_progress_open(void);
