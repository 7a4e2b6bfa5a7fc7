/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From events to quantities, with counts as a processor might have given them: every expectation is
 * worked out by hand from what the events mean. */
#include "harness/count/evaluate.h"
#include "harness/count/recipe.h"
#include "tests/unit.h"

/* One count for each event that any recipe has. */
static const struct {
    const char *event;
    double count;
} recorded[] = {
    {"task_clock", 2.5e9},
    {"page_faults", 120},
    {"context_switches", 7},
    {"instructions", 9000},
    {"cycles", 8000},
    {"ref_cycles", 6000},
    {"energy_package", 3.0 * 4294967296.0},
    {"dp_scalar", 100},
    {"dp_128", 200},
    {"dp_256", 300},
    {"dp_512", 400},
    {"sp_scalar", 10},
    {"sp_128", 20},
    {"sp_256", 30},
    {"sp_512", 40},
    {"loads", 3000},
    {"stores", 1500},
    {"load_stores", 50},
    {"llc_misses", 40},
    {"cas_reads", 1000},
    {"cas_writes", 500},
    {"dram_reads", 10},
    {"dram_writes", 5},
    {"fills_from_dram", 44},
    {"flops", 7000},
    {"fp_scalar", 100},
    {"fp_128", 100},
    {"fp_256", 100},
    {"fp_512", 100},
};

struct expected {
    enum carm_quantity quantity;
    double value, low, high;
};

#define EXACT(q, v)        \
    {                      \
        (q), (v), (v), (v) \
    }
#define UPPER(q, v)      \
    {                    \
        (q), (v), 0, (v) \
    }
#define END                   \
    {                         \
        CARM_Q_COUNT, 0, 0, 0 \
    }
#define BOUND(q, v, l, h)  \
    {                      \
        (q), (v), (l), (h) \
    }

static const struct expected software[] = {EXACT(CARM_Q_TASK_SECONDS, 2.5),
                                           EXACT(CARM_Q_PAGE_FAULTS, 120),
                                           EXACT(CARM_Q_CONTEXT_SWITCHES, 7), END};
static const struct expected clocks[] = {EXACT(CARM_Q_CYCLES, 8000),
                                         EXACT(CARM_Q_INSTRUCTIONS, 9000), END};
static const struct expected reference[] = {EXACT(CARM_Q_REF_CYCLES, 6000), END};
static const struct expected energy[] = {EXACT(CARM_Q_ENERGY, 3), END};
static const struct expected accesses[] = {EXACT(CARM_Q_LOADS, 3000), EXACT(CARM_Q_STORES, 1500),
                                           END};
static const struct expected misses[] = {EXACT(CARM_Q_LLC_MISSES, 40), END};
static const struct expected fills[] = {EXACT(CARM_Q_LLC_MISSES, 44), END};
/* lines of 64 byte */
static const struct expected server_dram[] = {EXACT(CARM_Q_DRAM_READ_BYTES, 64000),
                                              EXACT(CARM_Q_DRAM_WRITE_BYTES, 32000),
                                              EXACT(CARM_Q_DRAM_BYTES, 96000), END};
static const struct expected client_dram[] = {EXACT(CARM_Q_DRAM_READ_BYTES, 640),
                                              EXACT(CARM_Q_DRAM_WRITE_BYTES, 320),
                                              EXACT(CARM_Q_DRAM_BYTES, 960), END};
/* an element is 8 or 4 byte: 2 or 4 of them in 128 bits, ... */
static const struct expected retired_256[] = {
    EXACT(CARM_Q_DP_SCALAR, 100), EXACT(CARM_Q_DP_128, 400),
    EXACT(CARM_Q_DP_256, 1200),   EXACT(CARM_Q_SP_SCALAR, 10),
    EXACT(CARM_Q_SP_128, 80),     EXACT(CARM_Q_SP_256, 240),
    EXACT(CARM_Q_FLOPS_DP, 1700), EXACT(CARM_Q_FLOPS_SP, 330),
    EXACT(CARM_Q_FLOPS, 2030),    END};
static const struct expected executed_256[] = {
    UPPER(CARM_Q_DP_SCALAR, 100), UPPER(CARM_Q_DP_128, 400),
    UPPER(CARM_Q_DP_256, 1200),   UPPER(CARM_Q_SP_SCALAR, 10),
    UPPER(CARM_Q_SP_128, 80),     UPPER(CARM_Q_SP_256, 240),
    UPPER(CARM_Q_FLOPS_DP, 1700), UPPER(CARM_Q_FLOPS_SP, 330),
    UPPER(CARM_Q_FLOPS, 2030),    END};
static const struct expected retired_512[] = {
    EXACT(CARM_Q_DP_SCALAR, 100), EXACT(CARM_Q_DP_128, 400),   EXACT(CARM_Q_DP_256, 1200),
    EXACT(CARM_Q_DP_512, 3200),   EXACT(CARM_Q_SP_SCALAR, 10), EXACT(CARM_Q_SP_128, 80),
    EXACT(CARM_Q_SP_256, 240),    EXACT(CARM_Q_SP_512, 640),   EXACT(CARM_Q_FLOPS_DP, 4900),
    EXACT(CARM_Q_FLOPS_SP, 970),  EXACT(CARM_Q_FLOPS, 5870),   END};
/* widths: 110 scalars (100 of 8, 10 of 4 byte), 220 of 16, 330 of 32: 14920 byte in 660
 * instructions; 440 of 64 more: 43080 in 1100. Narrowest 4, widest 32 or 64. */
static const struct expected bytes_256[] = {
    BOUND(CARM_Q_LOAD_BYTES, 3000 * 14920.0 / 660, 12000, 96000),
    BOUND(CARM_Q_STORE_BYTES, 1500 * 14920.0 / 660, 6000, 48000),
    BOUND(CARM_Q_BYTES, 4500 * 14920.0 / 660, 18000, 144000), END};
static const struct expected bytes_512[] = {
    BOUND(CARM_Q_LOAD_BYTES, 3000 * 43080.0 / 1100, 12000, 192000),
    BOUND(CARM_Q_STORE_BYTES, 1500 * 43080.0 / 1100, 6000, 96000),
    BOUND(CARM_Q_BYTES, 4500 * 43080.0 / 1100, 18000, 288000), END};
/* operations that load and store count as both */
static const struct expected dispatched[] = {UPPER(CARM_Q_LOADS, 3050), UPPER(CARM_Q_STORES, 1550),
                                             END};
static const struct expected amd_flops[] = {EXACT(CARM_Q_FLOPS, 7000), END};
/* 8, 16, 32 and 64 byte in equal parts: 30 on average */
static const struct expected amd_bytes[] = {BOUND(CARM_Q_LOAD_BYTES, 3050 * 30, 0, 3050 * 64),
                                            BOUND(CARM_Q_STORE_BYTES, 1550 * 30, 0, 1550 * 64),
                                            BOUND(CARM_Q_BYTES, 4600 * 30, 0, 4600 * 64), END};

static const struct {
    const char *recipe;
    const struct expected *groups[12];
} expectations[] = {
    {"sandy-bridge",
     {software, clocks, reference, energy, accesses, misses, client_dram, executed_256, bytes_256}},
    {"sandy-bridge-ep",
     {software, clocks, reference, energy, accesses, misses, server_dram, executed_256, bytes_256}},
    {"ivy-bridge",
     {software, clocks, reference, energy, accesses, misses, client_dram, executed_256, bytes_256}},
    {"ivy-bridge-ep",
     {software, clocks, reference, energy, accesses, misses, server_dram, executed_256, bytes_256}},
    {"haswell", {software, clocks, reference, energy, accesses, misses, client_dram}},
    {"haswell-ep", {software, clocks, reference, energy, accesses, misses, server_dram}},
    {"broadwell",
     {software, clocks, reference, energy, accesses, misses, client_dram, retired_256, bytes_256}},
    {"broadwell-ep",
     {software, clocks, reference, energy, accesses, misses, server_dram, retired_256, bytes_256}},
    {"skylake",
     {software, clocks, reference, energy, accesses, misses, client_dram, retired_256, bytes_256}},
    {"skylake-server",
     {software, clocks, reference, energy, accesses, misses, server_dram, retired_512, bytes_512}},
    {"ice-lake",
     {software, clocks, reference, energy, accesses, misses, client_dram, retired_512, bytes_512}},
    {"ice-lake-server",
     {software, clocks, reference, energy, accesses, misses, server_dram, retired_512, bytes_512}},
    {"sapphire-rapids",
     {software, clocks, reference, energy, accesses, misses, retired_512, bytes_512}},
    {"granite-rapids",
     {software, clocks, reference, energy, accesses, misses, retired_512, bytes_512}},
    {"zen2", {software, clocks, reference, energy, dispatched, fills, amd_flops}},
    {"zen3", {software, clocks, reference, energy, dispatched, fills, amd_flops}},
    {"zen4", {software, clocks, energy, dispatched, fills, amd_flops, amd_bytes}},
    {"zen5", {software, clocks, energy, dispatched, fills, amd_flops, amd_bytes}},
    {"software", {software}},
};

enum { READINGS_MAX = 64 };

/* The recipe of a test, a reading for each of its events, and the counts that come of them. */
static struct carm_recipe *recipe;
static struct carm_reading readings[READINGS_MAX];
static struct carm_counts counts;

static void record(void)
{
    for (size_t i = 0; i < recipe->nevents; i++) {
        size_t k = 0;
        while (k < sizeof recorded / sizeof *recorded &&
               strcmp(recorded[k].event, recipe->events[i].name) != 0) {
            k++;
        }
        fail_if(k == sizeof recorded / sizeof *recorded, "%s: no number for the event %s",
                recipe->name, recipe->events[i].name);
        readings[i] = (struct carm_reading){
            .present = true, .count = recorded[k].count, .enabled = 1000, .running = 1000};
    }
}

CLOSED_BY(carm_recipe_free)
static void start(const char *name)
{
    fail_if(carm_recipe_named(name, &recipe, &err) != 0, "%s: %s", name, err.text);
    assert_non_null(closed_later(by_carm_recipe_free, recipe));
    assert_true(recipe->nevents <= READINGS_MAX);
    record();
}

static struct carm_reading *reading(const char *event)
{
    for (size_t i = 0; i < recipe->nevents; i++) {
        if (strcmp(recipe->events[i].name, event) == 0) {
            return &readings[i];
        }
    }
    fail_msg("%s has no event %s", recipe->name, event);
    return NULL;
}

static void evaluate(void)
{
    fail_if(carm_recipe_evaluate(recipe, readings, NULL, &counts, &err) != 0, "%s: %s",
            recipe->name, err.text);
}

static void assert_quantity(const char *name, enum carm_quantity q, const char *what, double is,
                            double should)
{
    fail_if(!(fabs(is - should) <= 1e-12 * fabs(should)), "%s: %s's %s is %.17g, not %.17g", name,
            carm_quantity_name(q), what, is, should);
}

TEST(every_recipe)
{
    size_t n = 0;
    for (; carm_recipe_name(n); n++) {
        size_t k = 0;
        while (k < sizeof expectations / sizeof *expectations &&
               strcmp(expectations[k].recipe, carm_recipe_name(n)) != 0) {
            k++;
        }
        fail_if(k == sizeof expectations / sizeof *expectations,
                "nothing is expected of the recipe %s", carm_recipe_name(n));
        bool wanted[CARM_Q_COUNT] = {false};
        start(carm_recipe_name(n));
        evaluate();
        for (size_t g = 0; expectations[k].groups[g]; g++) {
            for (const struct expected *x = expectations[k].groups[g]; x->quantity < CARM_Q_COUNT;
                 x++) {
                const struct carm_count *c = &counts.q[x->quantity];
                const bool kernel = x->quantity >= CARM_Q_TASK_SECONDS;
                wanted[x->quantity] = true;
                fail_if(c->by != (kernel ? CARM_COUNTED_KERNEL : CARM_COUNTED_PMU), "%s: %s is %s",
                        recipe->name, carm_quantity_name(x->quantity), carm_counted_name(c->by));
                assert_quantity(recipe->name, x->quantity, "value", c->value, x->value);
                assert_quantity(recipe->name, x->quantity, "low", c->low, x->low);
                assert_quantity(recipe->name, x->quantity, "high", c->high, x->high);
                assert_true(c->share == 1);
            }
        }
        for (unsigned q = 0; q < CARM_Q_COUNT; q++) {
            fail_if(!wanted[q] && counts.q[q].by != CARM_COUNTED_NOT, "%s: %s came from nowhere",
                    recipe->name, carm_quantity_name((enum carm_quantity)q));
        }
    }
    assert_int_equal(n, sizeof expectations / sizeof *expectations);
}

TEST(multiplexed)
{
    start("skylake-server");
    /* a quarter of the time: 300 seen are 1200 */
    reading("dp_256")->running = 250;
    reading("dp_512")->running = 500;
    evaluate();
    assert_true(counts.q[CARM_Q_DP_256].value == 4 * 1200);
    assert_true(counts.q[CARM_Q_DP_256].share == 0.25);
    assert_true(counts.q[CARM_Q_DP_512].value == 2 * 3200);
    assert_true(counts.q[CARM_Q_DP_512].share == 0.5);
    assert_true(counts.q[CARM_Q_DP_SCALAR].share == 1);
    assert_true(counts.q[CARM_Q_FLOPS_DP].value == 500 + 4 * 1200 + 2 * 3200);
    assert_true(counts.q[CARM_Q_FLOPS_DP].share == 0.25);
    assert_true(counts.q[CARM_Q_FLOPS_SP].share == 1);
    assert_true(counts.q[CARM_Q_FLOPS].share == 0.25);
    /* the widths are needed for bytes */
    assert_true(counts.q[CARM_Q_LOADS].share == 1);
    assert_true(counts.q[CARM_Q_BYTES].share == 0.25);
    /* 900 + 400 more instructions of 32 and 64 byte */
    assert_quantity("", CARM_Q_BYTES, "value", counts.q[CARM_Q_BYTES].value,
                    4500.0 * (43080 + 900 * 32 + 400 * 64) / (1100 + 900 + 400));
    /* clocks that tick a little apart never scale down */
    reading("cycles")->running = 1001;
    evaluate();
    assert_true(counts.q[CARM_Q_CYCLES].value == 8000);
    assert_true(counts.q[CARM_Q_CYCLES].share == 1);
}

TEST(missing)
{
    start("skylake-server");
    reading("dp_128")->present = false;
    reading("cas_writes")->present = false;
    evaluate();
    /* what it goes into is unavailable, not small */
    assert_false(carm_count_has(&counts, CARM_Q_DP_128));
    assert_false(carm_count_has(&counts, CARM_Q_FLOPS_DP));
    assert_false(carm_count_has(&counts, CARM_Q_FLOPS));
    assert_false(carm_count_has(&counts, CARM_Q_BYTES));
    assert_false(carm_count_has(&counts, CARM_Q_DRAM_WRITE_BYTES));
    assert_false(carm_count_has(&counts, CARM_Q_DRAM_BYTES));
    /* the rest is not */
    assert_true(counts.q[CARM_Q_FLOPS_SP].value == 970);
    assert_true(counts.q[CARM_Q_LOADS].value == 3000);
    assert_true(counts.q[CARM_Q_DRAM_READ_BYTES].value == 64000);
    carm_recipe_note_missing(recipe, &counts);
    assert_non_null(strstr(counts.note, "not counted: dp_128"));
    assert_null(strstr(counts.note, "dram"));

    start("zen3");
    evaluate();
    carm_recipe_note_missing(recipe, &counts);
    assert_null(strstr(counts.note, "not counted"));
    reading("fills_from_dram")->present = false;
    evaluate();
    assert_false(carm_count_has(&counts, CARM_Q_LLC_MISSES));
    carm_recipe_note_missing(recipe, &counts);
    assert_non_null(strstr(counts.note, "not counted: llc_misses"));
    reading("load_stores")->present = false;
    evaluate();
    assert_false(carm_count_has(&counts, CARM_Q_LOADS));
    assert_false(carm_count_has(&counts, CARM_Q_STORES));

    /* no counters at all: the kernel's alone */
    start("zen4");
    memset(readings, 0, sizeof readings);
    *reading("page_faults") =
        (struct carm_reading){.present = true, .count = 3, .enabled = 1, .running = 1};
    evaluate();
    for (unsigned q = 0; q < CARM_Q_COUNT; q++) {
        assert_int_equal(counts.q[q].by,
                         q == CARM_Q_PAGE_FAULTS ? CARM_COUNTED_KERNEL : CARM_COUNTED_NOT);
    }
    assert_string_equal(counts.note, "");
}

TEST(never_run)
{
    bool must[CARM_Q_COUNT] = {false};
    start("broadwell");
    struct carm_reading *r = reading("dp_scalar");
    r->count = 0;
    r->running = 0;
    r = reading("cycles");
    r->count = 0;
    r->enabled = 0;
    r->running = 0;
    must[CARM_Q_FLOPS_DP] = true;
    must[CARM_Q_CYCLES] = true;
    /* unavailable is no zero: nothing to complain of */
    assert_ok(carm_recipe_evaluate(recipe, readings, must, &counts, &err));
    assert_false(carm_count_has(&counts, CARM_Q_DP_SCALAR));
    assert_false(carm_count_has(&counts, CARM_Q_FLOPS_DP));
    assert_false(carm_count_has(&counts, CARM_Q_FLOPS));
    assert_false(carm_count_has(&counts, CARM_Q_CYCLES));
    assert_true(counts.q[CARM_Q_FLOPS_SP].value == 330);
}

TEST(zero_where_must)
{
    bool must[CARM_Q_COUNT] = {false};
    start("skylake-server");
    must[CARM_Q_FLOPS_DP] = true;
    must[CARM_Q_LOADS] = true;
    must[CARM_Q_STORES] = true;
    must[CARM_Q_LLC_MISSES] = true;
    assert_ok(carm_recipe_evaluate(recipe, readings, must, &counts, &err));
    /* code of one width: the others may be zero; so may misses, ever */
    reading("dp_scalar")->count = 0;
    reading("dp_128")->count = 0;
    reading("dp_256")->count = 0;
    reading("llc_misses")->count = 0;
    assert_ok(carm_recipe_evaluate(recipe, readings, must, &counts, &err));
    assert_true(counts.q[CARM_Q_FLOPS_DP].value == 3200);
    reading("dp_512")->count = 0;
    assert_refused(carm_recipe_evaluate(recipe, readings, must, &counts, &err), -CARM_EFORMAT,
                   "flops_dp was counted as 0");
    assert_non_null(strstr(err.text, "skx::FP_ARITH_INST_RETIRED:SCALAR_DOUBLE"));
    assert_non_null(strstr(err.text, "skx::FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE"));
    assert_null(strstr(err.text, "SINGLE"));
    assert_non_null(strstr(err.text, "skylake-server"));
    assert_non_null(strstr(err.text, "hypervisor"));
    assert_non_null(strstr(err.text, "--counters none"));
    assert_false(carm_count_has(&counts, CARM_Q_CYCLES));
    /* not asked for: no error */
    assert_ok(carm_recipe_evaluate(recipe, readings, NULL, &counts, &err));
    assert_true(carm_count_has(&counts, CARM_Q_FLOPS_DP));
    record();
    reading("loads")->count = 0;
    assert_refused(carm_recipe_evaluate(recipe, readings, must, &counts, &err), -CARM_EFORMAT,
                   "loads was counted as 0");
    assert_non_null(strstr(err.text, "skx::MEM_INST_RETIRED:ALL_LOADS"));
}

TEST(width_mix)
{
    static const char *const all[] = {"dp_scalar", "dp_128", "dp_256", "dp_512",
                                      "sp_scalar", "sp_128", "sp_256", "sp_512"};
    start("skylake-server");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        reading(all[i])->count = 0;
    }
    /* nothing computes: no width, no bytes */
    evaluate();
    assert_false(carm_count_has(&counts, CARM_Q_BYTES));
    assert_false(carm_count_has(&counts, CARM_Q_LOAD_BYTES));
    assert_true(counts.q[CARM_Q_FLOPS].value == 0);
    /* one width: no room between the bounds */
    reading("dp_512")->count = 12;
    evaluate();
    assert_true(counts.q[CARM_Q_BYTES].value == 4500 * 64);
    assert_true(counts.q[CARM_Q_BYTES].low == 4500 * 64);
    assert_true(counts.q[CARM_Q_BYTES].high == 4500 * 64);
    /* two: 3 of 64 to 1 of 8 byte are 50 on average */
    reading("dp_scalar")->count = 4;
    evaluate();
    assert_true(counts.q[CARM_Q_BYTES].value == 4500 * 50);
    assert_true(counts.q[CARM_Q_BYTES].low == 4500 * 8);
    assert_true(counts.q[CARM_Q_BYTES].high == 4500 * 64);
    assert_true(counts.q[CARM_Q_STORE_BYTES].value == 1500 * 50);
    assert_string_equal(
        counts.note,
        "bytes are accesses x 50, the mean width of FP instructions (widths seen: 8 to 64)");

    /* scalars of unknown precision: 8 byte, 4 at least; dispatched accesses have no lower bound */
    start("zen4");
    reading("fp_128")->count = 0;
    reading("fp_256")->count = 0;
    reading("fp_512")->count = 0;
    evaluate();
    assert_true(counts.q[CARM_Q_BYTES].value == 4600 * 8);
    assert_true(counts.q[CARM_Q_BYTES].low == 0);
    assert_true(counts.q[CARM_Q_BYTES].high == 4600 * 8);
    assert_string_equal(counts.note,
                        "bytes are accesses x 8, the mean width of FP instructions (widths seen: 4 "
                        "to 8); upper bounds: loads, stores");

    start("ivy-bridge");
    evaluate();
    assert_non_null(strstr(counts.note, "upper bounds: flops"));
}
