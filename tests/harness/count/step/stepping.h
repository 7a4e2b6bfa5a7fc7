/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the tests of stepping share. */
#pragma once

#include "asm/code.h"
#include "harness/count/step/trap.h"
#include "tests/unit.h"

enum { PLENTY = 100 * 1000 * 1000 };

static __thread struct carm_err failure; /* not on the stack: clearing it would be counted */

static inline void begin(uint64_t budget)
{
    fail_if(carm_step_begin(budget, &failure) != 0, "%s", failure.text);
}

static inline struct carm_step_counts end(bool want_complete)
{
    struct carm_step_counts counts;
    bool complete = false;
    fail_if(carm_step_end(&counts, &complete, &failure) != 0, "%s", failure.text);
    assert_int_equal(complete, want_complete);
    assert_int_equal(counts.unknown, 0);
    return counts;
}

static inline uint64_t flops(const struct carm_step_counts *c, enum carm_precision precision)
{
    uint64_t sum = 0;
    for (int w = 0; w < CARM_WIDTH_COUNT; w++) {
        sum += c->flops[precision][w];
    }
    return sum;
}

static inline void needs_stepping(void)
{
    struct carm_err why = {""};
    skip_if(carm_step_check(&why) != 0, "%s", why.text);
}

static volatile double sink = 1;

__attribute__((noinline, unused)) static void add_ten(void)
{
    for (int i = 0; i < 10; i++) {
        sink = sink + 1;
    }
}
