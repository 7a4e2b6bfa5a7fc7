/* SPDX-License-Identifier: GPL-3.0-or-later */
/* analysis.yaml: what is read, what is made of what it lacks, and each refusal with its line. */
#include "models/file/sol/analysis.h"
#include "models/file/sol/open.h"
#include "models/sol/estimate.h"
#include "tests/unit.h"

CLOSED_BY(carm_sol_analysis_close)
static struct carm_sol_analysis *parse(const char *text)
{
    struct carm_sol_analysis *a = NULL;
    assert_ok(carm_sol_analysis_parse(text, strlen(text), "a.yaml", &a, &err));
    return closed_later(by_carm_sol_analysis_close, a);
}

static void refuse(const char *text, const char *message)
{
    struct carm_sol_analysis *a = (struct carm_sol_analysis *)1;
    err = (struct carm_err){""};
    assert_int_equal(carm_sol_analysis_parse(text, strlen(text), "a.yaml", &a, &err),
                     -CARM_EFORMAT);
    assert_null(a);
    assert_string_equal(err.text, message);
}

TEST(the_guides_totals)
{
    const char *top = getenv("CARM_TOP");
    char path[4096];
    struct carm_sol_input input;
    (void)snprintf(path, sizeof path, "%s/data/sol-worked-example.yaml", top ? top : ".");
    assert_ok(carm_sol_input_open(path, &input, &err));
    const struct carm_sol_analysis *a = input.analysis;
    assert_int_equal(a->total.macs, 1000000);
    assert_int_equal(a->total.other, 50000);
    assert_int_equal(a->total.unfused, 25000000);
    assert_int_equal(a->total.external, 10000000);
    assert_int_equal(a->total.intermediate, 15000000);
    assert_int_equal(a->total.repeated, 0);
    assert_int_equal(a->total.weight, 7500000);
    assert_int_equal(a->model_io, 2500000);
    assert_int_equal(a->prefetched, 10000000);
    assert_null(a->layers);
    assert_null(a->ids);
    assert_int_equal(a->n, 0);
    carm_sol_input_close(&input);
}

/* what is not given follows from what is, as far as it can */
TEST(the_least)
{
    struct carm_sol_analysis *a = parse("total:\n"
                                        "  macs: 9007199254740993\n"
                                        "  unfused_elements: 9223372036854775807\n"
                                        "  fused_elements: 10\n"
                                        "  other_ops: null\n"
                                        "  orojenesis_elements: null\n"
                                        "  nested: {macs: [1, 2], more: -1}\n");
    assert_int_equal(a->total.macs, 9007199254740993);
    assert_int_equal(a->total.other, 0);
    assert_int_equal(a->total.intermediate, INT64_MAX - 10);
    assert_int_equal(a->prefetched, 10);
    assert_int_equal(a->model_io, 10);
}

static const char two_layers[] = "metadata: {precision: fp16, bytes_per_element: 2.0}\n"
                                 "layers:\n"
                                 "  one:\n"
                                 "    type: matmul\n"
                                 "    macs: 100\n"
                                 "    flops: 200\n"
                                 "    other_ops: 0\n"
                                 "    unfused_elements: 60\n"
                                 "    input_elements: 50\n"
                                 "    output_elements: 10\n"
                                 "    fused_elements: 50\n"
                                 "    intermediate_elements: 10\n"
                                 "    tensor_shapes: {inputs: [[5, 8], [10]], outputs: [[10]]}\n"
                                 "  two: {macs: 0, other_ops: 30, unfused_elements: 60,\n"
                                 "        fused_elements: 50, intermediate_elements: 10}\n"
                                 "total:\n"
                                 "  num_layers: 2\n"
                                 "  macs: 100\n"
                                 "  unfused_elements: 120\n"
                                 "  fused_elements: 60\n"
                                 "  fused_prefetched_elements: 55\n"
                                 "  num_intermediate_tensors: 1\n";

TEST(layers_and_totals)
{
    struct carm_sol_analysis *a = parse(two_layers);
    assert_int_equal(a->n, 2);
    assert_int_equal(a->operations, 2);
    assert_int_equal(a->intermediates, 1);
    assert_string_equal(a->ids[0], "one");
    assert_string_equal(a->ids[1], "two");
    assert_int_equal(a->layers[0].macs, 100);
    assert_int_equal(a->layers[0].input, 50);
    assert_int_equal(a->layers[0].output, 10);
    assert_int_equal(a->layers[1].other, 30);
    assert_int_equal(a->layers[1].external, 50);
    assert_int_equal(a->total.other, 30);
    /* the later Solar's total shares tensors: the rest of the layers' 100 is repeated */
    assert_int_equal(a->total.external, 60);
    assert_int_equal(a->total.intermediate, 20);
    assert_int_equal(a->total.repeated, 40);
    assert_int_equal(a->prefetched, 55);
}

TEST(estimates_of_what_was_read)
{
    struct carm_sol_analysis *a = parse(two_layers);
    struct carm_sol_arch arch = {
        .name = "small", .freq_ghz = 1.0, .dram_byte_per_cycle = 10.0, .nlevels = 1};
    arch.mac_per_cycle[CARM_SOL_INT8] = 10.0;
    arch.other_per_cycle[CARM_SOL_INT8] = 10.0;
    arch.levels[0].capacity = 1000;
    struct carm_sol_result r;
    assert_ok(carm_sol_estimate(NULL, a, &arch, CARM_SOL_INT8, false, &r, &err));
    assert_false(r.whole_graph);
    assert_false(r.has_cached); /* there are no tensors to follow */
    assert_true(r.has_layers);
    assert_near(r.models[CARM_SOL_UNFUSED].cycles, 10 + 6, 1e-12);
    assert_near(r.models[CARM_SOL_FUSED].cycles, 10 + 5, 1e-12);
    assert_near(r.models[CARM_SOL_PREFETCHED].cycles, 10, 1e-12);
    assert_near(r.models[CARM_SOL_PREFETCHED].memory_cycles, 5.5, 1e-12);
    struct carm_sol_estimate one;
    carm_sol_estimate_layer(&r, 1, CARM_SOL_FUSED, false, &one);
    assert_near(one.cycles, 5, 1e-12);
    carm_sol_result_close(&r);
}

#define TOTAL "total:\n  macs: 10\n  unfused_elements: 30\n  fused_elements: 20\n"

TEST(refusals)
{
    refuse("- total\n", "a.yaml, line 1: an analysis is a map with the key total");
    refuse("layers: {}\n", "a.yaml, line 1: the key total is missing: an analysis needs it");
    refuse("a: 1\ntotal: 3\n", "a.yaml, line 2: total is not a map of counts");
    refuse(TOTAL "layers: [one]\n", "a.yaml, line 5: layers is not a map of layers");
    refuse(TOTAL "layers: {one: 1}\n", "a.yaml, line 5: one is not a map of counts");
    refuse(TOTAL TOTAL, "a.yaml, line 5: total is given twice: keep one");
    refuse("layers: {}\nlayers: {}\n" TOTAL, "a.yaml, line 2: layers is given twice: keep one");
    refuse(TOTAL "  macs: 10\n", "a.yaml, line 5: total has macs twice: keep one");
    refuse("total:\n  macs: 1\n  fused_elements: 2\n",
           "a.yaml, line 2: total has no unfused_elements");
    refuse("total: {unfused_elements: 1, fused_elements: 1}\n",
           "a.yaml, line 1: total has no macs");
    refuse("total: {unfused_elements: 1, macs: 1, fused_elements: null}\n",
           "a.yaml, line 1: total has no fused_elements");
    refuse("total:\n  macs: -10\n", "a.yaml, line 2: macs is -10, not a whole number from 0 to "
                                    "9223372036854775807 in digits");
    refuse("total:\n  macs: 1\n  fused_elements: 2.5\n",
           "a.yaml, line 3: fused_elements is 2.5, not a whole number from 0 to "
           "9223372036854775807 in digits");
    refuse("total:\n  macs: 9223372036854775808\n",
           "a.yaml, line 2: macs is 9223372036854775808, not a whole number from 0 to "
           "9223372036854775807 in digits");
    refuse("total:\n  macs: [1]\n", "a.yaml, line 2: macs is a list, not a whole number from 0 to "
                                    "9223372036854775807 in digits");
}

/* Below each other, and all in the first line. */
TEST(members_that_do_not_agree)
{
    static const char *const rows[][3] = {
        {"flops: 21", "", "flops is 21, not 2 x macs = 2 x 10"},
        {"flops: 22", "", "flops is 22, not 2 x macs = 2 x 10"},
        {"fused_prefetched_elements: 21", "",
         "fused_prefetched_elements is 21, more than the 20 of fused_elements, which it is a part of"},
        {"weight_elements: 21", "",
         "weight_elements is 21, more than the 20 of fused_elements, which it is a part of"},
        {"model_io_elements: 31", "",
         "model_io_elements is 31, more than the 30 of unfused_elements, which it is a part of"},
        {"intermediate_elements: 11", "",
         "fused_elements 20 and intermediate_elements 11 sum to more than unfused_elements 30"},
        {"input_elements: 20", "output_elements: 11",
         "input_elements 20 and output_elements 11 do not sum to unfused_elements 30"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256], message[256];
        (void)snprintf(text, sizeof text, TOTAL "  %s\n  %s\n", rows[i][0], rows[i][1]);
        (void)snprintf(message, sizeof message, "a.yaml, line 5: total: %s", rows[i][2]);
        refuse(text, message);
        (void)snprintf(text, sizeof text,
                       "total: {macs: 10, unfused_elements: 30, fused_elements: 20, %s, %s}\n",
                       rows[i][0], rows[i][1]);
        (void)snprintf(message, sizeof message, "a.yaml, line 1: total: %s", rows[i][2]);
        refuse(text, message);
    }
    refuse("total:\n  macs: 1\n  unfused_elements: 1\n  fused_elements: 2\n",
           "a.yaml, line 4: total: fused_elements is 2, more than the 1 of unfused_elements, which "
           "it is a part of");
    refuse("total: {macs: 1, macs: 2}\n", "a.yaml, line 1: total has macs twice: keep one");
#define ONE "{total: {macs: 10, unfused_elements: 30, fused_elements: 20, "
#define LAYERS \
    ", layers: {a: {macs: 10, unfused_elements: 30, fused_elements: 20, other_ops: 6}}}\n"
    refuse(ONE "other_ops: 7}" LAYERS,
           "a.yaml, line 1: total: other_ops is 7, but the layers' sum to 6");
    refuse(ONE "num_layers: 2}" LAYERS,
           "a.yaml, line 1: total: num_layers is 2, but there are 1 layers");
    assert_int_equal(parse(ONE "input_elements: 25}}")->total.input, 0);
    assert_int_equal(parse(ONE "output_elements: 5}}")->total.output, 0);
    assert_int_equal(parse(ONE "weight_elements: 3}}")->model_io, 17);
    assert_int_equal(parse(ONE "num_layers: 5}}")->operations, 5);
    assert_int_equal(parse(ONE "}" LAYERS)->operations, 1);
    const struct carm_sol_analysis *a = parse(
        "{total: {macs: 10, flops: 20, other_ops: 7, unfused_elements: 30, fused_elements: 20, "
        "fused_prefetched_elements: 15, model_io_elements: 16, intermediate_elements: 8, "
        "input_elements: 25, output_elements: 5, weight_elements: 3}, layers: {a: {macs: 10, "
        "unfused_elements: 30, fused_elements: 20, other_ops: 7, intermediate_elements: 8}}}\n");
    assert_int_equal(a->prefetched, 15);
    assert_int_equal(a->model_io, 16);
    assert_int_equal(a->total.other, 7);
    assert_int_equal(a->total.intermediate, 8);
    assert_int_equal(a->total.repeated, 2);
    assert_int_equal(a->total.input, 25);
    assert_int_equal(a->total.output, 5);
    assert_int_equal(a->total.weight, 3);
    assert_int_equal(a->layers[0].intermediate, 8);
}

#define LAYER(name, macs, unfused, fused) \
    "  " name ": {macs: " macs ", unfused_elements: " unfused ", fused_elements: " fused "}\n"

TEST(layers_that_do_not_agree)
{
    refuse(TOTAL "layers:\n" LAYER("a", "9", "30", "20"),
           "a.yaml, line 2: total: macs is 10, but the layers' sum to 9");
    refuse("layers:\n" LAYER("a", "10", "30", "20") LAYER("b", "0", "1", "1") TOTAL,
           "a.yaml, line 6: total: unfused_elements is 30, but the layers' sum to 31");
    refuse(TOTAL "layers:\n" LAYER("a", "10", "30", "19"),
           "a.yaml, line 4: total: fused_elements is 20, more than the layers' sum of 19");
    refuse(TOTAL "  num_layers: 2\nlayers:\n" LAYER("a", "10", "30", "20"),
           "a.yaml, line 5: total: num_layers is 2, but there are 1 layers");
    refuse(TOTAL "layers:\n" LAYER("a", "10", "30", "31"),
           "a.yaml, line 6: a: fused_elements is 31, more than the 30 of unfused_elements, which "
           "it is a part of");
    refuse(TOTAL "layers:\n  a: {macs: 1}\n", "a.yaml, line 6: a has no unfused_elements");
    refuse(TOTAL "layers:\n" LAYER("a", "9223372036854775807", "30", "20")
               LAYER("b", "1", "0", "0"),
           "a.yaml, line 7: with b the layers' macs sum to more than 2^63-1");
}

/* A maximum with its places, both the model's: 100 are read, 10 + 10 written. Solar has counted the 20
 * for each output: 140 elements of 120. */
TEST(outputs_counted_twice)
{
    static const char layers[] =
        "layers:\n  max:\n    {macs: 0, unfused_elements: 120, fused_elements: 120,\n"
        "     input_elements: 100, output_elements: 20, output_is_intermediate: false,\n"
        "     tensor_shapes: {inputs: [[10, 10]], outputs: [[10], [10]], other: 1}}\n"
        "  relu:\n    {macs: 0, unfused_elements: 200, fused_elements: 0, output_elements: 100,\n"
        "     output_is_intermediate: true, tensor_shapes: {inputs: [], outputs: [[50], [50]]}}\n";
    static const struct {
        const char *total;
        uint64_t fused, prefetched, twice; /* fused 0 = refused */
    } rows[] = {
        {"unfused_elements: 320, fused_elements: 120", 120, 120, 0},
        {"unfused_elements: 320, fused_elements: 110", 110, 110, 0},
        {"unfused_elements: 320, fused_elements: 140, fused_prefetched_elements: 140", 120, 120,
         20},
        {"unfused_elements: 320, fused_elements: 130", 110, 110, 20},  /* with a shared input */
        {"unfused_elements: 320, fused_elements: 330", 120, 120, 210}, /* not by outputs alone */
        {"unfused_elements: 320, fused_elements: 141", 0, 0, 0},
        {"unfused_elements: 310, fused_elements: 140", 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int first = 0; first < 2; first++) {
            char text[1024];
            struct carm_sol_analysis *a = NULL;
            (void)snprintf(text, sizeof text, "%stotal: {macs: 0, %s}\n%s", first ? layers : "",
                           rows[i].total, first ? "" : layers);
            const int rc = carm_sol_analysis_parse(text, strlen(text), "a.yaml", &a, &err);
            assert_int_equal(rc, rows[i].fused ? 0 : -CARM_EFORMAT);
            if (rc == 0) {
                assert_int_equal(a->total.external, rows[i].fused);
                assert_int_equal(a->prefetched, rows[i].prefetched);
                assert_int_equal(a->counted_twice, rows[i].twice);
            }
            carm_sol_analysis_close(a);
        }
    }
    /* whatever stands in these keys, no harm is done */
    struct carm_sol_analysis *a =
        parse("layers:\n  a: {macs: 0, unfused_elements: 1, fused_elements: 1, "
              "tensor_shapes: [[1], 2]}\n"
              "  b: {macs: 0, unfused_elements: 1, fused_elements: 1, "
              "tensor_shapes: {outputs: {c: [d]}, inputs: ~}}\n"
              "  c: {macs: 0, unfused_elements: 1, fused_elements: 1, tensor_shapes: ~}\n"
              "total: {macs: 0, unfused_elements: 3, fused_elements: 3}\n");
    assert_int_equal(a->n, 3);
}

/* Cut anywhere, with any one byte changed: a result or a message with a line, never a crash. */
TEST(damaged_files)
{
    char text[sizeof two_layers];
    const size_t size = sizeof two_layers - 1;
    for (size_t i = 0; i <= size; i++) {
        for (int how = 0; how < 4; how++) {
            memcpy(text, two_layers, sizeof text);
            size_t n = size;
            if (how == 0) {
                n = i;
            } else {
                text[i] = " :9"[how - 1];
            }
            struct carm_sol_analysis *a = NULL;
            err = (struct carm_err){""};
            const int rc = carm_sol_analysis_parse(text, n, "a.yaml", &a, &err);
            if (rc) {
                assert_int_equal(rc, -CARM_EFORMAT);
                assert_non_null(strstr(err.text, "a.yaml, line "));
            }
            assert_true((rc == 0) == (a != NULL));
            carm_sol_analysis_close(a);
        }
    }
}
