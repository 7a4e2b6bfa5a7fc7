/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/page/report/many.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/number.h"
#include "models/place/json.h"

enum { SETS_MAX = 64 };

struct figures {
    double performance, seconds; /* NAN = not known */
    double time; /* time that chooses the longest points; for a part its share of the program's
                  * time */
    double intensity[2], share[2], left[2]; /* NAN = not known */
    size_t name, text,
        end;      /* offsets in `objects`: the name's and the object's beginning, the object's
                   * end */
    int set;      /* -1 = not placed, or beyond SETS_MAX sets */
    int bound[2]; /* enum carm_bound, -1 = not placed on that model */
    bool over[2];
};

struct set {
    char isa[CARM_NAME_MAX], precision[CARM_NAME_MAX], metric[CARM_NAME_MAX];
    int threads;
};

struct carm_report_points {
    struct carm_place_json json;
    char *objects; /* for each point its name as JSON, then its object */
    size_t size;
    struct figures *figures;
    size_t room;
    struct set sets[SETS_MAX];
    int nsets;
};

struct carm_report_points *carm_report_points_open(void)
{
    struct carm_report_points *p = calloc(1, sizeof *p);
    if (p) {
        p->json.out = open_memstream(&p->objects, &p->size);
    }
    if (p && !p->json.out) {
        free(p);
        p = NULL;
    }
    return p;
}

void carm_report_points_close(struct carm_report_points *points)
{
    if (points) {
        fclose(points->json.out);
        free(points->objects);
        free(points->figures);
        free(points);
    }
}

size_t carm_report_points_count(const struct carm_report_points *points)
{
    return points->json.points;
}

static int find_set(struct carm_report_points *p, const struct carm_placed *placed)
{
    struct set set = {.threads = placed->roofs->threads};
    snprintf(set.isa, sizeof set.isa, "%s", placed->roofs->isa);
    snprintf(set.precision, sizeof set.precision, "%s", placed->roofs->precision);
    if (*placed->set->metric) {
        const char *own = placed->point->metric;
        snprintf(set.metric, sizeof set.metric, "%s", *own ? own : placed->set->metric);
    }
    for (int i = 0; i < p->nsets; i++) {
        const struct set *s = &p->sets[i];
        if (s->threads == set.threads && strcmp(s->isa, set.isa) == 0 &&
            strcmp(s->precision, set.precision) == 0 && strcmp(s->metric, set.metric) == 0) {
            return i;
        }
    }
    if (p->nsets == SETS_MAX) {
        return -1;
    }
    p->sets[p->nsets] = set;
    return p->nsets++;
}

static void fill_figures(struct carm_report_points *p, struct figures *f,
                         const struct carm_placed *placed)
{
    const struct carm_point *point = placed->point;
    const bool part = point->kind && *point->kind;
    const double time = part ? point->time_share : point->seconds;
    *f = (struct figures){.seconds = carm_point_knows(point->seconds) ? point->seconds : NAN,
                          .performance = NAN,
                          .time = carm_point_knows(time) ? time : 0.0,
                          .intensity = {NAN, NAN},
                          .share = {NAN, NAN},
                          .left = {NAN, NAN},
                          .set = placed->unplaced ? -1 : find_set(p, placed),
                          .bound = {-1, -1}};
    if (!placed->unplaced) {
        f->performance = point->flops / carm_point_ran_seconds(point);
    }
    for (int i = 0; i < 2 && !placed->unplaced; i++) {
        const struct carm_place *at = &placed->place[i];
        if (placed->has[i]) {
            f->intensity[i] = at->intensity;
            f->share[i] = at->share;
            f->left[i] = at->above >= 0 ? at->ceilings[at->above].at / at->performance : NAN;
            f->bound[i] = (int)at->bound;
            f->over[i] = at->over;
        }
    }
}

int carm_report_points_add(struct carm_report_points *points, const struct carm_placed *placed,
                           size_t file, struct carm_err *err)
{
    struct carm_report_points *p = points;
    const size_t n = p->json.points;
    if (n == CARM_REPORT_POINTS) {
        return carm_fail(err, CARM_EINVAL,
                         "a page can show at most %d points; give fewer (carm place takes any "
                         "number)",
                         CARM_REPORT_POINTS);
    }
    if (n == p->room) {
        const size_t room = p->room ? 2 * p->room : 64;
        struct figures *more = realloc(p->figures, room * sizeof *more);
        if (!more) {
            return carm_fail(err, CARM_ENOMEM, "not enough memory for the report");
        }
        p->figures = more;
        p->room = room;
    }
    struct figures *f = &p->figures[n];
    fill_figures(p, f, placed);
    f->name = (size_t)ftell(p->json.out);
    carm_json_put_string(p->json.out, placed->point->name);
    f->text = (size_t)ftell(p->json.out);
    p->json.file = file;
    carm_place_json_put(&p->json, placed);
    f->end = (size_t)ftell(p->json.out);
    return 0;
}

/* ---- many points ---- */

static int by_time(const void *a, const void *b)
{
    const struct figures *x = *(const struct figures *const *)a;
    const struct figures *y = *(const struct figures *const *)b;
    return x->time != y->time ? (x->time < y->time) - (x->time > y->time)
                              : (x > y) - (x < y); /* equal times: the first point */
}

/* Drops the objects of all points except the longest. */
static int keep_longest(struct carm_report_points *p, struct carm_err *err)
{
    const size_t n = p->json.points;
    struct figures **order = malloc(n * sizeof *order);
    if (!order) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the report");
    }
    for (size_t i = 0; i < n; i++) {
        order[i] = &p->figures[i];
    }
    qsort(order, n, sizeof *order, by_time);
    for (size_t i = CARM_REPORT_LONGEST; i < n; i++) {
        order[i]->end = order[i]->text;
    }
    free(order);
    return 0;
}

/* ---- figures as arrays; which: the roofline model, 0 or 1 */

static double performance_of(const struct figures *f, int which)
{
    (void)which;
    return f->performance;
}

static double seconds_of(const struct figures *f, int which)
{
    (void)which;
    return f->seconds;
}

static double set_of(const struct figures *f, int which)
{
    (void)which;
    return f->set;
}

static double intensity_of(const struct figures *f, int which)
{
    return f->intensity[which];
}

static double share_of(const struct figures *f, int which)
{
    return f->share[which];
}

static double left_of(const struct figures *f, int which)
{
    return f->left[which];
}

static double bound_of(const struct figures *f, int which)
{
    return f->bound[which];
}

/* Writes a figure of all points as an array; unknown or infinite numbers become null. */
static void put_array(FILE *out, const struct carm_report_points *p, const char *name,
                      double (*of)(const struct figures *f, int which), int which)
{
    char text[CARM_NUMBER_MAX];
    fprintf(out, ",\n\"%s\": [", name);
    for (size_t i = 0; i < p->json.points; i++) {
        const double v = of(&p->figures[i], which);
        fputs(i ? "," : "", out);
        fputs(isfinite(v) ? carm_number_digits(text, v, 4) : "null", out);
    }
    fputc(']', out);
}

static void put_model(FILE *out, const struct carm_report_points *p, int which, const char *name)
{
    bool first = true, any = false;
    fprintf(out, ",\n\"%s\": {\"over\": [", name);
    for (size_t i = 0; i < p->json.points; i++) {
        any = any || p->figures[i].bound[which] >= 0;
        if (p->figures[i].over[which]) {
            fprintf(out, "%s%zu", first ? "" : ",", i);
            first = false;
        }
    }
    fputc(']', out);
    if (any) {
        put_array(out, p, "intensity", intensity_of, which);
        put_array(out, p, "share", share_of, which);
        put_array(out, p, "left", left_of, which);
        put_array(out, p, "bound", bound_of, which);
    }
    fputc('}', out);
}

static void put_many(FILE *out, const struct carm_report_points *p)
{
    const struct figures *f = p->figures;
    fputs(",\n\"many\": {\"bounds\": [", out);
    for (int b = 0; b <= CARM_BOUND_BOTH; b++) {
        fputs(b ? ", " : "", out);
        carm_json_put_string(out, carm_bound_name((enum carm_bound)b));
    }
    fputs("],\n\"sets\": [", out);
    for (int i = 0; i < p->nsets; i++) {
        fputs(i ? ", {\"isa\": " : "{\"isa\": ", out);
        carm_json_put_string(out, p->sets[i].isa);
        fputs(", \"precision\": ", out);
        carm_json_put_string(out, p->sets[i].precision);
        fprintf(out, ", \"threads\": %d, \"metric\": ", p->sets[i].threads);
        carm_json_put_string(out, p->sets[i].metric);
        fputc('}', out);
    }
    fputs("],\n\"name\": [", out);
    for (size_t i = 0; i < p->json.points; i++) {
        fputs(i ? "," : "", out);
        fwrite(p->objects + f[i].name, 1, f[i].text - f[i].name, out);
    }
    fputc(']', out);
    put_array(out, p, "set", set_of, 0);
    put_array(out, p, "performance", performance_of, 0);
    put_array(out, p, "seconds", seconds_of, 0);
    put_model(out, p, CARM_PLACE_CACHE_AWARE, "cache_aware");
    put_model(out, p, CARM_PLACE_ORIGINAL, "original");
    fputc('}', out);
}

int carm_report_points_put(FILE *out, struct carm_report_points *points, struct carm_err *err)
{
    struct carm_report_points *p = points;
    const size_t n = p->json.points;
    const bool many = n > CARM_REPORT_OBJECTS;
    if (fflush(p->json.out) != 0 || ferror(p->json.out)) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the report");
    }
    const int rc = many ? keep_longest(p, err) : 0;
    if (rc) {
        return rc;
    }
    fputs(",\n\"places\": [", out);
    for (size_t i = 0; i < n; i++) {
        const struct figures *f = &p->figures[i];
        const char *text = p->objects + f->text;
        const size_t comma = f->end > f->text && *text == ','; /* the comma between objects */
        fputs(i ? "," : "", out);
        if (f->end > f->text) {
            fwrite(text + comma, 1, f->end - f->text - comma, out);
        } else {
            fputs("null", out);
        }
    }
    fputs("]", out);
    if (many) {
        put_many(out, p);
    }
    return 0;
}
