/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/place/view_text.h"

#include <stdarg.h>
#include <string.h>

#include "base/text.h"

/* Less is within the errors of times and counts. */
static const double worth_naming = 1.005;

struct text {
    char *dst;
    size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(t->dst + t->used, t->size - t->used, fmt, ap);
    va_end(ap);
    t->used += n > 0 ? (size_t)n : 0;
    t->used = t->used < t->size ? t->used : t->size - 1;
}

static struct text begin(char *dst, size_t size)
{
    dst[0] = '\0';
    return (struct text){dst, size, 0};
}

char *carm_view_size_text(char *dst, size_t size, const struct carm_view *view)
{
    struct text t = begin(dst, size);
    add(&t, "%zu rank%s", view->ranks, view->ranks == 1 ? "" : "s");
    if (view->kind == CARM_VIEW_JOB) {
        add(&t, " on %zu node%s", view->nodes, view->nodes == 1 ? "" : "s");
    }
    return dst;
}

static bool is_even(const struct carm_over_ranks *s)
{
    return s->high <= s->low * (1.0 + 1e-9);
}

static void add_performance(struct text *t, const struct carm_over_ranks *p, const char *unit)
{
    char rate[CARM_NAME_MAX + 2], low[CARM_NAME_MAX + 32], mid[sizeof low], high[sizeof low];
    (void)snprintf(rate, sizeof rate, "%s/s", unit);
    (void)carm_text_si(low, sizeof low, p->low, rate);
    if (is_even(p)) {
        add(t, "%s%s each", t->used ? ", " : "", low);
    } else {
        add(t, "%s%s to %s each (median %s)", t->used ? ", " : "", low,
            carm_text_si(high, sizeof high, p->high, rate),
            carm_text_si(mid, sizeof mid, p->median, rate));
    }
}

char *carm_view_spread_text(char *dst, size_t size, const struct carm_view *view, const char *unit)
{
    const struct carm_over_ranks *i = &view->intensity;
    struct text t = begin(dst, size);
    if (carm_point_knows(i->low) && is_even(i)) {
        add(&t, "%.4g %s/byte", i->low, unit);
    } else if (carm_point_knows(i->low)) {
        add(&t, "%.4g to %.4g %s/byte (median %.4g)", i->low, i->high, unit, i->median);
    }
    if (carm_point_knows(view->performance.low)) {
        add_performance(&t, &view->performance, unit);
    }
    if (*view->slowest) {
        add(&t, "%sslowest %s (%.4g s), fastest %s (%.4g s)", t.used ? "; " : "", view->slowest,
            view->most_seconds, view->fastest, view->least_seconds);
    }
    return dst;
}

static void add_ratio(struct text *t, double ratio, const char *of)
{
    if (ratio > 0.0) {
        add(t, "%s %.2f in %s", t->used ? "," : "largest over mean of its ranks:", ratio, of);
    }
}

static void add_ceiling(struct text *t, const struct carm_placed *d, int i, const char *unit)
{
    static const char *const names[] = {"cache-aware", "original"};
    char rate[CARM_NAME_MAX + 2], number[CARM_NAME_MAX + 32];
    const double at = d->cost.at[i];
    if (d->has[i] && d->place[i].roof > at * worth_naming) {
        (void)snprintf(rate, sizeof rate, "%s/s", unit);
        add(t, "; %s ceiling of such work: %s (%s), it reaches %.1f%% of that", names[i],
            carm_text_si(number, sizeof number, at, rate),
            d->cost.compute[i] ? "compute" : "memory", 100.0 * d->place[i].performance / at);
    }
}

char *carm_view_imbalance_text(char *dst, size_t size, const struct carm_placed *placed,
                               const char *unit)
{
    const struct carm_view *v = placed->view;
    const struct carm_imbalance_cost *cost = &placed->cost;
    char work[CARM_NAME_MAX + 2];
    struct text t = begin(dst, size);
    if (v->ranks < 2) {
        return dst;
    }
    (void)snprintf(work, sizeof work, "%ss", unit);
    add_ratio(&t, v->uneven.work, work);
    if (*v->busiest && v->uneven.work > worth_naming) {
        add(&t, " (%s)", v->busiest);
    }
    add_ratio(&t, v->uneven.bytes, "bytes");
    add_ratio(&t, v->uneven.time, "time");
    if (v->uneven.dram > 0.0) {
        add(&t, "%sof its nodes: %.2f in DRAM bytes", t.used ? "; " : "", v->uneven.dram);
    }
    if (!(cost->gain > worth_naming)) {
        add(&t, "%s", cost->gain > 0.0 ? "; it takes nothing" : "");
        return dst;
    }
    add(&t, "; it takes up to %.0f%% of the time: even %s could give x%.2f", 100.0 * cost->lost,
        cost->by_time ? "times" : "work", cost->gain);
    for (int i = 0; i < 2; i++) {
        add_ceiling(&t, placed, i, unit);
    }
    if (cost->by_time && v->uneven.work > 0.0 && *v->slowest) {
        add(&t,
            "; ranks differ in speed more than in work: look at clock, memory and neighbours of %s",
            v->slowest);
    } else if (!cost->by_time && v->uneven.time > 0.0 && v->uneven.time < 0.95 * cost->gain) {
        add(&t,
            "; their times are more even than their work: those with less of it wait or are slower");
    }
    return dst;
}
