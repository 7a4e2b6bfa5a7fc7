/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns the time stamps of a run into seconds and cycles: which repetitions count, how long each
 * took, and at which core clock. Pure functions of a team's arrays; no clock is read, so that
 * tests can give the stamps. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "harness/machine/stats.h"
#include "harness/machine/team.h"

/* Repetitions of a run come in blocks of CARM_CLOCK_EVERY, with a look at the cores (clock and issue width)
 * before and after each. */
struct carm_times_run {
    size_t reps; /* wanted on cores that the threads have for themselves */
    size_t most; /* at most, on any cores */
    size_t done; /* ended on all threads, on any cores */
    bool cut;    /* the deadline ended the run ... */
    bool blind;  /* ... before the look at the cores that follows the first block */
};

/* Times, cycles and disturbances of a run, from its time stamps. */
struct carm_times {
    struct carm_stats seconds; /* of one repetition, all threads: first start to last end, the
                                * empty code's time subtracted; n = 0: no other member is set */
    double cycles;             /* median core cycles of one repetition: seconds times the core clock
                          * measured before and after its block, so that changes of the clock
                          * cancel */
    double clock_spread;       /* relative: late in the run against early */
    double own_share; /* share of all repetitions that ran while every thread had its core for
                          * itself; where there are such repetitions, only they count */
    /* share of the full issue width of the thread with the least, median over the probes */
    double width_share;
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

/* The widths that a worker's core is compared with: seen_together for threads that share a core
 * by design, else seen_alone. */
struct carm_widths *carm_times_widths(struct carm_worker *w);

/* The share of the full width that counts for a worker at one look. Separate team: the share of
 * the worker's core. Otherwise: the least share of all workers' cores. 1 while the full width is
 * not known. */
double carm_times_own_width(const struct carm_worker *w, size_t probe);

/* Whether a worker had its core for itself before and after a block. Unless the team is
 * separate: whether all workers had. */
bool carm_times_is_own(const struct carm_worker *w, size_t block);

/* The least number of repetitions on own cores over the workers. */
size_t carm_times_fewest_own(const struct carm_team *team);

/* After a run: finds the repetitions that all threads have done. Of a run that the deadline cut,
 * whole blocks count. When the first block is incomplete, its part counts, and run->blind is
 * set. Sets run->done and run->blind, and own and nprobes of the workers. */
void carm_times_end(struct carm_team *team, struct carm_times_run *run);

/* Duration of repetition r in ticks: last end minus first start; where the TSCs of the processors
 * are not in step, the longest of the threads' own times. */
double carm_times_ticks(const struct carm_team *team, size_t r);

/* Seconds of all repetitions together. */
double carm_times_total(const struct carm_team *team, const struct carm_times_run *run);

/* Core cycles for each tick during a block. */
double carm_times_ratio(const struct carm_worker *w, size_t block);

/* Describes a run after carm_times_end. Smooths the workers' ratios. When the team is separate and
 * every thread had its core for itself for some blocks, each thread's repetitions count by
 * themselves: begin and end of the workers then become duration (ticks) and block of these
 * repetitions. Otherwise team->counts marks the repetitions that count.
 * returns whether threads count by themselves */
bool carm_times_describe(struct carm_team *team, const struct carm_times_run *run,
                         struct carm_times *out);

/* Ticks of the kernel's clock that the hypervisor took from the team's processors since boot.
 * stat  /proc/stat; borrowed */
double carm_times_stolen(const struct carm_team *team, FILE *stat);
