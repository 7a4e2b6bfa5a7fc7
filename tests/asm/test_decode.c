/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The disassembler: instructions by their bytes, with every member; what is refused, and why; shapes of tiles. */
#include "asm/decode.h"
#include "tests/unit.h"

enum { AT = 5 }; /* where an instruction lies in its image */

/* Bytes in hexadecimal digits up to a blank. returns how many */
static size_t bytes_of(const char *hex, uint8_t *out)
{
    size_t n = 0;
    for (unsigned byte = 0; sscanf(hex + 2 * n, "%2x", &byte) == 1; n++) {
        out[n] = (uint8_t)byte;
        if (hex[2 * n + 2] == ' ' || !hex[2 * n + 2]) {
            return n + 1;
        }
    }
    return n;
}

static int decode_at(const char *hex, struct carm_insn *out)
{
    uint8_t image[64] = {0};
    struct carm_insn *insns = NULL;
    size_t n = 0;
    const size_t end = AT + bytes_of(hex, image + AT);
    err = (struct carm_err){""};
    const int rc = carm_decode(image, sizeof image, AT, end, &insns, &n, &err);
    if (rc == 0) {
        assert_int_equal(n, 1);
        *out = insns[0];
        free(insns);
    }
    return rc;
}

/* clang-format off */
#define MEMORY(hex, role, set, bytes, element, vector, reg, base, value) \
    {hex, CARM_INSN_##role, CARM_SET_##set, bytes, element, vector, reg, {-1, -1}, base, value, 0}
#define VECTOR(hex, role, set, bytes, element, vector, reg, one, two, dot) \
    {hex, CARM_INSN_##role, CARM_SET_##set, bytes, element, vector, reg, {one, two}, 0, 0, dot}
#define OTHER(hex, role, set, value) \
    {hex, CARM_INSN_##role, CARM_SET_##set, 0, 0, 0, -1, {-1, -1}, 0, value, 0}
static const struct {
    const char *hex;
    enum carm_insn_role role;
    enum carm_insn_set set;
    unsigned bytes, element_bytes, vector_bytes;
    int reg, src[2], base;
    int64_t value;
    int dot; /* precision of a dot product; 0 = none */
} accepted[] = {
    MEMORY("660f284820", LOAD, SSE, 16, 8, 16, 1, 0, 32), MEMORY("460f294c08f0", STORE, SSE, 16, 4, 0, 9, 1, -16),
    MEMORY("c4217d28544840", LOAD, AVX, 32, 8, 32, 10, 2, 64), MEMORY("c4a17c291c10", STORE, AVX, 32, 4, 0, 3, 3, 0),
    MEMORY("62a1fd48284c8802", LOAD, AVX512F, 64, 8, 64, 17, 4, 128),
    MEMORY("62b17c48281c18", LOAD, AVX512F, 64, 4, 64, 3, 5, 0),
    MEMORY("f2420f10541f08", LOAD, SSE, 8, 8, 16, 2, 6, 8), MEMORY("f30f115004", STORE, SSE, 4, 4, 0, 2, 0, 4),
    MEMORY("c5fb1010", LOAD, AVX, 8, 8, 16, 2, 0, 0), MEMORY("660f6f20", LOAD, SSE, 16, 0, 16, 4, 0, 0),
    MEMORY("62f17d486f20", LOAD, AVX512F, 64, 0, 64, 4, 0, 0),
    MEMORY("62f1fd487f20", STORE, AVX512F, 64, 0, 0, 4, 0, 0), MEMORY("c5fd6f20", LOAD, AVX, 32, 0, 32, 4, 0, 0),
    MEMORY("66440f2b18", NT_STORE, SSE, 16, 8, 0, 11, 0, 0),
    MEMORY("62717c482b18", NT_STORE, AVX512F, 64, 4, 0, 11, 0, 0),
    MEMORY("c57de718", NT_STORE, AVX, 32, 0, 0, 11, 0, 0), MEMORY("480fc37008", NT_STORE, BASE, 8, 8, 0, -1, 0, 8),
    MEMORY("0fc37004", NT_STORE, BASE, 4, 4, 0, -1, 0, 4),
    MEMORY("0f188800020000", PREFETCH, BASE, 1, 8, 0, -1, 0, 512),
    VECTOR("66410f58cc", ADD, SSE, 16, 8, 16, 1, 12, -1, 0), VECTOR("c4c17458cc", ADD, AVX, 32, 4, 32, 1, 12, -1, 0),
    VECTOR("f2410f58cc", ADD, SSE, 8, 8, 16, 1, 12, -1, 0), VECTOR("c4c17258cc", ADD, AVX, 4, 4, 16, 1, 12, -1, 0),
    VECTOR("62d5744858cc", ADD, AVX512_MORE, 64, 2, 64, 1, 12, -1, 0),
    VECTOR("410f59dd", MUL, SSE, 16, 4, 16, 3, 13, -1, 0),
    VECTOR("62c1dd4059e5", MUL, AVX512F, 64, 8, 64, 20, 13, -1, 0),
    VECTOR("62c55c4059e5", MUL, AVX512_MORE, 64, 2, 64, 20, 13, -1, 0),
    VECTOR("f2410f5edd", DIV, SSE, 8, 8, 16, 3, 13, -1, 0), VECTOR("c4c1645edd", DIV, AVX, 32, 4, 32, 3, 13, -1, 0),
    VECTOR("62d564485edd", DIV, AVX512_MORE, 64, 2, 64, 3, 13, -1, 0),
    VECTOR("66410f51dd", SQRT, SSE, 16, 8, 16, 3, 13, -1, 0), VECTOR("c4c16351dd", SQRT, AVX, 8, 8, 16, 3, 13, -1, 0),
    VECTOR("62d57c4851dd", SQRT, AVX512_MORE, 64, 2, 64, 3, 13, -1, 0),
    VECTOR("c4c29db8dd", FMA, FMA, 32, 8, 32, 3, 12, 13, 0), VECTOR("c4c219b9dd", FMA, FMA, 4, 4, 16, 3, 12, 13, 0),
    VECTOR("62421d48bcfd", FNMA, AVX512F, 64, 4, 64, 31, 12, 13, 0),
    VECTOR("66450f57d3", FLIP, SSE, 16, 8, 16, 10, 11, -1, 0),
    VECTOR("c4412c57d3", FLIP, AVX, 32, 4, 32, 10, 11, -1, 0),
    VECTOR("66450fefd3", FLIP, SSE, 16, 0, 16, 10, 11, -1, 0),
    VECTOR("62512d48efd3", FLIP, AVX512F, 64, 4, 64, 10, 11, -1, 0),
    VECTOR("6251ad48efd3", FLIP, AVX512F, 64, 8, 64, 10, 11, -1, 0),
    VECTOR("66410ffccc", ADD, SSE, 16, 1, 16, 1, 12, -1, 0),
    VECTOR("62d17548fccc", ADD, AVX512_MORE, 64, 1, 64, 1, 12, -1, 0),
    VECTOR("66410ffdcc", ADD, SSE, 16, 2, 16, 1, 12, -1, 0), VECTOR("c4c175fecc", ADD, AVX2, 32, 4, 32, 1, 12, -1, 0),
    VECTOR("66410fd4cc", ADD, SSE, 16, 8, 16, 1, 12, -1, 0), VECTOR("66410fd5cc", MUL, SSE, 16, 2, 16, 1, 12, -1, 0),
    VECTOR("62d17548d5cc", MUL, AVX512_MORE, 64, 2, 64, 1, 12, -1, 0),
    VECTOR("66410f3840cc", MUL, SSE, 16, 4, 16, 1, 12, -1, 0),
    VECTOR("62d2754840cc", MUL, AVX512F, 64, 4, 64, 1, 12, -1, 0),
    VECTOR("62d2f54840cc", MUL, AVX512_MORE, 64, 8, 64, 1, 12, -1, 0),
    VECTOR("66410fdbcc", AND, SSE, 16, 0, 16, 1, 12, -1, 0),
    VECTOR("62d17548dbcc", AND, AVX512F, 64, 0, 64, 1, 12, -1, 0),
    VECTOR("62d1f548dbcc", AND, AVX512F, 64, 0, 64, 1, 12, -1, 0),
    VECTOR("66410febcc", OR, SSE, 16, 0, 16, 1, 12, -1, 0),
    VECTOR("62d17548ebcc", OR, AVX512F, 64, 0, 64, 1, 12, -1, 0),
    VECTOR("62d1f548ebcc", OR, AVX512F, 64, 0, 64, 1, 12, -1, 0),
    VECTOR("62d21d4850cd", DOT, AVX512_MORE, 64, 1, 64, 1, 12, 13, CARM_INT8),
    VECTOR("62d21d4852cd", DOT, AVX512_MORE, 64, 2, 64, 1, 12, 13, CARM_INT16),
    VECTOR("62d21e4852cd", DOT, AVX512_MORE, 64, 2, 64, 1, 12, 13, CARM_BF16),
    VECTOR("62d29d48b4cd", MADD52, AVX512_MORE, 64, 8, 64, 1, 12, 13, 0),
    VECTOR("c4429db4cd", MADD52, AVX2, 32, 8, 32, 9, 12, 13, 0),
    VECTOR("c4e2edb4cb", MADD52, AVX2, 32, 8, 32, 1, 2, 3, 0),
    VECTOR("62f27d4854c9", POPCNT, AVX512_MORE, 64, 1, 64, 1, -1, -1, 0),
    VECTOR("62f2fd4854c9", POPCNT, AVX512_MORE, 64, 2, 64, 1, -1, -1, 0),
    VECTOR("62f27d4855c9", POPCNT, AVX512_MORE, 64, 4, 64, 1, -1, -1, 0),
    VECTOR("62f2fd4855c9", POPCNT, AVX512_MORE, 64, 8, 64, 1, -1, -1, 0), OTHER("4889f8", REWIND, BASE, 0),
    OTHER("4889f1", RECHARGE, BASE, 0), OTHER("4889f0", RECHARGE_R, BASE, 0), OTHER("4989c9", APART, BASE, 0),
    OTHER("4989c8", SEED, BASE, 0), OTHER("4d89c3", DRAW, BASE, 0), OTHER("41b840000000", ROW, BASE, 64),
    OTHER("49b92d7f954c2df45158", FACTOR, BASE, 6364136223846793005),
    OTHER("49ba4f8167f77e7b0514", SUMMAND, BASE, 1442695040888963407), OTHER("480580010000", STEP, BASE, 384),
    OTHER("4883c0c0", STEP, BASE, -64), OTHER("4d0fafc1", MULTIPLY, BASE, 0), OTHER("49d3eb", SHIFT, BASE, 0),
    OTHER("49c1e306", LINE, BASE, 6), OTHER("48ffc8", DEC_RAX, BASE, 0), OTHER("48ffc9", DEC_RCX, BASE, 0),
    OTHER("48ffca", DEC_RDX, BASE, 0), VECTOR("4901c8", INT, BASE, 8, 0, 0, 8, 1, -1, 0),
    VECTOR("4d01d3", INT, BASE, 8, 0, 0, 11, 10, -1, 0), VECTOR("4101c9", INT, BASE, 4, 0, 0, 9, 1, -1, 0),
    OTHER("4f8d1449", APART_3, BASE, 0), OTHER("4f8d1c89", APART_5, BASE, 0), OTHER("90", NOP, BASE, 0),
    OTHER("c5f877", VZEROUPPER, AVX, 0), OTHER("c3", RET, BASE, 0),
    VECTOR("62d61d48b8dd", FMA, AVX512_MORE, 64, 2, 64, 3, 12, 13, 0),
    VECTOR("62d61d48bcdd", FNMA, AVX512_MORE, 64, 2, 64, 3, 12, 13, 0),
    VECTOR("c4c21d50cd", DOT, AVX2, 32, 1, 32, 1, 12, 13, CARM_INT8),
    MEMORY("f30f101510000000", LOAD, SSE, 4, 4, 16, 2, 7, 29), OTHER("75fe", JNZ, BASE, 5),
    OTHER("0f85faffffff", JNZ, BASE, 5), OTHER("4c8d0d10000000", TABLE, BASE, 28),
    OTHER("c4e27849c0", TILERELEASE, AMX, 0),
    MEMORY("c5fa1010", LOAD, AVX, 4, 4, 16, 2, 0, 0), VECTOR("66410f58c4", ADD, SSE, 16, 8, 16, 0, 12, -1, 0),
    VECTOR("4d01c1", INT, BASE, 8, 0, 0, 9, 8, -1, 0), VECTOR("4d01d8", INT, BASE, 8, 0, 0, 8, 11, -1, 0),
    VECTOR("c4e2edb4c0", MADD52, AVX2, 32, 8, 32, 0, 2, 0, 0),
    VECTOR("c462edb4d2", MADD52, AVX2, 32, 8, 32, 10, 2, 2, 0),
    VECTOR("c4c2edb4da", MADD52, AVX2, 32, 8, 32, 3, 2, 10, 0),
};

/* Bytes of instructions, each up to a blank. */
static const struct {
    const char *why, *bytes;
} refused[] = {
    {"", "06 0f c4a2edb4cb c4e1edb4cb c4e269b4cb c5e2edb4cb c4e2edb5cb c5e26b5ce1 c4e16b5ce1 c4e2695ce1 c4e26b5de1"},
    {"it is outside the repertoire of test codes",
     "c4c29da8dd c4c29dbadd c4c29d9cdd 4589c3 4d0fafc2 450fafc1 4d89d3 4c8b1f 49d3fb c4a2794b0c00 66410f5ccc "
     "0f1800 0faee8 4983c001 4929c8 4c0300 4901f8 664101c8 4c01c1 4c01c0 4d01e0 4801ca 4989f8 4989d1 4889ca "
     "4f8d1409 4f8d1c49 4f8d1489 4f8d544901 4f8d1448 4f8d1441 4c8d142540000000 4c8d0f 49c1eb06 49d3e3 49c1e206 "
     "4d0fafc8 4d6bc103 49ffc8 ffc9 0f84faffffff e9fbffffff c20800 cb fd 488b07 488907 41b901000000 4189c8 4989ca "
     "c4e2784907 c4e2784900 c4e2605eca 62d21d4851cd c4e37141ca03"},
    {"it writes rbx", "4801cb"},
    {"it writes r12d", "4101cc"},
    {"it writes rdi", "4883c740"},
    {"it writes rsp", "50 58"},
    {"it writes rsi", "4896"},
    {"it writes mxcsr", "c5f8ae17"},
    {"it writes k1", "c5f447c9"},
    {"it writes ebx", "0fa2"},
    {"test codes use no prefixes, masks, broadcasts or roundings",
     "6271fd492810 62d1e57858dc 62d1fd7851dc 62f1e5585818 64660f2808 67660f2808 f0480108"},
    {"it works on other operands than vector registers", "c5e55818 660f5808"},
    {"it does not continue a chain: its destination is not its first source", "c59d58db c4c11b51dd"},
    {"it does not continue a chain: its destination is not its source", "62f27d4854ca"},
    {"it is not a load or store", "660f28ca c5f310ca"},
    {"its address is neither [rax + offset] nor another of a test code",
     "480fc337 660f280f 660f280c08 66420f280cc8 66420f280c00 660f280e 66420f280c50 66410f2809 0f180f"},
    {"it writes mm1", "0ffeca"},
    {"it belongs to an instruction set that test codes do not use", "62c1f50058cc 62c17500fecc 62c17520efcb 0f1f00"},
    {"its address is neither [rax + r8 + offset] nor [r9 + r8 + offset]", "c4a27b4b0c07 c4a27b4b0c40 c4a27b4b0c08"},
    {"it writes st0", "d9e8"},
};
/* clang-format on */

TEST(instructions_have_their_members)
{
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        struct carm_insn in;
        fail_if(decode_at(accepted[i].hex, &in), "%s: %s", accepted[i].hex, err.text);
        fail_if(in.role != accepted[i].role || in.set != accepted[i].set ||
                    in.bytes != accepted[i].bytes ||
                    in.element_bytes != accepted[i].element_bytes ||
                    in.vector_bytes != accepted[i].vector_bytes || in.reg != accepted[i].reg ||
                    in.src[0] != accepted[i].src[0] || in.src[1] != accepted[i].src[1] ||
                    (int)in.base != accepted[i].base || in.value != accepted[i].value ||
                    in.precision != (accepted[i].dot ? accepted[i].dot : -1),
                "%s: role %d, set %d, %u, %u, %u bytes, registers %d %d %d, base %d, value %lld",
                accepted[i].hex, in.role, in.set, in.bytes, in.element_bytes, in.vector_bytes,
                in.reg, in.src[0], in.src[1], in.base, (long long)in.value);
        assert_int_equal(in.offset, AT);
        assert_int_equal(in.length, strlen(accepted[i].hex) / 2);
        assert_int_equal(in.columns, 1);
    }
}

TEST(others_are_refused)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        for (const char *at = refused[i].bytes; at; at = strchr(at, ' ')) {
            struct carm_insn in;
            at += *at == ' ';
            const int rc = decode_at(at, &in);
            fail_if(rc != -CARM_EFORMAT || !strstr(err.text, refused[i].why), "%.20s: '%s'", at,
                    err.text);
            fail_if(strncmp(err.text, "offset 0x5", 10) != 0, "'%s'", err.text);
        }
    }
    struct carm_insn in;
    (void)decode_at("4901f8", &in);
    assert_string_equal(err.text,
                        "offset 0x5, 'add r8, rdi': it is outside the repertoire of test codes");
    (void)decode_at("4101cc", &in);
    assert_string_equal(err.text,
                        "offset 0x5, 'add r12d, ecx': it writes r12d, which is the caller's");
    uint8_t image[8] = {0x90, 0x48, 0x89, 0xf8, 0x90};
    struct carm_insn *insns = NULL;
    size_t n = 0;
    static const uint64_t ranges[][2] = {{0, 9}, {2, 2}, {3, 2}, {8, 9}};
    for (size_t i = 0; i < 4; i++) {
        assert_refused(
            carm_decode(image, sizeof image, ranges[i][0], ranges[i][1], &insns, &n, &err),
            -CARM_EFORMAT, "the code lies outside the image of 8 bytes");
    }
    assert_refused(carm_decode(image, sizeof image, 0, 3, &insns, &n, &err), -CARM_EFORMAT,
                   "offset 0x1: the bytes up to the code's end are no whole instruction");
    assert_ok(carm_decode(image, sizeof image, 0, 5, &insns, &n, &err));
    assert_int_equal(n, 3);
    assert_int_equal(insns[1].offset, 1);
    assert_int_equal(insns[2].offset, 4);
    free(insns);
    char text[CARM_INSN_TEXT_MAX] = "?";
    carm_insn_text(image, sizeof image, 1, text);
    assert_string_equal(text, "mov rax, rdi");
    carm_insn_text(image, 3, 1, text);
    assert_string_equal(text, "");
    for (int half = 0; half < 2; half++) { /* cut off before their last byte */
        (void)bytes_of(half ? "c4e26b5ce1" : "c4e2edb4cb", image + 2);
        assert_refused(carm_decode(image, sizeof image, 2, 6, &insns, &n, &err), -CARM_EFORMAT,
                       "no whole instruction");
    }
}

enum { BEFORE = 16, SHAPE = 64, CODE_MAX = 64 };

/* Bytes, a shape of tiles, and code behind it. */
static int decode_tiles(const uint8_t *shape, const uint8_t *code, size_t n,
                        struct carm_insn **insns, size_t *found)
{
    uint8_t image[BEFORE + SHAPE + CODE_MAX];
    const size_t begin = BEFORE + SHAPE;
    memset(image, 0xff, BEFORE);
    memcpy(image + BEFORE, shape, SHAPE);
    memcpy(image + begin, code, n);
    err = (struct carm_err){""};
    return carm_decode(image, begin + n, begin, begin + n, insns, found, &err);
}

static void make_shape(uint8_t shape[SHAPE])
{
    memset(shape, 0, SHAPE);
    shape[0] = 1;
    for (int i = 0; i < 8; i++) {
        shape[16 + 2 * i] = 64;
        shape[48 + i] = 16;
    }
}

#define CONFIGURE "c4e2784905b7ffffff" /* ldtilecfg [rip - 73]: offset 16 */
#define TABLE     "4c8d0d07000000"     /* lea r9, [rip + 7] */
#define DISTANCE  "41b840000000"       /* mov r8d, 64 */
#define LOAD_1    "c4827b4b0c01"       /* tileloadd tmm1, [r9 + r8] */
#define PRODUCT   "c4e26b5ee1"         /* tdpbssd tmm4, tmm1, tmm2 */
#define PRODUCT_H "c4e26b5ce1"         /* tdpfp16ps tmm4, tmm1, tmm2 */
#define RELEASE   "c4e27849c0"

/* Bytes that a shape has in place of its own; the last instruction's bytes and columns, or why one is refused. */
TEST(tiles_have_shapes)
{
    static const char loads[] = CONFIGURE TABLE DISTANCE LOAD_1 PRODUCT;
    static const char palette[] = "it does not load a shape of palette 1";
    static const char fit[] = "the shapes of its tiles do not fit together";
    static const char none[] = "it loads a shape that no tile has";
    static const struct {
        const char *code;
        uint8_t at[2], byte[2];
        const char *why;
        unsigned bytes, columns;
    } rows[] = {
        /* clang-format off */
        {loads, {0}, {1}, NULL, 1024, 16}, {CONFIGURE PRODUCT_H, {0}, {1}, NULL, 1024, 16},
        {CONFIGURE PRODUCT, {49, 52}, {15, 15}, NULL, 960, 16}, {CONFIGURE PRODUCT, {49, 52}, {1, 1}, NULL, 64, 16},
        {CONFIGURE PRODUCT, {20, 24}, {60, 60}, NULL, 1024, 15}, {CONFIGURE PRODUCT, {20, 24}, {4, 4}, NULL, 1024, 1},
        {CONFIGURE PRODUCT, {50, 18}, {15, 60}, NULL, 960, 16}, {CONFIGURE PRODUCT, {49, 49}, {15, 15}, fit, 0, 0},
        {CONFIGURE PRODUCT, {20, 20}, {60, 60}, fit, 0, 0}, {CONFIGURE PRODUCT, {20, 24}, {62, 62}, fit, 0, 0},
        {CONFIGURE PRODUCT, {50, 50}, {15, 15}, fit, 0, 0}, {CONFIGURE, {0}, {0}, palette, 0, 0},
        {CONFIGURE, {0}, {2}, palette, 0, 0}, {CONFIGURE, {1, 0}, {1, 1}, palette, 0, 0},
        {CONFIGURE, {15, 0}, {1, 1}, palette, 0, 0}, {CONFIGURE, {32, 0}, {1, 1}, palette, 0, 0},
        {CONFIGURE, {47, 0}, {1, 1}, palette, 0, 0}, {CONFIGURE, {56, 0}, {1, 1}, palette, 0, 0},
        {CONFIGURE, {63, 0}, {1, 1}, palette, 0, 0}, {CONFIGURE, {55, 0}, {0, 1}, none, 0, 0},
        {CONFIGURE, {55, 0}, {17, 1}, none, 0, 0}, {CONFIGURE, {30, 0}, {0, 1}, none, 0, 0},
        {CONFIGURE, {30, 0}, {65, 1}, none, 0, 0}, {CONFIGURE, {31, 0}, {1, 1}, none, 0, 0},
        {CONFIGURE, {48, 16}, {0, 1}, none, 0, 0}, {CONFIGURE CONFIGURE, {0}, {1}, "it changes the shape", 0, 0},
        {CONFIGURE RELEASE PRODUCT, {0}, {1}, "no shape of its tile is loaded", 0, 0},
        {PRODUCT, {0}, {1}, "no shape of its tile is loaded", 0, 0},
        {CONFIGURE TABLE LOAD_1, {0}, {1}, "its tile's rows do not follow one another", 0, 0},
        {CONFIGURE DISTANCE LOAD_1, {18, 0}, {60, 1}, "its tile's rows do not follow", 0, 0},
        {CONFIGURE, {30, 0}, {1, 1}, NULL, 64, 1},
        {CONFIGURE "c4e26b5cc0", {0}, {1}, "a product needs three different tiles", 0, 0},
        {CONFIGURE "c4e2735ce1", {0}, {1}, "a product needs three different tiles", 0, 0},
        {CONFIGURE "c4e26b5cc9", {0}, {1}, "a product needs three different tiles", 0, 0},
        {CONFIGURE "c4e26b5cd1", {0}, {1}, "a product needs three different tiles", 0, 0},
        {"c4e2784905c0ffffff", {0}, {1}, palette, 0, 0}, /* its last byte is the image's */
        {"c4e2784905c1ffffff", {0}, {1}, "it loads a shape from outside the image", 0, 0},
        {"c4e2784905a7ffffff", {0}, {1}, palette, 0, 0}, /* its first one, too */
        {"c4e2784905a6ffffff", {0}, {1}, "it loads a shape from outside the image", 0, 0},
        /* clang-format on */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t shape[SHAPE], code[CODE_MAX];
        struct carm_insn *insns = NULL;
        size_t n = 0;
        make_shape(shape);
        for (int k = 0; k < 2; k++) {
            shape[rows[i].at[k]] = rows[i].byte[k];
        }
        shape[0] = rows[i].at[0] == 0 ? rows[i].byte[0] : 1;
        const int rc = decode_tiles(shape, code, bytes_of(rows[i].code, code), &insns, &n);
        if (rows[i].why) {
            fail_if(rc != -CARM_EFORMAT || !strstr(err.text, rows[i].why), "row %zu: '%s'", i,
                    err.text);
            continue;
        }
        fail_if(rc, "row %zu: %s", i, err.text);
        assert_int_equal(insns[n - 1].bytes, rows[i].bytes);
        assert_int_equal(insns[n - 1].columns, rows[i].columns);
        free(insns);
    }
    assert_string_equal(err.text, "offset 0x50, 'ldtilecfg [0xFFFFFFFFFFFFFFFF]': it loads a shape "
                                  "from outside the image");
}

/* Loads and stores of whole tiles, from the table or the stream; products of tiles 1 and 2 in tile 4. */
TEST(tiles_have_members)
{
    static const struct carm_insn wanted[] = {
        {80, 9, CARM_INSN_SHAPE, CARM_SET_AMX, 64, 0, 1, -1, 0, -1, {-1, -1}, CARM_BASE_IMAGE, 16},
        {89, 7, CARM_INSN_TABLE, CARM_SET_BASE, 0, 0, 1, -1, 0, -1, {-1, -1}, 0, 103},
        {96, 6, CARM_INSN_ROW, CARM_SET_BASE, 0, 0, 1, -1, 0, -1, {-1, -1}, 0, 64},
        {102,
         6,
         CARM_INSN_LOAD,
         CARM_SET_AMX,
         1024,
         0,
         1,
         -1,
         0,
         1,
         {-1, -1},
         CARM_BASE_IMAGE,
         103},
        {108, 5, CARM_INSN_DOT, CARM_SET_AMX, 1024, 1, 16, CARM_INT8, 0, 4, {1, 2}, 0, 0},
        {113, 5, CARM_INSN_DOT, CARM_SET_AMX, 1024, 2, 16, CARM_FP16, 0, 4, {1, 2}, 0, 0},
        {118, 5, CARM_INSN_DOT, CARM_SET_AMX, 1024, 2, 16, CARM_BF16, 0, 4, {1, 2}, 0, 0},
        {123, 6, CARM_INSN_STORE, CARM_SET_AMX, 1024, 0, 1, -1, 0, 1, {-1, -1}, 0, 0},
        {129, 10, CARM_INSN_LOAD, CARM_SET_AMX, 1024, 0, 1, -1, 0, 2, {-1, -1}, 0, 1024}};
    uint8_t shape[SHAPE], code[CODE_MAX];
    struct carm_insn *insns = NULL;
    size_t n = bytes_of(CONFIGURE TABLE DISTANCE LOAD_1 PRODUCT PRODUCT_H "c4e26a5ce1"
                                                                          "c4a27a4b0c00"
                                                                          "c4a27b4b940000040000",
                        code);
    make_shape(shape);
    assert_ok(decode_tiles(shape, code, n, &insns, &n));
    assert_int_equal(n, sizeof wanted / sizeof *wanted);
    for (size_t i = 0; i < n; i++) {
        fail_if(memcmp(&insns[i], &wanted[i], sizeof *insns) != 0, "instruction %zu", i);
    }
    free(insns);
}
