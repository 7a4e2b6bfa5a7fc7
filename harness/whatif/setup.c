/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/whatif/setup.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "base/observer.h"

enum {
    STEPS = 6000, /* instructions that are observed, 4 us each */
    STEPS_ALIKE =
        1000, /* instructions without a new one, after which the copy runs to code that was not seen yet */
    FLOW_UNITS = 20000, /* units whose control flow is compared */
    SAMPLES = 100,
    SAMPLES_ENOUGH = 40, /* a share within some 15% */
    SAMPLED = 12,        /* most copies that are sampled */
};

static const double flow_most = 0.01; /* difference in executions of a block; chosen by hand */
static const double inside_least =
    0.5; /* share of the time in the loop's own code; chosen by hand */

/* returns a negative errno, or 0 or more */
static int64_t map(struct carm_child *child, uint64_t at, uint64_t bytes, uint64_t prot)
{
    const uint64_t a[6] = {
        at,           bytes,
        prot,         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE,
        (uint64_t)-1, 0};
    const int64_t rc = carm_child_call(child, SYS_mmap, a);
    return rc < 0 || rc == (int64_t)at ? rc : -ENOTSUP;
}

/* Raises the copy's soft limits to the hard ones: a copy has some MB more than the program. */
static void lift_limits(pid_t pid)
{
    static const enum __rlimit_resource of[] = {RLIMIT_AS, RLIMIT_DATA};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct rlimit limit;
        if (prlimit(pid, of[i], NULL, &limit) == 0) {
            limit.rlim_cur = limit.rlim_max;
            (void)prlimit(pid, of[i], &limit, NULL);
        }
    }
}

/* Makes the first copy: on one CPU, with shared memory read-only. */
static bool open_origin(struct carm_snapshot *s, pid_t thread)
{
    cpu_set_t cpus;
    const uint64_t data_bytes = CARM_REGION_DATA_BYTES + CARM_SNAPSHOT_LIST_BYTES;
    const uint64_t bytes = data_bytes + CARM_REGION_CODE_BYTES;
    const uint64_t at = carm_memory_gap(&s->memory, s->trial->body.head, bytes);
    if (!at) {
        return carm_snapshot_fails(s, "no memory is free within 1 GB of its code");
    }
    if (!carm_child_take(&s->program, thread)) {
        return carm_snapshot_fails(s, "it has no system call instruction");
    }
    if (!carm_copy_fork(s, &s->program, &s->origin)) {
        return false;
    }
    for (size_t i = 0; i < s->memory.n; i++) {
        const struct carm_area *area = &s->memory.areas[i];
        const uint64_t a[6] = {area->begin, area->end - area->begin, PROT_READ};
        if (area->writable && area->shared && carm_child_call(&s->origin, SYS_mprotect, a) != 0) {
            return carm_snapshot_fails(
                s, "memory that it shares with others cannot be protected in a copy");
        }
    }
    lift_limits(s->origin.pid);
    int64_t rc = map(&s->origin, at, data_bytes, PROT_READ | PROT_WRITE);
    rc = rc < 0 ? rc
                : map(&s->origin, at + data_bytes, CARM_REGION_CODE_BYTES, PROT_READ | PROT_EXEC);
    if (rc < 0) {
        return carm_snapshot_fails(
            s, "%s",
            rc == -ENOMEM
                ? "its memory is limited (ulimit -v, -d): there is no room for the code of a copy"
                : "code cannot be put into a copy (is it forbidden to execute new memory?)");
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
        return carm_snapshot_fails(s, "%s", err.text);
    }
    return true;
}

/* Lets a copy run until it comes to an instruction of the loop that was not seen yet: another loop of a nest.
 * returns false: there is none, or the copy ended otherwise */
static bool run_to_unseen(struct carm_snapshot *s, struct carm_child *child, const bool *seen)
{
    static const double longest = 0.1; /* seconds */
    const struct carm_body *body = &s->trial->body;
    struct carm_child_outcome outcome = {.end = CARM_CHILD_GONE};
    const double until = fmin(carm_seconds_now() + longest, s->limit);
    bool any = false;
    for (size_t i = 0; i < body->n; i++) {
        any |= !seen[i] && body->ops[i].leader &&
               carm_child_write(child->pid, body->ops[i].at, "\xcc", 1);
    }
    if (any) {
        carm_child_run(child, until, s->settings->stop, &outcome);
    }
    if (outcome.end != CARM_CHILD_ARRIVED) {
        return false;
    }
    for (size_t i = 0; i < body->n; i++) {
        if (!seen[i] && body->ops[i].leader) {
            (void)carm_child_write(child->pid, body->ops[i].at, body->ops[i].bytes, 1);
        }
    }
    child->regs.rip = outcome.at;
    return ptrace(PTRACE_SETREGS, child->pid, NULL, &child->regs) == 0;
}

/* Executes some thousand instructions one by one, to learn how the addresses of loads and stores move. */
static bool observe(struct carm_snapshot *s)
{
    struct carm_body *body = &s->trial->body;
    struct carm_child child;
    unsigned steps = 0, inside = 0, alike = 0;
    cpu_set_t was;
    bool *seen = calloc(body->n, sizeof *seen), runs = true;
    if (!seen || !carm_copy_fork(s, &s->origin, &child)) {
        free(seen);
        return s->why[0] ? false : carm_snapshot_fails(s, "not enough memory");
    }
    carm_child_go_beside(&child, &was);
    do {
        struct carm_body_op *op = carm_body_find(body, child.regs.rip);
        bool *const one = op ? &seen[op - body->ops] : NULL;
        alike = one && !*one ? 0 : alike + 1;
        if (op) {
            carm_body_observe(body, op, &child.regs);
            *one = true;
            inside++;
        }
        steps++;
        runs = carm_child_step(&child);
        if (runs && alike == STEPS_ALIKE) {
            alike = 0;
            runs = run_to_unseen(s, &child, seen);
            body->step += STEPS; /* so that earlier stores are too old to forward */
        }
    } while (runs && steps < STEPS && carm_seconds_now() < s->limit);
    carm_child_come_back(&was);
    free(seen);
    carm_child_kill(&child);
    carm_body_observed(body);
    return inside > 0 || carm_snapshot_fails(s, "it was not executed");
}

static void find_data(struct carm_snapshot *s)
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
        if (!known && s->ndata < CARM_SNAPSHOT_DATA_MAX) {
            s->data[s->ndata++] = op->first;
        }
    }
}

/* Copies the initial memory and registers of the variants into the region. */
static bool write_scratch(struct carm_snapshot *s)
{
    const struct carm_body *body = &s->trial->body;
    struct user_fpregs_struct fp;
    bool good = ptrace(PTRACE_GETFPREGS, s->program.pid, NULL, &fp) == 0;
    for (size_t i = 0; i < body->n && good; i++) {
        const struct carm_body_op *op = &body->ops[i];
        uint8_t line[CARM_REGION_LINE] = {0};
        if (!op->varies || !op->executions) {
            continue;
        }
        const size_t bytes = op->operands[op->memory].size / 8;
        const size_t n = bytes < sizeof line ? bytes : sizeof line;
        (void)carm_child_read(s->origin.pid, op->first, line, n);
        for (unsigned c = 0; c < carm_region_copies(body) && good; c++) {
            good = carm_child_write(s->origin.pid,
                                    s->region.data_at + carm_region_scratch(body, i, c), line, n);
        }
    }
    for (size_t k = 0; k < body->ncarried && good; k++) {
        good = carm_child_write(
            s->origin.pid, s->region.data_at + carm_region_carried(k),
            (const uint8_t *)fp.xmm_space + (size_t)16 * (body->carried[k] & 15), 16);
    }
    return good || carm_snapshot_fails(s, "a copy cannot be written");
}

/* Whether the jump to the variants, 5 bytes, can replace the head. Only the loop's own branches lead into these
 * bytes, as it has one entry; in the variants these branches have other targets. */
static bool can_patch(const struct carm_body *body)
{
    uint64_t covered = 0;
    for (size_t i = 0; i < body->n && body->ops[i].at < body->head + 5; i++) {
        const struct carm_body_op *op = &body->ops[i];
        covered += op->at == body->head + covered ? op->in.length : 0;
    }
    return covered >= 5;
}

/* Refuses the variants with all data, and with the data of one stream, in L1 */
static void refuse_l1(struct carm_trial *t, const char *why)
{
    carm_trial_refuse(t, CARM_VARIANT_L1, why);
    for (int v = CARM_VARIANT_STREAM; v < CARM_VARIANTS; v++) {
        carm_trial_refuse(t, v, why);
        t->idle[v] = true; /* the reason is reported once, for all data */
    }
}

/* Refuses the variants that this loop does not allow. */
static void refuse_variants(struct carm_trial *t)
{
    const struct carm_body *body = &t->body;
    bool gathers = false, chases = false, strings = false;
    for (size_t i = 0; i < body->n; i++) {
        const struct carm_body_op *op = &body->ops[i];
        gathers = gathers || (op->op.flags & CARM_OPCODE_GATHER);
        strings = strings || (op->memory < 0 && (op->op.loads || op->op.stores) &&
                              !(op->op.flags & (CARM_OPCODE_STACK | CARM_OPCODE_CALL)));
        chases =
            chases || (op->varies && op->op.loads && !op->vector && carm_body_chases(body, op));
        t->l1_partly = t->l1_partly || (op->varies && op->op.loads && op->decides);
    }
    for (int v = CARM_VARIANT_CHAINS; v < CARM_VARIANTS && body->calls; v++) {
        carm_trial_refuse(t, v, "the loop calls functions, which use its values");
    }
    if (body->forks && carm_region_copies(body) == 1) {
        carm_trial_refuse(t, CARM_VARIANT_KNOWN, "its iterations are too long to mix their ways");
    }
    for (int v = CARM_VARIANT_STREAM; v < CARM_VARIANTS; v++) {
        if (body->streams < 2 || (unsigned)(v - CARM_VARIANT_STREAM) >= body->streams) {
            carm_trial_refuse(t, v, "there is no such stream beside another");
            t->idle[v] = true;
        }
    }
    if (body->carried_decides) {
        carm_trial_refuse(t, CARM_VARIANT_CHAINS, "a branch depends on the values that it carries");
    }
    if (chases) {
        refuse_l1(
            t, "its loads wait for each other's values: without them nothing is left to wait for");
    }
    if (body->forwards) {
        refuse_l1(t, "its iterations wait for what those before have stored, not for a cache");
        carm_trial_refuse(t, CARM_VARIANT_STORES, "its next iterations load what it stores");
    }
    if (gathers) {
        refuse_l1(t, "gathers are not rewritten");
        carm_trial_refuse(t, CARM_VARIANT_ARITHMETIC, "gathers take their masks from arithmetic");
    }
    if (strings) {
        refuse_l1(t, "string instructions are not rewritten");
        carm_trial_refuse(t, CARM_VARIANT_STORES, "string instructions are not rewritten");
    }
}

static const char *const nothing[CARM_VARIANTS] = {
    [CARM_VARIANT_NEAR] = "no load moves by a constant",
    [CARM_VARIANT_PREFETCHED] = "no load moves by a constant",
    [CARM_VARIANT_FAR] = "no load moves by a constant",
    [CARM_VARIANT_INDIRECT] = "no load's address is made of a number that was loaded in order",
    [CARM_VARIANT_STREAMING] =
        "no store through the caches of 16 bytes or more, aligned, or of a general register",
    [CARM_VARIANT_CHAINS] = "no vector register carries a value to the next iteration",
    [CARM_VARIANT_DIVISIONS] =
        "no floating-point division or square root outside of the control flow",
    [CARM_VARIANT_ARITHMETIC] = "no vector arithmetic outside of the control flow",
    [CARM_VARIANT_STORES] = "no store that moves",
    [CARM_VARIANT_L1] = "no load or store that moves, outside of the control flow",
    [CARM_VARIANT_KNOWN] = "no branch with two frequent ways that meet again",
    [CARM_VARIANT_STREAM] = "the stream decides the control flow",
    [CARM_VARIANT_STREAM2] = "the stream decides the control flow",
    [CARM_VARIANT_STREAM3] = "the stream decides the control flow",
    [CARM_VARIANT_STREAM4] = "the stream decides the control flow",
};

static bool write_code(struct carm_snapshot *s)
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
            carm_trial_refuse(t, v, s->codes[v].why);
        } else if (v > CARM_VARIANT_AGAIN && !s->codes[v].changed) {
            carm_trial_refuse(t, v, nothing[v]);
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
        return carm_snapshot_fails(s, "%s", t->wrong);
    }
    memcpy(patch + 1, &distance, sizeof distance);
    return (carm_child_write(s->origin.pid, s->region.code_at, s->region.code, s->region.used) &&
            (!can_patch(&t->body) || carm_child_write(s->origin.pid, head, patch, sizeof patch))) ||
           carm_snapshot_fails(s, "a copy cannot be written");
}

/* Refuses huge pages for data that cannot use them. */
static void refuse_huge(struct carm_snapshot *s)
{
    struct carm_trial *t = s->trial;
    uint64_t present = 0, huge = 0, room = 0;
    uint64_t data[CARM_SNAPSHOT_DATA_MAX];
    size_t n = 0;
    char *why = t->refused[CARM_TRIAL_HUGE];
    const size_t size = sizeof t->refused[CARM_TRIAL_HUGE];
    for (size_t i = 0; i < s->ndata; i++) {
        const struct carm_area *area = carm_memory_find(&s->memory, s->data[i]);
        uint64_t end = 0;
        const uint64_t begin = carm_snapshot_huge_area(s, i, &end);
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
    } else if (!room || present < UINT64_C(4) * CARM_HUGE_PAGE) {
        snprintf(why, size, "its data take less than a few huge pages, or are a file's");
    } else if (room > (UINT64_C(4) << 30)) {
        snprintf(why, size, "its data take more than 4 GiB");
    }
}

/* Estimates the ticks of a unit, in copies with untouched pages, and the units that a copy can do. */
static bool calibrate(struct carm_snapshot *s)
{
    const struct carm_variant_code *code = &s->codes[CARM_VARIANT_UNCHANGED];
    const double enough = 300e-6 * s->settings->tsc_hz;
    double units = 64.0;
    s->most = 1e15;
    for (int i = 0; i < 16; i++) {
        struct carm_phase phases[2] = {carm_copy_phase(code, units), carm_copy_last_phase(s)};
        struct carm_child_outcome outcome;
        struct carm_child child;
        double done = 0.0;
        if (!carm_copy_fork(s, &s->origin, &child)) {
            return false;
        }
        const size_t n = carm_copy_run(s, &child, code, 1.0, phases, 2, &outcome, &done, NULL);
        if (n < 2) {
            s->most = floor(0.9 * done);
            return (s->most >= CARM_SNAPSHOT_UNITS_LEAST && s->ticks > 0.0) ||
                   carm_snapshot_too_few(s, done, &outcome);
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

/* Counts the executions of each block in a copy. returns false: the copy did not reach the end of its phase */
static bool count_blocks(struct carm_snapshot *s, const struct carm_variant_code *code,
                         double units, uint64_t *counts, struct carm_child_outcome *outcome,
                         double *done)
{
    struct carm_phase phases[2] = {carm_copy_phase(code, units), carm_copy_last_phase(s)};
    struct carm_child child;
    return carm_copy_fork(s, &s->origin, &child) &&
           carm_copy_run(s, &child, code, 1.0, phases, 2, outcome, done, counts) == 2;
}

/* Refuses variants that change how often a block is executed. */
static bool compare_flow(struct carm_snapshot *s)
{
    struct carm_trial *t = s->trial;
    double units = floor(fmin(FLOW_UNITS, 0.5 * s->most));
    double done = 0.0;
    uint64_t *counts = calloc(2 * t->body.n, sizeof *counts);
    struct carm_child_outcome outcome = {0}; /* if no copy can be made */
    char text[80];
    if (!counts) {
        return carm_snapshot_fails(s, "not enough memory");
    }
    uint64_t *const others = counts + t->body.n;
    bool good =
        count_blocks(s, &s->counted[CARM_VARIANT_UNCHANGED], units, counts, &outcome, &done);
    if (!good && 0.9 * done >= CARM_SNAPSHOT_UNITS_LEAST) {
        s->most = fmin(s->most, floor(0.9 * done));
        units = s->most;
        good = count_blocks(s, &s->counted[CARM_VARIANT_UNCHANGED], units, counts, &outcome, &done);
    }
    if (!good) {
        free(counts);
        return carm_snapshot_fails(s, "a copy that counts came to %s",
                                   carm_copy_end(s, &outcome, text, sizeof text));
    }
    t->iterations = (double)counts[0] / (units + 1.0);
    for (int v = 0; v < CARM_VARIANTS; v++) {
        double most = 0.0;
        if (v == CARM_VARIANT_UNCHANGED || !s->counted[v].start) {
            continue;
        }
        if (!count_blocks(s, &s->counted[v], units, others, &outcome, NULL)) {
            snprintf(t->refused[v], sizeof t->refused[v], "it ended the loop with %s",
                     carm_copy_end(s, &outcome, text, sizeof text));
            continue;
        }
        for (size_t i = 0; i < t->body.n; i++) {
            /* shares of chosen forks are multiples of 1/copies: one execution more or less in each round of copies */
            const double step =
                v == CARM_VARIANT_KNOWN ? (double)counts[0] / carm_region_copies(&t->body) : 1.0;
            const double more = fabs((double)others[i] - (double)counts[i]) - step;
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

bool carm_snapshot_find_inside(struct carm_snapshot *s, enum carm_variant variant, double *share)
{
    const struct carm_variant_code *code = &s->codes[variant];
    const uint64_t at = s->region.data_at;
    const uint64_t words[4] = {UINT64_MAX >> 1, at + CARM_REGION_PHASES, 0, code->entry};
    unsigned inside = 0, n = 0;
    for (int i = 0; i < SAMPLED && n < SAMPLES_ENOUGH; i++) {
        struct carm_child child;
        unsigned some = 0;
        if (!carm_copy_open_warm(s, false, &child)) {
            return false;
        }
        child.regs.rip = code->start;
        if (carm_child_write(child.pid, at + CARM_REGION_UNITS, words, sizeof words)) {
            /* all copies execute the same code, so each is sampled at other times */
            n += carm_child_sample(&child, (1.0 + 0.13 * i) * 1e-4, SAMPLES, s->region.code_at,
                                   s->region.code_at + s->region.used, &some);
            inside += some;
        }
        carm_child_kill(&child);
    }
    *share = n >= SAMPLES_ENOUGH / 2 ? (double)inside / (double)n : NAN;
    if (isnan(*share)) {
        return carm_snapshot_fails(
            s, "copies come to a system call too soon to tell how long they are in its code");
    }
    if (variant == CARM_VARIANT_UNCHANGED && *share < inside_least) {
        snprintf(
            s->trial->wrong, sizeof s->trial->wrong,
            "only %.0f%% of the time is spent in its own code while it runs: the code around it, or "
            "functions that it calls, take the rest",
            100.0 * *share);
        return carm_snapshot_fails(s, "%s", s->trial->wrong);
    }
    return true;
}

bool carm_snapshot_set_up(struct carm_snapshot *s, pid_t thread)
{
    struct carm_trial *t = s->trial;
    if (!open_origin(s, thread) || (!t->prepared && !observe(s))) {
        return false;
    }
    find_data(s);
    if (!t->prepared) {
        refuse_variants(t);
    }
    if (!t->refused[CARM_TRIAL_HUGE][0]) {
        refuse_huge(s);
    }
    s->ticks = t->ticks;
    s->most = t->most;
    return write_code(s) && write_scratch(s) && (t->prepared || (calibrate(s) && compare_flow(s)));
}
