/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stepping of a program whose stops are written by hand. */
#include "tests/run/kernel.h"

static int set_up(void **state)
{
    memset(now, 0, sizeof now);
    memset(memory, 0x90, sizeof memory);
    answers = " 0";
    late = unseizable = 0;
    unreadable = wide = quiet = false;
    cpu = CPU;
    get_fails = set_fails = 0;
    forks = fork_fails = interrupt_fails = 0;
    status_of_trial = SIGNAL(SIGTRAP);
    scope_is = "1\n";
    left = 4;
    events[0] = '\0';
    trace = (struct carm_trace){.budget = UINT64_MAX};
    return 0;
}

#define BEGIN                                                                 \
    {                                                                         \
        .tid = PID, .status = EVENT(PTRACE_EVENT_EXEC, SIGTRAP), .rip = 0x100 \
    }
#define LEFT(t, status_)                \
    {                                   \
        .tid = (t), .status = (status_) \
    }
#define END      \
    {            \
        .tid = 0 \
    }

/* Behind the begin, which is the same for all */
static void ran(const struct stop *of, const char *wanted)
{
    stops = of;
    assert_ok(carm_trace_run(PID, &trace, &err));
    const char *begun = strstr(events, "random 10; ");
    assert_non_null(begun);
    memmove(events, begun + 11, strlen(begun + 11) + 1);
    happened(wanted);
}

TEST_BETWEEN(from_begin_to_end, set_up, NULL)
{
    static const struct stop of[] = {
        {.tid = PID, .status = SIGNAL(SIGCONT)},
        {.tid = PID, .status = SIGNAL(SIGUSR1)},
        {.tid = PID, .status = EVENT(PTRACE_EVENT_STOP, SIGTRAP)},
        {.tid = PID, .status = EVENT(PTRACE_EVENT_EXEC, SIGTRAP), .rip = 0x100, .blocked = true},
        {STEP(PID, 0x110)},
        {STEP(PID, NARROW)},
        {STEP(PID, CALL), .rax = SYS_exit},
        LEFT(PID, EXIT(7)),
        END};
    stops = of;
    answers = " 1001100"; /* also between a look and its end */
    late = 2;
    assert_ok(carm_trace_run(PID, &trace, &err));
    happened(
        "look; detach 10+19; look for a stop; wait 200 us; look for a stop; wait 200 us; look; detach 10+19; look for a stop; seize 10, 10001f; 0 to processors 8; 10 to processors 8; kill 10+18; on 10; on 10+10; on 10; random 10; mask 10 8000; step 10; step 10; step 10; step 10; 0 to processors f; ");
    assert_int_equal(trace.counts.instructions, 4);
    assert_int_equal(trace.counts.unknown, 1);
    assert_int_equal(trace.status, EXIT(7));
    assert_int_equal(trace.cut, CARM_TRACE_WHOLE);
    assert_int_equal(trace.threads, 1);
    assert_int_equal(trace.processes, 1);
}

/* What cannot be stepped: no child, one that has ended, no rights; a program that is no program. */
TEST_BETWEEN(what_cannot_be_stepped, set_up, NULL)
{
    static const struct stop gone[] = {{.tid = -2}, END},
                             ended[] = {{.tid = -1, .status = EXIT(127)}, END},
                             killed[] = {{.tid = -1, .status = SIGKILL}, END},
                             none[] = {LEFT(PID, EXIT(126)), END},
                             dead[] = {LEFT(PID, SIGSEGV), END};
    static const struct {
        const struct stop *stops;
        int seizing;
        int status; /* -1 = refused */
        const char *events;
    } of[] = {
        {gone, 0, -1, "look for a stop; "},
        {ended, 0, EXIT(127), "look for a stop; "},
        {killed, 0, SIGKILL, "look for a stop; "},
        {none, EPERM, -1, "look for a stop; seize 10, 10001f; "},
        {none, 0, EXIT(126),
         "look for a stop; seize 10, 10001f; 0 to processors 8; 10 to processors 8; kill 10+18; 0 to processors f; "},
        {dead, 0, SIGSEGV,
         "look for a stop; seize 10, 10001f; 0 to processors 8; 10 to processors 8; kill 10+18; 0 to processors f; "}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        set_up(state);
        stops = of[i].stops;

        unseizable = of[i].seizing;
        if (of[i].status < 0) {
            errno = ECHILD;
            assert_refused(carm_trace_run(PID, &trace, &err), -CARM_ENOTSUP,
                           of[i].seizing
                               ? "(Operation not permitted): see /proc/sys/kernel/yama/ptrace_scope"
                               : "the program cannot be traced");
            assert_true(of[i].seizing || trace.status == 0);
        } else {
            assert_ok(carm_trace_run(PID, &trace, &err));
            assert_int_equal(trace.status, of[i].status);
        }
        assert_int_equal(trace.counts.instructions, 0);
        assert_int_equal(trace.threads + trace.processes, 2);
        happened(of[i].events);
    }
    /* another tracer's child that cannot be had */
    set_up(state);
    answers = " 1";
    now[PID].error = EPERM;
    assert_refused(carm_trace_run(PID, &trace, &err), -CARM_ENOTSUP, "(Operation not permitted)");
    events[0] = '\0';
    /* lost: no child is left */
    static const struct stop lost[] = {BEGIN, {STEP(PID, 0x110)}, END};
    set_up(state);
    stops = lost;
    assert_refused(carm_trace_run(PID, &trace, &err), -CARM_EIO,
                   "the stepped program was lost: No child processes");
}

/* Code before the end of a page, of the registers at it, and where a sandbox allows words alone */
TEST_BETWEEN(bytes_of_instructions, set_up, NULL)
{
    static const struct stop of[] = {BEGIN,
                                     {STEP(PID, 0x1003), .rax = 0xa},
                                     {STEP(PID, 0x1ff0)},
                                     {STEP(PID, 0x1ff1)},
                                     {STEP(PID, 0x1ff2)},
                                     {STEP(PID, 0xff8)},
                                     {STEP(PID, 0x1fff)},
                                     LEFT(PID, EXIT(0)),
                                     END};
    for (size_t i = 0; i < sizeof memory; i++) {
        memory[i] = (uint8_t)(i * 3 + i / 0x1000);
    }
    for (int words = 0; words < 2; words++) {
        memset(now, 0, sizeof now);
        unreadable = words;
        wide = true;
        ran(of,
            words
                ? "registers 10, 514 of 16384; 100 0 c d d1 51 ef, 0 bytes of none; step 10; 15 bytes 0a..34; registers 10, 514 of 16384; 1003 a c d d1 51 ef, 0 bytes of none; step 10; 15 bytes d1..fb; registers 10, 514 of 16384; 1ff0 0 c d d1 51 ef, 0 bytes of none; step 10; 8 bytes d4..e9; registers 10, 514 of 16384; 1ff1 0 c d d1 51 ef, 0 bytes of none; step 10; 8 bytes d7..ec; registers 10, 514 of 16384; 1ff2 0 c d d1 51 ef, 0 bytes of none; step 10; 15 bytes e8..13; registers 10, 514 of 16384; ff8 0 c d d1 51 ef, 0 bytes of none; step 10; 0 bytes 00..00; registers 10, 514 of 16384; 1fff 0 c d d1 51 ef, 0 bytes of none; step 10; 0 to processors f; "
                : "registers 10, 514 of 16384; 100 0 c d d1 51 ef, 7 bytes; step 10; 15 bytes 0a..34; registers 10, 514 of 16384; 1003 a c d d1 51 ef, 7 bytes; step 10; 15 bytes d1..fb; registers 10, 514 of 16384; 1ff0 0 c d d1 51 ef, 7 bytes; step 10; 15 bytes d4..fe; registers 10, 514 of 16384; 1ff1 0 c d d1 51 ef, 7 bytes; step 10; 14 bytes d7..fe; registers 10, 514 of 16384; 1ff2 0 c d d1 51 ef, 7 bytes; step 10; 15 bytes e8..13; registers 10, 514 of 16384; ff8 0 c d d1 51 ef, 7 bytes; step 10; 1 bytes fe..fe; registers 10, 514 of 16384; 1fff 0 c d d1 51 ef, 7 bytes; step 10; 0 to processors f; ");
    }
}

/* Calls that change the mask of signals are not stepped: they end by a stop of their own, behind which SIGTRAP is allowed. */
TEST_BETWEEN(calls_that_change_the_mask, set_up, NULL)
{
    static const uint64_t whole[] = {SYS_rt_sigprocmask, SYS_rt_sigsuspend, SYS_ppoll, SYS_pselect6,
                                     SYS_epoll_pwait};
    for (size_t i = 0; i < 6; i++) {
        const uint64_t nr = i < 5 ? whole[i] : SYS_read;
        const struct stop of[] = {BEGIN,
                                  {STEP(PID, CALL), .rax = nr},
                                  {CALL_STOP(PID, CALL + 2)},
                                  {CALL_STOP(PID, CALL + 2), .blocked = i == 0},
                                  {STEP(PID, 0x120)},
                                  LEFT(PID, EXIT(0)),
                                  END};
        set_up(state);
        ran(of,
            i == 5 ? "step 10; step 10; call 10; step 10; step 10; 0 to processors f; "
            : i == 0
                ? "step 10; call 10; call 10; mask 10 8000; step 10; step 10; 0 to processors f; "
                : "step 10; call 10; call 10; step 10; step 10; 0 to processors f; ");
        assert_int_equal(trace.counts.instructions, i < 5 ? 4 : 4);
    }
}

/* Signals come before an instruction or behind it, also in place of the trap of a step. */
TEST_BETWEEN(signals_at_stops, set_up, NULL)
{
    static const struct stop of[] = {
        BEGIN,
        {.tid = PID, .status = SIGNAL(SIGUSR1), .rip = 0x100}, /* before it */
        {STEP(PID, 0x110)},
        {.tid = PID, .status = SIGNAL(SIGUSR2), .rip = 0x120}, /* behind it */
        {.tid = PID,
         .status = SIGNAL(SIGTRAP),
         .code = SIGTRAP,
         .rip = 0x800,
         .blocked = true}, /* a handler */
        {.tid = PID,
         .status = SIGNAL(SIGTRAP),
         .code = TRAP_BRKPT,
         .rip = 0x810}, /* from the kernel: nothing was executed */
        {.tid = PID, .status = SIGNAL(SIGTRAP), .code = TRAP_BRKPT, .rip = 0x810},
        {STEP(PID, CALL), .rax = SYS_rt_sigreturn},
        {.tid = PID,
         .status = SIGNAL(SIGTRAP),
         .code = TRAP_BRKPT,
         .rip = 0x120}, /* the call was */
        {.tid = PID, .status = SIGNAL(SIGTRAP), .code = SI_TKILL, .from = PID, .rip = 0x120},
        {.tid = PID, .status = SIGNAL(SIGSEGV), .rip = 0x120, .unseen = 1}, /* killed meanwhile */
        {STEP(PID, CALL), .rax = SYS_rt_sigsuspend},
        {.tid = PID, .status = SIGNAL(SIGUSR1), .rip = CALL},
        LEFT(PID, SIGKILL),
        END};
    ran(of,
        "step 10; step 10+10; step 10; step 10+12; mask 10 8000; step 10; step 10; step 10; step 10; step 10; step 10+5; call 10; step 10+10; 0 to processors f; ");
    assert_int_equal(trace.counts.instructions, 6);
    assert_int_equal(trace.cut, CARM_TRACE_WHOLE);
}

static uint64_t instructions_of(const struct stop *of)
{
    set_up(NULL);
    quiet = true;
    stops = of;
    assert_ok(carm_trace_run(PID, &trace, &err));
    return trace.counts.instructions;
}

/* Instructions of 4 bytes, each sixteenth a jump: a step whose trap was lost executed the next one, too. */
TEST(lost_traps)
{
    static const struct {
        uint64_t to; /* the stop behind the instruction at 0x900 */
        uint64_t lost;
    } cases[] = {{0x904, 0}, {0x908, 1}, {0x90c, 2}, {0x910, 3}, {0x914, 0},
                 {0x100, 0}, {0x8fc, 0}, {0x900, 0}, {0x902, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct stop of[] = {BEGIN,
                                  {STEP(PID, STRAIGHT)},
                                  {STEP(PID, cases[i].to)},
                                  {STEP(PID, 0x110)},
                                  LEFT(PID, EXIT(0)),
                                  END};
        assert_int_equal(instructions_of(of), 4 + cases[i].lost);
    }
    /* the jump at 0x93c may have led to the stop; behind a jump nothing is known, nor behind a signal */
    const struct stop
        jump[] = {BEGIN, {STEP(PID, 0x938)}, {STEP(PID, 0x110)}, LEFT(PID, EXIT(0)), END},
        known[] = {BEGIN, {STEP(PID, 0x93c)}, {STEP(PID, 0x110)}, LEFT(PID, EXIT(0)), END},
        signal[] = {BEGIN,
                    {STEP(PID, 0x938)},
                    {.tid = PID, .status = SIGNAL(SIGUSR1), .rip = 0x938},
                    {.tid = PID, .status = SIGNAL(SIGTRAP), .code = SIGTRAP, .rip = 0x110},
                    LEFT(PID, EXIT(0)),
                    END};
    assert_int_equal(instructions_of(jump), 4);
    assert_int_equal(instructions_of(known), 3);
    assert_int_equal(instructions_of(signal), 2);
}

/* A gather counts as a whole, once: where a signal comes at its rest, the rest is taken back and counted with the next try. */
TEST_BETWEEN(gathers, set_up, NULL)
{
    static const struct stop
        of[] = {BEGIN,
                {STEP(PID, GATHER)},
                {STEP(PID, GATHER)},
                {.tid = PID, .status = SIGNAL(SIGUSR1), .rip = GATHER, .message = 1},
                {.tid = PID, .status = SIGNAL(SIGTRAP), .code = SIGTRAP, .rip = 0x800},
                {STEP(PID, 0x810)},
                {STEP(PID, GATHER)},
                {STEP(PID, 0x110)},
                LEFT(PID, EXIT(0)),
                END},
        interrupted[] = {BEGIN,
                         {STEP(PID, GATHER)},
                         {.tid = PID, .status = SIGNAL(SIGUSR1), .rip = GATHER},
                         {STEP(PID, GATHER)},
                         {STEP(PID, 0x110)},
                         LEFT(PID, EXIT(0)),
                         END},
        behind[] = {BEGIN,
                    {STEP(PID, GATHER)},
                    {STEP(PID, GATHER)},
                    {.tid = PID, .status = SIGNAL(SIGUSR1), .rip = 0x110},
                    {STEP(PID, 0x120)},
                    LEFT(PID, EXIT(0)),
                    END};
    left = 4;
    ran(of,
        "step 10; step 10; step 10; step 10+10; step 10; step 10; step 10; step 10; 0 to processors f; ");
    assert_int_equal(trace.counts.loads, 4);
    set_up(state);
    ran(interrupted, "step 10; step 10; step 10+10; step 10; step 10; 0 to processors f; ");
    assert_int_equal(trace.counts.loads, 4);
    set_up(state);
    ran(behind, "step 10; step 10; step 10; step 10+10; step 10; 0 to processors f; ");
    assert_int_equal(trace.counts.loads, 4);
}

/* Threads and processes, which may report before their parents do; an exec by any thread leaves one of them. */
TEST_BETWEEN(threads_and_processes, set_up, NULL)
{
    static const struct stop of[] = {
        BEGIN,
        {STEP(PID, CALL), .rax = SYS_clone},
        {.tid = PID, .status = EVENT(PTRACE_EVENT_CLONE, SIGTRAP), .rip = CALL + 2, .message = 11},
        {.tid = 11, .status = EVENT(PTRACE_EVENT_STOP, SIGTRAP), .rip = 0x200},
        {STEP(PID, CALL), .rax = SYS_fork},
        {.tid = 12, .status = EVENT(PTRACE_EVENT_STOP, SIGTRAP), .rip = 0x300},
        {.tid = PID, .status = EVENT(PTRACE_EVENT_FORK, SIGTRAP), .rip = CALL + 2, .message = 12},
        {STEP(12, CALL), .rax = SYS_vfork},
        {.tid = 12, .status = EVENT(PTRACE_EVENT_VFORK, SIGTRAP), .rip = CALL + 2, .message = 13},
        {.tid = 13, .status = EVENT(PTRACE_EVENT_STOP, SIGTRAP), .rip = 0x400},
        {STEP(11, CALL), .rax = SYS_execve},
        {.tid = PID, .status = EVENT(PTRACE_EVENT_EXEC, SIGTRAP), .rip = 0x100, .message = 11},
        {STEP(PID, 0x100)},
        {STEP(13, CALL), .rax = SYS_execve},
        {.tid = 13, .status = EVENT(PTRACE_EVENT_EXEC, SIGTRAP), .rip = 0x100, .message = 13},
        {STEP(13, 0x100)},
        {.tid = 99, .status = 0xffff}, /* goes on: no stop */
        LEFT(13, EXIT(1)),
        {.tid = -1},
        LEFT(12, EXIT(0)),
        LEFT(PID, EXIT(0)),
        END};
    ran(of,
        "step 10; step 10; step 10; step 11; step 10; step 12; step 10; step 12; step 12; step 13; step 11; random 10; step 10; step 10; step 13; random 13; step 13; step 13; 0 to processors f; ");
    assert_int_equal(trace.threads, 4);
    assert_int_equal(trace.processes, 3);
    assert_int_equal(trace.cut, CARM_TRACE_WHOLE);
    assert_int_equal(trace.counts.instructions, 10); /* the calls that threads ended in, too */
}

/* Stopped by job control until SIGCONT; interrupted before or behind an instruction. */
TEST_BETWEEN(stops_of_groups, set_up, NULL)
{
    static const struct stop of[] = {
        BEGIN,
        {.tid = PID, .status = EVENT(PTRACE_EVENT_STOP, SIGTSTP), .rip = 0x100},
        {.tid = PID, .status = EVENT(PTRACE_EVENT_STOP, SIGTRAP), .rip = 0x100},
        {STEP(PID, 0x110)},
        {.tid = PID, .status = EVENT(PTRACE_EVENT_STOP, SIGTRAP), .rip = 0x120},
        {STEP(PID, 0x130)},
        LEFT(PID, EXIT(0)),
        END};
    ran(of, "step 10; listen 10; step 10; step 10; step 10; step 10; 0 to processors f; ");
    assert_int_equal(trace.counts.instructions, 4);
}

/* At the end of the budget all threads are let go: at their next stop, where no trap is queued, with their processors. */
TEST_BETWEEN(let_go, set_up, NULL)
{
    static const struct stop of[] = {
        BEGIN,
        {STEP(PID, CALL), .rax = SYS_clone},
        {.tid = PID, .status = EVENT(PTRACE_EVENT_CLONE, SIGTRAP), .rip = CALL + 2, .message = 11},
        {STEP(PID, 0x110)},
        {STEP(PID, 0x120), .queued = true}, /* the budget */
        {STEP(PID, 0x120)},
        {.tid = 11, .status = EVENT(PTRACE_EVENT_STOP, SIGTRAP), .rip = 0x210, .queued = true},
        {.tid = 11, .status = SIGNAL(SIGUSR1), .rip = 0x200, .queued = true},
        {STEP(11, 0x200)},
        LEFT(PID, EXIT(3)),
        END};
    trace.budget = 3;
    ran(of,
        "step 10; step 10; step 10; step 10; interrupt 11; interrupt 10; on 10; 10 to processors d; detach 10; on 11; on 11+10; 11 to processors d; detach 11; 0 to processors f; ");
    assert_int_equal(trace.cut, CARM_TRACE_BUDGET);
    assert_int_equal(trace.counts.instructions, 3);
    assert_int_equal(trace.status, EXIT(3));
    /* in a group's stop, in a call, at a new thread */
    static const struct stop others[] = {
        BEGIN,
        {STEP(PID, CALL), .rax = SYS_clone},
        {.tid = PID, .status = EVENT(PTRACE_EVENT_CLONE, SIGTRAP), .rip = CALL + 2, .message = 11},
        {.tid = 11, .status = EVENT(PTRACE_EVENT_STOP, SIGTRAP), .rip = CALL, .rax = SYS_ppoll},
        {STEP(PID, CALL), .rax = SYS_clone},
        {STEP(11, 0x110), .more = 100},
        {.tid = PID, .status = EVENT(PTRACE_EVENT_CLONE, SIGTRAP), .rip = CALL + 2, .message = 12},
        {.tid = 12, .status = EVENT(PTRACE_EVENT_STOP, SIGSTOP), .rip = 0x300},
        LEFT(12, EXIT(0)),
        LEFT(PID, EXIT(0)),
        END};
    set_up(state);
    trace.budget = 50;
    ran(others,
        "step 10; step 10; step 10; call 11; step 10; interrupt 11; interrupt 10; 11 to processors d; detach 11; 10 to processors d; detach 10; 12 to processors d; detach 12; 0 to processors f; ");
    assert_int_equal(trace.cut, CARM_TRACE_BUDGET);
    static const struct stop in_call[] = {
        BEGIN,
        {STEP(PID, CALL), .rax = SYS_clone},
        {.tid = PID, .status = EVENT(PTRACE_EVENT_CLONE, SIGTRAP), .rip = CALL + 2, .message = 11},
        {.tid = 11, .status = EVENT(PTRACE_EVENT_STOP, SIGTRAP), .rip = CALL, .rax = SYS_ppoll},
        {STEP(PID, 0x110), .more = 100},
        {CALL_STOP(11, CALL + 2), .blocked = true},
        LEFT(11, EXIT(0)),
        LEFT(PID, EXIT(0)),
        END};
    set_up(state);
    trace.budget = 50;
    ran(in_call,
        "step 10; step 10; step 10; call 11; interrupt 11; interrupt 10; 10 to processors d; detach 10; mask 11 8000; 11 to processors d; detach 11; 0 to processors f; ");
}

/* A program that leaves a process behind; requests that fail, also where the thread has ended meanwhile. */
TEST_BETWEEN(outlived_and_failed, set_up, NULL)
{
    static const struct stop of[] = {
        BEGIN,
        {STEP(PID, CALL), .rax = SYS_fork},
        {.tid = PID, .status = EVENT(PTRACE_EVENT_FORK, SIGTRAP), .rip = CALL + 2, .message = 12},
        LEFT(PID, EXIT(5)),
        {.tid = 12, .status = SIGNAL(SIGTRAP), .code = TRAP_TRACE, .rip = 0x300, .queued = true},
        {.tid = 12, .status = SIGNAL(SIGTRAP), .code = TRAP_TRACE, .rip = 0x300},
        END};
    ran(of,
        "step 10; step 10; step 10; interrupt 12; on 12; 12 to processors d; detach 12; 0 to processors f; ");
    assert_int_equal(trace.cut, CARM_TRACE_OUTLIVED);
    assert_int_equal(trace.status, EXIT(5));
    for (int i = 0; i < 2; i++) {
        const struct stop fails[] = {
            BEGIN, {STEP(PID, 0x110), .error = i ? EIO : ESRCH}, LEFT(PID, EXIT(0)), END};
        set_up(state);
        ran(fails,
            i ? "step 10; step 10; interrupt 10; 10 to processors d; detach 10; 0 to processors f; "
              : "step 10; step 10; 0 to processors f; ");
        assert_int_equal(trace.cut, i ? CARM_TRACE_FAILED : CARM_TRACE_WHOLE);
    }
    for (int i = 0; i < 2; i++) {
        const struct stop fails[] = {
            BEGIN, {STEP(PID, 0x110), .registers = i ? EIO : ESRCH}, LEFT(PID, EXIT(0)), END};
        set_up(state);
        ran(fails, i ? "step 10; interrupt 10; 10 to processors d; detach 10; 0 to processors f; "
                     : "step 10; step 10; 0 to processors f; ");
        assert_int_equal(trace.cut, i ? CARM_TRACE_FAILED : CARM_TRACE_WHOLE);
    }
    for (int i = 0; i < 2; i++) {
        const struct stop fails[] = {BEGIN,
                                     {STEP(PID, CALL), .rax = SYS_clone},
                                     {.tid = PID,
                                      .status = EVENT(PTRACE_EVENT_CLONE, SIGTRAP),
                                      .rip = CALL + 2,
                                      .message = 11,
                                      .error = i ? EIO : ESRCH},
                                     LEFT(11, EXIT(0)),
                                     LEFT(PID, EXIT(0)),
                                     END};
        set_up(state);
        ran(fails,
            i ? "step 10; step 10; step 10; interrupt 11; interrupt 10; 10 to processors d; detach 10; 0 to processors f; "
              : "step 10; step 10; step 10; 0 to processors f; ");
        assert_int_equal(trace.cut, i ? CARM_TRACE_FAILED : CARM_TRACE_WHOLE);
    }
}

/* Signals that end programs, from others than the program. */
TEST_BETWEEN(signals_from_outside, set_up, NULL)
{
    static const struct {
        int signo, code;
        pid_t from;
        bool outside;
    } of[] = {{SIGTERM, SI_USER, 1, true},    {SIGHUP, SI_TKILL, 1, true},
              {SIGINT, SI_QUEUE, 1, true},    {SIGQUIT, SI_KERNEL, 0, true},
              {SIGTERM, SI_USER, PID, false}, {SIGTERM, SI_TIMER, 0, false},
              {SIGUSR1, SI_USER, 1, false},   {SIGKILL, SI_USER, 1, false}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const struct stop stop[] = {BEGIN,
                                    {.tid = PID,
                                     .status = SIGNAL(of[i].signo),
                                     .rip = 0x100,
                                     .code = of[i].code,
                                     .from = of[i].from},
                                    LEFT(PID, EXIT(0)),
                                    END};
        char wanted[128];
        set_up(state);
        snprintf(wanted, sizeof wanted, "step 10; step 10+%d; 0 to processors f; ", of[i].signo);
        ran(stop, wanted);
        assert_int_equal(trace.cut, of[i].outside ? CARM_TRACE_SIGNALLED : CARM_TRACE_WHOLE);
        assert_int_equal(trace.cut_signal, of[i].outside ? of[i].signo : 0);
    }
    /* the first reason stays */
    static const struct stop late_one[] = {
        BEGIN,
        {STEP(PID, CALL), .rax = SYS_clone},
        {.tid = PID, .status = EVENT(PTRACE_EVENT_CLONE, SIGTRAP), .rip = CALL + 2, .message = 11},
        {STEP(PID, 0x110), .more = 100},
        {.tid = 11, .status = SIGNAL(SIGTERM), .rip = 0x200, .code = SI_USER, .from = 1},
        LEFT(PID, EXIT(0)),
        END};
    set_up(state);
    trace.budget = 50;
    ran(late_one,
        "step 10; step 10; step 10; interrupt 11; interrupt 10; 10 to processors d; detach 10; 11 to processors d; detach 11+15; 0 to processors f; ");
    assert_int_equal(trace.cut, CARM_TRACE_BUDGET);
    assert_int_equal(trace.cut_signal, 0);
}

/* Between two signals of timers are a million instructions, unless the program waits for one, or would at a call. */
TEST_BETWEEN(timers, set_up, NULL)
{
#define TIMER(at, number, result)                                                               \
    {                                                                                           \
        .tid = PID, .status = SIGNAL(SIGALRM), .code = SI_TIMER, .rip = (at), .call = (number), \
        .rax = (uint64_t)(result)                                                               \
    }
    static const struct stop of[] = {
        BEGIN,
        TIMER(0x100, -1, 0), /* the first: 10+14 */
        TIMER(0x100, -1, 0), /* held */
        TIMER(0x100, -1, 0), /* one with it */
        {.tid = PID,
         .status = SIGNAL(SIGPROF),
         .code = SI_KERNEL,
         .rip = 0x100}, /* of another kind: at once */
        {STEP(PID, 0x110), .more = GAP - 2},
        {STEP(PID, 0x120)},
        {STEP(PID, 0x130)},                  /* a million behind the latest */
        TIMER(0x130, -1, 0),                 /* held */
        {STEP(PID, CALL), .rax = SYS_pause}, /* goes before the call */
        {STEP(PID, 0x130)},
        TIMER(0x130, SYS_pause, -EINTR), /* a call that waited */
        TIMER(0x130, SYS_pause, -512),
        TIMER(0x130, 0, -516),
        TIMER(0x130, -1, -EINTR), /* held: no call */
        {.tid = PID, .status = SIGNAL(SIGVTALRM), .code = SI_KERNEL, .rip = 0x130}, /* at once */
        {STEP(PID, CALL), .rax = SYS_pause}, /* the one that is held */
        {STEP(PID, 0x130)},
        TIMER(0x130, SYS_pause, -511), /* held */
        {.tid = PID, .status = SIGNAL(SIGVTALRM), .code = SI_KERNEL, .rip = 0x130, .more = 3 * GAP},
        {STEP(PID, 0x140), .unseen = 2, .more = 2 * GAP}, /* cannot be described now */
        LEFT(PID, EXIT(0)),
        END};
    ran(of,
        "step 10; step 10+14; step 10; step 10; step 10+27; step 10; describe 10+14; step 10+14; step 10; step 10; describe 10+14; step 10+14; step 10; step 10+14; step 10+14; step 10+14; step 10; step 10+26; describe 10+14; step 10+14; step 10; step 10; step 10+26; describe 10+14; step 10; 0 to processors f; ");
    static const struct stop more[] = {
        BEGIN,
        {.tid = PID,
         .status = SIGNAL(SIGALRM),
         .code = SI_TIMER,
         .rip = 0x100,
         .call = -1,
         .more = GAP},
        TIMER(0x100, SYS_pause, -517), /* held */
        TIMER(0x100, -1, 0),
        {.tid = PID, .status = SIGNAL(SIGUSR1), .code = SI_KERNEL, .rip = 0x100}, /* no timer */
        {.tid = PID, .status = SIGNAL(SIGALRM), .code = SI_USER, .from = PID, .rip = 0x100},
        {STEP(PID, 0x110), .more = 9 * GAP, .queued = true}, /* let go with the one that is held */
        {STEP(PID, 0x110)},
        LEFT(PID, EXIT(0)),
        END};
    static const int kinds[] = {SIGALRM, SIGVTALRM, SIGPROF, SIGUSR1};
    for (size_t i = 0; i < 4; i++) {
        const struct stop of_kernel[] = {
            BEGIN,
            TIMER(0x100, -1, 0),
            {.tid = PID, .status = SIGNAL(kinds[i]), .code = SI_KERNEL, .rip = 0x100, .call = -1},
            {.tid = PID,
             .status = EVENT(PTRACE_EVENT_STOP, SIGTRAP),
             .rip = 0x100,
             .more = 2 * GAP}, /* no trap of a step */
            LEFT(PID, EXIT(0)),
            END};
        set_up(state);
        ran(of_kernel, i < 3 ? "step 10; step 10+14; step 10; step 10; 0 to processors f; "
                             : "step 10; step 10+14; step 10+10; step 10; 0 to processors f; ");
    }
    set_up(state);
    trace.budget = 5 * GAP;
    ran(more,
        "step 10; step 10+14; step 10; step 10; step 10+10; step 10+14; interrupt 10; tkill 10+14; on 10; 10 to processors d; detach 10; 0 to processors f; ");
}

/* The program's questions about its processors are answered as without sharing, until it chooses one. */
TEST_BETWEEN(processors_of_the_program, set_up, NULL)
{
    static const struct stop of[] = {BEGIN,
                                     {STEP(PID, CALL), .rax = SYS_sched_getaffinity},
                                     {STEP(PID, 0x110), .rax = 8},
                                     {STEP(PID, CALL), .rax = SYS_sched_getaffinity},
                                     {STEP(PID, 0x110), .rax = 4096},
                                     {STEP(PID, CALL), .rax = SYS_sched_getaffinity},
                                     {STEP(PID, 0x110), .rax = (uint64_t)-EINVAL},
                                     {STEP(PID, CALL), .rax = SYS_getcpu},
                                     {STEP(PID, 0x110), .rax = 8},
                                     {STEP(PID, CALL), .rax = SYS_sched_setaffinity},
                                     {STEP(PID, 0x110), .rax = (uint64_t)-EINVAL},
                                     {STEP(PID, CALL), .rax = SYS_sched_setaffinity},
                                     {STEP(PID, 0x110), .rax = 0},
                                     {STEP(PID, CALL), .rax = SYS_sched_getaffinity},
                                     {STEP(PID, 0x110), .rax = 8, .more = 100},
                                     LEFT(PID, EXIT(0)),
                                     END};
    trace.budget = 100;
    ran(of,
        "step 10; step 10; processors d to 10 at d, 8 bytes; step 10; step 10; processors d to 10 at d, 128 bytes; step 10; step 10; step 10; step 10; step 10; step 10; step 10; step 10; step 10; step 10; interrupt 10; detach 10; 0 to processors f; ");
    assert_int_equal(trace.cut, CARM_TRACE_BUDGET);
    /* a processor is not known, is not the program's, or carm may not go there; or the program may not */
    static const struct {
        int cpu, get_fails, set_fails;
    } alone[] = {{-1, 0, 0},    {CPU_SETSIZE, 0, 0}, {1, 0, 0},    {CPU, 1, 0},
                 {CPU, PID, 0}, {CPU, 0, 1},         {CPU, 0, PID}};
    static const struct stop asks[] = {BEGIN,
                                       {STEP(PID, CALL), .rax = SYS_sched_getaffinity},
                                       {STEP(PID, 0x110), .rax = 8},
                                       LEFT(PID, EXIT(0)),
                                       END};
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        set_up(state);
        cpu = alone[i].cpu;
        get_fails = alone[i].get_fails;
        set_fails = alone[i].set_fails;
        ran(asks,
            i < 6
                ? "step 10; step 10; step 10; "
                : "step 10; step 10; processors d to 10 at d, 8 bytes; step 10; 0 to processors f; ");
    }
}

static void progressed(uint64_t instructions, void *arg)
{
    note("%s %d; ", (const char *)arg, (int)instructions);
}

/* Progress is told at first and every 16384 instructions; an interruption lets go. */
TEST_BETWEEN(progress, set_up, NULL)
{
    static volatile sig_atomic_t interrupted;
    static const struct stop of[] = {BEGIN,
                                     {STEP(PID, 0x110)},
                                     {STEP(PID, 0x120), .more = 16382},
                                     {STEP(PID, 0x130)},
                                     {STEP(PID, 0x140), .more = 16384},
                                     LEFT(PID, EXIT(0)),
                                     END};
    trace.progress = progressed;
    trace.progress_arg = (void *)"at";
    trace.interrupted = &interrupted;
    ran(of,
        "step 10; step 10; at 1; step 10; step 10; at 16385; step 10; at 32770; 0 to processors f; ");
    assert_int_equal(trace.cut, CARM_TRACE_WHOLE);
    static const struct stop few[] = {BEGIN, {STEP(PID, 0x110)}, LEFT(PID, EXIT(0)), END};
    interrupted = 1;
    set_up(state);
    trace.interrupted = &interrupted;
    ran(few, "step 10; interrupt 10; 10 to processors d; detach 10; 0 to processors f; ");
    assert_int_equal(trace.cut, CARM_TRACE_INTERRUPTED);
}

/* A hundred threads whose numbers share places of the table, also at its end: none is lost when it grows, nor behind another
 * one's end. At an interruption all are interrupted. */
TEST_BETWEEN(many_threads, set_up, NULL)
{
    enum { THREADS = 99 };
    static const pid_t first[] = {
        47, 64, 17}; /* at 63, 0 and 1 of 64 places, or of 128 or 256 as their turns go */
    static struct stop of[3 * THREADS + THREADS * THREADS];
    static volatile sig_atomic_t interrupted;
    pid_t tids[THREADS];
    for (int end = 0; end < 3; end++) {
        size_t n = 0, letting = 0;
        set_up(state);
        of[n++] = (struct stop)BEGIN;
        for (size_t t = 0; t < THREADS; t++) {
            tids[t] = first[t % 3] + 64 * (pid_t)(t / 3);
            of[n++] = (struct stop){STEP(PID, CALL), .rax = SYS_clone};
            of[n++] = (struct stop){.tid = PID,
                                    .status = EVENT(PTRACE_EVENT_CLONE, SIGTRAP),
                                    .rip = CALL + 2,
                                    .message = (unsigned long)tids[t]};
            of[n++] = (struct stop){
                .tid = tids[t], .status = EVENT(PTRACE_EVENT_STOP, SIGTRAP), .rip = 0x200};
        }
        for (size_t k = 0; k < THREADS && end < 2; k++) {
            const size_t by = end ? 7 : 1;
            of[n++] = (struct stop)LEFT(tids[k * by % THREADS], EXIT(0));
            for (size_t other = k + 1; other < THREADS; other++) {
                of[n++] = (struct stop){STEP(tids[other * by % THREADS], 0x210)};
            }
        }
        of[n++] = (struct stop)LEFT(PID, EXIT(0));
        of[n] = (struct stop)END;
        stops = of;
        quiet = end < 2;
        trace.interrupted = end < 2 ? NULL : &interrupted;
        assert_ok(carm_trace_run(PID, &trace, &err));
        assert_int_equal(trace.threads, THREADS + 1);
        assert_int_equal(trace.cut, end < 2 ? CARM_TRACE_WHOLE : CARM_TRACE_OUTLIVED);
        for (const char *at = events; (at = strstr(at, "interrupt ")); at++) {
            letting++;
        }
        assert_int_equal(letting, end < 2 ? 0 : THREADS);
    }
}

/* Why programs cannot be traced here, by a trial with a process that waits */
TEST_BETWEEN(whether_it_works, set_up, NULL)
{
    static const struct {
        const char *scope;
        int fork, seize, interrupt, status;
        const char *words, *events;
    } of[] = {
        {"1\n", 0, 0, 0, SIGNAL(SIGTRAP), NULL, "seize 50, 100000; interrupt 50; kill 50+9; "},
        {"1\n", 1, 0, 0, 0, "fork fails (Resource temporarily unavailable): the sandbox", ""},
        {"1\n", 0, EPERM, 0, 0, "PTRACE_SEIZE fails (Operation not permitted): the sandbox",
         "seize 50, 100000; kill 50+9; "},
        {"1\n", 0, 0, 1, 0, "PTRACE_INTERRUPT fails (No such process): the sandbox",
         "seize 50, 100000; interrupt 50; kill 50+9; "},
        {"0\n", 0, 0, 0, EXIT(0), "PTRACE_INTERRUPT fails",
         "seize 50, 100000; interrupt 50; kill 50+9; "},
        {NULL, 0, 0, 0, EXIT(99), "PTRACE_INTERRUPT fails",
         "seize 50, 100000; interrupt 50; kill 50+9; "},
        {"2\n", 0, EPERM, 0, 0, "ptrace_scope is 2: as root, write 1 or 0 to it",
         "seize 50, 100000; kill 50+9; "},
        {"3\n", 0, EPERM, 0, 0, "ptrace_scope is 3: as root", "seize 50, 100000; kill 50+9; "}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        set_up(state);
        scope_is = of[i].scope;
        fork_fails = of[i].fork;
        unseizable = of[i].seize;
        interrupt_fails = of[i].interrupt;
        status_of_trial = of[i].status;
        if (of[i].words) {
            assert_refused(carm_trace_check(&err), -CARM_ENOTSUP, of[i].words);
        } else {
            assert_ok(carm_trace_check(&err));
        }
        happened(of[i].events);
        assert_int_equal(forks, 1);
    }
}
