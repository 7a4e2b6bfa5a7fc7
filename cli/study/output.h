/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output of the studies: text, JSON, pictures. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "kernels/study/study.h"
#include "plots/input.h"

/* Prints a study's text; lines beyond 80 columns are continued below, indented behind their first
 * words. */
void carm_study_put_folded(const char *text);

/* Print a study as tables, after one sentence with the answer. */
void carm_gemm_print(FILE *out, const struct carm_study *of);
void carm_classes_print(FILE *out, const struct carm_study *of);
void carm_dwarfs_print(FILE *out, const struct carm_study *of);

/* A study as JSON; NULL when out of memory. */
json_t *carm_gemm_json(const struct carm_study *of);
json_t *carm_classes_json(const struct carm_study *of);
json_t *carm_dwarfs_json(const struct carm_study *of);

/* Draw a study as a picture: svg, png or pdf by the name's end. gemm: figure 9 of the cache-aware paper, with
 * variants figure 10; classes: its figures 7 and 8; dwarfs: figure 3 of the Roofline paper, with kernels that are
 * balanced by nature in a panel of their own.
 * returns 0 or negative */
int carm_gemm_plot(const struct carm_study *study, const char *path, struct carm_err *err);
int carm_classes_plot(const struct carm_study *study, const char *path, struct carm_err *err);
int carm_dwarfs_plot(const struct carm_study *of, const char *path, struct carm_err *err);

/* The gnuplot text of classes alone. format: "svg", "png", "pdf" */
int carm_classes_plot_script(FILE *out, const struct carm_study *study, const char *format,
                             struct carm_err *err);

/* Intensity, roof, share, the ceilings next below and above, over, advice; JSON's null where there is no
 * place. NULL when out of memory. */
json_t *carm_study_place_json(const struct carm_place *place);

/* A point under the study's roofs; 0 bytes = not counted. */
struct carm_plot_point carm_study_plot_point(const struct carm_study *study, double flops,
                                             double bytes, double dram_bytes, double seconds);

/* The cache-aware and the original model side by side, with the study's points.
 * input  points and files; the study's model is filled in
 * kind   of carm plot
 * returns as carm_plot_picture_put */
int carm_study_plot_put(FILE *out, const struct carm_study *study, struct carm_plot_input *input,
                        const char *kind, const char *title, const char *format,
                        struct carm_err *err);
/* The same, drawn into a file in the format of its name's end. */
int carm_study_plot_draw(const struct carm_study *study, struct carm_plot_input *input,
                         const char *kind, const char *title, const char *path,
                         struct carm_err *err);
