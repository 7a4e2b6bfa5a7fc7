/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The contents of a picture: the models and the points that the operands name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "models/file/points.h"
#include "models/model.h"

enum {
    CARM_PLOT_MODELS_MAX = 8,
    CARM_PLOT_FILES_MAX = 16,
    CARM_PLOT_POINTS_MAX = 100000,
};

/* A point of a program; all members are known, but bytes and dram_bytes may be negative (not
 * counted). */
struct carm_plot_point {
    char name[96];
    double flops, bytes, dram_bytes, seconds;
    double level_bytes[2]; /* between L1 and L2, L2 and L3; negative = not counted */
    double flops_low, flops_high, bytes_low,
        bytes_high;     /* interval of flops and bytes; negative = exact */
    char precision[16]; /* "" = unknown */
    int threads;        /* 0 = unknown */
    size_t file, model; /* the file of the point, and the model that it is placed on */
    int step;           /* of carm study gemm: 1 to 5, 6 a library; 0 = none, -1 a variant */
};

/* Receives a remark about the picture: a sentence without its line end. */
typedef void carm_plot_note_fn(const char *text);

struct carm_plot_input {
    carm_plot_note_fn *note;
    const struct carm_points_how *how;               /* borrowed */
    struct carm_model *models[CARM_PLOT_MODELS_MAX]; /* owned */
    size_t nmodels;
    struct carm_plot_point *points; /* owned */
    size_t npoints, room;
    char files[CARM_PLOT_FILES_MAX][64]; /* names of the points' files without folders */
    size_t nfiles;
    /* draw arrows from each file's points to points of the same names in the next file; set by the
     * caller */
    bool arrows;
    /* for studies: points of a file are joined in order, and all have names or none has */
    bool lines;
    const char *traffic_by; /* how DRAM bytes were obtained, "" or NULL = counted */
};

/* The first repeated operand, or NULL. */
const char *carm_plot_input_twice(int n, char **operands);

/* Reads the operands: models (carm_select_is_model), files of points, "-" points on standard input.
 * how  files of points are read; NULL = as usual. Without a model, this machine's model is taken. A point is placed on
 * the model of its host, else on the first model. Rows that have no place on a plot of flops are left out and counted
 * in a note.
 * returns 0; -CARM_EINVAL (too many, no point left); or as carm_select_open and
 * carm_points_open. *input is to be released with carm_plot_input_close in any case */
int carm_plot_input_read(struct carm_plot_input *input, carm_plot_note_fn *note,
                         const struct carm_points_how *how, int n, char **operands,
                         struct carm_err *err);
void carm_plot_input_close(struct carm_plot_input *input);

/* The text that distinguishes the models: the host, the CPU where hosts are the same, or a
 * number. */
void carm_plot_input_name(const struct carm_plot_input *input, size_t model, char *dst,
                          size_t size);

__attribute__((format(printf, 2, 3))) void carm_plot_note(const struct carm_plot_input *input,
                                                          const char *fmt, ...);
