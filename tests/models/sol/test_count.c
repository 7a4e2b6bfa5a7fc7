/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work and traffic of graphs against sums made by hand, rule by rule. */
#include "models/file/sol/open.h"
#include "models/sol/count.h"
#include "tests/models/sol/build.h"
#include "tests/unit.h"

enum { ROOM = 32 };

static struct carm_sol_graph *open_graph(void)
{
    return sol_build_open(ROOM, 4 * ROOM, 4 * ROOM);
}

/* macs, other, input, output, unfused, weight, external, repeated, intermediate */
#define assert_counts(counts, ...)                                 \
    do {                                                           \
        const struct carm_sol_counts wanted_ = {__VA_ARGS__};      \
        const struct carm_sol_counts *is_ = &(counts);             \
        assert_int_equal(is_->macs, wanted_.macs);                 \
        assert_int_equal(is_->other, wanted_.other);               \
        assert_int_equal(is_->input, wanted_.input);               \
        assert_int_equal(is_->output, wanted_.output);             \
        assert_int_equal(is_->unfused, wanted_.unfused);           \
        assert_int_equal(is_->weight, wanted_.weight);             \
        assert_int_equal(is_->external, wanted_.external);         \
        assert_int_equal(is_->repeated, wanted_.repeated);         \
        assert_int_equal(is_->intermediate, wanted_.intermediate); \
    } while (0)

/* the guide's network: x [64, 1024] to 4096, relu, to 1024 */
TEST(linear_relu_linear)
{
    struct carm_sol_graph *g = open_graph();
    enum { X, W1, A, R, W2, Y };
    const uint64_t x = 64 * 1024;
    const uint64_t h = 64 * 4096;
    const uint64_t w = 1024 * 4096;
    const uint64_t macs = x * 4096;
    sol_kind(g, CARM_SOL_START, OUT(X, x));
    sol_matmul(g, macs, IN(X, x), WEIGHT(W1, w), OUT(A, h));
    sol_op(g, h, IN(A, h), OUT(R, h));
    sol_matmul(g, macs, IN(R, h), WEIGHT(W2, w), OUT(Y, x));
    struct carm_sol_analysis *a = sol_build_analyse(g);
    assert_counts(a->layers[0], 0);
    assert_counts(a->layers[1], macs, 0, x + w, h, x + w + h, w, x + w, 0, h);
    assert_counts(a->layers[2], 0, h, h, h, 2 * h, 0, 0, 0, 2 * h);
    assert_counts(a->layers[3], macs, 0, h + w, x, x + w + h, w, x + w, 0, h);
    assert_counts(a->total, 2 * macs, h, x + 2 * h + 2 * w, 2 * h + x, 2 * x + 2 * w + 4 * h, 2 * w,
                  2 * x + 2 * w, 0, 4 * h);
    assert_int_equal(a->model_io, 2 * x);
    assert_int_equal(a->operations, 3);
    assert_int_equal(a->intermediates, 2);
    assert_int_equal(a->prefetched, a->total.external);
}

/* one layer of each kind between a start and a reader */
TEST(each_kind)
{
    static const struct {
        enum carm_sol_kind kind;
        uint64_t in[3], out; /* inputs: 0 = none */
        uint64_t reads, writes;
    } rows[] = {
        {CARM_SOL_COMPUTE, {100, 7, 0}, 40, 107, 40},
        {CARM_SOL_MOVE, {100, 7, 0}, 107, 107, 107},
        {CARM_SOL_VIEW, {100, 0, 0}, 100, 0, 0},
        {CARM_SOL_SLICE, {100, 0, 0}, 30, 30, 0},
        {CARM_SOL_SLICE, {100, 5, 0}, 30, 30, 0},
        {CARM_SOL_GATHER, {100, 0, 0}, 30, 30, 30},
        {CARM_SOL_GATHER, {100, 30, 0}, 30, 60, 30},
        {CARM_SOL_GATHER, {20, 30, 0}, 30, 50, 30},     /* no more than there is */
        {CARM_SOL_SCATTER, {1000, 3, 60}, 1000, 3, 60}, /* indices are read */
        {CARM_SOL_SCATTER, {5, 60, 1000}, 1000, 5, 60},
        {CARM_SOL_SCATTER, {60, 1000, 0}, 1000, 0, 60},
        {CARM_SOL_SCATTER, {60, 0, 0}, 1000, 0, 60},
        {CARM_SOL_EMBEDDING, {8, 5000, 0}, 80, 80, 0},
        {CARM_SOL_EMBEDDING, {900, 50, 0}, 9000, 950, 0},
        {CARM_SOL_EMBEDDING, {900, 50, 0}, 940, 940, 0},
        {CARM_SOL_EMBEDDING, {8, 9, 5000}, 5010, 5010, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_sol_graph *g = open_graph();
        struct sol_slot slots[4];
        uint32_t n = 0;
        for (; n < 3 && rows[i].in[n] > 0; n++) {
            sol_kind(g, CARM_SOL_START, OUT(n, rows[i].in[n]));
            slots[n] = IN(n, rows[i].in[n]);
        }
        slots[n] = OUT(n, rows[i].out);
        const uint32_t at = sol_build_layer(g, rows[i].kind, false, 0, slots, n + 1);
        sol_op(g, 1, IN(n, rows[i].out), OUT(n + 1, 1));
        struct carm_sol_analysis *a = sol_build_analyse(g);
        const uint64_t reads = rows[i].reads;
        const uint64_t writes = rows[i].writes;
        assert_counts(a->layers[at], 0, 0, reads, writes, reads + writes, 0, reads, 0, writes);
        /* a view's reader reads the start's tensor, all others an intermediate */
        const bool view = rows[i].kind == CARM_SOL_VIEW;
        assert_int_equal(a->layers[at + 1].external, view ? rows[i].out + 1 : 1);
        assert_int_equal(a->layers[at + 1].intermediate, view ? 0 : rows[i].out);
    }
}

/* the table is the weight, wherever it stands */
TEST(embeddings_read_their_table)
{
    for (int first = 0; first < 2; first++) {
        struct carm_sol_graph *g = open_graph();
        enum { TABLE, IDS, E, Y };
        sol_kind(g, CARM_SOL_START, OUT(IDS, 8));
        const struct sol_slot table = WEIGHT(TABLE, 5000);
        const struct sol_slot ids = IN(IDS, 8);
        sol_kind(g, CARM_SOL_EMBEDDING, first ? table : ids, first ? ids : table, OUT(E, 80));
        sol_op(g, 80, IN(E, 80), OUT(Y, 80));
        struct carm_sol_analysis *a = sol_build_analyse(g);
        assert_counts(a->layers[1], 0, 0, 80, 0, 80, 80, 80, 0, 0);
        assert_counts(a->layers[2], 0, 80, 80, 80, 160, 0, 80, 0, 80);
    }
}

TEST(views_are_looked_through)
{
    struct carm_sol_graph *g = open_graph();
    enum { X, XV, W, WT, H, HV, HVV, Y, YV };
    sol_kind(g, CARM_SOL_START, OUT(X, 10));
    sol_kind(g, CARM_SOL_VIEW, IN(X, 10), OUT(XV, 10));
    sol_kind(g, CARM_SOL_VIEW, WEIGHT(W, 50), OUT(WT, 50));
    sol_matmul(g, 500, IN(XV, 10), IN(WT, 50), OUT(H, 20)); /* WT is a weight by its base */
    sol_kind(g, CARM_SOL_VIEW, IN(H, 20), OUT(HV, 20));
    sol_kind(g, CARM_SOL_VIEW, IN(HV, 20), OUT(HVV, 20));
    sol_op(g, 20, IN(HVV, 20), IN(X, 10), OUT(Y, 20));  /* x again, not through the view */
    sol_kind(g, CARM_SOL_VIEW, IN(Y, 20), OUT(YV, 20)); /* leads nowhere: y is an output */
    struct carm_sol_analysis *a = sol_build_analyse(g);
    assert_counts(a->layers[3], 500, 0, 60, 20, 80, 50, 60, 0, 20);
    assert_counts(a->layers[6], 0, 20, 30, 20, 50, 0, 20, 10, 20);
    assert_counts(a->layers[7], 0);
    assert_counts(a->total, 500, 20, 90, 40, 130, 50, 80, 10, 40);
    assert_int_equal(a->model_io, 10 + 10 + 20);
    assert_int_equal(a->operations, 7);
    assert_int_equal(a->intermediates, 1);
}

/* the footprint of a shared tensor is the largest read, and no more than the tensor */
TEST(shared_tensors_once)
{
    struct carm_sol_graph *g = open_graph();
    enum { X, S1, S2, XE, A, B, C, D };
    sol_kind(g, CARM_SOL_START, OUT(X, 100));
    sol_kind(g, CARM_SOL_SLICE, IN(X, 100), OUT(S1, 30));
    sol_kind(g, CARM_SOL_SLICE, IN(X, 100), OUT(S2, 70));
    sol_kind(g, CARM_SOL_VIEW, IN(X, 100), OUT(XE, 400)); /* expand */
    sol_op(g, 30, IN(S1, 30), OUT(A, 30));
    sol_op(g, 70, IN(S2, 70), OUT(B, 70));
    sol_op(g, 400, IN(XE, 400), OUT(C, 400));
    sol_op(g, 100, IN(X, 100), OUT(D, 100));
    struct carm_sol_analysis *a = sol_build_analyse(g);
    assert_counts(a->layers[1], 0, 0, 30, 0, 30, 0, 30, 0, 0);
    assert_counts(a->layers[2], 0, 0, 70, 0, 70, 0, 40, 30, 0);
    assert_counts(a->layers[4], 0, 30, 30, 30, 60, 0, 30, 0, 30);
    assert_counts(a->layers[6], 0, 400, 400, 400, 800, 0, 430, 370, 0);
    assert_counts(a->layers[7], 0, 100, 100, 100, 200, 0, 100, 100, 0);
    assert_int_equal(a->total.external, 100 + 30 + 70 + 400 + 100);
    assert_int_equal(a->total.repeated, 30 + 370 + 100);
    assert_int_equal(a->model_io, a->total.external + a->total.repeated);
}

TEST(weights_made_by_layers)
{
    struct carm_sol_graph *g = open_graph();
    enum { X, Q, W, B, H, Y };
    sol_kind(g, CARM_SOL_START, OUT(X, 10));
    sol_op(g, 50, WEIGHT(Q, 25), OUT(W, 50)); /* dequantised */
    sol_matmul(g, 500, IN(X, 10), WEIGHT(W, 50), BIAS(B, 5), OUT(H, 20));
    sol_matmul(g, 1000, IN(H, 20), WEIGHT(W, 50), OUT(Y, 10));
    struct carm_sol_analysis *a = sol_build_analyse(g);
    assert_counts(a->layers[1], 0, 50, 25, 50, 75, 75, 75, 0, 0);
    assert_counts(a->layers[2], 500, 0, 65, 20, 85, 55, 65, 0, 20);
    assert_counts(a->layers[3], 1000, 0, 70, 10, 80, 0, 10, 50, 20);
    assert_int_equal(a->model_io, 20);
    assert_int_equal(a->intermediates, 1);
}

/* an output that nobody takes, beside one that is taken, need not leave the chip */
TEST(an_output_that_is_used_is_intermediate)
{
    struct carm_sol_graph *g = open_graph();
    enum { X, A, B, C };
    sol_op(g, 8, IN(X, 8), OUT(C, 3), OUT(A, 8)); /* C: nobody takes it */
    sol_op(g, 8, IN(A, 8), IN(A, 8), OUT(B, 8));  /* twice: both are moved unfused */
    struct carm_sol_analysis *a = sol_build_analyse(g);
    assert_counts(a->layers[0], 0, 8, 8, 11, 19, 0, 8, 0, 11);
    assert_counts(a->layers[1], 0, 8, 16, 8, 24, 0, 8, 0, 16);
    g = open_graph();
    sol_op(g, 8, IN(X, 8), OUT(A, 8), OUT(C, 3)); /* nobody takes either */
    a = sol_build_analyse(g);
    assert_counts(a->layers[0], 0, 8, 8, 11, 19, 0, 19, 0, 0);
}

TEST(dead_ends)
{
    for (int starts = 0; starts < 2; starts++) {
        struct carm_sol_graph *g = open_graph();
        enum { X, Z, ZV, A, B, W, C, T, D, E, N };
        if (starts) {
            sol_kind(g, CARM_SOL_START, OUT(X, 10));
        }
        sol_op(g, 10, IN(X, 10), OUT(A, 10)); /* an output: alive */
        sol_kind(g, CARM_SOL_VIEW, IN(Z, 6), OUT(ZV, 6));
        const uint32_t dead = sol_matmul(g, 60, IN(ZV, 6), WEIGHT(W, 60), OUT(B, 10));
        const uint32_t weights = sol_op(g, 60, WEIGHT(W, 60), OUT(C, 60));
        sol_op(g, 5, IN(T, 5), OUT(N, 3), OUT(D, 5)); /* used by the next */
        sol_op(g, 10, IN(X, 10), IN(D, 5), OUT(E, 10));
        struct carm_sol_analysis *a = sol_build_analyse(g);
        if (starts) {
            assert_counts(a->layers[dead], 0);
            assert_counts(a->layers[weights], 0, 60, 60, 60, 120, 60, 120, 0, 0);
        } else {
            assert_counts(a->layers[dead], 60, 0, 66, 10, 76, 60, 76, 0, 0);
            assert_counts(a->layers[weights], 0, 60, 60, 60, 120, 0, 60, 60, 0);
        }
        assert_int_equal(a->layers[weights + 1].unfused, 13);
        assert_int_equal(a->layers[weights + 2].unfused, 25);
    }
}

/* The first layer is none but the others are: a dead end, and a view of a weight. */
TEST(first_layers)
{
    struct carm_sol_graph *g = open_graph();
    enum { X, Z, B, Y };
    sol_op(g, 10, IN(Z, 6), OUT(B, 10));
    sol_kind(g, CARM_SOL_START, OUT(X, 10));
    sol_op(g, 10, IN(X, 40), OUT(Y, 1)); /* of a larger shape than x has */
    assert_counts(sol_build_analyse(g)->layers[0], 0);
    assert_counts(sol_build_analyse(g)->layers[2], 0, 10, 40, 1, 41, 0, 11, 30, 0);
    g = open_graph();
    sol_kind(g, CARM_SOL_VIEW, WEIGHT(X, 50), OUT(Z, 50));
    sol_matmul(g, 500, IN(B, 10), IN(Z, 50), OUT(Y, 20));
    assert_counts(sol_build_analyse(g)->layers[1], 500, 0, 60, 20, 80, 50, 80, 0, 0);
}

/* a weight's piece comes from memory, not from nowhere */
TEST(views_of_weights_are_no_dead_ends)
{
    struct carm_sol_graph *g = open_graph();
    enum { X, W, W1, W2, Y, Z };
    sol_kind(g, CARM_SOL_START, OUT(X, 10));
    sol_kind(g, CARM_SOL_VIEW, WEIGHT(W, 50), OUT(W1, 20), OUT(W2, 30));
    sol_op(g, 20, IN(W1, 20), OUT(Y, 20));
    sol_op(g, 30, IN(X, 10), IN(W2, 30), OUT(Z, 30));
    struct carm_sol_analysis *a = sol_build_analyse(g);
    assert_counts(a->layers[2], 0, 20, 20, 20, 40, 20, 40, 0, 0);
    assert_counts(a->layers[3], 0, 30, 40, 30, 70, 30, 70, 0, 0);
}

TEST(nothing_and_scalars)
{
    struct carm_sol_graph *g = open_graph();
    enum { X, E, Y };
    sol_op(g, 0, IN(X, 0), OUT(E, 0));
    sol_op(g, 1, IN(E, 0), OUT(Y, 1));
    sol_build_layer(g, CARM_SOL_SLICE, false, 0, NULL, 0);
    sol_build_layer(g, CARM_SOL_SCATTER, false, 0, NULL, 0);
    sol_build_layer(g, CARM_SOL_EMBEDDING, false, 0, NULL, 0);
    sol_build_layer(g, CARM_SOL_GATHER, false, 0, NULL, 0);
    sol_build_layer(g, CARM_SOL_VIEW, false, 0, NULL, 0);
    sol_kind(g, CARM_SOL_SCATTER, OUT(5, 4));
    sol_kind(g, CARM_SOL_SLICE, OUT(6, 4));
    struct carm_sol_analysis *a = sol_build_analyse(g);
    assert_counts(a->total, 0, 1, 0, 1, 1, 0, 1, 0, 0);
}

TEST(integers_are_exact_to_the_end)
{
    const uint64_t beyond = ((uint64_t)1 << 53) + 1;
    struct carm_sol_graph *g = open_graph();
    sol_matmul(g, beyond, IN(0, beyond), OUT(1, 2));
    sol_matmul(g, INT64_MAX - beyond, IN(1, 2), OUT(2, INT64_MAX - beyond - 4));
    struct carm_sol_analysis *a = sol_build_analyse(g);
    assert_int_equal(a->layers[0].macs, beyond);
    assert_true(a->total.macs == INT64_MAX);
    assert_true(a->total.unfused == INT64_MAX);
    assert_true(a->total.external == INT64_MAX - 4);
}

static void refuse(struct carm_sol_graph *g, const char *words)
{
    struct carm_sol_analysis *a = (struct carm_sol_analysis *)g;
    err = (struct carm_err){""};
    assert_int_equal(carm_sol_analyse(g, &a, &err), -CARM_EFORMAT);
    assert_null(a);
    fail_if(!strstr(err.text, words), "\"%s\" lacks \"%s\"", err.text, words);
}

TEST(sums_past_the_end_are_refused)
{
    struct carm_sol_graph *g = open_graph();
    sol_op(g, 1, IN(0, INT64_MAX), IN(1, 1), OUT(2, 1));
    refuse(g, "layer layer: the elements of its tensors sum to more than 2^63-1");
    g = open_graph();
    sol_op(g, 1, IN(0, 1), OUT(1, INT64_MAX), OUT(2, 1));
    refuse(g, "layer layer: the elements of its tensors sum to more than 2^63-1");
    g = open_graph();
    sol_op(g, 1, IN(0, INT64_MAX), OUT(2, 1));
    refuse(g, "layer layer moves more than 2^63-1 elements");
    g = open_graph();
    sol_op(g, 1, IN(0, INT64_MAX / 2), OUT(1, 1));
    sol_op(g, 1, IN(2, INT64_MAX / 2), OUT(3, 1));
    refuse(g, "sum to more than 2^63-1");
    g = open_graph();
    sol_matmul(g, INT64_MAX, IN(0, 1), OUT(1, 1));
    sol_matmul(g, 1, IN(2, 1), OUT(3, 1));
    refuse(g, "with layer layer the graph's macs");
    g = open_graph();
    sol_op(g, INT64_MAX, IN(0, 1), OUT(1, 1));
    sol_op(g, 1, IN(2, 1), OUT(3, 1));
    refuse(g, "other operations");
}

/* The carried examples; their first lines say how the totals come about. */
TEST(example_graphs)
{
    static const struct {
        const char *name;
        uint64_t macs, other, external, repeated, intermediate;
    } rows[] = {
        {"linear-relu-linear", 536870912, 262144, 8519680, 0, 1048576},
        {"transformer-block", 4026531840, 25559040, 7874304, 393216, 59400192},
        {"convolution-stack", 1059135488, 8236864, 752872, 0, 20489856},
        {"long-context-attention", 142807662592, 537919488, 311693312, 0, 2422472704},
    };
    const char *top = getenv("CARM_TOP");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[4096];
        struct carm_sol_input input;
        (void)snprintf(path, sizeof path, "%s/data/sol-%s.yaml", top ? top : ".", rows[i].name);
        assert_ok(carm_sol_input_open(path, &input, &err));
        struct carm_sol_analysis *a = sol_build_analyse(input.graph);
        assert_int_equal(a->total.macs, rows[i].macs);
        assert_int_equal(a->total.other, rows[i].other);
        assert_int_equal(a->total.external, rows[i].external);
        assert_int_equal(a->total.repeated, rows[i].repeated);
        assert_int_equal(a->total.intermediate, rows[i].intermediate);
        assert_int_equal(a->total.unfused,
                         rows[i].external + rows[i].repeated + rows[i].intermediate);
        carm_sol_input_close(&input);
    }
}

/* The smallest forms of what Solar writes: a name in connections that is no layer, aliases, a bias
 * beside a convolution's operands, a pool whose equation does not fit, splits of what comes from
 * outside. UINT64_MAX: not given. */
TEST(graphs_of_solar)
{
    static const struct {
        const char *name;
        uint64_t macs, other, unfused, fused;
    } rows[] = {
        {"linear-bias", 64, 16, 92, 60},
        {"aliases", 64, 16, 92, 60},
        {"conv-bias", 84672, 3136, 11168, 4896},
        {"pool", 0, 1920, 2688, 1920},
        {"chunk", 131072, 4096, 18432, 10240},
        {"split", UINT64_MAX, UINT64_MAX, UINT64_MAX, 96},
        {"qkv-chunk", UINT64_MAX, UINT64_MAX, UINT64_MAX, 3276800},
    };
    const char *top = getenv("CARM_TOP");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[4096];
        struct carm_sol_input input;
        (void)snprintf(path, sizeof path, "%s/tests/data/sol-%s.yaml", top ? top : ".",
                       rows[i].name);
        assert_ok(carm_sol_input_open(path, &input, &err));
        struct carm_sol_analysis *a = sol_build_analyse(input.graph);
        assert_int_equal(a->total.external, rows[i].fused);
        if (rows[i].macs != UINT64_MAX) {
            assert_int_equal(a->total.macs, rows[i].macs);
            assert_int_equal(a->total.other, rows[i].other);
            assert_int_equal(a->total.unfused, rows[i].unfused);
        }
        carm_sol_input_close(&input);
    }
}
