/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `carm sol` has found, as all of its outputs see it. */
#ifndef CARM_MODELS_SOL_VIEW_H
#define CARM_MODELS_SOL_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sol/estimate.h"

struct carm_sol_view {
    const char *name;                   /* of the graph, as its file has it */
    const struct carm_sol_graph *graph; /* NULL = an analysis was read */
    const struct carm_sol_analysis *analysis;
    const struct carm_sol_arch *arch;
    enum carm_sol_precision precision;
    bool as_implemented;
    const struct carm_sol_result *result;
    const char *isa; /* of a model's roofs, where they were asked for; else "" */
    int threads;     /* the same; 0 = not asked for */
    bool ascii;
};

/* 2 x macs + other; not exact beyond 2^53 */
double carm_sol_flops(const struct carm_sol_counts *counts);

/* The graph's estimate, with the storage on the chip where that is known. */
const struct carm_sol_estimate *carm_sol_view_graph(const struct carm_sol_view *view,
                                                    enum carm_sol_model model);

/* One operation's: the same. i < carm_sol_view_layers */
struct carm_sol_estimate carm_sol_view_layer(const struct carm_sol_view *view, uint32_t i,
                                             enum carm_sol_model model);

/* Layers that the view can show one by one, and whether one does or moves anything: starts and views
 * do not. */
uint32_t carm_sol_view_layers(const struct carm_sol_view *view);
bool carm_sol_view_works(const struct carm_sol_view *view, uint32_t i);
const char *carm_sol_view_layer_name(const struct carm_sol_view *view, uint32_t i);
const char *carm_sol_view_layer_type(const struct carm_sol_view *view,
                                     uint32_t i); /* "" = unknown */

/* How often faster b is than a; 1 where both take no time. */
double carm_sol_speedup(const struct carm_sol_estimate *a, const struct carm_sol_estimate *b);

/* "memory", "compute", "SRAM", ..., "nothing": what takes longest. */
const char *carm_sol_bound_word(const struct carm_sol_arch *arch,
                                const struct carm_sol_estimate *estimate);

/* The last level on the chip of known size, or NULL. */
const struct carm_sol_level *carm_sol_last_level(const struct carm_sol_arch *arch);

/* "25.3 us"; four digits. returns dst */
char *carm_sol_text_time(char *dst, size_t size, double seconds);

/* A number of cycles or operations: whole below ten million, else as "12.34 G". returns dst */
char *carm_sol_text_count(char *dst, size_t size, double count);

/* An intensity or a factor with three or four digits; "inf" where there is no end. returns dst */
char *carm_sol_text_ratio(char *dst, size_t size, double v);

/* "2.40", "15.3", "1.2e+04": a factor. returns dst */
char *carm_sol_text_factor(char *dst, size_t size, double v);

/* Bytes in binary units, none of them as "0". returns dst */
char *carm_sol_text_bytes(char *dst, size_t size, uint64_t bytes);

/* Clean, and cut to so many columns with a mark where it was. returns dst */
char *carm_sol_text_cut(char *dst, size_t size, const char *s, size_t columns, bool ascii);

#endif
