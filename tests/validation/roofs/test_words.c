/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the words of a build mean on several processors, as text: ISAs, precisions, mixes, operations, which roofs, which
 * codes, which ceilings. */
#include "tests/topo.h"
#include "tests/validation/golden.h"
#include "validation/roofs/plan.h"

/* A processor with the vectors up to an ISA. */
static struct carm_cpu cpu_with(enum carm_isa widest, bool fma)
{
    struct carm_cpu cpu = {.fma = fma, .has = {.leaf1_ecx = 1U << 19}};
    for (int i = 0; i <= (int)widest; i++) {
        cpu.isa[i] = true;
    }
    return cpu;
}

static uint64_t available = 1000ULL << 20;

/* In place of the library's: the memory of each machine. */
uint64_t carm_memory_available(void)
{
    return available;
}

static void put_roofs(const struct carm_build_config *c, const struct carm_cpu *cpu)
{
    for (size_t i = 0; i < c->nisas; i++) {
        (void)fprintf(text, "  %s:", carm_isa_name(c->isas[i]));
        for (size_t m = 0; m < c->nmixes; m++) {
            char mix[16];
            carm_mix_name(&c->mixes[m], mix);
            (void)fprintf(text, " %s ", mix);
            for (size_t n = 1; n < 5; n++) { /* of so many levels: which of them */
                for (size_t level = 0; level < n; level++) {
                    (void)fputc(carm_build_wants_roof(c, i, &c->mixes[m], level, n) ? 'y' : '-',
                                text);
                }
                (void)fputs(n < 4 ? "," : "", text);
            }
        }
        for (size_t p = 0; p < c->nprecisions; p++) {
            (void)fprintf(text, "; %s%s", carm_precision_name(c->precisions[p]),
                          carm_build_wants_compute(c, i, p) ? "" : " none");
            for (size_t o = 0; o < c->nops; o++) {
                if (carm_build_wants_op(c, cpu, i, p, c->ops[o])) {
                    (void)fprintf(text, " %s", carm_op_name(c->ops[o]));
                }
            }
        }
        (void)fputs("\n", text);
    }
}

static void put_codes(const struct carm_build_config *c, const struct carm_cpu *cpu, bool whole)
{
    struct carm_code_spec *specs = calloc(carm_build_plan_room(c), sizeof *specs);
    struct carm_ceiling_point points[CARM_CEILING_POINTS_MAX];
    size_t nroofs = 0;
    uint64_t print = FINGERPRINT_NONE;
    assert_non_null(specs);
    const size_t n = carm_build_plan_specs(c, cpu, specs, &nroofs);
    assert_true(n <= carm_build_plan_room(c));
    for (size_t i = 0; i < n; i++) {
        char name[CARM_CODE_NAME_MAX];
        carm_code_name(&specs[i], name);
        print = fingerprint(print, name, strlen(name) + 1);
        if (whole) {
            (void)fprintf(text, "%s%s", i % 8 ? " " : i ? "\n   " : "   ", name);
        }
    }
    (void)fprintf(text, "%s  %zu codes, %zu of roofs (%04x)\n", whole ? "\n" : "", n, nroofs,
                  (unsigned)(print & 0xffff));
    free(specs);
    const size_t npoints = carm_ceilings_plan(c, cpu, points);
    for (size_t i = 0; i < npoints; i++) {
        (void)fprintf(text, "  %d at %d, %s:", (int)points[i].group, (int)points[i].place,
                      points[i].name);
        for (size_t k = 0; k < points[i].ncodes; k++) {
            char name[CARM_CODE_NAME_MAX];
            carm_code_name(&points[i].codes[k], name);
            (void)fprintf(text, " %s", name);
        }
        (void)fputs("\n", text);
    }
}

static void put_config(const struct carm_build_config *c, const struct carm_cpu *cpu, bool whole)
{
    (void)fprintf(text, "  %zu of %zu ISAs whole, %zu of %zu precisions lead; ops", c->nwhole,
                  c->nisas, c->nleading, c->nprecisions);
    for (size_t i = 0; i < c->nops; i++) {
        (void)fprintf(text, " %s", carm_op_name(c->ops[i]));
    }
    for (int i = 0; i < CARM_PRECISION_COUNT; i++) {
        if (c->absent[i]) {
            (void)fprintf(text, ", no %s", carm_precision_name((enum carm_precision)i));
        }
    }
    (void)fprintf(text, "; threads");
    for (size_t i = 0; i < c->nthreads; i++) {
        (void)fprintf(text, " %d", c->threads[i]);
    }
    (void)fprintf(text, "; levels");
    for (size_t i = 0; i < c->levels.n; i++) {
        (void)fprintf(text, " %s", c->levels.names[i]);
    }
    (void)fprintf(text, "; %zu reps%s%s%s, %g s, %llu bytes, %d steps, ceilings", c->reps,
                  c->quick ? ", quick" : "", c->latency ? ", latency" : "",
                  c->scaling ? ", scaling" : "", c->budget_seconds,
                  (unsigned long long)c->memory_bytes, c->curve_steps);
    for (size_t i = 0; i < CARM_CEILING_GROUP_COUNT; i++) {
        (void)fprintf(text, " %d", c->ceilings[i]);
    }
    (void)fprintf(text, " of %s\n",
                  carm_build_wants_ceilings(c)
                      ? carm_precision_name(carm_build_ceilings_precision(c))
                      : "none");
    put_roofs(c, cpu);
    put_codes(c, cpu, whole);
}

TEST(words)
{
    static const char three[] =
        "pack:1 l3:1(size=33554432) core:4 l2:1(size=1048576) l1:1(size=49152) pu:2";
    static const char two[] =
        "pack:2 [numa] l3:1(size=33554432) core:2 l2:1(size=1048576) l1:1(size=49152) pu:1";
    enum { SSE = CARM_SSE, AVX = CARM_AVX, AVX2 = CARM_AVX2, WIDE = CARM_AVX512, TILES = CARM_AMX };
    static const struct {
        const char *name, *topology;
        int widest;
        bool fma, whole;
        uint64_t available; /* MiB; 0 = 1000 */
        struct carm_build_words words;
    } rows[] = {
        {"default on avx512", three, WIDE, true, true, 0, {.isa = NULL}},
        {"quick on avx512", three, WIDE, true, true, 0, {.quick = "", .ceilings = ""}},
        {"default on avx2", two, AVX2, true, false, 0, {.ceilings = "", .scaling = ""}},
        {"default on avx", three, AVX, false, true, 0, {.ceilings = ""}},
        {"default on sse", three, SSE, false, true, 0, {.ceilings = "in-core,traffic"}},
        {"scalar alone", three, CARM_SCALAR, false, true, 0, {.ceilings = "mix,memory"}},
        {"avx2 without fma",
         three,
         AVX2,
         false,
         false,
         0,
         {.precision = "sp", .ceilings = "mix,in-core"}},
        {"all precisions", three, WIDE, true, false, 0, {.precision = "all"}},
        {"all on avx2",
         three,
         AVX2,
         true,
         false,
         0,
         {.isa = "all", .precision = "all", .ceilings = "traffic"}},
        {"tiles", three, TILES, true, false, 0, {.precision = "int8,bf16,dp", .ceilings = "busy"}},
        {"tiles alone", three, TILES, true, true, 0, {.isa = "amx", .precision = "int8,bf16"}},
        {"ISAs twice and in disorder",
         three,
         WIDE,
         true,
         false,
         0,
         {.isa = "sse,avx512,sse,scalar", .precision = "sp,dp,sp"}},
        {"mixes twice, non-temporal first",
         three,
         AVX2,
         true,
         false,
         0,
         {.ldst = "nt,2:1,1:1nt,2:1,update", .ops = "add,add,fma", .levels = "L1,DRAM"}},
        {"mixtures",
         three,
         AVX2,
         true,
         true,
         0,
         {.isa = "avx2,sse", .precision = "dp", .ldst = "2:1", .ops = "fma+add,2fma+add,div,sqrt"}},
        {"one mixture",
         three,
         AVX2,
         true,
         true,
         0,
         {.isa = "avx2", .precision = "dp", .ldst = "1:0", .ops = "2fma+add,dot"}},
        {"tiny memory", two, AVX2, true, false, 47, {.memory = "16M"}},
        {"less than half the memory", two, AVX2, true, false, 60, {.ldst = "2:1"}},
        {"half of the memory",
         two,
         AVX2,
         true,
         false,
         70,
         {.ldst = "2:1", .reps = "300", .budget = "33"}},
        {"just enough memory", two, AVX2, true, false, 48, {.ldst = "2:1"}},
        {"all of the memory", two, AVX2, true, false, 48, {.ldst = "2:1", .memory = "16M"}},
        {"no memory", two, AVX2, true, false, 32, {.ldst = "2:1"}},
        {"no latency",
         two,
         AVX2,
         true,
         false,
         0,
         {.ldst = "2:1", .latency = "no", .threads = "1,4"}},
        {"latency",
         two,
         AVX2,
         true,
         false,
         0,
         {.ldst = "2:1", .latency = "yes", .quick = "", .search = ""}},
        {"threads of a place", two, AVX2, true, false, 0, {.ldst = "2:1", .threads = "1/l3"}},
        {"all on tiles",
         three,
         TILES,
         true,
         false,
         0,
         {.isa = "all", .precision = "dp,bf16,int8", .ldst = "1:1,2:1,1:1"}},
        {"a precision that tiles alone have leads",
         three,
         TILES,
         true,
         false,
         0,
         {.precision = "bf16,int8,dp,bf16", .ldst = "2:1"}},
        {"the first of each twice",
         three,
         WIDE,
         true,
         false,
         0,
         {.isa = "avx512,sse,avx512",
          .precision = "dp,sp,dp",
          .ldst = "1:1,2:1,1:1",
          .ops = "fma,add,fma",
          .ceilings = "in-core"}},
        {"ceilings of dp behind int8",
         three,
         WIDE,
         true,
         false,
         0,
         {.precision = "int8,sp,dp,int16", .ldst = "2:1", .ceilings = "traffic"}},
        {"operation of a second ISA",
         three,
         AVX2,
         true,
         false,
         0,
         {.isa = "avx2,scalar", .precision = "dp,int64", .ldst = "2:1", .ops = "popcnt,add"}},
        {"unknown ISA", two, AVX2, true, false, 0, {.isa = "mmx"}},
        {"ISA that is not here", two, AVX2, true, false, 0, {.isa = "avx512"}},
        {"unknown precision", two, AVX2, true, false, 0, {.precision = "qp"}},
        {"unknown mix", two, AVX2, true, false, 0, {.ldst = "9:9"}},
        {"unknown operation", two, AVX2, true, false, 0, {.ops = "pow"}},
        {"fma that is not here", two, AVX2, false, false, 0, {.ops = "fma"}},
        {"a level that is not here", two, AVX2, true, false, 0, {.levels = "L4"}},
    };
    text_open();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_build_config c;
        struct carm_cpu cpu = cpu_with((enum carm_isa)rows[i].widest, rows[i].fma);
        cpu.has.leaf7_edx = rows[i].widest == CARM_AMX ? 1U << 22 | 1U << 25 : 0;
        available = (rows[i].available ? rows[i].available : 1000) << 20;
        err.text[0] = '\0';
        const int rc =
            carm_build_configure(&c, &rows[i].words, &cpu, topo_of(rows[i].topology, NULL), &err);
        (void)fprintf(text, "%s: %d%s%s\n", rows[i].name, rc, rc ? " " : "", rc ? err.text : "");
        if (rc == 0) {
            put_config(&c, &cpu, rows[i].whole);
        }
    }
    text_is("words");
}

/* Codes that won before: of this machine, of the ISA and mix, in each precision, once, and at most sixteen; and the wider
 * choice of a search. */
TEST(winners)
{
    static const char *const codes[] = {"A.avx2.dp.2:1.u22.s3",
                                        "B.avx2.dp.add.f20.c10",
                                        "C.avx2.dp.2:1.fma.u8.f16.c8",
                                        "A.sse.dp.2:1.u22.s3",
                                        "A.avx2.dp.1:1.u22.s2",
                                        "A.avx2.sp.2:1.u22.s3",
                                        "A.avx2.dp.2:1.u4",
                                        "no code",
                                        "A.avx2.sp.2:1.u26.s3",
                                        "A.avx2.dp.2:1.u2",
                                        "A.avx2.dp.2:1.u3",
                                        "A.avx2.dp.2:1.u5",
                                        "A.avx2.dp.2:1.u7",
                                        "A.avx2.dp.2:1.u9",
                                        "A.avx2.dp.2:1.u11",
                                        "A.avx2.dp.2:1.u12",
                                        "A.avx2.dp.2:1.u13",
                                        "A.avx2.dp.2:1.u14",
                                        "A.avx2.dp.2:1.u15",
                                        "A.avx2.dp.2:1.u17",
                                        "A.avx2.dp.2:1.u18",
                                        "A.avx2.dp.2:1.u19",
                                        "A.avx2.dp.2:1.u20",
                                        "A.avx2.dp.2:1.u21"};
    enum { N = sizeof codes / sizeof *codes };
    static struct carm_winner items[N];
    struct carm_winners known = {.items = items}, found = {.n = 0};
    const struct carm_cpu cpu = cpu_with(CARM_AVX2, true);
    struct carm_build_config c;
    text_open();
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(items[i].machine, sizeof items[i].machine, "%s",
                       i == 10 ? "Zen 4" : "Zen 3");
        (void)snprintf(items[i].code, sizeof items[i].code, "%s", codes[i]);
    }
    for (size_t n = 0; n < N + 2; n += n < 3 ? 1 : n < N ? N - 3 : 1) {
        const struct carm_build_words words = {
            .isa = "avx2", .precision = "dp,sp", .ldst = "2:1,1:1", .ops = "fma"};
        assert_ok(carm_build_configure_codes(&c, &words, &cpu, &err));
        (void)strcpy(c.machine, "Zen 3");
        known.n = n < N ? n : N;
        c.known = &known;
        c.found = n > N ? &found : NULL;
        (void)fprintf(text, "%zu known winners%s\n", known.n, c.found ? ", and a search" : "");
        put_codes(&c, &cpu, true);
    }
    const struct carm_build_words all = {.isa = "sse", .precision = "dp", .ops = "fma"};
    assert_ok(carm_build_configure_codes(&c, &all, &cpu, &err));
    c.found = &found;
    (void)fprintf(text, "a search of all mixes\n");
    put_codes(&c, &cpu, true);
    text_is("words_winners");
}
