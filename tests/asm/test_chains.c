/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the chains of floating-point operations compute, on every ISA that this CPU has: the values
 * of a C reference, normal for ever. */
#include "tests/asm/call_shim.h"

#include <sys/mman.h>

#include "asm/gen.h"
#include "asm/image.h"

/* One element of a chain, in the precision of its code. */
union element {
    double dp;
    float sp;
};

/* As NASM reads it from the generated text, where it stands with 17 decimals. */
static union element constant(enum carm_precision precision, unsigned row, unsigned lane)
{
    char text[64];
    union element e = {0};
    (void)snprintf(text, sizeof text, "%.17f", carm_gen_constant(row, lane));
    if (precision == CARM_DP) {
        e.dp = strtod(text, NULL);
    } else {
        e.sp = strtof(text, NULL);
    }
    return e;
}

/* The constants of an operation. */
struct turns {
    union element k[2];
    unsigned n, first; /* mixtures: turns, and with which a chain begins */
};

static struct turns turns_of(enum carm_precision precision, enum carm_op op, unsigned chain,
                             unsigned lane)
{
    static const unsigned rows[CARM_FLOAT_OPS] = {
        [CARM_FMA] = CARM_ROW_FMA,           [CARM_MAD] = CARM_ROW_MAD,
        [CARM_ADD] = CARM_ROW_ADD,           [CARM_MUL] = CARM_ROW_MUL,
        [CARM_DIV] = CARM_ROW_MUL,           [CARM_FMA_ADD] = CARM_ROW_FMA_ADD,
        [CARM_FMA2_ADD] = CARM_ROW_FMA2_ADD, [CARM_SQRT] = CARM_ROW_FMA,
    };
    struct turns t = {.n = op == CARM_FMA2_ADD ? 3 : 2, .first = chain / 2};
    for (unsigned i = 0; i < 2; i++) {
        const unsigned row = rows[op] + i;
        t.k[i] = constant(precision, row, lane);
    }
    return t;
}

/* All turns of a chain, written down once for each precision: -std=c17 contracts nothing. */
#define PAIR(type, fused, root)                                         \
    switch (op) {                                                       \
    case CARM_FMA:                                                      \
        z->type = fused(t->k[0].type, t->k[1].type, z->type);           \
        z->type = fused(-t->k[0].type, t->k[1].type, z->type);          \
        break;                                                          \
    case CARM_MAD:                                                      \
        z->type = z->type * t->k[0].type;                               \
        z->type = z->type + t->k[1].type;                               \
        break;                                                          \
    case CARM_ADD:                                                      \
        z->type = z->type + t->k[0].type;                               \
        z->type = z->type + t->k[1].type;                               \
        break;                                                          \
    case CARM_FMA_ADD:                                                  \
    case CARM_FMA2_ADD:                                                 \
        for (unsigned i = 0; i < t->n; i++) {                           \
            z->type = (t->first + i) % t->n == t->n - 1                 \
                          ? z->type + t->k[1].type                      \
                          : fused(t->k[0].type, t->k[0].type, z->type); \
        }                                                               \
        break;                                                          \
    case CARM_MUL:                                                      \
        z->type = z->type * t->k[0].type;                               \
        z->type = z->type * t->k[1].type;                               \
        break;                                                          \
    case CARM_SQRT:                                                     \
        z->type = root(t->k[0].type);                                   \
        z->type = root(t->k[1].type);                                   \
        break;                                                          \
    default:                                                            \
        z->type = z->type / t->k[0].type;                               \
        z->type = z->type / t->k[1].type;                               \
        break;                                                          \
    }

static void pair(enum carm_precision precision, enum carm_op op, const struct turns *t,
                 union element *z)
{
    if (precision == CARM_DP) {
        PAIR(dp, fma, sqrt)
    } else {
        PAIR(sp, fmaf, sqrtf)
    }
}

static bool same(enum carm_precision precision, union element a, union element b)
{
    return precision == CARM_DP ? a.dp == b.dp : a.sp == b.sp;
}

static bool normal(enum carm_precision precision, union element z)
{
    /* not one call with `?:`, which makes a normal double of a denormal float */
    return precision == CARM_DP ? isnormal(z.dp) : isnormal(z.sp);
}

/* A mapping of the codes where vzeroupper is a nop, so that whole registers can be seen. */
struct open_codes {
    uint8_t *text;
    size_t size;
    struct carm_code_layout *layouts;
    size_t n;
};

static struct open_codes keep_upper_halves(const struct carm_code_spec *specs, size_t n)
{
    static const uint8_t vzeroupper[] = {0xc5, 0xf8, 0x77, 0xc3}; /* with its ret */
    static const uint8_t nop[] = {0x0f, 0x1f, 0x00};
    struct open_codes o = {.layouts = calloc(n, sizeof *o.layouts), .n = n};
    struct carm_account *accounts = calloc(n, sizeof *accounts);
    uint8_t *bytes = NULL;
    assert_ok(carm_image_assemble(specs, n, &bytes, &o.size, o.layouts, accounts, &err));
    for (size_t i = 0; i < n; i++) {
        uint8_t *tail = bytes + o.layouts[i].end - sizeof vzeroupper;
        if (memcmp(tail, vzeroupper, sizeof vzeroupper) == 0) {
            memcpy(tail, nop, sizeof nop);
        }
    }
    void *text = mmap(NULL, o.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(text != MAP_FAILED);
    memcpy(text, bytes, o.size);
    assert_int_equal(mprotect(text, o.size, PROT_READ | PROT_EXEC), 0);
    o.text = text;
    free(bytes);
    free(accounts);
    return o;
}

static void close_codes(struct open_codes *o)
{
    (void)munmap(o->text, o->size);
    free(o->layouts);
}

static carm_code_fn *entry(const struct open_codes *o, size_t i)
{
    carm_code_fn *fn = NULL;
    const uintptr_t at = (uintptr_t)o->text + o->layouts[i].begin;
    memcpy(&fn, &at, sizeof fn);
    return fn;
}

/* Element `lane` of chain `chain` as the code left it: registers 0 to 9, then with AVX-512 16 and up,
 * else 14, 15 and those that a code without memory leaves free. */
static union element left(const struct call *c, const struct carm_code_spec *s, unsigned chain,
                          unsigned lane)
{
    const size_t size = s->precision == CARM_DP ? sizeof(double) : sizeof(float);
    union element e = {0};
    static const unsigned spare[] = {14, 15, 10, 11};
    unsigned reg = chain;
    if (chain >= 10) {
        reg = s->isa == CARM_AVX512 ? chain + 6 : spare[chain - 10];
    }
    memcpy(&e, c->vectors[reg] + lane * size, size);
    return e;
}

/* returns NULL or which chain has another value than the reference, which takes `pairs_more` pairs
 * of turns more than the specification (0, but for a planted fault) */
static const char *check_chains(const struct call *c, const struct carm_code_spec *s,
                                unsigned pairs_more)
{
    static char where[64];
    const unsigned turns = carm_ops[s->op].nturns;
    const unsigned rest = s->fps % (turns * s->chains);
    for (unsigned chain = 0; chain < s->chains; chain++) {
        const uint64_t in_loop = s->fps / (turns * s->chains) + (chain < rest / turns ? 1 : 0);
        const uint64_t pairs = in_loop * c->iterations * c->passes + pairs_more;
        for (unsigned lane = 0; lane < carm_isa_lanes(s->isa, s->precision); lane++) {
            const struct turns t = turns_of(s->precision, s->op, chain, lane);
            union element z = constant(s->precision, chain, lane);
            for (uint64_t i = 0; i < pairs; i++) {
                pair(s->precision, s->op, &t, &z);
            }
            if (!same(s->precision, z, left(c, s, chain, lane))) {
                (void)snprintf(where, sizeof where, "chain %u, lane %u differs", chain, lane);
                return where;
            }
        }
    }
    return NULL;
}

/* Specifications of all operations with several numbers of chains; returns how many */
static size_t chain_specs(enum carm_isa isa, struct carm_code_spec *specs)
{
    const unsigned chains[] = {1, 3, 10, 0}; /* 0: all that the registers have room for */
    size_t n = 0;
    for (int i = 0; i < 2 * CARM_FLOAT_OPS * 4; i++) {
        struct carm_code_spec most = {
            .kind = CARM_KIND_B, .isa = isa, .op = (enum carm_op)(i / 2 % CARM_FLOAT_OPS)};
        const unsigned given = chains[i / 2 / CARM_FLOAT_OPS];
        const unsigned some = given ? given : carm_code_max_chains(&most);
        specs[n] = (struct carm_code_spec){.kind = CARM_KIND_B,
                                           .isa = isa,
                                           .precision = i & 1 ? CARM_SP : CARM_DP,
                                           .op = (enum carm_op)(i / 2 % CARM_FLOAT_OPS),
                                           .fps = carm_ops[i / 2 % CARM_FLOAT_OPS].nturns *
                                                  (2 * some + (some > 1 ? 1 : 0)),
                                           .chains = some,
                                           .ints = (unsigned)i % 4 * 7};
        n += can_run(&specs[n]);
    }
    return n;
}

enum { CHAIN_SPECS = 2 * CARM_FLOAT_OPS * 4 };

TEST_OF_ISAS(values)
{
    static struct carm_code_spec specs[CHAIN_SPECS];
    static struct call c;
    const enum carm_isa isa = isa_of(state);
    const size_t n = chain_specs(isa, specs);
    struct open_codes codes = keep_upper_halves(specs, n);
    struct carm_image *image = open_image(specs, n);
    for (size_t i = 0; i < n; i++) {
        const char *wrong = NULL;
        c = (struct call){.fn = entry(&codes, i), .iterations = 37, .passes = 3};
        wrong = run_guarded(&c, &specs[i]);
        /* the shortened code keeps its upper halves, and only that is wrong with it */
        if (isa >= CARM_AVX && wrong && strcmp(wrong, "upper halves") == 0) {
            wrong = NULL;
        }
        wrong = wrong ? wrong : check_chains(&c, &specs[i], 0);
        if (!wrong) { /* the code itself keeps every rule */
            c.fn = image->codes[i].run;
            wrong = run_guarded(&c, &specs[i]);
        }
        fail_if(wrong, "code %s: %s", image->codes[i].name, wrong);
    }
    close_codes(&codes);
}

/* The comparison sees one pair of turns too many, and another operation. add and mul come back to
 * their first value: there only another operation shows. */
TEST(value_checker)
{
    for (int precision = 0; precision < CARM_FLOATS; precision++) {
        struct carm_code_spec spec = {.kind = CARM_KIND_B,
                                      .isa = CARM_SSE,
                                      .precision = (enum carm_precision)precision,
                                      .op = CARM_MAD,
                                      .fps = 6,
                                      .chains = 3};
        static struct call c;
        struct open_codes codes = keep_upper_halves(&spec, 1);
        c = (struct call){.fn = entry(&codes, 0), .iterations = 2, .passes = 1};
        assert_null(run_guarded(&c, &spec));
        assert_null(check_chains(&c, &spec, 0));
        assert_non_null(check_chains(&c, &spec, 1));
        spec.op = CARM_FMA;
        assert_non_null(check_chains(&c, &spec, 0));
        spec.op = CARM_ADD;
        assert_non_null(check_chains(&c, &spec, 0));
        spec.op = CARM_MAD;
        c.vectors[2][2] ^= 1; /* one bit */
        assert_string_equal(check_chains(&c, &spec, 0), "chain 2, lane 0 differs");
        close_codes(&codes);
    }
}

/* A million iterations raise no exception but inexact: no operand or result was ever denormal,
 * infinite or a NaN, in any lane. */
TEST_OF_ISAS(million)
{
    static struct carm_code_spec specs[CHAIN_SPECS];
    static struct call c;
    const enum carm_isa isa = isa_of(state);
    const size_t n = chain_specs(isa, specs);
    struct open_codes codes = keep_upper_halves(specs, n);
    for (size_t i = 0; i < n; i++) {
        const struct carm_code_spec *s = &specs[i];
        if (s->chains != carm_code_max_chains(s)) {
            continue;
        }
        c = (struct call){.fn = entry(&codes, i), .iterations = 1000000, .passes = 1};
        (void)run_guarded(&c, s);
        assert_int_equal(c.mxcsr & ~(uint64_t)MXCSR_INEXACT, MXCSR_MASKED);
        for (unsigned chain = 0; chain < s->chains; chain++) {
            for (unsigned lane = 0; lane < carm_isa_lanes(isa, s->precision); lane++) {
                assert_true(normal(s->precision, left(&c, s, chain, lane)));
            }
        }
    }
    close_codes(&codes);
}

/* Brent's cycle detection: the chain returns to an earlier value, and every value on the way
 * there is normal, so that it stays so for ever.
 * returns the number of pairs until the cycle was closed, 0 when it was not */
static uint64_t find_cycle(enum carm_precision precision, enum carm_op op, const struct turns *t,
                           union element z, uint64_t limit)
{
    union element marked = z;
    uint64_t power = 1;
    uint64_t steps = 0;
    for (uint64_t i = 1; i <= limit; i++) {
        pair(precision, op, t, &z);
        if (!normal(precision, z)) {
            return 0;
        }
        if (same(precision, z, marked)) {
            return i;
        }
        if (++steps == power) {
            marked = z;
            power *= 2;
            steps = 0;
        }
    }
    return 0;
}

/* Each chain, lane, operation and precision ends in a cycle. */
TEST(cycles)
{
    enum { LIMIT = 10000000, ROWS = CARM_ROW_FMA };
    for (int precision = 0; precision < CARM_FLOATS; precision++) {
        for (int op = 0; op < CARM_FLOAT_OPS; op++) {
            uint64_t longest = 0;
            for (unsigned i = 0; i < ROWS * 16; i++) {
                const unsigned lane = i % 16;
                const enum carm_precision p = (enum carm_precision)precision;
                const struct turns t = turns_of(p, (enum carm_op)op, i / 16, lane);
                const uint64_t steps =
                    find_cycle(p, (enum carm_op)op, &t, constant(p, i / 16, lane), LIMIT);
                fail_if(steps == 0, "%s %s, chain %u, lane %u: no cycle", carm_precision_name(p),
                        carm_op_name((enum carm_op)op), i / 16, lane);
                longest = steps > longest ? steps : longest;
            }
            print_message("%s %s: every chain is in a cycle after at most %llu pairs\n",
                          carm_precision_name((enum carm_precision)precision),
                          carm_op_name((enum carm_op)op), (unsigned long long)longest);
        }
    }
}

/* The detection does not take a chain that runs away, or dies out, for a cycle. */
TEST(cycle_checker)
{
    struct turns t = turns_of(CARM_SP, CARM_MUL, 0, 0);
    const union element z = constant(CARM_SP, 0, 0);
    assert_true(find_cycle(CARM_SP, CARM_MUL, &t, z, 1000000) > 0);
    t.k[1].sp = t.k[0].sp; /* grows to infinity */
    assert_int_equal(find_cycle(CARM_SP, CARM_MUL, &t, z, 1000000), 0);
    assert_int_equal(find_cycle(CARM_SP, CARM_DIV, &t, z, 1000000), 0); /* and to zero */
    t = turns_of(CARM_DP, CARM_ADD, 0, 0);
    t.k[1].dp = t.k[0].dp; /* grows too slowly to overflow: no cycle within the limit */
    assert_int_equal(find_cycle(CARM_DP, CARM_ADD, &t, constant(CARM_DP, 0, 0), 1000000), 0);
}
