/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/validation.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "models/model.h"

bool carm_validation_set_equal(const struct carm_validation_set *a,
                               const struct carm_validation_set *b)
{
    return a->threads == b->threads && strcmp(a->isa, b->isa) == 0 &&
           strcmp(a->precision, b->precision) == 0 && strcmp(a->op, b->op) == 0;
}

struct carm_validation_set carm_validation_set_of(const struct carm_roofs *roofs, const char *op)
{
    struct carm_validation_set set = {.threads = roofs->threads};
    snprintf(set.isa, sizeof set.isa, "%s", roofs->isa);
    snprintf(set.precision, sizeof set.precision, "%s", roofs->precision);
    snprintf(set.op, sizeof set.op, "%s", op);
    return set;
}

const struct carm_roofs *carm_validation_find_roofs(const struct carm_model *model,
                                                    const struct carm_validation_set *set)
{
    return carm_model_find_roofs(model, set->isa, set->precision, set->threads);
}

/* The first members of every entry of points and roofs. */
struct placed {
    struct carm_validation_set set;
    char level[CARM_NAME_MAX];
};
_Static_assert(offsetof(struct carm_validation_point, level) == offsetof(struct placed, level) &&
                   offsetof(struct carm_validation_roof, level) == offsetof(struct placed, level),
               "points and roofs begin with their set and level");

const struct carm_validation *carm_validation_find_score(const struct carm_model *m,
                                                         const struct carm_validation_set *set,
                                                         const char *name, const char *level)
{
    for (size_t i = 0; i < m->nvalidation; i++) {
        const struct carm_validation *v = &m->validation[i];
        if (carm_validation_set_equal(&v->set, set) && strcmp(v->model, name) == 0 &&
            strcmp(v->level, level) == 0) {
            return v;
        }
    }
    return NULL;
}

const char *carm_validation_level(const struct carm_model *m, size_t i)
{
    return i < m->nlevels ? m->levels[i].level : "all";
}

/* Removes the items with a given set (their first member) and level (their second member); level
 * NULL = any.
 * n items of size bytes each
 * returns the number of items that stay */
static size_t keep_others(void *items, size_t n, size_t size, const struct carm_validation_set *set,
                          const char *level)
{
    char *from = items, *to = items;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++, from += size) {
        struct placed of;
        memcpy(&of, from, level ? sizeof of : sizeof of.set);
        if (carm_validation_set_equal(&of.set, set) && (!level || strcmp(of.level, level) == 0)) {
            continue;
        }
        if (to != from) {
            memcpy(to, from, size);
        }
        to += size;
        kept++;
    }
    return kept;
}

static size_t entries(const struct carm_model *m)
{
    return m->nvalidation + m->nvalidation_points + m->nvalidation_roofs + m->nvalidation_fits;
}

size_t carm_validation_drop(struct carm_model *m, const struct carm_validation_set *set,
                            const char *level)
{
    size_t before = entries(m);
    struct carm_validation_set key = *set; /* the caller's entry may be inside the array that
                                            * moves */
    m->nvalidation = keep_others(m->validation, m->nvalidation, sizeof *m->validation, &key, NULL);
    m->nvalidation_points = keep_others(m->validation_points, m->nvalidation_points,
                                        sizeof *m->validation_points, &key, level);
    m->nvalidation_roofs = keep_others(m->validation_roofs, m->nvalidation_roofs,
                                       sizeof *m->validation_roofs, &key, level);
    m->nvalidation_fits = keep_others(m->validation_fits, m->nvalidation_fits,
                                      sizeof *m->validation_fits, &key, NULL);
    return before - entries(m);
}

static const char purpose[] = "the validation in the model";

int carm_validation_add_score(struct carm_model *m, const struct carm_validation *score,
                              struct carm_err *err)
{
    return carm_array_append(&m->validation, NULL, &m->nvalidation, score, sizeof *score, purpose,
                             err);
}

int carm_validation_add_point(struct carm_model *m, const struct carm_validation_point *point,
                              struct carm_err *err)
{
    return carm_array_append(&m->validation_points, NULL, &m->nvalidation_points, point,
                             sizeof *point, purpose, err);
}

int carm_validation_add_roof(struct carm_model *m, const struct carm_validation_roof *roof,
                             struct carm_err *err)
{
    return carm_array_append(&m->validation_roofs, NULL, &m->nvalidation_roofs, roof, sizeof *roof,
                             purpose, err);
}

int carm_validation_add_fit(struct carm_model *m, const struct carm_validation_fit *fit,
                            struct carm_err *err)
{
    return carm_array_append(&m->validation_fits, NULL, &m->nvalidation_fits, fit, sizeof *fit,
                             purpose, err);
}

static int check_performance(const char *name, const double *values, size_t n, struct carm_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i]) || values[i] <= 0.0) {
            return carm_fail(err, CARM_EINVAL,
                             "%s[%zu] is %g: a score needs finite performance above zero", name, i,
                             values[i]);
        }
    }
    return 0;
}

int carm_score_eval(const double *measured, const double *model, size_t n, struct carm_score *out,
                    struct carm_err *err)
{
    if (n == 0) {
        return carm_fail(err, CARM_EINVAL, "no points to score: measure at least one");
    }
    int rc = check_performance("measured", measured, n, err);
    if (rc == 0) {
        rc = check_performance("model", model, n, err);
    }
    if (rc) {
        return rc;
    }
    double over_measured = 0.0;
    double over_model = 0.0;
    double largest = -1.0;
    struct carm_score s = {.n = n};
    for (size_t i = 0; i < n; i++) {
        const double by_measured = 1.0 - model[i] / measured[i];
        const double by_model = measured[i] / model[i] - 1.0;
        over_measured += by_measured * by_measured;
        over_model += by_model * by_model;
        if (fabs(by_measured) > largest) {
            largest = fabs(by_measured);
            s.worst = i;
            s.worst_error = by_model;
        }
    }
    s.rrmse = sqrt(over_measured / (double)n);
    s.rrmse_model = sqrt(over_model / (double)n);
    s.fitness = 100.0 / (1.0 + s.rrmse);
    *out = s;
    return 0;
}
