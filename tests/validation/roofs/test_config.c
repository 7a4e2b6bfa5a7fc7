/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of a build: precisions by default, on request, and by CPU; times, and what is refused. */
#include "tests/topo.h"
#include "validation/roofs/plan.h"

static struct carm_cpu cpu_with(enum carm_isa widest)
{
    struct carm_cpu cpu = {.fma = true, .has = {.leaf1_ecx = 1U << 19}};
    for (int i = 0; i <= (int)widest; i++) {
        cpu.isa[i] = true;
    }
    return cpu;
}

static struct carm_build_config configure(const struct carm_build_words *words,
                                          const struct carm_cpu *cpu)
{
    struct carm_build_config c;
    assert_ok(carm_build_configure_codes(&c, words, cpu, &err));
    return c;
}

static void refuse(const struct carm_build_words *words, const struct carm_cpu *cpu, int rc,
                   const char *reason)
{
    struct carm_build_config c;
    err = (struct carm_err){""};
    assert_int_equal(carm_build_configure_codes(&c, words, cpu, &err), rc);
    fail_if(!strstr(err.text, reason), "'%s' is not '%s'", err.text, reason);
}

/* Codes of the plan by precision; how many there are in all */
static size_t planned(const struct carm_build_config *c, const struct carm_cpu *cpu,
                      size_t of[CARM_PRECISION_COUNT])
{
    size_t nroofs = 0;
    struct carm_code_spec *specs = calloc(carm_build_plan_room(c), sizeof *specs);
    assert_non_null(specs);
    const size_t n = carm_build_plan_specs(c, cpu, specs, &nroofs);
    memset(of, 0, CARM_PRECISION_COUNT * sizeof *of);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(carm_code_check(&specs[i], NULL), 0);
        assert_true(carm_cpu_has_precision(cpu, specs[i].isa, specs[i].precision));
        of[specs[i].precision]++;
    }
    free(specs);
    return n;
}

TEST(default)
{
    const struct carm_cpu cpu = cpu_with(CARM_AVX512);
    const struct carm_build_words words = {.isa = NULL};
    size_t of[CARM_PRECISION_COUNT];
    const struct carm_build_config c = configure(&words, &cpu);
    assert_true(c.nprecisions == 2 && c.nleading == 1);
    assert_true(c.precisions[0] == CARM_DP && c.precisions[1] == CARM_SP);
    assert_int_equal(c.nops, 7);
    const size_t n = planned(&c, &cpu, of);
    assert_int_equal(of[CARM_DP] + of[CARM_SP], n);
    const struct carm_build_config q = configure(&(struct carm_build_words){.quick = ""}, &cpu);
    assert_true(q.nprecisions == 1 && q.precisions[0] == CARM_DP);
}

/* sp beside dp: computation alone, of vectors. Named precisions get everything. */
TEST(sp_is_computation_alone)
{
    const struct carm_cpu cpu = cpu_with(CARM_AVX512);
    const struct carm_build_words all = {.precision = "dp,sp"};
    for (int named = 0; named < 2; named++) {
        const struct carm_build_config c =
            configure(named ? &all : &(struct carm_build_words){.isa = NULL}, &cpu);
        struct carm_code_spec *specs = calloc(carm_build_plan_room(&c), sizeof *specs);
        size_t nroofs = 0, memory = 0, compute = 0, scalar = 0;
        assert_non_null(specs);
        carm_build_plan_specs(&c, &cpu, specs, &nroofs);
        for (size_t i = 1; i < nroofs; i++) {
            if (specs[i].precision == CARM_SP) {
                memory += specs[i].kind == CARM_KIND_A;
                compute += specs[i].kind == CARM_KIND_B;
                scalar += specs[i].isa == CARM_SCALAR;
                assert_true(named || specs[i].op != CARM_MAD);
            }
        }
        free(specs);
        assert_true(compute > 0 && (memory > 0) == named && (scalar > 0) == named);
        assert_int_equal(c.nleading, named ? 2 : 1);
    }
}

/* Codes of an ISA in the plan of a build, by kind. */
static void count_codes(const struct carm_build_config *c, const struct carm_cpu *cpu,
                        enum carm_isa isa, size_t *memory, size_t *nontemporal, size_t *compute)
{
    size_t nroofs = 0;
    struct carm_code_spec *specs = calloc(carm_build_plan_room(c), sizeof *specs);
    assert_non_null(specs);
    carm_build_plan_specs(c, cpu, specs, &nroofs);
    *memory = *nontemporal = *compute = 0;
    for (size_t i = 1; i < nroofs; i++) { /* the first one is empty */
        if (specs[i].isa == isa) {
            *memory += specs[i].kind == CARM_KIND_A;
            *nontemporal += specs[i].mix.nontemporal;
            *compute += specs[i].kind == CARM_KIND_B;
        }
    }
    free(specs);
}

/* Narrower ISAs are measured beside the widest one, unless ISAs are named. */
TEST(beside)
{
    static const enum carm_isa alone[] = {CARM_SSE, CARM_AVX, CARM_AVX2};
    const struct carm_mix mix = {.loads = 2, .stores = 1};
    const struct carm_mix nt = {.stores = 1, .nontemporal = true};
    const struct carm_mix loads = {.loads = 1};
    const struct carm_mix update = {.loads = 1, .stores = 1, .update = true};
    const struct carm_cpu cpu = cpu_with(CARM_AVX512);
    size_t memory = 0;
    size_t nontemporal = 0;
    size_t compute = 0;
    for (int quick = 0; quick < 2; quick++) {
        const struct carm_build_words words = {.quick = quick ? "" : NULL};
        const struct carm_build_config c = configure(&words, &cpu);
        assert_true(c.nisas == (quick ? 2 : 4) && c.nwhole == 1);
        assert_true(c.isas[0] == CARM_AVX512 && c.isas[1] == CARM_AVX2 &&
                    (quick || (c.isas[2] == CARM_SSE && c.isas[3] == CARM_SCALAR)));
        count_codes(&c, &cpu, CARM_AVX512, &memory, &nontemporal, &compute);
        assert_true(memory > 0 && compute > 0 && (nontemporal > 0) == !quick);
        count_codes(&c, &cpu, CARM_AVX2, &memory, &nontemporal, &compute);
        assert_true(memory > 0 && compute > 0 && nontemporal == 0);
        for (size_t level = 0; level < 4; level++) {
            assert_true(carm_build_wants_roof(&c, 0, &mix, level, 4));
            for (size_t isa = 1; isa < c.nisas; isa++) { /* the model's mix */
                assert_true(carm_build_wants_roof(&c, isa, &mix, level, 4));
                assert_int_equal(carm_build_wants_roof(&c, isa, &update, level, 4),
                                 isa == 1 && level == 0);
                assert_int_equal(carm_build_wants_roof(&c, isa, &loads, level, 4),
                                 isa == 1 || level < 2);
            }
            assert_int_equal(carm_build_wants_roof(&c, 0, &nt, level, 4), level == 3);
            assert_false(carm_build_wants_roof(&c, 1, &nt, level, 4));
        }
    }
    struct carm_build_config c =
        configure(&(struct carm_build_words){.isa = "avx512", .quick = NULL}, &cpu);
    assert_true(c.nisas == 1 && c.nwhole == 1);
    c = configure(&(struct carm_build_words){.isa = "sse,avx2", .quick = NULL}, &cpu);
    assert_true(c.nisas == 2 && c.nwhole == 2 && c.isas[0] == CARM_AVX2);
    assert_true(carm_build_wants_roof(&c, 1, &mix, 3, 4));
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        const struct carm_cpu narrower = cpu_with(alone[i]);
        c = configure(&(struct carm_build_words){.isa = NULL}, &narrower);
        assert_true(c.nisas == 2 + (alone[i] > CARM_SSE) && c.nwhole == 1);
        assert_true(c.isas[0] == alone[i] && c.isas[c.nisas - 1] == CARM_SCALAR);
    }
}

TEST(all)
{
    struct carm_cpu cpu = cpu_with(CARM_AVX2);
    const struct carm_build_words words = {.precision = "all"};
    const struct carm_build_words everywhere = {.precision = "int8,dp", .isa = "all"};
    size_t of[CARM_PRECISION_COUNT];
    struct carm_build_config c = configure(&words, &cpu);
    assert_int_equal(c.nprecisions, 6); /* neither fp16 nor bf16 */
    planned(&c, &cpu, of);
    assert_true(of[CARM_INT8] > 0 && of[CARM_INT64] > 0 && of[CARM_FP16] + of[CARM_BF16] == 0);
    const size_t without = of[CARM_INT8];
    cpu.has.leaf7_1_eax = 1U << 4; /* AVX-VNNI: candidates of one more operation */
    c = configure(&words, &cpu);
    planned(&c, &cpu, of);
    assert_true(of[CARM_INT8] > without);
    c = configure(&everywhere, &cpu); /* scalar and avx have dp alone */
    planned(&c, &cpu, of);
    assert_true(of[CARM_DP] > of[CARM_INT8] && of[CARM_INT8] > 0);
}

/* Tiles stand beside vectors in the precisions that have them, with all their roofs, but never find the
 * levels. */
TEST(tiles)
{
    struct carm_cpu cpu = cpu_with(CARM_AMX);
    size_t of[CARM_PRECISION_COUNT];
    size_t memory = 0;
    size_t nontemporal = 0;
    size_t compute = 0;
    cpu.has.leaf7_edx = 1U << 22 | 1U << 25; /* no fp16 */
    struct carm_build_config c = configure(&(struct carm_build_words){.isa = NULL}, &cpu);
    assert_true(c.nisas == 4 && c.isas[0] == CARM_AVX512 && c.isas[1] == CARM_AVX2);
    c = configure(&(struct carm_build_words){.precision = "dp,bf16"}, &cpu);
    assert_true(c.nisas == 5 && c.nwhole == 2);
    assert_true(c.isas[0] == CARM_AVX512 && c.isas[1] == CARM_AMX && c.isas[2] == CARM_AVX2);
    planned(&c, &cpu, of);
    assert_true(of[CARM_DP] > 0 && of[CARM_BF16] > 0);
    count_codes(&c, &cpu, CARM_AMX, &memory, &nontemporal, &compute);
    assert_true(memory >= 4 * 4 && compute >= 4 && nontemporal == 0);
    for (size_t m = 0; m < c.nmixes; m++) {
        const bool plain = !c.mixes[m].update && !c.mixes[m].nontemporal;
        assert_int_equal(carm_build_wants_roof(&c, 1, &c.mixes[m], 3, 4), plain);
    }
    c = configure(&(struct carm_build_words){.precision = "all"}, &cpu);
    planned(&c, &cpu, of);
    assert_true(c.nisas == 5 && of[CARM_FP16] == 0 && of[CARM_BF16] > 0);
    c = configure(&(struct carm_build_words){.isa = "all", .precision = "sp"}, &cpu);
    assert_true(c.nisas == 5 && c.nwhole == 5 && c.isas[4] == CARM_SCALAR);
    c = configure(&(struct carm_build_words){.isa = "amx,sse,avx512", .precision = "int8"}, &cpu);
    assert_true(c.nisas == 3 && c.isas[0] == CARM_AVX512 && c.isas[2] == CARM_AMX);
    assert_int_equal(c.nops, 9); /* those of integers as well: int8 is the only one */
    c = configure(&(struct carm_build_words){.isa = "amx", .precision = "int8"}, &cpu);
    planned(&c, &cpu, of);
    assert_true(c.nisas == 1 && of[CARM_INT8] > 16);
    refuse(&(struct carm_build_words){.isa = "amx"}, &cpu, -CARM_ENOTSUP,
           "none of the chosen ISAs has dp");
    refuse(&(struct carm_build_words){.isa = "avx512,amx"}, &cpu, -CARM_ENOTSUP,
           "amx has none of the chosen precisions on this CPU");
    refuse(&(struct carm_build_words){.isa = "amx", .precision = "int8", .ldst = "update"}, &cpu,
           -CARM_EINVAL, "begin --ldst with another mix");
    cpu.isa[CARM_AMX] = false;
    refuse(&(struct carm_build_words){.isa = "amx", .precision = "int8"}, &cpu, -CARM_ENOTSUP,
           "does not have amx");
}

/* What this CPU does not have is named; the rest is measured. */
TEST(absent)
{
    const struct carm_cpu cpu = cpu_with(CARM_AVX2);
    struct carm_build_config c =
        configure(&(struct carm_build_words){.precision = "fp16,int8,bf16"}, &cpu);
    assert_true(c.nprecisions == 1 && c.precisions[0] == CARM_INT8);
    assert_true(c.absent[CARM_FP16] && c.absent[CARM_BF16] && !c.absent[CARM_INT8]);
    assert_false(c.absent[CARM_DP]);
    c = configure(&(struct carm_build_words){.precision = "all"}, &cpu);
    assert_true(c.absent[CARM_FP16] && c.absent[CARM_BF16] && !c.absent[CARM_DP]);
}

TEST(refused)
{
    const struct carm_cpu cpu = cpu_with(CARM_AVX2);
    const struct carm_cpu narrow = cpu_with(CARM_AVX);
    refuse(&(struct carm_build_words){.precision = "fp16,bf16"}, &cpu, -CARM_ENOTSUP,
           "none of the chosen ISAs has fp16,bf16 on this CPU");
    refuse(&(struct carm_build_words){.precision = "int8", .isa = "avx,sse"}, &narrow,
           -CARM_ENOTSUP, "avx, the widest of the chosen ISAs, has none of the precisions");
    refuse(&(struct carm_build_words){.precision = "int8", .ops = "dot"}, &cpu, -CARM_ENOTSUP,
           "has dot on this CPU in the chosen precisions");
    refuse(&(struct carm_build_words){.precision = "int8", .ceilings = ""}, &cpu, -CARM_EINVAL,
           "--ceilings are those of dp or sp");
    /* ceilings take dp wherever it stands */
    const struct carm_build_config c =
        configure(&(struct carm_build_words){.precision = "int8,sp", .ceilings = ""}, &cpu);
    assert_int_equal(carm_build_ceilings_precision(&c), CARM_SP);
}

/* Of a machine with three caches; NULL in a word: as a build without it. */
static int configure_on(struct carm_build_config *c, struct carm_build_words w)
{
    const struct carm_cpu cpu = cpu_with(CARM_AVX2);
    struct carm_topo *t =
        topo_of("pack:1 l3:1(size=33554432) core:4 l2:1(size=1048576) l1:1(size=49152) pu:1", NULL);
    err = (struct carm_err){""};
    return carm_build_configure(c, &w, &cpu, t, &err);
}

/* Seconds of a build: 60, of a quick one 10; a search takes four times as long, and what comes beside it more. Fewer
 * repetitions take less. What was given is kept. */
TEST(budgets)
{
    static const struct {
        struct carm_build_words words;
        double seconds;
        size_t reps;
        int steps;
        bool latency;
    } rows[] = {
        {{.isa = NULL}, 60, 8192, 3, true},
        {{.quick = ""}, 10, 1024, 2, false},
        {{.quick = "", .latency = "yes"}, 16, 1024, 2, true},
        {{.latency = "no"}, 60, 8192, 3, false},
        {{.search = ""}, 240, 8192, 3, true},
        {{.ceilings = ""}, 75, 8192, 3, true},
        {{.scaling = ""}, 75, 8192, 3, true},
        {{.search = "", .ceilings = "", .scaling = ""}, 270, 8192, 3, true},
        {{.reps = "4096"}, 30, 4096, 3, true},
        {{.reps = "4096", .ceilings = ""}, 45, 4096, 3, true},
        {{.budget = "7", .search = "", .ceilings = "", .scaling = ""}, 7, 8192, 3, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_build_config c;
        struct carm_build_words w = rows[i].words;
        w.memory = "16M";
        assert_ok(configure_on(&c, w));
        fail_if(fabs(c.budget_seconds - rows[i].seconds) > 1e-9, "row %zu: %g s", i,
                c.budget_seconds);
        assert_int_equal(c.reps, rows[i].reps);
        assert_int_equal(c.curve_steps, rows[i].steps);
        assert_int_equal(c.latency, rows[i].latency);
        assert_int_equal(c.scaling, rows[i].words.scaling != NULL);
        assert_int_equal(c.memory_bytes, 16 << 20);
    }
}

TEST(words_that_do_not_fit)
{
    static const struct {
        struct carm_build_words words;
        int code;
        const char *says;
    } rows[] = {
        {{.levels = "L1,L9"}, -CARM_EINVAL, "--levels 'L9': this machine has L1, L2, L3, DRAM"},
        {{.ceilings = "roof"}, -CARM_EINVAL, "--ceilings: unknown group of ceilings 'roof'"},
        {{.memory = "much"},
         -CARM_EINVAL,
         "--memory 'much' is no size: write 512M, 2G or a number of bytes"},
        {{.memory = "15M"},
         -CARM_ENOMEM,
         "15 MiB are too little memory to leave the inner caches: at least 16 MiB"},
        {{.memory = "900000G"}, -CARM_ENOMEM, "--memory 900000G is more than the "},
        {{.ldst = "nt"}, -CARM_EINVAL, "--ldst with non-temporal stores alone"},
        {{.ldst = "1:1nt,nt"}, -CARM_EINVAL, "--ldst with non-temporal stores alone"},
        {{.latency = "maybe"}, -CARM_EINVAL, "--latency 'maybe': write yes or no"},
        {{.threads = "9"}, -CARM_EINVAL, ""},
        {{.reps = "15"}, -CARM_EINVAL, "--reps 15: give 16 to "},
        {{.budget = "-1"}, -CARM_EINVAL, "--budget '-1' is no number of seconds"},
        {{.levels = "L2,DRAM"}, 0, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_build_config c;
        struct carm_build_words w = rows[i].words;
        w.memory = w.memory ? w.memory : "16M";
        const int rc = configure_on(&c, w);
        fail_if(rc != rows[i].code || !strstr(err.text, rows[i].says), "row %zu: %d %s", i, rc,
                err.text);
    }
    struct carm_build_config c;
    assert_ok(
        configure_on(&c, (struct carm_build_words){.memory = "16M", .ldst = "nt,1:1nt,0:1,2:1"}));
    char name[16];
    carm_mix_name(&c.mixes[0], name); /* the first that stays in the caches leads */
    assert_string_equal(name, "0:1");
    carm_mix_name(&c.mixes[3], name);
    assert_string_equal(name, "2:1");
    assert_true(c.mixes[1].nontemporal && c.mixes[2].nontemporal);
}
