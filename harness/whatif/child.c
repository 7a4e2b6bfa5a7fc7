/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/whatif/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/observer.h"
#include "harness/translate/maps.h"

/* x86: not in glibc's header under this name */
#define SYSEMU 31

enum {
    KERNEL_MASK_BYTES = 8, /* of a mask of signals */
    SEARCH_BYTES = 1 << 16,
    POLL_NS = 50000,
};

/* A child's end is seen late by at most this share of its time. Each look takes some 5 us from a copy on the same CPU:
 * with a look every 50 us, copies on all CPUs waited for 14% of their time. */
#define POLL_SHARE (1.0 / 16.0)

bool carm_child_read(pid_t pid, uint64_t at, void *to, size_t n)
{
    const struct iovec here = {to, n};
    const struct iovec there = {(void *)(uintptr_t)at, n}; // NOLINT(performance-no-int-to-ptr)
    return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

/* Through /proc/PID/mem, which also writes pages that the process itself cannot write. */
bool carm_child_write(pid_t pid, uint64_t at, const void *from, size_t n)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    const bool good = fd >= 0 && pwrite(fd, from, n, (off_t)at) == (ssize_t)n;
    carm_fd_close(fd);
    return good;
}

static bool wait_stop(pid_t pid, int *status)
{
    pid_t got;
    do {
        got = waitpid(pid, status, __WALL);
    } while (got < 0 && errno == EINTR);
    return got == pid && WIFSTOPPED(*status);
}

/* A system call instruction in the executable memory of a file or of the vDSO. 0 = none */
static uint64_t find_call(pid_t pid)
{
    char path[64];
    char *text = NULL;
    size_t room = 0;
    uint64_t found = 0;
    uint8_t *bytes = malloc(SEARCH_BYTES);
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *f = fopen(path, "re");
    while (f && bytes && !found && getline(&text, &room, f) > 0) {
        struct carm_maps_line line;
        if (!carm_maps_read(text, &line) || !line.executable || line.begin >> 47) {
            continue;
        }
        for (uint64_t at = line.begin; at < line.end && !found; at += SEARCH_BYTES - 1) {
            const size_t n = line.end - at < SEARCH_BYTES ? line.end - at : SEARCH_BYTES;
            if (n < 2 || !carm_child_read(pid, at, bytes, n)) {
                break;
            }
            for (size_t i = 0; i + 1 < n && !found; i++) {
                found = bytes[i] == 0x0f && bytes[i + 1] == 0x05 ? at + i : 0;
            }
        }
    }
    if (f) {
        (void)fclose(f);
    }
    free(text);
    free(bytes);
    return found;
}

bool carm_child_take(struct carm_child *child, pid_t pid)
{
    *child = (struct carm_child){.pid = pid};
    child->call_at =
        ptrace(PTRACE_GETREGS, pid, NULL, &child->regs) == 0 ? find_call(pid) : UINT64_C(0);
    child->regs.orig_rax = UINT64_MAX; /* no system call is to be restarted */
    return child->call_at != 0;
}

/* Steps one instruction, a system call, to its end.
 * forked   out: the child of a clone
 * stopped  out: SIGSTOP came, which cannot be blocked; it has to be sent again */
static bool step_call(pid_t pid, pid_t *forked, bool *stopped)
{
    for (;;) {
        int status = 0;
        if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0 || !wait_stop(pid, &status)) {
            return false;
        }
        const int event = status >> 16;
        if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK ||
            event == PTRACE_EVENT_VFORK) {
            unsigned long number = 0;
            ptrace(PTRACE_GETEVENTMSG, pid, NULL, &number);
            *forked = (pid_t)number;
        } else if (event == 0 && WSTOPSIG(status) == SIGTRAP) {
            return true;
        } else if (event == 0 && WSTOPSIG(status) == SIGSTOP) {
            *stopped = true;
        }
    }
}

static int64_t call(struct carm_child *child, long number, const uint64_t a[6], pid_t *forked)
{
    struct user_regs_struct r = child->regs;
    uint64_t mask = 0;
    const uint64_t blocked = ~(UINT64_C(1) << (SIGTRAP - 1));
    int64_t rc = -ESRCH;
    bool stopped = false;
    r.rip = child->call_at;
    r.rax = (unsigned long long)number;
    r.rdi = a[0];
    r.rsi = a[1];
    r.rdx = a[2];
    r.r10 = a[3];
    r.r8 = a[4];
    r.r9 = a[5];
    r.eflags &= ~0x100ULL;
    if (ptrace(PTRACE_GETSIGMASK, child->pid, (void *)KERNEL_MASK_BYTES, &mask) != 0 ||
        ptrace(PTRACE_SETSIGMASK, child->pid, (void *)KERNEL_MASK_BYTES, &blocked) != 0) {
        return rc;
    }
    if (ptrace(PTRACE_SETREGS, child->pid, NULL, &r) == 0 &&
        step_call(child->pid, forked, &stopped) &&
        ptrace(PTRACE_GETREGS, child->pid, NULL, &r) == 0) {
        rc = (int64_t)r.rax;
    }
    ptrace(PTRACE_SETREGS, child->pid, NULL, &child->regs);
    ptrace(PTRACE_SETSIGMASK, child->pid, (void *)KERNEL_MASK_BYTES, &mask);
    if (stopped) {
        kill(child->pid, SIGSTOP);
    }
    return rc;
}

int64_t carm_child_call(struct carm_child *child, long number, const uint64_t arguments[6])
{
    pid_t none = 0;
    return call(child, number, arguments, &none);
}

int carm_child_fork(struct carm_child *of, struct carm_child *out)
{
    const unsigned long own = PTRACE_O_TRACESYSGOOD;
    const uint64_t a[6] = {CLONE_PARENT | SIGCHLD};
    pid_t pid = 0;
    int status = 0;
    *out = (struct carm_child){.pid = 0};
    if (ptrace(PTRACE_SETOPTIONS, of->pid, NULL, own | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK) !=
        0) {
        return -ESRCH;
    }
    const int64_t rc = call(of, SYS_clone, a, &pid);
    ptrace(PTRACE_SETOPTIONS, of->pid, NULL, own);
    if (rc <= 0 || pid <= 0) {
        return rc < 0 ? (int)rc : -ECHILD;
    }
    *out = *of;
    out->pid = pid;
    if (!wait_stop(pid, &status) ||
        ptrace(PTRACE_SETOPTIONS, pid, NULL, own | PTRACE_O_EXITKILL) != 0 ||
        ptrace(PTRACE_SETREGS, pid, NULL, &of->regs) != 0) {
        carm_child_kill(out);
        return -ESRCH;
    }
    return 0;
}

void carm_child_kill(struct carm_child *child)
{
    int status = 0;
    if (child->pid > 0) {
        kill(child->pid, SIGKILL);
        while (wait_stop(child->pid, &status)) {
            /* a stop signal that was sent before */
        }
    }
    child->pid = 0;
}

static void nap(long ns)
{
    const struct timespec t = {0, ns};
    nanosleep(&t, NULL);
}

static void take_stop(struct carm_child *child, int status, struct carm_child_outcome *outcome)
{
    struct user_regs_struct r;
    if (!WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, child->pid, NULL, &r) != 0) {
        outcome->end = CARM_CHILD_GONE;
        return;
    }
    const int signo = WSTOPSIG(status);
    uint8_t before = 0;
    outcome->at = r.rip;
    if (signo == (SIGTRAP | 0x80)) {
        outcome->end = CARM_CHILD_CALLED;
        outcome->number = (int)r.orig_rax;
    } else if (signo == SIGTRAP && carm_child_read(child->pid, r.rip - 1, &before, 1) &&
               before == 0xcc) {
        outcome->end = CARM_CHILD_ARRIVED;
        outcome->at = r.rip - 1;
        child->regs = r; /* the child can go on from here */
    } else {
        siginfo_t info = {.si_signo = 0};
        outcome->end = CARM_CHILD_SIGNALED;
        outcome->number = signo;
        if (ptrace(PTRACE_GETSIGINFO, child->pid, NULL, &info) == 0) {
            outcome->fault = (uint64_t)(uintptr_t)info.si_addr;
        }
    }
}

bool carm_child_go(struct carm_child *child)
{
    return ptrace(PTRACE_SETREGS, child->pid, NULL, &child->regs) == 0 &&
           ptrace(SYSEMU, child->pid, NULL, NULL) == 0;
}

void carm_child_await(struct carm_child *child, double until, const volatile sig_atomic_t *stop,
                      struct carm_child_outcome *outcome)
{
    const double begin = carm_seconds_now();
    *outcome = (struct carm_child_outcome){.end = CARM_CHILD_GONE};
    for (;;) {
        int status = 0;
        const pid_t got = waitpid(child->pid, &status, __WALL | WNOHANG);
        if (got == child->pid) {
            take_stop(child, status, outcome);
            return;
        }
        if (got < 0 && errno != EINTR) {
            return;
        }
        const double now = carm_seconds_now();
        if (now > until || (stop && *stop)) {
            carm_child_kill(child);
            outcome->end = CARM_CHILD_LATE;
            return;
        }
        nap(POLL_NS + (long)(1e9 * POLL_SHARE * (now - begin)));
    }
}

void carm_child_run(struct carm_child *child, double until, const volatile sig_atomic_t *stop,
                    struct carm_child_outcome *outcome)
{
    *outcome = (struct carm_child_outcome){.end = CARM_CHILD_GONE};
    if (carm_child_go(child)) {
        carm_child_await(child, until, stop, outcome);
    }
}

unsigned carm_child_sample(struct carm_child *child, double each, unsigned most, uint64_t begin,
                           uint64_t end, unsigned *inside)
{
    unsigned n = 0;
    struct user_regs_struct r = child->regs;
    *inside = 0;
    while (n < most && ptrace(PTRACE_SETREGS, child->pid, NULL, &r) == 0 &&
           ptrace(SYSEMU, child->pid, NULL, NULL) == 0) {
        int status = 0;
        nap((long)(1e9 * each));
        kill(child->pid, SIGSTOP); /* no other process notices that a copy stops */
        if (!wait_stop(child->pid, &status) || WSTOPSIG(status) != SIGSTOP ||
            ptrace(PTRACE_GETREGS, child->pid, NULL, &r) != 0) {
            break;
        }
        n++;
        *inside += r.rip >= begin && r.rip < end;
    }
    return n;
}

void carm_child_go_beside(const struct carm_child *child, cpu_set_t *was)
{
    cpu_set_t its;
    CPU_ZERO(was);
    if (sched_getaffinity(child->pid, sizeof its, &its) == 0 &&
        sched_getaffinity(0, sizeof *was, was) == 0) {
        (void)sched_setaffinity(0, sizeof its, &its);
    }
}

void carm_child_come_back(const cpu_set_t *was)
{
    if (CPU_COUNT(was)) {
        (void)sched_setaffinity(0, sizeof *was, was);
    }
}

bool carm_child_step(struct carm_child *child)
{
    uint8_t next[2] = {0};
    int status = 0;
    return carm_child_read(child->pid, child->regs.rip, next, sizeof next) &&
           !(next[0] == 0x0f && next[1] == 0x05) && next[0] != 0xcd &&
           ptrace(PTRACE_SINGLESTEP, child->pid, NULL, NULL) == 0 &&
           wait_stop(child->pid, &status) && WSTOPSIG(status) == SIGTRAP &&
           ptrace(PTRACE_GETREGS, child->pid, NULL, &child->regs) == 0;
}
