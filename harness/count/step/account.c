/* SPDX-License-Identifier: MIT */
#include "harness/count/step/account.h"

#include <string.h>

/* ---- flops ---- */

/* Flops of an instruction, from its mnemonic: [v]<operation><order><pd|ps|sd|ss|ph|sh>.
 *
 * No flops: moves, comparisons, minimum and maximum, rounding, range reduction, exponent and mantissa
 * extraction, scaling by powers of two, conversions, logic, shuffles, integers. (Intel's FP_ARITH
 * events count min and max, too: Intel 64 and IA-32 SDM, volume 3, table of events.) */

static const struct {
    const char *name;
    uint8_t per_lane;
    uint8_t kind; /* an FMA may have an order of operands behind its name */
} operations
    [] =
        {
            {"add", 1, CARM_FP_ADD},       {"sub", 1, CARM_FP_ADD},
            {"mul", 1, CARM_FP_MUL},       {"div", 1, CARM_FP_DIVIDE},
            {"sqrt", 1, CARM_FP_ROOT},     {"hadd", 1, CARM_FP_ADD},
            {"hsub", 1, CARM_FP_ADD},      {"addsub", 1, CARM_FP_ADD},
            {"fmadd", 2, CARM_FP_FMA},     {"fmsub", 2, CARM_FP_FMA},
            {"fnmadd", 2, CARM_FP_FMA},    {"fnmsub", 2, CARM_FP_FMA},
            {"fmaddsub", 2, CARM_FP_FMA},  {"fmsubadd", 2, CARM_FP_FMA},
            {"4fmadd", 8, CARM_FP_FMA},    {"4fnmadd", 8, CARM_FP_FMA},
            {"rcp", 1, CARM_FP_OTHER}, /* an approximation counts as one flop */
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
static enum carm_compute_kind x87_kind(const char *m)
{
    static const struct {
        const char *name;
        enum carm_compute_kind kind;
    } roots[] = {
        {"add", CARM_FP_ADD}, {"sub", CARM_FP_ADD}, {"mul", CARM_FP_MUL}, {"div", CARM_FP_DIVIDE}};
    static const char *const whole[] = {"fsqrt",  "fsin",  "fcos",  "fsincos", "fptan",
                                        "fpatan", "f2xm1", "fyl2x", "fyl2xp1"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        if (strcmp(m, whole[i]) == 0) {
            return i == 0 ? CARM_FP_ROOT : CARM_FP_OTHER;
        }
    }
    m += m[0] == 'f';
    m += m[0] == 'i';
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        if (strncmp(m, roots[i].name, 3) == 0) {
            const char *rest = m + 3;
            rest += rest[0] == 'r';
            rest += rest[0] == 'p';
            return rest[0] == '\0' ? roots[i].kind : CARM_COMPUTES_NOT;
        }
    }
    return CARM_COMPUTES_NOT;
}

static unsigned vector_bits(const ZydisDecodedInstruction *in)
{
    return in->avx.vector_length ? in->avx.vector_length : 128;
}

static void put_mask(struct carm_account *e, const ZydisDecodedInstruction *in)
{
    if (in->avx.mask.mode > ZYDIS_MASK_MODE_DISABLED) {
        e->compute.mask = (uint8_t)(in->avx.mask.reg - ZYDIS_REGISTER_K0);
    }
}

static void fill(struct carm_account *e, const ZydisDecodedInstruction *in, size_t suffix,
                 unsigned element_bits, uint8_t per_lane, unsigned kind)
{
    const unsigned bits = vector_bits(in);
    const bool packed = suffixes[suffix].packed;
    e->compute.precision = suffixes[suffix].precision;
    e->compute.per_lane = per_lane;
    e->compute.kind = (uint8_t)kind;
    e->compute.lanes = (uint8_t)(packed ? bits / element_bits : 1U);
    e->compute.width = (uint8_t)(!packed ? 0U : bits == 128 ? 1U : bits == 256 ? 2U : 3U);
    put_mask(e, in);
}

/* dpps, dppd: in each 128 bits, one product for each bit set in the immediate's high half, and their sum. */
static void dot_product(struct carm_account *e, const ZydisDecodedInstruction *in,
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
    e->compute.lanes = (uint8_t)(products ? (2 * products - 1) * (vector_bits(in) / 128) : 0);
}

static void vector_flops(struct carm_account *e, const ZydisDecodedInstruction *in,
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
        e->compute.precision = 2;
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

/* ---- integers ---- */

/* Operations on vectors of integers, as in the roofs (asm/isa.h). An addition, subtraction, average,
 * multiplication, logical operation or population count is one operation for each lane; instructions that
 * multiply and sum count each product and each sum. The width is the width of the multiplied or added
 * elements; 64 bits for pand and the like, whose names have no width.
 *
 * None: comparisons, minimum, maximum, absolute values, shifts, shuffles, conversions, moves, carry-less
 * products, ciphers; logic in the names of floating point (xorps); results that depend on no register
 * (pxor x, x); scalar instructions. */
static const struct {
    const char *name; /* without the letter of the width: b, w, d, q */
    uint8_t kind;
} lanewise[] = {
    {"padd", CARM_INT_ADD},   {"padds", CARM_INT_ADD},      {"paddus", CARM_INT_ADD},
    {"psub", CARM_INT_ADD},   {"psubs", CARM_INT_ADD},      {"psubus", CARM_INT_ADD},
    {"phadd", CARM_INT_ADD},  {"phadds", CARM_INT_ADD},     {"phsub", CARM_INT_ADD},
    {"phsubs", CARM_INT_ADD}, {"pavg", CARM_INT_ADD},       {"pmull", CARM_INT_MUL},
    {"pmulh", CARM_INT_MUL},  {"pmulhu", CARM_INT_MUL},     {"pmulhrs", CARM_INT_MUL},
    {"pand", CARM_INT_LOGIC}, {"pandn", CARM_INT_LOGIC},    {"por", CARM_INT_LOGIC},
    {"pxor", CARM_INT_LOGIC}, {"pternlog", CARM_INT_LOGIC}, {"popcnt", CARM_INT_OTHER},
};

static const struct {
    const char *name;
    uint8_t kind, element_bits, lane_bits, per_lane;
} integers[] = {
    {"pand", CARM_INT_LOGIC, 64, 64, 1},     {"pandn", CARM_INT_LOGIC, 64, 64, 1},
    {"por", CARM_INT_LOGIC, 64, 64, 1},      {"pxor", CARM_INT_LOGIC, 64, 64, 1},
    {"pmuldq", CARM_INT_MUL, 64, 64, 1},     {"pmuludq", CARM_INT_MUL, 64, 64, 1},
    {"pmadd52luq", CARM_INT_DOT, 64, 64, 2}, {"pmadd52huq", CARM_INT_DOT, 64, 64, 2},
    {"pmaddwd", CARM_INT_DOT, 16, 32, 3},    {"pmaddubsw", CARM_INT_DOT, 8, 16, 3},
    {"psadbw", CARM_INT_DOT, 8, 64, 15},     {"mpsadbw", CARM_INT_DOT, 8, 16, 7},
    {"dbpsadbw", CARM_INT_DOT, 8, 16, 7},    {"p4dpwssd", CARM_INT_DOT, 16, 32, 16},
    {"p4dpwssds", CARM_INT_DOT, 16, 32, 16},
};

/* Zeros and ones that depend on no register (pxor x, x): the processor does not compute them. */
static bool is_constant(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
                        const char *m)
{
    unsigned last = in->operand_count_visible;
    if (strncmp(m, "pternlog", 8) == 0) {
        const uint64_t table = operands[last - 1].imm.value.u & 0xff;
        return table == 0 || table == 0xff;
    }
    if (strncmp(m, "pxor", 4) != 0 && strncmp(m, "psub", 4) != 0 && strncmp(m, "pandn", 5) != 0) {
        return false;
    }
    return last >= 2 && operands[last - 1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           operands[last - 2].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           operands[last - 1].reg.value == operands[last - 2].reg.value;
}

static void fill_integers(struct carm_account *e, const ZydisDecodedInstruction *in,
                          const ZydisDecodedOperand *operands, unsigned kind, unsigned element_bits,
                          unsigned lane_bits, uint8_t per_lane)
{
    /* MMX has half of the 128 bits */
    const unsigned bits = in->avx.vector_length ? in->avx.vector_length : operands[0].size;
    e->compute.kind = (uint8_t)kind;
    e->compute.per_lane = per_lane;
    e->compute.precision = (uint8_t)__builtin_ctz(element_bits / 8);
    e->compute.lanes = (uint8_t)(bits / lane_bits);
    e->compute.width = (uint8_t)(bits <= 128 ? 1U : bits == 256 ? 2U : 3U);
    put_mask(e, in);
}

/* 8 to 64 bits; 0 = another letter */
static unsigned width_of_letter(char letter)
{
    return letter == 'b'   ? 8U
           : letter == 'w' ? 16U
           : letter == 'd' ? 32U
           : letter == 'q' ? 64U
                           : 0U;
}

static void vector_integers(struct carm_account *e, const ZydisDecodedInstruction *in,
                            const ZydisDecodedOperand *operands, const char *m)
{
    const size_t n = strlen(m);
    if (n < 3 || is_constant(in, operands, m)) {
        return;
    }
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        if (strcmp(m, integers[i].name) == 0) {
            fill_integers(e, in, operands, integers[i].kind, integers[i].element_bits,
                          integers[i].lane_bits, integers[i].per_lane);
            return;
        }
    }
    const unsigned bits = width_of_letter(m[n - 1]);
    for (size_t i = 0; bits && i < sizeof lanewise / sizeof *lanewise; i++) {
        if (n - 1 == strlen(lanewise[i].name) && strncmp(m, lanewise[i].name, n - 1) == 0) {
            fill_integers(e, in, operands, lanewise[i].kind, bits, bits, 1);
            return;
        }
    }
    /* dot products of any signs, with or without saturation: vpdpbusd, vpdpwuuds, ... */
    if (strncmp(m, "pdpb", 4) == 0) {
        fill_integers(e, in, operands, CARM_INT_DOT, 8, 32, 8);
    } else if (strncmp(m, "pdpw", 4) == 0) {
        fill_integers(e, in, operands, CARM_INT_DOT, 16, 32, 4);
    }
}

/* ---- tiles, integers and floating point of one instruction ---- */

/* source: Intel 64 and IA-32 SDM, volume 2, TDP*: each 4 bytes of two rows give a sum of products
 * returns false for an instruction that is not understood */
static bool tile(struct carm_account *e, const ZydisDecodedInstruction *in,
                 const ZydisDecodedOperand *operands)
{
    if (in->mnemonic == ZYDIS_MNEMONIC_LDTILECFG || in->mnemonic == ZYDIS_MNEMONIC_STTILECFG ||
        in->mnemonic == ZYDIS_MNEMONIC_TILERELEASE || in->mnemonic == ZYDIS_MNEMONIC_TILEZERO) {
        return true;
    }
    e->tiled.tile = (uint8_t)ZydisRegisterGetId(operands[0].reg.value);
    switch (in->mnemonic) {
    case ZYDIS_MNEMONIC_TILELOADD:
    case ZYDIS_MNEMONIC_TILELOADDT1:
        e->tiled.how = CARM_TILED_LOAD;
        return true;
    case ZYDIS_MNEMONIC_TILESTORED:
        e->tiled.how = CARM_TILED_STORE;
        e->tiled.tile = (uint8_t)ZydisRegisterGetId(operands[1].reg.value);
        return true;
    case ZYDIS_MNEMONIC_TDPBF16PS:
        e->compute.kind = CARM_FP_OTHER;
        e->compute.precision = 2;
        e->compute.per_lane = 4;
        break;
    case ZYDIS_MNEMONIC_TDPBSSD:
    case ZYDIS_MNEMONIC_TDPBSUD:
    case ZYDIS_MNEMONIC_TDPBUSD:
    case ZYDIS_MNEMONIC_TDPBUUD:
        e->compute.kind = CARM_INT_DOT;
        e->compute.per_lane = 8;
        break;
    default:
        return false;
    }
    e->tiled.how = CARM_TILED_PRODUCT;
    e->tiled.factor = (uint8_t)ZydisRegisterGetId(operands[1].reg.value);
    return true;
}

/* Whether an instruction is not a vector instruction, so that its name need not be compared: true for most. Comparing
 * all names took 5% of the time of a short program counted by translation. */
static bool is_basic(const ZydisDecodedInstruction *in)
{
    return in->meta.isa_ext == ZYDIS_ISA_EXT_BASE;
}

/* returns false when the instruction computes in a way that is not understood */
static bool read_operations(struct carm_account *e, const ZydisDecodedInstruction *in,
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
        e->compute.kind = (uint8_t)x87_kind(m);
        if (e->compute.kind != CARM_COMPUTES_NOT) {
            e->compute.lanes = 1;
            e->compute.per_lane = 1;
            e->compute.precision = 2;
        }
        return true;
    case ZYDIS_CATEGORY_AMD3DNOW:
        return m[0] != 'p' || m[1] != 'f';
    case ZYDIS_CATEGORY_AMX_TILE:
        return tile(e, in, operands);
    default:
        break;
    }
    if (is_basic(in)) {
        return true;
    }
    m += m[0] == 'v';
    vector_flops(e, in, operands, m);
    if (e->compute.kind == CARM_COMPUTES_NOT) {
        vector_integers(e, in, operands, m);
    }
    return true;
}

/* ---- loads and stores ---- */

enum {
    READS = ZYDIS_OPERAND_ACTION_MASK_READ,
    WRITES = ZYDIS_OPERAND_ACTION_MASK_WRITE,
};

/* Number of a vector register; 0 .. 31 */
static unsigned register_number(ZydisRegister reg)
{
    const ZyanI8 id = ZydisRegisterGetId(reg);
    return id < 0 ? 0 : (unsigned)id & 31U;
}

/* Whether the memory operand is not loaded or stored: prefetches, flushes, nops. */
static bool accesses_nothing(const ZydisDecodedInstruction *in)
{
    switch (in->meta.category) {
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_CLFLUSHOPT:
    case ZYDIS_CATEGORY_CLWB:
    case ZYDIS_CATEGORY_CLDEMOTE:
        return true;
    case ZYDIS_CATEGORY_GATHER:
    case ZYDIS_CATEGORY_SCATTER:
        return strstr(ZydisMnemonicGetString(in->mnemonic), "erpf") != NULL;
    default:
        return in->mnemonic == ZYDIS_MNEMONIC_CLFLUSH ||
               in->mnemonic == ZYDIS_MNEMONIC_PREFETCHWT1; /* has a category of its own */
    }
}

static bool is_nontemporal(const ZydisDecodedInstruction *in)
{
    if (is_basic(in)) {
        return false;
    }
    const char *m = ZydisMnemonicGetString(in->mnemonic);
    m += m[0] == 'v';
    return strncmp(m, "movnt", 5) == 0 || strcmp(m, "maskmovdqu") == 0 ||
           strcmp(m, "maskmovq") == 0 || strcmp(m, "movdir64b") == 0 || strcmp(m, "movdiri") == 0;
}

static unsigned element_bytes(const ZydisDecodedOperand *o)
{
    return o->element_size / 8U;
}

/* Instructions whose mask does not keep a load from reading the whole operand.
 * source: Intel 64 and IA-32 SDM, volume 2, 2.8: exception classes without fault suppression */
static bool loads_whole(const ZydisDecodedInstruction *in)
{
    switch (in->meta.exception_class) {
    case ZYDIS_EXCEPTION_CLASS_E1NF:
    case ZYDIS_EXCEPTION_CLASS_E3NF:
    case ZYDIS_EXCEPTION_CLASS_E4NF:
    case ZYDIS_EXCEPTION_CLASS_E5NF:
    case ZYDIS_EXCEPTION_CLASS_E6NF:
    case ZYDIS_EXCEPTION_CLASS_E9NF:
    case ZYDIS_EXCEPTION_CLASS_E10NF:
        return true;
    default:
        return false;
    }
}

static unsigned broadcast_lanes(const ZydisDecodedInstruction *in)
{
    switch (in->avx.broadcast.mode) {
    case ZYDIS_BROADCAST_MODE_1_TO_2:
        return 2;
    case ZYDIS_BROADCAST_MODE_1_TO_4:
    case ZYDIS_BROADCAST_MODE_2_TO_4:
        return 4;
    case ZYDIS_BROADCAST_MODE_1_TO_8:
    case ZYDIS_BROADCAST_MODE_2_TO_8:
    case ZYDIS_BROADCAST_MODE_4_TO_8:
        return 8;
    case ZYDIS_BROADCAST_MODE_1_TO_16:
    case ZYDIS_BROADCAST_MODE_2_TO_16:
    case ZYDIS_BROADCAST_MODE_4_TO_16:
    case ZYDIS_BROADCAST_MODE_8_TO_16:
        return 16;
    case ZYDIS_BROADCAST_MODE_1_TO_32:
        return 32;
    case ZYDIS_BROADCAST_MODE_1_TO_64:
        return 64;
    default:
        return 0;
    }
}

static void plain(struct carm_account *e, bool store, unsigned bytes, bool nontemporal)
{
    if (store) {
        e->stores++;
        e->store_bytes += bytes;
        e->nt_stores += nontemporal;
    } else {
        e->loads++;
        e->load_bytes += bytes;
    }
}

/* Bytes of an index of a gather or scatter: Q in the mnemonic is 8, D is 4 (Intel SDM, volume 2: VGATHERQPD,
 * VPGATHERDD, ...). */
static unsigned index_bytes(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_VGATHERQPD:
    case ZYDIS_MNEMONIC_VGATHERQPS:
    case ZYDIS_MNEMONIC_VPGATHERQD:
    case ZYDIS_MNEMONIC_VPGATHERQQ:
    case ZYDIS_MNEMONIC_VSCATTERQPD:
    case ZYDIS_MNEMONIC_VSCATTERQPS:
    case ZYDIS_MNEMONIC_VPSCATTERQD:
    case ZYDIS_MNEMONIC_VPSCATTERQQ:
        return 8;
    default:
        return 4;
    }
}

/* Gathers and scatters: as many elements as both the indices and the data have room for. */
static void indexed(struct carm_account *e, const ZydisDecodedInstruction *in,
                    const ZydisDecodedOperand *operands, const ZydisDecodedOperand *o, bool store)
{
    e->masked.index = (uint8_t)index_bytes(in->mnemonic);
    const unsigned index_lanes =
        ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, o->mem.index) / (8U * e->masked.index);
    unsigned data_lanes = index_lanes;
    for (unsigned i = 0; i < in->operand_count_visible; i++) {
        const ZydisDecodedOperand *d = &operands[i];
        if (d->type != ZYDIS_OPERAND_TYPE_REGISTER || d->encoding == ZYDIS_OPERAND_ENCODING_MASK) {
            continue;
        }
        data_lanes =
            ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, d->reg.value) / 8U / element_bytes(o);
        e->masked.reg =
            (uint8_t)register_number(d->reg.value); /* AVX2: the mask is the last operand */
    }
    e->masked.how = CARM_MASKED_EACH;
    e->masked.store = store;
    e->masked.bytes = (uint8_t)element_bytes(o);
    e->masked.lanes = (uint8_t)(index_lanes < data_lanes ? index_lanes : data_lanes);
    e->masked.vector = in->avx.mask.mode <= ZYDIS_MASK_MODE_DISABLED;
    if (!e->masked.vector) {
        e->masked.reg = (uint8_t)(in->avx.mask.reg - ZYDIS_REGISTER_K0);
    }
}

/* A load or store under a mask register. */
static void opmasked(struct carm_account *e, const ZydisDecodedInstruction *in,
                     const ZydisDecodedOperand *o, bool store)
{
    const unsigned broadcast = broadcast_lanes(in);
    e->masked.store = store;
    e->masked.reg = (uint8_t)(in->avx.mask.reg - ZYDIS_REGISTER_K0);
    if (broadcast) {
        e->masked.how = CARM_MASKED_ANY;
        e->masked.lanes = (uint8_t)broadcast;
        e->masked.bytes = (uint8_t)(o->size / 8U);
    } else {
        e->masked.how = CARM_MASKED_ACTIVE;
        e->masked.lanes = (uint8_t)o->element_count;
        e->masked.bytes = (uint8_t)element_bytes(o);
    }
}

/* maskmov: the mask is the second register operand of maskmovdqu, of a load and of a store alike. */
static bool vector_masked(struct carm_account *e, const ZydisDecodedInstruction *in,
                          const ZydisDecodedOperand *operands, const ZydisDecodedOperand *o,
                          bool store)
{
    const char *m = ZydisMnemonicGetString(in->mnemonic);
    m += m[0] == 'v';
    const bool bytes = strcmp(m, "maskmovdqu") == 0;
    if (!bytes && strncmp(m, "maskmovp", 8) != 0 && strcmp(m, "pmaskmovd") != 0 &&
        strcmp(m, "pmaskmovq") != 0) {
        return false;
    }
    const unsigned element = bytes ? 1 : element_bytes(o);
    e->masked.how = CARM_MASKED_ACTIVE;
    e->masked.vector = true;
    e->masked.store = store;
    e->masked.nontemporal = bytes;
    e->masked.reg = (uint8_t)register_number(operands[1].reg.value);
    e->masked.bytes = (uint8_t)element;
    e->masked.lanes = (uint8_t)(o->size / 8U / element);
    return true;
}

static void access_operand(struct carm_account *e, const ZydisDecodedInstruction *in,
                           const ZydisDecodedOperand *operands, const ZydisDecodedOperand *o,
                           bool store)
{
    const bool opmask = in->avx.mask.mode > ZYDIS_MASK_MODE_DISABLED;
    if (o->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
        indexed(e, in, operands, o, store);
    } else if (opmask && (store || !loads_whole(in))) {
        opmasked(e, in, o, store);
    } else if (!vector_masked(e, in, operands, o, store)) {
        plain(e, store, o->size / 8U, store && is_nontemporal(in));
    }
}

/* returns CARM_ACCOUNT_XSAVE, _XRSTOR or 0 */
static unsigned saves_state(ZydisMnemonic m)
{
    switch (m) {
    case ZYDIS_MNEMONIC_XSAVE:
    case ZYDIS_MNEMONIC_XSAVE64:
    case ZYDIS_MNEMONIC_XSAVEC:
    case ZYDIS_MNEMONIC_XSAVEC64:
    case ZYDIS_MNEMONIC_XSAVEOPT:
    case ZYDIS_MNEMONIC_XSAVEOPT64:
        return CARM_ACCOUNT_XSAVE;
    case ZYDIS_MNEMONIC_XRSTOR:
    case ZYDIS_MNEMONIC_XRSTOR64:
        return CARM_ACCOUNT_XRSTOR;
    default:
        return 0;
    }
}

/* Fills loads, stores, bytes and masked: of memory operands, those of the stack included. */
static void read_memory(struct carm_account *e, const ZydisDecodedInstruction *in,
                        const ZydisDecodedOperand *operands)
{
    if (accesses_nothing(in) || e->tiled.how != CARM_TILED_NOT) {
        return;
    }
    const unsigned state = saves_state(in->mnemonic);
    if (state) {
        e->flags |= (uint16_t)state;
        return;
    }
    if (in->mnemonic == ZYDIS_MNEMONIC_CLZERO) { /* a line, whose address is in rax */
        plain(e, true, 64, false);
        return;
    }
    for (unsigned i = 0; i < in->operand_count; i++) {
        const ZydisDecodedOperand *o = &operands[i];
        if (o->type != ZYDIS_OPERAND_TYPE_MEMORY ||
            (o->mem.type != ZYDIS_MEMOP_TYPE_MEM && o->mem.type != ZYDIS_MEMOP_TYPE_VSIB)) {
            continue;
        }
        if (o->actions & READS) {
            access_operand(e, in, operands, o, false);
        }
        if (o->actions & WRITES) {
            access_operand(e, in, operands, o, true);
        }
    }
}

/* ---- control flow, and the whole account ---- */

static unsigned control(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands)
{
    switch (in->mnemonic) {
    case ZYDIS_MNEMONIC_SYSCALL:
        return CARM_ACCOUNT_SYSCALL;
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFQ:
        return CARM_ACCOUNT_PUSHF;
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ:
        return CARM_ACCOUNT_POPF;
    case ZYDIS_MNEMONIC_ENDBR64:
        return CARM_ACCOUNT_THUNK;
    default:
        break;
    }
    switch (in->meta.category) {
    case ZYDIS_CATEGORY_UNCOND_BR:
        return CARM_ACCOUNT_BRANCH | CARM_ACCOUNT_THUNK;
    case ZYDIS_CATEGORY_CALL:
        return CARM_ACCOUNT_BRANCH;
    case ZYDIS_CATEGORY_COND_BR:
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_INTERRUPT:
        return CARM_ACCOUNT_JUMPS;
    case ZYDIS_CATEGORY_PUSH:
        return operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? CARM_ACCOUNT_THUNK : 0;
    default:
        return 0;
    }
}

/* Whether an instruction prefetches data: prefetch*, and prefetches of gathers and scatters. Prefetches of code
 * (prefetchit0), and hints that are nops on every processor so far, are not counted. */
static bool is_prefetch(const ZydisDecodedInstruction *in)
{
    const char *m = ZydisMnemonicGetString(in->mnemonic);
    return m && ((strncmp(m, "prefetch", 8) == 0 && strncmp(m + 8, "it", 2) != 0) ||
                 strncmp(m, "vgatherpf", 9) == 0 || strncmp(m, "vscatterpf", 10) == 0);
}

void carm_account_of(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *operands,
                     struct carm_account *e)
{
    memset(e, 0, sizeof *e);
    e->length = in->length;
    e->flags = (uint16_t)control(in, operands);
    if (in->meta.category == ZYDIS_CATEGORY_STRINGOP &&
        (in->attributes &
         (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))) {
        e->flags |= CARM_ACCOUNT_REP | (in->address_width == 32 ? CARM_ACCOUNT_ADDR32 : 0U);
    }
    if (is_prefetch(in)) {
        e->flags |= CARM_ACCOUNT_PREFETCH;
    }
    if (read_operations(e, in, operands)) {
        read_memory(e, in, operands);
    } else {
        e->flags |= CARM_ACCOUNT_UNKNOWN;
    }
}

bool carm_account_decode(const ZydisDecoder *decoder, const uint8_t *code, size_t n,
                         struct carm_account *e)
{
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (n == 0 || ZYAN_FAILED(ZydisDecoderDecodeFull(decoder, code, n, &in, operands))) {
        memset(e, 0, sizeof *e);
        return false;
    }
    carm_account_of(&in, operands, e);
    return true;
}
