/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the tests of LBMHD share. */
#ifndef CARM_TESTS_LBMHD_FIXTURE_H
#define CARM_TESTS_LBMHD_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernels/lbmhd/step.h"
#include "tests/kernels/machine.h"

/* This CPU without what is wider than isa. */
static inline struct carm_dwarf_case *open_case(const struct carm_lbmhd_params *p)
{
    struct carm_dwarf_case *c = NULL;
    if (carm_lbmhd_open(&c, p, &err)) {
        fail_msg("%s", err.text);
    }
    return c;
}

static inline void run_checked(struct carm_dwarf_case *c, struct carm_team *team, int runs)
{
    double error = -1.0;
    char by[96];
    for (int i = 0; i < runs; i++) {
        assert_int_equal(c->ops->run(c, team, &err), 0);
    }
    if (c->ops->check(c, team, &error, by, &err)) {
        fail_msg("%s %s: %s", c->size, c->isa, err.text);
    }
    assert_true(error >= 0.0 && error <= 1e-14);
}

static const size_t sizes[][3] = {{1, 1, 1},  {2, 3, 1},  {7, 1, 2},  {8, 4, 3},
                                  {13, 5, 3}, {64, 2, 2}, {67, 3, 2}, {130, 1, 3}};

enum { SIZES = sizeof sizes / sizeof *sizes };

#endif
