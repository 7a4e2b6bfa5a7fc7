/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The three estimates of the Solar guide, and estimates with finite storage on the chip.
 *
 * Intended (the guide's section on discrepancies; the default), c and m the cycles of compute and
 * memory of an operation:
 *   unfused            sum of max(c_i, m_i), every tensor through memory
 *   fused              sum of max(c_i, m_i), external tensors only
 *   fused+prefetched   max(sum of c_i, sum of m_i), external tensors only
 * As implemented: max(sum c, sum m) for all three.
 * c_i = max(macs / MAC_per_cycle, other / other_per_cycle). For the whole graph, both quotients are summed over the
 * operations before the larger sum is taken, as in the guide's formula.
 *
 * With finite storage: m_i has the spilled elements, too, and the levels on the chip limit as memory
 * does. The innermost level carries all that an operation moves; each further level its external elements (read once)
 * and the intermediates that missed in the level before; memory carries the intermediates that missed in the last
 * level. A miss in an outer level is a miss in all inner levels. A level without size keeps no tensor; a level without
 * bandwidth does not limit. fused takes the least recently used policy, fused+prefetched the better of both. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "models/sol/arch.h"
#include "models/sol/cache.h"
#include "models/sol/count.h"

enum carm_sol_model { CARM_SOL_UNFUSED, CARM_SOL_FUSED, CARM_SOL_PREFETCHED, CARM_SOL_MODELS };

/* "unfused", "fused", "fused_prefetched" */
const char *carm_sol_model_name(enum carm_sol_model model);

enum carm_sol_bound {
    CARM_SOL_BY_NOTHING,
    CARM_SOL_BY_COMPUTE,
    CARM_SOL_BY_MEMORY,
    CARM_SOL_BY_LEVEL
};

/* The estimate of a graph or of one operation. Cycles are not rounded. */
struct carm_sol_estimate {
    uint64_t elements, bytes; /* to and from memory, spilled ones included */
    uint64_t spilled_bytes;   /* of intermediates that found no room on the chip */
    double tc_cycles, sm_cycles, compute_cycles;
    double memory_cycles;
    double level_cycles; /* the slowest level on the chip, cache-aware only */
    int level;           /* which, index into arch.levels; -1 = none */
    double cycles, seconds;
    double intensity;     /* flops (2 x macs + other) per byte of memory; INFINITY without bytes,
                           * 0 without flops */
    double mac_intensity; /* macs per byte, the guide's formula */
    enum carm_sol_bound bound; /* the resource that takes longest; for a sum over operations, the
                                * resource that bounds most of its cycles. At the ridge point,
                                * compute. */
};

struct carm_sol_result {
    /* by the guide: unlimited storage on the chip */
    struct carm_sol_estimate models[CARM_SOL_MODELS];
    /* with the arch's levels: [UNFUSED] = models'; all 0 without has_cached */
    struct carm_sol_estimate cached[CARM_SOL_MODELS];
    bool has_cached;        /* the arch has a level of known size, and the graph was given */
    bool has_layers;        /* carm_sol_estimate_layer has something to say */
    uint32_t n;             /* layers */
    uint64_t peak_bytes;    /* most bytes of intermediates alive at once; 0 without has_cached */
    double ridge_point;     /* flop/byte: peak of the precision over DRAM */
    double mac_ridge_point; /* MAC/byte; 0 = the architecture has no rate of MACs */
    bool whole_graph;       /* as implemented, or totals only: no sums over operations */
    struct carm_sol_layers *layers; /* the inputs of the layers' estimates */
};

/* graph      NULL when the analysis was read: then the cached estimates are left out, and without
 *            layers all three are whole-graph ones (whole_graph is set)
 * returns 0; -CARM_EINVAL (the arch has no rate for what the graph needs at this precision: the
 * sentence names the key; bandwidth 0), -CARM_EFORMAT (bytes pass INT64_MAX), -CARM_ENOMEM */
int carm_sol_estimate(const struct carm_sol_graph *graph, const struct carm_sol_analysis *analysis,
                      const struct carm_sol_arch *arch, enum carm_sol_precision precision,
                      bool as_implemented, struct carm_sol_result *result, struct carm_err *err);

/* One layer's estimate: max(c_i, m_i), with cached also of the levels. Computed on request, so that
 * a million layers take little memory. The analysis must still exist.
 * layer  < result->n, with has_layers; cached needs has_cached */
void carm_sol_estimate_layer(const struct carm_sol_result *result, uint32_t layer,
                             enum carm_sol_model model, bool cached,
                             struct carm_sol_estimate *estimate);

void carm_sol_result_close(struct carm_sol_result *result); /* frees the members, not *result
                                                             * itself */

/* The result of `carm sol`, from which all of its outputs are made. */
struct carm_sol_view {
    const char *name;                   /* name of the graph in its file */
    const struct carm_sol_graph *graph; /* NULL = an analysis was read */
    const struct carm_sol_analysis *analysis;
    const struct carm_sol_arch *arch;
    enum carm_sol_precision precision;
    bool as_implemented;
    const struct carm_sol_result *result;
    const char *isa; /* of the model's roofs, if requested; else "" */
    int threads;     /* of the model's roofs; 0 = not requested */
    bool ascii;
};

/* 2 x macs + other; not exact beyond 2^53 */
double carm_sol_flops(const struct carm_sol_counts *counts);

/* The graph's estimate, with the storage on the chip if known. */
const struct carm_sol_estimate *carm_sol_view_graph(const struct carm_sol_view *view,
                                                    enum carm_sol_model model);

/* The estimate of operation i, likewise. i < carm_sol_view_layers */
struct carm_sol_estimate carm_sol_view_layer(const struct carm_sol_view *view, uint32_t i,
                                             enum carm_sol_model model);

/* The number of layers that the view can show one by one, and whether layer i computes or moves data: starts and views
 * do not. */
uint32_t carm_sol_view_layers(const struct carm_sol_view *view);
bool carm_sol_view_works(const struct carm_sol_view *view, uint32_t i);
const char *carm_sol_view_layer_name(const struct carm_sol_view *view, uint32_t i);
const char *carm_sol_view_layer_type(const struct carm_sol_view *view,
                                     uint32_t i); /* "" = unknown */

/* A remark about the file, from carm_sol_graph_remark; for an analysis, its corrected error. */
char *carm_sol_view_remark(const struct carm_sol_view *view, uint32_t i, char *dst, size_t size);

/* How many times as fast b is as a; 1 where both take no time. */
double carm_sol_speedup(const struct carm_sol_estimate *a, const struct carm_sol_estimate *b);

/* "memory", "compute", "SRAM", ..., "nothing": the resource that takes longest. */
const char *carm_sol_bound_word(const struct carm_sol_arch *arch,
                                const struct carm_sol_estimate *estimate);

/* The outermost level on the chip with a known size, or NULL. */
const struct carm_sol_level *carm_sol_last_level(const struct carm_sol_arch *arch);
