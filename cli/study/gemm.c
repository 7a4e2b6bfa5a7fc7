/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/text.h"
#include "cli/study/output.h"
#include "kernels/gemm/study.h"

enum { BEST_VARIANTS = 5 };

/* ---- head ---- */

static void print_notes(FILE *out, const struct carm_gemm_study *s)
{
    if (*s->base.dram_lacks) {
        fprintf(out, "  note     DRAM bytes are not counted: %.*s\n",
                (int)strcspn(s->base.dram_lacks, ";"), s->base.dram_lacks);
    }
    if (*s->base.roofs_note) {
        fprintf(out, "  note     %s\n", s->base.roofs_note);
    }
}

static void print_narrow_how(FILE *out, const struct carm_gemm_study *s)
{
    fprintf(out,
            "  problem  C = A x B, %s, %zu x %zu, %d thread%s\n"
            "  library  %s; ISA that it chose: %s\n"
            "  roofs    %.16s %.16s, %d thread%s, loads to stores %s\n"
            "  counted  %s: constructed, 2 n^3; bytes: stepped; DRAM bytes: %s\n",
            s->precision == CARM_INT8 ? "uint8 by int8, summed in int32" : "bf16, summed in sp",
            s->n, s->n, s->base.threads, s->base.threads == 1 ? "" : "s", s->narrow.library,
            s->narrow.library_isa, s->base.roofs->isa, s->base.roofs->precision,
            s->base.roofs->threads, s->base.roofs->threads == 1 ? "" : "s",
            s->base.model->config.ldst, s->precision == CARM_INT8 ? "operations" : "flops",
            *s->base.dram_lacks ? "the least that any product moves"
                                : "by the memory controllers' counters");
    print_notes(out, s);
}

/* Prints the answer: the fastest step, and its share of the peak. */
static void print_answer(FILE *out, const struct carm_gemm_study *s)
{
    char host[CARM_TEXT_MAX], cpu[CARM_TEXT_MAX], rate[CARM_TEXT_NUMBER_MAX];
    const struct carm_model *m = s->base.model;
    const struct carm_gemm_point *best = NULL, *basic = &s->steps[0];
    for (int i = 0; i < CARM_GEMM_STEPS; i++) {
        const struct carm_gemm_point *p = &s->steps[i];
        if (p->known && (!best || carm_gemm_performance(p) > carm_gemm_performance(best))) {
            best = p;
        }
    }
    fprintf(out, "Matrix multiplication on %s (%s)",
            carm_text_clean(host, sizeof host, carm_machine_host(&m->machine), false),
            carm_text_clean(cpu, sizeof cpu, m->machine.cpu, false));
    if (best) {
        fprintf(out, ": %s reaches %s", best->what,
                carm_text_si(rate, sizeof rate, carm_gemm_performance(best),
                             carm_precision_rate(carm_precision_name(s->precision))));
    }
    if (best && best->has_aware) {
        fprintf(out, ", %.0f%% of its cache-aware roof", 100.0 * best->aware.share);
    }
    if (best && basic->known && best != basic) {
        fprintf(out, ", %.3gx the %s version",
                carm_gemm_performance(best) / carm_gemm_performance(basic), basic->what);
    }
    fputs(".\n", out);
}

static void print_how(FILE *out, const struct carm_gemm_study *s)
{
    char l1[CARM_TEXT_NUMBER_MAX], l2[CARM_TEXT_NUMBER_MAX], l3[CARM_TEXT_NUMBER_MAX];
    const struct carm_model *m = s->base.model;
    fputs("\nHow it was measured\n", out);
    if (s->precision != CARM_DP) {
        print_narrow_how(out, s);
        return;
    }
    fprintf(
        out,
        "  problem  C = A x B, double precision, %zu x %zu, %d thread%s with rows of C each\n"
        "  kernel   tiles of 3 x 4 dot products, %s; step 1: %s\n"
        "  roofs    %.16s %.16s, %d thread%s, loads to stores %s\n"
        "  blocks   fill 3/4 of what a thread has of a level: L1 %s, L2 %s, L3 %s\n"
        "  counted  flops and bytes: constructed, by the kernels' loops; DRAM bytes: %s %s\n",
        s->n, s->n, s->base.threads, s->base.threads == 1 ? "" : "s", s->kernels.vector->name,
        s->kernels.strided->name, s->base.roofs->isa, s->base.roofs->precision,
        s->base.roofs->threads, s->base.roofs->threads == 1 ? "" : "s", m->config.ldst,
        carm_text_bytes(l1, sizeof l1, (uint64_t)s->caches.l1),
        carm_text_bytes(l2, sizeof l2, (uint64_t)s->caches.l2),
        carm_text_bytes(l3, sizeof l3, (uint64_t)s->caches.l3),
        *s->base.dram_lacks ? "simulated;" : "by the memory",
        *s->base.dram_lacks
            ? "of a library, the least that any moves"
            : "controllers' counters, of whole sockets: other programs count, too; else simulated");
    if (s->hierarchy.nlevels) {
        fprintf(out, "  caches   simulated: %s\n", s->hierarchy_text);
    }
    print_notes(out, s);
}

/* ---- tables ---- */

/* "3 blocked for L3"; libraries are step 6. */
static void step_text(char *dst, size_t size, int step, const char *what)
{
    snprintf(dst, size, "%d %.40s", step < CARM_GEMM_VERSIONS ? step + 1 : 6, what);
}

/* "flop", "op" */
static const char *unit(const struct carm_gemm_study *s)
{
    return carm_precision_operation(carm_precision_name(s->precision));
}

static void print_times(FILE *out, const struct carm_gemm_study *s)
{
    char rate[16];
    snprintf(rate, sizeof rate, "G%s/s", unit(s));
    bool slab = false, disturbed = false;
    fprintf(out, "\n  %-21s %11s %15s %8s\n", "step", "time", "spread", rate);
    for (int i = 0; i < CARM_GEMM_STEPS; i++) {
        const struct carm_gemm_point *p = &s->steps[i];
        char step[64], time[16], spread[32] = "1 run";
        if (!p->known) {
            continue;
        }
        const bool part = p->rows < s->n;
        const double whole = p->seconds * (double)s->n / (double)p->rows;
        slab = slab || part;
        step_text(step, sizeof step, i, p->what);
        if (p->reps > 1) {
            snprintf(spread, sizeof spread, "%+.1f%% %+.1f%%",
                     100.0 * (p->fastest / p->seconds - 1.0),
                     100.0 * (p->slowest / p->seconds - 1.0));
        }
        disturbed = disturbed || p->disturbed;
        snprintf(time, sizeof time,
                 whole < 0.01     ? "%.2g"
                 : whole < 9.9995 ? "%.3f"
                                  : "%.1f",
                 whole);
        fprintf(out, "  %-21s %c%8s s %15s %8.4g%s\n", step, part ? '~' : ' ', time, spread,
                carm_gemm_performance(p) * 1e-9, p->disturbed ? "*" : "");
    }
    for (int i = 0; i < CARM_GEMM_STEPS && slab; i++) {
        const struct carm_gemm_point *p = &s->steps[i];
        if (p->known && p->rows < s->n) {
            fprintf(out, "  ~ %s: measured on %zu of %zu rows of C (%.3g s), time scaled\n",
                    p->what, p->rows, s->n, p->seconds);
        }
    }
    if (disturbed) {
        fprintf(out, "  * disturbed: other programs took the processors meanwhile; try again on a "
                     "quieter machine\n");
    }
}

/* Prints the block sizes of each step with blocks. */
static void print_blocks(FILE *out, const struct carm_gemm_study *s)
{
    for (int i = 0; i < CARM_GEMM_STEPS; i++) {
        const struct carm_gemm_point *p = &s->steps[i];
        char step[64];
        if (p->known && strcmp(p->blocks, "-") != 0) {
            step_text(step, sizeof step, i, p->what);
            fprintf(out, "  blocks   of %s, rows x columns x depth: %s\n", step, p->blocks);
        }
    }
}

/* "DRAM 16.6 - L3 85.2": the ceilings below and above a point, with the performance that they allow
 * at its intensity. */
static void between(char *dst, size_t size, const struct carm_place *p)
{
    const struct carm_ceiling *below = p->below >= 0 ? &p->ceilings[p->below] : NULL;
    const struct carm_ceiling *above = p->above >= 0 ? &p->ceilings[p->above] : NULL;
    if (!above || p->over) {
        snprintf(dst, size, "over the roof");
    } else if (!below) {
        snprintf(dst, size, "below %.20s %.3g", above->name, above->at * 1e-9);
    } else {
        snprintf(dst, size, "%.20s %.3g - %.20s %.3g", below->name, below->at * 1e-9, above->name,
                 above->at * 1e-9);
    }
}

/* Prints the steps' places on one model. */
static void print_places(FILE *out, const struct carm_gemm_study *s, bool original)
{
    char intensity[16], rate[32], where[64];
    snprintf(intensity, sizeof intensity, "%s/B", unit(s));
    snprintf(rate, sizeof rate, "between, G%s/s", unit(s));
    fprintf(out, "\n  %-21s %9s %7s  %s\n",
            original ? "original model (DRAM)" : "cache-aware model", intensity, "of roof", rate);
    for (int i = 0; i < CARM_GEMM_STEPS; i++) {
        const struct carm_gemm_point *p = &s->steps[i];
        const struct carm_place *place = original ? &p->original : &p->aware;
        char step[64];
        if (!p->known) {
            continue;
        }
        step_text(step, sizeof step, i, p->what);
        if (original ? p->has_original : p->has_aware) {
            between(where, sizeof where, place);
            fprintf(out, "  %-21s %9.4g %6.1f%%  %s\n", step, place->intensity,
                    100.0 * place->share, where);
        } else {
            fprintf(out, "  %-21s %9s %7s  -\n", step, "-", "-");
        }
    }
}

/* ---- facts ---- */

static const char *verdict(bool is)
{
    return is ? "true" : "not so";
}

static void print_rise(FILE *out, const struct carm_gemm_facts *f)
{
    fprintf(out, "  - Performance rises or holds from step to step: %s here", verdict(f->rises));
    if (f->falls_at) {
        fprintf(out, ", step %d falls", f->falls_at);
    }
    const char *before = " (";
    for (int i = 1; i < CARM_GEMM_STEPS; i++) {
        if (f->steps_up[i] > 0.0) {
            fprintf(out, "%s%.3gx", before, f->steps_up[i]);
            before = ", ";
        }
    }
    fprintf(out, "%s.\n", *before == ',' ? ")" : "");
}

static void print_intensity(FILE *out, const struct carm_gemm_facts *f)
{
    if (f->intensity_high > 0.0) {
        fprintf(out,
                "  - On the cache-aware model steps 1 to 5 share one intensity, %.4g to %.4g "
                "flop/byte: largest deviation %.2g%% from the tile's %.4g. Flops beyond "
                "2 n^3 (lanes added up, padding): at most %.2g%%.\n",
                f->intensity_low, f->intensity_high, 100.0 * f->deviation, f->tile_intensity,
                100.0 * f->extra_flops);
        fprintf(out,
                "  - On the original model their intensity moves by a factor of %.3g, from "
                "%.3g to %.3g.\n",
                f->dram_high / f->dram_low, f->dram_low, f->dram_high);
    }
}

static void print_blocked(FILE *out, const struct carm_gemm_facts *f)
{
    for (int i = 0; i < 3; i++) {
        char ceiling[CARM_TEXT_NUMBER_MAX];
        if (f->blocked[i].known) {
            fprintf(out, "  - Step %d lies at or below what %s allows: %s here, %.0f%% of %s.\n",
                    i + 3, f->blocked[i].level, verdict(f->blocked[i].holds),
                    100.0 * f->blocked[i].share,
                    carm_text_si(ceiling, sizeof ceiling, f->blocked[i].ceiling, "flop/s"));
        }
    }
}

/* Prints, for each model, the side of the ridge on which the first steps are. */
static void print_first_steps(FILE *out, const struct carm_gemm_study *s,
                              const struct carm_gemm_facts *f)
{
    const struct carm_gemm_point *one = &s->steps[0];
    const struct carm_gemm_point *two = &s->steps[1];
    if (one->has_aware && one->has_original) {
        fprintf(out,
                "  - Step 1 lies %s of the ridge of the cache-aware model (%s region) and %s of "
                "that of the original one (%s region)",
                f->aware_compute ? "right" : "left", f->aware_compute ? "compute" : "memory",
                f->original_compute ? "right" : "left", f->original_compute ? "compute" : "memory");
        fprintf(out, two->has_original ? ", whose roof step 2 reaches to %.0f%%.\n" : ".\n",
                100.0 * two->original.share);
    }
}

static void print_facts(FILE *out, const struct carm_gemm_study *s)
{
    struct carm_gemm_facts f;
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX];
    carm_gemm_facts(s, &f);
    fputc('\n', out);
    print_rise(out, &f);
    print_intensity(out, &f);
    print_blocked(out, &f);
    print_first_steps(out, s, &f);
    if (f.library >= 0) {
        fprintf(out, "  - %s reaches %.2f of the measured peak of %s.\n", s->steps[f.library].what,
                f.library_share, carm_text_si(a, sizeof a, f.peak, "flop/s"));
    }
    if (f.dram_peak > 0.0 && f.dram_implied > 1.03 * f.dram_peak) {
        fprintf(out,
                "  - The DRAM bytes of step %d are simulated too high: they would need %s of "
                "the measured %s.\n",
                f.dram_implied_by, carm_text_si(a, sizeof a, f.dram_implied, "B/s"),
                carm_text_si(b, sizeof b, f.dram_peak, "B/s"));
    }
}

/* ---- int8 and bf16 ---- */

/* Prints why a library is below its roof: its instructions, and the load of the units. */
static void print_uses(FILE *out, const struct carm_gemm_study *s,
                       const struct carm_gemm_narrow_facts *f)
{
    const struct carm_gemm_point *p = &s->steps[CARM_GEMM_LIBRARY];
    const struct carm_gemm_narrow *narrow = &s->narrow;
    if (!narrow->has_dot) {
        fprintf(
            out,
            "    This CPU has no %s dot product: the roof is that of %.16s, and each product with "
            "its sum takes several instructions.\n",
            carm_precision_name(s->precision), f->peak->op);
    } else if (*p->isa && strcmp(p->isa, f->peak_isa) != 0) {
        fprintf(out, "    The roof is that of %.16s, the library's vectors are %s.\n", f->peak_isa,
                p->isa);
    }
    if (!narrow->counted) {
        fprintf(out, "    The library's instructions are not known: %s.\n", p->detail);
        return;
    }
    fprintf(out, "    It executes %.3g instructions, %.0f%% of them on vectors or tiles.",
            narrow->instructions, 100.0 * narrow->vectors / narrow->instructions);
    if (f->beside > 0.0) {
        fprintf(out, " These do %.3g operations for each of the product: %.4g Gop/s in all.",
                f->beside, f->beside * carm_gemm_performance(p) * 1e-9);
    }
    fputs("\n", out);
    for (size_t i = 0; i < f->nuses; i++) {
        fprintf(out, "%s      %3.0f%%  %-17s %s\n",
                i ? "" : "    Each of these alone takes so much of its time, at least:\n",
                100.0 * f->uses[i].share, f->uses[i].what, f->uses[i].how);
    }
    if (f->nuses) {
        fprintf(
            out,
            "    At %.3g GHz, the clock beside the roofs. What the largest leaves is waiting: for "
            "results, caches, other threads.\n",
            s->base.roofs->clock_hz * 1e-9);
    }
}

static void print_narrow_facts(FILE *out, const struct carm_gemm_study *s)
{
    const char *precision = carm_precision_name(s->precision);
    char peak[CARM_TEXT_NUMBER_MAX];
    struct carm_gemm_narrow_facts f;
    carm_gemm_narrow_facts(s, &f);
    fprintf(out, "\n  - %s reaches %.0f%% of the highest %s roof, %.16s of %.16s with %s.\n",
            s->narrow.library, 100.0 * f.share, precision, f.peak->op, f.peak_isa,
            carm_text_si(peak, sizeof peak, f.peak->rate, carm_precision_rate(precision)));
    if (!f.enough) {
        fprintf(out, "  - A library should reach %.0f%%. Why this one does not:\n",
                100.0 * CARM_GEMM_ENOUGH);
        print_uses(out, s, &f);
    }
}

/* ---- variants ---- */

struct variant {
    const struct carm_gemm_point *point;
};

static int by_performance(const void *a, const void *b)
{
    const double x = carm_gemm_performance(((const struct variant *)a)->point);
    const double y = carm_gemm_performance(((const struct variant *)b)->point);
    return (x < y) - (x > y);
}

static void print_variants(FILE *out, const struct carm_gemm_study *s)
{
    struct variant *known = calloc(s->nvariants + 1, sizeof *known);
    size_t n = 0;
    double lo = INFINITY, hi = 0.0, dram_lo = INFINITY, dram_hi = 0.0;
    for (size_t i = 0; known && i < s->nvariants; i++) {
        const struct carm_gemm_point *p = &s->variants[i];
        if (p->known) {
            known[n++].point = p;
            lo = fmin(lo, p->flops / p->bytes);
            hi = fmax(hi, p->flops / p->bytes);
            dram_lo = fmin(dram_lo, p->dram_bytes > 0.0 ? p->flops / p->dram_bytes : NAN);
            dram_hi = fmax(dram_hi, p->dram_bytes > 0.0 ? p->flops / p->dram_bytes : NAN);
        }
    }
    if (n > 0) {
        qsort(known, n, sizeof *known, by_performance);
        fprintf(out,
                "\n  %zu variants: %.3g to %.3g Gflop/s. Intensity %.4g to %.4g flop/byte on "
                "the cache-aware\n  model (%.2g%%), %.3g to %.3g on the original one "
                "(%.3g-fold). The best and the last:\n",
                n, carm_gemm_performance(known[n - 1].point) * 1e-9,
                carm_gemm_performance(known[0].point) * 1e-9, lo, hi, 100.0 * (hi / lo - 1.0),
                dram_lo, dram_hi, dram_hi / dram_lo);
    }
    for (size_t i = 0; i < n; i++) {
        if (i < BEST_VARIANTS || i + 1 == n) {
            fprintf(out, "  %7.4g Gflop/s  %-32s %s\n",
                    carm_gemm_performance(known[i].point) * 1e-9, known[i].point->what,
                    known[i].point->blocks);
        }
    }
    free(known);
}

/* ---- the whole output ---- */

static void print_foot(FILE *out, const struct carm_gemm_study *s)
{
    double error = 0.0;
    for (int i = 0; i < CARM_GEMM_STEPS; i++) {
        const struct carm_gemm_point *p = &s->steps[i];
        error = p->known ? fmax(error, p->error) : error;
        if (p->known && *p->detail) {
            fprintf(out, "  %s: %s\n", p->what, p->detail);
        }
        /* one library is enough; others are named only if the first is missing */
        if (!p->known && *s->left_out[i] &&
            (i <= CARM_GEMM_LIBRARY || !s->steps[CARM_GEMM_LIBRARY].known)) {
            fprintf(out, "  left out: step %d: %s\n", i < CARM_GEMM_VERSIONS ? i + 1 : 6,
                    s->left_out[i]);
        }
    }
    if (s->late) {
        fprintf(out, "  left out: %zu variants: %s\n", s->late, CARM_STUDY_LATE);
    }
    for (size_t i = 0; i < s->nvariants; i++) {
        error = s->variants[i].known ? fmax(error, s->variants[i].error) : error;
    }
    if (*s->reference) {
        fprintf(out,
                "  results: compared with %s, largest difference %.2g of the largest "
                "element\n",
                s->reference, error);
    }
    if (s->base.kept) {
        fprintf(out, "  kept: %zu points of an earlier run\n", s->base.kept);
    }
    fprintf(out, "  measured in %.1f s\n", s->base.seconds);
}

void carm_gemm_print(FILE *out, const struct carm_study *of)
{
    const struct carm_gemm_study *s = (const struct carm_gemm_study *)of;
    print_answer(out, s);
    print_times(out, s);
    print_places(out, s, false);
    print_places(out, s, true);
    if (s->precision == CARM_DP) {
        print_facts(out, s);
    } else if (s->steps[CARM_GEMM_LIBRARY].known) {
        print_narrow_facts(out, s);
    }
    print_variants(out, s);
    print_how(out, s);
    print_blocks(out, s);
    print_foot(out, s);
}

/* ---- JSON ---- */

/* A point of the study, collected before writing. */
struct item {
    const struct carm_gemm_point *point;
};

static json_t *point_json(const void *items, size_t i)
{
    const struct carm_gemm_point *p = ((const struct item *)items)[i].point;
    json_t *o = json_object();
    bool ok =
        carm_jwrite_text(o, "name", p->name) && carm_jwrite_text(o, "what", p->what) &&
        carm_jwrite_text(o, "blocks", p->blocks) && carm_jwrite_text_or_null(o, "isa", p->isa) &&
        carm_jwrite_number(o, "flops", p->flops) &&
        carm_jwrite_value(o, "bytes", p->bytes > 0.0 ? json_real(p->bytes) : json_null()) &&
        carm_jwrite_text(o, "bytes_counted_by",
                         carm_counted_name(p->bytes > 0.0 ? p->bytes_by : CARM_COUNTED_NOT)) &&
        carm_jwrite_number(o, "dram_bytes", p->dram_bytes) &&
        carm_jwrite_interval(o, "dram_bytes_ci95", (struct carm_ci){p->dram_low, p->dram_high}) &&
        carm_jwrite_text(o, "dram_bytes_counted_by", carm_counted_name(p->dram_by)) &&
        carm_jwrite_number(o, "seconds", p->seconds) &&
        carm_jwrite_number(o, "fastest", p->fastest) &&
        carm_jwrite_number(o, "slowest", p->slowest) && carm_jwrite_int(o, "runs", p->reps) &&
        carm_jwrite_count(o, "rows", p->rows) && carm_jwrite_number(o, "error", p->error) &&
        carm_jwrite_bool(o, "disturbed", p->disturbed) && carm_jwrite_bool(o, "kept", p->kept) &&
        carm_jwrite_text_or_null(o, "note", p->detail);
    ok = ok && carm_jwrite_value(o, "cache_aware",
                                 carm_study_place_json(p->has_aware ? &p->aware : NULL));
    ok = ok && carm_jwrite_value(o, "original",
                                 carm_study_place_json(p->has_original ? &p->original : NULL));
    return carm_jwrite_done(o, ok);
}

static json_t *narrow_json(const struct carm_gemm_study *s)
{
    const struct carm_gemm_narrow *narrow = &s->narrow;
    struct carm_gemm_narrow_facts f;
    json_t *o = json_object();
    json_t *uses = json_array();
    carm_gemm_narrow_facts(s, &f);
    bool ok = true;
    for (size_t i = 0; i < f.nuses; i++) {
        json_t *use = json_object();
        const bool one = carm_jwrite_text(use, "what", f.uses[i].what) &&
                         carm_jwrite_number(use, "share", f.uses[i].share) &&
                         carm_jwrite_text(use, "note", f.uses[i].how);
        ok = json_array_append_new(uses, carm_jwrite_done(use, one)) == 0 && ok;
    }
    ok = carm_jwrite_value(o, "uses", uses) && ok &&
         carm_jwrite_text(o, "library", narrow->library) &&
         carm_jwrite_text(o, "library_isa", narrow->library_isa) &&
         carm_jwrite_bool(o, "dot_products", narrow->has_dot) &&
         carm_jwrite_number(o, "peak", f.peak ? f.peak->rate : 0.0) &&
         carm_jwrite_text(o, "peak_op", f.peak ? f.peak->op : "") &&
         carm_jwrite_text(o, "peak_isa", f.peak_isa) &&
         carm_jwrite_number(o, "library_share", f.share) &&
         carm_jwrite_bool(o, "enough", f.enough) &&
         carm_jwrite_value(o, "instructions",
                           narrow->counted ? json_real(narrow->instructions) : json_null()) &&
         carm_jwrite_value(o, "vector_instructions",
                           narrow->counted ? json_real(narrow->vectors) : json_null());
    return carm_jwrite_done(o, ok);
}

static json_t *facts_json(const struct carm_gemm_study *s)
{
    struct carm_gemm_facts f;
    json_t *o = json_object();
    json_t *blocked = json_array();
    carm_gemm_facts(s, &f);
    bool ok = true;
    for (int i = 0; i < 3; i++) {
        if (!f.blocked[i].known) {
            continue;
        }
        json_t *b = json_object();
        const bool one = carm_jwrite_int(b, "step", i + 3) &&
                         carm_jwrite_text(b, "level", f.blocked[i].level) &&
                         carm_jwrite_number(b, "ceiling", f.blocked[i].ceiling) &&
                         carm_jwrite_number(b, "share", f.blocked[i].share) &&
                         carm_jwrite_bool(b, "at_or_below", f.blocked[i].holds);
        ok = json_array_append_new(blocked, carm_jwrite_done(b, one)) == 0 && ok;
    }
    ok = carm_jwrite_value(o, "blocked", blocked) && ok && carm_jwrite_bool(o, "rises", f.rises) &&
         carm_jwrite_number(o, "tile_intensity", f.tile_intensity) &&
         carm_jwrite_number(o, "intensity_low", f.intensity_low) &&
         carm_jwrite_number(o, "intensity_high", f.intensity_high) &&
         carm_jwrite_number(o, "intensity_deviation", f.deviation) &&
         carm_jwrite_number(o, "original_intensity_low", f.dram_low) &&
         carm_jwrite_number(o, "original_intensity_high", f.dram_high) &&
         carm_jwrite_bool(o, "step_1_compute_region", f.aware_compute) &&
         carm_jwrite_bool(o, "step_1_compute_region_original", f.original_compute) &&
         carm_jwrite_number(o, "peak", f.peak) &&
         carm_jwrite_value(o, "library_share",
                           f.library >= 0 ? json_real(f.library_share) : json_null());
    return carm_jwrite_done(o, ok);
}

json_t *carm_gemm_json(const struct carm_study *of)
{
    const struct carm_gemm_study *s = (const struct carm_gemm_study *)of;
    struct item *points = calloc(CARM_GEMM_STEPS + s->nvariants, sizeof *points);
    size_t n = 0;
    size_t steps = 0;
    for (int i = 0; points && i < CARM_GEMM_STEPS; i++) {
        if (s->steps[i].known) {
            points[n++].point = &s->steps[i];
        }
    }
    steps = n;
    for (size_t i = 0; points && i < s->nvariants; i++) {
        if (s->variants[i].known) {
            points[n++].point = &s->variants[i];
        }
    }
    json_t *o = json_object();
    const bool ok =
        points && carm_jwrite_text(o, "study", "gemm") &&
        carm_jwrite_text(o, "host", s->base.model->machine.hostname) &&
        carm_jwrite_text(o, "cpu", s->base.model->machine.cpu) && carm_jwrite_count(o, "n", s->n) &&
        carm_jwrite_int(o, "threads", s->base.threads) &&
        carm_jwrite_text(o, "precision", carm_precision_name(s->precision)) &&
        carm_jwrite_text_or_null(o, "kernel", s->kernels.vector ? s->kernels.vector->name : "") &&
        carm_jwrite_text(o, "roofs_isa", s->base.roofs->isa) &&
        carm_jwrite_int(o, "roofs_threads", s->base.roofs->threads) &&
        carm_jwrite_text_or_null(o, "note", s->base.roofs_note) &&
        carm_jwrite_text_or_null(o, "compared_with", s->reference) &&
        carm_jwrite_bool(o, "interrupted", s->base.interrupted) &&
        carm_jwrite_array(o, "steps", points, steps, point_json) &&
        carm_jwrite_array(o, "variants", points + steps, n - steps, point_json) &&
        carm_jwrite_value(o, "facts", s->precision == CARM_DP ? facts_json(s) : narrow_json(s)) &&
        carm_jwrite_number(o, "seconds", s->base.seconds);
    free(points);
    return carm_jwrite_done(o, ok);
}
