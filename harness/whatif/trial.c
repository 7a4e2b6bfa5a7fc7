/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/whatif/trial.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "base/observer.h"
#include "harness/machine/stats.h"
#include "harness/whatif/child.h"
#include "harness/whatif/memory.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

enum {
    STEPS = 6000,    /* instructions that are observed, 4 us each */
    ROUNDS_MAX = 16, /* turns of each variant: more take more pages, which each copy has to copy */
    ROUNDS_MIN = 8,
    ROUNDS_PILOT = 6, /* which tell how fast the variants are */
    SPEED_MOST = 32,
    ROUNDS_FIRST = 1,   /* left out: the first turn of each */
    CHILDREN = 2,       /* rounds of copies, where turns do not do */
    HUGE_LEAST = 3,     /* snapshots with them, of which an interval can be made */
    HUGE_ROUNDS = 1,    /* to make 400 MB huge takes half a second */
    FLOW_UNITS = 20000, /* whose control flow is compared */
    UNITS_LEAST = 4,    /* of a turn */
    MOST_LEAST = 16,    /* of all that a copy can do */
    SAMPLES = 100,
    SAMPLES_ENOUGH = 40, /* a share within some 15% */
    SAMPLED = 12,        /* copies */
    DATA_MAX = 64,
    HUGE_PAGE = 2 << 20,
    PAGE = 4096,
    LIST_BYTES = 8 << 20, /* of pages to touch */
};

static const double turn_seconds = 60e-6; /* long against a time stamp, short against a drift */
static const double settle_share = 0.5;   /* of a turn, before it is timed */
static const double child_seconds = 1e-2; /* timed in a copy of its own */
static const double limit_seconds = 2.0;  /* of a copy */
static const double flow_most = 0.01;     /* difference in executions of a block */
static const double null_most = 0.035;    /* in turns; beyond it, copies of one stretch are tried */
static const double inside_least = 0.5;
static const double huge_seconds = 2.5; /* of the 4 s that a loop may take */
static const double huge_least = 0.8;   /* of the data, else the change was not made */

struct snapshot {
    struct carm_trial *trial;
    const struct carm_trial_settings *settings;
    struct carm_memory memory;
    struct carm_child program, origin; /* origin: the first copy */
    struct carm_region region;
    struct carm_variant_code codes[CARM_VARIANTS];
    struct carm_variant_code counted[CARM_VARIANTS];
    uint64_t list_at;
    size_t nlist;
    uint64_t data[DATA_MAX];
    size_t ndata;
    double ticks; /* of a unit */
    double most;  /* units that a copy can do */
    double until; /* time is over */
    char *why;
    size_t why_size;
};

#define FAIL(s, ...) (snprintf((s)->why, (s)->why_size, __VA_ARGS__), false)

int carm_trial_open(struct carm_trial *trial, uint64_t head, const struct carm_body_piece *pieces,
                    size_t npieces, struct carm_err *err)
{
    *trial = (struct carm_trial){.prepared = false};
    return carm_body_open(&trial->body, head, pieces, npieces, err);
}

void carm_trial_close(struct carm_trial *trial)
{
    carm_body_close(&trial->body);
}

static bool over(const struct snapshot *s)
{
    return carm_seconds_now() > s->until || (s->settings->stop && *s->settings->stop);
}

/* ---- copies ---- */

static bool fork_copy(struct snapshot *s, struct carm_child *from, struct carm_child *to)
{
    const int rc = carm_child_fork(from, to);
    if (rc) {
        return FAIL(s, "it cannot be copied (%s)", strerror(-rc));
    }
    return true;
}

static const char *words_of(const struct snapshot *s, const struct carm_child_outcome *o,
                            char *text, size_t size)
{
    const struct carm_area *area = o->end == CARM_CHILD_SIGNALED && o->number == SIGSEGV
                                       ? carm_memory_find(&s->memory, o->fault)
                                       : NULL;
    if (area && area->shared && area->writable) {
        snprintf(text, size, "a store to memory that it shares with others");
        return text;
    }
    switch (o->end) {
    case CARM_CHILD_CALLED:
        snprintf(text, size, "a system call (%d)", o->number);
        break;
    case CARM_CHILD_SIGNALED:
        snprintf(text, size, "a fault (%s)", strsignal(o->number));
        break;
    case CARM_CHILD_LATE:
        snprintf(text, size, "the limit of %.0f s", limit_seconds);
        break;
    default:
        snprintf(text, size, "its end");
        break;
    }
    return text;
}

static uint64_t areas_of(const struct snapshot *s, size_t i, uint64_t *end)
{
    const struct carm_area *area = carm_memory_find(&s->memory, s->data[i]);
    *end = area ? area->end & ~(uint64_t)(HUGE_PAGE - 1) : 0;
    return area ? (area->begin + HUGE_PAGE - 1) & ~(uint64_t)(HUGE_PAGE - 1) : 0;
}

/* Makes the pages of the data huge, in a copy. */
static bool collapse(const struct snapshot *s, struct carm_child *child)
{
    uint64_t present = 0, huge = 0;
    int64_t rc = 0;
    for (size_t i = 0; i < s->ndata; i++) {
        uint64_t end = 0;
        for (uint64_t at = areas_of(s, i, &end); at < end && rc != -EINVAL; at += HUGE_PAGE) {
            const uint64_t a[6] = {at, HUGE_PAGE, MADV_COLLAPSE};
            if (carm_memory_present(child->pid, at, at + HUGE_PAGE)) {
                rc = carm_child_call(child, SYS_madvise, a);
            }
        }
    }
    carm_memory_huge(child->pid, s->data, s->ndata, &present, &huge);
    return present > 0 && (double)huge >= huge_least * (double)present;
}

/* A copy whose pages are as they are while the loop runs: touched, and huge where the program's are. */
static bool open_warm(struct snapshot *s, bool huge, struct carm_child *child)
{
    struct carm_child_outcome outcome;
    if (!fork_copy(s, &s->origin, child)) {
        return false;
    }
    if ((huge || s->trial->huge_already) && !collapse(s, child)) {
        carm_child_kill(child);
        return FAIL(s, "the kernel did not make its pages huge");
    }
    if (s->nlist) {
        const struct user_regs_struct regs = child->regs;
        child->regs.rip = s->region.touch_at;
        child->regs.rsi = s->list_at;
        child->regs.rcx = s->nlist;
        carm_child_run(child, limit_seconds, s->settings->stop, &outcome);
        child->regs = regs;
        if (outcome.end != CARM_CHILD_ARRIVED) {
            char text[80];
            carm_child_kill(child);
            return FAIL(s, "its pages cannot be touched: %s",
                        words_of(s, &outcome, text, sizeof text));
        }
    }
    return true;
}

/* Runs phases in a copy, which then waits, unless it is gone.
 * phases  [n]; the last one only ends: in: units, target, entry; out: tsc
 * first   units of `code` before them
 * done    out: units of the first part and of all phases; NULL
 * returns the number of phases that began; n: all ended */
static size_t start_phases(struct snapshot *s, struct carm_child *child,
                           const struct carm_variant_code *code, double first,
                           struct carm_phase *phases, size_t n, struct carm_child_outcome *outcome,
                           double *done)
{
    const uint64_t at = s->region.data_at;
    const uint64_t words[4] = {first >= 1.0 ? (uint64_t)first : 1, at + CARM_REGION_PHASES, 0,
                               code->entry};
    uint64_t left = 0;
    size_t began = 0;
    for (size_t i = 0; i < n; i++) {
        phases[i].tsc = 0;
    }
    child->regs.rip = code->start;
    *outcome = (struct carm_child_outcome){.end = CARM_CHILD_GONE};
    if (carm_child_write(child->pid, at + CARM_REGION_UNITS, words, sizeof words) &&
        carm_child_write(child->pid, at + CARM_REGION_PHASES, phases, n * sizeof *phases)) {
        carm_child_run(child, limit_seconds, s->settings->stop, outcome);
    }
    if (child->pid &&
        carm_child_read(child->pid, at + CARM_REGION_PHASES, phases, n * sizeof *phases) &&
        carm_child_read(child->pid, at + CARM_REGION_UNITS, &left, sizeof left)) {
        while (began < n && phases[began].tsc) {
            began++;
        }
    }
    if (done) {
        *done = began ? (double)words[0] : (double)words[0] - (double)left;
        for (size_t i = 0; i + 1 < began; i++) {
            *done += (double)phases[i].units;
        }
        *done += began && began < n ? (double)phases[began - 1].units - (double)left : 0.0;
    }
    return began;
}

/* Likewise, and ends the copy. counts: out, [ops of the loop] executions that a counting variant has counted; NULL */
static size_t run_phases(struct snapshot *s, struct carm_child *child,
                         const struct carm_variant_code *code, double first,
                         struct carm_phase *phases, size_t n, struct carm_child_outcome *outcome,
                         double *done, uint64_t *counts)
{
    size_t began = start_phases(s, child, code, first, phases, n, outcome, done);
    if (counts && child->pid &&
        !carm_child_read(child->pid, s->region.data_at + CARM_REGION_COUNTS, counts,
                         s->trial->body.n * sizeof *counts)) {
        began = 0;
    }
    carm_child_kill(child);
    return began;
}

static struct carm_phase phase_of(const struct carm_variant_code *code, double units)
{
    return (struct carm_phase){
        .units = units >= 1.0 ? (uint64_t)units : 1, .target = code->start, .entry = code->entry};
}

static struct carm_phase phase_end(const struct snapshot *s)
{
    return (struct carm_phase){.units = 1, .target = s->region.end_at, .entry = s->region.end_at};
}

/* ---- set-up ---- */

static uint64_t map(struct carm_child *child, uint64_t at, uint64_t bytes, uint64_t prot)
{
    const uint64_t a[6] = {
        at,           bytes,
        prot,         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE,
        (uint64_t)-1, 0};
    return carm_child_call(child, SYS_mmap, a) == (int64_t)at ? at : 0;
}

/* A copy that keeps to one CPU, and cannot write what it shares with others. */
static bool open_origin(struct snapshot *s, pid_t thread)
{
    cpu_set_t cpus;
    const uint64_t data_bytes = CARM_REGION_DATA_BYTES + LIST_BYTES;
    const uint64_t bytes = data_bytes + CARM_REGION_CODE_BYTES;
    const uint64_t at = carm_memory_gap(&s->memory, s->trial->body.head, bytes);
    if (!at) {
        return FAIL(s, "no memory is free within 1 GB of its code");
    }
    if (!carm_child_take(&s->program, thread)) {
        return FAIL(s, "it has no system call instruction");
    }
    if (!fork_copy(s, &s->program, &s->origin)) {
        return false;
    }
    for (size_t i = 0; i < s->memory.n; i++) {
        const struct carm_area *area = &s->memory.areas[i];
        const uint64_t a[6] = {area->begin, area->end - area->begin, PROT_READ};
        if (area->writable && area->shared && carm_child_call(&s->origin, SYS_mprotect, a) != 0) {
            return FAIL(s, "memory that it shares with others cannot be protected in a copy");
        }
    }
    if (!map(&s->origin, at, data_bytes, PROT_READ | PROT_WRITE) ||
        !map(&s->origin, at + data_bytes, CARM_REGION_CODE_BYTES, PROT_READ | PROT_EXEC)) {
        return FAIL(s, "code cannot be put into a copy (is it forbidden to execute new memory?)");
    }
    s->list_at = at + CARM_REGION_DATA_BYTES;
    if (sched_getaffinity(s->origin.pid, sizeof cpus, &cpus) == 0) {
        size_t last = 0;
        for (size_t c = 0; c < CPU_SETSIZE; c++) {
            last = CPU_ISSET(c, &cpus) ? c : last;
        }
        CPU_ZERO(&cpus);
        CPU_SET(last, &cpus);
        (void)sched_setaffinity(s->origin.pid, sizeof cpus, &cpus);
    }
    struct carm_err err = {""};
    if (carm_region_open(&s->region, at + data_bytes, at, &err) != 0) {
        return FAIL(s, "%s", err.text);
    }
    return true;
}

/* Executes some thousand instructions one by one: how the addresses move. */
static bool observe(struct snapshot *s)
{
    struct carm_body *body = &s->trial->body;
    struct carm_child child;
    unsigned steps = 0, inside = 0;
    if (!fork_copy(s, &s->origin, &child)) {
        return false;
    }
    do {
        struct carm_body_op *op = carm_body_find(body, child.regs.rip);
        if (op) {
            carm_body_observe(op, &child.regs);
            inside++;
        }
        steps++;
    } while (steps < STEPS && carm_child_step(&child));
    carm_child_kill(&child);
    carm_body_observed(body);
    return inside > 0 || FAIL(s, "it was not executed");
}

static void find_data(struct snapshot *s)
{
    const struct carm_body *body = &s->trial->body;
    for (size_t i = 0; i < body->n; i++) {
        const struct carm_body_op *op = &body->ops[i];
        const bool moves = op->varies || (op->op.flags & CARM_OPCODE_GATHER);
        const struct carm_area *area =
            moves && op->executions ? carm_memory_find(&s->memory, op->first) : NULL;
        bool known = !area;
        for (size_t k = 0; k < s->ndata && !known; k++) {
            known = s->data[k] >= area->begin && s->data[k] < area->end;
        }
        if (!known && s->ndata < DATA_MAX) {
            s->data[s->ndata++] = op->first;
        }
    }
}

/* What stands for memory begins with what is there. */
static bool write_scratch(struct snapshot *s)
{
    const struct carm_body *body = &s->trial->body;
    struct user_fpregs_struct fp;
    bool good = ptrace(PTRACE_GETFPREGS, s->program.pid, NULL, &fp) == 0;
    for (size_t i = 0; i < body->n && good; i++) {
        uint8_t line[64] = {0};
        if (!body->ops[i].varies || !body->ops[i].executions) {
            continue;
        }
        (void)carm_child_read(s->origin.pid, body->ops[i].first, line, sizeof line);
        for (unsigned c = 0; c < carm_region_copies(body) && good; c++) {
            good =
                carm_child_write(s->origin.pid, s->region.data_at + carm_region_scratch(body, i, c),
                                 line, sizeof line);
        }
    }
    for (size_t k = 0; k < body->ncarried && good; k++) {
        good = carm_child_write(
            s->origin.pid, s->region.data_at + carm_region_carried(k),
            (const uint8_t *)fp.xmm_space + (size_t)16 * (body->carried[k] & 15), 16);
    }
    return good || FAIL(s, "a copy cannot be written");
}

/* The jump over the head is five bytes, into which nothing may jump. */
static bool can_patch(const struct carm_body *body)
{
    uint64_t covered = 0;
    for (size_t i = 0; i < body->n && body->ops[i].at < body->head + 5; i++) {
        const struct carm_body_op *op = &body->ops[i];
        if (op->at < body->head || (i > 0 && op->leader)) {
            break;
        }
        covered += op->in.length;
    }
    return covered >= 5;
}

static void refuse(struct carm_trial *t, enum carm_variant v, const char *why)
{
    if (!t->refused[v][0]) {
        snprintf(t->refused[v], sizeof t->refused[v], "%s", why);
    }
}

/* What cannot be tried with this loop. */
static void refuse_variants(struct carm_trial *t)
{
    const struct carm_body *body = &t->body;
    bool gathers = false, chases = false, strings = false;
    for (size_t i = 0; i < body->n; i++) {
        const struct carm_body_op *op = &body->ops[i];
        gathers = gathers || (op->op.flags & CARM_OPCODE_GATHER);
        strings = strings || (op->memory < 0 && (op->op.loads || op->op.stores) &&
                              !(op->op.flags & (CARM_OPCODE_STACK | CARM_OPCODE_CALL)));
        chases = chases || (op->varies && op->op.loads && !op->decides && !op->vector &&
                            carm_body_chases(body, op));
    }
    for (int v = CARM_VARIANT_CHAINS; v < CARM_VARIANTS && body->calls; v++) {
        refuse(t, (enum carm_variant)v, "the loop calls functions, which use its values");
    }
    if (body->carried_decides) {
        refuse(t, CARM_VARIANT_CHAINS, "a branch depends on the values that it carries");
    }
    if (chases) {
        refuse(t, CARM_VARIANT_L1,
               "its loads wait for each other's values: without them nothing is left to wait for");
    }
    if (gathers) {
        refuse(t, CARM_VARIANT_L1, "gathers are not rewritten");
        refuse(t, CARM_VARIANT_ARITHMETIC, "gathers take their masks from arithmetic");
    }
    if (strings) {
        refuse(t, CARM_VARIANT_L1, "string instructions are not rewritten");
        refuse(t, CARM_VARIANT_STORES, "string instructions are not rewritten");
    }
}

static const char *const nothing[CARM_VARIANTS] = {
    [CARM_VARIANT_NEAR] = "no load moves by a constant",
    [CARM_VARIANT_PREFETCHED] = "no load moves by a constant",
    [CARM_VARIANT_FAR] = "no load moves by a constant",
    [CARM_VARIANT_INDIRECT] = "no load's address is made of a number that was loaded in order",
    [CARM_VARIANT_STREAMING] = "no store of 16 bytes or more, aligned, or of a general register",
    [CARM_VARIANT_CHAINS] = "no vector register carries a value to the next iteration",
    [CARM_VARIANT_DIVISIONS] =
        "no floating-point division or square root outside of the control flow",
    [CARM_VARIANT_ARITHMETIC] = "no vector arithmetic outside of the control flow",
    [CARM_VARIANT_STORES] = "no store that moves",
    [CARM_VARIANT_L1] = "no load or store that moves, outside of the control flow",
};

static bool write_code(struct snapshot *s)
{
    struct carm_trial *t = s->trial;
    const uint64_t head = t->body.head;
    uint8_t patch[5] = {0xe9};
    const int32_t distance = (int32_t)(int64_t)(s->region.entry_at - (head + 5));
    for (int v = 0; v < CARM_VARIANTS; v++) {
        const enum carm_variant variant = (enum carm_variant)v;
        if (t->refused[v][0]) {
            continue;
        }
        carm_region_emit(&s->region, &t->body, variant, false, &s->codes[v]);
        if (!s->codes[v].start) {
            refuse(t, variant, s->codes[v].why);
        } else if (v > CARM_VARIANT_AGAIN && !s->codes[v].changed) {
            refuse(t, variant, nothing[v]);
            t->idle[v] = true;
        }
        t->changed[v] = s->codes[v].changed;
        if (!t->prepared && !t->refused[v][0] &&
            (v == CARM_VARIANT_UNCHANGED || carm_variant_changes_values(variant))) {
            carm_region_emit(&s->region, &t->body, variant, true, &s->counted[v]);
        }
    }
    if (t->refused[CARM_VARIANT_UNCHANGED][0]) {
        snprintf(t->wrong, sizeof t->wrong, "%s", t->refused[CARM_VARIANT_UNCHANGED]);
        return FAIL(s, "%s", t->wrong);
    }
    memcpy(patch + 1, &distance, sizeof distance);
    return (carm_child_write(s->origin.pid, s->region.code_at, s->region.code, s->region.used) &&
            (!can_patch(&t->body) || carm_child_write(s->origin.pid, head, patch, sizeof patch))) ||
           FAIL(s, "a copy cannot be written");
}

/* ---- how long ---- */

static bool too_few(struct snapshot *s, double done, const struct carm_child_outcome *outcome)
{
    char text[80];
    return FAIL(s, "after %.0f passes it came to %s: too few to be timed", done,
                words_of(s, outcome, text, sizeof text));
}

/* The ticks of a unit in copies that have not touched their pages, and how many units they can do. */
static bool calibrate(struct snapshot *s)
{
    const struct carm_variant_code *code = &s->codes[CARM_VARIANT_UNCHANGED];
    const double enough = 300e-6 * s->settings->tsc_hz;
    double units = 64.0;
    s->most = 1e15;
    for (int i = 0; i < 16; i++) {
        struct carm_phase phases[2] = {phase_of(code, units), phase_end(s)};
        struct carm_child_outcome outcome;
        struct carm_child child;
        double done = 0.0;
        if (!fork_copy(s, &s->origin, &child)) {
            return false;
        }
        const size_t n = run_phases(s, &child, code, 1.0, phases, 2, &outcome, &done, NULL);
        if (n < 2) {
            s->most = floor(0.9 * done);
            return (s->most >= MOST_LEAST && s->ticks > 0.0) || too_few(s, done, &outcome);
        }
        const double ticks = (double)(phases[1].tsc - phases[0].tsc);
        s->ticks = ticks / units;
        if (ticks > enough) {
            return true;
        }
        units *= fmin(64.0, fmax(4.0, 1.2 * enough / (ticks + 1.0)));
    }
    return true;
}

/* Lets a copy do so many units, and lists the pages that it took. Where it comes to a system call before, that is the
 * most that a copy can do. */
static bool list_pages(struct snapshot *s, double units)
{
    const struct carm_variant_code *code = &s->codes[CARM_VARIANT_UNCHANGED];
    struct carm_phase phases[2] = {phase_of(code, units), phase_end(s)};
    struct carm_child_outcome outcome;
    struct carm_child child;
    struct carm_err err = {""};
    uint64_t *list = NULL;
    double done = 0.0;
    int rc = 0;
    s->nlist = 0;
    if (!fork_copy(s, &s->origin, &child)) {
        return false;
    }
    const size_t began = start_phases(s, &child, code, 1.0, phases, 2, &outcome, &done);
    if (!child.pid) {
        return FAIL(s, "a copy took more than %.0f s", limit_seconds);
    }
    if (began < 2) {
        s->most = fmin(s->most, floor(0.9 * done));
        if (s->most < MOST_LEAST) {
            carm_child_kill(&child);
            return too_few(s, done, &outcome);
        }
    }
    rc = carm_memory_pages(s->origin.pid, child.pid, &s->memory, s->data, s->ndata, &list,
                           &s->nlist, &err);
    carm_child_kill(&child);
    s->nlist = s->nlist * sizeof *list > LIST_BYTES ? LIST_BYTES / sizeof *list : s->nlist;
    const bool good = !rc && (!s->nlist || carm_child_write(s->origin.pid, s->list_at, list,
                                                            s->nlist * sizeof *list));
    free(list);
    return good || FAIL(s, "%s", err.text[0] ? err.text : "a copy cannot be written");
}

/* Ticks of a unit in a copy whose pages are touched; 0 = failed */
static double warm_ticks(struct snapshot *s, double units)
{
    const struct carm_variant_code *code = &s->codes[CARM_VARIANT_UNCHANGED];
    struct carm_phase phases[2] = {phase_of(code, units), phase_end(s)};
    struct carm_child_outcome outcome;
    struct carm_child child;
    if (!open_warm(s, false, &child)) {
        return 0.0;
    }
    const size_t n = run_phases(s, &child, code, 0.1 * units, phases, 2, &outcome, NULL, NULL);
    if (n < 2) {
        char text[80];
        (void)FAIL(s, "it came to %s", words_of(s, &outcome, text, sizeof text));
        return 0.0;
    }
    return (double)(phases[1].tsc - phases[0].tsc) / (double)phases[0].units;
}

/* ---- turns ---- */

struct plan {
    enum carm_variant variants[CARM_VARIANTS];
    size_t n;
    double turn, settle; /* units */
    int rounds;
    bool in_turns;
    double child; /* units of a copy of its own */
};

/* A faster variant does more units in a turn, so that its turn is as long. */
static double speed_of(const struct snapshot *s, enum carm_variant variant)
{
    return fmax(1.0, s->trial->speed[variant]);
}

static double units_of(const struct snapshot *s, const struct plan *p)
{
    double units = 0.0;
    for (size_t k = 0; k < p->n; k++) {
        units += (p->turn + p->settle) * (1.0 + speed_of(s, p->variants[k]));
    }
    return p->rounds * units + p->turn;
}

static void make_plan(const struct snapshot *s, struct plan *p)
{
    const struct carm_trial *t = s->trial;
    const double hz = s->settings->tsc_hz;
    p->n = 0;
    for (int v = CARM_VARIANT_AGAIN; v < CARM_VARIANTS; v++) {
        if (!t->refused[v][0] && s->codes[v].start) {
            p->variants[p->n++] = (enum carm_variant)v;
        }
    }
    p->turn = fmax(UNITS_LEAST, ceil(turn_seconds * hz / s->ticks));
    p->settle = ceil(settle_share * p->turn);
    p->rounds = ROUNDS_MAX;
    while (p->rounds > ROUNDS_MIN && units_of(s, p) > s->most) {
        p->rounds--;
    }
    const double shrink = s->most / units_of(s, p);
    if (shrink < 1.0) {
        p->turn = floor(shrink * p->turn);
        p->settle = floor(shrink * p->settle);
    }
    p->in_turns = p->turn >= UNITS_LEAST && p->turn * s->ticks > 5e-6 * hz;
    p->child = fmin(floor(0.6 * s->most), ceil(child_seconds * hz / s->ticks));
}

/* NAN where there is none. */
static double median(double *v, size_t n)
{
    return n ? carm_stats_median(v, n) : NAN;
}

/* The unchanged code against itself gives the null ratio. */
static void take_ratio(struct carm_trial_result *result, enum carm_variant variant, double ratio)
{
    *(variant == CARM_VARIANT_AGAIN ? &result->null : &result->ratio[variant]) = ratio;
}

/* Each variant between two turns of the unchanged code, in one copy. */
static bool measure_in_turns(struct snapshot *s, const struct plan *p,
                             struct carm_trial_result *result)
{
    const struct carm_variant_code *unchanged = &s->codes[CARM_VARIANT_UNCHANGED];
    struct carm_phase *phases = calloc(CARM_REGION_PHASES_MAX, sizeof *phases);
    struct carm_child_outcome outcome;
    struct carm_child child;
    double base[ROUNDS_MAX * CARM_VARIANTS];
    size_t n = 0, nbase = 0;
    if (!phases) {
        return FAIL(s, "not enough memory");
    }
    for (int r = 0; r < p->rounds; r++) {
        for (size_t k = 0; k < p->n && n + 6 < CARM_REGION_PHASES_MAX; k++) {
            const struct carm_variant_code *code = &s->codes[p->variants[k]];
            phases[n++] = phase_of(unchanged, p->settle);
            phases[n++] = phase_of(unchanged, p->turn);
            phases[n++] = phase_of(code, p->settle * speed_of(s, p->variants[k]));
            phases[n++] = phase_of(code, p->turn * speed_of(s, p->variants[k]));
        }
    }
    phases[n++] = phase_end(s);
    if (!open_warm(s, false, &child)) {
        free(phases);
        return false;
    }
    const size_t began = run_phases(s, &child, unchanged, p->turn, phases, n, &outcome, NULL, NULL);
    for (size_t k = 0; k < p->n; k++) {
        double ratios[ROUNDS_MAX];
        size_t m = 0;
        for (size_t r = ROUNDS_FIRST; r < (size_t)p->rounds; r++) {
            const size_t at = 4 * (r * p->n + k);
            if (at + 6 >= began) {
                break;
            }
            const double before = (double)(phases[at + 2].tsc - phases[at + 1].tsc);
            const double changed = (double)(phases[at + 4].tsc - phases[at + 3].tsc) *
                                   (double)phases[at + 1].units / (double)phases[at + 3].units;
            const double after = (double)(phases[at + 6].tsc - phases[at + 5].tsc);
            ratios[m++] = 0.5 * (before + after) / changed;
            base[nbase++] = before / p->turn;
        }
        take_ratio(result, p->variants[k], m >= ROUNDS_MIN / 2 ? median(ratios, m) : NAN);
    }
    free(phases);
    if (nbase < ROUNDS_MIN / 2) {
        char text[80];
        return FAIL(s, "it came to %s too soon", words_of(s, &outcome, text, sizeof text));
    }
    s->ticks = median(base, nbase);
    return true;
}

/* Ticks of the same stretch in a copy of its own; NaN = it did not end it
 * huge  with huge pages */
static double measure_child(struct snapshot *s, const struct plan *p, enum carm_variant variant,
                            bool huge)
{
    const struct carm_variant_code *code = &s->codes[variant];
    struct carm_phase phases[2] = {phase_of(code, p->child), phase_end(s)};
    struct carm_child_outcome outcome;
    struct carm_child child;
    if (!open_warm(s, huge, &child)) {
        return NAN;
    }
    const size_t n = run_phases(s, &child, code, 0.5 * p->child, phases, 2, &outcome, NULL, NULL);
    return n == 2 ? (double)(phases[1].tsc - phases[0].tsc) : NAN;
}

/* Each variant between two copies of the unchanged code, which all do the same stretch. */
static bool measure_by_children(struct snapshot *s, const struct plan *p,
                                struct carm_trial_result *result)
{
    double ratios[CARM_VARIANTS][CHILDREN];
    double base[2 * CHILDREN];
    size_t m[CARM_VARIANTS] = {0};
    size_t nbase = 0;
    for (int r = 0; r < CHILDREN && (r == 0 || !over(s)); r++) {
        double took[CARM_VARIANTS];
        const double before = measure_child(s, p, CARM_VARIANT_UNCHANGED, false);
        for (size_t k = 0; k < p->n; k++) {
            took[k] = isnan(before) ? NAN : measure_child(s, p, p->variants[k], false);
        }
        const double after = measure_child(s, p, CARM_VARIANT_UNCHANGED, false);
        if (isnan(before) || isnan(after)) {
            continue;
        }
        base[nbase++] = before;
        base[nbase++] = after;
        for (size_t k = 0; k < p->n; k++) {
            if (!isnan(took[k])) {
                ratios[k][m[k]++] = 0.5 * (before + after) / took[k];
            }
        }
    }
    for (size_t k = 0; k < p->n; k++) {
        take_ratio(result, p->variants[k], median(ratios[k], m[k]));
    }
    if (!nbase) {
        return s->why[0] ? false : FAIL(s, "its copies did not end their stretch");
    }
    s->ticks = median(base, nbase) / p->child;
    s->why[0] = '\0';
    return true;
}

/* ---- huge pages ---- */

/* Whether they can be tried. */
static bool huge_fits(struct snapshot *s)
{
    struct carm_trial *t = s->trial;
    uint64_t present = 0, huge = 0, room = 0;
    uint64_t data[DATA_MAX];
    size_t n = 0;
    char *why = t->refused[CARM_TRIAL_HUGE];
    const size_t size = sizeof t->refused[CARM_TRIAL_HUGE];
    for (size_t i = 0; i < s->ndata; i++) {
        const struct carm_area *area = carm_memory_find(&s->memory, s->data[i]);
        uint64_t end = 0;
        const uint64_t begin = areas_of(s, i, &end);
        if (!area || area->shared || !area->writable || (area->path[0] && area->path[0] != '[')) {
            continue;
        }
        room += end > begin ? end - begin : 0;
        data[n++] = s->data[i];
    }
    carm_memory_huge(s->program.pid, data, n, &present, &huge);
    t->huge_already = present > 0 && (double)huge > 0.5 * (double)present;
    if (t->huge_already) {
        snprintf(why, size, "its pages are huge already");
    } else if (!room || present < UINT64_C(4) * HUGE_PAGE) {
        snprintf(why, size, "its data take less than a few huge pages, or are a file's");
    } else if (room > (UINT64_C(4) << 30)) {
        snprintf(why, size, "its data take more than 4 GiB");
    }
    return !why[0];
}

static void measure_huge(struct snapshot *s, const struct plan *p, struct carm_trial_result *result)
{
    double ratios[HUGE_ROUNDS], nulls[HUGE_ROUNDS];
    size_t n = 0;
    char text[200] = "";
    char *const why = s->why;
    s->why = text;
    double before = measure_child(s, p, CARM_VARIANT_UNCHANGED, false);
    for (int r = 0; r < HUGE_ROUNDS && !isnan(before); r++) {
        const double changed = measure_child(s, p, CARM_VARIANT_UNCHANGED, true);
        const double after =
            isnan(changed) ? NAN : measure_child(s, p, CARM_VARIANT_UNCHANGED, false);
        if (!isnan(changed) && !isnan(after)) {
            nulls[n] = before / after;
            ratios[n++] = 0.5 * (before + after) / changed;
        }
        before = after;
    }
    s->why = why;
    result->ratio[CARM_TRIAL_HUGE] = median(ratios, n);
    result->null_pages = median(nulls, n);
    if (isnan(result->ratio[CARM_TRIAL_HUGE]) && text[0]) {
        snprintf(s->trial->refused[CARM_TRIAL_HUGE], sizeof s->trial->refused[0], "%.150s", text);
    }
}

/* ---- the first snapshot ---- */

/* Executions of each block in a copy that counts them; false: it did not come to its end */
static bool count_blocks(struct snapshot *s, const struct carm_variant_code *code, double units,
                         uint64_t *counts, struct carm_child_outcome *outcome, double *done)
{
    struct carm_phase phases[2] = {phase_of(code, units), phase_end(s)};
    struct carm_child child;
    return fork_copy(s, &s->origin, &child) &&
           run_phases(s, &child, code, 1.0, phases, 2, outcome, done, counts) == 2;
}

/* Refuses variants under which the loop takes other ways. */
static bool compare_flow(struct snapshot *s)
{
    struct carm_trial *t = s->trial;
    double units = floor(fmin(FLOW_UNITS, 0.5 * s->most));
    double done = 0.0;
    uint64_t *counts = calloc(2 * t->body.n, sizeof *counts);
    struct carm_child_outcome outcome = {0}; /* where a copy cannot be made */
    char text[80];
    if (!counts) {
        return FAIL(s, "not enough memory");
    }
    uint64_t *const others = counts + t->body.n;
    bool good =
        count_blocks(s, &s->counted[CARM_VARIANT_UNCHANGED], units, counts, &outcome, &done);
    if (!good && 0.9 * done >= MOST_LEAST) {
        s->most = fmin(s->most, floor(0.9 * done));
        units = s->most;
        good = count_blocks(s, &s->counted[CARM_VARIANT_UNCHANGED], units, counts, &outcome, &done);
    }
    if (!good) {
        free(counts);
        return FAIL(s, "a copy that counts came to %s", words_of(s, &outcome, text, sizeof text));
    }
    t->iterations = (double)counts[0] / (units + 1.0);
    for (int v = 0; v < CARM_VARIANTS; v++) {
        double most = 0.0;
        if (v == CARM_VARIANT_UNCHANGED || !s->counted[v].start) {
            continue;
        }
        if (!count_blocks(s, &s->counted[v], units, others, &outcome, NULL)) {
            snprintf(t->refused[v], sizeof t->refused[v], "it ended the loop with %s",
                     words_of(s, &outcome, text, sizeof text));
            continue;
        }
        for (size_t i = 0; i < t->body.n; i++) {
            const double more = fabs((double)others[i] - (double)counts[i]) - 1.0;
            most = fmax(most, more / ((double)counts[i] + 16.0));
        }
        if (most > flow_most) {
            snprintf(
                t->refused[v], sizeof t->refused[v],
                "the loop took other ways with it (a block was executed %.0f%% more or less often)",
                100.0 * most);
        }
    }
    free(counts);
    return true;
}

/* The share of the time that is spent in the loop's own code, by stops of copies: of several, where they come to a
 * system call too soon. */
static bool find_inside(struct snapshot *s)
{
    const struct carm_variant_code *code = &s->codes[CARM_VARIANT_UNCHANGED];
    const uint64_t at = s->region.data_at;
    const uint64_t words[4] = {UINT64_MAX >> 1, at + CARM_REGION_PHASES, 0, code->entry};
    unsigned inside = 0, n = 0;
    for (int i = 0; i < SAMPLED && n < SAMPLES_ENOUGH; i++) {
        struct carm_child child;
        unsigned some = 0;
        if (!open_warm(s, false, &child)) {
            return false;
        }
        child.regs.rip = code->start;
        if (carm_child_write(child.pid, at + CARM_REGION_UNITS, words, sizeof words)) {
            /* at other times in each copy, as all do the same */
            n += carm_child_sample(&child, (1.0 + 0.13 * i) * 1e-4, SAMPLES, s->region.code_at,
                                   s->region.code_at + s->region.used, &some);
            inside += some;
        }
        carm_child_kill(&child);
    }
    s->trial->inside = n >= SAMPLES_ENOUGH / 2 ? (double)inside / (double)n : NAN;
    if (isnan(s->trial->inside)) {
        return FAIL(s,
                    "copies come to a system call too soon to tell how long they are in its code");
    }
    if (s->trial->inside < inside_least) {
        snprintf(
            s->trial->wrong, sizeof s->trial->wrong,
            "only %.0f%% of the time is spent in its own code while it runs: the code around it, or "
            "functions that it calls, take the rest",
            100.0 * s->trial->inside);
        return FAIL(s, "%s", s->trial->wrong);
    }
    return true;
}

/* ---- a snapshot ---- */

static bool fit_pages(struct snapshot *s, struct plan *plan)
{
    for (int i = 0; i < 5; i++) {
        make_plan(s, plan);
        const double all = fmin(s->most, fmax(units_of(s, plan), 1.6 * plan->child));
        const double most = s->most;
        if (!list_pages(s, all)) {
            return false;
        }
        if (s->trial->prepared && s->most >= most) {
            break; /* the last snapshot has told how long a unit takes */
        }
        const double was = s->ticks;
        const double now = warm_ticks(s, fmin(plan->child, 0.5 * s->most));
        if (now <= 0.0) {
            return false;
        }
        s->ticks = now;
        if ((now > 0.75 * was && s->most >= most) || over(s)) {
            break;
        }
    }
    make_plan(s, plan);
    return true;
}

static bool measure(struct snapshot *s, pid_t thread, struct carm_trial_result *result)
{
    struct carm_trial *t = s->trial;
    struct plan plan;
    if (!open_origin(s, thread) || (!t->prepared && !observe(s))) {
        return false;
    }
    find_data(s);
    if (!t->prepared) {
        refuse_variants(t);
    }
    const bool huge = !t->refused[CARM_TRIAL_HUGE][0] && huge_fits(s);
    s->ticks = t->ticks;
    s->most = t->most;
    if (!write_code(s) || !write_scratch(s) || (!t->prepared && !calibrate(s))) {
        return false;
    }
    if (!t->prepared && !compare_flow(s)) {
        return false;
    }
    if (!fit_pages(s, &plan) || (!t->prepared && !find_inside(s))) {
        return false;
    }
    if (!t->prepared && plan.in_turns) {
        struct plan pilot = plan;
        pilot.rounds = ROUNDS_PILOT < plan.rounds ? ROUNDS_PILOT : plan.rounds;
        if (measure_in_turns(s, &pilot, result)) {
            for (int v = 0; v < CARM_VARIANTS; v++) {
                t->speed[v] = isnan(result->ratio[v]) ? 1.0 : fmin(SPEED_MOST, result->ratio[v]);
                result->ratio[v] = NAN;
            }
        }
        result->null = NAN;
        s->why[0] = '\0';
        if (!fit_pages(s, &plan)) {
            return false;
        }
    }
    t->prepared = true;
    t->ticks = s->ticks;
    bool good = plan.in_turns && measure_in_turns(s, &plan, result);
    result->in_turns = good;
    if (!good || (!(fabs(result->null - 1.0) <= null_most) && !over(s))) {
        struct carm_trial_result other = *result;
        const double ticks = s->ticks;
        char why[sizeof result->why];
        snprintf(why, sizeof why, "%s", s->why);
        s->why[0] = '\0';
        const bool by_children = measure_by_children(s, &plan, &other);
        if (by_children && !(good && fabs(result->null - 1.0) < fabs(other.null - 1.0))) {
            *result = other;
            result->in_turns = false;
            result->why[0] = '\0';
        } else {
            s->ticks = ticks;
            snprintf(s->why, s->why_size, "%s", why);
        }
        good = good || by_children;
    }
    /* making pages huge takes longest: three snapshots have to do where time is short */
    if (good && huge && (t->nhuge < HUGE_LEAST || t->spent < huge_seconds)) {
        t->nhuge++;
        measure_huge(s, &plan, result);
    }
    t->ticks = good ? s->ticks : t->ticks;
    t->most = 1e15; /* the next one may be elsewhere */
    result->seconds = s->ticks / s->settings->tsc_hz / t->iterations;
    result->inside = t->inside;
    return good;
}

void carm_trial_measure(struct carm_trial *trial, pid_t thread,
                        const struct carm_trial_settings *settings,
                        struct carm_trial_result *result)
{
    const double begin = carm_seconds_now();
    struct carm_err err = {""};
    *result = (struct carm_trial_result){.null = NAN, .null_pages = NAN, .seconds = NAN};
    for (int v = 0; v < CARM_TRIAL_CHANGES; v++) {
        result->ratio[v] = NAN;
    }
    struct snapshot *s = calloc(1, sizeof *s);
    if (!s) {
        snprintf(result->why, sizeof result->why, "not enough memory");
        return;
    }
    s->trial = trial;
    s->settings = settings;
    s->until = begin + settings->seconds;
    s->why = result->why;
    s->why_size = sizeof result->why;
    if (trial->wrong[0]) {
        snprintf(result->why, sizeof result->why, "%s", trial->wrong);
    } else if (carm_memory_open(&s->memory, thread, &err) != 0) {
        snprintf(result->why, sizeof result->why, "%.190s", err.text);
    } else if (!carm_memory_forbids(thread, settings->memory, result->why, sizeof result->why)) {
        const bool good = measure(s, thread, result);
        if (!good && !result->why[0]) {
            snprintf(result->why, sizeof result->why, "it could not be measured");
        }
    }
    carm_child_kill(&s->origin);
    carm_memory_close(&s->memory);
    carm_region_close(&s->region);
    free(s);
    result->spent = carm_seconds_now() - begin;
    trial->spent += result->spent;
}
