/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CARM_CLI_BUILD_COMMAND_H
#define CARM_CLI_BUILD_COMMAND_H

#include "cli/opt.h"

extern const struct carm_command carm_command_build;

#endif
