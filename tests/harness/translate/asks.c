/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A counted program that asks carm to follow a process of another program: asks PID. Exit status: 0 = carm has refused.
 * For tests/harness/translate/test_translate.c. */
#include <stdint.h>
#include <stdlib.h>

#include "harness/translate/tally.h"

/* No system call in between: after a refusal, the first one ends the counting, and the memory is gone. carm looks every
 * 20 ms. */
int main(int argc, char **argv)
{
    enum { LAST = CARM_CONTROL_REQUESTS - 1 };
    struct carm_control *control = (struct carm_control *)CARM_CONTROL_AT;
    struct carm_request *request = &control->requests[LAST];
    unsigned state = CARM_REQUEST_ASKED;
    __atomic_store_n(&request->tid, argc > 1 ? atoi(argv[1]) : 0, __ATOMIC_RELAXED);
    __atomic_store_n(&request->state, state, __ATOMIC_RELEASE);
    for (uint64_t i = UINT64_C(1) << 32; i > 0 && state == CARM_REQUEST_ASKED; i--) {
        state = __atomic_load_n(&request->state, __ATOMIC_ACQUIRE);
    }
    return state != CARM_REQUEST_NO;
}
