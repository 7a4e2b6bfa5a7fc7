/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What single instructions do: a table of them, assembled here and decoded with made-up registers, so
 * that it works on any x86-64 CPU. */
#define OWN_MAIN
#include "harness/count/step/counts.h"
#include "harness/count/step/instruction.h"
#include "harness/count/step/xstate.h"
#include "tests/harness/count/step/instruction_table.h"
#include "tests/unit.h"

/* Fifteen bytes each, filled up with nops, in the order of the table. */
#define ASSEMBLE(text, rcx_value, ...)               \
    __asm__(".pushsection .rodata.accounts, \"a\"\n" \
            ".intel_syntax noprefix\n"               \
            "8: " text "\n"                          \
            "9: .fill 15 - (9b - 8b), 1, 0x90\n"     \
            ".att_syntax prefix\n"                   \
            ".popsection");
__asm__(".pushsection .rodata.accounts, \"a\"\neffect_codes:\n.popsection");
EFFECT_TABLE(ASSEMBLE)
extern const uint8_t codes[][CARM_INSTRUCTION_BYTES_MAX] __asm__("effect_codes");

#define EXPECT(insn, rcx_value, ...) {insn, rcx_value, {.instructions = 1, __VA_ARGS__}},
static const struct {
    const char *text;
    uint64_t rcx;
    struct carm_step_counts want;
} table[] = {EFFECT_TABLE(EXPECT)};
enum { CASES = sizeof table / sizeof *table };

static struct carm_xlayout layout;
static uint8_t area[16384];
static size_t asked; /* for the area */

static const uint8_t *synthetic(void *arg, size_t *size_bytes)
{
    asked++;
    *size_bytes = sizeof area;
    return arg;
}

static void make_area(uint64_t in_use)
{
    static const uint64_t masks[] = {UINT64_MAX, 0x20005, 0, UINT64_MAX};
    static const uint8_t shapes[64] = {
        1, [18] = 20, [20] = 28, [22] = 20, [48 + 1] = 3, [48 + 2] = 3, [48 + 3] = 7};
    memset(area, 0, sizeof area);
    memcpy(area + CARM_XSAVE_HEADER, &in_use, sizeof in_use);
    memcpy(area + layout.offset[CARM_OPMASK], masks, sizeof masks);
    memcpy(area + layout.offset[CARM_TILE_CONFIG], shapes, sizeof shapes);
    area[160 + 2 * 16 + 7] = 0x80;
    area[160 + 2 * 16 + 15] = 0x80;
    area[layout.offset[CARM_YMM_HIGH] + 2 * 16 + 3] = 0x80;
}

static struct carm_accounts *open_effects(void)
{
    struct carm_accounts *accounts = NULL;
    assert_ok(carm_accounts_open(&accounts, NULL, &err));
    return accounts;
}

#define SAME(i, got, field)                                                                      \
    do {                                                                                         \
        if ((got)->field != table[i].want.field) {                                               \
            fail_msg("'%s': " #field " is %llu, not %llu", table[i].text,                        \
                     (unsigned long long)(got)->field, (unsigned long long)table[i].want.field); \
        }                                                                                        \
    } while (0)

static void compare(size_t i, const struct carm_step_counts *got)
{
    SAME(i, got, instructions);
    for (int w = 0; w < CARM_WIDTH_COUNT; w++) {
        SAME(i, got, flops[0][w]);
        SAME(i, got, flops[1][w]);
    }
    SAME(i, got, flops_other);
    SAME(i, got, loads);
    SAME(i, got, load_bytes);
    SAME(i, got, stores);
    SAME(i, got, store_bytes);
    SAME(i, got, nt_stores);
    SAME(i, got, fp_instructions);
    SAME(i, got, fp_adds);
    SAME(i, got, fp_muls);
    SAME(i, got, fp_fmas);
    SAME(i, got, fp_divides);
    SAME(i, got, fp_roots);
    for (int k = 0; k < CARM_ELEMENT_COUNT; k++) {
        SAME(i, got, int_elements[k]);
    }
    for (int w = 0; w < CARM_WIDTH_COUNT - 1; w++) {
        SAME(i, got, int_widths[w]);
    }
    SAME(i, got, int_adds);
    SAME(i, got, int_muls);
    SAME(i, got, int_logic);
    SAME(i, got, int_dots);
    SAME(i, got, int_instructions);
    SAME(i, got, prefetches);
    SAME(i, got, unknown);
    assert_string_equal(got->unknown_text, table[i].want.unknown_text);
}

static struct carm_registers registers(uint64_t rip, uint64_t rcx)
{
    return (struct carm_registers){
        .rip = rip, .rax = 3, .rcx = rcx, .xsave = synthetic, .xsave_arg = area};
}

TEST(table)
{
    struct carm_accounts *accounts = open_effects();
    make_area(UINT64_MAX);
    for (int again = 0; again < 2; again++) { /* decoded, then from the cache */
        for (size_t i = 0; i < CASES; i++) {
            const struct carm_registers regs = registers((uintptr_t)codes[i], table[i].rcx);
            struct carm_step_counts got = {.instructions = 0};
            carm_accounts_count(accounts, codes[i], sizeof codes[i], &regs, &got);
            compare(i, &got);
        }
    }
    carm_accounts_close(accounts);
}

/* One address for all: what is in the cache is another instruction's every time. */
TEST(changing_code)
{
    struct carm_accounts *accounts = open_effects();
    make_area(UINT64_MAX);
    for (size_t i = 0; i < CASES; i++) {
        const struct carm_registers regs = registers(0x400000, table[i].rcx);
        struct carm_step_counts got = {.instructions = 0};
        carm_accounts_count(accounts, codes[i], sizeof codes[i], &regs, &got);
        compare(i, &got);
    }
    carm_accounts_close(accounts);
}

static size_t index_of(const char *text)
{
    for (size_t i = 0; i < CASES; i++) {
        if (strcmp(table[i].text, text) == 0) {
            return i;
        }
    }
    fail_msg("'%s' is not in the table", text);
    return 0;
}

static struct carm_step_counts count(const char *text, size_t n,
                                     const uint8_t *(*xsave)(void *, size_t *))
{
    struct carm_accounts *accounts = open_effects();
    struct carm_registers regs = registers(0x1000, 5);
    struct carm_step_counts got = {.instructions = 0};
    regs.xsave = xsave;
    carm_accounts_count(accounts, codes[index_of(text)], n, &regs, &got);
    carm_accounts_close(accounts);
    return got;
}

/* A component in its initial state is zero whatever the area holds; the area is asked for only where it
 * decides. */
TEST(initial_state)
{
    make_area(UINT64_MAX & ~(1ULL << CARM_OPMASK));
    assert_int_equal(count("vaddpd zmm1 {k3}, zmm2, [rax]", 15, synthetic).flops[0][3], 0);
    assert_int_equal(count("vaddpd zmm1 {k3}, zmm2, [rax]", 15, synthetic).loads, 0);
    assert_int_equal(count("vmulpd zmm1, zmm2, zmm3", 15, synthetic).flops[0][3], 8);
    make_area(1U << CARM_XMM); /* the upper half of ymm2 is zero */
    assert_int_equal(count("vmaskmovps ymm1, ymm2, [rax]", 15, synthetic).load_bytes, 8);
    make_area(0);
    assert_int_equal(count("vmaskmovps ymm1, ymm2, [rax]", 15, synthetic).loads, 0);
    asked = 0;
    (void)count("vmulpd zmm1, zmm2, zmm3", 15, synthetic);
    (void)count("rep movsb", 15, synthetic);
    assert_int_equal(asked, 0);
    make_area(UINT64_MAX & ~(1ULL << CARM_TILE_CONFIG));
    assert_int_equal(count("tdpbssd tmm1, tmm2, tmm3", 15, synthetic).int_dots, 0);
    assert_int_equal(count("tileloadd tmm2, [rax+rcx]", 15, NULL).load_bytes, 1024);
    assert_int_equal(count("tdpbssd tmm1, tmm2, tmm3", 15, NULL).int_dots, 2 * 16 * 16 * 64);
    /* where it cannot be had, all lanes are taken for active */
    assert_int_equal(count("vaddpd zmm1 {k1}, zmm2, zmm3", 15, NULL).flops[0][3], 8);
}

/* Registers 16 to 31 lie apart. */
TEST(vectors)
{
    uint8_t out[CARM_VECTOR_BYTES_MAX];
    make_area(UINT64_MAX);
    memset(area + layout.offset[CARM_ZMM_HIGH] + 2UL * 32, 0x11, 32);
    memset(area + layout.offset[CARM_ZMM_16_31] + 3UL * 64, 0x22, 64);
    carm_xstate_vector(&layout, area, sizeof area, 2, out);
    assert_int_equal(out[7], 0x80);
    assert_int_equal(out[16 + 3], 0x80);
    assert_int_equal(out[32], 0x11);
    assert_int_equal(out[63], 0x11);
    carm_xstate_vector(&layout, area, sizeof area, 19, out);
    assert_int_equal(out[0], 0x22);
    assert_int_equal(out[63], 0x22);
    /* an area that ends before, as of FXSAVE */
    carm_xstate_vector(&layout, area, 512, 2, out);
    assert_int_equal(out[7], 0x80);
    assert_int_equal(out[16 + 3], 0);
    assert_int_equal(carm_xstate_mask(&layout, area, 512, 3), 0);
}

TEST(cut_short)
{
    const struct carm_step_counts got = count("vaddps zmm1, zmm2, [rax]", 3, synthetic);
    assert_int_equal(got.instructions, 1);
    assert_int_equal(got.unknown, 1);
    assert_string_equal(got.unknown_text, "bytes 62 f1 6c");
    assert_int_equal(count("vaddps zmm1, zmm2, [rax]", 0, synthetic).unknown, 1);
}

TEST(sums)
{
    const struct carm_step_counts one = {.instructions = 10,
                                         .flops = {{1, 2, 3, 4}, {5, 6, 7, 8}},
                                         .flops_other = 9,
                                         .loads = 11,
                                         .stores = 12,
                                         .load_bytes = 13,
                                         .store_bytes = 15,
                                         .nt_stores = 3,
                                         .fp_instructions = 20,
                                         .fp_adds = 6,
                                         .fp_muls = 5,
                                         .fp_fmas = 4,
                                         .fp_divides = 3,
                                         .fp_roots = 2,
                                         .prefetches = 2,
                                         .unknown = 1,
                                         .unknown_text = "huh"};
    struct carm_step_counts sum = {.instructions = 1};
    struct carm_counts out;
    carm_step_counts_add(&sum, &one, 1);
    carm_step_counts_add(&sum, &one, 2.5);
    assert_int_equal(sum.instructions, 36);
    assert_int_equal(sum.flops[0][3], 14);
    assert_int_equal(sum.flops[1][0], 5 + 13); /* 12.5 is rounded */
    assert_int_equal(sum.nt_stores, 3 + 8);
    assert_int_equal(sum.fp_instructions, 20 + 50);
    assert_int_equal(sum.fp_adds, 6 + 15);
    assert_int_equal(sum.fp_muls, 5 + 13);
    assert_int_equal(sum.fp_fmas, 4 + 10);
    assert_int_equal(sum.fp_divides, 3 + 8);
    assert_int_equal(sum.fp_roots, 2 + 5);
    assert_int_equal(sum.prefetches, 2 + 5);
    assert_int_equal(sum.unknown, 1 + 3);
    assert_string_equal(sum.unknown_text, "huh");
    carm_step_counts_to_counts(&one, 0.25, &out);
    assert_true(out.q[CARM_Q_FLOPS].value == 10 + 26 + 9);
    assert_true(out.q[CARM_Q_FLOPS_DP].value == 10);
    assert_true(out.q[CARM_Q_FLOPS_SP].value == 26);
    assert_true(out.q[CARM_Q_FLOPS_OTHER].value == 9);
    assert_true(out.q[CARM_Q_DP_SCALAR].value == 1);
    assert_true(out.q[CARM_Q_DP_512].value == 4);
    assert_true(out.q[CARM_Q_SP_256].value == 7);
    assert_true(out.q[CARM_Q_BYTES].value == 28);
    assert_true(out.q[CARM_Q_BYTES].low == 28 && out.q[CARM_Q_BYTES].high == 28);
    assert_true(out.q[CARM_Q_BYTES].share == 0.25);
    assert_true(out.q[CARM_Q_FP_INSTRUCTIONS].value == 20);
    assert_true(out.q[CARM_Q_FP_ADDS].value == 6);
    assert_true(out.q[CARM_Q_FP_MULS].value == 5);
    assert_true(out.q[CARM_Q_FP_FMAS].value == 4);
    assert_true(out.q[CARM_Q_FP_DIVIDES].value == 3);
    assert_true(out.q[CARM_Q_FP_ROOTS].value == 2);
    assert_true(out.q[CARM_Q_PREFETCHES].value == 2);
    assert_int_equal(out.q[CARM_Q_INSTRUCTIONS].by, CARM_COUNTED_STEPPED);
    assert_int_equal(out.q[CARM_Q_CYCLES].by, CARM_COUNTED_NOT);
    assert_int_equal(out.q[CARM_Q_DRAM_BYTES].by, CARM_COUNTED_NOT);
    assert_non_null(strstr(out.note, "huh"));
}

int main(void)
{
    carm_xlayout_read(&layout);
    return run_suite(NULL, NULL);
}
