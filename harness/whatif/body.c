/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/whatif/body.h"

#include <stdlib.h>
#include <string.h>

/* A stride is constant if this share of the steps has it: the first step into a new row has another stride. Chosen by
 * hand. */
static const double constant_share = 0.7;
/* A branch whose rarer way has a smaller share counts as predicted. Chosen by hand. */
static const double fork_least = 0.02;
static const int64_t stream_bytes = 32 << 10;
/* A load at most this many instructions after a store to its address waits for the store: some 5 cycles, of up to 8
 * instructions each. */
enum { FORWARDED_WITHIN = 40 };
/* Least share of a load's executions that wait for a store. Histograms of 256 equally frequent bins have 3%, and do not
 * wait. */
static const double forwarded_least = 0.05;

#define BIT(reg) (UINT64_C(1) << (reg))

static uint64_t reads_of(const struct carm_flow_op *op)
{
    uint64_t mask = 0;
    for (uint8_t i = 0; i < op->nreads; i++) {
        mask |= BIT(op->reads[i]);
    }
    mask |= op->base != CARM_REG_NONE ? BIT(op->base) : 0;
    mask |= op->index != CARM_REG_NONE ? BIT(op->index) : 0;
    return mask;
}

static uint64_t writes_of(const struct carm_flow_op *op)
{
    uint64_t mask = 0;
    for (uint8_t i = 0; i < op->nwrites; i++) {
        mask |= BIT(op->writes[i]);
    }
    return mask;
}

struct carm_body_op *carm_body_find(const struct carm_body *body, uint64_t at)
{
    for (size_t i = 0; i < body->n; i++) {
        if (body->ops[i].at == at) {
            return &body->ops[i];
        }
    }
    return NULL;
}

/* The possible predecessors of each instruction, one list after another. */
struct before {
    size_t *first; /* [n + 1] */
    size_t *list;
};

static void each_next(const struct carm_body *body, size_t i, size_t to[2], size_t *n)
{
    const uint64_t at[2] = {body->ops[i].next, body->ops[i].target};
    *n = 0;
    for (int k = 0; k < 2; k++) {
        const struct carm_body_op *op = at[k] ? carm_body_find(body, at[k]) : NULL;
        if (op && (*n == 0 || to[0] != (size_t)(op - body->ops))) {
            to[(*n)++] = (size_t)(op - body->ops);
        }
    }
}

static int find_before(const struct carm_body *body, struct before *before, struct carm_err *err)
{
    size_t to[2], n = 0;
    before->first = calloc(body->n + 2, sizeof *before->first);
    before->list = calloc(2 * body->n + 1, sizeof *before->list);
    if (!before->first || !before->list) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory");
    }
    for (size_t i = 0; i < body->n; i++) {
        each_next(body, i, to, &n);
        for (size_t k = 0; k < n; k++) {
            before->first[to[k] + 2]++;
        }
    }
    for (size_t i = 2; i < body->n + 2; i++) {
        before->first[i] += before->first[i - 1];
    }
    for (size_t i = 0; i < body->n; i++) {
        each_next(body, i, to, &n);
        for (size_t k = 0; k < n; k++) {
            before->list[before->first[to[k] + 1]++] = i;
        }
    }
    return 0;
}

static void close_before(struct before *before)
{
    free(before->first);
    free(before->list);
}

/* Marks the instructions on which the wanted registers depend.
 * wanted  [n] in, out: registers before each instruction; registers on which these depend are added
 * marks   [n] out: set for instructions that produce a wanted register */
static void slice(const struct carm_body *body, const struct before *before, uint64_t *wanted,
                  bool *marks)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t i = body->n; i-- > 0;) {
            for (size_t k = before->first[i]; k < before->first[i + 1] && wanted[i]; k++) {
                const size_t p = before->list[k];
                const uint64_t writes = writes_of(&body->ops[p].op);
                const bool makes = (writes & wanted[i]) != 0;
                const uint64_t more =
                    (wanted[i] & ~writes) | (makes ? reads_of(&body->ops[p].op) : 0);
                marks[p] = marks[p] || makes;
                changed = changed || (more & ~wanted[p]) != 0;
                wanted[p] |= more;
            }
        }
    }
}

static int find_deciding(struct carm_body *body, struct carm_err *err)
{
    struct before before = {NULL, NULL};
    uint64_t *wanted = calloc(body->n, sizeof *wanted);
    bool *marks = calloc(body->n, sizeof *marks);
    int rc = wanted && marks ? 0 : carm_fail(err, CARM_ENOMEM, "not enough memory");
    rc = rc ? rc : find_before(body, &before, err);
    for (size_t i = 0; i < body->n && !rc; i++) {
        wanted[i] = body->ops[i].kind == CARM_BODY_BRANCH ? reads_of(&body->ops[i].op) : 0;
    }
    if (!rc) {
        slice(body, &before, wanted, marks);
        for (size_t i = 0; i < body->n; i++) {
            body->ops[i].decides = marks[i];
        }
        for (size_t k = 0; k < body->ncarried; k++) {
            body->carried_decides =
                body->carried_decides || (wanted[0] & BIT(CARM_REG_VECTOR + body->carried[k]));
        }
    }
    close_before(&before);
    free(wanted);
    free(marks);
    return rc;
}

/* Whether registers that instruction `at` reads depend on the data of a load, in this iteration or an earlier one;
 * true if unknown */
static bool depends(const struct carm_body *body, size_t at, uint64_t registers, size_t load)
{
    struct before before = {NULL, NULL};
    uint64_t *wanted = calloc(body->n, sizeof *wanted);
    bool *marks = calloc(body->n, sizeof *marks);
    bool found = true;
    if (wanted && marks && find_before(body, &before, NULL) == 0) {
        wanted[at] = registers;
        slice(body, &before, wanted, marks);
        found = marks[load];
    }
    close_before(&before);
    free(wanted);
    free(marks);
    return found;
}

bool carm_body_chases(const struct carm_body *body, const struct carm_body_op *load)
{
    const size_t at = (size_t)(load - body->ops);
    uint64_t address = load->op.base != CARM_REG_NONE ? BIT(load->op.base) : 0;
    address |= load->op.index != CARM_REG_NONE ? BIT(load->op.index) : 0;
    return depends(body, at, address, at);
}

static bool is_vector(ZydisRegister r)
{
    const ZydisRegisterClass c = ZydisRegisterGetClass(r);
    return c == ZYDIS_REGCLASS_XMM || c == ZYDIS_REGCLASS_YMM || c == ZYDIS_REGCLASS_ZMM;
}

static int describe(struct carm_body_op *op, struct carm_err *err)
{
    const ZydisDecodedOperand *o = op->operands;
    carm_opcode_of(&op->in, o, op->at, &op->op);
    op->memory = -1;
    op->next = op->at + op->in.length;
    for (int i = 0; i < op->in.operand_count_visible; i++) {
        if (o[i].type == ZYDIS_OPERAND_TYPE_REGISTER && is_vector(o[i].reg.value)) {
            op->vector = true;
        }
        if (o[i].type == ZYDIS_OPERAND_TYPE_MEMORY && o[i].mem.type == ZYDIS_MEMOP_TYPE_MEM &&
            (op->op.loads || op->op.stores)) {
            op->memory = i;
        }
    }
    if (op->in.operand_count && o[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o[0].imm.is_relative) {
        ZyanU64 to = 0;
        ZydisCalcAbsoluteAddress(&op->in, &o[0], op->at, &to);
        op->target = to;
    }
    switch (op->in.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
        op->kind = CARM_BODY_BRANCH;
        if (op->in.mnemonic == ZYDIS_MNEMONIC_JRCXZ || op->in.mnemonic == ZYDIS_MNEMONIC_JECXZ ||
            op->in.mnemonic == ZYDIS_MNEMONIC_LOOP || op->in.mnemonic == ZYDIS_MNEMONIC_LOOPE ||
            op->in.mnemonic == ZYDIS_MNEMONIC_LOOPNE) {
            return carm_fail(err, CARM_ENOTSUP, "it branches by the register rcx");
        }
        return 0;
    case ZYDIS_CATEGORY_UNCOND_BR:
        op->kind = CARM_BODY_JUMP;
        op->next = 0;
        return op->target ? 0
                          : carm_fail(err, CARM_ENOTSUP,
                                      "it jumps by a table, as an interpreter or a switch does");
    case ZYDIS_CATEGORY_CALL:
        op->kind = CARM_BODY_CALL;
        return 0;
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_INTERRUPT:
        return carm_fail(err, CARM_ENOTSUP, "it returns, or makes a system call");
    default:
        return 0;
    }
}

/* Appends the instructions of a piece. */
static int decode(struct carm_body *body, const ZydisDecoder *decoder,
                  const struct carm_body_piece *piece, struct carm_err *err)
{
    int rc = 0;
    for (size_t done = 0; done < piece->n && !rc;) {
        struct carm_body_op *op = &body->ops[body->n];
        if (body->n == CARM_BODY_OPS_MAX) {
            return carm_fail(err, CARM_ENOTSUP, "it has more than %d instructions",
                             CARM_BODY_OPS_MAX);
        }
        *op = (struct carm_body_op){.at = piece->at + done, .leader = done == 0, .taken = -1.0};
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder, piece->bytes + done, piece->n - done,
                                                 &op->in, op->operands))) {
            return carm_fail(err, CARM_ENOTSUP, "it has an instruction that is not known here");
        }
        memcpy(op->bytes, piece->bytes + done, op->in.length);
        rc = describe(op, err);
        done += op->in.length;
        body->n++;
    }
    if (!rc && body->n && body->ops[body->n - 1].kind == CARM_BODY_BRANCH) {
        body->ops[body->n - 1].taken = piece->taken;
    }
    return rc;
}

/* Orders the instructions: from the head on, then the instructions at addresses below the head. */
static int order(const void *a, const void *b)
{
    const struct carm_body_op *x = a;
    const struct carm_body_op *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int rotate(struct carm_body *body, struct carm_err *err)
{
    qsort(body->ops, body->n, sizeof *body->ops, order);
    const struct carm_body_op *first = carm_body_find(body, body->head);
    const size_t below = first ? (size_t)(first - body->ops) : 0;
    struct carm_body_op *copy = first ? calloc(body->n + 1, sizeof *copy) : NULL;
    if (!first) {
        return carm_fail(err, CARM_ENOTSUP, "its code has changed since it was counted");
    }
    if (!copy) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory");
    }
    memcpy(copy, body->ops + below, (body->n - below) * sizeof *copy);
    memcpy(copy + body->n - below, body->ops, below * sizeof *copy);
    free(body->ops);
    body->ops = copy;
    return 0;
}

static void find_leaders(struct carm_body *body)
{
    for (size_t i = 0; i < body->n; i++) {
        const struct carm_body_op *op = &body->ops[i];
        struct carm_body_op *target = op->target ? carm_body_find(body, op->target) : NULL;
        if (target && op->kind != CARM_BODY_CALL) {
            target->leader = true;
        }
        if (i + 1 < body->n && op->kind != CARM_BODY_PLAIN) {
            body->ops[i + 1].leader = true;
        }
    }
    for (size_t i = 0; i < body->n; i++) {
        body->blocks += body->ops[i].leader;
    }
}

/* Finds the registers that change, and the accesses whose addresses depend on them. */
static void find_varying(struct carm_body *body)
{
    uint64_t changed = 0;
    for (size_t i = 0; i < body->n; i++) {
        const struct carm_flow_op *op = &body->ops[i].op;
        changed |= writes_of(op);
        body->calls = body->calls || body->ops[i].kind == CARM_BODY_CALL;
        body->divides =
            body->divides || op->class == CARM_OPCODE_FP_DIV || op->class == CARM_OPCODE_FP_SQRT;
    }
    changed &= ~BIT(4); /* rsp: addresses on the stack do not move */
    for (size_t i = 0; i < body->n; i++) {
        const struct carm_flow_op *op = &body->ops[i].op;
        const bool moves = (op->base != CARM_REG_NONE && (changed & BIT(op->base))) ||
                           (op->index != CARM_REG_NONE && (changed & BIT(op->index)));
        body->ops[i].varies = body->ops[i].memory >= 0 && moves && !op->segment &&
                              !(op->flags & (CARM_OPCODE_GATHER | CARM_OPCODE_STACK));
    }
}

/* Whether an instruction may be executed again before the next iteration. */
static int repeats(const struct carm_body *body, size_t i, bool *again, struct carm_err *err)
{
    bool *seen = calloc(body->n, sizeof *seen);
    size_t *list = calloc(body->n, sizeof *list);
    size_t n = 0, to[2], nto = 0;
    const int rc = seen && list ? 0 : carm_fail(err, CARM_ENOMEM, "not enough memory");
    *again = false;
    for (size_t at = i; !rc && !*again;) {
        each_next(body, at, to, &nto);
        for (size_t k = 0; k < nto; k++) {
            *again = *again || to[k] == i;
            if (to[k] != 0 && !seen[to[k]]) {
                seen[to[k]] = true;
                list[n++] = to[k];
            }
        }
        if (n == 0) {
            break;
        }
        at = list[--n];
    }
    free(seen);
    free(list);
    return rc;
}

static int find_forks(struct carm_body *body, struct carm_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < body->n && !rc; i++) {
        struct carm_body_op *op = &body->ops[i];
        bool again = false;
        if (op->kind != CARM_BODY_BRANCH || op->taken < fork_least ||
            op->taken > 1.0 - fork_least || !carm_body_find(body, op->next) ||
            !carm_body_find(body, op->target)) {
            continue;
        }
        rc = repeats(body, i, &again, err);
        op->forks = !again;
        body->forks = body->forks || op->forks;
    }
    return rc;
}

/* Vector registers whose value goes from one iteration to the next. */
static void find_carried_vectors(struct carm_body *body)
{
    for (uint8_t r = 0; r < 32; r++) {
        const uint64_t bit = BIT(CARM_REG_VECTOR + r);
        bool read_first = false, written = false, again = false;
        ZydisMnemonic last = ZYDIS_MNEMONIC_INVALID;
        for (size_t i = 0; i < body->n; i++) {
            const struct carm_body_op *op = &body->ops[i];
            const bool reads = reads_of(&op->op) & bit, writes = writes_of(&op->op) & bit;
            read_first = read_first || (!written && reads);
            written = written || writes;
            again = again || (reads && writes && op->in.mnemonic == last);
            last = reads && writes ? op->in.mnemonic : last;
        }
        if (read_first && written) {
            body->carried[body->ncarried++] = r;
            body->folds = body->folds || again;
        }
    }
}

int carm_body_open(struct carm_body *body, uint64_t head, const struct carm_body_piece *pieces,
                   size_t npieces, struct carm_err *err)
{
    ZydisDecoder decoder;
    *body = (struct carm_body){.head = head, .ops = calloc(CARM_BODY_OPS_MAX, sizeof *body->ops)};
    int rc = body->ops ? 0 : carm_fail(err, CARM_ENOMEM, "not enough memory");
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (size_t i = 0; i < npieces && !rc; i++) {
        rc = decode(body, &decoder, &pieces[i], err);
    }
    rc = rc ? rc : rotate(body, err);
    if (!rc) {
        find_leaders(body);
        find_varying(body);
        find_carried_vectors(body);
        rc = find_deciding(body, err);
        rc = rc ? rc : find_forks(body, err);
    }
    if (rc) {
        carm_body_close(body);
    }
    return rc;
}

void carm_body_close(struct carm_body *body)
{
    free(body->ops);
    *body = (struct carm_body){.n = 0};
}

bool carm_body_crosses(const struct carm_body *body)
{
    enum { LINE = 64 };
    bool crosses = false;
    for (size_t i = 0; i < body->n; i++) {
        const struct carm_body_op *op = &body->ops[i];
        crosses = crosses || op->at / LINE != body->ops[0].at / LINE ||
                  (op->at + op->in.length - 1) / LINE != op->at / LINE;
    }
    return crosses;
}

/* A general register by its number in an instruction */
static uint64_t register_of(const struct user_regs_struct *r, uint8_t number)
{
    const unsigned long long all[] = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp,
                                      r->rsi, r->rdi, r->r8,  r->r9,  r->r10, r->r11,
                                      r->r12, r->r13, r->r14, r->r15};
    return number < 16 ? all[number] : 0;
}

/* Notes whether a load's address is among the last stores of earlier iterations, and adds a store. */
static void observe_stored(struct carm_body *body, struct carm_body_op *op, uint64_t at,
                           uint64_t bytes)
{
    const size_t i = (size_t)(op - body->ops);
    for (size_t k = 0; k < CARM_BODY_STORED && op->op.loads; k++) {
        const struct carm_body_stored *s = &body->stored[k];
        /* a store of this iteration is by an earlier instruction that was executed as often */
        const bool before = s->op >= i || s->execution <= op->executions;
        if (s->step && before && body->step - s->step <= FORWARDED_WITHIN && s->at < at + bytes &&
            at < s->at + s->bytes) {
            op->forwarded++;
            op->from = s->op;
            break;
        }
    }
    if (op->op.stores) {
        body->stored[body->nstored++ % CARM_BODY_STORED] =
            (struct carm_body_stored){at, bytes, body->step, op->executions + 1, i};
    }
}

void carm_body_observe(struct carm_body *body, struct carm_body_op *op,
                       const struct user_regs_struct *regs)
{
    uint64_t at = (uint64_t)op->op.displacement;
    body->step++;
    if (op->memory < 0) {
        return;
    }
    at += register_of(regs, op->op.base);
    at += register_of(regs, op->op.index) * op->op.scale;
    const unsigned width = op->operands[op->memory].size / 8;
    op->unaligned = op->unaligned || (width > 0 && at % width != 0);
    if (op->varies) {
        observe_stored(body, op, at, width);
    }
    if (op->executions == 0) {
        op->first = at;
    } else {
        const int64_t step = (int64_t)(at - op->last);
        if (op->votes == 0) {
            op->stride = step;
        }
        op->votes += step == op->stride ? 1 : -1; /* the majority remains */
        op->steps++;
    }
    op->last = at;
    op->executions++;
}

static bool together(const struct carm_body_op *a, const struct carm_body_op *b)
{
    if (a->op.base == b->op.base && a->op.index == b->op.index && a->op.scale == b->op.scale) {
        return llabs(a->op.displacement - b->op.displacement) < stream_bytes;
    }
    return a->stride && a->stride == b->stride &&
           llabs((int64_t)(a->first - b->first)) < stream_bytes;
}

void carm_body_observed(struct carm_body *body)
{
    for (size_t i = 0; i < body->n; i++) {
        struct carm_body_op *op = &body->ops[i];
        /* votes for the stride less votes against it */
        if (op->steps < 4 || (double)op->votes < (2.0 * constant_share - 1.0) * (double)op->steps) {
            op->stride = 0;
        }
        body->forwards =
            body->forwards ||
            ((double)op->forwarded > forwarded_least * (double)op->executions &&
             (op->from == i || depends(body, op->from, reads_of(&body->ops[op->from].op), i)));
    }
    for (size_t i = 0; i < body->n; i++) {
        struct carm_body_op *op = &body->ops[i];
        if (!op->varies || !op->executions) {
            continue;
        }
        for (size_t k = 0; k < i && !op->stream; k++) {
            op->stream =
                body->ops[k].stream && together(&body->ops[k], op) ? body->ops[k].stream : 0;
        }
        if (!op->stream && body->streams < CARM_BODY_STREAMS) {
            op->stream = ++body->streams;
        }
    }
}
