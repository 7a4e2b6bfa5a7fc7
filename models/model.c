/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct carm_level *carm_model_find_level(const struct carm_model *model, const char *level)
{
    for (size_t i = 0; i < model->nlevels; i++) {
        if (strcmp(model->levels[i].level, level) == 0) {
            return &model->levels[i];
        }
    }
    return NULL;
}

bool carm_model_has_level(const struct carm_model *model, const char *level)
{
    return carm_model_find_level(model, level) != NULL;
}

struct carm_roofs *carm_model_find_roofs(const struct carm_model *model, const char *isa,
                                         const char *precision, int threads)
{
    for (size_t i = 0; i < model->nroofs; i++) {
        struct carm_roofs *r = &model->roofs[i];
        if (r->threads == threads && strcmp(r->isa, isa) == 0 &&
            strcmp(r->precision, precision) == 0) {
            return r;
        }
    }
    return NULL;
}

const struct carm_memory_roof *carm_roofs_find_memory(const struct carm_roofs *roofs,
                                                      const char *level, const char *ldst)
{
    for (size_t i = 0; i < roofs->nmemory; i++) {
        const struct carm_memory_roof *m = &roofs->memory[i];
        if (strcmp(m->level, level) == 0 && strcmp(m->ldst, ldst) == 0) {
            return m;
        }
    }
    return NULL;
}

const struct carm_compute_roof *carm_roofs_find_peak(const struct carm_roofs *roofs)
{
    const struct carm_compute_roof *peak = NULL;
    for (size_t i = 0; i < roofs->ncompute; i++) {
        if (!peak || roofs->compute[i].rate > peak->rate) {
            peak = &roofs->compute[i];
        }
    }
    return peak;
}

/* A narrower ISA's roof replaces the set's where its whole interval is above the set's rate by this factor: equal codes
 * of two ISAs differ by as much (docs/results.md). */
static const double clearly = 1.01;

int carm_isa_rank(const char *isa)
{
    static const char *const isas[] = {"scalar", "sse", "avx", "avx2", "avx512", "amx"};
    for (int i = 0; i < (int)(sizeof isas / sizeof *isas); i++) {
        if (strcmp(isas[i], isa) == 0) {
            return i;
        }
    }
    return -1;
}

static bool same_threads(const struct carm_roofs *a, const struct carm_roofs *b)
{
    return a->threads == b->threads && strcmp(a->precision, b->precision) == 0;
}

/* Whether a program of these roofs' ISA can use the other ISA's instructions. */
static bool includes(const struct carm_roofs *roofs, const struct carm_roofs *other)
{
    const int rank = carm_isa_rank(other->isa);
    return same_threads(roofs, other) && rank >= 0 && rank < carm_isa_rank(roofs->isa);
}

const struct carm_memory_roof *carm_model_best_memory(const struct carm_model *model,
                                                      const struct carm_roofs *roofs,
                                                      const char *level, const char *ldst,
                                                      const struct carm_roofs **whose)
{
    const struct carm_memory_roof *best = carm_roofs_find_memory(roofs, level, ldst);
    const struct carm_roofs *of = roofs;
    for (size_t i = 0; i < model->nroofs && best; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        const struct carm_memory_roof *m =
            includes(roofs, r) ? carm_roofs_find_memory(r, level, ldst) : NULL;
        if (m && m->ci95.lo > clearly * best->bandwidth) {
            best = m;
            of = r;
        }
    }
    if (whose) {
        *whose = of;
    }
    return best;
}

const struct carm_compute_roof *carm_model_best_peak(const struct carm_model *model,
                                                     const struct carm_roofs *roofs,
                                                     const struct carm_roofs **whose)
{
    const struct carm_compute_roof *best = carm_roofs_find_peak(roofs);
    const struct carm_roofs *of = roofs;
    for (size_t i = 0; i < model->nroofs && best; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        const struct carm_compute_roof *c = includes(roofs, r) ? carm_roofs_find_peak(r) : NULL;
        if (c && c->ci95.lo > clearly * best->rate) {
            best = c;
            of = r;
        }
    }
    if (whose) {
        *whose = of;
    }
    return best;
}

bool carm_roofs_precede(const struct carm_roofs *a, const struct carm_roofs *b)
{
    const int ranks[] = {carm_isa_rank(a->isa), carm_isa_rank(b->isa)};
    const struct carm_compute_roof *peaks[] = {carm_roofs_find_peak(a), carm_roofs_find_peak(b)};
    if (same_threads(a, b) && ranks[0] >= 0 && ranks[1] >= 0 && ranks[0] != ranks[1]) {
        return ranks[0] > ranks[1];
    }
    return peaks[0] && (!peaks[1] || peaks[0]->rate > peaks[1]->rate);
}

int carm_roofs_distance(const struct carm_roofs *roofs, int threads)
{
    if (threads <= 0) {
        return -roofs->threads;
    }
    return 2 * abs(roofs->threads - threads) + (roofs->threads > threads ? 1 : 0);
}

bool carm_model_is_beside(const struct carm_model *model, const struct carm_roofs *roofs)
{
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *wide = &model->roofs[i];
        if (roofs->nmemory == 0 && wide->nmemory > 0 && wide->threads == roofs->threads &&
            strcmp(wide->isa, roofs->isa) == 0) {
            return true;
        }
        for (size_t k = 0; k < wide->nmemory && roofs->nmemory > 0 && includes(wide, roofs); k++) {
            if (!carm_roofs_find_memory(roofs, wide->memory[k].level, wide->memory[k].ldst)) {
                return true;
            }
        }
    }
    return false;
}

bool carm_model_is_kind(const struct carm_model *model)
{
    return strncmp(model->machine.on, "kind:", 5) == 0;
}

bool carm_model_has_wider(const struct carm_model *model, const struct carm_roofs *roofs)
{
    bool any = false;
    for (size_t i = 0; i < model->nroofs; i++) {
        any = any || (model->roofs[i].nmemory > 0 && includes(&model->roofs[i], roofs));
    }
    return any;
}

bool carm_model_has_levels(const struct carm_model *model, const struct carm_roofs *roofs)
{
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *wide = &model->roofs[i];
        for (size_t k = 0; k < wide->nmemory && includes(wide, roofs); k++) {
            if (strcmp(wide->memory[k].ldst, model->config.ldst) == 0 &&
                !carm_roofs_find_memory(roofs, wide->memory[k].level, model->config.ldst)) {
                return false;
            }
        }
    }
    return true;
}

static bool is_integer(const char *precision)
{
    return strncmp(precision, "int", 3) == 0;
}

const char *carm_precision_operation(const char *precision)
{
    return is_integer(precision) ? "op" : "flop";
}

const char *carm_precision_rate(const char *precision)
{
    return is_integer(precision) ? "op/s" : "flop/s";
}

int carm_precision_rank(const char *precision)
{
    return is_integer(precision) ? 2 : strcmp(precision, "dp") != 0 && strcmp(precision, "sp") != 0;
}

bool carm_op_is_mixture(const char *op)
{
    return strchr(op, '+') != NULL;
}

const struct carm_compute_roof *carm_roofs_find_plain_peak(const struct carm_roofs *roofs)
{
    const struct carm_compute_roof *peak = NULL;
    for (size_t i = 0; i < roofs->ncompute; i++) {
        if (!carm_op_is_mixture(roofs->compute[i].op) &&
            (!peak || roofs->compute[i].rate > peak->rate)) {
            peak = &roofs->compute[i];
        }
    }
    return peak;
}

/* The days of the rounds, each once; as many as fit. */
struct days {
    double seen[366];
    int n;
};

static void add_rounds(struct carm_rounds_summary *s, struct days *days,
                       const struct carm_round *rounds, size_t n)
{
    if (n == 0) {
        return;
    }
    s->least = s->most == 0 || n < s->least ? n : s->least;
    s->most = n > s->most ? n : s->most;
    for (size_t i = 0; i < n; i++) {
        const double day = floor(rounds[i].at / 86400.0);
        int k = 0;
        s->shares[rounds[i].state] += 1.0;
        while (k < days->n && days->seen[k] != day) {
            k++;
        }
        if (k == days->n && k < (int)(sizeof days->seen / sizeof *days->seen)) {
            days->seen[days->n++] = day;
        }
    }
}

size_t carm_roofs_count_disturbed(const struct carm_roofs *roofs)
{
    size_t n = 0;
    for (size_t k = 0; k < roofs->nmemory; k++) {
        n += roofs->memory[k].disturbed ? 1 : 0;
    }
    for (size_t k = 0; k < roofs->ncompute; k++) {
        n += roofs->compute[k].disturbed ? 1 : 0;
    }
    return n;
}

void carm_roofs_summarize(const struct carm_roofs *roofs, struct carm_rounds_summary *out)
{
    struct days days = {.n = 0};
    double all = 0.0;
    *out = (struct carm_rounds_summary){.most = 0};
    for (size_t i = 0; i < roofs->nmemory; i++) {
        add_rounds(out, &days, roofs->memory[i].rounds, roofs->memory[i].nrounds);
    }
    for (size_t i = 0; i < roofs->ncompute; i++) {
        add_rounds(out, &days, roofs->compute[i].rounds, roofs->compute[i].nrounds);
    }
    out->days = days.n;
    for (int s = 0; s < CARM_STATE_COUNT; s++) {
        all += out->shares[s];
    }
    for (int s = 0; s < CARM_STATE_COUNT && all > 0.0; s++) {
        out->shares[s] /= all;
    }
}

char *carm_machine_place(char *dst, size_t size, const struct carm_machine *machine)
{
    snprintf(dst, size, "%s%s%s%s", *machine->on ? ", on " : "", machine->on,
             *machine->layout ? ", threads " : "", machine->layout);
    return dst;
}

char *carm_roofs_threads(char *dst, size_t size, const struct carm_roofs *roofs)
{
    const bool usual = strcmp(roofs->place, "machine") == 0 || strcmp(roofs->place, "core:0") == 0;
    const char *place = usual ? "" : roofs->place;
    snprintf(dst, size, "%d thread%s%s%s", roofs->threads, roofs->threads == 1 ? "" : "s",
             *place ? " on " : "", place);
    return dst;
}

const char *carm_machine_host(const struct carm_machine *machine)
{
    return *machine->hostname ? machine->hostname : "a machine without a name";
}
