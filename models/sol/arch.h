/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine under a DNN graph: an accelerator's architecture from YAML, or a CPU's measured model. And
 * the precisions, which a machine has rates for.
 * Source: the Solar guide, and docs/sol.md, which lists carm's interpretations of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "models/model.h"

/* The type of all tensors' elements, and the unit that executes multiply-accumulates on them. */
enum carm_sol_precision {
    CARM_SOL_FP64, /* only in CPUs' models */
    CARM_SOL_FP32,
    CARM_SOL_TF32,
    CARM_SOL_FP16,
    CARM_SOL_BF16,
    CARM_SOL_FP8,
    CARM_SOL_INT8,
    CARM_SOL_NVFP4,
    CARM_SOL_PRECISIONS,
};

/* "fp64", "fp32", ... */
const char *carm_sol_precision_name(enum carm_sol_precision precision);

/* The precision of a CPU's roofs for a precision of a graph: "dp", "sp", "fp16", "bf16", "int8"; ""
 * = none. */
const char *carm_sol_precision_roofs(enum carm_sol_precision precision);

/* returns the precision, or -1 for another word */
int carm_sol_precision_find(const char *name);

/* Bits of an element: 64, 32, 32, 16, 16, 8, 8, 4. */
unsigned carm_sol_precision_bits(enum carm_sol_precision precision);

/* Bytes of a number of elements; half a byte is rounded up. returns 0, or -1 above INT64_MAX */
int carm_sol_bytes(uint64_t elements, enum carm_sol_precision precision, uint64_t *bytes);

enum { CARM_SOL_LEVELS_MAX = 8 };

/* Storage on the chip. */
struct carm_sol_level {
    char name[CARM_NAME_MAX]; /* "SRAM", "L1", "L2", ... */
    uint64_t capacity;     /* bytes, all instances that the threads use together; 0 = not known */
    double byte_per_cycle; /* 0 = not known: no limit by it */
};

struct carm_sol_arch {
    char name[CARM_NAME_MAX];
    char source[CARM_TEXT_MAX]; /* origin of the figures: a citation, or the model's file */
    double freq_ghz;
    double dram_byte_per_cycle;
    uint64_t dram_capacity;                      /* bytes; 0 = not known */
    double mac_per_cycle[CARM_SOL_PRECISIONS];   /* of contractions; 0 = impossible or not known */
    double other_per_cycle[CARM_SOL_PRECISIONS]; /* other operations: fp32_sm of an accelerator for
                                                    all precisions; a CPU's best add or mul rate */
    struct carm_sol_level levels[CARM_SOL_LEVELS_MAX]; /* innermost first */
    size_t nlevels;
    bool measured;            /* measured by carm build */
    bool fp32_tc;             /* the rate of contractions in fp32 is MAC_per_cycle_fp32_tc */
    char note[CARM_TEXT_MAX]; /* a warning for comparisons of machines; "" = none */
};

/* Sets one value by its name in the file, as `--set DRAM_byte_per_cycle=2000`; SRAM_ ones act on
 * the last level, or make one. The sm keys set contractions and other operations as in a file; for
 * a measured CPU they set only its own precision.
 * returns 0 or -CARM_EINVAL (unknown name with the list, value out of range); arch is untouched then
 * */
int carm_sol_arch_set(struct carm_sol_arch *arch, const char *key, double value,
                      struct carm_err *err);

/* The precision of the estimates: wanted, if >= 0; else fp16 if the machine has a rate for it (a measured CPU: fp64),
 * else its widest precision.
 * returns 0 or -CARM_EINVAL: no rate for it (names the precisions that have one) */
int carm_sol_arch_precision(const struct carm_sol_arch *arch, int wanted,
                            enum carm_sol_precision *precision, struct carm_err *err);

/* "fp16, int8": the precisions that the machine has a rate for, "none" without any; arch NULL = all.
 * returns dst */
char *carm_sol_arch_precisions(const struct carm_sol_arch *arch, char *dst, size_t size);

/* The key of a precision's MAC rate: "MAC_per_cycle_fp16_tc". */
const char *carm_sol_arch_mac_key(const struct carm_sol_arch *arch,
                                  enum carm_sol_precision precision);

/* ---- keys of an architecture's file ---- */

/* The keys of an architecture's file. */
enum carm_sol_key {
    CARM_SOL_KEY_FREQ,
    CARM_SOL_KEY_DRAM_RATE,
    CARM_SOL_KEY_DRAM_CAPACITY,
    CARM_SOL_KEY_SRAM_CAPACITY,
    CARM_SOL_KEY_SRAM_RATE,
    CARM_SOL_KEY_MAC, /* the first: one for each precision, in the order of the enum */
    CARM_SOL_KEY_FP32_TC = CARM_SOL_KEY_MAC + CARM_SOL_PRECISIONS,
    CARM_SOL_KEYS,
};

#define CARM_SOL_CAPACITY_MOST ((uint64_t)1 << 62) /* bytes */
enum { CARM_SOL_WHY_MAX = 256 };

const char *carm_sol_key_name(enum carm_sol_key key);
/* returns CARM_SOL_KEYS for another word */
enum carm_sol_key carm_sol_key_find(const char *name);
/* Whether the key's value is a number of bytes. */
bool carm_sol_key_is_capacity(enum carm_sol_key key);
/* "freq_GHz, DRAM_byte_per_cycle, ...", from a key on. returns text */
char *carm_sol_key_list(char *text, size_t size, enum carm_sol_key from);
/* Whether a value is possible. why: out: the reason where it is not */
bool carm_sol_key_check(enum carm_sol_key key, double value, char why[CARM_SOL_WHY_MAX]);
/* Sets a checked value: bytes of a capacity, exactly, or any value. */
void carm_sol_key_put_bytes(struct carm_sol_arch *arch, enum carm_sol_key key, uint64_t bytes);
void carm_sol_key_put(struct carm_sol_arch *arch, enum carm_sol_key key, double value);
