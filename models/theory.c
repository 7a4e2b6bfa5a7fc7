/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/theory.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const struct carm_microarchitecture *carm_theory_find_cpu(const struct carm_theory_table *table,
                                                          const char *vendor, int family, int model)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct carm_microarchitecture *m = &table->entries[i];
        for (size_t j = 0; j < m->ncpuid && strcmp(m->vendor, vendor) == 0; j++) {
            const struct carm_theory_range *range = &m->cpuid[j];
            if (range->family == family && range->first <= model && model <= range->last)
                return m;
        }
    }
    return NULL;
}

int carm_theory_find_name(const struct carm_theory_table *table, const char *name,
                          const struct carm_microarchitecture **entry, struct carm_err *err)
{
    char names[360] = "";
    size_t used = 0;
    bool cut = false;
    *entry = NULL;
    for (size_t i = 0; i < table->n; i++) {
        const char *one = table->entries[i].name;
        if (strcasecmp(one, name) == 0) {
            *entry = &table->entries[i];
            return 0;
        }
        cut = cut || used + strlen(one) + sizeof ", \"\"" > sizeof names;
        if (!cut)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s\"%s\"",
                                     used ? ", " : "", one);
    }
    return carm_fail(err, CARM_EINVAL, "no microarchitecture \"%.40s\" is known; there are %s%s",
                     name, names, cut ? ", ..." : "");
}

static const struct carm_theory_rates *rates_of(const struct carm_microarchitecture *m,
                                                unsigned vector_bytes)
{
    switch (vector_bytes) {
    case 4:
    case 8:
        return &m->widths[0];
    case 16:
        return &m->widths[1];
    case 32:
        return &m->widths[2];
    case 64:
        return &m->widths[3];
    default:
        return NULL;
    }
}

double carm_theory_l1(const struct carm_microarchitecture *m, unsigned vector_bytes, unsigned loads,
                      unsigned stores)
{
    const struct carm_theory_rates *w = rates_of(m, vector_bytes);
    const double both = (double)loads + (double)stores;
    if (!w || both == 0)
        return 0;
    if ((loads && w->loads == 0) || (stores && w->stores == 0))
        return 0;
    if (loads && stores && w->accesses == 0)
        return 0;
    double cycles = 0;
    if (loads)
        cycles = fmax(cycles, loads / w->loads);
    if (stores)
        cycles = fmax(cycles, stores / w->stores);
    if (w->accesses > 0)
        cycles = fmax(cycles, both / w->accesses);
    return both * vector_bytes / cycles;
}

double carm_theory_flops(const struct carm_microarchitecture *m, unsigned vector_bytes,
                         unsigned lanes, const char *op)
{
    const struct carm_theory_rates *w = rates_of(m, vector_bytes);
    if (!w)
        return 0;
    const double multiply = w->mul + w->mul_or_add;
    const double add = w->add + w->mul_or_add;
    if (strcmp(op, "fma") == 0)
        return 2 * w->fma * lanes;
    if (strcmp(op, "mul") == 0)
        return multiply * lanes;
    if (strcmp(op, "add") == 0)
        return add * lanes;
    if (strcmp(op, "mad") != 0)
        return 0;
    /* instructions a cycle; only mad keeps more pipes busy than rename may feed */
    const double rate = fmin(2 * fmin(multiply, add), w->mul + w->add + w->mul_or_add);
    return (m->issue > 0 ? fmin(rate, m->issue) : rate) * lanes;
}
