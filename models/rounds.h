/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rounds: the repetitions of a point come in rounds that are spread over a run, each with the
 * state of the machine by probes before and after it. The rounds make one figure, with an
 * interval that covers another run. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/number.h"

/* State of the machine during a round; best first. Of several marks, the last one counts. */
enum carm_state {
    CARM_STATE_QUIET,    /* every thread had its core for itself */
    CARM_STATE_APART,    /* the same, with threads farther from one another than in other rounds */
    CARM_STATE_SLOW,     /* the core clock was lower than in other rounds */
    CARM_STATE_UNSTEADY, /* the core clock changed within the round */
    CARM_STATE_UNEVEN, /* repetitions took far longer than the median, for no reason that was seen */
    CARM_STATE_HELD_UP,  /* threads were preempted */
    CARM_STATE_STOLEN,   /* the hypervisor took their time */
    CARM_STATE_MIGRATED, /* threads moved to another CPU */
    CARM_STATE_SHARED,   /* something else ran on the other hardware thread of a core */
    CARM_STATE_ONE_CORE, /* two threads of the set shared a core */
    CARM_STATE_CUT,      /* the time was over before there were enough repetitions to say more */
    CARM_STATE_UNTIMED,  /* the time of the empty code could not be subtracted */
    CARM_STATE_TOO_FAST, /* faster than any core: the clock was misread; never a roof */
    CARM_STATE_COUNT,
};

/* In words, for files and tables: "quiet", "threads on one core", ... */
const char *carm_state_name(enum carm_state state);

/* The remedy for rounds of a state, a clause; "" = none. */
const char *carm_state_advice(enum carm_state state);

/* Whether roofs can be made of rounds in that state without a mark: nothing slowed the threads. */
bool carm_state_is_sound(enum carm_state state);

struct carm_round {
    double rate;     /* byte/s or flop/s of all threads: the median of its repetitions */
    double clock_hz; /* beside it; 0 = unknown */
    double at;       /* Unix time, seconds */
    enum carm_state state;
};

enum {
    CARM_ROUNDS_MAX = 96, /* rounds that are kept for one point; a figure uses at most this many */
    CARM_ROUNDS_MIN = 3,  /* rounds of one state that make a figure */
    CARM_ROUNDS_RUNS = 3, /* runs from which on the interval is from their medians */
};

struct carm_pooled {
    double rate;           /* the median of its rounds */
    struct carm_ci ci95;   /* of a run like this one: see carm_rounds_estimate */
    struct carm_ci range;  /* least and most of its rounds */
    double clock_hz;       /* median clock of the rounds; 0 = unknown */
    enum carm_state state; /* of its rounds; the worst one where they are of several */
    size_t runs;           /* that its rounds are of: builds, 10 minutes or more apart */
    size_t used, n;        /* rounds it was made of, and all */
    /* the state is sound, with CARM_ROUNDS_MIN rounds, or two that agree */
    bool sound;
};

/* Makes one figure of rounds. Marks those as slow, in place, whose clock was 3% below the one that
 * CARM_ROUNDS_MIN sound rounds reached.
 *
 * The best sound state with CARM_ROUNDS_MIN rounds counts; of quiet and apart the faster one. Where
 * there is none, the fastest state that has so many, but not CARM_STATE_TOO_FAST; else all rounds. Of
 * more than CARM_ROUNDS_MAX rounds of that state the latest count.
 *
 * Disturbances that no probe saw make rounds slower, never faster. So where the rates fall into two
 * clear modes, the slower one is left out. Clear means a gap of 2%, and an upper mode of
 * CARM_ROUNDS_MIN rounds or more: 99.9% of rounds with its mean and scatter would be above all
 * others. Noise with one mode moves the figure by less than a tenth of its standard deviation. Then rounds
 * that lie far below the 90th percentile are left out: 3% where a core has the resource for itself, for its
 * own rates repeat within 1%; 16% in shared caches and memory, where the others' traffic comes in all sizes.
 *
 * What a core has for itself can only be slowed. So where the figure above is not sound, or its interval is wider
 * than 1% to each side, or two sound rounds that agree within 0.5% are more than 1% faster, the fastest rounds
 * that agree make the figure: it is sound, and its interval is 1% to each side, or the floor where that is more. Where
 * no two sound rounds agree, as beside a busy process while carm runs with nice, three fastest rounds that others
 * interrupted (held up, stolen) count as well if they agree: their rates are medians of repetitions between
 * interruptions. Threads that share a core do not count so, for this slows every repetition alike.
 *
 * The interval is made from batch means: rounds in order of time are cut into four batches of
 * neighbours (each run is a batch where there are three runs or more). The scatter of the batches'
 * medians, with Student's t for so few, is that of a figure like this one from another run of the
 * same length. Rounds within a batch may depend on one another. A bootstrap of fewer than ten
 * blocks is known to be too narrow. With one or two runs, rates that drift widen the interval, at
 * most six times: by half as much again as their variance exceeds that of neighbours (von Neumann's
 * ratio). So it covers drifts as long as a run.
 *
 * One run cannot show a drift that takes several times as long: its interval is then too narrow.
 * Runs on two days or more show it. One or two rounds give an interval that says little: they are
 * not sound.
 * source: Law, Kelton, Simulation Modeling and Analysis, "batch means"; von Neumann 1941,
 *         "Distribution of the ratio of the mean square successive difference to the variance"
 * n      1 .. ; rounds in any order, sorted by time here
 * shared  whether other cores use the resource, too
 * floor   relative: what one reading of the clock can resolve; the interval is at least that wide
 * out    untouched when n is 0 */
void carm_rounds_estimate(struct carm_round *rounds, size_t n, bool shared, double floor,
                          struct carm_pooled *out);

/* The median of the clocks where they wander: more than 3% from the 10th to the 90th percentile. A host whose sockets run at
 * their limit of power gives a core another clock every second (2.3 to 2.9 GHz, guest on Emerald Rapids, 2026-11-26).
 * clocks  [n] hertz, of sound rounds of one number of threads; sorted in place
 * returns hertz; 0 = they do not wander, or there are fewer than 8 */
double carm_rounds_wandering(double *clocks, size_t n);

/* A round's rate at another clock: that of a shared resource, or of a round without a clock, stays as it is.
 * clock_hz  0 = at its own */
double carm_round_rate_at(const struct carm_round *round, bool shared, double clock_hz);

/* carm_rounds_estimate on such a machine: rates of what a core has for itself are taken per cycle, times clock_hz,
 * and no round is slow for its clock, nor a round of a shared resource unsteady. Rounds agree within 1%, since a clock that moves is read that well.
 * clock_hz  of carm_rounds_wandering; 0 = as carm_rounds_estimate */
void carm_rounds_estimate_at(struct carm_round *rounds, size_t n, bool shared, double floor,
                             double clock_hz, struct carm_pooled *out);
