/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/machine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* The sets of roofs of one ISA and thread count; either may be NULL, not both. */
struct sets {
    const struct carm_roofs *of[CARM_SOL_PRECISIONS]; /* NULL = it has none */
    /* roofs of tiles beside vectors, if no ISA was requested */
    const struct carm_roofs *tiles[CARM_SOL_PRECISIONS];
    const struct carm_roofs
        *first; /* the roofs whose clock and names are used: of dp if the model has them */
};

/* Whether the roofs are of tiles (AMX), which only multiply matrices. All other operations are measured with
 * vectors. */
static bool is_of_tiles(const struct carm_roofs *r)
{
    return strcmp(r->isa, "amx") == 0;
}

/* returns CARM_SOL_PRECISIONS where no precision takes these roofs */
static enum carm_sol_precision precision_of(const struct carm_roofs *r)
{
    int p = 0;
    for (; p < CARM_SOL_PRECISIONS; p++) {
        const char *roofs = carm_sol_precision_roofs((enum carm_sol_precision)p);
        if (*roofs && strcmp(r->precision, roofs) == 0) {
            break;
        }
    }
    return (enum carm_sol_precision)p;
}

static bool is_wanted(const struct carm_roofs *r, const char *isa, int threads)
{
    return precision_of(r) < CARM_SOL_PRECISIONS && (!isa || !*isa || strcmp(r->isa, isa) == 0) &&
           (threads == 0 || r->threads == threads);
}

static bool is_better(const struct carm_roofs *r, const struct carm_roofs *best)
{
    if (!best || r->threads != best->threads) {
        return !best || r->threads > best->threads;
    }
    if (is_of_tiles(r) != is_of_tiles(best)) {
        return is_of_tiles(best);
    }
    return carm_isa_rank(r->isa) > carm_isa_rank(best->isa);
}

/* returns NULL where the model has no such roofs */
static const struct carm_roofs *find_best(const struct carm_model *model, const char *isa,
                                          int threads)
{
    const struct carm_roofs *best = NULL;
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        best = is_wanted(r, isa, threads) && is_better(r, best) ? r : best;
    }
    return best;
}

/* Finds the sets of the other precisions for a set. named: only with its ISA */
static struct sets find_sets(const struct carm_model *model, const struct carm_roofs *best,
                             bool named)
{
    struct sets sets = {.first = best};
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        if (is_wanted(r, best->isa, best->threads)) {
            const struct carm_roofs **of = &sets.of[precision_of(r)];
            *of = *of ? *of : r;
        }
    }
    for (int p = CARM_SOL_PRECISIONS - 1; p >= 0; p--) {
        sets.first = sets.of[p] && sets.of[p]->nmemory > 0 ? sets.of[p] : sets.first;
    }
    for (size_t i = 0; i < model->nroofs && !named; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        if (r != best && is_of_tiles(r) && is_wanted(r, NULL, best->threads)) {
            sets.tiles[precision_of(r)] = r;
        }
    }
    return sets;
}

static int refuse_selection(const struct carm_model *model, const char *isa, int threads,
                            struct carm_err *err)
{
    char has[256] = "";
    char number[24] = "";
    const struct carm_roofs *r = model->roofs;
    for (size_t i = r ? model->nroofs : 0; i > 0; i--, r++) {
        carm_text_list(has, sizeof has, ", ", "%.16s %.8s with %d", r->isa, r->precision,
                       r->threads);
    }
    if (threads > 0) {
        snprintf(number, sizeof number, " with %d", threads);
    }
    return carm_fail(
        err, CARM_EINVAL,
        "the model has no roofs that an estimate takes for %.20s%s; it has %s threads: choose among "
        "these, or measure others with `carm build`",
        isa && *isa ? isa : "any ISA", number, *has ? has : "none with any");
}

static double rate_of(const struct carm_roofs *roofs, const char *op)
{
    double rate = 0.0;
    for (size_t i = 0; roofs && i < roofs->ncompute; i++) {
        const struct carm_compute_roof *c = &roofs->compute[i];
        rate = strcmp(c->op, op) == 0 ? fmax(rate, c->rate) : rate;
    }
    return rate;
}

/* Sets a precision's rates. A multiply-accumulate is two flops of the best of fma, mad and dot,
 * also of tiles. Another operation is one flop of the better of add and mul. If neither was
 * measured, it has the rate of single precision, to which bf16 is widened, or the rate of the
 * multiply-accumulates' instructions. */
static void put_precision(struct carm_sol_arch *arch, const struct sets *sets,
                          enum carm_sol_precision precision)
{
    const double hz = arch->freq_ghz * 1e9;
    const struct carm_roofs *roofs = sets->of[precision];
    const struct carm_roofs *tiles = sets->tiles[precision];
    const struct carm_roofs *sp = sets->of[CARM_SOL_FP32];
    if (!roofs && !tiles) {
        return;
    }
    const double vectors =
        fmax(fmax(rate_of(roofs, "fma"), rate_of(roofs, "mad")), rate_of(roofs, "dot"));
    const double mac = fmax(vectors, rate_of(tiles, "dot")) / 2.0;
    double other = fmax(rate_of(roofs, "add"), rate_of(roofs, "mul"));
    if (!(other > 0.0) && sp && precision != CARM_SOL_FP64) {
        other = fmax(rate_of(sp, "add"), rate_of(sp, "mul"));
    }
    arch->mac_per_cycle[precision] = mac / hz;
    arch->other_per_cycle[precision] = (other > 0.0 ? other : mac) / hz;
}

/* The best bandwidth of a level, byte/s, of any mix; 0 = none was measured. */
static double bandwidth_of(const struct carm_roofs *roofs, const char *level)
{
    double best = 0.0;
    for (size_t i = 0; roofs && i < roofs->nmemory; i++) {
        const struct carm_memory_roof *m = &roofs->memory[i];
        best = strcmp(m->level, level) == 0 ? fmax(best, m->bandwidth) : best;
    }
    return best;
}

/* The best bandwidth of all precisions: the precision does not change the bytes of a vector. */
static double best_bandwidth(const struct sets *sets, const char *level)
{
    double best = 0.0;
    for (int p = 0; p < CARM_SOL_PRECISIONS; p++) {
        best = fmax(best, bandwidth_of(sets->of[p], level));
    }
    return best;
}

static double dram_bandwidth(const struct sets *sets)
{
    double peak = 0.0;
    for (int p = 0; p < CARM_SOL_PRECISIONS; p++) {
        peak = sets->of[p] ? fmax(peak, sets->of[p]->dram_peak.bandwidth) : peak;
    }
    return peak > 0.0 ? peak : best_bandwidth(sets, "DRAM");
}

/* The number of instances of a cache that threads reach, placed one to a core in order. It follows
 * from the machine's threads, cores and threads that share an instance. */
static uint64_t instances_of(const struct carm_machine *machine, int shared_by, int threads)
{
    const int cores = machine->cores > 0 ? machine->cores : 1;
    const int used = threads < cores ? threads : cores;
    const int of_core = machine->threads > cores ? (machine->threads + cores - 1) / cores : 1;
    const int sharers = shared_by > of_core ? shared_by / of_core : 1;
    return used > 1 ? (uint64_t)((used + sharers - 1) / sharers) : 1;
}

/* Bytes of all instances that the threads reach; 0 = not known. */
static uint64_t capacity_of(const struct carm_model *model, const struct carm_level *level,
                            int threads)
{
    const struct carm_machine *machine = &model->machine;
    uint64_t bytes =
        level->resolved && level->knee_bytes ? level->knee_bytes : level->os_size_bytes;
    uint64_t instances = 1;
    for (size_t i = 0; i < machine->ncaches; i++) {
        char name[16];
        snprintf(name, sizeof name, "L%d", machine->caches[i].level);
        if (strcmp(name, level->level) == 0) {
            instances = instances_of(machine, machine->caches[i].shared_by, threads);
            bytes = bytes ? bytes : machine->caches[i].size_bytes;
        }
    }
    return bytes > (uint64_t)INT64_MAX / instances ? (uint64_t)INT64_MAX : bytes * instances;
}

static int put_levels(struct carm_sol_arch *arch, const struct carm_model *model,
                      const struct sets *sets, struct carm_err *err)
{
    const double hz = arch->freq_ghz * 1e9;
    for (size_t i = 0; i < model->nlevels; i++) {
        const struct carm_level *level = &model->levels[i];
        const double bandwidth = best_bandwidth(sets, level->level);
        const uint64_t capacity = capacity_of(model, level, sets->first->threads);
        if (strcmp(level->level, "DRAM") == 0 || (capacity == 0 && !(bandwidth > 0.0))) {
            continue;
        }
        if (arch->nlevels == CARM_SOL_LEVELS_MAX) {
            return carm_fail(err, CARM_EINVAL, "the model has more than %d levels of cache",
                             CARM_SOL_LEVELS_MAX);
        }
        struct carm_sol_level *l = &arch->levels[arch->nlevels++];
        snprintf(l->name, sizeof l->name, "%s", level->level);
        l->capacity = capacity;
        l->byte_per_cycle = bandwidth / hz;
    }
    return 0;
}

static void put_names(struct carm_sol_arch *arch, const struct carm_model *model,
                      const struct sets *sets)
{
    const struct carm_roofs *first = sets->first;
    bool tiles = false;
    for (int p = 0; p < CARM_SOL_PRECISIONS; p++) {
        tiles = tiles || sets->tiles[p];
    }
    const struct carm_machine *machine = &model->machine;
    snprintf(arch->name, sizeof arch->name, "%.79s",
             *machine->cpu ? machine->cpu : "unknown processor");
    snprintf(arch->source, sizeof arch->source, "carm build on %.60s, %.32s: %.16s%s, %d thread%s",
             carm_machine_host(machine), model->created, first->isa, tiles ? " and amx" : "",
             first->threads, first->threads == 1 ? "" : "s");
}

int carm_sol_arch_of_model(const struct carm_model *model, const char *isa, int threads,
                           struct carm_sol_arch *arch, struct carm_err *err)
{
    struct carm_sol_arch out = {.measured = true};
    const struct carm_roofs *best = find_best(model, isa, threads);
    if (!best) {
        return refuse_selection(model, isa, threads, err);
    }
    const struct sets sets = find_sets(model, best, isa && *isa);
    const double dram = dram_bandwidth(&sets);
    if (!(dram > 0.0)) {
        return carm_fail(err, CARM_EINVAL,
                         "the model has no DRAM roof for %.16s with %d threads: measure with `carm "
                         "build` without --levels, or with DRAM among them",
                         sets.first->isa, sets.first->threads);
    }
    if (!(sets.first->clock_hz > 0.0)) {
        return carm_fail(err, CARM_EINVAL,
                         "the model has no core clock for %.16s: measure again with `carm build`",
                         sets.first->isa);
    }
    put_names(&out, model, &sets);
    out.freq_ghz = sets.first->clock_hz / 1e9;
    out.dram_byte_per_cycle = dram / sets.first->clock_hz;
    out.dram_capacity = model->machine.memory_bytes;
    bool computes = false;
    for (int p = 0; p < CARM_SOL_PRECISIONS; p++) {
        put_precision(&out, &sets, (enum carm_sol_precision)p);
        computes = computes || out.other_per_cycle[p] > 0.0;
    }
    if (!computes) {
        return carm_fail(
            err, CARM_EINVAL,
            "the model has no arithmetic roofs for %.16s with %d threads: measure with "
            "`carm build --ops fma,add,mul`",
            sets.first->isa, sets.first->threads);
    }
    const int rc = put_levels(&out, model, &sets, err);
    if (rc) {
        return rc;
    }
    *arch = out;
    return 0;
}
