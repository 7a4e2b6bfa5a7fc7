/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Test codes that a search found to be faster than the usual candidates, by microarchitecture:
 * data/codes.json and a user's own file. Builds also try these codes. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "models/theory.h"

enum { CARM_WINNER_CODE_MAX = 64, CARM_WINNER_LEVEL_MAX = 16, CARM_WINNER_SOURCE_MAX = 160 };

struct carm_winner {
    char machine[48];                  /* carm_winner_machine */
    char level[CARM_WINNER_LEVEL_MAX]; /* "L1" .. "DRAM" */
    char code[CARM_WINNER_CODE_MAX];   /* memory code (kind A) */
    double gain; /* over the best usual candidate in the same rounds, > 0: 1.02 */
    char source[CARM_WINNER_SOURCE_MAX]; /* place and date of the search */
};

struct carm_winners {
    size_t n, room;
    struct carm_winner *items; /* sorted by machine, level and code */
};

/* The key of a processor's winners: its name in the table of microarchitectures, else vendor,
 * family and model.
 * guest_bytes  as in carm_theory_find_cpu
 * name         [48] */
void carm_winner_machine(const struct carm_theory_table *table, const char *vendor, int family,
                         int model, unsigned guest_bytes, char *name);

/* Adds the entries of JSON text (schema "carm-codes/1") as carm_winners_add does.
 * winners  {0} at first; to be released with carm_winners_close
 * name     the text's name in messages: a file's name
 * returns 0, -CARM_EFORMAT with file, place and reason, or -CARM_ENOMEM; winners is then unchanged */
int carm_winners_read(struct carm_winners *winners, const char *text, size_t size_bytes,
                      const char *name, struct carm_err *err);

/* Adds a winner, which replaces an older one of the same machine, level, ISA, precision and mix.
 * returns 0 or -CARM_ENOMEM */
int carm_winners_add(struct carm_winners *winners, const struct carm_winner *winner,
                     struct carm_err *err);

/* The winner with the same machine, level, ISA, precision and mix, borrowed; NULL = none. */
const struct carm_winner *carm_winners_find(const struct carm_winners *winners,
                                            const struct carm_winner *like);

/* The text of a file with all winners, to be released with free; NULL = not enough memory. */
char *carm_winners_to_json(const struct carm_winners *winners);

void carm_winners_close(struct carm_winners *winners);
