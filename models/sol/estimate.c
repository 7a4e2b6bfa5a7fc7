/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/estimate.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/sol/estimate_layers.h"
#include "models/sol/moves.h"

/* What one roofline is made from: of a layer or of the graph. */
struct load {
    uint64_t macs, other;
    uint64_t elements, spilled; /* elements: with the spilled ones */
    double level_cycles;
    int level;
};

const char *carm_sol_model_name(enum carm_sol_model model)
{
    static const char *const names[CARM_SOL_MODELS] = {"unfused", "fused", "fused_prefetched"};
    assert(model < CARM_SOL_MODELS);
    return names[model];
}

static enum carm_sol_bound largest(double compute, double memory, double level)
{
    if (compute <= 0.0 && memory <= 0.0 && level <= 0.0) {
        return CARM_SOL_BY_NOTHING;
    }
    if (compute >= memory && compute >= level) {
        return CARM_SOL_BY_COMPUTE;
    }
    return memory >= level ? CARM_SOL_BY_MEMORY : CARM_SOL_BY_LEVEL;
}

static double per(uint64_t amount, double rate)
{
    return amount > 0 ? (double)amount / rate : 0.0;
}

static double ratio(double work, uint64_t bytes)
{
    if (work <= 0.0) {
        return 0.0;
    }
    return bytes > 0 ? work / (double)bytes : INFINITY;
}

static void set_cycles(const struct carm_sol_layers *layers, struct carm_sol_estimate *e,
                       double cycles)
{
    e->cycles = cycles;
    e->seconds = cycles / (layers->arch.freq_ghz * 1e9);
}

static void roof(const struct carm_sol_layers *layers, const struct load *load,
                 struct carm_sol_estimate *e)
{
    const struct carm_sol_arch *arch = &layers->arch;
    const double flops = 2.0 * (double)load->macs + (double)load->other;
    *e = (struct carm_sol_estimate){.elements = load->elements, .level = load->level};
    /* that they fit was checked for all of the graph, unfused */
    (void)carm_sol_bytes(load->elements, layers->precision, &e->bytes);
    (void)carm_sol_bytes(load->spilled, layers->precision, &e->spilled_bytes);
    e->tc_cycles = per(load->macs, arch->mac_per_cycle[layers->precision]);
    e->sm_cycles = per(load->other, arch->other_per_cycle[layers->precision]);
    e->compute_cycles = fmax(e->tc_cycles, e->sm_cycles);
    e->memory_cycles = per(e->bytes, arch->dram_byte_per_cycle);
    e->level_cycles = load->level_cycles;
    set_cycles(layers, e, fmax(fmax(e->compute_cycles, e->memory_cycles), e->level_cycles));
    e->intensity = ratio(flops, e->bytes);
    e->mac_intensity = ratio((double)load->macs, e->bytes);
    e->bound = largest(e->compute_cycles, e->memory_cycles, e->level_cycles);
}

/* missed: NULL = storage without end */
static void roof_layer(const struct carm_sol_layers *layers, uint32_t i, enum carm_sol_model model,
                       const struct carm_sol_missed *missed, struct carm_sol_estimate *e)
{
    const struct carm_sol_counts *c = &layers->analysis->layers[i];
    struct load load = {.macs = c->macs, .other = c->other, .level = -1};
    load.elements = model == CARM_SOL_UNFUSED ? c->unfused : c->external;
    if (missed && model != CARM_SOL_UNFUSED) {
        load.spilled = missed->spilled[i];
        load.elements += load.spilled;
        load.level_cycles = missed->level_cycles[i];
        load.level = missed->level[i];
    }
    roof(layers, &load, e);
}

static void roof_graph(const struct carm_sol_layers *layers, enum carm_sol_model model,
                       const struct carm_sol_missed *missed, struct carm_sol_estimate *e)
{
    const struct carm_sol_analysis *a = layers->analysis;
    struct load load = {.macs = a->total.macs, .other = a->total.other, .level = -1};
    load.elements = model == CARM_SOL_UNFUSED ? a->total.unfused
                    : model == CARM_SOL_FUSED ? a->total.external
                                              : a->prefetched;
    if (missed && model != CARM_SOL_UNFUSED) {
        load.spilled = missed->total;
        load.elements += load.spilled;
        for (size_t k = 0; k < layers->arch.nlevels; k++) {
            const double cycles = carm_sol_level_cycles(layers, k, missed->carried[k]);
            if (cycles > load.level_cycles) {
                load.level_cycles = cycles;
                load.level = (int)k;
            }
        }
    }
    roof(layers, &load, e);
}

/* Sums over the operations, in one order for all models: so termwise less is less in sum, too. */
static void sum_layers(const struct carm_sol_layers *layers, enum carm_sol_model model,
                       const struct carm_sol_missed *missed, struct carm_sol_estimate *e)
{
    double cycles = 0.0;
    double compute = 0.0;
    double level = 0.0;
    double bound[CARM_SOL_BY_LEVEL + 1] = {0};
    double by_level[CARM_SOL_LEVELS_MAX] = {0};
    roof_graph(layers, model, missed, e);
    for (uint32_t i = 0; i < layers->analysis->n; i++) {
        struct carm_sol_estimate one;
        roof_layer(layers, i, model, missed, &one);
        cycles += one.cycles;
        compute += one.compute_cycles;
        level += one.level_cycles;
        bound[one.bound] += one.cycles;
        if (one.level >= 0) {
            by_level[one.level] += one.level_cycles;
        }
    }
    e->level = -1;
    double most = 0.0;
    for (int k = 0; k < (int)layers->arch.nlevels; k++) {
        if (by_level[k] > most) {
            most = by_level[k];
            e->level = k;
        }
    }
    e->compute_cycles = fmax(compute, e->compute_cycles);
    e->level_cycles = level;
    e->bound =
        largest(bound[CARM_SOL_BY_COMPUTE], bound[CARM_SOL_BY_MEMORY], bound[CARM_SOL_BY_LEVEL]);
    /* no less than the whole graph's: rounding alone could make it so */
    set_cycles(layers, e, fmax(cycles, e->cycles));
}

static bool usable(double rate)
{
    return isfinite(rate) && rate > 0.0;
}

/* "fp16, int8"; returns dst */
static const char *precisions_of(const struct carm_sol_arch *arch, char *dst, size_t size)
{
    size_t used = 0;
    (void)snprintf(dst, size, "none");
    for (int p = 0; p < CARM_SOL_PRECISIONS && used < size; p++) {
        if (usable(arch->mac_per_cycle[p])) {
            used += (size_t)snprintf(dst + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     carm_sol_precision_name((enum carm_sol_precision)p));
        }
    }
    return dst;
}

static int refuse_macs(const struct carm_sol_arch *arch, enum carm_sol_precision precision,
                       uint64_t macs, struct carm_err *err)
{
    char has[128];
    return carm_fail(err, CARM_EINVAL,
                     "%.60s has no %s, and the graph has %llu multiply-accumulates: %s, or take a "
                     "precision that it has (%s)",
                     arch->name, carm_sol_arch_mac_key(precision), (unsigned long long)macs,
                     arch->measured ? "measure it (carm build --ops fma)" : "set it",
                     precisions_of(arch, has, sizeof has));
}

static int refuse_other(const struct carm_sol_arch *arch, enum carm_sol_precision precision,
                        uint64_t other, struct carm_err *err)
{
    return carm_fail(err, CARM_EINVAL,
                     "%.60s has no rate of other operations at %s, and the graph has %llu: %s, or "
                     "take another precision",
                     arch->name, carm_sol_precision_name(precision), (unsigned long long)other,
                     arch->measured ? "measure it (carm build --ops add,mul)"
                                    : "set MAC_per_cycle_fp32_sm");
}

static int check(const struct carm_sol_layers *layers, struct carm_err *err)
{
    const struct carm_sol_arch *arch = &layers->arch;
    const struct carm_sol_counts *total = &layers->analysis->total;
    uint64_t bytes = 0;
    if (!usable(arch->freq_ghz) || !usable(arch->dram_byte_per_cycle)) {
        return carm_fail(err, CARM_EINVAL,
                         "%.60s: %s is %g, where an estimate needs a value above zero: set it",
                         arch->name, usable(arch->freq_ghz) ? "DRAM_byte_per_cycle" : "freq_GHz",
                         usable(arch->freq_ghz) ? arch->dram_byte_per_cycle : arch->freq_ghz);
    }
    if (total->macs > 0 && !usable(arch->mac_per_cycle[layers->precision])) {
        return refuse_macs(arch, layers->precision, total->macs, err);
    }
    if (total->other > 0 && !usable(arch->other_per_cycle[layers->precision])) {
        return refuse_other(arch, layers->precision, total->other, err);
    }
    if (carm_sol_bytes(total->unfused, layers->precision, &bytes)) {
        return carm_fail(
            err, CARM_EFORMAT, "%llu elements have more than 2^63-1 bytes at %s: check the shapes",
            (unsigned long long)total->unfused, carm_sol_precision_name(layers->precision));
    }
    return 0;
}

static void set_ridge(const struct carm_sol_layers *layers, struct carm_sol_result *result)
{
    const double mac = layers->arch.mac_per_cycle[layers->precision];
    const double other = layers->arch.other_per_cycle[layers->precision];
    const double flop = usable(mac) ? 2.0 * mac : other;
    result->ridge_point = usable(flop) ? flop / layers->arch.dram_byte_per_cycle : 0.0;
    result->mac_ridge_point = usable(mac) ? mac / layers->arch.dram_byte_per_cycle : 0.0;
}

static void estimate_models(const struct carm_sol_layers *layers, struct carm_sol_result *result)
{
    for (int m = 0; m < CARM_SOL_MODELS; m++) {
        const enum carm_sol_model model = (enum carm_sol_model)m;
        if (result->whole_graph || model == CARM_SOL_PREFETCHED) {
            roof_graph(layers, model, NULL, &result->models[m]);
        } else {
            sum_layers(layers, model, NULL, &result->models[m]);
        }
    }
}

static void estimate_cached(struct carm_sol_layers *layers, struct carm_sol_result *result)
{
    const struct carm_sol_missed *lru = &layers->missed[CARM_SOL_LRU];
    const struct carm_sol_missed *farthest = &layers->missed[CARM_SOL_FARTHEST];
    struct carm_sol_estimate *cached = result->cached;
    struct carm_sol_estimate other;
    cached[CARM_SOL_UNFUSED] = result->models[CARM_SOL_UNFUSED];
    if (result->whole_graph) {
        roof_graph(layers, CARM_SOL_FUSED, lru, &cached[CARM_SOL_FUSED]);
    } else {
        sum_layers(layers, CARM_SOL_FUSED, lru, &cached[CARM_SOL_FUSED]);
    }
    roof_graph(layers, CARM_SOL_PREFETCHED, lru, &other);
    roof_graph(layers, CARM_SOL_PREFETCHED, farthest, &cached[CARM_SOL_PREFETCHED]);
    layers->policies[CARM_SOL_PREFETCHED] = CARM_SOL_FARTHEST;
    if (other.cycles < cached[CARM_SOL_PREFETCHED].cycles ||
        (other.cycles <= cached[CARM_SOL_PREFETCHED].cycles && lru->total < farthest->total)) {
        cached[CARM_SOL_PREFETCHED] = other;
        layers->policies[CARM_SOL_PREFETCHED] = CARM_SOL_LRU;
    }
}

static bool sized(const struct carm_sol_arch *arch)
{
    for (size_t k = 0; k < arch->nlevels; k++) {
        if (arch->levels[k].capacity > 0) {
            return true;
        }
    }
    return false;
}

int carm_sol_estimate(const struct carm_sol_graph *graph, const struct carm_sol_analysis *analysis,
                      const struct carm_sol_arch *arch, enum carm_sol_precision precision,
                      bool as_implemented, struct carm_sol_result *result, struct carm_err *err)
{
    *result = (struct carm_sol_result){.n = analysis->n};
    struct carm_sol_layers *layers = calloc(1, sizeof *layers);
    if (!layers) {
        return carm_fail(err, CARM_ENOMEM, "out of memory for an estimate");
    }
    layers->analysis = analysis;
    layers->arch = *arch;
    layers->precision = precision;
    result->layers = layers;
    result->has_layers = analysis->layers != NULL;
    result->whole_graph = as_implemented || !analysis->layers;
    int rc = check(layers, err);
    if (rc == 0) {
        set_ridge(layers, result);
        estimate_models(layers, result);
    }
    if (rc == 0 && graph && analysis->layers && sized(arch)) {
        rc = carm_sol_levels_fill(graph, layers, &result->peak_bytes, err);
        if (rc == 0) {
            result->has_cached = true;
            estimate_cached(layers, result);
        }
    }
    if (rc) {
        carm_sol_result_close(result);
    }
    return rc;
}

void carm_sol_estimate_layer(const struct carm_sol_result *result, uint32_t layer,
                             enum carm_sol_model model, bool cached,
                             struct carm_sol_estimate *estimate)
{
    assert(result->has_layers && layer < result->n && (!cached || result->has_cached));
    const struct carm_sol_layers *layers = result->layers;
    roof_layer(layers, layer, model, cached ? &layers->missed[layers->policies[model]] : NULL,
               estimate);
}

void carm_sol_result_close(struct carm_sol_result *result)
{
    if (result->layers) {
        carm_sol_missed_free(&result->layers->missed[CARM_SOL_LRU]);
        carm_sol_missed_free(&result->layers->missed[CARM_SOL_FARTHEST]);
        free(result->layers);
    }
    *result = (struct carm_sol_result){0};
}
