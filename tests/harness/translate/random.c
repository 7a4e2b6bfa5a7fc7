/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Executes blocks of random instructions and prints what they leave: registers, flags, memory, vectors,
 * MXCSR, x87 state, and where and with what they faulted. tests/harness/translate/test_translate.c compares
 * what it prints free and counted by translation.
 *     random SEED BLOCKS [v]  v: also each block's bytes */
#include <Zydis/Zydis.h>
#include <cpuid.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

/* Alone in their part of the address space, so that a random displacement hits nothing else. */
#define CODE ((uint8_t *)0x100000000000)
#define DATA ((uint8_t *)0x110000000000)
/* Code that stays, from which direct jumps lead to code that changes. */
#define STAYS (CODE - 65536)
enum { CODE_BYTES = 65536, DATA_BYTES = 65536, LONGEST = 15, INSNS = 6, XSAVE_BYTES = 16384 };

static uint64_t seed;

static uint64_t random64(void) /* splitmix64, by Sebastiano Vigna */
{
    uint64_t z = (seed += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static bool wanted(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *op)
{
    if (in->address_width == 32 && in->meta.category == ZYDIS_CATEGORY_STRINGOP) {
        return false; /* the translator refuses them */
    }
    if ((in->attributes & (ZYDIS_ATTRIB_HAS_SEGMENT_FS | ZYDIS_ATTRIB_HAS_SEGMENT_GS)) ||
        in->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE) {
        return false;
    }
    switch (in->meta.category) {
    case ZYDIS_CATEGORY_COND_BR: /* xbegin */
    case ZYDIS_CATEGORY_RET:     /* iret */
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_SEGOP:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_IOSTRINGOP:
    case ZYDIS_CATEGORY_VTX:
    case ZYDIS_CATEGORY_RDRAND:
    case ZYDIS_CATEGORY_RDSEED:
    case ZYDIS_CATEGORY_RDPID:
    case ZYDIS_CATEGORY_RDWRFSGS:
    case ZYDIS_CATEGORY_XSAVE:
    case ZYDIS_CATEGORY_XSAVEOPT:
    case ZYDIS_CATEGORY_CET:
    case ZYDIS_CATEGORY_AMX_TILE:
        return false;
    default:
        break;
    }
    switch (in->mnemonic) { /* time, this processor, and what the kernel may forbid */
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDTSCP:
    case ZYDIS_MNEMONIC_RDPMC:
    case ZYDIS_MNEMONIC_CPUID:
    case ZYDIS_MNEMONIC_XGETBV:
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFD:
    case ZYDIS_MNEMONIC_POPFQ:
    case ZYDIS_MNEMONIC_LSL:
    case ZYDIS_MNEMONIC_LAR:
    case ZYDIS_MNEMONIC_VERR:
    case ZYDIS_MNEMONIC_VERW:
    case ZYDIS_MNEMONIC_SMSW:
    case ZYDIS_MNEMONIC_SLDT:
    case ZYDIS_MNEMONIC_STR:
    case ZYDIS_MNEMONIC_SGDT:
    case ZYDIS_MNEMONIC_SIDT:
    case ZYDIS_MNEMONIC_LDMXCSR:
    case ZYDIS_MNEMONIC_VLDMXCSR:
    case ZYDIS_MNEMONIC_FLDENV:
    case ZYDIS_MNEMONIC_FNSTENV:
    case ZYDIS_MNEMONIC_FNSAVE:
    case ZYDIS_MNEMONIC_FRSTOR:
    case ZYDIS_MNEMONIC_FXSAVE:
    case ZYDIS_MNEMONIC_FXSAVE64:
    case ZYDIS_MNEMONIC_FXRSTOR:
    case ZYDIS_MNEMONIC_FXRSTOR64:
    case ZYDIS_MNEMONIC_FLDCW:
    case ZYDIS_MNEMONIC_MONITOR:
    case ZYDIS_MNEMONIC_MWAIT:
    case ZYDIS_MNEMONIC_MONITORX:
    case ZYDIS_MNEMONIC_MWAITX:
    case ZYDIS_MNEMONIC_UMWAIT:
    case ZYDIS_MNEMONIC_TPAUSE:
    case ZYDIS_MNEMONIC_RDPRU:
    case ZYDIS_MNEMONIC_RDPKRU:
    case ZYDIS_MNEMONIC_WRPKRU:
    case ZYDIS_MNEMONIC_STD:
    case ZYDIS_MNEMONIC_CLZERO:
        return false;
    default:
        break;
    }
    if (in->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) {
        return !(in->attributes & ZYDIS_ATTRIB_HAS_ADDRESSSIZE);
    }
    for (unsigned i = 0; i < in->operand_count; i++) {
        if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
            ZydisRegisterGetClass(op[i].reg.value) == ZYDIS_REGCLASS_SEGMENT) {
            return false;
        }
        if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY && op[i].mem.base == ZYDIS_REGISTER_EIP) {
            return false;
        }
    }
    return true;
}

/* Encodings that random bytes rarely hit get a prefix to begin with. */
static void fill(uint8_t *bytes)
{
    for (int i = 0; i < LONGEST; i++) {
        bytes[i] = (uint8_t)random64();
    }
    switch (random64() % 9) {
    case 0:
        bytes[0] = 0x0f;
        break;
    case 1:
        bytes[0] = 0xc5;
        break;
    case 2:
        bytes[0] = 0xc4;
        bytes[1] = (uint8_t)((bytes[1] & 0xe0) | (1 + bytes[1] % 3));
        break;
    case 3:
        bytes[0] = (uint8_t)(0x40 | (bytes[0] & 15));
        break;
    case 4:
        bytes[0] = bytes[0] & 1 ? 0xf3 : 0x66;
        bytes[1] = 0x0f;
        break;
    case 6: /* EVEX */
        bytes[0] = 0x62;
        bytes[1] = (uint8_t)((bytes[1] & 0xf0) | (1 + bytes[1] % 3));
        bytes[2] |= 4;
        break;
    case 5: /* strings, repeated or not */
        bytes[0] = bytes[0] & 1 ? 0xf3 : 0xf2;
        bytes[1] = (uint8_t)(0xa4 + bytes[1] % 12);
        break;
    default:
        break;
    }
    if (random64() % 3 == 0) { /* relative to the instruction pointer: near */
        bytes[random64() % 4] &= 0x3f;
    }
}

static unsigned generate(uint8_t *out, const ZydisDecoder *decoder)
{
    ZydisDecodedInstruction in;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
    unsigned used = 0;
    for (unsigned n = 1 + (unsigned)(random64() % INSNS); n > 0;) {
        uint8_t bytes[LONGEST];
        fill(bytes);
        if (ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder, bytes, sizeof bytes, &in, op)) &&
            wanted(&in, op)) {
            for (unsigned i = 0; i < in.operand_count; i++) {
                /* a displacement that stays in the neighbourhood */
                if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY && in.raw.disp.size == 32) {
                    const int32_t near = (int32_t)(random64() % 8192) - 4096;
                    memcpy(bytes + in.raw.disp.offset, &near, sizeof near);
                }
            }
            memcpy(out + used, bytes, in.length);
            used += in.length;
            n--;
        }
    }
    return used;
}

static void put_jump(uint8_t *at, const uint8_t *to)
{
    const int32_t off = (int32_t)(to - (at + 5));
    at[0] = 0xe9;
    memcpy(at + 1, &off, sizeof off);
}

/* What xsave keeps of vectors behind the first 512 bytes, by its number; no bytes: this machine has none. */
static const int parts[] = {2 /* upper halves */, 5 /* mask registers */,
                            6 /* upper halves of 512 bits */, 7};
static struct {
    uint32_t at, bytes;
} part[8];
static uint64_t kept = 3;

static void read_parts(void)
{
    uint32_t low = 0, high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        const unsigned p = (unsigned)parts[i];
        unsigned c = 0, d = 0;
        if (low >> p & 1) {
            __cpuid_count(0xd, p, part[p].bytes, part[p].at, c, d);
            kept |= UINT64_C(1) << p;
        }
    }
}

static struct {
    uint64_t reg[16], flags;
    uint64_t rsp; /* of this program */
} state __attribute__((used));
static uint8_t before[XSAVE_BYTES] __attribute__((aligned(64), used));
static uint8_t after[XSAVE_BYTES] __attribute__((aligned(64), used));
static sigjmp_buf back;
static struct {
    int signo, code;
    uint64_t rip, address;
} fault;

void run_block(void);
void end_of_block(void);
__asm__(".text\n"
        "run_block:\n\t"
        "push %rbx\n\tpush %rbp\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\t"
        "mov %rsp, state+136(%rip)\n\t"
        "mov $-1, %eax\n\tmov $-1, %edx\n\t"
        "and $0xe7, %eax\n\txor %edx, %edx\n\t"
        "xrstor64 before(%rip)\n\t"
        "push state+128(%rip)\n\tpopfq\n\t"
        "mov state+0(%rip), %rax\n\tmov state+8(%rip), %rcx\n\tmov state+16(%rip), %rdx\n\t"
        "mov state+24(%rip), %rbx\n\tmov state+40(%rip), %rbp\n\tmov state+48(%rip), %rsi\n\t"
        "mov state+56(%rip), %rdi\n\tmov state+64(%rip), %r8\n\tmov state+72(%rip), %r9\n\t"
        "mov state+80(%rip), %r10\n\tmov state+88(%rip), %r11\n\tmov state+96(%rip), %r12\n\t"
        "mov state+104(%rip), %r13\n\tmov state+112(%rip), %r14\n\tmov state+120(%rip), %r15\n\t"
        "mov state+32(%rip), %rsp\n\t"
        "jmp *entry(%rip)\n"
        "end_of_block:\n\t"
        "mov %rsp, state+32(%rip)\n\t"
        "mov state+136(%rip), %rsp\n\t"
        "pushfq\n\tpop state+128(%rip)\n\tcld\n\t"
        "mov %rax, state+0(%rip)\n\tmov %rcx, state+8(%rip)\n\tmov %rdx, state+16(%rip)\n\t"
        "mov %rbx, state+24(%rip)\n\tmov %rbp, state+40(%rip)\n\tmov %rsi, state+48(%rip)\n\t"
        "mov %rdi, state+56(%rip)\n\tmov %r8, state+64(%rip)\n\tmov %r9, state+72(%rip)\n\t"
        "mov %r10, state+80(%rip)\n\tmov %r11, state+88(%rip)\n\tmov %r12, state+96(%rip)\n\t"
        "mov %r13, state+104(%rip)\n\tmov %r14, state+112(%rip)\n\tmov %r15, state+120(%rip)\n\t"
        "mov $0xe7, %eax\n\txor %edx, %edx\n\txsave64 after(%rip)\n\t"
        "pop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbp\n\tpop %rbx\n\tret\n");

uint8_t *entry = STAYS;

static void on_fault(int signo, siginfo_t *info, void *context)
{
    static const int order[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15};
    const ucontext_t *uc = context;
    for (int i = 0; i < 16; i++) {
        state.reg[i] = (uint64_t)uc->uc_mcontext.gregs[order[i]];
    }
    /* The processor sets the resume flag. Arithmetic flags but the carry may be a counter's where the
     * program writes them next: it could not read them. */
    state.flags = (uint64_t)uc->uc_mcontext.gregs[REG_EFL] & ~UINT64_C(0x108d4);
    fault.signo = signo;
    fault.code = info->si_code;
    fault.rip = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
    fault.address = signo == SIGSEGV ? (uint64_t)(uintptr_t)info->si_addr : 0;
    const uint8_t *fp = (const uint8_t *)uc->uc_mcontext.fpregs;
    memcpy(after, fp, 512);
    uint64_t features;
    memcpy(&features, fp + 512, 8);
    memset(after + 512, 0, sizeof after - 512);
    memcpy(after + 512, &features, 8);
    for (unsigned p = 0; p < 8; p++) {
        if (features >> p & 1) {
            memcpy(after + part[p].at, fp + part[p].at, part[p].bytes);
        }
    }
    siglongjmp(back, 1);
}

static uint64_t hash(const void *bytes, size_t n, uint64_t h)
{
    const uint8_t *p = bytes;
    for (size_t i = 0; i < n; i++) {
        h = (h ^ p[i]) * 0x100000001b3U;
    }
    return h;
}

static void prepare(void)
{
    for (int i = 0; i < DATA_BYTES; i += 8) {
        const uint64_t word = i < DATA_BYTES / 2 ? random64() : 0;
        memcpy(DATA + i, &word, 8);
    }
    for (int i = 0; i < 16; i++) {
        const uint64_t r = random64();
        state.reg[i] = r & 3 ? (uint64_t)(uintptr_t)DATA + 16384 + (r >> 8) % 16384
                             : (r & 4 ? (r >> 8) % 64 : random64());
    }
    state.reg[1] = random64() % 200; /* repetitions */
    state.reg[4] = (uint64_t)(uintptr_t)DATA + 24576 + random64() % 64 * 8;
    state.flags = 0x202 | (random64() & 0x8d5);
    memset(before, 0, sizeof before);
    before[0] = 0x7f;
    before[1] = 3; /* x87: all masked */
    const uint32_t mxcsr = 0x1f80, mask = 0xffff;
    memcpy(before + 24, &mxcsr, 4);
    memcpy(before + 28, &mask, 4);
    for (int i = 160; i < 416; i += 8) {
        const double some = (double)(int64_t)(random64() % 2000) / 8 - 100;
        const uint64_t any = random64();
        memcpy(before + i, random64() & 1 ? (const void *)&some : (const void *)&any, 8);
    }
    for (unsigned p = 0; p < 8; p++) {
        for (uint32_t i = 0; i < part[p].bytes; i++) {
            before[part[p].at + i] = (uint8_t)random64();
        }
    }
    memcpy(before + 512, &kept, 8);
}

/* The tag word, pointers and opcode of the x87 that depend on where code lies are left out. */
static uint64_t hash_vectors(void)
{
    uint64_t h = hash(after, 5, 1);    /* control, status, tags */
    h = hash(after + 24, 4, h);        /* mxcsr */
    h = hash(after + 32, 416 - 32, h); /* registers */
    for (unsigned p = 0; p < 8; p++) {
        if (after[512] >> p & 1) {
            h = hash(after + part[p].at, part[p].bytes, h);
        }
    }
    return h;
}

int main(int argc, char **argv)
{
    ZydisDecoder decoder;
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    const unsigned blocks = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 100;
    static uint8_t stack[65536];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction act = {.sa_flags = SA_SIGINFO | SA_ONSTACK, .sa_sigaction = on_fault};
    const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
    (void)sigaltstack(&alternate, NULL);
    for (int i = 0; i < 5; i++) {
        (void)sigaction(signals[i], &act, NULL);
    }
    uint8_t *const landing = CODE + CODE_BYTES - 8192; /* jmp block */
    if (mmap(STAYS, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
            STAYS ||
        mmap(CODE, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) != CODE ||
        mmap(CODE + CODE_BYTES, DATA_BYTES, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != CODE + CODE_BYTES ||
        mmap(DATA, DATA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) != DATA) {
        return 2;
    }
    /* jrcxz first: a block that relies on nothing behind its jumps, and so stays translated */
    STAYS[0] = 0xe3;
    STAYS[1] = 5;
    put_jump(STAYS + 2, landing);
    put_jump(STAYS + 7, landing);
    /* A block may read where it goes when it ends: that address is the same in each run. */
    static const uint8_t leave[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp [rip] */
    uint8_t *const left = STAYS + 64;
    const uint64_t end = (uint64_t)(uintptr_t)end_of_block, leaves_to = (uint64_t)(uintptr_t)left;
    memcpy(left, leave, sizeof leave);
    memcpy(left + sizeof leave, &end, sizeof end);
    (void)mprotect(STAYS, 4096, PROT_READ | PROT_EXEC);
    read_parts();
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (unsigned b = 0; b < blocks; b++) {
        (void)mprotect(CODE, CODE_BYTES, PROT_READ | PROT_WRITE);
        uint8_t *const block = CODE + CODE_BYTES - 4096 - random64() % 64;
        const unsigned n = generate(block, &decoder);
        put_jump(landing, block);
        entry = b % 2 ? STAYS : landing; /* by a direct jump, and by an indirect one */
        memcpy(block + n, leave, sizeof leave);
        memcpy(block + n + sizeof leave, &leaves_to, sizeof leaves_to);
        (void)mprotect(CODE, CODE_BYTES, PROT_READ | PROT_EXEC);
        prepare();
        for (int i = 0; i < DATA_BYTES; i += 8) {
            const uint64_t word = (uint64_t)i * 0x9e3779b97f4a7c15U;
            memcpy(CODE + CODE_BYTES + i, &word, 8);
        }
        memset(after, 0, sizeof after);
        memset(&fault, 0, sizeof fault);
        if (argc > 3) {
            printf("%u:", b);
            for (unsigned i = 0; i < n; i++) {
                printf(" %02x", block[i]);
            }
            printf("\n");
            (void)fflush(stdout);
        }
        if (sigsetjmp(back, 1) == 0) {
            run_block();
        }
        uint64_t h = hash(DATA, DATA_BYTES, hash(CODE + CODE_BYTES, DATA_BYTES, 7));
        printf("%u %016llx %016llx f %llx s %d %d %llx %llx\n", b, (unsigned long long)h,
               (unsigned long long)hash_vectors(), (unsigned long long)state.flags, fault.signo,
               fault.code,
               (unsigned long long)(fault.rip ? fault.rip - (uint64_t)(uintptr_t)block : 0),
               (unsigned long long)fault.address);
        for (int i = 0; i < 16; i++) {
            printf(" %llx", (unsigned long long)state.reg[i]);
        }
        printf("\n");
    }
    return 0;
}
