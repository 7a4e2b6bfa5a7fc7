/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/run/whatif.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/text.h"
#include "cli/opt.h"
#include "cli/run/verdict.h"

static void put(const char *text)
{
    char clean[512];
    fprintf(stderr, "carm: %s\n", carm_text_clean(clean, sizeof clean, text, false));
}

static const double gains_least = 1.05;   /* least lower end of a gain's interval; chosen by hand */
static const char margin[] = "         "; /* indent of a sentence below a row */

/* "1.8x" */
static const char *times(char *dst, size_t size, double gain)
{
    if (isnan(gain)) {
        snprintf(dst, size, "-");
    } else if (isinf(gain) || gain >= 99.5) {
        snprintf(dst, size, ">99x");
    } else {
        snprintf(dst, size, gain < 9.95 ? "%.2fx" : "%.0fx", gain);
    }
    return dst;
}

static bool is_stream(enum carm_whatif_kind kind)
{
    return kind >= CARM_WHATIF_STREAM && kind <= CARM_WHATIF_STREAM4;
}

/* The condition of a change: "its loads 8 B apart came from L1" */
static void put_words(char *dst, size_t size, const struct carm_whatif_loop *loop,
                      enum carm_whatif_kind kind)
{
    char apart[32] = "elsewhere each time";
    if (!is_stream(kind)) {
        snprintf(dst, size, "%s", carm_whatif_words(kind));
        return;
    }
    const struct carm_whatif_stream *stream = &loop->streams[kind - CARM_WHATIF_STREAM];
    if (stream->stride) {
        snprintf(apart, sizeof apart, "%lld B apart", llabs((long long)stream->stride));
    }
    snprintf(dst, size, "%d: %s, %s, in L1", kind - CARM_WHATIF_STREAM + 1,
             !stream->stores  ? "loads"
             : !stream->loads ? "stores"
                              : "loads, stores",
             apart);
}

static void show_change(const struct carm_whatif_loop *loop, enum carm_whatif_kind kind)
{
    const struct carm_whatif_change *change = &loop->changes[kind];
    char gain[16], program[16], sure[24], words[96], advice[128], text[512];
    const double below = 1.0 - change->ci.lo / change->gain;
    const double half =
        100.0 * (change->at_least ? below : fmax(change->ci.hi / change->gain - 1.0, below));
    const bool says_little = change->ci.lo < gains_least;
    snprintf(sure, sizeof sure, half < 99.5 ? "\xc2\xb1%.0f%%" : "no", half);
    put_words(words, sizeof words, loop, kind);
    times(gain + change->at_least, sizeof gain - 1, change->gain);
    gain[0] = change->at_least ? '>' : gain[0];
    snprintf(advice, sizeof advice, "%s", carm_whatif_advice(kind));
    if (kind == CARM_WHATIF_PREFETCH) {
        snprintf(advice, sizeof advice, "%s, %d lines ahead", carm_whatif_advice(kind),
                 change->lines);
    }
    if (change->at_least) {
        snprintf(advice, sizeof advice, "%s%s", carm_whatif_advice(kind),
                 kind == CARM_WHATIF_L1 ? ", without the loads on which branches depend"
                                        : "; unrolled as well it gains more");
    }
    if (is_stream(kind) && loop->streams[kind - CARM_WHATIF_STREAM].source[0]) {
        snprintf(advice, sizeof advice, "%s (%s)", carm_whatif_advice(kind),
                 loop->streams[kind - CARM_WHATIF_STREAM].source);
    }
    snprintf(text, sizeof text, "%5s  %-42s %6s  %7s  %5s", "", words, gain,
             times(program, sizeof program, change->program), sure);
    put(text);
    if (!says_little || (kind == CARM_WHATIF_L1 && change->at_least)) {
        carm_say_line(margin, "%s", advice);
    }
}

static void show_loop(const struct carm_whatif_loop *loop, const struct carm_profile_row *row)
{
    char time[16], name[256], text[512];
    snprintf(time, sizeof time, "%.0f%%", 100.0 * loop->share);
    snprintf(text, sizeof text, "%5s  %s%s", time, carm_run_name_cut(name, sizeof name, row, 60),
             loop->nest ? " nest" : "");
    put(text);
    if (loop->why[0]) {
        carm_say_line(margin, "not tried: %s", loop->why);
        return;
    }
    for (int k = 0; k < CARM_WHATIF_KINDS; k++) {
        if (loop->changes[k].measured) {
            show_change(loop, (enum carm_whatif_kind)k);
        }
    }
    for (int k = 0; k < CARM_WHATIF_KINDS; k++) {
        const struct carm_whatif_change *c = &loop->changes[k];
        if (!c->measured && !c->idle) {
            char words[96];
            put_words(words, sizeof words, loop, (enum carm_whatif_kind)k);
            snprintf(text, sizeof text, "%5s  %-42s %9s", "", words, "not known");
            put(text);
            carm_say_line(margin, "%.200s", c->why);
        }
    }
}

/* Prints, before the table, the change with the largest gain for the program, by the lower end of the interval. */
static void show_answer(const struct carm_run_whatif *whatif, const struct carm_profile *profile)
{
    const struct carm_whatif_loop *loop = NULL;
    bool surely = false;
    double most = 1.0;
    size_t tried = 0;
    int best = 0;
    for (size_t i = 0; i < whatif->nloops; i++) {
        const struct carm_whatif_loop *l = &whatif->loops[i];
        tried += !l->why[0];
        for (int k = 0; k < CARM_WHATIF_KINDS && !l->why[0]; k++) {
            const struct carm_whatif_change *c = &l->changes[k];
            if (c->measured && c->ci.lo >= gains_least && c->program > most) {
                most = c->program;
                loop = l;
                best = k;
                surely = c->ci.hi < 2.0 * c->gain; /* else the table marks it as uncertain */
            }
        }
    }
    if (loop) {
        char name[256], faster[16];
        carm_say_line("", "what if: %s: if %s, the program %s be %s as fast: %s",
                      carm_run_name_cut(name, sizeof name, &profile->rows[loop->row], 60),
                      carm_whatif_words((enum carm_whatif_kind)best), surely ? "would" : "may",
                      times(faster, sizeof faster, most),
                      carm_whatif_advice((enum carm_whatif_kind)best));
    } else if (tried) {
        put("what if: no change that could be tried makes the program surely faster");
    } else {
        put("what if: none of the hottest loops could be tried:");
    }
}

void carm_run_whatif_show(const struct carm_run_whatif *whatif, const struct carm_profile *profile)
{
    char text[512];
    if (whatif->why[0]) {
        snprintf(text, sizeof text, "what if: nothing was tried: %s", whatif->why);
        put(text);
        return;
    }
    show_answer(whatif, profile);
    snprintf(text, sizeof text, "%5s  %-42s %6s  %7s  %5s", "time", "loop, and if ...", "faster",
             "program", "sure");
    put(text);
    for (size_t i = 0; i < whatif->nloops; i++) {
        show_loop(&whatif->loops[i], &profile->rows[whatif->loops[i].row]);
    }
    if (whatif->seconds >= 0.05) {
        snprintf(text, sizeof text,
                 "measured in copies of the running program, which was stopped for %.1f s",
                 whatif->seconds);
        put(text);
    }
}

static bool stream_json(json_t *o, const struct carm_whatif_loop *loop, size_t kind)
{
    const struct carm_whatif_stream *s = &loop->streams[kind - CARM_WHATIF_STREAM];
    return carm_jwrite_int(o, "stream", (int)(kind - CARM_WHATIF_STREAM) + 1) &&
           carm_jwrite_text_or_null(o, "source", s->source) &&
           carm_jwrite_int(o, "loads", (int)s->loads) &&
           carm_jwrite_int(o, "stores", (int)s->stores) &&
           carm_jwrite_number(o, "stride", (double)s->stride);
}

static json_t *change_json(const void *of, size_t kind)
{
    const struct carm_whatif_loop *loop = of;
    const struct carm_whatif_change *c = &loop->changes[kind];
    json_t *o = json_object();
    const bool ok =
        carm_jwrite_text(o, "change", carm_whatif_word((enum carm_whatif_kind)kind)) &&
        carm_jwrite_bool(o, "measured", c->measured) &&
        (c->measured
             ? carm_jwrite_number(o, "gain", c->gain) && carm_jwrite_interval(o, "ci95", c->ci) &&
                   carm_jwrite_number(o, "program_gain", c->program) &&
                   (!c->at_least || carm_jwrite_bool(o, "at_least", true)) &&
                   (kind != CARM_WHATIF_PREFETCH || carm_jwrite_int(o, "lines", c->lines))
             : carm_jwrite_bool(o, "nothing_to_change", c->idle) &&
                   carm_jwrite_text(o, "reason", c->why)) &&
        (kind != CARM_WHATIF_CORES || carm_jwrite_int(o, "cpus", (int)loop->cpus)) &&
        (!is_stream((enum carm_whatif_kind)kind) || stream_json(o, loop, kind));
    return carm_jwrite_done(o, ok);
}

bool carm_run_whatif_json(const struct carm_run_whatif *whatif, const struct carm_profile *profile,
                          json_t *o)
{
    json_t *all = json_object();
    json_t *loops = json_array();
    bool ok = all && loops && carm_jwrite_text_or_null(all, "reason", whatif->why) &&
              carm_jwrite_number(all, "held_seconds", whatif->seconds);
    for (size_t i = 0; i < whatif->nloops && ok; i++) {
        const struct carm_whatif_loop *loop = &whatif->loops[i];
        json_t *l = json_object();
        ok =
            carm_jwrite_text(l, "name", profile->rows[loop->row].name) &&
            (loop->row >= profile->nrows || carm_jwrite_int(l, "part", (int)loop->row)) &&
            carm_jwrite_bool(l, "nest", loop->nest) &&
            carm_jwrite_text_or_null(l, "reason", loop->why) &&
            carm_jwrite_int(l, "snapshots", (int)loop->snapshots) &&
            carm_jwrite_number(l, "null_ratio", loop->null) &&
            carm_jwrite_number(l, "copied_time", loop->copied) &&
            carm_jwrite_number(l, "inside", loop->inside) &&
            carm_jwrite_number(l, "held_seconds", loop->seconds) &&
            (loop->why[0] || carm_jwrite_array(l, "changes", loop, CARM_WHATIF_KINDS, change_json));
        l = carm_jwrite_done(l, ok);
        ok = l && json_array_append_new(loops, l) == 0;
    }
    ok = ok && carm_jwrite_value(all, "loops", json_incref(loops));
    json_decref(loops);
    return carm_jwrite_value(o, "what_if", carm_jwrite_done(all, ok));
}
