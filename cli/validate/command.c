/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm validate: measures how well both models predict the machine. */
#include "cli/commands.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asm/isa.h"
#include "base/assets.h"
#include "base/job.h"
#include "base/outfile.h"
#include "cli/progress.h"
#include "cli/validate/csv.h"
#include "cli/validate/print.h"
#include "models/file/select.h"
#include "validation/machine.h"
#include "validation/validate/config.h"
#include "validation/validate/run.h"

static struct carm_validate_words words;
static const char *opt_output, *opt_csv, *opt_force, *opt_json, *opt_theory, *opt_counters,
    *opt_verbose, *opt_wait, *opt_on;

static const struct carm_opt options[] = {
    {"isa", 0, "LIST", "the widest of the model",
     "ISAs to validate, for example avx2 or avx2,avx512.", &words.isa, CARM_WORDS(CARM_ISA_TABLE)},
    {"threads", 't', "LIST", "all of the model", "Thread counts to validate, for example 1,2.",
     &words.threads, NULL},
    {"ops", 0, "LIST", "the fastest",
     "Floating-point operations of test code C; mad is the paper's. The fastest "
     "is fma where it is within 1% of the best; fma+add counts only if you ask for it.",
     &words.ops, CARM_WORDS(CARM_OP_TABLE)},
    CARM_OPT_ON(&opt_on),
    {"levels", 0, "LIST", "all of the model", "Levels to validate, for example L1,DRAM.",
     &words.levels, "L1|L2|L3|DRAM"},
    {"reps", 'r', "N", "the model's", "Repetitions of every point.", &words.reps, NULL},
    {"quick", 0, NULL, NULL, "A first look: 1024 repetitions, fewer schedules to choose from.",
     &words.quick, NULL},
    {"budget", 'b', "SECONDS", "60; 10 with --quick; less with fewer --reps",
     "How long it may take: points that were disturbed are measured again until then. The scores are of the "
     "points that had a figure in time. Less than 5 s counts as 5 s.",
     &words.budget, NULL},
    {"theory", 0, "NAME|FILE", "by CPUID",
     "Peak rates of the core to compare the roofs with: the name of a microarchitecture, for "
     "example \"Zen 4\", or FILE.json with one entry like those in "
     "data/microarchitectures.json.",
     &opt_theory, NULL},
    {"counters", 'c', "WORD", "auto", CARM_COUNTERS_HELP, &opt_counters,
     "auto|papi|likwid|step|none"},
    {"force", 'f', NULL, NULL, "Validate a model of another machine, too.", &opt_force, NULL},
    {"output", 'o', carm_opt_outfile, "MODEL.json itself",
     "File for the model with its validation.", &opt_output, NULL},
    {"csv", 0, carm_opt_outfile, "MODEL.points.csv", "File for the points, as CSV.", &opt_csv,
     NULL},
    {"verbose", 'v', NULL, NULL,
     "Print worst points, re-measured roofs, fits and theory of each set as well.", &opt_verbose,
     NULL},
    CARM_OPT_WAIT(&opt_wait),
    {"json", 0, NULL, NULL, "Print the text of the model file instead of the tables.", &opt_json,
     NULL},
    {NULL, 0, NULL, NULL, NULL, NULL, NULL},
};

/* Puts the file's name before a model's message. returns rc */
static int name_file(const char *path, int rc, struct carm_err *err)
{
    const enum carm_error code = (enum carm_error)(-rc);
    struct carm_err why = *err;
    return rc ? carm_fail(err, code, "%.200s: %s", path, why.text) : 0;
}

/* Opens the table of microarchitectures and chooses the entry. */
static int find_theory(const struct carm_cpu *cpu, struct carm_theory_table **table,
                       struct carm_validate_theory *theory, struct carm_err *err)
{
    const char *text = carm_asset_data_microarchitectures;
    const char *name = "data/microarchitectures.json";
    const size_t len = opt_theory ? strlen(opt_theory) : 0;
    const bool file = len > 5 && strcmp(opt_theory + len - 5, ".json") == 0;
    char *own = NULL;
    size_t size = strlen(text);
    if (file && access(opt_theory, R_OK) != 0) {
        return carm_fail(err, CARM_EIO, "--theory: cannot read %.256s: %s", opt_theory,
                         strerror(errno));
    }
    int rc = file ? carm_model_load(opt_theory, &own, &size, err) : 0;
    rc = rc ? rc : carm_theory_open(own ? own : text, size, file ? opt_theory : name, table, err);
    free(own);
    if (rc) {
        return rc;
    }
    theory->virtual_machine = cpu->hypervisor[0] != '\0';
    theory->by_cpuid = !opt_theory;
    if (file) {
        if ((*table)->n != 1) {
            return carm_fail(err, CARM_EINVAL,
                             "%.256s has %zu entries: --theory takes a file with one", opt_theory,
                             (*table)->n);
        }
        theory->entry = &(*table)->entries[0];
    } else if (opt_theory) {
        return carm_theory_find_name(*table, opt_theory, &theory->entry, err);
    } else {
        theory->entry = carm_theory_find_cpu(*table, cpu->vendor, cpu->family, cpu->model,
                                             carm_cpu_guest_bytes(cpu));
        theory->by_isa =
            theory->entry != carm_theory_find_cpu(*table, cpu->vendor, cpu->family, cpu->model, 0);
    }
    return 0;
}

static void print(const struct carm_model *model, const struct carm_validate_config *config,
                  const struct carm_validate_theory *theory)
{
    struct carm_validation_set *sets = calloc(config->nsets, sizeof *sets);
    if (!sets) {
        carm_say_error(CARM_EXIT_FAILED, "not enough memory to print the scores");
        return;
    }
    for (size_t i = 0; i < config->nsets; i++) {
        sets[i] = carm_validate_set(config, model, i);
    }
    carm_validate_print(model, sets, config->nsets, config->reps, theory, opt_verbose != NULL);
    free(sets);
}

/* Whether two paths name one file. */
static bool same_file(const char *a, const char *b)
{
    struct stat x;
    struct stat y;
    return strcmp(a, b) == 0 ||
           (stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* The files that are read and written. */
struct paths {
    char model[PATH_MAX], csv[PATH_MAX];
    const char *output;
};

static int find_paths(const char *operand, struct paths *p, struct carm_err *err)
{
    int rc = 0;
    if (operand && strchr(operand, '%') && access(operand, F_OK) != 0) {
        rc = carm_outname_expand(operand, p->model, PATH_MAX, err); /* the model is also written */
    } else if (operand) {
        snprintf(p->model, PATH_MAX, "%s", operand);
    } else {
        rc = carm_default_model_path(p->model, PATH_MAX, err);
    }
    p->output = opt_output ? opt_output : p->model;
    if (!rc && opt_csv) {
        snprintf(p->csv, PATH_MAX, "%s", opt_csv);
    } else if (!rc) {
        rc = carm_validate_csv_path(p->output, p->csv, PATH_MAX, err);
    }
    if (!rc && (same_file(p->csv, p->model) || same_file(p->csv, p->output))) {
        rc = carm_fail(err, CARM_EINVAL,
                       "the points would overwrite the model %.256s: name another file with --csv",
                       p->csv);
    }
    return rc;
}

/* Reads the model and finds what to measure: everything that can be wrong before measuring begins. */
static int prepare(const char *path, const struct carm_host *host, struct carm_model **model,
                   struct carm_validate_config *config, struct carm_err *err)
{
    struct carm_machine here;
    int rc = carm_select_open(path, model, NULL, err);
    if (rc) {
        return rc;
    }
    carm_machine_describe(&here, &host->cpu, host->topo, &host->clock);
    if (!opt_force && carm_machine_check(&here, &(*model)->machine, err)) {
        struct carm_err why = *err;
        rc = carm_fail(err, CARM_ENOTSUP, "%s; --force validates it anyway", why.text);
    }
    free(here.caches);
    rc = rc ? rc : carm_host_lay_out(host, (*model)->machine.layout, err);
    rc = rc ? rc : carm_validate_configure(config, *model, &words, &host->cpu, host->topo, err);
    return rc == -CARM_EFORMAT || rc == -CARM_ENOTSUP ? name_file(path, rc, err) : rc;
}

/* Measures and writes. */
static int validate(const struct carm_host *host, const struct carm_validate_config *config,
                    const struct carm_validate_theory *theory, struct carm_model *model,
                    const struct paths *paths, struct carm_err *err)
{
    struct carm_code_counter counter;
    struct carm_validate_done done = {.seconds = 0.0};
    int rc = carm_code_counter_open(&counter, opt_counters, &host->cpu, err);
    /* reports paths that cannot be written before measuring */
    rc = rc ? rc : carm_outfile_check(paths->output, err);
    rc = rc ? rc : carm_outfile_check(paths->csv, err);
    if (!rc) {
        rc = carm_validate_run(config, host, paths->model, &counter, model, &done, err);
    }
    carm_code_counter_close(&counter);
    if (rc == -CARM_EINTR) {
        return carm_fail(err, CARM_EINTR,
                         "interrupted: nothing was written, the model is as it was");
    }
    rc = rc ? rc : carm_model_write(model, paths->output, err);
    rc = rc ? rc : carm_validate_write_csv(model, paths->csv, err);
    if (!rc && opt_json) {
        char *text = carm_model_to_json(model);
        fputs(text ? text : "", stdout);
        free(text);
    } else if (!rc) {
        print(model, config, theory);
        carm_count_checks_print(model);
        if (done.missing) {
            carm_opt_print_wrapped(
                "", 0,
                "The budget of %.0f s ended before %zu points had a figure: give more with --budget",
                fmax(config->budget_seconds, CARM_BUDGET_LEAST), done.missing);
        }
        putchar('\n');
        carm_opt_print_wrapped("", 4, "measured in %.1f s: model %s, points %s", done.seconds,
                               paths->output, paths->csv);
        if (!opt_verbose) {
            printf("next: carm validate --verbose (worst points, roofs, fits and theory)\n");
        }
    }
    return rc;
}

static int run(int noperands, char **operands)
{
    struct carm_err err = {""};
    struct carm_observer observer = carm_progress_open();
    struct carm_host host;
    struct carm_model *model = NULL;
    struct carm_theory_table *table = NULL;
    struct carm_validate_theory theory = {.entry = NULL};
    struct paths paths;
    struct carm_validate_config *config = calloc(1, sizeof *config);
    if (!config) {
        return carm_say_error(CARM_EXIT_FAILED, "not enough memory to plan a validation");
    }
    carm_default_model_place(opt_on, NULL);
    int rc = carm_host_open(&host, opt_on, &observer, &err);
    rc = rc ? rc : find_paths(noperands ? operands[0] : NULL, &paths, &err);
    rc = rc ? rc : find_theory(&host.cpu, &table, &theory, &err);
    if (!rc && noperands &&
        access(paths.model, F_OK) != 0) { /* fails before waiting for the node */
        rc = carm_select_open(paths.model, &model, NULL, &err);
        carm_model_free(model);
        model = NULL;
    }
    /* locks before reading the model, which the lock's holder may be writing */
    rc = rc ? rc : carm_host_enter(&host, "validate", paths.output, opt_wait, &err);
    rc = rc ? rc : prepare(paths.model, &host, &model, config, &err);
    rc = rc ? rc : validate(&host, config, &theory, model, &paths, &err);
    carm_host_leave(&host, rc == 0);
    carm_theory_close(table);
    carm_model_free(model);
    carm_host_close(&host);
    free(config);
    return carm_say_outcome(rc < 0 ? rc : 0, &err);
}

const struct carm_command carm_command_validate = {
    .name = "validate",
    .summary = "how well both models predict this machine",
    .operands = "[MODEL.json]",
    .details =
        "Runs test code C, which interleaves loads, stores and floating-point operations, on every "
        "level of the model at 29 intensities from 2^-8 to 2^6 flop/byte, and compares each point "
        "with the cache-aware and with the original roofline, which are made of codes A and B alone. "
        "Prints which model predicts better, and the fitness of both for each level and pooled: "
        "fitness = 100% / (1 + rRMSE). With --verbose also the worst points, the roofs measured again, "
        "and fits: rates free of start-up cost, roofs fitted to test code C, and a rounded ridge and "
        "an issue-width ceiling as extensions, scored on points that they have not seen.\n\n"
        "For every point, carm tries several schedules of the same instructions and keeps the "
        "fastest, because a roof is what is attainable. DRAM bytes of the original model are counted "
        "by construction: every access of a working set in memory (stores are filled and written "
        "back), the first touch of a working set in a cache. Scores, points, roofs and fits go into "
        "the model file; `carm plot --kind validation` draws them. A validation that is stopped leaves "
        "the file as it was. Tiles (--isa amx) are not validated.",
    .examples = "carm validate\ncarm validate --threads 1 --ops mad\n"
                "carm validate --quick -o checked.json cpu.json",
    .opts = options,
    .max_operands = 1,
    .run = run,
};
