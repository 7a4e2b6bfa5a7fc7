/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm fleet build: every node of an MPI job measured once, all models gathered into one file. */
#ifndef CARM_CLI_FLEET_BUILD_H
#define CARM_CLI_FLEET_BUILD_H

#include "base/err.h"
#include "cli/fleet/words.h"

/* Under mpirun this process becomes a rank of carm-mpi and does not come back; elsewhere this node
 * alone is measured into a row. Prints what came of it.
 * returns 0; -CARM_EINVAL (misuse); -CARM_ENOTSUP (an MPI job, but carm was built without MPI);
 * -CARM_EIO (no row, or the node's row says that it failed); -CARM_EINTR; -CARM_ENOMEM */
int carm_fleet_build(const struct carm_fleet_build_words *words, struct carm_err *err);

#endif
