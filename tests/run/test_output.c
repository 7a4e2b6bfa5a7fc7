/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Receivers of discarded output by kernels of this file: which kind of output a counted program gets in place of a file,
 * terminal, pipe or socket, and how the receiver reads and discards the program's output. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "run/output.h"
#include "tests/events.h"

/* What standard output and error are: f file, a file at whose end is written, t terminal, p pipe, s socket, n other, - none */
static const char *kinds;
static bool same;         /* error is output */
static const char *fails; /* calls that fail, with ";" behind each */
static int next_fd;
static void *(*thread)(void *);
static void *thread_arg;
static off_t written; /* of a file */

/* Turns of the receiver: which entries have something (bits), what reading gives */
struct turn {
    unsigned ready;
    int read[2], error[2]; /* bytes; 0 and less: the end, or an error */
    off_t written;
    int poll_error;
};
static const struct turn *turns;
static size_t polls;

static bool does_fail(const char *call)
{
    const bool is = strstr(fails, call);
    errno = is ? EMFILE : errno;
    return is;
}

/* The next file's number; 0 where standard input is closed */
static int next(void)
{
    const int fd = next_fd;
    next_fd = fd ? fd + 1 : 10;
    return fd;
}

static int opened(const char *call)
{
    return does_fail(call) ? -1 : next();
}

static char kind_of(int fd)
{
    return kinds[fd - STDOUT_FILENO];
}

int fstat(int fd, struct stat *s)
{
    *s = (struct stat){.st_size = written};
    if (fd > STDERR_FILENO) {
        return does_fail("fstat;") ? -1 : 0;
    }
    const char kind = kind_of(fd);
    s->st_mode = kind == 'f' || kind == 'a' ? S_IFREG
                 : kind == 'p'              ? S_IFIFO
                 : kind == 's'              ? S_IFSOCK
                                            : S_IFCHR;
    s->st_dev = same || !strstr(fails, "device;") ? 7 : (dev_t)fd;
    s->st_ino = same || !strstr(fails, "inode;") ? 8 : (ino_t)fd;
    return kind == '-' ? -1 : 0;
}

int isatty(int fd)
{
    return kind_of(fd) == 't';
}

int memfd_create(const char *name, unsigned flags)
{
    assert_true(flags == MFD_CLOEXEC);
    note("memory; ");
    return opened("memory;");
}

int fcntl(int fd, int command, ...)
{
    va_list ap;
    va_start(ap, command);
    if (command == F_GETFL) {
        va_end(ap);
        return does_fail("flags;") ? -1 : kind_of(fd) == 'a' ? O_APPEND | O_WRONLY : O_WRONLY;
    }
    assert_int_equal(command, F_SETFL);
    note("%d appends %d; ", fd, va_arg(ap, int) == O_APPEND);
    va_end(ap);
    return 0;
}

int posix_openpt(int flags)
{
    assert_int_equal(flags, O_RDWR | O_NOCTTY | O_CLOEXEC);
    note("terminal; ");
    return opened("terminal;");
}

int grantpt(int fd)
{
    return does_fail("grant;") ? -1 : 0;
}

int unlockpt(int fd)
{
    return does_fail("unlock;") ? -1 : 0;
}

char *ptsname(int fd)
{
    static char name[] = "/dev/pts/9";
    return does_fail("name;") ? NULL : name;
}

int open(const char *path, int flags, ...)
{
    note("open %s; ", path);
    assert_int_equal(flags, strcmp(path, "/dev/null") == 0 ? O_WRONLY | O_CLOEXEC
                                                           : O_RDWR | O_NOCTTY | O_CLOEXEC);
    return opened(strcmp(path, "/dev/null") == 0 ? "null;" : "pts;");
}

int ioctl(int fd, unsigned long request, ...)
{
    va_list ap;
    va_start(ap, request);
    struct winsize *size = va_arg(ap, struct winsize *);
    va_end(ap);
    if (request == TIOCGWINSZ) {
        size->ws_row = 31;
        return does_fail("size;") ? -1 : 0;
    }
    note("size %d of %d; ", size->ws_row, fd);
    return 0;
}

int tcgetattr(int fd, struct termios *modes)
{
    modes->c_iflag = 5;
    return does_fail("modes;") ? -1 : 0;
}

int tcsetattr(int fd, int when, const struct termios *modes)
{
    note("modes %d of %d; ", (int)modes->c_iflag, fd);
    return 0;
}

int socketpair(int domain, int type, int protocol, int ends[2])
{
    assert_true(domain == AF_UNIX && type == (SOCK_STREAM | SOCK_CLOEXEC) && protocol == 0);
    note("sockets; ");
    ends[0] = next();
    ends[1] = next();
    return does_fail("sockets;") ? -1 : 0;
}

int pipe2(int ends[2], int flags)
{
    note("pipe; ");
    ends[0] = next();
    ends[1] = next();
    return does_fail("pipe;") ? -1 : 0;
}

int eventfd(unsigned value, int flags)
{
    assert_true(value == 0 && flags == EFD_CLOEXEC);
    return opened("event;");
}

int close(int fd)
{
    note("close %d; ", fd);
    return 0;
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    note("%s; ", before ? sigismember(set, SIGTERM) ? "no signals" : "signals" : "as before");
    return how == SIG_SETMASK ? 0 : -1;
}

int pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *arg)
{
    note("thread; ");
    thread = start;
    thread_arg = arg;
    return strstr(fails, "thread;") ? EAGAIN : 0;
}

int pthread_join(pthread_t id, void **result)
{
    note("join; ");
    return 0;
}

ssize_t write(int fd, const void *from, size_t n)
{
    note("stop %d: %d; ", fd, (int)*(const uint64_t *)from);
    return (ssize_t)n;
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
    const struct turn *turn = &turns[polls++];
    assert_int_equal(n, 3);
    note("poll %d %d %d for %d; ", fds[0].fd, fds[1].fd, fds[2].fd, timeout);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(fds[i].events, POLLIN);
        fds[i].revents = turn->ready >> i & 1 ? POLLIN : 0;
    }
    written = turn->written;
    errno = turn->poll_error;
    return errno ? -1 : __builtin_popcount(turn->ready);
}

ssize_t read(int fd, void *to, size_t n)
{
    const int stream = fd != 10;
    assert_int_equal(n, 1 << 16);
    note("read %d; ", fd);
    errno = turns[polls - 1].error[stream];
    return turns[polls - 1].read[stream];
}

int fallocate(int fd, int mode, off_t from, off_t n)
{
    assert_int_equal(mode, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
    note("free %d+%d of %d; ", (int)from, (int)n, fd);
    return does_fail("free;") ? -1 : 0;
}

static int set_up(void **state)
{
    kinds = "ff";
    same = false;
    fails = "";
    events[0] = '\0';
    next_fd = 10;
    written = 0;
    return 0;
}

/* What a program gets; files are 10 and on. */
TEST_BETWEEN(kinds_of_outputs, set_up, NULL)
{
    static const struct {
        const char *kinds, *fails;
        bool same;
        const char *opens, *closes;
    } of[] = {
        {"fa", "device;", false,
         "memory; memory; 11 appends 1; no signals; thread; as before; 10 and 11",
         "stop 12: 1; join; close 12; close 10; close 11; "},
        {"tn", "device;", false,
         "terminal; open /dev/pts/9; size 31 of 11; modes 5 of 11; open /dev/null; no signals; thread; as before; 11 and 12",
         "stop 13: 1; join; close 13; close 11; close 10; close 12; "},
        {"tt", "device;inode;", true,
         "terminal; open /dev/pts/9; size 31 of 11; modes 5 of 11; no signals; thread; as before; 11 and 11",
         "stop 12: 1; join; close 12; close 11; close 10; "},
        {"ff", "device;", false, "memory; memory; no signals; thread; as before; 10 and 11",
         "stop 12: 1; join; close 12; close 10; close 11; "},
        {"ff", "inode;", false, "memory; memory; no signals; thread; as before; 10 and 11",
         "stop 12: 1; join; close 12; close 10; close 11; "},
        {"ff", "", false, "memory; no signals; thread; as before; 10 and 10",
         "stop 11: 1; join; close 11; close 10; "},
        {"ps", "device;", false, "pipe; sockets; no signals; thread; as before; 11 and 13",
         "stop 14: 1; join; close 14; close 11; close 10; close 13; close 12; "},
        {"--", "", false,
         "open /dev/null; open /dev/null; no signals; thread; as before; 10 and 11",
         "stop 12: 1; join; close 12; close 10; close 11; "},
        {"f-", "memory;", false,
         "memory; open /dev/null; open /dev/null; no signals; thread; as before; 10 and 11",
         "stop 12: 1; join; close 12; close 10; close 11; "},
        {"an", "device;flags;", false,
         "memory; open /dev/null; no signals; thread; as before; 10 and 11",
         "stop 12: 1; join; close 12; close 10; close 11; "},
        {"tn", "device;terminal;", false,
         "terminal; open /dev/null; open /dev/null; no signals; thread; as before; 10 and 11",
         "stop 12: 1; join; close 12; close 10; close 11; "},
        {"tn", "device;grant;", false,
         "terminal; close 10; open /dev/null; open /dev/null; no signals; thread; as before; 11 and 12",
         "stop 13: 1; join; close 13; close 11; close 12; "},
        {"tn", "device;unlock;", false,
         "terminal; close 10; open /dev/null; open /dev/null; no signals; thread; as before; 11 and 12",
         "stop 13: 1; join; close 13; close 11; close 12; "},
        {"tn", "device;name;", false,
         "terminal; close 10; open /dev/null; open /dev/null; no signals; thread; as before; 11 and 12",
         "stop 13: 1; join; close 13; close 11; close 12; "},
        {"tn", "device;pts;", false,
         "terminal; open /dev/pts/9; close 10; open /dev/null; open /dev/null; no signals; thread; as before; 11 and 12",
         "stop 13: 1; join; close 13; close 11; close 12; "},
        {"tn", "device;size;modes;", false,
         "terminal; open /dev/pts/9; open /dev/null; no signals; thread; as before; 11 and 12",
         "stop 13: 1; join; close 13; close 11; close 10; close 12; "},
        {"pn", "device;pipe;", false,
         "pipe; open /dev/null; open /dev/null; no signals; thread; as before; 12 and 13",
         "stop 14: 1; join; close 14; close 12; close 13; "},
        {"fn", "device;zero;", false,
         "memory; open /dev/null; no signals; thread; as before; 0 and 10",
         "stop 11: 1; join; close 11; close 0; close 10; "},
        {"tn", "device;zero;", false,
         "terminal; open /dev/pts/9; size 31 of 10; modes 5 of 10; open /dev/null; no signals; thread; as before; 10 and 11",
         "stop 12: 1; join; close 12; close 10; close 0; close 11; "},
        {"tn", "device;zero;grant;", false,
         "terminal; close 0; open /dev/null; open /dev/null; no signals; thread; as before; 10 and 11",
         "stop 12: 1; join; close 12; close 10; close 11; "},
        {"nn", "device;zero;", false,
         "open /dev/null; open /dev/null; no signals; thread; as before; 0 and 10",
         "stop 11: 1; join; close 11; close 0; close 10; "},
        {"np", "device;zero;", false,
         "open /dev/null; pipe; no signals; thread; as before; 0 and 11",
         "stop 12: 1; join; close 12; close 0; close 11; close 10; "},
        {"pn", "device;zero;", false,
         "pipe; open /dev/null; no signals; thread; as before; 10 and 11",
         "stop 12: 1; join; close 12; close 10; close 0; close 11; "},
        {"nn", "zero;", true, "open /dev/null; no signals; thread; as before; 0 and 0",
         "stop 10: 1; join; close 10; close 0; "},
        {"sn", "device;sockets;", false,
         "sockets; open /dev/null; open /dev/null; no signals; thread; as before; 12 and 13",
         "stop 14: 1; join; close 14; close 12; close 13; "}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct carm_output *o = NULL;
        set_up(state);
        kinds = of[i].kinds;
        fails = of[i].fails;
        same = of[i].same;
        next_fd = strstr(fails, "zero;") ? 0 : next_fd;
        errno = EBADF; /* an earlier error is none of these */
        assert_int_equal(carm_output_open(&o), 0);
        note("%d and %d", carm_output_fd(o, 0), carm_output_fd(o, 1));
        happened(of[i].opens);
        carm_output_close(o);
        happened(of[i].closes);
    }
    carm_output_close(NULL);
    happened("");
}

TEST_BETWEEN(what_cannot_be_opened, set_up, NULL)
{
    static const struct {
        const char *kinds, *fails;
        int code;
        const char *events;
    } of[] = {
        {"ff", "event;", -EMFILE, "memory; close 10; "},
        {"nn", "device;null;", -EMFILE, "open /dev/null; open /dev/null; close 10; "},
        {"nf", "device;null;", -EMFILE, "open /dev/null; memory; close 11; close 10; "},
        {"fn", "device;null;", -EMFILE, "memory; open /dev/null; close 11; close 10; "},
        {"ff", "thread;", -EAGAIN, "memory; no signals; thread; as before; close 11; close 10; "}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct carm_output *o = NULL;
        set_up(state);
        kinds = of[i].kinds;
        fails = of[i].fails;
        assert_int_equal(carm_output_open(&o), of[i].code);
        assert_null(o);
        happened(of[i].events);
    }
}

/* What is written is read, up to an end or an error, and the memory of files is freed, until the program has ended. */
TEST_BETWEEN(what_is_written, set_up, NULL)
{
    static const struct turn pipes[] = {{.ready = 2, .read = {1}, .error = {EIO}},
                                        {.ready = 6, .read = {100, 5}},
                                        {.poll_error = EINTR},
                                        {.ready = 6, .read = {-1, -1}, .error = {EINTR, EAGAIN}},
                                        {.ready = 4, .read = {0, 0}},
                                        {.ready = 2, .read = {-1}, .error = {EIO}},
                                        {.ready = 0},
                                        {.ready = 1}},
                             files[] = {{.written = 0},
                                        {.written = 50},
                                        {.written = 50},
                                        {.written = 51},
                                        {.ready = 1}},
                             broken[] = {{.poll_error = ENOMEM}};
    static const struct {
        const char *kinds, *fails;
        const struct turn *turns;
        size_t n;
        const char *events;
    } of[] = {
        {"pp", "device;", pipes, 8,
         "poll 14 10 12 for -1; read 10; poll 14 10 12 for -1; read 10; read 12; poll 14 10 12 for -1; poll 14 10 12 for -1; read 10; read 12; poll 14 10 12 for -1; read 12; poll 14 10 -1 for -1; read 10; poll 14 -1 -1 for -1; poll 14 -1 -1 for -1; "},
        {"fp", "device;", files, 5,
         "poll 13 -1 11 for 10; poll 13 -1 11 for 10; free 0+50 of 10; poll 13 -1 11 for 10; poll 13 -1 11 for 10; free 50+1 of 10; poll 13 -1 11 for 10; "},
        {"pf", "device;", files, 5,
         "poll 13 10 -1 for 10; poll 13 10 -1 for 10; free 0+50 of 12; poll 13 10 -1 for 10; poll 13 10 -1 for 10; free 50+1 of 12; poll 13 10 -1 for 10; "},
        {"ff", "device;", files, 5,
         "poll 12 -1 -1 for 10; poll 12 -1 -1 for 10; free 0+50 of 10; free 0+50 of 11; poll 12 -1 -1 for 10; poll 12 -1 -1 for 10; free 50+1 of 10; free 50+1 of 11; poll 12 -1 -1 for 10; "},
        {"fn", "device;free;", files, 5,
         "poll 12 -1 -1 for 10; poll 12 -1 -1 for 10; free 0+50 of 10; poll 12 -1 -1 for 10; free 0+50 of 10; poll 12 -1 -1 for 10; free 0+51 of 10; poll 12 -1 -1 for 10; "},
        {"fn", "device;fstat;", files, 5,
         "poll 12 -1 -1 for 10; poll 12 -1 -1 for 10; poll 12 -1 -1 for 10; poll 12 -1 -1 for 10; poll 12 -1 -1 for 10; "},
        {"pn", "device;", broken, 1, "poll 13 10 -1 for -1; "}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct carm_output *o = NULL;
        set_up(state);
        kinds = of[i].kinds;
        fails = of[i].fails;
        assert_int_equal(carm_output_open(&o), 0);
        events[0] = '\0';
        turns = of[i].turns;
        polls = 0;
        assert_null(thread(thread_arg));
        assert_int_equal(polls, of[i].n);
        happened(of[i].events);
        carm_output_close(o);
    }
}
