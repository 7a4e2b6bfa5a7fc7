/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm study: the application studies of the papers, on this machine. */
#ifndef CARM_CLI_STUDY_COMMAND_H
#define CARM_CLI_STUDY_COMMAND_H

#include "cli/opt.h"

extern const struct carm_command carm_command_study;

#endif
