/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads and processes: each has a slot of the tally. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "harness/translate/engine/emit/emit.h"
#include "harness/translate/engine/kernel/kernel.h"
#include "harness/translate/engine/trace/trace.h"
#include "harness/translate/engine/sys.h"

_Noreturn void carm_clone_child(struct carm_thread *t);

static uint64_t slot_at(uint32_t number)
{
    return CARM_TALLY_AT + CARM_TALLY_SLOTS_AT + (uint64_t)number * CARM_TALLY_SLOT_BYTES;
}

static uint32_t mapped = 1; /* slots mapped in this process */

/* Maps the slots up to `number`: the mapping of the tally grows behind the last slot's state. */
static bool map_slot(uint32_t number)
{
    const uint64_t at = slot_at(mapped - 1) + CARM_TALLY_SLOT_AT;
    const uint64_t had = slot_at(mapped) - at;
    const uint64_t wanted = slot_at(number + 1) - at;
    if (number >= mapped && carm_sys4(SYS_mremap, at, had, wanted, 0) != (long)at) {
        return false;
    }
    mapped = number >= mapped ? number + 1 : mapped;
    carm_tally_end = slot_at(mapped);
    return true;
}

static uint32_t take_number(void)
{
    struct carm_tally *tally = CARM_TALLY;
    for (uint32_t i = 0; i < CARM_TALLY_SLOTS; i++) {
        if (!map_slot(i)) {
            carm_give_up("there is no memory for the counts of one more thread (ulimit -v)");
            break;
        }
        struct carm_tally_slot *slot = (struct carm_tally_slot *)(slot_at(i) + CARM_TALLY_SLOT_AT);
        uint32_t is = 0;
        if (__atomic_compare_exchange_n(&slot->used, &is, 1, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            uint32_t most = __atomic_load_n(&tally->slots, __ATOMIC_RELAXED);
            while (most <= i && !__atomic_compare_exchange_n(&tally->slots, &most, i + 1, false,
                                                             __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            }
            return i;
        }
    }
    return CARM_TALLY_SLOTS;
}

struct carm_thread *carm_thread_take(const struct carm_thread *parent)
{
    carm_lock();
    const uint32_t number = take_number();
    carm_unlock();
    if (number == CARM_TALLY_SLOTS) {
        return NULL;
    }
    const uint64_t at = slot_at(number);
    struct carm_tally_slot *slot = (struct carm_tally_slot *)(at + CARM_TALLY_SLOT_AT);
    const long got = carm_sys6(SYS_mmap, at, CARM_TALLY_STATE_BYTES, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, UINT64_MAX, 0);
    if (got != (long)at) {
        slot->used = 0;
        return NULL;
    }
    carm_sys4(SYS_madvise, at, CARM_TALLY_STATE_BYTES, MADV_DONTDUMP, 0);
    struct carm_thread *t = (struct carm_thread *)at;
    t->self = t;
    t->number = number;
    t->slot = slot;
    t->slot->pid = (int32_t)carm_sys2(SYS_getpid, 0, 0);
    t->stack = at + offsetof(struct carm_thread, engine_stack) + CARM_ENGINE_STACK - 64;
    t->stubs[STUB_DIRECT] = (uint64_t)(uintptr_t)carm_entry_direct;
    t->stubs[STUB_MISS] = (uint64_t)(uintptr_t)carm_entry_miss;
    t->stubs[STUB_SYSCALL] = (uint64_t)(uintptr_t)carm_entry_syscall;
    t->stubs[STUB_CALLOUT] = (uint64_t)(uintptr_t)carm_entry_callout;
    t->stubs[STUB_SPECIAL] = (uint64_t)(uintptr_t)carm_entry_special;
    t->actions = parent ? parent->actions : &t->own_actions;
    t->alt.flags = 2; /* SS_DISABLE */
    carm_addresses_begin(t);
    __atomic_fetch_add(&CARM_TALLY->threads, 1, __ATOMIC_RELAXED);
    if (!parent) {
        __atomic_fetch_add(&CARM_TALLY->processes, 1, __ATOMIC_RELAXED);
    }
    return t;
}

void carm_thread_exit(struct carm_thread *t, uint64_t status)
{
    carm_addresses_end(t);
    carm_signals_block();
    for (uint32_t i = 0; i < t->npending; i++) { /* other threads of the process may take the
                                                  * signals */
        carm_sys2(SYS_kill, (uint64_t)t->slot->pid, (uint64_t)t->queue[i].signo);
    }
    carm_region_close(t);
    carm_exit_thread(status, &t->slot->used);
}

struct clone_request {
    uint64_t flags, stack;
};

static long read_request(const struct carm_thread *t, long nr, struct clone_request *out)
{
    const uint64_t *r = t->reg;
    uint64_t args[7] = {0};
    switch (nr) {
    case SYS_fork:
        *out = (struct clone_request){0, 0};
        return 0;
    case SYS_vfork:
        *out = (struct clone_request){CLONE_VM | CLONE_VFORK, 0};
        return 0;
    case SYS_clone:
        *out = (struct clone_request){r[RDI], r[RSI]};
        return 0;
    default:
        if (r[RSI] < sizeof args || carm_copy_from(args, r[RDI], sizeof args) != 0) {
            return -EFAULT;
        }
        *out = (struct clone_request){args[0], args[5] ? args[5] + args[6] : 0};
        return 0;
    }
}

static void prepare(struct carm_thread *child, const struct carm_thread *t,
                    const struct clone_request *request, carm_sigset mask)
{
    memcpy(child->reg, t->reg, sizeof child->reg);
    child->reg[RAX] = 0;
    child->reg[RCX] = t->next_rip;
    child->reg[R11] = t->flags;
    child->reg[RSP] = request->stack ? request->stack : t->reg[RSP];
    child->flags = t->flags;
    child->next_rip = t->next_rip;
    child->clone_mask = mask;
    child->clone_flags = (uint32_t)request->flags;
    if (!(request->flags & CLONE_VM) || (request->flags & CLONE_VFORK)) {
        child->alt = t->alt;
    }
    if (!(request->flags & CLONE_SIGHAND)) {
        child->own_actions = *t->actions;
        child->actions = &child->own_actions;
        for (int i = 0; (request->flags & CLONE_CLEAR_SIGHAND) && i < CARM_SIGNALS; i++) {
            if (child->own_actions.of[i].handler > 1) {
                child->own_actions.of[i] = (struct carm_action){.handler = 0};
            }
        }
    }
}

/* Forgets a child whose creation failed. */
static void forget_child(struct carm_thread *child)
{
    carm_addresses_forget(child);
    __atomic_fetch_sub(&CARM_TALLY->threads, 1, __ATOMIC_RELAXED);
    child->slot->used = 0;
}

long carm_thread_clone(struct carm_thread *t, long nr)
{
    struct clone_request request;
    const long rc = read_request(t, nr, &request);
    if (rc) { /* the kernel's call reports the error */
        return carm_sys2(nr, t->reg[RDI], t->reg[RSI]);
    }
    if (request.flags & (CLONE_NEWPID | CLONE_NEWUSER)) {
        carm_give_up("it makes a namespace of processes");
        return -EAGAIN;
    }
    carm_view_clones((uint32_t)request.flags);
    const carm_sigset mask = carm_signals_block();
    if (t->pending) {
        carm_signals_mask(mask);
        return -EINTR;
    }
    struct carm_thread *child = carm_thread_take(t);
    if (!child) {
        carm_signals_mask(mask);
        carm_give_up("it has more than 4096 threads");
        return -EAGAIN;
    }
    const bool forks = !(request.flags & CLONE_VM);
    /* the parent of a vfork waits until its child has left its memory */
    const bool vforks = request.flags & CLONE_VFORK;
    carm_pages_shared |= !forks && ((carm_memory_borrowed((uint32_t)request.flags) && !vforks) ||
                                    carm_memory_borrowed(t->clone_flags));
    prepare(child, t, &request, mask);
    if (forks) {
        carm_view_forks();
        carm_lock(); /* the child must find consistent tables */
        carm_translate_for_children(t);
    }
    const long result =
        carm_clone(child, nr, t->reg[RDI], t->reg[RSI], t->reg[RDX], t->reg[R10], t->reg[R8]);
    if (forks) {
        carm_cache_fork_parent();
        carm_unlock();
        if (result > 0) { /* the child may outlive this process before it marks its slot itself */
            child->slot->pid = (int32_t)result;
        }
    }
    if (result < 0) {
        forget_child(child);
    }
    carm_signals_mask(mask);
    return result;
}

void carm_clone_child(struct carm_thread *t)
{
    carm_set_gs(t);
    if (!(t->clone_flags & CLONE_VM)) {
        carm_cache_fork_child();
        carm_lock_reset();
        carm_view_forked();
        carm_pages_shared = false;
    }
    if (!(t->clone_flags & CLONE_THREAD)) {
        t->slot->pid = (int32_t)carm_sys2(SYS_getpid, 0, 0);
        __atomic_fetch_add(&CARM_TALLY->processes, 1, __ATOMIC_RELAXED);
    }
    carm_signals_begin(t);
    carm_signals_mask(t->clone_mask);
    carm_go_on(t, t->next_rip, false);
}

static void wake(uint32_t *word)
{
    carm_sys4(SYS_futex, (uint64_t)word, FUTEX_WAKE, 0x7fffffff, 0);
}

/* Waits while *state == is, for carm's answer. returns false when none will come: the program
 * has ended, or carm was killed */
static bool wait_while(uint32_t *state, uint32_t is)
{
    const struct timespec moment = {0, 50000000};
    const struct carm_control *control = CARM_CONTROL;
    while (__atomic_load_n(state, __ATOMIC_ACQUIRE) == is) {
        carm_sys4(SYS_futex, (uint64_t)state, FUTEX_WAIT, is, (uint64_t)&moment);
        if (carm_sys2(SYS_kill, (uint64_t)control->tracer, 0) == -ESRCH ||
            __atomic_load_n(&control->stop, __ATOMIC_ACQUIRE)) {
            return !__atomic_compare_exchange_n(state, &is, CARM_REQUEST_FREE, false,
                                                __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
        }
    }
    return true;
}

/* Whether an exec runs a set-user-id program or one with capabilities, which would lose its
 * rights under a tracer. */
static bool privileged(const struct carm_thread *t, long nr)
{
    const uint64_t *r = t->reg;
    struct stat s;
    char value[64];
    long rc;
    if (nr == SYS_execve) {
        rc = carm_sys4(SYS_newfstatat, (uint64_t)AT_FDCWD, r[RDI], (uint64_t)&s, 0);
    } else {
        rc = carm_sys4(SYS_newfstatat, r[RDI], r[RSI], (uint64_t)&s, r[R8] & AT_EMPTY_PATH);
    }
    if (rc < 0) {
        return true; /* exec fails, too */
    }
    if (s.st_mode & (S_ISUID | S_ISGID)) {
        carm_give_up("it starts a program that is set-user-id or set-group-id");
        return true;
    }
    if (nr == SYS_execve && carm_sys4(SYS_getxattr, r[RDI], (uint64_t) "security.capability",
                                      (uint64_t)value, sizeof value) > 0) {
        carm_give_up("it starts a program that has capabilities");
        return true;
    }
    return false;
}

void carm_thread_before_exec(struct carm_thread *t, long nr)
{
    struct carm_control *control = CARM_CONTROL;
    if (carm_given_up() || control->stop || privileged(t, nr)) {
        return;
    }
    uint32_t i = 0;
    for (;; i = (i + 1) % CARM_CONTROL_REQUESTS) {
        uint32_t is = CARM_REQUEST_FREE;
        if (__atomic_compare_exchange_n(&control->requests[i].state, &is, CARM_REQUEST_CLAIMED,
                                        false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            break;
        }
        if (i + 1 == CARM_CONTROL_REQUESTS) {
            carm_sys2(SYS_sched_yield, 0, 0);
        }
    }
    struct carm_request *request = &control->requests[i];
    carm_addresses_end(t);
    request->tid = (int32_t)carm_sys2(SYS_gettid, 0, 0);
    __atomic_store_n(&request->state, CARM_REQUEST_ASKED, __ATOMIC_RELEASE);
    __atomic_fetch_add(&control->bell, 1, __ATOMIC_ACQ_REL);
    wake(&control->bell);
    if (wait_while(&request->state, CARM_REQUEST_ASKED)) {
        t->request = i + 1;
    }
}

void carm_thread_exec_failed(struct carm_thread *t)
{
    struct carm_control *control = CARM_CONTROL;
    struct carm_request *request = &control->requests[t->request - 1];
    t->request = 0;
    __atomic_store_n(&request->state, CARM_REQUEST_FAILED, __ATOMIC_RELEASE);
    __atomic_fetch_add(&control->bell, 1, __ATOMIC_ACQ_REL);
    wake(&control->bell);
    wait_while(&request->state, CARM_REQUEST_FAILED);
    /* the exec is done: the request is free again */
    __atomic_store_n(&request->state, CARM_REQUEST_FREE, __ATOMIC_RELEASE);
}
