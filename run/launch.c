/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/launch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/observer.h"

/* ---- the keeper ----
 * A separate process that waits for carm's end at a socket. If carm is killed, the keeper kills the program and all
 * processes that the program has started: the kernel's PR_SET_PDEATHSIG reaches only the program, and its children
 * would run on. */

enum { TREE_MAX = 4096 };

/* Appends the children that a file of /proc lists, each once. any: set if the file lists some
 * returns the new length of the list */
static int read_children(const char *path, pid_t *list, int n, int most, bool *any)
{
    FILE *f = fopen(path, "re");
    int child = 0;
    while (f && fscanf(f, "%d", &child) == 1) { // NOLINT(cert-err34-c): the kernel's numbers
        int k = 0;
        while (k < n && list[k] != child) {
            k++;
        }
        if (k == n && n < most) {
            list[n++] = child;
        }
        *any = true;
    }
    if (f) {
        (void)fclose(f);
    }
    return n;
}

/* Appends the children of pid's threads to the tree. returns the new length of the tree */
static int add_children(pid_t pid, pid_t tree[TREE_MAX], int n)
{
    char path[300];
    bool any = false;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    const struct dirent *thread;
    while (threads && (thread = readdir(threads))) { // NOLINT(concurrency-mt-unsafe)
        snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)pid, thread->d_name);
        n = read_children(path, tree, n, TREE_MAX, &any);
    }
    if (threads) {
        (void)closedir(threads);
    }
    return n;
}

/* Kills a process and its descendants. Stops them first: stopped processes start no others, so the tree is complete
 * when all are stopped. */
static void kill_tree(pid_t root)
{
    static pid_t tree[TREE_MAX];
    int n = 1;
    tree[0] = root;
    for (int i = 0; i < n; i++) {
        kill(tree[i], SIGSTOP);
        n = add_children(tree[i], tree, n);
    }
    for (int i = 0; i < n; i++) {
        kill(tree[i], SIGKILL);
    }
}

/* The start of a process, in ticks since the boot; 0 = it is gone. Tells it from a later process with the same
 * number. */
static unsigned long long start_of(pid_t pid)
{
    enum { STATE = 3, START = 22 }; /* fields of proc_pid_stat(5) */
    char path[64], line[1024] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    const char *at = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
    for (int field = STATE - 1; at && field < START; field++) {
        at = strchr(at + 1, ' ');
    }
    if (f) {
        (void)fclose(f);
    }
    return at ? strtoull(at, NULL, 10) : 0;
}

static _Noreturn void keep(int socket)
{
    sigset_t all;
    pid_t program = 0;
    pid_t next = 0;
    unsigned long long start = 0;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();                     /* a signal to carm's group must not reach the keeper ... */
    prctl(PR_SET_NAME, "keeper"); /* ... nor killall carm */
    dup2(socket, STDIN_FILENO);
    closefrom(STDIN_FILENO + 1);
    (void)!chdir("/");
    while (read(STDIN_FILENO, &next, sizeof next) == sizeof next) {
        program = next;
        start = program > 0 ? start_of(program) : 0;
    }
    if (start && start_of(program) == start) {
        kill_tree(program);
    }
    _exit(0);
}

/* Starts the keeper by a process that ends at once, so that it is no child of carm, which waits for all children.
 * returns the socket to which the program's number is sent, and 0 when it has ended; -1: there is no keeper */
static int open_keeper(void)
{
    int ends[2];
    int status = 0;
    pid_t got;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return -1;
    }
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        const pid_t keeper = fork();
        if (keeper == 0) {
            keep(ends[0]);
        }
        _exit(keeper < 0);
    }
    close(ends[0]);
    do {
        got = pid < 0 ? -1 : waitpid(pid, &status, 0);
    } while (got < 0 && pid > 0 && errno == EINTR);
    if (got < 0 || status != 0) {
        close(ends[1]);
        return -1;
    }
    return ends[1];
}

static void tell_keeper(const struct carm_launch *launch, pid_t program)
{
    if (launch->keeper >= 0) {
        (void)send(launch->keeper, &program, sizeof program, MSG_NOSIGNAL);
    }
}

/* The child up to its exec; async-signal-safe calls only, as the parent may have threads. */
static _Noreturn void child(char *const *argv, char *const *environment, unsigned flags,
                            const struct carm_launch *launch, int gate, int report, pid_t parent)
{
    const struct carm_output *output = launch->output;
    char go;
    ssize_t n;
    /* the program ends with carm; carm may have ended already */
    if ((launch->keeper < 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) || getppid() != parent) {
        _exit(127);
    }
    if (output && (dup2(carm_output_fd(output, 0), STDOUT_FILENO) < 0 ||
                   dup2(carm_output_fd(output, 1), STDERR_FILENO) < 0)) {
        goto failed;
    }
    if (flags & CARM_LAUNCH_PLACED) {
        personality((unsigned)personality(0xffffffff) | ADDR_NO_RANDOMIZE);
    }
    if (flags & CARM_LAUNCH_TRACED) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0 || raise(SIGSTOP) != 0) {
            goto failed;
        }
    } else {
        do {
            n = read(gate, &go, 1);
        } while (n < 0 && errno == EINTR);
        if (n != 1) {
            _exit(127); /* the parent gave up */
        }
    }
    execvpe(argv[0], argv, environment);
failed:;
    const int code = errno;
    n = write(report, &code, sizeof code);
    _exit(n == (ssize_t)sizeof code ? 127 : 126);
}

int carm_launch_open(struct carm_launch *launch, char *const *argv, char *const *environment,
                     unsigned flags, struct carm_err *err)
{
    int gate[2] = {-1, -1};
    int report[2] = {-1, -1};
    *launch = (struct carm_launch){.pid = -1, .gate = -1, .report = -1, .keeper = -1};
    const int opened = flags & CARM_LAUNCH_QUIET ? carm_output_open(&launch->output) : 0;
    if (opened) {
        errno = -opened;
    }
    if (opened || pipe2(gate, O_CLOEXEC) != 0 || pipe2(report, O_CLOEXEC) != 0) {
        goto failed;
    }
    const pid_t parent = getpid();
    launch->keeper = open_keeper();
    launch->pid = fork();
    if (launch->pid == 0) {
        child(argv, environment ? environment : environ, flags, launch, gate[0], report[1], parent);
    }
    if (launch->pid < 0) {
        goto failed;
    }
    tell_keeper(launch, launch->pid);
    close(gate[0]);
    close(report[1]);
    launch->gate = gate[1];
    launch->report = report[0];
    return 0;
failed:;
    const int code = errno;
    carm_output_close(launch->output);
    launch->output = NULL;
    if (launch->keeper >= 0) {
        close(launch->keeper);
        launch->keeper = -1;
    }
    for (int i = 0; i < 2; i++) {
        carm_fd_close(gate[i]);
        carm_fd_close(report[i]);
    }
    return carm_fail(err, CARM_EIO, "cannot start another process: %s", strerror(code));
}

int carm_launch_go(struct carm_launch *launch, const char *name, struct carm_err *err)
{
    int code = 0;
    ssize_t n;
    /* a traced or ended child does not read the gate */
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction old;
    sigaction(SIGPIPE, &ignore, &old);
    (void)!write(launch->gate, "g", 1);
    sigaction(SIGPIPE, &old, NULL);
    do {
        n = read(launch->report, &code, sizeof code);
    } while (n < 0 && errno == EINTR);
    if (n == 0) {
        return 0;
    }
    launch->exec_errno = code;
    int status;
    waitpid(launch->pid, &status, 0);
    launch->pid = -1;
    if (code == ENOENT) {
        return carm_fail(err, CARM_EIO,
                         "there is no program '%.200s' (or no interpreter for it): is the name "
                         "right, and its folder in PATH?",
                         name);
    }
    if (code == EACCES || code == ENOEXEC) {
        return carm_fail(err, CARM_EIO,
                         "'%.200s' is not a program that may be run (%s): chmod +x it, or name its "
                         "interpreter",
                         name, strerror(code));
    }
    return carm_fail(err, CARM_EIO, "cannot run '%.200s': %s", name, strerror(code));
}

int carm_launch_wait(struct carm_launch *launch, int *status, struct rusage *usage,
                     struct carm_err *err)
{
    pid_t got;
    siginfo_t end; /* times of an ended process can be read until it is reaped */
    while (waitid(P_PID, (id_t)launch->pid, &end, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
    launch->queued = carm_seconds_queued(launch->pid);
    do {
        got = wait4(launch->pid, status, 0, usage);
    } while (got < 0 && errno == EINTR);
    launch->pid = got < 0 ? launch->pid : -1;
    return got < 0 ? carm_fail(err, CARM_EIO, "lost the program: %s", strerror(errno)) : 0;
}

double carm_launch_seconds(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

void carm_launch_pass_on(int signo)
{
    enum { TURNS = 100, KNOWN = 256 };
    const struct timespec turn = {0, 10000000};
    pid_t known[KNOWN];
    int n = 0;
    bool any = true;
    for (int i = 0; i < TURNS && any; i++) {
        char path[64];
        int told = n;
        snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
        any = false;
        n = read_children(path, known, n, KNOWN, &any);
        while (told < n) {
            kill(known[told++], signo);
        }
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
        if (any) {
            nanosleep(&turn, NULL);
        }
    }
}

void carm_launch_close(struct carm_launch *launch)
{
    if (launch->gate >= 0) {
        close(launch->gate); /* a child that still waits at the gate ends */
    }
    carm_fd_close(launch->report);
    if (launch->pid > 0) {
        int status;
        kill(launch->pid, SIGKILL);
        waitpid(launch->pid, &status, 0);
    }
    if (launch->keeper >= 0) {
        tell_keeper(launch, 0);
        close(launch->keeper);
    }
    carm_output_close(launch->output);
    *launch = (struct carm_launch){.pid = -1, .gate = -1, .report = -1, .keeper = -1};
}
