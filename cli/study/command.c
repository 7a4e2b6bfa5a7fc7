/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/commands.h"

#include <stdlib.h>

#include "asm/isa.h"
#include "base/job.h"
#include "base/outfile.h"
#include "cli/progress.h"
#include "cli/study/output.h"
#include "cli/study/words.h"
#include "harness/place/place.h"
#include "models/file/select.h"
#include "validation/machine.h"

static struct carm_study_words words;

#define FILES                                                                             \
    CARM_OPT("model", 'm', "FILE", "this machine's", "Model to place the points on.",     \
             &words.model, NULL),                                                         \
        CARM_OPT("output", 'o', carm_opt_outfile, NULL,                                   \
                 "Write the points to this file (points.csv).", &words.output, NULL),     \
        CARM_OPT("plot", 0, carm_opt_outfile, NULL,                                       \
                 "Draw the points on both models: svg, png or pdf.", &words.plot, NULL),  \
        CARM_OPT("resume", 0, NULL, NULL,                                                 \
                 "Continue a stopped study: keep the points that the --output file has.", \
                 &words.resume, NULL),                                                    \
        CARM_OPT_ON(&words.on), CARM_OPT_WAIT(&words.wait),                               \
        CARM_OPT("json", 0, NULL, NULL, "Print JSON in place of tables.", &words.json, NULL)
#define THREADS                                                                       \
    CARM_OPT("threads", 't', "N", "one for each core",                                \
             "Threads of the kernels: a number, cores, all or N/UNIT, such as 1/l3.", \
             &words.threads, "cores|all|1/core|2/core|1/l3|1/numa|1/socket")
#define ISA(widest) \
    CARM_OPT("isa", 0, "ISA", widest, "ISA of the kernels.", &words.isa, CARM_WORDS(CARM_ISA_TABLE))
#define BUDGET(usual, items)                \
    CARM_OPT("budget", 0, "SECONDS", usual, \
             "Leave out the " items " that would take longer than this.", &words.budget, NULL)

static const struct carm_opt gemm_options[] = {
    FILES,
    THREADS,
    ISA("the widest"),
    {"precision", 0, "PRECISION", "dp",
     "Precision of the matrices: dp, int8 or bf16. Only step 6, by oneDNN, has int8 and bf16.",
     &words.precision, "dp|int8|bf16"},
    {"n", 'n', "N", "2304", "Rows and columns of the matrices.", &words.n, NULL},
    {"variants", 0, "N", "0", "Also measure so many other loop orders and block sizes (figure 10).",
     &words.variants, NULL},
    BUDGET("300", "points"),
    CARM_OPT_END,
};

static const struct carm_opt classes_options[] = {
    FILES,
    THREADS,
    ISA("the model's widest that gives table 2 exactly, else its widest"),
    {"largest", 'k', "K", "20", "Run up to 2^K iterations.", &words.largest, NULL},
    BUDGET("60", "instances"),
    CARM_OPT_END,
};

static const struct carm_opt dwarfs_options[] = {
    FILES,
    THREADS,
    ISA("the widest"),
    {"n", 'n', "N", "by kernel", "Points along each edge of the grids.", &words.n, NULL},
    {"kernels", 0, "LIST", "all", "Run only these of spmv,lbmhd,stencil,fft,transpose.",
     &words.kernels, "spmv|lbmhd|stencil|fft|transpose"},
    BUDGET("300", "kernels"),
    {"matrix", 0, "FILE", "built in", "Matrix of SpMV, a Matrix Market file.", &words.matrix, NULL},
    CARM_OPT_END,
};

struct kind {
    const struct carm_study_ops *ops;
    void (*print)(FILE *out, const struct carm_study *study);
    json_t *(*json)(const struct carm_study *study);
    int (*plot)(const struct carm_study *study, const char *path, struct carm_err *err);
};

/* Opens the model, which has to be of this machine: roofs of another machine do not fit points from here. */
static int open_model(const struct carm_host *host, struct carm_model **model, struct carm_err *err)
{
    struct carm_machine here;
    struct carm_err why;
    int rc = carm_select_open(words.model, model, NULL, err);
    if (rc) {
        return rc;
    }
    carm_machine_describe(&here, &host->cpu, host->topo, &host->clock);
    if (carm_machine_check(&here, &(*model)->machine, &why)) {
        rc = carm_fail(err, CARM_ENOTSUP, "%.400s; `carm build` measures this machine", why.text);
    }
    free(here.caches);
    return rc;
}

/* Checks that the picture can be made, and that the file of points fits --resume. */
static int check_files(const struct carm_study *study, struct carm_err *err)
{
    int rc = 0;
    if (words.plot && !study->has_dram) {
        rc = carm_fail(err, CARM_ENOTSUP,
                       "the model has no DRAM bandwidth, which the picture needs; `carm build` "
                       "measures it");
    } else if (words.plot) {
        rc = carm_outfile_check(words.plot, err);
    }
    return rc || !words.output ? rc
                               : carm_study_rows_check(words.output, words.resume != NULL, err);
}

/* Checks everything that can be wrong before measuring begins. */
static int prepare(const struct kind *kind, const struct carm_study_options *options,
                   const struct carm_host *host, struct carm_study **study, struct carm_err *err)
{
    struct carm_model *model = NULL;
    int rc = open_model(host, &model, err);
    if (rc) {
        carm_model_free(model);
        return rc;
    }
    rc = carm_study_open(study, kind->ops, model, err);
    if (!rc) {
        (*study)->budget = options->budget;
        rc = kind->ops->plan(*study, options, host, err);
    }
    rc = rc ? rc : check_files(*study, err);
    return rc || !words.resume ? rc : carm_study_rows_read(*study, words.output, err);
}

static int print_json(json_t *json, struct carm_err *err)
{
    const bool wrote = json && (json_dumpf(json, stdout, JSON_INDENT(2)) == 0 ||
                                ferror(stdout)); /* main checks for the error */
    json_decref(json);
    putchar('\n');
    return wrote ? 0 : carm_fail(err, CARM_ENOMEM, "not enough memory to print the study as JSON");
}

static int print_text(const struct kind *kind, const struct carm_study *study, struct carm_err *err)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out) {
        kind->print(out, study);
    }
    const bool wrote = out && fclose(out) == 0;
    if (wrote) {
        carm_study_put_folded(text);
    }
    free(text);
    return wrote ? 0 : carm_fail(err, CARM_ENOMEM, "not enough memory to print the study");
}

/* Prints the last line: the command that writes and draws the points, or shows the written points
 * on a page. */
static void print_next(const char *name)
{
    if (words.output) {
        printf("next: carm report %s%s%s -o %s.html (one interactive page)\n",
               words.model ? words.model : "", words.model ? " " : "", words.output, name);
    } else {
        printf("next: carm study %s, as before, with -o %s.csv --plot %s.svg\n", name, name, name);
    }
}

/* Prints the results, also of a study that was stopped. */
static int report(const struct kind *kind, const struct carm_study *study, struct carm_err *err)
{
    int rc = kind->ops->has_points(study, err);
    if (rc) {
        return rc;
    }
    if (words.json) {
        rc = print_json(kind->json(study), err);
    } else {
        rc = print_text(kind, study, err);
    }
    rc = rc || !words.plot ? rc : kind->plot(study, words.plot, err);
    if (!rc && study->interrupted) {
        rc = carm_fail(err, CARM_EINTR, "interrupted: the points so far are %s%.200s%s",
                       words.output ? "in " : "above alone", words.output ? words.output : "",
                       words.output ? ", --resume goes on with them" : "");
    } else if (!rc && !words.json) {
        print_next(kind->ops->name);
    }
    return rc;
}

static int run(const struct kind *kind)
{
    struct carm_err err = {""};
    struct carm_observer observer = carm_progress_open();
    struct carm_study_options options;
    struct carm_study *study = NULL;
    struct carm_host host;
    int rc = carm_study_read_words(&words, kind->ops, &options, &err);
    if (rc) {
        return carm_say_error(CARM_EXIT_MISUSE, "%s", err.text);
    }
    carm_default_model_place(words.on, NULL);
    rc = carm_host_open(&host, words.on, &observer, &err);
    if (!rc && words.threads) {
        size_t sets = 0;
        rc = carm_topo_threads(host.topo, words.threads, &options.threads, 1, &sets, &err);
    }
    /* locks before reading the model, which the lock's holder may be writing */
    rc = rc ? rc
            : carm_host_enter(&host, "study", words.output ? words.output : "", words.wait, &err);
    rc = rc ? rc : prepare(kind, &options, &host, &study, &err);
    rc = rc ? rc : kind->ops->measure(study, &host, words.output, &err);
    rc = rc ? rc : report(kind, study, &err);
    carm_host_leave(&host, rc == 0);
    carm_host_close(&host);
    carm_study_close(study);
    return carm_say_outcome(rc < 0 ? rc : 0, &err); /* above 0: another rank measures */
}

static int run_gemm(int noperands, char **operands)
{
    static const struct kind kind = {&carm_gemm_study, carm_gemm_print, carm_gemm_json,
                                     carm_gemm_plot};
    (void)noperands;
    (void)operands;
    return run(&kind);
}

static int run_classes(int noperands, char **operands)
{
    static const struct kind kind = {&carm_classes_study, carm_classes_print, carm_classes_json,
                                     carm_classes_plot};
    (void)noperands;
    (void)operands;
    return run(&kind);
}

static int run_dwarfs(int noperands, char **operands)
{
    static const struct kind kind = {&carm_dwarfs_study, carm_dwarfs_print, carm_dwarfs_json,
                                     carm_dwarfs_plot};
    (void)noperands;
    (void)operands;
    return run(&kind);
}

static const struct carm_command gemm = {
    .name = "study gemm",
    .summary = "matrix multiplication, optimised step by step",
    .operands = "",
    .details =
        "Optimises a dense matrix multiplication in the six steps of the cache-aware paper's figure 9 "
        "(basic, transposed, blocked for L3, L2 and L1, a tuned library) and places each on both models. With "
        "--precision int8 or bf16, oneDNN multiplies, and the study says what its instructions take of the "
        "cores.",
    .examples = "carm study gemm -o gemm.csv --plot gemm.svg\ncarm study gemm --variants 100\n"
                "carm study gemm --precision int8",
    .opts = gemm_options,
    .max_operands = 0,
    .run = run_gemm,
};

static const struct carm_command classes = {
    .name = "study classes",
    .summary = "the cache-aware paper's three application classes",
    .operands = "",
    .details =
        "Runs the cache-aware paper's three application classes (table 2, figures 7 and 8) with "
        "2^1 to 2^20 iterations and places each on both models.",
    .examples =
        "carm study classes --plot classes.svg\ncarm study classes --largest 10 --budget 20",
    .opts = classes_options,
    .max_operands = 0,
    .run = run_classes,
};

static const struct carm_command dwarfs = {
    .name = "study dwarfs",
    .summary = "the Roofline paper's kernels: SpMV, LBMHD, stencil, 3-D FFT",
    .operands = "",
    .details =
        "Runs the four kernels of the Roofline paper (SpMV, LBMHD, stencil, 3-D FFT) and the FFT's "
        "transpose phase, plain and optimised. Places each between its ceilings as the paper's table 4 "
        "does, and simulates the last cache to separate compulsory, capacity and conflict misses "
        "(section 5).",
    .examples = "carm study dwarfs -o dwarfs.csv --plot dwarfs.svg\n"
                "carm study dwarfs --kernels spmv --matrix matrix.mtx",
    .opts = dwarfs_options,
    .max_operands = 0,
    .run = run_dwarfs,
};

static const struct carm_command *const studies[] = {&gemm, &classes, &dwarfs, NULL};

const struct carm_command carm_command_study = {
    .name = "study",
    .summary = "applications on both models: matrix product, classes, dwarfs",
    .details = "Measures the applications of the two papers on this machine and places them on its "
               "models. A study that was stopped continues with --resume.",
    .examples =
        "carm study gemm -o gemm.csv --plot gemm.svg\ncarm study classes --plot classes.svg\n"
        "carm study dwarfs -o dwarfs.csv --plot dwarfs.svg",
    .subs = studies,
};
