/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm plot: a model's curves and roofs as svg, png or pdf, drawn by gnuplot. */
#include "cli/cmd_plot.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/assets.h"
#include "cli/gnuplot.h"
#include "cli/plot_panel.h"
#include "cli/select.h"

static const char *opt_output, *opt_kind, *opt_isa, *opt_threads, *opt_title, *opt_script;

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
    (void)fprintf(out,
                  "# Made by carm plot. Draw it with: gnuplot FILE.gp > FILE.%s\n"
                  "# or, in another format: gnuplot -e 'format=\"pdf\"' FILE.gp > FILE.pdf\n"
                  "if (!exists(\"format\")) format = \"%s\"\n"
                  "canvas_width = %d\ncanvas_height = %d\n$title << CARM_END\n",
                  format, format, width, height);
    char title[2 * CARM_TEXT_MAX + 8];
    (void)snprintf(title, sizeof title, "%s%s%s", m->machine.hostname,
                   *m->machine.hostname && *m->machine.cpu ? ": " : "", m->machine.cpu);
    /* Its font is larger than the others: 14 to 12 (plots/common.gp). */
    carm_plot_put_line(out, opt_title ? opt_title : title, (width - 40) * 12 / 14.0);
    (void)fprintf(out, "CARM_END\n%s", carm_asset_plot_common);
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

static int plot(const struct carm_model *m, const struct carm_select *sel, const struct kind *kind,
                const char *format, struct carm_err *err)
{
    FILE *script = tmpfile();
    if (!script)
        return carm_fail(err, CARM_EIO, "cannot make a temporary file: %s", strerror(errno));
    int rc = put_script(script, m, sel, kind, format, err);
    if (rc == 0)
        rc = opt_script ? carm_gnuplot_deliver(script, opt_output, err)
                        : carm_gnuplot_draw(script, opt_output, err);
    (void)fclose(script);
    return rc;
}

static int run(int noperands, char **operands)
{
    struct carm_err err = {""};
    struct carm_select sel;
    struct carm_model *m = NULL;
    const struct kind *kind = find_kind(opt_kind ? opt_kind : "roofline");
    const char *format = opt_output && !opt_script ? carm_gnuplot_format(opt_output) : "svg";
    if (!kind)
        return carm_say_error(CARM_EXIT_MISUSE,
                              "--kind is roofline, bandwidth, flops, all or validation");
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
    int code = CARM_EXIT_OK;
    if (carm_select_open(noperands ? operands[0] : NULL, &m, NULL, &err) ||
        carm_select_check(&sel, m, &err) || plot(m, &sel, kind, format, &err))
        code = carm_say_error(CARM_EXIT_FAILED, "%s", err.text);
    carm_model_free(m);
    return code;
}

static const struct carm_opt opts[] = {
    {"output", 'o', "FILE", NULL, "The picture: FILE.svg, FILE.png or FILE.pdf.", &opt_output},
    {"kind", 0, "KIND", "roofline",
     "roofline, bandwidth (over working set), flops (performance over flops of one run), all: the "
     "three side by side, or validation: what carm validate measured against both models.",
     &opt_kind},
    {"isa", 0, "LIST", "the one with the highest peak",
     "Instruction sets, such as avx2 or avx2,avx512.", &opt_isa},
    {"threads", 0, "LIST", "all",
     "Numbers of threads, such as 1,8. The roofline is of the highest peak among them.",
     &opt_threads},
    {"title", 0, "TEXT", "host and CPU", "Title of the picture.", &opt_title},
    {"script", 0, NULL, NULL,
     "Write the gnuplot script with its data, to -o FILE.gp or standard output, and draw nothing.",
     &opt_script},
    {NULL, 0, NULL, NULL, NULL, NULL},
};

const struct carm_command carm_command_plot = {
    .name = "plot",
    .summary = "a model's roofs and curves as svg, png or pdf",
    .operands = "[MODEL]",
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
        "Without MODEL, the one that carm build wrote for this machine is taken. gnuplot does the "
        "drawing (package gnuplot-nox).",
    .examples = "carm plot -o roofline.svg\ncarm plot --kind all -o machine.pdf\n"
                "carm plot --kind bandwidth --threads 1 -o bandwidth.png other-machine.json\n"
                "carm plot --kind validation -o validation.svg",
    .opts = opts,
    .max_operands = 1,
    .run = run,
};
