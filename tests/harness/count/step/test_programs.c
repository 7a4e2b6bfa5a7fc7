/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stepping by the trap flag of programs that get in its way, and of a library. */
#include "tests/harness/count/step/stepping.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void on_alarm(int signo)
{
    (void)signo;
    for (int i = 0; i < 1000; i++) {
        sink = sink + 1;
    }
}

TEST(signal_handler)
{
    needs_stepping();
    (void)signal(SIGALRM, on_alarm);
    begin(PLENTY);
    add_ten();
    (void)raise(SIGALRM);
    add_ten();
    const struct carm_step_counts c = end(true);
    assert_true(sink > 1000);
    assert_int_equal(flops(&c, CARM_DP), 20); /* the handler's are not counted */
    (void)signal(SIGALRM, SIG_DFL);
}

/* A mask with SIGTRAP would kill a stepped thread. */
TEST(blocked_signals)
{
    sigset_t all;
    sigset_t old;
    sigset_t now;
    needs_stepping();
    (void)sigfillset(&all);
    begin(PLENTY);
    const int rc = pthread_sigmask(SIG_SETMASK, &all, &old);
    add_ten();
    const int back = pthread_sigmask(SIG_SETMASK, &old, &now);
    errno = 0;
    const int bad = sigprocmask(99, &all, NULL);
    const int why = errno;
    const long fault = syscall(SYS_rt_sigprocmask, SIG_BLOCK, 8, NULL, 8);
    const int fault_why = errno;
    const struct carm_step_counts c = end(true);
    assert_int_equal(rc, 0);
    assert_int_equal(back, 0);
    assert_int_equal(sigismember(&now, SIGUSR1), 1);
    assert_int_equal(sigismember(&old, SIGUSR1), 0);
    assert_int_equal(bad, -1);
    assert_int_equal(why, EINVAL);
    assert_int_equal(fault, -1);
    assert_int_equal(fault_why, EFAULT);
    assert_int_equal(flops(&c, CARM_DP), 10);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &now);
    assert_int_equal(sigismember(&now, SIGUSR1), 0);
    /* blocked before: unblocked meanwhile, blocked again */
    (void)sigemptyset(&all);
    (void)sigaddset(&all, SIGTRAP);
    (void)pthread_sigmask(SIG_BLOCK, &all, &old);
    begin(PLENTY);
    add_ten();
    const struct carm_step_counts d = end(true);
    (void)pthread_sigmask(SIG_SETMASK, &old, &now);
    assert_int_equal(flops(&d, CARM_DP), 10);
    assert_int_equal(sigismember(&now, SIGTRAP), 1);
}

static void *thread(void *arg)
{
    const bool step = arg;
    if (step) {
        begin(PLENTY);
    }
    for (int i = 0; i < 100; i++) {
        add_ten();
    }
    if (step) {
        const struct carm_step_counts c = end(true);
        return (void *)(uintptr_t)flops(&c, CARM_DP);
    }
    return NULL;
}

/* Threads and processes that a stepped thread starts run free. */
TEST(starts)
{
    pthread_t t;
    pid_t spawned = 0;
    int forked = 0;
    int status = 0;
    char *const argv[] = {"sh", "-c", "exit 5", NULL};
    needs_stepping();
    begin(PLENTY);
    const int made = pthread_create(&t, NULL, thread, NULL);
    const int joined = made ? made : pthread_join(t, NULL);
    const pid_t child = fork();
    if (child == 0) {
        const bool alive = carm_step_active(); /* not of the child */
        struct carm_step_counts c;
        if (alive || carm_step_end(&c, &(bool){false}, NULL) != -CARM_EINVAL ||
            carm_step_begin(PLENTY, NULL) != 0) {
            _exit(1);
        }
        add_ten();
        bool complete = false;
        (void)carm_step_end(&c, &complete, NULL);
        _exit(complete && c.flops[0][0] == 10 ? 7 : 2);
    }
    const pid_t waited = waitpid(child, &forked, 0);
    const int spawn = posix_spawn(&spawned, "/bin/sh", NULL, NULL, argv, environ);
    const pid_t waited_spawned = waitpid(spawned, &status, 0);
    const int shell = system("exit 3"); /* NOLINT(cert-env33-c): what it does is the test */
    add_ten();
    const struct carm_step_counts c = end(true);
    assert_int_equal(made, 0);
    assert_int_equal(joined, 0);
    assert_true(child > 0 && waited == child);
    assert_true(WIFEXITED(forked));
    assert_int_equal(WEXITSTATUS(forked), 7);
    assert_int_equal(spawn, 0);
    assert_int_equal(waited_spawned, spawned);
    assert_int_equal(WEXITSTATUS(status), 5);
    assert_int_equal(WEXITSTATUS(shell), 3);
    assert_int_equal(flops(&c, CARM_DP), 10);
}

TEST(two_threads)
{
    pthread_t t[2];
    needs_stepping();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&t[i], NULL, thread, &t), 0);
    }
    for (int i = 0; i < 2; i++) {
        void *got = NULL;
        assert_int_equal(pthread_join(t[i], &got), 0);
        assert_int_equal((uintptr_t)got, 1000);
    }
}

static void *forgetful(void *arg)
{
    begin(PLENTY);
    add_ten();
    return arg;
}

/* A thread that ends while it is stepped. */
TEST(never_ended)
{
    pthread_t t;
    needs_stepping();
    assert_int_equal(pthread_create(&t, NULL, forgetful, NULL), 0);
    assert_int_equal(pthread_join(t, NULL), 0);
}

/* Flags that were saved with or without the trap flag come back at another time. */
TEST(saved_flags)
{
    uint64_t stepped = 0;
    uint64_t before = 0;
    needs_stepping();
    __asm__ volatile("pushfq\n\tpop %0" : "=r"(before));
    begin(PLENTY);
    __asm__ volatile("pushfq\n\tpop %0" : "=r"(stepped));
    __asm__ volatile("push %0\n\tpopfq" : : "r"(before) : "cc"); /* would end it */
    add_ten();
    const struct carm_step_counts c = end(true);
    assert_int_equal(flops(&c, CARM_DP), 10);
    assert_int_equal(stepped & 0x100, 0); /* the program does not see it */
    __asm__ volatile("push %0\n\tpopfq" : : "r"(before | 0x100) : "cc");
    add_ten(); /* alive */
}

static void on_foreign(int signo)
{
    (void)signo;
}

TEST(foreign_handler)
{
    struct sigaction old;
    needs_stepping();
    const struct sigaction foreign = {.sa_handler = on_foreign};
    assert_int_equal(sigaction(SIGTRAP, &foreign, &old), 0);
    assert_refused(carm_step_begin(PLENTY, &err), -CARM_ENOTSUP, "SIGTRAP");
    assert_int_equal(sigaction(SIGTRAP, &old, NULL), 0);
    begin(PLENTY);
    const int rc = sigaction(SIGTRAP, &foreign, NULL); /* seems to work */
    add_ten();
    const struct carm_step_counts c = end(true);
    assert_int_equal(rc, 0);
    assert_int_equal(flops(&c, CARM_DP), 10);
}

/* A breakpoint of the program's own still kills it. */
TEST(foreign_trap)
{
    int status = 0;
    needs_stepping();
    const pid_t pid = fork();
    if (pid == 0) {
        (void)carm_step_begin(PLENTY, NULL);
        __asm__ volatile("int3");
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP);
}

typedef void dgemm(int order, int transa, int transb, int m, int n, int k, double alpha,
                   const double *a, int lda, const double *b, int ldb, double beta, double *c,
                   int ldc);

/* flops = 2 N^3 + what OpenBLAS adds: the product is scaled by alpha at the end (N^2, or N^2 in
 * packing), beta times C is added (2 N^2; scaled before: N^2), an edge narrower than a vector is
 * computed in whole vectors, and two scalar products compare the size with a threshold. Its kernels for
 * AVX-512 at N a multiple of 16: exactly 2 N^3 + N^2 + 2 with beta = 0, 2 N^2 more with another. */
static void check_dgemm(dgemm *multiply, bool exact, int n, double beta)
{
    enum { COLUMN_MAJOR = 102, PLAIN = 111 };
    static double a[64 * 64];
    static double b[64 * 64];
    static double c[64 * 64];
    const uint64_t square = (uint64_t)n * (uint64_t)n;
    const uint64_t least = 2 * square * (uint64_t)n;
    for (int warm = 0; warm < 2; warm++) { /* buffers and symbols, not counted */
        if (warm) {
            begin(PLENTY);
        }
        multiply(COLUMN_MAJOR, PLAIN, PLAIN, n, n, n, 2, a, n, b, n, beta, c, n);
    }
    const struct carm_step_counts got = end(true);
    const uint64_t bytes = got.load_bytes + got.store_bytes;
    print_message("N = %d, beta = %g: %llu flops = 2 N^3 + %llu, %llu bytes\n", n, beta,
                  (unsigned long long)flops(&got, CARM_DP),
                  (unsigned long long)(flops(&got, CARM_DP) - least), (unsigned long long)bytes);
    assert_in_range(flops(&got, CARM_DP), least, least + 4 * square);
    assert_int_equal(flops(&got, CARM_SP) + got.flops_other, 0);
    assert_in_range(bytes, 3 * 8 * square, 8 * least);
    if (exact) {
        assert_int_equal(flops(&got, CARM_DP), least + (beta == 0 ? 1 : 3) * square + 2);
        assert_int_equal(got.flops[0][0], 2);
    }
}

TEST(dgemm)
{
    union {
        void *object;
        dgemm *multiply;
        const char *(*name)(void);
    } f;
    needs_stepping();
    (void)setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    skip_if(!library, "no OpenBLAS: %s", dlerror());
    f.object = dlsym(library, "openblas_get_corename");
    const char *core = f.object ? f.name() : "";
    const bool exact = strcmp(core, "SkylakeX") == 0 || strcmp(core, "Cooperlake") == 0;
    f.object = dlsym(library, "cblas_dgemm");
    assert_non_null(f.object);
    check_dgemm(f.multiply, exact, 32, 0);
    check_dgemm(f.multiply, exact, 48, 0);
    check_dgemm(f.multiply, exact, 48, 2);
    check_dgemm(f.multiply, false, 33, 0);
}
