/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "models/roofline.h"

static const char prefix[] = "kind:";

bool carm_kinds_parse(const char *text, struct carm_kind_shares *out)
{
    double sum = 0.0;
    out->n = 0;
    while (*text && out->n < CARM_KINDS_MAX) {
        const size_t k = out->n;
        int used = 0;
        const bool word = sscanf(text, " %7[a-z]:%n", out->word[k], &used) == 1 && used;
        const char *end = word ? carm_number_scan(text + used, &out->share[k]) : NULL;
        if (!end || !(out->share[k] >= 0.0 && out->share[k] <= 1.0)) {
            break;
        }
        text = end;
        sum += out->share[out->n++];
    }
    if (*text || !(sum > 0.0)) {
        out->n = 0;
    }
    for (size_t k = 0; k < out->n; k++) {
        out->share[k] /= sum;
    }
    return out->n > 0;
}

char *carm_kinds_text(char *dst, size_t size, const struct carm_kind_shares *shares)
{
    dst[0] = '\0';
    for (size_t k = 0; k < shares->n; k++) {
        carm_text_list(dst, size, " ", "%s:%.2f", shares->word[k], shares->share[k]);
    }
    return dst;
}

static bool is_of(const struct carm_model *model, const char *word)
{
    const char *on = model->machine.on;
    return strncmp(on, prefix, sizeof prefix - 1) == 0 && strcmp(on + sizeof prefix - 1, word) == 0;
}

const struct carm_model *carm_kinds_find(const struct carm_model *model, const char *word)
{
    if (is_of(model, word)) {
        return model;
    }
    for (size_t i = 0; i < model->nkinds; i++) {
        if (is_of(&model->kinds[i], word)) {
            return &model->kinds[i];
        }
    }
    return NULL;
}

/* ---- mixed roofs ------------------------------------------------------------------------------------- */

static void add_ci(struct carm_ci *sum, const struct carm_ci *ci, double share)
{
    sum->lo += share * ci->lo;
    sum->hi += share * ci->hi;
}

/* Adds share times a kind's figures to a mixed roof. */
static void add_memory(struct carm_memory_roof *sum, const struct carm_memory_roof *of,
                       double share)
{
    sum->bandwidth += share * of->bandwidth;
    add_ci(&sum->ci95, &of->ci95, share);
    sum->bytes_per_cycle += share * of->bytes_per_cycle;
    sum->clock_hz += share * of->clock_hz;
    sum->disturbed = sum->disturbed || of->disturbed;
}

static void add_compute(struct carm_compute_roof *sum, const struct carm_compute_roof *of,
                        double share)
{
    sum->rate += share * of->rate;
    add_ci(&sum->ci95, &of->ci95, share);
    sum->flops_per_cycle += share * of->flops_per_cycle;
    sum->clock_hz += share * of->clock_hz;
    sum->disturbed = sum->disturbed || of->disturbed;
}

/* The sets of all kinds with one ISA, precision and number of threads. */
struct sources {
    const struct carm_roofs *of[CARM_KINDS_MAX];
    const struct carm_kind_shares *shares;
};

static bool mix_memory(const struct sources *s, const struct carm_memory_roof *like,
                       struct carm_memory_roof *out)
{
    *out = *like;
    out->bandwidth = out->bytes_per_cycle = out->clock_hz = 0.0;
    out->ci95 = (struct carm_ci){0.0, 0.0};
    out->disturbed = false;
    out->rounds = NULL;
    out->nrounds = 0;
    for (size_t k = 0; k < s->shares->n; k++) {
        const struct carm_memory_roof *r =
            carm_roofs_find_memory(s->of[k], like->level, like->ldst);
        if (!r) {
            return false;
        }
        add_memory(out, r, s->shares->share[k]);
    }
    return true;
}

static bool mix_compute(const struct sources *s, const struct carm_compute_roof *like,
                        struct carm_compute_roof *out)
{
    *out = *like;
    out->rate = out->flops_per_cycle = out->clock_hz = 0.0;
    out->ci95 = (struct carm_ci){0.0, 0.0};
    out->disturbed = false;
    out->rounds = NULL;
    out->nrounds = 0;
    for (size_t k = 0; k < s->shares->n; k++) {
        const struct carm_compute_roof *r = carm_roofs_find_compute(s->of[k], like->op);
        if (!r) {
            return false;
        }
        add_compute(out, r, s->shares->share[k]);
    }
    return true;
}

/* returns 0 or -CARM_ENOMEM */
static int mix_set(const struct sources *s, struct carm_roofs *out)
{
    const struct carm_roofs *like = s->of[0];
    *out = *like;
    out->place[0] = out->cpus[0] = '\0';
    out->ceilings = NULL;
    out->nceilings = out->nmemory = out->ncompute = 0;
    out->dram_peak.bandwidth = out->clock_hz = 0.0;
    out->memory = calloc(like->nmemory + 1, sizeof *out->memory);
    out->compute = calloc(like->ncompute + 1, sizeof *out->compute);
    if (!out->memory || !out->compute) {
        free(out->memory);
        free(out->compute);
        return -CARM_ENOMEM;
    }
    for (size_t i = 0; i < like->nmemory; i++) {
        out->nmemory += mix_memory(s, &like->memory[i], &out->memory[out->nmemory]) ? 1 : 0;
    }
    for (size_t i = 0; i < like->ncompute; i++) {
        out->ncompute += mix_compute(s, &like->compute[i], &out->compute[out->ncompute]) ? 1 : 0;
    }
    for (size_t k = 0; k < s->shares->n; k++) {
        out->dram_peak.bandwidth += s->shares->share[k] * s->of[k]->dram_peak.bandwidth;
        out->clock_hz += s->shares->share[k] * s->of[k]->clock_hz;
    }
    return 0;
}

/* Fills the roofs of the mixed model. returns 0 or -CARM_ENOMEM */
static int mix_sets(struct carm_model *mixed, const struct carm_model *const *kinds,
                    const struct carm_kind_shares *shares)
{
    mixed->nroofs = 0;
    mixed->roofs = calloc(kinds[0]->nroofs + 1, sizeof *mixed->roofs);
    if (!mixed->roofs) {
        return -CARM_ENOMEM;
    }
    for (size_t i = 0; i < kinds[0]->nroofs; i++) {
        const struct carm_roofs *r = &kinds[0]->roofs[i];
        struct sources s = {.of = {r}, .shares = shares};
        bool all = true;
        for (size_t k = 1; k < shares->n; k++) {
            s.of[k] = carm_model_find_roofs(kinds[k], r->isa, r->precision, r->threads);
            all = all && s.of[k];
        }
        if (all) {
            const int rc = mix_set(&s, &mixed->roofs[mixed->nroofs]);
            if (rc) {
                return rc;
            }
            mixed->nroofs++;
        }
    }
    return 0;
}

int carm_kinds_mix(const struct carm_model *model, const struct carm_kind_shares *shares,
                   struct carm_model **mixed, char note[CARM_TEXT_MAX], struct carm_err *err)
{
    const struct carm_model *kinds[CARM_KINDS_MAX] = {NULL};
    *mixed = NULL;
    note[0] = '\0';
    for (size_t k = 0; k < shares->n; k++) {
        kinds[k] = carm_kinds_find(model, shares->word[k]);
        if (!kinds[k]) {
            (void)snprintf(
                note, CARM_TEXT_MAX,
                "%.0f%% of the time was on %s cores, of which the model has no roofs: carm "
                "build --on kind:%s measures them",
                100.0 * shares->share[k], shares->word[k], shares->word[k]);
            return 0;
        }
    }
    if (shares->n == 0) {
        return 0;
    }
    struct carm_model *m = calloc(1, sizeof *m);
    if (m) {
        *m = *model;
    }
    if (!m || mix_sets(m, kinds, shares)) {
        carm_kinds_close(m);
        return carm_fail(err, CARM_ENOMEM, "not enough memory to mix roofs");
    }
    if (m->nroofs == 0) {
        carm_kinds_close(m);
        (void)snprintf(note, CARM_TEXT_MAX,
                       "the kinds of cores that the program ran on have no set of roofs in common");
        return 0;
    }
    (void)snprintf(note, CARM_TEXT_MAX, "roofs mixed of ");
    for (size_t k = 0; k < shares->n; k++) {
        carm_text_append(note, CARM_TEXT_MAX, "%s%.0f%% of %s cores", k ? " and " : "",
                         100.0 * shares->share[k], shares->word[k]);
    }
    (void)snprintf(m->changed, sizeof m->changed, "%s", note);
    *mixed = m;
    return 0;
}

void carm_kinds_close(struct carm_model *mixed)
{
    for (size_t i = 0; mixed && i < mixed->nroofs; i++) {
        free(mixed->roofs[i].memory);
        free(mixed->roofs[i].compute);
    }
    if (mixed) {
        free(mixed->roofs);
    }
    free(mixed);
}
