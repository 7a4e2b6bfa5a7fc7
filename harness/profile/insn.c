/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/profile/insn.h"

#include <string.h>

#include "base/array.h"
#include "harness/count/step/account.h"

const char *carm_opcode_word(enum carm_opcode_class class)
{
#define WORD(id, word, pipes) word,
    static const char *const words[] = {CARM_OPCODE_TABLE(WORD)};
#undef WORD
    return words[class];
}

const char *carm_opcode_pipes(enum carm_opcode_class class)
{
#define WORD(id, word, pipes) pipes,
    static const char *const words[] = {CARM_OPCODE_TABLE(WORD)};
#undef WORD
    return words[class];
}

const char *carm_opcode_isa(enum carm_opcode_width width)
{
    static const char *const words[] = {"", "scalar", "sse", "avx2", "avx512"};
    return words[width];
}

const char *carm_opcode_precision(enum carm_opcode_precision precision)
{
    static const char *const words[] = {"dp", "sp", "int64", "int32", "int16", "int8"};
    return words[precision];
}

/* ---- classes ---- */

struct named {
    const char *name;
    uint8_t class;
};

/* Floating point, by the whole mnemonic without the leading v and the suffix of its precision. */
static const struct named fp[] = {
    {"add", CARM_OPCODE_FP_ADD},         {"sub", CARM_OPCODE_FP_ADD},
    {"addsub", CARM_OPCODE_FP_ADD},      {"hadd", CARM_OPCODE_FP_ADD},
    {"hsub", CARM_OPCODE_FP_ADD},        {"mul", CARM_OPCODE_FP_MUL},
    {"div", CARM_OPCODE_FP_DIV},         {"sqrt", CARM_OPCODE_FP_SQRT},
    {"max", CARM_OPCODE_FP_MAX},         {"min", CARM_OPCODE_FP_MAX},
    {"and", CARM_OPCODE_FP_LOGIC},       {"andn", CARM_OPCODE_FP_LOGIC},
    {"or", CARM_OPCODE_FP_LOGIC},        {"xor", CARM_OPCODE_FP_LOGIC},
    {"cmp", CARM_OPCODE_FP_COMPARE},     {"ucomi", CARM_OPCODE_COMPARE_FLAGS},
    {"comi", CARM_OPCODE_COMPARE_FLAGS}, {"blend", CARM_OPCODE_FP_LOGIC},
    {"blendv", CARM_OPCODE_FP_BLEND},    {"blendm", CARM_OPCODE_FP_BLEND},
    {"unpckl", CARM_OPCODE_FP_SHUFFLE},  {"unpckh", CARM_OPCODE_FP_SHUFFLE},
    {"shuf", CARM_OPCODE_FP_SHUFFLE},    {"permil", CARM_OPCODE_FP_SHUFFLE},
    {"perm", CARM_OPCODE_FP_PERMUTE},    {"round", CARM_OPCODE_FP_ROUND},
    {"rndscale", CARM_OPCODE_FP_ROUND},  {"movl", CARM_OPCODE_FP_SHUFFLE},
    {"movh", CARM_OPCODE_FP_SHUFFLE},
};

/* Vectors, by the beginning of the mnemonic; the first matching row counts. */
static const struct named vectors[] = {
    {"fmadd", CARM_OPCODE_FP_FMA},
    {"fmsub", CARM_OPCODE_FP_FMA},
    {"fnmadd", CARM_OPCODE_FP_FMA},
    {"fnmsub", CARM_OPCODE_FP_FMA},
    {"movddup", CARM_OPCODE_FP_SHUFFLE},
    {"movshdup", CARM_OPCODE_FP_SHUFFLE},
    {"movsldup", CARM_OPCODE_FP_SHUFFLE},
    {"perm2", CARM_OPCODE_FP_PERMUTE},
    {"extract", CARM_OPCODE_BYTE_SHUFFLE},
    {"insert", CARM_OPCODE_FP_SHUFFLE},
    {"broadcast", CARM_OPCODE_FP_SHUFFLE},
    {"shuf", CARM_OPCODE_FP_PERMUTE},
    {"padd", CARM_OPCODE_VEC_INT_ADD},
    {"psub", CARM_OPCODE_VEC_INT_ADD},
    {"pmax", CARM_OPCODE_VEC_INT_ADD},
    {"pmin", CARM_OPCODE_VEC_INT_ADD},
    {"pabs", CARM_OPCODE_VEC_INT_ADD},
    {"pavg", CARM_OPCODE_VEC_INT_ADD},
    {"pcmp", CARM_OPCODE_VEC_INT_ADD},
    {"pmul", CARM_OPCODE_VEC_INT_MUL},
    {"pmadd", CARM_OPCODE_VEC_INT_MUL},
    {"psadbw", CARM_OPCODE_VEC_INT_MUL},
    {"aes", CARM_OPCODE_AES},
    {"sha256rnds2", CARM_OPCODE_SHA256},
    {"pclmul", CARM_OPCODE_CLMUL},
    {"pslldq", CARM_OPCODE_BYTE_SHUFFLE},
    {"psrldq", CARM_OPCODE_BYTE_SHUFFLE},
    {"psll", CARM_OPCODE_VEC_SHIFT},
    {"psrl", CARM_OPCODE_VEC_SHIFT},
    {"psra", CARM_OPCODE_VEC_SHIFT},
    {"prol", CARM_OPCODE_VEC_SHIFT},
    {"pror", CARM_OPCODE_VEC_SHIFT},
    {"pand", CARM_OPCODE_FP_LOGIC},
    {"por", CARM_OPCODE_FP_LOGIC},
    {"pxor", CARM_OPCODE_FP_LOGIC},
    {"pternlog", CARM_OPCODE_FP_LOGIC},
    {"pshufb", CARM_OPCODE_BYTE_SHUFFLE},
    {"pshuf", CARM_OPCODE_FP_SHUFFLE},
    {"punpck", CARM_OPCODE_FP_SHUFFLE},
    {"pack", CARM_OPCODE_BYTE_SHUFFLE},
    {"palignr", CARM_OPCODE_BYTE_SHUFFLE},
    {"pblendv", CARM_OPCODE_FP_BLEND},
    {"pblendm", CARM_OPCODE_FP_BLEND},
    {"pblend", CARM_OPCODE_FP_LOGIC},
    {"perm", CARM_OPCODE_FP_PERMUTE},
    {"pmovmsk", CARM_OPCODE_FROM_VECTOR},
    {"movmsk", CARM_OPCODE_FROM_VECTOR},
    {"pmovzx", CARM_OPCODE_BYTE_SHUFFLE},
    {"pmovsx", CARM_OPCODE_BYTE_SHUFFLE},
    {"pmov", CARM_OPCODE_FP_PERMUTE},
    {"pbroadcast", CARM_OPCODE_FP_SHUFFLE},
    {"pinsr", CARM_OPCODE_FP_SHUFFLE},
    {"pextr", CARM_OPCODE_FROM_VECTOR},
    {"cvtsi2", CARM_OPCODE_INT_TO_FP},
    {"cvttsd2si", CARM_OPCODE_FP_TO_INT},
    {"cvtsd2si", CARM_OPCODE_FP_TO_INT},
    {"cvttss2si", CARM_OPCODE_FP_TO_INT},
    {"cvtss2si", CARM_OPCODE_FP_TO_INT},
    {"cvtusi2", CARM_OPCODE_INT_TO_FP},
    {"cvtss2sd", CARM_OPCODE_CONVERT_PRECISION},
    {"cvtsd2ss", CARM_OPCODE_CONVERT_PRECISION},
    {"cvtps2pd", CARM_OPCODE_CONVERT_PRECISION},
    {"cvtpd2ps", CARM_OPCODE_CONVERT_PRECISION},
    {"cvt", CARM_OPCODE_CONVERT_VECTOR},
    {"kmov", CARM_OPCODE_MOVE_MASK},
    {"k", CARM_OPCODE_MASK_LOGIC},
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The precision by the mnemonic's suffix; -1 = no suffix */
static int suffix_of(const char *m, size_t n, bool *scalar)
{
    static const char *const suffixes[] = {"pd", "ps", "sd", "ss"};
    for (int i = 0; i < 4 && n > 2; i++) {
        if (strcmp(m + n - 2, suffixes[i]) == 0) {
            *scalar = i >= 2;
            return i % 2 == 0 ? CARM_OPCODE_DP : CARM_OPCODE_SP;
        }
    }
    return -1;
}

/* Elements of a vector of integers: the last letter of the mnemonic. */
static enum carm_opcode_precision element_of(const char *m, size_t n)
{
    return m[n - 1] == 'b'   ? CARM_OPCODE_INT8
           : m[n - 1] == 'w' ? CARM_OPCODE_INT16
           : m[n - 1] == 'd' ? CARM_OPCODE_INT32
                             : CARM_OPCODE_INT64;
}

static void class_of_vector(const ZydisDecodedInstruction *in, struct carm_flow_op *op)
{
    const char *m = ZydisMnemonicGetString(in->mnemonic);
    m += m[0] == 'v' ? 1 : 0;
    const size_t n = strlen(m);
    bool scalar = false;
    const int precision = suffix_of(m, n, &scalar);
    op->class = CARM_OPCODE_OTHER;
    op->precision = (uint8_t)(precision >= 0 ? (unsigned)precision : element_of(m, n));
    if (scalar && op->width == CARM_OPCODE_16) {
        op->width = CARM_OPCODE_SCALAR;
    }
    for (size_t i = 0; i < sizeof fp / sizeof *fp && precision >= 0; i++) {
        if (strlen(fp[i].name) == n - 2 && begins(m, fp[i].name)) {
            op->class = fp[i].class;
            return;
        }
    }
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        if (begins(m, vectors[i].name)) {
            op->class = vectors[i].class;
            break;
        }
    }
    if (op->class == CARM_OPCODE_INT_TO_FP || op->class == CARM_OPCODE_FP_TO_INT ||
        op->class == CARM_OPCODE_CONVERT_PRECISION) {
        op->precision = strstr(m, "sd") || strstr(m, "pd") ? CARM_OPCODE_DP : CARM_OPCODE_SP;
        op->width = strstr(m, "sd") || strstr(m, "ss") ? CARM_OPCODE_SCALAR : op->width;
    }
    if (op->class == CARM_OPCODE_OTHER && (begins(m, "mov") || begins(m, "lddqu"))) {
        op->class = CARM_OPCODE_NONE;
    }
}

static bool is_gp(ZydisRegister r)
{
    const ZydisRegisterClass c = ZydisRegisterGetClass(r);
    return c == ZYDIS_REGCLASS_GPR8 || c == ZYDIS_REGCLASS_GPR16 || c == ZYDIS_REGCLASS_GPR32 ||
           c == ZYDIS_REGCLASS_GPR64;
}

static bool is_vector(ZydisRegister r)
{
    const ZydisRegisterClass c = ZydisRegisterGetClass(r);
    return c == ZYDIS_REGCLASS_XMM || c == ZYDIS_REGCLASS_YMM || c == ZYDIS_REGCLASS_ZMM;
}

static uint8_t number_of(ZydisRegister r)
{
    const ZydisRegisterClass c = ZydisRegisterGetClass(r);
    if (is_gp(r)) {
        const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
        return (uint8_t)(CARM_REG_GP + ZydisRegisterGetId(whole));
    }
    if (is_vector(r)) {
        return (uint8_t)(CARM_REG_VECTOR + ZydisRegisterGetId(r));
    }
    if (c == ZYDIS_REGCLASS_MASK) {
        return (uint8_t)(CARM_REG_MASK + ZydisRegisterGetId(r));
    }
    if (c == ZYDIS_REGCLASS_X87) {
        return (uint8_t)(CARM_REG_X87 + ZydisRegisterGetId(r));
    }
    return c == ZYDIS_REGCLASS_FLAGS ? CARM_REG_FLAGS : CARM_REG_NONE;
}

static void class_of_general(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
                             struct carm_flow_op *op)
{
    const bool immediate =
        in->operand_count_visible < 2 || operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    op->precision = in->operand_width == 64 ? CARM_OPCODE_INT64 : CARM_OPCODE_INT32;
    op->class = CARM_OPCODE_INT_ADD;
    switch (in->mnemonic) {
    case ZYDIS_MNEMONIC_MOV: /* a constant to a register takes an integer unit */
        op->class = immediate && operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER
                        ? CARM_OPCODE_INT_ADD
                        : CARM_OPCODE_NONE;
        break;
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_LEAVE:
    case ZYDIS_MNEMONIC_PREFETCHNTA:
    case ZYDIS_MNEMONIC_PREFETCHT0:
    case ZYDIS_MNEMONIC_PREFETCHT1:
    case ZYDIS_MNEMONIC_PREFETCHT2:
    case ZYDIS_MNEMONIC_PREFETCHW:
    case ZYDIS_MNEMONIC_MOVNTI:
        op->class = CARM_OPCODE_NONE;
        break;
    case ZYDIS_MNEMONIC_MOVZX: /* from memory: done by the load */
        op->class =
            operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY ? CARM_OPCODE_NONE : CARM_OPCODE_INT_ADD;
        break;
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
        op->class = operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY ? CARM_OPCODE_LOAD_SIGNED
                                                                  : CARM_OPCODE_INT_ADD;
        break;
    case ZYDIS_MNEMONIC_NOP:
    case ZYDIS_MNEMONIC_ENDBR64:
        op->class = CARM_OPCODE_NONE;
        op->flags |= CARM_OPCODE_NOP;
        break;
    case ZYDIS_MNEMONIC_PAUSE:
        op->class = CARM_OPCODE_NONE;
        op->flags |= CARM_OPCODE_PAUSE;
        break;
    case ZYDIS_MNEMONIC_AND:
    case ZYDIS_MNEMONIC_OR:
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_NOT:
    case ZYDIS_MNEMONIC_ANDN:
    case ZYDIS_MNEMONIC_TEST:
        op->class = CARM_OPCODE_INT_LOGIC;
        break;
    case ZYDIS_MNEMONIC_SHL:
    case ZYDIS_MNEMONIC_SHR:
    case ZYDIS_MNEMONIC_SAR:
    case ZYDIS_MNEMONIC_ROL:
    case ZYDIS_MNEMONIC_ROR:
        op->class = immediate ? CARM_OPCODE_INT_SHIFT : CARM_OPCODE_INT_SHIFT_BY;
        break;
    case ZYDIS_MNEMONIC_BT: /* executed by the units of shifts, on AMD and on Intel (uops.info) */
    case ZYDIS_MNEMONIC_BTS:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_BTC:
    case ZYDIS_MNEMONIC_BEXTR:
    case ZYDIS_MNEMONIC_SHLX:
    case ZYDIS_MNEMONIC_SHRX:
    case ZYDIS_MNEMONIC_SARX:
    case ZYDIS_MNEMONIC_RORX:
        op->class = CARM_OPCODE_INT_SHIFT;
        break;
    case ZYDIS_MNEMONIC_LEA:
        op->class = operands[1].mem.index == ZYDIS_REGISTER_NONE ? CARM_OPCODE_LEA
                    : operands[1].mem.disp.has_displacement      ? CARM_OPCODE_LEA_COMPLEX
                                                                 : CARM_OPCODE_LEA_INDEXED;
        break;
    case ZYDIS_MNEMONIC_IMUL:
    case ZYDIS_MNEMONIC_MUL:
    case ZYDIS_MNEMONIC_MULX:
    /* executed by the multiplier, with its latency and throughput, on Zen 3 and later and on Intel (uops.info) */
    case ZYDIS_MNEMONIC_CRC32:
    case ZYDIS_MNEMONIC_PDEP:
    case ZYDIS_MNEMONIC_PEXT:
        op->class = CARM_OPCODE_INT_MUL;
        break;
    case ZYDIS_MNEMONIC_STMXCSR:
    case ZYDIS_MNEMONIC_VSTMXCSR:
        op->class = CARM_OPCODE_READ_MODE;
        break;
    case ZYDIS_MNEMONIC_DIV:
    case ZYDIS_MNEMONIC_IDIV:
        op->class = CARM_OPCODE_INT_DIV;
        break;
    case ZYDIS_MNEMONIC_POPCNT:
        op->class = CARM_OPCODE_POPCNT;
        break;
    case ZYDIS_MNEMONIC_TZCNT:
    case ZYDIS_MNEMONIC_LZCNT:
    case ZYDIS_MNEMONIC_BSF:
    case ZYDIS_MNEMONIC_BSR:
        op->class = CARM_OPCODE_TZCNT;
        break;
    case ZYDIS_MNEMONIC_ADC:
    case ZYDIS_MNEMONIC_SBB:
        op->class = CARM_OPCODE_ADC;
        break;
    default:
        if (in->meta.category == ZYDIS_CATEGORY_CMOV || in->meta.category == ZYDIS_CATEGORY_SETCC) {
            op->class = CARM_OPCODE_CMOV;
        } else if (in->meta.category == ZYDIS_CATEGORY_X87_ALU) {
            op->class = CARM_OPCODE_OTHER;
        }
    }
}

static void flow_of(const ZydisDecodedInstruction *in, struct carm_flow_op *op)
{
    switch (in->meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
        op->flags |= CARM_OPCODE_BRANCH;
        op->class = CARM_OPCODE_NONE;
        break;
    case ZYDIS_CATEGORY_UNCOND_BR:
        op->flags |= CARM_OPCODE_JUMP;
        op->class = CARM_OPCODE_NONE;
        break;
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_RET:
        op->flags |= CARM_OPCODE_CALL | CARM_OPCODE_STACK;
        op->class = CARM_OPCODE_NONE;
        break;
    case ZYDIS_CATEGORY_PUSH:
    case ZYDIS_CATEGORY_POP:
        op->flags |= CARM_OPCODE_STACK;
        break;
    default:
        break;
    }
    switch (in->mnemonic) { /* instructions that AMD and Intel fuse with a conditional jump */
    case ZYDIS_MNEMONIC_CMP:
    case ZYDIS_MNEMONIC_TEST:
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_INC:
    case ZYDIS_MNEMONIC_DEC:
    case ZYDIS_MNEMONIC_AND:
        op->flags |= CARM_OPCODE_COMPARES;
        break;
    default:
        break;
    }
    const bool exchanges = in->mnemonic == ZYDIS_MNEMONIC_XCHG &&
                           in->attributes & ZYDIS_ATTRIB_HAS_MODRM && in->raw.modrm.mod != 3;
    if (in->attributes & ZYDIS_ATTRIB_HAS_LOCK ||
        exchanges) { /* xchg with memory locks without a prefix */
        op->flags |= CARM_OPCODE_LOCKED;
    }
    if (in->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) {
        op->flags |= CARM_OPCODE_REPEATED;
    }
}

/* ---- registers and memory ---- */

static void add(uint8_t *list, uint8_t *n, size_t room, uint8_t reg)
{
    for (uint8_t i = 0; i < *n; i++) {
        if (list[i] == reg) {
            return;
        }
    }
    if (reg != CARM_REG_NONE && *n < room) {
        list[(*n)++] = reg;
    }
}

static void take_register(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *o,
                          unsigned i, struct carm_flow_op *op)
{
    const uint8_t reg = number_of(o->reg.value);
    const bool writes = (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    bool reads = (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
    if (reg == CARM_REG_GP + 4 && (op->flags & CARM_OPCODE_STACK)) {
        return; /* rsp comes from the stack engine, without waiting */
    }
    /* the register is also read: a part keeps its value, or all of it when the condition is false */
    if (writes && reg != CARM_REG_FLAGS &&
        ((is_gp(o->reg.value) && o->size < 32) ||
         (o->actions & ZYDIS_OPERAND_ACTION_CONDWRITE) != 0)) {
        reads = true;
    }
    /* conversions and roots of scalars leave the upper part of an SSE register */
    if (writes && i == 0 && is_vector(o->reg.value) &&
        in->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
        (op->class == CARM_OPCODE_INT_TO_FP || op->class == CARM_OPCODE_CONVERT_PRECISION ||
         (op->class == CARM_OPCODE_FP_SQRT && op->width <= CARM_OPCODE_16 &&
          (in->mnemonic == ZYDIS_MNEMONIC_SQRTSD || in->mnemonic == ZYDIS_MNEMONIC_SQRTSS)))) {
        reads = true;
    }
    if (reads) {
        add(op->reads, &op->nreads, sizeof op->reads, reg);
    }
    if (writes) {
        add(op->writes, &op->nwrites, sizeof op->writes, reg);
    }
}

static uint8_t address_register(ZydisRegister r)
{
    return is_gp(r) ? number_of(r) : CARM_REG_NONE;
}

static void take_memory(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *o,
                        struct carm_flow_op *op)
{
    const bool address = o->mem.type == ZYDIS_MEMOP_TYPE_AGEN;
    if (o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && o->mem.base == ZYDIS_REGISTER_RSP &&
        (op->loads || op->stores)) {
        return; /* push of memory: the store to the stack is hidden, the load is the memory operand */
    }
    op->base = address_register(o->mem.base);
    op->index = address_register(o->mem.index);
    op->scale = o->mem.scale;
    op->displacement = o->mem.disp.has_displacement ? o->mem.disp.value : 0;
    op->absolute = o->mem.base == ZYDIS_REGISTER_RIP;
    op->displacement += op->absolute ? (int64_t)(op->at + in->length) : 0;
    op->segment = o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS;
    if (is_vector(o->mem.index)) {
        op->flags |= CARM_OPCODE_GATHER;
        add(op->reads, &op->nreads, sizeof op->reads, number_of(o->mem.index));
    }
    if (!address) {
        op->loads |= (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
        op->stores |= (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    }
}

/* ---- where an instruction's result comes from ---- */

static bool whole(const ZydisDecodedOperand *o)
{
    return o->size >= 32;
}

static void value_of(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *o,
                     struct carm_flow_op *op)
{
    const bool two = in->operand_count_visible >= 2;
    const bool to_register = in->operand_count_visible >= 1 &&
                             o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && is_gp(o[0].reg.value) &&
                             whole(&o[0]);
    const bool to_memory =
        in->operand_count_visible >= 1 && o[0].type == ZYDIS_OPERAND_TYPE_MEMORY && whole(&o[0]);
    const bool by_register =
        two && o[1].type == ZYDIS_OPERAND_TYPE_REGISTER && is_gp(o[1].reg.value) && whole(&o[1]);
    const bool by_memory = two && o[1].type == ZYDIS_OPERAND_TYPE_MEMORY && whole(&o[1]);
    const bool by_number = two && o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    op->value = CARM_VALUE_KEPT;
    for (uint8_t i = 0; i < op->nwrites; i++) {
        op->value = op->writes[i] < CARM_REG_VECTOR ? CARM_VALUE_OTHER : op->value;
    }
    op->value = op->stores ? CARM_VALUE_OTHER : op->value;
    op->to = to_register ? number_of(o[0].reg.value) : CARM_REG_NONE;
    op->from = by_register ? number_of(o[1].reg.value) : CARM_REG_NONE;
    op->number = by_number ? o[1].imm.value.s : 0;
    op->sign = 1;
    switch (in->mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVSXD:
        op->value = to_register && by_number     ? CARM_VALUE_SET
                    : to_register && by_register ? CARM_VALUE_MOVE
                    : to_register && by_memory   ? CARM_VALUE_LOAD
                    : to_memory                  ? CARM_VALUE_STORE
                                                 : op->value;
        break;
    case ZYDIS_MNEMONIC_CDQE:
        op->to = op->from = CARM_REG_GP;
        op->value = CARM_VALUE_MOVE;
        break;
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_ADD:
        if (in->mnemonic != ZYDIS_MNEMONIC_ADD && to_register && by_register &&
            op->to == op->from) {
            op->value = CARM_VALUE_SET;
            op->number = 0;
            break;
        }
        if (in->mnemonic == ZYDIS_MNEMONIC_XOR) {
            break;
        }
        op->sign = in->mnemonic == ZYDIS_MNEMONIC_SUB ? -1 : 1;
        op->number *= op->sign;
        op->value = to_register && (by_register || by_number) ? CARM_VALUE_ADD
                    : to_register && by_memory                ? CARM_VALUE_ADD_LOAD
                    : to_memory                               ? CARM_VALUE_ADD_STORE
                                                              : op->value;
        break;
    case ZYDIS_MNEMONIC_INC:
    case ZYDIS_MNEMONIC_DEC:
        op->number = in->mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1;
        op->value = to_register ? CARM_VALUE_ADD : to_memory ? CARM_VALUE_ADD_STORE : op->value;
        break;
    case ZYDIS_MNEMONIC_LEA:
        op->value = to_register ? CARM_VALUE_LEA : op->value;
        break;
    case ZYDIS_MNEMONIC_CMP:
    case ZYDIS_MNEMONIC_TEST: /* a register with itself is compared with 0 */
        if ((to_register || to_memory) && (by_register || by_memory || by_number)) {
            op->value = CARM_VALUE_COMPARE;
            op->from = in->mnemonic == ZYDIS_MNEMONIC_TEST ? CARM_REG_NONE : op->from;
        } else {
            op->value = CARM_VALUE_OTHER;
        }
        break;
    case ZYDIS_MNEMONIC_SHL:
        op->value = to_register && by_number ? CARM_VALUE_SHIFT : op->value;
        break;
    default:
        break;
    }
}

/* Whether an instruction's result is zero or ones for any operands, so that it waits for nothing. */
static bool is_idiom(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *o)
{
    unsigned first = in->operand_count_visible >= 3 ? 1 : 0;
    if (in->operand_count_visible < 2 || o[first].type != ZYDIS_OPERAND_TYPE_REGISTER ||
        o[first + 1].type != ZYDIS_OPERAND_TYPE_REGISTER ||
        o[first].reg.value != o[first + 1].reg.value) {
        return false;
    }
    switch (in->mnemonic) {
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_PXOR:
    case ZYDIS_MNEMONIC_VPXOR:
    case ZYDIS_MNEMONIC_VPXORD:
    case ZYDIS_MNEMONIC_VPXORQ:
    case ZYDIS_MNEMONIC_XORPS:
    case ZYDIS_MNEMONIC_XORPD:
    case ZYDIS_MNEMONIC_VXORPS:
    case ZYDIS_MNEMONIC_VXORPD:
        return true;
    default:
        return false;
    }
}

/* The least number of operations as which an instruction is issued.
 * source: loops of nine register moves and the instruction on Zen 4, at 6 in a cycle; uops.info for Intel */
static uint8_t slots_of(const ZydisDecodedInstruction *in, const struct carm_flow_op *op)
{
    const char *m = ZydisMnemonicGetString(in->mnemonic);
    m += m[0] == 'v' ? 1 : 0;
    if (begins(m, "hadd") || begins(m, "hsub") || begins(m, "phadd") || begins(m, "phsub")) {
        return 3;
    }
    switch (in->mnemonic) {
    case ZYDIS_MNEMONIC_MUL:
    case ZYDIS_MNEMONIC_MULX:
    case ZYDIS_MNEMONIC_XCHG:
    case ZYDIS_MNEMONIC_PTEST:
    case ZYDIS_MNEMONIC_VPTEST:
        return 2;
    case ZYDIS_MNEMONIC_IMUL: /* with one operand, the product is in two registers */
        return in->operand_count_visible == 1 ? 2 : 1;
    default:
        break;
    }
    return (op->loads && op->stores && !(op->flags & CARM_OPCODE_REPEATED)) ||
                   op->class == CARM_OPCODE_FP_TO_INT ||
                   (op->class == CARM_OPCODE_INT_TO_FP && !op->loads) ||
                   op->class == CARM_OPCODE_INSERT || (begins(m, "pextr") && !op->stores)
               ? 2
               : 1;
}

/* An instruction of the x87 stack. A load pushes a number, a mnemonic that ends in p pops one. */
static void x87_of(const ZydisDecodedInstruction *in, enum carm_compute_kind kind,
                   struct carm_flow_op *op)
{
    const char *m = ZydisMnemonicGetString(in->mnemonic);
    const size_t n = strlen(m);
    const bool moves = begins(m, "fld") || begins(m, "fst") || in->mnemonic == ZYDIS_MNEMONIC_FXCH;
    op->class = kind == CARM_FP_ADD      ? CARM_OPCODE_X87_ADD
                : kind == CARM_FP_MUL    ? CARM_OPCODE_X87_MUL
                : kind == CARM_FP_DIVIDE ? CARM_OPCODE_X87_DIV
                : kind == CARM_FP_ROOT   ? CARM_OPCODE_X87_SQRT
                : op->store_bytes == 10  ? CARM_OPCODE_X87_STORE
                : moves                  ? CARM_OPCODE_NONE
                                         : CARM_OPCODE_OTHER;
    op->flags |= in->mnemonic == ZYDIS_MNEMONIC_FXCH ? CARM_OPCODE_EXCHANGE : 0;
    if (begins(m, "fild") || (begins(m, "fld") && in->mnemonic != ZYDIS_MNEMONIC_FLDCW &&
                              in->mnemonic != ZYDIS_MNEMONIC_FLDENV)) {
        op->pushes = 1;
    } else if (m[n - 1] == 'p') {
        op->pushes = m[n - 2] == 'p' ? -2 : -1;
    }
}

void carm_opcode_of(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
                    uint64_t at, struct carm_flow_op *op)
{
    struct carm_account account;
    bool vector = false;
    memset(op, 0, sizeof *op);
    op->at = at;
    op->length = in->length;
    op->base = op->index = op->to = op->from = CARM_REG_NONE;
    for (unsigned i = 0; i < in->operand_count; i++) {
        const bool reg = operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER;
        const bool mask =
            reg && ZydisRegisterGetClass(operands[i].reg.value) == ZYDIS_REGCLASS_MASK;
        if (reg && (is_vector(operands[i].reg.value) || mask)) {
            vector = true;
        }
        if (reg && is_vector(operands[i].reg.value)) {
            const unsigned bytes = operands[i].size / 8;
            const enum carm_opcode_width w = bytes >= 64   ? CARM_OPCODE_64
                                             : bytes >= 32 ? CARM_OPCODE_32
                                                           : CARM_OPCODE_16;
            op->width = w > op->width ? (uint8_t)w : op->width;
        }
    }
    flow_of(in, op);
    if (vector) {
        class_of_vector(in, op);
        const bool plain =
            in->operand_count_visible >= 2 && !(operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY ||
                                                operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY);
        if (plain &&
            (in->mnemonic == ZYDIS_MNEMONIC_MOVD || in->mnemonic == ZYDIS_MNEMONIC_MOVQ ||
             in->mnemonic == ZYDIS_MNEMONIC_VMOVD || in->mnemonic == ZYDIS_MNEMONIC_VMOVQ) &&
            (is_gp(operands[0].reg.value) || is_gp(operands[1].reg.value))) {
            op->class =
                is_gp(operands[0].reg.value) ? CARM_OPCODE_FROM_VECTOR : CARM_OPCODE_TO_VECTOR;
        }
        for (unsigned i = 1; i < in->operand_count_visible && op->class == CARM_OPCODE_FP_SHUFFLE;
             i++) { /* pinsrw xmm0, eax, 1 */
            op->class =
                operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER && is_gp(operands[i].reg.value)
                    ? CARM_OPCODE_INSERT
                    : op->class;
        }
    } else if (!(op->flags & (CARM_OPCODE_BRANCH | CARM_OPCODE_JUMP | CARM_OPCODE_CALL))) {
        class_of_general(in, operands, op);
    }
    for (unsigned i = 0; i < in->operand_count; i++) {
        if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY) {
            take_memory(in, &operands[i], op);
        } else if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER) {
            take_register(in, &operands[i], i, op);
        }
    }
    carm_account_of(in, operands, &account);
    op->loads &= account.loads || account.masked.how || (op->flags & CARM_OPCODE_GATHER);
    op->stores &= account.stores || account.masked.how || (op->flags & CARM_OPCODE_GATHER);
    op->load_bytes = (uint16_t)account.load_bytes;
    op->store_bytes = (uint16_t)account.store_bytes;
    if (in->meta.category == ZYDIS_CATEGORY_X87_ALU) {
        x87_of(in, (enum carm_compute_kind)account.compute.kind, op);
    }
    value_of(in, operands, op);
    op->slots = slots_of(in, op);
    if (is_idiom(in, operands)) {
        op->nreads = 0;
        op->class = CARM_OPCODE_NONE;
        op->flags |= vector ? CARM_OPCODE_ZERO : 0;
    }
}

int carm_flow_ops_decode(const uint8_t *code, size_t n, uint64_t at, double executions,
                         struct carm_flow_op **ops, size_t *nops, size_t *room,
                         struct carm_err *err)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (size_t done = 0; done < n; done += in.length) {
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code + done, n - done, &in, operands))) {
            break;
        }
        const int rc = carm_array_grow(ops, room, *nops, 1, sizeof **ops, "a loop's code", err);
        if (rc) {
            return rc;
        }
        struct carm_flow_op *op = &(*ops)[*nops];
        carm_opcode_of(&in, operands, at + done, op);
        op->executions = executions;
        if ((op->flags & CARM_OPCODE_BRANCH) && done && (op[-1].flags & CARM_OPCODE_COMPARES) &&
            op[-1].at + op[-1].length == op->at && !op[-1].stores) {
            op->flags |= CARM_OPCODE_FUSED;
        }
        (*nops)++;
    }
    return 0;
}
