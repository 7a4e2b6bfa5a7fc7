/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The three estimates against cycles worked by hand, and the guide's worked example. */
#include "models/file/sol/analysis.h"
#include "models/sol/estimate.h"
#include "tests/models/sol/build.h"
#include "tests/unit.h"

enum { ROOM = 32 };

/* 1 GHz, 10 byte, 100 macs and 20 other operations a cycle at int8, where an element is a byte */
static struct carm_sol_arch make_arch(void)
{
    struct carm_sol_arch a = {.name = "small", .freq_ghz = 1.0, .dram_byte_per_cycle = 10.0};
    a.mac_per_cycle[CARM_SOL_INT8] = 100.0;
    a.other_per_cycle[CARM_SOL_INT8] = 20.0;
    return a;
}

static void add_level(struct carm_sol_arch *arch, const char *name, uint64_t capacity, double rate)
{
    struct carm_sol_level *l = &arch->levels[arch->nlevels++];
    (void)snprintf(l->name, sizeof l->name, "%s", name);
    l->capacity = capacity;
    l->byte_per_cycle = rate;
}

/* macs 10000, then 1000 other operations, then macs 1000; two intermediates of 100; elements:
 *        unfused  external
 *   one      600       500
 *   two      200         0
 *   three    450       350 */
static struct carm_sol_graph *make_graph(void)
{
    struct carm_sol_graph *g = sol_build_open(ROOM, 4 * ROOM, 4 * ROOM);
    enum { X, W1, A, B, W2, Y };
    sol_matmul(g, 10000, IN(X, 100), WEIGHT(W1, 400), OUT(A, 100));
    sol_op(g, 1000, IN(A, 100), OUT(B, 100));
    sol_matmul(g, 1000, IN(B, 100), WEIGHT(W2, 300), OUT(Y, 50));
    return g;
}

#define assert_estimate(e, bytes_, compute_, memory_, cycles_, bound_) \
    do {                                                               \
        assert_int_equal((e).bytes, bytes_);                           \
        assert_near((e).compute_cycles, compute_, 1e-9);               \
        assert_near((e).memory_cycles, memory_, 1e-9);                 \
        assert_near((e).cycles, cycles_, 1e-9);                        \
        assert_near((e).seconds, (cycles_)*1e-9, 1e-18);               \
        assert_int_equal((e).bound, bound_);                           \
    } while (0)

static void assert_same(const struct carm_sol_estimate *a, const struct carm_sol_estimate *b)
{
    assert_int_equal(a->elements, b->elements);
    assert_int_equal(a->spilled_bytes, b->spilled_bytes);
    assert_estimate(*a, b->bytes, b->compute_cycles, b->memory_cycles, b->cycles, b->bound);
    assert_near(a->level_cycles, b->level_cycles, 0);
    assert_near(a->intensity, b->intensity, 0);
}

TEST(intended)
{
    struct carm_sol_graph *g = make_graph();
    struct carm_sol_analysis *a = sol_build_analyse(g);
    const struct carm_sol_arch arch = make_arch();
    struct carm_sol_result r = sol_estimate(g, a, &arch, CARM_SOL_INT8, false);
    assert_false(r.whole_graph);
    assert_false(r.has_cached);
    /* max(100, 60) + max(50, 20) + max(10, 45): compute bounds 150 of them, memory 45 */
    assert_estimate(r.models[CARM_SOL_UNFUSED], 1250, 160, 125, 195, CARM_SOL_BY_COMPUTE);
    assert_estimate(r.models[CARM_SOL_FUSED], 850, 160, 85, 185, CARM_SOL_BY_COMPUTE);
    /* max(100 + 10, 50): contractions and the rest are each summed by themselves */
    assert_estimate(r.models[CARM_SOL_PREFETCHED], 850, 110, 85, 110, CARM_SOL_BY_COMPUTE);
    const struct carm_sol_estimate *e = &r.models[CARM_SOL_FUSED];
    assert_near(e->tc_cycles, 110, 1e-9);
    assert_near(e->sm_cycles, 50, 1e-9);
    assert_near(e->intensity, 23000.0 / 850.0, 1e-9);
    assert_near(e->mac_intensity, 11000.0 / 850.0, 1e-9);
    assert_int_equal(e->level, -1);
    assert_int_equal(e->elements, 850);
    assert_near(r.ridge_point, 20, 1e-12);
    assert_near(r.mac_ridge_point, 10, 1e-12);
    struct carm_sol_estimate one;
    carm_sol_estimate_layer(&r, 2, CARM_SOL_UNFUSED, false, &one);
    assert_estimate(one, 450, 10, 45, 45, CARM_SOL_BY_MEMORY);
    carm_sol_estimate_layer(&r, 1, CARM_SOL_PREFETCHED, false, &one);
    assert_estimate(one, 0, 50, 0, 50, CARM_SOL_BY_COMPUTE);
    assert_true(isinf(one.intensity));
    assert_near(one.mac_intensity, 0, 0);
}

TEST(as_implemented)
{
    struct carm_sol_graph *g = make_graph();
    struct carm_sol_analysis *a = sol_build_analyse(g);
    const struct carm_sol_arch arch = make_arch();
    struct carm_sol_result r = sol_estimate(g, a, &arch, CARM_SOL_INT8, true);
    assert_true(r.whole_graph);
    assert_estimate(r.models[CARM_SOL_UNFUSED], 1250, 110, 125, 125, CARM_SOL_BY_MEMORY);
    assert_estimate(r.models[CARM_SOL_FUSED], 850, 110, 85, 110, CARM_SOL_BY_COMPUTE);
    assert_estimate(r.models[CARM_SOL_PREFETCHED], 850, 110, 85, 110, CARM_SOL_BY_COMPUTE);
}

TEST(one_level)
{
    struct carm_sol_graph *g = make_graph();
    struct carm_sol_analysis *a = sol_build_analyse(g);
    struct carm_sol_arch arch = make_arch();
    add_level(&arch, "SRAM", 150, 0.0); /* room for one of the two: the second goes to memory */
    struct carm_sol_result r = sol_estimate(g, a, &arch, CARM_SOL_INT8, false);
    assert_true(r.has_cached);
    assert_int_equal(r.peak_bytes, 200);
    assert_same(&r.cached[CARM_SOL_UNFUSED], &r.models[CARM_SOL_UNFUSED]);
    /* 100 + max(50, 10) + max(10, 35 + 10) */
    assert_estimate(r.cached[CARM_SOL_FUSED], 1050, 160, 105, 195, CARM_SOL_BY_COMPUTE);
    assert_estimate(r.cached[CARM_SOL_PREFETCHED], 1050, 110, 105, 110, CARM_SOL_BY_COMPUTE);
    assert_int_equal(r.cached[CARM_SOL_FUSED].spilled_bytes, 200);
    assert_int_equal(r.cached[CARM_SOL_FUSED].level, -1);
    struct carm_sol_estimate one;
    carm_sol_estimate_layer(&r, 2, CARM_SOL_PREFETCHED, true, &one);
    assert_estimate(one, 450, 10, 45, 45, CARM_SOL_BY_MEMORY);
    assert_int_equal(one.spilled_bytes, 100);

    /* all that moves passes it at 5 byte a cycle: 120, 40 and 90 cycles */
    arch.levels[0].byte_per_cycle = 5.0;
    r = sol_estimate(g, a, &arch, CARM_SOL_INT8, false);
    assert_estimate(r.cached[CARM_SOL_FUSED], 1050, 160, 105, 260, CARM_SOL_BY_LEVEL);
    assert_estimate(r.cached[CARM_SOL_PREFETCHED], 1050, 110, 105, 250, CARM_SOL_BY_LEVEL);
    assert_int_equal(r.cached[CARM_SOL_FUSED].level, 0);
    assert_near(r.cached[CARM_SOL_FUSED].level_cycles, 250, 1e-9);

    /* room for all: the guide's */
    arch.levels[0].capacity = 200;
    arch.levels[0].byte_per_cycle = 0.0;
    for (int whole = 0; whole < 2; whole++) {
        r = sol_estimate(g, a, &arch, CARM_SOL_INT8, whole);
        for (int m = 0; m < CARM_SOL_MODELS; m++) {
            assert_same(&r.cached[m], &r.models[m]);
        }
    }
}

TEST(several_levels)
{
    struct carm_sol_graph *g = make_graph();
    struct carm_sol_analysis *a = sol_build_analyse(g);
    struct carm_sol_arch arch = make_arch();
    add_level(&arch, "L1", 100, 0.0);
    add_level(&arch, "L2", 200, 2.0);
    struct carm_sol_result r = sol_estimate(g, a, &arch, CARM_SOL_INT8, false);
    /* L2 carries what is external and the second tensor: 500, 0 + 100, 350 + 100; nothing spills */
    assert_estimate(r.cached[CARM_SOL_FUSED], 850, 160, 85, 250 + 50 + 225, CARM_SOL_BY_LEVEL);
    assert_estimate(r.cached[CARM_SOL_PREFETCHED], 850, 110, 85, 525, CARM_SOL_BY_LEVEL);
    assert_int_equal(r.cached[CARM_SOL_PREFETCHED].level, 1);
    assert_int_equal(r.cached[CARM_SOL_FUSED].level, 1);
    struct carm_sol_estimate one;
    carm_sol_estimate_layer(&r, 0, CARM_SOL_FUSED, true, &one);
    assert_near(one.level_cycles, 250, 1e-9);
    assert_int_equal(one.level, 1);

    /* an L1 of unknown size keeps nothing: L2 carries everything */
    arch.levels[0].capacity = 0;
    r = sol_estimate(g, a, &arch, CARM_SOL_INT8, false);
    assert_near(r.cached[CARM_SOL_FUSED].cycles, 300 + 100 + 225, 1e-9);
    assert_int_equal(r.cached[CARM_SOL_FUSED].spilled_bytes, 0);

    /* an L2 that is smaller loses nothing that L1 has kept */
    arch.levels[0].capacity = 200;
    arch.levels[1].capacity = 1;
    r = sol_estimate(g, a, &arch, CARM_SOL_INT8, false);
    assert_int_equal(r.cached[CARM_SOL_FUSED].spilled_bytes, 0);
    assert_near(r.cached[CARM_SOL_FUSED].cycles, 250 + 50 + 175, 1e-9);

    /* no level of known size: no estimates with levels */
    arch.levels[0].capacity = 0;
    arch.levels[1].capacity = 0;
    r = sol_estimate(g, a, &arch, CARM_SOL_INT8, false);
    assert_false(r.has_cached);
}

/* Two short operations that compute and a long one that moves: the cycles decide, not the number. The
 * innermost level carries x each time that it is read, memory once. */
TEST(what_bounds_most_cycles)
{
    struct carm_sol_graph *g = sol_build_open(ROOM, 4 * ROOM, 4 * ROOM);
    enum { X, A, B, C };
    sol_op(g, 1200, IN(X, 500), OUT(A, 10));
    sol_op(g, 1200, IN(X, 500), OUT(B, 10));
    sol_op(g, 20, IN(A, 10), IN(B, 10), OUT(C, 1380));
    struct carm_sol_analysis *a = sol_build_analyse(g);
    struct carm_sol_arch arch = make_arch();
    struct carm_sol_result r = sol_estimate(g, a, &arch, CARM_SOL_INT8, false);
    assert_estimate(r.models[CARM_SOL_FUSED], 1880, 121, 188, 60 + 60 + 138, CARM_SOL_BY_MEMORY);
    add_level(&arch, "L1", 1000, 5.0);
    r = sol_estimate(g, a, &arch, CARM_SOL_INT8, false);
    assert_estimate(r.cached[CARM_SOL_FUSED], 1880, 121, 188, 102 + 102 + 280, CARM_SOL_BY_LEVEL);
}

/* Where both policies take as many cycles, here those of computing, the one that spills less is taken: the graph
 * of test_cache.c on which LRU spills 40 of 10, and the farthest reader 20. */
TEST(less_is_spilled_at_equal_cycles)
{
    struct carm_sol_graph *g = sol_build_open(ROOM, 4 * ROOM, 4 * ROOM);
    enum { X, A, B, C, YA, YB, YC, YD };
    sol_op(g, 10, IN(X, 1), OUT(A, 10));
    sol_op(g, 10, IN(X, 1), OUT(B, 10));
    sol_op(g, 10, IN(X, 1), OUT(C, 10));
    sol_op(g, 1, IN(A, 10), OUT(YA, 1));
    sol_op(g, 1, IN(B, 10), OUT(YB, 1));
    sol_op(g, 1, IN(A, 10), OUT(YC, 1));
    sol_op(g, 1, IN(C, 10), OUT(YD, 1));
    struct carm_sol_analysis *a = sol_build_analyse(g);
    struct carm_sol_arch arch = make_arch();
    arch.dram_byte_per_cycle = 1e4;
    add_level(&arch, "SRAM", 20, 0.0);
    struct carm_sol_result r = sol_estimate(g, a, &arch, CARM_SOL_INT8, false);
    assert_int_equal(r.cached[CARM_SOL_FUSED].spilled_bytes, 40);
    assert_int_equal(r.cached[CARM_SOL_PREFETCHED].spilled_bytes, 20);
    assert_int_equal(r.cached[CARM_SOL_PREFETCHED].bound, CARM_SOL_BY_COMPUTE);
    struct carm_sol_estimate one;
    carm_sol_estimate_layer(&r, 0, CARM_SOL_PREFETCHED, true, &one);
    assert_int_equal(one.spilled_bytes, 0); /* LRU would have spilled a */
}

/* Five elements of half a byte are three bytes, of a layer and of the graph. */
TEST(half_bytes)
{
    struct carm_sol_graph *g = sol_build_open(ROOM, 4 * ROOM, 4 * ROOM);
    sol_matmul(g, 100, IN(0, 4), OUT(1, 1));
    sol_matmul(g, 100, IN(1, 1), OUT(2, 4));
    struct carm_sol_analysis *a = sol_build_analyse(g);
    struct carm_sol_arch arch = make_arch();
    arch.dram_byte_per_cycle = 1.0;
    arch.mac_per_cycle[CARM_SOL_NVFP4] = 100.0;
    struct carm_sol_result r = sol_estimate(g, a, &arch, CARM_SOL_NVFP4, false);
    assert_estimate(r.models[CARM_SOL_UNFUSED], 5, 2, 5, 6, CARM_SOL_BY_MEMORY);
    r = sol_estimate(g, a, &arch, CARM_SOL_NVFP4, true);
    assert_estimate(r.models[CARM_SOL_UNFUSED], 5, 2, 5, 5, CARM_SOL_BY_MEMORY);
}

TEST(nothing_takes_no_time)
{
    struct carm_sol_graph *g = sol_build_open(ROOM, 4 * ROOM, 4 * ROOM);
    sol_kind(g, CARM_SOL_START, OUT(0, 10));
    sol_kind(g, CARM_SOL_VIEW, IN(0, 10), OUT(1, 10));
    struct carm_sol_analysis *a = sol_build_analyse(g);
    struct carm_sol_arch arch = {
        .name = "none", .freq_ghz = 1.0, .dram_byte_per_cycle = 1.0}; /* no rates needed */
    add_level(&arch, "SRAM", 1, 1.0);
    for (int whole = 0; whole < 2; whole++) {
        struct carm_sol_result r = sol_estimate(g, a, &arch, CARM_SOL_FP16, whole);
        for (int m = 0; m < CARM_SOL_MODELS; m++) {
            assert_estimate(r.models[m], 0, 0, 0, 0, CARM_SOL_BY_NOTHING);
            assert_estimate(r.cached[m], 0, 0, 0, 0, CARM_SOL_BY_NOTHING);
            assert_near(r.models[m].intensity, 0, 0);
            assert_near(r.models[m].mac_intensity, 0, 0);
        }
        assert_near(r.ridge_point, 0, 0);
        assert_near(r.mac_ridge_point, 0, 0);
    }
}

static void refuse(const struct carm_sol_arch *arch, enum carm_sol_precision precision, int rc,
                   const char *words)
{
    struct carm_sol_graph *g = make_graph();
    struct carm_sol_analysis *a = sol_build_analyse(g);
    struct carm_sol_result r;
    err = (struct carm_err){""};
    assert_int_equal(carm_sol_estimate(g, a, arch, precision, false, &r, &err), rc);
    assert_null(r.layers);
    fail_if(!strstr(err.text, words), "\"%s\" lacks \"%s\"", err.text, words);
}

TEST(what_is_missing_is_named)
{
    struct carm_sol_arch arch = make_arch();
    arch.mac_per_cycle[CARM_SOL_TF32] = 1.0;
    refuse(&arch, CARM_SOL_FP16, -CARM_EINVAL,
           "small has no MAC_per_cycle_fp16_tc, and the graph has 11000 multiply-accumulates: set "
           "it, or take a precision that it has (tf32, int8)");
    refuse(&arch, CARM_SOL_FP32, -CARM_EINVAL, "MAC_per_cycle_fp32_sm");
    refuse(&arch, CARM_SOL_FP64, -CARM_EINVAL, carm_sol_arch_mac_key(&arch, CARM_SOL_FP64));
    arch.measured = true;
    refuse(&arch, CARM_SOL_FP32, -CARM_EINVAL, "measure it (carm build --ops fma)");
    arch.other_per_cycle[CARM_SOL_INT8] = 0.0;
    refuse(&arch, CARM_SOL_INT8, -CARM_EINVAL, "measure it (carm build --ops add,mul)");
    arch.measured = false;
    refuse(&arch, CARM_SOL_INT8, -CARM_EINVAL,
           "small has no rate of other operations at int8, and the graph has 1000: set "
           "MAC_per_cycle_fp32_sm");
    arch = make_arch();
    arch.mac_per_cycle[CARM_SOL_INT8] = NAN;
    refuse(&arch, CARM_SOL_INT8, -CARM_EINVAL, "a precision that it has (none)");
    arch = make_arch();
    arch.dram_byte_per_cycle = 0.0;
    refuse(&arch, CARM_SOL_INT8, -CARM_EINVAL, "DRAM_byte_per_cycle is 0");
    arch.freq_ghz = INFINITY;
    refuse(&arch, CARM_SOL_INT8, -CARM_EINVAL, "freq_GHz is inf");
}

/* One operation is enough to need a rate. */
TEST(the_least_work)
{
    for (int contraction = 0; contraction < 2; contraction++) {
        struct carm_sol_graph *g = sol_build_open(ROOM, 4 * ROOM, 4 * ROOM);
        sol_build_layer(g, CARM_SOL_COMPUTE, contraction, 1, sol_slots(IN(0, 1), OUT(1, 1)));
        struct carm_sol_analysis *a = sol_build_analyse(g);
        struct carm_sol_arch arch = make_arch();
        struct carm_sol_result r;
        (contraction ? arch.mac_per_cycle : arch.other_per_cycle)[CARM_SOL_INT8] = 0.0;
        assert_refused(carm_sol_estimate(g, a, &arch, CARM_SOL_INT8, false, &r, &err), -CARM_EINVAL,
                       ", and the graph has 1");
    }
}

/* One operation, one element and one byte of storage */
TEST(ones)
{
    struct carm_sol_graph *g = sol_build_open(ROOM, 4 * ROOM, 4 * ROOM);
    sol_op(g, 1, OUT(0, 1));
    sol_matmul(g, 1, IN(0, 1), OUT(1, 1));
    struct carm_sol_arch arch = make_arch();
    add_level(&arch, "SRAM", 1, 0.0);
    const struct carm_sol_result r =
        sol_estimate(g, sol_build_analyse(g), &arch, CARM_SOL_INT8, false);
    assert_true(r.has_cached);
    assert_estimate(r.cached[CARM_SOL_FUSED], 1, 0.06, 0.1, 0.15, CARM_SOL_BY_MEMORY);
    assert_near(r.cached[CARM_SOL_FUSED].intensity, 3, 0);
    assert_near(r.cached[CARM_SOL_FUSED].mac_intensity, 1, 0);
    assert_int_equal(r.cached[CARM_SOL_FUSED].spilled_bytes, 0);
    struct carm_sol_estimate one;
    carm_sol_estimate_layer(&r, 0, CARM_SOL_UNFUSED, true, &one);
    assert_estimate(one, 1, 0.05, 0.1, 0.1, CARM_SOL_BY_MEMORY);
    assert_near(one.intensity, 1, 0);
}

/* Cycles are inverse to the rates, however small or large these are; what bounds them stays. */
TEST(rates_scale)
{
    struct carm_sol_graph *g = make_graph();
    struct carm_sol_analysis *a = sol_build_analyse(g);
    struct carm_sol_arch arch = make_arch();
    add_level(&arch, "SRAM", 150, 5.0);
    const struct carm_sol_result r = sol_estimate(g, a, &arch, CARM_SOL_INT8, false);
    for (int up = 0; up < 2; up++) {
        const double by = up ? 0x1p20 : 0x1p-20;
        struct carm_sol_arch other = arch;
        other.mac_per_cycle[CARM_SOL_INT8] *= by;
        other.other_per_cycle[CARM_SOL_INT8] *= by;
        other.dram_byte_per_cycle *= by;
        other.levels[0].byte_per_cycle *= by;
        const struct carm_sol_result s = sol_estimate(g, a, &other, CARM_SOL_INT8, false);
        for (uint32_t k = 0; k < CARM_SOL_MODELS * (r.n + 1); k++) {
            const enum carm_sol_model m = (enum carm_sol_model)(k % CARM_SOL_MODELS);
            struct carm_sol_estimate x = r.cached[m], y = s.cached[m];
            if (k / CARM_SOL_MODELS < r.n) {
                carm_sol_estimate_layer(&r, k / CARM_SOL_MODELS, m, true, &x);
                carm_sol_estimate_layer(&s, k / CARM_SOL_MODELS, m, true, &y);
            }
            assert_near(y.cycles, x.cycles / by, 0);
            assert_near(y.level_cycles, x.level_cycles / by, 0);
            assert_near(carm_sol_speedup(&x, &y), by, 0);
            assert_int_equal(y.bound, x.bound);
            assert_int_equal(y.level, x.level);
            assert_string_equal(carm_sol_bound_word(&arch, &y), carm_sol_bound_word(&arch, &x));
        }
    }
    assert_string_equal(carm_sol_bound_word(&arch, &r.cached[CARM_SOL_FUSED]), "SRAM");
}

TEST(bytes_past_the_end_are_refused)
{
    struct carm_sol_graph *g = sol_build_open(ROOM, 4 * ROOM, 4 * ROOM);
    sol_op(g, 1, IN(0, INT64_MAX / 2), OUT(1, 1));
    struct carm_sol_analysis *a = sol_build_analyse(g);
    struct carm_sol_arch arch = make_arch();
    arch.other_per_cycle[CARM_SOL_FP32] = 1.0;
    struct carm_sol_result r;
    assert_refused(carm_sol_estimate(g, a, &arch, CARM_SOL_FP32, false, &r, &err), -CARM_EFORMAT,
                   "more than 2^63-1 bytes at fp32");
}

/* ---- the guide's worked example ---------------------------------------------------------------
 * It prints truncated cycles, and milliseconds, intensities and speed-ups to a few digits. */

static struct carm_sol_arch h100_pcie(void) /* the figures that the example stands on */
{
    struct carm_sol_arch a = {.name = "H100_PCIe", .freq_ghz = 2.0, .dram_byte_per_cycle = 1019.4};
    a.mac_per_cycle[CARM_SOL_FP16] = 378000.0;
    a.other_per_cycle[CARM_SOL_FP16] = 25500.0;
    return a;
}

static struct carm_sol_result worked_example(double dram_byte_per_cycle, uint64_t macs)
{
    struct carm_sol_analysis *a = NULL;
    char text[512];
    (void)snprintf(text, sizeof text,
                   "total:\n  macs: %llu\n  flops: %llu\n  other_ops: 50000\n"
                   "  unfused_elements: 25000000\n  fused_elements: 10000000\n"
                   "  fused_prefetched_elements: 10000000\n  model_io_elements: 2500000\n"
                   "  intermediate_elements: 15000000\n  weight_elements: 7500000\n",
                   (unsigned long long)macs, 2 * (unsigned long long)macs);
    assert_ok(carm_sol_analysis_parse(text, strlen(text), "example", &a, &err));
    struct carm_sol_arch arch = h100_pcie();
    arch.dram_byte_per_cycle = dram_byte_per_cycle;
    struct carm_sol_result r = sol_estimate(NULL, a, &arch, CARM_SOL_FP16, true);
    carm_sol_analysis_close(a); /* without layers nothing else is needed */
    assert_true(r.whole_graph);
    assert_false(r.has_cached);
    return r;
}

#define assert_prints(format, value, text_)                     \
    do {                                                        \
        char prints_[64];                                       \
        (void)snprintf(prints_, sizeof prints_, format, value); \
        assert_string_equal(prints_, text_);                    \
    } while (0)

TEST(worked_example_holds)
{
    struct carm_sol_result r = worked_example(1019.4, 1000000);
    const struct carm_sol_estimate *u = &r.models[CARM_SOL_UNFUSED];
    const struct carm_sol_estimate *f = &r.models[CARM_SOL_FUSED];
    const struct carm_sol_estimate *p = &r.models[CARM_SOL_PREFETCHED];
    assert_int_equal(u->bytes, 50000000);
    assert_int_equal(f->bytes, 20000000);
    assert_int_equal(p->bytes, 20000000);
    assert_int_equal((int64_t)f->memory_cycles, 19619);
    assert_int_equal((int64_t)f->cycles, 19619);
    assert_int_equal((int64_t)p->cycles, 19619);
    assert_prints("%.3f", u->seconds * 1e3, "0.025");
    assert_prints("%.3f", f->seconds * 1e3, "0.010");
    assert_prints("%.3f", p->seconds * 1e3, "0.010");
    assert_prints("%.1f", u->cycles / f->cycles, "2.5");
    assert_prints("%.1f", u->cycles / p->cycles, "2.5");
    assert_prints("%.1f", f->cycles / p->cycles, "1.0");
    assert_int_equal(u->bound, CARM_SOL_BY_MEMORY);
    assert_int_equal(f->bound, CARM_SOL_BY_MEMORY);
    /* the printed intensities are flops per byte; the formula beside them is macs per byte */
    assert_prints("%.2f", u->intensity, "0.04");
    assert_prints("%.1f", f->intensity, "0.1");
    assert_prints("%.2f", u->mac_intensity, "0.02");
    assert_prints("%.2f", f->mac_intensity, "0.05");
}

TEST(worked_example_contradicts_itself)
{
    struct carm_sol_result r = worked_example(1019.4, 1000000);
    assert_int_equal((int64_t)r.models[CARM_SOL_UNFUSED].cycles, 49048); /* not 49049 */
    assert_int_equal((int64_t)r.models[CARM_SOL_UNFUSED].compute_cycles, 2);
    /* 2645 are the cycles of 10^9 macs */
    r = worked_example(1019.4, 1000000000);
    assert_int_equal((int64_t)r.models[CARM_SOL_UNFUSED].compute_cycles, 2645);
    /* 49049 needs more than 1019.3679 and less than 1019.3888 byte/cycle; 19619 holds there, too */
    static const struct {
        double rate;
        int64_t unfused, fused;
    } rows[] = {{1019.3679, 49050, 19620},
                {1019.3681, 49049, 19619},
                {1019.3887, 49049, 19619},
                {1019.3890, 49048, 19619}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        r = worked_example(rows[i].rate, 1000000);
        assert_int_equal((int64_t)r.models[CARM_SOL_UNFUSED].cycles, rows[i].unfused);
        assert_int_equal((int64_t)r.models[CARM_SOL_FUSED].cycles, rows[i].fused);
    }
}

/* The view: names, words, remarks, what works. */
TEST(views)
{
    static const struct {
        enum carm_sol_bound bound;
        int level;
        const char *word;
    } words[] = {{CARM_SOL_BY_COMPUTE, 0, "compute"}, {CARM_SOL_BY_MEMORY, 0, "memory"},
                 {CARM_SOL_BY_LEVEL, 1, "L2"},        {CARM_SOL_BY_LEVEL, -1, "storage"},
                 {CARM_SOL_BY_LEVEL, 2, "storage"},   {CARM_SOL_BY_NOTHING, 0, "nothing"}};
    struct carm_sol_arch arch = make_arch();
    assert_null(carm_sol_last_level(&arch));
    add_level(&arch, "L1", 100, 1.0);
    add_level(&arch, "L2", 0, 1.0);
    assert_ptr_equal(carm_sol_last_level(&arch), &arch.levels[0]);
    arch.levels[1].capacity = 1;
    assert_ptr_equal(carm_sol_last_level(&arch), &arch.levels[1]);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const struct carm_sol_estimate e = {.bound = words[i].bound, .level = words[i].level};
        assert_string_equal(carm_sol_bound_word(&arch, &e), words[i].word);
    }
    const struct carm_sol_estimate none = {.cycles = 0}, two = {.cycles = 2}, six = {.cycles = 6};
    assert_near(carm_sol_speedup(&six, &two), 3.0, 0.0);
    assert_near(carm_sol_speedup(&none, &two), 0.0, 0.0);
    assert_near(carm_sol_speedup(&none, &none), 1.0, 0.0);
    assert_true(isinf(carm_sol_speedup(&two, &none)));
    assert_near(carm_sol_flops(&(struct carm_sol_counts){.macs = 3, .other = 4}), 10.0, 0.0);
    /* each of what an operation does or moves is work */
    struct carm_sol_counts counts[] = {{.macs = 1}, {.other = 1}, {.unfused = 1}, {.external = 1}};
    char *ids[] = {(char[]){"one"}, NULL, NULL, NULL};
    struct carm_sol_analysis analysis = {.layers = counts, .n = 4, .ids = ids};
    struct carm_sol_result result = {.n = 4, .models = {two}, .cached = {six}};
    struct carm_sol_view view = {.analysis = &analysis, .result = &result};
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(carm_sol_view_works(&view, i), i < 3);
    }
    assert_string_equal(carm_sol_view_layer_name(&view, 0), "one");
    assert_string_equal(carm_sol_view_layer_name(&view, 1), "");
    assert_string_equal(carm_sol_view_layer_type(&view, 0), "");
    analysis.ids = NULL;
    assert_string_equal(carm_sol_view_layer_name(&view, 0), "");
    assert_int_equal(carm_sol_view_layers(&view), 0);
    result.has_layers = true;
    assert_int_equal(carm_sol_view_layers(&view), 4);
    assert_near(carm_sol_view_graph(&view, CARM_SOL_UNFUSED)->cycles, 2.0, 0.0);
    result.has_cached = true;
    assert_near(carm_sol_view_graph(&view, CARM_SOL_UNFUSED)->cycles, 6.0, 0.0);
    assert_string_equal(carm_sol_model_name(CARM_SOL_PREFETCHED), "fused_prefetched");
}

TEST(remarks_of_a_view)
{
    char text[256];
    struct carm_sol_analysis analysis = {.counted_twice = 0};
    struct carm_sol_graph graph = {.one_sided = 1};
    struct carm_sol_view view = {.analysis = &analysis, .precision = CARM_SOL_FP16};
    assert_null(carm_sol_view_remark(&view, 0, text, sizeof text));
    analysis.counted_twice = 5;
    assert_non_null(
        strstr(carm_sol_view_remark(&view, 0, text, sizeof text), "fused_elements was 5 too high"));
    assert_null(carm_sol_view_remark(&view, 1, text, sizeof text));
    view.graph = &graph;
    assert_non_null(strstr(carm_sol_view_remark(&view, 0, text, sizeof text),
                           "1 connection is named by only one"));
    assert_null(carm_sol_view_remark(&view, 1, text, sizeof text));
    /* most tensors are of another type: of two as many, the first */
    static const struct {
        enum carm_sol_precision as;
        uint32_t floats, halves;
        const char *most; /* NULL = as they are */
    } cases[] = {{CARM_SOL_FP16, 3, 2,
                  "most tensors are fp32, but all are taken as fp16; --precision fp32 takes"},
                 {CARM_SOL_FP16, 3, 3, "most tensors are fp32, "},
                 {CARM_SOL_FP16, 2, 3, NULL},
                 {CARM_SOL_FP32, 3, 2, NULL},
                 {CARM_SOL_TF32, 3, 2, NULL},
                 {CARM_SOL_TF32, 2, 3, "most tensors are fp16, but all are taken as tf32"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        view.precision = cases[i].as;
        graph.dtypes[CARM_SOL_FLOAT32] = cases[i].floats;
        graph.dtypes[CARM_SOL_FLOAT16] = cases[i].halves;
        const char *first = carm_sol_view_remark(&view, 0, text, sizeof text);
        assert_non_null(strstr(first, cases[i].most ? cases[i].most : "connection is named"));
        assert_int_equal(carm_sol_view_remark(&view, 1, text, sizeof text) != NULL,
                         cases[i].most != NULL);
        assert_null(carm_sol_view_remark(&view, 2, text, sizeof text));
    }
}

TEST(types_of_values)
{
    static const struct {
        const char *word;
        enum carm_sol_dtype dtype;
    } words[] = {{"torch.float64", CARM_SOL_FLOAT64},
                 {"float32", CARM_SOL_FLOAT32},
                 {"float16", CARM_SOL_FLOAT16},
                 {"torch.bfloat16", CARM_SOL_BFLOAT16},
                 {"float8_e4m3fn", CARM_SOL_FLOAT8},
                 {"float8_", CARM_SOL_FLOAT8},
                 {"int8", CARM_SOL_QINT8},
                 {"uint8", CARM_SOL_QINT8},
                 {"torch.qint8", CARM_SOL_QINT8},
                 {"quint8", CARM_SOL_QINT8},
                 {"float3", CARM_SOL_DTYPES},
                 {"float320", CARM_SOL_DTYPES},
                 {"torch.", CARM_SOL_DTYPES},
                 {"torch", CARM_SOL_DTYPES},
                 {"int64", CARM_SOL_DTYPES},
                 {"", CARM_SOL_DTYPES}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        assert_int_equal(carm_sol_dtype_find(words[i].word), words[i].dtype);
    }
}
