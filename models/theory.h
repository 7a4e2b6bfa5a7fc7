/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The work that a core can do in a cycle, by published descriptions. Measured roofs are
 * compared with it. The figures and the source of each are in data/microarchitectures.json. */
#pragma once

#include <stddef.h>

#include "base/err.h"

enum {
    CARM_THEORY_WIDTHS = 5, /* scalar, 16, 32 and 64 byte, tiles of 16 x 64 byte */
    CARM_THEORY_RANGES_MAX = 16,
    CARM_THEORY_SOURCES_MAX = 16,
    CARM_THEORY_SOURCE_MAX = 256,
    CARM_THEORY_NOTE_MAX = 512,
    CARM_THEORY_CORE_MAX = 96,
    CARM_THEORY_PORTS_MAX = 48,
    CARM_THEORY_OTHERS = 15, /* instructions by precision and operation */
};

/* Instructions that one core executes in a cycle on vectors of one width, or on tiles; 0 = not known, or (fma)
 * missing. */
struct carm_theory_rates {
    double loads, stores; /* loads alone; stores alone */
    double accesses;      /* loads and stores together, as many as its address generation allows */
    double fma;
    /* Floating-point pipes: for multiply only, for add only, and for either. A pipe that takes
     * two cycles for an instruction is half a pipe. All 0 = not known. */
    double mul, add, mul_or_add;
    double others[CARM_THEORY_OTHERS]; /* of integers, fp16 and bf16 */
};

/* CPUID family and models, as displayed (extended ones added). */
struct carm_theory_range {
    int family, first, last;
};

/* Latency and reciprocal throughput of a kind of instruction (models/core.h), cycles; 0 = not known. */
struct carm_theory_core {
    char kind[24], isa[12], precision[8]; /* "" = does not matter */
    double latency, throughput;
};

/* The pipes that execute an instruction, a letter each, and its latency, for models without one; "" and 0 = not known.
 * word: as in harness/profile/insn.h, or "branch", "load-indexed". */
struct carm_theory_ports {
    char word[24], pipes[9];
    double latency;
};

struct carm_microarchitecture {
    char name[48];
    char vendor[16]; /* CPUID's: "GenuineIntel", "AuthenticAMD" */
    size_t ncpuid;   /* 0 where another entry has the same CPUID values */
    struct carm_theory_range cpuid[CARM_THEORY_RANGES_MAX];
    double issue; /* instructions a cycle through rename, 0 = not known */
    /* most instructions in flight; most vector instructions that wait for operands; 0 = not known */
    double reorder, vector_queue;
    double code_line; /* bytes of code fetched in a cycle, as an aligned line; 0 = not known */
    /* most instructions for units of general registers that are dispatched, in order, in a cycle; 0 = not known */
    double dispatch_integers;
    struct carm_theory_rates widths[CARM_THEORY_WIDTHS];
    struct carm_theory_core core[CARM_THEORY_CORE_MAX];
    size_t ncore;
    struct carm_theory_ports ports[CARM_THEORY_PORTS_MAX];
    size_t nports;
    size_t nsources; /* >= 1 */
    char sources[CARM_THEORY_SOURCES_MAX][CARM_THEORY_SOURCE_MAX];
    char note[CARM_THEORY_NOTE_MAX];
};

struct carm_theory_table {
    size_t n;
    struct carm_microarchitecture *entries;
};

/* Reads a table from JSON text (schema "carm-microarchitectures/1").
 * name   the file's name in messages; borrowed
 * table  out: to be released with carm_theory_close; NULL on failure
 * returns 0, -CARM_EFORMAT with file, place and reason, or -CARM_ENOMEM */
int carm_theory_open(const char *text, size_t size_bytes, const char *name,
                     struct carm_theory_table **table, struct carm_err *err);
void carm_theory_close(struct carm_theory_table *table); /* NULL allowed */

/* The entry of a processor by CPUID, borrowed from the table, or NULL where it has none. Model
 * numbers are the same for the different cores of hybrid processors, and in a virtual machine they can be false: an
 * entry without rates for vectors of guest_bytes is not the processor's. The vendor's first entry with this widest
 * vector takes its place, if all such entries have the same issue and reorder.
 * guest_bytes  carm_cpu_guest_bytes; 0 = family and model are true */
const struct carm_microarchitecture *carm_theory_find_cpu(const struct carm_theory_table *table,
                                                          const char *vendor, int family, int model,
                                                          unsigned guest_bytes);

/* The entry of that name, upper and lower case alike.
 * entry  out: borrowed from the table; NULL on failure
 * returns 0, or -CARM_EINVAL with the names that there are */
int carm_theory_find_name(const struct carm_theory_table *table, const char *name,
                          const struct carm_microarchitecture **entry, struct carm_err *err);

/* The entry of a word in the table of pipes; NULL = none, also of m = NULL */
const struct carm_theory_ports *carm_theory_ports_of(const struct carm_microarchitecture *m,
                                                     const char *word);

/* Byte/cycle of one core in L1 for code that repeats loads and stores of whole vectors, cache lines
 * all present: the bytes of one unit over the cycles of whichever is longest, its loads, its
 * stores, or both on the address generators.
 * vector_bytes  4 or 8 (scalar), 16, 32, 64, 1024 (tiles)
 * loads, stores instructions of one unit
 * returns 0.0 where the table has no value that is needed, or the width is another */
double carm_theory_l1(const struct carm_microarchitecture *m, unsigned vector_bytes, unsigned loads,
                      unsigned stores);

/* Flop/cycle of one core for code of one operation and enough independent chains.
 * lanes  numbers in a vector; of tiles, products that one instruction adds up
 * op     "fma", "mul", "add", or "mad", which is multiply and add in turn, not fused: n of each take
 *        the longest of n on the pipes that multiply, n on those that add, 2n on all; or
 *        "2fma+add", two FMAs to one add, and "fma+add", the better of that and 1:1
 * returns 0.0 if the table or the core lacks the operation, or for other operations ("div") */
double carm_theory_flops(const struct carm_microarchitecture *m, unsigned vector_bytes,
                         unsigned lanes, const char *op);

/* Operations/cycle of one core in any precision: carm_theory_flops for dp and sp; for other
 * precisions the table's figure for that precision and operation ("int8", "dot"), or for all
 * integers ("int add").
 * returns 0.0 where the table has neither figure */
double carm_theory_rate(const struct carm_microarchitecture *m, unsigned vector_bytes,
                        unsigned lanes, const char *precision, const char *op);
