/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What place_views.c gathers and place_views_get.c tells. */
#ifndef CARM_MODELS_PLACE_VIEWS_STATE_H
#define CARM_MODELS_PLACE_VIEWS_STATE_H

#include "models/place/views.h"

/* A rank; index is that of the merge of ranks. */
struct unit {
    size_t index, job, node;
    double number; /* of its rank, which orders */
    double work, bytes, dram, seconds, threads;
    bool sockets; /* DRAM bytes are of whole sockets */
    bool between;
};

/* What the ranks of a node or of a job have in common; ranks are order[first .. first + n). */
struct group {
    size_t index, job; /* in the merge of its kind */
    size_t first, n, nodes;
    size_t repeated;
    double dram, dram_uneven;
};

struct table {
    struct carm_merge *merge;
    struct group *groups;
    size_t n;
};

struct carm_views {
    const char *metric;
    struct carm_merge *ranks;
    struct table jobs, nodes;
    struct unit *units;         /* in the order of the rank view: by job, rank, host */
    struct unit *by_node;       /* the same by node */
    struct group **nodes_order; /* by job and host */
    double *values;             /* room for one for each unit */
    size_t n, rows;
    bool several_jobs;
};

#endif
