/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A trial of a loop, one snapshot of the trial, and copies of the stopped program: opening a copy as warm as the
 * program is, and running phases of code in the copy. */
#pragma once

#include <signal.h>

#include "harness/whatif/body.h"
#include "harness/whatif/child.h"
#include "harness/whatif/emit.h"
#include "harness/whatif/memory.h"

enum {
    /* no variants of the code: huge pages; a copy on each CPU at once */
    CARM_TRIAL_HUGE = CARM_VARIANTS,
    CARM_TRIAL_CORES,
    CARM_TRIAL_CHANGES
};

struct carm_trial_settings {
    uint64_t memory; /* bytes that copies may take; 0 = half of the free memory */
    double tsc_hz;
    double seconds; /* for one snapshot; it may take longer */
    double limit;   /* seconds after which a snapshot ends, finished or not */
    double copy;    /* seconds after which a copy is ended */
    const volatile sig_atomic_t *stop;
};

/* Result of one snapshot. Ratios: time of the unchanged code over time of the changed code; NaN = not measured. */
struct carm_trial_result {
    char why[200];                    /* why there is no result: a phrase; "" = there is one */
    double null;                      /* unchanged over unchanged code */
    double nulls[CARM_TRIAL_CHANGES]; /* null ratio of the copies with which a change is compared */
    double ratio[CARM_TRIAL_CHANGES];
    double
        seconds; /* of an iteration of the unchanged code, with its share of the code around the loop */
    double inside; /* share of the time in the loop's own code */
    double spent;  /* seconds that the program stood still */
    bool in_turns; /* measured in turns of one copy; else in several copies */
};

struct carm_trial {
    struct carm_body body;
    bool prepared;      /* the loop was observed, and the control flow of the variants compared */
    double iterations;  /* of a unit */
    double ticks, most; /* from the last snapshot: ticks of a unit; units that a copy can do */
    double inside,
        inside_l1;       /* share of the time in the loop's own code: unchanged, with data in L1 */
    bool far;            /* the loop's data do not fit L2: turns are longer */
    double open_seconds; /* to open a warm copy */
    struct carm_trial_stage {
        unsigned n;     /* snapshots that measured this stage */
        double seconds; /* most seconds that the stage took */
    } apart,
        cores; /* changes in copies of their own (huge pages, streaming stores); copies on all CPUs */
    unsigned snapshots;          /* so far */
    double variants_seconds;     /* estimate for a later snapshot without the stage `apart` */
    unsigned cpus;               /* copies of the stage `cores` */
    double speed[CARM_VARIANTS]; /* of the variants, relative to the unchanged code; an estimate */
    bool huge_already;           /* most of its data are in huge pages */
    bool l1_partly;              /* loads on which branches depend stay where they are */
    unsigned changed[CARM_TRIAL_CHANGES];
    char refused[CARM_TRIAL_CHANGES][160]; /* why a change is not tried: a phrase; "" = tried */
    bool idle[CARM_TRIAL_CHANGES];         /* refused: the loop has nothing to change */
    char wrong[160]; /* why no snapshot of the loop can be measured: a phrase; "" */
};

enum {
    CARM_TRIAL_SNAPSHOTS = 3, /* the least number from which an interval can be made */
    CARM_SNAPSHOT_DATA_MAX = 64,
    CARM_SNAPSHOT_UNITS_LEAST = 16,     /* a copy that can do fewer units is not timed */
    CARM_SNAPSHOT_LIST_BYTES = 8 << 20, /* of the list of pages to touch */
    CARM_HUGE_PAGE = 2 << 20,
};

/* One stop of the program at the head of a loop. */
struct carm_snapshot {
    struct carm_trial *trial;
    const struct carm_trial_settings *settings;
    struct carm_memory memory;
    struct carm_child program, origin; /* origin: the first copy, from which all others are made */
    struct carm_region region;
    struct carm_variant_code codes[CARM_VARIANTS];
    struct carm_variant_code counted[CARM_VARIANTS]; /* the variants with a counter in each block */
    uint64_t list_at;                                /* address of the list of pages to touch */
    size_t nlist;
    uint64_t data[CARM_SNAPSHOT_DATA_MAX]; /* an address in each area of the loop's data */
    size_t ndata;
    double ticks;        /* of a unit */
    double most;         /* most units that a copy can do */
    double until, limit; /* ends of settings->seconds and settings->limit, as carm_seconds_now */
    char *why;           /* a phrase: why the snapshot failed */
    size_t why_size;
};

/* Refuses a change for a reason; the first reason is kept. */
void carm_trial_refuse(struct carm_trial *t, int change, const char *why);

/* Writes the reason why the snapshot failed; returns false. */
__attribute__((format(printf, 2, 3))) bool carm_snapshot_fails(struct carm_snapshot *s,
                                                               const char *format, ...);
/* carm_snapshot_fails for a copy that ended before it could be timed. */
bool carm_snapshot_too_few(struct carm_snapshot *s, double done,
                           const struct carm_child_outcome *outcome);

/* Whether the time for the snapshot is over, or the user wants to stop. */
bool carm_snapshot_is_over(const struct carm_snapshot *s);

/* Begin (returned) and end of the whole huge pages in the area around data[i]; 0 and 0: the area is unknown. */
uint64_t carm_snapshot_huge_area(const struct carm_snapshot *s, size_t i, uint64_t *end);

/* Like carm_child_fork. Fails after the limit of the snapshot. */
bool carm_copy_fork(struct carm_snapshot *s, struct carm_child *from, struct carm_child *to);

/* The event that ended a copy, in words: "a system call (1)". Returns text. */
const char *carm_copy_end(const struct carm_snapshot *s, const struct carm_child_outcome *o,
                          char *text, size_t size);

/* Opens a copy whose pages are as they are while the loop runs: touched, and huge where the program's are.
 * huge  all pages of the loop's data are made huge */
bool carm_copy_open_warm(struct carm_snapshot *s, bool huge, struct carm_child *child);

/* Like carm_copy_open_warm, but the copy shares no pages with other copies: other cores would find shared pages in a
 * shared cache. */
bool carm_copy_open_apart(struct carm_snapshot *s, struct carm_child *child);

/* Runs phases in a copy, which then waits, unless it is gone.
 * phases  [n] in: units, target, entry; out: tsc; the last phase only ends the run
 * first   units of `code` before them
 * done    out: units of the first part and of all phases; NULL
 * returns the number of phases that began; n: all ended */
size_t carm_copy_start(struct carm_snapshot *s, struct carm_child *child,
                       const struct carm_variant_code *code, double first,
                       struct carm_phase *phases, size_t n, struct carm_child_outcome *outcome,
                       double *done);

/* The two halves of carm_copy_start: several copies can be begun before one is waited for. */
bool carm_copy_go(struct carm_snapshot *s, struct carm_child *child,
                  const struct carm_variant_code *code, double first, struct carm_phase *phases,
                  size_t n);
size_t carm_copy_await(struct carm_snapshot *s, struct carm_child *child, double first,
                       struct carm_phase *phases, size_t n, struct carm_child_outcome *outcome,
                       double *done);

/* Like carm_copy_start, and ends the copy.
 * counts  out: [ops of the loop] executions by a variant with counters; NULL = not wanted */
size_t carm_copy_run(struct carm_snapshot *s, struct carm_child *child,
                     const struct carm_variant_code *code, double first, struct carm_phase *phases,
                     size_t n, struct carm_child_outcome *outcome, double *done, uint64_t *counts);

/* A phase of `units` units, at least one; and the phase that ends a run. */
struct carm_phase carm_copy_phase(const struct carm_variant_code *code, double units);
struct carm_phase carm_copy_last_phase(const struct carm_snapshot *s);
