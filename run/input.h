/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Standard input of a program that runs twice: first for its time, then for its counts. */
#ifndef CARM_RUN_INPUT_H
#define CARM_RUN_INPUT_H

#include <stdbool.h>
#include <sys/types.h>

/* Both runs read a file from the same place. What can be read only once (a pipe, a terminal) belongs to the
 * first run. The second one has an empty file in its place, whose time of access tells whether the program
 * has tried to read it: then its counts are not those of the first run. */
struct carm_input {
    off_t begin; /* of a file: where the first run began; -1 = no file */
    off_t end;   /* and where it stopped */
    int empty;   /* the empty file; -1 = none */
    bool blind;  /* whether it was read cannot be known */
};

void carm_input_first(struct carm_input *input); /* before the first run */
void carm_input_again(struct carm_input *input); /* before the second */

/* Before each further run, and after the last of them: a file is where the first run began.
 * returns false where the run before has read what can be read only once, or that cannot be known */
bool carm_input_rewind(const struct carm_input *input);

/* After the second run: a file is where the first run left it.
 * returns whether the second run had the same input */
bool carm_input_end(struct carm_input *input);

#endif
