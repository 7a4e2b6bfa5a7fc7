/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cache-aware paper's application classes on this machine: the measurements, and the paper's
 * observations checked on them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "kernels/classes/codes.h"
#include "kernels/study/study.h"

enum { CARM_CLASSES_K = CARM_CLASS_K_MAX + 1, CARM_CLASSES_NOTE = 256 };

/* An instance: N = 2^k iterations. */
struct carm_classes_point {
    bool known;
    bool kept;                    /* from a study that was stopped */
    double flops, bytes, seconds; /* of all threads; bytes as the cores load and store them */
    double dram_bytes;            /* by construction: an estimate */
    size_t runs;                  /* behind the median; 0 = kept */
    bool disturbed;               /* preempted so often that the time is not the machine's own */
};

/* One class on this machine. */
struct carm_classes_side {
    struct carm_class_plan plan;
    size_t home;                      /* index of the model's level that holds the sets */
    char code[CARM_CODE_NAME_MAX];    /* the chosen code; "" = none chosen yet */
    char left_out[CARM_CLASSES_NOTE]; /* why the class cannot be run here; "" = it can */
    struct carm_classes_point points[CARM_CLASSES_K];
    double next_seconds;  /* one run of the next instance, estimated; 0 = none is left */
    double evict_seconds; /* measured time of the eviction before each run */
};

struct carm_classes {
    struct carm_study base; /* first */
    struct carm_class_target target;
    unsigned largest;               /* k */
    uint64_t last_cache_bytes;      /* of the last level before memory: bytes that the threads
                                     * reach */
    char last_cache[CARM_NAME_MAX]; /* its name, "" = none known */
    struct carm_classes_side sides[CARM_CLASS_COUNT];
};

/* Index of the first level that holds a set of so many bytes for each thread. */
size_t carm_classes_home(const struct carm_model *model, const struct carm_topo *topo, int threads,
                         uint64_t bytes);

/* Fills in an instance by construction: everything but its time. */
void carm_classes_construct(const struct carm_classes *study, size_t class, unsigned k,
                            const struct carm_account *account, struct carm_classes_point *point);

/* "APP-L1 2^7". returns dst */
char *carm_classes_name(char *dst, size_t size, size_t class, unsigned k);

/* Appends one point. path: NULL = nothing is written */
int carm_classes_rows_append(const struct carm_classes *study, size_t class, unsigned k,
                             const char *path, struct carm_err *err);

/* Measures the instances that the budget allows, the cheapest first. For struct carm_study_ops. */
int carm_classes_measure(struct carm_study *base, const struct carm_host *host, const char *path,
                         struct carm_err *err);

/* ---- facts ----------------------------------------------------------------------------------- */

/* Figures for the paper's observations, on this machine. k < 0 = no such point. */
struct carm_classes_fact {
    int first, last;              /* smallest and largest k that was measured, -1 = none */
    double intensity;             /* cache-aware, of the last */
    double deviation;             /* largest relative distance of an intensity from this one */
    double dram_first, dram_last; /* intensity of the original model at both */
    double share;                 /* of the last's roof on the cache-aware model */
    double level_share; /* of the last instance: share of the performance that the slope of its
                         * own level and the peak allow */
    int near;           /* the k whose intensity on the original model is nearest to 16 */
    double near_intensity, near_performance, near_share, near_cache_aware_share;
    bool single_bound;   /* N = 1 lies left of the original model's ridge */
    double single_share; /* N = 1: of the original model's roof */
    /* N = 1: share of the cache-aware model's DRAM ceiling and peak; if a cache keeps the set,
     * without the write-backs, which come later */
    double single_dram_share;
};

struct carm_classes_facts {
    struct carm_classes_fact classes[CARM_CLASS_COUNT];
    bool constant; /* observation 1: no intensity moves by more than 1% on the cache-aware model */
    bool shifts;   /* ... while on the original model sets in caches move in proportion to N */
    double spread; /* observation 2: fastest over slowest near one intensity; 0 = too few points */
    size_t slowest, fastest;
    bool l1_reached;       /* APP-L1 has at least 0.9 of the first level's slope at the largest N */
    size_t nbound, nbelow; /* observation 3: single iterations that are memory bound by the original
                            * model; of these, iterations below 0.9 of its roof */
    size_t nline;          /* ... and iterations within a tenth of the cache-aware DRAM ceiling */
};

void carm_classes_facts(const struct carm_classes *study, struct carm_classes_facts *facts);

/* Places a point under one of the models. returns 0 or a negative error as models/place/place.h */
int carm_classes_place(const struct carm_classes *study, const struct carm_classes_point *point,
                       bool original, struct carm_place *place, struct carm_err *err);

/* Takes a row of points.csv, if it is a point of this study. For struct carm_study_ops. */
void carm_classes_take(struct carm_study *base, const struct carm_point *row);
