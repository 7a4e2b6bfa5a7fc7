/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/info/counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/opt.h"
#include "harness/count/counters.h"
#include "harness/count/step/trap.h"
#include "run/trace.h"
#include "harness/translate/run.h"

enum { PAPI, LIKWID, STEP, TRANSLATE, PROVIDERS };

struct carm_info_counters {
    struct carm_recipe *recipe; /* NULL = none, with the reason in `lacks` */
    struct carm_err lacks;
    struct carm_probe probes[PROVIDERS];
};

/* Stepping needs no counters: the trap flag for regions, ptrace for whole programs. */
static void probe_step(struct carm_probe *p)
{
    struct carm_err flag = {""};
    struct carm_err trace = {""};
    const bool steps = carm_step_check(&flag) == 0;
    const bool traces = carm_trace_check(&trace) == 0;
    *p = (struct carm_probe){.provider = CARM_PROVIDER_STEP, .works = steps && traces};
    if (!steps) {
        snprintf(p->reason, sizeof p->reason, "no regions: %.170s", flag.text);
    }
    if (!traces) {
        carm_text_list(p->reason, sizeof p->reason, "; ", "no whole programs: %.170s", trace.text);
    }
}

/* Translation needs ptrace as well, and files in memory. */
static void probe_translate(struct carm_probe *p)
{
    struct carm_translator *translator = NULL;
    struct carm_err why = {""};
    int rc = carm_trace_check(&why);
    rc = rc ? rc : carm_translator_open(&translator, NULL, &why);
    carm_translator_close(translator);
    *p = (struct carm_probe){.provider = CARM_PROVIDER_TRANSLATE, .works = rc == 0};
    if (rc) {
        snprintf(p->reason, sizeof p->reason, "%.380s", why.text);
    }
}

struct carm_info_counters *carm_info_counters_open(const struct carm_cpu *cpu)
{
    struct carm_info_counters *counters = calloc(1, sizeof *counters);
    if (!counters) {
        return NULL;
    }
    if (carm_recipe_find(cpu->vendor, cpu->family, cpu->model, &counters->recipe,
                         &counters->lacks) != 0) {
        counters->recipe = NULL;
    }
    carm_counters_probe(CARM_PROVIDER_PAPI, counters->recipe, counters->lacks.text,
                        &counters->probes[PAPI]);
    carm_counters_probe(CARM_PROVIDER_LIKWID, counters->recipe, counters->lacks.text,
                        &counters->probes[LIKWID]);
    probe_step(&counters->probes[STEP]);
    probe_translate(&counters->probes[TRANSLATE]);
    return counters;
}

void carm_info_counters_close(struct carm_info_counters *counters)
{
    if (counters) {
        carm_recipe_free(counters->recipe);
        free(counters);
    }
}

const char *carm_info_counters_answer(const struct carm_info_counters *counters)
{
    if (counters->probes[PAPI].works || counters->probes[LIKWID].works) {
        return "carm run counts programs here, with performance counters";
    }
    if (counters->probes[TRANSLATE].works) {
        return "carm run counts programs here, without performance counters (by translation)";
    }
    return counters->probes[STEP].works
               ? "carm run counts programs here, without performance counters (by single steps: slow)"
               : "carm run cannot count programs here, only time them";
}

void carm_info_counters_print(const struct carm_info_counters *counters)
{
    enum { COLUMN = 12 };
    carm_opt_print_wrapped("counters    ", COLUMN, "%s%s%s", counters->recipe ? "events of " : "",
                           counters->recipe ? counters->recipe->title : counters->lacks.text,
                           counters->recipe ? " (by CPUID)" : "");
    if (counters->recipe && counters->recipe->lacks[0]) {
        carm_opt_print_wrapped("            ", COLUMN, "not counted on this CPU: %s",
                               counters->recipe->lacks);
    }
    for (int i = 0; i < PROVIDERS; i++) {
        const struct carm_probe *p = &counters->probes[i];
        char head[32];
        snprintf(head, sizeof head, "  %-10s", carm_provider_name(p->provider));
        const bool same =
            i > 0 && p->reason[0] && strcmp(p->reason, counters->probes[i - 1].reason) == 0;
        carm_opt_print_wrapped(head, COLUMN, "%s%s%s%s%s%s%s", p->works ? "works" : "no",
                               p->version[0] ? " (" : "", p->version, p->version[0] ? ")" : "",
                               p->reason[0] ? ": " : "", same ? "for the same reason" : p->reason,
                               p->software && !p->works ? "; the kernel's own events do work" : "");
        if (p->remedy[0] && !same) {
            carm_opt_print_wrapped("            ", COLUMN, "what to do: %s", p->remedy);
        }
        if (p->note[0]) {
            carm_opt_print_wrapped("            ", COLUMN, "note: %s", p->note);
        }
    }
    if (!counters->probes[PAPI].works && !counters->probes[LIKWID].works) {
        carm_opt_print_wrapped("            ", COLUMN,
                               "Without counters `carm build` and `carm validate` count by "
                               "construction and disassembly.");
    }
}

json_t *carm_info_counters_json(const struct carm_info_counters *counters)
{
    json_t *providers = json_array();
    for (int i = 0; i < PROVIDERS; i++) {
        const struct carm_probe *p = &counters->probes[i];
        json_array_append_new(providers,
                              json_pack("{s:s,s:b,s:b,s:s,s:s,s:s}", "name",
                                        carm_provider_name(p->provider), "works", p->works,
                                        "kernel_events", p->software, "version", p->version,
                                        "reason", p->reason, "remedy", p->remedy));
    }
    json_t *o = json_pack(
        "{s:s,s:s,s:s,s:o}", "recipe", counters->recipe ? counters->recipe->name : "", "title",
        counters->recipe ? counters->recipe->title : "", "lacks",
        counters->recipe ? counters->recipe->lacks : counters->lacks.text, "providers", providers);
    return o;
}
