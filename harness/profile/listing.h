/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The code of a row of a profile for a reader: lines of its source with their executions, or its instructions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "harness/profile/code.h"
#include "harness/profile/symbols.h"

struct carm_listing_line {
    int number;  /* of the source; 0 = an instruction */
    uint64_t at; /* offset of an instruction in its file */
    double
        executions; /* of the line's most executed instruction; 0 = the row has none of the line */
    char text[120];
};

struct carm_listing {
    char file[128];  /* "solve.c"; "" = the lines are instructions */
    const char *why; /* why the lines are instructions; a fixed text */
    struct carm_listing_line *lines;
    size_t n, room;
    size_t left_out; /* lines or instructions beyond CARM_LISTING_MAX */
};

enum { CARM_LISTING_MAX = 60 };

/* The lines of the source file with most of the row's instructions, and one line around each of them. Where debug
 * information or the file is missing, or the file is newer than the program, the instructions.
 * path  of the module
 * out   to be closed; on error it is empty
 * returns 0 or -CARM_ENOMEM */
int carm_listing_open(struct carm_listing *out, const struct carm_flow_code *code,
                      const struct carm_symbols_module *symbols, const char *path,
                      struct carm_err *err);
void carm_listing_close(struct carm_listing *listing);
