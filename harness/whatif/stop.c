/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/whatif/stop.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "base/observer.h"

enum { POLL_NS = 100000, EVENT_STOP = 128 }; /* PTRACE_EVENT_STOP */

static void nap(void)
{
    const struct timespec t = {0, POLL_NS};
    nanosleep(&t, NULL);
}

/* Whether a thread's state is R in /proc/PID/task/TID/stat */
static bool is_running(pid_t pid, pid_t tid)
{
    char path[96];
    char text[512];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    FILE *f = fopen(path, "re");
    const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) {
        (void)fclose(f);
    }
    text[n] = '\0';
    const char *end = strrchr(text, ')'); /* behind its name */
    return end && end[1] == ' ' && end[2] == 'R';
}

/* Whether a thread blocks or ignores SIGTRAP: the kernel would reset this to deliver a breakpoint's signal. */
static bool masks_traps(pid_t pid, pid_t tid)
{
    char path[96];
    char line[256];
    uint64_t masks = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)tid);
    FILE *f = fopen(path, "re");
    const bool unknown = !f;
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "SigBlk:", 7) == 0 || strncmp(line, "SigIgn:", 7) == 0) {
            masks |= strtoull(line + 7, NULL, 16);
        }
    }
    if (f) {
        (void)fclose(f);
    }
    return unknown || (masks >> (SIGTRAP - 1) & 1);
}

/* Notes that a thread has ended; with the leader, the process has ended. */
static void take_end(struct carm_stop *stop, size_t i, int status)
{
    if (stop->threads[i].tid == stop->pid) {
        stop->ended = true;
        stop->status = status;
    }
    stop->threads[i] = stop->threads[--stop->nthreads];
}

/* Looks once at a thread. If the whole process was told to stop, the thread stays stopped:
 * listen   true: it is left in this stop; false: it counts as stopped, and detaching keeps the stop
 * returns -1: it has ended, and its place in stop->threads has another thread; 0: not stopped; 1: it is stopped now */
static int look(struct carm_stop *stop, size_t i, bool listen)
{
    int status = 0;
    const pid_t tid = stop->threads[i].tid;
    pid_t got;
    do {
        got = waitpid(tid, &status, __WALL | WNOHANG);
    } while (got < 0 && errno == EINTR);
    if (got == 0) {
        return 0;
    }
    if (got != tid || !WIFSTOPPED(status)) {
        take_end(stop, i, got == tid ? status : 0);
        return -1;
    }
    stop->threads[i].stopped = true;
    stop->threads[i].signal = status >> 16 == EVENT_STOP ? 0 : WSTOPSIG(status);
    if (listen && status >> 16 == EVENT_STOP && WSTOPSIG(status) != SIGTRAP) {
        ptrace(PTRACE_LISTEN, tid, NULL, NULL);
        stop->threads[i].stopped = false;
        return 0;
    }
    return 1;
}

static void go_on(struct carm_stop *stop, size_t i)
{
    ptrace(PTRACE_CONT, stop->threads[i].tid, NULL, (void *)(intptr_t)stop->threads[i].signal);
    stop->threads[i].stopped = false;
    stop->threads[i].signal = 0;
}

/* Stops a thread. returns false: it has ended */
static bool halt(struct carm_stop *stop, size_t i)
{
    const pid_t tid = stop->threads[i].tid;
    if (stop->threads[i].stopped) {
        return true;
    }
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    /* waits as long as an uninterruptible call takes: a thread must not lose its tracer while it has breakpoints */
    for (;;) {
        const int now = look(stop, i, false);
        if (now) {
            return now > 0;
        }
        nap();
    }
}

static bool set_breakpoints(pid_t tid, const uint64_t *heads, size_t n)
{
    uint64_t control = 0;
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        good =
            good && ptrace(PTRACE_POKEUSER, tid,
                           (void *)(offsetof(struct user, u_debugreg) + i * sizeof(uint64_t)),
                           (void *)(uintptr_t)heads[i]) == 0; // NOLINT(performance-no-int-to-ptr)
        control |= UINT64_C(1) << (2 * i); /* local enable; length and type 0: execution */
    }
    return ptrace(PTRACE_POKEUSER, tid,
                  (void *)(offsetof(struct user, u_debugreg) + 7 * sizeof(uint64_t)),
                  (void *)(uintptr_t)control) == 0 && // NOLINT(performance-no-int-to-ptr)
           good;
}

/* Seizes the running threads, and sets their breakpoints. */
static void seize(struct carm_stop *stop, const uint64_t *heads, size_t n)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)stop->pid);
    DIR *dir = opendir(path);
    const struct dirent *e;
    stop->nthreads = 0;
    while (dir && (e = readdir(dir)) != NULL && stop->nthreads < CARM_STOP_THREADS) {
        const pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);
        if (tid <= 0 || !is_running(stop->pid, tid)) {
            continue;
        }
        if (masks_traps(stop->pid, tid)) {
            stop->masked = true;
            continue;
        }
        if (ptrace(PTRACE_SEIZE, tid, NULL, PTRACE_O_TRACESYSGOOD) != 0) {
            stop->untraced = stop->untraced || errno == EPERM;
            continue;
        }
        const size_t i = stop->nthreads++;
        stop->threads[i].tid = tid;
        stop->threads[i].stopped = false;
        stop->threads[i].signal = 0;
        if (halt(stop, i)) {
            set_breakpoints(tid, heads, n);
            go_on(stop, i);
        }
    }
    if (dir) {
        closedir(dir);
    }
}

/* Index of the head at which a stopped thread is; -1 = none. The signal of our breakpoint is dropped. */
static int head_of(struct carm_stop *stop, size_t i, const uint64_t *heads, size_t n)
{
    struct user_regs_struct r;
    siginfo_t info = {.si_code = 0};
    const pid_t tid = stop->threads[i].tid;
    if (stop->threads[i].signal != SIGTRAP || ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) != 0 ||
        info.si_code != TRAP_HWBKPT || ptrace(PTRACE_GETREGS, tid, NULL, &r) != 0) {
        return -1;
    }
    stop->threads[i].signal = 0;
    for (size_t k = 0; k < n; k++) {
        if (r.rip == heads[k]) {
            return (int)k;
        }
    }
    return -1;
}

/* Whether the signal of a breakpoint is pending: a thread that is told to stop when it reaches one stops first. */
static bool has_trap(pid_t tid)
{
    enum { SOME = 32 };
    siginfo_t waiting[SOME];
    struct __ptrace_peeksiginfo_args all = {0, 0, SOME};
    const long n = ptrace(PTRACE_PEEKSIGINFO, tid, &all, waiting);
    bool has = false;
    for (long i = 0; i < n; i++) {
        has = has || (waiting[i].si_signo == SIGTRAP && waiting[i].si_code == TRAP_HWBKPT);
    }
    return has;
}

/* Stops a thread, and removes its breakpoints and their pending signal, which would end an untraced program.
 * returns false: it has ended */
static bool disarm(struct carm_stop *stop, size_t i, const uint64_t *heads, size_t n)
{
    const pid_t tid = stop->threads[i].tid;
    if (!halt(stop, i)) {
        return false;
    }
    (void)head_of(stop, i, heads,
                  n); /* drops the signal, if the thread has reached a head meanwhile */
    set_breakpoints(tid, NULL, 0);
    while (has_trap(tid)) {
        int now = 0;
        go_on(stop, i);
        while (now == 0) {
            nap();
            now = look(stop, i, false);
        }
        if (now < 0) {
            return false;
        }
        (void)head_of(stop, i, heads, n);
    }
    return true;
}

int carm_stop_at(struct carm_stop *stop, const uint64_t *heads, size_t n, double seconds,
                 const volatile sig_atomic_t *interrupted, pid_t *thread)
{
    const double until = carm_seconds_now() + seconds;
    int found = -1;
    seize(stop, heads, n);
    while (found < 0 && stop->nthreads && !stop->ended && carm_seconds_now() < until &&
           !(interrupted && *interrupted)) {
        for (size_t i = 0; i < stop->nthreads && found < 0; i++) {
            const int now = look(stop, i, true);
            if (now < 0) {
                break;
            }
            found = now > 0 ? head_of(stop, i, heads, n) : -1;
            if (found >= 0) {
                *thread = stop->threads[i].tid;
            } else if (now > 0) {
                go_on(stop, i);
            }
        }
        if (found < 0) {
            nap();
        }
    }
    for (size_t i = 0; i < stop->nthreads;) { /* the last thread takes the place of an ended one */
        i += disarm(stop, i, heads, n);
    }
    if (found < 0 || stop->ended) {
        carm_stop_release(stop);
        return -1;
    }
    return found;
}

/* Detaches a stopped thread. A thread that has died with its process is reaped, since the process's end waits for
 * it. */
static void let_go(const struct carm_stop *stop, size_t i)
{
    const pid_t tid = stop->threads[i].tid;
    int status = 0;
    pid_t got = tid;
    while (got == tid &&
           ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)stop->threads[i].signal) != 0) {
        if (errno != ESRCH || tid == stop->pid) { /* the leader's end is the end of the process */
            return;
        }
        do {
            got = waitpid(tid, &status, __WALL);
        } while (got < 0 && errno == EINTR);
        got = WIFSTOPPED(status) ? got : 0;
    }
}

void carm_stop_release(struct carm_stop *stop)
{
    for (size_t i = 0; i < stop->nthreads; i++) {
        let_go(stop, i);
    }
    stop->nthreads = 0;
}

/* Takes a status of the process: its end, or a stop. A process stops that asked to be traced by its parent; it is
 * continued. */
static void take_status(struct carm_stop *stop, int status)
{
    if (WIFSTOPPED(status)) {
        const int signo = WSTOPSIG(status);
        ptrace(PTRACE_DETACH, stop->pid, NULL,
               (void *)(intptr_t)(signo == SIGTRAP ? 0 : signo)); /* SIGTRAP: of an exec */
        return;
    }
    stop->ended = true;
    stop->status = status;
}

bool carm_stop_ended(struct carm_stop *stop)
{
    int status = 0;
    if (!stop->ended && waitpid(stop->pid, &status, WNOHANG) == stop->pid) {
        take_status(stop, status);
    }
    return stop->ended;
}

void carm_stop_await_end(struct carm_stop *stop)
{
    int status = 0;
    while (!stop->ended) {
        const pid_t got = waitpid(stop->pid, &status, 0);
        if (got == stop->pid) {
            take_status(stop, status);
        } else if (errno != EINTR) {
            stop->ended = true;
        }
    }
}
