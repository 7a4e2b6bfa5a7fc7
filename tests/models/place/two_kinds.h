/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A made-up hybrid CPU. */
#pragma once

#include "models/file/model.h"
#include "models/model.h"
#include "tests/models/model_text.h"

/* An e core has half of a p core's bandwidth and a quarter of its peak, and no AVX-512. */
static struct carm_model *make_kind(const char *on, double times)
{
    struct carm_model *m = read_sample();
    (void)snprintf(m->machine.on, sizeof m->machine.on, "%s", on);
    for (size_t i = 0; i < m->nroofs; i++) {
        struct carm_roofs *r = &m->roofs[i];
        for (size_t k = 0; k < r->nmemory; k++) {
            r->memory[k].bandwidth *= times;
            r->memory[k].ci95.lo *= times;
            r->memory[k].ci95.hi *= times;
            r->memory[k].spread = (struct carm_spread){
                r->memory[k].spread.min * times, r->memory[k].spread.p5 * times,
                r->memory[k].spread.p95 * times, r->memory[k].spread.max * times};
        }
        for (size_t k = 0; k < r->ncompute; k++) {
            const double peak = times * times;
            r->compute[k].rate *= peak;
            r->compute[k].ci95.lo *= peak;
            r->compute[k].ci95.hi *= peak;
        }
    }
    return m;
}
