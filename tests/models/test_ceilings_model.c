/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ceilings of a measured model: order, what is dropped, both places of balance, machines without
 * FMA, memory, and what stands aside. Constructed models: nothing is measured. */
#include "models/ceilings.h"
#include "tests/unit.h"

#define IN_CORE CARM_CEILING_IN_CORE
#define MEMORY  CARM_CEILING_MEMORY

enum { MOST = 40 };

struct fixture {
    struct carm_model model;
    struct carm_roofs roofs;
    struct carm_ceiling_roof ceilings[MOST];
    struct carm_compute_roof compute;
    struct carm_memory_roof memory;
    struct carm_ceilings chain;
};
static struct fixture f;

/* error: half the interval, as a share of the rate */
static struct carm_ceiling_roof *put(enum carm_ceiling_group group, const char *name, double rate,
                                     double error)
{
    assert_true(f.roofs.nceilings < MOST);
    struct carm_ceiling_roof *c = &f.ceilings[f.roofs.nceilings++];
    f.roofs.ceilings = f.ceilings;
    *c = (struct carm_ceiling_roof){.group = group, .rate = rate, .clock_hz = 3e9, .threads = 4};
    (void)snprintf(c->name, sizeof c->name, "%s", name);
    c->ci95.lo = rate * (1.0 - error);
    c->ci95.hi = rate * (1.0 + error);
    return c;
}

static void start(void)
{
    memset(&f, 0, sizeof f);
    (void)snprintf(f.model.machine.cpu, sizeof f.model.machine.cpu, "A CPU");
    (void)snprintf(f.roofs.isa, sizeof f.roofs.isa, "avx2");
    (void)snprintf(f.roofs.precision, sizeof f.roofs.precision, "dp");
    f.roofs.threads = 4;
}

/* In an order that is not that of the ceilings. */
static void start_in_core(void)
{
    start();
    (void)put(IN_CORE, "simd32 fma", 160e9, 0.001);
    (void)put(IN_CORE, "simd32 add", 80e9, 0.001);
    (void)put(IN_CORE, "tlp add", 2.5e9, 0.001);
    (void)put(IN_CORE, "tlp fma", 5e9, 0.001);
    (void)put(IN_CORE, "simd16 add", 40e9, 0.001);
    (void)put(IN_CORE, "simd16 fma", 81e9, 0.001);
    (void)put(IN_CORE, "ilp add", 20e9, 0.001);
    (void)put(IN_CORE, "ilp fma", 41e9, 0.001);
}

static void make(enum carm_ceilings_order order)
{
    assert_ok(carm_ceilings_of_roofs(&f.model, &f.roofs, order, &f.chain, &err));
    const struct carm_ceilings *l = &f.chain;
    for (size_t i = 0; i + 1 < l->ncompute; i++) { /* whatever was measured, they ascend */
        assert_true(l->compute[i].rate <= l->compute[i + 1].rate);
        assert_true(l->compute[i].step[0] != '\0');
    }
    for (size_t i = 0; i + 1 < l->nmemory; i++) {
        assert_true(l->memory[i].rate <= l->memory[i + 1].rate);
        assert_true(l->memory[i].step[0] != '\0');
    }
    assert_true(l->ncompute == 0 || !l->compute[l->ncompute - 1].aside);
    assert_true(l->nmemory == 0 || !l->memory[l->nmemory - 1].aside);
}

/* names: those of the chain, bottom first, each behind a '|' */
static void assert_chain(const struct carm_ceiling *list, size_t n, const char *names)
{
    char got[1024] = "";
    for (size_t i = 0; i < n; i++) {
        if (!list[i].aside) {
            (void)snprintf(got + strlen(got), sizeof got - strlen(got), "|%s", list[i].name);
        }
    }
    assert_string_equal(got, names);
}

static const struct carm_ceiling *find(const struct carm_ceiling *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].name, name) == 0) {
            return &list[i];
        }
    }
    return NULL;
}

TEST(the_papers_order)
{
    start_in_core();
    make(CARM_BALANCE_TOP);
    assert_chain(f.chain.compute, f.chain.ncompute,
                 "|TLP only|ILP, no SIMD|16-byte SIMD|no FMA|peak");
    const struct carm_ceiling *r = f.chain.compute;
    assert_near(r[0].rate, 2.5e9, 0.0);
    assert_near(r[0].ci95.lo, 2.5e9 * 0.999, 1.0);
    assert_near(r[0].ci95.hi, 2.5e9 * 1.001, 1.0);
    assert_string_equal(r[0].step, "keep several independent chains of operations");
    assert_string_equal(r[1].step, "use SIMD instructions");
    assert_string_equal(r[2].step, "use SIMD instructions of 32 bytes");
    assert_string_equal(r[3].step, "fuse multiplications and additions into FMA");
    assert_near(r[3].rate, 80e9, 0.0);
    assert_string_equal(r[4].step, "");
    assert_string_equal(f.chain.title, "A CPU, avx2 dp, 4 threads");
    assert_string_equal(f.chain.metric, "flop");
    assert_int_equal(f.chain.nmemory, 0);
    assert_null(carm_ceilings_slope(&f.chain));
    assert_ptr_equal(carm_ceilings_peak(&f.chain), &r[4]);
    assert_true(carm_ceilings_ridge(&f.chain) == 0.0);
}

/* Where FMAs and additions together are the peak, FMA alone is a ceiling below it in both orders. */
TEST(additions_beside_fma)
{
    start_in_core();
    f.compute = (struct carm_compute_roof){
        .op = "fma+add", .rate = 240e9, .ci95 = {239e9, 241e9}, .clock_hz = 3e9};
    f.roofs.compute = &f.compute;
    f.roofs.ncompute = 1;
    make(CARM_BALANCE_TOP);
    assert_chain(f.chain.compute, f.chain.ncompute,
                 "|TLP only|ILP, no SIMD|16-byte SIMD|no FMA|FMA alone|peak");
    assert_near(f.chain.compute[4].rate, 160e9, 0.0);
    assert_string_equal(f.chain.compute[4].step,
                        "run additions beside the FMAs (few programs have additions to spare)");
    assert_near(f.chain.compute[5].rate, 240e9, 0.0);
    make(CARM_BALANCE_BOTTOM);
    assert_chain(f.chain.compute, f.chain.ncompute,
                 "|TLP only, no FMA|TLP only|ILP, no SIMD|16-byte SIMD|FMA alone|peak");
}

TEST(without_fma)
{
    start();
    (void)put(IN_CORE, "tlp add", 1e9, 0.001);
    (void)put(IN_CORE, "tlp mad", 1.1e9, 0.001);
    (void)put(IN_CORE, "ilp add", 4e9, 0.001);
    (void)put(IN_CORE, "ilp mad", 8e9, 0.001);
    (void)put(IN_CORE, "simd16 add", 8e9, 0.001);
    (void)put(IN_CORE, "simd16 mad", 16e9, 0.001);
    make(CARM_BALANCE_TOP);
    assert_chain(f.chain.compute, f.chain.ncompute,
                 "|TLP only|ILP, no SIMD|no multiply-add balance|peak");
    assert_string_equal(f.chain.compute[2].step, "balance multiplications and additions");
    make(CARM_BALANCE_BOTTOM);
    assert_chain(f.chain.compute, f.chain.ncompute,
                 "|TLP only, additions alone|TLP only|ILP, no SIMD|peak");
}

TEST(scalar_code_alone)
{
    start();
    (void)put(IN_CORE, "tlp add", 1e9, 0.001);
    (void)put(IN_CORE, "tlp fma", 2e9, 0.001);
    (void)put(IN_CORE, "ilp add", 8e9, 0.001);
    (void)put(IN_CORE, "ilp fma", 16e9, 0.001);
    make(CARM_BALANCE_TOP);
    assert_chain(f.chain.compute, f.chain.ncompute, "|TLP only|no FMA|peak");
    make(CARM_BALANCE_BOTTOM);
    assert_chain(f.chain.compute, f.chain.ncompute, "|TLP only, no FMA|TLP only|peak");
}

TEST(what_costs_nothing_is_dropped)
{
    start_in_core();
    f.ceilings[4].rate = 80.1e9; /* 16 bytes: above its successor, which is no FMA */
    f.ceilings[4].ci95.lo = f.ceilings[4].ci95.hi = 80.1e9;
    make(CARM_BALANCE_TOP);
    assert_chain(f.chain.compute, f.chain.ncompute, "|TLP only|ILP, no SIMD|no FMA|peak");

    start_in_core();
    f.ceilings[4].rate = 72e9; /* a tenth below ... */
    f.ceilings[4].ci95.lo = f.ceilings[4].ci95.hi = 72e9;
    make(CARM_BALANCE_TOP);
    assert_non_null(find(f.chain.compute, f.chain.ncompute, "16-byte SIMD"));
    f.ceilings[4].ci95.hi = 78e9; /* ... with errors of 6 and 6: 8.5 together */
    f.ceilings[1].ci95.lo = 74e9;
    make(CARM_BALANCE_TOP);
    assert_null(find(f.chain.compute, f.chain.ncompute, "16-byte SIMD"));
    f.ceilings[1].ci95.lo = 76e9; /* 6 and 4: 7.2 */
    make(CARM_BALANCE_TOP);
    assert_non_null(find(f.chain.compute, f.chain.ncompute, "16-byte SIMD"));

    start_in_core(); /* a hair below, however narrow the intervals */
    f.ceilings[4].rate = f.ceilings[4].ci95.lo = f.ceilings[4].ci95.hi = 79.5e9;
    make(CARM_BALANCE_TOP);
    assert_null(find(f.chain.compute, f.chain.ncompute, "16-byte SIMD"));
}

/* Slower by a tenth, but so was the clock: nothing to be had by wider vectors. */
TEST(a_slower_clock_is_no_ceiling)
{
    start_in_core();
    f.ceilings[4].rate = f.ceilings[4].ci95.lo = f.ceilings[4].ci95.hi = 72e9;
    f.ceilings[4].clock_hz = 2.7e9;
    make(CARM_BALANCE_TOP);
    assert_null(find(f.chain.compute, f.chain.ncompute, "16-byte SIMD"));
    f.ceilings[4].clock_hz = 3e9;
    make(CARM_BALANCE_TOP);
    assert_non_null(find(f.chain.compute, f.chain.ncompute, "16-byte SIMD"));
    /* wide vectors that lower the clock and give no more in a second are none, either */
    f.ceilings[4].rate = f.ceilings[4].ci95.lo = f.ceilings[4].ci95.hi = 80e9;
    f.ceilings[1].clock_hz = 2e9;
    make(CARM_BALANCE_TOP);
    assert_null(find(f.chain.compute, f.chain.ncompute, "16-byte SIMD"));
}

/* The roof stays, and is the best of all. */
TEST(the_roof)
{
    start_in_core();
    f.compute = (struct carm_compute_roof){
        .op = "mad", .rate = 170e9, .ci95 = {169e9, 171e9}, .clock_hz = 3e9};
    f.roofs.compute = &f.compute;
    f.roofs.ncompute = 1;
    make(CARM_BALANCE_TOP);
    assert_near(carm_ceilings_peak(&f.chain)->rate, 170e9, 0.0);
    assert_near(carm_ceilings_peak(&f.chain)->ci95.lo, 169e9, 0.0);
    f.compute.rate = 200e9; /* the widest in balance is no ceiling below the peak */
    make(CARM_BALANCE_BOTTOM);
    assert_chain(f.chain.compute, f.chain.ncompute,
                 "|TLP only, no FMA|TLP only|ILP, no SIMD|16-byte SIMD|peak");
    f.compute.rate = 150e9;
    make(CARM_BALANCE_TOP);
    assert_near(carm_ceilings_peak(&f.chain)->rate, 160e9, 0.0);
    /* in-core ceilings that were not asked for leave the set's own roof */
    f.roofs.nceilings = 0;
    (void)put(CARM_CEILING_MIX, "fp 1/2", 80e9, 0.001);
    make(CARM_BALANCE_TOP);
    assert_chain(f.chain.compute, f.chain.ncompute, "|peak");
    assert_near(carm_ceilings_peak(&f.chain)->rate, 150e9, 0.0);
}

static void start_memory(void)
{
    start_in_core();
    f.memory = (struct carm_memory_roof){
        .level = "DRAM", .ldst = "update", .code = "u", .bandwidth = 100e9, .ci95 = {99e9, 101e9}};
    f.roofs.memory = &f.memory;
    f.roofs.nmemory = 1;
    f.roofs.dram_peak = (struct carm_dram_peak){100e9, "u"};
    (void)put(MEMORY, "dot", 60e9, 0.001);
    (void)put(MEMORY, "dot no-prefetch", 50e9, 0.001);
    (void)put(MEMORY, "copy", 130e9, 0.001);
    (void)put(MEMORY, "copy nt", 55e9, 0.001);
    (void)put(MEMORY, "jump 2", 30e9, 0.001);
    (void)put(MEMORY, "jump 8", 20e9, 0.001);
    (void)put(MEMORY, "random", 10e9, 0.001);
    (void)put(MEMORY, "no affinity", 40e9, 0.001);
    (void)put(MEMORY, "small set", 101e9, 0.001);
}

TEST(memory_in_order)
{
    start_memory();
    make(CARM_BALANCE_TOP);
    const struct carm_ceilings *l = &f.chain;
    assert_chain(l->memory, l->nmemory,
                 "|random lines|every 8th line|every 2nd line|no affinity|no software "
                 "prefetch|streaming bandwidth");
    /* plain copies may be counted too high: they are no roof; nor is a small set, which caches may serve in part */
    assert_near(carm_ceilings_slope(l)->rate, 100e9, 0.0);
    assert_near(carm_ceilings_slope(l)->ci95.lo, 99e9, 0.0);
    assert_near(carm_ceilings_ridge(l), 1.6, 1e-12);
    const struct carm_ceiling *loads = find(l->memory, l->nmemory, "loads alone");
    assert_true(loads && loads->aside);

    struct carm_ceiling_roof *small = &f.ceilings[f.roofs.nceilings - 1];
    small->rate = small->ci95.lo = small->ci95.hi = 120e9;
    make(CARM_BALANCE_TOP);
    assert_near(carm_ceilings_slope(l)->rate, 100e9, 0.0);
}

TEST(what_was_not_measured_is_no_ceiling)
{
    start_memory();
    for (size_t i = 0; i < f.roofs.nceilings; i++) {
        if (strcmp(f.ceilings[i].name, "no affinity") == 0 ||
            strcmp(f.ceilings[i].name, "ilp add") == 0) {
            f.ceilings[i].rate = f.ceilings[i].ci95.lo = f.ceilings[i].ci95.hi = 0.0;
        }
    }
    make(CARM_BALANCE_TOP);
    assert_null(find(f.chain.memory, f.chain.nmemory, "no affinity"));
    assert_chain(f.chain.compute, f.chain.ncompute, "|TLP only|16-byte SIMD|no FMA|peak");
    assert_string_equal(f.chain.compute[0].step, "use SIMD instructions");
}

/* More than the set holds: the roof is still its end. */
TEST(too_many_aside)
{
    start_in_core();
    for (int i = 0; i < 30; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "busy 1/%d", i + 2);
        (void)put(CARM_CEILING_BUSY, name, 80e9 / (i + 2), 0.001);
    }
    make(CARM_BALANCE_TOP);
    assert_int_equal(f.chain.ncompute, CARM_CEILINGS_MAX);
    assert_string_equal(carm_ceilings_peak(&f.chain)->name, "peak");
}

/* All that a chain says of a set whose streams are faster than its DRAM roof, in both orders. The first ceiling is aside; a
 * clock that makes no difference to memory makes one to it alone. */
TEST(whole_chains)
{
    static const char memory[] =
        "random lines 10 9.7 10.3: visit memory in an order that prefetchers can follow\n"
        "1/4 of the threads load 18 17.982 18.018 aside: let all threads generate memory traffic\n"
        "every 8th line 20 19.98 20.02: use shorter strides\n"
        "every 2nd line 30 29.97 30.03: use unit stride\n"
        "no affinity 58.7 58.6413 58.7587: keep memory on the node of the threads that use it\n"
        "streaming bandwidth 60 59.88 60.12: \n";
    static const char *const compute[] = {
        "TLP only 2.5 2.4975 2.5025: keep several independent chains of operations\n"
        "ILP, no SIMD 20 19.98 20.02: use SIMD instructions\n"
        "16-byte SIMD 40 39.96 40.04: use SIMD instructions of 64 bytes\n"
        "1/4 of the threads busy 40 39.96 40.04 aside: balance the computation over the threads\n"
        "1/2 of the threads busy 80 79.76 80.24 aside: balance the computation over the threads\n"
        "FP 1/2 of instructions 100 99.9 100.1 aside: spend fewer instructions on all but floating point\n"
        "no FMA 140 139.86 140.14: fuse multiplications and additions into FMA\n"
        "peak 163 162 164: \n",
        "TLP only, no FMA 2.5 2.4975 2.5025: fuse multiplications and additions into FMA\n"
        "TLP only 5 4.995 5.005: use SIMD instructions\n"
        "1/4 of the threads busy 40 39.96 40.04 aside: balance the computation over the threads\n"
        "1/2 of the threads busy 80 79.76 80.24 aside: balance the computation over the threads\n"
        "16-byte SIMD 81 80.919 81.081: use SIMD instructions of 64 bytes\n"
        "FP 1/2 of instructions 100 99.9 100.1 aside: spend fewer instructions on all but floating point\n"
        "peak 163 162 164: \n"};
    for (int order = 0; order < 2; order++) {
        char got[2][4096] = {"", ""};
        start();
        (void)put(CARM_CEILING_BUSY, "busy 1/2", 80e9, 0.003);
        put(MEMORY, "dot", 60e9, 0.002)->clock_hz = 1e9;
        (void)put(MEMORY, "dot no-prefetch", 58.9e9, 0.001);
        (void)put(MEMORY, "copy nt", 50e9, 0.001);
        put(MEMORY, "random", 10e9, 0.03)->clock_hz = 0.1e9;
        (void)put(MEMORY, "jump 8", 20e9, 0.001);
        (void)put(MEMORY, "jump 2", 30e9, 0.001);
        (void)put(MEMORY, "no affinity", 58.7e9, 0.001);
        (void)put(IN_CORE, "tlp add", 2.5e9, 0.001);
        (void)put(IN_CORE, "tlp fma", 5e9, 0.001);
        (void)put(IN_CORE, "ilp add", 20e9, 0.001);
        (void)put(IN_CORE, "simd16 fma", 81e9, 0.001);
        (void)put(IN_CORE, "simd16 add", 40e9, 0.001);
        (void)put(IN_CORE, "simd64 add", 140e9, 0.001);
        put(IN_CORE, "simd64 fma", 160e9, 0.001)->clock_hz = 2.9e9;
        (void)put(CARM_CEILING_MIX, "fp 1", 162.9e9, 0.001); /* the peak: no ceiling */
        (void)put(CARM_CEILING_MIX, "fp 1/2", 100e9, 0.001);
        (void)put(CARM_CEILING_TRAFFIC, "traffic 1/4", 18e9, 0.001);
        (void)put(CARM_CEILING_BUSY, "busy 1/4", 40e9, 0.001);
        (void)put(CARM_CEILING_BUSY, "busy 1/8", 0.0, 0.0);
        f.compute = (struct carm_compute_roof){
            .op = "fma+add", .rate = 163e9, .ci95 = {162e9, 164e9}, .clock_hz = 3e9};
        f.memory = (struct carm_memory_roof){
            .code = "u", .bandwidth = 50e9, .ci95 = {49e9, 51e9}, .level = "DRAM"};
        f.roofs.compute = &f.compute;
        f.roofs.memory = &f.memory;
        f.roofs.ncompute = f.roofs.nmemory = 1;
        f.roofs.dram_peak = (struct carm_dram_peak){50e9, "v"};
        make(order ? CARM_BALANCE_BOTTOM : CARM_BALANCE_TOP);
        for (int side = 0; side < 2; side++) {
            const struct carm_ceiling *l = side ? f.chain.compute : f.chain.memory;
            for (size_t i = 0; i < (side ? f.chain.ncompute : f.chain.nmemory); i++) {
                const size_t n = strlen(got[side]);
                (void)snprintf(got[side] + n, sizeof got[side] - n, "%s %g %g %g%s: %s\n",
                               l[i].name, l[i].rate / 1e9, l[i].ci95.lo / 1e9, l[i].ci95.hi / 1e9,
                               l[i].aside ? " aside" : "", l[i].step);
            }
        }
        assert_string_equal(got[0], memory);
        assert_string_equal(got[1], compute[order]);
    }
}

TEST(a_model_without_ceilings)
{
    start();
    assert_int_equal(carm_ceilings_of_roofs(&f.model, &f.roofs, CARM_BALANCE_TOP, &f.chain, &err),
                     -CARM_ENOTSUP);
    assert_string_equal(err.text, "the model has no ceilings for avx2 dp with 4 threads; `carm "
                                  "build --ceilings` measures them");
}
