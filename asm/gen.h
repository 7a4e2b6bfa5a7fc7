/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The generator: turns specifications of test codes into NASM source. */
#pragma once

#include <stdio.h>

#include "asm/code.h"

/* asm/carm.inc, built in; NUL-terminated. */
extern const char carm_inc_text[];

/* Writes one self-contained NASM file with the codes of specs[n] in that order; it assembles with
 * `nasm -f bin`. The caller checks the specifications before (carm_code_check), and write errors
 * after (ferror). */
void carm_gen_source(FILE *out, const struct carm_code_spec *specs, size_t n);

/* First values of the floating-point chains and the constants of their operations, as the generated
 * code loads them: element `lane` of row `row` of the table of constants. */
double carm_gen_constant(unsigned row, unsigned lane);

/* The bytes of a whole row of this table, in any precision. The sums of a dot product begin as
 * elements of 32 bits. */
enum { CARM_ROW_BYTES = 64 };
void carm_gen_row(enum carm_precision precision, unsigned row, uint8_t out[CARM_ROW_BYTES]);

/* The table from which codes with tiles load: the operand of ldtilecfg, then rows. A tile is 16 rows. */
enum {
    CARM_TILE_ROWS = 16,
    CARM_TILE_SUMS = 0, /* chain i begins with 16 rows from the i-th on, elements of 32 bits */
    CARM_TILE_FIRST =
        CARM_TILE_SUMS + CARM_TILE_ROWS + CARM_TILE_CHAINS, /* factor; also the stored data */
    CARM_TILE_SECOND = CARM_TILE_FIRST + CARM_TILE_ROWS,    /* factor */
    CARM_TILE_TABLE_ROWS = CARM_TILE_SECOND + CARM_TILE_ROWS,
};
void carm_gen_tile_row(enum carm_precision precision, unsigned row, uint8_t out[CARM_ROW_BYTES]);
