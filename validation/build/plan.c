/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/build/plan.h"

#include <stdlib.h>
#include <string.h>

#include "validation/build/ceilings_plan.h"

/* Loops of some 12 to 48 accesses run best: shorter ones pay for the loop, longer ones leave the
 * window in which the core finds work. */
static const struct {
    unsigned accesses, prefetch_bytes;
    enum carm_order order;
} memory_variants[] = {
    {12, 0, CARM_ORDER_UNIT},    {18, 0, CARM_ORDER_UNIT},    {24, 0, CARM_ORDER_UNIT},
    {48, 0, CARM_ORDER_UNIT},    {24, 256, CARM_ORDER_UNIT},  {24, 512, CARM_ORDER_UNIT},
    {24, 1024, CARM_ORDER_UNIT}, {24, 2048, CARM_ORDER_UNIT}, {24, 4096, CARM_ORDER_UNIT},
    {12, 0, CARM_ORDER_BLOCK},   {24, 0, CARM_ORDER_BLOCK},   {30, 0, CARM_ORDER_BLOCK},
};

/* Chains: latency x pipes must be covered; rounds: the loop's own two instructions are spread. */
static const struct {
    unsigned chains, rounds;
} compute_variants[] = {{8, 3},  {8, 6},  {10, 2}, {10, 4}, {10, 8},
                        {12, 4}, {14, 4}, {14, 8}, {16, 3}, {20, 4}};

static size_t add_memory(struct carm_code_spec *out, const struct carm_code_spec *base)
{
    size_t n = 0;
    const struct carm_mix *mix = &base->mix;
    for (size_t i = 0; i < sizeof memory_variants / sizeof *memory_variants; i++) {
        struct carm_code_spec s = *base;
        unsigned per_unit = mix->update ? 2 : mix->loads + mix->stores;
        s.units =
            memory_variants[i].accesses / per_unit ? memory_variants[i].accesses / per_unit : 1;
        s.prefetch_bytes = memory_variants[i].prefetch_bytes;
        s.order = memory_variants[i].order;
        bool pure = mix->update || mix->loads == 0 || mix->stores == 0;
        if ((s.order == CARM_ORDER_BLOCK && pure) ||
            (s.prefetch_bytes && mix->nontemporal && mix->loads == 0)) {
            continue; /* the same code again, or a prefetch of lines that are not wanted */
        }
        out[n++] = s;
    }
    return n;
}

static size_t add_compute(struct carm_code_spec *out, const struct carm_code_spec *base)
{
    size_t n = 0;
    for (size_t i = 0; i < sizeof compute_variants / sizeof *compute_variants; i++) {
        struct carm_code_spec s = *base;
        s.chains = compute_variants[i].chains;
        s.fps = 2 * s.chains * compute_variants[i].rounds;
        if (s.chains <= carm_code_max_chains(&s)) {
            out[n++] = s;
        }
    }
    return n;
}

/* Codes of ceilings that are not among specs[n] yet. returns how many there are then */
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

size_t carm_build_plan_specs(const struct carm_build_config *config, const struct carm_cpu *cpu,
                             struct carm_code_spec *specs, size_t *nroofs)
{
    size_t n = 0;
    specs[n++] = (struct carm_code_spec){.kind = CARM_KIND_EMPTY, .units = 1};
    for (size_t i = 0; i < config->nisas; i++) {
        for (size_t p = 0; p < config->nprecisions; p++) {
            struct carm_code_spec base = {.isa = config->isas[i],
                                          .precision = config->precisions[p]};
            for (size_t m = 0; m < config->nmixes; m++) {
                base.kind = CARM_KIND_A;
                base.mix = config->mixes[m];
                n += add_memory(specs + n, &base);
            }
            memset(&base.mix, 0, sizeof base.mix);
            for (size_t o = 0; o < config->nops; o++) {
                base.kind = CARM_KIND_B;
                base.op = config->ops[o];
                if (carm_cpu_has_op(cpu, base.isa, base.op)) {
                    n += add_compute(specs + n, &base);
                }
            }
        }
    }
    *nroofs = n;
    return add_ceilings(config, cpu, specs, n);
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
    const int rc = carm_image_open(&plan->image, specs, n, err);
    free(specs);
    if (!rc) {
        plan->empty = &plan->image->codes[0];
    }
    return rc;
}

void carm_build_plan_close(struct carm_build_plan *plan)
{
    carm_image_close(plan->image);
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
        if (s->kind == CARM_KIND_B && s->isa == isa && s->precision == precision && s->op == op) {
            out[n++] = &plan->image->codes[i];
        }
    }
    return n;
}
