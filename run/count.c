/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/count.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/job.h"
#include "base/observer.h"
#include "base/text.h"
#include "harness/count/step/counts.h"
#include "harness/machine/cpu.h"
#include "harness/profile/faults.h"
#include "harness/profile/profile.h"
#include "run/input.h"
#include "run/launch.h"
#include "run/marks.h"
#include "run/regions.h"
#include "run/trace.h"
#include "harness/translate/run.h"
#include "harness/translate/tally.h"

static volatile sig_atomic_t child_pid;
static volatile sig_atomic_t passed_on; /* the signal that was passed on to the program; 0 = none */

static void pass_on(int sig)
{
    const int code = errno;
    if (child_pid > 0) {
        passed_on = sig;
        prctl(PR_SET_CHILD_SUBREAPER, 1); /* processes that the program leaves behind become
                                           * children of carm */
        kill((pid_t)child_pid, sig);
    }
    errno = code;
}

static void note_interrupt(int sig)
{
    (void)sig;
    carm_interrupted = 1;
}

static const struct {
    int number;
    void (*handler)(int);
} watched[] = {
    {SIGTERM, pass_on},
    {SIGHUP, pass_on},
    /* the terminal sends these signals to carm and to the program; the program decides whether to end */
    {SIGINT, note_interrupt},
    {SIGQUIT, note_interrupt},
};
enum { WATCHED = sizeof watched / sizeof *watched };
static struct sigaction unwatched[WATCHED];

/* Handles signals while the program runs. Signals that carm inherited as ignored stay ignored. */
static void watch_signals(pid_t pid)
{
    child_pid = pid;
    for (size_t i = 0; i < WATCHED; i++) {
        const struct sigaction action = {.sa_handler = watched[i].handler, .sa_flags = SA_RESTART};
        sigaction(watched[i].number, NULL, &unwatched[i]);
        if (unwatched[i].sa_handler != SIG_IGN) {
            sigaction(watched[i].number, &action, NULL);
        }
    }
}

/* After the program's end: the signals end carm again, so that a long evaluation can be stopped. */
static void unwatch_signals(void)
{
    child_pid = 0;
    for (size_t i = 0; i < WATCHED; i++) {
        sigaction(watched[i].number, &unwatched[i], NULL);
    }
    carm_interrupt_release();
}

static void note_status(struct carm_run *run, int status)
{
    run->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    run->status = run->signal ? 128 + run->signal : WEXITSTATUS(status);
}

/* Sets the status of a program that was not found or is not executable, in a shell's notation. */
static void note_unstarted(struct carm_run *run, const struct carm_launch *launch)
{
    run->status = launch->exec_errno == ENOENT ? 127 : 126;
}

/* Notes the kernel's figures for ended processes. */
static void note_usage(struct carm_run *run, const struct rusage *u)
{
    struct carm_counts *c = &run->row.counts;
    run->user_seconds = carm_launch_seconds(u->ru_utime);
    run->system_seconds = carm_launch_seconds(u->ru_stime);
    run->cpu_seconds = run->user_seconds + run->system_seconds;
    carm_count_put(c, CARM_Q_TASK_SECONDS, run->cpu_seconds, CARM_COUNTED_KERNEL);
    carm_count_put(c, CARM_Q_PAGE_FAULTS, (double)(u->ru_minflt + u->ru_majflt),
                   CARM_COUNTED_KERNEL);
    carm_count_put(c, CARM_Q_CONTEXT_SWITCHES, (double)(u->ru_nvcsw + u->ru_nivcsw),
                   CARM_COUNTED_KERNEL);
    if (run->row.threads == 0 && run->row.seconds > 0.0) {
        const double busy = run->cpu_seconds / run->row.seconds;
        run->row.threads = (int)fmax(1.0, round(busy));
    }
}

/* Opens the sampler; NULL = not asked for, or not possible: run->unsampled has the reason. */
static struct carm_sampler *open_sampler(struct carm_run *run)
{
    struct carm_sampler *sampler = NULL;
    struct carm_err why = {""};
    if (run->hz && carm_sampler_open(&sampler, run->hz, &why) != 0) {
        snprintf(run->unsampled, sizeof run->unsampled, "%.511s", why.text);
        sampler = NULL;
    }
    if (sampler) {
        carm_sampler_kinds(sampler, run->kinds, run->nkinds);
    }
    return sampler;
}

/* keep  the samples are wanted */
static void close_sampler(struct carm_run *run, struct carm_sampler *sampler, bool keep)
{
    struct carm_err why = {""};
    if (!sampler || !keep) {
        carm_sampler_close(sampler, NULL, NULL);
    } else if (carm_sampler_close(sampler, &run->samples, &why) == 0) {
        run->has_samples = true;
    } else {
        snprintf(run->unsampled, sizeof run->unsampled, "%.511s", why.text);
    }
}

/* Starts the program that carm_launch_open holds, waits for its end, and takes time and usage.
 * sampler   samples the program; NULL = none
 * announce  a sentence for the user when the program has been found; NULL = none */
static int run_timed(struct carm_run *run, struct carm_launch *launch, struct carm_sampler *sampler,
                     const char *announce, struct carm_err *err)
{
    struct rusage usage;
    struct carm_err why = {""};
    int status = 0;
    if (sampler && carm_sampler_begin(sampler, launch->pid, &why) != 0) {
        snprintf(run->unsampled, sizeof run->unsampled, "%.511s", why.text);
        close_sampler(run, sampler, false);
        sampler = NULL;
    }
    watch_signals(launch->pid);
    const double huge = carm_huge_faults(), begin = carm_seconds_now();
    int rc = carm_launch_go(launch, run->argv[0], err);
    if (rc) {
        unwatch_signals();
        note_unstarted(run, launch);
        close_sampler(run, sampler, false);
        return rc;
    }
    run->started = true;
    if (announce) {
        carm_observer_say(run->observer, "%s", announce);
    }
    rc = carm_launch_wait(launch, &status, &usage, err);
    unwatch_signals();
    if (!rc) {
        run->row.seconds = carm_seconds_now() - begin;
        note_status(run, status);
        note_usage(run, &usage);
        run->huge_faults = carm_huge_faults() - huge;
        run->queued_seconds = launch->queued;
    }
    close_sampler(run, sampler, true);
    return rc;
}

/* Runs the program without counting.
 * quiet without its output */
static int run_free(struct carm_run *run, bool quiet, const char *announce, struct carm_err *err)
{
    struct carm_launch launch;
    struct carm_sampler *sampler = open_sampler(run);
    int rc = carm_launch_open(&launch, run->argv, carm_sampler_environment(sampler),
                              quiet ? CARM_LAUNCH_QUIET : 0, err);
    if (rc) {
        close_sampler(run, sampler, false);
    } else {
        rc = run_timed(run, &launch, sampler, announce, err);
    }
    carm_launch_close(&launch);
    return rc;
}

/* ---- counters ---- */

/* Opens the sockets' counters, which need more rights than a program's. Without these rights the
 * row has neither DRAM bytes nor energy, and a note with the reason. */
static struct carm_counter_set *open_sockets(struct carm_counters *counters, char *note,
                                             size_t size)
{
    const struct carm_counter_target target = {.kind = CARM_TARGET_SOCKETS};
    struct carm_counter_set *set = NULL;
    struct carm_err why = {""};
    int rc = carm_counter_set_open(&set, counters, target, CARM_GROUPS_ALL, &why);
    rc = rc ? rc : carm_counter_set_start(set, &why);
    if (rc) {
        snprintf(note, size, "DRAM bytes: %.200s", why.text);
        carm_counter_set_close(set);
        return NULL;
    }
    return set;
}

static void take_known(struct carm_run *run, const struct carm_counts *counts)
{
    for (int q = 0; q < CARM_Q_COUNT; q++) {
        if (carm_count_has(counts, (enum carm_quantity)q)) {
            run->row.counts.q[q] = counts->q[q];
        }
    }
}

/* Runs the program while the CPU's counters count it.
 * announce  see run_timed */
static int run_counted(struct carm_run *run, struct carm_counters *counters, const char *announce,
                       struct carm_err *err)
{
    const struct carm_recipe *recipe = carm_counters_recipe(counters);
    struct carm_reading *readings = calloc(recipe->nevents * 2, sizeof *readings);
    struct carm_counter_set *set = NULL;
    struct carm_counter_set *sockets = NULL;
    struct carm_counts counts;
    struct carm_launch launch;
    char note[256] = "";
    if (!readings) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the counters");
    }
    struct carm_reading *more = readings + recipe->nevents;
    struct carm_sampler *sampler = open_sampler(run);
    int rc = carm_launch_open(&launch, run->argv, carm_sampler_environment(sampler), 0, err);
    if (!rc) {
        const struct carm_counter_target target = {CARM_TARGET_PROCESS, launch.pid};
        rc = carm_counter_set_open(&set, counters, target, CARM_GROUPS_ALL, err);
    }
    rc = rc ? rc : carm_counter_set_start(set, err);
    if (rc) {
        close_sampler(run, sampler, false);
        goto out;
    }
    sockets = open_sockets(counters, note, sizeof note);
    rc = run_timed(run, &launch, sampler, announce, err);
    rc = rc ? rc : carm_counter_set_stop(set, readings, err);
    if (rc) {
        goto out;
    }
    struct carm_err why = {""};
    if (sockets && carm_counter_set_stop(sockets, more, &why) == 0) {
        for (size_t i = 0; i < recipe->nevents; i++) {
            readings[i] = more[i].present ? more[i] : readings[i];
        }
    } else if (sockets) {
        snprintf(note, sizeof note, "DRAM bytes: %.200s", why.text);
    }
    if (carm_recipe_evaluate(recipe, readings, NULL, &counts, &why) != 0) {
        snprintf(run->counted, sizeof run->counted, "unavailable: %.200s", why.text);
    } else {
        take_known(run, &counts);
        carm_recipe_note_missing(recipe, &counts);
        snprintf(run->row.counts.note, sizeof run->row.counts.note, "%s", counts.note);
        snprintf(run->row.note, sizeof run->row.note, "%s", note);
        snprintf(run->counted, sizeof run->counted, "the CPU's counters by %s, as %s has them",
                 carm_provider_name(carm_counters_provider(counters)), recipe->title);
    }
out:
    carm_counter_set_close(sockets);
    carm_counter_set_close(set);
    carm_launch_close(&launch);
    free(readings);
    return rc;
}

/* ---- stepping ---- */

static void show_progress(uint64_t instructions, void *arg)
{
    carm_observer_step(arg, "stepping: %.1f million instructions", 1e-6 * (double)instructions);
}

static const char read_once[] =
    "the program reads standard input that can be read only once (a pipe or a terminal)";
static const char read_once_remedy[] =
    "give it the input as a file (`< file`), or use --no-time: one run, without its time";

#define REGIONS                                                                             \
    "regions (carm.h; carm run --regions --counters step), of which a sample of the calls " \
    "is stepped"
static const struct {
    const char *why, *remedy;
} cuts[] = {
    [CARM_TRACE_WHOLE] = {"", "run it again; if it ends so again, step " REGIONS},
    [CARM_TRACE_BUDGET] = {"the budget ended",
                           "use a larger --steps, a smaller problem, or " REGIONS},
    [CARM_TRACE_INTERRUPTED] = {"the stepping was stopped", ""},
    [CARM_TRACE_SIGNALLED] = {"", "run it again and let it end by itself: with a smaller problem, "
                                  "or with " REGIONS},
    [CARM_TRACE_OUTLIVED] = {"a child process was still running when the program ended",
                             "let the program wait for its children (keep it in the foreground), "
                             "or use " REGIONS},
    [CARM_TRACE_FAILED] = {"ptrace or memory failed", "use a smaller problem, or " REGIONS},
};

/* Notes why the counts do not describe the program.
 * timed_status  exit status of the timed run, -1 = no timed run
 * same_input    both runs had the same standard input
 * returns false when the counts describe the program */
static bool explain_cut(struct carm_run *run, const struct carm_trace *trace, int timed_status,
                        bool same_input)
{
    const bool whole = trace->cut == CARM_TRACE_WHOLE;
    const char *remedy = whole && !same_input ? read_once_remedy : cuts[trace->cut].remedy;
    char why[192];
    if (trace->cut == CARM_TRACE_SIGNALLED) {
        snprintf(why, sizeof why, "signal %d (%s) came from outside during the stepped run",
                 trace->cut_signal, strsignal(trace->cut_signal));
    } else if (!whole || !same_input) {
        snprintf(why, sizeof why, "%s", whole ? read_once : cuts[trace->cut].why);
    } else if (run->signal) {
        snprintf(why, sizeof why, "signal %d (%s) ended the stepped run", run->signal,
                 strsignal(run->signal));
    } else if (timed_status >= 0 && run->status != timed_status) {
        snprintf(why, sizeof why,
                 "the timed run ended with status %d, the stepped run with status %d", timed_status,
                 run->status);
    } else {
        return false;
    }
    snprintf(run->remedy, sizeof run->remedy, "%s", remedy);
    run->prefix = trace->counts;
    const double n = (double)trace->counts.instructions;
    snprintf(
        run->counted, sizeof run->counted,
        "unavailable: %.130s after %.*f%s instructions, and a part of a program cannot be scaled "
        "to the whole",
        why, n < 1e5 ? 0 : 1, n < 1e5 ? n : 1e-6 * n, n < 1e5 ? "" : " million");
    return true;
}

/* Takes the counts of a whole program. head: a phrase that names the counter, such as
 * "single-stepping". */
static void take_counts(struct carm_run *run, const struct carm_step_counts *from,
                        enum carm_counted by, const char *head, uint64_t processes,
                        uint64_t threads)
{
    struct carm_counts counts;
    carm_step_counts_to_counts(from, 1.0, &counts);
    for (int q = 0; q < CARM_Q_COUNT; q++) {
        counts.q[q].by = carm_count_has(&counts, (enum carm_quantity)q) ? by : CARM_COUNTED_NOT;
    }
    take_known(run, &counts);
    snprintf(run->counted, sizeof run->counted,
             "%s of %.2f million instructions in %llu process%s and %llu thread%s", head,
             1e-6 * (double)from->instructions, (unsigned long long)processes,
             processes == 1 ? "" : "es", (unsigned long long)threads, threads == 1 ? "" : "s");
    snprintf(run->row.counts.note, sizeof run->row.counts.note, "%s", counts.note);
}

/* Whether a signal ended the program, or came for it or carm. */
static bool was_stopped(const struct carm_run *run)
{
    return run->signal || carm_interrupted || passed_on;
}

/* Keeps a free run's times, and a copy of its samples. */
static int keep_run(struct carm_run *run, const struct carm_run *one)
{
    struct carm_run_once *each = realloc(run->each, (run->neach + 1) * sizeof *each);
    if (!each) {
        return -CARM_ENOMEM;
    }
    run->each = each;
    each += run->neach++;
    *each = (struct carm_run_once){one->row.seconds,
                                   one->user_seconds,
                                   one->system_seconds,
                                   one->has_samples,
                                   {.nsamples = 0}};
    if (one->has_samples) {
        carm_modules_open(&each->samples.modules);
        return carm_samples_add(&each->samples, &one->samples, NULL);
    }
    return 0;
}

/* One more free run. returns why it cannot be used, or NULL */
static const char *run_again(struct carm_run *run, const struct carm_input *input)
{
    struct carm_run again = *run;
    const char *wrong = NULL;
    again.has_samples = false;
    if (run_free(&again, true, NULL, NULL) != 0) {
        wrong = "it did not start";
    } else if (again.status != run->status) {
        wrong = "it ended with another status than the first run";
    } else if (!carm_input_rewind(input)) {
        wrong = "it reads standard input that can be read only once (a pipe or a terminal)";
    } else if (again.has_samples != run->has_samples) {
        wrong = "it could not be sampled";
    } else if (keep_run(run, &again) != 0 ||
               (again.has_samples && carm_samples_add(&run->samples, &again.samples, NULL) != 0)) {
        wrong = "there is not enough memory";
    }
    if (again.has_samples) {
        carm_samples_close(&again.samples);
    }
    return wrong;
}

/* Makes more free runs, for more times and samples, as long as they end like the first run. Their
 * output is discarded. The first run that cannot be used ends the series; the runs before it
 * count. */
static void run_repeatedly(struct carm_run *run, const struct carm_input *input)
{
    const char *wrong = NULL;
    double user = 0.0, system = 0.0;
    if (run->repeat < 2 || was_stopped(run)) {
        return;
    }
    wrong = !carm_input_rewind(input) ? "standard input cannot be read again"
            : keep_run(run, run) != 0 ? "there is not enough memory"
                                      : NULL;
    while (!wrong && run->neach < run->repeat) {
        wrong = run_again(run, input);
        if (carm_interrupted || passed_on) {
            wrong = "a signal came";
        }
    }
    for (size_t i = 0; i < run->neach; i++) {
        user += run->each[i].user_seconds / (double)run->neach;
        system += run->each[i].system_seconds / (double)run->neach;
    }
    if (run->neach) {
        run->user_seconds = user;
        run->system_seconds = system;
        run->cpu_seconds = user + system;
    }
    if (wrong) {
        snprintf(run->unrepeated, sizeof run->unrepeated, "%zu of %u runs were made: %s",
                 run->neach ? run->neach : 1, run->repeat, wrong);
    }
}

#define ADD_NOTE(run, ...) carm_text_list((run)->row.note, sizeof(run)->row.note, "; ", __VA_ARGS__)

/* Notes why the row, with the counters' counts, has no parts. */
static void note_uncounted(struct carm_run *run, const char *why)
{
    ADD_NOTE(run, "loops were not counted, because %.230s", why);
}

/* counters  count this run; NULL = none */
static int run_first(struct carm_run *run, struct carm_counters *counters, const char *announce,
                     struct carm_err *err)
{
    return counters ? run_counted(run, counters, announce, err)
                    : run_free(run, false, announce, err);
}

/* The first of two runs, for the time.
 * ended  out: a signal ended the program, so no second run follows */
static int run_for_time(struct carm_run *run, struct carm_counters *counters, const char *announce,
                        struct carm_input *input, bool *ended, struct carm_err *err)
{
    carm_input_first(input);
    const int rc = run_first(run, counters, announce, err);
    if (!rc && !was_stopped(run)) {
        carm_input_again(input);
        run_repeatedly(run, input);
        (void)carm_input_rewind(input); /* carm_input_end reports the result */
    }
    *ended = !rc && was_stopped(run);
    if (*ended && counters) {
        note_uncounted(run, "a signal ended the run");
    } else if (*ended) {
        snprintf(run->counted, sizeof run->counted,
                 "unavailable: the timed run was ended by a signal, so there was no run "
                 "for the counts");
    }
    return rc;
}

/* When there was a timed run, its status is reported instead of the counted run's. */
static void settle(struct carm_run *run, int timed_status, uint64_t threads)
{
    if (timed_status < 0) {
        run->row.threads = run->row.threads ? run->row.threads : (int)threads;
        return;
    }
    run->status = timed_status;
    run->signal = 0; /* the timed run's, like time and status */
}

/* The launch flags of a run for counts. */
static unsigned counted_flags(const struct carm_run *run)
{
    return CARM_LAUNCH_PLACED | (run->no_time ? 0 : CARM_LAUNCH_QUIET);
}

static int run_stepped(struct carm_run *run, struct carm_err *err)
{
    struct carm_launch launch;
    struct carm_trace trace = {.budget = run->budget,
                               .interrupted = &carm_interrupted,
                               .progress = show_progress,
                               .progress_arg = run->observer};
    struct carm_input input;
    bool ended = false;
    int rc = carm_trace_check(err);
    if (!rc && !run->no_time) {
        rc = run_for_time(run, NULL, NULL, &input, &ended, err);
    }
    if (!rc && ended) {
        return 0;
    }
    rc = rc ? rc
            : carm_launch_open(&launch, run->argv, NULL, CARM_LAUNCH_TRACED | counted_flags(run),
                               err);
    if (rc) {
        return rc;
    }
    watch_signals(launch.pid);
    carm_observer_begin(run->observer, 0.0);
    rc = carm_trace_run(launch.pid, &trace, err);
    carm_observer_end(run->observer);
    unwatch_signals();
    launch.pid = rc ? launch.pid : -1;
    rc = rc ? rc : carm_launch_go(&launch, run->argv[0], err);
    if (rc && launch.exec_errno) {
        note_unstarted(run, &launch);
    }
    carm_launch_close(&launch);
    if (rc) {
        return rc;
    }
    const int timed_status = run->no_time ? -1 : run->status;
    const bool same_input = run->no_time || carm_input_end(&input);
    run->started = true;
    note_status(run, trace.status);
    if (!explain_cut(run, &trace, timed_status, same_input)) {
        take_counts(run, &trace.counts, CARM_COUNTED_STEPPED, "single-stepping", trace.processes,
                    trace.threads);
    }
    settle(run, timed_status, trace.threads);
    return 0;
}

/* ---- translation ---- */

/* Notes code that translation did not count; the CPU's counters may have counted it. */
static void explain_uncounted(struct carm_run *run, const struct carm_counters *counters,
                              const char *why)
{
    if (counters) {
        note_uncounted(run, why);
    } else {
        snprintf(run->counted, sizeof run->counted, "unavailable: not counted, because %.200s",
                 why);
    }
}

/* Notes why the counts do not describe the program. returns false when they do */
static bool explain_incomplete(struct carm_run *run, const struct carm_counters *counters,
                               const struct carm_translation *translation, int timed_status,
                               bool same_input)
{
    char why[256];
    if (!same_input) {
        snprintf(why, sizeof why, "%s", read_once);
        snprintf(run->remedy, sizeof run->remedy, "%s", read_once_remedy);
    } else if (translation->incomplete[0]) {
        snprintf(why, sizeof why, "%s", translation->incomplete);
    } else if (passed_on) {
        snprintf(why, sizeof why, "a signal came from outside during the counted run");
    } else if (run->signal) {
        snprintf(why, sizeof why, "signal %d (%s) ended the counted run", run->signal,
                 strsignal(run->signal));
    } else if (timed_status >= 0 && run->status != timed_status) {
        snprintf(why, sizeof why,
                 "the timed run ended with status %d, the counted run with status %d", timed_status,
                 run->status);
    } else {
        return false;
    }
    explain_uncounted(run, counters, why);
    return true;
}

/* Counts the program, which waits before its exec. */
static int run_attached(struct carm_run *run, struct carm_translator *translator,
                        struct carm_launch *launch, struct carm_translation *translation,
                        struct carm_err *err)
{
    watch_signals(launch->pid);
    int rc = carm_launch_go(launch, run->argv[0], err);
    if (rc) {
        unwatch_signals();
        note_unstarted(run, launch);
        return rc;
    }
    run->started = true;
    rc = carm_translator_run(translator, translation, err);
    unwatch_signals();
    launch->pid = rc ? launch->pid : -1;
    return rc;
}

/* With --repeat: a second counted run shows which counts differ from run to run. Nothing is done
 * when the program cannot be repeated.
 * input  offset at which standard input began; -1 = it cannot be read again */
static void count_again(struct carm_run *run, off_t input)
{
    struct carm_launch launch = {.pid = -1, .gate = -1, .report = -1, .keeper = -1};
    struct carm_translation translation = {.stock = CARM_STOCK_KEPT,
                                           .interrupted = &carm_interrupted,
                                           .ended = unwatch_signals,
                                           .blocks = &run->again};
    struct carm_translator *translator = NULL;
    struct carm_run copy = *run;
    const off_t after = lseek(STDIN_FILENO, 0, SEEK_CUR);
    if (input < 0 || lseek(STDIN_FILENO, input, SEEK_SET) != input) {
        return;
    }
    int rc = carm_translator_open(&translator, NULL, NULL);
    rc = rc ? rc
            : carm_launch_open(&launch, run->argv, NULL, CARM_LAUNCH_QUIET | CARM_LAUNCH_PLACED,
                               NULL);
    rc = rc ? rc : carm_translator_attach(translator, launch.pid, run->argv[0], NULL);
    rc = rc ? rc : run_attached(&copy, translator, &launch, &translation, NULL);
    if (!rc) {
        note_status(&copy, translation.status);
        run->has_again = !translation.incomplete[0] && !passed_on && copy.status == run->status;
        if (!run->has_again) {
            carm_blocks_close(&run->again);
        }
    }
    carm_launch_close(&launch);
    carm_translator_close(translator);
    lseek(STDIN_FILENO, after, SEEK_SET);
}

/* Notes code that may change, which is compared at each execution. Such code runs 5 to 10 times
 * slower than uncounted (docs/results.md), so the note comes from a tenth of the instructions
 * on. */
static void note_compared(struct carm_run *run, const struct carm_translation *translation)
{
    const double share =
        (double)translation->compared / (double)(translation->counts.instructions + 1);
    if (share >= 0.1) {
        carm_text_append(
            run->counted, sizeof run->counted,
            "; %.0f%% of them in code that is compiled or changed at run time, which takes longer "
            "to count",
            100.0 * share);
    }
}

/* "the time, process numbers" */
static void note_varies(struct carm_run *run, uint32_t varies)
{
#define TEXT(name, text) text,
    static const char *const texts[] = {CARM_VARIES_TABLE(TEXT)};
#undef TEXT
    run->row.asks_for[0] = '\0';
    for (int i = 0; i < CARM_VARIES_KINDS; i++) {
        if (varies >> i & 1) {
            carm_text_list(run->row.asks_for, sizeof run->row.asks_for, ", ", "%s", texts[i]);
        }
    }
}

/* Compares the totals by counters (free run) and by translation (counted run). Quantities that
 * translation does not count (cycles, DRAM bytes) stay the counters'. */
static void take_both(struct carm_run *run, const struct carm_counters *counters,
                      const struct carm_translation *translation)
{
    const struct carm_counts by_counters = run->row.counts;
    take_counts(run, &translation->counts, CARM_COUNTED_TRANSLATED, "translation",
                translation->processes, translation->threads);
    note_compared(run, translation);
    note_varies(run, translation->varies);
    if (counters && carm_count_has(&by_counters, CARM_Q_INSTRUCTIONS)) {
        carm_totals_compare(&run->totals, carm_counters_provider(counters),
                            carm_counters_recipe(counters), &by_counters, &run->row.counts);
        run->has_totals = run->totals.n > 0;
    }
}

/* Least plausible instructions a second of a whole program. A chain of loads that all miss caches and TLB of a virtual
 * machine executes some 6e6. */
static const double slowest = 1e6;

/* Notes when the counts of the counted run are impossible in the time of the free run: the two
 * runs then did different work. */
static void note_other_work(struct carm_run *run)
{
    const double n = run->row.counts.q[CARM_Q_INSTRUCTIONS].value;
    const double most = CARM_PROFILE_FASTEST * (run->cpu_seconds + CARM_RUN_SHORTEST_SECONDS);
    /* a repeated string instruction counts once for each element; large copies move 1e9 byte/s or more */
    const double stored = run->row.counts.q[CARM_Q_STORES].value;
    const double bytes = run->row.counts.q[CARM_Q_BYTES].value;
    const double least = slowest * (run->user_seconds - CARM_RUN_SHORTEST_SECONDS - 1e-9 * bytes);
    if (run->cpu_seconds > 0.0 && (n - stored > most || n < least)) {
        ADD_NOTE(run,
                 "the runs differ: %.3g instructions were counted, but the run that was timed took "
                 "%.3g s of processor time",
                 n, run->cpu_seconds);
    }
}

/* The rows of marked code (include/carm_count.h). */
static int take_marks(struct carm_run *run, const struct carm_marks *marks, struct carm_err *err)
{
    int rc = carm_marks_rows(marks->of, marks->n, &run->marks, &run->nmarks, err);
    run->marks_lost = marks->lost;
    return rc || run->nmarks == 0
               ? rc
               : carm_row_append(run->regions, run->marks, (int)run->nmarks, err);
}

/* regions   count the regions instead of the program; NULL = the program
 * counters  count the free run; NULL = none */
static int run_translated(struct carm_run *run, struct carm_translator *translator,
                          const struct carm_regions *regions, struct carm_counters *counters,
                          const char *announce, struct carm_err *err)
{
    struct carm_launch launch = {.pid = -1, .gate = -1, .report = -1, .keeper = -1};
    struct carm_marks marks = {.of = NULL};
    struct carm_translation translation = {.stock = CARM_STOCK_KEPT,
                                           .interrupted = &carm_interrupted,
                                           .marks = regions ? &marks : NULL,
                                           .ended = unwatch_signals,
                                           .blocks = run->by_code ? &run->blocks : NULL};
    struct carm_err why = {""};
    struct carm_input input = {.begin = -1, .empty = -1};
    bool ended = false;
    int rc = regions && !run->no_time ? carm_regions_first(regions, err) : 0;
    rc = rc || run->no_time ? rc : run_for_time(run, counters, announce, &input, &ended, err);
    rc = rc || !regions ? rc : carm_regions_again(regions, err);
    const bool parts = carm_run_shows_parts(run) || (run->sink && !run->for_parts);
    translation.blocks = parts ? translation.blocks : NULL;
    if (!parts) {
        carm_translator_drop_addresses(translator);
    } else if (!rc && !ended && !run->no_time && run->timed) {
        run->timed(run->timed_arg, run->cpu_seconds);
    }
    rc = rc || ended ? rc : carm_launch_open(&launch, run->argv, NULL, counted_flags(run), err);
    if (rc || ended) {
        goto out;
    }
    if (carm_translator_attach(translator, launch.pid, run->argv[0], &why) != 0) {
        explain_uncounted(run, counters, why.text);
        carm_launch_close(&launch);
        rc = run->no_time ? run_free(run, false, NULL, err) : 0;
        goto out;
    }
    rc = run_attached(run, translator, &launch, &translation, err);
    if (!rc) {
        const int timed_status = run->no_time ? -1 : run->status;
        const bool same_input = run->no_time || carm_input_end(&input);
        note_status(run, translation.status);
        const bool whole =
            !explain_incomplete(run, counters, &translation, timed_status, same_input);
        run->has_blocks = run->by_code && whole;
        if (run->has_blocks && !translation.blocks) {
            carm_blocks_open(&run->blocks);
        } else if (!run->has_blocks &&
                   translation.blocks) { /* the blocks of a part of the program */
            carm_blocks_close(&run->blocks);
        }
        if (whole && regions) {
            rc = carm_regions_take(regions, run->regions, err);
            rc = rc ? rc : take_marks(run, &marks, err);
        } else if (whole) {
            take_both(run, counters, &translation);
            note_other_work(run);
        }
        if (parts && run->has_blocks && !run->no_time && run->repeat > 1) {
            count_again(run, input.begin);
        }
        settle(run, timed_status, translation.threads);
    }
out:
    free(marks.of);
    carm_launch_close(&launch);
    return rc;
}

/* --counters translate */
static int run_asked(struct carm_run *run, struct carm_err *err)
{
    struct carm_translator *translator = NULL;
    struct carm_regions regions = {-1, -1};
    int rc = carm_translator_open(&translator, run->sink, err);
    rc = rc || !run->cpu ? rc : carm_translator_see(translator, run->cpu, err);
    rc = rc || !run->regions ? rc : carm_regions_open(&regions, err);
    rc = rc ? rc : run_translated(run, translator, run->regions ? &regions : NULL, NULL, NULL, err);
    if (!rc && run->cpu && carm_count_has(&run->row.counts, CARM_Q_INSTRUCTIONS)) {
        ADD_NOTE(run, "as on %s", run->cpu);
    }
    carm_regions_close(&regions);
    carm_translator_close(translator);
    return rc;
}

/* Runs the program without a run for counts: once, and more often for times.
 * counters  count the first run; NULL = none */
static int run_alone(struct carm_run *run, struct carm_counters *counters, struct carm_err *err)
{
    struct carm_input input;
    carm_input_first(&input);
    const int rc = run_first(run, counters, NULL, err);
    if (!rc && run->repeat > 1 && !was_stopped(run)) {
        carm_input_again(&input);
        run_repeatedly(run, &input);
        (void)carm_input_end(&input);
    }
    return rc;
}

/* Whether the program must run only once: a launcher expects each rank to begin and end once. */
static bool runs_once(void)
{
    struct carm_job job;
    carm_job_read(&job);
    return job.mpi || job.tasks > 1;
}

/* Runs the program when no counters work and the user did not ask for translation: tells the observer that the
 * program runs twice, unless it must run only once.
 * why  reason why there are no counters */
static int run_without_counters(struct carm_run *run, const char *why, struct carm_err *err)
{
    static const char twice[] =
        "no counters work here, so the program ran twice (--counters none: once)";
    struct carm_translator *translator = NULL;
    struct carm_err failed = {""};
    if (runs_once()) {
        snprintf(run->remedy, sizeof run->remedy,
                 "a rank of a parallel program runs only once: --counters translate --no-time "
                 "counts it in that run, without its time");
    } else if (carm_translator_open(&translator, run->sink, &failed) != 0) {
        snprintf(run->remedy, sizeof run->remedy,
                 "`carm info` says why each counter back end does not work; translation: %.150s",
                 failed.text);
    } else {
        const int rc = run_translated(run, translator, NULL, NULL, twice, err);
        carm_translator_close(translator);
        return rc;
    }
    snprintf(run->counted, sizeof run->counted, "unavailable: %.230s", why);
    run->repeat = runs_once() ? 1 : run->repeat;
    return run_alone(run, NULL, err);
}

/* The CPU's counters count the free run. If the program may run twice, translation counts the
 * loops in a second run. */
static int run_with_counters(struct carm_run *run, struct carm_counters *counters,
                             struct carm_err *err)
{
    static const char twice[] =
        "the program ran twice, the second time to count its loops (--whole: once)";
    struct carm_translator *translator = NULL;
    struct carm_err failed = {""};
    int rc;
    if (run->by_code && !runs_once() &&
        carm_translator_open(&translator, run->sink, &failed) == 0) {
        rc = run_translated(run, translator, NULL, counters, twice, err);
        carm_translator_close(translator);
        return rc;
    }
    run->hz = run->always_sampled ? run->hz : 0;
    rc = run_alone(run, counters, err);
    if (!rc && run->by_code) {
        note_uncounted(run, failed.text[0]
                                ? failed.text
                                : "a rank of a parallel program runs only once; "
                                  "--counters translate --no-time counts them in that run");
    }
    return rc;
}

/* ---- which back end ---- */

static void note_short(struct carm_run *run)
{
    if (carm_run_is_short(run) && carm_count_has(&run->row.counts, CARM_Q_FLOPS)) {
        ADD_NOTE(run, "it ran less than %.0f ms: start and end of the process are a large part",
                 1e3 * CARM_RUN_SHORTEST_SECONDS);
    }
}

/* Notes that a program was cut short: by a signal, by a shell's notation for one, or by timeout(1), whose exit status
 * is 124. A second run would be cut at another point. */
static void note_cut(struct carm_run *run)
{
    enum { TIMEOUT = 124, SIGNALLED = 128, SIGNALS = 64 };
    const int signo = run->signal ? run->signal
                      : run->status > SIGNALLED && run->status <= SIGNALLED + SIGNALS
                          ? run->status - SIGNALLED
                          : 0;
    if (!run->started || (!signo && run->status != TIMEOUT) || strstr(run->row.note, "signal") ||
        strstr(run->counted, "signal")) {
        return;
    }
    const bool twice =
        run->row.counts.q[CARM_Q_INSTRUCTIONS].by == CARM_COUNTED_TRANSLATED && !run->no_time;
    ADD_NOTE(run, "it was cut (exit status %d, %s)%s", run->status,
             signo ? "a signal" : "as of timeout",
             twice ? ": the timed and the counted run ended at different points, so rates are wrong"
                   : ", so this is not all of its work");
}

int carm_run_count(struct carm_run *run, struct carm_err *err)
{
    struct carm_cpu cpu;
    struct carm_recipe *recipe = NULL;
    struct carm_counters *counters = NULL;
    struct carm_err why = {""};
    int rc;
    memset(&run->row, 0, sizeof run->row);
    snprintf(run->row.name, sizeof run->row.name, "%s", run->name);
    run->row.calls = 1;
    run->row.share = 1.0;
    run->row.threads = run->threads;
    if (run->provider == CARM_PROVIDER_STEP) {
        rc = run_stepped(run, err);
        goto out;
    }
    if (run->provider == CARM_PROVIDER_TRANSLATE) {
        rc = run_asked(run, err);
        goto out;
    }
    if (run->provider == CARM_PROVIDER_NONE) {
        snprintf(run->counted, sizeof run->counted, "unavailable: --counters none");
        rc = run_alone(run, NULL, err);
        goto out;
    }
    carm_cpu_read(&cpu);
    rc = carm_recipe_find(cpu.vendor, cpu.family, cpu.model, &recipe, &why);
    rc = rc ? rc : carm_counters_open(&counters, run->provider, recipe, &why);
    if (!rc) {
        rc = run_with_counters(run, counters, err);
    } else if (run->provider == CARM_PROVIDER_AUTO) {
        rc = run_without_counters(run, why.text, err);
    } else {
        rc = carm_fail(err, CARM_ENOTSUP, "%.500s", why.text);
    }
    carm_counters_close(counters);
    carm_recipe_free(recipe);
out:
    if (passed_on) {
        carm_launch_pass_on(passed_on);
    }
    carm_row_describe(&run->row);
    note_short(run);
    if (!run->row.note[0] && strncmp(run->counted, "unavailable", 11) == 0) {
        snprintf(run->row.note, sizeof run->row.note, "%s", run->counted + 13);
    }
    note_cut(run);
    return rc;
}

void carm_run_close(struct carm_run *run)
{
    for (size_t i = 0; i < run->neach; i++) {
        if (run->each[i].has_samples) {
            carm_samples_close(&run->each[i].samples);
        }
    }
    free(run->each);
    free(run->marks);
    if (run->has_samples) {
        carm_samples_close(&run->samples);
    }
    if (run->has_blocks) {
        carm_blocks_close(&run->blocks);
    }
    if (run->has_again) {
        carm_blocks_close(&run->again);
    }
    run->has_samples = run->has_blocks = run->has_again = false;
}
