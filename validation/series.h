/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A point that is measured in rounds: each runs a part of its repetitions and sees what state the
 * machine is in. */
#ifndef CARM_VALIDATION_SERIES_H
#define CARM_VALIDATION_SERIES_H

#include "harness/machine/measure.h"
#include "models/model.h"
#include "models/rounds.h"

struct carm_series {
    const struct carm_code *code;
    struct carm_shape shape;
    bool shared; /* with other cores: how far the threads are from one another matters */
    bool known;  /* of a model before: another code must be clearly better */
    /* half of the interval at least, as a share: what one build cannot see; 0 = nothing */
    double floor;
    double work; /* bytes or flops of one repetition, all threads */
    struct carm_round rounds[CARM_ROUNDS_MAX];
    size_t n;
    uint64_t reps; /* that count */
    struct carm_spread
        spread;        /* of their rates: least, most, and the means of the rounds' p5, p95 */
    size_t spreads;    /* rounds that it is made of */
    bool spread_sound; /* of sound rounds alone */
};

/* Chooses windows and passes, and empties the series; set_bytes and target as carm_measure_shape. */
void carm_series_open(struct carm_series *s, struct carm_team *team, const struct carm_code *code,
                      uint64_t set_bytes, double target_seconds, bool shared);

/* Runs one round of `reps` repetitions on the team and notes it, with the machine's state. Drops the
 * worst of the older rounds when there are CARM_ROUNDS_MAX.
 * m  out: the measurement; NULL = not wanted
 * returns false when the deadline left no repetition: there is no round */
bool carm_series_round(struct carm_series *s, struct carm_team *team, size_t reps,
                       struct carm_measurement *m);

/* One figure of its rounds; rate 0 when there are none.
 * clock  what resolves one repetition */
void carm_series_estimate(const struct carm_series *s, const struct carm_clock *clock,
                          struct carm_pooled *out);

/* By how much one series was faster than another in sound rounds that ran one right after the other: the median
 * of their ratios, which a drift of the machine does not touch. 0 = there were fewer than CARM_ROUNDS_MIN. */
double carm_series_ratio(const struct carm_series *s, const struct carm_series *other);

/* How many rounds `reps` repetitions come in, and how many repetitions each has. */
size_t carm_rounds_of(size_t reps, size_t *each);

/* Why one figure does not describe the point: too few sound rounds, or an interval of more than 3% (what a
 * core has for itself) or 10% (what is shared) to each side.
 * note  out: the reason, "" when there is none
 * returns whether there is one */
bool carm_series_fault(const struct carm_series *s, const struct carm_pooled *pooled, char *note,
                       size_t size);

/* Whether a point needs more rounds: it is not sound, or half its interval exceeds that of a sound machine.
 * slack  times of that which are tolerated */
bool carm_series_is_doubtful(const struct carm_series *s, const struct carm_pooled *pooled,
                             double slack);

#endif
