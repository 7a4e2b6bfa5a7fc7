/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tallies of all programs of a run (harness/translate/tally.h), and their sum. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "harness/count/step/instruction.h"
#include "harness/translate/blocks.h"

struct carm_sums;

/* Executions of a marked piece of code (include/carm_count.h) with one number of iterations, by all threads and
 * processes. */
struct carm_mark {
    char name[128];
    uint64_t iterations; /* of each call */
    uint64_t calls;
    bool differ; /* calls, from the second on, have different counts */
    struct carm_step_counts first, second, sum;
};

struct carm_marks {
    struct carm_mark *of; /* [n] in order of their first call; to be freed */
    size_t n;
    uint64_t lost; /* calls that found no room, or were nested too deep */
};

struct carm_sum {
    struct carm_step_counts counts;
    uint64_t threads, processes; /* seen */
    uint64_t counters, taken;    /* all counters of code; counters of blocks from the stock */
    uint64_t compared;           /* instructions in code that may change while it is executed */
    char incomplete[256];        /* why parts of the run are missing in the sum; "" = complete */
};

/* returns 0 or -CARM_ENOMEM */
int carm_sums_open(struct carm_sums **out, struct carm_err *err);
/* Sets which parts the sums keep: the blocks, and the places of their counters (carm_blocks_place). A run of many
 * programs has the same blocks many times. */
void carm_sums_want(struct carm_sums *sums, bool blocks, bool places);
void carm_sums_close(struct carm_sums *sums); /* NULL allowed */

/* Creates a tally for the program that pid executes now.
 * program  out: number of the tally, from 0
 * why      out, borrowed: the reason when -1 is returned
 * returns its file descriptor, or -1 */
int carm_sums_add(struct carm_sums *sums, pid_t pid, uint32_t *program, const char **why);

/* Code of a mapped file that programs have executed. Not checked: programs can write every member's value. */
struct carm_sums_code {
    int root; /* directory that the path begins at; AT_FDCWD */
    const char *path;
    uint64_t offset, bytes;  /* of the mapping, in the file */
    const uint32_t *offsets; /* [n] of blocks, in the mapping */
    uint32_t n;
};

/* Blocks since the latest carm_sums_codes. */
uint64_t carm_sums_new_blocks(struct carm_sums *sums);
/* Whether a program forks often, so that many children execute the same code. */
bool carm_sums_forks(const struct carm_sums *sums);
/* Calls take for the code of the blocks since the latest call. take NULL: leaves this code out for good */
void carm_sums_codes(struct carm_sums *sums, void (*take)(void *arg, const struct carm_sums_code *),
                     void *arg);

/* The code that a program has executed so far. */
struct carm_sums_executed {
    int root;                    /* as in struct carm_sums_code */
    struct carm_tally_map *maps; /* [nmaps], to be freed */
    uint64_t
        *at; /* [n] as in struct carm_ready_job, in order of the first execution; to be freed */
    uint32_t nmaps, n;
};
/* The file of the latest program, a number from 1 on; 0 = not known */
uint32_t carm_sums_file(const struct carm_sums *sums);
/* A hash of the latest program's path and file: its inode, size and time. 0 = not known, or its code is of no use
 * later: its addresses differ from run to run, or its paths do not begin at carm's root folder */
uint64_t carm_sums_key(const struct carm_sums *sums);
/* Whether any program's counts are incomplete so far. */
bool carm_sums_incomplete(const struct carm_sums *sums);
/* An earlier execution of the file by a program. returns false: there is none, or no memory */
bool carm_sums_executed(struct carm_sums *sums, uint32_t file, struct carm_sums_executed *out);
/* Gives the latest program the counters of ready code, whose rows stay readable until carm_sums_close.
 * mapped  bytes of ready code that can be read
 * returns false: no memory */
struct carm_ready;
bool carm_sums_prepare(struct carm_sums *sums, const struct carm_ready *ready, uint64_t mapped);

/* Call when pid has executed another program: frees its slot in the former program's tally. */
void carm_sums_left(struct carm_sums *sums, pid_t pid);

/* Whether any counted process lives. */
bool carm_sums_in_use(struct carm_sums *sums);

/* Sums all tallies, after all programs have ended.
 * blocks  out: the sum by place in the code, to be closed; NULL = not wanted
 * marks   out; NULL = not wanted */
void carm_sums_take(struct carm_sums *sums, struct carm_sum *out, struct carm_blocks *blocks,
                    struct carm_marks *marks);
