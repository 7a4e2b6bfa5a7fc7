/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A simulation of caches from its first access to its counts. */
#pragma once

#include "models/caches/hierarchy.h"
#include "tests/unit.h"

static inline struct carm_hierarchy *start(const struct carm_hierarchy_config *config)
{
    struct carm_hierarchy *h = NULL;
    assert_ok(carm_hierarchy_open(&h, config, &err));
    return h;
}

static inline struct carm_hierarchy_counts finish(struct carm_hierarchy *h)
{
    struct carm_hierarchy_counts c;
    memset(&c, 0, sizeof c);
    carm_hierarchy_flush(h);
    assert_ok(carm_hierarchy_read(h, &c, &err));
    carm_hierarchy_close(h);
    return c;
}
