/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is fuzzed: everything that reads what others wrote. `make fuzz` searches for inputs that break a
 * reader (tests/fuzz/search.c); `make check` runs all readers on the seeds and on the inputs that were found,
 * tests/fuzz/inputs/TARGET/ (tests/fuzz/test_replay.c). */
#pragma once

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asm/decode.h"
#include "asm/gen.h"
#include "asm/image.h"
#include "base/job.h"
#include "base/number.h"
#include "harness/count/pmu.h"
#include "harness/count/provider.h"
#include "harness/count/recipe.h"
#include "harness/machine/cpu.h"
#include "harness/machine/topo.h"
#include "harness/profile/profile.h"
#include "harness/profile/symbols.h"
#include "harness/translate/inject.h"
#include "harness/translate/maps.h"
#include "harness/translate/sum.h"
#include "harness/translate/tally.h"
#include "kernels/spmv/market.h"
#include "models/file/fleet/read.h"
#include "models/file/fleet/rows.h"
#include "models/file/model.h"
#include "models/file/points.h"
#include "models/file/published.h"
#include "models/file/select.h"
#include "models/file/sol/analysis.h"
#include "models/file/sol/arch.h"
#include "models/file/sol/graph.h"
#include "models/file/sol/open.h"
#include "models/file/work.h"
#include "models/place/views.h"
#include "models/sol/arch.h"
#include "models/sol/estimate.h"
#include "models/sol/sweep.h"
#include "models/theory.h"
#include "models/winners.h"
#include "plots/panel.h"
#include "run/regions.h"
#include "validation/roofs/config.h"

struct fuzz_target {
    const char *name;
    /* Aborts where a promise of the reader is broken.
     * text  size bytes, with a zero behind them that is not counted */
    void (*run)(const char *text, size_t size);
    const char *files[8];            /* seeds: patterns of paths */
    const char *const *inline_texts; /* seeds, NULL ends them; NULL = none */
    const char *begin, *end;         /* a binary seed; NULL = none */
};

/* The build compiles it from tests/fuzz/seed.c. */
extern const char fuzz_elf[], fuzz_elf_end[];

static void promise(bool kept, const char *what)
{
    if (!kept) {
        (void)fprintf(stderr, "a promise is broken: %s\n", what);
        abort();
    }
}

static unsigned long fuzz_accepts; /* how often a reader took its input */

static struct carm_err err; /* filled by a reader; empty before */

/* A refusal has its reason. returns whether it was accepted */
static bool accepted(int rc)
{
    promise(rc <= 0, "0 or a negative code");
    promise(rc == 0 || err.text[0], "a refusal has a sentence");
    err.text[0] = '\0';
    fuzz_accepts += rc == 0;
    return rc == 0;
}

/* A file that only this process sees, for readers that take a path. */
static const char *path_of(const char *text, size_t size)
{
    static char path[64];
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("input", 0);
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, text, size, 0) != (ssize_t)size) {
        perror("memfd");
        exit(1);
    }
    return path;
}

/* ---- the readers ------------------------------------------------------------------------------- */

/* Shows that a broken promise is found: no test of anything. */
static void run_planted(const char *text, size_t size)
{
    promise(size != 7 || memcmp(text, "planted", 7) != 0, "the planted fault");
}

static void run_model(const char *text, size_t size)
{
    struct carm_model *model = NULL;
    struct carm_model *again = NULL;
    carm_model_free(carm_model_parse_lean(text, size));
    if (!accepted(carm_model_parse(text, size, "m.json", &model, &err))) {
        promise(!model, "nothing comes of a refused model");
        return;
    }
    char *first = carm_model_to_json(model);
    promise(first, "a model that was read can be written");
    if (carm_model_parse(first, strlen(first), "m.json", &again, &err)) {
        promise(false, err.text);
    }
    char *second = carm_model_to_json(again);
    promise(second && strcmp(first, second) == 0, "a model is the same after writing and reading");
    free(first);
    free(second);
    carm_model_free(model);
    carm_model_free(again);
}

static void run_fleet(const char *text, size_t size)
{
    static char folder[] = "/tmp/carm-fuzz-XXXXXX";
    char path[64];
    struct carm_fleet_item item;
    struct carm_fleet_row_said said;
    struct carm_fleet *fleet = NULL;
    memset(&item, 0, sizeof item);
    (void)accepted(carm_fleet_item_parse(text, size, &item, &err));
    carm_model_free(item.model);
    carm_fleet_row_read(text, &said);
    promise(memchr(said.reason, 0, sizeof said.reason), "a reason ends");
    (void)snprintf(path, sizeof path, "%s/f.jsonl", mkdtemp(folder) ? folder : "/nonexistent");
    FILE *out = fopen(path, "w");
    if (!out || fwrite(text, 1, size, out) != size || fclose(out)) {
        perror(path);
        exit(1);
    }
    char *const paths[] = {path};
    const struct carm_fleet_options options = {.ceilings = true, .threads = 1, .fdr = 0.05};
    (void)accepted(carm_fleet_read(paths, 1, &options, &fleet, &err));
    carm_fleet_free(fleet);
    (void)unlink(path);
    (void)rmdir(folder);
    memcpy(strrchr(folder, '-') + 1, "XXXXXX", 6);
}

static void run_points(const char *text, size_t size)
{
    struct carm_points *points = NULL;
    struct carm_point p;
    if (!accepted(carm_points_open(path_of(text, size), NULL, &points, &err))) {
        return;
    }
    int rc;
    while ((rc = carm_points_next(points, &p, &err)) == 1) {
        promise(p.name && *p.name, "a point has a name");
        promise(!carm_point_knows(p.flops) || p.flops < 1e300, "flops are finite");
        promise(p.threads >= 0, "threads are a number of them");
        (void)carm_point_unplaced(&p);
    }
    (void)accepted(rc);
    carm_points_close(points);
}

/* Roofs of other tools, and models by their content. */
static void run_roofs(const char *text, size_t size)
{
    struct carm_model *model = NULL;
    if (accepted(carm_select_open(path_of(text, size), &model, NULL, &err))) {
        for (size_t i = 0; i < model->nroofs; i++) {
            const struct carm_roofs *r = &model->roofs[i];
            promise(*r->isa && *r->precision && r->threads >= 1, "a set of roofs has its names");
            promise(r->nmemory == 0 || r->memory[0].bandwidth > 0.0, "a roof is above zero");
        }
    }
    carm_model_free(model);
}

static void run_work(const char *text, size_t size)
{
    struct carm_work *work = NULL;
    if (accepted(carm_work_open(path_of(text, size), &work, &err))) {
        (void)carm_work_find(work, "solve");
    }
    carm_work_close(work);
}

static void run_estimate(const struct carm_sol_graph *graph,
                         const struct carm_sol_analysis *analysis)
{
    struct carm_sol_arch arch;
    struct carm_sol_result result;
    size_t bytes = 0;
    const char *chip = carm_sol_arch_text("a100-sxm4", &bytes);
    promise(chip && !carm_sol_arch_parse(chip, bytes, "a100", &arch, &err),
            "the built-in chip is read");
    if (!accepted(carm_sol_estimate(graph, analysis, &arch, CARM_SOL_FP16, false, &result, &err))) {
        return;
    }
    for (uint32_t i = 0; result.has_layers && i < result.n; i++) {
        struct carm_sol_estimate e;
        carm_sol_estimate_layer(&result, i, CARM_SOL_UNFUSED, false, &e);
    }
    carm_sol_result_close(&result);
}

static void run_sol_graph(const char *text, size_t size)
{
    struct carm_sol_graph *graph = NULL;
    struct carm_sol_analysis *analysis = NULL;
    if (!accepted(carm_sol_graph_parse(text, size, "g.yaml", &graph, &err))) {
        return;
    }
    if (accepted(carm_sol_analyse(graph, &analysis, &err))) {
        run_estimate(graph, analysis);
    }
    carm_sol_analysis_close(analysis);
    carm_sol_graph_close(graph);
}

static void run_sol_analysis(const char *text, size_t size)
{
    struct carm_sol_analysis *analysis = NULL;
    if (accepted(carm_sol_analysis_parse(text, size, "a.yaml", &analysis, &err))) {
        run_estimate(NULL, analysis);
    }
    carm_sol_analysis_close(analysis);
}

static void run_sol_arch(const char *text, size_t size)
{
    struct carm_sol_arch arch;
    enum carm_sol_precision precision;
    char list[128];
    if (accepted(carm_sol_arch_parse(text, size, "arch.yaml", &arch, &err))) {
        promise(arch.freq_ghz > 0.0 && arch.dram_byte_per_cycle > 0.0, "rates are positive");
        (void)carm_sol_arch_precision(&arch, -1, &precision, &err);
        (void)carm_sol_arch_precisions(&arch, list, sizeof list);
    }
}

static void run_recipe(const char *text, size_t size)
{
    struct carm_recipe *recipe = NULL;
    char name[128];
    (void)size;
    if (accepted(carm_recipe_parse(text, "skylake-server", &recipe, &err))) {
        for (size_t i = 0; i < recipe->nevents; i++) {
            for (unsigned k = 0;
                 carm_event_papi_name(recipe, &recipe->events[i], k, name, sizeof name); k++) {
            }
        }
    }
    carm_recipe_free(recipe);
}

static void run_codes(const char *text, size_t size)
{
    struct carm_winners winners = {.n = 0};
    if (accepted(carm_winners_read(&winners, text, size, "c.json", &err))) {
        char *again = carm_winners_to_json(&winners);
        struct carm_winners copy = {.n = 0};
        promise(again && carm_winners_read(&copy, again, strlen(again), "a.json", &err) == 0,
                "what is written is read");
        promise(copy.n == winners.n, "all of it");
        free(again);
        carm_winners_close(&copy);
    }
    carm_winners_close(&winners);
}

static void run_microarchitectures(const char *text, size_t size)
{
    struct carm_theory_table *table = NULL;
    if (accepted(carm_theory_open(text, size, "t.json", &table, &err))) {
        for (size_t i = 0; i < table->n; i++) {
            promise(table->entries[i].nsources > 0, "an entry has its source");
            promise(carm_theory_l1(&table->entries[i], 32, 2, 1) >= 0.0, "a rate");
            promise(carm_theory_flops(&table->entries[i], 32, 4, "mad") >= 0.0, "a rate");
        }
    }
    carm_theory_close(table);
}

static void run_published(const char *text, size_t size)
{
    struct carm_published *published = NULL;
    static struct carm_ceilings ceilings; /* large */
    if (accepted(carm_published_open(text, size, "p.json", &published, &err))) {
        for (size_t i = 0; i < published->nmachines; i++) {
            const struct carm_published_machine *m = &published->machines[i];
            carm_published_ceilings(m, CARM_BALANCE_BOTTOM, &ceilings);
            for (size_t k = 0; k < m->nresults; k++) {
                struct carm_ceiling_around upper;
                struct carm_ceiling_around lower;
                (void)carm_published_place(published, m, &m->results[k], &ceilings, &upper, &lower,
                                           &err);
            }
        }
    }
    carm_published_close(published);
}

static void run_matrix_market(const char *text, size_t size)
{
    struct carm_csr a = {0};
    if (accepted(carm_matrix_market_read(path_of(text, size), &a, &err))) {
        promise(a.start[0] == 0 && a.start[a.rows] == a.nonzeros, "rows hold all entries");
        for (uint32_t i = 0; i < a.rows; i++) {
            for (uint32_t k = a.start[i]; k < a.start[i + 1]; k++) {
                promise(a.column[k] < a.columns, "columns are inside");
                promise(k == a.start[i] || a.column[k - 1] < a.column[k], "columns ascend");
            }
        }
        carm_csr_close(&a);
    }
}

static void run_code_name(const char *text, size_t size)
{
    struct carm_code_spec spec;
    struct carm_code_spec again;
    char first[CARM_CODE_NAME_MAX];
    char second[CARM_CODE_NAME_MAX];
    char *source = NULL;
    size_t length = 0;
    (void)size;
    if (!accepted(carm_code_parse(text, &spec, &err))) {
        return;
    }
    carm_code_name(&spec, first);
    promise(carm_code_check(&spec, &err) == 0, "a name stands for a code that can be generated");
    promise(carm_code_parse(first, &again, &err) == 0, "a code's own name is read");
    carm_code_name(&again, second);
    promise(strcmp(first, second) == 0, "one name for one code");
    FILE *out = open_memstream(&source, &length);
    if (out) {
        carm_gen_source(out, &spec, 1);
        (void)fclose(out);
        promise(length > 0, "a code has a source");
        free(source);
    }
}

/* Two bytes choose a built-in code, and each three change a byte of it. The rest is decoded by itself, too. */
static void run_code(const char *text, size_t size)
{
    static uint8_t *image;
    static struct carm_code_table table;
    const uint8_t *in = (const uint8_t *)text;
    struct carm_insn *insns = NULL;
    size_t n = 0;
    char line[CARM_INSN_TEXT_MAX];
    if (accepted(carm_decode(in, size, 0, size, &insns, &n, &err))) {
        promise(n <= size, "an instruction has a byte");
        free(insns);
    }
    carm_insn_text(in, size, size / 2, line);
    if (!image) {
        promise(carm_builtin_open(&table, &err) == 0 && table.n > 0, "codes are built in");
        image = malloc(table.size);
        promise(image, "memory");
        memcpy(image, table.bytes, table.size);
    }
    if (size < 2) {
        return;
    }
    char name[CARM_CODE_NAME_MAX];
    struct carm_code_layout at;
    struct carm_account account;
    struct carm_account recounted;
    struct carm_code_spec spec;
    const size_t i = (in[0] | (size_t)in[1] << 8) % table.n;
    promise(!carm_code_table_entry(&table, i, name, &at, &account, &err) &&
                !carm_code_parse(name, &spec, &err),
            "an entry of the built-in codes");
    for (size_t k = 2; k + 3 <= size; k += 3) {
        image[at.begin + (in[k] | (size_t)in[k + 1] << 8) % (at.end - at.begin)] ^= in[k + 2];
    }
    if (accepted(carm_recount_check(&spec, image, table.size, &at, &account, &err))) {
        promise(carm_recount(image, table.size, &at, 0, &recounted, &err) == 0 &&
                    memcmp(&recounted, &account, sizeof account) == 0,
                "what is accepted has the account that it claims");
    }
    memcpy(image + at.begin, table.bytes + at.begin, at.end - at.begin);
}

/* Names, inlined functions and lines of code at an offset. */
static void run_code_names(const struct carm_symbols_module *module,
                           const struct carm_symbols_function *function, uint64_t at)
{
    char text[160];
    memset(text, 'x', sizeof text);
    promise(carm_symbols_name(text, sizeof text, module, function, at) == text && *text, "a name");
    promise(memchr(text, 0, sizeof text), "a name ends");
    memset(text, 'x', sizeof text);
    carm_symbols_inlined(text, sizeof text, module, at, at + 64);
    promise(memchr(text, 0, sizeof text), "an inlined name ends");
    memset(text, 'x', sizeof text);
    carm_symbols_source(text, sizeof text, module, at, at + 64);
    promise(memchr(text, 0, sizeof text), "a line of the source ends");
}

/* An executable file with symbols, exception frames and DWARF. */
static void run_elf(const char *text, size_t size)
{
    enum { ASKED = 32 };
    struct carm_symbols *symbols = NULL;
    const struct carm_symbols_function *f = NULL;
    (void)unsetenv("DEBUGINFOD_URLS"); /* else build ids are asked for in the network */
    promise(carm_symbols_open(&symbols, &err) == 0, "memory");
    struct carm_symbols_module *module =
        carm_symbols_find(symbols, path_of(text, size), CARM_MODULE_UNREAD, -1);
    promise(module, "memory");
    const size_t n = carm_symbols_functions(module, &f);
    fuzz_accepts += n > 0;
    for (size_t i = 0; i < n; i++) {
        promise(f[i].begin < f[i].end && f[i].begin < size, "a function is in the file");
        promise(i == 0 || f[i - 1].end <= f[i].begin, "functions are in order");
    }
    for (size_t i = 0; i < n && i < ASKED; i++) {
        run_code_names(module, &f[i], f[i].begin);
        run_code_names(module, NULL, f[i].end);
    }
    for (uint64_t at = 0; at < size; at += size / ASKED + 1) {
        run_code_names(module, NULL, at);
    }
    carm_symbols_close(symbols);
}

static int memory_file(const char *text, size_t size)
{
    const int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || pwrite(fd, text, size, 0) != (ssize_t)size) {
        perror("memfd");
        exit(1);
    }
    return fd;
}

/* The rows that a program with regions wrote: of the run without counters, a line of "--", those of the other. */
static void run_regions(const char *text, size_t size)
{
    const char *middle = strstr(text, "\n--\n");
    const size_t first = middle ? (size_t)(middle - text) + 1 : 0;
    const size_t second = middle ? first + 3 : 0;
    const struct carm_regions regions = {memory_file(text, first),
                                         memory_file(text + second, size - second)};
    char path[64];
    const int out = memory_file("", 0);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", out);
    if (accepted(carm_regions_take(&regions, path, &err))) {
        struct carm_points *points = NULL;
        struct carm_point p;
        struct stat about;
        const bool some = fstat(out, &about) == 0 && about.st_size > 0;
        if (some && carm_points_open(path, NULL, &points, &err) == 0) {
            while (carm_points_next(points, &p, &err) == 1) {
            }
            carm_points_close(points);
        }
    }
    (void)close(out);
    (void)close(regions.times);
    (void)close(regions.counts);
}

/* /proc/PID/maps, whose paths a program chooses. */
static void run_maps(const char *text, size_t size)
{
    static struct carm_boot boot; /* large */
    struct carm_maps_line line;
    if (carm_maps_read(text, &line)) {
        promise(line.begin < line.end, "a mapping has bytes");
        promise(line.path > text && line.path <= text + strlen(text), "a path is in its line");
        fuzz_accepts++;
    }
    FILE *in = size ? fmemopen((void *)(uintptr_t)text, size, "r") : NULL;
    if (in && carm_inject_ranges(in, NULL, &boot)) {
        size_t lines = 1;
        for (size_t i = 0; i < size; i++) {
            lines += text[i] == '\n';
        }
        promise(boot.nranges > 0 && boot.nranges < CARM_BOOT_RANGES, "ranges have room");
        promise(boot.nranges < lines || text[size - 1] != '\n', "a line is one range");
        for (uint32_t i = 0; i < boot.nranges; i++) {
            promise(boot.ranges[i].begin < boot.ranges[i].end && boot.ranges[i].begin >> 47 == 0,
                    "a range is in the program's half");
        }
        fuzz_accepts++;
    }
    if (in) {
        (void)fclose(in);
    }
}

/* A byte says which part of a tally is written, two which item of it, one how many bytes, which follow. */
static void write_tally(int fd, const uint8_t *in, size_t size)
{
    static const struct {
        uint64_t at, item;
        uint32_t items;
    } parts[] = {{0, 4, 8},
                 {CARM_TALLY_MAPS_AT, sizeof(struct carm_tally_map), 8},
                 {CARM_TALLY_SITES_AT, sizeof(struct carm_tally_site), 8},
                 {CARM_TALLY_ROWS_AT, sizeof(struct carm_tally_row), 64},
                 {CARM_TALLY_SLOTS_AT + CARM_TALLY_SLOT_AT, CARM_TALLY_SLOT_BYTES, 2},
                 {CARM_TALLY_SLOTS_AT + CARM_TALLY_COUNTS_AT, 8, 64},
                 {CARM_TALLY_SLOTS_AT + CARM_TALLY_EXTRAS_AT, sizeof(struct carm_step_counts), 8}};
    while (size > 4) {
        const size_t k = in[0] % (sizeof parts / sizeof *parts);
        const uint64_t item = (in[1] | (uint32_t)in[2] << 8) % parts[k].items;
        const size_t n = in[3] < size - 4 ? in[3] : size - 4;
        promise(pwrite(fd, in + 4, n, (off_t)(parts[k].at + item * parts[k].item)) == (ssize_t)n,
                "a tally is written");
        in += 4 + n;
        size -= 4 + n;
    }
    /* few, of which each costs a page: else two inputs a second */
    struct carm_tally head;
    promise(pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head, "a tally is read");
    head.counters %= 80;
    head.slots %= 4;
    promise(pwrite(fd, &head, sizeof head, 0) == (ssize_t)sizeof head, "a tally is written");
}

/* What a counted program may leave in the memory that it shares with carm: counts and the places of its code. */
static void run_tally(const char *text, size_t size)
{
    struct carm_sums *sums = NULL;
    struct carm_sum sum;
    struct carm_blocks blocks;
    uint32_t program = 0;
    promise(carm_sums_open(&sums, &err) == 0, "memory");
    const int fd = carm_sums_add(sums, getpid(), &program, &(const char *){NULL});
    promise(fd >= 0, "a tally");
    write_tally(fd, (const uint8_t *)text, size);
    carm_sums_take(sums, &sum, &blocks, NULL);
    promise(memchr(sum.incomplete, 0, sizeof sum.incomplete), "a reason ends");
    for (int by = CARM_PROFILE_LOOPS; by <= CARM_PROFILE_FUNCTIONS; by++) {
        const struct carm_profile_input in = {.blocks = &blocks, .by = (enum carm_profile_by)by};
        struct carm_profile profile;
        uint64_t instructions = 0;
        if (!accepted(carm_profile_open(&profile, &in, &err))) {
            continue;
        }
        for (size_t i = 0; i < profile.nrows; i++) {
            instructions += profile.rows[i].counts.instructions;
            promise(memchr(profile.rows[i].name, 0, sizeof profile.rows[i].name), "a name ends");
        }
        promise(instructions == sum.counts.instructions, "rows are together the program");
        carm_profile_close(&profile);
    }
    carm_blocks_close(&blocks);
    carm_sums_close(sums);
}

static void write_below(const char *root, const char *name, const char *text, size_t size)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s%s", root, name);
    FILE *out = fopen(path, "w");
    if (!out || fwrite(text, 1, size, out) != size || fclose(out)) {
        perror(path);
        exit(1);
    }
}

/* The kernel's and a container's files of what may be counted. */
static void run_facts(const char *text, size_t size)
{
    static const char *const folders[] = {"/proc", "/proc/self", "/proc/sys", "/proc/sys/kernel"};
    static const char *const files[] = {"/proc/self/status", "/proc/self/uid_map",
                                        "/proc/sys/kernel/perf_event_paranoid"};
    static char root[] = "/dev/shm/carm-fuzz-XXXXXX";
    struct carm_pmu_facts facts;
    struct carm_pmu_verdict verdict;
    char path[128];
    promise(mkdtemp(root), "a folder");
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        (void)snprintf(path, sizeof path, "%s%s", root, folders[i]);
        (void)mkdir(path, 0700);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        write_below(root, files[i], text, size);
    }
    carm_pmu_facts_read(&facts, root);
    carm_pmu_judge_perf(&facts, &verdict);
    promise(verdict.works || verdict.reason[0], "a reason why nothing is counted");
    carm_pmu_judge_msr(&facts, &verdict);
    promise(verdict.works || verdict.reason[0], "a reason why nothing is counted");
    for (size_t i = sizeof files / sizeof *files; i-- > 0;) {
        (void)snprintf(path, sizeof path, "%s%s", root, files[i]);
        (void)unlink(path);
    }
    for (size_t i = sizeof folders / sizeof *folders; i-- > 0;) {
        (void)snprintf(path, sizeof path, "%s%s", root, folders[i]);
        (void)rmdir(path);
    }
    (void)rmdir(root);
    memcpy(strrchr(root, '-') + 1, "XXXXXX", 6);
    fuzz_accepts += facts.perf;
}

enum { WORDS = 11 };

/* A line for each word; an empty one stands for an option that is not given. */
static void split(const char *text, char copy[4096], const char *words[WORDS])
{
    (void)snprintf(copy, 4096, "%s", text);
    char *at = copy;
    for (size_t i = 0; i < WORDS; i++) {
        char *line = strsep(&at, "\n");
        words[i] = line && *line ? line : NULL;
    }
}

static void run_configure(const char *words[WORDS])
{
    static struct carm_topo *topo;
    struct carm_cpu cpu;
    struct carm_build_config config;
    struct carm_build_words w = {.isa = words[0],
                                 .precision = words[1],
                                 .ldst = words[2],
                                 .ops = words[3],
                                 .threads = words[4],
                                 .levels = words[5],
                                 .reps = words[6],
                                 .quick = words[7],
                                 .memory = words[8],
                                 .budget = words[9],
                                 .ceilings = words[10]};
    memset(&cpu, 0, sizeof cpu);
    memset(cpu.isa, true, sizeof cpu.isa);
    cpu.fma = cpu.rdtscp = cpu.invariant_tsc = true;
    if (!topo) {
        promise(carm_topo_open(&topo, "numa:2 core:4 l1:1 pu:2", NULL, &err) == 0, "a machine");
    }
    if (accepted(carm_build_configure(&config, &w, &cpu, topo, &err))) {
        promise(config.nisas && config.nmixes && config.nthreads && config.reps, "something to do");
        promise(config.budget_seconds >= 0.0, "a budget");
    }
}

static void run_options(const char *text, size_t size)
{
    char copy[4096];
    const char *words[WORDS];
    struct carm_select select;
    struct carm_sol_sweep sweep;
    struct carm_sol_arch arch = {.freq_ghz = 1.0, .dram_byte_per_cycle = 1.0};
    struct carm_plot_look look;
    enum carm_view_kind kinds[CARM_VIEW_COUNT];
    enum carm_ceiling_group group;
    enum carm_provider provider;
    size_t n = 0;
    double value = 0.5;
    char path[256];
    (void)size;
    split(text, copy, words);
    run_configure(words);
    (void)accepted(carm_select_parse(&select, words[0], words[1], &err));
    (void)accepted(carm_plot_look_parse(&look, words[0], words[1], words[2], &err));
    promise(!carm_number_percent(words[0], &value) || (value >= 0.0 && value < 1.0), "a share");
    if (!words[0]) {
        return;
    }
    promise(!carm_number_between(words[0], 1.0, 9.0, &value) || (value >= 1.0 && value <= 9.0),
            "a number in its range");
    (void)accepted(carm_outname_expand(words[0], path, sizeof path, &err));
    if (accepted(carm_view_parse(words[0], kinds, &n, &err))) {
        promise(n <= CARM_VIEW_COUNT, "views are as many as there are");
    }
    if (accepted(carm_sol_sweep_parse(words[0], &sweep, &err))) {
        promise(sweep.steps > 0 && sweep.steps <= CARM_SOL_STEPS_MAX, "steps");
    }
    (void)accepted(carm_sol_set(&arch, words[0], &err));
    (void)accepted(carm_ceiling_group_parse(words[0], &group, &err));
    (void)accepted(carm_provider_parse(words[0], &provider, &err));
}

/* ---- the table --------------------------------------------------------------------------------- */

static const char *const code_names[] = {"A.avx512.dp.2:1.u8.p1024.block",
                                         "B.avx2.dp.fma.f40.c10",
                                         "C.sse.sp.1:1.mad.u8.f32.c8",
                                         "W.scalar.dp.1:0.mad.u4.f8.c4.i16",
                                         "A.avx2.dp.1:1nt.u8.s2",
                                         "C.avx2.dp.2:0.fma.u8.f16.c8.p512.s2",
                                         "A.avx2.dp.1:0.u8.j8",
                                         "R.avx2.dp.u8",
                                         "B.avx2.dp.fma.f16.c8.i45",
                                         NULL};
static const char *const option_words[] = {
    "avx2,avx512\ndp,sp\n2:1,1:1nt\nfma,mad\n1,4\nL1,DRAM\n8192\n\n2G\n60\nbusy",
    "5%",
    "2.5",
    "node,rank",
    "models/%h-%j-%t-%d.json",
    "800x600\nDejaVu Sans,12\ndark",
    "DRAM_byte_per_cycle=100:2000:20:log",
    "SRAM_capacity=1e6,freq_GHz=2",
    "fem3",
    "memory",
    "likwid",
    NULL};
static const char *const rows[] = {
    "{\"schema\": \"carm-fleet/1\", \"host\": \"a\", \"rank\": 0, \"job\": \"4711\", \"boot_id\": \"b\", "
    "\"time\": \"2026-01-01T00:00:00Z\", \"status\": \"failed\", \"reason\": \"exit 1\", \"model\": null}\n",
    NULL};
static const char *const matrices[] = {
    "%%MatrixMarket matrix coordinate real general\n% a note\n3 3 3\n1 1 1.5\n2 3 -2\n3 1 1e-3\n",
    "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n",
    "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 7\n", NULL};
static const char *const region_rows[] = {
    "name,seconds,calls,note\nsolve,0.25,3,\n\"a, b\",1e-3,1,few calls\n--\n"
    "name,flops,seconds,calls,note\nsolve,1e9,1.5,3,\n\"a, b\",2e6,0.5,2,\nother,0,1,1,\n",
    "name,seconds,calls,note\nsolve,0.25,3,\n", NULL};
static const char *const kernel_files[] = {
    "Name:\tcarm\nTracerPid:\t0\nCapEff:\t000001ffffffffff\nSeccomp:\t2\n",
    "         0          0 4294967295\n", "2\n", NULL};
static const char *const mappings[] = {
    "55d0c0a00000-55d0c0a01000 r-xp 00001000 fd:00 131090                     /usr/bin/true\n"
    "55d0c0a03000-55d0c0a04000 rwxp 00003000 fd:00 131090                     /usr/bin/true\n"
    "7f34a5fd1000-7f34a5fd3000 r-xs 00000000 00:01 2049   /memfd:code (deleted)\n"
    "7ffd6e5f9000-7ffd6e5fb000 r-xp 00000000 00:00 0      [vdso]\n"
    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0      [vsyscall]\n",
    "7f34a5fd1000-7f34a5fd3000 rwxp 00000000 00:00 0 \n", NULL};
static const char *const codes[] = {"\1\2\3", "\7\1\x20\1\xff\x21\1\x0f", NULL};

/* Ended by a name of NULL. */
static const struct fuzz_target fuzz_targets[] = {
    {"planted", run_planted, {NULL}, NULL, NULL, NULL},
    {"model", run_model, {"tests/data/*-model.json"}, NULL, NULL, NULL},
    {"fleet", run_fleet, {"tests/data/sample-model.json"}, rows, NULL, NULL},
    {"points", run_points, {"tests/data/*.csv", "tests/data/import/*"}, NULL, NULL, NULL},
    {"roofs",
     run_roofs,
     {"tests/data/import/*-roofs.csv", "tests/data/import/ert.json"},
     NULL,
     NULL,
     NULL},
    {"work", run_work, {"tests/data/import/work.csv"}, NULL, NULL, NULL},
    {"sol-graph",
     run_sol_graph,
     {"tests/data/sol-graph.yaml", "data/sol-*-block.yaml", "data/sol-*-linear.yaml",
      "data/sol-c*.yaml", "data/sol-long*.yaml"},
     NULL,
     NULL,
     NULL},
    {"sol-analysis", run_sol_analysis, {"data/sol-worked-example.yaml"}, NULL, NULL, NULL},
    {"sol-arch",
     run_sol_arch,
     {"tests/data/sol-arch.yaml", "data/sol-a*.yaml", "data/sol-b*.yaml", "data/sol-h*.yaml"},
     NULL,
     NULL,
     NULL},
    {"recipe", run_recipe, {"data/counters.json"}, NULL, NULL, NULL},
    {"microarchitectures",
     run_microarchitectures,
     {"data/microarchitectures.json"},
     NULL,
     NULL,
     NULL},
    {"codes", run_codes, {"data/codes.json"}, NULL, NULL, NULL},
    {"published", run_published, {"data/roofline-2009.json"}, NULL, NULL, NULL},
    {"matrix-market", run_matrix_market, {NULL}, matrices, NULL, NULL},
    {"code-name", run_code_name, {NULL}, code_names, NULL, NULL},
    {"code", run_code, {NULL}, codes, NULL, NULL},
    {"options", run_options, {NULL}, option_words, NULL, NULL},
    {"elf", run_elf, {NULL}, NULL, fuzz_elf, fuzz_elf_end},
    {"maps", run_maps, {NULL}, mappings, NULL, NULL},
    {"regions", run_regions, {NULL}, region_rows, NULL, NULL},
    {"tally", run_tally, {NULL}, NULL, NULL, NULL},
    {"facts", run_facts, {NULL}, kernel_files, NULL, NULL},
    {NULL, NULL, {NULL}, NULL, NULL, NULL},
};

/* returns NULL where there is none of that name */
static inline const struct fuzz_target *fuzz_find(const char *name)
{
    for (const struct fuzz_target *t = fuzz_targets; t->name; t++) {
        if (name && strcmp(t->name, name) == 0) {
            return t;
        }
    }
    return NULL;
}

/* ---- inputs ------------------------------------------------------------------------------------ */

typedef void fuzz_take_fn(const char *name, const char *text, size_t size);

/* Runs on a copy of its own that ends with a zero, so that reading behind it is found. */
static inline void fuzz_run(const struct fuzz_target *target, const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (text) {
        memcpy(text, data, size);
        text[size] = '\0';
        target->run(text, size);
        free(text);
    }
}

/* Calls take for each file below top that the pattern matches. returns how many */
static inline size_t fuzz_files(const char *top, const char *pattern, fuzz_take_fn *take)
{
    char path[4096];
    glob_t found;
    size_t n = 0;
    (void)snprintf(path, sizeof path, "%s/%s", top, pattern);
    if (glob(path, 0, NULL, &found) != 0) {
        return 0;
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct stat about;
        FILE *in = fopen(found.gl_pathv[i], "r");
        char *text =
            in && fstat(fileno(in), &about) == 0 ? malloc((size_t)about.st_size + 1) : NULL;
        if (text && fread(text, 1, (size_t)about.st_size, in) == (size_t)about.st_size) {
            take(strrchr(found.gl_pathv[i], '/') + 1, text, (size_t)about.st_size);
            n++;
        }
        free(text);
        if (in) {
            (void)fclose(in);
        }
    }
    globfree(&found);
    return n;
}

/* The same for the seeds of a target, and the inputs that were found for it. */
static inline size_t fuzz_inputs(const struct fuzz_target *target, const char *top,
                                 fuzz_take_fn *take)
{
    char pattern[128];
    size_t n = 0;
    for (size_t i = 0; target->files[i]; i++) {
        n += fuzz_files(top, target->files[i], take);
    }
    for (size_t i = 0; target->inline_texts && target->inline_texts[i]; i++, n++) {
        char name[32];
        (void)snprintf(name, sizeof name, "text-%zu", i);
        take(name, target->inline_texts[i], strlen(target->inline_texts[i]));
    }
    if (target->begin) {
        take("built", target->begin, (size_t)((uintptr_t)target->end - (uintptr_t)target->begin));
        n++;
    }
    (void)snprintf(pattern, sizeof pattern, "tests/fuzz/inputs/%s/*", target->name);
    return n + fuzz_files(top, pattern, take);
}
