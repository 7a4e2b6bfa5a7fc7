/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Known loops (hot.h) in unusual places. The first argument says which:
 *   libraries N A B   A is loaded, used and unloaded, then B, which may get A's addresses
 *   fork N            by a child that executes nothing else
 *   times N           by two functions, one of which does nine times as much */
#include "tests/harness/profile/hot.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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

int main(int argc, char **argv)
{
    const uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    if (argc == 5 && strcmp(argv[1], "libraries") == 0) {
        return library(argv[3], n) || library(argv[4], 2 * n);
    }
    if (argc == 3 && strcmp(argv[1], "fork") == 0) {
        const pid_t pid = fork();
        if (pid == 0) {
            once(n);
            _exit(0);
        }
        return waitpid(pid, NULL, 0) != pid;
    }
    for (int i = 0; i < 10; i++) {
        once(n / 10);
        nine_times(n / 10);
    }
    return 0;
}
