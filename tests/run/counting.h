/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of a program, their counters, samples and counts, as a scenario has them; they write down what is asked of them. */
#pragma once

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/observer.h"
#include "harness/count/evaluate.h"
#include "harness/machine/cpu.h"
#include "harness/profile/faults.h"
#include "harness/translate/run.h"
#include "run/count.h"
#include "run/input.h"
#include "run/launch.h"
#include "run/marks.h"
#include "run/regions.h"
#include "run/trace.h"
#include "tests/events.h"

enum { RUNS = 4 };

/* A run of the program */
struct planned {
    double seconds, user, system;
    int status;       /* as waitpid gives it */
    int exec_errno;   /* it does not start */
    unsigned samples; /* 0 = it has none */
    bool interrupted; /* the terminal's signal comes while it runs */
    int passed;       /* another signal that comes */
};

struct planned_counts {
    double instructions, flops, loads, stores, bytes, compared; /* of a translation or stepping */
    enum carm_trace_cut cut;
    int cut_signal, status;
    unsigned threads, processes, varies;
    const char *incomplete;
};

struct scenario {
    enum carm_provider by;
    bool no_time, whole, always, regions, sink, for_parts, rank, timed;
    const char *cpu;
    unsigned hz, repeat;
    int threads;
    struct planned runs[RUNS];
    struct planned_counts counts, again;
    const char *fails;      /* calls that fail, with ";" behind each */
    const char *unreadable; /* of the input in turn: "1" = not the same */
    double counted;         /* instructions by counters; 0 = none */
    int begin, tasks;       /* of the input and 1; of a job */
    int rc;
};

static const struct scenario *now_is;
static char said[4096];
static double now;
static int nruns, ntranslations, ntranslators, ninputs, marked;
static int nsamples, nblocks; /* that are open */
static off_t at_input;
volatile sig_atomic_t carm_interrupted;
static struct sigaction handlers[NSIG];
static const struct planned *running;

static int fails(const char *call, struct carm_err *e)
{
    return now_is->fails && strstr(now_is->fails, call)
               ? carm_fail(e, CARM_ENOTSUP, "no %.*s", (int)strcspn(call, ";"), call)
               : 0;
}

/* ---- signals ---- */

static void caller(int signo)
{
}

int sigaction(int signo, const struct sigaction *wanted, struct sigaction *before)
{
    if (before) {
        *before = handlers[signo];
    }
    if (!before && signo == SIGTERM && wanted->sa_handler == caller &&
        handlers[signo].sa_handler != caller) {
        handlers[signo].sa_handler(signo); /* a signal that comes just before */
    }
    handlers[signo] = wanted ? *wanted : handlers[signo];
    return 0;
}

int kill(pid_t pid, int signo)
{
    note("kill %d+%d; ", (int)pid, signo);
    errno = ESRCH;
    return 0;
}

int prctl(int option, ...)
{
    va_list ap;
    va_start(ap, option);
    note("prctl %d, %lu; ", option, va_arg(ap, unsigned long));
    va_end(ap);
    return 0;
}

void carm_interrupt_watch(void)
{
}

void carm_interrupt_release(void)
{
    note("released; ");
}

/* ---- the program ---- */

double carm_seconds_now(void)
{
    return now;
}

double carm_seconds_queued(pid_t pid)
{
    return 0.0;
}

double carm_huge_faults(void)
{
    return 10.0 * now;
}

int carm_launch_open(struct carm_launch *launch, char *const *argv, char *const *environment,
                     unsigned flags, struct carm_err *e)
{
    note("open%s%s%s%s; ", flags & CARM_LAUNCH_QUIET ? " quiet" : "",
         flags & CARM_LAUNCH_TRACED ? " traced" : "", flags & CARM_LAUNCH_PLACED ? " placed" : "",
         environment ? " sampled" : "");
    *launch = (struct carm_launch){.pid = 100 + nruns, .gate = -1, .report = -1, .keeper = -1};
    assert_true(nruns < RUNS);
    return fails("launch;", e);
}

static void come(const struct planned *p)
{
    running = p;
    if (p->interrupted) {
        handlers[SIGINT].sa_handler(SIGINT);
        handlers[SIGQUIT].sa_handler(SIGQUIT);
        assert_int_equal(carm_interrupted, 1);
    }
    if (p->passed) {
        errno = EAGAIN;
        handlers[p->passed].sa_handler(p->passed);
        assert_int_equal(errno, EAGAIN);
    }
}

int carm_launch_go(struct carm_launch *launch, const char *name, struct carm_err *e)
{
    const struct planned *p = &now_is->runs[nruns++];
    assert_string_equal(name, "it");
    launch->exec_errno = p->exec_errno;
    if (p->exec_errno) {
        return carm_fail(e, CARM_EIO, "no program");
    }
    running = p;
    return 0;
}

int carm_launch_wait(struct carm_launch *launch, int *status, struct rusage *usage,
                     struct carm_err *e)
{
    come(running);
    now += running->seconds;
    *status = running->status;
    *usage = (struct rusage){.ru_utime.tv_usec = (suseconds_t)(1e6 * running->user),
                             .ru_stime.tv_usec = (suseconds_t)(1e6 * running->system),
                             .ru_minflt = 30,
                             .ru_majflt = 4,
                             .ru_nvcsw = 5,
                             .ru_nivcsw = 60};
    launch->queued = 0.25;
    launch->pid = -1;
    note("run; ");
    return fails("wait;", e);
}

double carm_launch_seconds(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

void carm_launch_pass_on(int signo)
{
    note("pass on %d; ", signo);
}

void carm_launch_close(struct carm_launch *launch)
{
    const bool none =
        launch->pid == -1 && launch->gate == -1 && launch->report == -1 && launch->keeper == -1;
    note("%s; ", launch->pid > 0 ? "close it" : none ? "closed" : "what is closed?");
}

/* ---- samples and counters ---- */

int carm_sampler_open(struct carm_sampler **out, unsigned hz, struct carm_err *e)
{
    note("sampler %u; ", hz);
    *out = (struct carm_sampler *)events;
    return fails("sampler;", e);
}

void carm_sampler_kinds(struct carm_sampler *sampler, const uint8_t *kinds, size_t n)
{
    assert_int_equal(n, 2);
    note("kinds; ");
}

char *const *carm_sampler_environment(const struct carm_sampler *sampler)
{
    static char *const environment[] = {NULL};
    return sampler ? environment : NULL;
}

int carm_sampler_begin(struct carm_sampler *sampler, pid_t pid, struct carm_err *e)
{
    assert_int_equal(pid, 100 + nruns);
    return fails("begin;", e);
}

int carm_sampler_close(struct carm_sampler *sampler, struct carm_samples *out, struct carm_err *e)
{
    note("samples %s; ", out ? "kept" : "gone");
    if (!out || fails("samples;", e)) {
        return out ? -CARM_ENOTSUP : 0;
    }
    memset(out, 0, sizeof *out);
    carm_modules_open(&out->modules);
    out->total = running->samples;
    nsamples += running->samples > 0;
    return running->samples ? 0 : carm_fail(e, CARM_ENOTSUP, "no samples");
}

int carm_samples_add(struct carm_samples *to, const struct carm_samples *from, struct carm_err *e)
{
    static const struct carm_modules none;
    if (to->total == 0) {
        assert_true(memcmp(&to->modules, &none, sizeof none) != 0); /* it was opened */
        assert_int_equal(to->nsamples, 0);
        nsamples++;
    }
    to->total += from->total;
    return fails("add;", e);
}

void carm_samples_close(struct carm_samples *samples)
{
    assert_true(samples->total > 0);
    nsamples--;
    *samples = (struct carm_samples){.total = 0};
}

static struct carm_recipe recipe = {.title = "a core", .nevents = 2};

void carm_cpu_read(struct carm_cpu *cpu)
{
    memset(cpu, 0, sizeof *cpu);
    strcpy(cpu->vendor, "this");
}

int carm_recipe_find(const char *vendor, int family, int model, struct carm_recipe **out,
                     struct carm_err *e)
{
    assert_string_equal(vendor, "this");
    *out = &recipe;
    return fails("recipe;", e);
}

void carm_recipe_free(struct carm_recipe *r)
{
}

int carm_recipe_evaluate(const struct carm_recipe *r, const struct carm_reading *readings,
                         const bool *must, struct carm_counts *out, struct carm_err *e)
{
    memset(out, 0, sizeof *out);
    carm_count_put(out, CARM_Q_INSTRUCTIONS, now_is->counted, CARM_COUNTED_PMU);
    carm_count_put(out, CARM_Q_CYCLES, readings[0].count, CARM_COUNTED_PMU);
    carm_count_put(out, CARM_Q_REF_CYCLES, readings[1].count, CARM_COUNTED_PMU);
    snprintf(out->note, sizeof out->note, "by events");
    return fails("evaluate;", e);
}

void carm_recipe_note_missing(const struct carm_recipe *r, struct carm_counts *counts)
{
    strcat(counts->note, ", some");
}

int carm_counters_open(struct carm_counters **out, enum carm_provider provider,
                       const struct carm_recipe *r, struct carm_err *e)
{
    *out = (struct carm_counters *)events;
    return now_is->counted > 0.0 ? 0 : carm_fail(e, CARM_ENOTSUP, "no counters");
}

void carm_counters_close(struct carm_counters *counters)
{
}

const struct carm_recipe *carm_counters_recipe(const struct carm_counters *counters)
{
    return &recipe;
}

enum carm_provider carm_counters_provider(const struct carm_counters *counters)
{
    return CARM_PROVIDER_PAPI;
}

/* Sets: of the process, and of the sockets, which count the second event */
int carm_counter_set_open(struct carm_counter_set **out, struct carm_counters *counters,
                          struct carm_counter_target target, int group, struct carm_err *e)
{
    const bool sockets = target.kind == CARM_TARGET_SOCKETS;
    assert_true(sockets || target.pid == 100 + nruns);
    *out = (struct carm_counter_set *)(events + (sockets ? 1 : 2));
    note("count %s; ", sockets ? "sockets" : "it");
    return fails(sockets ? "sockets;" : "set;", e);
}

int carm_counter_set_start(struct carm_counter_set *set, struct carm_err *e)
{
    return fails("start;", e);
}

int carm_counter_set_stop(struct carm_counter_set *set, struct carm_reading *readings,
                          struct carm_err *e)
{
    const bool sockets = set == (struct carm_counter_set *)(events + 1);
    for (size_t i = 0; i < 2; i++) {
        readings[i] = (struct carm_reading){.present = sockets == (i == 0),
                                            .count = (sockets ? 200.0 : 100.0) + (double)i};
    }
    return fails(sockets ? "halt;" : "stop;", e);
}

void carm_counter_set_close(struct carm_counter_set *set)
{
    note("%s", set ? "uncount; " : "");
}

void carm_totals_compare(struct carm_totals *totals, enum carm_provider provider,
                         const struct carm_recipe *r, const struct carm_counts *counters,
                         const struct carm_counts *counted)
{
    assert_true(provider == CARM_PROVIDER_PAPI && r == &recipe);
    note("totals %g and %g; ", counters->q[CARM_Q_INSTRUCTIONS].value,
         counted->q[CARM_Q_INSTRUCTIONS].value);
    totals->n = !fails("totals;", NULL);
}

/* ---- counts ---- */

static void take(struct carm_step_counts *to, const struct planned_counts *from)
{
    memset(to, 0, sizeof *to);
    to->instructions = (uint64_t)from->instructions;
    to->flops[0][0] = (uint64_t)from->flops;
    to->loads = (uint64_t)from->loads;
    to->stores = (uint64_t)from->stores;
    to->load_bytes = (uint64_t)from->bytes;
}

int carm_trace_check(struct carm_err *e)
{
    return fails("ptrace;", e);
}

int carm_trace_run(pid_t pid, struct carm_trace *trace, struct carm_err *e)
{
    const struct planned_counts *from = &now_is->counts;
    assert_true(pid == 100 + nruns && trace->budget == 999 &&
                trace->interrupted == &carm_interrupted);
    assert_true(handlers[SIGTERM].sa_handler != caller);
    trace->progress(2500000, trace->progress_arg);
    take(&trace->counts, from);
    trace->cut = from->cut;
    trace->cut_signal = from->cut_signal;
    trace->status = from->status;
    trace->threads = from->threads;
    trace->processes = from->processes;
    note("step; ");
    return fails("trace;", e);
}

int carm_translator_open(struct carm_translator **out, const struct carm_address_sink *sink,
                         struct carm_err *e)
{
    *out = (struct carm_translator *)events;
    note("translator%s; ", sink ? " of addresses" : "");
    return ntranslators++ ? fails("second;", e) : fails("translator;", e);
}

void carm_translator_close(struct carm_translator *translator)
{
}

int carm_translator_see(struct carm_translator *translator, const char *cpu, struct carm_err *e)
{
    note("see %s; ", cpu);
    return fails("see;", e);
}

void carm_translator_drop_addresses(struct carm_translator *translator)
{
    note("no addresses; ");
}

int carm_translator_attach(struct carm_translator *translator, pid_t pid, const char *name,
                           struct carm_err *e)
{
    assert_string_equal(name, "it");
    return fails("attach;", e);
}

int carm_translator_run(struct carm_translator *translator, struct carm_translation *out,
                        struct carm_err *e)
{
    const struct planned_counts *from = ntranslations++ ? &now_is->again : &now_is->counts;
    assert_true(out->interrupted == &carm_interrupted && out->stock == CARM_STOCK_KEPT);
    note("translate%s%s; ", out->blocks ? " blocks" : "", out->marks ? " marks" : "");
    come(running);
    out->ended();
    assert_true(handlers[SIGTERM].sa_handler == caller);
    take(&out->counts, from);
    out->status = from->status;
    out->threads = from->threads;
    out->processes = from->processes;
    out->compared = (uint64_t)from->compared;
    out->varies = from->varies;
    snprintf(out->incomplete, sizeof out->incomplete, "%s",
             from->incomplete ? from->incomplete : "");
    if (out->blocks && !fails("translate;", NULL)) {
        carm_blocks_open(out->blocks);
    }
    if (out->marks) {
        out->marks->lost = 6;
    }
    return fails("translate;", e);
}

int carm_marks_rows(const struct carm_mark *marks, size_t n, struct carm_row **rows, size_t *nrows,
                    struct carm_err *e)
{
    *rows = calloc(1, sizeof **rows);
    *nrows = strstr(now_is->fails ? now_is->fails : "", "a mark;") ? 1 : 0;
    note("marks; ");
    return fails("marks;", e);
}

int carm_regions_open(struct carm_regions *regions, struct carm_err *e)
{
    note("open regions; ");
    *regions = (struct carm_regions){5, 6};
    return fails("regions;", e);
}

void carm_regions_close(struct carm_regions *regions)
{
    assert_true((regions->times == 5 && regions->counts == 6) ||
                (regions->times == -1 && regions->counts == -1));
}

int carm_regions_first(const struct carm_regions *regions, struct carm_err *e)
{
    note("first; ");
    return fails("first;", e);
}

int carm_regions_again(const struct carm_regions *regions, struct carm_err *e)
{
    note("again; ");
    return fails("again;", e);
}

int carm_regions_take(const struct carm_regions *regions, const char *path, struct carm_err *e)
{
    note("regions to %s; ", path);
    return fails("take;", e);
}

void carm_blocks_open(struct carm_blocks *blocks)
{
    memset(blocks, 0, sizeof *blocks);
    nblocks++;
}

void carm_blocks_close(struct carm_blocks *blocks)
{
    nblocks--;
}

/* ---- input and user ---- */

static bool is_same(void)
{
    const char *u = now_is->unreadable ? now_is->unreadable : "";
    const size_t at = (size_t)ninputs++;
    return at >= strlen(u) || u[at] != '1';
}

void carm_input_first(struct carm_input *input)
{
    *input = (struct carm_input){.begin = now_is->begin ? now_is->begin - 1 : 4, .empty = -1};
    note("input; ");
}

void carm_input_again(struct carm_input *input)
{
    note("input again; ");
}

bool carm_input_rewind(const struct carm_input *input)
{
    note("rewind; ");
    return is_same();
}

bool carm_input_end(struct carm_input *input)
{
    note("input's end; ");
    return is_same();
}

off_t lseek(int fd, off_t to, int whence)
{
    assert_int_equal(fd, STDIN_FILENO);
    assert_true(whence == SEEK_SET || (whence == SEEK_CUR && to == 0));
    if (whence == SEEK_SET) {
        note("seek %d; ", (int)to);
        at_input = strstr(now_is->fails ? now_is->fails : "", "seek;") ? -1 : to;
    }
    return at_input;
}

void carm_observer_begin(struct carm_observer *o, double seconds)
{
    note("begin %g; ", seconds);
}

void carm_observer_step(struct carm_observer *o, const char *format, ...)
{
    char text[128];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    note("'%s'; ", text);
}

double carm_observer_end(struct carm_observer *o)
{
    note("end; ");
    return 0.0;
}

void carm_observer_say(const struct carm_observer *o, const char *format, ...)
{
    char text[128];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    note("'%s'; ", text);
}

static void note_time(void *arg, double seconds)
{
    note("timed %g; ", seconds);
    assert_ptr_equal(arg, &marked);
}

static void say(const char *word, double value, double usual)
{
    const size_t at = strlen(said);
    if (value != usual) {
        snprintf(said + at, sizeof said - at, "%s %.6g; ", word, value);
    }
}

static void say_words(const char *word, const char *text)
{
    const size_t at = strlen(said);
    if (text[0]) {
        snprintf(said + at, sizeof said - at, "%s '%s'; ", word, text);
    }
}
