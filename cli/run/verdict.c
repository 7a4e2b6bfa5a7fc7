/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/run/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/text.h"
#include "cli/opt.h"
#include "harness/profile/listing.h"
#include "harness/profile/symbols.h"
#include "harness/translate/modules.h"

/* The part of a row's name behind the function's name: " loop FILE:LINE", " loop +0x40 [libx.so]"
 * or " [libx.so]" */
static char *place_in(char *name, const char *source)
{
    char *const at = *source ? strstr(name, source) : NULL;
    char *const loop = strstr(name, " loop +0x");
    char *const file = strrchr(name, '[');
    if (at) {
        return at - name > 6 && strncmp(at - 6, " loop ", 6) == 0 ? at - 6 : at;
    }
    return loop ? loop : file && file > name && file[-1] == ' ' ? file - 1 : name + strlen(name);
}

char *carm_run_name_cut(char *dst, size_t size, const struct carm_profile_row *row, size_t columns)
{
    static const char mark[] = "\u2026";
    carm_text_clean(dst, size, row->name, false);
    if (carm_text_width(dst) > columns) {
        carm_symbols_drop_arguments(dst, place_in(dst, row->source));
    }
    const size_t wide = carm_text_width(dst);
    const char *tail = place_in(dst, row->source);
    const bool source = row->source[0] && strstr(tail, row->source);
    const size_t keep = carm_text_width(tail) + 1;
    if (wide <= columns || keep + 8 > columns) {
        return wide <= columns || source ? dst
                                         : carm_text_cut(dst, size, row->name, columns, false);
    }
    /* two thirds of the rest before the mark: the beginning of a name tells more than its end */
    char text[512];
    const size_t room = columns - keep, before = room * 2 / 3, after = room - before;
    const char *at = dst, *from = tail;
    for (size_t n = 0; n < before; n++) {
        at++;
        while (((unsigned char)*at & 0xc0) == 0x80) {
            at++;
        }
    }
    for (size_t n = 0; n < after && from > at; n++) {
        from--;
        while (from > at && ((unsigned char)*from & 0xc0) == 0x80) {
            from--;
        }
    }
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - dst), dst, mark, from);
    snprintf(dst, size, "%s", text);
    return dst;
}

void carm_run_say_row(const char *row, const char *name)
{
    const size_t width = (size_t)carm_say_width();
    const bool below =
        width && strlen("carm: ") + carm_text_width(row) + 1 + carm_text_width(name) > width;
    fprintf(stderr, below ? "carm: %s\ncarm: %8s%s\n" : "carm: %s%1s%s\n", row, "", name);
}

/* "app: 2.24 s, 2 threads", with the processor time if this is a small share. returns whether it is */
static bool time_text(char *dst, size_t size, const struct carm_run *run,
                      const struct carm_profile_row *row)
{
    static const double little = 0.9, few = 0.75; /* shares of the time, by one and several threads;
                                                   * chosen by hand */
    static const double mostly = 0.5;             /* share of the waiting time; chosen by hand */
    const bool waits =
        row->threads <= 1 && run->cpu_seconds > 0.0 && run->cpu_seconds < little * run->row.seconds;
    const int used = snprintf(dst, size, "%.200s: %.3g s", run->name, run->row.seconds);
    const double busy = run->row.seconds > 0.0 ? run->cpu_seconds / run->row.seconds : 0.0;
    if (row->threads > 1 && busy > 0.0 && busy < few * row->threads) {
        snprintf(dst + used, size - (size_t)used, ", %d threads, %.2g of them busy on average",
                 row->threads, busy);
    } else if (row->threads > 1) {
        snprintf(dst + used, size - (size_t)used, ", %d threads", row->threads);
    } else if (waits) {
        const double rest = run->row.seconds - run->cpu_seconds;
        snprintf(
            dst + used, size - (size_t)used,
            run->queued_seconds > mostly * rest
                ? ", %.2g s of it on processors, which other processes have for most of the rest"
                : ", %.2g s of it on processors: it waits for the rest",
            run->cpu_seconds);
    }
    return waits;
}

/* The strides of a loop that waits for memory, as text. */
static void stride_text(char *dst, size_t size, const struct carm_run_verdict *of)
{
    static const double few = 0.5; /* share of a line's bytes; chosen by hand */
    const int used = snprintf(dst, size, " (an access moves by %lld bytes each iteration",
                              (long long)of->stride);
    snprintf(dst + used, size - (size_t)used,
             of->used > 0.0 && of->used < few ? ": %.0f of the 64 bytes of a line are used)" : ")",
             fmax(1.0, 64.0 * of->used));
}

/* The line of "jacobi.c:12"; 0 = another file than `beside`, or none. */
static int line_of(const char *source, const char *beside)
{
    const char *colon = strrchr(source, ':');
    const bool same = colon && strncmp(source, beside, (size_t)(colon - source) + 1) == 0;
    return same ? (int)strtol(colon + 1, NULL, 10) : 0;
}

/* The first advice in words, with the lines of its loops.
 * rows  of the profile */
static const char *advice_text(char *dst, size_t size, const struct carm_verdict *v,
                               const struct carm_profile_row *rows,
                               const struct carm_profile_row *row)
{
    const enum carm_advice_code first = carm_verdict_first(v);
    const char *words = first < CARM_ADVICE_COUNT ? carm_advice_words(first) : "";
    const struct carm_profile_row *around = row->parent ? &rows[row->parent - 1] : NULL;
    const int outer = around ? line_of(around->source, row->source) : 0,
              inner = line_of(row->source, row->source);
    if (first == CARM_ADVICE_UNIT_STRIDE && outer > 0 && inner > outer) {
        snprintf(
            dst, size,
            "walk the data in the order in which it lies: swap the loops of lines %d and %d, or "
            "the layout",
            outer, inner);
        return dst;
    }
    return words;
}

/* Prints one sentence about the part that takes most of the time. */
static void show_answer(const struct carm_run *run, const struct carm_profile_row *rows,
                        const struct carm_profile_row *row, const struct carm_run_verdict *of)
{
    static const double large =
        0.15; /* share of the time: without it the program is 1.2 times as fast */
    const struct carm_verdict *v = &of->verdict;
    const struct carm_verdict_kept kept = carm_verdict_keep(v);
    char limit[128], gain[32], stride[128] = "", advice[160], time[320], name[256];
    const bool waits = time_text(time, sizeof time, run, row);
    carm_run_name_cut(name, sizeof name, row, 72);
    const char *of_time = waits ? " of the processor time" : "";
    const bool advised = kept.advice < CARM_ADVICE_COUNT;
    const bool unknown = v->limit == CARM_LIMIT_UNKNOWN;
    const enum carm_limit most = unknown ? v->second : v->limit;
    if (of->stride && carm_limit_is_memory(most)) {
        stride_text(stride, sizeof stride, of);
    }
    if (row->share < large) {
        carm_say_line(
            "", "%s. No loop or function has more than %.0f%% of it: time is spread over many",
            time, 100.0 * row->share);
        return;
    }
    if (!of->has) {
        carm_say_line("", "%s. %.0f%%%s in %s, %s: there is no verdict on it", time,
                      100.0 * row->share, of_time, name,
                      row->kind == CARM_PROFILE_UNKNOWN
                          ? "made while it ran (by a JIT compiler, say)"
                      : row->differs ? "whose counts and time are of runs that differ"
                                     : "which was not counted");
        return;
    }
    const char *for_program = v->measured ? " for the program, measured" : " for the program";
    const bool gains = v->program.high > 1.05 && (v->program.low > 1.05 || !isinf(v->program.high));
    if (unknown && (v->second == CARM_LIMIT_UNKNOWN || v->explains < CARM_VERDICT_PATTERN)) {
        carm_say_line("", "%s. %.0f%%%s in %s: what limits it is not known%s%s", time,
                      100.0 * row->share, of_time, name, advised ? "; may help: " : "",
                      advice_text(advice, sizeof advice, v, rows, row));
        return;
    }
    if (unknown) {
        carm_say_line(
            "",
            "%s. %.0f%%%s in %s, %slimited by %s for %.0f%% of its time%s, the rest is not "
            "known%s%s%s%s%s",
            time, 100.0 * row->share, of_time, name, v->estimate ? "which may be " : "",
            carm_verdict_reason(limit, sizeof limit, &kept), 100.0 * v->explains, stride,
            advised ? "; may help: " : "", advice_text(advice, sizeof advice, v, rows, row),
            advised && gains ? ", " : "",
            advised && gains ? carm_verdict_gain_text(gain, sizeof gain, &v->program) : "",
            advised && gains ? for_program : "");
        return;
    }
    carm_say_line("", "%s. %.0f%%%s in %s, %slimited by %s%s%s%s%s%s%s", time, 100.0 * row->share,
                  of_time, name, v->estimate ? "which may be " : "",
                  carm_verdict_reason(limit, sizeof limit, &kept), stride, advised ? ": " : "",
                  advice_text(advice, sizeof advice, v, rows, row), gains ? ", " : "",
                  gains ? carm_verdict_gain_text(gain, sizeof gain, &v->program) : "",
                  gains ? for_program : "");
    if (*of->note) {
        carm_say_line("", "%s", of->note);
    }
}

/* Prints a line for each further advice. Advice without a gain of its own has the answer's gain. */
static void show_further(const struct carm_profile_row *row, const struct carm_verdict *v)
{
    char gain[32];
    for (size_t i = 0; i < v->nadvice; i++) {
        const struct carm_verdict_advice *a = &v->advice[i];
        const bool unequal = a->removes == CARM_LIMIT_WAITING && v->limit != CARM_LIMIT_WAITING;
        if (unequal) {
            carm_say_line("",
                          "its %d threads have unequal work there: share it out more evenly "
                          "(another schedule, smaller pieces), %s for this part",
                          row->threads, carm_verdict_gain_text(gain, sizeof gain, &a->gain));
        } else if (i > 0 && !(a->gain.low > 0.0)) {
            carm_say_line("", "or: %s", carm_advice_words(a->code));
        } else if (i > 0 && a->gain.high > 1.05) {
            carm_say_line("", "or: %s, %s for this part", carm_advice_words(a->code),
                          carm_verdict_gain_text(gain, sizeof gain, &a->gain));
        }
    }
}

/* Prints one line about all parts together, if no part takes most of the time. */
static void show_causes(const struct carm_profile *profile, const struct carm_run_verdict *verdicts)
{
    static const double worth = 0.02; /* share of the time; chosen by hand */
    struct carm_run_cause causes[CARM_LIMITS];
    const size_t n = carm_run_causes(profile, verdicts, causes);
    char text[512] = "";
    double known = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (causes[i].share >= worth) {
            known += causes[i].share;
            carm_text_list(text, sizeof text, ", ", "%s%s %.0f%%",
                           causes[i].estimate ? "maybe " : "", carm_limit_words(causes[i].limit),
                           100.0 * causes[i].share);
        }
    }
    if (*text) {
        carm_say_line("", "all together: %s; not known %.0f%%", text,
                      100.0 * fmax(0.0, 1.0 - known));
    }
}

bool carm_run_verdict_has_row(const struct carm_profile_row *row, const struct carm_run_verdict *of)
{
    static const double worth = 0.01; /* share of the time; chosen by hand */
    return (of->has || row->kind == CARM_PROFILE_UNKNOWN) && row->share >= worth;
}

/* Whether the table names a part. A large part without a verdict is named, so that no smaller part becomes the
 * answer. */
static bool is_named(const struct carm_profile_row *row, const struct carm_run_verdict *of)
{
    static const double worth = 0.15; /* share of the time; chosen by hand */
    return carm_run_verdict_has_row(row, of) ||
           (row->kind != CARM_PROFILE_OTHERS && row->share >= worth);
}

/* Columns of the limits in the table. */
static int limit_width(const struct carm_profile *profile, const struct carm_run_verdict *verdicts)
{
    size_t width = 26;
    for (size_t i = 0; i < profile->nrows; i++) {
        char limit[128];
        const struct carm_verdict_kept kept = carm_verdict_keep(&verdicts[i].verdict);
        if (carm_run_verdict_has_row(&profile->rows[i], &verdicts[i])) {
            const size_t wide = strlen(carm_verdict_limited_by(limit, sizeof limit, &kept));
            width = wide > width ? wide : width;
        }
    }
    return (int)width;
}

void carm_run_verdicts_show(const struct carm_run *run, const struct carm_profile *profile,
                            const struct carm_run_verdict *verdicts)
{
    static const double most = 0.5; /* share of the time; chosen by hand */
    const int width = limit_width(profile, verdicts);
    bool answered = false, starred = false, spread = false;
    for (size_t i = 0; i < profile->nrows; i++) {
        const struct carm_profile_row *row = &profile->rows[i];
        const struct carm_verdict *v = &verdicts[i].verdict;
        const struct carm_verdict_kept kept = carm_verdict_keep(v);
        char limit[128], gain[32], text[512], name[256];
        if (!is_named(row, &verdicts[i])) {
            continue;
        }
        if (!answered) {
            spread = row->share < most;
            show_answer(run, profile->rows, row, &verdicts[i]);
            show_further(row, v);
            snprintf(text, sizeof text, "%6s  %-*s %8s  %-8s", "time", width, "limited by",
                     "explains", "gain");
            carm_run_say_row(text, "where");
            answered = true;
        }
        carm_verdict_gain_text(gain, sizeof gain, &v->loop);
        snprintf(gain + strlen(gain), sizeof gain - strlen(gain), "%s", v->measured ? " *" : "");
        starred = starred || v->measured;
        if (verdicts[i].has) {
            carm_verdict_limited_by(limit, sizeof limit, &kept);
            snprintf(text, sizeof text, "%5.1f%%  %-*s %7.0f%%  %-8s", 100.0 * row->share, width,
                     limit, 100.0 * v->explains, gain);
        } else {
            snprintf(text, sizeof text, "%5.1f%%  %-*s %8s  %-8s", 100.0 * row->share, width,
                     carm_limit_words(CARM_LIMIT_UNKNOWN), "-", "-");
        }
        carm_run_say_row(text, carm_run_name_cut(name, sizeof name, row, 64));
    }
    if (spread) {
        show_causes(profile, verdicts);
    }
    if (starred) {
        fprintf(stderr, "carm: * measured: the table of --what-if has the change\n");
    }
}

static json_t *bound_json(const void *bounds, size_t i)
{
    const struct carm_lower_bound *b = &((const struct carm_bounds *)bounds)->of[i];
    json_t *o = json_object();
    return carm_jwrite_done(o, carm_jwrite_text(o, "limit", carm_limit_name(b->limit)) &&
                                   carm_jwrite_text(o, "words", carm_limit_words(b->limit)) &&
                                   carm_jwrite_number(o, "seconds", b->seconds) &&
                                   carm_jwrite_text(o, "origin", b->origin) &&
                                   carm_jwrite_bool(o, "estimate", b->estimate) &&
                                   carm_jwrite_bool(o, "refuted", b->refuted));
}

static json_t *advice_json(const void *verdict, size_t i)
{
    const struct carm_verdict *v = verdict;
    const struct carm_verdict_gain *gain = v->advice[i].gain.low > 0.0 ? &v->advice[i].gain
                                           : v->measured && i > 0      ? &v->removal
                                                                       : &v->loop;
    json_t *o = json_object();
    return carm_jwrite_done(
        o, carm_jwrite_text(o, "code", carm_advice_name(v->advice[i].code)) &&
               carm_jwrite_text(o, "removes", carm_limit_name(v->advice[i].removes)) &&
               carm_jwrite_number(o, "low", gain->low) &&
               carm_jwrite_number(o, "high", gain->high) &&
               carm_jwrite_bool(o, "measured", v->measured && i == 0));
}

static json_t *access_json(const void *accesses, size_t i)
{
    static const char *const patterns[] = {
        [CARM_PATTERN_NONE] = "once",         [CARM_PATTERN_STRIDE] = "stride",
        [CARM_PATTERN_REGULAR] = "regular",   [CARM_PATTERN_INDIRECT] = "indirect",
        [CARM_PATTERN_COMPUTED] = "computed",
    };
    const struct carm_run_access *a = &((const struct carm_run_access *)accesses)[i];
    json_t *o = json_object();
    return carm_jwrite_done(o, carm_jwrite_count(o, "offset", a->at) &&
                                   carm_jwrite_text(o, "kind", a->stores ? "store" : "load") &&
                                   carm_jwrite_text(o, "pattern", patterns[a->pattern]) &&
                                   (a->pattern != CARM_PATTERN_STRIDE ||
                                    carm_jwrite_number(o, "stride_bytes", (double)a->stride)) &&
                                   carm_jwrite_number(o, "executions", a->executions) &&
                                   carm_jwrite_number(o, "lines", a->lines));
}

json_t *carm_run_gain_json(const struct carm_verdict_gain *gain)
{
    json_t *o = json_object();
    return carm_jwrite_done(o, carm_jwrite_number(o, "low", gain->low) &&
                                   carm_jwrite_number(o, "high", gain->high));
}

bool carm_run_verdict_json(const struct carm_run_verdict *of, json_t *part)
{
    const struct carm_verdict *v = &of->verdict;
    if (!of->has) {
        return true;
    }
    json_t *o = json_object();
    json_t *gain = json_object();
    gain = carm_jwrite_done(
        gain, carm_jwrite_value(gain, "loop", carm_run_gain_json(&v->loop)) &&
                  carm_jwrite_value(gain, "program", carm_run_gain_json(&v->program)));
    const char *second = v->second != CARM_LIMIT_UNKNOWN ? carm_limit_name(v->second) : "";
    const bool ok = carm_jwrite_text(o, "limit", carm_limit_name(v->limit)) &&
                    carm_jwrite_number(o, "explains", v->explains) &&
                    carm_jwrite_bool(o, "estimate", v->estimate) &&
                    carm_jwrite_text_or_null(o, "second", second) &&
                    carm_jwrite_number(o, "iteration_seconds", v->seconds) &&
                    carm_jwrite_array(o, "bounds", &v->bounds, v->bounds.n, bound_json) &&
                    carm_jwrite_array(o, "advice", v, v->nadvice, advice_json) &&
                    carm_jwrite_array(o, "accesses", of->accesses, of->naccesses, access_json) &&
                    (!of->stride || carm_jwrite_number(o, "stride_bytes", (double)of->stride));
    return carm_jwrite_value(o, "gain", gain) &&
           carm_jwrite_value(part, "verdict", carm_jwrite_done(o, ok));
}

static json_t *line_json(const void *lines, size_t i)
{
    const struct carm_listing_line *l = &((const struct carm_listing_line *)lines)[i];
    json_t *o = json_object();
    return carm_jwrite_done(o, (l->number ? carm_jwrite_int(o, "line", l->number)
                                          : carm_jwrite_count(o, "offset", l->at)) &&
                                   carm_jwrite_number(o, "executions", l->executions) &&
                                   carm_jwrite_text(o, "text", l->text));
}

/* The source lines of the verdict's accesses; 0 = not known. */
static json_t *access_lines(const struct carm_run_verdict *verdict,
                            const struct carm_symbols_module *module)
{
    json_t *all = json_array();
    bool ok = all != NULL;
    for (size_t i = 0; i < verdict->naccesses && ok; i++) {
        const char *file = NULL;
        int line = 0;
        const bool known = carm_symbols_line(module, verdict->accesses[i].at,
                                             verdict->accesses[i].at, &file, &line);
        ok = json_array_append_new(all, json_integer(known ? line : 0)) == 0;
    }
    return carm_jwrite_done(all, ok);
}

/* A loop's verdict with its code. NULL = not enough memory */
static json_t *loop_json(const struct carm_run *run, const struct carm_flow_code *code,
                         const struct carm_run_verdict *verdict, struct carm_symbols *symbols)
{
    const struct carm_modules *modules = &run->blocks.modules;
    const char *path = carm_modules_path(modules, code->module);
    const struct carm_symbols_module *module =
        carm_symbols_find(symbols, path, modules->list[code->module].code, -1);
    struct carm_listing listing = {.n = 0};
    struct carm_err none = {""};
    json_t *o = json_object();
    bool ok = o && module && carm_listing_open(&listing, code, module, path, &none) == 0;
    ok = ok && carm_run_verdict_json(verdict, o) &&
         carm_jwrite_number(o, "iterations", code->iterations) &&
         carm_jwrite_text(o, "file", listing.file) &&
         carm_jwrite_text(o, "why", listing.file[0] ? "" : listing.why) &&
         carm_jwrite_count(o, "left_out", listing.left_out) &&
         carm_jwrite_value(o, "access_lines", access_lines(verdict, module)) &&
         carm_jwrite_array(o, "lines", listing.lines, listing.n, line_json);
    carm_listing_close(&listing);
    return carm_jwrite_done(o, ok);
}

char *carm_run_loops_json(const struct carm_run *run, const struct carm_profile *profile,
                          const struct carm_run_verdict *verdicts)
{
    static const double worth_a_page = 0.01; /* share of the time; chosen by hand */
    struct carm_symbols *symbols = NULL;
    struct carm_err none = {""};
    json_t *all = carm_symbols_open(&symbols, &none) == 0 ? json_array() : NULL;
    bool ok = all != NULL;
    for (size_t i = 0; i < profile->nrows && ok; i++) {
        const struct carm_profile_row *row = &profile->rows[i];
        const bool shown = verdicts && verdicts[i].has && row->code && row->share >= worth_a_page;
        json_t *o = shown ? loop_json(run, &profile->codes[row->code - 1], &verdicts[i], symbols)
                          : json_null();
        ok = json_array_append_new(all, o) == 0;
    }
    char *text = ok ? json_dumps(all, JSON_COMPACT) : NULL;
    json_decref(all);
    carm_symbols_close(symbols);
    return text;
}
