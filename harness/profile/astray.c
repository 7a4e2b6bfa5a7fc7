/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/profile/astray.h"

/* Advances the registers' times through a piece. returns the time at which its last instruction has its result */
static double go_through(const struct carm_flow_code *code, const struct carm_code_piece *p,
                         const struct carm_graph_latencies *l, double ready[CARM_REG_COUNT])
{
    double cycles = 0.0;
    for (size_t i = p->first; i < p->first + p->n; i++) {
        const struct carm_flow_op *op = &code->ops[i];
        cycles = 0.0;
        if (op->loads) {
            const double base = op->base != CARM_REG_NONE ? ready[op->base] : 0.0;
            const double index = op->index != CARM_REG_NONE ? ready[op->index] : 0.0;
            cycles = (base > index ? base : index) +
                     (op->width != CARM_OPCODE_GP ? l->load_vector : l->load);
        }
        for (uint8_t k = 0; k < op->nreads; k++) {
            cycles = ready[op->reads[k]] > cycles ? ready[op->reads[k]] : cycles;
        }
        cycles += l->of[op->class][op->width][op->precision];
        for (uint8_t k = 0; k < op->nwrites; k++) {
            ready[op->writes[k]] = cycles;
        }
    }
    return cycles;
}

/* Cycles from the fetch of a piece to the outcome of the jump at its end: after a misprediction, all instructions
 * of the piece start at its fetch. */
static double resolves_in(const struct carm_flow_code *code, const struct carm_code_piece *p,
                          const struct carm_graph_latencies *l)
{
    double ready[CARM_REG_COUNT] = {0.0};
    return go_through(code, p, l, ready);
}

/* resolves_in, but at least a load and a comparison, which may be in the piece before. */
static double decided_in(const struct carm_flow_code *code, const struct carm_code_piece *p,
                         const struct carm_graph_latencies *l)
{
    const double least = l->load + 1.0, cycles = resolves_in(code, p, l);
    return cycles > least ? cycles : least;
}

double carm_astray_rarely(const struct carm_code_piece *p, const struct carm_graph *graph)
{
    if (!p->jumps || !p->falls || !p->n || p->taken < 0.0) {
        return 0.0;
    }
    const enum carm_access_pattern by = graph->accesses[p->first + p->n - 1].pattern;
    const double other = p->executions - p->taken;
    const double rare = p->taken < other ? p->taken : other;
    return (by == CARM_PATTERN_INDIRECT || by == CARM_PATTERN_COMPUTED) && rare > 0.0 ? rare : 0.0;
}

static void add_branch(const struct carm_flow_code *code, const struct carm_code_piece *p,
                       const struct carm_graph *graph, const struct carm_graph_latencies *l,
                       struct carm_astray *out)
{
    const double rare = carm_astray_rarely(p, graph);
    out->branches += rare;
    out->cycles += rare > 0.0 ? rare * decided_in(code, p, l) : 0.0;
}

/* A predictor of indirect jumps repeats recent targets. With independent outcomes, it misses as often as two
 * outcomes differ. On Zen 4, a switch with six targets, one of them twice as frequent as each of the others, took
 * 8% longer than a predictor of always the most frequent target would give. */
static void add_jumps(const struct carm_flow_code *code, const struct carm_graph_latencies *l,
                      struct carm_astray *out)
{
    double jumps = 0.0, entered = 0.0, squares = 0.0, cycles = 0.0;
    for (size_t i = 0; i < code->npieces; i++) {
        const struct carm_code_piece *p = &code->pieces[i];
        const double here = carm_code_is_target(code, i) ? p->executions : 0.0;
        jumps += p->indirect ? p->executions : 0.0;
        cycles += p->indirect ? p->executions * resolves_in(code, p, l) : 0.0;
        entered += here;
        squares += here * here;
    }
    const double share = entered > 0.0 ? 1.0 - squares / (entered * entered) : 0.0;
    out->branches += jumps * share;
    out->indirect += jumps * share;
    out->cycles += cycles * share;
}

void carm_astray_code(const struct carm_flow_code *code, const struct carm_graph *graph,
                      const struct carm_graph_latencies *latencies, struct carm_astray *out)
{
    for (size_t i = 0; i < code->npieces; i++) {
        add_branch(code, &code->pieces[i], graph, latencies, out);
    }
    add_jumps(code, latencies, out);
}

void carm_astray_exits(const struct carm_flow_code *inside, const struct carm_graph *graph,
                       const struct carm_graph_latencies *latencies, struct carm_astray *out)
{
    for (size_t i = 0; i < inside->npieces; i++) {
        const struct carm_code_piece *p = &inside->pieces[i];
        if (!carm_code_at(inside, p->target) || !carm_code_at(inside, p->end)) {
            add_branch(inside, p, graph, latencies, out);
        }
    }
}

static double strays_of(const struct carm_flow_code *code)
{
    double strays = 0.0;
    for (size_t i = 0; i < code->npieces; i++) {
        strays += code->pieces[i].strays * code->pieces[i].executions;
    }
    return strays;
}

/* The call with the most executions; NULL = none */
static const struct carm_code_piece *call_of(const struct carm_flow_code *code)
{
    const struct carm_code_piece *found = NULL;
    for (size_t k = 0; k < code->npieces; k++) {
        const struct carm_code_piece *p = &code->pieces[k];
        found = p->calls && p->executions > (found ? found->executions : 0.0) ? p : found;
    }
    return found;
}

const struct carm_flow_code *carm_astray_caller(uint32_t module, const struct carm_flow_code *codes,
                                                size_t n)
{
    const struct carm_flow_code *caller = NULL;
    double most = 0.0;
    for (size_t i = 0; i < n; i++) {
        const struct carm_code_piece *call = codes[i].module == module ? call_of(&codes[i]) : NULL;
        if (call && call->executions > most) {
            most = call->executions;
            caller = &codes[i];
        }
    }
    return caller;
}

bool carm_astray_takes_part(const struct carm_flow_code *code, const struct carm_flow_code *caller)
{
    return strays_of(code) > 0.0 || (caller && caller->pieces == code->pieces);
}

/* Cycles from the return of a call until the target of the next call is known, along the more frequent side of each
 * branch: these instructions start only after the mispredicted call. If this way does not lead to the call, the
 * cycles of the call's own piece. */
static double targeted_in(const struct carm_flow_code *code, const struct carm_code_piece *call,
                          const struct carm_graph_latencies *l)
{
    double ready[CARM_REG_COUNT] = {0.0};
    const struct carm_code_piece *p = carm_code_at(code, call->end);
    for (size_t i = 0; p && p != call && i < code->npieces; i++) {
        const bool jumps = p->jumps && (!p->falls || p->taken > 0.5 * p->executions);
        (void)go_through(code, p, l, ready);
        p = p->indirect || p->calls ? NULL : carm_code_at(code, jumps ? p->target : p->end);
    }
    return p == call ? go_through(code, call, l, ready) : decided_in(code, call, l);
}

void carm_astray_calls(const struct carm_flow_code *caller, uint32_t module,
                       const struct carm_flow_code *codes, size_t n,
                       const struct carm_graph_latencies *latencies, struct carm_astray *out)
{
    double strays = 0.0;
    for (size_t i = 0; i < n; i++) {
        strays += codes[i].module == module ? strays_of(&codes[i]) : 0.0;
    }
    out->branches += strays;
    out->indirect += strays;
    out->cycles += strays * (caller ? targeted_in(caller, call_of(caller), latencies)
                                    : latencies->load + 1.0); /* the target is loaded */
}
