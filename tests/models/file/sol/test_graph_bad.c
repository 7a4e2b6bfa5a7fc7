/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Graphs that are refused: the whole message of every reason, and that no garbage does harm. */
#include "tests/models/sol/text.h"
#include "tests/unit.h"

/* One change to the good graph: the first old after the place where after stands. */
struct change {
    const char *after, *old, *with, *message;
};

static void refuse_all(const struct change *changes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *text = text_changed(sol_good, changes[i].after, changes[i].old, changes[i].with);
        sol_refused(text, changes[i].message);
    }
}

TEST(documents_that_are_no_graph)
{
    sol_refused("", "g.yaml, line 1: the file is empty: it has no document");
    sol_refused("- a\n", "g.yaml, line 1: not an einsum graph, which is a map with model_name and "
                         "layers");
    sol_refused("total: {macs: 1}\n",
                "g.yaml, line 1: the key layers is missing: an einsum graph is a "
                "map with model_name and layers");
    sol_refused(
        "workload: {rank_sizes: &id001 {M: 1}, other: *id001}\n",
        "g.yaml, line 1: Solar's graph for AccelForge: give the einsum_graph.yaml that it is "
        "made from");
    sol_refused("a: 1\nlayers: {}\n",
                "g.yaml, line 2: layers is empty: a graph needs at least one layer");
    sol_refused("layers: ~\n", "g.yaml, line 1: layers is empty: a graph needs at least one layer");
    sol_refused("layers: [a]\n", "g.yaml, line 1: layers is not a map: each layer is a key "
                                 "with a map");
    sol_refused("layers: {a: 1}\n",
                "g.yaml, line 1: layer a: it is not a map: a layer is a map with "
                "type, tensor_names, ...");
    sol_refused("layers: {'': {}}\n", "g.yaml, line 1: a layer without a name");
    sol_refused("layers: {[a]: {}}\n", "g.yaml, line 1: a key that is a map or a list, not text");
    sol_refused("model_name: [a]\nlayers: {}\n", "g.yaml, line 1: model_name is not text");
    sol_refused("model_name: a\nmodel_name: b\n", "g.yaml, line 2: a second key model_name");
    static const struct change changes[] = {
        {"", "connections: {inputs: [bias], outputs: []}\n",
         "connections: {inputs: [bias], outputs: []}\nlayers: {}\n",
         "g.yaml, line 46: a second key layers"},
        {"", "connections: {inputs: [bias], outputs: []}\n",
         "connections: {inputs: [bias], outputs: []}\n---\na: b\n",
         "g.yaml, line 46: a second document: put each document into a file of its own"},
        {"", "  slice:\n", "  linear:\n",
         "g.yaml, line 33: a second layer linear: the first one is "
         "in line 12"},
        {"", "type: linear", "<<: {type: linear}",
         "g.yaml, line 13: a merge key (<<): it is not read; write the keys out"},
    };
    refuse_all(changes, sizeof changes / sizeof *changes);
}

TEST(keys_that_lack_or_repeat)
{
    static const struct change changes[] = {
        {"", "    type: linear\n", "", "g.yaml, line 12: layer linear: the key type is missing"},
        {"linear:", "    is_real_einsum: true\n", "",
         "g.yaml, line 12: layer linear: the key is_real_einsum is missing"},
        {"linear:", "    tensor_names", "    names",
         "g.yaml, line 12: layer linear: the key tensor_names is missing"},
        {"linear:", "    tensor_shapes", "    shapes",
         "g.yaml, line 12: layer linear: the key tensor_shapes is missing"},
        {"linear:", "reduction_op", "elementwise_op",
         "g.yaml, line 16: layer linear: elementwise_op is given twice"},
        {"linear:", "einsum_equation", "type",
         "g.yaml, line 14: layer linear: type is given twice"},
        {"", "{inputs: [start], outputs: [bias]}", "{inputs: [start], inputs: [start]}",
         "g.yaml, line 22: layer linear: connections has inputs twice"},
        {"", "{inputs: [start], outputs: [bias]}", "{inputs: [start]}",
         "g.yaml, line 22: layer linear: connections has no outputs"},
        {"", "{inputs: [input, weight], outputs: [output]}", "{outputs: [output], outputs: []}",
         "g.yaml, line 20: layer linear: tensor_types has outputs twice"},
        {"", "{inputs: [input, weight], outputs: [output]}", "{outputs: [output], other: [a]}",
         "g.yaml, line 20: layer linear: tensor_types has no inputs"},
    };
    refuse_all(changes, sizeof changes / sizeof *changes);
}

TEST(values_of_the_wrong_kind)
{
    static const struct change changes[] = {
        {"", "type: linear", "type: [linear]", "g.yaml, line 13: layer linear: type is not text"},
        {"", "type: linear", "type: ''", "g.yaml, line 13: layer linear: type is empty"},
        {"", "type: linear", "type:", "g.yaml, line 13: layer linear: type is empty"},
        {"linear:", "is_real_einsum: true", "is_real_einsum: 1",
         "g.yaml, line 17: is_real_einsum is 1, not true or false"},
        {"linear:", "is_real_einsum: true",
         "is_real_einsum:", "g.yaml, line 17: is_real_einsum is \"\", not true or false"},
        {"linear:", "is_einsum_supportable: true", "is_einsum_supportable: {}",
         "g.yaml, line 18: is_einsum_supportable is a map, not true or false"},
        {"", "{inputs: [start], outputs: [bias]}", "[start, bias]",
         "g.yaml, line 22: layer linear: connections is not a map of inputs and outputs"},
        {"", "{inputs: [start], outputs: [bias]}", "{inputs: start, outputs: [bias]}",
         "g.yaml, line 22: layer linear: connections has inputs that are not a list"},
        {"", "{inputs: [start], outputs: [bias]}", "{inputs: [start], outputs: {a: b}}",
         "g.yaml, line 22: layer linear: connections has outputs that are not a list"},
        {"", "inputs: [start]", "inputs: [[start]]",
         "g.yaml, line 22: layer linear: connections has a member that is not a name"},
        {"", "outputs: [linear.Out]", "outputs: ['']",
         "g.yaml, line 19: layer linear: tensor_names has a member that is not a name"},
        {"", "[input, weight]", "[input, wait]",
         "g.yaml, line 20: layer linear: tensor_types has wait: a tensor is input, weight, bias or "
         "output"},
        {"", "[input, weight]", "[input, [weight]]",
         "g.yaml, line 20: layer linear: tensor_types has a member that is not a word"},
        {"", "[[2, 3], [5, 3]]", "[[2, 3], 15]",
         "g.yaml, line 21: layer linear: tensor_shapes has a member that is not a list of sizes"},
        {"", "[[2, 3], [5, 3]]", "[[2, 3], [5, -3]]",
         "g.yaml, line 21: a size in tensor_shapes is -3, not a whole number from 0 to "
         "9223372036854775807 in digits"},
        {"", "[[2, 3], [5, 3]]", "[[2, 3], [5, 3.0]]",
         "g.yaml, line 21: a size in tensor_shapes is 3.0, not a whole number from 0 to "
         "9223372036854775807 in digits"},
        {"", "[[2, 3], [5, 3]]", "[[2, 3], [5, [3]]]",
         "g.yaml, line 21: a size in tensor_shapes is a list, not a whole number from 0 to "
         "9223372036854775807 in digits"},
        {"", "[[2, 3], [5, 3]]", "[[2, 3], [5, 9223372036854775808]]",
         "g.yaml, line 21: a size in tensor_shapes is 9223372036854775808, not a whole number from "
         "0 to 9223372036854775807 in digits"},
        {"", "[[2, 3], [5, 3]]",
         "[[2, 3], [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
         "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]]",
         "g.yaml, line 21: layer linear: tensor_shapes has a shape of more than 64 dimensions"},
        {"", "[[2, 3], [5, 3]]", "[[2, 3], [3037000500, 3037000500]]",
         "g.yaml, line 21: layer linear: the tensor linear.Weight has more than 2^63 - 1 elements"},
    };
    refuse_all(changes, sizeof changes / sizeof *changes);
}

TEST(arrays_of_unequal_length)
{
    static const struct change changes[] = {
        {"", "[start.Output, linear.Weight]", "[start.Output]",
         "g.yaml, line 12: layer linear: inputs: 1 in tensor_names, 2 in tensor_types, 2 in "
         "tensor_shapes; each tensor needs an entry in all three"},
        {"", "[input, weight]", "[input, weight, bias]",
         "g.yaml, line 12: layer linear: inputs: 2 in tensor_names, 3 in tensor_types, 2 in "
         "tensor_shapes; each tensor needs an entry in all three"},
        {"", "outputs: [[2, 5]]}\n    connections", "outputs: ~}\n    connections",
         "g.yaml, line 12: layer linear: outputs: 1 in tensor_names, 1 in tensor_types, 0 in "
         "tensor_shapes; each tensor needs an entry in all three"},
    };
    refuse_all(changes, sizeof changes / sizeof *changes);
}

TEST(connections_that_do_not_hold)
{
    static const struct change changes[] = {
        {"", "inputs: [start]", "inputs: [start, linear]",
         "g.yaml, line 22: layer linear: connections.inputs names the layer itself: a cycle"},
        {"slice:", "outputs: []", "outputs: [slice]",
         "g.yaml, line 45: layer slice: connections.outputs names the layer itself: a cycle"},
        /* one side is enough for a cycle, and so is a tensor */
        {"", "inputs: [start]", "inputs: [start, bias]",
         "g.yaml, line 12: layer linear: a cycle of 2 layers: it needs bias, which needs linear"},
        {"linear:", "inputs: [start.Output, ", "inputs: [slice.Out, ",
         "g.yaml, line 12: layer linear: a cycle of 3 layers: it needs slice, which needs bias, "
         "which needs linear"},
    };
    refuse_all(changes, sizeof changes / sizeof *changes);
}

TEST(tensors_that_do_not_hold)
{
    static const struct change changes[] = {
        {"", "outputs: [bias.Out]", "outputs: [linear.Out]",
         "g.yaml, line 27: layer bias: its output linear.Out is also an output of layer linear (line "
         "12)"},
        {"slice:", "inputs: [bias.Out]", "inputs: [slice.Out]",
         "g.yaml, line 42: layer slice: the tensor slice.Out is both its input and its output: give "
         "the output a name of its own"},
    };
    refuse_all(changes, sizeof changes / sizeof *changes);
}

TEST(equations_that_do_not_fit)
{
    static const struct change changes[] = {
        {"", "MK,NK->MN", "MK,KN->MN",
         "g.yaml, line 12: layer linear: einsum_equation MK,KN->MN: rank K has size 3 in one tensor "
         "and 5 in another"},
        {"", "MK,NK->MN", "MK,NK->MNZ",
         "g.yaml, line 12: layer linear: einsum_equation MK,NK->MNZ: its tensor 3 has more ranks "
         "than the shape has dimensions (2)"},
        {"", "AB->AB", "ab->ab",
         "g.yaml, line 23: layer bias: einsum_equation ab->ab: character 1 is not part of a rank (a "
         "capital letter with optional digits), of a sum of ranks (P+R), comma or arrow"},
        {"", "AB->AB", "A(P+R)->AP",
         "g.yaml, line 23: layer bias: einsum_equation A(P+R)->AP: unknown rank R: sums alone "
         "have it, and no rank or shape gives its size"},
    };
    refuse_all(changes, sizeof changes / sizeof *changes);
    /* what is no einsum may write what it likes */
    char *text = text_changed(sol_good, "bias:", "einsum_equation: AB->AB",
                              "einsum_equation: whatever\n    is_einsum_supportable: false");
    struct carm_sol_graph *g = sol_parse(text);
    assert_int_equal(g->layers[2].points, 15);
}

TEST(products_past_63_bits)
{
    sol_refused("layers:\n"
                "  a:\n"
                "    type: matmul\n"
                "    einsum_equation: MK,KN->MN\n"
                "    is_real_einsum: true\n"
                "    tensor_names: {inputs: [x, y], outputs: [z]}\n"
                "    tensor_types: {inputs: [input, input], outputs: [output]}\n"
                "    tensor_shapes: {inputs: [[4000000, 4000000], [4000000, 4000000]],\n"
                "      outputs: [[4000000, 4000000]]}\n"
                "    connections: {inputs: [], outputs: []}\n",
                "g.yaml, line 2: layer a: einsum_equation MK,KN->MN: the product of its ranks' "
                "sizes passes 2^63 - 1");
    sol_refused("layers:\n"
                "  a:\n"
                "    type: f\n"
                "    is_real_einsum: false\n"
                "    tensor_names: {inputs: [x, y], outputs: [z]}\n"
                "    tensor_types: {inputs: [input, input], outputs: [output]}\n"
                "    tensor_shapes: {inputs: [[9223372036854775807], []], outputs: [[1]]}\n"
                "    connections: {inputs: [], outputs: []}\n",
                "g.yaml, line 2: layer a: its inputs have more than 2^63 - 1 elements");
}

/* A ring of n layers, each after the one before it. */
static char *ring(int n)
{
    char *text = malloc((size_t)n * 300 + 64);
    assert_non_null(text);
    size_t used = (size_t)sprintf(text, "layers:\n");
    for (int i = 0; i < n; i++) {
        used += (size_t)sprintf(
            text + used,
            "  l%d: {type: relu, is_real_einsum: false, tensor_names: {inputs: [], outputs: []}, "
            "tensor_types: {inputs: [], outputs: []}, tensor_shapes: {inputs: [], outputs: []}, "
            "connections: {inputs: [l%d], outputs: [l%d]}}\n",
            i, (i + n - 1) % n, (i + 1) % n);
    }
    return text;
}

TEST(cycles_are_named)
{
    char *text = ring(2);
    sol_refused(text, "g.yaml, line 2: layer l0: a cycle of 2 layers: it needs l1, which needs l0");
    free(text);
    text = ring(3);
    sol_refused(text, "g.yaml, line 2: layer l0: a cycle of 3 layers: it needs l2, which needs l1, "
                      "which needs l0");
    free(text);
    /* a layer before it that only follows it */
    text = ring(3);
    char *before = text_changed(
        text, "", "layers:\n",
        "layers:\n  a: {type: relu, is_real_einsum: false, tensor_names: {inputs: [], outputs: []}, "
        "tensor_types: {inputs: [], outputs: []}, tensor_shapes: {inputs: [], outputs: []}, "
        "connections: {inputs: [l0], outputs: []}}\n");
    sol_refused(
        before,
        "g.yaml, line 3: layer l0: a cycle of 3 layers: it needs l2, which needs l1, which needs l0");
    free(text);
    text = ring(50000);
    sol_refused(text,
                "g.yaml, line 2: layer l0: a cycle of 50000 layers: it needs l49999, which "
                "needs l49998, which needs l49997, which needs l49996, and so on round to it");
    free(text);
    /* behind layers that are done, and before layers that only follow it */
    char *loop = text_changed(sol_good, "", "connections: {outputs: [slice], inputs: [linear]}",
                              "connections: {outputs: [slice], inputs: [linear, slice]}");
    text = text_changed(loop, "slice:", "connections: {inputs: [bias], outputs: []}",
                        "connections: {inputs: [bias], outputs: [bias]}");
    sol_refused(text, "g.yaml, line 23: layer bias: a cycle of 2 layers: it needs slice, which "
                      "needs bias");
}

TEST(hostile_names_are_only_text)
{
    char *text = text_changed(sol_good, "", "einsum_equation: AB->AB",
                              "einsum_equation: \"%s%n\\e[31m\\r\\n\\u009b\"");
    sol_refused(text, "g.yaml, line 23: layer bias: einsum_equation %s%n?[31m????: character 1 is "
                      "not part of a rank (a capital letter with optional digits), of a sum of "
                      "ranks (P+R), comma or arrow");
}

/* returns true when the graph is read; a message names the line, whatever is in the text */
static bool survives(const char *text, size_t size)
{
    struct carm_sol_graph *graph = NULL;
    err = (struct carm_err){""};
    const int rc = carm_sol_graph_parse(text, size, "g.yaml", &graph, &err);
    fail_if(rc && (rc != -CARM_EFORMAT || strncmp(err.text, "g.yaml, line ", 13) != 0 ||
                   strtoul(err.text + 13, NULL, 10) < 1),
            "%d: %s", rc, err.text);
    assert_true((rc == 0) == (graph != NULL));
    carm_sol_graph_close(graph);
    return rc == 0;
}

TEST(cut_graphs_do_no_harm)
{
    size_t read = 0;
    for (size_t size = 0; size < sizeof sol_good; size++) {
        char *text = malloc(size + 1); /* exactly as long, for a sanitizer to see */
        assert_non_null(text);
        memcpy(text, sol_good, size);
        read += survives(text, size);
        free(text);
    }
    assert_in_range(read, 1, 40); /* a layer may end after its shapes */
}

TEST(flipped_graphs_do_no_harm)
{
    enum { ROUNDS = 6000, SIZE = sizeof sol_good - 1 };
    static const char likely[] = "[]{}:,-'\"&*!|>%@\n \t#0123456789AZaz()+~\\";
    unsigned seed = 7;
    size_t read = 0;
    char *text = malloc(SIZE);
    assert_non_null(text);
    for (int i = 0; i < ROUNDS; i++) {
        memcpy(text, sol_good, SIZE);
        for (int flips = 1 + rand_r(&seed) % 3; flips; flips--) {
            char *at = text + rand_r(&seed) % SIZE;
            const unsigned value = (unsigned char)*at ^ (1U << rand_r(&seed) % 8);
            const size_t pick = (size_t)rand_r(&seed) % (sizeof likely - 1);
            *at = likely[pick];
            if (i % 2) {
                memset(at, (int)value, 1);
            }
        }
        read += survives(text, SIZE);
    }
    free(text);
    assert_in_range(read, 1, ROUNDS - 1);
}

/* Lines of the good graph taken out, doubled and moved: well-formed more often than flipped bytes. */
TEST(shuffled_graphs_do_no_harm)
{
    enum { ROUNDS = 3000, LINES = 45, ROOM = 2 * sizeof sol_good };
    const char *lines[LINES + 1] = {sol_good};
    unsigned seed = 11;
    char *text = malloc(ROOM);
    assert_non_null(text);
    for (int i = 0; i < LINES; i++) {
        lines[i + 1] = strchr(lines[i], '\n') + 1;
    }
    assert_int_equal(*lines[LINES], '\0');
    for (int round = 0; round < ROUNDS; round++) {
        size_t size = 0;
        const int odd = rand_r(&seed) % LINES;
        const int other = rand_r(&seed) % LINES;
        for (int i = 0; i < LINES; i++) {
            const int take = i == odd ? other : i;
            if (i == odd && round % 3 == 0) {
                continue;
            }
            for (int times = i == odd && round % 3 == 1 ? 2 : 1; times; times--) {
                const size_t length = (size_t)(lines[take + 1] - lines[take]);
                assert_true(size + length < ROOM);
                memcpy(text + size, lines[take], length);
                size += length;
            }
        }
        (void)survives(text, size);
    }
    free(text);
}
