/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/picture.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assets.h"
#include "base/text.h"
#include "plots/labels.h"
#include "plots/panel.h"
#include "plots/roofline.h"

/* ---- the legend below the panels: models, files of points, numbered points ---- */

struct entry {
    char text[CARM_TEXT_MAX];
    unsigned rgb;
    int dash;        /* dash type of a line; 0 = a mark */
    int mark;        /* point type of plots/scripts/common.gp; -1 = neither line nor mark */
    double x, y, px; /* from the left, from the top, width of sample and text */
};

struct legend {
    struct entry entries[CARM_PLOT_MODELS_MAX + CARM_PLOT_FILES_MAX + CARM_SCENE_NUMBERED_MAX + 1];
    size_t n;
    double height; /* 0 = no legend */
};

enum { ROW_PX = 18, SAMPLE_PX = 34, GAP_PX = 18, FOOT_PX = 10, ENTRY_MOST_PX = 640 };

static struct entry *add(struct legend *l)
{
    const size_t room = sizeof l->entries / sizeof *l->entries;
    struct entry *e = &l->entries[l->n < room ? l->n++ : room - 1];
    memset(e, 0, sizeof *e);
    return e;
}

static void add_models(struct legend *l, const struct carm_scene *s)
{
    for (size_t i = 0; i < s->input->nmodels && s->input->nmodels > 1; i++) {
        const struct carm_machine *m = &s->input->models[i]->machine;
        const struct carm_roofs *r = s->roofs[i];
        struct entry *e = add(l);
        char name[64];
        carm_plot_input_name(s->input, i, name, sizeof name);
        if (r) {
            snprintf(e->text, sizeof e->text, "%s: %.16s %.8s, %d thread%s%s%.64s", name, r->isa,
                     r->precision, r->threads, r->threads == 1 ? "" : "s",
                     *m->cpu && strcmp(name, m->cpu) != 0 ? ", " : "",
                     strcmp(name, m->cpu) != 0 ? m->cpu : "");
        } else {
            snprintf(e->text, sizeof e->text, "%s: no roofs for this choice", name);
        }
        e->rgb = carm_plot_rgb(i);
        e->dash = 1 + (int)(i % 5);
    }
}

static void add_files(struct legend *l, const struct carm_scene *s)
{
    static const unsigned colours[] = {0x000000, 0xe69f00, 0x56b4e9};
    for (size_t f = 0; f < s->input->nfiles; f++) {
        struct entry *e = add(l);
        size_t n = 0;
        for (size_t i = 0; i < s->input->npoints; i++) {
            n += s->input->points[i].file == f;
        }
        snprintf(e->text, sizeof e->text, "%s: %zu point%s", s->input->files[f], n,
                 n == 1 ? "" : "s");
        e->mark = (int)f;
        e->rgb = s->input->nmodels > 1 || s->view == CARM_SCENE_LEVELS ? 0x404040 : colours[f % 3];
    }
}

static void add_points(struct legend *l, const struct carm_scene *s)
{
    for (size_t i = 0; i < s->npoints && l->n < sizeof l->entries / sizeof *l->entries; i++) {
        const struct carm_scene_point *p = &s->points[i];
        if (p->rest) {
            continue;
        }
        struct entry *e = add(l);
        snprintf(e->text, sizeof e->text, "%zu %s%s%s", (size_t)(p->from - s->input->points) + 1,
                 p->from->name, *p->binds ? ": " : "", p->binds);
        e->mark = p->mark;
        e->rgb = p->rgb;
    }
}

/* The name of a step: "basic" of "gemm-2304-1-basic"; plots/input.c reads its number. */
static const char *step_name(const char *name)
{
    const char *number = strchr(name, '-');
    const char *step = number ? strchr(number + 1, '-') : NULL;
    return step && strlen(step) > 3 ? step + 3 : name;
}

/* Adds the path's points, "1 basic"; all libraries have number 6. */
static void add_steps(struct legend *l, const struct carm_scene *s)
{
    for (int step = 1; step <= 6; step++) {
        for (size_t i = 0; i < s->npoints; i++) {
            const struct carm_scene_point *p = &s->points[i];
            if (p->step == step) {
                struct entry *e = add(l);
                snprintf(e->text, sizeof e->text, "%d %s", step, step_name(p->from->name));
                e->mark = p->mark;
                e->rgb = p->rgb;
            }
        }
    }
    for (size_t f = 0; f < s->input->nfiles; f++) {
        size_t n = 0;
        unsigned rgb = 0;
        for (size_t i = 0; i < s->npoints; i++) {
            const struct carm_scene_point *p = &s->points[i];
            if (p->small && p->from->file == f) {
                n++;
                rgb = p->rgb;
            }
        }
        if (n > 0) {
            struct entry *e = add(l);
            snprintf(e->text, sizeof e->text, "%s",
                     s->input->nfiles > 1 ? s->input->files[f] : "variants and other points");
            e->mark = 4 + (int)f;
            e->rgb = s->input->nmodels > 1 ? 0x404040 : rgb;
        }
    }
}

/* Arranges the entries [first, last) in columns as wide as the longest, in the given width and
 * height. One entry that counts them replaces entries that do not fit. returns the number of
 * entries left */
static size_t arrange(struct legend *l, size_t first, size_t last, double width, double most)
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
        struct entry *e = &l->entries[first + room - 1];
        snprintf(e->text, sizeof e->text, "\u2026 and %zu more", last - first - room + 1);
        e->mark = -1;
        e->dash = 0;
        last = first + room;
    }
    const size_t n = last - first, rows = (n + columns - 1) / columns;
    for (size_t i = 0; i < n; i++) {
        struct entry *e = &l->entries[first + i];
        const size_t at = i / rows;
        e->x = column * (double)at;
        e->y = l->height + ROW_PX * ((double)(i % rows) + 0.5);
        e->px = column;
    }
    l->height += ROW_PX * (double)rows;
    return n;
}

/* scene  the scene of the panels
 * width  and most: largest width and height, pixels; the last line counts entries that do not fit */
static void fill_legend(struct legend *legend, const struct carm_scene *scene,
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

/* left  of its columns; the legend ends at the picture's bottom */
static void put_legend(const struct carm_plot_canvas *canvas, const struct legend *legend,
                       double left)
{
    FILE *out = canvas->out;
    if (legend->n == 0) {
        return;
    }
    fputs("$legend << CARM_END\n", out);
    for (size_t i = 0; i < legend->n; i++) {
        const struct entry *e = &legend->entries[i];
        carm_plot_put_line(out, e->text, e->px - SAMPLE_PX - GAP_PX / 2.0);
    }
    fprintf(out, "CARM_END\nlegend = %zu\narray legend_at[%zu]\n", legend->n, 6 * legend->n);
    for (size_t i = 0; i < legend->n; i++) {
        const struct entry *e = &legend->entries[i];
        const double x = left + e->x, y = legend->height - e->y;
        const double v[6] = {x / canvas->width,
                             (x + SAMPLE_PX - 8) / canvas->width,
                             y / canvas->height,
                             e->rgb,
                             e->dash,
                             e->mark};
        for (size_t k = 0; k < 6; k++) {
            fprintf(out, "legend_at[%zu] = %.9g%s", 6 * i + k + 1, v[k], k < 5 ? "; " : "\n");
        }
    }
    fputs(carm_asset_plot_legend, out);
}

/* ---- kinds of pictures ---- */

/* Units (carm_plot_look_size). A panel's margins hold its ticks, its labels and its title. */
enum {
    PANEL_WIDTH = 720,
    PANEL_HEIGHT = 560,
    BELOW_HEIGHT = 260, /* height of a second row */
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
    panel_fn *draw, *below;   /* draw NULL = a roofline */
    struct carm_scene *scene; /* of a roofline; owned */
};

struct layout {
    struct panel panels[PANELS_MAX];
    size_t n;
    double width, height;
    enum carm_scene_naming naming;
    struct legend legend;
};

static const struct kind {
    const char *name;
    panel_fn *panels[2];
    bool roofline, path, both; /* both: both models by default */
} kinds[] = {
    {"roofline", {NULL}, .roofline = true},
    {"gemm", {NULL}, .roofline = true, .path = true, .both = true},
    {"bandwidth", {carm_plot_bandwidth}, .roofline = false},
    {"flops", {carm_plot_flops}, .roofline = false},
    {"latency", {carm_plot_latency}, .roofline = false},
    {"loaded", {carm_plot_loaded}, .roofline = false},
    {"scaling", {carm_plot_scaling}, .roofline = false},
    {"core-to-core", {carm_plot_core_to_core}, .roofline = false},
    {"numa", {carm_plot_numa_bandwidth, carm_plot_numa_latency}, .roofline = false},
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

bool carm_plot_picture_kind(const char *kind)
{
    return find_kind(kind) != NULL;
}

bool carm_plot_picture_has_points(const char *kind)
{
    const struct kind *k = find_kind(kind);
    return k && k->roofline;
}

bool carm_plot_picture_has_models(const char *kind)
{
    const struct kind *k = find_kind(kind);
    return k && k->roofline && !k->panels[0];
}

/* ---- which panels ---- */

/* Tries a panel by drawing it to nowhere. A panel that fails is left out. */
static int try_panel(const struct carm_plot_picture *page, panel_fn *draw, struct carm_err *err)
{
    const struct carm_plot_box box = {0, 0, PANEL_WIDTH, PANEL_HEIGHT};
    FILE *nowhere = fopen("/dev/null", "w");
    if (!nowhere) {
        return carm_fail(err, CARM_EIO, "cannot open /dev/null: %s", strerror(errno));
    }
    const struct carm_plot_canvas canvas = {nowhere, PANEL_WIDTH, PANEL_HEIGHT,
                                            page->input->models[0], page->select};
    const int rc = draw(&canvas, box, err);
    fclose(nowhere);
    return rc;
}

static int add_panel(const struct carm_plot_picture *page, panel_fn *draw, panel_fn *below,
                     struct layout *l, struct carm_err *err)
{
    const int rc = try_panel(page, draw, err);
    if (rc == 0) {
        l->panels[l->n++] = (struct panel){.draw = draw, .below = below};
    }
    return rc;
}

static int add_roofline(const struct carm_plot_picture *page, enum carm_scene_view view, bool path,
                        struct layout *l, struct carm_err *err)
{
    struct carm_scene *scene = malloc(sizeof *scene);
    if (!scene) {
        return carm_fail(err, CARM_ENOMEM, "out of memory");
    }
    const int rc = carm_scene_open(scene, page->input, page->select, view, path, err);
    if (rc) {
        carm_scene_close(scene);
        free(scene);
        return rc;
    }
    if (scene->left_out > 0) {
        static const char *const where[] = {
            [CARM_SCENE_AWARE] = "on the cache-aware model: bytes were not counted",
            [CARM_SCENE_ORIGINAL] = "on the original model: DRAM bytes were not counted",
            [CARM_SCENE_LEVELS] = ("in the hierarchical view: the bytes of L2 and L3 were not "
                                   "counted, which carm run --levels does")};
        carm_plot_note(page->input, "%zu point%s not %s", scene->left_out,
                       scene->left_out == 1 ? " is" : "s are", where[view]);
    }
    l->panels[l->n++] = (struct panel){.scene = scene};
    return 0;
}

static int find_panels(const struct carm_plot_picture *page, struct layout *l, struct carm_err *err)
{
    const struct kind *k = find_kind(page->kind);
    const enum carm_plot_models models = page->models != CARM_PLOT_USUAL ? page->models
                                         : k->both                       ? CARM_PLOT_BOTH
                                                                         : CARM_PLOT_AWARE;
    const bool levels = models == CARM_PLOT_HIERARCHICAL;
    const bool aware = models == CARM_PLOT_AWARE || models == CARM_PLOT_BOTH;
    const bool original = models == CARM_PLOT_ORIGINAL || models == CARM_PLOT_BOTH;
    int rc = 0;
    for (size_t i = 0; i < 2 && k->panels[i]; i++) {
        const int e = add_panel(page, k->panels[i], NULL, l, err);
        rc = e ? e : rc;
    }
    if (k->roofline) {
        int e = aware ? add_roofline(page, CARM_SCENE_AWARE, k->path, l, err) : 0;
        rc = e ? e : rc;
        e = original ? add_roofline(page, CARM_SCENE_ORIGINAL, k->path, l, err) : 0;
        rc = e ? e : rc;
        e = levels ? add_roofline(page, CARM_SCENE_LEVELS, false, l, err) : 0;
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

/* ---- where ---- */

/* Four panels are arranged in two rows. */
static size_t columns_of(const struct layout *l)
{
    assert(l->n > 0 && l->n <= sizeof l->panels / sizeof *l->panels); /* find_panels sees to it */
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

/* Finds sizes and places for one way of naming points. unplaced out: number of labels without a
 * place */
static int try_layout(const struct carm_plot_picture *page, struct layout *l, size_t *unplaced,
                      struct carm_err *err)
{
    const struct carm_scene *scene = first_scene(l);
    const bool told = page->look->width > 0;
    l->width = l->n == 1 ? SINGLE_WIDTH : PANEL_WIDTH * (double)columns_of(l);
    l->height = PANEL_HEIGHT * (double)rows_of(l) + (l->panels[0].below ? BELOW_HEIGHT : 0);
    carm_plot_look_size(page->look, &l->width, &l->height);
    *unplaced = 0;
    if (scene) {
        fill_legend(&l->legend, scene, l->naming, l->width - MARGIN_LEFT - MARGIN_RIGHT,
                    told ? 0.3 * l->height : PANEL_HEIGHT);
    }
    l->height += told ? 0 : l->legend.height;
    for (size_t i = 0; i < l->n; i++) {
        const struct carm_plot_box box = box_of(l, i);
        if (box.width < PANEL_LEAST || box.height < PANEL_LEAST) {
            return carm_fail(
                err, CARM_EINVAL,
                "the picture is too small for its panels; give more pixels with --size, or smaller "
                "letters with --font NAME,SIZE");
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

/* Chooses the way of naming points: names if they are few and have room, else numbers, else only
 * marks. */
static int lay_out(const struct carm_plot_picture *page, struct layout *l, struct carm_err *err)
{
    const struct carm_scene *scene = first_scene(l);
    const size_t n = scene ? carm_scene_named(scene) : 0;
    const bool path = scene && (scene->path || page->input->lines);
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

/* ---- the script ---- */

static void page_title(const struct carm_plot_picture *page, char *dst, size_t size)
{
    const struct carm_plot_input *in = page->input;
    if (page->title || in->nmodels == 1) {
        const struct carm_machine *m = &in->models[0]->machine;
        snprintf(dst, size, "%s%s%s", page->title ? page->title : m->hostname,
                 !page->title && *m->hostname && *m->cpu ? ": " : "", page->title ? "" : m->cpu);
        return;
    }
    snprintf(dst, size, "Rooflines of ");
    for (size_t i = 0; i < in->nmodels; i++) {
        char name[64];
        carm_plot_input_name(in, i, name, sizeof name);
        carm_text_append(dst, size, "%s%s",
                         i == 0                 ? ""
                         : i + 1 == in->nmodels ? " and "
                                                : ", ",
                         name);
    }
}

static void panel_title(const struct carm_scene *s, char *dst, size_t size)
{
    const struct carm_roofs *r = s->roofs[0];
    static const char *const names[] = {[CARM_SCENE_AWARE] = "Cache-aware roofline",
                                        [CARM_SCENE_ORIGINAL] = "Original roofline (DRAM)",
                                        [CARM_SCENE_LEVELS] = "Hierarchical roofline"};
    const char *what = names[s->view];
    if (s->input->nmodels > 1 || !r) {
        snprintf(dst, size, "%s", what);
        return;
    }
    snprintf(dst, size, "%s, %.24s %.24s, %d thread%s", what, r->isa, r->precision, r->threads,
             r->threads == 1 ? "" : "s");
    if (s->view == CARM_SCENE_AWARE) {
        carm_text_append(dst, size, ", %.24s loads:stores", s->input->models[0]->config.ldst);
    }
}

/* Notes points that were measured with other threads or another precision than the drawn roofs. */
static void tell_others(const struct carm_plot_picture *page)
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

static int put_panels(FILE *out, const struct carm_plot_picture *page, const struct layout *l,
                      struct carm_err *err)
{
    const struct carm_plot_canvas canvas = {out, l->width, l->height, page->input->models[0],
                                            page->select};
    int rc = 0;
    put_legend(&canvas, &l->legend, MARGIN_LEFT);
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
        fputs(l->legend.n ? "unset label\nunset arrow\n" : "", out);
    }
    fputs("unset multiplot\n", out);
    return rc;
}

int carm_plot_picture_put(FILE *out, const struct carm_plot_picture *page, struct carm_err *err)
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
