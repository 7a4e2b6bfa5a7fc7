/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "base/json_write.h"
#include "base/text.h"
#include "cli/study/output.h"
#include "kernels/dwarfs/study.h"

/* Prints the answer: the shares of their roofs that the optimised versions reach. */
static void print_answer(FILE *out, const struct carm_dwarf_study *s)
{
    char host[CARM_TEXT_MAX], cpu[CARM_TEXT_MAX];
    double low = INFINITY, high = 0.0;
    fprintf(out, "Kernels of the Roofline paper on %s (%s), %d thread%s",
            carm_text_clean(host, sizeof host, carm_machine_host(&s->base.model->machine), false),
            carm_text_clean(cpu, sizeof cpu, s->base.model->machine.cpu, false), s->base.threads,
            s->base.threads == 1 ? "" : "s");
    for (size_t i = 0; i < s->nitems; i++) {
        const struct carm_dwarf_point *p = &s->items[i].point;
        if (p->known && s->items[i].optimised && p->has_original) {
            low = fmin(low, p->original.share);
            high = fmax(high, p->original.share);
        }
    }
    if (high > 0.0) {
        fprintf(out, ": optimised versions reach %.0f%% to %.0f%% of their original roofs",
                100.0 * low, 100.0 * high);
    }
    fputs(".\n", out);
}

static void print_how(FILE *out, const struct carm_dwarf_study *s)
{
    fputs("\nHow it was measured\n", out);
    fprintf(out,
            "  roofs    %.16s %.16s, %d thread%s\n"
            "  counted  operations by the paper's formulas; bytes of the cores: stepped; "
            "DRAM bytes: %s\n",
            s->base.roofs->isa, s->base.roofs->precision, s->base.roofs->threads,
            s->base.roofs->threads == 1 ? "" : "s",
            *s->base.dram_lacks ? "compulsory ones, by formula: the least that has to cross"
                                : "by the memory controllers' counters, of whole sockets");
    if (*s->base.dram_lacks) {
        fprintf(out, "  note     DRAM bytes are not counted: %.*s\n",
                (int)strcspn(s->base.dram_lacks, ";"), s->base.dram_lacks);
    }
    if (!s->has_ceilings) {
        fprintf(out, "  note     the model has no ceilings below its roofs: carm build "
                     "--ceilings measures them\n");
    }
    if (*s->base.roofs_note) {
        fprintf(out, "  note     %s\n", s->base.roofs_note);
    }
}

static void row_name(char *dst, size_t size, const struct carm_dwarf_item *item)
{
    char edge[24] = "";
    if (item->kernel == CARM_DWARF_FFT) {
        snprintf(edge, sizeof edge, " %zu^3", item->n);
    }
    snprintf(dst, size, "%s%s %s", carm_dwarf_titles[item->kernel], edge,
             item->optimised ? "optimised" : "plain");
}

static void print_times(FILE *out, const struct carm_dwarf_study *s)
{
    bool disturbed = false;
    fprintf(out, "\n  %-23s %9s %14s %9s %8s\n", "kernel", "time", "spread", "G/s", "error");
    for (size_t i = 0; i < s->nitems; i++) {
        const struct carm_dwarf_item *item = &s->items[i];
        const struct carm_dwarf_point *p = &item->point;
        char name[64], spread[32] = "1 run", error[16] = "none";
        if (!p->known) {
            continue;
        }
        row_name(name, sizeof name, item);
        if (p->times.reps > 1) {
            snprintf(spread, sizeof spread, "%+.1f%% %+.1f%%",
                     100.0 * (p->times.fastest / p->times.seconds - 1.0),
                     100.0 * (p->times.slowest / p->times.seconds - 1.0));
        }
        disturbed = disturbed || p->times.disturbed;
        if (p->error > 0.0) {
            snprintf(error, sizeof error, "%.1e", p->error);
        }
        fprintf(out, "  %-23s %6.4g ms %14s %7.4g %s %8s%s\n", name, p->times.seconds * 1e3, spread,
                p->work.operations / p->times.seconds * 1e-9,
                item->kernel == CARM_DWARF_TRANSPOSE ? "x" : "f", error,
                p->times.disturbed ? "*" : "");
    }
    fprintf(out, "  f = flop, x = exchange; error: largest difference over the largest value\n");
    if (disturbed) {
        fprintf(out, "  * disturbed: other programs took the processors meanwhile; try again "
                     "on a quieter machine\n");
    }
}

static char *side_text(char *dst, size_t size, const struct carm_ceilings *ceilings,
                       const struct carm_ceiling_around *side)
{
    if (!side->known) {
        snprintf(dst, size, "none");
        return dst;
    }
    const struct carm_ceiling *ceiling =
        side->compute ? &ceilings->compute[side->index] : &ceilings->memory[side->index];
    snprintf(dst, size, "%.20s %.3g %s", ceiling->name, ceiling->rate * 1e-9,
             side->compute ? "Gf/s" : "GB/s");
    return dst;
}

static const char *limit_of(const struct carm_dwarf_point *p)
{
    return !p->upper.known ? "over the roof" : p->upper.compute ? "compute" : "memory";
}

static void printed_text(char *dst, size_t size, double low, double high)
{
    if (low < high) {
        snprintf(dst, size, "(%.3g..%.3g)", low, high);
    } else {
        snprintf(dst, size, "(%.3g)", high);
    }
}

static void print_places(FILE *out, const struct carm_dwarf_study *s)
{
    fprintf(out, "\n  %-23s %-14s  %s\n", "", "cache-aware", "original model");
    fprintf(out, "  %-23s %7s %6s  %7s %-12s %7s %6s\n", "kernel", "flop/B", "roof", "op/B",
            "(table 2)", "GB/s", "roof");
    for (size_t i = 0; i < s->nitems; i++) {
        const struct carm_dwarf_item *item = &s->items[i];
        const struct carm_dwarf_point *p = &item->point;
        char name[64], printed[32];
        if (!p->known) {
            continue;
        }
        row_name(name, sizeof name, item);
        const double dram = carm_dwarf_point_dram_bytes(p);
        fprintf(out, "  %-23s ", name);
        if (p->has_aware) {
            fprintf(out, "%7.4g %5.1f%%", p->aware.intensity, 100.0 * p->aware.share);
        } else {
            fprintf(out, "%7s %6s", "-", "-");
        }
        printed_text(printed, sizeof printed, s->printed[item->kernel].low,
                     s->printed[item->kernel].high);
        fprintf(out, "  %7.3g %-12s %7.1f", p->work.operations / dram, printed,
                dram / p->times.seconds * 1e-9);
        if (p->has_original) {
            fprintf(out, " %5.1f%%\n", 100.0 * p->original.share);
        } else {
            fprintf(out, " %6s\n", "-");
        }
    }
}

/* Prints the kernels between their ceilings, as table 4 of the Roofline paper. */
static void print_sandwiches(FILE *out, const struct carm_dwarf_study *s)
{
    fprintf(out,
            "\n  As table 4 of the paper: ceilings next above and below on the original model\n");
    fprintf(out, "  %-23s %-13s %s\n", "kernel", "limited by", "between");
    for (size_t i = 0; i < s->nitems; i++) {
        const struct carm_dwarf_item *item = &s->items[i];
        const struct carm_dwarf_point *p = &item->point;
        const struct carm_ceilings *ceilings = carm_dwarf_ceilings(s, item->kernel);
        char name[64], upper[64], lower[64];
        if (!p->known || !p->has_sandwich) {
            continue;
        }
        row_name(name, sizeof name, item);
        fprintf(out, "  %-23s %-13s %s and %s\n", name, limit_of(p),
                side_text(lower, sizeof lower, ceilings, &p->lower),
                side_text(upper, sizeof upper, ceilings, &p->upper));
    }
}

/* Prints the gain of the optimised version, and whether it is between the ceilings of table 4. */
static void print_facts(FILE *out, const struct carm_dwarf_study *s)
{
    size_t inside = 0, n = 0, memory = 0;
    fputc('\n', out);
    for (size_t i = 0; i + 1 < s->nitems; i++) {
        const struct carm_dwarf_item *plain = &s->items[i];
        const struct carm_dwarf_item *better = &s->items[i + 1];
        if (plain->kernel == better->kernel && plain->n == better->n && plain->point.known &&
            better->point.known) {
            fprintf(out, "  - %s: optimised is %.3g times as fast as plain.\n",
                    carm_dwarf_titles[plain->kernel],
                    plain->point.times.seconds / better->point.times.seconds);
        }
    }
    for (size_t i = 0; i < s->nitems; i++) {
        const struct carm_dwarf_point *p = &s->items[i].point;
        if (p->known && s->items[i].optimised && p->has_sandwich) {
            n++;
            inside += p->upper.known ? 1 : 0;
            memory += p->upper.known && !p->upper.compute ? 1 : 0;
        }
    }
    if (n) {
        fprintf(out,
                "  - Upper and lower ceilings bound %zu of %zu optimised versions; memory "
                "limits %zu of them.\n",
                inside, n, memory);
    }
    if (inside < n) {
        fprintf(out, "    One above the roof moved fewer bytes than compulsory ones (a cache "
                     "kept some), or memory was faster than when the roofs were "
                     "measured.\n");
    }
}

/* Smallest gain for which advice is printed. Chosen by hand. */
static const double worth_saying = 1.05;

/* The largest gain of avoiding traffic. */
static double most_to_gain(const struct carm_three_cs *cs)
{
    double most = 1.0;
    for (int i = CARM_STEP_NO_CONFLICT; i <= CARM_STEP_NO_ALLOCATE; i++) {
        most = cs->steps[i].known ? fmax(most, cs->steps[i].times) : most;
    }
    return most;
}

static bool has_misses(const struct carm_dwarf_study *s)
{
    for (size_t i = 0; i < s->nitems; i++) {
        if (s->items[i].misses.known) {
            return true;
        }
    }
    return false;
}

static void print_misses(FILE *out, const struct carm_dwarf_study *s)
{
    if (!has_misses(s)) {
        return;
    }
    fprintf(out,
            "\n  The three Cs of a modest size, one thread, by simulation of these caches (LRU): "
            "%s\n"
            "  %-23s %10s %9s %9s %11s\n",
            s->caches_text, "share of bytes", "compulsory", "capacity", "conflict", "past caches");
    for (size_t i = 0; i < s->nitems; i++) {
        const struct carm_dwarf_misses *m = &s->items[i].misses;
        char name[64];
        row_name(name, sizeof name, &s->items[i]);
        if (m->known) {
            fprintf(out, "  %-23s %9.1f%% %8.1f%% %8.1f%% %10.1f%%\n", name, 100.0 * m->cs.share[0],
                    100.0 * m->cs.share[1], 100.0 * m->cs.share[2],
                    100.0 * m->cs.nontemporal / m->cs.steps[CARM_STEP_NOW].bytes);
        } else if (*m->lacks) {
            fprintf(out, "  %-23s not simulated: %s\n", name, m->lacks);
        }
    }
    fprintf(out, "  %-23s %10s %19s %s\n", "operations a byte", "now", "without conflicts",
            "with compulsory bytes alone");
    for (size_t i = 0; i < s->nitems; i++) {
        const struct carm_dwarf_misses *m = &s->items[i].misses;
        char name[64];
        row_name(name, sizeof name, &s->items[i]);
        if (m->known) {
            fprintf(out, "  %-23s %10.4g %19.4g %11.4g\n", name,
                    m->cs.steps[CARM_STEP_NOW].intensity,
                    m->cs.steps[CARM_STEP_NO_CONFLICT].intensity,
                    m->cs.steps[CARM_STEP_COMPULSORY].intensity);
        }
    }
    for (size_t i = 0; i < s->nitems; i++) {
        const struct carm_dwarf_misses *m = &s->items[i].misses;
        if (m->known && most_to_gain(&m->cs) >= worth_saying) {
            fprintf(out, "    %s %s: %s\n", carm_dwarf_titles[s->items[i].kernel],
                    s->items[i].optimised ? "optimised" : "plain", m->cs.advice);
        }
    }
}

void carm_dwarfs_print(FILE *out, const struct carm_study *of)
{
    const struct carm_dwarf_study *s = (const struct carm_dwarf_study *)of;
    print_answer(out, s);
    print_times(out, s);
    print_places(out, s);
    print_sandwiches(out, s);
    print_facts(out, s);
    print_misses(out, s);
    print_how(out, s);
    for (size_t i = 0; i < s->nitems; i++) {
        const struct carm_dwarf_item *item = &s->items[i];
        char size[64], name[64];
        if (item->point.known && *item->point.work.core_note) {
            row_name(name, sizeof name, item);
            fprintf(out, "  %s: %s; %s; compared with %s\n", name,
                    carm_text_clean(size, sizeof size, item->point.size, false),
                    item->point.work.core_note, item->point.checked_by);
        } else if (*item->left_out) {
            fprintf(out, "  left out: %s: %s\n", item->name, item->left_out);
        }
    }
    if (s->base.kept) {
        fprintf(out, "  kept: %zu points of an earlier run\n", s->base.kept);
    }
    fprintf(out, "  measured in %.1f s\n", s->base.seconds);
}

static json_t *side_json(const struct carm_ceilings *ceilings, const struct carm_ceiling_around *s)
{
    json_t *o = json_object();
    if (!s->known) {
        json_decref(o);
        return json_null();
    }
    const struct carm_ceiling *ceiling =
        s->compute ? &ceilings->compute[s->index] : &ceilings->memory[s->index];
    const bool ok = carm_jwrite_text(o, "name", ceiling->name) &&
                    carm_jwrite_text(o, "type", s->compute ? "compute" : "memory") &&
                    carm_jwrite_number(o, "rate", ceiling->rate) &&
                    carm_jwrite_number(o, "at", s->at);
    return carm_jwrite_done(o, ok);
}

static json_t *misses_json(const struct carm_dwarf_misses *m)
{
    json_t *o = json_object();
    bool ok =
        carm_jwrite_text(o, "size", m->size) && carm_jwrite_number(o, "accesses", m->accesses);
    for (int k = 0; k < CARM_THREE_CS_KINDS && ok; k++) {
        json_t *kind = json_object();
        ok = carm_jwrite_number(kind, "fill_bytes", m->cs.fill[k]) &&
             carm_jwrite_number(kind, "writeback_bytes", m->cs.writeback[k]) &&
             carm_jwrite_number(kind, "share", m->cs.share[k]);
        ok = carm_jwrite_value(o, carm_miss_reason_name((enum carm_miss_reason)k),
                               carm_jwrite_done(kind, ok));
    }
    json_t *steps = json_array();
    for (int i = 0; i < CARM_THREE_CS_STEPS && ok; i++) {
        if (!m->cs.steps[i].known) {
            continue;
        }
        json_t *s = json_object();
        ok = carm_jwrite_text(s, "traffic", carm_three_cs_step_name((enum carm_three_cs_step)i)) &&
             carm_jwrite_number(s, "bytes", m->cs.steps[i].bytes) &&
             carm_jwrite_number(s, "intensity", m->cs.steps[i].intensity) &&
             carm_jwrite_number(s, "times", m->cs.steps[i].times);
        ok = json_array_append_new(steps, carm_jwrite_done(s, ok)) == 0 && ok;
    }
    ok = carm_jwrite_value(o, "steps", steps) && ok && carm_jwrite_text(o, "advice", m->cs.advice);
    return carm_jwrite_done(o, ok);
}

static bool put_point(json_t *o, const struct carm_dwarf_study *s,
                      const struct carm_dwarf_item *item)
{
    const struct carm_dwarf_point *p = &item->point;
    const struct carm_ceilings *ceilings = carm_dwarf_ceilings(s, item->kernel);
    const bool counted = p->times.dram_bytes > 0.0;
    return carm_jwrite_text(o, "size", p->size) && carm_jwrite_text_or_null(o, "isa", p->isa) &&
           carm_jwrite_text(o, "metric", p->work.metric) &&
           carm_jwrite_number(o, "operations", p->work.operations) &&
           carm_jwrite_number(o, "compulsory_bytes", p->work.compulsory_bytes) &&
           carm_jwrite_number(o, "dram_bytes", carm_dwarf_point_dram_bytes(p)) &&
           carm_jwrite_text(o, "dram_bytes_counted_by", counted ? "pmu" : "compulsory") &&
           carm_jwrite_value(o, "bytes",
                             p->work.core_bytes > 0.0 ? json_real(p->work.core_bytes)
                                                      : json_null()) &&
           carm_jwrite_value(o, "executed_flops",
                             p->work.core_flops > 0.0 ? json_real(p->work.core_flops)
                                                      : json_null()) &&
           carm_jwrite_text(o, "bytes_counted_by", carm_counted_name(p->work.core_by)) &&
           carm_jwrite_text_or_null(o, "note", p->work.core_note) &&
           carm_jwrite_number(o, "seconds", p->times.seconds) &&
           carm_jwrite_number(o, "fastest", p->times.fastest) &&
           carm_jwrite_number(o, "slowest", p->times.slowest) &&
           carm_jwrite_int(o, "runs", p->times.reps) && carm_jwrite_number(o, "error", p->error) &&
           carm_jwrite_text_or_null(o, "compared_with", p->checked_by) &&
           carm_jwrite_bool(o, "disturbed", p->times.disturbed) &&
           carm_jwrite_bool(o, "kept", p->kept) &&
           carm_jwrite_value(o, "cache_aware",
                             carm_study_place_json(p->has_aware ? &p->aware : NULL)) &&
           carm_jwrite_value(o, "original",
                             carm_study_place_json(p->has_original ? &p->original : NULL)) &&
           carm_jwrite_value(o, "upper_ceiling",
                             p->has_sandwich ? side_json(ceilings, &p->upper) : json_null()) &&
           carm_jwrite_value(o, "lower_ceiling",
                             p->has_sandwich ? side_json(ceilings, &p->lower) : json_null());
}

static json_t *item_json(const struct carm_dwarf_study *s, const struct carm_dwarf_item *item)
{
    json_t *o = json_object();
    bool ok = carm_jwrite_text(o, "name", item->name) &&
              carm_jwrite_text(o, "kernel", carm_dwarf_titles[item->kernel]) &&
              carm_jwrite_text(o, "version", item->optimised ? "optimised" : "plain") &&
              carm_jwrite_text_or_null(o, "left_out", item->left_out);
    if (item->point.known) {
        ok = ok && put_point(o, s, item);
    }
    ok = ok && carm_jwrite_value(o, "misses",
                                 item->misses.known ? misses_json(&item->misses) : json_null());
    return carm_jwrite_done(o, ok);
}

json_t *carm_dwarfs_json(const struct carm_study *of)
{
    const struct carm_dwarf_study *s = (const struct carm_dwarf_study *)of;
    json_t *o = json_object();
    json_t *items = json_array();
    bool ok = items != NULL;
    for (size_t i = 0; i < s->nitems && ok; i++) {
        ok = json_array_append_new(items, item_json(s, &s->items[i])) == 0;
    }
    ok = ok && carm_jwrite_text(o, "study", "dwarfs") &&
         carm_jwrite_text(o, "host", s->base.model->machine.hostname) &&
         carm_jwrite_text(o, "cpu", s->base.model->machine.cpu) &&
         carm_jwrite_int(o, "threads", s->base.threads) &&
         carm_jwrite_text(o, "roofs_isa", s->base.roofs->isa) &&
         carm_jwrite_int(o, "roofs_threads", s->base.roofs->threads) &&
         carm_jwrite_text_or_null(o, "note", s->base.roofs_note) &&
         carm_jwrite_bool(o, "measured_ceilings", s->has_ceilings) &&
         carm_jwrite_text_or_null(o, "caches", s->caches_text) &&
         carm_jwrite_bool(o, "interrupted", s->base.interrupted) &&
         carm_jwrite_number(o, "seconds", s->base.seconds);
    ok = carm_jwrite_value(o, "points", items) && ok;
    return carm_jwrite_done(o, ok);
}
