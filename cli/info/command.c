/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/commands.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/job.h"
#include "base/text.h"
#include "cli/info/counters.h"
#include "harness/machine/buffer.h"
#include "harness/machine/clock.h"
#include "harness/machine/cpu.h"
#include "harness/machine/limits.h"
#include "harness/place/place.h"
#include "harness/machine/topo.h"
#include "models/model.h"
#include "validation/roofs/config.h"
#include "validation/machine.h"

static const char *opt_json;

enum { MAP_MAX = 64 };

static const struct carm_opt options[] = {
    {"json", 0, NULL, NULL, "Print the same as JSON.", &opt_json, NULL},
    {NULL, 0, NULL, NULL, NULL, NULL, NULL},
};

struct facts {
    struct carm_cpu cpu;
    struct carm_topo *topo;
    struct carm_clock clock;
    bool clock_works;
    struct carm_err clock_err;
    struct carm_machine machine;
    struct carm_limits limits;
    struct carm_info_counters *counters;
    struct carm_model *model; /* this machine's model; NULL = none */
    char model_path[4096];
    uint64_t page_bytes;
};

/* The page size that a buffer of 8 MiB gets. */
static uint64_t try_pages(void)
{
    struct carm_buffer buffer;
    struct carm_err err;
    if (carm_buffer_open(&buffer, (size_t)8 << 20, &err) != 0) {
        return 0;
    }
    carm_buffer_touch(&buffer, (size_t)8 << 20);
    uint64_t page = carm_buffer_page_bytes(&buffer);
    carm_buffer_close(&buffer);
    return page;
}

/* The model's measurement of a cache, or NULL. */
static const struct carm_level *measured_level(const struct facts *f, int level)
{
    char name[8];
    snprintf(name, sizeof name, "L%d", level);
    for (size_t i = 0; f->model && i < f->model->nlevels; i++) {
        if (strcmp(f->model->levels[i].level, name) == 0) {
            return &f->model->levels[i];
        }
    }
    return NULL;
}

/* Prints the roofs that a build measures here. */
static void print_roofs(const struct facts *f)
{
    char a[CARM_TEXT_NUMBER_MAX];
    const struct carm_topo *t = f->topo;
    char text[1024] = "";
    carm_text_append(
        text, sizeof text, "%s dp%s, with 1 thread", carm_isa_name(carm_cpu_best_isa(&f->cpu)),
        carm_cpu_best_isa(&f->cpu) == CARM_AVX512 ? " (and avx2 in L1 and the peaks)" : "");
    char usual[CARM_TOPO_PLACE_MAX], name[CARM_TOPO_PLACE_MAX];
    carm_topo_usual(t, usual);
    char *rest = usual;
    for (const char *word = strtok_r(usual, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        const int n = strcmp(word, "cores") == 0 ? carm_topo_cores(t) : (int)strtol(word, NULL, 10);
        if (n > 1 && n < carm_topo_cores(t)) {
            carm_text_append(text, sizeof text, ", with %d (%s)", n, carm_topo_name(t, n, name));
        } else if (n > 1) {
            carm_text_append(text, sizeof text, " and with %d, %s", n,
                             n < t->cores ? "as many as the CPU quota has time for"
                                          : "one for each core");
        }
    }
    carm_text_append(text, sizeof text, ": ");
    for (size_t i = 0; i < t->ncaches; i++) {
        carm_text_append(text, sizeof text, "L%d, ", t->caches[i].level);
    }
    carm_opt_print_wrapped("carm build  ", 12, "%sDRAM, in up to %s", text,
                           carm_text_bytes(a, sizeof a, carm_build_usual_memory()));
}

/* Prints the answer: the machine, how its programs are counted, and whether there is a model. */
static void print_answer(const struct facts *f)
{
    char a[CARM_TEXT_NUMBER_MAX];
    const struct carm_topo *t = f->topo;
    char text[1024] = "";
    carm_text_append(text, sizeof text, "%s, %d core%s, %d hardware thread%s", f->cpu.brand,
                     t->cores, t->cores == 1 ? "" : "s", t->pus, t->pus == 1 ? "" : "s");
    for (size_t i = 0; i < t->ncaches; i++) {
        carm_text_append(
            text, sizeof text, ", L%d %s", t->caches[i].level,
            t->caches[i].size_bytes ? carm_text_bytes(a, sizeof a, t->caches[i].size_bytes) : "?");
    }
    carm_text_append(text, sizeof text, ", memory %s",
                     carm_text_bytes(a, sizeof a, f->machine.memory_bytes));
    carm_opt_print_wrapped("", 0, "%s%s%s", text, f->cpu.hypervisor[0] ? ", " : "",
                           f->cpu.hypervisor);
    carm_opt_print_wrapped("", 0, "%s", carm_info_counters_answer(f->counters));
    printf("model: %s%s\n\n", f->model ? f->model_path : "none yet",
           f->model ? "" : ", run `carm build`");
}

static bool has_precision(const struct carm_cpu *cpu, enum carm_precision precision)
{
    bool any = false;
    for (int i = 0; i < CARM_ISA_COUNT; i++) {
        any = any || carm_cpu_has_precision(cpu, (enum carm_isa)i, precision);
    }
    return any;
}

static void print_precisions(const struct carm_cpu *cpu)
{
    char others[CARM_PRECISION_COUNT * 8] = "";
    printf("precisions ");
    for (int p = 0; p < CARM_PRECISION_COUNT; p++) {
        const char *name = carm_precision_name((enum carm_precision)p);
        if (has_precision(cpu, (enum carm_precision)p)) {
            printf(" %s", name);
        } else {
            carm_text_append(others, sizeof others, " %s", name);
        }
    }
    printf("%s%s\n", *others ? "; this CPU has no" : "", others);
}

/* Prints "6 cores, 12 hardware threads" for one unit; a range if units differ. */
static void print_cores(const struct carm_topo_unit *u)
{
    if (u->cores > 1 && u->cores != u->least_cores) {
        printf("%d to %d cores, ", u->least_cores, u->cores);
    } else if (u->cores > 1) {
        printf("%d cores, ", u->cores);
    }
    if (u->pus == u->least_pus) {
        printf("%d hardware thread%s", u->pus, u->pus == 1 ? "" : "s");
    } else {
        printf("%d to %d hardware threads", u->least_pus, u->pus);
    }
}

/* Prints the map: the words that --on and --threads take here. */
static void print_map(const struct carm_topo *topo)
{
    struct carm_topo_unit units[MAP_MAX];
    char a[CARM_TEXT_NUMBER_MAX];
    const size_t n = carm_topo_map(topo, units, MAP_MAX);
    printf("places      words for --on, and N/UNIT for --threads (`carm build --dry-run`\n"
           "            prints the sets of a build)\n");
    for (size_t i = 0; i < n; i++) {
        const struct carm_topo_unit *u = &units[i];
        /* a cache of a single core is not a place */
        if ((u->level && u->cores == 1) || strncmp(u->words, "cpu:", 4) == 0) {
            continue;
        }
        printf("  %-18s", u->words);
        if (u->memory) {
            printf("%smemory only, %s%s%s\n", u->count > 1 ? "each " : "",
                   carm_text_bytes(a, sizeof a, u->bytes), *u->note ? ", " : "", u->note);
            continue;
        }
        if (u->count > 1) {
            printf("%d, each with ", u->count);
        }
        if (u->level && u->bytes) {
            printf("%s%s", u->bytes != u->least_bytes ? "up to " : "",
                   carm_text_bytes(a, sizeof a, u->bytes));
            printf(", ");
        }
        print_cores(u);
        printf("%s%s\n", *u->note ? ", " : "", u->note);
    }
}

static json_t *map_json(const struct carm_topo *topo)
{
    struct carm_topo_unit units[MAP_MAX];
    const size_t n = carm_topo_map(topo, units, MAP_MAX);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        const struct carm_topo_unit *u = &units[i];
        json_array_append_new(
            list, json_pack("{s:s,s:i,s:i,s:i,s:i,s:i,s:I,s:b,s:s}", "words", u->words, "count",
                            u->count, "cores", u->cores, "least_cores", u->least_cores, "threads",
                            u->pus, "least_threads", u->least_pus, "bytes", (json_int_t)u->bytes,
                            "memory_only", u->memory, "note", u->note));
    }
    return list;
}

static void print_text(const struct facts *f)
{
    char a[CARM_TEXT_NUMBER_MAX];
    const struct carm_topo *t = f->topo;
    struct carm_err other = {""};
    if (carm_topo_check_here(t, &other)) {
        carm_opt_print_wrapped("", 0, "Not this machine: %s.", other.text);
    }
    print_answer(f);
    print_roofs(f);
    printf("model       %s\n", f->model_path);
    printf("CPU         %s (%s)\n", f->cpu.brand, f->cpu.vendor);
    if (f->cpu.hypervisor[0]) {
        carm_opt_print_wrapped("            ", 12,
                               "virtual machine: %s (family and model may be wrong; the ISAs come "
                               "from feature bits)",
                               f->cpu.hypervisor);
    }
    printf("cores       %d core%s, %d hardware thread%s, %d socket%s, %d NUMA node%s\n", t->cores,
           t->cores == 1 ? "" : "s", t->pus, t->pus == 1 ? "" : "s", t->packages,
           t->packages == 1 ? "" : "s", t->nodes, t->nodes == 1 ? "" : "s");
    char quota[256];
    if (*carm_topo_quota_note(quota, sizeof quota, t)) {
        carm_opt_print_wrapped("            ", 12, "%s", quota);
    } else if (t->quota > 0.0) {
        printf("            CPU quota of this cgroup: %.3g CPUs\n", t->quota);
    }
    if (t->restricted) {
        printf("            this process may use %d of the machine's %d hardware threads "
               "(cpuset, or offline)\n",
               t->pus, t->machine_pus);
    }
    for (size_t i = 0; i < t->ncaches; i++) {
        const struct carm_level *l = measured_level(f, t->caches[i].level);
        printf("L%d          %s", t->caches[i].level,
               t->caches[i].size_bytes ? carm_text_bytes(a, sizeof a, t->caches[i].size_bytes)
                                       : "size unknown");
        printf(", shared by %d hardware thread%s", t->caches[i].shared_by,
               t->caches[i].shared_by == 1 ? "" : "s");
        if (l && l->resolved && l->knee_bytes) {
            printf("; bandwidth drops at %s", carm_text_bytes(a, sizeof a, l->knee_bytes));
        } else if (!f->model) {
            printf(" (as the OS says; not measured)");
        }
        printf("\n");
    }
    if (t->ncaches == 0) {
        printf("caches      the OS reports none; `carm build` finds them on the curve\n");
    }
    print_map(t);
    printf("memory      %s", carm_text_bytes(a, sizeof a, f->machine.memory_bytes));
    printf(", %s available\n", carm_text_bytes(a, sizeof a, carm_memory_available()));
    if (f->limits.memory_bytes < f->machine.memory_bytes) {
        printf("            memory limit of this cgroup: %s\n",
               carm_text_bytes(a, sizeof a, f->limits.memory_bytes));
    }
    printf("pages       %s for the working sets%s\n", carm_text_bytes(a, sizeof a, f->page_bytes),
           f->page_bytes >= (1U << 21) ? ""
                                       : " (2 MiB pages are off: echo madvise > "
                                         "/sys/kernel/mm/transparent_hugepage/enabled)");
    printf("ISA        ");
    for (int i = 0; i < CARM_ISA_COUNT; i++) {
        if (f->cpu.isa[i]) {
            printf(" %s", carm_isa_name((enum carm_isa)i));
        }
    }
    printf("%s\n", f->cpu.fma ? ", with FMA" : ", no FMA");
    print_precisions(&f->cpu);
    if (f->clock_works) {
        printf("clock       TSC %s", carm_text_si(a, sizeof a, f->clock.tsc_hz, "Hz"));
        printf(" (steps of %.0f tick%s%s), core %s now\n", f->clock.tick_quantum,
               f->clock.tick_quantum > 1.5 ? "s" : "",
               f->clock.synchronous ? "" : ", not synchronous across CPUs",
               carm_text_si(a, sizeof a, f->clock.core_hz, "Hz"));
    } else {
        printf("clock       %s\n", f->clock_err.text);
    }
    carm_info_counters_print(f->counters);
    printf("next: %s\n", f->model ? "carm show" : "carm build");
}

static void print_json(const struct facts *f)
{
    const struct carm_topo *t = f->topo;
    json_t *isas = json_array();
    json_t *precisions = json_array();
    json_t *caches = json_array();
    for (int p = 0; p < CARM_PRECISION_COUNT; p++) {
        if (has_precision(&f->cpu, (enum carm_precision)p)) {
            json_array_append_new(precisions,
                                  json_string(carm_precision_name((enum carm_precision)p)));
        }
    }
    for (int i = 0; i < CARM_ISA_COUNT; i++) {
        if (f->cpu.isa[i]) {
            json_array_append_new(isas, json_string(carm_isa_name((enum carm_isa)i)));
        }
    }
    for (size_t i = 0; i < t->ncaches; i++) {
        const struct carm_level *l = measured_level(f, t->caches[i].level);
        json_t *knee = l && l->knee_bytes ? json_integer((json_int_t)l->knee_bytes) : json_null();
        json_array_append_new(caches,
                              json_pack("{s:i,s:I,s:i,s:o}", "level", t->caches[i].level,
                                        "os_size_bytes", (json_int_t)t->caches[i].size_bytes,
                                        "shared_by", t->caches[i].shared_by, "knee_bytes", knee));
    }
    json_t *root = json_pack(
        "{s:s,s:s,s:o,s:i,s:i,s:i,s:o,s:b,s:i,s:i,s:I,s:I,s:o,s:I,s:o,s:o,s:b,s:o,s:o,s:o,s:o,s:o,s:o}",
        "cpu", f->cpu.brand, "vendor", f->cpu.vendor, "hypervisor",
        f->cpu.hypervisor[0] ? json_string(f->cpu.hypervisor) : json_null(), "cores", t->cores,
        "threads", t->pus, "machine_threads", t->machine_pus, "cpu_quota",
        t->quota > 0.0 ? json_real(t->quota) : json_null(), "this_machine", !t->elsewhere,
        "sockets", t->packages, "numa_nodes", t->nodes, "memory_bytes",
        (json_int_t)f->machine.memory_bytes, "memory_available_bytes",
        (json_int_t)carm_memory_available(), "memory_limit_bytes",
        f->limits.memory_bytes < UINT64_MAX ? json_integer((json_int_t)f->limits.memory_bytes)
                                            : json_null(),
        "page_bytes", (json_int_t)f->page_bytes, "isas", isas, "precisions", precisions, "fma",
        f->cpu.fma, "tsc_hz", f->clock_works ? json_real(f->clock.tsc_hz) : json_null(), "core_hz",
        f->clock_works ? json_real(f->clock.core_hz) : json_null(), "caches", caches, "places",
        map_json(t), "counters", carm_info_counters_json(f->counters), "model",
        f->model ? json_string(f->model_path) : json_null());
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    printf("%s\n", text ? text : "null");
    free(text);
    json_decref(root);
}

static int run(int noperands, char **operands)
{
    struct facts f;
    struct carm_err err = {""};
    (void)noperands;
    (void)operands;
    memset(&f, 0, sizeof f);
    carm_cpu_read(&f.cpu);
    if (carm_topo_open(&f.topo, NULL, NULL, &err) != 0) {
        return carm_say_error(CARM_EXIT_FAILED, "%s", err.text);
    }
    f.counters = carm_info_counters_open(&f.cpu);
    if (!f.counters) {
        carm_topo_close(f.topo);
        return carm_say_error(CARM_EXIT_FAILED, "not enough memory to look for counters");
    }
    f.clock_works = carm_clock_open(&f.clock, &f.clock_err) == 0;
    f.page_bytes = try_pages();
    carm_limits_read("", &f.limits);
    carm_machine_describe(&f.machine, &f.cpu, f.topo, &f.clock);
    if (carm_default_model_path(f.model_path, sizeof f.model_path, &err) != 0) {
        snprintf(f.model_path, sizeof f.model_path, "-");
    } else if (carm_model_read(f.model_path, &f.model, &err) != 0) {
        f.model = NULL;
    }
    if (opt_json) {
        print_json(&f);
    } else {
        print_text(&f);
    }
    carm_info_counters_close(f.counters);
    carm_model_free(f.model);
    free(f.machine.caches);
    carm_topo_close(f.topo);
    return CARM_EXIT_OK;
}

const struct carm_command carm_command_info = {
    .name = "info",
    .summary = "this machine: topology, ISAs, clocks, counters, what is measured",
    .operands = "",
    .details = "Prints what `carm build` would measure on this machine, and what the machine is: "
               "cores and caches that this process may use, instruction sets that both the CPU and "
               "the OS allow, clocks, page size, and performance counters, or why they are "
               "unavailable.",
    .examples = "carm info\ncarm info --json",
    .opts = options,
    .max_operands = 0,
    .run = run,
};
