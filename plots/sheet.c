/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/sheet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plots/legend.h"
#include "plots/panel.h"
#include "plots/scene.h"

/* Units (plot_look.h). A panel's margins hold its ticks, its labels and its title. */
enum {
    PANEL_WIDTH = 720,
    PANEL_HEIGHT = 560,
    BELOW_HEIGHT = 260, /* of a second row */
    SINGLE_WIDTH = 960,
    MARGIN_LEFT = 84,
    MARGIN_RIGHT = 24,
    MARGIN_BOTTOM = 60,
    MARGIN_TOP = 66,
    MARGIN_TOP_BELOW = 8,
    PANEL_LEAST = 120, /* width and height of a panel's axes */
    PANELS_MAX = 4,
};

typedef int panel_fn(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                     struct carm_err *err);

struct panel {
    panel_fn *draw, *below; /* draw NULL: a roofline */
    bool original;
    struct carm_scene *scene; /* of a roofline; owned */
};

struct layout {
    struct panel panels[PANELS_MAX];
    size_t n;
    double width, height;
    enum carm_scene_naming naming;
    struct carm_plot_legend legend;
};

static const struct kind {
    const char *name;
    panel_fn *panels[2];
    bool roofline, path, both; /* both: models unless told otherwise */
} kinds[] = {
    {"roofline", {NULL}, .roofline = true},
    {"gemm", {NULL}, .roofline = true, .path = true, .both = true},
    {"bandwidth", {carm_plot_bandwidth}, .roofline = false},
    {"flops", {carm_plot_flops}, .roofline = false},
    {"curve", {carm_plot_bandwidth, carm_plot_flops}, .roofline = false},
    {"all", {carm_plot_bandwidth, carm_plot_flops}, .roofline = true},
    {"validation", {NULL}, .both = true},
};

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

bool carm_plot_page_kind(const char *kind)
{
    return find_kind(kind) != NULL;
}

bool carm_plot_page_has_points(const char *kind)
{
    const struct kind *k = find_kind(kind);
    return k && k->roofline;
}

bool carm_plot_page_has_models(const char *kind)
{
    const struct kind *k = find_kind(kind);
    return k && k->roofline && !k->panels[0];
}

/* ---- which panels ---------------------------------------------------------------------------- */

/* A panel that does not go without failing is left out. Drawing it to nowhere tells. */
static int try_panel(const struct carm_plot_page *page, panel_fn *draw, struct carm_err *err)
{
    const struct carm_plot_box box = {0, 0, PANEL_WIDTH, PANEL_HEIGHT};
    FILE *nowhere = fopen("/dev/null", "w");
    if (!nowhere) {
        return carm_fail(err, CARM_EIO, "cannot open /dev/null: %s", strerror(errno));
    }
    const struct carm_plot_canvas canvas = {nowhere, PANEL_WIDTH, PANEL_HEIGHT,
                                            page->input->models[0], page->select};
    const int rc = draw(&canvas, box, err);
    (void)fclose(nowhere);
    return rc;
}

static int add_panel(const struct carm_plot_page *page, panel_fn *draw, panel_fn *below,
                     struct layout *l, struct carm_err *err)
{
    const int rc = try_panel(page, draw, err);
    if (rc == 0) {
        l->panels[l->n++] = (struct panel){.draw = draw, .below = below};
    }
    return rc;
}

static int add_roofline(const struct carm_plot_page *page, bool original, bool path,
                        struct layout *l, struct carm_err *err)
{
    struct carm_scene *scene = malloc(sizeof *scene);
    if (!scene) {
        return carm_fail(err, CARM_ENOMEM, "out of memory");
    }
    const int rc = carm_scene_open(scene, page->input, page->select, original, path, err);
    if (rc) {
        carm_scene_close(scene);
        free(scene);
        return rc;
    }
    if (scene->left_out > 0) {
        carm_plot_note(page->input, "%zu point%s not on the %s model: %sbytes were not counted",
                       scene->left_out, scene->left_out == 1 ? " is" : "s are",
                       original ? "original" : "cache-aware", original ? "DRAM " : "");
    }
    l->panels[l->n++] = (struct panel){.original = original, .scene = scene};
    return 0;
}

static int find_panels(const struct carm_plot_page *page, struct layout *l, struct carm_err *err)
{
    const struct kind *k = find_kind(page->kind);
    const enum carm_plot_models models = page->models != CARM_PLOT_USUAL ? page->models
                                         : k->both                       ? CARM_PLOT_BOTH
                                                                         : CARM_PLOT_AWARE;
    const bool aware = models != CARM_PLOT_ORIGINAL, original = models != CARM_PLOT_AWARE;
    int rc = 0;
    for (size_t i = 0; i < 2 && k->panels[i]; i++) {
        const int e = add_panel(page, k->panels[i], NULL, l, err);
        rc = e ? e : rc;
    }
    if (k->roofline) {
        int e = aware ? add_roofline(page, false, k->path, l, err) : 0;
        rc = e ? e : rc;
        e = original ? add_roofline(page, true, k->path, l, err) : 0;
        rc = e ? e : rc;
    } else if (!k->panels[0]) {
        int e =
            aware ? add_panel(page, carm_plot_cache_aware, carm_plot_cache_aware_residuals, l, err)
                  : 0;
        rc = e ? e : rc;
        e = original ? add_panel(page, carm_plot_original, carm_plot_original_residuals, l, err)
                     : 0;
        rc = e ? e : rc;
    }
    return l->n > 0 ? 0 : rc;
}

/* ---- where ----------------------------------------------------------------------------------- */

/* Four panels stand in two rows. */
static size_t columns_of(const struct layout *l)
{
    return l->n > 3 ? (l->n + 1) / 2 : l->n;
}

static size_t rows_of(const struct layout *l)
{
    return l->n > 3 ? 2 : 1;
}

static struct carm_plot_box box_of(const struct layout *l, size_t i)
{
    const size_t column = i % columns_of(l), below = rows_of(l) - 1 - i / columns_of(l);
    const double foot = l->legend.height + (l->panels[0].below ? BELOW_HEIGHT : 0);
    const double width = l->width / (double)columns_of(l);
    const double height = (l->height - foot) / (double)rows_of(l);
    return (struct carm_plot_box){
        MARGIN_LEFT + width * (double)column, MARGIN_BOTTOM + foot + height * (double)below,
        width - MARGIN_LEFT - MARGIN_RIGHT, height - MARGIN_BOTTOM - MARGIN_TOP};
}

static const struct carm_scene *first_scene(const struct layout *l)
{
    const struct carm_scene *most = NULL;
    for (size_t i = 0; i < l->n; i++) {
        const struct carm_scene *s = l->panels[i].scene;
        most = s && (!most || s->npoints > most->npoints) ? s : most;
    }
    return most;
}

/* Sizes and places under one way of naming points. unplaced  out: labels that found no place */
static int try_layout(const struct carm_plot_page *page, struct layout *l, size_t *unplaced,
                      struct carm_err *err)
{
    const struct carm_scene *scene = first_scene(l);
    const bool told = page->look->width > 0;
    l->width = l->n == 1 ? SINGLE_WIDTH : PANEL_WIDTH * (double)columns_of(l);
    l->height = PANEL_HEIGHT * (double)rows_of(l) + (l->panels[0].below ? BELOW_HEIGHT : 0);
    carm_plot_look_size(page->look, &l->width, &l->height);
    *unplaced = 0;
    if (scene) {
        carm_plot_legend_fill(&l->legend, scene, l->naming, l->width - MARGIN_LEFT - MARGIN_RIGHT,
                              told ? 0.3 * l->height : PANEL_HEIGHT);
    }
    l->height += told ? 0 : l->legend.height;
    for (size_t i = 0; i < l->n; i++) {
        const struct carm_plot_box box = box_of(l, i);
        if (box.width < PANEL_LEAST || box.height < PANEL_LEAST) {
            return carm_fail(err, CARM_EINVAL,
                             "the picture is too small for its panels; --size takes more pixels, "
                             "--font NAME,SIZE smaller letters");
        }
        struct carm_scene *s = l->panels[i].scene;
        const int rc = s ? carm_scene_layout(s, box, l->naming, err) : 0;
        if (rc) {
            return rc;
        }
        *unplaced += s ? s->unplaced : 0;
    }
    return 0;
}

/* Names beside the points as long as they are few and find room, else numbers, else marks alone. */
static int lay_out(const struct carm_plot_page *page, struct layout *l, struct carm_err *err)
{
    const struct carm_scene *scene = first_scene(l);
    const size_t n = scene ? scene->npoints : 0;
    const bool path = scene && scene->path;
    size_t unplaced = 0;
    l->naming = path || n <= CARM_SCENE_NAMED_MAX ? CARM_SCENE_NAMES
                : n <= CARM_SCENE_NUMBERED_MAX    ? CARM_SCENE_NUMBERS
                                                  : CARM_SCENE_FILES;
    if (n <= CARM_SCENE_NAMED_MAX && scene && !path && carm_scene_is_ambiguous(scene)) {
        l->naming = CARM_SCENE_NUMBERS;
    }
    int rc = try_layout(page, l, &unplaced, err);
    if (rc == 0 && unplaced > 0 && l->naming == CARM_SCENE_NAMES && !path) {
        l->naming = CARM_SCENE_NUMBERS;
        rc = try_layout(page, l, &unplaced, err);
    }
    return rc;
}

/* ---- the script ------------------------------------------------------------------------------ */

static void page_title(const struct carm_plot_page *page, char *dst, size_t size)
{
    const struct carm_plot_input *in = page->input;
    size_t used = 0;
    if (page->title || in->nmodels == 1) {
        const struct carm_machine *m = &in->models[0]->machine;
        (void)snprintf(dst, size, "%s%s%s", page->title ? page->title : m->hostname,
                       !page->title && *m->hostname && *m->cpu ? ": " : "",
                       page->title ? "" : m->cpu);
        return;
    }
    for (size_t i = 0; i < in->nmodels && used < size; i++) {
        char name[64];
        carm_plot_input_name(in, i, name, sizeof name);
        used += (size_t)snprintf(dst + used, size - used, "%s%s",
                                 i == 0                 ? "Rooflines of "
                                 : i + 1 == in->nmodels ? " and "
                                                        : ", ",
                                 name);
    }
}

static void panel_title(const struct carm_scene *s, char *dst, size_t size)
{
    const struct carm_roofs *r = s->roofs[0];
    const char *what = s->original ? "Original roofline (DRAM)" : "Cache-aware roofline";
    if (s->input->nmodels > 1 || !r) {
        (void)snprintf(dst, size, "%s", what);
        return;
    }
    (void)snprintf(dst, size, "%s, %.24s %.24s, %d thread%s", what, r->isa, r->precision,
                   r->threads, r->threads == 1 ? "" : "s");
    const size_t used = strlen(dst);
    if (!s->original && used < size) {
        (void)snprintf(dst + used, size - used, ", %.24s loads:stores",
                       s->input->models[0]->config.ldst);
    }
}

/* Points that were measured with other threads or precision than the roofs that are drawn. */
static void tell_others(const struct carm_plot_page *page)
{
    for (size_t i = 0; i < page->input->nmodels; i++) {
        size_t others = 0;
        const struct carm_roofs *r = carm_scene_roofs(page->input, i, page->select, &others);
        if (r && others > 0) {
            carm_plot_note(page->input,
                           "%zu point%s of other threads or precision under the roofs "
                           "of %.24s %.24s, %d thread%s; --threads chooses",
                           others, others == 1 ? " is" : "s are", r->isa, r->precision, r->threads,
                           r->threads == 1 ? "" : "s");
        }
    }
}

static int put_panels(FILE *out, const struct carm_plot_page *page, const struct layout *l,
                      struct carm_err *err)
{
    const struct carm_plot_canvas canvas = {out, l->width, l->height, page->input->models[0],
                                            page->select};
    int rc = 0;
    carm_plot_legend_put(&canvas, &l->legend, MARGIN_LEFT);
    for (size_t i = 0; i < l->n && rc == 0; i++) {
        const struct panel *p = &l->panels[i];
        struct carm_plot_box box = box_of(l, i);
        char title[CARM_TEXT_MAX];
        if (p->scene) {
            panel_title(p->scene, title, sizeof title);
            carm_scene_put(&canvas, p->scene, title);
        } else {
            rc = p->draw(&canvas, box, err);
        }
        if (rc == 0 && p->below) {
            box.bottom = MARGIN_BOTTOM;
            box.height = BELOW_HEIGHT - MARGIN_BOTTOM - MARGIN_TOP_BELOW;
            rc = p->below(&canvas, box, err);
        }
        (void)fputs(l->legend.n ? "unset label\nunset arrow\n" : "", out);
    }
    (void)fputs("unset multiplot\n", out);
    return rc;
}

int carm_plot_page_put(FILE *out, const struct carm_plot_page *page, struct carm_err *err)
{
    char title[2 * CARM_TEXT_MAX + 8];
    struct layout *l = calloc(1, sizeof *l);
    if (!l) {
        return carm_fail(err, CARM_ENOMEM, "out of memory");
    }
    int rc = find_panels(page, l, err);
    rc = rc ? rc : lay_out(page, l, err);
    if (rc == 0) {
        if (first_scene(l)) {
            tell_others(page);
        }
        page_title(page, title, sizeof title);
        carm_plot_put_head(out, page->look, l->width, l->height, page->format, title);
        rc = put_panels(out, page, l, err);
    }
    for (size_t i = 0; i < l->n; i++) {
        if (l->panels[i].scene) {
            carm_scene_close(l->panels[i].scene);
            free(l->panels[i].scene);
        }
    }
    free(l);
    return rc;
}
