/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arithmetic on ladders of ceilings: what lies next to a point, and what is in reach. */
#include "models/ladder.h"

#include <math.h>
#include <stdlib.h>

static const struct carm_rung *last_of_chain(const struct carm_rung *rungs, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        if (!rungs[i].aside) {
            return &rungs[i];
        }
    }
    return NULL;
}

const struct carm_rung *carm_ladder_slope(const struct carm_ladder *ladder)
{
    return last_of_chain(ladder->memory, ladder->nmemory);
}

const struct carm_rung *carm_ladder_peak(const struct carm_ladder *ladder)
{
    return last_of_chain(ladder->compute, ladder->ncompute);
}

double carm_ladder_ridge(const struct carm_ladder *ladder)
{
    const struct carm_rung *slope = carm_ladder_slope(ladder);
    const struct carm_rung *peak = carm_ladder_peak(ladder);
    return slope && peak ? peak->rate / slope->rate : 0;
}

const char *carm_region_name(enum carm_region region)
{
    switch (region) {
    case CARM_REGION_MEMORY:
        return "memory";
    case CARM_REGION_BOTH:
        return "memory and compute";
    case CARM_REGION_COMPUTE:
        return "compute";
    }
    return "unknown";
}

/* The roof above an intensity; INFINITY where the ladder has no rung. */
static double roof_at(const struct carm_ladder *l, double intensity)
{
    const struct carm_rung *slope = carm_ladder_slope(l);
    const struct carm_rung *peak = carm_ladder_peak(l);
    return fmin(slope ? slope->rate * intensity : INFINITY, peak ? peak->rate : INFINITY);
}

/* Takes the rungs of one side into the sandwich. Of two at the same height the later one stands: it
 * is the one that more has to be done for. Rungs above the roof bind nothing at this intensity. */
static void squeeze(const struct carm_ladder *l, bool compute, double intensity, double performance,
                    bool with_aside, struct carm_sandwich_side *upper,
                    struct carm_sandwich_side *lower)
{
    const struct carm_rung *rungs = compute ? l->compute : l->memory;
    const size_t n = compute ? l->ncompute : l->nmemory;
    const double roof = roof_at(l, intensity);
    for (size_t i = 0; i < n; i++) {
        const double at = compute ? rungs[i].rate : rungs[i].rate * intensity;
        if (at > roof || (rungs[i].aside && !with_aside)) {
            continue;
        }
        const struct carm_sandwich_side side = {true, compute, i, at};
        if (at >= performance && (!upper->known || at <= upper->at)) {
            *upper = side;
        } else if (at < performance && (!lower->known || at >= lower->at)) {
            *lower = side;
        }
    }
}

int carm_ladder_sandwich(const struct carm_ladder *ladder, double intensity, double performance,
                         bool with_aside, struct carm_sandwich_side *upper,
                         struct carm_sandwich_side *lower, struct carm_err *err)
{
    *upper = *lower = (struct carm_sandwich_side){false, false, 0, 0};
    if (!isfinite(intensity) || intensity <= 0) {
        return carm_fail(err, CARM_EINVAL,
                         "the operational intensity is %g; it has to be a positive number of "
                         "operations per byte",
                         intensity);
    }
    if (!isfinite(performance) || performance <= 0) {
        return carm_fail(err, CARM_EINVAL,
                         "the performance is %g; it has to be a positive number of operations per "
                         "second",
                         performance);
    }
    squeeze(ladder, false, intensity, performance, with_aside, upper, lower);
    squeeze(ladder, true, intensity, performance, with_aside, upper, lower);
    return 0;
}

/* Adds what one side has in reach at an intensity.
 * performance  0 = not known
 * inreach      out: whether any of its rungs lies below the roof, broken or not
 * returns how many were added */
static size_t add_gains(const struct carm_ladder *l, bool compute, double intensity,
                        double performance, bool *inreach, struct carm_gain *gains)
{
    const struct carm_rung *rungs = compute ? l->compute : l->memory;
    const size_t n = compute ? l->ncompute : l->nmemory;
    const double roof = roof_at(l, intensity), scale = compute ? 1 : intensity;
    size_t filled = 0, below = CARM_RUNGS_MAX; /* the rung before, none yet */
    *inreach = false;
    for (size_t i = 0; i < n; i++) {
        if (rungs[i].aside) {
            continue;
        }
        if (below < CARM_RUNGS_MAX) {
            const double from = rungs[below].rate * scale, to = fmin(rungs[i].rate * scale, roof);
            const double times = to / fmax(from, performance);
            *inreach = *inreach || from < roof;
            if (times > 1) {
                gains[filled++] = (struct carm_gain){compute, below, from, to, times};
            }
        }
        below = i;
    }
    return filled;
}

/* From the bottom up; where two stand at one height, memory first, as the paper lists it. */
static int by_height(const void *a, const void *b)
{
    const struct carm_gain *x = a, *y = b;
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    return (int)x->compute - (int)y->compute;
}

size_t carm_ladder_gains(const struct carm_ladder *ladder, double intensity, double performance,
                         enum carm_region *region, struct carm_gain *gains)
{
    *region = CARM_REGION_MEMORY;
    if (!isfinite(intensity) || intensity <= 0) {
        return 0;
    }
    const double known = isfinite(performance) && performance > 0 ? performance : 0;
    bool memory, compute;
    size_t n = add_gains(ladder, false, intensity, known, &memory, gains);
    n += add_gains(ladder, true, intensity, known, &compute, gains + n);
    if (memory && compute) {
        *region = CARM_REGION_BOTH;
    } else if (compute || (!memory && intensity >= carm_ladder_ridge(ladder))) {
        *region = CARM_REGION_COMPUTE; /* without any rung in reach, the ridge point decides */
    }
    qsort(gains, n, sizeof *gains, by_height);
    return n;
}
