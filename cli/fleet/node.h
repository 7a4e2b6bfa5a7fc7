/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One node's measurement: `carm build` in a child process of its own, so that whatever becomes of it
 * (a crash, no memory, a hang) is a row and not the end of the job. */
#ifndef CARM_CLI_FLEET_NODE_H
#define CARM_CLI_FLEET_NODE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "models/fleet/rows.h"

struct carm_fleet_node {
    pid_t pid;             /* of the child and of its process group; -1 = none */
    int errors;            /* read end of its standard error; -1 = none */
    char said[4096];       /* the end of what it said there */
    size_t nsaid;          /* bytes */
    char folder[PATH_MAX]; /* of the model, made for it alone; "" = none */
    double limit_seconds;
    double deadline;         /* CLOCK_MONOTONIC, seconds */
    bool stopped;            /* killed by us: past its limit, or stop_reason */
    int status;              /* as waitpid gives it */
    bool unkillable;         /* still there some seconds after SIGKILL */
    struct carm_err failed;  /* it could not even be started */
    const char *stop_reason; /* NULL = the limit */
};

/* Starts it. A failure to start is kept for the row: poll answers true at once then.
 * argv           `carm build` and its options without --output, ended by NULL; argv[0] is a path
 * limit_seconds  > 0
 * like_parent    let it run where the parent of this process may: mpirun binds every rank to a part
 *                of the node, which is not what is to be measured */
void carm_fleet_node_start(struct carm_fleet_node *node, char *const *argv, double limit_seconds,
                           bool like_parent);

/* Looks how it stands, and kills it when it is past its limit. returns true when it is over */
bool carm_fleet_node_poll(struct carm_fleet_node *node);

/* Kills it; the row says that it was, and the reason. NULL = its time limit */
void carm_fleet_node_stop(struct carm_fleet_node *node, const char *reason);

/* Its row once it is over; to be released with free. returns NULL when out of memory */
char *carm_fleet_node_row(const struct carm_fleet_node *node, const struct carm_fleet_who *who);

/* Kills what still runs and removes its files. A node of zeros is allowed only after start. */
void carm_fleet_node_close(struct carm_fleet_node *node);

/* Waits some hundredths of a second: processors must idle while a node is measured. */
void carm_fleet_nap(void);

/* CLOCK_MONOTONIC, seconds */
double carm_fleet_seconds(void);

#endif
