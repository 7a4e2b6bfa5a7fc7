/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses the place of a block's counter increment. `inc` changes all arithmetic flags but the
 * carry, so it is placed where these flags are written before the next read. Without such a
 * place, the increment goes through a register that the program overwrites next. */
#include "harness/translate/engine/emit/emit.h"

enum { PEEK = 6, PEEK_DEPTH = 2 }; /* at most PEEK instructions, at each of PEEK_DEPTH places */
_Static_assert(PEEK *CARM_INSTRUCTION_BYTES_MAX <= CARM_PEEK_BYTES, "what is relied on is noted");

enum effect { NEUTRAL, READS, WRITES };

#define CHANGED \
    (ZYDIS_CPUFLAG_OF | ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_PF)

/* Whether an instruction writes all flags of CHANGED with any operands. A shift by a register does
 * not: by 0 it changes no flag. */
static bool writes_all(ZydisMnemonic m)
{
    switch (m) {
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_ADC:
    case ZYDIS_MNEMONIC_SBB:
    case ZYDIS_MNEMONIC_CMP:
    case ZYDIS_MNEMONIC_TEST:
    case ZYDIS_MNEMONIC_AND:
    case ZYDIS_MNEMONIC_OR:
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_INC:
    case ZYDIS_MNEMONIC_DEC:
    case ZYDIS_MNEMONIC_NEG:
    case ZYDIS_MNEMONIC_XADD:
    case ZYDIS_MNEMONIC_CMPXCHG:
    case ZYDIS_MNEMONIC_POPCNT:
    case ZYDIS_MNEMONIC_COMISS:
    case ZYDIS_MNEMONIC_COMISD:
    case ZYDIS_MNEMONIC_UCOMISS:
    case ZYDIS_MNEMONIC_UCOMISD:
    case ZYDIS_MNEMONIC_VCOMISS:
    case ZYDIS_MNEMONIC_VCOMISD:
    case ZYDIS_MNEMONIC_VUCOMISS:
    case ZYDIS_MNEMONIC_VUCOMISD:
    case ZYDIS_MNEMONIC_PTEST:
    case ZYDIS_MNEMONIC_VPTEST:
        return true;
    default:
        return false;
    }
}

/* Whether control may leave the straight line: other code may then read the flags. */
static bool leaves(const ZydisDecodedInstruction *in)
{
    switch (in->meta.category) {
    case ZYDIS_CATEGORY_COND_BR: /* xbegin */
    case ZYDIS_CATEGORY_RET:     /* iret */
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_SYSTEM:
        return true;
    default:
        return in->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE;
    }
}

static enum effect effect_of(const struct carm_insn_full *insn)
{
    const ZydisAccessedFlags *flags = insn->in.cpu_flags;
    if (leaves(&insn->in) || (flags && (flags->tested & CHANGED))) {
        return READS;
    }
    switch (insn->in.mnemonic) {
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFD:
    case ZYDIS_MNEMONIC_PUSHFQ:
    case ZYDIS_MNEMONIC_LAHF:
        return READS;
    default:
        return writes_all(insn->in.mnemonic) ? WRITES : NEUTRAL;
    }
}

static bool direct_target(const struct carm_insn_full *insn, uint64_t *to)
{
    const ZydisDecodedOperand *o = &insn->op[0];
    if (insn->in.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ||
        (insn->in.meta.category != ZYDIS_CATEGORY_UNCOND_BR &&
         insn->in.meta.category != ZYDIS_CATEGORY_CALL) ||
        o->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !o->imm.is_relative) {
        return false;
    }
    *to = insn->pc + insn->in.length + o->imm.value.u;
    return true;
}

/* Whether the flags are dead at pc. Notes the code that was read in place->peeked: when that
 * code changes, the block is forgotten. */
static bool dead_at(uint64_t pc, unsigned depth, struct carm_place *place)
{
    struct carm_insn_full insn;
    struct carm_range *range = carm_ranges_find(pc);
    if (!range || (range->flags & (CARM_RANGE_CHANGES | CARM_RANGE_PROTECTED))) {
        return false;
    }
    range->translated = 1;
    place->peeked[depth - 1] = pc;
    place->npeeked[depth - 1] = 0;
    for (unsigned i = 0; i < PEEK && carm_decode_at(pc, &insn); i++) {
        uint64_t to = 0;
        place->npeeked[depth - 1] = (uint16_t)(pc + insn.in.length - place->peeked[depth - 1]);
        if (depth < PEEK_DEPTH && direct_target(&insn, &to)) {
            return dead_at(to, depth + 1, place);
        }
        const enum effect effect = effect_of(&insn);
        if (effect != NEUTRAL) {
            return effect == WRITES;
        }
        pc += insn.in.length;
    }
    return false;
}

static bool is_general(ZydisRegister reg)
{
    const ZydisRegisterClass class = ZydisRegisterGetClass(reg);
    return class >= ZYDIS_REGCLASS_GPR8 && class <= ZYDIS_REGCLASS_GPR64;
}

/* The general register that an instruction, which cannot fault, overwrites and does not read. -1
 * = none */
static int overwritten(const struct carm_insn_full *insn)
{
    const ZydisDecodedOperand *o = &insn->op[0];
    const ZydisMnemonic m = insn->in.mnemonic;
    if (m != ZYDIS_MNEMONIC_MOV && m != ZYDIS_MNEMONIC_LEA && m != ZYDIS_MNEMONIC_MOVZX &&
        m != ZYDIS_MNEMONIC_MOVSX && m != ZYDIS_MNEMONIC_MOVSXD) {
        return -1;
    }
    if (o->type != ZYDIS_OPERAND_TYPE_REGISTER || (o->size != 64 && o->size != 32)) {
        return -1;
    }
    const ZydisRegister whole =
        ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, o->reg.value);
    if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15 || whole == ZYDIS_REGISTER_RSP) {
        return -1;
    }
    for (unsigned i = 1; i < insn->in.operand_count; i++) {
        const ZydisDecodedOperand *s = &insn->op[i];
        ZydisRegister used[2] = {ZYDIS_REGISTER_NONE, ZYDIS_REGISTER_NONE};
        if (s->type == ZYDIS_OPERAND_TYPE_REGISTER) {
            used[0] = s->reg.value;
            if (!is_general(used[0])) { /* a move from a debug register faults */
                return -1;
            }
        } else if (s->type == ZYDIS_OPERAND_TYPE_MEMORY) {
            if (s->mem.type != ZYDIS_MEMOP_TYPE_AGEN) {
                return -1;
            }
            used[0] = s->mem.base;
            used[1] = s->mem.index;
        }
        for (unsigned k = 0; k < 2; k++) {
            if (used[k] != ZYDIS_REGISTER_NONE &&
                ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, used[k]) == whole) {
                return -1;
            }
        }
    }
    return (int)(whole - ZYDIS_REGISTER_RAX);
}

uint64_t carm_live_flags(const struct carm_insn_full *insns, unsigned n, struct carm_place *place)
{
    const struct carm_insn_full *last = &insns[n - 1];
    uint64_t free = 0;
    uint64_t to = last->pc + last->in.length;
    const bool goes_on = direct_target(last, &to) || !leaves(&last->in);
    bool dead = goes_on && dead_at(to, 1, place);
    for (unsigned i = n; i-- > 0;) {
        const enum effect effect = effect_of(&insns[i]);
        const bool keeps = effect == NEUTRAL || (i + 1 == n && goes_on && leaves(&last->in));
        dead = effect == WRITES || (keeps && dead);
        free |= (uint64_t)dead << i;
    }
    return free;
}

struct carm_place carm_live_place(const struct carm_insn_full *insns, unsigned n)
{
    struct carm_place place = {.before = 0, .reg = -1};
    unsigned first = 0; /* from this instruction on, none has touched the flags */
    for (unsigned i = 0; i < n; i++) {
        const enum effect effect = effect_of(&insns[i]);
        if (effect == WRITES) {
            place.before = first;
            place.flags_free = true;
            return place;
        }
        uint64_t to = 0;
        if (i + 1 == n && direct_target(&insns[i], &to) && dead_at(to, 1, &place)) {
            place.before = first;
            place.flags_free = true;
            return place;
        }
        if (effect == READS) {
            first = i + 1;
        }
    }
    if (!leaves(&insns[n - 1].in) && first < n &&
        dead_at(insns[n - 1].pc + insns[n - 1].in.length, 1, &place)) {
        place.before = first;
        place.flags_free = true;
        return place;
    }
    for (unsigned i = 0; i < n; i++) {
        const int reg = overwritten(&insns[i]);
        if (reg >= 0) {
            place.before = i;
            place.reg = reg;
            return place;
        }
    }
    return place;
}
