/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pieces and loops of blocks that are known. */
#include <sys/mman.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

#include "harness/count/step/account.h"
#include "harness/profile/code.h"
#include "harness/profile/flow.h"
#include "harness/profile/graph.h"
#include "tests/harness/profile/hot.h"
#include "tests/unit.h"

static struct carm_blocks blocks;
static struct carm_flow flow;
static struct carm_step_counts rest;

/* A block of n instructions, one byte and one load each. */
static void block(uint64_t at, unsigned n, enum carm_tally_end end, uint64_t target,
                  uint64_t executions)
{
    struct carm_executed b = {.at = at, .executions = executions};
    b.row.times = 1;
    b.row.pc = at;
    b.row.bytes = n;
    b.row.end = (uint8_t)end;
    b.row.target = target;
    b.row.instructions = (uint16_t)n;
    b.row.loads = (uint16_t)n;
    assert_int_equal(
        carm_modules_add(&blocks.modules, "/app", 4, CARM_MODULE_UNREAD, -1, &b.module), 0);
    assert_int_equal(carm_blocks_add(&blocks, &b, NULL), 0);
}

static uint64_t begin_at_0(void *arg, uint32_t function)
{
    return 1000 * (uint64_t)function;
}

static uint64_t total(void)
{
    uint64_t sum = rest.instructions;
    for (size_t i = 0; i < flow.npieces; i++) {
        sum += flow.pieces[i].counts.instructions;
        assert_int_equal(flow.pieces[i].counts.instructions, flow.pieces[i].counts.loads);
    }
    return sum;
}

/* All at one function, or one for each 1000 bytes. returns what the blocks executed */
static uint64_t make(void)
{
    uint64_t executed = 0;
    memset(&rest, 0, sizeof rest);
    carm_blocks_sort(&blocks);
    for (size_t i = 0; i < blocks.nblocks; i++) {
        executed += blocks.blocks[i].executions * blocks.blocks[i].row.instructions;
    }
    assert_int_equal(carm_flow_open(&flow, &blocks, 0, &rest, NULL), 0);
    for (size_t i = 0; i < flow.npieces; i++) {
        flow.pieces[i].function = (uint32_t)(flow.pieces[i].at / 1000);
    }
    assert_int_equal(carm_flow_loops(&flow, begin_at_0, NULL, NULL), 0);
    return executed;
}

/* ... and the pieces together execute as much. */
static void make_all(void)
{
    const uint64_t executed = make();
    assert_int_equal(executed, total());
}

static int setup(void **state)
{
    carm_blocks_open(&blocks);
    return 0;
}

static int teardown(void **state)
{
    carm_flow_close(&flow);
    carm_blocks_close(&blocks);
    return 0;
}

/* for (i < 3) for (k < 10), entered once: the first round of each comes from the block before */
TEST_BETWEEN(nested, setup, teardown)
{
    block(0, 10, CARM_END_BRANCH, 5, 1); /* before 0 4, outer 4 5, inner 5 10 */
    block(4, 6, CARM_END_BRANCH, 5, 2);
    block(5, 5, CARM_END_BRANCH, 5, 27);
    block(10, 3, CARM_END_BRANCH, 4, 3);
    block(13, 1, CARM_END_RETURN, 0, 1);
    make_all();
    assert_int_equal(flow.nloops, 2);
    assert_int_equal(flow.loops[0].at, 4);
    assert_int_equal(flow.loops[0].executions, 3);
    assert_int_equal(flow.loops[0].entries_low, 1);
    assert_int_equal(flow.loops[0].entries_high, 1);
    assert_int_equal(flow.loops[1].at, 5);
    assert_int_equal(flow.loops[1].parent, 1);
    assert_int_equal(flow.loops[1].depth, 2);
    assert_int_equal(flow.loops[1].executions, 30);
    assert_int_equal(flow.loops[1].entries_low, 3);
    assert_int_equal(flow.loops[1].entries_high, 3);
    const struct carm_piece *inner = carm_flow_find(&flow, 7);
    assert_int_equal(inner->at, 5);
    assert_int_equal(inner->counts.instructions, 150);
    assert_int_equal(inner->loop, 2);
    assert_int_equal(carm_flow_find(&flow, 4)->counts.instructions, 3);
    assert_int_equal(carm_flow_find(&flow, 12)->loop, 1);
    assert_int_equal(carm_flow_find(&flow, 0)->loop, 0);
    assert_null(carm_flow_find(&flow, 14));
}

/* 48 instructions end a block wherever they end; one that begins later ends later. */
TEST_BETWEEN(long_blocks, setup, teardown)
{
    block(0, 48, CARM_END_NEXT, 0, 1);
    block(48, 10, CARM_END_BRANCH, 20, 1);
    block(20, 38, CARM_END_BRANCH, 20, 8);
    block(58, 2, CARM_END_RETURN, 0, 1);
    make_all();
    assert_int_equal(flow.nloops, 1);
    assert_int_equal(flow.loops[0].at, 20);
    assert_int_equal(flow.loops[0].executions, 9);
    assert_int_equal(flow.loops[0].entries_low, 1);
    assert_int_equal(carm_flow_find(&flow, 20)->counts.instructions, UINT64_C(9) * 28);
    assert_int_equal(carm_flow_find(&flow, 48)->counts.instructions, UINT64_C(9) * 10);
}

/* A jump into the midst of an instruction: both readings end alike. */
TEST_BETWEEN(prefix, setup, teardown)
{
    block(0, 4, CARM_END_RETURN, 0, 5);
    block(1, 3, CARM_END_RETURN, 0, 7);
    blocks.blocks[1].row.instructions = 4; /* without a lock prefix the same ones */
    blocks.blocks[1].row.loads = 4;
    make_all();
    assert_int_equal(carm_flow_find(&flow, 0)->counts.instructions, 0);
    assert_int_equal(carm_flow_find(&flow, 1)->counts.instructions, 48);
}

/* Two ways into a loop. */
TEST_BETWEEN(irreducible, setup, teardown)
{
    block(0, 2, CARM_END_BRANCH, 6, 2); /* once each way */
    block(2, 4, CARM_END_NEXT, 0, 10);
    block(6, 4, CARM_END_BRANCH, 2, 11);
    block(10, 1, CARM_END_RETURN, 0, 2);
    make_all();
    assert_int_equal(flow.nloops, 1);
    assert_true(flow.loops[0].irreducible);
}

/* A call returns to the loop; another function's jump does not make a loop of two functions. */
TEST_BETWEEN(calls, setup, teardown)
{
    block(0, 2, CARM_END_NEXT, 0, 1);
    block(2, 2, CARM_END_CALL, 1000, 100);
    block(4, 2, CARM_END_BRANCH, 2, 100);
    blocks.blocks[2].row.entered = 1;
    block(6, 1, CARM_END_RETURN, 0, 1);
    block(1000, 5, CARM_END_JUMP, 2000, 100);
    block(2000, 5, CARM_END_RETURN, 0, 100);
    make_all();
    assert_int_equal(flow.nloops, 1);
    assert_false(flow.loops[0].irreducible);
    assert_int_equal(flow.loops[0].at, 2);
    assert_int_equal(flow.loops[0].entries_low, 1);
    assert_int_equal(flow.loops[0].entries_high, 1);
}

/* An interpreter: a jump to computed places, each of which leads back. */
TEST_BETWEEN(computed, setup, teardown)
{
    block(0, 2, CARM_END_NEXT, 0, 1);
    block(2, 2, CARM_END_INDIRECT_JUMP, 0, 1000);
    block(10, 2, CARM_END_JUMP, 2, 600);
    blocks.blocks[2].row.entered = 1;
    block(20, 2, CARM_END_JUMP, 2, 399);
    blocks.blocks[3].row.entered = 1;
    block(30, 2, CARM_END_RETURN, 0, 1);
    blocks.blocks[4].row.entered = 1;
    make_all();
    assert_int_equal(flow.nloops, 1);
    assert_int_equal(flow.loops[0].at, 2);
    assert_int_equal(flow.loops[0].executions, 1000);
    assert_int_equal(flow.loops[0].entries_low, 1);
    assert_int_equal(flow.loops[0].entries_high, 1);
}

/* What cannot be told has bounds; a signal in the midst of a loop makes them wider, no more. */
TEST_BETWEEN(bounds, setup, teardown)
{
    /* both 0 and 2 lead to 10 or 20, and 10 to itself */
    block(0, 2, CARM_END_BRANCH, 10, 10);
    block(2, 2, CARM_END_BRANCH, 10, 6);
    block(4, 2, CARM_END_JUMP, 20, 3);
    block(10, 4, CARM_END_BRANCH, 10, 50);
    block(14, 1, CARM_END_NEXT, 0, 7);
    block(15, 5, CARM_END_NEXT, 0, 7);
    block(20, 1, CARM_END_RETURN, 0, 10);
    make_all();
    assert_int_equal(flow.nloops, 1);
    assert_true(flow.loops[0].entries_low <= 7 && flow.loops[0].entries_high >= 7);
    teardown(NULL);
    setup(NULL);
    block(0, 2, CARM_END_NEXT, 0, 1);
    block(2, 4, CARM_END_BRANCH, 2, 1001); /* interrupted once, so counted once more */
    block(4, 2, CARM_END_BRANCH, 2, 1);
    blocks.blocks[2].row.entered = 1;
    block(6, 1, CARM_END_RETURN, 0, 1);
    make_all();
    assert_int_equal(flow.nloops, 1);
    assert_false(flow.loops[0].irreducible);
    assert_true(flow.loops[0].entries_low <= 2);
}

/* setjmp returns twice: the entries of the function's loops stay exact. */
TEST_BETWEEN(leaps, setup, teardown)
{
    block(0, 4, CARM_END_NEXT, 0, 1);
    block(4, 4, CARM_END_BRANCH, 4, 90000); /* a loop that has nothing to do with it */
    block(8, 2, CARM_END_NEXT, 0, 1);
    block(10, 2, CARM_END_CALL, 1000, 2000); /* setjmp in a loop */
    block(12, 2, CARM_END_BRANCH, 16, 4000);
    blocks.blocks[4].row.entered = 1;
    block(14, 2, CARM_END_CALL, 2000, 2000); /* longjmp: nothing behind it */
    block(16, 2, CARM_END_BRANCH, 10, 2000);
    block(18, 1, CARM_END_RETURN, 0, 1);
    block(1000, 2, CARM_END_RETURN, 0, 2000);
    block(2000, 2, CARM_END_INDIRECT_JUMP, 0, 2000);
    make_all();
    assert_int_equal(flow.nloops, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(flow.loops[i].entries_low, 1);
        assert_int_equal(flow.loops[i].entries_high, 1);
    }
}

/* Extra counts go to the piece that holds their place; what no piece holds is the rest. */
TEST_BETWEEN(extras, setup, teardown)
{
    struct carm_extra extra = {.at = 2, .counts = {.instructions = 5, .loads = 5}};
    block(0, 4, CARM_END_RETURN, 0, 2);
    block(1, 1, CARM_END_PART, 0, 100);
    assert_int_equal(carm_blocks_add_extra(&blocks, &extra, NULL), 0);
    assert_int_equal(carm_blocks_add_extra(&blocks, &extra, NULL), 0);
    extra.at = 99;
    assert_int_equal(carm_blocks_add_extra(&blocks, &extra, NULL), 0);
    const uint64_t executed = make();
    assert_int_equal(executed + 15, total());
    assert_int_equal(blocks.nextras, 2);
    assert_int_equal(rest.instructions, 5);
    assert_int_equal(flow.pieces[0].counts.instructions, 8 + 100 + 10);
}

/* The loops of the program of known loops, from their bytes: no CPU needs their instructions. */
static double data[64];

#define HOT(name)                                                   \
    __attribute__((noinline, used)) static void name##_(uint64_t n) \
    {                                                               \
        LOOP(n, data, name);                                        \
    }
HOT(SCALAR)
HOT(SSE)
HOT(AVX2)
HOT(AVX512)
HOT(LIGHT)

static const struct hot {
    void (*code)(uint64_t n);
    unsigned instructions, loads, load_bytes, stores, store_bytes;
    unsigned precision, width, flops; /* [precision][width] of carm_step_counts */
} hot[] = {
    {SCALAR_, 4, 1, 8, 0, 0, 0, 0, 1}, {SSE_, 5, 1, 16, 1, 16, 0, 1, 2},
    {AVX2_, 4, 1, 32, 0, 0, 1, 2, 8},  {AVX512_, 4, 1, 64, 0, 0, 0, 3, 8},
    {LIGHT_, 5, 1, 8, 0, 0, 0, 0, 2},
};

/* Adds the block from one place in the code to another, so often executed. */
static void add_decoded(struct carm_accounts *accounts, const uint8_t *code, uint64_t from,
                        uint64_t to, enum carm_tally_end end, uint64_t target, uint64_t executions)
{
    struct carm_executed b = {.at = from, .executions = executions};
    struct carm_step_counts c = {.instructions = 0};
    for (uint64_t at = from; at < to;) {
        const struct carm_registers regs = {.rip = at};
        const struct carm_account *account =
            carm_accounts_find(accounts, at, code + at, CARM_INSTRUCTION_BYTES_MAX);
        assert_non_null(account);
        const uint8_t length = account->length;
        carm_accounts_apply(accounts, account, code + at, length, &regs, &c);
        at += length;
    }
    b.row = (struct carm_tally_row){.pc = from,
                                    .target = target,
                                    .bytes = (uint32_t)(to - from),
                                    .end = (uint8_t)end,
                                    .times = 1,
                                    .instructions = (uint16_t)c.instructions,
                                    .loads = (uint16_t)c.loads,
                                    .stores = (uint16_t)c.stores,
                                    .load_bytes = (uint32_t)c.load_bytes,
                                    .store_bytes = (uint32_t)c.store_bytes};
    for (int p = 0; p < 2; p++) {
        for (int w = 0; w < CARM_WIDTH_COUNT; w++) {
            b.row.flops[p][w] = (uint16_t)c.flops[p][w];
        }
    }
    assert_int_equal(
        carm_modules_add(&blocks.modules, "/app", 4, CARM_MODULE_UNREAD, -1, &b.module), 0);
    assert_int_equal(carm_blocks_add(&blocks, &b, NULL), 0);
}

/* Where the loop's branch is and where it goes to. */
static void find_branch(const uint8_t *code, uint64_t *target, uint64_t *behind)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction in;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
    assert_true(
        ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)));
    for (uint64_t at = 0; at < 400; at += in.length) {
        assert_true(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code + at, 15, &in, op)));
        if (in.mnemonic == ZYDIS_MNEMONIC_JNZ && op[0].imm.value.s < 0) {
            *behind = at + in.length;
            *target = *behind + op[0].imm.value.u;
            return;
        }
    }
    fail_msg("the loop has no end");
}

TEST_BETWEEN(known_loops, NULL, teardown)
{
    struct carm_accounts *accounts = NULL;
    assert_int_equal(carm_accounts_open(&accounts, NULL, NULL), 0);
    for (size_t i = 0; i < sizeof hot / sizeof *hot; i++) {
        const struct hot *h = &hot[i];
        const uint8_t *code = (const uint8_t *)(uintptr_t)h->code;
        uint64_t target = 0;
        uint64_t behind = 0;
        (void)setup(NULL);
        find_branch(code, &target, &behind);
        add_decoded(accounts, code, 0, behind, CARM_END_BRANCH, target, 1);
        add_decoded(accounts, code, target, behind, CARM_END_BRANCH, target, 999);
        memset(&rest, 0, sizeof rest);
        carm_blocks_sort(&blocks);
        assert_int_equal(carm_flow_open(&flow, &blocks, 0, &rest, NULL), 0);
        assert_int_equal(carm_flow_loops(&flow, begin_at_0, NULL, NULL), 0);
        assert_int_equal(flow.nloops, 1);
        assert_int_equal(flow.loops[0].executions, 1000);
        assert_int_equal(flow.loops[0].entries_low, 1);
        assert_int_equal(flow.loops[0].entries_high, 1);
        const struct carm_step_counts *c = &carm_flow_find(&flow, target)->counts;
        assert_int_equal(c->instructions, 1000 * h->instructions);
        assert_int_equal(c->loads, 1000 * h->loads);
        assert_int_equal(c->load_bytes, 1000 * h->load_bytes);
        assert_int_equal(c->stores, 1000 * h->stores);
        assert_int_equal(c->store_bytes, 1000 * h->store_bytes);
        for (unsigned p = 0; p < 2; p++) {
            for (unsigned w = 0; w < CARM_WIDTH_COUNT; w++) {
                const bool here = p == h->precision && w == h->width;
                assert_int_equal(c->flops[p][w], here ? 1000 * h->flops : 0);
            }
        }
        (void)teardown(state);
    }
    carm_accounts_close(accounts);
    (void)setup(NULL);
}

/* Programs of a run add their executions of the same code, in any order; rewritten code at the same place stays apart. */
TEST_BETWEEN(once, setup, teardown)
{
    enum { PROGRAMS = 3, BLOCKS = 5000 };
    for (unsigned k = 0; k < PROGRAMS; k++) {
        for (unsigned i = 0; i < BLOCKS; i++) {
            block(10 * ((uint64_t)i * 7 % BLOCKS), 1 + i % 2, CARM_END_NEXT, 0, i + 1);
        }
        if (k == 1) {
            carm_blocks_sort(&blocks);
        }
        block(10, 9, CARM_END_RETURN, 0, 1);
    }
    assert_int_equal(blocks.nblocks, BLOCKS + 1);
    carm_blocks_sort(&blocks);
    assert_int_equal(blocks.nblocks, BLOCKS + 1);
    uint64_t sum = 0;
    for (size_t i = 0; i < blocks.nblocks; i++) {
        assert_int_equal(blocks.blocks[i].executions % PROGRAMS, 0);
        assert_true(i == 0 || blocks.blocks[i].at >= blocks.blocks[i - 1].at);
        sum += blocks.blocks[i].executions;
    }
    assert_int_equal(sum, PROGRAMS * (BLOCKS * (BLOCKS + 1ULL) / 2 + 1));
}

/* Registers of which the next entry of an inner loop is made: aesenc xmm2, xmm1; dec rdi; jne inside,
 * before it two instructions of three bytes each, behind it dec rsi; jne. */
TEST(carried)
{
    enum { X2 = CARM_REG_VECTOR + 2, X3 = CARM_REG_VECTOR + 3, RDI = 7 };
    static const struct {
        uint8_t before[6];
        uint64_t x2, rdi;
    } all[] = {
        /* xorps xmm2, xmm3; mov rdi, rdx: the next block of a cipher */
        {{0x0f, 0x57, 0xd3, 0x48, 0x89, 0xd7}, 1ULL << X2 | 1ULL << X3, 1ULL << 2},
        /* xorps xmm2, xmm2; xorps xmm3, xmm3: all begins anew */
        {{0x0f, 0x57, 0xd2, 0x0f, 0x57, 0xdb}, 0, 1ULL << RDI},
        /* movaps xmm3, xmm2; movaps xmm2, [rax]: the value is loaded */
        {{0x0f, 0x28, 0xda, 0x0f, 0x28, 0x10}, 0, 1ULL << RDI},
    };
    static const uint8_t inner[] = {0x66, 0x0f, 0x38, 0xdc, 0xd1, 0x48, 0xff, 0xcf, 0x75, 0xf6},
                         behind[] = {0x48, 0xff, 0xce, 0x75, 0xeb};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct carm_loop loops[] = {
            {.depth = 1, .at = 0, .end = 21, .executions = 100},
            {.parent = 1, .depth = 2, .at = 6, .begin = 6, .end = 16, .executions = 1300}};
        struct carm_piece pieces[] = {
            {.at = 0, .end = 6, .executions = 100, .loop = 1},
            {.at = 6,
             .end = 16,
             .executions = 1300,
             .loop = 2,
             .ends = CARM_END_BRANCH,
             .target = 6},
            {.at = 16, .end = 21, .executions = 100, .loop = 1, .ends = CARM_END_BRANCH}};
        const struct carm_flow of = {.pieces = pieces, .npieces = 3, .loops = loops, .nloops = 2};
        struct carm_flow_code code;
        const int fd = memfd_create("code", MFD_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(pwrite(fd, all[i].before, 6, 0), 6);
        assert_int_equal(pwrite(fd, inner, sizeof inner, 6), sizeof inner);
        assert_int_equal(pwrite(fd, behind, sizeof behind, 16), sizeof behind);
        assert_ok(carm_code_open(&code, &of, 1, 0, 0, fd, &err));
        assert_true(code.inner && code.nops == 3);
        assert_true(code.carried[X2] == all[i].x2 && code.carried[RDI] == all[i].rdi);
        for (int k = CARM_REG_X87; k < CARM_REG_COUNT; k++) {
            assert_true(code.carried[k] == 0);
        }
        carm_code_close(&code);
        /* a loop that is in no other one */
        loops[1].parent = 0;
        assert_ok(carm_code_open(&code, &of, 1, 0, 0, fd, &err));
        assert_true(code.carried[X2] == 0 && code.carried[RDI] == 0);
        carm_code_close(&code);
        close(fd);
    }
}

/* The chain of a loop around another one, which one in ten iterations enters. It ends where the inner loop changes its
 * register:
 * mov eax, [rdi+rax*4]; add rax, rbx; cmp rax, rsi; jb behind
 * inner: add rcx, 1 (or rax); mov [rsp-8], rcx; cmp rcx, rdx; jne inner
 * behind: sub r8, 1; jne */
TEST(around)
{
    uint8_t code[] = {0x8b, 0x04, 0x87, 0x48, 0x01, 0xd8, 0x48, 0x39, 0xf0, 0x72, 0x0e,
                      0x48, 0x83, 0xc1, 0x01, 0x48, 0x89, 0x4c, 0x24, 0xf8, 0x48, 0x39,
                      0xd1, 0x75, 0xf2, 0x49, 0x83, 0xe8, 0x01, 0x75, 0xe1};
    enum { INNER = 11, CHANGED = 13, BEHIND = 25, RAX = 0, RCX = 1 };
    struct carm_loop loops[] = {
        {.depth = 1, .at = 0, .end = sizeof code, .executions = 1000},
        {.parent = 1, .depth = 2, .at = INNER, .begin = INNER, .end = BEHIND, .executions = 1300}};
    struct carm_piece pieces[] = {
        {.at = 0, .end = INNER, .executions = 1000, .loop = 1, .target = BEHIND, .taken = 900},
        {.at = INNER, .end = BEHIND, .executions = 1300, .loop = 2, .target = INNER, .taken = 1200},
        {.at = BEHIND, .end = sizeof code, .executions = 1000, .loop = 1, .taken = 999}};
    const struct carm_flow of = {.pieces = pieces, .npieces = 3, .loops = loops, .nloops = 2};
    struct carm_graph_latencies latencies = {.load = 4.0};
    latencies.of[CARM_OPCODE_INT_ADD][CARM_OPCODE_GP][CARM_OPCODE_INT64] = 1.0;
    for (int i = 0; i < 3; i++) {
        pieces[i].ends = CARM_END_BRANCH;
    }
    for (int changes = 0; changes < 2; changes++) {
        struct carm_flow_code outer;
        struct carm_graph graph;
        const int fd = memfd_create("code", MFD_CLOEXEC);
        code[CHANGED] = changes ? 0xc0 : 0xc1;
        assert_int_equal(pwrite(fd, code, sizeof code, 0), sizeof code);
        assert_ok(carm_code_open(&outer, &of, 0, 0, 0, fd, &err));
        assert_true(!outer.inner && outer.ngaps == 1 && outer.gaps[0].stores);
        assert_true(outer.gaps[0].writes[changes ? RAX : RCX]);
        assert_false(outer.gaps[0].writes[changes ? RCX : RAX]);
        assert_ok(carm_graph_open(&graph, &outer, &latencies, &err));
        assert_near(graph.cycles, changes ? 1.0 : 5.0, 1e-6);
        carm_graph_close(&graph);
        carm_code_close(&outer);
        close(fd);
    }
}

/* A virtual call with three targets. */
TEST(strays)
{
    struct carm_piece pieces[] = {
        {.at = 0, .end = 6, .executions = 1000, .ends = CARM_END_INDIRECT_CALL},
        {.at = 100, .end = 101, .executions = 500, .function = 2, .entered = true},
        {.at = 101, .end = 102, .executions = 400, .function = 2, .entered = true},
        {.at = 200, .end = 201, .executions = 300, .function = 4, .entered = true},
        {.at = 300, .end = 301, .executions = 200, .function = 6, .entered = true},
        {.at = 400, .end = 401, .executions = 10, .ends = CARM_END_INDIRECT_CALL, .function = 8}};
    const struct carm_flow of = {.pieces = pieces, .npieces = 6};
    static const struct {
        uint32_t function;
        double strays;
    } all[] = {{2, 0.5}, {4, 0.7}, {6, 0.8}, {0, 0.0}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct carm_flow_code code;
        assert_ok(carm_code_open(&code, &of, CARM_CODE_BODY, all[i].function, 0, -1, &err));
        assert_true(code.npieces >= 1 && fabs(code.pieces[0].strays - all[i].strays) < 1e-9);
        carm_code_close(&code);
        /* another instruction calls as often: its targets are not known */
        pieces[5].executions = 1000;
        assert_ok(carm_code_open(&code, &of, CARM_CODE_BODY, all[i].function, 0, -1, &err));
        assert_true(code.pieces[0].strays == 0.0);
        carm_code_close(&code);
        pieces[5].executions = 10;
        /* targets in another module */
        pieces[1].executions = 100;
        assert_ok(carm_code_open(&code, &of, CARM_CODE_BODY, all[i].function, 0, -1, &err));
        assert_true(code.pieces[0].strays == 0.0);
        carm_code_close(&code);
        pieces[1].executions = 500;
    }
}
