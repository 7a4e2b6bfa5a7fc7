/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Leaves and enters the cache. Outside of the cache, the program's registers are in the thread's state. */
#include <string.h>

#include "harness/translate/engine/emit/emit.h"
#include "harness/translate/engine/kernel/kernel.h"
#include "harness/translate/engine/trace/trace.h"
#include "harness/translate/engine/sys.h"

void carm_engine_direct(struct carm_thread *t);
void carm_engine_miss(struct carm_thread *t);
void carm_engine_callout(struct carm_thread *t);
void carm_engine_special(struct carm_thread *t);
void carm_engine_next(struct carm_thread *t);
void carm_engine_pending(struct carm_thread *t);

/* The block at pc; NULL: the counting is given up. Call with the lock held. */
static struct carm_block *block_at(struct carm_thread *t, uint64_t pc, bool indirect)
{
    const char *why = NULL;
    struct carm_block *block = carm_translated(pc, indirect);
    if (block) {
        return block;
    }
    carm_vectors_save(t);
    block = carm_translate(pc, indirect, &why);
    carm_vectors_load(t);
    if (!block) {
        carm_give_up(why);
    }
    return block;
}

static bool stopped(void)
{
    return carm_given_up() || __atomic_load_n(&CARM_CONTROL->stop, __ATOMIC_RELAXED);
}

void carm_detach(struct carm_thread *t, uint64_t pc)
{
    t->rip = pc;
    t->code = pc;
    t->flags |= t->align_check ? CARM_FLAG_AC : 0;
    t->detached = 1;
    carm_signals_detach(t);
    carm_release(t);
}

/* The vsyscall page, which the kernel emulates (unless vsyscall=none) and which cannot be read. Its
 * three functions make a system call and return.
 * returns the address at which the program goes on: pc itself, if pc is none of the functions */
static uint64_t vsyscall(struct carm_thread *t, uint64_t pc)
{
    enum { FUNCTIONS = 3 };
    static const uint16_t calls[FUNCTIONS] = {SYS_gettimeofday, SYS_time, SYS_getcpu};
    const uint64_t off = pc - UINT64_C(0xffffffffff600000);
    uint64_t back = 0;
    if (off % 1024 != 0 || off / 1024 >= FUNCTIONS) {
        return pc;
    }
    carm_lock();
    const bool there = carm_ranges_look(pc) != NULL;
    carm_unlock();
    if (!there || carm_copy_from(&back, t->reg[RSP], sizeof back) != 0) {
        return pc;
    }
    t->reg[RAX] = (uint64_t)carm_sys4(calls[off / 1024], t->reg[RDI], t->reg[RSI], t->reg[RDX], 0);
    t->reg[RSP] += sizeof back;
    return back;
}

static _Noreturn void go_on(struct carm_thread *t, uint64_t pc, bool indirect,
                            struct carm_link *link)
{
    t->rip = pc;
    if (stopped()) {
        carm_detach(t, pc);
    }
    pc = vsyscall(t, pc);
    t->rip = pc;
    carm_lock();
    struct carm_block *block = block_at(t, pc, indirect);
    if (block && link) {
        carm_cache_link(link, block);
    }
    carm_unlock();
    if (!block) {
        carm_detach(t, pc);
    }
    t->code = (uint64_t)block->code;
    carm_resume(t);
}

void carm_go_on(struct carm_thread *t, uint64_t pc, bool indirect)
{
    go_on(t, pc, indirect, NULL);
}

void carm_engine_direct(struct carm_thread *t)
{
    struct carm_link *link = &carm_links[t->link];
    go_on(t, link->target, false, link);
}

void carm_engine_miss(struct carm_thread *t)
{
    go_on(t, t->target, true, NULL);
}

void carm_engine_next(struct carm_thread *t)
{
    go_on(t, t->next, false, NULL);
}

/* A block has found that the program's code changed since the translation. */
static _Noreturn void changed(struct carm_thread *t, struct carm_block *block)
{
    carm_lock();
    carm_cache_forget_block(block);
    carm_unlock();
    go_on(t, block->pc, false, NULL);
}

/* A block that records addresses begins, and the chunk has no room. */
static void more_room(struct carm_thread *t, uint64_t pc)
{
    carm_addresses_room(t);
    t->rip = pc;
    if (stopped()) {
        carm_detach(t, pc);
    }
}

/* Emulates pushf and popf for the AC flag. Code of the cache cannot run while unaligned accesses
 * trap, so the program's AC flag is kept in align_check. Some programs set AC for a moment, to
 * detect the processor. A program that goes on with AC set is not counted. */
static void flags(struct carm_thread *t, const struct carm_block *block, uint64_t pc)
{
    struct carm_insn_full x;
    uint64_t value = 0;
    bool decoded;
    carm_vectors_save(t);
    carm_lock();
    decoded = carm_decode_of(block, pc, &x);
    carm_unlock();
    carm_vectors_load(t);
    const uint64_t bytes = decoded ? x.in.operand_width / 8U : 0;
    t->mid_records = 0;
    if (!decoded || (x.in.mnemonic == ZYDIS_MNEMONIC_PUSHFQ && !t->align_check)) {
        return;
    }
    if (x.in.mnemonic == ZYDIS_MNEMONIC_PUSHFQ) {
        value = t->flags | CARM_FLAG_AC;
        if (carm_copy_to(t->reg[RSP] - bytes, &value, bytes) == 0) {
            t->reg[RSP] -= bytes;
            go_on(t, pc + x.in.length, false, NULL);
        }
        return;
    }
    if (carm_copy_from(&value, t->reg[RSP], bytes) != 0) {
        return; /* the instruction faults */
    }
    if (value & CARM_FLAG_TF) {
        carm_give_up("it single-steps itself");
        carm_detach(t, pc);
    }
    if (bytes == sizeof value && ((value & CARM_FLAG_AC) || t->align_check)) {
        t->align_check = (value & CARM_FLAG_AC) != 0;
        t->flags = value & ~CARM_FLAG_AC;
        t->reg[RSP] += bytes;
        go_on(t, pc + x.in.length, false, NULL);
    }
}

/* Decodes an instruction that stores state, and takes the lock.
 * at  out: address that it stores to */
static bool decode_store(struct carm_thread *t, const struct carm_block *block, uint64_t pc,
                         struct carm_insn_full *x, uint64_t *at)
{
    carm_vectors_save(t);
    carm_lock();
    const bool decoded = carm_decode_of(block, pc, x);
    *at = decoded ? carm_access_of(t, x, &x->op[0]) : 0;
    carm_vectors_load(t);
    return decoded;
}

/* The engine executes fnstenv and the like, and stores the program's address of the latest x87 instruction:
 * position-independent code finds its own address this way. If the memory cannot be written, the instruction
 * itself is executed, and faults. */
static void tell_where(struct carm_thread *t, const struct carm_block *block, uint64_t pc)
{
    enum { ENVIRONMENT = 28, SAVED = 108, EXTENDED = 416, IP = 12, EXTENDED_IP = 8 };
    static uint8_t state[512] __attribute__((aligned(64)));
    struct carm_insn_full x;
    uint64_t at = 0;
    uint64_t ip = 0;
    const bool decoded = decode_store(t, block, pc, &x, &at);
    const bool extended =
        x.in.mnemonic == ZYDIS_MNEMONIC_FXSAVE || x.in.mnemonic == ZYDIS_MNEMONIC_FXSAVE64;
    const bool half = x.in.mnemonic != ZYDIS_MNEMONIC_FXSAVE64;
    const bool saves = x.in.mnemonic == ZYDIS_MNEMONIC_FNSAVE;
    const size_t ip_bytes = half ? sizeof(uint32_t) : sizeof ip;
    uint8_t *field = state + (extended ? EXTENDED_IP : IP);
    bool done = decoded && !(extended && at % 16);
    if (done) {
        if (extended && half) {
            __asm__ volatile("fxsave (%0)" : : "r"(state) : "memory");
        } else if (extended) {
            __asm__ volatile("fxsave64 (%0)" : : "r"(state) : "memory");
        } else if (saves) {
            __asm__ volatile("fnsave (%0)" : : "r"(state) : "memory");
        } else {
            __asm__ volatile("fnstenv (%0)" : : "r"(state) : "memory");
        }
        memcpy(&ip, field, ip_bytes);
        const uint64_t original = carm_cache_original(ip, half);
        memcpy(field, &original, ip_bytes);
        done = carm_copy_to(at, state, extended ? EXTENDED : saves ? SAVED : ENVIRONMENT) == 0;
        memcpy(field, &ip, ip_bytes);
        if (!done && saves) {
            __asm__ volatile("frstor (%0)" : : "r"(state) : "memory");
        } else if (!done && !extended) {
            __asm__ volatile("fldenv (%0)" : : "r"(state) : "memory");
        }
    }
    carm_unlock();
    t->mid_records = 0;
    if (done) {
        go_on(t, pc + x.in.length, false, NULL);
    }
}

/* cpuid and xgetbv of the CPU that the program sees. Extended control registers other than XCR0 are the machine's. */
static void tell_cpu(struct carm_thread *t, const struct carm_block *block, uint64_t pc)
{
    const struct carm_cpu_view *cpu = &carm_boot.cpu;
    struct carm_insn_full x;
    if (!cpu->on) {
        return;
    }
    carm_vectors_save(t);
    carm_lock();
    const bool decoded = carm_decode_of(block, pc, &x);
    carm_unlock();
    carm_vectors_load(t);
    t->mid_records = 0;
    const uint32_t sub = (uint32_t)t->reg[RCX];
    if (!decoded || (x.in.mnemonic == ZYDIS_MNEMONIC_XGETBV && (sub != 0 || !cpu->xcr0))) {
        return;
    }
    if (x.in.mnemonic == ZYDIS_MNEMONIC_XGETBV) {
        t->reg[RAX] = (uint32_t)cpu->xcr0;
        t->reg[RDX] = cpu->xcr0 >> 32;
    } else {
        static const uint32_t zero[4];
        const uint32_t leaf = (uint32_t)t->reg[RAX];
        const bool has_subs = leaf == 4 || leaf == 7 || leaf == 0xd || leaf == 0x8000001d;
        const uint32_t i = carm_cpu_view_find(cpu, leaf, has_subs ? sub : 0);
        const uint32_t *reg = i < cpu->nleaves ? cpu->leaves[i].reg : zero;
        t->reg[RAX] = reg[0];
        t->reg[RBX] = reg[1];
        t->reg[RCX] = reg[2];
        t->reg[RDX] = reg[3];
    }
    go_on(t, pc + x.in.length, false, NULL);
}

static _Noreturn void mark(struct carm_thread *t, const struct carm_block *block, uint64_t pc)
{
    struct carm_insn_full x;
    carm_vectors_save(t);
    carm_lock();
    const bool decoded = carm_decode_of(block, pc, &x);
    carm_unlock();
    if (decoded) {
        carm_mark(t, carm_insn_mark(&x));
    }
    carm_vectors_load(t);
    t->mid_records = 0;
    go_on(t, pc + (decoded ? x.in.length : 0), false, NULL);
}

/* Whether the program could write a byte. */
static bool is_writable(uint64_t at)
{
    uint8_t byte;
    return carm_copy_from(&byte, at, sizeof byte) == 0 && carm_copy_to(at, &byte, sizeof byte) == 0;
}

/* One case for each instruction, since encodings differ; the vectors, eax and edx are the program's. */
static void execute_xsave(ZydisMnemonic mnemonic, uint64_t at, uint32_t eax, uint32_t edx)
{
#define XSAVE(name)                                                            \
    __asm__ volatile(name " (%0)" : : "r"(at), "a"(eax), "d"(edx) : "memory"); \
    break
    switch (mnemonic) { // NOLINT(bugprone-branch-clone)
    case ZYDIS_MNEMONIC_XSAVE:
        XSAVE("xsave");
    case ZYDIS_MNEMONIC_XSAVEC:
        XSAVE("xsavec");
    case ZYDIS_MNEMONIC_XSAVEOPT:
        XSAVE("xsaveopt");
    case ZYDIS_MNEMONIC_XSAVEC64:
        XSAVE("xsavec64");
    case ZYDIS_MNEMONIC_XSAVEOPT64:
        XSAVE("xsaveopt64");
    default:
        XSAVE("xsave64");
    }
#undef XSAVE
}

/* The engine executes an xsave of x87 state, and corrects the address of the latest x87 instruction. An xsave that may
 * fault is executed by the cache. */
static void xsave(struct carm_thread *t, const struct carm_block *block, uint64_t pc)
{
    enum { X87 = 1, IP = 8, ALIGNED = 64 };
    struct carm_insn_full x;
    uint64_t at = 0;
    if (!(t->reg[RAX] & X87)) { /* no x87 state, as in ld.so's xsave at each lazy binding */
        return;
    }
    bool done = decode_store(t, block, pc, &x, &at) && at % ALIGNED == 0;
    uint32_t a = 0xd; /* Intel's manual, 13.2: ebx of leaf 0xd, the bytes of all state */
    uint32_t b = 0;
    uint32_t c = 0;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c) : : "edx");
    const uint64_t last = at + b - 1;
    for (uint64_t page = at; done && page <= last; page = (page | (CARM_PAGE - 1)) + 1) {
        done = is_writable(page);
    }
    if (done) {
        const bool half = x.in.mnemonic == ZYDIS_MNEMONIC_XSAVE ||
                          x.in.mnemonic == ZYDIS_MNEMONIC_XSAVEC ||
                          x.in.mnemonic == ZYDIS_MNEMONIC_XSAVEOPT;
        const size_t bytes = half ? sizeof(uint32_t) : sizeof(uint64_t);
        uint64_t ip = 0;
        execute_xsave(x.in.mnemonic, at, (uint32_t)t->reg[RAX], (uint32_t)t->reg[RDX]);
        memcpy(&ip, (const void *)(at + IP), bytes);
        ip = carm_cache_original(ip, half);
        memcpy((void *)(at + IP), &ip, bytes);
    }
    carm_unlock();
    if (done) {
        go_on(t, pc + x.in.length, false, NULL);
    }
}

void carm_engine_callout(struct carm_thread *t)
{
    const struct carm_link *link = &carm_links[t->link];
    struct carm_block *block = &carm_blocks[link->from];
    t->mid_site = 0;
    memset(&t->mid_delta, 0, sizeof t->mid_delta);
    switch (link->exit) {
    case EXIT_CHANGED:
        changed(t, block);
    case EXIT_ROOM:
        more_room(t, block->pc);
        t->code = (uint64_t)link->resume;
        carm_resume(t);
    case EXIT_TURN:
        t->mid_records = 0;
        carm_addresses_room(t);
        break;
    case EXIT_WHERE:
        tell_where(t, block, link->target);
        break;
    case EXIT_CPU:
        tell_cpu(t, block, link->target);
        break;
    case EXIT_MARK:
        mark(t, block, link->target);
    case EXIT_FLAGS:
        flags(t, block, link->target);
        break;
    default:
        carm_lock(); /* the decoder reads the ranges */
        carm_account_now(t, block, link->target, &t->mid_delta);
        carm_unlock();
        carm_account_extra(t, block, link->target, &t->mid_delta, 1);
        if (link->exit == EXIT_XSAVE) {
            xsave(t, block, link->target);
        }
        break;
    }
    t->rip = link->target;
    t->mid_site = t->link + 1;
    t->code = (uint64_t)link->resume;
    carm_resume(t);
}

void carm_engine_special(struct carm_thread *t) /* int3 */
{
    const uint64_t pc = carm_links[t->link].target;
    enum { TRAP = 5 };
    if (!carm_signal_handled(t, TRAP)) {
        carm_die(TRAP);
    }
    t->rip = pc + 1;
    t->trap_signal = 1;
    carm_deliver(t);
}

void carm_engine_pending(struct carm_thread *t)
{
    if (t->mid_site && t->code == (uint64_t)carm_links[t->mid_site - 1].resume) {
        const struct carm_link *link = &carm_links[t->mid_site - 1];
        carm_account_extra(t, &carm_blocks[link->from], link->target, &t->mid_delta, -1);
        carm_addresses_take_back(t, t->mid_records);
        carm_vectors_save(t);
        carm_lock();
        carm_account_correct(t, &carm_blocks[link->from], (uint64_t)link->resume, t->rip);
        carm_unlock();
        carm_vectors_load(t);
    }
    t->mid_site = 0;
    carm_deliver(t);
}
