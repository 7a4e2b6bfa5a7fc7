/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A planted time-stamp counter: the kernel makes rdtsc a fault (PR_SET_TSC), whose handler gives the instruction the time
 * that a test says. So budgets end when planted work ends them, however busy the machine is. */
#pragma once

#include <dlfcn.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include "tests/unit.h"

static double (*counter_ticks)(void);
static struct sigaction counter_before;

static inline void counter_read(int number, siginfo_t *info, void *context)
{
    greg_t *const r = ((ucontext_t *)context)->uc_mcontext.gregs;
    const uint8_t *const at = (const uint8_t *)r[REG_RIP]; // NOLINT: the instruction
    const bool rdtsc = at[0] == 0x0f && at[1] == 0x31;
    const bool rdtscp = at[0] == 0x0f && at[1] == 0x01 && at[2] == 0xf9;
    if (!rdtsc && !rdtscp) { /* another fault: again, without this handler */
        (void)prctl(PR_SET_TSC, PR_TSC_ENABLE);
        (void)sigaction(SIGSEGV, &counter_before, NULL);
        return;
    }
    const uint64_t now = (uint64_t)counter_ticks();
    r[REG_RIP] += rdtsc ? 2 : 3;
    r[REG_RAX] = (greg_t)(now & UINT32_MAX);
    r[REG_RDX] = (greg_t)(now >> 32);
    r[REG_RCX] = rdtscp ? 0 : r[REG_RCX];
}

/* ticks  of the calling thread's counter; NULL: the real ones again */
static inline void counter_plant(double (*ticks)(void))
{
    const struct sigaction act = {.sa_sigaction = counter_read,
                                  .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (ticks) {
        counter_ticks = ticks;
        assert_int_equal(sigaction(SIGSEGV, &act, &counter_before), 0);
        skip_if(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0, "the counter cannot be planted here");
    } else {
        assert_int_equal(prctl(PR_SET_TSC, PR_TSC_ENABLE), 0);
        assert_int_equal(sigaction(SIGSEGV, &counter_before, NULL), 0);
    }
}

/* In place of the library's: a program that is started has its own counter, which it would inherit as a fault. */
int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const argv[], char *const env[])
{
    static int (*real)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                       const posix_spawnattr_t *, char *const[], char *const[]);
    void *const found = dlsym(RTLD_NEXT, "posix_spawnp");
    memcpy(&real, &found, sizeof real);
    int mode = PR_TSC_ENABLE;
    (void)prctl(PR_GET_TSC, &mode);
    (void)prctl(PR_SET_TSC, PR_TSC_ENABLE);
    const int rc = real(pid, file, actions, attributes, argv, env);
    (void)prctl(PR_SET_TSC, mode);
    return rc;
}
