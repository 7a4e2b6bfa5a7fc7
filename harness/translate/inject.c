/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/translate/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness/translate/layout.h"
#include "harness/translate/maps.h"
#include "harness/translate/tally.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51 /* Linux 5.14 */
#endif

enum { USER_CS_64 = 0x33, FSGSBASE = 2, SIGNALS_MAX = 16, PATH_ROOM = 64, PAGE = 4096 };

/* System calls that the program makes for carm, with one stop for all calls. Each stop takes two context switches and
 * five system calls of carm; 14 stops took an eighth of the time of a counted `true`. */
struct remote {
    uint64_t nr; /* out: the result */
    uint64_t a[6];
    uint64_t result; /* address to which the result is copied; a second copy is 32 bytes further */
};

/* Makes ebp system calls of a list at rbx, up to the first that fails. */
static const uint8_t caller[] = {
    0x48, 0x8b, 0x03,       /* begin: mov rax, [rbx] */
    0x48, 0x8b, 0x7b, 0x08, /* mov rdi, [rbx + 8] */
    0x48, 0x8b, 0x73, 0x10, /* mov rsi, [rbx + 16] */
    0x48, 0x8b, 0x53, 0x18, /* mov rdx, [rbx + 24] */
    0x4c, 0x8b, 0x53, 0x20, /* mov r10, [rbx + 32] */
    0x4c, 0x8b, 0x43, 0x28, /* mov r8, [rbx + 40] */
    0x4c, 0x8b, 0x4b, 0x30, /* mov r9, [rbx + 48] */
    0x0f, 0x05,             /* syscall */
    0x48, 0x89, 0x03,       /* mov [rbx], rax */
    0x48, 0x8b, 0x4b, 0x38, /* mov rcx, [rbx + 56] */
    0x48, 0x89, 0x01,       /* mov [rcx], rax */
    0x48, 0x89, 0x41, 0x20, /* mov [rcx + 32], rax */
    0x48, 0x83, 0xc3, 0x40, /* add rbx, 64 */
    0x48, 0x85, 0xc0,       /* test rax, rax */
    0x78, 0x04,             /* js end */
    0xff, 0xcd,             /* dec ebp */
    0x75, 0xc8,             /* jnz begin */
    0xcc,                   /* end: int3 */
};
_Static_assert(sizeof(struct remote) == 64, "as the code has it");

struct target {
    pid_t pid;
    int mem;                      /* the program's memory (/proc/PID/mem); -1 = word by word */
    struct user_regs_struct regs; /* registers at the program's first instruction */
    uint64_t caller;              /* address of `caller`, in the page of that instruction */
    uint8_t text[(sizeof caller + 7) & ~7U]; /* the program's bytes at this address */
    int held[SIGNALS_MAX];                   /* signals that came while the program was traced */
    int nheld;
    int stop; /* the signal that stops the program once it is released; 0 = none */
};

/* Waits until the program stops. Does not reap an ended program: the caller that waits for all
 * children does. The end of another child interrupts a wait. */
static bool await_stop(pid_t pid, int *status)
{
    siginfo_t info = {.si_pid = 0};
    int rc;
    do {
        rc = waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL);
    } while (rc != 0 && errno == EINTR);
    return rc == 0 && (info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED) &&
           waitpid(pid, status, __WALL) == pid && WIFSTOPPED(*status);
}

/* Keeps a signal until the program is released. SIGCONT cancels a kept stop; SIGCONT has no
 * other effect on a program without handlers. */
static void hold(struct target *t, int signo)
{
    if (signo == SIGSTOP || signo == SIGTSTP || signo == SIGTTIN || signo == SIGTTOU) {
        t->stop = signo;
    } else if (signo == SIGCONT) {
        t->stop = 0;
    } else if (t->nheld < SIGNALS_MAX) {
        t->held[t->nheld++] = signo;
    }
}

/* Writes the program's memory, also where the program may not. One call for all bytes: some 700 words one by one would
 * take 0.6 ms of each exec. */
static bool poke(const struct target *t, uint64_t at, const void *bytes, size_t n)
{
    if (t->mem >= 0) {
        return pwrite(t->mem, bytes, n, (off_t)at) == (ssize_t)n;
    }
    for (size_t i = 0; i < n; i += sizeof(long)) {
        long word = 0;
        const size_t some = n - i < sizeof word ? n - i : sizeof word;
        memcpy(&word, (const char *)bytes + i, some);
        if (ptrace(PTRACE_POKEDATA, t->pid, (void *)(uintptr_t)(at + i), (void *)word) != 0) {
            return false;
        }
    }
    return true;
}

static bool peek(const struct target *t, uint64_t at, void *bytes, size_t n)
{
    if (t->mem >= 0) {
        return pread(t->mem, bytes, n, (off_t)at) == (ssize_t)n;
    }
    for (size_t i = 0; i < n; i += sizeof(long)) {
        errno = 0;
        const long word = ptrace(PTRACE_PEEKDATA, t->pid, (void *)(uintptr_t)(at + i), NULL);
        if (errno) {
            return false;
        }
        memcpy((char *)bytes + i, &word, n - i < sizeof word ? n - i : sizeof word);
    }
    return true;
}

/* Lets the program execute `caller` to its end. returns 0, or -1 when the program has ended */
static int run_caller(struct target *t, const struct user_regs_struct *regs)
{
    struct user_regs_struct now;
    if (ptrace(PTRACE_SETREGS, t->pid, NULL, regs) != 0) {
        return -1;
    }
    for (;;) {
        int status = 0;
        if (ptrace(PTRACE_CONT, t->pid, NULL, NULL) != 0 || !await_stop(t->pid, &status)) {
            return -1;
        }
        if (status >> 16 == 0 && WSTOPSIG(status) == SIGTRAP &&
            ptrace(PTRACE_GETREGS, t->pid, NULL, &now) == 0 &&
            now.rip == t->caller + sizeof caller) {
            return 0;
        }
        if (status >> 16 == 0) {
            hold(t, WSTOPSIG(status));
        }
    }
}

/* Makes n system calls in the program, up to the first that fails.
 * list  [n] at this address in the program; out: results
 * returns 0, or an error of the target's */
static int64_t call_all(struct target *t, struct remote *list, size_t n, uint64_t at)
{
    struct user_regs_struct r = t->regs;
    r.rip = t->caller;
    r.orig_rax = UINT64_MAX;
    r.rbx = at;
    r.rbp = n;
    if (!poke(t, at, list, n * sizeof *list)) {
        return -EFAULT;
    }
    if (run_caller(t, &r) != 0) {
        return -ESRCH;
    }
    return peek(t, at, list, n * sizeof *list) ? 0 : -EFAULT;
}

/* The address of `bytes` free bytes below the program's stack. */
static uint64_t below(const struct target *t, size_t bytes)
{
    return (t->regs.rsp - bytes) & ~UINT64_C(63);
}

static int64_t call(struct target *t, uint64_t nr, const uint64_t a[6])
{
    enum { OTHERS = 2048 }; /* bytes of a call's arguments in memory */
    struct {
        struct remote call;
        uint64_t unused[8];
    } one = {.call = {.nr = nr}};
    const uint64_t at = below(t, OTHERS + sizeof one);
    memcpy(one.call.a, a, sizeof one.call.a);
    one.call.result = at + sizeof one.call;
    const int64_t rc = call_all(t, &one.call, 1, at);
    const int64_t result = rc ? rc : (int64_t)one.call.nr;
    memset(&one, 0, sizeof one);
    poke(t, at, &one, sizeof one);
    return result;
}

/* Gives a file descriptor of carm to a program that cannot open the file in /proc: a program of
 * another user (setpriv, runuser), or with a root folder of its own. The program asks through an
 * abstract socket, which answers only this program.
 * returns its file descriptor, or -errno */
struct receive {
    struct sockaddr_un address;
    struct msghdr message;
    struct iovec data;
    char byte[8];
    union { /* last: a cmsghdr has a variable size */
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
};

static bool send_file(int listener, pid_t pid, int fd)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = ""};
    char byte = 0;
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct ucred peer = {.pid = 0};
    socklen_t size = sizeof peer;
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    for (;;) { /* a connection of another process is closed */
        const int s = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (s < 0) {
            return false;
        }
        const bool right =
            getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == pid;
        const bool sent = right && sendmsg(s, &message, MSG_NOSIGNAL) == 1;
        close(s);
        if (right) {
            return sent;
        }
    }
}

static int64_t receive(struct target *t, int listener, const struct sockaddr_un *address, int fd)
{
    const uint64_t at = (t->regs.rsp - 2 * sizeof(struct receive)) & ~UINT64_C(15);
    struct receive r = {.address = *address};
    const struct receive zero = {.byte = ""};
    r.data = (struct iovec){(void *)(uintptr_t)(at + offsetof(struct receive, byte)), 1};
    r.message =
        (struct msghdr){.msg_iov = (void *)(uintptr_t)(at + offsetof(struct receive, data)),
                        .msg_iovlen = 1,
                        .msg_control = (void *)(uintptr_t)(at + offsetof(struct receive, control)),
                        .msg_controllen = sizeof r.control.bytes};
    if (!poke(t, at, &r, sizeof r)) {
        return -EFAULT;
    }
    const int64_t s =
        call(t, SYS_socket, (const uint64_t[]){AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, 0, 0, 0});
    int64_t rc = s;
    if (s >= 0) {
        rc = call(t, SYS_connect, (const uint64_t[]){(uint64_t)s, at, sizeof r.address, 0, 0, 0});
        rc = rc == 0 && !send_file(listener, t->pid, fd) ? -EIO : rc;
        rc = rc ? rc
                : call(t, SYS_recvmsg,
                       (const uint64_t[]){(uint64_t)s, at + offsetof(struct receive, message),
                                          MSG_CMSG_CLOEXEC | MSG_DONTWAIT, 0, 0, 0});
        call(t, SYS_close, (const uint64_t[]){(uint64_t)s, 0, 0, 0, 0, 0});
    }
    if (rc == 1) {
        const uint64_t from = at + offsetof(struct receive, control) + CMSG_LEN(0);
        errno = 0;
        const long word = ptrace(PTRACE_PEEKDATA, t->pid, (void *)(uintptr_t)from, NULL);
        rc = errno ? -EFAULT : (int32_t)word;
    }
    poke(t, at, &zero, sizeof zero);
    return rc;
}

static int64_t pass_file(struct target *t, int fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int64_t rc = -EACCES;
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "carm-%d-%d", (int)getpid(),
             (int)t->pid);
    if (listener >= 0 && bind(listener, (const struct sockaddr *)&address, sizeof address) == 0 &&
        listen(listener, 8) == 0) {
        rc = receive(t, listener, &address, fd);
    }
    carm_fd_close(listener);
    return rc;
}

/* A file of carm's that the program maps. */
struct mapped {
    int fd; /* -1 = none */
    uint64_t at, bytes, prot, flags;
    bool done;
    uint32_t opened; /* READY: the program's file descriptor + 1, which stays open; 0 = none */
};

enum { IMAGE, TALLY, CONTROL, RECORDS, STOCK, READY, LEFT, MAPPED };
enum { EACH = 3, CALLS_MAX = EACH * MAPPED + CARM_IMAGE_CODES };

/* The arguments of `caller` in the program's stack. */
struct batch {
    struct remote calls[CALLS_MAX];
    char paths[MAPPED][PATH_ROOM];
    uint64_t unused[8]; /* results that are not needed */
};

static void add_call(struct batch *b, size_t *n, uint64_t unused, uint64_t nr, const uint64_t a[6])
{
    struct remote *to = &b->calls[(*n)++];
    *to = (struct remote){.nr = nr, .result = unused};
    memcpy(to->a, a, sizeof to->a);
}

static int64_t map_opened(const struct mapped *m, int64_t got)
{
    return got == (int64_t)m->at ? 0 : got < 0 ? got : -EEXIST;
}

static bool stays_open(const struct mapped *m)
{
    return m->at == CARM_READY_AT;
}

/* Maps a file that the program cannot open by its name. returns 0 or -errno */
static int64_t map_passed(struct target *t, struct mapped *m)
{
    const int64_t opened = pass_file(t, m->fd);
    if (opened < 0) {
        return opened;
    }
    const int64_t got = call(t, SYS_mmap,
                             (const uint64_t[]){m->at, m->bytes, m->prot,
                                                m->flags | MAP_FIXED_NOREPLACE | MAP_NORESERVE,
                                                (uint64_t)opened, 0});
    if (stays_open(m) && map_opened(m, got) == 0) {
        m->opened = (uint32_t)opened + 1;
    } else {
        call(t, SYS_close, (const uint64_t[]){(uint64_t)opened, 0, 0, 0, 0, 0});
    }
    return map_opened(m, got);
}

static bool is_left(const struct mapped *m)
{
    return m->fd >= 0 && !m->done;
}

/* Fills in the calls that map the files that are not mapped yet, and make the image's code executable and never again
 * writable.
 * at  address of the batch in the program
 * returns their number */
static size_t fill_batch(struct batch *b, const struct carm_engine *image,
                         const struct mapped list[MAPPED], uint64_t at)
{
    const uint64_t unused = at + offsetof(struct batch, unused);
    size_t n = 0;
    for (size_t i = 0; i < MAPPED; i++) {
        const struct mapped *m = &list[i];
        if (!is_left(m)) {
            continue;
        }
        (void)snprintf(b->paths[i], PATH_ROOM, "/proc/%d/fd/%d", (int)getpid(), m->fd);
        const uint64_t path = at + offsetof(struct batch, paths) + i * PATH_ROOM;
        const uint64_t access = m->flags & MAP_PRIVATE ? O_RDONLY : O_RDWR;
        /* the file descriptor goes into both calls that follow */
        add_call(b, &n, at + (n + 1) * sizeof *b->calls + offsetof(struct remote, a[4]), SYS_openat,
                 (const uint64_t[]){(uint64_t)AT_FDCWD, path, access | O_CLOEXEC, 0, 0, 0});
        add_call(b, &n, unused, SYS_mmap,
                 (const uint64_t[]){m->at, m->bytes, m->prot,
                                    m->flags | MAP_FIXED_NOREPLACE | MAP_NORESERVE, 0, 0});
        add_call(b, &n, unused, stays_open(m) ? SYS_getpid : SYS_close,
                 (const uint64_t[]){0, 0, 0, 0, 0, 0});
    }
    for (int i = 0; i < CARM_IMAGE_CODES; i++) {
        const uint64_t begin = image->code[i].begin;
        add_call(
            b, &n, unused, SYS_mprotect,
            (const uint64_t[]){begin, image->code[i].end - begin, PROT_READ | PROT_EXEC, 0, 0, 0});
    }
    return n;
}

/* Maps the files that are not mapped yet, up to the first that fails.
 * failed  out: this file; MAPPED = none
 * returns 0 or an error of the target's */
static int64_t map_by_name(struct target *t, const struct carm_engine *image,
                           struct mapped list[MAPPED], size_t *failed)
{
    struct batch b = {.unused = {0}};
    const uint64_t at = below(t, sizeof b);
    const size_t n = fill_batch(&b, image, list, at);
    *failed = MAPPED;
    int64_t rc = poke(t, at, &b, sizeof b) ? call_all(t, b.calls, n, at) : -EFAULT;
    const struct remote *made = b.calls;
    for (size_t i = 0; i < MAPPED && !rc; i++) {
        struct mapped *m = &list[i];
        if (!is_left(m)) {
            continue;
        }
        const int64_t opened = (int64_t)made[0].nr;
        rc = opened < 0 ? opened : map_opened(m, (int64_t)made[1].nr);
        m->done = rc == 0;
        m->opened = m->done && stays_open(m) ? (uint32_t)opened + 1 : 0;
        *failed = rc ? i : MAPPED;
        if (rc && opened >= 0) {
            call(t, SYS_close, (const uint64_t[]){(uint64_t)opened, 0, 0, 0, 0, 0});
        }
        made += EACH;
    }
    for (int i = 0; i < CARM_IMAGE_CODES && !rc; i++, made++) {
        rc = (int64_t)made->nr;
    }
    memset(&b, 0, sizeof b);
    poke(t, at, &b, sizeof b);
    return rc;
}

/* returns 0, or an error of the target's */
static int64_t map_all(struct target *t, const struct carm_engine *image,
                       struct mapped list[MAPPED])
{
    for (;;) {
        size_t failed;
        int64_t rc = map_by_name(t, image, list, &failed);
        if (rc == 0 || failed == MAPPED) {
            return rc;
        }
        if (rc == -EACCES || rc == -EPERM || rc == -ENOENT) {
            rc = map_passed(t, &list[failed]);
            list[failed].done = rc == 0;
        }
        if (rc && failed < STOCK) {
            return rc;
        }
        list[failed].fd = rc ? -1 : list[failed].fd; /* without ready code the counts are equal */
    }
}

/* The number + 1 of a mapped file in ready code; 0 = none */
static uint16_t find_map(const struct carm_ready_files *code, const struct carm_maps_line *line)
{
    char path[CARM_TALLY_PATH_MAX];
    if (!code || !code->nmaps || line->path[0] != '/' || line->writable || line->shared ||
        !carm_maps_path(line->path, path, sizeof path)) {
        return 0;
    }
    for (uint32_t i = 0; i < code->nmaps; i++) {
        const struct carm_tally_map *map = &code->maps[i];
        if (map->begin == line->begin && map->end == line->end && map->offset == line->offset &&
            map->inode == line->inode && strncmp(map->path, path, sizeof path) == 0) {
            return (uint16_t)(i + 1);
        }
    }
    return 0;
}

bool carm_inject_ranges(FILE *maps, const struct carm_ready_files *code, struct carm_boot *boot)
{
    char *text = NULL; /* paths have no limit: the rest of a cut line would be read as a line */
    size_t room = 0;
    boot->nranges = 0;
    while (boot->nranges < CARM_BOOT_RANGES && getline(&text, &room, maps) > 0) {
        struct carm_maps_line line;
        text[strcspn(text, "\n")] = '\0'; /* the kernel writes a path's newline as \012 */
        if (!carm_maps_read(text, &line) || !line.executable || line.begin >> 47) {
            continue; /* the old page of system calls in the kernel's half is not translated */
        }
        const uint16_t map = find_map(code, &line);
        boot->ranges[boot->nranges++] = (struct carm_range){
            .begin = line.begin,
            .end = line.end,
            .flags = (line.writable ? CARM_RANGE_WRITABLE : 0U) |
                     (line.shared ? CARM_RANGE_SHARED : 0U) | (map ? CARM_RANGE_KNOWN : 0U),
            .map = map};
    }
    free(text);
    return boot->nranges > 0 && boot->nranges < CARM_BOOT_RANGES;
}

/* The program's executable memory. returns false when the maps cannot be read */
static bool read_ranges(pid_t pid, const struct carm_ready_files *code, struct carm_boot *boot)
{
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *f = fopen(path, "re");
    const bool good = f && carm_inject_ranges(f, code, boot);
    if (f) {
        fclose(f);
    }
    return good;
}

/* Notes in the tally when the program mapped the files of ready code, as the engine does for files mapped later. */
static bool note_times(int tally, const struct carm_boot *boot)
{
    struct timespec now = {0, 0};
    bool good = clock_gettime(CLOCK_REALTIME, &now) == 0;
    const uint64_t ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
    for (uint32_t i = 0; i < boot->nranges && good; i++) {
        const uint64_t map = boot->ranges[i].map;
        const uint64_t at = CARM_TALLY_MAPS_AT + (map - 1) * sizeof(struct carm_tally_map) +
                            offsetof(struct carm_tally_map, time_ns);
        good = !map || pwrite(tally, &ns, sizeof ns, (off_t)at) == (ssize_t)sizeof ns;
    }
    return good;
}

void carm_inject_let_go(pid_t pid, int request, int signo)
{
    if (ptrace((enum __ptrace_request)request, pid, NULL, (void *)(intptr_t)signo) != 0 &&
        errno != ESRCH) {
        kill(pid, SIGKILL);
    }
}

/* Whether SIGCONT has come, but is not delivered yet. */
static bool is_continued(pid_t pid)
{
    for (uint32_t flags = 0; flags <= PTRACE_PEEKSIGINFO_SHARED; flags++) {
        struct __ptrace_peeksiginfo_args which = {.flags = flags, .nr = 1};
        siginfo_t info;
        for (; ptrace(PTRACE_PEEKSIGINFO, pid, &which, &info) == 1; which.off++) {
            if (info.si_signo == SIGCONT) {
                return true;
            }
        }
    }
    return false;
}

/* Detaches with the kept signal. The kernel drops a stop given to PTRACE_DETACH when SIGCONT has
 * come since the program's latest stop; a SIGCONT before that is seen here. A stop sent by kill()
 * would instead discard this SIGCONT, and the program would stay stopped for ever. */
static void release(struct target *t)
{
    if (t->stop && is_continued(t->pid)) {
        t->stop = 0;
    }
    if (t->mem >= 0) {
        close(t->mem);
        t->mem = -1;
    }
    for (int i = 0; i < t->nheld; i++) {
        kill(t->pid, t->held[i]);
    }
    carm_inject_let_go(t->pid, PTRACE_DETACH, t->stop);
}

/* Writes `caller` over the program's first instruction, or before it where the page ends. */
static bool place_caller(struct target *t)
{
    uint8_t code[sizeof t->text];
    const uint64_t last = (t->regs.rip | (PAGE - 1)) + 1 - sizeof code;
    t->caller = t->regs.rip < last ? t->regs.rip : last;
    if (!peek(t, t->caller, t->text, sizeof t->text)) {
        return false;
    }
    memcpy(code, t->text, sizeof code);
    memcpy(code, caller, sizeof caller);
    return poke(t, t->caller, code, sizeof code);
}

static int refuse(struct target *t, struct carm_err *err, const char *why)
{
    release(t);
    return carm_fail(err, CARM_ENOTSUP, "%s", why);
}

void carm_inject_random(pid_t pid)
{
    static const uint64_t same[] = {UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xbf58476d1ce4e5b9)};
    const struct target t = {.pid = pid, .mem = -1};
    char path[PATH_ROOM];
    uint64_t entry[2];
    snprintf(path, sizeof path, "/proc/%d/auxv", (int)pid);
    FILE *in = fopen(path, "rbe");
    while (in && fread(entry, sizeof entry, 1, in) == 1) {
        if (entry[0] == AT_RANDOM) {
            (void)poke(&t, entry[1], same, sizeof same);
        }
    }
    if (in) {
        (void)fclose(in);
    }
}

/* Reads the stack of a new program: words from rsp up to the end of the auxiliary vector.
 * auxv  out: index of the vector's first word
 * returns the number of words, 0 = not read; *words is to be freed */
static size_t read_start(const struct target *t, uint64_t **words, size_t *auxv)
{
    enum { CHUNK = 512, LISTS = 2, MOST = 1 << 21 }; /* words; 16 MiB: more than exec passes on */
    size_t n = 0, i = 1;                             /* i: the word after the number of arguments */
    int lists = 0; /* lists that have ended: arguments, environment */
    *words = NULL;
    while (t->mem >= 0 && n < MOST) {
        uint64_t *more = realloc(*words, (n + CHUNK) * sizeof **words);
        const ssize_t got = more ? pread(t->mem, more + n, CHUNK * sizeof *more,
                                         (off_t)(t->regs.rsp + n * sizeof *more))
                                 : 0;
        *words = more ? more : *words;
        if (got <= 0) {
            return 0;
        }
        n += (size_t)got / sizeof **words;
        for (; i < n && lists < LISTS; i++) {
            lists += (*words)[i] == 0;
            *auxv = i + 1;
        }
        for (; i + 1 < n && lists == LISTS; i += 2) {
            if ((*words)[i] == AT_NULL) {
                return i + 2;
            }
        }
    }
    return 0;
}

/* Whether Linux 5.14 has the entry, too. Newer kernels have more entries (Linux 6.3 two), and ld.so's work depends on
 * them. */
static bool is_old(uint64_t type)
{
    return type <= AT_HWCAP2 || type == AT_EXECFN || type == AT_SYSINFO_EHDR ||
           type == AT_MINSIGSTKSZ;
}

/* Changes the auxiliary vector: AT_HWCAP and AT_HWCAP2 of the CPU that the program sees; no vDSO if clocks are to be
 * system calls; the same entries on all kernels, with the stack pointer of a vector of this length. */
static void tell_kernels_view(struct target *t, const struct carm_cpu_view *cpu)
{
    const uint32_t features = carm_cpu_view_find(cpu, 1, 0); /* AT_HWCAP is edx of leaf 1 */
    const uint64_t hwcap = features < cpu->nleaves ? cpu->leaves[features].reg[3] : 0;
    uint64_t *words;
    size_t auxv = 0;
    const size_t n = read_start(t, &words, &auxv);
    size_t to = n;
    for (size_t i = n; i > auxv; i -= 2) {
        uint64_t type = words[i - 2], value = words[i - 1];
        if (cpu->steady && !is_old(type)) {
            continue;
        }
        if (cpu->on && (type == AT_HWCAP || type == AT_HWCAP2)) {
            value = type == AT_HWCAP ? hwcap : value & FSGSBASE;
        }
        if (cpu->steady && type == AT_SYSINFO_EHDR) {
            type = AT_IGNORE;
        }
        to -= 2;
        words[to] = type;
        words[to + 1] = value;
    }
    if (n) {
        const size_t left = to - auxv;
        memmove(words + left, words, auxv * sizeof *words);
        memset(words, 0, left * sizeof *words);
        if (poke(t, t->regs.rsp, words, n * sizeof *words)) {
            t->regs.rsp += left * sizeof *words;
        }
    }
    free(words);
}

int carm_inject(pid_t pid, const struct carm_engine *image, struct carm_engine *low, int tally,
                int control, int records, const struct carm_ready_files *code, uint32_t program,
                const struct carm_record_sample *sample, const struct carm_cpu_view *cpu,
                struct carm_err *err)
{
    struct target t = {.pid = pid, .mem = -1};
    static struct carm_boot boot; /* of some KiB */
    static struct carm_xlayout layout;
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    if (ptrace(PTRACE_GETREGS, pid, NULL, &t.regs) != 0) {
        return refuse(&t, err,
                      "a program ended, or could not be traced, before it could be counted");
    }
    t.regs.rax = 0; /* exec has not returned yet */
    t.mem = open(path, O_RDWR | O_CLOEXEC);
    if (t.regs.cs != USER_CS_64) {
        return refuse(&t, err, "it is a 32-bit program");
    }
    if (!layout.enabled) {
        carm_xlayout_read(&layout);
    }
    boot = (struct carm_boot){.entry = t.regs.rip,
                              .fsgsbase = (getauxval(AT_HWCAP2) & FSGSBASE) != 0,
                              .addresses = records >= 0,
                              .program = program,
                              .layout = layout,
                              .cpu = *cpu};
    if (records >= 0) {
        boot.sample = *sample;
    }
    if (!read_ranges(pid, records < 0 ? code : NULL, &boot) || !note_times(tally, &boot)) {
        return refuse(&t, err, "its memory cannot be read (/proc)");
    }
    carm_inject_random(pid);
    if (cpu->on || cpu->steady) {
        tell_kernels_view(&t, cpu);
    }
    boot.stack = t.regs.rsp;
    if (!place_caller(&t)) {
        return refuse(&t, err, "its code cannot be changed");
    }
    const uint64_t rw = PROT_READ | PROT_WRITE;
    struct mapped list[MAPPED] = {
        [IMAGE] = {image->fd, image->at, image->bytes, rw, MAP_PRIVATE, false, 0},
        [TALLY] = {tally, CARM_TALLY_AT, CARM_TALLY_FIRST_BYTES, rw, MAP_SHARED, false, 0},
        [CONTROL] = {control, CARM_CONTROL_AT, sizeof(struct carm_control), rw, MAP_SHARED, false,
                     0},
        [RECORDS] = {records, CARM_RECORDS_AT, CARM_RECORDS_BYTES, rw, MAP_SHARED, false, 0},
        [STOCK] = {records < 0 ? code->stock : -1, CARM_STOCK_AT, CARM_STOCK_BYTES, PROT_READ,
                   MAP_SHARED, false, 0},
        [READY] = {records < 0 ? code->ready : -1, CARM_READY_AT, code->bytes, rw, MAP_PRIVATE,
                   false, 0},
        [LEFT] = {records < 0 ? code->left : -1, CARM_LEFT_AT, CARM_READY_BYTES, rw, MAP_SHARED,
                  false, 0}};
    int64_t rc = map_all(&t, image, list);
    if (rc == -EEXIST && (low->fd >= 0 || carm_engine_open(low, CARM_IMAGE_LOW, NULL) == 0)) {
        image = low;
        list[IMAGE].fd = image->fd;
        list[IMAGE].at = image->at;
        list[IMAGE].bytes = image->bytes;
        list[STOCK].fd = list[READY].fd = list[LEFT].fd =
            -1; /* their blocks are for the engine at CARM_IMAGE_AT */
        rc = map_all(&t, image, list);
    }
    boot.stock = list[STOCK].done;
    boot.ready = list[READY].opened;
    boot.left = list[LEFT].done;
    boot.own_begin = image->at;
    boot.own_end = image->at + image->bytes;
    boot.code_begin = image->code[0].begin;
    boot.code_end = image->code[0].end;
    const size_t used = offsetof(struct carm_boot, ranges) + boot.nranges * sizeof *boot.ranges;
    rc = rc == 0 && !poke(&t, image->boot, &boot, used) ? -EFAULT : rc;
    if (rc && list[READY].opened) {
        call(&t, SYS_close, (const uint64_t[]){list[READY].opened - 1, 0, 0, 0, 0, 0});
    }
    struct user_regs_struct r = t.regs;
    r.rip = rc == 0 ? image->start : r.rip;
    r.orig_rax = UINT64_MAX;
    if (!poke(&t, t.caller, t.text, sizeof t.text) || ptrace(PTRACE_SETREGS, pid, NULL, &r) != 0) {
        kill(pid, SIGKILL); /* its code and registers are changed: the program must not go on */
        return refuse(&t, err,
                      "a program ended, or could not be traced, before it could be counted");
    }
    if (rc) {
        char why[160];
        snprintf(why, sizeof why, "the translator cannot be loaded into it (%s)",
                 strerror((int)-rc));
        return refuse(&t, err, why);
    }
    release(&t);
    return 0;
}
