/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"

enum {
    FILE_INTERVAL_MS = 10, /* between two looks at a file: at 2 GB/s the file grows by 20 MB
                            * meanwhile */
    ROOM = 1 << 16,        /* of a pipe */
};

struct stream {
    int given; /* to the program */
    int taken; /* read end for the program's output; -1 = the output is a file, or /dev/null */
    bool file;
    off_t freed; /* bytes of the file already freed */
    bool ended;  /* nothing can be read any more */
};

struct carm_output {
    struct stream streams[2];
    bool one; /* standard error and output are one file */
    int stop; /* an eventfd */
    pthread_t thread;
    bool runs;
    char room[ROOM];
};

/* Frees the memory of the written part of the file. The file's size stays, since the program may
 * ask for it. */
static void free_file(struct stream *s)
{
    struct stat now;
    if (s->file && fstat(s->given, &now) == 0 && now.st_size > s->freed &&
        fallocate(s->given, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, s->freed,
                  now.st_size - s->freed) == 0) {
        s->freed = now.st_size;
    }
}

/* The descriptor to poll; negative = poll ignores the entry. */
static int source(const struct stream *s)
{
    return s->ended ? -1 : s->taken;
}

static void *empty(void *arg)
{
    struct carm_output *o = arg;
    const bool files = o->streams[0].file || o->streams[1].file;
    for (;;) {
        struct pollfd fds[3] = {{.fd = o->stop, .events = POLLIN},
                                {.fd = source(&o->streams[0]), .events = POLLIN},
                                {.fd = source(&o->streams[1]), .events = POLLIN}};
        if (poll(fds, 3, files ? FILE_INTERVAL_MS : -1) < 0 && errno != EINTR) {
            return NULL;
        }
        if (fds[0].revents) {
            return NULL;
        }
        for (int i = 0; i < 2; i++) {
            if (fds[i + 1].revents && read(o->streams[i].taken, o->room, ROOM) <= 0 &&
                errno != EINTR && errno != EAGAIN) {
                o->streams[i].ended = true;
            }
            free_file(&o->streams[i]);
        }
    }
}

static void open_file(struct stream *s, int like)
{
    s->given = memfd_create("output", MFD_CLOEXEC);
    s->file = s->given >= 0;
    const int flags = fcntl(like, F_GETFL);
    if (s->file && flags >= 0 && flags & O_APPEND) {
        (void)fcntl(s->given, F_SETFL, O_APPEND);
    }
}

static void open_terminal(struct stream *s, int like)
{
    struct winsize size;
    struct termios modes;
    const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    const char *name =
        master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0 ? ptsname(master) : NULL;
    s->given = name ? open(name, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
    if (s->given < 0) {
        carm_fd_close(master);
        return;
    }
    s->taken = master;
    if (ioctl(like, TIOCGWINSZ, &size) == 0) {
        (void)ioctl(s->given, TIOCSWINSZ, &size);
    }
    if (tcgetattr(like, &modes) == 0) {
        (void)tcsetattr(s->given, TCSANOW, &modes);
    }
}

static void open_pair(struct stream *s, bool is_socket)
{
    int ends[2];
    if (is_socket ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0
                  : pipe2(ends, O_CLOEXEC) == 0) {
        s->taken = ends[0];
        s->given = ends[1];
    }
}

static void open_like(struct stream *s, int like)
{
    struct stat kind;
    *s = (struct stream){.given = -1, .taken = -1};
    if (fstat(like, &kind) == 0 && S_ISREG(kind.st_mode)) {
        open_file(s, like);
    } else if (isatty(like)) {
        open_terminal(s, like);
    } else if (fstat(like, &kind) == 0 && (S_ISFIFO(kind.st_mode) || S_ISSOCK(kind.st_mode))) {
        open_pair(s, S_ISSOCK(kind.st_mode));
    }
    if (s->given < 0) {
        s->given = open("/dev/null", O_WRONLY | O_CLOEXEC);
    }
}

static bool are_one(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int carm_output_open(struct carm_output **out)
{
    struct carm_output *o = calloc(1, sizeof *o);
    if (!o) {
        return -ENOMEM;
    }
    o->one = are_one(STDOUT_FILENO, STDERR_FILENO);
    open_like(&o->streams[0], STDOUT_FILENO);
    o->streams[1] = (struct stream){.given = -1, .taken = -1};
    if (!o->one) {
        open_like(&o->streams[1], STDERR_FILENO);
    }
    o->stop = eventfd(0, EFD_CLOEXEC);
    int code = o->stop < 0 || carm_output_fd(o, 0) < 0 || carm_output_fd(o, 1) < 0 ? errno : 0;
    if (!code) {
        /* signals are left to the thread that runs the program */
        sigset_t all, old;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        code = pthread_create(&o->thread, NULL, empty, o);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        o->runs = code == 0;
    }
    if (code) {
        carm_output_close(o);
        return -code;
    }
    *out = o;
    return 0;
}

int carm_output_fd(const struct carm_output *output, int i)
{
    return output->streams[output->one ? 0 : i].given;
}

void carm_output_close(struct carm_output *output)
{
    if (!output) {
        return;
    }
    if (output->runs) {
        const uint64_t one = 1;
        (void)!write(output->stop, &one, sizeof one);
        pthread_join(output->thread, NULL);
    }
    const int fds[] = {output->stop, output->streams[0].given, output->streams[0].taken,
                       output->streams[1].given, output->streams[1].taken};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        carm_fd_close(fds[i]);
    }
    free(output);
}
