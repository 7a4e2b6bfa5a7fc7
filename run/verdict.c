/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/profile/faults.h"
#include "models/latency.h"
#include "models/scaling.h"
#include "models/place/place.h"
#include "run/parts.h"

enum { LINE = 64 };

/* Adds a row's share of the mispredictions of indirect calls: its share of the time of the caller and the functions
 * that are called by address. */
static void add_calls(const struct carm_flow_code *of, const struct carm_profile *profile,
                      size_t row, const struct carm_graph_latencies *latencies,
                      const struct carm_rates *rates, struct carm_astray *out)
{
    const struct carm_flow_code *caller =
        carm_astray_caller(of->module, profile->codes, profile->ncodes);
    const struct carm_profile_row *own = &profile->rows[row];
    struct carm_astray calls = {.branches = 0.0};
    double all = 0.0;
    if (!carm_astray_takes_part(of, caller)) {
        return;
    }
    for (size_t k = 0; k < profile->nrows; k++) {
        const struct carm_profile_row *r = &profile->rows[k];
        const struct carm_flow_code *code = r->code ? &profile->codes[r->code - 1] : NULL;
        const bool takes_part =
            code && code->module == of->module && carm_astray_takes_part(code, caller);
        all += takes_part ? r->seconds * carm_parts_threads(r) : 0.0;
    }
    carm_astray_calls(caller, of->module, profile->codes, profile->ncodes, latencies, &calls);
    const double share = own->seconds * carm_parts_threads(own) / all;
    /* after the misprediction, the right function is fetched, and returns */
    const double back = carm_rates_latency(rates, CARM_CORE_CALL_RETURN, "", "", NULL);
    out->branches += share * calls.branches;
    out->indirect += share * calls.indirect;
    out->cycles += share * (calls.cycles + back * calls.branches);
}

/* Adds the mispredictions of branches that leave a loop inside of this one, and of indirect calls of its functions. */
static int add_others(const struct carm_flow_code *of, const struct carm_profile *profile,
                      size_t row, struct carm_bounds_input *in, struct carm_err *err)
{
    static struct carm_graph_latencies latencies; /* 11 KiB */
    struct carm_astray astray = {.branches = 0.0};
    int rc = 0;
    carm_run_latencies(&in->rates, &latencies);
    for (size_t k = 0; k < profile->nrows && !of->inner && !rc; k++) {
        const struct carm_profile_row *r = &profile->rows[k];
        struct carm_graph graph;
        if (r->parent == row + 1 && r->code) {
            const struct carm_flow_code *inside = &profile->codes[r->code - 1];
            rc = carm_graph_open(&graph, inside, &latencies, err);
            if (!rc) {
                carm_astray_exits(inside, &graph, &latencies, &astray);
                carm_graph_close(&graph);
            }
        }
    }
    add_calls(of, profile, row, &latencies, &in->rates, &astray);
    carm_run_astray_input(in, &astray, of->iterations);
    return rc;
}

/* ---- rows ---- */

/* Whether a row is threads that wait: loops with `pause`, and waiting loops of OpenMP run-times.
 * source: libgomp, config/linux/wait.h; LLVM openmp, kmp_wait_release.h, kmp_barrier.cpp; OpenBLAS, blas_server.c */
static bool is_waiting(const struct carm_profile_row *row, const struct carm_flow_code *code)
{
    static const char *const names[] = {"gomp_barrier",
                                        "gomp_team_barrier",
                                        "gomp_thread_pool",
                                        "gomp_mutex_lock",
                                        "do_spin",
                                        "do_wait",
                                        "__kmp_wait",
                                        "__kmp_hyper_barrier",
                                        "__kmp_hardware_timestamp",
                                        "blas_thread_server",
                                        "sched_yield",
                                        "pthread_spin_lock"};
    for (size_t i = 0; code && i < code->nops; i++) {
        if (code->ops[i].flags & CARM_OPCODE_PAUSE && code->inner) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strstr(row->name, names[i])) {
            return true;
        }
    }
    return strncmp(row->module, "libgomp.so", 10) == 0 || strncmp(row->module, "libomp.so", 9) == 0;
}

/* The verdict on a row whose time is not spent by its code. */
static void other_time(enum carm_limit limit, const char *origin, double faults,
                       const struct carm_profile_row *row, struct carm_run_verdict *v)
{
    const struct carm_verdict_code code = {.faults = faults};
    struct carm_bounds bounds = {.n = 0};
    carm_bounds_add(&bounds, limit, row->seconds, false, "%s", origin);
    carm_verdict_find(&bounds, row->seconds, row->share, &code, &v->verdict);
    v->has = true;
}

/* Seconds of a page fault that gives a huge page, if the run had any; 0 = none, or not known */
static double huge_fault(const struct carm_run *run)
{
    struct carm_run_after *after = run->huge_faults > 0.0 ? run->after : NULL;
    if (after && !after->faulted) {
        after->huge_fault_seconds = carm_huge_fault_seconds();
        after->faulted = true;
    }
    return after ? after->huge_fault_seconds : 0.0;
}

/* The verdict on time in the kernel, with the share that page faults take. */
static void kernel_time(const struct carm_run *run, const struct carm_rates *rates,
                        const struct carm_profile_row *row, struct carm_run_verdict *v)
{
    char origin[CARM_BOUND_ORIGIN_MAX], huge[64] = "";
    const struct carm_counts *c = &run->row.counts;
    const struct carm_core_figure *f =
        rates->model ? carm_core_find(rates->model, CARM_CORE_PAGE_FAULT, "", "") : NULL;
    const bool counted = carm_count_has(c, CARM_Q_PAGE_FAULTS);
    const double each = counted && f && f->clock_hz > 0.0 ? f->latency / f->clock_hz : 0.0;
    const double faults = c->q[CARM_Q_PAGE_FAULTS].value;
    const double each_huge = huge_fault(run);
    const double of_huge =
        each_huge > 0.0 ? fmin(faults, run->huge_faults) /* other programs' faults count, too */
                        : 0.0;
    const double threads = carm_parts_threads(row);
    const double seconds = (faults - of_huge) * each + of_huge * each_huge;
    const double share =
        each > 0.0 && row->seconds > 0.0 ? fmin(1.0, seconds / (row->seconds * threads)) : NAN;
    if (of_huge > 0.0) {
        snprintf(huge, sizeof huge, " and %.0f of huge pages, %.3g us", of_huge, 1e6 * each_huge);
    }
    snprintf(origin, sizeof origin,
             each > 0.0 ? "time in the kernel, %.0f%% of it by %.0f page faults of %.3g us%s: "
                          "measured"
                        : "time in the kernel: page faults, system calls",
             100.0 * share, faults - of_huge, 1e6 * each, huge);
    /* on a guest, a fault of a huge page may take several times as long as it does after the run, while the host finds
     * the memory: 665 faults of numpy, 242 us each after the run, may have taken 1.3 ms each */
    const double known = of_huge > 0.0 ? (share > CARM_VERDICT_FAULTS_MOST ? 1.0 : NAN) : share;
    other_time(CARM_LIMIT_KERNEL, origin, known, row, v);
    if (share > CARM_VERDICT_FAULTS_FEW) {
        snprintf(v->note, sizeof v->note,
                 of_huge > 0.0
                     ? "page faults may take %.0f%% of the kernel's time or more: %.0f of %.3g us%s"
                     : "page faults take %.0f%% of the kernel's time: %.0f of %.3g us%s",
                 100.0 * share, faults - of_huge, 1e6 * each, huge);
    }
}

/* The share of the lines' bytes that is used, and the time that independent misses would take. */
static void describe_memory(const struct carm_bounds_input *in,
                            const struct carm_run_figures *figures, struct carm_verdict_code *out)
{
    static const char *const names[] = {"L2", "L3", "DRAM"};
    const struct carm_level_estimate *first = figures ? &figures->levels[0] : NULL;
    double split = 0.0, loads = 0.0;
    if (first && first->misses > 0.0) {
        out->used = fmax(0.0, 1.0 - first->unused / (LINE * first->misses));
    }
    for (int k = 0; k < CARM_FROM_PLACES && in->rates.model; k++) {
        const struct carm_in_flight *f = carm_in_flight_find(in->rates.model, names[k]);
        out->independent += f ? (in->scattered[k] + in->chained[k]) / f->rate : 0.0;
    }
    double split_stores = 0.0, stores = 0.0;
    for (size_t w = 0; w < CARM_BOUNDS_WIDTHS; w++) {
        split += in->split_loads[w];
        loads += in->loads[w];
        split_stores += in->split_stores[w];
        stores += in->stores[w];
    }
    /* an access to two lines takes its port about as long as two accesses */
    out->whole_lines = loads > 0.0 ? loads / (loads + split) : 0.0;
    out->whole_stores = stores > 0.0 ? stores / (stores + split_stores) : 0.0;
}

static void describe_code(const struct carm_flow_code *code, const struct carm_graph *graph,
                          const struct carm_bounds_input *in, double trips,
                          struct carm_verdict_code *out, struct carm_run_verdict *v)
{
    double scalar = 0.0, vectors = 0.0;
    bool wide = false;
    for (size_t i = 0; i < in->nunits; i++) {
        const struct carm_bounds_unit *u = &in->units[i];
        const bool computes = carm_core_kind_group(u->kind) == CARM_CORE_GROUP_FP;
        const bool single = !*u->isa || strcmp(u->isa, "scalar") == 0; /* x87, or SSE */
        scalar += computes && single ? u->count : 0.0;
        vectors += computes && !single ? u->count : 0.0;
        wide = wide || (computes && strncmp(u->isa, "avx", 3) == 0);
    }
    const bool any = scalar + vectors > 0.0;
    for (size_t w = 0; w < CARM_BOUNDS_WIDTHS && !any;
         w++) { /* else by the widths of loads and stores */
        const double moved = in->loads[w] + in->stores[w];
        *(w < 2 ? &scalar : &vectors) += moved;
        wide = wide || (w > 2 && moved > 0.0);
    }
    out->scalar = scalar >= vectors;
    out->narrow = !out->scalar && !wide;
    for (size_t i = 0; i < code->nops; i++) {
        const struct carm_graph_access *a = &graph->accesses[i];
        const bool moves = a->pattern == CARM_PATTERN_STRIDE && llabs(a->stride) > LINE;
        const bool accesses = code->ops[i].loads || code->ops[i].stores;
        v->stride =
            accesses && moves && llabs(a->stride) > llabs(v->stride) ? a->stride : v->stride;
        const double bytes = fmax(code->ops[i].load_bytes, code->ops[i].store_bytes);
        out->dense = accesses ? fmax(out->dense, bytes / LINE) : out->dense;
        out->plain_stores = out->plain_stores || (code->ops[i].stores && !a->updates);
        out->repeats = out->repeats || (code->ops[i].flags & CARM_OPCODE_REPEATED) != 0;
    }
    out->strided = v->stride != 0 || v->leaps;
    out->sums = carm_graph_is_sum(graph);
    out->widening = carm_bounds_widening(in);
    /* entries of a short loop overlap, so the chain of an entry gives no estimate */
    out->chain_left =
        trips > 0.0 ? 0.0 : fmax(0.0, in->chain_cycles - in->forward_cycles) / in->clock_hz;
}

/* Whether counters alone decide the loop's branches, so that the loop can end before its results are ready. Decided by
 * the code, or by a number of trips that is the same for each entry. */
static bool is_counted(const struct carm_flow_code *code, const struct carm_graph *graph,
                       double trips)
{
    static const double nearly =
        1e-4; /* the mean of different numbers is hardly ever so near a whole number */
    bool counted = true;
    if (trips >= 2.0 && fabs(trips - round(trips)) < nearly) {
        return true;
    }
    for (size_t i = 0; i < code->npieces; i++) {
        const struct carm_code_piece *p = &code->pieces[i];
        if (p->jumps && p->falls && p->n) {
            const enum carm_access_pattern by = graph->accesses[p->first + p->n - 1].pattern;
            counted = counted && by != CARM_PATTERN_INDIRECT && by != CARM_PATTERN_COMPUTED;
        }
    }
    return counted;
}

/* Notes how many threads saturate the level that limits a part. */
static void say_enough(const struct carm_model *model, int threads, struct carm_run_verdict *v)
{
    const enum carm_limit limit = v->verdict.limit;
    const char *level = limit == CARM_LIMIT_DRAM ? "DRAM" : limit == CARM_LIMIT_L3 ? "L3" : NULL;
    if (model && level && !v->verdict.estimate) {
        carm_scaling_words(v->note, sizeof v->note, model, level, threads);
    }
}

/* The row of a function, outside of its loops, whose code begins at an offset; NULL = none is known */
static const struct carm_profile_row *find_function(const struct carm_profile *profile,
                                                    uint32_t module, uint64_t at, double *calls)
{
    for (size_t k = 0; k < profile->nrows; k++) {
        const struct carm_profile_row *r = &profile->rows[k];
        const bool outside = r->code && r->kind != CARM_PROFILE_LOOP;
        const struct carm_flow_code *code = outside ? &profile->codes[r->code - 1] : NULL;
        const struct carm_code_piece *begin =
            code && code->module == module ? carm_code_at(code, at) : NULL;
        if (begin && begin->executions > 0.0) {
            *calls = begin->executions;
            return r;
        }
    }
    return NULL;
}

/* Seconds of the functions that code calls directly, in all threads; `deep` calls deep. */
static double called_seconds(const struct carm_profile *profile, const struct carm_flow_code *code,
                             int deep)
{
    double seconds = 0.0;
    for (size_t k = 0; k < code->npieces && deep > 0; k++) {
        const struct carm_code_piece *p = &code->pieces[k];
        double calls = 0.0;
        const struct carm_profile_row *r =
            p->target && !p->jumps ? find_function(profile, code->module, p->target, &calls) : NULL;
        if (r) {
            seconds += p->executions / calls *
                       (r->seconds * carm_parts_threads(r) +
                        called_seconds(profile, &profile->codes[r->code - 1], deep - 1));
        }
    }
    return seconds;
}

/* Shortens the loop's chains by the time of the loops inside it and of the functions that it calls: the chains go on
 * meanwhile. The rest bounds the time of the loop's own code. */
static void hide_chains(const struct carm_profile *profile, const struct carm_profile_row *row,
                        const struct carm_flow_code *code, struct carm_bounds_input *in)
{
    enum { DEEP = 3 };
    if (!(fmax(fmax(in->chain_cycles, in->missing_cycles), in->border_cycles) > 0.0)) {
        return; /* without calls, no function's row is needed */
    }
    const double inside = (double)row->samples_inside / (double)row->samples - 1.0;
    const double loops = code->ngaps ? row->seconds * carm_parts_threads(row) * inside : 0.0;
    const double hidden =
        (loops + called_seconds(profile, code, DEEP)) / code->iterations * in->clock_hz;
    in->chain_cycles = fmax(0.0, in->chain_cycles - hidden);
    in->missing_cycles = fmax(0.0, in->missing_cycles - hidden);
    in->border_cycles = fmax(0.0, in->border_cycles - hidden);
}

static int judge(struct carm_run_verdict *v, const struct carm_run *run,
                 const struct carm_profile *profile, size_t i, const struct carm_run_levels *levels,
                 const struct carm_rates *rates, struct carm_err *err)
{
    static const double whole = 0.75; /* of a line's bytes; of the program's memory */
    const struct carm_profile_row *row = &profile->rows[i];
    const struct carm_flow_code *code = row->code ? &profile->codes[row->code - 1] : NULL;
    struct carm_bounds_unit units[CARM_RUN_UNITS_MAX];
    struct carm_bounds_input in = {.rates = *rates};
    struct carm_verdict_code about = {.company = rates->company};
    static struct carm_bounds bounds; /* 6 KiB */
    static struct carm_row as;        /* 4 KiB */
    struct carm_graph graph;
    char chain[CARM_RUN_CHAIN_MAX], note[CARM_TEXT_MAX];
    if (row->kind == CARM_PROFILE_KERNEL) {
        kernel_time(run, rates, row, v);
        return 0;
    }
    if (row->samples && is_waiting(row, code)) {
        other_time(CARM_LIMIT_WAITING, "its loop waits for another thread", 0.0, row, v);
        return 0;
    }
    if (!code || !code->nops || !profile->has_counts || row->samples < CARM_PROFILE_FEWEST ||
        row->differs) {
        return 0;
    }
    carm_parts_row(run, profile, row, &as);
    in.roofs = rates->model
                   ? carm_place_roofs(rates->model, as.precision, carm_parts_threads(row), note)
                   : NULL;
    in.clock_hz = rates->clock_hz > 0.0 ? rates->clock_hz : in.roofs ? in.roofs->clock_hz : 0.0;
    in.threads = row->threads;
    in.huge = run->samples.huge > whole;
    /* a body that no branch entered at its begin has no count of calls: all its executions are one iteration */
    struct carm_flow_code of = *code;
    of.iterations = of.iterations > 0.0 ? of.iterations
                    : row->executions   ? (double)row->executions
                                        : 1.0;
    const double all = carm_parts_seconds(run, row);
    const double seconds = all / of.iterations;
    int rc = carm_run_code_input(&of, &graph, &in, units, chain, err);
    if (rc) {
        return rc;
    }
    rc = add_others(&of, profile, i, &in, err);
    bool about_trips;
    /* if the end of a loop is predicted, the code behind the loop begins early */
    const double often = carm_profile_trips(row, &about_trips);
    const double trips = is_counted(&of, &graph, about_trips ? 0.0 : often) ? often : 0.0;
    rc = rc ? rc : carm_run_code_window(&of, trips, &in, err);
    carm_run_rates_input(&in);
    carm_run_strings_input(&of, &row->counts, &in);
    const struct carm_run_figures *figures = carm_run_levels_row(levels, i);
    if (figures && !rc) {
        rc = carm_run_memory_input(run, &of, trips, seconds, &graph, levels, figures, &in, v, err);
    }
    if (!rc) {
        hide_chains(profile, row, &of, &in);
        describe_code(&of, &graph, &in, often < CARM_RUN_MANY_TRIPS ? often : 0.0, &about, v);
        describe_memory(&in, figures, &about);
        v->used = about.used;
        about.body = row->kind != CARM_PROFILE_LOOP || carm_code_dispatches(&of);
        about.math = strncmp(row->module, "libm.so", 7) == 0;
        if (about.used > whole) { /* an unrolled loop: its other accesses use the lines */
            about.strided = false;
            v->stride = 0;
        }
        carm_bounds_find(&in, &bounds);
        carm_verdict_find(&bounds, seconds, row->share, &about, &v->verdict);
        about.slower = carm_run_slower(run, &in, &v->verdict, row->share);
        if (about.slower > 1.0) {
            carm_verdict_find(&bounds, seconds, row->share, &about, &v->verdict);
        }
        say_enough(rates->model, row->threads, v);
        carm_verdict_unequal(&v->verdict, row->seconds, all / carm_parts_threads(row));
        v->has = true;
    }
    carm_graph_close(&graph);
    return rc;
}

int carm_run_verdicts(struct carm_run_verdict **out, const struct carm_run *run,
                      const struct carm_profile *profile, const struct carm_run_levels *levels,
                      const struct carm_model *model, const struct carm_microarchitecture *theory,
                      struct carm_err *err)
{
    struct carm_looks_sum core;
    const bool looked = carm_run_core(run, model, &core);
    const struct carm_rates rates = {model, theory, looked ? core.clock_hz : 0.0,
                                     looked && carm_run_has_company(run, &core) ? core.shared
                                                                                : 0.0};
    int rc = 0;
    *out = calloc(profile->nrows + 1, sizeof **out);
    if (!*out) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the verdicts");
    }
    for (size_t i = 0; i < profile->nrows && profile->has_time && !rc; i++) {
        rc = judge(&(*out)[i], run, profile, i, levels, &rates, err);
    }
    if (rc) {
        free(*out);
        *out = NULL;
    }
    return rc;
}

static int by_share(const void *left, const void *right)
{
    const struct carm_run_cause *a = left, *b = right;
    return (a->share < b->share) - (a->share > b->share);
}

size_t carm_run_causes(const struct carm_profile *profile, const struct carm_run_verdict *verdicts,
                       struct carm_run_cause *out)
{
    double sure[CARM_LIMITS] = {0.0}, estimates[CARM_LIMITS] = {0.0};
    size_t n = 0;
    for (size_t i = 0; i < profile->nrows; i++) {
        const struct carm_verdict *v = &verdicts[i].verdict;
        const enum carm_limit limit = v->limit == CARM_LIMIT_UNKNOWN ? v->second : v->limit;
        const double share = verdicts[i].has ? profile->rows[i].share * v->explains : 0.0;
        *(v->estimate ? &estimates[limit] : &sure[limit]) += share;
    }
    for (int k = 0; k < CARM_LIMITS; k++) {
        if (k != CARM_LIMIT_UNKNOWN && sure[k] + estimates[k] > 0.0) {
            out[n++] = (struct carm_run_cause){.limit = (enum carm_limit)k,
                                               .share = sure[k] + estimates[k],
                                               .estimate = estimates[k] > sure[k]};
        }
    }
    qsort(out, n, sizeof *out, by_share);
    return n;
}

void carm_run_verdict_row(const struct carm_run_verdict *of, struct carm_row *row)
{
    const struct carm_verdict_kept v = carm_verdict_keep(&of->verdict);
    struct carm_row_part *part = &row->part;
    if (of->has) {
        part->limit = carm_limit_name(v.limit);
        part->limit_by = v.estimate ? "estimate" : "bound";
        part->explains = v.explains;
        part->second = v.second != CARM_LIMIT_UNKNOWN ? carm_limit_name(v.second) : "";
        part->advice = v.advice < CARM_ADVICE_COUNT ? carm_advice_name(v.advice) : "";
        part->gain_low = v.loop.low;
        part->gain_high = isfinite(v.loop.high) ? v.loop.high : 0.0;
    }
}

/* ---- a changed machine ---- */

static struct carm_run_change change_part(const struct carm_verdict *today,
                                          const struct carm_verdict *there)
{
    struct carm_run_change c = {.known = today->limit != CARM_LIMIT_UNKNOWN, .loop = {1.0, 1.0}};
    double before, after;
    carm_setting_bounds(&today->bounds, &there->bounds, today->estimate, &before, &after, &c.limit);
    if (before > today->seconds) { /* bounds have errors of some 10%: scale by their ratio */
        after *= today->seconds / before;
        before = today->seconds;
    }
    c.known = c.known && before > 0.0 && after > 0.0;
    c.limit = today->estimate ? today->limit : c.limit;
    if (c.known) {
        c.loop = carm_setting_gain(today->seconds, before, after);
    }
    if (c.known &&
        c.limit !=
            today->limit) { /* the new limit's bound also explains less than all of the time */
        c.loop.low = fmin(c.loop.low, CARM_VERDICT_DONE * today->seconds / after);
    }
    return c;
}

int carm_run_change(struct carm_run_changed *changed, const struct carm_run *run,
                    const struct carm_profile *profile, const struct carm_run_verdict *today,
                    const struct carm_run_levels *levels, const struct carm_model *model,
                    const struct carm_microarchitecture *theory, struct carm_err *err)
{
    const struct carm_run_levels *others = carm_run_levels_changed(levels);
    struct carm_run_verdict *there = NULL;
    double all = 0.0, slow = 0.0, fast = 0.0;
    int rc = carm_run_verdicts(&there, run, profile, others ? others : levels, model, theory, err);
    changed->known = 0.0;
    changed->caches = others ? carm_run_levels_about(others) : NULL;
    changed->today = others ? carm_run_levels_about(levels) : NULL;
    changed->parts = rc ? NULL : calloc(profile->nrows + 1, sizeof *changed->parts);
    if (!rc && !changed->parts) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for the changed machine");
    }
    for (size_t i = 0; i < profile->nrows && !rc; i++) {
        const double share = profile->rows[i].share;
        struct carm_run_change *c = &changed->parts[i];
        *c = (struct carm_run_change){.loop = {1.0, 1.0}};
        if (today[i].has) {
            *c = change_part(&today[i].verdict, &there[i].verdict);
        }
        changed->known += c->known ? share : 0.0;
        all += share;
        slow += share / c->loop.low;
        fast += share / c->loop.high;
    }
    changed->program =
        (struct carm_verdict_gain){slow > 0.0 ? all / slow : 1.0, fast > 0.0 ? all / fast : 1.0};
    free(there);
    return rc;
}
