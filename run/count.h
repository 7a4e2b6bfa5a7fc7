/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts a program from its start to its end, for a row of points.csv. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "harness/count/counters.h"
#include "harness/count/row.h"
#include "harness/count/step/instruction.h"
#include "harness/profile/profile.h"
#include "harness/profile/sample.h"
#include "harness/profile/stay.h"
#include "harness/translate/addresses.h"
#include "harness/translate/blocks.h"
#include "run/totals.h"

/* In a shorter run, start and end of the process are too large a part of counts and time: an empty program
 * takes about a millisecond and 130 thousand instructions, most of them the dynamic linker's. */
#define CARM_RUN_SHORTEST_SECONDS 0.02

enum { CARM_RUN_CPUS = 1024 }; /* hybrid CPUs have some 30 */

/* One free run of several. */
struct carm_run_once {
    double seconds, user_seconds, system_seconds;
    bool has_samples;
    struct carm_samples samples;
};

/* The machine after the run; each figure is measured when a part's verdict first asks for it. */
struct carm_run_after {
    struct carm_stay stay; /* how long lines stay in the last cache */
    struct carm_memory_now memory;
    bool faulted;              /* page faults were measured, or tried to be */
    double huge_fault_seconds; /* of a page fault that gives a huge page; 0 = not known */
};

struct carm_run {
    /* in */
    char *const *argv; /* ended by NULL */
    const char *name;  /* of the row */
    enum carm_provider provider;
    uint64_t budget; /* of stepping, instructions */
    const char
        *cpu;     /* of translation: the CPU that the program sees (harness/translate/cpu.h); NULL =
                          * this machine's */
    bool no_time; /* counting without the run that gives the time */
    unsigned hz;  /* samples for each second of processor time; 0 = none */
    uint8_t kinds[CARM_RUN_CPUS]; /* [nkinds] of each processor's cores (harness/place/place.h) */
    size_t nkinds;                /* 0 = not a hybrid CPU */
    bool by_code;        /* keep the counts of each block when translation counts; counters then
                      * count the free run of a program that may run twice */
    unsigned repeat;     /* number of free runs, for more times and samples; 0 = one; with more than
                      * one there are two counted runs */
    bool always_sampled; /* also where performance counters count */
    int threads;         /* threads that the program uses; 0 = by its processor time */
    /* translation: points file for the counts of the program's regions; NULL = count the whole
     * program */
    const char *regions;
    /* told of the stepping's progress, and when the program runs twice; borrowed */
    struct carm_observer *observer;
    const struct carm_address_sink
        *sink;      /* takes the addresses of a translated run; borrowed, NULL = none */
    bool for_parts; /* the addresses are for the parts alone: a run without parts records none */
    /* called between the timed run and the counted one; may set the sink's sample; NULL = not
     * called */
    void (*timed)(void *arg, double cpu_seconds);
    void *timed_arg;
    struct carm_run_after *after; /* borrowed, NULL = nothing is measured after the run */

    /* out */
    struct carm_row row;
    int status;         /* exit status of the program in a shell's notation: 128 + signal, 127
                         * not found, 126 not runnable */
    int signal;         /* signal that ended the program, 0 = none */
    bool started;       /* false: the program could not be executed */
    double cpu_seconds; /* user and system, with children; 0 = unknown */
    double user_seconds, system_seconds; /* parts of cpu_seconds; the mean of several free runs */
    double
        huge_faults; /* page faults of all programs that gave huge pages during the run; 0 = none or unknown */
    double
        queued_seconds; /* in which the first thread waited for a processor that others used; NAN = unknown */
    bool has_samples; /* samples of the timed run */
    struct carm_samples samples;
    /* the free runs, if there were several; row.seconds is the first run's */
    struct carm_run_once *each;
    size_t neach;
    /* why there were fewer than `repeat` runs: a sentence; "" = all runs were made */
    char unrepeated[160];
    char unsampled[512]; /* why there are no samples: a sentence; "" = not asked for */
    bool has_blocks;
    struct carm_blocks blocks; /* the blocks of the counted run */
    bool has_again;
    struct carm_blocks again; /* of a second counted run */
    char counted[256];        /* a phrase that names the counter, or why nothing counted */
    char remedy[256];         /* "" = none */
    struct carm_row *marks;   /* [nmarks] with regions: rows of marked code (run/marks.h) */
    size_t nmarks;
    uint64_t
        marks_lost; /* calls of marked code without a row: nested too deep, or too many names */
    bool has_totals;
    struct carm_totals totals; /* of counters and of translation, where both counted the program */
    struct carm_step_counts prefix; /* of a stepping whose budget ended, instructions > 0 */
};

/* Whether the time is known and below CARM_RUN_SHORTEST_SECONDS: such a run is not placed. */
static inline bool carm_run_is_short(const struct carm_run *run)
{
    return run->row.seconds > 0.0 && run->row.seconds < CARM_RUN_SHORTEST_SECONDS;
}

/* Whether the program's parts have rows: they were asked for, or the samples of the free run are enough. */
static inline bool carm_run_shows_parts(const struct carm_run *run)
{
    const uint64_t n = run->has_samples ? run->samples.total : 0;
    const bool few = (run->no_time || run->hz) && n < CARM_PROFILE_FEW;
    return run->by_code && (!few || run->always_sampled || run->unsampled[0]);
}

/* The number of free runs with samples. */
static inline double carm_run_times(const struct carm_run *run)
{
    return run->neach ? (double)run->neach : 1.0;
}

/* Runs and counts. SIGTERM and SIGHUP are passed on to the program; the terminal delivers SIGINT
 * and SIGQUIT itself.
 * returns 0; -CARM_EIO (the program cannot be started; run->status is 126 or 127), -CARM_ENOTSUP
 * (the named provider does not work here) */
int carm_run_count(struct carm_run *run, struct carm_err *err);

/* Frees samples, runs and blocks. */
void carm_run_close(struct carm_run *run);
