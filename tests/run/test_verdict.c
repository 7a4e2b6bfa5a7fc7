/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dependence graphs and verdicts of loops that are written down as machine code: counts, chains and patterns are
 * exact, the time and the rates are given. */
#include "harness/profile/astray.h"
#include "models/place/points.h"
#include "run/parts.h"
#include "run/verdict.h"
#include "tests/unit.h"

/* Cycles, as Zen 4 has them. */
static const struct carm_microarchitecture zen = {
    .issue = 6.0,
    .widths = {{.loads = 2, .stores = 1, .accesses = 3},
               {.loads = 2, .stores = 1, .accesses = 3},
               {.loads = 2, .stores = 1, .accesses = 3},
               {.loads = 1, .stores = 0.5, .accesses = 1.5}},
    .core = {{"x87-add", "", "", 7, 1},
             {"add", "scalar", "dp", 3, 0.5},
             {"add", "avx2", "dp", 3, 0.5},
             {"mul", "scalar", "dp", 3, 0.5},
             {"fma", "scalar", "dp", 4, 0.5},
             {"fma", "avx2", "dp", 4, 0.5},
             {"div", "scalar", "dp", 13, 5},
             {"sqrt", "scalar", "dp", 20.8, 8.4},
             {"int-add", "", "", 1, 0.25},
             {"int-mul", "", "", 3, 1},
             {"load", "scalar", "", 7, 0.5},
             {"load", "", "", 4, 1.0 / 3.0},
             {"store", "", "", 0, 0.5},
             {"forward", "scalar", "", 10, 0},
             {"forward", "", "", 1, 0},
             {"forward-contained", "", "", 6.5, 0},
             {"forward-straddling", "", "", 19, 0},
             {"branch-taken", "", "", 0, 1},
             {"branch-mispredicted", "", "", 16, 0}},
    .ncore = 19,
};

static const double clock_hz = 4e9;

struct judged {
    struct carm_flow_code code;
    struct carm_graph graph;
    struct carm_bounds_input in;
    struct carm_bounds_unit units[CARM_RUN_UNITS_MAX];
    char chain[CARM_RUN_CHAIN_MAX];
    struct carm_bounds bounds;
    struct carm_verdict verdict;
};
static struct judged j;

/* A loop of one piece: its last instruction jumps back. cycles: of an iteration, measured */
static void judge(const uint8_t *bytes, size_t n, double cycles)
{
    struct carm_verdict_code about = {.scalar = true};
    carm_graph_close(&j.graph);
    carm_code_close(&j.code);
    memset(&j, 0, sizeof j);
    j.code.inner = true;
    j.code.at = 0x1000;
    j.code.iterations = 1000.0;
    j.code.pieces = calloc(1, sizeof *j.code.pieces);
    j.code.npieces = 1;
    assert_non_null(j.code.pieces);
    assert_ok(carm_flow_ops_decode(bytes, n, 0x1000, 1000.0, &j.code.ops, &j.code.nops,
                                   &j.code.ops_room, &err));
    j.code.pieces[0] = (struct carm_code_piece){.at = 0x1000,
                                                .end = 0x1000 + n,
                                                .n = j.code.nops,
                                                .executions = 1000.0,
                                                .target = 0x1000,
                                                .taken = 999.0,
                                                .jumps = true,
                                                .falls = true};
    j.in.rates.theory = &zen;
    j.in.clock_hz = clock_hz;
    assert_ok(carm_run_code_input(&j.code, &j.graph, &j.in, j.units, j.chain, &err));
    about.sums = carm_graph_is_sum(&j.graph);
    carm_bounds_find(&j.in, &j.bounds);
    carm_verdict_find(&j.bounds, cycles / clock_hz, 0.5, &about, &j.verdict);
}

static const struct carm_lower_bound *bound_of(const struct carm_bounds *b, enum carm_limit limit,
                                               const char *words)
{
    for (size_t i = 0; i < b->n; i++) {
        if (b->of[i].limit == limit && strstr(b->of[i].origin, words)) {
            return &b->of[i];
        }
    }
    return NULL;
}

#define JUDGE(bytes, cycles) judge(bytes, sizeof(bytes), cycles)

TEST(window)
{
    /* twelve times mulsd xmm0, xmm1 on a number of its own: movsd xmm0, [rdi]; ...; add rdi, 8; cmp rdi, rsi; jne */
    uint8_t code[4 + 12 * 4 + 9] = {0xf2, 0x0f, 0x10, 0x07};
    static const uint8_t mul[] = {0xf2, 0x0f, 0x59, 0xc1};
    static const uint8_t end[] = {0x48, 0x83, 0xc7, 0x08, 0x48, 0x39, 0xf7, 0x75, 0xc3};
    struct carm_graph_latencies latencies = {.load = 4.0, .load_vector = 7.0};
    struct carm_graph_window window = {.width = 6.0};
    double cycles = 0.0;
    for (int i = 0; i < 12; i++) {
        memcpy(code + 4 + 4 * i, mul, sizeof mul);
    }
    memcpy(code + 4 + 12 * 4, end, sizeof end);
    latencies.of[CARM_OPCODE_FP_MUL][CARM_OPCODE_SCALAR][CARM_OPCODE_DP] = 3.0;
    latencies.of[CARM_OPCODE_INT_ADD][CARM_OPCODE_GP][CARM_OPCODE_INT64] = 1.0;
    JUDGE(code, 10.0);
    /* iterations are independent: 15 instructions at 6 in a cycle */
    assert_ok(carm_graph_window(&cycles, &j.code, &latencies, &window, &err));
    assert_near(cycles, 15.0 / 6.0, 0.02);
    /* 36 cycles of multiplications behind a load, and 3.2 iterations fit into 48 instructions */
    window.reorder = 48;
    assert_ok(carm_graph_window(&cycles, &j.code, &latencies, &window, &err));
    assert_true(cycles > 10.5 && cycles < 13.5);
    /* of the multiplications 24 wait: those of two iterations */
    window = (struct carm_graph_window){.width = 6.0, .vector_queue = 24};
    assert_ok(carm_graph_window(&cycles, &j.code, &latencies, &window, &err));
    assert_true(cycles > 12.0 && cycles < 23.0);
    /* a chain is one in a window, too, and ends where the loop does */
    static const uint8_t sum[] = {0xf2, 0x0f, 0x59, 0x07, 0x48, 0x83, 0xc7,
                                  0x08, 0x48, 0x39, 0xf7, 0x75, 0xf3};
    JUDGE(sum, 3.1);
    window = (struct carm_graph_window){.width = 6.0, .reorder = 320};
    assert_ok(carm_graph_window(&cycles, &j.code, &latencies, &window, &err));
    assert_near(cycles, 3.0, 0.02);
    window.trips = 10;
    assert_ok(carm_graph_window(&cycles, &j.code, &latencies, &window, &err));
    assert_true(cycles < 1.0); /* 80 iterations are in flight: 8 entries of the loop */
    j.code.carried[CARM_REG_VECTOR] =
        UINT64_C(1) << CARM_REG_VECTOR; /* each goes on where the last one ended */
    assert_ok(carm_graph_window(&cycles, &j.code, &latencies, &window, &err));
    assert_near(cycles, 3.0, 0.02);
}

/* A loop that ends after some trips: rounded, and not known where it has none. */
TEST(window_of_trips)
{
    /* mulsd xmm0, [rdi]; add rdi, 8; cmp rdi, rsi; jne */
    static const uint8_t product[] = {0xf2, 0x0f, 0x59, 0x07, 0x48, 0x83, 0xc7,
                                      0x08, 0x48, 0x39, 0xf7, 0x75, 0xf3};
    static const struct {
        double trips;
        size_t whole; /* 0 = there is no window: this core's is not known */
    } cases[] = {{0.0, 0}, {0.99, 0}, {1.0, 1}, {1.49, 1}, {1.5, 2}, {9.6, 10}, {10.4, 10}};
    struct carm_graph_latencies latencies = {.load = 4.0, .load_vector = 7.0};
    latencies.of[CARM_OPCODE_FP_MUL][CARM_OPCODE_SCALAR][CARM_OPCODE_DP] = 3.0;
    latencies.of[CARM_OPCODE_INT_ADD][CARM_OPCODE_GP][CARM_OPCODE_INT64] = 1.0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct carm_graph_window window = {.width = 6.0, .trips = cases[i].whole};
        double cycles = 0.0;
        JUDGE(product, 3.1);
        if (cases[i].whole) {
            assert_ok(carm_graph_window(&cycles, &j.code, &latencies, &window, &err));
            assert_true(cycles > 0.0 && cycles < 3.0);
        }
        assert_ok(carm_run_code_window(&j.code, cases[i].trips, &j.in, &err));
        assert_near(j.in.window_cycles, cycles, 1e-9);
        assert_near(j.in.chain_cycles, cases[i].whole ? cycles : 3.0, 1e-6);
    }
}

TEST(chain)
{
    /* addsd xmm0, [rdi]; add rdi, 8; cmp rdi, rsi; jne */
    static const uint8_t sum[] = {0xf2, 0x0f, 0x58, 0x07, 0x48, 0x83, 0xc7,
                                  0x08, 0x48, 0x39, 0xf7, 0x75, 0xf3};
    JUDGE(sum, 3.1);
    assert_near(j.graph.cycles, 3.0, 1e-6);
    assert_int_equal(j.verdict.limit, CARM_LIMIT_CHAIN);
    assert_near(j.verdict.explains, 3.0 / 3.1, 1e-6);
    assert_int_equal(j.verdict.advice[0].code, CARM_ADVICE_BREAK_CHAIN);
    assert_int_equal(j.graph.accesses[0].pattern, CARM_PATTERN_STRIDE);
    assert_int_equal(j.graph.accesses[0].stride, 8);
    assert_near(j.in.slots, 3.0, 1e-9); /* cmp and jne are one */
    /* at most until the additions' units are full, as accumulators need an unrolled loop; at least with the jump
     * again and as much in place of the chain */
    assert_near(j.verdict.loop.high, 3.1 / 0.5, 1e-6);
    assert_near(j.verdict.loop.low, 3.1 / (0.1 + 2.0), 0.01);
    /* the same loop in a time that the chain does not explain */
    JUDGE(sum, 6.0);
    assert_int_equal(j.verdict.limit, CARM_LIMIT_UNKNOWN);
    assert_int_equal(j.verdict.second, CARM_LIMIT_CHAIN);
    assert_int_equal(j.verdict.nadvice, 0);
    /* faster than the chain can be: the bound is refuted */
    JUDGE(sum, 2.0);
    assert_true(j.verdict.bounds.of[0].refuted);
    assert_int_not_equal(j.verdict.limit, CARM_LIMIT_CHAIN);
}

TEST(multiplications)
{
    /* xor rax, rcx; imul rax, rdx; add rcx, 1; cmp rcx, rsi; jne */
    static const uint8_t hash[] = {0x48, 0x31, 0xc8, 0x48, 0x0f, 0xaf, 0xc2, 0x48,
                                   0x83, 0xc1, 0x01, 0x48, 0x39, 0xf1, 0x75, 0xf0};
    JUDGE(hash, 4.1);
    assert_near(j.graph.cycles, 4.0, 1e-6);
    assert_int_equal(j.verdict.limit, CARM_LIMIT_CHAIN);
    assert_non_null(strstr(j.chain, "3 of int-mul"));
    assert_int_equal(j.verdict.advice[0].code, CARM_ADVICE_INTERLEAVE); /* no sum */
}

/* Ciphers and hashes are chains of instructions of their own: aesenc xmm0, xmm1 or the others; dec rdi; jne */
TEST(ciphers)
{
    static const struct {
        uint8_t code[11], n;
        enum carm_opcode_class of;
    } all[] = {
        {{0x66, 0x0f, 0x38, 0xdc, 0xc1, 0x48, 0xff, 0xcf, 0x75, 0xf6}, 10, CARM_OPCODE_AES},
        {{0x0f, 0x38, 0xcb, 0xd1, 0x48, 0xff, 0xcf, 0x75, 0xf7}, 9, CARM_OPCODE_SHA256},
        {{0x66, 0x0f, 0x3a, 0x44, 0xc1, 0, 0x48, 0xff, 0xcf, 0x75, 0xf5}, 11, CARM_OPCODE_CLMUL}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        judge(all[i].code, all[i].n, 4.0);
        assert_near(j.graph.of[all[i].of], j.graph.cycles, 1e-6);
        assert_true(j.graph.cycles > 0.0);
    }
}

TEST(x87)
{
    /* fld tword [rdi]; add rdi, 16; faddp; cmp rdi, rsi; jne */
    static const uint8_t sum[] = {0xdb, 0x2f, 0x48, 0x83, 0xc7, 0x10, 0xde,
                                  0xc1, 0x48, 0x39, 0xf7, 0x75, 0xf3};
    /* two sums in turn: fxch before that load */
    static const uint8_t two[] = {0xd9, 0xc9, 0xdb, 0x2f, 0x48, 0x83, 0xc7, 0x10,
                                  0xde, 0xc1, 0x48, 0x39, 0xf7, 0x75, 0xf1};
    JUDGE(sum, 7.1);
    assert_near(j.graph.cycles, 7.0, 1e-6);
    assert_int_equal(j.verdict.limit, CARM_LIMIT_CHAIN);
    assert_non_null(strstr(j.chain, "x87-add"));
    JUDGE(two, 3.6);
    assert_near(j.graph.cycles, 3.5, 0.06);
}

TEST(divider)
{
    /* movsd xmm0, [rdi]; divsd xmm0, [rsi]; sqrtsd xmm0, xmm0; movsd [rdx], xmm0; add rdi, 8; add rsi, 8;
     * add rdx, 8; cmp rdi, rcx; jne */
    static const uint8_t code[] = {0xf2, 0x0f, 0x10, 0x07, 0xf2, 0x0f, 0x5e, 0x06, 0xf2,
                                   0x0f, 0x51, 0xc0, 0xf2, 0x0f, 0x11, 0x02, 0x48, 0x83,
                                   0xc7, 0x08, 0x48, 0x83, 0xc6, 0x08, 0x48, 0x83, 0xc2,
                                   0x08, 0x48, 0x39, 0xcf, 0x75, 0xdf};
    JUDGE(code, 14.0);
    assert_int_equal(j.verdict.limit, CARM_LIMIT_DIVIDER);
    assert_near(j.verdict.explains, 13.4 / 14.0, 1e-6);
    assert_true(j.graph.cycles < 1.01); /* nothing is carried but addresses */
}

TEST(memory_chain)
{
    /* movsd xmm0, [rsp-8]; addsd xmm0, xmm1; movsd [rsp-8], xmm0; sub rax, 1; jne */
    static const uint8_t code[] = {0xf2, 0x0f, 0x10, 0x44, 0x24, 0xf8, 0xf2, 0x0f,
                                   0x58, 0xc1, 0xf2, 0x0f, 0x11, 0x44, 0x24, 0xf8,
                                   0x48, 0x83, 0xe8, 0x01, 0x75, 0xea};
    /* mov [rdi], eax; mov [rdi+4], eax; mov rax, [rdi]; sub rcx, 1; jne */
    static const uint8_t straddles[] = {0x89, 0x07, 0x89, 0x47, 0x04, 0x48, 0x8b,
                                        0x07, 0x48, 0x83, 0xe9, 0x01, 0x75, 0xf2};
    /* a[i] = a[i-1] + x: movsd xmm0, [rdi-8]; addsd xmm0, xmm1; movsd [rdi], xmm0; add rdi, 8; cmp rdi, rsi; jne */
    static const uint8_t moves[] = {0xf2, 0x0f, 0x10, 0x47, 0xf8, 0xf2, 0x0f, 0x58,
                                    0xc1, 0xf2, 0x0f, 0x11, 0x07, 0x48, 0x83, 0xc7,
                                    0x08, 0x48, 0x39, 0xf7, 0x75, 0xea};
    JUDGE(code, 13.1);
    assert_near(j.graph.cycles, 13.0, 1e-6);
    assert_int_equal(j.verdict.limit, CARM_LIMIT_FORWARDING);
    assert_int_equal(j.verdict.advice[0].code, CARM_ADVICE_KEEP_IN_REGISTER);
    JUDGE(straddles, 20.0);
    assert_int_equal(j.verdict.limit, CARM_LIMIT_FORWARDING);
    assert_true(j.graph.accesses[2].straddles);
    JUDGE(moves, 13.1);
    assert_near(j.graph.cycles, 13.0, 1e-6);
}

/* A number in memory, counted up or multiplied, on a core that renames memory: plain loads cost nothing. */
TEST(renamed_memory)
{
    static const struct {
        uint8_t bytes[24];
        size_t n;
        double cycles;
    } all[] = {/* mov rax, [rsp - 8]; imul rax, rax, 5; mov [rsp - 8], rax; sub rcx, 1; jne */
               {{0x48, 0x8b, 0x44, 0x24, 0xf8, 0x48, 0x6b, 0xc0, 0x05, 0x48,
                 0x89, 0x44, 0x24, 0xf8, 0x48, 0x83, 0xe9, 0x01, 0x75, 0xec},
                20,
                3.0},
               /* mov eax, 5; imul rax, [rsp - 8]; mov [rsp - 8], rax */
               {{0xb8, 0x05, 0x00, 0x00, 0x00, 0x48, 0x0f, 0xaf, 0x44, 0x24, 0xf8,
                 0x48, 0x89, 0x44, 0x24, 0xf8, 0x48, 0x83, 0xe9, 0x01, 0x75, 0xea},
                22,
                9.0},
               /* add [rsp - 8], rax */
               {{0x48, 0x01, 0x44, 0x24, 0xf8, 0x48, 0x83, 0xe9, 0x01, 0x75, 0xf5}, 11, 1.0},
               /* movsxd rax, dword [rsp - 8]; add rax, 1; mov [rsp - 8], eax */
               {{0x48, 0x63, 0x44, 0x24, 0xf8, 0x48, 0x83, 0xc0, 0x01, 0x89, 0x44, 0x24, 0xf8, 0x48,
                 0x83, 0xe9, 0x01, 0x75, 0xed},
                19,
                7.0},
               /* movzx eax, byte [rsp - 8]; add eax, 1; mov [rsp - 8], al */
               {{0x0f, 0xb6, 0x44, 0x24, 0xf8, 0x83, 0xc0, 0x01, 0x88, 0x44, 0x24, 0xf8, 0x48, 0x83,
                 0xe9, 0x01, 0x75, 0xee},
                18,
                7.0},
               /* mov eax, [rsp - 8]; add eax, 1; mov [rsp - 8], eax */
               {{0x8b, 0x44, 0x24, 0xf8, 0x83, 0xc0, 0x01, 0x89, 0x44, 0x24, 0xf8, 0x48, 0x83, 0xe9,
                 0x01, 0x75, 0xef},
                17,
                1.0},
               /* pop rax; add rax, 1; push rax */
               {{0x58, 0x48, 0x83, 0xc0, 0x01, 0x50, 0x48, 0x83, 0xe9, 0x01, 0x75, 0xf4}, 12, 1.0}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        judge(all[i].bytes, all[i].n, 10.0);
        fail_if(fabs(j.graph.cycles - all[i].cycles) > 1e-6, "case %zu: %g cycles", i,
                j.graph.cycles);
    }
}

/* A tree: the load of the next node's address waits for the line that the comparison's load brings. */
TEST(fields)
{
    /* lea rdx, [rax+16]; cmp ecx, [rax]; mov rax, [rdx]; sub rsi, 1; jne */
    static const uint8_t one_line[] = {0x48, 0x8d, 0x50, 0x10, 0x3b, 0x08, 0x48, 0x8b,
                                       0x02, 0x48, 0x83, 0xee, 0x01, 0x75, 0xf1};
    /* ... [rax+64] */
    static const uint8_t next_line[] = {0x48, 0x8d, 0x50, 0x40, 0x3b, 0x08, 0x48, 0x8b,
                                        0x02, 0x48, 0x83, 0xee, 0x01, 0x75, 0xf1};
    static const double beyond[] = {0.0, 100.0, 0.0, 0.0, 0.0};
    const struct carm_graph_latencies latencies = {.load = 4.0, .beyond = beyond};
    struct carm_graph missing;
    JUDGE(one_line, 10.0);
    assert_ok(carm_graph_open(&missing, &j.code, &latencies, &err));
    assert_near(missing.cycles, 104.0, 1e-6);
    assert_true(missing.accesses[1].on_chain);
    carm_graph_close(&missing);
    JUDGE(next_line, 10.0);
    assert_ok(carm_graph_open(&missing, &j.code, &latencies, &err));
    assert_near(missing.cycles, 4.0, 1e-6);
    carm_graph_close(&missing);
}

TEST(patterns)
{
    /* mov rax, [rax]; sub rcx, 1; jne */
    static const uint8_t chase[] = {0x48, 0x8b, 0x00, 0x48, 0x83, 0xe9, 0x01, 0x75, 0xf7};
    /* mov eax, [rdi]; addsd xmm0, [rsi+rax*8]; addsd xmm1, [rdx]; add rdi, 4; add rdx, rbx; cmp rdi, rcx; jne */
    static const uint8_t gather[] = {0x8b, 0x07, 0xf2, 0x0f, 0x58, 0x04, 0xc6, 0xf2,
                                     0x0f, 0x58, 0x0a, 0x48, 0x83, 0xc7, 0x04, 0x48,
                                     0x01, 0xda, 0x48, 0x39, 0xcf, 0x75, 0xe9};
    JUDGE(chase, 4.0);
    assert_near(j.graph.cycles, 4.0, 1e-6);
    assert_int_equal(j.graph.accesses[0].pattern, CARM_PATTERN_INDIRECT);
    assert_true(j.graph.accesses[0].on_chain);
    JUDGE(gather, 3.0);
    assert_int_equal(j.graph.accesses[0].pattern, CARM_PATTERN_STRIDE);
    assert_int_equal(j.graph.accesses[0].stride, 4);
    assert_int_equal(j.graph.accesses[1].pattern, CARM_PATTERN_INDIRECT);
    assert_int_equal(j.graph.accesses[2].pattern, CARM_PATTERN_REGULAR);
}

/* vpscatterdd [rax + zmm0 * 4]{k1}, zmm1; vscatterdpd [rax + xmm0 * 8]{k1}, ymm1; sub ecx, 1; jnz: 16 and 4 stores */
TEST(scatters)
{
    static const uint8_t code[] = {0x62, 0xf2, 0x7d, 0x49, 0xa0, 0x0c, 0x80, 0x62, 0xf2, 0xfd,
                                   0x29, 0xa2, 0x0c, 0xc0, 0x83, 0xe9, 0x01, 0x75, 0xed};
    JUDGE(code, 24.0);
    for (size_t w = 0; w < CARM_BOUNDS_WIDTHS; w++) {
        assert_near(j.in.stores[w], w == 1 ? 20.0 : 0.0, 1e-9);
        assert_near(j.in.loads[w], 0.0, 0.0);
    }
    assert_near(j.in.gathered, 0.0, 0.0);
}

TEST(units)
{
    /* vfmadd231pd ymm0 .. ymm3, ymm8, ymm9; sub rcx, 1; jne: four chains are too few, eight would do */
    static const uint8_t fma[] = {0xc4, 0xc2, 0xbd, 0xb8, 0xc1, 0xc4, 0xc2, 0xbd, 0xb8,
                                  0xc9, 0xc4, 0xc2, 0xbd, 0xb8, 0xd1, 0xc4, 0xc2, 0xbd,
                                  0xb8, 0xd9, 0x48, 0x83, 0xe9, 0x01, 0x75, 0xe6};
    JUDGE(fma, 4.0);
    assert_near(j.graph.cycles, 4.0, 1e-6);
    assert_int_equal(j.verdict.limit, CARM_LIMIT_CHAIN);
    assert_int_equal(j.in.nunits, 2);
    assert_string_equal(j.units[0].isa, "avx2");
    assert_near(j.units[0].count, 4.0, 1e-9);
}

/* The next instructions wait for all of a piece that ends with a mispredicted jump. */
TEST(resolves)
{
    /* movzx eax, byte [rdi]; inc rdi; movsxd rax, [rsi+rax*4]; add rax, rsi; jmp rax */
    static const uint8_t dispatch[] = {0x0f, 0xb6, 0x07, 0x48, 0xff, 0xc7, 0x48, 0x63,
                                       0x04, 0x86, 0x48, 0x01, 0xf0, 0xff, 0xe0};
    JUDGE(dispatch, 20.0);
    j.code.pieces[0].jumps = j.code.pieces[0].falls = false;
    j.code.pieces[0].indirect = true;
    /* two targets, entered alike, whose instructions are not looked at here */
    struct carm_code_piece pieces[] = {j.code.pieces[0],
                                       {.at = 0x2000, .executions = 500.0, .entered = true},
                                       {.at = 0x3000, .executions = 500.0, .entered = true}};
    struct carm_flow_code code = j.code;
    code.pieces = pieces;
    code.npieces = 3;
    carm_graph_close(&j.graph);
    j.in.mispredicted = 0.0;
    assert_ok(carm_run_code_input(&code, &j.graph, &j.in, j.units, j.chain, &err));
    assert_near(j.in.mispredicted, 0.5, 1e-9);
    assert_near(j.in.resolve_cycles, 4.0 + 4.0 + 1.0, 1e-9);
    assert_near(j.in.astray, 0.5, 1e-9);
    /* of a quarter and three quarters, the target is another one in 3 of 8 jumps */
    struct carm_bounds_input uneven = j.in;
    pieces[1].executions = 250.0;
    pieces[2].executions = 750.0;
    uneven.mispredicted = uneven.astray = 0.0;
    carm_graph_close(&j.graph);
    assert_ok(carm_run_code_input(&code, &j.graph, &uneven, j.units, j.chain, &err));
    assert_near(uneven.astray, 0.375, 1e-9);
    carm_bounds_find(&j.in, &j.bounds);
    assert_near(bound_of(&j.bounds, CARM_LIMIT_BRANCHES, "")->seconds * clock_hz, 0.5 * 25.0, 1e-6);
    static struct carm_core_figure jump = {.kind = CARM_CORE_INDIRECT_MISPREDICTED, .latency = 20};
    const struct carm_model model = {.core = &jump, .ncore = 1};
    j.in.rates.model = &model;
    j.in.split_loads[3] = 0.0;
    carm_bounds_find(&j.in, &j.bounds);
    assert_near(bound_of(&j.bounds, CARM_LIMIT_BRANCHES, "")->seconds * clock_hz, 0.5 * 29.0, 1e-6);
    j.in.rates.model = NULL;
    /* where a call returns to is no target */
    pieces[1].at = pieces[0].end;
    j.code.ops[j.code.nops - 1].flags |= CARM_OPCODE_CALL;
    assert_false(carm_code_is_target(&code, 1));
    assert_true(carm_code_is_target(&code, 2));
}

/* A loop that calls functions by address: behind a misprediction all of its instructions are fetched anew. */
TEST(calls_go_astray)
{
    /* mov rdi, [rbx]; jmp over a piece of 100 cycles; movzx eax, byte [rdi]; call [rsi + rax * 8]; sub ecx, 1; jnz */
    static const uint8_t loop[] = {0x48, 0x8b, 0x3b, 0xeb, 0x04, 0x48, 0x0f, 0xaf, 0xff, 0x0f,
                                   0xb6, 0x07, 0xff, 0x14, 0xc6, 0x83, 0xe9, 0x01, 0x75, 0xec};
    static struct carm_graph_latencies latencies = {.load = 4.0, .load_vector = 7.0};
    latencies.of[CARM_OPCODE_INT_MUL][CARM_OPCODE_GP][CARM_OPCODE_INT64] = 100.0;
    JUDGE(loop, 20.0);
    struct carm_code_piece all[] = {
        {.at = 0x1000, .n = 2, .executions = 1000, .target = 0x1009, .jumps = true},
        {.at = 0x1005, .first = 2, .n = 1, .falls = true},
        {.at = 0x1009,
         .end = 0x100f,
         .first = 3,
         .n = 2,
         .executions = 1000,
         .calls = true,
         .falls = true},
        {.at = 0x100f,
         .end = 0x1014,
         .first = 5,
         .n = 2,
         .executions = 1000,
         .target = 0x1000,
         .taken = 999,
         .jumps = true,
         .falls = true}};
    all[1].end = all[2].at;
    all[0].end = all[1].at;
    struct carm_code_piece often = {.at = 0x2000, .executions = 600.0, .strays = 0.5},
                           rare = {.at = 0x3000, .executions = 400.0, .strays = 0.75},
                           strange = {.at = 0x10, .executions = 100.0, .strays = 1.0},
                           seldom = {.at = 0x4000, .executions = 10, .calls = true};
    struct carm_code_piece *const pieces[] = {&seldom, all, &often, &rare, &strange};
    struct carm_flow_code codes[] = {j.code, j.code, j.code, j.code, j.code};
    for (size_t i = 0; i < 5; i++) {
        codes[i].pieces = pieces[i];
        codes[i].npieces = i == 1 ? 4 : 1;
    }
    codes[4].module = 1; /* which has no call */
    const struct carm_flow_code *caller = carm_astray_caller(0, codes, 5);
    assert_ptr_equal(caller, &codes[1]);
    assert_null(carm_astray_caller(1, codes, 5));
    const struct carm_flow_code copy = codes[1];
    assert_true(carm_astray_takes_part(&copy, caller) && carm_astray_takes_part(&codes[2], caller));
    assert_true(carm_astray_takes_part(&codes[4], NULL));
    assert_false(carm_astray_takes_part(&codes[0], caller));
    const struct {
        const struct carm_flow_code *caller;
        uint32_t module;
        double taken; /* by the loop's branch */
        double branches, cycles;
    } told[] = {{caller, 0, 999, 600, 600 * 12.0}, /* three loads */
                {caller, 0, 400, 600, 600 * 8.0},  /* the way back is not known */
                {NULL, 1, 999, 100, 100 * 5.0}};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        struct carm_astray out = {.branches = 0.0};
        all[3].taken = told[i].taken;
        carm_astray_calls(told[i].caller, told[i].module, codes, 5, &latencies, &out);
        assert_near(out.branches, told[i].branches, 1e-9);
        assert_near(out.indirect, told[i].branches, 1e-9);
        assert_near(out.cycles, told[i].cycles, 1e-9);
    }
}

TEST(splits)
{
    /* vmovaps ymm0, [rdi]; add rdi, 32; cmp rdi, rsi; jne */
    static const uint8_t loads[] = {0xc5, 0xfc, 0x28, 0x07, 0x48, 0x83, 0xc7,
                                    0x20, 0x48, 0x39, 0xf7, 0x75, 0xf3};
    struct carm_bounds bounds;
    double before = 0.0, after = 0.0;
    JUDGE(loads, 1.0);
    for (size_t i = 0; i < j.bounds.n; i++) {
        before = j.bounds.of[i].limit == CARM_LIMIT_LOADS ? j.bounds.of[i].seconds : before;
    }
    j.in.split_loads[3] = 0.5;
    carm_bounds_find(&j.in, &bounds);
    for (size_t i = 0; i < bounds.n; i++) {
        after = bounds.of[i].limit == CARM_LIMIT_LOADS ? bounds.of[i].seconds : after;
    }
    assert_near(before, 1.0 / 3.0 / clock_hz, 1e-6 / clock_hz);
    /* a disturbed roof of 1.6 loads a cycle: the figure of the instruction is faster, and may not be exceeded */
    struct carm_memory_roof slow = {.level = "L1", .ldst = "1:0", .bytes_per_cycle = 1.6 * 32.0};
    struct carm_roofs roofs = {.isa = "avx2", .precision = "dp", .memory = &slow, .nmemory = 1};
    struct carm_core_figure load = {.kind = CARM_CORE_LOAD, .throughput = 0.25};
    snprintf(load.isa, sizeof load.isa, "avx2");
    snprintf(load.precision, sizeof load.precision, "dp");
    struct carm_model model = {.roofs = &roofs, .nroofs = 1, .core = &load, .ncore = 1};
    j.in.rates.model = &model;
    j.in.split_loads[3] = 0.0;
    carm_bounds_find(&j.in, &bounds);
    for (size_t i = 0; i < bounds.n; i++) {
        before = bounds.of[i].limit == CARM_LIMIT_LOADS ? bounds.of[i].seconds : before;
    }
    assert_near(before, 0.25 / clock_hz, 1e-6 / clock_hz);
    j.in.rates.model = NULL;
    assert_near(after, 0.5 / clock_hz, 1e-6 / clock_hz); /* half of them take as long as two */
}

/* Two threads with 0.5 and 0.16 s: the limit is judged by 0.66 s, and sharing the work out gains up to 1.5. */
TEST(unequal_threads)
{
    struct carm_run run = {.cpu_seconds = 0.66};
    struct carm_profile_row row = {.seconds = 0.5, .threads = 2, .share = 1.0};
    assert_near(carm_parts_seconds(&run, &row), 0.66, 1e-12);
    row.share = 0.5; /* never less than the longest alone */
    assert_near(carm_parts_seconds(&run, &row), 0.5, 1e-12);
    row.share = 2.0;
    assert_near(carm_parts_seconds(&run, &row), 1.0, 1e-12);
    run.cpu_seconds = 0.0; /* not known */
    assert_near(carm_parts_seconds(&run, &row), 1.0, 1e-12);
    row.threads = 0; /* no samples */
    assert_near(carm_parts_seconds(&run, &row), 0.5, 1e-12);
    struct carm_verdict v = {.limit = CARM_LIMIT_DIVIDER, .second = CARM_LIMIT_UNKNOWN};
    carm_verdict_unequal(&v, 0.5, 0.41);
    assert_int_equal(v.nadvice, 0);
    carm_verdict_unequal(&v, 0.5, 0.33);
    carm_verdict_unequal(&v, 0.5, 0.33);
    assert_int_equal(v.nadvice, 1);
    assert_int_equal(v.advice[0].code, CARM_ADVICE_BALANCE);
    assert_int_equal(v.advice[0].removes, CARM_LIMIT_WAITING);
    assert_near(v.advice[0].gain.high, 0.5 / 0.33, 1e-9);
    /* it is no advice about the divider */
    assert_int_equal(carm_verdict_first(&v), CARM_ADVICE_COUNT);
    assert_int_equal(carm_verdict_keep(&v).advice, CARM_ADVICE_COUNT);
    v.limit = CARM_LIMIT_WAITING;
    assert_int_equal(carm_verdict_first(&v), CARM_ADVICE_BALANCE);
}

/* An interpreter's loop jumps by a number: no vectors. */
TEST(dispatchers)
{
    struct carm_code_piece pieces[2] = {{.jumps = true}, {.falls = true}};
    const struct carm_flow_code code = {.pieces = pieces, .npieces = 2};
    assert_false(carm_code_dispatches(&code));
    pieces[1].indirect = true;
    assert_true(carm_code_dispatches(&code));
}

/* The bound of a kind whose origin has the words; NULL = none */
TEST(code_lines)
{
    struct carm_microarchitecture lines = zen;
    /* the loop of test_chain, moved across a line: 13 bytes from 0x1038 on */
    static const uint8_t sum[] = {0xf2, 0x0f, 0x58, 0x07, 0x48, 0x83, 0xc7,
                                  0x08, 0x48, 0x39, 0xf7, 0x75, 0xf3};
    JUDGE(sum, 3.1);
    lines.code_line = 64.0;
    static const struct {
        uint64_t at;
        double fetched;
    } cases[] = {{0x1000, 0.999},
                 {0x1038, 1.999},
                 {0x1033, 1.0}, /* its last byte ends the line: what follows is in the next one */
                 {0x1034, 1.999}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_bounds_input in = {.rates.theory = &lines, .clock_hz = clock_hz};
        struct carm_graph graph;
        j.code.pieces[0].at = cases[i].at;
        j.code.pieces[0].end = j.code.pieces[0].at + sizeof sum;
        assert_ok(carm_run_code_input(&j.code, &graph, &in, j.units, j.chain, &err));
        assert_near(in.fetched, cases[i].fetched, 1e-6);
        carm_bounds_find(&in, &j.bounds);
        const struct carm_lower_bound *b = bound_of(&j.bounds, CARM_LIMIT_ISSUE, "lines of code");
        assert_true(!b == (cases[i].fetched < 1.0));
        assert_true(!b || (b->unrolls && fabs(b->seconds * clock_hz - cases[i].fetched) < 1e-6));
        carm_graph_close(&graph);
    }
}

/* lock add [rdi], rax; xchg [rsi], rdx; sub ecx, 1; jnz: an exchange with memory has a lock without the prefix. */
TEST(locks)
{
    static const uint8_t bytes[] = {0xf0, 0x48, 0x01, 0x07, 0x48, 0x87,
                                    0x16, 0x83, 0xe9, 0x01, 0x75, 0xf4};
    static struct carm_core_figure lock = {.kind = CARM_CORE_LOCK_ADD, .latency = 8.0};
    const struct carm_model model = {.core = &lock, .ncore = 1};
    const struct carm_verdict_code code = {.scalar = true};
    struct carm_verdict v;
    char text[256];
    judge(bytes, sizeof bytes, 17.0);
    assert_near(j.in.locked, 2.0, 1e-9);
    j.in.rates.model = &model;
    j.in.split_loads[3] = 0.0;
    carm_bounds_find(&j.in, &j.bounds);
    assert_near(bound_of(&j.bounds, CARM_LIMIT_CHAIN, "lock")->seconds * clock_hz, 16.0, 1e-9);
    carm_verdict_find(&j.bounds, 17.0 / clock_hz, 1.0, &code, &v);
    assert_int_equal(v.advice[0].code, CARM_ADVICE_FEWER_ATOMICS);
    const struct carm_verdict_kept kept = carm_verdict_keep(&v);
    assert_string_equal(carm_verdict_limited_by(text, sizeof text, &kept),
                        "dependent operations (atomic)");
    /* both are waiting for another core's line, at most */
    j.in.contended = 2.0;
    j.in.transfer_seconds = 20.0 / clock_hz;
    carm_bounds_find(&j.in, &j.bounds);
    carm_verdict_find(&j.bounds, 34.0 / clock_hz, 1.0, &code, &v);
    const struct carm_verdict_kept waits = carm_verdict_keep(&v);
    assert_string_equal(carm_verdict_limited_by(text, sizeof text, &waits),
                        "maybe memory latency (atomic)");
    carm_verdict_text(text, sizeof text, &waits);
    assert_int_equal(strncmp(text, "may be limited by memory latency (atomic) for 100% of", 53), 0);
}

TEST(words)
{
    static const char *const limits[] = {"issue",  "fp",      "divider", "integer",  "loads",
                                         "stores", "chain",   "l1",      "l2",       "l3",
                                         "dram",   "latency", "tlb",     "branches", "forwarding",
                                         "kernel", "waiting", "unknown"};
    for (int i = 0; i < CARM_OPCODE_CLASSES; i++) {
        enum carm_core_kind kind;
        const char *word = carm_opcode_word((enum carm_opcode_class)i);
        assert_true(!*word || carm_core_kind_parse(word, &kind));
    }
    assert_int_equal(CARM_LIMITS, sizeof limits / sizeof *limits);
    for (int i = 0; i < CARM_LIMITS; i++) {
        assert_string_equal(carm_limit_name((enum carm_limit)i), limits[i]);
    }
}

/* A verdict goes to a row and comes back from the row's point. */
TEST(kept)
{
    const struct carm_verdict_code code = {.sums = true, .scalar = true, .widening = 8.0};
    struct carm_run_verdict of = {.has = true};
    struct carm_bounds b = {.n = 0};
    struct carm_row row = {.seconds = 1.0};
    struct carm_point point = carm_point_blank();
    struct carm_verdict_kept kept;
    char text[256];
    carm_bounds_add(&b, CARM_LIMIT_CHAIN, 9.0, false, "x");
    carm_bounds_add(&b, CARM_LIMIT_ISSUE, 3.0, false, "x");
    carm_verdict_find(&b, 10.0, 1.0, &code, &of.verdict);
    assert_false(carm_point_verdict(&point, &kept));
    carm_run_verdict_row(&of, &row);
    point.limit = row.part.limit;
    point.limit_by = row.part.limit_by;
    point.second = row.part.second;
    point.advice = row.part.advice;
    point.explains = row.part.explains;
    point.gain_low = row.part.gain_low;
    point.gain_high = row.part.gain_high;
    assert_true(carm_point_verdict(&point, &kept));
    const struct carm_verdict_kept first = carm_verdict_keep(&of.verdict);
    assert_int_equal(kept.limit, first.limit); /* memory would be compared with its padding */
    assert_int_equal(kept.second, first.second);
    assert_int_equal(kept.estimate, first.estimate);
    assert_int_equal(kept.advice, first.advice);
    assert_near(kept.explains, first.explains, 0.0);
    assert_near(kept.loop.low, first.loop.low, 0.0);
    assert_near(kept.loop.high, first.loop.high, 0.0);
    assert_string_equal(carm_verdict_text(text, sizeof text, &kept),
                        "limited by dependent operations for 90% of its time: several "
                        "accumulators, or -ffast-math, shorten the chain, 1.4..27x");
}
