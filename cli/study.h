/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the studies have in common: the words of the command line and how they end. */
#ifndef CARM_STUDY_H
#define CARM_STUDY_H

/* The words of `carm study`, NULL where not given. */
struct carm_study_words {
    const char *model;    /* file; this machine's by default */
    const char *output;   /* points.csv of the study */
    const char *plot;     /* picture: svg, png or pdf */
    const char *threads;  /* a number */
    const char *isa;      /* of the kernels: the widest by default */
    const char *n;        /* gemm: N = M = K */
    const char *variants; /* gemm: how many of figure 10's */
    const char *largest;  /* classes: the largest k of N = 2^k */
    const char *budget;   /* classes: seconds */
    const char *resume;   /* "" = go on with the rows that output has */
    const char *json;     /* "" = print JSON in place of tables */
};

/* Each runs one study and returns an exit code (cli/opt.h); errors go to standard error by
 * carm_say_error. */
int carm_study_gemm(const struct carm_study_words *words);
int carm_study_classes(const struct carm_study_words *words);

#endif
