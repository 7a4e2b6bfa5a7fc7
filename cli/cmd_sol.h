/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CARM_CMD_SOL_H
#define CARM_CMD_SOL_H

#include "cli/opt.h"

extern const struct carm_command carm_command_sol;

#endif
