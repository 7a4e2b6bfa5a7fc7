/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Completion in shells, made from the commands' option tables. */
#ifndef CARM_CLI_COMPLETION_WRITE_H
#define CARM_CLI_COMPLETION_WRITE_H

/* Prints the script for "bash" or "zsh" to standard output.
 * returns an exit code; what is wrong goes to standard error */
int carm_completion_print(const char *shell);

#endif
