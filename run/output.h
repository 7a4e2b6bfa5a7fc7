/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Standard output and error of a run whose output is discarded. They are of the same kind as the caller's, since
 * programs behave differently with /dev/null (grep stops at the first match), a pipe and a terminal. */
#pragma once

struct carm_output;

/* Opens a file in memory for a file, a pipe for a pipe, a socket for a socket, a pseudo-terminal of
 * the same size and modes for a terminal, and /dev/null for anything else. When standard output and
 * error are one file, they get one replacement. A thread empties the replacements, so that they
 * hold only the output since its latest look.
 * returns 0 or a negative errno */
int carm_output_open(struct carm_output **out);
/* i  0 = for standard output, 1 = for standard error
 * returns the descriptor that replaces it in the program */
int carm_output_fd(const struct carm_output *output, int i);
void carm_output_close(struct carm_output *output); /* NULL allowed */
