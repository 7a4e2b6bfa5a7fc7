/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine's own memory, the functions of a C library that the engine and Zydis call, the engine's lock, and
 * copies from and to the program's memory. */
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/uio.h>

#include "base/err.h"
#include "harness/translate/engine/cache/cache.h"
#include "harness/translate/engine/sys.h"

typedef uint64_t piece __attribute__((may_alias, aligned(1)));
enum { BULK = 512 };

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    char *a = to;
    const char *b = from;
    if (n >= BULK) { /* rep movsb takes long to start, even for few bytes */
        __asm__ volatile("rep movsb" : "+D"(a), "+S"(b), "+c"(n) : : "memory");
        return to;
    }
    for (; n > 8; n -= 8, a += 8, b += 8) {
        *(piece *)(void *)a = *(const piece *)(const void *)b;
        __asm__ volatile("" ::
                             : "memory"); /* else a compiler turns the loop into a call of memcpy */
    }
    if (a != to || n == 8) { /* the last 8 bytes; some are copied twice */
        *(piece *)(void *)(a + n - 8) = *(const piece *)(const void *)(b + n - 8);
        return to;
    }
    for (; n; n--) {
        *a++ = *b++;
        __asm__ volatile("" ::: "memory");
    }
    return to;
}

EXPORTED void *memset(void *to, int byte, size_t n)
{
    char *at = to;
    const piece bytes = 0x0101010101010101U * (unsigned char)byte;
    if (n >= BULK) {
        __asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(byte) : "memory");
        return to;
    }
    for (; n > 8; n -= 8, at += 8) {
        *(piece *)(void *)at = bytes;
        __asm__ volatile("" ::: "memory");
    }
    if (at != to || n == 8) {
        *(piece *)(void *)(at + n - 8) = bytes;
        return to;
    }
    for (; n; n--) {
        *at++ = (char)byte;
        __asm__ volatile("" ::: "memory");
    }
    return to;
}

EXPORTED void *memmove(void *to, const void *from, size_t n)
{
    char *a = to;
    const char *b = from;
    if (a <= b &&
        b - a >= 8) { /* memcpy's pieces of 8 bytes overwrite no byte that a later piece reads */
        return memcpy(to, from, n);
    }
    for (; a < b && n; n--) {
        *a++ = *b++;
        __asm__ volatile("" ::: "memory");
    }
    while (n--) {
        a[n] = b[n];
        __asm__ volatile("" ::: "memory");
    }
    return to;
}

/* Called by a libZydis that was compiled with _FORTIFY_SOURCE, such as Ubuntu's. */
static void check_room(size_t n, size_t room);

EXPORTED void *__memcpy_chk(void *restrict to, const void *restrict from, size_t n, size_t room)
{
    check_room(n, room);
    return memcpy(to, from, n);
}

EXPORTED void *__memmove_chk(void *to, const void *from, size_t n, size_t room)
{
    check_room(n, room);
    return memmove(to, from, n);
}

EXPORTED void *__memset_chk(void *to, int byte, size_t n, size_t room)
{
    check_room(n, room);
    return memset(to, byte, n);
}

EXPORTED int memcmp(const void *a, const void *b, size_t n)
{
    const unsigned char *p = a;
    const unsigned char *q = b;
    for (size_t i = 0; i < n; i++) {
        if (p[i] != q[i]) {
            return p[i] < q[i] ? -1 : 1;
        }
    }
    return 0;
}

EXPORTED size_t strlen(const char *s)
{
    size_t n = 0;
    while (s[n]) {
        n++;
        __asm__ volatile("");
    }
    return n;
}

EXPORTED int strcmp(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return (unsigned char)*a - (unsigned char)*b;
}

EXPORTED int strncmp(const char *a, const char *b, size_t n)
{
    while (n && *a && *a == *b) {
        a++;
        b++;
        n--;
    }
    return n ? (unsigned char)*a - (unsigned char)*b : 0;
}

EXPORTED char *strstr(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (; *text; text++) {
        if (strncmp(text, word, n) == 0) {
            return (char *)(uintptr_t)text;
        }
    }
    return NULL;
}

/* Called by gcc's code when the target may lack popcnt */
int __popcountdi2(long bits);
int __popcountdi2(long bits)
{
    int n = 0;
    for (uint64_t left = (uint64_t)bits; left; left &= left - 1) {
        n++;
    }
    return n;
}

/* Called after a fault of the engine: ends the process, since the program must not go on in a
 * broken state. */
static _Noreturn void broken(void)
{
    carm_give_up("the translator failed in itself");
    carm_die(6);
}

static void check_room(size_t n, size_t room)
{
    if (n > room) {
        broken();
    }
}

EXPORTED _Noreturn void __assert_fail(const char *what, const char *file, unsigned line,
                                      const char *function)
{
    (void)what;
    (void)file;
    (void)line;
    (void)function;
    broken();
}

EXPORTED _Noreturn void __stack_chk_fail(void)
{
    broken();
}

/* Only harness/count/step/instruction.c allocates, once, when it is opened. */
void *calloc(size_t n, size_t size)
{
    return carm_pages(n * size, PROT_READ | PROT_WRITE);
}

void free(void *memory)
{
    (void)memory;
}

int carm_fail(struct carm_err *err, enum carm_error code, const char *fmt, ...)
{
    (void)err;
    (void)fmt;
    return -(int)code;
}

/* All mappings of the engine except the fixed ones (tally.h, the image). */
enum { OWN_MAX = 512 };
static struct {
    uint64_t begin, bytes;
    bool data; /* private and writable */
} own[OWN_MAX];
static bool own_lost; /* the table was full */
bool carm_pages_shared;
bool carm_cache_forked;
const struct carm_ready *carm_ready;
uint64_t carm_tally_end;

/* Notes a mapping, and keeps hundreds of MB out of a core file. */
static void *note(uint64_t begin, uint64_t bytes, bool data)
{
    carm_sys4(SYS_madvise, begin, bytes, MADV_DONTDUMP, 0);
    for (uint32_t i = 0; i < OWN_MAX; i++) {
        uint64_t is = 0;
        if (__atomic_compare_exchange_n(&own[i].begin, &is, begin, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            own[i].bytes = bytes;
            own[i].data = data;
            return (void *)begin;
        }
    }
    own_lost = true;
    return (void *)begin;
}

/* at  0 = anywhere. returns the address, or 0: it is not free */
static uint64_t map(uint64_t at, uint64_t bytes, int prot, uint64_t flags)
{
    const uint64_t fixed = at ? MAP_FIXED_NOREPLACE : 0;
    const long got = carm_sys6(SYS_mmap, at, bytes, (uint64_t)prot,
                               flags | MAP_ANONYMOUS | MAP_NORESERVE | fixed, UINT64_MAX, 0);
    if (got < 0 && got > -4096) {
        return 0;
    }
    if (at && (uint64_t)got != at) { /* a kernel before 4.17 */
        carm_sys2(SYS_munmap, (uint64_t)got, bytes);
        return 0;
    }
    return (uint64_t)got;
}

/* Range of the engine's pages, behind the tally (tally.h). Elsewhere they would move the program's own mappings, by a
 * distance that depends on whether there is ready code (harness/translate/layout.h). */
#define PAGES_BEGIN UINT64_C(0x7ea100000000)
#define PAGES_END   UINT64_C(0x7eb000000000)

void *carm_pages(uint64_t bytes, int prot)
{
    static uint64_t next = PAGES_BEGIN;
    const uint64_t whole = (bytes + CARM_PAGE - 1) & ~(uint64_t)(CARM_PAGE - 1);
    const uint64_t at = __atomic_fetch_add(&next, whole, __ATOMIC_RELAXED);
    uint64_t got = at + whole <= PAGES_END ? map(at, bytes, prot, MAP_PRIVATE) : 0;
    got = got ? got : map(0, bytes, prot, MAP_PRIVATE);
    return got ? note(got, bytes, prot & PROT_WRITE) : NULL;
}

bool carm_pages_map(int fd, uint64_t offset, void *to, uint64_t bytes, int prot)
{
    const uint64_t at = (uint64_t)to;
    return carm_sys6(SYS_mmap, at, bytes, (uint64_t)prot, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED,
                     (uint64_t)fd, offset) == (long)at;
}

/* Range of the aliases: between the tally and the mappings that the kernel gives out, where thread and memory
 * sanitizers let programs have memory (tally.h). 26 bits of an alias's address are random. */
#define ALIAS_BEGIN UINT64_C(0x7eb000000000)
#define ALIAS_PAGES (UINT64_C(1) << 26)

void *carm_pages_alias(uint64_t bytes)
{
    enum { TRIES = 64 };
    uint64_t random = 0;
    for (int i = 0; i < TRIES; i++) {
        if (carm_sys4(SYS_getrandom, (uint64_t)&random, sizeof random, GRND_NONBLOCK, 0) !=
            (long)sizeof random) {
            random += __builtin_ia32_rdtsc() * UINT64_C(0x9e3779b97f4a7c15) >> 20;
        }
        const uint64_t got = map(ALIAS_BEGIN + random % ALIAS_PAGES * CARM_PAGE, bytes,
                                 PROT_READ | PROT_WRITE, MAP_SHARED);
        if (got) {
            return note(got, bytes, false);
        }
    }
    return NULL;
}

bool carm_pages_execute(const void *alias, void *at, uint64_t bytes)
{
    const uint64_t place = (uint64_t)at;
    const long twin = carm_sys6(SYS_mremap, (uint64_t)alias, 0, bytes, MREMAP_MAYMOVE, 0, 0);
    if (twin < 0 && twin > -4096) {
        return false;
    }
    if (carm_sys4(SYS_mprotect, (uint64_t)twin, bytes, PROT_READ | PROT_EXEC, 0) != 0 ||
        carm_sys6(SYS_mremap, (uint64_t)twin, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place,
                  0) != (long)place) {
        carm_sys2(SYS_munmap, (uint64_t)twin, bytes);
        return false;
    }
    carm_sys4(SYS_madvise, place, bytes, MADV_DONTDUMP, 0);
    return true;
}

void *carm_pages_reserve(uint64_t at, uint64_t bytes)
{
    const uint64_t got = map(at, bytes, PROT_NONE, MAP_PRIVATE);
    return got ? note(got, bytes, false) : NULL;
}

void carm_pages_free(void *pages, uint64_t bytes)
{
    for (uint32_t i = 0; i < OWN_MAX; i++) {
        if (own[i].begin == (uint64_t)pages) {
            own[i].bytes = 0;
            __atomic_store_n(&own[i].begin, 0, __ATOMIC_RELEASE);
        }
    }
    carm_sys2(SYS_munmap, (uint64_t)pages, bytes);
}

void carm_pages_now(void *at, uint64_t bytes)
{
    enum { POPULATE_WRITE = 23 }; /* Linux 5.14; older kernels bring the pages by faults */
    carm_sys4(SYS_madvise, (uint64_t)at & ~(uint64_t)(CARM_PAGE - 1),
              bytes + ((uint64_t)at & (CARM_PAGE - 1)), POPULATE_WRITE, 0);
}

void carm_pages_ahead(struct carm_ahead *ahead, const void *used)
{
    enum { FIRST = 8, LEAST = 4, CHILD = 2, PART = 3, MOST = 16 }; /* pages */
    const uint64_t at = (uint64_t)used & ~(uint64_t)(CARM_PAGE - 1);
    if (at + 2 * CARM_PAGE > ahead->until) {
        const uint64_t least = carm_cache_forked || carm_ready ? CHILD
                               : ahead->pages                  ? LEAST
                                                               : FIRST;
        const uint64_t part = ahead->pages / PART;
        const uint64_t more = part < least ? least : part > MOST ? MOST : part;
        ahead->until = ahead->until > at ? ahead->until : at;
        carm_pages_now((void *)ahead->until, more * CARM_PAGE);
        ahead->until += more * CARM_PAGE;
        ahead->pages += more;
    }
}

uint64_t carm_pages_bytes(bool data)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < OWN_MAX; i++) {
        bytes += !data || own[i].data ? own[i].bytes : 0;
    }
    return bytes;
}

bool carm_pages_known(void)
{
    return !own_lost;
}

bool carm_pages_own(uint64_t at)
{
    for (uint32_t i = 0; i < OWN_MAX; i++) {
        if (at - own[i].begin < own[i].bytes) {
            return true;
        }
    }
    return false;
}

void carm_pages_free_all(void)
{
    for (uint32_t i = 0; i < OWN_MAX; i++) {
        if (own[i].bytes) {
            carm_sys2(SYS_munmap, own[i].begin, own[i].bytes);
        }
    }
}

/* The lock: 0 = free, 1 = taken, 2 = taken, and a thread waits. */
static uint32_t lock;

void carm_lock(void)
{
    uint32_t is = 0;
    if (__atomic_compare_exchange_n(&lock, &is, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        return;
    }
    while (__atomic_exchange_n(&lock, 2, __ATOMIC_ACQUIRE) != 0) {
        carm_sys4(SYS_futex, (uint64_t)&lock, FUTEX_WAIT, 2, 0);
    }
}

void carm_unlock(void)
{
    if (__atomic_exchange_n(&lock, 0, __ATOMIC_RELEASE) == 2) {
        carm_sys4(SYS_futex, (uint64_t)&lock, FUTEX_WAKE, 1, 0);
    }
}

void carm_lock_reset(void)
{
    lock = 0;
}

static bool given_up; /* of this process; the tally has the reason for all processes of the
                       * program */

void carm_give_up(const char *why)
{
    struct carm_tally *tally = CARM_TALLY;
    given_up = true;
    if (__atomic_exchange_n(&tally->incomplete, 1, __ATOMIC_ACQ_REL) == 0) {
        size_t n = strlen(why);
        n = n < sizeof tally->reason ? n : sizeof tally->reason - 1;
        memcpy(tally->reason, why, n);
    }
}

bool carm_given_up(void)
{
    return given_up;
}

long carm_copy_from(void *to, uint64_t from, uint64_t n)
{
    const struct iovec local = {to, n};
    const struct iovec remote = {(void *)from, n};
    const long pid = carm_sys2(SYS_getpid, 0, 0);
    const long got = carm_sys6(SYS_process_vm_readv, (uint64_t)pid, (uint64_t)&local, 1,
                               (uint64_t)&remote, 1, 0);
    if (got == -EPERM || got == -ENOSYS) {
        memcpy(to, (const void *)from, n);
        return 0;
    }
    return got == (long)n ? 0 : -EFAULT;
}

long carm_copy_pieces(void *to, const struct iovec *from, uint64_t pieces, uint64_t n)
{
    const struct iovec local = {to, n};
    const long pid = carm_sys2(SYS_getpid, 0, 0);
    const long got = carm_sys6(SYS_process_vm_readv, (uint64_t)pid, (uint64_t)&local, 1,
                               (uint64_t)from, pieces, 0);
    return got == (long)n ? 0 : -EFAULT;
}

long carm_copy_to(uint64_t to, const void *from, uint64_t n)
{
    const struct iovec local = {(void *)(uintptr_t)from, n};
    const struct iovec remote = {(void *)to, n};
    const long pid = carm_sys2(SYS_getpid, 0, 0);
    const long got = carm_sys6(SYS_process_vm_writev, (uint64_t)pid, (uint64_t)&local, 1,
                               (uint64_t)&remote, 1, 0);
    if (got == -EPERM || got == -ENOSYS) {
        memcpy((void *)to, from, n);
        return 0;
    }
    return got == (long)n ? 0 : -EFAULT;
}

void carm_die(int signo)
{
    const struct carm_action none = {.handler = 0};
    const carm_sigset only = ~(carm_sigset)(UINT64_C(1) << (signo - 1));
    carm_sys4(SYS_rt_sigaction, (uint64_t)signo, (uint64_t)&none, 0, sizeof only);
    carm_sys6(SYS_tgkill, (uint64_t)carm_sys2(SYS_getpid, 0, 0),
              (uint64_t)carm_sys2(SYS_gettid, 0, 0), (uint64_t)signo, 0, 0, 0);
    carm_sys4(SYS_rt_sigprocmask, SIG_SETMASK, (uint64_t)&only, 0, sizeof only);
    for (;;) {
        carm_sys2(SYS_exit_group, 128U + (unsigned)signo, 0);
    }
}
