/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/whatif.h"

#include <assert.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/machine/clock.h"
#include "harness/machine/stats.h"
#include "harness/profile/symbols.h"
#include "harness/whatif/child.h"
#include "harness/whatif/memory.h"
#include "harness/whatif/stop.h"
#include "harness/whatif/trial.h"
#include "run/launch.h"

static const double copy_seconds = 2.0; /* after this time a copy that hangs is ended */
static const double least_share =
    0.05; /* least share of the program's time of a loop that is tried */
static const double least_seconds = 0.1; /* least time of the program */
static const double end_seconds =
    0.1; /* part of a loop's time for ending the copies of its last snapshot */
/* Share of a loop's time for the first snapshot, which also observes the loop. Chosen by hand. */
static const double first_share = 0.45;
static const double null_most =
    0.10; /* largest difference between two copies of unchanged code; smaller differences widen the interval */
/* Largest and least time of an iteration in the copies / in the program. Beyond, copies behave differently from the
 * program. Without the jumps, copies reach 0.48 (sampled: one cycle for an iteration instead of two). The interval
 * includes both times. */
static const double copied_most = 1.5, copied_least = 0.45;
/* Error of the method beside the snapshots' scatter, by tests/bench/whatif: a share of the gain's logarithm, and its
 * least value. */
static const struct carm_whatif_error usual_error = {0.10, 0.04};
/* The copies keep the chain of the loop's index; hand-written code may be unrolled. */
static const struct carm_whatif_error chains_error = {0.25, 0.04};
/* The places of a program's pages in memory differ from run to run, so gains differ by some 15% and 12%. */
static const struct carm_whatif_error pages_error = {0.10, 0.15};
static const struct carm_whatif_error streaming_error = {0.10, 0.12};
/* Seconds of a cycle at 4 GHz. Hand-written code takes up to a cycle more for an iteration than copies that fall
 * through to one another: for a taken jump, or a loop that crosses a line of code (two cycles for four
 * instructions; copies take one). */
static const double cycle = 0.25e-9;
/* Seconds of a cycle at 3 GHz. Because of its jump, a loop takes at least a cycle for each iteration, and two if its
 * code crosses a line. Copies fall through to one another (data of L2 in L1: 1.2 times as fast as one cycle; 1.0
 * by hand. A scaled copy took 1.0 cycles in copies, 2.0 by hand). The lower end of the interval uses this time. */
static const double jump_seconds = 0.33e-9;
/* Instructions in a cycle. A taken jump ends a group, so nine instructions take two cycles by hand and 1.5 in copies (a
 * filter of bytes in L1 gained 1.21 in copies, 1.03 by hand). */
static const double dispatched = 6.0;
/* Cycles for counting a unit in the copies, which hand-written code does not need: 0.15 for each of 16 iterations,
 * where a division became a product (1.24 cycles in copies, 1.09 by hand). */
static const double counting = 2.4;
/* Cycles of an entry from the code around the loop, with its jumps. Waiting for memory hides them; with data in L1 they
 * show: products of 4 x 4 numbers gained 1.18 in the copies and 2.0 by hand: 3.5 cycles for each of 4 entries. */
static const double entering = 4.0;
/* Share of the copies of a loop's code: if a unit has fewer iterations, the loop is entered for most units. */
static const double whole_share = 0.9;
static const double all_inside =
    0.97; /* share of a copy's samples that counts as all: a few are in stubs */
static const double inside_samples =
    40.0; /* samples for this share: SAMPLES_ENOUGH of harness/whatif/setup.c */
static const double bare_share =
    0.9; /* share of the gain without arithmetic from which on the gain of broken chains is a lower bound */
/* Sums that are unrolled by hand gain any factor up to this, by tests/bench/whatif. */
static const double unrolled = 4.0;

/* A loop with a smaller share of the time of the loop around it is tried as a part of the outer loop: a copy would
 * spend half of its time in other code. Only if an iteration of the outer loop takes at most trip_most seconds: a
 * copy takes 5 ms or more for a turn. */
static const double alone_least = 0.67, trip_most = 4e-3;
static const double long_seconds =
    5e-6; /* of an iteration so long that the 6 cycles for counting it do not matter */

enum { NEST_MAX = 24 /* loops in a loop */ };

/* ---- the table of changes ---- */

#define ROW(id, word, words, advice, code) {word, words, advice, CARM_ADVICE_##code},
static const struct {
    const char *word, *words, *advice;
    enum carm_advice_code code; /* CARM_ADVICE_COUNT = a bound */
} table[] = {CARM_WHATIF_TABLE(ROW)};
#undef ROW

const char *carm_whatif_word(enum carm_whatif_kind kind)
{
    return table[kind].word;
}

const char *carm_whatif_words(enum carm_whatif_kind kind)
{
    return table[kind].words;
}

const char *carm_whatif_advice(enum carm_whatif_kind kind)
{
    return table[kind].advice;
}

static bool is_bound(enum carm_whatif_kind kind)
{
    return table[kind].code == CARM_ADVICE_COUNT;
}

/* ---- statistics of the snapshots ---- */

enum { SNAPSHOTS_MAX = 64 };

/* Median of the values that are not NaN; NaN = there are none */
static double median_of(const double *v, size_t n)
{
    double numbers[SNAPSHOTS_MAX];
    size_t m = 0;
    assert(n <= SNAPSHOTS_MAX);
    for (size_t i = 0; i < n; i++) {
        if (!isnan(v[i])) {
            numbers[m++] = v[i];
        }
    }
    return m ? carm_stats_median(numbers, m) : NAN;
}

/* The gain g of the loop's own code, if the rest of the time is unchanged: 1/r = f/g + 1 - f */
static double without_rest(double ratio, double inside)
{
    const double rest = 1.0 - inside;
    const double left = 1.0 / ratio - rest;
    return left > 0.0 ? (1.0 - rest) / left : INFINITY;
}

/* 97.5% quantile of Student's t for n numbers: n - 1 degrees of freedom */
static double student(size_t n)
{
    /* as tabulated; GSL's gsl_cdf_tdist_Pinv(0.975, n - 1) gives them, but this room does not call it */
    static const double t[] = {4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
    const size_t k = n - CARM_TRIAL_SNAPSHOTS;
    return k < sizeof t / sizeof *t ? t[k] : 2.0;
}

/* The share of samples in the loop's own code; nearly all count as all. */
static double share_of(double inside)
{
    return isnan(inside) || inside > all_inside ? 1.0 : inside;
}

void carm_whatif_inside(struct carm_whatif_change *change, double inside, double then)
{
    const double f = share_of(inside), t = share_of(then);
    const double margin = 1.96 * sqrt(t * (1.0 - t) / inside_samples);
    change->gain *= f / t;
    change->ci.lo *= f / fmin(1.0, t + margin);
    change->ci.hi *= f / fmax(0.5 * t, t - margin);
}

double carm_whatif_surely(double copied, double samples, double inside)
{
    const double rest = isnan(inside) || inside > all_inside ? 0.0 : (1.0 - inside) / inside;
    const double noise = 1.96 * sqrt(1.0 / samples + rest / inside_samples);
    const double distance = fabs(log(copied));
    return exp(copysign(fmax(0.0, distance - noise), log(copied)));
}

bool carm_whatif_combine(const double *ratios, const double *nulls, size_t n, double inside,
                         double copied, const struct carm_whatif_error *method,
                         struct carm_whatif_change *change)
{
    double sum = 0.0, squares = 0.0;
    double used[SNAPSHOTS_MAX];
    size_t m = 0;
    const double null = median_of(nulls, n);
    for (size_t i = 0; i < n; i++) {
        if (ratios[i] > 0.0) {
            used[m] = log(ratios[i]);
            sum += used[m++];
        }
    }
    change->measured = false;
    if (m < CARM_TRIAL_SNAPSHOTS) {
        snprintf(change->why, sizeof change->why,
                 "only %zu snapshots measured it, and it takes %d to tell the change from chance",
                 m, CARM_TRIAL_SNAPSHOTS);
        return false;
    }
    if (isnan(null) || fabs(null - 1.0) > null_most) {
        snprintf(change->why, sizeof change->why,
                 "unchanged code differs from itself by %.0f%%: the loop does other work each time",
                 isnan(null) ? 100.0 : 100.0 * fabs(null - 1.0));
        return false;
    }
    const double mean = sum / (double)m;
    for (size_t i = 0; i < m; i++) {
        squares += (used[i] - mean) * (used[i] - mean);
    }
    const double spread = student(m) * sqrt(squares / (double)(m - 1) / (double)m);
    const double middle = median_of(used, m);
    const double half =
        spread + fabs(log(null)) + fmax(method->least, method->share * fabs(middle));
    /* the share inside is sampled, too */
    const double share = share_of(inside);
    const double margin = 1.96 * sqrt(share * (1.0 - share) / inside_samples);
    change->gain = without_rest(exp(middle), share);
    change->ci = (struct carm_ci){change->gain, change->gain};
    for (int k = -1; k <= 1; k++) {
        const double f = fmin(1.0, fmax(0.0, share + k * margin));
        change->ci.lo = fmin(change->ci.lo, without_rest(exp(middle - half), f));
        change->ci.hi = fmax(change->ci.hi, without_rest(exp(middle + half), f));
    }
    if (isinf(change->gain)) {
        snprintf(change->why, sizeof change->why,
                 "the code around the loop takes all that is left of the time");
        return false;
    }
    change->ci.lo /= fmax(1.0, copied);
    change->ci.hi /= fmin(1.0, copied);
    change->measured = true;
    return true;
}

double carm_whatif_least_cycles(const struct carm_body *body, bool rewritten)
{
    size_t n = body->n;
    for (size_t i = 1; i < body->n; i++) { /* a comparison and its jump are one instruction */
        const bool fused = body->ops[i].kind == CARM_BODY_BRANCH &&
                           body->ops[i - 1].in.meta.category == ZYDIS_CATEGORY_BINARY;
        n -= fused;
    }
    const double groups = body->blocks == 1 ? ceil((double)n / dispatched) : 1.0;
    /* rewritten code has other instructions, so it may lie across two lines */
    return fmax(groups, rewritten || carm_body_crosses(body) ? 2.0 : 1.0);
}

bool carm_whatif_time(size_t n, double spent, double *seconds, double *limit)
{
    const size_t missing = n < CARM_TRIAL_SNAPSHOTS ? CARM_TRIAL_SNAPSHOTS - n : 1;
    const double left = carm_whatif_loop_seconds - end_seconds - spent;
    *limit = left;
    *seconds = n == 0 ? first_share * left : left / (double)missing;
    return n < CARM_WHATIF_SNAPSHOTS &&
           (n < CARM_TRIAL_SNAPSHOTS ? left > end_seconds : spent / (double)n <= left);
}

void carm_whatif_by_hand(struct carm_whatif_change *change, double seconds, double iterations,
                         bool entered, double cycles)
{
    if (change->gain <= 1.0) {
        return;
    }
    const double changed = seconds / change->gain;
    const double shown = 1.0 - 1.0 / change->gain; /* share of a hidden limit that may show now */
    const double extra = (shown * counting + (entered ? entering : 0.0)) / fmax(1.0, iterations);
    change->ci.lo *= changed / (changed + shown * cycle);
    change->ci.hi *= changed / fmax(changed - extra * cycle, 0.5 * changed);
    change->ci.lo = fmin(change->ci.lo, seconds / (cycles * jump_seconds));
}

/* ---- which loops to try ---- */

struct candidate {
    const struct carm_profile_row *row;
    const struct carm_flow_code *code;
    const struct carm_flow_code *codes[NEST_MAX]; /* with the codes of the loops inside it */
    size_t ncodes;
    double share, seconds, samples; /* with the loops inside it, of all threads */
    const char *path;               /* of its file */
    struct carm_body_piece *pieces;
    uint8_t *bytes;
    bool opened;
    struct carm_trial trial;
    uint64_t head; /* in the process; 0 = not mapped yet */
    double due;    /* when the next snapshot is to be taken: share of the program's run */
    size_t n;      /* snapshots */
    struct carm_trial_result results[CARM_WHATIF_SNAPSHOTS];
};

struct session {
    struct candidate all[CARM_WHATIF_LOOPS];
    struct carm_run_whatif *out;
    struct carm_stop stop;
    struct carm_trial_settings settings;
    double length, cpu; /* seconds of the program, and of processors */
    double began, stood;
};

/* The reason why a loop is never tried; NULL = it may be */
static const char *cannot(const struct carm_profile_row *row, const struct carm_flow_code *code,
                          const char *path)
{
    if (row->irreducible) {
        return "it is entered at several places";
    }
    if (!code || !code->npieces || !code->nops) {
        return "its code is not known";
    }
    if (!path[0]) {
        return "its code was made at run time";
    }
    return NULL;
}

/* Whether a row is a loop inside another one, at any depth. */
static bool is_within(const struct carm_profile *profile, size_t row, size_t outer)
{
    size_t parent = profile->rows[row].parent;
    while (parent && parent - 1 != outer) {
        parent = profile->rows[parent - 1].parent;
    }
    return parent;
}

/* The row of the loop that is tried in place of a loop: the loop itself, or a loop around it. */
static size_t nest_of(const struct carm_profile *profile, size_t row, double cpu_seconds)
{
    const struct carm_profile_row *rows = profile->rows;
    size_t of = row;
    for (size_t o = rows[row].parent; o; o = rows[o - 1].parent) {
        const struct carm_profile_row *outer = &rows[o - 1];
        const double share = (double)outer->samples_inside / (double)profile->samples;
        if (!outer->code || outer->irreducible ||
            share * cpu_seconds > trip_most * (double)outer->executions) {
            break;
        }
        if ((double)rows[of].samples_inside < alone_least * (double)outer->samples_inside) {
            of = o - 1;
        }
    }
    return of;
}

/* Takes the code of a loop and of the loops inside it, which are tried together. Inner loops without samples are taken
 * while there is room.
 * cpu_seconds  of the program
 * returns false: there are too many */
static bool take_codes(struct candidate *c, const struct carm_profile *profile, size_t row,
                       double cpu_seconds)
{
    size_t nops = c->code->nops;
    c->codes[c->ncodes++] = c->code;
    c->share = c->row->share;
    for (size_t i = 0; i < profile->nrows + profile->nfolded_loops; i++) {
        const struct carm_profile_row *r = &profile->rows[i];
        const struct carm_flow_code *code = r->code ? &profile->codes[r->code - 1] : NULL;
        if (!code || !is_within(profile, i, row)) {
            continue;
        }
        c->share += r->share;
        if (i >= profile->nrows &&
            (c->ncodes == NEST_MAX || nops + code->nops > CARM_BODY_OPS_MAX)) {
            continue;
        }
        if (c->ncodes == NEST_MAX) {
            return false;
        }
        nops += code->nops;
        c->codes[c->ncodes++] = code;
    }
    c->share = fmin(1.0, c->share);
    c->samples = (double)c->row->samples_inside;
    c->seconds = c->share * cpu_seconds;
    return true;
}

static bool is_chosen(const struct carm_run_whatif *out, size_t row)
{
    bool is = false;
    for (size_t i = 0; i < out->nloops; i++) {
        is = is || out->loops[i].row == row;
    }
    return is;
}

static void choose(struct session *s, const struct carm_run *run,
                   const struct carm_profile *profile)
{
    const double cpu_seconds = run->user_seconds + run->system_seconds;
    for (size_t k = 0; k < profile->nrows && s->out->nloops < CARM_WHATIF_LOOPS; k++) {
        const bool hot =
            profile->rows[k].kind == CARM_PROFILE_LOOP && profile->rows[k].share >= least_share;
        const size_t i = hot ? nest_of(profile, k, cpu_seconds) : k;
        const struct carm_profile_row *row = &profile->rows[i];
        if (!hot || is_chosen(s->out, i)) {
            continue;
        }
        const size_t at = s->out->nloops++;
        struct candidate *c = &s->all[at];
        struct carm_whatif_loop *loop = &s->out->loops[at];
        c->row = row;
        c->code = row->code ? &profile->codes[row->code - 1] : NULL;
        c->path = c->code ? carm_modules_path(&run->blocks.modules, c->code->module) : "";
        *loop = (struct carm_whatif_loop){.row = i, .null = NAN, .copied = NAN, .inside = NAN};
        const char *why = cannot(row, c->code, c->path);
        if (!why && !take_codes(c, profile, i, cpu_seconds)) {
            why = "there are too many loops inside it";
        }
        loop->nest = c->ncodes > 1;
        loop->share = why ? row->share : c->share;
        snprintf(loop->why, sizeof loop->why, "%s", why ? why : "");
    }
}

/* The address of an offset of a file in the process; 0 = not mapped */
static uint64_t place_of(const struct carm_memory *memory, const char *path, uint64_t at)
{
    for (size_t i = 0; i < memory->n; i++) {
        const struct carm_area *a = &memory->areas[i];
        if (a->executable && strcmp(a->path, path) == 0 && at >= a->offset &&
            at - a->offset < a->end - a->begin) {
            return a->begin + (at - a->offset);
        }
    }
    return 0;
}

/* Decodes the loop's code from the process's memory; it must equal the counted code. */
static void open_candidate(struct candidate *c, struct carm_whatif_loop *loop, pid_t pid,
                           const struct carm_memory *memory)
{
    const uint64_t at = c->code->at;
    const uint64_t head = place_of(memory, c->path, at);
    size_t size = 0, used = 0, npieces = 0;
    struct carm_err err = {""};
    if (!head) {
        return;
    }
    for (size_t k = 0; k < c->ncodes; k++) {
        for (size_t i = 0; i < c->codes[k]->npieces; i++) {
            size += c->codes[k]->pieces[i].end - c->codes[k]->pieces[i].at;
        }
        npieces += c->codes[k]->npieces;
    }
    c->bytes = malloc(size + 1);
    c->pieces = calloc(npieces + 1, sizeof *c->pieces);
    if (!c->bytes || !c->pieces) {
        snprintf(loop->why, sizeof loop->why, "not enough memory");
        return;
    }
    npieces = 0;
    for (size_t k = 0; k < c->ncodes; k++) {
        for (size_t i = 0; i < c->codes[k]->npieces; i++) {
            const struct carm_code_piece *p = &c->codes[k]->pieces[i];
            const size_t n = p->end - p->at;
            struct carm_body_piece *piece = &c->pieces[npieces++];
            *piece = (struct carm_body_piece){
                head + (p->at - at), c->bytes + used, n,
                p->taken >= 0.0 && p->executions > 0.0 ? p->taken / p->executions : -1.0};
            if (!carm_child_read(pid, piece->at, c->bytes + used, n)) {
                snprintf(loop->why, sizeof loop->why, "its code cannot be read in the process");
                return;
            }
            used += n;
        }
    }
    if (carm_trial_open(&c->trial, head, c->pieces, npieces, &err) != 0) {
        snprintf(loop->why, sizeof loop->why, "%.190s", err.text);
        return;
    }
    c->trial.body.takes_long =
        c->row->executions && c->seconds > long_seconds * (double)c->row->executions;
    c->opened = true;
    c->head = head;
}

/* ---- the program's run ---- */

static volatile sig_atomic_t program_pid;

/* Passes carm's signals on to the program, except a terminal's, which reach both. */
static void pass_on(int sig)
{
    if (program_pid > 0) {
        kill((pid_t)program_pid, sig);
    }
    carm_interrupted = 1;
}

/* seconds  below 1 */
static void nap(double seconds)
{
    const struct timespec t = {0, (long)(1e9 * seconds)};
    nanosleep(&t, NULL);
}

/* Processor time of the program's first process, without its children's; 0 = not known */
static double cpu_time(pid_t pid)
{
    clockid_t clock;
    struct timespec t;
    return clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &t) == 0
               ? (double)t.tv_sec + 1e-9 * (double)t.tv_nsec
               : 0.0;
}

/* The progress of the program, as a share of the timed run, by time or by processor time, whichever is larger. Time is
 * late if other load slowed the timed run, processor time if the program's children work. */
static double ran(const struct session *s)
{
    const double by_time = (carm_seconds_now() - s->began - s->stood) / s->length;
    return s->cpu > 0.0 ? fmax(by_time, cpu_time(s->stop.pid) / s->cpu) : by_time;
}

/* Sets when the next snapshot is due: the rest of the run is divided among the snapshots that are left, so they are
 * closer together for a loop that begins late. */
static void schedule(const struct session *s, struct candidate *c)
{
    static const double end_share = 0.92, least_gap = 0.02; /* of the program's run */
    const double at = ran(s);
    c->due = at + fmax(least_gap, (end_share - at) / (double)(CARM_WHATIF_SNAPSHOTS - c->n + 1));
}

/* Opens the loops whose code is mapped by now. */
static void open_candidates(struct session *s)
{
    struct carm_memory memory;
    bool any = false;
    for (size_t i = 0; i < s->out->nloops; i++) {
        any = any || (!s->all[i].opened && !s->out->loops[i].why[0]);
    }
    if (!any || carm_memory_open(&memory, s->stop.pid, NULL) != 0) {
        return;
    }
    for (size_t i = 0; i < s->out->nloops; i++) {
        if (!s->all[i].opened && !s->out->loops[i].why[0]) {
            open_candidate(&s->all[i], &s->out->loops[i], s->stop.pid, &memory);
            schedule(s, &s->all[i]);
        }
    }
    carm_memory_close(&memory);
}

_Static_assert((int)CARM_WHATIF_LOOPS <= (int)CARM_STOP_HEADS, "all may be due at once");

/* The loops whose snapshots are due. soon: out: seconds until another one is */
static size_t find_due(const struct session *s, uint64_t heads[CARM_STOP_HEADS],
                       size_t of[CARM_STOP_HEADS], double *soon)
{
    size_t n = 0;
    *soon = INFINITY;
    for (size_t i = 0; i < s->out->nloops; i++) {
        const struct candidate *c = &s->all[i];
        double seconds, limit;
        if (s->out->loops[i].why[0] ||
            !carm_whatif_time(c->n, s->out->loops[i].seconds, &seconds, &limit)) {
            continue;
        }
        const double wait = c->opened ? (c->due - ran(s)) * s->length : 0.01;
        if (wait > 0.0) {
            *soon = fmin(*soon, wait);
        } else {
            of[n] = i;
            heads[n++] = c->head;
        }
    }
    return n;
}

static void take_snapshot(struct session *s, size_t i, pid_t thread)
{
    struct candidate *c = &s->all[i];
    struct carm_whatif_loop *loop = &s->out->loops[i];
    (void)carm_whatif_time(c->n, loop->seconds, &s->settings.seconds, &s->settings.limit);
    struct carm_trial_result *result = &c->results[c->n++];
    carm_trial_measure(&c->trial, thread, &s->settings, result);
    s->stood += result->spent;
    loop->seconds += result->spent;
    if (c->trial.wrong[0]) {
        snprintf(loop->why, sizeof loop->why, "%s", c->trial.wrong);
    }
    schedule(s, c);
}

static void take_snapshots(struct session *s, struct carm_observer *observer)
{
    static const double turn =
        0.2; /* seconds of a turn; threads that begin in a turn are watched in the next one */
    for (size_t taken = 0; !carm_stop_ended(&s->stop) && !carm_interrupted;) {
        uint64_t heads[CARM_STOP_HEADS];
        size_t of[CARM_STOP_HEADS];
        double soon;
        pid_t thread;
        open_candidates(s);
        const size_t n = find_due(s, heads, of, &soon);
        if (n == 0 && isinf(soon)) {
            return;
        }
        if (n == 0) {
            nap(fmin(0.01, fmax(0.0005, soon)));
            continue;
        }
        const int hit = carm_stop_at(&s->stop, heads, n, fmin(turn, fmax(0.005, soon)),
                                     &carm_interrupted, &thread);
        if (hit < 0) {
            nap(0.001);
            continue;
        }
        if (observer) {
            carm_observer_step(observer, "what if: snapshot %zu", ++taken);
        }
        take_snapshot(s, of[hit], thread);
        carm_stop_release(&s->stop);
    }
}

/* ---- gains from the snapshots ---- */

static const struct carm_whatif_error *error_of(enum carm_whatif_kind kind)
{
    return kind == CARM_WHATIF_CHAINS       ? &chains_error
           : kind == CARM_WHATIF_HUGE_PAGES ? &pages_error
           : kind == CARM_WHATIF_STREAMING  ? &streaming_error
                                            : &usual_error;
}

static void take_change(const struct candidate *c, enum carm_whatif_kind kind, int trial,
                        struct carm_whatif_loop *loop, struct carm_whatif_change *change)
{
    double ratios[CARM_WHATIF_SNAPSHOTS];
    double nulls[CARM_WHATIF_SNAPSHOTS];
    double seconds[CARM_WHATIF_SNAPSHOTS];
    const char *refused = c->trial.refused[trial];
    *change = (struct carm_whatif_change){.program = NAN};
    if (refused[0]) {
        snprintf(change->why, sizeof change->why, "%s", refused);
        change->idle = c->trial.idle[trial];
        return;
    }
    for (size_t i = 0; i < c->n; i++) {
        ratios[i] = c->results[i].ratio[trial];
        nulls[i] = c->results[i].nulls[trial];
        seconds[i] = c->results[i].seconds;
    }
    /* the code around the loop runs on all CPUs as well */
    const double then = kind == CARM_WHATIF_L1 ? c->trial.inside_l1 : NAN;
    if (!carm_whatif_combine(
            ratios, nulls, c->n, kind == CARM_WHATIF_CORES || !isnan(then) ? NAN : loop->inside,
            carm_whatif_surely(loop->copied, c->samples, loop->inside), error_of(kind), change)) {
        return;
    }
    if (!isnan(then)) {
        carm_whatif_inside(change, loop->inside, then);
    }
    if (trial < CARM_VARIANTS && carm_variant_changes_values((enum carm_variant)trial)) {
        const double iterations = c->trial.iterations;
        const bool rewritten = kind == CARM_WHATIF_CHAINS || kind == CARM_WHATIF_DIVISIONS ||
                               kind == CARM_WHATIF_STORES || kind == CARM_WHATIF_ARITHMETIC;
        carm_whatif_by_hand(change, median_of(seconds, c->n), iterations,
                            iterations < whole_share * carm_region_copies(&c->trial.body),
                            carm_whatif_least_cycles(&c->trial.body, rewritten));
    }
    const double share = c->share;
    change->program = is_bound(kind) ? NAN : 1.0 / (1.0 - share + share / change->gain);
}

/* The best of three distances */
static void take_prefetch(const struct candidate *c, struct carm_whatif_loop *loop,
                          struct carm_whatif_change *change)
{
    static const struct {
        int trial, lines;
    } distances[] = {{CARM_VARIANT_NEAR, 4}, {CARM_VARIANT_PREFETCHED, 16}, {CARM_VARIANT_FAR, 64}};
    take_change(c, CARM_WHATIF_PREFETCH, distances[0].trial, loop, change);
    change->lines = distances[0].lines;
    for (size_t i = 1; i < sizeof distances / sizeof *distances; i++) {
        struct carm_whatif_change other;
        take_change(c, CARM_WHATIF_PREFETCH, distances[i].trial, loop, &other);
        if (other.measured && (!change->measured || other.gain > change->gain)) {
            *change = other;
            change->lines = distances[i].lines;
        }
    }
}

static void take_loop(struct candidate *c, const struct session *s, struct carm_whatif_loop *loop)
{
    static const int trials[CARM_WHATIF_KINDS] = {
        [CARM_WHATIF_HUGE_PAGES] = CARM_TRIAL_HUGE,
        [CARM_WHATIF_INDIRECT] = CARM_VARIANT_INDIRECT,
        [CARM_WHATIF_STREAMING] = CARM_VARIANT_STREAMING,
        [CARM_WHATIF_CHAINS] = CARM_VARIANT_CHAINS,
        [CARM_WHATIF_DIVISIONS] = CARM_VARIANT_DIVISIONS,
        [CARM_WHATIF_L1] = CARM_VARIANT_L1,
        [CARM_WHATIF_STORES] = CARM_VARIANT_STORES,
        [CARM_WHATIF_ARITHMETIC] = CARM_VARIANT_ARITHMETIC,
        [CARM_WHATIF_KNOWN] = CARM_VARIANT_KNOWN,
        [CARM_WHATIF_CORES] = CARM_TRIAL_CORES,
        [CARM_WHATIF_STREAM] = CARM_VARIANT_STREAM,
        [CARM_WHATIF_STREAM2] = CARM_VARIANT_STREAM2,
        [CARM_WHATIF_STREAM3] = CARM_VARIANT_STREAM3,
        [CARM_WHATIF_STREAM4] = CARM_VARIANT_STREAM4,
    };
    double nulls[CARM_WHATIF_SNAPSHOTS] = {0.0};
    double seconds[CARM_WHATIF_SNAPSHOTS] = {0.0};
    const char *why = "";
    size_t good = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct carm_trial_result *r = &c->results[i];
        nulls[i] = r->why[0] ? NAN : r->null;
        seconds[i] = r->why[0] ? NAN : r->seconds;
        loop->inside = r->why[0] ? loop->inside : r->inside;
        why = r->why[0] ? r->why : why;
        good += !r->why[0];
    }
    loop->snapshots = (unsigned)good;
    loop->null = median_of(nulls, c->n);
    assert(c->row);
    if (c->row->executions && c->seconds > 0.0) {
        const double inside = isnan(loop->inside) ? 1.0 : loop->inside;
        loop->copied =
            inside * median_of(seconds, c->n) / (c->seconds / (double)c->row->executions);
    }
    if (loop->why[0]) {
        return;
    }
    if (good < CARM_TRIAL_SNAPSHOTS) {
        snprintf(
            loop->why, sizeof loop->why, "%s",
            why[0] ? why
            : c->n && loop->seconds > 0.5 * carm_whatif_loop_seconds
                ? "three snapshots of it would hold the program for more than 4 s"
            : s->stop.masked ? "the program blocks or ignores SIGTRAP, which breakpoints use"
            : s->stop.untraced
                ? "the program cannot be traced: another process traces it, or it has another user"
            : c->n
                ? "the program ended, or left it, before three snapshots of it were taken"
                : "the program's first process did not reach it; a process that it starts may have "
                  "(sh -c: write exec before the command)");
        return;
    }
    if (!isnan(loop->copied) && (loop->copied > copied_most || loop->copied < copied_least)) {
        snprintf(
            loop->why, sizeof loop->why,
            "an iteration takes %.2g times as long in a copy as in the program: copies do not show "
            "what it waits for",
            loop->copied);
        return;
    }
    for (int k = 0; k < CARM_WHATIF_KINDS; k++) {
        if (k == CARM_WHATIF_PREFETCH) {
            take_prefetch(c, loop, &loop->changes[k]);
        } else {
            take_change(c, (enum carm_whatif_kind)k, trials[k], loop, &loop->changes[k]);
        }
    }
    struct carm_whatif_change *cores = &loop->changes[CARM_WHATIF_CORES];
    if (!cores->measured && c->trial.cores.n < CARM_TRIAL_SNAPSHOTS &&
        c->trial.cores.seconds > 0.0) {
        snprintf(cores->why, sizeof cores->why,
                 "other processes had a CPU while copies ran on all of them");
    }
    /* the other loads are in L1, so the gain of all data in L1 is at least this one */
    struct carm_whatif_change *l1 = &loop->changes[CARM_WHATIF_L1];
    l1->at_least = l1->measured && c->trial.l1_partly;
    l1->ci.hi = l1->at_least ? INFINITY : l1->ci.hi;
    /* as fast as without any arithmetic: only the counter and the branch of each iteration are left */
    struct carm_whatif_change *chains = &loop->changes[CARM_WHATIF_CHAINS];
    const struct carm_whatif_change *bare = &loop->changes[CARM_WHATIF_ARITHMETIC];
    chains->at_least =
        chains->measured && chains->gain > 1.1 &&
        (c->trial.body.folds || (bare->measured && chains->gain > bare_share * bare->gain));
    if (chains->at_least) { /* unrolled by hand, with an accumulator for each iteration */
        chains->ci.hi *= unrolled;
    }
}

static void take_streams(const struct candidate *c, const struct carm_run *run,
                         struct carm_symbols *symbols, struct carm_whatif_loop *loop)
{
    const struct carm_module *module = &run->blocks.modules.list[c->code->module];
    const struct carm_symbols_module *m =
        symbols ? carm_symbols_find(symbols, c->path, module->code, -1) : NULL;
    const struct carm_body *body = &c->trial.body;
    loop->cpus = c->trial.cpus;
    for (size_t i = 0; i < body->n; i++) {
        const struct carm_body_op *op = &body->ops[i];
        if (!op->stream) {
            continue;
        }
        struct carm_whatif_stream *stream = &loop->streams[op->stream - 1];
        if (!stream->loads && !stream->stores) {
            stream->stride = op->stride;
            if (m) {
                const uint64_t at = op->at - c->head + c->code->at;
                carm_symbols_source(stream->source, sizeof stream->source, m, at, at);
            }
        }
        stream->loads += op->op.loads;
        stream->stores += op->op.stores;
    }
}

/* Whether any loop can be tried; out->why gets the reason if not. */
static bool worth_it(struct session *s, const struct carm_run *run,
                     const struct carm_profile *profile)
{
    char *why = s->out->why;
    const size_t size = sizeof s->out->why;
    bool any = false;
    if (!run->has_blocks || !profile->has_time) {
        snprintf(why, size, "the loops' counts and shares of time are not known");
        return false;
    }
    if (run->row.seconds < least_seconds) {
        snprintf(why, size, "the program runs %.3g s: snapshots of it need %.1g s",
                 run->row.seconds, least_seconds);
        return false;
    }
    choose(s, run, profile);
    for (size_t i = 0; i < s->out->nloops; i++) {
        any = any || !s->out->loops[i].why[0];
    }
    if (!s->out->nloops) {
        snprintf(why, size, "no loop takes %.0f%% of the time", 100.0 * least_share);
    }
    return any;
}

static int run_again(struct session *s, const struct carm_run *run, struct carm_err *err)
{
    struct carm_launch launch;
    const struct sigaction action = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    struct sigaction term, hangup;
    int rc =
        carm_launch_open(&launch, run->argv, NULL, CARM_LAUNCH_QUIET | CARM_LAUNCH_PLACED, err);
    if (!rc) {
        s->stop.pid = launch.pid;
        program_pid = launch.pid;
        carm_interrupt_watch();
        sigaction(SIGTERM, &action, &term);
        sigaction(SIGHUP, &action, &hangup);
        rc = carm_launch_go(&launch, run->argv[0], err);
        s->began = carm_seconds_now();
        if (!rc) {
            if (run->observer) {
                carm_observer_begin(run->observer,
                                    s->length + carm_whatif_loop_seconds * (double)s->out->nloops);
            }
            take_snapshots(s, run->observer);
            if (run->observer) {
                carm_observer_step(run->observer, "what if: the program goes on to its end");
            }
            carm_stop_await_end(&s->stop); /* the program completes its output */
            launch.pid = -1;
            if (run->observer) {
                (void)carm_observer_end(run->observer);
            }
        }
        program_pid = 0;
        sigaction(SIGHUP, &hangup, NULL);
        sigaction(SIGTERM, &term, NULL);
        carm_interrupt_release();
    }
    carm_launch_close(&launch);
    return rc;
}

int carm_run_whatif(struct carm_run_whatif *out, const struct carm_run *run,
                    const struct carm_profile *profile, uint64_t memory, struct carm_err *err)
{
    int rc = 0;
    *out = (struct carm_run_whatif){.nloops = 0};
    struct session *s = calloc(1, sizeof *s);
    if (!s) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory");
    }
    s->out = out;
    s->length = run->row.seconds;
    s->cpu = run->cpu_seconds;
    if (worth_it(s, run, profile)) {
        struct carm_clock clock;
        rc = carm_clock_open(&clock, err);
        if (!rc) {
            s->settings = (struct carm_trial_settings){.memory = memory,
                                                       .tsc_hz = clock.tsc_hz,
                                                       .copy = copy_seconds,
                                                       .stop = &carm_interrupted};
            rc = run_again(s, run, err);
        }
    }
    struct carm_symbols *symbols = NULL;
    rc = rc || !out->nloops ? rc : carm_symbols_open(&symbols, err);
    for (size_t i = 0; i < out->nloops && !rc; i++) {
        take_loop(&s->all[i], s, &out->loops[i]);
        if (s->all[i].opened) {
            take_streams(&s->all[i], run, symbols, &out->loops[i]);
        }
    }
    carm_symbols_close(symbols);
    for (size_t i = 0; i < out->nloops; i++) {
        if (s->all[i].opened) {
            carm_trial_close(&s->all[i].trial);
        }
        free(s->all[i].bytes);
        free(s->all[i].pieces);
    }
    if (carm_interrupted) {
        snprintf(out->why, sizeof out->why, "interrupted");
    }
    out->seconds = s->stood;
    free(s);
    return rc;
}

/* The share of the program's time that a change affects (Amdahl); for a nest, more than its row's share. */
static double concerned(const struct carm_whatif_change *c)
{
    return (1.0 - 1.0 / c->program) / (1.0 - 1.0 / c->gain);
}

void carm_run_whatif_judge(const struct carm_run_whatif *whatif, const struct carm_profile *profile,
                           struct carm_run_verdict *verdicts)
{
    for (size_t i = 0; i < whatif->nloops; i++) {
        const struct carm_whatif_loop *loop = &whatif->loops[i];
        if (loop->row >= profile->nrows) { /* a folded loop has no verdict */
            continue;
        }
        struct carm_run_verdict *v = &verdicts[loop->row];
        const double share = profile->rows[loop->row].share;
        const struct carm_whatif_change *best[CARM_ADVICE_COUNT] = {NULL}, *most = NULL;
        enum carm_advice_code first = CARM_ADVICE_COUNT;
        for (int k = 0; k < CARM_WHATIF_KINDS && v->has; k++) {
            const struct carm_whatif_change *c = &loop->changes[k];
            const enum carm_advice_code code = table[k].code;
            /* several changes may give one advice (prefetches): the best one is kept */
            if (c->measured && code < CARM_ADVICE_COUNT &&
                (!best[code] || c->ci.lo > best[code]->ci.lo)) {
                best[code] = c;
            }
            if (c->measured && code < CARM_ADVICE_COUNT && (!most || c->ci.lo > most->ci.lo)) {
                most = c;
                first = code;
            }
        }
        for (int code = 0; code < CARM_ADVICE_COUNT; code++) {
            if (best[code] &&
                (enum carm_advice_code)code !=
                    first) { /* removes the advice only if its measured gain is nothing */
                carm_verdict_measured(&v->verdict, (enum carm_advice_code)code,
                                      (struct carm_ci){1.0, best[code]->ci.hi}, share);
            }
        }
        if (most) { /* called last, so that its gain becomes the verdict's */
            carm_verdict_measured(&v->verdict, first, most->ci,
                                  most->ci.lo > 1.0 ? concerned(most) : share);
        }
    }
}
