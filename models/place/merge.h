/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merges rows of one name into one point: the ranks of a job, or the threads of a region.
 *
 * flops, operations, the mix, bytes, DRAM bytes, their bounds, threads and calls are summed. A
 * quantity that is unknown in one row is unknown in the sum. The time is the slowest row's.
 * imbalance = slowest / mean time. The ISA is the widest, the precision "mixed" where rows differ,
 * the share the smallest.
 *
 * Memory grows with the number of names, not of rows. */
#pragma once

#include "models/model.h"
#include "models/place/points.h"

struct carm_merged {
    struct carm_point point; /* texts are borrowed from the merge */
    size_t rows;
    double imbalance;         /* 1 = even; 0 = a row's time is not known */
    size_t repeated;          /* rows of the first row's rank from other processes: repeated runs */
    char note[CARM_TEXT_MAX]; /* a doubt about the sum, "" = none */
};

struct carm_merge;

/* returns 0 or -CARM_ENOMEM */
int carm_merge_open(struct carm_merge **out, struct carm_err *err);
/* returns 0, -CARM_ENOMEM or -CARM_EINVAL (rows of one name and two metrics) */
int carm_merge_add(struct carm_merge *merge, const struct carm_point *row, struct carm_err *err);
/* Like carm_merge_add, for rows merged by a key other than their name. Rows of several hosts then
 * get no note.
 * index  out: of the point that the row was added to; NULL allowed */
int carm_merge_add_as(struct carm_merge *merge, const char *key, const struct carm_point *row,
                      size_t *index, struct carm_err *err);
size_t carm_merge_names(const struct carm_merge *merge);
/* i  below carm_merge_names, in the order of their first rows */
void carm_merge_get(const struct carm_merge *merge, size_t i, struct carm_merged *out);
void carm_merge_close(struct carm_merge *merge); /* NULL allowed */
