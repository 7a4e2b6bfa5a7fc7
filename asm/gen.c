/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "asm/gen.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Constants of fma+add and 2fma+add: the square of `root` is nearly `square` (carm_gen_constant). */
static const double root = 0.6432608366259892;
static const double square = 1735538.0 / 4194304.0;

double carm_gen_constant(unsigned row, unsigned lane)
{
    /* Constants have long mantissas, so that the multipliers work as in real code (a factor of 1.0
     * draws less power), and keep every chain normal and finite for ever:
     *   fma  z + 0.71 * 0.53, then z - 0.71 * 0.53
     *   mad  0.71 z, then z + 0.53: contracts towards a point
     *   add  z + b, then z - b
     *   mul  z * 1.25, then z * 0.8: back to z within half an ulp; rounding brings it into a cycle
     *   div  the same constants as divisors
     *   sqrt the root of each of fma's constants
     *   fma+add, 2fma+add
     *        z + 0.64 * 0.64, once or twice, then z - r, or z - 2 r: r has 22 bits after the
     *        point, and the square differs from it by less than half of the last bit of z (in dp and
     *        in sp), so that z + square is rounded to z + r */
    switch (row) {
    case CARM_ROW_FMA:
    case CARM_ROW_MAD:
        return 0.7134291806231789;
    case CARM_ROW_FMA + 1:
    case CARM_ROW_MAD + 1:
        return 0.5316872304175163;
    case CARM_ROW_ADD:
        return 0.3182736450918273;
    case CARM_ROW_ADD + 1:
        return -0.3182736450918273;
    case CARM_ROW_MUL:
        return 1.25;
    case CARM_ROW_MUL + 1:
        return 0.8;
    case CARM_ROW_FMA_ADD:
    case CARM_ROW_FMA2_ADD:
        return root;
    case CARM_ROW_FMA_ADD + 1:
        return -square;
    case CARM_ROW_FMA2_ADD + 1:
        return -2.0 * square;
    case CARM_ROW_SIGN:
        return -0.0;
    case CARM_ROW_STORE:
        return 1.0 + 0.0712345678901234 * (double)lane;
    default: /* a chain's first value: distinct in each register and lane, in [1, 2) */
        return 1.0 + (double)(row * 16 + lane) / 431.0;
    }
}

/* The bits of the nearest number with these widths of exponent and fraction; v is 0 or normal in this format. */
static uint64_t narrow(double v, int exponent, int fraction)
{
    const uint64_t sign = (uint64_t)(signbit(v) ? 1 : 0) << (exponent + fraction);
    if (v == 0.0) {
        return sign;
    }
    int e = ilogb(v);
    double m = nearbyint(ldexp(fabs(v), fraction - e));
    if (m == ldexp(2.0, fraction)) {
        m /= 2.0;
        e++;
    }
    const int bias = (1 << (exponent - 1)) - 1;
    return sign | (uint64_t)(e + bias) << fraction | ((uint64_t)m - ((uint64_t)1 << fraction));
}

/* Integers: every chain returns to its first value, or stays at one value, and no dot product wraps around.
 *   add    z + x, then z - x
 *   mul    z * f, then z * (1 / f) modulo 2^bits
 *   logic  z & x, then z | -x
 *   dot    z + 4 x x, or 2 x x, then z minus this; x > 0, so that it is equal with and without sign
 *   ifma   z + the low 52 bits of a product, modulo 2^64: the only chain that does not return */
static uint64_t integer(unsigned row, unsigned lane, unsigned bytes)
{
    const uint64_t x = bytes == 1 ? 1 + lane * 37 % 101 : 1 + (lane * 5077 + 1009) % 19997;
    const uint64_t f = 0x9e3779b97f4a7c15; /* odd */
    uint64_t inverse = f;
    switch (row) {
    case CARM_ROW_ADD:
        return x;
    case CARM_ROW_ADD + 1:
        return -x;
    case CARM_ROW_MUL:
        return f;
    case CARM_ROW_MUL + 1:
        for (int i = 0; i < 5; i++) { /* Newton: 3 correct bits, then twice as many in each step */
            inverse *= 2 - f * inverse;
        }
        return inverse;
    case CARM_ROW_SIGN:
        return (uint64_t)1 << (8 * bytes - 1);
    default:
        return 1 + row * 16 + lane;
    }
}

/* Half precision. Mixtures: the last bit of a chain's value is 2^-10 or, from 2 on, 2^-9, so r is a
 * multiple of 2^-9; the square is smaller than r by 4e-6. */
static double half_constant(unsigned row, unsigned lane)
{
    switch (row) {
    case CARM_ROW_FMA_ADD:
    case CARM_ROW_FMA2_ADD:
        return 1241.0 / 2048.0;
    case CARM_ROW_FMA_ADD + 1:
        return -188.0 / 512.0;
    case CARM_ROW_FMA2_ADD + 1:
        return -2.0 * 188.0 / 512.0;
    default:
        return carm_gen_constant(row, lane);
    }
}

void carm_gen_row(enum carm_precision precision, unsigned row, uint8_t out[CARM_ROW_BYTES])
{
    const struct carm_precision_row *p = &carm_precisions[precision];
    const bool sum = row < CARM_ROW_FMA && carm_isa_has_op(CARM_AVX512, precision, CARM_DOT);
    const unsigned bytes = sum ? 4 : p->bytes;
    for (unsigned lane = 0; lane < CARM_ROW_BYTES / bytes; lane++) {
        const double dp = carm_gen_constant(row, lane);
        const float sp = (float)dp;
        const uint64_t bits = p->integer               ? integer(row, lane, bytes)
                              : precision == CARM_BF16 ? narrow(dp, 8, 7)
                                                       : narrow(half_constant(row, lane), 5, 10);
        const void *from = p->integer || bytes == 2 ? (const void *)&bits
                           : bytes == 8             ? (const void *)&dp
                                                    : (const void *)&sp;
        memcpy(out + (size_t)lane * bytes, from, bytes); /* little-endian, as all of x86-64 */
    }
}

/* All tiles have 16 rows of 64 bytes, in palette 1.
 * source: Intel 64 and IA-32 Architectures SDM, volume 2, LDTILECFG */
static void make_tile_shape(uint8_t out[CARM_ROW_BYTES])
{
    enum { PALETTE = 0, ROW_BYTES_AT = 16, ROWS_AT = 48, TILES = 8 };
    memset(out, 0, CARM_ROW_BYTES);
    out[PALETTE] = 1;
    for (int i = 0; i < TILES; i++) {
        out[ROW_BYTES_AT + 2 * i] = CARM_ROW_BYTES; /* of two bytes, little-endian */
        out[ROWS_AT + i] = CARM_TILE_ROWS;
    }
}

/* Two factors X and Y with X Y = -Y X, so that X Y and Y X in turn bring a chain back to its value. As matrices
 * of 16 x 16, one for each of the 2 or 4 elements that are summed in one element of 32 bits, they repeat
 *      a  b          b -a
 *      b -a         -a -b
 * a and b have 8 bits, so that the sums of products are exact in single precision in whatever order
 * they are added up: at most 16 (a a + b b) with 16 bits after the point. No sum of integers wraps
 * around. */
static double factor(unsigned row, unsigned group, bool second)
{
    static const double a = 183.0 / 256.0;
    static const double b = 137.0 / 256.0;
    const bool down = row & 1;
    const bool right = group & 1;
    const double first = down != right ? b : down ? -a : a;
    const double turned = down != right ? -a : down ? -b : b;
    return second ? turned : first;
}

void carm_gen_tile_row(enum carm_precision precision, unsigned row, uint8_t out[CARM_ROW_BYTES])
{
    const struct carm_precision_row *p = &carm_precisions[precision];
    const bool sum = row < CARM_TILE_FIRST;
    const unsigned bytes = sum ? 4 : p->bytes;
    for (unsigned i = 0; i < CARM_ROW_BYTES / bytes; i++) {
        const float first = 1.0F + (float)(row * 16 + i) / 431.0F; /* first values, like vectors' */
        const double v = factor(row - CARM_TILE_FIRST, i / (4 / bytes), row >= CARM_TILE_SECOND);
        const int32_t whole = sum ? (int32_t)(1 + row * 16 + i) : (int32_t)(v * 128.0);
        const uint64_t bits = precision == CARM_BF16 ? narrow(v, 8, 7) : narrow(v, 5, 10);
        const void *from = p->integer ? (const void *)&whole
                           : sum      ? (const void *)&first
                                      : (const void *)&bits;
        memcpy(out + (size_t)i * bytes, from, bytes); /* little-endian, as all of x86-64 */
    }
}

/* The form of a code's precision and operation. */
static const struct carm_form *form_of(const struct carm_code_spec *s)
{
    return carm_kind_has_flops(s->kind) ? carm_form_find(s->isa, s->precision, s->op) : NULL;
}

static void put_forms(FILE *out, const struct carm_code_spec *s, bool vex)
{
    fprintf(out, "CARM_%s_FORMS\n", vex ? "VEX" : "SSE");
    if (carm_isas[s->isa].vector_bytes < 32) {
        fprintf(out, "CARM_NARROW\n");
    }
}

/* put_isa_of_floats for precisions without scalar and packed mnemonics: whole vectors are moved. */
static void put_isa_of_forms(FILE *out, const struct carm_code_spec *s)
{
    const struct carm_isa_row *isa = &carm_isas[s->isa];
    const struct carm_precision_row *p = &carm_precisions[s->precision];
    const struct carm_form *form = form_of(s);
    fprintf(out, "CARM_ISA %u, %u, %s, %s, movdqa%s, %s\n", isa->vector_bytes, p->bytes,
            isa->family, form ? form->suffix : "",
            !isa->evex      ? ""
            : p->bytes == 8 ? "64"
                            : "32",
            p->flip[isa->evex ? 1 : 0]);
    put_forms(out, s, isa->vex);
    if (p->integer) {
        fprintf(out, "CARM_%s%s_INTEGER\n", isa->evex ? "E" : "", isa->vex ? "VEX" : "SSE");
    }
    fprintf(out, "CARM_NT_VECTOR %smovntdq\n", isa->vex ? "v" : "");
}

static bool has_tiles(const struct carm_code_spec *s)
{
    return carm_isas[s->isa].columns != 0;
}

static void put_isa_of_tiles(FILE *out, const struct carm_code_spec *s)
{
    const struct carm_form *form = form_of(s);
    fprintf(out, "CARM_TILES %u%s%s\n", carm_precisions[s->precision].bytes,
            form && *form->suffix ? ", " : "", form ? form->suffix : "");
}

/* CARM_ISA's arguments and the macro sets of an instruction set. */
static void put_isa_of_floats(FILE *out, const struct carm_code_spec *s)
{
    const struct carm_isa_row *isa = &carm_isas[s->isa];
    const struct carm_precision_row *p = &carm_precisions[s->precision];
    const bool scalar = isa->vector_bytes == 0;
    /* FMA3 is VEX-encoded: a code never mixes encodings, so all of it then is. */
    const bool vex = isa->vex || (carm_kind_has_flops(s->kind) && carm_ops[s->op].fused);
    const char *suffix = scalar ? p->scalar : p->packed;
    fprintf(out, "CARM_ISA %u, %u, %s, %s, %s%s, %s\n", carm_isa_vector_bytes(s->isa, s->precision),
            p->bytes, isa->family, suffix, scalar ? "mov" : "mova", suffix,
            p->flip[isa->evex ? 1 : 0]);
    put_forms(out, s, vex);
    if (scalar) {
        fprintf(out, "CARM_NT_ELEMENT %s\n", p->element);
    } else {
        fprintf(out, "CARM_NT_VECTOR %smovnt%s\n", vex ? "v" : "", suffix);
    }
}

static void put_isa(FILE *out, const struct carm_code_spec *s)
{
    const struct carm_precision_row *p = &carm_precisions[s->precision];
    if (has_tiles(s)) {
        put_isa_of_tiles(out, s);
        return;
    }
    (p->forms ? put_isa_of_forms : put_isa_of_floats)(out, s);
    fprintf(out, "%%define CARM_CONSTANTS carm_constants_%s\n", p->name);
}

/* Chain i is in register i, or in a register without another use in this code: with AVX-512 from 16 on,
 * else 14, 15 and the registers of loads and stores (carm_code_max_chains). With tiles, the fifth and sixth
 * chain use the tiles of loads and stores. */
static unsigned chain_register(const struct carm_code_spec *s, unsigned chain)
{
    static const unsigned spare[] = {14, 15, 10, 11};
    if (has_tiles(s)) {
        return chain < 4 ? chain : chain + 6;
    }
    if (chain < 10) {
        return chain;
    }
    return carm_isas[s->isa].registers > 16 ? chain + 6 : spare[chain - 10];
}

/* A line of a macro, whose first operand is the chain's register where the text has %u. */
static void put_turn(FILE *out, const char *text, unsigned reg)
{
    const int before = (int)strcspn(text, "%");
    fprintf(out, "    %.*s%u%s\n", before, text, reg, text + before + 2);
}

/* The k-th floating-point instruction of the loop. Chains alternate; every chain gets all its turns
 * equally often, so that each iteration completes the sequences of `carm_gen_constant`. In a
 * mixture every second pair of chains starts one turn later (FMA FMA ADD ADD ...): on Zen 3 the loop of
 * B.avx2.dp.fma+add.f224.c14 then stays at 23.9 flop/cycle; if all chains start at the same turn, or every
 * second chain one turn later, it falls to 20.7 for long stretches. */
static void put_fp(FILE *out, const struct carm_code_spec *s, unsigned k)
{
    const struct carm_op_row *op = &carm_ops[s->op];
    unsigned width = s->chains;
    unsigned in_round = k % (op->nturns * width);
    unsigned full = s->fps / (op->nturns * width) * (op->nturns * width);
    if (k >= full) { /* the last instructions: fewer chains, with all turns of each */
        width = (s->fps - full) / op->nturns;
        in_round = k - full;
    }
    const unsigned chain = in_round % width;
    const unsigned turn = (in_round / width + (op->mixture ? chain / 2 : 0)) % op->nturns;
    const struct carm_form *form = form_of(s);
    put_turn(out, form && form->turns[turn] ? form->turns[turn] : op->turns[turn],
             chain_register(s, chain));
}

static bool has_streams(const struct carm_code_spec *s)
{
    return s->streams > 1;
}

/* The operand that names a stream: none for the first. */
static const char *place_of(unsigned stream)
{
    static const char *const places[CARM_CODE_STREAMS_MAX] = {
        "", ", STREAM_1", ", STREAM_2", ", STREAM_3", ", STREAM_4", ", STREAM_5"};
    return places[stream];
}

/* Stream and slot of the k-th load, store or update of a loop with several streams. A pure mix uses all streams in
 * turn; otherwise loads use the first streams, and stores or updates the others. */
static void find_stream(const struct carm_code_spec *s, bool load, unsigned k, unsigned *stream,
                        unsigned *slot)
{
    const struct carm_mix mix = carm_mix_lowest(&s->mix);
    const unsigned loaded =
        carm_mix_is_pure(&mix) ? 0 : s->streams / carm_mix_slots(&mix) * carm_mix_plain_loads(&mix);
    const unsigned around = load && loaded ? loaded : s->streams - loaded;
    *stream = (load ? 0 : loaded) + k % around;
    *slot = k / around;
}

/* The slot of the k-th vector of a stream with strides: whole lines, one after another. */
static unsigned jumped(const struct carm_code_spec *s, unsigned k)
{
    const unsigned in_line = CARM_LINE_BYTES / carm_isa_vector_bytes(s->isa, s->precision);
    return s->stride > 1 ? k / in_line * s->stride * in_line + k % in_line : k;
}

/* The k-th slot of the loop in program order: a load, a store or an update. */
static void put_access(FILE *out, const struct carm_code_spec *s, unsigned k)
{
    const unsigned loads = carm_mix_plain_loads(&s->mix);
    const unsigned per_unit = carm_mix_slots(&s->mix);
    const unsigned others = per_unit - loads;
    assert(per_unit > 0 && s->units > 0); /* carm_code_check */
    unsigned unit = k / per_unit;
    unsigned place = k % per_unit;
    if (s->order == CARM_ORDER_BLOCK) {
        const unsigned size = s->block ? s->block : s->units;
        const unsigned first = unit / size * size; /* first unit of the block */
        const unsigned units = s->units - first < size ? s->units - first : size;
        const unsigned all_loads = units * loads;
        k -= first * per_unit;
        if (k < all_loads) {
            unit = first + k / loads;
            place = k % loads;
        } else {
            unit = first + (k - all_loads) / others;
            place = loads + (k - all_loads) % others;
        }
    }
    const bool load = place < loads;
    unsigned stream = 0;
    unsigned slot = jumped(s, unit * per_unit + place);
    if (has_streams(s)) {
        find_stream(s, load, load ? unit * loads + place : unit * others + place - loads, &stream,
                    &slot);
    }
    fprintf(out, "    %s %u%s\n",
            load                 ? "LD"
            : s->mix.update      ? "UPDATE"
            : s->mix.nontemporal ? "STNT"
                                 : "ST",
            slot, place_of(stream));
}

static void put_setup(FILE *out, const struct carm_code_spec *s)
{
    const bool tiles = has_tiles(s);
    const unsigned constants = tiles ? CARM_TILE_FIRST : carm_ops[s->op].constants;
    if (tiles) {
        fprintf(out, "    TILES carm_tiles_%s\n", carm_precision_name(s->precision));
    }
    if (carm_kind_has_flops(s->kind)) {
        for (unsigned i = 0; i < s->chains; i++) {
            fprintf(out, "    INIT %u, %u\n", chain_register(s, i), i);
        }
        for (unsigned i = 0; i < 2; i++) {
            fprintf(out, "    INIT %u, %u\n", 12 + i, constants + i * (tiles ? CARM_TILE_ROWS : 1));
        }
    }
    if (carm_kind_has_mix(s->kind) && s->mix.stores) {
        fprintf(out, "    INIT 11, %d\n",
                tiles           ? CARM_TILE_FIRST
                : s->mix.update ? CARM_ROW_SIGN
                                : CARM_ROW_STORE);
    }
    if (has_streams(s)) {
        fprintf(out, "    STREAMS\n");
    }
    if (s->kind == CARM_KIND_R) {
        fprintf(out, "    RANDOM_SEED\n");
    }
}

/* Puts integer additions, from number `first` on, in proportion to `done` of `all` other instructions: each
 * group that the front end issues contains every sort of instruction, and no port's queue fills up while others
 * are empty. The four chains take turns, so that a chain is used again after four additions, later than its
 * latency.
 * returns the number of additions in the loop so far */
static unsigned put_ints(FILE *out, const struct carm_code_spec *s, unsigned first, unsigned done,
                         unsigned all)
{
    unsigned k = first;
    for (; (uint64_t)(k + 1) * all <= (uint64_t)s->ints * done; k++) {
        fprintf(out, "    INT %u\n", 8 + k % 4);
    }
    return k;
}

/* Slots that each stream advances by in an iteration. */
static unsigned stride_slots(const struct carm_code_spec *s)
{
    const unsigned slots = s->units * carm_mix_slots(&s->mix);
    return has_streams(s) ? slots / s->streams : s->stride > 1 ? slots * s->stride : slots;
}

/* The k-th prefetch: line after line, of several streams in turn. Targets of non-temporal stores are not
 * prefetched. */
static void put_prefetch(FILE *out, const struct carm_code_spec *s, unsigned k)
{
    const unsigned streams = carm_code_fetched_streams(s);
    fprintf(out, "    PREFETCH %u%s\n", s->prefetch_bytes + CARM_LINE_BYTES * (k / streams),
            place_of(k % streams));
}

static unsigned prefetches(const struct carm_code_spec *s)
{
    const unsigned stride = stride_slots(s) * carm_isa_vector_bytes(s->isa, s->precision);
    const unsigned lines = (stride + CARM_LINE_BYTES - 1) / CARM_LINE_BYTES;
    return s->prefetch_bytes ? lines * carm_code_fetched_streams(s) : 0;
}

/* Accesses, prefetches, floating-point and integer instructions, each spread evenly over the loop,
 * so that the core's window always holds some of every sort. */
static void put_body(FILE *out, const struct carm_code_spec *s)
{
    const bool memory = carm_kind_has_mix(s->kind);
    const unsigned accesses = memory ? s->units * carm_mix_slots(&s->mix) : 0;
    const unsigned fps = carm_kind_has_flops(s->kind) ? s->fps : 0;
    const unsigned lines = memory ? prefetches(s) : 0;
    const unsigned steps = accesses ? accesses : fps;
    unsigned fp = 0;
    unsigned ints = 0;
    unsigned line = 0;
    fprintf(out, "  LOOP_BEGIN\n");
    for (unsigned i = 0; i < steps; i++) {
        const unsigned done = memory ? i + 1 : 0; /* accesses */
        for (; (uint64_t)line * steps < (uint64_t)lines * (i + 1); line++) {
            put_prefetch(out, s, line);
        }
        if (memory) {
            put_access(out, s, i);
        }
        ints = put_ints(out, s, ints, done + fp, accesses + fps);
        for (; (uint64_t)(fp + 1) * steps <= (uint64_t)fps * (i + 1); fp++) {
            put_fp(out, s, fp);
            ints = put_ints(out, s, ints, done + fp + 1, accesses + fps);
        }
    }
    fprintf(out, "  LOOP_END %u\n", memory ? stride_slots(s) : 0);
}

/* Loads line after line, all vectors of each line. */
static void put_random_body(FILE *out, const struct carm_code_spec *s)
{
    const unsigned in_line = CARM_LINE_BYTES / carm_isa_vector_bytes(s->isa, s->precision);
    fprintf(out, "  RANDOM_BEGIN\n");
    for (unsigned line = 0; line < s->units; line++) {
        fprintf(out, "    DRAW\n");
        for (unsigned i = 0; i < in_line; i++) {
            fprintf(out, "    LDRANDOM %u\n", i);
        }
    }
    fprintf(out, "  RANDOM_END\n");
}

static void put_words(FILE *out, const uint8_t row[CARM_ROW_BYTES])
{
    for (size_t at = 0; at < CARM_ROW_BYTES; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, row + at, sizeof word);
        fprintf(out, "%s0x%016" PRIx64, at ? ", " : "    dq ", word);
    }
    fprintf(out, "\n");
}

static void put_tile_table(FILE *out, enum carm_precision precision)
{
    uint8_t row[CARM_ROW_BYTES];
    fprintf(out, "align %d\ncarm_tiles_%s:\n", CARM_ROW_BYTES, carm_precision_name(precision));
    make_tile_shape(row);
    put_words(out, row);
    for (unsigned i = 0; i < CARM_TILE_TABLE_ROWS; i++) {
        carm_gen_tile_row(precision, i, row);
        put_words(out, row);
    }
}

static void put_constants(FILE *out, enum carm_precision precision)
{
    const struct carm_precision_row *p = &carm_precisions[precision];
    fprintf(out, "align %d\ncarm_constants_%s:\n", CARM_ROW_BYTES, p->name);
    for (unsigned row = 0; row < CARM_ROWS; row++) {
        if (!p->data) {
            uint8_t bytes[CARM_ROW_BYTES];
            carm_gen_row(precision, row, bytes);
            put_words(out, bytes);
            continue;
        }
        fprintf(out, "    %s ", p->data);
        for (unsigned lane = 0; lane < CARM_ROW_BYTES / p->bytes; lane++) {
            fprintf(out, "%s%.17f", lane ? ", " : "", carm_gen_constant(row, lane));
        }
        fprintf(out, "\n");
    }
}

void carm_gen_source(FILE *out, const struct carm_code_spec *specs, size_t n)
{
    bool used[CARM_PRECISION_COUNT] = {false};
    bool tiles[CARM_PRECISION_COUNT] = {false};
    fprintf(out, "; assemble with: nasm -f bin -o code.bin THIS_FILE\n%s\nCARM_FILE\n",
            carm_inc_text);
    for (size_t i = 0; i < n; i++) {
        char name[CARM_CODE_NAME_MAX];
        carm_code_name(&specs[i], name);
        put_isa(out, &specs[i]);
        fprintf(out, "CODE_BEGIN \"%s\"\n", name);
        put_setup(out, &specs[i]);
        (specs[i].kind == CARM_KIND_R ? put_random_body : put_body)(out, &specs[i]);
        fprintf(out, "CODE_END\n\n");
        (has_tiles(&specs[i]) ? tiles : used)[specs[i].precision] = true;
    }
    for (int p = 0; p < CARM_PRECISION_COUNT; p++) {
        if (used[p]) {
            put_constants(out, (enum carm_precision)p);
        }
        if (tiles[p]) {
            put_tile_table(out, (enum carm_precision)p);
        }
    }
    fprintf(out, "CARM_END\n");
}
