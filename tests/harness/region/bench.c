/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an empty region costs: TSC cycles of one carm_region_begin and _end, median of many pairs, for a
 * name that is a literal. Prints; never decides.
 * usage: bench_region off|none|papi|step   (papi: the kernel's software events, which need no counters) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#include "harness/region/stack.h"
#include "harness/machine/stats.h"
#include "include/carm.h"

enum { BATCH = 100, BATCHES = 2000 };

static struct carm_event events[] = {
    {.name = "task", .papi = "perf::TASK-CLOCK", .scope = CARM_EVENT_SOFTWARE, .slots = 1},
    {.name = "faults", .papi = "perf::PAGE-FAULTS", .scope = CARM_EVENT_SOFTWARE, .slots = 1},
};
static struct carm_recipe software = {
    .name = "software", .counters = 4, .events = events, .nevents = 2};

static double pair_cycles(void)
{
    static double cycles[BATCHES];
    for (int i = 0; i < BATCHES; i++) {
        const uint64_t begin = __rdtsc();
        for (int k = 0; k < BATCH; k++) {
            (void)carm_region_begin("bench");
            (void)carm_region_end("bench");
        }
        cycles[i] = (double)(__rdtsc() - begin) / BATCH;
    }
    return carm_stats_median(cycles, BATCHES);
}

int main(int argc, char **argv)
{
    static struct carm_region_setup setup;
    struct carm_err err = {""};
    const char *mode = argc > 1 ? argv[1] : "";
    (void)snprintf(setup.out, sizeof setup.out, "/dev/null");
    if (strcmp(mode, "off") == 0) {
        (void)unsetenv("CARM_OUT");
    } else if (strcmp(mode, "none") == 0) {
        carm_region_start(&setup);
    } else if (strcmp(mode, "papi") == 0) {
        if (carm_region_setup_counters(&setup, CARM_PROVIDER_PAPI, &software, &err)) {
            (void)fprintf(stderr, "bench_region: %s\n", err.text);
            return 1;
        }
        carm_region_start(&setup);
    } else if (strcmp(mode, "step") == 0) {
        (void)setenv("CARM_OUT", "/dev/null", 1);
        (void)setenv("CARM_COUNTERS", "step", 1);
    } else {
        (void)fprintf(stderr, "usage: bench_region off|none|papi|step\n");
        return 2;
    }
    (void)printf("%-5s %9.1f TSC cycles a pair\n", mode, pair_cycles());
    return 0;
}
