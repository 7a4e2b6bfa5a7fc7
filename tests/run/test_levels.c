/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulated caches of a run, from addresses written by hand: which level's lines and bytes go to which row and
 * instruction, and how the addresses of an instruction move. Two caches, of 64 and 1024 lines; pages of 4096 bytes. */
#include "run/levels.h"

#include "harness/translate/addresses.h"
#include "models/latency.h"
#include "run/verdict.h"
#include "tests/unit.h"

enum { LINE = 64, PAGE = 4096, BASE = 1 << 24, AT = 0x1000 };

static struct carm_run run;
static struct carm_run_levels *levels;
static struct carm_address_sink sink;
static struct carm_profile_place *places;

/* A second-level TLB of 16 pages, as its walks were measured. */
static struct carm_level caches[] = {{.level = "L1", .os_size_bytes = 64 * LINE},
                                     {.level = "L2", .os_size_bytes = 1024 * LINE},
                                     {.level = "DRAM"}};
static struct carm_latency tlb = {.level = "TLB2",
                                  .order = CARM_LATENCY_PAGES,
                                  .page_bytes = PAGE,
                                  .seconds = 1e-9,
                                  .reach_bytes = 12 * PAGE};
static struct carm_latency_point reach[] = {{.working_set_bytes = 12 * PAGE},
                                            {.working_set_bytes = 16 * PAGE}};
static struct carm_latency_curve curve = {
    .order = CARM_LATENCY_PAGES, .page_bytes = PAGE, .points = reach, .npoints = 2};
static const struct carm_model model = {.machine = {.cores = 2, .threads = 2},
                                        .levels = caches,
                                        .nlevels = 3,
                                        .latency = &tlb,
                                        .nlatency = 1,
                                        .latency_curves = &curve,
                                        .nlatency_curves = 1};

/* share    of the accesses to simulate
 * changed  NULL, or a machine with other caches. The block of all instructions was executed a thousand times. */
static void open_caches(double share, const struct carm_model *changed)
{
    const struct carm_executed block = {.module = 0, .at = AT, .executions = 1000};
    memset(&run, 0, sizeof run);
    carm_count_put(&run.row.counts, CARM_Q_BYTES, 1.0, CARM_COUNTED_TRANSLATED);
    carm_blocks_open(&run.blocks);
    assert_ok(carm_blocks_add_place(&run.blocks, 1, 2, &block, &err));
    carm_blocks_sort(&run.blocks);
    run.has_blocks = true;
    assert_ok(carm_run_levels_open(&levels, &model, changed, carm_run_prefetch_find("none"), share,
                                   true, &sink, &err));
}

static int set_up(void **state)
{
    open_caches(1.0, NULL);
    return 0;
}

static int tear_down(void **state)
{
    carm_run_levels_close(levels);
    carm_blocks_close(&run.blocks);
    free(places);
    places = NULL;
    return 0;
}

static void access_by(uint32_t thread, unsigned at, uint64_t address, uint32_t bytes,
                      enum carm_address_kind kind)
{
    const struct carm_address_by by = {.program = 1, .counter = 2, .at = at};
    sink.take(sink.arg, thread, address, bytes, kind, &by);
}

static void load(unsigned at, uint64_t address)
{
    access_by(0, at, address, 8, CARM_ADDRESS_LOAD);
}

/* The program's end: instructions go to rows, row 0 below and row 1 from an offset in the block. */
static void end(unsigned border)
{
    size_t n = 0, unknown = 0;
    carm_run_levels_take(levels, &run, true);
    assert_string_equal(run.row.note, "");
    assert_ok(carm_run_levels_places(levels, &run.blocks, &places, &n, &err));
    for (size_t i = 0; i < n; i++) {
        const bool known = places[i].module != CARM_PROFILE_NOWHERE;
        unknown += !known;
        places[i].row = known && places[i].at >= AT + border ? 1 : 0;
    }
    assert_int_equal(unknown, carm_run_levels_changed(levels) ? 2 : 1); /* number 0 */
    assert_ok(carm_run_levels_fold(levels, &run.blocks, places, 2, &err));
}

static struct carm_run_places of(unsigned at, double from_l2, double from_dram)
{
    struct carm_run_places p;
    double lines[CARM_HIERARCHY_LEVELS_MAX];
    assert_true(carm_run_levels_lines(levels, &run.blocks, 0, AT + at, lines, &p));
    assert_near(lines[0], from_l2, 1e-9);
    assert_near(lines[1], from_dram, 1e-9);
    return p;
}

/* Two sweeps by 8 bytes over 128 lines: memory has them first, L2 the second time, when L1 has kept none. An
 * instruction behind it needs one line again and again. */
TEST_BETWEEN(lines_of_levels, set_up, tear_down)
{
    struct carm_run_places p;
    double lines[CARM_HIERARCHY_LEVELS_MAX];
    struct carm_counts c = {.q = {[CARM_Q_BYTES] = {.value = 1.0}}};
    for (int sweep = 0; sweep < 2; sweep++) {
        for (uint64_t k = 0; k < 8 * 128; k++) {
            load(0, BASE + 8 * k);
        }
    }
    for (int k = 0; k < 10; k++) {
        load(8, BASE + (1 << 20));
    }
    end(8);
    p = of(0, 128, 128);
    assert_int_equal(p.step, 8);
    assert_near(p.split, 0.0, 0.0);
    assert_near(p.apart, 1.0 / 2047, 1e-9); /* back to the begin */
    assert_near(p.contended, 0.0, 0.0);
    assert_near(p.aliased, 0.0, 0.0);
    assert_near(p.pages, 2.0, 0.1);
    assert_near(p.translated, 2048.0, 0.0);
    p = of(8, 0, 1);
    assert_int_equal(p.step, 0);
    assert_near(p.pages, 1.0, 0.1);
    assert_false(carm_run_levels_lines(levels, &run.blocks, 0, AT + 9, lines, &p));
    assert_false(carm_run_levels_lines(levels, &run.blocks, 1, AT, lines, &p));
    assert_false(carm_run_levels_lines(NULL, &run.blocks, 0, AT, lines, &p));
    /* the rows, and the program: 257 lines come into L1, 129 of them from memory; all have been looked up */
    const double l2[] = {256.0, 1.0, 257.0}, dram[] = {128.0, 1.0, 129.0},
                 lookups[] = {2048, 10, 2058};
    const struct carm_run_simulation *about = carm_run_levels_about(levels);
    assert_true(about->counted && !about->sampled);
    assert_int_equal(about->threads, 1);
    for (size_t r = 0; r < 3; r++) {
        const struct carm_run_figures *f = r < 2 ? carm_run_levels_row(levels, r) : &about->whole;
        assert_near(f->levels[0].bytes, LINE * l2[r], 0.0);
        assert_near(f->levels[1].bytes, LINE * dram[r], 0.0);
        assert_near(f->levels[0].lookups, lookups[r], 0.0);
    }
    assert_null(carm_run_levels_row(levels, 2));
    assert_null(carm_run_levels_row(NULL, 0));
    assert_near(run.row.counts.q[CARM_Q_L2_BYTES].value, 257 * LINE, 0.0);
    assert_near(run.row.counts.q[CARM_Q_DRAM_BYTES].value, 129 * LINE, 0.0);
    /* of row 0 the lines that L2 has kept are capacity misses of L1: 128 first, 128 then; all of their bytes are used */
    c.q[CARM_Q_BYTES] = run.row.counts.q[CARM_Q_BYTES];
    carm_run_levels_put(levels, 0, &c);
    assert_near(c.q[CARM_Q_L2_BYTES].value, 256 * LINE, 0.0);
    assert_near(c.q[CARM_Q_L2_COMPULSORY].value, 128 * LINE, 0.0);
    assert_near(c.q[CARM_Q_L2_COMPULSORY + CARM_MISS_CAPACITY].value, 128 * LINE, 0.0);
    assert_near(c.q[CARM_Q_DRAM_COMPULSORY].value, 128 * LINE, 0.0);
    assert_near(c.q[CARM_Q_DRAM_COMPULSORY + CARM_MISS_CAPACITY].value, 0.0, 0.0);
    assert_true(carm_count_has(&c, CARM_Q_L2_COMPULSORY + CARM_MISS_CONFLICT));
    assert_near(c.q[CARM_Q_L2_UNUSED].value, 0.0, 0.0);
    assert_false(carm_count_has(&c, CARM_Q_L3_BYTES));
    c = (struct carm_counts){0};
    carm_run_levels_put(levels, 1, &c);
    assert_false(carm_count_has(&c, CARM_Q_L2_BYTES)); /* an uncounted row */
}

/* Many pages are counted by a sketch of 64 registers, whose standard error is an eighth. source: Flajolet et al. 2007 */
TEST_BETWEEN(many_pages, set_up, tear_down)
{
    static const unsigned numbers[] = {200, 1000, 20000};
    for (unsigned i = 0; i < 3; i++) {
        for (uint64_t k = 0; k < numbers[i]; k++) {
            load(8 * i, BASE + PAGE * k);
        }
    }
    end(64);
    for (unsigned i = 0; i < 3; i++) {
        struct carm_run_places p;
        double lines[CARM_HIERARCHY_LEVELS_MAX];
        assert_true(carm_run_levels_lines(levels, &run.blocks, 0, AT + 8 * i, lines, &p));
        assert_near(p.pages, numbers[i], 0.3 * numbers[i]);
        assert_near(carm_run_levels_pages(levels, p.sketch), p.pages, 0.0);
    }
    /* 0.709 of 64 times the harmonic mean of 2^register; below 160 by the registers without a page, if there are any.
     * source: Flajolet et al. 2007, figure 3 */
    static const struct {
        int empty, ones, twos, fives; /* registers */
        double pages;
    } of[] = {{0, 0, 0, 64, 0.709 * 64 * 32},
              {0, 64, 0, 0, 0.709 * 64 * 2},
              {1, 0, 0, 63, 0.709 * 4096 / (1 + 63 / 32.0)},
              {1, 5, 58, 0, 0.709 * 4096 / 18.0}, /* 161.3 */
              {2, 5, 57, 0, 0.0}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        uint8_t sketch[CARM_RUN_PAGES_KEPT];
        memset(sketch, 5, sizeof sketch);
        memset(sketch, 2, (size_t)(of[i].empty + of[i].ones + of[i].twos));
        memset(sketch, 1, (size_t)(of[i].empty + of[i].ones));
        memset(sketch, 0, (size_t)of[i].empty);
        assert_near(carm_run_levels_pages(levels, sketch),
                    of[i].pages > 0.0 ? of[i].pages : 64 * log(32), 1e-9);
    }
}

/* A sample's records outside of windows are of some pages, and of some lines of others: the rest is added. */
TEST_BETWEEN(pages_of_a_sample, NULL, tear_down)
{
    enum { LINES = PAGE / LINE };
    const uint8_t sketch[CARM_RUN_PAGES_KEPT] = {1};
    double met = 0.0;
    open_caches(0.05, NULL);
    const struct carm_sampled_plan *plan = &carm_run_levels_about(levels)->plan;
    for (size_t page = 0; page < CARM_SAMPLED_PAGES; page++) {
        bool is = plan->pages[page];
        for (size_t l = 0; l < LINES; l++) {
            is = is || plan->classes[(page * LINES + l) % CARM_SAMPLED_CLASSES] == 1;
        }
        met += is ? 1.0 / CARM_SAMPLED_PAGES : 0.0;
    }
    assert_true(met > 0.0 && met <= 1.0);
    assert_near(carm_run_levels_pages(levels, sketch), 64.0 * log(64.0 / 63.0) / fmax(met, 0.1),
                1e-9);
}

/* Loads of 8 bytes: from byte 56 of a line they end with it, from 57 they go on in the next. */
TEST_BETWEEN(steps_of_an_instruction, set_up, tear_down)
{
    struct carm_run_places p;
    for (uint64_t k = 0; k < 8; k++) {
        load(0, BASE + LINE * k + (k < 6 ? 56 : 57));
        load(8, BASE + PAGE * k);
        load(16, BASE + (PAGE - 8) * k);
        load(24, BASE - PAGE * k);
        load(32, BASE + PAGE * (k % 2) + LINE * (k % 3)); /* no step has more than half */
    }
    end(64);
    p = of(0, 0, 9);
    assert_near(p.split, 2.0 / 8, 1e-9);
    assert_int_equal(p.step, LINE);
    assert_near(of(8, 0, 7).apart, 1.0, 0.0); /* its first line was there */
    p = of(16, 0, 7);
    assert_near(p.apart, 0.0, 0.0);
    assert_int_equal(p.step, PAGE - 8);
    p = of(24, 0, 7);
    assert_near(p.apart, 1.0, 0.0);
    assert_int_equal(p.step, -PAGE);
}

/* Most steps are of one kind: one of one, three of four, 51 of 101, but not one of two. */
TEST_BETWEEN(steps_by_a_vote, set_up, tear_down)
{
    static const int moves[][5] = {{8}, {8, 16, 8, 8}, {8, 16}, {-8, -8, -8}, {-4095, -4095}};
    static const int steps[] = {8, 8, 0, -8, -4095};
    uint64_t at = BASE + PAGE;
    for (unsigned i = 0; i < 5; i++) {
        at = BASE + 2 * PAGE;
        load(8 * i, at);
        for (int k = 0; k < 5 && moves[i][k]; k++) {
            load(8 * i, at += (uint64_t)(int64_t)moves[i][k]);
        }
    }
    for (uint64_t k = 0; k <= 101; k++) {
        load(40, k <= 51 ? BASE + 8 * k : BASE + 16 * k);
    }
    end(64);
    struct carm_run_places p;
    double lines[CARM_HIERARCHY_LEVELS_MAX];
    for (unsigned i = 0; i < 6; i++) {
        assert_true(carm_run_levels_lines(levels, &run.blocks, 0, AT + 8 * i, lines, &p));
        assert_int_equal(p.step, i < 5 ? steps[i] : 8);
        assert_near(p.apart, 0.0, 0.0);
    }
}

/* Shares of one access are none or all. */
TEST_BETWEEN(single_accesses, set_up, tear_down)
{
    struct carm_run_places p;
    double lines[CARM_HIERARCHY_LEVELS_MAX];
    for (uint32_t thread = 0; thread < 4; thread++) {
        access_by(thread % 2, 8, BASE, 8, CARM_ADDRESS_STORE);
    }
    access_by(0, 0, BASE + PAGE + 60, 8, CARM_ADDRESS_LOAD);
    access_by(0, 16, BASE + PAGE, 8, CARM_ADDRESS_LOAD); /* behind the store */
    access_by(0, 24, BASE, 8, CARM_ADDRESS_LOAD);
    load(32, BASE + 40 * PAGE);
    load(32, BASE + 41 * PAGE);
    end(64);
    assert_true(carm_run_levels_lines(levels, &run.blocks, 0, AT, lines, &p));
    assert_near(p.split, 1.0, 0.0);
    assert_near(p.walks, 1.0, 0.0);
    assert_near(p.far, 1.0, 0.0);
    assert_near(p.wide, 1.0, 0.0);
    assert_near(p.apart, 0.0, 0.0);
    assert_true(carm_run_levels_lines(levels, &run.blocks, 0, AT + 16, lines, &p));
    assert_near(p.aliased, 1.0, 0.0);
    assert_near(p.walks + p.far + p.wide, 0.0, 0.0); /* its page was there */
    assert_true(carm_run_levels_lines(levels, &run.blocks, 0, AT + 24, lines, &p));
    assert_near(p.contended, 1.0, 0.0);
    assert_true(carm_run_levels_lines(levels, &run.blocks, 0, AT + 32, lines, &p));
    assert_near(p.apart, 1.0, 0.0);
}

/* Two threads on two cores. A line that one of them writes and both load is not contended: one that both write is, from
 * the second thread's store on. */
TEST_BETWEEN(threads_at_a_line, set_up, tear_down)
{
    access_by(1, 32, BASE + 16 * LINE, 8, CARM_ADDRESS_LOAD);
    for (int k = 0; k < 10; k++) {
        for (uint32_t thread = 0; thread < 2; thread++) {
            access_by(thread, 0, BASE, 8, CARM_ADDRESS_STORE);
            access_by(thread, 8, BASE + 2 * LINE, 8,
                      thread ? CARM_ADDRESS_LOAD : CARM_ADDRESS_STORE);
            access_by(thread, 16, BASE + (4 + thread) * LINE, 8, CARM_ADDRESS_STORE);
            access_by(thread, 24, BASE + 8 * thread, 8, CARM_ADDRESS_LOAD);
        }
    }
    end(64);
    assert_int_equal(carm_run_levels_about(levels)->threads, 2);
    struct carm_run_places p;
    double lines[CARM_HIERARCHY_LEVELS_MAX];
    const double contended[] = {19.0 / 20, 0.0, 0.0, 19.0 / 20};
    for (unsigned k = 0; k < 4; k++) {
        assert_true(carm_run_levels_lines(levels, &run.blocks, 0, AT + 8 * k, lines, &p));
        assert_near(p.contended, contended[k], 1e-9);
    }
}

/* A TLB of 16 pages behind 64 sets of one, and 128 pages twice: each needs a walk. The first walk, and the one back to the begin, are far. Steps
 * of three pages are two thirds of far. Eight pages ten times need eight walks. */
TEST_BETWEEN(walks_of_an_instruction, set_up, tear_down)
{
    struct carm_run_places p;
    for (uint64_t k = 0; k < 256; k++) {
        load(0, BASE + PAGE * (k % 128));
    }
    for (uint64_t k = 0; k < 80; k++) {
        load(8, BASE + (1 << 20) + 3 * PAGE * k);
    }
    for (uint64_t k = 0; k < 80; k++) {
        load(16, BASE + (4 << 20) + PAGE * (k % 8));
    }
    for (uint64_t k = 0; k < 80; k++) {
        load(24, BASE + (8 << 20) + 10 * PAGE * k);
    }
    for (uint64_t k = 0; k < 80; k++) {
        load(32, BASE + (32 << 20) - PAGE * k);
    }
    end(64);
    double lines[CARM_HIERARCHY_LEVELS_MAX];
    const double walks[] = {1.0, 1.0, 0.1, 1.0, 1.0}, loads[] = {256, 80, 80, 80, 80};
    const double far[] = {2.0 / 256, (1.0 + 79 * 2.0 / 3) / 80, 1.0 / 8, 1.0, 1.0 / 80};
    const double wide[] = {2.0 / 256, 1.0 / 80, 1.0 / 8, (1.0 + 79 * 0.5) / 80, 1.0 / 80};
    for (unsigned k = 0; k < 5; k++) {
        assert_true(carm_run_levels_lines(levels, &run.blocks, 0, AT + 8 * k, lines, &p));
        assert_near(p.translated, loads[k], 0.0);
        assert_near(p.walks, walks[k], 1e-9);
        assert_near(p.far, far[k], 1e-9);
        assert_near(p.wide, wide[k], 1e-9);
    }
}

/* Loads at the place of a store in another page, the last of 40 behind a store that has left the queue of 32. The same
 * address is no alias. */
TEST_BETWEEN(loads_behind_stores, set_up, tear_down)
{
    struct carm_run_places p;
    double lines[CARM_HIERARCHY_LEVELS_MAX];
    for (uint64_t k = 0; k < 10; k++) {
        access_by(0, 0, BASE + 8 * k, 8, CARM_ADDRESS_STORE);
        load(8, BASE + PAGE + 8 * k);
        load(16, BASE + 8 * k);
        load(24, BASE + PAGE + 8 * k + 8);
        access_by(0, 32, BASE + PAGE + 8 * k - 4, 8,
                  CARM_ADDRESS_LOAD);                                /* half of the store before */
        access_by(1, 40, BASE + PAGE + 8 * k, 8, CARM_ADDRESS_LOAD); /* of another core */
        access_by(0, 64, BASE + 8 * k + 4, 4, CARM_ADDRESS_LOAD);    /* a part of it */
        access_by(0, 72, BASE + PAGE + 8 * k, 1, CARM_ADDRESS_LOAD);
    }
    for (uint64_t k = 0; k < 40; k++) {
        access_by(0, 48, BASE + 16 * PAGE + 128 + 8 * k, 8, CARM_ADDRESS_STORE);
        load(56, BASE + 17 * PAGE + 128);
    }
    end(64);
    const double aliased[] = {0.0, 1.0, 0.0, 0.0, 0.9, 0.0, 0.0, 32.0 / 40, 0.0, 1.0};
    for (unsigned k = 0; k < 10; k++) {
        assert_true(carm_run_levels_lines(levels, &run.blocks, 0, AT + 8 * k, lines, &p));
        assert_near(p.aliased, aliased[k], 1e-9);
    }
}

/* Half of the sets, by which the figures are doubled: sweeps over twice what L2 holds. Of L1 and a sample, misses of
 * capacity and of conflicts are known only as a sum. */
TEST_BETWEEN(sampled, NULL, tear_down)
{
    struct carm_run_places p;
    double lines[CARM_HIERARCHY_LEVELS_MAX];
    struct carm_counts *c = &run.row.counts;
    open_caches(0.5, NULL);
    assert_true(carm_run_levels_about(levels)->sampled);
    for (int sweep = 0; sweep < 4; sweep++) {
        for (uint64_t k = 0; k < 2048; k++) {
            load(0, BASE + LINE * k);
            load(0, BASE + LINE * k); /* hits */
        }
    }
    carm_count_put(c, CARM_Q_LOADS, 4 * 4096, CARM_COUNTED_TRANSLATED);
    carm_count_put(c, CARM_Q_STORES, 0, CARM_COUNTED_TRANSLATED);
    end(8);
    assert_true(carm_run_levels_lines(levels, &run.blocks, 0, AT, lines, &p));
    assert_near(lines[0], 0.0, 1e-9);
    assert_near(lines[1], 4 * 2048, 1e-6);
    assert_near(p.pages, 32.0, 0.26 * 32); /* twice the error of the sketch */
    assert_near(p.split, 0.0, 0.0);
    assert_near(c->q[CARM_Q_L2_BYTES].value, 4 * 2048 * LINE, 1e-3);
    assert_near(c->q[CARM_Q_DRAM_BYTES].value, 4 * 2048 * LINE, 1e-3);
    assert_near(carm_run_levels_about(levels)->whole.levels[0].lookups, 4 * 4096, 0.0);
    assert_true(carm_count_has(c, CARM_Q_L2_COMPULSORY));
    assert_false(carm_count_has(c, CARM_Q_L2_COMPULSORY + CARM_MISS_CAPACITY));
    assert_false(carm_count_has(c, CARM_Q_L2_COMPULSORY + CARM_MISS_CONFLICT));
    assert_true(carm_count_has(c, CARM_Q_DRAM_COMPULSORY + CARM_MISS_CAPACITY));
    assert_true(carm_count_has(c, CARM_Q_DRAM_COMPULSORY + CARM_MISS_CONFLICT));
}

/* ---- verdicts ---- */

static struct carm_memory_roof memory[] = {{.level = "L2", .ldst = "1:0", .bandwidth = 64e9},
                                           {.level = "L2", .ldst = "0:1", .bandwidth = 16e9},
                                           {.level = "DRAM", .ldst = "1:0", .bandwidth = 16e9},
                                           {.level = "DRAM", .ldst = "0:1", .bandwidth = 4e9}};
static struct carm_roofs roofs = {.isa = "scalar",
                                  .precision = "dp",
                                  .threads = 1,
                                  .clock_hz = 4e9,
                                  .memory = memory,
                                  .nmemory = 4};
static struct carm_latency latency[] = {
    {.level = "TLB2",
     .order = CARM_LATENCY_PAGES,
     .page_bytes = PAGE,
     .seconds = 1e-9,
     .reach_bytes = 12 * PAGE},
    {.level = "walk", .order = CARM_LATENCY_PAGES, .page_bytes = PAGE, .seconds = 10e-9},
    {.level = "L1", .order = CARM_LATENCY_RANDOM, .page_bytes = PAGE, .seconds = 1e-9},
    {.level = "L2", .order = CARM_LATENCY_RANDOM, .page_bytes = PAGE, .seconds = 4e-9},
    {.level = "DRAM", .order = CARM_LATENCY_RANDOM, .page_bytes = PAGE, .seconds = 101e-9}};
static struct carm_in_flight in_flight[] = {
    {.level = "L2", .code = "scalar", .page_bytes = PAGE, .rate = 1e9},
    {.level = "DRAM", .code = "scalar", .page_bytes = PAGE, .rate = 1e8},
    {.level = "L2", .code = CARM_SCATTERED_STORES, .page_bytes = PAGE, .rate = 2.5e8},
    {.level = "DRAM", .code = CARM_SCATTERED_STORES, .page_bytes = PAGE, .rate = 2.5e7},
    {.level = "L2", .code = CARM_SCATTERED_UPDATES, .page_bytes = PAGE, .rate = 5e8},
    {.level = "DRAM", .code = CARM_SCATTERED_UPDATES, .page_bytes = PAGE, .rate = 5e7},
    {.level = "L2", .code = CARM_ALIASED_LOADS, .page_bytes = PAGE, .rate = 5e8},
    {.level = "DRAM", .code = CARM_ALIASED_LOADS, .page_bytes = PAGE, .rate = 4e7},
    {.level = CARM_WALK, .code = CARM_WALK_NEAR_LOADS, .page_bytes = PAGE, .rate = 2e8},
    {.level = CARM_WALK, .code = CARM_WALK_FAR_LOADS, .page_bytes = PAGE, .rate = 1e8}};
static struct carm_core_pair pair = {.seconds = 50e-9};
static const struct carm_microarchitecture core = {
    .issue = 4.0,
    .code_line = 64.0,
    .widths = {{.loads = 2, .stores = 1, .accesses = 2}, {.loads = 2, .stores = 1, .accesses = 2}},
    .core = {{"load", "", "", 4, 0.5},
             {"load", "scalar", "", 4, 0.5},
             {"alias-4k", "", "", 0, 3},
             {"int-add", "", "", 1, 0.25},
             {"branch-taken", "", "", 0, 1},
             {"add", "", "", 3, 0.5},
             {"mul", "", "", 3, 0.5},
             {"div", "", "", 13, 5}},
    .ncore = 8};

/* A loop of machine code at the block's begin, and the accesses that an iteration makes. */
struct loop {
    const char *code; /* hexadecimal; '|' = its second piece begins */
    void (*iterate)(uint64_t k);
    double ns;            /* of an iteration, measured */
    const char *bounds;   /* of an iteration: limits and ns, from the largest */
    const char *accesses; /* offset of the instruction, lines that it brings into L1 */
    /* used share of the lines, largest stride, by the code alone, words; the verdict and its advice */
    const char *rest;
};

enum { TIMES = 1000 };
static int64_t stride_by_code; /* of the latest verdict, without simulated caches */

/* threads  of the row. changed: NULL, or out: the same on the machine with other caches */
static void judge(const struct loop *loop, int threads, struct carm_run_verdict *out,
                  struct carm_run_changed *changed)
{
    uint8_t bytes[128];
    size_t n = 0, second = 0;
    struct carm_model machine = model;
    struct carm_profile_row rows[2] = {{.kind = CARM_PROFILE_LOOP,
                                        .code = 1,
                                        .executions = TIMES,
                                        .samples = 100,
                                        .share = 0.5,
                                        .seconds = TIMES * loop->ns * 1e-9,
                                        .threads = threads,
                                        .entries_low = 1,
                                        .entries_high = 1},
                                       {.kind = CARM_PROFILE_OTHERS, .share = 0.5}};
    struct carm_flow_code code = {.inner = true, .at = AT, .iterations = TIMES};
    for (const char *c = loop->code; *c;) {
        char *next = NULL;
        second = *c == '|' ? n : second;
        bytes[n++] = (uint8_t)strtoul(c + (*c == '|'), &next, 16);
        c = *next == ' ' ? next + 1 : next;
    }
    struct carm_code_piece pieces[2] = {
        {.at = AT, .end = AT + second, .executions = TIMES, .falls = true},
        {.at = AT + second,
         .end = AT + n,
         .executions = TIMES,
         .target = AT,
         .taken = TIMES - 1,
         .jumps = true,
         .falls = true}};
    const struct carm_profile profile = {.rows = rows,
                                         .nrows = 2,
                                         .codes = &code,
                                         .ncodes = 1,
                                         .has_counts = true,
                                         .has_time = true};
    struct carm_run_verdict *v = NULL, *code_alone = NULL;
    machine.roofs = &roofs;
    machine.nroofs = 1;
    machine.latency = latency;
    machine.nlatency = sizeof latency / sizeof *latency;
    machine.in_flight = in_flight;
    machine.nin_flight = sizeof in_flight / sizeof *in_flight;
    machine.core_to_core = &pair;
    machine.ncore_to_core = 1;
    for (uint64_t k = 0; k < TIMES; k++) {
        loop->iterate(k);
    }
    end(128);
    assert_ok(
        carm_flow_ops_decode(bytes, n, AT, TIMES, &code.ops, &code.nops, &code.ops_room, &err));
    for (size_t i = 0; i < code.nops; i++) {
        pieces[code.ops[i].at < AT + second ? 0 : 1].n++;
    }
    pieces[1].first = pieces[0].n;
    code.pieces = second ? pieces : pieces + 1;
    code.npieces = second ? 2 : 1;
    assert_ok(carm_run_verdicts(&v, &run, &profile, levels, &machine, &core, &err));
    *out = v[0];
    assert_ok(carm_run_verdicts(&code_alone, &run, &profile, NULL, &machine, &core, &err));
    stride_by_code = code_alone[0].stride;
    free(code_alone);
    if (changed) {
        assert_ok(carm_run_change(changed, &run, &profile, v, levels, &machine, &core, &err));
    }
    free(v);
    free(code.ops);
}

static void indirect(uint64_t k)
{
    load(0, BASE + 8 * k);
    load(3, BASE + (1 << 20) + 37 * LINE * k % (512 * LINE));
}

static void chase(uint64_t k)
{
    load(0, BASE + 37 * LINE * k % (512 * LINE));
}

static void column(uint64_t k)
{
    load(0, BASE + PAGE * (k % 128));
}

static void update(uint64_t k)
{
    load(0, BASE + 8 * k);
    load(3, BASE + (1 << 20) + 37 * LINE * k % (512 * LINE));
    access_by(0, 3, BASE + (1 << 20) + 37 * LINE * k % (512 * LINE), 8, CARM_ADDRESS_STORE);
}

static void stream(uint64_t k)
{
    load(0, BASE + 8 * k);
    access_by(0, 3, BASE + (1 << 20) + 8 * k, 8, CARM_ADDRESS_STORE);
}

static void split(uint64_t k)
{
    load(0, BASE + 60 + LINE * k);
}

static void copy(uint64_t k)
{
    const struct carm_address_by by = {.program = 1, .counter = 2, .repeated = true};
    sink.take(sink.arg, 0, BASE + LINE * k, LINE, CARM_ADDRESS_LOAD, &by);
    sink.take(sink.arg, 0, BASE + (1 << 20) + LINE * k, LINE, CARM_ADDRESS_STORE, &by);
}

static void regular(uint64_t k)
{
    load(0, BASE + 2 * PAGE * (k % 128));
}

static void two_columns(uint64_t k)
{
    load(0, BASE + 2 * PAGE * (k % 128));
    access_by(0, 0, BASE + 2 * PAGE * (k % 128), 8, CARM_ADDRESS_STORE);
    load(3, BASE + 2 * PAGE * (k % 128) + PAGE);
    load(10, BASE + 2 * PAGE * (k % 128) + 8);
}

static void scatter(uint64_t k)
{
    load(0, BASE + 8 * k);
    access_by(0, 3, BASE + (1 << 20) + 37 * LINE * k % (512 * LINE), 8, CARM_ADDRESS_STORE);
}

static void in_a_row(uint64_t k)
{
    load(0, BASE + 8 * k);
    access_by(0, 3, BASE + (1 << 20) + 8 * k, 8, CARM_ADDRESS_STORE);
}

static void vectors(uint64_t k)
{
    access_by(0, 0, BASE + 16 * k, 16, CARM_ADDRESS_LOAD);
}

static void eights(uint64_t k)
{
    load(0, BASE + 8 * k);
}

static void wide(uint64_t k)
{
    access_by(0, 0, BASE + 32 * k, 32, CARM_ADDRESS_LOAD);
}

static void ahead(uint64_t k)
{
    load(0, BASE + LINE + 8 * k);
    load(4, BASE + 8 * k);
}

static void behind(uint64_t k)
{
    access_by(0, 0, BASE + 8 * k, 8, CARM_ADDRESS_STORE);
    load(3, BASE + 16 * PAGE + 8 * k);
}

static void nothing(uint64_t k)
{
    load(0, BASE);
}

static void elsewhere(uint64_t k)
{
    load(64, BASE);
}

static void elsewhere_by_two(uint64_t k)
{
    access_by(k % 2, 64, BASE, 8, CARM_ADDRESS_LOAD);
}

static const struct loop loops[] = {
    /* mov rax, [rdi]; add rdi, 64: bytes 60..67, two lines; the first comes from memory for each but the last */
    {"48 8b 07 48 83 c7 40 48 39 d7 75 f4", split, 4.2,
     "dram 4.004, l2 1.001, loads 0.25, chain 0.25, issue 0.24975, issue 0.1875, integer 0.125, tlb 0.08",
     "load at 0 1.001", "0.1249, 0, 0; by dram, block"},
    /* rep movsb of a line: 64 bytes come and 64 go, half of them written */
    {"f3 a4 83 e9 01 75 f9", copy, 17,
     "dram 16, l2 4, chain 1.25, stores 0.25, issue 0.24975, integer 0.125, issue 0.125, loads 0.125",
     "store at 0 2", "1, 0, 0; by dram, block"},
    /* mov rax, [rdi]; add rdi, rbx of two pages: a third of a far walk, at 5 and 10 ns */
    {"48 8b 07 48 01 df 48 39 d7 75 f5", regular, 26,
     "latency 25, latency 10, latency 10, tlb 6.6933, dram 4, l2 1, chain 0.25, issue 0.24975, issue 0.1875, integer 0.125, loads 0.125",
     "load at 0 1", "0.125, 8192, 0, leaps, scattered; by latency, unit-stride, pad"},
    /* add [rdi], rax; mov rax, [rdi + 4096]; mov rax, [rdi + 8]: two lines, one of them stored to, 20 and 10 ns; 25 each
     * as they are of one set; two loads behind the store, 3 cycles each */
    {"48 01 07 48 8b 87 00 10 00 00 48 8b 47 08 48 81 c7 00 20 00 00 48 39 d7 75 e6", two_columns,
     52,
     "latency 50, latency 30, latency 30, dram 20, l2 5, forwarding 1.4992, l1 0.5, issue 0.375, loads 0.375, stores 0.25, chain 0.25, issue 0.24975, integer 0.1875",
     "store at 0 1, load at 3 1, load at 10 0",
     "0.1875, 8192, 8192, scattered; by latency, unit-stride, pad"},
    /* mov [rdi], rax; mov rax, [rdi + 65536]: three lines for two of bytes, a third of them written, at 9.6 GB/s */
    {"48 89 07 48 8b 87 00 00 01 00 48 83 c7 08 48 39 d7 75 ed", behind, 2.6,
     "dram 2.5, forwarding 0.75, l2 0.625, issue 0.25, stores 0.25, chain 0.25, issue 0.24975, integer 0.125, loads 0.125",
     "store at 0 0.125, load at 3 0.125", "1, 0, 0; by dram, block, stream-stores"},
    /* 64 bytes of nops fall into the second line */
    {"66 0f 1f 84 00 00 00 00 00 66 0f 1f 84 00 00 00 00 00 66 0f 1f 84 00 00 00 00 00 66 0f 1f 84 00 00 00 00 00 66 0f 1f 84 00 00 00 00 00 66 0f 1f 84 00 00 00 00 00 66 0f 1f 84 00 00 00 00 00 90 |83 e9 01 75 bb",
     nothing, 0.6,
     "issue 0.5625, issue 0.49975, chain 0.25, issue 0.24975, integer 0.0625, dram 0.004, l2 0.001",
     "", "0.125, 0, 0; by issue, vectorise"},
    /* mov rax, [rdi]; mov rbx, [rsi + 8 * rax]: 0.512 lines from memory, 10 ns each, and 0.488 from L2, 1 ns each */
    {"48 8b 07 48 8b 1c c6 48 83 c7 08 48 39 d7 75 f0", indirect, 5.8,
     "latency 5.608, latency 5.608, dram 2.548, l2 1.125, issue 0.25, loads 0.25, chain 0.25, issue 0.24975, integer 0.125, tlb 0.055",
     "load at 3 1, load at 0 0.125",
     "0.2222, 2368, 0, scattered; by latency, unit-stride, huge-pages"},
    /* mov rax, [rax]: 1 ns, 0.512 times 100 ns more and 0.488 times 3 ns more */
    {"48 8b 00 83 e9 01 75 f8", chase, 55,
     "latency 53.664, dram 2.048, chain 1, l2 1, issue 0.24975, issue 0.125, loads 0.125, integer 0.0625, tlb 0.045",
     "load at 0 1", "0.125, 2368, 0, scattered; by latency, unit-stride"},
    /* mov rax, [rdi]; add rdi, 4096: near walks */
    {"48 8b 07 48 81 c7 00 10 00 00 48 39 d7 75 f1", column, 26,
     "latency 25, latency 10, latency 10, tlb 5, dram 4, l2 1, chain 0.25, issue 0.24975, issue 0.1875, integer 0.125, loads 0.125",
     "load at 0 1", "0.125, 4096, 4096, scattered; by latency, unit-stride, pad"},
    /* mov rax, [rdi]; add [rsi + 8 * rax], rbx: lines as above take twice as long, and are written */
    {"48 8b 07 48 01 1c c6 48 83 c7 08 48 39 d7 75 f0", update, 11.5,
     "latency 11.216, latency 11.216, dram 8.692, l2 4.125, l1 0.375, issue 0.3125, loads 0.25, stores 0.25, chain 0.25, issue 0.24975, integer 0.1875",
     "store at 3 1, load at 0 0.125",
     "0.2222, 2368, 0, scattered; by latency, unit-stride, huge-pages"},
    /* mov rax, [rdi]; mov [rsi + 8 * rax], rbx: stores of the same lines, 40 and 4 ns each */
    {"48 8b 07 48 89 1c c6 48 83 c7 08 48 39 d7 75 f0", scatter, 23,
     "latency 22.432, latency 22.432, dram 8.692, l2 4.125, issue 0.25, stores 0.25, chain 0.25, issue 0.24975, integer 0.125, loads 0.125",
     "store at 3 1, load at 0 0.125",
     "0.2222, 2368, 0, scattered; by latency, unit-stride, huge-pages"},
    /* stores likewise, of neighbours: the loaded index scatters nothing */
    {"48 8b 07 48 89 1c c6 48 83 c7 08 48 39 d7 75 f0", in_a_row, 2.6,
     "dram 2.5, l2 0.625, issue 0.25, stores 0.25, chain 0.25, issue 0.24975, integer 0.125, loads 0.125",
     "load at 0 0.125, store at 3 0.125", "1, 0, 0; by dram, block, stream-stores"},
    /* movupd xmm0, [rdi]; mulpd xmm0, xmm1; addpd xmm2, xmm0; add rdi, 16 */
    {"66 0f 10 07 66 0f 59 c1 66 0f 58 d0 48 83 c7 10 48 39 d7 75 eb", vectors, 1.1,
     "dram 1, chain 0.75, issue 0.3125, l2 0.25, issue 0.24975, fp 0.125, integer 0.125, loads 0.125, tlb 0.02",
     "load at 0 0.25", "1, 0, 0; by dram, block"},
    /* movsd xmm0, [rdi]; divsd xmm0, xmm1; add rdi, 8 */
    {"f2 0f 10 07 f2 0f 5e c1 48 83 c7 08 48 39 d7 75 ef", eights, 1.3,
     "divider 1.25, dram 0.5, issue 0.25, chain 0.25, issue 0.24975, integer 0.125, loads 0.125, l2 0.125, tlb 0.01",
     "load at 0 0.125", "1, 0, 0; by divider, fewer-divisions, vectorise"},
    /* vmovupd ymm0, [rdi]; vaddpd ymm1, ymm1, ymm0; add rdi, 32 */
    {"c5 fd 10 07 c5 f5 58 c8 48 83 c7 20 48 39 d7 75 ef", wide, 2.1,
     "dram 2, chain 0.75, l2 0.5, issue 0.25, issue 0.24975, fp 0.125, integer 0.125, loads 0.125, tlb 0.04",
     "load at 0 0.5", "1, 0, 0; by dram, block"},
    /* prefetcht0 [rdi + 64]; mov rax, [rdi] */
    {"0f 18 4f 40 48 8b 07 48 83 c7 08 48 39 d7 75 f0", ahead, 0.53,
     "dram 0.504, issue 0.25, chain 0.25, issue 0.24975, l2 0.126, integer 0.125, loads 0.125",
     "load at 4 0.001", "1, 0, 0; by dram, block"},
    /* mov rax, [rdi]; mov [rdi + rsi], rax */
    {"48 8b 07 48 89 04 37 48 83 c7 08 48 39 d7 75 f0", stream, 2.6,
     "dram 2.5, l2 0.625, issue 0.25, stores 0.25, chain 0.25, issue 0.24975, integer 0.125, loads 0.125",
     "load at 0 0.125, store at 3 0.125", "1, 0, 0; by dram, block, stream-stores"},
};

__attribute__((format(printf, 2, 3))) static void put(char *text, const char *fmt, ...)
{
    const size_t used = strlen(text);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text + used, 512 - used, fmt, ap);
    va_end(ap);
}

TEST(verdicts_of_simulated_lines)
{
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        char bounds[512] = "", accesses[512] = "", rest[512] = "";
        struct carm_run_verdict v;
        open_caches(1.0, NULL);
        judge(&loops[i], 1, &v, NULL);
        for (size_t k = 0; k < v.verdict.bounds.n; k++) {
            const struct carm_lower_bound *b = &v.verdict.bounds.of[k];
            put(bounds, "%s%s %.5g", k ? ", " : "", carm_limit_name(b->limit), 1e9 * b->seconds);
        }
        for (size_t k = 0; k < v.naccesses; k++) {
            const struct carm_run_access *a = &v.accesses[k];
            assert_near(a->executions, 1.0, 1e-9);
            put(accesses, "%s%s at %d %.4g", k ? ", " : "", a->stores ? "store" : "load",
                (int)(a->at - AT), a->lines);
        }
        put(rest, "%.4g, %d, %d%s%s", v.used, (int)v.stride, (int)stride_by_code,
            v.leaps ? ", leaps" : "", v.scattered ? ", scattered" : "");
        put(rest, "; %s %s", v.verdict.estimate ? "maybe" : "by", carm_limit_name(v.verdict.limit));
        for (size_t k = 0; k < v.verdict.nadvice; k++) {
            put(rest, ", %s", carm_advice_name(v.verdict.advice[k].code));
        }
        assert_string_equal(bounds, loops[i].bounds);
        assert_string_equal(accesses, loops[i].accesses);
        assert_string_equal(rest, loops[i].rest);
        tear_down(NULL);
    }
}

/* Chases through 512 lines: with an L1 of 1024 lines all but the first access to a line hit, and 1 + 0.512 x 100 ns are
 * left of 53.664 ns, or of the 60 ns that were measured. The other half of the program stays as it is. */
TEST_BETWEEN(other_caches, NULL, tear_down)
{
    static struct carm_level larger[] = {{.level = "L1", .os_size_bytes = 1024 * LINE},
                                         {.level = "L2", .os_size_bytes = 1024 * LINE},
                                         {.level = "DRAM"}};
    static const struct loop loop = {.code = "48 8b 00 83 e9 01 75 f8", .iterate = chase, .ns = 60};
    struct carm_run_changed changed = {.parts = NULL};
    struct carm_model other = model;
    struct carm_run_verdict v;
    other.levels = larger;
    open_caches(1.0, &other);
    judge(&loop, 1, &v, &changed);
    const double low = 60 / (60 - 53.664 + 52.2), high = 53.664 / 52.2;
    assert_true(changed.parts[0].known && !changed.parts[1].known);
    assert_int_equal(changed.parts[0].limit, CARM_LIMIT_LATENCY);
    assert_near(changed.parts[0].loop.low, low, 1e-6);
    assert_near(changed.parts[0].loop.high, high, 1e-6);
    assert_near(changed.parts[1].loop.low, 1.0, 0.0);
    assert_near(changed.parts[1].loop.high, 1.0, 0.0);
    assert_near(changed.known, 0.5, 0.0);
    assert_near(changed.program.low, 1 / (0.5 / low + 0.5), 1e-6);
    assert_near(changed.program.high, 1 / (0.5 / high + 0.5), 1e-6);
    assert_ptr_equal(changed.today, carm_run_levels_about(levels));
    assert_ptr_equal(changed.caches, carm_run_levels_about(carm_run_levels_changed(levels)));
    free(changed.parts);
    /* the row has the caches of today */
    const double today = changed.today->whole.levels[0].bytes;
    assert_near(run.row.counts.q[CARM_Q_L2_BYTES].value, today, 0.0);
    assert_true(changed.caches->whole.levels[0].bytes != today);
}

/* Stores that the simulation has not met: one of two threads to a fixed place is contended, unless it is on the stack.
 * An atomic instruction of one thread is, where the program has two. */
TEST(stores_that_a_sample_missed)
{
    static const struct {
        const char *code; /* and sub ecx, 1; jnz */
        void (*iterate)(uint64_t);
        int threads; /* of the loop */
        bool waits;
    } all[] = {
        {"48 89 07 83 e9 01 75 f8", elsewhere, 2, true},           /* mov [rdi], rax */
        {"48 89 07 83 e9 01 75 f8", elsewhere, 1, false},          /* mov [rdi], rax */
        {"48 89 07 83 e9 01 75 f8", elsewhere_by_two, 1, false},   /* mov [rdi], rax */
        {"48 89 04 24 83 e9 01 75 f7", elsewhere, 2, false},       /* mov [rsp], rax */
        {"48 89 45 08 83 e9 01 75 f7", elsewhere, 2, false},       /* mov [rbp + 8], rax */
        {"48 8b 07 83 e9 01 75 f8", elsewhere, 2, false},          /* mov rax, [rdi] */
        {"48 89 07 48 83 c7 08 75 f7", elsewhere, 2, false},       /* mov [rdi], rax; add rdi, 8 */
        {"f0 48 01 07 83 e9 01 75 f7", elsewhere_by_two, 1, true}, /* lock add [rdi], rax */
        {"f0 48 01 07 83 e9 01 75 f7", elsewhere, 1, false},       /* lock add [rdi], rax */
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct loop loop = {.code = all[i].code, .iterate = all[i].iterate, .ns = 60};
        struct carm_run_verdict v;
        bool waits = false;
        open_caches(1.0, NULL);
        judge(&loop, all[i].threads, &v, NULL);
        for (size_t k = 0; k < v.verdict.bounds.n; k++) {
            const struct carm_lower_bound *b = &v.verdict.bounds.of[k];
            waits = waits || (b->limit == CARM_LIMIT_LATENCY && (b->apart || b->locked));
        }
        assert_int_equal(waits, all[i].waits);
        tear_down(NULL);
    }
}

/* Rows whose time is not their code's: 1000 page faults of 1 us are two thirds of 1.5 ms, or a third of 3 ms. */
TEST(rows_without_bounds)
{
    static struct carm_core_figure fault = {
        .kind = CARM_CORE_PAGE_FAULT, .latency = 4000.0, .clock_hz = 4e9};
    const struct carm_model machine = {.core = &fault, .ncore = 1};
    struct carm_flow_code codes[2] = {{.inner = true}, {.inner = true}};
    const uint8_t code[2][2] = {{0xf3, 0x90}, {0x66, 0x90}}; /* pause; nop */
    struct carm_profile_row rows[] = {
        {.kind = CARM_PROFILE_KERNEL, .seconds = 1.5e-3},
        {.kind = CARM_PROFILE_KERNEL, .seconds = 3e-3},
        {.kind = CARM_PROFILE_KERNEL, .seconds = 1.5e-3, .threads = 2},
        {.kind = CARM_PROFILE_BODY, .name = "gomp_barrier_wait_end", .samples = 9, .seconds = 1},
        {.kind = CARM_PROFILE_BODY, .module = "libgomp.so.1", .samples = 9, .seconds = 1},
        {.kind = CARM_PROFILE_BODY, .module = "libomp.so.5", .samples = 9, .seconds = 1},
        {.kind = CARM_PROFILE_LOOP, .code = 1, .samples = 9, .seconds = 1},
        {.kind = CARM_PROFILE_BODY, .module = "libgomp.so.1"},                 /* no samples */
        {.kind = CARM_PROFILE_LOOP, .code = 2, .samples = 2, .seconds = 1},    /* too few */
        {.kind = CARM_PROFILE_LOOP, .code = 2, .samples = 9, .differs = true}, /* two runs differ */
        {.kind = CARM_PROFILE_LOOP, .samples = 9, .seconds = 1}};              /* no code */
    enum { KERNEL = 3, WAITS = 7, ROWS = sizeof rows / sizeof *rows };
    struct carm_profile profile = {.rows = rows,
                                   .nrows = ROWS,
                                   .codes = codes,
                                   .ncodes = 2,
                                   .has_counts = true,
                                   .has_time = true};
    struct carm_run_verdict *v = NULL;
    memset(&run, 0, sizeof run);
    carm_count_put(&run.row.counts, CARM_Q_PAGE_FAULTS, 1000.0, CARM_COUNTED_KERNEL);
    for (size_t i = 0; i < 2; i++) {
        assert_ok(carm_flow_ops_decode(code[i], 2, AT, 1, &codes[i].ops, &codes[i].nops,
                                       &codes[i].ops_room, &err));
    }
    assert_ok(carm_run_verdicts(&v, &run, &profile, NULL, &machine, &core, &err));
    for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(v[i].has, i < WAITS);
        if (v[i].has) {
            assert_int_equal(v[i].verdict.limit,
                             i < KERNEL ? CARM_LIMIT_KERNEL : CARM_LIMIT_WAITING);
            assert_near(v[i].verdict.explains, 1.0, 0.0);
        }
    }
    const char *const words[] = {"67% of it by 1000 page faults of 1 us", "33% of it", "33% of it"};
    for (size_t i = 0; i < KERNEL; i++) {
        assert_non_null(strstr(v[i].verdict.bounds.of[0].origin, words[i]));
        assert_int_equal(v[i].verdict.nadvice > 0 &&
                             v[i].verdict.advice[0].code == CARM_ADVICE_FEWER_FAULTS,
                         i == 0);
    }
    assert_string_equal(v[0].note, "page faults take 67% of the kernel's time: 1000 of 1 us");
    free(v);
    /* 500 of them gave huge pages: as many as others had, too */
    struct carm_run_after after = {.faulted = true, .huge_fault_seconds = 2e-6};
    run.huge_faults = 500.0;
    run.after = &after;
    assert_ok(carm_run_verdicts(&v, &run, &profile, NULL, &machine, &core, &err));
    assert_string_equal(v[0].note, "page faults may take 100% of the kernel's time or more: 500 "
                                   "of 1 us and 500 of huge pages, 2 us");
    assert_non_null(strstr(v[1].verdict.bounds.of[0].origin, "50% of it by 500 page faults"));
    assert_string_equal(v[KERNEL].note, "");
    free(v);
    run.huge_faults = 0.0;
    profile.has_time = false;
    assert_ok(carm_run_verdicts(&v, &run, &profile, NULL, &machine, &core, &err));
    assert_false(v[0].has);
    free(v);
    free(codes[0].ops);
    free(codes[1].ops);
}
