/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/sol/arch.h"

/* The sets of roofs of one ISA and thread count; either may be NULL, not both. */
struct sets {
    const struct carm_roofs *dp, *sp;
    const struct carm_roofs *first; /* whose clock and names count: dp's where there is one */
};

/* Its place among the ISAs by width; an unknown one before all. */
static int width_of(const char *isa)
{
    static const char *const isas[] = {"scalar", "sse", "avx", "avx2", "avx512"};
    const int n = (int)(sizeof isas / sizeof *isas);
    for (int i = 0; i < n; i++) {
        if (strcmp(isas[i], isa) == 0) {
            return i;
        }
    }
    return -1;
}

static bool is_wanted(const struct carm_roofs *r, const char *isa, int threads)
{
    return (strcmp(r->precision, "dp") == 0 || strcmp(r->precision, "sp") == 0) &&
           (!isa || !*isa || strcmp(r->isa, isa) == 0) && (threads == 0 || r->threads == threads);
}

static bool is_better(const struct carm_roofs *r, const struct carm_roofs *best)
{
    if (!best || r->threads != best->threads) {
        return !best || r->threads > best->threads;
    }
    return width_of(r->isa) > width_of(best->isa);
}

/* returns NULL where the model has none of these */
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

/* The set and that of the other precision. */
static struct sets find_sets(const struct carm_model *model, const struct carm_roofs *best)
{
    struct sets sets = {.first = best};
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        if (is_wanted(r, best->isa, best->threads)) {
            const struct carm_roofs **of = strcmp(r->precision, "dp") == 0 ? &sets.dp : &sets.sp;
            *of = *of ? *of : r;
        }
    }
    if (sets.dp) {
        sets.first = sets.dp;
    }
    return sets;
}

static int refuse_selection(const struct carm_model *model, const char *isa, int threads,
                            struct carm_err *err)
{
    char has[256] = "";
    char number[24] = "";
    size_t used = 0;
    for (size_t i = 0; i < model->nroofs && used < sizeof has; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        const int n = snprintf(has + used, sizeof has - used, "%s%.16s %.8s with %d",
                               used > 0 ? ", " : "", r->isa, r->precision, r->threads);
        used += n > 0 ? (size_t)n : 0;
    }
    if (threads > 0) {
        (void)snprintf(number, sizeof number, " with %d", threads);
    }
    return carm_fail(err, CARM_EINVAL,
                     "the model has no dp or sp roofs for %.20s%s; it has %s threads: choose among "
                     "these, or measure others with `carm build`",
                     isa && *isa ? isa : "any ISA", number, *has ? has : "none with any");
}

static double rate_of(const struct carm_roofs *roofs, const char *op)
{
    double rate = 0.0;
    for (size_t i = 0; i < roofs->ncompute; i++) {
        const struct carm_compute_roof *c = &roofs->compute[i];
        rate = strcmp(c->op, op) == 0 ? fmax(rate, c->rate) : rate;
    }
    return rate;
}

/* A multiply-accumulate is two flops of the better of fma and mad; another operation one flop of the
 * better of add and mul, or, where neither was measured, what those two flops are executed as. */
static void put_precision(struct carm_sol_arch *arch, const struct carm_roofs *roofs,
                          enum carm_sol_precision precision)
{
    const double hz = arch->freq_ghz * 1e9;
    if (!roofs) {
        return;
    }
    const double mac = fmax(rate_of(roofs, "fma"), rate_of(roofs, "mad")) / 2.0;
    const double other = fmax(rate_of(roofs, "add"), rate_of(roofs, "mul"));
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

static double dram_bandwidth(const struct sets *sets)
{
    const double peak = fmax(sets->dp ? sets->dp->dram_peak.bandwidth : 0.0,
                             sets->sp ? sets->sp->dram_peak.bandwidth : 0.0);
    return peak > 0.0 ? peak : fmax(bandwidth_of(sets->dp, "DRAM"), bandwidth_of(sets->sp, "DRAM"));
}

/* How many instances of a cache so many threads reach when they are placed one to a core, in order.
 * The model knows the machine's threads, its cores and how many threads share an instance. */
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
        (void)snprintf(name, sizeof name, "L%d", machine->caches[i].level);
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
        const double bandwidth =
            fmax(bandwidth_of(sets->dp, level->level), bandwidth_of(sets->sp, level->level));
        const uint64_t capacity = capacity_of(model, level, sets->first->threads);
        if (strcmp(level->level, "DRAM") == 0 || (capacity == 0 && !(bandwidth > 0.0))) {
            continue;
        }
        if (arch->nlevels == CARM_SOL_LEVELS_MAX) {
            return carm_fail(err, CARM_EINVAL, "the model has more than %d levels of cache",
                             CARM_SOL_LEVELS_MAX);
        }
        struct carm_sol_level *l = &arch->levels[arch->nlevels++];
        (void)snprintf(l->name, sizeof l->name, "%s", level->level);
        l->capacity = capacity;
        l->byte_per_cycle = bandwidth / hz;
    }
    return 0;
}

static void put_names(struct carm_sol_arch *arch, const struct carm_model *model,
                      const struct carm_roofs *first)
{
    const struct carm_machine *machine = &model->machine;
    (void)snprintf(arch->name, sizeof arch->name, "%.79s",
                   *machine->cpu ? machine->cpu : "unknown processor");
    (void)snprintf(arch->source, sizeof arch->source,
                   "carm build on %.60s, %.32s: %.16s, %d thread%s",
                   *machine->hostname ? machine->hostname : "a host without name", model->created,
                   first->isa, first->threads, first->threads == 1 ? "" : "s");
}

int carm_sol_arch_of_model(const struct carm_model *model, const char *isa, int threads,
                           struct carm_sol_arch *arch, struct carm_err *err)
{
    struct carm_sol_arch out = {.measured = true};
    const struct carm_roofs *best = find_best(model, isa, threads);
    if (!best) {
        return refuse_selection(model, isa, threads, err);
    }
    const struct sets sets = find_sets(model, best);
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
    put_names(&out, model, sets.first);
    out.freq_ghz = sets.first->clock_hz / 1e9;
    out.dram_byte_per_cycle = dram / sets.first->clock_hz;
    out.dram_capacity = model->machine.memory_bytes;
    put_precision(&out, sets.dp, CARM_SOL_FP64);
    put_precision(&out, sets.sp, CARM_SOL_FP32);
    if (!(out.other_per_cycle[CARM_SOL_FP64] > 0.0) &&
        !(out.other_per_cycle[CARM_SOL_FP32] > 0.0)) {
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
