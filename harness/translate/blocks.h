/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts of each piece of code in a run counted by translation, summed over the tallies of its
 * programs, by file and offset. The sum of blocks times executions, extras and rest is exactly
 * the counts of the run. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "harness/count/step/instruction.h"
#include "harness/translate/modules.h"
#include "harness/translate/tally.h"

/* A block of code that was executed. A block begins at the target of a branch, a call or a
 * return, so blocks may overlap: a block that begins inside another one ends at the other's end,
 * or after 48 instructions. */
struct carm_executed {
    uint32_t module; /* number in carm_blocks.modules */
    uint64_t at;     /* offset in the file; without a file, the address */
    uint64_t executions;
    struct carm_tally_row row; /* its pc and target are offsets in the file */
};

/* Counts of the instructions at this place beyond the executions of their block, modulo 2^64. */
struct carm_extra {
    uint32_t module;
    uint64_t at;
    struct carm_step_counts counts;
};

/* Where the code of a counter is, for all programs' counters. Records of addresses name a block by its counter. */
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
    uint32_t *index; /* [index_room] by module and offset: number of a block + 1; NULL = none */
    size_t index_room;
    uint64_t seed;
    struct carm_extra *extras; /* sorted, each place once */
    size_t nextras, extras_room;
    struct carm_step_counts rest;    /* counts without a place */
    struct carm_block_place *places; /* sorted by program and counter */
    size_t nplaces, places_room;
};

void carm_blocks_open(struct carm_blocks *blocks);
void carm_blocks_close(struct carm_blocks *blocks);

/* Adds executions of a block. Blocks come in any order; carm_blocks_sort sorts them. at, row: see struct
 * carm_executed
 * returns 0 or -CARM_ENOMEM */
int carm_blocks_add(struct carm_blocks *blocks, const struct carm_executed *block,
                    struct carm_err *err);
int carm_blocks_add_extra(struct carm_blocks *blocks, const struct carm_extra *extra,
                          struct carm_err *err);
int carm_blocks_add_place(struct carm_blocks *blocks, uint32_t program, uint32_t counter,
                          const struct carm_executed *block, struct carm_err *err);
void carm_blocks_sort(struct carm_blocks *blocks);

/* The place of a counter's block, after carm_blocks_sort. NULL = the counter counted nothing */
const struct carm_block_place *carm_blocks_place(const struct carm_blocks *blocks, uint32_t program,
                                                 uint32_t counter);
