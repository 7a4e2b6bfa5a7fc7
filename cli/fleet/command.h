/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm fleet: the nodes of a cluster. */
#ifndef CARM_CLI_FLEET_COMMAND_H
#define CARM_CLI_FLEET_COMMAND_H

#include "base/err.h"
#include "cli/opt.h"

extern const struct carm_command carm_command_fleet;

/* Its sub-command build. */
extern const struct carm_command carm_command_fleet_build;

/* Reports an error where rc is not 0. returns the exit code */
int carm_fleet_finish(int rc, const struct carm_err *err);

#endif
