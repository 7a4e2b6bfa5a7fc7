/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/classes/study.h"
#include "cli/opt.h"
#include "base/text.h"
#include "models/roofline.h"

/* "1/64", "16", "0.0156": an intensity as people write it. */
static char *intensity_text(char *dst, size_t size, double v)
{
    const double inverse = round(1.0 / v);
    if (v < 1.0 && fabs(v * inverse - 1.0) < 1e-6) {
        (void)snprintf(dst, size, "1/%.0f", inverse);
    } else {
        (void)snprintf(dst, size, v >= 1e3 && v < 1e6 ? "%.0f" : "%.4g", v);
    }
    return dst;
}

static const char *level_name(const struct carm_classes *study, size_t level)
{
    return study->model->levels[level].level;
}

/* "611 ns", "5.42 us", "30.1 ms", "9.3 s" */
static char *time_text(char *dst, size_t size, double seconds)
{
    const double ns = seconds * 1e9;
    const double v = ns < 1e3 ? ns : ns < 1e6 ? ns * 1e-3 : ns < 1e9 ? ns * 1e-6 : seconds;
    (void)snprintf(dst, size, "%.*f %s",
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

/* "L2 - L1": the ceilings below and above the point. */
static char *between(char *dst, size_t size, const struct carm_place *p)
{
    const char *below = p->below >= 0 ? p->ceilings[p->below].name : NULL;
    const char *above = p->above >= 0 ? p->ceilings[p->above].name : NULL;
    if (!above || p->over) {
        (void)snprintf(dst, size, "over the roof");
    } else if (!below) {
        (void)snprintf(dst, size, "below %.14s", above);
    } else {
        (void)snprintf(dst, size, "%.10s - %.10s", below, above);
    }
    return dst;
}

/* ---- head ------------------------------------------------------------------------------------ */

static void print_class(FILE *out, const struct carm_classes *study, size_t c)
{
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX], i[CARM_TEXT_NUMBER_MAX];
    const struct carm_classes_side *s = &study->sides[c];
    const struct carm_class *class = &carm_classes[c];
    (void)fprintf(out, "  %-8s %s, %" PRIu64 " flops an iteration, %s flop/byte; data in %s\n",
                  class->name, carm_text_bytes(a, sizeof a, class->bytes), class->flops,
                  intensity_text(i, sizeof i, (double)class->flops / (double)class->bytes),
                  level_name(study, s->home));
    if (s->plan.wanted != class->bytes) {
        (void)fprintf(out,
                      "           enlarged to %s a thread: %s a thread would not leave %s, which "
                      "holds %s\n",
                      carm_text_bytes(a, sizeof a, s->plan.wanted),
                      carm_text_bytes(i, sizeof i, class->bytes), study->last_cache,
                      carm_text_bytes(b, sizeof b, study->last_cache_bytes));
    }
    if (!carm_class_exact(&s->plan)) {
        (void)fprintf(out,
                      "           here %" PRIu64 " bytes and %" PRIu64
                      " flops: the whole loops nearest to %" PRIu64 " bytes\n",
                      s->plan.bytes, s->plan.flops, s->plan.wanted);
    }
    if (s->home < study->model->nlevels && strcmp(level_name(study, s->home), class->level) != 0) {
        (void)fprintf(out, "           (the paper's lie in %s)\n", class->level);
    }
    if (*s->code) {
        (void)fprintf(out, "           code %s\n", s->code);
    }
    if (*s->left_out) {
        (void)fprintf(out, "           left out: %s\n", s->left_out);
    }
}

static void print_head(FILE *out, const struct carm_classes *study)
{
    char host[CARM_TEXT_MAX], cpu[CARM_TEXT_MAX];
    const struct carm_model *m = study->model;
    (void)fprintf(out, "Application classes on %s (%s)\n",
                  carm_text_clean(host, sizeof host, m->machine.hostname, false),
                  carm_text_clean(cpu, sizeof cpu, m->machine.cpu, false));
    (void)fprintf(
        out,
        "  roofs    %.16s %.16s, %d thread%s, loads to stores %s\n"
        "  threads  %d, each with its own data: sizes and flops are of one thread, points "
        "of all\n"
        "  counted  bytes and flops: constructed, by the codes' accounts; DRAM bytes: "
        "estimated,\n           each first touch of a set that a cache holds, every access "
        "of one that none does\n           (stores filled and written back)\n",
        study->roofs->isa, study->roofs->precision, study->roofs->threads,
        study->roofs->threads == 1 ? "" : "s", m->config.ldst, study->threads);
    if (*study->roofs_note) {
        (void)fprintf(out, "  note     %s\n", study->roofs_note);
    }
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        print_class(out, study, c);
    }
}

/* ---- table ----------------------------------------------------------------------------------- */

static void print_point(FILE *out, const struct carm_classes *study, size_t c, unsigned k)
{
    char n[16], ai[CARM_TEXT_NUMBER_MAX], dram[CARM_TEXT_NUMBER_MAX], seconds[CARM_TEXT_NUMBER_MAX];
    char where[2][40] = {"-", "-"}, share[2][16] = {"-", "-"};
    const struct carm_classes_point *p = &study->sides[c].points[k];
    for (int original = 0; original < 2; original++) {
        struct carm_place place;
        struct carm_err ignored;
        if (carm_classes_place(study, p, original != 0, &place, &ignored) == 0) {
            (void)between(where[original], sizeof where[original], &place);
            (void)snprintf(share[original], sizeof share[original], "%.1f%%", 100.0 * place.share);
        }
    }
    (void)snprintf(n, sizeof n, k ? "2^%u" : "1st", k);
    (void)fprintf(out, "  %-7s %5s%s %8s %9.4g  %7s %7s %-20s %9s %7s %s\n", carm_classes[c].name,
                  n, p->disturbed ? "*" : " ", time_text(seconds, sizeof seconds, p->seconds),
                  p->flops / p->seconds * 1e-9, intensity_text(ai, sizeof ai, p->flops / p->bytes),
                  share[0], where[0], intensity_text(dram, sizeof dram, p->flops / p->dram_bytes),
                  share[1], where[1]);
}

static void print_table(FILE *out, const struct carm_classes *study)
{
    bool disturbed = false;
    (void)fprintf(out, "\n  %-7s %5s  %8s %9s  %-36s %s\n", "", "", "", "", "cache-aware model",
                  "original model (DRAM)");
    (void)fprintf(out, "  %-7s %5s  %8s %9s  %7s %7s %-20s %9s %7s %s\n", "class", "N", "time",
                  "Gflop/s", "flop/B", "of roof", "between", "flop/B", "of roof", "between");
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        for (unsigned k = 0; k < CARM_CLASSES_K; k++) {
            if (study->sides[c].points[k].known) {
                print_point(out, study, c, k);
                disturbed = disturbed || study->sides[c].points[k].disturbed;
            }
        }
    }
    if (disturbed) {
        (void)fprintf(out, "  * disturbed: other programs took the processors meanwhile\n");
    }
}

/* ---- observations ---------------------------------------------------------------------------- */

static void print_first(FILE *out, const struct carm_classes_facts *f)
{
    (void)fprintf(out,
                  "\n  1. One application, several intensities in the original model: %s here.\n",
                  f->constant && f->shifts ? "true" : "not so");
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        const struct carm_classes_fact *x = &f->classes[c];
        char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX], i[CARM_TEXT_NUMBER_MAX];
        if (x->last >= 0) {
            (void)fprintf(out,
                          "     %-7s cache-aware %s flop/byte for every N (largest deviation "
                          "%.2g%%);\n             original %s to %s while N grew %.7g-fold: "
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
        (void)fprintf(
            out,
            "  2. At one intensity of the original model, near 16, the classes differ: %s "
            "here,\n     %.3g times from %s to %s.\n",
            f->spread >= 1.1 ? "true" : "not so", f->spread, carm_classes[f->slowest].name,
            carm_classes[f->fastest].name);
    } else {
        (void)fprintf(out, "  2. At one intensity of the original model, near 16: fewer than two "
                           "classes have an\n     instance there.\n");
    }
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        const struct carm_classes_fact *x = &f->classes[c];
        char i[CARM_TEXT_NUMBER_MAX];
        if (x->near >= 0) {
            (void)fprintf(out,
                          "     %-7s N = 2^%-2d %s flop/byte: %s, %.0f%% of the original roof, "
                          "%.0f%% of the cache-aware one\n",
                          carm_classes[c].name, x->near,
                          intensity_text(i, sizeof i, x->near_intensity),
                          carm_text_si(a, sizeof a, x->near_performance, "flop/s"),
                          100.0 * x->near_share, 100.0 * x->near_cache_aware_share);
        }
    }
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        const struct carm_classes_fact *x = &f->classes[c];
        if (x->last >= 0 && x->level_share > 0.0) {
            (void)fprintf(out,
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
        (void)fprintf(out,
                      "  3. Single iterations in the memory-bound region: none was measured.\n");
        return;
    }
    (void)fprintf(out,
                  "  3. In its memory-bound region the original model's roof is never reached: %s "
                  "here,\n     %zu of %zu single iterations stay below 0.9 of it; %zu of %zu lie "
                  "within a tenth of\n     the cache-aware DRAM ceiling. (A first pass over a set "
                  "that a cache keeps does not wait for\n     its write-backs: for it the ceiling "
                  "is taken without them.)\n",
                  f->nbelow == f->nbound ? "true" : "not so", f->nbelow, f->nbound, f->nline,
                  f->nbound);
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        const struct carm_classes_fact *x = &f->classes[c];
        if (x->first == 0) {
            (void)fprintf(out,
                          "     %-7s 1st: %.1f%% of the original roof (%s bound), %.1f%% of the "
                          "cache-aware DRAM ceiling\n",
                          carm_classes[c].name, 100.0 * x->single_share,
                          x->single_bound ? "memory" : "compute", 100.0 * x->single_dram_share);
        }
    }
}

void carm_classes_print_left_out(FILE *out, const struct carm_classes *study)
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
        (void)fprintf(out, "  left out: %s from N = 2^%u on (2^%u takes about %s; %s)\n",
                      carm_classes[c].name, k, k, time_text(time, sizeof time, all),
                      study->interrupted ? "interrupted" : "--budget gives more time");
    }
}

void carm_classes_print(FILE *out, const struct carm_classes *study)
{
    struct carm_classes_facts facts;
    carm_classes_facts(study, &facts);
    print_head(out, study);
    print_table(out, study);
    print_first(out, &facts);
    print_second(out, study, &facts);
    print_third(out, &facts);
    (void)fprintf(out, "\n");
    carm_classes_print_left_out(out, study);
    if (study->kept) {
        (void)fprintf(out, "  kept: %zu points of an earlier run\n", study->kept);
    }
    (void)fprintf(out, "  measured in %.1f s\n", study->seconds);
}
