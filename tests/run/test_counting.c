/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a program is run for its row, and what is said of it: scenarios, compared with tests/run/counting.txt. For each
 * scenario it has the calls in their order and the row. UPDATE=1 writes it. */
#include <sys/mman.h>

#include "tests/run/counting.h"

enum { ALL_BYTES = 1 << 17 };
static char *all; /* of a test's scenarios; shared with child processes */

/* Compares a test's scenarios with its section of the file. */
static void compare(const char *section)
{
    char path[256], line[4096], title[64];
    const char *top = getenv("CARM_TOP"), *at = all;
    bool inside = false;
    snprintf(path, sizeof path, "%s/tests/run/counting.txt", top ? top : ".");
    snprintf(title, sizeof title, "== %s\n", section);
    FILE *f = fopen(path, getenv("UPDATE") ? "a" : "r");
    assert_non_null(f);
    if (getenv("UPDATE")) {
        fprintf(f, "%s%s", title, all);
        at = "";
    }
    while (!getenv("UPDATE") && fgets(line, sizeof line, f)) {
        const size_t n = strlen(line);
        inside = line[0] == '=' ? strcmp(line, title) == 0 : inside;
        if (inside && line[0] != '=') {
            fail_if(strncmp(at, line, n) != 0, "'%.*s' is not '%s'", (int)strcspn(at, "\n"), at,
                    line);
            at += n;
        }
    }
    assert_int_equal(fclose(f), 0);
    assert_string_equal(at, "");
    all[0] = '\0';
}

static int share(void **state)
{
    all = mmap(NULL, ALL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return all == MAP_FAILED;
}

static int unshare_(void **state)
{
    return munmap(all, ALL_BYTES);
}

RUN_TESTS(share, unshare_)

/* Runs, and writes down what was asked for and what is said. */
static void runs(const struct scenario *s)
{
    static struct carm_observer observer;
    static const struct carm_address_sink sink;
    static char *argv[] = {"it", NULL};
    struct carm_run run = {.argv = argv,
                           .name = "row",
                           .provider = s->by,
                           .budget = 999,
                           .cpu = s->cpu,
                           .no_time = s->no_time,
                           .hz = s->hz,
                           .nkinds = 2,
                           .by_code = !s->whole,
                           .repeat = s->repeat,
                           .always_sampled = s->always,
                           .threads = s->threads,
                           .regions = s->regions ? "/nonexistent/points.csv" : NULL,
                           .observer = &observer,
                           .sink = s->sink ? &sink : NULL,
                           .for_parts = s->for_parts,
                           .timed = s->timed ? note_time : NULL,
                           .timed_arg = &marked};
    now_is = s;
    now = 1000.0;
    nruns = ntranslations = ntranslators = ninputs = nsamples = nblocks = 0;
    at_input = 9;
    carm_interrupted = 0;
    events[0] = said[0] = '\0';
    for (int i = 1; i < NSIG; i++) {
        handlers[i].sa_handler = i == SIGHUP ? SIG_IGN : caller;
    }
    assert_int_equal(
        (s->rank ? setenv("OMPI_COMM_WORLD_SIZE", "2", 1) : unsetenv("OMPI_COMM_WORLD_SIZE")) ||
            (s->rank ? setenv("OMPI_COMM_WORLD_RANK", "1", 1) : unsetenv("OMPI_COMM_WORLD_RANK")),
        0);
    char tasks[16];
    snprintf(tasks, sizeof tasks, "%d", s->tasks);
    assert_int_equal(s->tasks ? setenv("SLURM_STEP_ID", "1", 1) ||
                                    setenv("SLURM_STEP_NUM_TASKS", tasks, 1)
                              : unsetenv("SLURM_STEP_ID"),
                     0);
    err.text[0] = '\0';
    assert_int_equal(carm_run_count(&run, &err), s->rc);
    for (int i = 1; i < NSIG; i++) {
        assert_true(handlers[i].sa_handler == (i == SIGHUP ? SIG_IGN : caller));
    }
    say("status", run.status, 0);
    say("signal", run.signal, 0);
    say("started", run.started, 1);
    say("seconds", run.row.seconds, 0);
    say("user", run.user_seconds, 0);
    say("system", run.system_seconds, 0);
    say("processor", run.cpu_seconds, 0);
    say("huge", run.huge_faults, 0);
    say("queued", run.queued_seconds, 0);
    say("calls", (double)run.row.calls, 1);
    say("share", run.row.share, 1);
    say("threads", run.row.threads, 0);
    say("runs", (double)run.neach, 0);
    for (size_t i = 0; i < run.neach; i++) {
        say("of", run.each[i].seconds, 0);
        say("user", run.each[i].user_seconds, 0);
        say("system", run.each[i].system_seconds, 0);
        say("samples", run.each[i].has_samples ? (double)run.each[i].samples.total : -1.0, -1.0);
    }
    say("samples", run.has_samples ? (double)run.samples.total : -1.0, -1.0);
    say("blocks", run.has_blocks, 0);
    say("again", run.has_again, 0);
    say("totals", run.has_totals, 0);
    say("lost marks", (double)run.marks_lost, 0);
    say("marks", (double)run.nmarks, 0);
    say("prefix", (double)run.prefix.instructions, 0);
    for (int q = 0; q < CARM_Q_COUNT; q++) {
        const struct carm_count *c = &run.row.counts.q[q];
        char word[64];
        snprintf(word, sizeof word, "%s by %d:", carm_quantity_name((enum carm_quantity)q),
                 (int)c->by);
        if (c->by != CARM_COUNTED_NOT && (q <= CARM_Q_FLOPS || c->by == CARM_COUNTED_KERNEL)) {
            say(word, c->value, -1.0);
            say("share", c->share,
                c->by == CARM_COUNTED_KERNEL || c->by == CARM_COUNTED_PMU ? c->share : 1.0);
        }
    }
    say_words("counted", run.counted);
    say_words("note", run.row.note);
    say_words("counts", run.row.counts.note);
    say_words("remedy", run.remedy);
    say_words("unrepeated", run.unrepeated);
    say_words("unsampled", run.unsampled);
    say_words("asks for", run.row.asks_for);
    say_words("failed", err.text);
    say_words("isa", run.row.isa ? run.row.isa : "");
    say_words("rank", run.row.rank);
    assert_string_equal(run.row.name, "row");
    const size_t at = strlen(all);
    snprintf(all + at, ALL_BYTES - at, "%s\n    %s\n", events, said);
    carm_run_close(&run);
    assert_false(run.has_samples || run.has_blocks || run.has_again);
    assert_int_equal(nsamples, 0);
    fail_if(nblocks, "%d left of blocks: %s", nblocks, events);
}

#define ONE                                         \
    {                                               \
        .seconds = 2.0, .user = 1.5, .system = 0.25 \
    }
#define KILLED                                                         \
    {                                                                  \
        .seconds = 2.0, .user = 1.5, .system = 0.25, .status = SIGKILL \
    }
#define ALL                                                                                 \
    {                                                                                       \
        .instructions = 3e9, .flops = 4, .loads = 5, .stores = 6, .bytes = 7, .threads = 1, \
        .processes = 1                                                                      \
    }
#define ENDS(code) ((code) << 8)

TEST(free_runs)
{
    static const struct scenario of[] = {
        {.by = CARM_PROVIDER_NONE, .runs = {ONE}},
        {.by = CARM_PROVIDER_NONE,
         .runs = {{.seconds = 1.0, .user = 0.5, .status = ENDS(3)}},
         .threads = 7},
        {.by = CARM_PROVIDER_NONE,
         .runs = {{.seconds = 1.0, .user = 0.9, .system = 0.7}},
         .repeat = 1},
        {.by = CARM_PROVIDER_NONE, .runs = {{.exec_errno = ENOENT}}, .hz = 99, .rc = -CARM_EIO},
        {.by = CARM_PROVIDER_NONE, .runs = {{.exec_errno = EACCES}}, .rc = -CARM_EIO},
        {.by = CARM_PROVIDER_NONE,
         .runs = {ONE},
         .fails = "launch;",
         .hz = 99,
         .rc = -CARM_ENOTSUP},
        {.by = CARM_PROVIDER_NONE, .runs = {ONE}, .fails = "wait;", .hz = 99, .rc = -CARM_ENOTSUP},
        /* samples */
        {.by = CARM_PROVIDER_NONE,
         .runs = {{.seconds = 2.0, .user = 1.0, .samples = 12}},
         .hz = 99},
        {.by = CARM_PROVIDER_NONE, .runs = {ONE}, .hz = 99},
        {.by = CARM_PROVIDER_NONE, .runs = {ONE}, .hz = 99, .fails = "sampler;"},
        {.by = CARM_PROVIDER_NONE, .runs = {ONE}, .hz = 99, .fails = "begin;"},
        {.by = CARM_PROVIDER_NONE, .runs = {ONE}, .hz = 99, .fails = "samples;"},
        /* several */
        {.by = CARM_PROVIDER_NONE,
         .repeat = 3,
         .hz = 99,
         .runs = {{.seconds = 2.0, .user = 1.0, .system = 0.5, .samples = 12},
                  {.seconds = 3.0, .user = 1.25, .system = 0.25, .samples = 13},
                  {.seconds = 4.0, .user = 1.5, .system = 0.75, .samples = 14}}},
        {.by = CARM_PROVIDER_NONE, .repeat = 3, .runs = {ONE, {.exec_errno = ENOENT}}},
        {.by = CARM_PROVIDER_NONE, .repeat = 3, .runs = {ONE, {.status = ENDS(1)}}},
        {.by = CARM_PROVIDER_NONE, .repeat = 3, .runs = {ONE, ONE}, .unreadable = "01"},
        {.by = CARM_PROVIDER_NONE, .repeat = 3, .runs = {ONE, ONE, ONE}, .unreadable = "001"},
        {.by = CARM_PROVIDER_NONE, .repeat = 2, .runs = {ONE}, .unreadable = "1"},
        {.by = CARM_PROVIDER_NONE,
         .repeat = 2,
         .hz = 99,
         .runs = {{.seconds = 2.0, .user = 1.0, .samples = 12}, ONE}},
        {.by = CARM_PROVIDER_NONE, .repeat = 2, .runs = {KILLED}},
        {.by = CARM_PROVIDER_NONE,
         .repeat = 2,
         .runs = {{.seconds = 2.0, .user = 1.0, .interrupted = true}}},
        {.by = CARM_PROVIDER_NONE,
         .repeat = 3,
         .runs = {ONE, {.seconds = 2.0, .user = 1.0, .interrupted = true}}},
        {.by = CARM_PROVIDER_NONE, .runs = {{.seconds = 0.0}}},
        {.by = CARM_PROVIDER_NONE, .runs = {{.seconds = 1.0, .user = 0.9, .system = 0.59}}},
        /* cut short */
        {.by = CARM_PROVIDER_NONE, .runs = {{.seconds = 1.0, .status = ENDS(124)}}},
        {.by = CARM_PROVIDER_NONE, .runs = {{.seconds = 1.0, .status = ENDS(128)}}},
        {.by = CARM_PROVIDER_NONE, .runs = {{.seconds = 1.0, .status = ENDS(192)}}},
        {.by = CARM_PROVIDER_NONE, .runs = {{.seconds = 1.0, .status = ENDS(193)}}},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        runs(&of[i]);
    }
    compare("free_runs");
}

TEST(steps)
{
    static const struct scenario of[] = {
        {.by = CARM_PROVIDER_STEP, .runs = {ONE, ONE}, .counts = ALL},
        {.by = CARM_PROVIDER_STEP,
         .runs = {ONE},
         .no_time = true,
         .counts =
             {.instructions = 2e6, .flops = 1, .threads = 3, .processes = 2, .status = ENDS(5)}},
        {.by = CARM_PROVIDER_STEP, .runs = {ONE}, .no_time = true, .counts = ALL, .threads = 9},
        {.by = CARM_PROVIDER_STEP, .fails = "ptrace;", .rc = -CARM_ENOTSUP},
        {.by = CARM_PROVIDER_STEP, .fails = "launch;", .no_time = true, .rc = -CARM_ENOTSUP},
        {.by = CARM_PROVIDER_STEP, .runs = {ONE, ONE}, .fails = "trace;", .rc = -CARM_ENOTSUP},
        {.by = CARM_PROVIDER_STEP,
         .runs = {{.exec_errno = ENOENT}},
         .no_time = true,
         .rc = -CARM_EIO},
        {.by = CARM_PROVIDER_STEP, .runs = {KILLED}},
        {.by = CARM_PROVIDER_STEP,
         .runs = {ONE, ONE},
         .unreadable = "01",
         .counts = {.instructions = 99999, .threads = 1, .processes = 1}},
        {.by = CARM_PROVIDER_STEP,
         .runs = {ONE, ONE},
         .counts = {.instructions = 1e5, .status = ENDS(2)}},
        {.by = CARM_PROVIDER_STEP,
         .runs = {ONE},
         .no_time = true,
         .counts = {.instructions = 100, .status = SIGKILL}},
        {.by = CARM_PROVIDER_STEP,
         .runs = {ONE, ONE},
         .unreadable = "01",
         .counts = {.instructions = 100, .cut = CARM_TRACE_BUDGET}},
        {.by = CARM_PROVIDER_STEP,
         .runs = {ONE, ONE},
         .counts = {.instructions = 100, .cut = CARM_TRACE_INTERRUPTED}},
        {.by = CARM_PROVIDER_STEP,
         .runs = {ONE, ONE},
         .counts = {.instructions = 100, .cut = CARM_TRACE_SIGNALLED, .cut_signal = SIGTERM}},
        {.by = CARM_PROVIDER_STEP,
         .runs = {ONE, ONE},
         .counts = {.instructions = 100, .cut = CARM_TRACE_OUTLIVED}},
        {.by = CARM_PROVIDER_STEP,
         .runs = {ONE, ONE},
         .counts = {.instructions = 100, .cut = CARM_TRACE_FAILED}},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        runs(&of[i]);
    }
    compare("steps");
}

TEST(translations)
{
    static const struct scenario of[] = {
        {.by = CARM_PROVIDER_TRANSLATE, .runs = {ONE, ONE}, .counts = ALL},
        {.by = CARM_PROVIDER_TRANSLATE,
         .runs = {ONE, ONE},
         .counts = ALL,
         .whole = true,
         .timed = true},
        {.by = CARM_PROVIDER_TRANSLATE,
         .runs = {ONE, ONE},
         .counts = ALL,
         .sink = true,
         .timed = true,
         .hz = 99},
        {.by = CARM_PROVIDER_TRANSLATE,
         .runs = {ONE, ONE},
         .counts = ALL,
         .sink = true,
         .for_parts = true,
         .timed = true},
        {.by = CARM_PROVIDER_TRANSLATE,
         .runs = {{.seconds = 2.0, .user = 1.5, .samples = 9}, ONE},
         .counts = ALL,
         .sink = true,
         .for_parts = true,
         .timed = true,
         .hz = 99},
        {.by = CARM_PROVIDER_TRANSLATE,
         .runs = {{.seconds = 2.0, .user = 1.5, .samples = 900}, ONE},
         .counts = ALL,
         .sink = true,
         .for_parts = true,
         .timed = true,
         .hz = 99},
        {.by = CARM_PROVIDER_TRANSLATE,
         .no_time = true,
         .cpu = "zen9",
         .runs = {ONE},
         .timed = true,
         .counts = {.instructions = 1e9,
                    .flops = 2,
                    .compared = 1e8 + 1,
                    .varies = 1 | 4 | 256,
                    .threads = 2,
                    .processes = 2,
                    .status = ENDS(4)}},
        {.by = CARM_PROVIDER_TRANSLATE,
         .no_time = true,
         .runs = {ONE},
         .always = true,
         .counts = {.instructions = 999, .compared = 99, .threads = 1, .processes = 1}},
        /* again */
        {.by = CARM_PROVIDER_TRANSLATE,
         .repeat = 2,
         .runs = {ONE, ONE, ONE, ONE},
         .counts = ALL,
         .again = ALL},
        {.by = CARM_PROVIDER_TRANSLATE,
         .repeat = 2,
         .runs = {ONE, ONE, ONE, ONE},
         .counts = ALL,
         .again = {.status = ENDS(1)}},
        {.by = CARM_PROVIDER_TRANSLATE,
         .repeat = 2,
         .runs = {ONE, ONE, ONE, ONE},
         .counts = ALL,
         .again = {.incomplete = "it forked"}},
        {.by = CARM_PROVIDER_TRANSLATE,
         .repeat = 2,
         .runs = {ONE, ONE, ONE, {.exec_errno = ENOENT}},
         .counts = ALL},
        {.by = CARM_PROVIDER_TRANSLATE,
         .repeat = 2,
         .runs = {ONE, ONE, ONE, ONE},
         .counts = ALL,
         .fails = "seek;"},
        {.by = CARM_PROVIDER_TRANSLATE,
         .repeat = 2,
         .runs = {ONE, ONE, ONE, ONE},
         .counts = ALL,
         .fails = "second;"},
        {.by = CARM_PROVIDER_TRANSLATE,
         .repeat = 2,
         .runs = {ONE, ONE, ONE, ONE},
         .counts = ALL,
         .again = ALL,
         .begin = 1},
        {.by = CARM_PROVIDER_TRANSLATE,
         .repeat = 2,
         .runs = {ONE, ONE, ONE, ONE},
         .counts = ALL,
         .begin = -1},
        {.by = CARM_PROVIDER_TRANSLATE, .repeat = 1, .runs = {ONE, ONE}, .counts = ALL},
        {.by = CARM_PROVIDER_TRANSLATE, .no_time = true, .runs = {ONE}, .counts = ALL},
        {.by = CARM_PROVIDER_TRANSLATE,
         .no_time = true,
         .runs = {ONE},
         .counts = {.instructions = 9, .compared = 1}},
        {.by = CARM_PROVIDER_TRANSLATE,
         .no_time = true,
         .runs = {ONE},
         .counts = {.instructions = 9, .compared = 5}},
        /* why not */
        {.by = CARM_PROVIDER_TRANSLATE, .fails = "translator;", .rc = -CARM_ENOTSUP},
        {.by = CARM_PROVIDER_TRANSLATE, .fails = "see;", .cpu = "zen9", .rc = -CARM_ENOTSUP},
        {.by = CARM_PROVIDER_TRANSLATE, .runs = {ONE, ONE}, .fails = "attach;"},
        {.by = CARM_PROVIDER_TRANSLATE, .runs = {ONE, ONE}, .no_time = true, .fails = "attach;"},
        {.by = CARM_PROVIDER_TRANSLATE,
         .runs = {ONE, ONE},
         .fails = "translate;",
         .rc = -CARM_ENOTSUP},
        {.by = CARM_PROVIDER_TRANSLATE,
         .runs = {{.exec_errno = EACCES}},
         .no_time = true,
         .rc = -CARM_EIO},
        {.by = CARM_PROVIDER_TRANSLATE, .runs = {KILLED}},
        {.by = CARM_PROVIDER_TRANSLATE, .runs = {ONE, ONE}, .counts = ALL, .unreadable = "01"},
        {.by = CARM_PROVIDER_TRANSLATE,
         .runs = {ONE, ONE},
         .counts = {.instructions = 5, .incomplete = "it forked"}},
        {.by = CARM_PROVIDER_TRANSLATE,
         .runs = {ONE, ONE},
         .counts = {.instructions = 5, .status = SIGSEGV}},
        {.by = CARM_PROVIDER_TRANSLATE,
         .runs = {ONE, ONE},
         .counts = {.instructions = 5, .status = ENDS(2)}},
        /* other work: 1e6 to 62e9 instructions a second; what is stored may be repeated */
        {.by = CARM_PROVIDER_TRANSLATE,
         .runs = {ONE, ONE},
         .counts = {.instructions = 1.47e6, .flops = 1}},
        {.by = CARM_PROVIDER_TRANSLATE,
         .runs = {ONE, ONE},
         .counts = {.instructions = 1.49e6, .flops = 1}},
        {.by = CARM_PROVIDER_TRANSLATE,
         .runs = {ONE, ONE},
         .counts = {.instructions = 1e6, .bytes = 5e8}},
        {.by = CARM_PROVIDER_TRANSLATE,
         .runs = {ONE, ONE},
         .counts = {.instructions = 1e6, .bytes = 4.7e8}},
        {.by = CARM_PROVIDER_TRANSLATE, .runs = {ONE, ONE}, .counts = {.instructions = 1.09e11}},
        {.by = CARM_PROVIDER_TRANSLATE, .runs = {ONE, ONE}, .counts = {.instructions = 1.1e11}},
        {.by = CARM_PROVIDER_TRANSLATE,
         .runs = {ONE, ONE},
         .counts = {.instructions = 1.1e11, .stores = 1e9}},
        {.by = CARM_PROVIDER_TRANSLATE,
         .runs = {{.seconds = 1.0, .user = 0.5}, ONE},
         .counts = {.instructions = 3.3e10}},
        {.by = CARM_PROVIDER_TRANSLATE,
         .runs = {{.seconds = 0.01, .user = 0.005}, ONE},
         .counts = {.instructions = 9, .flops = 1}},
        {.by = CARM_PROVIDER_TRANSLATE,
         .runs = {{.seconds = 2.0, .user = 1.5, .status = ENDS(124)}, ONE},
         .counts = {.instructions = 3e9, .flops = 1, .status = ENDS(124)}},
        /* regions */
        {.by = CARM_PROVIDER_TRANSLATE, .regions = true, .runs = {ONE, ONE}, .counts = ALL},
        {.by = CARM_PROVIDER_TRANSLATE,
         .regions = true,
         .runs = {ONE, ONE},
         .no_time = true,
         .counts = ALL},
        {.by = CARM_PROVIDER_TRANSLATE, .regions = true, .fails = "regions;", .rc = -CARM_ENOTSUP},
        {.by = CARM_PROVIDER_TRANSLATE, .regions = true, .fails = "first;", .rc = -CARM_ENOTSUP},
        {.by = CARM_PROVIDER_TRANSLATE,
         .regions = true,
         .runs = {ONE, ONE},
         .fails = "again;",
         .rc = -CARM_ENOTSUP},
        {.by = CARM_PROVIDER_TRANSLATE,
         .regions = true,
         .runs = {ONE, ONE},
         .fails = "take;",
         .counts = ALL,
         .rc = -CARM_ENOTSUP},
        {.by = CARM_PROVIDER_TRANSLATE,
         .regions = true,
         .runs = {ONE, ONE},
         .fails = "marks;",
         .counts = ALL,
         .rc = -CARM_ENOTSUP},
        {.by = CARM_PROVIDER_TRANSLATE,
         .regions = true,
         .runs = {ONE, ONE},
         .fails = "a mark;",
         .counts = ALL,
         .rc = -CARM_EIO},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        runs(&of[i]);
    }
    compare("translations");
}

TEST(counters)
{
    static const struct scenario of[] = {
        {.by = CARM_PROVIDER_AUTO, .counted = 7e9, .runs = {ONE, ONE}, .counts = ALL, .hz = 99},
        {.by = CARM_PROVIDER_AUTO, .counted = 7e9, .runs = {ONE}, .whole = true, .hz = 99},
        {.by = CARM_PROVIDER_PAPI,
         .counted = 7e9,
         .runs = {ONE, ONE},
         .whole = true,
         .hz = 99,
         .always = true,
         .repeat = 2},
        {.by = CARM_PROVIDER_AUTO, .counted = 7e9, .runs = {ONE, ONE}, .counts = ALL, .rank = true},
        {.by = CARM_PROVIDER_AUTO, .counted = 7e9, .runs = {ONE}, .fails = "translator;"},
        {.by = CARM_PROVIDER_AUTO,
         .counted = 7e9,
         .runs = {ONE, ONE},
         .counts = ALL,
         .fails = "totals;"},
        {.by = CARM_PROVIDER_AUTO, .counted = 7e9, .runs = {ONE, ONE}, .fails = "attach;"},
        {.by = CARM_PROVIDER_AUTO,
         .counted = 7e9,
         .runs = {ONE, ONE},
         .counts = ALL,
         .fails = "evaluate;"},
        {.by = CARM_PROVIDER_AUTO, .counted = 7e9, .runs = {ONE, ONE}, .counts = ALL, .tasks = 1},
        {.by = CARM_PROVIDER_AUTO, .counted = 7e9, .runs = {ONE, ONE}, .counts = ALL, .tasks = 2},
        {.by = CARM_PROVIDER_AUTO, .counted = 7e9, .runs = {KILLED}},
        {.by = CARM_PROVIDER_AUTO,
         .counted = 7e9,
         .runs = {ONE},
         .whole = true,
         .fails = "sockets;"},
        {.by = CARM_PROVIDER_AUTO, .counted = 7e9, .runs = {ONE}, .whole = true, .fails = "halt;"},
        {.by = CARM_PROVIDER_AUTO,
         .counted = 7e9,
         .runs = {ONE},
         .whole = true,
         .fails = "evaluate;"},
        {.by = CARM_PROVIDER_AUTO,
         .counted = 7e9,
         .runs = {ONE},
         .whole = true,
         .hz = 99,
         .always = true,
         .fails = "set;",
         .rc = -CARM_ENOTSUP},
        {.by = CARM_PROVIDER_AUTO,
         .counted = 7e9,
         .runs = {ONE},
         .whole = true,
         .fails = "start;",
         .rc = -CARM_ENOTSUP},
        {.by = CARM_PROVIDER_AUTO,
         .counted = 7e9,
         .runs = {ONE},
         .whole = true,
         .fails = "stop;",
         .rc = -CARM_ENOTSUP},
        {.by = CARM_PROVIDER_AUTO,
         .counted = 7e9,
         .runs = {ONE},
         .whole = true,
         .fails = "launch;",
         .rc = -CARM_ENOTSUP},
        {.by = CARM_PROVIDER_AUTO,
         .counted = 7e9,
         .runs = {{.exec_errno = ENOENT}},
         .whole = true,
         .rc = -CARM_EIO},
        /* none */
        {.by = CARM_PROVIDER_AUTO, .runs = {ONE, ONE}, .counts = ALL},
        {.by = CARM_PROVIDER_AUTO, .runs = {ONE, ONE}, .counts = ALL, .rank = true, .repeat = 2},
        {.by = CARM_PROVIDER_AUTO,
         .runs = {ONE, ONE},
         .counts = ALL,
         .fails = "translator;",
         .repeat = 2},
        {.by = CARM_PROVIDER_AUTO, .runs = {ONE, ONE}, .counts = ALL, .fails = "recipe;"},
        {.by = CARM_PROVIDER_LIKWID, .runs = {ONE}, .rc = -CARM_ENOTSUP},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        runs(&of[i]);
    }
    compare("counters");
}

/* carm passes SIGTERM and SIGHUP on to the program, at the end to processes that the program has left behind, and starts no
 * further run. Each case has a process of its own, as carm remembers a signal. */
TEST(signals_passed_on)
{
    static const struct scenario of[] = {
        {.by = CARM_PROVIDER_NONE,
         .repeat = 2,
         .runs = {{.seconds = 1.0, .user = 0.5, .passed = SIGTERM}}},
        {.by = CARM_PROVIDER_NONE,
         .repeat = 3,
         .runs = {ONE, {.seconds = 1.0, .user = 0.5, .passed = SIGTERM}}},
        {.by = CARM_PROVIDER_TRANSLATE, .runs = {ONE, {.passed = SIGTERM}}, .counts = ALL},
        {.by = CARM_PROVIDER_TRANSLATE, .runs = {{.seconds = 1.0, .user = 0.5, .passed = SIGTERM}}},
        {.by = CARM_PROVIDER_TRANSLATE,
         .repeat = 2,
         .runs = {ONE, ONE, ONE, {.passed = SIGTERM}},
         .counts = ALL,
         .again = ALL},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        int status = 0;
        (void)fflush(stdout);
        const pid_t pid = fork();
        if (pid == 0) {
            runs(&of[i]);
            (void)fflush(stdout);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    compare("signals_passed_on");
}
