/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program's instructions, decoded, with their accounts (harness/count/step). */
#include "harness/translate/engine/cache/cache.h"

static ZydisDecoder decoder;
static bool decoder_ready;

bool carm_decode_bytes(uint64_t pc, const uint8_t *bytes, uint64_t left, struct carm_insn_full *out)
{
    ZydisDecoderContext context;
    if (!decoder_ready) {
        ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
        decoder_ready = true;
    }
    out->pc = pc;
    out->bytes = bytes;
    left = left < CARM_INSTRUCTION_BYTES_MAX ? left : CARM_INSTRUCTION_BYTES_MAX;
    return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, &context, bytes, left, &out->in)) &&
           ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder, &context, &out->in, out->op,
                                                   out->in.operand_count));
}

bool carm_decode_at(uint64_t pc, struct carm_insn_full *out)
{
    const uint64_t left = carm_ranges_left(pc, CARM_INSTRUCTION_BYTES_MAX);
    return left && carm_decode_bytes(pc, (const uint8_t *)pc, left, out);
}

bool carm_decode_of(const struct carm_block *block, uint64_t pc, struct carm_insn_full *out)
{
    const uint64_t off = pc - block->pc;
    if (!block->source) {
        return carm_decode_at(pc, out);
    }
    return off < block->bytes &&
           carm_decode_bytes(pc, block->source + off, block->bytes - off, out);
}

bool carm_insn_branches(const struct carm_insn_full *x)
{
    return x->in.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE;
}

bool carm_insn_ends_block(const struct carm_insn_full *x)
{
    return carm_insn_branches(x) || x->in.mnemonic == ZYDIS_MNEMONIC_INT3 ||
           x->in.mnemonic == ZYDIS_MNEMONIC_SYSCALL;
}

bool carm_insn_moves_flags(const struct carm_insn_full *x)
{
    switch (x->in.mnemonic) {
    case ZYDIS_MNEMONIC_PUSHFQ:
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ:
        return true;
    default:
        return false;
    }
}

bool carm_insn_tells_where(const struct carm_insn_full *x)
{
    switch (x->in.mnemonic) {
    case ZYDIS_MNEMONIC_FNSTENV:
    case ZYDIS_MNEMONIC_FNSAVE:
        return x->in.operand_width !=
               16; /* of these 14 bytes, 16 bits of an address are never used */
    case ZYDIS_MNEMONIC_FXSAVE:
    case ZYDIS_MNEMONIC_FXSAVE64:
        return true;
    default:
        return carm_insn_xsaves(x);
    }
}

bool carm_insn_xsaves(const struct carm_insn_full *x)
{
    return x->account.flags & CARM_ACCOUNT_XSAVE;
}

bool carm_insn_tells_cpu(const struct carm_insn_full *x)
{
    return x->in.mnemonic == ZYDIS_MNEMONIC_CPUID || x->in.mnemonic == ZYDIS_MNEMONIC_XGETBV;
}

enum carm_mark_kind carm_insn_mark(const struct carm_insn_full *x)
{
    /* nopl 0x0ca2f010+kind(%rdi,%rsi): no compiler pads code with an offset other than 0 */
    const uint32_t kind = (uint32_t)x->in.raw.disp.value - 0x0ca2f010;
    return x->in.mnemonic == ZYDIS_MNEMONIC_NOP && x->in.raw.disp.size == 32 &&
                   kind <= CARM_MARK_ASK
               ? (enum carm_mark_kind)kind
               : CARM_MARK_NONE;
}

static bool is_dynamic(const struct carm_account *e)
{
    return e->masked.how != CARM_MASKED_NOT || e->compute.mask != 0 ||
           (e->flags & (CARM_ACCOUNT_XSAVE | CARM_ACCOUNT_XRSTOR));
}

void carm_account_fill(struct carm_insn_full *insn)
{
    carm_account_of(&insn->in, insn->op, &insn->account);
}

bool carm_account_dynamic(const struct carm_insn_full *insn)
{
    return is_dynamic(&insn->account);
}

bool carm_account_repeats(const struct carm_insn_full *insn)
{
    return insn->account.flags & CARM_ACCOUNT_REP;
}

static bool writes(const struct carm_insn_full *insn, ZydisRegisterClass class, unsigned number)
{
    for (unsigned i = 0; i < insn->in.operand_count; i++) {
        const ZydisDecodedOperand *o = &insn->op[i];
        if (o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
            (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
            (ZydisRegisterGetClass(o->reg.value) == ZYDIS_REGCLASS_MASK) ==
                (class == ZYDIS_REGCLASS_MASK) &&
            (unsigned)ZydisRegisterGetId(o->reg.value) == number) {
            return true;
        }
    }
    return false;
}

bool carm_account_lanes(const struct carm_insn_full *insn, struct carm_lanes *out)
{
    const struct carm_account *e = &insn->account;
    const bool accesses = e->masked.how != CARM_MASKED_NOT;
    *out = (struct carm_lanes){.reg = accesses ? e->masked.reg : e->compute.mask,
                               .bytes = e->masked.bytes,
                               .lanes = accesses ? e->masked.lanes : e->compute.lanes,
                               .each = UINT32_MAX,
                               .any = UINT32_MAX};
    if (!is_dynamic(e) || e->flags ||
        (accesses && e->compute.kind != CARM_COMPUTES_NOT &&
         (e->compute.mask != e->masked.reg || e->compute.lanes != e->masked.lanes))) {
        return false;
    }
    if (accesses && e->masked.vector) {
        out->vector_bits = e->masked.lanes * e->masked.bytes > 16 ? 256 : 128;
    }
    out->overwritten =
        writes(insn, out->vector_bits ? ZYDIS_REGCLASS_YMM : ZYDIS_REGCLASS_MASK, out->reg);
    return !out->vector_bits || out->bytes >= 4;
}

bool carm_account_calls(const struct carm_insn_full *insn)
{
    struct carm_lanes lanes;
    return is_dynamic(&insn->account) &&
           ((insn->account.masked.how != CARM_MASKED_NOT && carm_boot.addresses) ||
            !carm_account_lanes(insn, &lanes));
}
