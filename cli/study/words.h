/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns the words of the command line into the options of a study. */
#pragma once

#include "kernels/study/study.h"

/* The words of `carm study`, NULL where not given. */
struct carm_study_words {
    const char *model;     /* file; this machine's by default */
    const char *output;    /* points.csv of the study */
    const char *plot;      /* picture: svg, png or pdf */
    const char *threads;   /* words of --threads: the last set counts */
    const char *on;        /* words of a place */
    const char *isa;       /* of the kernels: the widest by default */
    const char *precision; /* gemm: of the matrices, dp by default */
    const char *n;         /* gemm: N = M = K; dwarfs: edge of the grids */
    const char *variants;  /* gemm: number of variants of figure 10 */
    const char *largest;   /* classes: the largest k of N = 2^k */
    const char *budget;    /* seconds */
    const char *kernels;   /* dwarfs: a list */
    const char *matrix;    /* dwarfs: Matrix Market file of SpMV */
    const char *wait;      /* seconds to wait for other processes that measure this node */
    const char *resume;    /* "" = continue after the rows that output has */
    const char *json;      /* "" = print JSON in place of tables */
};

/* Checks the words before any file is read or machine is probed.
 * options  out; borrows the matrix's name
 * returns 0 or -CARM_EINVAL */
int carm_study_read_words(const struct carm_study_words *words, const struct carm_study_ops *study,
                          struct carm_study_options *options, struct carm_err *err);
