/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "models/sol/open.h"
#include "models/sol/data.h"

static void list_arch(FILE *out, const char *name)
{
    struct carm_sol_arch arch;
    struct carm_err err;
    size_t size = 0;
    const char *text = carm_sol_arch_text(name, &size);
    if (text && carm_sol_arch_parse(text, size, name, &arch, &err) == 0) {
        (void)fprintf(out, "  %-24s%s, %g GHz, %g byte/cycle of DRAM\n", name, arch.name,
                      arch.freq_ghz, arch.dram_byte_per_cycle);
    }
}

/* What is no graph is an analysis. */
static void list_example(FILE *out, const char *name)
{
    struct carm_sol_graph *graph = NULL;
    struct carm_sol_analysis *analysis = NULL;
    struct carm_err err;
    size_t size = 0;
    const char *text = carm_sol_example_text(name, &size);
    if (text && carm_sol_graph_parse(text, size, name, &graph, &err) == 0 &&
        carm_sol_analyse(graph, &analysis, &err) == 0) {
        (void)fprintf(out, "  %-24sgraph of %u operations\n", name, analysis->operations);
    } else {
        (void)fprintf(out, "  %-24sanalysis: totals alone\n", name);
    }
    carm_sol_analysis_close(analysis);
    carm_sol_graph_close(graph);
}

void carm_sol_list(FILE *out)
{
    (void)fputs("Architectures, for --arch:\n", out);
    for (const char *const *name = carm_sol_arch_names(); *name; name++) {
        list_arch(out, *name);
    }
    (void)fputs("  MODEL.json              a CPU that carm build measured\n\nExamples:\n", out);
    for (const char *const *name = carm_sol_example_names(); *name; name++) {
        list_example(out, *name);
    }
}
