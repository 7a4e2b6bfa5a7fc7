/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points of applications, read from points.csv: the work and time of a program, a region or a
 * kernel.
 *
 * The first line names the columns, in any order; unknown columns are ignored. Required are
 * name, flops (or operations, for other metrics), seconds and one of bytes and dram_bytes. An
 * empty field means unknown. A header that comes again (files one after the other) is skipped. */
#ifndef CARM_MODELS_PLACE_POINTS_H
#define CARM_MODELS_PLACE_POINTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "models/caches/counts.h"

/* Facts about the instructions behind a point: the columns that `carm run` and regions write
 * beside flops and bytes. */
enum carm_runmix_part {
    CARM_RUNMIX_INSTRUCTIONS,
    CARM_RUNMIX_FP, /* instructions that compute flops */
    CARM_RUNMIX_ADDS,
    CARM_RUNMIX_MULS,
    CARM_RUNMIX_FMAS,
    CARM_RUNMIX_DIVIDES, /* and square roots */
    CARM_RUNMIX_PREFETCHES,
    CARM_RUNMIX_LOADS, /* accesses */
    CARM_RUNMIX_STORES,
    CARM_RUNMIX_LOAD_BYTES,
    CARM_RUNMIX_STORE_BYTES,
    CARM_RUNMIX_INT_OPS, /* on vectors of integers */
    CARM_RUNMIX_INT,     /* part of these on elements of 8 bits; the next ones are of 16, 32 and
                          * 64 */
    CARM_RUNMIX_INT_ADDS = CARM_RUNMIX_INT + 4, /* parts of these, here and below: operations by
                                                 * kind */
    CARM_RUNMIX_INT_MULS,
    CARM_RUNMIX_INT_LOGIC,
    CARM_RUNMIX_INT_DOTS,
    CARM_RUNMIX_INT_INSTRUCTIONS,
    CARM_RUNMIX_OTHER, /* flops, here and below: neither dp nor sp */
    CARM_RUNMIX_DP,    /* scalar; the next ones are of 128, 256 and 512 bits */
    CARM_RUNMIX_SP = CARM_RUNMIX_DP + 4,
    CARM_RUNMIX_COUNT = CARM_RUNMIX_SP + 4,
};

/* A part that is not known is negative. */
struct carm_runmix {
    double q[CARM_RUNMIX_COUNT];
};

/* The columns' names, equal to those of the quantities of harness/count/quantities.h. */
static inline const char *carm_runmix_name(enum carm_runmix_part part)
{
    static const char *const names[] = {
        "instructions",     "fp_instructions", "fp_adds",   "fp_muls",   "fp_fmas",
        "fp_divides",       "prefetches",      "loads",     "stores",    "load_bytes",
        "store_bytes",      "int_ops",         "int8_ops",  "int16_ops", "int32_ops",
        "int64_ops",        "int_adds",        "int_muls",  "int_logic", "int_dots",
        "int_instructions", "flops_other",     "dp_scalar", "dp_128",    "dp_256",
        "dp_512",           "sp_scalar",       "sp_128",    "sp_256",    "sp_512"};
    return names[part];
}

static inline bool carm_runmix_has(const struct carm_runmix *mix, enum carm_runmix_part part)
{
    return mix->q[part] >= 0.0;
}

/* Whether any member is known. */
static inline bool carm_runmix_any(const struct carm_runmix *mix)
{
    bool any = false;
    for (int i = 0; i < CARM_RUNMIX_COUNT; i++) {
        any = any || mix->q[i] >= 0.0;
    }
    return any;
}

/* Unknown numbers are negative, unknown texts are "". */
#define CARM_POINT_UNKNOWN (-1.0)

/* Texts are borrowed from the reader until the next point is read. */
struct carm_point {
    const char *name;
    double flops;
    double bytes;                       /* that the core loads and stores */
    double dram_bytes;                  /* between last-level cache and memory */
    double level_bytes[2];              /* between L1 and L2, L2 and L3 */
    double level_low[3], level_high[3]; /* interval of level_bytes and dram_bytes; unknown =
                                         * exact */
    double level_unused[3];             /* part of level_bytes and dram_bytes that no access used */
    double level_misses[3][CARM_MISS_REASONS]; /* part of level_bytes and dram_bytes that misses
                                                * of each reason fetched */
    const char *levels_by; /* origin of level_bytes and dram_bytes: "simulated", "uncore",
                            * "constructed"; "" = not reported */
    double seconds;        /* wall clock, > 0 */
    double flops_low, flops_high, bytes_low, bytes_high; /* where the truth lies; unknown = exact */
    double calls;
    double operations; /* of the metric */
    double
        imbalance_at[2]; /* flop/s that a job's or node's imbalance allows it on the cache-aware and
                             * on the original model, as carm place --by found it */
    const char *metric;  /* "exchange", CARM_METRIC_INTEGERS; "" = not reported, or flops */
    struct carm_runmix mix;
    double share;          /* of time or calls that was counted, 0 .. 1 */
    int threads;           /* 0 = unknown */
    const char *isa;       /* in lower case, as precision */
    const char *precision; /* "dp", "sp", "mixed", "int8", ... */
    const char
        *counted_by;  /* "pmu", "stepped", "translated", "constructed", "unavailable: why", ... */
    const char *job;  /* one start of a parallel program: "4711.0" */
    const char *rank; /* of an MPI or Slurm job */
    const char *pid;  /* of the process that wrote it */
    const char *host;
    const char *note;
    const char *kind;   /* of a part of a program: "loop", "function", ...; "" = it is none */
    const char *source; /* of a part: "solve.c:42" */
    const char *module; /* file of its code */
    double time_share, samples; /* of a part: of the program's processor time, 0 .. 1 */
    double entries, trips;      /* of a loop */
    size_t line;                /* of the file, from 1 */
    bool
        unended; /* its line ends with a number and the file, which may be cut off; the note says so */
};

static inline bool carm_point_knows(double value)
{
    return value >= 0.0;
}

/* A point of which nothing is known. */
struct carm_point carm_point_blank(void);

struct carm_points;

/* How files of points are read. All zero: points.csv, or another tool's file by its content. */
struct carm_points_how {
    const char *format; /* a word of CARM_IMPORT_WORDS; NULL = by content */
    const char *work;   /* flops and bytes of points that have none, by name: a file; NULL = none */
    bool runs;          /* a row for each repetition of a benchmark, not one with the median time */
};

/* Opens the file and reads its header. Files of other tools (models/import/import.h) become rows in
 * memory.
 * path  "-" is standard input
 * how   borrowed for the call; NULL = all zero
 * returns 0; -CARM_EIO; -CARM_ENOMEM; -CARM_EFORMAT (names file, line and column); -CARM_EINVAL (no such
 * format, or a file of roofs); *out is NULL then */
int carm_points_open(const char *path, const struct carm_points_how *how, struct carm_points **out,
                     struct carm_err *err);

/* The next point. Memory does not grow with the file.
 * returns 1; 0 at the end; -CARM_EIO; -CARM_EFORMAT (names file, line, column and the values it
 * may have) */
int carm_points_next(struct carm_points *points, struct carm_point *point, struct carm_err *err);

void carm_points_close(struct carm_points *points); /* NULL allowed */

/* Why a point has no place under any roof: "its flops were not counted", ..., NULL when it has one
 * as far as flops and seconds go. */
const char *carm_point_unplaced(const struct carm_point *point);

/* The same for operations of a metric: another metric's points, flops included, have no place there. */
const char *carm_point_unplaced_metric(const struct carm_point *point, const char *metric);

/* The metric of rows whose work is operations on vectors of integers. */
#define CARM_METRIC_INTEGERS "op"

/* The operations of a metric: the column, or for integers those of the mix; negative = unknown. */
double carm_point_operations(const struct carm_point *point, const char *metric);

/* Whether a metric's name means flops: "", "flop", "flops". */
bool carm_metric_is_flops(const char *metric);

#endif
