/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plots/ceilings.h"
#include "plots/gnuplot.h"

enum { COLUMNS = 2, LABEL_WIDTH = 20 };

struct input {
    const struct carm_compare *compare;
    const char *const *files; /* each model's file */
};

/* A model's label: its letter and its file's name without folder and ending: "A old". */
static void make_label(const struct input *in, size_t model, char *dst, size_t size)
{
    char clean[CARM_TEXT_MAX];
    const char *file = in->files[model];
    const char *base = strrchr(file, '/');
    carm_text_clean(clean, sizeof clean, base && base[1] ? base + 1 : file, false);
    char *end = strrchr(clean, '.');
    if (end && end != clean && strcmp(end, ".json") == 0) {
        *end = '\0';
    }
    size_t bytes = 0, width = 0;
    while (clean[bytes] && (width < LABEL_WIDTH || ((unsigned char)clean[bytes] & 0xc0) == 0x80)) {
        width += ((unsigned char)clean[bytes] & 0xc0) != 0x80;
        bytes++;
    }
    snprintf(dst, size, "%c %.*s", carm_compare_letter(model), (int)bytes, clean);
}

/* The set with the baseline's highest peak that all models have, or NULL. */
static const struct carm_compare_set *best_set(const struct carm_compare *c)
{
    const struct carm_compare_set *best = NULL;
    double most = 0.0;
    for (size_t s = 0; s < c->nsets; s++) {
        double peak = 0.0;
        for (size_t i = 0; i < c->n; i++) {
            const struct carm_roofs *r = c->sets[s].roofs[i];
            const struct carm_compute_roof *p = r ? carm_roofs_find_plain_peak(r) : NULL;
            if (!p) {
                peak = 0.0;
                break;
            }
            peak = i == 0 ? p->rate : peak;
        }
        const bool all = strcmp(c->sets[s].isa, CARM_COMPARE_BEST) == 0; /* the set of best ISAs has
                                                                          * more levels */
        if (peak > most || (all && peak > 0.0 && peak >= most)) {
            most = peak;
            best = &c->sets[s];
        }
    }
    return best;
}

static void put_roof(struct carm_ceiling *list, size_t *n, double rate, struct carm_ci ci)
{
    list[*n] = (struct carm_ceiling){.rate = rate, .ci95 = ci};
    snprintf(list[*n].name, sizeof list[*n].name, "roof");
    (*n)++;
}

/* Fills a level's pane. returns false unless the baseline and another model have the level. */
static bool put_pane(const struct input *in, const struct carm_compare_set *set, const char *level,
                     struct carm_plot_pane *pane, struct carm_ceilings *sets)
{
    const struct carm_compare *c = in->compare;
    char clean[CARM_NAME_MAX];
    char isa[CARM_NAME_MAX];
    char precision[CARM_NAME_MAX];
    size_t found = 0;
    const bool best = strcmp(set->isa, CARM_COMPARE_BEST) == 0;
    memset(pane, 0, sizeof *pane);
    pane->n = c->n;
    snprintf(pane->bytes, sizeof pane->bytes, "loaded and stored by the core");
    for (size_t i = 0; i < c->n; i++) {
        const struct carm_roofs *r = set->roofs[i];
        const struct carm_model *model = c->models[i];
        const struct carm_memory_roof *m =
            !r     ? NULL
            : best ? carm_model_best_memory(model, r, level, model->config.ldst, NULL)
                   : carm_roofs_find_memory(r, level, model->config.ldst);
        const struct carm_compute_roof *p = r ? carm_roofs_find_plain_peak(r) : NULL;
        if (!m || !p) {
            continue;
        }
        struct carm_ceilings *l = &sets[i];
        memset(l, 0, sizeof *l);
        make_label(in, i, l->title, sizeof l->title);
        snprintf(l->metric, sizeof l->metric, "flop");
        put_roof(l->memory, &l->nmemory, m->bandwidth, m->ci95);
        put_roof(l->compute, &l->ncompute, p->rate, p->ci95);
        pane->sets[i] = l;
        found++;
    }
    snprintf(pane->title, sizeof pane->title, "%.40s and peak, %.24s %.24s, %d thread%s",
             carm_text_clean(clean, sizeof clean, level, false),
             carm_text_clean(isa, sizeof isa, set->isa, false),
             carm_text_clean(precision, sizeof precision, set->precision, false), set->threads,
             set->threads == 1 ? "" : "s");
    return found > 1 && pane->sets[0];
}

static void put_title(const struct input *in, char *dst, size_t size)
{
    snprintf(dst, size, "Rooflines of ");
    for (size_t i = 0; i < in->compare->n; i++) {
        char label[CARM_TEXT_MAX];
        char host[CARM_TEXT_MAX];
        make_label(in, i, label, sizeof label);
        carm_text_append(dst, size, "%s%s (%.40s)", i ? ", " : "", label,
                         carm_text_clean(host, sizeof host,
                                         carm_machine_host(&in->compare->models[i]->machine),
                                         false));
    }
}

static int draw(const struct carm_plot_sheet *sheet, const char *path, const char *format,
                struct carm_err *err)
{
    FILE *script;
    int rc = carm_gnuplot_open(&script, err);
    if (rc) {
        return rc;
    }
    rc = carm_plot_sheet_put(script, sheet, format, NULL, err);
    if (rc == 0) {
        rc = strcmp(format, "gp") == 0 ? carm_gnuplot_deliver(script, path, err)
                                       : carm_gnuplot_draw(script, path, err);
    }
    fclose(script);
    return rc;
}

int carm_plot_compare(const struct carm_compare *compare, const char *const *files,
                      const char *path, const char *format, struct carm_err *err)
{
    const struct input in = {compare, files};
    const struct carm_compare *c = compare;
    const struct carm_compare_set *set = best_set(c);
    const size_t nlevels = c->models[0]->nlevels;
    struct carm_plot_sheet sheet = {0};
    size_t n = 0;
    if (!set || nlevels == 0) {
        return carm_fail(
            err, CARM_EINVAL,
            "--plot needs a compute roof that all models have for the same ISA, precision and "
            "threads");
    }
    sheet.panes = calloc(nlevels + COLUMNS, sizeof *sheet.panes);
    sheet.sets = calloc(nlevels * c->n, sizeof *sheet.sets);
    if (!sheet.panes || !sheet.sets) {
        carm_plot_sheet_close(&sheet);
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the picture");
    }
    for (size_t i = 0; i < nlevels; i++) {
        n += put_pane(&in, set, c->models[0]->levels[i].level, &sheet.panes[n],
                      &sheet.sets[n * c->n]);
    }
    if (n < nlevels + COLUMNS) {
        sheet.panes[n].n = 0; /* an empty place, where fewer levels than expected are in two
                               * models */
    }
    sheet.columns = n < COLUMNS ? 1 : COLUMNS;
    sheet.rows = (n + sheet.columns - 1) / sheet.columns;
    put_title(&in, sheet.title, sizeof sheet.title);
    const int rc =
        n ? draw(&sheet, path, format, err)
          : carm_fail(err, CARM_EINVAL,
                      "--plot: no memory level has a roof in the baseline and in another "
                      "model");
    carm_plot_sheet_close(&sheet);
    return rc;
}
