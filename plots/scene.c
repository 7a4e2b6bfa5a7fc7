/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/place/place.h"
#include "models/roofline.h"

static const unsigned palette[] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9};
enum { PALETTE = sizeof palette / sizeof *palette, DASHES = 5, NAME_LETTERS = 14 };

const struct carm_roofs *carm_scene_roofs(const struct carm_plot_input *input, size_t model,
                                          const struct carm_select *select, size_t *others)
{
    const struct carm_model *m = input->models[model];
    char note[CARM_TEXT_MAX];
    size_t best = 0, total = 0, most = 0;
    size_t *votes = calloc(m->nroofs + 1, sizeof *votes);
    *others = 0;
    for (size_t i = 0; i < input->npoints && votes; i++) {
        const struct carm_plot_point *p = &input->points[i];
        const struct carm_roofs *r =
            p->model == model ? carm_place_roofs_of(m, "", p->precision, p->threads, note) : NULL;
        if (r) {
            const size_t k = (size_t)(r - m->roofs);
            total++;
            if (++votes[k] > most) {
                most = votes[k];
                best = k;
            }
        }
    }
    free(votes);
    if (select->nisa > 0 || select->nthreads > 0 || most == 0) {
        return carm_select_best(select, m);
    }
    *others = total - most;
    return &m->roofs[best];
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void add_line(struct carm_scene_side *side, const struct carm_scene_line *line)
{
    if (side->n < CARM_SCENE_LINES_MAX && line->value > 0.0) {
        side->lines[side->n++] = *line;
    }
}

/* One of several models has its colour and dashes, and its name in front. */
static void dress(const struct carm_scene *s, size_t model, struct carm_scene_line *line,
                  const char *name, const char *tail)
{
    char machine[64] = "";
    const bool several = s->input->nmodels > 1;
    if (several) {
        carm_plot_input_name(s->input, model, machine, sizeof machine);
        line->rgb = palette[model % PALETTE];
        line->dash = line->print_dash = 1 + (int)(model % DASHES);
    }
    (void)snprintf(line->name, sizeof line->name, "%.*s%s%s%.24s%s", NAME_LETTERS, machine,
                   carm_text_width(machine) > NAME_LETTERS ? "\u2026" : "", several ? " " : "",
                   name, tail);
}

static void add_levels(struct carm_scene *s, size_t model, double peak)
{
    const struct carm_model *m = s->input->models[model];
    for (size_t i = 0; i < m->nlevels; i++) {
        const struct carm_memory_roof *x =
            carm_roofs_find_memory(s->roofs[model], m->levels[i].level, m->config.ldst);
        if (!x) {
            continue;
        }
        struct carm_scene_line line = {.value = x->bandwidth,
                                       .low = x->ci95.lo,
                                       .high = x->ci95.hi,
                                       .limit = peak,
                                       .rgb = palette[i % PALETTE],
                                       .width = s->input->nmodels > 1 ? 1.4 : 2.4,
                                       .dash = 1,
                                       .print_dash = 1 + (int)(i % DASHES)};
        dress(s, model, &line, x->level,
              !m->levels[i].resolved ? " (unresolved)"
              : x->disturbed         ? " (disturbed)"
                                     : "");
        add_line(&s->slopes, &line);
    }
}

static void add_dram(struct carm_scene *s, size_t model, double peak)
{
    const double rate = carm_original_bandwidth(s->roofs[model], "DRAM", true, NULL);
    struct carm_scene_line line = {.value = rate,
                                   .low = rate,
                                   .high = rate,
                                   .limit = peak,
                                   .rgb = palette[0],
                                   .width = 2.4,
                                   .dash = 1,
                                   .print_dash = 1};
    dress(s, model, &line, "DRAM", "");
    add_line(&s->slopes, &line);
}

static void add_peak(struct carm_scene *s, size_t model, const struct carm_compute_roof *c,
                     const char *name, bool roof, double fastest)
{
    struct carm_scene_line line = {.value = c->rate,
                                   .low = c->ci95.lo,
                                   .high = c->ci95.hi,
                                   .limit = fastest,
                                   .rgb = roof ? 0x000000 : 0x404040,
                                   .width = roof ? 2.8 : 1.2,
                                   .dash = roof ? 1 : 2,
                                   .print_dash = roof ? 1 : 2};
    dress(s, model, &line, name, c->disturbed ? " (disturbed)" : "");
    add_line(&s->flats, &line);
}

/* The peak; of one model alone the other operations and instruction sets as ceilings, too. */
static void add_flats(struct carm_scene *s, size_t model, const struct carm_select *select,
                      double fastest)
{
    const struct carm_model *m = s->input->models[model];
    const struct carm_roofs *set = s->roofs[model];
    const struct carm_compute_roof *peak = carm_roofs_find_peak(set);
    add_peak(s, model, peak, peak->op, true, fastest);
    for (size_t i = 0; i < set->ncompute && s->input->nmodels == 1; i++) {
        if (&set->compute[i] != peak) {
            add_peak(s, model, &set->compute[i], set->compute[i].op, false, fastest);
        }
    }
    for (size_t i = 0; i < m->nroofs && s->input->nmodels == 1; i++) {
        const struct carm_roofs *o = &m->roofs[i];
        const struct carm_compute_roof *other = carm_roofs_find_peak(o);
        if (o != set && other && o->threads == set->threads &&
            strcmp(o->precision, set->precision) == 0 &&
            carm_select_has(select, o->isa, o->threads)) {
            char name[2 * CARM_NAME_MAX];
            (void)snprintf(name, sizeof name, "%.12s %.11s", o->isa, other->op);
            add_peak(s, model, other, name, false, fastest);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    const struct carm_scene_line *x = a, *y = b;
    return (x->value < y->value) - (x->value > y->value);
}

static void add_model(struct carm_scene *s, size_t model, const struct carm_select *select)
{
    const struct carm_compute_roof *peak = carm_roofs_find_peak(s->roofs[model]);
    const size_t first = s->slopes.n;
    if (!peak || !(peak->rate > 0.0)) {
        return;
    }
    if (s->original) {
        add_dram(s, model, peak->rate);
    } else {
        add_levels(s, model, peak->rate);
    }
    size_t fastest = first;
    for (size_t i = first; i < s->slopes.n; i++) {
        fastest = s->slopes.lines[i].value > s->slopes.lines[fastest].value ? i : fastest;
    }
    if (s->slopes.n > first) {
        s->slopes.lines[fastest].width = 2.4; /* the roof itself */
        add_flats(s, model, select, s->slopes.lines[fastest].value);
    }
}

static void scale_side(struct carm_scene_side *side, double scale)
{
    qsort(side->lines, side->n, sizeof *side->lines, by_value);
    for (size_t i = 0; i < side->n; i++) {
        struct carm_scene_line *l = &side->lines[i];
        l->value /= scale;
        l->low = l->low > 0.0 ? fmin(l->low / scale, l->value) : l->value;
        l->high = fmax(l->high / scale, l->value);
        l->limit /= scale;
    }
}

/* ---- points ---------------------------------------------------------------------------------- */

/* The first file's points are black: no roof is but the peak. Of several models they have the
 * model's colour. Files differ by their marks. */
static void add_point(struct carm_scene *s, const struct carm_plot_point *p)
{
    const double bytes = s->original ? p->dram_bytes : p->bytes;
    if (!(bytes > 0.0) || !(p->flops > 0.0) || !(p->seconds > 0.0)) {
        s->left_out++;
        return;
    }
    const double flops_low = p->flops_low > 0.0 ? p->flops_low : p->flops;
    const double flops_high = fmax(p->flops_high, p->flops);
    const bool exact = s->original || !(p->bytes_low > 0.0) || !(p->bytes_high > 0.0);
    const double unit = p->seconds * s->scale;
    static const unsigned colours[] = {0x000000, 0xe69f00, 0x56b4e9};
    s->points[s->npoints++] =
        (struct carm_scene_point){.x = p->flops / bytes,
                                  .y = p->flops / unit,
                                  .x_low = flops_low / (exact ? bytes : p->bytes_high),
                                  .x_high = flops_high / (exact ? bytes : p->bytes_low),
                                  .y_low = flops_low / unit,
                                  .y_high = flops_high / unit,
                                  .from = p,
                                  .step = p->step,
                                  .rgb = s->input->nmodels > 1     ? palette[p->model % PALETTE]
                                         : s->path && p->step <= 0 ? 0x56b4e9
                                                                   : colours[p->file % 3],
                                  .mark = (int)p->file,
                                  .small = s->path && p->step <= 0,
                                  .label = {.x = -1.0}};
}

/* The points of the path in its order: one of each step, the fastest (of libraries, too). */
static void find_path(struct carm_scene *s)
{
    for (int step = 1; step <= 6 && s->path; step++) {
        const struct carm_scene_point *best = NULL;
        for (size_t i = 0; i < s->npoints; i++) {
            const struct carm_scene_point *p = &s->points[i];
            if (p->step == step && (!best || p->y > best->y)) {
                best = p;
            }
        }
        if (best) {
            s->arrows[s->narrows++] = (size_t)(best - s->points);
        }
    }
}

int carm_scene_open(struct carm_scene *scene, const struct carm_plot_input *input,
                    const struct carm_select *select, bool original, bool path,
                    struct carm_err *err)
{
    memset(scene, 0, sizeof *scene);
    scene->input = input;
    scene->original = original;
    scene->path = path;
    for (size_t i = 0; i < input->nmodels; i++) {
        size_t others = 0;
        scene->roofs[i] = carm_scene_roofs(input, i, select, &others);
        if (scene->roofs[i]) {
            add_model(scene, i, select);
        }
    }
    if (scene->slopes.n == 0 || scene->flats.n == 0) {
        const bool peak = scene->roofs[0] && carm_roofs_find_peak(scene->roofs[0]);
        return carm_fail(err, CARM_EINVAL,
                         "the model has no %s for a roofline; `carm build` measures them",
                         !peak      ? "compute roofs"
                         : original ? "peak bandwidth of DRAM"
                                    : "memory roofs with its own mix");
    }
    qsort(scene->flats.lines, scene->flats.n, sizeof *scene->flats.lines, by_value);
    scene->scale = carm_plot_prefix(scene->flats.lines[0].value, &scene->prefix);
    scale_side(&scene->slopes, scene->scale);
    scale_side(&scene->flats, scene->scale);
    scene->points = calloc(input->npoints + 1, sizeof *scene->points);
    if (!scene->points) {
        return carm_fail(err, CARM_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < input->npoints; i++) {
        add_point(scene, &input->points[i]);
    }
    find_path(scene);
    return 0;
}

void carm_scene_close(struct carm_scene *scene)
{
    free(scene->points);
    scene->points = NULL;
}
