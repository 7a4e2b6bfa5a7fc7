/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A comparison of three machines as text: each row with its values and differences, the facts beside them, and tables of
 * noise. Nothing is measured. */
#include "models/compare.h"
#include "models/latency.h"
#include "models/scaling.h"
#include "tests/unit.h"

#define M(level_, ldst_, rate, share, code_)                                                   \
    {                                                                                          \
        .level = level_, .ldst = ldst_, .bandwidth = rate,                                     \
        .ci95 = {(rate) * (1 - (share)), (rate) * (1 + (share))}, .clock_hz = 4, .code = code_ \
    }
#define C(op_, rate_, share, clock)                                                           \
    {                                                                                         \
        .op = op_, .rate = rate_, .ci95 = {(rate_) * (1 - (share)), (rate_) * (1 + (share))}, \
        .clock_hz = clock, .code = "F"                                                        \
    }

/* Eight rounds around a rate, each its own distance from it. */
static struct carm_round rounds[3][8];

static struct carm_memory_roof memory[4][5] = {
    {M("L1", "2:1", 100, 0.001, "A"), M("L2", "2:1", 50, 0.01, "A"), M("L3", "2:1", 20, 0.02, "A"),
     M("DRAM", "2:1", 10, 0.02, "A"), M("DRAM", "1:0", 12, 0.03, "P")},
    {M("L1", "2:1", 90, 0.001, "B"), M("L2", "2:1", 48, 0.01, "B"), M("L3", "2:1", 18, 0.02, "B"),
     M("DRAM", "2:1", 8, 0.02, "B"), M("DRAM", "1:0", 12.3, 0.03, "P")},
    {M("L1", "2:1", 100.9, 0.001, "D"), M("L2", "2:1", 60, 0.01, "D"),
     M("L3", "2:1", 19, 0.02, "D"), M("DRAM", "2:1", 9.5, 0.02, "D"),
     M("DRAM", "0:1", 5, 0.03, "D")},
    {M("L1", "2:1", 70, 0.001, "E")}};
static struct carm_compute_roof compute[4][2] = {{C("fma", 80, 0.001, 4), C("add", 40, 0.001, 4)},
                                                 {C("fma", 76, 0.001, 3.8), C("add", 41, 0.001, 4)},
                                                 {C("fma", 72, 0.001, 4), C("mul", 40, 0.001, 4)},
                                                 {C("fma", 30, 0.001, 4)}};
static struct carm_ceiling_roof ceilings[2][2] = {{{.group = CARM_CEILING_IN_CORE,
                                                    .name = "tlp add",
                                                    .rate = 5,
                                                    .ci95 = {5, 5},
                                                    .clock_hz = 4,
                                                    .code = "t",
                                                    .note = "n"},
                                                   {.group = CARM_CEILING_MEMORY,
                                                    .name = "dot",
                                                    .rate = 9,
                                                    .ci95 = {9, 9},
                                                    .clock_hz = 4,
                                                    .code = "d"}},
                                                  {{.group = CARM_CEILING_IN_CORE,
                                                    .name = "tlp add",
                                                    .rate = 6,
                                                    .ci95 = {5.9, 6.1},
                                                    .clock_hz = 4,
                                                    .disturbed = true,
                                                    .code = "t",
                                                    .note = "why"},
                                                   {.group = CARM_CEILING_MEMORY,
                                                    .name = "dot",
                                                    .rate = 8.9,
                                                    .ci95 = {8.9, 8.9},
                                                    .clock_hz = 4,
                                                    .code = "d"}}};
static struct carm_roofs roofs[3][3];
static struct carm_level levels[3][4];
static struct carm_latency latency[3][3];
static struct carm_in_flight flight[3];
static struct carm_scaling_point points[3][3];
static struct carm_scaling scaling[3][2];
static struct carm_cache caches[] = {{1, 32768, 1}, {2, 1 << 20, 2}};
static struct carm_model models[3];
static const struct carm_model *const pointers[] = {&models[0], &models[1], &models[2]};

static int set_up(void **state)
{
    static const double away[] = {-0.02, 0.01, 0.005, -0.01, 0.02, 0, -0.005, 0.015};
    static const char *const names[] = {"L1", "L2", "L3", "DRAM"};
    for (size_t m = 0; m < 3; m++) {
        for (size_t i = 0; i < 8; i++) {
            rounds[m][i] = (struct carm_round){.rate = (m == 0   ? 80
                                                        : m == 1 ? 76
                                                                 : 10) *
                                                       (1 + 0.2 * away[i]),
                                               .clock_hz = 4,
                                               .at = 1000.0 + (double)i};
        }
        memset(roofs[m], 0, sizeof roofs[m]);
        roofs[m][0] = (struct carm_roofs){
            .isa = "avx2",
            .precision = "dp",
            .threads = 1,
            .memory = memory[m],
            .nmemory = 5,
            .compute = compute[m],
            .ncompute = 2,
            .dram_peak = {.bandwidth = m == 2 ? 11 : memory[m][4].bandwidth, .code = "P"}};
        roofs[m][1] = roofs[m][0];
        roofs[m][1].threads = 2;
        roofs[m][1].nmemory = 4;
        roofs[m][1].core_to_core_seconds = m == 1 ? 201e-9 : 100e-9;
        for (size_t i = 0; i < 4; i++) {
            levels[m][i] =
                (struct carm_level){.os_size_bytes = i < 3 ? (uint64_t)32768 << (5 * i + m) : 0,
                                    .knee_bytes = (uint64_t)30000 << (5 * i),
                                    .resolved = i != 1};
            (void)strcpy(levels[m][i].level, names[i]);
        }
        for (size_t i = 0; i < 3; i++) {
            const double s = (double)(i + 1) * (m == 1 ? 1.3 : m == 2 ? 1.05 : 1.0) * 1e-8;
            latency[m][i] = (struct carm_latency){.order = CARM_LATENCY_RANDOM,
                                                  .page_bytes = 4096,
                                                  .seconds = s,
                                                  .ci95 = {0.98 * s, 1.02 * s}};
            (void)strcpy(latency[m][i].level, names[i + 1]);
        }
        flight[m] = (struct carm_in_flight){.level = "DRAM",
                                            .code = "scalar",
                                            .page_bytes = 4096,
                                            .rate = 1,
                                            .lines = 10.0 + (double)m};
        for (int i = 0; i < 3; i++) {
            points[m][i] = (struct carm_scaling_point){
                .threads = 1 << i, .rate = 10.0 * fmin(1 << i, 1.0 + (double)m)};
        }
        scaling[m][0] = (struct carm_scaling){
            .layout = "compact", .level = "DRAM", .points = points[m], .npoints = 3};
        scaling[m][1] = (struct carm_scaling){
            .layout = "compact", .level = "L1", .points = points[m], .npoints = 3};
        models[m] = (struct carm_model){.created = "2026-01-02T03:04:05Z",
                                        .carm_version = "0.1",
                                        .levels = levels[m],
                                        .nlevels = 4,
                                        .roofs = roofs[m],
                                        .nroofs = 2,
                                        .latency = latency[m],
                                        .nlatency = 3,
                                        .in_flight = &flight[m],
                                        .nin_flight = 1,
                                        .scaling = scaling[m],
                                        .nscaling = 2};
        models[m].machine = (struct carm_machine){.hostname = "host",
                                                  .cpu = "CPU",
                                                  .cores = 2,
                                                  .threads = 2 + (int)m,
                                                  .memory_bytes = 1 << 30,
                                                  .page_bytes = 4096,
                                                  .caches = caches,
                                                  .ncaches = m == 2 ? 1 : 2};
        models[m].config = (struct carm_config){.reps = 10 + m, .ldst = "2:1", .quick = m == 1};
    }
    compute[0][0].rounds = rounds[0];
    compute[1][0].rounds = rounds[1];
    memory[0][3].rounds = rounds[2];
    memory[1][3].rounds = rounds[2];
    compute[0][0].nrounds = compute[1][0].nrounds = memory[0][3].nrounds = memory[1][3].nrounds = 8;
    roofs[0][0].ceilings = ceilings[0];
    roofs[1][0].ceilings = ceilings[1];
    roofs[0][0].nceilings = roofs[1][0].nceilings = 2;
    memory[2][2].disturbed = true;
    return 0;
}

/* "name unit noise: each model's rate [interval] per clock by rounds of runs; each difference". */
static const char *row_text(const struct carm_compare *c, const struct carm_compare_row *r)
{
    static char text[1200];
    size_t used =
        (size_t)snprintf(text, sizeof text, "%s %s %s %d:", carm_compare_kind_name(r->kind),
                         r->name, r->bytes ? "B/s" : r->unit, r->noise);
    for (size_t m = 0; m < c->n; m++) {
        const struct carm_compare_value *v = &r->values[m];
        if (!(v->rate > 0.0)) {
            used += (size_t)snprintf(text + used, sizeof text - used, " none,");
            continue;
        }
        used += (size_t)snprintf(text + used, sizeof text - used, " %s %s%s %.4g [%.4g %.4g] %g %s",
                                 v->isa, v->code, v->note, v->rate, v->lo, v->hi, v->clock_hz,
                                 v->disturbed ? "disturbed" : "");
        if (v->rounds) {
            used += (size_t)snprintf(text + used, sizeof text - used, "(%zu of %zu, %.3g, %.3g%s)",
                                     v->rounds, v->runs, v->scatter, v->scatter_freedom,
                                     v->apart ? " apart" : "");
        }
        used += (size_t)snprintf(text + used, sizeof text - used, ",");
    }
    for (size_t m = 1; m < c->n; m++) {
        const struct carm_compare_diff *d = &r->diffs[m];
        used += (size_t)snprintf(text + used, sizeof text - used, " %s %.4g+-%.4g of %g%s",
                                 carm_compare_verdict_name(d->verdict), d->change, d->error,
                                 d->floor, d->by_rounds ? " rounds" : "");
        if (d->has_cycles) {
            used += (size_t)snprintf(text + used, sizeof text - used, " cycles %.4g%s",
                                     d->cycle_change, d->same_per_cycle ? " the clock" : "");
        }
        used += (size_t)snprintf(text + used, sizeof text - used, ";");
    }
    return text;
}

CLOSED_BY(carm_compare_free)
static struct carm_compare *make(double noise, size_t n)
{
    const struct carm_compare_options options = {.noise = noise};
    struct carm_compare *c = NULL;
    assert_ok(carm_compare_make(pointers, n, &options, &c, &err));
    return closed_later(by_carm_compare_free, c);
}

TEST_BETWEEN(rows, set_up, NULL)
{
    static const struct {
        size_t set, row;
        const char *told;
    } of_metal
        [] =
            {{0, 0,
              "memory DRAM 2:1 B/s 3: avx2 A 10 [9.8 10.2] 0 (8 of 1, 0.0267, 7), avx2 B 8 [7.84 8.16] 0 (8 of 1, 0.0267, 7), avx2 D 9.5 [9.31 9.69] 0 , significant -0.2+-0.02057 of 0.02 rounds; significant -0.05+-0.02759 of 0.02;"},
             {0, 1,
              "memory L1 2:1 B/s 0: avx2 A 100 [99.9 100.1] 4 , avx2 B 90 [89.91 90.09] 4 , avx2 D 100.9 [100.8 101] 4 , significant -0.1+-0.001345 of 0.01 cycles -0.1; equal 0.009+-0.001421 of 0.01 cycles 0.009;"},
             {0, 2,
              "memory L3 2:1 B/s 2: avx2 A 20 [19.6 20.4] 4 , avx2 B 18 [17.64 18.36] 4 , avx2 D 19 [18.62 19.38] 4 disturbed, significant -0.1+-0.02691 of 0.02 cycles -0.1; disturbed -0.05+-0.02759 of 0.02 cycles -0.05;"},
             {0, 3,
              "compute fma flop/s 0: avx2 F 80 [79.92 80.08] 4 (8 of 1, 0.214, 7), avx2 F 76 [75.92 76.08] 3.8 (8 of 1, 0.203, 7), avx2 F 72 [71.93 72.07] 4 , significant -0.05+-0.005348 of 0.01 rounds cycles 0 the clock; significant -0.1+-0.001345 of 0.01 cycles -0.1;"},
             {0, 4,
              "dram_peak DRAM peak B/s 3: avx2 P 12 [11.64 12.36] 0 , avx2 P 12.3 [11.93 12.67] 0 , avx2 P 11 [11 11] 0 , equal 0.025+-0.04296 of 0.02; significant -0.08333+-0.03 of 0.02;"},
             {0, 5,
              "memory L2 2:1 B/s 1: avx2 A 50 [49.5 50.5] 4 , avx2 B 48 [47.52 48.48] 4 , avx2 D 60 [59.4 60.6] 4 , significant -0.04+-0.01386 of 0.01 cycles -0.04; significant 0.2+-0.01562 of 0.01 cycles 0.2;"},
             {0, 6,
              "compute add flop/s 0: avx2 F 40 [39.96 40.04] 4 , avx2 F 41 [40.96 41.04] 4 , none, significant 0.025+-0.001432 of 0.01 cycles 0.025; absent 0+-0 of 0.01;"},
             {0, 7,
              "ceiling memory: dot B/s 3: avx2 d 9 [9 9] 0 , avx2 d 8.9 [8.9 8.9] 0 , none, equal -0.01111+-0 of 0.02; absent 0+-0 of 0.02;"},
             {0, 8,
              "memory DRAM 1:0 B/s 3: avx2 P 12 [11.64 12.36] 0 , avx2 P 12.3 [11.93 12.67] 0 , none, equal 0.025+-0.04296 of 0.02; absent 0+-0 of 0.02;"},
             {0, 9,
              "ceiling in-core: tlp add flop/s 0: avx2 tn 5 [5 5] 4 , avx2 twhy 6 [5.9 6.1] 4 disturbed, none, disturbed 0.2+-0.02 of 0.01 cycles 0.2; absent 0+-0 of 0.01;"},
             {0, 10,
              "memory DRAM 0:1 B/s 3: none, none, avx2 D 5 [4.85 5.15] 0 , absent 0+-0 of 0.02; absent 0+-0 of 0.02;"},
             {0, 11,
              "compute mul flop/s 0: none, none, avx2 F 40 [39.96 40.04] 4 , absent 0+-0 of 0.01; absent 0+-0 of 0.01;"}},
        of_guests
            [] =
                {{1, 0, "memory L1 2:1 B/s 0: avx2 A 100 [99.9 100.1] 4 , avx2 B 90 [89.91 90.09] 4 , avx2 D 100.9 [100.8 101] 4 , significant -0.1+-0.001345 of 0.01 cycles -0.1; equal 0.009+-0.001421 of 0.01 cycles 0.009;"}, {1, 1, "memory L3 2:1 B/s 2: avx2 A 20 [19.6 20.4] 4 , avx2 B 18 [17.64 18.36] 4 , avx2 D 19 [18.62 19.38] 4 disturbed, significant -0.1+-0.02691 of 0.084 cycles -0.1; disturbed -0.05+-0.02759 of 0.02 cycles -0.05;"}, {1, 2, "compute fma flop/s 0: avx2 F 80 [79.92 80.08] 4 (8 of 1, 0.214, 7), avx2 F 76 [75.92 76.08] 3.8 (8 of 1, 0.203, 7), avx2 F 72 [71.93 72.07] 4 , significant -0.05+-0.005348 of 0.01 rounds cycles 0 the clock; significant -0.1+-0.001345 of 0.01 cycles -0.1;"}, {1, 3, "dram_peak DRAM peak B/s 4: avx2 P 12 [12 12] 0 , avx2 P 12.3 [12.3 12.3] 0 , avx2 P 11 [11 11] 0 , equal 0.025+-0 of 0.32; significant -0.08333+-0 of 0.02;"}, {1, 4, "memory DRAM 2:1 B/s 4: avx2 A 10 [9.8 10.2] 0 (8 of 1, 0.0267, 7), avx2 B 8 [7.84 8.16] 0 (8 of 1, 0.0267, 7), avx2 D 9.5 [9.31 9.69] 0 , equal -0.2+-1.077 of 0.02 rounds; significant -0.05+-0.02759 of 0.02;"}, {1, 5, "compute add flop/s 0: avx2 F 40 [39.96 40.04] 4 , avx2 F 41 [40.96 41.04] 4 , none, significant 0.025+-0.001432 of 0.01 cycles 0.025; absent 0+-0 of 0.01;"}, {1, 6, "memory L2 2:1 B/s 1: avx2 A 50 [49.5 50.5] 4 , avx2 B 48 [47.52 48.48] 4 , avx2 D 60 [59.4 60.6] 4 , equal -0.04+-0.01386 of 0.057 cycles -0.04; significant 0.2+-0.01562 of 0.01 cycles 0.2;"}, {1, 7, "compute mul flop/s 0: none, none, avx2 F 40 [39.96 40.04] 4 , absent 0+-0 of 0.01; absent 0+-0 of 0.01;"}},
   of_one[] = {
       {0, 0,
        "memory DRAM 2:1 B/s 3: avx2 A 10 [9.8 10.2] 0 (8 of 1, 0.0267, 7), avx2 B 8 [7.84 8.16] 0 (8 of 1, 0.0267, 7), significant -0.2+-0.02561 of 0.02;"},
       {0, 1,
        "memory L1 2:1 B/s 0: avx2 A 100 [99.9 100.1] 4 , avx2 B 90 [89.91 90.09] 4 , significant -0.1+-0.001345 of 0.02 cycles -0.1;"},
       {0, 2,
        "memory L3 2:1 B/s 2: avx2 A 20 [19.6 20.4] 4 , avx2 B 18 [17.64 18.36] 4 , significant -0.1+-0.02691 of 0.02 cycles -0.1;"},
       {0, 3,
        "compute fma flop/s 0: avx2 F 80 [79.92 80.08] 4 (8 of 1, 0.214, 7), avx2 F 76 [75.92 76.08] 3.8 (8 of 1, 0.203, 7), significant -0.05+-0.001379 of 0.02 cycles 0 the clock;"},
       {0, 4,
        "memory L2 2:1 B/s 1: avx2 A 50 [49.5 50.5] 4 , avx2 B 48 [47.52 48.48] 4 , significant -0.04+-0.01386 of 0.02 cycles -0.04;"}};
    const struct carm_compare *c = make(-1, 3);
    assert_int_equal(c->nsets, 2);
    for (size_t i = 0; i < sizeof of_metal / sizeof *of_metal; i++) {
        assert_string_equal(row_text(c, &c->sets[of_metal[i].set].rows[of_metal[i].row]),
                            of_metal[i].told);
    }
    assert_int_equal(c->sets[0].nrows, 12);
    struct carm_compare_drop worst;
    static const struct {
        double threshold;
        bool ignore_clock;
    } drops[] = {{0.0, false}, {0.0, true},  {0.05, false},
                 {0.1, false}, {0.2, false}, {0.9, false}};
    char text[200] = "";
    for (size_t i = 0; i < sizeof drops / sizeof *drops; i++) {
        const size_t n = carm_compare_drops(c, drops[i].threshold, drops[i].ignore_clock, &worst);
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%zu %s %zu, ", n,
                       n ? worst.row->name : "-", worst.model);
    }
    (void)snprintf(text + strlen(text), sizeof text - strlen(text),
                   "%zu %zu %zu %zu, %zu by rounds, %zu per cycle",
                   carm_compare_counts(c).of[CARM_COMPARE_ABSENT],
                   carm_compare_counts(c).of[CARM_COMPARE_DISTURBED],
                   carm_compare_counts(c).of[CARM_COMPARE_EQUAL],
                   carm_compare_counts(c).of[CARM_COMPARE_SIGNIFICANT],
                   carm_compare_counts(c).by_rounds, carm_compare_counts(c).same_per_cycle);
    assert_string_equal(
        text,
        "15 DRAM 2:1 1, 13 DRAM 2:1 1, 13 DRAM 2:1 1, 1 DRAM 2:1 1, 0 - 0, 0 - 0, 11 3 6 20, 4 by rounds, 2 per cycle");
    /* guests; the second is on two core complexes */
    (void)strcpy(models[1].machine.hypervisor, "kvm");
    c = make(-1, 3);
    for (size_t i = 0; i < sizeof of_guests / sizeof *of_guests; i++) {
        assert_string_equal(row_text(c, &c->sets[of_guests[i].set].rows[of_guests[i].row]),
                            of_guests[i].told);
    }
    c = make(0.02, 2);
    for (size_t i = 0; i < sizeof of_one / sizeof *of_one; i++) {
        assert_string_equal(row_text(c, &c->sets[of_one[i].set].rows[of_one[i].row]),
                            of_one[i].told);
    }
}

/* The best of machines of other ISAs; sets that one machine has alone; other layouts of threads. */
TEST_BETWEEN(sets, set_up, NULL)
{
    static const struct {
        size_t row;
        const char *told;
    } best[] = {
        {0,
         "memory DRAM 2:1 B/s 3: avx2 A 10 [9.8 10.2] 0 (8 of 1, 0.0267, 7), avx512 B 8 [7.84 8.16] 0 (8 of 1, 0.0267, 7), significant -0.2+-0.01743 of 0.02 rounds;"},
        {1,
         "memory L1 2:1 B/s 0: avx2 A 100 [99.9 100.1] 4 , avx512 B 90 [89.91 90.09] 4 , significant -0.1+-0.001345 of 0.01 cycles -0.1;"},
        {2,
         "memory L3 2:1 B/s 2: avx2 A 20 [19.6 20.4] 4 , avx512 B 18 [17.64 18.36] 4 , significant -0.1+-0.02691 of 0.02 cycles -0.1;"},
        {3,
         "compute peak flop/s 0: avx2 F 80 [79.92 80.08] 4 (8 of 1, 0.214, 7), avx512 F 76 [75.92 76.08] 3.8 (8 of 1, 0.203, 7), significant -0.05+-0.004685 of 0.01 rounds cycles 0 the clock;"},
        {4,
         "memory L2 2:1 B/s 1: avx2 A 50 [49.5 50.5] 4 , avx512 B 48 [47.52 48.48] 4 , significant -0.04+-0.01386 of 0.01 cycles -0.04;"},
        {5,
         "memory DRAM 1:0 B/s 3: avx2 P 12 [11.64 12.36] 0 , avx512 P 12.3 [11.93 12.67] 0 , equal 0.025+-0.04296 of 0.02;"}};
    (void)strcpy(roofs[1][0].isa, "avx512");
    (void)strcpy(roofs[1][1].isa, "avx512");
    roofs[1][2] = (struct carm_roofs){.isa = "avx2",
                                      .precision = "dp",
                                      .threads = 1,
                                      .memory = memory[3],
                                      .nmemory = 1,
                                      .compute = compute[3],
                                      .ncompute = 1};
    models[1].nroofs = 3;
    (void)strcpy(models[1].machine.layout, "spread");
    const struct carm_compare *c = make(-1, 2);
    char text[400] = "";
    for (size_t i = 0; i < c->nsets; i++) {
        const struct carm_compare_set *s = &c->sets[i];
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s %s %d %s %s%s %s %zu; ",
                       s->isa, s->precision, s->threads, s->layout, s->roofs[0] ? "A" : "",
                       s->roofs[1] ? "B" : "", s->compared ? "compared" : "", s->nrows);
    }
    assert_string_equal(
        text,
        "avx2 dp 1  AB compared 10; avx2 dp 2  A  0; avx512 dp 1  B  0; avx512 dp 2 spread B  0; best ISA dp 1  AB compared 7; ");
    for (size_t i = 0; i < sizeof best / sizeof *best; i++) {
        assert_string_equal(row_text(c, &c->sets[c->nsets - 1].rows[best[i].row]), best[i].told);
    }
}

TEST_BETWEEN(facts, set_up, NULL)
{
    static struct carm_compare_fact f[CARM_COMPARE_FACTS_MAX];
    static const struct {
        size_t i;
        const char *told;
    } machine[] = {{0, "host=: host, host, host"},
                   {1, "CPU=: CPU, CPU, CPU"},
                   {2, "hypervisor=: none known, none known, none known"},
                   {3, "cores=: 2, 2, 2"},
                   {4, "threads: 2, 3, 4"},
                   {5, "L1 cache=: 32 KiB / 1 thread, 32 KiB / 1 thread, 32 KiB / 1 thread"},
                   {6, "L2 cache: 1 MiB / 2 threads, 1 MiB / 2 threads, -"},
                   {7, "memory=: 1 GiB, 1 GiB, 1 GiB"},
                   {8, "pages=: 4 KiB, 4 KiB, 4 KiB"},
                   {9, "built=: 2026-01-02T03:04:05Z, 2026-01-02T03:04:05Z, 2026-01-02T03:04:05Z"},
                   {10, "carm: 0.1, 0.1, --quick, 0.1"},
                   {11, "repetitions: 10, 11, 12"},
                   {12, "mix=: 2:1, 2:1, 2:1"},
                   {13, "validated=: never, never, never"}},
      level[] =
          {{0, "L1 OS size: 32 KiB, 64 KiB, 128 KiB"},
           {1, "L1 knee=: 29.3 KiB, 29.3 KiB, 29.3 KiB"},
           {2, "L2 OS size: 1 MiB, 2 MiB, 4 MiB"},
           {3, "L2 knee=: unresolved, unresolved, unresolved"},
           {4, "L3 OS size: 32 MiB, 64 MiB, 128 MiB"},
           {5, "L3 knee=: 29.3 MiB, 29.3 MiB, 29.3 MiB"},
           {6, "DRAM OS size=: -, -, -"},
           {7, "DRAM knee=: 938 MiB, 938 MiB, 938 MiB"},
           {8, "L2 latency, 4 KiB pages: 10 ns, 13 ns (+30%), 10.5 ns (+5%)"},
           {9, "L3 latency, 4 KiB pages: 20 ns, 26 ns (+30%), 21 ns (+5%)"},
           {10, "DRAM latency, 4 KiB pages: 30 ns, 39 ns (+30%), 31.5 ns (+5%)"},
           {11,
            "DRAM threads that saturate: 1 of 4: 10.00 B/s, 2 of 4: 20.00 B/s, 4 of 4: 30.00 B/s"},
           {12, "DRAM lines in flight: 10, 11, 12"}},
      guests[] = {
          {8, "L2 latency, 4 KiB pages: 10 ns, 13 ns (+30%), 10.5 ns (+5%)"},
          {9, "L3 latency, 4 KiB pages: 20 ns, 26 ns (no difference), 21 ns (no difference)"},
          {10, "DRAM latency, 4 KiB pages: 30 ns, 39 ns (no difference), 31.5 ns (no difference)"}};
    const struct carm_compare *c = make(-1, 3);
    char text[400];
    assert_int_equal(carm_compare_machine_facts(c, true, f), 14);
    for (size_t i = 0; i < sizeof machine / sizeof *machine; i++) {
        (void)snprintf(text, sizeof text, "%.40s%s: %.60s, %.60s, %.60s", f[i].name,
                       f[i].same ? "=" : "", f[i].text[0], f[i].text[1], f[i].text[2]);
        assert_string_equal(text, machine[i].told);
    }
    assert_int_equal(carm_compare_level_facts(c, true, f), 13);
    for (size_t i = 0; i < sizeof level / sizeof *level; i++) {
        (void)snprintf(text, sizeof text, "%.40s%s: %.60s, %.60s, %.60s", f[i].name,
                       f[i].same ? "=" : "", f[i].text[0], f[i].text[1], f[i].text[2]);
        assert_string_equal(text, level[i].told);
    }
    (void)strcpy(models[0].machine.hypervisor,
                 "kvm"); /* latencies of memory and the last cache move */
    (void)carm_compare_level_facts(c, true, f);
    for (size_t i = 0; i < sizeof guests / sizeof *guests; i++) {
        const size_t k = guests[i].i;
        (void)snprintf(text, sizeof text, "%.40s%s: %.60s, %.60s, %.60s", f[k].name,
                       f[k].same ? "=" : "", f[k].text[0], f[k].text[1], f[k].text[2]);
        assert_string_equal(text, guests[i].told);
    }
}

/* The floors and the scatter from build to build, by resource. */
TEST(noise)
{
    static const double wanted[][5] = {{0.01, 0.01, 0, 0, 0},
                                       {0.01, 0.057, 0, 0, 0},
                                       {0.02, 0.084, 0, 0.015, 0.015},
                                       {0.02, 0.045, 0, 0.03, 0.05},
                                       {0.02, 0.32, 0, 0.03, 0.05}};
    for (int k = 0; k < 5; k++) {
        const enum carm_compare_noise noise = (enum carm_compare_noise)k;
        assert_near(carm_compare_floor(noise, false), wanted[k][0], 0.0);
        assert_near(carm_compare_floor(noise, true), wanted[k][1], 0.0);
        assert_near(carm_compare_between(noise, false, true), wanted[k][2], 0.0);
        assert_near(carm_compare_between(noise, true, false), wanted[k][3], 0.0);
        assert_near(carm_compare_between(noise, true, true), wanted[k][4], 0.0);
    }
    struct carm_compare *c = NULL;
    static const size_t counts[] = {0, 1, CARM_COMPARE_MOST + 1};
    for (size_t i = 0; i < 3; i++) {
        assert_refused(carm_compare_make(pointers, counts[i],
                                         &(struct carm_compare_options){.noise = -1}, &c, &err),
                       -CARM_EINVAL, "two to 8 models can be compared, not");
    }
    assert_int_equal(carm_compare_letter(0), 'A');
    assert_int_equal(carm_compare_letter(7), 'H');
}
