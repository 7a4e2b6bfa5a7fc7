/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm run: a program, counted and placed. */
#ifndef CARM_CLI_RUN_COMMAND_H
#define CARM_CLI_RUN_COMMAND_H

#include "cli/opt.h"

extern const struct carm_command carm_command_run;

#endif
