/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/run/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/opt.h"
#include "harness/count/step/counts.h"
#include "models/place/hot.h"
#include "models/place/place.h"
#include "models/place/runtime.h"
#include "run/place.h"

void carm_run_say(const char *head, const char *fmt, ...)
{
    char column[32];
    va_list ap;
    snprintf(column, sizeof column, "%-12s ", head);
    va_start(ap, fmt);
    carm_say(column, fmt, ap);
    va_end(ap);
}

static double value(const struct carm_counts *c, enum carm_quantity q)
{
    return carm_count_has(c, q) ? c->q[q].value : 0.0;
}

/* "3.21e+09", whole below a million; "-" when it was not counted. returns dst */
static const char *number(char *dst, size_t size, const struct carm_counts *c, enum carm_quantity q)
{
    if (!carm_count_has(c, q)) {
        snprintf(dst, size, "-");
    } else if (c->q[q].value < 1e6) {
        snprintf(dst, size, "%.0f", c->q[q].value);
    } else {
        snprintf(dst, size, "%.4g", c->q[q].value);
    }
    return dst;
}

/* "; dp_256 98%, dp_scalar 2%": the classes of flops with a share of at least 1%. */
static void mix_of_flops(char *dst, size_t size, const struct carm_counts *c)
{
    const double all = value(c, CARM_Q_FLOPS);
    *dst = '\0';
    for (int q = CARM_Q_FLOPS_OTHER; q <= CARM_Q_SP_512 && all > 0.0; q++) {
        const double part = value(c, (enum carm_quantity)q) / all;
        if (part >= 0.01) {
            carm_text_list(dst, size, ", ", "%s %.0f%%", carm_quantity_name((enum carm_quantity)q),
                           100.0 * part);
        }
    }
}

/* Prints operations on integers, if there are at least 1% as many as flops. */
static void report_integers(const struct carm_run *run)
{
    static const enum carm_quantity parts[] = {CARM_Q_INT8_OPS,  CARM_Q_INT16_OPS, CARM_Q_INT32_OPS,
                                               CARM_Q_INT64_OPS, CARM_Q_INT_ADDS,  CARM_Q_INT_MULS,
                                               CARM_Q_INT_LOGIC, CARM_Q_INT_DOTS};
    const struct carm_counts *c = &run->row.counts;
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX], list[256] = "";
    const double all = value(c, CARM_Q_INT_OPS);
    const double s = run->row.seconds;
    size_t used = 0;
    if (!(all > 0.0) || !(all >= 0.01 * value(c, CARM_Q_FLOPS)) ||
        !(all >= 0.01 * value(c, CARM_Q_BYTES))) {
        return;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const double share = value(c, parts[i]) / all;
        if (share >= 0.01) {
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s %.0f%%",
                                     !used                                               ? ""
                                     : parts[i] >= CARM_Q_INT_ADDS && !strchr(list, ';') ? "; "
                                                                                         : ", ",
                                     carm_quantity_name(parts[i]), 100.0 * share);
        }
    }
    carm_run_say("integer ops", "%s (%s)%s%s", number(a, sizeof a, c, CARM_Q_INT_OPS), list,
                 s > 0.0 ? ", " : "", s > 0.0 ? carm_text_si(b, sizeof b, all / s, "op/s") : "");
}

/* Prints the kinds of instructions, if they were counted separately. */
static void report_mix(const struct carm_counts *c)
{
    static const double worth_a_mix = 1e-3; /* smaller shares come from the dynamic linker and
                                             * printf */
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX], kinds[4][16];
    const double fp = value(c, CARM_Q_FP_INSTRUCTIONS);
    if (!carm_count_has(c, CARM_Q_FP_ADDS) || !(fp > 0.0)) {
        return;
    }
    if (fp < worth_a_mix * value(c, CARM_Q_INSTRUCTIONS)) {
        carm_run_say("instructions", "%s, of which <0.1%% compute",
                     number(a, sizeof a, c, CARM_Q_INSTRUCTIONS));
        return;
    }
    static const enum carm_quantity of[] = {CARM_Q_FP_ADDS, CARM_Q_FP_MULS, CARM_Q_FP_FMAS,
                                            CARM_Q_FP_DIVIDES};
    for (int i = 0; i < 4; i++) {
        const double share = 100.0 * value(c, of[i]) / fp;
        snprintf(kinds[i], sizeof kinds[i], share > 0.0 && share < 0.1 ? "<0.1%%" : "%.3g%%",
                 share);
    }
    const bool divides = value(c, CARM_Q_FP_DIVIDES) > 0.0;
    carm_run_say("instructions",
                 "%s, of which %.3g%% compute: %s of these add, %s multiply, %s are FMAs%s%s%s; %s "
                 "software prefetches",
                 number(a, sizeof a, c, CARM_Q_INSTRUCTIONS),
                 100.0 * fp / value(c, CARM_Q_INSTRUCTIONS), kinds[0], kinds[1], kinds[2],
                 divides ? ", " : "", divides ? kinds[3] : "",
                 divides ? " divide or take roots" : "", number(b, sizeof b, c, CARM_Q_PREFETCHES));
}

/* "PAPI counted 1.234 Gflop, translation 1.230 Gflop: -0.3%; instructions +0.0%, loads -0.1%" */
static void report_totals(const struct carm_totals *totals)
{
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX], text[512] = "";
    for (size_t i = 0; i < totals->n; i++) {
        const struct carm_total *t = &totals->of[i];
        char percent[32] = "";
        if (isfinite(t->deviation)) {
            snprintf(percent, sizeof percent, "%+.1f%%", 100.0 * t->deviation);
        } else {
            snprintf(percent, sizeof percent, "the counters have none");
        }
        if (i == 0) {
            const char *unit = t->quantity == CARM_Q_FLOPS   ? "flop"
                               : t->quantity == CARM_Q_BYTES ? "B"
                                                             : carm_quantity_name(t->quantity);
            snprintf(text, sizeof text, "%s counted %s, translation %s: %s",
                     totals->provider == CARM_PROVIDER_PAPI ? "PAPI" : "likwid",
                     carm_text_si(a, sizeof a, t->counter, unit),
                     carm_text_si(b, sizeof b, t->counted, unit), percent);
        } else {
            carm_text_append(text, sizeof text, "%s %s %s", i == 1 ? ";" : ",",
                             carm_quantity_name(t->quantity), percent);
        }
    }
    carm_run_say("check", "%s", text);
    if (totals->warning[0]) {
        carm_run_say("warning", "%s", totals->warning);
    }
}

static void report_notes(const struct carm_run *run)
{
    const struct carm_counts *c = &run->row.counts;
    if (run->row.note[0] && strstr(run->counted, run->row.note) == NULL) {
        carm_run_say("note", "%s", run->row.note);
    }
    if (c->note[0]) {
        carm_run_say("note", "%s", c->note);
    }
    if (run->remedy[0]) {
        carm_run_say("next", "%s", run->remedy);
    }
}

static void report_counts(const struct carm_run *run)
{
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX], mix[160];
    const struct carm_counts *c = &run->row.counts;
    const double s = run->row.seconds;
    carm_run_say("counted by", "%s", run->counted);
    if (run->row.asks_for[0]) {
        carm_run_say("asks for", "%s: its counts may change from run to run", run->row.asks_for);
    }
    if (run->has_totals) {
        report_totals(&run->totals);
    }
    if (carm_count_has(c, CARM_Q_FLOPS)) {
        mix_of_flops(mix, sizeof mix, c);
        carm_run_say("flops", "%s%s%s%s%s%s", number(a, sizeof a, c, CARM_Q_FLOPS),
                     mix[0] ? " (" : "", mix, mix[0] ? ")" : "", s > 0.0 ? ", " : "",
                     s > 0.0 ? carm_text_si(b, sizeof b, value(c, CARM_Q_FLOPS) / s, "flop/s")
                             : "");
    }
    report_integers(run);
    if (carm_count_has(c, CARM_Q_BYTES)) {
        const struct carm_count *n = &c->q[CARM_Q_BYTES];
        char bounds[80] = "";
        if (n->low < n->value || n->high > n->value) {
            snprintf(bounds, sizeof bounds, " (%.3g to %.3g: widths are estimated)", n->low,
                     n->high);
        }
        carm_run_say("bytes", "%s%s in %.4g loads and stores", number(a, sizeof a, c, CARM_Q_BYTES),
                     bounds, value(c, CARM_Q_LOADS) + value(c, CARM_Q_STORES));
    }
    report_mix(c);
    if (c->q[CARM_Q_DRAM_BYTES].by == CARM_COUNTED_PMU) {
        carm_run_say("DRAM bytes", "%s (whole sockets, other programs included)",
                     number(a, sizeof a, c, CARM_Q_DRAM_BYTES));
    }
    report_notes(run);
    if (run->prefix.instructions) {
        struct carm_counts p;
        carm_step_counts_to_counts(&run->prefix, 1.0, &p);
        carm_run_say("so far", "%s flops, %s bytes: %.3g flop/byte up to there",
                     number(a, sizeof a, &p, CARM_Q_FLOPS), number(b, sizeof b, &p, CARM_Q_BYTES),
                     value(&p, CARM_Q_BYTES) > 0.0
                         ? value(&p, CARM_Q_FLOPS) / value(&p, CARM_Q_BYTES)
                         : 0.0);
    }
}

static void report_waits(const struct carm_run *run)
{
    char rate[CARM_TEXT_NUMBER_MAX], ran[CARM_TEXT_NUMBER_MAX + 32] = "";
    if (!(run->row.seconds > 0.0) || !carm_run_waits(run) || carm_run_is_short(run)) {
        return;
    }
    if (carm_run_work(&run->row) > 0.0) {
        snprintf(
            ran, sizeof ran, "; on CPUs: %s",
            carm_text_si(rate, sizeof rate, carm_run_work(&run->row) / run->cpu_seconds,
                         carm_run_is_integers(&run->row) ? CARM_METRIC_INTEGERS "/s" : "flop/s"));
    }
    carm_run_say(
        "waits",
        "on CPUs for %.3g s of %.3g s: it may wait for files, network, timers or other processes, or "
        "others use its CPU. Rates over the whole time are low for that reason%s",
        run->cpu_seconds, run->row.seconds, ran);
}

/* Prints "3.1 s, 0.03 cores busy", and that rates over the whole time are therefore low. */
static void report_time(const struct carm_run *run)
{
    char busy[64] = "";
    if (!(run->row.seconds > 0.0)) {
        carm_run_say("time", "unknown: a counted run has no time");
        return;
    }
    if (run->cpu_seconds > 0.0) {
        snprintf(busy, sizeof busy, ", %.2f cores busy", run->cpu_seconds / run->row.seconds);
    }
    carm_run_say("time", "%.4g s%s", run->row.seconds, busy);
    report_waits(run);
}

/* unit  "flop" */
static void report_place(const char *name, const struct carm_place *p, const char *unit, bool brief)
{
    char rate[CARM_NAME_MAX + 2];
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX];
    char between[256] = "";
    if (p->above >= 0 && p->below >= 0) {
        snprintf(between, sizeof between, ", between %s and %s", p->ceilings[p->below].name,
                 p->ceilings[p->above].name);
    } else if (p->above >= 0) {
        snprintf(between, sizeof between, ", below %s", p->ceilings[p->above].name);
    }
    snprintf(rate, sizeof rate, "%s/s", unit);
    carm_run_say(name, "%.4g %s/byte, %s: %.1f%% of the roof (%s)%s", p->intensity, unit,
                 carm_text_si(a, sizeof a, p->performance, rate), 100.0 * p->share,
                 carm_text_si(b, sizeof b, p->roof, rate), between);
    if (!brief || p->over) {
        carm_run_say("", "%s", p->advice);
    }
}

/* Prints runtime-oriented ceilings that are lower by a tenth or more. */
static void report_runtime(const struct carm_runtime *runtime)
{
    char rate[CARM_TEXT_NUMBER_MAX], full[CARM_TEXT_NUMBER_MAX];
    for (int i = 0; i < CARM_RUNTIME_COUNT; i++) {
        const struct carm_runtime_ceiling *c = &runtime->ceilings[i];
        if (c->known && c->gain >= CARM_PLACE_WORTHWHILE) {
            const char *unit = c->memory ? "B/s" : "flop/s";
            carm_run_say("ceiling", "%s: %s, %.1fx below the machine's %s", c->name,
                         carm_text_si(rate, sizeof rate, c->rate, unit), c->gain,
                         carm_text_si(full, sizeof full, c->architecture, unit));
        }
    }
}

/* Prints a point for each level of the memory hierarchy, and the level that binds. */
static void report_levels(const struct carm_run *run, const struct carm_model *model,
                          const struct carm_roofs *roofs)
{
    char text[512];
    struct carm_levels levels;
    struct carm_row row = run->row;
    row.seconds = carm_run_placed_seconds(run);
    if (carm_run_place_levels(&row, model, roofs, &levels)) {
        carm_run_say("levels", "%s", carm_levels_text(text, sizeof text, &levels));
        carm_run_say("", "%s", levels.advice);
    } else if (carm_count_has(&run->row.counts, CARM_Q_L2_BYTES) &&
               carm_run_work(&run->row) > 0.0) {
        carm_run_say("levels",
                     "not placed: the model has no 1:0 bandwidth of L2, L3 and DRAM for these "
                     "roofs; carm build without --quick measures it");
    }
}

/* The whole program under the roofs of its ISA, precision and threads. */
struct whole {
    const struct carm_roofs *roofs; /* NULL = none in the model */
    char note[CARM_TEXT_MAX];
    struct carm_place_set set;
    struct carm_runtime runtime; /* of programs that compute in floating point */
    bool integers;
    struct carm_place_input in; /* with the bytes of loads and stores */
    struct carm_place place;    /* on one of the two models */
};

/* returns NULL: no memory. The caller frees it */
static struct whole *find_whole(const struct carm_run *run, const struct carm_model *model)
{
    struct carm_runmix mix;
    const struct carm_counts *c = &run->row.counts;
    const char *precision = run->row.precision ? run->row.precision : "";
    struct whole *w = calloc(1, sizeof *w);
    if (!w) {
        return NULL;
    }
    w->roofs = carm_place_roofs_of(model, run->row.isa, precision, run->row.threads, w->note);
    w->integers = carm_run_is_integers(&run->row);
    w->in = (struct carm_place_input){.flops = carm_run_work(&run->row),
                                      .bytes = value(c, CARM_Q_BYTES),
                                      .seconds = carm_run_placed_seconds(run)};
    if (!w->roofs) {
        return w;
    }
    carm_run_mix(&mix, c);
    if (w->integers) {
        carm_place_prepare_integers(&w->set, model, w->roofs, precision);
    } else {
        carm_place_prepare_ordered(&w->set, model, w->roofs,
                                   carm_runmix_is_balanced(&mix) ? CARM_BALANCE_BOTTOM
                                                                 : CARM_BALANCE_TOP);
        carm_runtime_find(model, w->roofs, &mix, value(c, CARM_Q_FLOPS), &w->runtime);
    }
    return w;
}

static void report_side(struct whole *w, enum carm_place_which which, bool brief)
{
    static const char *const names[] = {"cache-aware", "original"};
    struct carm_err err = {""};
    if (carm_place_point(&w->set, which, &w->in, &w->place, &err)) {
        carm_run_say(names[which], "not placed: %s", err.text);
        return;
    }
    if (!w->integers) {
        carm_runtime_advise(&w->runtime, which, &w->place);
    }
    report_place(names[which], &w->place, *w->set.metric ? w->set.metric : "flop", brief);
}

/* brief  without advice, as each part has its own */
static void report_sides(const struct carm_run *run, const struct carm_model *model,
                         struct whole *w, bool brief)
{
    const struct carm_counts *c = &run->row.counts;
    if (!w->roofs) {
        carm_run_say("model", "it has no roofs; `carm build` measures them");
        return;
    }
    carm_run_say("roofs", "%s %s, %d thread%s%s%s", w->roofs->isa, w->roofs->precision,
                 w->roofs->threads, w->roofs->threads == 1 ? "" : "s", w->note[0] ? ": " : "",
                 w->note);
    if (!w->integers && !brief) {
        report_runtime(&w->runtime);
    }
    report_side(w, CARM_PLACE_CACHE_AWARE, brief);
    if (brief) {
        return;
    }
    if (!carm_count_has(c, CARM_Q_DRAM_BYTES)) {
        carm_run_say("original",
                     "not placed: DRAM bytes were not counted (they need uncore counters, or "
                     "--levels)");
        return;
    }
    w->in.bytes = value(c, CARM_Q_DRAM_BYTES);
    report_side(w, CARM_PLACE_ORIGINAL, false);
    report_levels(run, model, w->roofs);
}

static void report_places(const struct carm_run *run, const struct carm_model *model, bool brief)
{
    struct whole *w = find_whole(run, model);
    if (w) {
        report_sides(run, model, w, brief);
    } else {
        carm_run_say("model", "not enough memory to place the program");
    }
    free(w);
}

/* Whether the program as a whole has a place under roofs. */
static bool has_place(const struct carm_run *run, const struct carm_model *model)
{
    const struct carm_counts *c = &run->row.counts;
    return model && carm_count_has(c, CARM_Q_FLOPS) && value(c, CARM_Q_BYTES) > 0.0 &&
           carm_hot_computes(carm_run_work(&run->row), value(c, CARM_Q_BYTES)) &&
           carm_run_placed_seconds(run) >= CARM_RUN_SHORTEST_SECONDS;
}

/* Prints the first line if no loop has a verdict: the place of the whole program, or the reason why there is none.
 * missing  why no loop has a share of the time; "" = it is known */
static void report_answer(const struct carm_run *run, const struct carm_model *model,
                          const char *missing)
{
    char time[256], a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX];
    const struct carm_counts *c = &run->row.counts;
    struct carm_err none = {""};
    if (run->row.seconds > 0.0) {
        snprintf(time, sizeof time, "%.200s: %.3g s", run->name, run->row.seconds);
    } else {
        snprintf(time, sizeof time, "%.200s: counted, not timed", run->name);
    }
    struct whole *w = has_place(run, model) ? find_whole(run, model) : NULL;
    if (missing[0]) {
        carm_say_error(0, "%s: %s", time, missing);
    } else if (w && w->roofs &&
               !carm_place_point(&w->set, CARM_PLACE_CACHE_AWARE, &w->in, &w->place, &none)) {
        const char *unit = w->integers ? "op/s" : "flop/s";
        carm_say_error(0, "%s, %s: %.1f%% of what this machine reaches at %.3g %s/byte; %s", time,
                       carm_text_si(a, sizeof a, w->place.performance, unit),
                       100.0 * w->place.share, w->place.intensity,
                       *w->set.metric ? w->set.metric : "flop", w->place.advice);
    } else if (carm_count_has(c, CARM_Q_FLOPS)) {
        carm_say_error(0, "%s, %s flops and %s bytes of loads and stores", time,
                       number(a, sizeof a, c, CARM_Q_FLOPS), number(b, sizeof b, c, CARM_Q_BYTES));
    } else {
        carm_say_error(0, "%s, nothing was counted", time);
    }
    free(w);
}

/* Prints one line for a rank of a parallel program; only the first rank reports everything. */
static void report_rank(const struct carm_run *run)
{
    char head[32], flops[CARM_TEXT_NUMBER_MAX], bytes[CARM_TEXT_NUMBER_MAX];
    char time[48] = "time unknown", intensity[48] = "", ended[48] = "";
    const struct carm_counts *c = &run->row.counts;
    if (run->row.seconds > 0.0) {
        snprintf(time, sizeof time, "%.4g s", run->row.seconds);
    }
    if (value(c, CARM_Q_BYTES) > 0.0 && carm_count_has(c, CARM_Q_FLOPS)) {
        snprintf(intensity, sizeof intensity, ": %.4g flop/byte",
                 value(c, CARM_Q_FLOPS) / value(c, CARM_Q_BYTES));
    }
    if (run->signal) {
        snprintf(ended, sizeof ended, ", ended by signal %d", run->signal);
    }
    snprintf(head, sizeof head, "rank %s", run->row.rank);
    carm_run_say(head, "%s, %s flops, %s bytes%s%s", time,
                 number(flops, sizeof flops, c, CARM_Q_FLOPS),
                 number(bytes, sizeof bytes, c, CARM_Q_BYTES), intensity, ended);
}

static bool is_first_rank(const struct carm_run *run)
{
    return !run->row.rank[0] || strcmp(run->row.rank, "0") == 0;
}

static void report_end(const struct carm_run *run)
{
    if (run->signal) {
        carm_run_say("ended", "by signal %d (%s)", run->signal, strsignal(run->signal));
    }
}

void carm_run_report_briefly(const struct carm_run *run)
{
    if (!is_first_rank(run)) {
        report_rank(run);
        return;
    }
    report_waits(run);
    report_end(run);
    if (run->has_totals && run->totals.warning[0]) {
        carm_run_say("warning", "%s", run->totals.warning);
    }
    report_notes(run);
}

void carm_run_report(const struct carm_run *run, const struct carm_model *model, const char *why,
                     const char *missing, bool parts)
{
    const struct carm_counts *c = &run->row.counts;
    const char *unit = carm_run_is_integers(&run->row) ? CARM_METRIC_INTEGERS : "flop";
    const double intensity = carm_run_work(&run->row) / value(c, CARM_Q_BYTES);
    if (!is_first_rank(run)) {
        report_rank(run);
        return;
    }
    if (run->row.rank[0]) {
        carm_run_say(
            "rank",
            "0 of a parallel program; `carm place --by job,node` combines the rows of all ranks (--output)");
    }
    if (missing) {
        report_answer(run, model, missing);
    }
    report_time(run);
    report_end(run);
    report_counts(run);
    if (!carm_count_has(c, CARM_Q_FLOPS) || !carm_count_has(c, CARM_Q_BYTES)) {
        return;
    }
    if (!(carm_run_work(&run->row) > 0.0) || !(value(c, CARM_Q_BYTES) > 0.0)) {
        if (parts) {
            return;
        }
        carm_run_say("intensity",
                     "0: the program executes no floating-point operations, so it has no "
                     "place under a roof");
        return;
    }
    if (!carm_hot_computes(carm_run_work(&run->row), value(c, CARM_Q_BYTES))) {
        carm_run_say(
            "intensity",
            "%.4g %s/byte: the program computes next to nothing, so roofs of %ss say little "
            "about it",
            intensity, unit, unit);
        return;
    }
    if (!(run->row.seconds > 0.0)) {
        carm_run_say("intensity", "%.4g %s/byte", intensity, unit);
        return;
    }
    if (carm_run_placed_seconds(run) < CARM_RUN_SHORTEST_SECONDS) {
        carm_run_say(
            "intensity",
            "%.4g %s/byte; not placed: it ran less than %.0f ms. Use a larger problem, or mark "
            "regions (carm.h; carm run --regions)",
            intensity, unit, 1e3 * CARM_RUN_SHORTEST_SECONDS);
    } else if (model) {
        report_places(run, model, parts);
    } else if (!parts) {
        carm_run_say("intensity", "%.4g %s/byte; not placed: %s", intensity, unit, why);
    }
}
