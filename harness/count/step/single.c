/* SPDX-License-Identifier: MIT */
#include "harness/count/step/single.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/count/step/state.h"

/* initial-exec: the handler must not make the dynamic linker allocate */
static __thread struct carm_stepping *self __attribute__((tls_model("initial-exec")));

static pthread_mutex_t install_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool key_works;

static pid_t thread_id(void)
{
    return (pid_t)syscall(SYS_gettid);
}

/* ---- the trap flag; 128 bytes below the stack pointer belong to the compiler ---- */

__attribute__((always_inline)) static inline void set_trap_flag(void)
{
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
                     "pushfq\n\t"
                     "orl $0x100, (%%rsp)\n\t"
                     "popfq\n\t"
                     "lea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
}

/* returns whether it was set */
__attribute__((always_inline)) static inline bool clear_trap_flag(void)
{
    uint64_t flags = 0;
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
                     "pushfq\n\t"
                     "mov (%%rsp), %0\n\t"
                     "andl $0xfffffeff, (%%rsp)\n\t"
                     "popfq\n\t"
                     "lea 128(%%rsp), %%rsp"
                     : "=r"(flags)
                     :
                     : "memory", "cc");
    return flags & CARM_TRAP_FLAG;
}

__attribute__((always_inline)) static inline bool read_trap_flag(void)
{
    uint64_t flags = 0;
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
                     "pushfq\n\t"
                     "pop %0\n\t"
                     "lea 128(%%rsp), %%rsp"
                     : "=r"(flags)
                     :
                     : "memory");
    return flags & CARM_TRAP_FLAG;
}

/* ---- the handler ---- */

/* A SIGTRAP that is none of ours does what it would have done without us: end the program. */
static void foreign_trap(void)
{
    (void)signal(SIGTRAP, SIG_DFL);
    (void)raise(SIGTRAP); /* comes when this handler has returned */
}

static void on_trap(int signo, siginfo_t *info, void *context)
{
    const int kept = errno;
    ucontext_t *uc = context;
    struct carm_stepping *st = self;
    (void)signo;
    if (info->si_code != TRAP_TRACE && info->si_code != TRAP_BRKPT) {
        foreign_trap();
    } else if (!st || !st->active || st->paused || st->cut || st->tid != thread_id()) {
        /* a child's inherited flag, or one that came back from memory by popf */
        uc->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)CARM_TRAP_FLAG;
    } else {
        carm_stepping_visit(st, uc);
    }
    errno = kept;
}

static int install_handler(struct carm_err *err)
{
    struct sigaction now = {.sa_flags = 0};
    int rc = 0;
    (void)pthread_mutex_lock(&install_lock);
    (void)sigaction(SIGTRAP, NULL, &now);
    const bool siginfo = now.sa_flags & SA_SIGINFO;
    const bool free_to_take = !siginfo && (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN);
    if (!free_to_take && !(siginfo && now.sa_sigaction == on_trap)) {
        rc = -CARM_ENOTSUP;
    } else if (free_to_take) {
        struct sigaction ours = {.sa_flags = SA_SIGINFO, .sa_sigaction = on_trap};
        (void)sigfillset(&ours.sa_mask);
        rc = sigaction(SIGTRAP, &ours, NULL) == 0 ? 0 : -CARM_ENOTSUP;
    }
    (void)pthread_mutex_unlock(&install_lock);
    return rc ? carm_fail(err, CARM_ENOTSUP,
                          "the program has a handler of SIGTRAP of its own, which stepping needs: "
                          "use `carm run --counters step` to step it from outside")
              : 0;
}

/* ---- a thread's state ---- */

CARM_STEP_TEXT static void thread_ends(void *arg)
{
    (void)clear_trap_flag();
    struct carm_stepping *st = arg;
    self = NULL;
    carm_insns_close(st->effects);
    free(st);
}

static void make_key(void)
{
    key_works = pthread_key_create(&key, thread_ends) == 0;
}

static int make_state(struct carm_err *err)
{
    struct carm_stepping *st = calloc(1, sizeof *st);
    (void)pthread_once(&key_once, make_key);
    if (!st || carm_insns_open(&st->effects, NULL) != 0) {
        free(st);
        return carm_fail(err, CARM_ENOMEM, "not enough memory to step a thread");
    }
    if (!key_works || pthread_setspecific(key, st) != 0) {
        carm_insns_close(st->effects);
        free(st);
        return carm_fail(err, CARM_ENOMEM, "no thread-specific data is left to step a thread");
    }
    self = st;
    return 0;
}

static bool unblock_trap(void)
{
    sigset_t trap;
    sigset_t old;
    (void)sigemptyset(&trap);
    (void)sigemptyset(&old);
    (void)sigaddset(&trap, SIGTRAP);
    (void)pthread_sigmask(SIG_UNBLOCK, &trap, &old);
    return sigismember(&old, SIGTRAP) == 1;
}

static void block_trap(void)
{
    sigset_t trap;
    (void)sigemptyset(&trap);
    (void)sigaddset(&trap, SIGTRAP);
    (void)pthread_sigmask(SIG_BLOCK, &trap, NULL);
}

bool carm_step_active(void)
{
    return self && self->active && self->tid == thread_id();
}

static int prepare(uint64_t budget, struct carm_err *err)
{
    if (carm_step_active()) {
        return carm_fail(err, CARM_EINVAL, "this thread is already being stepped");
    }
    int rc = self ? 0 : make_state(err);
    rc = rc ? rc : install_handler(err);
    if (rc) {
        return rc;
    }
    struct carm_stepping *st = self;
    memset(&st->counts, 0, sizeof st->counts);
    st->budget = budget;
    st->tid = thread_id();
    st->paused = false;
    st->cut = false;
    st->was_blocked = unblock_trap();
    st->inside = true;
    st->entry = 0; /* the first trap tells */
    st->after_branch = false;
    st->nthunks = 0;
    st->pushed_flags = false;
    st->active = true;
    return 0;
}

CARM_STEP_TEXT static int begin(uint64_t budget, struct carm_err *err)
{
    const int rc = prepare(budget, err);
    if (rc == 0) {
        set_trap_flag();
    }
    return rc;
}

static int take(bool trapped, bool last, struct carm_step_counts *counts, bool *complete,
                struct carm_err *err)
{
    struct carm_stepping *st = self;
    if (!carm_step_active()) {
        return carm_fail(err, CARM_EINVAL, "this thread is not being stepped");
    }
    *counts = st->counts;
    *complete = !st->cut && (trapped || st->paused);
    if (last) {
        st->active = false;
        if (st->was_blocked) {
            block_trap();
        }
    }
    return 0;
}

CARM_STEP_TEXT int carm_step_end(struct carm_step_counts *counts, bool *complete,
                                 struct carm_err *err)
{
    const bool trapped = clear_trap_flag();
    return take(trapped, true, counts, complete, err);
}

CARM_STEP_TEXT int carm_step_read(struct carm_step_counts *counts, bool *complete,
                                  struct carm_err *err)
{
    const bool trapped = read_trap_flag();
    return take(trapped, false, counts, complete, err);
}

CARM_STEP_TEXT void carm_step_pause(void)
{
    if (self && self->active && !self->paused) {
        self->paused = clear_trap_flag();
    }
}

CARM_STEP_TEXT void carm_step_resume(void)
{
    if (self && self->active && self->paused) {
        self->paused = false;
        set_trap_flag();
    }
}

/* ---- whether it works ---- */

static pthread_once_t check_once = PTHREAD_ONCE_INIT;
static int check_result;
static struct carm_err check_reason;

/* Instructions that are counted around a loop of 2 x turns. returns -1 where that fails */
__attribute__((noinline)) static int64_t trial(unsigned turns)
{
    struct carm_step_counts counts = {.instructions = 0};
    bool complete = false;
    if (begin(1000, &check_reason) != 0) {
        return -1;
    }
    __asm__ volatile("1:\n\tdec %0\n\tjnz 1b" : "+r"(turns) : : "cc");
    if (carm_step_end(&counts, &complete, &check_reason) != 0) {
        return -1;
    }
    return (int64_t)counts.instructions;
}

/* A debugger keeps traps to itself, and the program stops. */
static bool is_traced(void)
{
    char line[128];
    long tracer = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "TracerPid:", 10) == 0) {
            tracer = strtol(line + 10, NULL, 10);
        }
    }
    if (f) {
        (void)fclose(f);
    }
    return tracer != 0;
}

static void check(void)
{
    enum { FEW = 10, MORE = 25, EXPECTED = 2 * (MORE - FEW) };
    if (is_traced()) {
        check_result = carm_fail(
            &check_reason, CARM_ENOTSUP,
            "a debugger or tracer is attached, which takes the traps that stepping needs: "
            "run the program without it");
        return;
    }
    const int64_t few = trial(FEW);
    const int64_t more = few < 0 ? -1 : trial(MORE);
    if (few < 0 || more < 0) {
        check_result = -CARM_ENOTSUP;
    } else if (more - few != EXPECTED) {
        check_result = carm_fail(
            &check_reason, CARM_ENOTSUP,
            "the trap flag does not work here: %lld instructions counted where %d were executed "
            "(an emulator, valgrind or a sandbox such as gVisor): run on the machine itself",
            (long long)(more - few), EXPECTED);
    }
}

int carm_step_check(struct carm_err *err)
{
    (void)pthread_once(&check_once, check);
    if (check_result && err) {
        *err = check_reason;
    }
    return check_result;
}

CARM_STEP_TEXT int carm_step_begin(uint64_t budget, struct carm_err *err)
{
    if (carm_step_active()) {
        return carm_fail(err, CARM_EINVAL, "this thread is already being stepped");
    }
    const int rc = carm_step_check(err);
    return rc ? rc : begin(budget, err);
}
