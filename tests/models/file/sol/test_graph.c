/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Graphs that are read: what comes out, against values worked by hand. */
#include <inttypes.h>
#include <unistd.h>

#include "models/file/sol/open.h"
#include "models/sol/arch.h"
#include "tests/models/sol/text.h"
#include "tests/unit.h"

TEST(precisions_have_their_bytes)
{
    static const unsigned bits[CARM_SOL_PRECISIONS] = {64, 32, 32, 16, 16, 8, 8, 4};
    uint64_t bytes = 0;
    for (int i = 0; i < CARM_SOL_PRECISIONS; i++) {
        assert_int_equal(carm_sol_precision_bits((enum carm_sol_precision)i), bits[i]);
        assert_int_equal(
            carm_sol_precision_find(carm_sol_precision_name((enum carm_sol_precision)i)), i);
        assert_int_equal(carm_sol_bytes(10, (enum carm_sol_precision)i, &bytes), 0);
        assert_int_equal(bytes, 10 * bits[i] / 8);
    }
    assert_int_equal(carm_sol_precision_find("BF16"), CARM_SOL_BF16);
    assert_int_equal(carm_sol_precision_find("fp17"), -1);
    assert_int_equal(carm_sol_bytes(3, CARM_SOL_NVFP4, &bytes), 0);
    assert_int_equal(bytes, 2); /* the half byte rounded up */
    assert_int_equal(carm_sol_bytes(INT64_MAX / 8, CARM_SOL_FP64, &bytes), 0);
    assert_true(bytes == INT64_MAX - 7);
    assert_int_equal(carm_sol_bytes(INT64_MAX / 8 + 1, CARM_SOL_FP64, &bytes), -1);
    assert_int_equal(carm_sol_bytes(INT64_MAX, CARM_SOL_FP8, &bytes), 0);
    assert_int_equal(carm_sol_bytes((uint64_t)INT64_MAX + 1, CARM_SOL_FP8, &bytes), -1);
    assert_int_equal(carm_sol_bytes(UINT64_MAX - 1, CARM_SOL_NVFP4, &bytes), 0);
    assert_true(bytes == INT64_MAX);
}

TEST(types_have_their_kinds)
{
    static const struct {
        const char *words; /* separated by blanks */
        enum carm_sol_kind kind;
    } table[] = {
        {"start START Start", CARM_SOL_START},
        {"view reshape contiguous expand expand_as transpose permute t unsqueeze squeeze flatten "
         "unflatten unfold chunk split tensor_split View",
         CARM_SOL_VIEW},
        {"__getitem__ narrow slice select", CARM_SOL_SLICE},
        {"scatter scatter_ index_copy index_copy_ index_put index_put_ __setitem__",
         CARM_SOL_SCATTER},
        {"embedding embedding_bag", CARM_SOL_EMBEDDING},
        {"gather index_select take take_along_dim", CARM_SOL_GATHER},
        {"cat concat stack repeat repeat_interleave tile roll flip pad constant_pad_nd clone copy_ "
         "to type type_as float half bfloat16 int",
         CARM_SOL_MOVE},
        {"matmul conv2d relu softmax vie views t_ zzz _ a "
         "a_type_whose_name_is_longer_than_any_in_the_table",
         CARM_SOL_COMPUTE},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char *words = strdup(table[i].words);
        char *rest = words;
        assert_non_null(words);
        for (char *word; (word = strtok_r(rest, " ", &rest));) {
            fail_if(carm_sol_kind_find(word) != table[i].kind, "%s is of kind %d", word,
                    carm_sol_kind_find(word));
        }
        free(words);
    }
    assert_int_equal(carm_sol_kind_find(""), CARM_SOL_COMPUTE);
}

static void check_layer(const struct carm_sol_graph *g, uint32_t i, const char *id,
                        const char *type, enum carm_sol_kind kind, uint32_t line)
{
    assert_string_equal(carm_sol_text(g, g->layers[i].id), id);
    assert_string_equal(carm_sol_text(g, g->layers[i].type), type);
    assert_int_equal(g->layers[i].kind, kind);
    assert_int_equal(g->layers[i].line, line);
}

static void check_use(const struct carm_sol_graph *g, uint32_t use, const char *name,
                      enum carm_sol_role role, uint64_t elements)
{
    assert_string_equal(carm_sol_text(g, g->tensors[g->uses[use].tensor]), name);
    assert_int_equal(g->uses[use].role, role);
    assert_int_equal(g->uses[use].elements, elements);
}

static void check_good(const struct carm_sol_graph *g)
{
    assert_string_equal(g->name, "good");
    assert_int_equal(g->n, 4);
    assert_int_equal(g->nuses, 1 + 3 + 3 + 2);
    assert_int_equal(g->ntensors, 6);
    check_layer(g, 0, "start", "start", CARM_SOL_START, 3);
    check_layer(g, 1, "linear", "linear", CARM_SOL_COMPUTE, 12);
    check_layer(g, 2, "bias", "add", CARM_SOL_COMPUTE, 23);
    check_layer(g, 3, "slice", "__getitem__", CARM_SOL_SLICE, 33);
    const struct carm_sol_layer *linear = &g->layers[1];
    assert_int_equal(linear->macs, 2 * 3 * 5);
    assert_int_equal(linear->points, 0);
    assert_int_equal(linear->inputs, 2);
    assert_int_equal(linear->outputs, 1);
    assert_true(linear->real_einsum);
    assert_true(linear->supportable);
    assert_string_equal(carm_sol_text(g, linear->equation), "MK,NK->MN");
    assert_string_equal(carm_sol_text(g, linear->elementwise), "mul");
    assert_string_equal(carm_sol_text(g, linear->reduction), "add");
    check_use(g, linear->uses, "start.Output", CARM_SOL_INPUT, 6);
    check_use(g, linear->uses + 1, "linear.Weight", CARM_SOL_WEIGHT, 15);
    check_use(g, linear->uses + 2, "linear.Out", CARM_SOL_OUTPUT, 10);
    const struct carm_sol_use *weight = &g->uses[linear->uses + 1];
    assert_int_equal(weight->rank, 2);
    assert_int_equal(g->extents[weight->dims], 5);
    assert_int_equal(g->extents[weight->dims + 1], 3);
    const struct carm_sol_layer *bias = &g->layers[2];
    assert_int_equal(bias->points, 10);
    assert_int_equal(bias->macs, 0);
    check_use(g, bias->uses, "linear.Out", CARM_SOL_INPUT, 10);
    check_use(g, bias->uses + 1, "bias.Bias", CARM_SOL_BIAS, 5);
    check_use(g, bias->uses + 2, "bias.Out", CARM_SOL_OUTPUT, 10);
    const struct carm_sol_layer *slice = &g->layers[3];
    assert_int_equal(slice->points + slice->macs, 0);
    assert_string_equal(carm_sol_text(g, slice->equation), "");
    assert_string_equal(carm_sol_text(g, slice->elementwise), "");
    check_use(g, slice->uses + 1, "slice.Out", CARM_SOL_OUTPUT, 5);
    assert_int_equal(g->nlinks, 3);
    for (uint32_t i = 0; i < 4; i++) {
        const struct carm_sol_layer *layer = &g->layers[i];
        assert_int_equal(g->order[i], i);
        assert_int_equal(layer->predecessors, i > 0);
        assert_int_equal(g->producer[g->uses[layer->uses + layer->inputs].tensor], i);
        if (i) {
            assert_int_equal(g->links[layer->links], i - 1);
        }
    }
    assert_int_equal(g->producer[weight->tensor], UINT32_MAX);
}

TEST(good_graph_is_read)
{
    struct carm_sol_graph *g = sol_parse(sol_good);
    check_good(g);
    carm_sol_graph_close(NULL);
}

TEST(files_are_read_like_text)
{
    char path[] = "/tmp/carm-graph-XXXXXX";
    const int fd = mkstemp(path);
    struct carm_sol_input input;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, sol_good, sizeof sol_good - 1), sizeof sol_good - 1);
    assert_int_equal(close(fd), 0);
    assert_ok(carm_sol_input_open(path, &input, &err));
    assert_int_equal(unlink(path), 0);
    check_good(input.graph);
    carm_sol_input_close(&input);
    assert_refused(carm_sol_input_open("/nowhere/g.yaml", &input, &err), -CARM_EIO,
                   "/nowhere/g.yaml");
    assert_null(input.graph);
}

TEST(model_name_may_lack)
{
    char *text = text_changed(sol_good, "", "model_name: good\n", "metadata: [1, {a: b}]\n");
    struct carm_sol_graph *g = sol_parse(text);
    assert_string_equal(g->name, "");
    assert_int_equal(g->n, 4);
}

/* A layer without equation of its own inputs and outputs. */
#define LAYER(id, type, in, in_shapes, roles, out, out_shapes, from, to)                    \
    "  " id ": {type: " type ", is_real_einsum: false, tensor_names: {inputs: [" in         \
    "], outputs: [" out "]}, tensor_types: {inputs: [" roles                                \
    "], outputs: [output]}, tensor_shapes: {inputs: [" in_shapes "], outputs: [" out_shapes \
    "]}, connections: {inputs: [" from "], outputs: [" to "]}}\n"

TEST(points_without_equation_are_the_larger_side)
{
    struct carm_sol_graph *g = sol_parse(
        "layers:\n" LAYER("a", "topk", "x, y", "[2, 3], []", "input, input", "a.o", "[2, 2]", "",
                          "") LAYER("b", "arange", "", "", "", "b.o", "[9]", "", "")
            LAYER("c", "view", "x", "[2, 3]", "input", "c.o", "[6]", "", ""));
    assert_int_equal(g->layers[0].points, 7);
    assert_int_equal(g->uses[1].rank, 0);
    assert_int_equal(g->uses[1].elements, 1);
    assert_int_equal(g->layers[1].points, 9);
    assert_int_equal(g->layers[2].points, 0);
    assert_int_equal(g->uses[0].tensor, g->uses[4].tensor); /* x, in a and c */
}

TEST(order_is_the_earliest_in_the_file)
{
    /* d needs b and c; b needs a; e alone: a first, then b, c; d before e */
    struct carm_sol_graph *g = sol_parse(
        "layers:\n" LAYER("d", "add", "b.o, c.o", "[1], [1]", "input, input", "d.o", "[1]", "b, c",
                          "") LAYER("b", "relu", "a.o", "[1]", "input", "b.o", "[1]", "a", "d")
            LAYER("e", "relu", "x", "[1]", "input", "e.o", "[1]", "", "")
                LAYER("c", "relu", "x", "[1]", "input", "c.o", "[1]", "", "d")
                    LAYER("a", "relu", "x", "[1]", "input", "a.o", "[1]", "", "b"));
    static const uint32_t expected[] = {2, 3, 4, 1, 0}; /* e c a b d */
    assert_memory_equal(g->order, expected, sizeof expected);
    /* neighbours the wrong way round */
    g = sol_parse("layers:\n" LAYER("b", "relu", "a.o", "[1]", "input", "b.o", "[1]", "a", "")
                      LAYER("a", "relu", "x", "[1]", "input", "a.o", "[1]", "", "b"));
    assert_int_equal(g->order[0], 1);
    assert_int_equal(g->order[1], 0);
}

TEST(repeated_connections_count_once)
{
    struct carm_sol_graph *g = sol_parse(
        "layers:\n" LAYER("a", "relu", "x", "[1]", "input", "a.o", "[1]", "", "b, b, b")
            LAYER("b", "mul", "a.o, a.o", "[1], [1]", "input, input", "b.o", "[1]", "a, a", ""));
    assert_int_equal(g->nlinks, 1);
    assert_int_equal(g->layers[1].predecessors, 1);
    assert_int_equal(g->layers[1].inputs, 2);
}

TEST(integers_past_doubles_are_exact)
{
    struct carm_sol_graph *g = sol_parse("layers:\n" LAYER(
        "a", "relu", "x", "[9007199254740993]", "input", "a.o", "[9223372036854775807]", "",
        "") LAYER("b", "relu", "y", "[0, 5]", "input", "b.o", "[0]", "", ""));
    assert_true(g->uses[0].elements == UINT64_C(9007199254740993));
    assert_true(g->layers[0].points == INT64_MAX);
    assert_int_equal(g->layers[1].points, 0);
}

/* A random graph whose order is known to be one: each layer after its predecessors. */
TEST(random_orders_are_topological)
{
    enum { N = 60, ROUNDS = 50, EDGES = 90 };
    unsigned seed = 20241121;
    char *text = malloc(1 << 20);
    assert_non_null(text);
    for (int round = 0; round < ROUNDS; round++) {
        static bool edge[N][N]; /* from, to */
        uint32_t place[N];      /* of a layer in the hidden order */
        memset(edge, 0, sizeof edge);
        for (uint32_t i = 0; i < N; i++) {
            const uint32_t k = (uint32_t)rand_r(&seed) % (i + 1);
            place[i] = place[k];
            place[k] = i;
        }
        for (int i = 0; i < EDGES; i++) {
            const int a = rand_r(&seed) % N;
            const int b = rand_r(&seed) % N;
            if (place[a] < place[b]) {
                edge[a][b] = true;
            }
        }
        size_t n = (size_t)sprintf(text, "layers:\n");
        for (int i = 0; i < N; i++) {
            n += (size_t)sprintf(text + n,
                                 "  l%d:\n    {type: relu, is_real_einsum: false,\n"
                                 "     tensor_names: {inputs: [], outputs: []},\n"
                                 "     tensor_types: {inputs: [], outputs: []},\n"
                                 "     tensor_shapes: {inputs: [], outputs: []},\n"
                                 "     connections: {inputs: [",
                                 i);
            for (int k = 0; k < N; k++) {
                n += edge[k][i] ? (size_t)sprintf(text + n, "l%d, ", k) : 0;
            }
            n += (size_t)sprintf(text + n, "], outputs: [");
            for (int k = 0; k < N; k++) {
                n += edge[i][k] ? (size_t)sprintf(text + n, "l%d, ", k) : 0;
            }
            n += (size_t)sprintf(text + n, "]}}\n");
        }
        struct carm_sol_graph *g = sol_parse(text);
        bool done[N] = {false};
        for (uint32_t at = 0; at < N; at++) {
            /* the earliest in the file of those that are ready, found the slow way */
            uint32_t expected = 0;
            for (;; expected++) {
                bool ready = !done[expected];
                for (uint32_t k = 0; k < N; k++) {
                    ready = ready && (!edge[k][expected] || done[k]);
                }
                if (ready) {
                    break;
                }
            }
            assert_int_equal(g->order[at], expected);
            done[expected] = true;
        }
    }
    free(text);
}

/* Names enough to make the tables of names grow several times. */
TEST(many_layers_are_read)
{
    enum { N = 30000 };
    char *text = malloc((size_t)N * 400);
    assert_non_null(text);
    size_t n = (size_t)sprintf(text, "layers:\n");
    for (int i = 0; i < N; i++) {
        char from[16] = "";
        char to[16] = "";
        if (i) {
            (void)sprintf(from, "l%d", i - 1);
        }
        if (i + 1 < N) {
            (void)sprintf(to, "l%d", i + 1);
        }
        n += (size_t)sprintf(text + n,
                             "  l%d: {type: matmul, is_real_einsum: true, einsum_equation: "
                             "'MK,KN->MN', tensor_names: {inputs: [t%d, w%d], outputs: [t%d]}, "
                             "tensor_types: {inputs: [input, weight], outputs: [output]}, "
                             "tensor_shapes: {inputs: [[2, 3], [3, 3]], outputs: [[2, 3]]}, "
                             "connections: {inputs: [%s], outputs: [%s]}}\n",
                             i, i, i, i + 1, from, to);
    }
    struct carm_sol_graph *g = sol_parse(text);
    assert_int_equal(g->n, N);
    assert_int_equal(g->ntensors, 2 * N + 1);
    assert_int_equal(g->nlinks, N - 1);
    for (uint32_t i = 0; i < N; i++) {
        char name[16];
        assert_int_equal(g->layers[i].macs, 18);
        assert_int_equal(g->order[i], i);
        (void)sprintf(name, "t%u", i + 1);
        assert_string_equal(carm_sol_text(g, g->tensors[g->uses[g->layers[i].uses + 2].tensor]),
                            name);
    }
    free(text);
}

/* ---- what real files have ---- */

static struct carm_sol_graph *changed(const char *after, const char *old, const char *with)
{
    char *text = text_changed(sol_good, after, old, with);
    struct carm_sol_graph *g = sol_parse(text);
    return g;
}

/* All remarks, each with a newline. */
static void check_remarks(const struct carm_sol_graph *g, const char *expected)
{
    char all[1024] = "";
    char one[256];
    for (uint32_t i = 0; carm_sol_graph_remark(g, i, one, sizeof one); i++) {
        strcat(strcat(all, one), "\n");
    }
    assert_string_equal(all, expected);
}

TEST(tensors_say_what_depends_on_what)
{
    static const struct {
        const char *after, *old, *with, *remarks;
    } rows[] = {
        {"", "name: good", "name: good", ""},
        {"", "inputs: [start]", "inputs: [start, Model.parameter-tensor, linear.Weight]", ""},
        {"", "outputs: [bias]}", "outputs: [bias, output-tensor]}", ""},
        {"", "outputs: [bias]}", "outputs: []}",
         "1 connection is named by only one of both layers; kept.\n"},
        {"", "inputs: [linear]}", "inputs: []}",
         "1 connection is named by only one of both layers; kept.\n"},
        {"linear:", "    connections: {inputs: [start], outputs: [bias]}\n", "",
         "2 connections are named by only one of both layers; kept.\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_sol_graph *g = changed(rows[i].after, rows[i].old, rows[i].with);
        assert_int_equal(g->nlinks, 3);
        for (uint32_t l = 1; l < g->n; l++) {
            assert_int_equal(g->layers[l].predecessors, 1);
            assert_int_equal(g->links[g->layers[l].links], l - 1);
        }
        check_remarks(g, rows[i].remarks);
    }
    /* the tensor of a layer that no connection names */
    struct carm_sol_graph *g =
        sol_parse("layers:\n" LAYER("b", "relu", "a.o", "[1]", "input", "b.o", "[1]", "", "")
                      LAYER("a", "relu", "x", "[1]", "input", "a.o", "[1]", "", ""));
    assert_int_equal(g->order[0], 1);
    assert_int_equal(g->nlinks, 1);
    check_remarks(g, "");
    /* an order that tensors do not need */
    g = changed("", "outputs: [linear]}", "outputs: [linear, slice]}");
    assert_int_equal(g->nlinks, 4);
    check_remarks(g, "1 connection is named by only one of both layers; kept.\n");
}

TEST(types_may_be_missing)
{
    struct carm_sol_graph *g =
        changed("linear:", "    tensor_types: {inputs: [input, weight], outputs: [output]}\n", "");
    assert_int_equal(g->uses[g->layers[1].uses + 1].role, CARM_SOL_INPUT);
    assert_int_equal(g->uses[g->layers[1].uses + 2].role, CARM_SOL_OUTPUT);
    g = changed("linear:", "[input, weight], outputs: [output]", "[weight], outputs: []");
    assert_int_equal(g->uses[g->layers[1].uses].role, CARM_SOL_WEIGHT);
    assert_int_equal(g->uses[g->layers[1].uses + 1].role, CARM_SOL_INPUT);
}

TEST(scalar_inputs_have_no_shape)
{
    struct carm_sol_graph *g = changed("start:", "outputs: [[2, 3]]", "outputs: []");
    assert_int_equal(g->layers[0].outputs, 0);
    assert_int_equal(g->producer[g->uses[g->layers[1].uses].tensor], UINT32_MAX);
    assert_int_equal(g->layers[1].predecessors, 1);
}

TEST(sizes_may_differ_by_layer)
{
    struct carm_sol_graph *g = changed("slice:", "inputs: [[2, 5]]", "inputs: [[1, 5]]");
    assert_int_equal(g->resized, 1);
    check_remarks(g,
                  "1 input has not as many elements as the tensor of that name; each layer counts "
                  "the shape that it has.\n");
}

TEST(equations_that_do_not_fit_give_way_to_shapes)
{
    /* a bias that is added to what it does not fit: all inputs are points */
    struct carm_sol_graph *g =
        changed("bias:", "einsum_equation: AB->AB", "einsum_equation: ABC->AB");
    assert_int_equal(g->layers[2].counted, CARM_SOL_BY_SHAPES);
    assert_int_equal(g->layers[2].points, 15);
    check_remarks(g, "add (1 layer): the equation does not fit the shapes; other operations are "
                     "counted from the shapes.\n");
    /* a contraction without equation: matrices tell, others do not */
    g = changed("linear:", "    einsum_equation: MK,NK->MN\n", "");
    assert_int_equal(g->layers[1].counted, CARM_SOL_BY_GROUPS);
    assert_int_equal(g->layers[1].macs, 30);
    check_remarks(g, "linear (1 layer): the equation does not fit the shapes; multiply-accumulates "
                     "are counted from the shapes.\n");
    g = changed("linear:", "type: linear\n    einsum_equation: MK,NK->MN\n", "type: pow\n");
    assert_int_equal(g->layers[1].counted, CARM_SOL_NO_EQUATION);
    assert_int_equal(g->layers[1].macs, 0);
    assert_int_equal(g->layers[1].points, 21);
    check_remarks(g, "pow (1 layer): is_real_einsum is true, but there is no equation; counted as "
                     "other operations, from the shapes.\n");
    /* each type once, in the order of the file */
#define UNFIT ", is_einsum_supportable: true, einsum_equation: ABC->A"
    g = sol_parse("layers:\n" LAYER("a", "pow" UNFIT, "x", "[2]", "input", "a.o", "[2]", "", "")
                      LAYER("b", "sin" UNFIT, "a.o", "[2]", "input", "b.o", "[2]", "", "")
                          LAYER("c", "pow" UNFIT, "b.o", "[2]", "input", "c.o", "[2]", "", ""));
    check_remarks(g,
                  "pow (2 layers): the equation does not fit the shapes; other operations are "
                  "counted from the shapes.\nsin (1 layer): the equation does not fit the shapes; "
                  "other operations are counted from the shapes.\n");
    /* of what is no operation nobody wants it */
    g = changed("linear:", "type: linear\n    einsum_equation: MK,NK->MN\n", "type: cat\n");
    assert_int_equal(g->layers[1].macs + g->layers[1].points, 0);
    check_remarks(g, "");
}

#define OP(id, in, shape, out) LAYER(id, "relu", in, shape, "input", out, shape, "", "")
#define SPLIT(outputs)                                                                         \
    "  s: {type: split, is_real_einsum: false, tensor_names: {inputs: [x], outputs: [" outputs \
    "]}, tensor_shapes: {inputs: [[8]], outputs: [[4], [2], [2]]}}\n"

static uint32_t read_by(const struct carm_sol_graph *g, uint32_t layer)
{
    return g->uses[g->layers[layer].uses].tensor;
}

/* Solar has named the first output for all readers of a split: each gets one of its size. */
TEST(readers_of_a_split_get_a_piece_each)
{
    struct carm_sol_graph *g = sol_parse(
        "layers:\n" SPLIT("s.Output, s.Output_1, s.Output_2") OP("a", "s.Output", "[2]", "a.o")
            OP("b", "s.Output", "[4]", "b.o") OP("c", "s.Output", "[2]", "c.o"));
    const uint32_t pieces = g->uses[g->layers[0].uses + 1].tensor;
    assert_int_equal(read_by(g, 1), pieces + 1);
    assert_int_equal(read_by(g, 2), pieces);
    assert_int_equal(read_by(g, 3), pieces + 2);
    assert_int_equal(g->renamed, 2);
    check_remarks(g,
                  "2 inputs named an output that other readers have; taken for the next output of "
                  "that layer.\n");
    /* not where another reader names another piece, nor where the names are not Solar's */
    g = sol_parse("layers:\n" SPLIT("s.Output, s.Output_1, s.Output_2")
                      OP("a", "s.Output_2", "[2]", "a.o") OP("b", "s.Output", "[4]", "b.o")
                          OP("c", "s.Output", "[4]", "c.o"));
    assert_int_equal(read_by(g, 2), read_by(g, 3));
    check_remarks(g, "");
    g = sol_parse("layers:\n" SPLIT("s.Output, s.Output_1, s.Output_2")
                      OP("a", "s.Output_1", "[2]", "a.o") OP("b", "s.Output", "[2]", "b.o"));
    assert_int_equal(g->renamed, 0);
    g = sol_parse("layers:\n" SPLIT("p, q, r") OP("a", "p", "[4]", "a.o")
                      OP("b", "p", "[4]", "b.o"));
    assert_int_equal(read_by(g, 1), read_by(g, 2));
}
