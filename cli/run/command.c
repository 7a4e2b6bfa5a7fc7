/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/run/command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/outfile.h"
#include "cli/progress.h"
#include "cli/run/report.h"
#include "harness/program/count.h"
#include "models/file/select.h"
#include "models/model.h"

#define DEFAULT_BUDGET "20000000"

static const char *opt_name, *opt_counters, *opt_output, *opt_model, *opt_threads, *opt_budget;
static const char *opt_no_time, *opt_regions, *opt_quiet;

static const struct carm_opt options[] = {
    {"name", 'n', "NAME", "the program's", "Name of the row in the points file.", &opt_name, NULL},
    {"counters", 'c', "WORD", "auto",
     "Counter back end: auto (papi, else likwid, else translate; with --regions else none), papi, "
     "likwid, translate (exact, needs no counters, 1 to some 10 times slower), step (exact, some 10000 to 100000 instructions a second), "
     "none.",
     &opt_counters, "auto|papi|likwid|translate|step|none"},
    {"output", 'o', carm_opt_outfile, NULL,
     "Append the row to this points file (CSV); a new file gets a header.", &opt_output, NULL},
    {"model", 'm', "FILE", "this machine's", "Model with the roofs to place the program under.",
     &opt_model, NULL},
    {"threads", 't', "N", "processor time / time",
     "Number of threads that the program computes with.", &opt_threads, NULL},
    {"budget", 0, "N", DEFAULT_BUDGET, "Largest number of instructions to step (--counters step).",
     &opt_budget, NULL},
    {"no-time", 0, NULL, NULL,
     "With --counters translate or step: run the program only once, counted; its time stays unknown. "
     "Without this option it runs twice, first at full speed for its time.",
     &opt_no_time, NULL},
    {"regions", 'r', NULL, NULL,
     "Count the regions that the program marks with carm_region_begin and carm_region_end instead of "
     "the whole program. Their rows go to --output (default points.csv).",
     &opt_regions, NULL},
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

/* Control characters (C0, DEL, and C1 in UTF-8), with which a name in a file steers a terminal that
 * shows it. */
static bool has_controls(const char *name)
{
    for (const unsigned char *p = (const unsigned char *)name; *p; p++) {
        if (*p < 0x20 || *p == 0x7f || (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)) {
            return true;
        }
    }
    return false;
}

static int configure(struct carm_run *run, struct carm_err *err)
{
    unsigned long long budget = 0;
    unsigned long long threads = 0;
    const char *base = strrchr(run->argv[0], '/');
    int rc = carm_provider_parse(opt_counters ? opt_counters : "auto", &run->provider, err);
    rc = rc ? rc
            : parse_number("budget", opt_budget ? opt_budget : DEFAULT_BUDGET, 1000000000000000ULL,
                           &budget, err);
    if (!rc && opt_threads) {
        rc = parse_number("threads", opt_threads, 65536, &threads, err);
    }
    if (!rc && opt_name && has_controls(opt_name)) {
        rc = carm_fail(err, CARM_EINVAL, "--name has control characters: use letters and blanks");
    }
    const bool twice =
        run->provider == CARM_PROVIDER_STEP || run->provider == CARM_PROVIDER_TRANSLATE;
    if (!rc && opt_no_time && !twice) {
        rc = carm_fail(err, CARM_EINVAL, "--no-time belongs to --counters translate or step");
    }
    if (!rc && opt_budget && run->provider != CARM_PROVIDER_STEP) {
        rc = carm_fail(err, CARM_EINVAL, "--budget belongs to --counters step");
    }
    run->name = opt_name ? opt_name : base && base[1] ? base + 1 : run->argv[0];
    run->budget = budget;
    run->threads = (int)threads;
    run->no_time = opt_no_time != NULL;
    return rc;
}

/* The regions count themselves (libcarm); this process leaves the counters to them, but for translation.
 * full  out: the absolute path */
static int hand_to_regions(struct carm_run *run, const char *path, char full[PATH_MAX],
                           struct carm_err *err)
{
    char cwd[PATH_MAX] = "";
    if (*path != '/' && !getcwd(cwd, sizeof cwd)) {
        return carm_fail(err, CARM_EIO, "cannot find the current folder: %s", strerror(errno));
    }
    const int n = snprintf(full, PATH_MAX, "%s%s%s", cwd, *cwd ? "/" : "", path);
    if (n < 0 || n >= PATH_MAX) {
        return carm_fail(err, CARM_EINVAL, "the path of --output is too long");
    }
    if (run->provider == CARM_PROVIDER_TRANSLATE) {
        run->regions = full;
        return 0;
    }
    if (setenv("CARM_OUT", full, 1) != 0 ||
        setenv("CARM_COUNTERS", carm_provider_name(run->provider), 1) != 0 ||
        (opt_budget && setenv("CARM_STEP_BUDGET", opt_budget, 1) != 0)) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the environment");
    }
    run->provider = CARM_PROVIDER_NONE;
    return 0;
}

/* Rows of a points file, its header not among them; 0 when it cannot be read. */
static long count_rows(const char *path)
{
    FILE *f = fopen(path, "r");
    long lines = 0;
    bool quoted = false;
    for (int c = f ? getc(f) : EOF; c != EOF; c = getc(f)) {
        quoted = c == '"' ? !quoted : quoted; /* a name may hold newlines */
        lines += c == '\n' && !quoted ? 1 : 0;
    }
    if (f) {
        fclose(f);
    }
    return lines > 0 ? lines - 1 : 0;
}

static void report_regions(const struct carm_run *run, const char *path, long before)
{
    const long rows = count_rows(path) - before;
    if (run->regions && run->counted[0]) {
        fprintf(stderr, "carm: regions: %s\n", run->counted);
    } else if (rows > 0) {
        fprintf(stderr, "carm: %ld row%s of regions went to %s\n", rows, rows == 1 ? "" : "s",
                path);
    } else {
        fprintf(stderr, "carm: no region ended in the program: it must call carm_region_begin and "
                        "carm_region_end (carm.h) and be linked with libcarm\n");
    }
}

static void report(const struct carm_run *run)
{
    struct carm_model *model = NULL;
    struct carm_err why = {""};
    const int rc = carm_select_open(opt_model, &model, NULL, &why);
    carm_run_report(run, rc ? NULL : model, why.text);
    carm_model_free(model);
}

static int run_command(int noperands, char **operands)
{
    struct carm_observer observer = {0};
    struct carm_run run = {.status = CARM_EXIT_FAILED, .observer = &observer};
    struct carm_err err = {""};
    const char *output = opt_output ? opt_output : opt_regions ? "points.csv" : NULL;
    char full[PATH_MAX];
    if (noperands == 0) {
        return carm_say_error(CARM_EXIT_MISUSE,
                              "say which program to run: carm run [options] -- CMD ARGS...");
    }
    char **argv = calloc((size_t)noperands + 1, sizeof *argv);
    if (!argv) {
        return carm_say_error(CARM_EXIT_FAILED, "not enough memory");
    }
    memcpy(argv, operands, (size_t)noperands * sizeof *argv);
    run.argv = argv;
    int rc = configure(&run, &err);
    /* an output that cannot be written is reported before the program runs */
    rc = rc || !output ? rc : carm_outfile_folders(output, &err);
    rc = rc || !output ? rc : carm_row_check(output, &err);
    if (!rc && opt_regions && output) {
        rc = hand_to_regions(&run, output, full, &err);
    }
    if (rc) {
        free(argv);
        return carm_say_error(rc == -CARM_EINVAL ? CARM_EXIT_MISUSE : CARM_EXIT_FAILED, "%s",
                              err.text);
    }
    const long rows = opt_regions && output ? count_rows(output) : 0;
    observer = carm_progress_open();
    if (opt_quiet) {
        observer.say = NULL;
    }
    rc = carm_run_count(&run, &err);
    free(argv);
    if (rc) {
        return carm_say_error(run.status ? run.status : CARM_EXIT_FAILED, "%s", err.text);
    }
    if (!opt_quiet && opt_regions && output) {
        report_regions(&run, output, rows);
    } else if (!opt_quiet) {
        report(&run);
    }
    if (output && !opt_regions && carm_row_append(output, &run.row, 1, &err) != 0) {
        return carm_say_error(run.status ? run.status : CARM_EXIT_FAILED, "%s", err.text);
    }
    return run.status;
}

const struct carm_command carm_command_run = {
    .name = "run",
    .summary = "count a program and place it under the roofs",
    .operands = "-- CMD [ARGS...]",
    .details =
        "Runs a program and counts its flops and the bytes that it loads and stores, with its threads "
        "and child processes. Then places it under the roofs of this machine's model. Counting with "
        "the CPU's counters costs almost nothing. Without counters, carm executes copies of the "
        "program's code that count (--counters translate); --counters step executes the program "
        "instruction by instruction. Both count exactly, and the program runs twice: first at full "
        "speed for its time, then counted with its output discarded. Use --counters none for a "
        "program that must not run twice. What translation cannot count "
        "it names (\"not counted, because ...\"). For long programs that must be stepped, mark regions "
        "(carm.h): carm then steps a sample of their calls.\n\n"
        "carm writes to standard error. Its exit status is that of the program: 128 + the signal "
        "that ended it, 127 when it was not found, 126 when it cannot be executed. Under srun or "
        "mpirun each rank appends its own row to --output.",
    .examples = "carm run -- ./app input.dat\n"
                "carm run --counters translate -- ./app input.dat\n"
                "carm run --counters step -o points.csv --name small -- ./app --size 100\n"
                "carm run --regions --counters translate -- ./app\n"
                "srun carm run -o points.csv -- ./app",
    .opts = options,
    .max_operands = -1,
    .run = run_command,
};
