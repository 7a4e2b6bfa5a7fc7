/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points before and after a change, by name: which times differ significantly, which counts
 * differ at all, and the place of each point under the roofs. Nothing is printed here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "models/place/placed.h"
#include "models/place/points.h"

enum carm_change_kind {
    CARM_CHANGE_TIME, /* seconds: the geometric mean of the runs */
    CARM_CHANGE_PERFORMANCE,
    CARM_CHANGE_INTENSITY,      /* flop/byte as the core loads and stores */
    CARM_CHANGE_AWARE_SHARE,    /* of the roof, cache-aware model */
    CARM_CHANGE_ORIGINAL_SHARE, /* of the roof, original model */
    CARM_CHANGE_VECTOR_SHARE,   /* of the flops, those computed in vectors */
    CARM_CHANGE_FLOPS,          /* counts, from here on */
    CARM_CHANGE_BYTES,
    CARM_CHANGE_L2_BYTES, /* between L1 and L2, ... */
    CARM_CHANGE_L3_BYTES,
    CARM_CHANGE_DRAM_BYTES,
    CARM_CHANGE_INSTRUCTIONS,
    CARM_CHANGE_ALLOCATIONS,
    CARM_CHANGE_KINDS,
};

/* "time", "performance", "intensity", "aware_share", ..., "allocations": for programs */
const char *carm_change_name(enum carm_change_kind kind);
/* returns CARM_CHANGE_KINDS for an unknown name */
enum carm_change_kind carm_change_find(const char *name, size_t length);

enum carm_change_verdict {
    CARM_CHANGE_UNKNOWN,  /* not known before or after */
    CARM_CHANGE_UNJUDGED, /* a time of a single run, or (error > 0) of too few runs */
    CARM_CHANGE_EQUAL,
    CARM_CHANGE_DIFFERENT,
};

/* "unknown", "unjudged", "equal", "different" */
const char *carm_change_verdict_name(enum carm_change_verdict verdict);

struct carm_change_value {
    double value[2]; /* before, after; negative = unknown */
    double change;   /* after / before - 1; of shares after - before */
    double
        error;   /* half the width of its 95% interval, as a share; 0 = exact; negative = unknown */
    bool varies; /* a count that differs between runs of one side */
    enum carm_change_verdict verdict;
};

struct carm_change {
    const char *name; /* borrowed */
    size_t runs[2];
    struct carm_change_value values[CARM_CHANGE_KINDS];
    const char *bound[2]; /* "DRAM", "L2", ..., "compute": the limit that binds the point; "" =
                           * no place. Borrowed */
    /* input from the system that may change its counts from run to run: "the time, process numbers";
     * "" = nothing that is known. Borrowed */
    const char *asks_for;
    bool exact; /* counted exactly in both files, not by performance counters */
    bool part;  /* a loop or function of a program: samples decide which parts have rows, so a part
                           * explains a difference but does not measure one */
    /* a program whose rows are of its loops or functions: their counts added up. Its time is
     * unknown without a row for the whole program */
    bool summed;
};

struct carm_changes;

/* A file of points, each row a run. */
struct carm_changes_file {
    const char *path; /* for messages */
    carm_points_source *next;
    void *points; /* for next */
};

/* Compares the points of two files, before and after. Rows of the loops or functions of a program also become a point of
 * its name with the sum of their counts. Loops whose line changed become one point, with the first file's name, if
 * their function has equally many rows in both files.
 * model  model with the points' roofs; borrowed for the call; NULL = none
 * noise  times that differ by a smaller share are equal
 * only   a pattern of names as fnmatch takes it; NULL = all
 * returns 0; as the files' next; -CARM_EINVAL (no name is in both files) */
int carm_changes_read(const struct carm_changes_file of[2], const struct carm_model *model,
                      double noise, const char *only, struct carm_changes **out,
                      struct carm_err *err);
void carm_changes_close(struct carm_changes *changes); /* NULL allowed */

/* Points of both files, in the order of the first. Texts are borrowed. returns false past the last */
bool carm_changes_get(const struct carm_changes *changes, size_t i, struct carm_change *out);

/* A function or loop that causes a change of one of a program's counts. */
struct carm_change_cause {
    const char *part; /* its name without the program's; borrowed */
    double share;     /* of the program's change; negative = a change in the other direction */
};

/* The parts of point i with the largest changes of a count, the largest first. A part that is missing in one file
 * counts as 0 there. Nothing where the parts do not add up to the change.
 * kind  from CARM_CHANGE_FLOPS on
 * out   [most]
 * returns how many are in out */
size_t carm_changes_causes(const struct carm_changes *changes, size_t i, enum carm_change_kind kind,
                           struct carm_change_cause *out, size_t most);

/* Names that only one file has, in its order; NULL past the last. Borrowed.
 * part  out: whether it is a loop or function of a program; NULL allowed */
const char *carm_changes_only(const struct carm_changes *changes, int file, size_t i, bool *part);

/* Whether the file may be cut off: its last line ends with a number and has no line end. */
bool carm_changes_unended(const struct carm_changes *changes, int file);

/* Welch's test on logarithms of times, since disturbances multiply times.
 * sum, squares  of the logarithms, [2]; runs [2] >= 2
 * comparisons   number of comparisons judged together (Bonferroni)
 * returns half the width of the 95% interval of log(after / before)
 * source: Welch 1947, as in models/compare.h */
double carm_change_interval(const double sum[2], const double squares[2], const size_t runs[2],
                            size_t comparisons);
