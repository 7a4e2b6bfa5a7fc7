/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/run_report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/text.h"
#include "models/place.h"

__attribute__((format(printf, 2, 3))) static void say(const char *head, const char *fmt, ...)
{
    char text[1024];
    char clean[1024];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    (void)fprintf(stderr, "carm: %-12s %s\n", head,
                  carm_text_clean(clean, sizeof clean, text, false));
}

static double value(const struct carm_counts *c, enum carm_quantity q)
{
    return carm_count_has(c, q) ? c->q[q].value : 0.0;
}

/* "3.21e+09", whole below a million; "-" when it was not counted. returns dst */
static const char *number(char *dst, size_t size, const struct carm_counts *c, enum carm_quantity q)
{
    if (!carm_count_has(c, q)) {
        (void)snprintf(dst, size, "-");
    } else if (c->q[q].value < 1e6) {
        (void)snprintf(dst, size, "%.0f", c->q[q].value);
    } else {
        (void)snprintf(dst, size, "%.4g", c->q[q].value);
    }
    return dst;
}

/* "; dp_256 98%, dp_scalar 2%": the classes of flops that are at least a hundredth. */
static void mix_of_flops(char *dst, size_t size, const struct carm_counts *c)
{
    const double all = value(c, CARM_Q_FLOPS);
    size_t used = 0;
    *dst = '\0';
    for (int q = CARM_Q_FLOPS_OTHER; q <= CARM_Q_SP_512 && all > 0.0; q++) {
        const double part = value(c, (enum carm_quantity)q) / all;
        if (part >= 0.01 && used < size) {
            used += (size_t)snprintf(dst + used, size - used, "%s%s %.0f%%", used ? ", " : "",
                                     carm_quantity_name((enum carm_quantity)q), 100.0 * part);
        }
    }
}

static void report_counts(const struct carm_run *run)
{
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX], mix[160];
    const struct carm_counts *c = &run->row.counts;
    const double s = run->row.seconds;
    say("counted by", "%s", run->counted);
    if (carm_count_has(c, CARM_Q_FLOPS)) {
        mix_of_flops(mix, sizeof mix, c);
        say("flops", "%s%s%s%s%s%s", number(a, sizeof a, c, CARM_Q_FLOPS), mix[0] ? " (" : "", mix,
            mix[0] ? ")" : "", s > 0.0 ? ", " : "",
            s > 0.0 ? carm_text_si(b, sizeof b, value(c, CARM_Q_FLOPS) / s, "flop/s") : "");
    }
    if (carm_count_has(c, CARM_Q_BYTES)) {
        const struct carm_count *n = &c->q[CARM_Q_BYTES];
        char bounds[80] = "";
        if (n->low < n->value || n->high > n->value) {
            (void)snprintf(bounds, sizeof bounds, " (%.3g to %.3g: widths are estimated)", n->low,
                           n->high);
        }
        say("bytes", "%s%s in %.4g loads and stores", number(a, sizeof a, c, CARM_Q_BYTES), bounds,
            value(c, CARM_Q_LOADS) + value(c, CARM_Q_STORES));
    }
    if (carm_count_has(c, CARM_Q_DRAM_BYTES)) {
        say("DRAM bytes", "%s (of whole sockets: other programs count, too)",
            number(a, sizeof a, c, CARM_Q_DRAM_BYTES));
    }
    if (run->row.note[0] && strstr(run->counted, run->row.note) == NULL) {
        say("note", "%s", run->row.note);
    }
    if (c->note[0]) {
        say("note", "%s", c->note);
    }
    if (run->remedy[0]) {
        say("next", "%s", run->remedy);
    }
    if (run->prefix.instructions) {
        struct carm_counts p;
        carm_step_counts_to_counts(&run->prefix, 1.0, &p);
        say("so far", "%s flops, %s bytes: %.3g flop/byte until there",
            number(a, sizeof a, &p, CARM_Q_FLOPS), number(b, sizeof b, &p, CARM_Q_BYTES),
            value(&p, CARM_Q_BYTES) > 0.0 ? value(&p, CARM_Q_FLOPS) / value(&p, CARM_Q_BYTES)
                                          : 0.0);
    }
}

static void report_place(const char *name, const struct carm_place *p)
{
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX];
    char between[256] = "";
    if (p->above >= 0 && p->below >= 0) {
        (void)snprintf(between, sizeof between, ", between %s and %s", p->ceilings[p->below].name,
                       p->ceilings[p->above].name);
    } else if (p->above >= 0) {
        (void)snprintf(between, sizeof between, ", below %s", p->ceilings[p->above].name);
    }
    say(name, "%.4g flop/byte, %s: %.1f%% of the roof (%s)%s", p->intensity,
        carm_text_si(a, sizeof a, p->performance, "flop/s"), 100.0 * p->share,
        carm_text_si(b, sizeof b, p->roof, "flop/s"), between);
    say("", "%s", p->advice);
}

static void report_places(const struct carm_run *run, const struct carm_model *model)
{
    char note[CARM_TEXT_MAX];
    struct carm_place place;
    struct carm_err err = {""};
    const struct carm_counts *c = &run->row.counts;
    const char *precision = run->row.precision ? run->row.precision : "";
    const struct carm_roofs *roofs = carm_place_roofs(
        model, strcmp(precision, "mixed") == 0 ? "" : precision, run->row.threads, note);
    if (!roofs) {
        say("model", "it has no roofs; `carm build` measures them");
        return;
    }
    say("roofs", "%s %s, %d thread%s%s%s", roofs->isa, roofs->precision, roofs->threads,
        roofs->threads == 1 ? "" : "s", note[0] ? ": " : "", note);
    if (carm_place_cache_aware(model, roofs, value(c, CARM_Q_FLOPS), value(c, CARM_Q_BYTES),
                               run->row.seconds, &place, &err) == 0) {
        report_place("cache-aware", &place);
    } else {
        say("cache-aware", "not placed: %s", err.text);
    }
    if (!carm_count_has(c, CARM_Q_DRAM_BYTES)) {
        say("original", "not placed: the DRAM bytes were not counted (they need uncore counters)");
    } else if (carm_place_original(model, roofs, value(c, CARM_Q_FLOPS),
                                   value(c, CARM_Q_DRAM_BYTES), run->row.seconds, &place,
                                   &err) == 0) {
        report_place("original", &place);
    } else {
        say("original", "not placed: %s", err.text);
    }
}

void carm_run_report(const struct carm_run *run, const struct carm_model *model, const char *why)
{
    const struct carm_counts *c = &run->row.counts;
    char busy[64] = "";
    if (run->row.seconds > 0.0 && run->cpu_seconds > 0.0) {
        (void)snprintf(busy, sizeof busy, ", %.2f cores busy", run->cpu_seconds / run->row.seconds);
    }
    if (run->row.seconds > 0.0) {
        say("time", "%.4g s%s", run->row.seconds, busy);
    } else {
        say("time", "unknown: a stepped run has none");
    }
    if (run->signal) {
        say("ended", "by signal %d (%s)", run->signal, strsignal(run->signal));
    }
    report_counts(run);
    if (!carm_count_has(c, CARM_Q_FLOPS) || !carm_count_has(c, CARM_Q_BYTES)) {
        return;
    }
    if (!(value(c, CARM_Q_FLOPS) > 0.0) || !(value(c, CARM_Q_BYTES) > 0.0)) {
        say("intensity", "0: the program computes nothing in floating point, so it has no place "
                         "under a roof");
        return;
    }
    if (!(run->row.seconds > 0.0)) {
        say("intensity", "%.4g flop/byte", value(c, CARM_Q_FLOPS) / value(c, CARM_Q_BYTES));
        return;
    }
    if (model) {
        report_places(run, model);
    } else {
        say("intensity", "%.4g flop/byte; not placed: %s",
            value(c, CARM_Q_FLOPS) / value(c, CARM_Q_BYTES), why);
    }
}
