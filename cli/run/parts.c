/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/run/parts.h"

#include <math.h>
#include <stdlib.h>

#include "base/json_write.h"
#include "base/text.h"
#include "cli/opt.h"
#include "cli/run/levels.h"
#include "cli/run/verdict.h"
#include "cli/run/change.h"
#include "cli/run/whatif.h"
#include "harness/count/step/counts.h"
#include "harness/place/place.h"
#include "models/place/place.h"
#include "models/verdict/missing.h"
#include "run/place.h"

enum { ADVICE = 3, NAME_WIDTH = 64 };

static double value(const struct carm_counts *c, enum carm_quantity q)
{
    return carm_count_has(c, q) ? c->q[q].value : CARM_POINT_UNKNOWN;
}

/* The run whose parts are printed. */
struct showing {
    const struct carm_run *run;
    const struct carm_profile *profile;
    const struct carm_run_levels *levels;
    const struct carm_model *model;
    const struct carm_run_verdict *verdicts; /* NULL = none */
    bool integers;                           /* some row needs the column for operations on
                                              * integers */
};

static void place(struct carm_run_placed *s, const struct showing *of, size_t i)
{
    carm_run_part_place(s, of->run, of->profile, of->levels, of->model, i);
}

/* ---- the table ---- */

/* operations / byte; INFINITY without bytes, -1 = unknown, or no operations */
static double intensity_of(double operations, double bytes)
{
    return bytes > 0.0 ? operations / bytes : bytes == 0.0 && operations > 0.0 ? INFINITY : -1.0;
}

/* Prints a row of the table, without wrapping. name: of the part, last in the row */
__attribute__((format(printf, 2, 3))) static void say_row(const char *name, const char *fmt, ...)
{
    char text[512], clean[512];
    CARM_TEXT_OF_ARGS(text, fmt);
    carm_run_say_row(carm_text_clean(clean, sizeof clean, text, false), name);
}

/* "12.3", "0.012", "<0.001"; "-" for an unknown share. returns dst */
static const char *rate(char *dst, size_t size, double v)
{
    if (!(v >= 0.0)) {
        snprintf(dst, size, "-");
    } else if (isinf(v)) {
        snprintf(dst, size, "inf");
    } else if (v > 0.0 && v < 0.001) {
        snprintf(dst, size, "<0.001");
    } else if (v >= 100.0) {
        snprintf(dst, size, "%.0f", v);
    } else {
        snprintf(dst, size, "%.3g", v);
    }
    return dst;
}

/* count times scale; scale negative = not known. returns dst */
static const char *scaled(char *dst, size_t size, double count, double scale)
{
    return rate(dst, size, count >= 0.0 && scale >= 0.0 ? count * scale : -1.0);
}

static void show_trips(char *dst, size_t size, const struct carm_profile_row *part)
{
    bool about = false;
    char number[24];
    const double trips = carm_profile_trips(part, &about);
    snprintf(dst, size, "%s%s", trips > 0.0 && about ? "~" : "",
             rate(number, sizeof number, trips > 0.0 ? trips : -1.0));
}

/* "DRAM 93%", "compute 5%": the resource that is nearest to its roof. */
static void show_level(char *dst, size_t size, const struct carm_run_placed *s)
{
    const struct carm_levels *l = &s->levels;
    snprintf(dst, size, "-");
    if (s->has_levels && l->binds >= 0) {
        snprintf(dst, size, "%s %.0f%%", l->at[l->binds].name, 100.0 * l->at[l->binds].share);
    } else if (s->has_levels) {
        snprintf(dst, size, "peak %.0f%%", 100.0 * l->nearest);
    }
}

/* "0.125"; in a table with operations on integers "0.125 flop" or "0.5 op" */
static void show_intensity(char *dst, size_t size, const struct showing *of,
                           const struct carm_run_placed *s)
{
    const bool ints = of->integers && carm_run_is_integers(&s->row);
    const double intensity =
        intensity_of(ints ? s->row.operations : s->point.flops, s->point.bytes);
    char number[32];
    snprintf(dst, size, "%s%s", rate(number, sizeof number, intensity),
             !of->integers || intensity < 0.0 ? ""
             : ints                           ? " op"
                                              : " flop");
}

/* Whether a part has enough samples to know its time within a factor of two, so that rates make sense. */
static bool is_timed(const struct carm_profile_row *part)
{
    enum { LEAST = 5 };
    return part->kind == CARM_PROFILE_KERNEL || part->samples >= LEAST;
}

/* The verdict's limit, if there is a verdict; the place under the roofs may give another one. */
static const char *bound_word(const struct showing *of, const struct carm_profile_row *part,
                              const struct carm_run_placed *s)
{
    const struct carm_run_verdict *v =
        of->verdicts ? &of->verdicts[part - of->profile->rows] : NULL;
    return v && v->has                                    ? carm_limit_name(v->verdict.limit)
           : s->placed && is_timed(part) && *s->hot.bound ? s->hot.bound
                                                          : "-";
}

static void show_row(const struct showing *of, const struct carm_profile_row *part,
                     const struct carm_run_placed *s)
{
    const struct carm_profile *profile = of->profile;
    char level[32] = "", column[40] = "";
    char share[32], flops[32], bytes[32], intensity[48], instructions[32], trips[32];
    char ints[40] = "";
    char roof[CARM_NAME_MAX + 16] = "", reached[16];
    char name[256];
    const double seconds = s->row.seconds;
    /* rates, or counts without a time */
    const bool timed = is_timed(part);
    const double scale = !profile->has_time ? 1e-6 : timed && seconds > 0.0 ? 1e-9 / seconds : -1.0;
    if (profile->has_time) {
        snprintf(share, sizeof share, "%.1f%%%s", 100.0 * part->share,
                 part->kind != CARM_PROFILE_KERNEL && part->samples < CARM_PROFILE_FEW ? "?" : "");
    } else {
        snprintf(share, sizeof share, "-");
    }
    if (part->differs) {
        snprintf(roof, sizeof roof, "runs differ");
    } else if (s->placed && timed) {
        snprintf(roof, sizeof roof, "%s of %s", carm_hot_share(reached, s->hot.of_ceiling),
                 s->hot.ceiling);
    } else {
        snprintf(roof, sizeof roof, "-");
    }
    if (of->integers) {
        const double ops = value(&s->row.counts, CARM_Q_INT_OPS);
        snprintf(ints, sizeof ints, " %8s", scaled(trips, sizeof trips, ops, scale));
    }
    show_intensity(intensity, sizeof intensity, of, s);
    show_trips(trips, sizeof trips, part);
    carm_run_name_cut(name, sizeof name, part, NAME_WIDTH);
    if (of->levels) {
        show_level(level, sizeof level, s);
        snprintf(column, sizeof column, " %s", level);
        snprintf(trips, sizeof trips, "%s", "");
    }
    say_row(name, "%6s %7s%s %8s %6s %*s %*s  %-12s %-8s%s", share,
            scaled(flops, sizeof flops, s->point.flops, scale), ints,
            scaled(instructions, sizeof instructions, value(&s->row.counts, CARM_Q_INSTRUCTIONS),
                   scale),
            scaled(bytes, sizeof bytes, s->point.bytes, scale), of->integers ? 11 : 9, intensity,
            of->levels ? 0 : 6, trips, roof, bound_word(of, part, s), column);
}

/* Prints the difference between the counts of two counted runs. */
static void show_twice(const struct carm_profile *profile)
{
    size_t far = 0;
    double most = 0.0;
    for (size_t i = 0; i < profile->nrows; i++) {
        far += profile->rows[i].spread > CARM_PROFILE_SPREAD ? 1 : 0;
        most = fmax(most, profile->rows[i].spread);
    }
    if (profile->counted_twice && far) {
        carm_say_line(
            "",
            "counted twice: %zu row%s differ%s by more than %.0f%% from one counted run to the other",
            far, far == 1 ? "" : "s", far == 1 ? "s" : "", 100.0 * CARM_PROFILE_SPREAD);
    } else if (profile->counted_twice) {
        carm_say_line("",
                      most > 0.0 ? "counted twice: the rows agree within %.2g%%"
                                 : "counted twice: the rows agree exactly",
                      100.0 * most);
    }
}

/* Prints, for a hybrid CPU, the kinds of cores that executed each large part. */
static void show_kinds(const struct carm_profile *profile)
{
    static const double large = 0.05; /* share of the time; chosen by hand */
    for (size_t i = 0; i < profile->nrows; i++) {
        const struct carm_profile_row *row = &profile->rows[i];
        char text[96], name[256];
        if (row->share >= large && *carm_run_kinds_text(text, sizeof text, row)) {
            carm_say_line("", "%s: %s", carm_run_name_cut(name, sizeof name, row, 64), text);
        }
    }
}

/* Prints notes on the other hardware thread and the clock, if they affected the times. */
static void show_core(const struct carm_run *run, const struct carm_model *model)
{
    static const double apart = 0.05; /* of the clocks; chosen by hand */
    struct carm_looks_sum core;
    if (!carm_run_core(run, model, &core)) {
        return;
    }
    const double usual = model && model->nroofs ? model->roofs[0].clock_hz : 0.0;
    if (carm_run_has_company(run, &core)) {
        carm_say_line(
            "",
            "in %.0f%% of %zu looks something else ran on the other hardware thread of its core: loops "
            "that need the core itself may take up to twice as long. Run it again when that is quiet",
            100.0 * core.shared, run->samples.looks.n);
    }
    if (usual > 0.0 && fabs(core.clock_hz / usual - 1.0) > apart) {
        carm_say_line(
            "",
            "its core ran at %.2f GHz (%.2f to %.2f), and at %.2f when the model was built: limits of "
            "the core are at the clock of the run",
            1e-9 * core.clock_hz, 1e-9 * core.slowest, 1e-9 * core.fastest, 1e-9 * usual);
    }
}

/* Prints the parts of the last cache and of memory bandwidth that other programs left, if a verdict
 * depends on them. */
static void show_others(const struct carm_run *run, const struct carm_model *model)
{
    const struct carm_memory_now *now = run->after ? &run->after->memory : NULL;
    const struct carm_stay *stay = run->after ? &run->after->stay : NULL;
    const double half = stay && stay->looked ? carm_stay_half(stay) : INFINITY;
    const double usual = model ? carm_missing_stream(model) : 0.0;
    const double load = model ? carm_missing_load(model) : 0.0;
    if (isfinite(half)) {
        carm_say_line(
            "",
            "after the run, others took half of the lines out of the last cache within %.2g "
            "ms: loops that come back to their data later wait for memory",
            1e3 * half);
    }
    if (now && now->bandwidth > 0.0 && usual > 0.0 && load > 0.0 &&
        (usual > CARM_RUN_SLOWER * now->bandwidth || now->seconds > CARM_RUN_SLOWER * load)) {
        carm_say_line(
            "",
            "after the run, memory gave one thread %.3g GB/s, and a load from it took %.0f ns: "
            "%.3g GB/s and %.0f ns when the model was built",
            1e-9 * now->bandwidth, 1e9 * now->seconds, 1e-9 * usual, 1e9 * load);
    }
}

void carm_run_show_notes(const struct carm_run *run, const struct carm_profile *profile,
                         const struct carm_model *model, const char *why)
{
    if (run->has_samples && run->samples.lost) {
        carm_say_line("", "%llu samples were lost: the buffers were full",
                      (unsigned long long)run->samples.lost);
    }
    show_core(run, model);
    show_others(run, model);
    show_twice(profile);
    show_kinds(profile);
    if (run->has_samples && run->samples.preloaded) {
        carm_say_line(
            "", "samples by a preloaded timer, as perf_event_open is not allowed here: static and "
                "set-user-id programs have none");
    }
    if (run->has_samples && run->samples.incomplete[0]) {
        carm_say_line("", "%s", run->samples.incomplete);
    }
    const double seen = run->has_samples
                            ? (double)(run->samples.total + run->samples.lost) * run->samples.period
                            : 0.0;
    const double ran = run->user_seconds * carm_run_times(run);
    const double missed = run->has_samples && !run->samples.preloaded
                              ? 0.5 * (double)run->samples.begun * run->samples.period
                              : 0.0;
    if (run->samples.begun > 1 && missed > 0.05 * ran) { /* also without any sample */
        carm_say_line(
            "",
            "%llu threads and processes began, and the samples see little of one that runs shorter than "
            "%.2g ms: --hz %d sees more of them",
            (unsigned long long)run->samples.begun, 1e3 * run->samples.period, CARM_SAMPLE_HZ_MAX);
    } else if (profile->has_time && seen < 0.8 * ran && ran > 0.2) {
        carm_say_line(
            "",
            "the samples saw %.0f%% of the program's processor time: %s or a virtual machine without "
            "processor time may hide the rest",
            100.0 * seen / ran,
            run->samples.preloaded ? "programs that it starts (static, set-user-id, with an "
                                     "environment of their own)"
                                   : "a set-user-id program");
    }
    if (!model && profile->has_time) {
        carm_say_line("", "not placed: %s", why);
    }
}

static void advise(const struct showing *of, size_t i, const struct carm_run_placed *s)
{
    const struct carm_profile_row *part = &of->profile->rows[i];
    char text[CARM_PLACE_ADVICE_MAX + 256], reuse[160] = "";
    carm_say_line("", "%.1f%% %s: %s", 100.0 * part->share, part->name,
                  carm_hot_advice(text, sizeof text, &s->hot, part->share));
    if (s->has_levels) {
        carm_run_reuse(reuse, sizeof reuse, of->levels, i);
        carm_say_line("", "      %s%s%s", s->levels.advice, reuse[0] ? "; " : "", reuse);
    }
}

void carm_run_show_parts(const struct carm_run *run, const struct carm_profile *profile,
                         const struct carm_run_levels *levels, const struct carm_model *model,
                         const struct carm_run_verdict *verdicts, const char *why)
{
    struct showing of = {run, profile, levels, model, verdicts, false};
    struct carm_run_placed *s = calloc(1, sizeof *s);
    int advised = 0;
    if (!s) {
        return;
    }
    for (size_t i = 0; i < profile->nrows; i++) {
        carm_parts_row(run, profile, &profile->rows[i], &s->row);
        of.integers = of.integers || (profile->rows[i].kind < CARM_PROFILE_KERNEL &&
                                      carm_run_is_integers(&s->row));
    }
    const bool rates = profile->has_time;
    say_row("where", "%6s %7s%s %8s %6s %*s %*s  %-12s %-8s%s", "time", rates ? "Gflop/s" : "Mflop",
            !of.integers ? ""
            : rates      ? "    Gop/s"
                         : "      Mop",
            rates ? "Ginstr/s" : "Minstr", rates ? "GB/s" : "MB", of.integers ? 11 : 9,
            of.integers ? "per byte" : "flop/byte", levels ? 0 : 6, levels ? "" : "trips",
            "reaches", "bound by", levels ? " level" : "");
    for (size_t i = 0; i < profile->nrows; i++) {
        place(s, &of, i);
        show_row(&of, &profile->rows[i], s);
    }
    carm_run_show_notes(run, profile, model, why);
    for (size_t i = 0; i < profile->nrows && advised < ADVICE; i++) {
        place(s, &of, i);
        const bool judged = verdicts && verdicts[i].has;
        if (s->placed && !judged && profile->rows[i].samples >= CARM_PROFILE_FEW) {
            advise(&of, i, s);
            advised++;
        }
    }
    free(s);
}

/* ---- JSON ---- */

static bool put_counts(json_t *o, const struct carm_counts *c)
{
    bool ok = true;
    for (int q = 0; q < CARM_Q_COUNT && ok; q++) {
        if (carm_count_has(c, (enum carm_quantity)q)) {
            ok = carm_jwrite_number(o, carm_quantity_name((enum carm_quantity)q), c->q[q].value);
        }
    }
    return ok;
}

/* Adds, for a hybrid CPU, the share of the samples on each kind of core. */
static bool put_kinds(json_t *o, const struct carm_profile_row *part)
{
    json_t *cores = json_object();
    bool ok = cores != NULL;
    for (int k = 0; k < CARM_SAMPLE_KINDS && ok; k++) {
        if (part->on[k]) {
            ok = carm_jwrite_number(cores, carm_kind_word(k),
                                    (double)part->on[k] / (double)part->samples);
        }
    }
    if (!ok || json_object_size(cores) == 0) {
        json_decref(cores);
        return ok;
    }
    return json_object_set_new(o, "cores", cores) == 0;
}

static bool put_time(json_t *o, const struct carm_profile_row *part)
{
    const struct carm_ci ci = {part->share_low, part->share_high};
    return carm_jwrite_number(o, "time_share", part->share) &&
           carm_jwrite_interval(o, "time_share_ci95", ci) &&
           carm_jwrite_count(o, "samples", part->samples) &&
           carm_jwrite_count(o, "samples_inside", part->samples_inside) &&
           carm_jwrite_number(o, "seconds", part->seconds) &&
           carm_jwrite_int(o, "threads", part->threads) && put_kinds(o, part);
}

static bool put_loop(json_t *o, const struct carm_profile_row *part, size_t nrows)
{
    bool about = false;
    const double trips = carm_profile_trips(part, &about);
    return carm_jwrite_count(o, "iterations", part->executions) &&
           carm_jwrite_count(o, "entries_low", part->entries_low) &&
           carm_jwrite_count(o, "entries_high", part->entries_high) &&
           carm_jwrite_bool(o, "irreducible", part->irreducible) &&
           (trips > 0.0 ? carm_jwrite_number(o, "trips", trips) : true) &&
           (part->parent && part->parent <= nrows ? carm_jwrite_count(o, "parent", part->parent - 1)
                                                  : true);
}

/* verdict  NULL = none; its advice, if any, replaces the advice of the place under the roofs */
static bool put_place(json_t *o, const struct carm_run_placed *s, double share,
                      const struct carm_run_verdict *verdict)
{
    char text[CARM_PLACE_ADVICE_MAX + 256];
    const bool judged = verdict && verdict->has && verdict->verdict.nadvice > 0;
    const char *advice = judged ? carm_advice_words(verdict->verdict.advice[0].code)
                                : carm_hot_advice(text, sizeof text, &s->hot, share);
    bool ok = carm_jwrite_text(o, "ceiling", s->hot.ceiling) &&
              carm_jwrite_number(o, "ceiling_share", s->hot.of_ceiling) &&
              carm_jwrite_text_or_null(o, "bound", s->hot.bound) &&
              carm_jwrite_number(o, "gain", s->hot.gain) &&
              carm_jwrite_number(o, "program_gain", carm_hot_amdahl(share, s->hot.gain)) &&
              carm_jwrite_text(o, "advice", advice);
    if (s->hot.integers) {
        ok = ok && carm_jwrite_text(o, "metric", CARM_METRIC_INTEGERS);
    }
    if (s->hot.placed) {
        ok = ok && carm_jwrite_number(o, "intensity", s->hot.place.intensity) &&
             carm_jwrite_number(o, "performance", s->hot.place.performance) &&
             carm_jwrite_number(o, "roof", s->hot.place.roof) &&
             carm_jwrite_number(o, "roof_share", s->hot.place.share);
    }
    return ok && (!s->hot.has_own || carm_jwrite_number(o, "own_roof", s->hot.own.roof));
}

static bool put_levels(json_t *o, const struct carm_levels *levels)
{
    const struct carm_levels_at *at = levels->binds >= 0 ? &levels->at[levels->binds] : NULL;
    return carm_jwrite_text(o, "level", at ? at->name : "compute") &&
           (!at || carm_jwrite_number(o, "level_share", at->share)) &&
           carm_jwrite_text(o, "level_advice", levels->advice);
}

static json_t *make_part(const struct showing *of, size_t i, struct carm_run_placed *s)
{
    const struct carm_profile *profile = of->profile;
    const struct carm_profile_row *part = &profile->rows[i];
    json_t *o = json_object();
    place(s, of, i);
    bool ok =
        carm_jwrite_text(o, "name", part->name) &&
        carm_jwrite_text(o, "kind", carm_profile_kind_name(part->kind)) &&
        carm_jwrite_text_or_null(o, "source", part->source) &&
        carm_jwrite_text_or_null(o, "module", part->module) &&
        (!*part->module || carm_jwrite_count(o, "offset", part->at)) &&
        carm_jwrite_bool(o, "differs", part->differs) &&
        (part->spread < 0.0 || carm_jwrite_number(o, "counts_spread", part->spread)) &&
        (!profile->has_time || put_time(o, part)) &&
        (part->kind != CARM_PROFILE_LOOP || put_loop(o, part, profile->nrows)) &&
        put_counts(o, &s->row.counts) &&
        (!s->placed || put_place(o, s, part->share, of->verdicts ? &of->verdicts[i] : NULL)) &&
        (!s->has_levels || put_levels(o, &s->levels)) && carm_run_figures_json(of->levels, i, o) &&
        (!of->verdicts || carm_run_verdict_json(&of->verdicts[i], o));
    if (ok && part->kind == CARM_PROFILE_LOOP && profile->has_counts) {
        struct carm_counts inside;
        json_t *all = json_object();
        carm_step_counts_to_counts(&part->inside, 1.0, &inside);
        ok = carm_jwrite_value(o, "inside", carm_jwrite_done(all, put_counts(all, &inside)));
    }
    return carm_jwrite_done(o, ok);
}

static bool put_deviations(json_t *o, const struct carm_totals *totals)
{
    bool ok = true;
    for (size_t i = 0; i < totals->n && ok; i++) {
        const struct carm_total *t = &totals->of[i];
        ok = !isfinite(t->deviation) ||
             carm_jwrite_number(o, carm_quantity_name(t->quantity), t->deviation);
    }
    return ok;
}

static json_t *core_json(const struct carm_looks_sum *core, size_t looks)
{
    json_t *o = json_object();
    return carm_jwrite_done(o, carm_jwrite_count(o, "looks", looks) &&
                                   carm_jwrite_number(o, "clock_hz", core->clock_hz) &&
                                   carm_jwrite_number(o, "slowest_hz", core->slowest) &&
                                   carm_jwrite_number(o, "fastest_hz", core->fastest) &&
                                   carm_jwrite_number(o, "shared", core->shared));
}

/* The CPU's counts of the run without instrumentation. */
static json_t *make_totals(const struct carm_totals *totals)
{
    json_t *o = json_object();
    json_t *deviations = json_object();
    bool ok = carm_jwrite_text(o, "by", carm_provider_name(totals->provider));
    for (size_t i = 0; i < totals->n && ok; i++) {
        const struct carm_total *t = &totals->of[i];
        ok = carm_jwrite_number(o, carm_quantity_name(t->quantity), t->counter);
    }
    deviations = carm_jwrite_done(deviations, put_deviations(deviations, totals));
    ok = carm_jwrite_value(o, "deviations", deviations) && ok &&
         carm_jwrite_number(o, "deviation_max", CARM_TOTALS_DEVIATION_MAX) &&
         carm_jwrite_text_or_null(o, "warning", totals->warning);
    return carm_jwrite_done(o, ok);
}

static json_t *cause_json(const void *causes, size_t i)
{
    const struct carm_run_cause *c = &((const struct carm_run_cause *)causes)[i];
    json_t *o = json_object();
    return carm_jwrite_done(o, carm_jwrite_text(o, "limit", carm_limit_name(c->limit)) &&
                                   carm_jwrite_number(o, "share", c->share) &&
                                   carm_jwrite_bool(o, "estimate", c->estimate));
}

int carm_run_write_parts(FILE *out, const void *context, struct carm_err *err)
{
    const struct carm_run_found *f = context;
    const struct carm_run *run = f->run;
    const struct carm_profile *profile = f->profile;
    const struct showing of = {run, profile, f->levels, f->model, f->verdicts, false};
    struct carm_run_placed *s = calloc(1, sizeof *s);
    struct carm_run_cause causes[CARM_LIMITS];
    struct carm_looks_sum core;
    const size_t ncauses = f->verdicts ? carm_run_causes(profile, f->verdicts, causes) : 0;
    json_t *o = s ? json_object() : NULL;
    json_t *parts = s ? json_array() : NULL;
    json_t *whole = json_object();
    bool ok = o && parts && whole;
    for (size_t i = 0; i < profile->nrows && ok; i++) {
        ok = json_array_append_new(parts, make_part(&of, i, s)) == 0;
    }
    ok = ok && carm_jwrite_text(o, "schema", "carm-run/1") &&
         carm_jwrite_text(o, "name", run->name) && carm_jwrite_int(o, "status", run->status) &&
         carm_jwrite_number(o, "seconds", run->row.seconds) &&
         carm_jwrite_number(o, "cpu_seconds", run->cpu_seconds) &&
         carm_jwrite_text(o, "counted", run->counted) &&
         carm_jwrite_text(o, "asks_for", run->row.asks_for) &&
         carm_jwrite_count(o, "samples", profile->samples) &&
         (!run->has_samples ||
          carm_jwrite_text(o, "sampled_by",
                           run->samples.preloaded ? "preloaded timer" : "task clock")) &&
         carm_jwrite_count(o, "samples_lost", run->has_samples ? run->samples.lost : 0) &&
         (!carm_run_core(run, f->model, &core) ||
          carm_jwrite_value(o, "core", core_json(&core, run->samples.looks.n))) &&
         (!run->has_totals || carm_jwrite_value(o, "counters", make_totals(&run->totals))) &&
         carm_jwrite_value(o, "whole",
                           carm_jwrite_done(whole, put_counts(whole, &run->row.counts))) &&
         (!ncauses || carm_jwrite_array(o, "causes", causes, ncauses, cause_json)) &&
         (!f->whatif || carm_run_whatif_json(f->whatif, profile, o)) &&
         (!f->changed || carm_run_change_json(f->changed, profile, o)) &&
         carm_jwrite_value(o, "parts", json_incref(parts));
    json_decref(parts);
    char *text = ok ? carm_jwrite_line(o, JSON_INDENT(1)) : NULL;
    if (!ok) {
        json_decref(o);
    }
    free(s);
    if (!text) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for JSON");
    }
    fputs(text, out); /* the stream's owner checks for errors */
    free(text);
    return 0;
}
