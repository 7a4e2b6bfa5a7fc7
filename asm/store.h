/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The test codes that this program carries, assembled when it was built: one image as nasm wrote it,
 * its table sorted by name. Nobody trusts it: carm_image_open recounts each code that it takes from
 * here, as it does with fresh ones. */
#ifndef CARM_STORE_H
#define CARM_STORE_H

#include "asm/table.h"

/* carried.asm: of no bytes in the build's own tools and in most tests, which assemble all */
extern const uint8_t carm_store_bytes[];
extern const uint8_t carm_store_end[];

/* Opens the carried image: *store has n = 0 where nothing is carried.
 * returns 0 or -CARM_EFORMAT (the program's file is damaged) */
int carm_store_open(struct carm_table *store, struct carm_err *err);

/* Where the constants of an image begin, which end with its codes' part: behind its last code. */
uint64_t carm_store_constants(const struct carm_table *store);

#endif
