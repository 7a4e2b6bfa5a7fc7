/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The place of a view's elements in the tensor that it is a view of.
 *
 * The number of an element in the view (row-major) is written in a mixed radix, the factors' n,
 * the most significant digit first. The element is at offset + the sum of digit x stride. So a
 * reshape changes nothing; a transposition reorders the factors; a piece takes part of a
 * factor's digits; an expansion adds factors of stride 0. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { CARM_SOL_FACTORS_MAX = 16, CARM_SOL_RANK_MAX = 64 };

struct carm_sol_factor {
    uint64_t n, stride; /* n > 1; elements */
};

struct carm_sol_layout {
    uint64_t offset; /* elements */
    unsigned n;      /* factors; none = one element */
    struct carm_sol_factor f[CARM_SOL_FACTORS_MAX];
};

struct carm_sol_shape {
    const uint64_t *extents; /* [rank] > 0; borrowed */
    unsigned rank;           /* <= CARM_SOL_RANK_MAX */
};

/* `elements` consecutive elements from an offset on. */
struct carm_sol_layout carm_sol_layout_run(uint64_t offset, uint64_t elements);

/* All return false, with the layout unchanged, where the result has no such factors. shape: the
 * view's.
 * order  [rank] order[i] is the old dimension that becomes dimension i */
bool carm_sol_layout_permute(struct carm_sol_layout *layout, struct carm_sol_shape shape,
                             const unsigned *order);

/* Takes `count` elements of one dimension: from, from + step, ... with from + (count - 1) step < extent */
bool carm_sol_layout_cut(struct carm_sol_layout *layout, struct carm_sol_shape shape, unsigned dim,
                         uint64_t from, uint64_t count, uint64_t step);

/* Dimensions of 1 repeated to the extents of another shape, aligned at the last dimension. */
bool carm_sol_layout_expand(struct carm_sol_layout *layout, struct carm_sol_shape shape,
                            struct carm_sol_shape to);

/* The layout's set of elements, each once and ascending: strides fall, none is 0, and no factors
 * can be merged. */
struct carm_sol_layout carm_sol_layout_set(const struct carm_sol_layout *layout);

/* The number of different elements. */
uint64_t carm_sol_layout_size(const struct carm_sol_layout *layout);
