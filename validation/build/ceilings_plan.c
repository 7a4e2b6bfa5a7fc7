/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/build/ceilings_plan.h"

#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 64 };

struct plan {
    const struct carm_build_config *config;
    const struct carm_cpu *cpu;
    enum carm_isa isa; /* the widest asked for */
    enum carm_precision precision;
    struct carm_ceiling_point *points;
    size_t n;
};

/* Candidates that this processor cannot run or that cannot be generated are left out, and a point
 * without any. */
static void add(struct plan *p, enum carm_ceiling_group group, enum carm_ceiling_place place,
                const char *name, const struct carm_code_spec *codes, size_t ncodes)
{
    if (p->n == CARM_CEILING_POINTS_MAX) {
        return;
    }
    struct carm_ceiling_point *point = &p->points[p->n];
    memset(point, 0, sizeof *point);
    point->group = group;
    point->place = place;
    (void)snprintf(point->name, sizeof point->name, "%s", name);
    for (size_t i = 0; i < ncodes && point->ncodes < CARM_CEILING_CANDIDATES; i++) {
        const struct carm_code_spec *s = &codes[i];
        if (carm_code_check(s, NULL) == 0 &&
            (!carm_kind_has_flops(s->kind) || carm_cpu_has_op(p->cpu, s->isa, s->op))) {
            point->codes[point->ncodes++] = *s;
        }
    }
    p->n += point->ncodes > 0 ? 1 : 0;
}

/* ---- in-core: A.1.3 --------------------------------------------------------------------------- */

/* One chain: every operation waits for the one before. */
static void add_tlp(struct plan *p, enum carm_op op)
{
    char name[32];
    const struct carm_code_spec s = {.kind = CARM_KIND_B,
                                     .isa = CARM_SCALAR,
                                     .precision = p->precision,
                                     .op = op,
                                     .fps = 8,
                                     .chains = 1};
    (void)snprintf(name, sizeof name, "tlp %s", carm_op_name(op));
    add(p, CARM_CEILING_IN_CORE, CARM_CEILING_CORE, name, &s, 1);
}

/* As many chains as latency x pipes needs: 8 where both are 4 and 2. */
static void add_parallel(struct plan *p, const char *stage, enum carm_isa isa, enum carm_op op)
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
    (void)snprintf(name, sizeof name, "%s %s", stage, carm_op_name(op));
    add(p, CARM_CEILING_IN_CORE, CARM_CEILING_CORE, name, codes, n);
}

/* The operations of the balanced peak: fma, and mad where it may be the better one (a core whose
 * additions have ports of their own) or the only one. */
static void add_in_core(struct plan *p)
{
    static const struct {
        const char *stage;
        enum carm_isa isa, least; /* code's ISA, and the least one asked for that has this width */
    } stages[] = {{"ilp", CARM_SCALAR, CARM_SCALAR},
                  {"simd16", CARM_SSE, CARM_SSE},
                  {"simd32", CARM_AVX2, CARM_AVX2},
                  {"simd32", CARM_AVX, CARM_AVX},
                  {"simd64", CARM_AVX512, CARM_AVX512}};
    const bool fma = carm_cpu_has_op(p->cpu, CARM_SCALAR, CARM_FMA);
    add_tlp(p, CARM_ADD);
    add_tlp(p, fma ? CARM_FMA : CARM_MAD);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        const enum carm_isa isa = stages[i].isa;
        if (stages[i].least > p->isa || (isa == CARM_AVX && p->isa != CARM_AVX)) {
            continue; /* avx stands in for avx2 where only it was asked for */
        }
        const bool widest =
            carm_isa_vector_bytes(isa, p->precision) == carm_isa_vector_bytes(p->isa, p->precision);
        const bool has_fma = fma && carm_isa_has_op(isa, CARM_FMA);
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

/* ---- instruction mix: A.1.4 ------------------------------------------------------------------- */

/* Floating point, integer additions, and the loop's own instructions. */
static void add_mix(struct plan *p)
{
    enum { FPS = 16, LOOP = 3, HALVINGS = 4 };
    struct carm_code_spec s = {
        .kind = CARM_KIND_B,
        .isa = p->isa,
        .precision = p->precision,
        .op = carm_cpu_has_op(p->cpu, p->isa, CARM_FMA) ? CARM_FMA : CARM_MAD,
        .fps = 160,
        .chains = 10,
    };
    char name[32];
    add(p, CARM_CEILING_MIX, CARM_CEILING_CORE, "fp 1", &s, 1);
    s.fps = FPS;
    s.chains = 8;
    for (unsigned k = 1; k <= HALVINGS; k++) {
        s.ints = ((unsigned)FPS << k) - FPS - LOOP;
        (void)snprintf(name, sizeof name, "fp 1/%u", 1U << k);
        add(p, CARM_CEILING_MIX, CARM_CEILING_CORE, name, &s, 1);
    }
}

/* ---- memory: A.1.2 ---------------------------------------------------------------------------- */

static struct carm_code_spec streaming(const struct plan *p, enum carm_kind kind, unsigned loads,
                                       unsigned stores)
{
    const unsigned vector = carm_isa_vector_bytes(p->isa, p->precision);
    struct carm_code_spec s = {.kind = kind,
                               .isa = p->isa,
                               .precision = p->precision,
                               .mix = {.loads = loads, .stores = stores},
                               .units = 8};
    if (s.units * vector < LINE_BYTES) { /* whole lines in an iteration */
        s.units = LINE_BYTES / vector;
    }
    if (kind == CARM_KIND_C) {
        s.op = carm_cpu_has_op(p->cpu, p->isa, CARM_FMA) ? CARM_FMA : CARM_MAD;
        s.fps = 16;
        s.chains = 8;
    }
    return s;
}

/* A stream without software prefetch, and the best of it with several distances. None is among them:
 * a processor that prefetches well by itself loses by more. */
static void add_tuned(struct plan *p, enum carm_ceiling_group group, const char *name,
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
    add(p, group, CARM_CEILING_DRAM, name, codes, n);
    if (group == CARM_CEILING_MEMORY) {
        (void)snprintf(without, sizeof without, "%s no-prefetch", name);
        add(p, group, CARM_CEILING_DRAM, without, codes, 1);
    }
}

static void add_memory(struct plan *p)
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
    add(p, group, CARM_CEILING_DRAM, "copy nt", &copy, 1);
    loads.stride = 2;
    add(p, group, CARM_CEILING_FAR, "jump 2", &loads, 1);
    loads.stride = 8;
    add(p, group, CARM_CEILING_FAR, "jump 8", &loads, 1);
    add(p, group, CARM_CEILING_FAR, "random", &random, 1);
}

size_t carm_ceilings_plan(const struct carm_build_config *config, const struct carm_cpu *cpu,
                          struct carm_ceiling_point *points)
{
    struct plan p = {.config = config,
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
        add_memory(&p);
    } else if (config->ceilings[CARM_CEILING_TRAFFIC]) {
        struct carm_code_spec dot = streaming(&p, CARM_KIND_C, 2, 0);
        dot.streams = 2;
        add_tuned(&p, CARM_CEILING_TRAFFIC, "dot", dot);
    }
    return p.n;
}

/* ---- A.2 -------------------------------------------------------------------------------------- */

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
    (void)snprintf(name, 32, "%d/%d", part / a, n / a);
}
