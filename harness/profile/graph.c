/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/profile/graph.h"

#include <stdlib.h>
#include <string.h>

enum {
    STEPS_MAX = 24000,    /* most instructions that are executed */
    ITERATIONS_MAX = 128, /* most iterations; chains over several iterations show in fewer */
    WINDOWS_MAX = 2048,   /* iterations with a window; small windows fill late */
    ITERATIONS_MIN = 8,
    TERMS = 4,       /* unknown numbers in an address */
    SLOTS = 1 << 16, /* of memory: more than twice STEPS_MAX */
    LINES = 32,      /* latest lines that loads bring: more than most iterations bring */
    LINE = 64,
    NEVER = -1,
};

/* ---- numbers ---- */

/* A sum of unknown numbers, times constants, and a constant. Terms are in order of their numbers. */
struct sum {
    uint8_t n;
    struct {
        uint32_t of;
        int64_t times;
    } terms[TERMS];
    int64_t constant;
};

static bool same_terms(const struct sum *a, const struct sum *b)
{
    bool same = a->n == b->n;
    for (uint8_t i = 0; i < a->n && same; i++) {
        same = a->terms[i].of == b->terms[i].of && a->terms[i].times == b->terms[i].times;
    }
    return same;
}

static bool same(const struct sum *a, const struct sum *b)
{
    return a->constant == b->constant && same_terms(a, b);
}

static int64_t wrapped_product(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static int64_t wrapped_sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* a += times x b. returns false when the sum has too many terms */
static bool add(struct sum *a, const struct sum *b, int64_t times)
{
    struct sum out = {.constant = wrapped_sum(a->constant, wrapped_product(times, b->constant))};
    uint8_t i = 0, k = 0;
    while (i < a->n || k < b->n) {
        const bool left = k == b->n || (i < a->n && a->terms[i].of <= b->terms[k].of);
        const bool right = i == a->n || (k < b->n && b->terms[k].of <= a->terms[i].of);
        const uint32_t of = left ? a->terms[i].of : b->terms[k].of;
        int64_t n = left ? a->terms[i++].times : 0;
        n = wrapped_sum(n, right ? wrapped_product(times, b->terms[k++].times) : 0);
        if (n && out.n == TERMS) {
            return false;
        }
        if (n) {
            out.terms[out.n].of = of;
            out.terms[out.n++].times = n;
        }
    }
    *a = out;
    return true;
}

/* ---- the simulated core's state ---- */

/* The time at which a result is ready, and the step that produced it. */
struct ready {
    double cycles;
    int step;
};

struct step {
    uint32_t op;
    int before;          /* the step for which this step waited longest */
    float load, compute; /* cycles that the step added to the chain: of memory, of its unit */
    uint8_t load_class;
};

/* Memory at an address. */
struct slot {
    bool used, has_value;
    uint8_t segment;
    uint16_t bytes; /* bytes stored; 0 = only loaded */
    uint32_t epoch; /* machine.epoch of the store */
    struct sum address, value;
    struct ready ready;
};

/* A line that a load brings. */
struct line {
    uint8_t segment;
    struct sum address; /* of the load */
    struct ready ready; /* when the line is there */
};

struct machine {
    const struct carm_flow_code *code;
    const struct carm_graph_latencies *latencies;
    struct carm_graph *graph;
    struct ready ready[CARM_REG_COUNT];
    struct sum values[CARM_REG_VECTOR];
    struct slot *slots;
    uint32_t epoch; /* inner loops passed that may have stored anywhere */
    struct line lines[LINES];
    unsigned nlines;  /* lines brought so far; the table has the latest ones */
    uint32_t unknown; /* unknown numbers so far */
    bool *loaded;     /* [STEPS_MAX x 2 + ...] whether an unknown number was loaded */
    struct step *steps;
    int nsteps;
    struct sum flags;              /* the number whose sign and zero the flags show */
    struct ready last;             /* the last result of the current iteration to be ready */
    struct sum *addresses, *moves; /* [nops] address of the latest execution, and its distance
                                    * from the one before */
    uint8_t *seen;                 /* [nops] times, at most 3 */
    /* [2 x npieces + ndoors] jumps owed: error diffusion of branches, of indirect jumps, and of the exits of inner loops */
    double *walked;
    double targeted; /* executions of all pieces that indirect jumps go to */
    double straddles;
    uint32_t *linked; /* [nops] times on the chain */
    /* with a window: when each step left in order, and when each on vectors began */
    const struct carm_graph_window *window; /* NULL = any number of instructions in flight */
    double *left, *began;                   /* [STEPS_MAX] */
    int nbegan;
    double entered;
    /* cycle in which the latest instruction entered, and the instructions that entered in it */
    double cycles;
    unsigned together, integers;
    unsigned top; /* of the x87 stack, which grows down */
};

static struct sum unknown(struct machine *m, bool loaded)
{
    struct sum v = {.n = 1};
    v.terms[0].of = m->unknown;
    v.terms[0].times = 1;
    m->loaded[m->unknown++] = loaded;
    return v;
}

static struct sum constant(int64_t number)
{
    return (struct sum){.constant = number};
}

static struct slot *slot_of(struct machine *m, const struct sum *address, uint8_t segment)
{
    uint64_t hash = (uint64_t)address->constant * UINT64_C(0x9e3779b97f4a7c15) + segment;
    for (uint8_t i = 0; i < address->n; i++) {
        hash ^= (hash >> 29) + address->terms[i].of * UINT64_C(0xbf58476d1ce4e5b9) +
                (uint64_t)address->terms[i].times * UINT64_C(0x94d049bb133111eb);
        hash *= UINT64_C(0x9e3779b97f4a7c15);
    }
    uint64_t at = hash >> 40;
    while (true) {
        struct slot *s = &m->slots[at++ % SLOTS];
        if (!s->used || (s->segment == segment && same(&s->address, address))) {
            return s;
        }
    }
}

static bool is_stored(const struct machine *m, const struct slot *s)
{
    return s->used && s->bytes && s->epoch == m->epoch;
}

static const struct slot *stored_near(struct machine *m, const struct sum *address, uint8_t segment,
                                      int64_t offset)
{
    struct sum at = *address;
    at.constant = wrapped_sum(at.constant, offset);
    const struct slot *s = slot_of(m, &at, segment);
    return is_stored(m, s) ? s : NULL;
}

static struct sum address_of(struct machine *m, const struct carm_flow_op *op)
{
    struct sum a = constant(op->displacement);
    bool fits = true;
    if (op->base != CARM_REG_NONE) {
        fits = add(&a, &m->values[op->base], 1);
    }
    if (op->index != CARM_REG_NONE) {
        fits = fits && add(&a, &m->values[op->index], op->scale);
    }
    return fits && !(op->flags & CARM_OPCODE_GATHER) ? a : unknown(m, true);
}

/* ---- how addresses move ---- */

static bool made_of_loads(const struct machine *m, const struct sum *address)
{
    bool any = false;
    for (uint8_t i = 0; i < address->n; i++) {
        any |= m->loaded[address->terms[i].of];
    }
    return any;
}

static void note_address(struct machine *m, uint32_t i, const struct sum *address)
{
    struct carm_graph_access *a = &m->graph->accesses[i];
    struct sum move = *address;
    if (m->seen[i] > 0 && add(&move, &m->addresses[i], -1)) {
        if (move.n == 0) {
            a->pattern = CARM_PATTERN_STRIDE;
            a->stride = move.constant;
        } else if (m->seen[i] > 1 && same(&move, &m->moves[i])) {
            a->pattern = CARM_PATTERN_REGULAR;
        } else if (m->seen[i] > 1) {
            a->pattern = made_of_loads(m, address) ? CARM_PATTERN_INDIRECT : CARM_PATTERN_COMPUTED;
        }
        m->moves[i] = move;
    } else if (m->seen[i] > 0) {
        a->pattern = CARM_PATTERN_COMPUTED;
    }
    m->addresses[i] = *address;
    m->seen[i] = (uint8_t)(m->seen[i] < 3 ? m->seen[i] + 1 : 3);
}

/* ---- one instruction ---- */

static struct ready later(struct ready a, struct ready b)
{
    return b.cycles > a.cycles ? b : a;
}

/* Whether a core that renames memory takes the load from the stored register: mov to a whole register, pop, or a number
 * that is stored again. Measured on Zen 4: 1 cycle; 6 to 7 for add eax, [m], movsxd and movzx. */
static bool is_plain(const struct carm_flow_op *op)
{
    const unsigned whole = op->precision == CARM_OPCODE_INT64 ? 8 : 4;
    return op->stores || (op->flags & CARM_OPCODE_STACK) != 0 ||
           (op->value == CARM_VALUE_LOAD && op->load_bytes == whole);
}

/* A load of a line that an earlier load brings waits as long as the earlier load: objects have several fields. Two
 * loads are of one line if their addresses are known to differ by less than a line.
 * beyond  cycles that the load's own misses take
 * own     when the load's bytes are ready without the earlier load
 * returns when the load's bytes are ready */
static struct ready share_line(struct machine *m, const struct sum *address, uint8_t segment,
                               double beyond, struct ready own)
{
    struct ready out = own;
    const unsigned n = m->nlines < LINES ? m->nlines : LINES;
    for (unsigned i = 0; i < n; i++) {
        const struct line *line = &m->lines[i];
        const uint64_t apart = (uint64_t)address->constant - (uint64_t)line->address.constant;
        if (apart + LINE - 1 < 2 * LINE - 1 && line->segment == segment &&
            same_terms(&line->address, address)) {
            out = later(out, line->ready);
        }
    }
    if (beyond > 0.0 && out.step == own.step) {
        m->lines[m->nlines++ % LINES] = (struct line){
            .segment = segment, .address = *address, .ready = {own.cycles, m->nsteps}};
    }
    return out;
}

/* The time at which a load's bytes are ready, and the step that produced them. */
static struct ready load(struct machine *m, const struct carm_flow_op *op, uint32_t i,
                         const struct sum *address, struct ready from, struct step *step)
{
    const struct carm_graph_latencies *l = m->latencies;
    const double beyond = l->beyond ? l->beyond[i] : 0.0;
    struct ready out = from;
    const struct slot *s = slot_of(m, address, op->segment);
    bool straddles = false;
    step->load_class = CARM_OPCODE_LOAD;
    const double first = op->index != CARM_REG_NONE ? l->load + l->indexed : l->load;
    step->load = (float)((op->width != CARM_OPCODE_GP ? l->load_vector : first) + beyond);
    out.cycles += (double)step->load;
    if (l->beyond) {
        out = share_line(m, address, op->segment, beyond, out);
        step->load = out.step == from.step ? step->load : 0.0F;
    }
    const struct slot *source = is_stored(m, s) ? s : NULL;
    if (source) {
        straddles = op->load_bytes > source->bytes;
    } else {
        for (int64_t off = 1; off < 64 && !source; off *= 2) {
            const struct slot *before = stored_near(m, address, op->segment, -off);
            const struct slot *behind =
                off < op->load_bytes ? stored_near(m, address, op->segment, off) : NULL;
            if (before && off < before->bytes) {
                source = before;
                straddles = off + op->load_bytes > before->bytes;
            } else if (behind) {
                source = behind;
                straddles = true;
            }
        }
    }
    if (!source) {
        return out;
    }
    const double cycles = straddles                     ? l->forward_straddling
                          : op->width != CARM_OPCODE_GP ? l->forward_vector
                          : is_plain(op)                ? l->forward
                                                        : l->forward_part;
    if (straddles) {
        m->straddles += 1.0;
        m->graph->accesses[i].straddles = true;
    }
    if (source->ready.cycles + cycles > out.cycles) {
        out = (struct ready){source->ready.cycles + cycles, source->ready.step};
        step->load = (float)cycles;
        step->load_class = straddles ? CARM_OPCODE_FORWARD_STRADDLING : CARM_OPCODE_FORWARD;
    }
    return out;
}

/* Sets the values of registers and memory after an instruction. memory: loaded value; stored
 * out: stored value */
static void move_values(struct machine *m, const struct carm_flow_op *op, const struct sum *memory,
                        const struct sum *address, struct sum *stored, bool *stores_value)
{
    struct sum v = op->from != CARM_REG_NONE ? m->values[op->from] : constant(op->number);
    struct sum result;
    bool known = true;
    *stores_value = false;
    for (uint8_t i = 0; i < op->nwrites && op->value != CARM_VALUE_COMPARE; i++) {
        if (op->writes[i] == CARM_REG_FLAGS) { /* of vectors, of masks, of parts of registers */
            m->flags = unknown(m, true);
        }
    }
    if (op->flags &
        CARM_OPCODE_CALL) { /* of the registers that a function may change: x86-64 psABI, 3.2.1 */
        static const uint8_t changed[] = {0, 1, 2, 6, 7, 8, 9, 10, 11};
        for (size_t i = 0; i < sizeof changed; i++) {
            m->values[changed[i]] = unknown(m, true);
        }
        return;
    }
    switch (op->value) {
    case CARM_VALUE_KEPT:
        return;
    case CARM_VALUE_SET:
        m->values[op->to] = constant(op->number);
        return;
    case CARM_VALUE_MOVE:
        m->values[op->to] = v;
        return;
    case CARM_VALUE_LOAD:
        m->values[op->to] = *memory;
        return;
    case CARM_VALUE_STORE:
        *stored = v;
        *stores_value = true;
        return;
    case CARM_VALUE_ADD:
        result = m->values[op->to];
        known = add(&result, &v, op->from != CARM_REG_NONE ? op->sign : 1);
        m->values[op->to] = known ? result : unknown(m, made_of_loads(m, &v));
        m->flags = m->values[op->to];
        return;
    case CARM_VALUE_ADD_LOAD:
        result = m->values[op->to];
        known = add(&result, memory, op->sign);
        m->values[op->to] = known ? result : unknown(m, true);
        return;
    case CARM_VALUE_ADD_STORE:
        result = *memory;
        known = add(&result, &v, op->from != CARM_REG_NONE ? op->sign : 1);
        *stored = known ? result : unknown(m, true);
        *stores_value = true;
        m->flags = *stored;
        return;
    case CARM_VALUE_LEA:
        m->values[op->to] = *address;
        return;
    case CARM_VALUE_COMPARE:
        result = op->to != CARM_REG_NONE ? m->values[op->to] : *memory;
        v = op->to != CARM_REG_NONE && op->loads ? *memory : v;
        known = add(&result, &v, -1);
        m->flags = known ? result : unknown(m, true);
        return;
    case CARM_VALUE_SHIFT:
        result = constant(0);
        known = op->number >= 0 && op->number < 63 &&
                add(&result, &m->values[op->to], (int64_t)(UINT64_C(1) << op->number));
        m->values[op->to] = known ? result : unknown(m, false);
        return;
    default:
        break;
    }
    /* another operation: its result counts as loaded when one of its operands does */
    bool loaded = op->loads;
    for (uint8_t i = 0; i < op->nreads; i++) {
        loaded |= op->reads[i] < CARM_REG_VECTOR && made_of_loads(m, &m->values[op->reads[i]]);
        loaded |= op->reads[i] >= CARM_REG_VECTOR && op->reads[i] < CARM_REG_FLAGS;
    }
    for (uint8_t i = 0; i < op->nwrites; i++) {
        if (op->writes[i] < CARM_REG_VECTOR) {
            m->values[op->writes[i]] = unknown(m, loaded);
        }
    }
}

static double latency_of(const struct carm_graph_latencies *l, const struct carm_flow_op *op)
{
    return l->of[op->class][op->width][op->precision];
}

/* Lets an instruction enter, in order. */
static void dispatch(struct machine *m, const struct carm_flow_op *op)
{
    const struct carm_graph_latencies *l = m->latencies;
    const bool jumps = (op->flags & (CARM_OPCODE_BRANCH | CARM_OPCODE_JUMP)) != 0;
    const unsigned integers = l->integer[op->class] || jumps ? 1 : 0;
    if (op->flags & CARM_OPCODE_FUSED || !(l->dispatch_integers > 0.0)) {
        return;
    }
    for (unsigned i = 0; i < op->slots; i++) {
        const unsigned more = i == 0 ? integers : 0;
        if (m->together + 1 > l->dispatch || m->integers + more > l->dispatch_integers) {
            m->cycles += 1.0;
            m->together = m->integers = 0;
        }
        m->together++;
        m->integers += more;
    }
}

/* The earliest cycle in which an instruction can enter the core. */
static double enter(struct machine *m, const struct carm_flow_op *op)
{
    const struct carm_graph_window *w = m->window;
    const int reorder = (int)w->reorder, queue = (int)w->vector_queue;
    const bool waits = op->width != CARM_OPCODE_GP && op->class != CARM_OPCODE_NONE;
    m->entered += w->width > 0.0 && !(op->flags & CARM_OPCODE_FUSED) ? op->slots / w->width : 0.0;
    if (reorder && m->nsteps >= reorder && m->left[m->nsteps - reorder] > m->entered) {
        m->entered = m->left[m->nsteps - reorder];
    }
    if (queue && waits && m->nbegan >= queue && m->began[m->nbegan - queue] > m->entered) {
        m->entered = m->began[m->nbegan - queue];
    }
    return m->entered;
}

/* Notes the cycles at which a step begins and ends. */
static void leave(struct machine *m, const struct carm_flow_op *op, double begin, double end)
{
    const double before = m->nsteps ? m->left[m->nsteps - 1] : 0.0;
    m->left[m->nsteps] = end > before ? end : before;
    if (op->width != CARM_OPCODE_GP && op->class != CARM_OPCODE_NONE) {
        m->began[m->nbegan++] = begin;
    }
}

/* The register with a number; x87 numbers are places relative to the top of the stack. */
static uint8_t renamed(const struct machine *m, uint8_t reg)
{
    return reg < CARM_REG_X87 || reg >= CARM_REG_COUNT
               ? reg
               : (uint8_t)(CARM_REG_X87 + (reg - CARM_REG_X87 + m->top) % 8);
}

static void execute(struct machine *m, uint32_t i)
{
    const struct carm_flow_op *op = &m->code->ops[i];
    struct step *step = &m->steps[m->nsteps];
    const double entered = m->window ? enter(m, op) : 0.0;
    struct ready at = {entered, NEVER};
    struct ready in = {entered, NEVER};
    struct sum address = {0}, memory = {0}, stored = {0};
    bool stores_value = false;
    *step = (struct step){.op = i, .before = NEVER};
    const bool has_memory = op->loads || op->stores || op->value == CARM_VALUE_LEA;
    if (has_memory) {
        address = address_of(m, op);
        at = op->base != CARM_REG_NONE ? later(at, m->ready[op->base]) : at;
        at = op->index != CARM_REG_NONE ? later(at, m->ready[op->index]) : at;
        if (op->base == CARM_REG_GP + 4 && (op->flags & CARM_OPCODE_STACK)) {
            at = (struct ready){entered, NEVER};
        }
    }
    if (op->loads || op->stores) {
        note_address(m, i, &address);
    } else if (op->flags & CARM_OPCODE_BRANCH) {
        note_address(m, i, &m->flags);
    }
    for (uint8_t k = 0; k < op->nreads; k++) {
        in = later(in, m->ready[renamed(m, op->reads[k])]);
    }
    if (op->loads) {
        const struct ready loaded = load(m, op, i, &address, at, step);
        if (!(loaded.cycles >= in.cycles)) {
            step->load = 0.0F;
        }
        in = loaded.cycles >= in.cycles ? loaded : in;
        struct slot *s = slot_of(m, &address, op->segment);
        if (!s->used) {
            *s = (struct slot){
                .used = true, .has_value = true, .segment = op->segment, .address = address};
            s->value = unknown(m, true);
        }
        if (!s->has_value) {
            s->value = unknown(m, true);
            s->has_value = true;
        }
        memory = s->value;
    } else if (op->value == CARM_VALUE_LEA) {
        in = later(in, at);
    }
    dispatch(m, op);
    step->before = in.step;
    step->compute = (float)latency_of(m->latencies, op);
    const struct ready out = {in.cycles + (double)step->compute, m->nsteps};
    if (m->window) {
        leave(m, op, in.cycles, out.cycles);
    }
    move_values(m, op, &memory, &address, &stored, &stores_value);
    if (op->stores) {
        struct slot *s = slot_of(m, &address, op->segment);
        m->graph->accesses[i].updates = s->used;
        *s = (struct slot){.used = true,
                           .has_value = stores_value,
                           .segment = op->segment,
                           .bytes = op->store_bytes ? op->store_bytes : 8,
                           .epoch = m->epoch,
                           .address = address,
                           .value = stored,
                           .ready = out};
    }
    m->top += op->pushes > 0 ? 7U : 0U;
    if (op->flags & CARM_OPCODE_EXCHANGE && op->nwrites >= 2) {
        struct ready *a = &m->ready[renamed(m, op->writes[0])];
        struct ready *b = &m->ready[renamed(m, op->writes[1])];
        const struct ready kept = *a;
        *a = *b;
        *b = kept;
    }
    for (uint8_t k = 0; k < op->nwrites && !(op->flags & CARM_OPCODE_EXCHANGE); k++) {
        m->ready[renamed(m, op->writes[k])] = out;
    }
    m->top += op->pushes < 0 ? (unsigned)-op->pushes : 0U;
    if (op->nwrites || op->stores) {
        m->last = later(m->last, out);
    }
    m->nsteps++;
}

/* ---- iterations ---- */

/* The piece to which an indirect jump goes: the target that is most behind its share of executions in the run. NULL =
 * none is known */
static const struct carm_code_piece *jump(struct machine *m)
{
    const struct carm_flow_code *code = m->code;
    double *owed = m->walked + code->npieces;
    size_t to = 0;
    if (!(m->targeted > 0.0)) {
        return NULL;
    }
    for (size_t i = 0; i < code->npieces; i++) {
        owed[i] += carm_code_is_target(code, i) ? code->pieces[i].executions / m->targeted : 0.0;
        to = owed[i] > owed[to] ? i : to;
    }
    owed[to] -= 1.0;
    return &code->pieces[to];
}

/* The code at an address: a piece, or an inner loop. Neither: the iteration ends. */
struct place {
    const struct carm_code_piece *piece;
    const struct carm_code_door *door;
};

static struct place place_at(const struct carm_flow_code *code, uint64_t at)
{
    struct place out = {.piece = carm_code_at(code, at)};
    for (size_t i = 0; i < code->ndoors && !out.piece && !out.door; i++) {
        const struct carm_code_door *d = &code->doors[i];
        out.door = d->at == at && !d->out ? d : NULL;
    }
    return out;
}

/* Passes an inner loop: registers and memory that it changes are ready afterwards. Their values are kept, since
 * addresses mostly go on as before.
 * returns the piece after it: the exit that is most behind its share of executions; NULL = the iteration ends */
static const struct carm_code_piece *pass(struct machine *m, size_t gap)
{
    const struct carm_flow_code *code = m->code;
    const struct carm_code_gap *g = &code->gaps[gap];
    double *owed = m->walked + 2 * code->npieces;
    double all = 0.0;
    size_t to = code->ndoors;
    for (int i = 0; i < CARM_REG_COUNT; i++) {
        m->ready[i] = g->writes[i] ? (struct ready){0.0, NEVER} : m->ready[i];
    }
    m->epoch += g->stores ? 1 : 0;
    for (size_t i = 0; i < code->ndoors; i++) {
        all += code->doors[i].gap == gap && code->doors[i].out ? code->doors[i].times : 0.0;
    }
    for (size_t i = 0; i < code->ndoors && all > 0.0; i++) {
        if (code->doors[i].gap == gap && code->doors[i].out) {
            owed[i] += code->doors[i].times / all;
            to = to == code->ndoors || owed[i] > owed[to] ? i : to;
        }
    }
    if (to == code->ndoors) {
        return NULL;
    }
    owed[to] -= 1.0;
    return carm_code_at(code, code->doors[to].at);
}

/* The piece that follows. Each side of a branch is taken in the proportion of the run. NULL =
 * the iteration ends. */
static const struct carm_code_piece *next(struct machine *m, const struct carm_code_piece *p)
{
    const struct carm_flow_code *code = m->code;
    const size_t i = (size_t)(p - code->pieces);
    const struct place none = {.piece = NULL};
    const struct place to = p->jumps ? place_at(code, p->target) : none;
    const struct place on = p->falls ? place_at(code, p->end) : none;
    const bool jumps = to.piece || to.door, falls = on.piece || on.door;
    struct place then = jumps ? to : on;
    if (jumps && falls) {
        const double share =
            p->taken >= 0.0 && p->executions > 0.0 ? p->taken / p->executions : 0.5;
        m->walked[i] += share;
        const bool taken = m->walked[i] >= 1.0 - 1e-9;
        m->walked[i] -= taken ? 1.0 : 0.0;
        then = taken ? to : on;
    } else if (p->indirect) {
        const struct carm_code_piece *target = jump(m);
        then.piece = target ? target : then.piece;
    }
    if (!then.piece && !then.door && i + 1 < code->npieces && !p->jumps) {
        then.piece = &code->pieces[i + 1]; /* after an indirect jump */
    }
    return then.door ? pass(m, then.door->gap) : then.piece;
}

/* Executes one iteration. returns false when there is no room for more steps */
static bool iterate(struct machine *m)
{
    const struct carm_code_piece *p = carm_code_at(m->code, m->code->at);
    p = p ? p : m->code->pieces;
    for (size_t n = 0; p && n <= 2 * m->code->npieces; n++) {
        for (size_t i = 0; i < p->n; i++) {
            if (m->nsteps == STEPS_MAX) {
                return false;
            }
            execute(m, (uint32_t)(p->first + i));
        }
        const struct carm_code_piece *to = next(m, p);
        p = to && to->at != m->code->at ? to : NULL;
    }
    return true;
}

/* Follows the chain from a result back to step `until`, and adds its steps to the graph, divided
 * by the number of iterations. */
static void follow(struct machine *m, const struct ready *from, int until, double iterations)
{
    struct carm_graph *g = m->graph;
    for (int at = from->step; at >= until; at = m->steps[at].before) {
        const struct step *s = &m->steps[at];
        const struct carm_flow_op *op = &m->code->ops[s->op];
        g->of[op->class] += (double)s->compute / iterations;
        m->linked[s->op] += s->load > 0.0F ? 1 : 0;
        if (s->load > 0.0F) {
            g->of[s->load_class] += (double)s->load / iterations;
        }
        g->links += 1.0 / iterations;
    }
    for (size_t i = 0; i < m->code->nops; i++) { /* leaves out instructions that only led to the
                                                  * last result */
        g->accesses[i].on_chain = 2.0 * m->linked[i] >= iterations;
    }
}

static void run(struct machine *m)
{
    static const double hardly = 1e-6; /* cycles, far above the rounding errors of the sums */
    struct ready last[ITERATIONS_MAX + 1];
    int steps[ITERATIONS_MAX + 1];
    double cycles[ITERATIONS_MAX + 1] = {0.0};
    int n = 0;
    last[0] = (struct ready){0.0, NEVER};
    steps[0] = 0;
    while (n < ITERATIONS_MAX && iterate(m)) {
        n++;
        last[n] = m->last;
        steps[n] = m->nsteps;
        cycles[n] = m->cycles;
    }
    if (n < ITERATIONS_MIN) {
        return;
    }
    const int half = n / 2;
    m->graph->dispatched = (cycles[n] - cycles[half]) / (n - half);
    m->graph->cycles = (last[n].cycles - last[half].cycles) / (n - half);
    m->graph->straddles = m->straddles / n;
    if (m->graph->cycles > hardly) {
        follow(m, &last[n], steps[half], n - half);
    } else {
        m->graph->cycles = 0.0;
    }
}

/* Begins the next entry of the loop: a register is ready when all registers are ready from which its value is
 * computed. */
static void begin_entry(struct machine *m)
{
    struct ready ready[CARM_REG_COUNT];
    for (int i = 0; i < CARM_REG_COUNT; i++) {
        ready[i] = (struct ready){0.0, NEVER};
        uint64_t from = m->code->carried[i];
        for (int k = 0; from; k++, from >>= 1) {
            ready[i] = from & 1 ? later(ready[i], m->ready[k]) : ready[i];
        }
    }
    memcpy(m->ready, ready, sizeof ready);
}

/* Measures the second half of the iterations, by the times at which their last instructions leave. */
static void run_window(struct machine *m)
{
    double ended[WINDOWS_MAX + 1] = {0.0};
    int n = 0;
    const size_t trips = m->window->trips;
    while (n < WINDOWS_MAX && iterate(m)) {
        n++;
        ended[n] = m->left[m->nsteps - 1];
        if (trips && (size_t)n % trips == 0) {
            begin_entry(m);
        }
    }
    /* whole entries */
    const int end = trips ? n - n % (int)trips : n;
    const int half = trips ? end / 2 - end / 2 % (int)trips : end / 2;
    if (end >= ITERATIONS_MIN && end > half) {
        m->graph->cycles = (ended[end] - ended[half]) / (end - half);
    }
}

static int open_graph(struct carm_graph *graph, const struct carm_flow_code *code,
                      const struct carm_graph_latencies *latencies,
                      const struct carm_graph_window *window, struct carm_err *err)
{
    struct machine m = {.code = code, .latencies = latencies, .graph = graph, .window = window};
    int rc = 0;
    memset(graph, 0, sizeof *graph);
    const size_t n = code->nops + 1;
    graph->accesses = calloc(n, sizeof *graph->accesses);
    m.slots = calloc(SLOTS, sizeof *m.slots);
    m.loaded = calloc(10 * (size_t)STEPS_MAX + CARM_REG_COUNT, sizeof *m.loaded);
    m.steps = calloc(STEPS_MAX, sizeof *m.steps);
    m.addresses = calloc(2 * n, sizeof *m.addresses);
    m.seen = calloc(n, sizeof *m.seen);
    m.linked = calloc(n, sizeof *m.linked);
    m.walked = calloc(2 * code->npieces + code->ndoors + 1, sizeof *m.walked);
    m.left = window ? calloc(2 * (size_t)STEPS_MAX, sizeof *m.left) : NULL;
    if (!graph->accesses || !m.slots || !m.loaded || !m.steps || !m.addresses || !m.seen ||
        !m.linked || !m.walked || (window && !m.left)) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for a loop's dependences");
    } else if (code->npieces) {
        m.began = window ? m.left + STEPS_MAX : NULL;
        m.moves = m.addresses + n;
        for (size_t i = 0; i < code->npieces; i++) {
            m.targeted += carm_code_is_target(code, i) ? code->pieces[i].executions : 0.0;
        }
        for (int i = 0; i < CARM_REG_VECTOR; i++) {
            m.values[i] = unknown(&m, false);
        }
        for (int i = 0; i < CARM_REG_COUNT; i++) {
            m.ready[i] = (struct ready){0.0, NEVER};
        }
        m.last = m.ready[0];
        if (window) {
            run_window(&m);
        } else {
            run(&m);
        }
    }
    free(m.slots);
    free(m.loaded);
    free(m.steps);
    free(m.addresses);
    free(m.seen);
    free(m.linked);
    free(m.walked);
    free(m.left);
    if (rc) {
        carm_graph_close(graph);
    }
    return rc;
}

int carm_graph_open(struct carm_graph *graph, const struct carm_flow_code *code,
                    const struct carm_graph_latencies *latencies, struct carm_err *err)
{
    return open_graph(graph, code, latencies, NULL, err);
}

int carm_graph_window(double *cycles, const struct carm_flow_code *code,
                      const struct carm_graph_latencies *latencies,
                      const struct carm_graph_window *window, struct carm_err *err)
{
    struct carm_graph graph;
    const int rc = open_graph(&graph, code, latencies, window, err);
    *cycles = rc ? 0.0 : graph.cycles;
    if (!rc) {
        carm_graph_close(&graph);
    }
    return rc;
}

bool carm_graph_is_sum(const struct carm_graph *graph)
{
    static const enum carm_opcode_class kinds[] = {
        CARM_OPCODE_FP_ADD,  CARM_OPCODE_FP_MUL,      CARM_OPCODE_FP_FMA, CARM_OPCODE_FP_MAX,
        CARM_OPCODE_INT_ADD, CARM_OPCODE_VEC_INT_ADD, CARM_OPCODE_INT_MUL};
    static const double nearly =
        0.95; /* share of the chain's cycles, since a register move may take some; chosen by hand */
    bool sums = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        sums = sums || graph->of[kinds[i]] >= nearly * graph->cycles;
    }
    return sums;
}

void carm_graph_close(struct carm_graph *graph)
{
    free(graph->accesses);
    memset(graph, 0, sizeof *graph);
}
