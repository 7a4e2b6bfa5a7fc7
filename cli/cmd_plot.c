/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm plot: a model's curves and roofs as svg, png or pdf, drawn by gnuplot. */
#include "cli/cmd_plot.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gnuplot.h"
#include "cli/plot_ceilings.h"
#include "cli/plot_panel.h"
#include "cli/published_open.h"
#include "cli/select.h"

static const char *opt_output, *opt_kind, *opt_isa, *opt_threads, *opt_title, *opt_script;
static const char *opt_balance, *opt_aside, *opt_overlay;

/* Pixels. A panel's margins hold its ticks, its labels and its title. */
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
};

typedef int panel_fn(const struct carm_plot_canvas *canvas, struct carm_plot_box box,
                     struct carm_err *err);

static const struct kind {
    const char *name;
    panel_fn *panels[3]; /* from left to right */
    panel_fn *below[3];  /* below each of them, where there is a second row */
} kinds[] = {
    {"roofline", {carm_plot_roofline}, {NULL}},
    {"bandwidth", {carm_plot_bandwidth}, {NULL}},
    {"flops", {carm_plot_flops}, {NULL}},
    {"all", {carm_plot_bandwidth, carm_plot_flops, carm_plot_roofline}, {NULL}},
    {"validation",
     {carm_plot_cache_aware, carm_plot_original},
     {carm_plot_cache_aware_residuals, carm_plot_original_residuals}},
};

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

/* The part of a kind that the model has data for: panels that go into a file without failing, with
 * what is below them.
 * returns how many, or a negative CARM_E* when there is none (why the last one is not) */
static int usable_panels(const struct kind *kind, const struct carm_model *m,
                         const struct carm_select *sel, struct kind *usable, struct carm_err *err)
{
    struct carm_plot_box box = {0, 0, PANEL_WIDTH, PANEL_HEIGHT};
    int n = 0, rc = 0;
    FILE *nowhere = fopen("/dev/null", "w");
    if (!nowhere)
        return carm_fail(err, CARM_EIO, "cannot open /dev/null: %s", strerror(errno));
    struct carm_plot_canvas canvas = {nowhere, PANEL_WIDTH, PANEL_HEIGHT, m, sel};
    for (size_t i = 0; i < 3 && kind->panels[i]; i++) {
        int e = kind->panels[i](&canvas, box, err);
        if (e == 0) {
            usable->panels[n] = kind->panels[i];
            usable->below[n++] = kind->below[i];
        } else
            rc = e;
    }
    (void)fclose(nowhere);
    return n ? n : rc;
}

/* Writes the whole gnuplot script. */
static int put_script(FILE *out, const struct carm_model *m, const struct carm_select *sel,
                      const struct kind *kind, const char *format, struct carm_err *err)
{
    struct kind usable = {.name = kind->name};
    int n = usable_panels(kind, m, sel, &usable, err);
    if (n <= 0)
        return n;
    int width = n == 1 ? SINGLE_WIDTH : PANEL_WIDTH * n, panel = width / n;
    int below = usable.below[0] ? BELOW_HEIGHT : 0, height = PANEL_HEIGHT + below;
    struct carm_plot_canvas canvas = {out, width, height, m, sel};
    char title[2 * CARM_TEXT_MAX + 8];
    (void)snprintf(title, sizeof title, "%s%s%s", m->machine.hostname,
                   *m->machine.hostname && *m->machine.cpu ? ": " : "", m->machine.cpu);
    carm_plot_put_head(out, width, height, format, opt_title ? opt_title : title);
    int rc = 0;
    for (int i = 0; i < n && usable.panels[i] && rc == 0; i++) {
        struct carm_plot_box box = {MARGIN_LEFT + panel * i, MARGIN_BOTTOM + below,
                                    panel - MARGIN_LEFT - MARGIN_RIGHT,
                                    PANEL_HEIGHT - MARGIN_BOTTOM - MARGIN_TOP};
        rc = usable.panels[i](&canvas, box, err);
        box.bottom = MARGIN_BOTTOM;
        box.height = BELOW_HEIGHT - MARGIN_BOTTOM - MARGIN_TOP_BELOW;
        if (rc == 0 && usable.below[i])
            rc = usable.below[i](&canvas, box, err);
    }
    (void)fputs("unset multiplot\n", out);
    return rc;
}

static bool is_ceilings(const char *kind)
{
    return kind && strcmp(kind, "ceilings") == 0;
}

/* "top", "bottom" or "both"; false = something else */
static bool parse_balance(const char *word, enum carm_plot_balance *balance)
{
    static const char *const words[] = {"top", "bottom", "both"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!word || strcmp(word, words[i]) == 0) {
            *balance = (enum carm_plot_balance)i;
            return true;
        }
    }
    return false;
}

/* Where the script, or the picture that gnuplot makes of it, goes. */
static int deliver(FILE *script, struct carm_err *err)
{
    return opt_script ? carm_gnuplot_deliver(script, opt_output, err)
                      : carm_gnuplot_draw(script, opt_output, err);
}

static int open_script(FILE **script, struct carm_err *err)
{
    *script = tmpfile();
    if (!*script)
        return carm_fail(err, CARM_EIO, "cannot make a temporary file: %s", strerror(errno));
    return 0;
}

static int draw_panels(const struct carm_model *m, const struct carm_select *sel,
                       const struct kind *kind, const char *format, struct carm_err *err)
{
    FILE *script;
    int rc = open_script(&script, err);
    if (rc)
        return rc;
    rc = put_script(script, m, sel, kind, format, err);
    if (rc == 0)
        rc = deliver(script, err);
    (void)fclose(script);
    return rc;
}

static int draw_sheet(const struct carm_plot_sheet *sheet, const char *format, struct carm_err *err)
{
    FILE *script;
    int rc = open_script(&script, err);
    if (rc)
        return rc;
    rc = carm_plot_sheet_put(script, sheet, format, opt_title, err);
    if (rc == 0)
        rc = deliver(script, err);
    (void)fclose(script);
    return rc;
}

static int plot_model(const char *path, const struct carm_select *sel, const struct kind *kind,
                      enum carm_plot_balance balance, const char *format, struct carm_err *err)
{
    struct carm_model *m = NULL;
    struct carm_plot_sheet sheet = {0};
    int rc = carm_select_open(path, &m, NULL, err);
    if (rc == 0)
        rc = carm_select_check(sel, m, err);
    if (rc == 0 && !kind)
        rc = carm_plot_sheet_of_model(m, sel, balance, opt_aside != NULL, &sheet, err);
    if (rc == 0)
        rc = kind ? draw_panels(m, sel, kind, format, err) : draw_sheet(&sheet, format, err);
    carm_plot_sheet_close(&sheet);
    carm_model_free(m);
    return rc;
}

/* All operands name published machines. */
static int plot_published(const struct carm_published *published, int n, char **operands,
                          enum carm_plot_balance balance, const char *format, struct carm_err *err)
{
    const struct carm_published_machine *machines[CARM_PLOT_LADDERS_MAX];
    struct carm_plot_sheet sheet = {0};
    int rc = 0;
    for (int i = 0; i < n && rc == 0; i++)
        rc = carm_published_find(published, operands[i], &machines[i], err);
    if (rc == 0)
        rc = carm_plot_sheet_of_published(published, machines, (size_t)n, balance,
                                          opt_overlay != NULL, &sheet, err);
    if (rc == 0)
        rc = draw_sheet(&sheet, format, err);
    carm_plot_sheet_close(&sheet);
    return rc;
}

/* Options that do not go together. returns what is wrong, or NULL */
static const char *misuse(bool published, int noperands)
{
    const bool ceilings = published || is_ceilings(opt_kind);
    if (!published && noperands > 1)
        return "carm plot draws one model, or several published machines";
    if (published && opt_kind && !is_ceilings(opt_kind))
        return "published machines have --kind ceilings only";
    if (published && (opt_isa || opt_threads))
        return "--isa and --threads choose parts of a model, not of published machines";
    if (!published && opt_overlay)
        return "--overlay is for published machines: carm plot opteron-x2 opteron-x4 --overlay";
    if (published && opt_aside)
        return "--aside is for models: published machines have no ceilings aside";
    if (!ceilings && (opt_balance || opt_aside))
        return "--balance and --aside are for --kind ceilings";
    if (opt_overlay && opt_balance)
        return "--overlay draws roofs alone, for which --balance makes no difference";
    return NULL;
}

static int run(int noperands, char **operands)
{
    struct carm_err err = {""};
    struct carm_select sel;
    struct carm_published *published = NULL;
    const struct carm_published_machine *machine;
    enum carm_plot_balance balance;
    const struct kind *kind = find_kind(opt_kind ? opt_kind : "roofline");
    const char *format = opt_output && !opt_script ? carm_gnuplot_format(opt_output) : "svg";
    if (!kind && !is_ceilings(opt_kind))
        return carm_say_error(CARM_EXIT_MISUSE, "--kind is roofline, ceilings, bandwidth, flops, "
                                                "all or validation");
    if (!parse_balance(opt_balance, &balance))
        return carm_say_error(CARM_EXIT_MISUSE, "--balance is top, bottom or both");
    if (!opt_output && !opt_script)
        return carm_say_error(CARM_EXIT_MISUSE, "name the picture, for example -o roofline.svg");
    if (!format)
        return carm_say_error(CARM_EXIT_MISUSE,
                              "the picture's name must end in .svg, .png or .pdf");
    if (opt_script && opt_output && carm_gnuplot_format(opt_output))
        return carm_say_error(CARM_EXIT_MISUSE, "--script writes a gnuplot script, not a picture; "
                                                "name it FILE.gp");
    if (carm_select_parse(&sel, opt_isa, opt_threads, &err))
        return carm_say_error(CARM_EXIT_MISUSE, "%s", err.text);
    (void)setlocale(LC_NUMERIC, "C"); /* gnuplot reads 0.5, never 0,5 */
    int rc = carm_published_operand(noperands ? operands[0] : NULL, &published, &machine, &err);
    const char *wrong = rc < 0 ? NULL : misuse(rc == 1, noperands);
    if (wrong) {
        carm_published_close(published);
        return carm_say_error(CARM_EXIT_MISUSE, "%s", wrong);
    }
    if (rc == 1)
        rc = plot_published(published, noperands, operands, balance, format, &err);
    else if (rc == 0)
        rc = plot_model(noperands ? operands[0] : NULL, &sel, kind, balance, format, &err);
    carm_published_close(published);
    return rc ? carm_say_error(CARM_EXIT_FAILED, "%s", err.text) : CARM_EXIT_OK;
}

static const struct carm_opt opts[] = {
    {"output", 'o', "FILE", NULL, "The picture: FILE.svg, FILE.png or FILE.pdf.", &opt_output,
     NULL},
    {"kind", 0, "KIND", "roofline",
     "roofline, ceilings (the original roofline with the ceilings of carm build --ceilings), bandwidth (over working set), flops (performance over flops of one run), all: the "
     "three side by side, or validation: what carm validate measured against both models.",
     &opt_kind, "roofline|ceilings|bandwidth|flops|all|validation"},
    {"isa", 0, "LIST", "the one with the highest peak",
     "Instruction sets, such as avx2 or avx2,avx512.", &opt_isa, "scalar|sse|avx|avx2|avx512"},
    {"threads", 0, "LIST", "all",
     "Numbers of threads, such as 1,8. The roofline is of the highest peak among them.",
     &opt_threads, NULL},
    {"balance", 0, "PLACE", "top",
     "Where the ceiling of multiply/add balance stands: top, bottom (for kernels that are balanced "
     "by nature, such as SpMV), or both, in two rows.",
     &opt_balance, "top|bottom|both"},
    {"aside", 0, NULL, NULL,
     "Ceilings that bind only some programs, too: instruction mix, load imbalance.", &opt_aside,
     NULL},
    {"overlay", 0, NULL, NULL, "Published machines' roofs on each other.", &opt_overlay, NULL},
    {"title", 0, "TEXT", "host and CPU", "Title of the picture.", &opt_title, NULL},
    {"script", 0, NULL, NULL,
     "Write the gnuplot script with its data, to -o FILE.gp or standard output, and draw nothing.",
     &opt_script, NULL},
    {NULL, 0, NULL, NULL, NULL, NULL, NULL},
};

const struct carm_command carm_command_plot = {
    .name = "plot",
    .summary = "a model's roofs and curves as svg, png or pdf",
    .operands = "[MODEL | MACHINE...]",
    .details =
        "Draws the cache-aware roofline (a slope for each memory level with the model's mix of "
        "loads and stores, the peak, other operations and instruction sets as ceilings), the "
        "bandwidth over the working set with the levels' knees and the sizes that the OS reports, "
        "or the performance over the flops of one run; --kind all leaves out what the model lacks. "
        "Bands are 95% confidence intervals.\n\n"
        "--kind validation draws the points of carm validate under the cache-aware roofline (bytes "
        "as the cores load and store them) and under the original one (bytes between the last "
        "cache and DRAM; left out without them), and below each by how many percent the points "
        "miss it, with a band of 10%. Behind a level's name stands its fitness.\n\n"
        "--kind ceilings draws what the original roofline's ceilings allow: slopes are bandwidth with "
        "one memory optimisation less each, horizontals are computation with one optimisation less "
        "each. Where the ground is yellow, memory optimisations are in reach, where it is blue, "
        "those of computation, where it is green, both.\n\n"
        "Names of published machines draw these from the tables of the Roofline paper: opteron-x2, "
        "xeon, opteron-x4, t2plus, cell; several stand side by side. Vertical lines are kernels at "
        "their operational intensities, crosses what they achieved.\n\n"
        "Without MODEL, the one that carm build wrote for this machine is taken. gnuplot does the "
        "drawing (package gnuplot-nox).",
    .examples = "carm plot -o roofline.svg\ncarm plot --kind all -o machine.pdf\n"
                "carm plot --kind bandwidth --threads 1 -o bandwidth.png other-machine.json\n"
                "carm plot --kind validation -o validation.svg\n"
                "carm plot --kind ceilings --balance both -o ceilings.svg\n"
                "carm plot opteron-x2 opteron-x4 --overlay -o figure1.svg\n"
                "carm plot opteron-x2 -o figure2.svg\n"
                "carm plot xeon opteron-x4 cell --balance both -o figure3.svg\n"
                "carm plot t2plus -o figure4.svg",
    .opts = opts,
    .max_operands = CARM_PLOT_LADDERS_MAX,
    .run = run,
};
