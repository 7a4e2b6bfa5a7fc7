/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ceilings that a set of roofs has at points, and the notes about their choice, of a made-up machine. */
#include "models/latency.h"
#include "models/place/set.h"
#include "tests/unit.h"

/* Two threads: avx512 with L1 90, L2 50 and DRAM 20 byte/s and a peak of 80 flop/s, avx2 with a faster L1 and L2, sse with a
 * third of both; sp and one thread beside them. */
#define M(level_, ldst_, rate)                                       \
    {                                                                \
        .level = level_, .ldst = ldst_, .bandwidth = rate, .ci95 = { \
            0.99 * (rate),                                           \
            1.01 * (rate)                                            \
        }                                                            \
    }
#define C(op_, rate_)                                                        \
    {                                                                        \
        .op = op_, .rate = rate_, .ci95 = { 0.99 * (rate_), 1.01 * (rate_) } \
    }
static struct carm_memory_roof wide[] = {M("DRAM", "2:1", 20), M("L1", "2:1", 90),
                                         M("L1", "1:0", 80),   M("L1", "update", 96),
                                         M("L1", "0:1", 95),   M("L2", "2:1", 50),
                                         M("L2", "1:0", 400),  M("DRAM", "1:0", 24)},
                               middle[] = {M("L1", "1:0", 99), M("L1", "2:1", 98),
                                           M("L2", "2:1", 60), M("L2", "1:0", 500),
                                           M("DRAM", "2:1", 18)},
                               narrow[] = {M("L1", "1:1", 97), M("L1", "2:1", 30),
                                           M("L2", "2:1", 25), M("DRAM", "2:1", 15)},
                               other[] = {M("L1", "2:1", 999), M("L2", "2:1", 999)};
static struct carm_compute_roof flops[] = {C("fma", 80), C("add", 40),   C("div", 5),
                                           C("sqrt", 3), C("popcnt", 2), C("mul", 0)},
                                middle_flops[] = {C("fma", 44), C("add", 22)},
                                narrow_flops[] = {C("mad", 10)}, other_flops[] = {C("fma", 999)};
static struct carm_roofs sets[] = {{.isa = "avx512",
                                    .precision = "dp",
                                    .threads = 2,
                                    .memory = wide,
                                    .nmemory = 8,
                                    .compute = flops,
                                    .ncompute = 6,
                                    .dram_peak = {.bandwidth = 22, .code = "A"}},
                                   {.isa = "avx2",
                                    .precision = "dp",
                                    .threads = 2,
                                    .memory = middle,
                                    .nmemory = 5,
                                    .compute = middle_flops,
                                    .ncompute = 2},
                                   {.isa = "sse",
                                    .precision = "dp",
                                    .threads = 2,
                                    .memory = narrow,
                                    .nmemory = 4,
                                    .compute = narrow_flops,
                                    .ncompute = 1},
                                   {.isa = "scalar",
                                    .precision = "sp",
                                    .threads = 2,
                                    .memory = other,
                                    .nmemory = 2,
                                    .compute = other_flops,
                                    .ncompute = 1,
                                    .dram_peak = {.bandwidth = 30, .code = "B"}},
                                   {.isa = "sse",
                                    .precision = "dp",
                                    .threads = 1,
                                    .memory = other,
                                    .nmemory = 2,
                                    .compute = other_flops,
                                    .ncompute = 1}};
static struct carm_level levels[] = {{.level = "L1"}, {.level = "L2"}, {.level = "DRAM"}};
static struct carm_numa_pair domains[] = {
    {.from = 0, .to = 1, .threads = 2, .bandwidth = 11, .disturbed = true},
    {.from = 0, .to = 0, .threads = 2, .bandwidth = 22},
    {.from = -1, .to = -1, .threads = 2, .bandwidth = 16},
    {.from = 1, .to = 1, .threads = 4, .bandwidth = 12}};
static struct carm_model model;

static int set_up(void **state)
{
    model = (struct carm_model){.config = {.ldst = "2:1"},
                                .levels = levels,
                                .nlevels = 3,
                                .roofs = sets,
                                .nroofs = 5,
                                .numa = domains,
                                .nnuma = 4};
    return 0;
}

/* "slope peak; faster: mix, ISA; slopes; horizontals": * disturbed, - aside, < of a narrower ISA. */
static const char *told(const struct carm_place_set *set)
{
    static char text[2048];
    FILE *out = fmemopen(text, sizeof text, "w");
    assert_non_null(out);
    (void)fprintf(out, "%s", set->metric);
    for (int w = 0; w < CARM_PLACE_WIDTHS; w++) {
        (void)fputs(set->has_isa[w] ? "y" : "n", out);
    }
    for (int k = 0; k < 2; k++) {
        const struct carm_place_side *s = &set->sides[k];
        (void)fprintf(out, "\n%g %g; %s %g, %s %s %g, %s %g;", s->slope, s->peak, s->mix,
                      s->any_mix, s->slope_isa, s->slope_isa_mix, s->isa_slope, s->peak_isa,
                      s->isa_peak);
        for (size_t i = 0; i < s->ceilings.nmemory + s->ceilings.ncompute; i++) {
            const bool compute = i >= s->ceilings.nmemory;
            const struct carm_ceiling *c =
                compute ? &s->ceilings.compute[i - s->ceilings.nmemory] : &s->ceilings.memory[i];
            assert_int_equal(c->compute, compute);
            (void)fprintf(out, "%s %s %g%s%s%s",
                          i == s->ceilings.nmemory ? ";"
                          : i                      ? ","
                                                   : "",
                          c->name, c->rate, c->disturbed ? "*" : "", c->aside ? "-" : "",
                          c->narrow ? "<" : "");
        }
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

TEST_BETWEEN(ceilings, set_up, NULL)
{
    struct carm_place_set set;
    wide[0].disturbed = flops[1].disturbed = narrow[1].disturbed = true;
    (void)strcpy(wide[0].code, "A");
    carm_place_prepare(&set, &model, &sets[0]);
    assert_string_equal(
        told(&set),
        "nyyy\n98 80;  0, avx2 1:0 99,  0; DRAM 20*, sse L1 30*<, L2 50, avx2 L2 60, L1 90, avx2 L1 98; "
        "popcnt 2-, sqrt 3-, div 5-, sse mad 10<, add 40*, avx2 fma 44<, fma 80\n"
        "22 80;  0,   0,  0; numa:0 to numa:1 11*, interleaved 16, DRAM 22*; "
        "popcnt 2-, sqrt 3-, div 5-, sse mad 10<, add 40*, avx2 fma 44<, fma 80");
    wide[0].disturbed = flops[1].disturbed = narrow[1].disturbed = false;
    /* the peak of DRAM is by another code than the disturbed roof; without levels there is no slope */
    (void)strcpy(wide[0].code, "B");
    wide[0].disturbed = true;
    model.nlevels = 0;
    carm_place_prepare(&set, &model, &sets[0]);
    assert_string_equal(
        told(&set),
        "nyyy\n0 80;  0,   0,  0;; popcnt 2-, sqrt 3-, div 5-, sse mad 10<, add 40, avx2 fma 44<, fma 80\n"
        "22 80;  0,   0,  0; numa:0 to numa:1 11*, interleaved 16, DRAM 22; "
        "popcnt 2-, sqrt 3-, div 5-, sse mad 10<, add 40, avx2 fma 44<, fma 80");
    wide[0].disturbed = false;
    model.nlevels = 3;
    /* wider ISAs are faster; the highest peak of DRAM of as many threads; the memory of one domain in place of all */
    (void)strcpy(model.changed, "x");
    carm_place_prepare(&set, &model, &sets[2]);
    assert_string_equal(
        told(&set), "nyyy\n30 10; 1:1 97, avx2 1:0 99, avx512 80; DRAM 15, L2 25, L1 30; mad 10\n"
                    "30 10;  0,   0,  0; DRAM 30; mad 10");
    model.changed[0] = '\0';
    static const struct {
        double peak;
        const char *told;
    } metrics[] = {
        {0.5,
         "swapsnyyy\n98 0.5;  0, avx2 1:0 99,  0; DRAM 20, L2 50, avx2 L2 60, L1 90, avx2 L1 98; peak 0.5\n"
         "22 0.5;  0,   0,  0; numa:0 to numa:1 11*, interleaved 16, DRAM 22; peak 0.5"},
        {0.0,
         "swapsnyyy\n98 inf;  0, avx2 1:0 99,  0; DRAM 20, L2 50, avx2 L2 60, L1 90, avx2 L1 98\n"
         "22 inf;  0,   0,  0; numa:0 to numa:1 11*, interleaved 16, DRAM 22"}};
    for (size_t i = 0; i < 2; i++) {
        carm_place_prepare_metric(&set, &model, &sets[0], "swaps", metrics[i].peak);
        assert_string_equal(told(&set), metrics[i].told);
    }
    model.nnuma = 0;
    carm_place_prepare_integers(&set, &model, &sets[3], "int8"); /* roofs of sp */
    assert_string_equal(
        told(&set), "opynnn\n999 inf;  0,   0,  0; L1 999, L2 999\n30 inf;  0,   0,  0; DRAM 30");
    (void)strcpy(sets[3].precision, "int8");
    carm_place_prepare_integers(&set, &model, &sets[3], "int8");
    assert_string_equal(
        told(&set),
        "opynnn\n999 999;  0,   0,  0; L1 999, L2 999; fma 999\n30 999;  0,   0,  0; DRAM 30; fma 999");
    (void)strcpy(sets[3].precision, "sp");
}

/* More operations than there is room for: the fastest stay, and of two equal ones the first. */
TEST_BETWEEN(many_operations, set_up, NULL)
{
    struct carm_compute_roof many[CARM_CEILINGS_MAX + 5];
    struct carm_roofs one = {.isa = "sse",
                             .precision = "dp",
                             .threads = 3,
                             .compute = many,
                             .ncompute = CARM_CEILINGS_MAX + 5};
    struct carm_place_set set;
    for (size_t i = 0; i < CARM_CEILINGS_MAX + 5;
         i++) { /* 3, 6, 9, ..., then 4, 5, 6 and two of 1000 */
        const size_t k = i - CARM_CEILINGS_MAX;
        many[i] = (struct carm_compute_roof){.rate = i < CARM_CEILINGS_MAX ? 3.0 * (double)(i + 1)
                                                     : k < 3               ? 4.0 + (double)k
                                                                           : 1000.0};
        (void)snprintf(many[i].op, sizeof many[i].op, "op%zu", i);
    }
    model.roofs = &one;
    model.nroofs = 1;
    carm_place_prepare(&set, &model, &one);
    const struct carm_ceilings *c = &set.sides[CARM_PLACE_CACHE_AWARE].ceilings;
    assert_int_equal(c->ncompute, CARM_CEILINGS_MAX);
    for (size_t i = 0; i < CARM_CEILINGS_MAX; i++) {
        /* 3, 4, 5 and 6 are gone */
        const bool top = i + 2 >= CARM_CEILINGS_MAX;
        char name[16];
        (void)snprintf(name, sizeof name, "op%zu", top ? i + 5 : i + 2);
        assert_string_equal(c->compute[i].name, name);
        assert_near(c->compute[i].rate, top ? 1000.0 : 3.0 * (double)(i + 3), 0.0);
    }
}

/* Measured ceilings need slopes and horizontals; those aside, or of no rate, are none. */
TEST_BETWEEN(measured, set_up, NULL)
{
    struct carm_ceilings ceilings = {
        .memory = {{.name = "jump", .rate = 3, .aside = true},
                   {.name = "far", .rate = 6},
                   {.name = "near", .rate = 12}},
        .nmemory = 3,
        .compute = {{.name = "none"}, {.name = "chain", .rate = 7}, {.name = "peak", .rate = 80}},
        .ncompute = 0};
    struct carm_place_set set;
    model.nnuma = 0;
    for (int i = 0; i < 3; i++) {
        ceilings.ncompute = i ? 3 : 0;
        ceilings.nmemory = i == 1 ? 0 : 3;
        carm_place_prepare(&set, &model, &sets[2]);
        carm_place_use_ceilings(&set, &ceilings);
        assert_int_equal(set.has_measured, i == 2);
    }
    assert_string_equal(
        told(&set),
        "nyyy\n30 10; 1:1 97, avx2 1:0 99, avx512 80; DRAM 15, L2 25, L1 30; chain 7, mad 10\n"
        "12 80;  0,   0,  0; far 6, near 12; chain 7, peak 80");
    /* those of the model */
    static struct carm_ceiling_roof of[] = {
        {.group = CARM_CEILING_MEMORY, .name = "dot", .rate = 11}};
    for (int n = 0; n < 2; n++) {
        sets[2].ceilings = of;
        sets[2].nceilings = (size_t)n;
        carm_place_prepare(&set, &model, &sets[2]);
        assert_int_equal(set.has_measured, n);
    }
    assert_string_equal(
        told(&set),
        "nyyy\n30 10; 1:1 97, avx2 1:0 99, avx512 80; DRAM 15, L2 25, L1 30; mad 10\n11 10;  0,   0,  0; streaming bandwidth 11; peak 10");
    for (int i = 0; i < 2; i++) {
        carm_place_prepare_metric(&set, &model, &sets[2], "swaps", i ? 0.5 : 0.0);
        assert_string_equal(
            told(&set),
            i ? "swapsnyyy\n30 0.5; 1:1 97, avx2 1:0 99, avx512 80; DRAM 15, L2 25, L1 30; peak 0.5\n11 0.5;  0,   0,  0; streaming bandwidth 11; peak 0.5"
              : "swapsnyyy\n30 inf; 1:1 97, avx2 1:0 99, avx512 80; DRAM 15, L2 25, L1 30\n11 inf;  0,   0,  0; streaming bandwidth 11; peak inf");
        assert_string_equal(set.measured.metric, "swaps");
    }
    sets[2].nceilings = 0;
}

/* Which roofs, and what is said about the choice. */
TEST_BETWEEN(notes, set_up, NULL)
{
    static const char far[] =
        "DRAM roofs are of memory on the threads' own node (--pages numa:N takes those of another)";
    static const struct {
        const char *isa, *precision;
        int threads;
        size_t nnuma;
        const char *changed, *roofs_of;
        int between;
        size_t roofs;
        const char *note;
    } cases[] = {
        {"", "dp", 2, 1, "", "", 0, 0, ""},
        {"", "dp", 2, 2, "", "", 0, 0, far},
        {"", "dp", 2, 2, "all is new", "", 0, 0, "all is new"},
        {"sse", "dp", 2, 0, "", "", 0, 2, ""},
        {"avx", "dp", 2, 0, "", "", 0, 1, ""}, /* avx2's, of which all levels are there */
        {"scalar", "dp", 2, 0, "", "", 0, 0,
         "the model has no scalar roofs, so those of avx512 are used (carm build --isa scalar measures them)"},
        {"scalar", "dp", 2, 0, "", "x", 0, 0,
         "the model has no scalar roofs, so those of avx512 are used"},
        {"amx", "sp", 2, 0, "", "", 0, 3,
         "the model has no amx roofs, so those of scalar are used (carm build --isa amx measures them)"},
        {"", "dp", 1, 0, "", "", 0, 4, ""},
        {"", "sp", 1, 0, "", "", 0, 3,
         "the model has no roofs for 1 thread, so those for 2 are used (carm build --threads 1 measures them)"},
        {"", "dp", 7, 0, "", "", 0, 0,
         "the model has no roofs for 7 threads, so those for 2 are used (carm build --threads 7 measures them)"},
        {"", "fp16", 2, 0, "", "", 0, 3,
         "the model has no fp16 roofs, so those of sp are used (carm build --precision fp16 measures them)"},
        {"", "int8", 2, 0, "", "", 0, 3,
         "the model has no int8 roofs, so only memory bounds it, by the roofs of sp (carm build --precision int8 measures them)"},
        {"avx512", "mixed", 2, 0, "", "", 0, 0,
         "it computes in dp and sp, but the roofs are for dp, and its sp part may exceed them"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char note[CARM_TEXT_MAX];
        model.nnuma = cases[i].nnuma;
        (void)snprintf(model.changed, sizeof model.changed, "%s", cases[i].changed);
        (void)snprintf(model.roofs_of, sizeof model.roofs_of, "%s", cases[i].roofs_of);
        const struct carm_roofs *r =
            carm_place_roofs_of(&model, cases[i].isa, cases[i].precision, cases[i].threads, note);
        assert_string_equal(note, cases[i].note);
        assert_ptr_equal(r, &sets[cases[i].roofs]);
    }
    char note[CARM_TEXT_MAX];
    model.nnuma = 0;
    model.roofs_of[0] = '\0';
    sets[1].nmemory =
        2; /* avx2 without some levels: of two threads ceilings, and of one thread nothing */
    for (int threads = 1; threads <= 2; threads++) {
        assert_ptr_equal(carm_place_roofs_of(&model, "avx2", "dp", threads, note),
                         &sets[threads == 2 ? 0 : 4]);
        assert_int_equal(strstr(note, "no avx2 roofs") != NULL, threads == 1);
    }
    sets[1].nmemory = 5;
    /* disturbed roofs: of the levels at the mix of the model, and the peak */
    wide[2].disturbed = wide[5].disturbed = flops[1].disturbed = true;
    (void)carm_place_roofs(&model, "dp", 2, note);
    assert_string_equal(note, ""); /* L2 is that of avx2, which is faster */
    flops[0].disturbed = middle[2].disturbed = wide[0].disturbed = true;
    (void)carm_place_roofs(&model, "dp", 2, note);
    assert_string_equal(
        note,
        "disturbed while measured, so perhaps too low: L2, DRAM, fma (carm build on a quiet machine measures them again)");
    wide[2].disturbed = wide[5].disturbed = flops[1].disturbed = flops[0].disturbed =
        middle[2].disturbed = wide[0].disturbed = false;
    assert_null(carm_place_roofs(&(struct carm_model){.nroofs = 0}, "dp", 1, note));
    assert_string_equal(note, "");
}
