/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/views.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "models/place/points.h"

/* A rank, with its index in the merge of ranks. */
struct unit {
    size_t index, job, node;
    double number; /* number of the rank, for sorting */
    double work, bytes, dram, seconds, threads;
    bool sockets; /* DRAM bytes are of whole sockets */
    bool between;
};

/* Ranks of one node or of one job: order[first .. first + n). */
struct group {
    size_t index, job; /* index: in the merge of its kind */
    size_t first, n, nodes;
    size_t repeated;
    double dram, dram_imbalance;
};

struct table {
    struct carm_merge *merge;
    struct group *groups;
    size_t room;
    size_t n;
};

enum { KEY_MAX = 5 * 4096 }; /* fields end at CARM_CSV_FIELD_MAX */

struct carm_views {
    const char *metric;
    struct carm_merge *ranks;
    struct table jobs, nodes;
    struct unit *units;         /* in the order of the rank view: by job, rank, host */
    struct unit *by_node;       /* the same units, by node */
    struct group **nodes_order; /* by job and host */
    double *values;             /* room for one for each unit */
    size_t n, rows;
    bool several_jobs;
    char key[KEY_MAX]; /* key of the row that is being added */
};

static const char *const kind_names[CARM_VIEW_COUNT] = {"job", "node", "rank"};

int carm_view_parse(const char *list, enum carm_view_kind kinds[CARM_VIEW_COUNT], size_t *n,
                    struct carm_err *err)
{
    bool seen[CARM_VIEW_COUNT] = {false};
    *n = 0;
    for (const char *at = list;; at++) {
        const size_t size = strcspn(at, ",");
        int kind = 0;
        while (kind < CARM_VIEW_COUNT &&
               (strlen(kind_names[kind]) != size || strncmp(kind_names[kind], at, size) != 0)) {
            kind++;
        }
        if (kind == CARM_VIEW_COUNT || seen[kind]) {
            return carm_fail(err, CARM_EINVAL,
                             "--by takes job, node and rank, each once, such as job,node, not "
                             "'%.60s'",
                             list);
        }
        seen[kind] = true;
        kinds[(*n)++] = (enum carm_view_kind)kind;
        at += size;
        if (!*at) {
            return 0;
        }
    }
}

const char *carm_view_name(enum carm_view_kind kind)
{
    return kind_names[kind];
}

static int no_memory(struct carm_err *err)
{
    return carm_fail(err, CARM_ENOMEM,
                     "not enough memory for the ranks; place the files of fewer jobs at a time");
}

int carm_views_open(struct carm_views **out, const char *metric, struct carm_err *err)
{
    struct carm_views *v = calloc(1, sizeof *v);
    *out = NULL;
    if (!v) {
        return no_memory(err);
    }
    v->metric = metric;
    int rc = carm_merge_open(&v->ranks, err);
    rc = rc ? rc : carm_merge_open(&v->jobs.merge, err);
    rc = rc ? rc : carm_merge_open(&v->nodes.merge, err);
    if (rc) {
        carm_views_close(v);
        return rc;
    }
    *out = v;
    return 0;
}

void carm_views_close(struct carm_views *views)
{
    if (!views) {
        return;
    }
    carm_merge_close(views->ranks);
    carm_merge_close(views->jobs.merge);
    carm_merge_close(views->nodes.merge);
    free(views->jobs.groups);
    free(views->nodes.groups);
    free(views->nodes_order);
    free(views->units);
    free(views->by_node);
    free(views->values);
    free(views);
}

/* ---- the ranks ---- */

/* Makes a key from texts. The length before each text keeps keys distinct. */
static void key_of(char key[KEY_MAX], const struct carm_point *p, enum carm_view_kind kind,
                   const char *part)
{
    const char *const texts[] = {p->name, p->job, kind == CARM_VIEW_JOB ? "" : p->host,
                                 kind == CARM_VIEW_RANK ? part : ""};
    size_t used = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts && used < KEY_MAX; i++) {
        const int n = snprintf(key + used, KEY_MAX - used, "%zu %s", strlen(texts[i]), texts[i]);
        used += n > 0 ? (size_t)n : 0;
    }
}

int carm_views_add(struct carm_views *views, const struct carm_point *row, struct carm_err *err)
{
    char part[4200];
    views->rows++;
    if (*row->rank || *row->pid) {
        snprintf(part, sizeof part, "%c%s", *row->rank ? 'r' : 'p',
                 *row->rank ? row->rank : row->pid);
    } else {
        snprintf(part, sizeof part, "l%zu", views->rows);
    }
    key_of(views->key, row, CARM_VIEW_RANK, part);
    return carm_merge_add_as(views->ranks, views->key, row, NULL, err);
}

/* ---- nodes and jobs ---- */

static struct unit make_unit(const struct carm_views *v, size_t i, const struct carm_merged *m)
{
    const struct carm_point *p = &m->point;
    char *end = NULL;
    struct unit u = {.index = i,
                     .number = *p->rank ? strtod(p->rank, &end) : INFINITY,
                     .work = *v->metric ? p->operations : p->flops,
                     .bytes = p->bytes,
                     .dram = p->dram_bytes,
                     .seconds = p->seconds,
                     .threads = p->threads,
                     .sockets = strncmp(p->counted_by, "pmu", 3) == 0};
    return u;
}

/* Adds a rank to its node or job. */
static int add_to(struct table *t, enum carm_view_kind kind, const struct carm_merged *rank,
                  size_t *index, struct carm_err *err)
{
    char key[KEY_MAX];
    key_of(key, &rank->point, kind, "");
    const int rc = carm_merge_add_as(t->merge, key, &rank->point, index, err);
    if (rc) {
        return rc;
    }
    if (carm_merge_names(t->merge) > t->n) { /* a new node or job */
        if (carm_array_grow(&t->groups, &t->room, t->n, 1, sizeof *t->groups, "", NULL)) {
            return no_memory(err);
        }
        t->groups[t->n++] = (struct group){.index = *index};
    }
    t->groups[*index].n++;
    t->groups[*index].repeated += rank->repeated;
    return 0;
}

static int compare_numbers(double a, double b)
{
    return a < b ? -1 : a > b;
}

static int compare_sizes(size_t a, size_t b)
{
    return a < b ? -1 : a > b;
}

static int by_job(const void *a, const void *b)
{
    const struct unit *x = a;
    const struct unit *y = b;
    int c = compare_sizes(x->job, y->job);
    c = c ? c : compare_numbers(x->number, y->number);
    return c ? c : compare_sizes(x->index, y->index);
}

static int by_node(const void *a, const void *b)
{
    const struct unit *x = a;
    const struct unit *y = b;
    const int c = compare_sizes(x->node, y->node);
    return c ? c : by_job(a, b);
}

struct rank_time {
    double seconds; /* a rank with unknown time comes first */
    size_t at;
};

/* The slowest first. */
static int by_time(const void *a, const void *b)
{
    const struct rank_time *x = a;
    const struct rank_time *y = b;
    const int c = compare_numbers(y->seconds, x->seconds);
    return c ? c : compare_sizes(x->at, y->at);
}

static const char *host_of(const struct carm_views *v, const struct group *node,
                           struct carm_merged *m)
{
    carm_merge_get(v->nodes.merge, node->index, m);
    return m->point.host;
}

/* Marks the ranks of a job that are neither among the slowest nor the fastest `most`. */
static int mark_between(struct carm_views *v, size_t most, struct carm_err *err)
{
    struct rank_time *sorted = calloc(v->n + 1, sizeof *sorted);
    if (!sorted) {
        return no_memory(err);
    }
    for (size_t j = 0; j < v->jobs.n; j++) {
        const struct group *g = &v->jobs.groups[j];
        if (most == 0 || g->n <= most) {
            continue;
        }
        for (size_t k = 0; k < g->n; k++) {
            const double t = v->units[g->first + k].seconds;
            sorted[k] = (struct rank_time){carm_point_knows(t) ? t : INFINITY, g->first + k};
        }
        qsort(sorted, g->n, sizeof *sorted, by_time);
        for (size_t k = most - most / 2; k < g->n - most / 2; k++) {
            v->units[sorted[k].at].between = true;
        }
    }
    free(sorted);
    return 0;
}

/* DRAM bytes of a node: the largest rank's if they are of whole sockets; else the sum. */
static double dram_of(const struct unit *units, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (!carm_point_knows(units[i].dram)) {
            return CARM_POINT_UNKNOWN;
        }
        sum = units[i].sockets ? fmax(sum, units[i].dram) : sum + units[i].dram;
    }
    return sum;
}

/* Finds the range of ranks of each node and job, and the sums over a job's nodes. */
static void find_ranges(struct carm_views *v)
{
    size_t at = 0;
    for (size_t j = 0; j < v->jobs.n; at += v->jobs.groups[j++].n) {
        v->jobs.groups[j].first = at;
        v->jobs.groups[j].job = j;
    }
    at = 0;
    for (size_t k = 0; k < v->nodes.n; at += v->nodes.groups[k++].n) {
        struct group *node = &v->nodes.groups[k];
        node->first = at;
        node->job = v->by_node[at].job;
        node->nodes = 1;
        node->dram = dram_of(&v->by_node[at], node->n);
        struct group *job = &v->jobs.groups[node->job];
        const bool known = carm_point_knows(node->dram) && carm_point_knows(job->dram);
        job->dram = known ? job->dram + node->dram : CARM_POINT_UNKNOWN;
        job->dram_imbalance = fmax(job->dram_imbalance, node->dram); /* largest, so far */
        job->nodes++;
    }
    for (size_t j = 0; j < v->jobs.n; j++) {
        struct group *job = &v->jobs.groups[j];
        job->dram_imbalance = job->nodes > 1 ? carm_imbalance_ratio(job->dram_imbalance, job->dram,
                                                                    (double)job->nodes)
                                             : 0.0;
    }
}

struct node_key {
    struct group *node;
    const char *host;
};

static int by_host(const void *a, const void *b)
{
    const struct node_key *x = a;
    const struct node_key *y = b;
    const int c = compare_sizes(x->node->job, y->node->job);
    return c ? c : strverscmp(x->host, y->host);
}

static int order_nodes(struct carm_views *v, struct carm_err *err)
{
    const size_t n = v->nodes.n;
    struct node_key *keys = malloc((n ? n : 1) * sizeof *keys);
    struct carm_merged *m = malloc(sizeof *m);
    v->nodes_order = malloc((n ? n : 1) * sizeof(struct group *));
    const bool room = keys && m && v->nodes_order;
    for (size_t k = 0; k < n && room; k++) {
        struct group *node = &v->nodes.groups[k];
        keys[k] = (struct node_key){node, host_of(v, node, m)};
    }
    if (room) {
        qsort(keys, n, sizeof *keys, by_host);
    }
    for (size_t k = 0; k < n && room; k++) {
        v->nodes_order[k] = keys[k].node;
    }
    free(m);
    free(keys);
    return room ? 0 : no_memory(err);
}

static bool has_several_jobs(const struct carm_views *v)
{
    struct carm_merged first, other;
    carm_merge_get(v->jobs.merge, 0, &first);
    for (size_t j = 1; j < v->jobs.n; j++) {
        carm_merge_get(v->jobs.merge, j, &other);
        if (strcmp(other.point.job, first.point.job) != 0) {
            return true;
        }
    }
    return false;
}

/* Adds every rank to its job and its node. */
static int gather(struct carm_views *v, struct carm_err *err)
{
    const size_t n = carm_merge_names(v->ranks);
    struct carm_merged *m = malloc(sizeof *m);
    if (!m) {
        return no_memory(err);
    }
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        carm_merge_get(v->ranks, i, m);
        struct unit u = make_unit(v, i, m);
        rc = add_to(&v->jobs, CARM_VIEW_JOB, m, &u.job, err);
        rc = rc ? rc : add_to(&v->nodes, CARM_VIEW_NODE, m, &u.node, err);
        v->units[i] = v->by_node[i] = u;
        v->n = i + 1;
    }
    free(m);
    return rc;
}

int carm_views_group(struct carm_views *views, size_t most, struct carm_err *err)
{
    struct carm_views *v = views;
    const size_t room = carm_merge_names(v->ranks) + 1;
    v->units = calloc(room, sizeof *v->units);
    v->by_node = calloc(room, sizeof *v->by_node);
    v->values = calloc(room, sizeof *v->values);
    if (!v->units || !v->by_node || !v->values) {
        return no_memory(err);
    }
    const int rc = gather(v, err);
    if (rc) {
        return rc;
    }
    v->several_jobs = v->jobs.n > 1 && has_several_jobs(v);
    qsort(v->units, v->n, sizeof *v->units, by_job);
    qsort(v->by_node, v->n, sizeof *v->by_node, by_node);
    find_ranges(v);
    const int bad = order_nodes(v, err);
    return bad ? bad : mark_between(v, most, err);
}

size_t carm_views_count(const struct carm_views *views, enum carm_view_kind kind)
{
    return kind == CARM_VIEW_JOB    ? views->jobs.n
           : kind == CARM_VIEW_NODE ? views->nodes.n
                                    : views->n;
}

/* ---- names ---- */

/* "rank 3", "process 4711", or the row's name where a file has neither. */
static void name_rank(char *dst, size_t size, const struct carm_point *p)
{
    if (*p->rank || *p->pid) {
        snprintf(dst, size, "%s %.64s", *p->rank ? "rank" : "process", *p->rank ? p->rank : p->pid);
    } else {
        snprintf(dst, size, "line %zu", p->line);
    }
}

static void name_rank_on(char *dst, size_t size, const struct carm_point *p)
{
    char rank[80];
    name_rank(rank, sizeof rank, p);
    snprintf(dst, size, "%s%s%.64s", rank, *p->host ? " on " : "", p->host);
}

/* ---- over the ranks ---- */

/* The spread of values that are all known. */
static struct carm_over_ranks spread_of(double *values, size_t n)
{
    gsl_sort(values, 1, n);
    if (n == 0 || !carm_point_knows(values[0])) {
        return (struct carm_over_ranks){CARM_POINT_UNKNOWN, CARM_POINT_UNKNOWN, CARM_POINT_UNKNOWN};
    }
    return (struct carm_over_ranks){values[0], gsl_stats_median_from_sorted_data(values, 1, n),
                                    values[n - 1]};
}

static double quotient(double a, double b)
{
    return carm_point_knows(a) && b > 0.0 ? a / b : CARM_POINT_UNKNOWN;
}

/* The largest part per thread, and the sums; unknown where any part is unknown. */
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

/* Finds the slowest and the fastest rank, if all times are known and differ. */
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
    out->imbalance.time = carm_imbalance_ratio(out->most_seconds, s->seconds_sum, (double)n);
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
    out->imbalance.work = carm_imbalance_ratio(s.work, s.work_sum, s.shares);
    out->imbalance.bytes = carm_imbalance_ratio(s.bytes, s.bytes_sum, s.shares);
    out->busiest[0] = '\0';
    if (out->imbalance.work > 1.0) {
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

/* ---- a view ---- */

static double over(double v, double n)
{
    return carm_point_knows(v) ? v / n : v;
}

/* Divides sums by the number of nodes: the mean node. */
static void divide(struct carm_point *p, size_t nodes)
{
    const double n = (double)nodes;
    double *const counts[] = {&p->flops,           &p->bytes,           &p->flops_low,
                              &p->flops_high,      &p->bytes_low,       &p->bytes_high,
                              &p->calls,           &p->operations,      &p->level_bytes[0],
                              &p->level_bytes[1],  &p->level_unused[0], &p->level_unused[1],
                              &p->level_unused[2], &p->task_seconds};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        *counts[i] = over(*counts[i], n);
    }
    for (int i = 0; i < 3; i++) {
        p->level_low[i] = over(p->level_low[i], n);
        p->level_high[i] = over(p->level_high[i], n);
    }
    for (int i = 0; i < 3 * CARM_MISS_REASONS; i++) {
        double *misses = &p->level_misses[i / CARM_MISS_REASONS][i % CARM_MISS_REASONS];
        *misses = over(*misses, n);
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
        snprintf(part, sizeof part, "%s%.96s", *out->job ? "job " : "all ranks", out->job);
    } else if (out->kind == CARM_VIEW_NODE) {
        snprintf(part, sizeof part, "%s%.96s", *out->host ? "node " : "an unnamed node", out->host);
    } else {
        name_rank(part, sizeof part, &out->merged.point);
    }
    snprintf(out->label, sizeof out->label, "%.400s (%s%s%.64s)", out->program, part, of,
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
    out->imbalance.dram = g->dram_imbalance;
    fill_texts(out);
    if (carm_point_knows(g->dram) && m->point.dram_bytes > 0.0) { /* bounds belong to the sum, not
                                                                   * to the largest rank */
        const double part = g->dram / m->point.dram_bytes;
        m->point.level_low[2] = over(m->point.level_low[2], 1.0 / part);
        m->point.level_high[2] = over(m->point.level_high[2], 1.0 / part);
    }
    m->point.dram_bytes = over(g->dram, (double)g->nodes);
    if (g->repeated) {
        carm_text_list(
            m->note, sizeof m->note, "; ",
            "%zu of its rows come from other processes with the same rank: rows of repeated runs "
            "must not be summed",
            g->repeated);
    }
    if (g->nodes > 1) {
        divide(&m->point, g->nodes);
        carm_text_list(m->note, sizeof m->note, "; ",
                       "the mean of its %zu nodes, because the roofs are for one node", g->nodes);
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
    out->imbalance = (struct carm_imbalance){.time = 0.0};
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

/* ---- imbalance ---- */

double carm_imbalance_ratio(double each, double sum, double shares)
{
    if (!carm_point_knows(each) || !(sum > 0.0) || !(shares > 0.0)) {
        return 0.0;
    }
    const double ratio = each * shares / sum;
    return ratio > 1.0 ? ratio : 1.0; /* below 1 only by rounding */
}

/* The factor by which imbalance lowers a bound; 1 for an unknown ratio. */
static double part(double ratio)
{
    return ratio > 1.0 ? 1.0 / ratio : 1.0;
}

static double lowered(const struct carm_place_side *side, double intensity, double memory,
                      double work, bool *compute)
{
    const double slope = side->slope * intensity * part(memory);
    const double flat = side->peak * part(work);
    *compute = side->peak > 0.0 && (!(side->slope > 0.0) || flat < slope);
    return *compute ? flat : slope;
}

void carm_imbalance_find(const struct carm_imbalance *imbalance, const struct carm_place_set *set,
                         const struct carm_place *place, const bool has[2],
                         struct carm_imbalance_cost *out)
{
    const bool none = !has[CARM_PLACE_CACHE_AWARE] && !has[CARM_PLACE_ORIGINAL];
    double work = none ? imbalance->work : 0.0; /* without a roof only the imbalance bounds the
                                                 * gain */
    *out = (struct carm_imbalance_cost){.gain = 0.0};
    for (int i = 0; i < 2; i++) {
        if (has[i]) {
            const bool aware = i == CARM_PLACE_CACHE_AWARE;
            out->at[i] = lowered(&set->sides[i], place[i].intensity,
                                 aware ? imbalance->bytes : imbalance->dram, imbalance->work,
                                 &out->compute[i]);
            work = fmax(work, place[i].roof / out->at[i]);
        }
    }
    out->gain = fmax(imbalance->time, work);
    out->by_time = imbalance->time > work * 1.005;
    out->lost = out->gain > 0.0 ? 1.0 - 1.0 / out->gain : 0.0;
}
