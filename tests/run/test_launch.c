/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs that start, fail to start, and are held. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/count.h"
#include "run/launch.h"
#include "tests/models/near.h"
#include "tests/unit.h"

static void runs_and_tells_the_status(void **state)
{
    char *argv[] = {"sh", "-c", "exit 37", NULL};
    struct carm_launch l;
    struct carm_err err = {""};
    struct rusage usage;
    int status = 0;
    assert_int_equal(carm_launch_open(&l, argv, NULL, 0, &err), 0);
    /* held: a program that is not let go has not ended */
    assert_int_equal(waitpid(l.pid, &status, WNOHANG), 0);
    assert_int_equal(carm_launch_go(&l, "sh", &err), 0);
    assert_int_equal(carm_launch_wait(&l, &status, &usage, &err), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 37);
    assert_true(usage.ru_minflt > 0);
    assert_int_equal(l.pid, -1);
    carm_launch_close(&l);
}

static double cpu_of_children(void)
{
    struct rusage u;
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &u), 0);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* A run's CPU time is the kernel's figure on all children, of which there is no other. The kernel's two figures were
 * 0.4% apart. */
static void cpu_time_is_the_kernels(void **state)
{
    char *argv[] = {"sh", "-c", "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done", NULL};
    struct carm_run run = {.argv = argv, .name = "loop", .provider = CARM_PROVIDER_NONE};
    struct carm_err err = {""};
    const double before = cpu_of_children();
    assert_int_equal(carm_run_count(&run, &err), 0);
    assert_true(run.cpu_seconds > 0.0);
    assert_near(run.cpu_seconds, cpu_of_children() - before, 0.02 * run.cpu_seconds);
    assert_near(run.user_seconds + run.system_seconds, run.cpu_seconds, 1e-9);
    carm_run_close(&run);
}

static void a_program_that_is_not_there(void **state)
{
    char *argv[] = {"carm-no-such-program", NULL};
    struct carm_launch l;
    struct carm_err err = {""};
    assert_int_equal(carm_launch_open(&l, argv, NULL, 0, &err), 0);
    assert_int_equal(carm_launch_go(&l, argv[0], &err), -CARM_EIO);
    assert_int_equal(l.exec_errno, 2);
    assert_non_null(strstr(err.text, "there is no program 'carm-no-such-program'"));
    carm_launch_close(&l);
}

static void a_file_that_may_not_be_run(void **state)
{
    char *argv[] = {"/dev/null", NULL};
    struct carm_launch l;
    struct carm_err err = {""};
    assert_int_equal(carm_launch_open(&l, argv, NULL, 0, &err), 0);
    assert_int_equal(carm_launch_go(&l, argv[0], &err), -CARM_EIO);
    assert_int_equal(l.exec_errno, 13);
    assert_non_null(strstr(err.text, "chmod +x"));
    carm_launch_close(&l);
}

static void quiet_throws_output_away(void **state)
{
    char path[] = "/tmp/carm-launch-XXXXXX";
    const int fd = mkstemp(path);
    struct carm_launch l;
    struct carm_err err = {""};
    struct stat st;
    int status = 0;
    assert_true(fd >= 0);
    for (int quiet = 0; quiet < 2; quiet++) {
        char *argv[] = {"sh", "-c", "echo out; echo err >&2", NULL};
        const int out = dup(STDOUT_FILENO);
        const int error = dup(STDERR_FILENO);
        (void)fflush(stdout);
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_true(dup2(fd, STDOUT_FILENO) >= 0 && dup2(fd, STDERR_FILENO) >= 0);
        const int rc = carm_launch_open(&l, argv, NULL, quiet == 1 ? CARM_LAUNCH_QUIET : 0, &err);
        assert_true(dup2(out, STDOUT_FILENO) >= 0 && dup2(error, STDERR_FILENO) >= 0);
        (void)close(out);
        (void)close(error);
        assert_int_equal(rc, 0);
        assert_int_equal(carm_launch_go(&l, "sh", &err), 0);
        assert_int_equal(carm_launch_wait(&l, &status, NULL, &err), 0);
        carm_launch_close(&l);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_size != 0, quiet == 0);
    }
    (void)close(fd);
    (void)unlink(path);
}

/* The program's exit status for the caller's standard output and error given, in a discarded run. */
static int status_with(int out_fd, int error_fd, const char *command)
{
    char *argv[] = {"sh", "-c", (char *)command, NULL};
    struct carm_launch l;
    struct carm_err err = {""};
    int status = -1;
    const int out = dup(STDOUT_FILENO);
    const int error = dup(STDERR_FILENO);
    (void)fflush(stdout);
    assert_true(dup2(out_fd, STDOUT_FILENO) >= 0 && dup2(error_fd, STDERR_FILENO) >= 0);
    const int rc = carm_launch_open(&l, argv, NULL, CARM_LAUNCH_QUIET, &err);
    assert_true(dup2(out, STDOUT_FILENO) >= 0 && dup2(error, STDERR_FILENO) >= 0);
    (void)close(out);
    (void)close(error);
    assert_int_equal(rc, 0);
    assert_int_equal(carm_launch_go(&l, "sh", &err), 0);
    assert_int_equal(carm_launch_wait(&l, &status, NULL, &err), 0);
    carm_launch_close(&l);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Discarded output is of the caller's kind, takes more than a pipe or a terminal holds, and reaches nobody. */
static void quiet_output_is_of_the_same_kind(void **state)
{
    static const char more[] = " && head -c 3000000 /dev/zero | tr '\\0' x && echo x >&2";
    char path[] = "/tmp/carm-launch-XXXXXX";
    const int file = mkstemp(path);
    const int null = open("/dev/null", O_WRONLY);
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    int ends[2], sockets[2];
    char test[256];
    assert_true(file >= 0 && null >= 0 && terminal >= 0 && pipe(ends) == 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    assert_true(grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    const int slave = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    struct winsize size = {.ws_row = 31, .ws_col = 117};
    assert_true(slave >= 0 && ioctl(slave, TIOCSWINSZ, &size) == 0);
    const struct {
        int out, error;
        const char *test; /* of the program's own */
    } rows[] = {
        {file, null, "[ -f /dev/fd/1 ] && [ -c /dev/fd/2 ] && ! [ -t 1 ]"},
        {ends[1], file, "[ -p /dev/fd/1 ] && [ -f /dev/fd/2 ]"},
        {sockets[0], ends[1], "[ -S /dev/fd/1 ] && [ -p /dev/fd/2 ]"},
        {slave, null, "exec 3>&1; [ -t 1 ] && ! [ -t 2 ] && [ \"$(stty size <&3)\" = '31 117' ]"},
        {null, slave, "! [ -t 1 ] && [ -t 2 ]"},
        {file, file, "[ /dev/fd/1 -ef /dev/fd/2 ]"},
        {ends[1], ends[1],
         "[ \"$(readlink /proc/self/fd/1)\" = \"$(readlink /proc/self/fd/2)\" ] || "
         "[ /dev/fd/1 -ef /dev/fd/2 ]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(test, sizeof test, "{ %s; }%s", rows[i].test, more);
        if (status_with(rows[i].out, rows[i].error, test) != 0) {
            fail_msg("%s", rows[i].test);
        }
    }
    struct stat st;
    assert_true(fstat(file, &st) == 0 && st.st_size == 0);
    const int opened[] = {file, null, terminal, slave, ends[0], ends[1], sockets[0], sockets[1]};
    int waiting = 0;
    assert_true(ioctl(ends[0], FIONREAD, &waiting) == 0 && waiting == 0);
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++) {
        (void)close(opened[i]);
    }
    (void)unlink(path);
}

/* A held program ends with its launch and never runs. */
static void close_without_go(void **state)
{
    char path[] = "/tmp/carm-launch-XXXXXX";
    const int fd = mkstemp(path);
    char command[64];
    char *argv[] = {"sh", "-c", command, NULL};
    struct carm_launch l;
    struct carm_err err = {""};
    assert_true(fd >= 0);
    (void)snprintf(command, sizeof command, "rm %s", path);
    assert_int_equal(carm_launch_open(&l, argv, NULL, 0, &err), 0);
    const pid_t pid = l.pid;
    carm_launch_close(&l);
    assert_int_equal(kill(pid, 0), -1); /* waited for, too */
    assert_int_equal(access(path, F_OK), 0);
    (void)close(fd);
    (void)unlink(path);
}

/* A parent that is killed, which can let nothing go: its program ends too. */
static void a_killed_parent_takes_it_along(void **state)
{
    char *argv[] = {"sleep", "1000", NULL};
    int gate[2];
    int status = 0;
    pid_t program = 0;
    char c;
    assert_int_equal(pipe(gate), 0); /* the program holds its write end as long as it lives */
    const pid_t parent = fork();
    assert_true(parent >= 0);
    if (parent == 0) {
        struct carm_launch l;
        (void)close(gate[0]);
        if (carm_launch_open(&l, argv, NULL, 0, NULL) == 0 &&
            carm_launch_go(&l, argv[0], NULL) == 0 &&
            write(gate[1], &l.pid, sizeof l.pid) == (ssize_t)sizeof l.pid) {
            (void)raise(SIGKILL);
        }
        _exit(1);
    }
    (void)close(gate[1]);
    assert_int_equal(read(gate[0], &program, sizeof program), sizeof program);
    assert_int_equal(waitpid(parent, &status, 0), parent);
    struct pollfd end = {.fd = gate[0], .events = POLLIN};
    const int ended = poll(&end, 1, 60000);
    if (ended == 0) {
        (void)kill(program, SIGKILL);
    }
    assert_int_equal(ended, 1);
    assert_int_equal(read(gate[0], &c, 1), 0);
    (void)close(gate[0]);
}

static void a_traced_one_stops_before_its_exec(void **state)
{
    char *argv[] = {"true", NULL};
    struct carm_launch l;
    struct carm_err err = {""};
    int status = 0;
    assert_int_equal(carm_launch_open(&l, argv, NULL, CARM_LAUNCH_TRACED | CARM_LAUNCH_QUIET, &err),
                     0);
    assert_int_equal(waitpid(l.pid, &status, 0), l.pid);
    if (!WIFSTOPPED(status)) {
        carm_launch_close(&l);
        print_message("skipped: ptrace does not work here\n");
        skip();
    }
    assert_int_equal(WSTOPSIG(status), SIGSTOP);
    assert_int_equal(ptrace(PTRACE_CONT, l.pid, NULL, NULL), 0);
    assert_int_equal(waitpid(l.pid, &status, 0), l.pid); /* the exec's SIGTRAP */
    assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
    assert_int_equal(carm_launch_go(&l, "true", &err), 0);
    assert_int_equal(ptrace(PTRACE_CONT, l.pid, NULL, NULL), 0);
    assert_int_equal(carm_launch_wait(&l, &status, NULL, &err), 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    carm_launch_close(&l);
}

/* Else its stack lies elsewhere each time. */
static void a_placed_one_has_the_same_addresses(void **state)
{
    char *argv[] = {"sh", "-c", "grep -q '4[0-9a-f]\\{4\\}$' /proc/self/personality", NULL};
    struct carm_launch l;
    struct carm_err err = {""};
    int status = 0;
    if (system("setarch -R true 2>/dev/null") != 0) {
        print_message("skipped: addresses cannot be fixed here\n");
        skip();
    }
    for (unsigned flags = 0; flags <= CARM_LAUNCH_PLACED; flags += CARM_LAUNCH_PLACED) {
        assert_int_equal(carm_launch_open(&l, argv, NULL, flags, &err), 0);
        assert_int_equal(carm_launch_go(&l, "sh", &err), 0);
        assert_int_equal(carm_launch_wait(&l, &status, NULL, &err), 0);
        assert_int_equal(WEXITSTATUS(status) == 0, flags != 0);
        carm_launch_close(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_and_tells_the_status),
        cmocka_unit_test(cpu_time_is_the_kernels),
        cmocka_unit_test(a_program_that_is_not_there),
        cmocka_unit_test(a_file_that_may_not_be_run),
        cmocka_unit_test(quiet_throws_output_away),
        cmocka_unit_test(quiet_output_is_of_the_same_kind),
        cmocka_unit_test(close_without_go),
        cmocka_unit_test(a_killed_parent_takes_it_along),
        cmocka_unit_test(a_traced_one_stops_before_its_exec),
        cmocka_unit_test(a_placed_one_has_the_same_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
