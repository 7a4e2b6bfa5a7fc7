/* SPDX-License-Identifier: MIT */
#include "harness/count/step/instruction.h"

#include <stdlib.h>
#include <string.h>

#include "harness/count/step/account.h"
#include "harness/count/step/xstate.h"

enum { ENTRIES_LOG2 = 14 };

struct entry {
    uint64_t rip;
    struct carm_account account; /* length 0: empty */
    uint8_t code[CARM_INSTRUCTION_BYTES_MAX];
};

struct carm_accounts {
    ZydisDecoder decoder;
    struct carm_xlayout layout;
    struct entry entries[1 << ENTRIES_LOG2];
};

int carm_accounts_open(struct carm_accounts **out, const struct carm_xlayout *layout,
                       struct carm_err *err)
{
    struct carm_accounts *accounts = calloc(1, sizeof *accounts);
    if (!accounts) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to decode instructions (%zu KiB)",
                         sizeof *accounts / 1024);
    }
    ZydisDecoderInit(&accounts->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (layout) {
        accounts->layout = *layout;
    } else {
        carm_xlayout_read(&accounts->layout);
    }
    *out = accounts;
    return 0;
}

void carm_accounts_close(struct carm_accounts *accounts)
{
    free(accounts);
}

const struct carm_account *carm_accounts_find(struct carm_accounts *accounts, uint64_t rip,
                                              const uint8_t *code, size_t n)
{
    /* Knuth's multiplicative hash: code of many libraries lies at equal offsets in pages */
    struct entry *entry = &accounts->entries[rip * 0x9e3779b97f4a7c15ULL >> (64 - ENTRIES_LOG2)];
    const size_t length = entry->account.length;
    if (entry->rip == rip && length && length <= n && memcmp(entry->code, code, length) == 0) {
        return &entry->account;
    }
    if (!carm_account_decode(&accounts->decoder, code, n, &entry->account)) {
        return NULL;
    }
    entry->rip = rip;
    memcpy(entry->code, code, entry->account.length);
    return &entry->account;
}

static uint64_t low_bits(unsigned n)
{
    return n >= 64 ? UINT64_MAX : (1ULL << n) - 1;
}

/* The saved state; NULL = there is none. */
static const uint8_t *saved_state(const struct carm_registers *regs, size_t *size)
{
    *size = 0;
    return regs->xsave ? regs->xsave(regs->xsave_arg, size) : NULL;
}

static uint64_t opmask(const struct carm_accounts *accounts, const struct carm_registers *regs,
                       unsigned k, unsigned lanes)
{
    size_t size;
    const uint8_t *area = saved_state(regs, &size);
    return carm_xstate_mask(&accounts->layout, area, size, k) & low_bits(lanes);
}

void carm_accounts_vector(const struct carm_accounts *accounts, const struct carm_registers *regs,
                          unsigned number, uint8_t out[CARM_VECTOR_BYTES_MAX])
{
    size_t size;
    const uint8_t *area = saved_state(regs, &size);
    carm_xstate_vector(&accounts->layout, area, size, number, out);
}

uint64_t carm_accounts_active(const struct carm_accounts *accounts, const struct carm_account *e,
                              const struct carm_registers *regs)
{
    if (!e->masked.vector) {
        return opmask(accounts, regs, e->masked.reg, e->masked.lanes);
    }
    uint8_t vector[CARM_VECTOR_BYTES_MAX];
    uint64_t bits = 0;
    carm_accounts_vector(accounts, regs, e->masked.reg, vector);
    for (unsigned i = 0; i < e->masked.lanes; i++) {
        bits |= (uint64_t)(vector[(i + 1U) * e->masked.bytes - 1U] >> 7) << i;
    }
    return bits;
}

static void masked_access(const struct carm_accounts *accounts, const struct carm_account *e,
                          const struct carm_registers *regs, struct carm_step_counts *counts)
{
    const unsigned lanes = (unsigned)__builtin_popcountll(carm_accounts_active(accounts, e, regs));
    uint64_t accesses = lanes > 0;
    uint64_t bytes = (uint64_t)lanes * e->masked.bytes;
    if (e->masked.how == CARM_MASKED_EACH) {
        accesses = lanes;
    } else if (e->masked.how == CARM_MASKED_ANY) {
        bytes = accesses * e->masked.bytes;
    }
    if (e->masked.store) {
        counts->stores += accesses;
        counts->store_bytes += bytes;
        counts->nt_stores += e->masked.nontemporal ? accesses : 0;
    } else {
        counts->loads += accesses;
        counts->load_bytes += bytes;
    }
}

static void moved_tile(const struct carm_accounts *accounts, const struct carm_account *e,
                       const struct carm_registers *regs, struct carm_step_counts *counts)
{
    size_t size;
    const uint8_t *area = saved_state(regs, &size);
    const struct carm_tile_shape shape =
        carm_xstate_tile(&accounts->layout, area, size, e->tiled.tile);
    const bool store = e->tiled.how == CARM_TILED_STORE;
    *(store ? &counts->stores : &counts->loads) += 1;
    *(store ? &counts->store_bytes : &counts->load_bytes) += (uint64_t)shape.rows * shape.row_bytes;
}

/* Lanes of a product of tiles: one for each 4 bytes of depth of each element of the result. */
static uint64_t tile_lanes(const struct carm_accounts *accounts, const struct carm_account *e,
                           const struct carm_registers *regs)
{
    size_t size;
    const uint8_t *area = saved_state(regs, &size);
    const struct carm_tile_shape sum =
        carm_xstate_tile(&accounts->layout, area, size, e->tiled.tile);
    const struct carm_tile_shape factor =
        carm_xstate_tile(&accounts->layout, area, size, e->tiled.factor);
    return (uint64_t)sum.rows * (sum.row_bytes / 4) * (factor.row_bytes / 4);
}

static void compute_flops(const struct carm_account *e, uint64_t flops,
                          struct carm_step_counts *counts)
{
    counts->fp_instructions++;
    counts->fp_adds += e->compute.kind == CARM_FP_ADD;
    counts->fp_muls += e->compute.kind == CARM_FP_MUL;
    counts->fp_fmas += e->compute.kind == CARM_FP_FMA;
    counts->fp_divides += e->compute.kind == CARM_FP_DIVIDE || e->compute.kind == CARM_FP_ROOT;
    counts->fp_roots += e->compute.kind == CARM_FP_ROOT;
    if (e->compute.precision < 2) {
        counts->flops[e->compute.precision][e->compute.width] += flops;
    } else {
        counts->flops_other += flops;
    }
}

static void compute_integers(const struct carm_account *e, uint64_t operations,
                             struct carm_step_counts *counts)
{
    counts->int_instructions++;
    counts->int_elements[e->compute.precision] += operations;
    if (e->compute.width > 0) { /* tiles have no width */
        counts->int_widths[e->compute.width - 1] += operations;
    }
    counts->int_adds += e->compute.kind == CARM_INT_ADD ? operations : 0;
    counts->int_muls += e->compute.kind == CARM_INT_MUL ? operations : 0;
    counts->int_logic += e->compute.kind == CARM_INT_LOGIC ? operations : 0;
    counts->int_dots += e->compute.kind == CARM_INT_DOT ? operations : 0;
}

static void compute(const struct carm_accounts *accounts, const struct carm_account *e,
                    const struct carm_registers *regs, struct carm_step_counts *counts)
{
    uint64_t lanes = e->compute.lanes;
    if (e->compute.mask) {
        lanes = (uint64_t)__builtin_popcountll(
            opmask(accounts, regs, e->compute.mask, e->compute.lanes));
    } else if (e->tiled.how == CARM_TILED_PRODUCT) {
        lanes = tile_lanes(accounts, e, regs);
    }
    if (e->compute.kind < CARM_INT_ADD) {
        compute_flops(e, lanes * e->compute.per_lane, counts);
    } else {
        compute_integers(e, lanes * e->compute.per_lane, counts);
    }
}

/* Counts an unknown instruction, and keeps the first as text. Neither Zydis' formatter nor snprintf allocate here. */
static void unknown(const struct carm_accounts *accounts, const uint8_t *code, size_t n,
                    struct carm_step_counts *counts)
{
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisFormatter formatter;
    char *text = counts->unknown_text;
    if (counts->unknown++) {
        return;
    }
    if (n > 0 && ZYAN_SUCCESS(ZydisDecoderDecodeFull(&accounts->decoder, code, n, &in, operands)) &&
        ZYAN_SUCCESS(ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL)) &&
        ZYAN_SUCCESS(ZydisFormatterFormatInstruction(
            &formatter, &in, operands, in.operand_count_visible, text, sizeof counts->unknown_text,
            ZYDIS_RUNTIME_ADDRESS_NONE, NULL))) {
        return;
    }
    static const char digits[] = "0123456789abcdef";
    static const char intro[] = "bytes";
    size_t at = sizeof intro - 1;
    memcpy(text, intro, at);
    for (size_t i = 0; i < n && i < CARM_INSTRUCTION_BYTES_MAX; i++) {
        text[at++] = ' ';
        text[at++] = digits[code[i] >> 4];
        text[at++] = digits[code[i] & 15];
    }
    text[at] = '\0';
}

void carm_accounts_apply(const struct carm_accounts *accounts, const struct carm_account *e,
                         const uint8_t *code, size_t n, const struct carm_registers *regs,
                         struct carm_step_counts *counts)
{
    counts->instructions++;
    if (!e || (e->flags & CARM_ACCOUNT_UNKNOWN)) {
        unknown(accounts, code, n, counts);
        return;
    }
    if (e->flags & CARM_ACCOUNT_REP) {
        const uint64_t left = e->flags & CARM_ACCOUNT_ADDR32 ? (uint32_t)regs->rcx : regs->rcx;
        if (left == 0) {
            return;
        }
    }
    counts->loads += e->loads;
    counts->stores += e->stores;
    counts->load_bytes += e->load_bytes;
    counts->store_bytes += e->store_bytes;
    counts->nt_stores += e->nt_stores;
    if (e->masked.how != CARM_MASKED_NOT) {
        masked_access(accounts, e, regs, counts);
    }
    if (e->tiled.how == CARM_TILED_LOAD || e->tiled.how == CARM_TILED_STORE) {
        moved_tile(accounts, e, regs, counts);
    }
    counts->prefetches += (e->flags & CARM_ACCOUNT_PREFETCH) != 0;
    if (e->compute.kind != CARM_COMPUTES_NOT) {
        compute(accounts, e, regs, counts);
    }
    if (e->flags & (CARM_ACCOUNT_XSAVE | CARM_ACCOUNT_XRSTOR)) {
        const uint64_t asked = regs->rdx << 32 | (uint32_t)regs->rax;
        const bool store = e->flags & CARM_ACCOUNT_XSAVE;
        *(store ? &counts->stores : &counts->loads) += 1;
        *(store ? &counts->store_bytes : &counts->load_bytes) +=
            carm_xstate_bytes(&accounts->layout, asked);
    }
}

bool carm_account_resumed(const struct carm_account *e, uint64_t rip, uint64_t *last)
{
    const bool gathers = e && e->masked.how == CARM_MASKED_EACH;
    const bool resumed = gathers && rip == *last;
    *last = gathers ? rip : 0;
    return resumed;
}

void carm_accounts_count(struct carm_accounts *accounts, const uint8_t *code, size_t n,
                         const struct carm_registers *regs, struct carm_step_counts *counts)
{
    carm_accounts_apply(accounts, carm_accounts_find(accounts, regs->rip, code, n), code, n, regs,
                        counts);
}
