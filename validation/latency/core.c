/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/machine/stats.h"
#include "models/core.h"
#include "validation/latency/latency.h"

enum {
    ROUNDS = 20, /* of every code in turn, spread over the run */
    ROUNDS_QUICK = 8,
    REPS = 5,         /* repetitions of a round; their median counts */
    FIRST_RUN = 16,   /* iterations of the first run, which gives the time of one iteration */
    ROUNDS_ALL = 12,  /* of all hardware threads at once */
    FAULT_PAGES = 64, /* pages that a repetition touches for the first time */
    PAGE = 4096,
};

/* Seconds of a repetition: the time stamp counter of a virtual machine may advance in steps of
 * 10 ns, 0.08% of 12 us. */
static const double target_seconds = 12e-6;
/* Relative error that the counter's steps (0.08%) and the clock's samples leave. */
static const double floor_relative = 1e-3;
/* Relative distance of rounds that agree: 0.5% for instructions. Page faults and the share of
 * random branches that are predicted right vary by 5%. */
static const double near_core = 0.005;
static const double near_chance = 0.05;
static const uint64_t random_bit = (uint64_t)1 << 45;

/* One quantity while it is measured: a code, or an event that no code measures. */
struct quantity {
    const struct carm_chain *code; /* NULL: the issue width or page faults */
    bool mispredicts; /* measured twice: with random branches, and with branches that all go one
                       * way */
    double units;     /* measured units of an iteration */
    uint64_t iterations;
    double entry;          /* cycles of a call with one iteration */
    double rounds[ROUNDS]; /* cycles of one unit, by round */
};

struct work {
    struct quantity *quantities; /* [n] codes */
    size_t n;
    struct quantity issue, fault;
    void *window;
    void *pages; /* of FAULT_PAGES pages */
    uint64_t seed;
    size_t round;
    bool whole; /* the deadline did not end the job */
    double clock_hz;
};

/* weak: a test replaces it by planted times */
__attribute__((weak)) double carm_latency_cycles(const struct carm_worker *worker,
                                                 const struct carm_chain *code, void *window,
                                                 uint64_t iterations, uint64_t mask,
                                                 double *seconds)
{
    const struct carm_clock *clock = worker->team->clock;
    uint32_t cpu = 0;
    const double before = carm_clock_ratio(worker->clock_overhead, clock->imul_cycles);
    const uint64_t begin = carm_clock_start();
    code->run(window, iterations, mask);
    const double ticks = (double)(carm_clock_stop(&cpu) - begin) - worker->clock_overhead;
    /* an interrupt makes a reading of the clock too low */
    const double ratio = fmax(before, carm_clock_ratio(worker->clock_overhead, clock->imul_cycles));
    if (seconds) {
        *seconds = ticks / clock->tsc_hz;
    }
    return ticks * ratio;
}

static double median_cycles(const struct carm_worker *w, struct work *k, const struct quantity *q,
                            uint64_t iterations, uint64_t mask)
{
    double cycles[REPS];
    for (size_t i = 0; i < REPS; i++) {
        /* different random branches in each run: a predictor learns a sequence of some thousand
         * branches */
        k->seed = k->seed * 6364136223846793005ULL + 1442695040888963407ULL;
        memcpy(k->window, &k->seed, sizeof k->seed);
        cycles[i] = carm_latency_cycles(w, q->code, k->window, iterations, mask, NULL);
    }
    return carm_stats_median(cycles, REPS);
}

/* Chooses the number of iterations, and measures the cost of a call. */
static void calibrate(const struct carm_worker *w, struct work *k, struct quantity *q)
{
    double seconds = 0.0;
    q->code->run(k->window, FIRST_RUN, random_bit);
    carm_latency_cycles(w, q->code, k->window, FIRST_RUN, random_bit, &seconds);
    const double each = fmax(seconds, 1e-9) / FIRST_RUN;
    q->iterations = 1 + (uint64_t)fmin(target_seconds / each, 1e6);
    q->entry = median_cycles(w, k, q, 1, 0);
}

static double cycles_of(const struct carm_worker *w, struct work *k, const struct quantity *q)
{
    const double units = q->units;
    if (q->mispredicts) { /* half of the random branches are predicted right */
        const double random = median_cycles(w, k, q, q->iterations, random_bit);
        const double alike = median_cycles(w, k, q, q->iterations, 0);
        return (random - alike) / (0.5 * units * (double)q->iterations);
    }
    const double all = median_cycles(w, k, q, q->iterations + 1, random_bit) - q->entry;
    return all / (units * (double)q->iterations);
}

static double issue_cycles(const struct carm_worker *w)
{
    double cycles[REPS];
    for (size_t i = 0; i < REPS; i++) {
        const double width = carm_probe_width(w->clock_overhead);
        cycles[i] = carm_clock_ratio(w->clock_overhead, w->team->clock->imul_cycles) / width;
    }
    return carm_stats_median(cycles, REPS);
}

/* Cycles of a first write to a page, after the kernel has taken the page back. */
static double fault_cycles(const struct carm_worker *w, const struct work *k)
{
    double cycles[REPS];
    for (size_t i = 0; i < REPS; i++) {
        uint32_t cpu = 0;
        (void)madvise(k->pages, (size_t)FAULT_PAGES * PAGE, MADV_DONTNEED);
        const uint64_t begin = carm_clock_start();
        for (size_t p = 0; p < FAULT_PAGES; p++) {
            *((volatile char *)k->pages + p * PAGE) = 1;
        }
        const double ticks = (double)(carm_clock_stop(&cpu) - begin) - w->clock_overhead;
        cycles[i] =
            ticks * carm_clock_ratio(w->clock_overhead, w->team->clock->imul_cycles) / FAULT_PAGES;
    }
    return carm_stats_median(cycles, REPS);
}

static void calibrate_job(struct carm_worker *w, void *arg)
{
    struct work *k = arg;
    for (size_t i = 0; i < k->n && !carm_team_is_over(w->team); i++) {
        calibrate(w, k, &k->quantities[i]);
    }
    k->whole = !carm_team_is_over(w->team);
}

static void round_job(struct carm_worker *w, void *arg)
{
    struct work *k = arg;
    for (size_t i = 0; i < k->n && !carm_team_is_over(w->team); i++) {
        k->quantities[i].rounds[k->round] = cycles_of(w, k, &k->quantities[i]);
    }
    k->issue.rounds[k->round] = issue_cycles(w);
    k->fault.rounds[k->round] = fault_cycles(w, k);
    k->clock_hz =
        fmax(k->clock_hz, carm_clock_ratio(w->clock_overhead, w->team->clock->imul_cycles) *
                              w->team->clock->tsc_hz);
    k->whole = !carm_team_is_over(w->team);
}

static struct carm_core_figure *add_figure(struct carm_model *m, enum carm_core_kind kind,
                                           const char *isa, const char *precision)
{
    for (size_t i = 0; i < m->ncore; i++) {
        struct carm_core_figure *f = &m->core[i];
        if (f->kind == kind && strcmp(f->isa, isa) == 0 && strcmp(f->precision, precision) == 0) {
            return f;
        }
    }
    struct carm_core_figure *f = &m->core[m->ncore++];
    f->kind = kind;
    (void)snprintf(f->isa, sizeof f->isa, "%s", isa);
    (void)snprintf(f->precision, sizeof f->precision, "%s", precision);
    return f;
}

/* Sets latency or throughput of a figure from the rounds of one quantity. */
static void fill(struct carm_core_figure *f, struct quantity *q, size_t rounds, bool throughput,
                 double clock_hz)
{
    double *figure = throughput ? &f->throughput : &f->latency;
    struct carm_ci *ci = throughput ? &f->throughput_ci95 : &f->latency_ci95;
    const bool is_chance = f->kind == CARM_CORE_PAGE_FAULT ||
                           f->kind == CARM_CORE_BRANCH_MISPREDICTED ||
                           f->kind == CARM_CORE_INDIRECT_MISPREDICTED;
    const bool agree = carm_core_estimate(q->rounds, rounds, is_chance ? near_chance : near_core,
                                          floor_relative, figure, ci);
    if (q->code && (!*f->code || !throughput)) {
        (void)snprintf(f->code, sizeof f->code, "%s", q->code->name);
    }
    f->clock_hz = clock_hz;
    if (!agree) {
        f->disturbed = true;
        (void)snprintf(f->note, sizeof f->note,
                       rounds < CARM_CORE_AGREE ? "the budget left too few rounds (%s)"
                                                : "rounds do not agree (%s)",
                       throughput ? "throughput" : "latency");
    }
    if (!(*figure > 0.0)) { /* not above the counter's resolution */
        *figure = 0.0;
        *ci = (struct carm_ci){0.0, 0.0};
        (void)snprintf(f->note, sizeof f->note, "not measured: too short to be timed");
    }
}

/* Subtracts the other instructions in each unit of a chain. For a round trip between register
 * files only the sum is known: one way counts as half, and the interval goes from one cycle to
 * the sum minus one cycle. */
static void subtract(struct carm_model *m, struct carm_core_figure *f, const char *minus)
{
    enum carm_core_kind kind;
    const bool half = strcmp(minus, "move-vector") == 0;
    const struct carm_core_figure *other =
        carm_core_kind_parse(minus, &kind)
            ? carm_core_find(m, kind, half ? "" : f->isa, half ? "" : f->precision)
            : NULL;
    if (!other || !(other->latency > 0.0) || !(f->latency > other->latency)) {
        f->latency = 0.0;
        f->latency_ci95 = (struct carm_ci){0.0, 0.0};
        (void)snprintf(f->note, sizeof f->note,
                       other && other->latency > 0.0 ? "latency not measured: not above that of %s"
                                                     : "latency not measured: %s was not",
                       minus);
        return;
    }
    const struct carm_ci *o = &other->latency_ci95;
    const double spare = fmax(o->hi - 1.0, 0.0);
    const double lo = f->latency_ci95.lo - (half ? spare : o->hi);
    const double hi = f->latency_ci95.hi - (half ? 1.0 : o->lo);
    f->latency -= half ? other->latency / 2.0 : other->latency;
    f->latency_ci95 = (struct carm_ci){fmax(0.0, fmin(lo, f->latency)), fmax(hi, f->latency)};
    /* a load to a vector register is at least as slow as a load to a general register */
    const struct carm_core_figure *load = half ? carm_core_find(m, CARM_CORE_LOAD, "", "") : NULL;
    if (load && load->latency > f->latency_ci95.lo && load->latency <= f->latency) {
        f->latency_ci95.lo = load->latency;
    }
}

static void fill_all(struct carm_latency_run *run, struct work *k, size_t rounds)
{
    struct carm_model *m = run->model;
    for (size_t i = 0; i < k->n; i++) {
        const struct carm_chain_code *c = &k->quantities[i].code->code;
        enum carm_core_kind kind = CARM_CORE_KIND_COUNT;
        if (carm_core_kind_parse(c->row->kind, &kind)) {
            fill(add_figure(m, kind, c->row->isas ? carm_isa_name(c->isa) : "",
                            c->row->precisions ? carm_precision_name(c->precision) : ""),
                 &k->quantities[i], rounds, c->form == CARM_CHAIN_THROUGHPUT, k->clock_hz);
        }
    }
    for (size_t i = 0; i < k->n; i++) {
        const struct carm_chain_code *c = &k->quantities[i].code->code;
        enum carm_core_kind kind = CARM_CORE_KIND_COUNT;
        if (c->form == CARM_CHAIN_LATENCY && c->row->minus &&
            carm_core_kind_parse(c->row->kind, &kind)) {
            subtract(m,
                     add_figure(m, kind, carm_isa_name(c->isa), carm_precision_name(c->precision)),
                     c->row->minus);
        }
    }
    fill(add_figure(m, CARM_CORE_ISSUE, "", ""), &k->issue, rounds, true, k->clock_hz);
    fill(add_figure(m, CARM_CORE_PAGE_FAULT, "", ""), &k->fault, rounds, false, k->clock_hz);
}

/* ---- all hardware threads at once ----------------------------------------------------------------- */

/* The codes of all threads: threads that share a core execute each code together. */
struct together {
    const struct quantity *quantities; /* [n] borrowed, calibrated */
    size_t n;
    struct work *each; /* [threads] a window and a seed of each */
    double *cycles;    /* [n * threads] of the last round */
    bool whole;        /* every thread has measured every code */
};

/* Whether hardware threads of one core may share the resources of the kind: units, ports, the loads of L1. */
static bool is_shared_kind(const struct carm_chain_code *c)
{
    static const enum carm_core_kind kinds[] = {
        CARM_CORE_FP_ADD,  CARM_CORE_FP_MUL,  CARM_CORE_FP_FMA,  CARM_CORE_FP_DIV,
        CARM_CORE_FP_SQRT, CARM_CORE_INT_ADD, CARM_CORE_INT_MUL, CARM_CORE_INT_DIV,
        CARM_CORE_POPCNT,  CARM_CORE_LOAD,    CARM_CORE_STORE,   CARM_CORE_FP_SHUFFLE};
    enum carm_core_kind kind = CARM_CORE_KIND_COUNT;
    bool shared = false;
    if (!c->row || c->row->minus || !carm_core_kind_parse(c->row->kind, &kind) ||
        (c->row->precisions && (c->precision == CARM_SP || c->precision == CARM_INT32))) {
        return false;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        shared = shared || kinds[i] == kind;
    }
    return shared;
}

static void together_job(struct carm_worker *w, void *arg)
{
    struct together *t = arg;
    const size_t threads = (size_t)w->team->n;
    for (size_t i = 0; i < t->n; i++) {
        if (!carm_team_line_wait(w->team, i)) {
            t->whole = false;
            return;
        }
        t->cycles[i * threads + (size_t)w->index] =
            cycles_of(w, &t->each[w->index], &t->quantities[i]);
    }
}

/* Runs rounds of all codes on all threads.
 * rounds  [n] quantities, filled by round
 * done    out: number of complete rounds */
static int run_together(struct carm_latency_run *run, struct carm_team *team, struct together *t,
                        struct quantity *rounds, size_t *done, struct carm_err *err)
{
    const size_t threads = (size_t)team->n;
    int rc = 0;
    t->whole = true;
    while (*done < ROUNDS_ALL && t->whole && !rc) {
        carm_team_line_reset(team);
        carm_team_run(team, together_job, t);
        for (size_t i = 0; i < t->n && t->whole; i++) {
            rounds[i].rounds[*done] = carm_stats_median(&t->cycles[i * threads], threads);
        }
        *done += t->whole ? 1 : 0;
        rc = carm_observer_check(run->host->observer, err);
    }
    return rc;
}

static void fill_together(struct carm_model *m, struct quantity *q, size_t rounds, int threads)
{
    const struct carm_chain_code *c = &q->code->code;
    enum carm_core_kind kind = CARM_CORE_KIND_COUNT;
    carm_core_kind_parse(c->row->kind, &kind);
    struct carm_core_together *t =
        &add_figure(m, kind, c->row->isas ? carm_isa_name(c->isa) : "",
                    c->row->precisions ? carm_precision_name(c->precision) : "")
             ->together;
    const bool throughput = c->form == CARM_CHAIN_THROUGHPUT;
    const bool agree = carm_core_estimate(q->rounds, rounds, near_core, floor_relative,
                                          throughput ? &t->throughput : &t->latency,
                                          throughput ? &t->throughput_ci95 : &t->latency_ci95);
    t->threads = threads;
    t->disturbed = t->disturbed || !agree;
}

/* Makes a window for each thread. returns 0 or -CARM_ENOMEM */
static int open_together(struct together *t, size_t threads, void **windows, struct carm_err *err)
{
    t->each = calloc(threads, sizeof *t->each);
    t->cycles = calloc(t->n * threads, sizeof *t->cycles);
    *windows = aligned_alloc(PAGE, threads * CARM_CHAIN_WINDOW_BYTES);
    if (!t->each || !t->cycles || !*windows) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to measure latencies");
    }
    memset(*windows, 0, threads * CARM_CHAIN_WINDOW_BYTES);
    for (size_t i = 0; i < threads; i++) {
        t->each[i].window = (char *)*windows + i * CARM_CHAIN_WINDOW_BYTES;
        t->each[i].seed = i;
    }
    return 0;
}

/* Measures the figures of all hardware threads at once, beside the figures of one. */
static int measure_together(struct carm_latency_run *run, const struct work *k,
                            struct carm_err *err)
{
    const int threads = run->host->topo->pus;
    struct quantity *shared = calloc(k->n + 1, sizeof *shared);
    struct together t = {.quantities = shared};
    struct carm_team *team = NULL;
    void *windows = NULL;
    size_t done = 0;
    if (!shared) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to measure latencies");
    }
    for (size_t i = 0; i < k->n; i++) {
        if (is_shared_kind(&k->quantities[i].code->code)) {
            shared[t.n++] = k->quantities[i];
        }
    }
    int rc = threads < 2 || t.n == 0 ? 0 : open_together(&t, (size_t)threads, &windows, err);
    if (!rc && windows) {
        rc = carm_team_open(&team, run->host->topo, &run->host->clock, threads, 0, 64, err);
    }
    if (!rc && team) {
        team->deadline = run->team->deadline;
        rc = run_together(run, team, &t, shared, &done, err);
    }
    for (size_t i = 0; i < t.n && !rc && done >= CARM_CORE_AGREE; i++) {
        fill_together(run->model, &shared[i], done, threads);
    }
    carm_team_close(team);
    free(shared);
    free(t.each);
    free(t.cycles);
    free(windows);
    return rc;
}

static int by_kind(const void *a, const void *b)
{
    const struct carm_core_figure *left = a;
    const struct carm_core_figure *right = b;
    const int isa = carm_isa_rank(left->isa) - carm_isa_rank(right->isa);
    const int kind = (int)left->kind - (int)right->kind;
    return kind ? kind : isa ? isa : strcmp(left->precision, right->precision);
}

static int open_work(struct carm_latency_run *run, struct work *k, struct carm_err *err)
{
    const struct carm_chain_image *im = run->image;
    k->quantities = calloc(im->n, sizeof *k->quantities);
    run->model->core = calloc(im->n + 3, sizeof *run->model->core);
    k->window = aligned_alloc(PAGE, CARM_CHAIN_WINDOW_BYTES);
    k->pages = mmap(NULL, (size_t)FAULT_PAGES * PAGE, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!k->quantities || !run->model->core || !k->window || k->pages == MAP_FAILED) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to measure latencies");
    }
    memset(k->window, 0, CARM_CHAIN_WINDOW_BYTES);
    (void)madvise(k->pages, (size_t)FAULT_PAGES * PAGE, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < im->n; i++) {
        if (im->chains[i].code.row) {
            struct quantity *q = &k->quantities[k->n++];
            q->code = &im->chains[i];
            const char *kind = q->code->code.row->kind;
            q->mispredicts = strcmp(kind, "branch-mispredicted") == 0 ||
                             strcmp(kind, "indirect-mispredicted") == 0;
            /* the loop's own branch is taken, too */
            q->units = (double)q->code->units + (strcmp(kind, "branch-taken") == 0 ? 1.0 : 0.0);
        }
    }
    return 0;
}

int carm_latency_core(struct carm_latency_run *run, struct carm_err *err)
{
    struct work k = {.quantities = NULL, .pages = MAP_FAILED};
    const size_t most = run->options.quick ? ROUNDS_QUICK : ROUNDS;
    int rc = open_work(run, &k, err);
    if (!rc) {
        carm_team_run(run->team, calibrate_job, &k);
    }
    while (k.round < most && k.whole && !rc) {
        carm_team_run(run->team, round_job, &k);
        k.round += k.whole ? 1 : 0;
        rc = carm_observer_check(run->host->observer, err);
    }
    if (!rc && k.round > 0) {
        run->clock_hz = k.clock_hz;
        fill_all(run, &k, k.round);
        rc = k.whole ? measure_together(run, &k, err) : 0;
        qsort(run->model->core, run->model->ncore, sizeof *run->model->core, by_kind);
    }
    free(k.quantities);
    free(k.window);
    if (k.pages != MAP_FAILED) {
        munmap(k.pages, (size_t)FAULT_PAGES * PAGE);
    }
    return rc;
}
