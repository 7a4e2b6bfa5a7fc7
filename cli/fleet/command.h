/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm fleet: the nodes of a cluster. */
#ifndef CARM_CLI_FLEET_COMMAND_H
#define CARM_CLI_FLEET_COMMAND_H

#include "cli/opt.h"

extern const struct carm_command carm_command_fleet;

#endif
