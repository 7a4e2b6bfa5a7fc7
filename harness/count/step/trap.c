/* SPDX-License-Identifier: MIT */
#include "harness/count/step/trap.h"

#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <ucontext.h>
#include <unistd.h>

#include "harness/count/step/account.h"
#include "harness/count/step/xstate.h"

enum { CARM_TRAP_FLAG = 0x100, CARM_STEP_THUNKS = 8 };

/* A thread's stepping. */
struct carm_stepping {
    struct carm_accounts *accounts;
    struct carm_step_counts counts;
    uint64_t budget;
    pid_t tid;        /* a child of vfork shares this memory */
    bool active;      /* between begin and end */
    bool paused, cut; /* cut: past the budget */
    bool was_blocked; /* SIGTRAP was blocked at begin */

    bool inside;    /* in CARM_STEP_TEXT or in a function called from there */
    uint64_t entry; /* the stack pointer at its entry: above this, the function has returned */
    bool alone;     /* pause was called from code that is counted, not from CARM_STEP_TEXT */

    bool after_branch;              /* the instruction before was a call or jump */
    struct carm_step_counts before; /* the counts before this call or jump */
    struct {
        uint64_t rsp;
        struct carm_step_counts before;
    } thunks[CARM_STEP_THUNKS]; /* calls on their way through the PLT */
    unsigned nthunks;
    uint64_t gathers_at; /* carm_account_resumed */
    bool pushed_flags;   /* the instruction before pushed the trap flag */
};

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
 * A function there is called directly or through the PLT, whose stubs jump on and, the first time, pass through
 * the dynamic linker. The counts before the call or jump are kept until an instruction at the same stack depth
 * does not belong to a stub. */

static void follow(struct carm_stepping *st, const struct carm_account *e, uint64_t rsp)
{
    const bool thunk = e && (e->flags & CARM_ACCOUNT_THUNK);
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
    st->after_branch = e && (e->flags & CARM_ACCOUNT_BRANCH);
    if (st->after_branch) {
        st->before = st->counts;
    }
}

/* returns whether the instruction belongs to CARM_STEP_TEXT or to a function called from there */
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

/* A raw system call with the thread's arguments: glibc's functions refuse or change some arguments. */
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

/* rt_sigprocmask on the mask that the frame restores, except SIGTRAP: a blocked trap would kill the process.
 * In the handler all signals are blocked, so the real call only checks pointers. */
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

/* Replaces a system call that must not be made as requested.
 * returns whether the system call is finished */
static bool replace_syscall(ucontext_t *uc)
{
    const greg_t *g = uc->uc_mcontext.gregs;
    if (g[REG_RAX] == SYS_rt_sigprocmask) {
        finish_syscall(uc, mask_signals(uc));
        return true;
    }
    if (g[REG_RAX] == SYS_rt_sigaction &&
        (int)g[REG_RDI] == SIGTRAP) { /* reads the action, sets none */
        finish_syscall(
            uc, raw(SYS_rt_sigaction, SIGTRAP, 0, (uint64_t)g[REG_RDX], (uint64_t)g[REG_R10]));
        return true;
    }
    if (g[REG_RAX] == SYS_clone3 && g[REG_RDI]) {
        /* The child traps once and needs the handler. posix_spawn of glibc 2.38 and later asks the kernel
         * to clear handlers; its exec clears them anyway. */
        uint64_t *flags = (uint64_t *)(uintptr_t)g[REG_RDI];
        if (*flags & CLONE_CLEAR_SIGHAND) {
            *flags &= ~(uint64_t)CLONE_CLEAR_SIGHAND;
        }
    }
    return false;
}

/* ---- one instruction ---- */

/* Bytes at rip without touching a page that the instruction does not reach. */
static const struct carm_account *find(struct carm_stepping *st, uint64_t rip, const uint8_t **code,
                                       size_t *n)
{
    const size_t left = PAGE_BYTES - (size_t)(rip % PAGE_BYTES);
    const struct carm_account *e = NULL;
    *code = (const uint8_t *)(uintptr_t)rip;
    *n = 0;
    if (rip < PAGE_BYTES) { /* a jump to nowhere, which is about to fault */
        return NULL;
    }
    *n = left < CARM_INSTRUCTION_BYTES_MAX ? left : CARM_INSTRUCTION_BYTES_MAX;
    e = carm_accounts_find(st->accounts, rip, *code, *n);
    if (!e && *n < CARM_INSTRUCTION_BYTES_MAX) { /* the instruction goes on in the next page */
        *n = CARM_INSTRUCTION_BYTES_MAX;
        e = carm_accounts_find(st->accounts, rip, *code, *n);
    }
    return e;
}

static const struct carm_account *count(struct carm_stepping *st, const struct carm_registers *regs,
                                        uint64_t rsp)
{
    const uint8_t *code = NULL;
    size_t n = 0;
    const struct carm_account *e = find(st, regs->rip, &code, &n);
    follow(st, e, rsp);
    if (!carm_account_resumed(e, regs->rip, &st->gathers_at)) {
        carm_accounts_apply(st->accounts, e, code, n, regs, &st->counts);
    }
    return e;
}

/* returns whether the frame is now at another instruction, which is to be visited */
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
    const struct carm_account *e = count(st, &regs, rsp);
    const unsigned special = e ? e->flags : 0;
    if (special & CARM_ACCOUNT_PUSHF) {
        st->pushed_flags = true;
    } else if (special & CARM_ACCOUNT_POPF) {
        *flags_high |=
            CARM_TRAP_FLAG >> 8; /* flags saved before the stepping would clear the trap flag */
    } else if (special & CARM_ACCOUNT_SYSCALL) {
        if (replace_syscall(uc)) {
            return true;
        }
        /* SYSRET sets the trap flag, but the next instruction does not trap: count it here. */
        regs.rip += SYSCALL_BYTES;
        regs.rcx = regs.rip;
        count(st, &regs, rsp);
    }
    return false;
}

/* Counts the instruction that the thread is about to execute (rip of the trap's frame), and makes the next
 * instruction trap, too. Async-signal-safe. */
static void visit(struct carm_stepping *st, ucontext_t *uc)
{
    while (visit_one(st, uc)) {
    }
}

/* ---- stepping of this thread ---- */

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

/* returns whether the trap flag was set */
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

/* Gives a SIGTRAP of another origin its usual effect: the program ends. */
static void foreign_trap(void)
{
    signal(SIGTRAP, SIG_DFL);
    raise(SIGTRAP); /* delivered when this handler has returned */
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
        /* a trap flag that a child inherited, or that popf restored from memory */
        uc->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)CARM_TRAP_FLAG;
    } else {
        visit(st, uc);
    }
    errno = kept;
}

static int install_handler(struct carm_err *err)
{
    struct sigaction now = {.sa_flags = 0};
    int rc = 0;
    pthread_mutex_lock(&install_lock);
    sigaction(SIGTRAP, NULL, &now);
    const bool siginfo = now.sa_flags & SA_SIGINFO;
    const bool free_to_take = !siginfo && (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN);
    if (!free_to_take && !(siginfo && now.sa_sigaction == on_trap)) {
        rc = -CARM_ENOTSUP;
    } else if (free_to_take) {
        struct sigaction ours = {.sa_flags = SA_SIGINFO, .sa_sigaction = on_trap};
        sigfillset(&ours.sa_mask);
        rc = sigaction(SIGTRAP, &ours, NULL) == 0 ? 0 : -CARM_ENOTSUP;
    }
    pthread_mutex_unlock(&install_lock);
    return rc ? carm_fail(err, CARM_ENOTSUP,
                          "the program has its own handler for SIGTRAP, which stepping needs: "
                          "use `carm run --counters step` to step it from outside")
              : 0;
}

/* ---- a thread's state ---- */

CARM_STEP_TEXT static void thread_ends(void *arg)
{
    clear_trap_flag();
    struct carm_stepping *st = arg;
    self = NULL;
    carm_accounts_close(st->accounts);
    free(st);
}

static void make_key(void)
{
    key_works = pthread_key_create(&key, thread_ends) == 0;
}

static int make_state(struct carm_err *err)
{
    struct carm_stepping *st = calloc(1, sizeof *st);
    pthread_once(&key_once, make_key);
    if (!st || carm_accounts_open(&st->accounts, NULL, NULL) != 0) {
        free(st);
        return carm_fail(err, CARM_ENOMEM, "not enough memory to step a thread");
    }
    if (!key_works || pthread_setspecific(key, st) != 0) {
        carm_accounts_close(st->accounts);
        free(st);
        return carm_fail(err, CARM_ENOMEM, "no thread-specific key is left to step a thread");
    }
    self = st;
    return 0;
}

static bool unblock_trap(void)
{
    sigset_t trap;
    sigset_t old;
    sigemptyset(&trap);
    sigemptyset(&old);
    sigaddset(&trap, SIGTRAP);
    pthread_sigmask(SIG_UNBLOCK, &trap, &old);
    return sigismember(&old, SIGTRAP) == 1;
}

static void block_trap(void)
{
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    pthread_sigmask(SIG_BLOCK, &trap, NULL);
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
    st->entry = 0; /* set by the first trap */
    st->after_branch = false;
    st->nthunks = 0;
    st->pushed_flags = false;
    st->gathers_at = 0;
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
        /* alone: the highest stack pointer is the stack pointer at the beginning of this function */
        self->alone = self->entry == (uint64_t)(uintptr_t)__builtin_frame_address(0) + 8;
        self->paused = clear_trap_flag();
    }
}

CARM_STEP_TEXT void carm_step_resume(void)
{
    if (self && self->active && self->paused) {
        self->paused = false;
        /* the size of the caller's frame may have changed: the next trap, in this function, sets it */
        self->entry = self->alone ? 0 : self->entry;
        set_trap_flag();
    }
}

/* ---- whether it works ---- */

static pthread_once_t check_once = PTHREAD_ONCE_INIT;
static int check_result;
static struct carm_err check_reason;

/* The number of instructions counted around a loop of 2 x turns instructions. returns -1 on failure */
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

/* Whether a debugger traces this process: it would receive the traps, and the program would stop. */
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
        fclose(f);
    }
    return tracer != 0;
}

static void check(void)
{
    enum { FEW = 10, MORE = 25, EXPECTED = 2 * (MORE - FEW) };
    if (is_traced()) {
        check_result =
            carm_fail(&check_reason, CARM_ENOTSUP,
                      "a debugger or tracer is attached and takes the traps that stepping needs: "
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
    pthread_once(&check_once, check);
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
