/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Verdicts as text, each member: advice for each limit, gains, doubts, at both sides of each threshold. */
#include "models/verdict/verdict.h"
#include "tests/unit.h"

enum flag {
    EST = 1,
    MOST = 2,
    SMALL = 4,
    ALIASED = 8,
    APART = 16,
    SATURATED = 32,
    LOCKED = 64,
    INDIRECT = 128,
    OFFSET = 256,
    UNROLLS = 512,
    STRINGS = 1024
};

struct bound {
    enum carm_limit limit;
    double seconds;
    unsigned flags;
    double huge;
};

/* "limit+second? explained; loop low..high, program low..high; advice removes [low..high]" */
static const char *told(const struct carm_verdict *v)
{
    static char text[1024];
    size_t used = (size_t)snprintf(text, sizeof text, "%s+%s%s %.4g; %.4g..%.4g, %.4g..%.4g;",
                                   carm_limit_name(v->limit), carm_limit_name(v->second),
                                   v->estimate ? "?" : "", v->explains, v->loop.low, v->loop.high,
                                   v->program.low, v->program.high);
    for (size_t i = 0; i < v->nadvice; i++) {
        const struct carm_verdict_advice *a = &v->advice[i];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %s %s", i ? "," : "",
                                 carm_advice_name(a->code), carm_limit_name(a->removes));
        if (a->gain.low > 0.0 || a->gain.high > 0.0) {
            used += (size_t)snprintf(text + used, sizeof text - used, " %.4g..%.4g", a->gain.low,
                                     a->gain.high);
        }
    }
    return text;
}

/* Of 10 s, half of the program's time. */
static const char *verdict_of(const struct bound *of, const struct carm_verdict_code *code)
{
    struct carm_bounds b = {.n = 0};
    static struct carm_verdict v;
    for (size_t i = 0; i < 5; i++) {
        struct carm_lower_bound *l =
            carm_bounds_add(&b, of[i].limit, of[i].seconds, of[i].flags & EST, "x");
        if (l) {
            l->at_most = of[i].flags & MOST;
            l->small_pages = of[i].flags & SMALL;
            l->aliased = of[i].flags & ALIASED;
            l->apart = of[i].flags & APART;
            l->saturated = of[i].flags & SATURATED;
            l->locked = of[i].flags & LOCKED;
            l->indirect = of[i].flags & INDIRECT;
            l->offset = of[i].flags & OFFSET;
            l->unrolls = of[i].flags & UNROLLS;
            l->strings = of[i].flags & STRINGS;
            l->huge_seconds = of[i].huge;
        }
    }
    memset(&v, 0x5a, sizeof v);
    carm_verdict_find(&b, 10.0, 0.5, code, &v);
    return told(&v);
}

#define B(limit, ...)                   \
    {                                   \
        CARM_LIMIT_##limit, __VA_ARGS__ \
    }

TEST(advice_for_each_limit)
{
    static const struct {
        struct bound of[5];
        struct carm_verdict_code code;
        const char *told;
    } cases[] = {
        {{B(ISSUE, 9, 0, 0), B(FP, 2, 0, 0)},
         {.scalar = true, .widening = 4},
         "issue+unknown 0.9; 2..4.444, 1.333..1.633; vectorise issue"},
        {{B(ISSUE, 9, 0, 0), B(FP, 2, 0, 0)},
         {.scalar = true, .widening = 4, .body = true},
         "issue+unknown 0.9; 2..5, 1.333..1.667; fewer-instructions issue"},
        {{B(ISSUE, 9, 0, 0), B(FP, 2, 0, 0)},
         {.narrow = true, .widening = 2},
         "issue+unknown 0.9; 2..2.222, 1.333..1.379; widen issue"},
        {{B(ISSUE, 9, 0, 0), B(FP, 2, 0, 0)},
         {.narrow = true, .body = true},
         "issue+unknown 0.9; 2..5, 1.333..1.667; fewer-instructions issue"},
        {{B(ISSUE, 9, 0, 0), B(FP, 2, 0, 0)},
         {.math = true, .scalar = true},
         "issue+unknown 0.9; 2..5, 1.333..1.667; vector-math issue"},
        {{B(L2, 9, 0, 0), B(FP, 2, 0, 0)},
         {.math = true, .scalar = true},
         "l2+unknown 0.9; 2..5, 1.333..1.667; block l2"},
        {{B(FP, 9, 0, 0), B(ISSUE, 2, 0, 0)},
         {.scalar = true, .widening = 1},
         "fp+unknown 0.9; 2..5, 1.333..1.667; vectorise fp"},
        {{B(FP, 9, 0, 0), B(ISSUE, 2, 0, 0)},
         {.widening = 1.01},
         "fp+unknown 0.9; 1..1, 1..1; nothing fp"},
        {{B(INTEGER, 9, 0, 0), B(ISSUE, 2, 0, 0)},
         {.body = true},
         "integer+unknown 0.9; 1..1, 1..1; nothing integer"},
        {{B(LOADS, 9, 0, 0), B(ISSUE, 2, 0, 0)},
         {.whole_lines = 0.89, .scalar = true},
         "loads+unknown 0.9; 1.248..1.248, 1.11..1.11; align loads"},
        {{B(LOADS, 9, 0, 0), B(ISSUE, 2, 0, 0)},
         {.whole_lines = 0.91, .scalar = true},
         "loads+unknown 0.9; 2..5, 1.333..1.667; vectorise loads"},
        {{B(STORES, 9, 0, 0), B(ISSUE, 2, 0, 0)},
         {.whole_stores = 0.5, .whole_lines = 0.91},
         "stores+unknown 0.9; 2..2.222, 1.333..1.379; align stores"},
        {{B(L1, 9, 0, 0), B(ISSUE, 2, 0, 0)},
         {.whole_stores = 0.5, .whole_lines = 0.5},
         "l1+unknown 0.9; 1..1, 1..1; nothing l1"},
        {{B(DIVIDER, 9, 0, 0), B(ISSUE, 2, 0, 0)},
         {.scalar = true, .widening = 2},
         "divider+unknown 0.9; 2..2.222, 1.333..1.379; fewer-divisions divider, vectorise divider"},
        {{B(DIVIDER, 9, 0, 0), B(ISSUE, 2, 0, 0)},
         {.scalar = true, .body = true, .widening = 2},
         "divider+unknown 0.9; 2..5, 1.333..1.667; fewer-divisions divider"},
        {{B(DIVIDER, 9, 0, 0), B(ISSUE, 2, 0, 0)},
         {.widening = 2},
         "divider+unknown 0.9; 2..2.222, 1.333..1.379; fewer-divisions divider"},
        {{B(CHAIN, 9, 0, 0), B(ISSUE, 2, 0, 0)},
         {.sums = true, .scalar = true, .widening = 2},
         "chain+unknown 0.9; 2..10, 1.333..1.818; break-chain chain, vectorise chain"},
        {{B(CHAIN, 9, 0, 0), B(ISSUE, 2, 0, 0)},
         {.sums = true, .scalar = true, .widening = 1},
         "chain+unknown 0.9; 2..5, 1.333..1.667; break-chain chain"},
        {{B(CHAIN, 9, 0, 0), B(ISSUE, 2, 0, 0)},
         {.scalar = true, .widening = 2, .body = true},
         "chain+unknown 0.9; 2..5, 1.333..1.667; interleave chain"},
        {{B(CHAIN, 9, 0, 0), B(ISSUE, 2, UNROLLS, 0)},
         {.widening = 2},
         "chain+unknown 0.9; 2..inf, 1.333..2; interleave chain"},
        {{B(CHAIN, 9, LOCKED, 0), B(LATENCY, 0.5, 0, 0)},
         {.scalar = true},
         "chain+unknown 0.9; 3.077..20, 1.509..1.905; fewer-atomics chain"},
        {{B(L2, 9, 0, 0), B(L3, 3, 0, 0), B(ISSUE, 2, 0, 0)},
         {.plain_stores = true},
         "l2+unknown 0.9; 1.429..5, 1.176..1.667; block l2"},
        {{B(L3, 9, 0, 0), B(L2, 3, 0, 0)},
         {.strided = true, .used = 0.25},
         "l3+unknown 0.9; 1.429..4.444, 1.176..1.633; unit-stride l3"},
        {{B(DRAM, 9, 0, 0), B(ISSUE, 2, 0, 0)},
         {.plain_stores = true},
         "dram+unknown 0.9; 2..5, 1.333..1.667; block dram, stream-stores dram"},
        {{B(DRAM, 9, 0, 0), B(ISSUE, 2, 0, 0), B(LATENCY, 3, 0, 0)},
         {.strided = true, .used = 0.5, .dense = 0.75, .plain_stores = true},
         "dram+unknown 0.9; 1.429..2.222, 1.176..1.379; unit-stride dram, stream-stores dram"},
        {{B(DRAM, 9, 0, 0), B(ISSUE, 0.1, 0, 0), B(TLB, 3, 0, 0)},
         {.strided = true, .used = 0.5, .dense = 0.25},
         "dram+unknown 0.9; 1.429..4.444, 1.176..1.633; unit-stride dram"},
        {{B(LATENCY, 9, 0, 0), B(ISSUE, 2, 0, 0), B(DRAM, 3, 0, 0)},
         {.independent = 2.5},
         "latency+unknown 0.9; 1.429..3.333, 1.176..1.538; prefetch latency"},
        {{B(LATENCY, 9, 0, 0), B(ISSUE, 2, 0, 0), B(DRAM, 1, 0, 0)},
         {.independent = 4},
         "latency+unknown 0.9; 2..2.5, 1.333..1.429; prefetch latency"},
        {{B(LATENCY, 9, SATURATED, 0), B(ISSUE, 2, 0, 0)},
         {.strided = true, .used = 0.1},
         "latency+unknown 0.9; 2..5, 1.333..1.667; unit-stride latency"},
        {{B(LATENCY, 9, SATURATED, 0), B(ISSUE, 2, 0, 0)},
         {.scalar = true},
         "latency+unknown 0.9; 2..5, 1.333..1.667; partition latency"},
        {{B(LATENCY, 9, ALIASED, 0), B(ISSUE, 2, 0, 0)},
         {.strided = true, .used = 0.1},
         "latency+unknown 0.9; 2..5, 1.333..1.667; unit-stride latency, pad latency"},
        {{B(LATENCY, 9, EST | MOST | APART, 0), B(ISSUE, 2, 0, 0), B(CHAIN, 4, LOCKED, 0)},
         {.scalar = true},
         "latency+unknown? 1; 1..5, 1..1.667; apart latency"},
        {{B(LATENCY, 9, EST | MOST | LOCKED, 0), B(ISSUE, 2, 0, 0), B(CHAIN, 4, LOCKED, 0)},
         {.scalar = true},
         "latency+unknown? 1; 1..2.5, 1..1.429; fewer-atomics latency"},
        {{B(TLB, 9, SMALL, 4), B(ISSUE, 2, 0, 0), B(DRAM, 3, SMALL, 1)},
         {.scalar = true},
         "tlb+unknown 0.9; 1.429..2.5, 1.176..1.429; huge-pages tlb 2..2.5"},
        {{B(TLB, 9, SMALL, 4), B(ISSUE, 2, 0, 0), B(DRAM, 3, SMALL, 1)},
         {.strided = true, .used = 0.125},
         "tlb+unknown 0.9; 1.429..5, 1.176..1.667; unit-stride tlb, huge-pages tlb 2..2.5"},
        {{B(BRANCHES, 9, EST, 0), B(ISSUE, 2, 0, 0)},
         {.scalar = true},
         "branches+unknown? 1; 2..5, 1.333..1.667; no-branch branches"},
        {{B(BRANCHES, 9, EST | INDIRECT, 0), B(ISSUE, 2, 0, 0)},
         {.scalar = true},
         "branches+unknown? 1; 2..5, 1.333..1.667;"},
        {{B(FORWARDING, 9, 0, 0), B(ISSUE, 4, 0, 0), B(FP, 1, 0, 0), B(DIVIDER, 1.5, 0, 0),
          B(DRAM, 0.5, 0, 0)},
         {.chain_left = 1.25},
         "forwarding+unknown 0.9; 1.111..6.667, 1.053..1.739; keep-in-register forwarding"},
        {{B(FORWARDING, 9, 0, 0), B(ISSUE, 4, 0, 0), B(FP, 1, 0, 0)},
         {.chain_left = 1.25},
         "forwarding+unknown 0.9; 1.111..8, 1.053..1.778; keep-in-register forwarding"},
        {{B(FORWARDING, 9, EST | OFFSET, 0), B(ISSUE, 2, 0, 0)},
         {.scalar = true},
         "forwarding+unknown? 1; 2..inf, 1.333..2; shift forwarding"},
        {{B(KERNEL, 9, 0, 0)},
         {.faults = 0.51},
         "kernel+unknown 0.9; 1..inf, 1..2; fewer-faults kernel"},
        {{B(KERNEL, 9, 0, 0)},
         {.faults = 0.5},
         "kernel+unknown 0.9; 1..inf, 1..2; less-kernel kernel"},
        {{B(KERNEL, 9, 0, 0)},
         {.faults = 0.101},
         "kernel+unknown 0.9; 1..inf, 1..2; less-kernel kernel"},
        {{B(KERNEL, 9, 0, 0)},
         {.faults = 0.1},
         "kernel+unknown 0.9; 1..inf, 1..2; fewer-calls kernel"},
        {{B(WAITING, 9, 0, 0), B(ISSUE, 1, 0, 0)},
         {.scalar = true},
         "waiting+unknown 0.9; 1..10, 1..1.818; balance waiting"},
        {{B(ISSUE, 9, 0, 0), B(L1, 3, STRINGS, 0)},
         {.repeats = true},
         "issue+unknown 0.9; 1..3.333, 1..1.538; fewer-instructions issue"},
        {{B(ISSUE, 9, 0, 0), B(L1, 3, 0, 0)},
         {.repeats = true},
         "issue+unknown 0.9; 1..inf, 1..2; fewer-instructions issue"},
        {{B(UNKNOWN, 0, 0, 0)}, {.scalar = true}, "unknown+unknown 0; 1..1, 1..1;"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(verdict_of(cases[i].of, &cases[i].code), cases[i].told);
    }
}

TEST(thresholds)
{
    static const struct {
        struct bound of[5];
        struct carm_verdict_code code;
        const char *told;
    } cases[] = {
        /* enough is explained: three quarters */
        {{B(FP, 7.5, 0, 0)}, {.scalar = true}, "fp+unknown 0.75; 4..inf, 1.6..2; vectorise fp"},
        {{B(FP, 7.49, 0, 0)}, {.scalar = true}, "unknown+fp 0.749; 1..1, 1..1;"},
        {{B(FP, 12, 0, 0)}, {.scalar = true}, "fp+unknown 1; 1..inf, 1..2; vectorise fp"},
        {{B(FP, 12.01, 0, 0), B(ISSUE, 1, 0, 0)},
         {.scalar = true},
         "unknown+issue 0.1; 1..1, 1..1;"},
        /* two of nine tenths of each other; of those with the loop's counter the other one */
        {{B(FP, 9, 0, 0), B(ISSUE, 8.11, 0, 0)},
         {.scalar = true},
         "fp+issue 0.9; 1..1.233, 1..1.104; vectorise fp"},
        {{B(FP, 9, 0, 0), B(ISSUE, 8.09, 0, 0)},
         {.scalar = true},
         "fp+unknown 0.9; 1..1.236, 1..1.106; vectorise fp"},
        {{B(ISSUE, 9, UNROLLS, 0), B(FP, 8.83, 0, 0)},
         {.scalar = true},
         "fp+issue 0.883; 1..inf, 1..2; vectorise fp"},
        {{B(ISSUE, 9, UNROLLS, 0), B(FP, 8.81, 0, 0)},
         {.scalar = true},
         "issue+fp 0.9; 1..1.135, 1..1.063; vectorise issue"},
        {{B(ISSUE, 9, 0, 0), B(FP, 8.9, 0, 0)},
         {.scalar = true},
         "issue+fp 0.9; 1..1.124, 1..1.058; vectorise issue"},
        /* an estimate of branches beside a bound that explains less than nine tenths */
        {{B(FP, 8.9, 0, 0), B(BRANCHES, 8.95, EST, 0)},
         {.scalar = true},
         "fp+branches 0.89; 9.091..inf, 1.802..2; vectorise fp"},
        {{B(FP, 9.1, 0, 0), B(BRANCHES, 9.2, EST, 0)},
         {.scalar = true},
         "fp+unknown 0.91; 11.11..inf, 1.835..2; vectorise fp"},
        {{B(FP, 8.9, 0, 0), B(BRANCHES, 8.8, EST, 0)},
         {.scalar = true},
         "fp+unknown 0.89; 9.091..inf, 1.802..2; vectorise fp"},
        {{B(FP, 8.9, 0, 0), B(FORWARDING, 8.95, EST, 0)},
         {.scalar = true},
         "fp+unknown 0.89; 9.091..inf, 1.802..2; vectorise fp"},
        /* estimates add to the largest bound, unless they are of its cause */
        {{B(FP, 3, 0, 0), B(BRANCHES, 4.5, EST, 0)},
         {.scalar = true},
         "branches+unknown? 0.75; 1..3.333, 1..1.538; no-branch branches"},
        {{B(FP, 3, 0, 0), B(BRANCHES, 4.49, EST, 0)},
         {.scalar = true},
         "unknown+branches? 0.449; 1..1, 1..1;"},
        {{B(FP, 3, 0, 0), B(BRANCHES, 2.9, EST, 0)},
         {.scalar = true},
         "unknown+fp 0.3; 1..1, 1..1;"},
        {{B(FP, 6, 0, 0), B(BRANCHES, 5.9, EST, 0)},
         {.scalar = true},
         "unknown+fp 0.6; 1..1, 1..1;"},
        {{B(FORWARDING, 3, 0, 0), B(FORWARDING, 5, EST, 0)},
         {.scalar = true},
         "unknown+forwarding? 0.5; 1..1, 1..1;"},
        {{B(FORWARDING, 3, 0, 0), B(FORWARDING, 8, EST, 0)},
         {.scalar = true},
         "forwarding+unknown? 0.8; 5..inf, 1.667..2; keep-in-register forwarding"},
        {{B(BRANCHES, 20, EST, 0), B(FP, 3, 0, 0)},
         {.scalar = true},
         "branches+unknown? 1; 1..3.333, 1..1.538; no-branch branches"},
        {{B(BRANCHES, 20.1, EST, 0), B(FP, 3, 0, 0)},
         {.scalar = true},
         "unknown+fp 0.3; 1..1, 1..1;"},
        {{B(BRANCHES, 12.1, EST | INDIRECT, 0), B(FP, 3, 0, 0)},
         {.scalar = true},
         "unknown+fp 0.3; 1..1, 1..1;"},
        {{B(LATENCY, 30, EST | MOST, 0), B(FP, 3, 0, 0)},
         {.scalar = true},
         "latency+unknown? 1; 1..3.333, 1..1.538; prefetch latency"},
        /* mispredictions that wait for the same lines: from half of the time on */
        {{B(LATENCY, 5, 0, 0), B(BRANCHES, 6, EST | MOST, 0)},
         {.scalar = true},
         "latency+branches? 1; 1.6..inf, 1.231..2; prefetch latency"},
        {{B(LATENCY, 4.99, 0, 0), B(BRANCHES, 6, EST | MOST, 0)},
         {.scalar = true},
         "branches+unknown? 1; 1..2.004, 1..1.334; no-branch branches"},
        {{B(LATENCY, 6, 0, 0), B(BRANCHES, 1.5, EST | MOST, 0)},
         {.scalar = true},
         "latency+branches? 0.75; 1.818..inf, 1.29..2; prefetch latency"},
        {{B(LATENCY, 6, 0, 0), B(BRANCHES, 1.49, EST | MOST, 0)},
         {.scalar = true},
         "unknown+latency 0.6; 1..1, 1..1;"},
        {{B(LATENCY, 6, 0, 0), B(BRANCHES, 1.6, EST, 0)},
         {.scalar = true},
         "unknown+latency 0.6; 1..1, 1..1;"},
        {{B(ISSUE, 6, 0, 0), B(BRANCHES, 1.6, EST | MOST, 0)},
         {.scalar = true},
         "unknown+issue 0.6; 1..1, 1..1;"},
        /* another hardware thread, and slower memory */
        {{B(FP, 5, 0, 0), B(DRAM, 0.5, 0, 0)},
         {.company = 0.5},
         "fp+unknown? 0.75; 2.5..13.33, 1.429..1.86;"},
        {{B(FP, 5, 0, 0), B(DRAM, 0.5, 0, 0)}, {.company = 0.49}, "unknown+fp 0.5; 1..1, 1..1;"},
        {{B(LOADS, 7, 0, 0), B(DRAM, 0.5, 0, 0)},
         {.company = 1},
         "loads+unknown? 1; 7..14, 1.75..1.867;"},
        {{B(DIVIDER, 4, 0, 0), B(CHAIN, 5, 0, 0)},
         {.company = 1},
         "divider+unknown? 0.8; 1..1, 1..1; fewer-divisions divider"},
        {{B(STORES, 4, 0, 0), B(L3, 5, 0, 0)}, {.company = 1}, "stores+unknown? 0.8; 1..1, 1..1;"},
        {{B(INTEGER, 4, 0, 0)}, {.company = 1}, "integer+unknown? 0.8; 5..inf, 1.667..2;"},
        {{B(L1, 4, 0, 0)}, {.company = 1}, "l1+unknown? 0.8; 5..inf, 1.667..2;"},
        {{B(L2, 4, 0, 0)},
         {.company = 1, .scalar = true},
         "l2+unknown? 0.8; 5..inf, 1.667..2; block l2"},
        {{B(FP, 4, EST, 0)}, {.company = 1}, "unknown+unknown 0; 1..1, 1..1;"},
        {{B(DRAM, 5, 0, 0), B(ISSUE, 0.5, 0, 0)},
         {.slower = 1.5},
         "dram+unknown? 0.75; 2.5..13.33, 1.429..1.86; block dram"},
        {{B(DRAM, 5, 0, 0), B(ISSUE, 0.5, 0, 0)},
         {.slower = 1.49},
         "unknown+dram 0.5; 1..1, 1..1;"},
        {{B(LATENCY, 5, 0, 0), B(ISSUE, 0.5, 0, 0)},
         {.slower = 3, .independent = 1},
         "latency+unknown? 1; 4..5, 1.6..1.667; prefetch latency"},
        {{B(TLB, 5, 0, 0), B(ISSUE, 0.5, 0, 0)}, {.slower = 3}, "tlb+unknown? 1; 1..1, 1..1;"},
        {{B(L3, 5, 0, 0), B(ISSUE, 0.5, 0, 0)}, {.slower = 3}, "unknown+l3 0.5; 1..1, 1..1;"},
        {{B(DRAM, 7.6, 0, 0), B(ISSUE, 0.5, 0, 0)},
         {.slower = 3},
         "dram+unknown 0.76; 2.941..20, 1.493..1.905; block dram"},
        /* bounds of shared memory up to four times the time */
        {{B(DRAM, 39.9, 0, 0), B(ISSUE, 0.5, 0, 0)},
         {.scalar = true},
         "dram+unknown? 1; 1..20, 1..1.905; block dram"},
        {{B(DRAM, 40, 0, 0), B(ISSUE, 0.5, 0, 0)},
         {.scalar = true},
         "unknown+issue 0.05; 1..1, 1..1;"},
        {{B(L3, 30, 0, 0), B(LATENCY, 20, 0, 0), B(DRAM, 13, SMALL, 0), B(L2, 14, 0, 0)},
         {.scalar = true},
         "latency+unknown? 1; 1..inf, 1..2; prefetch latency"},
        {{B(LATENCY, 20, EST, 0), B(ISSUE, 0.5, 0, 0)},
         {.scalar = true},
         "unknown+issue 0.05; 1..1, 1..1;"},
        /* one after the other: parts from a tenth of the time on */
        {{B(DRAM, 6.5, 0, 0), B(ISSUE, 1, 0, 0)},
         {.scalar = true},
         "dram+issue? 0.75; 1.818..10, 1.29..1.818; block dram"},
        {{B(DRAM, 6.9, 0, 0), B(ISSUE, 0.99, 0, 0)},
         {.scalar = true},
         "unknown+dram 0.69; 1..1, 1..1;"},
        {{B(L2, 3, 0, 0), B(L3, 2.5, 0, 0), B(TLB, 1, 0, 0), B(ISSUE, 1.1, 0, 0)},
         {.scalar = true},
         "l2+l3? 0.76; 1..9.091, 1..1.802; block l2"},
        {{B(L2, 3, 0, 0), B(L3, 2.5, 0, 0), B(TLB, 1, 0, 0), B(LATENCY, 1.1, SMALL, 0.9)},
         {.scalar = true},
         "unknown+l2 0.3; 1..1, 1..1;"},
        {{B(L2, 3, 0, 0), B(L3, 2.5, 0, 0), B(TLB, 1, 0, 0), B(LATENCY, 1.1, SMALL, 1.01)},
         {.scalar = true},
         "l2+l3? 0.751; 1..inf, 1..2; block l2"},
        {{B(DRAM, 6, 0, 0), B(ISSUE, 3, 0, 0), B(BRANCHES, 6.5, EST | INDIRECT, 0)},
         {.math = true},
         "branches+unknown? 1; 1..1.667, 1..1.25;"},
        /* the order of accesses is known: from a quarter of the time on, of less than half of each line */
        {{B(L3, 2.5, 0, 0)},
         {.strided = true, .used = 0.49},
         "unknown+l3 0.25; 1.333..8.163, 1.143..1.782; unit-stride l3"},
        {{B(L3, 2.49, 0, 0)}, {.strided = true, .used = 0.49}, "unknown+l3 0.249; 1..1, 1..1;"},
        {{B(L3, 2.5, 0, 0)}, {.strided = true, .used = 0.5}, "unknown+l3 0.25; 1..1, 1..1;"},
        {{B(L3, 2.5, 0, 0)}, {.used = 0.49}, "unknown+l3 0.25; 1..1, 1..1;"},
        {{B(DRAM, 9, 0, 0), B(L3, 4, 0, 0)},
         {.used = 0.4},
         "dram+unknown 0.9; 1.111..inf, 1.053..2; block dram"},
        {{B(TLB, 5, SMALL, 2)},
         {.strided = true, .used = 0.25, .math = true},
         "unknown+tlb 0.5; 2..inf, 1.333..2; vector-math unknown, unit-stride tlb, huge-pages tlb 1..5"},
        {{B(FP, 5, 0, 0)}, {.math = true}, "unknown+fp 0.5; 1..1, 1..1; vector-math unknown"},
        /* gains: what cannot be known, of locks, of pages */
        {{B(LATENCY, 9, MOST, 0), B(ISSUE, 1, 0, 0)},
         {.independent = 2},
         "latency+unknown 0.9; 1..5, 1..1.667; prefetch latency"},
        {{B(FP, 9.5, 0, 0), B(ISSUE, 9, 0, 0), B(CHAIN, 8, 0, 0)},
         {.scalar = true},
         "fp+issue 0.95; 1..1.111, 1..1.053; vectorise fp"},
        {{B(LATENCY, 9, SMALL | SATURATED, 6), B(TLB, 2, SMALL, 1), B(ISSUE, 1, 0, 0)},
         {.scalar = true},
         "latency+unknown 0.9; 2..10, 1.333..1.818; partition latency, huge-pages latency 1.429..1.667"},
        {{B(LATENCY, 9, SMALL | SATURATED, 0), B(ISSUE, 1, 0, 0)},
         {.scalar = true},
         "latency+unknown 0.9; 3.333..10, 1.538..1.818; partition latency, huge-pages latency"},
        {{B(LATENCY, 11, SMALL | SATURATED, 10.5), B(ISSUE, 1, 0, 0)},
         {.scalar = true},
         "latency+unknown 1; 5..10, 1.667..1.818; partition latency, huge-pages latency 1..1"},
        {{B(LATENCY, 8.5, SMALL | SATURATED, 3), B(BRANCHES, 8.6, EST, 0)},
         {.scalar = true},
         "latency+branches 0.85; 6.667..inf, 1.739..2; partition latency, huge-pages latency 1..3.333"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(verdict_of(cases[i].of, &cases[i].code), cases[i].told);
    }
}

/* A change that was tried: 5% and 10% are within the error of the method. */
TEST(tried_changes)
{
    static const struct {
        struct carm_ci ci;
        size_t nadvice;
        bool measured;
        const char *told;
    } cases[] = {
        {{1.051, 1.2},
         2,
         false,
         "latency+unknown 1; 1.051..1.2, 1.025..1.091; prefetch latency, block dram measured, was 1.5..6"},
        {{1.05, 1.2},
         2,
         false,
         "latency+unknown 1; 1.5..6, 1.2..1.714; prefetch latency, block dram 7..8"},
        {{0.9, 1.099}, 2, false, "latency+unknown 1; 1.5..6, 1.2..1.714; block dram 7..8"},
        {{0.9, 1.1},
         2,
         false,
         "latency+unknown 1; 1.5..6, 1.2..1.714; prefetch latency, block dram 7..8"},
        {{0.9, 1.0}, 1, false, "latency+unknown 1; 1..1, 1..1; 7..8"},
        {{2, 3},
         4,
         false,
         "latency+unknown 1; 2..3, 1.333..1.5; prefetch latency, block dram, pad dram, align dram measured, was 1.5..6"},
        {{2, 3},
         0,
         false,
         "latency+unknown 1; 2..3, 1.333..1.5; prefetch latency measured, was 1.5..6"},
        {{2, 3},
         1,
         true,
         "latency+unknown 1; 2..3, 1.333..1.5; prefetch latency measured, was 7..8"},
        {{0.9, 1.0}, 0, false, "latency+unknown 1; 1.5..6, 1.2..1.714; 7..8"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_verdict v = {.limit = CARM_LIMIT_LATENCY,
                                 .second = CARM_LIMIT_UNKNOWN,
                                 .explains = 1,
                                 .loop = {1.5, 6},
                                 .removal = {7, 8},
                                 .measured = cases[i].measured,
                                 .nadvice = cases[i].nadvice,
                                 .advice = {{CARM_ADVICE_PREFETCH, CARM_LIMIT_LATENCY, {0, 0}},
                                            {CARM_ADVICE_BLOCK, CARM_LIMIT_DRAM, {0, 0}},
                                            {CARM_ADVICE_PAD, CARM_LIMIT_DRAM, {0, 0}},
                                            {CARM_ADVICE_ALIGN, CARM_LIMIT_DRAM, {0, 0}}}};
        carm_verdict_measured(&v, CARM_ADVICE_PREFETCH, cases[i].ci, 0.5);
        char text[1200];
        (void)snprintf(text, sizeof text, "%s %s%g..%g", told(&v),
                       v.measured ? "measured, was " : "", v.removal.low, v.removal.high);
        assert_string_equal(text, cases[i].told);
    }
    static const struct {
        double longest, mean;
        size_t nadvice;
        const char *told;
    } unequal[] = {
        {1.26, 1, 1, "dram+unknown 0; 0..0, 0..0; block dram, balance waiting 1..1.26"},
        {1.25, 1, 1, "dram+unknown 0; 0..0, 0..0; block dram"},
        {0.63, 0.5, 0, "dram+unknown 0; 0..0, 0..0; balance waiting 1..1.26"},
        {5, 0, 1, "dram+unknown 0; 0..0, 0..0; block dram"},
        {5, -1, 1, "dram+unknown 0; 0..0, 0..0; block dram"},
        {5, 1, 4, "dram+unknown 0; 0..0, 0..0; block dram, pad dram, pad dram, pad dram"},
        {5, 1, 2, "dram+unknown 0; 0..0, 0..0; block dram, balance dram"}};
    for (size_t i = 0; i < sizeof unequal / sizeof *unequal; i++) {
        struct carm_verdict v = {.limit = CARM_LIMIT_DRAM,
                                 .second = CARM_LIMIT_UNKNOWN,
                                 .nadvice = unequal[i].nadvice,
                                 .advice = {{CARM_ADVICE_BLOCK, CARM_LIMIT_DRAM, {0, 0}},
                                            {CARM_ADVICE_BALANCE, CARM_LIMIT_DRAM, {0, 0}},
                                            {CARM_ADVICE_PAD, CARM_LIMIT_DRAM, {0, 0}},
                                            {CARM_ADVICE_PAD, CARM_LIMIT_DRAM, {0, 0}}}};
        if (unequal[i].nadvice == 4) {
            v.advice[1].code = CARM_ADVICE_PAD;
        }
        carm_verdict_unequal(&v, unequal[i].longest, unequal[i].mean);
        assert_string_equal(told(&v), unequal[i].told);
    }
    struct carm_verdict v = {.limit = CARM_LIMIT_DRAM,
                             .nadvice = 1,
                             .advice = {{CARM_ADVICE_BALANCE, CARM_LIMIT_WAITING, {0, 0}}}};
    assert_int_equal(carm_verdict_first(&v), CARM_ADVICE_COUNT); /* of another limit */
    v.limit = CARM_LIMIT_WAITING;
    assert_int_equal(carm_verdict_first(&v), CARM_ADVICE_BALANCE);
    v.nadvice = 0;
    assert_int_equal(carm_verdict_first(&v), CARM_ADVICE_COUNT);
}

TEST(sentences)
{
    static const struct {
        struct carm_verdict_kept v;
        const char *told;
    } kept[] = {
        {{CARM_LIMIT_DRAM, CARM_LIMIT_UNKNOWN, false, 0.934, {1.2, 12}, CARM_ADVICE_BLOCK},
         "DRAM bandwidth: limited by DRAM bandwidth for 93% of its time: block the loops, so that data is used again while it is in a nearer cache, 1.2..12x"},
        {{CARM_LIMIT_DRAM, CARM_LIMIT_FP, false, 0.9, {1, 1}, CARM_ADVICE_BLOCK},
         "DRAM bandwidth and floating-point and vector units: limited by DRAM bandwidth and floating-point and vector units for 90% of its time: block the loops, so that data is used again while it is in a nearer cache"},
        {{CARM_LIMIT_DRAM, CARM_LIMIT_BRANCHES, true, 0.9, {1, 1}, CARM_ADVICE_COUNT},
         "maybe DRAM bandwidth and maybe mispredicted branches: may be limited by DRAM bandwidth and maybe mispredicted branches for 90% of its time"},
        {{CARM_LIMIT_KERNEL, CARM_LIMIT_UNKNOWN, false, 0.9, {1, 3}, CARM_ADVICE_FEWER_FAULTS},
         "the kernel (page faults): limited by the kernel (page faults) for 90% of its time: fewer page faults: reuse memory, huge pages, up to 3x"},
        {{CARM_LIMIT_FORWARDING, CARM_LIMIT_UNKNOWN, true, 0.9, {2, 3}, CARM_ADVICE_SHIFT},
         "maybe stores 4 KiB from loads: may be limited by stores 4 KiB from loads for 90% of its time: move one of the arrays by 2 KiB, so that no store is a multiple of 4 KiB before a load, 2..3x"},
        {{CARM_LIMIT_CHAIN, CARM_LIMIT_FP, false, 0.9, {2, 3}, CARM_ADVICE_FEWER_ATOMICS},
         "dependent operations (atomic): limited by dependent operations (atomic) for 90% of its time: fewer atomic operations: let each thread count for itself, and add up at the end, 2..3x"},
        {{CARM_LIMIT_UNKNOWN, CARM_LIMIT_UNKNOWN, false, 0, {1, 1}, CARM_ADVICE_COUNT},
         "not known: its limit is not known"},
        {{CARM_LIMIT_UNKNOWN, CARM_LIMIT_L3, false, 0.25, {1, 4}, CARM_ADVICE_UNIT_STRIDE},
         "not known (L3 bandwidth): limited by L3 bandwidth for 25% of its time, the rest is not known; may help: walk the data in the order in which it lies: swap the loops, or the layout, up to 4x"},
        {{CARM_LIMIT_UNKNOWN, CARM_LIMIT_L3, true, 0.249, {1, 4}, CARM_ADVICE_UNIT_STRIDE},
         "not known (maybe L3 bandwidth): its limit is not known; may help: walk the data in the order in which it lies: swap the loops, or the layout, up to 4x"},
        {{CARM_LIMIT_UNKNOWN, CARM_LIMIT_L3, true, 0.3, {1, 1}, CARM_ADVICE_COUNT},
         "not known (maybe L3 bandwidth): may be limited by L3 bandwidth for 30% of its time, the rest is not known"},
    };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        char by[160], all[400], text[600];
        (void)snprintf(text, sizeof text, "%s: %s",
                       carm_verdict_limited_by(by, sizeof by, &kept[i].v),
                       carm_verdict_text(all, sizeof all, &kept[i].v));
        assert_string_equal(text, kept[i].told);
    }
}
