/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A point's own roofs: the highest performance that its loads and stores, the widths of its
 * accesses and its operations allow.
 *
 * Memory: the time of a program is the sum over its parts. So the seconds for each byte are linear
 * in the share of the bytes that are stored, and in the accesses for each byte. Measured mixes are
 * interpolated in that way, and the fastest of all such compositions counts: the lower convex hull. Where ports bind,
 * the interpolation between neighbours is exact: time is then the largest of several sums that are linear in loads and
 * stores, and its kinks are at measured mixes (2:1, 1:1). The hull is taken over the mixes of each ISA, then
 * over the ISAs, whose accesses are as wide as their vectors.
 *
 * Compute: the lower of carm_runtime_find's ceilings for widths and for operations. The operations have the
 * rates of the widest vectors in use. Divisions and roots run beside the rest, at the rate of `div`.
 *
 * Operations on integers: all instructions take at least as long as the same number of the model's fastest kind.
 * Where they are on elements of one width, each kind takes at least as long as at its own roof.
 *
 * source: Treibig and Hager 2010 (the cycles of a loop are those of its loads and stores in L1 and of its
 * transfers of cache lines); Williams et al. 2009, appendix A.3 */
#pragma once

#include <stdbool.h>

#include "models/model.h"
#include "models/place/place.h"
#include "models/place/points.h"

struct carm_own_level {
    const char *level;
    double bandwidth; /* byte/s */
};

struct carm_own {
    bool has_memory, has_compute;
    double stores;       /* share of the point's bytes that are stored, 0 .. 1 */
    double access_bytes; /* mean; 0 = unknown, then as wide as the roofs' vectors */
    struct carm_own_level levels[CARM_TRAFFIC_MAX]; /* names borrowed from the model */
    size_t nlevels;
    double bandwidth; /* of the fastest level, byte/s */
    double peak;      /* flop/s */
    /* "3:1 loads to stores (between 1:0 and 2:1), 32 bytes an access"; not known: why */
    char memory[256];
    char compute[384]; /* shares of widths and operations; not known: why */
};

/* roofs  above the point; one of model's
 * flops  all of the point's, > 0, or its operations on integers; bytes: of its loads and stores,
 *        negative = not known */
void carm_own_find(const struct carm_model *model, const struct carm_roofs *roofs,
                   const struct carm_runmix *mix, double flops, double bytes, struct carm_own *out);

/* The own roof at a place. Unknown parts are taken from the machine's roof. */
struct carm_own_roof {
    double bandwidth, peak; /* byte/s as the roofline model counts bytes; flop/s */
    double roof;            /* flop/s at the place's intensity */
    double share;           /* performance / roof */
    double gain;            /* the machine's roof over the own roof; above 1: the factor that the
                             * point's own mix costs */
};

/* returns false where the point's mix determines neither slope nor peak of that roofline model */
bool carm_own_place(const struct carm_own *own, const struct carm_place_set *set,
                    enum carm_place_which which, const struct carm_place *place,
                    struct carm_own_roof *out);

/* One sentence: "at 82.0% of what its instructions allow, at 61.0% of the machine's roof; with these
 * instructions at most 1.2x is left; wider vectors, ... could give another 1.3x". returns dst */
char *carm_own_text(char *dst, size_t size, const struct carm_own_roof *roof,
                    const struct carm_place *place);
