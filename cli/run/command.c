/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/fd.h"
#include "cli/lacking.h"
#include "cli/commands.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assets.h"
#include "base/job.h"
#include "base/number.h"
#include "base/outfile.h"
#include "base/text.h"
#include "cli/progress.h"
#include "cli/run/change.h"
#include "cli/run/levels.h"
#include "cli/run/parts.h"
#include "cli/run/report.h"
#include "cli/run/verdict.h"
#include "cli/run/whatif.h"
#include "cli/screen.h"
#include "harness/machine/cpu.h"
#include "harness/place/place.h"
#include "harness/translate/cpu.h"
#include "models/file/select.h"
#include "models/model.h"
#include "models/scaling.h"
#include "models/theory.h"

#include "plots/page/report/data.h"
#include "plots/page/write.h"
#include "validation/roofs/config.h"
#include "run/count.h"
#include "run/input.h"
#include "run/levels.h"
#include "run/parts.h"
#include "run/place.h"
#include "run/rows.h"

#define DEFAULT_STEPS     "20000000"
#define DEFAULT_HZ        "499" /* prime: not in step with a program's own timers */
#define DEFAULT_MIN_SHARE "1"

static const char *opt_cpu, *opt_name, *opt_counters, *opt_output, *opt_model, *opt_threads,
    *opt_steps;
static const char *opt_no_time, *opt_regions, *opt_quiet, *opt_levels, *opt_prefetch, *opt_sample;
static const char *opt_loops, *opt_functions, *opt_whole, *opt_hz, *opt_min_share, *opt_json,
    *opt_repeat, *opt_report, *opt_on, *opt_what_if, *opt_set, *opt_memory, *opt_no_measure,
    *opt_verbose;

static const struct carm_opt options[] = {
    {"name", 0, "NAME", "the program's", "Name of the row in the points file.", &opt_name, NULL},
    {"counters", 'c', "WORD", "auto",
     "Counter back end: auto (papi or likwid for the program, translate for its loops; with --regions "
     "papi, else likwid, else none), papi, "
     "likwid, translate (exact, needs no counters, 1 to some 10 times slower), step (exact, some 10000 to 100000 instructions a second), "
     "none.",
     &opt_counters, "auto|papi|likwid|translate|step|none"},
    {"output", 'o', carm_opt_outfile, NULL,
     "Append the rows to this points file (CSV); a new file gets a header.", &opt_output, NULL},
    {"model", 'm', "MODEL", "this machine's",
     "Model with the roofs to place the program under: a file, or a measured machine of carm show "
     "--list.",
     &opt_model, NULL},
    {"no-measure", 0, NULL, NULL,
     "Do not measure roofs. Without this option, sets of roofs that this machine's model lacks for the program "
     "(an ISA, a precision, a number of threads) are measured and added to it, a second each.",
     &opt_no_measure, NULL},
    {"threads", 't', "N", "processor time / time",
     "Number of threads that the program computes with: a number, cores, all or N/UNIT, such as 1/core.",
     &opt_threads, "cores|all|1/core|2/core"},
    CARM_OPT_ON(&opt_on),
    {"cpu", 0, "NAME", NULL,
     "Count what the program does on another CPU: it sees that one in cpuid, the kernel's auxiliary vector and "
     "/proc/cpuinfo, so that its libraries choose the same code on every machine. An instruction that this CPU lacks "
     "ends the counting, and is named. Counts only, as --counters translate --no-time.",
     &opt_cpu, CARM_CPU_WORDS},
    {"steps", 0, "N", DEFAULT_STEPS, "Largest number of instructions to step (--counters step).",
     &opt_steps, NULL},
    {"no-time", 0, NULL, NULL,
     "With --counters translate or step: run the program only once, counted; its time stays unknown. "
     "Without this option it runs twice, first at full speed for its time.",
     &opt_no_time, NULL},
    {"levels", 0, NULL, NULL,
     "Count by translation, and give the addresses of all loads and stores to a simulation of the "
     "model's caches. Each row gets the bytes between L1, L2, L3 and DRAM, and the program its place "
     "on the original model, without uncore counters. It takes a second for some 10 million loads "
     "and stores.",
     &opt_levels, NULL},
    {"prefetch", 0, "WORD", "none",
     "Hardware prefetchers that --levels simulates: none, next (the next line), streams, both. They "
     "change when lines come, and fetch lines that nobody uses.",
     &opt_prefetch, "none|next|streams|both"},
    {"sample", 0, "PERCENT", "100; 1 for programs of more than 1 s",
     "With --levels: simulate only this share of the accesses, for long programs. Each count of "
     "bytes then has "
     "a 95% confidence interval.",
     &opt_sample, NULL},
    {"regions", 0, NULL, NULL,
     "Count the regions that the program marks with carm_region_begin and carm_region_end instead of "
     "the whole program, and with --counters translate also one iteration of what carm_count.h marks. "
     "Their rows go to --output (default points.csv).",
     &opt_regions, NULL},
    {"loops", 0, NULL, "when translation counts",
     "A row for each loop, and for the code of each function outside of loops.", &opt_loops, NULL},
    {"functions", 0, NULL, NULL, "A row for each function.", &opt_functions, NULL},
    {"whole", 0, NULL, NULL,
     "One row for the whole program. Where the CPU's counters work, it then runs once.", &opt_whole,
     NULL},
    {"min-share", 0, "PERCENT", DEFAULT_MIN_SHARE,
     "Loops or functions below this share of the time become one row.", &opt_min_share, NULL},
    {"hz", 0, "N", DEFAULT_HZ,
     "Samples for each second of processor time, which give the shares of time; 10000 at most.",
     &opt_hz, NULL},
    {"repeat", 0, "N", "1",
     "Free runs of the program: -o gets rows for each, with its own times, which carm compare judges. The "
     "samples of short programs add up to one row. Only the first run's output is seen. From 2 on, "
     "translation counts the program twice and marks what differs.",
     &opt_repeat, NULL},
    {"what-if", 0, NULL, NULL,
     "Run the program once more, with its output discarded, and measure what changes of its hottest loops "
     "would bring: huge pages, prefetches, streaming stores, broken chains, cheap divisions, all data in L1. "
     "Changed machine code of a loop runs in copies of the program; the program itself is only held, for some "
     "seconds a loop.",
     &opt_what_if, NULL},
    {"set", 0, "CHANGE[,...]", NULL,
     "Say what another machine would bring: a list of changes such as L2=2M (a level's size), L3=2x, "
     "dram.bandwidth=2x, L3.latency=0.5x, peak=2x, clock=1.2x. Caches of the changed sizes are simulated beside the "
     "model's, and the lower bounds of each loop's time change with the rates. Nothing runs differently.",
     &opt_set, NULL},
    {"memory", 0, "LIMIT", "half of what is free",
     "With --what-if: the most memory that the program and its copies may take, for example 512M or 2G.",
     &opt_memory, NULL},
    {"report", 0, carm_opt_outfile, NULL,
     "Write an interactive page with the loops or functions on the model: circles, whose area is their "
     "share of the time. `carm report` joins several points files by arrows.",
     &opt_report, NULL},
    {"json", 0, carm_opt_outfile, NULL,
     "Write the loops or functions to this file as JSON; - is standard output.", &opt_json, NULL},
    {"verbose", 'v', NULL, NULL,
     "Print counts, rates and roofs of the program and its loops beside the verdicts.",
     &opt_verbose, NULL},
    {"quiet", 'q', NULL, NULL, "Print errors only.", &opt_quiet, NULL},
    {NULL, 0, NULL, NULL, NULL, NULL, NULL},
};

static int parse_number(const char *name, const char *word, unsigned long long most,
                        unsigned long long *out, struct carm_err *err)
{
    char *end = NULL;
    errno = 0;
    const unsigned long long n = *word >= '0' && *word <= '9' ? strtoull(word, &end, 10) : 0;
    if (n == 0 || errno || *end || n > most) {
        return carm_fail(err, CARM_EINVAL, "--%s needs a whole number from 1 to %llu, not '%.40s'",
                         name, most, word);
    }
    *out = n;
    return 0;
}

/* The options about the parts of a program. */
static enum carm_profile_by parts_by;
static double min_share = 0.01;

static int configure_parts(struct carm_run *run, struct carm_err *err)
{
    const bool asked = opt_loops || opt_functions || opt_json || opt_report;
    unsigned long long hz = 0;
    unsigned long long repeat = 1;
    double percent = 1.0;
    int rc = parse_number("hz", opt_hz ? opt_hz : DEFAULT_HZ, CARM_SAMPLE_HZ_MAX, &hz, err);
    rc = rc || !opt_repeat ? rc : parse_number("repeat", opt_repeat, 100000, &repeat, err);
    if (!rc && opt_min_share && !carm_number_between(opt_min_share, 0.0, 100.0, &percent)) {
        rc = carm_fail(err, CARM_EINVAL,
                       "--min-share needs a percentage from 0 to 100, not '%.40s'", opt_min_share);
    }
    if (!rc && (opt_loops != NULL) + (opt_functions != NULL) + (opt_whole != NULL) > 1) {
        rc = carm_fail(err, CARM_EINVAL, "choose one of --loops, --functions and --whole");
    }
    if (!rc && opt_whole && (opt_json || opt_report)) {
        rc = carm_fail(err, CARM_EINVAL,
                       "--json and --report are of loops or functions: leave --whole out");
    }
    if (!rc && opt_regions && asked) {
        rc = carm_fail(err, CARM_EINVAL,
                       "--regions counts regions: leave --loops, --functions, --json "
                       "and --report out");
    }
    if (!rc && opt_repeat && (opt_regions || opt_no_time)) {
        rc = carm_fail(err, CARM_EINVAL, "--repeat repeats the timed run: leave %s out%s",
                       opt_regions ? "--regions" : "--no-time",
                       opt_regions ? ", and run the command again, which adds rows" : "");
    }
    run->repeat = (unsigned)repeat;
    min_share = 0.01 * percent;
    parts_by = opt_functions ? CARM_PROFILE_FUNCTIONS : CARM_PROFILE_LOOPS;
    const bool counted_by_code =
        run->provider == CARM_PROVIDER_TRANSLATE || run->provider == CARM_PROVIDER_AUTO;
    if (!opt_whole && !opt_regions && (asked || counted_by_code)) {
        run->hz = (unsigned)hz;
        run->nkinds = carm_kinds_of_cpus("/sys/devices", run->kinds, CARM_RUN_CPUS);
        run->by_code = true;
        run->always_sampled = asked;
    }
    return rc;
}

static double sampled_share;                     /* of --levels; 0 = chosen by the program's
                                                  * length */
static const struct carm_run_prefetch *prefetch; /* of --levels */

/* Reads --levels and its options. */
static int configure_levels(const struct carm_run *run, struct carm_err *err)
{
    double percent = 0.0;
    const char *const of_levels = opt_sample ? "--sample" : opt_prefetch ? "--prefetch" : NULL;
    if (!opt_levels && of_levels) {
        return carm_fail(err, CARM_EINVAL, "%s belongs to --levels", of_levels);
    }
    if (opt_levels && run->provider != CARM_PROVIDER_TRANSLATE) {
        return carm_fail(err, CARM_EINVAL, "--levels belongs to --counters translate");
    }
    if (opt_levels && opt_regions) {
        return carm_fail(err, CARM_EINVAL, "--levels is of whole programs, not of --regions");
    }
    if (opt_sample && !carm_number_between(opt_sample, 0.01, 100.0, &percent)) {
        return carm_fail(err, CARM_EINVAL,
                         "--sample needs a percentage from 0.01 to 100, not '%.40s'", opt_sample);
    }
    sampled_share = 0.01 * percent;
    prefetch = carm_run_prefetch_find(opt_prefetch ? opt_prefetch : "none");
    return prefetch
               ? 0
               : carm_fail(err, CARM_EINVAL,
                           "--prefetch is none, next, streams or both, not '%.40s'", opt_prefetch);
}

static uint64_t memory_bytes; /* of --what-if; 0 = half of the free memory */

/* Reads --what-if and its options. */
static int configure_what_if(const struct carm_run *run, struct carm_err *err)
{
    if (opt_memory && !opt_what_if) {
        return carm_fail(err, CARM_EINVAL, "--memory belongs to --what-if");
    }
    if (opt_what_if && run->provider != CARM_PROVIDER_TRANSLATE &&
        run->provider != CARM_PROVIDER_AUTO) {
        return carm_fail(err, CARM_EINVAL,
                         "--what-if needs the loops: --counters translate or auto");
    }
    if (opt_what_if && (opt_functions || opt_whole || opt_regions || opt_no_time)) {
        return carm_fail(err, CARM_EINVAL, "--what-if changes loops: leave %s out",
                         opt_functions ? "--functions"
                         : opt_whole   ? "--whole"
                         : opt_regions ? "--regions"
                                       : "--no-time");
    }
    return opt_memory && !carm_number_bytes(opt_memory, &memory_bytes)
               ? carm_build_no_size(opt_memory, err)
               : 0;
}

static struct carm_run_changed changed; /* of --set */

/* Reads --set: its changes and the model to change. */
static int configure_set(const struct carm_run *run, struct carm_err *err)
{
    const char *without = opt_no_time   ? "--no-time"
                          : opt_cpu     ? "--cpu"
                          : opt_whole   ? "--whole"
                          : opt_regions ? "--regions"
                                        : NULL;
    if (opt_set && without) {
        return carm_fail(err, CARM_EINVAL, "--set is about the time of loops: leave %s out",
                         without);
    }
    if (opt_set && run->provider != CARM_PROVIDER_TRANSLATE) {
        return carm_fail(err, CARM_EINVAL, "--set needs the loops: --counters translate");
    }
    struct carm_err why = {""};
    return opt_set && carm_settings_parse(opt_set, &changed.changes, &why)
               ? carm_fail(err, CARM_EINVAL, "--set: %s", why.text)
               : 0;
}

/* Finds the program's place and number of threads. threads: changed by --threads */
static int find_place(int *threads, struct carm_err *err)
{
    unsigned long long n = 0;
    struct carm_topo *topo = NULL;
    size_t sets = 0;
    if (!opt_on && (!opt_threads || isdigit((unsigned char)*opt_threads)) &&
        !(opt_threads && strchr(opt_threads, '/'))) {
        /* another machine's program may have more threads than this one */
        const int rc = opt_threads ? parse_number("threads", opt_threads, 65536, &n, err) : 0;
        *threads = (int)n;
        return rc;
    }
    int rc = carm_topo_open(&topo, NULL, NULL, err);
    rc = rc ? rc : carm_topo_on(topo, opt_on, err);
    rc = rc || !opt_threads ? rc : carm_topo_threads(topo, opt_threads, threads, 1, &sets, err);
    rc = rc || !opt_on ? rc : carm_topo_bind(topo, err);
    carm_topo_close(topo);
    return rc;
}

/* Chooses the model for --on: the place's own model if it exists, else this machine's. */
static void choose_model(void)
{
    char path[PATH_MAX];
    carm_default_model_place(opt_on, NULL);
    if (carm_default_model_path(path, sizeof path, NULL) || access(path, F_OK) != 0) {
        carm_default_model_place(NULL, NULL);
    }
}

static int configure(struct carm_run *run, struct carm_err *err)
{
    unsigned long long budget = 0;
    int threads = 0;
    const char *base = strrchr(run->argv[0], '/');
    int rc = carm_provider_parse(opt_counters ? opt_counters : "auto", &run->provider, err);
    rc = rc ? rc
            : parse_number("steps", opt_steps ? opt_steps : DEFAULT_STEPS, 1000000000000000ULL,
                           &budget, err);
    rc = rc ? rc : find_place(&threads, err);
    if (!rc && opt_name && carm_text_has_controls(opt_name)) {
        rc = carm_fail(err, CARM_EINVAL, "--name has control characters: use letters and blanks");
    }
    if (!rc && (opt_levels || opt_set) && run->provider == CARM_PROVIDER_AUTO) {
        run->provider = CARM_PROVIDER_TRANSLATE;
    }
    if (!rc && opt_cpu && run->provider == CARM_PROVIDER_AUTO) {
        run->provider = CARM_PROVIDER_TRANSLATE;
    }
    if (!rc && opt_cpu && (run->provider != CARM_PROVIDER_TRANSLATE || opt_what_if || opt_repeat)) {
        rc = carm_fail(err, CARM_EINVAL, "--cpu counts by translation, once: leave %s out",
                       opt_what_if  ? "--what-if"
                       : opt_repeat ? "--repeat"
                                    : "--counters");
    }
    struct carm_cpu_view seen;
    rc = rc || !opt_cpu ? rc : carm_cpu_find(opt_cpu, &seen, err);
    const bool twice =
        run->provider == CARM_PROVIDER_STEP || run->provider == CARM_PROVIDER_TRANSLATE;
    if (!rc && opt_no_time && !twice) {
        rc = carm_fail(err, CARM_EINVAL, "--no-time belongs to --counters translate or step");
    }
    if (!rc && opt_steps && run->provider != CARM_PROVIDER_STEP) {
        rc = carm_fail(err, CARM_EINVAL, "--steps belongs to --counters step");
    }
    rc = rc ? rc : configure_parts(run, err);
    rc = rc ? rc : configure_levels(run, err);
    rc = rc ? rc : configure_what_if(run, err);
    rc = rc ? rc : configure_set(run, err);
    choose_model();
    run->name = opt_name ? opt_name : base && base[1] ? base + 1 : run->argv[0];
    run->budget = budget;
    run->threads = threads;
    run->cpu = opt_cpu;
    run->no_time = opt_no_time != NULL || opt_cpu != NULL;
    return rc;
}

/* Prints "carm: parse_number: 1203 instructions, 0 flops, 512 bytes an iteration; exact: ..." */
static void put_mark(const struct carm_row *row)
{
    static const struct {
        enum carm_quantity q;
        const char *name;
    } of[] = {
        {CARM_Q_INSTRUCTIONS, "instructions"}, {CARM_Q_FLOPS, "flops"}, {CARM_Q_BYTES, "bytes"}};
    char name[sizeof row->name];
    fprintf(stderr,
            "carm: %s:", carm_text_clean(name, sizeof name, row->name, !carm_screen_utf8()));
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        fprintf(stderr, "%s %.10g %s", i ? "," : "", row->counts.q[of[i].q].value, of[i].name);
    }
    fprintf(stderr, " an iteration; %s\n", row->note);
}

static char ran_twice[256]; /* message for the end of the run; "" = none */

static void keep_words(const char *text)
{
    snprintf(ran_twice, sizeof ran_twice, "%s", text);
}

/* Prints the message behind the answer, as it is the same for each program on this machine. */
static void say_ran_twice(void)
{
    if (ran_twice[0]) {
        carm_say_error(0, "%s", ran_twice);
    }
}

static void report_regions(const struct carm_run *run, const char *path, long before)
{
    const long rows = carm_run_rows_count(path) - before;
    if (run->regions && run->counted[0]) {
        carm_say_error(0, "regions: %s", run->counted);
    } else if (rows > 0) {
        for (size_t i = 0; i < run->nmarks; i++) {
            put_mark(&run->marks[i]);
        }
        if (run->marks_lost) {
            carm_say_error(
                0,
                "note: %llu calls of marked code are in no row: nested more than 16 deep, or "
                "more than 800 pairs of name and number of iterations",
                (unsigned long long)run->marks_lost);
        }
        fprintf(stderr, "carm: %ld row%s of regions went to %s\n", rows, rows == 1 ? "" : "s",
                path);
    } else {
        fprintf(
            stderr,
            "carm: no region ended in the program: it must call carm_region_begin and "
            "carm_region_end (carm.h) and be linked with libcarm, or be marked by carm_count.h and "
            "counted by --counters translate\n");
    }
}

/* Whether the run has parts to show: it was sampled, or counted by blocks. */
static bool has_parts(const struct carm_run *run)
{
    return !opt_whole && run->by_code &&
           (run->has_blocks || (run->has_samples && run->always_sampled));
}

/* Writes the page. It takes the rows from a file of points in memory. */
static int write_report(const struct carm_run *run, const struct carm_profile *profile,
                        const struct carm_run_levels *levels, const struct carm_model *model,
                        const struct carm_run_verdict *verdicts, const char *text,
                        struct carm_err *err)
{
    struct carm_run of_all = *run; /* a circle for each part, not for each of its runs */
    char path[64];
    char *paths[] = {path};
    char *data = NULL;
    char *loops = carm_run_loops_json(run, profile, verdicts);
    const struct carm_report_input input = {.model = model,
                                            .text = text,
                                            .title = run->name,
                                            .npoints = 1,
                                            .points = paths,
                                            .loops = loops};
    of_all.neach = 0;
    const int fd = memfd_create("points", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int rc = fd < 0 ? carm_fail(err, CARM_EIO, "cannot make a file in memory: %s", strerror(errno))
                    : carm_run_rows_append(path, &of_all, parts_by, profile, levels, verdicts, err);
    rc = rc ? rc : carm_report_data(&input, &data, err);
    rc = rc ? rc : carm_report_write(CARM_REPORT_MODEL, data, opt_report, err);
    free(data);
    free(loops);
    carm_fd_close(fd);
    return rc;
}

/* Opens the model with the changes of --set. */
static int open_changed(struct carm_model **out, struct carm_err *err)
{
    *out = NULL;
    int rc = opt_set ? carm_select_open(opt_model, out, NULL, err) : 0;
    rc = rc || !opt_set ? rc : carm_settings_apply(&changed.changes, *out, err);
    return rc || !opt_set ? rc : carm_scaling_fill(*out, err);
}

/* Finds the verdict on each row of the profile, and its gain by --set. */
static int find_verdicts(struct carm_run_verdict **out, const struct carm_run *run,
                         const struct carm_profile *profile, const struct carm_run_levels *levels,
                         const struct carm_model *model, struct carm_err *err)
{
    const char *text = carm_asset_data_microarchitectures;
    struct carm_theory_table *table = NULL;
    struct carm_model *other = NULL;
    struct carm_cpu cpu;
    int rc = carm_theory_open(text, strlen(text), "data/microarchitectures.json", &table, err);
    carm_cpu_read(&cpu);
    const struct carm_microarchitecture *theory =
        carm_theory_find_cpu(table, cpu.vendor, cpu.family, cpu.model, carm_cpu_guest_bytes(&cpu));
    rc = rc ? rc : carm_run_verdicts(out, run, profile, levels, model, theory, err);
    rc = rc ? rc : open_changed(&other, err);
    rc = rc || !opt_set ? rc
                        : carm_run_change(&changed, run, profile, *out, levels, other, theory, err);
    carm_model_free(other);
    carm_theory_close(table);
    return rc;
}

/* Runs the program again for --what-if, with the same input.
 * before  its standard input, before it was counted */
static int try_changes(struct carm_run_whatif *whatif, const struct carm_run *run,
                       const struct carm_profile *profile, struct carm_input *input,
                       struct carm_err *err)
{
    carm_input_again(input);
    const int rc = carm_run_whatif(whatif, run, profile, memory_bytes, err);
    if (!carm_input_end(input) && !rc) {
        *whatif =
            (struct carm_run_whatif){.why = "it reads its input from a pipe or a terminal, which "
                                            "can be read only once: let it read a file"};
    }
    return rc;
}

/* The model as it was before the program ran; NULL = not read yet. */
static struct carm_model *early;

static int open_early(struct carm_err *err)
{
    return early ? 0 : carm_select_open(opt_model, &early, NULL, err);
}

/* Measures roofs that are missing in the model for the program or its parts. */
static void measure_lacking(const struct carm_run *run, const struct carm_profile *profile)
{
    enum { PARTS = 64 }; /* the hottest: rows are in order of time */
    static struct carm_row rows[PARTS];
    struct carm_lacking points[PARTS + 1];
    size_t n = 0;
    points[n++] = (struct carm_lacking){run->row.isa, run->row.precision, run->row.threads};
    for (size_t i = 0; i < profile->nrows && i < PARTS; i++) {
        if (profile->rows[i].samples > 0) {
            carm_run_part_row(run, profile, NULL, i, &rows[i]);
            points[n++] = (struct carm_lacking){rows[i].isa, rows[i].precision, rows[i].threads};
        }
    }
    if (carm_lacking_measure(opt_model, early, points, n)) {
        carm_model_free(early);
        early = NULL;
    }
}

/* Whether a part has a row of the answer. */
static bool is_answered(const struct carm_profile *profile, const struct carm_run_verdict *verdicts)
{
    bool answered = false;
    for (size_t i = 0; i < profile->nrows && verdicts; i++) {
        answered = answered || carm_run_verdict_has_row(&profile->rows[i], &verdicts[i]);
    }
    return answered;
}

/* Notes a model without memory roofs: for a loop that waits for a cache or DRAM, the answer would be "not known". */
static void note_memory(const struct carm_model *roofs)
{
    bool has = !roofs;
    for (size_t i = 0; roofs && i < roofs->nroofs; i++) {
        has = has || roofs->roofs[i].nmemory > 0;
    }
    if (!has) {
        carm_say_error(
            0, "the model has no roofs of caches and memory, so nothing can be said of loops that "
               "wait for them: `carm build` measures them");
    }
}

/* Prints the last line: the command that shows more about the same program. */
static void show_next(const struct carm_run *run)
{
    char command[64] = "";
    size_t used = 0;
    for (char *const *arg = run->argv; *arg && used < sizeof command; arg++) {
        used += (size_t)snprintf(command + used, sizeof command - used, " %s", *arg);
    }
    if (used >= sizeof command || strpbrk(command, "\"'$\\;&|<>()*?\n")) {
        snprintf(command, sizeof command, " %.40s ...", run->argv[0]);
    }
    carm_say_error(0, "next: carm run %s --%s %s%s", opt_what_if ? "--levels" : "--what-if",
                   command,
                   opt_what_if ? "counts the bytes between caches" : "measures what changes bring",
                   opt_verbose || opt_levels ? "" : "; --verbose adds counts, rates and roofs");
}

/* Prints the answer. Counts, rates and roofs follow on request, or without an answer.
 * missing  why no loop has a share of the time; "" = it is known */
static void show(const struct carm_run *run, const struct carm_profile *profile,
                 const struct carm_run_levels *levels, const struct carm_model *roofs,
                 const struct carm_run_verdict *verdicts, const char *why, const char *missing)
{
    const bool first_rank = !run->row.rank[0] || strcmp(run->row.rank, "0") == 0;
    const bool answered = is_answered(profile, verdicts);
    if (answered && first_rank) {
        carm_run_verdicts_show(run, profile, verdicts);
    }
    if (answered && !opt_verbose && !opt_levels) {
        carm_run_report_briefly(run);
        if (first_rank) {
            carm_run_show_notes(run, profile, roofs, why);
            note_memory(roofs);
        }
        return;
    }
    /* with bytes of DRAM, the whole program has a place on the original model */
    const bool whole = levels || carm_count_has(&run->row.counts, CARM_Q_DRAM_BYTES);
    carm_run_report(run, roofs, why, answered ? NULL : missing, profile->nrows > 0 && !whole);
    if (levels) {
        carm_run_levels_report(levels);
    }
    if (profile->nrows && first_rank) {
        carm_run_show_parts(run, profile, levels, roofs, verdicts, why);
    }
}

/* Writes the results to the terminal and to files. */
static int finish(const struct carm_run *run, struct carm_run_levels *simulated,
                  struct carm_input *input, struct carm_err *err)
{
    static struct carm_run_whatif whatif; /* of some KiB */
    struct carm_run_levels *levels =
        opt_levels ? simulated : NULL; /* not shown if simulated only for the verdicts */
    struct carm_profile profile = {.nrows = 0};
    struct carm_err why = {""};
    struct carm_run_verdict *verdicts = NULL;
    char missing[384];
    const bool first_rank = !run->row.rank[0] || strcmp(run->row.rank, "0") == 0;
    int rc = 0;
    carm_parts_missing(missing, sizeof missing, run);
    if (has_parts(run) && carm_run_shows_parts(run)) {
        rc = carm_run_rows_open(&profile, run, parts_by, min_share, simulated, err);
    }
    if (!rc && first_rank && !opt_no_measure && (!opt_quiet || opt_json || opt_report)) {
        measure_lacking(run, &profile);
    }
    const int no_model = open_early(&why);
    struct carm_model *model = early;
    early = NULL;
    char *text = opt_report && model ? carm_model_to_json(model) : NULL;
    if (opt_report && model && !text) {
        rc = rc ? rc : carm_fail(err, CARM_ENOMEM, "not enough memory for the page");
    }
    const struct carm_model *roofs = model;
    rc = rc || no_model ? rc : carm_scaling_fill(model, err);
    rc = rc || !profile.nrows ? rc : find_verdicts(&verdicts, run, &profile, simulated, roofs, err);
    rc = rc || !opt_what_if ? rc : try_changes(&whatif, run, &profile, input, err);
    if (!rc && opt_what_if && verdicts) {
        carm_run_whatif_judge(&whatif, &profile, verdicts);
    }
    /* rows are written before anything is printed: a run may be long, and standard error may be a
     * closed pipe */
    const int kept = !rc && opt_output ? carm_run_rows_append(opt_output, run, parts_by, &profile,
                                                              levels, verdicts, err)
                                       : 0;
    if (!opt_quiet && !rc) {
        const bool answered = is_answered(&profile, verdicts);
        const bool parts = has_parts(run) || run->always_sampled;
        const bool first = parts && run->row.seconds > 0.0; /* otherwise the counts are the
                                                             * answer */
        show(run, &profile, levels, roofs, verdicts, why.text, first ? missing : "");
        if (changed.parts && verdicts && first_rank) {
            carm_run_change_show(&changed, &profile, verdicts);
        } else if (opt_set && first_rank) {
            const char *uncounted = strstr(run->counted, "unavailable: ");
            carm_say_error(0, "--set: nothing is known of another machine: %s",
                           uncounted    ? strchr(uncounted, ' ') + 1
                           : missing[0] ? missing
                                        : "no loop has a share of the time");
        }
        if (opt_what_if) {
            carm_run_whatif_show(&whatif, &profile);
        }
        if ((answered || !first) && first_rank && parts && missing[0]) {
            carm_say_error(0, "%s", missing);
        }
        say_ran_twice();
        if (answered && first_rank) {
            show_next(run);
        }
    }
    if (run->unrepeated[0] && first_rank) {
        carm_say_error(0, "--repeat: %s", run->unrepeated);
    }
    rc = rc ? rc : kept;
    if (!rc && opt_json) {
        const struct carm_run_found found = {.run = run,
                                             .profile = &profile,
                                             .levels = levels,
                                             .model = roofs,
                                             .verdicts = verdicts,
                                             .whatif = opt_what_if ? &whatif : NULL,
                                             .changed = changed.parts ? &changed : NULL};
        rc = carm_outfile_print(strcmp(opt_json, "-") == 0 ? NULL : opt_json, carm_run_write_parts,
                                &found, err);
    }
    if (!rc && opt_report && no_model) { /* the model vanished while the program ran */
        rc = carm_fail(err, CARM_EINVAL, "--report: %.300s", why.text);
    } else if (!rc && opt_report) {
        rc = write_report(run, &profile, levels, model, verdicts, text, err);
    }
    free(verdicts);
    free(changed.parts);
    carm_profile_close(&profile);
    free(text);
    carm_model_free(model);
    return rc;
}

/* Simulates the caches of a model, or of --set, beside a run: a share of its accesses, in (0, 1]. */
static int open_levels(struct carm_run_levels **out, struct carm_run *run, double share,
                       const struct carm_run_prefetch *prefetcher, struct carm_address_sink *sink,
                       struct carm_err *err)
{
    struct carm_model *other = NULL;
    int rc = open_early(err);
    rc = rc ? rc : open_changed(&other, err);
    rc = rc ? rc
            : carm_run_levels_open(out, early, carm_settings_size(&changed.changes) ? other : NULL,
                                   prefetcher, share, run->by_code || opt_set, sink, err);
    if (!rc) {
        run->by_code = true; /* needed to scale samples by the executions of each instruction */
        run->sink = sink;
        run->timed = carm_run_levels_timed;
        run->timed_arg = *out;
    }
    carm_model_free(other);
    return rc;
}

/* Opens the simulation that verdicts need without --levels: a sample, if the model has caches and
 * translation counts by code. */
static int open_wanted(struct carm_run_levels **out, struct carm_run *run,
                       struct carm_address_sink *sink, struct carm_err *err)
{
    static const double some = 0.01; /* share of the accesses; chosen by hand */
    struct carm_err none = {""};
    if (opt_levels || opt_set) {
        const double share = opt_levels                      ? sampled_share
                             : carm_addresses_sampled_here() ? some
                                                             : 0.0;
        return open_levels(out, run, share, prefetch, sink, err);
    }
    if (!opt_regions && run->by_code && !run->no_time && carm_addresses_sampled_here() &&
        (run->provider == CARM_PROVIDER_TRANSLATE || run->provider == CARM_PROVIDER_AUTO)) {
        run->for_parts = true;
        open_levels(out, run, some, carm_run_prefetch_find("none"), sink, &none);
    }
    return 0;
}

/* Checks before the run that a named model exists, and that --report has a model. */
static int check_model(struct carm_err *err)
{
    struct carm_err why = {""};
    struct stat is;
    if (opt_model && stat(opt_model, &is) == 0 && S_ISFIFO(is.st_mode)) {
        return 0; /* a pipe can be read only once */
    }
    const int rc = open_early(&why);
    return !rc          ? 0
           : opt_report ? carm_fail(err, CARM_EINVAL, "--report: %.300s", why.text)
                        : carm_fail(err, (enum carm_error) - rc, "--model: %.300s", why.text);
}

static int run_command(int noperands, char **operands)
{
    struct carm_observer observer = {0};
    struct carm_run_after after = {.faulted = false};
    static struct carm_run run; /* static: too large for the stack, like the next two */
    struct carm_run_levels *levels = NULL;
    static struct carm_address_sink sink;
    static struct carm_input input;
    struct carm_err err = {""};
    const char *output = opt_output ? opt_output : opt_regions ? "points.csv" : NULL;
    static char full[PATH_MAX];
    if (noperands == 0) {
        return carm_say_error(CARM_EXIT_MISUSE,
                              "say which program to run: carm run [options] -- CMD ARGS...");
    }
    char **argv = calloc((size_t)noperands + 1, sizeof *argv);
    if (!argv) {
        return carm_say_error(CARM_EXIT_FAILED, "not enough memory");
    }
    memcpy(argv, operands, (size_t)noperands * sizeof *argv);
    run = (struct carm_run){
        .argv = argv, .status = CARM_EXIT_FAILED, .observer = &observer, .after = &after};
    int rc = configure(&run, &err);
    /* reports an output that cannot be written before the program runs */
    rc = rc || !output ? rc : carm_outfile_folders(output, &err);
    rc = rc || !output ? rc : carm_row_check(output, &err);
    rc = rc || !opt_json || strcmp(opt_json, "-") == 0 ? rc : carm_outfile_check(opt_json, &err);
    rc = rc || !opt_report ? rc : carm_report_ready(&err);
    rc = rc || !opt_report ? rc : carm_report_check_output(opt_report, &err);
    rc = rc || !(opt_report || opt_model) ? rc : check_model(&err);
    if (!rc && opt_regions && output) {
        rc = carm_run_rows_by_regions(&run, output, opt_steps, full, &err);
    }
    rc = rc ? rc : open_wanted(&levels, &run, &sink, &err);
    if (rc) {
        free(argv);
        return carm_say_outcome(rc, &err);
    }
    const long rows = opt_regions && output ? carm_run_rows_count(output) : 0;
    observer = carm_progress_open();
    observer.say = keep_words;
    carm_input_first(&input);
    rc = carm_run_count(&run, &err);
    carm_interrupt_release();
    if (!rc && !opt_quiet) { /* otherwise the program may not have run */
        carm_screen_begin_line();
    }
    if (!rc && levels) {
        carm_run_levels_take(levels, &run, opt_levels != NULL);
    }
    if (!rc && opt_regions && output) {
        if (!opt_quiet) {
            report_regions(&run, output, rows);
            say_ran_twice();
        }
    } else if (!rc) {
        rc = finish(&run, levels, &input, &err);
    }
    carm_run_close(&run);
    carm_run_levels_close(levels);
    free(argv);
    if (rc) {
        return carm_say_error(run.status ? run.status : CARM_EXIT_FAILED, "%s", err.text);
    }
    return run.status;
}

const struct carm_command carm_command_run = {
    .name = "run",
    .summary = "count a program and place it under the roofs",
    .operands = "-- CMD [ARGS...]",
    .details =
        "Runs a program and says what limits it: in one sentence, then in a table of its loops by "
        "share of time, with what to try and what the program would gain. For this it counts flops "
        "and the bytes of loads and stores, with all threads and child processes, and compares them "
        "with this machine's model. Without performance counters the program runs twice: first at "
        "full speed for its time, then counted, with its output discarded. Use --counters none for "
        "a program that must not run twice.\n\n"
        "Times come from samples of the free run, counts from the counted run. Where the CPU's "
        "counters work, they count the free run, and carm compares their totals with the sums over "
        "the loops; --whole takes the counters alone, which costs almost nothing, and runs the "
        "program once. Without counters, carm executes copies of the program's code that count "
        "(--counters translate); --counters step executes the program instruction by instruction. "
        "Both count exactly. carm names code that translation cannot count (\"not counted, because "
        "...\"). For long programs that must be stepped, mark regions (carm.h): carm then steps a "
        "sample of their calls.\n\n"
        "carm writes to standard error. Under srun or mpirun each rank appends its own row to "
        "--output.",
    .exit_status =
        "that of the program: 128 + the signal that ended it, 127 when it was not found, 126 "
        "when it cannot be executed. Where carm itself fails and the program did not: 1, or 2 "
        "for a usage error.",
    .examples = "carm run -- ./app input.dat\n"
                "carm run --counters translate -- ./app input.dat\n"
                "carm run --counters translate --functions -o points.csv -- ./app\n"
                "carm run --counters translate --json loops.json -- python3 x.py\n"
                "carm run --levels -- ./app input.dat\n"
                "carm run --set L2=2M,dram.bandwidth=2x -- ./app input.dat\n"
                "carm run --counters step -o points.csv --name small -- ./app --size 100\n"
                "carm run --regions --counters translate -- ./app\n"
                "carm run --regions --counters translate --no-time -o counts.csv -- ./benchmark\n"
                "srun carm run -o points.csv -- ./app",
    .opts = options,
    .max_operands = -1,
    .run = run_command,
};
