/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of options that a build and a validation share, at the ends of what is taken; whether a model is of this
 * machine. */
#include <unistd.h>

#include "tests/topo.h"
#include "validation/machine.h"
#include "validation/options.h"

static char joined[600];

static int join(void *to, const char *word, struct carm_err *failure)
{
    int *left = to;
    (void)strcat(strcat(joined, "|"), word);
    return --*left == 0 ? carm_fail(failure, CARM_EINVAL, "enough") : 0;
}

static int each(const char *list, int most)
{
    joined[0] = '\0';
    return carm_list_each(list, "ops", join, &most, &err);
}

TEST(words_of_lists)
{
    char many[2 * CARM_LIST_MAX + 3] = "a";
    char longest[300] = "";
    assert_ok(each("a,bc,,d,", 9));
    assert_string_equal(joined, "|a|bc||d");
    assert_refused(each("a,b,c", 2), -CARM_EINVAL, "enough");
    assert_string_equal(joined, "|a|b");
    assert_refused(each("", 9), -CARM_EINVAL, "--ops needs at least one value");
    assert_refused(each(",,", 9), -CARM_EINVAL, "--ops needs at least one value");
    for (int i = 1; i < CARM_LIST_MAX; i++) {
        (void)strcat(many, ",b");
    }
    assert_ok(each(many, 99));
    assert_refused(each(strcat(many, ",b"), 99), -CARM_EINVAL, "--ops: at most 16 values");
    memset(longest, 'x', 255);
    assert_ok(each(longest, 9));
    longest[255] = 'x';
    assert_refused(each(longest, 9), -CARM_EINVAL, "' is too long");
}

TEST(levels_of_a_list)
{
    struct carm_level_list l = {.n = 0};
    assert_true(carm_level_list_has(&l, "L1")); /* no list: all */
    l = (struct carm_level_list){.names = {"L1", "DRAM"}, .n = 2};
    assert_true(carm_level_list_has(&l, "L1") && carm_level_list_has(&l, "DRAM"));
    assert_false(carm_level_list_has(&l, "L2"));
}

TEST(repetitions)
{
    static const struct {
        const char *word;
        size_t reps; /* 0 = refused */
    } rows[] = {{"16", 16},
                {"15", 0},
                {"1048576", 1 << 20},
                {"1048577", 0},
                {"-16", 0},
                {"+16", 0},
                {"", 0},
                {"64x", 0},
                {"1e3", 0},
                {" 64", 0},
                {"99999999999999999999", 0}};
    size_t reps = 77;
    assert_ok(carm_reps_parse(NULL, &reps, &err));
    assert_int_equal(reps, 77);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        reps = 0;
        if (rows[i].reps) {
            assert_ok(carm_reps_parse(rows[i].word, &reps, &err));
        } else {
            assert_refused(carm_reps_parse(rows[i].word, &reps, &err), -CARM_EINVAL,
                           "give 16 to 1048576 repetitions");
        }
        assert_int_equal(reps, rows[i].reps);
    }
}

/* 60 s for 8192 repetitions, 10 for a quick build's 1024, in proportion for fewer and not for more. */
TEST(budgets)
{
    static const struct {
        const char *word;
        bool quick;
        size_t reps;
        double seconds; /* -1 = refused */
    } rows[] = {
        {NULL, false, 8192, 60.0},    {NULL, false, 4096, 30.0}, {NULL, false, 100000, 60.0},
        {NULL, true, 1024, 10.0},     {NULL, true, 256, 2.5},    {NULL, true, 2048, 10.0},
        {"0", false, 8192, 0.0},      {"0.5", true, 16, 0.5},    {"86400", false, 16, 86400.0},
        {"86401", false, 8192, -1.0}, {"-1", false, 8192, -1.0}, {"x", false, 8192, -1.0},
        {"", false, 8192, -1.0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double seconds = -1.0;
        const int rc =
            carm_budget_parse(rows[i].word, 60.0, rows[i].quick, rows[i].reps, &seconds, &err);
        assert_int_equal(rc, rows[i].seconds < 0.0 ? -CARM_EINVAL : 0);
        assert_true(rc || seconds == rows[i].seconds);
    }
}

TEST(a_machine_is_described)
{
    struct carm_topo *t =
        topo_of("pack:1 l3:1(size=4194304) core:2 l2:1(size=262144) l1:1(size=32768) pu:2", NULL);
    const struct carm_cpu cpu = {.brand = "A CPU", .hypervisor = "KVM"};
    const struct carm_clock clock = {.tsc_hz = 2.5e9};
    struct carm_machine m;
    char host[64] = "";
    (void)strcpy(t->on, "l3:0");
    (void)strcpy(t->layout, "1/core");
    t->quota = 1.5;
    carm_machine_describe(&m, &cpu, t, &clock);
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    assert_string_equal(m.hostname, host);
    assert_string_equal(m.cpu, "A CPU");
    assert_string_equal(m.hypervisor, "KVM");
    assert_string_equal(m.on, "l3:0");
    assert_string_equal(m.layout, "1/core");
    assert_true(m.cores == 2 && m.threads == 4 && m.ncaches == 3);
    assert_true(m.cpu_quota == 1.5 && m.tsc_hz == 2.5e9 && m.memory_bytes > 0);
    const uint64_t sizes[] = {32768, 262144, 4194304};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(m.caches[i].level, i + 1);
        assert_int_equal(m.caches[i].size_bytes, sizes[i]);
        assert_int_equal(m.caches[i].shared_by, i < 2 ? 2 : 4);
    }
    free(m.caches);
}

TEST(a_model_of_another_machine)
{
    struct carm_cache caches[] = {{1, 32768, 1}, {2, 262144, 1}},
                      larger[] = {{1, 32768, 1}, {2, 9, 1}},
                      others[] = {{1, 32768, 1}, {3, 262144, 1}};
    const struct carm_machine here = {
        .hostname = "a", .cpu = "c", .caches = caches, .ncaches = 2, .threads = 4};
    const struct {
        struct carm_machine here, model;
        const char *says; /* NULL = the same */
    } rows[] = {
        {here, here, NULL},
        {here,
         {.hostname = "b", .cpu = "c", .caches = caches, .ncaches = 2},
         "the model is of host b, this is a"},
        {here,
         {.hostname = "a", .cpu = "d", .caches = caches, .ncaches = 2},
         "the model is of a CPU \"d\", this is \"c\""},
        {here,
         {.hostname = "a", .cpu = "c", .on = "l3:0", .caches = caches, .ncaches = 2},
         "the model was measured on l3:0, not on the whole machine: give --on l3:0"},
        {{.hostname = "a", .cpu = "c", .on = "l3:1", .caches = caches, .ncaches = 2},
         {.hostname = "a", .cpu = "c", .on = "l3:0", .caches = caches, .ncaches = 2},
         "the model was measured on l3:0, not on l3:1: give --on l3:0"},
        {{.hostname = "a", .cpu = "c", .on = "l3:1", .caches = caches, .ncaches = 2},
         here,
         "the model is of the whole machine, not of l3:1: `carm build --on l3:1` measures that place"},
        {here, {.hostname = "a", .cpu = "c", .caches = caches, .ncaches = 1}, "other caches"},
        {here, {.hostname = "a", .cpu = "c", .caches = larger, .ncaches = 2}, "other caches"},
        {here, {.hostname = "a", .cpu = "c", .caches = others, .ncaches = 2}, "other caches"},
        {here, {.hostname = "a", .cpu = "c", .caches = caches, .ncaches = 2, .threads = 8}, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].says) {
            assert_refused(carm_machine_check(&rows[i].here, &rows[i].model, &err), -CARM_EINVAL,
                           rows[i].says);
        } else {
            assert_ok(carm_machine_check(&rows[i].here, &rows[i].model, &err));
        }
    }
}
