/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm sol: estimates of a neural network's run time. */
#include "cli/sol/command.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asm/isa.h"
#include "plots/gnuplot.h"
#include "models/file/select.h"
#include "models/sol/open.h"
#include "plots/sol.h"
#include "cli/sol/points.h"
#include "cli/sol/print.h"
#include "models/sol/sweep.h"
#include "cli/sol/tree.h"
#include "base/text.h"
#include "cli/screen.h"

static const char *opt_arch, *opt_precision, *opt_output, *opt_json, *opt_layers, *opt_as, *opt_set,
    *opt_sweep, *opt_csv, *opt_points, *opt_plot, *opt_isa, *opt_threads, *opt_list;

enum { LAYERS_SHOWN = 20 };

/* What the words ask for, before any file is read. */
struct request {
    enum carm_sol_precision precision;
    bool has_precision;
    size_t layers; /* rows of the table of operations; 0 = no table */
    struct carm_sol_sweep sweep;
    const char *isa;
    int threads;
};

/* ---- words ------------------------------------------------------------------------------------- */

static int parse_precision(struct request *r)
{
    char list[160] = "";
    if (!opt_precision) {
        return 0;
    }
    const int found = carm_sol_precision_find(opt_precision);
    if (found >= 0) {
        r->precision = (enum carm_sol_precision)found;
        r->has_precision = true;
        return 0;
    }
    for (int i = 0; i < CARM_SOL_PRECISIONS; i++) {
        const size_t used = strlen(list);
        (void)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                       carm_sol_precision_name((enum carm_sol_precision)i));
    }
    return carm_say_error(CARM_EXIT_MISUSE, "--precision is one of %s, not '%s'", list,
                          opt_precision);
}

static int parse_layers(struct request *r)
{
    if (!opt_layers) {
        return 0;
    }
    char *end = NULL;
    const bool digits = *opt_layers >= '0' && *opt_layers <= '9';
    const unsigned long n = digits ? strtoul(opt_layers, &end, 10) : 0;
    if (strcmp(opt_layers, "all") == 0) {
        r->layers = SIZE_MAX;
    } else if (*opt_layers == '\0') {
        r->layers = LAYERS_SHOWN;
    } else if (n > 0 && *end == '\0') {
        r->layers = n;
    } else {
        return carm_say_error(CARM_EXIT_MISUSE,
                              "--layers takes how many operations to list, or all: --layers=%d",
                              LAYERS_SHOWN);
    }
    return 0;
}

/* One name and one number: a model's set of roofs. */
static int parse_set_of_roofs(struct request *r, struct carm_select *select, struct carm_err *err)
{
    if (carm_select_parse(select, opt_isa, opt_threads, err)) {
        return carm_say_error(CARM_EXIT_MISUSE, "%s", err->text);
    }
    if (select->nisa > 1 || select->nthreads > 1) {
        return carm_say_error(CARM_EXIT_MISUSE,
                              "--isa and --threads take one value here: the estimates are for one "
                              "set of roofs");
    }
    r->isa = select->nisa ? select->isa[0] : "";
    r->threads = select->nthreads ? select->threads[0] : 0;
    return 0;
}

static bool is_standard(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* Options that do not go together. returns what is wrong, or NULL */
static const char *misuse(void)
{
    const bool csv = opt_sweep && (!opt_csv || is_standard(opt_csv));
    if (opt_csv && !opt_sweep) {
        return "--csv is for --sweep; a graph's operations go to a file with --points FILE.csv";
    }
    if (is_standard(opt_points)) {
        return "--points takes a file: the estimates go to standard output";
    }
    if ((opt_json != NULL) + is_standard(opt_output) + csv > 1) {
        return "--json, -o - and --sweep without --csv FILE all go to standard output: choose one";
    }
    if (opt_layers && (opt_json || is_standard(opt_output) || csv)) {
        return "--layers adds a table to the text; --json has all layers";
    }
    if (opt_plot && !carm_gnuplot_format(opt_plot)) {
        return "the picture's name must end in .svg, .png or .pdf";
    }
    return NULL;
}

static int parse_words(struct request *r, struct carm_select *select, struct carm_err *err)
{
    const char *wrong = misuse();
    memset(r, 0, sizeof *r);
    if (wrong) {
        return carm_say_error(CARM_EXIT_MISUSE, "%s", wrong);
    }
    int code = parse_precision(r);
    code = code ? code : parse_layers(r);
    code = code ? code : parse_set_of_roofs(r, select, err);
    if (code == 0 && opt_sweep && carm_sol_sweep_parse(opt_sweep, &r->sweep, err)) {
        code = carm_say_error(CARM_EXIT_MISUSE, "%s", err->text);
    }
    return code;
}

/* ---- precision --------------------------------------------------------------------------------- */

/* fp16 where there is a rate for it, else the widest that there is. */
static int choose_precision(const struct carm_sol_arch *arch, struct request *r,
                            struct carm_err *err)
{
    char list[160] = "", name[CARM_NAME_MAX];
    if (!r->has_precision) {
        int p = arch->measured ? CARM_SOL_FP64 : CARM_SOL_FP16;
        for (int i = 0; i < CARM_SOL_PRECISIONS && !(arch->mac_per_cycle[p] > 0.0); i++) {
            p = i;
        }
        r->precision = (enum carm_sol_precision)p;
    }
    if (arch->mac_per_cycle[r->precision] > 0.0) {
        return 0;
    }
    for (int i = 0; i < CARM_SOL_PRECISIONS; i++) {
        const size_t used = strlen(list);
        if (arch->mac_per_cycle[i] > 0.0) {
            (void)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                           carm_sol_precision_name((enum carm_sol_precision)i));
        }
    }
    return carm_fail(err, CARM_EINVAL, "%s has no rate for %s; --precision can be %s",
                     carm_text_clean(name, sizeof name, arch->name, false),
                     carm_sol_precision_name(r->precision), *list ? list : "none");
}

/* ---- output ------------------------------------------------------------------------------------ */

static int put_files(const struct carm_sol_view *v, const struct request *r, struct carm_err *err)
{
    int rc = opt_output ? carm_sol_perf_write(opt_output, v, err) : 0;
    if (rc == 0 && opt_points) {
        rc = carm_sol_points_write(opt_points, v, err);
    }
    if (rc == 0 && opt_plot) {
        rc = carm_sol_plot_write(opt_plot, v, err);
    }
    if (rc == 0 && opt_sweep) {
        rc = carm_sol_sweep_write(opt_csv ? opt_csv : "-", &r->sweep, v, err);
    }
    return rc;
}

static int put_text(const struct carm_sol_view *v, const struct request *r, struct carm_err *err)
{
    if (is_standard(opt_output) || (opt_sweep && (!opt_csv || is_standard(opt_csv)))) {
        return 0;
    }
    if (opt_json) {
        return carm_sol_json_put(stdout, v, err);
    }
    if (r->layers && carm_sol_view_layers(v) == 0) {
        return carm_fail(err, CARM_EINVAL,
                         "--layers has no operations to list: the analysis has totals alone");
    }
    carm_sol_print(v);
    carm_sol_print_advice(v);
    return r->layers ? carm_sol_print_layers(v, r->layers, err) : 0;
}

static int estimate(const struct carm_sol_input *input, const struct carm_sol_arch *arch,
                    const struct request *r, struct carm_err *err)
{
    struct carm_sol_result result;
    const struct carm_sol_view view = {
        .result = &result,
        .name = input->name,
        .graph = input->graph,
        .analysis = input->analysis,
        .arch = arch,
        .precision = r->precision,
        .as_implemented = opt_as != NULL,
        .isa = r->isa,
        .threads = r->threads,
        .ascii = !carm_screen_utf8(),
    };
    memset(&result, 0, sizeof result);
    int rc = carm_sol_estimate(input->graph, input->analysis, arch, r->precision, opt_as != NULL,
                               &result, err);
    rc = rc ? rc : put_files(&view, r, err);
    rc = rc ? rc : put_text(&view, r, err);
    carm_sol_result_close(&result);
    return rc;
}

static int run(int noperands, char **operands)
{
    struct carm_err err = {""};
    struct carm_select select;
    struct carm_sol_input input = {NULL, NULL, NULL};
    struct carm_sol_arch arch;
    struct request request;
    if (opt_list) {
        carm_sol_list(stdout);
        return CARM_EXIT_OK;
    }
    if (noperands == 0) {
        return carm_say_error(CARM_EXIT_MISUSE,
                              "sol needs a graph: carm sol GRAPH.yaml --arch ARCH (- is standard "
                              "input); `carm sol --list` names examples");
    }
    const int code = parse_words(&request, &select, &err);
    if (code) {
        return code;
    }
    if (is_standard(operands[0]) && is_standard(opt_arch)) {
        return carm_say_error(CARM_EXIT_MISUSE, "standard input (-) can be read once only");
    }
    (void)setlocale(LC_NUMERIC, "C");
    int rc = carm_sol_machine_open(opt_arch, request.isa, request.threads, &arch, &err);
    rc = rc || !opt_set ? rc : carm_sol_set(&arch, opt_set, &err);
    rc = rc ? rc : choose_precision(&arch, &request, &err);
    rc = rc ? rc : carm_sol_input_open(operands[0], &input, &err);
    rc = rc ? rc : estimate(&input, &arch, &request, &err);
    carm_sol_input_close(&input);
    return rc ? carm_say_error(CARM_EXIT_FAILED, "%s", err.text) : CARM_EXIT_OK;
}

/* ---- the table --------------------------------------------------------------------------------- */

static const struct carm_opt opts[] = {
    {"arch", 'a', "ARCH", "this machine's model",
     "The machine: the name of an architecture (--list), a YAML file, or the model.json of a CPU.",
     &opt_arch, "h100-pcie|b200|a100-sxm4"},
    {"precision", 'p', "NAME", "fp16; of a CPU fp64",
     "Of all elements and of the multiply-accumulates.", &opt_precision,
     "fp64|fp32|tf32|fp16|bf16|fp8|int8|nvfp4"},
    {"output", 'o', carm_opt_outfile, NULL,
     "Write the estimates as YAML in the sections of the guide's perf file, cycles cut to whole "
     "ones; - is standard output, in place of the text.",
     &opt_output, NULL},
    {"json", 0, NULL, NULL,
     "Print the same sections as JSON, with numbers as they are, and all layers.", &opt_json, NULL},
    {"layers", 'l', "[=N]", NULL,
     "Add a table of the operations that take longest unfused: 20, N, or all of them.", &opt_layers,
     NULL},
    {"as-implemented", 0, NULL, NULL,
     "All three estimates from totals of the whole graph, as the guide's code has them.", &opt_as,
     NULL},
    {"set", 0, "KEY=VALUE[,...]", NULL,
     "What if: figures of the architecture by their names in its file, such as "
     "DRAM_byte_per_cycle=2000,SRAM_capacity=100000000.",
     &opt_set, NULL},
    {"sweep", 0, "KEY=A:B[:N][:log]", "11 values",
     "What if, for N values from A to B, at equal ratios with :log: CSV with a row for each, on "
     "standard output in place of the text.",
     &opt_sweep, NULL},
    {"csv", 0, carm_opt_outfile, NULL, "Where the rows of --sweep go; the text is printed then.",
     &opt_csv, NULL},
    {"points", 0, carm_opt_outfile, NULL,
     "Write the graph and its operations as points for carm place, with the fused estimate as time.",
     &opt_points, NULL},
    {"plot", 0, carm_opt_outfile, NULL,
     "Draw the architecture's roofline with the estimates: FILE.svg, FILE.png or FILE.pdf.",
     &opt_plot, NULL},
    {"isa", 0, "NAME", "the widest", "Of a model: the roofs of this instruction set.", &opt_isa,
     CARM_WORDS(CARM_ISA_TABLE)},
    {"threads", 't', "N", "all", "Of a model: the roofs of so many threads.", &opt_threads, NULL},
    {"list", 0, NULL, NULL, "List the architectures and examples that are built in.", &opt_list,
     NULL},
    {NULL, 0, NULL, NULL, NULL, NULL, NULL},
};

const struct carm_command carm_command_sol = {
    .name = "sol",
    .summary = "speed of light of a neural network: three estimates of its run time",
    .operands = "GRAPH.yaml | ANALYSIS.yaml | EXAMPLE",
    .details =
        "Estimates how fast a graph of operations can run at best on an accelerator, or on the CPU "
        "that carm build measured, after the Solar guide. Unfused: every operation reads and writes "
        "all its tensors in memory. Fused: intermediates stay on the chip. Fused+prefetched: "
        "memory traffic of one operation also overlaps computation of another.\n\n"
        "Where the machine tells how much it can keep on the chip, the last two are estimated again "
        "with the intermediates that find no room there spilled to memory.\n\n"
        "GRAPH.yaml is an einsum graph, ANALYSIS.yaml has totals (total:) in place of layers, - is "
        "standard input. Times are lower bounds. The rules of counting and what the guide leaves "
        "open are in docs/sol.md.",
    .examples = "carm sol --list\n"
                "carm sol transformer-block --arch h100-pcie --layers\n"
                "carm sol graph.yaml --arch b200 --precision fp8 -o perf.yaml\n"
                "carm sol graph.yaml --points points.csv && carm place points.csv\n"
                "carm sol graph.yaml --arch model.json --threads 1 --plot sol.svg\n"
                "carm sol graph.yaml --arch h100-pcie --set DRAM_byte_per_cycle=2000\n"
                "carm sol graph.yaml --arch h100-pcie --sweep SRAM_capacity=1e6:1e8:20:log",
    .opts = opts,
    .max_operands = 1,
    .run = run,
};
