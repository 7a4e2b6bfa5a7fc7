/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places points under the roofs chosen for them, for `carm place` and the report. */
#pragma once

#include <stdbool.h>

#include "models/place/levels.h"
#include "models/place/own.h"
#include "models/place/place.h"
#include "models/place/points.h"
#include "models/place/runtime.h"
#include "models/place/views.h"

/* ---- the roofs of each point, gathered once for each kind of point ------------------------------ */

struct carm_place_choices;

/* Choices of the command line in place of the points' own columns; NULL = none. */
struct carm_place_words {
    const char *isa, *threads, *precision;
    const char *balance; /* "top", "bottom": the place of the multiply/add balance among the
                          * ceilings */
    const char *metric;  /* the metric that replaces flops */
    const char *peak;    /* the metric's computational roof, operations/s */
};

struct carm_place_choice {
    const struct carm_model *model;   /* borrowed */
    const struct carm_place_set *set; /* borrowed */
    const char
        *note;  /* the roofs that the model lacks for the point; "" = none; borrowed until the next
                 * choice */
    bool *told; /* whether a placed point already had the note; borrowed, set by the code that
                 * places points */
};

/* model  borrowed until the choices are closed
 * returns 0, -CARM_EINVAL (a word makes no sense), -CARM_ENOTSUP (the model has no such roofs: says
 * which it has), -CARM_ENOMEM */
int carm_place_choices_open(struct carm_place_choices **out, const struct carm_model *model,
                            const struct carm_place_words *words, struct carm_err *err);
void carm_place_choices_close(struct carm_place_choices *choices); /* NULL allowed */

/* The metric in use, "" = flops. Borrowed. */
const char *carm_place_choices_metric(const struct carm_place_choices *choices);

void carm_place_choose(struct carm_place_choices *choices, const struct carm_point *point,
                       struct carm_place_choice *out);

/* Whether any of the model's roofs have measured ceilings. */
bool carm_place_has_ceilings(const struct carm_model *model);

/* ---- a point under them ------------------------------------------------------------------------- */

/* A point and its places. */
struct carm_placed {
    const struct carm_point *point; /* for another metric, its operations are in `flops` */
    const struct carm_place_set *set;
    bool has_runtime; /* the runtime-oriented ceilings were asked for, and the point has a place */
    struct carm_runtime runtime;
    size_t rows;                    /* number of merged rows; 1 = not merged */
    double imbalance;               /* 0 = unknown */
    const struct carm_roofs *roofs; /* the point's roofs */
    const char *unplaced;           /* why the point has no roofs; NULL = it has a place */
    bool has[2];                    /* by enum carm_place_which */
    struct carm_place place[2];
    struct carm_err why[2]; /* why has[] is false */
    bool has_own[2];        /* the point's mix determines its own roof: */
    struct carm_own own;
    struct carm_own_roof own_roof[2];
    bool has_levels; /* bytes of more than one level are known: */
    struct carm_levels levels;
    /* notes on the choice of roofs, the host, the merge, a changed machine; "" = none */
    const char *notes[4];
    bool fresh;                    /* the first note was not printed before */
    const struct carm_view *view;  /* the view of a parallel program that the point shows; NULL = no
                                    * views */
    const struct carm_view *whole; /* the job, if the point is its last rank; else NULL */
    struct carm_imbalance_cost cost; /* of a view's imbalance */
};

/* The share of a point's time that its largest bound explains: from both roofline models and the levels with known
 * bytes; 0 = no place. */
double carm_placed_explains(const struct carm_placed *placed);

/* Whether a point's host differs from the model's; node7 and node7.cluster.example are one host.
 * note  [size] out: a sentence about the difference; "" = none */
bool carm_place_other_host(const struct carm_point *point, const struct carm_model *model,
                           char *note, size_t size);

/* The point in the metric of its roofs: under roofs of another metric, `flops` gets the operations
 * of the point.
 * returns the reason why the point has no place under the roofs; NULL = it has one */
const char *carm_placed_count(struct carm_point *counted, const struct carm_point *point,
                              const struct carm_place_choice *choice);

/* Fills in only the places of a point, without its own roof and levels. Arguments as for carm_placed_fill.
 * advice  whether to write the places' advice, which takes longer than everything else */
void carm_placed_places(struct carm_placed *placed, const struct carm_point *point,
                        const struct carm_place_choice *choice, const char *unplaced,
                        const char *host, bool advice);

/* Fills in all of *placed except the results of a merge and of the runtime-oriented roofline
 * (rows is 1).
 * unplaced  why the point has no roof, or NULL
 * host      as carm_place_other_host wrote it; borrowed, as are point and choice */
void carm_placed_fill(struct carm_placed *placed, const struct carm_point *point,
                      const struct carm_place_choice *choice, const char *unplaced,
                      const char *host);

/* All notes about a point as one text: the point's own, a share below 1, and the notes. returns dst */
char *carm_place_notes(char *dst, size_t size, const struct carm_placed *placed, bool only_fresh);
