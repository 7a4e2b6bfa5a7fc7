/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the studies have in common: the words of the command line and how they end. */
#ifndef CARM_KERNELS_STUDY_WORDS_H
#define CARM_KERNELS_STUDY_WORDS_H

#include "base/err.h"

/* The words of `carm study`, NULL where not given. */
struct carm_study_words {
    const char *model;    /* file; this machine's by default */
    const char *output;   /* points.csv of the study */
    const char *plot;     /* picture: svg, png or pdf */
    const char *threads;  /* a number */
    const char *isa;      /* of the kernels: the widest by default */
    const char *n;        /* gemm: N = M = K; dwarfs: edge of the grids */
    const char *variants; /* gemm: how many of figure 10's */
    const char *largest;  /* classes: the largest k of N = 2^k */
    const char *budget;   /* classes: seconds */
    const char *kernels;  /* dwarfs: a list */
    const char *matrix;   /* dwarfs: Matrix Market file of SpMV */
    const char *resume;   /* "" = go on with the rows that output has */
    const char *json;     /* "" = print JSON in place of tables */
};

/* Each runs one study and prints what came of it.
 * returns 0; -CARM_EINVAL (misuse); -CARM_EINTR (stopped; what was found so far is printed); others */
int carm_study_gemm(const struct carm_study_words *words, struct carm_err *err);
int carm_study_classes(const struct carm_study_words *words, struct carm_err *err);
int carm_study_dwarfs(const struct carm_study_words *words, struct carm_err *err);

#endif
