/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pipes that kinds of instructions share: which pipes an instruction has by its bytes, and the bounds made of them. */
#include "run/verdict.h"
#include "tests/unit.h"

/* As Zen 4, in part. */
static const struct carm_microarchitecture zen = {
    .issue = 6.0,
    .widths = {{.loads = 3, .stores = 2, .accesses = 6},
               {.loads = 2, .stores = 1, .accesses = 6, .fma = 2},
               {.loads = 2, .stores = 1, .accesses = 6, .fma = 2},
               {.loads = 1, .stores = 0.5, .accesses = 6, .fma = 1}},
    .core = {{"int-add", "", "", 1, 0.25}, {"load", "", "", 4, 0}},
    .ncore = 2,
    .ports = {{"add", "23", 0},
              {"mul", "01", 0},
              {"byte-shuffle", "12", 2},
              {"shuffle", "123", 0},
              {"vector-int-add", "0123", 0},
              {"vector-zero", "0123", 0},
              {"to-vector", "t", 0},
              {"int-add", "0123", 0},
              {"int-shift", "12", 0},
              {"lea-indexed", "12", 0},
              {"cmov", "03", 0},
              {"branch", "0b", 0},
              {"load-indexed", "", 5}},
    .nports = 13,
};

static struct carm_flow_op *decode(const char *bytes, size_t n)
{
    static struct carm_flow_op *ops;
    static size_t nops, room;
    nops = 0;
    assert_ok(carm_flow_ops_decode((const uint8_t *)bytes, n, 0, 1.0, &ops, &nops, &room, &err));
    assert_int_equal(nops, 1);
    return ops;
}

TEST(pipes_of_instructions)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *pipes;
    } cases[] = {
        {"\x66\x0f\x38\x00\xc1", 5, "byte-shuffle"}, /* pshufb xmm0, xmm1 */
        {"\x66\x0f\x67\xc1", 4, "byte-shuffle"},     /* packuswb */
        {"\x66\x0f\x73\xd8\x04", 5, "byte-shuffle"}, /* psrldq xmm0, 4 */
        {"\x66\x0f\x38\x30\xc1", 5, "byte-shuffle"}, /* pmovzxbw */
        {"\x66\x0f\x70\xc1\x1b", 5, "shuffle"},      /* pshufd */
        {"\xc4\xe3\x7d\x18\xc1\x01", 6, "shuffle"},  /* vinsertf128 ymm0, ymm0, xmm1, 1 */
        {"\x66\x0f\x3a\x0e\xc1\x55", 6, "logic"},    /* pblendw xmm0, xmm1, 85 */
        {"\x66\x0f\x38\x10\xc1", 5, "blend"},        /* pblendvb */
        {"\x66\x0f\x6e\xc0", 4, "to-vector"},        /* movd xmm0, eax */
        {"\x66\x0f\x7e\xc0", 4, "from-vector"},      /* movd eax, xmm0 */
        {"\x66\x0f\xd7\xc0", 4, "from-vector"},      /* pmovmskb eax, xmm0 */
        {"\x66\x0f\xc4\xc0\x01", 5, "to-vector"},    /* pinsrw xmm0, eax, 1 */
        {"\x66\x0f\xc4\x07\x01", 5, "shuffle"},      /* pinsrw xmm0, [rdi], 1 */
        {"\xf2\x0f\x2a\xc0", 4, "to-vector"},        /* cvtsi2sd xmm0, eax */
        {"\xf2\x0f\x2c\xc0", 4, "from-vector"},      /* cvttsd2si eax, xmm0 */
        {"\x48\x8d\x04\x1f", 4, "lea-indexed"},      /* lea rax, [rdi+rbx] */
        {"\x48\x8d\x44\x1f\x08", 5, "lea-complex"},  /* lea rax, [rdi+rbx+8] */
        {"\x48\x8d\x47\x08", 4, "lea"},              /* lea rax, [rdi+8] */
        {"\x0f\x94\xc0", 3, "cmov"},                 /* sete al */
        {"\x48\x0f\xba\xe0\x07", 5, "int-shift"},    /* bt rax, 7 */
        {"\xb8\x07\x00\x00\x00", 5, "int-add"},      /* mov eax, 7 */
        {"\xc7\x07\x07\x00\x00\x00", 6, ""},         /* mov dword [rdi], 7 */
        {"\x48\x89\xd8", 3, ""},                     /* mov rax, rbx */
        {"\x48\x63\x07", 3, "load-signed"},          /* movsxd rax, [rdi] */
        {"\x48\x63\xc7", 3, "int-add"},              /* movsxd rax, edi */
        {"\x0f\xb6\x07", 3, ""},                     /* movzx eax, byte [rdi] */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct carm_flow_op *op = decode(cases[i].bytes, cases[i].n);
        assert_string_equal(carm_opcode_pipes((enum carm_opcode_class)op->class), cases[i].pipes);
    }
    assert_true(decode("\x66\x0f\xef\xc0", 4)->flags & CARM_OPCODE_ZERO);  /* pxor xmm0, xmm0 */
    assert_false(decode("\x66\x0f\xef\xc1", 4)->flags & CARM_OPCODE_ZERO); /* pxor xmm0, xmm1 */
    assert_false(decode("\x31\xc0", 2)->flags & CARM_OPCODE_ZERO);         /* xor eax, eax */
}

TEST(slots_of_instructions)
{
    static const struct {
        const char *bytes;
        size_t n;
        int slots;
    } cases[] = {
        {"\x48\x01\xd8", 3, 1},         /* add rax, rbx */
        {"\x48\x03\x07", 3, 1},         /* add rax, [rdi] */
        {"\x48\x01\x07", 3, 2},         /* add [rdi], rax */
        {"\x48\x89\x07", 3, 1},         /* mov [rdi], rax */
        {"\x48\xf7\xe3", 3, 2},         /* mul rbx */
        {"\x48\xf7\xeb", 3, 2},         /* imul rbx */
        {"\x48\x0f\xaf\xc3", 4, 1},     /* imul rax, rbx */
        {"\x48\x87\xd8", 3, 2},         /* xchg rax, rbx */
        {"\xf2\x0f\x2a\xc0", 4, 2},     /* cvtsi2sd xmm0, eax */
        {"\xf2\x0f\x2a\x07", 4, 1},     /* cvtsi2sd xmm0, [rdi] */
        {"\xf2\x0f\x2c\xc0", 4, 2},     /* cvttsd2si eax, xmm0 */
        {"\x66\x0f\xc5\xc0\x01", 5, 2}, /* pextrw eax, xmm0, 1 */
        {"\x66\x0f\xc4\xc0\x01", 5, 2}, /* pinsrw xmm0, eax, 1 */
        {"\x66\x0f\xc4\x07\x01", 5, 1}, /* pinsrw xmm0, [rdi], 1 */
        {"\x66\x0f\x38\x17\xc1", 5, 2}, /* ptest xmm0, xmm1 */
        {"\xf2\x0f\x7c\xc1", 4, 3},     /* haddps xmm0, xmm1 */
        {"\x66\x0f\x38\x01\xc1", 5, 3}, /* phaddw */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(decode(cases[i].bytes, cases[i].n)->slots, cases[i].slots);
    }
}

/* Cycles of the largest bound with these words; 0 = none */
static double cycles_of(const struct carm_bounds_input *in, const char *words)
{
    static struct carm_bounds bounds;
    carm_bounds_find(in, &bounds);
    for (size_t i = 0; i < bounds.n; i++) {
        if (strstr(bounds.of[i].origin, words)) {
            return bounds.of[i].seconds * in->clock_hz;
        }
    }
    return 0.0;
}

TEST(busiest_pipes)
{
    struct carm_bounds_unit units[] = {
        {CARM_CORE_FP_SHUFFLE, "sse", "int8", 2.0, "byte-shuffle"},
        {CARM_CORE_FP_SHUFFLE, "sse", "int32", 2.0, "shuffle"},
        {CARM_CORE_VEC_INT_ADD, "sse", "int32", 3.0, "vector-int-add"},
    };
    struct carm_bounds_input in = {
        .rates.theory = &zen, .clock_hz = 1e9, .units = units, .nunits = 3};
    assert_near(cycles_of(&in, "4 vector pipes"), 7.0 / 4.0, 1e-9);
    units[2].count = 0.0;
    assert_near(cycles_of(&in, "3 vector pipes"), 4.0 / 3.0, 1e-9);
    units[1].count = 0.5;
    assert_near(cycles_of(&in, "2 vector pipes"), 1.0, 1e-9);
    in.zeroed = 9.5; /* zeroing takes a pipe, too */
    assert_near(cycles_of(&in, "4 vector pipes"), 12.0 / 4.0, 1e-9);
    in.zeroed = 0.0;
    units[0].isa = units[1].isa = "avx512"; /* two cycles of a pipe each */
    assert_near(cycles_of(&in, "2 vector pipes"), 2.0, 1e-9);
    in.rates.theory = NULL;
    assert_near(cycles_of(&in, "pipes"), 0.0, 0.0);
}

TEST(branches_have_a_pipe)
{
    struct carm_bounds_unit units[] = {{CARM_CORE_INT_ADD, "", "int64", 4.0, "int-add"},
                                       {CARM_CORE_CMOV, "", "int64", 0.0, "cmov"}};
    struct carm_bounds_input in = {.rates.theory = &zen,
                                   .clock_hz = 1e9,
                                   .units = units,
                                   .nunits = 2,
                                   .fused = 1.0,
                                   .branches = 1.0};
    /* of four additions one is a comparison fused with its jump */
    assert_near(cycles_of(&in, "integer pipes"), 4.0 / 5.0, 1e-9);
    assert_near(cycles_of(&in, "integer instructions"), 3.0 / 4.0, 1e-9);
    units[0].count = 1.0;
    units[1].count = 4.0; /* with the jump in three pipes */
    assert_near(cycles_of(&in, "2 integer pipes"), 2.0, 1e-9);
    in.branches = in.fused = 6.0;
    units[0].count = 6.0;
    assert_near(cycles_of(&in, "3 integer pipes"), 10.0 / 3.0, 1e-9);
}

TEST(loads_of_both_kinds)
{
    struct carm_bounds_input in = {
        .rates.theory = &zen, .clock_hz = 1e9, .loads = {1.0, 0.0, 1.0}, .stores = {1.0, 0.0, 1.0}};
    assert_near(cycles_of(&in, "load ports"), 2.0 / 3.0, 1e-9); /* 3 in a cycle, of vectors 2 */
    assert_near(cycles_of(&in, "store ports"), 1.0, 1e-9);
    in.loads[2] = 4.0;
    assert_near(cycles_of(&in, "load ports"), 2.0, 1e-9);
    in.loads[4] = 1.0; /* 64 bytes: two ports */
    assert_near(cycles_of(&in, "load ports"), 3.0, 1e-9);
}

/* Bounds' input of a loop of straight code whose last instruction jumps to the first. */
static struct carm_bounds_input input_of(const struct carm_microarchitecture *theory,
                                         const uint8_t *bytes, size_t n)
{
    static struct carm_bounds_unit units[CARM_RUN_UNITS_MAX];
    static char chain[CARM_RUN_CHAIN_MAX];
    struct carm_flow_code code = {.inner = true, .iterations = 100.0};
    struct carm_code_piece piece = {.end = n, .executions = 100.0, .jumps = true};
    struct carm_bounds_input in = {.rates.theory = theory, .clock_hz = 1e9};
    struct carm_graph graph;
    assert_ok(
        carm_flow_ops_decode(bytes, n, 0, 100.0, &code.ops, &code.nops, &code.ops_room, &err));
    piece.n = code.nops;
    code.pieces = &piece;
    code.npieces = 1;
    assert_ok(carm_run_code_input(&code, &graph, &in, units, chain, &err));
    carm_graph_close(&graph);
    free(code.ops);
    return in;
}

/* mov rax, [rdi + rax]; jmp: an index takes a cycle more */
TEST(indexed_loads)
{
    static const uint8_t bytes[] = {0x48, 0x8b, 0x04, 0x07, 0xeb, 0xfa};
    const struct carm_bounds_input in = input_of(&zen, bytes, sizeof bytes);
    assert_near(in.chain_cycles, 5.0, 1e-6); /* not the 4 of a load without an index */
}

/* Instructions enter in order, 6 in a cycle, of which 4 may take integer units: measured on Zen 4. */
TEST(dispatch)
{
    static const uint8_t load[] = {0x48, 0x8b, 0x46, 0x08}; /* mov rax, [rsi+8] */
    static const uint8_t lea[] = {0x4d, 0x8d, 0x4d, 0x01};  /* lea r9, [r13+1] */
    static const uint8_t end[] = {0x48, 0xff, 0xc9, 0x75, 0x00};
    static const struct {
        const char *order; /* l: load, a: lea; dec rcx and jne behind them */
        double cycles;
    } cases[] = {{"llllaaaaaaaa", 2.5},
                 {"laalaalaalaa", 2.25},
                 {"llllaaaaaaaaa", 3.0},
                 {"lll", 4.0 / 6.0},
                 {"aaaa", 1.25}};
    struct carm_microarchitecture core = zen;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[64];
        size_t n = 0;
        for (const char *c = cases[i].order; *c; c++, n += sizeof lea) {
            memcpy(bytes + n, *c == 'l' ? load : lea, sizeof lea);
        }
        memcpy(bytes + n, end, sizeof end);
        core.dispatch_integers = 4.0;
        struct carm_bounds_input in = input_of(&core, bytes, n + sizeof end);
        assert_near(in.dispatch_cycles, cases[i].cycles, 0.02);
        /* no bound of its own where it is that of all instructions */
        assert_near(cycles_of(&in, "enter, in order"),
                    in.dispatch_cycles > in.slots / 6.0 ? in.dispatch_cycles : 0.0, 1e-9);
        core.dispatch_integers = 0.0;
        in = input_of(&core, bytes, n + sizeof end);
        assert_near(in.dispatch_cycles, 0.0, 0.0);
    }
}

/* movsx eax, word ptr [rdi+rax*2]; jmp: the sign takes an integer unit where the load port has none for it */
TEST(loads_with_sign)
{
    static const uint8_t bytes[] = {0x0f, 0xbf, 0x04, 0x47, 0xeb, 0xfa};
    struct carm_microarchitecture core = zen;
    struct carm_bounds_input in = input_of(&core, bytes, sizeof bytes);
    assert_near(in.chain_cycles, 5.0, 1e-6);
    assert_int_equal(in.nunits, 0);
    core.ports[core.nports++] = (struct carm_theory_ports){"load-signed", "0123", 1};
    in = input_of(&core, bytes, sizeof bytes);
    assert_near(in.chain_cycles, 6.0, 1e-6);
    assert_int_equal(in.nunits, 1);
    assert_int_equal(in.units[0].kind, CARM_CORE_INT_ADD);
}
