/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of test codes, what is refused with which sentence, and the constants of the chains. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asm/code.h"
#include "asm/gen.h"
#include "asm/intensity.h"

static void test_names(void **state)
{
    /* as written, and as a complete name */
    static const char *const names[][2] = {
        {"A.avx512.dp.2:1.u8.p1024.block", "A.avx512.dp.2:1.u8.p1024.block"},
        {"A.avx2.dp.2:1", "A.avx2.dp.2:1.u8"},
        {"A.scalar.sp.update.u3", "A.scalar.sp.update.u3"},
        {"A.sse.sp.nt.u1", "A.sse.sp.nt.u1"},
        {"A.sse.sp.0:1nt.u1", "A.sse.sp.nt.u1"},
        {"A.avx.dp.2:1nt.block.u16", "A.avx.dp.2:1nt.u16.block"},
        {"B.avx2.dp.fma.f40.c10", "B.avx2.dp.fma.f40.c10"},
        {"B.avx2.dp.fma", "B.avx2.dp.fma.f20.c10"},
        {"B.avx512.sp.div", "B.avx512.sp.div.f20.c10"},
        {"B.sse.dp.add.f4", "B.sse.dp.add.f4.c2"},
        {"C.sse.sp.1:1.mad.u8.f32.c8", "C.sse.sp.1:1.mad.u8.f32.c8"},
        {"W.scalar.dp.1:0.mad.u4.f8.c4.i16", "W.scalar.dp.1:0.mad.u4.f8.c4.i16"},
        {"W.avx2.sp.2:1.fma.i7.block.c3.u2.f6", "W.avx2.sp.2:1.fma.u2.f6.c3.i7.block"},
        {"empty.avx512.dp", "empty.avx512.dp"},
        {"W.avx512.sp.16:15nt.fma.u120.f26.c10.i128.p1048576.block",
         "W.avx512.sp.16:15nt.fma.u120.f26.c10.i128.p1048576.block"},
        {"C.avx512.sp.16:15nt.fma.u131.f26.c10.p1048576.block",
         "C.avx512.sp.16:15nt.fma.u131.f26.c10.p1048576.block"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct carm_code_spec spec;
        struct carm_err err = {""};
        char name[CARM_CODE_NAME_MAX];
        if (carm_code_parse(names[i][0], &spec, &err) != 0) {
            fail_msg("%s", err.text);
        }
        carm_code_name(&spec, name);
        assert_string_equal(name, names[i][1]);
    }
}

/* Every field of a specification survives its name. */
static void test_round_trip(void **state)
{
    static const char *const mixes[] = {"2:1", "1:0", "0:1", "update", "nt", "2:1nt", "16:16"};
    (void)state;
    for (unsigned i = 0; i < 4 * 5 * 2 * 7 * 5; i++) {
        struct carm_code_spec in = {
            .kind = (enum carm_kind)(i % 4), /* A, B, C, W */
            .isa = (enum carm_isa)(i / 4 % 5),
            .precision = (enum carm_precision)(i / 20 % 2),
        };
        const enum carm_op op = (enum carm_op)(i / 280);
        struct carm_code_spec out;
        struct carm_err err = {""};
        char name[CARM_CODE_NAME_MAX];
        if (in.kind != CARM_KIND_B) {
            assert_int_equal(carm_mix_parse(mixes[i / 40 % 7], &in.mix, &err), 0);
            in.units = 1 + i % 64;
            in.prefetch_bytes = i % 4 * 64;
            in.order = i % 5 ? CARM_ORDER_UNIT : CARM_ORDER_BLOCK;
            in.block = i % 10 == 0 ? 1 + i % in.units : 0;
        }
        if (in.kind != CARM_KIND_A) {
            in.op = carm_isa_has_op(in.isa, op) ? op : CARM_MAD;
            in.chains = 1 + i % carm_code_max_chains(&in);
            in.fps = 2 * in.chains + i % 3 * 2;
        }
        if (in.kind == CARM_KIND_W) {
            in.ints = 1 + i % 99;
        }
        carm_code_name(&in, name);
        if (carm_code_parse(name, &out, &err) != 0) {
            fail_msg("%s", err.text);
        }
        assert_int_equal(out.kind, in.kind);
        assert_int_equal(out.isa, in.isa);
        assert_int_equal(out.precision, in.precision);
        assert_int_equal(out.mix.loads, in.mix.loads);
        assert_int_equal(out.mix.stores, in.mix.stores);
        assert_int_equal(out.mix.update, in.mix.update);
        assert_int_equal(out.mix.nontemporal, in.mix.nontemporal);
        assert_int_equal(out.op, in.op);
        assert_int_equal(out.fps, in.fps);
        assert_int_equal(out.chains, in.chains);
        assert_int_equal(out.ints, in.ints);
        assert_int_equal(out.prefetch_bytes, in.prefetch_bytes);
        assert_int_equal(out.order, in.order);
        assert_int_equal(out.block, in.block);
        if (in.kind != CARM_KIND_B) {
            assert_int_equal(out.units, in.units);
        }
    }
}

static void test_refused(void **state)
{
    static const struct {
        const char *name, *message;
    } bad[] = {
        {"", "is not understood: write A.ISA.PRECISION.MIX"},
        {"D.avx2.dp.2:1", "is not understood: write A.ISA.PRECISION.MIX"},
        {"A.avx2.dp", "is not understood: write A.ISA.PRECISION.MIX"},
        {"A", "is not understood"},
        {"...", "is not understood"},
        {"A.mmx.dp.2:1", "unknown ISA 'mmx': choose scalar, sse, avx, avx2 or avx512"},
        {"A.AVX2.dp.2:1", "unknown ISA 'AVX2'"},
        {"A.avx2.hp.2:1", "unknown precision 'hp': choose dp or sp"},
        {"A.avx2.dp.0:0", "0:0 moves no data"},
        {"A.avx2.dp.0:0nt", "0:0 moves no data"},
        {"A.avx2.dp.2", "unknown load:store mix '2'"},
        {"A.avx2.dp.2:", "unknown load:store mix '2:'"},
        {"A.avx2.dp.:1", "unknown load:store mix ':1'"},
        {"A.avx2.dp.-1:1", "unknown load:store mix '-1:1'"},
        {"A.avx2.dp.2:1x", "unknown load:store mix '2:1x'"},
        {"A.avx2.dp.17:1", "is too long: at most 16:16"},
        {"A.avx2.dp.99999999:1", "unknown load:store mix"},
        {"A.avx2.dp.2:0nt", "has no store that could be non-temporal"},
        {"B.avx2.dp.sqrt", "unknown operation 'sqrt': choose fma, mad, add, mul or div"},
        {"B.avx.dp.fma", "avx has no fused multiply-add: take avx2, or mad"},
        {"A.avx2.dp.2:1.u0", "1 to 2048 units (uN), not 0"},
        {"A.avx2.dp.2:1.u2049", "1 to 2048 units (uN), not 2049"},
        {"A.avx2.dp.2:1.u2000", "a loop of 6000 instructions is too long: at most 4096"},
        {"A.avx2.dp.2:1.u", "field 'u' is not understood"},
        {"A.avx2.dp.2:1.u-1", "field 'u-1' is not understood"},
        {"A.avx2.dp.2:1.u8x", "field 'u8x' is not understood"},
        {"A.avx2.dp.2:1.f8", "field 'f8' is not understood"},
        {"A.avx2.dp.2:1.blocks", "field 'blocks' is not understood"},
        {"B.avx2.dp.fma.u8", "field 'u8' is not understood"},
        {"B.avx2.dp.fma.p64", "field 'p64' is not understood"},
        {"B.avx2.dp.fma.block", "field 'block' is not understood"},
        {"A.avx2.dp.2:1.p100", "multiple of 64 bytes up to 1048576, not 100"},
        {"A.avx2.dp.2:1.p1048640", "multiple of 64 bytes up to 1048576, not 1048640"},
        {"B.avx2.dp.fma.f0.c1", "even number of floating-point instructions (fN), at least 2"},
        {"B.avx2.dp.fma.f7.c1", "even number of floating-point instructions (fN), at least 2"},
        {"A.avx2.dp.2:1.u4.block5", "a block (blockN) has 1 to 4 units"},
        {"A.avx2.dp.2:1.u4.block0", "field 'block0' is not understood"},
        {"B.avx2.dp.fma.f40.c15", "chains (cN) of avx2 are 1 to 14"},
        {"B.avx512.dp.fma.f80.c27", "chains (cN) of avx512 are 1 to 26"},
        {"B.avx2.dp.fma.f4.c3", "at most half of the floating-point instructions, not 3"},
        {"C.avx2.dp.2:1.fma.u1000.f2000.c10", "a loop of 5000 instructions is too long"},
        {"C.avx2.dp.2:1.fma.i4", "field 'i4' is not understood"},
        {"W.avx2.dp.2:1", "is not understood: write A.ISA.PRECISION.MIX"},
        {"W.avx2.dp.2:1.fma", "a loop of kind W has 1 or more integer instructions (iN), not 0"},
        {"W.avx2.dp.2:1.fma.i0", "a loop of kind W has 1 or more integer instructions (iN), not 0"},
        {"W.avx2.dp.2:1.fma.i", "field 'i' is not understood"},
        {"W.avx2.dp.2:1.fma.i4.i8", "gives field 'i8' twice"},
        {"W.avx2.dp.0:0.fma.i4", "0:0 moves no data"},
        {"W.avx2.dp.2:1.fma.u0.i4", "1 to 2048 units (uN), not 0"},
        {"W.avx2.dp.2:1.fma.f0.c1.i4", "even number of floating-point instructions (fN)"},
        {"W.avx2.dp.2:1.fma.f40.c13.i4", "chains (cN) of avx2 are 1 to 12"},
        {"W.avx.dp.2:1.fma.i4", "avx has no fused multiply-add"},
        {"W.avx2.dp.2:1.fma.u8.f20.i4053", "a loop of 4097 instructions is too long"},
        {"C.avx512.sp.16:16nt.fma.u2048.f4096.c26.p1048576.block.block.block", "is too long"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct carm_code_spec untouched = {.units = 4711};
        struct carm_code_spec spec = untouched;
        struct carm_err err = {""};
        int rc = carm_code_parse(bad[i].name, &spec, &err);
        if (rc != -CARM_EINVAL || !strstr(err.text, bad[i].message) || strchr(err.text, '\n')) {
            fail_msg("'%s': %d '%s', not '%s'", bad[i].name, rc, err.text, bad[i].message);
        }
        assert_int_equal(spec.units, untouched.units);
        assert_int_equal(carm_code_parse(bad[i].name, &spec, NULL), -CARM_EINVAL);
    }
}

/* Integer instructions are for one kind alone. */
static void test_ints_refused(void **state)
{
    static const char *const names[] = {"A.avx2.dp.2:1", "B.avx2.dp.fma", "C.avx2.dp.2:1.fma",
                                        "empty.avx2.dp"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct carm_code_spec spec;
        struct carm_err err = {""};
        assert_int_equal(carm_code_parse(names[i], &spec, &err), 0);
        spec.ints = 4;
        assert_int_equal(carm_code_check(&spec, &err), -CARM_EINVAL);
        assert_non_null(strstr(err.text, "(iN) are for kind W alone: 4 given"));
    }
}

/* Some of every sort in each group of six: one load, two flops, three integers, and round again. */
static void test_spread(void **state)
{
    static const char body[] = "  LOOP_BEGIN\n"
                               "    LD 0\n    INT 8\n    MUL 0, 12\n    INT 9\n"
                               "    MUL 1, 12\n    INT 10\n"
                               "    LD 1\n    INT 11\n    ADD 0, 13\n    INT 8\n"
                               "    ADD 1, 13\n    INT 9\n"
                               "  LOOP_END 2\n";
    struct carm_code_spec spec;
    char *text = NULL;
    size_t size = 0;
    (void)state;
    assert_int_equal(carm_code_parse("W.sse.dp.1:0.mad.u2.f4.c2.i6", &spec, NULL), 0);
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    carm_gen_source(f, &spec, 1);
    assert_int_equal(fclose(f), 0);
    if (!strstr(text, body)) {
        fail_msg("the loop is\n%s", strstr(text, "CODE_BEGIN \"W"));
    }
    free(text);
}

/* 12 instructions of the body above, `add rax`, and `dec rcx; jnz` as one. */
static void test_slots(void **state)
{
    const struct carm_account account = {
        .loads = 2, .fp_instructions = 4, .int_instructions = 6, .instructions = 15};
    (void)state;
    assert_int_equal(carm_account_slots(&account), 14);
}

static void test_widths(void **state)
{
    static const unsigned bytes[CARM_ISA_COUNT] = {8, 16, 32, 32, 64};
    (void)state;
    for (int i = 0; i < CARM_ISA_COUNT; i++) {
        const enum carm_isa isa = (enum carm_isa)i;
        assert_int_equal(carm_isa_vector_bytes(isa, CARM_DP), bytes[i]);
        assert_int_equal(carm_isa_lanes(isa, CARM_DP), bytes[i] / 8);
        assert_int_equal(carm_isa_vector_bytes(isa, CARM_SP), i == CARM_SCALAR ? 4 : bytes[i]);
        assert_int_equal(carm_isa_lanes(isa, CARM_SP), i == CARM_SCALAR ? 1 : bytes[i] / 4);
    }
}

/* By hand: 2:1 of 32 bytes is 96 bytes a unit; 4 units and 8 fma of 4 lanes: 64 flop / 384 byte. */
static void test_intensity(void **state)
{
    static const struct {
        const char *name;
        uint64_t flops, bytes;
    } known[] = {
        {"C.avx2.dp.2:1.fma.u4.f8.c4", 1, 6},    {"C.avx2.dp.2:1.mad.u4.f8.c4", 1, 12},
        {"C.scalar.sp.1:0.add.u4.f8.c4", 1, 2},  {"C.avx512.sp.update.mul.u1.f2.c1", 1, 4},
        {"C.sse.dp.nt.div.u3.f2.c1", 1, 12},     {"A.avx2.dp.2:1.u4", 0, 1},
        {"C.avx512.dp.3:2.fma.u1.f6.c3", 3, 10}, {"W.avx2.dp.2:1.fma.u4.f8.c4.i99", 1, 6},
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct carm_code_spec spec;
        uint64_t flops = 0;
        uint64_t bytes = 0;
        assert_int_equal(carm_code_parse(known[i].name, &spec, NULL), 0);
        carm_code_intensity(&spec, &flops, &bytes);
        assert_int_equal(flops, known[i].flops);
        assert_int_equal(bytes, known[i].bytes);
    }
}

/* What the constants have to fulfil, so that chains stay normal. */
static void test_constants(void **state)
{
    double first[CARM_ROW_FMA * 16];
    (void)state;
    for (unsigned lane = 0; lane < 16; lane++) {
        const double summand =
            carm_gen_constant(CARM_ROW_FMA, lane) * carm_gen_constant(CARM_ROW_FMA + 1, lane);
        assert_true(summand > 0.1 && summand < 1); /* next to a chain's value, neither is lost */
        assert_true(carm_gen_constant(CARM_ROW_MAD, lane) > 0 &&
                    carm_gen_constant(CARM_ROW_MAD, lane) < 1);
        assert_true(carm_gen_constant(CARM_ROW_ADD, lane) ==
                    -carm_gen_constant(CARM_ROW_ADD + 1, lane));
        assert_true(
            fabs(carm_gen_constant(CARM_ROW_MUL, lane) * carm_gen_constant(CARM_ROW_MUL + 1, lane) -
                 1) <= 0x1p-53);
        assert_true(carm_gen_constant(CARM_ROW_SIGN, lane) == 0 &&
                    signbit(carm_gen_constant(CARM_ROW_SIGN, lane)));
    }
    for (unsigned i = 0; i < CARM_ROW_FMA * 16; i++) {
        first[i] = carm_gen_constant(i / 16, i % 16);
        assert_true(first[i] >= 1 && first[i] < 2);
        for (unsigned k = 0; k < i; k++) {
            assert_true((float)first[k] != (float)first[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),     cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_ints_refused),
        cmocka_unit_test(test_spread),    cmocka_unit_test(test_slots),
        cmocka_unit_test(test_widths),    cmocka_unit_test(test_intensity),
        cmocka_unit_test(test_constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
