/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An event loop over all threads. Each thread is stepped again when it reports, so that a thread
 * that waits in the kernel delays no other thread. Threads are seized rather than attached
 * (ptrace(2)): the tracer can then distinguish stops of job control from other stops, and interrupt
 * a thread in the kernel. */
#include "run/trace.h"

#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/count/step/account.h"
#include "harness/count/step/counts.h"
#include "harness/translate/inject.h"

enum { PAGE_BYTES = 4096, USER_CS_64 = 0x33, XSTATE_MAX = 16384 };

/* A stepped thread. */
struct task {
    pid_t tid;
    bool pending;        /* an instruction is being executed whose counts are known */
    uint64_t rip;        /* address of the next instruction */
    uint64_t behind;     /* address behind that instruction; 0 = the thread may go on elsewhere */
    uint64_t gathers_at; /* carm_account_resumed */
    struct carm_step_counts delta;
    uint64_t nr, args[3]; /* number and arguments if the instruction is a system call; otherwise
                           * nr = NO_CALL */
    bool in_call;         /* inside a system call that is not single-stepped */
    siginfo_t held;       /* a timer's signal that is delivered later; si_signo 0 = none */
};

#define NO_CALL UINT64_MAX

/* All threads, by number; grows. */
struct tasks {
    struct task *slots;
    size_t room, n;
};

/* The processor that tracer and program share while stepping: a switch between two threads of
 * one processor is faster than waking another processor. The program's queries of its processors
 * return the processors of an unstepped run. */
struct sharing {
    bool on;
    bool program_chose; /* the program set an affinity itself, which stays */
    cpu_set_t program, tracer;
};

/* ---- the table: open addressing, never more than half full ---- */

static size_t slot_of(const struct tasks *tasks, pid_t tid)
{
    size_t i = (size_t)tid * 2654435761U & (tasks->room - 1);
    while (tasks->slots[i].tid && tasks->slots[i].tid != tid) {
        i = (i + 1) & (tasks->room - 1);
    }
    return i;
}

/* The task of a thread; NULL = none. Valid until the next addition or removal. */
static struct task *find_task(struct tasks *tasks, pid_t tid)
{
    if (!tasks->room) {
        return NULL;
    }
    struct task *task = &tasks->slots[slot_of(tasks, tid)];
    return task->tid ? task : NULL;
}

static bool grow(struct tasks *tasks)
{
    struct tasks bigger = {.room = tasks->room ? 2 * tasks->room : 64, .n = tasks->n};
    bigger.slots = calloc(bigger.room, sizeof *bigger.slots);
    if (!bigger.slots) {
        return false;
    }
    for (size_t i = 0; i < tasks->room; i++) {
        if (tasks->slots[i].tid) {
            bigger.slots[slot_of(&bigger, tasks->slots[i].tid)] = tasks->slots[i];
        }
    }
    free(tasks->slots);
    *tasks = bigger;
    return true;
}

/* Finds or adds. NULL: not enough memory */
static struct task *add_task(struct tasks *tasks, pid_t tid, bool *is_new)
{
    struct task *task = find_task(tasks, tid);
    *is_new = !task;
    if (task) {
        return task;
    }
    if (2 * (tasks->n + 1) > tasks->room && !grow(tasks)) {
        return NULL;
    }
    task = &tasks->slots[slot_of(tasks, tid)];
    *task = (struct task){.tid = tid, .nr = NO_CALL};
    tasks->n++;
    return task;
}

static void remove_task(struct tasks *tasks, pid_t tid)
{
    if (!find_task(tasks, tid)) {
        return;
    }
    size_t hole = slot_of(tasks, tid);
    tasks->slots[hole].tid = 0;
    tasks->n--;
    /* entries after the hole may have been displaced by the removed entry */
    for (size_t i = (hole + 1) & (tasks->room - 1); tasks->slots[i].tid;
         i = (i + 1) & (tasks->room - 1)) {
        const struct task moved = tasks->slots[i];
        tasks->slots[i].tid = 0;
        tasks->slots[slot_of(tasks, moved.tid)] = moved;
    }
}

static void free_tasks(struct tasks *tasks)
{
    free(tasks->slots);
    *tasks = (struct tasks){.slots = NULL};
}

/* ---- one instruction ---- */

/* Reads the code at rip. The next page is read separately, since it may not be mapped. */
static size_t read_code(pid_t tid, uint64_t rip, uint8_t code[CARM_INSTRUCTION_BYTES_MAX])
{
    const size_t want = CARM_INSTRUCTION_BYTES_MAX;
    const size_t left = PAGE_BYTES - (size_t)(rip % PAGE_BYTES);
    const size_t first = left < want ? left : want;
    const struct iovec local = {code, want};
    const struct iovec remote[] = {{(void *)(uintptr_t)rip, first},
                                   {(void *)(uintptr_t)(rip + first), want - first}};
    const ssize_t n = process_vm_readv(tid, &local, 1, remote, first < want ? 2 : 1, 0);
    if (n > 0) {
        return (size_t)n;
    }
    size_t got = 0; /* where a sandbox forbids process_vm_readv: word by word */
    while (got < want) {
        errno = 0;
        const long word = ptrace(PTRACE_PEEKTEXT, tid, (void *)(uintptr_t)(rip + got), NULL);
        if (errno) {
            break;
        }
        const size_t some = want - got < sizeof word ? want - got : sizeof word;
        memcpy(code + got, &word, some);
        got += some;
    }
    return got;
}

struct xstate_arg {
    pid_t tid;
    uint8_t area[XSTATE_MAX];
};

static const uint8_t *fetch_xsave(void *arg, size_t *size_bytes)
{
    struct xstate_arg *x = arg;
    struct iovec io = {x->area, sizeof x->area};
    if (ptrace(PTRACE_GETREGSET, x->tid, (void *)NT_X86_XSTATE, &io) != 0) {
        return NULL;
    }
    *size_bytes = io.iov_len;
    return x->area;
}

/* The address behind an instruction at rip; 0 = the thread may go on elsewhere. */
static uint64_t behind(const struct carm_account *e, uint64_t rip)
{
    const unsigned elsewhere = CARM_ACCOUNT_BRANCH | CARM_ACCOUNT_JUMPS | CARM_ACCOUNT_SYSCALL |
                               CARM_ACCOUNT_REP | CARM_ACCOUNT_UNKNOWN;
    return e && e->length && !(e->flags & elsewhere) ? rip + e->length : 0;
}

/* Adds the counts of instructions whose trap was lost, by the registers behind them: a step then executes the next
 * instruction, too. A KVM guest lost 8 traps of 36 million while 8 processes shared 2 CPUs.
 * regs  at the stop, which is not behind the noted instruction */
static void count_lost(const struct task *task, struct carm_accounts *accounts,
                       const struct carm_registers *regs, struct carm_step_counts *counts)
{
    enum { MOST = 3 };
    struct carm_step_counts lost, one;
    struct carm_registers there = *regs;
    memset(&lost, 0, sizeof lost);
    there.rip = task->behind;
    for (int k = 0; k < MOST && there.rip && there.rip != regs->rip; k++) {
        uint8_t code[CARM_INSTRUCTION_BYTES_MAX];
        const size_t n = read_code(task->tid, there.rip, code);
        const struct carm_account *e = carm_accounts_find(accounts, there.rip, code, n);
        memset(&one, 0, sizeof one);
        carm_accounts_apply(accounts, e, code, n, &there, &one);
        carm_step_counts_add(&lost, &one, 1);
        there.rip = behind(e, there.rip);
    }
    if (!there.rip || there.rip == regs->rip) { /* the last instruction leads to the stop, or may */
        carm_step_counts_add(counts, &lost, 1);
    }
}

/* Notes the counts of the next instruction.
 * counts  of the program, to which instructions are added that the last step executed besides
 * returns 0, or -1 when the thread has ended or is not stopped */
static int note_next(struct task *task, struct carm_accounts *accounts,
                     struct carm_step_counts *counts)
{
    struct user_regs_struct r;
    struct xstate_arg x;
    uint8_t code[CARM_INSTRUCTION_BYTES_MAX];
    if (ptrace(PTRACE_GETREGS, task->tid, NULL, &r) != 0) {
        return -1;
    }
    x.tid = task->tid;
    /* no bytes of 32-bit code are decoded: its instructions count as unknown */
    const size_t n = r.cs == USER_CS_64 ? read_code(task->tid, r.rip, code) : 0;
    const struct carm_registers regs = {.rip = r.rip,
                                        .rax = r.rax,
                                        .rcx = r.rcx,
                                        .rdx = r.rdx,
                                        .rdi = r.rdi,
                                        .rsi = r.rsi,
                                        .flags = r.eflags,
                                        .xsave = fetch_xsave,
                                        .xsave_arg = &x};
    if (task->behind && r.rip != task->behind && r.rip != task->rip) {
        count_lost(task, accounts, &regs, counts);
    }
    const struct carm_account *e = carm_accounts_find(accounts, r.rip, code, n);
    memset(&task->delta, 0, sizeof task->delta);
    if (!carm_account_resumed(e, r.rip, &task->gathers_at)) {
        carm_accounts_apply(accounts, e, code, n, &regs, &task->delta);
    }
    task->pending = true;
    task->rip = r.rip;
    task->behind = behind(e, r.rip);
    task->nr = NO_CALL;
    if (e && (e->flags & CARM_ACCOUNT_SYSCALL)) {
        task->nr = r.rax;
        task->args[0] = r.rdi;
        task->args[1] = r.rsi;
        task->args[2] = r.rdx;
    }
    return 0;
}

/* System calls during which or after which SIGTRAP can be blocked: the trap of a step would then make
 * the kernel reset the program's handler (force_sig_info_to_task). Their end is seen by PTRACE_SYSCALL instead. */
static bool changes_mask(uint64_t nr)
{
    return nr == SYS_rt_sigprocmask || nr == SYS_rt_sigsuspend || nr == SYS_ppoll ||
           nr == SYS_pselect6 || nr == SYS_epoll_pwait;
}

/* Lets a stopped thread execute the noted instruction, or go to the handler of a signal.
 * signo  delivered first, 0 = none
 * returns 0 or -1: the thread is gone or not stopped */
static int execute(struct task *task, int signo)
{
    const bool whole_call = changes_mask(task->nr) && !signo;
    task->in_call = false;
    return ptrace(whole_call ? PTRACE_SYSCALL : PTRACE_SINGLESTEP, task->tid, NULL,
                  (void *)(intptr_t)signo) == 0
               ? 0
               : -1;
}

static void unblock_trap(pid_t tid)
{
    const uint64_t trap = UINT64_C(1) << (SIGTRAP - 1);
    uint64_t mask = 0;
    if (ptrace(PTRACE_GETSIGMASK, tid, (void *)sizeof mask, &mask) == 0 && (mask & trap)) {
        mask &= ~trap;
        ptrace(PTRACE_SETSIGMASK, tid, (void *)sizeof mask, &mask);
    }
}

/* Corrects the answer to sched_getaffinity: programs choose their number of threads by it, so
 * they must see the processors of an uncounted run. */
static void answer_affinity(const struct task *task, struct sharing *sharing)
{
    struct user_regs_struct r;
    if (!sharing->on || sharing->program_chose ||
        (task->nr != SYS_sched_getaffinity && task->nr != SYS_sched_setaffinity) ||
        ptrace(PTRACE_GETREGS, task->tid, NULL, &r) != 0 || (int64_t)r.rax < 0) {
        return;
    }
    if (task->nr == SYS_sched_setaffinity) {
        sharing->program_chose = true;
        return;
    }
    const size_t bytes = r.rax < sizeof sharing->program ? r.rax : sizeof sharing->program;
    const struct iovec local = {&sharing->program, bytes};
    const struct iovec remote = {(void *)(uintptr_t)task->args[2], bytes};
    process_vm_writev(task->tid, &local, 1, &remote, 1, 0);
}

/* Adds the counts of an executed instruction. */
static void commit(struct task *task, struct sharing *sharing, struct carm_step_counts *counts)
{
    if (task->pending) {
        if (task->nr != NO_CALL) {
            answer_affinity(task, sharing);
        }
        carm_step_counts_add(counts, &task->delta, 1);
        task->pending = false;
    }
}

/* At a signal's stop: whether the noted instruction has been executed. */
static bool executed(const struct task *task)
{
    struct user_regs_struct r;
    return ptrace(PTRACE_GETREGS, task->tid, NULL, &r) == 0 && r.rip != task->rip;
}

/* ---- the event loop ---- */

enum { PROGRESS_INSTRUCTIONS = 1 << 14, STATUS_EVENT_SHIFT = 16, SYSCALL_STOP = SIGTRAP | 0x80 };
static const long seize_options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                                  PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;

struct run {
    struct carm_trace *trace;
    struct carm_accounts *accounts;
    struct tasks tasks;
    struct sharing sharing;
    pid_t root;
    bool root_ended;
    bool letting_go; /* stepping ends: every thread is released at its next stop */
    uint64_t next_progress;
    uint64_t next_timer; /* instructions from which on a timer's signal is delivered */
};

/* ---- letting go ---- */

/* Whether the trap of a step is still queued for a thread that stopped for another reason. If
 * such a thread were released, the trap would kill it. */
static bool trap_is_queued(pid_t tid)
{
    siginfo_t queued[16];
    struct __ptrace_peeksiginfo_args what = {.off = 0, .flags = 0, .nr = 16};
    const long n = ptrace(PTRACE_PEEKSIGINFO, tid, &what, queued);
    for (long i = 0; i < n; i++) {
        if (queued[i].si_signo == SIGTRAP &&
            (queued[i].si_code == TRAP_TRACE || queued[i].si_code == TRAP_BRKPT)) {
            return true;
        }
    }
    return false;
}

static void release(struct run *run, pid_t tid, int signo)
{
    struct task *task = find_task(&run->tasks, tid);
    if (task && task->held.si_signo) {
        syscall(SYS_tkill, tid, task->held.si_signo); /* delivered when the thread goes on */
        task->held.si_signo = 0;
    }
    if (trap_is_queued(tid)) {
        ptrace(PTRACE_CONT, tid, NULL, (void *)(intptr_t)signo);
        return; /* the thread's next stop is the trap */
    }
    if (run->sharing.on && !run->sharing.program_chose) {
        sched_setaffinity(tid, sizeof run->sharing.program, &run->sharing.program);
    }
    if (ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)signo) == 0) {
        remove_task(&run->tasks, tid);
    }
}

/* Notes why stepping ended; the first reason stays. */
static void cut(struct run *run, enum carm_trace_cut why)
{
    if (run->trace->cut == CARM_TRACE_WHOLE) {
        run->trace->cut = why;
    }
}

static void let_go(struct run *run, enum carm_trace_cut why)
{
    if (run->letting_go) {
        return;
    }
    run->letting_go = true;
    cut(run, why);
    for (size_t i = 0; i < run->tasks.room; i++) {
        if (run->tasks.slots[i].tid) {
            ptrace(PTRACE_INTERRUPT, run->tasks.slots[i].tid, NULL, NULL);
        }
    }
}

/* ---- stops ---- */

/* The held signal of a thread at the trap of a step, if it may be delivered now: after
 * CARM_TRACE_TIMER_GAP instructions, or before a system call, which might wait for the signal.
 * returns 0 = none */
static int release_held(struct run *run, struct task *task)
{
    const int signo = task->held.si_signo;
    if (!signo || run->letting_go ||
        (task->nr == NO_CALL && run->trace->counts.instructions < run->next_timer) ||
        ptrace(PTRACE_SETSIGINFO, task->tid, NULL, &task->held) != 0) {
        return 0;
    }
    task->held.si_signo = 0;
    run->next_timer = run->trace->counts.instructions + CARM_TRACE_TIMER_GAP;
    return signo;
}

/* Lets a stopped thread go on.
 * signo  delivered to it; 0 = none
 * trap   the thread is at the trap of a step, where a held signal may be delivered, too */
static void go_on_from(struct run *run, struct task *task, int signo, bool trap)
{
    if (!run->letting_go && run->trace->counts.instructions >= run->trace->budget) {
        let_go(run, CARM_TRACE_BUDGET);
    }
    if (!run->letting_go && note_next(task, run->accounts, &run->trace->counts) != 0 &&
        errno != ESRCH) {
        let_go(run, CARM_TRACE_FAILED);
    }
    signo = trap && !signo ? release_held(run, task) : signo;
    if (run->letting_go) {
        release(run, task->tid, signo);
    } else if (execute(task, signo) != 0 && errno != ESRCH) {
        let_go(run, CARM_TRACE_FAILED);
        release(run, task->tid, signo);
    }
}

static void go_on(struct run *run, struct task *task, int signo)
{
    task->behind = 0;
    go_on_from(run, task, signo, false);
}

static void forget(struct task *task)
{
    if (task->pending && task->delta.instructions) {
        task->gathers_at = 0; /* the gather is executed, and counted, from its begin */
    }
    task->pending = false;
    task->behind = 0;
}

/* A signal interrupted a gather or scatter, which was counted as a whole when it began.
 * Subtracts the remaining lanes: they are counted when the instruction is executed again. */
static void take_back_rest(struct run *run, struct task *task)
{
    if (task->pending && !task->delta.instructions && task->gathers_at == task->rip) {
        task->gathers_at = 0;
        task->behind = 0;
        if (note_next(task, run->accounts, NULL) == 0) {
            carm_step_counts_subtract(&run->trace->counts, &task->delta);
        }
    }
}

static int add(struct run *run, pid_t tid, bool process)
{
    bool is_new = false;
    struct task *task = add_task(&run->tasks, tid, &is_new);
    if (task && is_new) {
        run->trace->threads++;
    }
    run->trace->processes += task && process;
    return task ? 0 : -1;
}

static void on_event(struct run *run, struct task *task, int event, int signo)
{
    const pid_t tid = task->tid;
    unsigned long message = 0;
    if (event == PTRACE_EVENT_STOP) {
        if (signo != SIGTRAP && !run->letting_go) { /* stopped by job control until SIGCONT */
            ptrace(PTRACE_LISTEN, tid, NULL, NULL);
            return;
        }
        if (task->pending && !run->letting_go) { /* repeat the interrupted step */
            if (executed(task)) {
                commit(task, &run->sharing, &run->trace->counts);
            }
            forget(task);
        }
        go_on(run, task, 0);
        return;
    }
    ptrace(PTRACE_GETEVENTMSG, tid, NULL, &message);
    if (event == PTRACE_EVENT_EXEC) { /* after an exec by any thread, the thread has its leader's
                                       * number */
        if ((pid_t)message != tid) {
            remove_task(&run->tasks, (pid_t)message);
            task = find_task(&run->tasks, tid);
        }
        carm_inject_random(tid);
    } else if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK ||
               event == PTRACE_EVENT_VFORK) {
        if (add(run, (pid_t)message, event != PTRACE_EVENT_CLONE) != 0) {
            let_go(run, CARM_TRACE_FAILED);
        }
        task = find_task(&run->tasks, tid);
    }
    if (!task) {
        return;
    }
    if (!run->letting_go && ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL) != 0 && errno != ESRCH) {
        let_go(run, CARM_TRACE_FAILED); /* the present system call stays pending */
    }
    if (run->letting_go) {
        release(run, tid, 0);
    }
}

/* The end of a system call without the trap of a step. */
static void on_call(struct run *run, struct task *task)
{
    if (!task->in_call && !run->letting_go && task->nr != NO_CALL) {
        task->in_call = true;
        ptrace(PTRACE_SYSCALL, task->tid, NULL, NULL);
        return;
    }
    unblock_trap(task->tid);
    commit(task, &run->sharing, &run->trace->counts);
    go_on(run, task, 0);
}

/* Notes a signal from outside of the program: from then on, the program's work differs from an
 * undisturbed run. */
static void note_outside(struct run *run, const siginfo_t *info)
{
    const int signo = info->si_signo;
    const bool ends = signo == SIGTERM || signo == SIGHUP || signo == SIGINT || signo == SIGQUIT;
    const bool sent = info->si_code == SI_USER || info->si_code == SI_TKILL ||
                      info->si_code == SI_QUEUE || info->si_code == SI_KERNEL;
    if (ends && sent && !find_task(&run->tasks, info->si_pid)) {
        cut(run, CARM_TRACE_SIGNALLED);
        run->trace->cut_signal = run->trace->cut == CARM_TRACE_SIGNALLED ? signo : 0;
    }
}

/* Whether a signal interrupted a waiting system call, possibly one that waits for this signal. */
static bool interrupted_call(const struct task *task)
{
    enum {
        ERESTARTSYS = 512,
        ERESTART_RESTARTBLOCK = 516
    }; /* internal error codes of the kernel, not in errno.h */
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, task->tid, NULL, &r) != 0 || (int64_t)r.orig_rax < 0) {
        return false;
    }
    const int64_t result = (int64_t)r.rax;
    return result == -EINTR || (result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK);
}

/* Whether a timer's signal has to wait. */
static bool hold(struct run *run, struct task *task, const siginfo_t *info)
{
    const int signo = info->si_signo;
    const bool timer =
        info->si_code == SI_TIMER || (info->si_code == SI_KERNEL &&
                                      (signo == SIGALRM || signo == SIGVTALRM || signo == SIGPROF));
    if (!timer || run->letting_go) {
        return false;
    }
    if (task->held.si_signo == signo) {
        return true; /* two signals of one kind become one, like blocked signals */
    }
    if (run->trace->counts.instructions >= run->next_timer || task->held.si_signo ||
        interrupted_call(task)) {
        run->next_timer = run->trace->counts.instructions + CARM_TRACE_TIMER_GAP;
        return false;
    }
    task->held = *info;
    return true;
}

static void on_stop(struct run *run, struct task *task, int signo)
{
    siginfo_t info = {.si_signo = 0};
    if (ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info) != 0) {
        return; /* the thread was killed meanwhile: its end will be reported */
    }
    if (signo == SIGTRAP && (info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT)) {
        /* TRAP_BRKPT: the thread left the kernel, from a stepped system call or from one in
         * progress (a new thread, an exec, a restart). In the second case no instruction was
         * executed */
        if (info.si_code == TRAP_BRKPT && task->nr == NO_CALL) {
            forget(task);
        }
        commit(task, &run->sharing, &run->trace->counts);
        go_on_from(run, task, 0, true);
        return;
    }
    if (signo == SIGTRAP &&
        info.si_code == SIGTRAP) { /* the thread is at a signal handler's begin */
        forget(task);
        unblock_trap(task->tid);
        go_on(run, task, 0);
        return;
    }
    if (task->pending && executed(task)) {
        commit(task, &run->sharing, &run->trace->counts);
    } else {
        take_back_rest(run, task);
    }
    forget(task);
    note_outside(run, &info);
    go_on(run, task, hold(run, task, &info) ? 0 : signo);
}

static int on_report(struct run *run, pid_t tid, int status)
{
    bool is_new = false;
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
        struct task *task = find_task(&run->tasks, tid);
        if (task) {
            task->nr = NO_CALL;
            commit(task, &run->sharing, &run->trace->counts);
        }
        remove_task(&run->tasks, tid);
        if (tid == run->root) {
            run->root_ended = true;
            run->trace->status = status;
            if (run->tasks.n) { /* processes that outlive the program are not waited for */
                let_go(run, CARM_TRACE_OUTLIVED);
            }
        }
        return 0;
    }
    if (!WIFSTOPPED(status)) {
        return 0;
    }
    /* a new thread may report before the thread that created it */
    struct task *task = add_task(&run->tasks, tid, &is_new);
    if (!task) {
        return -1;
    }
    run->trace->threads += is_new;
    const int event = status >> STATUS_EVENT_SHIFT;
    if (event) {
        on_event(run, task, event, WSTOPSIG(status));
    } else if (WSTOPSIG(status) == SYSCALL_STOP) {
        on_call(run, task);
    } else {
        on_stop(run, task, WSTOPSIG(status));
    }
    return 0;
}

static void loop(struct run *run)
{
    struct carm_trace *trace = run->trace;
    while (!run->root_ended || run->tasks.n) {
        int status = 0;
        const pid_t tid = waitpid(-1, &status, __WALL | __WNOTHREAD);
        if (trace->interrupted && *trace->interrupted) {
            let_go(run, CARM_TRACE_INTERRUPTED);
        }
        if (tid > 0) {
            if (on_report(run, tid, status) != 0) {
                let_go(run, CARM_TRACE_FAILED);
            }
        } else if (errno != EINTR) {
            break; /* no child is left */
        }
        if (trace->progress && trace->counts.instructions >= run->next_progress) {
            run->next_progress = trace->counts.instructions + PROGRESS_INSTRUCTIONS;
            trace->progress(trace->counts.instructions, trace->progress_arg);
        }
    }
}

/* ---- begin ---- */

/* Takes over a child that stopped itself, whether it is traced already or not.
 * returns 0, or -1 with errno; errno 0 = the child has ended, see status */
static int seize(pid_t pid, int *status)
{
    siginfo_t info;
    const struct timespec moment = {0, 200000};
    for (;;) {
        if (ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) == 0) { /* traced and stopped already:
                                                                 * nothing to do */
            waitpid(pid, status, WNOHANG | __WALL);
            if (ptrace(PTRACE_DETACH, pid, NULL, (void *)SIGSTOP) != 0) {
                return -1;
            }
            continue;
        }
        const pid_t got = waitpid(pid, status, WNOHANG | WUNTRACED);
        if (got < 0) {
            return -1;
        }
        if (got == pid && (WIFEXITED(*status) || WIFSIGNALED(*status))) {
            errno = 0;
            return -1;
        }
        if (got == pid && WIFSTOPPED(*status) && ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) != 0) {
            break;
        }
        nanosleep(&moment, NULL);
    }
    return ptrace(PTRACE_SEIZE, pid, NULL, (void *)seize_options) == 0 ? 0 : -1;
}

/* Lets the child go on to its exec, from which on it is stepped.
 * returns 0, or -1 when the child ended before, see status */
static int go_to_exec(pid_t pid, int *status)
{
    kill(pid, SIGCONT);
    while (waitpid(pid, status, __WALL) == pid && WIFSTOPPED(*status)) {
        const int event = *status >> STATUS_EVENT_SHIFT;
        if (event == PTRACE_EVENT_EXEC) {
            carm_inject_random(pid);
            return 0;
        }
        const int signo = event || WSTOPSIG(*status) == SIGCONT ? 0 : WSTOPSIG(*status);
        ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)signo);
    }
    return -1;
}

static void share_processor(struct sharing *sharing, pid_t pid)
{
    cpu_set_t one;
    const int cpu = sched_getcpu();
    if (sched_getaffinity(pid, sizeof sharing->program, &sharing->program) != 0 ||
        sched_getaffinity(0, sizeof sharing->tracer, &sharing->tracer) != 0 ||
        !CPU_ISSET((size_t)cpu, &sharing->program)) {
        return;
    }
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    sharing->on = sched_setaffinity(0, sizeof one, &one) == 0;
    if (sharing->on) {
        sched_setaffinity(pid, sizeof one, &one);
    }
}

int carm_trace_run(pid_t pid, struct carm_trace *trace, struct carm_err *err)
{
    struct run run = {.trace = trace, .root = pid};
    bool is_new = false;
    int rc = carm_accounts_open(&run.accounts, NULL, err);
    memset(&trace->counts, 0, sizeof trace->counts);
    trace->cut = CARM_TRACE_WHOLE;
    trace->cut_signal = 0;
    trace->threads = 1;
    trace->processes = 1;
    trace->status = 0;
    if (rc) {
        return rc;
    }
    if (seize(pid, &trace->status) != 0) {
        rc = errno ? carm_fail(err, CARM_ENOTSUP,
                               "the program cannot be traced (%s): see /proc/sys/kernel/yama/"
                               "ptrace_scope, or run it in a container that allows ptrace",
                               strerror(errno))
                   : 0;
        goto out;
    }
    share_processor(&run.sharing, pid);
    if (go_to_exec(pid, &trace->status) != 0) {
        goto out;
    }
    struct task *root = add_task(&run.tasks, pid, &is_new);
    if (!root) {
        ptrace(PTRACE_DETACH, pid, NULL, NULL);
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory to step a program");
        goto out;
    }
    unblock_trap(pid);
    go_on(&run, root, 0);
    loop(&run);
    if (!run.root_ended) {
        rc = carm_fail(err, CARM_EIO, "the stepped program was lost: %s", strerror(errno));
    }
out:
    if (run.sharing.on) {
        sched_setaffinity(0, sizeof run.sharing.tracer, &run.sharing.tracer);
    }
    free_tasks(&run.tasks);
    carm_accounts_close(run.accounts);
    return rc;
}

/* ---- whether it works ---- */

static long scope(void)
{
    char line[16] = "";
    FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (f) {
        (void)!fgets(line, sizeof line, f);
        fclose(f);
    }
    return strtol(line, NULL, 10);
}

/* Tries seizing, stopping and killing with a child that stops itself.
 * returns NULL, or the name of the step that failed */
static const char *trial(void)
{
    const char *failed = NULL;
    int status = 0;
    const pid_t pid = fork();
    if (pid < 0) {
        return "fork";
    }
    if (pid == 0) {
        for (;;) {
            pause();
        }
    }
    if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)PTRACE_O_EXITKILL) != 0) {
        failed = "PTRACE_SEIZE";
    } else if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) != 0 ||
               waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status)) {
        failed = "PTRACE_INTERRUPT";
    }
    const int saved = errno;
    kill(pid, SIGKILL);
    while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
    }
    errno = saved;
    return failed;
}

int carm_trace_check(struct carm_err *err)
{
    const char *failed = trial();
    if (!failed) {
        return 0;
    }
    const int why = errno;
    if (scope() >= 2) {
        return carm_fail(err, CARM_ENOTSUP,
                         "/proc/sys/kernel/yama/ptrace_scope is %ld: as root, write 1 or 0 to it",
                         scope());
    }
    return carm_fail(err, CARM_ENOTSUP,
                     "%s fails (%s): the sandbox or container must allow ptrace (docker: "
                     "--cap-add SYS_PTRACE or --security-opt seccomp=unconfined)",
                     failed, strerror(why));
}
