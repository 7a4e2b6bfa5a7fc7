/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The output of `carm place`: a table, CSV or JSON, point by point. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/outfile.h"
#include "models/place/json.h"
#include "models/place/placed.h"

enum carm_place_format {
    CARM_PLACE_TABLE,
    CARM_PLACE_CSV,
    CARM_PLACE_JSON,
    CARM_PLACE_BENCHMARK, /* the JSON of Google Benchmark */
};

struct carm_place_printer {
    FILE *out;
    enum carm_place_format format;
    bool ceilings;      /* print all ceilings for each point */
    bool merged;        /* rows were merged */
    bool views;         /* points are of views */
    bool runtime;       /* the runtime-oriented ceilings, too */
    bool regions;       /* the model has measured ceilings */
    bool hint;          /* print a hint on the use of ceilings */
    const char *metric; /* the requested metric, then the current point's; "" = flops */
    bool ascii;
    bool flops;  /* the table's columns speak of flops; carm_place_begin fills it in */
    bool headed; /* the names of the table's columns were printed */
    const struct carm_model *model; /* borrowed; carm_place_begin fills it in */
    const char *changed;            /* the changes of the model by --set; borrowed; NULL = none */
    size_t points, places[2], unplaced, over;
    struct carm_place_json json; /* carm_place_begin fills it in */
};

/* All functions may be called after a failed write: the caller checks ferror(out) at the end. */
void carm_place_begin(struct carm_place_printer *printer, const struct carm_model *model);
void carm_place_put(struct carm_place_printer *printer, const struct carm_placed *placed);
void carm_place_end(struct carm_place_printer *printer);

/* "flop", or the metric, cut and safe to print. returns dst */
char *carm_place_unit(char dst[CARM_NAME_MAX], const struct carm_place_printer *printer);

/* Prints text behind head, made safe and wrapped. */
void carm_place_table_note(const struct carm_place_printer *printer, const char *head,
                           const char *text);

/* The formats, each in its own file. */
void carm_place_table_put(struct carm_place_printer *printer, const struct carm_placed *placed);
void carm_place_table_end(const struct carm_place_printer *printer);
void carm_place_csv_begin(const struct carm_place_printer *printer);
void carm_place_csv_put(const struct carm_place_printer *printer, const struct carm_placed *placed);
void carm_place_benchmark_begin(const struct carm_place_printer *printer,
                                const struct carm_model *model);
void carm_place_benchmark_put(const struct carm_place_printer *printer,
                              const struct carm_placed *placed);
void carm_place_benchmark_end(const struct carm_place_printer *printer);

/* ---- outputs: standard output, and a CSV file beside it ----------------------------------- */

struct carm_place_outputs {
    struct carm_place_printer printers[2];
    size_t n;
    struct carm_outfile *file; /* file of the second printer; NULL = none */
    struct carm_err file_err;  /* why the file cannot be written; "" = it can */
};

/* outputs  zeroed; must not move until it is closed
 * same     printer for standard output; copied for both outputs
 * csv      the file, NULL = none
 * returns 0; -CARM_ENOMEM; as carm_outfile_open */
int carm_place_outputs_open(struct carm_place_outputs *outputs,
                            const struct carm_place_printer *same, const char *csv,
                            struct carm_err *err);

/* Renames the CSV file to its target. After an error the target is unchanged.
 * rc  result of the printing: 0, or an error after which the file is discarded
 * returns rc, or the error of this call */
int carm_place_outputs_close(struct carm_place_outputs *outputs, int rc, struct carm_err *err);

/* ---- --intensity: the roofs at an intensity, before there is any point -------------------------- */

/* Prints roofs, ceilings, regions and gains of both models at each intensity.
 * printer  its format is the table or JSON
 * list     "0.25,1/2,8": operations for each byte
 * returns 0 or -CARM_EINVAL (not such a list) */
int carm_place_intensities(struct carm_place_printer *printer, const struct carm_model *model,
                           struct carm_place_choices *choices, const char *list,
                           struct carm_err *err);
