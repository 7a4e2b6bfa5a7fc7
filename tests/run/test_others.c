/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What other programs and guests leave a loop: figures that were measured already. */
#include "run/parts.h"

#include "models/latency.h"
#include "tests/unit.h"

static struct carm_memory_roof roof = {.level = "DRAM", .ldst = "1:0", .bandwidth = 14e9};
static struct carm_roofs roofs = {.isa = "sse", .threads = 1, .memory = &roof, .nmemory = 1};
static struct carm_latency latency[] = {
    {.level = "L3", .order = CARM_LATENCY_RANDOM, .page_bytes = 4096, .seconds = 50e-9},
    {.level = "DRAM", .order = CARM_LATENCY_RANDOM, .page_bytes = 4096, .seconds = 150e-9}};
static struct carm_level level = {.level = "L3", .os_size_bytes = 1 << 20};
static const struct carm_model model = {.roofs = &roofs,
                                        .nroofs = 1,
                                        .latency = latency,
                                        .nlatency = 2,
                                        .levels = &level,
                                        .nlevels = 1};

TEST(memory_is_slower_than_the_model)
{
    static const struct {
        enum carm_limit limit, second;
        double explains, share, bandwidth, load, times;
    } of[] = {
        {CARM_LIMIT_UNKNOWN, CARM_LIMIT_DRAM, 0.6, 0.1, 10e9, 150e-9, 1.4},
        {CARM_LIMIT_UNKNOWN, CARM_LIMIT_LATENCY, 0.6, 0.1, 10e9, 210e-9, 1.4},
        {CARM_LIMIT_UNKNOWN, CARM_LIMIT_TLB, 0.5, 0.05, 10e9, 180e-9, 1.2},
        {CARM_LIMIT_UNKNOWN, CARM_LIMIT_DRAM, 0.6, 0.1, 13e9, 210e-9, 0.0}, /* within 1.1 */
        {CARM_LIMIT_UNKNOWN, CARM_LIMIT_DRAM, 0.6, 0.04, 10e9, 150e-9, 0.0},
        {CARM_LIMIT_UNKNOWN, CARM_LIMIT_DRAM, 0.49, 0.1, 10e9, 150e-9, 0.0},
        {CARM_LIMIT_UNKNOWN, CARM_LIMIT_L2, 0.6, 0.1, 10e9, 300e-9, 0.0},
        {CARM_LIMIT_DRAM, CARM_LIMIT_DRAM, 0.8, 0.1, 10e9, 150e-9, 0.0},
        {CARM_LIMIT_UNKNOWN, CARM_LIMIT_DRAM, 0.6, 0.1, 0.0, 0.0, 0.0}, /* no memory for it */
    };
    struct carm_bounds_input in = {.rates.model = &model};
    struct carm_run run = {.budget = 0};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct carm_run_after after = {.memory = {true, of[i].bandwidth, of[i].load}};
        const struct carm_verdict v = {
            .limit = of[i].limit, .second = of[i].second, .explains = of[i].explains};
        run.after = &after;
        assert_near(carm_run_slower(&run, &in, &v, of[i].share), of[i].times, 1e-9);
        run.after = NULL;
        assert_near(carm_run_slower(&run, &in, &v, of[i].share), 0.0, 0.0);
    }
    /* a model without memory */
    struct carm_model none = {.nroofs = 0};
    struct carm_run_after known = {.memory = {true, 10e9, 300e-9}};
    const struct carm_verdict waits = {
        .limit = CARM_LIMIT_UNKNOWN, .second = CARM_LIMIT_LATENCY, .explains = 0.6};
    run.after = &known;
    in.rates.model = &none;
    assert_near(carm_run_slower(&run, &in, &waits, 0.1), 0.0, 0.0);
    in.rates.model = NULL;
    assert_near(carm_run_slower(&run, &in, &waits, 0.1), 0.0, 0.0);
    in.rates.model = &model;
    assert_near(carm_run_slower(&run, &in, &waits, 0.1), 2.0, 1e-9);
    /* the first loop that asks has it measured */
    struct carm_run_after after = {.faulted = false};
    const struct carm_verdict v = {
        .second = CARM_LIMIT_DRAM, .limit = CARM_LIMIT_UNKNOWN, .explains = 0.6};
    run.after = &after;
    carm_run_slower(&run, &in, &v, 0.1);
    assert_true(after.memory.looked && !after.stay.looked);
}

/* A chain with a line of L3 in 0.9 us, of 1 MiB: it comes back after 14.7456 ms, where half are gone; after 2 ms a tenth. */
TEST(lines_that_others_took)
{
    struct carm_run_after after = {
        .stay = {.looked = true, .n = 2, .seconds = {2e-3, 14.7456e-3}, .share = {0.9, 0.5}}};
    struct carm_run run = {.after = &after};
    struct carm_bounds_input in = {.rates.model = &model, .chained = {0, 1, 0}};
    struct carm_run_simulation about = {
        .config = {.nlevels = 3,
                   .levels = {{.size_bytes = 1}, {.size_bytes = 2}, {.size_bytes = 1 << 20}}}};
    assert_near(carm_run_lost(&run, &in, &about, 0.9e-6, 2 << 20), 0.5, 1e-9);
    assert_near(carm_run_lost(&run, &in, &about, 2e-3 / 16384, 2 << 20), 0.1, 1e-9);
    assert_near(carm_run_lost(&run, &in, &about, 0.9e-6, 64 * 1000), 0.0, 0.0); /* after 0.9 ms */
    assert_near(carm_run_lost(&run, &in, &about, 0.9e-3 / 16384, 2 << 20), 0.0,
                0.0); /* within 1 ms */
    /* more than a twentieth; after less than the shortest wait of the measurement it is not known */
    after.stay.share[0] = 0.9495;
    assert_near(carm_run_lost(&run, &in, &about, 2e-3 / 16384, 2 << 20), 0.0505, 1e-9);
    after.stay.seconds[0] = 0.5e-3;
    after.stay.share[0] = 0.5;
    assert_near(carm_run_lost(&run, &in, &about, 0.9e-3 / 16384, 2 << 20), 0.0, 0.0);
    after.stay.seconds[0] = 2e-3;
    after.stay.share[0] = 0.96;
    assert_near(carm_run_lost(&run, &in, &about, 2e-3 / 16384, 2 << 20), 0.0, 0.0);
    about.config.nlevels = 2; /* no L3 */
    assert_near(carm_run_lost(&run, &in, &about, 0.9e-6, 2 << 20), 0.0, 0.0);
    about.config.nlevels = 3;
    in.rates.model = NULL;
    assert_near(carm_run_lost(&run, &in, &about, 0.9e-6, 2 << 20), 0.0, 0.0);
    in.rates.model = &model;
    about.config.levels[0].size_bytes = 32 << 10; /* the first loop that asks has it measured */
    about.config.levels[1].size_bytes = 256 << 10;
    after.stay = (struct carm_stay){.looked = false};
    const double measured = carm_run_lost(&run, &in, &about, 0.9e-6, 2 << 20);
    assert_true(after.stay.looked && measured >= 0.0 && measured <= 1.0);
    run.after = NULL;
    assert_near(carm_run_lost(&run, &in, &about, 0.9e-6, 2 << 20), 0.0, 0.0);
}
