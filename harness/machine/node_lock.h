/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One measuring process on each node at a time. Other processes wait for their turn. Of the
 * ranks of one launch that would write the same file, only the first measures. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/job.h"
#include "base/observer.h"
#include "harness/machine/topo.h"

enum { CARM_NODE_RECORD_MAX = 192 };

/* Default wait for other processes: longer than some builds of all ISAs with ceilings, shorter
 * than the time that carm fleet build gives a node. */
#define CARM_NODE_WAIT "600" /* seconds */

/* Result of carm_node_lock_open besides 0 and errors: another rank measures this node. */
enum { CARM_NODE_ASIDE = 1 };

/* The lock is a flock on a file in the node's memory. The kernel releases the lock when the
 * process ends, however it ends; the file that remains locks nothing. The file's text names the
 * process that has the lock, or had it last. */
struct carm_node_lock {
    int fd;            /* -1 = not locked */
    uint64_t identity; /* of launch, command and output */
    long rank;         /* of this process */
    char what[32];     /* "build" */
    char label[64];    /* "job 4711", "" */
    char path[256];    /* the file */
};

/* Waits until no other process measures on this node. When one does, tells the observer which
 * process measures and since when. The lock is in /run/lock, /dev/shm or /tmp, or in the folder
 * that CARM_LOCK_DIR names. Processes with different folders do not wait for one another.
 * command      "build"
 * output       the file that the command writes; "" = none
 * wait         the user's text: seconds from 0 (do not wait) to a million; NULL = CARM_NODE_WAIT
 * observer     may stop the waiting
 * returns 0; CARM_NODE_ASIDE: another rank of the same launch measures for the same output, or
 * has done so (the observer was told); -CARM_EINTR; -CARM_EIO after `wait`; -CARM_EINVAL. Where
 * the node has no folder for a lock, 0 after a warning. */
int carm_node_lock_open(struct carm_node_lock *lock, const char *command, const char *output,
                        const char *wait, const struct carm_observer *observer,
                        struct carm_err *err);

/* Releases the lock: the next process measures. done: the output is written, so the other ranks
 * need not measure. For an open lock, or one whose fd is -1. */
void carm_node_lock_close(struct carm_node_lock *lock, bool done);

/* carm_node_lock_open with the folders that may hold the file (a list that ends with NULL) and
 * the job as arguments, for tests. */
int carm_node_lock_open_in(struct carm_node_lock *lock, const char *const *folders,
                           const struct carm_job *job, const char *command, const char *output,
                           const char *wait, const struct carm_observer *observer,
                           struct carm_err *err);

/* Warns when this process is a rank that may use only some of the node. */
void carm_node_warn(const struct carm_observer *observer, const struct carm_job *job,
                    const struct carm_topo *topo);
