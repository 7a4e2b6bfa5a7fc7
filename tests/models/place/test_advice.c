/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places at the limits of the words: on both sides of each ceiling's tolerance, and above the roof for each reason. */
#include "models/latency.h"
#include "models/place/place.h"
#include "tests/unit.h"

/* avx512: L1 100 (loads alone 110), L2 50, DRAM 10 byte/s; fma 40, add 20, div 2 flop/s. avx2: L1 70, fma 30; sse is faster
 * than both. Memory delivers 12 byte/s; a core can have 10 lines in flight, which take 600 s. */
#define M(level_, ldst_, rate)                            \
    {                                                     \
        .level = level_, .ldst = ldst_, .bandwidth = rate \
    }
static struct carm_memory_roof wide[] = {M("L1", "2:1", 100), M("L1", "1:0", 110),
                                         M("L2", "2:1", 50), M("DRAM", "2:1", 10)},
                               narrow[] = {M("L1", "2:1", 70)}, fast[] = {M("L1", "1:1", 130)};
static struct carm_compute_roof flops[] = {{.op = "fma", .rate = 40},
                                           {.op = "add", .rate = 20},
                                           {.op = "div", .rate = 2}},
                                narrow_flops[] = {{.op = "fma", .rate = 30}},
                                fast_flops[] = {{.op = "fma+add", .rate = 50}};
static struct carm_roofs sets[] = {{.isa = "avx512",
                                    .precision = "dp",
                                    .threads = 2,
                                    .memory = wide,
                                    .nmemory = 4,
                                    .compute = flops,
                                    .ncompute = 3,
                                    .dram_peak = {.bandwidth = 12, .code = "A"}},
                                   {.isa = "avx2",
                                    .precision = "dp",
                                    .threads = 2,
                                    .memory = narrow,
                                    .nmemory = 1,
                                    .compute = narrow_flops,
                                    .ncompute = 1},
                                   {.isa = "sse",
                                    .precision = "dp",
                                    .threads = 2,
                                    .memory = fast,
                                    .nmemory = 1,
                                    .compute = fast_flops,
                                    .ncompute = 1}};
static struct carm_level levels[] = {{.level = "L1"}, {.level = "L2"}, {.level = "DRAM"}};
static struct carm_in_flight flight[] = {{.level = "DRAM",
                                          .code = "scalar",
                                          .page_bytes = 4096,
                                          .rate = 1,
                                          .latency_seconds = 600,
                                          .lines = 10}};
static const struct carm_model model = {.config = {.ldst = "2:1"},
                                        .levels = levels,
                                        .nlevels = 3,
                                        .roofs = sets,
                                        .nroofs = 3,
                                        .in_flight = flight,
                                        .nin_flight = 1};
static struct carm_place_set set;

/* "ceiling below / above (all of them) bound share roof [intervals]: advice" */
static const char *told(enum carm_place_which which, struct carm_place_input in)
{
    static char text[2048];
    static struct carm_place p;
    in.seconds = 2;
    in.flops *= 2;
    in.bytes *= 2;
    memset(&p, 0x5a, sizeof p);
    if (carm_place_point(&set, which, &in, &p, &err)) {
        return err.text;
    }
    size_t used = (size_t)snprintf(text, sizeof text, "%s / %s (",
                                   p.below < 0 ? "" : p.ceilings[p.below].name,
                                   p.above < 0 ? "" : p.ceilings[p.above].name);
    for (size_t i = 0; i < p.nceilings; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.4g%s", i ? " " : "",
                                 p.ceilings[i].at, p.ceilings[i].roof ? "!" : "");
    }
    (void)snprintf(text + used, sizeof text - used, ") %s %.4g of %.4g%s: %s",
                   carm_bound_name(p.bound), p.share, p.roof, p.over ? " over" : "", p.advice);
    return text;
}

static int set_up(void **state)
{
    carm_place_prepare(&set, &model, &sets[0]);
    return 0;
}

struct point {
    double intensity, performance;
    const char *told;
};

static struct carm_place_input input_of(const struct point *p)
{
    return (struct carm_place_input){
        .flops = p->performance, .bytes = p->performance / p->intensity, .threads = 2};
}

/* At 0.1 flop/byte L1 allows 10, L2 5 and DRAM 1; at 0.36 L1 is within a tenth of fma, at 0.4 it is the ridge. */
TEST_BETWEEN(cache_aware, set_up, NULL)
{
    static const struct point
        all[] =
            {
                {0.1, 0.0009,
                 " / DRAM (1 2 5 7 10!) memory 9e-05 of 10: below the ceiling of DRAM: it may wait for latency, short streams, dependent operations or divisions; over 1000x to the roof"},
                {0.1, 0.5,
                 " / DRAM (1 2 5 7 10!) memory 0.05 of 10: below the ceiling of DRAM: it may wait for latency, short streams, dependent operations or divisions; at most 2.0x to the ceiling above, 20.0x to the roof"},
                {0.1, 0.9,
                 " / DRAM (1 2 5 7 10!) memory 0.09 of 10: below the ceiling of DRAM: it may wait for latency, short streams, dependent operations or divisions; at most 1.1x to the ceiling above, 11.1x to the roof"},
                {0.1, 0.92,
                 " / DRAM (1 2 5 7 10!) memory 0.092 of 10: at the ceiling of DRAM, which may bind it: try blocking for L2; at most 5.4x to the next ceiling, 10.9x to the roof"},
                {0.1, 1.029,
                 " / DRAM (1 2 5 7 10!) memory 0.1029 of 10: at the ceiling of DRAM, which may bind it: try blocking for L2; at most 4.9x to the next ceiling, 9.7x to the roof"},
                {0.1, 1.031,
                 "DRAM / L2 (1 2 5 7 10!) memory 0.1031 of 10: between the ceilings of DRAM and L2: part of its data may come from DRAM; try blocking for L2; at most 4.8x to the ceiling above, 9.7x to the roof"},
                {0.1, 4.5,
                 "DRAM / L2 (1 2 5 7 10!) memory 0.45 of 10: between the ceilings of DRAM and L2: part of its data may come from DRAM; try blocking for L2; at most 1.1x to the ceiling above, 2.2x to the roof"},
                {0.1, 4.6,
                 "DRAM / L2 (1 2 5 7 10!) memory 0.46 of 10: at the ceiling of L2, which may bind it: try blocking for L1; at most 1.5x to the next ceiling, 2.2x to the roof"},
                {0.1, 5.14,
                 "DRAM / L2 (1 2 5 7 10!) memory 0.514 of 10: at the ceiling of L2, which may bind it: try blocking for L1; at most 1.4x to the next ceiling, 1.9x to the roof"},
                {0.1, 5.16,
                 "L2 / avx2 L1 (1 2 5 7 10!) memory 0.516 of 10: below the ceiling of avx2 L1: try wider loads and stores; at most 1.4x to the ceiling above, 1.9x to the roof"},
                {0.1, 6.4,
                 "L2 / avx2 L1 (1 2 5 7 10!) memory 0.64 of 10: at the ceiling of avx2 L1: try wider loads and stores; at most 1.6x to the next ceiling, 1.6x to the roof"},
                {0.1, 7.1,
                 "L2 / avx2 L1 (1 2 5 7 10!) memory 0.71 of 10: at the ceiling of avx2 L1: try wider loads and stores; at most 1.4x to the next ceiling, 1.4x to the roof"},
                {0.1, 7.3,
                 "avx2 L1 / L1 (1 2 5 7 10!) memory 0.73 of 10: between the ceilings of L2 and L1: part of its data may come from L2; try blocking for L1; at most 1.4x to the ceiling above, 1.4x to the roof"},
                {0.1, 9.0,
                 "avx2 L1 / L1 (1 2 5 7 10!) memory 0.9 of 10: between the ceilings of L2 and L1: part of its data may come from L2; try blocking for L1; at most 1.1x to the ceiling above, 1.1x to the roof"},
                {0.1, 9.2,
                 "avx2 L1 / L1 (1 2 5 7 10!) memory 0.92 of 10: at the slope of L1, the roof: 1.09x is left; do more flops per byte (keep values in registers, use wider blocks)"},
                {0.1, 9.96,
                 "avx2 L1 / L1 (1 2 5 7 10!) memory 0.996 of 10: at the slope of L1, the roof: nothing is left; do more flops per byte (keep values in registers, use wider blocks)"},
                {0.1, 10.29,
                 "avx2 L1 / L1 (1 2 5 7 10!) memory 1.029 of 10: at the slope of L1, the roof: nothing is left; do more flops per byte (keep values in registers, use wider blocks)"},
                {0.36, 10,
                 "DRAM / L2 (2 3.6 18 20 25.2 30 36!) memory 0.2778 of 36: between the ceilings of DRAM and L2: part of its data may come from DRAM; try blocking for L2; at most 1.8x to the ceiling above, 3.6x to the roof"},
                {0.36, 33,
                 "avx2 fma / L1 (2 3.6 18 20 25.2 30 36!) memory 0.9167 of 36: at the slope of L1, the roof: 1.09x is left; do more flops per byte (keep values in registers, use wider blocks)"},
                {0.37, 33,
                 "avx2 fma / L1 (2 3.7 18.5 20 25.9 30 37!) memory 0.8919 of 37: between the ceilings of L2 and L1: part of its data may come from L2; try blocking for L1; at most 1.1x to the ceiling above, 1.1x to the roof"},
                {0.4, 19,
                 "DRAM / L2 (2 4 20 20 28 30 40! 40!) both 0.475 of 40: at the ceiling of L2 and of add, which may bind it: try blocking for L1; at most 1.5x to the next ceiling, 2.1x to the roof"},
                {0.4, 20.7,
                 "add / avx2 L1 (2 4 20 20 28 30 40! 40!) both 0.5175 of 40: below the ceiling of avx2 L1 and of avx2 fma: try wider loads and stores; at most 1.4x to the ceiling above, 1.9x to the roof"},
                {0.5, 24,
                 "add / L2 (2 5 20 25 30 35 40!) memory 0.6 of 40: at the ceiling of L2, which may bind it: try blocking for L1; at most 1.2x to the next ceiling, 1.7x to the roof"},
                {0.5, 26,
                 "L2 / avx2 fma (2 5 20 25 30 35 40!) compute 0.65 of 40: between the ceilings of L2 and avx2 fma: it may wait for data from L2 (block for a faster level) or for dependent operations (use more independent chains); at most 1.2x to the ceiling above, 1.5x to the roof"},
                {0.45, 21,
                 "add / L2 (2 4.5 20 22.5 30 31.5 40!) memory 0.525 of 40: at the ceiling of L2, which may bind it: try blocking for L1; at most 1.4x to the next ceiling, 1.9x to the roof"},
                {10, 0.01,
                 " / add (2 20 30 40!) compute 0.00025 of 40: below the ceiling of add: it may wait for divisions or dependent operations (try more independent ones) or execute too many other instructions; over 1000x to the roof"},
                {10, 1.9,
                 " / add (2 20 30 40!) compute 0.0475 of 40: below the ceiling of add: it may wait for divisions or dependent operations (try more independent ones) or execute too many other instructions; at most 10.5x to the ceiling above, 21.1x to the roof"},
                {10,
                 2.07, " / add (2 20 30 40!) compute 0.05175 of 40: below the ceiling of add: it may wait for divisions or dependent operations (try more independent ones) or execute too many other instructions; at most 9.7x to the ceiling above, 19.3x to the roof"},
                {10, 17,
                 " / add (2 20 30 40!) compute 0.425 of 40: below the ceiling of add: it may wait for divisions or dependent operations (try more independent ones) or execute too many other instructions; at most 1.2x to the ceiling above, 2.4x to the roof"},
                {10, 18.3,
                 " / add (2 20 30 40!) compute 0.4575 of 40: at the ceiling of add; next: FMA, or as many multiplies as adds, in independent chains; at most 1.6x to the next ceiling, 2.2x to the roof"},
                {10, 20.5,
                 " / add (2 20 30 40!) compute 0.5125 of 40: at the ceiling of add; next: FMA, or as many multiplies as adds, in independent chains; at most 1.5x to the next ceiling, 2.0x to the roof"},
                {10, 20.7,
                 "add / avx2 fma (2 20 30 40!) compute 0.5175 of 40: below the ceiling of avx2 fma: it may wait for divisions or dependent operations (try more independent ones) or execute too many other instructions; at most 1.4x to the ceiling above, 1.9x to the roof"},
                {10, 27,
                 "add / avx2 fma (2 20 30 40!) compute 0.675 of 40: below the ceiling of avx2 fma: it may wait for divisions or dependent operations (try more independent ones) or execute too many other instructions; at most 1.1x to the ceiling above, 1.5x to the roof"},
                {10, 27.5,
                 "add / avx2 fma (2 20 30 40!) compute 0.6875 of 40: at the ceiling of avx2 fma; next: wider vectors; at most 1.5x to the next ceiling, 1.5x to the roof"},
                {10, 31,
                 "avx2 fma / fma (2 20 30 40!) compute 0.775 of 40: below the ceiling of fma: it may wait for divisions or dependent operations (try more independent ones) or execute too many other instructions; at most 1.3x to the ceiling above, 1.3x to the roof"},
                {10, 36.3,
                 "avx2 fma / fma (2 20 30 40!) compute 0.9075 of 40: below the ceiling of fma: it may wait for divisions or dependent operations (try more independent ones) or execute too many other instructions; at most 1.1x to the ceiling above, 1.1x to the roof"},
                {10, 36.5,
                 "avx2 fma / fma (2 20 30 40!) compute 0.9125 of 40: at the peak (fma): 1.10x is left; only fewer or cheaper operations make it faster"},
                {10, 39.9,
                 "avx2 fma / fma (2 20 30 40!) compute 0.9975 of 40: at the peak (fma): nothing is left; only fewer or cheaper operations make it faster"},
                {10, 48.5,
                 "fma /  (2 20 30 40!) compute 1.212 of 40 over: 1.21 times the roof (fma), which is for avx512: sse is faster and reaches 5e-08 Gflop/s; --isa sse places it under the right roof"},
                {10, 51.4,
                 "fma /  (2 20 30 40!) compute 1.285 of 40 over: 1.28 times the roof (fma), which is for avx512: sse is faster and reaches 5e-08 Gflop/s; --isa sse places it under the right roof"},
            };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_string_equal(told(CARM_PLACE_CACHE_AWARE, input_of(&all[i])), all[i].told);
    }
    /* without a faster ISA */
    static const struct point slow[] = {
        {10, 36,
         "add / fma (2 20 40!) compute 0.9 of 40: below the ceiling of fma: it may wait for divisions or dependent operations (try more independent ones) or execute too many other instructions; at most 1.1x to the ceiling above, 1.1x to the roof"},
        {10, 41.1,
         "add / fma (2 20 40!) compute 1.028 of 40: at the peak (fma): nothing is left; only fewer or cheaper operations make it faster"},
        {0.1, 9.5,
         "L2 / L1 (1 2 5 10!) memory 0.95 of 10: at the slope of L1, the roof: 1.05x is left; do more flops per byte (keep values in registers, use wider blocks)"},
        {0.38, 20.7,
         "add / L1 (2 3.8 19 20 38!) memory 0.5447 of 38: between the ceilings of L2 and L1: part of its data may come from L2; try blocking for L1; at most 1.8x to the ceiling above, 1.8x to the roof"},
        {0.3636, 33,
         "add / L1 (2 3.636 18.18 20 36.36!) memory 0.9076 of 36.36: between the ceilings of L2 and L1: part of its data may come from L2; try blocking for L1; at most 1.1x to the ceiling above, 1.1x to the roof"},
        {0.3637, 33,
         "add / L1 (2 3.637 18.18 20 36.37!) memory 0.9073 of 36.37: between the ceilings of L2 and L1: part of its data may come from L2; try blocking for L1; at most 1.1x to the ceiling above, 1.1x to the roof"}};
    struct carm_model one = model;
    one.nroofs = 1;
    carm_place_prepare(&set, &one, &sets[0]);
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
        assert_string_equal(told(CARM_PLACE_CACHE_AWARE, input_of(&slow[i])), slow[i].told);
    }
}

/* Memory allows 1.2 at 0.1 flop/byte, and the peak is 3.33 flop/byte away. */
TEST_BETWEEN(original, set_up, NULL)
{
    static const struct point all[] = {
        {0.1, 0.0005,
         " / DRAM (1.2!) memory 0.0004167 of 1.2: below the slope of DRAM: over 1000x is left; on average 0.0 lines are in flight from DRAM to a core, which can have 10; first try more independent loads, longer streams, prefetching and pages on the node of their threads, then more flops per DRAM byte"},
        {0.1, 0.0013,
         " / DRAM (1.2!) memory 0.001083 of 1.2: below the slope of DRAM: 923.1x is left; on average 0.1 lines are in flight from DRAM to a core, which can have 10; first try more independent loads, longer streams, prefetching and pages on the node of their threads, then more flops per DRAM byte"},
        {0.1, 0.14,
         " / DRAM (1.2!) memory 0.1167 of 1.2: below the slope of DRAM: 8.6x is left; on average 6.6 lines are in flight from DRAM to a core, which can have 10; first try more independent loads, longer streams, prefetching and pages on the node of their threads, then more flops per DRAM byte"},
        {0.1, 0.148,
         " / DRAM (1.2!) memory 0.1233 of 1.2: below the slope of DRAM: 8.1x is left; on average 6.9 lines are in flight from DRAM to a core, which can have 10; first try more independent loads, longer streams, prefetching and pages on the node of their threads, then more flops per DRAM byte"},
        {0.1, 0.151,
         " / DRAM (1.2!) memory 0.1258 of 1.2: below the slope of DRAM: 7.9x is left; first try longer streams, prefetching and pages on the node of their threads, then more flops per DRAM byte"},
        {0.1, 0.2,
         " / DRAM (1.2!) memory 0.1667 of 1.2: below the slope of DRAM: 6.0x is left; first try longer streams, prefetching and pages on the node of their threads, then more flops per DRAM byte"},
        {0.1, 0.3,
         " / DRAM (1.2!) memory 0.25 of 1.2: below the slope of DRAM: 4.0x is left; first try longer streams, prefetching and pages on the node of their threads, then more flops per DRAM byte"},
        {0.1, 1.0,
         " / DRAM (1.2!) memory 0.8333 of 1.2: below the slope of DRAM: 1.2x is left; first try longer streams, prefetching and pages on the node of their threads, then more flops per DRAM byte"},
        {0.1, 1.1,
         " / DRAM (1.2!) memory 0.9167 of 1.2: at the slope of DRAM: 1.09x is left; do more flops per DRAM byte (block for the caches)"},
        {0.1, 1.196,
         " / DRAM (1.2!) memory 0.9967 of 1.2: at the slope of DRAM: nothing is left; do more flops per DRAM byte (block for the caches)"},
        {0.1, 1.23,
         " / DRAM (1.2!) memory 1.025 of 1.2: at the slope of DRAM: nothing is left; do more flops per DRAM byte (block for the caches)"},
        {0.1, 1.24, "DRAM /  (1.2!) memory 1.033 of 1.2 over: 1.03 times the roof (DRAM): 1.24e-08 GB/s is more than memory delivers; possible reasons: too many DRAM bytes were counted (of other programs, or served by a cache), or the time is too short"},
        {10, 1.9,
         " / add (2 20 30 40!) compute 0.0475 of 40: below the ceiling of add: it may wait for divisions or dependent operations (try more independent ones) or execute too many other instructions; at most 10.5x to the ceiling above, 21.1x to the roof"},
        {10, 15,
         " / add (2 20 30 40!) compute 0.375 of 40: below the ceiling of add: it may wait for divisions or dependent operations (try more independent ones) or execute too many other instructions; at most 1.3x to the ceiling above, 2.7x to the roof"},
        {10, 19,
         " / add (2 20 30 40!) compute 0.475 of 40: at the ceiling of add; next: FMA, or as many multiplies as adds, in independent chains; at most 1.6x to the next ceiling, 2.1x to the roof"},
        {10, 39,
         "avx2 fma / fma (2 20 30 40!) compute 0.975 of 40: at the peak (fma): 1.03x is left; only fewer or cheaper operations make it faster"},
        {3.1, 36,
         "avx2 fma / DRAM (2 20 30 37.2!) memory 0.9677 of 37.2: at the slope of DRAM: 1.03x is left; do more flops per DRAM byte (block for the caches)"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_string_equal(told(CARM_PLACE_ORIGINAL, input_of(&all[i])), all[i].told);
    }
    set.flight = NULL;
    (void)strcpy(set.enough, "1 of 2 threads saturate it");
    static const struct point other[] = {
        {0.1, 0.14,
         " / DRAM (1.2!) memory 0.1167 of 1.2: below the slope of DRAM: 8.6x is left; first try longer streams, prefetching and pages on the node of their threads, then more flops per DRAM byte"},
        {0.1, 1.2,
         " / DRAM (1.2!) memory 1 of 1.2: at the slope of DRAM: nothing is left; do more flops per DRAM byte (block for the caches); 1 of 2 threads saturate it"}};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        assert_string_equal(told(CARM_PLACE_ORIGINAL, input_of(&other[i])), other[i].told);
    }
}

/* Above the roof: the first reason that explains it. */
TEST_BETWEEN(above, set_up, NULL)
{
    static const struct {
        enum carm_place_which which;
        double intensity, performance;
        int threads;
        const char *isa, *precision, *metric;
        bool elsewhere, disturbed, lone;
        const char *told;
    } all
        [] =
            {
                {0, 0.1, 10001, 2, "", "", "", false, false, true,
                 "L1 /  (1 2 5 10!) memory 1000 of 10 over: over 1000 times the roof (L1): no processor does that, so its numbers are wrong"},
                {0, 0.1, 9999, 2, "", "", "", true, false, true,
                 "L1 /  (1 2 5 10!) memory 999.9 of 10 over: 999.90 times the roof (L1) of another machine: build a model on the machine where it ran"},
                {0, 0.1, 10.5, 3, "", "", "", false, false, true,
                 "L1 /  (1 2 5 10!) memory 1.05 of 10 over: 1.05 times the roof (L1): it ran 3 threads, but the roof is for 2; carm build --threads 3 measures the right one"},
                {0, 0.1, 10.5, 2, "", "", "", false, true, true,
                 "L1 /  (1 2 5 10!) memory 1.05 of 10 over: 1.05 times the roof (L1), which was disturbed while it was measured and may be too low: carm build on a quiet machine measures it again"},
                {0, 0.1, 11.3, 2, "", "", "", false, false, true,
                 "L1 /  (1 2 5 10!) memory 1.13 of 10 over: 1.13 times the roof (L1): its mix of loads and stores is faster than the model's; L1 reaches 1.1e-07 GB/s with the mix 1:0"},
                {0, 0.1, 11.4, 2, "", "", "", false, false, true,
                 "L1 /  (1 2 5 10!) memory 1.14 of 10 over: 1.14 times the roof (L1): 1.14e-07 GB/s is more than any mix and ISA of the model; possible reasons: another mix or ISA (carm build --ldst, --isa), the roof was measured too low, bytes were counted that stayed in registers, or the time is too short"},
                {0, 0.1, 11.4, 0, "", "", "", false, false, true,
                 "L1 /  (1 2 5 10!) memory 1.14 of 10 over: 1.14 times the roof (L1): 1.14e-07 GB/s is more than any mix and ISA of the model; possible reasons: its threads are not known, another mix or ISA (carm build --ldst, --isa), the roof was measured too low, bytes were counted that stayed in registers, or the time is too short"},
                {0, 0.1, 11.4, 2, "", "", "", false, false, false,
                 "L1 /  (1 2 5 7 10!) memory 1.14 of 10 over: 1.14 times the roof (L1), which is for avx512: sse is faster there and reaches 1.3e-07 GB/s with the mix 1:1; --isa sse places it under the right roof"},
                {0, 0.1, 13.3, 2, "sse", "", "", false, false, false,
                 "L1 /  (1 2 5 7 10!) memory 1.33 of 10 over: 1.33 times the roof (L1), which is for avx512: sse is faster there and reaches 1.3e-07 GB/s with the mix 1:1; --isa sse places it under the right roof"},
                {0, 0.1, 13.3, 2, "avx2", "", "", false, false, false,
                 "L1 /  (1 2 5 7 10!) memory 1.33 of 10 over: 1.33 times the roof (L1): 1.33e-07 GB/s is more than any mix and ISA of the model; possible reasons: another mix or ISA (carm build --ldst, --isa), the roof was measured too low, bytes were counted that stayed in registers, or the time is too short"},
                {0, 0.1, 13.3, 2, "avx2", "dp", "", false, false, true,
                 "L1 /  (1 2 5 10!) memory 1.33 of 10 over: 1.33 times the roof (L1), which is for avx512: it computes in avx2, which can be faster; carm build --isa avx2 measures it"},
                {0, 0.1, 13.3, 2, "sse", "dp", "", false, false, true,
                 "L1 /  (1 2 5 10!) memory 1.33 of 10 over: 1.33 times the roof (L1): 1.33e-07 GB/s is more than any mix and ISA of the model; possible reasons: another mix or ISA (carm build --ldst, --isa), the roof was measured too low, bytes were counted that stayed in registers, or the time is too short"},
                {0, 0.1, 13.3, 2, "scalar", "dp", "", false, false, true,
                 "L1 /  (1 2 5 10!) memory 1.33 of 10 over: 1.33 times the roof (L1): 1.33e-07 GB/s is more than any mix and ISA of the model; possible reasons: another mix or ISA (carm build --ldst, --isa), the roof was measured too low, bytes were counted that stayed in registers, or the time is too short"},
                {0, 0.1, 13.5, 2, "", "sp", "", false, false, false,
                 "L1 /  (1 2 5 7 10!) memory 1.35 of 10 over: 1.35 times the roof (L1): it computes in sp, but the roof is for dp; carm build --precision sp measures the right one"},
                {0, 10, 51.6, 2, "", "", "", false, false, false,
                 "fma /  (2 20 30 40!) compute 1.29 of 40 over: 1.29 times the roof (fma); possible reasons: the roof was measured too low (carm build on a quiet machine), flops were counted that did not run (removed or shared by the compiler), the time is too short, another unit (GPU) computes"},
                {0, 10, 41.3, 2, "", "", "", false, false, true,
                 "fma /  (2 20 40!) compute 1.032 of 40 over: 1.03 times the roof (fma); possible reasons: the clock was higher than when the roof was measured, the roof was measured too low (carm build on a quiet machine), flops were counted that did not run (removed or shared by the compiler), the time is too short, another unit (GPU) computes"},
                {0, 10, 43.9, 0, "", "dp", "", false, false, true,
                 "fma /  (2 20 40!) compute 1.097 of 40 over: 1.10 times the roof (fma); possible reasons: its threads are not known, the clock was higher than when the roof was measured, the roof was measured too low (carm build on a quiet machine), flops were counted that did not run (removed or shared by the compiler), the time is too short"},
                {0, 10, 44.1, 2, "", "dp", "", false, false, true,
                 "fma /  (2 20 40!) compute 1.103 of 40 over: 1.10 times the roof (fma); possible reasons: the roof was measured too low (carm build on a quiet machine), flops were counted that did not run (removed or shared by the compiler), the time is too short, another unit (GPU) computes"},
                {0, 10, 44.1, 2, "avx2", "dp", "", false, false, true,
                 "fma /  (2 20 40!) compute 1.103 of 40 over: 1.10 times the roof (fma), which is for avx512: it computes in avx2, which can be faster; carm build --isa avx2 measures it"},
                {0, 10, 44.1, 2, "avx512", "sp",
                 "", false, false, true, "fma /  (2 20 40!) compute 1.103 of 40 over: 1.10 times the roof (fma): it computes in sp, but the roof is for dp; carm build --precision sp measures the right one"},
                {1, 10, 44.1, 2, "", "dp", "", false, false, false,
                 "fma /  (2 20 30 40!) compute 1.103 of 40 over: 1.10 times the roof (fma), which is for avx512: sse is faster and reaches 5e-08 Gflop/s; --isa sse places it under the right roof"},
                {1, 10, 44.1, 2, "sse", "dp", "", false, false, false,
                 "fma /  (2 20 30 40!) compute 1.103 of 40 over: 1.10 times the roof (fma), which is for avx512: sse is faster and reaches 5e-08 Gflop/s; --isa sse places it under the right roof"},
                {1, 10, 44.1, 2, "avx2", "dp", "", false, false, true,
                 "fma /  (2 20 40!) compute 1.103 of 40 over: 1.10 times the roof (fma), which is for avx512: it computes in avx2, which can be faster; carm build --isa avx2 measures it"},
                {1, 0.1, 1.3, 2, "", "dp", "", false, false, false,
                 "DRAM /  (1.2!) memory 1.083 of 1.2 over: 1.08 times the roof (DRAM): 1.3e-08 GB/s is more than memory delivers; possible reasons: too many DRAM bytes were counted (of other programs, or served by a cache), or the time is too short"},
                {1, 0.1, 1.3, 0, "avx2", "dp", "", false, false, true,
                 "DRAM /  (1.2!) memory 1.083 of 1.2 over: 1.08 times the roof (DRAM): 1.3e-08 GB/s is more than memory delivers; possible reasons: its threads are not known, too many DRAM bytes were counted (of other programs, or served by a cache), or the time is too short"},
                {1, 0.1, 1.3, 0, "avx2", "dp", "", false, true, true,
                 "DRAM /  (1.2!) memory 1.083 of 1.2 over: 1.08 times the roof (DRAM), which was disturbed while it was measured and may be too low: carm build on a quiet machine measures it again"},
                {0, 10, 9, 2, "avx2", "sp", "swaps", false, false, true,
                 "peak /  (8!) compute 1.125 of 8 over: 1.12 times the roof (peak); possible reasons: --peak is too low for this machine, swaps operations were counted that did not run, or the time is too short"},
                {0, 0.01, 9, 2, "avx2", "sp", "swaps", false, false, true,
                 "L1 /  (0.1 0.5 1!) memory 9 of 1 over: 9.00 times the roof (L1): 9e-07 GB/s is more than any mix and ISA of the model; possible reasons: another mix or ISA (carm build --ldst, --isa), the roof was measured too low, bytes were counted that stayed in registers, or the time is too short"},
                {1, 0.01, 9, 2, "avx2", "sp", "swaps", false, false, true,
                 "DRAM /  (0.12!) memory 75 of 0.12 over: 75.00 times the roof (DRAM): 9e-07 GB/s is more than memory delivers; possible reasons: too many DRAM bytes were counted (of other programs, or served by a cache), or the time is too short"},
            };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct carm_model m = model;
        m.nroofs = all[i].lone ? 1 : 3;
        wide[0].disturbed = wide[3].disturbed = all[i].disturbed;
        (void)strcpy(wide[3].code, "A");
        if (*all[i].metric) {
            carm_place_prepare_metric(&set, &m, &sets[0], all[i].metric, 8);
        } else {
            carm_place_prepare(&set, &m, &sets[0]);
        }
        struct carm_place_input in = {.flops = all[i].performance,
                                      .bytes = all[i].performance / all[i].intensity,
                                      .threads = all[i].threads,
                                      .isa = all[i].isa,
                                      .precision = all[i].precision,
                                      .elsewhere = all[i].elsewhere};
        assert_string_equal(told(all[i].which, in), all[i].told);
    }
    /* narrower roofs than the point's */
    static const struct {
        const char *isa, *precision, *roofs;
        const char *told;
    } wider[] = {
        {"avx512", "dp", "avx2",
         "fma /  (2 20 40!) compute 1.25 of 40 over: 1.25 times the roof (fma): it computes in avx512, but the roof is for avx2; carm build --isa avx512 measures the right one"},
        {"avx2", "dp", "avx2",
         "fma /  (2 20 40!) compute 1.25 of 40 over: 1.25 times the roof (fma); possible reasons: the roof was measured too low (carm build on a quiet machine), flops were counted that did not run (removed or shared by the compiler), the time is too short, another unit (GPU) computes"},
        {"sse", "dp", "scalar",
         "fma /  (2 20 40!) compute 1.25 of 40 over: 1.25 times the roof (fma): it computes in sse, but the roof is for scalar; carm build --isa sse measures the right one"},
        {"avx512", "dp", "other",
         "fma /  (2 20 40!) compute 1.25 of 40 over: 1.25 times the roof (fma); possible reasons: the roof was measured too low (carm build on a quiet machine), flops were counted that did not run (removed or shared by the compiler), the time is too short, another unit (GPU) computes"},
        {NULL, NULL, "scalar",
         "fma /  (2 20 40!) compute 1.25 of 40 over: 1.25 times the roof (fma); possible reasons: the roof was measured too low (carm build on a quiet machine), flops were counted that did not run (removed or shared by the compiler), the time is too short, another unit (GPU) computes"}};
    struct carm_model m = model;
    m.nroofs = 1;
    for (size_t i = 0; i < sizeof wider / sizeof *wider; i++) {
        (void)strcpy(sets[0].isa, wider[i].roofs);
        carm_place_prepare(&set, &m, &sets[0]);
        assert_string_equal(told(CARM_PLACE_CACHE_AWARE,
                                 (struct carm_place_input){.flops = 50,
                                                           .bytes = 5,
                                                           .threads = 2,
                                                           .isa = wider[i].isa,
                                                           .precision = wider[i].precision}),
                            wider[i].told);
    }
    (void)strcpy(sets[0].isa, "avx512");
}

/* Intervals of flops and bytes; what has no place. */
TEST_BETWEEN(intervals, set_up, NULL)
{
    static struct carm_place p;
    const struct carm_place_input in = {.flops = 4,
                                        .bytes = 40,
                                        .seconds = 1,
                                        .flops_low = 0.5,
                                        .flops_high = 5,
                                        .bytes_low = 20,
                                        .bytes_high = 50};
    assert_ok(carm_place_find(&set, CARM_PLACE_CACHE_AWARE, &in, &p, &err));
    assert_near(p.intensity_low, 0.01, 1e-12);
    assert_near(p.intensity_high, 0.25, 1e-12);
    assert_near(p.share_low, 0.2, 1e-12); /* by bytes: 20 of 100 */
    assert_near(p.share_high, 0.5, 1e-12);
    static const double low[] = {0.5, -1};
    for (int i = 0; i < 2; i++) {
        const struct carm_place_input few = {
            .flops = 0.8, .bytes = 0.9, .seconds = 1, .flops_low = low[i], .bytes_low = low[i]};
        assert_ok(carm_place_find(&set, CARM_PLACE_CACHE_AWARE, &few, &p, &err));
        assert_near(p.share_low, i ? 0.02 : 0.0125, 1e-12);
        assert_near(p.intensity_high, 0.8 / (i ? 0.9 : 0.5), 1e-12);
    }
    static const double bad[][3] = {{0, 1, 1},          {1, -1, 1},        {1, 1, 0},
                                    {1, INFINITY, 1},   {NAN, 1, 1},       {1, 1, INFINITY},
                                    {1e300, 1e-300, 1}, {1e300, 1, 1e-300}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct carm_place_input wrong = {
            .flops = bad[i][0], .bytes = bad[i][1], .seconds = bad[i][2]};
        assert_refused(carm_place_find(&set, CARM_PLACE_ORIGINAL, &wrong, &p, &err), -CARM_EINVAL,
                       "a point needs flops and seconds");
    }
    /* roofs that lack a side */
    static const struct {
        enum carm_place_which which;
        double slope, peak;
        const char *says;
    } sides[] = {
        {0, 0, 1,
         "the model has no memory roof of avx512 dp with 2 threads; carm build measures it"},
        {0, 1, 0,
         "the model has no compute roof of avx512 dp with 2 threads; carm build measures it"},
        {1, 0, 1,
         "the model has no DRAM peak of avx512 dp with 2 threads; carm build without --quick measures it"},
        {1, 1, 0,
         "the model has no DRAM peak or no compute roof of avx512 dp with 2 threads; carm build without --quick measures it"}};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        set.sides[sides[i].which].slope = sides[i].slope;
        set.sides[sides[i].which].peak = sides[i].peak;
        assert_int_equal(carm_place_find(&set, sides[i].which, &in, &p, &err), -CARM_ENOTSUP);
        assert_string_equal(err.text, sides[i].says);
        assert_int_equal(carm_place_intensity(&set, sides[i].which, 1, &p, &err), -CARM_ENOTSUP);
    }
    assert_refused(carm_place_intensity(&set, CARM_PLACE_CACHE_AWARE, 0, &p, &err), -CARM_EINVAL,
                   "greater than zero");
}

/* The optimisations in reach, of 3% and more. */
TEST_BETWEEN(optimisations, set_up, NULL)
{
    static struct carm_place p = {.ngains = 4,
                                  .gains = {{.compute = true, .index = 1, .times = 1.5},
                                            {.index = 0, .times = 1.031},
                                            {.index = 1, .times = 1.029},
                                            {.compute = true, .index = 0, .times = 20},
                                            {.index = 0, .times = 99}}};
    char text[256];
    set.measured =
        (struct carm_ceilings){.memory = {{.name = "near", .step = "far"}, {.name = "x"}},
                               .compute = {{.name = "chain"}, {.name = "no fma", .step = "fuse"}}};
    assert_string_equal(carm_place_gains_text(text, sizeof text, &set, &p),
                        "fuse (no fma) 1.50x; far (near) 1.03x; chain 20.00x");
    p.ngains = 0;
    assert_string_equal(carm_place_gains_text(text, sizeof text, &set, &p), "none");
}
