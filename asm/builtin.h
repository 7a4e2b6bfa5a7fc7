/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The test codes that this program carries, assembled when it was built: one image as nasm wrote it,
 * its table sorted by name. Nobody trusts it: carm_image_open recounts each code that it takes from
 * here, as it does with fresh ones. */
#ifndef CARM_ASM_BUILTIN_H
#define CARM_ASM_BUILTIN_H

#include "asm/table.h"

/* builtin.asm: of no bytes in the build's own tools and in most tests, which assemble all */
extern const uint8_t carm_builtin_bytes[];
extern const uint8_t carm_builtin_end[];

/* Opens the built-in image: *store has n = 0 where nothing is built in.
 * returns 0 or -CARM_EFORMAT (the program's file is damaged) */
int carm_builtin_open(struct carm_table *store, struct carm_err *err);

/* Where the constants of an image begin, which end with its codes' part: behind its last code. */
uint64_t carm_builtin_constants(const struct carm_table *store);

#endif
