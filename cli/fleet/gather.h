/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What rank 0 knows of the nodes: who measures, whose row has come, what became of them. */
#ifndef CARM_CLI_FLEET_GATHER_H
#define CARM_CLI_FLEET_GATHER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "models/fleet/rows.h"

struct carm_fleet_peer {
    struct carm_fleet_who who;
    int measures; /* 0 = stands aside: another rank of its node measures */
    int reported; /* by itself, not by carm_fleet_gather_silent */
    int rowed;    /* has its row */
};

struct carm_fleet_gather {
    struct carm_fleet_peer *peers; /* [n], one for each rank */
    size_t n;
    size_t nodes;   /* ranks that measure */
    size_t waiting; /* of them, those whose row has not come */
    size_t ok;      /* rows with a model */
    size_t unkept;  /* rows that the file did not take */
    size_t told;    /* tenths of the nodes that were told */
    struct carm_fleet_file file;
    double started; /* CLOCK_MONOTONIC, seconds */
};

/* Opens the file.
 * peers   [n] by rank; copied
 * output  name of fleet.jsonl
 * returns 0, -CARM_EIO or -CARM_ENOMEM */
int carm_fleet_gather_open(struct carm_fleet_gather *g, const struct carm_fleet_peer *peers,
                           size_t n, const char *output, struct carm_err *err);

/* Appends a rank's row, and says on standard error what went wrong on its node, and now and then how
 * far it is. Where the file has no room for the model, a row without it says so. A second row of a
 * rank, and one of a rank that stands aside, is left out.
 * line  NULL = the rank had not the memory for it */
void carm_fleet_gather_take(struct carm_fleet_gather *g, size_t rank, const char *line);

/* Appends a row for every node that has not reported: status and reason. */
void carm_fleet_gather_silent(struct carm_fleet_gather *g, const char *status, const char *reason);

/* Brings the file to the disk and prints a line that says what is in it.
 * returns 0; -CARM_EIO where a node has no model or a row was not kept (what lacks is in err) */
int carm_fleet_gather_finish(struct carm_fleet_gather *g, struct carm_err *err);

/* Releases; closes the file where that was not done. */
void carm_fleet_gather_close(struct carm_fleet_gather *g);

#endif
