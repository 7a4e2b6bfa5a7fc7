/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starting of programs by a kernel that is this file's: what parent, child and keeper ask it for, and what becomes of its answers. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/observer.h"
#include "run/launch.h"
#include "tests/events.h"

enum { GATE = 50, REPORT = 52, KEEPER = 60 };

static jmp_buf ended;

/* What is answered */
static pid_t forks[3];
static int nforks;
static const char
    *fails; /* names of calls that fail, with ";" behind each: "pipe 2;" the second one alone */
static int calls_of_pipe;
static const char *interrupts; /* of calls in turn: "1" = EINTR */
static int status_of, code, parent = 1, output_fails;
static pid_t told[4]; /* to the keeper */
static size_t ntold;
static int children_turn;
static struct carm_output *const output = (struct carm_output *)events;
static const char *const (*files)[2]; /* path and text, ended by NULL */
enum { FILES = 8 };
static bool was_read[FILES];

static void show(const char *const (*all)[2])
{
    files = all;
    memset(was_read, 0, sizeof was_read);
}

static bool does_fail(const char *call, int errno_then)
{
    const bool is = strstr(fails, call);
    errno = is ? errno_then : errno;
    return is;
}

static bool is_interrupted(void)
{
    const bool is = *interrupts == '1';
    interrupts += *interrupts != '\0';
    errno = is ? EINTR : errno;
    return is;
}

/* ---- the kernel ---- */

pid_t fork(void)
{
    const pid_t pid = forks[nforks++];
    note("fork; ");
    errno = pid < 0 ? EAGAIN : errno;
    return pid;
}

void _exit(int status)
{
    note("exit %d; ", status);
    longjmp(ended, 1);
}

int pipe2(int ends[2], int flags)
{
    char name[32];
    snprintf(name, sizeof name, "pipe %d;", ++calls_of_pipe);
    if (does_fail(name, EMFILE)) {
        return -1;
    }
    ends[0] = calls_of_pipe == 1 ? GATE : REPORT;
    ends[1] = ends[0] + 1;
    return 0;
}

int socketpair(int domain, int type, int protocol, int ends[2])
{
    assert_true(domain == AF_UNIX && type == (SOCK_STREAM | SOCK_CLOEXEC) && protocol == 0);
    ends[0] = KEEPER;
    ends[1] = KEEPER + 1;
    return does_fail("socketpair;", EMFILE) ? -1 : 0;
}

int close(int fd)
{
    note("close %d; ", fd);
    return 0;
}

pid_t getppid(void)
{
    return parent;
}

pid_t getpid(void)
{
    return 1;
}

ssize_t read(int fd, void *to, size_t n)
{
    if (is_interrupted()) {
        return -1;
    }
    if (fd == STDIN_FILENO) {
        assert_int_equal(n, sizeof *told);
        *(pid_t *)to = told[ntold];
        return told[ntold++] ? (ssize_t)n : 0;
    }
    if (fd == REPORT) {
        assert_int_equal(n, sizeof code);
        *(int *)to = code;
        return code ? (ssize_t)n : 0;
    }
    note("read %d, %zu; ", fd, n);
    return does_fail("gate;", EIO) ? -1 : strstr(fails, "given up;") ? 0 : 1;
}

ssize_t write(int fd, const void *from, size_t n)
{
    if (n == sizeof(int)) {
        note("write %d: %d; ", fd, *(const int *)from);
    } else {
        note("write %d: %.*s; ", fd, (int)n, (const char *)from);
    }
    return does_fail("write;", EPIPE) ? -1 : (ssize_t)n;
}

ssize_t send(int fd, const void *from, size_t n, int flags)
{
    assert_true(n == sizeof(pid_t) && flags == MSG_NOSIGNAL);
    note("tell %d: %d; ", fd, (int)*(const pid_t *)from);
    return (ssize_t)n;
}

int dup2(int from, int to)
{
    char name[32];
    note("%d is %d; ", to, from);
    snprintf(name, sizeof name, "dup %d;", to);
    return does_fail(name, EBADF) ? -1 : to;
}

int prctl(int option, ...)
{
    va_list ap;
    va_start(ap, option);
    const unsigned long argument = va_arg(ap, unsigned long);
    va_end(ap);
    if (option == PR_SET_NAME) {
        note("name %s; ", (const char *)argument);
    } else {
        note("prctl %d, %lu; ", option, argument);
    }
    return does_fail("prctl;", EPERM) ? -1 : 0;
}

int personality(unsigned long persona)
{
    note("personality %lx; ", persona);
    return 0x100;
}

long ptrace(enum __ptrace_request request, ...)
{
    note("trace %d; ", (int)request);
    return does_fail("trace;", EPERM) ? -1 : 0;
}

int raise(int signo)
{
    note("raise %d; ", signo);
    errno = ESRCH;
    return strstr(fails, "raise;") ? 1 : 0;
}

int execvpe(const char *file, char *const argv[], char *const environment[])
{
    note("exec %s %s, %s; ", file, argv[1],
         environment == environ ? "environment" : environment[0]);
    errno = ENOENT;
    return -1;
}

pid_t setsid(void)
{
    note("session; ");
    return 1;
}

int sigprocmask(int how, const sigset_t *set, sigset_t *before)
{
    note("%s signals; ", how == SIG_SETMASK && sigismember(set, SIGTERM) ? "no" : "other");
    return 0;
}

void closefrom(int fd)
{
    note("close from %d; ", fd);
}

int chdir(const char *path)
{
    note("at %s; ", path);
    return 0;
}

int sigaction(int signo, const struct sigaction *wanted, struct sigaction *before)
{
    note("%s %d; ", wanted->sa_handler == SIG_IGN ? "ignore" : "again", signo);
    if (before) {
        before->sa_handler = SIG_DFL;
    }
    return 0;
}

int kill(pid_t pid, int signo)
{
    note("kill %d+%d; ", (int)pid, signo);
    return 0;
}

pid_t waitpid(pid_t pid, int *status, int options)
{
    if (pid == -1) {
        assert_int_equal(options, WNOHANG);
        note("reap; ");
        return children_turn++ % 2 ? 0 : 5;
    }
    assert_int_equal(options, 0);
    if (is_interrupted()) {
        return -1;
    }
    note("wait %d; ", (int)pid);
    *status = status_of;
    return does_fail("waitpid;", ECHILD) ? -1 : pid;
}

int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    assert_true(type == P_PID && options == (WEXITED | WNOWAIT));
    note("await %d; ", (int)id);
    return is_interrupted() || does_fail("waitid;", ECHILD) ? -1 : 0;
}

pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
    assert_int_equal(options, 0);
    if (is_interrupted()) {
        return -1;
    }
    note("wait %d; ", (int)pid);
    *status = 77;
    return does_fail("wait4;", ECHILD) ? -1 : pid;
}

int nanosleep(const struct timespec *wanted, struct timespec *rest)
{
    note("%ld ms; ", 1000 * wanted->tv_sec + wanted->tv_nsec / 1000000);
    return 0;
}

/* The first text of a path that was not read yet, or the last one */
FILE *fopen(const char *path, const char *mode)
{
    size_t at = FILES;
    for (size_t i = 0; files && files[i][0]; i++) {
        if (strcmp(files[i][0], path) == 0 && (at == FILES || was_read[at])) {
            at = i;
        }
    }
    if (at == FILES || !files[at][1][0]) {
        return NULL;
    }
    was_read[at] = true;
    return fmemopen((void *)files[at][1], strlen(files[at][1]), "r");
}

/* Threads of process PID: PID and PID + 1 */
static struct dirent thread;
static int process, turn;

DIR *opendir(const char *path)
{
    assert_int_equal(sscanf(path, "/proc/%d/task", &process), 1);
    turn = 0;
    return process == 309 ? NULL : (DIR *)(void *)&thread;
}

struct dirent *readdir(DIR *folder)
{
    snprintf(thread.d_name, sizeof thread.d_name, "%d", process + turn);
    return turn++ < 2 ? &thread : NULL;
}

int closedir(DIR *folder)
{
    return 0;
}

int carm_output_open(struct carm_output **out)
{
    *out = output_fails ? NULL : output;
    return -output_fails;
}

int carm_output_fd(const struct carm_output *of, int i)
{
    return 70 + i;
}

void carm_output_close(struct carm_output *of)
{
    note("%s", of ? "close output; " : "");
}

double carm_seconds_queued(pid_t pid)
{
    return 1000.0 + pid;
}

/* ---- tests ---- */

static char *argv[] = {"program", "argument", NULL};
static char *environment[] = {"NAME=value", NULL};

static int set_up(void **state)
{
    events[0] = '\0';
    fails = "";
    interrupts = "";
    calls_of_pipe = nforks = status_of = code = output_fails = children_turn = 0;
    forks[0] = 100;
    forks[1] = forks[2] = 101;
    parent = 1;
    memset(told, 0, sizeof told);
    ntold = 0;
    files = NULL;
    return 0;
}

/* In a child, which ends. */
static void begin_child(char *const *with, unsigned flags)
{
    struct carm_launch l;
    if (setjmp(ended) == 0) {
        (void)carm_launch_open(&l, argv, with, flags, &err);
        fail_msg("it goes on");
    }
}

TEST_BETWEEN(a_parent, set_up, NULL)
{
    static const struct {
        const char *fails;
        pid_t forks[2];
        int status, output;
        const char *interrupts;
        unsigned flags;
        int keeper; /* -1 = none */
        const char *words, *events;
    } of[] = {
        {"",
         {100, 101},
         0,
         0,
         "",
         0,
         KEEPER + 1,
         NULL,
         "fork; close 60; wait 100; fork; tell 61: 101; close 50; close 53; "},
        {"",
         {100, 101},
         0,
         0,
         "110",
         CARM_LAUNCH_QUIET,
         KEEPER + 1,
         NULL,
         "fork; close 60; wait 100; fork; tell 61: 101; close 50; close 53; "},
        {"socketpair;", {101, 0}, 0, 0, "", 0, -1, NULL, "fork; close 50; close 53; "},
        {"",
         {-1, 101},
         0,
         0,
         "",
         0,
         -1,
         NULL,
         "fork; close 60; close 61; fork; close 50; close 53; "},
        {"",
         {100, 101},
         1 << 8,
         0,
         "",
         0,
         -1,
         NULL,
         "fork; close 60; wait 100; close 61; fork; close 50; close 53; "},
        {"waitpid;",
         {100, 101},
         0,
         0,
         "",
         0,
         -1,
         NULL,
         "fork; close 60; wait 100; close 61; fork; close 50; close 53; "},
        {"",
         {100, -1},
         0,
         0,
         "",
         CARM_LAUNCH_QUIET,
         0,
         "(Resource temporarily unavailable",
         "fork; close 60; wait 100; fork; close output; close 61; close 50; close 52; close 51; close 53; "},
        {"socketpair;",
         {-1, 0},
         0,
         0,
         "",
         0,
         0,
         "Resource temporarily unavailable",
         "fork; close 50; close 52; close 51; close 53; "},
        {"pipe 1;",
         {100, 101},
         0,
         0,
         "",
         CARM_LAUNCH_QUIET,
         0,
         "Too many open files",
         "close output; "},
        {"pipe 2;", {100, 101}, 0, 0, "", 0, 0, "Too many open files", "close 50; close 51; "},
        {"",
         {100, 101},
         0,
         EACCES,
         "",
         CARM_LAUNCH_QUIET,
         0,
         "another process: Permission denied",
         ""}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct carm_launch l;
        set_up(state);
        fails = of[i].fails;
        memcpy(forks, of[i].forks, sizeof of[i].forks);
        status_of = of[i].status;
        output_fails = of[i].output;
        interrupts = of[i].interrupts;
        if (of[i].words) {
            assert_refused(carm_launch_open(&l, argv, NULL, of[i].flags, &err), -CARM_EIO,
                           of[i].words[0] == '(' ? of[i].words + 1 : of[i].words);
            assert_int_equal(l.keeper, -1);
            assert_int_equal(l.pid, -1);
            assert_int_equal(l.gate, -1);
            assert_int_equal(l.report, -1);
            assert_null(l.output);
        } else {
            assert_ok(carm_launch_open(&l, argv, NULL, of[i].flags, &err));
            assert_int_equal(l.pid, 101);
            assert_int_equal(l.gate, GATE + 1);
            assert_int_equal(l.report, REPORT);
            assert_int_equal(l.keeper, of[i].keeper);
            assert_ptr_equal(l.output, of[i].flags ? output : NULL);
            assert_int_equal(l.exec_errno, 0);
        }
        happened(of[i].events);
    }
}

/* Up to the exec, which fails here. */
TEST_BETWEEN(a_child, set_up, NULL)
{
    enum { ALL = CARM_LAUNCH_QUIET | CARM_LAUNCH_PLACED };
    static const struct {
        const char *fails;
        unsigned flags;
        int parent;
        const char *interrupts;
        bool kept, with;
        const char *events;
    } of[] = {
        {"", 0, 1, "", true, false,
         "read 50, 1; exec program argument, environment; write 53: 2; exit 127; "},
        {"", ALL, 1, "0110", true, true,
         "1 is 70; 2 is 71; personality ffffffff; personality 40100; read 50, 1; exec program argument, NAME=value; write 53: 2; exit 127; "},
        {"", 0, 1, "", false, false,
         "prctl 1, 9; read 50, 1; exec program argument, environment; write 53: 2; exit 127; "},
        {"", 0, 2, "", true, false, "exit 127; "},
        {"prctl;", 0, 1, "", false, false, "prctl 1, 9; exit 127; "},
        {"dup 1;", ALL, 1, "", true, false, "1 is 70; write 53: 9; exit 127; "},
        {"dup 2;write;", ALL, 1, "", true, false, "1 is 70; 2 is 71; write 53: 9; exit 126; "},
        {"", CARM_LAUNCH_TRACED, 1, "", true, false,
         "trace 0; raise 19; exec program argument, environment; write 53: 2; exit 127; "},
        {"trace;", CARM_LAUNCH_TRACED, 1, "", true, false, "trace 0; write 53: 1; exit 127; "},
        {"raise;", CARM_LAUNCH_TRACED, 1, "", true, false,
         "trace 0; raise 19; write 53: 3; exit 127; "},
        {"gate;", 0, 1, "", true, false, "read 50, 1; exit 127; "},
        {"given up;", 0, 1, "010", true, false, "read 50, 1; exit 127; "},
        {"given up;", 0, 1, "", true, false, "read 50, 1; exit 127; "}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char with[32];
        set_up(state);
        snprintf(with, sizeof with, "%s%s", of[i].fails, of[i].kept ? "" : "socketpair;");
        fails = with;
        forks[of[i].kept] = 0;
        parent = of[i].parent;
        interrupts = of[i].interrupts;
        begin_child(of[i].with ? environment : NULL, of[i].flags);
        const char *from = strstr(events, of[i].kept ? "wait 100; fork; " : "fork; ");
        assert_non_null(from);
        from += of[i].kept ? 16 : 6;
        memmove(events, from, strlen(from) + 1);
        happened(of[i].events);
    }
}

TEST_BETWEEN(going_and_waiting, set_up, NULL)
{
    static const struct {
        int code;
        const char *words;
    } of[] = {{ENOENT, "there is no program 'it' (or no interpreter"},
              {EACCES, "'it' is not a program that may be run (Permission denied): chmod"},
              {ENOEXEC, "'it' is not a program that may be run (Exec format error)"},
              {ENOMEM, "cannot run 'it': Cannot allocate memory"}};
    struct carm_launch l = {.pid = 101, .gate = GATE + 1, .report = REPORT, .keeper = -1};
    struct rusage usage;
    int status = 0;
    interrupts = "110";
    assert_ok(carm_launch_go(&l, "it", &err));
    happened("ignore 13; write 51: g; again 13; ");
    for (size_t i = 0; i < 4; i++) {
        l.pid = 101;
        code = of[i].code;
        assert_refused(carm_launch_go(&l, "it", &err), -CARM_EIO, of[i].words);
        assert_int_equal(l.exec_errno, of[i].code);
        assert_int_equal(l.pid, -1);
        happened("ignore 13; write 51: g; again 13; wait 101; ");
    }
    l.pid = 101;
    interrupts = "110110";
    assert_ok(carm_launch_wait(&l, &status, &usage, &err));
    happened("await 101; await 101; await 101; wait 101; ");
    assert_int_equal(status, 77);
    assert_int_equal(l.pid, -1);
    assert_near(l.queued, 1101.0, 0.0);
    l.pid = 101;
    fails = "waitid;wait4;";
    assert_refused(carm_launch_wait(&l, &status, &usage, &err), -CARM_EIO,
                   "lost the program: No child processes");
    assert_int_equal(l.pid, 101);
    happened("await 101; wait 101; ");
    assert_near(carm_launch_seconds((struct timeval){3, 250000}), 3.25, 1e-12);
}

TEST_BETWEEN(closing, set_up, NULL)
{
    const struct carm_launch all = {.pid = 101,
                                    .gate = GATE + 1,
                                    .report = REPORT,
                                    .keeper = KEEPER,
                                    .output = output},
                             zeros = {.pid = 0, .gate = 0, .report = 0, .keeper = 0},
                             none = {.pid = -1, .gate = -1, .report = -1, .keeper = -1};
    static const char *const wanted[] = {
        "close 51; close 52; kill 101+9; wait 101; tell 60: 0; close 60; close output; ",
        "close 0; close 0; tell 0: 0; close 0; ", ""};
    struct carm_launch l[] = {all, zeros, none};
    for (size_t i = 0; i < 3; i++) {
        l[i].exec_errno = 3;
        carm_launch_close(&l[i]);
        happened(wanted[i]);
        assert_memory_equal(&l[i], &none, sizeof none);
    }
}

/* A signal goes to each child once, until there is none, for a second at most. */
TEST_BETWEEN(signals_are_passed_on, set_up, NULL)
{
    static const char path[] = "/proc/self/task/1/children";
    static const char *const some[][2] = {
        {path, "201 202 "}, {path, "202 203 "}, {path, "203"}, {path, " "}, {NULL, NULL}};
    show(some);
    carm_launch_pass_on(15);
    happened(
        "kill 201+15; kill 202+15; reap; reap; 10 ms; kill 203+15; reap; reap; 10 ms; reap; reap; 10 ms; reap; reap; ");
    static const char *const one[][2] = {{path, "201"}, {"/other", ""}, {NULL, NULL}};
    show(one);
    carm_launch_pass_on(2);
    size_t turns = 0, kills = 0;
    for (const char *at = events; (at = strstr(at, "10 ms; ")); at++) {
        turns++;
    }
    for (const char *at = events; (at = strstr(at, "kill 201+2; ")); at++) {
        kills++;
    }
    assert_int_equal(turns, 100);
    assert_int_equal(kills, 1);
    /* to 256 of many */
    char many[300 * 5 + 1] = "";
    for (int i = 0; i < 300; i++) {
        snprintf(many + strlen(many), sizeof many - strlen(many), "%d ", 1000 + i);
    }
    const char *const all[][2] = {{path, many}, {path, " "}, {NULL, NULL}};
    set_up(state);
    show(all);
    carm_launch_pass_on(1);
    kills = 0;
    for (const char *at = events; (at = strstr(at, "kill ")); at++) {
        kills++;
    }
    assert_int_equal(kills, 256);
    assert_non_null(strstr(events, "kill 1255+1; "));
}

/* The keeper kills the latest program that it was told of, with all that the program's threads have started, if it is still
 * the one. */
TEST_BETWEEN(a_keeper, set_up, NULL)
{
#define FIELDS " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 "
    static const char *const tree[][2] = {{"/proc/300/stat", "300 (a) b)" FIELDS "900 7 8"},
                                          {"/proc/300/task/300/children", "305 306"},
                                          {"/proc/305/task/305/children", "309 306 300"},
                                          {"/proc/306/task/307/children", "310"},
                                          {NULL, NULL}},
                             *const other[][2] = {{"/proc/300/stat", "300 (a)" FIELDS "900 7 8"},
                                                  {"/proc/300/stat", "300 (a)" FIELDS "901 7 8"},
                                                  {NULL, NULL}},
                             *const gone[][2] = {{"/proc/300/stat", "300 (a) S 1 2"}, {NULL, NULL}};
    static const struct {
        const char *const (*files)[2];
        pid_t told[3];
        const char *events;
    } of[] = {
        {tree,
         {299, 300, 0},
         "fork; close 61; fork; no signals; session; name keeper; 0 is 60; close from 1; at /; kill 300+19; kill 305+19; kill 306+19; kill 309+19; kill 310+19; kill 300+9; kill 305+9; kill 306+9; kill 309+9; kill 310+9; exit 0; "},
        {other,
         {300, 0},
         "fork; close 61; fork; no signals; session; name keeper; 0 is 60; close from 1; at /; exit 0; "},
        {gone,
         {300, 0},
         "fork; close 61; fork; no signals; session; name keeper; 0 is 60; close from 1; at /; exit 0; "},
        {tree,
         {300, -1, 0},
         "fork; close 61; fork; no signals; session; name keeper; 0 is 60; close from 1; at /; exit 0; "},
        {tree,
         {0},
         "fork; close 61; fork; no signals; session; name keeper; 0 is 60; close from 1; at /; exit 0; "}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        set_up(state);
        forks[0] = forks[1] = 0;
        show(of[i].files);
        memcpy(told, of[i].told, sizeof of[i].told);
        begin_child(NULL, 0);
        happened(of[i].events);
    }
    /* its own parent ends, with 1 if there is no keeper */
    for (int i = 0; i < 2; i++) {
        set_up(state);
        forks[0] = 0;
        forks[1] = i ? -1 : 102;
        begin_child(NULL, 0);
        happened(i ? "fork; close 61; fork; exit 1; " : "fork; close 61; fork; exit 0; ");
    }
}
