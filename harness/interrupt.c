/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/interrupt.h"

volatile sig_atomic_t carm_interrupted;

static void on_signal(int sig)
{
    (void)sig;
    carm_interrupted = 1;
}

void carm_interrupt_watch(void)
{
    const struct sigaction act = {.sa_handler = on_signal};
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
}
