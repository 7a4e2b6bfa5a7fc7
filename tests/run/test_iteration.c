/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a loop's machine code to the numbers that its bounds are made of: latencies, units, ports, chains, jumps, strings. */
#include "models/latency.h"
#include "tests/run/loops.h"

static const struct carm_microarchitecture core = {.issue = 4.0,
                                                   .reorder = 64,
                                                   .vector_queue = 32,
                                                   .code_line = 64.0,
                                                   .core = {{"load", "", "", 4, 0.5},
                                                            {"load", "scalar", "", 4, 0.5},
                                                            {"int-add", "", "", 1, 0.25},
                                                            {"add", "", "", 3, 0.5}},
                                                   .ncore = 4};

static void say_code(const struct carm_bounds_input *in)
{
    said[0] = '\0';
    SAY(slots);
    SAY(fused);
    SAY(branches);
    SAY(renamed);
    SAY(zeroed);
    SAY(locked);
    SAY(taken);
    SAY(fetched);
    SAY_ALL(loads);
    SAY_ALL(stores);
    SAY(gathered);
    SAY(mispredicted);
    SAY(astray);
    SAY(resolve_cycles);
    SAY(chain_cycles);
    SAY(forward_cycles);
    SAY(straddles);
    SAY(counter);
    for (size_t i = 0; i < in->nunits; i++) {
        const struct carm_bounds_unit *u = &in->units[i];
        const size_t at = strlen(said);
        snprintf(said + at, sizeof said - at, "; %s %s %s %g", carm_core_kind_name(u->kind), u->isa,
                 u->precision, u->count);
    }
}

static void is_input(const char *name, const struct carm_flow_code *code,
                     const struct carm_microarchitecture *theory, const char *wanted)
{
    struct carm_bounds_input in = {.rates.theory = theory};
    struct carm_bounds_unit units[CARM_RUN_UNITS_MAX];
    struct carm_graph graph;
    char chain[CARM_RUN_CHAIN_MAX];
    assert_ok(carm_run_code_input(code, &graph, &in, units, chain, &err));
    say_code(&in);
    const size_t at = strlen(said);
    snprintf(said + at, sizeof said - at, "; %s", in.chain_cycles > 0.0 ? chain : "no chain");
    is_text(name, said, wanted);
    carm_graph_close(&graph);
}

/* Measured by the model, published for the core, or published for its pipes: the latter first; a cycle at least. Figures of
 * conversions and moves are of a pair. */
TEST(latencies)
{
    static const enum carm_opcode_class classes[] = {
        CARM_OPCODE_NONE,    CARM_OPCODE_OTHER,     CARM_OPCODE_FP_ADD, CARM_OPCODE_FP_MUL,
        CARM_OPCODE_INT_ADD, CARM_OPCODE_TO_VECTOR, CARM_OPCODE_POPCNT, CARM_OPCODE_ADC};
    static const double cycles[] = {0.0, 1.0, 3.5, 4.0, 1.0, 3.0, 1.0, 0.75};
    static struct carm_microarchitecture theory = {
        .core = {{"add", "", "", 3.5, 0.5},
                 {"mul", "", "", 3.0, 0.5},
                 {"move-vector", "", "", 6.0, 1},
                 {"popcnt", "", "", 0.5, 1},
                 {"adc", "", "", 1.5, 1}},
        .ncore = 5,
        .ports = {{"mul", "ab", 4.0}, {"adc", "ab", 0.75}, {"add", "ab", 0.0}},
        .nports = 3};
    static const struct {
        double load, scalar, indexed, forward, part, forward_scalar, straddling; /* published */
        double said
            [7]; /* load, indexed, load_vector, forward_part, forward, forward_vector, straddling */
    } of[] = {{0, 0, 0, 0, 0, 0, 0, {1, 0, 1, 0, 0, 0, 0}},
              {4, 7, 5, 5, 4, 9, 14, {4, 1, 7, 5, 5, 9, 14}},
              {5, 4, 4, 2, 6.5, 0, 0, {5, 0, 5, 6, 0, 0, 0}},
              {4, 0, 4, 2.03, 6.9, 1, 1, {4, 0, 4, 6, 2.03, 2.03, 2.03}},
              {0.5, 1.01, 9, 8, 8, 1, 12, {1, 8, 1.01, 8, 8, 8, 12}}};
    struct carm_graph_latencies l;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const struct carm_theory_core more[] = {
            {"load", "scalar", "dp", of[i].scalar, 1},
            {"load", "", "", of[i].load, 1},
            {"forward", "scalar", "dp", of[i].forward_scalar, 1},
            {"forward", "", "int64", of[i].forward, 1},
            {"forward-contained", "", "int64", of[i].part, 1},
            {"forward-straddling", "", "int64", of[i].straddling, 1}};
        memcpy(theory.core + 5, more, sizeof more);
        theory.ncore = 11;
        theory.ports[3] = (struct carm_theory_ports){"load-indexed", "ab", of[i].indexed};
        theory.nports = of[i].indexed > 0.0 ? 4 : 3;
        carm_run_latencies(&(struct carm_rates){.theory = &theory}, &l);
        const double said_of[] = {l.load,    l.indexed,        l.load_vector,       l.forward_part,
                                  l.forward, l.forward_vector, l.forward_straddling};
        for (size_t k = 0; k < 7; k++) {
            fail_if(fabs(said_of[k] - of[i].said[k]) > 1e-12, "row %zu, figure %zu is %g", i, k,
                    said_of[k]);
        }
    }
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        assert_near(l.of[classes[i]][CARM_OPCODE_SCALAR][CARM_OPCODE_DP], fmax(cycles[i], i > 0),
                    0.0);
    }
    assert_null(l.beyond);
    /* so many enter in a cycle; of general registers fewer, if their number is known */
    static const double enter[][4] = {{1, 1, 1, 1}, {8, 5, 8, 5}, {6, 0, 6, 0}, {0, 3, 0, 0}};
    for (size_t i = 0; i < sizeof enter / sizeof *enter; i++) {
        theory.issue = enter[i][0];
        theory.dispatch_integers = enter[i][1];
        carm_run_latencies(&(struct carm_rates){.theory = &theory}, &l);
        assert_true(l.dispatch == enter[i][2] && l.dispatch_integers == enter[i][3]);
    }
    carm_run_latencies(&(struct carm_rates){.theory = NULL}, &l);
    assert_true(l.dispatch == 0.0 && l.dispatch_integers == 0.0);
}

/* A load that extends its number takes an integer unit of its own on some cores: then it is one of their instructions, too. */
TEST(integer_units)
{
    static const struct {
        enum carm_opcode_class class;
        bool takes[2]; /* of a core whose loads extend, and of one whose integer units do */
    } of[] = {{CARM_OPCODE_NONE, {false, false}},      {CARM_OPCODE_OTHER, {false, false}},
              {CARM_OPCODE_INT_ADD, {true, true}},     {CARM_OPCODE_INT_MUL, {true, true}},
              {CARM_OPCODE_FP_ADD, {false, false}},    {CARM_OPCODE_LOAD, {false, false}},
              {CARM_OPCODE_TO_VECTOR, {false, false}}, {CARM_OPCODE_LOAD_SIGNED, {false, true}}};
    for (size_t k = 0; k < 2; k++) {
        struct carm_microarchitecture theory = core;
        struct carm_graph_latencies l;
        struct carm_bounds_unit units[CARM_RUN_UNITS_MAX];
        struct carm_graph graph;
        char chain[CARM_RUN_CHAIN_MAX];
        theory.ports[0] = (struct carm_theory_ports){"load-signed", "ab", 1};
        theory.nports = k;
        struct carm_bounds_input in = {.rates.theory = &theory};
        carm_run_latencies(&in.rates, &l);
        for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
            fail_if(l.integer[of[i].class] != of[i].takes[k], "core %zu, class %zu", k, i);
        }
        for (int w = 0; w < CARM_OPCODE_WIDTHS; w++) {
            for (int p = 0; p < CARM_OPCODE_PRECISIONS; p++) {
                assert_true(l.of[CARM_OPCODE_LOAD_SIGNED][w][p] == (double)k);
            }
        }
        /* movsxd rax, [rdi]; sub rcx, 1; jne */
        assert_ok(carm_run_code_input(decode("48 63 07 48 83 e9 01 75 f7", 0, 0), &graph, &in,
                                      units, chain, &err));
        double integers = 0.0;
        for (size_t i = 0; i < in.nunits; i++) {
            integers += units[i].kind == CARM_CORE_INT_ADD ? units[i].count : 0.0;
        }
        assert_near(integers, 1.0 + (double)k, 0.0);
        carm_graph_close(&graph);
    }
}

/* The same loop of three trips on two cores, whose additions take 3 and 9 cycles. */
TEST(windows_of_two_cores)
{
    struct carm_microarchitecture slower = core;
    double cycles[3];
    slower.core[3].latency = 9;
    for (size_t k = 0; k < 3; k++) {
        struct carm_bounds_input in = {.rates.theory = k == 1 ? &slower : &core,
                                       .chain_cycles = 100.0};
        const struct carm_flow_code *code =
            decode("f2 0f 58 c1 f2 0f 58 c1 f2 0f 58 c1 48 83 e9 01 75 ee", 0, 0);
        assert_ok(carm_run_code_window(code, 3, &in, &err));
        assert_near(in.chain_cycles, in.window_cycles, 0.0);
        cycles[k] = in.window_cycles;
    }
    assert_near(cycles[0], cycles[2], 0.0);
    assert_true(cycles[1] > 2.5 * cycles[0]);
}

/* Bytes of string instructions are those of the code that its other instructions do not move. */
TEST(strings)
{
    static const struct {
        const char *code;
        uint64_t loads, stores;                                    /* bytes that were counted */
        double said[2];                                            /* of an iteration */
    } of[] = {{"f3 a4 48 83 ea 01 75 f8", 64000, 48000, {64, 48}}, /* movs; sub rdx, 1; jne */
              {"f3 a4 8b 03 88 07 48 83 ea 01 75 f4",
               64000,
               48000,
               {60, 47}}, /* and a load, and a store */
              {"8b 03 88 07 f3 a4 48 83 ea 01 75 f4", 64000, 48000, {60, 47}},
              {"f3 a4 8b 03 88 07 48 83 ea 01 75 f4", 3000, 900, {0, 0}},
              {"8b 03 88 07 48 83 ea 01 75 f6", 64000, 48000, {0, 0}}}; /* no string instruction */
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const struct carm_step_counts counts = {.load_bytes = of[i].loads,
                                                .store_bytes = of[i].stores};
        struct carm_bounds_input in = {.string_loads = 7.0, .string_stores = 7.0};
        carm_run_strings_input(decode(of[i].code, 0, 0), &counts, &in);
        assert_near(in.string_loads, of[i].said[0], 1e-12);
        assert_near(in.string_stores, of[i].said[1], 1e-12);
    }
}

/* The fastest gather of L1, and the nearest two cores. */
TEST(rates)
{
    struct carm_in_flight flights[] = {{.level = "L1", .code = "gather.avx2", .rate = 2e9},
                                       {.level = "L1", .code = "scalar", .rate = 9e9},
                                       {.level = "L2", .code = "gather.avx2", .rate = 8e9},
                                       {.level = "L1", .code = "gather.avx512", .rate = 4e9},
                                       {.level = "L1", .code = "gather.sse", .rate = 3e9}};
    struct carm_core_pair pairs[] = {{.seconds = 50e-9}, {.seconds = 20e-9}, {.seconds = 90e-9}};
    struct carm_model of = {
        .in_flight = flights, .nin_flight = 5, .core_to_core = pairs, .ncore_to_core = 3};
    struct carm_bounds_input in = {
        .rates.model = &of, .gather_seconds = 7.0, .transfer_seconds = 7.0};
    carm_run_rates_input(&in);
    assert_near(in.gather_seconds, 0.25e-9, 1e-20);
    assert_near(in.transfer_seconds, 20e-9, 1e-20);
    of.nin_flight = of.ncore_to_core = 1;
    carm_run_rates_input(&in);
    assert_near(in.gather_seconds, 0.5e-9, 1e-20);
    assert_near(in.transfer_seconds, 50e-9, 1e-20);
    in.rates.model = NULL;
    carm_run_rates_input(&in);
    assert_true(in.gather_seconds == 0.0 && in.transfer_seconds == 0.0);
}

TEST(code)
{
    static const struct {
        const char *name, *code;
        size_t second;
        double taken;
        const char *says;
    } of[] = {
        /* movsd xmm0, [rdi]; movups xmm1, [rdi]; vmovups ymm2, [rdi]; vmovups zmm3, [rdi]; and stores of eax, al,
         * xmm0's half, xmm1, ymm2, zmm3 to [rsi]; cmp rdi, rcx; jne */
        {"widths",
         "f2 0f 10 07 0f 10 0f c5 fc 10 17 62 f1 7c 48 10 1f 89 06 88 06 f2 0f 11 06 0f 11 0e c5 fc "
         "11 16 62 f1 7c 48 11 1e 48 39 cf 75 d5",
         0, 0,
         "slots 11; fused 1; branches 1; taken 0.999; fetched 0.999; loads 0,1,1,1,1; stores "
         "2,1,1,1,1; int-add  int64 1; no chain"},
        /* lock inc [rdi]; mov rax, rbx; xor edx, edx; pxor xmm0, xmm0; add rdi, 8; add ax, 1; cmp rdi, rcx; jne */
        {"registers",
         "f0 48 ff 07 48 89 d8 31 d2 66 0f ef c0 48 83 c7 08 66 83 c0 01 48 39 cf 75 e6", 0, 0,
         "slots 8; fused 1; branches 1; renamed 3; zeroed 1; locked 1; taken 0.999; fetched 0.999;"
         " loads 1,0,0,0,0; stores 1,0,0,0,0; chain_cycles 1; counter 1; int-add  int64 3; int-add"
         "  int32 1; 1 of int-add"},
        /* gathers of 4 doubles, 4 and 8 floats, 2 numbers of 64 and 4 of 32 bits; prefetcht0 [rdi]; cmp; jne */
        {"gathers",
         "c4 e2 ed 92 04 ce c4 e2 69 92 04 8e c4 e2 6d 92 04 8e c4 e2 e9 90 04 ce c4 e2 69 90 04 8e "
         "0f 18 0f 48 39 cf 75 da",
         0, 0,
         "slots 7; fused 1; branches 1; taken 0.999; fetched 0.999; gathered 22; chain_cycles 5; "
         "int-add  int64 1; 5 of others"},
        /* mov eax, [rdi]; add rdi, 4; cmp qword [rsi+rax*8], 0; jl; nop; cmp rdi, rcx; jne */
        {"branches", "8b 07 48 83 c7 04 48 83 3c c6 00 7c f3 90 48 39 cf 75 ed", 13, 250,
         "slots 4.5; fused 1.75; branches 1.75; renamed 2; taken 0.999; fetched 0.999; loads "
         "2,0,0,0,0; mispredicted 0.25; resolve_cycles 9; chain_cycles 1; counter 1; int-add  "
         "int64 2.75; 1 of int-add, 0.125 of loads"},
        {"branches, taken not known", "8b 07 48 83 c7 04 48 83 3c c6 00 7c f3 90 48 39 cf 75 ed",
         13, -1,
         "slots 5; fused 2; branches 2; renamed 2; taken 0.999; fetched 0.999; loads 2,0,0,0,0; "
         "chain_cycles 1; counter 1; int-add  int64 3; 1 of int-add, 0.125 of loads"},
        /* mov [rdi], eax; mov [rdi+4], eax; mov rax, [rdi]; sub rcx, 1; jne */
        /* three or four times addsd xmm0, xmm1; xorps xmm0, xmm2; sub rcx, 1; jne: a cycle of 10, and of 13 */
        {"ten", "f2 0f 58 c1 f2 0f 58 c1 f2 0f 58 c1 0f 57 c2 48 83 e9 01 75 eb", 0, 0,
         "slots 5; fused 1; branches 1; renamed 1; taken 0.999; fetched 0.999; chain_cycles 10; "
         "add scalar dp 3; logic sse sp 1; int-add  int64 1; 9 of add, 1 of logic"},
        {"thirteen", "f2 0f 58 c1 f2 0f 58 c1 f2 0f 58 c1 f2 0f 58 c1 0f 57 c2 48 83 e9 01 75 e7",
         0, 0,
         "slots 6; fused 1; branches 1; renamed 1; taken 0.999; fetched 0.999; chain_cycles 13; "
         "add scalar dp 4; logic sse sp 1; int-add  int64 1; 12 of add"},
        /* mulsd xmm0, xmm1; addsd xmm0, [rdi]; add eax, 1; addps xmm3, xmm3; addpd xmm3, xmm4; sub; jne */
        {"units", "f2 0f 59 c1 f2 0f 58 07 83 c0 01 0f 58 db 66 0f 58 dc 48 83 e9 01 75 e8", 0, 0,
         "slots 6; fused 1; branches 1; renamed 2; taken 0.999; fetched 0.999; loads 0,1,0,0,0; "
         "chain_cycles 6; mul scalar dp 1; add scalar dp 1; int-add  int32 1; add sse sp 1; add "
         "sse dp 1; int-add  int64 1; 6 of add"},
        {"second piece", "8b 07 48 83 c7 04 48 83 3c c6 00 7c f3 90 48 39 cf 75 ed", 13, 999.5,
         "slots 3.001; fused 1; branches 1; renamed 2; taken 0.9995; fetched 0.9995; loads "
         "2,0,0,0,0; mispredicted 0.0005; resolve_cycles 9; chain_cycles 1; counter 1; int-add  "
         "int64 2.0005; 1 of int-add, 0.125 of loads"},
        /* add rax, [rax]; sub rcx, 1; jne: one instruction, of a load and an addition */
        {"sum of addresses", "48 03 00 48 83 e9 01 75 f7", 0, 0,
         "slots 2; fused 1; branches 1; renamed 2; taken 0.999; fetched 0.999; loads 1,0,0,0,0; "
         "chain_cycles 5; int-add  int64 2; 1 of int-add, 4 of loads"},
        {"straddles", "89 07 89 47 04 48 8b 07 48 83 e9 01 75 f2", 0, 0,
         "slots 4; fused 1; branches 1; renamed 2; taken 0.999; fetched 0.999; loads 1,0,0,0,0; "
         "stores 2,0,0,0,0; chain_cycles 1; straddles 1; counter 1; int-add  int64 1; 1 of int-add"},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        is_input(of[i].name, decode(of[i].code, of[i].second, of[i].taken), &core, of[i].says);
    }
}

/* On a core that is not described; a loop with others inside; a piece whose jump is always taken. */
TEST(other_code)
{
    static const char load[] = "8b 07 48 83 e9 01 75 f8"; /* mov eax, [rdi]; sub rcx, 1; jne */
    is_input(
        "not described", decode(load, 0, 0), NULL,
        "slots 2; fused 1; branches 1; renamed 2; taken 0.999; fetched 0.999; loads 1,0,0,0,0; "
        "chain_cycles 1; counter 1; int-add  int64 1; 1 of int-add");
    struct carm_flow_code *code = decode(load, 0, 0);
    code->inner = false;
    is_input(
        "loops inside", code, &core,
        "slots 2; fused 1; branches 1; renamed 2; taken 0.999; fetched 0.999; loads 1,0,0,0,0; "
        "counter 1; int-add  int64 1; no chain");
    code = decode("8b 07 48 83 c7 04 48 83 3c c6 00 eb f3 90 48 39 cf 75 ed", 13, 0);
    code->pieces[0].falls = false;
    is_input(
        "unconditional", code, &core,
        "slots 6; fused 1; branches 1; renamed 2; taken 1.999; fetched 1.999; loads 2,0,0,0,0; "
        "chain_cycles 1; counter 1; int-add  int64 3; 1 of int-add, 0.125 of loads");
}
