/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/placed.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "models/place/kinds.h"
#include "models/place/runtime.h"
#include "models/select.h"

enum { NOTES_MAX = 3 * CARM_TEXT_MAX };

/* A kind of point, with the roofs for it. */
struct kind {
    char isa[CARM_NAME_MAX], precision[CARM_NAME_MAX];
    int threads;
    bool integers; /* operations on integers, and the command line names no other metric */
    enum carm_ceilings_order order;
    const struct carm_place_set *set;
    char note[NOTES_MAX];
    bool told; /* a point of this kind was already placed with the note */
};

/* Prepared sets for each set of roofs of the model: two for flops, by the order of ceilings; two for integers, with
 * their peak and with memory alone. */
enum { KINDS = 32, SETS = 4, OF_INTEGERS = 2, MIXES = 64 };

/* Choices for points whose threads were on several kinds of cores. */
struct mix {
    char cores[CARM_NAME_MAX]; /* the shares of kinds */
    struct carm_model *model;  /* with mixed roofs; NULL = roofs could not be mixed, see why */
    struct carm_place_choices *choices;
    char why[CARM_TEXT_MAX];
    bool told;
};

struct carm_place_choices {
    const struct carm_model *model;
    struct carm_place_words words; /* texts borrowed */
    bool is_mixed;                 /* these choices are for a model with mixed roofs */
    struct mix *mixes[MIXES];
    size_t nmixes;
    char isa[CARM_NAME_MAX], precision[CARM_NAME_MAX]; /* named on the command line; "" = none */
    int threads;                                       /* 0 = none */
    char usual[CARM_NAME_MAX];                         /* precision of points without one */
    bool balance_told;                                 /* the command line names the place of
                                                        * balance: */
    enum carm_ceilings_order order;
    char metric[CARM_NAME_MAX];  /* "" = flops */
    bool modelled;               /* the metric's peak is in the model: operations on integers */
    double peak;                 /* of the metric; 0 = none */
    bool has_measured;           /* some roofs have measured ceilings */
    struct carm_place_set *sets; /* SETS for each set of roofs of the model */
    struct kind kinds[KINDS];
    size_t nkinds, next, last; /* next: entry to replace when all are used */
};

static bool fits(const struct carm_place_choices *c, const struct carm_roofs *r)
{
    return (!*c->isa || strcmp(r->isa, c->isa) == 0) && (!c->threads || r->threads == c->threads) &&
           (!*c->precision || strcmp(r->precision, c->precision) == 0);
}

/* A list of the model's contents, cut where it gets long. */
static void list_sets(const struct carm_model *model, char *dst, size_t size)
{
    bool fits = true;
    *dst = '\0';
    for (size_t i = 0; i < model->nroofs && fits; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        fits = r->between[1] ||
               carm_text_list_whole(dst, size, ", ", "%.16s %.16s with %d thread%s", r->isa,
                                    r->precision, r->threads, r->threads == 1 ? "" : "s");
    }
}

enum { METRIC_MAX = 32 };

static int read_metric(struct carm_place_choices *c, const struct carm_place_words *words,
                       struct carm_err *err)
{
    if (words->metric && (!*words->metric || strlen(words->metric) > METRIC_MAX)) {
        return carm_fail(err, CARM_EINVAL,
                         "--metric needs a name of 1 to %d bytes, such as exchange", METRIC_MAX);
    }
    if (words->metric && !carm_metric_is_flops(words->metric)) {
        snprintf(c->metric, sizeof c->metric, "%s", words->metric);
    } else if (words->precision && carm_precision_rank(words->precision) == 2) {
        snprintf(c->metric, sizeof c->metric, "%s", carm_precision_operation(words->precision));
        c->modelled = true;
    }
    if (words->peak && (!*c->metric || c->modelled)) {
        return carm_fail(err, CARM_EINVAL, "--peak needs --metric: the peak of %s is in the model",
                         c->modelled ? "integer operations" : "flops");
    }
    if (words->peak) {
        const char *end = carm_number_scan(words->peak, &c->peak);
        if (!end || *end || !isfinite(c->peak) || !(c->peak > 0.0)) {
            return carm_fail(err, CARM_EINVAL,
                             "--peak needs a rate above zero in operations per second, such as "
                             "2.5e9, not '%.40s'",
                             words->peak);
        }
    }
    return 0;
}

static int read_more_words(struct carm_place_choices *c, const struct carm_place_words *words,
                           struct carm_err *err)
{
    c->balance_told = words->balance != NULL;
    c->order = CARM_BALANCE_TOP;
    if (words->balance && strcmp(words->balance, "bottom") == 0) {
        c->order = CARM_BALANCE_BOTTOM;
    } else if (words->balance && strcmp(words->balance, "top") != 0) {
        return carm_fail(err, CARM_EINVAL, "--balance is top or bottom, not '%.40s'",
                         words->balance);
    }
    return read_metric(c, words, err);
}

static int read_words(struct carm_place_choices *c, const struct carm_place_words *words,
                      struct carm_err *err)
{
    struct carm_select sel;
    const int rc = carm_select_parse(&sel, words->isa, words->threads, err);
    if (rc) {
        return rc;
    }
    if (sel.nisa > 1 || sel.nthreads > 1) {
        return carm_fail(err, CARM_EINVAL,
                         "a point is placed under one set of roofs: --isa and --threads take one "
                         "value each");
    }
    snprintf(c->isa, sizeof c->isa, "%s", sel.nisa ? sel.isa[0] : "");
    snprintf(c->precision, sizeof c->precision, "%s", words->precision ? words->precision : "");
    c->threads = sel.nthreads ? sel.threads[0] : 0;
    const int bad = read_more_words(c, words, err);
    if (bad) {
        return bad;
    }
    for (size_t i = 0; i < c->model->nroofs; i++) {
        if (fits(c, &c->model->roofs[i])) {
            return 0;
        }
    }
    char sets[320];
    list_sets(c->model, sets, sizeof sets);
    return carm_fail(err, CARM_ENOTSUP,
                     "no roofs match --isa, --threads and --precision; the model has %s", sets);
}

int carm_place_choices_open(struct carm_place_choices **out, const struct carm_model *model,
                            const struct carm_place_words *words, struct carm_err *err)
{
    *out = NULL;
    if (model->nroofs == 0) {
        return carm_fail(err, CARM_ENOTSUP, "the model has no roofs; `carm build` measures them");
    }
    struct carm_place_choices *c = calloc(1, sizeof *c);
    if (c) {
        c->sets = calloc(SETS * model->nroofs, sizeof *c->sets);
    }
    if (!c || !c->sets) {
        carm_place_choices_close(c);
        return carm_fail(err, CARM_ENOMEM, "not enough memory to place points");
    }
    c->model = model;
    c->words = *words;
    c->has_measured = carm_place_has_ceilings(model);
    snprintf(c->usual, sizeof c->usual, "%.*s", (int)strcspn(model->config.precision, ","),
             model->config.precision);
    if (carm_precision_rank(c->usual) == 2) { /* rows without a precision count flops */
        snprintf(c->usual, sizeof c->usual, "dp");
    }
    const int rc = read_words(c, words, err);
    if (rc) {
        carm_place_choices_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

const char *carm_place_choices_metric(const struct carm_place_choices *choices)
{
    return choices->metric;
}

void carm_place_choices_close(struct carm_place_choices *choices)
{
    if (choices) {
        for (size_t i = 0; i < choices->nmixes; i++) {
            carm_place_choices_close(choices->mixes[i]->choices);
            carm_kinds_close(choices->mixes[i]->model);
            free(choices->mixes[i]);
        }
        free(choices->sets);
        free(choices);
    }
}

bool carm_place_has_ceilings(const struct carm_model *model)
{
    for (size_t i = 0; i < model->nroofs; i++) {
        if (model->roofs[i].nceilings > 0) {
            return true;
        }
    }
    return false;
}

/* ---- a kind of point ---- */

/* Whether the model has roofs of another number of threads than these. */
static bool has_other_threads(const struct carm_model *model, const struct carm_roofs *roofs)
{
    for (size_t i = 0; i < model->nroofs; i++) {
        if (model->roofs[i].threads != roofs->threads) {
            return true;
        }
    }
    return false;
}

static void fill(struct carm_place_choices *c, struct kind *k)
{
    const bool mixed = strcmp(k->precision, "mixed") == 0;
    const char *own = mixed && *c->metric ? "" : k->precision;
    const char *precision = *c->precision ? c->precision : *own ? own : c->usual;
    const struct carm_roofs *r = carm_place_roofs_of(c->model, *c->isa ? c->isa : k->isa, precision,
                                                     c->threads ? c->threads : k->threads, k->note);
    struct carm_place_set *set = &c->sets[SETS * (r - c->model->roofs)];
    set += k->integers ? OF_INTEGERS + (strcmp(r->precision, precision) != 0) : k->order != 0;
    if (!set->roofs && k->integers) {
        carm_place_prepare_integers(set, c->model, r, precision);
    } else if (!set->roofs && *c->metric && !c->modelled) {
        carm_place_prepare_metric(set, c->model, r, c->metric, c->peak);
    } else if (!set->roofs) {
        carm_place_prepare_ordered(set, c->model, r, k->order);
        snprintf(set->metric, sizeof set->metric, "%s", c->metric);
    }
    k->set = set;
    if (k->threads <= 0 && !c->threads && has_other_threads(c->model, r)) {
        carm_text_list(
            k->note, NOTES_MAX, "; ",
            "threads not known: placed under the roofs of %d (--threads N chooses others)",
            r->threads);
    }
}

/* The balance that the command line names, or the one that the kernel's own mix suggests. */
static enum carm_ceilings_order order_of(const struct carm_place_choices *c,
                                         const struct carm_point *p)
{
    if (c->balance_told || !c->has_measured) {
        return c->order;
    }
    return carm_runmix_is_balanced(&p->mix) ? CARM_BALANCE_BOTTOM : CARM_BALANCE_TOP;
}

/* Whether a point is placed as operations on integers: the command line names nothing else. */
static bool is_integers(const struct carm_place_choices *c, const struct carm_point *p)
{
    return !*c->precision && !*c->metric && strcmp(p->metric, CARM_METRIC_INTEGERS) == 0;
}

static bool is_kind(const struct kind *k, const struct carm_point *p, bool integers,
                    enum carm_ceilings_order order)
{
    return k->order == order && k->integers == integers && k->threads == p->threads &&
           strncmp(k->isa, p->isa, sizeof k->isa - 1) == 0 &&
           strncmp(k->precision, p->precision, sizeof k->precision - 1) == 0;
}

/* The choices under mixed roofs, made once for each mixture; NULL = the point's threads were on one kind of core, or there
 * are too many mixtures. */
static struct mix *find_mix(struct carm_place_choices *c, const struct carm_point *p)
{
    struct carm_kind_shares shares;
    struct carm_err err;
    if (c->is_mixed || !p->cores || !*p->cores || !carm_kinds_parse(p->cores, &shares)) {
        return NULL;
    }
    for (size_t i = 0; i < c->nmixes; i++) {
        if (strcmp(c->mixes[i]->cores, p->cores) == 0) {
            return c->mixes[i];
        }
    }
    struct mix *m = c->nmixes < MIXES ? calloc(1, sizeof *m) : NULL;
    if (!m) {
        return NULL;
    }
    c->mixes[c->nmixes++] = m;
    snprintf(m->cores, sizeof m->cores, "%s", p->cores);
    if (carm_kinds_mix(c->model, &shares, &m->model, m->why, &err) == 0 && m->model) {
        if (carm_place_choices_open(&m->choices, m->model, &c->words, &err)) {
            snprintf(m->why, sizeof m->why, "%.200s", err.text); /* such as --isa of one kind
                                                                  * only */
        } else {
            m->choices->is_mixed = true;
        }
    }
    return m;
}

void carm_place_choose(struct carm_place_choices *choices, const struct carm_point *point,
                       struct carm_place_choice *out)
{
    struct carm_place_choices *c = choices;
    struct mix *mix = find_mix(c, point);
    if (mix && mix->choices) {
        carm_place_choose(mix->choices, point, out);
        return;
    }
    size_t i = c->last;
    const enum carm_ceilings_order order = order_of(c, point);
    const bool integers = is_integers(c, point);
    if (i >= c->nkinds || !is_kind(&c->kinds[i], point, integers, order)) {
        for (i = 0; i < c->nkinds && !is_kind(&c->kinds[i], point, integers, order); i++) {
        }
    }
    if (i == c->nkinds) {
        i = c->nkinds < KINDS ? c->nkinds++ : c->next++ % KINDS;
        struct kind *k = &c->kinds[i];
        snprintf(k->isa, sizeof k->isa, "%s", point->isa);
        snprintf(k->precision, sizeof k->precision, "%s", point->precision);
        k->threads = point->threads;
        k->integers = integers;
        k->order = order;
        k->told = false;
        fill(c, k);
    }
    c->last = i;
    *out =
        (struct carm_place_choice){c->model, c->kinds[i].set, c->kinds[i].note, &c->kinds[i].told};
    if (mix && *mix->why) { /* the first note: the roofs are of other cores than the point's */
        out->note = mix->why;
        out->told = &mix->told;
    }
}

double carm_placed_explains(const struct carm_placed *placed)
{
    double most = 0.0;
    for (int i = 0; i < 2; i++) {
        most = placed->has[i] ? fmax(most, placed->place[i].share) : most;
    }
    for (size_t i = 0; placed->has_levels && i < placed->levels.n; i++) {
        most = fmax(most, placed->levels.at[i].share);
    }
    return fmin(1.0, most);
}

bool carm_place_other_host(const struct carm_point *point, const struct carm_model *model,
                           char *note, size_t size)
{
    const char *mine = model->machine.hostname;
    const bool elsewhere = *point->host && *mine && !carm_select_same_host(point->host, mine);
    note[0] = '\0';
    if (elsewhere) {
        snprintf(note, size, "it was measured on %.64s, but the model is of %.64s", point->host,
                 mine);
    }
    return elsewhere;
}

static void place(struct carm_placed *d, enum carm_place_which which, bool elsewhere, bool advice)
{
    const struct carm_point *p = d->point;
    const bool aware = which == CARM_PLACE_CACHE_AWARE;
    const struct carm_place_input in = {
        .flops = p->flops,
        .bytes = aware ? p->bytes : p->dram_bytes,
        .seconds = carm_point_ran_seconds(p),
        .flops_low = p->flops_low,
        .flops_high = p->flops_high,
        .bytes_low = aware ? p->bytes_low : p->level_low[2],
        .bytes_high = aware ? p->bytes_high : p->level_high[2],
        .threads = p->threads,
        .isa = p->isa,
        .precision = p->precision,
        .elsewhere = elsewhere,
    };
    if (!carm_point_knows(in.bytes)) {
        carm_fail(&d->why[which], CARM_EINVAL, "its %sbytes were not counted",
                  aware ? "" : "DRAM ");
    } else {
        d->has[which] = (advice ? carm_place_point : carm_place_find)(
                            d->set, which, &in, &d->place[which], &d->why[which]) == 0;
    }
}

const char *carm_placed_count(struct carm_point *counted, const struct carm_point *point,
                              const struct carm_place_choice *choice)
{
    const char *metric = choice->set->metric;
    *counted = *point;
    if (!*metric) {
        return carm_point_unplaced(point);
    }
    counted->flops = carm_point_operations(point, metric);
    counted->flops_low = counted->flops_high = CARM_POINT_UNKNOWN;
    return carm_point_unplaced_metric(point, metric);
}

/* Replaces the ceilings' advice for a program that its own mix limits. */
static void advise_own(struct carm_place *place, const struct carm_own_roof *own)
{
    /* share of a roof from which on the roof counts as reached; chosen by hand */
    static const double reached = 0.9;
    if (own->share < reached || own->share > 1.0 + CARM_PLACE_TOLERANCE || place->over ||
        own->gain < 1.0 + CARM_PLACE_TOLERANCE) {
        return;
    }
    snprintf(place->advice, sizeof place->advice,
             "as fast as its %s allow; with others, at most %.1fx is left",
             place->intensity * own->bandwidth < own->peak ? "loads and stores" : "operations",
             own->gain);
}

static void find_own(struct carm_placed *d, const struct carm_model *model)
{
    const bool integers = carm_precision_rank(d->roofs->precision) == 2;
    if ((*d->set->metric && !integers) || (!d->has[0] && !d->has[1]) ||
        !carm_runmix_any(&d->point->mix)) {
        return;
    }
    carm_own_find(model, d->roofs, &d->point->mix, d->point->flops, d->point->bytes, &d->own);
    for (int i = 0; i < 2; i++) {
        d->has_own[i] = d->has[i] && carm_own_place(&d->own, d->set, (enum carm_place_which)i,
                                                    &d->place[i], &d->own_roof[i]);
        if (d->has_own[i]) {
            advise_own(&d->place[i], &d->own_roof[i]);
        }
    }
}

static void find_levels(struct carm_placed *d, const struct carm_model *model)
{
    const struct carm_point *p = d->point;
    const bool integers = strcmp(d->set->metric, CARM_METRIC_INTEGERS) == 0;
    struct carm_levels_input in = {
        .flops = p->flops,
        .integers = integers,
        .seconds = carm_point_ran_seconds(p),
        .bytes = {p->bytes, p->level_bytes[0], p->level_bytes[1], p->dram_bytes},
        .unused = {CARM_POINT_UNKNOWN, p->level_unused[0], p->level_unused[1], p->level_unused[2]},
    };
    memcpy(in.misses[CARM_AT_L2], p->level_misses, sizeof p->level_misses);
    memcpy(&in.low[CARM_AT_L2], p->level_low, sizeof p->level_low);
    memcpy(&in.high[CARM_AT_L2], p->level_high, sizeof p->level_high);
    if ((!*d->set->metric || integers) && (p->level_bytes[0] > 0.0 || p->level_bytes[1] > 0.0)) {
        d->has_levels = carm_levels_place(model, d->roofs, &in, &d->levels);
    }
}

void carm_placed_places(struct carm_placed *placed, const struct carm_point *point,
                        const struct carm_place_choice *choice, const char *unplaced,
                        const char *host, bool advice)
{
    placed->point = point;
    placed->set = choice->set;
    placed->roofs = choice->set->roofs;
    placed->rows = 1;
    placed->imbalance = 0.0;
    placed->unplaced = unplaced;
    placed->notes[0] = unplaced ? "" : choice->note; /* about the roofs */
    placed->notes[1] = host;
    placed->notes[2] = placed->notes[3] = "";
    placed->fresh = !unplaced && !*choice->told;
    *choice->told = *choice->told || !unplaced;
    placed->view = placed->whole = NULL;
    placed->has[0] = placed->has[1] = placed->has_runtime = false;
    placed->has_own[0] = placed->has_own[1] = placed->has_levels = false;
    for (int which = 0; which < 2 && !unplaced; which++) {
        place(placed, (enum carm_place_which)which, *host != '\0', advice);
    }
}

void carm_placed_fill(struct carm_placed *placed, const struct carm_point *point,
                      const struct carm_place_choice *choice, const char *unplaced,
                      const char *host)
{
    carm_placed_places(placed, point, choice, unplaced, host, true);
    if (!unplaced) {
        find_own(placed, choice->model);
        find_levels(placed, choice->model);
    }
}

/* Error of a part's time, as a share. The time is a number of samples, which is rounded (one
 * sample) and random (two standard deviations). */
static double sampling_error(const struct carm_point *p)
{
    const double others = carm_point_knows(p->time_share) ? fmax(1.0 - p->time_share, 0.0) : 1.0;
    return p->samples > 0.0 ? (1.0 + 2.0 * sqrt(p->samples * others)) / p->samples : 0.0;
}

/* Whether numbers seem to be in other units (Gflop, GB, ms): a point a million times below or a thousand times above
 * its roof, or an impossible intensity. */
static bool has_odd_units(const struct carm_placed *placed)
{
    for (int i = 0; i < 2 && !*placed->point->counted_by; i++) {
        const struct carm_place *p = &placed->place[i];
        if (placed->has[i] && (p->share < 1e-6 || p->share > 1e3 || p->intensity < 1e-8 ||
                               (isfinite(p->intensity) && p->intensity > 1e6))) {
            return true;
        }
    }
    return false;
}

char *carm_place_notes(char *dst, size_t size, const struct carm_placed *placed, bool only_fresh)
{
    static const double worth_telling =
        0.10; /* standard error of a time, relative; chosen by hand */
    const struct carm_point *p = placed->point;
    const double error = sampling_error(p);
    char share[80] = "";
    char samples[120] = "";
    char waits[120] = "";
    if (carm_point_waits(p->threads, p->task_seconds, p->seconds) && !placed->unplaced) {
        snprintf(waits, sizeof waits,
                 "it waits: on CPUs for %.3g s of %.3g s, and rates are over these",
                 p->task_seconds, p->seconds);
    }
    if (error > worth_telling && !placed->unplaced) {
        snprintf(
            samples, sizeof samples,
            "its time comes from %.0f sample%s, so it can be off by %.0f%%: run longer, or carm "
            "run --repeat",
            p->samples, p->samples > 1.0 ? "s" : "", 100.0 * error);
    }
    if (carm_point_knows(p->share) && p->share < 0.9995) {
        snprintf(share, sizeof share, "scaled: %.3g%% of its time or calls was counted",
                 100.0 * p->share);
    }
    const char *const all[] = {
        p->note,
        has_odd_units(placed)
            ? "beyond any machine: are these flops, bytes and seconds, not Gflop, GB or ms?"
            : "",
        share,
        waits,
        samples,
        only_fresh && !placed->fresh ? "" : placed->notes[0],
        placed->notes[1],
        placed->notes[2],
        placed->notes[3]};
    dst[0] = '\0';
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        /* a row from carm place --csv already has its notes */
        if (*all[i] && (i == 0 || !strstr(p->note, all[i]))) {
            carm_text_list(dst, size, "; ", "%s", all[i]);
        }
    }
    return dst;
}
