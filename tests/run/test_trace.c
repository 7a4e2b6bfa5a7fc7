/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stepping of another program: tests/run/traced.c, which is compiled here. */
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/trace.h"
#include "tests/run/tracing.h"
#include "tests/unit.h"

enum { PLENTY = 100 * 1000 * 1000, THREADS = 50 };
static char folder[64];
static char myself[128];
static char tiny[128];

/* As run/launch.h does it: traced by its parent, stopped before exec. */
static pid_t launch(const char *path, const char *task, const char *arg)
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const struct rlimit none = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &none);
        (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        (void)raise(SIGSTOP);
        /* each variable of an environment costs thousands of instructions: tunables are looked for in it */
        char *const none_set[] = {NULL};
        (void)execle(path, path, task, arg, (char *)NULL, none_set);
        _exit(127);
    }
    return pid;
}

static struct carm_trace trace_of(const char *task, const char *arg, uint64_t budget)
{
    struct carm_trace trace = {.budget = budget};
    assert_ok(carm_trace_run(launch(myself, task, arg), &trace, &err));
    return trace;
}

static int exit_of(const struct carm_trace *trace)
{
    return WIFEXITED(trace->status) ? WEXITSTATUS(trace->status) : -1;
}

static uint64_t mulsd_of(const struct carm_trace *trace)
{
    return trace->counts.flops[0][0];
}

/* Whether the process has a handler for SIGTERM. */
static bool handles_term(pid_t pid)
{
    char path[64], line[256];
    unsigned long long caught = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f) && sscanf(line, "SigCgt: %llx", &caught) != 1) {
    }
    if (f) {
        (void)fclose(f);
    }
    return caught >> (SIGTERM - 1) & 1;
}

static void send_term(uint64_t instructions, void *pid)
{
    if (handles_term(*(const pid_t *)pid)) {
        (void)kill(*(const pid_t *)pid, SIGTERM);
    }
}

TEST(loop)
{
    needs_tracing();
    const struct carm_trace few = trace_of("loop", "107", PLENTY);
    const struct carm_trace more = trace_of("loop", "800", PLENTY);
    assert_true(few.cut == CARM_TRACE_WHOLE && more.cut == CARM_TRACE_WHOLE);
    assert_int_equal(few.threads, 1);
    assert_int_equal(few.processes, 1);
    assert_int_equal(exit_of(&few), 7);
    assert_int_equal(mulsd_of(&more) - mulsd_of(&few), 693);
    assert_int_equal(mulsd_of(&few), 107);
    /* the same otherwise but for what the kernel hands over: addresses chosen at random, the clock */
    const int64_t rest = (int64_t)(more.counts.instructions - few.counts.instructions) - 3 * 693;
    assert_in_range(rest + 5000, 0, 10000);
}

/* Flops of a task; what the C library does around it has none. */
static void adds(const char *task, const char *arg, uint64_t flops, int status)
{
    const struct carm_trace got = trace_of(task, arg, PLENTY);
    assert_int_equal(got.cut, CARM_TRACE_WHOLE);
    fail_if(mulsd_of(&got) != flops || exit_of(&got) != status,
            "%s: %llu flops, not %llu, status %x", task, (unsigned long long)mulsd_of(&got),
            (unsigned long long)flops, (unsigned)got.status);
}

/* Nothing before its first instruction is counted, nor is that one twice. */
TEST(tiny)
{
    struct carm_trace t = {.budget = PLENTY};
    needs_tracing();
    assert_int_equal(carm_trace_run(launch(tiny, NULL, NULL), &t, NULL), 0);
    assert_true(t.cut == CARM_TRACE_WHOLE && WIFEXITED(t.status));
    assert_int_equal(t.counts.instructions, 4);
    assert_int_equal(mulsd_of(&t), 1);
    assert_int_equal(t.counts.load_bytes, 8);
    assert_int_equal(t.counts.store_bytes, 8);
}

TEST(code_at_the_end_of_pages)
{
    needs_tracing();
    adds("edges", NULL, 4, 0);
}

TEST(threads)
{
    needs_tracing();
    const struct carm_trace many = trace_of("threads", "50", PLENTY);
    assert_int_equal(many.threads, THREADS + 1);
    assert_int_equal(many.processes, 1);
    assert_int_equal(mulsd_of(&many), THREADS * 100);
    assert_int_equal(exit_of(&many), 0);
}

TEST(processes)
{
    needs_tracing();
    adds("fork-flop", NULL, 2, 0);
    adds("exec", NULL, 200, 0);
    adds("exec-thread", NULL, 300, 0);
    adds("leader", NULL, 200, 6);
    const struct carm_trace forked = trace_of("fork", NULL, PLENTY);
    assert_int_equal(forked.processes, 2);
    assert_int_equal(forked.threads, 2);
    assert_int_equal(mulsd_of(&forked), 1000);
    assert_int_equal(exit_of(&forked), 4);
}

TEST(signals)
{
    needs_tracing();
    adds("signals", NULL, 4 * 7 + 100, 0);
    adds("faults", NULL, 20, 0);
    adds("stop", NULL, 300, 0);
}

/* A timer whose handler takes longer than its interval where every instruction traps. Without turns, all
 * would be handler; the budget ends such a run. */
TEST(timer)
{
    needs_tracing();
    const struct carm_trace t = trace_of("timer", NULL, 200000);
    assert_int_equal(t.cut, CARM_TRACE_WHOLE);
    assert_int_equal(exit_of(&t), 0);
    assert_in_range(mulsd_of(&t), 2 * 2000 + 1000, 2 * 2000 + 3 * 1000); /* one before the exit */
    adds("timer-wait", NULL, 3 * 1000, 0);
}

/* What nobody in the program sent, and a program that ends well on it. */
TEST(outside)
{
    struct carm_trace t = {.budget = PLENTY, .progress = send_term};
    needs_tracing();
    const pid_t pid = launch(myself, "term", NULL);
    t.progress_arg = (void *)&pid;
    assert_int_equal(carm_trace_run(pid, &t, NULL), 0);
    assert_int_equal(t.cut, CARM_TRACE_SIGNALLED);
    assert_int_equal(t.cut_signal, SIGTERM);
    assert_int_equal(exit_of(&t), 0);
    adds("term-itself", NULL, 7, 0);
}

TEST(ends)
{
    needs_tracing();
    const struct carm_trace crash = trace_of("crash", NULL, PLENTY);
    assert_true(crash.cut == CARM_TRACE_WHOLE && WIFSIGNALED(crash.status));
    assert_int_equal(WTERMSIG(crash.status), SIGSEGV);
    const struct carm_trace killed = trace_of("killed", NULL, PLENTY);
    assert_true(killed.cut == CARM_TRACE_WHOLE && WIFSIGNALED(killed.status));
    assert_int_equal(WTERMSIG(killed.status), SIGKILL);
    assert_true(mulsd_of(&killed) >= 100);
    struct carm_trace missing = {.budget = PLENTY};
    assert_int_equal(carm_trace_run(launch("/nonexistent", NULL, NULL), &missing, NULL), 0);
    assert_int_equal(exit_of(&missing), 127);
    assert_int_equal(missing.counts.instructions, 0);
}

/* Past the budget all runs free, also what waits in the kernel; the status is kept. */
TEST(budget)
{
    needs_tracing();
    cpu_set_t before;
    cpu_set_t after;
    (void)sched_getaffinity(0, sizeof before, &before);
    enum { BUDGET = 40000 };
    const struct carm_trace cut = trace_of("budget", NULL, BUDGET);
    assert_int_equal(cut.cut, CARM_TRACE_BUDGET);
    assert_int_equal(exit_of(&cut), 2);
    assert_in_range(cut.counts.instructions, BUDGET, BUDGET + 10);
    const struct carm_trace early = trace_of("threads", "50", 1000);
    assert_int_equal(early.cut, CARM_TRACE_BUDGET);
    assert_int_equal(exit_of(&early), 0);
    assert_in_range(early.counts.instructions, 1000, 1001);
    (void)sched_getaffinity(0, sizeof after, &after);
    assert_true(CPU_EQUAL(&before, &after));
}

/* A budget that ends anywhere while threads come and go. */
TEST(budget_in_threads)
{
    needs_tracing();
    const struct carm_trace whole = trace_of("threads", "5", PLENTY);
    const uint64_t all = whole.counts.instructions;
    for (uint64_t part = 1; part <= 2; part++) {
        const struct carm_trace cut = trace_of("threads", "5", all - all * part / 6);
        assert_int_equal(cut.status, 0);
    }
}

TEST(outlived)
{
    needs_tracing();
    const struct carm_trace t = trace_of("daemon", NULL, PLENTY);
    assert_int_equal(exit_of(&t), 0);
    assert_int_equal(t.cut, CARM_TRACE_OUTLIVED);
}

static void count_calls(uint64_t instructions, void *arg)
{
    ++*(int *)arg;
}

TEST(interrupt)
{
    static const volatile sig_atomic_t yes = 1;
    int calls = 0;
    needs_tracing();
    struct carm_trace t = {.budget = PLENTY, .interrupted = &yes};
    assert_ok(carm_trace_run(launch(myself, "loop", "5"), &t, &err));
    assert_int_equal(t.cut, CARM_TRACE_INTERRUPTED);
    assert_int_equal(exit_of(&t), 5);
    t = (struct carm_trace){.budget = PLENTY, .progress = count_calls, .progress_arg = &calls};
    assert_ok(carm_trace_run(launch(myself, "loop", "5"), &t, &err));
    assert_true(t.cut == CARM_TRACE_WHOLE && calls >= 1);
}

/* The processors that a program sees are those that it would see without us. */
TEST(affinity)
{
    cpu_set_t mine;
    needs_tracing();
    (void)sched_getaffinity(0, sizeof mine, &mine);
    const struct carm_trace t = trace_of("affinity", NULL, PLENTY);
    assert_int_equal(exit_of(&t), CPU_COUNT(&mine));
    adds("choice", NULL, 0, 3); /* unless it chooses itself */
}

/* Without a compiler or a static C library every test skips. */
static int compile(void **state)
{
    char command[1024];
    const char *top = getenv("CARM_TOP");
    const char *cc = getenv("CC");
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%.40s/carm-trace-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder)) {
        return -1;
    }
    (void)snprintf(myself, sizeof myself, "%s/program", folder);
    (void)snprintf(command, sizeof command,
                   "%s -D_GNU_SOURCE -O2 -static -pthread -o %s %s/tests/run/traced.c 2>&1",
                   cc ? cc : "cc", myself, top ? top : ".");
    compiled = system(command) == 0; /* NOLINT(cert-env33-c): a compiler is found by PATH */
    (void)snprintf(tiny, sizeof tiny, "%s/tiny", folder);
    (void)snprintf(command, sizeof command,
                   "echo '.globl _start; _start: mulsd %%xmm1, %%xmm1; push $60; pop %%rax; "
                   "syscall' | %s -x assembler -nostdlib -static -o %s - 2>&1",
                   cc ? cc : "cc", tiny);
    compiled = compiled && system(command) == 0; /* NOLINT(cert-env33-c) */
    return 0;
}

static int discard(void **state)
{
    (void)unlink(myself);
    (void)unlink(tiny);
    return rmdir(folder);
}

RUN_TESTS(compile, discard)
