/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of `carm place`: for each point its name and rate, the answer (its verdict or advice), a row of figures
 * for each model, and details. */
#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "cli/place/print.h"

char *carm_place_unit(char dst[CARM_NAME_MAX], const struct carm_place_printer *printer)
{
    return carm_text_clean(dst, CARM_NAME_MAX, *printer->metric ? printer->metric : "flop",
                           printer->ascii);
}

enum { WIDTH = 80, NAME_WIDTH = 60, TEXT_MAX = 6144 };

static const char *const model_names[] = {"cache-aware", "original"};

/* ---- lines of text ---- */

/* A line under construction: writing a cell to a stream would take as long as making it. */
struct line {
    char *dst;
    size_t size, used;
};

static struct line begin_line(char *dst, size_t size)
{
    dst[0] = '\0';
    return (struct line){dst, size, 0};
}

static void put_bytes(struct line *t, const char *text, size_t n)
{
    const size_t left = t->size - t->used;
    n = n < left ? n : left;
    memcpy(t->dst + t->used, text, n);
    t->used += n;
}

static void put_text(struct line *t, const char *text)
{
    put_bytes(t, text, strlen(text));
}

/* Puts text in width columns, left-aligned, or right-aligned for a negative width. */
static void put_cell(struct line *t, int width, const char *text)
{
    static const char blanks[] = "                                ";
    const size_t columns = (size_t)abs(width);
    size_t n = 0, wide = 0;
    for (; text[n]; n++) {
        wide += ((unsigned char)text[n] & 0xc0) != 0x80;
    }
    const size_t pad = wide < columns ? columns - wide : 0;
    assert(pad < sizeof blanks);
    put_bytes(t, blanks, width < 0 ? pad : 0);
    put_bytes(t, text, n);
    put_bytes(t, blanks, width < 0 ? 0 : pad);
}

static void end_line(FILE *out, struct line *t)
{
    put_text(t, "\n");
    fwrite_unlocked(t->dst, 1, t->used, out);
}

/* ---- cells ---- */

/* Makes a text safe and cuts it to width columns; the last column marks a cut. */
static char *fit(char *dst, size_t size, const char *src, size_t width, bool ascii)
{
    const size_t length = strlen(src);
    if (length <= width && length < size && carm_text_plain(src) == length) {
        memcpy(dst, src, length + 1);
        return dst;
    }
    return carm_text_cut(dst, size, src, width, ascii);
}

/* Puts v in four digits with its prefix, in 8 columns: "78.19 G ". */
static void put_scaled(struct line *t, double v)
{
    static const char prefixes[][3] = {"  ", " k", " M", " G", " T", " P", " E"};
    char text[CARM_NUMBER_MAX];
    size_t i = 0;
    for (; v >= 999.95 && i + 1 < sizeof prefixes / sizeof *prefixes; i++) {
        v /= 1000.0;
    }
    if (v < 0.001 || v >= 9999.5) {
        carm_number_digits(text, v, 3);
    } else {
        carm_number_fixed(text, v, v < 9.9995 ? 3 : v < 99.995 ? 2 : v < 999.95 ? 1 : 0);
    }
    put_cell(t, -6, text);
    put_text(t, prefixes[i]);
}

/* Puts a speed-up in at most 7 characters, right-aligned in width columns: "1.82x", "<0.01x". */
static void put_factor(struct line *t, int width, double v)
{
    char text[CARM_NUMBER_MAX + 2] = "";
    char *number = text;
    if (v < 0.005 || v >= 99999.5) {
        *number++ = v < 1.0 ? '<' : '>';
        v = v < 1.0 ? 0.01 : 99999.0;
    }
    carm_number_fixed(number, v, v < 9.995 ? 2 : v < 99.95 ? 1 : 0);
    memcpy(number + strlen(number), "x", 2);
    put_cell(t, -width, text);
}

/* Puts a share in percent in at most 7 characters, right-aligned in width columns: "14.2%", ">99999%". */
static void put_percent(struct line *t, int width, double share)
{
    char text[CARM_NUMBER_MAX + 2] = ">";
    double v = 100.0 * share;
    char *number = text + (v >= 99999.5);
    v = v >= 99999.5 ? 99999.0 : v;
    carm_number_fixed(number, v, v < 9999.95 ? 1 : 0);
    memcpy(number + strlen(number), "%", 2);
    put_cell(t, -width, text);
}

/* The first word of text: returns its bytes; its columns go to *wide. */
static size_t word_of(const char *text, size_t *wide)
{
    size_t n = 0;
    for (*wide = 0; text[n] && text[n] != ' '; n++) {
        *wide += ((unsigned char)text[n] & 0xc0) != 0x80;
    }
    return n;
}

/* Prints text behind head, wrapped; lines after the first begin with `indent` blanks.
 * plain  text is ASCII: a byte is a column */
static void put_wrapped(FILE *out, const char *head, int indent, const char *text, bool plain)
{
    size_t column = carm_text_width(head);
    size_t left = plain ? strlen(text) : SIZE_MAX;
    fputs_unlocked(head, out);
    while (*text) {
        size_t wide = 0, next = 0;
        if (left <= WIDTH && column + 1 + left <= WIDTH) { /* the rest fits into the last line */
            putc_unlocked(' ', out);
            fwrite_unlocked(text, 1, left, out);
            break;
        }
        size_t n = word_of(text, &wide);
        if (column + 1 + wide > WIDTH && column > (size_t)indent) {
            putc_unlocked('\n', out);
            carm_text_put(out, indent - 1, "");
            column = (size_t)indent - 1;
            continue;
        }
        column += 1 + wide;
        while (text[n] == ' ' && text[n + 1] != ' ' && text[n + 1]) { /* puts single-spaced words
                                                                       * together */
            const size_t more = word_of(text + n + 1, &next);
            if (column + 1 + next > WIDTH) {
                break;
            }
            n += 1 + more;
            column += 1 + next;
        }
        putc_unlocked(' ', out);
        fwrite_unlocked(text, 1, n, out);
        left -= plain ? n : 0;
        for (text += n; *text == ' '; text++) {
            left -= plain;
        }
    }
    putc_unlocked('\n', out);
}

void carm_place_table_note(const struct carm_place_printer *pr, const char *head, const char *text)
{
    char clean[TEXT_MAX];
    const bool plain = !text[carm_text_plain(text)];
    put_wrapped(pr->out, head, 6,
                plain ? text : carm_text_clean(clean, sizeof clean, text, pr->ascii), plain);
}

/* ---- --by: the ranks of a parallel program ---- */

/* Smaller gains are within the errors of times and counts. */
static const double worth_naming = 1.005;

__attribute__((format(printf, 2, 3))) static void append(struct line *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(t->dst + t->used, t->size - t->used, fmt, ap);
    va_end(ap);
    t->used += n > 0 ? (size_t)n : 0;
    t->used = t->used < t->size ? t->used : t->size - 1;
}

/* "4 ranks on 2 nodes". returns dst */
static char *size_text(char *dst, size_t size, const struct carm_view *view)
{
    struct line t = begin_line(dst, size);
    append(&t, "%zu rank%s", view->ranks, view->ranks == 1 ? "" : "s");
    if (view->kind == CARM_VIEW_JOB) {
        append(&t, " on %zu node%s", view->nodes, view->nodes == 1 ? "" : "s");
    }
    return dst;
}

static bool is_even(const struct carm_over_ranks *s)
{
    return s->high <= s->low * (1.0 + 1e-9);
}

static void append_performance(struct line *t, const struct carm_over_ranks *p, const char *unit)
{
    char rate[CARM_NAME_MAX + 2], low[CARM_NAME_MAX + 32], mid[sizeof low], high[sizeof low];
    snprintf(rate, sizeof rate, "%s/s", unit);
    carm_text_si(low, sizeof low, p->low, rate);
    if (is_even(p)) {
        append(t, "%s%s each", t->used ? ", " : "", low);
    } else {
        append(t, "%s%s to %s each (median %s)", t->used ? ", " : "", low,
               carm_text_si(high, sizeof high, p->high, rate),
               carm_text_si(mid, sizeof mid, p->median, rate));
    }
}

/* The spread of intensity and performance, and the slowest and fastest ranks; "" = nothing is
 * known.
 * unit  "flop". returns dst */
static char *spread_text(char *dst, size_t size, const struct carm_view *view, const char *unit)
{
    const struct carm_over_ranks *i = &view->intensity;
    struct line t = begin_line(dst, size);
    if (carm_point_knows(i->low) && is_even(i)) {
        append(&t, "%.4g %s/byte", i->low, unit);
    } else if (carm_point_knows(i->low)) {
        append(&t, "%.4g to %.4g %s/byte (median %.4g)", i->low, i->high, unit, i->median);
    }
    if (carm_point_knows(view->performance.low)) {
        append_performance(&t, &view->performance, unit);
    }
    if (*view->slowest) {
        append(&t, "%sslowest %s (%.4g s), fastest %s (%.4g s)", t.used ? "; " : "", view->slowest,
               view->most_seconds, view->fastest, view->least_seconds);
    }
    return dst;
}

static void append_ratio(struct line *t, double ratio, const char *of)
{
    if (ratio > 0.0) {
        append(t, "%s %.2f in %s", t->used ? "," : "largest over mean of its ranks:", ratio, of);
    }
}

static void append_ceiling(struct line *t, const struct carm_placed *d, int i, const char *unit)
{
    static const char *const names[] = {"cache-aware", "original"};
    char rate[CARM_NAME_MAX + 2], number[CARM_NAME_MAX + 32];
    const double at = d->cost.at[i];
    if (d->has[i] && d->place[i].roof > at * worth_naming) {
        snprintf(rate, sizeof rate, "%s/s", unit);
        append(t, "; %s ceiling with this imbalance: %s (%s), of which it reaches %.1f%%", names[i],
               carm_text_si(number, sizeof number, at, rate),
               d->cost.compute[i] ? "compute" : "memory", 100.0 * d->place[i].performance / at);
    }
}

/* The imbalances, their cost, and the ceilings that result; "" for one rank. returns dst */
static char *imbalance_text(char *dst, size_t size, const struct carm_placed *placed,
                            const char *unit)
{
    const struct carm_view *v = placed->view;
    const struct carm_imbalance_cost *cost = &placed->cost;
    char work[CARM_NAME_MAX + 2];
    struct line t = begin_line(dst, size);
    if (v->ranks < 2) {
        return dst;
    }
    snprintf(work, sizeof work, "%ss", unit);
    append_ratio(&t, v->imbalance.work, work);
    if (*v->busiest && v->imbalance.work > worth_naming) {
        append(&t, " (%s)", v->busiest);
    }
    append_ratio(&t, v->imbalance.bytes, "bytes");
    append_ratio(&t, v->imbalance.time, "time");
    if (v->imbalance.dram > 0.0) {
        append(&t, "%sof its nodes: %.2f in DRAM bytes", t.used ? "; " : "", v->imbalance.dram);
    }
    if (!(cost->gain > worth_naming)) {
        append(&t, "%s", cost->gain > 0.0 ? "; it costs no time" : "");
        return dst;
    }
    append(&t, "; it costs up to %.0f%% of the time: balanced %s could give x%.2f",
           100.0 * cost->lost, cost->by_time ? "times" : "work", cost->gain);
    for (int i = 0; i < 2; i++) {
        append_ceiling(&t, placed, i, unit);
    }
    if (cost->by_time && v->imbalance.work > 0.0 && *v->slowest) {
        append(
            &t,
            "; ranks differ in speed more than in work: look at clock, memory and neighbours of %s",
            v->slowest);
    } else if (!cost->by_time && v->imbalance.time > 0.0 && v->imbalance.time < 0.95 * cost->gain) {
        append(&t, "; times differ less than work: ranks with less work wait or are slower");
    }
    return dst;
}

/* ---- the table ---- */

static void put_head(const struct carm_place_printer *pr, const struct carm_placed *d)
{
    const struct carm_point *p = d->point;
    char name[512], number[CARM_NAME_MAX + 32], isa[CARM_NAME_MAX], precision[CARM_NAME_MAX];
    char unit[CARM_NAME_MAX], threads[CARM_NUMBER_MAX], head[640], text[640];
    struct line h = begin_line(head, sizeof head), t = begin_line(text, sizeof text);
    put_text(&h, strlen(p->name) <= NAME_WIDTH
                     ? fit(name, sizeof name, p->name, NAME_WIDTH, pr->ascii)
                     : carm_text_cut_middle(name, sizeof name, p->name, NAME_WIDTH, pr->ascii));
    if (d->view && d->view->kind != CARM_VIEW_RANK) {
        append(&h, ": %s", size_text(number, sizeof number, d->view));
    } else if (d->rows > 1) {
        append(&h, " (%zu rows", d->rows);
        if (d->imbalance > 0.0) {
            append(&h, ", imbalance %.2f", d->imbalance);
        }
        put_text(&h, ")");
    }
    put_bytes(&h, ":", sizeof ":");
    if (d->unplaced) {
        append(&t, "not placed because %s", d->unplaced);
        carm_place_table_note(pr, head, text);
        return;
    }
    const char *const parts[] = {
        carm_text_si(number, sizeof number, p->flops / carm_point_ran_seconds(p),
                     carm_place_unit(unit, pr)),
        "/s under ",
        fit(isa, sizeof isa, d->roofs->isa, 12, pr->ascii),
        " ",
        fit(precision, sizeof precision, d->roofs->precision, 8, pr->ascii),
        ", ",
        carm_number_exact(threads, d->roofs->threads),
        d->roofs->threads == 1 ? " thread" : " threads",
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        put_text(&t, parts[i]);
    }
    if (pr->flops && *pr->metric) { /* a metric other than the table head's */
        carm_place_unit(unit, pr);
        append(&t, "; roof in %.20s/s, intensity in %.20s/byte", unit, unit);
    }
    put_bytes(&t, "", 1);
    carm_place_table_note(pr, head, text);
}

/* Puts one ceiling: its name in `width` columns, the rate that it allows in 8, and two blanks. */
static void put_wide_ceiling(struct line *t, const struct carm_place_printer *pr,
                             const struct carm_place *p, int i, int width)
{
    char name[CARM_NAME_MAX];
    put_cell(t, width, fit(name, sizeof name, p->ceilings[i].name, (size_t)width - 1, pr->ascii));
    put_scaled(t, p->ceilings[i].at);
    put_text(t, "  ");
}

/* Puts the name of a ceiling, or "-", in 11 columns after a blank. */
static void put_name(struct line *t, const struct carm_place_printer *pr,
                     const struct carm_place *p, int i)
{
    char name[CARM_NAME_MAX];
    put_text(t, " ");
    put_cell(t, 11, i < 0 ? "-" : fit(name, sizeof name, p->ceilings[i].name, 11, pr->ascii));
}

/* Prints the names of the rows' columns, once, behind the answer for the first point. */
static void put_columns(struct carm_place_printer *pr)
{
    if (!pr->headed) {
        fputs(pr->flops ? "  model      flop/byte " : "  model        op/byte ", pr->out);
        fputs("  share     roof  below       above         left bound\n", pr->out);
        pr->headed = true;
    }
}

static void put_place(const struct carm_place_printer *pr, const struct carm_place *p,
                      const char *name)
{
    char row[512], text[CARM_NUMBER_MAX];
    struct line line = begin_line(row, sizeof row), *t = &line;
    put_text(t, "  ");
    put_cell(t, 11, name);
    const int digits = p->intensity < 0.001 || p->intensity >= 9999.5 ? 3 : 4; /* 8 characters */
    put_cell(t, -9, carm_number_digits(text, p->intensity, digits));
    put_percent(t, 8, p->share);
    put_text(t, " ");
    put_scaled(t, p->roof);
    put_text(t, " ");
    put_name(t, pr, p, p->below);
    if (p->over) {
        put_cell(t, 19, " ABOVE THE ROOF");
    } else {
        put_name(t, pr, p, p->above);
        put_factor(t, 7, p->ceilings[p->above].at / p->performance);
    }
    put_text(t, " ");
    put_text(t, carm_bound_name(p->bound));
    end_line(pr->out, t);
}

/* Prints every ceiling, the highest first. */
static void put_ceilings(const struct carm_place_printer *pr, const struct carm_place *p)
{
    char row[512];
    for (size_t i = p->nceilings; i-- > 0;) {
        const struct carm_ceiling *c = &p->ceilings[i];
        struct line t = begin_line(row, sizeof row);
        put_cell(&t, 6, "");
        put_wide_ceiling(&t, pr, p, (int)i,
                         pr->regions ? 26 : 12); /* names of measured ceilings are long */
        put_factor(&t, 6, c->at / p->performance);
        put_text(&t, c->roof ? "  roof" : "");
        put_text(&t, (int)i == p->above ? "  above" : (int)i == p->below ? "  below" : "");
        end_line(pr->out, &t);
    }
}

static void put_bounds(const struct carm_place_printer *pr, const struct carm_place *p)
{
    char unit[CARM_NAME_MAX];
    if (p->intensity_low < p->intensity_high * (1.0 - 1e-9)) {
        fprintf(pr->out, "    its counts are bounds: %.4g to %.4g %s/byte", p->intensity_low,
                p->intensity_high, carm_place_unit(unit, pr));
        if (p->share_low < p->share_high * 0.9995) {
            fprintf(pr->out, ", %.1f%% to %.1f%% of the roof", 100.0 * p->share_low,
                    100.0 * p->share_high);
        }
        putc_unlocked('\n', pr->out);
    }
}

static void put_region(const struct carm_place_printer *pr, const struct carm_placed *d)
{
    char text[TEXT_MAX], gains[TEXT_MAX - 64];
    const struct carm_place *p = &d->place[CARM_PLACE_ORIGINAL];
    if (d->has[CARM_PLACE_ORIGINAL] && p->has_region) {
        snprintf(text, sizeof text, "%s; in reach, in order: %s", carm_region_name(p->region),
                 carm_place_gains_text(gains, sizeof gains, d->set, p));
        carm_place_table_note(pr, "    region:", text);
    }
}

/* " (cache-aware roof 12.30 Gflop/s: memory: ...; L1 98.40 GB/s, ...; compute: ...)" */
static void own_details(const struct carm_placed *d, int which, struct line *t)
{
    char number[CARM_TEXT_NUMBER_MAX];
    const struct carm_own_roof *r = &d->own_roof[which];
    const char *unit = carm_precision_rate(d->roofs->precision);
    append(t, " (%s %s", model_names[which], carm_text_si(number, sizeof number, r->roof, unit));
    if (which == CARM_PLACE_CACHE_AWARE) {
        append(t, "; memory%s: %s", d->own.has_memory ? "" : " as the machine's", d->own.memory);
        for (size_t i = 0; i < d->own.nlevels; i++) {
            append(t, "%s%s %s", i ? ", " : ": ", d->own.levels[i].level,
                   carm_text_si(number, sizeof number, d->own.levels[i].bandwidth, "B/s"));
        }
    }
    append(t, "; compute%s: %s: %s", d->own.has_compute ? "" : " as the machine's", d->own.compute,
           carm_text_si(number, sizeof number, r->peak, unit));
    append(t, ")");
}

/* Prints the roof of the point's own mix, and also that of the original model where it differs from the machine's
 * roof. */
static void put_own(const struct carm_place_printer *pr, const struct carm_placed *d)
{
    char text[TEXT_MAX];
    for (int i = 0; i < 2; i++) {
        if (d->has_own[i] &&
            (i == CARM_PLACE_CACHE_AWARE || !d->has_own[0] || d->own_roof[i].gain > worth_naming)) {
            carm_own_text(text, sizeof text, &d->own_roof[i], &d->place[i]);
            struct line t = {text, sizeof text, strlen(text)};
            if (pr->ceilings || pr->runtime) {
                own_details(d, i, &t);
            }
            carm_place_table_note(pr, "    own roof:", text);
        }
    }
}

/* Prints a point for each level of the memory hierarchy. */
static void put_levels(const struct carm_place_printer *pr, const struct carm_placed *d)
{
    char text[TEXT_MAX];
    char levels[512];
    if (d->has_levels) {
        snprintf(text, sizeof text, "%s (%s)%s%s", d->levels.advice,
                 carm_levels_text(levels, sizeof levels, &d->levels),
                 *d->point->levels_by ? "; " : "", d->point->levels_by);
        carm_place_table_note(pr, "    levels:", text);
    }
}

/* Prints a runtime-oriented ceiling. */
static void put_adjusted(const struct carm_place_printer *pr, const struct carm_runtime_ceiling *c,
                         const char *kind)
{
    char text[512], rate[CARM_TEXT_NUMBER_MAX];
    if (c->known) {
        const char *unit = c->memory ? "B/s" : "flop/s";
        char below[80] = "no lower than the machine's";
        if (c->gain >= 1.005) {
            snprintf(below, sizeof below, "%.2fx below the machine's %s", c->gain,
                     carm_text_si(rate, sizeof rate, c->architecture, unit));
        }
        snprintf(text, sizeof text, "%s: %s, %s (%s)", c->name,
                 carm_text_si(rate, sizeof rate, c->rate, unit), below, c->how);
    } else {
        snprintf(text, sizeof text, "%s unknown: %s", kind, c->how);
    }
    carm_place_table_note(pr, "    runtime:", text);
}

static void put_runtime(const struct carm_place_printer *pr, const struct carm_placed *d)
{
    bool any = false;
    for (int i = 0; i < CARM_RUNTIME_COUNT && d->has_runtime; i++) {
        any = any || d->runtime.ceilings[i].known;
    }
    for (int i = 0; i < CARM_RUNTIME_COUNT && any; i++) {
        put_adjusted(pr, &d->runtime.ceilings[i], carm_runtime_name((enum carm_runtime_kind)i));
    }
    if (d->has_runtime && !any) {
        carm_place_table_note(
            pr, "    runtime:",
            "unknown, because its instruction mix was not counted (carm run --counters "
            "translate or step counts it)");
    }
}

static void put_advice(const struct carm_place_printer *pr, const struct carm_placed *d)
{
    static const char *const heads[] = {"    cache-aware:", "    original:"};
    if (d->has[0] && d->has[1] && strcmp(d->place[0].advice, d->place[1].advice) == 0) {
        carm_place_table_note(pr, "    both models:", d->place[0].advice);
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (d->has[i]) {
            carm_place_table_note(pr, heads[i], d->place[i].advice);
        }
    }
}

/* Prints the verdict of carm run. returns whether it has advice, which replaces that of the place under the roofs */
static bool put_verdict(const struct carm_place_printer *pr, const struct carm_point *point)
{
    char text[512];
    struct carm_verdict_kept verdict;
    if (!carm_point_verdict(point, &verdict)) {
        return false;
    }
    carm_place_table_note(pr, "    verdict:", carm_verdict_text(text, sizeof text, &verdict));
    return verdict.advice < CARM_ADVICE_COUNT;
}

/* Prints the figures of all ranks together. */
static void put_ranks(const struct carm_place_printer *pr, const struct carm_placed *d)
{
    char text[TEXT_MAX], unit[CARM_NAME_MAX];
    carm_place_unit(unit, pr);
    if (d->view->ranks > 1 && *spread_text(text, sizeof text, d->view, unit)) {
        carm_place_table_note(pr, "    ranks:", text);
    }
    if (*imbalance_text(text, sizeof text, d, unit)) {
        carm_place_table_note(pr, "    imbalance:", text);
    }
}

/* Prints, behind the ranks of a job, their common figures and the number of hidden ranks. */
static void put_whole(const struct carm_place_printer *pr, const struct carm_placed *d)
{
    char head[96], text[TEXT_MAX], unit[CARM_NAME_MAX];
    snprintf(head, sizeof head, "  all ");
    size_text(head + 6, sizeof head - 8, d->whole);
    memcpy(head + strlen(head), ":", 2);
    spread_text(text, sizeof text, d->whole, carm_place_unit(unit, pr));
    carm_place_table_note(pr, head, text);
    if (d->view && d->view->hidden) {
        snprintf(
            text, sizeof text,
            "%zu ranks between the slowest and the fastest are not shown (--ranks 0 shows all)",
            d->view->hidden);
        carm_place_table_note(pr, "   ", text);
    }
}

static void put_point(struct carm_place_printer *printer, const struct carm_placed *placed)
{
    static const char *const missing[] = {"  cache-aware not placed:", "  original    not placed:"};
    char notes[TEXT_MAX];
    put_head(printer, placed);
    const bool advised = put_verdict(printer, placed->point);
    if (!advised && !placed->unplaced) {
        put_advice(printer, placed);
    }
    for (int i = 0; i < 2 && !placed->unplaced; i++) {
        if (!placed->has[i]) {
            carm_place_table_note(printer, missing[i], placed->why[i].text);
            continue;
        }
        put_columns(printer);
        put_place(printer, &placed->place[i], model_names[i]);
        put_bounds(printer, &placed->place[i]);
        if (printer->ceilings) {
            put_ceilings(printer, &placed->place[i]);
        }
    }
    if (!placed->unplaced) {
        put_region(printer, placed);
    }
    if (placed->view) {
        put_ranks(printer, placed);
    }
    if (!placed->unplaced) {
        put_own(printer, placed);
        put_levels(printer, placed);
        put_runtime(printer, placed);
    }
    if (*carm_place_notes(notes, sizeof notes, placed, true)) {
        carm_place_table_note(printer, "    note:", notes);
    }
}

void carm_place_table_put(struct carm_place_printer *printer, const struct carm_placed *placed)
{
    if (!placed->view || !placed->view->between) {
        put_point(printer, placed);
    }
    if (placed->whole && placed->whole->ranks > 1) {
        put_whole(printer, placed);
    }
}

/* Prints the numbers of points by place, the model, and the meaning of the columns. */
void carm_place_table_end(const struct carm_place_printer *printer)
{
    char host[64], cpu[96], mix[CARM_NAME_MAX], text[1024], unit[CARM_NAME_MAX];
    const struct carm_model *model = printer->model;
    const bool ascii = printer->ascii;
    snprintf(text, sizeof text, "%zu on the cache-aware model, %zu on the original%s",
             printer->places[0], printer->places[1], printer->over || printer->unplaced ? ";" : "");
    struct line t = {text, sizeof text, strlen(text)};
    if (printer->over) {
        append(&t, " %zu above a roof", printer->over);
    }
    if (printer->unplaced) {
        append(&t, "%s %zu not placed", printer->over ? "," : "", printer->unplaced);
    }
    fputc('\n', printer->out);
    snprintf(host, sizeof host, "%zu point%s:", printer->points, printer->points == 1 ? "" : "s");
    carm_place_table_note(printer, host, text);
    snprintf(text, sizeof text, "%s (%s), %s loads to stores",
             fit(host, sizeof host, carm_machine_host(&model->machine), 40, ascii),
             fit(cpu, sizeof cpu, model->machine.cpu, 48, ascii),
             fit(mix, sizeof mix, model->config.ldst, 16, ascii));
    carm_place_table_note(printer, "model:", text);
    if (printer->changed) {
        snprintf(text, sizeof text, "%s: roofs, shares and what is left are those of that machine",
                 printer->changed);
        carm_place_table_note(printer, "with", text);
    }
    if (printer->headed) {
        snprintf(text, sizeof text,
                 "roof: %.20s/s at the point's intensity; left: speed-up to the ceiling above",
                 printer->flops ? "flop" : carm_place_unit(unit, printer));
        carm_place_table_note(printer, "columns:", text);
    }
    fputs(printer->hint && !printer->regions
              ? "next: carm build --ceilings (what each optimisation can give here)"
              : "next: carm report, with the same files: one interactive page",
          printer->out);
    putc('\n', printer->out);
}
