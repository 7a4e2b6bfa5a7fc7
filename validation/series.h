/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A point that is measured in rounds. Each round runs a part of the repetitions and notes the
 * state of the machine. */
#pragma once

#include "harness/machine/measure.h"
#include "models/model.h"
#include "models/rounds.h"

struct carm_series {
    const struct carm_code *code;
    struct carm_shape shape;
    bool
        shared; /* the level is shared with other cores, so that the distance between threads matters, or the threads
                  * were found to share cores (carm_series_round) */
    bool known; /* the code of an earlier model: another code must be clearly better */
    /* least half interval, relative, for variation between builds that one build cannot see; 0 =
     * none */
    double floor;
    const double *clock_hz; /* from carm_rounds_wandering, for rates per cycle; NULL = one clock */
    double work;            /* bytes or flops of one repetition, all threads */
    struct carm_round rounds[CARM_ROUNDS_MAX];
    size_t n;
    uint64_t reps; /* repetitions that count */
    struct carm_spread
        spread; /* of the repetitions' rates: least, most, and the means of the rounds' p5, p95 */
    size_t spreads;    /* number of rounds in the sums */
    bool spread_sound; /* the sums are of sound rounds alone */
};

/* Chooses windows and passes, and empties the series; set_bytes and target: see carm_measure_shape. */
void carm_series_open(struct carm_series *s, struct carm_team *team, const struct carm_code *code,
                      uint64_t set_bytes, double target_seconds, bool shared);

/* Runs one round of `reps` repetitions on the team and notes it, with the machine's state. Drops the
 * worst of the older rounds when there are CARM_ROUNDS_MAX.
 * m  out: the measurement; NULL = not wanted
 * returns false when the deadline left no repetition: there is no round */
bool carm_series_round(struct carm_series *s, struct carm_team *team, size_t reps,
                       struct carm_measurement *m);

/* Pools a series' rounds into one figure; rate 0 without rounds.
 * clock  its quantum and error limit the resolution of a repetition */
void carm_series_estimate(const struct carm_series *s, const struct carm_clock *clock,
                          struct carm_pooled *out);

/* Appends the core clocks of the sound rounds to clocks[most], which has n. returns the new number */
size_t carm_series_clocks(const struct carm_series *s, double *clocks, size_t n, size_t most);

/* Runs `reps` repetitions in rounds, and further rounds, at most as many again, while the figure is doubtful.
 * more_seconds  left for further rounds, in and out
 * pooled        out: rate 0 where the team's deadline left no round */
void carm_series_run(struct carm_series *s, struct carm_team *team, const struct carm_clock *clock,
                     size_t reps, double *more_seconds, struct carm_pooled *pooled);

/* The speed of one series relative to another: the median ratio of sound rounds that ran
 * directly one after the other, which a drift of the machine does not change. 0 = fewer than
 * CARM_ROUNDS_MIN such rounds. */
double carm_series_ratio(const struct carm_series *s, const struct carm_series *other);

/* The number of rounds for `reps` repetitions, and the repetitions of each round. */
size_t carm_rounds_of(size_t reps, size_t *each);

/* Whether one figure does not describe the point: too few sound rounds, or an interval of more than 3%
 * (levels of one core) or 10% (shared levels) to each side.
 * note  out: the reason; "" = none
 * returns whether there is a reason */
bool carm_series_fault(const struct carm_series *s, const struct carm_pooled *pooled, char *note,
                       size_t size);

/* Whether a point needs more rounds: it is not sound, or half its interval exceeds the half
 * interval on a sound machine times slack. */
bool carm_series_is_doubtful(const struct carm_series *s, const struct carm_pooled *pooled,
                             double slack);
