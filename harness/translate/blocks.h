/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each piece of code did in a run counted by translation: the tallies of all its programs, by file and
 * offset. Blocks times executions, the extras and the rest are together exactly the counts of the run. */
#ifndef CARM_HARNESS_TRANSLATE_BLOCKS_H
#define CARM_HARNESS_TRANSLATE_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "harness/count/step/instruction.h"
#include "harness/translate/modules.h"
#include "harness/translate/tally.h"

/* A block of code that was executed. It begins where a branch, a call or a return led to, so blocks may
 * overlap: one that begins in the midst of another ends where that one does, or after 48 instructions. */
struct carm_executed {
    uint32_t module; /* number in carm_blocks.modules */
    uint64_t at;     /* offset in the file; where there is no file, the address */
    uint64_t executions;
    struct carm_tally_row row; /* pc and target are offsets, too */
};

/* What instructions at this place did beside the executions of their block; modulo 2^64. */
struct carm_extra {
    uint32_t module;
    uint64_t at;
    struct carm_step_counts counts;
};

/* Where the code of a counter is; counters of all programs, by which records of addresses name blocks. */
struct carm_block_place {
    uint32_t program, counter;
    uint32_t module;
    uint64_t at;
    uint64_t executions;
};

struct carm_blocks {
    struct carm_modules modules;
    struct carm_executed *blocks; /* sorted by module, offset, bytes; each once */
    size_t nblocks, blocks_room;
    struct carm_extra *extras; /* sorted, each place once */
    size_t nextras, extras_room;
    struct carm_step_counts rest;    /* of no place */
    struct carm_block_place *places; /* sorted by program and counter */
    size_t nplaces, places_room;
};

void carm_blocks_open(struct carm_blocks *blocks);
void carm_blocks_close(struct carm_blocks *blocks);

/* Adds one, in any order; carm_blocks_sort puts them in order. at and row: see above
 * returns 0 or -CARM_ENOMEM */
int carm_blocks_add(struct carm_blocks *blocks, const struct carm_executed *block,
                    struct carm_err *err);
int carm_blocks_add_extra(struct carm_blocks *blocks, const struct carm_extra *extra,
                          struct carm_err *err);
int carm_blocks_add_place(struct carm_blocks *blocks, uint32_t program, uint32_t counter,
                          const struct carm_executed *block, struct carm_err *err);
void carm_blocks_sort(struct carm_blocks *blocks);

/* When they are sorted: NULL = the counter counted nothing */
const struct carm_block_place *carm_blocks_place(const struct carm_blocks *blocks, uint32_t program,
                                                 uint32_t counter);

#endif
