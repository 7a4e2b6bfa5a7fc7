/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A test code: its specification, its name, and the account of the instructions that it
 * executes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "asm/isa.h"
#include "base/err.h"

/* Test codes A, B and C of Ilic et al. 2014, Algorithm 1. The other kinds measure ceilings. */
enum carm_kind {
    CARM_KIND_A, /* memory only */
    CARM_KIND_B, /* floating point only */
    CARM_KIND_C, /* both, interleaved */
    CARM_KIND_R, /* loads of whole cache lines at random places, which no prefetcher can predict */
    CARM_KIND_W, /* issue width: C and integer additions, so that no execution port is the limit */
    CARM_KIND_EMPTY, /* loop and return alone: the overhead of a measurement */
};

/* How a unit's loads and stores are ordered in the loop. */
enum carm_order {
    CARM_ORDER_UNIT, /* unit after unit (LD LD ST LD LD ST), the paper's */
    CARM_ORDER_BLOCK, /* all loads of a block of units, then all its stores: fewer read-write turns */
};

/* A test code, complete: the same specification always gives the same instructions. */
struct carm_code_spec {
    enum carm_kind kind;
    enum carm_isa isa;
    enum carm_precision precision;
    struct carm_mix mix; /* kinds A, C and W: carm_kind_has_mix */
    enum carm_op op;     /* kinds B, C and W, which execute flops */
    unsigned units;      /* memory units in the loop (mix), >= 1; R: lines that it reads */
    unsigned fps;        /* floating-point instructions in the loop (flops): a multiple of the
                              * operation's turns, 2 or 3 */
    unsigned
        chains;    /* independent chains of these instructions (flops), 1 .. carm_code_max_chains */
    unsigned ints; /* integer additions in the loop: W >= 1; B any number, for a share of
                              * floating point in the instruction mix; 0 in other kinds */
    unsigned prefetch_bytes; /* distance of software prefetches, 0 = none (mix): of loaded streams,
                              * and of two streams also the target of ordinary stores */
    enum carm_order order;   /* mix */
    unsigned block;          /* CARM_ORDER_BLOCK: units of a block, 0 = the whole loop */
    unsigned streams;        /* 2 .. 6: arrays, `extra` bytes from one to the next (asm/image.h),
                              * which advance by the same bytes. Loads alone, stores alone and updates
                              * go to the arrays in turn. With loads and stores every access of a unit
                              * has its own array: copy is 1:1 in 2, the triad 2:1 in 3; with twice as
                              * many arrays every second unit has the second half. Loads use the first
                              * arrays. An update counts as one access: y += a x is 2:1update in 2.
                              * 0 and 1: one stream (A and C) */
    unsigned stride;         /* lines from one line that is loaded to the next; 0 and 1: contiguous.
                              * Loads only, whole lines (A) */
};

/* Instructions of one pass of the loop body, and of the entry, which runs once. They are counted
 * twice: by the macros that emit the instructions (asm/carm.inc) and by disassembly
 * (asm/recount.h). */
struct carm_account {
    uint64_t loads, load_bytes;
    uint64_t stores, store_bytes; /* non-temporal ones included */
    uint64_t nt_stores;
    uint64_t fp_instructions;
    uint64_t flops; /* an FMA counts two per lane */
    uint64_t prefetches;
    uint64_t int_instructions; /* additions of kinds B and W; neither loop control nor
                                             * the addresses of kind R */
    uint64_t instructions;     /* all of the body, loop control included */
    uint64_t stride_bytes;     /* bytes by which each stream advances in an iteration: its
                                             * loaded and stored bytes times the stride; R: 0 */
    uint64_t setup_loads, setup_load_bytes; /* constants, once each call */
};

enum {
    CARM_CODE_NAME_MAX = 64,           /* bytes of a name, with the terminating zero */
    CARM_CODE_INSTRUCTIONS_MAX = 4096, /* of a loop body: stays inside a 32 KiB instruction cache */
    CARM_CODE_UNITS_MAX = 2048,
    CARM_CODE_STRIDE_MAX = 4096, /* lines: 256 KiB */
    CARM_CODE_STREAMS_MAX = 6,   /* three registers with distances reach no more: asm/carm.inc */
    CARM_LINE_BYTES = 64,        /* of every x86-64 cache */
    CARM_TILE_CHAINS = 6, /* of 8 tiles, two of which are factors; loads and stores need two more */
    CARM_CODE_USUAL_CHAINS =
        10, /* every ISA has registers for 10; a latency of 4 cycles in 2 pipes needs 8 */
};

/* The name of a code, e.g. "A.avx512.dp.2:1.u8.p1024.block", "B.avx2.dp.fma.f40.c10",
 * "C.sse.sp.1:1.mad.u8.f32.c8", "W.scalar.dp.1:0.mad.u4.f8.c4.i16"; with several streams
 * "A.avx2.dp.1:1nt.u8.s2" (copy), "A.avx2.dp.2:1.u8.s3" (triad) and "C.avx2.dp.2:0.fma.u8.f16.c8.p512.s2" (dot), every eighth line
 * "A.avx2.dp.1:0.u8.j8", random lines "R.avx2.dp.u8", a quarter of floating point
 * "B.avx2.dp.fma.f16.c8.i45". Writes at most CARM_CODE_NAME_MAX bytes. */
void carm_code_name(const struct carm_code_spec *spec, char name[CARM_CODE_NAME_MAX]);

/* The inverse of carm_code_name: parses a name into a checked specification.
 * returns 0 or -CARM_EINVAL; the sentence names the wrong field and the values it may have. */
int carm_code_parse(const char *name, struct carm_code_spec *spec, struct carm_err *err);

/* Checks that a specification can be generated (ranges, FMA with its ISA, ...): 0 or -CARM_EINVAL */
int carm_code_check(const struct carm_code_spec *spec, struct carm_err *err);

/* Loads and stores in lowest terms: 2:2 becomes 1:1. */
struct carm_mix carm_mix_lowest(const struct carm_mix *mix);

/* Number of streams that a code prefetches: all but the targets of non-temporal stores. */
unsigned carm_code_fetched_streams(const struct carm_code_spec *spec);

/* Bytes that one unit loads and stores (R: a line). */
uint64_t carm_mix_unit_bytes(const struct carm_code_spec *spec);

bool carm_kind_has_memory(enum carm_kind kind); /* A, C, W and R */
bool carm_kind_has_mix(enum carm_kind kind);    /* A, C and W: loads and stores in a ratio */
bool carm_kind_has_flops(enum carm_kind kind);

/* Issue slots that one pass of the loop body takes, at least: one for each instruction, but one for
 * `dec rcx; jnz` together, which the decoders fuse from Sandy Bridge to Cannon Lake and from Zen 3
 * on. Intel since Ice Lake and AMD before Zen 3 issue dec and jnz apart: there the result is one slot
 * of an iteration too low, 1% of a loop of 100. Vectors wider than the core's datapaths and divisions
 * may take more than one slot.
 * source: Intel 64 and IA-32 Architectures Optimization Reference Manual (248966) and Agner Fog,
 * The microarchitecture of Intel, AMD and VIA CPUs, both under macro-fusion; the generations from
 * the table in "x86 macro-op fusion notes", corsix.org */
uint64_t carm_account_slots(const struct carm_account *account);

/* The largest number of chains: registers, less two in a code that loads and stores, and less two
 * for an operation's constants. */
unsigned carm_code_max_chains(const struct carm_code_spec *spec);

/* ---- operational intensity of kind C */

/* Operational intensity of a specification in flop/byte as an exact rational in lowest terms. */
void carm_code_intensity(const struct carm_code_spec *spec, uint64_t *flops, uint64_t *bytes);

/* Sets units, fps and chains of a kind-C specification (other fields given) so that its intensity
 * comes nearest to ai (flop/byte, 2^-12 < ai < 2^10), exactly where a loop of up to
 * 4096 instructions can.
 * returns 0 or -CARM_EINVAL */
int carm_code_set_intensity(struct carm_code_spec *spec, double ai, struct carm_err *err);

/* carm_code_set_intensity with the shortest loop whose intensity is within tolerance (relative) of ai, so that
 * the loop can be unrolled to the length that runs best; the nearest intensity if none is within tolerance. */
int carm_code_near_intensity(struct carm_code_spec *spec, double ai, double tolerance,
                             struct carm_err *err);
