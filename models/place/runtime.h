/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The runtime-oriented roofline: ceilings at the height that a program's own instructions allow,
 * in place of ceilings for features of the architecture that are used fully or not at all.
 * source: Williams, Waterman, Patterson 2009, appendix A.3 */
#pragma once

#include <stdbool.h>

#include "models/model.h"
#include "models/place/place.h"
#include "models/place/points.h"

enum carm_runtime_kind {
    /* Flops in vectors of each width. A flop takes the time of its width at the width's best
     * rate: 1 / rate = sum(share of the flops in a width / rate of that width). An unmeasured
     * width gets the peak scaled by lanes, with at most two instructions a cycle. Without
     * vectors, this is the scalar ceiling; with all flops in the widest vectors, the peak. */
    CARM_RUNTIME_SIMD,
    /* Adds, multiplies and FMAs, as if all had vectors of the same width: pairs of a
     * multiply and an add run at the rate of `mad` if it was measured, all other operations at
     * their own rates, one after the other; adds run beside the rest if `mad` shows that adds
     * have units of their own. Divisions and roots count as adds, so the ceiling is not too low. */
    CARM_RUNTIME_BALANCE,
    /* Share of the instructions that compute flops (A.1.4). Between two measured shares the time of a
     * flop grows in proportion to the instructions for each computing one (harmonic interpolation);
     * below the last one the rate goes with the share. */
    CARM_RUNTIME_FP_SHARE,
    /* Software prefetches, present from one per hundred loads on. Without prefetches: the
     * bandwidth of a stream without prefetches. */
    CARM_RUNTIME_PREFETCH,
    CARM_RUNTIME_COUNT,
};

struct carm_runtime_ceiling {
    bool known;
    bool memory;         /* rate is byte/s of memory traffic, else flop/s */
    double rate;         /* not above the roof's */
    double architecture; /* rate without this ceiling: the peak, or the best stream of memory */
    double gain;         /* architecture / rate, >= 1 */
    double share;        /* the program's share: of flops in vectors, of flops in FMAs, of
                          * instructions, of prefetches to loads */
    char name[80];       /* "SIMD as run: 37% of flops in vectors" */
    char brief[48];      /* "SIMD share 37%" */
    const char *step;    /* the optimisation that breaks through it: "vectorise" */
    char how[200];       /* shares and the origin of the rates; not known: why */
};

struct carm_runtime {
    struct carm_runtime_ceiling ceilings[CARM_RUNTIME_COUNT];
};

/* "simd", "balance", "fp-share", "prefetch": for programs */
const char *carm_runtime_name(enum carm_runtime_kind kind);

/* The ceilings of one point. A ceiling that the mix does not determine is unknown, with the reason.
 * roofs  above the point; one of model's
 * flops  all of the point's, > 0 */
void carm_runtime_find(const struct carm_model *model, const struct carm_roofs *roofs,
                       const struct carm_runmix *mix, double flops, struct carm_runtime *out);

/* The largest gain of breaking through a ceiling at a place: the roof, or the next lower bound,
 * divided by the larger of the ceiling and the point's performance; 1 = no gain. Memory ceilings
 * count only on the original model. */
double carm_runtime_times(const struct carm_runtime_ceiling *ceiling, enum carm_place_which which,
                          const struct carm_place *place);

/* Adds the ceiling that costs most to place->advice where it costs a tenth or more and the point is not
 * above the roof: "SIMD share 12%: vectorise: at most 5.2x". Its text comes first where it is lower than the next
 * ceiling above the point. */
void carm_runtime_advise(const struct carm_runtime *runtime, enum carm_place_which which,
                         struct carm_place *place);

/* The factor by which narrower widths may exceed the rate that their lanes give: 2 where the roofs' own width starts
 * one instruction a cycle, as on Zen 4, which splits 64 bytes in two, or on cores whose one unit of 64 bytes replaces
 * two of 32. All x86 cores with 32 bytes or more start two narrower ones. */
double carm_runtime_narrow_pipes(const struct carm_roofs *roofs, unsigned lanes);

/* Whether a program multiplies as often as it adds by nature, so that balance is no optimisation:
 * 40 to 60% multiplies, where an FMA is one multiply and one add.
 * returns false also where the mix is unknown */
bool carm_runmix_is_balanced(const struct carm_runmix *mix);
