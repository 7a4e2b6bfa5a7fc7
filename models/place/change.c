/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/change.h"

#include <fnmatch.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

/* Performance counters are this sure at best (models/count_check.h). */
static const double counter_error = 0.01;

/* All runs of one name in one file. */
struct side {
    size_t runs, timed;
    double sum, squares;     /* of the logarithms of times */
    struct carm_point point; /* the first run; texts are those below */
    char isa[16], precision[16];
    char rank[16];
    bool exact;
    bool simulated; /* the bytes of its levels */
    bool varies[CARM_CHANGE_KINDS];
};

struct pair {
    struct side side[2];
    struct carm_change change;
};

struct carm_changes {
    struct carm_names names;
    struct pair *pairs; /* by number of the name */
    size_t room;
    uint32_t *listed[3]; /* names of the first file alone, of the second alone, of both */
    size_t nlisted[3];
};
enum { BOTH = 2 };

/* ---- names ---------------------------------------------------------------------------------------- */

static const char *const names[CARM_CHANGE_KINDS] = {
    "time",  "performance", "intensity", "aware_share", "original_share", "vector_share",
    "flops", "bytes",       "l2_bytes",  "l3_bytes",    "dram_bytes",     "instructions"};

const char *carm_change_name(enum carm_change_kind kind)
{
    return names[kind];
}

enum carm_change_kind carm_change_find(const char *name, size_t length)
{
    size_t k = 0;
    while (k < CARM_CHANGE_KINDS &&
           (strlen(names[k]) != length || memcmp(names[k], name, length) != 0)) {
        k++;
    }
    return (enum carm_change_kind)k;
}

const char *carm_change_verdict_name(enum carm_change_verdict verdict)
{
    static const char *const words[] = {"unknown", "unjudged", "equal", "different"};
    return words[verdict];
}

/* ---- rows ----------------------------------------------------------------------------------------- */

/* The share of the flops in vectors; negative where a width is not known. */
static double vector_share(const struct carm_point *p)
{
    double vectors = 0.0, all = 0.0;
    for (int i = CARM_RUNMIX_DP; i < CARM_RUNMIX_COUNT; i++) {
        const double q = p->mix.q[i];
        if (q < 0.0) {
            return -1.0;
        }
        all += q;
        vectors += i == CARM_RUNMIX_DP || i == CARM_RUNMIX_SP ? 0.0 : q;
    }
    return all > 0.0 ? vectors / all : -1.0;
}

static double count_of(const struct carm_point *p, enum carm_change_kind kind)
{
    return kind == CARM_CHANGE_FLOPS          ? p->flops
           : kind == CARM_CHANGE_BYTES        ? p->bytes
           : kind == CARM_CHANGE_L2_BYTES     ? p->level_bytes[0]
           : kind == CARM_CHANGE_L3_BYTES     ? p->level_bytes[1]
           : kind == CARM_CHANGE_DRAM_BYTES   ? p->dram_bytes
           : kind == CARM_CHANGE_INSTRUCTIONS ? p->mix.q[CARM_RUNMIX_INSTRUCTIONS]
                                              : vector_share(p);
}

static bool is_exact(const char *counted_by)
{
    return strcmp(counted_by, "stepped") == 0 || strcmp(counted_by, "translated") == 0 ||
           strcmp(counted_by, "constructed") == 0;
}

static void add_row(struct side *s, const struct carm_point *p)
{
    if (s->runs++ == 0) {
        s->point = *p;
        snprintf(s->isa, sizeof s->isa, "%s", p->isa);
        snprintf(s->precision, sizeof s->precision, "%s", p->precision);
        snprintf(s->rank, sizeof s->rank, "%s", p->rank);
        s->exact = is_exact(p->counted_by);
        s->simulated = strcmp(p->levels_by, "simulated") == 0;
    }
    for (int k = CARM_CHANGE_VECTOR_SHARE; k < CARM_CHANGE_KINDS; k++) {
        s->varies[k] = s->varies[k] || count_of(p, (enum carm_change_kind)k) !=
                                           count_of(&s->point, (enum carm_change_kind)k);
    }
    if (carm_point_knows(p->seconds)) {
        const double log_time = log(p->seconds);
        s->timed++;
        s->sum += log_time;
        s->squares += log_time * log_time;
    }
}

static int read_file(struct carm_changes *c, int file, const char *path,
                     const struct carm_points_how *how, const char *only, struct carm_err *err)
{
    struct carm_points *points = NULL;
    struct carm_point p;
    const struct carm_points_how runs = {how->format, how->work, true};
    int rc = carm_points_open(path, &runs, &points, err);
    while (rc == 0 && (rc = carm_points_next(points, &p, err)) == 1) {
        uint32_t number = 0;
        rc = 0;
        if (only && fnmatch(only, p.name, 0) != 0) {
            continue;
        }
        const size_t before = c->names.n;
        rc = carm_names_add(&c->names, p.name, strlen(p.name), &number)
                 ? carm_fail(err, CARM_ENOMEM, "not enough memory to compare %.200s", path)
                 : 0;
        if (!rc && number == before) {
            rc = carm_array_grow(&c->pairs, &c->room, before, 1, sizeof *c->pairs, "the points",
                                 err);
            if (!rc) {
                memset(&c->pairs[number], 0, sizeof *c->pairs);
            }
        }
        struct side *s = rc ? NULL : &c->pairs[number].side[file];
        if (s && s->runs && strncmp(s->rank, p.rank, sizeof s->rank - 1) != 0) {
            rc = carm_fail(
                err, CARM_EINVAL,
                "%.200s: rows of several ranks are no repeated runs: carm place --by job --csv "
                "sums them",
                path);
        } else if (s) {
            add_row(s, &p);
        }
    }
    carm_points_close(points);
    return rc < 0 ? rc : 0;
}

/* ---- judging -------------------------------------------------------------------------------------- */

double carm_change_interval(const double sum[2], const double squares[2], const size_t runs[2],
                            size_t comparisons)
{
    double variance = 0.0, freedom = 0.0;
    for (int i = 0; i < 2; i++) {
        const double n = (double)runs[i];
        const double of_mean = fmax(squares[i] - sum[i] * sum[i] / n, 0.0) / (n - 1.0) / n;
        variance += of_mean;
        freedom += of_mean * of_mean / (n - 1.0);
    }
    /* rounding of the squares: times that are all the same have no scatter */
    if (!(variance > 1e-24)) {
        return 0.0;
    }
    return sqrt(variance) * gsl_cdf_tdist_Qinv(0.025 / (double)(comparisons ? comparisons : 1),
                                               fmax(variance * variance / freedom, 1.0));
}

static bool known(const struct carm_change_value *v)
{
    return v->value[0] >= 0.0 && v->value[1] >= 0.0;
}

static void put_change(struct carm_change_value *v, enum carm_change_kind kind)
{
    const bool share = kind >= CARM_CHANGE_AWARE_SHARE && kind <= CARM_CHANGE_VECTOR_SHARE;
    if (share) {
        v->change = known(v) ? v->value[1] - v->value[0] : 0.0;
        return;
    }
    v->change = !known(v)                    ? 0.0
                : v->value[0] == v->value[1] ? 0.0
                : v->value[0] > 0.0          ? v->value[1] / v->value[0] - 1.0
                                             : INFINITY;
}

static void judge_time(struct pair *p, double noise, size_t comparisons)
{
    struct carm_change_value *v = &p->change.values[CARM_CHANGE_TIME];
    const size_t runs[2] = {p->side[0].timed, p->side[1].timed};
    for (int i = 0; i < 2; i++) {
        v->value[i] = runs[i] ? exp(p->side[i].sum / (double)runs[i]) : -1.0;
    }
    put_change(v, CARM_CHANGE_TIME);
    v->error = -1.0;
    if (!known(v)) {
        v->verdict = CARM_CHANGE_UNKNOWN;
    } else if (runs[0] < 2 || runs[1] < 2) {
        v->verdict = CARM_CHANGE_UNJUDGED;
    } else {
        const double half = carm_change_interval(
            (double[2]){p->side[0].sum, p->side[1].sum},
            (double[2]){p->side[0].squares, p->side[1].squares}, runs, comparisons);
        const double logs = fabs(log1p(v->change));
        v->error = (1.0 + v->change) * expm1(half);
        v->verdict = logs > half && logs > log1p(noise) ? CARM_CHANGE_DIFFERENT : CARM_CHANGE_EQUAL;
    }
}

static void judge_count(struct pair *p, enum carm_change_kind kind)
{
    struct carm_change_value *v = &p->change.values[kind];
    for (int i = 0; i < 2; i++) {
        v->value[i] = count_of(&p->side[i].point, kind);
        v->varies = v->varies || p->side[i].varies[kind];
    }
    put_change(v, kind);
    /* where memory lies decides which lines share a set of the simulated caches */
    const bool simulated = (p->side[0].simulated || p->side[1].simulated) &&
                           (kind == CARM_CHANGE_L2_BYTES || kind == CARM_CHANGE_L3_BYTES ||
                            kind == CARM_CHANGE_DRAM_BYTES);
    const bool exact = p->change.exact && !v->varies && !simulated;
    v->error = exact ? 0.0 : -1.0;
    v->verdict = !known(v)                                         ? CARM_CHANGE_UNKNOWN
                 : fabs(v->change) > (exact ? 0.0 : counter_error) ? CARM_CHANGE_DIFFERENT
                                                                   : CARM_CHANGE_EQUAL;
}

/* What follows from times and counts is as sure as these. */
static void judge_rest(struct pair *p, enum carm_change_kind kind, const double value[2])
{
    struct carm_change_value *v = &p->change.values[kind];
    const struct carm_change_value *time = &p->change.values[CARM_CHANGE_TIME];
    memcpy(v->value, value, sizeof v->value);
    put_change(v, kind);
    v->error = -1.0;
    v->verdict = !known(v) ? CARM_CHANGE_UNKNOWN
                 : kind == CARM_CHANGE_INTENSITY
                     ? fabs(v->change) > (p->change.exact ? 0.0 : counter_error)
                           ? CARM_CHANGE_DIFFERENT
                           : CARM_CHANGE_EQUAL
                 : time->verdict == CARM_CHANGE_UNJUDGED              ? CARM_CHANGE_UNJUDGED
                 : fabs(v->change) > fmax(time->error, counter_error) ? CARM_CHANGE_DIFFERENT
                                                                      : CARM_CHANGE_EQUAL;
}

/* What people say that binds a point: the slowest level that allows its performance, or computation. */
static void name_bound(char bound[CARM_NAME_MAX], const struct carm_place *place)
{
    const char *name = place->over                          ? "above the roof"
                       : place->bound == CARM_BOUND_COMPUTE ? "compute"
                                                            : "";
    for (size_t i = 0; i < place->nceilings && !*name; i++) {
        const struct carm_ceiling *c = &place->ceilings[i];
        if (!c->compute && c->at * (1.0 + CARM_PLACE_TOLERANCE) >= place->performance) {
            name = c->name;
        }
    }
    snprintf(bound, CARM_NAME_MAX, "%s", name);
}

static void place_side(struct pair *p, int i, struct carm_place_choices *choices,
                       struct carm_placed *placed, double share[2])
{
    struct carm_place_choice choice;
    struct carm_point *point = &p->side[i].point;
    point->isa = p->side[i].isa;
    point->precision = p->side[i].precision;
    point->name = p->change.name;
    point->host = point->note = point->counted_by = point->metric = "";
    point->seconds = p->change.values[CARM_CHANGE_TIME].value[i];
    carm_place_choose(choices, point, &choice);
    carm_placed_fill(placed, point, &choice, carm_point_unplaced(point), "");
    for (int which = 0; which < 2; which++) {
        share[which] = placed->has[which] ? placed->place[which].share : -1.0;
    }
    if (placed->has[0] || placed->has[1]) {
        name_bound(p->change.bound[i], &placed->place[placed->has[0] ? 0 : 1]);
    }
}

static void judge(struct pair *p, double noise, size_t comparisons,
                  struct carm_place_choices *choices, struct carm_placed *placed)
{
    double share[2][2] = {{-1.0, -1.0}, {-1.0, -1.0}}; /* by side and model */
    double performance[2], intensity[2];
    p->change.exact = p->side[0].exact && p->side[1].exact;
    judge_time(p, noise, comparisons);
    for (int k = CARM_CHANGE_VECTOR_SHARE; k < CARM_CHANGE_KINDS; k++) {
        judge_count(p, (enum carm_change_kind)k);
    }
    for (int i = 0; i < 2; i++) {
        const struct carm_point *point = &p->side[i].point;
        const double seconds = p->change.values[CARM_CHANGE_TIME].value[i];
        p->change.runs[i] = p->side[i].runs;
        performance[i] = point->flops > 0.0 && seconds > 0.0 ? point->flops / seconds : -1.0;
        intensity[i] =
            point->flops > 0.0 && point->bytes > 0.0 ? point->flops / point->bytes : -1.0;
        if (choices) {
            place_side(p, i, choices, placed, share[i]);
        }
    }
    judge_rest(p, CARM_CHANGE_PERFORMANCE, performance);
    judge_rest(p, CARM_CHANGE_INTENSITY, intensity);
    judge_rest(p, CARM_CHANGE_AWARE_SHARE, (double[2]){share[0][0], share[1][0]});
    judge_rest(p, CARM_CHANGE_ORIGINAL_SHARE, (double[2]){share[0][1], share[1][1]});
}

/* Which names are where. */
static int list_names(struct carm_changes *c, struct carm_err *err)
{
    for (int k = 0; k < 3; k++) {
        c->listed[k] = calloc(c->names.n + 1, sizeof **c->listed);
        if (!c->listed[k]) {
            return carm_fail(err, CARM_ENOMEM, "not enough memory to compare points");
        }
    }
    for (uint32_t i = 0; i < c->names.n; i++) {
        struct pair *p = &c->pairs[i];
        const int k = !p->side[1].runs ? 0 : !p->side[0].runs ? 1 : BOTH;
        p->change.name = carm_names_text(&c->names, i);
        c->listed[k][c->nlisted[k]++] = i;
    }
    return c->nlisted[BOTH]
               ? 0
               : carm_fail(err, CARM_EINVAL, "the two files have no point of the same name");
}

static int judge_all(struct carm_changes *c, const struct carm_model *model, double noise,
                     struct carm_err *err)
{
    const struct carm_place_words words = {NULL, NULL, NULL, NULL, NULL, NULL};
    struct carm_place_choices *choices = NULL;
    struct carm_placed *placed = calloc(1, sizeof *placed);
    size_t judged = 0;
    int rc = placed ? list_names(c, err)
                    : carm_fail(err, CARM_ENOMEM, "not enough memory to compare points");
    for (size_t i = 0; placed && !rc && i < c->nlisted[BOTH]; i++) {
        const struct side *s = c->pairs[c->listed[BOTH][i]].side;
        judged += s[0].timed > 1 && s[1].timed > 1;
    }
    rc = rc || !model ? rc : carm_place_choices_open(&choices, model, &words, err);
    for (size_t i = 0; i < c->nlisted[BOTH] && !rc; i++) {
        judge(&c->pairs[c->listed[BOTH][i]], noise, judged, choices, placed);
    }
    carm_place_choices_close(choices);
    free(placed);
    return rc;
}

int carm_changes_read(const char *before, const char *after, const struct carm_points_how *how,
                      const struct carm_model *model, double noise, const char *only,
                      struct carm_changes **out, struct carm_err *err)
{
    struct carm_changes *c = calloc(1, sizeof *c);
    *out = NULL;
    if (!c) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to compare points");
    }
    carm_names_open(&c->names);
    int rc = read_file(c, 0, before, how, only, err);
    rc = rc ? rc : read_file(c, 1, after, how, only, err);
    rc = rc ? rc : judge_all(c, model, noise, err);
    if (rc) {
        carm_changes_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

void carm_changes_close(struct carm_changes *changes)
{
    if (changes) {
        carm_names_close(&changes->names);
        for (int k = 0; k < 3; k++) {
            free(changes->listed[k]);
        }
        free(changes->pairs);
        free(changes);
    }
}

const struct carm_change *carm_changes_get(const struct carm_changes *changes, size_t i)
{
    return i < changes->nlisted[BOTH] ? &changes->pairs[changes->listed[BOTH][i]].change : NULL;
}

const char *carm_changes_only(const struct carm_changes *changes, int file, size_t i)
{
    return i < changes->nlisted[file] ? carm_names_text(&changes->names, changes->listed[file][i])
                                      : NULL;
}
