/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What reports say of a fleet that has been judged, from tables written by hand; and which rows are one node. */
#include "models/fleet/fleet.h"
#include "models/fleet/nodes.h"
#include "tests/unit.h"

TEST(labels)
{
    static const struct {
        struct carm_fleet_column column;
        const char *label, *kind;
    } cases[] = {
        {{.roof = {.name = "L3", .threads = 1}, .family = true, .nroofs = 10},
         "L3, 1 thread (10 roofs)",
         "level"},
        {{.roof = {.name = "L3", .threads = 2}, .family = true, .nroofs = 1},
         "L3, 2 threads (1 roofs)",
         "level"},
        {{.roof = {.name = "L3"}, .family = true, .nroofs = 7}, "L3 (7 roofs)", "level"},
        {{.roof = {.name = "latency L3",
                   .isa = "",
                   .precision = "",
                   .threads = 1,
                   .kind = CARM_COMPARE_MEMORY}},
         "latency L3, 1 thread",
         "memory"},
        {{.roof = {.name = "latency L3",
                   .isa = "",
                   .precision = "",
                   .threads = 4,
                   .kind = CARM_COMPARE_MEMORY}},
         "latency L3, 4 threads",
         "memory"},
        {{.roof = {.name = "clock", .isa = "avx2", .precision = "dp", .threads = 1, .clock = true}},
         "avx2 dp, 1 thread: clock",
         "clock"},
        {{.roof = {.name = "fma",
                   .isa = "avx2",
                   .precision = "dp",
                   .threads = 3,
                   .kind = CARM_COMPARE_COMPUTE}},
         "avx2 dp, 3 threads: fma",
         "compute"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[CARM_FLEET_LABEL_MAX];
        assert_string_equal(carm_fleet_label(text, sizeof text, &cases[i].column, true),
                            cases[i].label);
        assert_string_equal(carm_fleet_kind_name(&cases[i].column), cases[i].kind);
    }
    const char *const verdicts[] = {"sound", "suspect", "small", "slow", "fast"};
    for (int i = 0; i < 5; i++) {
        assert_string_equal(carm_fleet_verdict_name((enum carm_fleet_verdict)i), verdicts[i]);
    }
    struct carm_fleet_group group = {.memory_min = 64ULL << 30, .memory_max = 64ULL << 30};
    char memory[64];
    assert_string_equal(carm_fleet_memory_text(memory, sizeof memory, &group), "64 GiB");
    group.memory_max = 96ULL << 30;
    assert_string_equal(carm_fleet_memory_text(memory, sizeof memory, &group), "64 GiB to 96 GiB");
}

/* Two groups, three and two nodes. */
TEST(numbers_of_nodes)
{
    struct carm_fleet_judged now[] = {
        {.verdict = CARM_FLEET_SLOW}, {.verdict = CARM_FLEET_SOUND}, {.verdict = CARM_FLEET_SLOW}};
    struct carm_fleet_judged other[] = {{.verdict = CARM_FLEET_SLOW}, {.verdict = CARM_FLEET_FAST}};
    struct carm_fleet_judged drift[] = {{.verdict = CARM_FLEET_SMALL},
                                        {.verdict = CARM_FLEET_SLOW}};
    struct carm_fleet_group groups[] = {
        {.now = {.n = 3, .judged = now}, .drift = {.n = 2, .judged = drift}},
        {.now = {.n = 2, .judged = other}}};
    struct carm_fleet_row rows[] = {{.machine = CARM_FLEET_NONE}, {.machine = 0}, {.machine = 1}};
    const struct carm_fleet fleet = {.groups = groups, .ngroups = 2, .rows = rows, .nrows = 3};
    assert_int_equal(carm_fleet_count(&fleet, false, CARM_FLEET_SLOW), 3);
    assert_int_equal(carm_fleet_count(&fleet, false, CARM_FLEET_SOUND), 1);
    assert_int_equal(carm_fleet_count(&fleet, false, CARM_FLEET_SMALL), 0);
    assert_int_equal(carm_fleet_count(&fleet, true, CARM_FLEET_SLOW), 1);
    assert_int_equal(carm_fleet_count(&fleet, true, CARM_FLEET_SMALL), 1);
    assert_int_equal(carm_fleet_count_failed(&fleet), 1);
}

/* An odd group is a twentieth or less of the first one of its CPU. */
TEST(odd_groups)
{
    static const struct {
        size_t first, second, third;
        const char *cpu;
        ptrdiff_t like;
    } cases[] = {
        {40, 3, 2, "a", 0},   {39, 3, 2, "a", CARM_FLEET_NONE},   {40, 3, 2, "b", CARM_FLEET_NONE},
        {100, 60, 3, "b", 1}, {100, 60, 4, "b", CARM_FLEET_NONE}, {40, 3, 2, "c", CARM_FLEET_NONE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_fleet_group groups[] = {
            {.machine.cpu = "a", .nnodes = cases[i].first},
            {.machine.cpu = "b", .nnodes = cases[i].second},
            {.machine.cpu = cases[i].cpu, .nnodes = cases[i].third}};
        const struct carm_fleet fleet = {.groups = groups, .ngroups = 3};
        assert_int_equal(carm_fleet_like(&fleet, 2), cases[i].like);
        assert_int_equal(carm_fleet_like(&fleet, 0), CARM_FLEET_NONE);
    }
}

/* Roofs of 19 or 20 of 20 nodes are missed where a node has none; a disturbed one is there. */
TEST(missing_roofs)
{
    struct carm_fleet_column columns[] = {{.centre.n = 19},
                                          {.centre.n = 18},
                                          {.centre.n = 18, .ndisturbed = 1},
                                          {.centre.n = 20, .family = true},
                                          {.centre.n = 20},
                                          {.centre.n = 19}};
    static struct carm_fleet_test tests[2 * 6];
    struct carm_fleet_group group = {
        .nnodes = 20, .now = {.n = 2, .ncolumns = 6, .columns = columns, .tests = tests}};
    size_t first = 99;
    for (size_t k = 0; k < 6; k++) {
        tests[6 + k].share = NAN;
    }
    tests[6 + 5].disturbed = true;
    assert_int_equal(carm_fleet_missing(&group, 0, &first), 0);
    assert_int_equal(first, 99);
    assert_int_equal(carm_fleet_missing(&group, 1, &first), 3);
    assert_int_equal(first, 0);
    columns[0].centre.n = 1;
    assert_int_equal(carm_fleet_missing(&group, 1, &first), 2);
    assert_int_equal(first, 2);
    group.nnodes = 19;
    assert_int_equal(carm_fleet_missing(&group, 1, &first), 0);
}

TEST(values_by_roof)
{
    struct carm_fleet_value values[] = {{.roof = 2}, {.roof = 5}, {.roof = 6}};
    const struct carm_fleet_row row = {.values = values, .nvalues = 3}, none = {.nvalues = 0};
    assert_ptr_equal(carm_fleet_value_of(&row, 2), &values[0]);
    assert_ptr_equal(carm_fleet_value_of(&row, 6), &values[2]);
    assert_null(carm_fleet_value_of(&row, 4));
    assert_null(carm_fleet_value_of(&none, 2));
}

/* The median of 100 nodes with a spread of 1% is known within 0.12533%. */
TEST(shifts)
{
    struct carm_fleet_column c = {.centre = {.n = 100, .median = -0.02, .sigma = 0.01}};
    struct carm_fleet_table drift = {.ncolumns = 2, .columns = &c};
    assert_near(carm_fleet_shift_p(&c) / carm_fleet_p(-0.02 / 0.0012533, 100), 1.0, 1e-9);
    const double p = carm_fleet_shift_p(&c), share = 1.0 - exp(-0.02);
    const struct {
        double fdr, min_share;
        bool shifted;
    } limits[] = {{2.001 * p, 0.999 * share, true},
                  {1.999 * p, 0.999 * share, false},
                  {2.001 * p, 1.001 * share, false}};
    for (size_t i = 0; i < 3; i++) {
        const struct carm_fleet_options options = {.fdr = limits[i].fdr,
                                                   .min_share = limits[i].min_share};
        assert_int_equal(carm_fleet_shifted(&drift, 0, &options), limits[i].shifted);
    }
    c.centre.sigma = 0.0; /* 0.01% at least */
    c.centre.median = 1e-4;
    assert_near(carm_fleet_shift_p(&c) / carm_fleet_p(10.0 / 1.2533, 100), 1.0, 1e-9);
    c.roof.clock = true;
    assert_near(carm_fleet_shift_p(&c), 1.0, 0.0);
    c.roof.clock = false;
    c.centre.n = CARM_FLEET_FEW - 1;
    assert_near(carm_fleet_shift_p(&c), 1.0, 0.0);
    c.centre.n = CARM_FLEET_FEW;
    assert_true(carm_fleet_shift_p(&c) < 1.0);
}

/* Columns: clock, compute, L1, L2, L3, DRAM; the worst one is by its letter. */
TEST(hints)
{
    static const char *const families[] = {"clock", "compute", "L1", "L2", "L3", "DRAM"};
    static const struct {
        float clock, share;
        const char *flagged; /* columns */
        const char *hint;
    } cases[] = {
        {0.0F, -0.1F, "1", "the core itself: another load, firmware settings, SMT sibling"},
        {0.0F, -0.1F, "2", "the core itself: another load, firmware settings, SMT sibling"},
        {0.0F, -0.1F, "15", "core and memory: another load on the node, or a throttled package"},
        {0.0F, -0.1F, "5", "memory: a missing or slower DIMM, NUMA settings, other tenants"},
        {0.0F, -0.1F, "35", "memory: a missing or slower DIMM, NUMA settings, other tenants"},
        {0.0F, -0.1F, "3", "caches: other tenants, cache partitioning, prefetcher settings"},
        {0.0F, -0.1F, "4", "caches: other tenants, cache partitioning, prefetcher settings"},
        {0.0F, -0.1F, "", ""},
        {0.0F, 0.1F, "5", ""},
        {0.0F, 0.0F, "5", ""},
        {-0.06F, -0.1F, "1", "its core clock is low, too: check power cap, governor, cooling"},
        {-0.04F, -0.1F, "1", "the core itself: another load, firmware settings, SMT sibling"},
        {-0.00505F, -0.009F, "1", "its core clock is low, too: check power cap, governor, cooling"},
        {-0.004F, -0.006F, "1", "the core itself: another load, firmware settings, SMT sibling"},
        {0.06F, -0.1F, "1", "the core itself: another load, firmware settings, SMT sibling"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_fleet_column columns[8] = {{.family = false}};
        struct carm_fleet_test tests[2 * 8] = {{.share = 0.0F}};
        struct carm_fleet_judged judged[2] = {{.worst = CARM_FLEET_NONE}, {.worst = 7}};
        const struct carm_fleet_table table = {
            .n = 2, .ncolumns = 8, .columns = columns, .tests = tests, .judged = judged};
        for (size_t k = 0; k < 6; k++) {
            columns[k].roof.family = families[k];
            tests[8 + k].flagged = strchr(cases[i].flagged, (int)('0' + k)) != NULL;
        }
        columns[0].roof.clock = columns[6].roof.clock =
            true; /* the farther one of two clocks counts */
        columns[6].roof.family = columns[7].roof.family = "clock";
        tests[8].share = cases[i].clock;
        tests[8 + 6].share = 0.5F * cases[i].clock;
        tests[8 + 7].share = cases[i].share;
        assert_string_equal(carm_fleet_hint(&table, 1), cases[i].hint);
        assert_string_equal(carm_fleet_hint(&table, 0), "");
    }
}

/* ---- which rows are one node ---- */

CLOSED_BY(carm_fleet_free)

#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }
struct row {
    const char *host, *job, *boot;
    int rank;
    int64_t seconds;
    ptrdiff_t machine;
    uint64_t memory;
    const char *file;
};

/* The nodes of two rows of one host, newest first, as "name rows"; and what is said of them. */
static void assert_nodes(const struct row *a, const struct row *b, const char *nodes,
                         const char *said)
{
    struct carm_fleet *f = calloc(1, sizeof *f);
    struct carm_fleet_found *found = NULL;
    size_t n = 0;
    char text[256] = "";
    assert_non_null(f);
    (void)closed_later(by_carm_fleet_free, f);
    f->rows = calloc(2, sizeof *f->rows);
    f->machines = calloc(4, sizeof *f->machines);
    assert_true(f->rows && f->machines);
    f->nrows = 2;
    for (size_t i = 0; i < 4; i++) { /* the fourth has other ISAs alone */
        f->machines[i] =
            (struct carm_fleet_machine){.key = carm_fleet_keep(f, "key"),
                                        .cpu = carm_fleet_keep(f, i == 1 ? "other" : "cpu"),
                                        .caches = carm_fleet_keep(f, "caches"),
                                        .cores = i == 2 ? 8 : 4};
    }
    for (size_t i = 0; i < 2; i++) {
        const struct row *r = i ? b : a;
        f->rows[i] = (struct carm_fleet_row){.file = carm_fleet_keep(f, r->file ? r->file
                                                                        : i     ? "1"
                                                                                : "0"),
                                             .host = carm_fleet_keep(f, r->host),
                                             .job = carm_fleet_keep(f, r->job),
                                             .boot_id = carm_fleet_keep(f, r->boot),
                                             .rank = r->rank,
                                             .seconds = r->seconds,
                                             .machine = r->machine,
                                             .memory_bytes = r->memory};
    }
    assert_ok(carm_fleet_find_nodes(f, &found, &n, &err));
    for (size_t i = 0; i < n; i++) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s%s %zu", i ? ", " : "",
                       found[i].node.name, found[i].node.nrows);
        assert_int_equal(found[i].machine, f->rows[found[i].node.rows[0]].machine);
        assert_int_equal(found[i].memory_bytes, f->rows[found[i].node.rows[0]].memory_bytes);
    }
    free(found);
    assert_string_equal(text, nodes);
    assert_int_equal(f->nnotes, *said ? 1 : 0);
    assert_string_equal(f->nnotes ? f->notes[0] : "", said);
}

TEST(rows_of_one_host)
{
    enum { HOUR = 3600, GIB = 100 };
    static const struct {
        struct row a, b;
        const char *nodes, *said;
    } cases[] = {
        {ROW("n", "", "", -1, HOUR, 0, GIB, NULL),
         ROW("n", "", "", -1, HOUR + CARM_FLEET_APART_SECONDS, 0, GIB, NULL), "n 2", ""},
        {ROW("n", "", "", -1, HOUR, 0, GIB, NULL),
         ROW("n", "", "", -1, HOUR + CARM_FLEET_APART_SECONDS - 1, 0, GIB, NULL), "n#1 1, n#2 1",
         "n is the name of 2 nodes: they were measured at the same time; they are listed as #1 to #2"},
        {ROW("", "", "", -1, HOUR, 0, GIB, NULL), ROW("", "", "", -1, HOUR + 1, 0, GIB, NULL),
         "(no name)#1 1, (no name)#2 1",
         "(no name) is the name of 2 nodes: they were measured at the same time; they are listed as #1 to #2"},
        {ROW("n", "", "x", -1, HOUR, 0, GIB, NULL), ROW("n", "", "x", -1, HOUR + 1, 0, GIB, NULL),
         "n 2", ""}, /* one boot */
        {ROW("n", "", "x", -1, HOUR, 0, GIB, NULL), ROW("n", "", "y", -1, HOUR + 1, 0, GIB, NULL),
         "n#1 1, n#2 1",
         "n is the name of 2 nodes: they were measured at the same time; they are listed as #1 to #2"},
        {ROW("n", "", "", -1, HOUR, 0, GIB, NULL), ROW("n", "", "", -1, 99 * HOUR, 1, GIB, NULL),
         "n#1 1, n#2 1",
         "n is the name of 2 nodes: their CPUs differ; they are listed as #1 to #2"},
        {ROW("n", "", "", -1, HOUR, 0, GIB, NULL), ROW("n", "", "", -1, 99 * HOUR, 2, GIB, NULL),
         "n#1 1, n#2 1",
         "n is the name of 2 nodes: their CPUs differ; they are listed as #1 to #2"},
        /* memory within 3% of the smaller one */
        {ROW("n", "", "", -1, HOUR, 0, 1000, NULL), ROW("n", "", "", -1, 99 * HOUR, 0, 1030, NULL),
         "n 2", ""},
        {ROW("n", "", "", -1, HOUR, 0, 1031, NULL), ROW("n", "", "", -1, 99 * HOUR, 0, 1000, NULL),
         "n#1 1, n#2 1",
         "n is the name of 2 nodes: their memory differs; they are listed as #1 to #2"},
        {ROW("n", "", "", -1, HOUR, 0, 1000, NULL), ROW("n", "", "", -1, 99 * HOUR, 0, 1031, NULL),
         "n#1 1, n#2 1",
         "n is the name of 2 nodes: their memory differs; they are listed as #1 to #2"},
        /* of one job, by rank or by boot */
        {ROW("n", "7", "", 0, HOUR, 0, GIB, NULL), ROW("n", "7", "", 1, 99 * HOUR, 0, GIB, NULL),
         "n#1 1, n#2 1",
         "n is the name of 2 nodes: they were in one job; they are listed as #1 to #2"},
        {ROW("n", "7", "", 1, HOUR, 0, GIB, NULL), ROW("n", "7", "", 0, 99 * HOUR, 0, GIB, NULL),
         "n#1 1, n#2 1",
         "n is the name of 2 nodes: they were in one job; they are listed as #1 to #2"},
        {ROW("n", "7", "", 1, HOUR, 0, GIB, NULL), ROW("n", "7", "", 1, 99 * HOUR, 0, GIB, NULL),
         "n 2", ""},
        {ROW("n", "7", "", 0, HOUR, 0, GIB, NULL), ROW("n", "8", "", 1, 99 * HOUR, 0, GIB, NULL),
         "n 2", ""},
        {ROW("n", "7", "", 0, HOUR, 0, GIB, NULL), ROW("n", "", "", 1, 99 * HOUR, 0, GIB, NULL),
         "n 2", ""},
        {ROW("n", "7", "x", -1, HOUR, 0, GIB, NULL),
         ROW("n", "7", "y", -1, 99 * HOUR, 0, GIB, NULL), "n#1 1, n#2 1",
         "n is the name of 2 nodes: they were in one job; they are listed as #1 to #2"},
        {ROW("n", "7", "x", -1, HOUR, 0, GIB, NULL), ROW("n", "7", "", 0, 99 * HOUR, 0, GIB, NULL),
         "n 2", ""},
        {ROW("n", "", "", 0, HOUR, 0, GIB, "f"), ROW("n", "", "", 1, 99 * HOUR, 0, GIB, "f"),
         "n#1 1, n#2 1",
         "n is the name of 2 nodes: they were in one job; they are listed as #1 to #2"},
        {ROW("n", "", "", 0, HOUR, 0, GIB, NULL), ROW("n", "", "", 1, 99 * HOUR, 0, GIB, NULL),
         "n 2", ""},
        {ROW("n", "", "", -1, HOUR, 0, GIB, "f"), ROW("n", "", "", 1, 99 * HOUR, 0, GIB, "f"),
         "n 2", ""},
        {ROW("n", "", "", 0, HOUR, 0, GIB, "f"), ROW("n", "", "", 0, 99 * HOUR, 0, GIB, "f"), "n 2",
         ""},
        /* the same model twice; another configuration is no history */
        {ROW("n", "", "", -1, HOUR, 0, GIB, NULL), ROW("n", "", "", -1, HOUR, 0, GIB, NULL), "n 1",
         "0 and 1 hold the same model of n: it is counted once"},
        {ROW("n", "", "", -1, HOUR, 0, GIB, NULL), ROW("n", "", "", -1, 99 * HOUR, 3, GIB, NULL),
         "n 1",
         "n: 1 earlier model of another configuration (ISAs, threads, page size or --quick) is left out of its history"},
        {ROW("m", "", "", -1, 2 * HOUR, 0, GIB, NULL), ROW("a", "", "", -1, HOUR, 0, GIB, NULL),
         "a 1, m 1", ""},
        {ROW("m", "", "", -1, 2 * HOUR, CARM_FLEET_NONE, GIB, NULL),
         ROW("a", "", "", -1, HOUR, 0, GIB, NULL), "a 1", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_nodes(&cases[i].a, &cases[i].b, cases[i].nodes, cases[i].said);
    }
}

/* Groups of a machine and an amount of memory: the largest first, then by key and memory; nodes by name, node9 before
 * node10. */
TEST(groups_of_nodes)
{
    static const struct carm_fleet_machine machines[] = {{.key = "b"}, {.key = "a"}};
    static const struct {
        const char *name;
        ptrdiff_t machine;
        uint64_t memory;
    } nodes[] = {{"n10", 0, 1000}, {"x", 1, 2000},   {"n9", 0, 1030},
                 {"y", 1, 1000},   {"n11", 0, 1031}, {"z", 0, 5000}};
    static const char *const groups[] = {"n9 n10 1000..1030", "y 1000..1000", "x 2000..2000",
                                         "n11 1031..1031", "z 5000..5000"};
    struct carm_fleet *f = calloc(1, sizeof *f);
    struct carm_fleet_found found[6];
    assert_non_null(f);
    (void)closed_later(by_carm_fleet_free, f);
    f->machines = calloc(2, sizeof *f->machines);
    assert_non_null(f->machines);
    memcpy(f->machines, machines, sizeof machines);
    for (size_t i = 0; i < 6; i++) {
        found[i] = (struct carm_fleet_found){.node.name = nodes[i].name,
                                             .machine = nodes[i].machine,
                                             .memory_bytes = nodes[i].memory};
    }
    assert_ok(carm_fleet_make_groups(f, found, 6, &err));
    assert_int_equal(f->ngroups, 5);
    for (size_t g = 0; g < 5; g++) {
        char text[64] = "";
        for (size_t i = 0; i < f->groups[g].nnodes; i++) {
            (void)strcat(strcat(text, f->groups[g].nodes[i].name), " ");
        }
        (void)snprintf(text + strlen(text), 32, "%d..%d", (int)f->groups[g].memory_min,
                       (int)f->groups[g].memory_max);
        assert_string_equal(text, groups[g]);
    }
}
