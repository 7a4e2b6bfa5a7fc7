/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One measuring process for each node: turns, ranks that stand aside, and a lock that ends with its
 * process. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/job.h"
#include "harness/machine/node_lock.h"
#include "tests/unit.h"

static char folder[64];
static const char *folders[] = {"/nonexistent/carm", folder, NULL};
static volatile sig_atomic_t interrupted;

static int set_up(void **state)
{
    interrupted = 0;
    memcpy(folder, "/tmp/carm-lock-XXXXXX", 22);
    return mkdtemp(folder) && chmod(folder, 0777) == 0 ? 0 : -1;
}

static void lock_path(char *path, size_t size)
{
    char host[CARM_HOST_MAX];
    carm_host_name(host);
    (void)snprintf(path, size, "%s/carm-%.100s.lock", folder, host);
}

static int tear_down(void **state)
{
    char path[256];
    lock_path(path, sizeof path);
    (void)remove(path);
    return rmdir(folder);
}

static char said[512];

static void keep(const char *text)
{
    (void)snprintf(said, sizeof said, "%s", text);
}

static struct {
    size_t naps;         /* so far */
    size_t stop_at;      /* nap at which the user stops carm; 0 = none */
    int refuses[2];      /* errno of the next two locks; 0 = none */
    const char *loadavg; /* text of the kernel's file; NULL = its own, "" = there is none */
    int nice;            /* of this process; -1 = its own */
} kernel = {.nice = -1};

#define REAL(name, ...)                                        \
    static __typeof__(name) *real;                             \
    void *const found = real ? NULL : dlsym(RTLD_NEXT, #name); \
    if (found) {                                               \
        memcpy(&real, &found, sizeof real);                    \
    }                                                          \
    return real(__VA_ARGS__)

/* In place of the library's. */
int nanosleep(const struct timespec *time, struct timespec *left)
{
    interrupted = ++kernel.naps == kernel.stop_at ? 1 : interrupted;
    REAL(nanosleep, time, left);
}

int flock(int fd, int how)
{
    if (kernel.refuses[0]) {
        errno = kernel.refuses[0];
        kernel.refuses[0] = kernel.refuses[1];
        kernel.refuses[1] = 0;
        return -1;
    }
    REAL(flock, fd, how);
}

FILE *fopen(const char *path, const char *mode)
{
    if (kernel.loadavg && strcmp(path, "/proc/loadavg") == 0) {
        return *kernel.loadavg
                   ? fmemopen((void *)(uintptr_t)kernel.loadavg, strlen(kernel.loadavg), "r")
                   : NULL;
    }
    REAL(fopen, path, mode);
}

int getpriority(__priority_which_t which, id_t who)
{
    if (kernel.nice >= 0) {
        return kernel.nice;
    }
    REAL(getpriority, which, who);
}

static struct carm_job rank(const char *step, long n)
{
    struct carm_job job = {.id = "77", .ranked = *step != '\0', .rank = n};
    (void)snprintf(job.step, sizeof job.step, "%s", step);
    return job;
}

static int try_lock(struct carm_node_lock *lock, const char *step, long n, const char *command,
                    const char *output)
{
    const struct carm_job job = rank(step, n);
    const struct carm_observer observer = {.stop = &interrupted, .say = keep};
    return carm_node_lock_open_in(lock, folders, &job, command, output, NULL, &observer, NULL);
}

/* A process that takes the lock, says so, and holds it for so long; then it ends without a word. */
static pid_t hold(const char *step, long n, unsigned milliseconds)
{
    int ready[2];
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        struct carm_node_lock lock;
        const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
        const int rc = try_lock(&lock, step, n, "build", "m.json");
        (void)!write(ready[1], rc ? "x" : "y", 1);
        (void)nanosleep(&time, NULL);
        _exit(0);
    }
    assert_true(pid > 0);
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    assert_int_equal(byte, 'y');
    return pid;
}

TEST_BETWEEN(alone, set_up, tear_down)
{
    struct carm_node_lock lock;
    struct stat st;
    const mode_t old = umask(077);
    assert_int_equal(try_lock(&lock, "", 0, "build", "m.json"), 0);
    (void)umask(old);
    assert_true(lock.fd >= 0);
    assert_int_equal(stat(lock.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0666); /* other users can lock it, too */
    carm_node_lock_close(&lock, true);
    assert_int_equal(lock.fd, -1);
    carm_node_lock_close(&lock, true);
    /* by hand, the same again is measured again */
    assert_int_equal(try_lock(&lock, "", 0, "build", "m.json"), 0);
    carm_node_lock_close(&lock, true);
}

/* Another job, and no job at all, wait until the holder is gone. */
TEST_BETWEEN(turns, set_up, tear_down)
{
    static const char *const steps[] = {"", "other"};
    for (size_t i = 0; i < 2; i++) {
        struct carm_node_lock lock;
        struct timespec begin;
        struct timespec end;
        const pid_t pid = hold("step", 0, 400);
        (void)clock_gettime(CLOCK_MONOTONIC, &begin);
        assert_int_equal(try_lock(&lock, steps[i], 1, "build", "m.json"), 0);
        (void)clock_gettime(CLOCK_MONOTONIC, &end);
        assert_true(end.tv_sec > begin.tv_sec || end.tv_nsec - begin.tv_nsec > 100000000L);
        carm_node_lock_close(&lock, true);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
    }
}

TEST_BETWEEN(killed, set_up, tear_down)
{
    struct carm_node_lock lock;
    const pid_t pid = hold("step", 0, 60000);
    assert_int_equal(kill(pid, SIGKILL), 0);
    /* a rank of the same launch goes on where the first one fell */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(try_lock(&lock, "step", 1, "build", "m.json"), 0);
    carm_node_lock_close(&lock, true);
}

TEST_BETWEEN(aside, set_up, tear_down)
{
    struct carm_node_lock lock;
    const pid_t pid = hold("step", 2, 60000);
    for (long n = 0; n < 4; n++) {
        if (n != 2) {
            assert_int_equal(try_lock(&lock, "step", n, "build", "m.json"), CARM_NODE_ASIDE);
            assert_int_equal(lock.fd, -1);
            char words[80];
            (void)snprintf(words, sizeof words,
                           "rank %ld: rank 2 measures this node, nothing is left to do here", n);
            assert_string_equal(said, words);
        }
    }
    /* another output and another command are other work: they would wait */
    interrupted = 1;
    assert_int_equal(try_lock(&lock, "step", 1, "build", "other.json"), -CARM_EINTR);
    assert_int_equal(try_lock(&lock, "step", 1, "validate", "m.json"), -CARM_EINTR);
    assert_int_equal(try_lock(&lock, "step+1", 1, "build", "m.json"), -CARM_EINTR);
    assert_int_equal(try_lock(&lock, "", 1, "build", "m.json"), -CARM_EINTR);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int try_wait(const char *wait, struct carm_err *failure)
{
    struct carm_node_lock lock;
    const struct carm_job job = rank("", 0);
    const struct carm_observer observer = {.say = keep, .stop = &interrupted};
    kernel.naps = 0;
    return carm_node_lock_open_in(&lock, folders, &job, "build", "m.json", wait, &observer,
                                  failure);
}

/* Nobody waits for ever, and the message names the holder and its time. */
TEST_BETWEEN(wait, set_up, tear_down)
{
    static const char *const bad[] = {"", "-1", "x", "1s", "nan", "inf", "1e7"};
    const struct timespec earlier[2] = {{.tv_sec = time(NULL) - 90}, {.tv_sec = time(NULL) - 90}};
    char text[128];
    char path[256];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_refused(try_wait(bad[i], &err), -CARM_EINVAL, "--wait needs seconds");
    }
    const pid_t pid = hold("step", 0, 60000);
    lock_path(path, sizeof path);
    assert_int_equal(utimensat(0, path, earlier, 0), 0);
    said[0] = '\0';
    assert_int_equal(try_wait("0", &err), -CARM_EIO);
    (void)snprintf(text, sizeof text,
                   "process %ld (carm build, job 77) has measured this node for 9", (long)pid);
    assert_non_null(strstr(err.text, text));
    assert_non_null(strstr(err.text, "--wait 0 is over"));
    assert_string_equal(said, "");
    assert_int_equal(kernel.naps, 1); /* the second look decides ... */
    kernel.stop_at = 1;
    assert_refused(try_wait("9", &err), -CARM_EINTR, "interrupted while another process measured");
    assert_non_null(
        strstr(said, "waiting for at most 9 s (--wait): process ")); /* ... and waits are told */
    kernel.stop_at = 0;
    interrupted = 0;
    assert_int_equal(try_wait("0.3", &err), -CARM_EIO);
    assert_non_null(strstr(said, "waiting for at most 0 s (--wait): process "));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    /* who holds it without a record of its own, after the one that was killed */
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(flock(fileno(file), LOCK_EX), 0);
    assert_int_equal(try_wait("0", &err), -CARM_EIO);
    assert_non_null(
        strstr(err.text, "another process has locked this node (`fuser /tmp/carm-lock"));
    assert_int_equal(fclose(file), 0);
    /* a holder without a job has no name but its command's */
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(flock(fileno(file), LOCK_EX), 0);
    assert_true(fprintf(file, "carm-node/1 measures %ld 0 0000000000000000 build %60s\n",
                        (long)getpid(), "") > 0);
    assert_int_equal(fflush(file), 0);
    assert_int_equal(try_wait("0", &err), -CARM_EIO);
    assert_non_null(strstr(err.text, " (carm build) has measured this node for "));
    assert_int_equal(fclose(file), 0);
}

/* A signal that interrupts the lock is no failure; a file system without locks is one, with a warning. */
TEST_BETWEEN(locks_that_fail, set_up, tear_down)
{
    struct carm_node_lock lock;
    said[0] = '\0';
    kernel.refuses[0] = EINTR;
    assert_int_equal(try_lock(&lock, "", 0, "build", "m.json"), 0);
    assert_true(lock.fd >= 0);
    assert_string_equal(said, "");
    carm_node_lock_close(&lock, true);
    kernel.refuses[0] = EINTR;
    kernel.refuses[1] = ENOLCK;
    assert_int_equal(try_lock(&lock, "", 0, "build", "m.json"), 0);
    assert_int_equal(lock.fd, -1);
    assert_non_null(strstr(said, "warning: no lock on this node (/tmp/carm-lock-"));
    assert_non_null(strstr(
        said,
        ".lock cannot be locked: No locks available): nothing else should measure here meanwhile"));
}

/* A rank that starts late finds the work done; one whose forerunner failed does it. */
TEST_BETWEEN(late, set_up, tear_down)
{
    struct carm_node_lock lock;
    const struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    char path[256];
    assert_int_equal(try_lock(&lock, "step", 0, "build", "m.json"), 0);
    carm_node_lock_close(&lock, true);
    assert_int_equal(try_lock(&lock, "step", 1, "build", "m.json"), CARM_NODE_ASIDE);
    assert_string_equal(said, "rank 1: rank 0 has measured this node, nothing is left to do here");
    assert_int_equal(try_lock(&lock, "step", 1, "build", "r1.json"), 0);
    carm_node_lock_close(&lock, false);
    assert_int_equal(try_lock(&lock, "step", 2, "build", "r1.json"), 0);
    carm_node_lock_close(&lock, true);
    /* the rank itself measures again when it is told to */
    assert_int_equal(try_lock(&lock, "step", 2, "build", "r1.json"), 0);
    carm_node_lock_close(&lock, true);
    /* a launch of the same number, much later: numbers may begin anew */
    lock_path(path, sizeof path);
    assert_int_equal(utimensat(0, path, long_ago, 0), 0);
    assert_int_equal(try_lock(&lock, "step", 1, "build", "r1.json"), 0);
    carm_node_lock_close(&lock, true);
}

/* What somebody else wrote into the file. */
TEST_BETWEEN(strange, set_up, tear_down)
{
    static const char *const texts[] = {"", "x", "carm-node/1 done 1 0 zz build",
                                        "carm-node/1 done 1 0 0000000000000000",
                                        "carm-node/9 done 1 0 0000000000000000 build job 1"};
    char path[256];
    lock_path(path, sizeof path);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct carm_node_lock lock;
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        for (int times = 0; times < 40; times++) {
            (void)fputs(texts[i], file);
        }
        assert_int_equal(fclose(file), 0);
        assert_int_equal(try_lock(&lock, "step", 1, "build", "m.json"), 0);
        carm_node_lock_close(&lock, true);
    }
}

/* A place that is no lock: a link is refused, else measuring goes on with a warning. */
TEST_BETWEEN(nowhere, set_up, tear_down)
{
    struct carm_node_lock lock;
    char path[256];
    lock_path(path, sizeof path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(try_lock(&lock, "", 0, "build", "m.json"), -CARM_EIO);
    assert_int_equal(lock.fd, -1);
    carm_node_lock_close(&lock, true);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(try_lock(&lock, "", 0, "build", "m.json"), 0);
    assert_int_equal(lock.fd, -1);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(chmod(folder, 0700), 0); /* not for all users */
    assert_int_equal(try_lock(&lock, "", 0, "build", "m.json"), 0);
    assert_int_equal(lock.fd, -1);
}

/* In a process that was started without standard input the lock file may have number 0. A link in a folder before does
 * not matter then. returns what was wrong first, 0 = nothing */
static int without_input(void)
{
    char link_folder[sizeof folder + 8];
    const char *const both[] = {link_folder, folder, folder, NULL};
    const struct carm_job job = rank("", 0);
    const struct carm_observer observer = {.say = keep};
    struct carm_node_lock lock, second;
    char path[256], link[256];
    struct stat st;
    lock_path(path, sizeof path);
    (void)snprintf(link_folder, sizeof link_folder, "%s/links", folder);
    (void)snprintf(link, sizeof link, "%s%s", link_folder, path + strlen(folder));
    (void)umask(077);
    (void)close(0);
    for (int links = 0; links < 3; links++) { /* none, one, and a folder without */
        errno = ENOENT;
        if (carm_node_lock_open_in(&lock, both + (links == 2), &job, "build", "m.json", "0",
                                   &observer, &err) ||
            lock.fd != 0 || stat(lock.path, &st) != 0 || (st.st_mode & 0777) != 0666) {
            return 1 + links;
        }
        const int held = fcntl(0, F_DUPFD, 3); /* keeps the lock */
        (void)close(0);
        if (carm_node_lock_open_in(&second, both + 1, &job, "build", "m.json", "0", &observer,
                                   &err) != -CARM_EIO ||
            second.fd != -1 || fcntl(0, F_GETFD) != -1) {
            return 4 + links;
        }
        (void)dup2(held, 0);
        (void)close(held);
        carm_node_lock_close(&lock, true);
        if (lock.fd != -1 || fcntl(0, F_GETFD) != -1) {
            return 7 + links;
        }
        if (links == 0 && (mkdir(link_folder, 0777) != 0 || chmod(link_folder, 0777) != 0 ||
                           symlink(path, link) != 0)) {
            return 10;
        }
    }
    (void)unlink(link);
    (void)rmdir(link_folder);
    (void)unlink(path);
    said[0] = '\0';
    if (mkfifo(path, 0666) != 0 ||
        carm_node_lock_open_in(&lock, both + 1, &job, "build", "m.json", "0", &observer, &err) ||
        lock.fd != -1 || !*said) {
        return 11;
    }
    return 0;
}

TEST_BETWEEN(standard_input_is_a_number, set_up, tear_down)
{
    int status = -1;
    const pid_t pid = fork();
    if (pid == 0) {
        _exit(without_input());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* A pipe, which everybody could write to, is no file that can be locked. */
TEST_BETWEEN(a_pipe_is_no_lock, set_up, tear_down)
{
    struct carm_node_lock lock;
    const struct carm_job job = rank("", 0);
    const struct carm_observer observer = {.say = keep};
    char path[256];
    lock_path(path, sizeof path);
    assert_int_equal(mkfifo(path, 0666), 0);
    said[0] = '\0';
    assert_ok(
        carm_node_lock_open_in(&lock, folders, &job, "build", "m.json", NULL, &observer, &err));
    assert_int_equal(lock.fd, -1);
    assert_non_null(strstr(said, "no lock on this node (no folder for a lock is writable"));
}

/* A record whose words are as long as they may be is believed, with one letter more it is not: the rank that it names
 * has done the work, or it has not. So it is with its age, ten minutes at most. */
TEST_BETWEEN(records_have_their_length, set_up, tear_down)
{
    static const struct {
        const char *pid, *rank, *zero, *what;
        int age; /* seconds */
        bool known;
    } rows[] = {{"1", "0", "", "build", 0, true},
                {"1", "0", "", "build", 590, true},
                {"1", "0", "", "build", 600, false},
                {"1", "1", "", "build", 0, false}, /* this rank itself */
                {"1000000000000000000", "-100000000000000000", "", "build", 0, true},
                {"10000000000000000000", "0", "", "build", 0, false},
                {"1", "-1000000000000000000", "", "build", 0, false},
                {"1", "0", "", "0123456789012345678901234567890", 0, true},
                {"1", "0", "", "01234567890123456789012345678901", 0, false},
                {"1", "0", "0", "build", 0, false}};
    char path[256];
    lock_path(path, sizeof path);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_node_lock lock;
        const struct timespec then[2] = {{.tv_sec = time(NULL) - rows[i].age},
                                         {.tv_sec = time(NULL) - rows[i].age}};
        assert_int_equal(try_lock(&lock, "step", 1, "build", "m.json"), 0);
        const unsigned long long identity = lock.identity;
        carm_node_lock_close(&lock, false);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_true(fprintf(file, "carm-node/1 done %s %s %s%016llx %s job 77\n", rows[i].pid,
                            rows[i].rank, rows[i].zero, identity, rows[i].what) > 0);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(utimensat(0, path, then, 0), 0);
        const int rc = try_lock(&lock, "step", 1, "build", "m.json");
        fail_if(rc != (rows[i].known ? CARM_NODE_ASIDE : 0), "row %zu: %d", i, rc);
        carm_node_lock_close(&lock, false);
        assert_int_equal(remove(path), 0);
    }
}

/* The folder that CARM_LOCK_DIR names; its empty name is none. A rank stands aside for the launch that has measured. */
TEST_BETWEEN(the_folder_is_chosen, set_up, tear_down)
{
    struct carm_node_lock lock;
    const struct carm_observer observer = {.say = keep};
    char path[256];
    lock_path(path, sizeof path);
    assert_int_equal(setenv("CARM_LOCK_DIR", folder, 1), 0);
    assert_ok(carm_node_lock_open(&lock, "build", "m.json", "0", &observer, &err));
    assert_string_equal(lock.path, path);
    assert_true(lock.fd >= 0);
    carm_node_lock_close(&lock, true);
    assert_int_equal(setenv("CARM_LOCK_DIR", "", 1), 0);
    assert_ok(carm_node_lock_open(&lock, "build", "m.json", "100", &observer, &err));
    assert_string_not_equal(lock.path, path);
    assert_non_null(strstr(lock.path, "/carm-")); /* in one of the usual folders */
    carm_node_lock_close(&lock, false);
    static const char *const job[][2] = {{"CARM_LOCK_DIR", folder},
                                         {"SLURM_JOB_ID", "7"},
                                         {"SLURM_STEP_ID", "0"},
                                         {"SLURM_PROCID", "3"}};
    for (size_t i = 0; i < sizeof job / sizeof *job; i++) {
        assert_int_equal(setenv(job[i][0], job[i][1], 1), 0);
    }
    assert_ok(carm_node_lock_open(&lock, "build", "m.json", "0", &observer, &err));
    assert_int_equal(lock.rank, 3);
    carm_node_lock_close(&lock, false);
    for (size_t i = 0; i < sizeof job / sizeof *job; i++) {
        assert_int_equal(unsetenv(job[i][0]), 0);
    }
}

/* A rank that has a part of the machine is warned, with the words of its launcher. */
TEST(a_part_of_a_node_is_told)
{
    static const struct {
        int pus;
        bool ranked, mpirun;
        const char *words;
    } rows[] = {
        {2, true, false, "may use 2 of 4 hardware threads, and measures them alone: srun -"},
        {3, true, true, "may use 3 of 4 hardware threads, and measures them alone: mpirun -"},
        {4, true, true, NULL},
        {2, false, false, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct carm_observer observer = {.say = keep};
        const struct carm_topo topo = {.pus = rows[i].pus, .machine_pus = 4};
        const struct carm_job job = {.ranked = rows[i].ranked, .mpirun = rows[i].mpirun};
        said[0] = '\0';
        carm_node_warn(&observer, &job, &topo);
        assert_true(rows[i].words ? strstr(said, rows[i].words) != NULL
                                  : strstr(said, "rank") == NULL);
    }
}

/* With nice, beside a process that runs or waits for a processor. */
TEST(nice_is_told)
{
    static const struct {
        int nice;
        const char *loadavg;
        bool told;
    } rows[] = {{1, "0.1 0.2 0.3 2/99 7\n", true},
                {19, "0 0 0 3/9 7\n", true},
                {5, "0 0 0 1/99 7\n", false},
                {0, "0 0 0 5/99 7\n", false},
                {5, "", false},
                {5, "no number\n", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct carm_observer observer = {.say = keep};
        const struct carm_topo topo = {.pus = 4, .machine_pus = 4};
        const struct carm_job job = {.ranked = false};
        char words[64];
        (void)snprintf(words, sizeof words, "warning: carm runs with nice %d, so", rows[i].nice);
        said[0] = '\0';
        kernel.nice = rows[i].nice;
        kernel.loadavg = rows[i].loadavg;
        carm_node_warn(&observer, &job, &topo);
        kernel.nice = -1;
        kernel.loadavg = NULL;
        assert_int_equal(strncmp(said, words, strlen(words)) == 0, rows[i].told);
        assert_int_equal(*said != '\0', rows[i].told);
    }
}
