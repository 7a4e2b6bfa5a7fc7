/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/ceilings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "models/model.h"

static const char *const group_names[CARM_CEILING_GROUP_COUNT] = {
    [CARM_CEILING_IN_CORE] = "in-core", [CARM_CEILING_MIX] = "mix",
    [CARM_CEILING_MEMORY] = "memory",   [CARM_CEILING_BUSY] = "busy",
    [CARM_CEILING_TRAFFIC] = "traffic",
};

const char *carm_ceiling_group_name(enum carm_ceiling_group group)
{
    return (unsigned)group < CARM_CEILING_GROUP_COUNT ? group_names[group] : "";
}

int carm_ceiling_group_parse(const char *name, enum carm_ceiling_group *group, struct carm_err *err)
{
    for (size_t i = 0; i < CARM_CEILING_GROUP_COUNT; i++) {
        if (strcmp(name, group_names[i]) == 0) {
            *group = (enum carm_ceiling_group)i;
            return 0;
        }
    }
    return carm_fail(err, CARM_EINVAL,
                     "unknown group of ceilings '%.32s': in-core, mix, memory, busy or traffic",
                     name);
}

const struct carm_ceiling_roof *carm_ceilings_find(const struct carm_roofs *roofs,
                                                   enum carm_ceiling_group group, const char *name)
{
    for (size_t i = 0; i < roofs->nceilings; i++) {
        const struct carm_ceiling_roof *c = &roofs->ceilings[i];
        if (c->group == group && strcmp(c->name, name) == 0) {
            return c;
        }
    }
    return NULL;
}

const struct carm_ceiling_roof *carm_ceilings_measured(const struct carm_roofs *roofs,
                                                       enum carm_ceiling_group group,
                                                       const char *name)
{
    const struct carm_ceiling_roof *c = carm_ceilings_find(roofs, group, name);
    return c && c->rate > 0.0 ? c : NULL;
}

const struct carm_ceiling_roof *carm_ceilings_best(const struct carm_roofs *roofs,
                                                   enum carm_ceiling_group group,
                                                   const char *prefix)
{
    const struct carm_ceiling_roof *best = NULL;
    for (size_t i = 0; i < roofs->nceilings; i++) {
        const struct carm_ceiling_roof *c = &roofs->ceilings[i];
        if (c->group == group && strncmp(c->name, prefix, strlen(prefix)) == 0 &&
            c->rate > (best ? best->rate : 0.0)) {
            best = c;
        }
    }
    return best;
}

/* ---- the next ceiling up ------------------------------------------------------------------------ */

/* In-core: width by width with one operation, then from additions alone to both.
 * source: Williams et al. 2009, A.1.3 */
static const struct carm_ceiling_roof *next_in_core(const struct carm_roofs *roofs,
                                                    const struct carm_ceiling_roof *c,
                                                    const char **by)
{
    static const struct {
        const char *name, *by;
    } steps[] = {
        {"tlp", ""}, {"ilp", "ILP"}, {"simd16", "SIMD"}, {"simd32", "SIMD"}, {"simd64", "SIMD"}};
    static const char *const both[] = {"fma", "mad"};
    enum { STEPS = sizeof steps / sizeof *steps };
    const char *op = strchr(c->name, ' ');
    const size_t length = op ? (size_t)(op - c->name) : 0;
    size_t at = 0;
    char name[CARM_NAME_MAX];
    while (at < STEPS &&
           (strlen(steps[at].name) != length || strncmp(steps[at].name, c->name, length) != 0)) {
        at++;
    }
    for (size_t i = at + 1; op && i < STEPS; i++) {
        (void)snprintf(name, sizeof name, "%s%.16s", steps[i].name, op);
        const struct carm_ceiling_roof *next =
            carm_ceilings_measured(roofs, CARM_CEILING_IN_CORE, name);
        if (next) {
            *by = i > 2 && at >= 2 ? "wider SIMD" : steps[i].by;
            return next;
        }
    }
    for (size_t i = 0; op && at < STEPS && i < 2; i++) {
        (void)snprintf(name, sizeof name, "%s %s", steps[at].name, both[i]);
        const struct carm_ceiling_roof *next =
            strcmp(op, " add") == 0 || strcmp(op, " mul") == 0
                ? carm_ceilings_measured(roofs, CARM_CEILING_IN_CORE, name)
                : NULL;
        if (next) {
            *by = i == 0 ? "FMA" : "balance";
            return next;
        }
    }
    return NULL;
}

/* The best streaming read is what loads with one optimisation less are set against. */
static const struct carm_ceiling_roof *next_memory(const struct carm_roofs *roofs,
                                                   const struct carm_ceiling_roof *c,
                                                   const char **by)
{
    static const struct {
        const char *name, *next, *by;
    } steps[] = {
        {"random", "dot", "order"},
        {"jump 8", "jump 2", "shorter strides"},
        {"jump 2", "dot", "unit stride"},
        {"no affinity", "dot", "affinity"},
        {"dot no-prefetch", "dot", "software prefetch"},
        {"copy no-prefetch", "copy", "software prefetch"},
        {"dot", "small set", "a smaller set"},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (strcmp(c->name, steps[i].name) == 0) {
            *by = steps[i].by;
            return carm_ceilings_measured(roofs, CARM_CEILING_MEMORY, steps[i].next);
        }
    }
    return NULL;
}

/* The slowest of the group that is faster: half the threads after a quarter of them. */
static const struct carm_ceiling_roof *next_faster(const struct carm_roofs *roofs,
                                                   const struct carm_ceiling_roof *c)
{
    const struct carm_ceiling_roof *next = NULL;
    for (size_t i = 0; i < roofs->nceilings; i++) {
        const struct carm_ceiling_roof *o = &roofs->ceilings[i];
        if (o->group == c->group && o->rate > c->rate && (!next || o->rate < next->rate)) {
            next = o;
        }
    }
    return next;
}

double carm_ceiling_gap(const struct carm_roofs *roofs, const struct carm_ceiling_roof *ceiling,
                        const char **by)
{
    const struct carm_ceiling_roof *next = NULL;
    *by = "";
    if (!(ceiling->rate > 0.0)) {
        return 0.0;
    }
    switch (ceiling->group) {
    case CARM_CEILING_IN_CORE:
        next = next_in_core(roofs, ceiling, by);
        break;
    case CARM_CEILING_MEMORY:
        next = next_memory(roofs, ceiling, by);
        break;
    case CARM_CEILING_MIX:
        *by = "a higher FP share";
        next = next_faster(roofs, ceiling);
        break;
    case CARM_CEILING_BUSY:
    case CARM_CEILING_TRAFFIC:
        *by = "more threads";
        next = next_faster(roofs, ceiling);
        if (!next) { /* all threads: what the set itself has */
            next = ceiling->group == CARM_CEILING_BUSY
                       ? carm_ceilings_best(roofs, CARM_CEILING_IN_CORE, "")
                       : carm_ceilings_measured(roofs, CARM_CEILING_MEMORY, "dot");
        }
        break;
    default:
        break;
    }
    return next ? next->rate / ceiling->rate : 0.0;
}

/* ---- growing ------------------------------------------------------------------------------------ */

int carm_ceilings_add(struct carm_roofs *roofs, const struct carm_ceiling_roof *ceiling,
                      struct carm_err *err)
{
    const int rc = carm_array_grow(&roofs->ceilings, NULL, roofs->nceilings, 1,
                                   sizeof *roofs->ceilings, "the model", err);
    if (!rc) {
        roofs->ceilings[roofs->nceilings++] = *ceiling;
    }
    return rc;
}
