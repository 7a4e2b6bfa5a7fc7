/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An event loop over all threads: each is stepped on when it reports, so that one that waits in the
 * kernel keeps nobody else. Threads are seized rather than attached (ptrace(2)), which tells stops of
 * job control from others and lets a thread in the kernel be interrupted. */
#include "harness/program/trace.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/program/task.h"

enum { PROGRESS_INSTRUCTIONS = 1 << 14, STATUS_EVENT_SHIFT = 16 };
static const long seize_options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                                  PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;

struct run {
    struct carm_trace *trace;
    struct carm_insns *effects;
    struct carm_tasks tasks;
    struct carm_sharing sharing;
    pid_t root;
    bool root_ended;
    bool letting_go; /* no more steps: every thread is released when it stops next */
    uint64_t next_progress;
};

/* ---- letting go ---- */

/* A step's trap may still be on its way to a thread that stopped for another reason; released now, the
 * thread would die of it. */
static bool trap_is_queued(pid_t tid)
{
    siginfo_t queued[16];
    struct __ptrace_peeksiginfo_args what = {.off = 0, .flags = 0, .nr = 16};
    const long n = ptrace(PTRACE_PEEKSIGINFO, tid, &what, queued);
    for (long i = 0; i < n; i++) {
        if (queued[i].si_signo == SIGTRAP &&
            (queued[i].si_code == TRAP_TRACE || queued[i].si_code == TRAP_BRKPT)) {
            return true;
        }
    }
    return false;
}

static void release(struct run *run, pid_t tid, int signo)
{
    if (trap_is_queued(tid)) {
        (void)ptrace(PTRACE_CONT, tid, NULL, (void *)(intptr_t)signo);
        return; /* and its trap comes next */
    }
    if (run->sharing.on && !run->sharing.program_chose) {
        (void)sched_setaffinity(tid, sizeof run->sharing.program, &run->sharing.program);
    }
    if (ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)signo) == 0) {
        carm_tasks_remove(&run->tasks, tid);
    }
}

static void let_go(struct run *run)
{
    if (run->letting_go) {
        return;
    }
    run->letting_go = true;
    run->trace->complete = false;
    for (size_t i = 0; i < run->tasks.room; i++) {
        if (run->tasks.slots[i].tid) {
            (void)ptrace(PTRACE_INTERRUPT, run->tasks.slots[i].tid, NULL, NULL);
        }
    }
}

/* ---- stops ---- */

/* On with a stopped thread, which a signal may reach. */
static void go_on(struct run *run, struct carm_task *task, int signo)
{
    if (!run->letting_go && run->trace->counts.instructions >= run->trace->budget) {
        let_go(run);
    }
    if (run->letting_go) {
        release(run, task->tid, signo);
    } else if (carm_task_step(task, run->effects, signo) != 0 && errno != ESRCH) {
        let_go(run);
        release(run, task->tid, signo);
    }
}

static void forget(struct carm_task *task)
{
    task->pending = false;
}

static int add(struct run *run, pid_t tid, bool process)
{
    bool is_new = false;
    struct carm_task *task = carm_tasks_add(&run->tasks, tid, &is_new);
    if (task && is_new) {
        run->trace->threads++;
    }
    run->trace->processes += task && process;
    return task ? 0 : -1;
}

static void on_event(struct run *run, struct carm_task *task, int event, int signo)
{
    const pid_t tid = task->tid;
    unsigned long message = 0;
    if (event == PTRACE_EVENT_STOP) {
        if (signo != SIGTRAP && !run->letting_go) { /* stopped by job control until SIGCONT */
            (void)ptrace(PTRACE_LISTEN, tid, NULL, NULL);
            return;
        }
        if (task->pending && !run->letting_go) { /* on with the step that was interrupted */
            if (carm_task_executed(task)) {
                carm_task_commit(task, &run->sharing, &run->trace->counts);
            }
            forget(task);
        }
        go_on(run, task, 0);
        return;
    }
    (void)ptrace(PTRACE_GETEVENTMSG, tid, NULL, &message);
    if (event == PTRACE_EVENT_EXEC) { /* from any thread, which then has its leader's number */
        if ((pid_t)message != tid) {
            carm_tasks_remove(&run->tasks, (pid_t)message);
            task = carm_tasks_find(&run->tasks, tid);
        }
    } else if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK ||
               event == PTRACE_EVENT_VFORK) {
        if (add(run, (pid_t)message, event != PTRACE_EVENT_CLONE) != 0) {
            let_go(run);
        }
        task = carm_tasks_find(&run->tasks, tid);
    }
    if (!task) {
        return;
    }
    if (run->letting_go) {
        release(run, tid, 0);
    } else if (ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL) != 0 && errno != ESRCH) {
        let_go(run); /* the system call that is going on stays pending */
    }
}

static void on_stop(struct run *run, struct carm_task *task, int signo)
{
    siginfo_t info = {.si_signo = 0};
    if (ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info) != 0) {
        return; /* killed meanwhile: its end is reported */
    }
    if (signo == SIGTRAP && (info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT)) {
        /* TRAP_BRKPT: the kernel is left, by a system call that was stepped or by one that was
         * going on (a new thread, an exec, a restart): then nothing else was executed */
        if (info.si_code == TRAP_BRKPT && task->nr == CARM_NO_CALL) {
            forget(task);
        }
        carm_task_commit(task, &run->sharing, &run->trace->counts);
        go_on(run, task, 0);
        return;
    }
    if (signo == SIGTRAP && info.si_code == SIGTRAP) { /* arrived in a signal handler instead */
        forget(task);
        go_on(run, task, 0);
        return;
    }
    if (task->pending && carm_task_executed(task)) {
        carm_task_commit(task, &run->sharing, &run->trace->counts);
    }
    forget(task);
    go_on(run, task, signo);
}

static int on_report(struct run *run, pid_t tid, int status)
{
    bool is_new = false;
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
        struct carm_task *task = carm_tasks_find(&run->tasks, tid);
        if (task) {
            task->nr = CARM_NO_CALL;
            carm_task_commit(task, &run->sharing, &run->trace->counts);
        }
        carm_tasks_remove(&run->tasks, tid);
        if (tid == run->root) {
            run->root_ended = true;
            run->trace->status = status;
            if (run->tasks.n) { /* what outlives the program is not waited for */
                let_go(run);
            }
        }
        return 0;
    }
    if (!WIFSTOPPED(status)) {
        return 0;
    }
    /* a new thread may report before the one that made it */
    struct carm_task *task = carm_tasks_add(&run->tasks, tid, &is_new);
    if (!task) {
        return -1;
    }
    run->trace->threads += is_new;
    const int event = status >> STATUS_EVENT_SHIFT;
    if (event) {
        on_event(run, task, event, WSTOPSIG(status));
    } else {
        on_stop(run, task, WSTOPSIG(status));
    }
    return 0;
}

static void loop(struct run *run)
{
    struct carm_trace *trace = run->trace;
    while (!run->root_ended || run->tasks.n) {
        int status = 0;
        const pid_t tid = waitpid(-1, &status, __WALL | __WNOTHREAD);
        if (trace->interrupted && *trace->interrupted) {
            let_go(run);
        }
        if (tid > 0) {
            if (on_report(run, tid, status) != 0) {
                let_go(run);
            }
        } else if (errno != EINTR) {
            break; /* no child is left */
        }
        if (trace->progress && trace->counts.instructions >= run->next_progress) {
            run->next_progress = trace->counts.instructions + PROGRESS_INSTRUCTIONS;
            trace->progress(trace->counts.instructions, trace->progress_arg);
        }
    }
}

/* ---- begin ---- */

/* Takes over a child that stopped itself, traced already or not.
 * returns 0 or -1: errno says why, 0 = it has ended (status) */
static int seize(pid_t pid, int *status)
{
    siginfo_t info;
    const struct timespec moment = {0, 200000};
    for (;;) {
        if (ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) == 0) { /* traced, stopped: leave it so */
            (void)waitpid(pid, status, WNOHANG | __WALL);
            if (ptrace(PTRACE_DETACH, pid, NULL, (void *)SIGSTOP) != 0) {
                return -1;
            }
            continue;
        }
        const pid_t got = waitpid(pid, status, WNOHANG | WUNTRACED);
        if (got < 0) {
            return -1;
        }
        if (got == pid && (WIFEXITED(*status) || WIFSIGNALED(*status))) {
            errno = 0;
            return -1;
        }
        if (got == pid && WIFSTOPPED(*status) && ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) != 0) {
            break;
        }
        (void)nanosleep(&moment, NULL);
    }
    return ptrace(PTRACE_SEIZE, pid, NULL, (void *)seize_options) == 0 ? 0 : -1;
}

/* On to its exec, from which it is stepped.
 * returns 0 or -1: it has ended before, status says how */
static int go_to_exec(pid_t pid, int *status)
{
    (void)kill(pid, SIGCONT);
    while (waitpid(pid, status, __WALL) == pid && WIFSTOPPED(*status)) {
        const int event = *status >> STATUS_EVENT_SHIFT;
        if (event == PTRACE_EVENT_EXEC) {
            return 0;
        }
        const int signo = event || WSTOPSIG(*status) == SIGCONT ? 0 : WSTOPSIG(*status);
        (void)ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)signo);
    }
    return -1;
}

static void share_processor(struct carm_sharing *sharing, pid_t pid)
{
    cpu_set_t one;
    const int cpu = sched_getcpu();
    if (cpu < 0 || cpu >= CPU_SETSIZE ||
        sched_getaffinity(pid, sizeof sharing->program, &sharing->program) != 0 ||
        sched_getaffinity(0, sizeof sharing->tracer, &sharing->tracer) != 0 ||
        !CPU_ISSET((size_t)cpu, &sharing->program)) {
        return;
    }
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    sharing->on = sched_setaffinity(pid, sizeof one, &one) == 0 &&
                  sched_setaffinity(0, sizeof one, &one) == 0;
}

int carm_trace_run(pid_t pid, struct carm_trace *trace, struct carm_err *err)
{
    struct run run = {.trace = trace, .root = pid};
    bool is_new = false;
    int rc = carm_insns_open(&run.effects, err);
    memset(&trace->counts, 0, sizeof trace->counts);
    trace->complete = true;
    trace->threads = 1;
    trace->processes = 1;
    trace->status = 0;
    if (rc) {
        return rc;
    }
    if (seize(pid, &trace->status) != 0) {
        rc = errno ? carm_fail(err, CARM_ENOTSUP,
                               "the program cannot be traced (%s): see /proc/sys/kernel/yama/"
                               "ptrace_scope, or run it in a container that allows ptrace",
                               strerror(errno))
                   : 0;
        goto out;
    }
    share_processor(&run.sharing, pid);
    if (go_to_exec(pid, &trace->status) != 0) {
        goto out;
    }
    struct carm_task *root = carm_tasks_add(&run.tasks, pid, &is_new);
    if (!root) {
        (void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory to step a program");
        goto out;
    }
    go_on(&run, root, 0);
    loop(&run);
    if (!run.root_ended) {
        rc = carm_fail(err, CARM_EIO, "the stepped program was lost: %s", strerror(errno));
    }
out:
    if (run.sharing.on) {
        (void)sched_setaffinity(0, sizeof run.sharing.tracer, &run.sharing.tracer);
    }
    carm_tasks_close(&run.tasks);
    carm_insns_close(run.effects);
    return rc;
}

/* ---- whether it works ---- */

static long scope(void)
{
    char line[16] = "";
    FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (f) {
        (void)!fgets(line, sizeof line, f);
        (void)fclose(f);
    }
    return strtol(line, NULL, 10);
}

/* A child that stops itself is seized, stepped a few times and killed.
 * returns NULL or what failed */
static const char *trial(void)
{
    enum { STEPS = 3 };
    const char *failed = NULL;
    int status = 0;
    const pid_t pid = fork();
    if (pid < 0) {
        return "fork";
    }
    if (pid == 0) {
        for (;;) {
            (void)pause();
        }
    }
    if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)PTRACE_O_EXITKILL) != 0) {
        failed = "PTRACE_SEIZE";
    } else if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) != 0 ||
               waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status)) {
        failed = "PTRACE_INTERRUPT";
    }
    const int saved = errno;
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
    }
    errno = saved;
    return failed;
}

int carm_trace_check(struct carm_err *err)
{
    const char *failed = trial();
    if (!failed) {
        return 0;
    }
    const int why = errno;
    if (scope() >= 2) {
        return carm_fail(err, CARM_ENOTSUP,
                         "/proc/sys/kernel/yama/ptrace_scope is %ld: as root, write 1 or 0 to it",
                         scope());
    }
    return carm_fail(err, CARM_ENOTSUP,
                     "%s fails (%s): the sandbox or container must allow ptrace (docker: "
                     "--cap-add SYS_PTRACE or --security-opt seccomp=unconfined)",
                     failed, strerror(why));
}
