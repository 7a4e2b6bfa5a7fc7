/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/core.h"

#include <gsl/gsl_sort.h>
#include <string.h>

static const struct row {
    const char *name;
    enum carm_core_group group;
} rows[] = {
#define CARM_CORE_ROW(id, word, in, text) {word, CARM_CORE_GROUP_##in},
    CARM_CORE_TABLE(CARM_CORE_ROW)
#undef CARM_CORE_ROW
};

const char *carm_core_kind_name(enum carm_core_kind kind)
{
    return rows[kind].name;
}

enum carm_core_group carm_core_kind_group(enum carm_core_kind kind)
{
    return rows[kind].group;
}

bool carm_core_kind_is_pair(enum carm_core_kind kind)
{
    return kind == CARM_CORE_CONVERT_INT || kind == CARM_CORE_CONVERT_PRECISION ||
           kind == CARM_CORE_CONVERT_VECTOR || kind == CARM_CORE_MOVE_VECTOR ||
           kind == CARM_CORE_MOVE_MASK;
}

bool carm_core_kind_parse(const char *name, enum carm_core_kind *kind)
{
    for (int i = 0; i < CARM_CORE_KIND_COUNT; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            *kind = (enum carm_core_kind)i;
            return true;
        }
    }
    return false;
}

/* How well a figure's ISA or precision fits the wanted one: 3 = the same word, 2 = another name of the same
 * instructions, 1 = the figure does not depend on it, 0 = no fit. */
static int fits(const char *has, const char *asked)
{
    if (strcmp(has, asked) == 0) {
        return 3;
    }
    if ((strcmp(has, "avx") == 0 && strcmp(asked, "avx2") == 0) ||
        (strcmp(has, "avx2") == 0 && strcmp(asked, "avx") == 0)) {
        return 2;
    }
    return *has ? 0 : 1;
}

const struct carm_core_figure *carm_core_find(const struct carm_model *model,
                                              enum carm_core_kind kind, const char *isa,
                                              const char *precision)
{
    const struct carm_core_figure *best = NULL;
    int most = 0;
    for (size_t i = 0; i < model->ncore; i++) {
        const struct carm_core_figure *f = &model->core[i];
        if (f->kind != kind || !(f->latency > 0.0 || f->throughput > 0.0)) {
            continue;
        }
        const int score = fits(f->isa, isa) * fits(f->precision, precision);
        if (score > most) {
            most = score;
            best = f;
        }
    }
    return best;
}

double carm_core_together_factor(const struct carm_core_figure *f)
{
    const struct carm_core_together *t = &f->together;
    if (t->threads == 0 || t->disturbed || f->disturbed) {
        return 0.0;
    }
    return t->throughput > 0.0 && f->throughput > 0.0 ? t->throughput / f->throughput
           : t->latency > 0.0 && f->latency > 0.0     ? t->latency / f->latency
                                                      : 0.0;
}

bool carm_core_estimate(double *cycles, size_t n, double near, double floor, double *figure,
                        struct carm_ci *ci95)
{
    gsl_sort(cycles, 1, n);
    for (size_t i = 0; i + CARM_CORE_AGREE <= n; i++) {
        const double band = cycles[i] * near > 0.02 ? cycles[i] * near : 0.02;
        size_t k = i;
        while (k < n && cycles[k] <= cycles[i] + band) {
            k++;
        }
        if (k - i >= CARM_CORE_AGREE) {
            *figure = cycles[i + (k - i) / 2];
            ci95->lo = cycles[i] < *figure * (1.0 - floor) ? cycles[i] : *figure * (1.0 - floor);
            ci95->hi =
                cycles[k - 1] > *figure * (1.0 + floor) ? cycles[k - 1] : *figure * (1.0 + floor);
            return true;
        }
    }
    *figure = cycles[0];
    ci95->lo = cycles[0] * (1.0 - floor);
    ci95->hi =
        cycles[n / 2] > cycles[0] * (1.0 + floor) ? cycles[n / 2] : cycles[0] * (1.0 + floor);
    return false;
}
