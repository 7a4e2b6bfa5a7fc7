/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All bounds of an iteration, with their origins: rates are round, and the clock is 1 GHz, so that ns are cycles. */
#include "models/latency.h"
#include "models/verdict/bounds.h"
#include "tests/unit.h"

static const struct carm_microarchitecture theory = {
    .issue = 4.0,
    .reorder = 100,
    .vector_queue = 50,
    .dispatch_integers = 3,
    .widths = {{.loads = 2, .stores = 1, .accesses = 4},
               {.loads = 2, .stores = 1, .accesses = 4},
               {.loads = 2, .stores = 1, .accesses = 2},
               {.loads = 1, .stores = 0.5, .accesses = 1}},
    .core = {{"add", "scalar", "dp", 3, 0.5},
             {"mul", "", "", 4, 0.25},
             {"div", "scalar", "dp", 13, 4},
             {"int-add", "", "", 1, 0.25},
             {"int-mul", "", "", 3, 1},
             {"int-div", "", "", 20, 10},
             {"branch-taken", "", "", 0, 2},
             {"branch-mispredicted", "", "", 16, 0},
             {"forward-straddling", "", "", 19, 0},
             {"logic", "", "", 1, 0.5},
             {"shuffle", "", "", 1, 1}},
    .ncore = 11};
/* add and issue are measured, and a conversion there and back; a division by the model is of no time */
static struct carm_core_figure core[] = {
    {.kind = CARM_CORE_FP_ADD, .isa = "avx2", .precision = "dp", .throughput = 0.4},
    {.kind = CARM_CORE_ISSUE, .throughput = 0.2},
    {.kind = CARM_CORE_CONVERT_INT, .throughput = 3.0, .latency = 8.0},
    {.kind = CARM_CORE_LOCK_ADD, .latency = 18.0},
    {.kind = CARM_CORE_LINE_SPLIT, .isa = "avx2", .precision = "dp", .throughput = 2.0},
    {.kind = CARM_CORE_LINE_SPLIT_STORE, .isa = "avx2", .precision = "dp", .throughput = 5.0},
    {.kind = CARM_CORE_ALIAS_4K, .throughput = 6.0},
    {.kind = CARM_CORE_INDIRECT_MISPREDICTED, .latency = 20.0}};
/* bandwidths in byte/s: L2 1:0 64, 0:1 16; DRAM 1:0 8, 1:1 6, update 5 */
static struct carm_memory_roof memory[] = {{.level = "L1", .ldst = "1:0", .bytes_per_cycle = 64.0},
                                           {.level = "L1", .ldst = "0:1", .bytes_per_cycle = 8.0},
                                           {.level = "L2", .ldst = "1:0", .bandwidth = 64e9},
                                           {.level = "L2", .ldst = "0:1", .bandwidth = 16e9},
                                           {.level = "L3", .ldst = "1:0", .bandwidth = 32e9},
                                           {.level = "DRAM", .ldst = "1:0", .bandwidth = 8e9},
                                           {.level = "DRAM", .ldst = "1:1", .bandwidth = 6e9},
                                           {.level = "DRAM", .ldst = "update", .bandwidth = 5e9},
                                           {.level = "DRAM", .ldst = "odd", .bandwidth = 99e9},
                                           {.level = "DRAM", .ldst = "1:", .bandwidth = 99e9},
                                           {.level = "DRAM", .ldst = "1:0x", .bandwidth = 99e9}};
static struct carm_compute_roof mixed[] = {
    {.op = "mad", .rate = 3.0}, {.op = "add", .rate = 2.0}, {.op = "mul", .rate = 2.0}};
static struct carm_roofs roofs[] = {
    {.isa = "avx2",
     .precision = "dp",
     .threads = 2,
     .memory = memory,
     .nmemory = 11,
     .compute = mixed,
     .ncompute = 3},
    {.isa = "sse", .precision = "sp", .threads = 1, .memory = memory, .nmemory = 2}};
static const struct carm_model model = {.core = core, .ncore = 8, .roofs = roofs, .nroofs = 2};
static struct carm_in_flight in_flight[] = {
    {.level = "L3", .code = "scalar", .page_bytes = 2 << 20, .rate = 1e9},
    {.level = "DRAM", .code = "scalar", .page_bytes = 2 << 20, .rate = 0.1e9}};
static const struct carm_model flights = {.in_flight = in_flight, .nin_flight = 2};

/* "limit cycles flags: origin", a line for each bound, from the largest. */
static const char *told(const struct carm_bounds *b)
{
    static char text[4096];
    text[0] = '\0';
    for (size_t i = 0; i < b->n; i++) {
        const struct carm_lower_bound *l = &b->of[i];
        const struct {
            bool is;
            const char *word;
        } flags[] = {
            {l->estimate, " estimate"}, {l->at_most, " at-most"},   {l->small_pages, " small"},
            {l->aliased, " aliased"},   {l->apart, " apart"},       {l->saturated, " saturated"},
            {l->locked, " locked"},     {l->indirect, " indirect"}, {l->offset, " offset"},
            {l->unrolls, " unrolls"},   {l->strings, " strings"},   {l->refuted, " refuted"}};
        size_t used = strlen(text);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %.5g",
                                 carm_limit_name(l->limit), 1e9 * l->seconds);
        for (size_t k = 0; k < sizeof flags / sizeof *flags; k++) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s",
                                     flags[k].is ? flags[k].word : "");
        }
        (void)snprintf(text + used, sizeof text - used, ": %s\n", l->origin);
    }
    return text;
}

#define PUBLISHED "published for the microarchitecture\n"
#define MEASURED  "measured\n"

static const struct carm_bounds_unit units[] = {
    {CARM_CORE_FP_ADD, "avx2", "dp", 4, NULL},
    {CARM_CORE_FP_MUL, "avx2", "dp", 4, NULL},
    {CARM_CORE_FP_ADD, "scalar", "dp", 2, NULL}, /* 1.6, 1, 1 cycles */
    {CARM_CORE_FP_DIV, "scalar", "dp", 3, NULL},
    {CARM_CORE_INT_DIV, "", "int64", 2, NULL}, /* 12, 20 */
    {CARM_CORE_CONVERT_INT, "", "", 2, NULL},
    {CARM_CORE_FP_LOGIC, "", "", 4, NULL}, /* 3, 2 */
    {CARM_CORE_INT_ADD, "", "int64", 6, NULL},
    {CARM_CORE_INT_MUL, "", "int64", 3, NULL},  /* 1.5, 3 */
    {CARM_CORE_FP_MAX, "sse", "dp", 100, NULL}, /* not known */
};

TEST(units_and_issue)
{
    static const struct {
        struct carm_bounds_input in;
        const char *told;
    } cases[] = {
        {{.rates = {&model, &theory, 0, 0}, .units = units, .nunits = 2},
         "fp 1.6: 4 additions and 4 multiplications or FMAs, 1.6 cycles of their units: " PUBLISHED},
        {{.rates = {&model, &theory, 0, 0}, .units = units, .nunits = 1},
         "fp 1.6: 4 additions and 0 multiplications or FMAs, 1.6 cycles of their units: " MEASURED},
        /* mad in 1/3, additions and multiplications apart in 1/2 each: both together in 2/3 of both */
        {{.rates = {&model, &theory, 0, 0}, .units = units, .nunits = 2, .roofs = roofs},
         "fp 1.7333: 4 additions and 4 multiplications or FMAs, 1.73 cycles of their units: " PUBLISHED},
        {{.rates = {&model, &theory, 0, 0}, .clock_hz = 2e9, .units = units, .nunits = 10},
         "divider 10: 2 integer divisions, 20 cycles of the divider: " PUBLISHED
         "divider 6: 3 divisions and square roots, 12 cycles of the divider: " PUBLISHED
         "fp 1.5: 3 cycles of the unit for convert-int: " PUBLISHED
         "integer 1.5: 9 integer instructions, 3 cycles of their units: " PUBLISHED
         "fp 1.3: 6 additions and 4 multiplications or FMAs, 2.6 cycles of their units: " PUBLISHED},
        {{.rates = {&model, &theory, 0, 0}, .units = units + 5, .nunits = 1},
         "fp 3: 3 cycles of the unit for convert-int: " MEASURED},
        {{.rates = {NULL, &theory, 0, 0}, .units = units + 7, .nunits = 1},
         "integer 1.5: 6 integer instructions, 1.5 cycles of their units: " PUBLISHED},
        {{.rates = {NULL, NULL, 0, 0}, .units = units, .nunits = 10, .slots = 9, .taken = 9}, ""},
        {{.rates = {&model, &theory, 0, 0}, .clock_hz = -1, .units = units, .nunits = 10},
         ""}, /* no clock */
        {{.rates = {&model, &theory, 0, 0}, .slots = 10, .taken = 2},
         "issue 4 unrolls: 2 taken branches of 2 cycles: " PUBLISHED
         "issue 2: 10 instructions at 5 in a cycle: " MEASURED},
        {{.rates = {NULL, &theory, 0, 0}, .slots = 10},
         "issue 2.5: 10 instructions at 4 in a cycle: " PUBLISHED},
        /* in order, and where that takes no longer; no lines of code */
        {{.rates = {NULL, &theory, 0, 0}, .slots = 10, .dispatch_cycles = 3.5},
         "issue 3.5: 3.5 cycles in which 10 instructions enter, in order, 4 in a cycle, at most 3 of them of integer units: "
         "measured on the microarchitecture\n"
         "issue 2.5: 10 instructions at 4 in a cycle: " PUBLISHED},
        {{.rates = {NULL, &theory, 0, 0}, .slots = 10, .dispatch_cycles = 2.5},
         "issue 2.5: 10 instructions at 4 in a cycle: " PUBLISHED},
        {{.rates = {NULL, &theory, 0, 0}, .taken = 1, .fetched = 3},
         "issue 2 unrolls: 1 taken branches of 2 cycles: " PUBLISHED},
        /* chains */
        {{.rates = {&model, &theory, 0, 0},
          .chain_cycles = 8,
          .forward_cycles = 4,
          .chain = "3 of add",
          .locked = 2,
          .straddles = 3},
         "forwarding 57 estimate: 3 loads of bytes of two stores, 19 cycles each: " PUBLISHED
         "chain 36 locked: 2 instructions with a lock, one after the other, 18 cycles each: " MEASURED
         "chain 8: 8 cycles from one iteration to the next: 3 of add\n"},
        {{.rates = {NULL, &theory, 0, 0},
          .chain_cycles = 8,
          .forward_cycles = 4.05,
          .counter = true},
         "forwarding 8 unrolls: 8 cycles from one iteration to the next: \n"},
        {{.rates = {NULL, &theory, 0, 0},
          .chain_cycles = 5,
          .window_cycles = 5.09,
          .missing_cycles = 5,
          .window_missing_cycles = 5.19},
         "chain 5: 5 cycles from one iteration to the next: \n"},
        {{.rates = {NULL, &theory, 0, 0},
          .chain_cycles = 5,
          .window_cycles = 5.2,
          .missing_cycles = 6,
          .window_missing_cycles = 7,
          .border_cycles = 9},
         "latency 9 estimate at-most: a chain of loads, each with the address of the next: 6 to 9 cycles, as its data is about as large as a cache "
         "that others may share\n"
         "latency 7: 7 cycles by simulated misses at scattered addresses and their latencies, as many at a time as 100 instructions in flight have\n"
         "latency 6: a chain of loads, each with the address of the next: 6 cycles by the simulated misses and their latencies\n"
         "chain 5.2: 5.2 cycles by dependences within iterations, of which a window of 100 instructions (50 waiting on vectors) overlaps a few\n"
         "chain 5: 5 cycles from one iteration to the next: \n"},
        {{.rates = {NULL, &theory, 0, 0},
          .chain_cycles = 5,
          .missing_cycles = 6,
          .border_cycles = 9,
          .lost = 0.5,
          .stays = 0.012},
         "latency 9 estimate at-most: a chain of loads, each with the address of the next: 6 to 9 cycles, as others take half of the lines out of "
         "the last cache within 12 ms: measured beside the run\n"
         "latency 6: a chain of loads, each with the address of the next: 6 cycles by the simulated misses and their latencies\n"
         "chain 5: 5 cycles from one iteration to the next: \n"},
        /* 4 lines of L3 at 1 ns, of which others take half, and one of DRAM at 10 ns */
        {{.rates = {&flights, &theory, 0, 0},
          .scattered = {0, 4, 1},
          .huge = true,
          .lost = 0.5,
          .stays = 0.003},
         "latency 32 estimate at-most: 2 more lines at scattered addresses come from memory, as others take half of the lines out of the last cache "
         "within 3 ms: measured beside the run, at the rate of independent misses\n"
         "latency 14 saturated: 5 lines at scattered addresses, simulated, 0% of them stored to, at the measured rate of independent misses\n"},
        /* branches: 16 cycles, and 20 of an indirect jump, and those until the outcome */
        {{.rates = {&model, &theory, 0, 0},
          .mispredicted = 0.5,
          .astray = 0.25,
          .resolve_cycles = 7,
          .resolve_missing = 4},
         "branches 16.5 estimate: 0.5 mispredictions if outcomes are independent, 25 cycles each (7 until the condition is known, and 8 by its "
         "misses): " PUBLISHED},
        {{.rates = {&model, &theory, 0, 0},
          .mispredicted = 0.5,
          .astray = 0.253,
          .resolve_missing = 9.3},
         "branches 18.312 estimate at-most indirect: 0.5 mispredictions if outcomes are independent, 18 cycles each (0 until the condition is known, "
         "and 18.6 by its misses): " PUBLISHED},
        {{.rates = {NULL, &theory, 0, 0}, .mispredicted = 0.5, .astray = 0.5},
         "branches 8 estimate: 0.5 mispredictions if outcomes are independent, 16 cycles each (0 until the condition is known, and 0 by its "
         "misses): " PUBLISHED},
        {{.rates = {NULL, NULL, 0, 0}, .mispredicted = 0.5, .resolve_cycles = 7}, ""},
        {{.rates = {NULL, NULL, 0, 0}, .chain_cycles = 5, .window_cycles = 6},
         "chain 6: 6 cycles by dependences within iterations, which overlap within few iterations alone\n"
         "chain 5: 5 cycles from one iteration to the next: \n"},
        /* what else waits */
        {{.rates = {NULL, NULL, 0, 0},
          .contended = 2,
          .transfer_seconds = 50e-9,
          .locked = 0.9,
          .gathered = 0.8,
          .gather_seconds = 2e-9},
         "latency 100 estimate at-most apart: 2 accesses to lines that other threads write, which may wait 50 ns for the other core: " MEASURED
         "loads 1.6: 0.8 elements of gathers, 2 ns each in L1: " MEASURED},
        {{.rates = {NULL, NULL, 0, 0}, .contended = 2, .transfer_seconds = 50e-9, .locked = 1.0},
         "latency 100 estimate at-most locked: 2 accesses to lines that other threads write, which may wait 50 ns for the other core: " MEASURED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_bounds b;
        struct carm_bounds_input in = cases[i].in;
        in.clock_hz = in.clock_hz == 0 ? 1e9 : in.clock_hz;
        carm_bounds_find(&in, &b);
        assert_string_equal(told(&b), cases[i].told);
    }
    struct carm_microarchitecture lines = theory;
    struct carm_bounds_input in = {
        .rates = {NULL, &lines, 0, 0}, .clock_hz = 1e9, .taken = 1, .fetched = 3};
    struct carm_bounds b;
    lines.code_line = 64;
    carm_bounds_find(&in, &b);
    assert_string_equal(
        told(&b),
        "issue 3 unrolls: 3 lines of code of 64 bytes entered, one in a cycle: measured on the microarchitecture\n"
        "issue 2 unrolls: 1 taken branches of 2 cycles: " PUBLISHED);
    in.fetched = 1;
    carm_bounds_find(&in, &b);
    assert_int_equal(b.n, 1);
    in = (struct carm_bounds_input){.rates = {NULL, &lines, 0, 0}, .clock_hz = 1e9, .slots = 10};
    for (int issue = 0; issue < 2; issue++) { /* not known, and one */
        lines.issue = issue;
        carm_bounds_find(&in, &b);
        assert_string_equal(told(&b),
                            issue ? "issue 10: 10 instructions at 1 in a cycle: " PUBLISHED : "");
    }
}

/* Rates of all groups of units are measured; the microarchitecture's would give other times. */
TEST(measured_units)
{
    static struct carm_core_figure all[] = {
        {.kind = CARM_CORE_FP_ADD, .isa = "avx2", .precision = "dp", .throughput = 0.4},
        {.kind = CARM_CORE_FP_MUL, .isa = "avx2", .precision = "dp", .throughput = 0.5},
        {.kind = CARM_CORE_FP_DIV, .isa = "avx2", .precision = "dp", .throughput = 5},
        {.kind = CARM_CORE_INT_DIV, .throughput = 6},
        {.kind = CARM_CORE_FP_LOGIC, .isa = "avx2", .precision = "dp", .throughput = 0.25},
        {.kind = CARM_CORE_FP_SHUFFLE, .isa = "avx2", .precision = "dp", .throughput = 1},
        {.kind = CARM_CORE_INT_ADD, .precision = "int64", .throughput = 0.2},
        {.kind = CARM_CORE_INT_LOGIC, .precision = "int64", .throughput = 0.4},
        {.kind = CARM_CORE_INT_MUL, .precision = "int64", .throughput = 1.5}};
    static const struct carm_bounds_unit of[] = {
        {CARM_CORE_FP_ADD, "avx2", "dp", 10, NULL},  {CARM_CORE_FP_MUL, "avx2", "dp", 8, NULL},
        {CARM_CORE_FP_DIV, "avx2", "dp", 2, NULL},   {CARM_CORE_INT_DIV, "", "int64", 3, NULL},
        {CARM_CORE_FP_LOGIC, "avx2", "dp", 8, NULL}, {CARM_CORE_FP_SHUFFLE, "avx2", "dp", 1, NULL},
        {CARM_CORE_INT_ADD, "", "int64", 6, NULL},   {CARM_CORE_INT_LOGIC, "", "int64", 4, NULL},
        {CARM_CORE_INT_MUL, "", "int64", 1, NULL}};
    static const struct {
        double mad, mul, fp;
    } mixes[] = {{0, .2, 4},         {.1, 0, 4},     {.4, .2, 4}, /* 0.5: apart */
                 {.3, .2, 16 / 3.0}, {.25, .2, 6.4}, {.2, .2, 8}, {.1, .2, 8}};
    const struct carm_model m = {.core = all, .ncore = 9};
    struct carm_bounds_input in = {
        .rates = {&m, &theory, 0, 0}, .clock_hz = 1e9, .units = of, .nunits = 9};
    struct carm_bounds b;
    carm_bounds_find(&in, &b);
    assert_string_equal(
        told(&b),
        "divider 18: 3 integer divisions, 18 cycles of the divider: " MEASURED
        "divider 10: 2 divisions and square roots, 10 cycles of the divider: " MEASURED
        "fp 4: 10 additions and 8 multiplications or FMAs, 4 cycles of their units: " MEASURED
        "integer 2.2: 11 integer instructions, 2.2 cycles of their units: " MEASURED
        "fp 2: 2 cycles of the unit for logic: " MEASURED);
    /* with units of their own, shared units, and between */
    for (size_t i = 0; i < sizeof mixes / sizeof *mixes; i++) {
        struct carm_compute_roof rates[] = {{.op = "mad", .rate = mixes[i].mad},
                                            {.op = "add", .rate = .2},
                                            {.op = "mul", .rate = mixes[i].mul}};
        struct carm_roofs r = {.compute = rates, .ncompute = 3};
        in.nunits = 2;
        in.roofs = &r;
        carm_bounds_find(&in, &b);
        assert_int_equal(b.n, 1);
        assert_near(1e9 * b.of[0].seconds, mixes[i].fp, 1e-9);
        rates[1].rate = rates[2].rate = 2;
        for (int missing = 0; missing < 3; missing++) { /* without one of them: apart */
            (void)strcpy(rates[missing].op, "");
            carm_bounds_find(&in, &b);
            assert_near(1e9 * b.of[0].seconds, 4, 1e-9);
            (void)strcpy(rates[missing].op, missing == 0 ? "mad" : missing == 1 ? "add" : "mul");
        }
    }
    /* published for another ISA or precision: not known */
    static const struct carm_bounds_unit others[] = {{CARM_CORE_FP_ADD, "avx2", "dp", 1, NULL},
                                                     {CARM_CORE_FP_ADD, "scalar", "sp", 1, NULL}};
    in = (struct carm_bounds_input){
        .rates.theory = &theory, .clock_hz = 1e9, .units = others, .nunits = 2};
    carm_bounds_find(&in, &b);
    assert_int_equal(b.n, 0);
}

/* Integer instructions on pipes 0 to 3, multiplications on 1, branches on 0 and 3; vectors on v and w. */
TEST(pipes)
{
    struct carm_microarchitecture m = {.widths = {[2] = {.fma = 1.5}, [3] = {.fma = 0.5}},
                                       .core = {{"int-add", "", "", 1, 0.125}},
                                       .ncore = 1,
                                       .ports = {{"int-add", "0123", 0},
                                                 {"int-mul", "1", 0},
                                                 {"branch", "03", 0},
                                                 {"fma", "v", 0},
                                                 {"vector-zero", "vw", 0},
                                                 {"many", "456789", 0},
                                                 {"none", "", 0}},
                                       .nports = 7};
    const struct carm_bounds_unit of[] = {
        {CARM_CORE_INT_ADD, "", "", 10, "int-add"}, {CARM_CORE_INT_MUL, "", "", 3, "int-mul"},
        {CARM_CORE_FP_FMA, "avx2", "dp", 2, "fma"}, {CARM_CORE_FP_FMA, "avx512", "dp", 1, "fma"},
        {CARM_CORE_FP_FMA, "avx2", "dp", 7, NULL},  {CARM_CORE_FP_FMA, "avx2", "dp", 7, "none"},
        {CARM_CORE_INT_SHIFT, "", "", 40, "many"}};
#define SHARED " pipes that several instructions share: measured on the microarchitecture\n"
    static const struct {
        size_t first, n;
        double branches, fused, zeroed;
        const char *told;
    } cases[] = {
        /* 3 of one pipe, 13 of four; the rate of additions allows 8 in a cycle */
        {0, 2, 0, 0, 0,
         "integer 3.25: 3.25 cycles of 4 integer" SHARED
         "integer 1.25: 10 integer instructions, 1.25 cycles of their units: " PUBLISHED},
        {1, 1, 0, 0, 0, "integer 3: 3 cycles of 1 integer" SHARED},
        {1, 1, 9, 0, 0, "integer 4.5: 4.5 cycles of 2 integer" SHARED},
        {1, 1, 6, 0, 0, "integer 3: 3 cycles of 1 integer" SHARED},
        /* comparisons that are one with their jumps: 10 - 4 + 4 of four pipes */
        {0, 1, 4, 4, 0,
         "integer 2.5: 2.5 cycles of 4 integer" SHARED
         "integer 0.75: 10 integer instructions, 0.75 cycles of their units: " PUBLISHED},
        /* as many as three of narrower vectors */
        {2, 2, 0, 0, 0, "fp 5: 5 cycles of 1 vector" SHARED},
        {2, 2, 0, 0, 4, "fp 5: 5 cycles of 1 vector" SHARED},
        {2, 4, 0, 0, 7, "fp 6: 6 cycles of 2 vector" SHARED},
        /* six pipes alone; of eight letters in all the last two of the six are none */
        {6, 1, 0, 0, 0, "integer 6.6667: 6.67 cycles of 6 integer" SHARED},
        {0, 7, 0, 0, 0,
         "integer 10: 10 cycles of 4 integer" SHARED "fp 5: 5 cycles of 1 vector" SHARED
         "integer 1.25: 10 integer instructions, 1.25 cycles of their units: " PUBLISHED},
    };
    struct carm_bounds b;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct carm_bounds_input in = {.rates.theory = &m,
                                             .clock_hz = 1e9,
                                             .units = of + cases[i].first,
                                             .nunits = cases[i].n,
                                             .branches = cases[i].branches,
                                             .fused = cases[i].fused,
                                             .zeroed = cases[i].zeroed};
        carm_bounds_find(&in, &b);
        assert_string_equal(told(&b), cases[i].told);
    }
    /* jumps without pipes of their own are not taken off */
    struct carm_bounds_input in = {
        .rates.theory = &m, .clock_hz = 1e9, .units = of, .nunits = 1, .fused = 4};
    strcpy(m.ports[2].word, "other");
    carm_bounds_find(&in, &b);
    assert_string_equal(
        told(&b), "integer 2.5: 2.5 cycles of 4 integer" SHARED
                  "integer 1.25: 10 integer instructions, 1.25 cycles of their units: " PUBLISHED);
    /* no rate of wide vectors: as many as of narrow ones */
    m.widths[3].fma = 0;
    in.units = of + 2;
    in.nunits = 2;
    carm_bounds_find(&in, &b);
    assert_string_equal(told(&b), "fp 3: 3 cycles of 1 vector" SHARED);
    m.nports = 0;
    carm_bounds_find(&in, &b);
    assert_int_equal(b.n, 0);
}

/* Widths: general registers, scalar, sse, avx2, avx512. By the model's roofs avx2 loads 2 and stores 1/4 in a cycle. */
TEST(ports)
{
    static struct carm_roofs some[] = {
        {.isa = "avx2", .precision = "dp", .memory = memory, .nmemory = 1},
        {.isa = "avx2", .precision = "dp", .memory = memory + 1, .nmemory = 1},
        {.isa = "scalar", .precision = "dp", .memory = memory, .nmemory = 2}};
    static const struct carm_model loads = {.roofs = some, .nroofs = 1},
                                   stores = {.roofs = some + 1, .nroofs = 1},
                                   scalars = {.roofs = some + 2, .nroofs = 1};
    static const struct {
        struct carm_bounds_input in;
        const char *told;
    } cases[] = {
        {{.rates = {NULL, &theory, 0, 0}, .loads = {2, 4, 0, 6, 2}},
         "loads 8: 14 loads, 0 of them across two lines, 8 cycles of the load ports: " PUBLISHED},
        {{.rates = {NULL, &theory, 0, 0}, .loads = {0, 0, 0, 2, 0}, .stores = {0, 0, 0, 1, 0}},
         "l1 1.5: 2 loads and 1 stores, 1.5 cycles of address generation: " PUBLISHED
         "loads 1: 2 loads, 0 of them across two lines, 1 cycles of the load ports: " PUBLISHED
         "stores 1: 1 stores, 0 of them across two lines, 1 cycles of the store ports: " PUBLISHED},
        {{.rates = {NULL, &theory, 0, 0}, .loads = {0, 2, 0, 0, 0}, .stores = {3, 0, 1, 0, 1}},
         "stores 6: 5 stores, 0 of them across two lines, 6 cycles of the store ports: " PUBLISHED
         "loads 1: 2 loads, 0 of them across two lines, 1 cycles of the load ports: " PUBLISHED},
        {{.rates = {&model, &theory, 0, 0}, .loads = {0, 0, 0, 4, 0}, .stores = {0, 0, 0, 1, 0}},
         "stores 4: 1 stores, 0 of them across two lines, 4 cycles of the store ports: " MEASURED
         "loads 2: 4 loads, 0 of them across two lines, 2 cycles of the load ports: " MEASURED},
        {{.rates = {&model, &theory, 0, 0}, .loads = {1, 0, 0, 4, 0}},
         "loads 2.5: 5 loads, 0 of them across two lines, 2.5 cycles of the load ports: " PUBLISHED},
        /* 64 bytes of loads and 32 of stores in a cycle */
        {{.rates = {NULL, &theory, 0, 0}, .string_loads = 640},
         "l1 10 estimate strings: 640 bytes of string instructions, 10 cycles at the rate of the widest loads and stores: " PUBLISHED},
        {{.rates = {&model, &theory, 0, 0},
          .clock_hz = 2e9,
          .string_loads = 64,
          .string_stores = 640},
         "l1 10 estimate strings: 704 bytes of string instructions, 20 cycles at the rate of the widest loads and stores: " PUBLISHED},
        /* the model alone: 64 and 8 bytes */
        {{.rates = {&model, NULL, 0, 0}, .string_loads = 640, .string_stores = 64},
         "l1 10 estimate strings: 704 bytes of string instructions, 10 cycles at the rate of the widest loads and stores: " MEASURED},
        {{.rates = {NULL, NULL, 0, 0}, .string_loads = 640}, ""},
        {{.rates = {&loads, NULL, 0, 0}, .string_loads = 640}, ""},
        {{.rates = {&stores, NULL, 0, 0}, .string_stores = 640}, ""},
        {{.rates = {&scalars, NULL, 0, 0}, .string_loads = 640},
         "l1 10 estimate strings: 640 bytes of string instructions, 10 cycles at the rate of the widest loads and stores: " MEASURED},
        /* an avx2 load across two lines takes 2 cycles in place of 1/2, another twice as long; a store 5 in place of 4, or as long,
         * and that of a general register finds a port beside them */
        {{.rates = {&model, &theory, 0, 0},
          .loads = {2, 0, 0, 4, 0},
          .split_loads = {1, 0, 0, 2, 0}},
         "loads 6.5: 6 loads, 3 of them across two lines, 6.5 cycles of the load ports: " PUBLISHED},
        {{.rates = {&model, &theory, 0, 0},
          .stores = {1, 0, 0, 2, 0},
          .split_stores = {1, 0, 0, 1, 0}},
         "stores 9: 3 stores, 1 of them across two lines, 9 cycles of the store ports: " PUBLISHED},
        /* half of the loads behind stores of another page */
        {{.rates = {&model, &theory, 0, 0}, .loads = {0, 0, 0, 4, 0}, .behind = {0, 0, 0, 2, 0}},
         "forwarding 12 estimate offset: 2 loads behind stores a multiple of 4096 bytes apart, 12 cycles with the stores: " MEASURED
         "loads 2: 4 loads, 0 of them across two lines, 2 cycles of the load ports: " MEASURED},
        {{.rates = {&model, &theory, 0, 0}, .loads = {0, 0, 0, 4, 0}, .behind = {0, 0, 0, 1.9, 0}},
         "loads 2: 4 loads, 0 of them across two lines, 2 cycles of the load ports: " MEASURED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_bounds b;
        struct carm_bounds_input in = cases[i].in;
        in.clock_hz = in.clock_hz == 0 ? 1e9 : in.clock_hz;
        carm_bounds_find(&in, &b);
        assert_string_equal(told(&b), cases[i].told);
    }
}

static void read_widths(const char *text, double *of)
{
    for (char *end; *text; text = end + strspn(end, " ")) {
        double *one = &of[*text - '0'];
        *one = strtod(text + 2, &end);
    }
}

/* Roofs and instructions of each width. Scalar loads 3 in a cycle, AVX loads 2 by roofs of AVX, and stores 1 in 4 cycles. */
TEST(accesses_of_widths)
{
    static struct carm_memory_roof of[] = {{.level = "L1", .ldst = "1:0", .bytes_per_cycle = 24},
                                           {.level = "L1", .ldst = "1:0", .bytes_per_cycle = 64},
                                           {.level = "L1", .ldst = "0:1", .bytes_per_cycle = 8},
                                           {.level = "L2", .ldst = "1:0", .bytes_per_cycle = 999},
                                           {.level = "L1", .ldst = "1:1", .bytes_per_cycle = 999}};
    static struct carm_roofs isas[] = {
        {.isa = "scalar", .precision = "dp", .memory = of, .nmemory = 1},
        {.isa = "avx", .precision = "dp", .memory = of + 1, .nmemory = 4},
        {.isa = "sse", .precision = "sp", .memory = of, .nmemory = 1}};
    static struct carm_core_figure figures[] = {
        {.kind = CARM_CORE_LOAD, .throughput = 0.2},
        {.kind = CARM_CORE_LINE_SPLIT, .precision = "int64", .throughput = 0.7},
        {.kind = CARM_CORE_LINE_SPLIT, .isa = "scalar", .precision = "dp", .throughput = 0.25},
        {.kind = CARM_CORE_LINE_SPLIT, .isa = "avx2", .precision = "dp", .throughput = 1.5},
        {.kind = CARM_CORE_LINE_SPLIT_STORE, .isa = "scalar", .throughput = 3},
        {.kind = CARM_CORE_LINE_SPLIT_STORE, .isa = "sse", .precision = "dp", .throughput = 4},
        {.kind = CARM_CORE_LINE_SPLIT_STORE, .isa = "avx2", .precision = "dp", .throughput = 0.9},
        {.kind = CARM_CORE_ALIAS_4K, .isa = "scalar", .precision = "dp", .throughput = 5}};
    static const struct carm_microarchitecture narrow = {
        .widths = {{.loads = 4, .stores = 0.5, .accesses = 1},
                   {.loads = 3, .stores = 0.5, .accesses = 2},
                   {.loads = 0.25, .stores = 2, .accesses = 3},
                   {.loads = 0.125}}};
    const struct carm_model of_roofs = {.roofs = isas, .nroofs = 3},
                            of_core = {.core = figures, .ncore = 8, .roofs = isas, .nroofs = 3},
                            of_splits = {.core = figures + 1, .ncore = 7};
    const struct {
        const struct carm_model *model;
        const struct carm_microarchitecture *theory;
        const char *loads, *split_loads, *stores, *split_stores, *behind; /* "width:number" */
        const char *told;
    } cases[] = {
        {&of_roofs, NULL, "1:6 3:6", "", "", "", "",
         "loads 5: 12 loads, 0 of them across two lines, 5 cycles of the load ports: " MEASURED},
        {&of_roofs, NULL, "0:1 2:6", "", "", "", "", ""},
        /* a load of a general register: 5 in a cycle, where the faster ones of vectors wait for 2 */
        {&of_core, NULL, "0:6", "", "", "", "",
         "loads 1.2: 6 loads, 0 of them across two lines, 1.2 cycles of the load ports: " MEASURED},
        /* 4 in 2 cycles of vectors take 0.8 of the ports, so that 6 more are in 2 */
        {&of_roofs, &narrow, "0:8 3:4", "", "", "", "",
         "l1 9.3333: 12 loads and 0 stores, 9.33 cycles of address generation: " PUBLISHED
         "loads 3: 12 loads, 0 of them across two lines, 3 cycles of the load ports: " PUBLISHED},
        /* across two lines: 0.7 in place of a quarter, no less than within one, 1.5 in place of 4 */
        {&of_splits, &narrow, "0:4", "0:2", "", "", "",
         "l1 4: 4 loads and 0 stores, 4 cycles of address generation: " PUBLISHED
         "loads 1.9: 4 loads, 2 of them across two lines, 1.9 cycles of the load ports: " PUBLISHED},
        {&of_splits, &narrow, "1:1", "1:1", "", "", "",
         "l1 1: 1 loads and 0 stores, 1 cycles of address generation: " PUBLISHED
         "loads 0.25: 1 loads, 1 of them across two lines, 0.25 cycles of the load ports: " PUBLISHED},
        {&of_splits, &narrow, "3:1", "3:1", "", "", "",
         "loads 4: 1 loads, 1 of them across two lines, 4 cycles of the load ports: " PUBLISHED},
        {NULL, &narrow, "4:1", "4:1", "", "", "",
         "loads 16: 1 loads, 1 of them across two lines, 16 cycles of the load ports: " PUBLISHED},
        /* nothing is known of loads within a line */
        {&of_splits, NULL, "3:1", "3:1", "", "", "", ""},
        /* stores: 3 in place of 2, 4 of 2, 0.9 of 0.5, and where one within a line takes 4; avx512 has no rate */
        {&of_splits, &narrow, "", "", "1:2 2:1 3:1", "1:1 2:1 3:1", "",
         "stores 9.9: 4 stores, 3 of them across two lines, 9.9 cycles of the store ports: " PUBLISHED},
        {&of_core, NULL, "", "", "3:1", "3:1", "",
         "stores 4: 1 stores, 1 of them across two lines, 4 cycles of the store ports: " MEASURED},
        {&of_core, &narrow, "", "", "3:1 2:1 4:1", "", "",
         "stores 6: 3 stores, 0 of them across two lines, 6 cycles of the store ports: " PUBLISHED},
        /* half of the loads behind stores, of a width whose time is known */
        {&of_splits, NULL, "1:4", "", "", "", "1:2",
         "forwarding 10 estimate offset: 2 loads behind stores a multiple of 4096 bytes apart, 10 cycles with the stores: " MEASURED},
        {&of_splits, NULL, "1:4", "", "", "", "0:2", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_bounds_input in = {.rates = {cases[i].model, cases[i].theory, 0, 0},
                                       .clock_hz = 1e9};
        struct carm_bounds b;
        read_widths(cases[i].loads, in.loads);
        read_widths(cases[i].split_loads, in.split_loads);
        read_widths(cases[i].stores, in.stores);
        read_widths(cases[i].split_stores, in.split_stores);
        read_widths(cases[i].behind, in.behind);
        carm_bounds_find(&in, &b);
        assert_string_equal(told(&b), cases[i].told);
    }
}

/* Seconds of a byte at a written share, between the mixes that were measured. Two threads share a roof. */
TEST(bandwidths)
{
    static const struct {
        double written, l2, l3, dram; /* bytes */
        bool victims;
        const char *told;
    } cases[] = {
        /* L2 1:0 64 GB/s, 0:1 32 as two bytes cross for one: half of both at 0.25 */
        {0.0, 64, 0, 0, false,
         "l2 2: 64 bytes, simulated, at 32 GB/s of L2 for a mix with 0% written: " MEASURED},
        {0.25, 64, 0, 0, false,
         "l2 3: 64 bytes, simulated, at 21.33 GB/s of L2 for a mix with 25% written: " MEASURED},
        {0.5, 64, 0, 0, false,
         "l2 4: 64 bytes, simulated, at 16 GB/s of L2 for a mix with 50% written: " MEASURED},
        /* L3 has loads alone; as a cache of victims each line that comes sends one */
        {0.5, 0, 64, 0, false,
         "l3 4: 64 bytes, simulated, at 16 GB/s of L3 for a mix with 50% written: " MEASURED},
        {0.5, 0, 64, 0, true,
         "l3 2: 64 bytes, simulated, at 32 GB/s of L3 for a mix with 50% written: " MEASURED},
        /* DRAM 1:1 9 GB/s at 1/3, 1:0 8 at 0, update 5 at 1/2 */
        {0.0, 0, 0, 72, true,
         "dram 18: 72 bytes, simulated, at 4 GB/s of DRAM for a mix with 0% written: " MEASURED},
        {1.0 / 3.0, 0, 0, 72, false,
         "dram 16: 72 bytes, simulated, at 4.5 GB/s of DRAM for a mix with 33% written: " MEASURED},
        {5.0 / 12.0, 0, 0, 90, false,
         "dram 28: 90 bytes, simulated, at 3.214 GB/s of DRAM for a mix with 42% written: " MEASURED},
        {1.0 / 6.0, 0, 0, 72, false,
         "dram 17: 72 bytes, simulated, at 4.235 GB/s of DRAM for a mix with 17% written: " MEASURED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_bounds b;
        struct carm_bounds_input in = {
            .rates = {&model, NULL, 0, 0},
            .clock_hz = 1e9,
            .roofs = roofs,
            .written = {cases[i].written, cases[i].written, cases[i].written},
            .bytes = {cases[i].l2, cases[i].l3, cases[i].dram},
            .victims = cases[i].victims};
        carm_bounds_find(&in, &b);
        assert_string_equal(told(&b), cases[i].told);
    }
    /* by the faster roofs of as many threads; others do not count */
    static struct carm_memory_roof fast = {.level = "DRAM", .ldst = "1:0", .bandwidth = 16e9};
    static struct carm_memory_roof faster = {.level = "DRAM", .ldst = "1:0", .bandwidth = 99e9};
    struct carm_roofs three[] = {{.isa = "sse", .threads = 2, .memory = &fast, .nmemory = 1},
                                 {.isa = "sse", .threads = 1, .memory = &faster, .nmemory = 1},
                                 roofs[0]};
    const struct carm_model wide = {.roofs = three, .nroofs = 3};
    struct carm_bounds_input in = {
        .rates = {&wide, NULL, 0, 0}, .clock_hz = 1e9, .roofs = &three[2], .bytes = {0, 0, 64}};
    struct carm_bounds b;
    carm_bounds_find(&in, &b);
    assert_near(1e9 * b.of[0].seconds, 8.0, 1e-9);
    /* at a share of 0.5 the nearest, 1:2, at 5/3 of 22.5; at 0.2 between 1:0 and the first of 2:1, of 40 */
    static struct carm_memory_roof odd[] = {{.level = "DRAM", .ldst = "2:1", .bandwidth = 30e9},
                                            {.level = "DRAM", .ldst = "1:2", .bandwidth = 18e9},
                                            {.level = "DRAM", .ldst = "1:2", .bandwidth = 22.5e9},
                                            {.level = "DRAM", .ldst = "1:2", .bandwidth = 20e9},
                                            {.level = "DRAM", .ldst = "2:1", .bandwidth = 29e9},
                                            {.level = "DRAM", .ldst = "1:0", .bandwidth = 10e9}};
    const struct carm_roofs mixes = {.threads = 1, .memory = odd, .nmemory = 6};
    in.roofs = &mixes;
    for (int i = 0; i < 2; i++) {
        in.rates.model = NULL;
        in.written[2] = i ? 0.2 : 0.5;
        carm_bounds_find(&in, &b);
        assert_near(1e9 * b.of[0].seconds, 64 / (i ? 25.0 : 37.5), 1e-9);
    }
    in.roofs = NULL;
    in.rates.model = &wide;
    carm_bounds_find(&in, &b);
    assert_int_equal(b.n, 0);
}

/* The widest vectors of the model have 32 bytes. */
TEST(widening)
{
    static const struct {
        struct carm_bounds_unit units[2];
        size_t n;
        double times;
    } cases[] = {
        {{{CARM_CORE_FP_ADD, "scalar", "dp", 0.1, NULL}}, 1, 4.0},
        {{{CARM_CORE_FP_ADD, "", "", 9, NULL}, {CARM_CORE_FP_ADD, "scalar", "dp", 1, NULL}},
         2,
         4.0},
        {{{CARM_CORE_FP_ADD, "scalar", "sp", 2, NULL}}, 1, 8.0},
        {{{CARM_CORE_FP_ADD, "sse", "sp", 2, NULL}}, 1, 2.0},
        {{{CARM_CORE_FP_ADD, "avx", "dp", 2, NULL}}, 1, 1.0},
        {{{CARM_CORE_FP_ADD, "avx512", "dp", 2, NULL}}, 1, 1.0},
        {{{CARM_CORE_FP_ADD, "scalar", "dp", 1, NULL}, {CARM_CORE_FP_MUL, "avx2", "dp", 3, NULL}},
         2,
         32.0 * 4 / (8 + 96)},
        {{{CARM_CORE_INT_ADD, "avx2", "int64", 9, NULL}, {CARM_CORE_FP_ADD, "", "", 9, NULL}},
         2,
         0.0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_bounds_input in = {
            .rates.model = &model, .units = cases[i].units, .nunits = cases[i].n};
        assert_near(carm_bounds_widening(&in), cases[i].times, 1e-9);
        in.rates.model = NULL;
        assert_near(carm_bounds_widening(&in), 0.0, 0.0);
    }
}

/* From the largest, the earlier one first of two equal ones; nothing of no time; no more than there is room for. */
TEST(order)
{
    struct carm_bounds b = {.n = 0};
    assert_null(carm_bounds_add(&b, CARM_LIMIT_FP, 0.0, false, "x"));
    assert_null(carm_bounds_add(&b, CARM_LIMIT_FP, NAN, false, "x"));
    assert_null(carm_bounds_add(&b, CARM_LIMIT_FP, INFINITY, false, "x"));
    (void)carm_bounds_add(&b, CARM_LIMIT_FP, 2e-9, false, "a %d", 1);
    (void)carm_bounds_add(&b, CARM_LIMIT_L1, 3e-9, true, "b");
    (void)carm_bounds_add(&b, CARM_LIMIT_L2, 2e-9, false, "c");
    assert_string_equal(told(&b), "l1 3 estimate: b\nfp 2: a 1\nl2 2: c\n");
    assert_string_equal(b.of[1].form, "a %d");
    while (b.n < CARM_BOUNDS_MAX) {
        assert_non_null(carm_bounds_add(&b, CARM_LIMIT_L2, 1e-9, false, "x"));
    }
    assert_null(carm_bounds_add(&b, CARM_LIMIT_L2, 9e-9, false, "x"));
    static const enum carm_limit of_memory[] = {CARM_LIMIT_L2, CARM_LIMIT_L3, CARM_LIMIT_DRAM,
                                                CARM_LIMIT_LATENCY, CARM_LIMIT_TLB};
    for (int k = 0, n = 0; k < CARM_LIMITS; k++) {
        const bool is = n < 5 && of_memory[n] == (enum carm_limit)k;
        assert_int_equal(carm_limit_is_memory((enum carm_limit)k), is);
        n += is;
    }
}

/* Lines of each place by their rates, ns: with pages of 4 KiB and of 2 MiB, beside instructions, stored to, lost to others. Memory's
 * stream with small pages takes 2, 3 and 5 ns by its share of written lines. */
TEST(lines_in_words)
{
    enum { SMALL = 4096, LARGE = 2 << 20 };
    static struct carm_in_flight of[] = {
        {.level = "L2", .code = "scalar", .page_bytes = LARGE, .rate = 1e9},
        {.level = "L3", .code = "scalar", .page_bytes = SMALL, .rate = 1e9 / 4},
        {.level = "L3", .code = "scalar", .page_bytes = LARGE, .rate = 1e9 / 3},
        {.level = "L3", .code = CARM_SCATTERED_STORES, .page_bytes = SMALL, .rate = 1e9 / 6},
        {.level = "DRAM",
         .code = "scalar",
         .page_bytes = SMALL,
         .rate = 1e9 / 10,
         .latency_seconds = 100e-9},
        {.level = "DRAM", .code = "scalar", .page_bytes = LARGE, .rate = 1e9 / 7},
        {.level = "DRAM", .code = CARM_SCATTERED_STORES, .page_bytes = LARGE, .rate = 1e9 / 12},
        {.level = "DRAM", .code = CARM_SCATTERED_STORES, .page_bytes = SMALL, .rate = 1e9 / 15},
        {.level = "DRAM", .code = CARM_SCATTERED_UPDATES, .page_bytes = SMALL, .rate = 1e9 / 9},
        {.level = "DRAM", .code = CARM_SCATTERED_UPDATES, .page_bytes = LARGE, .rate = 1e9 / 22},
        {.level = "DRAM", .code = CARM_BESIDE "21", .page_bytes = SMALL, .rate = 1e9 / 30},
        {.level = "DRAM", .code = CARM_STREAM_LOADS, .page_bytes = SMALL, .rate = 1e9 / 2},
        {.level = "DRAM", .code = CARM_STREAM_MIXED, .page_bytes = SMALL, .rate = 1e9 / 3},
        {.level = "DRAM", .code = CARM_STREAM_STORES, .page_bytes = SMALL, .rate = 1e9 / 5},
        {.level = CARM_WALK, .code = CARM_WALK_NEAR_LOADS, .page_bytes = SMALL, .rate = 1e9 / 2},
        {.level = CARM_WALK, .code = CARM_WALK_NEAR_STORES, .page_bytes = SMALL, .rate = 1e9 / 4},
        {.level = CARM_WALK, .code = CARM_WALK_FAR_LOADS, .page_bytes = SMALL, .rate = 1e9 / 3},
        {.level = "L2", .code = CARM_ALIASED_LOADS, .page_bytes = SMALL, .rate = 1e9 / 5},
        {.level = "L2", .code = CARM_ALIASED_UPDATES, .page_bytes = SMALL, .rate = 1e9 / 8}};
    static struct carm_in_flight few[] = {
        {.level = "DRAM", .code = CARM_STREAM_MIXED, .page_bytes = SMALL, .rate = 1e9 / 3},
        {.level = "DRAM", .code = CARM_STREAM_STORES, .page_bytes = SMALL, .rate = 1e9 / 5}};
    static const struct carm_model all = {.in_flight = of, .nin_flight = sizeof of / sizeof *of},
                                   some = {.in_flight = few, .nin_flight = 2},
                                   dram = {.in_flight = of + 4, .nin_flight = 10},
                                   loads = {.in_flight = of + 11, .nin_flight = 1};
    static struct carm_roofs one = {.threads = 1}, two = {.threads = 2};
    static const struct {
        struct carm_bounds_input in;
        const char *told;
    } cases[] = {
        {{.scattered = {3, 0, 0}}, "latency 3 saturated 0: 3 lines at scatteredd, 0%; "},
        {{.scattered = {1, 2, 3},
          .overwritten = {0.5, 1, 1},
          .rewritten = {0, 0, 1},
          .renamed = 33},
         "latency 48 saturated 0: 6 lines at scattered, 58%; latency 46 small saturated 48: 6 lines at scattered, 58%; "},
        {{.scattered = {1, 2, 3}, .overwritten = {0.5, 1, 1}, .rewritten = {0, 0, 1}, .huge = true},
         "latency 48 saturated 0: 6 lines at scattered, 58%; "},
        {{.scattered = {0, 0, 2}, .waited = 1, .renamed = 12},
         "latency 30 small saturated 14: 2 lines at scatteredd, 0%; latency 14 saturated 0: 2 lines at scatteredd, 0%; "},
        {{.scattered = {0, 0, 2}, .waited = 1, .renamed = 1.5},
         "latency 20 small saturated 14: 2 lines at scatteredd, 0%; latency 14 saturated 0: 2 lines at scatteredd, 0%; "},
        {{.scattered = {0, 0, 2}, .waited = 3, .renamed = 36},
         "latency 40 small saturated 14: 2 lines at scatteredd, 0%; latency 14 saturated 0: 2 lines at scatteredd, 0%; "},
        {{.scattered = {0, 0, 2}, .rewritten = {0, 0, 1}, .waited = 2, .renamed = 24},
         "latency 40 small saturated 29: 2 lines at scattered, 50%; latency 29 saturated 0: 2 lines at scattered, 50%; "},
        {{.scattered = {0, 0, 2}, .waited = 1, .renamed = 12, .huge = true},
         "latency 14 saturated 0: 2 lines at scatteredd, 0%; "},
        {{.scattered = {1, 4, 1},
          .overwritten = {0, 1, 0},
          .rewritten = {0, 1, 0},
          .lost = 0.5,
          .waited = 1,
          .renamed = 33,
          .stays = 0.002},
         "latency 78.75 estimate 0: 2 more lines at scat; latency 60 small saturated 20: 6 lines at scattered, 33%; latency 20 saturated 0: 6 lines at scattered, 33%; "},
        {{.scattered = {0, 0.5, 0}, .overwritten = {0, 1, 0}, .lost = 0.5, .stays = 0.002},
         "latency 10.5 estimate 0: 0.25 more lines at s; latency 6 small saturated 1.5: 0.5 lines at scatter 200%; latency 1.5 saturated 0: 0.5 lines at scatter 200%; "},
        {{.scattered = {0, 4, 0}, .lost = 0.25, .huge = true, .stays = 0.002},
         "latency 16 estimate 0: 1 more lines at scat; latency 12 saturated 0: 4 lines at scatteredd, 0%; "},
        {{.bytes = {0, 0, 640}, .written = {0, 0, 0}},
         "dram 20 small 0: 640 bytes, simulatedth 0%; "},
        {{.bytes = {0, 0, 640}, .written = {0, 0, 0.125}},
         "dram 25 small 0: 640 bytes, simulatedh 12%; "},
        {{.bytes = {0, 0, 640}, .written = {0, 0, 0.25}, .roofs = &one},
         "dram 30 small 0: 640 bytes, simulatedh 25%; "},
        {{.bytes = {0, 0, 640}, .written = {0, 0, 0.5}},
         "dram 50 small 0: 640 bytes, simulatedh 50%; "},
        {{.bytes = {0, 0, 640}, .written = {0, 0, 0.503}}, ""},
        {{.bytes = {0, 0, 640}, .rates.model = &loads},
         "dram 20 small 0: 640 bytes, simulatedth 0%; "},
        {{.bytes = {0, 0, 640}, .written = {0, 0, 0.125}, .rates.model = &loads}, ""},
        {{.scattered = {1, 2, 3}, .overwritten = {1, 0, 1}, .rates.model = &dram},
         "latency 35 small saturated 26: 3 lines at scattered, 33%; latency 26 saturated 0: 3 lines at scattered, 33%; "},
        {{.walk_loads = {1, 2, 0}, .walk_stores = {0.5, 0, 0}, .pages = 64},
         "tlb 10 small 0: 3 loads and 0.5 stor; "}, /* 2 and 2 near, 6 far */
        {{.aliased = {1, 2, 0}, .updated = 0.25}, "latency 5.75 0: 1 lines a multiple o, 25%; "},
        {{.bytes = {0, 0, 640}, .written = {0, 0, 0.25}, .roofs = &two}, ""},
        {{.bytes = {0, 0, 640}, .written = {0, 0, 0.25}, .huge = true}, ""},
        {{.bytes = {0, 0, 640}, .written = {0, 0, 0.125}, .rates.model = &some}, ""},
        {{.bytes = {0, 0, 640}, .written = {0, 0, 0.375}, .rates.model = &some},
         "dram 40 small 0: 640 bytes, simulatedh 38%; "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_bounds_input in = cases[i].in;
        struct carm_bounds b;
        char text[1024] = "";
        in.clock_hz = 1e9;
        in.rates.model = in.rates.model ? in.rates.model : &all;
        carm_bounds_find(&in, &b);
        for (size_t k = 0; k < b.n; k++) {
            const char *share = strchr(b.of[k].origin, '%');
            (void)snprintf(text + strlen(text), sizeof text - strlen(text),
                           "%s %.5g%s%s%s %.5g: %.20s%.5s; ", carm_limit_name(b.of[k].limit),
                           1e9 * b.of[k].seconds, b.of[k].small_pages ? " small" : "",
                           b.of[k].saturated ? " saturated" : "",
                           b.of[k].estimate ? " estimate" : "", 1e9 * b.of[k].huge_seconds,
                           b.of[k].origin, share ? share - 4 : "");
        }
        assert_string_equal(text, cases[i].told);
    }
}
