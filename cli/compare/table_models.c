/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What people read before and after the roofs: the models, their machines and levels, their fitness. */
#include <stdlib.h>
#include <string.h>

#include "cli/compare/print.h"
#include "cli/opt.h"
#include "base/text.h"
#include "models/validation.h"

enum { FACT_WIDTH = 14, SHORT_WIDTH = 12, WIDTH_MOST = 110, NAME_WIDTH = CARM_COMPARE_NAME_WIDTH };

void carm_compare_put_text(const struct carm_compare_page *page, int width, const char *s)
{
    char clean[2 * CARM_TEXT_MAX];
    (void)carm_text_clean(clean, sizeof clean, s, page->ascii);
    const int pad = abs(width) - (int)carm_text_width(clean);
    (void)printf("%*s%s%*s", width < 0 && pad > 0 ? pad : 0, "", clean,
                 width > 0 && pad > 0 ? pad : 0, "");
}

/* ---- models, machines, levels ------------------------------------------------------------------- */

static void put_list(const struct carm_compare_page *page)
{
    (void)printf("Comparison with A, the baseline\n");
    for (size_t i = 0; i < page->compare->n; i++) {
        (void)printf("  %c  ", carm_compare_letter(i));
        carm_compare_put_text(page, 0, page->files[i]);
        (void)printf("\n");
    }
}

/* Columns are as wide as what stands in them. returns how wide that makes a line */
static int fit_columns(const struct carm_compare_page *page, const struct carm_compare_fact *f,
                       size_t n, int width[CARM_COMPARE_MOST])
{
    int total = FACT_WIDTH;
    for (size_t m = 0; m < page->compare->n; m++) {
        width[m] = SHORT_WIDTH;
        for (size_t i = 0; i < n; i++) {
            const int w = f[i].same ? 0 : (int)carm_text_width(f[i].text[m]);
            width[m] = w > width[m] ? w : width[m];
        }
        total += width[m] + 2;
    }
    width[page->compare->n - 1] = 0; /* nothing follows */
    return total;
}

/* What differs: a line for each fact, or for each fact and model where that would get too long. */
static void put_differing(const struct carm_compare_page *page, const struct carm_compare_fact *f,
                          size_t n)
{
    int width[CARM_COMPARE_MOST];
    const bool wide = fit_columns(page, f, n, width) > WIDTH_MOST;
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        if (f[i].same) {
            continue;
        }
        if (!any && !wide) {
            (void)printf("  %-*s", FACT_WIDTH, "");
            for (size_t m = 0; m < page->compare->n; m++) {
                (void)printf("  %-*c", width[m], carm_compare_letter(m));
            }
            (void)printf("\n");
        }
        any = true;
        (void)printf("  %-*s", FACT_WIDTH, f[i].name);
        for (size_t m = 0; m < page->compare->n; m++) {
            if (wide) {
                (void)printf("%*s  %c ", m ? FACT_WIDTH + 2 : 0, "", carm_compare_letter(m));
                carm_compare_put_text(page, 0, f[i].text[m]);
                (void)printf("\n");
            } else {
                (void)printf("  ");
                carm_compare_put_text(page, width[m], f[i].text[m]);
            }
        }
        (void)printf("%s", wide ? "" : "\n");
    }
}

/* What all have in common: "host sample, CPU ..." */
static void put_common(const struct carm_compare_fact *f, size_t n)
{
    char line[1024] = "";
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        if (!f[i].same || strcmp(f[i].text[0], "-") == 0) {
            continue;
        }
        const int put_now = snprintf(line + used, sizeof line - used, "%s%s %.200s",
                                     used ? ", " : "", f[i].name, f[i].text[0]);
        if (put_now < 0 || (size_t)put_now >= sizeof line - used) {
            line[used] = '\0';
            break;
        }
        used += (size_t)put_now;
    }
    if (used) {
        carm_opt_print_wrapped("  in common: ", 4, "%s", line);
    }
}

static void put_facts(const struct carm_compare_page *page, const char *heading,
                      size_t (*collect)(const struct carm_compare_page *page,
                                        struct carm_compare_fact *facts))
{
    struct carm_compare_fact *facts = calloc(CARM_COMPARE_FACTS_MAX, sizeof *facts);
    if (facts) {
        const size_t n = collect(page, facts);
        (void)printf("\n%s\n", heading);
        put_differing(page, facts, n);
        put_common(facts, n);
    }
    free(facts);
}

void carm_compare_put_models(const struct carm_compare_page *page)
{
    put_list(page);
    put_facts(page, "Machines", carm_compare_machine_facts);
    put_facts(page, "Memory levels", carm_compare_level_facts);
}

/* ---- fitness ------------------------------------------------------------------------------------ */

void carm_compare_put_fitness(const struct carm_compare_page *page)
{
    struct carm_compare_score score;
    const struct carm_validation *before = NULL;
    size_t at = 0;
    while (carm_compare_next_score(page, &at, &score)) {
        const struct carm_validation *v = score.of[0];
        char name[2 * CARM_NAME_MAX + 2];
        if (strcmp(v->model, "cache-aware") != 0 &&
            (strcmp(v->model, "original") != 0 || strcmp(v->level, "all") != 0)) {
            continue;
        }
        if (!before) {
            (void)printf("\nFitness (carm validate)\n  %-*s", NAME_WIDTH, "");
            for (size_t i = 0; i < page->compare->n; i++) {
                (void)printf(" %8c", carm_compare_letter(i));
            }
            (void)printf("\n");
        }
        if (!before || !carm_validation_set_equal(&before->set, &v->set)) {
            char isa[CARM_NAME_MAX], precision[CARM_NAME_MAX], op[CARM_NAME_MAX];
            (void)printf(
                "  %s %s %s, %d thread%s\n",
                carm_text_clean(isa, sizeof isa, v->set.isa, page->ascii),
                carm_text_clean(precision, sizeof precision, v->set.precision, page->ascii),
                carm_text_clean(op, sizeof op, v->set.op, page->ascii), v->set.threads,
                v->set.threads == 1 ? "" : "s");
        }
        before = v;
        (void)snprintf(name, sizeof name, "%s, %s", v->model, v->level);
        (void)printf("    ");
        carm_compare_put_text(page, NAME_WIDTH - 2, name);
        for (size_t i = 0; i < page->compare->n; i++) {
            if (score.of[i]) {
                (void)printf(" %7.2f%%", score.of[i]->fitness);
            } else {
                (void)printf(" %8s", "-");
            }
        }
        (void)printf("\n");
    }
}
