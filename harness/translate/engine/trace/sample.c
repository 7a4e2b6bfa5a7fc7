/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code that records the accesses to some cache lines. Most accesses are to other lines, so a
 * "look", the test of an access's line, must be fast. Accesses of a block less than a line apart
 * share one look, and one register that the block does not use is kept for all looks. The code
 * that records follows the block. */
#include "harness/translate/engine/trace/access.h"
#include "harness/translate/engine/code.h"
#include "harness/translate/engine/trace/trace.h"
#include "harness/translate/records.h"

enum { SPAN = 64, NO_REG = -1, MEMBERS = CARM_BLOCK_INSNS * CARM_ACCESSES_MAX };

/* A look at a lane has up to 50 bytes; the looks of a block are a fifth of CARM_BLOCK_CODE_MAX. */
enum { LANES_MAX = 16, BLOCK_LANES = 64 };

/* Accesses by the same registers, all in the line of the lowest address or in the next line. */
struct group {
    ZydisRegister base, index;
    uint8_t scale;
    bool closed;    /* a register has changed by an unknown amount since the look */
    unsigned first; /* index of the instruction after the look */
    int64_t moved;  /* change of the base register since the look */
    int64_t low, high;
    unsigned member; /* the first member */
    uint8_t *look, *from,
        *back;    /* the look's code, the displacement of its jump to the records, and the place
                   * to which the records return */
    int borrowed; /* register borrowed for the look, if the block keeps none or the kept one cannot
                   * be used */
};

struct member {
    unsigned group, insn;
    struct carm_access access; /* as seen from the group's first instruction */
};

/* State of the current block. */
static struct group groups[MEMBERS];
static struct member members[MEMBERS];
static unsigned ngroups, nmembers;
static const struct carm_insn_full *insns;
static uint64_t
    free_before; /* a bit for each instruction: all arithmetic flags but the carry are dead
                  * before it */
static unsigned lanes_left; /* of BLOCK_LANES */
static int kept;            /* register */
static unsigned kept_until; /* index of the instruction that overwrites the register; the number
                             * of instructions = no instruction does */

static ZydisRegister whole(ZydisRegister reg)
{
    return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
}

/* ---- groups ---- */

static bool writes(const struct carm_insn_full *x, ZydisRegister reg)
{
    for (unsigned i = 0; i < x->in.operand_count; i++) {
        const ZydisDecodedOperand *o = &x->op[i];
        if (o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
            (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) && whole(o->reg.value) == reg) {
            return true;
        }
    }
    return false;
}

/* The change of the stack pointer by an instruction. returns false when it is not known */
static bool moves_stack(const struct carm_insn_full *x, int64_t *by)
{
    const ZydisDecodedOperand *to = &x->op[0];
    const bool stack =
        to->type == ZYDIS_OPERAND_TYPE_REGISTER && to->reg.value == ZYDIS_REGISTER_RSP;
    const bool number = x->in.operand_count > 1 && x->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    switch (x->in.mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
        *by = -(int64_t)(x->in.operand_width / 8U);
        return true;
    case ZYDIS_MNEMONIC_POP:
        *by = (int64_t)(x->in.operand_width / 8U);
        return !stack;
    case ZYDIS_MNEMONIC_ADD:
        *by = number ? x->op[1].imm.value.s : 0;
        return stack && number;
    case ZYDIS_MNEMONIC_SUB:
        *by = number ? -x->op[1].imm.value.s : 0;
        return stack && number;
    case ZYDIS_MNEMONIC_LEA:
        *by = x->op[1].mem.disp.value;
        return stack && x->op[1].mem.base == ZYDIS_REGISTER_RSP &&
               x->op[1].mem.index == ZYDIS_REGISTER_NONE;
    default:
        return false;
    }
}

static void note_writes(const struct carm_insn_full *x)
{
    for (unsigned g = 0; g < ngroups; g++) {
        struct group *group = &groups[g];
        int64_t by = 0;
        if (group->closed) {
            continue;
        }
        if (group->base == ZYDIS_REGISTER_RSP && writes(x, ZYDIS_REGISTER_RSP)) {
            group->closed = !moves_stack(x, &by);
            group->moved += by;
        } else {
            group->closed = writes(x, group->base);
        }
        group->closed |= group->index != ZYDIS_REGISTER_NONE && writes(x, group->index);
    }
}

static bool joins(const struct group *g, const struct group *one)
{
    const int64_t low = one->low < g->low ? one->low : g->low;
    const int64_t high = one->high > g->high ? one->high : g->high;
    return !g->closed && g->base == one->base && g->index == one->index && g->scale == one->scale &&
           high - low <= SPAN;
}

static void add(unsigned i, const struct carm_access *a)
{
    const struct carm_insn_full *x = &insns[i];
    const ZydisDecodedOperandMem *m = &a->operand->mem;
    struct group one = {.base = whole(m->base),
                        .index = whole(m->index),
                        .scale = m->scale,
                        .first = i,
                        .member = nmembers,
                        .low = m->disp.value + a->displacement,
                        .borrowed = NO_REG};
    one.closed = m->segment == ZYDIS_REGISTER_FS || x->in.address_width == 32 ||
                 m->index == ZYDIS_REGISTER_AL;
    if (m->base == ZYDIS_REGISTER_RIP) {
        one.low += (int64_t)(x->pc + x->in.length);
    }
    unsigned g = one.closed ? ngroups : 0;
    for (; g < ngroups; g++) {
        struct group moved = one;
        moved.low += groups[g].moved;
        moved.high = moved.low + a->bytes;
        if (joins(&groups[g], &moved)) {
            one = moved;
            break;
        }
    }
    one.high = one.low + a->bytes;
    if (g == ngroups) {
        groups[ngroups++] = one;
    } else {
        groups[g].low = one.low < groups[g].low ? one.low : groups[g].low;
        groups[g].high = one.high > groups[g].high ? one.high : groups[g].high;
    }
    members[nmembers] = (struct member){g, i, *a};
    members[nmembers++].access.displacement += groups[g].moved;
}

/* Moves a look to an earlier instruction before which the flags are dead, if its registers have
 * the same values there. A look that must keep flags takes longer. */
static void hoist(unsigned g)
{
    struct group *group = &groups[g];
    int64_t moved = 0;
    for (unsigned i = group->first; !(free_before >> i & 1) && i-- > 0;) {
        int64_t by = 0;
        if (group->base == ZYDIS_REGISTER_RSP && writes(&insns[i], ZYDIS_REGISTER_RSP)) {
            if (!moves_stack(&insns[i], &by)) {
                return;
            }
        } else if (writes(&insns[i], group->base)) {
            return;
        }
        if (group->index != ZYDIS_REGISTER_NONE && writes(&insns[i], group->index)) {
            return;
        }
        moved += by;
        if (free_before >> i & 1) {
            group->first = i;
            group->low += moved;
            for (unsigned m = group->member; m < nmembers; m++) {
                members[m].access.displacement += members[m].group == g ? moved : 0;
            }
        }
    }
}

/* Registers of the operands, a bit for each. */
static uint32_t regs_of(const struct carm_insn_full *x)
{
    uint32_t regs = 0;
    for (unsigned i = 0; i < x->in.operand_count; i++) {
        const ZydisDecodedOperand *o = &x->op[i];
        ZydisRegister of[2] = {ZYDIS_REGISTER_NONE, ZYDIS_REGISTER_NONE};
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
            of[0] = o->mem.base;
            of[1] = o->mem.index;
        } else if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
            of[0] = o->reg.value;
        }
        for (unsigned k = 0; k < 2; k++) {
            const ZydisRegister reg = whole(of[k]);
            if (reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15) {
                regs |= UINT32_C(1) << (reg - ZYDIS_REGISTER_RAX);
            }
        }
    }
    return regs;
}

/* Registers that can be kept: not rsp and r12, whose addresses have another encoding. */
static const uint8_t candidates[] = {RCX, RAX, RDX, RBX, RSI, RDI, RBP,
                                     R8,  R9,  R10, R11, R13, R14, R15};

static int unused(uint32_t used)
{
    for (unsigned i = 0; i < sizeof candidates; i++) {
        if (!(used >> candidates[i] & 1)) {
            return candidates[i];
        }
    }
    return NO_REG;
}

/* The register that an instruction overwrites and does not read; NO_REG = none */
static int overwritten(const struct carm_insn_full *x)
{
    const ZydisDecodedOperand *to = &x->op[0];
    struct carm_insn_full rest;
    switch (x->in.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
    case ZYDIS_MNEMONIC_LEA:
    case ZYDIS_MNEMONIC_POP:
        break;
    default:
        return NO_REG;
    }
    if (to->type != ZYDIS_OPERAND_TYPE_REGISTER || to->size < 32 ||
        to->actions != ZYDIS_OPERAND_ACTION_WRITE) {
        return NO_REG;
    }
    const ZydisRegister reg = whole(to->reg.value);
    if (reg < ZYDIS_REGISTER_RAX || reg > ZYDIS_REGISTER_R15) {
        return NO_REG;
    }
    rest = *x;
    rest.op[0].type = ZYDIS_OPERAND_TYPE_UNUSED;
    return regs_of(&rest) >> (reg - ZYDIS_REGISTER_RAX) & 1 ? NO_REG
                                                            : (int)(reg - ZYDIS_REGISTER_RAX);
}

/* Chooses the kept register. Best is one that the block overwrites after the last look: its value
 * need not be restored. Otherwise the registers take turns from block to block: the value is
 * restored from memory, and a block should not wait for the restore of the block before.
 * last  instruction with the last look */
static void keep(unsigned n, unsigned last)
{
    static unsigned turn;
    uint32_t used = 0;
    kept = NO_REG;
    kept_until = n;
    for (unsigned i = 0; i < n; i++) {
        const int reg = overwritten(&insns[i]);
        if (i >= last && reg != NO_REG && !(used >> reg & 1) && reg != RSP && reg != R12) {
            kept = reg;
            kept_until = i;
            return;
        }
        used |= regs_of(&insns[i]);
    }
    for (unsigned i = 0; i < sizeof candidates && kept == NO_REG; i++) {
        const int reg = candidates[turn++ % sizeof candidates];
        kept = used >> reg & 1 ? NO_REG : reg;
    }
}

void carm_sample_begin(struct carm_emit *e, struct carm_block *block,
                       const struct carm_insn_full *of, unsigned n, uint64_t free)
{
    unsigned last = 0;
    insns = of;
    free_before = free;
    ngroups = nmembers = 0;
    lanes_left = BLOCK_LANES;
    for (unsigned i = 0; i < n; i++) {
        struct carm_access accesses[CARM_ACCESSES_MAX];
        const bool calls = carm_account_calls(&insns[i]);
        const unsigned some = calls ? 0 : carm_accesses_of(&insns[i], accesses);
        const unsigned had = ngroups;
        for (unsigned k = 0; k < some; k++) {
            add(i, &accesses[k]);
        }
        last = ngroups > had || calls ? i : last;
        note_writes(&insns[i]);
    }
    for (unsigned g = 0; g < ngroups; g++) {
        hoist(g);
    }
    kept = NO_REG;
    if (ngroups) {
        keep(n, last);
    }
    if (kept != NO_REG) {
        carm_store(e, AT_R_KEPT, kept);
        block->kept = (int8_t)kept;
        block->kept_until =
            kept_until < n ? (uint16_t)(insns[kept_until].pc - insns[0].pc) : UINT16_MAX;
    }
}

static void back(struct carm_emit *e)
{
    if (kept != NO_REG) {
        carm_load(e, kept, AT_R_KEPT);
    }
}

void carm_sample_end(struct carm_emit *e, unsigned n)
{
    if (kept_until == n) {
        back(e);
    }
}

void carm_sample_back(struct carm_emit *e, unsigned i)
{
    if (i <= kept_until) {
        back(e);
    }
}

/* ---- looks ---- */

/* reg = the class of the line at reg */
static void class_in(struct carm_emit *e, unsigned reg)
{
    const unsigned low = reg & 7U;
    carm_byte(e, 0xc4); /* rorx reg, reg */
    carm_byte(e, reg >= 8 ? 0x43 : 0xe3);
    carm_byte(e, 0xfb);
    carm_byte(e, 0xf0);
    carm_byte(e, 0xc0U | low << 3 | low);
    carm_byte(e, CARM_CLASS_AT);
    if (reg >= 8) { /* movzx reg, low word of reg */
        carm_byte(e, 0x45);
    }
    carm_byte(e, 0x0f);
    carm_byte(e, 0xb7);
    carm_byte(e, 0xc0U | low << 3 | low);
}

/* Jumps where the class in reg is recorded: 1. table: AT_CLASSES or AT_OWN. returns the displacement */
static uint8_t *jump(struct carm_emit *e, unsigned reg, bool free, uint32_t table)
{
    static const uint8_t jump_not_0[] = {0xe3, 0x05, 0xe9}; /* jrcxz over; jmp */
    const unsigned low = reg & 7U;
    carm_byte(e, 0x65); /* movzx reg, byte gs:[reg + ] */
    if (reg >= 8) {
        carm_byte(e, 0x45);
    }
    carm_byte(e, 0x0f);
    carm_byte(e, 0xb6);
    carm_byte(e, 0x80U | low << 3 | low);
    carm_word32(e, table);
    if (free) { /* dec reg; jz: the carry stays */
        if (reg >= 8) {
            carm_byte(e, 0x41);
        }
        carm_byte(e, 0xff);
        carm_byte(e, 0xc8U | low);
        carm_byte(e, 0x0f);
        carm_byte(e, 0x84);
    } else {
        carm_bytes(e, jump_not_0, sizeof jump_not_0);
    }
    carm_word32(e, 0);
    return e->at - 4;
}

/* A look at the line where an access begins:
 *     lea reg, [operand]
 *     reg = reg >> 6 & 65535
 *     reg = classes[reg]
 *     dec reg; jz to the records
 * Where the flags are not dead, reg is rcx, for jrcxz. reg is the block's kept register, or borrowed.
 * borrowed  out: the borrowed register, or NO_REG
 * returns the displacement of the jump */
static uint8_t *look(struct carm_emit *e, const struct carm_insn_full *x,
                     const struct carm_access *a, bool free, int *borrowed, const char **why)
{
    static const uint8_t mov_rcx_rax[] = {0x48, 0x89, 0xc1};
    const bool fs = a->operand->mem.segment == ZYDIS_REGISTER_FS;
    const bool own = kept != NO_REG && !fs && (free || kept == RCX);
    const int other = fs || !free ? RCX : unused(regs_of(x));
    const int reg = own ? kept : other == NO_REG ? RCX : other;
    *borrowed = own ? NO_REG : reg;
    if (!own) {
        carm_store(e, AT_R_RCX, reg);
    }
    if (fs) {
        carm_store(e, AT_R_RAX, RAX);
        carm_access_address(e, RAX, x, a, why);
        carm_bytes(e, mov_rcx_rax, sizeof mov_rcx_rax);
        carm_load(e, RAX, AT_R_RAX);
    } else {
        carm_access_address(e, (unsigned)reg, x, a, why);
    }
    class_in(e, (unsigned)reg);
    uint8_t *from = jump(e, (unsigned)reg, free, AT_CLASSES);
    if (!own) {
        carm_load(e, reg, AT_R_RCX);
    }
    return from;
}

void carm_sample_emit(struct carm_emit *e, unsigned i, const char **why)
{
    for (unsigned g = 0; g < ngroups; g++) {
        struct group *group = &groups[g];
        if (group->first == i) {
            const struct member *m = &members[group->member];
            const struct carm_insn_full *x = &insns[m->insn];
            struct carm_access lowest = m->access;
            const int64_t rip = m->access.operand->mem.base == ZYDIS_REGISTER_RIP
                                    ? (int64_t)(x->pc + x->in.length)
                                    : 0;
            lowest.displacement = group->low - rip - m->access.operand->mem.disp.value;
            group->look = e->at;
            group->from = look(e, x, &lowest, free_before >> i & 1, &group->borrowed, why);
            group->back = e->at;
        }
    }
}

/* Stores a vector register: vmovups gs:[AT_INDEX], zmm, or ymm where that is enough */
static void store_vector(struct carm_emit *e, unsigned reg, bool wide)
{
    carm_byte(e, 0x65);
    if (wide || reg >= 16) { /* EVEX.512.0F.W0 11 */
        carm_byte(e, 0x62);
        carm_byte(e, 0x61U | (reg & 8U ? 0U : 0x80U) | (reg >= 16 ? 0U : 0x10U));
        carm_byte(e, 0x7c);
        carm_byte(e, 0x48);
    } else { /* VEX.256.0F 11 */
        carm_byte(e, 0xc5);
        carm_byte(e, reg & 8U ? 0x7c : 0xfc);
    }
    carm_byte(e, 0x11);
    carm_byte(e, 0x04U | (reg & 7U) << 3);
    carm_byte(e, 0x25);
    carm_word32(e, AT_INDEX);
}

/* reg = base + lane i of the indices x scale + displacement */
static void lane_address(struct carm_emit *e, unsigned reg, const ZydisDecodedOperandMem *m,
                         unsigned i, unsigned wide)
{
    const bool has_base = m->base != ZYDIS_REGISTER_NONE;
    const unsigned base = has_base ? (unsigned)(whole(m->base) - ZYDIS_REGISTER_RAX) : RBP;
    carm_byte(e, 0x65); /* mov reg, or movsxd reg, */
    carm_byte(e, 0x48U | (reg >= 8 ? 4U : 0U));
    carm_byte(e, wide == 8 ? 0x8b : 0x63);
    carm_byte(e, 0x04U | (reg & 7U) << 3);
    carm_byte(e, 0x25);
    carm_word32(e, AT_INDEX + i * wide);
    carm_byte(e, 0x48U | (reg >= 8 ? 6U : 0U) | (base >= 8 ? 1U : 0U)); /* lea reg, */
    carm_byte(e, 0x8d);
    carm_byte(e, (has_base ? 0x84U : 0x04U) | (reg & 7U) << 3);
    carm_byte(e, (unsigned)__builtin_ctz(m->scale ? m->scale : 1U) << 6 | (reg & 7U) << 3 |
                     (base & 7U));
    carm_word32(e, (uint32_t)m->disp.value);
}

/* Looks at the lines of all lanes of a gather or scatter, also inactive ones: a callout for each execution would take a
 * microsecond, 800 times the gather.
 * returns the displacement of the jump that is taken if a line is recorded; NULL = no such code for this instruction */
static uint8_t *look_at_lanes(struct carm_emit *e, const struct carm_insn_full *x,
                              const ZydisDecodedOperandMem *m, bool free, int *borrowed)
{
    const unsigned lanes = x->account.masked.lanes, wide = x->account.masked.index;
    const unsigned vector = (unsigned)ZydisRegisterGetId(m->index);
    const bool own = kept != NO_REG && (free || kept == RCX);
    const int other = free ? unused(regs_of(x)) : RCX;
    const int reg = own ? kept : other == NO_REG ? RCX : other;
    uint8_t *jumps[LANES_MAX];
    if (m->segment == ZYDIS_REGISTER_FS || x->in.address_width == 32 || lanes > LANES_MAX ||
        lanes_left < lanes || (int)(whole(m->base) - ZYDIS_REGISTER_RAX) == reg) {
        return NULL;
    }
    lanes_left -= lanes;
    *borrowed = own ? NO_REG : reg;
    if (!own) {
        carm_store(e, AT_R_RCX, reg);
    }
    store_vector(e, vector, lanes * wide > 32);
    for (unsigned i = 0; i < lanes; i++) {
        lane_address(e, (unsigned)reg, m, i, wide);
        class_in(e, (unsigned)reg);
        /* the line of an element's begin decides: elements across two lines are rare */
        jumps[i] = jump(e, (unsigned)reg, free, AT_OWN);
    }
    if (!own) {
        carm_load(e, reg, AT_R_RCX);
    }
    carm_byte(e, 0xeb); /* jmp over */
    carm_byte(e, 5);
    for (unsigned i = 0; i < lanes; i++) {
        carm_aim(e, jumps[i], e->at);
    }
    carm_byte(e, 0xe9);
    carm_word32(e, 0);
    return e->at - 4;
}

uint8_t *carm_sample_emit_masked(struct carm_emit *e, unsigned i, int *borrowed, const char **why)
{
    const struct carm_insn_full *x = &insns[i];
    for (unsigned k = 0; k < x->in.operand_count; k++) {
        const ZydisDecodedOperand *o = &x->op[k];
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.type == ZYDIS_MEMOP_TYPE_MEM &&
            o->mem.segment != ZYDIS_REGISTER_FS) {
            const struct carm_access all = {.operand = o};
            return look(e, x, &all, free_before >> i & 1, borrowed, why);
        }
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
            return look_at_lanes(e, x, &o->mem, free_before >> i & 1, borrowed);
        }
    }
    return NULL;
}

void carm_sample_emit_borrowed(struct carm_emit *e, int borrowed)
{
    if (borrowed != NO_REG) {
        carm_load(e, borrowed, AT_R_RCX);
    }
}

/* ---- records ---- */

/* rcx = own[class of rax + ahead] */
static void own_in_rcx(struct carm_emit *e, unsigned ahead)
{
    static const uint8_t lea[] = {0x48, 0x8d, 0x88};           /* lea rcx, [rax + ] */
    static const uint8_t look_up[] = {0x65, 0x0f, 0xb6, 0x89}; /* movzx ecx, byte gs:[rcx + ] */
    carm_bytes(e, lea, sizeof lea);
    carm_word32(e, ahead);
    class_in(e, RCX);
    carm_bytes(e, look_up, sizeof look_up);
    carm_word32(e, AT_OWN);
}

/*     jrcxz, if neither the line of the begin nor the next line, into which the access may go on, is
 *     recorded
 *     a record; left -= 1 */
static void record(struct carm_emit *e, const struct member *m, const struct carm_block *block,
                   const char **why)
{
    static const uint8_t less[] = {0x48, 0x8d, 0x49, 0xff}; /* lea rcx, [rcx - 1] */
    const struct carm_access *a = &m->access;
    carm_access_give_back(e);
    carm_access_address(e, RAX, &insns[m->insn], a, why);
    own_in_rcx(e, 0);
    carm_byte(e, 0xe3); /* jrcxz second */
    carm_byte(e, 2);
    carm_byte(e, 0xeb); /* jmp write */
    uint8_t *write = e->at;
    carm_byte(e, 0);
    own_in_rcx(e, a->bytes ? a->bytes - 1 : 0);
    carm_byte(e, 0xe3); /* jrcxz over */
    uint8_t *over = e->at;
    carm_byte(e, 0);
    carm_aim_short(e, write);
    carm_access_write(e, CARM_RECORD(a->bytes, a->kind, block->counter),
                      (uint32_t)(insns[m->insn].pc - block->pc));
    carm_load(e, RCX, AT_LEFT);
    carm_bytes(e, less, sizeof less);
    carm_store(e, AT_LEFT, RCX);
    carm_aim_short(e, over);
}

/*     movzx ecx, left >> 8 & 255
 *     jrcxz full
 *     jmp on
 * full: to the engine, then back to the look: nothing has been recorded yet
 * on: the records */
static void group_records(struct carm_emit *e, unsigned g, const struct carm_block *block,
                          const char **why)
{
    static const uint8_t jump_0[] = {0x0f, 0xb6, 0xcd, 0xe3, 0x05, 0xe9};
    const struct group *group = &groups[g];
    const uint32_t link =
        carm_link_new((uint32_t)(block - carm_blocks), insns[group->first].pc, EXIT_TURN);
    if (link == UINT32_MAX) {
        *why = "it executes too much code";
        return;
    }
    carm_aim(e, group->from, e->at);
    carm_sample_emit_borrowed(e, group->borrowed);
    carm_access_borrow(e);
    carm_load(e, RCX, AT_LEFT);
    carm_bytes(e, jump_0, sizeof jump_0);
    uint8_t *on = e->at;
    carm_word32(e, 0);
    carm_access_give_back(e);
    back(e);
    carm_access_ask(e, link, group->look);
    carm_aim(e, on, e->at);
    for (unsigned i = group->member; i < nmembers; i++) {
        if (members[i].group == g) {
            record(e, &members[i], block, why);
        }
    }
    carm_access_give_back(e);
    carm_byte(e, 0xe9);
    carm_aim(e, e->at, group->back);
    e->at += 4;
}

void carm_sample_emit_rare(struct carm_emit *e, const struct carm_block *block, const char **why)
{
    for (unsigned g = 0; g < ngroups && !*why; g++) {
        group_records(e, g, block, why);
    }
    ngroups = nmembers = 0;
}
