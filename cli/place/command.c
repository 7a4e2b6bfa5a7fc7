/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm place: points of applications under the roofs of both models. */
#include "cli/commands.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asm/isa.h"
#include "base/number.h"
#include "base/text.h"
#include "base/job.h"
#include "cli/lacking.h"
#include "cli/place/print.h"
#include "cli/points.h"
#include "cli/screen.h"
#include "models/file/points.h"
#include "models/file/select.h"
#include "models/latency.h"
#include "models/place/settings.h"
#include "models/scaling.h"

static struct carm_place_words words;
static const char *opt_csv, *opt_json, *opt_merge, *opt_ceilings, *opt_runtime, *opt_intensity;
static const char *opt_no_measure, *opt_on, *opt_set, *opt_pages;
static struct carm_settings settings; /* of --set */
static const char *opt_by, *opt_ranks, *opt_benchmark, *opt_fail_under, *opt_only;
static struct carm_points_how how;

#define DEFAULT_RANKS "16"

static const struct carm_opt options[] = {
    {"merge", 0, NULL, NULL,
     "Sum rows with the same name, such as those of ranks or threads: flops, bytes, DRAM "
     "bytes, calls and threads are added, and the time is that of the slowest row. "
     "imbalance is the slowest row's time over the mean.",
     &opt_merge, NULL},
    {"by", 0, "LIST", NULL,
     "Group the rows of ranks: one point for the job, for each node or for each rank "
     "(job, node, rank or several of them). Reports imbalance, the time that it costs and "
     "the ceiling that it leaves.",
     &opt_by, "job|node|rank"},
    {"ranks", 0, "N", DEFAULT_RANKS,
     "With --by rank: if a job has more than N ranks, the table shows only the slowest "
     "and the fastest, N in all; 0 = all ranks.",
     &opt_ranks, NULL},
    {"ceilings", 0, NULL, NULL, "Show all ceilings of each point, not only the next ones.",
     &opt_ceilings, NULL},
    {"isa", 0, "NAME", "the one with the highest peak",
     "Place under the roofs of this instruction set.", &words.isa, CARM_WORDS(CARM_ISA_TABLE)},
    {"threads", 't', "N", "the point's", "Place under the roofs for this number of threads.",
     &words.threads, NULL},
    {"on", 0, "PLACE", "the whole machine",
     "Place under the roofs that carm build --on PLACE measured here.", &opt_on,
     "socket:|numa:|l3:|l2:|core:|kind:p|kind:e|cpu:"},
    {"precision", 0, "NAME", "the point's", "Place under the roofs of this precision.",
     &words.precision, CARM_WORDS(CARM_PRECISION_TABLE)},
    {"runtime", 0, NULL, NULL,
     "Add the runtime-oriented ceilings: the performance that the point's own SIMD share, "
     "multiply/add balance, share of floating point and software prefetches allow. They "
     "need the instruction mix (carm run --counters translate or step).",
     &opt_runtime, NULL},
    {"balance", 0, "WHERE", "by the point's mix",
     "Position of multiply/add balance among the ceilings of carm build --ceilings: top, "
     "for most kernels, or bottom, for kernels that are balanced by nature (40 to 60% "
     "multiplies).",
     &words.balance, "top|bottom"},
    {"fail-under", 0, "PERCENT", "none",
     "Exit with 1, and name each point that reaches less of its roof or cannot be placed. The "
     "roof is the cache-aware one; for points without bytes, the original one.",
     &opt_fail_under, NULL},
    {"only", 0, "PATTERN", "all",
     "Only points whose name matches, such as 'solve*'. It is an error if none matches.", &opt_only,
     NULL},
    {"no-measure", 0, NULL, NULL,
     "Do not measure roofs. Without this option, sets of roofs that this machine's model lacks for the points (an "
     "ISA, a precision, a number of threads) are measured and added to it, a second each.",
     &opt_no_measure, NULL},
    {"set", 0, "CHANGE[,...]", NULL,
     "Place under the roofs of a changed machine, and say what each point would gain: a list of changes such as "
     "dram.bandwidth=2x, L2.bandwidth=1.5x, peak=2x, clock=1.2x. Other sizes of caches need the program: carm run --set.",
     &opt_set, NULL},
    {"pages", 0, "WHERE", "the threads' own node",
     "Where the pages of the points are: numa:1, or interleaved over all nodes. The roofs of DRAM become those of this "
     "memory, as carm build measured it on a machine with several NUMA nodes.",
     &opt_pages, "numa:|interleaved"},
    CARM_OPT_FORMAT(&how.format),
    CARM_OPT_WORK(&how.work),
    {"intensity", 0, "I[,I...]", NULL,
     "Without points: print roofs, regions and what each optimisation can give at these "
     "operational intensities, in flop (or operations) per byte; fractions such as 1/32 "
     "are allowed.",
     &opt_intensity, NULL},
    {"metric", 0, "NAME", "flop",
     "Place the points that count NAME instead of flops (columns operations and metric; "
     "an empty metric means NAME). Only memory bounds them, unless --peak is given.",
     &words.metric, NULL},
    {"peak", 0, "RATE", "none", "With --metric: the computational roof in operations/s.",
     &words.peak, NULL},
    {"csv", 0, carm_opt_outfile, NULL,
     "Also write the placed points as CSV; - writes CSV to standard output instead of the "
     "table. The first columns are those of points.csv, so the file can be read as points "
     "again.",
     &opt_csv, NULL},
    {"json", 0, NULL, NULL,
     "Print a JSON array with an object for each point instead of the table.", &opt_json, NULL},
    {"google-benchmark", 0, NULL, NULL,
     "Print the points in the shape of Google Benchmark's JSON, for the tools that read it.",
     &opt_benchmark, NULL},
    {NULL, 0, NULL, NULL, NULL, NULL, NULL},
};

enum { HOSTS_MAX = 64 };

struct context {
    const struct carm_model *model;
    struct carm_place_choices *choices;
    struct carm_merge *merge; /* NULL = rows are points */
    struct carm_views *views; /* views of --by; NULL = none */
    enum carm_view_kind kinds[CARM_VIEW_COUNT];
    size_t nkinds, most_ranks;
    struct carm_view view, whole;
    struct carm_place_outputs outputs;
    char *hosts[HOSTS_MAX]; /* hosts other than the model's that were already reported */
    size_t nhosts;
    size_t rows;
    double fail_under;                /* share of the roof; negative = not given */
    size_t failed;                    /* points below fail_under */
    const char *metric;               /* "" = flops */
    struct carm_point counted;        /* the point; for a metric, its operations are in flops */
    struct carm_placed placed;        /* static: its ceilings are too large for the stack */
    struct carm_place_choices *today; /* choices of the model without --set; NULL = no --set */
    struct carm_placed before;
    char gain[CARM_SETTINGS_TEXT_MAX + 128];
};

/* ---- where points come from ---- */

/* Reports each host that is not the model's, once. */
static void tell_host(struct context *c, const char *host)
{
    for (size_t i = 0; i < c->nhosts; i++) {
        if (strcmp(c->hosts[i], host) == 0) {
            return;
        }
    }
    if (c->nhosts > 0 && c->views) {
        return; /* one sentence is enough for all nodes of a job */
    }
    if (c->nhosts < HOSTS_MAX) {
        c->hosts[c->nhosts++] = strdup(host);
        if (!c->hosts[c->nhosts - 1]) {
            c->nhosts--;
        }
        if (c->views) {
            carm_say_error(
                0,
                "note: nodes such as %.64s are placed under the roofs of host %.64s, which is right "
                "only for nodes of the same kind",
                host, c->model->machine.hostname);
            return;
        }
        carm_say_error(
            0, "note: points of host %.64s are placed under the roofs of another host, %.64s", host,
            c->model->machine.hostname);
    }
}

/* ---- one point ---- */

/* Finds the point's runtime-oriented ceilings. */
static void adjust(const struct context *c, struct carm_placed *d)
{
    if (!opt_runtime || *d->set->metric || (!d->has[0] && !d->has[1])) {
        return;
    }
    carm_runtime_find(c->model, d->roofs, &d->point->mix, d->point->flops, &d->runtime);
    d->has_runtime = true;
    for (int i = 0; i < 2; i++) {
        if (d->has[i]) {
            carm_runtime_advise(&d->runtime, (enum carm_place_which)i, &d->place[i]);
        }
    }
}

/* Fills in the view of a point. */
static void put_view(struct context *c, struct carm_placed *d)
{
    d->view = &c->view;
    if (c->view.last) {
        d->whole = &c->whole;
    }
    carm_imbalance_find(&c->view.imbalance, d->set, d->place, d->has, &d->cost);
}

/* Checks a point against --fail-under. */
static void judge(struct context *c, const struct carm_placed *d)
{
    char name[256];
    const struct carm_place *p = d->has[0] ? &d->place[0] : d->has[1] ? &d->place[1] : NULL;
    if (c->fail_under < 0.0 || (p && p->share >= c->fail_under)) {
        return;
    }
    c->failed++;
    carm_text_clean(name, sizeof name, d->point->name, c->outputs.printers[0].ascii);
    fflush(stdout);
    if (p) {
        carm_say_error(0, "%.200s reaches %.1f%% of its roof, less than %.4g%%", name,
                       100.0 * p->share, 100.0 * c->fail_under);
    } else {
        carm_say_error(0, "%.200s has no place under a roof: %.200s", name,
                       d->unplaced ? d->unplaced : d->why[0].text);
    }
}

/* Prints the gain of a point on the machine of --set, from its bounds on both machines. */
static void put_gain(struct context *c, const struct carm_point *point, struct carm_placed *d)
{
    struct carm_place_choice choice;
    struct carm_point counted;
    char list[CARM_SETTINGS_TEXT_MAX], times[32];
    carm_settings_text(list, sizeof list, &settings);
    carm_place_choose(c->today, point, &choice);
    const char *unplaced = carm_placed_count(&counted, point, &choice);
    carm_placed_fill(&c->before, &counted, &choice, unplaced, "");
    const double before = carm_placed_explains(&c->before), after = carm_placed_explains(d);
    if (before < CARM_VERDICT_EXPLAINS || !(after > 0.0)) {
        snprintf(c->gain, sizeof c->gain,
                 "what %s would bring is not known: its bounds explain %.0f%% of its time", list,
                 100.0 * before);
    } else {
        snprintf(c->gain, sizeof c->gain, "with %s it would be %s as fast", list,
                 carm_setting_words(times, sizeof times, carm_setting_gain(1.0, before, after)));
    }
    d->notes[3] = c->gain;
}

static void put_point(struct context *c, const struct carm_point *point,
                      const struct carm_merged *merged)
{
    struct carm_placed *d = &c->placed;
    struct carm_place_choice choice;
    char host[192];
    if (carm_place_other_host(point, c->model, host, sizeof host)) {
        tell_host(c, point->host);
    }
    carm_place_choose(c->choices, point, &choice);
    const char *unplaced = carm_placed_count(&c->counted, point, &choice);
    carm_placed_fill(d, &c->counted, &choice, unplaced, host);
    if (merged) {
        d->rows = merged->rows;
        d->imbalance = merged->rows > 1 ? merged->imbalance : 0.0;
        d->notes[2] = merged->note;
    }
    if (c->views) {
        put_view(c, d);
    }
    if (c->today) {
        put_gain(c, point, d);
    }
    adjust(c, d);
    for (size_t i = 0; i < c->outputs.n; i++) {
        carm_place_put(&c->outputs.printers[i], d);
    }
    judge(c, d);
}

/* ---- files ---- */

static int read_points(struct context *c, const char *path, struct carm_err *err)
{
    struct carm_points *points = NULL;
    struct carm_point point;
    int rc = carm_points_open(path, &how, &points, err);
    while (!rc) {
        rc = carm_points_next(points, &point, err);
        if (rc <= 0) {
            break;
        }
        rc = 0;
        if (opt_only && fnmatch(opt_only, point.name, 0) != 0) {
            continue;
        }
        c->rows++;
        if (c->views) {
            rc = carm_views_add(c->views, &point, err);
        } else if (c->merge) {
            rc = carm_merge_add(c->merge, &point, err);
        } else {
            put_point(c, &point, NULL);
        }
        if (c->outputs.n > 1 && c->outputs.file_err.text[0]) {
            break; /* without room on the disk the output has failed */
        }
    }
    carm_points_close(points);
    return rc;
}

static void put_merged(struct context *c)
{
    for (size_t i = 0; i < carm_merge_names(c->merge); i++) {
        struct carm_merged merged;
        carm_merge_get(c->merge, i, &merged);
        put_point(c, &merged.point, &merged);
    }
}

static void put_views(struct context *c)
{
    for (size_t k = 0; k < c->nkinds; k++) {
        const size_t n = carm_views_count(c->views, c->kinds[k]);
        for (size_t i = 0; i < n; i++) {
            carm_views_get(c->views, c->kinds[k], i, &c->view);
            if (c->view.last) {
                carm_views_whole(c->views, i, &c->whole);
            }
            put_point(c, &c->view.merged.point, &c->view.merged);
        }
    }
}

static void begin_all(struct context *c)
{
    for (size_t i = 0; i < c->outputs.n; i++) {
        carm_place_begin(&c->outputs.printers[i], c->model);
    }
}

static int place_files(struct context *c, int n, char **paths, struct carm_err *err)
{
    const bool later = c->merge || c->views; /* a bad row is reported before any output */
    int rc = 0;
    if (!later) {
        begin_all(c);
    }
    for (int i = 0; i < n && !rc; i++) {
        rc = read_points(c, paths[i], err);
    }
    if (!rc && c->rows == 0 && opt_only) {
        rc = carm_fail(err, CARM_EFORMAT, "no point's name matches '%.80s'", opt_only);
    } else if (!rc && c->rows == 0) {
        rc = carm_fail(err, CARM_EINVAL, "no points: %.200s%s only a header", paths[0],
                       n > 1 ? " and the other files have" : " has");
    }
    rc = rc || !c->views ? rc : carm_views_group(c->views, c->most_ranks, err);
    if (rc) {
        return rc;
    }
    if (later) {
        begin_all(c);
    }
    if (c->merge) {
        put_merged(c);
    }
    if (c->views) {
        put_views(c);
    }
    for (size_t i = 0; i < c->outputs.n; i++) {
        carm_place_end(&c->outputs.printers[i]);
    }
    return 0;
}

/* Measures roofs that are missing in this machine's model for the points of files. */
static void measure_lacking(const char *model, int n, char **paths)
{
    enum { POINTS = 64 };
    static char isas[POINTS][16];
    static char precisions[POINTS][16];
    struct carm_lacking lacking[POINTS];
    char here[CARM_HOST_MAX];
    struct carm_point point;
    struct carm_err err = {""};
    size_t found = 0;
    carm_host_name(here);
    for (int i = 0; i < n; i++) {
        struct carm_points *points = NULL;
        const bool file = strcmp(paths[i], "-") != 0; /* standard input is read once */
        const int rc = file ? carm_points_open(paths[i], &how, &points, &err) : -1;
        while (rc == 0 && found < POINTS && carm_points_next(points, &point, &err) > 0) {
            if (point.host && *point.host && strcmp(point.host, here) != 0) {
                continue;
            }
            snprintf(isas[found], sizeof isas[found], "%s", point.isa ? point.isa : "");
            snprintf(precisions[found], sizeof precisions[found], "%s",
                     point.precision ? point.precision : "");
            lacking[found] = (struct carm_lacking){isas[found], precisions[found], point.threads};
            found++;
        }
        carm_points_close(points);
    }
    carm_lacking_measure(model, NULL, lacking, found);
}

/* Checks the options of --intensity, which has no points. */
static int check_intensity(int n, char **operands)
{
    if (n > 1 || (n == 1 && !carm_select_is_model(operands[0]))) {
        return carm_say_error(CARM_EXIT_MISUSE, "--intensity takes no points, only a model");
    }
    if (opt_csv || opt_merge || opt_runtime || opt_by || opt_fail_under || opt_only) {
        return carm_say_error(
            CARM_EXIT_MISUSE,
            "--csv, --merge, --by, --only, --fail-under and --runtime are about points and cannot be combined with "
            "--intensity");
    }
    return 0;
}

/* "60" or "60%" */
static bool read_percent(const char *word, double *share)
{
    char digits[16];
    const size_t n = strlen(word);
    snprintf(digits, sizeof digits, "%.*s", (int)(n && word[n - 1] == '%' ? n - 1 : n), word);
    return n < sizeof digits && carm_number_percent(digits, share);
}

static int check_operands(int n, char **operands, int *models)
{
    double share;
    if (opt_fail_under && !read_percent(opt_fail_under, &share)) {
        return carm_say_error(CARM_EXIT_MISUSE,
                              "--fail-under needs a percentage from 0 to below 100, such as 60%%");
    }
    const struct carm_import_format *format;
    struct carm_err why = {""};
    if (carm_import_find(how.format, &format, &why)) {
        return carm_say_error(CARM_EXIT_MISUSE, "%s", why.text);
    }
    if (opt_runtime && words.metric && !carm_metric_is_flops(words.metric)) {
        return carm_say_error(
            CARM_EXIT_MISUSE,
            "--runtime is about flops and cannot be combined with another --metric");
    }
    if (opt_set && carm_settings_parse(opt_set, &settings, &why)) {
        return carm_say_error(CARM_EXIT_MISUSE, "--set: %s", why.text);
    }
    if (carm_settings_size(&settings)) {
        return carm_say_error(CARM_EXIT_MISUSE,
                              "--set: what another size of a cache brings depends on the "
                              "program's addresses: carm run --set ... -- ./app");
    }
    if (opt_merge && opt_by) {
        return carm_say_error(
            CARM_EXIT_MISUSE,
            "--merge and --by cannot be combined: --merge sums rows by name, --by by name, job, "
            "node and rank");
    }
    if (opt_ranks && !opt_by) {
        return carm_say_error(CARM_EXIT_MISUSE, "--ranks needs --by rank");
    }
    if (opt_intensity) {
        *models = n;
        return check_intensity(n, operands);
    }
    struct carm_err err = {""};
    const int rc = carm_select_sort_operands(n, operands, models, &err);
    if (rc) { /* before the table's head is printed */
        return carm_say_outcome(rc, &err);
    }
    if (n == *models) {
        return carm_say_error(CARM_EXIT_MISUSE,
                              "place needs a file of points: carm place [MODEL.json] points.csv "
                              "(- is standard input)");
    }
    const bool standard = opt_csv && strcmp(opt_csv, "-") == 0;
    if (opt_json && standard) {
        return carm_say_error(CARM_EXIT_MISUSE,
                              "--json and --csv - both go to standard output: name a file with "
                              "--csv");
    }
    if (opt_benchmark && (opt_json || standard)) {
        return carm_say_error(
            CARM_EXIT_MISUSE,
            "--google-benchmark goes to standard output, as --json and --csv - do: "
            "choose one");
    }
    return 0;
}

static int open_outputs(struct context *c, struct carm_err *err)
{
    const bool standard = opt_csv && strcmp(opt_csv, "-") == 0;
    const struct carm_place_printer same = {.out = stdout,
                                            .format = opt_json        ? CARM_PLACE_JSON
                                                      : opt_benchmark ? CARM_PLACE_BENCHMARK
                                                      : standard      ? CARM_PLACE_CSV
                                                                      : CARM_PLACE_TABLE,
                                            .ceilings = opt_ceilings != NULL,
                                            .merged = opt_merge != NULL,
                                            .views = opt_by != NULL,
                                            .runtime = opt_runtime != NULL,
                                            .regions = carm_place_has_ceilings(c->model),
                                            .hint = opt_runtime || words.balance || opt_intensity ||
                                                    isatty(STDOUT_FILENO),
                                            .metric = c->metric,
                                            .ascii = !carm_screen_utf8()};
    return carm_place_outputs_open(&c->outputs, &same, standard ? NULL : opt_csv, err);
}

/* Opens the views of --by and --ranks. */
static int open_views(struct context *c, struct carm_err *err)
{
    const char *word = opt_ranks ? opt_ranks : DEFAULT_RANKS;
    const size_t n = strlen(word);
    if (n == 0 || n > 9 || strspn(word, "0123456789") != n) {
        return carm_fail(err, CARM_EINVAL,
                         "--ranks needs a number of ranks up to 999999999, or 0 for all, not "
                         "'%.40s'",
                         word);
    }
    c->most_ranks = strtoul(word, NULL, 10);
    const int rc = carm_view_parse(opt_by, c->kinds, &c->nkinds, err);
    return rc ? rc : carm_views_open(&c->views, c->metric, err);
}

static int run(int noperands, char **operands)
{
    struct carm_err err = {""};
    struct carm_model *model = NULL;
    int first = 0; /* 1 = the first operand is the model */
    const int code = check_operands(noperands, operands, &first);
    if (code) {
        return code;
    }
    struct context *c = calloc(1, sizeof *c);
    if (!c) {
        return carm_say_error(CARM_EXIT_FAILED, "not enough memory to place points");
    }
    carm_default_model_place(opt_on, NULL);
    c->fail_under = -1.0;
    if (opt_fail_under) {
        read_percent(opt_fail_under, &c->fail_under);
    }
    if (!opt_no_measure && !opt_intensity && !words.metric) {
        measure_lacking(first ? operands[0] : NULL, noperands - first, operands + first);
    }
    struct carm_model *today = NULL;
    int rc = carm_select_open(first ? operands[0] : NULL, &model, NULL, &err);
    c->model = model;
    if (!rc && opt_set) {
        rc = carm_select_open(first ? operands[0] : NULL, &today, NULL, &err);
        rc = rc ? rc : carm_scaling_fill(today, &err);
        rc = rc || !opt_pages ? rc : carm_numa_use(today, opt_pages, &err);
        rc = rc ? rc : carm_place_choices_open(&c->today, today, &words, &err);
        rc = rc ? rc : carm_settings_apply(&settings, model, &err);
    }
    rc = rc ? rc : carm_scaling_fill(model, &err);
    rc = rc || !opt_pages ? rc : carm_numa_use(model, opt_pages, &err);
    rc = rc ? rc : carm_place_choices_open(&c->choices, model, &words, &err);
    c->metric = rc ? "" : carm_place_choices_metric(c->choices);
    rc = rc || !opt_merge ? rc : carm_merge_open(&c->merge, &err);
    rc = rc || !opt_by ? rc : open_views(c, &err);
    rc = rc ? rc : open_outputs(c, &err);
    for (size_t i = 0; i < c->outputs.n && c->today; i++) {
        static char list[CARM_SETTINGS_TEXT_MAX];
        c->outputs.printers[i].changed = carm_settings_text(list, sizeof list, &settings);
    }
    if (!rc && opt_intensity) {
        rc =
            carm_place_intensities(&c->outputs.printers[0], model, c->choices, opt_intensity, &err);
    } else {
        rc = rc ? rc : place_files(c, noperands - first, operands + first, &err);
    }
    rc = carm_place_outputs_close(&c->outputs, rc, &err);
    if (rc) {
        fflush(stdout); /* the points before a bad row come before its message */
    }
    for (size_t i = 0; i < c->nhosts; i++) {
        free(c->hosts[i]);
    }
    const bool failed = c->failed > 0;
    carm_merge_close(c->merge);
    carm_views_close(c->views);
    carm_place_choices_close(c->choices);
    carm_place_choices_close(c->today);
    carm_model_free(model);
    carm_model_free(today);
    free(c);
    return rc || !failed ? carm_say_outcome(rc, &err) : CARM_EXIT_FAILED;
}

const struct carm_command carm_command_place = {
    .name = "place",
    .summary = "points of applications on both models",
    .operands = "[MODEL] POINTS... | [MODEL]",
    .details =
        "Places what programs did under the roofs of both models. The points come from "
        "points.csv of carm run or carm study, or from a file that you wrote yourself. For "
        "each point it prints the attainable performance at its operational intensity, the "
        "share of it that was reached, the ceilings next below and above, what binds the "
        "point (memory, compute or both), the speed-up left to the ceiling above and to the "
        "roof, and what to try next. Without MODEL, it takes the "
        "model that carm build wrote for this machine. - reads points from standard "
        "input.\n\n"
        "A file of points is CSV. Its first line names the columns, in any order. Required: "
        "name, flops, seconds, and bytes (that the core loads and stores, for the "
        "cache-aware model) or dram_bytes (for the original one). Optional: threads, isa, "
        "precision, counted_by, host, job, rank, share, note and bounds such as bytes_low "
        "and bytes_high. Other columns and lines that begin with # are ignored. Leave "
        "unknown values empty.\n\n"
        "Files of Google Benchmark (JSON), hyperfine (JSON), perf stat -j, likwid-perfctr (CSV), "
        "Intel Advisor (survey as CSV) and the CARM Tool (applications) are read as well; their "
        "content says what they are. What they do not hold stays unknown. MODEL may be a measured "
        "machine of `carm show --list`, or the roofs of ERT (JSON) or of the CARM Tool (CSV).\n\n"
        "A point is placed under the roofs for its number of threads and precision, and for "
        "its own ISA, unless --isa names another. Roofs that this machine's model lacks are measured and added, a second "
        "for each set (--no-measure forbids it). Elsewhere the nearest ones are "
        "used and a note says so. A point above the roof is flagged with the likely reason "
        "and is never clipped.\n\n"
        "If the counts of a point contain its mix (carm run --counters translate or step), its "
        "own roof is shown as "
        "well: the highest performance that its share of stores, the width of its accesses, its "
        "vectors and its operations allow. The gap between it and the machine's roof needs "
        "another algorithm, other operations or wider vectors.\n\n"
        "With a model of carm build --ceilings, the ceilings of the original model are those "
        "of missing optimisations. Each point then has its region (memory, compute or both) "
        "and the optimisations in reach there, in the order in which to try them, with what "
        "each can give at most. --runtime shows how high the point's own instructions let it "
        "come (SIMD share, multiply/add balance, share of floating point, software "
        "prefetches): a ceiling far below the roof shows what to change in the code.\n\n"
        "Operations other than flops (exchanges of a transposition, comparisons) go into the "
        "columns operations and metric, and --metric places them; ceilings of flops do not "
        "bind them.\n\n"
        "--by is for parallel programs in which each rank wrote a row (srun carm run -o "
        "points.csv -- app). Rows with the same name and job are the ranks of one program. "
        "The node view sums the ranks of a host. The job view sums all ranks; if they ran on "
        "several hosts, it is the mean of the hosts, because the roofs are those of one "
        "node. Each view reports the imbalance of flops, bytes and times (largest over "
        "mean), the time that it costs, and the ceiling that it leaves. Each rank has only "
        "its part of the roofs, so imbalance of flops lowers the peak, imbalance of bytes "
        "lowers the cache-aware slope, and imbalance of the nodes' DRAM bytes lowers the "
        "original slope. The time of a rank includes waiting, and a rank that polls while it "
        "waits loads bytes: to leave that out, mark the computing parts as regions. A PMU "
        "counts the DRAM bytes of whole sockets, so a node has those of the rank with the "
        "most. CSV and JSON contain all ranks, whatever --ranks says.\n\n"
        "--merge is for ranks or threads of one run. Do not merge rows of repeated runs: "
        "their work would be summed, but not their time.",
    .exit_status =
        "0 success; 1 failure, or with --fail-under a point below that share of its roof; 2 "
        "usage error.",
    .examples = "carm place --fail-under 60% --only 'solve*' points.csv\n"
                "carm place points.csv\ncarm place --merge other-machine.json rank*.csv\n"
                "carm place --by job,node points.csv\ncarm place --by rank --ranks 8 points.csv\n"
                "carm place --csv places.csv points.csv\nzcat points.csv.gz | carm place -\n"
                "carm place --set dram.bandwidth=2x,peak=1.5x points.csv\n"
                "carm place --runtime points.csv\ncarm place --intensity 0.25,1/2,8\n"
                "carm place --metric exchange --peak 2e9 transpose.csv",
    .opts = options,
    .max_operands = INT_MAX,
    .run = run,
};
