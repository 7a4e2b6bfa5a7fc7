/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which sets of roofs a command is about, on models of a few lines; and what sets say of themselves. */
#include "models/place/hot.h"
#include "models/select.h"
#include "tests/unit.h"

enum { SETS = 5 };

static struct carm_memory_roof slopes[] = {{.level = "L1", .ldst = "2:1", .bandwidth = 100e9},
                                           {.level = "L1", .ldst = "2:1", .bandwidth = 400e9}};
static struct carm_compute_roof peaks[] = {{.op = "fma", .rate = 50e9},
                                           {.op = "fma", .rate = 60e9},
                                           {.op = "add", .rate = 30e9},
                                           {.op = "fma+add", .rate = 90e9}};

/* avx2 with 1 and 8 threads, avx512 with 1, computation of sp alone, integers */
static struct carm_roofs sets[SETS] = {
    {.isa = "avx2",
     .precision = "dp",
     .threads = 1,
     .memory = slopes,
     .nmemory = 1,
     .compute = peaks,
     .ncompute = 1},
    {.isa = "avx2",
     .precision = "dp",
     .threads = 8,
     .memory = slopes + 1,
     .nmemory = 1,
     .compute = peaks + 1,
     .ncompute = 1},
    {.isa = "avx512",
     .precision = "dp",
     .threads = 1,
     .memory = slopes,
     .nmemory = 1,
     .compute = peaks,
     .ncompute = 1},
    {.isa = "avx512", .precision = "sp", .threads = 8, .compute = peaks + 1, .ncompute = 3},
    {.isa = "avx512",
     .precision = "int8",
     .threads = 8,
     .memory = slopes + 1,
     .nmemory = 1,
     .compute = peaks + 3,
     .ncompute = 1}};
static struct carm_model model = {
    .roofs = sets, .nroofs = SETS, .config = {.ldst = "2:1", .precision = "dp,sp,int8"}};

static struct carm_select of(const char *isa, const char *threads)
{
    struct carm_select sel;
    assert_ok(carm_select_parse(&sel, isa, threads, &err));
    return sel;
}

TEST(lists_are_read)
{
    static const struct {
        const char *isa, *threads, *words;
    } bad[] = {
        {"", NULL, "--isa needs names"},         {"avx2,", NULL, "--isa needs names"},
        {",avx2", NULL, "--isa needs names"},    {NULL, "", "--threads needs numbers"},
        {NULL, "0", "--threads needs numbers"},  {NULL, "-1", "--threads needs numbers"},
        {NULL, "1,", "--threads needs numbers"}, {NULL, "1x", "--threads needs numbers"},
        {NULL, "2147483648", "needs numbers"},   {NULL, "99999999999999999999", "needs numbers"},
        {NULL, "+1", "--threads needs numbers"}, {NULL, " 1", "--threads needs numbers"}};
    struct carm_select sel = of("avx2,sse", "9,2147483647,01");
    assert_int_equal(sel.nisa, 2);
    assert_string_equal(sel.isa[0], "avx2");
    assert_string_equal(sel.isa[1], "sse");
    assert_int_equal(sel.nthreads, 3);
    assert_int_equal(sel.threads[0], 9);
    assert_int_equal(sel.threads[1], 2147483647);
    assert_int_equal(sel.threads[2], 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_refused(carm_select_parse(&sel, bad[i].isa, bad[i].threads, &err), -CARM_EINVAL,
                       bad[i].words);
    }
    char name[CARM_NAME_MAX + 1] = "";
    memset(name, 'a', CARM_NAME_MAX - 1);
    sel = of(name, NULL);
    assert_string_equal(sel.isa[0], name);
    name[CARM_NAME_MAX - 1] = 'a';
    assert_refused(carm_select_parse(&sel, name, NULL, &err), -CARM_EINVAL, "--isa needs names");
    char many[128] = "1";
    for (int i = 1; i < CARM_SELECT_MAX; i++) {
        (void)strcat(many, ",1");
    }
    assert_int_equal(of(many, many).nisa, CARM_SELECT_MAX);
    assert_int_equal(of(many, many).nthreads, CARM_SELECT_MAX);
    (void)strcat(many, ",1");
    assert_refused(carm_select_parse(&sel, many, NULL, &err), -CARM_EINVAL,
                   "--isa takes at most 16");
    assert_refused(carm_select_parse(&sel, NULL, many, &err), -CARM_EINVAL,
                   "--threads takes at most 16");
}

TEST(no_list_has_all)
{
    struct carm_select sel = of(NULL, NULL);
    assert_true(carm_select_has(&sel, "avx2", 1) && carm_select_has(&sel, "x", 99));
    sel = of("sse,avx2", NULL);
    assert_true(carm_select_has(&sel, "avx2", 7) && !carm_select_has(&sel, "avx", 7));
    sel = of("sse,avx2", "3,4");
    assert_true(carm_select_has(&sel, "avx2", 4) && !carm_select_has(&sel, "avx2", 2) &&
                !carm_select_has(&sel, "avx", 4));
}

/* The nearest number of threads with roofs of memory, fewer of two as near ones. */
TEST(the_nearest_number_is_taken)
{
    static const struct {
        const char *isa, *threads, *precision;
        int nearest;
    } rows[] = {{NULL, "1", "", 1},     {NULL, "2", "", 1},       {NULL, "4", "", 1},
                {NULL, "5", "", 8},     {NULL, "64", "", 8},      {"avx512", "7", "dp", 1},
                {"avx512", "7", "", 8}, {"avx2", "7", "int8", 7}, {"sse", "7", "", 7},
                {"avx2", "2", "", 1},   {"avx512", "7", "sp", 7}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char note[CARM_TEXT_MAX] = "x";
        char words[128];
        struct carm_select sel = of(rows[i].isa, rows[i].threads);
        const int asked = sel.threads[0];
        (void)snprintf(sel.precision, sizeof sel.precision, "%s", rows[i].precision);
        assert_int_equal(carm_select_nearest(&sel, &model, note), rows[i].nearest != asked);
        assert_int_equal(sel.threads[0], rows[i].nearest);
        (void)snprintf(
            words, sizeof words,
            "no roofs for %d threads, so those for %d are drawn (carm build --threads %d", asked,
            rows[i].nearest, asked);
        fail_if(rows[i].nearest == asked ? *note : !strstr(note, words), "row %zu: %s", i, note);
    }
}

TEST(what_is_not_there_is_refused)
{
    struct carm_select sel = of("avx2", "8");
    struct carm_model none = {.nroofs = 0};
    assert_ok(carm_select_check(&sel, &model, &err));
    sel = of("avx2", "1");
    assert_ok(carm_select_check(&sel, &model, &err));
    assert_refused(carm_select_check(&sel, &none, &err), -CARM_EINVAL,
                   "has no roofs; `carm build`");
    (void)snprintf(sel.precision, sizeof sel.precision, "int8");
    assert_refused(
        carm_select_check(&sel, &model, &err), -CARM_EINVAL,
        "no int8 roofs match --isa and --threads; the model has avx2 with 1 thread, avx2 "
        "with 8 threads, avx512 with 1 thread, avx512 with 8 threads, avx512 with 8 "
        "threads, in precision dp,sp,int8");
    sel = of("sse", NULL);
    assert_refused(carm_select_check(&sel, &model, &err), -CARM_EINVAL,
                   "no roofs match --isa and --threads; the model has avx2 with 1 thread, ");
    assert_null(strstr(err.text, "precision"));
}

/* Sets with roofs of memory before others, dp before integers, the widest ISA, then the highest peak. */
TEST(the_best_set_is_drawn)
{
    static const struct {
        const char *isa, *threads, *precision;
        int best; /* -1: none */
    } rows[] = {{NULL, NULL, "", 1},     {NULL, "1", "", 2},         {"avx2", NULL, "", 1},
                {"avx512", NULL, "", 2}, {"avx512", "8", "", 4},     {"avx512", "8", "sp", 3},
                {NULL, NULL, "int8", 4}, {"avx2", NULL, "int8", -1}, {"sse", NULL, "", -1},
                {"avx2", "1", "", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_select sel = of(rows[i].isa, rows[i].threads);
        (void)snprintf(sel.precision, sizeof sel.precision, "%s", rows[i].precision);
        const struct carm_roofs *best = carm_select_best(&sel, &model);
        fail_if(best != (rows[i].best < 0 ? NULL : &sets[rows[i].best]), "row %zu: set %d", i,
                best ? (int)(best - sets) : -1);
    }
}

TEST(hosts_have_short_names)
{
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {{"node7", "node7", true},
                {"node7", "node7.cluster", true},
                {"node7.cluster", "node7", true},
                {"node7", "node70", false},
                {"node7", "node", false},
                {"", "", false},
                {"", ".x", false},
                {"a", "a.b", true},
                {"node7.a", "node7.b", false},
                {"node7.a", "node7.ab", false},
                {"a", "b", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fail_if(carm_select_same_host(rows[i].a, rows[i].b) != rows[i].same, "%s %s", rows[i].a,
                rows[i].b);
    }
}

/* Mixtures of operations are no plain peak. */
TEST(sets_say_what_they_are)
{
    char text[64];
    assert_ptr_equal(carm_roofs_find_plain_peak(&sets[3]), &peaks[1]);
    assert_null(carm_roofs_find_plain_peak(&sets[4]));
    assert_string_equal(carm_precision_operation("int8"), "op");
    assert_string_equal(carm_precision_operation("dp"), "flop");
    assert_string_equal(carm_precision_rate("int64"), "op/s");
    assert_string_equal(carm_precision_rate("fp16"), "flop/s");
    assert_int_equal(carm_precision_rank("dp"), 0);
    assert_int_equal(carm_precision_rank("sp"), 0);
    assert_int_equal(carm_precision_rank("bf16"), 1);
    assert_int_equal(carm_precision_rank("int8"), 2);
    struct carm_roofs one = {.threads = 1, .place = "core:0"},
                      four = {.threads = 4, .place = "l3:0"};
    assert_string_equal(carm_roofs_threads(text, sizeof text, &one), "1 thread");
    assert_string_equal(carm_roofs_threads(text, sizeof text, &four), "4 threads on l3:0");
    struct carm_machine m = {.on = "socket:1"};
    assert_string_equal(carm_machine_place(text, sizeof text, &m), ", on socket:1");
    (void)snprintf(m.layout, sizeof m.layout, "spread");
    assert_string_equal(carm_machine_place(text, sizeof text, &m), ", on socket:1, threads spread");
    assert_string_equal(carm_machine_host(&m), "a machine without a name");
    (void)snprintf(m.hostname, sizeof m.hostname, "node7");
    assert_string_equal(carm_machine_host(&m), "node7");
}

/* Rounds of three days in two roofs; one roof without rounds does not count for the least. */
TEST(rounds_are_summed_up)
{
    struct carm_round a[] = {{.at = 0.0, .state = CARM_STATE_QUIET},
                             {.at = 86399.0, .state = CARM_STATE_QUIET},
                             {.at = 86400.0, .state = CARM_STATE_SHARED}};
    struct carm_round b[] = {{.at = 10.0 * 86400 + 5, .state = CARM_STATE_QUIET}};
    struct carm_memory_roof memory[] = {{.rounds = a, .nrounds = 3, .disturbed = true},
                                        {.nrounds = 0}};
    struct carm_compute_roof compute[] = {{.rounds = b, .nrounds = 1}, {.disturbed = true}};
    const struct carm_roofs r = {.memory = memory, .nmemory = 2, .compute = compute, .ncompute = 2};
    struct carm_rounds_summary s;
    carm_roofs_summarize(&r, &s);
    assert_int_equal(s.least, 1);
    assert_int_equal(s.most, 3);
    assert_int_equal(s.days, 3);
    assert_near(s.shares[CARM_STATE_QUIET], 0.75, 1e-12);
    assert_near(s.shares[CARM_STATE_SHARED], 0.25, 1e-12);
    assert_int_equal(carm_roofs_count_disturbed(&r), 2);
    const struct carm_roofs none = {.threads = 1};
    carm_roofs_summarize(&none, &s);
    assert_int_equal(s.most + s.least, 0);
    assert_int_equal(s.days, 0);
    assert_near(s.shares[CARM_STATE_QUIET], 0.0, 0.0);
}

/* A part that takes half of the time and gets three times as fast: 1 / (1/2 + 1/6). */
TEST(gains_of_a_part)
{
    char text[512];
    assert_near(carm_hot_amdahl(0.5, 3.0), 1.5, 1e-12);
    assert_near(carm_hot_amdahl(1.0, 4.0), 4.0, 1e-12);
    assert_near(carm_hot_amdahl(0.0, 4.0), 1.0, 1e-12);
    assert_true(carm_hot_computes(1.01, 100.0) && !carm_hot_computes(1.0, 100.0));
    assert_string_equal(carm_hot_share(text, 0.0), "0%");
    assert_string_equal(carm_hot_share(text, 0.0049), "<1%");
    assert_string_equal(carm_hot_share(text, 0.0051), "1%");
    assert_string_equal(carm_hot_share(text, 0.125), "12%");
    struct carm_hot h = {.of_ceiling = 0.25, .ceiling = "L2"};
    assert_non_null(
        strstr(carm_hot_advice(text, sizeof text, &h, 0.9), "uses 25% of the bandwidth of L2: "));
    assert_non_null(strstr(text, "the program would take 10% of its time"));
    h = (struct carm_hot){
        .placed = true, .gain = 3.0, .place = {.advice = "vectorise, at most 3x"}};
    assert_string_equal(carm_hot_advice(text, sizeof text, &h, 0.5),
                        "vectorise; if it reached the roof, the program would be 1.50x as fast");
    h.has_own = true;
    assert_non_null(strstr(carm_hot_advice(text, sizeof text, &h, 0.5),
                           "; if it were as fast as its instructions allow, "));
    h.gain = 1.029;
    h.own.gain = 1.031;
    assert_non_null(strstr(carm_hot_advice(text, sizeof text, &h, 0.5),
                           "; it is as fast as its instructions allow: only another algorithm"));
    h.own.gain = 1.029;
    assert_non_null(strstr(carm_hot_advice(text, sizeof text, &h, 0.5), "only less work can"));
    h.has_own = false;
    h.own.gain = 2.0;
    assert_non_null(strstr(carm_hot_advice(text, sizeof text, &h, 0.5),
                           "; it is at the roof: only less work can"));
    h.gain = 1.031;
    assert_non_null(strstr(carm_hot_advice(text, sizeof text, &h, 0.5), "1.02x as fast"));
    h.unbounded = true;
    (void)snprintf(h.note, sizeof h.note, "no integers");
    assert_non_null(strstr(carm_hot_advice(text, sizeof text, &h, 0.5),
                           "; how much is left is not known: no integers"));
}
