/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The models of many nodes: read, sorted into groups of equal machines, and judged roof by roof.
 * Deviations are natural logarithms inside, shares of the median outside. Nothing is printed here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "models/compare.h"
#include "models/fleet/stats.h"

#define CARM_FLEET_SCHEMA "carm-fleet/1" /* of a row: data/fleet.schema.json */

/* At most this share of sound nodes becomes a suspect. */
#define CARM_FLEET_SUSPECT 0.01

enum { CARM_FLEET_NONE = -1 };

/* ---- rows and roofs that were read ----------------------------------------------------------- */

/* A roof as all models know it. */
struct carm_fleet_roof {
    uint32_t index; /* in the fleet's sorted roofs; unused for a family */
    enum carm_compare_kind kind;
    bool clock;                  /* the core clock beside a set, Hz: shown, never judged */
    const char *isa, *precision; /* "" for a family */
    int threads;                 /* of a family: 0 = all numbers of threads together */
    const char *name;   /* "L1 2:1", "fma", "DRAM peak", "latency L3", "in-core: tlp add" */
    const char *family; /* the measured resource: a level, "latency" or "compute" */
    const char *unit;   /* "byte/s", "flop/s", "load/s", "Hz" */
    enum carm_compare_noise noise; /* for carm_compare_floor, in groups that are too small */
};

struct carm_fleet_value {
    uint32_t roof; /* index */
    float rate;    /* byte/s, flop/s or Hz */
    /* half the 95% interval over 1.96, as a share; not yet a standard error where it is from
     * rounds */
    float own;
    bool disturbed;
};

/* The type of a machine. */
struct carm_fleet_machine {
    const char *key; /* all of the following members as one text */
    const char *cpu, *hypervisor, *caches, *isas;
    int cores, threads;
    uint64_t page_bytes;
    bool quick;
};

/* One model, or one node that gave none. Strings live as long as the fleet. */
struct carm_fleet_row {
    const char *file;
    size_t line;                      /* in a file of rows; 0 = the file is one model */
    const char *host, *job, *boot_id; /* "" = not known */
    int rank;                         /* -1 = not known */
    const char *time;                 /* ISO 8601, UTC */
    const char *status, *reason;      /* "ok", or why there is no model */
    int64_t seconds;                  /* Unix time; 0 = not a time */
    ptrdiff_t machine;                /* index; CARM_FLEET_NONE = no model */
    bool rounds;                      /* the roofs are from rounds; ceilings never are */
    uint64_t memory_bytes;
    struct carm_fleet_value *values; /* by roof */
    size_t nvalues, values_room;
};

struct carm_fleet_broken {
    const char *file;
    size_t line;
    const char *reason;
};

/* ---- the judgement --------------------------------------------------------------------------- */

struct carm_fleet_test {
    float share; /* deviation from the centre; NaN = the node has no such roof */
    float z;     /* deviation in sigmas of the node's own error and the group's spread; NaN = spread
                  * unknown */
    float p;     /* two-sided; NaN = not judged: disturbed, too few nodes */
    float q;     /* p adjusted for all roofs and nodes; NaN = not judged */
    float rate;  /* 0 for a family */
    bool disturbed;
    bool flagged; /* q is small enough, and the deviation large enough */
};

/* A column of a group: one roof, or the weighted mean of the roofs of a family. */
struct carm_fleet_column {
    struct carm_fleet_roof roof;
    bool family;                     /* of several roofs */
    size_t nroofs, roofs_room;       /* of a family */
    size_t ndisturbed;               /* disturbed values, left out of the counts below */
    struct carm_fleet_centre centre; /* of ln rate; a family's lies at 0 */
    double median;                   /* rate; 0 for a family */
    double sigma;                    /* spread between nodes without their measurement errors, a
                                      * share */
    double correlation;              /* of a family's roofs */
    ptrdiff_t low, high;             /* nodes of the group: the extremes, CARM_FLEET_NONE = none */
};

enum carm_fleet_verdict {
    CARM_FLEET_SOUND,
    CARM_FLEET_SUSPECT_NODE, /* significant for a single node, but not among all nodes */
    CARM_FLEET_SMALL,        /* significant, but less than the smallest difference that matters */
    CARM_FLEET_SLOW,
    CARM_FLEET_FAST, /* fast in some roofs, slow in none */
};

struct carm_fleet_judged {
    double p, q; /* of the node as a whole; NaN = not judged */
    enum carm_fleet_verdict verdict;
    ptrdiff_t worst; /* column of the most certain deviation, flagged before others; or none */
};

/* n nodes by ncolumns columns. */
struct carm_fleet_table {
    size_t n, ncolumns;
    struct carm_fleet_column *columns; /* roofs in order, then families */
    struct carm_fleet_test *tests;     /* [n * ncolumns], by node */
    struct carm_fleet_judged *judged;  /* [n] */
};

struct carm_fleet_node {
    const char *name;   /* host, with #1, #2 where two nodes share it */
    const size_t *rows; /* rows of the group's machine, newest first; the newest is judged */
    size_t nrows, rows_room;
    ptrdiff_t drift; /* index in the group's drift, or none */
};

struct carm_fleet_group {
    struct carm_fleet_machine machine;
    uint64_t memory_min, memory_max;
    struct carm_fleet_node *nodes; /* by name */
    size_t nnodes;
    struct carm_fleet_table now;
    struct carm_fleet_table drift; /* each node's newest row over the median of its earlier rows */
    size_t *drifting;              /* [drift.n] indices of the nodes in it */
};

struct carm_fleet {
    struct carm_fleet_roof *roofs; /* by set: ISA, precision, threads */
    size_t nroofs, roofs_room;
    struct carm_fleet_machine *machines;
    size_t nmachines, machines_room;
    struct carm_fleet_row *rows; /* by file and line */
    size_t nrows, rows_room;
    struct carm_fleet_broken *broken; /* by file and line */
    size_t nbroken, broken_room;
    size_t nfiles;
    struct carm_fleet_group *groups; /* largest first */
    size_t ngroups, groups_room;
    size_t *row_index;  /* indices of rows, grouped by node: the nodes' `rows` point into it */
    const char **notes; /* sentences about nodes that share a name */
    size_t nnotes, notes_room;
    size_t njudged, ndrifting; /* nodes that were judged */
    void *strings;             /* of tsearch: carm_fleet_keep */
};

struct carm_fleet_options {
    bool ceilings; /* also the roofs of `carm build --ceilings` */
    int threads;   /* for share: 0 = one for each processor */
    /* reads in several threads: carm_threads_share (harness/machine/share.h); NULL = the calling
     * thread reads alone */
    void (*share)(int threads, void *(*work)(void *), void *arg);
    double fdr;       /* accepted share of false outliers among the outliers, 0 to 1 */
    double min_share; /* the smallest difference that matters */
};

/* The fleet's copy of a text, one pointer for equal texts; NULL = out of memory. Not safe for several
 * threads at a time. */
const char *carm_fleet_keep(struct carm_fleet *fleet, const char *text);

void carm_fleet_free(struct carm_fleet *fleet); /* NULL allowed */

/* The test of a node in a column. */
static inline const struct carm_fleet_test *carm_fleet_test_of(const struct carm_fleet_table *table,
                                                               size_t node, size_t column)
{
    return &table->tests[node * table->ncolumns + column];
}

/* ---- rows of reports ------------------------------------------------------------------------- */

/* "sound", "suspect", "small", "slow", "fast" */
const char *carm_fleet_verdict_name(enum carm_fleet_verdict verdict);

/* "level" (a family), "clock", or as carm_compare_kind_name */
const char *carm_fleet_kind_name(const struct carm_fleet_column *column);

enum { CARM_FLEET_LABEL_MAX = 512 };

/* "avx512 dp, 1 thread: L3 2:1", or "L3 (10 roofs)" of a family; made safe. returns dst */
char *carm_fleet_label(char *dst, size_t size, const struct carm_fleet_column *column, bool ascii);

/* "47.1 GiB", or "46.9 to 47.1 GiB". returns dst */
char *carm_fleet_memory_text(char *dst, size_t size, const struct carm_fleet_group *group);

/* The number of nodes with a verdict, in all groups' drift or now. */
size_t carm_fleet_count(const struct carm_fleet *fleet, bool drift,
                        enum carm_fleet_verdict verdict);

/* Rows without a model. */
size_t carm_fleet_count_failed(const struct carm_fleet *fleet);

/* For an odd group, the group of the same CPU that is at least 20 times as large. A group is odd when a few nodes of a
 * type have less memory, small pages or no AVX-512. CARM_FLEET_NONE = the group is not odd */
ptrdiff_t carm_fleet_like(const struct carm_fleet *fleet, size_t group);

/* The number of roofs that the node lacks, though at least 95% of the 20 or more nodes of its group
 * have them.
 * first  out: the first such roof */
size_t carm_fleet_missing(const struct carm_fleet_group *group, size_t node, size_t *first);

/* The value of a roof, by its index in the fleet, or NULL. */
const struct carm_fleet_value *carm_fleet_value_of(const struct carm_fleet_row *row, size_t roof);

/* Two-sided p value of the median change of a whole group; 1 = not known. */
double carm_fleet_shift_p(const struct carm_fleet_column *column);

/* Whether the whole group changed in a column, by the limits in options, adjusted for all columns
 * of the group's drift. */
bool carm_fleet_shifted(const struct carm_fleet_table *drift, size_t column,
                        const struct carm_fleet_options *options);

/* The usual cause of a slow node's deviation, from its flagged roofs and its core clock; "" = no hint. */
const char *carm_fleet_hint(const struct carm_fleet_table *table, size_t node);
