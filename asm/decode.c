/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "asm/decode.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>

#include "base/array.h"

_Static_assert(ZYDIS_VERSION_MAJOR(ZYDIS_VERSION) >= 4,
               "carm needs Zydis 4 or newer (libzydis-dev of Debian 12 or Ubuntu 24.04)");

#define FOUR(p, m, role)                                                        \
    {ZYDIS_MNEMONIC_##p##m##PD, role, 0}, {ZYDIS_MNEMONIC_##p##m##PS, role, 0}, \
        {ZYDIS_MNEMONIC_##p##m##SD, role, 0},                                   \
    {                                                                           \
        ZYDIS_MNEMONIC_##p##m##SS, role, 0                                      \
    }
/* SSE and VEX encoding */
#define BOTH(m, role, element_bytes)             \
    {ZYDIS_MNEMONIC_##m, role, element_bytes},   \
    {                                            \
        ZYDIS_MNEMONIC_V##m, role, element_bytes \
    }
#define HALF(m, role)                    \
    {                                    \
        ZYDIS_MNEMONIC_V##m##PH, role, 2 \
    }
#define PACKED(p, m, role)                 \
    {ZYDIS_MNEMONIC_##p##m##PD, role, 0},  \
    {                                      \
        ZYDIS_MNEMONIC_##p##m##PS, role, 0 \
    }

/* Moves are listed as loads; the operand that is written decides. General-purpose instructions
 * are listed with one of their roles; `control` finds the right role by the operands. */
static const struct {
    ZydisMnemonic mnemonic;
    enum carm_insn_role role;
    int element_bytes; /* where Zydis reports no element size of the operands; -1 = no elements */
} repertoire[] = {
    PACKED(, MOVA, CARM_INSN_LOAD),
    PACKED(V, MOVA, CARM_INSN_LOAD),
    {ZYDIS_MNEMONIC_MOVSD, CARM_INSN_LOAD, 0},
    {ZYDIS_MNEMONIC_MOVSS, CARM_INSN_LOAD, 0},
    {ZYDIS_MNEMONIC_VMOVSD, CARM_INSN_LOAD, 0},
    {ZYDIS_MNEMONIC_VMOVSS, CARM_INSN_LOAD, 0},
    PACKED(, MOVNT, CARM_INSN_NT_STORE),
    PACKED(V, MOVNT, CARM_INSN_NT_STORE),
    {ZYDIS_MNEMONIC_MOVNTI, CARM_INSN_NT_STORE, 0},
    {ZYDIS_MNEMONIC_PREFETCHT0, CARM_INSN_PREFETCH, 0},
    FOUR(, ADD, CARM_INSN_ADD),
    FOUR(V, ADD, CARM_INSN_ADD),
    FOUR(, MUL, CARM_INSN_MUL),
    FOUR(V, MUL, CARM_INSN_MUL),
    FOUR(, DIV, CARM_INSN_DIV),
    FOUR(V, DIV, CARM_INSN_DIV),
    FOUR(, SQRT, CARM_INSN_SQRT),
    FOUR(V, SQRT, CARM_INSN_SQRT),
    FOUR(V, FMADD231, CARM_INSN_FMA),
    FOUR(V, FNMADD231, CARM_INSN_FNMA),
    PACKED(, XOR, CARM_INSN_FLIP),
    PACKED(V, XOR, CARM_INSN_FLIP),
    {ZYDIS_MNEMONIC_VPXORD, CARM_INSN_FLIP, 0},
    {ZYDIS_MNEMONIC_VPXORQ, CARM_INSN_FLIP, 0},
    BOTH(MOVDQA, CARM_INSN_LOAD, -1),
    {ZYDIS_MNEMONIC_VMOVDQA32, CARM_INSN_LOAD, -1},
    {ZYDIS_MNEMONIC_VMOVDQA64, CARM_INSN_LOAD, -1},
    BOTH(MOVNTDQ, CARM_INSN_NT_STORE, -1),
    BOTH(PXOR, CARM_INSN_FLIP, -1),
    BOTH(PADDB, CARM_INSN_ADD, 1),
    BOTH(PADDW, CARM_INSN_ADD, 2),
    BOTH(PADDD, CARM_INSN_ADD, 4),
    BOTH(PADDQ, CARM_INSN_ADD, 8),
    BOTH(PMULLW, CARM_INSN_MUL, 2),
    BOTH(PMULLD, CARM_INSN_MUL, 4),
    {ZYDIS_MNEMONIC_VPMULLQ, CARM_INSN_MUL, 8},
    BOTH(PAND, CARM_INSN_AND, -1),
    {ZYDIS_MNEMONIC_VPANDD, CARM_INSN_AND, -1},
    {ZYDIS_MNEMONIC_VPANDQ, CARM_INSN_AND, -1},
    BOTH(POR, CARM_INSN_OR, -1),
    {ZYDIS_MNEMONIC_VPORD, CARM_INSN_OR, -1},
    {ZYDIS_MNEMONIC_VPORQ, CARM_INSN_OR, -1},
    {ZYDIS_MNEMONIC_VPDPBUSD, CARM_INSN_DOT, 1},
    {ZYDIS_MNEMONIC_VPDPWSSD, CARM_INSN_DOT, 2},
    {ZYDIS_MNEMONIC_VDPBF16PS, CARM_INSN_DOT, 2},
    {ZYDIS_MNEMONIC_TDPBSSD, CARM_INSN_DOT, 1},
    {ZYDIS_MNEMONIC_TDPBF16PS, CARM_INSN_DOT, 2},
    {ZYDIS_MNEMONIC_TILELOADD, CARM_INSN_LOAD, -1},
    {ZYDIS_MNEMONIC_TILESTORED, CARM_INSN_LOAD, -1},
    {ZYDIS_MNEMONIC_LDTILECFG, CARM_INSN_SHAPE, -1},
    {ZYDIS_MNEMONIC_TILERELEASE, CARM_INSN_TILERELEASE, 0},
    {ZYDIS_MNEMONIC_VPMADD52LUQ, CARM_INSN_MADD52, 8},
    {ZYDIS_MNEMONIC_VPOPCNTB, CARM_INSN_POPCNT, 1},
    {ZYDIS_MNEMONIC_VPOPCNTW, CARM_INSN_POPCNT, 2},
    {ZYDIS_MNEMONIC_VPOPCNTD, CARM_INSN_POPCNT, 4},
    {ZYDIS_MNEMONIC_VPOPCNTQ, CARM_INSN_POPCNT, 8},
    HALF(ADD, CARM_INSN_ADD),
    HALF(MUL, CARM_INSN_MUL),
    HALF(DIV, CARM_INSN_DIV),
    HALF(SQRT, CARM_INSN_SQRT),
    HALF(FMADD231, CARM_INSN_FMA),
    HALF(FNMADD231, CARM_INSN_FNMA),
    {ZYDIS_MNEMONIC_MOV, CARM_INSN_REWIND, 0},
    {ZYDIS_MNEMONIC_LEA, CARM_INSN_APART_3, 0},
    {ZYDIS_MNEMONIC_ADD, CARM_INSN_STEP, 0},
    {ZYDIS_MNEMONIC_IMUL, CARM_INSN_MULTIPLY, 0},
    {ZYDIS_MNEMONIC_SHR, CARM_INSN_SHIFT, 0},
    {ZYDIS_MNEMONIC_SHL, CARM_INSN_LINE, 0},
    {ZYDIS_MNEMONIC_DEC, CARM_INSN_DEC_RCX, 0},
    {ZYDIS_MNEMONIC_JNZ, CARM_INSN_JNZ, 0},
    {ZYDIS_MNEMONIC_NOP, CARM_INSN_NOP, 0},
    {ZYDIS_MNEMONIC_VZEROUPPER, CARM_INSN_VZEROUPPER, 0},
    {ZYDIS_MNEMONIC_RET, CARM_INSN_RET, 0},
};

/* One decoded instruction with its explicit operands, write masks left out. */
struct parts {
    ZydisDecodedInstruction in;
    ZydisDecodedOperand all[ZYDIS_MAX_OPERAND_COUNT];
    const ZydisDecodedOperand *op[ZYDIS_MAX_OPERAND_COUNT];
    unsigned n;
};

static bool is_register(const ZydisDecodedOperand *o, ZydisRegister r)
{
    return o->type == ZYDIS_OPERAND_TYPE_REGISTER && o->reg.value == r;
}

/* INVALID where the operand is no register */
static ZydisRegisterClass class_of(const ZydisDecodedOperand *o)
{
    return o->type == ZYDIS_OPERAND_TYPE_REGISTER ? ZydisRegisterGetClass(o->reg.value)
                                                  : ZYDIS_REGCLASS_INVALID;
}

/* number of a vector register or tile, -1 where the operand is none */
static int vector_number(const ZydisDecodedOperand *o)
{
    const ZydisRegisterClass c = class_of(o);
    const bool vector = c == ZYDIS_REGCLASS_XMM || c == ZYDIS_REGCLASS_YMM ||
                        c == ZYDIS_REGCLASS_ZMM || c == ZYDIS_REGCLASS_TMM;
    return vector ? ZydisRegisterGetId(o->reg.value) : -1;
}

/* number of a general register, whole or its lower half, -1 where the operand is none */
static int general_number(const ZydisDecodedOperand *o)
{
    const ZydisRegisterClass c = class_of(o);
    const bool general = c == ZYDIS_REGCLASS_GPR64 || c == ZYDIS_REGCLASS_GPR32;
    return general ? ZydisRegisterGetId(o->reg.value) : -1;
}

/* The first written register that is not the callee's by the calling convention, hidden operands
 * included. returns its name or NULL */
static const char *protected_write(const struct parts *p)
{
    for (unsigned i = 0; i < p->in.operand_count; i++) {
        const ZydisDecodedOperand *o = &p->all[i];
        if (o->type != ZYDIS_OPERAND_TYPE_REGISTER ||
            !(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) || vector_number(o) >= 0) {
            continue;
        }
        if (class_of(o) == ZYDIS_REGCLASS_FLAGS || class_of(o) == ZYDIS_REGCLASS_IP) {
            continue;
        }
        switch (ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, o->reg.value)) {
        case ZYDIS_REGISTER_RAX:
        case ZYDIS_REGISTER_RCX:
        case ZYDIS_REGISTER_RDX:
        case ZYDIS_REGISTER_R8:
        case ZYDIS_REGISTER_R9:
        case ZYDIS_REGISTER_R10:
        case ZYDIS_REGISTER_R11:
            break;
        case ZYDIS_REGISTER_RSP:
            if (p->in.mnemonic == ZYDIS_MNEMONIC_RET) {
                break;
            }
            return "rsp";
        default:
            return ZydisRegisterGetString(o->reg.value);
        }
    }
    return NULL;
}

/* returns 0 or the reason why the memory operand is refused */
static const char *address(const struct parts *p, const ZydisDecodedOperand *o,
                           struct carm_insn *out)
{
    static const struct {
        ZydisRegister base, index;
        unsigned scale;
        enum carm_insn_base meaning;
    } known[] = {
        {ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_NONE, 0, CARM_BASE_FIRST},
        {ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_R9, 1, CARM_BASE_FIRST + 1},
        {ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_R9, 2, CARM_BASE_FIRST + 2},
        {ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_R10, 1, CARM_BASE_FIRST + 3},
        {ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_R9, 4, CARM_BASE_FIRST + 4},
        {ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_R11, 1, CARM_BASE_FIRST + 5},
        {ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_R11, 1, CARM_BASE_RANDOM},
        {ZYDIS_REGISTER_RIP, ZYDIS_REGISTER_NONE, 0, CARM_BASE_IMAGE},
    };
    enum { KNOWN = sizeof known / sizeof *known };
    const ZydisDecodedOperandMem *m = &o->mem;
    size_t k = 0;
    while (k < KNOWN && (m->base != known[k].base || m->index != known[k].index ||
                         (known[k].scale && m->scale != known[k].scale))) {
        k++;
    }
    if (k == KNOWN || m->type != ZYDIS_MEMOP_TYPE_MEM || m->segment != ZYDIS_REGISTER_DS) {
        return "its address is neither [rax + offset] nor another of a test code";
    }
    out->base = known[k].meaning;
    out->value =
        m->disp.value + (out->base == CARM_BASE_IMAGE ? (int64_t)(out->offset + p->in.length) : 0);
    out->bytes = o->size / 8U;
    out->element_bytes = o->element_size / 8U;
    return NULL;
}

/* Like address(), for a tile's rows at distances of r8. Zydis knows neither their bytes nor their number. */
static const char *tile_address(const ZydisDecodedOperand *o, struct carm_insn *out)
{
    const ZydisDecodedOperandMem *m = &o->mem;
    if (m->index != ZYDIS_REGISTER_R8 || m->scale != 1 || m->segment != ZYDIS_REGISTER_DS ||
        (m->base != ZYDIS_REGISTER_RAX && m->base != ZYDIS_REGISTER_R9)) {
        return "its address is neither [rax + r8 + offset] nor [r9 + r8 + offset]";
    }
    out->base = m->base == ZYDIS_REGISTER_R9 ? CARM_BASE_TABLE : CARM_BASE_FIRST;
    out->value = m->disp.value;
    return NULL;
}

static const char *move(const struct parts *p, struct carm_insn *out)
{
    if (p->n != 2) {
        return "it is not a load or store";
    }
    const bool store = p->op[0]->type == ZYDIS_OPERAND_TYPE_MEMORY;
    const ZydisDecodedOperand *memory = p->op[store ? 0 : 1];
    const ZydisDecodedOperand *reg = p->op[store ? 1 : 0];
    if (memory->type != ZYDIS_OPERAND_TYPE_MEMORY || reg->type != ZYDIS_OPERAND_TYPE_REGISTER ||
        !(p->op[0]->actions & ZYDIS_OPERAND_ACTION_WRITE) ||
        !(p->op[1]->actions & ZYDIS_OPERAND_ACTION_READ)) {
        return "it is not a load or store";
    }
    if (out->role == CARM_INSN_LOAD) {
        out->role = store ? CARM_INSN_STORE : CARM_INSN_LOAD;
    }
    const char *why =
        out->set == CARM_SET_AMX ? tile_address(memory, out) : address(p, memory, out);
    out->reg = vector_number(reg);
    if (store) { /* Zydis reports elements of 4 bytes for movntpd's memory: use the register's */
        out->element_bytes = reg->element_size / 8U;
    }
    if (p->in.mnemonic == ZYDIS_MNEMONIC_MOVNTI) {
        out->set = CARM_SET_BASE;
    }
    return why;
}

static int dot_precision(ZydisMnemonic m)
{
    switch (m) {
    case ZYDIS_MNEMONIC_VPDPBUSD:
    case ZYDIS_MNEMONIC_TDPBSSD:
        return CARM_INT8;
    case ZYDIS_MNEMONIC_VPDPWSSD:
        return CARM_INT16;
    default:
        return CARM_BF16;
    }
}

static const char *arithmetic(const struct parts *p, struct carm_insn *out)
{
    const bool fma = out->role == CARM_INSN_FMA || out->role == CARM_INSN_FNMA ||
                     out->role == CARM_INSN_DOT || out->role == CARM_INSN_MADD52;
    const bool alone = out->role == CARM_INSN_POPCNT;
    const ZydisDecodedOperand *last = p->op[p->n - 1];
    for (unsigned i = 0; i < p->n; i++) {
        if (vector_number(p->op[i]) < 0) {
            return "it works on other operands than vector registers";
        }
    }
    out->reg = vector_number(p->op[0]);
    out->src[0] = vector_number(p->op[fma ? 1 : p->n - 1]);
    out->src[1] = fma ? vector_number(last) : -1;
    if (alone && out->src[0] != out->reg) {
        return "it does not continue a chain: its destination is not its source";
    }
    out->src[0] = alone ? -1 : out->src[0];
    if (!fma && p->n == 3 && vector_number(p->op[1]) != out->reg) {
        return "it does not continue a chain: its destination is not its first source";
    }
    if (out->role == CARM_INSN_DOT) {
        out->precision = dot_precision(p->in.mnemonic);
    }
    /* scalar forms read one element of their last source, packed ones the whole register */
    out->bytes = last->size / 8U;
    out->element_bytes = last->element_size / 8U;
    return NULL;
}

/* An addition of register to register among those of the integer chains and the loop's counter. */
static bool addition(const struct parts *p, struct carm_insn *out)
{
    const int reg = general_number(p->op[0]);
    const int src = general_number(p->op[1]);
    if (reg < CARM_GENERAL_R8 || reg > CARM_GENERAL_R11 ||
        ((src < CARM_GENERAL_R8 || src > CARM_GENERAL_R11) && src != CARM_GENERAL_RCX)) {
        return false;
    }
    out->role = CARM_INSN_INT;
    out->bytes = p->op[0]->size / 8U;
    out->reg = reg;
    out->src[0] = src;
    return true;
}

/* General-purpose instructions, exactly in the forms that a code needs. second: a register; NONE: an
 * immediate, which becomes the instruction's value; MAX_VALUE: the instruction has one operand. */
enum { IMMEDIATE = ZYDIS_REGISTER_NONE, NO_OPERAND = ZYDIS_REGISTER_MAX_VALUE };
static const struct {
    ZydisMnemonic mnemonic;
    ZydisRegister first;
    int second;
    enum carm_insn_role role;
} forms[] = {
    {ZYDIS_MNEMONIC_MOV, ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_RDI, CARM_INSN_REWIND},
    {ZYDIS_MNEMONIC_MOV, ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_RSI, CARM_INSN_RECHARGE},
    {ZYDIS_MNEMONIC_MOV, ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_RSI, CARM_INSN_RECHARGE_R},
    {ZYDIS_MNEMONIC_MOV, ZYDIS_REGISTER_R9, ZYDIS_REGISTER_RCX, CARM_INSN_APART},
    {ZYDIS_MNEMONIC_MOV, ZYDIS_REGISTER_R8, ZYDIS_REGISTER_RCX, CARM_INSN_SEED},
    {ZYDIS_MNEMONIC_MOV, ZYDIS_REGISTER_R11, ZYDIS_REGISTER_R8, CARM_INSN_DRAW},
    {ZYDIS_MNEMONIC_MOV, ZYDIS_REGISTER_R8D, IMMEDIATE, CARM_INSN_ROW},
    {ZYDIS_MNEMONIC_MOV, ZYDIS_REGISTER_R9, IMMEDIATE, CARM_INSN_FACTOR},
    {ZYDIS_MNEMONIC_MOV, ZYDIS_REGISTER_R10, IMMEDIATE, CARM_INSN_SUMMAND},
    {ZYDIS_MNEMONIC_ADD, ZYDIS_REGISTER_RAX, IMMEDIATE, CARM_INSN_STEP},
    {ZYDIS_MNEMONIC_IMUL, ZYDIS_REGISTER_R8, ZYDIS_REGISTER_R9, CARM_INSN_MULTIPLY},
    {ZYDIS_MNEMONIC_SHR, ZYDIS_REGISTER_R11, ZYDIS_REGISTER_CL, CARM_INSN_SHIFT},
    {ZYDIS_MNEMONIC_SHL, ZYDIS_REGISTER_R11, IMMEDIATE, CARM_INSN_LINE},
    {ZYDIS_MNEMONIC_DEC, ZYDIS_REGISTER_RAX, NO_OPERAND, CARM_INSN_DEC_RAX},
    {ZYDIS_MNEMONIC_DEC, ZYDIS_REGISTER_RCX, NO_OPERAND, CARM_INSN_DEC_RCX},
    {ZYDIS_MNEMONIC_DEC, ZYDIS_REGISTER_RDX, NO_OPERAND, CARM_INSN_DEC_RDX},
};

static bool has_form(const struct parts *p, size_t k)
{
    if (p->n == 0 || p->in.mnemonic != forms[k].mnemonic ||
        !is_register(p->op[0], forms[k].first)) {
        return false;
    }
    if (forms[k].second == (int)NO_OPERAND) {
        return p->n == 1;
    }
    if (p->n != 2) {
        return false;
    }
    const ZydisDecodedOperand *b = p->op[1];
    return forms[k].second == (int)IMMEDIATE ? b->type == ZYDIS_OPERAND_TYPE_IMMEDIATE
                                             : is_register(b, (ZydisRegister)forms[k].second);
}

static const char *form(const struct parts *p, struct carm_insn *out)
{
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        if (has_form(p, k)) {
            out->role = forms[k].role;
            /* a negative immediate is sign-extended in both fields */
            out->value = forms[k].second == (int)IMMEDIATE ? p->op[1]->imm.value.s : 0;
            return NULL;
        }
    }
    return p->in.mnemonic == ZYDIS_MNEMONIC_ADD && p->n == 2 && addition(p, out)
               ? NULL
               : "it is outside the repertoire of test codes";
}

/* lea of 3 * r9 to r10, of 5 * r9 to r11, or of an address in the image to r9. */
static bool distance(const struct parts *p, struct carm_insn *out)
{
    const ZydisDecodedOperandMem *m = &p->op[1]->mem;
    if (m->base == ZYDIS_REGISTER_RIP) {
        out->role = CARM_INSN_TABLE;
        out->value = m->disp.value + (int64_t)(out->offset + p->in.length);
        return is_register(p->op[0], ZYDIS_REGISTER_R9);
    }
    if (m->base != ZYDIS_REGISTER_R9 || m->index != ZYDIS_REGISTER_R9 || m->disp.value != 0) {
        return false;
    }
    out->role = m->scale == 4 ? CARM_INSN_APART_5 : CARM_INSN_APART_3;
    return (m->scale == 2 && is_register(p->op[0], ZYDIS_REGISTER_R10)) ||
           (m->scale == 4 && is_register(p->op[0], ZYDIS_REGISTER_R11));
}

/* Registers and instructions of the loop's and the function's control. */
static const char *control(const struct parts *p, struct carm_insn *out)
{
    bool good = false;
    const ZydisDecodedOperand *a = p->op[0];
    switch (out->role) {
    case CARM_INSN_APART_3:
        good = distance(p, out);
        break;
    case CARM_INSN_JNZ:
        out->value = (int64_t)(out->offset + p->in.length) + a->imm.value.s;
        return NULL;
    case CARM_INSN_PREFETCH:
        return address(p, a, out);
    case CARM_INSN_SHAPE:
        good = !address(p, a, out) && out->base == CARM_BASE_IMAGE;
        break;
    case CARM_INSN_NOP:
    case CARM_INSN_TILERELEASE:
    case CARM_INSN_VZEROUPPER:
    case CARM_INSN_RET: /* Zydis has one mnemonic for near and far returns */
        good = p->n == 0 && p->in.meta.branch_type != ZYDIS_BRANCH_TYPE_FAR;
        break;
    default:
        return form(p, out);
    }
    return good ? NULL : "it is outside the repertoire of test codes";
}

static const char *instruction_set(const struct parts *p, struct carm_insn *out)
{
    switch (p->in.meta.isa_set) {
    case ZYDIS_ISA_SET_I86:
    case ZYDIS_ISA_SET_I186: /* shifts by an immediate */
    case ZYDIS_ISA_SET_I386: /* imul of two registers */
    case ZYDIS_ISA_SET_SSE_PREFETCH:
        out->set = CARM_SET_BASE;
        return NULL;
    case ZYDIS_ISA_SET_SSE:
    case ZYDIS_ISA_SET_SSE2:
    case ZYDIS_ISA_SET_SSE4: /* Zydis's name of SSE4.1 */
        out->set = CARM_SET_SSE;
        return NULL;
    case ZYDIS_ISA_SET_AVX:
        out->set = CARM_SET_AVX;
        return NULL;
    case ZYDIS_ISA_SET_FMA:
        out->set = CARM_SET_FMA;
        return NULL;
    case ZYDIS_ISA_SET_AVX2:
    case ZYDIS_ISA_SET_AVX_VNNI:
        out->set = CARM_SET_AVX2;
        return NULL;
    case ZYDIS_ISA_SET_AVX512F_512:
        out->set = CARM_SET_AVX512F;
        return NULL;
    case ZYDIS_ISA_SET_AVX512BW_512:
    case ZYDIS_ISA_SET_AVX512DQ_512:
    case ZYDIS_ISA_SET_AVX512_BF16_512:
    case ZYDIS_ISA_SET_AVX512_BITALG_512:
    case ZYDIS_ISA_SET_AVX512_FP16_512:
    case ZYDIS_ISA_SET_AVX512_IFMA_512:
    case ZYDIS_ISA_SET_AVX512_VNNI_512:
    case ZYDIS_ISA_SET_AVX512_VPOPCNTDQ_512:
        out->set = CARM_SET_AVX512_MORE;
        return NULL;
    case ZYDIS_ISA_SET_AMX_TILE:
    case ZYDIS_ISA_SET_AMX_BF16:
    case ZYDIS_ISA_SET_AMX_INT8:
        out->set = CARM_SET_AMX;
        return NULL;
    default:
        return "it belongs to an instruction set that test codes do not use";
    }
}

/* Fills *out except its offset. returns NULL or the reason why the instruction is refused */
static const char *classify(struct parts *p, struct carm_insn *out)
{
    const ZydisInstructionAttributes prefixes =
        ZYDIS_ATTRIB_HAS_LOCK | ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
        ZYDIS_ATTRIB_HAS_REPNE | ZYDIS_ATTRIB_HAS_SEGMENT | ZYDIS_ATTRIB_HAS_ADDRESSSIZE;
    const size_t known = sizeof repertoire / sizeof *repertoire;
    size_t k = 0;
    for (unsigned i = 0; i < p->in.operand_count; i++) {
        if (p->all[i].visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
            p->all[i].encoding != ZYDIS_OPERAND_ENCODING_MASK) {
            p->op[p->n++] = &p->all[i];
        }
        if (vector_number(&p->all[i]) >= 0 && class_of(&p->all[i]) != ZYDIS_REGCLASS_TMM &&
            (p->all[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) {
            out->vector_bytes =
                ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, p->all[i].reg.value) / 8U;
        }
    }
    while (k < known && repertoire[k].mnemonic != p->in.mnemonic) {
        k++;
    }
    if (k == known) {
        return "it is outside the repertoire of test codes";
    }
    out->role = repertoire[k].role;
    if ((p->in.attributes & prefixes) || p->in.avx.mask.mode > ZYDIS_MASK_MODE_DISABLED ||
        p->in.avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID ||
        p->in.avx.rounding.mode != ZYDIS_ROUNDING_MODE_INVALID || p->in.avx.has_sae) {
        return "test codes use no prefixes, masks, broadcasts or roundings";
    }
    const char *why = instruction_set(p, out);
    if (why) {
        return why;
    }
    if (out->role == CARM_INSN_LOAD || out->role == CARM_INSN_NT_STORE) {
        why = move(p, out);
    } else if (out->role >= CARM_INSN_ADD && out->role <= CARM_INSN_FLIP) {
        why = arithmetic(p, out);
    } else {
        why = control(p, out);
    }
    if (repertoire[k].element_bytes) {
        out->element_bytes =
            repertoire[k].element_bytes < 0 ? 0 : (unsigned)repertoire[k].element_bytes;
    }
    return why;
}

void carm_insn_text(const uint8_t *image, size_t size, uint64_t offset,
                    char text[CARM_INSN_TEXT_MAX])
{
    ZydisDecoder decoder;
    ZydisFormatter formatter;
    struct parts p = {.n = 0};
    text[0] = '\0';
    if (offset < size &&
        ZYAN_SUCCESS(
            ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
        ZYAN_SUCCESS(ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL)) &&
        ZYAN_SUCCESS(
            ZydisDecoderDecodeFull(&decoder, image + offset, size - offset, &p.in, p.all))) {
        ZydisFormatterFormatInstruction(&formatter, &p.in, p.all, p.in.operand_count_visible, text,
                                        CARM_INSN_TEXT_MAX, offset, NULL);
    }
}

/* {vex} vpmadd52luq of three vectors of 32 bytes, by its bytes: Zydis 4.0 does not know AVX-IFMA.
 * Intel SDM, volume 2, VPMADD52LUQ: VEX.256.66.0F38.W1 B4 /r. returns whether it is one */
static bool vex_madd52(const uint8_t *at, uint64_t room, struct carm_insn *out)
{
    if (room < 5 || at[0] != 0xc4 || (at[1] & 0x5f) != 0x42 || (at[2] & 0x87) != 0x85 ||
        at[3] != 0xb4 || at[4] < 0xc0) {
        return false;
    }
    out->length = 5;
    out->role = CARM_INSN_MADD52;
    out->set = CARM_SET_AVX2;
    out->bytes = 32;
    out->vector_bytes = 32;
    out->element_bytes = 8;
    out->reg = (at[1] & 0x80 ? 0 : 8) | (at[4] >> 3 & 7);
    out->src[0] = ~at[2] >> 3 & 15;
    out->src[1] = (at[1] & 0x20 ? 0 : 8) | (at[4] & 7);
    return true;
}

/* tdpfp16ps of three tiles, by its bytes: Zydis 4.0 does not know AMX-FP16.
 * Intel SDM, volume 2, TDPFP16PS: VEX.128.F2.0F38.W0 5C 11:rrr:bbb. returns whether it is one */
static bool tile_half(const uint8_t *at, uint64_t room, struct carm_insn *out)
{
    if (room < 5 || at[0] != 0xc4 || at[1] != 0xe2 || (at[2] & 0xc7) != 0x43 || at[3] != 0x5c ||
        at[4] < 0xc0) {
        return false;
    }
    out->length = 5;
    out->role = CARM_INSN_DOT;
    out->set = CARM_SET_AMX;
    out->element_bytes = 2;
    out->precision = CARM_FP16;
    out->reg = at[4] >> 3 & 7;
    out->src[0] = at[4] & 7;
    out->src[1] = ~at[2] >> 3 & 7;
    return true;
}

/* Decodes the instruction at offset; it may not reach past end. */
static int decode_one(const ZydisDecoder *decoder, const uint8_t *image, uint64_t offset,
                      uint64_t end, struct carm_insn *out, struct carm_err *err)
{
    struct parts p = {.n = 0};
    *out = (struct carm_insn){
        .offset = offset, .columns = 1, .precision = -1, .reg = -1, .src = {-1, -1}};
    if (vex_madd52(image + offset, end - offset, out) ||
        tile_half(image + offset, end - offset, out)) {
        return 0;
    }
    if (ZYAN_FAILED(ZydisDecoderDecodeFull(decoder, image + offset, end - offset, &p.in, p.all))) {
        return carm_fail(err, CARM_EFORMAT,
                         "offset 0x%llx: the bytes up to the code's end are no whole instruction",
                         (unsigned long long)offset);
    }
    out->length = p.in.length;
    const char *reg = protected_write(&p);
    const char *why = reg ? NULL : classify(&p, out);
    if (!reg && !why) {
        return 0;
    }
    char text[CARM_INSN_TEXT_MAX];
    carm_insn_text(image, end, offset, text);
    return reg ? carm_fail(err, CARM_EFORMAT,
                           "offset 0x%llx, '%s': it writes %s, which is the caller's",
                           (unsigned long long)offset, text, reg)
               : carm_fail(err, CARM_EFORMAT, "offset 0x%llx, '%s': %s", (unsigned long long)offset,
                           text, why);
}

/* ---- tiles ---- */

enum { TILES = 8, TILE_ROWS_MOST = 16, TILE_ROW_BYTES_MOST = 64, SHAPE_BYTES = 64 };

/* State of the registers that the instructions before the loop have set up. */
struct tiles {
    bool shaped;
    unsigned rows[TILES], row_bytes[TILES];
    int64_t table, distance;
};

/* source: Intel SDM, volume 2, LDTILECFG, format of the memory operand */
static const char *read_shape(const uint8_t *shape, struct tiles *t)
{
    enum { PALETTE = 0, FIRST_ROW = 1, ROW_BYTES_AT = 16, ROWS_AT = 48 };
    bool rest = false;
    for (int i = 0; i < SHAPE_BYTES; i++) {
        const bool used = (i >= ROW_BYTES_AT && i < ROW_BYTES_AT + 2 * TILES) ||
                          (i >= ROWS_AT && i < ROWS_AT + TILES) || i == PALETTE;
        rest = rest || (!used && shape[i]);
    }
    if (shape[PALETTE] != 1 || rest) {
        return "it does not load a shape of palette 1";
    }
    for (int i = 0; i < TILES; i++) {
        t->rows[i] = shape[ROWS_AT + i];
        t->row_bytes[i] = shape[ROW_BYTES_AT + 2 * i] | (unsigned)shape[ROW_BYTES_AT + 2 * i + 1]
                                                            << 8;
        if (t->rows[i] < 1 || t->rows[i] > TILE_ROWS_MOST || t->row_bytes[i] < 1 ||
            t->row_bytes[i] > TILE_ROW_BYTES_MOST) {
            return "it loads a shape that no tile has";
        }
    }
    t->shaped = true;
    return NULL;
}

/* Elements of the sums have 32 bits. Each sums the products of 4 bytes of both factors. */
static const char *shape_product(const struct tiles *t, struct carm_insn *in)
{
    const int c = in->reg;
    const int a = in->src[0];
    const int b = in->src[1];
    if (a == b || a == c || b == c) {
        return "a product needs three different tiles";
    }
    if (t->rows[c] != t->rows[a] || t->row_bytes[c] != t->row_bytes[b] ||
        t->row_bytes[a] != 4 * t->rows[b] || t->row_bytes[b] % 4 != 0) {
        return "the shapes of its tiles do not fit together";
    }
    in->bytes = t->rows[a] * t->row_bytes[a];
    in->columns = t->row_bytes[c] / 4;
    return NULL;
}

static const char *shape_tile(const uint8_t *image, size_t size, struct tiles *t,
                              struct carm_insn *in)
{
    switch (in->role) {
    case CARM_INSN_SHAPE:
        if (t->shaped || in->value < 0 || (uint64_t)in->value + SHAPE_BYTES > size) {
            return t->shaped ? "it changes the shape" : "it loads a shape from outside the image";
        }
        return read_shape(image + in->value, t);
    case CARM_INSN_TABLE:
        t->table = in->value;
        return NULL;
    case CARM_INSN_ROW:
        t->distance = in->value;
        return NULL;
    case CARM_INSN_TILERELEASE:
        t->shaped = false;
        return NULL;
    case CARM_INSN_LOAD:
    case CARM_INSN_STORE:
    case CARM_INSN_DOT:
        break;
    default:
        return NULL;
    }
    if (in->set != CARM_SET_AMX) {
        return NULL;
    }
    if (!t->shaped) {
        return "no shape of its tile is loaded";
    }
    if (in->role == CARM_INSN_DOT) {
        return shape_product(t, in);
    }
    if (t->distance != (int64_t)t->row_bytes[in->reg]) {
        return "its tile's rows do not follow one another in memory";
    }
    in->bytes = t->rows[in->reg] * t->row_bytes[in->reg];
    if (in->base == CARM_BASE_TABLE) {
        in->base = CARM_BASE_IMAGE;
        in->value += t->table;
    }
    return NULL;
}

static int shape_tiles(const uint8_t *image, size_t size, struct carm_insn *insns, size_t n,
                       struct carm_err *err)
{
    struct tiles tiles = {.shaped = false};
    for (size_t i = 0; i < n; i++) {
        const char *why = shape_tile(image, size, &tiles, &insns[i]);
        if (why) {
            char text[CARM_INSN_TEXT_MAX];
            carm_insn_text(image, size, insns[i].offset, text);
            return carm_fail(err, CARM_EFORMAT, "offset 0x%llx, '%s': %s",
                             (unsigned long long)insns[i].offset, text, why);
        }
    }
    return 0;
}

int carm_decode(const uint8_t *image, size_t size, uint64_t begin, uint64_t end,
                struct carm_insn **insns, size_t *n, struct carm_err *err)
{
    ZydisDecoder decoder;
    struct carm_insn *list = NULL;
    size_t room = 0;
    size_t count = 0;
    int rc = 0;
    if (begin >= end || end > size) {
        return carm_fail(err, CARM_EFORMAT, "the code lies outside the image of %zu bytes", size);
    }
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (uint64_t at = begin; at < end && !rc; at += list[count - 1].length) {
        rc = carm_array_grow(&list, &room, count, 2, sizeof *list, "the recount of a test code",
                             err);
        if (rc) {
            break;
        }
        rc = decode_one(&decoder, image, at, end, &list[count++], err);
    }
    rc = rc ? rc : shape_tiles(image, size, list, count, err);
    if (!rc) {
        list[count] =
            (struct carm_insn){.offset = end, .role = CARM_INSN_END, .reg = -1, .src = {-1, -1}};
        *insns = list;
        *n = count;
        list = NULL;
    }
    free(list);
    return rc;
}
