/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/translate/run.h"

#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "harness/translate/cpu.h"
#include "harness/translate/kept.h"
#include "harness/translate/memory_file.h"
#include "harness/translate/image.h"
#include "harness/translate/inject.h"
#include "harness/translate/stock.h"
#include "harness/translate/sum.h"
#include "harness/translate/tally.h"

enum { TRACED_MAX = CARM_CONTROL_REQUESTS + 1, EVENT_SHIFT = 16, NO_REQUEST = -1 };

/* A thread that is about to exec. */
struct traced {
    pid_t tid;
    int request; /* number of the thread's request; NO_REQUEST = the first program */
};

struct carm_translator {
    struct carm_engine image, low; /* low: opened for the first program that needs CARM_IMAGE_LOW */
    int control_fd;
    struct carm_control *control;
    struct carm_sums *sums;
    struct carm_addresses *addresses; /* NULL: not wanted */
    struct carm_stock_keeper *stock;  /* NULL: none */
    struct traced traced[TRACED_MAX];
    int ntraced;
    pid_t root;
    bool root_ended;
    struct carm_translation *translation;
    struct carm_cpu_view cpu;
    int cpu_info; /* a file in memory, in place of /proc/cpuinfo; -1 = none */
};

static void note(struct carm_translator *tr, const char *why)
{
    if (tr->translation && !tr->translation->incomplete[0]) {
        snprintf(tr->translation->incomplete, sizeof tr->translation->incomplete, "%s", why);
    }
    __atomic_store_n(&tr->control->stop, 1, __ATOMIC_RELEASE);
}

int carm_translator_open(struct carm_translator **out, const struct carm_address_sink *sink,
                         struct carm_err *err)
{
    struct carm_translator *tr = calloc(1, sizeof *tr);
    if (!tr) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory");
    }
    tr->image.fd = tr->low.fd = -1;
    tr->cpu_info = -1;
    tr->root = -1;
    tr->control = MAP_FAILED;
    tr->control_fd = carm_memory_file("carm-control", sizeof *tr->control);
    int rc = carm_engine_open(&tr->image, CARM_IMAGE_AT, err);
    if (!rc && tr->control_fd >= 0) {
        tr->control =
            mmap(NULL, sizeof *tr->control, PROT_READ | PROT_WRITE, MAP_SHARED, tr->control_fd, 0);
    }
    if (!rc && tr->control == MAP_FAILED) {
        rc = carm_fail(err, CARM_EIO, "cannot make a file in memory: %s%s", strerror(errno),
                       errno == EFBIG ? " (ulimit -f)" : "");
    }
    if (!rc) {
        tr->control->tracer = (int32_t)getpid();
    }
    rc = rc ? rc : carm_sums_open(&tr->sums, err);
    rc = rc || !sink ? rc : carm_addresses_open(&tr->addresses, sink, err);
    tr->stock = rc || sink ? NULL : carm_stock_open(&tr->cpu);
    if (rc) {
        carm_translator_close(tr);
        return rc;
    }
    *out = tr;
    return 0;
}

void carm_translator_close(struct carm_translator *tr)
{
    if (!tr) {
        return;
    }
    carm_stock_close(tr->stock);
    carm_addresses_close(tr->addresses);
    carm_sums_close(tr->sums);
    if (tr->control != MAP_FAILED) {
        munmap(tr->control, sizeof *tr->control);
    }
    carm_fd_close(tr->control_fd);
    carm_fd_close(tr->cpu_info);
    carm_engine_close(&tr->image);
    carm_engine_close(&tr->low);
    free(tr);
}

void carm_translator_drop_addresses(struct carm_translator *tr)
{
    if (tr->addresses) {
        carm_addresses_close(tr->addresses);
        tr->addresses = NULL;
        tr->stock = carm_stock_open(&tr->cpu);
    }
}

int carm_translator_see(struct carm_translator *tr, const char *name, struct carm_err *err)
{
    enum { EACH = 2048, MOST = 1024 };
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const int cpus = online < 1 ? 1 : online > MOST ? MOST : (int)online;
    const int rc = carm_cpu_find(name, &tr->cpu, err);
    tr->cpu.steady = true;
    if (rc || !tr->cpu.on) {
        return rc;
    }
    const size_t size = (size_t)cpus * EACH;
    char *text = malloc(size);
    tr->cpu_info = text ? memfd_create("carm-cpuinfo", MFD_CLOEXEC) : -1;
    if (tr->cpu_info >= 0) {
        carm_cpu_info(text, size, name, &tr->cpu, cpus);
        const size_t n = strlen(text);
        if (write(tr->cpu_info, text, n) == (ssize_t)n) {
            snprintf(tr->cpu.info, sizeof tr->cpu.info, "/proc/%d/fd/%d", (int)getpid(),
                     tr->cpu_info);
        }
    }
    free(text);
    return 0;
}

/* ---- tracing to an exec ---- */

static bool seize(struct carm_translator *tr, pid_t tid, int request)
{
    if (tr->ntraced == TRACED_MAX ||
        ptrace(PTRACE_SEIZE, tid, NULL, (void *)(uintptr_t)PTRACE_O_TRACEEXEC) != 0) {
        return false;
    }
    tr->traced[tr->ntraced++] = (struct traced){tid, request};
    return true;
}

static void drop(struct carm_translator *tr, int i)
{
    tr->traced[i] = tr->traced[--tr->ntraced];
}

/* The path at which exec would find a program; "" = not found */
static void find_program(const char *name, char path[PATH_MAX])
{
    const char *list = getenv("PATH"); // NOLINT(concurrency-mt-unsafe)
    path[0] = '\0';
    if (strchr(name, '/')) {
        snprintf(path, PATH_MAX, "%s", name);
        return;
    }
    for (const char *at = list ? list : "/bin:/usr/bin"; at;) {
        const char *end = strchr(at, ':');
        const int n = end ? (int)(end - at) : (int)strlen(at);
        snprintf(path, PATH_MAX, "%.*s/%s", n, n ? at : ".", name);
        if (access(path, X_OK) == 0) {
            return;
        }
        at = end ? end + 1 : NULL;
    }
    path[0] = '\0';
}

int carm_translator_attach(struct carm_translator *tr, pid_t pid, const char *path,
                           struct carm_err *err)
{
    char full[PATH_MAX];
    struct stat s;
    char value[64];
    unsigned a, b, c = 0, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) {
        return carm_fail(err, CARM_ENOTSUP,
                         "the processor lacks xsave, which the translator needs");
    }
    find_program(path, full);
    if (full[0] && stat(full, &s) == 0 && (s.st_mode & (S_ISUID | S_ISGID))) {
        return carm_fail(err, CARM_ENOTSUP, "it is a set-user-id or set-group-id program");
    }
    if (full[0] && getxattr(full, "security.capability", value, sizeof value) > 0) {
        return carm_fail(err, CARM_ENOTSUP, "it is a program that has capabilities");
    }
    if (!seize(tr, pid, NO_REQUEST)) {
        return carm_fail(err, CARM_ENOTSUP,
                         "it cannot be traced (%s): see /proc/sys/kernel/yama/ptrace_scope, or run "
                         "it in a container that allows ptrace",
                         strerror(errno));
    }
    tr->root = pid;
    return 0;
}

static void answer(struct carm_translator *tr, int request, uint32_t state)
{
    uint32_t *word = &tr->control->requests[request].state;
    __atomic_store_n(word, state, __ATOMIC_RELEASE);
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The exec failed: stops tracing, and the program goes on. */
static void let_go(struct carm_translator *tr, int request)
{
    for (int i = 0; i < tr->ntraced; i++) {
        if (tr->traced[i].request == request) {
            const pid_t tid = tr->traced[i].tid;
            int status = 0;
            ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
            for (;;) {
                const pid_t got = waitpid(tid, &status, __WALL);
                if (got < 0 && errno == EINTR) {
                    continue;
                }
                if (got != tid || !WIFSTOPPED(status) || status >> EVENT_SHIFT != 0) {
                    break;
                }
                /* a signal that came before the stop */
                carm_inject_let_go(tid, PTRACE_CONT, WSTOPSIG(status));
            }
            carm_inject_let_go(tid, PTRACE_DETACH, 0);
            drop(tr, i);
            break;
        }
    }
}

/* Whether tid is a thread of a program of this run. Such a program has the control mapped, so a value that carm writes
 * there is in the program's memory, too. The request's number proves nothing: programs can write to the control.
 * Looking for the control in /proc/PID/maps took 5% of the time of a counted script that starts programs. */
static bool is_counted(const struct carm_translator *tr, pid_t tid)
{
    char path[64];
    uint64_t seen = 0;
    const uint64_t written = (uint64_t)getpid() << 32 | (uint32_t)(tr->control->asked + 1);
    snprintf(path, sizeof path, "/proc/%d/mem", (int)tid);
    const int mem = tid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    tr->control->asked = written;
    const off_t at = (off_t)(CARM_CONTROL_AT + offsetof(struct carm_control, asked));
    const bool found =
        mem >= 0 && pread(mem, &seen, sizeof seen, at) == sizeof seen && seen == written;
    carm_fd_close(mem);
    return found;
}

static void serve(struct carm_translator *tr)
{
    for (int i = 0; i < CARM_CONTROL_REQUESTS; i++) {
        struct carm_request *request = &tr->control->requests[i];
        switch (__atomic_load_n(&request->state, __ATOMIC_ACQUIRE)) {
        case CARM_REQUEST_ASKED: {
            const pid_t tid = __atomic_load_n(&request->tid, __ATOMIC_RELAXED);
            if (is_counted(tr, tid) && seize(tr, tid, i)) {
                answer(tr, i, CARM_REQUEST_GO);
            } else {
                note(tr, "a program that it starts cannot be traced");
                answer(tr, i, CARM_REQUEST_NO);
            }
            break;
        }
        case CARM_REQUEST_FAILED:
            let_go(tr, i);
            answer(tr, i, CARM_REQUEST_DONE);
            break;
        default:
            break;
        }
    }
}

/* Whether the system has enough memory for the translator and its counts beside the program. */
static bool has_room(pid_t pid)
{
    const rlim_t needed = UINT64_C(1) << 30;
    struct rlimit limit;
    return prlimit(pid, RLIMIT_AS, NULL, &limit) != 0 || limit.rlim_cur >= needed;
}

static void inject(struct carm_translator *tr, pid_t pid)
{
    struct carm_err why = {""};
    uint32_t program = 0;
    const char *no_tally =
        "the counting needs 1 GiB of its address space, which is limited (ulimit -v)";
    const int tally = has_room(pid) ? carm_sums_add(tr->sums, pid, &program, &no_tally) : -1;
    const int records = tr->addresses ? carm_addresses_fd(tr->addresses) : -1;
    if (tally < 0) {
        note(tr, no_tally);
        carm_inject_let_go(pid, PTRACE_DETACH, 0);
        return;
    }
    struct carm_ready_files code;
    carm_stock_ready(tr->stock, &tr->image, tr->sums, tr->translation->stock == CARM_STOCK_WAITED,
                     &code);
    if (carm_inject(pid, &tr->image, &tr->low, tally, tr->control_fd, records, &code, program,
                    tr->addresses ? carm_addresses_sample(tr->addresses) : NULL, &tr->cpu,
                    &why) != 0) {
        note(tr, why.text);
    }
}

/* After an exec by any thread, the process goes on with the thread number of its leader. */
static void on_exec(struct carm_translator *tr, pid_t pid)
{
    unsigned long former = 0;
    ptrace(PTRACE_GETEVENTMSG, pid, NULL, &former);
    for (int i = 0; i < tr->ntraced; i++) {
        if (tr->traced[i].tid == pid || tr->traced[i].tid == (pid_t)former) {
            const int request = tr->traced[i].request;
            drop(tr, i);
            if (request != NO_REQUEST) {
                answer(tr, request, CARM_REQUEST_FREE);
            }
            break;
        }
    }
    carm_sums_left(tr->sums, pid);
    const bool waited = tr->translation->stock == CARM_STOCK_WAITED;
    const bool worth = carm_stock_worth(tr->stock, tr->sums);
    if (waited) {
        carm_stock_build(tr->stock, &tr->image, tr->sums);
        carm_stock_wait(tr->stock);
    }
    inject(tr, pid);
    if (worth && !waited) { /* the builder works while the new program runs */
        carm_stock_build(tr->stock, &tr->image, tr->sums);
    }
    carm_stock_go_on(tr->stock, &tr->image, tr->sums);
}

static void on_report(struct carm_translator *tr, pid_t pid, int status)
{
    if (WIFSTOPPED(status)) {
        const int event = status >> EVENT_SHIFT;
        if (event == PTRACE_EVENT_EXEC) {
            on_exec(tr, pid);
        } else if (event == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP) {
            carm_inject_let_go(pid, PTRACE_LISTEN, 0);
        } else {
            carm_inject_let_go(pid, PTRACE_CONT, event ? 0 : WSTOPSIG(status));
        }
        return;
    }
    if (carm_stock_reaped(tr->stock, pid)) {
        carm_stock_go_on(tr->stock, &tr->image, tr->sums);
        return;
    }
    for (int i = 0; i < tr->ntraced; i++) {
        if (tr->traced[i].tid == pid) {
            const int request = tr->traced[i].request;
            drop(tr, i);
            if (request !=
                NO_REQUEST) { /* the thread was killed between its request and its exec */
                answer(tr, request, CARM_REQUEST_FREE);
            }
            break;
        }
    }
    if (pid == tr->root) {
        tr->root_ended = true;
        tr->translation->status = status;
    }
}

static uint32_t *rung; /* the bell of the run */

/* Ends a wait at once when a child stops or ends between the look at children and the wait. */
static void on_child(int signo)
{
    (void)signo;
    __atomic_fetch_add(rung, 1, __ATOMIC_ACQ_REL);
}

static void wait_for_bell(struct carm_translator *tr, uint32_t bell)
{
    const struct timespec moment = {
        0, 20000000}; /* 20 ms, for events that ring no bell: an interrupt */
    syscall(SYS_futex, &tr->control->bell, FUTEX_WAIT, bell, &moment, NULL, 0);
}

static void loop(struct carm_translator *tr)
{
    while (!tr->root_ended) {
        const uint32_t bell = __atomic_load_n(&tr->control->bell, __ATOMIC_ACQUIRE);
        int status = 0;
        serve(tr);
        const pid_t pid = waitpid(-1, &status, __WALL | __WNOTHREAD | WNOHANG);
        if (pid > 0) {
            on_report(tr, pid, status);
        } else if (pid == 0) {
            wait_for_bell(tr, bell);
            if (tr->translation->stock != CARM_STOCK_WAITED && carm_sums_forks(tr->sums) &&
                carm_stock_worth(tr->stock, tr->sums)) {
                carm_stock_build(tr->stock, &tr->image, tr->sums);
            }
        } else if (errno != EINTR) {
            break;
        }
        if (tr->translation->interrupted && *tr->translation->interrupted) {
            note(tr, "the counting was stopped");
        }
    }
}

/* Waits for processes that the program leaves running: the daemon of an Open MPI program started
 * without mpirun ends 0.9 to 1.3 s after the program. */
static void linger(struct carm_translator *tr)
{
    enum { TURNS = 600 };
    const struct timespec turn = {0, 5000000};
    for (int i = 0; i < TURNS && carm_sums_in_use(tr->sums); i++) {
        int status = 0;
        pid_t pid;
        serve(tr);
        while ((pid = waitpid(-1, &status, __WALL | __WNOTHREAD | WNOHANG)) > 0) {
            on_report(tr, pid, status);
        }
        nanosleep(&turn, NULL);
    }
}

/* Answers requests that come after the end of the program, so that no process waits for ever. */
static void leave(struct carm_translator *tr)
{
    __atomic_store_n(&tr->control->stop, 1, __ATOMIC_RELEASE);
    serve(tr);
    for (int i = 0; i < CARM_CONTROL_REQUESTS; i++) {
        if (__atomic_load_n(&tr->control->requests[i].state, __ATOMIC_ACQUIRE) ==
            CARM_REQUEST_ASKED) {
            answer(tr, i, CARM_REQUEST_NO);
        }
    }
    while (tr->ntraced) {
        int status = 0;
        const pid_t tid = tr->traced[0].tid;
        ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
        pid_t got;
        do {
            got = waitpid(tid, &status, __WALL);
        } while (got < 0 && errno == EINTR);
        if (got == tid && WIFSTOPPED(status)) { /* pass on the signal that stopped the process,
                                                 * if any */
            const int signo = status >> EVENT_SHIFT ? 0 : WSTOPSIG(status);
            carm_inject_let_go(tid, PTRACE_DETACH, signo);
        }
        drop(tr, 0);
    }
}

/* A hash of the instruction sets of this processor and of the processor that programs see. Translation names an
 * instruction that the program's processor lacks; ready code would not. */
static uint64_t processor(const struct carm_translator *tr)
{
    unsigned own[3][4] = {{0}};
    (void)__get_cpuid(1, &own[0][0], &own[0][1], &own[0][2], &own[0][3]);
    own[0][1] = 0; /* the number of the processor on which this runs */
    (void)__get_cpuid_count(7, 0, &own[1][0], &own[1][1], &own[1][2], &own[1][3]);
    (void)__get_cpuid_count(7, 1, &own[2][0], &own[2][1], &own[2][2], &own[2][3]);
    return carm_hash_bytes(carm_hash_bytes(1, (const char *)own, sizeof own),
                           (const char *)&tr->cpu, offsetof(struct carm_cpu_view, steady));
}

int carm_translator_run(struct carm_translator *tr, struct carm_translation *translation,
                        struct carm_err *err)
{
    const struct sigaction note_child = {.sa_handler = on_child};
    struct sigaction before;
    tr->translation = translation;
    translation->incomplete[0] = '\0';
    translation->status = 0;
    carm_sums_want(tr->sums, translation->blocks != NULL, tr->addresses != NULL);
    if (translation->stock == CARM_STOCK_UNUSED) {
        carm_stock_close(tr->stock);
        tr->stock = NULL;
    }
    const bool keeps = translation->stock == CARM_STOCK_KEPT && carm_kept_wanted();
    if (keeps) {
        carm_stock_keep(tr->stock, &tr->image, processor(tr));
    }
    rung = &tr->control->bell;
    sigaction(SIGCHLD, &note_child, &before);
    loop(tr);
    if (translation->ended) {
        translation->ended();
    }
    if (!__atomic_load_n(&tr->control->stop, __ATOMIC_ACQUIRE)) {
        if (tr->root_ended) {
            linger(tr);
        }
    } else { /* carm itself has noted a reason */
        note(tr, "it has overwritten its counts");
    }
    leave(tr);
    if (keeps && !translation->incomplete[0] && !carm_sums_incomplete(tr->sums)) {
        carm_stock_save(tr->stock);
    }
    sigaction(SIGCHLD, &before, NULL);
    struct carm_sum sum;
    carm_sums_take(tr->sums, &sum, translation->blocks, translation->marks);
    if (tr->addresses && !carm_addresses_drain(tr->addresses)) {
        note(tr, "it has overwritten the records of its addresses");
    }
    translation->counts = sum.counts;
    translation->threads = sum.threads;
    translation->processes = sum.processes;
    translation->compared = sum.compared;
    translation->counters = sum.counters;
    translation->taken = sum.taken;
    translation->ready = carm_stock_given(tr->stock);
    translation->varies = __atomic_load_n(&tr->control->varies, __ATOMIC_RELAXED);
    if (!translation->incomplete[0]) {
        snprintf(translation->incomplete, sizeof translation->incomplete, "%s", sum.incomplete);
    }
    tr->translation = NULL;
    return tr->root_ended ? 0
                          : carm_fail(err, CARM_EIO, "the program was lost: %s", strerror(errno));
}
