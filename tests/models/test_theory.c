/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of microarchitectures: closed forms worked by hand, what was measured and what was
 * published held against it. */
#include <jansson.h>

#include "base/assets.h"
#include "models/theory.h"
#include "tests/unit.h"

static struct carm_theory_table *table;

static int open_table(void **state)
{
    err = (struct carm_err){""};
    const char *text = carm_asset_data_microarchitectures;
    int rc = carm_theory_open(text, strlen(text), "microarchitectures.json", &table, &err);
    if (rc)
        (void)fprintf(stderr, "%s\n", err.text);
    return rc;
}

static int close_table(void **state)
{
    carm_theory_close(table);
    carm_theory_close(NULL);
    return 0;
}

static const struct carm_microarchitecture *find(const char *name)
{
    const struct carm_microarchitecture *m;
    if (carm_theory_find_name(table, name, &m, &err) != 0)
        fail_msg("%s", err.text);
    return m;
}

static json_t *load(const char *name)
{
    const char *top = getenv("CARM_TOP");
    char path[512];
    json_error_t e;
    (void)snprintf(path, sizeof path, "%s/%s", top && *top ? top : ".", name);
    json_t *root = json_load_file(path, 0, &e);
    if (!root)
        fail_msg("%s: %s", path, e.text);
    return root;
}

/* Byte/cycle, each worked out by hand from what the core's description says. */
TEST(bytes_by_hand)
{
    static const struct {
        const char *name;
        unsigned vector, loads, stores;
        double bytes;
    } cases[] = {
        {"Sandy Bridge", 32, 2, 1, 48}, /* 96 bytes: loads 2 cycles, stores 2, addresses 1.5 */
        {"Sandy Bridge", 32, 1, 0, 32},
        {"Sandy Bridge", 32, 0, 1, 16},
        {"Sandy Bridge", 32, 1, 1, 32}, /* 64 bytes, the store's 2 cycles */
        {"Sandy Bridge", 16, 2, 1, 32}, /* 48 bytes, 3 addresses on 2 generators */
        {"Sandy Bridge", 8, 2, 1, 16},
        {"Ivy Bridge", 32, 2, 1, 48},
        {"Haswell", 32, 2, 1, 96},
        {"Haswell", 16, 2, 1, 48},
        {"Skylake-SP", 64, 2, 1, 192},
        {"Skylake-SP", 64, 1, 1, 128},
        {"Ice Lake-SP", 32, 1, 1, 128}, /* two of each in a cycle */
        {"Ice Lake-SP", 64, 1, 1, 128}, /* one of each */
        {"Alder Lake-P", 32, 1, 0, 96},
        {"Sapphire Rapids", 32, 2, 1, 144}, /* 96 bytes, loads 2/3 of a cycle */
        {"Sapphire Rapids", 64, 2, 1, 192},
        {"Zen 1", 16, 2, 1, 32},
        {"Zen 1", 32, 2, 1, 32}, /* the same halves */
        {"Zen 2", 32, 2, 1, 96},
        {"Zen 4", 64, 2, 1, 96}, /* 192 bytes, 2 cycles of loads, stores and addresses each */
        {"Zen 4", 64, 1, 1, 64},
        {"Zen 4", 8, 2, 1, 24},
        {"Zen 4", 4, 2, 1, 12},
        {"Zen 5", 64, 2, 1, 192},
        {"Zen 5", 32, 1, 1, 128},
        /* not known: */
        {"Alder Lake-P", 64, 2, 1, 0}, /* no AVX-512 */
        {"Zen 3", 64, 1, 0, 0},
        {"Zen 5", 64, 0, 0, 0},
        {"Zen 5", 24, 1, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_near(
            carm_theory_l1(find(cases[i].name), cases[i].vector, cases[i].loads, cases[i].stores),
            cases[i].bytes, 1e-9);
}

TEST(flops_by_hand)
{
    static const struct {
        const char *name;
        unsigned vector, lanes;
        double fma, mad, add, mul;
    } cases[] = {
        {"Sandy Bridge", 32, 4, 0, 8, 4, 4}, /* a multiplier, an adder, no FMA */
        {"Sandy Bridge", 32, 8, 0, 16, 8, 8},
        {"Haswell", 32, 4, 16, 8, 4, 8}, /* adds on one of the two ports */
        {"Haswell", 8, 1, 4, 2, 1, 2},
        {"Skylake", 32, 4, 16, 8, 8, 8},
        {"Skylake-SP", 64, 8, 32, 16, 16, 16},
        {"Skylake-SP, one FMA", 64, 8, 16, 8, 8, 8},
        {"Ice Lake", 64, 8, 16, 8, 8, 8},
        {"Alder Lake-P", 32, 4, 16, 12, 8, 8}, /* three pipes: multiply, either, add */
        {"Sapphire Rapids", 64, 8, 32, 16, 16, 16},
        {"Zen 1", 32, 4, 8, 8, 4, 4},
        {"Zen 2", 32, 4, 16, 16, 8, 8}, /* two pipes multiply, two add */
        {"Zen 4", 64, 8, 16, 16, 8, 8},
        {"Zen 4", 32, 8, 32, 32, 16, 16},
        {"Zen 5", 64, 8, 32, 32, 16, 16},
        {"Zen 3", 64, 8, 0, 0, 0, 0}, /* no AVX-512 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct carm_microarchitecture *m = find(cases[i].name);
        const unsigned v = cases[i].vector;
        const unsigned n = cases[i].lanes;
        assert_near(carm_theory_flops(m, v, n, "fma"), cases[i].fma, 1e-9);
        assert_near(carm_theory_flops(m, v, n, "mad"), cases[i].mad, 1e-9);
        assert_near(carm_theory_flops(m, v, n, "add"), cases[i].add, 1e-9);
        assert_near(carm_theory_flops(m, v, n, "mul"), cases[i].mul, 1e-9);
        assert_near(carm_theory_flops(m, v, n, "div"), 0, 0);
    }
    assert_near(carm_theory_rate(find("Zen 3"), 32, 8, "sp", "fma"), 32, 1e-9);
    assert_near(carm_theory_rate(find("Zen 3"), 32, 32, "int8", "add"), 128, 1e-9);
    assert_near(carm_theory_rate(find("Zen 3"), 32, 8, "int32", "mul"), 16, 1e-9);
    assert_near(carm_theory_rate(find("Zen 4"), 64, 16, "int32", "logic"), 32, 1e-9);
    assert_near(carm_theory_rate(find("Haswell"), 32, 8, "int32", "mul"), 4, 1e-9);
    assert_near(carm_theory_rate(find("Haswell"), 32, 32, "int8", "dot"), 0, 0);
    assert_near(carm_theory_rate(find("Skylake-SP"), 32, 32, "int8", "add"), 96, 1e-9);
    assert_near(carm_theory_rate(find("Ice Lake"), 64, 16, "int32", "logic"), 32, 1e-9);
    assert_near(carm_theory_rate(find("Ice Lake"), 64, 16, "int32", "mul"), 0, 0); /* not known */
    assert_near(carm_theory_rate(find("Sapphire Rapids"), 64, 64, "int8", "dot"), 256, 1e-9);
    assert_near(carm_theory_rate(find("Sapphire Rapids"), 64, 8, "int64", "mul"), 16.0 / 3, 0.01);
    assert_near(carm_theory_rate(find("Zen 5"), 64, 64, "int8", "add"), 256, 1e-9);
    assert_near(carm_theory_rate(find("Zen 5"), 64, 64, "int8", "dot"), 0, 0);
    assert_near(carm_theory_rate(find("Sapphire Rapids"), 32, 32, "int8", "dot"), 128, 1e-9);
    assert_near(carm_theory_rate(find("Alder Lake-P"), 32, 16, "int16", "dot"), 64, 1e-9);
    assert_near(carm_theory_rate(find("Ice Lake"), 64, 64, "int8", "dot"), 128, 1e-9);
    assert_near(carm_theory_rate(find("Ice Lake"), 64, 8, "int64", "ifma"), 16, 1e-9);
    assert_near(carm_theory_rate(find("Ice Lake-SP"), 64, 8, "int64", "ifma"), 0, 0);
    assert_near(carm_theory_rate(find("Ice Lake-SP"), 64, 8, "int64", "popcnt"), 8, 1e-9);
    assert_near(carm_theory_rate(find("Zen 5"), 64, 8, "int64", "popcnt"), 0, 0);
    /* measured on family 19h model 11h: 8.00, 16.00, 128.0, 64.0 and 64.0 */
    assert_near(carm_theory_rate(find("Zen 4"), 64, 8, "int64", "popcnt"), 8, 1e-9);
    assert_near(carm_theory_rate(find("Zen 4"), 64, 8, "int64", "ifma"), 16, 1e-9);
    assert_near(carm_theory_rate(find("Zen 4"), 64, 64, "int8", "dot"), 128, 1e-9);
    assert_near(carm_theory_rate(find("Zen 4"), 64, 32, "int16", "dot"), 64, 1e-9);
    assert_near(carm_theory_rate(find("Zen 4"), 64, 32, "bf16", "dot"), 64, 1e-9);
    /* tiles: 16 rows, 16 columns, 32 or 64 products for each, every 16 cycles */
    assert_near(carm_theory_rate(find("Sapphire Rapids"), 1024, 8192, "bf16", "dot"), 1024, 1e-9);
    assert_near(carm_theory_rate(find("Sapphire Rapids"), 1024, 16384, "int8", "dot"), 2048, 1e-9);
    assert_near(carm_theory_rate(find("Sapphire Rapids"), 1024, 8192, "fp16", "dot"), 0, 0);
    assert_near(carm_theory_rate(find("Granite Rapids"), 1024, 8192, "fp16", "dot"), 1024, 1e-9);
    assert_near(carm_theory_rate(find("Zen 4"), 1024, 8192, "bf16", "dot"), 0, 0);
    assert_near(carm_theory_l1(find("Sapphire Rapids"), 1024, 1, 0), 128, 1e-9);
    assert_near(carm_theory_l1(find("Sapphire Rapids"), 1024, 0, 1), 64, 1e-9);
    assert_near(carm_theory_l1(find("Sapphire Rapids"), 1024, 2, 1), 192, 1e-9);
    struct carm_microarchitecture vnni = *find("Haswell");
    vnni.widths[2].others[5] = 2; /* int8 dot: 4 products and 4 sums in each of 8 elements */
    assert_near(carm_theory_rate(&vnni, 32, 32, "int8", "dot"), 128, 1e-9);
    assert_near(carm_theory_rate(&vnni, 32, 16, "int16", "dot"), 0, 0);
    assert_near(carm_theory_flops(find("Zen 4"), 24, 3, "add"), 0, 0);
}

/* n multiplies and n adds on any pipes, against a search over what the shared pipes take. */
TEST(mad_is_best_assignment)
{
    static struct carm_microarchitecture m;
    for (int mul = 0; mul <= 3; mul++)
        for (int add = 0; add <= 3; add++)
            for (int either = 0; either <= 3; either++) {
                m.widths[3] = (struct carm_theory_rates){.mul = mul, .add = add};
                m.widths[3].mul_or_add = either;
                double best = 0;
                for (int part = 0; part <= 1000; part++) {
                    const double multiply = mul + either * part / 1000.0;
                    best = fmax(best, 2 * fmin(multiply, mul + add + either - multiply));
                }
                assert_near(carm_theory_flops(&m, 64, 1, "mad"), best, 0.01);
            }
    m.issue = 5; /* six pipes, but five instructions a cycle to feed them */
    assert_near(carm_theory_flops(&m, 64, 1, "mad"), 5, 1e-9);
}

/* What carm measured on two machines (double precision): no figure of the table may be lower. */
TEST(not_below_measured)
{
    static const struct {
        const char *name;
        unsigned vector, loads, stores;
        double bytes;
    } memory[] = {
        {"Zen 4", 64, 1, 0, 60.1},  {"Zen 4", 64, 0, 1, 32.0},  {"Zen 4", 64, 2, 1, 76.8},
        {"Zen 4", 64, 1, 1, 64.0},  {"Zen 4", 32, 2, 1, 90.2},  {"Zen 4", 32, 1, 1, 64.1},
        {"Zen 4", 32, 1, 0, 61.6},  {"Zen 4", 32, 0, 1, 32.0},  {"Zen 4", 16, 2, 1, 47.6},
        {"Zen 4", 8, 2, 1, 24.0},   {"Zen 5", 64, 1, 0, 127.7}, {"Zen 5", 64, 0, 1, 63.9},
        {"Zen 5", 64, 2, 1, 176.7}, {"Zen 5", 32, 1, 0, 63.8},
    };
    static const struct {
        const char *name;
        unsigned vector;
        const char *op;
        double flops;
    } compute[] = {
        {"Zen 4", 64, "fma", 16.0},       {"Zen 4", 64, "mad", 16.0},
        {"Zen 4", 64, "add", 8.0},        {"Zen 4", 64, "mul", 8.0},
        {"Zen 4", 32, "fma", 16.01},      {"Zen 4", 32, "mad", 16.0},
        {"Zen 4", 16, "mad", 8.0},        {"Zen 4", 8, "mad", 4.0},
        {"Zen 5", 64, "fma", 31.91},      {"Zen 4", 64, "fma+add", 24.0},
        {"Zen 4", 64, "2fma+add", 19.98}, {"Zen 3", 32, "fma+add", 23.9},
        {"Zen 3", 32, "2fma+add", 19.9},  {"Zen 5", 64, "mad", 31.78},
        {"Zen 5", 64, "add", 15.97},      {"Zen 5", 32, "fma", 16.0},
    };
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        assert_true(carm_theory_l1(find(memory[i].name), memory[i].vector, memory[i].loads,
                                   memory[i].stores) >= memory[i].bytes / 1.005);
    for (size_t i = 0; i < sizeof compute / sizeof *compute; i++)
        assert_true(carm_theory_flops(find(compute[i].name), compute[i].vector,
                                      compute[i].vector / 8,
                                      compute[i].op) >= compute[i].flops / 1.005);
}

/* By hand, flop/cycle of a lane. */
TEST(mixtures)
{
    static const struct {
        const char *name;
        unsigned vector;
        double fma, one, two; /* of fma, fma+add, 2fma+add */
    } cases[] = {
        {"Sandy Bridge", 32, 0, 0, 0},
        {"Skylake", 32, 4, 10.0 / 3, 10.0 / 3}, /* all on the same two pipes */
        {"Haswell", 32, 4, 10.0 / 3, 10.0 / 3}, /* the pipe of adds is one of FMA's */
        {"Sapphire Rapids", 32, 4, 5, 5},       /* port 5 adds: 2 to 1, 1 to 1 has 4.5 */
        {"Sapphire Rapids", 64, 4, 10.0 / 3, 10.0 / 3},
        {"Zen 3", 32, 4, 6, 5}, /* two pipes of each */
        {"Zen 4", 64, 2, 3, 2.5},
        {"Zen 5", 64, 4, 6, 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct carm_microarchitecture *m = find(cases[i].name);
        assert_near(carm_theory_flops(m, cases[i].vector, 1, "fma"), cases[i].fma, 1e-9);
        assert_near(carm_theory_flops(m, cases[i].vector, 1, "fma+add"), cases[i].one, 1e-9);
        assert_near(carm_theory_flops(m, cases[i].vector, 1, "2fma+add"), cases[i].two, 1e-9);
    }
    /* where rename feeds three pipes of four */
    struct carm_microarchitecture narrow = *find("Zen 3");
    narrow.issue = 3;
    assert_near(carm_theory_flops(&narrow, 32, 1, "fma+add"), 5, 1e-9);
}

/* harness/machine/limits.c calls more than this a misread clock: no entry may promise it. */
TEST(within_limits)
{
    static const unsigned vectors[] = {8, 16, 32, 64};
    for (size_t i = 0; i < table->n; i++)
        for (size_t k = 0; k < 4; k++) {
            const struct carm_microarchitecture *m = &table->entries[i];
            const unsigned v = vectors[k];
            const double loads = carm_theory_l1(m, v, 1, 0) / v;
            const double stores = carm_theory_l1(m, v, 0, 1) / v;
            assert_true(loads <= (v == 64 ? 2 : v == 32 ? 3 : 4));
            assert_true(stores <= (v == 64 ? 1 : 2));
            assert_true(carm_theory_flops(m, v, 1, "fma") <= 2 * 2);
            assert_true(carm_theory_flops(m, v, 1, "add") <= 2);
            assert_true(carm_theory_flops(m, v, 1, "mul") <= 2);
            assert_true(carm_theory_flops(m, v, 1, "mad") <= 4);
            assert_true(carm_theory_flops(m, v, 1, "fma+add") <= 4 * 1.5);
            assert_true(carm_theory_flops(m, v, 1, "2fma+add") <= 4 * 5.0 / 3.0);
        }
}

TEST(entries_are_whole)
{
    static const char *const names[] = {
        "Sandy Bridge",    "Ivy Bridge",     "Haswell",      "Broadwell",
        "Skylake",         "Skylake-SP",     "Ice Lake",     "Ice Lake-SP",
        "Sapphire Rapids", "Granite Rapids", "Alder Lake-P", "Zen 1",
        "Zen 2",           "Zen 3",          "Zen 4",        "Zen 5",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(find(names[i])->name, names[i]);
    for (size_t i = 0; i < table->n; i++) {
        const struct carm_microarchitecture *m = &table->entries[i];
        assert_true(m->nsources >= 1 && strlen(m->sources[0]) > 10 && *m->note);
        assert_true(m->issue >= 4 && m->issue <= 8);
        assert_true(strcmp(m->vendor, "GenuineIntel") == 0 ||
                    strcmp(m->vendor, "AuthenticAMD") == 0);
        /* every core here has AVX: three widths known, loads at least as fast as stores */
        for (size_t k = 0; k < CARM_THEORY_WIDTHS; k++) {
            const struct carm_theory_rates *w = &m->widths[k];
            if (k >= 3 && w->loads == 0)
                continue;
            assert_true(w->loads >= w->stores && w->stores > 0 && w->accesses >= w->loads);
            assert_true(k == 4 || w->mul + w->add + w->mul_or_add > 0);
        }
        for (size_t j = 0; j < m->ncpuid; j++)
            for (size_t k = 0; k < table->n; k++)
                for (size_t l = 0; l < table->entries[k].ncpuid; l++) {
                    const struct carm_theory_range *a = &m->cpuid[j];
                    const struct carm_theory_range *b = &table->entries[k].cpuid[l];
                    assert_true((i == k && j == l) || a->family != b->family ||
                                a->last < b->first || b->last < a->first);
                }
    }
}

TEST(looked_up)
{
    static const struct {
        const char *vendor;
        int family, model;
        const char *name;
        unsigned guest_bytes;
    } cpus[] = {
        /* guests: tiles where Rocket Lake has none, fewer than the entry has, as many */
        {"GenuineIntel", 6, 0xa7, "Sapphire Rapids", 1024},
        {"GenuineIntel", 6, 0x8f, "Sapphire Rapids", 32},
        {"GenuineIntel", 6, 0xad, "Granite Rapids", 1024},
        {"GenuineIntel", 6, 0xa7, "Ice Lake", 64},
        {"AuthenticAMD", 0x17, 0x31, "Zen 2", 32},
        {"GenuineIntel", 6, 0x2a, "Sandy Bridge", 0},
        {"GenuineIntel", 6, 0x2d, "Sandy Bridge", 0},
        {"GenuineIntel", 6, 0x3a, "Ivy Bridge", 0},
        {"GenuineIntel", 6, 0x55, "Skylake-SP", 0},
        {"GenuineIntel", 6, 0x6a, "Ice Lake-SP", 0},
        {"GenuineIntel", 6, 0xcf, "Sapphire Rapids", 0},
        {"AuthenticAMD", 0x17, 0x2f, "Zen 1", 0},
        {"AuthenticAMD", 0x17, 0x31, "Zen 2", 0},
        {"AuthenticAMD", 0x19, 0x01, "Zen 3", 0},
        {"AuthenticAMD", 0x19, 0x11, "Zen 4", 0},
        {"AuthenticAMD", 0x1a, 0x02, "Zen 5", 0},
    };
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++) {
        const struct carm_microarchitecture *m = carm_theory_find_cpu(
            table, cpus[i].vendor, cpus[i].family, cpus[i].model, cpus[i].guest_bytes);
        assert_non_null(m);
        assert_string_equal(m->name, cpus[i].name);
    }
    assert_null(carm_theory_find_cpu(table, "GenuineIntel", 6, 0x1a, 0));
    assert_null(carm_theory_find_cpu(table, "GenuineIntel", 0x19, 0x11, 0));
    assert_null(carm_theory_find_cpu(table, "AuthenticAMD", 6, 0x2a, 0));
    assert_null(carm_theory_find_cpu(table, "AuthenticAMD", 0x1a, 0x24, 0));
    assert_null(carm_theory_find_cpu(table, "", 0, 0, 0));
    /* vectors of 64 bytes that the reported CPU lacks: Zen 4 and 5, which differ */
    assert_null(carm_theory_find_cpu(table, "AuthenticAMD", 0x17, 0x31, 64));
    assert_null(carm_theory_find_cpu(table, "AuthenticAMD", 0x17, 0x31, 1024));
    assert_ptr_equal(find("zEN 4"), find("Zen 4"));
    assert_ptr_equal(find("skylake-sp"), find("Skylake-SP"));
    const struct carm_microarchitecture *m = find("Zen 4");
    assert_int_equal(carm_theory_find_name(table, "Zen 9", &m, &err), -CARM_EINVAL);
    assert_null(m);
    const char *start = "unknown microarchitecture \"Zen 9\"; known are \"Sandy Bridge\", ";
    assert_int_equal(strncmp(err.text, start, strlen(start)), 0);
    assert_non_null(strstr(err.text, "\"Zen 5\"")); /* the last: the list was not cut */
}

static double number(json_t *obj, const char *name)
{
    json_t *v = json_object_get(json_object_get(obj, name), "value");
    if (!json_is_number(v))
        fail_msg("%s has no number", name);
    return json_number_value(v);
}

static double ratio(json_t *obj, const char *name)
{
    json_t *v = json_object_get(obj, name);
    return json_number_value(json_object_get(v, "numerator")) /
           json_number_value(json_object_get(v, "denominator"));
}

/* Whatever has a unit has a source of a known kind; returns how many. */
static size_t check_sources(json_t *v)
{
    static const char *const kinds[] = {"paper, ", "public specification: ", "derived: "};
    const char *key;
    json_t *member;
    size_t n = 0;
    size_t i;
    if (json_object_get(v, "value") || json_object_get(v, "numerator")) {
        const char *source = json_string_value(json_object_get(v, "source"));
        assert_non_null(source);
        assert_true(json_is_string(json_object_get(v, "unit")));
        size_t kind = 0;
        while (kind < 3 && strncmp(source, kinds[kind], strlen(kinds[kind])) != 0)
            kind++;
        assert_true(kind < 3);
        if (strstr(source, "Intel product page"))
            assert_true(json_is_true(json_object_get(v, "unverified")));
        return 1;
    }
    json_object_foreach(v, key, member) n += check_sources(member);
    json_array_foreach(v, i, member) n += check_sources(member);
    return n;
}

/* The paper's machines: their peaks follow from the table, and the table from their ridge. */
TEST(published_machines)
{
    static const struct {
        const char *name;
        double peak, l1;
    } wanted[] = {
        {"i7-3770K", 112e9, 672e9}, {"i7-3930K", 153.6e9, 921.6e9}, {"i7-2600K", 108.8e9, 652.8e9}};
    json_t *root = load("tests/data/machines.json");
    assert_string_equal(json_string_value(json_object_get(root, "schema")), "carm-machines/1");
    json_t *machines = json_object_get(root, "machines");
    json_t *published = json_object_get(root, "published");
    assert_int_equal(json_array_size(machines), 3); /* the fourth is never named */
    assert_true(check_sources(root) > 27);          /* nine for each machine, and the results */
    const char *fastest = "";
    const char *narrowest = "";
    double most = 0;
    double least = INFINITY;
    for (size_t i = 0; i < 3; i++) {
        json_t *m = json_array_get(machines, i);
        json_t *core = json_object_get(json_object_get(m, "microarchitecture"), "value");
        const char *name = json_string_value(json_object_get(m, "name"));
        const struct carm_microarchitecture *u = find(json_string_value(core));
        const double cycles = number(m, "cores") * number(m, "clock");
        const double flops = carm_theory_flops(u, 32, 4, "mad");
        const double bytes = carm_theory_l1(u, 32, 2, 1);
        assert_string_equal(name, wanted[i].name);
        assert_near(cycles * flops, wanted[i].peak, 1);
        assert_near(cycles * bytes, wanted[i].l1, 1);
        assert_near(number(m, "peak"), wanted[i].peak, 1);
        assert_near(number(m, "l1_peak"), wanted[i].l1, 1);
        assert_near(flops / bytes, ratio(published, "l1_ridge"), 1e-15);
        if (wanted[i].peak > most)
            fastest = name;
        if (number(m, "dram_peak") < least)
            narrowest = name;
        most = fmax(most, wanted[i].peak);
        least = fmin(least, number(m, "dram_peak"));
    }
    json_t *named = json_object_get(published, "highest_peak");
    assert_string_equal(json_string_value(json_object_get(named, "value")), fastest);
    named = json_object_get(published, "lowest_dram_bandwidth");
    assert_string_equal(json_string_value(json_object_get(named, "value")), narrowest);
    assert_near(ratio(published, "l1_ridge"), 1.0 / 6, 1e-15);
    assert_true(100 / (1 + number(published, "rrmse")) > number(published, "fitness_min"));
    json_decref(root);
}

TEST(published_classes)
{
    static const double intensities[] = {1.0 / 64, 1.0 / 4, 16};
    json_t *root = load("tests/data/machines.json");
    json_t *classes = json_object_get(json_object_get(root, "published"), "classes");
    assert_int_equal(json_array_size(classes), 3);
    for (size_t i = 0; i < 3; i++) {
        json_t *c = json_array_get(classes, i);
        const double ai = number(c, "flops_per_iteration") / number(c, "bytes_per_iteration");
        assert_near(ratio(c, "intensity"), intensities[i], 0);
        assert_near(ai, intensities[i], 0);
        assert_near(ai * number(c, "original_intensity_16_at"), 16, 0);
    }
    json_decref(root);
}

/* What the program embeds is the file as it stands. */
TEST(embedded_is_the_file)
{
    json_t *file = load("data/microarchitectures.json");
    json_t *own = json_loads(carm_asset_data_microarchitectures, 0, NULL);
    assert_true(json_equal(file, own));
    assert_int_equal(json_array_size(json_object_get(own, "microarchitectures")), table->n);
    json_decref(file);
    json_decref(own);
}

RUN_TESTS(open_table, close_table)
