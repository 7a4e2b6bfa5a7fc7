/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When the snapshots of a program's loops are taken, and what becomes of them: the program, its clock and the copies of
 * its loops are this file's. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <time.h>

#include "base/observer.h"
#include "harness/machine/clock.h"
#include "harness/profile/symbols.h"
#include "harness/whatif/stop.h"
#include "harness/whatif/trial.h"
#include "run/launch.h"
#include "run/whatif.h"
#include "tests/events.h"

enum { HEAD = 0x400000, FILE_AT = 0x1000, FILE_SIZE = 0x800 };

/* ---- a program ---- */

static double now, length, stood; /* seconds: of the clock, of the program without its stops */
static double reached;            /* by the program: from then on it is in its loops */
static bool masked, untraced, unreadable, refused;
static const char *wrong;
static double spent[CARM_WHATIF_SNAPSHOTS + 1]; /* by the snapshots of a loop */
static struct carm_trial_result given[CARM_WHATIF_LOOPS][CARM_WHATIF_SNAPSHOTS + 1];
static struct carm_trial begun; /* as a loop's trial begins */
static int taken[CARM_WHATIF_LOOPS];
static int ends, maps, watches;
static bool without_clock; /* of the program's processor time */
static double signalled;   /* when carm gets SIGTERM; 0 = never */
static double waited;      /* when the program's end was awaited */
volatile sig_atomic_t carm_interrupted;

double carm_seconds_now(void)
{
    return now;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    now += (double)wanted->tv_sec + 1e-9 * (double)wanted->tv_nsec;
    return 0;
}

int clock_getcpuclockid(pid_t pid, clockid_t *clock)
{
    *clock = CLOCK_PROCESS_CPUTIME_ID;
    return pid == 77 && !without_clock ? 0 : ESRCH;
}

/* Half of the program's time is processor time. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
    const double seconds = 0.5 * (now - 100.0 - stood);
    *t = (struct timespec){(time_t)seconds, (long)(1e9 * (seconds - floor(seconds)))};
    return 0;
}

void carm_interrupt_watch(void)
{
    watches++;
}

void carm_interrupt_release(void)
{
    watches--;
}

static struct sigaction handlers[NSIG];

static void caller(int signo)
{
}

/* A signal may come just before the caller's handler is back. */
int sigaction(int signo, const struct sigaction *wanted, struct sigaction *before)
{
    struct sigaction *of = &handlers[signo];
    if (before) {
        *before = *of;
    } else if (wanted && wanted->sa_handler == caller && of->sa_handler != caller) {
        const sig_atomic_t interrupted = carm_interrupted;
        of->sa_handler(signo);
        carm_interrupted = interrupted;
    }
    *of = wanted ? *wanted : *of;
    return 0;
}

int kill(pid_t pid, int signo)
{
    note("signal %d to %d; ", signo, (int)pid);
    return 0;
}

void carm_observer_begin(struct carm_observer *observer, double seconds)
{
    note("for %.3f s; ", seconds);
}

void carm_observer_step(struct carm_observer *observer, const char *format, ...)
{
    va_list ap;
    char words[80];
    va_start(ap, format);
    vsnprintf(words, sizeof words, format, ap);
    va_end(ap);
    note("'%s'; ", words);
}

double carm_observer_end(struct carm_observer *observer)
{
    note("end; ");
    return 0.0;
}

int carm_clock_open(struct carm_clock *clock, struct carm_err *e)
{
    *clock = (struct carm_clock){.tsc_hz = 2e9};
    return 0;
}

int carm_launch_open(struct carm_launch *launch, char *const *argv, char *const *environment,
                     unsigned flags, struct carm_err *e)
{
    assert_true(flags == (CARM_LAUNCH_QUIET | CARM_LAUNCH_PLACED) && !environment);
    launch->pid = 77;
    return 0;
}

int carm_launch_go(struct carm_launch *launch, const char *name, struct carm_err *e)
{
    return refused ? carm_fail(e, CARM_EIO, "no program %s", name) : 0;
}

void carm_launch_close(struct carm_launch *launch)
{
    assert_int_equal(launch->pid, refused ? 77 : -1);
    ends++;
}

bool carm_stop_ended(struct carm_stop *stop)
{
    assert_int_equal(stop->pid, 77);
    assert_int_equal(watches, 1);
    if (signalled > 0.0 && now - 100.0 >= signalled) {
        signalled = 0.0;
        handlers[SIGTERM].sa_handler(SIGTERM);
        handlers[SIGHUP].sa_handler(SIGHUP);
        assert_int_equal(carm_interrupted, 1);
    }
    stop->masked = masked;
    stop->untraced = untraced;
    return now - 100.0 - stood >= length;
}

void carm_stop_await_end(struct carm_stop *stop)
{
    waited = now - 100.0;
    now = fmax(now, 100.0 + stood + length);
}

/* A loop is reached at once, the last one first. */
int carm_stop_at(struct carm_stop *stop, const uint64_t *heads, size_t n, double seconds,
                 const volatile sig_atomic_t *interrupted, pid_t *thread)
{
    assert_true(interrupted == &carm_interrupted && n > 0 && n <= CARM_STOP_HEADS);
    assert_true(seconds >= 0.005 && seconds <= 0.2);
    if (now - 100.0 - stood < reached) {
        now += seconds;
        return -1;
    }
    *thread = 78;
    return (int)n - 1;
}

void carm_stop_release(struct carm_stop *stop)
{
    note("on; ");
}

int carm_memory_open(struct carm_memory *memory, pid_t pid, struct carm_err *e)
{
    static char loops[] = "/loops", other[] = "/other";
    static struct carm_area areas[] = {
        {.begin = HEAD,
         .end = HEAD + FILE_SIZE / 2,
         .offset = FILE_AT,
         .executable = true,
         .path = loops},
        {.begin = 0x10000, .end = 0x20000, .offset = 0, .path = loops},
        {.begin = 0x30000, .end = 0x40000, .offset = 0, .executable = true, .path = other},
        {.begin = HEAD + FILE_SIZE / 2,
         .end = HEAD + FILE_SIZE,
         .offset = FILE_AT + FILE_SIZE / 2,
         .executable = true,
         .path = loops},
        /* behind the last one */
        {.begin = HEAD + FILE_SIZE,
         .end = HEAD + 2 * FILE_SIZE,
         .offset = FILE_AT + FILE_SIZE,
         .executable = true,
         .path = loops}};
    maps++;
    *memory = (struct carm_memory){.areas = areas, .n = 4};
    return 0;
}

void carm_memory_close(struct carm_memory *memory)
{
}

bool carm_child_read(pid_t pid, uint64_t at, void *to, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ((uint8_t *)to)[i] = (uint8_t)(at + i);
    }
    return !unreadable;
}

int carm_trial_open(struct carm_trial *trial, uint64_t head, const struct carm_body_piece *pieces,
                    size_t npieces, struct carm_err *e)
{
    size_t bytes = 0;
    note("%.3f open %x", now - 100.0, (unsigned)head);
    for (size_t i = 0; i < npieces; i++) {
        assert_ptr_equal(pieces[i].bytes, pieces[0].bytes + bytes);
        bytes += pieces[i].n;
        note(" %x+%zu:%x:%.2f", (unsigned)pieces[i].at, pieces[i].n, pieces[i].bytes[0],
             pieces[i].taken);
    }
    note("; ");
    assert_true(malloc_usable_size((void *)pieces[0].bytes) >= bytes);
    assert_true(malloc_usable_size((void *)pieces) >= npieces * sizeof *pieces);
    *trial = begun;
    trial->body.head = head;
    return begun.wrong[0] ? carm_fail(e, CARM_ENOTSUP, "%s", begun.wrong) : 0;
}

void carm_trial_close(struct carm_trial *trial)
{
    note("close; ");
}

void carm_trial_measure(struct carm_trial *trial, pid_t thread,
                        const struct carm_trial_settings *settings,
                        struct carm_trial_result *result)
{
    const size_t loop = (trial->body.head - HEAD) / 0x100;
    const int n = taken[loop]++;
    note("%.3f %zu of %.3f, %.3f%s; ", now - 100.0, loop, settings->seconds, settings->limit,
         trial->body.takes_long ? " long" : "");
    assert_true(settings->memory == 99 && settings->tsc_hz == 2e9 && settings->copy == 2.0 &&
                settings->stop == &carm_interrupted && thread == 78);
    *result = given[loop][n];
    result->spent = spent[n];
    now += spent[n];
    stood += spent[n];
    snprintf(trial->wrong, sizeof trial->wrong, "%s", n == 1 && wrong ? wrong : "");
}

int carm_symbols_open(struct carm_symbols **out, struct carm_err *e)
{
    *out = (struct carm_symbols *)events;
    return 0;
}

void carm_symbols_close(struct carm_symbols *symbols)
{
}

struct carm_symbols_module *carm_symbols_find(struct carm_symbols *symbols, const char *path,
                                              uint64_t code, int fd)
{
    assert_string_equal(path, "/loops");
    assert_int_equal(fd, -1);
    return (struct carm_symbols_module *)symbols;
}

char *carm_symbols_source(char *dst, size_t size, const struct carm_symbols_module *module,
                          uint64_t at, uint64_t last)
{
    snprintf(dst, size, "loops.c:%x", (unsigned)at);
    return dst;
}

/* ---- a run of it ---- */

CLOSED_BY(carm_modules_close)

static struct carm_code_piece pieces[] = {
    {.at = FILE_AT, .end = FILE_AT + 8, .executions = 10.0, .taken = 9.0},
    {.at = FILE_AT + 0x100, .end = FILE_AT + 0x104, .executions = 10.0, .taken = -1.0},
    {.at = FILE_AT + 0x110, .end = FILE_AT + 0x113, .executions = 0.0, .taken = 0.0},
    {.at = FILE_AT + FILE_SIZE, .end = FILE_AT + FILE_SIZE + 4}};
static struct carm_flow_code codes[] = {
    {.at = FILE_AT, .npieces = 1, .nops = 1, .pieces = pieces},
    {.at = FILE_AT + 0x100, .npieces = 2, .nops = 1, .pieces = pieces + 1},
    {.at = FILE_AT + FILE_SIZE, .npieces = 1, .nops = 1, .pieces = pieces + 3}};
static struct carm_profile_row rows[12];
static struct carm_profile profile;
static struct carm_run run;
static struct carm_run_whatif w;

static int set_up(void **state)
{
    static char *argv[] = {"loops", NULL};
    uint32_t number = 0;
    for (size_t i = 0; i < 3; i++) {
        rows[i] = (struct carm_profile_row){.kind = CARM_PROFILE_LOOP,
                                            .share = 0.4 - 0.1 * (double)i,
                                            .samples = 100,
                                            .samples_inside = 100000,
                                            .executions = 1000000,
                                            .code = i + 1};
    }
    profile = (struct carm_profile){
        .rows = rows, .nrows = 1, .codes = codes, .ncodes = 3, .has_time = true, .samples = 100};
    carm_modules_close(&run.blocks.modules); /* of a case before this one */
    run = (struct carm_run){.argv = argv,
                            .has_blocks = true,
                            .row.seconds = 2.0,
                            .user_seconds = 1.5,
                            .system_seconds = 0.5};
    carm_modules_open(&run.blocks.modules);
    (void)closed_later(by_carm_modules_close, &run.blocks.modules);
    assert_ok(carm_modules_add(&run.blocks.modules, "/loops", 6, 1, -1, &number));
    now = 100.0;
    length = 2.0;
    stood = reached = signalled = waited = 0.0;
    without_clock = false;
    maps = watches = 0;
    handlers[SIGTERM].sa_handler = handlers[SIGHUP].sa_handler = caller;
    events[0] = '\0';
    masked = untraced = unreadable = refused = false;
    wrong = NULL;
    begun = (struct carm_trial){.iterations = 100.0, .cpus = 4, .inside_l1 = 1.0};
    memset(taken, 0, sizeof taken);
    for (size_t n = 0; n <= CARM_WHATIF_SNAPSHOTS; n++) {
        spent[n] = 0.25;
        for (size_t i = 0; i < CARM_WHATIF_LOOPS; i++) {
            struct carm_trial_result *r = &given[i][n];
            *r = (struct carm_trial_result){.null = 1.0, .seconds = 0.8e-6, .inside = 1.0};
            for (int k = 0; k < CARM_TRIAL_CHANGES; k++) {
                r->nulls[k] = 1.0;
                r->ratio[k] = 1.0 + 0.1 * k;
            }
        }
    }
    return 0;
}

static char said[4096];

static void say(const char *word, double value)
{
    const size_t at = strlen(said);
    if (value != 0.0) {
        snprintf(said + at, sizeof said - at, "%s %.4g; ", word, value);
    }
}

static void say_loop(const struct carm_whatif_loop *l, bool changes)
{
    say("row", (double)l->row);
    say("nest", l->nest);
    say("share", l->share);
    say("snapshots", l->snapshots);
    say("null", l->null);
    say("copied", l->copied);
    say("inside", l->inside);
    say("seconds", l->seconds);
    say("cpus", l->cpus);
    for (size_t i = 0; i < CARM_BODY_STREAMS; i++) {
        const struct carm_whatif_stream *t = &l->streams[i];
        if (t->loads || t->stores) {
            say(t->source, t->loads + 100.0 * t->stores + 10000.0 * (double)t->stride);
        }
    }
    snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", l->why);
    for (int k = 0; k < CARM_WHATIF_KINDS && changes && !l->why[0]; k++) {
        const struct carm_whatif_change *c = &l->changes[k];
        const size_t at = strlen(said);
        snprintf(said + at, sizeof said - at, "%s", carm_whatif_word((enum carm_whatif_kind)k));
        say("", c->gain);
        say("from", c->ci.lo);
        say("to", c->ci.hi);
        say("program", isnan(c->program) ? 0.0 : c->program);
        say("lines", c->lines);
        say("at least", c->at_least);
        say("idle", c->idle);
        snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", c->why);
    }
}

static void is_said(const char *is, const char *wanted)
{
    if (getenv("UPDATE")) {
        print_message("<<<%s>>>\n", is);
    } else if (strcmp(is, wanted) != 0) {
        fail_msg("'%s' is not '%s'", is, wanted);
    }
}

static void tried(const char *wanted, const char *loops)
{
    const int before = ends;
    assert_ok(carm_run_whatif(&w, &run, &profile, 99, &err));
    assert_int_equal(ends, before + 1);
    assert_near(w.seconds, stood, 1e-9);
    assert_int_equal(watches, 0);
    assert_true(handlers[SIGTERM].sa_handler == caller && handlers[SIGHUP].sa_handler == caller);
    is_said(events, wanted);
    said[0] = '\0';
    for (size_t i = 0; i < w.nloops; i++) {
        say_loop(&w.loops[i], w.nloops == 1);
    }
    is_said(said, loops);
}

/* Five snapshots, so that as much time is left behind the last one as between two. */
TEST_BETWEEN(snapshots_of_a_loop, set_up, NULL)
{
    tried("0.000 open 400000 400000+8:0:0.90; 0.307 0 of 1.755, 3.900; on; 0.864 0 of 1.825, "
          "3.650; on; 1.421 0 of 3.400, 3.400; on; 1.978 0 of 3.150, 3.150; on; 2.534 0 of "
          "2.900, 2.900; on; close; ",
          "share 0.4; snapshots 5; null 1; copied 1; inside 1; seconds 1.25; cpus 4; \n"
          "huge_pages 2.7; from 2.324; to 3.137; program 1.337; \n"
          "prefetch 1.4; from 1.345; to 1.457; program 1.129; lines 64; \n"
          "prefetch_indirect 1.5; from 1.44; to 1.562; program 1.154; \n"
          "streaming_stores 1.6; from 1.419; to 1.804; program 1.176; \n"
          "chains_broken 1.7; from 1.488; to 1.941; program 1.197; \n"
          "divisions_cheap 1.8; from 1.697; to 1.909; program 1.216; \n"
          "branches_known 2.2; from 2.032; to 2.381; program 1.279; \n"
          "data_in_l1 2.1; from 1.949; to 2.262; \n"
          "without_stores 2; from 1.865; to 2.144; \n"
          "without_arithmetic 1.9; from 1.781; to 2.026; \n"
          "all_cores 2.8; from 2.526; to 3.104; \n"
          "stream_in_l1 2.3; from 2.115; to 2.5; \n"
          "stream_in_l1 2.4; from 2.198; to 2.62; \n"
          "stream_in_l1 2.5; from 2.28; to 2.74; \n"
          "stream_in_l1 2.6; from 2.362; to 2.861; \n");
    assert_int_equal(maps, 1); /* all loops were found at once */
    assert_near(waited, 2.534 + 0.25, 1e-3);
}

/* A second loop is reached first; a third is in no file of the process. By processor time the program is at its half. */
TEST_BETWEEN(loops_in_turn, set_up, NULL)
{
    static struct carm_observer observer;
    profile.nrows = 3;
    run.observer = &observer;
    run.cpu_seconds = 0.5;
    reached = 0.6;
    tried("for 14.000 s; 0.000 open 400000 400000+8:0:0.90; 0.000 open 400100 400100+4:0:-1.00 "
          "400110+3:10:-1.00; 'what if: snapshot 1'; 0.608 1 of 1.755, 3.900; on; 'what if: "
          "snapshot 2'; 0.858 0 of 1.755, 3.900; on; 'what if: snapshot 3'; 1.173 1 of 1.825, "
          "3.650; on; 'what if: snapshot 4'; 1.423 0 of 1.825, 3.650; on; 'what if: snapshot "
          "5'; 1.736 1 of 3.400, 3.400; on; 'what if: snapshot 6'; 1.986 0 of 3.400, 3.400; on;"
          " 'what if: snapshot 7'; 2.299 1 of 3.150, 3.150; on; 'what if: snapshot 8'; 2.549 0 "
          "of 3.150, 3.150; on; 'what if: snapshot 9'; 2.860 1 of 2.900, 2.900; on; 'what if: "
          "snapshot 10'; 3.110 0 of 2.900, 2.900; on; 'what if: the program goes on to its "
          "end'; end; close; close; ",
          "share 0.4; snapshots 5; null 1; copied 1; inside 1; seconds 1.25; cpus 4; \n"
          "row 1; share 0.3; snapshots 5; null 1; copied 1.333; inside 1; seconds 1.25; cpus 4;"
          " \n"
          "row 2; share 0.2; null nan; copied nan; inside nan; the program's first process did "
          "not reach it; a process that it starts may have (sh -c: write exec before the comman"
          "d)\n");
}

TEST_BETWEEN(changes_refused, set_up, NULL)
{
    for (int k = 0; k < CARM_TRIAL_CHANGES; k++) {
        for (size_t n = 0; n < 5; n++) {
            given[0][n].ratio[k] = k == CARM_VARIANT_FAR ? 3.0 : k == CARM_VARIANT_NEAR ? 2.5 : 2.0;
        }
    }
    snprintf(begun.refused[CARM_VARIANT_CHAINS], sizeof begun.refused[0], "no chain");
    begun.idle[CARM_VARIANT_CHAINS] = true;
    snprintf(begun.refused[CARM_VARIANT_STORES], sizeof begun.refused[0], "no way");
    for (size_t n = 0; n < 5; n++) {
        given[0][n].ratio[CARM_TRIAL_CORES] = NAN;
        given[0][n].inside = 0.9;
        given[0][n].nulls[CARM_VARIANT_KNOWN] = n % 2 ? 0.85 : NAN;
    }
    begun.cores = (struct carm_trial_stage){.n = 2, .seconds = 0.1};
    begun.l1_partly = true;
    begun.inside_l1 = 0.8;
    tried("0.000 open 400000 400000+8:0:0.90; 0.307 0 of 1.755, 3.900; on; 0.864 0 of 1.825, "
          "3.650; on; 1.421 0 of 3.400, 3.400; on; 1.978 0 of 3.150, 3.150; on; 2.534 0 of "
          "2.900, 2.900; on; close; ",
          "share 0.4; snapshots 5; null 1; copied 0.9; inside 0.9; seconds 1.25; cpus 4; \n"
          "huge_pages 2.25; from 1.73; to 3.406; program 1.286; \n"
          "prefetch 3.857; from 2.72; to 7.651; program 1.421; lines 64; \n"
          "prefetch_indirect 2.25; from 1.878; to 2.956; program 1.286; \n"
          "streaming_stores 2.25; from 1.784; to 3.228; program 1.286; \n"
          "chains_brokenidle 1; no chain\n"
          "divisions_cheap 2.25; from 1.877; to 2.956; program 1.286; \n"
          "branches_knownunchanged code differs from itself by 15%: the loop does other work ea"
          "ch time\n"
          "data_in_l1 2.25; from 1.817; to inf; at least 1; \n"
          "without_storesno way\n"
          "without_arithmetic 2.25; from 1.877; to 2.956; \n"
          "all_coresother processes had a CPU while copies ran on all of them\n"
          "stream_in_l1 2.25; from 1.877; to 2.956; \n"
          "stream_in_l1 2.25; from 1.877; to 2.956; \n"
          "stream_in_l1 2.25; from 1.877; to 2.956; \n"
          "stream_in_l1 2.25; from 1.877; to 2.956; \n");
}

/* Behind 92% of the program, snapshots are 2% of it apart. */
TEST_BETWEEN(late_snapshots, set_up, NULL)
{
    run.cpu_seconds = 0.5; /* not known of the program */
    without_clock = true;
    reached = 1.9;
    for (size_t n = 0; n < 5; n++) {
        spent[n] = 0.1;
    }
    assert_ok(carm_run_whatif(&w, &run, &profile, 99, &err));
    is_said(
        events,
        "0.000 open 400000 400000+8:0:0.90; 1.915 0 of 1.755, 3.900; on; 2.056 0 of 1.900, 3.800; on; "
        "2.196 0 of 3.700, 3.700; on; close; ");
}

/* SIGTERM and SIGHUP are for the program, until its end. */
TEST_BETWEEN(signals_for_the_program, set_up, NULL)
{
    signalled = 0.5;
    tried(
        "0.000 open 400000 400000+8:0:0.90; 0.307 0 of 1.755, 3.900; on; signal 15 to 77; signal 1 to 77; close; ",
        "share 0.4; snapshots 1; null 1; copied 1; inside 1; seconds 0.25; cpus 4; the program ended, or left it, before "
        "three snapshots of it were taken\n");
    assert_string_equal(w.why, "interrupted");
    carm_interrupted = 0;
}

/* An inner loop (2/5 of the time) in one of nearly as much, in an outer one: they are tried as one, with folded loops for
 * which there is room. */
TEST_BETWEEN(nests, set_up, NULL)
{
    enum { INNER, MIDDLE, OUTER, OTHERS, FOLDED, LOOPS = FOLDED + 4, OPS = CARM_BODY_OPS_MAX };
    static const size_t nops[LOOPS] = {100, 100, 300, 1, OPS - 499, OPS - 500, 1, 0};
    static const double jumps[LOOPS] = {0.0, 0.5, 0.25, 1.0, 1.0, 1.0, 1.0, 1.0};
    static struct carm_code_piece of[LOOPS];
    static struct carm_flow_code nest[LOOPS + 2];
    memset(rows, 0, sizeof rows);
    for (size_t i = 0; i < LOOPS; i++) {
        of[i] = (struct carm_code_piece){.at = FILE_AT + 0x40 * i,
                                         .end = FILE_AT + 0x40 * (i + 1),
                                         .executions = 1.0,
                                         .taken = jumps[i]};
        nest[i] = (struct carm_flow_code){
            .at = of[i].at, .npieces = 1, .nops = nops[i], .pieces = &of[i]};
        rows[i] = (struct carm_profile_row){
            .kind = CARM_PROFILE_LOOP, .share = 0.01, .code = i + 1, .parent = OUTER + 1};
    }
    rows[INNER].share = 0.4;
    rows[INNER].samples_inside = 40;
    rows[INNER].parent = MIDDLE + 1;
    rows[MIDDLE].samples_inside = 45;
    rows[MIDDLE].executions = rows[OUTER].executions = 1000000;
    rows[OUTER].samples_inside = 100;
    rows[OUTER].parent = 0;
    rows[OTHERS] = (struct carm_profile_row){.kind = CARM_PROFILE_OTHERS, .share = 0.5};
    rows[LOOPS] = rows[INNER]; /* behind the last one */
    profile.codes = nest;
    profile.ncodes = LOOPS;
    profile.nrows = FOLDED;
    profile.nfolded_loops = LOOPS - FOLDED;
    reached = 9.0;
    tried(
        "0.000 open 400080 400080+64:80:0.25 400000+64:0:0.00 400040+64:40:0.50 400140+64:40:1.00 400"
        "1c0+64:c0:1.00; close; ",
        "row 2; nest 1; share 0.46; null nan; copied nan; inside nan; cpus 4; the program's first process did "
        "not reach it; a process that it starts may have (sh -c: write exec before the command)\n");
    /* iterations of 6.7 ms on two processors' time */
    rows[OUTER].executions = 300;
    now = 100.0;
    events[0] = '\0';
    tried(
        "0.000 open 400000 400000+64:0:0.00; close; ",
        "share 0.4; null nan; copied nan; inside nan; cpus 4; the program's first process did "
        "not reach it; a process that it starts may have (sh -c: write exec before the command)\n");
}

/* Of a loop of one short instruction: 0.5 cycles of 0.33 ns are left of a gain of 2, where code by hand takes one, or two with other
 * instructions. Below 14.4 iterations of the 16 copies the loop is entered for most units. */
TEST_BETWEEN(code_by_hand, set_up, NULL)
{
    static const struct {
        enum carm_whatif_kind kind;
        int cycles; /* 0 = it computes the same */
    } of[] = {{CARM_WHATIF_HUGE_PAGES, 0}, {CARM_WHATIF_PREFETCH, 0}, {CARM_WHATIF_INDIRECT, 0},
              {CARM_WHATIF_STREAMING, 0},  {CARM_WHATIF_CHAINS, 2},   {CARM_WHATIF_DIVISIONS, 2},
              {CARM_WHATIF_KNOWN, 1},      {CARM_WHATIF_L1, 1},       {CARM_WHATIF_STORES, 2},
              {CARM_WHATIF_ARITHMETIC, 2}, {CARM_WHATIF_CORES, 0},    {CARM_WHATIF_STREAM, 1},
              {CARM_WHATIF_STREAM4, 1}};
    static struct carm_body_op op = {.at = HEAD, .in.length = 4};
    static const double iterations[] = {14.0, 14.4};
    begun.body.ops = &op;
    begun.body.n = begun.body.blocks = 1;
    rows[0].executions = 0;
    for (size_t i = 0; i < 2; i++) {
        begun.iterations = iterations[i];
        for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
            double ci[2][2];
            for (size_t slow = 0; slow < 2; slow++) {
                memset(taken, 0, sizeof taken);
                for (size_t n = 0; n < 5; n++) {
                    given[0][n].seconds = slow ? 1.0 : 0.3e-9;
                    for (int v = 0; v < CARM_TRIAL_CHANGES; v++) {
                        given[0][n].ratio[v] = 2.0;
                    }
                }
                now = 100.0;
                stood = 0.0;
                assert_ok(carm_run_whatif(&w, &run, &profile, 99, &err));
                const struct carm_whatif_change *c = &w.loops[0].changes[of[k].kind];
                assert_near(c->gain, 2.0, 1e-9);
                ci[slow][0] = c->ci.lo;
                ci[slow][1] = c->ci.hi;
            }
            const double extra = (0.5 * 2.4 + (i ? 0.0 : 4.0)) / iterations[i] * 0.25e-9;
            assert_near(ci[0][0], of[k].cycles ? 0.3 / (0.33 * of[k].cycles) : ci[1][0], 1e-9);
            assert_near(ci[0][1],
                        ci[1][1] * (of[k].cycles ? 0.15e-9 / fmax(0.15e-9 - extra, 0.075e-9) : 1.0),
                        1e-6);
        }
    }
}

/* The best of three distances; without any, the reason of the first one. */
TEST_BETWEEN(distances, set_up, NULL)
{
    static const struct {
        double gains[3]; /* 0 = refused */
        int lines;
    } of[] = {{{2.0, 3.0, 2.5}, 16}, {{3.0, 2.0, 2.0}, 4},  {{2.0, 2.0, 3.0}, 64},
              {{0.0, 0.0, 2.0}, 64}, {{0.0, 2.0, 0.0}, 16}, {{2.0, 0.0, 0.0}, 4},
              {{0.0, 0.0, 0.0}, 4}};
    static const int variants[] = {CARM_VARIANT_NEAR, CARM_VARIANT_PREFETCHED, CARM_VARIANT_FAR};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        double best = 0.0;
        set_up(state);
        for (size_t d = 0; d < 3; d++) {
            best = fmax(best, of[i].gains[d]);
            snprintf(begun.refused[variants[d]], sizeof begun.refused[0], "%s",
                     of[i].gains[d] > 0.0 ? ""
                     : d                  ? "no other place"
                                          : "no place");
            for (size_t n = 0; n < 5; n++) {
                given[0][n].ratio[variants[d]] = of[i].gains[d];
            }
        }
        assert_ok(carm_run_whatif(&w, &run, &profile, 99, &err));
        const struct carm_whatif_change *c = &w.loops[0].changes[CARM_WHATIF_PREFETCH];
        assert_int_equal(c->lines, of[i].lines);
        assert_int_equal(c->measured, best > 0.0);
        assert_near(c->gain, best, 1e-9);
        assert_string_equal(c->why, best > 0.0 ? "" : "no place");
    }
}

/* Three of five snapshots are enough, also where nothing tells of the program's time, or where the copies' samples are
 * not known. All CPUs: other processes had one in its snapshots, unless it took no time, or as many were measured. */
TEST_BETWEEN(three_snapshots, set_up, NULL)
{
    static const struct {
        double cpu, inside, copied;
        struct carm_trial_stage cores;
        bool others;
    } of[] = {{2.0, 1.0, 1.0, {2, 0.1}, true},
              {2.0, NAN, 1.0, {3, 0.1}, false},
              {0.0, 1.0, NAN, {2, 0.0}, false}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        set_up(state);
        run.user_seconds = of[i].cpu;
        run.system_seconds = 0.0;
        begun.cores = of[i].cores;
        for (size_t n = 0; n < 5; n++) {
            given[0][n].inside = of[i].inside;
            given[0][n].ratio[CARM_TRIAL_CORES] = n ? NAN : 1.0;
            snprintf(given[0][n].why, sizeof given[0][n].why, "%s", n % 3 ? "" : "no copy");
        }
        assert_ok(carm_run_whatif(&w, &run, &profile, 99, &err));
        const struct carm_whatif_loop *l = &w.loops[0];
        assert_string_equal(l->why, "");
        assert_int_equal(l->snapshots, 3);
        fail_if(isnan(of[i].copied) ? !isnan(l->copied) : fabs(l->copied - of[i].copied) > 1e-9,
                "copied %g", l->copied);
        assert_true(l->changes[CARM_WHATIF_KNOWN].measured);
        assert_int_equal(
            strncmp(l->changes[CARM_WHATIF_CORES].why, "other processes had a CPU", 25) == 0,
            of[i].others);
    }
    /* what was measured is not taken back */
    set_up(state);
    begun.cores = (struct carm_trial_stage){2, 0.1};
    assert_ok(carm_run_whatif(&w, &run, &profile, 99, &err));
    assert_string_equal(w.loops[0].changes[CARM_WHATIF_CORES].why, "");
}

/* The program runs again only for a loop that can be tried. */
TEST_BETWEEN(no_second_run, set_up, NULL)
{
    const int before = ends;
    rows[0].irreducible = true;
    assert_ok(carm_run_whatif(&w, &run, &profile, 99, &err));
    profile.nrows = 0;
    assert_ok(carm_run_whatif(&w, &run, &profile, 99, &err));
    profile.nrows = 1;
    rows[0].irreducible = false;
    run.row.seconds = 0.0999;
    assert_ok(carm_run_whatif(&w, &run, &profile, 99, &err));
    run.row.seconds = 2.0;
    run.has_blocks = false;
    assert_ok(carm_run_whatif(&w, &run, &profile, 99, &err));
    assert_int_equal(ends, before);
    run.has_blocks = true;
    assert_ok(carm_run_whatif(&w, &run, &profile, 99, &err));
    assert_int_equal(ends, before + 1);
}

/* Broken chains are as fast as no arithmetic at all. */
TEST_BETWEEN(chains, set_up, NULL)
{
    static const struct {
        double chains, bare;
        bool folds, at_least;
    } of[] = {{2.0, 2.2, false, true}, {2.0, 2.23, false, false}, {1.1, 1.1, false, false},
              {1.2, 9.0, true, true},  {2.0, NAN, false, false},  {1.11, 1.11, false, true}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        set_up(state);
        begun.body.folds = of[i].folds;
        for (size_t n = 0; n < 5; n++) {
            given[0][n].ratio[CARM_VARIANT_CHAINS] = of[i].chains;
            given[0][n].ratio[CARM_VARIANT_ARITHMETIC] = of[i].bare;
        }
        assert_ok(carm_run_whatif(&w, &run, &profile, 99, &err));
        const struct carm_whatif_change *c = &w.loops[0].changes[CARM_WHATIF_CHAINS];
        assert_near(c->gain, of[i].chains, 1e-9);
        assert_int_equal(c->at_least, of[i].at_least);
    }
}

/* Reasons why a loop has no gains: the phrases of the program's end, of the copies, of the process. */
TEST_BETWEEN(loops_without_gains, set_up, NULL)
{
    static const struct {
        const char *words;
        double length, spent, seconds, reached;
        bool masked, untraced, unreadable, bad;
        const char *wrong, *begun;
        unsigned snapshots;
    } of[] = {{.words = "the program ended, or left it", .length = 0.5, .snapshots = 1},
              {.words = "hold the program for more than 4 s", .spent = 1.95, .snapshots = 2},
              {.words = "hold the program for more than 4 s",
               .length = 0.5,
               .spent = 2.01,
               .snapshots = 1},
              {.words = "did not reach it", .reached = 9.0},
              {.words = "blocks or ignores SIGTRAP", .reached = 9.0, .masked = true},
              {.words = "cannot be traced", .reached = 9.0, .untraced = true},
              {.words = "cannot be read in the process", .unreadable = true},
              {.words = "it is too long", .begun = "it is too long"},
              {.words = "other work each time", .wrong = "other work each time", .snapshots = 2},
              {.words = "no copy came back", .bad = true},
              {.words = "takes 1.6 times as long in a copy", .seconds = 1.6e-6, .snapshots = 5},
              {.words = "takes 0.44 times as long in a copy", .seconds = 0.44e-6, .snapshots = 5},
              {.words = "", .seconds = 0.46e-6, .snapshots = 5},
              {.words = "", .seconds = 1.49e-6, .snapshots = 5}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        set_up(state);
        length = of[i].length > 0.0 ? of[i].length : 2.0;
        reached = of[i].reached;
        masked = of[i].masked;
        untraced = of[i].untraced;
        unreadable = of[i].unreadable;
        wrong = of[i].wrong;
        run.user_seconds = 2.0;
        rows[0].share = 0.5;
        snprintf(begun.wrong, sizeof begun.wrong, "%s", of[i].begun ? of[i].begun : "");
        for (size_t n = 0; n < 5; n++) {
            spent[n] = of[i].spent > 0.0 ? of[i].spent : 0.25;
            given[0][n].seconds = of[i].seconds > 0.0 ? 1.25 * of[i].seconds : 1e-6;
            snprintf(given[0][n].why, sizeof given[0][n].why, "%s",
                     of[i].bad && n != 2 ? "no copy came back" : "");
        }
        assert_ok(carm_run_whatif(&w, &run, &profile, 99, &err));
        fail_if(of[i].words[0] ? !strstr(w.loops[0].why, of[i].words) : w.loops[0].why[0] != '\0',
                "'%s' is not in '%s'", of[i].words, w.loops[0].why);
        assert_int_equal(w.loops[0].snapshots, of[i].bad ? 1 : of[i].snapshots);
    }
    set_up(state);
    refused = true;
    assert_refused(carm_run_whatif(&w, &run, &profile, 99, &err), -CARM_EIO, "no program loops");
}

/* Loads and stores that move together; those of no stream do not count. */
TEST_BETWEEN(streams, set_up, NULL)
{
    static struct carm_body_op ops[5];
    static const struct {
        unsigned stream;
        bool loads, stores;
        int64_t stride;
    } of[] = {{1, true, false, 8},
              {0, true, true, 0},
              {2, true, true, 64},
              {1, true, false, 16},
              {2, false, true, 0}};
    for (size_t i = 0; i < 5; i++) {
        ops[i] = (struct carm_body_op){
            .at = HEAD + 4 * i, .stream = of[i].stream, .stride = of[i].stride};
        ops[i].op.loads = of[i].loads;
        ops[i].op.stores = of[i].stores;
        ops[i].in.length = 4;
    }
    begun.body.ops = ops;
    begun.body.n = 5;
    assert_ok(carm_run_whatif(&w, &run, &profile, 99, &err));
    const struct carm_whatif_stream *t = w.loops[0].streams;
    assert_string_equal(t[0].source, "loops.c:1000");
    assert_string_equal(t[1].source, "loops.c:1008");
    assert_int_equal(t[0].loads, 2);
    assert_int_equal(t[0].stores, 0);
    assert_int_equal(t[0].stride, 8);
    assert_int_equal(t[1].loads, 1);
    assert_int_equal(t[1].stores, 2);
    assert_int_equal(t[1].stride, 64);
    assert_int_equal(t[2].loads + t[2].stores, 0);
    assert_int_equal(w.loops[0].cpus, 4);
    carm_interrupted = 1;
    assert_ok(carm_run_whatif(&w, &run, &profile, 99, &err));
    assert_string_equal(w.why, "interrupted");
    carm_interrupted = 0;
}
