/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The work of benchmarks, by name, for results of tools that only measure times: a CSV with the
 * columns name, flops and bytes, dram_bytes or both. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* The work of one run. Unknown values are negative. */
struct carm_work_row {
    double flops, bytes, dram_bytes;
};

struct carm_work;

/* returns 0, -CARM_EIO, -CARM_ENOMEM, -CARM_EFORMAT (names file, line and reason); *out is NULL then */
int carm_work_open(const char *path, struct carm_work **out, struct carm_err *err);
void carm_work_close(struct carm_work *work); /* NULL allowed */

/* The row with a name, borrowed; NULL = none. */
const struct carm_work_row *carm_work_find(const struct carm_work *work, const char *name);
