/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/validate/config.h"

#include <string.h>

#include "harness/machine/buffer.h"
#include "harness/machine/team.h"
#include "models/file/select.h"
#include "models/roofline.h"

const struct carm_compute_roof *carm_validate_fastest(const struct carm_roofs *roofs)
{
    const struct carm_compute_roof *fastest = carm_roofs_find_plain_peak(roofs);
    const struct carm_compute_roof *fma = carm_roofs_find_compute(roofs, "fma");
    return fma && fma->rate > 0.99 * fastest->rate ? fma : fastest;
}

struct reading {
    struct carm_validate_config *config;
    const struct carm_model *model;
    const struct carm_cpu *cpu;
    size_t roofs; /* argument of take_op: index of the set of roofs */
};

static int take_level(void *to, const char *word, struct carm_err *err)
{
    struct reading *r = to;
    struct carm_level_list *levels = &r->config->levels;
    for (size_t k = 0; k < r->model->nlevels; k++) {
        if (strcmp(r->model->levels[k].level, word) == 0) {
            memcpy(levels->names[levels->n++], r->model->levels[k].level, CARM_NAME_MAX);
            return 0;
        }
    }
    return carm_fail(err, CARM_EINVAL, "--levels: the model has no level '%.64s'", word);
}

/* index of the target, added when it is new */
static int find_target(struct carm_validate_config *config, const struct carm_plan_target *target,
                       size_t *index, struct carm_err *err)
{
    for (*index = 0; *index < config->ntargets; (*index)++) {
        const struct carm_plan_target *t = &config->targets[*index];
        if (t->isa == target->isa && t->precision == target->precision && t->op == target->op) {
            return 0;
        }
    }
    if (config->ntargets == CARM_PLAN_TARGETS_MAX) {
        return carm_fail(err, CARM_EINVAL,
                         "these are too many combinations of ISA, precision and operation: name "
                         "fewer with --isa and --ops");
    }
    config->targets[config->ntargets++] = *target;
    return 0;
}

static int add_set(struct carm_validate_config *config, const struct carm_model *model,
                   size_t roofs, const char *op, const struct carm_cpu *cpu, struct carm_err *err)
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
    if (!rc && !carm_cpu_has_op(cpu, target.isa, target.precision, target.op)) {
        rc = carm_fail(err, CARM_ENOTSUP,
                       "this CPU or its OS has no %s in %s: choose other operations with --ops", op,
                       r->isa);
    }
    rc = rc ? rc : find_target(config, &target, &index, err);
    for (size_t i = 0; i < config->nsets && !rc; i++) {
        if (config->sets[i].roofs == roofs && config->sets[i].target == index) {
            return 0; /* requested twice */
        }
    }
    if (!rc && config->nsets == CARM_VALIDATE_SETS_MAX) {
        rc = carm_fail(err, CARM_EINVAL,
                       "at most %d sets in one validation: name some with --isa, "
                       "--threads and --ops",
                       CARM_VALIDATE_SETS_MAX);
    }
    if (!rc) {
        config->sets[config->nsets].roofs = roofs;
        config->sets[config->nsets++].target = index;
    }
    return rc;
}

/* Adds a set when the roofs have the operation. */
static int take_op(void *to, const char *word, struct carm_err *err)
{
    struct reading *r = to;
    enum carm_op op;
    const int rc = carm_op_parse(word, &op, err);
    return rc || !carm_roofs_find_compute(&r->model->roofs[r->roofs], word)
               ? rc
               : add_set(r->config, r->model, r->roofs, word, r->cpu, err);
}

/* Refuses an operation that no set has. */
static int check_op(void *to, const char *word, struct carm_err *err)
{
    const struct carm_validate_config *config = ((struct reading *)to)->config;
    for (size_t k = 0; k < config->ntargets; k++) {
        if (strcmp(carm_op_name(config->targets[k].op), word) == 0) {
            return 0;
        }
    }
    return carm_fail(
        err, CARM_EINVAL,
        "--ops: no set asked for has a roof of %.32s: `carm show` lists what the model "
        "has, `carm build --ops` measures others",
        word);
}

/* Adds the operations of one set of roofs: the fastest, or the requested operations that the set
 * has. */
static int add_sets(struct reading *r, const char *ops, struct carm_err *err)
{
    const struct carm_compute_roof *fastest = carm_validate_fastest(&r->model->roofs[r->roofs]);
    if (ops) {
        return carm_list_each(ops, "ops", take_op, r, err);
    }
    return fastest ? add_set(r->config, r->model, r->roofs, fastest->op, r->cpu, err) : 0;
}

/* Whether a set can be validated on the requested levels: it needs a roof of the model's mix for
 * each resolved level, and at least one. */
static int check_set(const struct carm_validate_config *config, const struct carm_model *m,
                     size_t roofs, struct carm_err *err)
{
    const struct carm_roofs *r = &m->roofs[roofs];
    size_t usable = 0;
    for (size_t l = 0; l < m->nlevels; l++) {
        const char *level = m->levels[l].level;
        if (!carm_level_list_has(&config->levels, level)) {
            continue;
        }
        const struct carm_memory_roof *roof = carm_roofs_find_memory(r, level, m->config.ldst);
        if (roof && roof->working_set_bytes > carm_memory_available()) {
            return carm_fail(err, CARM_ENOTSUP,
                             "roofs[%zu] (%s, %d thread%s): the working set of %s takes %llu MiB, "
                             "%llu MiB are available: leave it out with --levels",
                             roofs, r->isa, r->threads, r->threads == 1 ? "" : "s", level,
                             (unsigned long long)(roof->working_set_bytes >> 20),
                             (unsigned long long)(carm_memory_available() >> 20));
        }
        if (roof) {
            usable++;
        } else if (m->levels[l].resolved) {
            return carm_fail(
                err, CARM_EFORMAT,
                "roofs[%zu] (%s, %d thread%s) has no %s roof with the model's mix %s, "
                "though levels[%zu] is resolved: `carm build` measures it, or name the "
                "levels to validate with --levels",
                roofs, r->isa, r->threads, r->threads == 1 ? "" : "s", level, m->config.ldst, l);
        }
    }
    if (usable == 0) {
        return carm_fail(err, CARM_EFORMAT,
                         "roofs[%zu] (%s, %d thread%s) has no memory roof with the model's mix %s "
                         "for any level asked for: `carm build` measures them",
                         roofs, r->isa, r->threads, r->threads == 1 ? "" : "s", m->config.ldst);
    }
    return 0;
}

static int parse_reps(struct carm_validate_config *config, const struct carm_model *model,
                      const struct carm_validate_words *words, struct carm_err *err)
{
    config->quick = words->quick != NULL;
    config->reps = config->quick ? CARM_REPS_QUICK : (size_t)model->config.reps;
    int rc = carm_reps_parse(words->reps, &config->reps, err);
    rc = rc ? rc
            : carm_budget_parse(words->budget, CARM_BUDGET_VALIDATE, config->quick, config->reps,
                                &config->budget_seconds, err);
    if (!rc && (config->reps < CARM_REPS_MIN || config->reps > CARM_MAX_REPS)) {
        return carm_fail(err, CARM_EINVAL,
                         "the model's %zu repetitions are not between %d and %d: "
                         "give --reps",
                         config->reps, CARM_REPS_MIN, CARM_MAX_REPS);
    }
    return rc;
}

/* Whether a set is of tiles, which are not validated: the grid's intensities suit vectors. 2^-8
 * flop/byte would take 8 MiB of tiles for two products. */
static bool is_of_tiles(const struct carm_roofs *roofs)
{
    enum carm_isa isa = CARM_SCALAR;
    return carm_isa_parse(roofs->isa, &isa, NULL) == 0 && carm_isas[isa].columns > 0;
}

/* Finds the requested sets of roofs. */
static int find_sets(struct reading *r, const struct carm_validate_words *words,
                     const struct carm_select *sel, const struct carm_topo *topo,
                     struct carm_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < r->model->nroofs && !rc; i++) {
        const struct carm_roofs *roofs = &r->model->roofs[i];
        if (!carm_select_has(sel, roofs->isa, roofs->threads) ||
            (!sel->nisa && carm_model_has_wider(r->model, roofs)) ||
            (roofs->nmemory == 0 && carm_model_is_beside(r->model, roofs))) {
            continue;
        }
        rc = carm_topo_check_threads(topo, roofs->threads, err);
        if (rc) {
            struct carm_err why = *err;
            return carm_fail(err, CARM_ENOTSUP,
                             "roofs[%zu] of the model are of %d threads: %s; choose with --threads",
                             i, roofs->threads, why.text);
        }
        r->roofs = i;
        rc = is_of_tiles(roofs) ? 0 : add_sets(r, words->ops, err);
    }
    if (!rc && words->ops) {
        rc = carm_list_each(words->ops, "ops", check_op, r, err);
    }
    if (!rc && r->config->nsets == 0) {
        rc = carm_fail(err, CARM_EINVAL,
                       "the model has no compute roof for the sets asked for, or they are of "
                       "tiles (amx), which no validation has: `carm show` lists what it has, `carm "
                       "build` measures others");
    }
    for (size_t i = 0; i < r->config->nsets && !rc; i++) {
        rc = check_set(r->config, r->model, r->config->sets[i].roofs, err);
    }
    return rc;
}

int carm_validate_configure(struct carm_validate_config *config, const struct carm_model *model,
                            const struct carm_validate_words *words, const struct carm_cpu *cpu,
                            const struct carm_topo *topo, struct carm_err *err)
{
    struct carm_select sel;
    struct reading r = {.config = config, .model = model, .cpu = cpu};
    memset(config, 0, sizeof *config);
    int rc = carm_select_parse(&sel, words->isa, words->threads, err);
    rc = rc ? rc : carm_select_check(&sel, model, err);
    if (!rc && words->levels) {
        rc = carm_list_each(words->levels, "levels", take_level, &r, err);
    }
    rc = rc ? rc : parse_reps(config, model, words, err);
    return rc ? rc : find_sets(&r, words, &sel, topo, err);
}
