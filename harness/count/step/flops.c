/* SPDX-License-Identifier: MIT */
/* Flops of an instruction, from its mnemonic: [v]<operation><order><pd|ps|sd|ss|ph|sh>.
 *
 * No flops: moves, comparisons, minimum and maximum, rounding, range reduction, exponent and mantissa
 * extraction, scaling by powers of two, conversions, logic, shuffles, integers. (Intel's FP_ARITH
 * events count min and max, too: Intel 64 and IA-32 SDM, volume 3, table of events.) */
#include <string.h>

#include "harness/count/step/decode.h"

static const struct {
    const char *name;
    uint8_t per_lane;
    uint8_t kind; /* an FMA may have an order of operands behind its name */
} operations
    [] =
        {
            {"add", 1, CARM_FP_ADD},       {"sub", 1, CARM_FP_ADD},
            {"mul", 1, CARM_FP_MUL},       {"div", 1, CARM_FP_OTHER},
            {"sqrt", 1, CARM_FP_OTHER},    {"hadd", 1, CARM_FP_ADD},
            {"hsub", 1, CARM_FP_ADD},      {"addsub", 1, CARM_FP_ADD},
            {"fmadd", 2, CARM_FP_FMA},     {"fmsub", 2, CARM_FP_FMA},
            {"fnmadd", 2, CARM_FP_FMA},    {"fnmsub", 2, CARM_FP_FMA},
            {"fmaddsub", 2, CARM_FP_FMA},  {"fmsubadd", 2, CARM_FP_FMA},
            {"4fmadd", 8, CARM_FP_FMA},    {"4fnmadd", 8, CARM_FP_FMA},
            {"rcp", 1, CARM_FP_OTHER}, /* approximations count as what they stand for: one */
            {"rsqrt", 1, CARM_FP_OTHER},   {"rcp14", 1, CARM_FP_OTHER},
            {"rsqrt14", 1, CARM_FP_OTHER}, {"rcp28", 1, CARM_FP_OTHER},
            {"rsqrt28", 1, CARM_FP_OTHER}, {"exp2", 1, CARM_FP_OTHER},
};

/* Half-precision complex numbers: a lane is a pair. Four products and two sums; two more to add. */
static const struct {
    const char *name;
    uint8_t per_lane;
} complexes[] = {{"fmulc", 6}, {"fcmulc", 6}, {"fmaddc", 8}, {"fcmaddc", 8}};

static const struct {
    char text[3];
    uint8_t precision, element_bits;
    bool packed;
} suffixes[] = {{"pd", 0, 64, true},  {"ps", 1, 32, true},  {"ph", 2, 16, true},
                {"sd", 0, 64, false}, {"ss", 1, 32, false}, {"sh", 2, 16, false}};

/* x87, whatever the operands: popping, reversed and integer forms, and the transcendentals, which
 * count as one */
static enum carm_fp_kind x87_kind(const char *m)
{
    static const struct {
        const char *name;
        enum carm_fp_kind kind;
    } roots[] = {
        {"add", CARM_FP_ADD}, {"sub", CARM_FP_ADD}, {"mul", CARM_FP_MUL}, {"div", CARM_FP_OTHER}};
    static const char *const whole[] = {"fsqrt",  "fsin",  "fcos",  "fsincos", "fptan",
                                        "fpatan", "f2xm1", "fyl2x", "fyl2xp1"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        if (strcmp(m, whole[i]) == 0) {
            return CARM_FP_OTHER;
        }
    }
    m += m[0] == 'f';
    m += m[0] == 'i';
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        if (strncmp(m, roots[i].name, 3) == 0) {
            const char *rest = m + 3;
            rest += rest[0] == 'r';
            rest += rest[0] == 'p';
            return rest[0] == '\0' ? roots[i].kind : CARM_FP_NONE;
        }
    }
    return CARM_FP_NONE;
}

static unsigned vector_bits(const ZydisDecodedInstruction *in)
{
    return in->avx.vector_length ? in->avx.vector_length : 128;
}

static void fill(struct carm_insn *e, const ZydisDecodedInstruction *in, size_t suffix,
                 unsigned element_bits, uint8_t per_lane, unsigned kind)
{
    const unsigned bits = vector_bits(in);
    const bool packed = suffixes[suffix].packed;
    e->fp.precision = suffixes[suffix].precision;
    e->fp.per_lane = per_lane;
    e->fp.kind = (uint8_t)kind;
    e->fp.lanes = (uint8_t)(packed ? bits / element_bits : 1U);
    e->fp.width = (uint8_t)(!packed ? 0U : bits == 128 ? 1U : bits == 256 ? 2U : 3U);
    if (in->avx.mask.mode > ZYDIS_MASK_MODE_DISABLED) {
        e->fp.mask = (uint8_t)(in->avx.mask.reg - ZYDIS_REGISTER_K0);
    }
}

/* Of each 128 bits: as many products as the immediate's high half names, and their sum. */
static void dot_product(struct carm_insn *e, const ZydisDecodedInstruction *in,
                        const ZydisDecodedOperand *operands, size_t suffix)
{
    unsigned products = 0;
    for (unsigned i = 0; i < in->operand_count; i++) {
        if (operands[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
            const unsigned elements = 128U / suffixes[suffix].element_bits;
            const uint64_t named = operands[i].imm.value.u >> 4 & ((1U << elements) - 1);
            products = (unsigned)__builtin_popcountll(named);
        }
    }
    fill(e, in, suffix, suffixes[suffix].element_bits, 1, CARM_FP_OTHER);
    e->fp.lanes = (uint8_t)(products ? (2 * products - 1) * (vector_bits(in) / 128) : 0);
}

static void vector_flops(struct carm_insn *e, const ZydisDecodedInstruction *in,
                         const ZydisDecodedOperand *operands, const char *m)
{
    size_t n = strlen(m);
    size_t s = 0;
    if (n < 4) {
        return;
    }
    n -= 2;
    while (s < sizeof suffixes / sizeof *suffixes && strcmp(m + n, suffixes[s].text) != 0) {
        s++;
    }
    if (s == sizeof suffixes / sizeof *suffixes) {
        return;
    }
    if (n == 2 && strncmp(m, "dp", 2) == 0) {
        dot_product(e, in, operands, s);
        return;
    }
    if (n == 6 && strncmp(m, "dpbf16", 6) == 0) { /* two products, two sums for each result */
        fill(e, in, s, 32, 4, CARM_FP_OTHER);
        e->fp.precision = 2;
        return;
    }
    for (size_t i = 0; i < sizeof complexes / sizeof *complexes; i++) {
        if (n == strlen(complexes[i].name) && strncmp(m, complexes[i].name, n) == 0) {
            fill(e, in, s, 32, complexes[i].per_lane, CARM_FP_OTHER);
            return;
        }
    }
    const bool ordered =
        n > 3 && (strncmp(m + n - 3, "132", 3) == 0 || strncmp(m + n - 3, "213", 3) == 0 ||
                  strncmp(m + n - 3, "231", 3) == 0);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        const size_t length = operations[i].kind == CARM_FP_FMA && ordered ? n - 3 : n;
        if (length == strlen(operations[i].name) && strncmp(m, operations[i].name, length) == 0) {
            fill(e, in, s, suffixes[s].element_bits, operations[i].per_lane, operations[i].kind);
            return;
        }
    }
}

bool carm_insn_flops(struct carm_insn *e, const ZydisDecodedInstruction *in,
                     const ZydisDecodedOperand *operands)
{
    const char *m = ZydisMnemonicGetString(in->mnemonic);
    if (!m) {
        return false;
    }
    switch (in->meta.category) {
    case ZYDIS_CATEGORY_STRINGOP:
        return true;
    case ZYDIS_CATEGORY_X87_ALU:
        e->fp.kind = (uint8_t)x87_kind(m);
        if (e->fp.kind != CARM_FP_NONE) {
            e->fp.lanes = 1;
            e->fp.per_lane = 1;
            e->fp.precision = 2;
        }
        return true;
    case ZYDIS_CATEGORY_AMD3DNOW:
        return m[0] != 'p' || m[1] != 'f';
    case ZYDIS_CATEGORY_AMX_TILE: /* rows and columns are in a register that nobody shows */
        return in->mnemonic == ZYDIS_MNEMONIC_LDTILECFG ||
               in->mnemonic == ZYDIS_MNEMONIC_STTILECFG ||
               in->mnemonic == ZYDIS_MNEMONIC_TILERELEASE;
    default:
        break;
    }
    vector_flops(e, in, operands, m + (m[0] == 'v'));
    return true;
}
