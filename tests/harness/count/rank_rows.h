/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows as a parallel program's ranks write them. */
#pragma once

#include "models/place/points.h"

/* A row of "solve", one thread, which lacks all that is not given. */
static inline struct carm_point row(const char *job, const char *host, const char *rank,
                                    double flops, double bytes, double seconds)
{
    struct carm_point p = {.name = "solve",
                           .flops = flops,
                           .bytes = bytes,
                           .dram_bytes = CARM_POINT_UNKNOWN,
                           .seconds = seconds,
                           .flops_low = CARM_POINT_UNKNOWN,
                           .flops_high = CARM_POINT_UNKNOWN,
                           .bytes_low = CARM_POINT_UNKNOWN,
                           .bytes_high = CARM_POINT_UNKNOWN,
                           .calls = 1.0,
                           .operations = CARM_POINT_UNKNOWN,
                           .metric = "",
                           .share = 1.0,
                           .threads = 1,
                           .isa = "avx2",
                           .precision = "dp",
                           .counted_by = "stepped",
                           .job = job,
                           .rank = rank,
                           .pid = "",
                           .host = host,
                           .note = ""};
    for (int i = 0; i < CARM_RUNMIX_COUNT; i++) {
        p.mix.q[i] = CARM_POINT_UNKNOWN;
    }
    return p;
}
