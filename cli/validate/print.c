/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/validate/print.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/opt.h"
#include "models/roofline.h"
#include "models/validation.h"
#include "validation/validate/plan.h"
#include "validation/validate/score.h"

/* Share by which a roof counts as changed since the model was built. Chosen by hand. */
static const double drift_shown = 0.05;
/* Percentage points by which the fitness against roofs of the same rounds must be better to be
 * shown: on quiet machines both differ by less than 3 (docs/results.md). */
static const double paired_shown = 3.0;

/* Whether the stored roofs are of another state of the machine, so that the fitness against roofs
 * of the same rounds is shown. v: pooled score; NULL = none */
static bool is_paired(const struct carm_validation *v)
{
    return v && v->fitness_beside > 0.0 && v->fitness_beside >= v->fitness + paired_shown;
}

/* x rounded to decimals (10, 100, ...), without a negative zero */
static double rounded(double x, double decimals)
{
    return round(x * decimals) / decimals + 0.0;
}

/* ---- the answer ---- */

/* "avx2 dp fma, 1 thread" */
static void set_text(const struct carm_validation_set *set, char text[4 * CARM_NAME_MAX])
{
    snprintf(text, (size_t)4 * CARM_NAME_MAX, "%s %s %s, %d thread%s", set->isa, set->precision,
             set->op, set->threads, set->threads == 1 ? "" : "s");
}

static size_t count_points(const struct carm_model *m, const struct carm_validation_set *set,
                           bool disturbed)
{
    size_t n = 0;
    for (size_t i = 0; i < m->nvalidation_points; i++) {
        const struct carm_validation_point *p = &m->validation_points[i];
        n += carm_validation_set_equal(&p->set, set) && (p->disturbed || !disturbed) ? 1 : 0;
    }
    return n;
}

/* Pooled fitness of one model over the sets. */
struct range {
    double lo, hi; /* fitness, % */
    double rrmse;  /* of the last set */
    size_t n;      /* number of sets */
};

static struct range range_of(const struct carm_model *m, const struct carm_validation_set *sets,
                             size_t n, const char *model)
{
    struct range r = {.lo = INFINITY};
    for (size_t i = 0; i < n; i++) {
        const struct carm_validation *v = carm_validation_find_score(m, &sets[i], model, "all");
        if (v) {
            const bool paired = is_paired(v);
            const double fitness = paired ? v->fitness_beside : v->fitness;
            r.lo = fmin(r.lo, fitness);
            r.hi = fmax(r.hi, fitness);
            r.rrmse = paired ? v->rrmse_beside : v->rrmse;
            r.n++;
        }
    }
    return r;
}

/* "fitness 97.2% (rRMSE 0.0288)" of one set, "fitness 95.1% to 97.2%" of several */
static void range_text(const struct range *r, char *text, size_t size)
{
    if (r->n > 1) {
        snprintf(text, size, "fitness %.1f%% to %.1f%%", r->lo, r->hi);
    } else {
        snprintf(text, size, "fitness %.1f%% (rRMSE %.4g)", r->lo, r->rrmse);
    }
}

/* Adds the levels with a quarter or more of their points disturbed: ", do not trust L1 and L2 with 2
 * threads". */
static void distrust(const struct carm_model *m, const struct carm_validation_set *sets, size_t n,
                     char *note, size_t size)
{
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        size_t listed = 0;
        for (size_t l = 0; l < m->nlevels; l++) {
            size_t all = 0, bad = 0;
            for (size_t k = 0; k < m->nvalidation_points; k++) {
                const struct carm_validation_point *p = &m->validation_points[k];
                const bool here = carm_validation_set_equal(&p->set, &sets[i]) &&
                                  strcmp(p->level, m->levels[l].level) == 0;
                all += here ? 1 : 0;
                bad += here && p->disturbed ? 1 : 0;
            }
            if (bad == 0 || 4 * bad < all) {
                continue;
            }
            carm_text_append(note, size, "%s%s",
                             listed ? ", "
                             : any  ? "; "
                                    : ": do not trust ",
                             m->levels[l].level);
            listed++;
            any = true;
        }
        if (listed) {
            carm_text_append(note, size, " with %d thread%s", sets[i].threads,
                             sets[i].threads == 1 ? "" : "s");
        }
    }
}

/* Prints how well the models predict, which model is better, and whether points are disturbed. */
static void print_verdict(const struct carm_model *m, const struct carm_validation_set *sets,
                          size_t n)
{
    const struct range aware = range_of(m, sets, n, "cache-aware");
    const struct range original = range_of(m, sets, n, "original");
    size_t better = 0, points = 0, disturbed = 0;
    char a[64], o[64], note[512], where[64] = "";
    for (size_t i = 0; i < n; i++) {
        const struct carm_validation *v =
            carm_validation_find_score(m, &sets[i], "cache-aware", "all");
        const struct carm_validation *w =
            carm_validation_find_score(m, &sets[i], "original", "all");
        better += v && w && v->fitness > w->fitness ? 1 : 0;
        points += count_points(m, &sets[i], false);
        disturbed += count_points(m, &sets[i], true);
    }
    range_text(&aware, a, sizeof a);
    range_text(&original, o, sizeof o);
    snprintf(note, sizeof note, "%zu of %zu points stayed disturbed", disturbed, points);
    distrust(m, sets, n, note, sizeof note);
    if (original.n == 0) {
        carm_opt_print_wrapped("", 0, "The cache-aware model predicts this machine with %s; %s.", a,
                               disturbed ? note : "no point stayed disturbed");
        return;
    }
    if (better > 0 && better < original.n) {
        snprintf(where, sizeof where, " in %zu of %zu sets", better, original.n);
    }
    carm_opt_print_wrapped(
        "", 0, "The %s model predicts this machine better%s: cache-aware %s, original %s; %s.",
        better ? "cache-aware" : "original", where, a, o,
        disturbed ? note : "no point stayed disturbed");
}

/* Prints why a fitness is against roofs of the same rounds. */
static void print_pairs(const struct carm_model *m, const struct carm_validation_set *sets,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (is_paired(carm_validation_find_score(m, &sets[i], "cache-aware", "all"))) {
            carm_opt_print_wrapped(
                "", 0,
                "With %d thread%s this is the fitness against roofs measured beside the points: "
                "the machine's state has changed since the model was built. Run `carm build` "
                "again; --verbose shows the fitness against the stored roofs.",
                sets[i].threads, sets[i].threads == 1 ? "" : "s");
        }
    }
}

/* Prints the fitness of one set by one model on every level, and pooled.
 * name    of the row
 * paired  against roofs of the same rounds */
static void print_row(const struct carm_model *m, const struct carm_validation_set *set,
                      const char *model, const char *name, bool first, bool paired)
{
    char text[4 * CARM_NAME_MAX] = "";
    const struct carm_validation *all = carm_validation_find_score(m, set, model, "all");
    if (!all || (paired && !(all->fitness_beside > 0.0))) {
        return;
    }
    if (first) {
        set_text(set, text);
        printf("%s\n", text);
    }
    printf("  %-11s", name);
    for (size_t l = 0; l <= m->nlevels; l++) {
        const struct carm_validation *v =
            carm_validation_find_score(m, set, model, carm_validation_level(m, l));
        if (v) {
            printf("%8.2f%%", paired ? v->fitness_beside : v->fitness);
        } else {
            printf("%9s", "-");
        }
    }
    printf("%9.4g", paired ? all->rrmse_beside : all->rrmse);
    if (first) {
        printf("  %zu of %zu", count_points(m, set, true), count_points(m, set, false));
    }
    printf("\n");
}

/* verbose  against the stored roofs and against the roofs of the same rounds, instead of only one
 *          of the two */
static void print_table(const struct carm_model *m, const struct carm_validation_set *sets,
                        size_t n, bool verbose)
{
    printf("\n  %-11s", "fitness");
    for (size_t l = 0; l <= m->nlevels; l++) {
        printf("%9.8s", carm_validation_level(m, l));
    }
    printf("%9s  disturbed\n", "rRMSE");
    for (size_t i = 0; i < n; i++) {
        const bool paired =
            is_paired(carm_validation_find_score(m, &sets[i], "cache-aware", "all"));
        print_row(m, &sets[i], "cache-aware", "cache-aware", true, paired && !verbose);
        if (verbose) {
            print_row(m, &sets[i], "cache-aware", "  paired", false, true);
        }
        print_row(m, &sets[i], "original", "original", false, false);
    }
}

/* ---- details of one set ---- */

static void print_scores(const struct carm_model *m, const struct carm_validation_set *set)
{
    printf("  %-6s %4s  %-45s %s\n", "", "", "cache-aware model", "original model");
    printf("  %-6s %4s  %6s %8s %8s   %-17s  %8s %8s\n", "level", "n", "rRMSE", "fitness", "paired",
           "worst, at I", "rRMSE", "fitness");
    for (size_t l = 0; l <= m->nlevels; l++) {
        const struct carm_validation *a =
            carm_validation_find_score(m, set, "cache-aware", carm_validation_level(m, l));
        const struct carm_validation *o =
            carm_validation_find_score(m, set, "original", carm_validation_level(m, l));
        char worst[48] = "";
        if (!a) {
            continue;
        }
        snprintf(worst, sizeof worst, "%+.1f%% at %.3g", rounded(100.0 * a->worst_error, 10.0),
                 a->worst_intensity);
        printf("  %-6.6s %4d  %6.4f %7.2f%% ", carm_validation_level(m, l), a->n, a->rrmse,
               a->fitness);
        if (a->fitness_beside > 0.0) {
            printf("%7.2f%%   ", a->fitness_beside);
        } else {
            printf("%8s   ", "-");
        }
        if (o) {
            printf("%-17s  %8.4f %7.2f%%\n", worst, o->rrmse, o->fitness);
        } else {
            printf("%s\n", worst);
        }
    }
}

/* Prints the error of the original model, for the slowest point of each cached level. */
static void print_original(const struct carm_model *m, const struct carm_validation_set *set,
                           const struct carm_roofs *roofs)
{
    char a[CARM_TEXT_NUMBER_MAX];
    char b[CARM_TEXT_NUMBER_MAX];
    char c[CARM_TEXT_NUMBER_MAX];
    const char *code = "";
    const double peak = carm_original_bandwidth(
        roofs, m->nlevels ? m->levels[m->nlevels - 1].level : "", true, &code);
    if (!(peak > 0.0)) {
        return;
    }
    char best[256] = "";
    static const char *const mixes[] = {"1:0", "update", "2:1update", "nt"};
    for (size_t i = 0, shown = 0; i < sizeof mixes / sizeof *mixes; i++) {
        const struct carm_memory_roof *r =
            carm_roofs_find_memory(roofs, m->levels[m->nlevels - 1].level, mixes[i]);
        if (r) {
            carm_text_append(best, sizeof best, "%s%s %s", shown++ ? ", " : "best of ", mixes[i],
                             carm_text_si(b, sizeof b, r->bandwidth, "B/s"));
        }
    }
    carm_opt_print_wrapped("  ", 4, "original model: DRAM peak %s (%s) from test code %s",
                           carm_text_si(a, sizeof a, peak, "B/s"), best, code);
    for (size_t l = 0; l + 1 < m->nlevels; l++) {
        const struct carm_validation_point *first = NULL;
        for (size_t i = 0; i < m->nvalidation_points && !first; i++) {
            const struct carm_validation_point *p = &m->validation_points[i];
            if (carm_validation_set_equal(&p->set, set) &&
                strcmp(p->level, m->levels[l].level) == 0 && p->ntraffic > 0) {
                first = p;
            }
        }
        if (first) {
            const double dram = first->traffic[first->ntraffic - 1];
            carm_opt_print_wrapped(
                "    ", 6,
                "%s at 2^-8 flop/byte in the core, %.3g in DRAM: predicted %s, measured %s",
                first->level, first->flops / dram,
                carm_text_si(a, sizeof a, carm_predict_original(m, first, first->ntraffic),
                             "flop/s"),
                carm_text_si(c, sizeof c, first->flops / first->seconds, "flop/s"));
        }
    }
}

/* Prints rows of fitness of the original model's variants, which count bytes at other levels. */
static void print_variants(const struct carm_model *m, const struct carm_validation_set *set)
{
    if (m->nlevels < 3 || !carm_validation_find_score(m, set, "original-mix", "all")) {
        return;
    }
    printf("  fitness by the level at which bytes are counted:\n    %-22s", "counted at");
    for (size_t l = 0; l <= m->nlevels; l++) {
        printf("%9.8s", carm_validation_level(m, l));
    }
    printf("\n");
    for (size_t link = 0; link <= m->nlevels; link++) {
        char name[CARM_NAME_MAX];
        char where[64];
        carm_validation_model_name(m, link, name);
        if (link == 0) {
            snprintf(where, sizeof where, "core (cache-aware)");
        } else if (link == m->nlevels) {
            snprintf(where, sizeof where, "the same, peak of %.8s", m->config.ldst);
        } else {
            snprintf(where, sizeof where, "%.16s to %.16s", m->levels[link - 1].level,
                     m->levels[link].level);
        }
        if (!carm_validation_find_score(m, set, name, "all")) {
            continue;
        }
        printf("    %-22s", where);
        for (size_t l = 0; l <= m->nlevels; l++) {
            const struct carm_validation *v =
                carm_validation_find_score(m, set, name, carm_validation_level(m, l));
            if (v) {
                printf("%8.2f%%", v->fitness);
            } else {
                printf("%9s", "-");
            }
        }
        printf("\n");
    }
}

static const struct carm_validation_fit *find_fit(const struct carm_model *m,
                                                  const struct carm_validation_set *set,
                                                  const char *level, const char *form)
{
    for (size_t i = 0; i < m->nvalidation_fits; i++) {
        const struct carm_validation_fit *f = &m->validation_fits[i];
        if (carm_validation_set_equal(&f->set, set) && strcmp(f->level, level) == 0 &&
            (form ? strcmp(f->form, form) == 0 : f->chosen)) {
            return f;
        }
    }
    return NULL;
}

/* Bytes or flops a cycle of one core by the table, 0 = unknown. */
static double theory_of(const struct carm_validate_theory *theory,
                        const struct carm_validation_roof *roof, const struct carm_model *m)
{
    enum carm_isa isa = CARM_SCALAR;
    enum carm_precision precision = CARM_DP;
    struct carm_mix mix;
    if (!theory->entry || carm_isa_parse(roof->set.isa, &isa, NULL) ||
        carm_precision_parse(roof->set.precision, &precision, NULL) ||
        carm_mix_parse(m->config.ldst, &mix, NULL)) {
        return 0.0;
    }
    const unsigned bytes = carm_isa_vector_bytes(isa, precision);
    if (strcmp(roof->level, "peak") == 0) {
        return carm_theory_rate(theory->entry, bytes, carm_isa_lanes(isa, precision),
                                roof->set.precision, roof->set.op);
    }
    const bool first = m->nlevels > 0 && strcmp(roof->level, m->levels[0].level) == 0;
    return first && !mix.nontemporal ? carm_theory_l1(theory->entry, bytes, mix.loads, mix.stores)
                                     : 0.0;
}

/* Bytes or flops a cycle of one core by the model's measured roof. */
static double per_cycle(const struct carm_roofs *roofs, const struct carm_validation_roof *roof,
                        const struct carm_model *m)
{
    const struct carm_memory_roof *b = carm_roofs_find_memory(roofs, roof->level, m->config.ldst);
    const struct carm_compute_roof *c = carm_roofs_find_compute(roofs, roof->set.op);
    return b ? b->bytes_per_cycle : c ? c->flops_per_cycle : 0.0;
}

/* Prints "value ±error%" in the unit of `like`, or a dash for 0. returns the number of columns */
static int put_with_error(double value, double se, double like)
{
    char text[48] = "-";
    int used = 1;
    if (value > 0.0) {
        double scale = 1.0;
        while (like / scale >= 1000.0) {
            scale *= 1000.0;
        }
        /* the sign takes two bytes and one column */
        used =
            snprintf(text, sizeof text, "%.4g \302\261%.2f%%", value / scale, 100.0 * se / value) -
            1;
    }
    printf("%s", text);
    return used;
}

static void print_roofs(const struct carm_model *m, const struct carm_validation_set *set,
                        const struct carm_roofs *roofs, const struct carm_validate_theory *theory)
{
    printf("  %-6s %-13s %7s  %-13s %7s %-13s %s\n", "roof", "model", "now", "no start-up", "start",
           "fitted to C", "of theory");
    for (size_t i = 0; i < m->nvalidation_roofs; i++) {
        const struct carm_validation_roof *r = &m->validation_roofs[i];
        if (!carm_validation_set_equal(&r->set, set)) {
            continue;
        }
        const bool peak = strcmp(r->level, "peak") == 0;
        char a[CARM_TEXT_NUMBER_MAX];
        char t0[32] = "-";
        const struct carm_validation_fit *f =
            find_fit(m, set, peak && m->nlevels ? m->levels[0].level : r->level, NULL);
        if (r->rate > 0.0) {
            const bool known = fabs(r->t0) > 1.96 * r->t0_se;
            snprintf(t0, sizeof t0, "%s%.0f ns", known ? "" : "~", known ? 1e9 * r->t0 : 0.0);
        }
        printf(
            "  %-6.6s %-13s %+6.1f%%%c ", r->level,
            carm_text_si(a, sizeof a, r->model, peak ? carm_precision_rate(set->precision) : "B/s"),
            rounded(100.0 * (r->beside / r->model - 1.0), 10.0), r->disturbed ? '!' : ' ');
        const int rate = put_with_error(r->rate, r->rate_se, r->model);
        printf("%*s %7s ", rate < 13 ? 13 - rate : 0, "", t0);
        const int fitted =
            put_with_error(f ? (peak ? f->peak : f->bandwidth) : 0.0,
                           f ? (peak ? f->peak_se : f->bandwidth_se) : 0.0, r->model);
        const double limit = theory_of(theory, r, m);
        if (limit > 0.0) {
            printf("%*s %.1f%% of %.4g", fitted < 13 ? 13 - fitted : 0, "",
                   100.0 * per_cycle(roofs, r, m) / limit, limit);
        }
        printf("\n");
    }
}

static void print_theory(const struct carm_validate_theory *theory)
{
    if (!theory->entry) {
        carm_opt_print_wrapped(
            "  ", 4,
            "theory: this CPU is not in the table of microarchitectures; give --theory NAME or FILE");
    } else {
        carm_opt_print_wrapped("  ", 4,
                               "theory: bytes and operations in a cycle of a core of %s, %s%s",
                               theory->entry->name, theory->by_cpuid ? "by CPUID" : "as given",
                               theory->by_isa ? " (by its ISAs: this virtual machine reports the "
                                                "family and model of a CPU without them)"
                               : theory->by_cpuid && theory->virtual_machine
                                   ? " (a virtual machine may report another CPU)"
                                   : "");
    }
}

static void print_extensions(const struct carm_model *m, const struct carm_validation_set *set,
                             const struct carm_roofs *roofs)
{
    static const char *const forms[] = {"sharp", "rounded", "issue", "rounded+issue"};
    double issue = 0.0;
    printf("  extensions: rooflines fitted to half of C's points, fitness on the other half\n"
           "  %-6s %8s %8s %8s %14s %5s chosen by AICc\n",
           "level", forms[0], forms[1], forms[2], forms[3], "corr.");
    for (size_t l = 0; l < m->nlevels; l++) {
        const char *level = m->levels[l].level;
        const struct carm_validation_fit *chosen = find_fit(m, set, level, NULL);
        if (!chosen) {
            continue;
        }
        printf("  %-6.6s", level);
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
            const struct carm_validation_fit *f = find_fit(m, set, level, forms[i]);
            const int width = i == 3 ? 13 : 7;
            if (f) {
                printf(" %*.2f%%", width, f->cv_fitness);
            } else {
                printf(" %*s", width + 1, "-");
            }
        }
        printf(" %+5.2f %s\n", rounded(chosen->correlation, 100.0), chosen->form);
        if (chosen->p > 0.0) {
            printf("  %-6s p = %.3g \302\261 %.2g\n", "", chosen->p, chosen->p_se);
        }
        const struct carm_validation_fit *f = find_fit(m, set, level, "issue");
        issue = f ? f->issue : issue;
    }
    if (issue > 0.0) {
        printf("    issue width, by a code of its own: %.2f slots a core's cycle\n",
               issue / (roofs->clock_hz * set->threads));
    }
}

/* Prints the points that stayed disturbed, with the first point's reason. */
static void print_disturbed(const struct carm_model *m, const struct carm_validation_set *set)
{
    size_t n = 0;
    const struct carm_validation_point *first = NULL;
    for (size_t i = 0; i < m->nvalidation_points; i++) {
        const struct carm_validation_point *p = &m->validation_points[i];
        if (carm_validation_set_equal(&p->set, set) && p->disturbed) {
            first = first ? first : p;
            n++;
        }
    }
    if (n) {
        char note[CARM_TEXT_MAX];
        carm_opt_print_wrapped("  ! ", 4, "%zu point%s stayed disturbed; %s at %.3g flop/byte: %s",
                               n, n == 1 ? "" : "s", first->level, first->flops / first->bytes,
                               carm_text_clean(note, sizeof note, first->note, false));
    }
}

/* ---- notes below the table ---- */

static bool has_drifted(const struct carm_model *m, const struct carm_validation_set *set)
{
    for (size_t i = 0; i < m->nvalidation_roofs; i++) {
        const struct carm_validation_roof *r = &m->validation_roofs[i];
        if (carm_validation_set_equal(&r->set, set) &&
            fabs(r->beside / r->model - 1.0) > drift_shown) {
            return true;
        }
    }
    return false;
}

/* Prints a note; a blank line comes before the first note. */
__attribute__((format(printf, 2, 3))) static void print_note(bool *any, const char *fmt, ...)
{
    char text[CARM_TEXT_MAX];
    CARM_TEXT_OF_ARGS(text, fmt);
    carm_opt_print_wrapped(*any ? "" : "\n", 0, "%s", text);
    *any = true;
}

/* Notes threads with other distances between each other than when the model was built. */
static void print_core_to_core(const struct carm_roofs *roofs, bool *any)
{
    const double then = roofs->core_to_core_seconds;
    const double now = roofs->validated_core_to_core_seconds;
    if (then > 0.0 && now > 0.0 && (now > 1.5 * then || then > 1.5 * now)) {
        print_note(
            any,
            "The core-to-core latency of %d threads is %.0f ns; it was %.0f ns when the model "
            "was built. The threads run on other cores now: hypervisors move virtual CPUs "
            "between core complexes, and memory bandwidth changes with them.",
            roofs->threads, 1e9 * now, 1e9 * then);
    }
}

static void print_notes(const struct carm_model *m, const struct carm_validation_set *sets,
                        size_t n)
{
    bool any = false;
    bool drifted = false;
    for (size_t i = 0; i < n; i++) {
        const struct carm_roofs *roofs = carm_validation_find_roofs(m, &sets[i]);
        bool seen = false; /* sets with the same roofs would give the same note */
        for (size_t k = 0; k < i; k++) {
            seen = seen || carm_validation_find_roofs(m, &sets[k]) == roofs;
        }
        if (roofs && !seen) {
            print_core_to_core(roofs, &any);
        }
        drifted = drifted || has_drifted(m, &sets[i]);
    }
    if (drifted) {
        print_note(
            &any,
            "A roof has moved by more than %.0f%% since the model was built: other neighbours, "
            "clock or configuration. `carm build` renews the model.",
            100.0 * drift_shown);
    }
    if (m->nlevels > 1 && range_of(m, sets, n, "original").n < n) {
        print_note(&any,
                   "The original model needs a DRAM peak: build the model with the level DRAM "
                   "and the mixes 1:0, update and nt.");
    }
}

static void print_set(const struct carm_model *model, const struct carm_validation_set *set,
                      const struct carm_validate_theory *theory, bool verbose)
{
    char text[4 * CARM_NAME_MAX];
    const struct carm_roofs *roofs = carm_validation_find_roofs(model, set);
    if (!roofs) {
        return;
    }
    set_text(set, text);
    printf("\n%s\n", text);
    if (verbose) {
        print_scores(model, set);
        print_disturbed(model, set);
        print_original(model, set, roofs);
        print_variants(model, set);
    }
    print_roofs(model, set, roofs, theory);
    print_theory(theory);
    if (verbose) {
        print_extensions(model, set, roofs);
    }
}

void carm_validate_print(const struct carm_model *model, const struct carm_validation_set *sets,
                         size_t n, size_t reps, const struct carm_validate_theory *theory,
                         bool verbose)
{
    char name[CARM_TEXT_MAX];
    char cpu[CARM_TEXT_MAX];
    print_verdict(model, sets, n);
    print_pairs(model, sets, n);
    print_table(model, sets, n, verbose);
    printf("\nfitness  100%% / (1 + rRMSE), errors relative to the measured value\n");
    if (verbose) {
        carm_opt_print_wrapped(
            "paired   ", 9,
            "fitness against roofs that codes A and B gave in the same rounds as "
            "the points");
    }
    carm_opt_print_wrapped(
        "model    ", 9, "%s (%s, built %s), made of test codes A and B alone",
        carm_text_clean(name, sizeof name, carm_machine_host(&model->machine), false),
        carm_text_clean(cpu, sizeof cpu, model->machine.cpu, false), model->created);
    carm_opt_print_wrapped("points   ", 9,
                           "test code C, %s loads to stores, %d intensities from 2^-8 to 2^6 "
                           "flop/byte on each level, medians of %zu repetitions, counted: "
                           "constructed",
                           model->config.ldst, CARM_GRID_POINTS, reps);
    if (verbose) {
        printf("worst    measured / model - 1, negative where the model promises too much\n");
    }
    print_notes(model, sets, n);
    for (size_t i = 0; i < n && (verbose || !theory->by_cpuid); i++) {
        print_set(model, &sets[i], theory, verbose);
    }
}

void carm_count_checks_print(const struct carm_model *model)
{
    enum { SHOWN = 8 };
    double worst = 0.0;
    size_t deviate = 0;
    if (model->nchecks == 0) {
        return;
    }
    for (size_t i = 0; i < model->nchecks; i++) {
        worst = fmax(worst, fabs(model->checks[i].deviation));
        deviate += model->checks[i].note[0] ? 1 : 0;
    }
    const struct carm_count_check *first = &model->checks[0];
    printf("counted by %s%s%s: %zu code%s, ", first->counted_by, first->recipe[0] ? " for " : "",
           first->recipe, model->nchecks, model->nchecks == 1 ? "" : "s");
    if (worst > 0.0) {
        printf("at most %.3g%% from construction\n", 100.0 * worst);
    } else {
        printf("exactly as constructed\n");
    }
    size_t shown = 0;
    for (size_t i = 0; i < model->nchecks && shown < SHOWN; i++) {
        if (model->checks[i].note[0]) {
            carm_opt_print_wrapped("  ", 4, "warning: %s: %s", model->checks[i].code,
                                   model->checks[i].note);
            shown++;
        }
    }
    if (deviate > shown) {
        printf("  and %zu more; count_checks of the model has all\n", deviate - shown);
    }
}
