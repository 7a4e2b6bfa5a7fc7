/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Codes with tiles (AMX), whether this CPU has them or not: all are generated, recounted, executed by an
 * interpreter of what the disassembler finds, and held against products of plain matrices. Where the CPU has tiles, its registers and its memory are held against the interpreter's. */
#include "tests/asm/counted.h"

#include <sys/mman.h>
#include <unistd.h>

#include "asm/decode.h"
#include "asm/gen.h"

enum { TILES = 8, ROWS = 16, COLUMNS = 16, ROW_BYTES = 64, TILE_BYTES = ROWS * ROW_BYTES };

/* ---- the interpreter ---- */

struct machine {
    uint8_t tile[TILES][ROWS][ROW_BYTES];
    uint8_t *window; /* [window_bytes] that loads and stores may reach */
    size_t window_bytes;
    bool outside; /* of the window */
    bool special; /* a value was denormal, infinite or NaN, or an integer wrapped around */
};

static int64_t element(const uint8_t *row, unsigned i, unsigned bytes)
{
    int16_t two = 0;
    memcpy(&two, row + (size_t)i * bytes, bytes == 1 ? 1 : 2);
    return bytes == 1 ? (int8_t)two : two;
}

/* A bfloat16 or half as a single; neither is denormal here. */
static float widen(int64_t bits, enum carm_precision precision, bool *special)
{
    const int exponent = precision == CARM_BF16 ? 8 : 5;
    const int fraction = 15 - exponent;
    const int e = (int)(bits >> fraction) & ((1 << exponent) - 1);
    const int f = (int)bits & ((1 << fraction) - 1);
    const float v = ldexpf(1.0F + ldexpf((float)f, -fraction), e - (1 << (exponent - 1)) + 1);
    *special = *special || e == 0 || e == (1 << exponent) - 1;
    return bits & 0x8000 ? -v : v;
}

/* source: Intel SDM, volume 2, TDPBF16PS, TDPFP16PS: the even and the odd products are added up apart */
static void product_of_floats(struct machine *m, const struct carm_insn *in,
                              enum carm_precision precision, int row, int column)
{
    float sums[2] = {0.0F, 0.0F};
    float *const c = (float *)(void *)m->tile[in->reg][row];
    for (int k = 0; k < ROWS; k++) {
        for (int j = 0; j < 2; j++) {
            const int64_t a = element(m->tile[in->src[0]][row], (unsigned)(2 * k + j), 2);
            const int64_t b = element(m->tile[in->src[1]][k], (unsigned)(2 * column + j), 2);
            sums[j] =
                fmaf(widen(a, precision, &m->special), widen(b, precision, &m->special), sums[j]);
        }
    }
    c[column] += sums[0] + sums[1];
    m->special = m->special || !isnormal(c[column]);
}

/* source: Intel SDM, volume 2, TDPBSSD */
static void product_of_integers(struct machine *m, const struct carm_insn *in, int row, int column)
{
    int32_t *const c = (int32_t *)(void *)m->tile[in->reg][row];
    int64_t sum = c[column];
    for (int k = 0; k < ROWS; k++) {
        for (int j = 0; j < 4; j++) {
            sum += element(m->tile[in->src[0]][row], (unsigned)(4 * k + j), 1) *
                   element(m->tile[in->src[1]][k], (unsigned)(4 * column + j), 1);
            m->special = m->special || sum != (int32_t)sum;
        }
    }
    c[column] = (int32_t)sum;
}

/* at: where the window's part of this iteration begins */
static void execute(struct machine *m, const struct carm_insn *in, const uint8_t *image, size_t at,
                    enum carm_precision precision)
{
    if (in->role == CARM_INSN_DOT) {
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            if (precision == CARM_INT8) {
                product_of_integers(m, in, i / COLUMNS, i % COLUMNS);
            } else {
                product_of_floats(m, in, precision, i / COLUMNS, i % COLUMNS);
            }
        }
    } else if (in->role == CARM_INSN_LOAD && in->base == CARM_BASE_IMAGE) {
        memcpy(m->tile[in->reg], image + in->value, TILE_BYTES);
    } else if (in->role == CARM_INSN_LOAD || in->role == CARM_INSN_STORE) {
        at += (size_t)in->value;
        m->outside = m->outside || in->value < 0 || at + in->bytes > m->window_bytes;
        if (!m->outside && in->role == CARM_INSN_LOAD) {
            memcpy(m->tile[in->reg], m->window + at, in->bytes);
        } else if (!m->outside) {
            memcpy(m->window + at, m->tile[in->reg], in->bytes);
        }
    }
}

/* ---- all codes ---- */

struct codes {
    struct carm_code_spec specs[80];
    size_t n;
    uint8_t *bytes;
    size_t size;
    struct carm_code_layout layouts[80];
    struct carm_account accounts[80];
};

static struct codes all;

/* The same codes in each precision, and one of vectors between them. */
static int open_all(void **state)
{
    static const char *const names[] = {
        "A.amx.%s.2:1.u4",
        "A.amx.%s.1:1.u3",
        "A.amx.%s.1:0.u8",
        "A.amx.%s.0:1.u5",
        "A.amx.%s.3:1.u4.p1024",
        "A.amx.%s.2:1.u6.block",
        "A.amx.%s.2:1.u6.block2",
        "B.amx.%s.dot.f8.c4",
        "B.amx.%s.dot.f2.c1",
        "B.amx.%s.dot.f26.c6",
        "B.amx.%s.dot.f48.c5",
        "C.amx.%s.2:1.dot.u2.f6.c3",
        "C.amx.%s.1:0.dot.u4.f8.c4",
        "C.amx.%s.0:1.dot.u3.f4.c2",
        "C.amx.%s.2:1.dot.u4.f16.c4.block",
    };
    static const enum carm_precision precisions[] = {CARM_BF16, CARM_INT8, CARM_FP16};
    for (size_t p = 0; p < 3; p++) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            char name[CARM_CODE_NAME_MAX];
            const char *rest = strstr(names[i], "%s") + 2;
            (void)snprintf(name, sizeof name, "%.*s%s%s", (int)(rest - 2 - names[i]), names[i],
                           carm_precision_name(precisions[p]), rest);
            all.specs[all.n++] = parse(name);
        }
        all.specs[all.n++] = parse("B.avx2.dp.fma");
    }
    assert_ok(carm_image_assemble(all.specs, all.n, &all.bytes, &all.size, all.layouts,
                                  all.accounts, &err));
    return 0;
}

static int close_all(void **state)
{
    free(all.bytes);
    return 0;
}

static bool has_tiles(size_t i)
{
    return all.specs[i].isa == CARM_AMX;
}

static void decode(size_t i, struct carm_insn **insns, size_t *n)
{
    const struct carm_code_layout *l = &all.layouts[i];
    assert_ok(carm_decode(all.bytes, all.size, l->begin, l->end, insns, n, &err));
}

/* Flops and bytes worked out by hand: 16 x 16 sums of 32 products, or of 64 integers' products. */
TEST(recount)
{
    for (size_t i = 0; i < all.n; i++) {
        const struct carm_code_spec *s = &all.specs[i];
        const struct carm_account *a = &all.accounts[i];
        assert_ok(carm_recount_check(s, all.bytes, all.size, &all.layouts[i], a, &err));
        if (!has_tiles(i)) {
            continue;
        }
        const uint64_t memory = s->kind == CARM_KIND_B ? 0 : s->units;
        assert_int_equal(a->load_bytes, memory * s->mix.loads * 1024);
        assert_int_equal(a->store_bytes, memory * s->mix.stores * 1024);
        assert_int_equal(a->stride_bytes, a->load_bytes + a->store_bytes);
        assert_int_equal(a->flops,
                         a->fp_instructions * (s->precision == CARM_INT8 ? 32768 : 16384));
    }
}

/* A code, so many iterations of its loop. */
static void interpret(struct machine *m, size_t i, unsigned times)
{
    const struct carm_code_layout *l = &all.layouts[i];
    struct carm_insn *insns = NULL;
    size_t n = 0;
    decode(i, &insns, &n);
    memset(m->tile, 0, sizeof m->tile);
    for (size_t k = 0; k < n && insns[k].offset < l->loop_begin; k++) {
        execute(m, &insns[k], all.bytes, 0, all.specs[i].precision);
    }
    for (unsigned t = 0; t < times; t++) {
        for (size_t k = 0; k < n; k++) {
            if (insns[k].offset >= l->loop_begin && insns[k].offset < l->loop_end) {
                execute(m, &insns[k], all.bytes, t * all.accounts[i].stride_bytes,
                        all.specs[i].precision);
            }
        }
    }
    free(insns);
}

/* ---- against plain matrices ---- */

/* The factors, written down once more: as matrices, once for each of the elements that meet in a sum. */
static double factor(enum carm_precision precision, bool second, int row, int column)
{
    const double a = precision == CARM_INT8 ? 91.0 : 183.0 / 256.0;
    const double b = precision == CARM_INT8 ? 68.0 : 137.0 / 256.0;
    const double x[2][2] = {{a, b}, {b, -a}};
    const double y[2][2] = {{b, -a}, {-a, -b}};
    return (second ? y : x)[row % 2][column % 2];
}

/* What a chain is after so many products: the first by the second factor and the second by the first in
 * turn, each added with one rounding. */
static void reference(enum carm_precision precision, unsigned chain, unsigned products,
                      uint8_t out[ROWS][ROW_BYTES])
{
    const double together = precision == CARM_INT8 ? 4.0 : 2.0;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        const int row = i / COLUMNS;
        const int column = i % COLUMNS;
        const int at = 16 * ((int)chain + row) + column;
        float real = 1.0F + (float)at / 431.0F;
        int32_t whole = 1 + at;
        for (unsigned k = 0; k < products; k++) {
            double sum = 0.0;
            for (int j = 0; j < 16; j++) {
                sum += factor(precision, k % 2 == 1, row, j) *
                       factor(precision, k % 2 == 0, j, column);
            }
            real = (float)(real + together * sum);
            whole += (int32_t)(together * sum);
        }
        memcpy(&out[row][4 * column], precision == CARM_INT8 ? (void *)&whole : (void *)&real, 4);
    }
}

/* Values are those of plain matrices, whatever the number of loops; on the way nothing is denormal,
 * overflows or wraps around. */
TEST(products)
{
    static const unsigned times[] = {0, 1, 7, 40};
    for (size_t i = 0; i < all.n * 4; i++) {
        static struct machine m;
        uint8_t due[ROWS][ROW_BYTES];
        const struct carm_code_spec *s = &all.specs[i / 4];
        const unsigned n = times[i % 4];
        if (!has_tiles(i / 4) || s->kind != CARM_KIND_B) {
            continue;
        }
        interpret(&m, i / 4, n);
        assert_false(m.special);
        for (unsigned c = 0; c < s->chains; c++) {
            /* those that the last, shorter round of a loop leaves out have a pair less */
            const unsigned pairs = s->fps / 2 / s->chains + (c < s->fps / 2 % s->chains ? 1 : 0);
            reference(s->precision, c, n * 2 * pairs, due);
            assert_memory_equal(m.tile[c < 4 ? c : c + 2], due, sizeof due);
        }
    }
    static struct machine half; /* an odd number of products is seen, too */
    struct carm_insn *insns = NULL;
    size_t n = 0;
    size_t i = 0;
    while (all.specs[i].fps != 2) {
        i++;
    }
    interpret(&half, i, 3);
    decode(i, &insns, &n);
    for (size_t k = 0; k < n; k++) {
        if (insns[k].role == CARM_INSN_DOT) {
            uint8_t due[ROWS][ROW_BYTES];
            execute(&half, &insns[k], all.bytes, 0, all.specs[i].precision);
            reference(all.specs[i].precision, 0, 7, due);
            assert_memory_equal(half.tile[0], due, sizeof due);
            break;
        }
    }
    free(insns);
}

enum { ITERATIONS = 3 };

/* What the interpreter makes of a window of so many iterations, which is written all over before. */
static void interpret_window(struct machine *m, size_t i, uint8_t *window)
{
    const size_t size = ITERATIONS * all.accounts[i].stride_bytes;
    memset(window, 0xa5, size);
    m->window = window;
    m->window_bytes = size;
    m->outside = false;
    interpret(m, i, ITERATIONS);
}

/* Loads and stores stay inside the window; stores put the first factor where the mix has a store. */
TEST(memory)
{
    static struct machine m;
    for (size_t i = 0; i < all.n; i++) {
        const struct carm_code_spec *s = &all.specs[i];
        const struct carm_account *a = &all.accounts[i];
        uint8_t *window = malloc(ITERATIONS * a->stride_bytes + 1);
        assert_non_null(window);
        if (has_tiles(i) && s->kind != CARM_KIND_B) {
            interpret_window(&m, i, window);
            assert_false(m.outside || m.special);
            const unsigned unit = s->mix.loads + s->mix.stores;
            for (unsigned slot = 0; slot < ITERATIONS * s->units * unit; slot++) {
                for (unsigned row = 0; row < ROWS; row++) {
                    const uint8_t *at =
                        window + (size_t)slot * TILE_BYTES + (size_t)row * ROW_BYTES;
                    uint8_t due[ROW_BYTES];
                    memset(due, 0xa5, sizeof due);
                    if (slot % unit >= s->mix.loads) {
                        carm_gen_tile_row(s->precision, CARM_TILE_FIRST + row, due);
                    }
                    assert_memory_equal(at, due, sizeof due);
                }
            }
        }
        free(window);
    }
}

/* ---- on this CPU ---- */

/* The image, in which codes jump to a piece of code that stores all tiles at rdi + 1 MiB, where they else
 * would release them. returns how many bytes are mapped */
static size_t map_with_dump(uint8_t **text)
{
    static const uint8_t release[] = {0xc4, 0xe2, 0x78, 0x49, 0xc0, 0xc3}; /* with its ret */
    enum { DUMP = 256, STORE = 10 };
    const size_t size = all.size + DUMP;
    uint8_t *to = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(to != MAP_FAILED);
    memcpy(to, all.bytes, all.size);
    for (unsigned t = 0; t < TILES; t++) { /* tilestored [rdi + r8 + 1 MiB + t KiB], tmm_t */
        const uint8_t store[STORE] = {
            0xc4, 0xa2, 0x7a, 0x4b, (uint8_t)(0x84 | t << 3), 0x07, 0x00, (uint8_t)(t << 2),
            0x10, 0x00};
        memcpy(to + all.size + (size_t)t * STORE, store, STORE);
    }
    memcpy(to + all.size + (size_t)TILES * STORE, release, sizeof release);
    for (size_t i = 0; i < all.n; i++) {
        uint8_t *tail = to + all.layouts[i].end - sizeof release;
        if (has_tiles(i)) {
            assert_memory_equal(tail, release, sizeof release);
            const int32_t distance = (int32_t)(all.size - (all.layouts[i].end - 1));
            tail[0] = 0xe9; /* jmp */
            memcpy(tail + 1, &distance, sizeof distance);
        }
    }
    assert_int_equal(mprotect(to, size, PROT_READ | PROT_EXEC), 0);
    *text = to;
    return size;
}

TEST(registers)
{
    enum { DUMP_AT = 1 << 20 };
    static struct call call;
    static struct machine m;
    uint8_t *text = NULL;
    size_t ran = 0;
    const size_t size = map_with_dump(&text);
    uint8_t *window = aligned_alloc(64, DUMP_AT + TILES * TILE_BYTES);
    uint8_t *due = malloc(DUMP_AT);
    assert_true(window && due);
    for (size_t i = 0; i < all.n; i++) {
        const struct carm_code_spec *s = &all.specs[i];
        struct carm_code_spec product = *s;
        product.op = CARM_DOT;
        if (!has_tiles(i) || !can_run(&product)) {
            continue;
        }
        const size_t bytes = ITERATIONS * all.accounts[i].stride_bytes;
        const uint8_t *at = text + all.layouts[i].begin;
        memset(window, 0xa5, DUMP_AT + TILES * TILE_BYTES);
        call = (struct call){.window = window, .iterations = ITERATIONS, .passes = 1};
        memcpy(&call.fn, &at, sizeof call.fn);
        const char *broken = run_guarded(&call, s);
        char name[CARM_CODE_NAME_MAX];
        carm_code_name(s, name);
        fail_if(broken, "code %s: %s", name, broken);
        interpret_window(&m, i, due);
        assert_memory_equal(window, due, bytes);
        fail_if(memcmp(window + DUMP_AT, m.tile, sizeof m.tile) != 0,
                "code %s: its tiles are not the reference's", name);
        ran++;
    }
    free(due);
    free(window);
    (void)munmap(text, size);
    skip_if(!ran, "this CPU has no tiles: all codes are decoded alone");
}

/* Stepping counts each load, store and product of tiles as the codes' own accounts do; fp16 products, which
 * this disassembler does not know, are reported. */
TEST(counting)
{
    struct carm_accounts *accounts = NULL;
    assert_ok(carm_accounts_open(&accounts, NULL, &err));
    for (size_t i = 0; i < all.n; i++) {
        const struct carm_account *a = &all.accounts[i];
        const bool is_known = all.specs[i].precision != CARM_FP16;
        const struct carm_step_counts counts =
            counts_of(accounts, &all.layouts[i], all.bytes, all.size);
        if (!has_tiles(i)) {
            continue;
        }
        assert_int_equal(counts.loads, a->loads);
        assert_int_equal(counts.load_bytes, a->load_bytes);
        assert_int_equal(counts.stores, a->stores);
        assert_int_equal(counts.store_bytes, a->store_bytes);
        assert_int_equal(counts.flops_other + counts.int_elements[0], is_known ? a->flops : 0);
        assert_int_equal(counts.unknown, is_known ? 0 : a->fp_instructions);
    }
    carm_accounts_close(accounts);
}

RUN_TESTS(open_all, close_all)
