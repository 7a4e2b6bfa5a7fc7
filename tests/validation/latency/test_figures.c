/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Latencies by a fake clock: carm_latency_cycles stands here, with a time for each code and working set, so that every
 * figure has a known answer. */
#include "models/core.h"
#include "models/latency.h"
#include "tests/unit.h"
#include "validation/latency/latency.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

enum { CALL = 30, GUESSED_WRONG = 17, FLIGHT = 10, FLIGHT_OF_GATHERS = 5, PAGE = 4096 };

static const double hz = 3e9;

static struct carm_host host;
static struct carm_topo machine; /* this one, with small caches */
static struct carm_topo *real;
static struct carm_observer observer;
static struct carm_model model;
static struct carm_chain_image *image;
static struct carm_latency_run run = {.host = &host, .model = &model};

static struct {
    double load;    /* cycles of a load of the chase that is laid out; 0 = it is looked at */
    double longest; /* seconds of a run of an instruction's code */
    double shared;  /* times as many cycles of divisions while all hardware threads divide */
} fake;

/* L1 32 KiB, L2 256 KiB, L3 2 MiB; the TLB has 64 and 1024 entries. */
static double cycles_of_set(uint64_t lines, bool apart)
{
    const uint64_t bytes = lines * CARM_LINE_BYTES;
    const double level = bytes <= 32 * KIB    ? 4.0
                         : bytes <= 256 * KIB ? 14.0
                         : bytes <= 2 * MIB   ? 50.0
                                              : 300.0;
    return level + (!apart || lines <= 64 ? 0.0 : lines <= 1024 ? 7.0 : 30.0);
}

/* Follows the chase once around. */
static double look(const void *start)
{
    uint64_t lines = 0;
    const char *at = start, *least = start, *most = start;
    do {
        memcpy(&at, (const void *)at, sizeof at);
        least = at < least ? at : least;
        most = at > most ? at : most;
        lines++;
    } while (at != start);
    return cycles_of_set(lines, (uint64_t)(most - least) > 16 * lines * CARM_LINE_BYTES);
}

/* Cycles of a unit of an instruction's code. */
static double unit_cycles(const struct carm_chain *c)
{
    unsigned hash = 5381;
    for (const char *s = c->name; *s; s++) {
        hash = hash * 33 + (unsigned char)*s;
    }
    if (c->code.form == CARM_CHAIN_THROUGHPUT) {
        return 0.25 * (1 + hash % 8);
    }
    return (c->code.row->minus ? 20 : 3) + hash % 11;
}

double carm_latency_cycles(const struct carm_worker *worker, const struct carm_chain *code,
                           void *window, uint64_t iterations, uint64_t mask, double *seconds)
{
    const double units = (double)iterations * code->units;
    double cycles = 0.0;
    if (code->code.row) {
        cycles = CALL + units * unit_cycles(code);
        if (strcmp(code->code.row->kind, "branch-mispredicted") == 0) {
            cycles += mask ? 0.5 * units * GUESSED_WRONG : 0.0;
        }
        if (worker->team->n > 1) { /* threads share the divider */
            cycles *= strcmp(code->code.row->kind, "div") == 0 ? fake.shared : 1.0;
        } else {
            fake.longest = fmax(fake.longest, cycles / hz);
        }
    } else {
        const double most = code->code.form == CARM_CHAIN_GATHER ? FLIGHT_OF_GATHERS : FLIGHT;
        if (iterations == 16) { /* the first look at a chase */
            void *start;
            memcpy(&start, window, sizeof start);
            fake.load = look(start);
        }
        cycles = units * fake.load * fmax(1.0, code->code.chains / most);
    }
    if (seconds) {
        *seconds = cycles / hz;
    }
    return cycles;
}

static double expected_latency(const struct carm_core_figure *f, const struct carm_chain *c)
{
    const char *minus = c->code.row->minus;
    enum carm_core_kind kind;
    if (f->kind == CARM_CORE_BRANCH_MISPREDICTED) {
        return GUESSED_WRONG;
    }
    if (!minus || !carm_core_kind_parse(minus, &kind)) {
        return unit_cycles(c);
    }
    const bool half = kind == CARM_CORE_MOVE_VECTOR;
    const struct carm_core_figure *other =
        carm_core_find(&model, kind, half ? "" : f->isa, half ? "" : f->precision);
    assert_non_null(other);
    return unit_cycles(c) - other->latency * (half ? 0.5 : 1.0);
}

static const struct carm_core_figure *figure_of(const struct carm_chain_code *c)
{
    enum carm_core_kind kind;
    return carm_core_kind_parse(c->row->kind, &kind)
               ? carm_core_find(&model, kind, c->row->isas ? carm_isa_name(c->isa) : "",
                                c->row->precisions ? carm_precision_name(c->precision) : "")
               : NULL;
}

TEST(instructions_have_their_cycles)
{
    size_t compared = 0;
    fake.shared = 2.0;
    assert_ok(carm_latency_core(&run, &err));
    for (size_t i = 0; i < image->n; i++) {
        const struct carm_chain *c = &image->chains[i];
        const struct carm_core_figure *f = c->code.row ? figure_of(&c->code) : NULL;
        if (!f) {
            continue;
        }
        compared++;
        if (c->code.form == CARM_CHAIN_THROUGHPUT) {
            /* the cycles of a jump are those of the jump and of the loop's own branch */
            const double jumps = f->kind == CARM_CORE_BRANCH_TAKEN ? c->units + 1.0 : c->units;
            assert_near(f->throughput, unit_cycles(c) * c->units / jumps, 1e-6);
        } else {
            assert_near(f->latency, expected_latency(f, c), 1e-6);
            assert_true(f->latency_ci95.lo <= f->latency && f->latency <= f->latency_ci95.hi);
        }
        assert_false(f->disturbed);
    }
    assert_true(compared > 50);
    /* by the real clock: a first write that the kernel makes a page for, not a write to L1 */
    const struct carm_core_figure *fault = carm_core_find(&model, CARM_CORE_PAGE_FAULT, "", "");
    assert_true(fault && fault->latency > 50.0);
    /* 12 us, which the steps of a counter of 10 ns disturb by 0.08% */
    assert_true(fake.longest > 10e-6 && fake.longest < 14e-6);
    for (size_t i = 1; i < model.ncore; i++) {
        const struct carm_core_figure *a = &model.core[i - 1], *b = &model.core[i];
        const int isa = carm_isa_rank(a->isa) - carm_isa_rank(b->isa);
        assert_true(a->kind < b->kind ||
                    (a->kind == b->kind &&
                     (isa < 0 || (isa == 0 && strcmp(a->precision, b->precision) < 0))));
    }
}

/* Units that hardware threads share are slower while all use them; the figures of one thread stay. */
TEST(threads_that_share_a_unit_are_seen)
{
    size_t divisions = 0, others = 0;
    skip_if(machine.pus < 2, "no two hardware threads");
    for (size_t i = 0; i < model.ncore; i++) {
        const struct carm_core_figure *f = &model.core[i];
        const struct carm_core_together *t = &f->together;
        if (t->threads == 0) {
            continue;
        }
        assert_int_equal(t->threads, machine.pus);
        assert_false(t->disturbed);
        const bool divides = f->kind == CARM_CORE_FP_DIV;
        (divides ? &divisions : &others)[0]++;
        assert_near(carm_core_together_factor(f), divides ? fake.shared : 1.0, 0.02);
        assert_true(!(t->latency > 0.0) ||
                    (t->latency_ci95.lo <= t->latency && t->latency <= t->latency_ci95.hi));
    }
    assert_true(divisions > 0 && others > 10);
}

static void check_level(const char *level, enum carm_latency_order order, uint64_t page,
                        double cycles, uint64_t reach)
{
    const struct carm_latency *l = carm_latency_find(&model, level, order, page);
    assert_non_null(l);
    assert_near(l->cycles, cycles, 1e-6);
    assert_near(l->seconds, cycles / hz, 1e-15);
    assert_near(l->clock_hz, hz, 1.0);
    assert_true(l->ci95.lo <= l->seconds && l->seconds <= l->ci95.hi);
    assert_int_equal(l->reach_bytes, reach);
    assert_string_equal(l->note, "");
}

TEST(levels_have_their_cycles)
{
    run.options.memory_bytes = 64 * MIB;
    assert_ok(carm_latency_memory(&run, &err));
    for (int order = CARM_LATENCY_LINES; order <= CARM_LATENCY_RANDOM; order++) {
        if (order != CARM_LATENCY_PAGES) {
            check_level("L1", (enum carm_latency_order)order, PAGE, 4.0, 32 * KIB);
            check_level("L2", (enum carm_latency_order)order, PAGE, 14.0, 256 * KIB);
            check_level("L3", (enum carm_latency_order)order, PAGE, 50.0, 2 * MIB);
            check_level("DRAM", (enum carm_latency_order)order, PAGE, 300.0, 0);
        }
    }
    check_level("TLB1", CARM_LATENCY_PAGES, PAGE, 4.0, (uint64_t)64 * PAGE);
    check_level("TLB2", CARM_LATENCY_PAGES, PAGE, 7.0, (uint64_t)1024 * PAGE);
    check_level("walk", CARM_LATENCY_PAGES, PAGE, 30.0, 0);
    for (size_t i = 0; i < model.nlatency_curves; i++) {
        const struct carm_latency_curve *c = &model.latency_curves[i];
        assert_true(c->npoints > 0);
        for (size_t k = 1; k < c->npoints; k++) {
            assert_true(c->points[k - 1].working_set_bytes < c->points[k].working_set_bytes);
        }
    }
}

/* A cache that is said to be larger than all the memory there is for the chase: lines are flushed, so that they come from
 * memory. */
TEST(memory_has_its_latency_behind_a_large_cache)
{
    const uint64_t bytes = machine.caches[2].size_bytes;
    struct carm_latency_run of = run;
    of.model = calloc(1, sizeof *of.model);
    assert_non_null(of.model);
    of.options.memory_bytes = 64 * MIB;
    machine.caches[2].size_bytes = 300 * MIB;
    assert_ok(carm_latency_memory(&of, &err));
    machine.caches[2].size_bytes = bytes;
    const struct carm_latency *l = carm_latency_find(of.model, "DRAM", CARM_LATENCY_RANDOM, PAGE);
    assert_non_null(l);
    assert_near(l->cycles, 300.0, 1e-6);
    l = carm_latency_find(of.model, "L3", CARM_LATENCY_RANDOM, PAGE);
    assert_non_null(l);
    assert_near(l->cycles, 50.0, 1e-6);
    carm_model_free(of.model);
}

TEST(misses_in_flight_are_counted)
{
    size_t checked = 0;
    for (size_t i = 0; i < model.nin_flight; i++) {
        const struct carm_in_flight *f = &model.in_flight[i];
        const bool scalar = strcmp(f->code, "scalar") == 0;
        if (!scalar && strncmp(f->code, "gather", 6) != 0) {
            continue; /* streams, which run by the real clock */
        }
        assert_near(f->lines, f->rate * f->latency_seconds, 1e-9 * f->lines);
        if (scalar) {
            const double cycles = strcmp(f->level, "L2") == 0   ? 14.0
                                  : strcmp(f->level, "L3") == 0 ? 50.0
                                                                : 300.0;
            assert_near(f->latency_seconds, cycles / hz, 1e-15);
            assert_near(f->lines, FLIGHT, 1e-6);
            assert_int_equal(f->chains, FLIGHT);
            checked++;
        }
        assert_false(f->disturbed);
    }
    assert_true(checked >= 2);
}

/* By threads of this machine: streams move several times as much as the chase, which alone moves bytes without them. */
TEST(a_load_beside_streams_has_its_latency)
{
    skip_if(real->cores < 2, "no two cores");
    fake.load = 300.0;
    run.options.memory_bytes = 512 * MIB;
    assert_ok(carm_latency_loaded(&run, &err));
    assert_int_equal(model.nloaded, 3);
    for (size_t i = 0; i < model.nloaded; i++) {
        const struct carm_loaded *l = &model.loaded[i];
        assert_int_equal(l->npoints, 8);
        for (size_t k = 0; k < l->npoints; k++) {
            assert_near(l->points[k].seconds, 300.0 / hz, 1e-15);
            assert_true(k == 0 || l->points[k - 1].bandwidth <= l->points[k].bandwidth);
        }
        assert_true(l->points[l->npoints - 1].bandwidth > 2.0 * l->points[0].bandwidth);
        assert_near(l->points[0].bandwidth, CARM_LINE_BYTES * hz / 300.0, 1.0);
    }
}

/* A chase in memory that is bound to the node of this thread, and to none that the machine has. */
TEST(memory_of_a_node_has_its_latency)
{
    struct carm_latency l;
    run.options.memory_bytes = 64 * MIB;
    assert_ok(carm_latency_at(&run, 900, &l, &err));
    assert_true(!(l.seconds > 0.0));
    assert_non_null(strstr(l.note, "cannot ask for memory of NUMA node 900"));
    assert_ok(carm_latency_at(&run, 0, &l, &err));
    skip_if(strstr(l.note, "cannot ask"), "%s", l.note);
    assert_near(l.seconds, 300.0 / hz, 1e-15);
    assert_true(l.working_set_bytes >= 8 * MIB && l.page_bytes >= PAGE);
    assert_true(l.disturbed == (l.note[0] != '\0')); /* this thread may be of another node */
}

static int open_all(void **state)
{
    struct carm_chain_code *codes = NULL;
    size_t all = 0, n = 0;
    if (carm_host_open(&host, NULL, &observer, &err) || carm_clock_open(&host.clock, &err) ||
        carm_chain_all(&codes, &all, &err)) {
        print_message("%s\n", err.text);
        return -1;
    }
    for (size_t i = 0; i < all; i++) {
        const struct carm_cpu_bits needs = carm_chain_needs(&codes[i]);
        if (carm_cpu_has_bits(&host.cpu, &needs)) {
            codes[n++] = codes[i];
        }
    }
    real = host.topo;
    machine = *real;
    machine.ncaches = 3;
    machine.caches[0] = (struct carm_topo_cache){1, 32 * KIB, 1, 2, 8, -1};
    machine.caches[1] = (struct carm_topo_cache){2, 256 * KIB, 1, 2, 8, -1};
    machine.caches[2] = (struct carm_topo_cache){3, 2 * MIB, 8, 1, 16, -1};
    host.topo = &machine;
    const int rc = carm_chain_image_open(&image, codes, n, &err) ||
                   carm_team_open(&run.team, &machine, &host.clock, 1, 0, 64, &err);
    free(codes);
    run.image = image;
    return rc;
}

static int close_all(void **state)
{
    carm_team_close(run.team);
    carm_chain_image_close(image);
    host.topo = real;
    carm_host_close(&host);
    return 0;
}

RUN_TESTS(open_all, close_all)
