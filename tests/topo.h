/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Machines for tests. */
#pragma once

#include "harness/machine/topo.h"
#include "tests/unit.h"

CLOSED_BY(carm_topo_close)

/* synthetic  in hwloc's words; NULL: this machine
 * cpuset     "0x8c"; NULL: all
 * Valid until the test ends */
static inline struct carm_topo *topo_of(const char *synthetic, const char *cpuset)
{
    struct carm_topo *t = NULL;
    assert_ok(carm_topo_open(&t, synthetic, cpuset, &err));
    return closed_later(by_carm_topo_close, t);
}
