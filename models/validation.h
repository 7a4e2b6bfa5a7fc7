/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `carm validate` leaves in a model: the points of test code C, the scores of the models on
 * them, and fits. Units are SI. */
#ifndef CARM_MODELS_VALIDATION_H
#define CARM_MODELS_VALIDATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/number.h"

enum {
    CARM_NAME_MAX = 80,   /* names of codes, ISAs, levels, mixes, with the terminating zero */
    CARM_TEXT_MAX = 256,  /* notes, host and CPU names, with the terminating zero */
    CARM_TRAFFIC_MAX = 8, /* levels that a point's bytes cross into */
};

/* What a validation's entries belong to: one set of roofs and one operation. Each entry below has
 * it as its first member. */
struct carm_validation_set {
    char isa[CARM_NAME_MAX];
    char precision[CARM_NAME_MAX];
    char op[CARM_NAME_MAX];
    int threads;
};

/* How well one model predicts the points of one level. */
struct carm_validation {
    struct carm_validation_set set;
    /* "cache-aware", "original" (DRAM), its variants "original-L2", ... and "original-mix" */
    char model[CARM_NAME_MAX];
    char level[CARM_NAME_MAX]; /* a level's name or "all" */
    int n;
    double rrmse, rrmse_model, fitness; /* as struct carm_score has them */
    /* Of the point that is predicted worst: flop/byte as that model counts it, and
     * measured / model - 1. */
    double worst_intensity, worst_error;
    /* The same against roofs that codes A and B gave beside the points, in the same run: what
     * remains when the machine has changed since the model was built. 0 = not measured. */
    double rrmse_beside, fitness_beside;
};

/* One point of test code C. */
struct carm_validation_point {
    struct carm_validation_set set;
    char level[CARM_NAME_MAX];
    char code[CARM_NAME_MAX];
    double flops, bytes; /* of one repetition, all threads; intensity = flops / bytes */
    double seconds;      /* of one repetition, median; performance = flops / seconds */
    struct carm_ci ci95; /* of the performance, flop/s */
    /* [ntraffic] bytes of one repetition that cross into each level after the first (L1-L2, L2-L3,
     * ..., last cache-DRAM) */
    double traffic[CARM_TRAFFIC_MAX];
    size_t ntraffic;
    double slots; /* issue slots of one repetition, all threads */
    /* byte/s of the level's code A right after the point; 0 = not measured, as on levels that a core
     * has for itself */
    double beside;
    double clock_hz;
    uint64_t working_set_bytes; /* all threads together */
    uint64_t reps;
    char counted_by[CARM_NAME_MAX];
    bool disturbed;
    char note[CARM_TEXT_MAX];
};

/* A roof as it was in the model and as codes A and B gave it beside the points. */
struct carm_validation_roof {
    struct carm_validation_set set;
    char level[CARM_NAME_MAX]; /* a level's name, or "peak" */
    char code[CARM_NAME_MAX];
    double model, beside; /* byte/s or flop/s */
    struct carm_ci beside_ci95;
    /* T = t0 + work / rate over sizes of that code: rate 0 = not fitted */
    double rate, rate_se; /* byte/s or flop/s */
    double t0, t0_se;     /* seconds */
    double theory;        /* byte/s or flop/s by ports x width x clock; 0 = unknown */
    bool disturbed;
};

/* A roofline fitted to the points of one level. */
struct carm_validation_fit {
    struct carm_validation_set set;
    char level[CARM_NAME_MAX];
    char form[CARM_NAME_MAX]; /* "sharp", "rounded", "issue", "rounded+issue" */
    int n;
    double bandwidth, bandwidth_se; /* byte/s */
    double peak, peak_se;           /* flop/s */
    double correlation;             /* of their logarithms */
    double p, p_se;                 /* 0 where the form is not rounded or p is beyond telling */
    double issue;                   /* slots/s, measured; 0 = the form has none */
    double aicc;
    double cv_rrmse, cv_fitness; /* of points that the fit had not seen */
    bool chosen;                 /* lowest aicc */
};

struct carm_model;

bool carm_validation_set_equal(const struct carm_validation_set *a,
                               const struct carm_validation_set *b);

struct carm_roofs;

/* The set of one set of roofs and an operation. */
struct carm_validation_set carm_validation_set_of(const struct carm_roofs *roofs, const char *op);

/* The roofs that a set belongs to, borrowed from the model, or NULL when it has none. */
const struct carm_roofs *carm_validation_find_roofs(const struct carm_model *model,
                                                    const struct carm_validation_set *set);

/* The score of one model on one level ("all" for the pooled one), borrowed, or NULL. */
const struct carm_validation *carm_validation_find_score(const struct carm_model *model,
                                                         const struct carm_validation_set *set,
                                                         const char *name, const char *level);

/* What scores call level i of a model: its name, or "all" for the one past the last. */
const char *carm_validation_level(const struct carm_model *model, size_t i);

/* Takes entries of one set out of a model, so that a new validation replaces the old one: its points
 * and roofs on one level ("peak" is one here), or on all (NULL), and all its scores and fits, which
 * are made of them. The others keep their order. returns how many */
size_t carm_validation_drop(struct carm_model *model, const struct carm_validation_set *set,
                            const char *level);

/* Each copies one entry, not one of the model's own, to the end of the model's array of them. What
 * carm_model_read would refuse is found when the model is written, not here.
 * returns 0 or -CARM_ENOMEM (the model is as it was) */
int carm_validation_add_score(struct carm_model *model, const struct carm_validation *score,
                              struct carm_err *err);
int carm_validation_add_point(struct carm_model *model, const struct carm_validation_point *point,
                              struct carm_err *err);
int carm_validation_add_roof(struct carm_model *model, const struct carm_validation_roof *roof,
                             struct carm_err *err);
int carm_validation_add_fit(struct carm_model *model, const struct carm_validation_fit *fit,
                            struct carm_err *err);

#endif
