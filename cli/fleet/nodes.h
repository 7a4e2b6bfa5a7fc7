/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nodes of carm fleet build: the measurement of one node, and rank 0's state of all nodes. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "models/file/fleet/rows.h"

/* ---- one node's measurement: `carm build` in a child process of its own, so that a crash, a lack
 * of memory or a hang becomes a row and does not end the job */

struct carm_fleet_node {
    pid_t pid;             /* of the child and of its process group; -1 = none */
    int errors;            /* read end of its standard error; -1 = none */
    char said[4096];       /* the end of the messages on its standard error */
    size_t nsaid;          /* bytes of said */
    char folder[PATH_MAX]; /* folder for the model, made for this node only; "" = none */
    int lock;              /* lock on the folder while this process lives; -1 = none */
    double limit_seconds;
    double deadline;         /* CLOCK_MONOTONIC, seconds */
    bool stopped;            /* killed by us: past its limit, or stop_reason */
    int status;              /* as waitpid gives it */
    bool unkillable;         /* still alive some seconds after SIGKILL */
    struct carm_err failed;  /* why it could not be started */
    const char *stop_reason; /* NULL = the limit */
};

/* Starts the child. A failure to start is kept for the row, and carm_fleet_node_poll then returns
 * true at once.
 * argv           `carm build` and its options without --output, ended by NULL; argv[0] is a path
 * limit_seconds  > 0
 * like_parent    gives the child the affinity of this process's parent: mpirun binds every rank
 *                to a part of the node, but the whole node is to be measured */
void carm_fleet_node_start(struct carm_fleet_node *node, char *const *argv, double limit_seconds,
                           bool like_parent);

/* Reads the child's output, and kills the child after its time limit. returns true when the child
 * has ended */
bool carm_fleet_node_poll(struct carm_fleet_node *node);

/* Kills the child. The row has the reason; NULL = its time limit */
void carm_fleet_node_stop(struct carm_fleet_node *node, const char *reason);

/* The node's row, after its end; to be released with free. returns NULL when out of memory */
char *carm_fleet_node_row(const struct carm_fleet_node *node, const struct carm_fleet_who *who);

/* Kills a measurement that still runs and removes its files. A node of zeros is allowed only after start. */
void carm_fleet_node_close(struct carm_fleet_node *node);

/* Waits some hundredths of a second: processors must idle while a node is measured. */
void carm_fleet_nap(void);

/* ---- rank 0's state: which ranks measure, whose row has come, and the results */

struct carm_fleet_peer {
    struct carm_fleet_who who;
    int measures; /* 0 = another rank of its node measures */
    int reported; /* its row came from the node, not from carm_fleet_gather_silent */
    int rowed;    /* the file has its row */
};

struct carm_fleet_gather {
    struct carm_fleet_peer *peers; /* [n], one for each rank */
    size_t n;
    size_t nodes;   /* ranks that measure */
    size_t waiting; /* ranks whose row has not come */
    size_t ok;      /* rows with a model */
    size_t unkept;  /* rows that could not be written */
    size_t told;    /* progress already printed, in tenths of the nodes */
    struct carm_fleet_file file;
    double started; /* CLOCK_MONOTONIC, seconds */
};

/* Opens the file.
 * peers   [n] by rank; copied
 * output  name of fleet.jsonl
 * returns 0, -CARM_EIO or -CARM_ENOMEM */
int carm_fleet_gather_open(struct carm_fleet_gather *g, const struct carm_fleet_peer *peers,
                           size_t n, const char *output, struct carm_err *err);

/* Appends a rank's row. Reports errors of its node and, at each tenth of the nodes, the progress on
 * standard error. Where the file has no room for the model, a row without it says so. A second row
 * of a rank, and a row of a rank that does not measure, are ignored.
 * line  NULL = the rank had no memory for it */
void carm_fleet_gather_take(struct carm_fleet_gather *g, size_t rank, const char *line);

/* Appends a row with this status and reason for every node that has not reported. */
void carm_fleet_gather_silent(struct carm_fleet_gather *g, const char *status, const char *reason);

/* Brings the file to the disk and prints a line about its contents.
 * returns 0; -CARM_EIO where a node has no model or a row was not kept (err names it) */
int carm_fleet_gather_finish(struct carm_fleet_gather *g, struct carm_err *err);

/* Releases g, and closes the file if it is open. */
void carm_fleet_gather_close(struct carm_fleet_gather *g);
