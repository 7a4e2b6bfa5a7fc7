/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model.h"

#include <string.h>

bool carm_model_has_level(const struct carm_model *model, const char *level)
{
    for (size_t i = 0; i < model->nlevels; i++)
        if (strcmp(model->levels[i].level, level) == 0)
            return true;
    return false;
}

const struct carm_memory_roof *carm_roofs_find_memory(const struct carm_roofs *roofs,
                                                      const char *level, const char *ldst)
{
    for (size_t i = 0; i < roofs->nmemory; i++) {
        const struct carm_memory_roof *m = &roofs->memory[i];
        if (strcmp(m->level, level) == 0 && strcmp(m->ldst, ldst) == 0)
            return m;
    }
    return NULL;
}

const struct carm_compute_roof *carm_roofs_find_peak(const struct carm_roofs *roofs)
{
    const struct carm_compute_roof *peak = NULL;
    for (size_t i = 0; i < roofs->ncompute; i++)
        if (!peak || roofs->compute[i].rate > peak->rate)
            peak = &roofs->compute[i];
    return peak;
}
