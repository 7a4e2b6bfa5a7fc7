/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of test codes, what is refused with which sentence, and the constants of the chains. */
#include "asm/code.h"
#include "asm/gen.h"
#include "tests/unit.h"

TEST(names)
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
        {"C.avx512.sp.16:16nt.fma.u120.f26.c10.s2.block120.p1048576",
         "C.avx512.sp.16:16nt.fma.u120.f26.c10.p1048576.s2.block120"},
        {"C.avx2.dp.2:0.fma.s2.u8.f16.c8", "C.avx2.dp.2:0.fma.u8.f16.c8.s2"},
        {"A.avx2.dp.1:1nt.s2", "A.avx2.dp.1:1nt.u8.s2"},
        {"A.avx2.dp.1:0.u8.j8", "A.avx2.dp.1:0.u8.j8"},
        {"A.avx2.dp.1:0.u8.j2", "A.avx2.dp.1:0.u8.j2"},
        {"A.scalar.dp.1:0.u2048", "A.scalar.dp.1:0.u2048"},
        {"R.avx2.dp.u1", "R.avx2.dp.u1"},
        {"A.scalar.sp.2:0.j4096", "A.scalar.sp.2:0.u8.j4096"},
        {"R.avx2.dp", "R.avx2.dp.u8"},
        {"R.scalar.sp.u195", "R.scalar.sp.u195"},
        {"B.avx2.dp.fma.i45.f16.c8", "B.avx2.dp.fma.f16.c8.i45"},
        {"B.avx2.dp.fma.f16.c8.i0", "B.avx2.dp.fma.f16.c8"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct carm_code_spec spec;
        char name[CARM_CODE_NAME_MAX];
        assert_ok(carm_code_parse(names[i][0], &spec, &err));
        carm_code_name(&spec, name);
        assert_string_equal(name, names[i][1]);
    }
}

/* Every field of a specification survives its name. */
TEST(round_trip)
{
    static const char *const mixes[] = {"2:1", "1:0",   "0:1",   "update",
                                        "nt",  "2:1nt", "16:16", "2:1update"};
    static const enum carm_kind kinds[] = {CARM_KIND_A, CARM_KIND_B, CARM_KIND_C, CARM_KIND_W};
    bool seen[4] = {false};
    for (unsigned i = 0; i < 4 * 5 * 2 * 8 * CARM_FLOAT_OPS; i++) {
        struct carm_code_spec in = {
            .kind = kinds[i % 4],
            .isa = (enum carm_isa)(i / 4 % 5),
            .precision = (enum carm_precision)(i / 20 % 2),
        };
        const enum carm_op op = (enum carm_op)(i / 320);
        struct carm_code_spec out;
        char name[CARM_CODE_NAME_MAX];
        if (in.kind != CARM_KIND_B) {
            assert_ok(carm_mix_parse(mixes[i / 40 % 8], &in.mix, &err));
            in.units = 1 + i % 64;
            in.prefetch_bytes = i % 4 * 64;
            const bool blocks = i % 5 == 0 && !(in.mix.update && in.mix.loads > 1);
            in.order = blocks ? CARM_ORDER_BLOCK : CARM_ORDER_UNIT;
            in.block = blocks && i % 10 == 0 ? 1 + i % in.units : 0;
        }
        if (in.kind != CARM_KIND_A) {
            in.op = carm_isa_has_op(in.isa, in.precision, op) ? op : CARM_MAD;
            in.chains = 1 + i % carm_code_max_chains(&in);
            in.fps = (in.chains + i % 3) * carm_ops[in.op].nturns;
        }
        if (in.kind == CARM_KIND_W || in.kind == CARM_KIND_B) {
            in.ints = 1 + i % 99;
        }
        struct carm_code_spec many = in;
        many.streams = 2 + i / 7 % 5;
        if (i % 3 == 0 && carm_code_check(&many, NULL) == 0) {
            in.streams = many.streams;
        } else if (in.kind == CARM_KIND_A && !in.mix.stores) {
            in.units = 16 * (1 + i % 8); /* whole lines of every width */
            in.block = 0;
            in.stride = 2 + i % 4095;
            in.prefetch_bytes = 0;
        }
        seen[in.streams > 1] = true;
        seen[2 + (in.stride > 1)] = true;
        carm_code_name(&in, name);
        assert_ok(carm_code_parse(name, &out, &err));
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
        assert_int_equal(out.streams, in.streams);
        assert_int_equal(out.stride, in.stride);
        if (in.kind != CARM_KIND_B) {
            assert_int_equal(out.units, in.units);
        }
    }
    assert_true(seen[0] && seen[1] && seen[2] && seen[3]);
}

TEST(refused)
{
    static const struct {
        const char *name, *message;
    } bad[] = {
        {"", "is not understood: write A.ISA.PRECISION.MIX"},
        {"D.avx2.dp.2:1", "is not understood: write A.ISA.PRECISION.MIX"},
        {"A.avx2.dp", "is not understood: write A.ISA.PRECISION.MIX"},
        {"A", "is not understood"},
        {"...", "is not understood"},
        {"A.mmx.dp.2:1", "unknown ISA 'mmx': choose scalar, sse, avx, avx2, avx512 or amx"},
        {"A.AVX2.dp.2:1", "unknown ISA 'AVX2'"},
        {"A.avx2.hp.2:1", "unknown precision 'hp': choose dp, sp, fp16, bf16, "},
        {"A.avx.int8.2:1", "avx has no instructions for int8"},
        {"B.avx2.int8.mul", "avx2 has no mul in int8"},
        {"B.avx2.dp.dot", "avx2 has no dot in dp"},
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
        {"B.avx2.dp.cbrt",
         "unknown operation 'cbrt': choose fma, mad, add, mul, div, sqrt, fma+add, 2fma+add, logic, "
         "dot, ifma or popcnt"},
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
        {"B.avx2.dp.fma.f40.i4057", "a loop of 4097 instructions is too long"},
        {"A.avx2.dp.1:1.s0", "field 's0' is not understood"},
        {"A.avx2.dp.1:1.s1", "field 's1' is not understood"},
        {"A.avx2.dp.1:1.s", "field 's' is not understood"},
        {"A.avx2.dp.1:1.s7", "a code has 1 to 6 streams (sN), not 7"},
        {"A.avx2.dp.1:1.s2.s2", "gives field 's2' twice"},
        {"W.avx2.dp.1:1.fma.i4.s2", "field 's2' is not understood"},
        {"B.avx2.dp.fma.s2", "field 's2' is not understood"},
        {"A.avx2.dp.update.u7.s2", "give a multiple of 2 accesses in the loop, not 7"},
        {"A.avx2.dp.1:1.s3", "of 1:1 has a stream for itself: a multiple of 2 streams (sN), not 3"},
        {"A.avx2.dp.4:2.s2", "of 2:1 has a stream for itself: a multiple of 3 streams (sN), not 2"},
        {"A.avx2.dp.2:1update.s3",
         "each load and each update of 2:1update has a stream for itself: a multiple of 2"},
        {"A.avx2.dp.2:1update.u4.block", "blocks of loads before updates need a stream for each"},
        {"A.avx2.dp.2:2update.u4",
         "give LOADS:STORES (such as 2:1), LOADS:STORESnt, LOADS:1update"},
        {"A.avx2.dp.0:1update.u4", "unknown load:store mix"},
        {"A.avx2.dp.2:1.u7.s6", "give a multiple of 2 units (uN) in the loop, not 7"},
        {"C.avx2.dp.nt.fma.u8.p64.s2", "non-temporal stores have nothing to fetch ahead"},
        {"A.avx2.dp.1:0.u7.s2", "give a multiple of 2 accesses in the loop, not 7"},
        {"A.avx2.dp.1:0.j1", "field 'j1' is not understood"},
        {"A.avx2.dp.1:0.j0", "field 'j0' is not understood"},
        {"A.avx2.dp.1:0.j4097", "a stride (jN) is 2 to 4096 lines, not 4097"},
        {"A.avx2.dp.1:1.j8", "a stride (jN) is for loads alone of one stream and kind A"},
        {"A.avx2.dp.update.j8", "a stride (jN) is for loads alone of one stream and kind A"},
        {"A.avx2.dp.2:0.j8.s2", "a stride (jN) is for loads alone of one stream and kind A"},
        {"C.avx2.dp.1:0.fma.j8", "field 'j8' is not understood"},
        {"A.avx2.dp.1:0.u7.j8", "whole lines of 64 bytes: 7 units (uN) of 32 bytes are none"},
        {"A.avx2.dp.1:0.u8.j8.p1024", "leave out the prefetch (pN)"},
        {"R.avx2", "is not understood: write A.ISA.PRECISION.MIX"},
        {"R.avx2.dp.1:0", "field '1:0' is not understood"},
        {"R.avx2.dp.u0", "a loop of kind R reads 1 to 2048 lines (uN), not 0"},
        {"R.avx2.dp.u2049", "a loop of kind R reads 1 to 2048 lines (uN), not 2049"},
        {"R.avx512.dp.u2048", "a loop of 12288 instructions is too long"},
        {"B.avx2.dp.2fma+add.f4.c1",
         "a loop of 2fma+add has a multiple of 3 floating-point instructions (fN), not 4"},
        {"R.amx.int8.u4", "amx has codes of kinds A, B and C alone, without integer instructions"},
        {"W.amx.int8.1:0.dot.i4",
         "amx has codes of kinds A, B and C alone, without integer instructions"},
        {"B.amx.int8.dot.i4",
         "amx has codes of kinds A, B and C alone, without integer instructions"},
        {"A.amx.int8.1:1.s2",
         "amx has codes of kinds A, B and C alone, without integer instructions"},
        {"A.amx.int8.1:0.j2",
         "amx has codes of kinds A, B and C alone, without integer instructions"},
        {"B.amx.dp.fma", "amx has no instructions for dp"},
        {"A.amx.int16.2:1", "amx has no instructions for int16"},
        {"B.amx.bf16.fma", "amx has no fma in bf16"},
        {"B.amx.bf16.dot.c7", "chains (cN) of amx are 1 to 6"},
        {"C.amx.bf16.1:0.dot.c5", "chains (cN) of amx are 1 to 4"},
        {"A.amx.int8.update", "amx has neither updates nor non-temporal stores: take another mix"},
        {"A.amx.int8.nt", "amx has neither updates nor non-temporal stores: take another mix"},
        {"R.scalar.sp.u196", "a loop of 4116 instructions is too long: at most 4096"},
        {"R.avx2.dp.u8.p64", "field 'p64' is not understood"},
        {"R.avx2.dp.u8.block", "field 'block' is not understood"},
        {"R.avx2.dp.u8.s2", "field 's2' is not understood"},
        {"R.avx2.dp.u8.j8", "field 'j8' is not understood"},
        {"R.avx2.dp.u8.i8", "field 'i8' is not understood"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct carm_code_spec untouched = {.units = 4711};
        struct carm_code_spec spec = untouched;
        err = (struct carm_err){""};
        int rc = carm_code_parse(bad[i].name, &spec, &err);
        fail_if(rc != -CARM_EINVAL || !strstr(err.text, bad[i].message) || strchr(err.text, '\n'),
                "'%s': %d '%s', not '%s'", bad[i].name, rc, err.text, bad[i].message);
        assert_int_equal(spec.units, untouched.units);
        assert_int_equal(carm_code_parse(bad[i].name, &spec, NULL), -CARM_EINVAL);
    }
    char name[CARM_CODE_NAME_MAX + 1] = ""; /* without room for its end */
    memset(name, 'A', CARM_CODE_NAME_MAX);
    struct carm_code_spec spec;
    assert_refused(carm_code_parse(name, &spec, &err), -CARM_EINVAL, "is too long to be a name");
    /* one stream, and lines one after the other, are as none told */
    static const char *const plain[] = {"A.amx.int8.1:0", "A.avx2.dp.1:0.j2"};
    for (size_t i = 0; i < 2; i++) {
        assert_ok(carm_code_parse(plain[i], &spec, &err));
        spec.streams = 1;
        spec.stride = spec.stride ? spec.stride : 1;
        assert_ok(carm_code_check(&spec, &err));
    }
}

/* Independent chains have registers beside those of loads and stores: 14 and 12 of 16, 26 of 32, and of 8 tiles 6 and
 * 4. */
TEST(chains_have_registers)
{
    static const struct {
        enum carm_isa isa;
        enum carm_kind kind;
        unsigned most;
    } rows[] = {{CARM_SCALAR, CARM_KIND_B, 14}, {CARM_AVX2, CARM_KIND_C, 12},
                {CARM_AVX512, CARM_KIND_B, 26}, {CARM_AVX512, CARM_KIND_C, 26},
                {CARM_AMX, CARM_KIND_B, 6},     {CARM_AMX, CARM_KIND_C, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct carm_code_spec spec = {.kind = rows[i].kind, .isa = rows[i].isa};
        assert_int_equal(carm_code_max_chains(&spec), rows[i].most);
    }
}

/* Streams that are only stored to past the caches are not fetched. */
TEST(fetched_streams)
{
    static const struct {
        const char *name;
        unsigned streams;
    } rows[] = {{"A.avx2.dp.2:1", 1},         {"A.avx2.dp.2:1nt", 1},
                {"A.avx2.dp.2:1.s3", 3},      {"A.avx2.dp.2:1nt.s3", 2},
                {"A.avx2.dp.2:1nt.u2.s6", 4}, {"A.avx2.dp.1:1nt.s2", 1},
                {"A.avx2.dp.2:2nt.u2.s4", 2}, {"A.avx2.dp.nt.s2", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_code_spec spec;
        assert_ok(carm_code_parse(rows[i].name, &spec, &err));
        assert_int_equal(carm_code_fetched_streams(&spec), rows[i].streams);
    }
}

/* Loops of an intensity. Of 2:1 and fma in avx2: 6 I pairs of fma for each unit of 96 bytes. With I = 1/6 each loop is
 * exact, and 13 units and 26 fma, 65 instructions, are nearest to 64. With 0.15 10 units are the fewest that are exact,
 * and 6 units with 5 pairs, 1/6.48, within 8%. Of loads alone, 2 I pairs: 3/4096 needs 2048 units, the most that there
 * are. */
TEST(loops_of_an_intensity)
{
    static const struct {
        const char *name;
        double intensity, tolerance; /* negative: the best loop, not the shortest */
        unsigned units, fps, chains;
    } rows[] = {{"C.avx2.dp.2:1.fma", 1.0 / 6, -1, 13, 26, 10},
                {"C.avx2.dp.2:1.fma", 1.0 / 6, 0.1, 1, 2, 1},
                {"C.avx2.dp.2:1.fma", 0.15, 1e-9, 10, 18, 9},
                {"C.avx2.dp.2:1.fma", 0.15, 0.08, 6, 10, 5},
                {"C.avx2.dp.1:0.fma", 3.0 / 4096, -1, 2048, 6, 3},
                {"C.avx2.dp.1:0.fma", 0x1.01p-12, 1e-9, 2040, 2, 1},
                {"C.avx2.dp.1:0.fma", 1000, -1, 1, 4000, 10}};
    struct carm_code_spec spec;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_ok(carm_code_parse(rows[i].name, &spec, &err));
        const double ai = rows[i].intensity;
        assert_ok(rows[i].tolerance < 0
                      ? carm_code_set_intensity(&spec, ai, &err)
                      : carm_code_near_intensity(&spec, ai, rows[i].tolerance, &err));
        fail_if(spec.units != rows[i].units || spec.fps != rows[i].fps ||
                    spec.chains != rows[i].chains,
                "row %zu: u%u f%u c%u", i, spec.units, spec.fps, spec.chains);
    }
    static const struct {
        double intensity;
        const char *message;
    } bad[] = {{0x1p-12, "is out of reach: 2^-12 < I < 2^10 flop/byte"},
               {0x1.8p-13, "is out of reach"},
               {0x1p10, "is out of reach"},
               {1e9, "is out of reach"},
               {NAN, "is out of reach"},
               {1023, "needs a loop of more than 4096 instructions with this mix"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_ok(carm_code_parse("C.avx2.dp.2:1.fma", &spec, &err));
        assert_refused(carm_code_set_intensity(&spec, bad[i].intensity, &err), -CARM_EINVAL,
                       bad[i].message);
    }
}

/* What a name cannot say, but a specification can. */
TEST(fields_refused)
{
    static const struct {
        const char *name;
        struct carm_code_spec more; /* fields that are not 0 are put into it */
        const char *message;
    } bad[] = {
        {"A.avx2.dp.2:1", {.ints = 4}, "(iN) are for kinds B and W alone: 4 given"},
        {"C.avx2.dp.2:1.fma", {.ints = 4}, "(iN) are for kinds B and W alone: 4 given"},
        {"R.avx2.dp", {.ints = 4}, "(iN) are for kinds B and W alone: 4 given"},
        {"empty.avx2.dp", {.ints = 4}, "(iN) are for kinds B and W alone: 4 given"},
        {"B.avx2.dp.fma", {.streams = 2}, "several streams (sN) are for kinds A and C alone"},
        {"W.avx2.dp.1:1.fma.i4",
         {.streams = 2},
         "several streams (sN) are for kinds A and C alone"},
        {"R.avx2.dp", {.streams = 2}, "several streams (sN) are for kinds A and C alone"},
        {"empty.avx2.dp", {.streams = 2}, "several streams (sN) are for kinds A and C alone"},
        {"R.avx2.dp", {.stride = 2}, "a stride (jN) is for loads alone of one stream and kind A"},
        {"B.avx2.dp.fma",
         {.stride = 2},
         "a stride (jN) is for loads alone of one stream and kind A"},
        {"C.avx2.dp.1:0.fma", {.stride = 2}, "a stride (jN) is for loads alone of one stream"},
        {"R.avx2.dp", {.prefetch_bytes = 64}, "neither a prefetch (pN) nor blocks"},
        {"R.avx2.dp", {.order = CARM_ORDER_BLOCK}, "neither a prefetch (pN) nor blocks"},
        {"R.avx2.dp", {.mix = {.stores = 1}}, "kind R loads whole lines: it has no stores"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct carm_code_spec spec;
        err = (struct carm_err){""};
        assert_ok(carm_code_parse(bad[i].name, &spec, &err));
        spec.ints = bad[i].more.ints ? bad[i].more.ints : spec.ints;
        spec.streams = bad[i].more.streams;
        spec.stride = bad[i].more.stride;
        spec.prefetch_bytes = bad[i].more.prefetch_bytes;
        spec.order = bad[i].more.order;
        spec.mix = bad[i].more.mix.stores ? bad[i].more.mix : spec.mix;
        fail_if(carm_code_check(&spec, &err) != -CARM_EINVAL || !strstr(err.text, bad[i].message),
                "'%s': '%s', not '%s'", bad[i].name, err.text, bad[i].message);
    }
}

/* The loops of these codes, word for word. */
TEST(bodies)
{
    static const struct {
        const char *name, *body;
    } known[] = {
        /* some of every sort in each group of six: one load, two flops, three integers */
        {"W.sse.dp.1:0.mad.u2.f4.c2.i6", "  LOOP_BEGIN\n"
                                         "    LD 0\n    INT 8\n    MUL 0, 12\n    INT 9\n"
                                         "    MUL 1, 12\n    INT 10\n"
                                         "    LD 1\n    INT 11\n    ADD 0, 13\n    INT 8\n"
                                         "    ADD 1, 13\n    INT 9\n"
                                         "  LOOP_END 2\n"},
        /* integers between the flops, evenly */
        {"B.sse.dp.mad.f4.c2.i9", "  LOOP_BEGIN\n"
                                  "    MUL 0, 12\n    INT 8\n    INT 9\n"
                                  "    MUL 1, 12\n    INT 10\n    INT 11\n"
                                  "    ADD 0, 13\n    INT 8\n    INT 9\n"
                                  "    ADD 1, 13\n    INT 10\n    INT 11\n    INT 8\n"
                                  "  LOOP_END 0\n"},
        /* a copy, both streams fetched ahead; 3 slots of 32 bytes: two lines */
        {"A.avx2.dp.1:1.u3.p512.s2", "    STREAMS\n  LOOP_BEGIN\n"
                                     "    PREFETCH 512\n    LD 0\n"
                                     "    PREFETCH 512, STREAM_1\n    ST 0, STREAM_1\n"
                                     "    LD 1\n    PREFETCH 576\n    ST 1, STREAM_1\n"
                                     "    PREFETCH 576, STREAM_1\n    LD 2\n    ST 2, STREAM_1\n"
                                     "  LOOP_END 3\n"},
        /* past the caches: nothing is fetched where it goes; loads before stores */
        {"A.avx2.dp.1:1nt.u2.p512.s2.block", "    STREAMS\n  LOOP_BEGIN\n"
                                             "    PREFETCH 512\n    LD 0\n    LD 1\n"
                                             "    STNT 0, STREAM_1\n    STNT 1, STREAM_1\n"
                                             "  LOOP_END 2\n"},
        /* a dot product */
        {"C.avx2.dp.2:0.fma.u2.f4.c2.s2", "    STREAMS\n  LOOP_BEGIN\n"
                                          "    LD 0\n    FMA 0, 12, 13\n"
                                          "    LD 0, STREAM_1\n    FMA 1, 12, 13\n"
                                          "    LD 1\n    FNMA 0, 12, 13\n"
                                          "    LD 1, STREAM_1\n    FNMA 1, 12, 13\n"
                                          "  LOOP_END 2\n"},
        /* a triad in twice three streams */
        {"A.avx2.dp.2:1.u2.s6", "    STREAMS\n  LOOP_BEGIN\n"
                                "    LD 0\n    LD 0, STREAM_1\n    ST 0, STREAM_4\n"
                                "    LD 0, STREAM_2\n    LD 0, STREAM_3\n    ST 0, STREAM_5\n"
                                "  LOOP_END 1\n"},
        {"A.avx2.dp.update.u3.s3", "    STREAMS\n  LOOP_BEGIN\n"
                                   "    UPDATE 0\n    UPDATE 0, STREAM_1\n"
                                   "    UPDATE 0, STREAM_2\n"
                                   "  LOOP_END 1\n"},
        /* y += a x, in one stream of each, twice, and the loads of a block first */
        {"A.avx2.dp.2:1update.u2", "  LOOP_BEGIN\n    LD 0\n    UPDATE 1\n    LD 2\n    UPDATE 3\n"
                                   "  LOOP_END 4\n"},
        {"A.avx2.dp.2:1update.u2.s4", "    STREAMS\n  LOOP_BEGIN\n"
                                      "    LD 0\n    UPDATE 0, STREAM_2\n"
                                      "    LD 0, STREAM_1\n    UPDATE 0, STREAM_3\n"
                                      "  LOOP_END 1\n"},
        {"A.avx2.dp.3:1update.u2.s3.block", "    STREAMS\n  LOOP_BEGIN\n"
                                            "    LD 0\n    LD 0, STREAM_1\n"
                                            "    LD 1\n    LD 1, STREAM_1\n"
                                            "    UPDATE 0, STREAM_2\n    UPDATE 1, STREAM_2\n"
                                            "  LOOP_END 2\n"},
        /* every third line */
        {"A.avx2.dp.2:0.u2.j3", "  LOOP_BEGIN\n    LD 0\n    LD 1\n    LD 6\n    LD 7\n"
                                "  LOOP_END 12\n"},
        {"R.avx2.dp.u2", "    RANDOM_SEED\n  RANDOM_BEGIN\n"
                         "    DRAW\n    LDRANDOM 0\n    LDRANDOM 1\n"
                         "    DRAW\n    LDRANDOM 0\n    LDRANDOM 1\n"
                         "  RANDOM_END\n"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct carm_code_spec spec;
        char *text = NULL;
        size_t size = 0;
        assert_int_equal(carm_code_parse(known[i].name, &spec, NULL), 0);
        FILE *f = open_memstream(&text, &size);
        assert_non_null(f);
        carm_gen_source(f, &spec, 1);
        assert_int_equal(fclose(f), 0);
        fail_if(!strstr(text, known[i].body), "the loop is\n%s", strstr(text, "CODE_BEGIN \""));
        free(text);
    }
}

/* 12 instructions of the first body above, `add rax`, and `dec rcx; jnz` as one. */
TEST(slots)
{
    const struct carm_account account = {
        .loads = 2, .fp_instructions = 4, .int_instructions = 6, .instructions = 15};
    assert_int_equal(carm_account_slots(&account), 14);
}

TEST(widths)
{
    static const unsigned bytes[CARM_VECTOR_ISAS] = {8, 16, 32, 32, 64};
    for (int i = 0; i < CARM_VECTOR_ISAS; i++) {
        const enum carm_isa isa = (enum carm_isa)i;
        assert_int_equal(carm_isa_vector_bytes(isa, CARM_DP), bytes[i]);
        assert_int_equal(carm_isa_lanes(isa, CARM_DP), bytes[i] / 8);
        assert_int_equal(carm_isa_vector_bytes(isa, CARM_SP), i == CARM_SCALAR ? 4 : bytes[i]);
        assert_int_equal(carm_isa_lanes(isa, CARM_SP), i == CARM_SCALAR ? 1 : bytes[i] / 4);
    }
    assert_int_equal(carm_isa_lanes(CARM_AMX, CARM_BF16), 16 * 16 * 32);
}

/* By hand: 2:1 of 32 bytes is 96 bytes a unit; 4 units and 8 fma of 4 lanes: 64 flop / 384 byte. */
TEST(intensity)
{
    static const struct {
        const char *name;
        uint64_t flops, bytes;
    } known[] = {
        {"C.avx2.dp.2:1.fma.u4.f8.c4", 1, 6},
        {"C.avx2.dp.2:1.mad.u4.f8.c4", 1, 12},
        {"C.scalar.sp.1:0.add.u4.f8.c4", 1, 2},
        {"C.avx512.sp.update.mul.u1.f2.c1", 1, 4},
        {"C.sse.dp.nt.div.u3.f2.c1", 1, 12},
        {"A.avx2.dp.2:1.u4", 0, 1},
        {"C.avx512.dp.3:2.fma.u1.f6.c3", 3, 10},
        {"W.avx2.dp.2:1.fma.u4.f8.c4.i99", 1, 6},
        {"C.avx2.dp.2:0.fma.u4.f8.c4.s2", 1, 4},
        {"R.avx2.dp.u4", 0, 1},
        {"empty.avx2.dp", 0, 0},
        {"B.avx2.dp.fma", 1, 0},
    };
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
TEST(constants)
{
    double first[CARM_ROW_FMA * 16];
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

static uint64_t element(enum carm_precision precision, unsigned row, unsigned lane)
{
    uint8_t bytes[CARM_ROW_BYTES];
    uint64_t v = 0;
    const unsigned each = carm_precisions[precision].bytes;
    carm_gen_row(precision, row, bytes);
    memcpy(&v, bytes + (size_t)lane * each, each);
    return v;
}

/* Constants that codes have had since the first version: figures of versions compare. */
TEST(constants_have_values)
{
    static const struct {
        unsigned row, lane;
        double value;
    } rows[] = {{CARM_ROW_FMA, 0, 0.7134291806231789},
                {CARM_ROW_MAD + 1, 7, 0.5316872304175163},
                {CARM_ROW_ADD, 1, 0.3182736450918273},
                {CARM_ROW_FMA2_ADD, 0, 0.6432608366259892},
                {CARM_ROW_FMA_ADD + 1, 0, -0.41378450393676758},
                {CARM_ROW_FMA2_ADD + 1, 0, -0.82756900787353516},
                {CARM_ROW_STORE, 0, 1.0},
                {CARM_ROW_STORE, 3, 1.2137037036703702},
                {2, 3, 1.0 + 35.0 / 431.0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_near(carm_gen_constant(rows[i].row, rows[i].lane), rows[i].value, 1e-16);
    }
    for (unsigned lane = 0; lane < 16; lane++) { /* sums of dot products have 32 bits */
        uint8_t bytes[2][CARM_ROW_BYTES + 1] = {{0}, {0}};
        int32_t whole[16];
        float real[16];
        carm_gen_row(CARM_INT8, 2, bytes[0]);
        carm_gen_row(CARM_BF16, 2, bytes[1]);
        memcpy(whole, bytes[0], sizeof whole);
        memcpy(real, bytes[1], sizeof real);
        assert_int_equal(whole[lane], 33 + lane);
        assert_true(real[lane] == (float)(1.0 + (32 + lane) / 431.0));
        assert_true(bytes[0][CARM_ROW_BYTES] == 0 && bytes[1][CARM_ROW_BYTES] == 0);
    }
    assert_int_equal(element(CARM_INT8, CARM_ROW_FMA, 1), (uint8_t)(2 + 16 * CARM_ROW_FMA));
    assert_int_equal(element(CARM_INT64, 3, 5), 54);
    assert_int_equal(element(CARM_DP, CARM_ROW_MUL, 7), 0x3ff4000000000000); /* 5/4 */
    assert_int_equal(element(CARM_SP, CARM_ROW_MUL, 15), 0x3fa00000);
}

/* Summands of integers by hand: 1 + (5077 lane + 1009) mod 19997, of bytes 1 + 37 lane mod 101; the second is the
 * negative of the first. The factors' product is 1 modulo their width. */
TEST(constants_of_integers)
{
    static const enum carm_precision precisions[] = {CARM_INT8, CARM_INT16, CARM_INT32, CARM_INT64};
    static const uint64_t wide[] = {1010, 6087, 11164, 16241, 1321}, narrow[] = {1, 38, 75, 11, 48};
    for (size_t i = 0; i < 4; i++) {
        const enum carm_precision p = precisions[i];
        const unsigned bytes = carm_precisions[p].bytes;
        const uint64_t mask = UINT64_MAX >> (64 - 8 * bytes);
        for (unsigned lane = 0; lane < (bytes == 8 ? 4 : 5); lane++) {
            const uint64_t x = element(p, CARM_ROW_ADD, lane);
            assert_int_equal(x, bytes == 1 ? narrow[lane] : wide[lane]);
            assert_int_equal((x + element(p, CARM_ROW_ADD + 1, lane)) & mask, 0);
            assert_int_equal(
                (element(p, CARM_ROW_MUL, lane) * element(p, CARM_ROW_MUL + 1, lane)) & mask, 1);
            assert_int_equal(element(p, CARM_ROW_SIGN, lane), (mask >> 1) + 1);
        }
    }
}

/* Factors of tiles, in int8 a = 183/2 and b = 137/2: the first begins with a b, then b -a, the second with b -a, then
 * -a -b. Sums count up. */
TEST(constants_of_tiles)
{
    enum { FIRST = CARM_TILE_FIRST, SECOND = CARM_TILE_SECOND };
    static const struct {
        unsigned row;
        int8_t values[8];
    } rows[] = {{FIRST, {91, 91, 91, 91, 68, 68, 68, 68}},
                {FIRST + 1, {68, 68, 68, 68, -91, -91, -91, -91}},
                {SECOND, {68, 68, 68, 68, -91, -91, -91, -91}},
                {SECOND + 1, {-91, -91, -91, -91, -68, -68, -68, -68}},
                {1, {17, 0, 0, 0, 18}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t bytes[CARM_ROW_BYTES];
        carm_gen_tile_row(CARM_INT8, rows[i].row, bytes);
        assert_memory_equal(bytes, rows[i].values, sizeof rows[i].values);
    }
}

/* Nearest numbers of 16 bits, by hand: 5/4 and 4/5, 1241/2048 and -188/512 and its double, and -0. */
TEST(constants_of_halves)
{
    static const struct {
        enum carm_precision precision;
        unsigned row;
        uint64_t bits;
    } rows[] = {{CARM_FP16, CARM_ROW_MUL, 0x3d00},      {CARM_FP16, CARM_ROW_MUL + 1, 0x3a66},
                {CARM_FP16, CARM_ROW_FMA_ADD, 0x38d9},  {CARM_FP16, CARM_ROW_FMA_ADD + 1, 0xb5e0},
                {CARM_FP16, CARM_ROW_FMA2_ADD, 0x38d9}, {CARM_FP16, CARM_ROW_FMA2_ADD + 1, 0xb9e0},
                {CARM_FP16, CARM_ROW_SIGN, 0x8000},     {CARM_BF16, CARM_ROW_MUL, 0x3fa0},
                {CARM_BF16, CARM_ROW_MUL + 1, 0x3f4d},  {CARM_BF16, CARM_ROW_SIGN, 0x8000}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (unsigned lane = 0; lane < 32; lane += 31) {
            fail_if(element(rows[i].precision, rows[i].row, lane) != rows[i].bits,
                    "row %zu: 0x%llx", i,
                    (unsigned long long)element(rows[i].precision, rows[i].row, lane));
        }
    }
}
