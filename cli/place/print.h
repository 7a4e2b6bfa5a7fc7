/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `carm place` prints of each point: a table, CSV or JSON, point by point. */
#ifndef CARM_CLI_PLACE_PRINT_H
#define CARM_CLI_PLACE_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "models/place/merge.h"
#include "models/place/imbalance.h"
#include "models/place/views.h"
#include "models/place/place.h"
#include "models/place/points.h"
#include "models/place/runtime.h"

/* A point and its places. */
struct carm_placed {
    const struct carm_point *point; /* of another metric: its operations stand as flops */
    const struct carm_place_set *set;
    bool has_runtime; /* asked for, and it has a place */
    struct carm_runtime runtime;
    size_t rows;                    /* merged into it; 1 = none */
    double imbalance;               /* 0 = unknown */
    const struct carm_roofs *roofs; /* that it stands under */
    const char *unplaced;           /* why under none, NULL = it has a place */
    bool has[2];                    /* by enum carm_place_which */
    struct carm_place place[2];
    struct carm_err why[2];       /* where it has none */
    const char *notes[3];         /* about the choice of roofs, the host, the merge; "" = nothing */
    bool fresh;                   /* the first note is a new one */
    const struct carm_view *view; /* what it is of a parallel program, NULL = rows by themselves */
    const struct carm_view *whole;   /* the job whose last rank it is, else NULL */
    struct carm_imbalance_cost cost; /* of a view's imbalance */
};

enum carm_place_format { CARM_PLACE_TABLE, CARM_PLACE_CSV, CARM_PLACE_JSON };

struct carm_place_printer {
    FILE *out;
    enum carm_place_format format;
    bool ceilings;      /* all of them, for each point */
    bool merged;        /* rows were merged */
    bool views;         /* points are of views */
    bool runtime;       /* the runtime-oriented ceilings, too */
    bool regions;       /* the model has measured ceilings */
    bool hint;          /* say what such ceilings would tell */
    const char *metric; /* "" = flops */
    bool ascii;
    size_t points, places[2], unplaced, over;
};

/* All may be called for an output that fails: the caller looks at ferror(out) at the end. */
void carm_place_begin(struct carm_place_printer *printer, const struct carm_model *model);
void carm_place_put(struct carm_place_printer *printer, const struct carm_placed *placed);
void carm_place_end(struct carm_place_printer *printer);

/* All notes about a point as one text: the point's own, a share below 1, and the notes. returns dst */
char *carm_place_notes(char *dst, size_t size, const struct carm_placed *placed, bool only_fresh);

/* The optimisations in reach as one text: "keep memory on the threads' node (no affinity) 1.8x; ...",
 * "none" where none gives more than errors of measurement. returns dst */
char *carm_place_gains_text(char *dst, size_t size, const struct carm_place_set *set,
                            const struct carm_place *place);

/* "flop", or the metric, cut and safe to print. returns dst */
char *carm_place_unit(char dst[CARM_NAME_MAX], const struct carm_place_printer *printer);

/* Text behind head, safe to print and wrapped. */
void carm_place_table_note(const struct carm_place_printer *printer, const char *head,
                           const char *text);

/* A member "region" and one "optimisations" of the object that is being written. */
void carm_place_json_region(FILE *out, const struct carm_place_set *set,
                            const struct carm_place *place);
/* A text as a JSON string. */
void carm_place_json_string(FILE *out, const char *s);

/* The formats, each in its own file. */
void carm_place_table_begin(const struct carm_place_printer *printer,
                            const struct carm_model *model);
void carm_place_table_put(const struct carm_place_printer *printer,
                          const struct carm_placed *placed);
void carm_place_table_end(const struct carm_place_printer *printer);
void carm_place_csv_begin(const struct carm_place_printer *printer);
void carm_place_csv_put(const struct carm_place_printer *printer, const struct carm_placed *placed);
void carm_place_json_begin(const struct carm_place_printer *printer);
void carm_place_json_put(const struct carm_place_printer *printer,
                         const struct carm_placed *placed);
void carm_place_json_end(const struct carm_place_printer *printer);

#endif
