/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Known loops (hot.h) in unusual places. The first argument says which:
 *   libraries N A B   A is loaded, used and unloaded, then B, which may get A's addresses
 *   fork N            by a child that executes nothing else
 *   times N           by two functions, one of which does nine times as much
 *   grows N FILE      FILE gets a byte; N times as many as it then has
 *   threads N T       by T threads, which begin with all signals blocked; the child of a fork; a C11 thread. In
 *                     between it sleeps. Fails when a system call was interrupted
 *   signals N         after it has taken every signal for itself; fails when one came that it had not sent */
#include "tests/harness/profile/hot.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static double data[64] __attribute__((aligned(64)));

static int library(const char *path, uint64_t n)
{
    void (*hot)(uint64_t, double *);
    void *handle = dlopen(path, RTLD_NOW);
    void *symbol = handle ? dlsym(handle, "hot_library") : NULL;
    if (!symbol) {
        return 1;
    }
    memcpy(&hot, &symbol, sizeof symbol);
    hot(n, data);
    return dlclose(handle);
}

__attribute__((noinline)) static void once(uint64_t n)
{
    LOOP(n, data, SCALAR);
}

__attribute__((noinline)) static void nine_times(uint64_t n)
{
    LOOP(9 * n, data, SCALAR);
}

static int child(uint64_t n)
{
    const pid_t pid = fork();
    if (pid == 0) {
        once(n);
        _exit(0);
    }
    return waitpid(pid, NULL, 0) != pid;
}

__attribute__((noinline)) static void in_thread(uint64_t n)
{
    LOOP(n, data, SCALAR);
}

__attribute__((noinline)) static void in_c11_thread(uint64_t n)
{
    LOOP(n, data, SCALAR);
}

__attribute__((noinline)) static void in_between(uint64_t n)
{
    LOOP(n, data, SCALAR);
}

/* Every second one ends in the middle. */
static void *run_thread(void *arg)
{
    const uint64_t *n = arg;
    in_thread(*n);
    if (*n % 2) {
        pthread_exit(NULL);
    }
    return NULL;
}

static int run_c11_thread(void *arg)
{
    const uint64_t *n = arg;
    in_c11_thread(*n);
    return 7;
}

static int threads(uint64_t n, unsigned long count)
{
    sigset_t all;
    thrd_t c11;
    pthread_t *made = calloc(count, sizeof *made);
    uint64_t each[2] = {n / count / 2 * 2, n / count / 2 * 2 + 1};
    int status = 0;
    int bad = !made;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (unsigned long i = 0; i < count && !bad; i++) {
        bad = pthread_create(&made[i], NULL, run_thread, &each[i % 2]) != 0;
    }
    for (unsigned long i = 0; i < count && !bad; i++) {
        bad = pthread_join(made[i], NULL) != 0;
    }
    free(made);
    bad = bad || thrd_create(&c11, run_c11_thread, &n) != thrd_success;
    bad = bad || thrd_join(c11, &status) != thrd_success || status != 7;
    bad = bad || child(n);
    for (int i = 0; i < 100 && !bad; i++) {
        const struct timespec pause = {.tv_nsec = 500000};
        in_between(n / 100);
        errno = 77;
        bad = poll(NULL, 0, 1) < 0 || nanosleep(&pause, NULL) != 0 || errno != 77;
    }
    return bad;
}

static volatile sig_atomic_t seen[65];

static void see(int sig)
{
    seen[sig]++;
}

static int signals(uint64_t n)
{
    const struct sigaction action = {.sa_handler = see};
    int bad = 0;
    once(n);
    for (int sig = SIGRTMIN; sig <= SIGRTMAX; sig++) {
        bad |= sigaction(sig, &action, NULL) != 0;
    }
    in_between(n);
    for (int sig = SIGRTMIN; sig <= SIGRTMAX; sig++) {
        bad |= raise(sig) != 0 || seen[sig] != 1;
    }
    return bad;
}

int main(int argc, char **argv)
{
    const uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    if (argc == 5 && strcmp(argv[1], "libraries") == 0) {
        return library(argv[3], n) || library(argv[4], 2 * n);
    }
    if (argc == 3 && strcmp(argv[1], "fork") == 0) {
        return child(n);
    }
    if (argc == 4 && strcmp(argv[1], "threads") == 0) {
        return threads(n, strtoul(argv[3], NULL, 10));
    }
    if (argc == 4 && strcmp(argv[1], "grows") == 0) {
        FILE *file = fopen(argv[3], "a");
        const long size = file && putc('.', file) != EOF && fflush(file) == 0 ? ftell(file) : 0;
        once(n * (uint64_t)size);
        return size <= 0 || fclose(file) != 0;
    }
    if (argc == 3 && strcmp(argv[1], "signals") == 0) {
        return signals(n);
    }
    for (int i = 0; i < 10; i++) {
        once(n / 10);
        nine_times(n / 10);
    }
    return 0;
}
