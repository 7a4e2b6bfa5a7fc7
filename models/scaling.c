/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scaling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "models/roofline.h"

/* Largest relative distance of a curve from a line between two points without a measurement between them: the smallest
 * interval of shared levels (validation/series.c). */
static const double straight = 0.05;
/* Share of the best rate that counts as saturated: shared levels' figures repeat within 5%. */
static const double saturated = 0.95;
/* Largest share of the threads for which saturation is reported. Chosen by hand. */
static const double fewer = 0.9;

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

size_t carm_scaling_begin(int most, const int *places, size_t nplaces,
                          int steps[CARM_SCALING_STEPS])
{
    enum { ALL = 64 };
    int all[ALL] = {most};
    size_t n = 1;
    size_t out = 0;
    for (size_t i = 0; i < nplaces && n < ALL; i++) {
        all[n] = places[i];
        n += places[i] > 0 && places[i] <= most ? 1 : 0;
    }
    for (int t = 1; t < most && n < ALL && t > 0; t *= 2) {
        all[n++] = t;
    }
    qsort(all, n, sizeof *all, ascending);
    for (size_t i = 0; i < n; i++) {
        if (out == 0 || all[i] != steps[out - 1]) {
            /* if there are too many, the last one is the largest */
            steps[out < CARM_SCALING_STEPS ? out++ : out - 1] = all[i];
        }
    }
    return out;
}

/* The rate at t on the line through two points. */
static double line(const struct carm_scaling_point *a, const struct carm_scaling_point *b, double t)
{
    return a->rate + (b->rate - a->rate) * (t - a->threads) / (b->threads - a->threads);
}

/* The largest possible distance of the curve from the line between points i and i + 1, relative to the line, and its
 * place. */
static double doubt(const struct carm_scaling *c, size_t i, int *at)
{
    const struct carm_scaling_point *p = c->points;
    const int a = p[i].threads;
    const int b = p[i + 1].threads;
    double most = 0.0;
    for (int t = a + 1; t < b; t++) {
        const double between = line(&p[i], &p[i + 1], t);
        /* behind the last point only the line through the two points before it is a bound */
        double bound = i > 0 ? line(&p[i - 1], &p[i], t) : HUGE_VAL;
        bound = i + 2 < c->npoints ? fmin(bound, line(&p[i + 1], &p[i + 2], t)) : bound;
        const double off = fabs(bound - between) / between;
        if (off > most && isfinite(off)) {
            most = off;
            *at = t;
        }
    }
    if (most > 0.0 && (i == 0 || i + 2 == c->npoints)) {
        *at = a + (b - a) / 2; /* a single bound is furthest at the end that it does not touch */
    }
    return most;
}

/* Half intervals of two neighbours, relative to the lower rate. */
static double blur(const struct carm_scaling_point *p)
{
    return 0.5 * (p[0].ci95.hi - p[0].ci95.lo + p[1].ci95.hi - p[1].ci95.lo) /
           fmin(p[0].rate, p[1].rate);
}

int carm_scaling_next(const struct carm_scaling *curves, size_t n)
{
    double most = 0.0;
    int next = 0;
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i + 1 < curves[k].npoints; i++) {
            int at = 0;
            const double off = doubt(&curves[k], i, &at);
            if (off > most && off > fmax(straight, blur(&curves[k].points[i]))) {
                most = off;
                next = at;
            }
        }
    }
    return next;
}

const struct carm_scaling *carm_scaling_find(const struct carm_model *model, const char *level)
{
    for (size_t i = 0; i < model->nscaling; i++) {
        const struct carm_scaling *c = &model->scaling[i];
        if (strcmp(c->layout, model->scaling[0].layout) == 0 && strcmp(c->level, level) == 0) {
            return c;
        }
    }
    return NULL;
}

double carm_scaling_rate(const struct carm_scaling *curve, int threads, int between[2])
{
    for (size_t i = 0; i < curve->npoints; i++) {
        const struct carm_scaling_point *p = &curve->points[i];
        if (p->threads == threads) {
            between[0] = between[1] = threads;
            return p->rate;
        }
        if (i > 0 && p[-1].threads < threads && threads < p->threads) {
            between[0] = p[-1].threads;
            between[1] = p->threads;
            return line(&p[-1], p, threads);
        }
    }
    return 0.0;
}

/* The best rate of up to `most` threads: a curve of straight lines has it at a measured number or at the end. */
static double best_rate(const struct carm_scaling *curve, int most)
{
    int between[2];
    double best = carm_scaling_rate(curve, most, between);
    for (size_t i = 0; i < curve->npoints && best > 0.0; i++) {
        const struct carm_scaling_point *p = &curve->points[i];
        best = p->threads < most ? fmax(best, p->rate) : best;
    }
    return best;
}

int carm_scaling_enough(const struct carm_scaling *curve, int most)
{
    const double enough = saturated * best_rate(curve, most);
    int between[2];
    if (!(enough > 0.0)) {
        return 0;
    }
    int t = curve->points[0].threads;
    while (t < most && carm_scaling_rate(curve, t, between) < enough) {
        t++;
    }
    return t;
}

bool carm_scaling_saturates(int enough, int most)
{
    return enough > 0 && enough <= fewer * most;
}

char *carm_scaling_words(char *dst, size_t size, const struct carm_model *model, const char *level,
                         int threads)
{
    const struct carm_scaling *curve = carm_scaling_find(model, level);
    const int enough = curve ? carm_scaling_enough(curve, threads) : 0;
    dst[0] = '\0';
    if (carm_scaling_saturates(enough, threads)) {
        snprintf(dst, size,
                 "%d of its %d threads are enough: they reach %.0f%% of the bandwidth of %.16s",
                 enough, threads, 100.0 * saturated, level);
    }
    return dst;
}

static const char *unit_of(const struct carm_scaling *c)
{
    return strcmp(c->level, CARM_SCALING_PEAK) == 0 ? carm_precision_rate(c->precision) : "B/s";
}

/* "4 of 8 threads on l3:0 reach 95% of its bandwidth". returns whether the curve saturates there */
static bool say_place(const struct carm_scaling *c, const char *place, int threads,
                      char line_of[CARM_SCALING_LINE])
{
    const int enough = carm_scaling_enough(c, threads);
    const double best = best_rate(c, threads);
    int between[2];
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX], less[80] = "";
    if (!carm_scaling_saturates(enough, threads)) {
        return false;
    }
    const double end = carm_scaling_rate(c, threads, between);
    if (end < fewer * best) {
        snprintf(less, sizeof less, ", all %d get %s", threads,
                 carm_text_si(b, sizeof b, end, unit_of(c)));
    }
    snprintf(line_of, CARM_SCALING_LINE, "%.16s: %d of %d threads%s%.40s reach %.0f%% of %s%s",
             c->level, enough, threads, *place ? " on " : "", place, 100.0 * saturated,
             carm_text_si(a, sizeof a, best, unit_of(c)), less);
    return true;
}

/* The number of threads at which the second layout gains most over the first: 10% or more. */
static bool say_layout(const struct carm_model *m, const struct carm_scaling *spread,
                       char line_of[CARM_SCALING_LINE])
{
    const struct carm_scaling *first = carm_scaling_find(m, spread->level);
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX];
    const struct carm_scaling_point *at = NULL;
    double gain = 1.0 / fewer;
    double rate = 0.0;
    for (size_t i = 0; first && i < spread->npoints; i++) {
        const struct carm_scaling_point *p = &spread->points[i];
        int between[2];
        const double other = carm_scaling_rate(first, p->threads, between);
        if (other > 0.0 && p->rate > gain * other) {
            gain = p->rate / other;
            rate = other;
            at = p;
        }
    }
    if (at) {
        snprintf(line_of, CARM_SCALING_LINE, "%.16s: %d threads get %s %.16s, %s %.16s",
                 spread->level, at->threads, carm_text_si(a, sizeof a, rate, unit_of(spread)),
                 first->layout, carm_text_si(b, sizeof b, at->rate, unit_of(spread)),
                 spread->layout);
    }
    return at != NULL;
}

size_t carm_scaling_say(const struct carm_model *m, char (*lines)[CARM_SCALING_LINE], size_t most)
{
    char grows[CARM_SCALING_LINE] = "";
    size_t n = 0;
    int end = 0;
    for (size_t i = 0; i < m->nscaling && n < most; i++) {
        const struct carm_scaling *c = &m->scaling[i];
        const int last = c->npoints ? c->points[c->npoints - 1].threads : 0;
        bool said = last < 2;
        if (carm_scaling_find(m, c->level) != c) {
            n += say_layout(m, c, lines[n]);
            continue;
        }
        for (size_t k = 0; k < m->nscaling_units && n < most; k++) {
            const struct carm_scaling_unit *u = &m->scaling_units[k];
            if (u->threads < last && say_place(c, u->place, u->threads, lines[n])) {
                said = true;
                n++;
            }
        }
        if (last > 1 && n < most && say_place(c, "", last, lines[n])) {
            said = true;
            n++;
        }
        if (!said) {
            carm_text_list(grows, sizeof grows, ", ", "%.16s", c->level);
            end = last;
        }
    }
    if (*grows && n < most) {
        snprintf(lines[n++], CARM_SCALING_LINE, "%.120s: no saturation up to %d threads", grows,
                 end);
    }
    return n;
}

/* The sets of the same ISA and precision next to a number of threads; NULL = none. */
static void find_sides(const struct carm_model *m, size_t nroofs, const struct carm_roofs *like,
                       int threads, const struct carm_roofs *sides[2])
{
    sides[0] = sides[1] = NULL;
    for (size_t i = 0; i < nroofs; i++) {
        const struct carm_roofs *r = &m->roofs[i];
        if (strcmp(r->isa, like->isa) != 0 || strcmp(r->precision, like->precision) != 0) {
            continue;
        }
        if (r->threads <= threads && (!sides[0] || r->threads > sides[0]->threads)) {
            sides[0] = r;
        }
        if (r->threads >= threads && (!sides[1] || r->threads < sides[1]->threads)) {
            sides[1] = r;
        }
    }
}

/* A set that is filled from the sets with fewer and with more threads. */
struct filling {
    const struct carm_model *model;
    const struct carm_roofs *low, *high; /* low: NULL = none */
    struct carm_roofs *set;
    int between[2]; /* measured numbers of threads around the set's, of the last factor */
};

/* The factor from a roof with more threads to the set's roof; 0 = not known.
 * level  the level whose scaling was measured
 * low, high  the roof's rate with fewer threads (0 = none) and with more */
static double factor(struct filling *f, const char *level, double low, double high)
{
    int other[2];
    const struct carm_scaling *c = carm_scaling_find(f->model, level);
    const double here = c ? carm_scaling_rate(c, f->set->threads, f->between) : 0.0;
    const double at_low =
        here > 0.0 && f->low && low > 0.0 ? carm_scaling_rate(c, f->low->threads, other) : 0.0;
    const double at_high = here > 0.0 ? carm_scaling_rate(c, f->high->threads, other) : 0.0;
    if (!(at_high > 0.0)) {
        return 0.0;
    }
    double ratio = high / at_high;
    if (f->low && at_low > 0.0) {
        const double share =
            (double)(f->set->threads - f->low->threads) / (f->high->threads - f->low->threads);
        ratio = low / at_low + share * (ratio - low / at_low);
    }
    return here * ratio / high;
}

/* Scales a roof to the set's threads, and keeps the widest range of threads around the set's.
 * per_cycle  rate per cycle of one thread */
static void scale(const struct filling *f, double times, double *rate, struct carm_ci *ci,
                  double *per_cycle)
{
    struct carm_roofs *set = f->set;
    *rate *= times;
    ci->lo *= times;
    ci->hi *= times;
    *per_cycle *= times * f->high->threads / set->threads;
    if (set->between[0] == 0 || f->between[1] - f->between[0] > set->between[1] - set->between[0]) {
        memcpy(set->between, f->between, sizeof set->between);
    }
}

/* Fills a set from those with fewer and more threads. returns 0 or -CARM_ENOMEM */
static int fill_set(const struct carm_model *m, const struct carm_roofs *low,
                    const struct carm_roofs *high, int threads, struct carm_roofs *set)
{
    struct filling f = {.model = m, .low = low, .high = high, .set = set};
    *set = (struct carm_roofs){.threads = threads, .clock_hz = high->clock_hz};
    memcpy(set->isa, high->isa, sizeof set->isa);
    memcpy(set->precision, high->precision, sizeof set->precision);
    set->memory = calloc(high->nmemory + 1, sizeof *set->memory);
    set->compute = calloc(high->ncompute + 1, sizeof *set->compute);
    if (!set->memory || !set->compute) {
        return -CARM_ENOMEM;
    }
    for (size_t i = 0; i < high->nmemory; i++) {
        struct carm_memory_roof r = high->memory[i];
        const struct carm_memory_roof *l =
            low ? carm_roofs_find_memory(low, r.level, r.ldst) : NULL;
        const double times = factor(&f, r.level, l ? l->bandwidth : 0.0, r.bandwidth);
        if (times > 0.0) {
            scale(&f, times, &r.bandwidth, &r.ci95, &r.bytes_per_cycle);
            r.rounds = NULL;
            r.nrounds = 0;
            set->memory[set->nmemory++] = r;
        }
    }
    for (size_t i = 0; i < high->ncompute; i++) {
        struct carm_compute_roof r = high->compute[i];
        const struct carm_compute_roof *l = low ? carm_roofs_find_compute(low, r.op) : NULL;
        const double times = factor(&f, CARM_SCALING_PEAK, l ? l->rate : 0.0, r.rate);
        if (times > 0.0) {
            scale(&f, times, &r.rate, &r.ci95, &r.flops_per_cycle);
            r.rounds = NULL;
            r.nrounds = 0;
            set->compute[set->ncompute++] = r;
        }
    }
    const double times =
        factor(&f, "DRAM", low ? low->dram_peak.bandwidth : 0.0, high->dram_peak.bandwidth);
    if (high->dram_peak.bandwidth > 0.0 && times > 0.0) {
        set->dram_peak = high->dram_peak;
        set->dram_peak.bandwidth *= times;
    }
    return 0;
}

/* Adds a set of an ISA and precision for a number of threads without a set. returns 0 or
 * -CARM_ENOMEM */
static int add_set(struct carm_model *m, size_t measured, size_t like, int threads,
                   struct carm_err *err)
{
    const struct carm_roofs *sides[2];
    find_sides(m, measured, &m->roofs[like], threads, sides);
    if (!sides[1] || sides[1]->threads == threads) {
        return 0;
    }
    struct carm_roofs set;
    int rc = fill_set(m, sides[0], sides[1], threads, &set);
    if (!rc && set.nmemory && set.ncompute) {
        rc = carm_array_grow(&m->roofs, NULL, m->nroofs, 1, sizeof *m->roofs, "the roofs", err);
        if (!rc) {
            m->roofs[m->nroofs++] = set;
            return 0;
        }
    }
    free(set.memory);
    free(set.compute);
    return rc ? carm_fail(err, CARM_ENOMEM, "not enough memory for the roofs") : 0;
}

bool carm_scaling_reaches(const struct carm_model *model, const char *isa, const char *precision,
                          int threads)
{
    const struct carm_scaling *peak = carm_scaling_find(model, CARM_SCALING_PEAK);
    int between[2];
    bool more = false;
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        more = more || (r->threads > threads && strcmp(r->isa, isa) == 0 &&
                        strcmp(r->precision, precision) == 0);
    }
    return more && peak && carm_scaling_rate(peak, threads, between) > 0.0;
}

/* Whether no set before has the same ISA and precision. */
static bool is_first(const struct carm_model *m, size_t at)
{
    bool first = true;
    for (size_t i = 0; i < at && first; i++) {
        first = strcmp(m->roofs[i].isa, m->roofs[at].isa) != 0 ||
                strcmp(m->roofs[i].precision, m->roofs[at].precision) != 0;
    }
    return first;
}

/* The set with roofs of memory whose vectors move as many bytes: of the same ISA and threads, in the
 * other of dp and sp. NULL = none */
static const struct carm_roofs *with_memory(const struct carm_model *m, const struct carm_roofs *of)
{
    const struct carm_roofs *found = NULL;
    for (size_t i = 0; i < m->nroofs && carm_isa_rank(of->isa) > 0; i++) {
        const struct carm_roofs *r = &m->roofs[i];
        if (r->nmemory > 0 && r->threads == of->threads && strcmp(r->isa, of->isa) == 0 &&
            carm_precision_rank(r->precision) == 0 && carm_precision_rank(of->precision) == 0) {
            found = r;
        }
    }
    return found;
}

/* Gives sets without roofs of memory those of with_memory. returns 0 or -CARM_ENOMEM */
static int fill_memory(struct carm_model *m, struct carm_err *err)
{
    for (size_t i = 0; i < m->nroofs; i++) {
        struct carm_roofs *set = &m->roofs[i];
        const struct carm_roofs *from = set->nmemory == 0 ? with_memory(m, set) : NULL;
        if (!from) {
            continue;
        }
        free(set->memory);
        set->memory = calloc(from->nmemory, sizeof *set->memory);
        if (!set->memory) {
            return carm_fail(err, CARM_ENOMEM, "not enough memory for the roofs");
        }
        for (; set->nmemory < from->nmemory; set->nmemory++) {
            struct carm_memory_roof *roof = &set->memory[set->nmemory];
            *roof = from->memory[set->nmemory];
            roof->rounds = NULL; /* not owned twice */
            roof->nrounds = 0;
        }
        set->dram_peak = from->dram_peak;
    }
    return 0;
}

int carm_scaling_fill(struct carm_model *model, struct carm_err *err)
{
    const size_t measured = model->nroofs;
    int most = 0;
    int rc = fill_memory(model, err);
    for (size_t i = 0; i < measured; i++) {
        most = model->roofs[i].threads > most ? model->roofs[i].threads : most;
    }
    for (size_t i = 0; model->nscaling && i < measured && !rc; i++) {
        for (int t = 1; t < most && !rc && is_first(model, i); t++) {
            rc = add_set(model, measured, i, t, err);
        }
    }
    return rc;
}

char *carm_scaling_origin(char *dst, size_t size, const struct carm_roofs *roofs)
{
    const int *b = roofs->between;
    dst[0] = '\0';
    if (b[1] > b[0]) {
        snprintf(dst, size,
                 "the roofs of %d threads are interpolated between %d and %d threads (carm build "
                 "--scaling)",
                 roofs->threads, b[0], b[1]);
    } else if (b[1] > 0) {
        snprintf(dst, size, "the roofs of %d threads are from carm build --scaling",
                 roofs->threads);
    }
    return dst;
}
