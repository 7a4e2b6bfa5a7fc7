/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One measuring process on each node: others wait for their turn, and ranks of one launch that would
 * write the same file leave it to the first of them. */
#ifndef CARM_HARNESS_MACHINE_NODE_LOCK_H
#define CARM_HARNESS_MACHINE_NODE_LOCK_H

#include <stdint.h>

#include "base/err.h"
#include "base/job.h"
#include "base/observer.h"
#include "harness/machine/topo.h"

enum { CARM_NODE_RECORD_MAX = 192 };

/* How long to wait for others unless the user says something else: some builds of all ISAs with
 * ceilings, and less than carm fleet build gives a node. */
#define CARM_NODE_WAIT "600" /* seconds */

/* What carm_node_lock_open returns besides 0 and errors: another rank measures this node. */
enum { CARM_NODE_ASIDE = 1 };

/* The lock is a flock on a file of the node's memory: it ends with its process, however that ends,
 * and the file that stays behind locks nothing. Its text names who has it, or had it last. */
struct carm_node_lock {
    int fd;            /* -1 = not locked */
    uint64_t identity; /* of launch, command and output */
    long rank;         /* of this process */
    char what[32];     /* "build" */
    char label[64];    /* "job 4711", "" */
    char path[256];    /* the file */
};

/* Waits until nobody else measures on this node, and says so to the observer when there is somebody:
 * who, and for how long.
 * The lock is in /run/lock, /dev/shm or /tmp, or in the folder that CARM_LOCK_DIR names: whoever names
 * another folder than its neighbours does not wait for them.
 * command      "build"
 * output       the file that it writes; "" = none
 * wait         seconds from 0 (do not wait) to a million, a word of the user; NULL = CARM_NODE_WAIT
 * observer     may stop the waiting
 * returns 0; CARM_NODE_ASIDE: another rank of the same launch measures for the same output, or has
 * done so, which was said; -CARM_EINTR; -CARM_EIO after that time; -CARM_EINVAL. Where the node has no place for a lock, 0 after a warning. */
int carm_node_lock_open(struct carm_node_lock *lock, const char *command, const char *output,
                        const char *wait, const struct carm_observer *observer,
                        struct carm_err *err);

/* Lets the next one measure. done: the output is written, the other ranks need not. An open lock
 * alone, or one whose fd is -1. */
void carm_node_lock_close(struct carm_node_lock *lock, bool done);

/* The same with the folders where the file may lie (NULL ends them) and this job, for tests. */
int carm_node_lock_open_in(struct carm_node_lock *lock, const char *const *folders,
                           const struct carm_job *job, const char *command, const char *output,
                           const char *wait, const struct carm_observer *observer,
                           struct carm_err *err);

/* Warns when this process is a rank that may use only some of the node. */
void carm_node_warn(const struct carm_observer *observer, const struct carm_job *job,
                    const struct carm_topo *topo);

#endif
