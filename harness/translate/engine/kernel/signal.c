/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals. The kernel calls on_signal on a stack of the engine, with all signals blocked. When
 * the program's state is exact, the kernel's frame is copied to the program's stack, to the
 * place where the kernel would write it, and the program's handler runs in the cache. Otherwise
 * the signal waits: single steps (trap flag) lead to the next exact place, or the engine finds
 * the signal pending before it returns to the cache. */
#include <errno.h>
#include <string.h>

#include "harness/translate/engine/emit/emit.h"
#include "harness/translate/engine/kernel/kernel.h"
#include "harness/translate/engine/trace/trace.h"
#include "harness/translate/engine/sys.h"

enum { ILL = 4, TRAP = 5, BUS = 7, FPE = 8, KILL = 9, SEGV = 11, STOP = 19 };

#define FLAG_SIGINFO   UINT64_C(4)
#define FLAG_NOCLDSTOP UINT64_C(1)
#define FLAG_NOCLDWAIT UINT64_C(2)
#define FLAG_RESTORER  UINT64_C(0x04000000)
#define FLAG_ONSTACK   UINT64_C(0x08000000)
#define FLAG_RESTART   UINT64_C(0x10000000)
#define FLAG_NODEFER   UINT64_C(0x40000000)
#define FLAG_RESETHAND UINT64_C(0x80000000)

#define DIRECTION_FLAG UINT64_C(0x400)
#define RESUME_FLAG    UINT64_C(0x10000)

enum { ALT_ONSTACK = 1, ALT_DISABLE = 2, ALT_SMALLEST = 2048, RED_ZONE = 128 };
#define ALT_AUTODISARM 0x80000000U

static carm_sigset bit(int signo)
{
    return UINT64_C(1) << (signo - 1);
}

static carm_sigset synchronous(void)
{
    return bit(ILL) | bit(TRAP) | bit(BUS) | bit(FPE) | bit(SEGV);
}

/* ---- masks and actions ---- */

enum { SET_BLOCK = 0, SET_MASK = 2 };

carm_sigset carm_signals_block(void)
{
    const carm_sigset all = UINT64_MAX;
    carm_sigset old = 0;
    carm_sys4(SYS_rt_sigprocmask, SET_BLOCK, (uint64_t)&all, (uint64_t)&old, sizeof all);
    return old;
}

void carm_signals_mask(carm_sigset mask)
{
    carm_sys4(SYS_rt_sigprocmask, SET_MASK, (uint64_t)&mask, 0, sizeof mask);
}

static long kernel_action(int signo, const struct carm_action *set)
{
    return carm_sys4(SYS_rt_sigaction, (uint64_t)signo, (uint64_t)set, 0, sizeof(carm_sigset));
}

static void on_signal(int signo, struct carm_siginfo *info, struct carm_ucontext *uc);

static long install(int signo, uint64_t flags)
{
    const struct carm_action ours = {
        .handler = (uint64_t)(uintptr_t)on_signal,
        .flags = (flags & (FLAG_NOCLDSTOP | FLAG_NOCLDWAIT | FLAG_RESTART)) | FLAG_SIGINFO |
                 FLAG_ONSTACK | FLAG_RESTORER,
        .restorer = (uint64_t)(uintptr_t)carm_entry_signal_return,
        .mask = UINT64_MAX};
    return kernel_action(signo, &ours);
}

bool carm_signal_handled(const struct carm_thread *t, int signo)
{
    return t->actions->of[signo].handler > 1;
}

long carm_signal_action(struct carm_thread *t, int signo, const struct carm_action *set,
                        struct carm_action *old)
{
    long rc = 0;
    if (signo < 1 || signo >= CARM_SIGNALS || (set && (signo == KILL || signo == STOP))) {
        return -EINVAL;
    }
    carm_lock();
    struct carm_action *is = &t->actions->of[signo];
    *old = *is;
    if (!set) {
        /* before the first change: whether the signal is ignored is inherited over the exec */
        if (is->handler == 0) {
            struct carm_action kernels = {.handler = 0};
            carm_sys4(SYS_rt_sigaction, (uint64_t)signo, 0, (uint64_t)&kernels,
                      sizeof(carm_sigset));
            *old = kernels.handler <= 1 ? kernels : *is;
        }
        carm_unlock();
        return 0;
    }
    if (is->handler == 0) {
        struct carm_action kernels = {.handler = 0};
        carm_sys4(SYS_rt_sigaction, (uint64_t)signo, 0, (uint64_t)&kernels, sizeof(carm_sigset));
        *old = kernels.handler <= 1 ? kernels : *is;
    }
    if (set->handler > 1) {
        rc = install(signo, set->flags);
        install(TRAP, 0); /* the engine's single steps need this handler */
    } else if (signo != TRAP) {
        rc = kernel_action(signo, set);
    }
    if (rc == 0) {
        *is = *set;
        is->mask &= ~(bit(KILL) | bit(STOP));
    }
    carm_unlock();
    return rc;
}

/* ---- stacks ---- */

static void own_stack(const struct carm_thread *t, struct carm_altstack *out)
{
    *out = (struct carm_altstack){.sp = (uint64_t)t->signal_stack, .size = sizeof t->signal_stack};
}

void carm_signals_begin(struct carm_thread *t)
{
    struct carm_altstack ours;
    own_stack(t, &ours);
    carm_sys2(SYS_sigaltstack, (uint64_t)&ours, 0);
}

void carm_signals_detach(struct carm_thread *t)
{
    const carm_sigset mask = carm_signals_block();
    for (int signo = 1; signo < CARM_SIGNALS; signo++) {
        const struct carm_action *action = &t->actions->of[signo];
        if (action->handler > 1 || (signo == TRAP && carm_signal_handled(t, TRAP))) {
            kernel_action(signo, action);
        }
    }
    if (!carm_signal_handled(t, TRAP)) {
        struct carm_action kernels = {.handler = 0};
        carm_sys4(SYS_rt_sigaction, TRAP, 0, (uint64_t)&kernels, sizeof(carm_sigset));
        if (kernels.handler > 1) {
            kernel_action(TRAP, &t->actions->of[TRAP]);
        }
    }
    carm_sys2(SYS_sigaltstack, (uint64_t)&t->alt, 0);
    for (uint32_t i = 0; i < t->npending; i++) {
        carm_sys4(SYS_rt_tgsigqueueinfo, (uint64_t)carm_sys2(SYS_getpid, 0, 0),
                  (uint64_t)carm_sys2(SYS_gettid, 0, 0), (uint64_t)t->queue[i].signo,
                  (uint64_t)&t->queue[i]);
    }
    carm_signals_mask(t->pending ? t->saved_mask : mask);
    t->npending = 0;
    t->pending = 0;
}

static bool on_alternate(const struct carm_thread *t, uint64_t rsp)
{
    return !(t->alt.flags & ALT_DISABLE) && rsp > t->alt.sp && rsp - t->alt.sp <= t->alt.size;
}

long carm_signal_stack(struct carm_thread *t, const struct carm_altstack *set,
                       struct carm_altstack *old)
{
    *old = t->alt;
    old->pad = 0;
    if (on_alternate(t, t->reg[RSP])) {
        old->flags |= ALT_ONSTACK;
    }
    if (!set) {
        return 0;
    }
    if (old->flags & ALT_ONSTACK) {
        return -EPERM;
    }
    if ((uint32_t)set->flags & ~(uint32_t)(ALT_DISABLE | ALT_ONSTACK)) {
        if ((uint32_t)set->flags & ALT_AUTODISARM) {
            carm_give_up("it disarms its alternate signal stack (SS_AUTODISARM)");
        } else {
            return -EINVAL;
        }
    }
    if (set->flags & ALT_DISABLE) {
        t->alt = (struct carm_altstack){.flags = ALT_DISABLE};
        return 0;
    }
    if (set->size < ALT_SMALLEST) {
        return -ENOMEM;
    }
    t->alt = (struct carm_altstack){.sp = set->sp, .size = set->size};
    return 0;
}

/* ---- delivering ---- */

/* The kernel's fields in the last bytes of the legacy area. */
struct software {
    uint32_t magic, extended_size;
    uint64_t features;
    uint32_t size, pad[7];
};

enum { X87_IP_AT = 8, MXCSR_AT = 24, SOFTWARE_AT = 464, LEGACY = 512, FEATURES_AT = 512 };
enum { MAGIC = 0x46505853, USUAL_MXCSR = 0x1f80 };

static bool writable(uint64_t at)
{
    return carm_sys2(SYS_rt_sigpending, at, sizeof(carm_sigset)) == 0;
}

/* Sends a signal again: the kernel delivers it when the mask allows. */
static void send_again(const struct carm_thread *t, const struct carm_siginfo *info)
{
    carm_sys4(SYS_rt_tgsigqueueinfo, (uint64_t)t->slot->pid, (uint64_t)carm_sys2(SYS_gettid, 0, 0),
              (uint64_t)info->signo, (uint64_t)info);
}

/* The address of the latest x87 instruction in a frame: the program's, in place of the cache's. */
static void tell_x87(uint64_t at)
{
    uint64_t ip;
    memcpy(&ip, (const void *)at, sizeof ip);
    carm_lock();
    ip = carm_cache_original(ip, false);
    carm_unlock();
    memcpy((void *)at, &ip, sizeof ip);
}

/* Delivers a signal; uc must be exact. The program's handler is called when on_signal has returned.
 * mask  the program's */
static void deliver(struct carm_thread *t, struct carm_ucontext *uc,
                    const struct carm_siginfo *given, carm_sigset mask)
{
    const struct carm_siginfo info = *given; /* a copy: *given may lie in the frame that is
                                              * overwritten */
    const int signo = info.signo;
    const struct carm_action action = t->actions->of[signo];
    uc->eflags &= ~CARM_FLAG_TF;
    uc->mask = mask;
    if (action.handler == 1) {
        t->next = uc->rip;
        uc->rip = (uint64_t)(uintptr_t)carm_entry_next;
        return;
    }
    if (action.handler == 0) {
        carm_die(signo);
    }
    if (action.flags & FLAG_RESETHAND) {
        const struct carm_action none = {.handler = 0};
        t->actions->of[signo] = none;
        if (signo != TRAP) {
            kernel_action(signo, &none);
        }
    }
    struct software software;
    memcpy(&software, uc->fpstate + SOFTWARE_AT, sizeof software);
    const uint64_t bytes = software.magic == MAGIC ? software.extended_size : LEGACY;
    uint64_t sp = uc->rsp - RED_ZONE;
    if ((action.flags & FLAG_ONSTACK) && !(t->alt.flags & ALT_DISABLE) &&
        !on_alternate(t, uc->rsp)) {
        sp = t->alt.sp + t->alt.size;
    }
    const uint64_t top = sp;
    sp = (sp - bytes) & ~UINT64_C(63);
    const uint64_t fpstate = sp;
    const uint64_t frame_bytes = 8 + sizeof *uc + sizeof info;
    sp = ((sp - frame_bytes) & ~UINT64_C(15)) - 8;
    bool good = writable(top - 8);
    for (uint64_t at = sp; good && at < top - 8; at += 4096) {
        good = writable(at);
    }
    if (!good) {
        carm_die(SEGV);
    }
    struct carm_ucontext *copy = (struct carm_ucontext *)(sp + 8);
    memcpy((void *)fpstate, uc->fpstate, bytes);
    if (!t->detached) {
        tell_x87(fpstate + X87_IP_AT);
    }
    *copy = *uc;
    copy->fpstate = (uint8_t *)fpstate;
    copy->stack = t->alt;
    copy->stack.pad = 0;
    memcpy((void *)(sp + 8 + sizeof *uc), &info, sizeof info);
    *(uint64_t *)sp = action.restorer;

    uc->rdi = (uint64_t)signo;
    uc->rsi = sp + 8 + sizeof *uc;
    uc->rdx = (uint64_t)copy;
    uc->rax = 0;
    uc->rsp = sp;
    uc->eflags &= ~(CARM_FLAG_TF | DIRECTION_FLAG | RESUME_FLAG);
    if (t->waited) {
        mask = t->waited_mask;
        t->waited = 0;
    }
    uc->mask = mask | action.mask | (action.flags & FLAG_NODEFER ? 0 : bit(signo));
    /* a handler begins with vectors in their initial state */
    const uint32_t mxcsr = USUAL_MXCSR;
    if (software.magic == MAGIC) {
        const uint64_t none = 0;
        memcpy(uc->fpstate + FEATURES_AT, &none, sizeof none);
        memcpy(uc->fpstate + MXCSR_AT, &mxcsr, sizeof mxcsr);
    }
    t->next = action.handler;
    uc->rip = t->detached ? action.handler : (uint64_t)(uintptr_t)carm_entry_next;
}

/* Delivers the first waiting signal; the others are sent again. */
static void deliver_pending(struct carm_thread *t, struct carm_ucontext *uc)
{
    const struct carm_siginfo info = t->queue[0];
    for (uint32_t i = 1; i < t->npending; i++) {
        send_again(t, &t->queue[i]);
    }
    t->npending = 0;
    t->pending = 0;
    t->stepping = 0;
    deliver(t, uc, &info, t->saved_mask);
}

static void defer(struct carm_thread *t, struct carm_ucontext *uc, const struct carm_siginfo *info)
{
    if (t->npending == 0) {
        t->saved_mask = uc->mask;
    }
    if (t->npending < CARM_PENDING_MAX) {
        t->queue[t->npending++] = *info;
    }
    t->pending = 1;
    uc->mask = ~synchronous();
}

/* ---- where a thread was ---- */

static bool within(uint64_t rip, const uint8_t *begin, const uint8_t *end)
{
    return rip >= (uint64_t)begin && rip < (uint64_t)end;
}

static bool in_engine(uint64_t rip)
{
    return rip >= carm_boot.own_begin && rip < carm_boot.own_end;
}

static uint64_t *register_of(struct carm_ucontext *uc, int reg)
{
    uint64_t *const all[] = {&uc->rax, &uc->rcx, &uc->rdx, &uc->rbx, &uc->rsp, &uc->rbp,
                             &uc->rsi, &uc->rdi, &uc->r8,  &uc->r9,  &uc->r10, &uc->r11,
                             &uc->r12, &uc->r13, &uc->r14, &uc->r15};
    return all[reg];
}

/* Converts the frame of an address in the cache to the program's registers. returns false at a
 * place where the program's state is not exact */
static bool make_exact(struct carm_thread *t, struct carm_ucontext *uc)
{
    bool found = false;
    carm_lock();
    const struct carm_block *block = carm_cache_owner(uc->rip);
    for (uint32_t i = 0; block && !found && i < block->nmap; i++) {
        const struct carm_map *map = &carm_maps[block->map + i];
        if ((uint64_t)block->code + map->cache != uc->rip) {
            continue;
        }
        const uint64_t pc = block->pc + map->source;
        carm_fs_own(t);
        if (map->flag & MAP_REP) {
            carm_account_repeated(t, block, pc, t->s_rep - uc->rcx);
            carm_addresses_repeated(t, block, pc, uc->rsi, uc->rdi);
        }
        if (map->flag & MAP_COUNTED) {
            const int left = carm_account_halfway(t, block, pc, uc->fpstate,
                                                  t->mid_delta.loads + t->mid_delta.stores);
            carm_account_extra(t, block, pc, &t->mid_delta, -1);
            carm_addresses_take_back(
                t, left >= 0 && (unsigned)left < t->mid_records ? (unsigned)left : t->mid_records);
        } else if (map->flag & MAP_LANES) {
            carm_account_halfway(t, block, pc, uc->fpstate, t->s_rep);
        }
        carm_account_correct(t, block, uc->rip, pc);
        if (map->flag & MAP_CHECK) {
            uc->rcx = t->s_rcx;
            uc->rax = t->s_rax;
        } else {
            carm_addresses_correct(t, block, pc);
            if (block->kept >= 0 && map->source <= block->kept_until) {
                *register_of(uc, block->kept) = t->r_kept;
            }
        }
        carm_fs_back(t);
        uc->rip = pc;
        uc->eflags &= ~CARM_FLAG_TF;
        found = true;
    }
    carm_unlock();
    return found;
}

/* Notes a call that waits with a mask of its own: the handler runs under this mask and restores
 * the mask before the call. */
static void note_waited(struct carm_thread *t, const struct carm_ucontext *uc)
{
    uint64_t at = 0;
    if (uc->rip != (uint64_t)carm_syscall_after || (int64_t)uc->rax != -EINTR || t->npending != 1) {
        return;
    }
    switch (t->nr) {
    case SYS_rt_sigsuspend:
        at = t->reg[RDI];
        break;
    case SYS_ppoll:
        at = t->reg[R10];
        break;
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
        at = t->reg[R8];
        break;
    case SYS_pselect6:
        if (t->reg[R9] == 0 || carm_copy_from(&at, t->reg[R9], sizeof at) != 0) {
            return;
        }
        break;
    default:
        return;
    }
    t->waited = at != 0 && carm_copy_from(&t->waited_mask, at, sizeof t->waited_mask) == 0;
}

static bool by_processor(int signo, const struct carm_siginfo *info)
{
    return (synchronous() & bit(signo)) && info->code > 0;
}

static void on_trap(struct carm_thread *t, struct carm_ucontext *uc,
                    const struct carm_siginfo *info)
{
    if (uc->rip == (uint64_t)carm_deliver_after) {
        uc->rip = t->rip;
        if (t->trap_signal) {
            t->trap_signal = 0;
            deliver(t, uc, info, t->pending ? t->saved_mask : uc->mask);
            if (t->pending) { /* to be delivered later */
                for (uint32_t i = 0; i < t->npending; i++) {
                    send_again(t, &t->queue[i]);
                }
                t->npending = 0;
                t->pending = 0;
            }
        } else {
            deliver_pending(t, uc);
        }
        return;
    }
    if (t->stepping && t->pending) {
        if (in_engine(uc->rip)) {
            t->stepping = 0;
            uc->eflags &= ~CARM_FLAG_TF;
        } else if (make_exact(t, uc)) {
            deliver_pending(t, uc);
        }
        return;
    }
    carm_give_up("it single-steps itself");
    carm_die(TRAP);
}

static void on_signal(int signo, struct carm_siginfo *info, struct carm_ucontext *uc)
{
    struct carm_thread *t = carm_self();
    if (by_processor(signo, info)) {
        if (signo == TRAP) {
            on_trap(t, uc, info);
            return;
        }
        if (t->detached) {
            deliver(t, uc, info, uc->mask);
            return;
        }
        /* a thread in the engine may hold the lock that make_exact takes */
        if (in_engine(uc->rip) || !make_exact(t, uc)) {
            carm_give_up("the translator failed in itself");
            carm_die(signo);
        }
        if (signo == ILL || signo == FPE) {
            info->rest[0] = uc->rip; /* si_addr: the instruction's address */
        }
        deliver(t, uc, info, t->pending ? t->saved_mask : uc->mask);
        for (uint32_t i = 0; i < t->npending; i++) {
            send_again(t, &t->queue[i]);
        }
        t->npending = 0;
        t->pending = 0;
        t->stepping = 0;
        return;
    }
    if (t->detached) { // NOLINT(bugprone-branch-clone): the order of the conditions matters
        deliver(t, uc, info, uc->mask);
    } else if (in_engine(uc->rip)) {
        defer(t, uc, info);
        note_waited(t, uc);
        if (within(uc->rip, carm_resume_begin, carm_resume_end)) {
            uc->rip = (uint64_t)carm_resume_begin;
        } else if (within(uc->rip, carm_syscall_begin, carm_syscall_after)) {
            uc->rip = (uint64_t)carm_syscall_abort;
        }
    } else if (!t->pending && make_exact(t, uc)) {
        deliver(t, uc, info, uc->mask);
    } else {
        defer(t, uc, info);
        t->stepping = 1;
        uc->eflags |= CARM_FLAG_TF;
    }
}

/* ---- back from a handler ---- */

void carm_signal_sigreturn(struct carm_thread *t)
{
    const carm_sigset mask = carm_signals_block();
    if (t->pending) { /* deliver before this call, which is then made again */
        carm_signals_mask(mask);
        t->slot->extra.instructions--;
        t->mid_site = 0;
        carm_deliver(t);
    }
    struct carm_ucontext *uc = (struct carm_ucontext *)t->reg[RSP];
    struct carm_altstack old;
    const struct carm_altstack set = uc->stack;
    const uint64_t rsp = t->reg[RSP];
    t->reg[RSP] = uc->rsp; /* the kernel compares with the stack pointer after the return */
    carm_signal_stack(t, &set, &old);
    t->next = uc->rip;
    uc->rip = (uint64_t)(uintptr_t)carm_entry_next;
    own_stack(t, &uc->stack);
    uc->eflags &= ~CARM_FLAG_TF;
    carm_sigreturn(rsp);
}
