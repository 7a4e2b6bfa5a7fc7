/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/roofs/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Loops of some 12 to 48 accesses run best: shorter loops pay for loop control, longer loops
 * exceed the window in which the core finds independent work. Several streams keep several pages
 * in the prefetchers' view: on a Zen 3, two to six streams got 20 to 60% more from memory than
 * one (docs/results.md). */
enum { KNOWN_MAX = 16 }; /* winners of earlier searches, for one ISA, precision and mix */
struct memory_variant {
    unsigned accesses, prefetch_bytes;
    enum carm_order order;
    unsigned arrays; /* streams for each access of a unit, twice as many for pure loads or
                      * stores; 0 = one stream for all */
    unsigned block;  /* units of a block, 0 = the whole loop */
};
static const struct memory_variant memory_variants[] = {
    {12, 0, CARM_ORDER_UNIT, 0, 0},    {18, 0, CARM_ORDER_UNIT, 0, 0},
    {24, 0, CARM_ORDER_UNIT, 0, 0},    {48, 0, CARM_ORDER_UNIT, 0, 0},
    {24, 256, CARM_ORDER_UNIT, 0, 0},  {24, 512, CARM_ORDER_UNIT, 0, 0},
    {24, 1024, CARM_ORDER_UNIT, 0, 0}, {24, 2048, CARM_ORDER_UNIT, 0, 0},
    {12, 0, CARM_ORDER_BLOCK, 0, 0},   {24, 0, CARM_ORDER_BLOCK, 0, 0},
    {30, 0, CARM_ORDER_BLOCK, 0, 0},   {24, 0, CARM_ORDER_UNIT, 1, 0},
    {24, 0, CARM_ORDER_UNIT, 2, 0},    {24, 1024, CARM_ORDER_UNIT, 1, 0},
    {24, 0, CARM_ORDER_BLOCK, 2, 0},   {48, 0, CARM_ORDER_BLOCK, 1, 4},
};

/* Chains: as many as latency x pipes, or more. Rounds: the more, the less the loop's two control instructions weigh. A
 * build without time for comparisons uses the first variant: with 8 chains, mad reaches 63% on Zen 4. */
struct compute_variant {
    unsigned chains, rounds;
};
static const struct compute_variant compute_variants[] = {
    {14, 4}, {14, 8}, {8, 3}, {8, 6}, {10, 2}, {10, 4}, {10, 8}, {12, 4}, {16, 3}, {20, 4}};
enum { COMPUTE_VARIANTS = sizeof compute_variants / sizeof *compute_variants };

/* The divider executes one operation after another, so the length of the loop hardly matters. */
static const struct compute_variant divider_variants[COMPUTE_VARIANTS] = {{8, 2}, {12, 1}};

/* For tiles: a product starts every 16 cycles and takes 52, so 4 chains are enough.
 * source: Intel 64 and IA-32 Architectures Optimization Reference Manual, chapter on AMX */
static const struct compute_variant tile_computes[COMPUTE_VARIANTS] = {
    {4, 2}, {4, 4}, {4, 8}, {5, 4}, {6, 2}, {6, 4}, {6, 8}};

/* The code of a variant. returns false for a code that is there already, a prefetch of unwanted
 * lines, or more streams than a code can have */
static bool memory_variant(const struct memory_variant *v, struct carm_code_spec *s)
{
    const struct carm_mix *mix = &s->mix;
    const struct carm_mix lowest = carm_mix_lowest(mix);
    const unsigned per_unit = mix->loads + mix->stores;
    const bool pure = carm_mix_is_pure(mix);
    const unsigned fit = v->accesses / per_unit;
    const unsigned units = fit ? fit : 1;
    const unsigned whole = v->arrays * (pure ? 2 : 1); /* units that share the streams evenly */
    s->units = whole ? (units + whole - 1) / whole * whole : units;
    s->prefetch_bytes = v->prefetch_bytes;
    s->order = v->order;
    s->block = v->block < s->units ? v->block : 0;
    s->streams = v->arrays * (pure ? 2 : carm_mix_slots(&lowest));
    return !(s->order == CARM_ORDER_BLOCK && pure) &&
           !(s->prefetch_bytes && mix->nontemporal && mix->loads == 0) &&
           carm_code_check(s, NULL) == 0;
}

/* Whether the n-th code of out differs from all codes before it */
static bool is_new(const struct carm_code_spec *out, size_t n)
{
    char name[CARM_CODE_NAME_MAX];
    char other[CARM_CODE_NAME_MAX];
    carm_code_name(&out[n], name);
    for (size_t i = 0; i < n; i++) {
        carm_code_name(&out[i], other);
        if (strcmp(name, other) == 0) {
            return false;
        }
    }
    return true;
}

/* Adds the winners of earlier searches on this machine, of either precision. */
static size_t add_known(const struct carm_build_config *config, struct carm_code_spec *out,
                        const struct carm_code_spec *base)
{
    size_t n = 0;
    for (size_t i = 0; config->known && i < config->known->n && n < KNOWN_MAX; i++) {
        const struct carm_winner *w = &config->known->items[i];
        struct carm_code_spec s = {.kind = CARM_KIND_EMPTY};
        if (strcmp(w->machine, config->machine) != 0 || carm_code_parse(w->code, &s, NULL) ||
            s.kind != base->kind || s.isa != base->isa || !carm_mix_equal(&s.mix, &base->mix)) {
            continue;
        }
        s.precision = base->precision;
        out[n] = s;
        n += carm_code_check(&s, NULL) == 0 && is_new(out, n);
    }
    return n;
}

/* Adds the candidates of a search: all that won on some machine in paired rounds
 * (docs/results.md). */
static size_t add_searched(struct carm_code_spec *out, const struct carm_code_spec *base, size_t n)
{
    static const unsigned accesses[] = {12, 24, 48};
    static const unsigned prefetches[] = {0, 512, 1024, 2048};
    for (unsigned i = 0; i < 3 * 4 * 3 * 4 && n < CARM_CANDIDATES_MAX; i++) {
        const struct memory_variant v = {.accesses = accesses[i % 3],
                                         .prefetch_bytes = prefetches[i / 3 % 4],
                                         .order = i / 12 % 3 ? CARM_ORDER_BLOCK : CARM_ORDER_UNIT,
                                         .block = i / 12 % 3 > 1 ? 4 : 0,
                                         .arrays = i / 36};
        out[n] = *base;
        n += memory_variant(&v, &out[n]) && is_new(out, n);
    }
    return n;
}

/* Variants for tiles, each of which has 16 lines. */
static const struct memory_variant tile_variants[] = {
    {2, 0, CARM_ORDER_UNIT, 0, 0},    {3, 0, CARM_ORDER_UNIT, 0, 0},
    {4, 0, CARM_ORDER_UNIT, 0, 0},    {6, 0, CARM_ORDER_UNIT, 0, 0},
    {8, 0, CARM_ORDER_UNIT, 0, 0},    {4, 1024, CARM_ORDER_UNIT, 0, 0},
    {4, 2048, CARM_ORDER_UNIT, 0, 0}, {4, 4096, CARM_ORDER_UNIT, 0, 0},
    {6, 0, CARM_ORDER_BLOCK, 0, 0},
};

static size_t add_memory(const struct carm_build_config *config, struct carm_code_spec *out,
                         const struct carm_code_spec *base)
{
    size_t n = add_known(config, out, base);
    const bool tiles = carm_isas[base->isa].columns;
    const struct memory_variant *variants = tiles ? tile_variants : memory_variants;
    const size_t nvariants = tiles ? sizeof tile_variants / sizeof *tile_variants
                                   : sizeof memory_variants / sizeof *memory_variants;
    for (size_t i = 0; i < nvariants; i++) {
        out[n] = *base;
        n += memory_variant(&variants[i], &out[n]) && is_new(out, n);
    }
    return config->found && !tiles ? add_searched(out, base, n) : n;
}

/* A chain of FMAs and additions in turn takes 7 cycles with latencies of 4 and 3: 2 pipes of
 * each need 14 chains. The roof of fma+add is the better of the two ratios. */
static const struct {
    enum carm_op op;
    unsigned chains, rounds;
} mixture_variants[] = {{CARM_FMA_ADD, 12, 4},  {CARM_FMA_ADD, 14, 4},  {CARM_FMA_ADD, 14, 6},
                        {CARM_FMA_ADD, 14, 8},  {CARM_FMA_ADD, 16, 4},  {CARM_FMA_ADD, 20, 4},
                        {CARM_FMA2_ADD, 12, 4}, {CARM_FMA2_ADD, 14, 4}, {CARM_FMA2_ADD, 14, 6},
                        {CARM_FMA2_ADD, 20, 2}};
_Static_assert(sizeof mixture_variants / sizeof *mixture_variants == COMPUTE_VARIANTS,
               "as many candidates of each operation");

/* The i-th candidate of an operation. returns whether there is one */
static bool compute_variant(enum carm_op op, size_t i, struct carm_code_spec *s)
{
    const bool mixture = carm_ops[op].mixture;
    s->op = mixture ? mixture_variants[i].op : op;
    const struct compute_variant *v = carm_isas[s->isa].columns           ? &tile_computes[i]
                                      : op == CARM_DIV || op == CARM_SQRT ? &divider_variants[i]
                                                                          : &compute_variants[i];
    s->chains = mixture ? mixture_variants[i].chains : v->chains;
    s->fps =
        carm_ops[s->op].nturns * s->chains * (mixture ? mixture_variants[i].rounds : v->rounds);
    return s->chains && s->chains <= carm_code_max_chains(s) &&
           (op != CARM_FMA2_ADD || s->op == op);
}

static size_t add_compute(struct carm_code_spec *out, const struct carm_code_spec *base)
{
    size_t n = 0;
    for (size_t i = 0; i < COMPUTE_VARIANTS; i++) {
        out[n] = *base;
        n += compute_variant(base->op, i, &out[n]);
    }
    return n;
}

/* ---- ceilings: the points to measure ---- */

enum { LINE_BYTES = 64 };

struct ceilings {
    const struct carm_build_config *config;
    const struct carm_cpu *cpu;
    enum carm_isa isa; /* the widest asked for */
    enum carm_precision precision;
    struct carm_ceiling_point *points;
    size_t n;
};

/* Adds a ceiling with its candidates. Leaves out candidates that this processor cannot run or
 * that cannot be generated, and ceilings without candidates. */
static void add_ceiling(struct ceilings *p, enum carm_ceiling_group group,
                        enum carm_ceiling_place place, const char *name,
                        const struct carm_code_spec *codes, size_t ncodes)
{
    if (p->n == CARM_CEILING_POINTS_MAX) {
        return;
    }
    struct carm_ceiling_point *point = &p->points[p->n];
    memset(point, 0, sizeof *point);
    point->group = group;
    point->place = place;
    snprintf(point->name, sizeof point->name, "%s", name);
    for (size_t i = 0; i < ncodes && point->ncodes < CARM_CEILING_CANDIDATES; i++) {
        const struct carm_code_spec *s = &codes[i];
        if (carm_code_check(s, NULL) == 0 &&
            (!carm_kind_has_flops(s->kind) ||
             carm_cpu_has_op(p->cpu, s->isa, s->precision, s->op))) {
            point->codes[point->ncodes++] = *s;
        }
    }
    p->n += point->ncodes != 0;
}

/* ---- in-core: A.1.3 ---- */

/* Adds the ceiling with one chain: every operation waits for the one before. */
static void add_tlp(struct ceilings *p, enum carm_op op)
{
    char name[32];
    const struct carm_code_spec s = {.kind = CARM_KIND_B,
                                     .isa = CARM_SCALAR,
                                     .precision = p->precision,
                                     .op = op,
                                     .fps = 8,
                                     .chains = 1};
    snprintf(name, sizeof name, "tlp %s", carm_op_name(op));
    add_ceiling(p, CARM_CEILING_IN_CORE, CARM_CEILING_CORE, name, &s, 1);
}

/* Adds a ceiling with as many chains as latency x pipes needs: 8 with a latency of 4 and 2 pipes. */
static void add_parallel(struct ceilings *p, const char *stage, enum carm_isa isa, enum carm_op op)
{
    static const struct {
        unsigned chains, rounds;
    } variants[] = {{10, 4}, {8, 6}, {12, 4}};
    struct carm_code_spec codes[CARM_CEILING_CANDIDATES];
    const size_t n = p->config->quick ? 1 : sizeof variants / sizeof *variants;
    char name[32];
    for (size_t i = 0; i < n; i++) {
        codes[i] = (struct carm_code_spec){.kind = CARM_KIND_B,
                                           .isa = isa,
                                           .precision = p->precision,
                                           .op = op,
                                           .fps = 2 * variants[i].chains * variants[i].rounds,
                                           .chains = variants[i].chains};
    }
    snprintf(name, sizeof name, "%s %s", stage, carm_op_name(op));
    add_ceiling(p, CARM_CEILING_IN_CORE, CARM_CEILING_CORE, name, codes, n);
}

/* Adds the balanced peak: fma, and mad, which may be better (on cores whose additions have ports
 * of their own) or the only one. */
static void add_in_core(struct ceilings *p)
{
    static const struct {
        const char *stage;
        enum carm_isa isa, least; /* ISA of the code, and the narrowest requested ISA with this
                                   * width */
    } stages[] = {{"ilp", CARM_SCALAR, CARM_SCALAR},
                  {"simd16", CARM_SSE, CARM_SSE},
                  {"simd32", CARM_AVX2, CARM_AVX2},
                  {"simd32", CARM_AVX, CARM_AVX},
                  {"simd64", CARM_AVX512, CARM_AVX512}};
    const bool fma = carm_cpu_has_op(p->cpu, CARM_SCALAR, p->precision, CARM_FMA);
    add_tlp(p, CARM_ADD);
    add_tlp(p, fma ? CARM_FMA : CARM_MAD);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        const enum carm_isa isa = stages[i].isa;
        if (stages[i].least > p->isa || (isa == CARM_AVX && p->isa != CARM_AVX)) {
            continue; /* avx replaces avx2 when only avx was requested */
        }
        const bool widest =
            carm_isa_vector_bytes(isa, p->precision) == carm_isa_vector_bytes(p->isa, p->precision);
        const bool has_fma = fma && carm_isa_has_op(isa, p->precision, CARM_FMA);
        add_parallel(p, stages[i].stage, isa, CARM_ADD);
        if (has_fma) {
            add_parallel(p, stages[i].stage, isa, CARM_FMA);
        }
        if (!has_fma || widest) {
            add_parallel(p, stages[i].stage, isa, CARM_MAD);
        }
        if (widest) {
            add_parallel(p, stages[i].stage, isa, CARM_MUL);
        }
    }
}

/* ---- instruction mix: A.1.4 ---- */

/* Floating point, integer additions, and the loop's own instructions. */
static void add_mix(struct ceilings *p)
{
    enum { FPS = 16, LOOP = 3, HALVINGS = 4 };
    struct carm_code_spec s = {
        .kind = CARM_KIND_B,
        .isa = p->isa,
        .precision = p->precision,
        .op = carm_cpu_has_op(p->cpu, p->isa, p->precision, CARM_FMA) ? CARM_FMA : CARM_MAD,
        .fps = 160,
        .chains = 10,
    };
    char name[32];
    add_ceiling(p, CARM_CEILING_MIX, CARM_CEILING_CORE, "fp 1", &s, 1);
    s.fps = FPS;
    s.chains = 8;
    for (unsigned k = 1; k <= HALVINGS; k++) {
        s.ints = ((unsigned)FPS << k) - FPS - LOOP;
        snprintf(name, sizeof name, "fp 1/%u", 1U << k);
        add_ceiling(p, CARM_CEILING_MIX, CARM_CEILING_CORE, name, &s, 1);
    }
}

/* ---- memory: A.1.2 ---- */

static struct carm_code_spec streaming(const struct ceilings *p, enum carm_kind kind,
                                       unsigned loads, unsigned stores)
{
    const unsigned vector = carm_isa_vector_bytes(p->isa, p->precision);
    struct carm_code_spec s = {.kind = kind,
                               .isa = p->isa,
                               .precision = p->precision,
                               .mix = {.loads = loads, .stores = stores},
                               .units = 8};
    if (s.units * vector < LINE_BYTES) { /* an iteration needs whole lines */
        s.units = LINE_BYTES / vector;
    }
    if (kind == CARM_KIND_C) {
        s.op = carm_cpu_has_op(p->cpu, p->isa, p->precision, CARM_FMA) ? CARM_FMA : CARM_MAD;
        s.fps = 16;
        s.chains = 8;
    }
    return s;
}

/* Adds a stream without software prefetch, and the best of several prefetch distances, among them
 * no prefetch: prefetching slows a processor that prefetches well by itself. */
static void add_tuned(struct ceilings *p, enum carm_ceiling_group group, const char *name,
                      struct carm_code_spec s)
{
    static const unsigned distances[] = {0, 1024, 512, 2048, 4096};
    struct carm_code_spec codes[CARM_CEILING_CANDIDATES];
    const size_t n = p->config->quick ? 2 : sizeof distances / sizeof *distances;
    char without[64];
    for (size_t i = 0; i < n; i++) {
        codes[i] = s;
        codes[i].prefetch_bytes = distances[i];
    }
    add_ceiling(p, group, CARM_CEILING_DRAM, name, codes, n);
    if (group == CARM_CEILING_MEMORY) {
        snprintf(without, sizeof without, "%s no-prefetch", name);
        add_ceiling(p, group, CARM_CEILING_DRAM, without, codes, 1);
    }
}

static void add_streams(struct ceilings *p)
{
    const enum carm_ceiling_group group = CARM_CEILING_MEMORY;
    struct carm_code_spec dot = streaming(p, CARM_KIND_C, 2, 0);
    struct carm_code_spec copy = streaming(p, CARM_KIND_A, 1, 1);
    struct carm_code_spec loads = streaming(p, CARM_KIND_A, 1, 0);
    struct carm_code_spec random = streaming(p, CARM_KIND_R, 1, 0);
    dot.streams = 2;
    copy.streams = 2;
    random.mix = (struct carm_mix){.loads = 0};
    random.units = 8;
    add_tuned(p, group, "dot", dot);
    add_tuned(p, group, "copy", copy);
    copy.mix.nontemporal = true;
    add_ceiling(p, group, CARM_CEILING_DRAM, "copy nt", &copy, 1);
    loads.stride = 2;
    add_ceiling(p, group, CARM_CEILING_FAR, "jump 2", &loads, 1);
    loads.stride = 8;
    add_ceiling(p, group, CARM_CEILING_FAR, "jump 8", &loads, 1);
    add_ceiling(p, group, CARM_CEILING_FAR, "random", &random, 1);
}

size_t carm_ceilings_plan(const struct carm_build_config *config, const struct carm_cpu *cpu,
                          struct carm_ceiling_point *points)
{
    struct ceilings p = {.config = config,
                         .cpu = cpu,
                         .isa = config->isas[0],
                         .precision = carm_build_ceilings_precision(config),
                         .points = points};
    if (config->ceilings[CARM_CEILING_IN_CORE]) {
        add_in_core(&p);
    }
    if (config->ceilings[CARM_CEILING_MIX]) {
        add_mix(&p);
    }
    if (config->ceilings[CARM_CEILING_MEMORY]) {
        add_streams(&p);
    } else if (config->ceilings[CARM_CEILING_TRAFFIC]) {
        struct carm_code_spec dot = streaming(&p, CARM_KIND_C, 2, 0);
        dot.streams = 2;
        add_tuned(&p, CARM_CEILING_TRAFFIC, "dot", dot);
    }
    return p.n;
}

/* ---- A.2 ---- */

size_t carm_ceilings_parts(int n, int *out)
{
    size_t found = 0;
    int part = 1;
    while (part <= (n - 1) / 2) {
        part *= 2;
    }
    for (; n > 1 && part >= 1 && found < 32; part /= 2) {
        out[found++] = part;
    }
    return found;
}

void carm_ceilings_share(int part, int n, char name[32])
{
    int a = n;
    int b = part;
    while (b != 0) {
        const int rest = a % b;
        a = b;
        b = rest;
    }
    snprintf(name, 32, "%d/%d", part / a, n / a);
}

/* ---- all codes of a build ---- */

/* Adds the codes of ceilings that are not in specs[n] yet. returns the new number of specs */
static size_t add_ceilings(const struct carm_build_config *config, const struct carm_cpu *cpu,
                           struct carm_code_spec *specs, size_t n)
{
    struct carm_ceiling_point points[CARM_CEILING_POINTS_MAX];
    const size_t npoints = carm_ceilings_plan(config, cpu, points);
    for (size_t i = 0; i < npoints; i++) {
        for (size_t k = 0; k < points[i].ncodes; k++) {
            char name[CARM_CODE_NAME_MAX];
            char other[CARM_CODE_NAME_MAX];
            bool found = false;
            carm_code_name(&points[i].codes[k], name);
            for (size_t s = 0; s < n && !found; s++) {
                carm_code_name(&specs[s], other);
                found = strcmp(name, other) == 0;
            }
            if (!found) {
                specs[n++] = points[i].codes[k];
            }
        }
    }
    return n;
}

size_t carm_build_plan_room(const struct carm_build_config *config)
{
    return 1 +
           config->nisas * config->nprecisions * (config->nmixes + config->nops) *
               CARM_CANDIDATES_MAX +
           CARM_CEILING_CODES_MAX;
}

/* Whether 2fma+add is to be measured among the candidates of fma+add. */
static bool has_both_mixtures(const struct carm_build_config *config)
{
    bool one = false;
    bool two = false;
    for (size_t o = 0; o < config->nops; o++) {
        one = one || config->ops[o] == CARM_FMA_ADD;
        two = two || config->ops[o] == CARM_FMA2_ADD;
    }
    return one && two;
}

size_t carm_build_plan_specs(const struct carm_build_config *config, const struct carm_cpu *cpu,
                             struct carm_code_spec *specs, size_t *nroofs)
{
    size_t n = 0;
    specs[n++] = (struct carm_code_spec){.kind = CARM_KIND_EMPTY, .units = 1};
    for (size_t i = 0; i < config->nisas; i++) {
        for (size_t p = 0; p < config->nprecisions; p++) {
            struct carm_code_spec base = {.isa = config->isas[i],
                                          .precision = config->precisions[p]};
            if (!carm_cpu_has_precision(cpu, base.isa, base.precision) ||
                !carm_build_wants_compute(config, i, p)) {
                continue;
            }
            for (size_t m = 0; m < config->nmixes && p < config->nleading; m++) {
                if (i >= config->nwhole && config->mixes[m].nontemporal) {
                    continue; /* not in L1 */
                }
                base.kind = CARM_KIND_A;
                base.mix = config->mixes[m];
                if (carm_isa_has_mix(base.isa, &base.mix)) {
                    n += add_memory(config, specs + n, &base);
                }
            }
            memset(&base.mix, 0, sizeof base.mix);
            for (size_t o = 0; o < config->nops; o++) {
                base.kind = CARM_KIND_B;
                base.op = config->ops[o];
                if (base.op == CARM_FMA2_ADD && has_both_mixtures(config)) {
                    continue; /* its codes are in fma+add already */
                }
                if (carm_build_wants_op(config, cpu, i, p, base.op)) {
                    n += add_compute(specs + n, &base);
                }
            }
        }
    }
    *nroofs = n;
    return add_ceilings(config, cpu, specs, n);
}

/* Marks the codes that only a search has. specs: room for the plan, overwritten */
static int mark_searched(struct carm_build_plan *plan, const struct carm_build_config *config,
                         const struct carm_cpu *cpu, struct carm_code_spec *specs,
                         struct carm_err *err)
{
    struct carm_build_config usual = *config;
    size_t nroofs = 0;
    usual.found = NULL;
    plan->searched = calloc(plan->image->n, sizeof *plan->searched);
    if (!plan->searched) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to plan the test codes");
    }
    carm_build_plan_specs(&usual, cpu, specs, &nroofs);
    for (size_t i = 0, k = 0; i < plan->nroofs; i++) { /* both plans have the same order */
        char name[CARM_CODE_NAME_MAX] = "";
        if (k < nroofs) {
            carm_code_name(&specs[k], name);
        }
        plan->searched[i] = strcmp(name, plan->image->codes[i].name) != 0;
        k += !plan->searched[i];
    }
    return 0;
}

bool carm_build_plan_is_searched(const struct carm_build_plan *plan, const struct carm_code *code)
{
    return plan->searched[code - plan->image->codes];
}

int carm_build_plan_open(struct carm_build_plan *plan, const struct carm_build_config *config,
                         const struct carm_cpu *cpu, struct carm_err *err)
{
    struct carm_code_spec *specs = calloc(carm_build_plan_room(config), sizeof *specs);
    memset(plan, 0, sizeof *plan);
    if (!specs) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to plan the test codes");
    }
    const size_t n = carm_build_plan_specs(config, cpu, specs, &plan->nroofs);
    int rc = carm_image_open(&plan->image, specs, n, err);
    plan->empty = rc ? NULL : &plan->image->codes[0];
    rc = rc ? rc : mark_searched(plan, config, cpu, specs, err);
    free(specs);
    if (rc) {
        carm_build_plan_close(plan);
    }
    return rc;
}

void carm_build_plan_close(struct carm_build_plan *plan)
{
    carm_image_close(plan->image);
    free(plan->searched);
    memset(plan, 0, sizeof *plan);
}

size_t carm_build_plan_memory(const struct carm_build_plan *plan, enum carm_isa isa,
                              enum carm_precision precision, const struct carm_mix *mix,
                              bool first_level, const struct carm_code **out)
{
    size_t n = 0;
    for (size_t i = 0; i < plan->nroofs && n < CARM_CANDIDATES_MAX; i++) {
        const struct carm_code_spec *s = &plan->image->codes[i].spec;
        if (s->kind == CARM_KIND_A && s->isa == isa && s->precision == precision &&
            carm_mix_equal(&s->mix, mix) && !(first_level && s->prefetch_bytes)) {
            out[n++] = &plan->image->codes[i];
        }
    }
    return n;
}

size_t carm_build_plan_compute(const struct carm_build_plan *plan, enum carm_isa isa,
                               enum carm_precision precision, enum carm_op op,
                               const struct carm_code **out)
{
    size_t n = 0;
    for (size_t i = 0; i < plan->nroofs && n < CARM_CANDIDATES_MAX; i++) {
        const struct carm_code_spec *s = &plan->image->codes[i].spec;
        const bool ratio = op == CARM_FMA_ADD && s->op == CARM_FMA2_ADD;
        if (s->kind == CARM_KIND_B && s->isa == isa && s->precision == precision &&
            (s->op == op || ratio)) {
            out[n++] = &plan->image->codes[i];
        }
    }
    return n;
}
