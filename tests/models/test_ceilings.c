/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ceilings: their place in a model file, the gaps between them, the option, the plan of test codes,
 * and where memory without affinity comes from. */
#include "harness/machine/team.h"
#include "models/ceilings.h"
#include "tests/models/model_text.h"
#include "tests/topo.h"
#include "validation/roofs/plan.h"

/* ---- file ---- */

static struct carm_ceiling_roof made(enum carm_ceiling_group group, const char *name, double rate)
{
    struct carm_ceiling_roof c = {.group = group,
                                  .code = "B.avx2.dp.fma.f80.c10",
                                  .rate = rate,
                                  .ci95 = {rate * 0.99, rate * 1.01},
                                  .clock_hz = 3e9,
                                  .threads = 1,
                                  .reps = 8192,
                                  .counted_by = "constructed"};
    (void)snprintf(c.name, sizeof c.name, "%s", name);
    return c;
}

static struct carm_model *model_with(const struct carm_ceiling_roof *ceilings, size_t n)
{
    struct carm_model *m = empty_model();
    *m = least_model(2);
    m->roofs = calloc(1, sizeof *m->roofs);
    assert_non_null(m->roofs);
    m->nroofs = 1;
    (void)snprintf(m->roofs->isa, sizeof m->roofs->isa, "avx2");
    (void)snprintf(m->roofs->precision, sizeof m->roofs->precision, "dp");
    m->roofs->threads = 2;
    m->roofs->clock_hz = 3e9;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(carm_ceilings_add(m->roofs, &ceilings[i], NULL), 0);
    }
    return m;
}

static void assert_same(const struct carm_ceiling_roof *a, const struct carm_ceiling_roof *b)
{
    assert_int_equal(a->group, b->group);
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->code, b->code);
    assert_true(a->rate == b->rate && a->clock_hz == b->clock_hz);
    assert_true(a->ci95.lo == b->ci95.lo && a->ci95.hi == b->ci95.hi);
    assert_int_equal(a->threads, b->threads);
    assert_int_equal(a->working_set_bytes, b->working_set_bytes);
    assert_int_equal(a->reps, b->reps);
    assert_string_equal(a->counted_by, b->counted_by);
    assert_int_equal(a->disturbed, b->disturbed);
    assert_string_equal(a->note, b->note);
}

TEST(through_a_file)
{
    struct carm_ceiling_roof ceilings[] = {
        made(CARM_CEILING_IN_CORE, "tlp add", 1e9),
        made(CARM_CEILING_MEMORY, "dot", 3e10),
        made(CARM_CEILING_BUSY, "busy 1/2", 5e9),
        {.group = CARM_CEILING_MEMORY, .name = "no affinity", .note = "not measurable: one node"}};
    ceilings[1].working_set_bytes = 1 << 28;
    ceilings[1].disturbed = true;
    (void)snprintf(ceilings[1].note, sizeof ceilings[1].note, "preempted 9 times");
    struct carm_model *m = model_with(ceilings, 4);
    struct carm_model *back = there_and_back(m);
    assert_int_equal(back->roofs->nceilings, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_same(&back->roofs->ceilings[i], &ceilings[i]);
    }
    assert_null(carm_ceilings_measured(back->roofs, CARM_CEILING_MEMORY, "no affinity"));
    assert_non_null(carm_ceilings_find(back->roofs, CARM_CEILING_MEMORY, "no affinity"));
    assert_null(carm_ceilings_find(back->roofs, CARM_CEILING_MEMORY, "tlp add"));

    m = model_with(NULL, 0); /* a file of before */
    const char *text = model_as_text(m);
    assert_null(strstr(text, "ceilings"));
    back = parse_model(text);
    assert_int_equal(back->roofs->nceilings, 0);
}

TEST(broken_files_are_refused)
{
    static const struct text_fault cases[] = {
        {"ceilings", "\"in-core\"", "\"cache\"",
         "roofs[0].ceilings[0].group is wrong: unknown group of ceilings 'cache': in-core, "
         "mix, memory, busy or traffic"},
        {"ceilings", "\"in-core\"", "3", "roofs[0].ceilings[0].group is not a string"},
        {"\"tlp fma\"", "\"tlp fma\"", "\"tlp add\"",
         "roofs[0].ceilings[1] repeats entry 0: group \"in-core\", name \"tlp add\""},
        {"ceilings", "\"rate\": 1000000000.0", "\"rate\": -1", "roofs[0].ceilings[0].rate"},
        {"ceilings", "\"rate\": 1000000000.0", "\"rate\": 2e30", "roofs[0].ceilings[0].rate"},
        {"ceilings", "\"rate\": 1000000000.0", "\"rate\": 5e9", "roofs[0].ceilings[0].ci95"},
        {"ceilings", "\"rate\": 1000000000.0", "\"rate\": 0", "roofs[0].ceilings[0]."},
        {"ceilings", "\"threads\": 1", "\"threads\": 0", "roofs[0].ceilings[0].threads"},
        {"ceilings", "\"threads\": 1", "\"threads\": 3",
         "roofs[0].ceilings[0].threads is 3, more than the set's 2"},
        {"ceilings", "\"reps\": 8192", "\"reps\": 0", "roofs[0].ceilings[0].reps"},
        {"ceilings", "\"code\": \"B.avx2.dp.fma.f80.c10\"", "\"code\": \"\"",
         "roofs[0].ceilings[0].code"},
        {"ceilings", "\"name\": \"tlp add\"", "\"name\": \"\"", "roofs[0].ceilings[0].name"},
        {"ceilings", "\"disturbed\": false", "\"disturbed\": 0", "roofs[0].ceilings[0].disturbed"},
        {"\"no affinity\"", "\"note\": \"one node\"", "\"note\": \"\"",
         "roofs[0].ceilings[2].note"},
        {"roofs", "\"ceilings\": [", "\"ceilings\": 7, \"was\": [",
         "roofs[0].ceilings is not an array"},
    };
    const struct carm_ceiling_roof ceilings[] = {
        made(CARM_CEILING_IN_CORE, "tlp add", 1e9),
        made(CARM_CEILING_IN_CORE, "tlp fma", 2e9),
        {.group = CARM_CEILING_MEMORY, .name = "no affinity", .note = "one node"}};
    struct carm_model *m = model_with(ceilings, 3);
    refuse_faults(m, cases, sizeof cases / sizeof *cases);
}

TEST(groups_by_name)
{
    for (int g = 0; g < CARM_CEILING_GROUP_COUNT; g++) {
        enum carm_ceiling_group group = CARM_CEILING_GROUP_COUNT;
        assert_ok(carm_ceiling_group_parse(carm_ceiling_group_name((enum carm_ceiling_group)g),
                                           &group, &err));
        assert_int_equal(group, g);
    }
}

TEST(gaps)
{
    static const struct {
        enum carm_ceiling_group group;
        const char *name;
        double rate, gap;
        const char *by;
    } all[] = {
        {CARM_CEILING_IN_CORE, "tlp add", 1e9, 6.0, "ILP"},
        {CARM_CEILING_IN_CORE, "ilp add", 6e9, 2.0, "SIMD"},
        {CARM_CEILING_IN_CORE, "simd16 add", 12e9, 2.0, "wider SIMD"},
        {CARM_CEILING_IN_CORE, "simd32 add", 24e9, 1.5, "FMA"},
        {CARM_CEILING_IN_CORE, "simd32 mul", 18e9, 2.0, "FMA"},
        {CARM_CEILING_IN_CORE, "simd32 fma", 36e9, 0.0, ""},
        {CARM_CEILING_MIX, "fp 1/2", 30e9, 0.0, NULL},
        {CARM_CEILING_MIX, "fp 1/4", 15e9, 2.0, "a higher FP share"},
        {CARM_CEILING_MEMORY, "dot", 40e9, 0.0, NULL},
        {CARM_CEILING_MEMORY, "random", 10e9, 4.0, "order"},
        {CARM_CEILING_MEMORY, "jump 8", 16e9, 1.25, "shorter strides"},
        {CARM_CEILING_MEMORY, "jump 2", 20e9, 2.0, "unit stride"},
        {CARM_CEILING_BUSY, "busy 1/2", 18e9, 2.0, "more threads"},
        {CARM_CEILING_BUSY, "busy 1/4", 9e9, 2.0, "more threads"},
        {CARM_CEILING_TRAFFIC, "traffic 1/2", 32e9, 1.25, "more threads"},
    };
    enum { N = sizeof all / sizeof *all };
    struct carm_roofs roofs = {.threads = 4};
    for (size_t i = 0; i < N; i++) {
        const struct carm_ceiling_roof c = made(all[i].group, all[i].name, all[i].rate);
        assert_int_equal(carm_ceilings_add(&roofs, &c, NULL), 0);
    }
    for (size_t i = 0; i < N; i++) {
        const char *by = "";
        assert_near(carm_ceiling_gap(&roofs, &roofs.ceilings[i], &by), all[i].gap, 1e-12);
        if (all[i].by) {
            assert_string_equal(by, all[i].by);
        }
    }
    const char *by = "";
    roofs.ceilings[2].rate = 0.0; /* not measured: the next width stands in */
    assert_near(carm_ceiling_gap(&roofs, &roofs.ceilings[1], &by), 4.0, 1e-12);
    assert_string_equal(by, "SIMD");
    assert_near(carm_ceiling_gap(&roofs, &roofs.ceilings[2], &by), 0.0, 0.0);
    assert_string_equal(carm_ceilings_best(&roofs, CARM_CEILING_IN_CORE, "")->name, "simd32 fma");
    assert_string_equal(carm_ceilings_best(&roofs, CARM_CEILING_IN_CORE, "ilp")->name, "ilp add");
    free(roofs.ceilings);
}

/* ---- option and plan ---- */

struct fixture {
    struct carm_topo *topo;
    struct carm_cpu cpu;
    struct carm_build_config config;
};

static int configure(struct fixture *f, struct carm_build_words words, struct carm_err *failure)
{
    memset(f, 0, sizeof *f);
    f->topo =
        topo_of("pack:1 l3:1(size=33554432) core:4 l2:1(size=1048576) l1:1(size=32768) pu:1", NULL);
    for (int i = 0; i < CARM_VECTOR_ISAS; i++) {
        f->cpu.isa[i] = true;
    }
    f->cpu.fma = true;
    words.memory = "64M";
    return carm_build_configure(&f->config, &words, &f->cpu, f->topo, failure);
}

TEST(the_option)
{
    struct fixture f;
    static const struct {
        const char *word;
        bool want[CARM_CEILING_GROUP_COUNT];
    } good[] = {
        {NULL, {false}},
        {"", {true, true, true, true, true}},
        {"mix", {false, true, false, false, false}},
        {"traffic,in-core,traffic", {true, false, false, false, true}},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_ok(configure(&f, (struct carm_build_words){.ceilings = good[i].word}, &err));
        assert_memory_equal(f.config.ceilings, good[i].want, sizeof good[i].want);
        assert_int_equal(carm_build_wants_ceilings(&f.config), good[i].word != NULL);
    }
    assert_int_equal(configure(&f, (struct carm_build_words){.ceilings = "mix,simd"}, &err),
                     -CARM_EINVAL);
    assert_string_equal(err.text, "--ceilings: unknown group of ceilings 'simd': in-core, mix, "
                                  "memory, busy or traffic");
    assert_ok(configure(&f, (struct carm_build_words){.precision = "sp,dp"}, &err));
    assert_int_equal(carm_build_ceilings_precision(&f.config), CARM_DP);
    assert_ok(configure(&f, (struct carm_build_words){.precision = "sp"}, &err));
    assert_int_equal(carm_build_ceilings_precision(&f.config), CARM_SP);
}

static const struct carm_ceiling_point *find(const struct carm_ceiling_point *points, size_t n,
                                             const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(points[i].name, name) == 0) {
            return &points[i];
        }
    }
    return NULL;
}

/* Which in-core ceilings an ISA has, in order. */
TEST(the_plan_of_each_isa)
{
    static const struct {
        const char *isa;
        bool fma;
        const char *want;
    } cases[] = {
        {"scalar", true, "tlp add|tlp fma|ilp add|ilp fma|ilp mad|ilp mul|"},
        {"sse", false, "tlp add|tlp mad|ilp add|ilp mad|simd16 add|simd16 mad|simd16 mul|"},
        {"avx", true,
         "tlp add|tlp fma|ilp add|ilp fma|simd16 add|simd16 fma|simd32 add|simd32 mad|simd32 mul|"},
        {"avx2", true,
         "tlp add|tlp fma|ilp add|ilp fma|simd16 add|simd16 fma|simd32 add|simd32 fma|simd32 "
         "mad|simd32 mul|"},
        {"avx512", true,
         "tlp add|tlp fma|ilp add|ilp fma|simd16 add|simd16 fma|simd32 add|simd32 fma|simd64 "
         "add|simd64 fma|simd64 mad|simd64 mul|"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_ceiling_point points[CARM_CEILING_POINTS_MAX];
        struct fixture f;
        char got[1024] = "";
        assert_ok(configure(
            &f, (struct carm_build_words){.isa = cases[i].isa, .ceilings = "in-core"}, &err));
        f.cpu.fma = cases[i].fma;
        const size_t n = carm_ceilings_plan(&f.config, &f.cpu, points);
        for (size_t k = 0; k < n; k++) {
            (void)snprintf(got + strlen(got), sizeof got - strlen(got), "%s|", points[k].name);
        }
        assert_string_equal(got, cases[i].want);
    }
}

/* Every code is in the one image, assembled and recounted; shares of floating point are exact; codes
 * of ceilings are no candidates for roofs. */
TEST(codes_are_assembled_and_recounted)
{
    static const char *const isas[] = {"scalar", "sse", "avx", "avx2", "avx512"};
    static const char *const precisions[] = {"dp", "sp"};
    for (size_t i = 0; i < 10; i++) {
        struct carm_ceiling_point points[CARM_CEILING_POINTS_MAX];
        struct carm_build_plan plan;
        struct fixture f;
        const struct carm_build_words words = {.isa = isas[i / 2],
                                               .precision = precisions[i % 2],
                                               .ldst = "2:1,1:0",
                                               .ops = "mad,add",
                                               .ceilings = ""};
        assert_ok(configure(&f, words, &err));
        const int rc = carm_build_plan_open(&plan, &f.config, &f.cpu, &err);
        skip_if(rc == -CARM_ENOTSUP, "%s", err.text);
        fail_if(rc, "%s", err.text);
        const size_t n = carm_ceilings_plan(&f.config, &f.cpu, points);
        for (size_t k = 0; k < n; k++) {
            for (size_t c = 0; c < points[k].ncodes; c++) {
                char name[CARM_CODE_NAME_MAX];
                carm_code_name(&points[k].codes[c], name);
                fail_if(!carm_image_find(plan.image, name), "%s has no code %s", points[k].name,
                        name);
            }
        }
        for (unsigned k = 1; k <= 4; k++) {
            char name[CARM_CODE_NAME_MAX];
            (void)snprintf(name, sizeof name, "fp 1/%u", 1U << k);
            const struct carm_ceiling_point *p = find(points, n, name);
            assert_non_null(p);
            carm_code_name(&p->codes[0], name);
            const struct carm_account *a = &carm_image_find(plan.image, name)->account;
            assert_int_equal(a->fp_instructions << k, a->instructions);
        }
        const struct carm_code *codes[CARM_CANDIDATES_MAX];
        const struct carm_mix loads = {.loads = 1};
        const size_t reads = carm_build_plan_memory(&plan, f.config.isas[0], f.config.precisions[0],
                                                    &loads, false, codes);
        for (size_t k = 0; k < reads; k++) {
            assert_true(codes[k]->spec.stride < 2);
        }
        assert_true(reads > 0);
        const size_t adds = carm_build_plan_compute(&plan, f.config.isas[0], f.config.precisions[0],
                                                    CARM_ADD, codes);
        for (size_t k = 0; k < adds; k++) {
            assert_true(codes[k]->spec.chains > 1 && codes[k]->spec.ints == 0);
        }
        assert_true(adds > 0);
        for (size_t k = 0; k < plan.image->n; k++) { /* each once */
            assert_ptr_equal(carm_image_find(plan.image, plan.image->codes[k].name),
                             &plan.image->codes[k]);
        }
        carm_build_plan_close(&plan);
    }
}

/* Traffic alone still has its streaming read, which is no ceiling of memory. */
TEST(traffic_alone)
{
    struct carm_ceiling_point points[CARM_CEILING_POINTS_MAX];
    struct fixture f;
    assert_ok(configure(&f, (struct carm_build_words){.ceilings = "traffic"}, &err));
    assert_int_equal(carm_ceilings_plan(&f.config, &f.cpu, points), 1);
    assert_string_equal(points[0].name, "dot");
    assert_int_equal(points[0].group, CARM_CEILING_TRAFFIC);
    assert_int_equal(points[0].codes[0].streams, 2);
}

TEST(parts_are_powers_of_two)
{
    int parts[32];
    char name[32];
    assert_int_equal(carm_ceilings_parts(1, parts), 0);
    assert_int_equal(carm_ceilings_parts(2, parts), 1);
    assert_int_equal(parts[0], 1);
    assert_int_equal(carm_ceilings_parts(8, parts), 3);
    assert_int_equal(parts[0], 4);
    assert_int_equal(parts[2], 1);
    assert_int_equal(carm_ceilings_parts(6, parts), 3);
    assert_int_equal(parts[0], 4);
    carm_ceilings_share(4, 6, name);
    assert_string_equal(name, "2/3");
    carm_ceilings_share(4, 8, name);
    assert_string_equal(name, "1/2");
    carm_ceilings_share(1, 128, name);
    assert_string_equal(name, "1/128");
}

/* ---- affinity ---- */

/* want: the hardware thread that touches for n threads, -1 = there is one node */
static void assert_touch(const char *machine, const char *cpuset, int nodes, int n, int want)
{
    const struct carm_topo *topo = topo_of(machine, cpuset);
    assert_int_equal(carm_topo_nodes(topo), nodes);
    assert_int_equal(carm_topo_far_pu(topo, n), want);
}

TEST(memory_of_another_node)
{
    static const char two[] = "pack:2 numa:1 core:4 pu:1"; /* PUs 0-3 and 4-7 */
    static const char smt[] = "pack:2 numa:1 core:2 pu:2"; /* 0-3 and 4-7, two to a core */
    static const char four[] = "pack:2 numa:2 core:2 pu:1";
    assert_touch("pack:1 core:4 pu:1", NULL, 1, 4, -1);
    assert_touch(two, NULL, 2, 8, 0); /* both nodes at work: all memory on the first */
    assert_touch(two, NULL, 2, 5, 0);
    assert_touch(two, NULL, 2, 4, 4); /* one node at work: memory on the other */
    assert_touch(two, NULL, 2, 1, 4);
    assert_touch(smt, NULL, 2, 2, 4);
    assert_touch(smt, NULL, 2, 3, 0);
    assert_touch(four, NULL, 4, 2, 2);
    assert_touch(four, NULL, 4, 8, 0);
    assert_touch(two, "0x0f", 1, 4, -1); /* the other node is out of reach */
    assert_touch(two, "0x10", 1, 1, -1);
    assert_touch(two, "0x18", 2, 1, 4);
}

/* Here: whatever thread touches, it is done once, for all, and the workers' own touch does nothing. */
TEST(touching_for_others)
{
    struct carm_topo *topo = topo_of(NULL, NULL);
    struct carm_team *team = NULL;
    struct carm_clock clock;
    const size_t bytes = (size_t)4 << 20;
    assert_ok(carm_clock_open(&clock, &err));
    const int n = topo->pus > 1 ? 2 : 1;
    assert_ok(carm_team_open(&team, topo, &clock, n, bytes, 16, &err));
    assert_ok(carm_team_touch_from(team, topo->order[0], bytes, &err));
    for (int i = 0; i < n; i++) {
        const double *values = team->workers[i].buffer.start;
        assert_int_equal(team->workers[i].buffer.touched, bytes);
        assert_near(values[bytes / sizeof *values - 1], 1.0, 0.0);
    }
    *(double *)team->workers[0].buffer.start = 7.0;
    carm_team_touch(team, bytes);
    assert_near(*(double *)team->workers[0].buffer.start, 7.0, 0.0);
    carm_team_close(team);
}

static void put(struct carm_ceiling *list, size_t *n, const char *name, double rate, bool aside)
{
    struct carm_ceiling *r = &list[(*n)++];
    memset(r, 0, sizeof *r);
    (void)strcpy(r->name, name);
    r->rate = rate;
    r->ci95 = (struct carm_ci){rate, rate};
    r->aside = aside;
}

/* Figure 2: slopes 2.7, 4.8, 11, 15; horizontals 2.2, 8.8, 17.6; one aside on each side. */
static struct carm_ceilings figure2(void)
{
    struct carm_ceilings l = {.metric = "flop"};
    put(l.memory, &l.nmemory, "unit stride", 2.7, false);
    put(l.memory, &l.nmemory, "affinity", 4.8, false);
    put(l.memory, &l.nmemory, "half the traffic", 7.5, true);
    put(l.memory, &l.nmemory, "prefetch", 11, false);
    put(l.memory, &l.nmemory, "roof", 15, false);
    put(l.compute, &l.ncompute, "ilp", 2.2, false);
    put(l.compute, &l.ncompute, "fp 1/2", 5, true);
    put(l.compute, &l.ncompute, "balance", 8.8, false);
    put(l.compute, &l.ncompute, "peak", 17.6, false);
    put(l.compute, &l.ncompute, "turbo", 20, true);
    return l;
}

TEST(roofs)
{
    struct carm_ceilings l = figure2();
    assert_string_equal(carm_ceilings_slope(&l)->name, "roof");
    assert_string_equal(carm_ceilings_peak(&l)->name, "peak");
    assert_near(carm_ceilings_ridge(&l), 17.6 / 15, 1e-12);
    l.nmemory = 0;
    assert_null(carm_ceilings_slope(&l));
    assert_near(carm_ceilings_ridge(&l), 0, 0);
    assert_string_equal(carm_region_name(CARM_REGION_MEMORY), "memory");
    assert_string_equal(carm_region_name(CARM_REGION_BOTH), "memory and compute");
    assert_string_equal(carm_region_name(CARM_REGION_COMPUTE), "compute");
}

TEST(sandwich)
{
    static const struct {
        double intensity, performance;
        bool aside;
        const char *upper, *lower; /* NULL = none */
    } cases[] = {
        {1, 5, false, "balance", "affinity"},
        {1, 5, true, "fp 1/2", "affinity"}, /* at it: it is the upper one */
        {1, 6, true, "half the traffic", "fp 1/2"},
        {1, 2.2, false, "ilp", NULL}, /* at the lowest */
        {1, 2.2001, false, "unit stride", "ilp"},
        {1, 1, false, "ilp", NULL},
        {1, 15, false, "roof", "prefetch"}, /* at the roof */
        {1, 15.01, false, NULL, "roof"},    /* above it: not the peak, which binds nothing */
        {0.1, 1.2, false, "roof", "prefetch"},
        {0.1, 2, false, NULL, "roof"}, /* 2.2 lies above the roof here */
        {10, 17, false, "peak", "balance"},
        {10, 18, true, NULL, "peak"}, /* an aside above the roof binds nothing */
        {10, 18, false, NULL, "peak"},
    };
    const struct carm_ceilings l = figure2();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_ceiling_around u, d;
        assert_int_equal(carm_ceilings_around(&l, cases[i].intensity, cases[i].performance,
                                              cases[i].aside, &u, &d, NULL),
                         0);
        const char *upper = !u.known    ? ""
                            : u.compute ? l.compute[u.index].name
                                        : l.memory[u.index].name;
        const char *lower = !d.known    ? ""
                            : d.compute ? l.compute[d.index].name
                                        : l.memory[d.index].name;
        assert_string_equal(upper, cases[i].upper ? cases[i].upper : "");
        assert_string_equal(lower, cases[i].lower ? cases[i].lower : "");
        if (u.known) {
            assert_near(u.at,
                        u.compute ? l.compute[u.index].rate
                                  : l.memory[u.index].rate * cases[i].intensity,
                        1e-12);
        }
    }
}

TEST(sandwich_refuses)
{
    static const double bad[] = {0, -1, (double)NAN, (double)INFINITY};
    const struct carm_ceilings l = figure2();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct carm_ceiling_around u, d;
        err = (struct carm_err){""};
        assert_refused(carm_ceilings_around(&l, bad[i], 1, false, &u, &d, &err), -CARM_EINVAL,
                       "intensity");
        assert_refused(carm_ceilings_around(&l, 1, bad[i], false, &u, &d, &err), -CARM_EINVAL,
                       "performance");
        assert_false(u.known || d.known);
    }
}

struct want {
    const char *name;
    double from, to, times;
};

static void check_gains(double intensity, double performance, enum carm_region want_region,
                        const struct want *want, size_t nwant)
{
    const struct carm_ceilings l = figure2();
    struct carm_gain g[2 * CARM_CEILINGS_MAX];
    enum carm_region region;
    const size_t n = carm_ceilings_gains(&l, intensity, performance, &region, g);
    assert_int_equal(region, want_region);
    assert_int_equal(n, nwant);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(g[i].compute ? l.compute[g[i].index].name : l.memory[g[i].index].name,
                            want[i].name);
        assert_near(g[i].from, want[i].from, 1e-7);
        assert_near(g[i].to, want[i].to, 1e-7);
        assert_near(g[i].times, want[i].times, 1e-7);
    }
}

TEST(gains)
{
    /* Below 2.2 / 15 no horizontal is in reach: the yellow triangle. */
    static const struct want memory[] = {{"unit stride", 0.27, 0.48, 4.8 / 2.7},
                                         {"affinity", 0.48, 1.1, 11 / 4.8},
                                         {"prefetch", 1.1, 1.5, 15.0 / 11}};
    check_gains(0.1, 0, CARM_REGION_MEMORY, memory, 3);
    /* Between: both, from the bottom up; what a step gives is capped by the roof of 7.5. */
    static const struct want both[] = {{"unit stride", 1.35, 2.4, 4.8 / 2.7},
                                       {"ilp", 2.2, 7.5, 7.5 / 2.2},
                                       {"affinity", 2.4, 5.5, 11 / 4.8},
                                       {"prefetch", 5.5, 7.5, 15.0 / 11}};
    check_gains(0.5, 0, CARM_REGION_BOTH, both, 4);
    /* Right of 17.6 / 2.7 no slope lies below the peak: the blue trapezoid. */
    static const struct want compute[] = {{"ilp", 2.2, 8.8, 4}, {"balance", 8.8, 17.6, 2}};
    check_gains(8, 0, CARM_REGION_COMPUTE, compute, 2);
    check_gains(8, (double)NAN, CARM_REGION_COMPUTE, compute, 2);
    check_gains(8, (double)INFINITY, CARM_REGION_COMPUTE, compute, 2);
    check_gains(8, -1, CARM_REGION_COMPUTE, compute, 2);
    check_gains(17.6 / 2.7 + 1e-9, 0, CARM_REGION_COMPUTE, compute, 2);
    check_gains(17.6 / 15 - 1e-9, 0, CARM_REGION_BOTH,
                (const struct want[]){{"ilp", 2.2, 8.8, 4},
                                      {"unit stride", 3.168, 5.632, 4.8 / 2.7},
                                      {"affinity", 5.632, 12.906666666, 11 / 4.8},
                                      {"balance", 8.8, 17.599999985, 17.599999985 / 8.8},
                                      {"prefetch", 12.906666666, 17.599999985, 15.0 / 11}},
                5);
}

TEST(gains_of_a_point)
{
    /* At 3 under the slope the ceilings below 2.4 are broken: affinity may still be done in part and counts from the
     * point on, "ilp" (2.2) is not of the slope's kind. */
    static const struct want at3[] = {{"affinity", 2.4, 5.5, 5.5 / 3},
                                      {"prefetch", 5.5, 7.5, 15.0 / 11}};
    check_gains(0.5, 3, CARM_REGION_BOTH, at3, 2);
    /* At the roof, or above it, nothing is left. */
    check_gains(0.5, 7.5, CARM_REGION_BOTH, NULL, 0);
    check_gains(0.5, 9, CARM_REGION_BOTH, NULL, 0);
    check_gains(0, 9, CARM_REGION_MEMORY, NULL, 0);
}

/* Roofs alone: the ridge point decides. */
TEST(without_ceilings)
{
    struct carm_ceilings l = {.metric = "flop"};
    struct carm_gain g[2 * CARM_CEILINGS_MAX];
    enum carm_region region;
    put(l.memory, &l.nmemory, "roof", 10, false);
    put(l.compute, &l.ncompute, "peak", 40, false);
    assert_int_equal(carm_ceilings_gains(&l, 3.9, 0, &region, g), 0);
    assert_int_equal(region, CARM_REGION_MEMORY);
    assert_int_equal(carm_ceilings_gains(&l, 4.1, 0, &region, g), 0);
    assert_int_equal(region, CARM_REGION_COMPUTE);
}
