/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/profile/code.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

enum { PIECE_BYTES_MAX = 4096 }; /* 48 instructions and more of 15 bytes */

void carm_code_close(struct carm_flow_code *code)
{
    free(code->ops);
    free(code->pieces);
    free(code->gaps);
    free(code->doors);
    memset(code, 0, sizeof *code);
}

static int add_piece(struct carm_flow_code *code, const struct carm_piece *from, int fd,
                     struct carm_err *err)
{
    uint8_t bytes[PIECE_BYTES_MAX];
    const size_t size = from->end - from->at < sizeof bytes ? from->end - from->at : sizeof bytes;
    const ssize_t n = pread(fd, bytes, size, (off_t)from->at);
    int rc = carm_array_grow(&code->pieces, &code->pieces_room, code->npieces, 1,
                             sizeof *code->pieces, "a loop's code", err);
    if (rc) {
        return rc;
    }
    struct carm_code_piece *p = &code->pieces[code->npieces++];
    *p = (struct carm_code_piece){.at = from->at,
                                  .end = from->end,
                                  .first = code->nops,
                                  .executions = (double)from->executions,
                                  .target = from->target,
                                  .taken = from->taken,
                                  .entered = from->entered,
                                  .indirect = from->ends == CARM_END_INDIRECT_JUMP,
                                  .calls = from->ends == CARM_END_INDIRECT_CALL};
    p->jumps = from->ends == CARM_END_JUMP || from->ends == CARM_END_BRANCH;
    p->falls = from->ends != CARM_END_JUMP && from->ends != CARM_END_INDIRECT_JUMP &&
               from->ends != CARM_END_RETURN;
    if (n > 0) {
        rc = carm_flow_ops_decode(bytes, (size_t)n, from->at, p->executions, &code->ops,
                                  &code->nops, &code->ops_room, err);
    }
    p->n = code->nops - p->first;
    return rc;
}

/* Registers that a call may change: all but rbx, rsp, rbp and r12 to r15 (System V) */
static bool is_clobbered(int reg)
{
    static const uint64_t kept = 1U << 3 | 1U << 4 | 1U << 5 | 0xf000U;
    return reg >= CARM_REG_VECTOR || !(kept >> reg & 1);
}

/* Follows values through one instruction. The origin of a loaded value is unknown: nothing is carried by a load. */
static void follow(uint64_t carried[CARM_REG_COUNT], const struct carm_flow_op *op)
{
    uint64_t from = 0;
    for (uint8_t i = 0; i < op->nreads; i++) {
        from |= carried[op->reads[i]];
    }
    for (uint8_t i = 0; i < op->nwrites; i++) {
        carried[op->writes[i]] = from;
    }
    for (int i = 0; i < CARM_REG_COUNT && op->flags & CARM_OPCODE_CALL; i++) {
        carried[i] = is_clobbered(i) ? 0 : carried[i];
    }
}

/* Fills out->carried from the code of the outer loop that is executed in most iterations: from the inner loop's exit to
 * the outer loop's end, then from its begin on. Nothing is carried if the outer loop contains another loop, too. */
static int follow_outer_loop(struct carm_flow_code *out, const struct carm_flow *flow, size_t loop,
                             int fd, struct carm_err *err)
{
    const struct carm_loop *in = &flow->loops[loop];
    const uint32_t parent = in->parent;
    uint64_t carried[CARM_REG_COUNT] = {0};
    struct carm_flow_code around = {.nops = 0};
    bool simple = parent > 0;
    int rc = 0;
    for (size_t i = 0; i < flow->nloops; i++) {
        simple = simple && (i == loop || flow->loops[i].parent != parent);
    }
    for (size_t i = 0; i < flow->npieces && simple && !rc; i++) {
        const struct carm_piece *p = &flow->pieces[i];
        if (p->loop == parent && p->function == in->function && p->end > p->at &&
            2 * p->executions > flow->loops[parent - 1].executions) {
            simple = p->end <= in->begin || p->at >= in->end;
            rc = add_piece(&around, p, fd, err);
        }
    }
    for (int i = 0; i < CARM_REG_X87; i++) { /* x87 registers are not carried: the stack moves */
        carried[i] = UINT64_C(1) << i;
    }
    for (int half = 0; half < 2 && simple && !rc; half++) {
        for (size_t i = 0; i < around.npieces; i++) {
            const struct carm_code_piece *p = &around.pieces[i];
            for (size_t k = p->first; k < p->first + p->n && (p->at >= in->end) == (half == 0);
                 k++) {
                follow(carried, &around.ops[k]);
            }
        }
    }
    if (simple && !rc) {
        memcpy(out->carried, carried, sizeof carried);
    }
    carm_code_close(&around);
    return rc;
}

/* ---- loops inside ---- */

/* The loop directly inside `loop` to whose code, or to whose inner loops' code, a piece belongs. CARM_CODE_BODY =
 * none */
static size_t child_of(const struct carm_flow *flow, const struct carm_piece *p, size_t loop)
{
    size_t at = p->loop;
    while (at > 0 && flow->loops[at - 1].parent != loop + 1) {
        at = flow->loops[at - 1].parent;
    }
    return at > 0 ? at - 1 : CARM_CODE_BODY;
}

static int add_door(struct carm_flow_code *code, uint64_t at, size_t gap, bool out, double times,
                    struct carm_err *err)
{
    const struct carm_code_door door = {.at = at, .gap = gap, .out = out, .times = times};
    return carm_array_append(&code->doors, &code->doors_room, &code->ndoors, &door, sizeof door,
                             "a loop's code", err);
}

/* Adds a piece of an inner loop: its doors, and the registers and memory that it changes. */
static int add_inner(struct carm_flow_code *code, const struct carm_flow *flow, size_t loop,
                     size_t gap, const struct carm_piece *from, int fd, struct carm_err *err)
{
    struct carm_flow_code one = {.nops = 0};
    int rc = add_piece(&one, from, fd, err);
    rc = rc ? rc : add_door(code, from->at, gap, false, 0.0, err);
    for (size_t i = 0; i < one.nops; i++) {
        const struct carm_flow_op *op = &one.ops[i];
        struct carm_code_gap *to = &code->gaps[gap];
        for (uint8_t k = 0; k < op->nwrites; k++) {
            to->writes[op->writes[k]] = true;
        }
        for (int reg = 0; reg < CARM_REG_COUNT; reg++) {
            to->writes[reg] |= (op->flags & CARM_OPCODE_CALL && is_clobbered(reg)) ||
                               (op->pushes && reg >= CARM_REG_X87);
        }
        to->stores |= op->stores || op->flags & CARM_OPCODE_CALL;
    }
    const struct carm_code_piece *p = one.pieces;
    const double all = rc ? 0.0 : p->executions;
    const double taken = rc                        ? 0.0
                         : !(p->jumps && p->falls) ? all
                         : p->taken >= 0.0         ? p->taken
                                                   : 0.5 * all;
    for (int way = 0; way < 2 && !rc; way++) {
        const uint64_t to = way ? p->end : p->target;
        const struct carm_piece *next =
            (way ? p->falls : p->jumps) ? carm_flow_find(flow, to) : NULL;
        if (next && next->at == to && next->loop == loop + 1 && next->function == from->function) {
            rc = add_door(code, to, gap, true, way && p->jumps ? all - taken : taken, err);
        }
    }
    carm_code_close(&one);
    return rc;
}

static int add_gaps(struct carm_flow_code *code, const struct carm_flow *flow, size_t loop, int fd,
                    struct carm_err *err)
{
    int rc = 0;
    for (size_t child = 0; child < flow->nloops && !rc; child++) {
        if (flow->loops[child].parent == loop + 1) {
            const struct carm_code_gap gap = {.loop = child};
            rc = carm_array_append(&code->gaps, &code->gaps_room, &code->ngaps, &gap, sizeof gap,
                                   "a loop's code", err);
        }
    }
    for (size_t i = 0; i < flow->npieces && code->ngaps && !rc; i++) {
        const struct carm_piece *p = &flow->pieces[i];
        const bool own = p->executions && p->end > p->at && p->loop != loop + 1 &&
                         p->function == flow->loops[loop].function;
        const size_t child = own ? child_of(flow, p, loop) : CARM_CODE_BODY;
        for (size_t gap = 0; gap < code->ngaps && child != CARM_CODE_BODY && !rc; gap++) {
            rc = code->gaps[gap].loop == child ? add_inner(code, flow, loop, gap, p, fd, err) : 0;
        }
    }
    return rc;
}

/* ---- indirect calls ---- */

/* Whether a piece is the first of its function and entered by address. */
static bool is_called(const struct carm_flow *flow, const struct carm_piece *p)
{
    return p->entered && (p == flow->pieces || p[-1].function != p->function);
}

/* The executions of all functions that are called by address, if nearly all indirect calls of the module are made
 * by one instruction, to functions of the module; else 0 */
static double called_at_one_site(const struct carm_flow *flow)
{
    static const double nearly =
        0.1; /* the start of a program calls a few functions by address; chosen by hand */
    double calls = 0.0, most = 0.0, targets = 0.0;
    for (size_t i = 0; i < flow->npieces; i++) {
        const struct carm_piece *p = &flow->pieces[i];
        const double here = (double)p->executions;
        calls += p->ends == CARM_END_INDIRECT_CALL ? here : 0.0;
        most = p->ends == CARM_END_INDIRECT_CALL && here > most ? here : most;
        targets += is_called(flow, p) ? here : 0.0;
    }
    return most > (1.0 - nearly) * calls && targets <= (1.0 + nearly) * calls &&
                   targets >= (1.0 - nearly) * calls
               ? targets
               : 0.0;
}

/* Fills strays: the functions' executions are the frequencies of the one site's targets. */
static void find_strays(struct carm_flow_code *out, const struct carm_flow *flow)
{
    double targets = -1.0; /* not summed yet: most code is not called by address */
    for (size_t k = 0; k < out->npieces; k++) {
        struct carm_code_piece *p = &out->pieces[k];
        const struct carm_piece *of = p->entered ? carm_flow_find(flow, p->at) : NULL;
        if (of && of->at == p->at && is_called(flow, of)) {
            targets = targets < 0.0 ? called_at_one_site(flow) : targets;
            p->strays = targets > 0.0 ? 1.0 - p->executions / targets : 0.0;
        }
    }
}

int carm_code_open(struct carm_flow_code *out, const struct carm_flow *flow, size_t loop,
                   uint32_t function, uint32_t module, int fd, struct carm_err *err)
{
    const bool body = loop == CARM_CODE_BODY;
    int rc = 0;
    *out = (struct carm_flow_code){.module = module, .inner = !body};
    for (size_t i = 0; i < flow->nloops && !body; i++) {
        out->inner = out->inner && flow->loops[i].parent != loop + 1;
    }
    if (!body) {
        out->at = flow->loops[loop].at;
        out->iterations = (double)flow->loops[loop].executions;
    }
    for (size_t i = 0; i < flow->npieces && !rc; i++) {
        const struct carm_piece *p = &flow->pieces[i];
        if (p->executions && p->end > p->at && p->function == function &&
            p->loop == (body ? 0 : (uint32_t)loop + 1)) {
            rc = add_piece(out, p, fd, err);
        }
    }
    find_strays(out, flow);
    if (!rc && !body) {
        rc = out->inner ? follow_outer_loop(out, flow, loop, fd, err)
                        : add_gaps(out, flow, loop, fd, err);
    }
    if (rc) {
        carm_code_close(out);
    }
    return rc;
}

const struct carm_code_piece *carm_code_at(const struct carm_flow_code *code, uint64_t at)
{
    for (size_t i = 0; i < code->npieces; i++) {
        if (code->pieces[i].at == at) {
            return &code->pieces[i];
        }
    }
    return NULL;
}

bool carm_code_dispatches(const struct carm_flow_code *code)
{
    bool any = false;
    for (size_t i = 0; i < code->npieces; i++) {
        any = any || code->pieces[i].indirect;
    }
    return any;
}

bool carm_code_is_target(const struct carm_flow_code *code, size_t piece)
{
    const struct carm_code_piece *p = &code->pieces[piece];
    const bool returns = piece > 0 && p[-1].end == p->at && p[-1].n > 0 &&
                         code->ops[p[-1].first + p[-1].n - 1].flags & CARM_OPCODE_CALL;
    return p->entered && !returns;
}
