/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/show/validation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/validation.h"

/* A string of the file in so many columns, cut there; to the right of them where they are negative. */
static void put(int columns, const char *s, bool ascii)
{
    char fit[CARM_TEXT_MAX];
    const int width = abs(columns);
    (void)carm_text_fit(fit, sizeof fit, s, (size_t)width, ascii);
    const int pad = width - (int)carm_text_width(fit);
    (void)printf("%*s%s%*s", columns < 0 ? pad : 0, "", fit, columns < 0 ? 0 : pad, "");
}

/* One model's fitness on every level; beside: against codes A and B as they ran beside the points. */
static void put_row(const struct carm_model *m, const struct carm_validation *like, bool beside,
                    bool ascii)
{
    (void)printf("    ");
    put(24, beside ? "  against A and B then" : like->model, ascii);
    for (size_t l = 0; l <= m->nlevels; l++) {
        const struct carm_validation *v =
            carm_validation_find_score(m, &like->set, like->model, carm_validation_level(m, l));
        const double fitness = !v ? 0.0 : beside ? v->fitness_beside : v->fitness;
        if (fitness > 0.0) {
            (void)printf("%8.2f%%", fitness);
        } else {
            (void)printf("%9s", "-");
        }
    }
    (void)printf("\n");
}

void carm_show_validation(const struct carm_model *m, const struct carm_select *select, bool ascii)
{
    const struct carm_validation *set = NULL; /* of the row before */
    const struct carm_validation *row = NULL;
    for (size_t i = 0; i < m->nvalidation; i++) {
        const struct carm_validation *v = &m->validation[i];
        char a[CARM_NAME_MAX];
        char b[CARM_NAME_MAX];
        char c[CARM_NAME_MAX];
        if (!carm_select_has(select, v->set.isa, v->set.threads)) {
            continue;
        }
        if (!row) {
            (void)printf("\nValidation%s%s: fitness of test code C's points, 100%% / (1 + rRMSE)\n",
                         m->validated[0] ? " of " : "",
                         carm_text_clean(a, sizeof a, m->validated, ascii));
        }
        if (!set || !carm_validation_set_equal(&set->set, &v->set)) {
            (void)printf("  %s %s %s, %d thread%s\n    %-24s",
                         carm_text_clean(a, sizeof a, v->set.isa, ascii),
                         carm_text_clean(b, sizeof b, v->set.precision, ascii),
                         carm_text_clean(c, sizeof c, v->set.op, ascii), v->set.threads,
                         v->set.threads == 1 ? "" : "s", "model");
            for (size_t l = 0; l <= m->nlevels; l++) {
                (void)printf(" ");
                put(-8, carm_validation_level(m, l), ascii);
            }
            (void)printf("\n");
            set = v;
            row = NULL;
        }
        if (!row || strcmp(row->model, v->model) != 0) {
            put_row(m, v, false, ascii);
            if (strcmp(v->model, "cache-aware") == 0 && v->fitness_beside > 0.0) {
                put_row(m, v, true, ascii);
            }
            row = v;
        }
    }
}
