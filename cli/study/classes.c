/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json_write.h"
#include "base/text.h"
#include "cli/study/output.h"
#include "kernels/classes/study.h"

/* An intensity as "1/64", "16" or "0.0156". returns dst */
static char *intensity_text(char *dst, size_t size, double v)
{
    const double inverse = round(1.0 / v);
    if (v < 1.0 && fabs(v * inverse - 1.0) < 1e-6) {
        snprintf(dst, size, "1/%.0f", inverse);
    } else {
        snprintf(dst, size, v >= 1e3 && v < 1e6 ? "%.0f" : "%.4g", v);
    }
    return dst;
}

static const char *level_name(const struct carm_classes *study, size_t level)
{
    return study->base.model->levels[level].level;
}

/* "611 ns", "5.42 us", "30.1 ms", "9.3 s" */
static char *time_text(char *dst, size_t size, double seconds)
{
    const double ns = seconds * 1e9;
    const double v = ns < 1e3 ? ns : ns < 1e6 ? ns * 1e-3 : ns < 1e9 ? ns * 1e-6 : seconds;
    snprintf(dst, size, "%.*f %s",
             v < 9.995   ? 2
             : v < 99.95 ? 1
                         : 0,
             v,
             ns < 1e3   ? "ns"
             : ns < 1e6 ? "us"
             : ns < 1e9 ? "ms"
                        : "s");
    return dst;
}

static void print_class(FILE *out, const struct carm_classes *study, size_t c)
{
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX], i[CARM_TEXT_NUMBER_MAX];
    const struct carm_classes_side *s = &study->sides[c];
    const struct carm_class *class = &carm_classes[c];
    fprintf(out, "  %-8s %s, %" PRIu64 " flops an iteration, %s flop/byte; data in %s\n",
            class->name, carm_text_bytes(a, sizeof a, class->bytes), class->flops,
            intensity_text(i, sizeof i, (double)class->flops / (double)class->bytes),
            level_name(study, s->home));
    if (s->plan.wanted != class->bytes) {
        fprintf(out,
                "           enlarged to %s a thread: %s a thread would not leave %s, which "
                "holds %s\n",
                carm_text_bytes(a, sizeof a, s->plan.wanted),
                carm_text_bytes(i, sizeof i, class->bytes), study->last_cache,
                carm_text_bytes(b, sizeof b, study->last_cache_bytes));
    }
    if (!carm_class_exact(&s->plan)) {
        fprintf(out,
                "           here %" PRIu64 " bytes and %" PRIu64
                " flops: the whole loops nearest to %" PRIu64 " bytes\n",
                s->plan.bytes, s->plan.flops, s->plan.wanted);
    }
    if (s->home < study->base.model->nlevels &&
        strcmp(level_name(study, s->home), class->level) != 0) {
        fprintf(out, "           (the paper's lie in %s)\n", class->level);
    }
    if (*s->code) {
        fprintf(out, "           code %s\n", s->code);
    }
    if (*s->left_out) {
        fprintf(out, "           left out: %s\n", s->left_out);
    }
}

/* Whether each of the paper's three observations holds here; -1 = not known. */
static void judge(const struct carm_classes_facts *f, int holds[3])
{
    holds[0] = f->constant && f->shifts;
    holds[1] = f->spread > 0.0 ? f->spread >= 1.1 : -1;
    holds[2] = f->nbound ? f->nbelow == f->nbound : -1;
}

/* Prints the answer: which of the paper's three observations hold here. */
static void print_answer(FILE *out, const struct carm_classes *study,
                         const struct carm_classes_facts *facts)
{
    char host[CARM_TEXT_MAX], cpu[CARM_TEXT_MAX];
    const struct carm_model *m = study->base.model;
    int holds[3], known = 0, hold = 0;
    judge(facts, holds);
    for (int i = 0; i < 3; i++) {
        known += holds[i] >= 0;
        hold += holds[i] > 0;
    }
    fprintf(out,
            "Application classes on %s (%s): %d of %d observations of the cache-aware paper "
            "hold.\n",
            carm_text_clean(host, sizeof host, carm_machine_host(&m->machine), false),
            carm_text_clean(cpu, sizeof cpu, m->machine.cpu, false), hold, known);
}

static void print_how(FILE *out, const struct carm_classes *study)
{
    const struct carm_model *m = study->base.model;
    fputs("\nHow it was measured\n", out);
    fprintf(out,
            "  roofs    %.16s %.16s, %d thread%s, loads to stores %s\n"
            "  threads  %d, each with its own data: sizes and flops are of one thread, points "
            "of all\n"
            "  counted  bytes and flops: constructed, by the codes' accounts; DRAM bytes: "
            "estimated, each first touch of a set that a cache holds, every access "
            "of one that none does (stores filled and written back)\n",
            study->base.roofs->isa, study->base.roofs->precision, study->base.roofs->threads,
            study->base.roofs->threads == 1 ? "" : "s", m->config.ldst, study->base.threads);
    if (*study->base.roofs_note) {
        fprintf(out, "  note     %s\n", study->base.roofs_note);
    }
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        print_class(out, study, c);
    }
}

static void print_point(FILE *out, const struct carm_classes *study, size_t c, unsigned k)
{
    char n[16], ai[CARM_TEXT_NUMBER_MAX], dram[CARM_TEXT_NUMBER_MAX], seconds[CARM_TEXT_NUMBER_MAX];
    char share[2][16] = {"-", "-"};
    const struct carm_classes_point *p = &study->sides[c].points[k];
    for (int original = 0; original < 2; original++) {
        struct carm_place place;
        struct carm_err ignored;
        if (carm_classes_place(study, p, original != 0, &place, &ignored) == 0) {
            snprintf(share[original], sizeof share[original], "%.1f%%", 100.0 * place.share);
        }
    }
    snprintf(n, sizeof n, k ? "2^%u" : "1st", k);
    fprintf(out, "  %-7s %5s%s %8s %9.4g   %8s %7s   %9s %7s\n", carm_classes[c].name, n,
            p->disturbed ? "*" : " ", time_text(seconds, sizeof seconds, p->seconds),
            p->flops / p->seconds * 1e-9, intensity_text(ai, sizeof ai, p->flops / p->bytes),
            share[0], intensity_text(dram, sizeof dram, p->flops / p->dram_bytes), share[1]);
}

static void print_table(FILE *out, const struct carm_classes *study)
{
    bool disturbed = false;
    fprintf(out, "\n  %-7s %5s  %8s %9s   %16s   %17s\n", "", "", "", "", "cache-aware",
            "original");
    fprintf(out, "  %-7s %5s  %8s %9s   %8s %7s   %9s %7s\n", "class", "N", "time", "Gflop/s",
            "flop/B", "of roof", "flop/B", "of roof");
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        for (unsigned k = 0; k < CARM_CLASSES_K; k++) {
            if (study->sides[c].points[k].known) {
                print_point(out, study, c, k);
                disturbed = disturbed || study->sides[c].points[k].disturbed;
            }
        }
    }
    if (disturbed) {
        fprintf(out, "  * disturbed: other programs took the processors meanwhile\n");
    }
}

static void print_first(FILE *out, const struct carm_classes_facts *f)
{
    fprintf(out, "\n  1. One application, several intensities in the original model: %s here.\n",
            f->constant && f->shifts ? "true" : "not so");
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        const struct carm_classes_fact *x = &f->classes[c];
        char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX], i[CARM_TEXT_NUMBER_MAX];
        if (x->last >= 0) {
            fprintf(out,
                    "     %-7s cache-aware %s flop/byte for every N (largest deviation "
                    "%.2g%%); original %s to %s while N grew %.7g-fold: "
                    "%.7g-fold\n",
                    carm_classes[c].name, intensity_text(i, sizeof i, x->intensity),
                    100.0 * x->deviation, intensity_text(a, sizeof a, x->dram_first),
                    intensity_text(b, sizeof b, x->dram_last), exp2(x->last - x->first),
                    x->dram_last / x->dram_first);
        }
    }
}

static void print_second(FILE *out, const struct carm_classes *study,
                         const struct carm_classes_facts *f)
{
    char a[CARM_TEXT_NUMBER_MAX];
    if (f->spread > 0.0) {
        fprintf(out,
                "  2. At one intensity of the original model, near 16, the classes differ: %s "
                "here, %.3g times from %s to %s.\n",
                f->spread >= 1.1 ? "true" : "not so", f->spread, carm_classes[f->slowest].name,
                carm_classes[f->fastest].name);
    } else {
        fprintf(out, "  2. At one intensity of the original model, near 16: fewer than two "
                     "classes have an instance there.\n");
    }
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        const struct carm_classes_fact *x = &f->classes[c];
        char i[CARM_TEXT_NUMBER_MAX];
        if (x->near >= 0) {
            fprintf(out,
                    "     %-7s N = 2^%-2d %s flop/byte: %s, %.0f%% of the original roof, "
                    "%.0f%% of the cache-aware one\n",
                    carm_classes[c].name, x->near, intensity_text(i, sizeof i, x->near_intensity),
                    carm_text_si(a, sizeof a, x->near_performance, "flop/s"), 100.0 * x->near_share,
                    100.0 * x->near_cache_aware_share);
        }
    }
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        const struct carm_classes_fact *x = &f->classes[c];
        if (x->last >= 0 && x->level_share > 0.0) {
            fprintf(out,
                    "     %-7s N = 2^%-2d reaches %.1f%% of what %s allows (%.1f%% of the "
                    "roof)%s\n",
                    carm_classes[c].name, x->last, 100.0 * x->level_share,
                    level_name(study, study->sides[c].home), 100.0 * x->share,
                    c != CARM_APP_L1 ? ""
                    : f->l1_reached  ? ": it tends to the L1 roof"
                                     : ": it does not reach 0.9 of the L1 roof");
        }
    }
}

static void print_third(FILE *out, const struct carm_classes_facts *f)
{
    if (f->nbound == 0) {
        fprintf(out, "  3. Single iterations in the memory-bound region: none was measured.\n");
        return;
    }
    fprintf(out,
            "  3. In its memory-bound region the original model's roof is never reached: %s "
            "here, %zu of %zu single iterations stay below 0.9 of it; %zu of %zu lie "
            "within a tenth of the cache-aware DRAM ceiling. (A first pass over a set "
            "that a cache keeps does not wait for its write-backs: for it the ceiling "
            "is taken without them.)\n",
            f->nbelow == f->nbound ? "true" : "not so", f->nbelow, f->nbound, f->nline, f->nbound);
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        const struct carm_classes_fact *x = &f->classes[c];
        if (x->first == 0) {
            fprintf(out,
                    "     %-7s 1st: %.1f%% of the original roof (%s bound), %.1f%% of the "
                    "cache-aware DRAM ceiling\n",
                    carm_classes[c].name, 100.0 * x->single_share,
                    x->single_bound ? "memory" : "compute", 100.0 * x->single_dram_share);
        }
    }
}

static void print_left_out(FILE *out, const struct carm_classes *study)
{
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        const struct carm_classes_side *s = &study->sides[c];
        unsigned k = 0;
        while (k <= study->largest && s->points[k].known) {
            k++;
        }
        if (*s->left_out || k > study->largest) {
            continue;
        }
        char time[CARM_TEXT_NUMBER_MAX];
        const double one = s->next_seconds + s->evict_seconds;
        const double all = one * (double)carm_class_runs(one);
        fprintf(out, "  left out: %s from N = 2^%u on (2^%u takes about %s; %s)\n",
                carm_classes[c].name, k, k, time_text(time, sizeof time, all),
                study->base.interrupted ? "interrupted" : "--budget gives more time");
    }
}

void carm_classes_print(FILE *out, const struct carm_study *of)
{
    const struct carm_classes *study = (const struct carm_classes *)of;
    struct carm_classes_facts facts;
    carm_classes_facts(study, &facts);
    print_answer(out, study, &facts);
    print_table(out, study);
    print_first(out, &facts);
    print_second(out, study, &facts);
    print_third(out, &facts);
    print_how(out, study);
    print_left_out(out, study);
    if (study->base.kept) {
        fprintf(out, "  kept: %zu points of an earlier run\n", study->base.kept);
    }
    fprintf(out, "  measured in %.1f s\n", study->base.seconds);
}

/* The place of a point on one model; null = no place. */
static json_t *place_json(const struct carm_classes *study, const struct carm_classes_point *p,
                          bool original)
{
    struct carm_place place;
    struct carm_err ignored;
    const bool has = carm_classes_place(study, p, original, &place, &ignored) == 0;
    return carm_study_place_json(has ? &place : NULL);
}

static json_t *point_json(const struct carm_classes *study, size_t c, unsigned k)
{
    char name[64];
    const struct carm_classes_point *p = &study->sides[c].points[k];
    json_t *o = json_object();
    return carm_jwrite_done(
        o, carm_jwrite_text(o, "name", carm_classes_name(name, sizeof name, c, k)) &&
               carm_jwrite_count(o, "iterations", (uint64_t)1 << k) &&
               carm_jwrite_number(o, "flops", p->flops) &&
               carm_jwrite_number(o, "bytes", p->bytes) &&
               carm_jwrite_number(o, "dram_bytes", p->dram_bytes) &&
               carm_jwrite_number(o, "seconds", p->seconds) &&
               carm_jwrite_number(o, "performance", p->flops / p->seconds) &&
               carm_jwrite_count(o, "runs", p->runs) && carm_jwrite_bool(o, "kept", p->kept) &&
               carm_jwrite_bool(o, "disturbed", p->disturbed) &&
               carm_jwrite_value(o, "cache_aware", place_json(study, p, false)) &&
               carm_jwrite_value(o, "original", place_json(study, p, true)));
}

static json_t *points_json(const struct carm_classes *study, size_t c)
{
    json_t *points = json_array();
    bool ok = points != NULL;
    for (unsigned k = 0; k < CARM_CLASSES_K && ok; k++) {
        if (study->sides[c].points[k].known) {
            ok = json_array_append_new(points, point_json(study, c, k)) == 0;
        }
    }
    return carm_jwrite_done(points, ok);
}

static json_t *fact_json(const struct carm_classes_fact *f)
{
    json_t *o = json_object();
    return carm_jwrite_done(o, carm_jwrite_number(o, "intensity", f->intensity) &&
                                   carm_jwrite_number(o, "intensity_deviation", f->deviation) &&
                                   carm_jwrite_number(o, "dram_intensity_first", f->dram_first) &&
                                   carm_jwrite_number(o, "dram_intensity_last", f->dram_last) &&
                                   carm_jwrite_number(o, "last_share_of_roof", f->share) &&
                                   carm_jwrite_number(o, "last_share_of_level", f->level_share) &&
                                   carm_jwrite_number(o, "near_16_performance",
                                                      f->near >= 0 ? f->near_performance : NAN) &&
                                   carm_jwrite_bool(o, "single_memory_bound", f->single_bound) &&
                                   carm_jwrite_number(o, "single_share_of_original",
                                                      f->first == 0 ? f->single_share : NAN) &&
                                   carm_jwrite_number(o, "single_share_of_dram_ceiling",
                                                      f->first == 0 ? f->single_dram_share : NAN));
}

static json_t *class_json(const struct carm_classes *study, size_t c,
                          const struct carm_classes_facts *facts)
{
    const struct carm_classes_side *s = &study->sides[c];
    const struct carm_class *class = &carm_classes[c];
    json_t *o = json_object();
    return carm_jwrite_done(
        o, carm_jwrite_text(o, "name", class->name) &&
               carm_jwrite_count(o, "table_bytes", class->bytes) &&
               carm_jwrite_count(o, "table_flops", class->flops) &&
               carm_jwrite_count(o, "bytes", s->plan.bytes) &&
               carm_jwrite_count(o, "flops", s->plan.flops) &&
               carm_jwrite_text(o, "level", study->base.model->levels[s->home].level) &&
               carm_jwrite_text_or_null(o, "code", s->code) &&
               carm_jwrite_text_or_null(o, "left_out", s->left_out) &&
               carm_jwrite_value(o, "points", points_json(study, c)) &&
               carm_jwrite_value(o, "facts",
                                 facts->classes[c].last >= 0 ? fact_json(&facts->classes[c])
                                                             : json_null()));
}

static json_t *observations_json(const struct carm_classes_facts *f)
{
    json_t *o = json_object();
    return carm_jwrite_done(
        o, carm_jwrite_bool(o, "intensity_constant_cache_aware", f->constant) &&
               carm_jwrite_bool(o, "intensity_shifts_original", f->shifts) &&
               carm_jwrite_number(o, "spread_near_16", f->spread > 0.0 ? f->spread : NAN) &&
               carm_jwrite_bool(o, "app_l1_reaches_l1_roof", f->l1_reached) &&
               carm_jwrite_count(o, "memory_bound_single_iterations", f->nbound) &&
               carm_jwrite_count(o, "of_them_below_original_roof", f->nbelow) &&
               carm_jwrite_count(o, "of_them_at_dram_ceiling", f->nline));
}

json_t *carm_classes_json(const struct carm_study *of)
{
    const struct carm_classes *study = (const struct carm_classes *)of;
    struct carm_classes_facts facts;
    carm_classes_facts(study, &facts);
    json_t *classes = json_array();
    bool ok = classes != NULL;
    for (size_t c = 0; c < CARM_CLASS_COUNT && ok; c++) {
        ok = json_array_append_new(classes, class_json(study, c, &facts)) == 0;
    }
    json_t *o = json_object();
    return carm_jwrite_done(
        o, carm_jwrite_value(o, "classes", carm_jwrite_done(classes, ok)) &&
               carm_jwrite_text(o, "study", "classes") &&
               carm_jwrite_text(o, "hostname", study->base.model->machine.hostname) &&
               carm_jwrite_text(o, "isa", carm_isa_name(study->target.isa)) &&
               carm_jwrite_text(o, "precision", carm_precision_name(study->target.precision)) &&
               carm_jwrite_int(o, "threads", study->base.threads) &&
               carm_jwrite_text(o, "roofs_isa", study->base.roofs->isa) &&
               carm_jwrite_int(o, "roofs_threads", study->base.roofs->threads) &&
               carm_jwrite_text_or_null(o, "note", study->base.roofs_note) &&
               carm_jwrite_text(o, "counted_by", "constructed") &&
               carm_jwrite_text(o, "dram_bytes_by", "estimated") &&
               carm_jwrite_bool(o, "interrupted", study->base.interrupted) &&
               carm_jwrite_value(o, "observations", observations_json(&facts)));
}
