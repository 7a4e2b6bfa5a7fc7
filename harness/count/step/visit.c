/* SPDX-License-Identifier: MIT */
#include "harness/count/step/state.h"

#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The linker names the ends of the section (ld, "Input Section Example"). */
extern const char text_start[] __asm__("__start_carm_step_text")
    __attribute__((visibility("hidden")));
extern const char text_stop[] __asm__("__stop_carm_step_text")
    __attribute__((visibility("hidden")));

enum { SYSCALL_BYTES = 2, PAGE_BYTES = 4096, KERNEL_SIGSET_BYTES = 8, FRAME_SIZES = 464 };

/* ---- registers ---- */

/* The kernel leaves the sizes in bytes that FXSAVE does not use (struct _fpx_sw_bytes). */
static const uint8_t *frame_xsave(void *arg, size_t *size_bytes)
{
    const ucontext_t *uc = arg;
    const uint8_t *area = (const uint8_t *)uc->uc_mcontext.fpregs;
    struct {
        uint32_t magic, extended_bytes;
        uint64_t features;
        uint32_t xsave_bytes;
    } sizes;
    if (!area) {
        return NULL;
    }
    memcpy(&sizes, area + FRAME_SIZES, sizeof sizes);
    *size_bytes = sizes.magic == 0x46505853U ? sizes.xsave_bytes : CARM_XSAVE_HEADER;
    return area;
}

static struct carm_registers registers(ucontext_t *uc)
{
    const greg_t *g = uc->uc_mcontext.gregs;
    return (struct carm_registers){.rip = (uint64_t)g[REG_RIP],
                                   .rax = (uint64_t)g[REG_RAX],
                                   .rcx = (uint64_t)g[REG_RCX],
                                   .rdx = (uint64_t)g[REG_RDX],
                                   .rdi = (uint64_t)g[REG_RDI],
                                   .rsi = (uint64_t)g[REG_RSI],
                                   .flags = (uint64_t)g[REG_EFL],
                                   .xsave = frame_xsave,
                                   .xsave_arg = uc};
}

/* ---- the way into CARM_STEP_TEXT ----
 * Whoever calls a function there does so directly or through the PLT, whose stubs jump on and, the
 * first time, through the dynamic linker. The counts before that call or jump are kept until an
 * instruction at the same stack depth is none of a stub's. */

static void follow(struct carm_stepping *st, const struct carm_insn *e, uint64_t rsp)
{
    const bool thunk = e && (e->flags & CARM_INSN_THUNK);
    while (st->nthunks && (rsp > st->thunks[st->nthunks - 1].rsp ||
                           (rsp == st->thunks[st->nthunks - 1].rsp && !thunk))) {
        st->nthunks--;
    }
    if (thunk && st->after_branch && st->nthunks < CARM_STEP_THUNKS &&
        !(st->nthunks && st->thunks[st->nthunks - 1].rsp == rsp)) {
        st->thunks[st->nthunks].rsp = rsp;
        st->thunks[st->nthunks].before = st->before;
        st->nthunks++;
    }
    st->after_branch = e && (e->flags & CARM_INSN_BRANCH);
    if (st->after_branch) {
        st->before = st->counts;
    }
}

/* returns whether the instruction belongs to CARM_STEP_TEXT or to what was called from there */
static bool not_counted(struct carm_stepping *st, uint64_t rip, uint64_t rsp)
{
    if (rip >= (uint64_t)(uintptr_t)text_start && rip < (uint64_t)(uintptr_t)text_stop) {
        if (!st->inside) {
            while (st->nthunks && rsp > st->thunks[st->nthunks - 1].rsp) {
                st->nthunks--;
            }
            if (st->nthunks && st->thunks[st->nthunks - 1].rsp == rsp) {
                st->counts = st->thunks[st->nthunks - 1].before;
            } else if (st->after_branch) {
                st->counts = st->before;
            }
            st->inside = true;
            st->entry = rsp;
            st->nthunks = 0;
            st->after_branch = false;
        } else if (rsp > st->entry) {
            st->entry = rsp;
        }
        return true;
    }
    if (st->inside && rsp > st->entry) {
        st->inside = false;
    }
    return st->inside;
}

/* ---- system calls ---- */

static void finish_syscall(ucontext_t *uc, long result)
{
    greg_t *g = uc->uc_mcontext.gregs;
    g[REG_RIP] += SYSCALL_BYTES;
    g[REG_RAX] = result;
    g[REG_RCX] = g[REG_RIP];
    g[REG_R11] = g[REG_EFL] & ~(greg_t)CARM_TRAP_FLAG;
}

/* A raw system call with the thread's arguments: glibc's would refuse or change some. */
static long raw(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    long result = number;
    register uint64_t r10 __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}

/* rt_sigprocmask on the mask that the frame restores, but for SIGTRAP: a trap that is blocked kills.
 * Here, where all is blocked, the real call only checks pointers. */
static long mask_signals(ucontext_t *uc)
{
    const greg_t *g = uc->uc_mcontext.gregs;
    const uint64_t size = (uint64_t)g[REG_R10];
    const uint64_t set_at = (uint64_t)g[REG_RSI];
    const uint64_t old_at = (uint64_t)g[REG_RDX];
    const int how = (int)g[REG_RDI];
    uint64_t mask = 0;
    uint64_t set = 0;
    memcpy(&mask, &uc->uc_sigmask, sizeof mask);
    const uint64_t old = mask;
    if (size != KERNEL_SIGSET_BYTES ||
        (set_at && how != SIG_BLOCK && how != SIG_UNBLOCK && how != SIG_SETMASK)) {
        return raw(SYS_rt_sigprocmask, (uint64_t)g[REG_RDI], set_at, old_at, size);
    }
    if (set_at) {
        const long bad = raw(SYS_rt_sigprocmask, SIG_BLOCK, set_at, 0, size);
        if (bad) {
            return bad;
        }
        memcpy(&set, (const void *)set_at, sizeof set);
        mask = how == SIG_BLOCK ? mask | set : how == SIG_UNBLOCK ? mask & ~set : set;
        mask &= ~(1ULL << (SIGTRAP - 1));
        memcpy(&uc->uc_sigmask, &mask, sizeof mask);
    }
    if (old_at) {
        const long bad = raw(SYS_rt_sigprocmask, SIG_BLOCK, 0, old_at, size);
        if (bad) {
            return bad;
        }
        memcpy((void *)old_at, &old, sizeof old);
    }
    return 0;
}

/* Does what must not be done as it is.
 * returns whether the system call is done with */
static bool replace_syscall(ucontext_t *uc)
{
    const greg_t *g = uc->uc_mcontext.gregs;
    if (g[REG_RAX] == SYS_rt_sigprocmask) {
        finish_syscall(uc, mask_signals(uc));
        return true;
    }
    if (g[REG_RAX] == SYS_rt_sigaction && (int)g[REG_RDI] == SIGTRAP) { /* asks, sets nothing */
        finish_syscall(
            uc, raw(SYS_rt_sigaction, SIGTRAP, 0, (uint64_t)g[REG_RDX], (uint64_t)g[REG_R10]));
        return true;
    }
    if (g[REG_RAX] == SYS_clone3 && g[REG_RDI]) {
        /* The child traps once and needs the handler for it. posix_spawn of glibc 2.38 and later
         * asks for handlers to be cleared, which its exec does anyway. */
        uint64_t *flags = (uint64_t *)(uintptr_t)g[REG_RDI];
        if (*flags & CLONE_CLEAR_SIGHAND) {
            *flags &= ~(uint64_t)CLONE_CLEAR_SIGHAND;
        }
    }
    return false;
}

/* ---- one instruction ---- */

/* Bytes at rip without touching a page that the instruction does not reach. */
static const struct carm_insn *find(struct carm_stepping *st, uint64_t rip, const uint8_t **code,
                                    size_t *n)
{
    const size_t left = PAGE_BYTES - (size_t)(rip % PAGE_BYTES);
    const struct carm_insn *e = NULL;
    *code = (const uint8_t *)(uintptr_t)rip;
    *n = 0;
    if (rip < PAGE_BYTES) { /* a jump to nowhere, which is about to fault */
        return NULL;
    }
    *n = left < CARM_INSTRUCTION_BYTES_MAX ? left : CARM_INSTRUCTION_BYTES_MAX;
    e = carm_insns_find(st->effects, rip, *code, *n);
    if (!e && *n < CARM_INSTRUCTION_BYTES_MAX) { /* it goes on in the next page */
        *n = CARM_INSTRUCTION_BYTES_MAX;
        e = carm_insns_find(st->effects, rip, *code, *n);
    }
    return e;
}

static const struct carm_insn *account(struct carm_stepping *st, const struct carm_registers *regs,
                                       uint64_t rsp)
{
    const uint8_t *code = NULL;
    size_t n = 0;
    const struct carm_insn *e = find(st, regs->rip, &code, &n);
    follow(st, e, rsp);
    carm_insns_apply(st->effects, e, code, n, regs, &st->counts);
    return e;
}

/* returns whether the frame now stands at another instruction, which is to be visited */
static bool visit_one(struct carm_stepping *st, ucontext_t *uc)
{
    greg_t *g = uc->uc_mcontext.gregs;
    const uint64_t rsp = (uint64_t)g[REG_RSP];
    uint8_t *const flags_high = (uint8_t *)(uintptr_t)(rsp + 1);
    struct carm_registers regs = registers(uc);
    if (st->pushed_flags) {
        *flags_high &= (uint8_t) ~(CARM_TRAP_FLAG >> 8);
        st->pushed_flags = false;
    }
    if (not_counted(st, regs.rip, rsp)) {
        return false;
    }
    if (st->counts.instructions >= st->budget) {
        st->cut = true;
        g[REG_EFL] &= ~(greg_t)CARM_TRAP_FLAG;
        return false;
    }
    const struct carm_insn *e = account(st, &regs, rsp);
    const unsigned special = e ? e->flags : 0;
    if (special & CARM_INSN_PUSHF) {
        st->pushed_flags = true;
    } else if (special & CARM_INSN_POPF) {
        *flags_high |= CARM_TRAP_FLAG >> 8; /* flags from before the stepping would end it */
    } else if (special & CARM_INSN_SYSCALL) {
        if (replace_syscall(uc)) {
            return true;
        }
        /* SYSRET sets the trap flag, which lets one instruction pass: count it here. */
        regs.rip += SYSCALL_BYTES;
        regs.rcx = regs.rip;
        (void)account(st, &regs, rsp);
    }
    return false;
}

void carm_stepping_visit(struct carm_stepping *st, ucontext_t *uc)
{
    while (visit_one(st, uc)) {
    }
}
