/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The preloaded timer: a shared object that carm puts into the programs that it samples where perf_event_open is
 * forbidden. Each thread gets a timer on its time in its own code; the timer's signal writes the interrupted
 * address into the ring (record.h).
 *
 * The program must not notice the timer. So this object links no library, allocates nothing and
 * preserves errno. It learns of threads, forks and unloaded libraries by interposing functions
 * of the C library, whose originals are looked up at the first call. The clock runs only while
 * the thread executes its own code, so its signal hardly ever interrupts a system call. The
 * signal is removed from the program's masks of blocked signals: a thread that blocks the signal
 * would get its samples later, at another address. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>

#include "harness/profile/record.h"
#include "harness/translate/engine/sys.h"
#include "harness/translate/maps.h"

#define EXPORT __attribute__((visibility("default")))

#pragma weak dlsym
#pragma weak pthread_key_create
#pragma weak pthread_setspecific
#pragma weak __register_atfork
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso);
extern char **environ __attribute__((weak));

enum {
    TIMERS = 4096, /* threads at a time */
    STARTS = 1024, /* threads that have been created but do not run yet */
    RANGES = 2048, /* mappings of code */
    CLOCK_OF_THREAD = 4,
    CLOCK_USER = 1, /* time in the thread's own code */
    SIGNAL_SET = 8, /* bytes of the kernel's set of signals */
    SA_RESTORED = 0x04000000,
};

struct range {
    uint64_t begin, end, offset, file; /* inode */
};

struct start {
    int used;
    void *(*run)(void *);
    int (*run_c11)(void *);
    void *arg;
};

static struct carm_slots *ring; /* NULL: no carm samples this program */
static int off;                 /* the program has installed its own handler for the signal */
static uint32_t own_pid;
static pthread_key_t key; /* index of the timer + 1 */
static bool has_key;
static struct {
    int used; /* 2 = the thread's timer exists */
    int id;
} timers[TIMERS];
static struct start starts[STARTS];

static int busy;  /* the ranges are being read or written */
static int stale; /* a library has been unloaded */
static struct range ranges[RANGES], fresh[RANGES];
static size_t nranges;
static char chunk[4096], text[4096]; /* a chunk and the present line of /proc/self/maps */

void *memset(void *at, int byte, size_t n)
{
    void *to = at;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(byte) : "memory");
    return at;
}

void *memcpy(void *restrict at, const void *restrict from, size_t n)
{
    void *to = at;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
    return at;
}

static uint32_t number_of(long nr)
{
    return (uint32_t)carm_sys2(nr, 0, 0);
}

/* ---- records ---- */

/* The number of this processor + 1; 0 = unknown. Linux keeps the number in the limit of a segment, from which
 * vdso_getcpu reads it without rdpid (arch/x86/include/asm/vdso/processor.h, segment.h). This needs no system call,
 * which a seccomp filter could forbid, and cannot fault. */
static uint32_t here(void)
{
    enum { CPUNODE_SEGMENT = 15 * 8 + 3, CPU_BITS = 12 };
    uint32_t limit = 0;
    bool known = false;
    __asm__ volatile("lsl %2, %0" : "+r"(limit), "=@ccz"(known) : "r"(CPUNODE_SEGMENT) : "cc");
    return known ? (limit & ((1U << CPU_BITS) - 1)) + 1 : 0;
}

/* Claims a slot of the ring; NULL = the ring is full */
static struct carm_slot *take_slot(enum carm_record_kind kind, uint64_t *number)
{
    uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
    do {
        if (head - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) >= ring->n) {
            __atomic_fetch_add(&ring->lost, 1, __ATOMIC_RELAXED);
            return NULL;
        }
    } while (!__atomic_compare_exchange_n(&ring->head, &head, head + 1, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    struct timespec now = {0, 0};
    struct carm_slot *slot = &ring->slots[head & (ring->n - 1)];
    carm_sys2(SYS_clock_gettime, CLOCK_MONOTONIC, (uint64_t)&now);
    slot->kind = kind;
    slot->pid = own_pid;
    slot->time = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
    *number = head;
    return slot;
}

static void give_slot(struct carm_slot *slot, uint64_t number)
{
    __atomic_store_n(&slot->ready, number + 1, __ATOMIC_RELEASE);
}

static void tell(enum carm_record_kind kind, uint32_t tid)
{
    uint64_t number = 0;
    struct carm_slot *slot = take_slot(kind, &number);
    if (slot) {
        slot->tid = tid;
        give_slot(slot, number);
    }
}

static void tell_range(const struct range *r, const char *path, size_t length)
{
    uint64_t number = 0;
    struct carm_slot *slot = take_slot(CARM_RECORD_MAP, &number);
    if (slot) {
        length = length < CARM_SLOT_PATH - 1 ? length : CARM_SLOT_PATH - 1;
        slot->at = r->begin;
        slot->end = r->end;
        slot->offset = r->offset;
        slot->inode = r->file;
        memcpy(slot->path, path, length);
        slot->path[length] = '\0';
        give_slot(slot, number);
    }
}

/* ---- mappings ---- */

static bool is_known(const struct range *r)
{
    for (size_t i = 0; i < nranges; i++) {
        const struct range *k = &ranges[i];
        if (k->begin == r->begin && k->end == r->end && k->offset == r->offset &&
            k->file == r->file) {
            return true;
        }
    }
    return false;
}

/* Takes a line of /proc/self/maps into `text`; a long line is cut */
static size_t take_line(const char *from, size_t n)
{
    struct carm_maps_line line;
    if (!carm_maps_read(from, &line) || !line.executable || n == RANGES) {
        return n;
    }
    const struct range r = {line.begin, line.end, line.offset, line.inode};
    if (!is_known(&r)) {
        size_t length = 0;
        while (line.path[length]) {
            length++;
        }
        tell_range(&r, line.path, length);
    }
    fresh[n] = r;
    return n + 1;
}

/* Reads the executable ranges. The caller has set `busy`. */
static void read_ranges(void)
{
    const long fd = carm_sys4(SYS_openat, (uint64_t)AT_FDCWD, (uint64_t) "/proc/self/maps",
                              O_RDONLY | O_CLOEXEC, 0);
    size_t used = 0;
    size_t n = 0;
    long got = 0;
    if (fd < 0) {
        return;
    }
    while ((got = carm_sys4(SYS_read, (uint64_t)fd, (uint64_t)chunk, sizeof chunk, 0)) > 0) {
        for (long i = 0; i < got; i++) {
            if (chunk[i] != '\n') {
                text[used] = chunk[i];
                used += used < sizeof text - 1 ? 1 : 0;
            } else {
                text[used] = '\0';
                used = 0;
                n = take_line(text, n);
            }
        }
    }
    carm_sys2(SYS_close, (uint64_t)fd, 0);
    memcpy(ranges, fresh, n * sizeof *ranges);
    nranges = n;
}

/* Reads the maps again if an address is in no known range, and sends records of the new ones. */
static void know(uint64_t at)
{
    bool known = false;
    if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) {
        return; /* another thread is reading the maps */
    }
    if (!__atomic_exchange_n(&stale, 0, __ATOMIC_RELAXED)) {
        for (size_t i = 0; i < nranges && !known; i++) {
            known = at >= ranges[i].begin && at < ranges[i].end;
        }
    }
    if (!known) {
        read_ranges();
    }
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

/* ---- the signal ---- */

/* Ends the program, for a signal that is not from the timer: without our handler it would end the program, too. */
static void end_by_signal(int sig)
{
    uint64_t none[4] = {0};
    carm_sys4(SYS_rt_sigaction, (uint64_t)sig, (uint64_t)none, 0, SIGNAL_SET);
    carm_sys4(SYS_tgkill, own_pid, number_of(SYS_gettid), (uint64_t)sig, 0);
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
    const ucontext_t *u = context;
    uint64_t number = 0;
    if (info->si_code != SI_TIMER) {
        end_by_signal(sig);
        return;
    }
    if (__atomic_load_n(&off, __ATOMIC_RELAXED)) {
        return;
    }
    const uint64_t at = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
    know(at);
    struct carm_slot *slot = take_slot(CARM_RECORD_SAMPLE, &number);
    if (slot) {
        slot->tid = number_of(SYS_gettid);
        slot->weight = 1 + (uint32_t)info->si_overrun;
        slot->cpu = here();
        slot->at = at;
        give_slot(slot, number);
    }
}

__attribute__((naked)) static void restore(void)
{
    __asm__("mov $15, %eax\n\tsyscall"); /* rt_sigreturn */
}

static void handle(void)
{
    const struct {
        void (*handler)(int, siginfo_t *, void *);
        uint64_t flags;
        void (*restorer)(void);
        uint64_t mask;
    } action = {on_signal, SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_RESTORED, restore,
                ~UINT64_C(0)};
    carm_sys4(SYS_rt_sigaction, ring->sig, (uint64_t)&action, 0, SIGNAL_SET);
}

/* ---- timers ---- */

static void end_timer(int i)
{
    if (__atomic_exchange_n(&timers[i].used, 0, __ATOMIC_ACQ_REL) == 2) {
        carm_sys2(SYS_timer_delete, (uint64_t)timers[i].id, 0);
    }
}

static void end_thread(void *value)
{
    end_timer((int)(uintptr_t)value - 1);
}

/* A random number 1 .. n, from the low bits of the time stamp counter. */
static uint64_t random_up_to(uint64_t n)
{
    uint64_t x = __builtin_ia32_rdtsc() * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 32)) * UINT64_C(0xbf58476d1ce4e5b9);
    return 1 + (x >> 16) % n;
}

/* Starts a thread's timer. The first sample comes after a random part of the period. With a whole
 * period, a thread that lives shorter would have no sample, and each thread half a sample too few
 * on average.
 * returns 0 or -errno */
static long set_timer(int i)
{
    const uint32_t tid = number_of(SYS_gettid);
    const uint64_t clock = (~(uint64_t)tid << 3) | CLOCK_OF_THREAD | CLOCK_USER;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = (int)ring->sig};
    event._sigev_un._tid = (int)tid;
    long rc = carm_sys4(SYS_timer_create, clock, (uint64_t)&event, (uint64_t)&timers[i].id, 0);
    if (rc == 0) {
        const struct timespec each = {(time_t)(ring->period_ns / 1000000000U),
                                      (long)(ring->period_ns % 1000000000U)};
        const uint64_t first = random_up_to(ring->period_ns);
        const struct itimerspec when = {
            each, {(time_t)(first / 1000000000U), (long)(first % 1000000000U)}};
        rc = carm_sys4(SYS_timer_settime, (uint64_t)timers[i].id, 0, (uint64_t)&when, 0);
        __atomic_store_n(&timers[i].used, 2, __ATOMIC_RELEASE);
    }
    return rc;
}

/* Begins the calling thread's timer. */
static void begin_timer(void)
{
    const uint64_t set = UINT64_C(1) << (ring->sig - 1);
    long rc = -EAGAIN;
    int i = 0;
    for (; i < TIMERS; i++) {
        int unused = 0;
        if (__atomic_compare_exchange_n(&timers[i].used, &unused, 1, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            rc = set_timer(i);
            break;
        }
    }
    if (rc < 0) {
        ring->error = (int32_t)-rc;
        __atomic_fetch_add(&ring->untimed, 1, __ATOMIC_RELAXED);
        if (i < TIMERS) {
            end_timer(i);
        }
        return;
    }
    if (has_key) {
        pthread_setspecific(key, (void *)(uintptr_t)(i + 1));
    }
    carm_sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, (uint64_t)&set, 0, SIGNAL_SET);
}

/* In a forked child, which inherits this memory but no timer. */
static void begin_child(void)
{
    const uint32_t parent = own_pid;
    own_pid = number_of(SYS_getpid);
    memset(timers, 0, sizeof timers);
    memset(starts, 0, sizeof starts);
    if (busy) { /* a thread of the parent was reading the maps during the fork */
        nranges = 0;
        busy = 0;
    }
    tell(CARM_RECORD_FORK, parent);
    if (!off) {
        begin_timer();
    }
}

/* Stops all timers: the program uses the signal itself. */
static void stop(void)
{
    if (ring && !__atomic_exchange_n(&off, 1, __ATOMIC_ACQ_REL)) {
        uint64_t none[4] = {0};
        for (int i = 0; i < TIMERS; i++) {
            end_timer(i);
        }
        __atomic_fetch_add(&ring->stopped, 1, __ATOMIC_RELAXED);
        carm_sys4(SYS_rt_sigaction, ring->sig, (uint64_t)none, 0, SIGNAL_SET);
    }
}

/* ---- functions of the C library ---- */

/* The original of an interposed function. */
static void *next_of(void **cache, const char *name)
{
    void *found = __atomic_load_n(cache, __ATOMIC_RELAXED);
    if (!found && dlsym) {
        found = dlsym(RTLD_NEXT, name);
        __atomic_store_n(cache, found, __ATOMIC_RELAXED);
    }
    return found;
}

#define NEXT(name)                          \
    static void *cache_;                    \
    __typeof__(&(name)) next = NULL;        \
    void *found_ = next_of(&cache_, #name); \
    memcpy((void *)&next, (const void *)&found_, sizeof next)

static struct start *take_start(const struct start *what)
{
    for (int i = 0; ring && i < STARTS; i++) {
        int unused = 0;
        if (__atomic_compare_exchange_n(&starts[i].used, &unused, 1, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            starts[i].run = what->run;
            starts[i].run_c11 = what->run_c11;
            starts[i].arg = what->arg;
            return &starts[i];
        }
    }
    return NULL;
}

static struct start begin_thread(void *arg)
{
    struct start *start = arg;
    const struct start copy = *start;
    __atomic_store_n(&start->used, 0, __ATOMIC_RELEASE);
    if (!__atomic_load_n(&off, __ATOMIC_RELAXED)) {
        begin_timer();
    }
    return copy;
}

static void *run_thread(void *arg)
{
    const struct start start = begin_thread(arg);
    return start.run(start.arg);
}

static int run_c11_thread(void *arg)
{
    const struct start start = begin_thread(arg);
    return start.run_c11(start.arg);
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg)
{
    NEXT(pthread_create);
    const struct start what = {.run = run, .arg = arg};
    struct start *start = take_start(&what);
    const int rc = !next   ? EAGAIN
                   : start ? next(thread, attr, run_thread, start)
                           : next(thread, attr, run, arg);
    if (rc != 0 && start) {
        __atomic_store_n(&start->used, 0, __ATOMIC_RELEASE);
    }
    return rc;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t run, void *arg)
{
    NEXT(thrd_create);
    const struct start what = {.run_c11 = run, .arg = arg};
    struct start *start = take_start(&what);
    const int rc = !next   ? thrd_error
                   : start ? next(thread, run_c11_thread, start)
                           : next(thread, run, arg);
    if (rc != thrd_success && start) {
        __atomic_store_n(&start->used, 0, __ATOMIC_RELEASE);
    }
    return rc;
}

static bool is_ours(int sig)
{
    return ring && sig == (int)ring->sig && !__atomic_load_n(&off, __ATOMIC_RELAXED);
}

/* The program sees no handler for our signal. */
EXPORT int sigaction(int sig, const struct sigaction *restrict act, struct sigaction *restrict old)
{
    NEXT(sigaction);
    if (is_ours(sig)) {
        if (!act || act->sa_handler == SIG_DFL || act->sa_handler == SIG_IGN) {
            if (old) {
                memset(old, 0, sizeof *old);
            }
            return 0;
        }
        stop();
    }
    return next ? next(sig, act, old) : -1;
}

EXPORT __sighandler_t signal(int sig, __sighandler_t handler)
{
    NEXT(signal);
    if (is_ours(sig)) {
        if (handler == SIG_DFL || handler == SIG_IGN) {
            return SIG_DFL;
        }
        stop();
    }
    return next ? next(sig, handler) : SIG_ERR;
}

/* returns the set without our signal: the set itself, or `copy` if the set contained the signal */
static const sigset_t *without(int how, const sigset_t *set, sigset_t *copy)
{
    uint64_t first = 0;
    if (!set || how == SIG_UNBLOCK || !ring || off) {
        return set;
    }
    *copy = *set;
    memcpy(&first, copy, sizeof first);
    first &= ~(UINT64_C(1) << (ring->sig - 1));
    memcpy(copy, &first, sizeof first);
    return copy;
}

EXPORT int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    NEXT(sigprocmask);
    sigset_t copy;
    return next ? next(how, without(how, set, &copy), old) : -1;
}

EXPORT int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    NEXT(pthread_sigmask);
    sigset_t copy;
    return next ? next(how, without(how, set, &copy), old) : EINVAL;
}

/* The addresses of an unloaded library may be used by another one. */
EXPORT int dlclose(void *handle)
{
    NEXT(dlclose);
    const int rc = next ? next(handle) : -1;
    __atomic_store_n(&stale, 1, __ATOMIC_RELAXED);
    return rc;
}

/* ---- start ---- */

/* The rest of a word after `beginning`; NULL = the word begins otherwise */
static char *behind(char *word, const char *beginning)
{
    while (*beginning && *word == *beginning) {
        word++;
        beginning++;
    }
    return *beginning ? NULL : word;
}

static const char *find_path(char **words)
{
    for (; words && *words; words++) {
        const char *path = behind(*words, CARM_SAMPLE_VARIABLE "=");
        if (path) {
            return path;
        }
    }
    return NULL;
}

/* After carm has ended: removes this object, the last one in LD_PRELOAD, from the environment, so that programs started
 * from now on do not load it. */
static void forget(char **words)
{
    char **to = words;
    for (char **from = words; *from; from++) {
        char *list = behind(*from, "LD_PRELOAD=");
        char *last = list;
        bool own = false;
        for (char *at = list; at && *at; at++) {
            last = *at == ':' ? at : last;
        }
        for (char *at = last; at && *at && !own; at++) {
            own = behind(at, "/carm/" CARM_TIMER_FILE) != NULL;
        }
        if (own && last != list) { /* the other entries of the list stay */
            *last = '\0';
            own = false;
        }
        if (!own && !behind(*from, CARM_SAMPLE_VARIABLE "=")) {
            *to++ = *from;
        }
    }
    *to = NULL;
}

static struct carm_slots *map_ring(const char *path)
{
    struct stat about;
    const long fd =
        carm_sys4(SYS_openat, (uint64_t)AT_FDCWD, (uint64_t)path, O_RDWR | O_CLOEXEC, 0);
    if (fd < 0) {
        return NULL;
    }
    long at = carm_sys2(SYS_fstat, (uint64_t)fd, (uint64_t)&about);
    if (at == 0) {
        at = carm_sys6(SYS_mmap, 0, (uint64_t)about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
                       (uint64_t)fd, 0);
    }
    carm_sys2(SYS_close, (uint64_t)fd, 0);
    struct carm_slots *slots = at > 0 ? (struct carm_slots *)at : NULL;
    return slots && slots->version == CARM_SLOTS_VERSION ? slots : NULL;
}

__attribute__((constructor)) static void begin(int argc, char **argv, char **words)
{
    (void)argc;
    (void)argv;
    const char *path = find_path(&environ && environ ? environ : words);
    ring = path ? map_ring(path) : NULL;
    if (!ring) {
        if (path) {
            forget(&environ && environ ? environ : words);
        }
        return;
    }
    own_pid = number_of(SYS_getpid);
    has_key =
        pthread_key_create && pthread_setspecific && pthread_key_create(&key, end_thread) == 0;
    if (__register_atfork) {
        __register_atfork(NULL, NULL, begin_child, NULL);
    }
    __atomic_fetch_add(&ring->attached, 1, __ATOMIC_RELAXED);
    tell(CARM_RECORD_EXEC, 0);
    know(0);
    handle();
    begin_timer();
}
