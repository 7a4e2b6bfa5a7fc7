/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strings that many rows share are kept once. Not safe for several threads at a time. */
#ifndef CARM_MODELS_FLEET_POOL_H
#define CARM_MODELS_FLEET_POOL_H

#include <stddef.h>

struct carm_fleet_pool;

struct carm_fleet_pool *carm_fleet_pool_open(void); /* NULL = out of memory */

/* The kept copy, the same pointer for equal strings; NULL = out of memory. */
const char *carm_fleet_pool_keep(struct carm_fleet_pool *pool, const char *text);

void carm_fleet_pool_close(struct carm_fleet_pool *pool); /* NULL allowed */

/* Room for one more item at the end of *items (n of them, each of size bytes): grows by doubling.
 * returns 0 or -1 (out of memory; the array is as it was) */
int carm_fleet_grow(void *items, size_t n, size_t size);

#endif
