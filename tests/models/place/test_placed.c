/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which roofs a point is placed under, and what is said about it: words of the command line, notes, refusals. */
#include "models/place/hot.h"
#include "models/place/placed.h"
#include "tests/unit.h"

/* L1 1000, L2 500, DRAM 100 byte/s; fma 400 flop/s, with sp twice as much, of bytes 40. */
static struct carm_memory_roof memory[] = {{.level = "L1", .ldst = "2:1", .bandwidth = 1000},
                                           {.level = "L2", .ldst = "2:1", .bandwidth = 500},
                                           {.level = "DRAM", .ldst = "2:1", .bandwidth = 100}};
static struct carm_compute_roof dp[] = {{.op = "fma", .rate = 400}},
                                sp[] = {{.op = "fma", .rate = 800}},
                                bytes[] = {{.op = "add", .rate = 40}};
#define ROOFS(isa_, precision_, threads_, compute_)                                                \
    {                                                                                              \
        .isa = isa_, .precision = precision_, .threads = threads_, .memory = memory, .nmemory = 3, \
        .compute = compute_, .ncompute = 1, .dram_peak = {                                         \
            .bandwidth = 200,                                                                      \
            .code = "A"                                                                            \
        }                                                                                          \
    }
static struct carm_roofs roofs[] = {ROOFS("avx2", "dp", 1, dp), ROOFS("avx2", "sp", 1, sp),
                                    ROOFS("avx2", "dp", 2, dp), ROOFS("avx2", "int8", 1, bytes)};
static struct carm_level levels[] = {{.level = "L1"}, {.level = "L2"}, {.level = "DRAM"}};
static struct carm_model model = {.config = {.ldst = "2:1", .precision = "dp,sp,int8"},
                                  .machine = {.hostname = "here.example"},
                                  .levels = levels,
                                  .nlevels = 3,
                                  .roofs = roofs,
                                  .nroofs = 4};

CLOSED_BY(carm_place_choices_close)
static struct carm_place_choices *choices_of(struct carm_place_words words)
{
    struct carm_place_choices *c = NULL;
    assert_ok(carm_place_choices_open(&c, &model, &words, &err));
    return closed_later(by_carm_place_choices_close, c);
}

TEST(refused_words)
{
    static const struct {
        struct carm_place_words words;
        int code;
        const char *says;
    } cases[] = {
        {{.isa = "avx2,sse"}, -CARM_EINVAL, "--isa and --threads take one value each"},
        {{.threads = "1,2"}, -CARM_EINVAL, "--isa and --threads take one value each"},
        {{.threads = "x"}, -CARM_EINVAL, "--threads needs numbers"},
        {{.isa = "avx512"},
         -CARM_ENOTSUP,
         "the model has avx2 dp with 1 thread, avx2 sp with 1 thread, avx2 dp with 2 threads, avx2 int8 with 1 thread"},
        {{.threads = "3"}, -CARM_ENOTSUP, "no roofs match"},
        {{.precision = "sp", .threads = "2"}, -CARM_ENOTSUP, "no roofs match"},
        {{.balance = "middle"}, -CARM_EINVAL, "--balance is top or bottom, not 'middle'"},
        {{.metric = ""}, -CARM_EINVAL, "1 to 32 bytes"},
        {{.metric = "123456789012345678901234567890123"}, -CARM_EINVAL, "1 to 32 bytes"},
        {{.peak = "1e9"}, -CARM_EINVAL, "--peak needs --metric: the peak of flops is in the model"},
        {{.metric = "flops", .peak = "1e9"}, -CARM_EINVAL, "the peak of flops is in the model"},
        {{.precision = "int8", .peak = "1e9"},
         -CARM_EINVAL,
         "the peak of integer operations is in the model"},
        {{.metric = "swaps", .peak = "0"}, -CARM_EINVAL, "not '0'"},
        {{.metric = "swaps", .peak = "-1"}, -CARM_EINVAL, "not '-1'"},
        {{.metric = "swaps", .peak = "1e9x"}, -CARM_EINVAL, "not '1e9x'"},
        {{.metric = "swaps", .peak = "1e999"}, -CARM_EINVAL, "not '1e999'"},
        {{.metric = "swaps", .peak = "inf"}, -CARM_EINVAL, "not 'inf'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_place_choices *c = (struct carm_place_choices *)&model;
        assert_refused(carm_place_choices_open(&c, &model, &cases[i].words, &err), cases[i].code,
                       cases[i].says);
        assert_null(c);
    }
    struct carm_place_choices *c = NULL;
    const struct carm_model none = {.nroofs = 0};
    assert_refused(
        carm_place_choices_open(&c, &none, &(struct carm_place_words){.metric = NULL}, &err),
        -CARM_ENOTSUP, "the model has no roofs");
    static const struct {
        struct carm_place_words words;
        const char *metric;
    } metrics[] = {
        {{.metric = NULL}, ""},
        {{.metric = "flop"}, ""},
        {{.metric = "12345678901234567890123456789012"}, "12345678901234567890123456789012"},
        {{.precision = "int8"}, "op"},
        {{.precision = "sp", .balance = "top"}, ""}};
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        assert_string_equal(carm_place_choices_metric(choices_of(metrics[i].words)),
                            metrics[i].metric);
    }
}

/* Which roofs: by their number in the model. */
TEST(choices)
{
    static const char other_threads[] =
        "threads not known: placed under the roofs of 1 (--threads N chooses others)";
    static const char of_two[] =
        "threads not known: placed under the roofs of 2 (--threads N chooses others)";
    static const struct {
        struct carm_place_words words;
        const char *isa, *precision, *metric;
        int threads;
        size_t roofs;
        const char *note, *set_metric;
    } cases[] = {
        {{.metric = NULL}, "", "", "", 1, 0, "", ""},
        {{.metric = NULL}, "avx2", "sp", "", 1, 1, "", ""},
        {{.metric = NULL}, "", "", "", 2, 2, "", ""},
        {{.metric = NULL}, "", "dp", "", 0, 2, of_two, ""},
        {{.threads = "1"}, "", "dp", "", 0, 0, "", ""},
        {{.threads = "1", .precision = "dp"}, "", "sp", "", 2, 0, "", ""},
        {{.threads = "1"}, "", "dp", "", 2, 0, "", ""},
        {{.precision = "sp"}, "", "dp", "", 1, 1, "", ""},
        {{.metric = NULL}, "", "int8", "op", 1, 3, "", "op"},
        {{.precision = "int8"}, "", "", "", 1, 3, "", "op"},
        {{.metric = "swaps", .peak = "8"}, "", "mixed", "", 1, 0, "", "swaps"},
        {{.metric = "swaps", .peak = "8"}, "", "", "", 0, 2, of_two, "swaps"},
        {{.precision = "sp"}, "", "", "", 0, 1, other_threads, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_place_choices *c = choices_of(cases[i].words);
        struct carm_place_choice choice, again;
        struct carm_point p = carm_point_blank();
        p.isa = cases[i].isa;
        p.precision = cases[i].precision;
        p.metric = cases[i].metric;
        p.threads = cases[i].threads;
        carm_place_choose(c, &p, &choice);
        assert_ptr_equal(choice.set->roofs, &roofs[cases[i].roofs]);
        assert_string_equal(choice.note, cases[i].note);
        assert_string_equal(choice.set->metric, cases[i].set_metric);
        assert_ptr_equal(choice.model, &model);
        assert_false(*choice.told);
        /* another kind, then this one again */
        *choice.told = true;
        p.threads += 5;
        carm_place_choose(c, &p, &again);
        assert_false(*again.told);
        p.threads -= 5;
        carm_place_choose(c, &p, &again);
        assert_ptr_equal(again.set, choice.set);
        assert_ptr_equal(again.told, choice.told);
        assert_true(*again.told);
    }
    model.nroofs = 2; /* of one number of threads, of which nothing is said */
    struct carm_point unknown = carm_point_blank();
    struct carm_place_choice choice;
    carm_place_choose(choices_of((struct carm_place_words){.metric = NULL}), &unknown, &choice);
    assert_string_equal(choice.note, "");
    model.nroofs = 4;
}

/* More kinds of points than are kept, in turn: each has its own roofs. */
TEST(many_kinds)
{
    struct carm_place_choices *c = choices_of((struct carm_place_words){.metric = NULL});
    for (int round = 0; round < 3; round++) {
        for (int k = 0; k < 40; k++) {
            struct carm_place_choice choice;
            struct carm_point p = carm_point_blank();
            p.precision = k % 2 ? "sp" : "dp";
            p.threads = 1 + k;
            carm_place_choose(c, &p, &choice);
            assert_ptr_equal(choice.set->roofs, &roofs[k % 2 ? 1 : k ? 2 : 0]);
            assert_int_equal(strstr(choice.note, "the model has no roofs for") != NULL,
                             k % 2 ? k + 1 != 1 : k > 0);
        }
    }
}

/* A balanced mix goes under the balance at the bottom, where the model has measured ceilings. */
TEST(balance)
{
    static struct carm_compute_roof both[] = {
        {.op = "fma", .rate = 400}, {.op = "mad", .rate = 300}, {.op = "add", .rate = 200}};
    static struct carm_ceiling_roof measured[] = {
        {.group = CARM_CEILING_MEMORY, .name = "dot", .rate = 11}};
    struct carm_place_choice plain, balanced;
    struct carm_point p = carm_point_blank(), even = p;
    even.mix.q[CARM_RUNMIX_ADDS] = even.mix.q[CARM_RUNMIX_MULS] = 1.0;
    p.threads = even.threads = 1;
    roofs[0].compute = both;
    roofs[0].ncompute = 3;
    for (int i = 0; i < 3; i++) {
        struct carm_place_choices *c =
            choices_of((struct carm_place_words){.balance = i == 2 ? "bottom" : NULL});
        carm_place_choose(c, &p, &plain);
        carm_place_choose(c, &even, &balanced);
        assert_int_equal(plain.set != balanced.set, i == 1);
        assert_int_equal(carm_place_has_ceilings(&model), i > 0);
        roofs[0].ceilings = measured;
        roofs[0].nceilings = 1;
    }
    roofs[0].compute = dp;
    roofs[0].ncompute = 1;
    roofs[0].nceilings = 0;
    assert_false(carm_place_has_ceilings(&model));
}

static struct carm_placed placed;

static const struct carm_placed *fill_with(struct carm_place_choices *c, const struct carm_point *p,
                                           const char *unplaced, const char *host)
{
    struct carm_place_choice choice;
    carm_place_choose(c, p, &choice);
    memset(&placed, 0x5a, sizeof placed);
    carm_placed_fill(&placed, p, &choice, unplaced, host);
    return &placed;
}

/* 45 flops, 450 bytes, 160 from memory and 225 from L2, in a second: 0.45 of L1's roof, 0.8 of memory's peak. */
TEST(places_of_a_point)
{
    struct carm_place_choices *c = choices_of((struct carm_place_words){.metric = NULL});
    struct carm_point p = carm_point_blank();
    p.flops = 45;
    p.bytes = 450;
    p.dram_bytes = 160;
    p.level_bytes[0] = 225;
    p.seconds = 1.0;
    p.threads = 1;
    const struct carm_placed *d = fill_with(c, &p, NULL, "");
    assert_true(d->has[0] && d->has[1] && d->has_levels && !d->has_own[0] && !d->has_runtime &&
                d->fresh);
    assert_ptr_equal(d->point, &p);
    assert_ptr_equal(d->roofs, &roofs[0]);
    assert_int_equal(d->rows, 1);
    assert_near(d->imbalance, 0.0, 0.0);
    assert_true(!d->view && !d->whole && !d->unplaced);
    assert_near(d->place[0].share, 0.45, 1e-9);
    assert_near(d->place[1].share, 0.8, 1e-9);
    assert_near(d->levels.at[0].share, 0.45, 1e-9);
    assert_near(carm_placed_explains(d), 0.8, 1e-9);
    p.level_bytes[0] = 0.0; /* nothing of the levels between */
    d = fill_with(c, &p, NULL, "");
    assert_false(d->has_levels || d->fresh);
    p.level_bytes[1] = 200;
    assert_true(fill_with(c, &p, NULL, "")->has_levels);
    /* a program that waits has the rates of the time on processors */
    p.task_seconds = 0.5;
    assert_near(fill_with(c, &p, NULL, "")->place[0].performance, 90.0, 1e-9);
    p.seconds = 0.01; /* beyond all roofs */
    assert_near(carm_placed_explains(fill_with(c, &p, NULL, "")), 1.0, 0.0);
    p.dram_bytes = p.bytes = CARM_POINT_UNKNOWN;
    d = fill_with(c, &p, NULL, "");
    assert_false(d->has[0] || d->has[1]);
    assert_string_equal(d->why[0].text, "its bytes were not counted");
    assert_string_equal(d->why[1].text, "its DRAM bytes were not counted");
    d = fill_with(c, &p, "no reason", "");
    assert_string_equal(d->unplaced, "no reason");
    assert_string_equal(d->notes[0], "");
    assert_false(d->fresh || d->has_levels || d->has[0]);
    assert_near(carm_placed_explains(d), 0.0, 0.0);
}

/* Intervals of flops and bytes; a loop of 30 flops by additions, whose own roof is at 0.5 of the peak of fma. */
TEST(intervals)
{
    struct carm_place_choices *c = choices_of((struct carm_place_words){.metric = NULL});
    struct carm_point p = carm_point_blank();
    p.flops = 40;
    p.bytes = p.dram_bytes = 400;
    p.seconds = 1.0;
    p.threads = 1;
    p.flops_low = 30;
    p.flops_high = 50;
    p.bytes_low = 200;
    p.bytes_high = 500;
    p.level_low[2] = 100;
    p.level_high[2] = 800;
    p.level_bytes[0] = 225;
    p.level_misses[2][1] = 3;
    const struct carm_placed *d = fill_with(c, &p, NULL, "elsewhere");
    const struct carm_levels_at *last = &d->levels.at[d->levels.n - 1];
    assert_near(last->intensity_low, 40.0 / 800, 1e-9);
    assert_near(last->intensity_high, 40.0 / 100, 1e-9);
    assert_near(last->misses[1], 1.0, 0.0);
    assert_near(d->place[0].intensity_low, 30.0 / 500, 1e-9);
    assert_near(d->place[0].intensity_high, 50.0 / 200, 1e-9);
    assert_near(d->place[1].intensity_low, 30.0 / 800, 1e-9);
    assert_near(d->place[1].intensity_high, 50.0 / 100, 1e-9);
    assert_string_equal(d->notes[1], "elsewhere");
}

/* Points with mixes of their own: "own roof: share gain, of the original model; advice; levels". The machine adds at half of its
 * peak. */
TEST(own_roofs)
{
    static struct carm_compute_roof both[] = {
        {.op = "fma", .rate = 400}, {.op = "add", .rate = 200}, {.op = "mul", .rate = 200}};
    static const struct {
        double flops, bytes, dram, adds, seconds, l2, l3;
        const char *metric, *precision;
        const char *told;
    } cases[] =
        {
            {180, 100, 10, 180, 1, -1, -1, "", "dp",
             "0.45 own 0.9 2; as fast as its operations allow; with others, at most 2.0x is left; 0.45 own 0.9 2; as fast as its operations allow; with others, at most 2.0x is left; 0.45"}, /* 0.9 of 200 */
            {179, 100, 10, 179, 1, 20, -1, "", "dp",
             "0.4475 own 0.895 2; at the ceiling of DRAM, which may bind it: try blocking for L2; at most 1.1x to the next ceiling, 2.2x to the roof; 0.4475 own 0.895 2; below the ceiling of add: it may wait for divisions or dependent operations (try more independent ones) or execute too many other instructions; at most 1.1x to the ceiling above, 2.2x to the roof; L1 0.4475 DRAM 0.4475 0.4475"}, /* below it */
            {205, 100, 10, 205, 1, -1, 0.5, "", "dp",
             "0.5125 own 1.025 2; as fast as its operations allow; with others, at most 2.0x is left; 0.5125 own 1.025 2; as fast as its operations allow; with others, at most 2.0x is left; L1 0.5125 DRAM 0.5125 0.5125"}, /* at it */
            {207, 100, 10, 207, 1, -1, -1, "", "dp",
             "0.5175 own 1.035 2; at the ceiling of DRAM, which may bind it: try blocking for L2; at most 1.9x to the next ceiling, 1.9x to the roof; 0.5175 own 1.035 2; below the ceiling of fma: it may wait for divisions or dependent operations (try more independent ones) or execute too many other instructions; at most 1.9x to the ceiling above, 1.9x to the roof; 0.5175"}, /* above it */
            {420,
             100, 10, 420, 1, -1, -1, "", "dp", "1.05 own 2.1 2; 1.05 times the roof (fma); possible reasons: the clock was higher than when the roof was measured, the roof was measured too low (carm build on a quiet machine), flops were counted that did not run (removed or shared by the compiler), the time is too short, another unit (GPU) computes; 1.05 own 2.1 2; 1.05 times the roof (fma); possible reasons: the clock was higher than when the roof was measured, the roof was measured too low (carm build on a quiet machine), flops were counted that did not run (removed or shared by the compiler), the time is too short, another unit (GPU) computes; 1"}, /* above the machine's */
            {180, -1, 10, 180, 1, 0, 0, "", "dp",
             "; its bytes were not counted; 0.45 own 0.9 2; as fast as its operations allow; with others, at most 2.0x is left; 0.45"},
            {180, 100, -1, 180, 1, 0, 5, "", "dp",
             "0.45 own 0.9 2; as fast as its operations allow; with others, at most 2.0x is left; ; its DRAM bytes were not counted; 0.45"},
            {180, -1, -1, 180, 1, 5, 5, "", "dp",
             "; its bytes were not counted; ; its DRAM bytes were not counted; 0"},
            {180, 100, 10, -1, 1, -1, -1, "", "dp",
             "0.45 ; at the ceiling of DRAM, which may bind it: try blocking for L2; at most 1.1x to the next ceiling, 2.2x to the roof; 0.45 ; below the ceiling of add: it may wait for divisions or dependent operations (try more independent ones) or execute too many other instructions; at most 1.1x to the ceiling above, 2.2x to the roof; 0.45"},
            {190, 1000, 10, 190, 1, 5, 5, "", "dp",
             "1 own 1 1; at the slope of L1, the roof: nothing is left; do more flops per byte (keep values in registers, use wider blocks); 0.475 own 0.95 2; as fast as its operations allow; with others, at most 2.0x is left; L1 1 DRAM 0.475 1"},
            {180, 100, 10, 180, 1, 5, 5, "swaps", "",
             "0.9 ; at the ceiling of DRAM, which may bind it: try blocking for L2; at most 1.1x to the next ceiling, 1.1x to the roof; 0.9 ; below the ceiling of peak: it may wait for divisions or dependent operations (try more independent ones) or execute too many other instructions; at most 1.1x to the ceiling above, 1.1x to the roof; 0.9"},
            {30, 100, 10, 30, 1, 5, 5, "op", "int8",
             "0.75 own 0.75 1; at the ceiling of DRAM, which may bind it: try blocking for L2; at most 1.3x to the next ceiling, 1.3x to the roof; 0.75 own 0.75 1; below the ceiling of add: it may wait for divisions or dependent operations (try more independent ones) or execute too many other instructions; at most 1.3x to the ceiling above, 1.3x to the roof; L1 0.75 DRAM 0.75 0.75"},
        };
    roofs[0].compute = both;
    roofs[0].ncompute = 3;
    struct carm_place_choices *all[] = {
        choices_of((struct carm_place_words){.metric = NULL}),
        choices_of((struct carm_place_words){.metric = "swaps", .peak = "200"})};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_point p = carm_point_blank();
        char text[1024];
        p.flops = p.operations = cases[i].flops;
        p.bytes = cases[i].bytes;
        p.dram_bytes = cases[i].dram;
        p.level_bytes[0] = cases[i].l2;
        p.level_bytes[1] = cases[i].l3;
        p.seconds = cases[i].seconds;
        p.metric = cases[i].metric;
        p.precision = cases[i].precision;
        p.isa = "avx2";
        p.threads = 1;
        if (cases[i].adds >= 0.0) {
            p.mix.q[CARM_RUNMIX_FP] = p.mix.q[CARM_RUNMIX_ADDS] = p.mix.q[CARM_RUNMIX_INT_ADDS] =
                p.mix.q[CARM_RUNMIX_INT] = cases[i].adds;
            p.mix.q[CARM_RUNMIX_INT_INSTRUCTIONS] = cases[i].adds / 32;
            p.mix.q[CARM_RUNMIX_MULS] = p.mix.q[CARM_RUNMIX_FMAS] = 0;
        }
        const struct carm_placed *d = fill_with(all[*cases[i].metric == 's'], &p, NULL, "");
        size_t used = 0;
        for (int k = 0; k < 2; k++) {
            if (d->has[k]) {
                used += (size_t)snprintf(text + used, sizeof text - used, "%.4g %s",
                                         d->place[k].share, d->has_own[k] ? "own " : "");
            }
            if (d->has[k] && d->has_own[k]) {
                used += (size_t)snprintf(text + used, sizeof text - used, "%.4g %.4g",
                                         d->own_roof[k].share, d->own_roof[k].gain);
            }
            used += (size_t)snprintf(text + used, sizeof text - used, "; %s; ",
                                     d->has[k] ? d->place[k].advice : d->why[k].text);
        }
        for (size_t k = 0; d->has_levels && k < d->levels.n; k++) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s %.4g ",
                                     d->levels.at[k].name, d->levels.at[k].share);
        }
        (void)snprintf(text + used, sizeof text - used, "%.4g", carm_placed_explains(d));
        assert_string_equal(text, cases[i].told);
    }
    roofs[0].compute = dp;
    roofs[0].ncompute = 1;
}

/* Operations of another metric in place of flops. */
TEST(counted_operations)
{
    struct carm_place_choice choice;
    struct carm_point p = carm_point_blank(), counted;
    p.flops = 5;
    p.flops_low = 4;
    p.flops_high = 6;
    p.seconds = 1.0;
    carm_place_choose(choices_of((struct carm_place_words){.metric = NULL}), &p, &choice);
    assert_null(carm_placed_count(&counted, &p, &choice));
    assert_near(counted.flops_low, 4.0, 0.0);
    carm_place_choose(choices_of((struct carm_place_words){.metric = "swaps", .peak = "8"}), &p,
                      &choice);
    assert_string_equal(carm_placed_count(&counted, &p, &choice), "its operations are flops");
    p.metric = "swaps";
    p.operations = 7;
    assert_null(carm_placed_count(&counted, &p, &choice));
    assert_near(counted.flops, 7.0, 0.0);
    assert_near(counted.flops_low, CARM_POINT_UNKNOWN, 0.0);
    assert_near(counted.flops_high, CARM_POINT_UNKNOWN, 0.0);
}

TEST(hosts)
{
    static const struct {
        const char *point, *model;
        bool other;
    } cases[] = {{"here", "here.example", false},
                 {"here.example", "here", false},
                 {"there", "here.example", true},
                 {"", "here.example", false},
                 {"there", "", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_point p = carm_point_blank();
        struct carm_model m = {.nroofs = 0};
        char note[200] = "x";
        p.host = cases[i].point;
        (void)snprintf(m.machine.hostname, sizeof m.machine.hostname, "%s", cases[i].model);
        assert_int_equal(carm_place_other_host(&p, &m, note, sizeof note), cases[i].other);
        assert_string_equal(note, cases[i].other
                                      ? "it was measured on there, but the model is of here.example"
                                      : "");
    }
}

TEST(notes)
{
    static const struct {
        const char *note, *counted_by;
        double share, task_seconds, samples, time_share, performance, intensity;
        bool fresh, unplaced;
        const char *text;
    } cases[] = {
        {"", "pmu", -1, -1, -1, -1, 0.5, 1, true, false, "roofs; host"},
        {"", "pmu", -1, -1, -1, -1, 0.5, 1, false, false, "host"},
        {"own", "pmu", 0.9995, -1, -1, -1, 0.5, 1, false, false, "own; host"},
        {"", "pmu", 0.5, -1, -1, -1, 0.5, 1, false, false,
         "scaled: 50% of its time or calls was counted; host"},
        {"", "pmu", 0.9994, -1, -1, -1, 0.5, 1, false, true,
         "scaled: 99.9% of its time or calls was counted; host"},
        {"", "pmu", -1, 1.7, -1, -1, 0.5, 1, false, false,
         "it waits: on CPUs for 1.7 s of 2 s, and rates are over these; host"},
        {"", "pmu", -1, 1.7, -1, -1, 0.5, 1, false, true, "host"},
        {"host", "pmu", -1, -1, -1, -1, 0.5, 1, true, false,
         "host; roofs"}, /* a row that has the note already */
        /* 100 samples: 1 and 2 x 10 of 100; of 36% of the time 2 x 8; 420: 1 and 2 x 20.5 of 420 */
        {"", "pmu", -1, -1, 100, -1, 0.5, 1, false, false,
         "its time comes from 100 samples, so it can be off by 21%: run longer, or carm run --repeat; host"},
        {"", "pmu", -1, -1, 100, 0.36, 0.5, 1, false, false,
         "its time comes from 100 samples, so it can be off by 17%: run longer, or carm run --repeat; host"},
        {"", "pmu", -1, -1, 1, 0.0, 0.5, 1, false, false,
         "its time comes from 1 sample, so it can be off by 300%: run longer, or carm run --repeat; host"},
        {"", "pmu", -1, -1, 440, 0.0, 0.5, 1, false, false, "host"},
        {"", "pmu", -1, -1, 100, 0.36, 0.5, 1, false, true, "host"},
        {"", "", -1, -1, -1, -1, 1.1e-6, 1, false, false, "host"},
        {"", "", -1, -1, -1, -1, 0.9e-6, 1, false, false, "odd; host"},
        {"", "", -1, -1, -1, -1, 0.9e3, 1, false, false, "host"},
        {"", "", -1, -1, -1, -1, 1.1e3, 1, false, false, "odd; host"},
        {"", "", -1, -1, -1, -1, 0.5, 0.9e-8, false, false, "odd; host"},
        {"", "", -1, -1, -1, -1, 0.5, 1.1e-8, false, false, "host"},
        {"", "", -1, -1, -1, -1, 0.5, 1.1e6, false, false, "odd; host"},
        {"", "", -1, -1, -1, -1, 0.5, INFINITY, false, false, "host"},
        {"", "pmu", -1, -1, -1, -1, 1.1e3, 1, false, false, "host"},
    };
    static const char odd[] =
        "beyond any machine: are these flops, bytes and seconds, not Gflop, GB or ms?";
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const size_t k = i / 2;
        struct carm_point p = carm_point_blank();
        char text[1024];
        p.note = cases[k].note;
        p.counted_by = cases[k].counted_by;
        p.share = cases[k].share;
        p.threads = 1;
        p.seconds = 2.0;
        p.task_seconds = cases[k].task_seconds;
        p.samples = cases[k].samples;
        p.time_share = cases[k].time_share;
        struct carm_placed d = {.point = &p,
                                .unplaced = cases[k].unplaced ? "why" : NULL,
                                .notes = {"roofs", "host", "", ""},
                                .fresh = cases[k].fresh};
        d.has[i % 2] = true;
        d.place[i % 2].share = cases[k].performance;
        d.place[i % 2].intensity = cases[k].intensity;
        char wanted[1024];
        (void)snprintf(wanted, sizeof wanted, "%s%s",
                       strncmp(cases[k].text, "odd", 3) == 0 ? odd : "",
                       cases[k].text + (strncmp(cases[k].text, "odd", 3) == 0 ? 3 : 0));
        assert_string_equal(carm_place_notes(text, sizeof text, &d, true), wanted);
        d.fresh = false;
        d.notes[3] = "last";
        assert_non_null(strstr(carm_place_notes(text, sizeof text, &d, false), "roofs"));
        assert_non_null(strstr(text, "last"));
    }
}

/* A loop under the roofs, and the program without it. */
TEST(hot_parts)
{
    static const struct {
        double flops, bytes, seconds;
        const char *metric, *precision;
        bool found, placed;
        const char *ceiling, *bound;
        double of_ceiling, gain;
    } cases[] = {
        {45, 450, 1, "", "dp", true, true, "L2", "memory", 0.9, 1.0 / 0.45},
        {100, 1000, 1, "", "dp", true, true, "L1", "memory", 1.0, 1.0},
        {110, 1100, 1, "", "dp", true, true, "roof", "memory", 1.1, 1.0},
        {300, 200, 1, "", "dp", true, true, "fma", "compute", 0.75, 400.0 / 300},
        {10, 1000, 2, "", "dp", true, false, "L1", "", 0.5,
         2.0}, /* 0.01 flop/byte: its bandwidth */
        {-1, 2000, 1, "", "dp", true, false, "L1", "", 2.0, 1.0},
        {-1, 0, 1, "", "dp", false, false, "", "", 0.0, 1.0},
        {45, -1, 1, "", "dp", false, false, "", "", 0.0, 1.0},
        {45, 450, 0, "", "dp", false, false, "", "", 0.0, 1.0},
        {20, 10, 1, "op", "int8", true, true, "add", "compute", 0.5, 2.0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_point p = carm_point_blank();
        struct carm_hot hot;
        p.flops = p.operations = cases[i].flops;
        p.bytes = cases[i].bytes;
        p.seconds = cases[i].seconds;
        p.metric = cases[i].metric;
        p.precision = cases[i].precision;
        p.isa = "avx2";
        p.threads = 1;
        assert_int_equal(carm_hot_find(&model, &p, &hot), cases[i].found);
        assert_int_equal(hot.placed, cases[i].placed);
        assert_string_equal(hot.ceiling, cases[i].ceiling);
        assert_string_equal(hot.bound, cases[i].bound);
        assert_near(hot.of_ceiling, cases[i].of_ceiling, 1e-9);
        assert_near(hot.gain, cases[i].gain, 1e-9);
        assert_int_equal(hot.integers, *cases[i].metric != '\0');
        assert_false(hot.unbounded || hot.has_own);
    }
    assert_true(carm_hot_computes(1.01, 100.0) && !carm_hot_computes(1.0, 100.0));
    assert_near(carm_hot_amdahl(0.5, 2.0), 1.0 / 0.75, 1e-12);
    assert_near(carm_hot_amdahl(0.25, INFINITY), 1.0 / 0.75, 1e-12);
    static const struct {
        double share;
        const char *text;
    } shares[] = {{0.0, "0%"}, {0.0049, "<1%"}, {0.0051, "1%"}, {0.126, "13%"}};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        char text[16];
        assert_string_equal(carm_hot_share(text, shares[i].share), shares[i].text);
    }
}

TEST(what_to_try)
{
    static const struct {
        struct carm_hot hot;
        const char *advice, *text;
    } cases[] = {
        {{.placed = false, .of_ceiling = 0.3, .ceiling = "L1"},
         "",
         "computes next to nothing and uses 30% of the bandwidth of L1: it may wait for cache misses, dependent instructions or "
         "branches, or execute too many instructions; without it, the program would take 75% of its time"},
        {{.placed = true, .gain = 2.0},
         "try this; at most 2.0x to the roof",
         "try this; if it reached the roof, the program would be 1.14x as fast"},
        {{.placed = true, .gain = 2.0, .has_own = true},
         "try this",
         "try this; if it were as fast as its instructions allow, the program would be 1.14x as fast"},
        {{.placed = true, .gain = 1.0},
         "try this",
         "try this; it is at the roof: only less work can make it faster"},
        {{.placed = true, .gain = 1.0, .has_own = true, .own.gain = 1.0},
         "try this",
         "try this; it is as fast as its instructions allow: only less work can make it faster"},
        {{.placed = true, .gain = 1.0, .has_own = true, .own.gain = 1.5},
         "try this",
         "try this; it is as fast as its instructions allow: only another algorithm, other operations or wider vectors can make it faster"},
        {{.placed = true, .gain = 2.0, .unbounded = true, .note = "no peak"},
         "try this",
         "try this; how much is left is not known: no peak"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_hot hot = cases[i].hot;
        char text[512];
        (void)snprintf(hot.place.advice, sizeof hot.place.advice, "%s", cases[i].advice);
        assert_string_equal(carm_hot_advice(text, sizeof text, &hot, 0.25), cases[i].text);
    }
}

/* Points: what waits, whose operations are counted, why there is no place. */
TEST(words_of_points)
{
    static const struct {
        double flops, operations, int_ops, seconds;
        const char *metric, *of_flops, *of_swaps, *of_integers;
    } cases[] = {
        {5, -1, -1, 1, "", NULL, "its operations are flops", "its operations are flops"},
        {5, -1, 7, 1, "", NULL, "its operations are flops", NULL},
        {-1, -1, -1, 1, "", "its flops were not counted",
         "its operations were not counted (column operations)",
         "its operations were not counted (column operations)"},
        {0, 0, -1, 1, "flops", "it computes nothing in floating point",
         "its operations have another metric", "its operations have another metric"},
        {5, 3, -1, -1, "flop", "its time is not known", "its operations have another metric",
         "its operations have another metric"},
        {5, 3, -1, 1, "swaps", "its operations are not flops (carm place --metric places them)",
         NULL, "its operations have another metric"},
        {5, 0, -1, 1, "swaps", "its operations are not flops (carm place --metric places them)",
         "it has none of these operations", "its operations have another metric"},
        {5, 3, 7, -1, "swaps", "its operations are not flops (carm place --metric places them)",
         "its time is not known", "its operations have another metric"},
        {5, 3, 7, 1, "op",
         "its operations are on integers (leave --precision out, or name int8 to int64)",
         "its operations have another metric", NULL},
        {0.5, 0.5, 7, 1, "", NULL, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_point p = carm_point_blank();
        p.flops = cases[i].flops;
        p.operations = cases[i].operations;
        p.mix.q[CARM_RUNMIX_INT_OPS] = cases[i].int_ops;
        p.seconds = cases[i].seconds;
        p.metric = cases[i].metric;
        const char *const why[] = {carm_point_unplaced(&p), carm_point_unplaced_metric(&p, "swaps"),
                                   carm_point_unplaced_metric(&p, CARM_METRIC_INTEGERS)};
        const char *const wanted[] = {cases[i].of_flops, cases[i].of_swaps, cases[i].of_integers};
        for (size_t k = 0; k < 3; k++) {
            assert_string_equal(why[k] ? why[k] : "", wanted[k] ? wanted[k] : "");
        }
    }
    static const struct {
        int threads;
        double task, seconds;
        bool waits;
    } waits[] = {{1, 0.89, 1.0, true}, {1, 0.9, 1.0, false}, {1, 0.91, 1.0, false},
                 {0, 0.5, 1.0, true},  {2, 0.5, 1.0, false}, {1, 0.0, 1.0, false},
                 {1, -1.0, 1.0, false}};
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        assert_int_equal(carm_point_waits(waits[i].threads, waits[i].task, waits[i].seconds),
                         waits[i].waits);
    }
}

/* carm_point_verdict finds each limit and each advice by its name. A point without gains has a gain of 1 to infinity. */
TEST(verdicts_of_points)
{
    struct carm_point p = carm_point_blank();
    struct carm_verdict_kept kept;
    assert_false(carm_point_verdict(&p, &kept));
    for (int i = 0; i < CARM_LIMITS; i++) {
        const int other = (i + 1) % CARM_LIMITS;
        p.limit = carm_limit_name((enum carm_limit)i);
        p.second = carm_limit_name((enum carm_limit)other);
        p.advice = carm_advice_name((enum carm_advice_code)(i % CARM_ADVICE_COUNT));
        assert_true(carm_point_verdict(&p, &kept));
        assert_int_equal(kept.limit, i);
        assert_int_equal(kept.second, other);
        assert_int_equal(kept.advice, i % CARM_ADVICE_COUNT);
        assert_true(kept.loop.low == 1.0 && isinf(kept.loop.high) && kept.explains == 0.0);
    }
}
