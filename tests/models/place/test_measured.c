/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placement under measured ceilings, with a set made by hand, and under operations that are no
 * flops. */
#include <jansson.h>

#include "cli/place/print.h"
#include "models/place/place.h"
#include "tests/unit.h"

/* The machine: L1 100, DRAM 10 byte/s; fma 40, add 20 flop/s; the original slope is 12. */
static struct carm_memory_roof memory[] = {
    {.level = "L1", .ldst = "2:1", .bandwidth = 100},
    {.level = "DRAM", .ldst = "2:1", .bandwidth = 10},
};
static struct carm_compute_roof compute[] = {{.op = "fma", .rate = 40}, {.op = "add", .rate = 20}};
static struct carm_roofs sets[] = {{.isa = "avx512",
                                    .precision = "dp",
                                    .threads = 1,
                                    .memory = memory,
                                    .nmemory = 2,
                                    .compute = compute,
                                    .ncompute = 2,
                                    .dram_peak = {.bandwidth = 12, .code = "A"}}};
static struct carm_level levels[] = {{.level = "L1"}, {.level = "DRAM"}};
static const struct carm_model model = {
    .config = {.ldst = "2:1"}, .levels = levels, .nlevels = 2, .roofs = sets, .nroofs = 1};

/* Ridge 3.2; random lines are far below, without affinity half; in the core 2.5, 5, 20, 40. */
static const struct carm_ceilings ceilings = {
    .title = "made up",
    .metric = "flop",
    .memory = {{.name = "random lines", .step = "unit stride", .rate = 2},
               {.name = "jump", .step = "x", .rate = 3, .aside = true},
               {.name = "no affinity", .step = "keep memory on the threads' own node", .rate = 6},
               {.name = "DRAM peak", .rate = 12.5}},
    .nmemory = 4,
    .compute = {{.name = "TLP only", .step = "independent chains", .rate = 2.5},
                {.name = "no SIMD", .step = "vectorise", .rate = 5},
                {.name = "no FMA", .step = "balance multiplies and adds", .rate = 20},
                {.name = "fp 1/16", .step = "y", .rate = 30, .aside = true},
                {.name = "peak dp", .rate = 40}},
    .ncompute = 5};

static struct carm_place_set set;
static struct carm_place p;

static int set_up(void **state)
{
    carm_place_prepare(&set, &model, &sets[0]);
    carm_place_use_ceilings(&set, &ceilings);
    return 0;
}

static const struct carm_place *place(enum carm_place_which which, double intensity,
                                      double performance)
{
    const struct carm_place_input in = {
        .flops = performance, .bytes = performance / intensity, .seconds = 1};
    assert_ok(carm_place_point(&set, which, &in, &p, &err));
    return &p;
}

TEST_BETWEEN(without_ceilings_all_is_as_before, set_up, NULL)
{
    carm_place_prepare(&set, &model, &sets[0]);
    assert_false(set.has_measured);
    (void)place(CARM_PLACE_ORIGINAL, 1, 4);
    assert_false(p.has_region);
    assert_int_equal(p.ngains, 0);
    assert_near(p.roof, 12, 0);
    assert_non_null(strstr(p.advice, "below the slope of DRAM"));
    const struct carm_ceilings empty = {.title = ""}; /* one that has no sides is none */
    carm_place_use_ceilings(&set, &empty);
    assert_false(set.has_measured);
}

TEST_BETWEEN(measured_are_the_original_models_ceilings, set_up, NULL)
{
    (void)place(CARM_PLACE_ORIGINAL, 1, 4);
    assert_near(p.roof, 12.5, 0); /* the measured slope */
    assert_true(p.has_region);
    assert_int_equal(p.region, CARM_REGION_BOTH);
    static const char *const names[] = {"random lines", "TLP only", "no SIMD", "no affinity",
                                        "DRAM peak"};
    assert_int_equal(p.nceilings, 5); /* none aside; "no FMA" lies above the slope */
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(p.ceilings[i].name, names[i]);
    }
    assert_string_equal(p.ceilings[p.below].name, "TLP only");
    assert_string_equal(p.ceilings[p.above].name, "no SIMD");
    assert_true(p.ceilings[4].roof);
}

/* At 1 flop/byte with 4 flop/s under the slope: unit stride may be done in part (6 / 4 is left), vectors (5 to
 * the roof, 12.5), affinity (6 to 12.5). The point is above "TLP only", which is not of the roof's kind. */
TEST_BETWEEN(gains_come_in_order, set_up, NULL)
{
    (void)place(CARM_PLACE_ORIGINAL, 1, 4);
    static const struct {
        const char *name;
        double times;
    } want[] = {{"random lines", 1.5}, {"no SIMD", 2.5}, {"no affinity", 12.5 / 6}};
    assert_int_equal(p.ngains, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct carm_gain *g = &p.gains[i];
        assert_string_equal(g->compute ? ceilings.compute[g->index].name
                                       : ceilings.memory[g->index].name,
                            want[i].name);
        assert_near(g->times, want[i].times, 1e-12);
    }
    assert_string_equal(p.advice,
                        "memory and compute region: unit stride (ceiling 'random lines'): "
                        "at most 1.5x, 3.1x to the roof");
}

TEST_BETWEEN(small_gains_are_not_advised, set_up, NULL)
{
    (void)place(CARM_PLACE_ORIGINAL, 1, 5.6); /* 6 / 5.6 for unit stride: passed over */
    assert_string_equal(p.advice, "memory and compute region: keep memory on the threads' own node "
                                  "(ceiling 'no affinity'): at most 2.1x, 2.2x to the roof");
    (void)place(CARM_PLACE_ORIGINAL, 1, 12);
    assert_non_null(
        strstr(p.advice, "at the slope of DRAM peak: 1.04x is left; do more flops per DRAM byte"));
    (void)place(CARM_PLACE_ORIGINAL, 100, 39);
    assert_int_equal(p.region, CARM_REGION_COMPUTE);
    assert_non_null(strstr(p.advice, "at the peak (peak dp): 1.03x is left"));
    (void)place(CARM_PLACE_ORIGINAL, 0.1, 1);
    assert_int_equal(p.region, CARM_REGION_MEMORY);
    (void)place(CARM_PLACE_ORIGINAL, 1, 20);
    assert_true(p.over);
    assert_non_null(strstr(p.advice, "times the roof (DRAM peak)"));
}

TEST_BETWEEN(without_one_in_reach_the_roof_is_advised, set_up, NULL)
{
    struct carm_ceilings flat = ceilings;
    flat.memory[0] = flat.memory[3];
    flat.nmemory = 1;
    flat.compute[0] = flat.compute[4];
    flat.ncompute = 1;
    carm_place_use_ceilings(&set, &flat);
    (void)place(CARM_PLACE_ORIGINAL, 1, 1);
    assert_non_null(strstr(p.advice, "below the slope of DRAM peak: 12.5x is left"));
}

/* The cache-aware side keeps its levels and operations; measured ceilings join, the peak does not come twice. */
TEST_BETWEEN(measured_join_the_horizontals, set_up, NULL)
{
    (void)place(CARM_PLACE_CACHE_AWARE, 10, 6);
    static const char *const names[] = {"TLP only", "no SIMD", "add", "no FMA", "fma"};
    assert_int_equal(p.nceilings, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(p.ceilings[i].name, names[i]);
    }
    assert_near(p.roof, 40, 0);
    assert_false(p.has_region);
    (void)place(CARM_PLACE_CACHE_AWARE, 10, 4.9);
    assert_non_null(strstr(p.advice, "at the ceiling of no SIMD; next: vectorise; at most"));
}

/* At 0.25 flop/byte DRAM allows 2.5 flop/s, as much as "TLP only": what keeps 75% of DRAM's bandwidth busy waits
 * for memory, with measured ceilings as without them. */
TEST_BETWEEN(a_missing_optimisation_reverses_no_diagnosis, set_up, NULL)
{
    struct carm_place without;
    const struct carm_place_input in = {.flops = 1.9, .bytes = 7.6, .seconds = 1};
    assert_ok(carm_place_cache_aware(&model, &sets[0], 1.9, 7.6, 1, &without, &err));
    struct carm_ceilings low = ceilings;
    low.compute[0].rate = 2.2;
    carm_place_use_ceilings(&set, &low);
    assert_ok(carm_place_point(&set, CARM_PLACE_CACHE_AWARE, &in, &p, &err));
    assert_string_equal(p.ceilings[p.above].name, "DRAM");
    assert_int_equal(p.bound, CARM_BOUND_MEMORY);
    assert_string_equal(p.advice, without.advice);
    /* the original model has the paper's ladder: "TLP only" is next, but need not bind below DRAM's 3.1 */
    (void)place(CARM_PLACE_ORIGINAL, 0.25, 2.2);
    assert_string_equal(p.ceilings[p.above].name, "TLP only");
    assert_int_equal(p.bound, CARM_BOUND_BOTH);
    /* a model whose slope has no lower ceilings: the point is above "TLP only", and the slope binds it */
    low.memory[0] = low.memory[3];
    low.nmemory = 1;
    carm_place_use_ceilings(&set, &low);
    (void)place(CARM_PLACE_ORIGINAL, 0.25, 2.35);
    assert_int_equal(p.region, CARM_REGION_BOTH);
    assert_int_equal(p.bound, CARM_BOUND_MEMORY);
    assert_int_equal(p.ngains, 0);
    assert_non_null(strstr(p.advice, "below the slope of DRAM peak: 1.3x is left"));
}

TEST_BETWEEN(an_intensity_alone, set_up, NULL)
{
    assert_ok(carm_place_intensity(&set, CARM_PLACE_ORIGINAL, 1, &p, &err));
    assert_near(p.roof, 12.5, 0);
    assert_int_equal(p.bound, CARM_BOUND_MEMORY);
    assert_int_equal(p.ngains, 4); /* each from its own ceiling */
    assert_near(p.gains[0].times, 3, 1e-12);
    assert_int_equal(p.above, -1);
    assert_ok(carm_place_intensity(&set, CARM_PLACE_CACHE_AWARE, 100, &p, &err));
    assert_int_equal(p.bound, CARM_BOUND_COMPUTE);
    assert_int_equal(carm_place_intensity(&set, CARM_PLACE_CACHE_AWARE, 0, &p, &err), -CARM_EINVAL);
    assert_int_equal(carm_place_intensity(&set, CARM_PLACE_CACHE_AWARE, INFINITY, &p, &err),
                     -CARM_EINVAL);
}

TEST_BETWEEN(no_flop_ceiling_binds_another_metric, set_up, NULL)
{
    carm_place_prepare_metric(&set, &model, &sets[0], "exchange", 0);
    for (int i = 0; i < 2; i++) {
        (void)place((enum carm_place_which)i, 100, 35);
        for (size_t k = 0; k < p.nceilings; k++) {
            assert_false(p.ceilings[k].compute);
        }
        assert_near(p.roof, i ? 1200 : 10000, 1e-9);
        assert_int_equal(p.bound, CARM_BOUND_MEMORY);
    }
    (void)place(CARM_PLACE_ORIGINAL, 1, 11.9);
    assert_non_null(strstr(p.advice, "do more exchanges per DRAM byte"));
}

TEST_BETWEEN(a_peak_of_the_metric_does, set_up, NULL)
{
    carm_place_prepare_metric(&set, &model, &sets[0], "exchange", 50);
    (void)place(CARM_PLACE_ORIGINAL, 100, 35);
    assert_near(p.roof, 50, 0);
    assert_int_equal(p.bound, CARM_BOUND_COMPUTE);
    assert_string_equal(p.ceilings[p.above].name, "peak");
    (void)place(CARM_PLACE_ORIGINAL, 1, 11);
    assert_near(p.roof, 12, 0);
    (void)place(CARM_PLACE_CACHE_AWARE, 100, 90);
    assert_true(p.over);
    assert_non_null(strstr(p.advice, "--peak is too low for this machine"));
}

static struct carm_placed placed;
static struct carm_point point;

static char *print(enum carm_place_format format, struct carm_place_printer pr)
{
    char *text = NULL;
    size_t size = 0;
    pr.out = open_memstream(&text, &size);
    pr.format = format;
    pr.metric = "";
    pr.ascii = true;
    pr.regions = true;
    assert_non_null(pr.out);
    point = (struct carm_point){.name = "n",
                                .flops = 4,
                                .bytes = -1,
                                .dram_bytes = 4,
                                .seconds = 1,
                                .share = -1,
                                .isa = "",
                                .precision = "",
                                .counted_by = "",
                                .metric = "",
                                .levels_by = "",
                                .note = "",
                                .kind = "",
                                .source = "",
                                .module = "",
                                .limit = "",
                                .limit_by = "",
                                .second = "",
                                .advice = ""};
    placed = (struct carm_placed){.point = &point,
                                  .set = &set,
                                  .rows = 1,
                                  .roofs = &sets[0],
                                  .has = {false, true},
                                  .notes = {"", "", "", ""}};
    placed.place[1] = *place(CARM_PLACE_ORIGINAL, 1, 4);
    carm_place_begin(&pr, &model);
    carm_place_put(&pr, &placed);
    carm_place_end(&pr);
    assert_int_equal(fclose(pr.out), 0);
    return text;
}

TEST_BETWEEN(regions_and_gains_are_printed, set_up, NULL)
{
    char *text = print(CARM_PLACE_TABLE, (struct carm_place_printer){.hint = true});
    assert_non_null(strstr(text, "    region: memory and compute; in reach, in order: unit stride "
                                 "(random lines)\n      1.50x; vectorise"));
    assert_null(strstr(text, "carm build --ceilings"));
    free(text);
    text = print(CARM_PLACE_CSV, (struct carm_place_printer){.hint = true});
    assert_non_null(strstr(text, ",original_region,original_optimisations,l2_bytes,"));
    assert_non_null(strstr(text, ",levels_advice,l2_bytes_low,l2_bytes_high,"));
    assert_non_null(strstr(text, ",memory and compute,unit stride (random lines) 1.50x; "));
    free(text);
    text = print(CARM_PLACE_JSON, (struct carm_place_printer){.hint = true});
    json_t *all = json_loads(text, 0, NULL);
    free(text);
    const json_t *original = json_object_get(json_array_get(all, 0), "original");
    assert_string_equal(json_string_value(json_object_get(original, "region")),
                        "memory and compute");
    const json_t *gains = json_object_get(original, "optimisations");
    assert_int_equal(json_array_size(gains), 3);
    const json_t *g = json_array_get(gains, 2);
    assert_string_equal(json_string_value(json_object_get(g, "ceiling")), "no affinity");
    assert_string_equal(json_string_value(json_object_get(g, "kind")), "memory");
    assert_string_equal(json_string_value(json_object_get(g, "step")),
                        "keep memory on the threads' own node");
    assert_near(json_number_value(json_object_get(g, "from")), 6, 0);
    assert_near(json_number_value(json_object_get(g, "to")), 12.5, 0);
    assert_near(json_number_value(json_object_get(g, "times")), 2.08333, 1e-5);
    json_decref(all);
}
