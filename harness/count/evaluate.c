/* SPDX-License-Identifier: MIT */
#include "harness/count/evaluate.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Readings on their way to quantities. */
struct evaluation {
    const struct carm_recipe *recipe;
    const struct carm_reading *readings;
    struct carm_counts *out;
    bool checked[CARM_Q_COUNT]; /* a count of 0 is an error */
};

/* A scaled count; returns false where the event was not counted. */
static bool read_event(const struct carm_reading *r, double *count, double *share)
{
    if (!r->present || !(r->running > 0) || !(r->enabled > 0) || !isfinite(r->count)) {
        return false;
    }
    const bool multiplexed = r->running < r->enabled;
    *share = multiplexed ? r->running / r->enabled : 1.0;
    *count = multiplexed ? r->count * (r->enabled / r->running) : r->count;
    return true;
}

static void sum_formula(struct evaluation *e, const struct carm_formula *f)
{
    struct carm_count c = {.by = CARM_COUNTED_KERNEL, .share = 1.0};
    for (size_t i = 0; i < f->nterms; i++) {
        double count = 0;
        double share = 1;
        if (!read_event(&e->readings[f->terms[i].event], &count, &share)) {
            return;
        }
        c.value += f->terms[i].weight * count;
        c.share = fmin(c.share, share);
        if (e->recipe->events[f->terms[i].event].scope != CARM_EVENT_SOFTWARE) {
            c.by = CARM_COUNTED_PMU;
        }
    }
    c.high = c.value;
    c.low = f->upper_bound ? 0 : c.value;
    e->out->q[f->quantity] = c;
}

static const struct carm_formula *find_formula(const struct carm_recipe *recipe,
                                               enum carm_quantity q)
{
    for (size_t i = 0; i < recipe->nformulas; i++) {
        if (recipe->formulas[i].quantity == q) {
            return &recipe->formulas[i];
        }
    }
    return NULL;
}

/* Sets `to` to the sum of parts, unless it has its own formula.
 * n      number of parts
 * whole  true: all parts must be known; false: the parts for which the recipe has formulas */
static void derive_sum(struct evaluation *e, enum carm_quantity to, const enum carm_quantity *parts,
                       size_t n, bool whole)
{
    if (find_formula(e->recipe, to)) {
        return;
    }
    struct carm_count c = {.share = 1.0};
    bool required = true;
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        const struct carm_count *part = &e->out->q[parts[i]];
        if (part->by == CARM_COUNTED_NOT) {
            if (whole || find_formula(e->recipe, parts[i])) {
                return;
            }
            continue;
        }
        c.value += part->value;
        c.low += part->low;
        c.high += part->high;
        c.share = fmin(c.share, part->share);
        c.by = part->by;
        required = required && e->checked[parts[i]];
        used++;
    }
    if (used > 0) {
        e->out->q[to] = c;
        e->checked[to] = required;
    }
}

static void derive_flops(struct evaluation *e)
{
    static const enum carm_quantity dp[] = {CARM_Q_DP_SCALAR, CARM_Q_DP_128, CARM_Q_DP_256,
                                            CARM_Q_DP_512};
    static const enum carm_quantity sp[] = {CARM_Q_SP_SCALAR, CARM_Q_SP_128, CARM_Q_SP_256,
                                            CARM_Q_SP_512};
    static const enum carm_quantity all[] = {CARM_Q_FLOPS_DP, CARM_Q_FLOPS_SP};
    derive_sum(e, CARM_Q_FLOPS_DP, dp, 4, false);
    derive_sum(e, CARM_Q_FLOPS_SP, sp, 4, false);
    derive_sum(e, CARM_Q_FLOPS, all, 2, true);
    /* x87 and half precision are added if the recipe counts them */
    const struct carm_count *other = &e->out->q[CARM_Q_FLOPS_OTHER];
    struct carm_count *flops = &e->out->q[CARM_Q_FLOPS];
    if (find_formula(e->recipe, CARM_Q_FLOPS) || !find_formula(e->recipe, CARM_Q_FLOPS_OTHER) ||
        flops->by == CARM_COUNTED_NOT) {
        return;
    }
    if (other->by == CARM_COUNTED_NOT) {
        *flops = *other;
        return;
    }
    flops->value += other->value;
    flops->low += other->low;
    flops->high += other->high;
    flops->share = fmin(flops->share, other->share);
}

/* The mix of FP widths. */
struct mix {
    double mean, low, high; /* bytes */
    double share;
};

static bool read_mix(const struct evaluation *e, struct mix *mix)
{
    double all = 0;
    double bytes = 0;
    *mix = (struct mix){.low = INFINITY, .share = 1.0};
    for (size_t i = 0; i < e->recipe->nwidths; i++) {
        const struct carm_width *w = &e->recipe->widths[i];
        double count = 0;
        double share = 1;
        if (!read_event(&e->readings[w->event], &count, &share)) {
            return false;
        }
        mix->share = fmin(mix->share, share);
        if (count > 0) {
            all += count;
            bytes += count * w->bytes;
            mix->low = fmin(mix->low, w->low);
            mix->high = fmax(mix->high, w->bytes);
        }
    }
    mix->mean = all > 0 ? bytes / all : 0;
    return all > 0;
}

static void derive_bytes_of(struct evaluation *e, enum carm_quantity accesses,
                            enum carm_quantity bytes, const struct mix *mix)
{
    const struct carm_count *a = &e->out->q[accesses];
    if (a->by == CARM_COUNTED_NOT || find_formula(e->recipe, bytes)) {
        return;
    }
    e->out->q[bytes] = (struct carm_count){.value = a->value * mix->mean,
                                           .low = a->low * mix->low,
                                           .high = a->high * mix->high,
                                           .by = a->by,
                                           .share = fmin(a->share, mix->share)};
    e->checked[bytes] = e->checked[accesses];
}

#define ADD_NOTE(out, ...) carm_text_list((out)->note, sizeof(out)->note, "; ", __VA_ARGS__)

static void derive_bytes(struct evaluation *e)
{
    static const enum carm_quantity parts[] = {CARM_Q_LOAD_BYTES, CARM_Q_STORE_BYTES};
    struct mix mix;
    if (read_mix(e, &mix)) {
        derive_bytes_of(e, CARM_Q_LOADS, CARM_Q_LOAD_BYTES, &mix);
        derive_bytes_of(e, CARM_Q_STORES, CARM_Q_STORE_BYTES, &mix);
    }
    derive_sum(e, CARM_Q_BYTES, parts, 2, true);
    const struct carm_count *b = &e->out->q[CARM_Q_BYTES];
    if (e->recipe->nwidths > 0 && b->by != CARM_COUNTED_NOT) {
        ADD_NOTE(e->out,
                 "bytes are accesses x %.3g, the mean width of FP instructions (widths seen: %g to "
                 "%g)",
                 mix.mean, mix.low, mix.high);
    }
}

static void note_upper_bounds(struct evaluation *e)
{
    static const enum carm_quantity shown[] = {CARM_Q_FLOPS, CARM_Q_LOADS, CARM_Q_STORES};
    char list[64] = "";
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        const struct carm_count *c = &e->out->q[shown[i]];
        if (c->by != CARM_COUNTED_NOT && c->low < c->value) {
            carm_text_list(list, sizeof list, ", ", "%s", carm_quantity_name(shown[i]));
        }
    }
    if (list[0]) {
        ADD_NOTE(e->out, "upper bounds: %s", list);
    }
}

/* Whether a formula's quantity is q or a part of q. */
static bool goes_into(enum carm_quantity of, enum carm_quantity q)
{
    const bool dp = of >= CARM_Q_DP_SCALAR && of <= CARM_Q_DP_512;
    const bool sp = of >= CARM_Q_SP_SCALAR && of <= CARM_Q_SP_512;
    switch (q) {
    case CARM_Q_FLOPS:
        return of == q || dp || sp;
    case CARM_Q_FLOPS_DP:
        return of == q || dp;
    case CARM_Q_FLOPS_SP:
        return of == q || sp;
    case CARM_Q_LOAD_BYTES:
        return of == q || of == CARM_Q_LOADS;
    case CARM_Q_STORE_BYTES:
        return of == q || of == CARM_Q_STORES;
    case CARM_Q_BYTES:
        return of == q || of == CARM_Q_LOADS || of == CARM_Q_STORES;
    default:
        return of == q;
    }
}

static void list_events(const struct evaluation *e, enum carm_quantity q, char *list, size_t size)
{
    size_t used = 0;
    list[0] = '\0';
    for (size_t i = 0; i < e->recipe->nformulas; i++) {
        const struct carm_formula *f = &e->recipe->formulas[i];
        for (size_t k = 0; goes_into(f->quantity, q) && k < f->nterms; k++) {
            const struct carm_event *event = &e->recipe->events[f->terms[k].event];
            const char *name = event->papi[0] ? event->papi : event->likwid;
            if (used + strlen(name) + sizeof ", ..." > size - 2) {
                snprintf(list + used, size - used, ", ...");
                return;
            }
            used += (size_t)snprintf(list + used, size - used, "%s%s", used ? ", " : "", name);
        }
    }
}

static int check_must(struct evaluation *e, const bool *must, struct carm_err *err)
{
    for (unsigned q = 0; must && q < CARM_Q_COUNT; q++) {
        const struct carm_count *c = &e->out->q[q];
        if (!must[q] || !e->checked[q] || c->by == CARM_COUNTED_NOT || c->value > 0) {
            continue;
        }
        char list[240];
        list_events(e, (enum carm_quantity)q, list, sizeof list);
        memset(e->out, 0, sizeof *e->out);
        return carm_fail(
            err, CARM_EFORMAT,
            "%s was counted as 0, but the code executes some (%s): the hypervisor hides "
            "counters, or the events of recipe %.48s are not those of this processor; "
            "use --counters none to run without counters",
            carm_quantity_name((enum carm_quantity)q), list, e->recipe->name);
    }
    return 0;
}

int carm_recipe_evaluate(const struct carm_recipe *recipe, const struct carm_reading *readings,
                         const bool *must, struct carm_counts *out, struct carm_err *err)
{
    static const enum carm_quantity dram[] = {CARM_Q_DRAM_READ_BYTES, CARM_Q_DRAM_WRITE_BYTES};
    struct evaluation e = {.recipe = recipe, .readings = readings, .out = out};
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < recipe->nformulas; i++) {
        sum_formula(&e, &recipe->formulas[i]);
        e.checked[recipe->formulas[i].quantity] = recipe->formulas[i].required;
    }
    derive_flops(&e);
    derive_bytes(&e);
    derive_sum(&e, CARM_Q_DRAM_BYTES, dram, 2, true);
    note_upper_bounds(&e);
    return check_must(&e, must, err);
}

void carm_recipe_note_missing(const struct carm_recipe *recipe, struct carm_counts *counts)
{
    char list[128] = "";
    bool some = false;
    for (size_t i = 0; i < recipe->nformulas; i++) {
        const struct carm_formula *f = &recipe->formulas[i];
        const bool counted = counts->q[f->quantity].by != CARM_COUNTED_NOT;
        some = some || counts->q[f->quantity].by == CARM_COUNTED_PMU;
        if (!counted && recipe->events[f->terms[0].event].scope == CARM_EVENT_THREAD) {
            carm_text_list(list, sizeof list, ", ", "%s", carm_quantity_name(f->quantity));
        }
    }
    if (some && list[0]) {
        ADD_NOTE(counts, "not counted: %s", list);
    }
}
