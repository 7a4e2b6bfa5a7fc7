/* SPDX-License-Identifier: GPL-3.0-or-later */
/* System calls of the program. Most are made unchanged. The engine handles calls about signals
 * and threads, and learns from calls about memory which code is executable. */
#include <asm/prctl.h>
#include <errno.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/uio.h>

#include "harness/count/step/engine.h"
#include "harness/translate/engine/emit/emit.h"
#include "harness/translate/engine/kernel/kernel.h"
#include "harness/translate/engine/trace/trace.h"
#include "harness/translate/engine/sys.h"

void carm_engine_syscall(struct carm_thread *t);
void carm_engine_syscall_done(struct carm_thread *t, long result);
void carm_engine_syscall_aborted(struct carm_thread *t);

enum { PAGE = 4096, SYS_CALL_BYTES = 2 };

static const char limits_memory[] = "it limits its address space (setrlimit)";

/* Whether a limit of address space or data is below 4 GiB. Then the program might not get the
 * memory that it has without the engine, which takes 0.6 GiB.
 * at  address of the new limit; 0 = none */
static const char *limits(uint64_t resource, uint64_t at)
{
    struct rlimit limit;
    return (resource == RLIMIT_AS || resource == RLIMIT_DATA) && at &&
                   carm_copy_from(&limit, at, sizeof limit) == 0 &&
                   limit.rlim_cur < UINT64_C(4) << 30
               ? limits_memory
               : NULL;
}

static const char locks[] = "it locks its memory (mlockall)";

/* The reason, as a phrase, why the program cannot be counted from this call on; NULL = it can. */
static const char *refused(const struct carm_thread *t)
{
    const uint64_t *r = t->reg;
    if (t->align_check) {
        return "it wants unaligned accesses to trap (the AC flag)";
    }
    switch (r[RAX]) {
    case SYS_ptrace:
        return "it traces another process or asks to be traced (ptrace), as leak sanitizers do "
               "(ASAN_OPTIONS=detect_leaks=0)";
    case SYS_seccomp:
        return r[RDI] <= 1 ? "it restricts its own system calls (seccomp)" : NULL;
    case SYS_prctl:
        if (r[RDI] == PR_SET_SECCOMP) {
            return "it restricts its own system calls (seccomp)";
        }
        return r[RDI] == PR_SET_SYSCALL_USER_DISPATCH
                   ? "it intercepts its own system calls (syscall user dispatch)"
                   : NULL;
    case SYS_arch_prctl:
        switch (r[RDI]) {
        case ARCH_SET_GS:
        case ARCH_GET_GS:
            return "it uses the gs register, which the counting needs";
        case ARCH_SET_FS:
        case ARCH_GET_FS:
            return NULL;
        default:
            return r[RDI] >= 0x5000 && r[RDI] < 0x5005 ? "it uses a shadow stack" : NULL;
        }
    case SYS_setrlimit:
        return limits(r[RDI], r[RSI]);
    case SYS_prlimit64:
        return limits(r[RSI], r[RDX]);
    case SYS_mlockall:
        return carm_release_alone(t) ? locks : NULL;
    case SYS_userfaultfd:
        return "it handles its own page faults (userfaultfd)";
    case SYS_modify_ldt:
    case SYS_iopl:
    case SYS_ioperm:
        return "it changes segments or ports";
    case SYS_unshare:
        return r[RDI] & CLONE_NEWPID ? "it makes a namespace of processes" : NULL;
    case SYS_setns:
        return "it enters a namespace";
    case SYS_chroot:
    case SYS_pivot_root:
        return "it changes its root folder";
    default:
        return NULL;
    }
}

static void changed(uint64_t begin, uint64_t bytes, bool executable, uint32_t flags)
{
    const uint64_t first = begin & ~(uint64_t)(PAGE - 1);
    const uint64_t end = (begin + bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    carm_lock();
    if (carm_ranges_set(first, end, executable, flags)) {
        carm_cache_forget(first, end);
    }
    if (executable) {
        carm_cache_mapped(first, end, carm_account_all());
    }
    carm_unlock();
}

static void protected(uint64_t begin, uint64_t bytes, uint64_t prot)
{
    const uint64_t end = (begin + bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    carm_lock();
    if (carm_ranges_protect(begin, end, prot & PROT_EXEC, prot & PROT_WRITE)) {
        carm_cache_forget(begin, end);
    }
    if (prot & PROT_EXEC) {
        carm_cache_mapped(begin, end, carm_account_all());
    }
    carm_unlock();
}

static void emptied(uint64_t begin, uint64_t bytes)
{
    carm_lock();
    if (carm_ranges_translated(begin, begin + bytes)) {
        carm_cache_forget(begin, begin + bytes);
    }
    carm_unlock();
}

static void after(struct carm_thread *t, uint64_t nr, long result)
{
    const uint64_t *r = t->reg;
    if (result < 0 && result > -PAGE) {
        return;
    }
    const uint64_t at = (uint64_t)result;
    switch (nr) {
    case SYS_mmap:
        changed(at, r[RSI], r[RDX] & PROT_EXEC,
                (r[RDX] & PROT_WRITE ? CARM_RANGE_WRITABLE : 0U) |
                    (r[R10] & MAP_SHARED ? CARM_RANGE_SHARED : 0U));
        break;
    case SYS_munmap:
        changed(r[RDI], r[RSI], false, 0);
        break;
    case SYS_mprotect:
    case SYS_pkey_mprotect:
        protected
        (r[RDI], r[RSI], r[RDX]);
        break;
    case SYS_mremap: {
        carm_lock();
        const struct carm_range *range = carm_ranges_find(r[RDI]);
        const bool executable = range != NULL;
        const uint32_t flags = range ? range->flags & ~(uint32_t)CARM_RANGE_KNOWN : 0;
        carm_unlock();
        changed(r[RDI], r[RSI], false, 0);
        changed(at, r[RDX], executable, flags);
        break;
    }
    case SYS_madvise:
        if (r[RDX] == MADV_DONTNEED || r[RDX] == MADV_REMOVE || r[RDX] == MADV_FREE) {
            emptied(r[RDI], r[RSI]);
        }
        break;
    case SYS_shmat:
        if (r[RDX] & SHM_REMAP) {
            carm_give_up("it attaches shared memory in the place of other memory");
        }
        break;
    case SYS_getrandom:
    case SYS_read:
        carm_view_random(t, nr, result);
        break;
    default:
        break;
    }
}

/* Whether a call may wait: for another thread, for input or for a time. */
static bool sleeps(const uint64_t *r)
{
    switch (r[RAX]) {
    case SYS_futex:
        return ((int)r[RSI] & FUTEX_CMD_MASK) != FUTEX_WAKE;
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_pause:
    case SYS_rt_sigsuspend:
    case SYS_rt_sigtimedwait:
    case SYS_read:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_msgrcv:
    case SYS_semop:
    case SYS_semtimedop:
        return true;
    default:
        return false;
    }
}

static _Noreturn void finish(struct carm_thread *t, long result)
{
    t->reg[RAX] = (uint64_t)result;
    t->reg[RCX] = t->next_rip;
    t->reg[R11] = t->flags;
    carm_go_on(t, t->next_rip, false);
}

static long action(struct carm_thread *t)
{
    const uint64_t *r = t->reg;
    struct carm_action set;
    struct carm_action old;
    if (r[R10] != sizeof(carm_sigset)) {
        return -EINVAL;
    }
    if (r[RSI] && carm_copy_from(&set, r[RSI], sizeof set) != 0) {
        return -EFAULT;
    }
    const long rc = carm_signal_action(t, (int)r[RDI], r[RSI] ? &set : NULL, &old);
    if (rc == 0 && r[RDX] && carm_copy_to(r[RDX], &old, sizeof old) != 0) {
        return -EFAULT;
    }
    return rc;
}

static long alternate(struct carm_thread *t)
{
    const uint64_t *r = t->reg;
    struct carm_altstack set;
    struct carm_altstack old;
    if (r[RDI] && carm_copy_from(&set, r[RDI], sizeof set) != 0) {
        return -EFAULT;
    }
    const long rc = carm_signal_stack(t, r[RDI] ? &set : NULL, &old);
    if (rc == 0 && r[RSI] && carm_copy_to(r[RSI], &old, sizeof old) != 0) {
        return -EFAULT;
    }
    return rc;
}

/* The call is not made now: subtracts it from the counts, since its block has counted it. */
static _Noreturn void not_now(struct carm_thread *t)
{
    t->slot->extra.instructions--;
    t->rip = t->next_rip - SYS_CALL_BYTES;
    t->mid_site = 0;
    carm_deliver(t);
}

/* mlockall while other threads need the engine's memory, which stays mapped. Its pages in use are locked; the others
 * are not populated. */
static _Noreturn void lock_all(struct carm_thread *t)
{
    const long result = carm_sys2(SYS_mlockall, t->reg[RDI] | MCL_ONFAULT, 0);
    if (result ==
        -ENOMEM) { /* more than the program may lock, perhaps because of the engine's pages */
        carm_give_up(locks);
    }
    finish(t, result);
}

/* A limit that leaves the program as much memory as without the engine, but not above the present hard limit. */
static uint64_t raised(uint64_t limit, uint64_t more, uint64_t most)
{
    const uint64_t room = most > limit ? most - limit : 0;
    return limit + (more < room ? more : room);
}

/* A limit of memory while other threads need the engine's memory, which stays mapped: raises the limit by its size. */
static _Noreturn void limit_beside(struct carm_thread *t)
{
    const uint64_t *r = t->reg;
    const bool is_old = r[RAX] == SYS_setrlimit;
    const uint64_t resource = is_old ? r[RDI] : r[RSI];
    const uint64_t former = is_old ? 0 : r[R10];
    const uint64_t more = carm_release_bytes(resource == RLIMIT_DATA);
    struct rlimit limit;
    struct rlimit before;
    long result = carm_copy_from(&limit, is_old ? r[RSI] : r[RDX], sizeof limit);
    result = result ? result : carm_sys4(SYS_prlimit64, 0, resource, 0, (uint64_t)&before);
    if (result == 0) {
        limit.rlim_cur = raised(limit.rlim_cur, more, before.rlim_max);
        limit.rlim_max = raised(limit.rlim_max, more, before.rlim_max);
        result = carm_sys4(SYS_prlimit64, 0, resource, (uint64_t)&limit, 0);
    }
    if (result == 0 && former) {
        result = carm_copy_to(former, &before, sizeof before);
    }
    carm_give_up(limits_memory);
    finish(t, result);
}

/* Leaves ready code, unless other threads run: these would count more code meanwhile, and a signal could end the
 * program. */
static void leave_code(const struct carm_thread *t)
{
    if (carm_ready_wanted(t) && carm_release_alone(t)) {
        const carm_sigset mask = carm_signals_block();
        carm_ready_leave();
        carm_signals_mask(mask);
    }
}

void carm_engine_syscall(struct carm_thread *t)
{
    const uint64_t pc = carm_links[t->link].target;
    const uint64_t nr = t->reg[RAX];
    const char *why = refused(t);
    long shown = 0;
    t->rip = pc;
    t->next_rip = pc + SYS_CALL_BYTES;
    t->nr = nr;
    if (why == limits_memory && !carm_release_alone(t) && (nr == SYS_setrlimit || !t->reg[RDI])) {
        limit_beside(t);
    }
    if (why) {
        carm_give_up(why);
        carm_detach(t, pc);
    }
    switch (nr) {
    case SYS_mlockall:
        lock_all(t);
    case SYS_rt_sigaction:
        finish(t, action(t));
    case SYS_sigaltstack:
        finish(t, alternate(t));
    case SYS_rt_sigreturn:
        carm_signal_sigreturn(t);
    case CARM_ENGINE_CALL:
        finish(t, carm_region_asked(t));
    case SYS_rseq: /* accepted, never used: a translated restartable sequence would not restart */
        finish(t, 0);
    case SYS_clone:
    case SYS_clone3:
    case SYS_fork:
    case SYS_vfork: {
        const long result = carm_thread_clone(t, (long)nr);
        if (carm_given_up()) {
            if (result == -EAGAIN) {
                carm_detach(t, pc);
            }
        } else if (result == -EINTR) { /* clone never returns -EINTR */
            not_now(t);
        }
        finish(t, result);
    }
    case SYS_execve:
    case SYS_execveat:
        leave_code(t);
        carm_thread_before_exec(t, (long)nr);
        carm_do_syscall(t);
    case SYS_exit:
        carm_thread_exit(t, t->reg[RDI]);
    case SYS_exit_group:
        carm_addresses_end(t);
        leave_code(t);
        t->slot->used = 0;
        carm_sys2(SYS_exit_group, t->reg[RDI], 0);
        __builtin_unreachable();
    case SYS_open:
    case SYS_openat:
        if (carm_view_open(t, nr == SYS_open ? RDI : RSI, &shown)) {
            finish(t, shown);
        }
        carm_do_syscall(t);
    default:
        carm_view_note(t);
        if (sleeps(t->reg)) {
            carm_addresses_sleep(t);
        }
        carm_do_syscall(t);
    }
}

void carm_engine_syscall_done(struct carm_thread *t, long result)
{
    if (t->request) {
        carm_thread_exec_failed(t);
    }
    after(t, t->nr, result);
    finish(t, result);
}

void carm_engine_syscall_aborted(struct carm_thread *t)
{
    if (t->request) {
        carm_thread_exec_failed(t);
    }
    not_now(t);
}
