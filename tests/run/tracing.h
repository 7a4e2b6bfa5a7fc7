/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests that trace a program which they have compiled. */
#pragma once

#include "run/trace.h"
#include "tests/unit.h"

static bool compiled;

static inline bool tracing_works(void)
{
    if (!compiled || carm_trace_check(&err) != 0) {
        print_message("%s\n", compiled ? err.text : "no compiler or no static C library");
        return false;
    }
    return true;
}

#define NEEDS_TRACING()         \
    do {                        \
        if (!tracing_works()) { \
            skip();             \
        }                       \
    } while (0)
