/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which codes a build tries: the usual ones, what earlier searches found, a search's wider choice; and
 * what of them wins, on planted rates. */
#include "tests/fingerprint.h"
#include "tests/unit.h"
#include "validation/roofs/roofs.h"

static struct carm_cpu cpu;
static struct carm_build_config config;
static struct carm_winners known, found;

static int set_up(void **state)
{
    const struct carm_build_words words = {.isa = "sse", .ops = "add"};
    cpu = (struct carm_cpu){.isa = {[CARM_SCALAR] = true, [CARM_SSE] = true}};
    known = (struct carm_winners){.n = 0};
    found = (struct carm_winners){.n = 0};
    const int rc = carm_build_configure_codes(&config, &words, &cpu, &err);
    (void)snprintf(config.machine, sizeof config.machine, "Zen 3");
    return rc;
}

static int tear_down(void **state)
{
    carm_winners_close(&known);
    return 0;
}

static void know(const char *machine, const char *code)
{
    struct carm_winner w = {.gain = 1.1, .level = "DRAM"};
    (void)snprintf(w.machine, sizeof w.machine, "%s", machine);
    (void)snprintf(w.code, sizeof w.code, "%s", code);
    assert_int_equal(carm_winners_add(&known, &w, NULL), 0);
    config.known = &known;
}

static void open_plan(struct carm_build_plan *plan)
{
    assert_ok(carm_build_plan_open(plan, &config, &cpu, &err));
}

/* The candidates of a mix. returns how many; names: of the first */
static size_t candidates(const struct carm_build_plan *plan, const char *name, bool first_level,
                         const struct carm_code **codes)
{
    struct carm_mix mix;
    assert_int_equal(carm_mix_parse(name, &mix, NULL), 0);
    return carm_build_plan_memory(plan, CARM_SSE, CARM_DP, &mix, first_level, codes);
}

/* For each default mix: one stream, and as many as its accesses need, all different. */
TEST_BETWEEN(usual_candidates, set_up, tear_down)
{
    static const struct {
        const char *mix;
        unsigned streams[2]; /* other than one */
    } mixes[] = {{"2:1", {3, 6}}, {"1:1", {2, 4}},    {"1:0", {2, 4}},      {"0:1", {2, 4}},
                 {"nt", {2, 4}},  {"update", {2, 4}}, {"2:1update", {2, 4}}};
    struct carm_build_plan plan;
    open_plan(&plan);
    for (size_t i = 0; i < sizeof mixes / sizeof *mixes; i++) {
        const struct carm_code *codes[CARM_CANDIDATES_MAX];
        const size_t n = candidates(&plan, mixes[i].mix, false, codes);
        size_t of[CARM_CODE_STREAMS_MAX + 1] = {0};
        assert_in_range(n, 6, 16);
        for (size_t k = 0; k < n; k++) {
            of[codes[k]->spec.streams]++;
            assert_false(carm_build_plan_is_searched(&plan, codes[k]));
            for (size_t other = 0; other < k; other++) {
                assert_string_not_equal(codes[k]->name, codes[other]->name);
            }
        }
        assert_true(of[0] > 0 && of[mixes[i].streams[0]] > 0 && of[mixes[i].streams[1]] > 0);
        assert_int_equal(of[0] + of[mixes[i].streams[0]] + of[mixes[i].streams[1]], n);
    }
    carm_build_plan_close(&plan);
    carm_build_plan_close(&plan); /* as after a failure to open it: nothing is left */
}

/* What was found for this machine comes first, in each precision that is asked for, once. */
TEST_BETWEEN(known_codes_come_first, set_up, tear_down)
{
    const struct carm_code *codes[CARM_CANDIDATES_MAX];
    struct carm_build_plan plan;
    open_plan(&plan);
    const size_t usual = candidates(&plan, "2:1", false, codes);
    carm_build_plan_close(&plan);
    know("Zen 3", "A.sse.sp.2:1.u22.p640.s3");
    know("Zen 4", "A.sse.dp.2:1.u26.s3");       /* another machine's */
    know("Zen 3", "A.avx2.dp.2:1.u22.s3");      /* another ISA's */
    know("Zen 3", "A.sse.dp.2:1.u4");           /* one of the usual ones */
    know("Zen 3", "A.sse.dp.1:1.u4.in.future"); /* of another version of carm */
    know("Zen 3", "B.sse.dp.add.f20.c10");
    open_plan(&plan);
    assert_int_equal(candidates(&plan, "2:1", false, codes), usual + 1);
    assert_true(strcmp(codes[0]->name, "A.sse.dp.2:1.u22.p640.s3") == 0 ||
                strcmp(codes[1]->name, "A.sse.dp.2:1.u22.p640.s3") == 0);
    assert_false(carm_build_plan_is_searched(&plan, codes[0]));
    carm_build_plan_close(&plan);
    known.n = 0; /* the codes are in memory, but not of the file any more */
    open_plan(&plan);
    assert_int_equal(candidates(&plan, "2:1", false, codes), usual);
    carm_build_plan_close(&plan);
}

/* A search tries several times as many, which it knows from the usual ones; in L1 none with prefetch. */
TEST_BETWEEN(a_search_is_wider, set_up, tear_down)
{
    struct carm_build_plan plan;
    struct carm_build_plan search;
    open_plan(&plan);
    config.found = &found;
    open_plan(&search);
    for (size_t i = 0; i < config.nmixes; i++) {
        const struct carm_code *codes[CARM_CANDIDATES_MAX];
        char name[16];
        size_t searched = 0;
        carm_mix_name(&config.mixes[i], name);
        const size_t usual = candidates(&plan, name, false, codes);
        const size_t n = candidates(&search, name, false, codes);
        for (size_t k = 0; k < n; k++) {
            searched += carm_build_plan_is_searched(&search, codes[k]);
            assert_int_equal(carm_build_plan_is_searched(&search, codes[k]), k >= usual);
        }
        assert_int_equal(n - searched, usual);
        assert_true(searched >= (config.mixes[i].nontemporal ? 4 : 2 * usual));
        const size_t first = candidates(&search, name, true, codes);
        for (size_t k = 0; k < first; k++) {
            assert_int_equal(codes[k]->spec.prefetch_bytes, 0);
        }
    }
    carm_build_plan_close(&plan);
    carm_build_plan_close(&search);
}

/* Parts of n threads: halves, down to one; their names are fractions in lowest terms. */
TEST(parts_are_halves)
{
    static const struct {
        int n, parts[4];
        size_t found;
        const char *least;
    } cases[] = {{1, {0}, 0, NULL},
                 {2, {1}, 1, "1/2"},
                 {4, {2, 1}, 2, "1/4"},
                 {12, {8, 4, 2, 1}, 4, "1/12"},
                 {16, {8, 4, 2, 1}, 4, "1/16"}};
    char name[32];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int parts[32];
        assert_int_equal(carm_ceilings_parts(cases[i].n, parts), cases[i].found);
        for (size_t k = 0; k < cases[i].found; k++) {
            assert_int_equal(parts[k], cases[i].parts[k]);
        }
        if (cases[i].least) {
            carm_ceilings_share(1, cases[i].n, name);
            assert_string_equal(name, cases[i].least);
        }
    }
    carm_ceilings_share(8, 12, name);
    assert_string_equal(name, "2/3");
    carm_ceilings_share(8, 16, name);
    assert_string_equal(name, "1/2");
}

/* What is kept: a code that only the search has, clearly faster in sound rounds. */
TEST(winners)
{
    static const struct {
        double gain;
        bool usual_is_best, sound, kept;
    } cases[] = {{1.02, false, true, true},
                 {1.004, false, true, false},
                 {0.0, false, true, false}, /* never compared */
                 {1.02, true, true, false},
                 {1.02, false, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct carm_code codes[2] = {{.name = "A.sse.dp.2:1.u4"},
                                           {.name = "A.sse.dp.2:1.u8.s3"}};
        static struct carm_team team;
        static struct carm_topo topo;
        const struct carm_build build = {.topo = &topo};
        struct carm_build_set set = {.build = &build, .threads = 1, .team = &team};
        struct carm_series series = {.code = &codes[cases[i].usual_is_best ? 0 : 1]};
        struct carm_build_roof roof = {
            .set = &set,
            .memory = true,
            .level = 1,
            .series = &series,
            .nseries = 1,
            .pooled = {.rate = 1e9, .ci95 = {1e9, 1e9}, .n = 8, .used = 8, .sound = cases[i].sound},
            .usual = &codes[0],
            .gain = cases[i].gain};
        struct carm_winner w;
        set.levels.n = 2;
        (void)snprintf(set.levels.levels[1].name, CARM_NAME_MAX, "DRAM");
        assert_int_equal(carm_build_roof_winner(&roof, &w), cases[i].kept);
        if (cases[i].kept) {
            assert_string_equal(w.level, "DRAM");
            assert_string_equal(w.code, "A.sse.dp.2:1.u8.s3");
            assert_true(w.gain == cases[i].gain);
        }
    }
}

/* Eight units of a stream are a line or more, but of single floats: sixteen. */
TEST(streams_are_of_whole_lines)
{
    static struct carm_ceiling_point points[CARM_CEILING_POINTS_MAX];
    static const struct {
        const char *isa, *precision;
        unsigned units;
    } rows[] = {{"scalar", "sp", 16}, {"scalar", "dp", 8}, {"sse", "sp", 8}, {"avx2", "dp", 8}};
    cpu.isa[CARM_SCALAR] = cpu.isa[CARM_SSE] = cpu.isa[CARM_AVX2] = cpu.fma = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct carm_build_words words = {.isa = rows[i].isa, .precision = rows[i].precision};
        size_t streams = 0;
        assert_ok(carm_build_configure_codes(&config, &words, &cpu, &err));
        memset(config.ceilings, true, sizeof config.ceilings);
        const size_t n = carm_ceilings_plan(&config, &cpu, points);
        for (size_t k = 0; k < n; k++) {
            if (strcmp(points[k].name, "dot") == 0 || strcmp(points[k].name, "copy") == 0) {
                for (size_t c = 0; c < points[k].ncodes; c++) {
                    assert_int_equal(points[k].codes[c].units, rows[i].units);
                    streams++;
                }
            }
        }
        assert_true(streams > 2);
    }
}

/* The candidates for all roofs, without a search and with one, in their order, and those of all ceilings. */
TEST(candidates_stay)
{
    static struct carm_ceiling_point points[CARM_CEILING_POINTS_MAX];
    const struct carm_build_words words = {.isa = "scalar,sse,avx2,avx512",
                                           .precision = "dp,sp",
                                           .ldst = "2:1,1:1,1:0,0:1,nt,update,2:1update,4:1,6:1"};
    uint64_t roofs = FINGERPRINT_NONE, ceilings = FINGERPRINT_NONE;
    char name[CARM_CODE_NAME_MAX];
    size_t n = 0, nroofs = 0;
    memset(cpu.isa, true, sizeof cpu.isa);
    memset(&cpu.has, 0, sizeof cpu.has);
    cpu.isa[CARM_AMX] = false;
    cpu.fma = true;
    const struct carm_build_words mixture = {.isa = "avx2", .ops = "2fma+add"};
    for (int search = -1; search < 2; search++) {
        assert_ok(carm_build_configure_codes(&config, search < 0 ? &mixture : &words, &cpu, &err));
        config.known = NULL;
        memset(config.ceilings, true, sizeof config.ceilings);
        config.found = search > 0 ? &found : NULL;
        struct carm_code_spec *specs = calloc(carm_build_plan_room(&config), sizeof *specs);
        assert_non_null(specs);
        n = carm_build_plan_specs(&config, &cpu, specs, &nroofs);
        for (size_t i = 0; i < n; i++) {
            carm_code_name(&specs[i], name);
            roofs = fingerprint(roofs, name, strlen(name) + 1);
        }
        free(specs);
    }
    const size_t npoints = carm_ceilings_plan(&config, &cpu, points);
    for (size_t i = 0; i < npoints; i++) {
        ceilings = fingerprint(ceilings, points[i].name, strlen(points[i].name) + 1);
        ceilings = fingerprint(ceilings, &points[i].group, sizeof points[i].group);
        ceilings = fingerprint(ceilings, &points[i].place, sizeof points[i].place);
        for (size_t k = 0; k < points[i].ncodes; k++) {
            carm_code_name(&points[i].codes[k], name);
            ceilings = fingerprint(ceilings, name, strlen(name) + 1);
        }
    }
    fail_if(n != 5291 || nroofs != 5271 || npoints != 25 || roofs != UINT64_C(0x7d3c7a62ec376dcf) ||
                ceilings != UINT64_C(0xe53f38cfe9a1f124),
            "%zu codes, %zu of them roofs', 0x%llx; %zu ceilings, 0x%llx", n, nroofs,
            (unsigned long long)roofs, npoints, (unsigned long long)ceilings);
}
