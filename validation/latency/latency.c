/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/latency/latency.h"

#include <math.h>
#include <stdlib.h>

#include "harness/machine/stats.h"
#include "models/core.h"
#include "models/latency.h"

/* Largest share of the remaining time for the latencies of memory: chains in flight in a cache of 300 MiB would
 * take all of it. */
static const double memory_most = 0.7;

/* The chain codes whose instructions this CPU has, *n of them; NULL = out of memory */
static struct carm_chain_code *choose_codes(const struct carm_cpu *cpu, size_t *n,
                                            struct carm_err *err)
{
    struct carm_chain_code *codes = NULL;
    size_t all = 0;
    *n = 0;
    if (carm_chain_all(&codes, &all, err)) {
        return NULL;
    }
    for (size_t i = 0; i < all; i++) {
        const struct carm_cpu_bits needs = carm_chain_needs(&codes[i]);
        if (carm_cpu_has_bits(cpu, &needs)) {
            codes[(*n)++] = codes[i];
        }
    }
    return codes;
}

/* Measures contended additions, on the first pair of neighbours. */
static void measure_contended(struct carm_latency_run *run, struct carm_team *team)
{
    enum { LOOKS = 8 };
    static const double near = 0.05,
                        floor = 0.01; /* chance decides which core has the line first */
    double looks[LOOKS];
    size_t n = 0;
    for (size_t i = 0; i < LOOKS; i++) {
        const double cycles = carm_contended_add_seconds(team, 1) * run->clock_hz;
        looks[n] = cycles;
        n += cycles > 0.0 ? 1 : 0;
    }
    if (n > 0 && run->model->core) {
        struct carm_core_figure *f = &run->model->core[run->model->ncore++];
        *f = (struct carm_core_figure){.kind = CARM_CORE_LOCK_ADD_CONTENDED,
                                       .clock_hz = run->clock_hz};
        f->disturbed =
            !carm_core_estimate(looks, n, near, floor, &f->throughput, &f->throughput_ci95);
    }
}

/* Measures one pair of hardware threads, with a team of two. */
static int measure_pair(struct carm_latency_run *run, int from, int to, struct carm_err *err)
{
    enum { LOOKS = 5 };
    int order[] = {from, to};
    struct carm_topo two = *run->host->topo; /* borrows everything except the order */
    struct carm_core_pair *p = &run->model->core_to_core[run->model->ncore_to_core];
    struct carm_team *team = NULL;
    double looks[LOOKS];
    struct carm_stats s;
    two.order = order;
    two.pus = 2;
    const int rc = carm_team_open(&team, &two, &run->host->clock, 2, 0, 64, err);
    if (rc) {
        return rc;
    }
    team->deadline = run->team->deadline;
    for (size_t i = 0; i < LOOKS; i++) {
        looks[i] = carm_core_to_core_once(team, 1);
    }
    if (run->model->ncore_to_core == 0) {
        measure_contended(run, team);
    }
    carm_team_close(team);
    carm_stats_describe(looks, LOOKS, &s);
    *p = (struct carm_core_pair){.from = from,
                                 .to = to,
                                 .seconds = s.median,
                                 .ci95 = {s.min, s.max},
                                 .disturbed = s.max > 1.5 * s.min};
    run->model->ncore_to_core += s.min > 0.0 ? 1 : 0; /* 0: ended by the deadline */
    return 0;
}

/* Measures pairs of the first cores, each pair once, until the time is up: neighbours in the
 * order of placement first, then pairs at growing distance. */
static int measure_pairs(struct carm_latency_run *run, struct carm_err *err)
{
    enum { CORES_MAX = 64 };
    const struct carm_topo *t = run->host->topo;
    const double until = carm_seconds_now() + (run->options.quick ? 0.5 : 2.0);
    const int n = t->cores < CORES_MAX ? t->cores : CORES_MAX;
    const size_t all = (size_t)n * (size_t)(n - 1) / 2;
    size_t done = 0;
    int rc = 0;
    if (n < 2) {
        return 0;
    }
    run->model->core_to_core = calloc(all, sizeof *run->model->core_to_core);
    if (!run->model->core_to_core) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to measure latencies");
    }
    for (int apart = 1; apart < n && !rc; apart++) {
        for (int i = 0;
             i + apart < n && !rc && carm_seconds_now() < until && !carm_team_is_over(run->team);
             i++) {
            const size_t before = run->model->ncore_to_core;
            rc = measure_pair(run, t->order[i], t->order[i + apart], err);
            rc = rc ? rc : carm_observer_check(run->host->observer, err);
            done += run->model->ncore_to_core - before;
        }
    }
    if (!rc && done < all) {
        carm_observer_say(run->host->observer,
                          "core-to-core latency: time for %zu of %zu pairs of cores", done, all);
    }
    return rc;
}

int carm_latency_measure(const struct carm_latency_options *options, const struct carm_host *host,
                         struct carm_deadline deadline, struct carm_model *model,
                         struct carm_err *err)
{
    struct carm_latency_run run = {.options = *options, .host = host, .model = model};
    struct carm_chain_image *image = NULL;
    /* the share that carm_latency_seconds estimates */
    const double share = options->quick ? 0.5 : 1.0;
    bool cut = false;
    size_t n = 0;
    struct carm_chain_code *codes = choose_codes(&host->cpu, &n, err);
    int rc = codes ? carm_chain_image_open(&image, codes, n, err) : -CARM_ENOMEM;
    rc = rc ? rc : carm_team_open(&run.team, host->topo, &host->clock, 1, 0, 64, err);
    run.image = image;
    if (!rc) {
        run.team->deadline = deadline;
        carm_observer_step(host->observer, "latencies inside a core");
        rc = carm_latency_core(&run, err);
        carm_observer_advance(host->observer, share * carm_latency_core_seconds);
    }
    if (!rc) {
        const uint64_t now = carm_clock_now();
        carm_observer_step(host->observer, "latencies of the memory");
        if (deadline.tsc > now) {
            run.team->deadline.tsc = now + (uint64_t)(memory_most * (double)(deadline.tsc - now));
        }
        rc = carm_latency_memory(&run, err);
        cut = carm_team_is_over(run.team);
        run.team->deadline = deadline;
        carm_observer_advance(host->observer, share * carm_latency_memory_seconds);
    }
    rc = rc ? rc : carm_latency_loaded(&run, err);
    rc = rc ? rc : measure_pairs(&run, err);
    rc = rc ? rc : carm_observer_check(host->observer, err);
    if (!rc && (cut || carm_team_is_over(run.team))) {
        carm_observer_say(host->observer, "the budget left no time for some of the latencies: give "
                                          "more with --budget");
    }
    carm_team_close(run.team);
    carm_chain_image_close(image);
    free(codes);
    return rc;
}
