/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two commands that run in turn, A B A B: by how much the second takes longer. A disturbance that lasts longer than a
 * run affects both. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* 7 pairs have no 99% interval of their median. */
enum { CARM_PAIRS_LEAST = 8, CARM_PAIRS_MOST = 1000 };

struct carm_pairs_how {
    const char *command[2]; /* for sh -c; standard input is empty, output is discarded */
    unsigned warmup;        /* runs of each that do not count */
    double
        budget; /* seconds; after it, the current pair and the least number of pairs are completed */
    double
        threshold; /* a share: pairs are run until the verdict is decided; 0 = until the interval is narrow */
    double narrow; /* half an interval, as a share */
};

enum carm_pairs_verdict {
    CARM_PAIRS_WITHIN, /* the interval is below the threshold, or within the noise */
    CARM_PAIRS_SLOWER,
    CARM_PAIRS_FASTER,
    CARM_PAIRS_UNDECIDED, /* the interval is too wide for any other verdict */
};

/* "within", "slower", "faster", "not comparable" */
const char *carm_pairs_verdict_name(enum carm_pairs_verdict verdict);

struct carm_pairs_time {
    double seconds[2]; /* medians */
    double change, low,
        high; /* of the second to the first command, as a share: median of the pairs, 99% interval */
    enum carm_pairs_verdict verdict;
};

struct carm_pairs {
    size_t n; /* pairs */
    struct carm_pairs_time wall;
    struct carm_pairs_time processor;
    /* the wall time if only the processor time changed it. Judged in place of the processor time, which says little
     * about a program that sleeps */
    struct carm_pairs_time part;
    enum carm_pairs_verdict verdict; /* slower where either time is slower */
    /* the machine during the pairs; negative = not known */
    double
        shared; /* share of the runs before which the core was shared (harness/machine/probe.h) */
    double others; /* processors that other programs took */
    double stolen; /* processors that the hypervisor took */
    double clock;  /* 90th percentile / 10th percentile - 1 of the core's clock before the runs */
};

/* returns 0; -CARM_EIO (a command cannot be run), -CARM_EINVAL (it ends with a status other than 0, or too soon for
 * times), -CARM_ENOMEM, -CARM_ENOTSUP (interrupted before there were enough pairs) */
int carm_pairs_run(const struct carm_pairs_how *how, struct carm_pairs *out, struct carm_err *err);

/* The change of pairs of times: median of their ratios and its 99% interval by order statistics, with exact ranks
 * (harness/machine/stats.h uses a normal approximation).
 * times      [2 * n], A B A B; n from CARM_PAIRS_LEAST to CARM_PAIRS_MOST
 * threshold  a share: slower above, faster below its inverse
 * returns 0 or -CARM_ENOMEM */
int carm_pairs_judge(const double *times, size_t n, double threshold, struct carm_pairs_time *out,
                     struct carm_err *err);
