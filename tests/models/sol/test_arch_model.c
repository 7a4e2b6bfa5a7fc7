/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A measured model as architecture, against figures worked by hand. */
#include "models/sol/arch.h"
#include "models/sol/machine.h"
#include "tests/unit.h"

enum { SETS_MAX = 8, ROOFS_MAX = 8 };

/* A model made up here: 2 cores at 2 GHz, L1 and L2 of each, L3 of both. */
struct made {
    struct carm_model model;
    struct carm_cache caches[3];
    struct carm_level levels[10];
    struct carm_roofs roofs[SETS_MAX];
    struct carm_memory_roof memory[SETS_MAX][ROOFS_MAX];
    struct carm_compute_roof compute[SETS_MAX][ROOFS_MAX];
};
static struct made m;

static void add_level(const char *name, uint64_t os, uint64_t knee, bool resolved)
{
    struct carm_level *l = &m.levels[m.model.nlevels++];
    (void)snprintf(l->level, sizeof l->level, "%s", name);
    l->os_size_bytes = os;
    l->knee_bytes = knee;
    l->resolved = resolved;
}

static struct carm_roofs *add_set(const char *isa, const char *precision, int threads,
                                  double clock_hz)
{
    const size_t i = m.model.nroofs++;
    struct carm_roofs *r = &m.roofs[i];
    (void)snprintf(r->isa, sizeof r->isa, "%s", isa);
    (void)snprintf(r->precision, sizeof r->precision, "%s", precision);
    r->threads = threads;
    r->clock_hz = clock_hz;
    r->memory = m.memory[i];
    r->compute = m.compute[i];
    return r;
}

static void add_memory(struct carm_roofs *r, const char *level, const char *ldst, double bandwidth)
{
    struct carm_memory_roof *x = &r->memory[r->nmemory++];
    (void)snprintf(x->level, sizeof x->level, "%s", level);
    (void)snprintf(x->ldst, sizeof x->ldst, "%s", ldst);
    x->bandwidth = bandwidth;
}

static void add_compute(struct carm_roofs *r, const char *op, double rate)
{
    struct carm_compute_roof *x = &r->compute[r->ncompute++];
    (void)snprintf(x->op, sizeof x->op, "%s", op);
    x->rate = rate;
}

static void make_machine(void)
{
    static const struct carm_cache caches[3] = {
        {.level = 1, .size_bytes = 32768, .shared_by = 1},
        {.level = 2, .size_bytes = 1 << 20, .shared_by = 1},
        {.level = 3, .size_bytes = 1 << 25, .shared_by = 2},
    };
    memset(&m, 0, sizeof m);
    memcpy(m.caches, caches, sizeof caches);
    m.model.machine =
        (struct carm_machine){.hostname = "host", .cpu = "Made up", .cores = 2, .threads = 2};
    m.model.machine.memory_bytes = (uint64_t)1 << 34;
    m.model.machine.caches = m.caches;
    m.model.machine.ncaches = 3;
    (void)snprintf(m.model.created, sizeof m.model.created, "2026-01-02T03:04:05Z");
    m.model.levels = m.levels;
    m.model.roofs = m.roofs;
}

static int make(void **state)
{
    make_machine();
    add_level("L1", 32768, 32000, true);
    add_level("L2", 1 << 20, 1000000, true);
    add_level("L3", 1 << 25, 15000000, true);
    add_level("DRAM", 0, 0, true);
    struct carm_roofs *r = add_set("avx2", "dp", 2, 2e9);
    add_memory(r, "L1", "2:1", 400e9);
    add_memory(r, "L1", "update", 300e9);
    add_memory(r, "L2", "2:1", 100e9);
    add_memory(r, "L2", "update", 120e9); /* the best of a level counts */
    add_memory(r, "L3", "2:1", 60e9);
    add_memory(r, "DRAM", "2:1", 30e9);
    add_compute(r, "fma", 64e9);
    add_compute(r, "mad", 32e9);
    add_compute(r, "fma+add", 96e9); /* no rate of MACs */
    add_compute(r, "add", 24e9);
    add_compute(r, "mul", 20e9);
    add_compute(r, "div", 3e9);
    r->dram_peak.bandwidth = 25e9;
    return 0;
}

static void convert(const char *isa, int threads, struct carm_sol_arch *a)
{
    memset(a, 0xa5, sizeof *a); /* nothing of the old value stays */
    assert_ok(carm_sol_arch_of_model(&m.model, isa, threads, a, &err));
}

static void refuse(const char *isa, int threads, const char *message)
{
    struct carm_sol_arch a = {.freq_ghz = 42.0};
    err = (struct carm_err){""};
    assert_int_equal(carm_sol_arch_of_model(&m.model, isa, threads, &a, &err), -CARM_EINVAL);
    assert_string_equal(err.text, message);
    assert_near(a.freq_ghz, 42.0, 0);
}

TEST_BETWEEN(each_figure_by_hand, make, NULL)
{
    struct carm_sol_arch a;
    convert(NULL, 0, &a);
    assert_string_equal(a.name, "Made up");
    assert_string_equal(a.source, "carm build on host, 2026-01-02T03:04:05Z: avx2, 2 threads");
    assert_true(a.measured);
    assert_near(a.freq_ghz, 2.0, 1e-12);
    assert_near(a.dram_byte_per_cycle, 12.5, 1e-12); /* dram_peak, not the higher 2:1 roof */
    assert_true(a.dram_capacity == (uint64_t)1 << 34);
    assert_near(a.mac_per_cycle[CARM_SOL_FP64], 16, 1e-12);   /* 64e9 / 2 / 2e9 */
    assert_near(a.other_per_cycle[CARM_SOL_FP64], 12, 1e-12); /* add, 24e9 / 2e9 */
    for (int i = CARM_SOL_FP32; i < CARM_SOL_PRECISIONS; i++) {
        assert_near(a.mac_per_cycle[i], 0, 0);
        assert_near(a.other_per_cycle[i], 0, 0);
    }
    assert_int_equal(a.nlevels, 3);
    assert_string_equal(a.levels[0].name, "L1");
    assert_string_equal(a.levels[2].name, "L3");
    assert_near(a.levels[0].byte_per_cycle, 200, 1e-9);
    assert_near(a.levels[1].byte_per_cycle, 60, 1e-9);
    assert_near(a.levels[2].byte_per_cycle, 30, 1e-9);
    assert_int_equal(a.levels[0].capacity, 64000); /* of two cores */
    assert_int_equal(a.levels[1].capacity, 2000000);
    assert_int_equal(a.levels[2].capacity, 15000000); /* shared */
}

TEST_BETWEEN(operations_that_were_not_measured, make, NULL)
{
    struct carm_sol_arch a;
    m.roofs[0].ncompute = 1; /* fma alone: an other operation goes where an fma does */
    convert(NULL, 0, &a);
    assert_near(a.mac_per_cycle[CARM_SOL_FP64], 16, 1e-12);
    assert_near(a.other_per_cycle[CARM_SOL_FP64], 16, 1e-12);
    m.roofs[0].ncompute = 0; /* mad alone */
    add_compute(&m.roofs[0], "mad", 40e9);
    convert(NULL, 0, &a);
    assert_near(a.mac_per_cycle[CARM_SOL_FP64], 10, 1e-12);
    assert_near(a.other_per_cycle[CARM_SOL_FP64], 10, 1e-12);
    m.roofs[0].ncompute = 0; /* mul alone: no rate of contractions */
    add_compute(&m.roofs[0], "mul", 20e9);
    convert(NULL, 0, &a);
    assert_near(a.mac_per_cycle[CARM_SOL_FP64], 0, 0);
    assert_near(a.other_per_cycle[CARM_SOL_FP64], 10, 1e-12);
    m.roofs[0].compute[0].rate = 1e9; /* less than one a cycle */
    convert(NULL, 0, &a);
    assert_near(a.other_per_cycle[CARM_SOL_FP64], 0.5, 1e-12);
    m.roofs[0].ncompute = 0;
    refuse(NULL, 0,
           "the model has no arithmetic roofs for avx2 with 2 threads: measure with `carm build "
           "--ops fma,add,mul`");
}

TEST_BETWEEN(dram_without_its_peak, make, NULL)
{
    struct carm_sol_arch a;
    m.roofs[0].dram_peak.bandwidth = 0;
    convert(NULL, 0, &a);
    assert_near(a.dram_byte_per_cycle, 15, 1e-12);
    m.roofs[0].nmemory--; /* L1 to L3 alone */
    refuse(NULL, 0,
           "the model has no DRAM roof for avx2 with 2 threads: measure with `carm build` without "
           "--levels, or with DRAM among them");
}

/* The precision that is asked for, the first one of the list too; else one that there is. */
TEST(precisions_asked_for)
{
    struct carm_sol_arch a = {.name = "a"};
    enum carm_sol_precision p = CARM_SOL_FP64;
    a.mac_per_cycle[CARM_SOL_INT8] = 1.0;
    assert_refused(carm_sol_arch_precision(&a, CARM_SOL_FP64, &p, &err), -CARM_EINVAL,
                   "a has no rate for fp64; --precision can be int8");
    assert_ok(carm_sol_arch_precision(&a, -1, &p, &err));
    assert_int_equal(p, CARM_SOL_INT8);
    a.mac_per_cycle[CARM_SOL_FP16] = 1.0;
    assert_ok(carm_sol_arch_precision(&a, -1, &p, &err));
    assert_int_equal(p, CARM_SOL_FP16);
}

/* Precisions of neural networks, by their own roofs. */
TEST_BETWEEN(narrow_precisions, make, NULL)
{
    struct carm_sol_arch a;
    struct carm_roofs *bf16 = add_set("avx2", "bf16", 2, 1e9);
    add_compute(bf16, "dot", 256e9);
    add_memory(bf16, "L2", "1:0", 140e9); /* bytes are bytes */
    convert(NULL, 0, &a);
    assert_near(a.freq_ghz, 2.0, 1e-12); /* of dp */
    assert_near(a.mac_per_cycle[CARM_SOL_BF16], 64, 1e-12);
    assert_near(a.other_per_cycle[CARM_SOL_BF16], 64, 1e-12); /* no sp: as its MACs */
    assert_near(a.levels[1].byte_per_cycle, 70, 1e-9);
    assert_near(a.mac_per_cycle[CARM_SOL_INT8], 0, 0);
    enum carm_sol_precision p = CARM_SOL_FP64;
    struct carm_err why = {""};
    assert_int_equal(carm_sol_arch_precision(&a, CARM_SOL_INT8, &p, &why), -CARM_EINVAL);
    assert_non_null(strstr(why.text, "no rate for int8: its model has no int8 roofs; "));
    assert_int_equal(carm_sol_arch_precision(&a, CARM_SOL_FP8, &p, &why), -CARM_EINVAL);
    assert_non_null(strstr(why.text, "no rate for fp8; --precision can be "));
    add_compute(add_set("avx2", "sp", 2, 2e9), "add", 48e9);
    struct carm_roofs *int8 = add_set("avx2", "int8", 2, 2e9);
    add_compute(int8, "add", 200e9);
    convert(NULL, 0, &a);
    assert_near(a.other_per_cycle[CARM_SOL_BF16], 24, 1e-12); /* widened to sp */
    assert_near(a.mac_per_cycle[CARM_SOL_INT8], 0, 0);        /* an addition is no product */
    assert_int_equal(carm_sol_arch_precision(&a, CARM_SOL_INT8, &p, &why), -CARM_EINVAL);
    assert_non_null(strstr(why.text, "no rate for int8: its model has int8 roofs, but none of dot "
                                     "products, which not every CPU has; --precision can be "));
    add_compute(int8, "dot", 512e9);
    add_compute(int8, "logic", 999e9);
    add_set("avx2", "int32", 2, 2e9); /* nothing for an estimate */
    convert(NULL, 0, &a);
    assert_near(a.mac_per_cycle[CARM_SOL_INT8], 128, 1e-12);
    assert_near(a.other_per_cycle[CARM_SOL_INT8], 100, 1e-12);
    assert_int_equal(carm_sol_arch_precision(&a, CARM_SOL_INT8, &p, NULL), 0);
    assert_int_equal(p, CARM_SOL_INT8);
}

/* Products of tiles beat those of vectors; all else is the vectors'. */
TEST_BETWEEN(tiles_beside_vectors, make, NULL)
{
    struct carm_sol_arch a;
    struct carm_roofs *tiles = add_set("amx", "bf16", 2, 1.5e9);
    add_compute(tiles, "dot", 4096e9);
    add_memory(tiles, "L2", "1:0", 999e9);
    convert(NULL, 0, &a); /* no vectors of bf16 */
    assert_near(a.freq_ghz, 2.0, 1e-12);
    assert_near(a.mac_per_cycle[CARM_SOL_BF16], 1024, 1e-9);
    struct carm_roofs *vectors = add_set("avx2", "bf16", 2, 2e9);
    add_compute(vectors, "dot", 256e9);
    add_compute(add_set("avx2", "sp", 2, 2e9), "add", 48e9);
    add_compute(add_set("amx", "int8", 1, 2e9), "dot", 8192e9); /* of fewer threads */
    convert(NULL, 0, &a);
    assert_near(a.mac_per_cycle[CARM_SOL_BF16], 1024, 1e-9);
    assert_near(a.other_per_cycle[CARM_SOL_BF16], 24, 1e-12);
    assert_near(a.mac_per_cycle[CARM_SOL_INT8], 0, 0);
    assert_true(a.levels[1].byte_per_cycle < 400);
    assert_non_null(strstr(a.source, ": avx2 and amx, 2 threads"));
    convert("avx2", 0, &a); /* as asked for */
    assert_near(a.mac_per_cycle[CARM_SOL_BF16], 64, 1e-9);
    assert_null(strstr(a.source, "amx"));
    tiles->compute[0].rate = 100e9; /* a machine of another kind */
    convert(NULL, 0, &a);
    assert_near(a.mac_per_cycle[CARM_SOL_BF16], 64, 1e-9);
}

/* Both precisions: one clock for all rates, so that seconds come out as measured. */
TEST_BETWEEN(two_precisions, make, NULL)
{
    struct carm_sol_arch a;
    struct carm_roofs *sp = add_set("avx2", "sp", 2, 2.5e9);
    add_compute(sp, "fma", 120e9);
    add_memory(sp, "L2", "2:1", 130e9);
    add_memory(sp, "DRAM", "2:1", 20e9);
    convert(NULL, 0, &a);
    assert_near(a.freq_ghz, 2.0, 1e-12); /* dp's */
    assert_near(a.mac_per_cycle[CARM_SOL_FP64], 16, 1e-12);
    assert_near(a.mac_per_cycle[CARM_SOL_FP32], 30, 1e-12);
    assert_near(a.mac_per_cycle[CARM_SOL_FP32] * 2 * a.freq_ghz * 1e9, 120e9, 1);
    assert_near(a.levels[1].byte_per_cycle, 65, 1e-9);
    m.roofs[2] = m.roofs[0]; /* the order of the sets is nothing */
    m.roofs[0] = m.roofs[1];
    m.roofs[1] = m.roofs[2];
    convert(NULL, 0, &a);
    assert_near(a.freq_ghz, 2.0, 1e-12);
    assert_near(a.mac_per_cycle[CARM_SOL_FP32], 30, 1e-12);
    m.roofs[1].precision[0] = 's'; /* both sp: the first */
    convert(NULL, 0, &a);
    assert_near(a.mac_per_cycle[CARM_SOL_FP64], 0, 0);
    assert_near(a.mac_per_cycle[CARM_SOL_FP32], 24, 1e-12); /* 120e9 / 2 / 2.5e9 */
    assert_near(a.freq_ghz, 2.5, 1e-12);
}

TEST(which_roofs)
{
    struct carm_sol_arch a;
    (void)make(NULL); /* avx2 dp of 2 threads: 16 MAC/cycle */
    static const struct {
        const char *isa, *precision;
        int threads;
    } more[] = {
        {"avx512", "dp", 1},
        {"avx512", "sp", 1},
        {"sse", "dp", 2},
        {"avx512", "dp", 2},
    };
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        struct carm_roofs *r = add_set(more[i].isa, more[i].precision, more[i].threads, 2e9);
        add_compute(r, "fma", ((double)i + 1) * 4e9); /* 1, 2, 3, 4 MAC/cycle */
        add_memory(r, "DRAM", "2:1", 10e9);
    }
    convert(NULL, 0, &a); /* most threads, then the widest */
    assert_near(a.mac_per_cycle[CARM_SOL_FP64], 4, 1e-12);
    assert_near(a.mac_per_cycle[CARM_SOL_FP32], 0, 0); /* measured with 1 thread alone */
    convert("", 1, &a);
    assert_near(a.mac_per_cycle[CARM_SOL_FP64], 1, 1e-12);
    assert_near(a.mac_per_cycle[CARM_SOL_FP32], 2, 1e-12);
    assert_int_equal(a.levels[0].capacity, 32000); /* one core's */
    convert("avx2", 0, &a);
    assert_near(a.mac_per_cycle[CARM_SOL_FP64], 16, 1e-12);
    convert("sse", 2, &a);
    assert_near(a.mac_per_cycle[CARM_SOL_FP64], 3, 1e-12);
    refuse(
        "avx", 0,
        "the model has no roofs that an estimate takes for avx; it has avx2 dp with 2, avx512 dp with 1, avx512 "
        "sp with 1, sse dp with 2, avx512 dp with 2 threads: choose among these, or measure "
        "others with `carm build`");
    m.model.nroofs = 1;
    refuse(
        NULL, 3,
        "the model has no roofs that an estimate takes for any ISA with 3; it has avx2 dp with 2 threads: "
        "choose among these, or measure others with `carm build`");
    m.model.nroofs = 0;
    refuse(
        NULL, 0,
        "the model has no roofs that an estimate takes for any ISA; it has none with any threads: choose among "
        "these, or measure others with `carm build`");
}

TEST_BETWEEN(levels_that_are_not_resolved, make, NULL)
{
    struct carm_sol_arch a;
    m.roofs[0].nmemory = 0;
    m.model.nlevels = 0;
    add_level("L1", 32768, 32000, true);
    add_level("L2", 1 << 20, 777, false); /* a knee that is none */
    add_level("L3", 0, 0, false);         /* the machine's caches know */
    add_level("L4", 0, 0, false);         /* nothing is known: left out */
    add_level("DRAM", 0, 0, false);
    add_memory(&m.roofs[0], "L1", "2:1", 400e9);
    convert(NULL, 0, &a);
    assert_int_equal(a.nlevels, 3);
    assert_int_equal(a.levels[1].capacity, 2 << 20); /* the OS's, two of them */
    assert_near(a.levels[1].byte_per_cycle, 0, 0);
    assert_string_equal(a.levels[2].name, "L3");
    assert_int_equal(a.levels[2].capacity, 1 << 25);
    assert_near(a.dram_byte_per_cycle, 12.5, 1e-12);
    m.model.nlevels = 0;
    for (int i = 1; i <= 9; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "L%d", i);
        add_level(name, 4096, 0, false);
    }
    refuse(NULL, 0, "the model has more than 8 levels of cache");
}

/* Two sockets of 4 cores with 2 hardware threads each: L1 of a core, L2 of two cores, L3 of a socket. */
TEST_BETWEEN(instances_by_threads, make, NULL)
{
    static const struct {
        int threads;
        uint64_t instances[3];
    } wanted[] = {
        {1, {1, 1, 1}}, {2, {2, 1, 1}}, {3, {3, 2, 1}},  {4, {4, 2, 1}},
        {5, {5, 3, 2}}, {8, {8, 4, 2}}, {16, {8, 4, 2}},
    };
    m.model.machine.cores = 8;
    m.model.machine.threads = 16;
    m.caches[0].shared_by = 2;
    m.caches[1].shared_by = 4;
    m.caches[2].shared_by = 8;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct carm_sol_arch a;
        m.roofs[0].threads = wanted[i].threads;
        convert(NULL, 0, &a);
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(a.levels[k].capacity, m.levels[k].knee_bytes * wanted[i].instances[k]);
        }
    }
}

/* Bytes of four instances, which pass 2^63 - 1. */
TEST_BETWEEN(capacities_have_an_end, make, NULL)
{
    static const uint64_t knees[][2] = {
        {INT64_MAX / 4, INT64_MAX / 4 * 4}, {INT64_MAX / 4 + 1, INT64_MAX}, {INT64_MAX, INT64_MAX}};
    m.model.machine.cores = m.model.machine.threads = m.roofs[0].threads = 4;
    for (size_t i = 0; i < 3; i++) {
        struct carm_sol_arch a;
        m.levels[0].knee_bytes = knees[i][0];
        convert(NULL, 0, &a);
        assert_int_equal(a.levels[0].capacity, knees[i][1]);
    }
}

TEST_BETWEEN(a_model_without_names_and_clock, make, NULL)
{
    struct carm_sol_arch a;
    m.model.machine.cpu[0] = '\0';
    m.model.machine.hostname[0] = '\0';
    m.roofs[0].threads = 1;
    convert(NULL, 0, &a);
    assert_string_equal(a.name, "unknown processor");
    assert_string_equal(
        a.source, "carm build on a machine without a name, 2026-01-02T03:04:05Z: avx2, 1 thread");
    m.roofs[0].clock_hz = 0;
    refuse(NULL, 0, "the model has no core clock for avx2: measure again with `carm build`");
}

TEST(the_sample_model)
{
    const char *top = getenv("CARM_TOP");
    char path[4096];
    struct carm_model *model = NULL;
    struct carm_sol_arch a;
    (void)snprintf(path, sizeof path, "%s/tests/data/sample-model.json", top ? top : ".");
    fail_if(carm_model_read(path, &model, &err) != 0 ||
                carm_sol_arch_of_model(model, NULL, 0, &a, &err) != 0,
            "%s", err.text);
    assert_near(a.freq_ghz, 3.465, 1e-12);
    assert_near(a.dram_byte_per_cycle, 18859570500.0 / 3.465e9, 1e-9);
    assert_near(a.mac_per_cycle[CARM_SOL_FP64], 220866170000.0 / 2 / 3.465e9, 1e-9);
    assert_near(a.other_per_cycle[CARM_SOL_FP64], 110423433000.0 / 3.465e9, 1e-9);
    assert_int_equal(a.nlevels, 3);
    assert_near(a.levels[0].byte_per_cycle, 1232922720000.0 / 3.465e9, 1e-9);
    assert_near(a.levels[2].byte_per_cycle, 97734660600.0 / 3.465e9, 1e-9);
    assert_int_equal(a.levels[0].capacity, 2 * 49152);
    assert_int_equal(a.levels[1].capacity, 2 * 1990656);
    assert_int_equal(a.levels[2].capacity, 109051904);
    carm_model_free(model);
}
