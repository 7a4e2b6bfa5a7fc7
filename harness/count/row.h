/* SPDX-License-Identifier: MIT */
/* Rows of points.csv: the counts of a program or a region. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "harness/count/quantities.h"

/* The part of a program that a row describes. */
struct carm_row_part {
    /* "loop", "body", "function", "kernel", "others", "unknown"; NULL or "" = no part */
    const char *kind;
    double time_share; /* of the program's processor time, 0 .. 1; negative = unknown (empty) */
    double samples;    /* that the share is from; negative = unknown (empty) */
    double entries,
        trips; /* of a loop: how often it was entered, mean iterations; 0 = unknown (empty) */
    char source[128]; /* "solve.c:42" */
    char module[128]; /* file of its code: "libopenblas.so.0" */
    char cores
        [64]; /* of a hybrid CPU, the share of its samples on each kind: "p:0.62 e:0.38"; "" = not known */
    /* the verdict: codes of models/verdict/bounds.h and models/verdict/verdict.h; NULL or "" = none */
    const char *limit, *limit_by, *second, *advice; /* limit_by: "bound" or "estimate" */
    double explains;                                /* share of its time */
    double gain_low, gain_high; /* of the part without the limit; 0 = unknown (empty) */
};

struct carm_row {
    char name[256];
    struct carm_counts counts; /* flops, bytes, dram_bytes and more; what is unavailable is an empty
                                * field */
    double seconds;            /* wall clock; 0 = unknown (empty) */
    double operations;         /* of the metric, where it counts no flops; 0 = none (empty) */
    const char *metric;        /* "exchange", "op" on integers; NULL or "" = flops */
    int threads;               /* 0 = unknown */
    const char *isa;           /* widest vector that computed: "scalar", "sse", "avx2", "avx512"; ""
                                * = unknown */
    const char *precision;     /* "dp", "sp", "mixed", "int8", ..., "" */
    uint64_t calls;            /* of a region; 1 for a program */
    double share;              /* of time or calls that was counted; 1 = all, 0 = nothing (empty) */
    struct carm_row_part part;
    char rank[16]; /* of an MPI or Slurm job, "" = none */
    /* inputs that may change its counts from run to run: "the time, process numbers"; "" = nothing, or not known */
    char asks_for[192];
    char note[384]; /* why a count is missing, or how it was scaled; counts.note follows */
};

/* Fills rank from the launcher, and isa and precision from the counts where these have them: the widest
 * vector, and each precision, that did at least a hundredth of the flops. Where vectors of integers did more
 * than ten operations for each flop, and one for a hundred bytes, these are the row's operations (metric
 * "op"). The isa is then the widest of these vectors, the precision the element width of most operations. A metric that
 * is set stays. */
void carm_row_describe(struct carm_row *row);

/* Whether rows can be appended to path; creates it with its header when it is not there.
 * returns as carm_row_append */
int carm_row_check(const char *path, struct carm_err *err);

/* Appends rows to path; an empty or new file gets the header first. Several processes may do so at
 * once. On failure the file is as it was. Control characters in names become '?'.
 * Columns: name,flops,bytes,seconds,dram_bytes,threads,isa,precision,counted_by, then calls, share, flops_low,
 * flops_high, bytes_low, bytes_high, operations, metric, every other quantity by its name, host, pid,
 * job (program of struct carm_job), rank, levels_by (of dram_bytes and the like: "uncore", "simulated",
 * "constructed", "" = not counted), note, the members of struct carm_row_part, asks_for and cores. Texts are quoted by
 * RFC 4180 where needed. counted_by is the counter of flops and bytes, or "unavailable: " and the note without both.
 * returns 0; -CARM_EIO (cannot be written); -CARM_EFORMAT (path is another kind of file: its header
 * is not this one) */
int carm_row_append(const char *path, const struct carm_row *rows, int n, struct carm_err *err);

/* Appends rows that are text already.
 * rows  [size] as carm_row_append writes them, without the header */
int carm_row_append_text(const char *path, const char *rows, size_t size, struct carm_err *err);
