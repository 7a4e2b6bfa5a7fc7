/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/study/command.h"

#include "asm/isa.h"
#include "kernels/study/words.h"

static struct carm_study_words words;

/* ---- options ------------------------------------------------------------------------------------- */

#define FILES                                                                                       \
    {"model", 'm', "FILE", "this machine's", "Model to place the points on.", &words.model, NULL},  \
        {"output",      'o', carm_opt_outfile, NULL, "Write the points to this file (points.csv).", \
         &words.output, NULL},                                                                      \
        {"plot",                                                                                    \
         'p',                                                                                       \
         carm_opt_outfile,                                                                          \
         NULL,                                                                                      \
         "Draw the points on both models: svg, png or pdf.",                                        \
         &words.plot,                                                                               \
         NULL},                                                                                     \
        {"resume",                                                                                  \
         0,                                                                                         \
         NULL,                                                                                      \
         NULL,                                                                                      \
         "Continue a stopped study: keep the points that the --output file has.",                   \
         &words.resume,                                                                             \
         NULL},                                                                                     \
    {                                                                                               \
        "json", 0, NULL, NULL, "Print JSON in place of tables.", &words.json, NULL                  \
    }
#define THREADS                                                                                   \
    {                                                                                             \
        "threads", 't', "N", "one for each core", "Threads of the kernels.", &words.threads, NULL \
    }
#define ISA(widest)                                                                            \
    {                                                                                          \
        "isa", 0, "ISA", widest, "ISA of the kernels.", &words.isa, CARM_WORDS(CARM_ISA_TABLE) \
    }
#define END                                   \
    {                                         \
        NULL, 0, NULL, NULL, NULL, NULL, NULL \
    }

static const struct carm_opt gemm_options[] = {
    FILES,
    THREADS,
    ISA("the widest"),
    {"n", 'n', "N", "2304", "Rows and columns of the matrices.", &words.n, NULL},
    {"variants", 0, "N", "0", "Also measure so many other loop orders and block sizes (figure 10).",
     &words.variants, NULL},
    END,
};

static const struct carm_opt classes_options[] = {
    FILES,
    THREADS,
    ISA("the widest that gives table 2 exactly"),
    {"largest", 'k', "K", "20", "Run up to 2^K iterations.", &words.largest, NULL},
    {"budget", 0, "SECONDS", "60", "Leave out the instances that would take longer than this.",
     &words.budget, NULL},
    END,
};

static const struct carm_opt dwarfs_options[] = {
    FILES,
    THREADS,
    ISA("the widest"),
    {"n", 'n', "N", "by kernel", "Points along each edge of the grids.", &words.n, NULL},
    {"kernels", 0, "LIST", "all", "Run only these of spmv,lbmhd,stencil,fft,transpose.",
     &words.kernels, "spmv|lbmhd|stencil|fft|transpose"},
    {"matrix", 0, "FILE", "built in", "Matrix of SpMV, a Matrix Market file.", &words.matrix, NULL},
    END,
};

/* ---- sub-commands -------------------------------------------------------------------------------- */

static int run(int (*study)(const struct carm_study_words *words, struct carm_err *err))
{
    struct carm_err err = {""};
    const int rc = study(&words, &err);
    return !rc ? CARM_EXIT_OK
               : carm_say_error(rc == -CARM_EINVAL ? CARM_EXIT_MISUSE : CARM_EXIT_FAILED, "%s",
                                err.text);
}

static int run_gemm(int noperands, char **operands)
{
    (void)noperands;
    (void)operands;
    return run(carm_study_gemm);
}

static int run_classes(int noperands, char **operands)
{
    (void)noperands;
    (void)operands;
    return run(carm_study_classes);
}

static int run_dwarfs(int noperands, char **operands)
{
    (void)noperands;
    (void)operands;
    return run(carm_study_dwarfs);
}

static const struct carm_command gemm = {
    .name = "study gemm",
    .summary = "matrix multiplication, optimised step by step",
    .operands = "",
    .details =
        "Optimises a dense matrix multiplication in the six steps of the cache-aware paper's figure 9 "
        "(basic, transposed, blocked for L3, L2 and L1, a tuned library) and places each on both models.",
    .examples = "carm study gemm -o gemm.csv --plot gemm.svg\ncarm study gemm --variants 100",
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
    .summary = "applications on both models: matrix multiplication, application classes, dwarfs",
    .details = "Measures the applications of the two papers on this machine and places them on its "
               "models. A study that was stopped continues with --resume.",
    .examples =
        "carm study gemm -o gemm.csv --plot gemm.svg\ncarm study classes --plot classes.svg\n"
        "carm study dwarfs -o dwarfs.csv --plot dwarfs.svg",
    .subs = studies,
};
