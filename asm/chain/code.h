/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Codes for latencies: chains of dependent instructions (latency), independent instructions
 * (reciprocal throughput), and pointer chases. One table has all instructions. */
#pragma once

#include <stdio.h>

#include "asm/code.h"

enum {
    CARM_CHAIN_WINDOW_BYTES =
        16384, /* bytes that latency and throughput codes may access, from a page's start */
    CARM_CHASE_CHAINS_MAX = 64,
    CARM_CHASE_REGISTERS =
        10, /* up to this number of chains, pointers stay in general registers; else in the window */
    CARM_CHAIN_LOOP = 48, /* measured instructions of a loop, about, unless the row says otherwise:
                                * `dec; jnz` then hides behind a chain, and costs each instruction of a
                                * throughput code 2% of an issue slot */
};

enum carm_chain_form {
    CARM_CHAIN_LATENCY,    /* L: each unit needs the result of the one before it */
    CARM_CHAIN_THROUGHPUT, /* T: `ways` independent chains take turns */
    CARM_CHAIN_CHASE, /* P: k chains of pointers; each load's address is the pointer loaded before */
    CARM_CHAIN_GATHER, /* G: chains of pointers, loaded by gathers of whole vectors */
};

/* A row of the table: one kind of instruction or event in some ISAs and precisions.
 * Instructions are lines. A line may begin with '-' (neither measured nor on the chain), '@' (on the chain, not
 * measured) or '!' (measured, not on the chain); then '>' (it loads), '<' (it stores) or '=' (both). Placeholders:
 *   $d register of the chain (vector of the ISA, or general, as wide as the precision)   $2 "$d, $d", in SSE $d
 *   $q $e its general register, 64 and 32 bits   $x $h its vector register, 16 bytes and half as wide
 *   $k its mask register                         $a $b vector constants a and 1/a, $c the two in turn
 *   $z vector constant, small                    $v "v" unless in SSE encoding
 *   $s suffix of the precision (sd, pd, ...)     $i q or d by the precision
 *   $m move of a vector, unaligned               $o offset of the chain's own vector in the window
 *   $l a label of this unit                       $g r11, as wide as the precision
 * The window's registers are rdi and r15; r11 is 3 and rcx 7 unless `before` sets them. */
struct carm_chain_row {
    const char *kind; /* word of models/core.h */
    unsigned isas;    /* a bit for each enum carm_isa; 0 = general registers, the name has no ISA */
    unsigned precisions; /* a bit for each enum carm_precision; 0 = none in the name */
    const char *chain;   /* a unit of the latency code; NULL = the kind has none */
    const char *many;   /* a unit of the throughput code; "" = as chain; NULL = the kind has none */
    const char *before; /* before the loop; NULL = nothing */
    unsigned ways;      /* chains of the throughput code; 0: registers are not initialised */
    unsigned units;     /* of a loop with a latency or without ways; 0: by CARM_CHAIN_LOOP */
    const char
        *minus; /* a kind whose latency is in each unit, too, and is subtracted; NULL = none */
    struct carm_cpu_bits needs; /* beside the ISA's bits */
};

/* A code. A pointer chase has no row. */
struct carm_chain_code {
    enum carm_chain_form form;
    const struct carm_chain_row *row;
    enum carm_isa isa;             /* where the row has ISAs; of gathers AVX2 or AVX-512 */
    enum carm_precision precision; /* where the row has precisions */
    unsigned chains; /* of chases: 1 .. CARM_CHASE_CHAINS_MAX; of gathers whole vectors */
    unsigned
        beside; /* of chases: instructions for each load that write a register and wait for no miss; 0 = the fewest */
};

/* rdi  start of the window. Mispredicted branches: it begins with the first state of the generator. Chases: it has
 *      `chains` pointers, which the code advances
 * rsi  iterations of the loop, >= 1
 * rdx  mispredicted branches: mask of the tested bits of the random numbers */
typedef void carm_chain_fn(void *window, uint64_t iterations, uint64_t mask);

/* Chases of CARM_CHASE_BESIDE_CHAINS chains are measured with CARM_CHASE_BESIDE numbers of instructions beside each
 * load, ascending: they show how many results of later instructions a core keeps while a load is pending. */
enum { CARM_CHASE_BESIDE = 5, CARM_CHASE_BESIDE_CHAINS = 40 };
extern const unsigned carm_chase_beside[CARM_CHASE_BESIDE];

/* Every code of the table, and the chases of 1 .. CARM_CHASE_CHAINS_MAX chains that are measured, sorted by name.
 * *codes [*n] is to be released with free
 * returns 0 or -CARM_ENOMEM */
int carm_chain_all(struct carm_chain_code **codes, size_t *n, struct carm_err *err);

/* "L.add.avx2.dp", "T.int-add", "P.k8", "P.b16.k40", "G.avx512.k16". Writes at most CARM_CODE_NAME_MAX bytes. */
void carm_chain_name(const struct carm_chain_code *code, char name[CARM_CODE_NAME_MAX]);

/* Whether a name may be one of a latency code, by its first letter. */
bool carm_chain_is_name(const char *name);

/* returns 0 or -CARM_EINVAL: there is no such code */
int carm_chain_parse(const char *name, struct carm_chain_code *code, struct carm_err *err);

/* Units in the loop: of chases, loads of one chain. */
unsigned carm_chain_units(const struct carm_chain_code *code);

/* Measured instructions of a unit, and its instructions on the chain. */
unsigned carm_chain_measured(const struct carm_chain_code *code);
unsigned carm_chain_path(const struct carm_chain_code *code);

/* CPUID bits that a code needs, its ISA's bits included. */
struct carm_cpu_bits carm_chain_needs(const struct carm_chain_code *code);

/* ---- source -------------------------------------------------------------------------------------- */

/* asm/chain/chain.inc, built in; NUL-terminated. */
extern const char carm_chain_inc_text[];

/* Writes one self-contained NASM file with the codes, for `nasm -f bin`. Write errors are left for the caller to
 * find with ferror(out). */
void carm_chain_source(FILE *out, const struct carm_chain_code *codes, size_t n);
