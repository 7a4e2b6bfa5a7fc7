/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hot loops of real programs, executed alone with data in L1, and the core's bounds of carm run for them.
 * usage: blocks find FILE OFFSET      the code of the loop of straight code at an offset of an ELF file: hex
 *        blocks settle OFFSET HEX     registers and memory with which it runs for some hundred iterations
 *        blocks time                  settled loops from standard input: the cycles of an iteration of each
 *        blocks bound MODEL           settled loops from standard input: the largest bound of the core of each
 *
 * A loop is settled when each of its addresses is in a few pages that fit into L1, and its own branch leaves it after
 * N iterations. Registers are drawn at random by their parts in addresses; the operands that the last comparison
 * reads are then set so that the loop ends. It is executed step by step (trap flag), which shows the addresses.
 * Its time is that of N iterations less that of the last half of them, over the iterations between: entry and exit
 * are the same, as it ends where the branch predictor does not expect it. Cycles are those of a chain of multiplications, of 3 cycles each, in the same rounds.
 * source: Chen et al. 2019, BHive: a benchmark suite and measurement framework for validating x86-64 basic block
 * performance models (pages that are mapped where a block accesses them) */
#include <fcntl.h>
#include <immintrin.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/assets.h"
#include "harness/machine/cpu.h"
#include "models/theory.h"

#include "run/verdict.h"
#include "tests/bench/random.h"

enum {
    BYTES_MAX = 2048,
    OPS_MAX = 400,
    CODE_PAGES = 4,
    PAGE = 4096,
    ARENA = 4096 + 256, /* bytes from one register's memory to the next: no multiple of 4096 */
    PAGES_MAX = 24,     /* mapped on demand */
    ITERATIONS_MAX = 700,
    STORES = 64, /* latest stores: more than a loop has under way */
    LINES_MAX = 400,
    TRIALS = 200,
    STEPS = 3000, /* of a trial, about */
};

#define CODE       UINT64_C(0x40000000)
#define DATA       UINT64_C(0x20000000)
#define DATA_BYTES (20 * (size_t)ARENA)

/* What memory is filled with: floating-point numbers of both precisions, zeros, small integers, a pointer, text. */
static const uint64_t fills[] = {UINT64_C(0x3ff000003f800000),
                                 0,
                                 UINT64_C(0x0101010101010101),
                                 UINT64_C(0x0000000100000001),
                                 DATA + ARENA,
                                 UINT64_C(0x7a6b656d61726d63)};
enum { FILLS = sizeof fills / sizeof *fills };

struct block {
    uint64_t offset; /* of its first byte in its file: its place in a line of code */
    uint8_t bytes[BYTES_MAX];
    size_t n;
    struct carm_flow_op *ops;
    size_t nops, room;
    size_t last; /* the instruction whose flags decide the loop's own branch */
};

/* Everything that the code of a trip reads. */
struct state {
    uint64_t gp[16];
    uint64_t fill;
};

struct settled {
    struct state begin, half;
    size_t iterations, rest; /* of an entry with begin, and with half */
    uint64_t pages[PAGES_MAX];
    size_t npages;
    double split[OPS_MAX]; /* share of the executions of a load or store that is of two lines */
    int forwards;          /* loads of bytes that a store under way has: some */
};

/* ---- entering and leaving a block ---- */

/* Read by the assembly below. */
struct gate {
    uint64_t gp[16];
    uint64_t target, trips, stack, width, flags;
    uint8_t vectors[64];
};
struct gate block_gate __attribute__((aligned(64), visibility("hidden")));
void block_enter(void) __attribute__((visibility("hidden")));
void block_left(void) __attribute__((visibility("hidden")));

#define EACH16(M) \
    M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15)
#define LOAD_X(n) "vmovups block_gate+168(%rip), %xmm" #n "\n"
#define LOAD_Y(n) "vmovups block_gate+168(%rip), %ymm" #n "\n"
#define LOAD_Z(n) "vmovups block_gate+168(%rip), %zmm" #n "\n"
__asm__(
    ".text\n.hidden block_enter\n.hidden block_left\n.globl block_enter\n.globl block_left\n"
    ".type block_enter, @function\nblock_enter:\n"
    "push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp, block_gate+144(%rip)\n"
    "1: mov block_gate+144(%rip), %rsp\nvzeroupper\n"
    "cmpq $32, block_gate+152(%rip)\njb 2f\nja 3f\n" EACH16(
        LOAD_Y) "jmp 4f\n"
                "2: " EACH16(
                    LOAD_X) "jmp 4f\n"
                            "3: " EACH16(
                                LOAD_Z) "4:\n"
                                        "mov block_gate+0(%rip), %rax\nmov block_gate+8(%rip), %rcx\nmov block_gate+16(%rip), %rdx\n"
                                        "mov block_gate+24(%rip), %rbx\nmov block_gate+40(%rip), %rbp\nmov block_gate+48(%rip), %rsi\n"
                                        "mov block_gate+56(%rip), %rdi\nmov block_gate+64(%rip), %r8\nmov block_gate+72(%rip), %r9\n"
                                        "mov block_gate+80(%rip), %r10\nmov block_gate+88(%rip), %r11\nmov block_gate+96(%rip), %r12\n"
                                        "mov block_gate+104(%rip), %r13\nmov block_gate+112(%rip), %r14\nmov block_gate+120(%rip), %r15\n"
                                        "pushq block_gate+160(%rip)\npopfq\n"
                                        "mov block_gate+32(%rip), %rsp\n"
                                        "jmp *block_gate+128(%rip)\n"
                                        "block_left:\n"
                                        "decq block_gate+136(%rip)\njnz 1b\n"
                                        "mov block_gate+144(%rip), %rsp\n"
                                        "pushq $0x202\npopfq\nvzeroupper\n"
                                        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\nret\n"
                                        ".size block_enter, .-block_enter\n");
_Static_assert(offsetof(struct gate, vectors) == 168, "the assembly has these offsets");

static struct {
    const struct block *block;
    uint64_t at;   /* of the block's first byte */
    uint8_t *code; /* CODE_PAGES, at CODE */
    bool stepping, inside;
    size_t index[BYTES_MAX]; /* instruction at a byte, + 1 */
    /* of a stepped entry */
    size_t iterations, most;
    struct state seen[ITERATIONS_MAX + 1];
    uint64_t pages[PAGES_MAX];
    size_t npages;
    struct {
        uint64_t at;
        unsigned bytes;
    } stores[STORES];
    size_t nstores;
    uint64_t lines[LINES_MAX];
    size_t nlines;
    double splits[OPS_MAX], executed[OPS_MAX];
    int forwards, aliased;
    uint64_t filling;
    sigjmp_buf back;
} here;

enum { LEFT, ENDLESS, FAULT, WIDE };

static void fill_page(uint64_t at, size_t bytes, uint64_t with)
{
    uint64_t *p = (uint64_t *)(uintptr_t)at;
    for (size_t i = 0; i < bytes / 8; i++) {
        p[i] = with;
    }
}

static void note_line(uint64_t line)
{
    for (size_t i = 0; i < here.nlines; i++) {
        if (here.lines[i] == line) {
            return;
        }
    }
    if (here.nlines == LINES_MAX) {
        siglongjmp(here.back, WIDE);
    }
    here.lines[here.nlines++] = line;
}

static void note_access(const struct carm_flow_op *op, uint64_t at, size_t i)
{
    const unsigned bytes = op->stores && op->store_bytes ? op->store_bytes : op->load_bytes;
    for (uint64_t line = at / 64; bytes && line <= (at + bytes - 1) / 64; line++) {
        note_line(line);
    }
    here.splits[i] += bytes && at % 64 + bytes > 64 ? 1.0 : 0.0;
    for (size_t k = 0; op->loads && k < STORES && k < here.nstores; k++) {
        const uint64_t apart = at - here.stores[k].at;
        const bool over = apart < here.stores[k].bytes || here.stores[k].at - at < bytes;
        const bool low = apart % PAGE < here.stores[k].bytes || (0 - apart) % PAGE < bytes;
        here.forwards += over ? 1 : 0;
        here.aliased += low && !over ? 1 : 0;
    }
    if (op->stores) {
        here.stores[here.nstores % STORES].at = at;
        here.stores[here.nstores++ % STORES].bytes = bytes;
    }
}

/* Registers of a signal's context in the order of instructions. */
static const int context_order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                      REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                      REG_R12, REG_R13, REG_R14, REG_R15};

static void trap(int signal, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    const uint64_t rip = (uint64_t)u->uc_mcontext.gregs[REG_RIP], at = rip - here.at;
    (void)info;
    (void)signal;
    if (!here.stepping) {
        siglongjmp(here.back, FAULT);
    }
    if (rip == (uintptr_t)block_left || (rip >= CODE && rip < CODE + 64)) {
        u->uc_mcontext.gregs[REG_EFL] &= ~INT64_C(0x100);
        here.stepping = false;
        return;
    }
    if (at >= here.block->n || !here.index[at]) {
        if (here.inside && at < 0x100000000 && here.code[rip - CODE] != 0xe9) {
            siglongjmp(here.back, FAULT);
        }
        return;
    }
    here.inside = true;
    const size_t i = here.index[at] - 1;
    const struct carm_flow_op *op = &here.block->ops[i];
    uint64_t gp[16];
    for (int k = 0; k < 16; k++) {
        gp[k] = (uint64_t)u->uc_mcontext.gregs[context_order[k]];
    }
    if (at == 0) {
        if (here.iterations == here.most) {
            siglongjmp(here.back, ENDLESS);
        }
        memcpy(here.seen[here.iterations++].gp, gp, sizeof gp);
    }
    here.executed[i] += 1.0;
    if ((op->loads || op->stores) && !(op->flags & CARM_OPCODE_GATHER)) {
        uint64_t address = (uint64_t)op->displacement;
        address += op->base != CARM_REG_NONE ? gp[op->base] : 0;
        address += op->index != CARM_REG_NONE ? gp[op->index] * op->scale : 0;
        address += op->absolute ? here.at - here.block->offset : 0;
        note_access(op, address, i);
    }
}

static void fault(int signal, siginfo_t *info, void *context)
{
    const uint64_t page = (uint64_t)(uintptr_t)info->si_addr & ~UINT64_C(0xfff);
    (void)context;
    if (signal == SIGSEGV && here.stepping && here.inside && page >= 0x10000 &&
        page < UINT64_C(1) << 46 && here.npages < PAGES_MAX &&
        mmap((void *)(uintptr_t)page, PAGE, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == (void *)(uintptr_t)page) {
        here.pages[here.npages++] = page;
        fill_page(page, PAGE, here.filling);
        return;
    }
    siglongjmp(here.back, FAULT);
}

static void catch_signals(void)
{
    static uint8_t stack[1 << 16];
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigaltstack(&other, NULL);
    action.sa_sigaction = trap;
    sigaction(SIGTRAP, &action, NULL);
    action.sa_sigaction = fault;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        sigaction(faults[i], &action, NULL);
    }
}

/* ---- a block's code ---- */

/* Reads the code of a loop from its first byte on. returns whether it is straight code with its own branch at its end */
static bool take_block(struct block *b, const uint8_t *bytes, size_t n, uint64_t offset)
{
    struct carm_err err;
    ZydisDecoder decoder;
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    uint64_t outside[OPS_MAX];
    size_t noutside = 0, count = 0;
    memset(b, 0, sizeof *b);
    b->offset = offset;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (size_t at = 0; at < n && count < OPS_MAX; at += in.length, count++) {
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes + at, n - at, &in, operands))) {
            return false;
        }
        const ZydisInstructionCategory c = in.meta.category;
        const bool jumps = c == ZYDIS_CATEGORY_COND_BR || c == ZYDIS_CATEGORY_UNCOND_BR;
        if (jumps && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
            const int64_t to = (int64_t)(at + in.length) + operands[0].imm.value.s;
            if (to == 0) {
                b->n = at + in.length;
                break;
            }
            if (c == ZYDIS_CATEGORY_UNCOND_BR) {
                return false;
            }
            outside[noutside++] = (uint64_t)to;
        } else if (jumps || c == ZYDIS_CATEGORY_CALL || c == ZYDIS_CATEGORY_RET ||
                   c == ZYDIS_CATEGORY_SYSCALL || c == ZYDIS_CATEGORY_PUSH ||
                   c == ZYDIS_CATEGORY_POP || c == ZYDIS_CATEGORY_X87_ALU ||
                   c == ZYDIS_CATEGORY_STRINGOP || c == ZYDIS_CATEGORY_SYSTEM ||
                   c == ZYDIS_CATEGORY_INTERRUPT ||
                   in.attributes & (ZYDIS_ATTRIB_HAS_LOCK | ZYDIS_ATTRIB_HAS_SEGMENT_FS) ||
                   in.meta.isa_ext == ZYDIS_ISA_EXT_MMX) {
            return false;
        }
    }
    for (size_t i = 0; i < noutside; i++) {
        if (outside[i] < b->n) {
            return false;
        }
    }
    if (!b->n || b->n > BYTES_MAX ||
        carm_flow_ops_decode(bytes, b->n, offset, 1.0, &b->ops, &b->nops, &b->room, &err) ||
        b->nops < 3) {
        return false;
    }
    memcpy(b->bytes, bytes, b->n);
    for (size_t i = 0; i < b->nops - 1; i++) {
        for (uint8_t k = 0; k < b->ops[i].nwrites; k++) {
            b->last = b->ops[i].writes[k] == CARM_REG_FLAGS ? i : b->last;
        }
    }
    return true;
}

/* Puts a block at its place in a page; its ways out lead to block_left.
 * returns the widest vector's bytes */
static unsigned place_block(const struct block *b)
{
    unsigned widest = 16;
    const uint64_t left = (uintptr_t)block_left;
    static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp [rip] */
    here.block = b;
    here.at = CODE + PAGE + b->offset % PAGE;
    memset(here.code, 0xcc, CODE_PAGES * PAGE);
    memcpy(here.code, jump, sizeof jump);
    memcpy(here.code + sizeof jump, &left, sizeof left);
    uint8_t *to = here.code + (here.at - CODE);
    memcpy(to, b->bytes, b->n);
    memset(here.index, 0, sizeof here.index);
    for (size_t i = 0; i <= b->nops; i++) {
        const struct carm_flow_op *op = &b->ops[i < b->nops ? i : 0];
        const size_t end = i < b->nops ? (size_t)(op->at - b->offset) + op->length : b->n;
        uint64_t exit = b->n;
        if (i < b->nops) {
            here.index[op->at - b->offset] = i + 1;
            widest = op->width == CARM_OPCODE_64                  ? 64
                     : op->width == CARM_OPCODE_32 && widest < 32 ? 32
                                                                  : widest;
            if (!(op->flags & CARM_OPCODE_BRANCH) || i + 1 == b->nops) {
                continue;
            }
            if (op->length >= 6) {
                const int32_t far = (int32_t)((int64_t)CODE - (int64_t)(here.at + end));
                memcpy(to + end - 4, &far, sizeof far);
                continue;
            }
            exit = (uint64_t)((int64_t)end + (int8_t)b->bytes[end - 1]);
        }
        /* a short way out: a jump at its target, unless that is beside another */
        uint8_t *from = to + (int64_t)exit;
        const int32_t far = (int32_t)((int64_t)CODE - (int64_t)(here.at + exit + 5));
        bool free_place = true;
        for (int k = 0; k < 5; k++) {
            free_place = free_place && from[k] == 0xcc;
        }
        if (free_place) {
            from[0] = 0xe9;
            memcpy(from + 1, &far, sizeof far);
        }
    }
    return widest;
}

static void load_state(const struct state *s, unsigned width, uint64_t trips, bool step)
{
    memcpy(block_gate.gp, s->gp, sizeof s->gp);
    for (size_t i = 0; i < sizeof block_gate.vectors / 8; i++) {
        memcpy(block_gate.vectors + 8 * i, &fills[s->fill], 8);
    }
    block_gate.target = here.at;
    block_gate.trips = trips;
    block_gate.width = width;
    block_gate.flags = step ? 0x302 : 0x202;
}

static void refill(const struct settled *s)
{
    fill_page(DATA, DATA_BYTES, fills[s->begin.fill]);
    for (size_t i = 0; i < s->npages; i++) {
        fill_page(s->pages[i], PAGE, fills[s->begin.fill]);
    }
}

/* One entry, step by step. returns how it ended */
static int step(const struct state *s, unsigned width, size_t most)
{
    here.iterations = here.nstores = here.nlines = 0;
    here.most = most;
    here.forwards = here.aliased = 0;
    memset(here.splits, 0, sizeof here.splits);
    memset(here.executed, 0, sizeof here.executed);
    here.filling = fills[s->fill];
    load_state(s, width, 1, true);
    const int ended = sigsetjmp(here.back, 1);
    if (!ended) {
        here.stepping = true;
        here.inside = false;
        block_enter();
        here.stepping = false;
        return LEFT;
    }
    here.stepping = false;
    __asm__ volatile("pushq $0x202\n\tpopfq\n\tcld" ::: "cc", "memory");
    return ended;
}

/* ---- registers ---- */

static void draw(const struct block *b, struct state *s)
{
    static const int64_t small[] = {0, 1, 2, 3, 4, 8, 16, 64, 128, 256, 512, -1, -8, -64, -256};
    bool base[16] = {false}, index[16] = {false};
    for (size_t i = 0; i < b->nops; i++) {
        const struct carm_flow_op *op = &b->ops[i];
        if (op->loads || op->stores) {
            /* of two registers either may be the pointer */
            const bool two = op->base < 16 && op->index < 16;
            const bool second = two && op->scale == 1 && (next_random() % (4)) == 0;
            if (op->base < 16) {
                *(second ? &index[op->base] : &base[op->base]) = true;
            }
            if (op->index < 16) {
                *(second ? &base[op->index] : &index[op->index]) = true;
            }
        }
    }
    for (int i = 0; i < 16; i++) {
        const uint64_t pointer = DATA + ARENA * (uint64_t)(i + 1) + 64 * (next_random() % (4));
        const uint64_t number = (uint64_t)small[(next_random() % (sizeof small / sizeof *small))];
        const bool points = base[i]    ? (next_random() % (20)) != 0
                            : index[i] ? (next_random() % (10)) == 0
                                       : (next_random() % (2)) == 0;
        s->gp[i] = points ? pointer : number;
    }
    s->fill = (next_random() % (3)) ? 0 : (next_random() % (FILLS));
}

/* Sets an operand of the last comparison so that it is reached after so many iterations. returns false: not known how */
static bool aim(const struct block *b, struct state *s, size_t iterations)
{
    const struct carm_flow_op *op = &b->ops[b->last];
    const struct state *a = &here.seen[1], *c = &here.seen[2], *d = &here.seen[3];
    const uint64_t mask = op->precision == CARM_OPCODE_INT32 ? UINT64_C(0xffffffff) : ~UINT64_C(0);
    if (here.iterations < 4 || op->to >= 16 || op->loads || op->stores) {
        return false;
    }
    const uint8_t to = op->to, from = op->from;
    const bool compares = op->value == CARM_VALUE_COMPARE && from < 16;
    const uint64_t x = a->gp[to] - (compares ? a->gp[from] : 0),
                   y = c->gp[to] - (compares ? c->gp[from] : 0),
                   z = d->gp[to] - (compares ? d->gp[from] : 0);
    if (((y - x) & mask) != ((z - y) & mask) || !((y - x) & mask)) {
        return false;
    }
    const uint64_t whole = (y - x) * iterations; /* moves so far until the end */
    const uint64_t goal = compares ? 0 : op->value == CARM_VALUE_COMPARE ? (uint64_t)op->number : 0;
    if (compares && a->gp[from] == c->gp[from]) {
        s->gp[from] = s->gp[to] + whole;
    } else if (compares) {
        s->gp[to] = s->gp[from] - whole;
    } else {
        s->gp[to] = goal - whole;
    }
    return true;
}

static bool fits_l1(void)
{
    unsigned sets[64] = {0}, most = 0;
    for (size_t i = 0; i < here.nlines; i++) {
        const unsigned n = ++sets[here.lines[i] % 64];
        most = n > most ? n : most;
    }
    return most <= 7;
}

static void unmap(void)
{
    for (size_t i = 0; i < here.npages; i++) {
        munmap((void *)(uintptr_t)here.pages[i], PAGE);
    }
    here.npages = 0;
}

/* One trial with a state: its iterations, once and again from the half. */
static bool try_state(const struct block *b, unsigned width, size_t longest, struct settled *out,
                      int want)
{
    struct settled s = {.begin = out->begin};
    refill(&s);
    const int ended = step(&s.begin, width, longest);
    *out = s;
    if (ended != LEFT || here.iterations < 32 || !fits_l1()) {
        return false;
    }
    if ((here.aliased && want < 2) || (here.forwards && want < 1)) {
        return false;
    }
    const size_t n = here.iterations, half = n / 2;
    s.iterations = n;
    s.half = here.seen[half];
    s.half.fill = s.begin.fill;
    s.forwards = here.forwards;
    for (size_t i = 0; i < b->nops; i++) {
        s.split[i] = here.executed[i] > 0.0 ? here.splits[i] / here.executed[i] : 0.0;
    }
    /* memory as the first entry left it: all later entries must be the same */
    if (step(&s.half, width, ITERATIONS_MAX) != LEFT || here.iterations != n - half) {
        return false;
    }
    s.rest = n - half;
    if (step(&s.begin, width, ITERATIONS_MAX) != LEFT || here.iterations != n) {
        return false;
    }
    memcpy(s.pages, here.pages, sizeof s.pages);
    s.npages = here.npages;
    *out = s;
    return true;
}

static bool settle(const struct block *b, struct settled *out)
{
    /* a step takes 5 us: fewer iterations of long loops */
    const size_t most = 40 + STEPS / b->nops < 400 ? 40 + STEPS / b->nops : 400;
    const size_t goals[] = {most, most / 2, 64, 40};
    const unsigned width = place_block(b);
    rng = 88172645463325252U + b->offset % PAGE;
    for (int trial = 0; trial < TRIALS; trial++) {
        const int want = trial < TRIALS / 2 ? 0 : trial < 3 * TRIALS / 4 ? 1 : 2;
        unmap();
        draw(b, &out->begin);
        const struct state drawn = out->begin;
        refill(out);
        step(&out->begin, width, 4);
        for (size_t g = 0; g < sizeof goals / sizeof *goals; g++) {
            out->begin = drawn;
            unmap();
            step(&out->begin, width, 4);
            const bool aimed = aim(b, &out->begin, goals[g]);
            unmap();
            if ((aimed || g == 0) && try_state(b, width, most + most / 2, out, want)) {
                return true;
            }
            if (!aimed) {
                break;
            }
        }
    }
    return false;
}

/* ---- text of settled blocks: one line each ---- */

static void print_settled(const struct block *b, const struct settled *s)
{
    printf("%llx ", (unsigned long long)b->offset % PAGE);
    for (size_t i = 0; i < b->n; i++) {
        printf("%02x", b->bytes[i]);
    }
    printf(" %zu %zu %d %llu", s->iterations, s->rest, s->forwards,
           (unsigned long long)s->begin.fill);
    for (int i = 0; i < 16; i++) {
        printf(" %llx", (unsigned long long)s->begin.gp[i]);
    }
    for (int i = 0; i < 16; i++) {
        printf(" %llx", (unsigned long long)s->half.gp[i]);
    }
    printf(" %zu", s->npages);
    for (size_t i = 0; i < s->npages; i++) {
        printf(" %llx", (unsigned long long)s->pages[i]);
    }
    for (size_t i = 0; i < b->nops; i++) {
        if (s->split[i] > 0.0) {
            printf(" %zu:%.4f", i, s->split[i]);
        }
    }
    putchar('\n');
}

static size_t from_hex(const char *text, uint8_t *bytes)
{
    size_t n = 0;
    unsigned v = 0;
    for (; n < BYTES_MAX && sscanf(text + 2 * n, "%2x", &v) == 1; n++) {
        bytes[n] = (uint8_t)v;
    }
    return n;
}

static bool read_settled(char *line, struct block *b, struct settled *s)
{
    uint8_t bytes[BYTES_MAX];
    char *word = strtok(line, " \n");
    memset(s, 0, sizeof *s);
    if (!word) {
        return false;
    }
    const uint64_t offset = strtoull(word, NULL, 16);
    word = strtok(NULL, " \n");
    if (!word || !take_block(b, bytes, from_hex(word, bytes), offset)) {
        return false;
    }
    s->iterations = strtoull(strtok(NULL, " "), NULL, 10);
    s->rest = strtoull(strtok(NULL, " "), NULL, 10);
    s->forwards = atoi(strtok(NULL, " "));
    s->begin.fill = s->half.fill = strtoull(strtok(NULL, " "), NULL, 10);
    for (int i = 0; i < 32; i++) {
        (i < 16 ? s->begin.gp : s->half.gp - 16)[i] = strtoull(strtok(NULL, " "), NULL, 16);
    }
    s->npages = strtoull(strtok(NULL, " \n"), NULL, 10);
    for (size_t i = 0; i < s->npages && i < PAGES_MAX; i++) {
        s->pages[i] = strtoull(strtok(NULL, " \n"), NULL, 16);
    }
    while ((word = strtok(NULL, " \n"))) {
        const size_t i = strtoull(word, &word, 10);
        s->split[i < OPS_MAX ? i : 0] = strtod(word + 1, NULL);
    }
    return true;
}

/* ---- time ---- */

static uint64_t ticks(void)
{
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
}

enum {
    CHAIN = 2000,
    ROUNDS = 40,
    TRIPS = 32,     /* at least, of a timed run */
    SPREAD_MAX = 16 /* iterations that a trip begins later than another, but one */
};

static double chain_ticks(void)
{
    uint64_t x = 3, n = CHAIN / 10;
    const uint64_t begin = ticks();
    __asm__ volatile("1: .rept 10\n\timul %0, %0\n\t.endr\n\tdec %1\n\tjnz 1b"
                     : "+r"(x), "+r"(n)::"cc");
    return (double)(ticks() - begin);
}

/* Ticks of a trip that begins with one of n states, at random: so the branch predictor does not learn when the loop
 * ends. Of two lengths it may know one, and loops of a cycle measured 1.17. */
static double trip_ticks(const struct state *from, size_t n, unsigned width, uint64_t trips)
{
    uint32_t *order = shuffled(n * trips);
    load_state(from, width, 1, false);
    const uint64_t begin = ticks();
    for (size_t i = 0; i < n * trips; i++) {
        memcpy(block_gate.gp, from[order[i] % n].gp, sizeof block_gate.gp);
        block_gate.trips = 1;
        _mm_lfence(); /* or chains of short loops overlap with those of the next trip */
        block_enter();
    }
    const double t = (double)(ticks() - begin);
    free(order);
    return t / (double)(n * trips);
}

/* Cycles of an iteration; 0 = it faults now, or does not end */
static double time_block(const struct block *b, const struct settled *s)
{
    static const uint64_t longest = 40000; /* instructions of a timed run: some 10 us */
    static struct state from[2][SPREAD_MAX];
    const unsigned width = place_block(b);
    const size_t n = s->rest / 2 < SPREAD_MAX ? s->rest / 2 : SPREAD_MAX;
    const uint64_t trips =
        1 + (uint64_t)(fmax((double)TRIPS, (double)longest / (double)(b->nops * s->iterations)) /
                       (double)n);
    volatile double whole = 1e300, rest = 1e300, chain = 1e300;
    for (size_t i = 0; i < s->npages; i++) {
        void *page = (void *)(uintptr_t)s->pages[i];
        if (mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                 0) != page) {
            return 0.0;
        }
    }
    refill(s);
    if (step(&s->begin, width, ITERATIONS_MAX) != LEFT || here.iterations != s->iterations ||
        sigsetjmp(here.back, 1)) {
        return 0.0;
    }
    for (size_t i = 0; i < n; i++) {
        from[0][i] = here.seen[i];
        from[1][i] = here.seen[s->iterations - s->rest + i];
        from[0][i].fill = from[1][i].fill = s->begin.fill;
    }
    alarm(2);
    for (int i = 0; i < ROUNDS; i++) {
        whole = fmin(whole, trip_ticks(from[0], n, width, trips));
        rest = fmin(rest, trip_ticks(from[1], n, width, trips));
        chain = fmin(chain, chain_ticks());
    }
    alarm(0);
    for (size_t i = 0; i < s->npages; i++) {
        munmap((void *)(uintptr_t)s->pages[i], PAGE);
    }
    return (whole - rest) / (double)(s->iterations - s->rest) / (chain / (3.0 * CHAIN));
}

/* ---- bounds ---- */

static bool is_core(enum carm_limit limit)
{
    return limit <= CARM_LIMIT_L1 || limit == CARM_LIMIT_FORWARDING;
}

static void print_bound(const struct block *b, const struct settled *s,
                        const struct carm_model *model, const struct carm_microarchitecture *theory)
{
    enum { TIMES = 1000 };
    static struct carm_bounds bounds;
    struct carm_flow_code code = {
        .inner = true, .at = b->offset, .iterations = TIMES, .ops = b->ops, .nops = b->nops};
    struct carm_bounds_unit units[CARM_RUN_UNITS_MAX];
    struct carm_bounds_input in = {
        .rates = {.model = model, .theory = theory}, .clock_hz = 1.0, .threads = 1};
    struct carm_code_piece pieces[OPS_MAX] = {{.at = b->offset}};
    char chain[CARM_RUN_CHAIN_MAX];
    struct carm_graph graph;
    struct carm_err err;
    size_t n = 0;
    for (size_t i = 0; i < b->nops; i++) {
        struct carm_flow_op *op = &b->ops[i];
        op->executions = TIMES;
        pieces[n].n++;
        pieces[n].end = op->at + op->length;
        if (op->flags & (CARM_OPCODE_BRANCH | CARM_OPCODE_JUMP)) {
            const bool own = i + 1 == b->nops;
            pieces[n].jumps = true;
            pieces[n].falls = (op->flags & CARM_OPCODE_BRANCH) != 0;
            pieces[n].target = own ? b->offset : b->offset + BYTES_MAX;
            pieces[n].taken = own ? TIMES : 0.0;
        }
        pieces[n].executions = TIMES;
        if (pieces[n].jumps && i + 1 < b->nops) {
            pieces[++n] = (struct carm_code_piece){.at = op->at + op->length, .first = i + 1};
        }
        const size_t w = op->width == CARM_OPCODE_GP                   ? 0
                         : fmax(op->load_bytes, op->store_bytes) <= 8  ? 1
                         : fmax(op->load_bytes, op->store_bytes) <= 16 ? 2
                         : fmax(op->load_bytes, op->store_bytes) <= 32 ? 3
                                                                       : 4;
        in.split_loads[w] += op->loads ? s->split[i] : 0.0;
        in.split_stores[w] += op->stores ? s->split[i] : 0.0;
    }
    code.pieces = pieces;
    code.npieces = n + 1;
    if (carm_run_code_input(&code, &graph, &in, units, chain, &err) ||
        carm_run_code_window(&code, 0.0, &in, &err)) {
        printf("-\n");
        return;
    }
    carm_bounds_find(&in, &bounds);
    for (size_t i = 0; i < bounds.n; i++) {
        if (is_core(bounds.of[i].limit) && !bounds.of[i].estimate) {
            printf("%.4f %s %s\n", bounds.of[i].seconds, carm_limit_name(bounds.of[i].limit),
                   bounds.of[i].origin);
            carm_graph_close(&graph);
            return;
        }
    }
    printf("0 - -\n");
    carm_graph_close(&graph);
}

/* ---- commands ---- */

static int find(const char *path, const char *offset)
{
    static uint8_t bytes[BYTES_MAX];
    struct block b;
    const uint64_t at = strtoull(offset, NULL, 0);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : pread(fd, bytes, sizeof bytes, (off_t)at);
    if (n <= 0 || !take_block(&b, bytes, (size_t)n, at)) {
        return 1;
    }
    for (size_t i = 0; i < b.n; i++) {
        printf("%02x", b.bytes[i]);
    }
    putchar('\n');
    return 0;
}

static int each_settled(const char *model_file)
{
    static char line[1 << 15];
    struct carm_err err = {.text = ""};
    struct carm_model *model = NULL;
    struct carm_theory_table *table = NULL;
    const struct carm_microarchitecture *theory = NULL;
    struct carm_cpu cpu;
    if (model_file) {
        const char *text = carm_asset_data_microarchitectures;
        carm_cpu_read(&cpu);
        if (carm_model_read(model_file, &model, &err) ||
            carm_theory_open(text, strlen(text), "data/microarchitectures.json", &table, &err)) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        theory = carm_theory_find_cpu(table, cpu.vendor, cpu.family, cpu.model,
                                      carm_cpu_guest_bytes(&cpu));
    }
    while (fgets(line, sizeof line, stdin)) {
        struct block b;
        struct settled s;
        if (!read_settled(line, &b, &s)) {
            printf("-\n");
        } else if (model) {
            print_bound(&b, &s, model, theory);
        } else {
            printf("%.4f\n", time_block(&b, &s));
        }
        fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct block b;
    struct settled s = {.iterations = 0};
    uint8_t bytes[BYTES_MAX];
    here.code =
        mmap((void *)(uintptr_t)CODE, CODE_PAGES * (size_t)PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    void *data = mmap((void *)(uintptr_t)DATA, DATA_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (here.code == MAP_FAILED || data == MAP_FAILED) {
        return 2;
    }
    catch_signals();
    _mm_setcsr(0x9fc0); /* denormal numbers are zero: they would take assists */
    if (argc == 4 && strcmp(argv[1], "find") == 0) {
        return find(argv[2], argv[3]);
    }
    if (argc == 4 && strcmp(argv[1], "settle") == 0) {
        if (!take_block(&b, bytes, from_hex(argv[3], bytes), strtoull(argv[2], NULL, 0)) ||
            !settle(&b, &s)) {
            return 1;
        }
        print_settled(&b, &s);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "time") == 0) {
        return each_settled(NULL);
    }
    if (argc == 3 && strcmp(argv[1], "bound") == 0) {
        return each_settled(argv[2]);
    }
    fputs("usage: blocks find FILE OFFSET | settle OFFSET HEX | time | bound MODEL\n", stderr);
    return 2;
}
