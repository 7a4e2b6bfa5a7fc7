/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of commands that read files of points. */
#pragma once

#include "cli/opt.h"
#include "models/import/import.h"

#define CARM_OPT_FORMAT(value)                                                                    \
    {                                                                                             \
        "format", 0, "NAME", "auto",                                                              \
            "Read the files of points as points.csv or as results of another tool; auto goes by " \
            "their content.",                                                                     \
            value, CARM_IMPORT_WORDS                                                              \
    }

#define CARM_OPT_WORK(value)                                                                       \
    {                                                                                              \
        "work", 0, "FILE", NULL,                                                                   \
            "A CSV with the columns name, flops and bytes (or dram_bytes): what points of these "  \
            "names do, where their own file does not say so (hyperfine, Google Benchmark without " \
            "counters).",                                                                          \
            value, NULL                                                                            \
    }
