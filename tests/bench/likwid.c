/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm's roofs against likwid-bench: the same working sets, threads and mixes. A pair counts if carm's half had
 * its cores for itself; of the other half nobody knows. Prints; never decides.
 * usage: likwid MODEL.json [SECONDS] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/pairs.h"

static const double run_seconds = 0.05; /* a shared core changes hands in less than that */

static const struct {
    const char *ldst, *kernel; /* likwid's kernel of the same mix */
} kernels[] = {{"1:0", "load"},  {"0:1", "store"},     {"1:1", "copy"},        {"2:1", "stream"},
               {"3:1", "triad"}, {"update", "update"}, {"2:1update", "daxpy"}, {"nt", "store_mem"}};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static const char *suffix(const char *isa)
{
    return strcmp(isa, "avx512") == 0    ? "_avx512"
           : strncmp(isa, "avx", 3) == 0 ? "_avx"
           : strcmp(isa, "sse") == 0     ? "_sse"
                                         : "";
}

/* Runs likwid-bench for some 50 ms. */
static double run_likwid(const struct bench_row *row, const struct carm_topo *topo, double roof)
{
    char command[512];
    char line[512];
    double value = 0.0;
    const bool flops = row->set_bytes == 0;
    const int smt = topo->pus / topo->cores;
    const double set = flops ? 16384.0 * row->threads : (double)row->set_bytes;
    const double iterations = fmax(10.0, run_seconds * (flops ? roof / 16 : roof) / set);
    const char *const want = flops ? "MFlops/s:" : "MByte/s:";
    (void)snprintf(command, sizeof command,
                   "likwid-bench -t %s%s%s -i %.0f -W N:%.0fB:%d:1:%d 2>/dev/null", row->name,
                   suffix(row->isa), flops && strncmp(row->isa, "avx", 3) == 0 ? "_fma" : "",
                   iterations, set, row->threads, row->threads <= topo->cores ? smt : 1);
    FILE *f = popen(command, "r"); /* NOLINT(cert-env33-c): a fixed command with numbers */
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, want, strlen(want)) == 0) {
            value = strtod(line + strlen(want), NULL) * 1e6;
        }
    }
    if (f) {
        (void)pclose(f);
    }
    return value;
}

static size_t find(const struct carm_model *model, const struct carm_topo *topo,
                   struct bench_row *rows, size_t max)
{
    size_t n = 0;
    for (size_t r = 0; r < model->nroofs; r++) {
        const struct carm_roofs *roofs = &model->roofs[r];
        if (strcmp(roofs->precision, "dp") != 0) {
            continue;
        }
        for (size_t i = 0; i < roofs->nmemory * KERNELS && n < max; i++) {
            const struct carm_memory_roof *roof = &roofs->memory[i / KERNELS];
            if (strcmp(roof->ldst, kernels[i % KERNELS].ldst) == 0) {
                struct bench_row *row = &rows[n++];
                bench_row_memory(row, model, roofs, roof, topo);
                row->name = kernels[i % KERNELS].kernel;
                row->other = run_likwid;
            }
        }
        for (size_t i = 0; i < roofs->ncompute && n < max; i++) {
            if (strcmp(roofs->compute[i].op, "fma") == 0) {
                struct bench_row *row = &rows[n++];
                bench_row_compute(row, roofs, &roofs->compute[i]);
                row->name = "peakflops";
                row->other = run_likwid;
            }
        }
    }
    return n;
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, "likwid-bench against carm's codes", find);
}
