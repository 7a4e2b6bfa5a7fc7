/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points of applications, the rows of points.csv: work, traffic and time of a program, a region
 * or a kernel. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "models/caches/counts.h"
#include "models/verdict/verdict.h"

/* The counted instructions behind a point: columns that `carm run` and regions write beside flops and bytes.
 *
 * A row for each part: its enumerator, and the name of its column and quantity (harness/count/quantities.h). The
 * INT parts are by element, the DP and SP parts by width: scalar, 128, 256, 512 bits.
 * X  handed on to Y */
/* clang-format off */
#define CARM_RUNMIX_TABLE(Y, X) \
    Y(X, INSTRUCTIONS, instructions) \
    Y(X, FP, fp_instructions) \
    Y(X, ADDS, fp_adds) \
    Y(X, MULS, fp_muls) \
    Y(X, FMAS, fp_fmas) \
    Y(X, DIVIDES, fp_divides) \
    Y(X, ROOTS, fp_roots) /* part of DIVIDES: square roots */ \
    Y(X, PREFETCHES, prefetches) \
    Y(X, ALLOCATIONS, allocations) \
    Y(X, LOADS, loads) \
    Y(X, STORES, stores) \
    Y(X, LOAD_BYTES, load_bytes) \
    Y(X, STORE_BYTES, store_bytes) \
    Y(X, INT_OPS, int_ops) \
    Y(X, INT, int8_ops) \
    Y(X, INT16, int16_ops) \
    Y(X, INT32, int32_ops) \
    Y(X, INT64, int64_ops) \
    Y(X, INT_ADDS, int_adds) \
    Y(X, INT_MULS, int_muls) \
    Y(X, INT_LOGIC, int_logic) \
    Y(X, INT_DOTS, int_dots) \
    Y(X, INT_INSTRUCTIONS, int_instructions) \
    Y(X, OTHER, flops_other) \
    Y(X, DP, dp_scalar) \
    Y(X, DP_128, dp_128) \
    Y(X, DP_256, dp_256) \
    Y(X, DP_512, dp_512) \
    Y(X, SP, sp_scalar) \
    Y(X, SP_128, sp_128) \
    Y(X, SP_256, sp_256) \
    Y(X, SP_512, sp_512)
/* clang-format on */

#define CARM_RUNMIX_ID(x, id, name) CARM_RUNMIX_##id,
enum carm_runmix_part { CARM_RUNMIX_TABLE(CARM_RUNMIX_ID, ) CARM_RUNMIX_COUNT };
#undef CARM_RUNMIX_ID

/* A part that is not known is negative. */
struct carm_runmix {
    double q[CARM_RUNMIX_COUNT];
};

/* The names of the columns, equal to the quantities' names in harness/count/quantities.h. */
static inline const char *carm_runmix_name(enum carm_runmix_part part)
{
#define CARM_RUNMIX_NAME(x, id, name) #name,
    static const char *const names[] = {CARM_RUNMIX_TABLE(CARM_RUNMIX_NAME, )};
#undef CARM_RUNMIX_NAME
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
    double bytes;                              /* that the core loads and stores */
    double dram_bytes;                         /* between last-level cache and memory */
    double level_bytes[2];                     /* between L1 and L2, L2 and L3 */
    double level_low[3], level_high[3];        /* interval of level_bytes and dram_bytes; unknown =
                                         * exact */
    double level_unused[3];                    /* unused part of level_bytes and dram_bytes */
    double level_misses[3][CARM_MISS_REASONS]; /* part of level_bytes and dram_bytes that misses
                                                * of each reason fetched */
    const char *levels_by; /* origin of level_bytes and dram_bytes: "simulated", "uncore",
                            * "constructed"; "" = not reported */
    double seconds;        /* wall clock, > 0 */
    double task_seconds;   /* processor time, children included */
    double flops_low, flops_high, bytes_low, bytes_high; /* interval of flops and bytes; unknown =
                                                          * exact */
    double calls;
    double operations; /* of the metric */
    /* flop/s that the imbalance of a job or node allows, on the cache-aware and on the original
     * model, from carm place --by */
    double imbalance_at[2];
    const char *metric; /* "exchange", CARM_METRIC_INTEGERS; "" = not reported, or flops */
    struct carm_runmix mix;
    double share;          /* share of time or calls that was counted, 0 .. 1 */
    int threads;           /* 0 = unknown */
    const char *isa;       /* in lower case, as precision */
    const char *precision; /* "dp", "sp", "mixed", "int8", ... */
    const char
        *counted_by;  /* "pmu", "stepped", "translated", "constructed", "unavailable: why", ... */
    const char *job;  /* one start of a parallel program: "4711.0" */
    const char *rank; /* of an MPI or Slurm job */
    const char *pid;  /* process that wrote the row */
    const char *host;
    const char *note;
    const char *kind; /* kind of a part of a program: "loop", "function", ...; "" = not a part */
    /* inputs that may change its counts from run to run: "the time, process numbers" */
    const char *asks_for;
    const char *cores;          /* of a hybrid CPU: models/place/kinds.h */
    const char *source;         /* of a part: "solve.c:42" */
    const char *module;         /* file with the part's code */
    double time_share, samples; /* of a part: share of the program's processor time, 0 .. 1; number
                                 * of samples */
    double entries, trips;      /* of a loop */
    /* the verdict of carm run, as codes of models/verdict/bounds.h and models/verdict/verdict.h; "" = none */
    const char *limit, *limit_by, *second, *advice;
    double explains;            /* share of the part's time that the limit explains */
    double gain_low, gain_high; /* gain of the part without the limit */
    size_t line;                /* of the file, from 1 */
    /* the file may be cut off: its last line ends with a number and has no line end; the note says
     * so */
    bool unended;
};

static inline bool carm_point_knows(double value)
{
    return value >= 0.0;
}

/* A point of which nothing is known. */
struct carm_point carm_point_blank(void);

/* The verdict in a row. returns false without a verdict, or for a limit that this version does not know */
bool carm_point_verdict(const struct carm_point *point, struct carm_verdict_kept *out);

/* Points in order. The texts of a point are borrowed until the next one.
 * returns 1; 0 at the end; a negative CARM_E* */
typedef int carm_points_source(void *from, struct carm_point *point, struct carm_err *err);

/* ---- columns of points.csv ---- */

enum carm_point_kind {
    CARM_POINT_TEXT,
    CARM_POINT_WORD,     /* a text in lower case */
    CARM_POINT_COUNT,    /* a number of at least zero */
    CARM_POINT_POSITIVE, /* a number above zero */
    CARM_POINT_SHARE,    /* a number from 0 to 1 */
    CARM_POINT_WHOLE,    /* a whole number above zero */
};

struct carm_point_column {
    const char *name;
    enum carm_point_kind kind;
    size_t at; /* the offset of its value in struct carm_point */
};

#define CARM_RUNMIX_COLUMN(X, id, name) X(name, COUNT, mix.q[CARM_RUNMIX_##id])
/* A row for each column: its name, its kind, and the member of struct carm_point with its value. */
/* clang-format off */
#define CARM_POINT_COLUMN_TABLE(X) \
    X(name, TEXT, name) \
    X(flops, COUNT, flops) \
    X(seconds, POSITIVE, seconds) \
    X(bytes, COUNT, bytes) \
    X(dram_bytes, COUNT, dram_bytes) \
    X(threads, WHOLE, threads) \
    X(isa, WORD, isa) \
    X(precision, WORD, precision) \
    X(counted_by, TEXT, counted_by) \
    X(calls, COUNT, calls) \
    X(share, SHARE, share) \
    X(flops_low, COUNT, flops_low) \
    X(flops_high, COUNT, flops_high) \
    X(bytes_low, COUNT, bytes_low) \
    X(bytes_high, COUNT, bytes_high) \
    X(rank, TEXT, rank) \
    X(host, TEXT, host) \
    X(note, TEXT, note) \
    X(operations, COUNT, operations) \
    X(metric, TEXT, metric) \
    X(job, TEXT, job) \
    X(pid, TEXT, pid) \
    X(aware_imbalance_at, COUNT, imbalance_at[0]) \
    X(original_imbalance_at, COUNT, imbalance_at[1]) \
    X(l2_bytes, COUNT, level_bytes[0]) \
    X(l3_bytes, COUNT, level_bytes[1]) \
    X(l2_bytes_low, COUNT, level_low[0]) \
    X(l2_bytes_high, COUNT, level_high[0]) \
    X(l3_bytes_low, COUNT, level_low[1]) \
    X(l3_bytes_high, COUNT, level_high[1]) \
    X(dram_bytes_low, COUNT, level_low[2]) \
    X(dram_bytes_high, COUNT, level_high[2]) \
    X(l2_unused, COUNT, level_unused[0]) \
    X(l3_unused, COUNT, level_unused[1]) \
    X(dram_unused, COUNT, level_unused[2]) \
    X(l2_compulsory, COUNT, level_misses[0][CARM_MISS_COMPULSORY]) \
    X(l2_capacity, COUNT, level_misses[0][CARM_MISS_CAPACITY]) \
    X(l2_conflict, COUNT, level_misses[0][CARM_MISS_CONFLICT]) \
    X(l2_coherence, COUNT, level_misses[0][CARM_MISS_COHERENCE]) \
    X(l3_compulsory, COUNT, level_misses[1][CARM_MISS_COMPULSORY]) \
    X(l3_capacity, COUNT, level_misses[1][CARM_MISS_CAPACITY]) \
    X(l3_conflict, COUNT, level_misses[1][CARM_MISS_CONFLICT]) \
    X(l3_coherence, COUNT, level_misses[1][CARM_MISS_COHERENCE]) \
    X(dram_compulsory, COUNT, level_misses[2][CARM_MISS_COMPULSORY]) \
    X(dram_capacity, COUNT, level_misses[2][CARM_MISS_CAPACITY]) \
    X(dram_conflict, COUNT, level_misses[2][CARM_MISS_CONFLICT]) \
    X(dram_coherence, COUNT, level_misses[2][CARM_MISS_COHERENCE]) \
    X(levels_by, WORD, levels_by) \
    CARM_RUNMIX_TABLE(CARM_RUNMIX_COLUMN, X) \
    /* parts of programs */ \
    X(kind, TEXT, kind) \
    X(source, TEXT, source) \
    X(module, TEXT, module) \
    X(time_share, SHARE, time_share) \
    X(samples, COUNT, samples) \
    X(entries, COUNT, entries) \
    X(trips, COUNT, trips) \
    X(task_seconds, COUNT, task_seconds) \
    X(limit, WORD, limit) \
    X(limit_by, WORD, limit_by) \
    X(explains, SHARE, explains) \
    X(second, WORD, second) \
    X(gain_low, COUNT, gain_low) \
    X(gain_high, COUNT, gain_high) \
    X(advice, WORD, advice) \
    X(asks_for, TEXT, asks_for) \
    X(cores, TEXT, cores)
/* clang-format on */

#define CARM_POINT_COLUMN_AT(name, kind, member) CARM_COLUMN_##name,
enum carm_point_at { CARM_POINT_COLUMN_TABLE(CARM_POINT_COLUMN_AT) CARM_POINT_COLUMNS };
#undef CARM_POINT_COLUMN_AT
extern const struct carm_point_column carm_point_columns[CARM_POINT_COLUMNS];

bool carm_point_is_text(const struct carm_point_column *column);
void carm_point_put_text(struct carm_point *point, const struct carm_point_column *column,
                         const char *s);
/* value  a whole number where the column's kind is CARM_POINT_WHOLE */
void carm_point_put_number(struct carm_point *point, const struct carm_point_column *column,
                           double value);

/* Whether a program of one thread waits: its processor time is less than 0.9 of its wall clock
 * time. */
bool carm_point_waits(int threads, double task_seconds, double seconds);

/* The time for a point's rates: processor time where the point waits, else wall clock. carm run, place, compare and all
 * pictures use it. */
double carm_point_ran_seconds(const struct carm_point *point);

/* Why a point has no place under any roof: "its flops were not counted", ..., NULL = flops and
 * seconds allow a place. */
const char *carm_point_unplaced(const struct carm_point *point);

/* The same for operations of a metric: points of another metric, flops included, have no place. */
const char *carm_point_unplaced_metric(const struct carm_point *point, const char *metric);

/* The metric of rows whose work is operations on vectors of integers. */
#define CARM_METRIC_INTEGERS "op"

/* The operations of a metric: from the column, or for integers from the mix; negative = unknown. */
double carm_point_operations(const struct carm_point *point, const char *metric);

/* Whether a metric's name means flops: "", "flop", "flops". */
bool carm_metric_is_flops(const char *metric);
