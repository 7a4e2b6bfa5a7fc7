/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For all ISAs x precisions x codes x mixes x operations x intensities: the recount equals the
 * account, the account gives the intensity that the specification promises, and that is near
 * the one asked for. Nothing is run: the CPU need not have the ISA.
 * Where axes are independent, only a part of their product is assembled, with every pair of their
 * values in it; CARM_SOAK=1 (make soak) assembles all. */
#include <sys/wait.h>
#include <unistd.h>

#include "asm/code.h"
#include "asm/image.h"
#include "tests/unit.h"

/* Codes of one nasm run: starting nasm costs as much as some twenty codes. */
enum { BATCH = 250, FUSED = 3 /* operations that need FMA, which avx has not */ };

static struct carm_code_spec batch[BATCH];
static size_t in_batch;
static size_t checked;  /* codes that were assembled */
static size_t combined; /* combinations that were met */

static int children; /* that check a batch */

/* One code of a batch: what is wrong with it, or an empty text. */
static void check_code(const struct carm_code_spec *spec, const uint8_t *bytes, size_t size,
                       const struct carm_code_layout *layout, const struct carm_account *a,
                       struct carm_err *failure)
{
    char name[CARM_CODE_NAME_MAX];
    struct carm_account recount;
    uint64_t flops = 0;
    uint64_t data = 0;
    carm_code_name(spec, name);
    if (carm_recount_check(spec, bytes, size, layout, a, failure) ||
        carm_recount(bytes, size, layout, 0, &recount, failure)) {
        return;
    }
    if (memcmp(&recount, a, sizeof recount) != 0) {
        (void)carm_fail(failure, CARM_EFORMAT, "code %s: the recount is not the account", name);
    }
    if (spec->kind == CARM_KIND_B && spec->ints) { /* a share of 1/2, 1/4, ... */
        const uint64_t part = a->instructions / a->fp_instructions;
        if (a->fp_instructions * part != a->instructions ||
            (part != 2 && part != 4 && part != 8 && part != 16)) {
            (void)carm_fail(failure, CARM_EFORMAT, "code %s: no share of 1/2 to 1/16", name);
        }
    }
    carm_code_intensity(spec, &flops, &data);
    if (carm_kind_has_memory(spec->kind) && carm_kind_has_flops(spec->kind) &&
        a->flops * data != (a->load_bytes + a->store_bytes) * flops) {
        (void)carm_fail(failure, CARM_EFORMAT,
                        "code %s: %llu flop / %llu byte are not its intensity %llu/%llu", name,
                        (unsigned long long)a->flops,
                        (unsigned long long)(a->load_bytes + a->store_bytes),
                        (unsigned long long)flops, (unsigned long long)data);
    }
}

static void check_batch(struct carm_err *failure)
{
    static struct carm_code_layout layouts[BATCH];
    static struct carm_account accounts[BATCH];
    uint8_t *bytes = NULL;
    size_t size = 0;
    if (carm_image_assemble(batch, in_batch, &bytes, &size, layouts, accounts, failure) != 0) {
        return;
    }
    for (size_t i = 0; i < in_batch && !*failure->text; i++) {
        check_code(&batch[i], bytes, size, &layouts[i], &accounts[i], failure);
    }
    free(bytes);
}

static void wait_for_one(void)
{
    int status = 0;
    assert_true(wait(&status) > 0);
    children--;
    assert_int_equal(status, 0); /* the child has said why */
}

/* Batches are independent: a child for each, as many at a time as there are processors. */
static void flush(void)
{
    if (in_batch == 0) {
        return;
    }
    while (children > 0 && children >= sysconf(_SC_NPROCESSORS_ONLN)) {
        wait_for_one();
    }
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        err = (struct carm_err){""};
        check_batch(&err);
        (void)fprintf(stderr, "%s%s", err.text, *err.text ? "\n" : "");
        _exit(*err.text ? 1 : 0);
    }
    assert_true(child > 0);
    children++;
    checked += in_batch;
    in_batch = 0;
}

static void add(const struct carm_code_spec *spec)
{
    batch[in_batch++] = *spec;
    if (in_batch == BATCH) {
        flush();
    }
}

/* The code of one combination of a product of axes, whose places in their axes add up to sum: one in
 * `part` of them is assembled. Two axes leave the others free, so that every pair of values is met. */
static void add_part(const struct carm_code_spec *spec, size_t sum, unsigned part)
{
    combined++;
    if (getenv("CARM_SOAK") || sum % part == 0) {
        add(spec);
    }
}

/* The product is as large as it is to be, and the part of it that was assembled, too. */
static void assert_part(size_t product, unsigned part)
{
    assert_int_equal(combined, product);
    if (getenv("CARM_SOAK")) {
        assert_int_equal(checked, product);
    } else {
        assert_in_range(checked, product / part - product / 20, product / part + product / 20);
    }
}

static const char *const mixes[] = {"2:1", "1:1", "1:0", "0:1", "update", "nt", "2:1nt", "3:2"};
enum { MIXES = sizeof mixes / sizeof *mixes };

static struct carm_mix mix(int i)
{
    struct carm_mix m;
    assert_int_equal(carm_mix_parse(mixes[i], &m, NULL), 0);
    return m;
}

/* calls f for each ISA and precision, with a specification that has only these two */
static void each_isa(void (*f)(struct carm_code_spec spec))
{
    checked = 0;
    combined = 0;
    for (int isa = 0; isa < CARM_VECTOR_ISAS; isa++) {
        for (int precision = 0; precision < CARM_FLOATS; precision++) {
            f((struct carm_code_spec){.isa = (enum carm_isa)isa,
                                      .precision = (enum carm_precision)precision});
        }
    }
    flush();
    while (children > 0) {
        wait_for_one();
    }
    print_message("%zu codes\n", checked);
}

static void add_memory(struct carm_code_spec spec)
{
    for (int i = 0; i < MIXES * 8; i++) {
        spec.kind = CARM_KIND_A;
        spec.mix = mix(i / 8);
        spec.units = i & 1 ? 8 : 1;
        spec.prefetch_bytes = i & 2 ? 1024 : 0;
        spec.order = i & 4 ? CARM_ORDER_BLOCK : CARM_ORDER_UNIT;
        add(&spec);
        if (spec.order == CARM_ORDER_BLOCK && spec.units > 1) { /* whole blocks, and a rest */
            for (spec.block = 2; spec.block < 4; spec.block++) {
                add(&spec);
            }
            spec.block = 0;
        }
    }
    spec = (struct carm_code_spec){
        .kind = CARM_KIND_EMPTY, .isa = spec.isa, .precision = spec.precision};
    add(&spec);
}

TEST(memory)
{
    each_isa(add_memory);
    assert_int_equal(checked, CARM_VECTOR_ISAS * CARM_FLOATS * (MIXES * 12 + 1));
}

static void add_flops(struct carm_code_spec spec)
{
    spec.kind = CARM_KIND_B;
    for (int op = 0; op < CARM_FLOAT_OPS; op++) {
        spec.op = (enum carm_op)op;
        const unsigned chains[] = {1, 2, 3, 8, 10, carm_code_max_chains(&spec)};
        for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
            spec.chains = chains[i];
            /* whole rounds, and rounds with a rest of fewer chains */
            const unsigned turns = carm_ops[op].nturns;
            const unsigned fps[] = {turns * spec.chains, 2 * turns * spec.chains,
                                    2 * turns * spec.chains + turns, 100 * turns};
            for (size_t k = 0; k < 4 && carm_isa_has_op(spec.isa, spec.precision, spec.op); k++) {
                spec.fps = fps[k];
                add_part(&spec, i + k + (size_t)op + spec.isa, 2);
            }
        }
    }
}

TEST(flops)
{
    each_isa(add_flops);
    /* avx has no FMA */
    assert_part((CARM_VECTOR_ISAS * CARM_FLOAT_OPS - FUSED) * CARM_FLOATS * 6 * 4, 2);
}

/* of the i-th mix and operation, with the ISA and the precision */
static size_t place(const struct carm_code_spec *spec, int i)
{
    return (size_t)(i / CARM_FLOAT_OPS + i % CARM_FLOAT_OPS) + spec->isa + spec->precision;
}

static void add_issue(struct carm_code_spec spec)
{
    /* loads and stores, flops, integers: even, one sort rare, no common divisor */
    static const unsigned sorts[][3] = {{4, 8, 12}, {1, 2, 1}, {16, 2, 3}, {3, 26, 1}, {1, 2, 200}};
    spec.kind = CARM_KIND_W;
    for (int i = 0; i < MIXES * CARM_FLOAT_OPS; i++) {
        spec.mix = mix(i / CARM_FLOAT_OPS);
        spec.op = (enum carm_op)(i % CARM_FLOAT_OPS);
        spec.order = i % 3 ? CARM_ORDER_UNIT : CARM_ORDER_BLOCK;
        spec.prefetch_bytes = i % 4 ? 0 : 2048;
        for (size_t k = 0; k < 5 && carm_isa_has_op(spec.isa, spec.precision, spec.op); k++) {
            spec.units = sorts[k][0];
            spec.chains = sorts[k][1] / 2 < 10 ? sorts[k][1] / 2 : 10;
            spec.fps = sorts[k][1] / 2 * carm_ops[spec.op].nturns;
            spec.ints = sorts[k][2];
            add_part(&spec, place(&spec, i) + k, 3);
        }
    }
}

TEST(issue)
{
    each_isa(add_issue);
    assert_part((CARM_VECTOR_ISAS * CARM_FLOAT_OPS - FUSED) * CARM_FLOATS * MIXES * 5, 3);
}

enum { STREAM_SORTS = 20 };

/* Mixes in several streams: all orders, with and without prefetch, whole lines and not. */
static void add_streams(struct carm_code_spec spec)
{
    static const struct {
        const char *mix;
        unsigned streams;
    } sorts[STREAM_SORTS] = {{"1:1", 2},    {"1:1nt", 2},     {"2:2", 2},       {"3:3nt", 2},
                             {"2:0", 2},    {"1:0", 2},       {"4:0", 2},       {"0:1", 4},
                             {"update", 2}, {"2:1", 3},       {"2:1nt", 6},     {"1:1", 4},
                             {"1:2", 6},    {"3:1", 4},       {"1:0", 3},       {"update", 6},
                             {"4:2", 6},    {"2:1update", 2}, {"2:1update", 4}, {"3:1update", 3}};
    for (int i = 0; i < STREAM_SORTS * 12; i++) {
        assert_int_equal(carm_mix_parse(sorts[i / 12].mix, &spec.mix, NULL), 0);
        spec.streams = sorts[i / 12].streams;
        spec.kind = i & 1 ? CARM_KIND_C : CARM_KIND_A;
        spec.op =
            i & 1 && carm_isa_has_op(spec.isa, spec.precision, CARM_FMA) ? CARM_FMA : CARM_MAD;
        spec.fps = i & 1 ? 8 : 0;
        spec.chains = spec.fps / 2;
        spec.prefetch_bytes = i & 2 && spec.mix.loads ? 512 : 0;
        spec.order = i % 3 ? CARM_ORDER_BLOCK : CARM_ORDER_UNIT;
        spec.block = i % 3 == 2 ? 3 : 0;
        spec.units = spec.streams % 3 ? (i & 4 ? 8 : 16) : (i & 4 ? 6 : 18);
        add(&spec);
    }
}

TEST(streams)
{
    each_isa(add_streams);
    assert_int_equal(checked, CARM_VECTOR_ISAS * CARM_FLOATS * STREAM_SORTS * 12);
}

static void add_jumps_and_random(struct carm_code_spec spec)
{
    static const unsigned strides[] = {2, 3, 8, 64, CARM_CODE_STRIDE_MAX};
    for (int i = 0; i < 5 * 3; i++) {
        spec.kind = CARM_KIND_A;
        spec.mix = (struct carm_mix){.loads = i % 3 == 2 ? 3 : 1};
        spec.units = i % 3 ? 48 : 16;
        spec.stride = strides[i / 3];
        add(&spec);
    }
    spec =
        (struct carm_code_spec){.kind = CARM_KIND_R, .isa = spec.isa, .precision = spec.precision};
    for (spec.units = 1; spec.units <= 64; spec.units *= 4) {
        add(&spec);
    }
}

TEST(jumps_and_random)
{
    each_isa(add_jumps_and_random);
    assert_int_equal(checked, CARM_VECTOR_ISAS * CARM_FLOATS * (5 * 3 + 4));
}

/* Of floating point 1/2 to 1/16 of the instructions, exactly (Williams et al. 2009, A.1.4): the
 * loop's own three count, too. */
static void add_shares(struct carm_code_spec spec)
{
    spec.kind = CARM_KIND_B;
    for (int op = 0; op < CARM_FLOAT_OPS; op++) {
        spec.op = (enum carm_op)op;
        for (unsigned part = 2; part <= 16 && carm_isa_has_op(spec.isa, spec.precision, spec.op);
             part *= 2) {
            spec.chains = part < 16 ? 10 : 4;
            spec.fps = carm_ops[op].nturns * spec.chains;
            spec.ints = spec.fps * (part - 1) - 3;
            add(&spec);
        }
    }
}

TEST(shares)
{
    each_isa(add_shares);
    assert_int_equal(checked, (CARM_VECTOR_ISAS * CARM_FLOAT_OPS - FUSED) * CARM_FLOATS * 4);
}

/* A loop of at most 4096 accesses and floating-point instructions gives ai exactly. */
static bool reachable(const struct carm_code_spec *spec, double ai)
{
    const double lanes = carm_isa_lanes(spec->isa, spec->precision);
    const struct carm_op_row *op = &carm_ops[spec->op];
    const double turns_per_unit = ai * (double)carm_mix_unit_bytes(spec) / (lanes * op->flops);
    for (unsigned units = 1; units <= 2048; units++) {
        const double turns = turns_per_unit * units; /* whole sequences of them */
        if (turns >= 1 && fmod(turns, 1) == 0 &&
            turns * op->nturns + units * (spec->mix.loads + spec->mix.stores) <= 4096) {
            return true;
        }
    }
    return false;
}

/* Sets the intensity and checks what is reached. */
static void set_at(struct carm_code_spec *spec, double ai)
{
    uint64_t flops = 0;
    uint64_t bytes = 0;
    fail_if(carm_code_set_intensity(spec, ai, &err) != 0, "%s %s %s at %g: %s",
            carm_isa_name(spec->isa), carm_op_name(spec->op), carm_precision_name(spec->precision),
            ai, err.text);
    assert_ok(carm_code_check(spec, &err));
    carm_code_intensity(spec, &flops, &bytes);
    const double reached = (double)flops / (double)bytes;
    if (fabs(reached / ai - 1) > 0.03 || (reachable(spec, ai) && reached != ai)) {
        char name[CARM_CODE_NAME_MAX];
        carm_code_name(spec, name);
        fail_msg("code %s: %.9g flop/byte asked for, %.9g reached", name, ai, reached);
    }
}

static void add_octaves(struct carm_code_spec spec)
{
    spec.kind = CARM_KIND_C;
    spec.mix = mix(0);
    for (int op = CARM_FMA; op <= CARM_MAD; op++) {
        spec.op = (enum carm_op)op;
        for (int octave = -9; octave <= 7 && carm_isa_has_op(spec.isa, spec.precision, spec.op);
             octave++) {
            const double ai = ldexp(1, octave);
            assert_true(reachable(&spec, ai));
            set_at(&spec, ai);
            add(&spec);
        }
    }
}

/* Every octave of 2:1, fma and mad is reached exactly. */
TEST(octaves)
{
    each_isa(add_octaves);
    assert_int_equal(checked, (CARM_VECTOR_ISAS * 2 - 1) * CARM_FLOATS * 17);
}

static void add_intensities(struct carm_code_spec spec)
{
    static const double intensities[] = {0x1p-9, 0.0123, 0.3, 1, 23.4};
    spec.kind = CARM_KIND_C;
    for (int i = 0; i < MIXES * CARM_FLOAT_OPS; i++) {
        spec.mix = mix(i / CARM_FLOAT_OPS);
        spec.op = (enum carm_op)(i % CARM_FLOAT_OPS);
        spec.order = i % 3 ? CARM_ORDER_UNIT : CARM_ORDER_BLOCK;
        spec.prefetch_bytes = i % 4 ? 0 : 2048;
        for (size_t k = 0; k < 5 && carm_isa_has_op(spec.isa, spec.precision, spec.op); k++) {
            set_at(&spec, intensities[k]);
            add_part(&spec, place(&spec, i) + k, 3);
        }
    }
}

TEST(intensities)
{
    each_isa(add_intensities);
    assert_part((CARM_VECTOR_ISAS * CARM_FLOAT_OPS - FUSED) * CARM_FLOATS * MIXES * 5, 3);
}

/* What no loop can give is refused, not approximated without a word. */
TEST(out_of_reach)
{
    struct carm_code_spec spec = {.kind = CARM_KIND_C, .isa = CARM_SSE, .mix = mix(7)};
    static const double beyond[] = {0, -1, 0x1p-12, 0x1p10, INFINITY, NAN};
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        assert_refused(carm_code_set_intensity(&spec, beyond[i], &err), -CARM_EINVAL,
                       "out of reach");
    }
    spec.op = CARM_DIV;
    assert_refused(carm_code_set_intensity(&spec, 500, &err), -CARM_EINVAL,
                   "needs a loop of more than 4096 instructions");
}
