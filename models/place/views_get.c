/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One view of a job, a node or a rank, from what was gathered. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/place/imbalance.h"
#include "models/place/views_state.h"

/* "rank 3", "process 4711", or what it is called in a file that tells neither. */
static void name_rank(char *dst, size_t size, const struct carm_point *p)
{
    if (*p->rank || *p->pid) {
        (void)snprintf(dst, size, "%s %.64s", *p->rank ? "rank" : "process",
                       *p->rank ? p->rank : p->pid);
    } else {
        (void)snprintf(dst, size, "line %zu", p->line);
    }
}

static void name_rank_on(char *dst, size_t size, const struct carm_point *p)
{
    char rank[80];
    name_rank(rank, sizeof rank, p);
    (void)snprintf(dst, size, "%s%s%.64s", rank, *p->host ? " on " : "", p->host);
}

/* ---- over the ranks -------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Of values that are all known. */
static struct carm_over_ranks spread_of(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_value);
    if (n == 0 || !carm_point_knows(values[0])) {
        return (struct carm_over_ranks){CARM_POINT_UNKNOWN, CARM_POINT_UNKNOWN, CARM_POINT_UNKNOWN};
    }
    return (struct carm_over_ranks){values[0], 0.5 * (values[(n - 1) / 2] + values[n / 2]),
                                    values[n - 1]};
}

static double quotient(double a, double b)
{
    return carm_point_knows(a) && b > 0.0 ? a / b : CARM_POINT_UNKNOWN;
}

/* The largest part of one of a thread's, and the sums; unknown where one is. */
struct parts {
    double work, bytes, work_sum, bytes_sum, seconds_sum, shares;
    size_t slowest, fastest, busiest;
};

static double most(double a, double b)
{
    return carm_point_knows(a) && carm_point_knows(b) ? fmax(a, b) : CARM_POINT_UNKNOWN;
}

static double plus(double a, double b)
{
    return carm_point_knows(a) && carm_point_knows(b) ? a + b : CARM_POINT_UNKNOWN;
}

static struct parts parts_of(const struct unit *units, size_t n)
{
    struct parts s = {.work = 0.0};
    bool threads = true;
    for (size_t i = 0; i < n; i++) {
        threads = threads && units[i].threads > 0.0;
    }
    for (size_t i = 0; i < n; i++) {
        const struct unit *u = &units[i];
        const double shares = threads ? u->threads : 1.0;
        s.busiest = quotient(u->work, shares) > s.work ? i : s.busiest;
        s.work = most(s.work, quotient(u->work, shares));
        s.bytes = most(s.bytes, quotient(u->bytes, shares));
        s.work_sum = plus(s.work_sum, u->work);
        s.bytes_sum = plus(s.bytes_sum, u->bytes);
        s.seconds_sum = plus(s.seconds_sum, u->seconds);
        s.shares += shares;
        s.slowest = u->seconds > units[s.slowest].seconds ? i : s.slowest;
        s.fastest = u->seconds < units[s.fastest].seconds ? i : s.fastest;
    }
    return s;
}

/* Who was slowest and fastest, which needs every time; of even ones nobody was. */
static void fill_times(const struct carm_views *v, const struct unit *units, size_t n,
                       const struct parts *s, struct carm_view *out)
{
    struct carm_merged *m = &out->merged; /* filled later */
    out->slowest[0] = out->fastest[0] = '\0';
    out->least_seconds = out->most_seconds = CARM_POINT_UNKNOWN;
    if (!carm_point_knows(s->seconds_sum)) {
        return;
    }
    out->most_seconds = units[s->slowest].seconds;
    out->least_seconds = units[s->fastest].seconds;
    out->uneven.time = carm_imbalance_ratio(out->most_seconds, s->seconds_sum, (double)n);
    if (out->most_seconds > out->least_seconds) {
        carm_merge_get(v->ranks, units[s->slowest].index, m);
        name_rank_on(out->slowest, sizeof out->slowest, &m->point);
        carm_merge_get(v->ranks, units[s->fastest].index, m);
        name_rank_on(out->fastest, sizeof out->fastest, &m->point);
    }
}

static void fill_ranks(const struct carm_views *v, const struct unit *units, size_t n,
                       struct carm_view *out)
{
    const struct parts s = parts_of(units, n);
    out->ranks = n;
    out->uneven.work = carm_imbalance_ratio(s.work, s.work_sum, s.shares);
    out->uneven.bytes = carm_imbalance_ratio(s.bytes, s.bytes_sum, s.shares);
    out->busiest[0] = '\0';
    if (out->uneven.work > 1.0) {
        carm_merge_get(v->ranks, units[s.busiest].index, &out->merged);
        name_rank_on(out->busiest, sizeof out->busiest, &out->merged.point);
    }
    fill_times(v, units, n, &s, out);
    for (size_t i = 0; i < n; i++) {
        v->values[i] = quotient(units[i].work, units[i].bytes);
    }
    out->intensity = spread_of(v->values, n);
    for (size_t i = 0; i < n; i++) {
        v->values[i] = quotient(units[i].work, units[i].seconds);
    }
    out->performance = spread_of(v->values, n);
}

/* ---- a view ---------------------------------------------------------------------------------- */

static double over(double v, double n)
{
    return carm_point_knows(v) ? v / n : v;
}

/* The mean of n nodes. */
static void divide(struct carm_point *p, size_t nodes)
{
    const double n = (double)nodes;
    double *const counts[] = {&p->flops,     &p->bytes,      &p->flops_low, &p->flops_high,
                              &p->bytes_low, &p->bytes_high, &p->calls,     &p->operations};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        *counts[i] = over(*counts[i], n);
    }
    for (int i = 0; i < CARM_RUNMIX_COUNT; i++) {
        p->mix.q[i] = over(p->mix.q[i], n);
    }
    p->threads = p->threads > 0 ? (int)fmax(1.0, round(p->threads / n)) : 0;
}

static void fill_label(const struct carm_views *v, struct carm_view *out)
{
    const char *job = v->several_jobs ? out->job : "";
    const char *of = *job && out->kind != CARM_VIEW_JOB ? ", job " : "";
    char part[160];
    if (out->kind == CARM_VIEW_JOB) {
        (void)snprintf(part, sizeof part, "%s%.96s", *out->job ? "job " : "all ranks", out->job);
    } else if (out->kind == CARM_VIEW_NODE) {
        (void)snprintf(part, sizeof part, "%s%.96s", *out->host ? "node " : "an unnamed node",
                       out->host);
    } else {
        name_rank(part, sizeof part, &out->merged.point);
    }
    (void)snprintf(out->label, sizeof out->label, "%.400s (%s%s%.64s)", out->program, part, of,
                   *of ? job : "");
}

static void fill_texts(struct carm_view *out)
{
    const struct carm_point *p = &out->merged.point;
    out->program = p->name;
    out->job = p->job;
    out->host = out->nodes > 1 ? "" : p->host;
    out->rank = out->kind == CARM_VIEW_RANK ? p->rank : "";
}

static void get_group(const struct carm_views *v, const struct table *t, const struct group *g,
                      struct carm_view *out)
{
    struct carm_merged *m = &out->merged;
    const bool job = out->kind == CARM_VIEW_JOB;
    fill_ranks(v, job ? &v->units[g->first] : &v->by_node[g->first], g->n, out);
    carm_merge_get(t->merge, g->index, m);
    out->nodes = g->nodes;
    out->uneven.dram = g->dram_uneven;
    fill_texts(out);
    m->point.dram_bytes = over(g->dram, (double)g->nodes);
    if (g->repeated) {
        carm_merged_note(
            m,
            "%zu of its rows come from a rank's other processes: rows of repeated runs must "
            "not be summed",
            g->repeated);
    }
    if (g->nodes > 1) {
        divide(&m->point, g->nodes);
        carm_merged_note(m, "the mean of its %zu nodes, as roofs are of one node", g->nodes);
        m->point.host = "";
    }
    m->point.rank = m->point.pid = "";
}

static void get_rank(const struct carm_views *v, size_t i, struct carm_view *out)
{
    const struct unit *u = &v->units[i];
    const struct group *job = &v->jobs.groups[u->job];
    fill_ranks(v, u, 1, out);
    carm_merge_get(v->ranks, u->index, &out->merged);
    out->nodes = 1;
    out->between = u->between;
    out->last = i + 1 == job->first + job->n;
    out->uneven = (struct carm_imbalance){.time = 0.0};
    for (size_t k = job->first; k < job->first + job->n && out->last; k++) {
        out->hidden += v->units[k].between;
    }
    fill_texts(out);
}

void carm_views_get(const struct carm_views *views, enum carm_view_kind kind, size_t i,
                    struct carm_view *out)
{
    memset(out, 0, offsetof(struct carm_view, slowest));
    out->between = out->last = false;
    out->hidden = 0;
    out->kind = kind;
    if (kind == CARM_VIEW_JOB) {
        get_group(views, &views->jobs, &views->jobs.groups[i], out);
    } else if (kind == CARM_VIEW_NODE) {
        get_group(views, &views->nodes, views->nodes_order[i], out);
    } else {
        get_rank(views, i, out);
    }
    fill_label(views, out);
    out->merged.point.name = out->label;
}

void carm_views_whole(const struct carm_views *views, size_t i, struct carm_view *out)
{
    carm_views_get(views, CARM_VIEW_JOB, views->units[i].job, out);
}
