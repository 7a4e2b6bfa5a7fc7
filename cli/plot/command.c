/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm plot: a model's curves and roofs as svg, png or pdf, drawn by gnuplot. */
#include "cli/commands.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "asm/isa.h"
#include "cli/points.h"
#include "models/file/points.h"
#include "models/file/published.h"
#include "models/scaling.h"
#include "plots/ceilings.h"
#include "plots/gnuplot.h"
#include "plots/picture.h"

static const char *opt_output, *opt_kind, *opt_isa, *opt_precision, *opt_threads, *opt_title,
    *opt_script;
static const char *opt_balance, *opt_aside, *opt_overlay, *opt_model, *opt_size, *opt_font,
    *opt_theme, *opt_arrows;
static struct carm_points_how how;

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

/* --script=PATH: a file, or a folder that gets one named after the kind. */
static int script_path(char *dst, size_t size, struct carm_err *err)
{
    struct stat st;
    const size_t n = strlen(opt_script);
    const bool folder =
        opt_script[n - 1] == '/' || (stat(opt_script, &st) == 0 && S_ISDIR(st.st_mode));
    const int k =
        snprintf(dst, size, "%s%s%s%s", opt_script, folder && opt_script[n - 1] != '/' ? "/" : "",
                 folder ? (opt_kind ? opt_kind : "roofline") : "", folder ? ".gp" : "");
    return k < 0 || (size_t)k >= size
               ? carm_fail(err, CARM_EINVAL, "the path of --script is too long; name a shorter one")
               : 0;
}

/* Writes the script, or the picture that gnuplot makes of it, to its target. */
static int deliver(FILE *script, struct carm_err *err)
{
    char path[PATH_MAX];
    if (opt_script && !*opt_script) {
        return carm_gnuplot_deliver(script, opt_output, err);
    }
    int rc = opt_script ? script_path(path, sizeof path, err) : 0;
    rc = rc || !opt_script ? rc : carm_gnuplot_deliver(script, path, err);
    return rc || !opt_output ? rc : carm_gnuplot_draw(script, opt_output, err);
}

static int draw_picture(const struct carm_plot_picture *page, struct carm_err *err)
{
    FILE *script;
    int rc = carm_gnuplot_open(&script, err);
    if (rc) {
        return rc;
    }
    rc = carm_plot_picture_put(script, page, err);
    rc = rc ? rc : deliver(script, err);
    fclose(script);
    return rc;
}

static int draw_sheet(const struct carm_plot_sheet *sheet, const char *format, struct carm_err *err)
{
    FILE *script;
    int rc = carm_gnuplot_open(&script, err);
    if (rc) {
        return rc;
    }
    rc = carm_plot_sheet_put(script, sheet, format, opt_title, err);
    if (rc == 0) {
        rc = deliver(script, err);
    }
    fclose(script);
    return rc;
}

/* The settings of the command line. */
struct request {
    struct carm_select select;
    struct carm_plot_look look;
    enum carm_plot_balance balance;
    enum carm_plot_models models;
    const char *kind, *format;
};

static void put_note(const char *text)
{
    carm_say_error(0, "note: %s", text);
}

/* For a roofline: completes the models' roofs; with a single model also replaces numbers of threads that it does not
 * have. */
static int complete(struct request *q, struct carm_plot_input *input, struct carm_err *err)
{
    char note[CARM_TEXT_MAX];
    int rc = 0;
    if (strcmp(q->kind, "roofline") != 0) {
        return 0;
    }
    for (size_t i = 0; i < input->nmodels && rc == 0; i++) {
        rc = carm_scaling_fill(input->models[i], err);
    }
    if (rc == 0 && input->nmodels == 1 && carm_select_nearest(&q->select, input->models[0], note)) {
        put_note(note);
    }
    return rc;
}

static int draw_input(struct request *q, struct carm_plot_input *input, struct carm_err *err)
{
    struct carm_plot_sheet sheet = {0};
    int rc = complete(q, input, err);
    for (size_t i = 0; i < input->nmodels && rc == 0; i++) {
        rc = carm_select_check(&q->select, input->models[i], err);
    }
    if (rc == 0 && is_ceilings(q->kind)) {
        rc = carm_plot_sheet_of_model(input->models[0], &q->select, q->balance, opt_aside != NULL,
                                      &sheet, err);
        sheet.look = &q->look;
        rc = rc ? rc : draw_sheet(&sheet, q->format, err);
        carm_plot_sheet_close(&sheet);
    } else if (rc == 0) {
        const struct carm_plot_picture page = {input,     &q->select, &q->look, q->kind,
                                               q->format, opt_title,  q->models};
        rc = draw_picture(&page, err);
    }
    return rc;
}

/* Options that this kind of plot does not have. returns the error, or NULL */
static const char *misplaced(const char *kind, const struct carm_plot_input *input)
{
    if (input->nmodels > 1 && !carm_plot_picture_has_models(kind)) {
        return "several models can only share a roofline: use --kind roofline";
    }
    if (input->nfiles > 0 && !carm_plot_picture_has_points(kind)) {
        return "points need a roofline: use --kind roofline, gemm or all";
    }
    if (opt_arrows && input->nfiles < 2) {
        return "--arrows needs two files of points: carm plot --arrows before.csv after.csv -o x.svg";
    }
    if (input->nfiles == 0 && strcmp(kind, "gemm") == 0) {
        return "--kind gemm needs the points that carm study gemm wrote: carm plot --kind gemm "
               "points.csv -o gemm.svg";
    }
    return NULL;
}

/* returns an exit code */
static int plot_models(struct request *q, int n, char **operands)
{
    struct carm_err err = {""};
    struct carm_plot_input input;
    const char *twice = carm_plot_input_twice(n, operands);
    if (twice) {
        return carm_say_error(
            CARM_EXIT_MISUSE,
            "'%.128s' is named twice; name each model and each file of points once", twice);
    }
    int code = CARM_EXIT_OK;
    int rc = carm_plot_input_read(&input, put_note, &how, n, operands, &err);
    const char *wrong = rc ? NULL : misplaced(q->kind, &input);
    input.arrows = opt_arrows != NULL;
    if (wrong) {
        code = carm_say_error(CARM_EXIT_MISUSE, "%s", wrong);
    } else {
        rc = rc ? rc : draw_input(q, &input, &err);
        code = rc ? carm_say_error(CARM_EXIT_FAILED, "%s", err.text) : CARM_EXIT_OK;
    }
    carm_plot_input_close(&input);
    return code;
}

/* Plots published machines, which all operands name. */
static int plot_published(const struct carm_published *published, int n, char **operands,
                          const struct request *q, struct carm_err *err)
{
    const struct carm_published_machine *machines[CARM_PLOT_OVERLAYS_MAX];
    struct carm_plot_sheet sheet = {0};
    int rc = n > CARM_PLOT_OVERLAYS_MAX
                 ? carm_fail(err, CARM_EINVAL, "a picture can show at most %d machines; name fewer",
                             CARM_PLOT_OVERLAYS_MAX)
                 : 0;
    for (int i = 0; i < n && rc == 0; i++) {
        rc = carm_published_find(published, operands[i], &machines[i], err);
    }
    if (rc == 0) {
        rc = carm_plot_sheet_of_published(published, machines, (size_t)n, q->balance,
                                          opt_overlay != NULL, &sheet, err);
        sheet.look = &q->look;
    }
    rc = rc ? rc : draw_sheet(&sheet, q->format, err);
    carm_plot_sheet_close(&sheet);
    return rc;
}

/* Options that exclude one another. returns the error, or NULL */
static const char *misuse(bool published, const char *kind)
{
    const bool ceilings = published || is_ceilings(kind);
    if (published && opt_kind && !is_ceilings(opt_kind)) {
        return "published machines can only be drawn with --kind ceilings";
    }
    if (published && (opt_isa || opt_precision || opt_threads)) {
        return "--isa and --threads choose parts of a model, not of published machines";
    }
    if (!published && opt_overlay) {
        return "--overlay is for published machines: carm plot opteron-x2 opteron-x4 --overlay";
    }
    if (published && opt_aside) {
        return "--aside is for models; the paper lists no such ceilings for its machines";
    }
    if (!ceilings && (opt_balance || opt_aside)) {
        return "--balance and --aside are for --kind ceilings";
    }
    if (opt_overlay && opt_balance) {
        return "--overlay draws only roofs, and --balance does not change them";
    }
    if (opt_model &&
        (ceilings || !(carm_plot_picture_has_points(kind) || strcmp(kind, "validation") == 0))) {
        return "--model is for --kind roofline, gemm, all and validation";
    }
    if (opt_model && strcmp(opt_model, "hierarchical") == 0 && strcmp(kind, "roofline") != 0 &&
        strcmp(kind, "all") != 0) {
        return "--model hierarchical is for --kind roofline and all";
    }
    return NULL;
}

/* The error of --output and --script, or NULL. */
static const char *misnamed(void)
{
    const bool path = opt_script && *opt_script; /* --script=PATH is written in addition to a
                                                  * picture */
    if (!opt_output && !opt_script) {
        return "name the picture, for example -o roofline.svg";
    }
    if (opt_output && !(opt_script && !path) && !carm_gnuplot_format(opt_output)) {
        return "the picture's name must end in .svg, .png or .pdf";
    }
    if (opt_script && carm_gnuplot_format(path ? opt_script : opt_output ? opt_output : "")) {
        return "--script writes a gnuplot script, not a picture; name it FILE.gp";
    }
    return NULL;
}

static bool parse_models(const char *word, enum carm_plot_models *models)
{
    static const char *const words[] = {"", "cache-aware", "original", "both", "hierarchical"};
    *models = CARM_PLOT_USUAL;
    for (size_t i = 1; i < sizeof words / sizeof *words && word; i++) {
        if (strcmp(word, words[i]) == 0) {
            *models = (enum carm_plot_models)i;
        }
    }
    return !word || *models != CARM_PLOT_USUAL;
}

/* returns 0, or an error code with its sentence in *err */
static int read_words(struct request *q, struct carm_err *err)
{
    q->kind = opt_kind ? opt_kind : "roofline";
    if (!carm_plot_picture_kind(q->kind) && !is_ceilings(q->kind)) {
        return carm_fail(
            err, CARM_EINVAL,
            "--kind is roofline, gemm, ceilings, curve, bandwidth, flops, latency, loaded, scaling, core-to-core, numa, all or "
            "validation");
    }
    if (!parse_balance(opt_balance, &q->balance)) {
        return carm_fail(err, CARM_EINVAL, "--balance is top, bottom or both");
    }
    if (!parse_models(opt_model, &q->models)) {
        return carm_fail(err, CARM_EINVAL,
                         "--model is cache-aware, original, both or hierarchical");
    }
    const char *wrong = misnamed();
    if (wrong) {
        return carm_fail(err, CARM_EINVAL, "%s", wrong);
    }
    q->format = opt_output ? carm_gnuplot_format(opt_output) : NULL;
    q->format = q->format ? q->format : "svg";
    const struct carm_import_format *format;
    if (carm_import_find(how.format, &format, err)) {
        return -CARM_EINVAL;
    }
    int rc = carm_plot_look_parse(&q->look, opt_size, opt_font, opt_theme, err);
    rc = rc ? rc : carm_select_parse(&q->select, opt_isa, opt_threads, err);
    snprintf(q->select.precision, sizeof q->select.precision, "%s",
             opt_precision ? opt_precision : "");
    return rc;
}

static int run(int noperands, char **operands)
{
    struct carm_err err = {""};
    struct request q;
    struct carm_published *published = NULL;
    const struct carm_published_machine *machine;
    if (read_words(&q, &err)) {
        return carm_say_error(CARM_EXIT_MISUSE, "%s", err.text);
    }
    int rc = carm_published_operand(noperands && strcmp(operands[0], "-") != 0 ? operands[0] : NULL,
                                    &published, &machine, &err);
    const char *wrong = rc < 0 ? NULL : misuse(rc == 1, q.kind);
    int code = CARM_EXIT_OK;
    if (wrong) {
        code = carm_say_error(CARM_EXIT_MISUSE, "%s", wrong);
    } else if (rc == 0) {
        code = plot_models(&q, noperands, operands);
    } else {
        rc = rc < 0 ? rc : plot_published(published, noperands, operands, &q, &err);
        code = rc ? carm_say_error(CARM_EXIT_FAILED, "%s", err.text) : CARM_EXIT_OK;
    }
    carm_published_close(published);
    return code;
}

static const struct carm_opt opts[] = {
    {"output", 'o', carm_opt_outfile, NULL, "The picture: FILE.svg, FILE.png or FILE.pdf.",
     &opt_output, NULL},
    {"kind", 0, "KIND", "roofline",
     "roofline; gemm (the steps of carm study gemm on both models); ceilings (the "
     "original roofline with the ceilings of carm build --ceilings); bandwidth (over the "
     "working set); flops (performance over the flops of one run); latency (of dependent loads over the working set); loaded (latency beside streaming threads); scaling (bandwidth and peak over the number of threads); core-to-core (a line from each hardware thread to each); numa (bandwidth and latency from the cores of each NUMA node to the memory of each); curve (bandwidth and "
     "flops side by side); all (curve and roofline); or validation (what carm validate "
     "measured, against both models).",
     &opt_kind,
     "roofline|gemm|ceilings|bandwidth|flops|latency|loaded|scaling|core-to-core|numa|curve|all|validation"},
    {"model", 0, "WHICH", "cache-aware",
     "cache-aware (bytes that the cores load and store), original (bytes between the last "
     "cache and DRAM), both, which is the default for gemm and validation, or hierarchical "
     "(points of carm run --levels once for each level; the large mark is the level that binds).",
     &opt_model, "cache-aware|original|both|hierarchical"},
    {"isa", 0, "LIST", "the one with the highest peak",
     "Instruction sets, such as avx2 or avx2,avx512.", &opt_isa, CARM_WORDS(CARM_ISA_TABLE)},
    {"precision", 0, "NAME", "that of the points, else dp or sp",
     "The precision of the roofs, such as int8, whose axes are in Gop/s.", &opt_precision,
     CARM_WORDS(CARM_PRECISION_TABLE)},
    {"threads", 0, "LIST", "all",
     "Numbers of threads, such as 1,8. The roofline shows the roofs with the highest peak "
     "among them, of one model the nearest where a number was not measured; without this option, those for the threads "
     "of the points.",
     &opt_threads, NULL},
    {"balance", 0, "PLACE", "top",
     "Position of multiply/add balance among the ceilings: top, bottom (for kernels that "
     "are balanced by nature, such as SpMV), or both, in two rows.",
     &opt_balance, "top|bottom|both"},
    {"aside", 0, NULL, NULL,
     "Also draw the ceilings that bind only some programs: instruction mix, load "
     "imbalance.",
     &opt_aside, NULL},
    {"overlay", 0, NULL, NULL, "Draw the roofs of several published machines into one panel.",
     &opt_overlay, NULL},
    {"arrows", 0, NULL, NULL,
     "Draw an arrow from each point of a file to the point of the same name in the next file: from "
     "before to after.",
     &opt_arrows, NULL},
    CARM_OPT_FORMAT(&how.format),
    CARM_OPT_WORK(&how.work),
    {"title", 0, "TEXT", "host and CPU", "Title of the picture.", &opt_title, NULL},
    {"size", 0, "WxH", "by kind",
     "Width and height in pixels, such as 1200x800; in points for a pdf.", &opt_size, NULL},
    {"font", 0, "NAME[,SIZE]", "sans-serif,12", "Font; lines and marks scale with its size.",
     &opt_font, NULL},
    {"theme", 0, "NAME", "light",
     "light, dark, or print: black and grey, with dashes to distinguish the lines.", &opt_theme,
     "light|dark|print"},
    {"script", 0, "[=PATH]", NULL,
     "Write the gnuplot script with its data, so that you can change it and draw it with "
     "gnuplot. PATH is a file or a folder; -o draws the picture as well. Without PATH, "
     "the script goes to -o FILE.gp or to standard output, and nothing is drawn.",
     &opt_script, NULL},
    {NULL, 0, NULL, NULL, NULL, NULL, NULL},
};

const struct carm_command carm_command_plot = {
    .name = "plot",
    .summary = "roofs, points and curves as svg, png or pdf",
    .operands = "[MODEL...] [POINTS...] | MACHINE...",
    .details =
        "Draws the cache-aware roofline (a slope for each memory level with the model's mix "
        "of loads and stores, the peak, and other operations and instruction sets as "
        "ceilings), the original roofline, the bandwidth over the working set with the "
        "levels' knees and the sizes that the OS reports, or the performance over the flops "
        "of one run. --kind all leaves out what is not in the model. Bands are 95% "
        "confidence intervals.\n\n"
        "Several models share one roofline, each in its own colour: their levels and peaks. "
        "Files of points (points.csv, - is standard input) are drawn under the roofs of the "
        "model of their host, by default those for their threads and precision, as carm "
        "place does. Up to 12 points are labelled with their names, up to 40 with numbers; "
        "with more points, the legend names the files. Rows with another metric than flops "
        "are left out. Points may also be results of other tools, and models their roofs, as "
        "for carm place.\n\n"
        "--kind validation draws the points of carm validate under the cache-aware roofline "
        "(bytes that the cores load and store) and under the original one (bytes between the "
        "last cache and DRAM; left out without them). Below each, it draws by how many "
        "percent the points miss the model, with a band of 10%. The fitness is printed "
        "behind the name of each level.\n\n"
        "--kind ceilings draws the original roofline with its ceilings: each slope is the "
        "bandwidth without one memory optimisation, each horizontal the performance without "
        "one in-core optimisation. On a yellow background, memory optimisations are in reach, on "
        "a blue one those of computation, on a green one both.\n\n"
        "MODEL may be a measured machine of carm show --list, and `mine` names this machine's model beside "
        "others.\n\n"
        "Names of published machines draw the machines of the Roofline paper from its "
        "tables: opteron-x2, xeon, opteron-x4, t2plus, cell; several are drawn side by side. "
        "Vertical lines are kernels at their operational intensities, crosses show what they "
        "achieved.\n\n"
        "Without MODEL, it draws the model that carm build wrote for this machine. gnuplot "
        "draws the picture (package gnuplot-nox).",
    .examples = "carm plot -o roofline.svg\ncarm plot --kind all -o machine.pdf\n"
                "carm plot --kind bandwidth --threads 1 -o bandwidth.png other-machine.json\n"
                "carm plot --kind validation -o validation.svg\n"
                "carm plot --arrows before.csv after.csv -o change.svg\n"
                "carm plot points.csv --model both --theme print -o points.pdf\n"
                "carm plot node1.json node2.json -o machines.svg --size 1200x900\n"
                "carm plot zen3-kvm mine -o kind.svg\n"
                "carm plot --kind gemm gemm.csv -o gemm.svg --script=gemm.gp\n"
                "carm plot --kind ceilings --balance both -o ceilings.svg\n"
                "carm plot opteron-x2 opteron-x4 --overlay -o figure1.svg\n"
                "carm plot opteron-x2 -o figure2.svg\n"
                "carm plot xeon opteron-x4 cell --balance both -o figure3.svg\n"
                "carm plot t2plus -o figure4.svg",
    .opts = opts,
    .max_operands = CARM_PLOT_MODELS_MAX + CARM_PLOT_FILES_MAX,
    .run = run,
};
