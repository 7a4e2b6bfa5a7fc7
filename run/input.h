/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Standard input of a program that runs twice: first for its time, then for its counts. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Both runs read a file from the same offset. Input that can be read only once (a pipe, a
 * terminal) goes to the first run. The second run then gets an empty file. If the program reads
 * that file, which its time of access shows, the counts do not describe the first run. */
struct carm_input {
    off_t begin; /* of a file: where the first run began; -1 = no file */
    off_t end;   /* offset at which the first run stopped */
    int empty;   /* the empty file; -1 = none */
    bool blind;  /* the access time of the empty file is not usable */
};

void carm_input_first(struct carm_input *input); /* before the first run */
void carm_input_again(struct carm_input *input); /* before the second */

/* Call before each further run and after the last: sets a file's offset to the begin of the first
 * run.
 * returns false when the run before has read input that can be read only once, or may have */
bool carm_input_rewind(const struct carm_input *input);

/* Call after the second run: sets a file's offset to the end of the first run.
 * returns whether the second run had the same input */
bool carm_input_end(struct carm_input *input);
