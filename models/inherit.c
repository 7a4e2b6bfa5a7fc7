/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/inherit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "models/roofline.h"

/* Points of two curves with a smaller ratio of working sets are one point, as in validation/roofs/levels.c. */
static const double same_point = 1.02;

/* Appends an element and empties the place that it is moved from.
 * items  address of the array's pointer */
static int append(void *items, size_t *n, void *element, size_t size, struct carm_err *err)
{
    const int rc = carm_array_append(items, NULL, n, element, size, "the model", err);
    if (!rc) {
        memset(element, 0, size);
    }
    return rc;
}

/* Moves a whole array where the model has none. */
static void move(void *items, size_t *n, void *from, size_t *nfrom)
{
    void *array = NULL;
    if (*n == 0) {
        void *mine = NULL;
        memcpy(&mine, items, sizeof mine);
        free(mine);
        memcpy(&array, from, sizeof array);
        memcpy(items, &array, sizeof array);
        *n = *nfrom;
        array = NULL;
        memcpy(from, &array, sizeof array);
        *nfrom = 0;
    }
}

static int inherit_memory(struct carm_roofs *now, struct carm_memory_roof *was,
                          struct carm_err *err)
{
    const struct carm_memory_roof *there = carm_roofs_find_memory(now, was->level, was->ldst);
    if (!there) {
        return append(&now->memory, &now->nmemory, was, sizeof *was, err);
    }
    struct carm_memory_roof *m = &now->memory[there - now->memory];
    if (m->disturbed && !was->disturbed) {
        const struct carm_memory_roof worse = *m;
        *m = *was;
        *was = worse;
    }
    return 0;
}

static int inherit_compute(struct carm_roofs *now, struct carm_compute_roof *was,
                           struct carm_err *err)
{
    const struct carm_compute_roof *there = carm_roofs_find_compute(now, was->op);
    if (!there) {
        return append(&now->compute, &now->ncompute, was, sizeof *was, err);
    }
    struct carm_compute_roof *c = &now->compute[there - now->compute];
    if (c->disturbed && !was->disturbed) {
        const struct carm_compute_roof worse = *c;
        *c = *was;
        *was = worse;
    }
    return 0;
}

/* Moves the peak of the original model, where its memory roof was moved. */
static void inherit_dram_peak(struct carm_roofs *now, const struct carm_dram_peak *was)
{
    for (size_t i = 0; i < now->nmemory; i++) {
        const struct carm_memory_roof *m = &now->memory[i];
        if (strcmp(m->code, was->code) == 0 && m->bandwidth == was->bandwidth &&
            was->bandwidth > now->dram_peak.bandwidth) {
            now->dram_peak = *was;
        }
    }
}

static int inherit_set(struct carm_roofs *now, struct carm_roofs *was, struct carm_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < was->nmemory && !rc; i++) {
        rc = inherit_memory(now, &was->memory[i], err);
    }
    for (size_t i = 0; i < was->ncompute && !rc; i++) {
        rc = inherit_compute(now, &was->compute[i], err);
    }
    inherit_dram_peak(now, &was->dram_peak);
    move(&now->ceilings, &now->nceilings, &was->ceilings, &was->nceilings);
    return rc;
}

/* Levels without a plateau in the new curve keep the earlier plateau. */
static void inherit_levels(struct carm_model *now, const struct carm_model *was)
{
    for (size_t i = 0; i < now->nlevels; i++) {
        for (size_t k = 0; k < was->nlevels && !now->levels[i].resolved; k++) {
            if (was->levels[k].resolved &&
                strcmp(now->levels[i].level, was->levels[k].level) == 0) {
                now->levels[i] = was->levels[k];
            }
        }
    }
}

static struct carm_curve *find_curve(struct carm_curve *curves, size_t n,
                                     const struct carm_curve *like)
{
    for (size_t i = 0; i < n; i++) {
        if (curves[i].threads == like->threads && strcmp(curves[i].isa, like->isa) == 0 &&
            strcmp(curves[i].precision, like->precision) == 0 &&
            strcmp(curves[i].kind, like->kind) == 0) {
            return &curves[i];
        }
    }
    return NULL;
}

/* Takes over the curves that the model does not have, and the points beyond the end of curves that both have. */
static int inherit_curves(struct carm_curve **now, size_t *n, struct carm_curve *was, size_t nwas,
                          struct carm_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < nwas && !rc; i++) {
        struct carm_curve *c = find_curve(*now, *n, &was[i]);
        const double end = c && c->npoints ? c->points[c->npoints - 1].x : 0.0;
        if (!c) {
            rc = append(now, n, &was[i], sizeof was[i], err);
        }
        for (size_t k = 0; c && k < was[i].npoints && !rc; k++) {
            if (was[i].points[k].x > same_point * end) {
                rc = append(&c->points, &c->npoints, &was[i].points[k], sizeof *c->points, err);
            }
        }
    }
    return rc;
}

/* The order of a whole build: by threads, the widest ISA first. */
static int by_width(const void *a, const void *b)
{
    const struct carm_roofs *x = a;
    const struct carm_roofs *y = b;
    const int isas = carm_isa_rank(y->isa) - carm_isa_rank(x->isa);
    return x->threads != y->threads ? x->threads - y->threads
           : isas                   ? isas
                                    : strcmp(x->precision, y->precision);
}

/* Adds to one list of precisions those of the other list that are missing in it. */
static void join_words(char *now, size_t size, const char *was)
{
    char words[CARM_NAME_MAX];
    char *rest = words;
    snprintf(words, sizeof words, "%s", was);
    for (const char *word = strtok_r(rest, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        const size_t length = strlen(word);
        bool there = false;
        for (const char *at = strstr(now, word); at; at = strstr(at + 1, word)) {
            there = there || ((at == now || at[-1] == ',') && (!at[length] || at[length] == ','));
        }
        if (!there) {
            (void)carm_text_list_whole(now, size, ",", "%s", word);
        }
    }
}

int carm_model_inherit(struct carm_model *model, struct carm_model *before, struct carm_err *err)
{
    const size_t measured = model->nroofs;
    int rc = 0;
    for (size_t i = 0; i < before->nroofs && !rc; i++) {
        struct carm_roofs *was = &before->roofs[i];
        struct carm_roofs *now =
            carm_model_find_roofs(model, was->isa, was->precision, was->threads);
        rc = now ? inherit_set(now, was, err)
                 : append(&model->roofs, &model->nroofs, was, sizeof *was, err);
    }
    if (model->nroofs > measured) {
        qsort(model->roofs, model->nroofs, sizeof *model->roofs, by_width);
    }
    inherit_levels(model, before);
    rc = rc ? rc
            : inherit_curves(&model->curves, &model->ncurves, before->curves, before->ncurves, err);
    rc = rc ? rc
            : inherit_curves(&model->flop_curves, &model->nflop_curves, before->flop_curves,
                             before->nflop_curves, err);
    move(&model->core, &model->ncore, &before->core, &before->ncore);
    move(&model->latency, &model->nlatency, &before->latency, &before->nlatency);
    move(&model->latency_curves, &model->nlatency_curves, &before->latency_curves,
         &before->nlatency_curves);
    move(&model->in_flight, &model->nin_flight, &before->in_flight, &before->nin_flight);
    move(&model->loaded, &model->nloaded, &before->loaded, &before->nloaded);
    move(&model->core_to_core, &model->ncore_to_core, &before->core_to_core,
         &before->ncore_to_core);
    move(&model->numa_nodes, &model->nnuma_nodes, &before->numa_nodes, &before->nnuma_nodes);
    move(&model->numa, &model->nnuma, &before->numa, &before->nnuma);
    move(&model->scaling, &model->nscaling, &before->scaling, &before->nscaling);
    move(&model->scaling_units, &model->nscaling_units, &before->scaling_units,
         &before->nscaling_units);
    move(&model->checks, &model->nchecks, &before->checks, &before->nchecks);
    move(&model->kinds, &model->nkinds, &before->kinds, &before->nkinds);
    join_words(model->config.precision, sizeof model->config.precision, before->config.precision);
    model->config.quick = model->config.quick && before->config.quick;
    model->config.reps =
        model->config.reps > before->config.reps ? model->config.reps : before->config.reps;
    return rc;
}
