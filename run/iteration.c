/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "models/latency.h"
#include "models/verdict/missing.h"
#include "run/parts.h"

enum { LINE = 64, PAGE = 4096 };

/* Whether prefetchers cannot follow an access: they stay inside a page. The addresses of a loaded or
 * multiplied index may still be neighbours: most elements then lie in the line of the element before.
 * each  the instruction brings a line nearly each time
 * source: Intel 248966, data prefetching; AMD 57647, L1 stride and L2 prefetchers */
static bool is_scattered(const struct carm_graph_access *a, const struct carm_run_places *places,
                         bool each)
{
    static const double few =
        0.2; /* of the moves; for consecutive doubles, an eighth of a sample's moves go to other lines */
    return a->pattern == CARM_PATTERN_STRIDE
               ? llabs(a->stride) >= PAGE
               : (a->pattern == CARM_PATTERN_INDIRECT || a->pattern == CARM_PATTERN_COMPUTED) &&
                     (each || places->apart > few);
}

/* ---- latencies ---- */

/* Whether the sign extension of a load takes an integer unit; else the load port does it. */
static bool is_extended_apart(const struct carm_rates *rates)
{
    return carm_theory_ports_of(rates->theory, carm_opcode_pipes(CARM_OPCODE_LOAD_SIGNED)) != NULL;
}

static bool takes_integer_unit(const struct carm_rates *rates, enum carm_opcode_class class)
{
    enum carm_core_kind kind;
    return carm_core_kind_parse(carm_opcode_word(class), &kind) &&
           carm_core_kind_group(kind) == CARM_CORE_GROUP_INT &&
           (class != CARM_OPCODE_LOAD_SIGNED || is_extended_apart(rates));
}

void carm_run_latencies(const struct carm_rates *rates, struct carm_graph_latencies *l)
{
    memset(l, 0, sizeof *l);
    for (int c = CARM_OPCODE_NONE + 1; c < CARM_OPCODE_CLASSES; c++) {
        enum carm_core_kind kind;
        const bool known = carm_core_kind_parse(carm_opcode_word((enum carm_opcode_class)c), &kind);
        const struct carm_theory_ports *ports =
            carm_theory_ports_of(rates->theory, carm_opcode_pipes((enum carm_opcode_class)c));
        for (int w = 0; w < CARM_OPCODE_WIDTHS; w++) {
            for (int p = 0; p < CARM_OPCODE_PRECISIONS; p++) {
                double cycles =
                    known ? carm_rates_latency(
                                rates, kind, carm_opcode_isa((enum carm_opcode_width)w),
                                carm_opcode_precision((enum carm_opcode_precision)p), NULL)
                          : 0.0;
                cycles *= known && carm_core_kind_is_pair(kind) ? 0.5 : 1.0;
                /* at least a cycle for an instruction that computes */
                cycles = ports && ports->latency > 0.0 ? ports->latency : cycles;
                l->of[c][w][p] = fmax(1.0, cycles);
            }
        }
        l->integer[c] = takes_integer_unit(rates, (enum carm_opcode_class)c);
    }
    if (!is_extended_apart(rates)) {
        memset(l->of[CARM_OPCODE_LOAD_SIGNED], 0, sizeof l->of[CARM_OPCODE_LOAD_SIGNED]);
    }
    l->dispatch = rates->theory ? rates->theory->issue : 0.0;
    l->dispatch_integers = l->dispatch > 0.0 ? rates->theory->dispatch_integers : 0.0;
    l->load = carm_rates_latency(rates, CARM_CORE_LOAD, "", "", NULL);
    l->load = fmax(l->load, 1.0);
    const struct carm_theory_ports *indexed = carm_theory_ports_of(rates->theory, "load-indexed");
    l->indexed = indexed ? fmax(0.0, indexed->latency - l->load) : 0.0;
    l->load_vector = fmax(l->load, carm_rates_latency(rates, CARM_CORE_LOAD, "scalar", "dp", NULL));
    /* A core that forwards through renamed registers (Zen 2 and later) takes a cycle for store and load together, and
     * no extra cycle in an addition to memory: measured on Zen 4, 1.00 cycles for each addition. */
    const double forward = carm_rates_latency(rates, CARM_CORE_FORWARD, "", "int64", NULL);
    l->forward = forward > 2.0 ? forward : 0.0;
    /* 6.5 measured on Zen 4: 6 and 7 cycles in turn; a lower bound needs the smaller one */
    const double part = carm_rates_latency(rates, CARM_CORE_FORWARD_CONTAINED, "", "int64", NULL);
    l->forward_part = fmax(l->forward, floor(part));
    l->forward_vector =
        fmax(l->forward, carm_rates_latency(rates, CARM_CORE_FORWARD, "scalar", "dp", NULL));
    l->forward_straddling =
        fmax(l->forward_vector,
             carm_rates_latency(rates, CARM_CORE_FORWARD_STRADDLING, "", "int64", NULL));
}

/* ---- the code ---- */

static void add_unit(struct carm_bounds_input *in, struct carm_bounds_unit *units,
                     const struct carm_flow_op *insn, double count)
{
    enum carm_core_kind kind;
    const char *isa = carm_opcode_isa((enum carm_opcode_width)insn->width);
    const char *precision = carm_opcode_precision((enum carm_opcode_precision)insn->precision);
    const char *pipes = carm_opcode_pipes((enum carm_opcode_class)insn->class);
    if (!carm_core_kind_parse(carm_opcode_word((enum carm_opcode_class)insn->class), &kind) ||
        (insn->class == CARM_OPCODE_LOAD_SIGNED && !is_extended_apart(&in->rates))) {
        return;
    }
    for (size_t i = 0; i < in->nunits; i++) {
        if (units[i].kind == kind && units[i].pipes == pipes && strcmp(units[i].isa, isa) == 0 &&
            strcmp(units[i].precision, precision) == 0) {
            units[i].count += count;
            return;
        }
    }
    if (in->nunits < CARM_RUN_UNITS_MAX) {
        units[in->nunits++] = (struct carm_bounds_unit){kind, isa, precision, count, pipes};
    }
}

static size_t width_of(const struct carm_flow_op *insn, unsigned bytes)
{
    if (insn->width == CARM_OPCODE_GP) {
        return 0;
    }
    return bytes <= 8 ? 1 : bytes <= 16 ? 2 : bytes <= 32 ? 3 : 4;
}

/* "3 add, 1 load": the instructions of the chain, without cycles. */
static void chain_text(char *dst, size_t size, const struct carm_graph *g)
{
    dst[0] = '\0';
    for (int c = 0; c < CARM_OPCODE_CLASSES; c++) {
        const char *word =
            c == CARM_OPCODE_LOAD ? "loads" : carm_opcode_word((enum carm_opcode_class)c);
        if (g->of[c] >= 0.1 * g->cycles) {
            carm_text_list(dst, size, ", ", "%.3g of %s", g->of[c], *word ? word : "others");
        }
    }
}

/* Lines of code that a piece's executions enter: the line of its begin, unless the piece before falls through to it on
 * the same line, and each next line that it crosses into. Jumps are counted at the piece that jumps.
 * returns lines, of all executions */
static double lines_entered(const struct carm_code_piece *p, double line)
{
    const uint64_t size = (uint64_t)line, last = p->end - 1;
    const uint64_t crossed = last / size - p->at / size;
    const double follows =
        p->falls && p->end % size == 0 ? p->executions - fmax(0.0, p->jumps ? p->taken : 0.0) : 0.0;
    return (double)crossed * p->executions + fmax(0.0, follows);
}

void carm_run_astray_input(struct carm_bounds_input *in, const struct carm_astray *a,
                           double iterations)
{
    const double cycles = in->mispredicted * in->resolve_cycles + a->cycles / iterations;
    in->mispredicted += a->branches / iterations;
    in->astray += a->indirect / iterations;
    in->resolve_cycles = in->mispredicted > 0.0 ? cycles / in->mispredicted : 0.0;
}

/* Elements that a gather loads. */
static double elements_of(const struct carm_flow_op *insn)
{
    /* of xmm, ymm and zmm registers */
    static const double bytes[CARM_OPCODE_WIDTHS] = {0.0, 8.0, 16.0, 32.0, 64.0};
    const bool wide = insn->precision == CARM_OPCODE_DP || insn->precision == CARM_OPCODE_INT64;
    return bytes[insn->width] / (wide ? 8.0 : 4.0);
}

/* Whether an instruction takes a register of the core's file of general registers until it retires. */
static bool is_renamed(const struct carm_flow_op *insn)
{
    bool writes = false;
    for (uint8_t k = 0; k < insn->nwrites; k++) {
        writes = writes || insn->writes[k] < CARM_REG_GP + 16;
    }
    return writes && insn->value != CARM_VALUE_MOVE;
}

int carm_run_code_input(const struct carm_flow_code *code, struct carm_graph *graph,
                        struct carm_bounds_input *in, struct carm_bounds_unit *units,
                        char chain[CARM_RUN_CHAIN_MAX], struct carm_err *err)
{
    struct carm_graph_latencies latencies;
    carm_run_latencies(&in->rates, &latencies);
    const int rc = carm_graph_open(graph, code, &latencies, err);
    if (rc) {
        return rc;
    }
    const double n = code->iterations;
    in->units = units;
    in->nunits = 0;
    for (size_t i = 0; i < code->nops; i++) {
        const struct carm_flow_op *insn = &code->ops[i];
        const double times = insn->executions / n;
        add_unit(in, units, insn, times);
        in->slots += insn->flags & CARM_OPCODE_FUSED ? 0.0 : times * insn->slots;
        in->fused += insn->flags & CARM_OPCODE_FUSED ? times : 0.0;
        in->branches += insn->flags & CARM_OPCODE_BRANCH ? times : 0.0;
        in->renamed += is_renamed(insn) ? times : 0.0;
        in->zeroed += insn->flags & CARM_OPCODE_ZERO ? times : 0.0;
        in->locked += insn->flags & CARM_OPCODE_LOCKED ? times : 0.0;
        const bool each = (insn->flags & CARM_OPCODE_GATHER) != 0;
        if (insn->loads && !each) {
            in->loads[width_of(insn, insn->load_bytes)] += times;
        }
        if (insn->stores) { /* a scatter stores element by element */
            in->stores[each ? 1 : width_of(insn, insn->store_bytes)] +=
                times * (each ? elements_of(insn) : 1.0);
        }
        in->gathered += insn->loads && each ? times * elements_of(insn) : 0.0;
    }
    const double line = in->rates.theory ? in->rates.theory->code_line : 0.0;
    for (size_t i = 0; i < code->npieces; i++) {
        const struct carm_code_piece *p = &code->pieces[i];
        const bool branches = p->jumps && p->falls;
        const double taken = !branches ? (p->jumps ? p->executions : 0.0) : p->taken;
        in->taken += fmax(0.0, taken) / n;
        in->fetched += line > 0.0 ? lines_entered(p, line) / n : 0.0;
    }
    in->fetched += in->taken;
    struct carm_astray astray = {.branches = 0.0};
    carm_astray_code(code, graph, &latencies, &astray);
    carm_run_astray_input(in, &astray, n);
    in->chain_cycles = code->inner || code->ngaps ? graph->cycles : 0.0;
    in->forward_cycles = graph->of[CARM_OPCODE_FORWARD] + graph->of[CARM_OPCODE_FORWARD_STRADDLING];
    in->straddles = graph->straddles;
    in->dispatch_cycles = graph->dispatched;
    chain_text(chain, CARM_RUN_CHAIN_MAX, graph);
    in->chain = chain;
    in->counter = graph->links < 1.5 && graph->of[CARM_OPCODE_INT_ADD] > 0.5 * graph->cycles;
    return 0;
}

/* ---- memory ---- */

/* trips  of the loop; 0 = not known */
static int find_window(const struct carm_flow_code *code, double trips,
                       const struct carm_graph_latencies *latencies,
                       const struct carm_bounds_input *in, double *cycles, struct carm_err *err)
{
    const struct carm_microarchitecture *t = in->rates.theory;
    const struct carm_graph_window window = {
        .width = t ? t->issue : 0.0,
        .reorder = t ? (size_t)t->reorder : 0,
        .vector_queue = t ? (size_t)t->vector_queue : 0,
        .trips = trips >= 1.0 && trips < CARM_RUN_MANY_TRIPS ? (size_t)(trips + 0.5) : 0};
    *cycles = 0.0;
    return code->inner && (window.reorder || window.trips)
               ? carm_graph_window(cycles, code, latencies, &window, err)
               : 0;
}

int carm_run_code_window(const struct carm_flow_code *code, double trips,
                         struct carm_bounds_input *in, struct carm_err *err)
{
    static struct carm_graph_latencies latencies; /* 11 KiB */
    carm_run_latencies(&in->rates, &latencies);
    const int rc = find_window(code, trips, &latencies, in, &in->window_cycles, err);
    if (in->window_cycles > 0.0 && in->window_cycles < in->chain_cycles) {
        in->chain_cycles = in->window_cycles; /* the loop ends before a longer chain limits it */
    }
    return rc;
}

/* Bytes by which the address moves from one execution to the next, by the code or else by the recorded addresses; 0
 * = not known */
static int64_t moves_by(const struct carm_graph_access *a, const struct carm_run_places *places)
{
    return a->pattern == CARM_PATTERN_STRIDE ? a->stride : places->step;
}

/* Whether an instruction brings a line of another page nearly each time, with a constant stride. */
static bool is_page_apart(const struct carm_graph_access *a, const struct carm_run_places *places)
{
    static const double nearly =
        0.9; /* share of the steps; steps to the next column differ; chosen by hand */
    return a->pattern == CARM_PATTERN_STRIDE
               ? llabs(a->stride) >= PAGE
               : a->pattern == CARM_PATTERN_REGULAR && places->apart > nearly;
}

/* Adds the walks through page tables of one instruction: as simulated; or, if the sample has too few of its pages, one
 * walk for each page of a stride that passes more pages than the TLB holds before it returns to a page.
 * swept  pages of all such strides of an entry of the loop */
static void add_walks(struct carm_bounds_input *in, const struct carm_flow_op *insn,
                      const struct carm_graph_access *a, const struct carm_run_places *places,
                      bool sampled, double swept, double iterations)
{
    const double each = insn->flags & CARM_OPCODE_GATHER ? elements_of(insn) : 1.0;
    double share = places->walks, far = places->far, wide = places->wide;
    if (sampled && in->rates.model) {
        const double tlb = carm_latency_tlb_pages(in->rates.model);
        share = tlb > 0.0 && swept > tlb ? 1.0 : 0.0;
        far = wide = 0.0; /* a stride in a register may lead to the next page */
    }
    if (a->pattern ==
        CARM_PATTERN_STRIDE) { /* sampled pages have uneven distances: use the stride */
        const double pages = (double)llabs(a->stride) / PAGE;
        far = carm_run_between(pages, 1.0, CARM_WALK_FAR);
        wide = carm_run_between(pages, CARM_WALK_FAR, CARM_WALK_WIDE);
    }
    const double walks = share * each * insn->executions / iterations;
    double *to = insn->stores ? in->walk_stores : in->walk_loads;
    to[CARM_WALKS_WIDE] += wide * walks;
    to[CARM_WALKS_FAR] += (far - wide) * walks;
    to[CARM_WALKS_NEAR] += (1.0 - far) * walks;
}

static void note_access(struct carm_run_verdict *v, const struct carm_flow_op *insn,
                        const struct carm_graph_access *a, int64_t stride, double iterations,
                        double lines)
{
    const struct carm_run_access of = {.at = insn->at,
                                       .stores = insn->stores,
                                       .pattern = stride ? CARM_PATTERN_STRIDE : a->pattern,
                                       .stride = stride,
                                       .executions = insn->executions / iterations,
                                       .lines = lines / insn->executions};
    size_t at = v->naccesses;
    while (at > 0 &&
           v->accesses[at - 1].lines * v->accesses[at - 1].executions < of.lines * of.executions) {
        at--;
    }
    if (at == CARM_RUN_ACCESSES_MAX || !(insn->executions > 0.0)) {
        return;
    }
    v->naccesses += v->naccesses < CARM_RUN_ACCESSES_MAX ? 1 : 0;
    memmove(&v->accesses[at + 1], &v->accesses[at], (v->naccesses - at - 1) * sizeof *v->accesses);
    v->accesses[at] = of;
}

/* Lines that an instruction brings, by their places. */
struct lines {
    double lines[CARM_FROM_PLACES];
};

/* Lines that come into one set of L1, from instructions with the same registers whose displacements differ by a
 * multiple of 4096 bytes; the sets of other instructions are not known.
 * of   [nops] lines of instructions that move by a multiple of 4096 bytes
 * out  the largest number of lines of one set, by places */
static void find_aliased(const struct carm_flow_code *code, const struct lines *of, double *out)
{
    for (size_t i = 0; i < code->nops; i++) {
        const struct carm_flow_op *a = &code->ops[i];
        double sum[CARM_FROM_PLACES] = {0.0};
        for (size_t k = 0; k < code->nops; k++) {
            const struct carm_flow_op *b = &code->ops[k];
            const bool same = b->base == a->base && b->index == a->index && b->scale == a->scale &&
                              (b->displacement - a->displacement) % PAGE == 0;
            for (int p = 0; p < CARM_FROM_PLACES && same; p++) {
                sum[p] += of[k].lines[p];
            }
        }
        for (int p = 0; p < CARM_FROM_PLACES; p++) {
            out[p] = fmax(out[p], sum[p]);
        }
    }
}

/* Whether an instruction's line is stored to, too: by itself, or by a store to the place of its load. */
static bool is_rewritten(const struct carm_flow_code *code, const struct carm_graph *graph,
                         size_t i)
{
    const struct carm_flow_op *a = &code->ops[i];
    bool stores = a->stores && (a->loads || graph->accesses[i].updates);
    for (size_t k = 0; k < code->nops && !stores && a->loads; k++) {
        const struct carm_flow_op *b = &code->ops[k];
        stores = b->stores && graph->accesses[k].updates && b->base == a->base &&
                 b->index == a->index && b->scale == a->scale &&
                 llabs(b->displacement - a->displacement) < LINE;
    }
    return stores;
}

/* Whether lines come from the places expected for random lines of a set of `bytes` bytes: from beyond each cache, the
 * share for which it has no room. For example, the nodes near the root of a tree come from nearer places.
 * lines  by levels, see carm_run_levels_lines
 * all    their sum */
static bool is_uniform(const struct carm_run_simulation *about, const double *lines, double all,
                       double bytes)
{
    static const double most =
        0.75; /* least share of the expected lines; the number of bytes is known within some 13% */
    double before = 0.0;
    bool uniform = true;
    for (size_t k = 1; k < about->config.nlevels; k++) {
        const double room = (double)about->config.levels[k].size_bytes;
        before += lines[k - 1];
        uniform = uniform && all - before >= most * all * (1.0 - room / bytes);
    }
    return uniform;
}

/* Whether a store goes to the same address each time, and not to the thread's stack. */
static bool stays(const struct carm_flow_op *insn, const struct carm_graph_access *a)
{
    const bool stack = insn->base == CARM_REG_GP + 4 || insn->base == CARM_REG_GP + 5;
    return insn->stores && a->pattern == CARM_PATTERN_STRIDE && a->stride == 0 && !stack;
}

/* The written share of the lines across each border: all lines except those that came for a miss. With simulated
 * prefetchers, lines come without a miss, too, so the share follows from the instructions' bytes; likewise behind an
 * exclusive level, which gets clean lines, too.
 * n         iterations
 * unloaded  [CARM_FROM_PLACES] lines of an iteration that are overwritten without a load, which the simulation loads
 * came, stored  bytes that instructions load or overwrite, and bytes that they store */
static void find_written(const struct carm_run_simulation *about,
                         const struct carm_run_figures *figures, double n, const double *unloaded,
                         double came, double stored, struct carm_bounds_input *in)
{
    static const double most = 0.5; /* each line that comes is written back */
    const size_t last = about->config.nlevels - 1;
    const bool foreseen = about->config.next_line || about->config.streams;
    double written = came > 0.0 ? stored / (came + stored) : 0.0;
    for (size_t k = 0; k <= last && k < CARM_FROM_PLACES; k++) {
        const struct carm_level_estimate *l = &figures->levels[k];
        const size_t place = k == last ? CARM_FROM_DRAM : k;
        const bool told = !foreseen && !(in->victims && k + 1 == last);
        double moved = l->bytes / n;
        for (size_t from = place; from < CARM_FROM_PLACES; from++) {
            moved -= LINE * unloaded[from];
        }
        if (told && moved > 0.0) {
            written = fmin(most, fmax(0.0, (l->bytes - LINE * l->misses) / n / moved));
        }
        in->written[place] = written;
    }
}

int carm_run_memory_input(const struct carm_run *run, const struct carm_flow_code *code,
                          double trips, double seconds, struct carm_graph *graph,
                          const struct carm_run_levels *levels,
                          const struct carm_run_figures *figures, struct carm_bounds_input *in,
                          struct carm_run_verdict *v, struct carm_err *err)
{
    static const double often =
        0.5; /* lines for each execution; consecutive doubles bring an eighth */
    static const double fewest =
        16.0; /* lookups of a sampled TLB: the share of walks is right within a quarter */
    static const double other =
        CARM_VERDICT_OVER; /* ratio from which on two times count as different */
    const size_t last = carm_run_levels_about(levels)->config.nlevels - 1;
    const double n = code->iterations;
    const size_t room = code->nops + 1;
    double *extra = calloc(4 * room, sizeof *extra);
    const bool sampled = carm_run_levels_about(levels)->sampled;
    size_t *sweeps = calloc(room, sizeof *sweeps), nsweeps = 0;
    struct lines *sets = calloc(room, sizeof *sets);
    double swept = 0.0;
    uint8_t swept_over[CARM_RUN_PAGES_KEPT] = {0}; /* a sketch of all pages */
    double apart = 0.0, restored = 0.0; /* loads of lines of one set; stores to these lines */
    double unloaded[CARM_FROM_PLACES] = {
        0.0}; /* lines that string instructions bring without loading them */
    double brought[CARM_HIERARCHY_LEVELS_MAX], loaded = 0.0, stored = 0.0, updated = 0.0;
    bool any = false;
    int rc = 0;
    if (!extra || !sweeps || !sets) {
        free(extra);
        free(sets);
        free(sweeps);
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the verdict");
    }
    double *const scattered = extra + room, *const border = scattered + room;
    double *const held = border + room; /* lines of the last cache, of an execution */
    in->victims = last == 2 && carm_run_levels_about(levels)->config.last == CARM_LAST_EXCLUSIVE;
    for (size_t k = 0; k <= last && k < CARM_FROM_PLACES; k++) {
        in->bytes[k == last ? CARM_FROM_DRAM : k] = figures->levels[k].bytes / n;
    }
    for (size_t i = 0; i < code->nops; i++) {
        const struct carm_flow_op *insn = &code->ops[i];
        const struct carm_graph_access *a = &graph->accesses[i];
        if (!(insn->loads || insn->stores)) {
            continue;
        }
        const bool repeated = (insn->flags & CARM_OPCODE_REPEATED) != 0;
        if (!repeated) {
            loaded += insn->loads ? insn->load_bytes * insn->executions : 0.0;
            stored += insn->stores ? insn->store_bytes * insn->executions : 0.0;
            updated += insn->stores && a->updates ? insn->store_bytes * insn->executions : 0.0;
        }
        struct carm_run_places places;
        if (!carm_run_levels_lines(levels, &run->blocks, code->module, insn->at, brought,
                                   &places)) {
            /* a sample misses programs of a few lines */
            const int threads = insn->flags & CARM_OPCODE_LOCKED
                                    ? (int)carm_run_levels_about(levels)->threads /* of any loop */
                                    : in->threads;
            in->contended += threads > 1 && stays(insn, a) ? insn->executions / n : 0.0;
            continue;
        }
        in->contended += places.contended * insn->executions / n;
        if (insn->loads && !(insn->flags & CARM_OPCODE_GATHER)) {
            in->split_loads[width_of(insn, insn->load_bytes)] +=
                places.split * insn->executions / n;
        }
        if (insn->loads) {
            in->behind[width_of(insn, insn->load_bytes)] += places.aliased * insn->executions / n;
        }
        if (insn->stores && !(insn->flags & CARM_OPCODE_GATHER)) {
            in->split_stores[width_of(insn, insn->store_bytes)] +=
                places.split * insn->executions / n;
        }
        double lines[CARM_FROM_PLACES] = {0.0}, all = 0.0;
        for (size_t k = 0; k < CARM_RUN_PAGES_KEPT; k++) {
            swept_over[k] = places.sketch[k] > swept_over[k] ? places.sketch[k] : swept_over[k];
        }
        for (size_t k = 0; k <= last && k < CARM_FROM_PLACES; k++) {
            lines[k == last ? CARM_FROM_DRAM : k] = brought[k];
            all += brought[k];
        }
        if (repeated) { /* half of rep movs's lines are loaded; the overwritten half is not */
            const double own = insn->stores && insn->loads ? 0.5 * all : insn->stores ? all : 0.0;
            loaded += LINE * (all - own);
            stored += LINE * own;
            updated += LINE * own;
            for (int k = 0; k < CARM_FROM_PLACES; k++) {
                unloaded[k] += all > 0.0 ? lines[k] / n * own / all : 0.0;
            }
        }
        const int64_t by = moves_by(a, &places);
        note_access(v, insn, a, by, n, all);
        v->stride = llabs(by) > LINE && llabs(by) > llabs(v->stride) ? by : v->stride;
        /* an address that moves by a register and brings a line nearly each time has a stride of a line or more */
        const bool each = all > often * insn->executions;
        const bool regular = a->pattern == CARM_PATTERN_REGULAR;
        const bool jumps = !repeated && (is_scattered(a, &places, each) ||
                                         (regular && (each || is_page_apart(a, &places))));
        const bool copies =
            repeated && insn->stores; /* movs: the loaded value goes to memory, not to a register */
        if (insn->loads && !copies && in->rates.model) {
            extra[i] =
                carm_missing_beyond(in, lines, insn->executions) +
                (jumps ? carm_missing_walks(in, places.walks, lines, insn->executions) : 0.0);
            if (jumps && each &&
                is_uniform(carm_run_levels_about(levels), brought, all, places.pages * PAGE)) {
                const double share = fmin(1.0, all / insn->executions);
                extra[i] = fmax(extra[i], share * carm_missing_random(in, places.pages * PAGE));
                border[i] = share * carm_missing_random(in, 2.0 * places.pages * PAGE);
            }
            border[i] = fmax(border[i], extra[i]);
            any = any || extra[i] > 0.0;
            /* prefetchers foresee all other accesses */
            scattered[i] = jumps ? extra[i] : 0.0;
            held[i] = jumps ? lines[CARM_FROM_L3] / insn->executions : 0.0;
        }
        if (!sampled || places.translated >= fewest) {
            add_walks(in, insn, a, &places, false, 0.0, n);
        } else if (each && is_page_apart(a, &places)) {
            sweeps[nsweeps++] = i;
            swept += trips;
        }
        const bool aliased = by != 0 && by % PAGE == 0;
        const bool comes = aliased && insn->loads && !a->on_chain && each;
        apart += comes ? insn->executions : 0.0;
        restored += aliased && insn->stores && a->updates ? insn->executions : 0.0;
        for (int k = 0; k < CARM_FROM_PLACES && comes; k++) {
            sets[i].lines[k] = lines[k] / n;
        }
        const bool alone = jumps && !a->on_chain;
        const bool rewritten = alone && is_rewritten(code, graph, i);
        for (int k = 0; k < CARM_FROM_PLACES; k++) {
            in->scattered[k] += alone ? lines[k] / n : 0.0;
            in->rewritten[k] += rewritten ? lines[k] / n : 0.0;
            in->overwritten[k] += alone && insn->stores && !rewritten ? lines[k] / n : 0.0;
            in->chained[k] += jumps && a->on_chain ? lines[k] / n : 0.0;
        }
        in->waited += jumps && !a->on_chain && insn->loads ? lines[CARM_FROM_DRAM] / n : 0.0;
        v->scattered = v->scattered || jumps;
        v->leaps = v->leaps || (jumps && a->pattern == CARM_PATTERN_REGULAR);
    }
    in->pages = carm_run_levels_pages(levels, swept_over);
    if (in->roofs &&
        !v->scattered) { /* simulated LRU caches keep nothing of a sweep over slightly more bytes than they hold */
        in->bytes[CARM_FROM_DRAM] *=
            carm_caches_from_memory(in->rates.model, in->roofs->threads, PAGE * in->pages);
    }
    find_aliased(code, sets, in->aliased);
    free(sets);
    in->lost = carm_run_lost(run, in, carm_run_levels_about(levels), seconds, PAGE * in->pages);
    in->stays = in->lost > 0.0 ? carm_stay_half(&run->after->stay) : 0.0;
    for (size_t i = 0; i < code->nops && in->lost > 0.0; i++) {
        border[i] =
            fmax(border[i], extra[i] + in->lost * held[i] * carm_missing_memory(in) * in->clock_hz);
    }
    in->updated = apart > 0.0 ? fmin(1.0, restored / apart) : 0.0;
    for (size_t i = 0; i < nsweeps; i++) {
        const size_t at = sweeps[i];
        const struct carm_run_places none = {.split = 0.0};
        add_walks(in, &code->ops[at], &graph->accesses[at], &none, true, swept, n);
    }
    free(sweeps);
    /* a mispredicted branch waits for the slowest load of its piece */
    for (size_t i = 0; i < code->npieces; i++) {
        const struct carm_code_piece *p = &code->pieces[i];
        double most = 0.0;
        for (size_t k = 0; k < p->n; k++) {
            most = fmax(most, scattered[p->first + k]); /* prefetchers bring all other lines */
        }
        in->resolve_missing += carm_astray_rarely(p, graph) / n * most;
    }
    /* Fast string instructions overwrite whole lines without loading them; a line from memory is not loaded into any
     * level. source: Intel 248966, fast-string operation, no-RFO protocol */
    for (int k = 0; k < CARM_FROM_PLACES; k++) {
        for (int from = k; from < CARM_FROM_PLACES; from++) {
            in->bytes[k] -= fmin(in->bytes[k], LINE * unloaded[from]);
        }
    }
    find_written(carm_run_levels_about(levels), figures, n, unloaded, loaded + stored - updated,
                 stored, in);
    if (any && (code->inner || code->ngaps)) {
        struct carm_graph_latencies latencies;
        struct carm_graph missing;
        carm_run_latencies(&in->rates, &latencies);
        latencies.beyond = extra;
        rc = carm_graph_open(&missing, code, &latencies, err);
        if (!rc) {
            /* by less than 2%, the misses do not lengthen the chain of the code */
            in->missing_cycles = missing.cycles > 1.02 * graph->cycles ? missing.cycles : 0.0;
            carm_graph_close(&missing);
        }
        if (in->missing_cycles > 0.0 && !rc) {
            latencies.beyond = border;
            rc = carm_graph_open(&missing, code, &latencies, err);
            in->border_cycles =
                !rc && missing.cycles > other * in->missing_cycles ? missing.cycles : 0.0;
            if (!rc) {
                carm_graph_close(&missing);
            }
            latencies.beyond = extra;
        }
        double ends = 0.0;
        if (in->missing_cycles > 0.0 && trips >= 1.0 && !rc) {
            rc = find_window(code, trips, &latencies, in, &ends, err);
        }
        if (ends > 0.0 && ends < in->missing_cycles) {
            in->missing_cycles = ends; /* chains of several entries of the loop overlap */
        }
        latencies.beyond = scattered;
        rc = rc ? rc : find_window(code, trips, &latencies, in, &in->window_missing_cycles, err);
    }
    free(extra);
    return rc;
}

void carm_run_strings_input(const struct carm_flow_code *code,
                            const struct carm_step_counts *counts, struct carm_bounds_input *in)
{
    double loads = (double)counts->load_bytes, stores = (double)counts->store_bytes;
    bool any = false;
    for (size_t i = 0; i < code->nops; i++) {
        const struct carm_flow_op *insn = &code->ops[i];
        const bool repeated = (insn->flags & CARM_OPCODE_REPEATED) != 0;
        any = any || repeated;
        loads -= repeated || !insn->loads ? 0.0 : insn->load_bytes * insn->executions;
        stores -= repeated || !insn->stores ? 0.0 : insn->store_bytes * insn->executions;
    }
    in->string_loads = any ? fmax(0.0, loads / code->iterations) : 0.0;
    in->string_stores = any ? fmax(0.0, stores / code->iterations) : 0.0;
}

void carm_run_rates_input(struct carm_bounds_input *in)
{
    const struct carm_model *model = in->rates.model;
    double best = 0.0;
    for (size_t i = 0; model && i < model->nin_flight; i++) {
        const struct carm_in_flight *f = &model->in_flight[i];
        const bool gathers = strncmp(f->code, "gather.", 7) == 0 && strcmp(f->level, "L1") == 0;
        best = gathers ? fmax(best, f->rate) : best;
    }
    in->gather_seconds = best > 0.0 ? 1.0 / best : 0.0;
    in->transfer_seconds = 0.0;
    for (size_t i = 0; model && i < model->ncore_to_core; i++) {
        const double each = model->core_to_core[i].seconds;
        in->transfer_seconds = in->transfer_seconds > 0.0 ? fmin(in->transfer_seconds, each) : each;
    }
}
