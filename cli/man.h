/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The man pages, made from the commands' option tables as --help is. */
#pragma once

#include "cli/opt.h"

/* Both print mdoc to standard output. */
void carm_man_overview(void);                              /* carm(1) */
void carm_man_command(const struct carm_command *command); /* carm-build(1) and the like */
