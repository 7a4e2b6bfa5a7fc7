/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A traced program whose stops are a table, and doubles of the system calls of run/trace.c, which note each request.
 * Numbers behind "step", "call" (step to the next stop of a system call), "on" and "detach" are the thread's; +15 is a
 * signal that goes with it. */
#pragma once

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/count/step/account.h"
#include "harness/translate/inject.h"
#include "run/trace.h"
#include "tests/events.h"

enum { PID = 10, CPU = 3, GAP = CARM_TRACE_TIMER_GAP };

/* ---- the program ---- */

/* Instructions by their address: 0x500 .. system calls, 0x600 .. gathers, 0x700 .. code of 32 bits; 0xff8: the end of a page */
enum { CALL = 0x500, GATHER = 0x600, NARROW = 0x700, STRAIGHT = 0x900, EDGE = 0x1ff8 };

/* A stop, and the thread's registers at it. */
struct stop {
    pid_t tid;
    int status;
    uint64_t rip;
    uint64_t rax;
    int64_t call; /* orig_rax */
    int code;     /* of the signal, and its sender */
    pid_t from;
    unsigned long message;
    uint64_t more;        /* instructions that were counted elsewhere meanwhile */
    bool queued, blocked; /* SIGTRAP */
    int error;            /* of the next request to go on */
    int registers;        /* errno of the request for them */
    int unseen;           /* 1: the signal cannot be described; 2: nor be given a description */
};

#define SIGNAL(signo)       ((signo) << 8 | 0x7f)
#define EVENT(event, signo) ((event) << 16 | SIGNAL(signo))
#define EXIT(code)          ((code) << 8)
#define STEP(t, at)         .tid = (t), .status = SIGNAL(SIGTRAP), .code = TRAP_TRACE, .rip = (at)
#define CALL_STOP(t, at)    .tid = (t), .status = SIGNAL(SIGTRAP | 0x80), .rip = (at)

static const struct stop *stops; /* ended by a tid of 0 */
static struct stop now[4096];    /* of threads: the latest one */
static struct carm_trace trace;
/* behind a space: to whether the child is traced, "1" or "0"; the last from then on */
static const char *answers;
static int late;                      /* times that it has not stopped yet */
static int unseizable;                /* errno of a seizing */
static bool unreadable;               /* memory, by process_vm_readv */
static int cpu, get_fails, set_fails; /* for the process, 1 = carm */
static int forks, fork_fails, interrupt_fails, status_of_trial;
static const char *scope_is;
static uint8_t memory[0x3000]; /* from 0 on; its last page is not there */
static int left;               /* lanes of a gather */
static bool wide;              /* registers are asked for */

/* ---- the kernel ---- */

static void say(const char *word, pid_t tid, void *signo)
{
    note("%s %d", word, (int)tid);
    if (signo) {
        note("+%d", (int)(intptr_t)signo);
    }
    note("; ");
}

static int goes_on(struct stop *t)
{
    errno = t->error;
    t->error = 0;
    return errno ? -1 : 0;
}

long ptrace(enum __ptrace_request request, ...)
{
    va_list ap;
    va_start(ap, request);
    const pid_t tid = va_arg(ap, pid_t);
    void *address = va_arg(ap, void *), *data = va_arg(ap, void *);
    va_end(ap);
    struct stop *t = &now[tid];
    switch ((int)request) {
    case PTRACE_GETREGS:
        if (t->registers) {
            errno = t->registers;
            return -1;
        }
        *(struct user_regs_struct *)data =
            (struct user_regs_struct){.rip = t->rip,
                                      .rax = t->rax,
                                      .orig_rax = (unsigned long long)t->call,
                                      .rcx = 0xc,
                                      .rdx = 0xd,
                                      .rdi = 0xd1,
                                      .rsi = 0x51,
                                      .eflags = 0xef,
                                      .cs = (t->rip & 0xf00) == NARROW ? 0x23 : 0x33};
        return 0;
    case PTRACE_GETREGSET: {
        struct iovec *io = data;
        note("registers %d, %d of %zu; ", (int)tid, (int)(intptr_t)address, io->iov_len);
        io->iov_len = 7;
        return unreadable ? -1 : 0;
    }
    case PTRACE_SINGLESTEP:
        say("step", tid, data);
        return goes_on(t);
    case PTRACE_SYSCALL:
        say("call", tid, data);
        return goes_on(t);
    case PTRACE_CONT:
        say("on", tid, data);
        return 0;
    case PTRACE_DETACH:
        say("detach", tid, data);
        return goes_on(t);
    case PTRACE_LISTEN:
        say("listen", tid, data);
        return 0;
    case PTRACE_INTERRUPT:
        say("interrupt", tid, data);
        errno = ESRCH;
        return interrupt_fails ? -1 : 0;
    case PTRACE_SEIZE:
        note("seize %d, %lx; ", (int)tid, (unsigned long)(uintptr_t)data);
        errno = unseizable;
        return unseizable ? -1 : 0;
    case PTRACE_GETSIGINFO:
        if (!t->tid) {
            answers += answers[1] != '\0';
            return *answers == '1' ? 0 : -1;
        }
        *(siginfo_t *)data =
            (siginfo_t){.si_signo = WSTOPSIG(t->status) & 0x7f, .si_code = t->code};
        ((siginfo_t *)data)->si_pid = t->from;
        return t->unseen == 1 ? -1 : 0;
    case PTRACE_SETSIGINFO:
        say("describe", tid, (void *)(intptr_t)((siginfo_t *)data)->si_signo);
        return t->unseen == 2 ? -1 : 0;
    case PTRACE_GETSIGMASK:
        *(uint64_t *)data = (t->blocked ? UINT64_C(1) << (SIGTRAP - 1) : 0) | 0x8000;
        return 0;
    case PTRACE_SETSIGMASK:
        note("mask %d %lx; ", (int)tid, (unsigned long)*(uint64_t *)data);
        return 0;
    case PTRACE_GETEVENTMSG:
        *(unsigned long *)data = t->message;
        return 0;
    case PTRACE_PEEKSIGINFO: { /* the only one, or the last one */
        siginfo_t *queue = data;
        const struct __ptrace_peeksiginfo_args *what = address;
        const int at = tid % 2 ? 0 : 2;
        assert_true(what->nr == 16 && what->off == 0 && what->flags == 0);
        queue[0] = (siginfo_t){.si_signo = SIGCHLD, .si_code = TRAP_TRACE};
        queue[1] = (siginfo_t){.si_signo = SIGTRAP, .si_code = SI_USER};
        if (!t->queued) {
            return 2;
        }
        queue[at] = (siginfo_t){.si_signo = SIGTRAP, .si_code = at ? TRAP_TRACE : TRAP_BRKPT};
        return at + 1;
    }
    case PTRACE_PEEKTEXT: {
        long word = 0;
        const uint64_t at = (uint64_t)(uintptr_t)address;
        if (at + sizeof word > sizeof memory - 0x1000) {
            errno = EIO;
            return -1;
        }
        memcpy(&word, memory + at, sizeof word);
        return word;
    }
    default:
        fail_msg("request %d", (int)request);
    }
    return -1;
}

ssize_t process_vm_readv(pid_t tid, const struct iovec *local, unsigned long nlocal,
                         const struct iovec *remote, unsigned long nremote, unsigned long flags)
{
    size_t got = 0;
    assert_true(nlocal == 1 && flags == 0 && remote[nremote - 1].iov_len > 0);
    for (size_t i = 0; i < nremote && !unreadable; i++) {
        const uint64_t at = (uint64_t)(uintptr_t)remote[i].iov_base;
        if (at + remote[i].iov_len > sizeof memory - 0x1000) {
            break;
        }
        assert_true(got + remote[i].iov_len <= local->iov_len);
        memcpy((uint8_t *)local->iov_base + got, memory + at, remote[i].iov_len);
        got += remote[i].iov_len;
    }
    return unreadable ? -1 : (ssize_t)got;
}

ssize_t process_vm_writev(pid_t tid, const struct iovec *local, unsigned long nlocal,
                          const struct iovec *remote, unsigned long nremote, unsigned long flags)
{
    assert_true(nlocal == 1 && nremote == 1 && flags == 0 && local->iov_len == remote->iov_len);
    note("processors %x to %d at %x, %zu bytes; ", *(unsigned *)local->iov_base, (int)tid,
         (unsigned)(uintptr_t)remote->iov_base, local->iov_len);
    return (ssize_t)local->iov_len;
}

int sched_getcpu(void)
{
    return cpu;
}

/* The program has processors 0, 2 and 3, carm 0 to 3. */
int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    memset(set, 0, size);
    *(unsigned *)set = pid ? 0xd : 0xf;
    return get_fails == (pid ? pid : 1) ? -1 : 0;
}

int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
    note("%d to processors %x; ", (int)pid, *(const unsigned *)set);
    return set_fails == (pid ? pid : 1) ? -1 : 0;
}

long syscall(long number, ...)
{
    va_list ap;
    va_start(ap, number);
    assert_int_equal(number, SYS_tkill);
    const pid_t tid = va_arg(ap, pid_t);
    const int signo = va_arg(ap, int);
    va_end(ap);
    say("tkill", tid, (void *)(intptr_t)signo);
    return 0;
}

int kill(pid_t pid, int signo)
{
    say("kill", pid, (void *)(intptr_t)signo);
    return 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *rest)
{
    note("wait %ld us; ", wanted->tv_sec * 1000000 + wanted->tv_nsec / 1000);
    return 0;
}

int pause(void)
{
    fail_msg("it waits for ever");
    return -1;
}

pid_t fork(void)
{
    forks++;
    errno = EAGAIN;
    return fork_fails ? -1 : 50;
}

pid_t waitpid(pid_t pid, int *status, int options)
{
    if (pid == 50) { /* of a trial */
        *status = status_of_trial;
        status_of_trial = SIGKILL;
        return *status == EXIT(99) ? 51 : 50;
    }
    if (pid == PID && options & WNOHANG) {
        note("look%s; ", options & WUNTRACED ? " for a stop" : "");
        if (late-- > 0 || stops->tid == -2) {
            return late >= 0 ? 0 : -1;
        }
        *status = stops->tid == -1 ? stops->status : SIGNAL(SIGSTOP);
        return PID;
    }
    assert_true(pid == PID || (pid == -1 && options == (__WALL | __WNOTHREAD)));
    if (stops->tid <= 0) {
        note("%s", stops->tid ? "" : "none left; ");
        errno = stops->tid ? EINTR : ECHILD;
        stops += stops->tid != 0;
        return -1;
    }
    now[stops->tid] = *stops;
    trace.counts.instructions += stops->more;
    left = stops->message ? (int)stops->message : left;
    *status = stops->status;
    return stops++->tid;
}

void carm_inject_random(pid_t pid)
{
    note("random %d; ", (int)pid);
}

FILE *fopen(const char *path, const char *mode)
{
    assert_string_equal(path, "/proc/sys/kernel/yama/ptrace_scope");
    return scope_is ? fmemopen((void *)scope_is, strlen(scope_is), "r") : NULL;
}

/* ---- instructions ---- */

static const struct carm_account plain,
    calls = {.flags = CARM_ACCOUNT_SYSCALL}, gathers = {.masked.how = CARM_MASKED_EACH},
    straight = {.length = 4}, jumps = {.length = 4, .flags = CARM_ACCOUNT_JUMPS};

int carm_accounts_open(struct carm_accounts **out, const struct carm_xlayout *layout,
                       struct carm_err *e)
{
    *out = NULL;
    return 0;
}

void carm_accounts_close(struct carm_accounts *accounts)
{
}

const struct carm_account *carm_accounts_find(struct carm_accounts *accounts, uint64_t rip,
                                              const uint8_t *code, size_t n)
{
    if (wide && rip != 0x100) {
        note("%zu bytes %02x..%02x; ", n, n ? code[0] : 0, n ? code[n - 1] : 0);
    }
    return (rip & 0xf00) == CALL       ? &calls
           : (rip & 0xf00) == GATHER   ? &gathers
           : (rip & 0xf00) == STRAIGHT ? (rip % 0x40 == 0x3c ? &jumps : &straight)
           : n                         ? &plain
                                       : NULL;
}

void carm_accounts_apply(const struct carm_accounts *accounts, const struct carm_account *e,
                         const uint8_t *code, size_t n, const struct carm_registers *regs,
                         struct carm_step_counts *counts)
{
    counts->instructions = 1;
    counts->loads = e == &gathers ? (uint64_t)left : 0;
    counts->unknown = !e;
    if (wide) {
        size_t size = 0;
        const uint8_t *area = regs->xsave(regs->xsave_arg, &size);
        note("%lx %lx %lx %lx %lx %lx %lx, %zu bytes%s; ", regs->rip, regs->rax, regs->rcx,
             regs->rdx, regs->rdi, regs->rsi, regs->flags, size, area ? "" : " of none");
    }
}

bool carm_account_resumed(const struct carm_account *e, uint64_t rip, uint64_t *last)
{
    const bool resumed = e == &gathers && rip == *last;
    *last = e == &gathers ? rip : 0;
    return resumed;
}
