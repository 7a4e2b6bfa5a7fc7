/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm sol: estimates of a neural network's run time. */
#include "cli/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asm/isa.h"
#include "base/text.h"
#include "cli/screen.h"
#include "cli/sol/print.h"
#include "cli/sol/write.h"
#include "models/file/select.h"
#include "models/file/sol/open.h"
#include "models/sol/sweep.h"
#include "plots/gnuplot.h"
#include "plots/sol.h"

static const char *opt_arch, *opt_precision, *opt_output, *opt_json, *opt_layers, *opt_as, *opt_set,
    *opt_sweep, *opt_csv, *opt_points, *opt_plot, *opt_isa, *opt_threads, *opt_list;

enum { LAYERS_SHOWN = 20 };

/* The requests of the command line, before any file is read. */
struct request {
    int precision; /* enum carm_sol_precision; -1 = not given */
    size_t layers; /* rows of the table of operations; 0 = no table */
    struct carm_sol_sweep sweep;
    const char *isa;
    int threads;
};

static int parse_precision(struct request *r)
{
    char list[160];
    r->precision = opt_precision ? carm_sol_precision_find(opt_precision) : -1;
    if (!opt_precision || r->precision >= 0) {
        return 0;
    }
    return carm_say_error(CARM_EXIT_MISUSE, "--precision is one of %s, not '%s'",
                          carm_sol_arch_precisions(NULL, list, sizeof list), opt_precision);
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

/* Reads one ISA and one number of threads: a model's set of roofs. */
static int parse_set_of_roofs(struct request *r, struct carm_select *select, struct carm_err *err)
{
    if (carm_select_parse(select, opt_isa, opt_threads, err)) {
        return carm_say_error(CARM_EXIT_MISUSE, "%s", err->text);
    }
    if (select->nisa > 1 || select->nthreads > 1) {
        return carm_say_error(
            CARM_EXIT_MISUSE,
            "--isa and --threads take one value here: the estimates use one set of "
            "roofs");
    }
    r->isa = select->nisa ? select->isa[0] : "";
    r->threads = select->nthreads ? select->threads[0] : 0;
    return 0;
}

static bool is_standard(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* Options that exclude one another. returns the error, or NULL */
static const char *misuse(void)
{
    const bool csv = opt_sweep && (!opt_csv || is_standard(opt_csv));
    if (opt_csv && !opt_sweep) {
        return "--csv needs --sweep; --points FILE.csv writes a graph's operations";
    }
    if (is_standard(opt_points)) {
        return "--points takes a file: standard output is for the estimates";
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

static int put_files(const struct carm_sol_view *v, const struct request *r, struct carm_err *err)
{
    int rc = opt_output ? carm_sol_write_yaml(opt_output, v, err) : 0;
    if (rc == 0 && opt_points) {
        rc = carm_sol_write_points(opt_points, v, err);
    }
    if (rc == 0 && opt_plot) {
        rc = carm_sol_plot_write(opt_plot, v, err);
    }
    if (rc == 0 && opt_sweep) {
        rc = carm_sol_write_sweep(opt_csv ? opt_csv : "-", &r->sweep, v, err);
    }
    return rc;
}

/* Prints the last line, a next command: the table of operations if it was not printed, else another
 * machine. */
static void print_next(const struct carm_sol_view *v)
{
    if (!opt_layers && carm_sol_view_layers(v)) {
        printf("next: carm sol, as before, with --layers (the operations that take longest)\n");
    } else {
        printf("next: carm sol, as before, with --set KEY=VALUE (what another machine brings)\n");
    }
}

static int put_text(const struct carm_sol_view *v, const struct request *r, struct carm_err *err)
{
    if (is_standard(opt_output) || (opt_sweep && (!opt_csv || is_standard(opt_csv)))) {
        return 0;
    }
    if (opt_json) {
        return carm_sol_write_json(stdout, v, err);
    }
    if (r->layers && carm_sol_view_layers(v) == 0) {
        return carm_fail(err, CARM_EINVAL,
                         "--layers has no operations to list: the analysis has only totals");
    }
    carm_sol_print(v);
    const int rc = r->layers ? carm_sol_print_layers(v, r->layers, err) : 0;
    if (rc == 0) {
        print_next(v);
    }
    return rc;
}

static int estimate(const struct carm_sol_input *input, const struct carm_sol_arch *arch,
                    enum carm_sol_precision precision, const struct request *r,
                    struct carm_err *err)
{
    struct carm_sol_result result;
    const struct carm_sol_view view = {
        .result = &result,
        .name = input->name,
        .graph = input->graph,
        .analysis = input->analysis,
        .arch = arch,
        .precision = precision,
        .as_implemented = opt_as != NULL,
        .isa = r->isa,
        .threads = r->threads,
        .ascii = !carm_screen_utf8(),
    };
    memset(&result, 0, sizeof result);
    int rc = carm_sol_estimate(input->graph, input->analysis, arch, precision, opt_as != NULL,
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
    enum carm_sol_precision precision = CARM_SOL_FP16;
    if (opt_list) {
        carm_sol_print_list();
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
    int rc = carm_sol_machine_open(opt_arch, request.isa, request.threads, &arch, &err);
    rc = rc || !opt_set ? rc : carm_sol_set(&arch, opt_set, &err);
    rc = rc ? rc : carm_sol_arch_precision(&arch, request.precision, &precision, &err);
    rc = rc ? rc : carm_sol_input_open(operands[0], &input, &err);
    rc = rc ? rc : estimate(&input, &arch, precision, &request, &err);
    carm_sol_input_close(&input);
    return rc ? carm_say_error(CARM_EXIT_FAILED, "%s", err.text) : CARM_EXIT_OK;
}

static const struct carm_opt opts[] = {
    {"arch", 'a', "ARCH", "this machine's model",
     "The machine: a built-in architecture (--list), a YAML file, or a CPU's model.json.",
     &opt_arch, "h100-pcie|b200|a100-sxm4"},
    {"precision", 0, "NAME", "fp16; fp64 for a CPU",
     "Type of all tensors' elements and of the multiply-accumulates.", &opt_precision,
     "fp64|fp32|tf32|fp16|bf16|fp8|int8|nvfp4"},
    {"output", 'o', carm_opt_outfile, NULL,
     "Write the estimates as YAML, in the sections of the guide's perf file, with cycles truncated to "
     "integers; - is standard output, in place of the text.",
     &opt_output, NULL},
    {"json", 0, NULL, NULL,
     "Print the same sections as JSON, with untruncated numbers and every layer.", &opt_json, NULL},
    {"layers", 'l', "[=N]", NULL,
     "Add a table of the operations that take longest unfused: the first 20, the first N, or all.",
     &opt_layers, NULL},
    {"as-implemented", 0, NULL, NULL,
     "Compute all three estimates from totals of the whole graph, as the guide's code does.",
     &opt_as, NULL},
    {"set", 0, "KEY=VALUE[,...]", NULL,
     "What if: change values of the architecture, named as in its file, such as "
     "DRAM_byte_per_cycle=2000,SRAM_capacity=100000000.",
     &opt_set, NULL},
    {"sweep", 0, "KEY=A:B[:N][:log]", "11 values",
     "What if: estimate at N values of KEY from A to B, evenly spaced or, with :log, at equal ratios; "
     "prints a CSV row for each in place of the text.",
     &opt_sweep, NULL},
    {"csv", 0, carm_opt_outfile, NULL,
     "Write the rows of --sweep to FILE; the text is then printed, too.", &opt_csv, NULL},
    {"points", 0, carm_opt_outfile, NULL,
     "Write the graph and its operations as points for carm place; their time is the fused estimate.",
     &opt_points, NULL},
    {"plot", 0, carm_opt_outfile, NULL,
     "Draw the architecture's roofline with the estimates: FILE.svg, FILE.png or FILE.pdf.",
     &opt_plot, NULL},
    {"isa", 0, "NAME", "the widest", "For a CPU's model: use the roofs of this instruction set.",
     &opt_isa, CARM_WORDS(CARM_ISA_TABLE)},
    {"threads", 't', "N", "all", "For a CPU's model: use the roofs measured with N threads.",
     &opt_threads, NULL},
    {"list", 0, NULL, NULL, "List the built-in architectures and examples.", &opt_list, NULL},
    {NULL, 0, NULL, NULL, NULL, NULL, NULL},
};

const struct carm_command carm_command_sol = {
    .name = "sol",
    .summary = "speed of light of a neural network: lower bounds on its time",
    .operands = "GRAPH.yaml | ANALYSIS.yaml | EXAMPLE",
    .details =
        "Estimates the shortest time that a graph of tensor operations can take on an accelerator, or "
        "on the CPU that carm build measured, after the Solar guide. Unfused: every operation reads "
        "and writes all its tensors in memory. Fused: intermediate tensors stay on the chip. "
        "Fused+prefetched: the memory traffic of one operation also overlaps with the computation of "
        "others.\n\n"
        "If the capacity of the storage on the chip is known, fused and fused+prefetched are estimated "
        "a second time: intermediates that do not fit are spilled to memory.\n\n"
        "GRAPH.yaml is an einsum graph, ANALYSIS.yaml has totals (total:) in place of layers, and - is "
        "standard input. All times are lower bounds. docs/sol.md has the rules of counting and lists "
        "what the guide leaves open.",
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
