/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work of every layer from its equation and shapes. */
#include "models/sol/draft.h"
#include "models/sol/equation.h"

/* All inputs, or the largest output: whichever are more elements. */
static int points_of_shapes(const struct carm_sol_draft *draft, struct carm_sol_layer *layer,
                            struct carm_err *err)
{
    const struct carm_sol_use *uses = draft->graph->uses + layer->uses;
    uint64_t all = 0;
    for (uint32_t i = 0; i < layer->inputs; i++) {
        if (uses[i].elements > (uint64_t)INT64_MAX - all) {
            return carm_sol_draft_refuse(draft, layer, 0, err,
                                         "its inputs have more than 2^63 - 1 elements");
        }
        all += uses[i].elements;
    }
    for (uint32_t i = layer->inputs; i < layer->inputs + layer->outputs; i++) {
        all = uses[i].elements > all ? uses[i].elements : all;
    }
    layer->points = all;
    return 0;
}

static int check_layer(const struct carm_sol_draft *draft, struct carm_sol_layer *layer,
                       struct carm_err *err)
{
    const char *equation = draft->names.text + layer->equation;
    char why[CARM_SOL_WHY_MAX] = "";
    const struct carm_sol_operands operands = {.uses = draft->graph->uses + layer->uses,
                                               .inputs = layer->inputs,
                                               .outputs = layer->outputs,
                                               .extents = draft->graph->extents,
                                               .contraction = layer->real_einsum};
    uint64_t points = 0;
    if (layer->kind == CARM_SOL_START) {
        return 0;
    }
    if (layer->real_einsum && !*equation) {
        return carm_sol_draft_refuse(draft, layer, 0, err,
                                     "the key einsum_equation is missing: is_real_einsum is true");
    }
    const bool counted = layer->kind == CARM_SOL_COMPUTE;
    const bool usable = *equation && (layer->supportable || layer->real_einsum);
    if (counted && !usable) {
        return points_of_shapes(draft, layer, err);
    }
    if (usable && carm_sol_equation(equation, counted ? &operands : NULL, &points, why)) {
        return carm_sol_draft_refuse(draft, layer, 0, err, "einsum_equation %.48s: %s", equation,
                                     why);
    }
    *(layer->real_einsum ? &layer->macs : &layer->points) = points;
    return 0;
}

int carm_sol_check_equations(struct carm_sol_draft *draft, struct carm_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; !rc && i < draft->graph->n; i++) {
        rc = check_layer(draft, &draft->graph->layers[i], err);
    }
    return rc;
}
