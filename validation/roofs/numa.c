/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/roofs/numa.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/machine/search.h"
#include "validation/roofs/ceilings.h"
#include "validation/series.h"

/* Repetitions of a pair: a share of a roof's */
enum { SHARE_OF_REPS = 8, LEAST_REPS = 256 };

/* Estimate for one pair, mostly for touching pages and the order of the chase: 0.3 s with 128 MiB on a Zen 4 */
static const double pair_seconds = 0.5;
static const double most_seconds = 10.0;
/* least share of a buffer's pages that must be on the requested node; chosen by hand */
static const double whole = 0.99;

static const struct carm_numa_node *node_at(const struct carm_numa_node *nodes, size_t n, int node)
{
    for (size_t i = 0; i < n; i++) {
        if (nodes[i].node == node) {
            return &nodes[i];
        }
    }
    return NULL;
}

int carm_build_fill_numa(struct carm_model *model, const struct carm_numa_node *nodes, size_t n,
                         struct carm_deadline deadline, struct carm_observer *observer,
                         carm_numa_measure *measure, void *arg, struct carm_err *err)
{
    struct carm_numa_pair *pairs = calloc(n * n + 1, sizeof *pairs);
    model->numa = calloc(n * n + 1, sizeof *model->numa);
    model->numa_nodes = calloc(n + 1, sizeof *model->numa_nodes);
    if (!pairs || !model->numa || !model->numa_nodes) {
        free(pairs);
        return carm_fail(err, CARM_ENOMEM, "not enough memory to measure memory domains");
    }
    const size_t all = carm_numa_plan(nodes, n, pairs);
    size_t done = 0;
    int rc = 0;
    for (; done < all && !rc && !carm_deadline_over(&deadline); done++) {
        struct carm_numa_pair *p = &pairs[done];
        rc = measure(arg, node_at(nodes, n, p->from), node_at(nodes, n, p->to), p, err);
        rc = rc ? rc : carm_observer_check(observer, err);
        if (!rc && (p->bandwidth > 0.0 || p->seconds > 0.0 || *p->note)) {
            model->numa[model->nnuma++] = *p;
        }
    }
    if (!rc && model->nnuma) {
        memcpy(model->numa_nodes, nodes, n * sizeof *nodes);
        model->nnuma_nodes = n;
    }
    if (!rc && done < all) {
        carm_observer_say(observer, "memory domains: time for %zu of %zu pairs of nodes", done,
                          all);
    }
    free(pairs);
    return rc;
}

double carm_build_numa_seconds(const struct carm_topo *topo)
{
    struct carm_topo_memory memories[CARM_NUMA_NODES_MAX];
    const size_t n = carm_topo_memories(topo, memories, CARM_NUMA_NODES_MAX);
    size_t with_cores = 0;
    for (size_t i = 0; i < n; i++) {
        with_cores += memories[i].cores > 0 ? 1 : 0;
    }
    return n < 2 ? 0.0 : fmin(most_seconds, pair_seconds * (double)(n * with_cores));
}

struct numa {
    const struct carm_build *build;
    const struct carm_host *host;
    const struct carm_chain_image *chains;
    const struct carm_code *code; /* streams from memory; NULL = the model has no roof of it */
    const int *nodes;             /* [nnodes] with cores, for interleaved pages */
    size_t nnodes;
    uint64_t set_bytes; /* for each last cache that the threads reach */
};

/* Puts the hardware threads of a node in front. NULL = all. order: [topo->pus] out */
static void order_node(const struct carm_topo *topo, const struct carm_numa_node *node, int *order)
{
    int n = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < topo->pus; i++) {
            const bool mine = !node || carm_topo_memory_has(topo, node->node, topo->order[i]);
            if (mine == (pass == 0)) {
                order[n++] = topo->order[i];
            }
        }
    }
}

/* Notes that pages are on another node. returns whether they are */
static bool note_place(struct carm_numa_pair *p, double share)
{
    const bool elsewhere = share >= 0.0 && share < whole;
    if (elsewhere && !*p->note) {
        snprintf(p->note, sizeof p->note, "only %.0f%% of the pages lie there", 100.0 * share);
    }
    return elsewhere;
}

static int stream(struct numa *m, const struct carm_topo *topo, struct carm_numa_pair *p,
                  struct carm_err *err)
{
    const struct carm_build *b = m->build;
    const size_t reps = b->reps / SHARE_OF_REPS;
    const size_t reached = (size_t)carm_build_instances(topo, topo->ncaches - 1, p->threads);
    const uint64_t set = m->set_bytes * reached / (uint64_t)p->threads;
    double more_seconds = 0.2;
    struct carm_team *team = NULL;
    struct carm_series series;
    struct carm_pooled pooled;
    struct carm_err why = {""};
    int rc = carm_team_open(&team, topo, b->clock, p->threads, set + CARM_TEAM_SPARE, 2048, err);
    if (rc) {
        return rc;
    }
    team->deadline = (struct carm_deadline){b->last, b->observer->stop};
    const bool all = p->to == CARM_NUMA_ALL;
    for (int i = 0; i < p->threads && !*why.text; i++) {
        carm_buffer_bind(&team->workers[i].buffer, all ? m->nodes : &p->to, all ? m->nnodes : 1,
                         &why);
    }
    if (*why.text) {
        snprintf(p->note, sizeof p->note, "%.200s", why.text);
    } else {
        carm_measure_calibrate(team, b->plan->empty);
        carm_series_open(&series, team, m->code, set, carm_level_target(1, 2), true);
        team->patience_seconds = CARM_WAIT_ROUND;
        carm_series_run(&series, team, b->clock, reps > LEAST_REPS ? reps : LEAST_REPS,
                        &more_seconds, &pooled);
        const bool elsewhere =
            !all && note_place(p, carm_buffer_share_on(&team->workers[0].buffer, p->to));
        if (pooled.rate > 0.0) {
            const double share = carm_build_traffic_share(m->code);
            p->bandwidth = pooled.rate * share;
            p->bandwidth_ci95 = (struct carm_ci){pooled.ci95.lo * share, pooled.ci95.hi * share};
            p->disturbed = elsewhere;
            if (!*p->note) {
                p->disturbed = carm_series_fault(&series, &pooled, p->note, sizeof p->note);
            }
            snprintf(p->code, sizeof p->code, "%s", m->code->name);
            p->working_set_bytes =
                carm_measure_set_bytes(m->code, &series.shape) * (uint64_t)p->threads;
        }
    }
    carm_team_close(team);
    return 0;
}

static int chase(struct numa *m, const struct carm_topo *topo, struct carm_numa_pair *p,
                 struct carm_err *err)
{
    struct carm_host host = *m->host; /* borrows everything except the order of threads */
    struct carm_topo order = *topo;
    struct carm_latency_run run = {
        .options = {.quick = true, .memory_bytes = m->build->config->memory_bytes},
        .host = &host,
        .image = m->chains};
    struct carm_latency l;
    host.topo = &order;
    int rc = carm_team_open(&run.team, topo, m->build->clock, 1, 0, 64, err);
    if (!rc) {
        run.team->deadline = (struct carm_deadline){m->build->last, m->build->observer->stop};
        rc = carm_latency_at(&run, p->to, &l, err);
        p->seconds = l.seconds;
        p->seconds_ci95 = l.ci95;
        p->page_bytes = l.seconds > 0.0 ? l.page_bytes : 0;
        p->disturbed = p->disturbed || l.disturbed;
        if (*l.note && !*p->note) {
            snprintf(p->note, sizeof p->note, "%.255s", l.note);
        }
    }
    carm_team_close(run.team);
    return rc;
}

static int measure_pair(void *arg, const struct carm_numa_node *from,
                        const struct carm_numa_node *to, struct carm_numa_pair *p,
                        struct carm_err *err)
{
    struct numa *m = arg;
    struct carm_topo topo = *m->build->topo; /* borrows everything except the order of threads */
    char where[32] = "interleaved pages";
    topo.order = malloc((size_t)topo.pus * sizeof *topo.order);
    if (!topo.order) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to measure memory domains");
    }
    order_node(m->build->topo, from, topo.order);
    p->threads = from ? from->cores : carm_topo_cores(m->build->topo);
    if (to) {
        snprintf(where, sizeof where, "memory of numa:%d", to->node);
    }
    carm_observer_step(m->build->observer, "%d thread%s: %s", p->threads,
                       p->threads == 1 ? "" : "s", where);
    int rc = m->code ? stream(m, &topo, p, err) : 0;
    rc = rc || !to ? rc : chase(m, &topo, p, err);
    free(topo.order);
    return rc;
}

/* The code of DRAM's peak, else of its roof of loads, and its working set for each last cache. */
static void choose_code(struct numa *m, const struct carm_model *model)
{
    const struct carm_build_config *c = m->build->config;
    const int threads = c->threads[c->nthreads - 1];
    const struct carm_roofs *r =
        carm_model_find_roofs(model, carm_isa_name(c->isas[0]),
                              carm_precision_name(carm_build_ceilings_precision(c)), threads);
    const struct carm_memory_roof *dram =
        r ? carm_roofs_find_memory(r, "DRAM", model->config.ldst) : NULL;
    if (!dram) {
        return;
    }
    m->code =
        carm_image_find(m->build->plan->image, *r->dram_peak.code ? r->dram_peak.code : dram->code);
    const struct carm_topo *t = m->build->topo;
    m->set_bytes =
        dram->working_set_bytes / (uint64_t)carm_build_instances(t, t->ncaches - 1, threads);
}

int carm_build_measure_numa(const struct carm_build *build, const struct carm_host *host,
                            struct carm_model *model, struct carm_err *err)
{
    struct carm_topo_memory memories[CARM_NUMA_NODES_MAX];
    struct carm_numa_node nodes[CARM_NUMA_NODES_MAX];
    int with_cores[CARM_NUMA_NODES_MAX];
    struct numa m = {.build = build, .host = host, .nodes = with_cores};
    const size_t n = carm_topo_memories(build->topo, memories, CARM_NUMA_NODES_MAX);
    struct carm_chain_image *chains = NULL;
    struct carm_deadline end = {build->last, build->observer->stop};
    if (n < 2) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        nodes[i] = (struct carm_numa_node){.node = memories[i].node,
                                           .cores = memories[i].cores,
                                           .memory_bytes = memories[i].bytes};
        snprintf(nodes[i].kind, sizeof nodes[i].kind, "%s", memories[i].kind);
        if (nodes[i].cores > 0) {
            with_cores[m.nnodes++] = nodes[i].node;
        }
    }
    choose_code(&m, model);
    struct carm_chain_code one;
    int rc = carm_chain_parse("P.k1", &one, err);
    rc = rc ? rc : carm_chain_image_open(&chains, &one, 1, err);
    m.chains = chains;
    rc = rc ? rc
            : carm_build_fill_numa(model, nodes, n,
                                   carm_deadline_within(end, most_seconds * build->clock->tsc_hz),
                                   build->observer, measure_pair, &m, err);
    carm_chain_image_close(chains);
    return rc;
}
