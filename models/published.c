/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/published.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

char *carm_published_names(const struct carm_published *published, char *dst, size_t size)
{
    bool fits = true;
    *dst = 0;
    for (size_t i = 0; i < published->nmachines && fits; i++) {
        fits = carm_text_list_whole(dst, size, ", ", "%s", published->machines[i].name);
    }
    return dst;
}

int carm_published_find(const struct carm_published *published, const char *name,
                        const struct carm_published_machine **out, struct carm_err *err)
{
    char names[320];
    *out = NULL;
    for (size_t i = 0; i < published->nmachines; i++) {
        if (strcasecmp(published->machines[i].name, name) == 0) {
            *out = &published->machines[i];
            return 0;
        }
    }
    return carm_fail(err, CARM_EINVAL, "no published machine \"%.40s\" is known; there are %s",
                     name, carm_published_names(published, names, sizeof names));
}

const struct carm_published_kernel *carm_published_kernel(const struct carm_published *published,
                                                          const char *name)
{
    for (size_t i = 0; i < published->nkernels; i++) {
        if (strcmp(published->kernels[i].name, name) == 0) {
            return &published->kernels[i];
        }
    }
    return NULL;
}

static double find_number(const struct carm_published_fact *facts, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(facts[i].name, name) == 0) {
            return facts[i].value;
        }
    }
    return 0;
}

double carm_published_fact(const struct carm_published_machine *machine, const char *name)
{
    return find_number(machine->facts, machine->nfacts, name);
}

double carm_published_claim(const struct carm_published *published, const char *name)
{
    return find_number(published->claims, published->nclaims, name);
}

static size_t put_side(const struct carm_published_side *side, struct carm_ceiling *list)
{
    memcpy(list, side->list, side->n * sizeof *list);
    return side->n;
}

void carm_published_ceilings(const struct carm_published_machine *machine,
                             enum carm_ceilings_order order, struct carm_ceilings *out)
{
    const bool bottom = order == CARM_BALANCE_BOTTOM && machine->compute_balance_bottom.n > 0;
    memset(out, 0, sizeof *out);
    snprintf(out->title, sizeof out->title, "%s", machine->title);
    snprintf(out->metric, sizeof out->metric, "flop");
    out->nmemory = put_side(&machine->memory, out->memory);
    out->ncompute =
        put_side(bottom ? &machine->compute_balance_bottom : &machine->compute, out->compute);
}

int carm_published_place(const struct carm_published *published,
                         const struct carm_published_machine *machine,
                         const struct carm_published_result *result, struct carm_ceilings *ceilings,
                         struct carm_ceiling_around *upper, struct carm_ceiling_around *lower,
                         struct carm_err *err)
{
    const struct carm_published_kernel *kernel = carm_published_kernel(published, result->kernel);
    if (!kernel) {
        return carm_fail(err, CARM_EINVAL,
                         "%.40s has a result of \"%.40s\", which is not among the kernels",
                         machine->name, result->kernel);
    }
    carm_published_ceilings(machine, kernel->balanced ? CARM_BALANCE_BOTTOM : CARM_BALANCE_TOP,
                            ceilings);
    return carm_ceilings_around(ceilings, result->intensity, result->performance, false, upper,
                                lower, err);
}

void carm_published_close(struct carm_published *published)
{
    if (!published) {
        return;
    }
    free(published->machines);
    free(published->kernels);
    free(published->optimisations);
    free(published->disagreements);
    free(published);
}
