/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures of an architecture that are set, and swept over a range: how both are written, the values, the estimates. */
#include "models/sol/sweep.h"
#include "tests/models/sol/build.h"

/* A key of 47 letters, the most that there is room for, and one letter more. */
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTU"

TEST(ranges)
{
    static const struct {
        const char *text, *key; /* key NULL = refused */
        double from, to;
        size_t steps;
        bool log;
    } cases[] = {
        {"freq_GHz=1:2", "freq_GHz", 1, 2, 11, false},
        {"freq_GHz=1:2:log", "freq_GHz", 1, 2, 11, true},
        {"freq_GHz=4:0.5:3", "freq_GHz", 4, 0.5, 3, false},
        {"a=-1:0:2", "a", -1, 0, 2, false},
        {"a=1e-3:1:10000:log", "a", 1e-3, 1, 10000, true},
        {LETTERS "=1:2", LETTERS, 1, 2, 11, false},
        {LETTERS "V=1:2", NULL, 0, 0, 0, false},
        {"a=1:2:1", NULL, 0, 0, 0, false},
        {"a=1:2:10001", NULL, 0, 0, 0, false},
        {"a=1:2:2.5", NULL, 0, 0, 0, false},
        {"a=1:2:inf", NULL, 0, 0, 0, false},
        {"a=1:2:3:lin", NULL, 0, 0, 0, false},
        {"a=1:2:log:3", NULL, 0, 0, 0, false},
        {"a=1:2:", NULL, 0, 0, 0, false},
        {"a=1:2,b=3:4", NULL, 0, 0, 0, false},
        {"a=1", NULL, 0, 0, 0, false},
        {"a=1:", NULL, 0, 0, 0, false},
        {"a=:2", NULL, 0, 0, 0, false},
        {"a=inf:2", NULL, 0, 0, 0, false},
        {"a=1:inf", NULL, 0, 0, 0, false},
        {"a:1:2", NULL, 0, 0, 0, false},
        {"=1:2", NULL, 0, 0, 0, false},
        {"", NULL, 0, 0, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_sol_sweep s;
        if (!cases[i].key) {
            assert_refused(carm_sol_sweep_parse(cases[i].text, &s, &err), -CARM_EINVAL,
                           "--sweep takes a figure of the architecture and its range");
            continue;
        }
        assert_ok(carm_sol_sweep_parse(cases[i].text, &s, &err));
        assert_string_equal(s.key, cases[i].key);
        assert_near(s.from, cases[i].from, 0.0);
        assert_near(s.to, cases[i].to, 0.0);
        assert_int_equal(s.steps, cases[i].steps);
        assert_int_equal(s.log, cases[i].log);
    }
    static const char *const ends[] = {"a=0:1:log", "a=1:0:log", "a=-1:-2:log"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct carm_sol_sweep s;
        assert_refused(carm_sol_sweep_parse(ends[i], &s, &err), -CARM_EINVAL,
                       "a sweep at equal ratios (:log) needs ends above zero");
    }
}

TEST(lists)
{
    static const char *const bad[] = {"",
                                      "freq_GHz",
                                      "freq_GHz=",
                                      "freq_GHz=1,",
                                      "freq_GHz=1:2",
                                      "freq_GHz=1,,freq_GHz=2",
                                      "freq_GHz=inf"};
    struct carm_sol_arch arch = {.name = "a"};
    assert_ok(carm_sol_set(&arch, "freq_GHz=2.5", &err));
    assert_near(arch.freq_ghz, 2.5, 0.0);
    assert_ok(carm_sol_set(&arch, "DRAM_byte_per_cycle=20,freq_GHz=1.5,SRAM_capacity=7", &err));
    assert_near(arch.freq_ghz, 1.5, 0.0);
    assert_near(arch.dram_byte_per_cycle, 20.0, 0.0);
    assert_int_equal(arch.levels[0].capacity, 7);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_refused(carm_sol_set(&arch, bad[i], &err), -CARM_EINVAL,
                       "--set takes figures of the architecture");
    }
    assert_refused(carm_sol_set(&arch, "size=1,freq_GHz=9", &err), -CARM_EINVAL,
                   "size cannot be set: give "
                   "one of freq_GHz, ");
    assert_near(arch.freq_ghz, 1.0, 0.5); /* of the lists before */
}

/* The ends of what a figure may be, and what a value outside looks like. */
TEST(figures)
{
    static const struct {
        const char *key;
        double value;
        const char *says; /* NULL = it is set */
    } cases[] = {
        {"freq_GHz", 0.05, NULL},
        {"freq_GHz", 0.0499, "freq_GHz is 0.0499: give GHz, 0.05 to 20"},
        {"freq_GHz", 20.0, NULL},
        {"freq_GHz", 20.1, "freq_GHz is 20.1, which looks like MHz: give GHz"},
        {"freq_GHz", 999999.0, "freq_GHz is 999999, which looks like MHz: give GHz"},
        {"freq_GHz", 1e6, "freq_GHz is 1e+06, which looks like hertz: give GHz"},
        {"DRAM_byte_per_cycle", 1e-9, NULL},
        {"DRAM_byte_per_cycle", 0.0, "DRAM_byte_per_cycle is 0: give a bandwidth above 0"},
        {"SRAM_byte_per_cycle", -1.0, "SRAM_byte_per_cycle is -1: give a bandwidth above 0"},
        {"DRAM_byte_per_cycle", 1e5, NULL},
        {"DRAM_byte_per_cycle", 100001.0,
         "DRAM_byte_per_cycle is 100001, which looks like byte/s or GB/s"},
        {"SRAM_byte_per_cycle", 1e8, NULL},
        {"SRAM_byte_per_cycle", 1.01e8,
         "SRAM_byte_per_cycle is 1.01e+08, which looks like byte/s or GB/s"},
        {"DRAM_capacity", 0.0, NULL},
        {"DRAM_capacity", -1.0,
         "DRAM_capacity is -1: give bytes, an integer from 0 (not known) to 2^62"},
        {"SRAM_capacity", 1.5, "SRAM_capacity is 1.5: give bytes, an integer from 0"},
        {"SRAM_capacity", 0x1p62, NULL},
        {"SRAM_capacity", 0x1.0000001p62, "give bytes, an integer from 0"},
        {"MAC_per_cycle_fp16_tc", 1e-9, NULL},
        {"MAC_per_cycle_fp16_tc", 0.0,
         "MAC_per_cycle_fp16_tc is 0: give a rate above 0, or leave out the key"},
        {"MAC_per_cycle_fp16_tc", 999999999.0, NULL},
        {"MAC_per_cycle_fp16_tc", 1e9,
         "MAC_per_cycle_fp16_tc is 1e+09, which looks like operations a second"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_sol_arch arch = {.name = "a"};
        if (cases[i].says) {
            assert_refused(carm_sol_arch_set(&arch, cases[i].key, cases[i].value, &err),
                           -CARM_EINVAL, cases[i].says);
        } else {
            assert_ok(carm_sol_arch_set(&arch, cases[i].key, cases[i].value, &err));
        }
    }
}

struct seen {
    size_t n;
    double values[8], set[8], cycles[8], seconds[8];
};

static void see(void *context, size_t i, double value, const struct carm_sol_view *view)
{
    struct seen *s = context;
    assert_int_equal(i, s->n);
    s->values[i] = value;
    s->set[i] = view->arch->nlevels ? (double)view->arch->levels[0].capacity : view->arch->freq_ghz;
    s->cycles[i] = carm_sol_view_graph(view, CARM_SOL_UNFUSED)->cycles;
    s->seconds[i] = carm_sol_view_graph(view, CARM_SOL_UNFUSED)->seconds;
    s->n++;
}

/* One operation of 100 elements in and 100 out, at 10 byte a cycle: 20 cycles. */
TEST(sweeps)
{
    static const struct {
        const char *text;
        size_t n;
        double values[4];
        const char *says; /* of the value that is refused, behind the others */
    } cases[] = {
        {"freq_GHz=1:4:4", 4, {1, 2, 3, 4}, NULL},
        {"freq_GHz=8:1:4:log", 4, {8, 4, 2, 1}, NULL},
        {"freq_GHz=0.1:0.3:2", 2, {0.1, 0.3}, NULL},
        {"freq_GHz=19:21:3", 2, {19, 20}, "freq_GHz is 21"},
        {"SRAM_capacity=1:4:3", 3, {1, 3, 4}, NULL},
        {"SRAM_capacity=1:100:4:log", 4, {1, 5, 22, 100}, NULL},
        {"size=1:2:2", 0, {0}, "size cannot be set"},
        {"_capacity=1:2:2", 0, {0}, "_capacity cannot be set"},
    };
    struct carm_sol_graph *g = sol_build_open(1, 2, 2);
    sol_op(g, 10, IN(0, 100), OUT(1, 100));
    struct carm_sol_analysis *a = sol_build_analyse(g);
    struct carm_sol_arch arch = {.name = "a", .freq_ghz = 5.0, .dram_byte_per_cycle = 10.0};
    arch.other_per_cycle[CARM_SOL_INT8] = 10.0;
    const struct carm_sol_view view = {
        .graph = g, .analysis = a, .arch = &arch, .precision = CARM_SOL_INT8};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_sol_sweep sweep;
        struct seen seen = {0};
        assert_ok(carm_sol_sweep_parse(cases[i].text, &sweep, &err));
        const int rc = carm_sol_sweep_run(&sweep, &view, see, &seen, &err);
        assert_int_equal(rc, cases[i].says ? -CARM_EINVAL : 0);
        fail_if(rc && !strstr(err.text, cases[i].says), "%s: %s", cases[i].text, err.text);
        assert_int_equal(seen.n, cases[i].n);
        for (size_t k = 0; k < seen.n; k++) {
            assert_near(seen.values[k], cases[i].values[k],
                        k == 0 || k + 1 == seen.n ? 0.0 : 1e-12);
            assert_near(seen.set[k], seen.values[k], 0.0);
            assert_near(seen.cycles[k], 20.0, 1e-12);
            assert_near(seen.seconds[k], 20e-9 / (cases[i].text[0] == 'f' ? seen.values[k] : 5.0),
                        1e-20);
        }
        assert_near(arch.freq_ghz, 5.0, 0.0); /* as it was */
    }
}
