/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The border between the program and the kernel: system calls, signals, threads. */
#pragma once

#include <linux/sched.h>
#include <stdbool.h>

#include "harness/translate/engine/cache/cache.h"

/* region.c: answers a system call of libcarm */
long carm_region_asked(struct carm_thread *t);
void carm_region_close(struct carm_thread *t); /* the thread ends */
/* region.c: the request of an instruction of include/carm_count.h */
void carm_mark(struct carm_thread *t, enum carm_mark_kind kind);

/* dispatch.c: continues the program at pc. */
_Noreturn void carm_go_on(struct carm_thread *t, uint64_t pc, bool indirect);
/* Continues the program at pc with its own code, uncounted. */
_Noreturn void carm_detach(struct carm_thread *t, uint64_t pc);

/* view.c: files and random numbers that would differ from run to run, or because the program is counted */
/* Opens a file of /proc for the program, with the contents of an uncounted run. returns false: the program opens the
 * file itself
 * path    register with the path; the flags are in the next argument
 * result  out: of the system call */
bool carm_view_open(struct carm_thread *t, enum carm_reg path, long *result);
/* After getrandom and read, which gave `result` bytes: writes the same random numbers in each run, if carm asks for
 * this. */
void carm_view_random(struct carm_thread *t, uint64_t nr, long result);
void carm_view_forks(void);            /* before a fork: the child gets other random numbers */
void carm_view_forked(void);           /* in the child */
void carm_view_clones(uint32_t flags); /* carm_view_note for clone with these flags */
/* Before a system call: keeps for carm the inputs that may change counts from run to run (enum carm_varies). */
void carm_view_note(const struct carm_thread *t);

/* release.c: jumps to t->code with the program's registers. Unmaps the engine's memory when no
 * other thread or process uses it. */
_Noreturn void carm_release(struct carm_thread *t);
/* Whether neither another thread nor a process that shares the memory uses the engine's memory. */
bool carm_release_alone(const struct carm_thread *t);
/* Address space that carm_release would unmap; data: its private writable part, which RLIMIT_DATA limits */
uint64_t carm_release_bytes(bool data);
/* Flags of clone that make a process, not a thread, in the memory of another process. */
static inline bool carm_memory_borrowed(uint32_t flags)
{
    return (flags & (CLONE_VM | CLONE_THREAD)) == CLONE_VM;
}

/* signal.c */
void carm_signals_begin(struct carm_thread *t); /* sets up a thread's signal stack */
void carm_signals_detach(struct carm_thread *t);
long carm_signal_action(struct carm_thread *t, int signo, const struct carm_action *set,
                        struct carm_action *old);
long carm_signal_stack(struct carm_thread *t, const struct carm_altstack *set,
                       struct carm_altstack *old);
_Noreturn void carm_signal_sigreturn(struct carm_thread *t);
/* Blocks all signals. returns the earlier mask */
carm_sigset carm_signals_block(void);
void carm_signals_mask(carm_sigset mask);
/* Whether the program has a handler for a signal. */
bool carm_signal_handled(const struct carm_thread *t, int signo);
/* thread.c */
struct carm_thread *carm_thread_take(const struct carm_thread *parent); /* a slot; NULL = none */
_Noreturn void carm_thread_exit(struct carm_thread *t, uint64_t status);
/* Makes the system call nr, which creates a thread or a process. returns its result, in the parent */
long carm_thread_clone(struct carm_thread *t, long nr);
/* Before an exec: asks for the new program to be traced. */
void carm_thread_before_exec(struct carm_thread *t, long nr);
void carm_thread_exec_failed(struct carm_thread *t);
