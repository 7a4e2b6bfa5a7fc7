/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/fleet/command.h"

#include <limits.h>
#include <locale.h>
#include <string.h>

#include "cli/fleet/report.h"
#include "cli/fleet/show.h"

static struct carm_fleet_words words;

static const struct carm_opt options[] = {
    {"group", 0, "N", "all", "show: only this group.", &words.group, NULL},
    {"roof", 0, "TEXT", "all",
     "show: only roofs whose name holds this text, such as \"L3\", \"avx512 dp\" or \"DRAM 2:1\". "
     "What is significant is decided over all of them.",
     &words.roof, NULL},
    {"top", 0, "N", "20", "show: at most so many nodes in each list; 0 = all.", &words.top, NULL},
    {"fdr", 0, "PERCENT", "1",
     "show, report: the share of sound nodes among the outliers, on average, at most.", &words.fdr,
     NULL},
    {"min-percent", 0, "PERCENT", "1", "show, report: a smaller difference makes no outlier.",
     &words.min_percent, NULL},
    {"suspects", 0, NULL, NULL,
     "show: list the nodes, too, that would be outliers if they were the only one.",
     &words.suspects, NULL},
    {"ceilings", 0, "[=LIST]", NULL,
     "show, report: judge the ceilings of `carm build --ceilings`, too. build: measure them.",
     &words.ceilings, "in-core|mix|memory|busy|traffic"},
    {"strict", 0, NULL, NULL, "show, report: exit with 1 when a file or row is broken.",
     &words.strict, NULL},
    {"csv", 0, carm_opt_outfile, NULL,
     "show: write a row for each node and roof as well; - is standard output, in place of the text.",
     &words.csv, NULL},
    {"json", 0, NULL, NULL, "show: print one JSON object in place of the text.", &words.json, NULL},
    {"ascii", 0, NULL, NULL, "show: plain ASCII, also where the locale has UTF-8.", &words.ascii,
     NULL},
    {"output", 'o', carm_opt_outfile, NULL,
     "build: append the nodes' rows to this file (fleet.jsonl). report: the page (fleet.html); - is "
     "standard output.",
     &words.output, NULL},
    {"title", 0, "TEXT", "number of nodes", "report: title of the page.", &words.title, NULL},
    {"time-limit", 0, "SECONDS", "900",
     "build: a node that takes longer is given up, and its row says so.", &words.node.time_limit,
     NULL},
    {"quick", 'q', NULL, NULL, "build: this and what follows, as of carm build.",
     &words.node.build.quick, NULL},
    {"isa", 0, "LIST", NULL, "build.", &words.node.build.isa, "scalar|sse|avx|avx2|avx512|all"},
    {"precision", 0, "LIST", NULL, "build.", &words.node.build.precision, "dp|sp"},
    {"threads", 't', "LIST", NULL, "build.", &words.node.build.threads, "cores|all"},
    {"ldst", 0, "LIST", NULL, "build.", &words.node.build.ldst, "2:1|1:1|1:0|0:1|update|nt"},
    {"ops", 0, "LIST", NULL, "build.", &words.node.build.ops, "mad|fma|add|mul|div"},
    {"levels", 0, "LIST", NULL, "build.", &words.node.build.levels, "L1|L2|L3|DRAM"},
    {"reps", 'r', "N", NULL, "build.", &words.node.build.reps, NULL},
    {"memory", 'm', "LIMIT", NULL, "build.", &words.node.build.memory, NULL},
    {"counters", 'c', "WORD", NULL, "build.", &words.node.counters, "auto|papi|likwid|step|none"},
    {NULL, 0, NULL, NULL, NULL, NULL, NULL},
};

static int build(const struct carm_fleet_words *all, struct carm_err *err)
{
    struct carm_fleet_build_words node = all->node;
    node.output = all->output;
    node.build.ceilings = all->ceilings;
    return all->npaths ? carm_fail(err, CARM_EINVAL, "fleet build takes no files, but got '%.60s'",
                                   all->paths[0])
                       : carm_fleet_build(&node, err);
}

static int show(const struct carm_fleet_words *all, struct carm_err *err)
{
    return all->output ? carm_fail(err, CARM_EINVAL,
                                   "fleet show prints; --output is the page of fleet report or the "
                                   "rows of fleet build")
                       : carm_fleet_show(all, err);
}

static int run(int noperands, char **operands)
{
    static const struct {
        const char *name;
        int (*run)(const struct carm_fleet_words *words, struct carm_err *err);
    } parts[] = {
        {"show", show},
        {"report", carm_fleet_report},
        {"build", build},
    };
    struct carm_err err = {""};
    (void)setlocale(LC_NUMERIC, "C");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (noperands && strcmp(operands[0], parts[i].name) == 0) {
            words.paths = operands + 1;
            words.npaths = noperands - 1;
            const int rc = parts[i].run(&words, &err);
            return !rc ? CARM_EXIT_OK
                       : carm_say_error(rc == -CARM_EINVAL ? CARM_EXIT_MISUSE : CARM_EXIT_FAILED,
                                        "%s", err.text);
        }
    }
    return carm_say_error(
        CARM_EXIT_MISUSE,
        "say what to do: carm fleet show DIR, carm fleet report DIR, or carm fleet "
        "build");
}

const struct carm_command carm_command_fleet = {
    .name = "fleet",
    .summary = "the nodes of a cluster: what each type can do, which fall short, what has changed",
    .operands = "show|report DIR|FILE... | build",
    .details =
        "show reads the models of many nodes (FILE.json of carm build; FILE.jsonl with a row for each "
        "node; folders with such files, and folders below them) and sorts the nodes into groups of equal "
        "machines: CPU, cores, threads, caches, memory within 3%, hypervisor, page size, ISAs. For each "
        "group and roof it prints how many nodes have it undisturbed, the median, the spread of the nodes "
        "(1.4826 times the median absolute deviation), where 5% and 95% of them lie, and the extremes.\n\n"
        "An outlier is a node with a roof, or a whole memory level or the computation as the weighted mean "
        "of its roofs, that lies off by more than its own 95% interval and the group's spread explain. The "
        "false discovery rate is controlled over all nodes and roofs: at most --fdr of the outliers are "
        "sound, on average. A suspect would be an outlier if it were the only node: up to 1% of all sound "
        "nodes are suspects. A disturbed roof accuses nobody. One roof that is 5% low where the nodes "
        "spread by 2% lies 2.5 spreads off, as 1 in 80 sound ones do: no test tells such nodes apart by one "
        "measurement of one roof. A level that is 5% low in five or ten roofs is found.\n\n"
        "Several models of one node are its history: the newest is judged, and its change against the "
        "median of the earlier ones. A change that all nodes of a group share is the group's, as after a "
        "firmware update; a node's own is what goes beyond it.\n\n"
        "A broken file is named on standard error and left out.\n\n"
        "report writes the same as one HTML file that opens in any browser, needs no network and loads "
        "nothing: outliers, a map of nodes by roofs, the distribution of each roof, the chosen node's "
        "roofline over its group's band and its history. The page's address (behind #) holds the view, so "
        "that a link to it shows the same one. It holds the names of all nodes and files.\n\n"
        "build runs under mpirun or srun --mpi=pmix (carm-mpi, which make builds where there is mpicc): one "
        "rank of each node measures it in a process of its own, and rank 0 appends a row to the file as each "
        "model comes. A node that fails, hangs past --time-limit or dies has a row with its reason. Without "
        "MPI it measures this node. Where nodes share a file system, srun carm build -o models/%h.json does "
        "without MPI.",
    .examples = "carm fleet show models\ncarm fleet show fleet.jsonl --top 0\n"
                "carm fleet show models --group 1 --roof L3 --csv -\n"
                "carm fleet show models --json --strict\ncarm fleet report models -o fleet.html\n"
                "mpirun --enable-recovery carm fleet build -o fleet.jsonl --time-limit 300",
    .opts = options,
    .max_operands = INT_MAX,
    .run = run,
};
