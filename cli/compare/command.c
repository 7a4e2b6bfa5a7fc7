/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm compare: compares models with the first model. */
#include "cli/commands.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asm/isa.h"
#include "base/job.h"
#include "base/number.h"
#include "base/text.h"
#include "cli/compare/history.h"
#include "cli/compare/pairs.h"
#include "cli/compare/points.h"
#include "cli/compare/print.h"
#include "cli/points.h"
#include "cli/screen.h"
#include "models/file/gallery.h"
#include "models/file/points.h"
#include "models/file/select.h"
#include "plots/compare.h"
#include "plots/gnuplot.h"

static const char *opt_isa, *opt_threads, *opt_noise, *opt_threshold;
static const char *opt_ignore_clock, *opt_csv, *opt_json, *opt_plot, *opt_ascii, *opt_verbose;
static const char *opt_exact, *opt_only, *opt_markdown, *opt_top;
static const char *opt_run, *opt_warmup, *opt_budget, *opt_history;
static struct carm_points_how how;

struct job {
    struct carm_model *models[CARM_COMPARE_MOST];
    struct carm_compare *compare;
    struct carm_select select;
    struct carm_compare_page page;
    char here[PATH_MAX]; /* this machine's model, if it is one of the two */
};

static bool csv_is_output(void)
{
    return opt_csv && strcmp(opt_csv, "-") == 0;
}

/* The format of --plot: a picture format, or "gp"; NULL = unknown */
static const char *plot_format(void)
{
    const char *format = opt_plot ? carm_gnuplot_format(opt_plot) : "";
    const size_t n = opt_plot ? strlen(opt_plot) : 0;
    return !format && n > 3 && strcmp(opt_plot + n - 3, ".gp") == 0 ? "gp" : format;
}

/* The error of the command line, or NULL. */
static const char *misuse(int noperands, struct job *j)
{
    if (noperands == 0) {
        return "name a model: carm compare OLD.json compares it with the one of this machine, carm "
               "compare A.json B.json two of them";
    }
    j->page.noise = j->page.threshold = -1.0; /* not given */
    if (!carm_number_percent(opt_noise, &j->page.noise)) {
        return "--noise needs a percentage from 0 to below 100, such as 5";
    }
    if (!carm_number_percent(opt_threshold, &j->page.threshold)) {
        return "--threshold needs a percentage from 0 to below 100, such as 5";
    }
    if (opt_exact || opt_only || opt_markdown || opt_top || how.format || how.work) {
        return "--exact, --only, --markdown, --top, --format and --work are for two files of points";
    }
    if (opt_ignore_clock && !opt_threshold) {
        return "--ignore-clock needs --threshold";
    }
    if (opt_json && csv_is_output()) {
        return "--json and --csv - both go to standard output: name a file with --csv";
    }
    if (!plot_format()) {
        return "the picture's name must end in .svg, .png or .pdf, or .gp for its script";
    }
    return NULL;
}

static bool wanted(const void *arg, const char *isa, int threads)
{
    return carm_select_has(arg, isa, threads);
}

static int read_models(struct job *j, int n, char **operands, struct carm_err *err)
{
    int rc = 0;
    for (int i = 0; i < n && rc == 0; i++) {
        j->page.files[i] = operands[i];
        rc = carm_select_open(operands[i], &j->models[i], NULL, err);
    }
    if (rc || n > 1) {
        return rc;
    }
    rc = carm_default_model_path(j->here, sizeof j->here, err);
    if (rc == 0 && access(j->here, F_OK) != 0 && errno == ENOENT) {
        return carm_fail(
            err, CARM_EIO,
            "this machine has no model to compare with: run `carm build`, or name a second model");
    }
    j->page.files[1] = j->here;
    return rc ? rc : carm_select_open(j->here, &j->models[1], NULL, err);
}

static int put_results(const struct job *j, struct carm_err *err)
{
    int rc = 0;
    if (opt_json) {
        rc = carm_compare_put_json(&j->page, err);
    } else if (csv_is_output()) {
        rc = carm_compare_put_csv(&j->page, NULL, err);
    } else {
        carm_compare_put_table(&j->page);
    }
    if (rc == 0 && opt_csv && !csv_is_output()) {
        rc = carm_compare_put_csv(&j->page, opt_csv, err);
    }
    if (rc == 0 && opt_plot) {
        rc = carm_plot_compare(j->compare, j->page.files, opt_plot, plot_format(), err);
    }
    return rc;
}

/* The gate for scripts: prints one line. returns the exit status */
static int judge(const struct job *j)
{
    const struct carm_compare *c = j->compare;
    const double percent = 100.0 * j->page.threshold;
    struct carm_compare_drop worst;
    if (j->page.threshold < 0.0) {
        return CARM_EXIT_OK;
    }
    const size_t drops = carm_compare_drops(c, j->page.threshold, j->page.ignore_clock, &worst);
    if (!worst.row) {
        const struct carm_compare_counts n = carm_compare_counts(c);
        const size_t disturbed = n.of[CARM_COMPARE_DISTURBED];
        if (n.of[CARM_COMPARE_SIGNIFICANT] + n.of[CARM_COMPARE_EQUAL] > 0) {
            return CARM_EXIT_OK;
        }
        return disturbed
                   ? carm_say_error(
                         CARM_COMPARE_INCOMPARABLE,
                         "--threshold has nothing to compare: all %zu roofs that the models "
                         "share were disturbed while they were measured; measure again with "
                         "carm build --fresh",
                         disturbed)
                   : carm_say_error(CARM_EXIT_FAILED,
                                    "--threshold has nothing to compare: the models share no roof");
    }
    const struct carm_compare_diff *d = &worst.row->diffs[worst.model];
    char number[CARM_TEXT_NUMBER_MAX];
    char others[64] = "";
    if (drops > 1) {
        snprintf(others, sizeof others, ", and %zu other%s", drops - 1, drops == 2 ? "" : "s");
    }
    return carm_say_error(
        CARM_EXIT_FAILED,
        "more than %.3g%% below the baseline: %.80s of %.16s %.8s, %d thread%s, %s%s in %.256s%s",
        percent, worst.row->name, worst.set->isa, worst.set->precision, worst.set->threads,
        worst.set->threads == 1 ? "" : "s", carm_compare_percent(number, sizeof number, d->change),
        d->same_per_cycle ? " by the core clock" : "", j->page.files[worst.model], others);
}

/* Gives an ISA to roofs of tools that name none. */
static void adopt(struct job *j, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct carm_model *other = j->models[i == 0 ? 1 : 0];
        const struct carm_roofs *like = carm_compare_adopt(j->models[i], other);
        if (like) {
            carm_say_error(0, "note: %.200s names no ISA; it is compared with %.16s, %d thread%s",
                           j->page.files[i], like->isa, like->threads,
                           like->threads == 1 ? "" : "s");
        }
        if (*j->models[i]->roofs_of) {
            carm_say_error(0, "note: %.200s has no intervals; only those of the other model count",
                           j->page.files[i]);
        }
    }
}

static int run_job(struct job *j, int noperands, char **operands, struct carm_err *err)
{
    j->page.options =
        (struct carm_compare_options){.noise = j->page.noise, .wanted = wanted, .arg = &j->select};
    int rc = read_models(j, noperands, operands, err);
    if (rc == 0) {
        adopt(j, noperands > 1 ? (size_t)noperands : 2);
    }
    rc = rc ? rc : carm_select_check(&j->select, j->models[0], err);
    rc = rc ? rc
            : carm_compare_make((const struct carm_model *const *)j->models,
                                noperands > 1 ? (size_t)noperands : 2, &j->page.options,
                                &j->compare, err);
    j->page.compare = j->compare;
    j->page.ignore_clock = opt_ignore_clock != NULL;
    j->page.ascii = opt_ascii || !carm_screen_utf8();
    j->page.verbose = opt_verbose != NULL;
    int columns, rows;
    carm_screen_size(STDOUT_FILENO, &columns, &rows);
    j->page.narrow = isatty(STDOUT_FILENO) && columns < CARM_COMPARE_WIDE;
    return rc ? rc : put_results(j, err);
}

/* Compares two files of points, perhaps on a model. */
static int run_points(int n, char **operands)
{
    struct carm_compare_points job = {.how = how,
                                      .only = opt_only,
                                      .exact = opt_exact,
                                      .noise = 0.01,
                                      .threshold = -1.0,
                                      .json = opt_json != NULL,
                                      .markdown = opt_markdown != NULL,
                                      .ascii = opt_ascii || !carm_screen_utf8()};
    const struct carm_import_format *format;
    struct carm_err err = {""};
    int files = 0;
    for (int i = 0; i < n; i++) {
        if (carm_select_is_model(operands[i])) {
            job.model = job.model ? "" : operands[i];
        } else if (files < 2) {
            job.files[files++] = operands[i];
        } else {
            files++;
        }
    }
    if (files != 2 || (job.model && !*job.model)) {
        return carm_say_error(
            CARM_EXIT_MISUSE, "%s",
            files == 1 ? "one file of points has nothing to compare with: carm compare old.csv "
                         "new.csv [MODEL]; carm place shows it under a model"
                       : "points are compared two files at a time: carm compare old.csv new.csv "
                         "[MODEL]");
    }
    if (carm_import_find(how.format, &format, &err)) {
        return carm_say_error(CARM_EXIT_MISUSE, "%s", err.text);
    }
    if (opt_isa || opt_threads || opt_ignore_clock || opt_csv || opt_plot) {
        return carm_say_error(
            CARM_EXIT_MISUSE,
            "--isa, --threads, --ignore-clock, --csv and --plot are for models; carm "
            "plot --arrows draws points before and after");
    }
    if (!carm_number_percent(opt_noise, &job.noise) ||
        !carm_number_percent(opt_threshold, &job.threshold)) {
        return carm_say_error(
            CARM_EXIT_MISUSE,
            "--noise and --threshold need a percentage from 0 to below 100, such as 5");
    }
    double top = 100.0;
    if (opt_top && (!carm_number_between(opt_top, 0.0, 1e9, &top) || top != floor(top))) {
        return carm_say_error(CARM_EXIT_MISUSE,
                              "--top needs a whole number, 0 for all, not '%.40s'", opt_top);
    }
    job.top = (size_t)top;
    if (opt_json && opt_markdown) {
        return carm_say_error(CARM_EXIT_MISUSE, "--json and --markdown both go to standard output");
    }
    return carm_compare_points_run(&job);
}

/* Runs two commands in turn and compares them. */
static int run_commands(int n, char **operands)
{
    double warmup = 1.0, threshold = 0.0, noise = 0.01, budget = 60.0;
    if (n != 2) {
        return carm_say_error(CARM_EXIT_MISUSE,
                              "--run needs two commands, each in quotes: carm compare --run "
                              "'./old input' './new input'");
    }
    if (opt_isa || opt_threads || opt_ignore_clock || opt_csv || opt_plot || opt_exact ||
        opt_only || opt_markdown || opt_top || how.format || how.work) {
        return carm_say_error(CARM_EXIT_MISUSE,
                              "--run takes --threshold, --noise, --warmup, --budget, "
                              "--json and --ascii");
    }
    if (!carm_number_percent(opt_noise, &noise) ||
        !carm_number_percent(opt_threshold, &threshold) || !(noise > 0.0)) {
        return carm_say_error(CARM_EXIT_MISUSE,
                              "--noise and --threshold need a percentage from above 0 to "
                              "below 100, such as 5");
    }
    if (opt_warmup &&
        (!carm_number_between(opt_warmup, 0.0, 1000.0, &warmup) || warmup != floor(warmup))) {
        return carm_say_error(CARM_EXIT_MISUSE,
                              "--warmup needs a whole number up to 1000, not '%.40s'", opt_warmup);
    }
    if (opt_budget && !carm_number_between(opt_budget, 0.1, 1e6, &budget)) {
        return carm_say_error(CARM_EXIT_MISUSE, "--budget needs seconds, from 0.1 on, not '%.40s'",
                              opt_budget);
    }
    const struct carm_compare_pairs job = {.how = {.command = {operands[0], operands[1]},
                                                   .warmup = (unsigned)warmup,
                                                   .budget = budget,
                                                   .threshold = threshold,
                                                   .narrow = noise},
                                           .json = opt_json != NULL,
                                           .ascii = opt_ascii || !carm_screen_utf8()};
    return carm_compare_pairs_run(&job);
}

/* Compares files of points over commits. */
static int run_history(int n, char **operands)
{
    struct carm_compare_history job = {.operands = operands,
                                       .n = (size_t)n,
                                       .how = how,
                                       .only = opt_only,
                                       .noise = 0.01,
                                       .page = opt_plot,
                                       .json = opt_json != NULL,
                                       .ascii = opt_ascii || !carm_screen_utf8()};
    const struct carm_import_format *format;
    struct carm_err err = {""};
    const size_t length = opt_plot ? strlen(opt_plot) : 0;
    if (n == 0) {
        return carm_say_error(CARM_EXIT_MISUSE,
                              "--history needs a folder with a points.csv for each commit, or such "
                              "files in their order");
    }
    if (opt_isa || opt_threads || opt_threshold || opt_ignore_clock || opt_csv || opt_exact ||
        opt_markdown || opt_top) {
        return carm_say_error(CARM_EXIT_MISUSE,
                              "--history takes --only, --noise, --plot, --format, --work, "
                              "--json and --ascii");
    }
    if (carm_import_find(how.format, &format, &err)) {
        return carm_say_error(CARM_EXIT_MISUSE, "%s", err.text);
    }
    if (opt_plot && (length < 6 || strcmp(opt_plot + length - 5, ".html") != 0)) {
        return carm_say_error(CARM_EXIT_MISUSE, "--history draws a page: --plot FILE.html");
    }
    if (!carm_number_percent(opt_noise, &job.noise)) {
        return carm_say_error(CARM_EXIT_MISUSE,
                              "--noise needs a percentage from 0 to below 100, such as 5");
    }
    return carm_compare_history_run(&job);
}

/* Whether an operand looks like a machine's name. */
static bool is_name(const char *operand)
{
    return !strpbrk(operand, "/.") && strcmp(operand, "-") != 0 && access(operand, F_OK) != 0;
}

static int run(int noperands, char **operands)
{
    struct carm_err err = {""};
    struct carm_model *none = NULL;
    if (opt_run) {
        return run_commands(noperands, operands);
    }
    if (opt_history && !opt_warmup && !opt_budget) {
        return run_history(noperands, operands);
    }
    if (opt_warmup || opt_budget) {
        return carm_say_error(CARM_EXIT_MISUSE, "--warmup and --budget belong to --run");
    }
    for (int i = 0; i < noperands; i++) {
        if (!carm_select_is_model(operands[i])) {
            return is_name(operands[i]) && carm_gallery_open(operands[i], &none, &err)
                       ? carm_say_error(CARM_EXIT_FAILED, "%s", err.text)
                       : run_points(noperands, operands);
        }
    }
    struct job *j = calloc(1, sizeof *j);
    if (!j) {
        return carm_say_error(CARM_EXIT_FAILED, "not enough memory to compare models");
    }
    const char *wrong = misuse(noperands, j);
    int code = CARM_EXIT_OK;
    if (wrong) {
        code = carm_say_error(CARM_EXIT_MISUSE, "%s", wrong);
    } else if (carm_select_parse(&j->select, opt_isa, opt_threads, &err)) {
        code = carm_say_error(CARM_EXIT_MISUSE, "%s", err.text);
    } else if (run_job(j, noperands, operands, &err)) {
        code = carm_say_error(CARM_EXIT_FAILED, "%s", err.text);
    } else {
        code = judge(j);
    }
    carm_compare_free(j->compare);
    for (size_t i = 0; i < CARM_COMPARE_MOST; i++) {
        carm_model_free(j->models[i]);
    }
    free(j);
    return code;
}

static const struct carm_opt opts[] = {
    {"threshold", 0, "PERCENT", "none",
     "Exit with 1 if a roof is significantly below the baseline by more than PERCENT, or a point "
     "significantly slower, and name it on standard error. Also exit with 1 if the models share no "
     "roof, and with 3 if all shared roofs were disturbed.",
     &opt_threshold, NULL},
    {"ignore-clock", 0, NULL, NULL,
     "With --threshold: accept a roof that is lower but the same per clock cycle.",
     &opt_ignore_clock, NULL},
    {"noise", 0, "PERCENT", "by kind of roof",
     "Variation from run to run on these machines: a smaller difference is never "
     "significant, and intervals count as those of one run. With 0, only they decide.",
     &opt_noise, NULL},
    {"isa", 0, "LIST", "all", "Only these instruction sets, such as avx2,avx512.", &opt_isa,
     CARM_WORDS(CARM_ISA_TABLE)},
    {"threads", 0, "LIST", "all", "Only these numbers of threads, such as 1,8.", &opt_threads,
     NULL},
    {"csv", 0, carm_opt_outfile, NULL,
     "Also write the comparison as CSV, with a row for each roof and each model after the "
     "baseline; - writes CSV to standard output instead of the table.",
     &opt_csv, NULL},
    {"json", 0, NULL, NULL, "Print one JSON object instead of the table.", &opt_json, NULL},
    {"plot", 0, carm_opt_outfile, NULL,
     "Draw the roofs of all models, with one panel for each memory level, into FILE.svg, "
     "FILE.png or FILE.pdf; FILE.gp writes the gnuplot script. It shows the ISA, "
     "precision and threads with the baseline's highest peak.",
     &opt_plot, NULL},
    {"exact", 0, "[=LIST]", NULL,
     "Points: exit with 1, naming each, unless flops, bytes, instructions and vector_share are equal, "
     "or the columns of LIST within their tolerances: allocations,bytes:1%,instructions:2%.",
     &opt_exact, NULL},
    {"only", 0, "PATTERN", "all", "Points: only those whose name matches, such as 'solve*'.",
     &opt_only, NULL},
    {"markdown", 0, NULL, NULL,
     "Points: print a table in Markdown, for a comment of a pull request.", &opt_markdown, NULL},
    {"top", 0, "N", "100",
     "Points: show at most so many in a table, those that differ first, and of loops and functions these alone; 0 = "
     "all.",
     &opt_top, NULL},
    CARM_OPT_FORMAT(&how.format),
    CARM_OPT_WORK(&how.work),
    {"run", 0, NULL, NULL,
     "The operands are two commands, which run in turn, A B A B, until --threshold is decided, or the 99% interval "
     "is narrower than --noise (1%) to each side, or --budget ends: by how much B's wall time and processor time are "
     "longer.",
     &opt_run, NULL},
    {"warmup", 0, "N", "1", "With --run: runs of each command that do not count.", &opt_warmup,
     NULL},
    {"budget", 0, "SECONDS", "60", "With --run: time for the runs.", &opt_budget, NULL},
    {"history", 0, NULL, NULL,
     "The operand is a folder with a file of points for each commit, named COMMIT.csv, or the operands are such files in "
     "their order: the steps of each point's counts and times. --plot FILE.html draws them on a page.",
     &opt_history, NULL},
    {"verbose", 'v', NULL, NULL,
     "Models: print every roof, also those without a significant difference.", &opt_verbose, NULL},
    {"ascii", 0, NULL, NULL, "Print plain ASCII even in a UTF-8 locale.", &opt_ascii, NULL},
    {NULL, 0, NULL, NULL, NULL, NULL, NULL},
};

const struct carm_command carm_command_compare = {
    .name = "compare",
    .summary = "models, files of points, or two commands: what differs",
    .operands = "BASELINE [MODEL...] | POINTS POINTS | --run CMD CMD | --history DIR",
    .details =
        "Compares models with the first one, the baseline. It prints what their machines "
        "have in common and what differs, the sizes and knees of the memory levels, and, for "
        "each ISA, precision and number of threads that they share, every memory roof, "
        "compute roof, the DRAM peak and the ceilings of carm build --ceilings; also "
        "fitness, if both models were validated. With BASELINE alone, it compares with the "
        "model that carm build wrote for this machine, which `mine` names beside others. BASELINE or MODEL "
        "may be a measured machine of carm show --list: carm compare zen3-kvm shows how this machine "
        "differs from one of its kind.\n\n"
        "A difference is significant if it exceeds both its own 95% interval and a minimum for "
        "its kind of roof. carm build measures each roof in rounds, so that the interval covers "
        "the variation of the same machine from run to run. Half of the rounds' scatter is added "
        "for drifts that one run cannot show. It holds for all roofs together: "
        "two models of one machine have a significant difference in 5% of cases at most. "
        "Few rounds, such as those of carm build --quick, give wide intervals, so only larger "
        "differences are found. The minimum is 1%, and 2% for the last cache and for "
        "memory.\n\n"
        "Older models and the ceilings have no rounds. Their intervals say how precise each "
        "median is within its own run, not how another run varies. There, the interval of "
        "the difference is the root sum of squares of the halves of the two intervals, and "
        "the minimum is larger in virtual machines. From ten builds on one of them, it is 1% "
        "for computation and L1, 5.7% for a core's further caches, 8.4% for the last cache, "
        "4.5% for memory with one thread and 32% with several. --noise uses this rule for all "
        "roofs, with your own minimum (make bench REPEAT=10 measures it).\n\n"
        "A point that was disturbed while it was measured is marked ! and is never "
        "significant.\n\n"
        "Per cycle is the same difference, divided by the core clock beside each point. If a "
        "roof is significantly lower but the same per cycle, only the clock is lower. Memory "
        "has a clock of its own. \"Other code\" means that carm build chose another test "
        "code.\n\n"
        "Two files of points are compared by name: times, performance, operational intensity, shares of "
        "the roofs, the share of flops in vectors, and counts. Rows of one name are runs. A time differs "
        "significantly if the 95% interval of the ratio of geometric means excludes 1 (Welch's test, for "
        "all points together) and it differs by more than 1%, or --noise; one run is not judged. Counts "
        "of carm run --counters translate or step are exact, so that any difference is real; those of "
        "performance counters differ from 1% on, and so do the simulated bytes of L2, L3 and DRAM. Each point is placed under the roofs of a MODEL named beside them, or of "
        "this machine's model, and the text says when it moves, for example from DRAM-bound to "
        "L2-bound. Where the files have rows of functions or loops, a difference of the program's counts names "
        "those that it comes from.\n\n"
        "--run starts each command with sh, with empty input and its output discarded. What disturbs the machine for "
        "longer than a run disturbs both commands. The change is the median of the pairs' ratios, its interval that of "
        "order statistics. The processor time of programs that mostly wait is judged as a part of the wall time. If the "
        "interval does not decide within --budget, the result is \"not comparable\". The machine's state meanwhile is "
        "printed: whether another thread shared the core, the processors that other programs and the hypervisor took, "
        "and the core's clock. Neighbours in caches and memory are not looked for.\n\n"
        "--history takes git's order of the current folder's repository where files are named by commits, else the order of "
        "names. An exact count has a step at each change; a count of a program that asks the system for the time, process "
        "numbers or the like, at each change by 0.1%. What scatters, times and simulated bytes, has a step where the ranks "
        "before and after a commit differ more than in 0.1% of random orders (permutation test), and by more than --noise: a "
        "history without a step has a false one in at most 0.1% of cases. Eight files on each side are needed for that.",
    .exit_status =
        "0 success, whatever differs; 1 failure, or with --threshold a roof that is too low "
        "or a point or command that is too slow, with --exact another count; 2 usage error; 3 not "
        "comparable: with --threshold, all roofs that the models share were disturbed; with --run, the interval is "
        "too wide.",
    .examples = "carm compare before.csv after.csv --threshold 5\n"
                "carm compare main.csv branch.csv --exact=flops,bytes:1% --markdown\n"
                "carm compare --run --threshold 5 './old input' './new input'\n"
                "carm compare --history counts/ --plot history.html\n"
                "carm compare old-bios.json new-bios.json\n"
                "carm compare zen3-kvm\n"
                "carm compare --plot nodes.svg node1.json node2.json node3.json\n"
                "carm compare --json a.json b.json | jq '.sets[].roofs[]'\n"
                "# in a job's prolog: is this node still what it was?\n"
                "now=$(mktemp) || exit 0\n"
                "trap 'rm -f \"$now\"' EXIT\n"
                "carm build --quick --fresh --wait 60 -o \"$now\" >/dev/null || exit 0\n"
                "carm compare --threshold 10 /etc/carm/good.json \"$now\" >/dev/null\n"
                "[ $? -ne 1 ] || exit 1",
    .opts = opts,
    .max_operands = CARM_COMPARE_MOST,
    .run = run,
};
