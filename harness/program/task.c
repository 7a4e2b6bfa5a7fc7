/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/program/task.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

enum { PAGE_BYTES = 4096, USER_CS_64 = 0x33, XSTATE_MAX = 16384 };

/* ---- the table: open addressing, never more than half full ---- */

static size_t slot_of(const struct carm_tasks *tasks, pid_t tid)
{
    size_t i = (size_t)tid * 2654435761U & (tasks->room - 1);
    while (tasks->slots[i].tid && tasks->slots[i].tid != tid) {
        i = (i + 1) & (tasks->room - 1);
    }
    return i;
}

struct carm_task *carm_tasks_find(struct carm_tasks *tasks, pid_t tid)
{
    if (!tasks->room) {
        return NULL;
    }
    struct carm_task *task = &tasks->slots[slot_of(tasks, tid)];
    return task->tid ? task : NULL;
}

static bool grow(struct carm_tasks *tasks)
{
    struct carm_tasks bigger = {.room = tasks->room ? 2 * tasks->room : 64, .n = tasks->n};
    bigger.slots = calloc(bigger.room, sizeof *bigger.slots);
    if (!bigger.slots) {
        return false;
    }
    for (size_t i = 0; i < tasks->room; i++) {
        if (tasks->slots[i].tid) {
            bigger.slots[slot_of(&bigger, tasks->slots[i].tid)] = tasks->slots[i];
        }
    }
    free(tasks->slots);
    *tasks = bigger;
    return true;
}

struct carm_task *carm_tasks_add(struct carm_tasks *tasks, pid_t tid, bool *is_new)
{
    struct carm_task *task = carm_tasks_find(tasks, tid);
    *is_new = !task;
    if (task) {
        return task;
    }
    if (2 * (tasks->n + 1) > tasks->room && !grow(tasks)) {
        return NULL;
    }
    task = &tasks->slots[slot_of(tasks, tid)];
    *task = (struct carm_task){.tid = tid, .nr = CARM_NO_CALL};
    tasks->n++;
    return task;
}

void carm_tasks_remove(struct carm_tasks *tasks, pid_t tid)
{
    if (!carm_tasks_find(tasks, tid)) {
        return;
    }
    size_t hole = slot_of(tasks, tid);
    tasks->slots[hole].tid = 0;
    tasks->n--;
    /* what stands behind it may have stood there because of it */
    for (size_t i = (hole + 1) & (tasks->room - 1); tasks->slots[i].tid;
         i = (i + 1) & (tasks->room - 1)) {
        const struct carm_task moved = tasks->slots[i];
        tasks->slots[i].tid = 0;
        tasks->slots[slot_of(tasks, moved.tid)] = moved;
    }
}

void carm_tasks_close(struct carm_tasks *tasks)
{
    free(tasks->slots);
    *tasks = (struct carm_tasks){.slots = NULL};
}

/* ---- one instruction ---- */

/* Bytes at rip; the next page is asked for apart, for it may not be there. */
static size_t read_code(pid_t tid, uint64_t rip, uint8_t code[CARM_INSTRUCTION_BYTES_MAX])
{
    const size_t want = CARM_INSTRUCTION_BYTES_MAX;
    const size_t left = PAGE_BYTES - (size_t)(rip % PAGE_BYTES);
    const size_t first = left < want ? left : want;
    const struct iovec local = {code, want};
    const struct iovec remote[] = {{(void *)(uintptr_t)rip, first},
                                   {(void *)(uintptr_t)(rip + first), want - first}};
    const ssize_t n = process_vm_readv(tid, &local, 1, remote, first < want ? 2 : 1, 0);
    if (n > 0) {
        return (size_t)n;
    }
    size_t got = 0; /* not permitted by a sandbox: word by word */
    while (got < want) {
        errno = 0;
        const long word = ptrace(PTRACE_PEEKTEXT, tid, (void *)(uintptr_t)(rip + got), NULL);
        if (errno) {
            break;
        }
        const size_t some = want - got < sizeof word ? want - got : sizeof word;
        memcpy(code + got, &word, some);
        got += some;
    }
    return got;
}

struct xstate_arg {
    pid_t tid;
    uint8_t area[XSTATE_MAX];
};

static const uint8_t *fetch_xsave(void *arg, size_t *size_bytes)
{
    struct xstate_arg *x = arg;
    struct iovec io = {x->area, sizeof x->area};
    if (ptrace(PTRACE_GETREGSET, x->tid, (void *)NT_X86_XSTATE, &io) != 0) {
        return NULL;
    }
    *size_bytes = io.iov_len;
    return x->area;
}

int carm_task_step(struct carm_task *task, struct carm_insns *effects, int signo)
{
    struct user_regs_struct r;
    struct xstate_arg x;
    uint8_t code[CARM_INSTRUCTION_BYTES_MAX];
    if (ptrace(PTRACE_GETREGS, task->tid, NULL, &r) != 0) {
        return -1;
    }
    x.tid = task->tid;
    /* 32-bit code is decoded as nothing: unknown instructions */
    const size_t n = r.cs == USER_CS_64 ? read_code(task->tid, r.rip, code) : 0;
    const struct carm_registers regs = {.rip = r.rip,
                                        .rax = r.rax,
                                        .rcx = r.rcx,
                                        .rdx = r.rdx,
                                        .rdi = r.rdi,
                                        .rsi = r.rsi,
                                        .flags = r.eflags,
                                        .xsave = fetch_xsave,
                                        .xsave_arg = &x};
    const struct carm_insn *e = carm_insns_find(effects, r.rip, code, n);
    memset(&task->delta, 0, sizeof task->delta);
    carm_insns_apply(effects, e, code, n, &regs, &task->delta);
    task->pending = true;
    task->rip = r.rip;
    task->nr = CARM_NO_CALL;
    if (e && (e->flags & CARM_INSN_SYSCALL)) {
        task->nr = r.rax;
        task->args[0] = r.rdi;
        task->args[1] = r.rsi;
        task->args[2] = r.rdx;
    }
    return ptrace(PTRACE_SINGLESTEP, task->tid, NULL, (void *)(intptr_t)signo) == 0 ? 0 : -1;
}

/* What a program learns of its processors decides how many threads it makes: it shall learn what it
 * would without us. */
static void answer_affinity(const struct carm_task *task, struct carm_sharing *sharing)
{
    struct user_regs_struct r;
    if (!sharing->on || sharing->program_chose ||
        (task->nr != SYS_sched_getaffinity && task->nr != SYS_sched_setaffinity) ||
        ptrace(PTRACE_GETREGS, task->tid, NULL, &r) != 0 || (int64_t)r.rax < 0) {
        return;
    }
    if (task->nr == SYS_sched_setaffinity) {
        sharing->program_chose = true;
        return;
    }
    const size_t bytes = r.rax < sizeof sharing->program ? r.rax : sizeof sharing->program;
    const struct iovec local = {&sharing->program, bytes};
    const struct iovec remote = {(void *)(uintptr_t)task->args[2], bytes};
    (void)process_vm_writev(task->tid, &local, 1, &remote, 1, 0);
}

void carm_task_commit(struct carm_task *task, struct carm_sharing *sharing,
                      struct carm_step_counts *counts)
{
    if (task->pending) {
        if (task->nr != CARM_NO_CALL) {
            answer_affinity(task, sharing);
        }
        carm_step_counts_add(counts, &task->delta, 1);
        task->pending = false;
    }
}

bool carm_task_executed(const struct carm_task *task)
{
    struct user_regs_struct r;
    return ptrace(PTRACE_GETREGS, task->tid, NULL, &r) == 0 && r.rip != task->rip;
}
