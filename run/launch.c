/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/launch.h"

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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The child up to its exec; async-signal-safe calls only, as the parent may have threads. */
static _Noreturn void child(char *const *argv, char *const *environment, unsigned flags,
                            const struct carm_output *output, int gate, int report, pid_t parent)
{
    char go;
    ssize_t n = 1;
    /* the program ends with carm; carm may have ended already */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) {
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
    *launch = (struct carm_launch){.pid = -1, .gate = -1, .report = -1};
    const int opened = flags & CARM_LAUNCH_QUIET ? carm_output_open(&launch->output) : 0;
    if (opened) {
        errno = -opened;
    }
    if (opened || pipe2(gate, O_CLOEXEC) != 0 || pipe2(report, O_CLOEXEC) != 0) {
        goto failed;
    }
    const pid_t parent = getpid();
    launch->pid = fork();
    if (launch->pid == 0) {
        child(argv, environment ? environment : environ, flags, launch->output, gate[0], report[1],
              parent);
    }
    if (launch->pid < 0) {
        goto failed;
    }
    close(gate[0]);
    close(report[1]);
    launch->gate = gate[1];
    launch->report = report[0];
    return 0;
failed:;
    const int code = errno;
    carm_output_close(launch->output);
    launch->output = NULL;
    for (int i = 0; i < 2; i++) {
        if (gate[i] >= 0) {
            close(gate[i]);
        }
        if (report[i] >= 0) {
            close(report[i]);
        }
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
    do {
        got = wait4(launch->pid, status, 0, usage);
    } while (got < 0 && errno == EINTR);
    launch->pid = got < 0 ? launch->pid : -1;
    return got < 0 ? carm_fail(err, CARM_EIO, "lost the program: %s", strerror(errno)) : 0;
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
        int pid = 0;
        snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
        FILE *f = fopen(path, "re");
        any = false;
        while (f && fscanf(f, "%d", &pid) == 1) { // NOLINT(cert-err34-c): the kernel's numbers
            int k = 0;
            while (k < n && known[k] != pid) {
                k++;
            }
            if (k == n && n < KNOWN) {
                known[n++] = pid;
                kill(pid, signo);
            }
            any = true;
        }
        if (f) {
            (void)fclose(f);
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
    if (launch->report >= 0) {
        close(launch->report);
    }
    if (launch->pid > 0) {
        int status;
        kill(launch->pid, SIGKILL);
        waitpid(launch->pid, &status, 0);
    }
    carm_output_close(launch->output);
    *launch = (struct carm_launch){.pid = -1, .gate = -1, .report = -1};
}
