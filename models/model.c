/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model.h"

#include <math.h>
#include <string.h>

bool carm_model_has_level(const struct carm_model *model, const char *level)
{
    for (size_t i = 0; i < model->nlevels; i++)
        if (strcmp(model->levels[i].level, level) == 0)
            return true;
    return false;
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
    for (size_t i = 0; i < roofs->ncompute; i++)
        if (!carm_op_is_mixture(roofs->compute[i].op) &&
            (!peak || roofs->compute[i].rate > peak->rate))
            peak = &roofs->compute[i];
    return peak;
}

/* Days that were seen, each once; as many as fit. */
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
