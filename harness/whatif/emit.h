/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Variants of a loop as machine code: copies of its body that fall through from one iteration to the next, in which
 * some instructions are changed, and the code that counts passes and takes time stamps between them.
 *
 * The code is in a region of a copied process, near the loop. A branch back to the loop's head leads to the next copy
 * of the body; after the last copy, an entry decrements a count of units. When the count reaches 0, the time is
 * taken and the next phase of a table begins: another variant, and its number of units. No stub changes
 * a flag or a register of the loop, or uses its stack. */
#pragma once

#include "harness/whatif/body.h"

/* A row: identifier, whether it changes values that the loop computes.
 * NEAR, PREFETCHED and FAR differ in their distance; STREAM and the rows after it are L1 for the data of one stream. */
#define CARM_VARIANT_TABLE(ROW) \
    ROW(UNCHANGED, false)       \
    ROW(AGAIN, false)           \
    ROW(NEAR, false)            \
    ROW(PREFETCHED, false)      \
    ROW(FAR, false)             \
    ROW(INDIRECT, false)        \
    ROW(STREAMING, false)       \
    ROW(CHAINS, true)           \
    ROW(DIVISIONS, true)        \
    ROW(ARITHMETIC, true)       \
    ROW(STORES, true)           \
    ROW(L1, true)               \
    ROW(KNOWN, true)            \
    ROW(STREAM, true)           \
    ROW(STREAM2, true)          \
    ROW(STREAM3, true)          \
    ROW(STREAM4, true)

#define CARM_VARIANT_ID(id, values) CARM_VARIANT_##id,
enum carm_variant { CARM_VARIANT_TABLE(CARM_VARIANT_ID) CARM_VARIANTS };
#undef CARM_VARIANT_ID

bool carm_variant_changes_values(enum carm_variant variant);

enum {
    CARM_REGION_LINE = 64, /* bytes of a cache line */
    CARM_REGION_PHASES_MAX = 1500,
    CARM_REGION_CODE_BYTES = 4 << 20,
    CARM_REGION_DATA_BYTES = 1 << 19,
    /* of the data */
    CARM_REGION_UNITS = 24,
    CARM_REGION_PHASE = 32,
    CARM_REGION_TARGET = 40,
    CARM_REGION_ENTRY = 48,
    CARM_REGION_PHASES = 256,
    CARM_REGION_COUNTS = 65536, /* of the blocks, by instruction: 8 bytes each */
    CARM_REGION_SCRATCH =
        131072, /* lines in place of the memory of accesses, one for each access */
};

/* In the data of the region. tsc: when the phase began; for the last phase, when all phases had ended. */
struct carm_phase {
    uint64_t tsc;
    uint64_t units;  /* > 0 */
    uint64_t target; /* where the variant begins */
    uint64_t entry;  /* target of the jumps into the loop from outside */
};

struct carm_region {
    uint64_t code_at, data_at; /* within 1 GB of the loop */
    uint8_t *code;             /* [CARM_REGION_CODE_BYTES] */
    size_t used;
    uint64_t switch_at, end_at, entry_at, touch_at; /* stubs */
};

/* A variant in the region. */
struct carm_variant_code {
    uint64_t start, entry; /* 0 = the variant could not be made */
    unsigned changed;      /* instructions of an iteration */
    char why[96];          /* why the variant could not be made: a phrase; "" */
};

/* returns 0 or -CARM_ENOMEM */
int carm_region_open(struct carm_region *region, uint64_t code_at, uint64_t data_at,
                     struct carm_err *err);
void carm_region_close(struct carm_region *region);

/* Number of copies of the body that follow one another. */
unsigned carm_region_copies(const struct carm_body *body);

/* Writes a variant.
 * counted  each block counts its executions */
void carm_region_emit(struct carm_region *region, const struct carm_body *body,
                      enum carm_variant variant, bool counted, struct carm_variant_code *out);

/* Offset in the region's data of the memory that replaces an access's memory: one or two lines for each access. */
size_t carm_region_scratch(const struct carm_body *body, size_t op, unsigned copy);

/* Offset of the first value of a carried register. */
size_t carm_region_carried(size_t number);
