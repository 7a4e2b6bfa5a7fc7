/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rounds: the repetitions of a point come in rounds that are spread over a run, each with the
 * machine's state from probes before and after it. The rounds make one figure, with an interval for
 * the figure of another run. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/number.h"

/* State of the machine during a round; best first. Of several states that apply, the last in this
 * list counts. */
enum carm_state {
    CARM_STATE_QUIET,    /* every thread had its core for itself */
    CARM_STATE_APART,    /* quiet, with threads farther from one another than in other rounds */
    CARM_STATE_SLOW,     /* the core clock was lower than in other rounds */
    CARM_STATE_UNSTEADY, /* the core clock changed within the round */
    CARM_STATE_UNEVEN,   /* repetitions took far longer than the median, without a known reason */
    CARM_STATE_HELD_UP,  /* threads were preempted */
    CARM_STATE_STOLEN,   /* the hypervisor took their time */
    CARM_STATE_MIGRATED, /* threads moved to another CPU */
    CARM_STATE_SHARED,   /* something else ran on the other hardware thread of a core */
    CARM_STATE_ONE_CORE, /* two threads of the set shared a core */
    CARM_STATE_CUT,      /* the time ended before there were enough repetitions for another state */
    CARM_STATE_UNTIMED,  /* the time of the empty code could not be subtracted */
    CARM_STATE_TOO_FAST, /* faster than any core: the clock was misread; never a roof */
    CARM_STATE_COUNT,
};

/* In words, for files and tables: "quiet", "threads on one core", ... */
const char *carm_state_name(enum carm_state state);

/* The remedy for rounds of a state, a clause; "" = none. */
const char *carm_state_advice(enum carm_state state);

/* Whether roofs from rounds in this state are undisturbed: nothing slowed the threads. */
bool carm_state_is_sound(enum carm_state state);

struct carm_round {
    double rate;     /* byte/s or flop/s of all threads: the median of its repetitions */
    double clock_hz; /* core clock during the round; 0 = unknown */
    double at;       /* Unix time, seconds */
    enum carm_state state;
};

enum {
    CARM_ROUNDS_MAX = 96, /* rounds kept for one point, and used for one figure, at most */
    CARM_ROUNDS_MIN = 3,  /* fewest rounds of one state for a figure */
    CARM_ROUNDS_RUNS = 3, /* fewest runs for an interval from the runs' medians */
};

struct carm_pooled {
    double rate;           /* the median of its rounds */
    struct carm_ci ci95;   /* of a run like this one: see carm_rounds_estimate */
    struct carm_ci range;  /* least and most of its rounds */
    double clock_hz;       /* median clock of the rounds; 0 = unknown */
    enum carm_state state; /* of its rounds; of several states the worst */
    size_t runs;           /* runs of its rounds: builds 10 minutes or more apart */
    size_t used, n;        /* rounds behind the figure; all rounds */
    /* whether the state is sound and has CARM_ROUNDS_MIN rounds, or two that agree */
    bool sound;
};

/* Makes one figure from rounds. Marks rounds as slow, in place, whose clock was 3% below the clock that CARM_ROUNDS_MIN
 * sound rounds reached.
 *
 * The best sound state with CARM_ROUNDS_MIN rounds counts; of quiet and apart the faster one. Without such a state, the
 * fastest state with CARM_ROUNDS_MIN rounds counts, except CARM_STATE_TOO_FAST; else all rounds. Of more than
 * CARM_ROUNDS_MAX rounds of that state the latest count.
 *
 * Disturbances that no probe saw make rounds slower, never faster. So where the rates fall into two
 * clear modes, the slower one is left out. Clear means a gap of 2%, and an upper mode of
 * CARM_ROUNDS_MIN rounds or more: 99.9% of rounds with its mean and scatter would be above all
 * others. Noise with one mode moves the figure by less than a tenth of its standard deviation. Then rounds
 * that lie far below the 90th percentile are left out: 3% where a core has the resource for itself, as such rates
 * repeat within 1%; 16% in shared caches and memory, where other cores' traffic has any size.
 *
 * The rate of a core's own resource can only be slowed. So where the figure above is not sound, or its interval is
 * wider than 1% to each side, or two sound rounds that agree within 0.5% are more than 1% faster, the fastest rounds
 * that agree make the figure: it is sound, and its interval is 1% to each side, or the floor where that is more. Where
 * no two sound rounds agree, as beside a busy process while carm runs with nice, three fastest rounds that others
 * interrupted (held up, stolen) count as well if they agree: their rates are medians of repetitions between
 * interruptions. Threads that share a core do not count so, for this slows every repetition alike.
 *
 * The interval is made from batch means: rounds in order of time are cut into four batches of
 * neighbours (each run is a batch where there are three runs or more). The scatter of the batches'
 * medians, with Student's t for so few, estimates the scatter of this figure between runs of the same length. Rounds
 * within a batch may depend on one another. A bootstrap of fewer than ten blocks would give a too narrow interval. With
 * one or two runs, rates that drift widen the interval, at most six times: by half as much again as their variance
 * exceeds that of neighbours (von Neumann's ratio). So the interval covers drifts as long as a run.
 *
 * One run cannot show a drift that takes several times as long: its interval is then too narrow.
 * Runs on two days or more show it. The interval of one or two rounds is not reliable: they are not sound.
 * source: Law, Kelton, Simulation Modeling and Analysis, "batch means"; von Neumann 1941,
 *         "Distribution of the ratio of the mean square successive difference to the variance"
 * n      1 .. ; rounds in any order, sorted by time here
 * shared  whether other cores use the resource, too
 * floor   relative: resolution of one reading of the clock, as a share of the rate; the interval is at least that wide
 * out    untouched when n is 0 */
void carm_rounds_estimate(struct carm_round *rounds, size_t n, bool shared, double floor,
                          struct carm_pooled *out);

/* The median core clock where the clock wanders: more than 3% from the 10th to the 90th percentile. A host whose
 * sockets run at their limit of power gives a core another clock every second (2.3 to 2.9 GHz, guest on Emerald Rapids,
 * 2026-11-26).
 * clocks  [n] hertz, of sound rounds of one number of threads; sorted in place
 * returns hertz; 0 = the clock does not wander, or there are fewer than 8 clocks */
double carm_rounds_wandering(double *clocks, size_t n);

/* A round's rate scaled to another clock. Rates of a shared resource, and of rounds without a clock, are not scaled.
 * clock_hz  0 = at the round's own clock */
double carm_round_rate_at(const struct carm_round *round, bool shared, double clock_hz);

/* carm_rounds_estimate for a machine whose clock wanders. Rates of a core's own resources are scaled to clock_hz. No
 * round counts as slow for its clock, and no round of a shared resource as unsteady. Rounds agree when they are within
 * 1%, as a moving clock cannot be read better.
 * clock_hz  from carm_rounds_wandering; 0 = as carm_rounds_estimate */
void carm_rounds_estimate_at(struct carm_round *rounds, size_t n, bool shared, double floor,
                             double clock_hz, struct carm_pooled *out);
