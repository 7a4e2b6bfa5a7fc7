/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cmd_study.h"

#include <string.h>

#include "cli/study.h"

static struct carm_study_words words;

static const struct carm_opt options[] = {
    {"model", 'm', "FILE", "this machine's", "Model to place the points on.", &words.model},
    {"output", 'o', "FILE", NULL, "Where the points go (points.csv).", &words.output},
    {"plot", 'p', "FILE", NULL, "Draw the points on both models: svg, png or pdf.", &words.plot},
    {"threads", 't', "N", "one for each core", "Threads of the kernels.", &words.threads},
    {"isa", 0, "ISA", "gemm: the widest; classes: the widest that gives table 2 exactly",
     "ISA of the kernels.", &words.isa},
    {"n", 'n', "N", "2304", "gemm: rows and columns of the matrices.", &words.n},
    {"variants", 0, "N", "0", "gemm: measure so many further loop orders and block sizes.",
     &words.variants},
    {"largest", 'k', "K", "20", "classes: up to 2^K iterations.", &words.largest},
    {"budget", 0, "SECONDS", "60", "classes: leave out the iterations that would take longer.",
     &words.budget},
    {"resume", 0, NULL, NULL, "Go on with the rows that --output has from a stopped study.",
     &words.resume},
    {"json", 0, NULL, NULL, "Print JSON in place of tables.", &words.json},
    {NULL, 0, NULL, NULL, NULL, NULL},
};

static int run(int noperands, char **operands)
{
    const char *word = noperands ? operands[0] : "";
    if (strcmp(word, "gemm") == 0) {
        return carm_study_gemm(&words);
    }
    if (strcmp(word, "classes") == 0) {
        return carm_study_classes(&words);
    }
    return carm_say_error(CARM_EXIT_MISUSE, "say which study: carm study gemm, or classes");
}

const struct carm_command carm_command_study = {
    .name = "study",
    .summary = "applications on both models: matrix multiplication, application classes",
    .operands = "gemm|classes",
    .details =
        "gemm optimises a dense matrix multiplication in the six steps of the cache-aware paper's "
        "figure 9 (basic, transposed, blocked for L3, L2 and L1, a tuned library) and places each on "
        "both models. classes runs the paper's three application classes (table 2, figures 7 and 8) "
        "with 2^1 to 2^20 iterations.",
    .examples = "carm study gemm -o gemm.csv --plot gemm.svg\ncarm study gemm --variants 100\n"
                "carm study classes --plot classes.svg",
    .opts = options,
    .max_operands = 1,
    .run = run,
};
