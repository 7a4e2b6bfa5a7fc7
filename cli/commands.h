/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands: cli/NAME/command.c defines each. */
#pragma once

#include "cli/opt.h"

extern const struct carm_command carm_command_asm, carm_command_build, carm_command_compare,
    carm_command_fleet, carm_command_fleet_build, carm_command_info, carm_command_place,
    carm_command_plot, carm_command_report, carm_command_run, carm_command_show, carm_command_sol,
    carm_command_study, carm_command_validate;
