/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A signal whose handler has a region arrives while the first region begins: when the library reads its
 * first variable of the environment. */
#define _GNU_SOURCE /* secure_getenv */
#include <carm.h>
#include <signal.h>
#include <stdlib.h>

static volatile sig_atomic_t in_handler = -9;

static void on_signal(int signo)
{
    (void)signo;
    in_handler = carm_region_begin("handler");
}

/* In place of the C library's. */
char *secure_getenv(const char *name)
{
    if (in_handler == -9) {
        (void)raise(SIGUSR1);
    }
    return getenv(name);
}

int main(void)
{
    (void)signal(SIGUSR1, on_signal);
    return carm_region_begin("main") == 0 && carm_region_end("main") == 0 && in_handler == -1 ? 0
                                                                                              : 1;
}
