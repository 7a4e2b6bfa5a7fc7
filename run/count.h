/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program is counted from its start to its end: a row of points.csv. */
#ifndef CARM_RUN_COUNT_H
#define CARM_RUN_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "harness/count/counters.h"
#include "harness/count/row.h"
#include "harness/count/step/instruction.h"
#include "harness/profile/sample.h"
#include "run/totals.h"
#include "harness/translate/addresses.h"
#include "harness/translate/blocks.h"

/* Below, start and end of a process are too large a part of its counts and its time: a program of nothing
 * takes about a millisecond and 130 thousand instructions, most of them the dynamic linker's. */
#define CARM_RUN_SHORTEST_SECONDS 0.02

/* One free run of several. */
struct carm_run_once {
    double seconds, user_seconds, system_seconds;
    bool has_samples;
    struct carm_samples samples;
};

struct carm_run {
    /* in */
    char *const *argv; /* ended by NULL */
    const char *name;  /* of the row */
    enum carm_provider provider;
    uint64_t budget; /* of stepping, instructions */
    bool no_time;    /* counting without the run that gives the time */
    unsigned hz;     /* samples for each second of processor time; 0 = none */
    bool by_code;    /* keep what each block did, where translation counts; counters then count the
                      * free run of a program that may run twice */
    unsigned repeat; /* free runs, for more times and samples; 0 = one; more: two counted runs */
    bool always_sampled; /* also where performance counters count */
    int threads;         /* that it uses, 0 = by its processor time */
    const char
        *regions; /* translation: count its regions into this points file; NULL = the whole */
    struct carm_observer
        *observer; /* of the stepping, and told when the program runs twice; borrowed */
    const struct carm_address_sink *sink; /* of translation: takes addresses; borrowed, NULL */
    /* between the run that gives the time and the counted one; may set what is sampled for the sink; NULL */
    void (*timed)(void *arg, double cpu_seconds);
    void *timed_arg;

    /* out */
    struct carm_row row;
    int status;         /* the program's own exit status as a shell tells it: 128 + signal, 127 not
                        * found, 126 not runnable */
    int signal;         /* that ended it, 0 = none */
    bool started;       /* false: the program could not be executed */
    double cpu_seconds; /* user and system, with children; 0 = unknown */
    double user_seconds, system_seconds; /* likewise; of several free runs their mean */
    bool has_samples;                    /* of the run that gave the time */
    struct carm_samples samples;
    struct carm_run_once
        *each; /* the free runs, where there were several; row.seconds is the first one's */
    size_t neach;
    char unrepeated
        [160]; /* why there were fewer than `repeat`: a sentence; "" = there were as many */
    char unsampled[512]; /* why there are none: a sentence; "" = not asked for */
    bool has_blocks;
    struct carm_blocks blocks; /* what the counts are made of */
    bool has_again;
    struct carm_blocks again; /* of a second counted run */
    char counted[256];        /* what counted, or why nothing did: one phrase */
    char remedy[256];         /* "" = none */
    bool has_totals;
    struct carm_totals totals; /* of counters and of translation, where both counted the program */
    struct carm_step_counts prefix; /* of a stepping whose budget ended, instructions > 0 */
};

/* Its time is known, and below CARM_RUN_SHORTEST_SECONDS: such a run is not placed. */
bool carm_run_is_short(const struct carm_run *run);

/* How many free runs the samples are of. */
double carm_run_times(const struct carm_run *run);

/* Runs and counts. Signals that end programs are passed on to it (SIGTERM, SIGHUP) or are the
 * terminal's to deliver (SIGINT, SIGQUIT).
 * returns 0; -CARM_EIO (cannot start it: run->status says 126 or 127), -CARM_ENOTSUP (the provider
 * that was named does not work here) */
int carm_run_count(struct carm_run *run, struct carm_err *err);

/* Frees samples, runs and blocks. */
void carm_run_close(struct carm_run *run);

#endif
