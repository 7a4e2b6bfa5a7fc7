/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Estimates that must succeed. */
#ifndef CARM_SOL_MUST_H
#define CARM_SOL_MUST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/sol/estimate.h"

static inline struct carm_sol_result sol_estimate(const struct carm_sol_graph *g,
                                                  const struct carm_sol_analysis *a,
                                                  const struct carm_sol_arch *arch,
                                                  enum carm_sol_precision precision,
                                                  bool as_implemented)
{
    struct carm_sol_result r;
    struct carm_err err = {""};
    if (carm_sol_estimate(g, a, arch, precision, as_implemented, &r, &err)) {
        fail_msg("%s", err.text);
    }
    return r;
}

#endif
