/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instruction sets, precisions, operations and mixes of loads and stores: one table each. Names and their
 * checks, option words, help, completion, the generator's arguments and the CPUID bits that a code needs
 * come from these tables. asm/carm.inc has the macros. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* ---- the tables ----------------------------------------------------------------------------------
 * Rows are (id, name, help, members of the struct below); FIRST takes the first row, NEXT the others. */

/* Vectors (CARM_VECTOR_ISAS), narrowest first; then tiles. "The widest ISA" never means tiles.
 * source of the sizes: Intel 64 and IA-32 Architectures SDM, volume 1, 18.1, palette 1 */
#define CARM_ISA_TABLE(FIRST, NEXT)                                                               \
    FIRST(SCALAR, "scalar", "one element at a time", .family = "xmm", .registers = 16)            \
    NEXT(SSE, "sse", "vectors of 16 bytes", .vector_bytes = 16, .family = "xmm", .registers = 16) \
    NEXT(AVX, "avx", "32 bytes, without fma", .vector_bytes = 32, .family = "ymm",                \
         .registers = 16, .vex = true, .lacks_fma = true,                                         \
         .needs = {.xcr0 = 0x6, .leaf1_ecx = 1U << 28})                                           \
    NEXT(AVX2, "avx2", "32 bytes", .vector_bytes = 32, .family = "ymm", .registers = 16,          \
         .vex = true,                                                                             \
         .needs = {.xcr0 = 0x6, .leaf1_ecx = 1U << 28 | 1U << 12, .leaf7_ebx = 1U << 5})          \
    NEXT(AVX512, "avx512", "64 bytes", .vector_bytes = 64, .family = "zmm", .registers = 32,      \
         .vex = true, .evex = true,                                                               \
         .needs = {                                                                               \
             .xcr0 = 0xe6, .leaf1_ecx = 1U << 28 | 1U << 12, .leaf7_ebx = 1U << 5 | 1U << 16})    \
    NEXT(AMX, "amx", "tiles of 16 rows of 64 bytes", .vector_bytes = 1024, .columns = 16,         \
         .family = "tmm", .registers = 8, .needs = {.xcr0 = 0x60000, .leaf7_edx = 1U << 24})

/* Precisions after sp have no scalar form; their only instructions are the rows of CARM_FORM_TABLE. */
#define CARM_PRECISION_TABLE(FIRST, NEXT)                                                      \
    FIRST(DP, "dp", "double precision", .bytes = 8, .scalar = "sd", .packed = "pd",            \
          .flip = {"xorpd", "pxorq"}, .element = "rsi", .data = "dq")                          \
    NEXT(SP, "sp", "single precision", .bytes = 4, .scalar = "ss", .packed = "ps",             \
         .flip = {"xorps", "pxord"}, .element = "esi", .data = "dd")                           \
    NEXT(FP16, "fp16", "half precision", .bytes = 2, .flip = {"pxor", "pxord"}, .forms = true) \
    NEXT(BF16, "bf16", "bfloat16, summed in single precision", .bytes = 2,                     \
         .flip = {"pxor", "pxord"}, .forms = true)                                             \
    NEXT(INT64, "int64", "integers of 64 bits", .bytes = 8, .flip = {"pxor", "pxorq"},         \
         .forms = true, .integer = true)                                                       \
    NEXT(INT32, "int32", "of 32 bits", .bytes = 4, .flip = {"pxor", "pxord"}, .forms = true,   \
         .integer = true)                                                                      \
    NEXT(INT16, "int16", "of 16 bits", .bytes = 2, .flip = {"pxor", "pxord"}, .forms = true,   \
         .integer = true)                                                                      \
    NEXT(INT8, "int8", "of 8 bits", .bytes = 1, .flip = {"pxor", "pxord"}, .forms = true,      \
         .integer = true)

/* Each operation alternates between two or three instructions, which keep a chain's values normal for
 * ever. A name with a plus is a mixture.
 *
 * The mixtures are those that can be faster than FMA alone. Multiplications take FMA's pipes, so only
 * additions are added: for each FMA as many as there are add-only pipes for each pipe of FMA, 2 and 2
 * on Zen, 1 and 2 on Golden Cove (data/microarchitectures.json). More additions take pipes from FMA. */
#define CARM_OP_TABLE(FIRST, NEXT)                                                                 \
    FIRST(FMA, "fma", "fused multiply-add", .turns = {"FMA %u, 12, 13", "FNMA %u, 12, 13"},        \
          .nturns = 2, .flops = 4, .fused = true, .constants = CARM_ROW_FMA)                       \
    NEXT(MAD, "mad", "multiply and add in turn", .turns = {"MUL %u, 12", "ADD %u, 13"},            \
         .nturns = 2, .flops = 2, .constants = CARM_ROW_MAD)                                       \
    NEXT(ADD, "add", "addition", .turns = {"ADD %u, 12", "ADD %u, 13"}, .nturns = 2, .flops = 2,   \
         .constants = CARM_ROW_ADD)                                                                \
    NEXT(MUL, "mul", "multiplication", .turns = {"MUL %u, 12", "MUL %u, 13"}, .nturns = 2,         \
         .flops = 2, .constants = CARM_ROW_MUL)                                                    \
    NEXT(DIV, "div", "division", .turns = {"DIV %u, 12", "DIV %u, 13"}, .nturns = 2, .flops = 2,   \
         .constants = CARM_ROW_MUL)                                                                \
    NEXT(SQRT, "sqrt", "square root", .turns = {"SQRT %u, 12", "SQRT %u, 13"}, .nturns = 2,        \
         .flops = 2, .constants = CARM_ROW_FMA)                                                    \
    NEXT(FMA_ADD, "fma+add", "FMA and addition in turn",                                           \
         .turns = {"FMA %u, 12, 12", "ADD %u, 13"}, .nturns = 2, .flops = 3, .fused = true,        \
         .mixture = true, .constants = CARM_ROW_FMA_ADD)                                           \
    NEXT(FMA2_ADD, "2fma+add", "two FMAs and an addition in turn",                                 \
         .turns = {"FMA %u, 12, 12", "FMA %u, 12, 12", "ADD %u, 13"}, .nturns = 3, .flops = 5,     \
         .fused = true, .mixture = true, .constants = CARM_ROW_FMA2_ADD)                           \
    NEXT(LOGIC, "logic", "and, or", .turns = {"AND %u, 12", "OR %u, 13"}, .nturns = 2, .flops = 2, \
         .constants = CARM_ROW_ADD, .forms = true)                                                 \
    NEXT(DOT, "dot", "dot product: multiply, and add to an element of 32 bits",                    \
         .turns = {"DOT %u, 12, 12", "DOT %u, 12, 13"}, .nturns = 2, .flops = 4,                   \
         .constants = CARM_ROW_ADD, .forms = true)                                                 \
    NEXT(IFMA, "ifma", "multiply and add of 52 bits",                                              \
         .turns = {"DOT %u, 12, 13", "DOT %u, 12, 13"}, .nturns = 2, .flops = 4,                   \
         .constants = CARM_ROW_MUL, .forms = true)                                                 \
    NEXT(POPCNT, "popcnt", "population count", .turns = {"POPCNT %u", "POPCNT %u"}, .nturns = 2,   \
         .flops = 2, .constants = CARM_ROW_ADD, .forms = true)

/* The instructions of precisions and operations that exist in some ISAs only: precision, operation,
 * ISAs (X, Y, Z, T: sse, avx2, avx512, amx), the suffix after the mnemonic's stem (v, p and the operation) in the
 * macros, and the CPUID bits that are needed beside the ISA's. Special macros emit the bytes of instructions that
 * NASM 2.16 cannot write: VEX-encoded dot products, FMA in half precision and its product of tiles. A product of
 * tiles needs three different tiles; its factors change places in turn.
 * source: Intel 64 and IA-32 Architectures SDM, volume 2, "CPUID feature flag" of each */
#define CARM_FORM_TABLE(FORM)                                                                  \
    FORM(FP16, FMA, Z, "ph", .turns = {"FMAPH 0xb8, %u, 12, 13", "FMAPH 0xbc, %u, 12, 13"},    \
         .needs = CARM_NEEDS_FP16)                                                             \
    FORM(FP16, MAD, Z, "ph", .needs = CARM_NEEDS_FP16)                                         \
    FORM(FP16, ADD, Z, "ph", .needs = CARM_NEEDS_FP16)                                         \
    FORM(FP16, MUL, Z, "ph", .needs = CARM_NEEDS_FP16)                                         \
    FORM(FP16, DIV, Z, "ph", .needs = CARM_NEEDS_FP16)                                         \
    FORM(FP16, SQRT, Z, "ph", .needs = CARM_NEEDS_FP16)                                        \
    FORM(FP16, FMA_ADD, Z, "ph", .turns = {CARM_HALF_SQUARE}, .needs = CARM_NEEDS_FP16)        \
    FORM(FP16, FMA2_ADD, Z, "ph", .turns = {CARM_HALF_SQUARE, CARM_HALF_SQUARE},               \
         .needs = CARM_NEEDS_FP16)                                                             \
    FORM(FP16, DOT, T, "", .turns = {"TILEPH %u, 12, 13", "TILEPH %u, 13, 12"},                \
         .needs = {.leaf7_1_eax = 1U << 21})                                                   \
    FORM(BF16, DOT, Z, "vdpbf16ps", .needs = {.leaf7_1_eax = 1U << 5})                         \
    FORM(BF16, DOT, T, "tdpbf16ps", .turns = CARM_TILED_DOT, .needs = {.leaf7_edx = 1U << 22}) \
    FORM(INT64, ADD, X | Y | Z, "q", .needs = {0})                                             \
    FORM(INT64, MUL, Z, "lq", .needs = {.leaf7_ebx = 1U << 17})                                \
    FORM(INT64, LOGIC, X | Y, "", .needs = {0})                                                \
    FORM(INT64, LOGIC, Z, "q", .needs = {0})                                                   \
    FORM(INT64, IFMA, Y, "", .turns = {CARM_VEX_IFMA, CARM_VEX_IFMA},                          \
         .needs = {.leaf7_1_eax = 1U << 23})                                                   \
    FORM(INT64, IFMA, Z, "vpmadd52luq", .needs = {.leaf7_ebx = 1U << 21})                      \
    FORM(INT64, POPCNT, Z, "q", .needs = CARM_NEEDS_POPCNTDQ)                                  \
    FORM(INT32, ADD, X | Y | Z, "d", .needs = {0})                                             \
    FORM(INT32, MUL, X | Y | Z, "ld", .needs = {.leaf1_ecx = 1U << 19})                        \
    FORM(INT32, LOGIC, X | Y, "", .needs = {0})                                                \
    FORM(INT32, LOGIC, Z, "d", .needs = {0})                                                   \
    FORM(INT32, POPCNT, Z, "d", .needs = CARM_NEEDS_POPCNTDQ)                                  \
    FORM(INT16, ADD, X | Y, "w", .needs = {0})                                                 \
    FORM(INT16, ADD, Z, "w", .needs = CARM_NEEDS_BW)                                           \
    FORM(INT16, MUL, X | Y, "lw", .needs = {0})                                                \
    FORM(INT16, MUL, Z, "lw", .needs = CARM_NEEDS_BW)                                          \
    FORM(INT16, LOGIC, X | Y, "", .needs = {0})                                                \
    FORM(INT16, LOGIC, Z, "d", .needs = {0})                                                   \
    FORM(INT16, DOT, Y, "", .turns = {CARM_VEX_DOT("0x52", "12"), CARM_VEX_DOT("0x52", "13")}, \
         .needs = CARM_NEEDS_AVX_VNNI)                                                         \
    FORM(INT16, DOT, Z, "vpdpwssd", .needs = CARM_NEEDS_VNNI)                                  \
    FORM(INT16, POPCNT, Z, "w", .needs = CARM_NEEDS_BITALG)                                    \
    FORM(INT8, ADD, X | Y, "b", .needs = {0})                                                  \
    FORM(INT8, ADD, Z, "b", .needs = CARM_NEEDS_BW)                                            \
    FORM(INT8, LOGIC, X | Y, "", .needs = {0})                                                 \
    FORM(INT8, LOGIC, Z, "d", .needs = {0})                                                    \
    FORM(INT8, DOT, Y, "", .turns = {CARM_VEX_DOT("0x50", "12"), CARM_VEX_DOT("0x50", "13")},  \
         .needs = CARM_NEEDS_AVX_VNNI)                                                         \
    FORM(INT8, DOT, Z, "vpdpbusd", .needs = CARM_NEEDS_VNNI)                                   \
    FORM(INT8, DOT, T, "tdpbssd", .turns = CARM_TILED_DOT, .needs = {.leaf7_edx = 1U << 25})   \
    FORM(INT8, POPCNT, Z, "b", .needs = CARM_NEEDS_BITALG)

#define CARM_HALF_SQUARE "FMAPH 0xb8, %u, 12, 12"
/* opcode, W, ...: bytes of map 0f38, prefix 66 */
#define CARM_VEX_DOT(opcode, second) "DOTVEX " opcode ", 0, %u, 12, " second
#define CARM_VEX_IFMA                "DOTVEX 0xb4, 1, %u, 12, 13"
#define CARM_TILED_DOT                     \
    {                                      \
        "DOT %u, 12, 13", "DOT %u, 13, 12" \
    }
#define CARM_NEEDS(word, bit) \
    {                         \
        .word = 1U << (bit)   \
    }
#define CARM_NEEDS_BW       CARM_NEEDS(leaf7_ebx, 30)
#define CARM_NEEDS_BITALG   CARM_NEEDS(leaf7_ecx, 12)
#define CARM_NEEDS_POPCNTDQ CARM_NEEDS(leaf7_ecx, 14)
#define CARM_NEEDS_VNNI     CARM_NEEDS(leaf7_ecx, 11)
#define CARM_NEEDS_AVX_VNNI CARM_NEEDS(leaf7_1_eax, 4)
#define CARM_NEEDS_FP16     CARM_NEEDS(leaf7_edx, 23)

/* The mixes that are measured by default; any LOADS:STORES is one, and LOADS:STORESnt. */
#define CARM_MIX_TABLE(FIRST, NEXT)                                                           \
    FIRST(2_1, "2:1", "two loads and a store", .loads = 2, .stores = 1)                       \
    NEXT(1_1, "1:1", "as many loads as stores", .loads = 1, .stores = 1)                      \
    NEXT(1_0, "1:0", "loads alone", .loads = 1)                                               \
    NEXT(0_1, "0:1", "stores alone", .stores = 1)                                             \
    NEXT(UPDATE, "update", "load, change and store the same vector", .loads = 1, .stores = 1, \
         .update = true)                                                                      \
    NEXT(UPDATE_BY, "2:1update", "load a vector; load, change and store another (y += a x)",  \
         .loads = 2, .stores = 1, .update = true)                                             \
    NEXT(NT, "nt", "non-temporal stores", .stores = 1, .nontemporal = true)

/* Words of an option: "scalar|sse|avx|avx2|avx512"; separated by commas: "2:1,1:1"; and with the help:
 * "dp (double precision), sp (single precision)". */
#define CARM_ROW_NAME(id, name, ...)             name
#define CARM_ROW_BAR_NAME(id, name, ...)         "|" name
#define CARM_ROW_COMMA_NAME(id, name, ...)       "," name
#define CARM_ROW_HELP(id, name, help, ...)       name " (" help ")"
#define CARM_ROW_COMMA_HELP(id, name, help, ...) ", " name " (" help ")"
#define CARM_WORDS(TABLE)                        TABLE(CARM_ROW_NAME, CARM_ROW_BAR_NAME)
#define CARM_LIST(TABLE)                         TABLE(CARM_ROW_NAME, CARM_ROW_COMMA_NAME)
#define CARM_HELP(TABLE)                         TABLE(CARM_ROW_HELP, CARM_ROW_COMMA_HELP)

/* ---- contents of the tables ------------------------------------------------------------------ */

#define CARM_ROW_ID(id, ...) CARM_##id,
enum carm_isa { CARM_ISA_TABLE(CARM_ROW_ID, CARM_ROW_ID) CARM_ISA_COUNT };
enum carm_precision { CARM_PRECISION_TABLE(CARM_ROW_ID, CARM_ROW_ID) CARM_PRECISION_COUNT };
enum carm_op { CARM_OP_TABLE(CARM_ROW_ID, CARM_ROW_ID) CARM_OP_COUNT };
#undef CARM_ROW_ID
enum {
    CARM_VECTOR_ISAS = CARM_AVX512 + 1, /* ISAs that have ... */
    CARM_FLOATS = CARM_SP + 1,          /* precisions, and operations, ... */
    CARM_FLOAT_OPS = CARM_FMA2_ADD + 1, /* ... that do not need a row of CARM_FORM_TABLE */
};

/* Bits that must all be set. source: Intel 64 and IA-32 Architectures SDM, volume 1, 13.3, volume 2, CPUID */
struct carm_cpu_bits {
    uint64_t xcr0; /* register states that the OS saves */
    uint32_t leaf1_ecx, leaf7_ebx, leaf7_ecx, leaf7_edx, leaf7_1_eax;
};

struct carm_isa_row {
    const char *name;
    const char *help;
    unsigned vector_bytes; /* of a vector or a tile; 0 = one element */
    unsigned columns; /* of a product of tiles: elements of the second factor that each element of
                            * the first is multiplied with; 0 = the ISA has no tiles */
    unsigned registers;
    const char *family; /* of registers */
    bool vex;           /* operations of three operands, in VEX or EVEX encoding */
    bool evex;
    bool lacks_fma; /* false: the ISA has FMA3 of its width */
    struct carm_cpu_bits needs;
};

struct carm_precision_row {
    const char *name;
    const char *help;
    unsigned bytes;              /* of an element */
    const char *scalar, *packed; /* suffixes of mnemonics */
    const char *flip[2];         /* exclusive or: in SSE and VEX encoding, in EVEX encoding */
    const char *element;         /* general register for one element */
    const char *data;            /* NASM's directive for constants */
    bool forms;   /* its operations are rows of CARM_FORM_TABLE; false: all that need no row */
    bool integer; /* its operations are not flops */
};

enum {
    CARM_TURNS_MAX = 3,
    /* rows of the table of constants (carm_gen_constant); rows 0 to 25 start the chains */
    CARM_ROW_FMA = 26,  /* the factors of the product that is added and subtracted in turn; also the
                             * radicands of sqrt */
    CARM_ROW_MAD = 28,  /* factor, summand */
    CARM_ROW_ADD = 30,  /* summand, its negative */
    CARM_ROW_MUL = 32,  /* factor, its inverse; also the divisors of div */
    CARM_ROW_SIGN = 34, /* -0.0: flips signs in UPDATE */
    CARM_ROW_STORE = 35,    /* data that ST writes */
    CARM_ROW_FMA_ADD = 36,  /* the factor of a square; minus the square */
    CARM_ROW_FMA2_ADD = 38, /* the factor of a square; minus two squares */
    CARM_ROWS = 40,
};

struct carm_op_row {
    const char *name;
    const char *help;
    const char *turns[CARM_TURNS_MAX]; /* macro and operands; %u is the chain's register, 12 and 13
                                        * hold constants */
    unsigned nturns;
    unsigned flops;     /* of all turns, for each lane */
    bool fused;         /* needs FMA3, or a form of its own */
    bool forms;         /* it exists only with a row in CARM_FORM_TABLE */
    bool mixture;       /* of operations on different pipes */
    unsigned constants; /* the first of its two rows of constants */
};

/* A row of CARM_FORM_TABLE. */
struct carm_form {
    enum carm_precision precision;
    enum carm_op op;
    unsigned isas;      /* a bit for each enum carm_isa */
    const char *suffix; /* suffix of the macros' mnemonic */
    const char
        *turns[CARM_TURNS_MAX]; /* in place of the operation's turns; NULL = the operation's */
    struct carm_cpu_bits needs; /* beside the ISA's bits */
};

struct carm_mix {
    unsigned loads, stores; /* per unit, in vectors; not both 0 */
    bool update;            /* the store goes to the last vector loaded; one store */
    bool nontemporal;       /* stores go past the caches */
};

extern const struct carm_isa_row carm_isas[CARM_ISA_COUNT];
extern const struct carm_precision_row carm_precisions[CARM_PRECISION_COUNT];
extern const struct carm_op_row carm_ops[CARM_OP_COUNT];

/* ---- names --------------------------------------------------------------------------------------- */

const char *carm_isa_name(enum carm_isa isa);
const char *carm_precision_name(enum carm_precision precision);
const char *carm_op_name(enum carm_op op);

/* "2:1", "1:0", "update", "2:1update", "nt" (0:1 past the caches), "2:1nt", ...; at most 16 bytes
 * written. */
void carm_mix_name(const struct carm_mix *mix, char name[16]);

/* Reads a decimal number of at most seven digits: returns the first character behind it, or NULL. */
const char *carm_digits_read(const char *s, unsigned *value);

/* Each returns 0, or -CARM_EINVAL with the list of valid words. */
int carm_isa_parse(const char *name, enum carm_isa *isa, struct carm_err *err);
int carm_precision_parse(const char *name, enum carm_precision *precision, struct carm_err *err);
int carm_op_parse(const char *name, enum carm_op *op, struct carm_err *err);
int carm_mix_parse(const char *name, struct carm_mix *mix, struct carm_err *err);

/* ---- sizes --------------------------------------------------------------------------------------- */

unsigned carm_isa_vector_bytes(enum carm_isa isa, enum carm_precision precision);

/* Elements that an operation works on; of tiles, the products of two elements that it adds up. */
unsigned carm_isa_lanes(enum carm_isa isa, enum carm_precision precision);

/* The row of CARM_FORM_TABLE; NULL = none, as for all operations in dp and sp. */
const struct carm_form *carm_form_find(enum carm_isa isa, enum carm_precision precision,
                                       enum carm_op op);

/* Whether the ISA has an operation in this precision. */
bool carm_isa_has_precision(enum carm_isa isa, enum carm_precision precision);

/* Whether the operation exists in this ISA and precision. By definition, `avx` has no operations with FMAs
 * (`scalar`, `sse`, `avx2` and `avx512` use FMA3 of their width). */
bool carm_isa_has_op(enum carm_isa isa, enum carm_precision precision, enum carm_op op);

/* Whether the ISA has the mix: tiles have only ordinary loads and stores. */
bool carm_isa_has_mix(enum carm_isa isa, const struct carm_mix *mix);

bool carm_mix_equal(const struct carm_mix *a, const struct carm_mix *b);

/* Vectors that one unit covers. */
unsigned carm_mix_slots(const struct carm_mix *mix);

/* Vectors of a unit that are only loaded: neither stored to nor updated. */
unsigned carm_mix_plain_loads(const struct carm_mix *mix);

/* Whether the mix is loads alone, stores alone or updates alone. */
bool carm_mix_is_pure(const struct carm_mix *mix);
