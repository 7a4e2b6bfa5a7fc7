/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/validate_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "models/file/select.h"
#include "harness/team.h"
#include "models/roofline.h"

enum {
    REPS_QUICK = 1024,
    REPS_MIN = 16,
    REPS_MAX = CARM_MAX_REPS,
};

const struct carm_compute_roof *carm_validate_fastest(const struct carm_roofs *roofs)
{
    const struct carm_compute_roof *fastest = carm_roofs_find_peak(roofs);
    const struct carm_compute_roof *fma = carm_roofs_find_compute(roofs, "fma");
    return fma && fma->rate > 0.99 * fastest->rate ? fma : fastest;
}

bool carm_validate_wants_level(const struct carm_validate_plan *plan, const char *level)
{
    for (size_t i = 0; i < plan->nlevels; i++) {
        if (strcmp(plan->levels[i], level) == 0) {
            return true;
        }
    }
    return plan->nlevels == 0;
}

static int parse_levels(struct carm_validate_plan *plan, const struct carm_model *model,
                        const char *list, struct carm_err *err)
{
    if (list && !*list) {
        return carm_fail(err, CARM_EINVAL, "--levels needs at least one name, such as L1");
    }
    while (list && *list) {
        const size_t len = strcspn(list, ",");
        size_t k = 0;
        while (k < model->nlevels && !(strlen(model->levels[k].level) == len &&
                                       strncmp(model->levels[k].level, list, len) == 0)) {
            k++;
        }
        if (k == model->nlevels || plan->nlevels == CARM_VALIDATE_LEVELS_MAX) {
            return carm_fail(err, CARM_EINVAL, "--levels: the model has no level '%.*s'",
                             (int)(len < 64 ? len : 64), list);
        }
        memcpy(plan->levels[plan->nlevels++], model->levels[k].level, CARM_NAME_MAX);
        list += len + (list[len] == ',');
    }
    return 0;
}

/* index of the target, added when it is new */
static int find_target(struct carm_validate_plan *plan, const struct carm_plan_target *target,
                       size_t *index, struct carm_err *err)
{
    for (*index = 0; *index < plan->ntargets; (*index)++) {
        const struct carm_plan_target *t = &plan->targets[*index];
        if (t->isa == target->isa && t->precision == target->precision && t->op == target->op) {
            return 0;
        }
    }
    if (plan->ntargets == CARM_PLAN_TARGETS_MAX) {
        return carm_fail(err, CARM_EINVAL,
                         "these are too many combinations of ISA, precision and operation: name "
                         "fewer with --isa and --ops");
    }
    plan->targets[plan->ntargets++] = *target;
    return 0;
}

static int add_set(struct carm_validate_plan *plan, const struct carm_model *model, size_t roofs,
                   const char *op, const struct carm_cpu *cpu, struct carm_err *err)
{
    const struct carm_roofs *r = &model->roofs[roofs];
    struct carm_plan_target target;
    size_t index = 0;
    int rc = carm_isa_parse(r->isa, &target.isa, err);
    rc = rc ? rc : carm_precision_parse(r->precision, &target.precision, err);
    rc = rc ? rc : carm_op_parse(op, &target.op, err);
    if (rc) {
        struct carm_err why = *err;
        return carm_fail(err, CARM_EFORMAT, "roofs[%zu]: %s", roofs, why.text);
    }
    rc = carm_cpu_check(cpu, target.isa, err);
    if (!rc && !carm_cpu_has_op(cpu, target.isa, target.op)) {
        rc = carm_fail(err, CARM_ENOTSUP,
                       "this CPU or its OS has no %s in %s: choose other operations with --ops", op,
                       r->isa);
    }
    rc = rc ? rc : find_target(plan, &target, &index, err);
    for (size_t i = 0; i < plan->nsets && !rc; i++) {
        if (plan->sets[i].roofs == roofs && plan->sets[i].target == index) {
            return 0; /* asked for twice */
        }
    }
    if (!rc && plan->nsets == CARM_VALIDATE_SETS_MAX) {
        rc = carm_fail(err, CARM_EINVAL,
                       "at most %d sets in one validation: name some with --isa, "
                       "--threads and --ops",
                       CARM_VALIDATE_SETS_MAX);
    }
    if (!rc) {
        plan->sets[plan->nsets].roofs = roofs;
        plan->sets[plan->nsets++].target = index;
    }
    return rc;
}

/* The operations of one set of roofs: its fastest, or those asked for that it has. */
static int add_sets(struct carm_validate_plan *plan, const struct carm_model *model, size_t roofs,
                    const char *ops, const struct carm_cpu *cpu, struct carm_err *err)
{
    const struct carm_roofs *r = &model->roofs[roofs];
    const struct carm_compute_roof *fastest = carm_validate_fastest(r);
    int rc = 0;
    if (!ops) {
        return fastest ? add_set(plan, model, roofs, fastest->op, cpu, err) : 0;
    }
    while (*ops && !rc) {
        char op[CARM_NAME_MAX] = "";
        const size_t len = strcspn(ops, ",");
        enum carm_op known;
        memcpy(op, ops, len < sizeof op ? len : sizeof op - 1);
        rc = carm_op_parse(op, &known, err);
        if (!rc && carm_roofs_find_compute(r, op)) {
            rc = add_set(plan, model, roofs, op, cpu, err);
        }
        ops += len + (ops[len] == ',');
    }
    return rc;
}

/* Whether every operation asked for has come into some set: one that none has was meant otherwise. */
static int check_ops(const struct carm_validate_plan *plan, const char *ops, struct carm_err *err)
{
    for (; ops && *ops; ops += ops[strcspn(ops, ",")] ? strcspn(ops, ",") + 1 : strlen(ops)) {
        const size_t len = strcspn(ops, ",");
        size_t k = 0;
        while (k < plan->ntargets && !(strlen(carm_op_name(plan->targets[k].op)) == len &&
                                       strncmp(carm_op_name(plan->targets[k].op), ops, len) == 0)) {
            k++;
        }
        if (k == plan->ntargets) {
            return carm_fail(err, CARM_EINVAL,
                             "--ops: no set asked for has a roof of %.*s: `carm show` lists what "
                             "the model has, `carm build --ops` measures others",
                             (int)len, ops);
        }
    }
    return 0;
}

static int parse_reps(struct carm_validate_plan *plan, const struct carm_model *model,
                      const struct carm_validate_words *words, struct carm_err *err)
{
    plan->quick = words->quick != NULL;
    plan->reps = plan->quick ? REPS_QUICK : (size_t)model->config.reps;
    if (words->reps) {
        char *end = NULL;
        errno = 0;
        const unsigned long n = strtoul(words->reps, &end, 10);
        if (errno || *end || words->reps[0] < '0' || words->reps[0] > '9' || n < REPS_MIN ||
            n > REPS_MAX) {
            return carm_fail(err, CARM_EINVAL, "--reps is a number from %d to %d", REPS_MIN,
                             REPS_MAX);
        }
        plan->reps = n;
    }
    if (plan->reps < REPS_MIN || plan->reps > REPS_MAX) {
        return carm_fail(err, CARM_EINVAL,
                         "the model's %zu repetitions are not between %d and %d: "
                         "give --reps",
                         plan->reps, REPS_MIN, REPS_MAX);
    }
    return 0;
}

int carm_validate_plan_make(struct carm_validate_plan *plan, const struct carm_model *model,
                            const struct carm_validate_words *words, const struct carm_cpu *cpu,
                            const struct carm_topo *topo, struct carm_err *err)
{
    struct carm_select sel;
    memset(plan, 0, sizeof *plan);
    int rc = carm_select_parse(&sel, words->isa, words->threads, err);
    rc = rc ? rc : carm_select_check(&sel, model, err);
    rc = rc ? rc : parse_levels(plan, model, words->levels, err);
    if (!rc && words->ops && !*words->ops) {
        rc = carm_fail(err, CARM_EINVAL, "--ops needs at least one name, such as fma");
    }
    rc = rc ? rc : parse_reps(plan, model, words, err);
    for (size_t i = 0; i < model->nroofs && !rc; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        if (!carm_select_has(&sel, r->isa, r->threads)) {
            continue;
        }
        rc = carm_topo_check_threads(topo, r->threads, err);
        if (rc) {
            struct carm_err why = *err;
            return carm_fail(err, CARM_ENOTSUP,
                             "roofs[%zu] of the model are of %d threads: %s; choose with --threads",
                             i, r->threads, why.text);
        }
        rc = add_sets(plan, model, i, words->ops, cpu, err);
    }
    rc = rc ? rc : check_ops(plan, words->ops, err);
    if (!rc && plan->nsets == 0) {
        rc = carm_fail(err, CARM_EINVAL,
                       "the model has no compute roof for the sets asked for: `carm show` lists "
                       "what it has, `carm build` measures others");
    }
    return rc;
}
