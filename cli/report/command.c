/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm report: a model, and points on it, as one interactive page. */
#include "cli/commands.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/points.h"
#include "models/file/points.h"
#include "models/file/select.h"
#include "models/scaling.h"
#include "plots/page/report/data.h"
#include "plots/page/write.h"

enum { LARGE = 16000000 }; /* a page of more bytes gets a note: 20 000 points */

static const char *opt_output, *opt_title;
static struct carm_points_how how;

static int check_operands(int n, char **operands, int *models)
{
    struct carm_err err = {""};
    const struct carm_import_format *format;
    int rc = carm_import_find(how.format, &format, &err);
    rc = rc ? rc : carm_select_sort_operands(n, operands, models, &err);
    rc = rc || !opt_output ? rc : carm_report_check_output(opt_output, &err);
    return carm_say_outcome(rc, &err);
}

static int run(int noperands, char **operands)
{
    struct carm_err err = {""};
    struct carm_model *model = NULL;
    struct carm_report_input input = {.title = opt_title, .how = &how};
    char *text = NULL, *data = NULL;
    const char *path = opt_output ? opt_output : "report.html";
    int first = 0; /* 1 = the first operand is the model */
    const int code = check_operands(noperands, operands, &first);
    if (code) {
        return code;
    }
    int rc = carm_report_ready(&err);
    rc = rc ? rc : carm_select_open(first ? operands[0] : NULL, &model, &text, &err);
    if (!rc && !text) {
        rc = carm_fail(
            &err, CARM_ENOTSUP,
            "%.200s has %.80s: a report needs a model of carm build; carm show, plot, place "
            "and compare take it",
            operands[0], model->machine.cpu);
    }
    rc = rc ? rc : carm_scaling_fill(model, &err);
    input.model = model;
    input.text = text;
    input.npoints = (size_t)(noperands - first);
    input.points = operands + first;
    rc = rc ? rc : carm_report_data(&input, &data, &err);
    if (!rc && strlen(data) > LARGE) {
        carm_say_error(
            0,
            "note: the page has %.0f MB, as it holds %s. A browser may be slow with it: give "
            "it fewer points, such as those of carm place --only PATTERN --csv FILE",
            1e-6 * (double)strlen(data), input.npoints ? "so many points" : "a large model");
    }
    rc = rc ? rc : carm_report_write(CARM_REPORT_MODEL, data, path, &err);
    if (!rc && isatty(STDOUT_FILENO) && strcmp(path, "-") != 0) {
        printf("%s: open it in a browser\n", path);
    }
    free(data);
    free(text);
    carm_model_free(model);
    return carm_say_outcome(rc, &err);
}

static const struct carm_opt opts[] = {
    {"output", 'o', carm_opt_outfile, "report.html", "The page; - is standard output.", &opt_output,
     NULL},
    {"title", 0, "TEXT", "host and CPU", "Title of the page.", &opt_title, NULL},
    CARM_OPT_FORMAT(&how.format),
    CARM_OPT_WORK(&how.work),
    {NULL, 0, NULL, NULL, NULL, NULL, NULL},
};

const struct carm_command carm_command_report = {
    .name = "report",
    .summary = "a model and points on it as one interactive page",
    .operands = "[MODEL] [POINTS...]",
    .details =
        "Writes one HTML file that opens in any browser, needs no network and loads nothing: the "
        "machine and how it was measured, warnings, both models' rooflines to zoom and to "
        "point at, the roofs with their spread and how they were counted, the points with what binds "
        "them and what to try, how well the models predict (after carm validate), and the curves.\n\n"
        "Boxes choose instruction sets, precisions, threads, levels, mixes, operations, ceilings "
        "and points; columns of tables sort. The page's address (behind #) holds the view, so that a "
        "link to it shows the same one.\n\n"
        "POINTS are files as carm place reads them, - is standard input. MODEL may be a measured "
        "machine of `carm show --list`. Without MODEL the one that "
        "carm build wrote for this machine is taken. The page holds all of the model's file, the "
        "host's name included.",
    .examples = "carm report\ncarm report other-machine.json points.csv -o other.html\n"
                "carm run -o points.csv -- ./a.out; carm report points.csv",
    .opts = opts,
    .max_operands = INT_MAX,
    .run = run,
};
