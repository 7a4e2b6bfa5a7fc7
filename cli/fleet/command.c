/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/fleet/command.h"

#include <limits.h>
#include <locale.h>

#include "asm/isa.h"
#include "cli/fleet/build.h"
#include "cli/fleet/report.h"
#include "cli/fleet/show.h"

static struct carm_fleet_words words;
static struct carm_fleet_build_words node;

/* ---- options ------------------------------------------------------------------------------------- */

#define JUDGED                                                                                    \
    {"fdr",                                                                                       \
     0,                                                                                           \
     "PERCENT",                                                                                   \
     "1",                                                                                         \
     "False discovery rate: at most this share of the outliers are sound nodes, on average.",     \
     &words.fdr,                                                                                  \
     NULL},                                                                                       \
        {"min-percent",                                                                           \
         0,                                                                                       \
         "PERCENT",                                                                               \
         "1",                                                                                     \
         "Ignore differences smaller than this: they make no outlier.",                           \
         &words.min_percent,                                                                      \
         NULL},                                                                                   \
        {"ceilings",      0,   NULL, NULL, "Also judge the ceilings of `carm build --ceilings`.", \
         &words.ceilings, NULL},                                                                  \
    {                                                                                             \
        "strict", 0, NULL, NULL, "Exit with 1 when a file or row is broken.", &words.strict, NULL \
    }
#define END                                   \
    {                                         \
        NULL, 0, NULL, NULL, NULL, NULL, NULL \
    }

static const struct carm_opt show_options[] = {
    {"group", 0, "N", "all", "Show only this group.", &words.group, NULL},
    {"roof", 0, "TEXT", "all",
     "Show only roofs whose name contains this text, such as \"L3\", \"avx512 dp\" or \"DRAM 2:1\". "
     "Significance is still decided over all roofs.",
     &words.roof, NULL},
    {"top", 0, "N", "20", "Show at most so many nodes in each list; 0 = all.", &words.top, NULL},
    {"suspects", 0, NULL, NULL,
     "Also list the nodes that would be outliers if they were the only node.", &words.suspects,
     NULL},
    JUDGED,
    {"csv", 0, carm_opt_outfile, NULL,
     "Also write a row for each node and roof to this file; - is standard output, in place of the "
     "text.",
     &words.csv, NULL},
    {"json", 0, NULL, NULL, "Print one JSON object in place of the text.", &words.json, NULL},
    {"ascii", 0, NULL, NULL, "Print plain ASCII, also where the locale has UTF-8.", &words.ascii,
     NULL},
    END,
};

static const struct carm_opt report_options[] = {
    {"output", 'o', carm_opt_outfile, "fleet.html",
     "Write the page to this file; - is standard output.", &words.output, NULL},
    {"title", 0, "TEXT", "number of nodes", "Title of the page.", &words.title, NULL},
    JUDGED,
    END,
};

static const struct carm_opt build_options[] = {
    {"output", 'o', carm_opt_outfile, NULL,
     "Append the nodes' rows to this file (fleet.jsonl). Required.", &node.output, NULL},
    {"time-limit", 0, "SECONDS", "900", "Give up a node that takes longer; its row says so.",
     &node.time_limit, NULL},
    {"quick", 'q', NULL, NULL, "As carm build.", &node.build.quick, NULL},
    {"isa", 0, "LIST", NULL, "As carm build.", &node.build.isa, CARM_WORDS(CARM_ISA_TABLE) "|all"},
    {"precision", 0, "LIST", NULL, "As carm build.", &node.build.precision,
     CARM_WORDS(CARM_PRECISION_TABLE)},
    {"threads", 't', "LIST", NULL, "As carm build.", &node.build.threads, "cores|all"},
    {"ldst", 0, "LIST", NULL, "As carm build.", &node.build.ldst, CARM_WORDS(CARM_MIX_TABLE)},
    {"ops", 0, "LIST", NULL, "As carm build.", &node.build.ops, CARM_WORDS(CARM_OP_TABLE)},
    {"levels", 0, "LIST", NULL, "As carm build.", &node.build.levels, "L1|L2|L3|DRAM"},
    {"ceilings", 0, "[=LIST]", NULL, "As carm build.", &node.build.ceilings,
     "in-core|mix|memory|busy|traffic"},
    {"reps", 'r', "N", NULL, "As carm build.", &node.build.reps, NULL},
    {"memory", 'm', "LIMIT", NULL, "As carm build.", &node.build.memory, NULL},
    {"counters", 'c', "WORD", NULL, "As carm build.", &node.counters, "auto|papi|likwid|step|none"},
    END,
};

/* ---- sub-commands -------------------------------------------------------------------------------- */

static int finish(int rc, const struct carm_err *err)
{
    return !rc ? CARM_EXIT_OK
               : carm_say_error(rc == -CARM_EINVAL ? CARM_EXIT_MISUSE : CARM_EXIT_FAILED, "%s",
                                err->text);
}

static int judge(int noperands, char **operands,
                 int (*run)(const struct carm_fleet_words *words, struct carm_err *err))
{
    struct carm_err err = {""};
    words.paths = operands;
    words.npaths = noperands;
    (void)setlocale(LC_NUMERIC, "C");
    const int rc = run(&words, &err);
    return finish(rc, &err);
}

static int run_show(int noperands, char **operands)
{
    return judge(noperands, operands, carm_fleet_show);
}

static int run_report(int noperands, char **operands)
{
    return judge(noperands, operands, carm_fleet_report);
}

static int run_build(int noperands, char **operands)
{
    struct carm_err err = {""};
    (void)noperands;
    (void)operands;
    (void)setlocale(LC_NUMERIC, "C");
    const int rc = carm_fleet_build(&node, &err);
    return finish(rc, &err);
}

static const struct carm_command show = {
    .name = "fleet show",
    .summary = "types of nodes, their roofs and spread, nodes that fall short, what has changed",
    .operands = "DIR|FILE...",
    .details =
        "Reads the models of many nodes: FILE.json of carm build, FILE.jsonl with a row for each node, "
        "folders with such files, and folders below them. Sorts the nodes into groups of equal machines: "
        "CPU, cores, threads, caches, memory within 3%, hypervisor, page size, ISAs. For each group and "
        "roof it prints how many nodes have it undisturbed, the median, the spread of the nodes (1.4826 "
        "times the median absolute deviation), the 5th and 95th percentile, and the extremes.\n\n"
        "An outlier is a node with a low or high roof, memory level or computation: one that differs from "
        "the group's median by more than its own 95% interval and the group's spread explain. A memory "
        "level and the computation are weighted means of their roofs. The false discovery rate is "
        "controlled over all nodes and roofs: on average, at most --fdr of the outliers are sound nodes. A "
        "suspect would be an outlier if it were the only node: up to 1% of all sound nodes are suspects. "
        "Disturbed measurements never flag a node.\n\n"
        "Where the nodes spread by 2%, one roof that is 5% low is 2.5 spreads from the median; 1 in 80 "
        "sound nodes is, too. No test can tell such nodes apart by one measurement of one roof. A level "
        "that is 5% low in five or ten roofs is found.\n\n"
        "Several models of one node are its history: the newest is judged, and its change is taken against "
        "the median of the earlier ones. A change that all nodes of a group share is reported for the "
        "group, as after a firmware update; a node's own change is what goes beyond it.\n\n"
        "A broken file is named on standard error and left out.",
    .examples = "carm fleet show models\ncarm fleet show fleet.jsonl --top 0\n"
                "carm fleet show models --group 1 --roof L3 --csv -\n"
                "carm fleet show models --json --strict",
    .opts = show_options,
    .max_operands = INT_MAX,
    .run = run_show,
};

static const struct carm_command report = {
    .name = "fleet report",
    .summary = "what show finds, as one interactive page",
    .operands = "DIR|FILE...",
    .details =
        "Writes what carm fleet show finds as one HTML file that opens in any browser, needs no network "
        "and loads nothing: outliers, a map of nodes by roofs, the distribution of each roof, the chosen "
        "node's roofline over its group's band, and its history. The page's address (behind #) holds the "
        "view: a link to it shows the same one. The page contains the names of all nodes and files.",
    .examples =
        "carm fleet report models -o fleet.html\ncarm fleet report fleet.jsonl --title \"rack 3\"",
    .opts = report_options,
    .max_operands = INT_MAX,
    .run = run_report,
};

static const struct carm_command build = {
    .name = "fleet build",
    .summary = "measure every node of an MPI job into one file",
    .operands = "",
    .details =
        "Runs under mpirun or srun --mpi=pmix, where carm was built with MPI (make builds carm-mpi where "
        "there is mpicc): one rank of each node measures it in a process of its own, and rank 0 appends a "
        "row to the file as each model arrives. A node that fails, hangs past --time-limit or dies has a "
        "row with the reason. Without MPI it measures this node. Where nodes share a file system, srun "
        "carm build -o models/%h.json needs no MPI.\n\n"
        "Options that are described as those of carm build are passed to it on each node.",
    .examples = "mpirun --enable-recovery carm fleet build -o fleet.jsonl --time-limit 300\n"
                "srun --mpi=pmix carm fleet build -o fleet.jsonl",
    .opts = build_options,
    .max_operands = 0,
    .run = run_build,
};

static const struct carm_command *const parts[] = {&build, &show, &report, NULL};

const struct carm_command carm_command_fleet = {
    .name = "fleet",
    .summary = "the nodes of a cluster: what each type can do, which fall short, what has changed",
    .details =
        "Compares the models of many nodes. Measure the nodes with srun carm build -o "
        "models/%h.json, or with carm fleet build under MPI; then read the models with show or "
        "report.",
    .examples = "mpirun --enable-recovery carm fleet build -o fleet.jsonl --time-limit 300\n"
                "carm fleet show models\ncarm fleet report models -o fleet.html",
    .subs = parts,
};
