/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the studies do alike before they measure: numbers of the command line, the model of this
 * machine, what a thread has of its caches; and how a place is written as JSON. */
#ifndef CARM_KERNELS_STUDY_SETUP_H
#define CARM_KERNELS_STUDY_SETUP_H

#include <jansson.h>
#include <stdio.h>

#include "kernels/study/words.h"
#include "harness/clock.h"
#include "harness/cpu.h"
#include "harness/topo.h"
#include "models/model.h"
#include "models/place/place.h"

/* A whole number of the command line. option: "threads"
 * returns 0 or -CARM_EINVAL with the range */
int carm_study_count(const char *option, const char *word, long least, long most, long *value,
                     struct carm_err *err);

/* Seconds of --budget. */
int carm_study_budget(const char *word, double *seconds, struct carm_err *err);

/* The words that every study understands the same way: --plot, --output and --resume, --isa.
 * returns 0 or -CARM_EINVAL */
int carm_study_check_words(const struct carm_study_words *words, struct carm_err *err);

/* Opens the model, which has to be of this machine: roofs of another say nothing of points from here.
 * returns 0, as carm_select_open, or -CARM_ENOTSUP */
int carm_study_open_model(const char *path, const struct carm_cpu *cpu,
                          const struct carm_topo *topo, const struct carm_clock *clock,
                          struct carm_model **model, struct carm_err *err);

/* What one of the threads has of cache level 1, 2, ..., by the model's measured knee or the size that
 * the OS reports, whichever is less; 0 = no such level. */
double carm_study_cache_bytes(const struct carm_model *model, int level,
                              const struct carm_topo *topo, int threads);

/* Intensity, roof, share, the ceilings next below and above, over, advice; NULL when out of memory. */
json_t *carm_study_place_json(const struct carm_place *place);

/* Ends a study's report: prints the JSON, which it takes (NULL = out of memory). */
int carm_study_print_json(FILE *out, json_t *json, struct carm_err *err);

/* The error of a study that the user stopped, with where its points are. */
int carm_study_stopped(const struct carm_study_words *words, struct carm_err *err);

#endif
