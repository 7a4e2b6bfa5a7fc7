/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models against a baseline: what is significant, by closed forms and by drawn noise of known size; which
 * roofs meet; order; thresholds. Constructed models: nothing is measured. */
#include "models/compare.h"
#include "models/latency.h"
#include "tests/unit.h"

/* ---- two values ---- */

static struct carm_compare_value value(double rate, double half)
{
    return (struct carm_compare_value){
        .rate = rate, .lo = rate - half, .hi = rate + half, .code = "", .note = ""};
}

static enum carm_compare_verdict verdict(struct carm_compare_value a, struct carm_compare_value b,
                                         double noise)
{
    struct carm_compare_diff ab, ba;
    carm_compare_values(&a, &b, noise, 0, &ab);
    carm_compare_values(&b, &a, noise, 0, &ba);
    assert_int_equal(ab.verdict, ba.verdict); /* it does not matter which is the baseline */
    return ab.verdict;
}

/* Half widths 3 and 4 make 5. */
TEST(intervals_decide)
{
    assert_int_equal(verdict(value(100, 3), value(104.99, 4), 0.0), CARM_COMPARE_EQUAL);
    assert_int_equal(verdict(value(100, 3), value(105.01, 4), 0.0), CARM_COMPARE_SIGNIFICANT);
    /* intervals that overlap may still tell a difference: 7 apart would be too much to ask */
    assert_int_equal(verdict(value(100, 3), value(94.99, 4), 0.0), CARM_COMPARE_SIGNIFICANT);
    struct carm_compare_diff d;
    const struct carm_compare_value a = value(200, 6), b = value(210.02, 8);
    carm_compare_values(&a, &b, 0.0, 0, &d);
    assert_near(d.change, 0.0501, 1e-12);
    assert_near(d.error, 0.05, 1e-12);
    assert_false(d.has_cycles);
}

/* Of a lopsided interval only the side counts that faces the other value. */
TEST(facing_sides)
{
    struct carm_compare_value a = value(100, 3), b = value(106, 4);
    a.lo = 20;
    b.hi = 300;
    assert_int_equal(verdict(a, b, 0.0), CARM_COMPARE_SIGNIFICANT);
    a.hi = 106;
    assert_int_equal(verdict(a, b, 0.0), CARM_COMPARE_EQUAL);
}

TEST(floor_decides)
{
    assert_int_equal(verdict(value(100, 0), value(99.01, 0), 0.01), CARM_COMPARE_EQUAL);
    assert_int_equal(verdict(value(100, 0), value(98.99, 0), 0.01), CARM_COMPARE_SIGNIFICANT);
    assert_int_equal(verdict(value(100, 0), value(80.1, 0), 0.2), CARM_COMPARE_EQUAL);
    assert_int_equal(verdict(value(100, 0), value(79.9, 0), 0.2), CARM_COMPARE_SIGNIFICANT);
    assert_int_equal(verdict(value(100, 0), value(100, 0), 0.0), CARM_COMPARE_EQUAL);
    assert_int_equal(verdict(value(100, 2), value(98.99, 2), 0.01), CARM_COMPARE_EQUAL);
    assert_near(carm_compare_floor(CARM_COMPARE_CORE, true), 0.01, 0.0);
    assert_near(carm_compare_floor(CARM_COMPARE_CORE, false), 0.01, 0.0);
    for (int i = CARM_COMPARE_CORE; i <= CARM_COMPARE_DRAM_SEVERAL; i++) {
        const enum carm_compare_noise kind = (enum carm_compare_noise)i;
        assert_true(carm_compare_floor(kind, false) >= 0.01);
        assert_true(carm_compare_floor(kind, true) >= carm_compare_floor(kind, false));
    }
}

TEST(disturbed_and_absent)
{
    struct carm_compare_value a = value(100, 0), b = value(50, 0);
    assert_int_equal(verdict(a, b, 0.01), CARM_COMPARE_SIGNIFICANT);
    a.disturbed = true;
    assert_int_equal(verdict(a, b, 0.01), CARM_COMPARE_DISTURBED);
    b.disturbed = true;
    assert_int_equal(verdict(a, b, 0.01), CARM_COMPARE_DISTURBED);
    assert_int_equal(verdict(a, value(0, 0), 0.01), CARM_COMPARE_ABSENT);
}

TEST(cycles)
{
    struct carm_compare_diff d;
    struct carm_compare_value a = value(100, 0.01), b = value(96, 0.01);
    a.clock_hz = 4e9;
    b.clock_hz = 3.84e9;
    carm_compare_values(&a, &b, 0.01, 0, &d);
    assert_int_equal(d.verdict, CARM_COMPARE_SIGNIFICANT);
    assert_true(d.has_cycles && d.same_per_cycle);
    assert_near(d.cycle_change, 0.0, 1e-12);
    b.clock_hz = 4e9; /* the clock did not move: it is not the clock */
    carm_compare_values(&a, &b, 0.01, 0, &d);
    assert_true(d.has_cycles && !d.same_per_cycle);
    assert_near(d.cycle_change, -0.04, 1e-12);
    b.rate = 100; /* equal per second, though not per cycle */
    b.clock_hz = 3e9;
    carm_compare_values(&a, &b, 0.01, 0, &d);
    assert_int_equal(d.verdict, CARM_COMPARE_EQUAL);
    assert_false(d.same_per_cycle);
    assert_near(d.cycle_change, 1.0 / 3.0, 1e-12);
    b.clock_hz = 0.0;
    carm_compare_values(&a, &b, 0.01, 0, &d);
    assert_false(d.has_cycles);
}

/* Sum of 12 uniform numbers less 6: variance 1. */
static double draw(uint64_t *seed)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*seed >> 11) / 9007199254740992.0;
    }
    return sum;
}

/* Two values of one machine, whose 95% intervals are right, differ in 5% of all cases. */
TEST(false_alarms)
{
    enum { DRAWS = 20000 };
    uint64_t seed = 7;
    int alarms = 0;
    for (int i = 0; i < DRAWS; i++) {
        const struct carm_compare_value a = value(1000 + 3 * draw(&seed), 1.96 * 3);
        const struct carm_compare_value b = value(1000 + 2 * draw(&seed), 1.96 * 2);
        alarms += verdict(a, b, 0.0) == CARM_COMPARE_SIGNIFICANT;
    }
    assert_near((double)alarms / DRAWS, 0.05, 0.006);
}

/* ---- models ---- */

enum { LEVELS = 4 };

struct fixture {
    struct carm_model model;
    struct carm_level levels[LEVELS];
    struct carm_roofs roofs[2];
    struct carm_memory_roof memory[2][LEVELS];
    struct carm_compute_roof compute[2][2];
    struct carm_ceiling_roof ceilings[2][2];
};

static void name(char *dst, size_t size, const char *text)
{
    (void)snprintf(dst, size, "%s", text);
}

static void start_set(struct fixture *f, size_t s, const char *isa, int threads)
{
    static const double bandwidth[LEVELS] = {600e9, 200e9, 50e9, 20e9};
    static const double rate[2] = {100e9, 50e9};
    static const char *const ops[2] = {"fma", "add"};
    static const char *const ceilings[2] = {"tlp add", "dot"};
    struct carm_roofs *r = &f->roofs[s];
    name(r->isa, sizeof r->isa, isa);
    name(r->precision, sizeof r->precision, "dp");
    r->threads = threads;
    r->clock_hz = 4e9;
    r->memory = f->memory[s];
    r->compute = f->compute[s];
    r->ceilings = f->ceilings[s];
    for (size_t i = 0; i < LEVELS; i++) {
        struct carm_memory_roof *m = &r->memory[r->nmemory++];
        name(m->level, sizeof m->level, f->levels[i].level);
        name(m->ldst, sizeof m->ldst, "2:1");
        name(m->code, sizeof m->code, i == 3 ? "d" : "a");
        m->bandwidth = bandwidth[i];
        m->ci95.lo = 0.999 * bandwidth[i];
        m->ci95.hi = 1.001 * bandwidth[i];
        m->clock_hz = 4e9;
    }
    for (size_t i = 0; i < 2; i++) {
        struct carm_compute_roof *c = &r->compute[r->ncompute++];
        name(c->op, sizeof c->op, ops[i]);
        c->rate = c->ci95.lo = c->ci95.hi = rate[i];
        c->clock_hz = 4e9;
        struct carm_ceiling_roof *x = &r->ceilings[r->nceilings++];
        x->group = i ? CARM_CEILING_MEMORY : CARM_CEILING_IN_CORE;
        name(x->name, sizeof x->name, ceilings[i]);
        x->rate = x->ci95.lo = x->ci95.hi = i ? 15e9 : 3e9;
        x->clock_hz = 4e9;
    }
    r->dram_peak.bandwidth = bandwidth[3];
    name(r->dram_peak.code, sizeof r->dram_peak.code, "d");
    f->model.nroofs = s + 1;
}

static void start(struct fixture *f)
{
    static const char *const names[LEVELS] = {"L1", "L2", "L3", "DRAM"};
    memset(f, 0, sizeof *f);
    for (size_t i = 0; i < LEVELS; i++) {
        name(f->levels[i].level, sizeof f->levels[i].level, names[i]);
        f->levels[i].resolved = true;
    }
    f->model.levels = f->levels;
    f->model.nlevels = LEVELS;
    f->model.roofs = f->roofs;
    start_set(f, 0, "avx2", 1);
    start_set(f, 1, "avx2", 4);
}

/* A value with its interval. */
static void scale(double by, double *rate, double *lo, double *hi)
{
    *rate *= by;
    *lo *= by;
    *hi *= by;
}

static void scale_memory(struct carm_memory_roof *m, double by)
{
    scale(by, &m->bandwidth, &m->ci95.lo, &m->ci95.hi);
}

static void scale_compute(struct carm_compute_roof *c, double by)
{
    scale(by, &c->rate, &c->ci95.lo, &c->ci95.hi);
}

static void scale_ceiling(struct carm_ceiling_roof *c, double by)
{
    scale(by, &c->rate, &c->ci95.lo, &c->ci95.hi);
}

CLOSED_BY(carm_compare_free)
static struct carm_compare *compare_all(const struct carm_model *const *models, size_t n,
                                        struct carm_compare_options options)
{
    struct carm_compare *c = NULL;
    assert_ok(carm_compare_make(models, n, &options, &c, &err));
    return closed_later(by_carm_compare_free, c);
}

static struct carm_compare *compare(const struct carm_model *a, const struct carm_model *b,
                                    double noise)
{
    const struct carm_model *const models[] = {a, b};
    return compare_all(models, 2, (struct carm_compare_options){.noise = noise});
}

static const struct carm_compare_row *find(const struct carm_compare *c, size_t set,
                                           enum carm_compare_kind kind, const char *what)
{
    for (size_t i = 0; i < c->sets[set].nrows; i++) {
        if (c->sets[set].rows[i].kind == kind && strcmp(c->sets[set].rows[i].name, what) == 0) {
            return &c->sets[set].rows[i];
        }
    }
    fail_msg("no row %s", what);
    return NULL;
}

TEST(a_model_with_itself)
{
    struct fixture f;
    struct carm_compare_drop worst;
    start(&f);
    struct carm_compare *c = compare(&f.model, &f.model, 0.0);
    assert_int_equal(c->nsets, 2);
    for (size_t s = 0; s < 2; s++) {
        assert_true(c->sets[s].compared);
        assert_int_equal(c->sets[s].nrows, LEVELS + 2 + 1 + 2);
        for (size_t i = 0; i < c->sets[s].nrows; i++) {
            const struct carm_compare_diff *d = &c->sets[s].rows[i].diffs[1];
            assert_int_equal(d->verdict, CARM_COMPARE_EQUAL);
            assert_true(d->change == 0.0);
            assert_int_equal(c->sets[s].rows[i].order, i);
        }
    }
    assert_int_equal(carm_compare_counts(c).of[CARM_COMPARE_EQUAL], 2 * 9);
    assert_int_equal(carm_compare_drops(c, 0.0, false, &worst), 0);
    assert_null(worst.row);
}

TEST(every_kind_of_roof)
{
    struct fixture a, b;
    start(&a);
    start(&b);
    struct carm_roofs *r = &b.roofs[0];
    scale_memory(&r->memory[0], 0.9);
    scale_compute(&r->compute[1], 0.8);
    scale_ceiling(&r->ceilings[0], 0.7);
    scale_ceiling(&r->ceilings[1], 0.6);
    r->dram_peak.bandwidth *= 0.5; /* of another code than any roof's: without an interval */
    name(r->dram_peak.code, sizeof r->dram_peak.code, "other");
    struct carm_compare *c = compare(&a.model, &b.model, -1.0);
    assert_near(find(c, 0, CARM_COMPARE_MEMORY, "L1 2:1")->diffs[1].change, -0.1, 1e-12);
    assert_near(find(c, 0, CARM_COMPARE_COMPUTE, "add")->diffs[1].change, -0.2, 1e-12);
    assert_near(find(c, 0, CARM_COMPARE_CEILING, "in-core: tlp add")->diffs[1].change, -0.3, 1e-12);
    assert_near(find(c, 0, CARM_COMPARE_CEILING, "memory: dot")->diffs[1].change, -0.4, 1e-12);
    const struct carm_compare_row *peak = find(c, 0, CARM_COMPARE_DRAM_PEAK, "DRAM peak");
    assert_near(peak->diffs[1].change, -0.5, 1e-12);
    assert_near(peak->values[0].lo, 0.999 * 20e9, 1.0);
    assert_near(peak->values[1].lo, 10e9, 1e-3);
    assert_int_equal(carm_compare_counts(c).of[CARM_COMPARE_SIGNIFICANT], 5);
    /* the worst first, then what is equal in the file's order */
    const struct carm_compare_row *rows = c->sets[0].rows;
    assert_string_equal(rows[0].name, "DRAM peak");
    assert_string_equal(rows[1].name, "memory: dot");
    assert_string_equal(rows[4].name, "L1 2:1");
    assert_string_equal(rows[5].name, "L2 2:1");
    assert_true(rows[0].bytes && rows[1].bytes && !rows[2].bytes && !rows[3].bytes);
    /* memory has a clock of its own */
    assert_false(rows[0].diffs[1].has_cycles);
    assert_false(rows[1].diffs[1].has_cycles);
    assert_true(rows[2].diffs[1].has_cycles && rows[4].diffs[1].has_cycles);
}

TEST(floors_by_kind)
{
    static const struct {
        enum carm_compare_kind kind;
        const char *name;
        enum carm_compare_noise one, four;
    } wanted[] = {
        {CARM_COMPARE_MEMORY, "L1 2:1", CARM_COMPARE_CORE, CARM_COMPARE_CORE},
        {CARM_COMPARE_MEMORY, "L2 2:1", CARM_COMPARE_PRIVATE, CARM_COMPARE_PRIVATE},
        {CARM_COMPARE_MEMORY, "L3 2:1", CARM_COMPARE_SHARED, CARM_COMPARE_SHARED},
        {CARM_COMPARE_MEMORY, "DRAM 2:1", CARM_COMPARE_DRAM, CARM_COMPARE_DRAM_SEVERAL},
        {CARM_COMPARE_DRAM_PEAK, "DRAM peak", CARM_COMPARE_DRAM, CARM_COMPARE_DRAM_SEVERAL},
        {CARM_COMPARE_COMPUTE, "fma", CARM_COMPARE_CORE, CARM_COMPARE_CORE},
        {CARM_COMPARE_CEILING, "in-core: tlp add", CARM_COMPARE_CORE, CARM_COMPARE_CORE},
        {CARM_COMPARE_CEILING, "memory: dot", CARM_COMPARE_DRAM, CARM_COMPARE_DRAM_SEVERAL},
    };
    struct fixture a, b;
    start(&a);
    start(&b);
    for (int is_virtual = 0; is_virtual < 2; is_virtual++) {
        name(b.model.machine.hypervisor, sizeof b.model.machine.hypervisor,
             is_virtual ? "KVM" : ""); /* one of the two is enough */
        struct carm_compare *c = compare(&a.model, &b.model, -1.0);
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            assert_near(find(c, 0, wanted[i].kind, wanted[i].name)->diffs[1].floor,
                        carm_compare_floor(wanted[i].one, is_virtual), 0.0);
            assert_near(find(c, 1, wanted[i].kind, wanted[i].name)->diffs[1].floor,
                        carm_compare_floor(wanted[i].four, is_virtual), 0.0);
        }
    }
    struct carm_compare *c = compare(&a.model, &b.model, 0.07);
    assert_near(find(c, 1, CARM_COMPARE_MEMORY, "DRAM 2:1")->diffs[1].floor, 0.07, 0.0);
}

static bool only_one_thread(const void *arg, const char *isa, int threads)
{
    return strcmp(isa, arg) == 0 && threads == 1;
}

TEST(what_is_not_shared)
{
    struct fixture a, b;
    struct carm_compare *c = NULL;
    start(&a);
    start(&b);
    name(a.roofs[1].isa, sizeof a.roofs[1].isa, "avx512");
    name(b.roofs[0].memory[2].level, sizeof b.roofs[0].memory[2].level, "L4");
    b.roofs[0].ceilings[0].rate = 0.0; /* not measured */
    c = compare(&a.model, &b.model, -1.0);
    assert_int_equal(c->nsets, 4); /* the last one: best_of_different_isas */
    assert_true(c->sets[0].compared && !c->sets[1].compared && !c->sets[2].compared);
    assert_int_equal(c->sets[1].nrows, 0);
    assert_null(c->sets[1].roofs[1]);
    assert_null(c->sets[2].roofs[0]);
    assert_int_equal(c->sets[0].nrows, 10);
    assert_int_equal(find(c, 0, CARM_COMPARE_MEMORY, "L3 2:1")->diffs[1].verdict,
                     CARM_COMPARE_ABSENT);
    assert_true(find(c, 0, CARM_COMPARE_MEMORY, "L4 2:1")->values[0].rate == 0.0);
    assert_int_equal(find(c, 0, CARM_COMPARE_CEILING, "in-core: tlp add")->diffs[1].verdict,
                     CARM_COMPARE_ABSENT);
    assert_int_equal(carm_compare_counts(c).of[CARM_COMPARE_ABSENT], 3);
    assert_int_equal(c->sets[0].rows[6].diffs[1].verdict, CARM_COMPARE_EQUAL);
    assert_int_equal(c->sets[0].rows[7].diffs[1].verdict, CARM_COMPARE_ABSENT); /* last */

    const struct carm_model *const models[] = {&a.model, &b.model, &a.model};
    const struct carm_compare_options options = {-1.0, only_one_thread, "avx2"};
    c = compare_all(models, 3, options);
    assert_int_equal(c->nsets, 1);
    assert_int_equal(find(c, 0, CARM_COMPARE_MEMORY, "L3 2:1")->diffs[2].verdict,
                     CARM_COMPARE_EQUAL);
    assert_refused(carm_compare_make(models, 1, &options, &c, &err), -CARM_EINVAL,
                   "two to 8 models");
    assert_null(c);
    carm_compare_free(NULL);
}

/* An AVX2 machine and one whose widest set is AVX-512, with AVX2 beside it in L1: no set of one ISA has both
 * machines' L2 and DRAM, so their best are compared. */
TEST(best_of_different_isas)
{
    struct fixture a, b;
    start(&a);
    start(&b);
    a.model.nroofs = b.model.nroofs = 1;
    name(b.roofs[0].isa, sizeof b.roofs[0].isa, "avx512");
    scale_memory(&b.roofs[0].memory[0], 2.0);
    struct carm_compare *c = compare(&a.model, &b.model, -1.0);
    assert_int_equal(c->nsets, 3);
    assert_string_equal(c->sets[2].isa, CARM_COMPARE_BEST);
    assert_true(c->sets[2].compared && !c->sets[0].compared && !c->sets[1].compared);
    const struct carm_compare_row *row = find(c, 2, CARM_COMPARE_MEMORY, "L1 2:1");
    assert_true(row->diffs[1].change > 0.99 && row->diffs[1].change < 1.01);
    assert_int_equal(row->diffs[1].verdict, CARM_COMPARE_SIGNIFICANT);
    assert_string_equal(row->values[0].isa, a.roofs[0].isa);
    assert_string_equal(row->values[1].isa, "avx512");
    assert_true(find(c, 2, CARM_COMPARE_COMPUTE, "peak")->values[1].rate > 0.0);
    (void)find(c, 2, CARM_COMPARE_DRAM_PEAK, "DRAM peak");

    const struct carm_model *const models[] = {&a.model, &b.model};
    const struct carm_compare_options options = {-1.0, only_one_thread, "avx512"};
    c = compare_all(models, 2, options);
    assert_int_equal(c->nsets, 1); /* one ISA was asked for */
}

/* Threads that were twice as far apart in one of two models ran on other places. */
TEST(threads_that_moved)
{
    struct carm_roofs near = {.core_to_core_seconds = 40e-9},
                      as_near = {.core_to_core_seconds = 79e-9},
                      far = {.core_to_core_seconds = 81e-9},
                      unknown = {.core_to_core_seconds = 0.0};
    const struct carm_compare_set set = {.roofs = {&near, &as_near, &far, &unknown}};
    const struct carm_compare_set back = {.roofs = {&far, &near}},
                                  without = {.roofs = {NULL, &far}};
    assert_false(carm_compare_moved(&set, 1));
    assert_true(carm_compare_moved(&set, 2));
    assert_true(carm_compare_moved(&back, 1));
    assert_false(carm_compare_moved(&set, 3)); /* its distance is not known */
    assert_false(carm_compare_moved(&without, 1));
}

TEST(drops)
{
    struct fixture a, b;
    struct carm_compare_drop worst;
    start(&a);
    start(&b);
    scale_compute(&b.roofs[0].compute[0], 0.94);
    scale_memory(&b.roofs[1].memory[1], 0.88);
    scale_memory(&b.roofs[1].memory[0], 0.3);
    b.roofs[1].memory[0].disturbed = true;
    scale_compute(&b.roofs[1].compute[0], 1.5);
    struct carm_compare *c = compare(&a.model, &b.model, -1.0);
    assert_int_equal(carm_compare_drops(c, 0.0, false, &worst), 2);
    assert_string_equal(worst.row->name, "L2 2:1");
    assert_int_equal(worst.set->threads, 4);
    assert_int_equal(worst.model, 1);
    assert_int_equal(carm_compare_drops(c, 0.0599, false, &worst), 2);
    assert_int_equal(carm_compare_drops(c, 0.0601, false, &worst), 1);
    assert_int_equal(carm_compare_drops(c, 0.1201, false, &worst), 0);
    assert_null(worst.row);
    assert_int_equal(carm_compare_counts(c).of[CARM_COMPARE_DISTURBED], 1);
    b.roofs[0].compute[0].clock_hz *= 0.94; /* one of the two by the clock alone */
    c = compare(&a.model, &b.model, -1.0);
    assert_int_equal(carm_compare_drops(c, 0.0, false, &worst), 2);
    assert_int_equal(carm_compare_drops(c, 0.0, true, &worst), 1);
    assert_string_equal(worst.row->name, "L2 2:1");
}

/* Latencies among the facts of levels: a difference beyond the intervals has its size. */
TEST(latencies)
{
    static struct carm_latency fast[] = {{.level = "L3",
                                          .order = CARM_LATENCY_RANDOM,
                                          .page_bytes = 4096,
                                          .seconds = 1.5e-8,
                                          .ci95 = {1.4e-8, 1.6e-8}},
                                         {.level = "L1", .order = CARM_LATENCY_RANDOM}};
    static struct carm_latency slow[] = {{.level = "L3",
                                          .order = CARM_LATENCY_RANDOM,
                                          .page_bytes = 4096,
                                          .seconds = 3e-8,
                                          .ci95 = {2.9e-8, 3.1e-8}}};
    static struct carm_latency near[] = {{.level = "L3",
                                          .order = CARM_LATENCY_RANDOM,
                                          .page_bytes = 4096,
                                          .seconds = 1.6e-8,
                                          .ci95 = {1.5e-8, 1.7e-8}}};
    static struct carm_in_flight flight[] = {
        {.level = "DRAM", .code = "scalar", .rate = 1e8, .lines = 20.4}};
    const struct carm_model models[] = {
        {.latency = fast, .nlatency = 2, .in_flight = flight, .nin_flight = 1},
        {.latency = slow, .nlatency = 1},
        {.latency = near, .nlatency = 1}};
    const struct carm_compare c = {.models = {&models[0], &models[1], &models[2]}, .n = 3};
    static struct carm_compare_fact facts[CARM_COMPARE_FACTS_MAX];
    assert_int_equal(carm_compare_level_facts(&c, false, facts), 2);
    assert_string_equal(facts[0].name, "L3 latency, 4 KiB pages");
    assert_string_equal(facts[0].text[0], "15 ns");
    assert_string_equal(facts[0].text[1], "30 ns (+100%)");
    assert_string_equal(facts[0].text[2], "16 ns (no difference)");
    assert_string_equal(facts[1].text[0], "20");
    assert_string_equal(facts[1].text[1], "-");
    /* clear intervals 8% apart: of a virtual machine's memory no difference, 100% are one */
    static struct carm_level levels[] = {{.level = "L1"}, {.level = "L2"}, {.level = "L3"}};
    struct carm_model of[3];
    static struct carm_latency off[] = {{.level = "L3",
                                         .order = CARM_LATENCY_RANDOM,
                                         .page_bytes = 4096,
                                         .seconds = 1.62e-8,
                                         .ci95 = {1.61e-8, 1.63e-8}}};
    for (int is_virtual = 0; is_virtual < 2; is_virtual++) {
        for (size_t i = 0; i < 3; i++) {
            of[i] = models[i];
            of[i].levels = levels;
            of[i].nlevels = 3;
        }
        of[2].latency = off;
        name(of[0].machine.hypervisor, sizeof of[0].machine.hypervisor, is_virtual ? "KVM" : "");
        const struct carm_compare v = {.models = {&of[0], &of[1], &of[2]}, .n = 3};
        const size_t n = carm_compare_level_facts(&v, false, facts);
        size_t at = 0;
        while (at < n && !strstr(facts[at].name, "latency")) {
            at++;
        }
        assert_true(at < n);
        assert_string_equal(facts[at].text[1], "30 ns (+100%)");
        assert_string_equal(facts[at].text[2],
                            is_virtual ? "16.2 ns (no difference)" : "16.2 ns (+8%)");
    }
}

/* Roofs without an ISA take ISA and operation of the other model's highest set with as many threads. */
TEST(roofs_adopt_an_isa)
{
    struct carm_compute_roof scalar[] = {{.op = "add", .rate = 1e9}};
    struct carm_compute_roof wide[] = {{.op = "add", .rate = 4e9}, {.op = "fma", .rate = 8e9}};
    struct carm_compute_roof more[] = {{.op = "mul", .rate = 9e9}};
    struct carm_roofs sets[] = {
        {.isa = "scalar", .precision = "dp", .threads = 1, .compute = scalar, .ncompute = 1},
        {.isa = "avx2", .precision = "dp", .threads = 1, .compute = wide, .ncompute = 2},
        {.isa = "avx512", .precision = "dp", .threads = 2, .compute = more, .ncompute = 1}};
    const struct carm_model other = {.roofs = sets, .nroofs = 3};
    struct carm_compute_roof flops[] = {{.op = "flops", .rate = 7e9}, {.op = "more", .rate = 6e9}};
    struct carm_roofs mine = {.isa = "unknown", .precision = "dp", .threads = 1, .compute = flops};
    struct carm_model model = {.roofs = &mine, .nroofs = 1};
    mine.ncompute = 1;
    assert_ptr_equal(carm_compare_adopt(&model, &other), &sets[1]);
    assert_string_equal(mine.isa, "avx2");
    assert_string_equal(flops[0].op, "fma");
    assert_null(carm_compare_adopt(&model, &other)); /* it has an ISA now */
    (void)snprintf(mine.isa, sizeof mine.isa, "unknown");
    (void)snprintf(flops[0].op, sizeof flops[0].op, "flops");
    mine.ncompute = 2; /* of several operations none is known to be the highest */
    assert_ptr_equal(carm_compare_adopt(&model, &other), &sets[1]);
    assert_string_equal(flops[0].op, "flops");
    (void)snprintf(mine.isa, sizeof mine.isa, "unknown");
    mine.threads = 3;
    assert_null(carm_compare_adopt(&model, &other));
    assert_string_equal(mine.isa, "unknown");
}
