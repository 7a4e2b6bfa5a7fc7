/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs that start, fail to start, and are held. */
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/observer.h"
#include "run/count.h"
#include "run/launch.h"
#include "tests/unit.h"

TEST(runs_and_tells_the_status)
{
    char *argv[] = {"sh", "-c", "exit 37", NULL};
    struct carm_launch l;
    struct rusage usage;
    int status = 0;
    assert_ok(carm_launch_open(&l, argv, NULL, 0, &err));
    /* held: a program that is not let go has not ended */
    assert_int_equal(waitpid(l.pid, &status, WNOHANG), 0);
    assert_true(l.keeper >= 0);
    assert_ok(carm_launch_go(&l, "sh", &err));
    assert_ok(carm_launch_wait(&l, &status, &usage, &err));
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
TEST(cpu_time_is_the_kernels)
{
    char *argv[] = {"sh", "-c", "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done", NULL};
    struct carm_run run = {.argv = argv, .name = "loop", .provider = CARM_PROVIDER_NONE};
    const double before = cpu_of_children();
    assert_ok(carm_run_count(&run, &err));
    assert_true(run.cpu_seconds > 0.0);
    assert_near(run.cpu_seconds, cpu_of_children() - before, 0.02 * run.cpu_seconds);
    assert_near(run.user_seconds + run.system_seconds, run.cpu_seconds, 1e-9);
    carm_run_close(&run);
}

/* A program on a processor that another one has all the time waits for it about half of its time. */
TEST(time_in_the_queue_for_a_processor)
{
    char *argv[] = {"sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done", NULL};
    struct carm_run run = {.argv = argv, .name = "loop", .provider = CARM_PROVIDER_NONE};
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (size_t i = 0; CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &before)) {
            CPU_SET(i, &one);
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    const pid_t other = fork();
    if (other == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
        }
    }
    const int rc = carm_run_count(&run, &err);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    sched_setaffinity(0, sizeof before, &before);
    assert_ok(rc);
    /* the other thread got at least a third of what both had */
    assert_true(run.queued_seconds > 0.5 * run.cpu_seconds);
    assert_true(run.queued_seconds < 1.05 * (run.row.seconds - run.cpu_seconds) + 0.02);
    carm_run_close(&run);
    assert_true(isnan(carm_seconds_queued(-1)));
}

TEST(programs_that_do_not_start)
{
    static const struct {
        char *word;
        int code;
        const char *says;
    } cases[] = {{"carm-no-such-program", 2, "there is no program 'carm-no-such-program'"},
                 {"/dev/null", 13, "chmod +x"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *argv[] = {cases[i].word, NULL};
        struct carm_launch l;
        assert_ok(carm_launch_open(&l, argv, NULL, 0, &err));
        assert_refused(carm_launch_go(&l, argv[0], &err), -CARM_EIO, cases[i].says);
        assert_int_equal(l.exec_errno, cases[i].code);
        carm_launch_close(&l);
    }
}

/* The program's exit status for the caller's standard output and error given. */
static int status_with(int out_fd, int error_fd, const char *command, unsigned flags)
{
    char *argv[] = {"sh", "-c", (char *)command, NULL};
    struct carm_launch l;
    int status = -1;
    const int out = dup(STDOUT_FILENO);
    const int error = dup(STDERR_FILENO);
    (void)fflush(stdout);
    assert_true(dup2(out_fd, STDOUT_FILENO) >= 0 && dup2(error_fd, STDERR_FILENO) >= 0);
    const int rc = carm_launch_open(&l, argv, NULL, flags, &err);
    assert_true(dup2(out, STDOUT_FILENO) >= 0 && dup2(error, STDERR_FILENO) >= 0);
    (void)close(out);
    (void)close(error);
    assert_int_equal(rc, 0);
    assert_ok(carm_launch_go(&l, "sh", &err));
    assert_ok(carm_launch_wait(&l, &status, NULL, &err));
    carm_launch_close(&l);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(quiet_throws_output_away)
{
    char path[] = "/tmp/carm-launch-XXXXXX";
    const int fd = mkstemp(path);
    struct stat st;
    assert_true(fd >= 0);
    for (int quiet = 0; quiet < 2; quiet++) {
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(
            status_with(fd, fd, "echo out; echo err >&2", quiet == 1 ? CARM_LAUNCH_QUIET : 0), 0);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_size != 0, quiet == 0);
    }
    (void)close(fd);
    (void)unlink(path);
}

/* Discarded output is of the caller's kind, takes more than a pipe or a terminal holds, and reaches nobody. */
TEST(quiet_output_is_of_the_same_kind)
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
        fail_if(status_with(rows[i].out, rows[i].error, test, CARM_LAUNCH_QUIET) != 0, "%s",
                rows[i].test);
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
TEST(close_without_go)
{
    char path[] = "/tmp/carm-launch-XXXXXX";
    const int fd = mkstemp(path);
    char command[64];
    char *argv[] = {"sh", "-c", command, NULL};
    struct carm_launch l;
    assert_true(fd >= 0);
    (void)snprintf(command, sizeof command, "rm %s", path);
    assert_ok(carm_launch_open(&l, argv, NULL, 0, &err));
    const pid_t pid = l.pid;
    carm_launch_close(&l);
    assert_int_equal(kill(pid, 0), -1); /* waited for, too */
    assert_int_equal(access(path, F_OK), 0);
    (void)close(fd);
    (void)unlink(path);
}

/* A parent that is killed, which can let nothing go: its program ends too. */
TEST(a_killed_parent_takes_it_along)
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

TEST(a_traced_one_stops_before_its_exec)
{
    char *argv[] = {"true", NULL};
    struct carm_launch l;
    int status = 0;
    assert_ok(carm_launch_open(&l, argv, NULL, CARM_LAUNCH_TRACED | CARM_LAUNCH_QUIET, &err));
    assert_int_equal(waitpid(l.pid, &status, 0), l.pid);
    if (!WIFSTOPPED(status)) {
        carm_launch_close(&l);
        skip_if(true, "ptrace does not work here");
    }
    assert_int_equal(WSTOPSIG(status), SIGSTOP);
    assert_int_equal(ptrace(PTRACE_CONT, l.pid, NULL, NULL), 0);
    assert_int_equal(waitpid(l.pid, &status, 0), l.pid); /* the exec's SIGTRAP */
    assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
    assert_ok(carm_launch_go(&l, "true", &err));
    assert_int_equal(ptrace(PTRACE_CONT, l.pid, NULL, NULL), 0);
    assert_ok(carm_launch_wait(&l, &status, NULL, &err));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    carm_launch_close(&l);
}

/* Else its stack lies elsewhere each time. */
TEST(a_placed_one_has_the_same_addresses)
{
    char *argv[] = {"sh", "-c", "grep -q '4[0-9a-f]\\{4\\}$' /proc/self/personality", NULL};
    struct carm_launch l;
    int status = 0;
    skip_if(system("setarch -R true 2>/dev/null") != 0, "addresses cannot be fixed here");
    for (unsigned flags = 0; flags <= CARM_LAUNCH_PLACED; flags += CARM_LAUNCH_PLACED) {
        assert_ok(carm_launch_open(&l, argv, NULL, flags, &err));
        assert_ok(carm_launch_go(&l, "sh", &err));
        assert_ok(carm_launch_wait(&l, &status, NULL, &err));
        assert_int_equal(WEXITSTATUS(status) == 0, flags != 0);
        carm_launch_close(&l);
    }
}
