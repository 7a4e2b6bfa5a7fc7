/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replaces files and random numbers that differ from run to run, or because the program is counted, and notes all other
 * inputs that may change counts. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "harness/translate/engine/kernel/kernel.h"
#include "harness/translate/engine/sys.h"
#include "harness/translate/layout.h"
#include "harness/translate/records.h"

enum { PATH_ROOM = 48 }; /* the longest path has 20 digits and 14 letters */

static void note(enum carm_varies what)
{
    uint32_t *varies = &CARM_CONTROL->varies;
    if (!(__atomic_load_n(varies, __ATOMIC_RELAXED) & what)) {
        __atomic_fetch_or(varies, (uint32_t)what, __ATOMIC_RELAXED);
    }
}

/* Whether the memory from this address on is the engine's. */
static bool is_own(uint64_t at)
{
    const struct carm_boot *boot = &carm_boot;
    return at - boot->own_begin < boot->own_end - boot->own_begin ||
           at - CARM_TALLY_AT < carm_tally_end - CARM_TALLY_AT ||
           at - CARM_CONTROL_AT < CARM_PAGE ||
           (boot->stock && at - CARM_STOCK_AT < CARM_STOCK_BYTES) ||
           (boot->ready && at - CARM_READY_AT < CARM_READY_BYTES) ||
           (boot->left && at - CARM_LEFT_AT < CARM_READY_BYTES) ||
           (boot->addresses && at - CARM_RECORDS_AT < CARM_RECORDS_BYTES) || carm_pages_own(at);
}

struct lines {
    uint64_t begin; /* number at the begin of the line, from the digits read so far */
    bool inside;    /* the number is complete */
    bool own;       /* the line is left out */
    size_t held;    /* digits of the number in `digits` */
    char digits[16];
};

/* Copies lines of /proc/PID/maps, without the engine's lines. Input may be cut into pieces anywhere.
 * to  [n + sizeof s->digits]
 * returns the bytes in it */
static size_t keep_lines(struct lines *s, const char *from, size_t n, char *to)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const char c = from[i];
        if (!s->inside && c != '-' && s->held < sizeof s->digits) {
            s->digits[s->held++] = c;
            s->begin = s->begin * 16 + (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
            continue;
        }
        if (!s->inside) {
            s->inside = true;
            s->own = is_own(s->begin);
            memcpy(to + kept, s->digits, s->own ? 0 : s->held);
            kept += s->own ? 0 : s->held;
        }
        to[kept] = c;
        kept += !s->own;
        if (c == '\n') {
            *s = (struct lines){.begin = 0};
        }
    }
    return kept;
}

/* A file in memory with the maps as they are now. returns its descriptor, or -1: there is none */
static long copy_maps(const char *path)
{
    enum { PIECE = 2048 };
    char in[PIECE], out[PIECE + 16];
    struct lines lines = {.begin = 0};
    const long from = carm_sys4(SYS_open, (uint64_t)(uintptr_t)path, O_RDONLY | O_CLOEXEC, 0, 0);
    const long to =
        from < 0 ? from : carm_sys2(SYS_memfd_create, (uint64_t)(uintptr_t) "maps", MFD_CLOEXEC);
    long got = to < 0 ? to : 1;
    carm_lock(); /* so that the engine maps nothing meanwhile */
    while (got > 0) {
        got = carm_sys4(SYS_read, (uint64_t)from, (uint64_t)in, sizeof in, 0);
        const size_t n = got > 0 ? keep_lines(&lines, in, (size_t)got, out) : 0;
        if (n && carm_sys4(SYS_write, (uint64_t)to, (uint64_t)out, n, 0) != (long)n) {
            got = -1;
        }
    }
    carm_unlock();
    if (from >= 0) {
        carm_sys2(SYS_close, (uint64_t)from, 0);
    }
    if (got < 0 && to >= 0) {
        carm_sys2(SYS_close, (uint64_t)to, 0);
    }
    return got < 0 ? -1 : to;
}

/* A path with a number in it, without leading zeros. room: [PATH_ROOM]. returns room, or a place in it */
static const char *path_of(char *room, const char *head, uint64_t number, const char *tail)
{
    char *at = &room[PATH_ROOM - 1 - strlen(tail)];
    memcpy(at, tail, strlen(tail) + 1);
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    at -= strlen(head);
    memcpy(at, head, strlen(head));
    return at;
}

/* Opens a copy of /proc/self/maps without the engine's lines, whose addresses and inode numbers differ from run to run:
 * libsigsegv and gnulib's c-stack read the file at each start. The copy is made when the file is opened.
 * returns its descriptor, the smallest free one, or -1 */
static long open_maps(const char *path, uint64_t flags)
{
    static const uint64_t least = UINT64_C(16) << 20; /* least RLIMIT_FSIZE for the copy */
    struct rlimit limit;
    char room[PATH_ROOM];
    if (carm_sys4(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (uint64_t)&limit) != 0 ||
        limit.rlim_cur < least) {
        return -1; /* a write beyond the limit would end the program */
    }
    const long file = copy_maps(path);
    if (file < 0) {
        return -1;
    }
    const char *name = path_of(room, "/proc/self/fd/", (uint64_t)file, "");
    /* opened again read-only, at the begin, and given the descriptor number of the writing one */
    const long again = carm_sys4(SYS_open, (uint64_t)(uintptr_t)name, O_RDONLY | O_CLOEXEC, 0, 0);
    const long result =
        again < 0 ? -1 : carm_sys4(SYS_dup3, (uint64_t)again, (uint64_t)file, flags & O_CLOEXEC, 0);
    carm_sys2(SYS_close, (uint64_t)(again < 0 ? file : again), 0);
    return result;
}

static bool is_maps(const char *path)
{
    char room[PATH_ROOM];
    const uint64_t pid = (uint64_t)carm_sys2(SYS_getpid, 0, 0);
    return strcmp(path, "/proc/self/maps") == 0 ||
           strcmp(path, path_of(room, "/proc/", pid, "/maps")) == 0;
}

static bool random_files; /* the program has opened a file of random numbers */

bool carm_view_open(struct carm_thread *t, enum carm_reg path, long *result)
{
    char asked[32]; /* longer than each name below */
    const uint64_t flags = path == RDI ? t->reg[RSI] : t->reg[RDX];
    const struct carm_cpu_view *cpu = &carm_boot.cpu;
    for (size_t i = 0; i < sizeof asked; i++) { /* the path may end just before unmapped memory */
        const size_t some = sizeof asked - i;
        if (carm_copy_from(asked + i, t->reg[path] + i, some) == 0) {
            break;
        }
        if (carm_copy_from(asked + i, t->reg[path] + i, 1) != 0) {
            return false;
        }
        if (!asked[i]) {
            break;
        }
    }
    asked[sizeof asked - 1] = '\0';
    if (strcmp(asked, "/dev/urandom") == 0 || strcmp(asked, "/dev/random") == 0) {
        random_files = cpu->steady;
        if (!cpu->steady) {
            note(CARM_VARIES_RANDOM);
        }
    }
    *result = -1;
    if (cpu->info[0] && strcmp(asked, "/proc/cpuinfo") == 0) {
        *result = carm_sys4(SYS_open, (uint64_t)(uintptr_t)cpu->info, flags & O_CLOEXEC, 0, 0);
    } else if (strncmp(asked, "/proc/", 6) == 0 && (flags & O_ACCMODE) == O_RDONLY &&
               is_maps(asked)) {
        *result = open_maps(asked, flags);
    }
    if (*result < 0 && (strncmp(asked, "/proc/", 6) == 0 || strncmp(asked, "/sys/", 5) == 0)) {
        note(CARM_VARIES_SYSTEM);
    }
    return *result >= 0;
}

static uint64_t state; /* of this process's generator; 0 = not used yet */

/* splitmix64; source: Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014 */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t next_random(void)
{
    static const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t is = 0;
    /* another start for each program of a run, so that two programs draw different names of files */
    (void)__atomic_compare_exchange_n(&state, &is, mix(carm_boot.program + UINT64_C(1)) | 1, false,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return mix(__atomic_add_fetch(&state, step, __ATOMIC_RELAXED));
}

void carm_view_forks(void)
{
    (void)next_random();
}

void carm_view_forked(void)
{
    state = next_random() | 1;
}

static bool is_random(uint64_t fd)
{
    enum { MEMORY_DEVICES = 1, RANDOM = 8, URANDOM = 9 }; /* Linux: admin-guide/devices.txt */
    struct stat s;
    return carm_sys2(SYS_fstat, fd, (uint64_t)&s) == 0 && S_ISCHR(s.st_mode) &&
           (s.st_rdev == makedev(MEMORY_DEVICES, RANDOM) ||
            s.st_rdev == makedev(MEMORY_DEVICES, URANDOM));
}

void carm_view_random(struct carm_thread *t, uint64_t nr, long result)
{
    if (!carm_boot.cpu.steady || (nr == SYS_read && (!random_files || !is_random(t->reg[RDI])))) {
        return;
    }
    uint64_t some[32];
    uint64_t at = t->reg[nr == SYS_read ? RSI : RDI];
    for (uint64_t left = result > 0 ? (uint64_t)result : 0; left;) {
        const uint64_t n = left < sizeof some ? left : sizeof some;
        for (size_t i = 0; i < (n + sizeof *some - 1) / sizeof *some; i++) {
            some[i] = next_random();
        }
        if (carm_copy_to(at, some, n) != 0) {
            return;
        }
        at += n;
        left -= n;
    }
}

void carm_view_note(const struct carm_thread *t)
{
    enum { KEY = 8 }; /* glibc's malloc reads a random key of this size; no count depends on it */
    switch (t->reg[RAX]) {
    case SYS_clock_gettime:
    case SYS_gettimeofday:
    case SYS_time:
    case SYS_times:
    case SYS_getrusage:
        note(CARM_VARIES_TIME);
        break;
    case SYS_getpid:
    case SYS_gettid:
    case SYS_getppid:
        note(CARM_VARIES_PIDS);
        break;
    case SYS_getrandom:
        if (!carm_boot.cpu.steady && t->reg[RSI] != KEY) {
            note(CARM_VARIES_RANDOM);
        }
        break;
    case SYS_getdents64:
        note(CARM_VARIES_FOLDERS);
        break;
    case SYS_connect:
    case SYS_accept:
    case SYS_accept4:
    case SYS_recvfrom:
    case SYS_recvmsg:
        note(CARM_VARIES_SOCKETS);
        break;
    case SYS_setitimer:
    case SYS_alarm:
    case SYS_timer_settime:
        note(CARM_VARIES_TIMERS);
        break;
    default:
        break;
    }
}

void carm_view_clones(uint32_t flags)
{
    note(flags & CLONE_THREAD ? CARM_VARIES_THREADS : CARM_VARIES_PROCESSES);
}
