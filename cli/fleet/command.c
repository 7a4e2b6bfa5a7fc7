/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/commands.h"

#include <limits.h>
#include <stdlib.h>

#include "base/number.h"
#include "cli/fleet/show.h"
#include "cli/opt.h"
#include "harness/machine/share.h"
#include "models/file/fleet/read.h"
#include "models/fleet/judge.h"
#include "plots/page/fleet/data.h"
#include "plots/page/write.h"

static struct carm_fleet_words given;

#define JUDGED                                                                                     \
    CARM_OPT("fdr", 0, "PERCENT", "1",                                                             \
             "At most so many false alarms in 100 outliers, on average (false discovery "          \
             "rate).",                                                                             \
             &given.fdr, NULL),                                                                    \
        CARM_OPT("min-percent", 0, "PERCENT", "1",                                                 \
                 "Ignore differences smaller than this: they make no outlier.",                    \
                 &given.min_percent, NULL),                                                        \
        CARM_OPT("ceilings", 0, NULL, NULL, "Also judge the ceilings of `carm build --ceilings`.", \
                 &given.ceilings, NULL),                                                           \
        CARM_OPT("strict", 0, NULL, NULL, "Exit with 1 when a file or row is broken.",             \
                 &given.strict, NULL)

static const struct carm_opt show_options[] = {
    {"group", 0, "N", "all", "Show only this group.", &given.group, NULL},
    {"roof", 0, "TEXT", "all",
     "Show only roofs whose name contains this text, such as \"L3\", \"avx512 dp\" or \"DRAM 2:1\". "
     "Significance is still decided over all roofs.",
     &given.roof, NULL},
    {"top", 0, "N", "20", "Show at most so many nodes in each list; 0 = all.", &given.top, NULL},
    {"suspects", 0, NULL, NULL,
     "Also list the nodes that would be outliers if they were the only node.", &given.suspects,
     NULL},
    JUDGED,
    {"csv", 0, carm_opt_outfile, NULL,
     "Also write a row for each node and roof to this file; - is standard output, in place of the "
     "text.",
     &given.csv, NULL},
    {"json", 0, NULL, NULL, "Print one JSON object in place of the text.", &given.json, NULL},
    {"ascii", 0, NULL, NULL, "Print plain ASCII, also where the locale has UTF-8.", &given.ascii,
     NULL},
    CARM_OPT_END,
};

static const struct carm_opt report_options[] = {
    {"output", 'o', carm_opt_outfile, "fleet.html",
     "Write the page to this file; - is standard output.", &given.output, NULL},
    {"title", 0, "TEXT", "number of nodes", "Title of the page.", &given.title, NULL},
    JUDGED,
    CARM_OPT_END,
};

static int parse_report(const struct carm_fleet_words *words, struct carm_fleet_options *o,
                        struct carm_err *err)
{
    const int rc = carm_fleet_parse(words, "report", o, err);
    return rc || !words->output ? rc : carm_report_check_output(words->output, err);
}

static int write_page(const struct carm_fleet_words *words, const struct carm_fleet_report *report,
                      struct carm_err *err)
{
    char *data = NULL;
    int rc = carm_fleet_report_data(report, &data, err);
    rc = rc ? rc
            : carm_report_write(CARM_REPORT_FLEET, data,
                                words->output ? words->output : "fleet.html", err);
    free(data);
    return rc;
}

static int check_strict(const struct carm_fleet_words *words, const struct carm_fleet *fleet,
                        struct carm_err *err)
{
    if (!words->strict || fleet->nbroken == 0) {
        return 0;
    }
    return carm_fail(err, CARM_EFORMAT,
                     "%zu file%s or row%s broken (--strict): the page, which was written, names %s",
                     fleet->nbroken, fleet->nbroken == 1 ? "" : "s",
                     fleet->nbroken == 1 ? " is" : "s are", fleet->nbroken == 1 ? "it" : "them");
}

static int write_report(const struct carm_fleet_words *words, struct carm_err *err)
{
    struct carm_fleet *fleet = NULL;
    struct carm_fleet_report report = {.title = words->title};
    int rc = parse_report(words, &report.options, err);
    rc = rc ? rc : carm_report_ready(err);
    rc = rc ? rc
            : carm_fleet_read(words->paths, (size_t)words->npaths, &report.options, &fleet, err);
    if (rc) {
        return rc;
    }
    report.fleet = fleet;
    rc = carm_fleet_judge(fleet, &report.options, err);
    if (rc == 0 && fleet->nrows == 0) {
        rc = fleet->nbroken ? carm_fail(err, CARM_EFORMAT, "no model to show: %s: %s",
                                        fleet->broken[0].file, fleet->broken[0].reason)
                            : carm_fail(err, CARM_EFORMAT, "no model to show: no file has a row");
    }
    rc = rc ? rc : write_page(words, &report, err);
    if (rc == 0 && fleet->nbroken && !words->strict) {
        carm_say_error(0, "left out: %zu broken file%s or row%s, which the page names",
                       fleet->nbroken, fleet->nbroken == 1 ? "" : "s",
                       fleet->nbroken == 1 ? "" : "s");
    }
    rc = rc ? rc : check_strict(words, fleet, err);
    carm_fleet_free(fleet);
    return rc;
}

static int judge(int noperands, char **operands,
                 int (*run)(const struct carm_fleet_words *words, struct carm_err *err))
{
    struct carm_err err = {""};
    given.paths = operands;
    given.npaths = noperands;
    const int rc = run(&given, &err);
    return carm_say_outcome(rc, &err);
}

static int run_show(int noperands, char **operands)
{
    return judge(noperands, operands, carm_fleet_show);
}

static int run_report(int noperands, char **operands)
{
    return judge(noperands, operands, write_report);
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
        "controlled over all nodes and roofs: on average, at most --fdr of the outliers are false alarms. A "
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
    .exit_status = "0 success; 1 failure, or with --strict a broken file or row; 2 usage error.",
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
    .exit_status = "0 success; 1 failure, or with --strict a broken file or row; 2 usage error.",
};

static const struct carm_command *const parts[] = {&carm_command_fleet_build, &show, &report, NULL};

const struct carm_command carm_command_fleet = {
    .name = "fleet",
    .summary = "the nodes of a cluster: types, slow nodes, changes",
    .details =
        "Compares the models of many nodes. Measure the nodes with srun carm build -o "
        "models/%h.json, or with carm fleet build under MPI; then read the models with show or "
        "report.",
    .examples = "mpirun --enable-recovery carm fleet build -o fleet.jsonl --time-limit 300\n"
                "carm fleet show models\ncarm fleet report models -o fleet.html",
    .subs = parts,
};
