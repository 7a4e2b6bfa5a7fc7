/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A simulation of the caches of several cores over traces of their accesses: the lines that cross
 * between the levels, why they do, and how much of them is used.
 *
 * Lines have 64 bytes. Every level is set-associative, write-back and write-allocate. A level is
 * looked up for the misses of the level before, and takes the dirty victims of the level before.
 * Levels are neither inclusive nor exclusive, except the last one (enum carm_hierarchy_last).
 * Copies of several cores are kept coherent (MESI): a store invalidates the line in other cores'
 * caches, a load of another core's dirty line makes that core write the line back.
 *
 * Not simulated: time (a prefetched line is there at once), hashed slices, address translation (the
 * trace's addresses count as physical), instruction fetches.
 *
 * source: Hill, Smith 1989, Evaluating Associativity in CPU Caches, section 2, for the kinds of misses:
 * each cache is compared with a fully associative LRU cache over the same lookups. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "models/caches/config.h"
#include "models/caches/counts.h"

enum carm_access_kind {
    CARM_ACCESS_LOAD,
    CARM_ACCESS_STORE,
    CARM_ACCESS_STORE_NT,    /* past the caches */
    CARM_ACCESS_PREFETCH,    /* by an instruction, into the first level */
    CARM_ACCESS_PREFETCH_L2, /* into the second */
    CARM_ACCESS_KINDS,
};

struct carm_hierarchy;

/* returns 0; -CARM_EINVAL (a geometry that cannot be); -CARM_ENOMEM (also: memory_bytes) */
int carm_hierarchy_open(struct carm_hierarchy **out, const struct carm_hierarchy_config *config,
                        struct carm_err *err);
void carm_hierarchy_close(struct carm_hierarchy *h); /* NULL allowed */

/* Charges the following accesses to one instruction or loop. Its counts are the lookups of its
 * accesses, their misses and the lines fetched for them; the write-backs of lines that it was the
 * last to store to; the moves to an exclusive level of lines fetched for it; and the unused bytes
 * of lines fetched for it.
 * who  any number, but memory is taken for each number below it; at first 0 */
void carm_hierarchy_by(struct carm_hierarchy *h, uint32_t who);

/* One access of a core: below config.cores. Lines that it straddles are looked up each.
 * A non-temporal store combines with others to its line and throws cached copies out. The line goes to
 * memory when it is whole, or in part when its buffer is needed for another line, when a plain access of
 * the core touches it, or at a flush; a part costs memory as much as a whole line.
 * address  a line's number has 55 bits: room for a process number above 47 bits of address
 * returns the level that had the (last) line: 0 = the first, nlevels = memory, nlevels + 1 = another
 * core's cache; for a caller that keeps results by instruction. Non-temporal stores: nlevels */
unsigned carm_hierarchy_access(struct carm_hierarchy *h, uint32_t core, uint64_t address,
                               uint32_t bytes, enum carm_access_kind kind);

/* Like carm_hierarchy_access for a load inside one line that hits in the first level, without
 * counting a lookup.
 * returns false: the line is not in the first level and nothing was done; call
 * carm_hierarchy_access */
bool carm_hierarchy_hits(struct carm_hierarchy *h, uint32_t core, uint64_t address, uint32_t bytes);

/* Empties the caches: dirty lines are written back, to memory in the end, and are counted so. */
void carm_hierarchy_flush(struct carm_hierarchy *h);

/* The counts so far of one instruction or loop; zeros without accesses. The sum over all
 * instructions equals carm_hierarchy_read. */
void carm_hierarchy_read_by(const struct carm_hierarchy *h, uint32_t who,
                            struct carm_hierarchy_counts *out);

/* The counts so far, of all; the trace may go on afterwards.
 * returns 0 or -CARM_ENOMEM (the trace touched more than memory_bytes can keep account of) */
int carm_hierarchy_read(const struct carm_hierarchy *h, struct carm_hierarchy_counts *out,
                        struct carm_err *err);
