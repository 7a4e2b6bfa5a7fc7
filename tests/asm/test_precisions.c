/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Integers, dot products and half precision, whether this CPU has them or not: all codes are
 * generated, recounted, and executed by an interpreter of what the disassembler finds. Where the
 * CPU has the instructions, its registers are held against the interpreter's. */
#include "tests/asm/counted.h"

#include <sys/mman.h>

#include <Zydis/Zydis.h>

#include "asm/decode.h"

struct machine {
    uint8_t v[32][64];
    bool special; /* a value was denormal, infinite or NaN */
};

/* A number with so many bits of exponent and fraction as a double. */
static double widen(uint64_t bits, int exponent, int fraction, bool *special)
{
    const int bias = (1 << (exponent - 1)) - 1;
    const uint64_t e = bits >> fraction & ((1U << exponent) - 1);
    const uint64_t f = bits & (((uint64_t)1 << fraction) - 1);
    const double sign = bits >> (exponent + fraction) & 1 ? -1.0 : 1.0;
    *special = *special || e == (1U << exponent) - 1 || (e == 0 && f != 0);
    return e == 0 ? 0.0 : sign * ldexp(1.0 + ldexp((double)f, -fraction), (int)e - bias);
}

/* Rounded to the nearest half: exact where v has been rounded to double at most once more. */
static uint64_t half(double v, bool *special)
{
    const int e = v == 0.0 ? 0 : ilogb(v);
    double m = v == 0.0 ? 0.0 : nearbyint(ldexp(fabs(v), 10 - e));
    const int carry = m == 2048.0 ? 1 : 0;
    m = carry ? 1024.0 : m;
    *special = *special || e + carry > 15 || e < -14;
    return (uint64_t)(signbit(v) ? 0x8000 : 0) |
           (v == 0.0 ? 0 : ((uint64_t)(e + carry + 15) << 10 | ((uint64_t)m - 1024)));
}

static uint64_t element(const uint8_t *v, unsigned lane, unsigned bytes)
{
    uint64_t e = 0;
    memcpy(&e, v + (size_t)lane * bytes, bytes);
    return e;
}

static int64_t signed_element(const uint8_t *v, unsigned lane, unsigned bytes)
{
    const unsigned shift = 64 - 8 * bytes;
    return (int64_t)(element(v, lane, bytes) << shift) >> shift;
}

/* One element of what arithmetic in half precision leaves. */
static uint64_t half_result(enum carm_insn_role role, double z, double a, double b, bool *special)
{
    switch (role) {
    case CARM_INSN_ADD:
        return half(z + a, special);
    case CARM_INSN_MUL:
        return half(z * a, special);
    case CARM_INSN_DIV:
        return half(z / a, special);
    case CARM_INSN_SQRT:
        return half(sqrt(a), special);
    case CARM_INSN_FMA:
        return half(z + a * b, special); /* exact in double */
    default:
        return half(z - a * b, special);
    }
}

static uint64_t integer_result(enum carm_insn_role role, uint64_t z, uint64_t a, uint64_t b)
{
    const uint64_t low = ((uint64_t)1 << 52) - 1;
    switch (role) {
    case CARM_INSN_ADD:
        return z + a;
    case CARM_INSN_MUL:
        return z * a;
    case CARM_INSN_AND:
        return z & a;
    case CARM_INSN_OR:
        return z | a;
    case CARM_INSN_MADD52:
        return z + ((a & low) * (b & low) & low);
    default:
        return (uint64_t)__builtin_popcountll(z);
    }
}

/* source: Intel SDM, volume 2, VDPBF16PS, VPDPBUSD, VPDPWSSD */
static void dot(struct machine *m, const struct carm_insn *in, enum carm_precision precision)
{
    const uint8_t *a = m->v[in->src[0]];
    const uint8_t *b = m->v[in->src[1]];
    const unsigned bytes = in->element_bytes;
    for (unsigned lane = 0; lane < in->bytes / 4; lane++) {
        int32_t sum = (int32_t)element(m->v[in->reg], lane, 4);
        float wide = 0.0F;
        memcpy(&wide, &sum, sizeof wide);
        for (unsigned k = 4 / bytes; k-- > 0;) { /* the higher one first */
            const unsigned i = lane * (4 / bytes) + k;
            if (precision == CARM_BF16) {
                wide = fmaf((float)widen(element(a, i, 2), 8, 7, &m->special),
                            (float)widen(element(b, i, 2), 8, 7, &m->special), wide);
                continue;
            }
            const int64_t left = bytes == 1 ? (int64_t)element(a, i, 1) : signed_element(a, i, 2);
            const int64_t next = sum + left * signed_element(b, i, bytes);
            m->special = m->special || next != (int32_t)next; /* it would saturate, or wrap */
            sum = (int32_t)next;
        }
        if (precision == CARM_BF16) {
            m->special = m->special || !isnormal(wide);
            memcpy(&sum, &wide, sizeof sum);
        }
        memcpy(m->v[in->reg] + (size_t)lane * 4, &sum, sizeof sum);
    }
}

static void execute(struct machine *m, const struct carm_insn *in, const uint8_t *image,
                    enum carm_precision precision)
{
    const unsigned bytes = carm_precisions[precision].bytes;
    if (in->role == CARM_INSN_LOAD && in->base == CARM_BASE_IMAGE) {
        memset(m->v[in->reg], 0, sizeof m->v[in->reg]);
        memcpy(m->v[in->reg], image + in->value, in->bytes);
    }
    if (in->role < CARM_INSN_ADD || in->role >= CARM_INSN_FLIP) {
        return;
    }
    if (in->role == CARM_INSN_DOT) {
        dot(m, in, precision);
        return;
    }
    for (unsigned lane = 0; lane < in->bytes / bytes; lane++) {
        const uint64_t z = element(m->v[in->reg], lane, bytes);
        const uint64_t a = in->src[0] < 0 ? 0 : element(m->v[in->src[0]], lane, bytes);
        const uint64_t b = in->src[1] < 0 ? 0 : element(m->v[in->src[1]], lane, bytes);
        bool *special = &m->special;
        const uint64_t result =
            precision == CARM_FP16
                ? half_result(in->role, widen(z, 5, 10, special), widen(a, 5, 10, special),
                              widen(b, 5, 10, special), special)
                : integer_result(in->role, z, a, b);
        memcpy(m->v[in->reg] + (size_t)lane * bytes, &result, bytes);
    }
}

struct codes {
    struct carm_code_spec specs[400];
    size_t n;
    uint8_t *bytes;
    size_t size;
    struct carm_code_layout layouts[400];
    struct carm_account accounts[400];
};

/* B and C of each row of CARM_FORM_TABLE, with few chains and with as many as there are registers;
 * A, R and W of each precision. */
static void open_codes(struct codes *c)
{
    c->n = 0;
    for (int p = CARM_FLOATS; p < CARM_PRECISION_COUNT; p++) {
        for (int i = 0; i < CARM_VECTOR_ISAS * CARM_OP_COUNT; i++) {
            struct carm_code_spec s = {.kind = CARM_KIND_B,
                                       .isa = (enum carm_isa)(i / CARM_OP_COUNT),
                                       .precision = (enum carm_precision)p,
                                       .op = (enum carm_op)(i % CARM_OP_COUNT),
                                       .units = 4,
                                       .mix = {.loads = 2, .stores = 1},
                                       .fps = 12,
                                       .chains = 3};
            if (!carm_form_find(s.isa, s.precision, s.op)) {
                continue;
            }
            c->specs[c->n++] = s;
            s.chains = carm_code_max_chains(&s);
            s.fps = carm_ops[s.op].nturns * (2 * s.chains + 1); /* a rest of whole turns */
            c->specs[c->n++] = s;
            s.kind = i % 2 ? CARM_KIND_C : CARM_KIND_W;
            s.ints = i % 2 ? 0 : 5;
            s.chains = 10;
            s.mix.update = i % 4 < 2;
            s.mix.loads = i % 4 < 2 ? 1 : 2;
            c->specs[c->n++] = s;
        }
        for (int i = 0; i < CARM_VECTOR_ISAS * 4; i++) {
            const char *const mixes[] = {"2:1", "update", "nt", ""};
            struct carm_code_spec s = {.kind = i % 4 < 3 ? CARM_KIND_A : CARM_KIND_R,
                                       .isa = (enum carm_isa)(i / 4),
                                       .precision = (enum carm_precision)p,
                                       .units = 8};
            if (s.kind == CARM_KIND_A) {
                assert_int_equal(carm_mix_parse(mixes[i % 4], &s.mix, NULL), 0);
            }
            if (carm_isa_has_precision(s.isa, s.precision)) {
                c->specs[c->n++] = s;
            }
        }
    }
    assert_in_range(c->n, 100, sizeof c->specs / sizeof *c->specs);
    assert_ok(
        carm_image_assemble(c->specs, c->n, &c->bytes, &c->size, c->layouts, c->accounts, &err));
}

static struct codes all;

static int open_all(void **state)
{
    open_codes(&all);
    return 0;
}

static int close_all(void **state)
{
    free(all.bytes);
    return 0;
}

TEST(recount)
{
    for (size_t i = 0; i < all.n; i++) {
        assert_ok(carm_recount_check(&all.specs[i], all.bytes, all.size, &all.layouts[i],
                                     &all.accounts[i], &err));
        const struct carm_code_spec *s = &all.specs[i];
        const struct carm_op_row *op = &carm_ops[s->op];
        if (carm_kind_has_flops(s->kind)) {
            assert_int_equal(all.accounts[i].flops, s->fps / op->nturns * op->flops *
                                                        carm_isas[s->isa].vector_bytes /
                                                        carm_precisions[s->precision].bytes);
        }
    }
}

/* The loop of a code, so many times. */
static void interpret(struct machine *m, const struct codes *c, size_t i, unsigned times)
{
    struct carm_insn *insns = NULL;
    size_t n = 0;
    const struct carm_code_layout *l = &c->layouts[i];
    assert_ok(carm_decode(c->bytes, c->size, l->begin, l->end, &insns, &n, &err));
    memset(m, 0, sizeof *m);
    for (size_t k = 0; k < n && insns[k].offset < l->loop_begin; k++) {
        execute(m, &insns[k], c->bytes, c->specs[i].precision);
    }
    for (unsigned t = 0; t < times; t++) {
        for (size_t k = 0; k < n; k++) {
            if (insns[k].offset >= l->loop_begin && insns[k].offset < l->loop_end) {
                execute(m, &insns[k], c->bytes, c->specs[i].precision);
            }
        }
    }
    free(insns);
}

/* Values come back after so few loops that they stay as they are for ever, and on the way nothing is
 * denormal, overflows, or would saturate. Only the sums of ifma and the counts of bits go on. */
TEST(chains_return)
{
    enum { FEW = 64, MORE = 24 /* a multiple of 2, 3, 4, 6 and 8 */ };
    for (size_t i = 0; i < all.n; i++) {
        static struct machine early;
        static struct machine late;
        char name[CARM_CODE_NAME_MAX];
        carm_code_name(&all.specs[i], name);
        interpret(&early, &all, i, FEW);
        interpret(&late, &all, i, FEW + MORE);
        fail_if(early.special || late.special, "code %s: a value is not normal, or overflows",
                name);
        fail_if(memcmp(early.v, late.v, sizeof early.v) != 0 && all.specs[i].op != CARM_IFMA,
                "code %s: its chains do not return", name);
    }
}

/* Upper halves are seen only where vzeroupper is away. */
static uint8_t *map_without_vzeroupper(const struct codes *c)
{
    static const uint8_t vzeroupper[] = {0xc5, 0xf8, 0x77, 0xc3}; /* with its ret */
    static const uint8_t nop[] = {0x0f, 0x1f, 0x00};
    uint8_t *text = mmap(NULL, c->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(text != MAP_FAILED);
    memcpy(text, c->bytes, c->size);
    for (size_t i = 0; i < c->n; i++) {
        uint8_t *tail = text + c->layouts[i].end - sizeof vzeroupper;
        if (memcmp(tail, vzeroupper, sizeof vzeroupper) == 0) {
            memcpy(tail, nop, sizeof nop);
        }
    }
    assert_int_equal(mprotect(text, c->size, PROT_READ | PROT_EXEC), 0);
    return text;
}

TEST(registers)
{
    enum { TIMES = 7 };
    static struct call call;
    static struct machine machine;
    size_t ran = 0;
    uint8_t *text = map_without_vzeroupper(&all);
    for (size_t i = 0; i < all.n; i++) {
        const struct carm_code_spec *s = &all.specs[i];
        if (s->kind != CARM_KIND_B || !can_run(s)) {
            continue;
        }
        const uint8_t *at = text + all.layouts[i].begin;
        call = (struct call){.iterations = TIMES, .passes = 1};
        memcpy(&call.fn, &at, sizeof call.fn);
        const char *broken = run_guarded(&call, s);
        char name[CARM_CODE_NAME_MAX];
        carm_code_name(s, name);
        fail_if(broken && strcmp(broken, "upper halves") != 0, "code %s: %s", name, broken);
        interpret(&machine, &all, i, TIMES);
        for (int r = 0; r < 16; r++) {
            const bool used = r < 10 || r == 12 || r == 13;
            fail_if(used && (unsigned)r < s->chains &&
                        memcmp(call.vectors[r], machine.v[r], carm_isas[s->isa].vector_bytes) != 0,
                    "code %s: register %d is not the reference's", name, r);
        }
        ran++;
    }
    (void)munmap(text, all.size);
    print_message("%zu of %zu codes ran here, the others are decoded alone\n", ran, all.n);
    assert_true(ran > 0);
}

/* Whether the disassembler knows AVX-IFMA, which came with Zydis 4.1. */
static bool knows_ifma(void)
{
    return ZydisGetVersion() >= (UINT64_C(4) << 48 | UINT64_C(1) << 32);
}

/* What carm run counts of these codes by stepping or translation: flops of fp16 and bf16, operations on
 * integers, all loads and stores. */
TEST(counting)
{
    struct carm_accounts *accounts = NULL;
    assert_ok(carm_accounts_open(&accounts, NULL, &err));
    for (size_t i = 0; i < all.n; i++) {
        const struct carm_code_spec *s = &all.specs[i];
        const struct carm_step_counts counts =
            counts_of(accounts, &all.layouts[i], all.bytes, all.size);
        char name[CARM_CODE_NAME_MAX];
        carm_code_name(s, name);
        const uint64_t due = carm_precisions[s->precision].integer ? 0 : all.accounts[i].flops;
        const bool ifma = s->isa == CARM_AVX2 && s->op == CARM_IFMA && !knows_ifma();
        fail_if(counts.flops_other != due || counts.loads != all.accounts[i].loads ||
                    counts.load_bytes != all.accounts[i].load_bytes ||
                    counts.store_bytes != all.accounts[i].store_bytes ||
                    (counts.unknown != 0) != ifma,
                "code %s: counted as %llu flops, %llu loads, %llu unknown", name,
                (unsigned long long)counts.flops_other, (unsigned long long)counts.loads,
                (unsigned long long)counts.unknown);
        /* logic, and signs that are flipped by it, have lanes of the width in the instruction's name */
        const int element = __builtin_ctz(carm_precisions[s->precision].bytes);
        fail_if(due == 0 && !ifma && s->op != CARM_LOGIC && !s->mix.update &&
                    counts.int_elements[element] != all.accounts[i].flops,
                "code %s: counted as %llu operations, not %llu", name,
                (unsigned long long)counts.int_elements[element],
                (unsigned long long)all.accounts[i].flops);
    }
    carm_accounts_close(accounts);
}

/* Puts a byte over one of the first instruction of that role in a code's loop. */
static void plant(const char *name, enum carm_insn_role role, unsigned at, uint8_t value,
                  const char *reason)
{
    static struct codes c;
    struct carm_insn *insns = NULL;
    err = (struct carm_err){""};
    size_t n = 0;
    size_t k = 0;
    c.specs[0] = parse(name);
    c.n = 1;
    assert_ok(carm_image_assemble(c.specs, 1, &c.bytes, &c.size, c.layouts, c.accounts, &err));
    assert_ok(carm_recount_check(c.specs, c.bytes, c.size, c.layouts, c.accounts, &err));
    assert_ok(carm_decode(c.bytes, c.size, c.layouts->begin, c.layouts->end, &insns, &n, &err));
    while (k < n && (insns[k].role != role || insns[k].offset < c.layouts->loop_begin)) {
        k++;
    }
    assert_true(k < n && at < insns[k].length);
    assert_true(c.bytes[insns[k].offset + at] != value);
    c.bytes[insns[k].offset + at] = value;
    free(insns);
    fail_if(carm_recount_check(c.specs, c.bytes, c.size, c.layouts, c.accounts, &err) == 0,
            "%s: a planted fault is not seen", name);
    fail_if(!strstr(err.text, reason), "%s: refused with '%s', not with '%s'", name, err.text,
            reason);
    free(c.bytes);
}

TEST(planted)
{
    bool special = false;
    assert_int_equal(half(1.0, &special), 0x3c00);
    assert_int_equal(half(2047.7, &special), 0x6800); /* rounds up to 2048 */
    assert_true(widen(0x3c01, 5, 10, &special) == 1.0 + 0x1p-10 && !special);
    (void)half(65520.0, &special);
    assert_true(special);
    special = false;
    (void)half(6e-5, &special);
    assert_true(special);
    special = false;
    (void)widen(1, 5, 10, &special);
    assert_true(special);
    /* opcodes: paddw in place of paddb, vpor of vpand, vpdpwssd of vpdpbusd, vfnmadd of vfmadd */
    plant("B.sse.int8.add", CARM_INSN_ADD, 3, 0xfd, "flops");
    plant("B.avx2.int8.add", CARM_INSN_ADD, 3, 0xfd, "flops");
    plant("B.avx2.int32.logic", CARM_INSN_AND, 3, 0xeb, "another operation is due");
    plant("B.avx2.int8.dot", CARM_INSN_DOT, 3, 0x52, "flops");
    plant("B.avx512.fp16.fma", CARM_INSN_FMA, 4, 0xbc, "another operation is due");
}

RUN_TESTS(open_all, close_all)
