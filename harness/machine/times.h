/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time stamps of a run into seconds and cycles: which repetitions count, how long each took, and at which core
 * clock. Pure functions of a team's arrays: no clock is read here, so that tests give the stamps. */
#ifndef CARM_HARNESS_MACHINE_TIMES_H
#define CARM_HARNESS_MACHINE_TIMES_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/machine/stats.h"
#include "harness/machine/team.h"

/* Repetitions of a run come in blocks of CARM_CLOCK_EVERY, with a look at the cores (clock and issue width)
 * before and after each. */
struct carm_times_run {
    size_t reps; /* wanted of cores that the threads had for themselves */
    size_t most; /* in all */
    size_t done; /* by all threads, whoever had the cores */
    bool cut;    /* the deadline ended the run ... */
    bool blind;  /* ... before a look at the cores followed its first block */
};

/* What the time stamps of a run say. */
struct carm_times {
    struct carm_stats seconds; /* of one repetition, all threads: first start to last end, the
                                * empty code's time subtracted; n 0 = nothing else is set */
    double cycles;       /* median core cycles of one repetition: each repetition's time by the
                          * clock that was measured beside it, so that a moving clock cancels */
    double clock_spread; /* relative: late in the run against early */
    double own_share;    /* of all repetitions, in blocks beside which every thread had its core for
                          * itself: these alone count, where there are any */
    double
        width_share; /* of the full issue width, the median over probes of the thread with least */
    double slow_share; /* repetitions that took over 1.5 times the median */
    bool unsound;      /* the empty code took longer: its time is not subtracted */
};

/* Looks before and after a block: indices of a worker's ratios and widths. */
static inline size_t carm_times_before(size_t block)
{
    return 2 * block;
}

static inline size_t carm_times_after(size_t block)
{
    return 2 * block + 1;
}

/* Repetitions of the block that begins at repetition r. */
size_t carm_times_block(const struct carm_times_run *run, size_t r);

/* The widths that a worker's core is compared with: threads that share a core by design with what they
 * reach together. */
struct carm_widths *carm_times_widths(struct carm_worker *w);

/* The share of its core's full width that counts for a worker at one look: its own, or, unless the team is
 * separate, the least of all workers. 1 where the full width is not known yet. */
double carm_times_own_width(const struct carm_worker *w, size_t probe);

/* Whether a worker had its core for itself before and after a block; unless the team is separate, whether all
 * had. */
bool carm_times_is_own(const struct carm_worker *w, size_t block);

/* Repetitions with cores of their own, of the worker with fewest. */
size_t carm_times_fewest_own(const struct carm_team *team);

/* After a run: what all threads have done. Of a run that the deadline cut, whole blocks count; the first block
 * also in part, blind. Sets run->done and run->blind, and own and nprobes of the workers. */
void carm_times_end(struct carm_team *team, struct carm_times_run *run);

/* Duration of repetition r in ticks: last end minus first start; where the TSCs of the processors
 * are not in step, the longest of the threads' own times. */
double carm_times_ticks(const struct carm_team *team, size_t r);

/* Seconds of all repetitions together. */
double carm_times_total(const struct carm_team *team, const struct carm_times_run *run);

/* Core cycles for each tick during a block. */
double carm_times_ratio(const struct carm_worker *w, size_t block);

/* Describes a run after carm_times_end. Smooths the workers' ratios. Of a separate team whose threads all had
 * their core for a while, begin and end of the workers become duration and block of the repetitions that
 * count; of other teams team->counts says which count.
 * returns whether threads were taken apart */
bool carm_times_describe(struct carm_team *team, const struct carm_times_run *run,
                         struct carm_times *out);

#endif
