/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run's levels ask of the simulations, and what becomes of the answers: caches, TLB and sample are this file's, and
 * write down each call. Instruction k has its block at AT + 16 * k, which was executed 100 * k times. */
#include "harness/machine/topo.h"
#include "harness/translate/addresses.h"
#include "models/caches/tlb.h"
#include "models/latency.h"
#include "run/levels.h"
#include "tests/events.h"

enum { LINE = 64, PAGE = 4096, AT = 0x1000, PAGES_OF_TLB = 16 };

static struct carm_sampled_plan wanted; /* of carm_sampled_open */
static int refusals;                    /* of the next calls of carm_sampled_open */
static bool here, has, hits;            /* what is answered */
static bool no_room;                    /* carm_sampled_end, carm_hierarchy_read */
static int tlbs;                        /* that are open */
static bool tlb_fails, unknown;         /* this machine's caches */

/* ---- the simulations ---- */

/* Lines of the first cache: 64, or 128 of the changed machine */
static unsigned lines_of(const struct carm_hierarchy_config *config)
{
    return config ? (unsigned)(config->levels[0].size_bytes / LINE) : 0;
}

int carm_sampled_open(struct carm_sampled **out, const struct carm_hierarchy_config *config,
                      const struct carm_hierarchy_config *beside, double share, uint64_t seed,
                      struct carm_sampled_plan *plan, struct carm_err *e)
{
    note("sample %g of %u beside %u by %d; ", share, lines_of(config), lines_of(beside), (int)seed);
    if (refusals && refusals--) {
        return carm_fail(e, CARM_ENOTSUP, "too few sets");
    }
    *plan = wanted;
    *out = (struct carm_sampled *)calloc(1, 1 + lines_of(config));
    memset(*out, 'x', lines_of(config));
    return 0;
}

void carm_sampled_close(struct carm_sampled *s)
{
    free(s);
}

bool carm_sampled_has(const struct carm_sampled *s, uint64_t address, uint32_t bytes,
                      uint32_t window)
{
    note("has %x+%u in %u; ", (unsigned)address, bytes, window);
    return has;
}

bool carm_sampled_hits(struct carm_sampled *s, uint32_t core, uint64_t address, uint32_t bytes)
{
    note("hits %x+%u of %u; ", (unsigned)address, bytes, core);
    return hits;
}

void carm_sampled_access(struct carm_sampled *s, uint32_t thread, uint32_t core, uint64_t address,
                         uint32_t bytes, enum carm_access_kind kind, uint32_t window, bool repeated,
                         uint32_t who)
{
    note("%x+%u by %u of %u/%u, kind %d in %u%s; ", (unsigned)address, bytes, who, thread, core,
         (int)kind, window, repeated ? " repeated" : "");
}

void carm_sampled_pass(struct carm_sampled *s, uint64_t n, uint32_t who)
{
    note("%zu: %d pass by %u; ", strlen((const char *)s), (int)n, who);
}

int carm_sampled_end(struct carm_sampled *s, double accesses, struct carm_err *e)
{
    note("%zu: end of %g; ", strlen((const char *)s), accesses);
    return no_room ? carm_fail(e, CARM_ENOMEM, "no room for lines") : 0;
}

void carm_sampled_add(const struct carm_sampled *s, uint32_t who, double executions,
                      struct carm_sampled_sum *sum)
{
    note("+ %u: %g; ", who, executions);
    sum->bytes[0] += 1000.0 * who + executions;
}

/* Misses: 90, 40, 10, 0 */
void carm_sampled_read(const struct carm_sampled *s, const struct carm_sampled_sum *sum,
                       struct carm_level_estimate *out)
{
    static const double misses[] = {90.0, 40.0, 10.0, 20.0};
    note("= %g; ", sum->bytes[0] + sum->cold);
    for (size_t k = 0; k < 4; k++) {
        const double of = sum->bytes[0] + 100000.0 * (double)(k + 1);
        out[k] = (struct carm_level_estimate){.bytes = of,
                                              .low = of - 1.0,
                                              .high = of + 1.0,
                                              .unused = of + 2.0,
                                              .misses = misses[k]};
        for (unsigned r = 0; r < CARM_MISS_REASONS; r++) {
            out[k].reasons[r] = (double)(k + 1) * 10.0 + r;
        }
    }
}

int carm_hierarchy_open(struct carm_hierarchy **out, const struct carm_hierarchy_config *config,
                        struct carm_err *e)
{
    note("all of %u%s%s; ", lines_of(config), config->next_line ? " next" : "",
         config->streams ? " streams" : "");
    *out = (struct carm_hierarchy *)calloc(1, 1 + lines_of(config));
    memset(*out, 'x', lines_of(config));
    return 0;
}

void carm_hierarchy_close(struct carm_hierarchy *h)
{
    if (h) {
        note("close %zu; ", strlen((const char *)h));
    }
    free(h);
}

void carm_hierarchy_by(struct carm_hierarchy *h, uint32_t who)
{
    note("by %u: ", who);
}

unsigned carm_hierarchy_access(struct carm_hierarchy *h, uint32_t core, uint64_t address,
                               uint32_t bytes, enum carm_access_kind kind)
{
    note("%zu: %x+%u of %u, kind %d; ", strlen((const char *)h), (unsigned)address, bytes, core,
         (int)kind);
    return 0;
}

void carm_hierarchy_flush(struct carm_hierarchy *h)
{
    note("flush; ");
}

void carm_hierarchy_read_by(const struct carm_hierarchy *h, uint32_t who,
                            struct carm_hierarchy_counts *out)
{
    memset(out, 0, sizeof *out);
    out->levels[0].lookups = 1000 + who;
}

int carm_hierarchy_read(const struct carm_hierarchy *h, struct carm_hierarchy_counts *out,
                        struct carm_err *e)
{
    memset(out, 0, sizeof *out);
    return no_room ? carm_fail(e, CARM_ENOMEM, "no room for lines") : 0;
}

void carm_hierarchy_add(struct carm_hierarchy_counts *a, const struct carm_hierarchy_counts *b)
{
    a->levels[0].lookups += b->levels[0].lookups;
}

void carm_sampled_exact(const struct carm_hierarchy_counts *counts, struct carm_level_estimate *out)
{
    out[0] = (struct carm_level_estimate){.lookups = (double)counts->levels[0].lookups,
                                          .misses = (double)counts->nlevels};
}

bool carm_tlb_open(struct carm_tlb *tlb, uint64_t pages)
{
    static struct carm_lru node;
    note("TLB of %d; ", (int)pages);
    tlbs++;
    tlb->second = node;
    tlb->second.nodes = (void *)tlb;
    return !tlb_fails;
}

void carm_tlb_close(struct carm_tlb *tlb)
{
    tlbs -= tlb->second.nodes == (void *)tlb;
    tlb->second.nodes = NULL;
}

bool carm_tlb_walks(struct carm_tlb *tlb, uint64_t page)
{
    assert_ptr_equal(tlb->second.nodes, tlb);
    note("page %x; ", (unsigned)page);
    return true;
}

bool carm_addresses_sampled_here(void)
{
    return here;
}

/* This machine: as the model, with ways; one cache more behind the last one. */
int carm_topo_open(struct carm_topo **out, const char *synthetic, const char *cpuset,
                   struct carm_err *e)
{
    static struct carm_topo topo = {
        .ncaches = 2,
        .caches = {{.level = 1, .size_bytes = 64 * LINE, .ways = 4, .inclusive = 0},
                   {.level = 2, .size_bytes = 1024 * LINE, .ways = 32, .inclusive = 1},
                   {.level = 1, .size_bytes = 999, .ways = 2}}};
    *out = &topo;
    return unknown ? -CARM_ENOTSUP : 0;
}

void carm_topo_close(struct carm_topo *topo)
{
}

/* ---- a run ---- */

static struct carm_run run;
static struct carm_run_levels *levels;
static struct carm_address_sink sink;

static struct carm_cache sizes[] = {{.level = 1, .size_bytes = 64 * LINE, .shared_by = 1},
                                    {.level = 2, .size_bytes = 1024 * LINE, .shared_by = 1},
                                    {.level = 3, .size_bytes = 4096 * LINE, .shared_by = 1},
                                    {.level = 4, .size_bytes = 8192 * LINE, .shared_by = 1}};
static struct carm_level caches[] = {{.level = "L1", .os_size_bytes = 64 * LINE},
                                     {.level = "L2", .os_size_bytes = 1024 * LINE},
                                     {.level = "L3", .os_size_bytes = 4096 * LINE},
                                     {.level = "L4", .os_size_bytes = 8192 * LINE}};
static struct carm_level larger[] = {{.level = "L1", .os_size_bytes = 128 * LINE},
                                     {.level = "L2", .os_size_bytes = 1024 * LINE}};
static struct carm_latency latency = {.level = "TLB2",
                                      .order = CARM_LATENCY_PAGES,
                                      .page_bytes = PAGE,
                                      .seconds = 1e-9,
                                      .reach_bytes = (PAGES_OF_TLB - 4) * PAGE};
static struct carm_latency_point reach[] = {{.working_set_bytes = (PAGES_OF_TLB - 4) * PAGE},
                                            {.working_set_bytes = PAGES_OF_TLB * PAGE}};
static struct carm_latency_curve curve = {
    .order = CARM_LATENCY_PAGES, .page_bytes = PAGE, .points = reach, .npoints = 2};
static struct carm_model model, changed;

static int set_up(void **state)
{
    model =
        (struct carm_model){.machine = {.cores = 2, .threads = 2, .caches = sizes, .ncaches = 2},
                            .levels = caches,
                            .nlevels = 2,
                            .latency = &latency,
                            .nlatency = 1,
                            .latency_curves = &curve,
                            .nlatency_curves = 1};
    changed = model;
    changed.levels = larger;
    wanted = (struct carm_sampled_plan){.half_records = 11,
                                        .between_records = 22,
                                        .dense = 3,
                                        .turns = 4,
                                        .npages = CARM_SAMPLED_PAGES / 4 + 4};
    for (size_t i = 0; i < CARM_SAMPLED_CLASSES; i++) {
        wanted.turn[i] = (uint8_t)(i % 4);
        wanted.classes[i] = i % 5 == 0;
    }
    for (size_t i = 0; i < CARM_SAMPLED_PAGES; i++) {
        wanted.pages[i] = i % 4 == 0;
    }
    memset(&run, 0, sizeof run);
    carm_count_put(&run.row.counts, CARM_Q_BYTES, 1.0, CARM_COUNTED_TRANSLATED);
    carm_count_put(&run.row.counts, CARM_Q_LOADS, 700.0, CARM_COUNTED_TRANSLATED);
    carm_count_put(&run.row.counts, CARM_Q_STORES, 50.0, CARM_COUNTED_TRANSLATED);
    carm_blocks_open(&run.blocks);
    for (uint32_t k = 1; k < 8; k++) {
        const struct carm_executed block = {.module = 0, .at = AT + 16 * k, .executions = 100 * k};
        assert_ok(carm_blocks_add_place(&run.blocks, 1, k, &block, &err));
    }
    carm_blocks_sort(&run.blocks);
    run.has_blocks = true;
    here = has = true;
    hits = tlb_fails = unknown = false;
    refusals = 0;
    no_room = false;
    events[0] = '\0';
    memset(&sink, 0, sizeof sink);
    levels = NULL;
    return 0;
}

static int tear_down(void **state)
{
    carm_run_levels_close(levels);
    carm_blocks_close(&run.blocks);
    assert_int_equal(tlbs, 0);
    return 0;
}

static void open_levels(double share, bool two, bool by_code)
{
    assert_ok(carm_run_levels_open(&levels, &model, two ? &changed : NULL,
                                   carm_run_prefetch_find("none"), share, by_code, &sink, &err));
}

/* by instruction k, which varies from the 10th on */
static void access_by(uint32_t thread, uint32_t k, uint64_t address, uint32_t bytes,
                      enum carm_address_kind kind, uint32_t window, bool repeated)
{
    const struct carm_address_by by = {.program = 1,
                                       .counter = k % 10,
                                       .at = k / 10,
                                       .varies = k >= 10,
                                       .window = window,
                                       .repeated = repeated};
    sink.take(sink.arg, thread, address, bytes, kind, &by);
}

static struct carm_run_places places_of(uint32_t k, double from[CARM_HIERARCHY_LEVELS_MAX])
{
    struct carm_run_places p;
    assert_true(carm_run_levels_lines(levels, &run.blocks, 0, AT + 16 * k, from, &p));
    return p;
}

/* The program's end: instructions go to row 0, those of the changed machine to row 1. returns the number of places */
static size_t end(void)
{
    struct carm_profile_place *places = NULL;
    size_t n = 0, own = 0;
    carm_run_levels_take(levels, &run, true);
    assert_ok(carm_run_levels_places(levels, &run.blocks, &places, &n, &err));
    for (size_t i = 0; i < n; i++) {
        own += i > 0 && places[i].module == CARM_PROFILE_NOWHERE;
        places[i].row = own > 0;
        assert_true(places[i].module != CARM_PROFILE_NOWHERE || places[i].at == 0);
    }
    assert_ok(carm_run_levels_fold(levels, &run.blocks, places, 2, &err));
    free(places);
    return n;
}

/* ---- tests ---- */

/* The plan goes to the recording; a sample of the pages has as much less of the TLB. */
TEST_BETWEEN(the_plan, set_up, tear_down)
{
    open_levels(0.25, true, true);
    happened("sample 0.25 of 128 beside 64 by 0; sample 0.25 of 64 beside 128 by 0; ");
    const struct carm_record_sample *s = &sink.sample;
    assert_int_equal(s->wanted, 1);
    assert_int_equal(s->half, 11);
    assert_int_equal(s->between, 22);
    assert_int_equal(s->dense, 3);
    assert_int_equal(s->turns, 4);
    assert_memory_equal(s->pages, wanted.pages, sizeof s->pages);
    assert_memory_equal(s->turn, wanted.turn, sizeof s->turn);
    assert_memory_equal(s->classes, wanted.classes, sizeof s->classes);
    const struct carm_run_simulation *about = carm_run_levels_about(levels);
    assert_true(about->sampled && !about->by_length && !about->counted);
    assert_string_equal(about->caches, "L1 4 KiB, 4 ways; L2 64 KiB, 32 ways, inclusive");
    access_by(0, 1, 4 * PAGE, 8, CARM_ADDRESS_LOAD, 0, false);
    happened(
        "TLB of 5; page 4; has 4000+8 in 0; hits 4000+8 of 0; 4000+8 by 1 of 0/0, kind 0 in 0; TLB of 5; page 4; has 4000+8 in 0; hits 4000+8 of 0; 4000+8 by 1 of 0/0, kind 0 in 0; ");
}

/* An access is walked for in sampled pages alone, dropped where its sets are not sampled, or, outside of windows, where it
 * hits. */
TEST_BETWEEN(accesses_of_a_sample, set_up, tear_down)
{
    static const struct {
        uint32_t thread;
        uint64_t page;
        enum carm_address_kind kind;
        uint32_t window;
        bool repeated, has, hits;
        const char *events;
    } of[] = {
        {0, 0, CARM_ADDRESS_LOAD, 0, false, true, false,
         "TLB of 5; page 0; has 8+4 in 0; hits 8+4 of 0; 8+4 by 1 of 0/0, kind 0 in 0; "},
        {0, 1, CARM_ADDRESS_LOAD, 0, false, true, false,
         "has 1008+4 in 0; hits 1008+4 of 0; 1008+4 by 1 of 0/0, kind 0 in 0; "},
        {1, 0, CARM_ADDRESS_LOAD, 0, false, false, false, "TLB of 5; page 0; has 8+4 in 0; "},
        {3, 0, CARM_ADDRESS_LOAD, 0, false, true, true, "page 0; has 8+4 in 0; hits 8+4 of 1; "},
        {1, 1, CARM_ADDRESS_LOAD, 5, false, true, true,
         "has 1008+4 in 5; 1008+4 by 1 of 1/1, kind 0 in 5; "},
        {1, 1, CARM_ADDRESS_STORE, 0, false, true, true,
         "has 1008+4 in 0; 1008+4 by 2 of 1/1, kind 1 in 0; "},
        {1, 1, CARM_ADDRESS_PREFETCH, 0, false, true, true,
         "has 1008+4 in 0; 1008+4 by 3 of 1/1, kind 3 in 0; "},
        {1, 0, CARM_ADDRESS_LOAD, 0, true, false, true, "8+4 by 1 of 1/1, kind 0 in 0 repeated; "},
        {1, 0, CARM_ADDRESS_LOAD, 4, true, false, false,
         "8+4 by 1 of 1/1, kind 0 in 4 repeated; "}};
    open_levels(0.25, false, false);
    happened("sample 0.25 of 64 beside 0 by 0; ");
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        has = of[i].has;
        hits = of[i].hits;
        access_by(of[i].thread, 1, of[i].page * PAGE + 8, 4, of[i].kind, of[i].window,
                  of[i].repeated);
        happened(of[i].events);
    }
    assert_int_equal(carm_run_levels_about(levels)->threads, 4);
}

TEST_BETWEEN(passes, set_up, tear_down)
{
    const struct carm_address_by by = {.program = 1, .counter = 1};
    open_levels(0.25, true, false);
    events[0] = '\0';
    sink.passed(sink.arg, 9, CARM_ADDRESS_LOAD, &by);
    happened("64: 9 pass by 1; 128: 9 pass by 1; ");
}

/* Loads and stores of an instruction are kept apart, and added where it is asked for. Executions are not known of code
 * without a block, or whose accesses vary. The changed machine's figures go to no row of the program. */
TEST_BETWEEN(figures_of_a_sample, set_up, tear_down)
{
    double from[CARM_HIERARCHY_LEVELS_MAX];
    const struct carm_counts *c = &run.row.counts;
    open_levels(0.25, true, false);
    for (uint64_t k = 0; k < 4; k++) { /* the third in two lines; pages 0, 4, 8, 4 */
        access_by(0, 1, (k < 3 ? 4 * k : 4) * PAGE + 40 + 8 * k, 16, CARM_ADDRESS_LOAD, 0, false);
    }
    access_by(0, 2, 0, 8, CARM_ADDRESS_LOAD, 0, false);
    access_by(0, 2, 0, 8, CARM_ADDRESS_STORE, 0, false);
    access_by(0, 12, 4 * PAGE, 8, CARM_ADDRESS_LOAD, 0, false);
    access_by(0, 9, 4 * PAGE, 8, CARM_ADDRESS_LOAD, 0, false);
    access_by(0, 1, 4 * PAGE, 8, CARM_ADDRESS_LOAD, 0, false);
    events[0] = '\0';
    assert_int_equal(end(), 6 + 6);
    happened(
        "64: end of 750; + 0: 0; + 1: 100; + 2: 200; + 3: 200; + 4: 0; + 5: 0; = 15500; 128: end of 750; + 0: 0; + 1: 100; + 2: 200; + 3: 200; + 4: 0; + 5: 0; = 15500; + 0: 0; + 1: 100; + 2: 200; + 3: 200; + 4: 0; + 5: 0; = 10500; = 5000; + 0: 0; + 1: 100; + 2: 200; + 3: 200; + 4: 0; + 5: 0; = 0; = 15500; ");
    const struct carm_run_simulation *about = carm_run_levels_about(levels);
    assert_true(about->counted);
    assert_near(about->whole.levels[0].lookups, 750.0, 0.0);
    assert_near(carm_run_levels_row(levels, 0)->levels[0].bytes, 110500.0, 0.0);
    assert_near(carm_run_levels_row(levels, 1)->levels[1].bytes, 205000.0, 0.0);
    assert_near(carm_run_levels_row(carm_run_levels_changed(levels), 0)->levels[0].bytes, 1e5, 0.0);
    /* the program's row: bytes of this machine's levels, without what is known as a sum alone */
    static const struct {
        enum carm_quantity q;
        double value;
    } put[] = {{CARM_Q_L2_BYTES, 115500},
               {CARM_Q_L2_UNUSED, 115502},
               {CARM_Q_L2_COMPULSORY, 10 * LINE},
               {CARM_Q_DRAM_BYTES, 215500},
               {CARM_Q_DRAM_UNUSED, 215502},
               {CARM_Q_DRAM_COMPULSORY, 20 * LINE},
               {CARM_Q_DRAM_COMPULSORY + CARM_MISS_CAPACITY, (20 + CARM_MISS_CAPACITY) * LINE},
               {CARM_Q_DRAM_COMPULSORY + CARM_MISS_CONFLICT, (20 + CARM_MISS_CONFLICT) * LINE}};
    for (size_t i = 0; i < sizeof put / sizeof *put; i++) {
        assert_near(c->q[put[i].q].value, put[i].value, 0.0);
        assert_int_equal(c->q[put[i].q].by, CARM_COUNTED_SIMULATED);
    }
    assert_near(c->q[CARM_Q_L2_BYTES].low, 115499.0, 0.0);
    assert_near(c->q[CARM_Q_DRAM_BYTES].high, 215501.0, 0.0);
    assert_false(carm_count_has(c, CARM_Q_L2_COMPULSORY + CARM_MISS_CAPACITY));
    assert_false(carm_count_has(c, CARM_Q_L3_BYTES));
    /* instructions: four loads need a walk each, of a quarter of the pages of 100 executions; splits are sampled twice as often */
    const double paged = 260.0 / 1024, far = fmin(1.0, (4 * paged - 1) / (CARM_WALK_FAR - 1));
    struct carm_run_places p = places_of(1, from);
    happened("+ 1: 100; = 1100; ");
    assert_near(from[0], 90.0 - 40.0, 0.0);
    assert_near(from[1], 40.0, 0.0);
    assert_near(from[2] + from[3], 0.0, 0.0);
    assert_near(p.translated, 5.0, 0.0);
    assert_near(p.walks, 5.0 / (100 * paged), 1e-9);
    assert_near(p.far, 3 * far / 5, 1e-9);
    assert_near(p.wide, 0.0, 0.0);
    assert_near(p.split, 0.5 / (5 - 0.5), 1e-9);
    assert_int_equal(p.step, 0);
    p = places_of(2, from); /* its load and its store */
    happened("+ 2: 200; + 3: 200; = 5400; ");
    assert_near(p.walks, 2.0 / (400 * paged), 1e-9);
    double lines[CARM_HIERARCHY_LEVELS_MAX] = {7.0, 7.0, 7.0, 7.0};
    assert_true(carm_run_levels_lines(levels, &run.blocks, 0, AT + 32 + 1, lines, &p));
    assert_near(p.walks, 1.0, 0.0); /* executions are not known */
    static const struct carm_run_places none;
    assert_false(carm_run_levels_lines(levels, &run.blocks, 0, AT + 32 + 2, lines, &p));
    assert_memory_equal(&p, &none, sizeof none);
    assert_near(lines[0] + lines[1] + lines[2] + lines[3], 0.0, 0.0);
}

/* More walks than a sample's share of the accesses are all of them. */
TEST_BETWEEN(more_walks_than_accesses, set_up, tear_down)
{
    double from[CARM_HIERARCHY_LEVELS_MAX];
    open_levels(0.25, false, false);
    for (uint64_t k = 0; k < 30; k++) {
        access_by(0, 1, 4 * k * PAGE, 8, CARM_ADDRESS_LOAD, 0, false);
        events[0] = '\0';
    }
    (void)end();
    assert_near(places_of(1, from).walks, 1.0, 0.0);
}

/* Memory may end at the program's end: the row says so, and no figures hold. */
TEST_BETWEEN(no_figures, set_up, tear_down)
{
    double lines[CARM_HIERARCHY_LEVELS_MAX];
    struct carm_run_places p;
    for (int sampled = 0; sampled < 2; sampled++) {
        if (sampled) {
            set_up(state);
        }
        open_levels(sampled ? 0.25 : 1.0, true, true);
        access_by(0, 1, 0, 8, CARM_ADDRESS_LOAD, 0, false);
        no_room = true;
        end();
        assert_string_equal(run.row.note, "no room for lines");
        assert_false(carm_run_levels_about(levels)->counted);
        assert_null(carm_run_levels_row(levels, 0));
        assert_false(carm_count_has(&run.row.counts, CARM_Q_L2_BYTES));
        assert_false(carm_run_levels_lines(levels, &run.blocks, 0, AT + 16, lines, &p));
        if (!sampled) {
            tear_down(state);
        }
    }
    /* nothing was counted: nothing is asked */
    tear_down(state);
    set_up(state);
    memset(&run.row, 0, sizeof run.row);
    open_levels(0.25, false, true);
    events[0] = '\0';
    carm_run_levels_take(levels, &run, true);
    happened("");
}

/* All accesses: of each instruction, or of none. */
TEST_BETWEEN(simulation_of_all, set_up, tear_down)
{
    static const char *const all[] = {
        "all of 64; all of 128; 64: 403c+8 of 0, kind 0; 128: 403c+8 of 0, kind 0; 64: 5000+8 of 1, kind 2; 128: 5000+8 of 1, kind 2; flush; flush; ",
        "all of 64; all of 128; TLB of 16; page 4; by 1: 64: 403c+8 of 0, kind 0; TLB of 16; page 4; by 1: 128: 403c+8 of 0, kind 0; by 2: 64: 5000+8 of 1, kind 2; by 2: 128: 5000+8 of 1, kind 2; flush; flush; "};
    for (int by_code = 0; by_code < 2; by_code++) {
        double from[CARM_HIERARCHY_LEVELS_MAX];
        open_levels(1.0, true, by_code);
        access_by(0, 1, 4 * PAGE + 60, 8, CARM_ADDRESS_LOAD, 0, false);
        access_by(3, 2, 5 * PAGE, 8, CARM_ADDRESS_STORE_NT, 0, true);
        end();
        happened(all[by_code]);
        const struct carm_run_figures *of = carm_run_levels_row(levels, 0);
        assert_near(of->levels[0].lookups, by_code ? 1000 + 1001 + 1002 : 1000, 0.0);
        assert_near(of->levels[0].misses, 2.0, 0.0); /* as the levels of the config */
        assert_near(carm_run_levels_row(levels, 1)->levels[0].lookups, 0.0, 0.0);
        of = carm_run_levels_row(carm_run_levels_changed(levels), 1);
        assert_near(of->levels[0].lookups, by_code ? 1000 + 1001 + 1002 : 1000, 0.0);
        struct carm_run_places p;
        assert_false(carm_run_levels_lines(levels, &run.blocks, 0, 0, from, &p));
        if (by_code) {
            p = places_of(2, from);
            assert_near(p.split + p.contended + p.aliased + p.apart + p.walks + p.far + p.wide, 0.0,
                        0.0);
            assert_near(places_of(1, from).translated, 1.0, 0.0);
            assert_near(from[0], 2.0, 0.0);
            assert_near(from[1] + from[2] + from[3], 0.0, 0.0);
        }
        assert_string_equal(run.row.note, "");
        carm_run_levels_close(levels);
        happened("close 128; close 64; ");
        levels = NULL;
    }
}

/* Without ways of this machine or a measured TLB */
TEST_BETWEEN(little_is_known, set_up, tear_down)
{
    unknown = true;
    model.nlatency = 0;
    open_levels(1.0, false, true);
    assert_string_equal(
        carm_run_levels_about(levels)->caches,
        "L1 4 KiB, 8 ways (assumed); L2 64 KiB, 16 ways (assumed), non-inclusive (assumed)");
    access_by(0, 1, 4 * PAGE, 8, CARM_ADDRESS_LOAD, 0, false);
    happened("all of 64; by 1: 64: 4000+8 of 0, kind 0; ");
}

/* Of four caches the third has no column of its own. */
TEST_BETWEEN(four_caches, set_up, tear_down)
{
    model.nlevels = model.machine.ncaches = 4;
    open_levels(0.25, false, true);
    access_by(0, 1, 4 * PAGE, 8, CARM_ADDRESS_LOAD, 0, false);
    assert_int_equal(end(), 2);
    static const enum carm_quantity q[] = {CARM_Q_L2_BYTES,  CARM_Q_L3_BYTES,  CARM_Q_DRAM_BYTES,
                                           CARM_Q_L2_UNUSED, CARM_Q_L3_UNUSED, CARM_Q_DRAM_UNUSED};
    static const double wanted_bytes[] = {101100, 201100, 401100, 101102, 201102, 401102};
    for (size_t i = 0; i < 6; i++) {
        assert_near(run.row.counts.q[q[i]].value, wanted_bytes[i], 0.0);
    }
    assert_near(run.row.counts.q[CARM_Q_L3_COMPULSORY].value, 20 * LINE, 0.0);
    assert_near(run.row.counts.q[CARM_Q_DRAM_COMPULSORY].value, 40 * LINE, 0.0);
    size_t simulated = 0;
    for (int i = 0; i < CARM_Q_COUNT; i++) {
        simulated += run.row.counts.q[i].by == CARM_COUNTED_SIMULATED;
    }
    assert_int_equal(simulated, 6 + 3 * CARM_MISS_REASONS - 2);
    double from[CARM_HIERARCHY_LEVELS_MAX];
    (void)places_of(1, from);
    assert_near(from[0], 50.0, 0.0);
    assert_near(from[1], 30.0, 0.0);
    assert_near(from[2], 0.0, 0.0); /* more come from memory than from the last cache */
    assert_near(from[3], 20.0, 0.0);
}

/* By default a program of more than a second is simulated by a sample of 1%, where this can be. */
TEST_BETWEEN(long_programs, set_up, tear_down)
{
    static const struct {
        double share, seconds;
        bool two, not_here, refused, sampled;
        const char *events;
    } of[] = {
        {0.0, 1.0, true, false, false, false, "all of 64; all of 128; "},
        {0.0, 1.001, true, false, false, true,
         "all of 64; all of 128; sample 0.01 of 128 beside 64 by 0; sample 0.01 of 64 beside 128 by 0; close 64; close 128; "},
        {0.0, 1.001, false, false, false, true,
         "all of 64; sample 0.01 of 64 beside 0 by 0; close 64; "},
        {0.0, 1.001, false, true, false, false, "all of 64; "},
        {0.0, 1.001, false, false, true, false, "all of 64; sample 0.01 of 64 beside 0 by 0; "},
        {1.0, 1.001, false, false, false, false, "all of 64; "},
        {0.5, 1.001, false, false, false, true, "sample 0.5 of 64 beside 0 by 0; "}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        here = !of[i].not_here;
        refusals = of[i].refused;
        open_levels(of[i].share, of[i].two, true);
        assert_int_equal(carm_run_levels_about(levels)->by_length, of[i].share == 0.0);
        carm_run_levels_timed(levels, of[i].seconds);
        happened(of[i].events);
        assert_int_equal(carm_run_levels_about(levels)->sampled, of[i].sampled);
        carm_run_levels_close(levels);
        levels = NULL;
        refusals = 0;
        events[0] = '\0';
    }
}

TEST_BETWEEN(prefetchers_and_refusals, set_up, tear_down)
{
    static const char *const words[] = {"none", "next", "streams", "both"};
    for (size_t i = 0; i < 4; i++) {
        const struct carm_run_prefetch *p = carm_run_prefetch_find(words[i]);
        assert_string_equal(p->word, words[i]);
        assert_ok(carm_run_levels_open(&levels, &model, NULL, p, 1.0, false, &sink, &err));
        carm_run_levels_close(levels);
    }
    levels = NULL;
    happened(
        "all of 64; close 64; all of 64 next; close 64; all of 64 streams; close 64; all of 64 next streams; "
        "close 64; ");
    assert_null(carm_run_prefetch_find("all"));
    refusals = 1;
    const struct carm_run_prefetch *none = carm_run_prefetch_find("none");
    assert_refused(carm_run_levels_open(&levels, &model, &changed, none, 0.25, false, &sink, &err),
                   -CARM_ENOTSUP, "too few sets");
    refusals = 0;
    changed.nlevels = 0;
    assert_refused(carm_run_levels_open(&levels, &model, &changed, none, 0.25, false, &sink, &err),
                   -CARM_ENOTSUP, "no cache whose size is known");
    model.nlevels = 0;
    assert_refused(carm_run_levels_open(&levels, &model, NULL, none, 1.0, false, &sink, &err),
                   -CARM_ENOTSUP, "no cache whose size is known");
    happened("sample 0.25 of 128 beside 64 by 0; ");
    assert_null(levels);
}

/* Pages of a sketch are as many more as are met: where all of a page's lines or some of them are recorded. */
TEST_BETWEEN(pages_that_are_met, set_up, tear_down)
{
    enum { LINES = PAGE / LINE };
    const uint8_t sketch[CARM_RUN_PAGES_KEPT] = {1};
    const double one = 64.0 * log(64.0 / 63.0);
    for (size_t i = 0; i < CARM_SAMPLED_CLASSES; i++) {
        wanted.classes[i] = i < 4 * LINES && i % LINES == LINES - 1;
    }
    open_levels(0.25, false, true);
    assert_near(carm_run_levels_pages(levels, sketch), one / (8 / 32.0 + 3 / 32.0), 1e-9);
    carm_run_levels_close(levels);
    memset(wanted.pages, 0, sizeof wanted.pages);
    memset(wanted.classes + 2 * LINES, 0, sizeof wanted.classes - 2 * LINES);
    open_levels(0.25, false, true);
    assert_near(carm_run_levels_pages(levels, sketch), one / 0.1, 1e-9); /* not a sixteenth */
}

/* Without memory for a TLB, it is tried again at the next access. */
TEST_BETWEEN(no_room_for_a_tlb, set_up, tear_down)
{
    open_levels(1.0, false, true);
    tlb_fails = true;
    events[0] = '\0';
    for (int i = 0; i < 2; i++) {
        access_by(0, 1, 4 * PAGE, 8, CARM_ADDRESS_LOAD, 0, false);
        tlb_fails = false;
    }
    happened(
        "TLB of 16; by 1: 64: 4000+8 of 0, kind 0; TLB of 16; page 4; by 1: 64: 4000+8 of 0, kind 0; ");
}

/* Of a sample with so many turns, a window has one in so many of the 32 stores that wait, but the latest one at least. Loads outside of
 * windows have no order. */
TEST_BETWEEN(order_in_windows, set_up, tear_down)
{
    static const struct {
        uint32_t turns;
        unsigned aliased; /* of loads behind 0, 1, ... 9 other stores */
    } of[] = {{4, 8}, {8, 4}, {16, 2}, {32, 1}, {64, 1}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        double from[CARM_HIERARCHY_LEVELS_MAX];
        wanted.turns = of[i].turns;
        open_levels(0.25, false, true);
        access_by(0, 1, 4 * PAGE, 8, CARM_ADDRESS_STORE, 3, false);
        for (unsigned k = 0; k < 10; k++) {
            access_by(0, 2, 9 * PAGE, 8, CARM_ADDRESS_LOAD, 3, false);
            access_by(0, 3, 9 * PAGE, 8, CARM_ADDRESS_LOAD, 0, false);
            access_by(0, 4, 4 * PAGE + 64 + 8 * k, 8, CARM_ADDRESS_STORE, 3, false);
        }
        end();
        assert_near(places_of(2, from).aliased, of[i].aliased / 10.0, 1e-9);
        assert_near(places_of(3, from).aliased, 0.0, 0.0);
        carm_run_levels_close(levels);
        levels = NULL;
    }
}
