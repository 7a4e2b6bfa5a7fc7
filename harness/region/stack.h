/* SPDX-License-Identifier: MIT */
/* Inside of include/carm.h: begin and end of regions on a thread. */
#pragma once

#include "harness/region/setup.h"

/* Turns regions on; tests call it before their first region, programs get it from the environment.
 * from  copied */
void carm_region_start(const struct carm_region_setup *from);
