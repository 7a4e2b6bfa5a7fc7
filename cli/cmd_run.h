/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm run: a program, counted and placed. */
#ifndef CARM_CMD_RUN_H
#define CARM_CMD_RUN_H

#include "cli/opt.h"

extern const struct carm_command carm_command_run;

#endif
