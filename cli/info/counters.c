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
    struct carm_recipe *recipe; /* NULL: `lacks` has the reason */
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
    struct carm_info_counters *f = calloc(1, sizeof *f);
    if (!f) {
        return NULL;
    }
    if (carm_recipe_find(cpu->vendor, cpu->family, cpu->model, &f->recipe, &f->lacks) != 0) {
        f->recipe = NULL;
    }
    carm_counters_probe(CARM_PROVIDER_PAPI, f->recipe, f->lacks.text, &f->probes[PAPI]);
    carm_counters_probe(CARM_PROVIDER_LIKWID, f->recipe, f->lacks.text, &f->probes[LIKWID]);
    probe_step(&f->probes[STEP]);
    probe_translate(&f->probes[TRANSLATE]);
    return f;
}

void carm_info_counters_close(struct carm_info_counters *f)
{
    if (f) {
        carm_recipe_free(f->recipe);
        free(f);
    }
}

const char *carm_info_counters_answer(const struct carm_info_counters *f)
{
    if (f->probes[PAPI].works || f->probes[LIKWID].works) {
        return "carm run counts programs here, with performance counters";
    }
    if (f->probes[TRANSLATE].works) {
        return "carm run counts programs here, without performance counters (by translation)";
    }
    return f->probes[STEP].works
               ? "carm run counts programs here, without performance counters (by single steps: slow)"
               : "carm run cannot count programs here, only time them";
}

void carm_info_counters_print(const struct carm_info_counters *f)
{
    enum { COLUMN = 12 };
    carm_opt_print_wrapped("counters    ", COLUMN, "%s%s%s", f->recipe ? "events of " : "",
                           f->recipe ? f->recipe->title : f->lacks.text,
                           f->recipe ? " (by CPUID)" : "");
    if (f->recipe && f->recipe->lacks[0]) {
        carm_opt_print_wrapped("            ", COLUMN, "not counted on this CPU: %s",
                               f->recipe->lacks);
    }
    for (int i = 0; i < PROVIDERS; i++) {
        const struct carm_probe *p = &f->probes[i];
        char head[32];
        snprintf(head, sizeof head, "  %-10s", carm_provider_name(p->provider));
        const bool same = i > 0 && p->reason[0] && strcmp(p->reason, f->probes[i - 1].reason) == 0;
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
    if (!f->probes[PAPI].works && !f->probes[LIKWID].works) {
        carm_opt_print_wrapped("            ", COLUMN,
                               "Without counters `carm build` and `carm validate` count by "
                               "construction and disassembly.");
    }
}

json_t *carm_info_counters_json(const struct carm_info_counters *f)
{
    json_t *providers = json_array();
    for (int i = 0; i < PROVIDERS; i++) {
        const struct carm_probe *p = &f->probes[i];
        json_array_append_new(providers,
                              json_pack("{s:s,s:b,s:b,s:s,s:s,s:s}", "name",
                                        carm_provider_name(p->provider), "works", p->works,
                                        "kernel_events", p->software, "version", p->version,
                                        "reason", p->reason, "remedy", p->remedy));
    }
    json_t *o = json_pack("{s:s,s:s,s:s,s:o}", "recipe", f->recipe ? f->recipe->name : "", "title",
                          f->recipe ? f->recipe->title : "", "lacks",
                          f->recipe ? f->recipe->lacks : f->lacks.text, "providers", providers);
    return o;
}
