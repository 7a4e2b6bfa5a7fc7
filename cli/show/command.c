/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm show: a model as text, with its roofline drawn in the terminal. */
#include "cli/commands.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asm/isa.h"
#include "cli/opt.h"
#include "cli/screen.h"
#include "cli/show/details.h"
#include "cli/show/latency.h"
#include "cli/show/published.h"
#include "cli/show/summary.h"
#include "cli/show/tables.h"
#include "models/file/select.h"
#include "models/file/share.h"

static const char *opt_json, *opt_isa, *opt_threads, *opt_ascii, *opt_no_plot;
static const char *opt_verbose, *opt_roofs, *opt_ceilings, *opt_curves, *opt_latency,
    *opt_validation;
static const char *opt_csv, *opt_carm_tool, *opt_share, *opt_list;

/* The sections that options name. */
static bool has_section(void)
{
    return opt_roofs || opt_ceilings || opt_curves || opt_latency || opt_validation;
}

static void show(const struct carm_model *m, const struct carm_select *sel, const char *operand)
{
    struct carm_show_page page = {.ascii = opt_ascii || !carm_screen_unicode(STDOUT_FILENO),
                                  .colour = carm_screen_colour(STDOUT_FILENO),
                                  .foreign = *m->roofs_of != '\0'};
    page.plus_minus = page.ascii ? "+-" : "±";
    int columns = 0;
    int rows = 0;
    carm_screen_size(STDOUT_FILENO, &columns, &rows);
    page.columns = isatty(STDOUT_FILENO) ? columns : INT_MAX;
    if (!opt_verbose && !has_section()) {
        carm_show_summary(&page, m, sel, operand, !opt_no_plot);
        return;
    }
    carm_show_machine(&page, m);
    if (opt_verbose || opt_roofs) {
        carm_show_levels(&page, m);
        carm_show_roofs(&page, m, sel, opt_verbose != NULL);
    }
    if (opt_ceilings && !opt_verbose) {
        carm_show_ceilings(&page, m, sel);
    }
    if (opt_curves) {
        carm_show_curves(&page, m, sel);
        carm_show_scaling(&page, m);
    }
    if (opt_verbose || opt_latency) {
        carm_show_latency(&page, m);
    }
    if (opt_verbose || opt_validation) {
        carm_show_validation(&page, m, sel);
    }
    if (opt_verbose && !opt_no_plot) {
        carm_show_draw(&page, m, sel, columns, rows);
    }
}

static bool goes_to_output(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static int put_tables(const struct carm_model *m, const struct carm_select *sel,
                      struct carm_err *err)
{
    const struct carm_show_table table = {m, sel};
    int rc = 0;
    if (opt_csv) {
        rc = carm_show_put_csv(&table, goes_to_output(opt_csv) ? NULL : opt_csv, err);
    }
    if (!rc && opt_carm_tool) {
        rc = carm_show_put_carm_tool(&table, goes_to_output(opt_carm_tool) ? NULL : opt_carm_tool,
                                     err);
    }
    if (!rc && opt_share) {
        rc = carm_model_share_write(m, goes_to_output(opt_share) ? NULL : opt_share, err);
    }
    return rc;
}

/* Whether an option writes to standard output in place of the text. */
static bool output_is_taken(void)
{
    return goes_to_output(opt_csv) || goes_to_output(opt_carm_tool) || goes_to_output(opt_share);
}

/* The mistake in the options, or NULL. */
static const char *misuse(int noperands)
{
    if (goes_to_output(opt_csv) + goes_to_output(opt_carm_tool) + goes_to_output(opt_share) > 1) {
        return "only one of --csv, --carm-tool and --share can go to standard output";
    }
    if (opt_list && (noperands || opt_json || opt_isa || opt_threads || opt_csv || opt_carm_tool ||
                     opt_share)) {
        return "--list prints the names of machines and takes neither one nor other options";
    }
    if (opt_json && (has_section() || opt_verbose || opt_isa || opt_threads || opt_ascii ||
                     opt_no_plot || opt_csv || opt_carm_tool || opt_share)) {
        return "--json prints the whole file and takes no other option";
    }
    if (opt_share && (opt_isa || opt_threads)) {
        return "--share writes the whole model: it goes without --isa and --threads";
    }
    return NULL;
}

static int list_machines(void)
{
    struct carm_err err = {""};
    if (carm_show_machines(opt_ascii || !carm_screen_unicode(STDOUT_FILENO), &err)) {
        return carm_say_error(CARM_EXIT_FAILED, "%s", err.text);
    }
    return CARM_EXIT_OK;
}

static int run(int noperands, char **operands)
{
    struct carm_err err = {""};
    struct carm_select sel;
    struct carm_model *m = NULL;
    char *text = NULL;
    int code = CARM_EXIT_FAILED;
    const char *wrong = misuse(noperands);
    if (wrong) {
        return carm_say_error(CARM_EXIT_MISUSE, "%s", wrong);
    }
    if (carm_select_parse(&sel, opt_isa, opt_threads, &err)) {
        return carm_say_error(CARM_EXIT_MISUSE, "%s", err.text);
    }
    if (opt_list) {
        return list_machines();
    }
    const char *misplaced = opt_share       ? "--share"
                            : opt_csv       ? "--csv"
                            : opt_carm_tool ? "--carm-tool"
                                            : NULL;
    if (carm_show_published_operand(noperands ? operands[0] : NULL, misplaced, opt_json != NULL,
                                    !opt_no_plot, opt_ascii || !carm_screen_unicode(STDOUT_FILENO),
                                    &code)) {
        return code;
    }
    struct stat st;
    if (noperands && strcmp(operands[0], "-") != 0 && stat(operands[0], &st) == 0 &&
        S_ISREG(st.st_mode) && !carm_select_is_model(operands[0])) {
        return carm_say_error(
            CARM_EXIT_FAILED,
            "%.400s is no model; if it has points, `carm place %.200s` places them", operands[0],
            operands[0]);
    }
    if (carm_select_open(noperands ? operands[0] : NULL, &m, &text, &err) ||
        (!opt_json && carm_select_check(&sel, m, &err))) {
        carm_say_error(code, "%s", err.text);
        goto out;
    }
    if (opt_json && !text) {
        carm_say_error(code, "--json prints a model file as it is, and %.200s has %.80s",
                       operands[0], m->machine.cpu);
        goto out;
    }
    if (put_tables(m, &sel, &err)) {
        carm_say_error(code, "%s", err.text);
        goto out;
    }
    if (opt_json) {
        fputs(text, stdout);
    } else if (!output_is_taken()) {
        show(m, &sel, noperands ? operands[0] : NULL);
    }
    code = CARM_EXIT_OK;
out:
    free(text);
    carm_model_free(m);
    return code;
}

static const struct carm_opt opts[] = {
    {"verbose", 'v', NULL, NULL, "Every table, and the picture last.", &opt_verbose, NULL},
    {"roofs", 0, NULL, NULL, "Only the levels and every roof, with test codes, rounds and marks.",
     &opt_roofs, NULL},
    {"ceilings", 0, NULL, NULL, "Only the ceilings of carm build --ceilings.", &opt_ceilings, NULL},
    {"curves", 0, NULL, NULL, "Only bandwidth over working set and over threads.", &opt_curves,
     NULL},
    {"latency", 0, NULL, NULL, "Only latencies, loads in flight, and the core's operations.",
     &opt_latency, NULL},
    {"validation", 0, NULL, NULL, "Only what carm validate found.", &opt_validation, NULL},
    {"json", 0, NULL, NULL, "Print the model file's text instead.", &opt_json, NULL},
    {"isa", 0, "LIST", "all", "Only these instruction sets, such as avx2,avx512.", &opt_isa,
     CARM_WORDS(CARM_ISA_TABLE)},
    {"threads", 0, "LIST", "all", "Only these numbers of threads, such as 1,8.", &opt_threads,
     NULL},
    {"csv", 0, carm_opt_outfile, NULL,
     "Also write the roofs and ceilings as CSV, a row for each; - writes them to standard output "
     "instead of the text.",
     &opt_csv, NULL},
    {"carm-tool", 0, carm_opt_outfile, NULL,
     "The same in the form of the CARM Tool's roofline CSV: a row for each set and mix of loads and "
     "stores.",
     &opt_carm_tool, NULL},
    {"share", 0, carm_opt_outfile, NULL,
     "Also write the model for others: without names of hosts, users and paths; - writes it to standard output "
     "instead of the text.",
     &opt_share, NULL},
    {"list", 0, NULL, NULL, "Print the names that can stand for MACHINE.", &opt_list, NULL},
    {"ascii", 0, NULL, NULL, "Plain ASCII, also where the locale has UTF-8.", &opt_ascii, NULL},
    {"no-plot", 0, NULL, NULL, "Tables only.", &opt_no_plot, NULL},
    {NULL, 0, NULL, NULL, NULL, NULL, NULL},
};

const struct carm_command carm_command_show = {
    .name = "show",
    .summary = "a model as text, with a roofline drawn in the terminal",
    .operands = "[MODEL | MACHINE]",
    .details =
        "Prints one screen: the machine, its roofline, a table of levels and peaks with their 95% confidence "
        "intervals, and how sure they are. A level's roof is the best of all ISAs, a peak that of the ISA named. "
        "Without MODEL, carm show reads the one that carm build wrote for this machine. A roof marked ! was "
        "disturbed while it was measured.\n\n"
        "--verbose prints every table: the memory levels (what the OS reports and where the measured curve leaves "
        "the plateau), all roofs of each set of ISA, precision and threads, ridge points, ceilings, latencies, and "
        "what carm validate found. --roofs, --ceilings, --curves, --latency and --validation print single ones.\n\n"
        "MODEL may also be the roofs of another tool: ERT's JSON, or a CSV of the CARM Tool.\n\n"
        "MACHINE is one of --list. A measured one is a model like any other. For one that a paper "
        "published (opteron-x2, xeon, opteron-x4, t2plus, cell), it prints the ceilings, the "
        "kernels with the ceilings next to them, and every figure that disagrees with the paper's "
        "other figures.\n\n"
        "Colour goes to terminals only; NO_COLOR switches it off.",
    .examples =
        "carm show\ncarm show --roofs --isa avx2 --threads 1 other-machine.json\n"
        "carm show --json | jq .levels\ncarm show --csv - | cut -d, -f1-8\ncarm show opteron-x4\n"
        "carm show --list\ncarm show --share my-machine.json",
    .opts = opts,
    .max_operands = 1,
    .run = run,
};
