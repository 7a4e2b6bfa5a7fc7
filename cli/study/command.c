/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/study/command.h"

#include <string.h>

#include "kernels/study/words.h"

static struct carm_study_words words;

static const struct carm_opt options[] = {
    {"model", 'm', "FILE", "this machine's", "Model to place the points on.", &words.model, NULL},
    {"output", 'o', carm_opt_outfile, NULL, "Where the points go (points.csv).", &words.output,
     NULL},
    {"plot", 'p', carm_opt_outfile, NULL, "Draw the points on both models: svg, png or pdf.",
     &words.plot, NULL},
    {"threads", 't', "N", "one for each core", "Threads of the kernels.", &words.threads, NULL},
    {"isa", 0, "ISA", "gemm: the widest; classes: the widest that gives table 2 exactly",
     "ISA of the kernels.", &words.isa, "scalar|sse|avx|avx2|avx512"},
    {"n", 'n', "N", "gemm: 2304; dwarfs: by kernel",
     "gemm: rows and columns of the matrices; dwarfs: points along each edge of the grids.",
     &words.n, NULL},
    {"variants", 0, "N", "0", "gemm: measure so many further loop orders and block sizes.",
     &words.variants, NULL},
    {"largest", 'k', "K", "20", "classes: up to 2^K iterations.", &words.largest, NULL},
    {"budget", 0, "SECONDS", "60", "classes: leave out the iterations that would take longer.",
     &words.budget, NULL},
    {"kernels", 0, "LIST", "all", "dwarfs: some of spmv,lbmhd,stencil,fft,transpose.",
     &words.kernels, "spmv|lbmhd|stencil|fft|transpose"},
    {"matrix", 0, "FILE", "built in", "dwarfs: the matrix of SpMV, a Matrix Market file.",
     &words.matrix, NULL},
    {"resume", 0, NULL, NULL, "Go on with the rows that --output has from a stopped study.",
     &words.resume, NULL},
    {"json", 0, NULL, NULL, "Print JSON in place of tables.", &words.json, NULL},
    {NULL, 0, NULL, NULL, NULL, NULL, NULL},
};

static int run(int noperands, char **operands)
{
    static const struct {
        const char *name;
        int (*run)(const struct carm_study_words *words, struct carm_err *err);
    } studies[] = {
        {"gemm", carm_study_gemm},
        {"classes", carm_study_classes},
        {"dwarfs", carm_study_dwarfs},
    };
    struct carm_err err = {""};
    for (size_t i = 0; i < sizeof studies / sizeof *studies; i++) {
        if (noperands && strcmp(operands[0], studies[i].name) == 0) {
            const int rc = studies[i].run(&words, &err);
            return !rc ? CARM_EXIT_OK
                       : carm_say_error(rc == -CARM_EINVAL ? CARM_EXIT_MISUSE : CARM_EXIT_FAILED,
                                        "%s", err.text);
        }
    }
    return carm_say_error(CARM_EXIT_MISUSE, "say which study: carm study gemm, classes or dwarfs");
}

const struct carm_command carm_command_study = {
    .name = "study",
    .summary = "applications on both models: matrix multiplication, application classes, dwarfs",
    .operands = "gemm|classes|dwarfs",
    .details =
        "gemm optimises a dense matrix multiplication in the six steps of the cache-aware paper's "
        "figure 9 (basic, transposed, blocked for L3, L2 and L1, a tuned library) and places each on "
        "both models. classes runs the paper's three application classes (table 2, figures 7 and 8) "
        "with 2^1 to 2^20 iterations. dwarfs runs the four kernels of the Roofline paper (SpMV, LBMHD, "
        "stencil, 3-D FFT) and the FFT's transpose phase, plain and optimised, places each between its "
        "ceilings as its table 4 does, and simulates the last cache to tell compulsory, capacity and "
        "conflict misses apart (section 5).",
    .examples = "carm study gemm -o gemm.csv --plot gemm.svg\ncarm study gemm --variants 100\n"
                "carm study classes --plot classes.svg\n"
                "carm study dwarfs -o dwarfs.csv --plot dwarfs.svg\n"
                "carm study dwarfs --kernels spmv --matrix matrix.mtx",
    .opts = options,
    .max_operands = 1,
    .run = run,
};
