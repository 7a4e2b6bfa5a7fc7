/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/estimate.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* For one policy: elements that miss the last level, and the slowest level of each layer. */
struct missed {
    uint64_t *spilled;                     /* [n] elements; NULL = nothing known */
    double *level_cycles;                  /* [n] */
    int16_t *level;                        /* [n] -1 = none */
    uint64_t total;                        /* sum of spilled */
    uint64_t carried[CARM_SOL_LEVELS_MAX]; /* elements of all layers, by level */
};

struct carm_sol_layers {
    const struct carm_sol_analysis *analysis;
    struct carm_sol_arch arch;
    enum carm_sol_precision precision;
    struct missed missed[2];                        /* by enum carm_sol_policy */
    enum carm_sol_policy policies[CARM_SOL_MODELS]; /* the policy of each model */
};

const char *carm_sol_model_name(enum carm_sol_model model)
{
    static const char *const names[CARM_SOL_MODELS] = {"unfused", "fused", "fused_prefetched"};
    assert(model < CARM_SOL_MODELS);
    return names[model];
}

/* ---- levels on the chip ---- */

/* Cycles of a level for a number of elements; 0 = unknown bandwidth. */
static double level_cycles(const struct carm_sol_layers *layers, size_t level, uint64_t elements)
{
    const double rate = layers->arch.levels[level].byte_per_cycle;
    const unsigned bits = carm_sol_precision_bits(layers->precision);
    return rate > 0.0 ? (double)elements * (double)bits / 8.0 / rate : 0.0;
}

/* Adds up the elements that one level carries for each layer. m: intermediates that have to come
 * from the next outer level */
static int carry(const struct carm_sol_layers *layers, size_t level, struct missed *m,
                 struct carm_err *err)
{
    const struct carm_sol_counts *counts = layers->analysis->layers;
    uint64_t *sum = &m->carried[level];
    for (uint32_t i = 0; i < layers->analysis->n; i++) {
        const uint64_t elements =
            level == 0 ? counts[i].unfused : counts[i].external + m->spilled[i];
        if (!carm_sol_add(sum, elements)) {
            return carm_fail(err, CARM_EFORMAT,
                             "level %s carries more than 2^63-1 elements; check the shapes",
                             layers->arch.levels[level].name);
        }
        const double cycles = level_cycles(layers, level, elements);
        if (cycles > m->level_cycles[i]) {
            m->level_cycles[i] = cycles;
            m->level[i] = (int16_t)level;
        }
    }
    return 0;
}

/* Limits misses to those of the smaller level before: a policy may get worse with more room. */
static void narrow(struct missed *m, const uint64_t *spilled, uint32_t n)
{
    m->total = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (spilled[i] < m->spilled[i]) {
            m->spilled[i] = spilled[i];
        }
        m->total += m->spilled[i];
    }
}

static int fill_policy(struct carm_sol_lifetimes *lifetimes, struct carm_sol_layers *layers,
                       enum carm_sol_policy policy, uint64_t *spilled, uint64_t *peak_bytes,
                       struct carm_err *err)
{
    const uint32_t n = layers->analysis->n;
    struct missed *m = &layers->missed[policy];
    int rc = 0;
    for (uint32_t i = 0; i < n; i++) {
        m->spilled[i] = layers->analysis->layers[i].intermediate;
        m->level[i] = -1;
    }
    for (size_t k = 0; rc == 0 && k < layers->arch.nlevels; k++) {
        uint64_t total = 0;
        const uint64_t capacity = layers->arch.levels[k].capacity;
        rc = carry(layers, k, m, err);
        if (rc == 0 && capacity > 0) {
            rc = carm_sol_lifetimes_spill(lifetimes, capacity, layers->precision, policy, spilled,
                                          &total, peak_bytes, err);
            narrow(m, spilled, n);
        }
    }
    return rc;
}

static bool make(struct missed *m, uint32_t n)
{
    const size_t room = n > 0 ? n : 1;
    m->spilled = calloc(room, sizeof *m->spilled);
    m->level_cycles = calloc(room, sizeof *m->level_cycles);
    m->level = calloc(room, sizeof *m->level);
    return m->spilled && m->level_cycles && m->level;
}

/* Fills missed for both policies. The arch has a level of known size.
 * returns 0, -CARM_ENOMEM, -CARM_EFORMAT */
static int fill_levels(const struct carm_sol_graph *graph, struct carm_sol_layers *layers,
                       uint64_t *peak_bytes, struct carm_err *err)
{
    struct carm_sol_lifetimes *lifetimes = NULL;
    const uint32_t n = layers->analysis->n;
    uint64_t *spilled = calloc(n > 0 ? n : 1, sizeof *spilled);
    int rc = spilled && make(&layers->missed[CARM_SOL_LRU], n) &&
                     make(&layers->missed[CARM_SOL_FARTHEST], n)
                 ? carm_sol_lifetimes_open(graph, &lifetimes, err)
                 : carm_sol_no_memory(n, err);
    for (enum carm_sol_policy p = CARM_SOL_LRU; rc == 0 && p <= CARM_SOL_FARTHEST; p++) {
        rc = fill_policy(lifetimes, layers, p, spilled, peak_bytes, err);
    }
    carm_sol_lifetimes_close(lifetimes);
    free(spilled);
    return rc;
}

static void free_missed(struct missed *missed)
{
    free(missed->spilled);
    free(missed->level_cycles);
    free(missed->level);
    *missed = (struct missed){0};
}

/* ---- one roofline ---- */

/* The inputs of one roofline: of a layer or of the graph. */
struct load {
    uint64_t macs, other;
    uint64_t elements, spilled; /* elements includes spilled */
    double level_cycles;
    int level;
};

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
    /* no overflow: checked for the whole graph, unfused */
    carm_sol_bytes(load->elements, layers->precision, &e->bytes);
    carm_sol_bytes(load->spilled, layers->precision, &e->spilled_bytes);
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

/* missed: NULL = unlimited storage on the chip */
static void roof_layer(const struct carm_sol_layers *layers, uint32_t i, enum carm_sol_model model,
                       const struct missed *missed, struct carm_sol_estimate *e)
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
                       const struct missed *missed, struct carm_sol_estimate *e)
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
            const double cycles = level_cycles(layers, k, missed->carried[k]);
            if (cycles > load.level_cycles) {
                load.level_cycles = cycles;
                load.level = (int)k;
            }
        }
    }
    roof(layers, &load, e);
}

/* Sums over the operations, in one order for all models, so that smaller terms give a smaller sum
 * in spite of rounding. */
static void sum_layers(const struct carm_sol_layers *layers, enum carm_sol_model model,
                       const struct missed *missed, struct carm_sol_estimate *e)
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
    /* at least the whole graph's cycles: rounding could give less */
    set_cycles(layers, e, fmax(cycles, e->cycles));
}

static bool usable(double rate)
{
    return isfinite(rate) && rate > 0.0;
}

static int refuse_macs(const struct carm_sol_arch *arch, enum carm_sol_precision precision,
                       uint64_t macs, struct carm_err *err)
{
    char has[128];
    return carm_fail(err, CARM_EINVAL,
                     "%.60s has no %s, and the graph has %" PRIu64
                     " multiply-accumulates: %s, or take a "
                     "precision that it has (%s)",
                     arch->name, carm_sol_arch_mac_key(arch, precision), macs,
                     arch->measured ? "measure it (carm build --ops fma)" : "set it",
                     carm_sol_arch_precisions(arch, has, sizeof has));
}

static int refuse_other(const struct carm_sol_arch *arch, enum carm_sol_precision precision,
                        uint64_t other, struct carm_err *err)
{
    return carm_fail(
        err, CARM_EINVAL,
        "%.60s has no rate of other operations at %s, and the graph has %" PRIu64 ": %s, or "
        "take another precision",
        arch->name, carm_sol_precision_name(precision), other,
        arch->measured ? "measure it (carm build --ops add,mul)" : "set MAC_per_cycle_fp32_sm");
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
        return carm_fail(err, CARM_EFORMAT,
                         "%" PRIu64 " elements have more than 2^63-1 bytes at %s: check the shapes",
                         total->unfused, carm_sol_precision_name(layers->precision));
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
    const struct missed *lru = &layers->missed[CARM_SOL_LRU];
    const struct missed *farthest = &layers->missed[CARM_SOL_FARTHEST];
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
        rc = fill_levels(graph, layers, &result->peak_bytes, err);
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
        free_missed(&result->layers->missed[CARM_SOL_LRU]);
        free_missed(&result->layers->missed[CARM_SOL_FARTHEST]);
        free(result->layers);
    }
    *result = (struct carm_sol_result){0};
}

/* ---- the view ---- */

double carm_sol_flops(const struct carm_sol_counts *counts)
{
    return 2.0 * (double)counts->macs + (double)counts->other;
}

const struct carm_sol_estimate *carm_sol_view_graph(const struct carm_sol_view *view,
                                                    enum carm_sol_model model)
{
    const struct carm_sol_result *r = view->result;
    return r->has_cached ? &r->cached[model] : &r->models[model];
}

struct carm_sol_estimate carm_sol_view_layer(const struct carm_sol_view *view, uint32_t i,
                                             enum carm_sol_model model)
{
    struct carm_sol_estimate estimate;
    carm_sol_estimate_layer(view->result, i, model, view->result->has_cached, &estimate);
    return estimate;
}

uint32_t carm_sol_view_layers(const struct carm_sol_view *view)
{
    return view->result->has_layers ? view->result->n : 0;
}

bool carm_sol_view_works(const struct carm_sol_view *view, uint32_t i)
{
    const struct carm_sol_counts *c = &view->analysis->layers[i];
    return c->macs > 0 || c->other > 0 || c->unfused > 0;
}

const char *carm_sol_view_layer_name(const struct carm_sol_view *view, uint32_t i)
{
    if (view->graph) {
        return carm_sol_text(view->graph, view->graph->layers[i].id);
    }
    return view->analysis->ids && view->analysis->ids[i] ? view->analysis->ids[i] : "";
}

const char *carm_sol_view_layer_type(const struct carm_sol_view *view, uint32_t i)
{
    return view->graph ? carm_sol_text(view->graph, view->graph->layers[i].type) : "";
}

/* A remark if most tensors of the file have another type than the estimate's precision. */
static char *remark_on_dtype(const struct carm_sol_view *v, char *dst, size_t size)
{
    static const enum carm_sol_precision as[CARM_SOL_DTYPES] = {
        [CARM_SOL_FLOAT64] = CARM_SOL_FP64, [CARM_SOL_FLOAT32] = CARM_SOL_FP32,
        [CARM_SOL_FLOAT16] = CARM_SOL_FP16, [CARM_SOL_BFLOAT16] = CARM_SOL_BF16,
        [CARM_SOL_FLOAT8] = CARM_SOL_FP8,   [CARM_SOL_QINT8] = CARM_SOL_INT8,
    };
    const uint32_t *n = v->graph->dtypes;
    size_t most = 0;
    for (size_t i = 1; i < CARM_SOL_DTYPES; i++) {
        most = n[i] > n[most] ? i : most;
    }
    const bool tf32 = v->precision == CARM_SOL_TF32 && most == CARM_SOL_FLOAT32;
    if (n[most] == 0 || as[most] == v->precision || tf32) {
        return NULL;
    }
    const char *name = carm_sol_precision_name(as[most]);
    snprintf(dst, size,
             "tensor_dtypes: most tensors are %s, but all are taken as %s; --precision %s takes "
             "them as they are.",
             name, carm_sol_precision_name(v->precision), name);
    return dst;
}

char *carm_sol_view_remark(const struct carm_sol_view *view, uint32_t i, char *dst, size_t size)
{
    const uint64_t twice = view->analysis->counted_twice;
    if (view->graph) {
        const bool odd = remark_on_dtype(view, dst, size) != NULL;
        return odd && i == 0 ? dst : carm_sol_graph_remark(view->graph, i - odd, dst, size);
    }
    if (i > 0 || twice == 0) {
        return NULL;
    }
    snprintf(dst, size,
             "total: fused_elements was %" PRIu64 " too high, more than there are: outputs were "
             "counted more than once. The layers' own figures are used.",
             twice);
    return dst;
}

double carm_sol_speedup(const struct carm_sol_estimate *a, const struct carm_sol_estimate *b)
{
    if (b->cycles > 0.0) {
        return a->cycles / b->cycles;
    }
    return a->cycles > 0.0 ? INFINITY : 1.0;
}

const char *carm_sol_bound_word(const struct carm_sol_arch *arch,
                                const struct carm_sol_estimate *estimate)
{
    switch (estimate->bound) {
    case CARM_SOL_BY_COMPUTE:
        return "compute";
    case CARM_SOL_BY_MEMORY:
        return "memory";
    case CARM_SOL_BY_LEVEL:
        return estimate->level >= 0 && (size_t)estimate->level < arch->nlevels
                   ? arch->levels[estimate->level].name
                   : "storage";
    case CARM_SOL_BY_NOTHING:
        break;
    }
    return "nothing";
}

const struct carm_sol_level *carm_sol_last_level(const struct carm_sol_arch *arch)
{
    for (size_t i = arch->nlevels; i-- > 0;) {
        if (arch->levels[i].capacity > 0) {
            return &arch->levels[i];
        }
    }
    return NULL;
}
