/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/commands.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asm/isa.h"
#include "base/assets.h"
#include "base/job.h"
#include "base/outfile.h"
#include "base/text.h"
#include "cli/progress.h"
#include "cli/validate/print.h"
#include "harness/place/place.h"
#include "models/file/kinds.h"
#include "models/file/share.h"
#include "models/latency.h"
#include "validation/roofs/config.h"
#include "validation/roofs/run.h"

static struct carm_build_words words;
static const char *opt_output;
static const char *opt_counters;
static const char *opt_fresh;
static const char *opt_json, *opt_share;
static const char *opt_wait, *opt_on, *opt_dry_run;

static const struct carm_opt options[] = {
    {"isa", 0, "LIST", "the widest this CPU has, and avx2 beside avx512",
     "ISAs to measure; all = every one that this CPU has. Narrower vectors can be faster in L1 and in "
     "arithmetic, so avx2 is measured there beside avx512.",
     &words.isa, CARM_WORDS(CARM_ISA_TABLE) "|all"},
    {"precision", 0, "LIST", "dp",
     "Precisions to measure, such as dp or dp,int8; all = every one that this CPU has.",
     &words.precision, CARM_WORDS(CARM_PRECISION_TABLE) "|all"},
    {"threads", 't', "LIST",
     "1, the cores of one L3, memory domain and socket, cores; --quick: 1,cores",
     "Thread counts: numbers, cores (one thread for each core of this process's cpuset), all (every "
     "hardware thread), N/UNIT (N on each: 4/l3, 1/numa, 1/socket, 1/core, 2/core). Numbers fill core after core "
     "(compact); with the word spread they go round sockets, memory domains and caches. The sets of a build "
     "contain one another.",
     &words.threads, "cores|all|1/core|2/core|1/l3|1/numa|1/socket|spread|compact"},
    CARM_OPT_ON(&opt_on),
    {"dry-run", 0, NULL, NULL,
     "Print what the build would measure, with which threads where, and how long it would take; measure nothing.",
     &opt_dry_run, NULL},
    {"ldst", 0, "LIST", CARM_LIST(CARM_MIX_TABLE),
     "Mixes of loads and stores. The first is the model's roof, the others are ceilings.",
     &words.ldst, CARM_WORDS(CARM_MIX_TABLE)},
    {"ops", 0, "LIST", "mad,fma,fma+add,add,mul; of other precisions than dp and sp all they have",
     "Operations to measure.", &words.ops, CARM_WORDS(CARM_OP_TABLE)},
    {"levels", 0, "LIST", "all", "Levels to measure, for example L1,L2,DRAM.", &words.levels,
     "L1|L2|L3|DRAM"},
    {"reps", 'r', "N", "8192", "Repetitions of every point.", &words.reps, NULL},
    {"quick", 0, NULL, NULL,
     "A first look, or a health check of a node, in some six seconds: 1024 repetitions, "
     "the mix 2:1, the operations mad, fma and fma+add, fewer points on the curve.",
     &words.quick, NULL},
    {"budget", 'b', "SECONDS",
     "60; 10 with --quick; less with fewer --reps; 15 more with --ceilings, with --scaling",
     "How long the build may take: points that were disturbed are measured again until then. The model has the roofs "
     "that had a figure in time. Two quiet cores need some 30 s; a shorter budget means fewer repetitions. Less than 5 s "
     "counts as 5 s.",
     &words.budget, NULL},
    {"memory", 0, "LIMIT", "half of what is available",
     "Memory that the working sets may take, for example 512M or 2G.", &words.memory, NULL},
    {"ceilings", 0, "[=LIST]", NULL,
     "Measure the Roofline paper's ceilings as well, for optimisation advice: in-core (ILP, SIMD, "
     "FMA), mix (share of floating point among instructions), memory (prefetch, strides, "
     "affinity), busy and traffic (only some of the threads); without LIST, all of them. Measured "
     "for the widest ISA and the most threads; takes some 5 to 15 s more.",
     &words.ceilings, "in-core|mix|memory|busy|traffic"},
    {"latency", 0, "WHEN", "yes; no with --quick",
     "Whether to measure what a core waits for as well: latency and throughput of instructions, of each memory "
     "level and of TLB misses, loads in flight, and lines handed from core to core. Takes some 4 s, with --quick 2 s.",
     &words.latency, "yes|no"},
    {"scaling", 0, NULL, NULL,
     "Measure the bandwidth of each level and the peak with 1 ... n threads as well: at most 16 numbers of threads, "
     "more where the curves bend, core after core and spread over caches and sockets. Where a level saturates, "
     "carm show says so; carm place and run take the roofs of the threads that a program had. Takes some 1 to 15 s "
     "more.",
     &words.scaling, NULL},
    {"search", 0, NULL, NULL,
     "Try about 100 codes for each bandwidth instead of about 15: lengths of the loop, orders, "
     "prefetch "
     "distances, 1 to 6 streams. Those that win go to $XDG_DATA_HOME/carm/search/codes.json; later "
     "builds try them, too. Needs nasm; multiplies the usual budget by 4.",
     &words.search, NULL},
    {"counters", 'c', "WORD", "auto", CARM_COUNTERS_HELP, &opt_counters,
     "auto|papi|likwid|step|none"},
    {"output", 'o', carm_opt_outfile, "$XDG_DATA_HOME/carm/HOST.json", "File for the model.",
     &opt_output, NULL},
    {"share", 0, carm_opt_outfile, NULL,
     "Also write the model for others: without names of hosts, users and paths.", &opt_share, NULL},
    {"fresh", 0, NULL, NULL,
     "Start over. Without this option, the new rounds are added to those of an existing model of "
     "this machine with the same first mix, and what this build does not measure is kept.",
     &opt_fresh, NULL},
    CARM_OPT_WAIT(&opt_wait),
    {"json", 0, NULL, NULL, "Print the text of the model file as well, instead of the summary.",
     &opt_json, NULL},
    {NULL, 0, NULL, NULL, NULL, NULL, NULL},
};

/* Prints the number of ceilings, and of those that could not be measured. */
static void print_ceilings(const struct carm_model *model)
{
    size_t measured = 0;
    size_t others = 0;
    for (size_t i = 0; i < model->nroofs; i++) {
        for (size_t k = 0; k < model->roofs[i].nceilings; k++) {
            measured += model->roofs[i].ceilings[k].rate > 0.0 ? 1 : 0;
            others += model->roofs[i].ceilings[k].rate > 0.0 ? 0 : 1;
        }
    }
    if (measured + others > 0) {
        printf("%zu ceilings", measured);
        if (others) {
            printf(", %zu not measurable here", others);
        }
        printf(": `carm show` lists them\n");
    }
}

/* Prints the answer in a sentence: the highest roofs of the most threads, and whether roofs are disturbed. */
static void print_answer(const struct carm_model *model, size_t points, size_t disturbed)
{
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_NAME_MAX + 32], text[512] = "";
    const struct carm_roofs *r = &model->roofs[0];
    const struct carm_roofs *whose = r;
    for (size_t i = 1; i < model->nroofs; i++) {
        r = model->roofs[i].threads > r->threads ? &model->roofs[i] : r;
    }
    const char *unit = carm_precision_rate(r->precision);
    const struct carm_compute_roof *peak = carm_model_best_peak(model, r, &whose);
    const struct carm_compute_roof *plain = carm_roofs_find_plain_peak(r);
    const struct carm_memory_roof *memory = NULL;
    for (size_t k = model->nlevels; k-- > 0 && !memory;) {
        memory = carm_roofs_find_memory(r, model->levels[k].level, model->config.ldst);
    }
    carm_text_append(text, sizeof text, "%s, %s %s:", carm_roofs_threads(b, sizeof b, r), r->isa,
                     r->precision);
    if (peak) {
        carm_text_append(text, sizeof text, " peak %s (%s%s%s)",
                         carm_text_si(a, sizeof a, peak->rate, unit), whose != r ? whose->isa : "",
                         whose != r ? " " : "", peak->op);
        if (plain && plain != peak) {
            carm_text_append(text, sizeof text, ", %s alone %s", plain->op,
                             carm_text_si(a, sizeof a, plain->rate, unit));
        }
        carm_text_append(text, sizeof text, "%s", memory ? "," : "");
    }
    if (memory) {
        carm_text_append(text, sizeof text, " %s from %s",
                         carm_text_si(a, sizeof a, memory->bandwidth, "B/s"), memory->level);
    }
    if (disturbed) {
        carm_text_append(text, sizeof text, "; %zu of %zu roofs stayed disturbed", disturbed,
                         points);
    } else {
        carm_text_append(text, sizeof text, "; no roof stayed disturbed");
    }
    carm_opt_print_wrapped("", 0, "%s", text);
    putchar('\n');
}

/* Prints the note on peaks before all other notes: one sentence, with the reason of the first
 * peak. */
static void print_peaks(const struct carm_model *model)
{
    const struct carm_roofs *first = NULL;
    const char *reason = "";
    size_t peaks = 0, marked = 0;
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_compute_roof *peak = carm_roofs_find_peak(&model->roofs[i]);
        peaks += peak ? 1 : 0;
        if (peak && peak->disturbed) {
            first = marked++ ? first : &model->roofs[i];
            reason = first == &model->roofs[i] ? peak->note : reason;
        }
    }
    if (!first) {
        return;
    }
    char others[64] = "";
    if (marked > 1) {
        snprintf(others, sizeof others, " (nor are %zu other peaks of %zu)", marked - 1, peaks);
    }
    carm_opt_print_wrapped("", 0, "The peak of %s %s, %d thread%s, is not to be trusted%s: %s.",
                           first->isa, first->precision, first->threads,
                           first->threads == 1 ? "" : "s", others, reason);
}

/* The roofs of one set for the model's mix of loads and stores. */
static void print_roofs(const struct carm_model *model, const struct carm_roofs *r)
{
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_NAME_MAX + 32], text[2048] = "";
    for (size_t k = 0; k < model->nlevels; k++) {
        const struct carm_memory_roof *m =
            carm_roofs_find_memory(r, model->levels[k].level, model->config.ldst);
        if (m) {
            carm_text_list(text, sizeof text, ", ", "%s %s", m->level,
                           carm_text_si(a, sizeof a, m->bandwidth, "B/s"));
        }
    }
    for (size_t k = 0; k < r->ncompute; k++) {
        carm_text_append(
            text, sizeof text, "%s%s %s", *text ? ", " : "", r->compute[k].op,
            carm_text_si(a, sizeof a, r->compute[k].rate, carm_precision_rate(r->precision)));
    }
    char head[96];
    snprintf(head, sizeof head, "%.16s %.8s, %.40s: ", r->isa, r->precision,
             carm_roofs_threads(b, sizeof b, r));
    carm_opt_print_wrapped(head, 4, "%s", text);
}

/* The codes that a search found, and the file that keeps them. */
static void print_found(const struct carm_winners *found, const char *path)
{
    if (found->n == 0) {
        printf("Search: no code is 0.5%% faster than the usual candidates\n");
        return;
    }
    printf("Search: %zu code%s beat%s the usual candidates\n", found->n, found->n == 1 ? "" : "s",
           found->n == 1 ? "s" : "");
    for (size_t i = 0; i < found->n; i++) {
        const struct carm_winner *w = &found->items[i];
        printf("  %-5s %-32s +%.1f%%\n", w->level, w->code, 100.0 * (w->gain - 1.0));
    }
    printf("Later builds try them, too: %s\n", path);
}

/* Whether an operation exists for vectors, but not in the chosen ISAs on this CPU. */
static bool not_run(const struct carm_build_config *config, const struct carm_cpu *cpu,
                    enum carm_precision precision, enum carm_op op)
{
    bool exists = false;
    bool runs = false;
    for (int i = 0; i < CARM_VECTOR_ISAS; i++) {
        exists = exists || carm_form_find((enum carm_isa)i, precision, op);
    }
    for (size_t i = 0; i < config->nisas; i++) {
        runs = runs || carm_cpu_has_op(cpu, config->isas[i], precision, op);
    }
    return exists && !runs;
}

/* Prints requested precisions, and operations of the other precisions, that only other CPUs
 * have. */
static void print_not_run(const struct carm_build_config *config, const struct carm_cpu *cpu)
{
    char list[CARM_PRECISION_COUNT * CARM_OP_COUNT * 16] = "";
    for (int p = 0; p < CARM_PRECISION_COUNT; p++) {
        bool asked = false;
        if (config->absent[p]) {
            carm_text_list(list, sizeof list, ", ", "%s",
                           carm_precision_name((enum carm_precision)p));
        }
        for (size_t i = 0; i < config->nprecisions; i++) {
            asked = asked || config->precisions[i] == (enum carm_precision)p;
        }
        for (size_t o = 0; o < config->nops && asked; o++) {
            if (not_run(config, cpu, (enum carm_precision)p, config->ops[o])) {
                carm_text_list(list, sizeof list, ", ", "%s %s",
                               carm_precision_name((enum carm_precision)p),
                               carm_op_name(config->ops[o]));
            }
            if (carm_form_find(CARM_AMX, (enum carm_precision)p, config->ops[o]) &&
                !carm_cpu_has_op(cpu, CARM_AMX, (enum carm_precision)p, config->ops[o])) {
                carm_text_list(list, sizeof list, ", ", "%s %s (amx)",
                               carm_precision_name((enum carm_precision)p),
                               carm_op_name(config->ops[o]));
            }
        }
    }
    if (*list) {
        carm_opt_print_wrapped(
            "", 0, "Not run here, as the chosen ISAs do not have it on this CPU: %s.", list);
    }
}

/* The answer, the roofs, and the notes. */
static void print_summary(const struct carm_model *model, const struct carm_build_config *config,
                          const struct carm_cpu *cpu, const char *path,
                          const struct carm_build_done *done)
{
    char a[CARM_TEXT_NUMBER_MAX];
    size_t disturbed = 0;
    size_t points = 0;
    for (size_t i = 0; i < model->nroofs; i++) {
        disturbed += carm_roofs_count_disturbed(&model->roofs[i]);
        points += model->roofs[i].nmemory + model->roofs[i].ncompute;
    }
    print_answer(model, points, disturbed);
    if (done->paired) {
        carm_opt_print_wrapped(
            "", 0,
            "%d threads never had a core each: the CPUs of this %s may be hardware threads of half as many cores, "
            "or other guests keep their cores busy. The roofs of %d threads are those that they reach together.",
            done->paired, *model->machine.hypervisor ? "virtual machine" : "machine", done->paired);
    }
    print_peaks(model);
    for (size_t i = 0; i < model->nroofs; i++) {
        print_roofs(model, &model->roofs[i]);
    }
    char lines[CARM_SCALING_STEPS][CARM_SCALING_LINE];
    const size_t n = config->scaling ? carm_scaling_say(model, lines, CARM_SCALING_STEPS) : 0;
    for (size_t i = 0; i < n; i++) {
        carm_opt_print_wrapped("Scaling: ", 4, "%s", lines[i]);
    }
    print_not_run(config, cpu);
    for (size_t k = 0; k < model->nlevels; k++) {
        const struct carm_level *l = &model->levels[k];
        if (l->note[0] && carm_level_list_has(&config->levels, l->level)) {
            carm_opt_print_wrapped("", 4, "%s%s: %s", l->level, l->resolved ? "" : " not resolved",
                                   l->note);
        }
    }
    if (model->machine.page_bytes < ((uint64_t)2 << 20)) {
        carm_opt_print_wrapped(
            "", 0,
            "The working sets lie in %s pages: address translation slows the levels beyond L1. Allow "
            "2 MiB pages with echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
            carm_text_bytes(a, sizeof a, model->machine.page_bytes));
    }
    if (disturbed) {
        carm_opt_print_wrapped(
            "", 0,
            "`carm show` marks disturbed roofs with ! and says why: run `carm build` again, which adds "
            "its rounds to these, or give more time with --budget");
    }
    print_ceilings(model);
    carm_count_checks_print(model);
    if (done->missing) {
        carm_opt_print_wrapped(
            "", 0,
            "The budget of %.0f s ended before %zu more roofs had a figure: give more with --budget",
            fmax(config->budget_seconds, CARM_BUDGET_LEAST), done->missing);
    }
    carm_opt_print_wrapped("", 4, "%zu roofs from %zu repetitions each in %.1f s: %s", points,
                           done->reps, done->seconds, path);
    if (done->reps < config->reps) {
        carm_opt_print_wrapped(
            "", 0,
            "%zu repetitions each would take most of the budget or more: give more with --budget",
            config->reps);
    }
    printf("next: carm show%s%s\n", opt_output ? " " : "", opt_output ? path : "");
}

/* Checks the command before it waits for the node. path: out, the model's file */
static int prepare(const struct carm_host *host, struct carm_build_config *config,
                   struct carm_code_counter *counter, char path[PATH_MAX], struct carm_err *err)
{
    int rc = carm_build_configure(config, &words, &host->cpu, host->topo, err);
    carm_default_model_place(opt_on, host->topo->layout);
    rc = rc ? rc : carm_code_counter_open(counter, opt_counters, &host->cpu, err);
    if (!rc && opt_output) {
        snprintf(path, PATH_MAX, "%s", opt_output);
    } else if (!rc) {
        rc = carm_default_model_path(path, PATH_MAX, err);
    }
    /* reports a path that cannot be written before measuring */
    rc = rc ? rc : carm_outfile_check(path, err);
    return rc || !opt_share ? rc : carm_outfile_check(opt_share, err);
}

/* The existing model, if the build continues it; else NULL. */
static struct carm_model *find_before(const struct carm_build_config *config,
                                      const struct carm_host *host, const char *path)
{
    struct carm_model *before = opt_fresh ? NULL : carm_kinds_read(path, host->topo->on);
    if (!before || !carm_build_inherits(config, host, before)) {
        carm_model_free(before);
        return NULL;
    }
    return before;
}

/* The file of this user's searches, in a folder beside the models. */
static int own_codes_path(char path[PATH_MAX], struct carm_err *err)
{
    static const char file[] = "search/codes.json";
    const int rc = carm_default_model_path(path, PATH_MAX - sizeof file, err);
    if (!rc) {
        memcpy(strrchr(path, '/') + 1, file, sizeof file);
    }
    return rc;
}

/* Adds the winners of this user's file, if it exists. */
static int read_own_codes(struct carm_winners *winners, struct carm_err *err)
{
    char path[PATH_MAX];
    char *text = NULL;
    size_t size = 0;
    if (own_codes_path(path, NULL) || access(path, F_OK) != 0) {
        return 0;
    }
    int rc = carm_model_load(path, &text, &size, err);
    rc = rc ? rc : carm_winners_read(winners, text, size, path, err);
    free(text);
    return rc;
}

/* Reads the codes of earlier searches, from carm's data and this user's file, and the identity of this machine. */
static int know_codes(struct carm_build_config *config, const struct carm_cpu *cpu,
                      struct carm_winners *known, struct carm_err *err)
{
    const char *codes = carm_asset_data_codes;
    const char *theory = carm_asset_data_microarchitectures;
    struct carm_theory_table *table = NULL;
    int rc = carm_theory_open(theory, strlen(theory), "data/microarchitectures.json", &table, err);
    if (!rc) {
        carm_winner_machine(table, cpu->vendor, cpu->family, cpu->model, carm_cpu_guest_bytes(cpu),
                            config->machine);
    }
    carm_theory_close(table);
    rc = rc ? rc : carm_winners_read(known, codes, strlen(codes), "data/codes.json", err);
    rc = rc ? rc : read_own_codes(known, err);
    config->known = known;
    return rc;
}

/* Adds the codes that a search found to this user's file. path: out */
static int keep_codes(const struct carm_winners *found, char path[PATH_MAX], struct carm_err *err)
{
    struct carm_winners own = {.n = 0};
    int rc = own_codes_path(path, err);
    rc = rc ? rc : read_own_codes(&own, err);
    for (size_t i = 0; i < found->n && !rc; i++) {
        rc = carm_winners_add(&own, &found->items[i], err);
    }
    char *text = rc || found->n == 0 ? NULL : carm_winners_to_json(&own);
    if (text) {
        rc = carm_outfile_put(path, text, strlen(text), err);
    } else if (!rc && found->n) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for %.256s", path);
    }
    free(text);
    carm_winners_close(&own);
    return rc;
}

/* Warns of named precisions that cannot be measured, before the others are measured. */
static void warn_absent(const struct carm_observer *observer,
                        const struct carm_build_config *config)
{
    for (int p = 0;
         p < CARM_PRECISION_COUNT && strcmp(words.precision ? words.precision : "", "all") != 0;
         p++) {
        if (config->absent[p]) {
            carm_observer_say(
                observer,
                "none of the chosen ISAs has %s on this CPU: measuring the other precisions",
                carm_precision_name((enum carm_precision)p));
        }
    }
}

/* Writes the model. The model of a kind of core is also written into the machine's model, if it exists: into the named
 * file, or into this machine's own file beside the kind's. A whole machine's model keeps the kinds that were measured
 * before. */
static int write_model(struct carm_model *model, const char *path, struct carm_err *err)
{
    static const char *const kinds[] = {"kind:p", "kind:e", "kind:lp"};
    char other[PATH_MAX];
    int rc = 0;
    if (carm_model_is_kind(model)) {
        const int inside = opt_output ? carm_kinds_write(model, path, err) : 0;
        rc = inside ? (inside < 0 ? inside : 0) : carm_model_write(model, path, err);
        carm_default_model_place(NULL, NULL);
        if (!rc && !opt_output && carm_default_model_path(other, sizeof other, err) == 0) {
            const int machine = carm_kinds_write(model, other, err);
            rc = machine < 0 ? machine : 0;
        }
        return rc;
    }
    rc = carm_kinds_keep(model, path, err);
    for (size_t i = 0;
         i < sizeof kinds / sizeof *kinds && !rc && !opt_output && !*model->machine.on; i++) {
        carm_default_model_place(kinds[i], NULL);
        rc = carm_default_model_path(other, sizeof other, err);
        rc = rc ? rc : carm_kinds_keep(model, other, err);
    }
    return rc ? rc : carm_model_write(model, path, err);
}

static int build(struct carm_host *host, const struct carm_build_config *config,
                 const struct carm_code_counter *counter, const char *path, struct carm_err *err)
{
    char codes[PATH_MAX];
    struct carm_job job;
    struct carm_model *model = NULL;
    struct carm_build_done done = {.seconds = 0.0};
    carm_job_read(&job);
    carm_node_warn(host->observer, &job, host->topo);
    warn_absent(host->observer, config);
    struct carm_model *before = find_before(config, host, path);
    int rc = carm_build_run(config, host, counter, before, &model, &done, err);
    carm_model_free(before);
    if (rc == -CARM_EINTR) {
        return carm_fail(err, CARM_EINTR,
                         "interrupted: nothing was written, an earlier model is as it was");
    }
    rc = rc ? rc : write_model(model, path, err);
    rc = rc || !opt_share ? rc : carm_model_share_write(model, opt_share, err);
    rc = rc || !config->found ? rc : keep_codes(config->found, codes, err);
    if (!rc && opt_json) {
        char *text = carm_model_to_json(model);
        fputs(text ? text : "", stdout);
        free(text);
    } else if (!rc) {
        print_summary(model, config, &host->cpu, path, &done);
        if (config->found) {
            print_found(config->found, codes);
        }
    }
    carm_model_free(model);
    return rc;
}

/* Items of a plan's lists, which are printed with commas. */
static const char *isa_at(const struct carm_build_config *c, size_t i)
{
    return i < c->nisas ? carm_isa_name(c->isas[i]) : NULL;
}

static const char *precision_at(const struct carm_build_config *c, size_t i)
{
    return i < c->nprecisions ? carm_precision_name(c->precisions[i]) : NULL;
}

static const char *op_at(const struct carm_build_config *c, size_t i)
{
    return i < c->nops ? carm_op_name(c->ops[i]) : NULL;
}

static char *join(const struct carm_build_config *c,
                  const char *(*at)(const struct carm_build_config *, size_t), char dst[256])
{
    dst[0] = '\0';
    for (size_t i = 0; at(c, i); i++) {
        carm_text_list(dst, 256, ",", "%s", at(c, i));
    }
    return dst;
}

static int print_plan_json(const struct carm_build_config *c, const struct carm_host *host,
                           const struct carm_build_outlook *o, const char *path,
                           struct carm_err *err)
{
    char isas[256], precisions[256], ops[256], place[CARM_TOPO_PLACE_MAX], cpus[4096];
    json_t *sets = json_array();
    for (size_t i = 0; i < c->nthreads; i++) {
        json_array_append_new(
            sets, json_pack("{s:i,s:s,s:s}", "threads", c->threads[i], "place",
                            carm_topo_name(host->topo, c->threads[i], place), "cpus",
                            carm_topo_cpus(host->topo, c->threads[i], cpus, sizeof cpus)));
    }
    json_t *root = json_pack(
        "{s:s,s:s,s:b,s:o,s:s,s:s,s:s,s:I,s:I,s:f,s:f,s:I,s:b,s:s}", "on", host->topo->on, "layout",
        host->topo->layout, "this_machine", !host->topo->elsewhere, "sets", sets, "isas",
        join(c, isa_at, isas), "precisions", join(c, precision_at, precisions), "ops",
        join(c, op_at, ops), "roofs", (json_int_t)o->roofs, "reps", (json_int_t)o->reps, "seconds",
        o->seconds, "budget_seconds", o->most_seconds, "memory_bytes", (json_int_t)c->memory_bytes,
        "latency", c->latency, "model", path);
    if (root && c->scaling) {
        json_t *steps = json_array();
        for (size_t i = 0; i < o->scaling.n; i++) {
            json_array_append_new(steps, json_integer(o->scaling.steps[i]));
        }
        json_object_set_new(root, "scaling",
                            json_pack("{s:o,s:i,s:b,s:f}", "threads", steps, "most",
                                      CARM_SCALING_RUNS, "spread", o->scaling.spread, "seconds",
                                      o->scaling.seconds));
    }
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    if (!text) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to print the plan");
    }
    printf("%s\n", text);
    free(text);
    return 0;
}

static void print_scaling_plan(const struct carm_build_config *c,
                               const struct carm_build_outlook *o)
{
    if (!c->scaling) {
        return;
    }
    const bool between = o->scaling.steps[o->scaling.n - 1] > (int)o->scaling.n;
    printf("\nscaling      threads ");
    for (size_t i = 0; i < o->scaling.n; i++) {
        printf("%s%d", i ? ", " : "", o->scaling.steps[i]);
    }
    printf("%s", o->scaling.spread ? ", compact and spread" : "");
    if (between) {
        printf(", and between them where the curves bend: at most %d numbers", CARM_SCALING_RUNS);
    }
}

/* Prints the plan of the build. returns 0 or -CARM_ENOMEM */
static int print_dry_run(const struct carm_build_config *c, const struct carm_host *host,
                         const char *path, struct carm_err *err)
{
    char a[CARM_TEXT_NUMBER_MAX], text[256], place[CARM_TOPO_PLACE_MAX], cpus[64];
    struct carm_build_outlook o;
    struct carm_err other = {""};
    carm_build_foresee(c, host, &o);
    if (opt_json) {
        return print_plan_json(c, host, &o, path, err);
    }
    if (carm_topo_check_here(host->topo, &other)) {
        carm_opt_print_wrapped("", 0, "Not this machine: %s.", other.text);
    }
    carm_opt_print_wrapped(
        "", 0,
        "%zu roofs in some %.0f s on a quiet machine, at most %.0f s (--budget); nothing was measured",
        o.roofs, ceil(o.seconds), o.most_seconds);
    printf("\nthreads  %-24s CPUs\n", "place");
    for (size_t i = 0; i < c->nthreads; i++) {
        carm_topo_cpus(host->topo, c->threads[i], cpus, sizeof cpus);
        printf("%7d  %-24s %s\n", c->threads[i], carm_topo_name(host->topo, c->threads[i], place),
               *cpus ? cpus : "many ranges (--json lists them)");
    }
    printf("\nISAs         %s", join(c, isa_at, text));
    printf(", %s", join(c, precision_at, text));
    printf("\noperations   %s\nlevels       ", join(c, op_at, text));
    for (size_t i = 0; i < host->topo->ncaches; i++) {
        printf("L%d, ", host->topo->caches[i].level);
    }
    printf("DRAM, in up to %s\n", carm_text_bytes(a, sizeof a, c->memory_bytes));
    printf("repetitions  %zu", o.reps);
    if (o.reps < c->reps) {
        printf(": %zu would take more than half of the time; give more with --budget", c->reps);
    }
    print_scaling_plan(c, &o);
    struct carm_topo_memory memories[CARM_NUMA_NODES_MAX];
    const size_t nodes = carm_topo_memories(host->topo, memories, CARM_NUMA_NODES_MAX);
    printf("\nlatencies    %s", c->latency ? "yes" : "no");
    if (c->latency && nodes > 1) {
        printf(", with the memory of %zu NUMA nodes", nodes);
    }
    printf("\nmodel        %s\n", path);
    return 0;
}

static int run(int noperands, char **operands)
{
    struct carm_build_config config = {.nisas = 0};
    struct carm_winners known = {.n = 0};
    struct carm_winners found = {.n = 0};
    struct carm_code_counter counter = {.provider = CARM_PROVIDER_NONE};
    struct carm_observer observer = carm_progress_open();
    struct carm_host host;
    struct carm_err err = {""};
    char path[PATH_MAX];
    (void)noperands;
    (void)operands;
    int rc = opt_dry_run ? carm_host_look(&host, opt_on, &observer, &err)
                         : carm_host_open(&host, opt_on, &observer, &err);
    rc = rc ? rc : prepare(&host, &config, &counter, path, &err);
    if (opt_dry_run) {
        rc = rc ? rc : print_dry_run(&config, &host, path, &err);
        carm_code_counter_close(&counter);
        carm_host_close(&host);
        return carm_say_outcome(rc, &err);
    }
    rc = rc ? rc : know_codes(&config, &host.cpu, &known, &err);
    config.found = words.search ? &found : NULL;
    rc = rc ? rc : carm_host_enter(&host, "build", path, opt_wait, &err);
    rc = rc ? rc : build(&host, &config, &counter, path, &err);
    carm_host_leave(&host, rc == 0);
    carm_code_counter_close(&counter);
    carm_host_close(&host);
    carm_winners_close(&known);
    carm_winners_close(&found);
    return carm_say_outcome(rc < 0 ? rc : 0, &err);
}

const struct carm_command carm_command_build = {
    .name = "build",
    .summary = "measure this CPU, write its model",
    .operands = "",
    .details =
        "Measures the cache-aware roofline of this CPU: bandwidth from every level of the memory "
        "hierarchy to the core for every mix of loads and stores, and the peak of every "
        "floating-point operation, with one thread and with one for each core. A disassembler recounts "
        "the test codes before they run. Those of the usual options are built in; others are "
        "generated and need nasm. Every point is the median of 8192 repetitions with its 95% "
        "confidence interval. The levels come from the measured curve of bandwidth over working set, "
        "not from what the OS reports.\n\n"
        "The model goes to a file that `carm show` and `carm plot` read. A build that is stopped "
        "leaves an earlier file as it was. Points that other load disturbed are measured again "
        "while time allows, and marked when they stay disturbed.\n\n"
        "Only one process measures on a node at a time. Others wait for their turn, "
        "for the time of --wait at most, and name the process that measures. Ranks "
        "of one srun or mpirun that would write the same file leave it to the first of them. On a "
        "cluster, `srun --ntasks-per-node=1 --exclusive --cpu-bind=none carm build -o "
        "models/%h.json` builds a model of each node; --quick is for health checks.",
    .examples =
        "carm build\ncarm build --quick --wait 0\ncarm build --isa all --precision dp,sp -o all.json\n"
        "carm build --threads 1,4,all --levels L1,L2 --memory 1G\n"
        "carm build --dry-run\ncarm build --on socket:1\ncarm build --threads 1,4/l3,cores\n"
        "carm build --scaling\n"
        "carm build --ceilings\ncarm build --ceilings=in-core,memory\n"
        "carm build --search\n"
        "srun -N 1000 carm build -o models/%h.json",
    .opts = options,
    .max_operands = 0,
    .run = run,
};
