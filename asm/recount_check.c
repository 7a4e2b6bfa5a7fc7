/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "asm/decode.h"
#include "asm/gen.h"
#include "asm/recount.h"

enum { REGISTERS = 32 };

/* The instructions of each operation, written down a second time, independent of the generator's
 * table: for each turn the instruction, and which of the two constants are its operands. */
struct turn {
    enum carm_insn_role role;
    unsigned operands;      /* beside the chain: 0 to 2 */
    unsigned first, second; /* of the two constants, 0 or 1 */
};
#define FUSED(role, a, b)         \
    {                             \
        CARM_INSN_##role, 2, a, b \
    }
#define PLAIN(role, a)            \
    {                             \
        CARM_INSN_##role, 1, a, 0 \
    }
static const struct {
    unsigned n;     /* turns */
    unsigned flops; /* of all turns, for each lane */
    bool mixture;
    int row; /* of the first constant */
    struct turn turns[CARM_TURNS_MAX];
} ops[CARM_OP_COUNT] = {
    [CARM_FMA] = {2, 4, false, CARM_ROW_FMA, {FUSED(FMA, 0, 1), FUSED(FNMA, 0, 1)}},
    [CARM_MAD] = {2, 2, false, CARM_ROW_MAD, {PLAIN(MUL, 0), PLAIN(ADD, 1)}},
    [CARM_ADD] = {2, 2, false, CARM_ROW_ADD, {PLAIN(ADD, 0), PLAIN(ADD, 1)}},
    [CARM_MUL] = {2, 2, false, CARM_ROW_MUL, {PLAIN(MUL, 0), PLAIN(MUL, 1)}},
    [CARM_DIV] = {2, 2, false, CARM_ROW_MUL, {PLAIN(DIV, 0), PLAIN(DIV, 1)}},
    [CARM_SQRT] = {2, 2, false, CARM_ROW_FMA, {PLAIN(SQRT, 0), PLAIN(SQRT, 1)}},
    [CARM_FMA_ADD] = {2, 3, true, CARM_ROW_FMA_ADD, {FUSED(FMA, 0, 0), PLAIN(ADD, 1)}},
    [CARM_FMA2_ADD] =
        {3, 5, true, CARM_ROW_FMA2_ADD, {FUSED(FMA, 0, 0), FUSED(FMA, 0, 0), PLAIN(ADD, 1)}},
    [CARM_LOGIC] = {2, 2, false, CARM_ROW_ADD, {PLAIN(AND, 0), PLAIN(OR, 1)}},
    [CARM_DOT] = {2, 4, false, CARM_ROW_ADD, {FUSED(DOT, 0, 0), FUSED(DOT, 0, 1)}},
    [CARM_IFMA] = {2, 4, false, CARM_ROW_MUL, {FUSED(MADD52, 0, 1), FUSED(MADD52, 0, 1)}},
    [CARM_POPCNT] =
        {2, 2, false, CARM_ROW_ADD, {{CARM_INSN_POPCNT, 0, 0, 0}, {CARM_INSN_POPCNT, 0, 0, 0}}},
};
/* turns of tiles, which have only dot products: X Y = -Y X (asm/gen.c) */
static const struct turn tile_turns[] = {FUSED(DOT, 0, 1), FUSED(DOT, 1, 0)};
enum { TILE_ROWS = 16, TILE_COLUMNS = 16, SHAPE_BYTES = 64 };
#undef FUSED
#undef PLAIN

/* One code being compared with its specification. */
struct check {
    const struct carm_code_spec *spec;
    const uint8_t *image;
    size_t size;
    struct carm_err *err;
    char name[CARM_CODE_NAME_MAX];
    unsigned vector_bytes, element_bytes;
    bool mix, flops, vex, tiles;
    bool random; /* kind R: carm_recount has checked its addresses */
    /* numbers of instructions of the loop that were read so far */
    unsigned accesses, loads, stores, prefetches, ints;
    unsigned constants_loaded; /* by the setup */
    unsigned fps[REGISTERS];   /* FP instructions of each chain */
    unsigned first_turn[REGISTERS];
    unsigned chains;
    int constants[2]; /* vector registers of the two constants, -1 = not seen */
};

static const struct {
    const char *name;
    size_t at;
} fields[] = {
#define FIELD(f)                             \
    {                                        \
#f, offsetof(struct carm_account, f) \
    }
    FIELD(loads),
    FIELD(load_bytes),
    FIELD(stores),
    FIELD(store_bytes),
    FIELD(nt_stores),
    FIELD(fp_instructions),
    FIELD(flops),
    FIELD(prefetches),
    FIELD(int_instructions),
    FIELD(instructions),
    FIELD(stride_bytes),
    FIELD(setup_loads),
    FIELD(setup_load_bytes),
#undef FIELD
};
_Static_assert(sizeof fields / sizeof *fields * sizeof(uint64_t) == sizeof(struct carm_account),
               "every field of an account is compared");

static int compare(const struct check *c, const struct carm_account *recount,
                   const struct carm_account *other, const char *whose)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        uint64_t a = 0;
        uint64_t b = 0;
        memcpy(&a, (const char *)recount + fields[i].at, sizeof a);
        memcpy(&b, (const char *)other + fields[i].at, sizeof b);
        if (a != b) {
            return carm_fail(c->err, CARM_EFORMAT,
                             "code %s: its bytes have %s = %llu, its %s says %llu", c->name,
                             fields[i].name, (unsigned long long)a, whose, (unsigned long long)b);
        }
    }
    return 0;
}

/* The division of the streams among loads and stores, derived again from the specification. */
struct arrays {
    unsigned n; /* streams, 1 at least */
    unsigned loads,
        stores; /* of n streams: number that is loaded, number that is stored; if accesses go
                             * to all streams in turn, both are n */
    bool turns;
};

static struct arrays arrays_of(const struct check *c)
{
    const struct carm_mix *m = &c->spec->mix;
    const unsigned n = c->spec->streams > 1 ? c->spec->streams : 1;
    if (n == 1 || (m->update && m->loads == 1) || m->loads == 0 || m->stores == 0) {
        return (struct arrays){n, n, n, true};
    }
    if (m->update) { /* the last vector of a unit is updated */
        const unsigned plain = n * (m->loads - 1) / m->loads;
        return (struct arrays){n, plain, n - plain, false};
    }
    const unsigned loads = n * m->loads / (m->loads + m->stores);
    return (struct arrays){n, loads, n - loads, false};
}

/* Streams that are prefetched: all but the targets of non-temporal stores. */
static unsigned prefetched_streams(const struct check *c)
{
    const struct arrays a = arrays_of(c);
    return c->spec->mix.nontemporal && !a.turns ? a.loads : a.n;
}

static uint64_t prefetches(const struct check *c, uint64_t stride)
{
    return c->mix && c->spec->prefetch_bytes ? (stride + 63) / 64 * prefetched_streams(c) : 0;
}

/* The loop that a specification asks for, derived without the generator or its macros. */
static struct carm_account expected(const struct check *c)
{
    const struct carm_code_spec *s = c->spec;
    const uint64_t units = c->mix ? s->units : 0;
    const uint64_t lines = c->random ? s->units : 0;
    const uint64_t width = c->vector_bytes;
    const uint64_t slots = s->mix.update ? s->mix.loads : s->mix.loads + s->mix.stores;
    struct carm_account a = {.loads = units * s->mix.loads + lines * (64 / width),
                             .stores = units * s->mix.stores};
    a.load_bytes = a.loads * width;
    a.store_bytes = a.stores * width;
    a.nt_stores = s->mix.nontemporal ? a.stores : 0;
    a.fp_instructions = c->flops ? s->fps : 0;
    a.flops = a.fp_instructions / ops[s->op].n * ops[s->op].flops * (width / c->element_bytes) *
              (c->tiles ? TILE_COLUMNS : 1);
    a.stride_bytes = units * slots * width / arrays_of(c).n * (s->stride > 1 ? s->stride : 1);
    a.prefetches = prefetches(c, a.stride_bytes);
    a.int_instructions = s->ints;
    /* add, dec, jnz; kind R has no add, but imul, add, mov, shr and shl for each line */
    a.instructions = a.loads + a.stores + (s->mix.update ? units : 0) + a.fp_instructions +
                     a.int_instructions + a.prefetches + (c->random ? 5 * lines + 2 : 3);
    a.setup_loads = (c->flops ? s->chains + 2U : 0U) + (units && s->mix.stores ? 1U : 0U);
    a.setup_load_bytes = a.setup_loads * width + (c->tiles ? SHAPE_BYTES : 0);
    a.setup_loads += c->tiles ? 1 : 0;
    return a;
}

static int refuse(const struct check *c, const struct carm_insn *in, const char *why)
{
    char text[CARM_INSN_TEXT_MAX];
    carm_insn_text(c->image, c->size, in->offset, text);
    return carm_fail(c->err, CARM_EFORMAT, "code %s: offset 0x%llx, '%s': %s", c->name,
                     (unsigned long long)in->offset, text, why);
}

/* Checks that an instruction has the instruction set and the width of the specification. */
static int check_form(const struct check *c, const struct carm_insn *in)
{
    const enum carm_isa isa = c->spec->isa;
    bool good = false;
    switch (in->set) {
    case CARM_SET_BASE:
        good = true;
        break;
    case CARM_SET_AMX:
        good = c->tiles;
        break;
    case CARM_SET_SSE:
        good = !c->vex;
        break;
    case CARM_SET_AVX:
        good = c->vex && (isa != CARM_AVX512 || in->role == CARM_INSN_VZEROUPPER);
        break;
    case CARM_SET_FMA:
        good = c->vex && isa != CARM_AVX && isa != CARM_AVX512;
        break;
    case CARM_SET_AVX2:
        good = isa == CARM_AVX2;
        break;
    case CARM_SET_AVX512F:
        good = isa == CARM_AVX512;
        break;
    case CARM_SET_AVX512_MORE: /* operations of CARM_FORM_TABLE, which has their CPUID bits */
        good = isa == CARM_AVX512 && carm_precisions[c->spec->precision].forms &&
               in->role >= CARM_INSN_ADD && in->role < CARM_INSN_FLIP;
        break;
    }
    if (!good) {
        return refuse(c, in, "it is of another instruction set");
    }
    /* the exclusive or of a scalar update works on the whole register: no narrower one exists */
    const unsigned bytes = isa == CARM_SCALAR && in->role == CARM_INSN_FLIP ? 16 : c->vector_bytes;
    if (in->role >= CARM_INSN_LOAD && in->role <= CARM_INSN_FLIP &&
        in->role != CARM_INSN_PREFETCH) {
        if (in->bytes != bytes) {
            return refuse(c, in, "it is of another width");
        }
        /* vectors of integers, of fp16 and bf16 are moved, and combined bit by bit, as a whole */
        const bool forms = carm_precisions[c->spec->precision].forms;
        const bool whole = forms && (in->role < CARM_INSN_ADD || in->role == CARM_INSN_AND ||
                                     in->role == CARM_INSN_OR);
        if (in->element_bytes != (whole ? 0 : c->element_bytes) &&
            !(forms && in->role == CARM_INSN_FLIP)) {
            return refuse(c, in, "it is of another precision");
        }
        if (in->role == CARM_INSN_DOT && in->precision != (int)c->spec->precision) {
            return refuse(c, in, "its factors are of another precision");
        }
    }
    return 0;
}

/* The place where an access of the loop has to be. */
struct due {
    bool load;
    unsigned stream;
    int64_t slot; /* in vectors, without strides */
};

/* The k-th access of a loop with updates: in each unit, or block of units, loads and then the loads and
 * stores of updates. */
static struct due due_update(const struct check *c, unsigned k)
{
    const struct carm_code_spec *s = c->spec;
    const struct arrays a = arrays_of(c);
    const unsigned plain = s->mix.loads - 1;
    const unsigned block = s->order != CARM_ORDER_BLOCK ? 1 : s->block ? s->block : s->units;
    const unsigned first = k / (block * (plain + 2)) * block;
    const unsigned units = s->units - first < block ? s->units - first : block;
    const unsigned j = k - first * (plain + 2);
    const bool load = j < units * plain; /* a load that is not a part of an update */
    const unsigned unit = first + (load ? j / plain : (j - units * plain) / 2);
    const unsigned of_sort = load ? first * plain + j : unit;
    struct due due = {load || (j - units * plain) % 2 == 0, 0,
                      (int64_t)unit * s->mix.loads + (load ? j % plain : plain)};
    if (a.n > 1) { /* each sort of access uses its streams in turn */
        const unsigned around = load ? a.loads : a.stores;
        due.stream = of_sort % around + (load || a.turns ? 0 : a.loads);
        due.slot = of_sort / around;
    }
    return due;
}

/* The k-th access in one stream, by the specification's mix and order. */
static struct due due_access(const struct carm_code_spec *s, unsigned k)
{
    const unsigned per_unit = s->mix.loads + s->mix.stores;
    struct due due = {k % per_unit < s->mix.loads, 0, k};
    if (s->order == CARM_ORDER_BLOCK) {
        /* within its block of units, the last of which may be shorter */
        const unsigned block = (s->block ? s->block : s->units) * per_unit;
        const unsigned start = k - k % block;
        const unsigned left = s->units * per_unit - start;
        const unsigned loads = (left < block ? left : block) / per_unit * s->mix.loads;
        const unsigned j = k - start < loads ? k - start : k - start - loads;
        due.load = k - start < loads;
        due.slot =
            start + (due.load ? j / s->mix.loads * per_unit + j % s->mix.loads
                              : j / s->mix.stores * per_unit + s->mix.loads + j % s->mix.stores);
    }
    return due;
}

/* Checks that the next access of the loop is at the place that the specification gives. */
static int check_access(struct check *c, const struct carm_insn *in)
{
    const struct carm_code_spec *s = c->spec;
    const unsigned access = c->accesses++;
    struct due due = s->mix.update ? due_update(c, access) : due_access(s, access);
    const unsigned k = due.load ? c->loads++ : c->stores++;
    if (s->streams > 1 &&
        !s->mix.update) { /* the k-th load (or store) takes the next register of the loads (or
                           * stores) */
        const struct arrays a = arrays_of(c);
        const unsigned around = due.load ? a.loads : a.stores;
        due.stream = k % around + (due.load || a.turns ? 0 : a.loads);
        due.slot = k / around;
    }
    int64_t at = due.slot * c->vector_bytes;
    at += s->stride > 1 ? at / 64 * 64 * (s->stride - 1) : 0;
    if (due.load != (in->role == CARM_INSN_LOAD)) {
        return refuse(c, in, due.load ? "a load is due here" : "a store is due here");
    }
    if (!due.load && s->mix.nontemporal != (in->role == CARM_INSN_NT_STORE)) {
        return refuse(c, in,
                      s->mix.nontemporal ? "this store has to be non-temporal"
                                         : "this store must not be non-temporal");
    }
    if (in->base != (enum carm_insn_base)due.stream) {
        return refuse(c, in, "another stream is due here");
    }
    if (in->value != at) {
        return refuse(c, in, "another slot is due here");
    }
    return 0;
}

/* Checks that a prefetch is of the next line of the prefetched streams, in turn. */
static int check_prefetch(struct check *c, const struct carm_insn *in)
{
    const unsigned streams = prefetched_streams(c);
    const unsigned k = c->prefetches++;
    if (in->base != (enum carm_insn_base)(k % streams)) {
        return refuse(c, in, "a prefetch in another stream is due here");
    }
    if (in->value != (int64_t)c->spec->prefetch_bytes + 64 * (int64_t)(k / streams)) {
        return refuse(c, in, "it does not fetch the next line at the distance asked for");
    }
    return 0;
}

/* The row of the table of constants from which the setup must load its k-th constant: first
 * values of the chains, the operation's two constants, the stored vector or the flipped signs.
 * -1: there is no such constant. */
static int due_row(const struct check *c, unsigned k)
{
    const unsigned chains = c->flops ? c->spec->chains : 0;
    const unsigned operands = chains + (c->flops ? 2 : 0);
    if (k < chains) {
        return (int)k;
    }
    if (c->tiles) {
        return k > operands                      ? -1
               : k == chains + 1 && k < operands ? CARM_TILE_SECOND
                                                 : CARM_TILE_FIRST;
    }
    if (k < operands) {
        return ops[c->spec->op].row + (int)(k - chains);
    }
    return k > operands ? -1 : c->spec->mix.update ? CARM_ROW_SIGN : CARM_ROW_STORE;
}

/* Checks that the setup loads the expected values, not only normal ones. carm_recount has checked that they
 * are in the image. */
static int check_constant(struct check *c, const struct carm_insn *in)
{
    const int row = due_row(c, c->constants_loaded++);
    uint8_t due[CARM_ROW_BYTES];
    for (int i = 0; c->tiles && i < TILE_ROWS && row >= 0; i++) {
        carm_gen_tile_row(c->spec->precision, (unsigned)(row + i), due);
        if (memcmp(c->image + in->value + (size_t)i * CARM_ROW_BYTES, due, sizeof due) != 0) {
            return refuse(c, in, "it loads another tile than is due here");
        }
    }
    if (row >= 0 && !c->tiles) {
        carm_gen_row(c->spec->precision, (unsigned)row, due);
        if (memcmp(c->image + in->value, due, in->bytes) != 0) {
            return refuse(c, in, "it loads another constant than is due here");
        }
    }
    return row >= 0 ? 0 : refuse(c, in, "no constant is due here");
}

/* Checks that each chain takes its turns in order, with the constants of each turn: only then do its values
 * stay normal. In a mixture each pair of chains begins one turn later than the previous pair. */
static int check_fp(struct check *c, const struct carm_insn *in)
{
    const unsigned n = ops[c->spec->op].n;
    if (c->fps[in->reg] == 0) {
        c->first_turn[in->reg] = ops[c->spec->op].mixture ? c->chains / 2 : 0;
        c->chains++;
    }
    const unsigned at = (c->first_turn[in->reg] + c->fps[in->reg]++) % n;
    const struct turn *turn = c->tiles ? &tile_turns[at] : &ops[c->spec->op].turns[at];
    if (in->role != turn->role) {
        return refuse(c, in, "another operation is due here");
    }
    for (unsigned i = 0; i < turn->operands; i++) {
        const unsigned which = i ? turn->second : turn->first;
        if (c->constants[which] < 0) {
            c->constants[which] = in->src[i];
        }
        if (in->src[i] != c->constants[which] || in->src[i] == c->constants[!which]) {
            return refuse(c, in, "other constants are due in this turn of its chain");
        }
    }
    return 0;
}

/* Checks that the four chains of additions take turns, and that each adds only the loop's counter, so that no chain
 * waits for another. */
static int check_int(struct check *c, const struct carm_insn *in)
{
    if (in->src[0] != CARM_GENERAL_RCX) {
        return refuse(c, in, "it adds something else than the loop's counter");
    }
    if (in->reg != CARM_GENERAL_R8 + (int)(c->ints++ % 4)) {
        return refuse(c, in, "another chain of additions is due here");
    }
    return 0;
}

static int check_insn(struct check *c, const struct carm_insn *in)
{
    int rc = check_form(c, in);
    if (rc) {
        return rc;
    }
    switch (in->role) {
    case CARM_INSN_LOAD:
    case CARM_INSN_STORE:
    case CARM_INSN_NT_STORE:
        return in->base == CARM_BASE_IMAGE || c->random ? 0 : check_access(c, in);
    case CARM_INSN_ADD:
    case CARM_INSN_MUL:
    case CARM_INSN_DIV:
    case CARM_INSN_SQRT:
    case CARM_INSN_FMA:
    case CARM_INSN_FNMA:
    case CARM_INSN_AND:
    case CARM_INSN_OR:
    case CARM_INSN_DOT:
    case CARM_INSN_MADD52:
    case CARM_INSN_POPCNT:
        return check_fp(c, in);
    case CARM_INSN_INT:
        return c->random ? 0 : check_int(c, in);
    case CARM_INSN_PREFETCH:
        return check_prefetch(c, in);
    case CARM_INSN_VZEROUPPER:
        return c->vector_bytes > 16 ? 0 : refuse(c, in, "no upper half was written");
    default:
        return 0;
    }
}

static int check_chains(const struct check *c)
{
    const unsigned wanted = c->flops ? c->spec->chains : 0;
    if (c->chains != wanted) {
        return carm_fail(c->err, CARM_EFORMAT, "code %s: its bytes have %u chains, not %u", c->name,
                         c->chains, wanted);
    }
    for (int r = 0; r < REGISTERS; r++) {
        if (c->fps[r] % ops[c->spec->op].n != 0) {
            return carm_fail(c->err, CARM_EFORMAT,
                             "code %s: the chain in vector register %d has %u instructions: %s",
                             c->name, r, c->fps[r],
                             ops[c->spec->op].n == 2 ? "an odd number leaves a pair open"
                                                     : "no multiple of three leaves turns open");
        }
    }
    return 0;
}

int carm_recount_check(const struct carm_code_spec *spec, const uint8_t *image, size_t size,
                       const struct carm_code_layout *layout, const struct carm_account *account,
                       struct carm_err *err)
{
    struct check c = {.spec = spec, .image = image, .size = size, .err = err};
    struct carm_account recount;
    struct carm_err reason;
    struct carm_insn *insns = NULL;
    size_t n = 0;
    carm_code_name(spec, c.name);
    c.mix = carm_kind_has_mix(spec->kind);
    c.random = spec->kind == CARM_KIND_R;
    c.flops = carm_kind_has_flops(spec->kind);
    c.tiles = carm_isas[spec->isa].columns != 0;
    c.vex = spec->isa >= CARM_AVX || (c.flops && carm_ops[spec->op].fused);
    c.vector_bytes = carm_isa_vector_bytes(spec->isa, spec->precision);
    c.element_bytes = carm_precisions[spec->precision].bytes;
    memset(c.constants, -1, sizeof c.constants);
    int rc = carm_recount(image, size, layout, c.element_bytes, &recount, &reason);
    if (rc) {
        return carm_fail(err, (enum carm_error) - rc, "code %s: %s", c.name, reason.text);
    }
    rc = compare(&c, &recount, account, "account");
    if (!rc) {
        const struct carm_account wanted = expected(&c);
        rc = compare(&c, &recount, &wanted, "specification");
    }
    rc = rc ? rc : carm_decode(image, size, layout->begin, layout->end, &insns, &n, err);
    for (size_t i = 0; i < n && !rc; i++) {
        rc = check_insn(&c, &insns[i]);
    }
    rc = rc ? rc : check_chains(&c);
    for (size_t i = 0; i < n && !rc; i++) {
        if (insns[i].role == CARM_INSN_LOAD && insns[i].base == CARM_BASE_IMAGE) {
            rc = check_constant(&c, &insns[i]);
        }
    }
    free(insns);
    return rc;
}
