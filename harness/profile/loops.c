/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "harness/profile/flow.h"

enum { PASSES_MAX = 64 };
static const uint32_t NONE = UINT32_MAX; /* no node */

struct edge {
    uint32_t from, to; /* nodes */
    uint64_t low, high;
};

/* The control flow of one function. Its nodes are the function's pieces, in order. */
struct graph {
    struct carm_piece *pieces;
    uint32_t n;
    uint32_t entry;     /* node where the function begins, NONE = not executed */
    bool indirect;      /* the function has jumps to computed targets */
    bool *returned;     /* [n] a call returns to it */
    bool *foreign;      /* [n] another function jumps to it */
    struct edge *edges; /* by from */
    uint32_t nedges;
    size_t edges_room;
    uint32_t *out;      /* [n + 1] first edge of each node */
    uint32_t *in, *ins; /* [n + 1], [nedges] edges by to */
    /* of the search for loops */
    uint32_t *region, *order, *low, *stack, *path, *at;
    uint32_t *nodes; /* [n] grouped by region */
    bool *blocked;   /* edges to the node are removed */
};

static bool falls(enum carm_tally_end ends)
{
    return ends == CARM_END_NEXT || ends == CARM_END_BRANCH || ends == CARM_END_CALL ||
           ends == CARM_END_INDIRECT_CALL || ends == CARM_END_SYSCALL;
}

static bool calls(enum carm_tally_end ends)
{
    return ends == CARM_END_CALL || ends == CARM_END_INDIRECT_CALL;
}

static bool jumps(enum carm_tally_end ends)
{
    return ends == CARM_END_JUMP || ends == CARM_END_BRANCH;
}

static uint32_t node_at(const struct graph *g, uint64_t at)
{
    uint32_t low;
    CARM_ARRAY_BISECT(low, g->n, middle, g->pieces[middle].at < at);
    return low < g->n && g->pieces[low].at == at ? low : NONE;
}

/* ---- edges ---- */

static int add_edge(struct graph *g, uint32_t from, uint32_t to, struct carm_err *err)
{
    const int rc = carm_array_grow(&g->edges, &g->edges_room, g->nedges, 1, sizeof *g->edges,
                                   "the program's flow", err);
    for (uint32_t i = g->out[from]; !rc && i < g->nedges; i++) {
        if (g->edges[i].to == to) {
            return 0; /* a branch to the next instruction */
        }
    }
    if (!rc) {
        g->edges[g->nedges++] = (struct edge){.from = from, .to = to};
    }
    return rc;
}

/* Whether a jump to a computed place in the function may lead here. */
static bool computed(const struct graph *g, uint32_t node)
{
    return g->pieces[node].entered && !g->returned[node] && node != g->entry;
}

static int make_edges(struct graph *g, struct carm_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < g->n && !rc; i++) {
        const struct carm_piece *p = &g->pieces[i];
        const uint32_t next = falls(p->ends) ? node_at(g, p->end) : NONE;
        const uint32_t target = jumps(p->ends) ? node_at(g, p->target) : NONE;
        g->out[i] = g->nedges;
        if (next != NONE) {
            rc = add_edge(g, i, next, err);
        }
        if (target != NONE && !rc) {
            rc = add_edge(g, i, target, err);
        }
        for (uint32_t k = 0; p->ends == CARM_END_INDIRECT_JUMP && k < g->n && !rc; k++) {
            if (computed(g, k)) {
                rc = add_edge(g, i, k, err);
            }
        }
    }
    g->out[g->n] = g->nedges;
    if (rc) {
        return rc;
    }
    g->ins = calloc((size_t)g->nedges + 1, sizeof *g->ins);
    if (!g->ins) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the program's flow");
    }
    for (uint32_t e = 0; e < g->nedges; e++) {
        g->in[g->edges[e].to + 1]++;
    }
    for (uint32_t i = 0; i < g->n; i++) {
        g->in[i + 1] += g->in[i];
    }
    uint32_t *used = g->order; /* zero */
    for (uint32_t e = 0; e < g->nedges; e++) {
        const uint32_t to = g->edges[e].to;
        g->ins[g->in[to] + used[to]++] = e;
    }
    return 0;
}

/* ---- how often an edge was taken ---- */

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

/* Narrows the bounds of a node's n incoming or outgoing edges: their sum is total, plus or minus
 * slack, or at most total + slack.
 * returns 1 when a bound changed, 0, or -1 when the bounds contradict each other */
static int narrow(struct edge *edges, const uint32_t *list, uint32_t first, uint32_t n,
                  uint64_t total, uint64_t slack, bool equal)
{
    uint64_t low = 0;
    uint64_t high = 0;
    int changed = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct edge *e = &edges[list ? list[first + i] : first + i];
        low = plus(low, e->low);
        high = plus(high, e->high);
    }
    if (low > plus(total, slack) || (equal && plus(high, slack) < total)) {
        return -1;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct edge *e = &edges[list ? list[first + i] : first + i];
        const uint64_t most = minus(plus(total, slack), low - e->low);
        const uint64_t least =
            equal && high != UINT64_MAX ? minus(minus(total, slack), high - e->high) : 0;
        if (most < e->high) {
            high -= high == UINT64_MAX ? 0 : e->high - most;
            e->high = most;
            changed = 1;
        }
        if (least > e->low) {
            low += least - e->low;
            e->low = least;
            changed = 1;
        }
        if (e->low > e->high) {
            return -1;
        }
    }
    return changed;
}

/* Whether every way out of the piece is an edge of the graph. */
static bool closed_out(const struct graph *g, uint32_t node)
{
    const struct carm_piece *p = &g->pieces[node];
    const uint32_t n = g->out[node + 1] - g->out[node];
    switch (p->ends) {
    case CARM_END_NEXT:
    case CARM_END_JUMP:
        return n == 1;
    case CARM_END_BRANCH: /* code that was never executed has no node; code of another function
                           * may have been executed */
        return n == 2 ||
               (n == 1 && p->target >= g->pieces[0].at && p->target < g->pieces[g->n - 1].end);
    case CARM_END_CALL: /* the call returns, unless it leaves the function by an exception or a
                         * jump */
    case CARM_END_INDIRECT_CALL:
        return n == 1 && g->pieces[g->edges[g->out[node]].to].executions >= p->executions;
    default:
        return false;
    }
}

/* Whether every way into the piece is an edge of the graph. */
static bool closed_in(const struct graph *g, uint32_t node)
{
    if (node == g->entry || g->foreign[node]) {
        return false;
    }
    for (uint32_t k = g->in[node]; k < g->in[node + 1]; k++) {
        if (g->pieces[g->edges[g->ins[k]].from].ends == CARM_END_SYSCALL) {
            return false;
        }
    }
    return !g->pieces[node].entered || g->returned[node] || g->indirect;
}

/* Whether the number of returns of a call may differ from the number of calls: a fork returns twice. */
static bool returns_freely(const struct graph *g, uint32_t node, bool leaps)
{
    const enum carm_tally_end ends = g->pieces[node].ends;
    return ends == CARM_END_SYSCALL || (leaps && calls(ends));
}

/* returns false when the executions do not add up with this slack
 * leaps  a call may return more often than it was made (setjmp) or less often (an exception) */
static bool solve(struct graph *g, uint64_t slack, bool leaps)
{
    for (uint32_t e = 0; e < g->nedges; e++) {
        struct edge *edge = &g->edges[e];
        const uint64_t from = g->pieces[edge->from].executions;
        const uint64_t to = g->pieces[edge->to].executions;
        edge->low = 0;
        edge->high = plus(from < to ? from : to, slack);
        if (returns_freely(g, edge->from, leaps)) {
            edge->high = to;
        }
    }
    bool changed = true;
    for (int pass = 0; changed && pass < PASSES_MAX; pass++) {
        changed = false;
        for (uint32_t i = 0; i < g->n; i++) {
            const uint64_t total = g->pieces[i].executions;
            const uint32_t outs = g->out[i + 1] - g->out[i];
            const uint32_t ins = g->in[i + 1] - g->in[i];
            const int a =
                outs && !returns_freely(g, i, leaps)
                    ? narrow(g->edges, NULL, g->out[i], outs, total, slack, closed_out(g, i))
                    : 0;
            const int b =
                ins ? narrow(g->edges, g->ins, g->in[i], ins, total, slack, closed_in(g, i)) : 0;
            if (a < 0 || b < 0) {
                return false;
            }
            changed |= a || b;
        }
    }
    return true;
}

/* Solves with growing slack: a signal may interrupt a piece, so sums may be wrong by the number of signals. */
static void solve_edges(struct graph *g)
{
    for (uint64_t slack = 0; slack < UINT64_C(1) << 60; slack = slack ? slack * 16 : 1) {
        if (solve(g, slack, false) || solve(g, slack, true)) {
            return;
        }
    }
}

static void note_taken(struct graph *g)
{
    for (uint32_t i = 0; i < g->n; i++) {
        struct carm_piece *p = &g->pieces[i];
        p->taken = -1.0;
        for (uint32_t e = g->out[i]; e < g->out[i + 1] && p->ends == CARM_END_BRANCH; e++) {
            const struct edge *edge = &g->edges[e];
            const double n = 0.5 * ((double)edge->low + (double)edge->high);
            const bool jumps = g->pieces[edge->to].at == p->target;
            p->taken = jumps ? n : (double)minus(p->executions, (uint64_t)n);
            if (jumps) {
                break;
            }
        }
    }
}

/* ---- loops ---- */

/* The first edge of a node, from e on, that stays in the region and is not removed; the end of the node's edges =
 * none */
static uint32_t next_inside(const struct graph *g, uint32_t node, uint32_t e)
{
    for (; e < g->out[node + 1]; e++) {
        const uint32_t to = g->edges[e].to;
        if (g->edges[e].high > 0 && g->region[to] == g->region[node] && !g->blocked[to]) {
            break;
        }
    }
    return e;
}

static bool has_self(const struct graph *g, uint32_t node)
{
    for (uint32_t e = next_inside(g, node, g->out[node]); e < g->out[node + 1];
         e = next_inside(g, node, e + 1)) {
        if (g->edges[e].to == node) {
            return true;
        }
    }
    return false;
}

/* Whether the region is entered at the node: from a node outside of the region, or from outside
 * of the graph. */
static bool is_entry(const struct graph *g, uint32_t node, uint32_t region)
{
    for (uint32_t k = g->in[node]; k < g->in[node + 1]; k++) {
        const struct edge *e = &g->edges[g->ins[k]];
        if (e->high > 0 && g->region[e->from] != region) {
            return true;
        }
    }
    return node == g->entry || g->foreign[node];
}

/* A loop of nodes [n], which are region `region` now. */
static int add_loop(struct carm_flow *flow, struct graph *g, const uint32_t *nodes, uint32_t n,
                    uint32_t region, uint32_t parent, struct carm_err *err)
{
    const int rc = carm_array_grow(&flow->loops, &flow->loops_room, flow->nloops, 1,
                                   sizeof *flow->loops, "the program's loops", err);
    if (rc) {
        return rc;
    }
    struct carm_loop *loop = &flow->loops[flow->nloops++];
    *loop = (struct carm_loop){.function = g->pieces[0].function,
                               .parent = parent,
                               .depth = parent ? flow->loops[parent - 1].depth + 1 : 1,
                               .at = UINT64_MAX,
                               .begin = UINT64_MAX};
    uint32_t entries = 0;
    for (int round = 0; round < 3 && entries == 0; round++) {
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t node = nodes[i];
            /* without an edge into the loop, it was entered by a signal's return, an exception or an unknown event */
            if (round == 0 ? is_entry(g, node, region)
                           : (round == 2 && entries == 0) || (round == 1 && computed(g, node))) {
                entries++;
                g->blocked[node] = true;
                loop->at = g->pieces[node].at < loop->at ? g->pieces[node].at : loop->at;
            }
        }
    }
    loop->irreducible = entries > 1;
    uint64_t low = 0;
    uint64_t high = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct carm_piece *p = &g->pieces[nodes[i]];
        p->loop = (uint32_t)flow->nloops;
        loop->begin = p->at < loop->begin ? p->at : loop->begin;
        loop->end = p->end > loop->end ? p->end : loop->end;
        if (!g->blocked[nodes[i]]) {
            continue;
        }
        loop->executions += p->executions;
        for (uint32_t k = g->in [nodes[i]]; k < g->in[nodes[i] + 1]; k++) {
            const struct edge *e = &g->edges[g->ins[k]];
            if (g->region[e->from] == region) {
                low = plus(low, e->low);
                high = plus(high, e->high);
            }
        }
    }
    loop->entries_low = minus(loop->executions, high);
    loop->entries_high = minus(loop->executions, low);
    if (loop->entries_low == 0 && loop->entries_high > 0) {
        loop->entries_low = 1; /* the loop was executed, so it was entered */
    }
    return 0;
}

/* Tarjan's strongly connected parts of nodes [n], without recursion. Each part becomes consecutive in nodes.
 * ends  out: [n] where the parts end
 * returns their number */
static uint32_t parts(struct graph *g, uint32_t *nodes, uint32_t n, uint32_t *ends)
{
    uint32_t count = 0, nstack = 0, nparts = 0, done = 0;
    for (uint32_t i = 0; i < n; i++) {
        g->order[nodes[i]] = 0;
    }
    uint32_t *all = g->path + g->n; /* the nodes, which are overwritten by parts */
    memcpy(all, nodes, n * sizeof *nodes);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t depth = 0;
        if (g->order[all[i]]) {
            continue;
        }
        g->path[depth++] = all[i];
        g->order[all[i]] = g->low[all[i]] = ++count;
        g->stack[nstack++] = all[i];
        g->at[all[i]] = g->out[all[i]];
        while (depth) {
            const uint32_t node = g->path[depth - 1];
            const uint32_t e = next_inside(g, node, g->at[node]);
            if (e < g->out[node + 1]) {
                const uint32_t to = g->edges[e].to;
                g->at[node] = e + 1;
                if (!g->order[to]) {
                    g->order[to] = g->low[to] = ++count;
                    g->at[to] = g->out[to];
                    g->stack[nstack++] = to;
                    g->path[depth++] = to;
                } else if (g->order[to] != NONE && g->order[to] < g->low[node]) {
                    g->low[node] = g->order[to];
                }
                continue;
            }
            depth--;
            if (depth && g->low[node] < g->low[g->path[depth - 1]]) {
                g->low[g->path[depth - 1]] = g->low[node];
            }
            if (g->low[node] == g->order[node]) {
                uint32_t one;
                do {
                    one = g->stack[--nstack];
                    g->order[one] = NONE; /* NONE: already in a part */
                    nodes[done++] = one;
                } while (one != node);
                ends[nparts++] = done;
            }
        }
    }
    return nparts;
}

struct task {
    uint32_t first, n, region, loop; /* first, n: range in `nodes`; loop: index + 1 of the loop
                                      * that contains them */
};

static int find_loops(struct carm_flow *flow, struct graph *g, struct carm_err *err)
{
    struct task *tasks = NULL;
    size_t room = 0;
    uint32_t ntasks = 1;
    uint32_t regions = 1;
    uint32_t *ends = calloc((size_t)g->n + 1, sizeof *ends);
    int rc = carm_array_grow(&tasks, &room, 0, 1, sizeof *tasks, "the program's loops", err);
    if (!ends || rc) {
        free(tasks);
        free(ends);
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the program's loops");
    }
    tasks[0] = (struct task){.n = g->n};
    for (uint32_t i = 0; i < g->n; i++) {
        g->nodes[i] = i;
    }
    while (ntasks && !rc) {
        const struct task task = tasks[--ntasks];
        uint32_t *nodes = g->nodes + task.first;
        const uint32_t nparts = parts(g, nodes, task.n, ends);
        for (uint32_t k = 0, from = 0; k < nparts && !rc; from = ends[k++]) {
            const uint32_t n = ends[k] - from;
            if (n == 1 && !has_self(g, nodes[from])) {
                continue;
            }
            const uint32_t region = regions++;
            for (uint32_t i = 0; i < n; i++) {
                g->region[nodes[from + i]] = region;
            }
            rc = add_loop(flow, g, nodes + from, n, region, task.loop, err);
            rc = rc ? rc
                    : carm_array_grow(&tasks, &room, ntasks, 1, sizeof *tasks,
                                      "the program's loops", err);
            if (!rc) {
                tasks[ntasks++] =
                    (struct task){task.first + from, n, region, (uint32_t)flow->nloops};
            }
        }
    }
    free(tasks);
    free(ends);
    return rc;
}

static int one_function(struct carm_flow *flow, struct graph *g, const bool *foreign,
                        struct carm_err *err)
{
    const size_t n = g->n;
    uint32_t *words = calloc(10 * (n + 1), sizeof *words);
    bool *flags = calloc(2 * n, sizeof *flags);
    int rc = words && flags ? 0 : carm_fail(err, CARM_ENOMEM, "not enough memory for a function");
    if (!rc) {
        g->returned = flags;
        g->blocked = flags + n;
        uint32_t **const arrays[] = {&g->out, &g->in,    &g->region, &g->order, &g->low,
                                     &g->at,  &g->stack, &g->nodes,  &g->path};
        for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
            *arrays[i] = words + i * (n + 1); /* the path has room for two */
        }
        g->foreign = (bool *)(uintptr_t)foreign;
        for (uint32_t i = 0; i < g->n; i++) {
            const uint32_t to = calls(g->pieces[i].ends) ? node_at(g, g->pieces[i].end) : NONE;
            g->indirect |= g->pieces[i].ends == CARM_END_INDIRECT_JUMP;
            if (to != NONE) {
                g->returned[to] = true;
            }
        }
        rc = make_edges(g, err);
    }
    if (!rc) {
        solve_edges(g);
        note_taken(g);
        rc = find_loops(flow, g, err);
    }
    free(g->edges);
    free(g->ins);
    free(words);
    free(flags);
    return rc;
}

int carm_flow_loops(struct carm_flow *flow, uint64_t (*begins)(void *arg, uint32_t function),
                    void *arg, struct carm_err *err)
{
    bool *foreign = calloc(flow->npieces + 1, sizeof *foreign);
    int rc = 0;
    if (!foreign) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the program's flow");
    }
    for (size_t i = 0; i < flow->npieces && !rc; i++) {
        const struct carm_piece *p = &flow->pieces[i];
        const uint64_t to[] = {falls(p->ends) ? p->end : p->at, jumps(p->ends) ? p->target : p->at};
        for (int k = 0; k < 2; k++) {
            const struct carm_piece *other = carm_flow_find(flow, to[k]);
            if (other && other->at == to[k] && other->function != p->function) {
                foreign[other - flow->pieces] = true;
            }
        }
    }
    for (size_t i = 0; i < flow->npieces && !rc;) {
        size_t end = i + 1;
        while (end < flow->npieces && flow->pieces[end].function == flow->pieces[i].function) {
            end++;
        }
        struct graph g = {.pieces = flow->pieces + i, .n = (uint32_t)(end - i)};
        g.entry = node_at(&g, begins(arg, flow->pieces[i].function));
        rc = one_function(flow, &g, foreign + i, err);
        i = end;
    }
    free(foreign);
    return rc;
}
