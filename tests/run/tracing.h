/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests that trace a program which they have compiled. */
#pragma once

#include "run/trace.h"
#include "tests/unit.h"

static bool compiled;

static inline void needs_tracing(void)
{
    skip_if(!compiled, "no compiler or no static C library");
    skip_if(carm_trace_check(&err) != 0, "%s", err.text);
}
