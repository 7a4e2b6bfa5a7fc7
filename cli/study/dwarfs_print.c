/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "cli/opt.h"
#include "kernels/dwarfs/study.h"
#include "base/text.h"

/* ---- head ------------------------------------------------------------------------------------ */

static void print_head(FILE *out, const struct carm_dwarf_study *s)
{
    char host[CARM_TEXT_MAX], cpu[CARM_TEXT_MAX];
    const char *plural = s->threads == 1 ? "" : "s";
    (void)fprintf(out, "Kernels of the Roofline paper on %s (%s), %d thread%s\n",
                  carm_text_clean(host, sizeof host, s->model->machine.hostname, false),
                  carm_text_clean(cpu, sizeof cpu, s->model->machine.cpu, false), s->threads,
                  plural);
    (void)fprintf(out,
                  "  roofs    %.16s %.16s, %d thread%s\n"
                  "  counted  operations by the paper's formulas; bytes of the cores: stepped\n"
                  "           DRAM bytes: %s\n",
                  s->roofs->isa, s->roofs->precision, s->roofs->threads,
                  s->roofs->threads == 1 ? "" : "s",
                  *s->dram_lacks ? "compulsory ones, by formula: the least that crosses"
                                 : "by the memory controllers' counters, of whole sockets");
    if (*s->dram_lacks) {
        (void)fprintf(out, "  note     DRAM bytes are not counted: %.*s\n",
                      (int)strcspn(s->dram_lacks, ";"), s->dram_lacks);
    }
    if (!s->has_ceilings) {
        (void)fprintf(out, "  note     the model has no ceilings below its roofs: carm build "
                           "--ceilings measures them\n");
    }
    if (*s->roofs_note) {
        (void)fprintf(out, "  note     %s\n", s->roofs_note);
    }
}

static void row_name(char *dst, size_t size, const struct carm_dwarf_item *item)
{
    char edge[24] = "";
    if (item->kernel == CARM_DWARF_FFT) {
        (void)snprintf(edge, sizeof edge, " %zu^3", item->n);
    }
    (void)snprintf(dst, size, "%s%s %s", carm_dwarf_titles[item->kernel], edge,
                   item->optimised ? "optimised" : "plain");
}

/* ---- times ----------------------------------------------------------------------------------- */

static void print_times(FILE *out, const struct carm_dwarf_study *s)
{
    bool disturbed = false;
    (void)fprintf(out, "\n  %-23s %-40s %9s %14s %9s %8s\n", "kernel", "size", "time", "spread",
                  "G/s", "error");
    for (size_t i = 0; i < s->nitems; i++) {
        const struct carm_dwarf_item *item = &s->items[i];
        const struct carm_dwarf_point *p = &item->point;
        char name[64], size[64], spread[32] = "1 run", error[16] = "none";
        if (!p->known) {
            continue;
        }
        row_name(name, sizeof name, item);
        if (p->times.reps > 1) {
            (void)snprintf(spread, sizeof spread, "%+.1f%% %+.1f%%",
                           100.0 * (p->times.fastest / p->times.seconds - 1.0),
                           100.0 * (p->times.slowest / p->times.seconds - 1.0));
        }
        disturbed = disturbed || p->times.disturbed;
        if (p->error > 0.0) {
            (void)snprintf(error, sizeof error, "%.1e", p->error);
        }
        (void)fprintf(out, "  %-23s %-40.40s %6.4g ms %14s %7.4g %s %8s%s\n", name,
                      carm_text_clean(size, sizeof size, p->size, false), p->times.seconds * 1e3,
                      spread, p->work.operations / p->times.seconds * 1e-9,
                      item->kernel == CARM_DWARF_TRANSPOSE ? "x" : "f", error,
                      p->times.disturbed ? "*" : "");
    }
    (void)fprintf(out,
                  "  f = flop, x = exchange; error: largest difference over the largest value\n");
    if (disturbed) {
        (void)fprintf(out, "  * disturbed: other programs took the processors meanwhile; try again "
                           "on a quieter machine\n");
    }
}

/* ---- places ---------------------------------------------------------------------------------- */

char *carm_dwarf_side_text(char *dst, size_t size, const struct carm_ceilings *ceilings,
                           const struct carm_ceiling_around *side)
{
    if (!side->known) {
        (void)snprintf(dst, size, "-");
        return dst;
    }
    const struct carm_ceiling *ceiling =
        side->compute ? &ceilings->compute[side->index] : &ceilings->memory[side->index];
    (void)snprintf(dst, size, "%.20s %.3g %s", ceiling->name, ceiling->rate * 1e-9,
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
        (void)snprintf(dst, size, "(%.3g..%.3g)", low, high);
    } else {
        (void)snprintf(dst, size, "(%.3g)", high);
    }
}

static void print_places(FILE *out, const struct carm_dwarf_study *s)
{
    (void)fprintf(out, "\n  %-23s %-18s  %s\n", "", "cache-aware model", "original model");
    (void)fprintf(out, "  %-23s %8s %9s   %7s  %-12s %8s %9s\n", "kernel", "flop/B", "roof", "op/B",
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
        (void)fprintf(out, "  %-23s ", name);
        if (p->has_aware) {
            (void)fprintf(out, "%8.4g %8.1f%%", p->aware.intensity, 100.0 * p->aware.share);
        } else {
            (void)fprintf(out, "%8s %9s", "-", "-");
        }
        printed_text(printed, sizeof printed, s->printed[item->kernel].low,
                     s->printed[item->kernel].high);
        (void)fprintf(out, "   %7.3g  %-12s %8.1f", p->work.operations / dram, printed,
                      dram / p->times.seconds * 1e-9);
        if (p->has_original) {
            (void)fprintf(out, " %8.1f%%\n", 100.0 * p->original.share);
        } else {
            (void)fprintf(out, " %9s\n", "-");
        }
    }
}

/* Table 4. */
static void print_sandwiches(FILE *out, const struct carm_dwarf_study *s)
{
    (void)fprintf(
        out, "\n  As table 4 of the paper: ceilings next above and below on the original model\n");
    (void)fprintf(out, "  %-23s %-32s %-32s %s\n", "kernel", "upper ceiling", "lower ceiling",
                  "limited by");
    for (size_t i = 0; i < s->nitems; i++) {
        const struct carm_dwarf_item *item = &s->items[i];
        const struct carm_dwarf_point *p = &item->point;
        const struct carm_ceilings *ceilings = carm_dwarf_ceilings(s, item->kernel);
        char name[64], upper[64], lower[64];
        if (!p->known || !p->has_sandwich) {
            continue;
        }
        row_name(name, sizeof name, item);
        (void)fprintf(out, "  %-23s %-32s %-32s %s\n", name,
                      carm_dwarf_side_text(upper, sizeof upper, ceilings, &p->upper),
                      carm_dwarf_side_text(lower, sizeof lower, ceilings, &p->lower), limit_of(p));
    }
}

/* ---- facts ----------------------------------------------------------------------------------- */

/* What the optimised version does better, and whether it lies inside its sandwich. */
static void print_facts(FILE *out, const struct carm_dwarf_study *s)
{
    size_t inside = 0, n = 0, memory = 0;
    (void)fputc('\n', out);
    for (size_t i = 0; i + 1 < s->nitems; i++) {
        const struct carm_dwarf_item *plain = &s->items[i];
        const struct carm_dwarf_item *better = &s->items[i + 1];
        if (plain->kernel == better->kernel && plain->n == better->n && plain->point.known &&
            better->point.known) {
            (void)fprintf(out, "  - %s: optimised is %.3g times as fast as plain.\n",
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
        (void)fprintf(out,
                      "  - Upper and lower ceilings bound %zu of %zu optimised versions; memory "
                      "limits %zu of them.\n",
                      inside, n, memory);
    }
    if (inside < n) {
        (void)fprintf(out, "    One above the roof moved fewer bytes than compulsory ones (a cache "
                           "kept some),\n    or memory was faster than when the roofs were "
                           "measured.\n");
    }
}

/* Advice that can give less is left out. */
static const double worth_saying = 1.05;

/* ---- caches ---------------------------------------------------------------------------------- */

/* What avoiding traffic can give at most. */
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
    char bytes[CARM_TEXT_NUMBER_MAX];
    if (!has_misses(s)) {
        return;
    }
    (void)fprintf(out, "\n  The three Cs of a modest size, one thread, by simulation (LRU, ");
    for (size_t i = 0; i < s->ncaches; i++) {
        (void)fprintf(out, "%s%s %u-way", i ? ", " : "",
                      carm_text_bytes(bytes, sizeof bytes, s->caches[i].size_bytes),
                      s->caches[i].ways);
    }
    (void)fprintf(out, "%s%s)\n  %-23s %-24s %10s %10s %10s %10s   %8s %9s %9s\n",
                  *s->caches_note ? "; " : "", s->caches_note, "kernel", "size", "compulsory",
                  "capacity", "conflict", "past them", "op/B now", "no confl.", "compuls.");
    for (size_t i = 0; i < s->nitems; i++) {
        const struct carm_dwarf_misses *m = &s->items[i].misses;
        char name[64], size[64];
        row_name(name, sizeof name, &s->items[i]);
        if (m->known) {
            (void)fprintf(
                out, "  %-23s %-24.24s %9.1f%% %9.1f%% %9.1f%% %9.1f%%   %8.4g %9.4g %9.4g\n", name,
                carm_text_clean(size, sizeof size, m->size, false), 100.0 * m->cs.share[0],
                100.0 * m->cs.share[1], 100.0 * m->cs.share[2],
                100.0 * m->cs.nontemporal / m->cs.steps[CARM_STEP_NOW].bytes,
                m->cs.steps[CARM_STEP_NOW].intensity, m->cs.steps[CARM_STEP_NO_CONFLICT].intensity,
                m->cs.steps[CARM_STEP_COMPULSORY].intensity);
        } else if (*m->lacks) {
            (void)fprintf(out, "  %-23s not simulated: %s\n", name, m->lacks);
        }
    }
    for (size_t i = 0; i < s->nitems; i++) {
        const struct carm_dwarf_misses *m = &s->items[i].misses;
        if (m->known && most_to_gain(&m->cs) >= worth_saying) {
            (void)fprintf(out, "    %s %s: %s\n", carm_dwarf_titles[s->items[i].kernel],
                          s->items[i].optimised ? "optimised" : "plain", m->cs.advice);
        }
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

void carm_dwarf_study_print(FILE *out, const struct carm_dwarf_study *s)
{
    print_head(out, s);
    print_times(out, s);
    print_places(out, s);
    print_sandwiches(out, s);
    print_facts(out, s);
    print_misses(out, s);
    (void)fputc('\n', out);
    for (size_t i = 0; i < s->nitems; i++) {
        const struct carm_dwarf_item *item = &s->items[i];
        if (item->point.known && *item->point.work.core_note) {
            (void)fprintf(out, "  %s: %s; compared with %s\n", item->name,
                          item->point.work.core_note, item->point.checked_by);
        } else if (*item->left_out) {
            (void)fprintf(out, "  left out: %s: %s\n", item->name, item->left_out);
        }
    }
    if (s->kept) {
        (void)fprintf(out, "  kept: %zu points of an earlier run\n", s->kept);
    }
    (void)fprintf(out, "  measured in %.1f s\n", s->seconds);
}
