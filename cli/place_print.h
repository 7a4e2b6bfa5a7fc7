/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `carm place` prints of each point: a table, CSV or JSON, point by point. */
#ifndef CARM_PLACE_PRINT_H
#define CARM_PLACE_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/place_merge.h"
#include "models/place.h"
#include "models/points.h"

/* A point and its places. */
struct carm_placed {
    const struct carm_point *point;
    size_t rows;                    /* merged into it; 1 = none */
    double imbalance;               /* 0 = unknown */
    const struct carm_roofs *roofs; /* that it stands under */
    const char *unplaced;           /* why under none, NULL = it has a place */
    bool has[2];                    /* by enum carm_place_which */
    struct carm_place place[2];
    struct carm_err why[2]; /* where it has none */
    const char *notes[3];   /* about the choice of roofs, the host, the merge; "" = nothing */
    bool fresh;             /* the first note is a new one */
};

enum carm_place_format { CARM_PLACE_TABLE, CARM_PLACE_CSV, CARM_PLACE_JSON };

struct carm_place_printer {
    FILE *out;
    enum carm_place_format format;
    bool ceilings; /* all of them, for each point */
    bool merged;   /* rows were merged */
    bool ascii;
    size_t points, places[2], unplaced, over;
};

/* All may be called for an output that fails: the caller looks at ferror(out) at the end. */
void carm_place_begin(struct carm_place_printer *printer, const struct carm_model *model);
void carm_place_put(struct carm_place_printer *printer, const struct carm_placed *placed);
void carm_place_end(struct carm_place_printer *printer);

/* All notes about a point as one text: the point's own, a share below 1, and the notes. returns dst */
char *carm_place_notes(char *dst, size_t size, const struct carm_placed *placed, bool only_fresh);

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
