/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/legend.h"

#include <math.h>
#include <string.h>

#include "base/assets.h"

enum { ROW_PX = 18, SAMPLE_PX = 34, GAP_PX = 18, FOOT_PX = 10, ENTRY_MOST_PX = 640 };

static struct carm_plot_entry *add(struct carm_plot_legend *l)
{
    const size_t room = sizeof l->entries / sizeof *l->entries;
    struct carm_plot_entry *e = &l->entries[l->n < room ? l->n++ : room - 1];
    memset(e, 0, sizeof *e);
    return e;
}

static void add_models(struct carm_plot_legend *l, const struct carm_scene *s)
{
    for (size_t i = 0; i < s->input->nmodels && s->input->nmodels > 1; i++) {
        static const unsigned palette[] = {0x0072b2, 0xd55e00, 0x009e73,
                                           0xcc79a7, 0xe69f00, 0x56b4e9};
        const struct carm_machine *m = &s->input->models[i]->machine;
        const struct carm_roofs *r = s->roofs[i];
        struct carm_plot_entry *e = add(l);
        char name[64];
        carm_plot_input_name(s->input, i, name, sizeof name);
        if (r) {
            (void)snprintf(e->text, sizeof e->text, "%s: %.16s %.8s, %d thread%s%s%.64s", name,
                           r->isa, r->precision, r->threads, r->threads == 1 ? "" : "s",
                           *m->cpu && strcmp(name, m->cpu) != 0 ? ", " : "",
                           strcmp(name, m->cpu) != 0 ? m->cpu : "");
        } else {
            (void)snprintf(e->text, sizeof e->text, "%s: no roofs for this choice", name);
        }
        e->rgb = palette[i % (sizeof palette / sizeof *palette)];
        e->dash = 1 + (int)(i % 5);
    }
}

static void add_files(struct carm_plot_legend *l, const struct carm_scene *s)
{
    static const unsigned colours[] = {0x000000, 0xe69f00, 0x56b4e9};
    for (size_t f = 0; f < s->input->nfiles; f++) {
        struct carm_plot_entry *e = add(l);
        size_t n = 0;
        for (size_t i = 0; i < s->input->npoints; i++) {
            n += s->input->points[i].file == f;
        }
        (void)snprintf(e->text, sizeof e->text, "%s: %zu point%s", s->input->files[f], n,
                       n == 1 ? "" : "s");
        e->mark = (int)f;
        e->rgb = s->input->nmodels > 1 ? 0x404040 : colours[f % 3];
    }
}

static void add_points(struct carm_plot_legend *l, const struct carm_scene *s)
{
    for (size_t i = 0; i < s->npoints && l->n < sizeof l->entries / sizeof *l->entries; i++) {
        const struct carm_scene_point *p = &s->points[i];
        struct carm_plot_entry *e = add(l);
        (void)snprintf(e->text, sizeof e->text, "%zu %s", (size_t)(p->from - s->input->points) + 1,
                       p->from->name);
        e->mark = p->mark;
        e->rgb = p->rgb;
    }
}

/* "basic" of "gemm-2304-1-basic", which plot_input.c took the step from. */
static const char *step_name(const char *name)
{
    const char *number = strchr(name, '-');
    const char *step = number ? strchr(number + 1, '-') : NULL;
    return step && strlen(step) > 3 ? step + 3 : name;
}

/* The path's points, "1 basic"; libraries share the number 6. */
static void add_steps(struct carm_plot_legend *l, const struct carm_scene *s)
{
    bool variants = false;
    for (size_t i = 0; i < s->npoints; i++) {
        variants = variants || s->points[i].small;
    }
    for (int step = 1; step <= 6; step++) {
        for (size_t i = 0; i < s->npoints; i++) {
            const struct carm_scene_point *p = &s->points[i];
            if (p->step == step) {
                struct carm_plot_entry *e = add(l);
                (void)snprintf(e->text, sizeof e->text, "%d %s", step, step_name(p->from->name));
                e->mark = p->mark;
                e->rgb = p->rgb;
            }
        }
    }
    if (variants) {
        struct carm_plot_entry *e = add(l);
        (void)snprintf(e->text, sizeof e->text, "variants and other points");
        e->mark = 4;
        e->rgb = s->input->nmodels > 1 ? 0x404040 : 0x56b4e9;
    }
}

/* Entries [first, last) in columns as wide as the longest, from y on, in so many rows at most; what
 * does not fit gives way to an entry that counts it. returns how many are left */
static size_t arrange(struct carm_plot_legend *l, size_t first, size_t last, double width,
                      double most)
{
    double longest = 0;
    if (first == last) {
        return 0;
    }
    for (size_t i = first; i < last; i++) {
        longest = fmax(longest, carm_plot_text_px(l->entries[i].text));
    }
    const double column = fmin(fmin(longest, ENTRY_MOST_PX) + SAMPLE_PX + GAP_PX, width);
    const size_t columns = (size_t)fmax(1.0, floor(width / column));
    const size_t room = columns * (size_t)fmax(1.0, floor(most / ROW_PX));
    if (last - first > room) {
        struct carm_plot_entry *e = &l->entries[first + room - 1];
        (void)snprintf(e->text, sizeof e->text, "\u2026 and %zu more", last - first - room + 1);
        e->mark = -1;
        e->dash = 0;
        last = first + room;
    }
    const size_t n = last - first, rows = (n + columns - 1) / columns;
    for (size_t i = 0; i < n; i++) {
        struct carm_plot_entry *e = &l->entries[first + i];
        const size_t at = i / rows;
        e->x = column * (double)at;
        e->y = l->height + ROW_PX * ((double)(i % rows) + 0.5);
        e->px = column;
    }
    l->height += ROW_PX * (double)rows;
    return n;
}

void carm_plot_legend_fill(struct carm_plot_legend *legend, const struct carm_scene *scene,
                           enum carm_scene_naming naming, double width, double most)
{
    legend->n = 0;
    legend->height = 0;
    add_models(legend, scene);
    const size_t models = legend->n;
    if (scene->path) {
        add_steps(legend, scene);
    } else if (naming == CARM_SCENE_NUMBERS) {
        add_points(legend, scene);
    } else if (naming == CARM_SCENE_FILES || scene->input->nfiles > 1) {
        add_files(legend, scene);
    }
    const size_t n = arrange(legend, 0, models, width, ROW_PX * CARM_PLOT_MODELS_MAX);
    legend->n = n + arrange(legend, models, legend->n, width, most - legend->height - FOOT_PX);
    legend->height += legend->n > 0 ? FOOT_PX : 0;
}

void carm_plot_legend_put(const struct carm_plot_canvas *canvas,
                          const struct carm_plot_legend *legend, double left)
{
    FILE *out = canvas->out;
    if (legend->n == 0) {
        return;
    }
    (void)fputs("$legend << CARM_END\n", out);
    for (size_t i = 0; i < legend->n; i++) {
        const struct carm_plot_entry *e = &legend->entries[i];
        carm_plot_put_line(out, e->text, e->px - SAMPLE_PX - GAP_PX / 2.0);
    }
    (void)fprintf(out, "CARM_END\nlegend = %zu\narray legend_at[%zu]\n", legend->n, 6 * legend->n);
    for (size_t i = 0; i < legend->n; i++) {
        const struct carm_plot_entry *e = &legend->entries[i];
        const double x = left + e->x, y = legend->height - e->y;
        const double v[6] = {x / canvas->width,
                             (x + SAMPLE_PX - 8) / canvas->width,
                             y / canvas->height,
                             e->rgb,
                             e->dash,
                             e->mark};
        for (size_t k = 0; k < 6; k++) {
            (void)fprintf(out, "legend_at[%zu] = %.9g%s", 6 * i + k + 1, v[k], k < 5 ? "; " : "\n");
        }
    }
    (void)fputs(carm_asset_plot_legend, out);
}
