/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fused counts against sets of elements: random graphs, written as YAML with aliases, whose tensors are
 * arrays of the elements that they show. Slow, and nothing here knows how carm finds the parts. */
#include "models/file/sol/graph.h"
#include "models/sol/count.h"
#include "tests/models/random.h"
#include "tests/unit.h"

/* Layers of graphs that are small enough to follow by hand. */
#define LAYER(name, type, more, in, in_shapes, out, out_shapes)                               \
    "  " name ": {type: " type ", is_real_einsum: false" more ", tensor_names: {inputs: [" in \
    "], outputs: [" out "]}, tensor_shapes: {inputs: [" in_shapes "], outputs: [" out_shapes  \
    "]}}\n"
#define X(shape)                    "layers:\n" LAYER("x", "start", "", "", "", "x", shape)
#define VIEW(name, type, in, shape) LAYER(name, type, "", "x", in, name, shape)
#define ORDER(type, equation, in, out) \
    LAYER("v", type, ", einsum_equation: " equation, "x", in, "v", out)
#define PIECES(type, of, shape, shapes) LAYER("c", type, "", of, shape, "p, q", shapes)
#define PART(which, in, out) \
    LAYER("g", "__getitem__", ", raw_attributes: '[[Tensor(a), " which "], {}]'", "x", in, "g", out)
#define READ(tensors, shapes) LAYER("s", "topk", "", tensors, shapes, "s", "[1]") /* writes one */
/* Half of the rows of a view of a square, and half of the square */
#define SQUARE(type, equation, half)                 \
    X("[4, 4]")                                      \
    ORDER(type, equation, "[4, 4]", "[4, 4]")        \
    PIECES("chunk", "v", "[4, 4]", "[2, 4], [2, 4]") \
    PART(half, "[4, 4]", "[2, 4]") READ("p, g", "[2, 4], [2, 4]")
#define ROWS "slice(0, 2, None)"

/* The elements of x that are read, as far as they are certain. */
TEST(small_graphs)
{
    static const struct {
        uint64_t elements;
        const char *text;
    } rows[] = {
        /* columns and rows: whoever takes one for the other counts too much or too little */
        {12, SQUARE("t", "AB->AB", ROWS)},
        {12, SQUARE("transpose", "AB->BA", ROWS)},
        {12, SQUARE("transpose", "AB->AB", ROWS)},
        {12, SQUARE("permute", "A09Z->ZA09", ROWS)},
        {8, SQUARE("permute", "AB->AB", ROWS)},
        {8, SQUARE("movedim", "''", ROWS)}, /* not told: 12 or 8 */
        {8, SQUARE("movedim", "''", "slice(2, 4, None)")},
        {8, SQUARE("t", "AB->AB", "[slice(None, None, None), slice(0, 2, None)]")},
        /* equations that are none of the dimensions say nothing */
        {8, SQUARE("permute", "AB->B", ROWS)},
        {8, SQUARE("permute", "AB->BAC", ROWS)},
        {8, SQUARE("permute", "AB->BC", ROWS)},
        {8, SQUARE("permute", "A->B", ROWS)},
        /* the only order that the shapes allow */
        {6, X("[2, 4]") ORDER("permute", "''", "[2, 4]", "[4, 2]")
                PIECES("chunk", "v", "[4, 2]", "[2, 2], [2, 2]") PART("0", "[2, 4]", "[4]")
                    READ("p, g", "[2, 2], [4]")},
        {6, X("[1, 2, 4]") ORDER("permute", "ABC->CAB", "[1, 2, 4]", "[4, 2, 1]")
                PIECES("chunk", "v", "[4, 2, 1]", "[2, 2, 1], [2, 2, 1]")
                    PART("[0, 0]", "[1, 2, 4]", "[4]") READ("p, g", "[2, 2, 1], [4]")},
        {6, X("[1, 2, 1, 4]") ORDER("permute", "''", "[1, 2, 1, 4]", "[4, 1, 2, 1]")
                PIECES("chunk", "v", "[4, 1, 2, 1]", "[2, 1, 2, 1], [2, 1, 2, 1]")
                    PART("[0, 0]", "[1, 2, 1, 4]", "[1, 4]") READ("p, g", "[2, 1, 2, 1], [1, 4]")},
        {2, X("[2, 2]") VIEW("v", "movedim", "[2, 2]", "[2, 2]")
                PIECES("chunk", "v", "[2, 2]", "[1, 2], [1, 2]") PART("1", "[2, 2]", "[2]")
                    READ("p, g", "[1, 2], [2]")},
        /* an equation that the shapes contradict */
        {8, X("[2, 4]") ORDER("permute", "AB->BA", "[2, 4]", "[2, 4]")
                PIECES("chunk", "v", "[2, 4]", "[1, 4], [1, 4]") PART("1", "[2, 4]", "[4]")
                    READ("p, g", "[1, 4], [4]")},
        /* two of three equal dimensions are exchanged: which is not told */
        {4, X("[2, 2, 2]") ORDER("transpose", "ABC->ABC", "[2, 2, 2]", "[2, 2, 2]")
                PIECES("chunk", "v", "[2, 2, 2]", "[1, 2, 2], [1, 2, 2]")
                    PART("0", "[2, 2, 2]", "[2, 2]") READ("p, g", "[1, 2, 2], [2, 2]")},
        {8, X("[8]") ORDER("t", "A->A", "[8]", "[8]") PIECES("chunk", "v", "[8]", "[4], [4]")
                PART("slice(4, 8, None)", "[8]", "[4]") READ("p, g", "[4], [4]")},
        /* another rank: in some order */
        {8, X("[4, 4]") ORDER("permute", "''", "[4, 4]", "[16]")
                PIECES("chunk", "v", "[16]", "[8], [8]")
                    PART("slice(2, 4, None)", "[4, 4]", "[2, 4]") READ("p, g", "[8], [2, 4]")},
        /* parts in some order: the set is known, not where its elements are */
        {4, X("[4, 2]") PIECES("chunk", "x", "[4, 2]", "[2, 2], [2, 2]") LAYER(
                "v", "movedim", "", "p", "[2, 2]", "v", "[2, 2]") READ("p, v", "[2, 2], [2, 2]")},
        {8, X("[4, 2]") PIECES("chunk", "x", "[4, 2]", "[2, 2], [2, 2]") LAYER(
                "v", "movedim", "", "p", "[2, 2]", "v", "[2, 2]") READ("q, v", "[2, 2], [2, 2]")},
        {8, X("[4, 4]") VIEW("v", "movedim", "[4, 4]", "[4, 4]")
                PIECES("chunk", "v", "[4, 4]", "[2, 4], [2, 4]")
                    LAYER("d", "chunk", "", "v", "[4, 4]", "y, z", "[2, 4], [2, 4]")
                        READ("p, z", "[2, 4], [2, 4]")},
        /* pieces of no dimension: no two have an element in common */
        {8, X("[2, 4]") PIECES("split", "x", "[2, 4]", "[3], [5]") READ("p, q", "[3], [5]")},
        {2, X("[2, 1]") VIEW("v", "expand", "[2, 1]", "[2, 4]")
                PIECES("split", "v", "[2, 4]", "[3], [5]") READ("p, q", "[3], [5]")},
        /* pieces of either dimension */
        {2, X("[2, 2]") PIECES("unbind", "x", "[2, 2]", "[2], [2]") PART("1", "[2, 2]", "[2]")
                READ("p, g", "[2], [2]")},
        {4, X("[2, 3]") PIECES("unbind", "x", "[2, 3]", "[3], [3]")
                PART("[slice(None, None, None), 2]", "[2, 3]", "[2]") READ("p, g", "[3], [2]")},
        /* more than the tensor has are no pieces of it */
        {6, X("[4, 2]") PIECES("split", "x", "[4, 2]", "[3, 2], [2, 2]")
                READ("p, q", "[3, 2], [2, 2]")},
        /* one piece is the first */
        {4, X("[4, 2]") VIEW("v", "Split", "[4, 2]", "[1, 2]") PART("1", "[4, 2]", "[2]")
                READ("v, g", "[1, 2], [2]")},
        {4, X("[4, 2]") VIEW("v", "tensor_split", "[4, 2]", "[1, 2]") PART("1", "[4, 2]", "[2]")
                READ("v, g", "[1, 2], [2]")},
        {2, X("[4, 2]") VIEW("v", "view", "[4, 2]", "[1, 2]") PART("1", "[4, 2]", "[2]")
                READ("v, g", "[1, 2], [2]")},
        /* an extent other than 1 is not repeated */
        {4, X("[2, 2]") VIEW("v", "expand", "[2, 2]", "[3, 2]") PART("0", "[2, 2]", "[2]")
                READ("v, g", "[3, 2], [2]")},
        /* columns of an odd number */
        {6, X("[3, 3]") PART("[slice(None, None, None), 0]", "[3, 3]", "[3]")
                LAYER("h", "select", ", raw_attributes: '[[Tensor(a), 1, 1], {}]'", "x", "[3, 3]",
                      "h", "[3]") READ("g, h", "[3], [3]")},
        /* a slice of another number of elements than x has */
        {4, X("[4, 4]") PART("1", "[2, 4]", "[4]")
                LAYER("h", "select", ", raw_attributes: '[[Tensor(a), 0, 3], {}]'", "x", "[4, 4]",
                      "h", "[4]") READ("g, h", "[4], [4]")},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_sol_graph *graph = NULL;
        struct carm_sol_analysis *analysis = NULL;
        assert_ok(carm_sol_graph_parse(rows[i].text, strlen(rows[i].text), "g", &graph, &err));
        assert_ok(carm_sol_analyse(graph, &analysis, &err));
        fail_if(analysis->total.external != rows[i].elements + 1, "%ju, not %ju:\n%s",
                (uintmax_t)analysis->total.external - 1, (uintmax_t)rows[i].elements, rows[i].text);
        carm_sol_analysis_close(analysis);
        carm_sol_graph_close(graph);
    }
}

/* ---- random graphs ---- */

enum {
    DIMS = 4,
    ELEMENTS = 512,
    TENSORS = 80,
    LAYERS = 24,
    OUTSIDE = 4,
    TEXT = 1 << 16,
    GRAPHS = 2000
};

/* A tensor by its elements: each one's number in the tensor that it is a view of. */
struct tensor {
    int rank, extent[DIMS], n;
    int element[ELEMENTS];
    int base;     /* tensor; itself where it is none */
    int maker;    /* operation; -1 = from outside, or a view */
    bool told;    /* its extents and places are powers of two, or it is a base */
    bool plain;   /* never transposed */
    bool written; /* the shape's anchor */
};

struct world {
    uint64_t seed;
    bool odd; /* any sizes */
    struct tensor t[TENSORS];
    int n, layers, operations;
    /* by operation: what it makes and whether the elements are written */
    int made[LAYERS][2], nmade[LAYERS];
    bool writes[LAYERS];
    bool taken[TENSORS];          /* by base: an operation reads it */
    bool read[TENSORS][ELEMENTS]; /* by base: its elements that are read */
    char text[TEXT];
    size_t used;
};

static int draw(struct world *w, int n)
{
    return (int)((next_random(&w->seed) >> 33) % (uint64_t)n);
}

__attribute__((format(printf, 2, 3))) static void write(struct world *w, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    w->used += (size_t)vsnprintf(w->text + w->used, TEXT - w->used, format, ap);
    va_end(ap);
    assert_true(w->used < TEXT);
}

/* ---- tensors ---- */

static int product(const int *extent, int rank)
{
    int n = 1;
    for (int i = 0; i < rank; i++) {
        n *= extent[i];
    }
    return n;
}

static int new_tensor(struct world *w, int rank, const int *extent)
{
    struct tensor *t = &w->t[w->n];
    assert_true(w->n < TENSORS);
    memset(t, 0, sizeof *t);
    t->rank = rank;
    memcpy(t->extent, extent, (size_t)rank * sizeof *extent);
    t->n = product(extent, rank);
    assert_true(t->n <= ELEMENTS);
    t->base = w->n;
    t->maker = -1;
    t->told = t->plain = true;
    for (int i = 0; i < t->n; i++) {
        t->element[i] = i;
    }
    return w->n++;
}

static int random_base(struct world *w)
{
    int extent[DIMS];
    const int rank = 1 + draw(w, DIMS);
    for (int i = 0; i < rank; i++) {
        extent[i] = w->odd ? 1 + draw(w, 4) : 1 << draw(w, rank == 1 ? 8 : 3);
    }
    return new_tensor(w, rank, extent);
}

/* A view of a tensor; its elements are to be set. */
static int new_view(struct world *w, int of, int rank, const int *extent)
{
    const int v = new_tensor(w, rank, extent);
    w->t[v].base = w->t[of].base;
    w->t[v].told = w->t[of].told;
    w->t[v].plain = w->t[of].plain;
    return v;
}

/* row-major */
static int number_at(const struct tensor *t, const int *at)
{
    int n = 0;
    for (int i = 0; i < t->rank; i++) {
        n = n * t->extent[i] + at[i];
    }
    return n;
}

static bool next_at(const int *extent, int rank, int *at)
{
    for (int i = rank - 1; i >= 0; i--) {
        if (++at[i] < extent[i]) {
            return true;
        }
        at[i] = 0;
    }
    return false;
}

/* ---- text ---- */

/* The first time with an anchor, then by its alias. */
static void write_shape(struct world *w, int tensor)
{
    struct tensor *t = &w->t[tensor];
    if (t->written) {
        write(w, "*s%d", tensor);
        return;
    }
    t->written = true;
    write(w, "&s%d [", tensor);
    for (int i = 0; i < t->rank; i++) {
        write(w, "%s%d", i ? ", " : "", t->extent[i]);
    }
    write(w, "]");
}

static void write_names(struct world *w, const int *tensors, int n)
{
    write(w, "[");
    for (int i = 0; i < n; i++) {
        write(w, "%st%d", i ? ", " : "", tensors[i]);
    }
    write(w, "]");
}

static void write_shapes(struct world *w, const int *tensors, int n)
{
    write(w, "[");
    for (int i = 0; i < n; i++) {
        write(w, "%s", i ? ", " : "");
        write_shape(w, tensors[i]);
    }
    write(w, "]");
}

/* more: keys in YAML's flow style, each with a comma before it */
static void write_layer(struct world *w, const char *type, const char *more, const int *in, int nin,
                        const int *out, int nout)
{
    write(w, "  l%d: {type: %s, is_real_einsum: false%s, tensor_names: {inputs: ", w->layers++,
          type, more);
    write_names(w, in, nin);
    write(w, ", outputs: ");
    write_names(w, out, nout);
    write(w, "}, tensor_shapes: {inputs: ");
    write_shapes(w, in, nin);
    write(w, ", outputs: ");
    write_shapes(w, out, nout);
    write(w, "}, tensor_types: {inputs: [");
    for (int i = 0; i < nin; i++) {
        /* the last ones from outside are weights, wherever they are read as they are */
        write(w, "%s%s", i ? ", " : "",
              in[i] >= OUTSIDE / 2 && in[i] < OUTSIDE ? "weight" : "input");
    }
    write(w, "], outputs: [%s]}, connections: {inputs: [], outputs: []}}\n",
          nout == 2   ? "output, output"
          : nout == 1 ? "output"
                      : "output, output, output, output");
}

/* ---- layers ---- */

/* What an operation reads. */
static void read_all(struct world *w, int tensor)
{
    const struct tensor *t = &w->t[tensor];
    w->taken[t->base] = true;
    for (int i = 0; i < t->n; i++) {
        w->read[t->base][t->element[i]] = true;
    }
}

/* Mostly views of what comes from outside, the last ones: far from their base, and not all of it. */
static int pick(struct world *w)
{
    int t = 0;
    for (int tries = 12; tries > 0; tries--) {
        t = draw(w, 2) ? w->n - 1 - draw(w, w->n < 6 ? w->n : 6) : draw(w, w->n);
        if (w->t[w->t[t].base].maker < 0 && w->t[t].n > 1 && (w->t[t].base != t || tries < 3) &&
            (w->odd || w->t[t].told)) {
            break;
        }
    }
    return t;
}

static void add_operation(struct world *w)
{
    int in[3];
    int out[2];
    const int nin = 1 + draw(w, 3);
    const int nout = 1 + (draw(w, 3) == 0);
    for (int i = 0; i < nin; i++) {
        in[i] = draw(w, 4) ? pick(w) : draw(w, w->n);
        read_all(w, in[i]);
    }
    for (int i = 0; i < nout; i++) {
        out[i] = random_base(w);
        w->t[out[i]].maker = w->operations;
        w->made[w->operations][i] = out[i];
    }
    w->nmade[w->operations] = nout;
    w->writes[w->operations++] = true;
    write_layer(w, "topk", "", in, nin, out, nout);
}

/* One element after another, in other extents. */
static void add_reshape(struct world *w, int of)
{
    int extent[DIMS];
    int rank = 0;
    int left = w->t[of].n;
    while (rank < DIMS - 1 && left > 1 && draw(w, 4) > 0) {
        int divisor = 1 + draw(w, left);
        while (left % divisor != 0) {
            divisor--;
        }
        extent[rank++] = divisor;
        left /= divisor;
    }
    extent[rank++] = left;
    const int v = new_view(w, of, rank, extent);
    memcpy(w->t[v].element, w->t[of].element, sizeof w->t[v].element);
    write_layer(w, draw(w, 2) ? "view" : "reshape", "", &of, 1, &v, 1);
}

static void add_permutation(struct world *w, int of)
{
    int order[DIMS];
    int extent[DIMS];
    int at[DIMS] = {0};
    char more[64];
    const int rank = w->t[of].rank;
    for (int i = 0; i < rank; i++) {
        const int k = draw(w, i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (int i = 0; i < rank; i++) {
        extent[i] = w->t[of].extent[order[i]];
    }
    const int v = new_view(w, of, rank, extent);
    do {
        int source[DIMS];
        for (int i = 0; i < rank; i++) {
            source[order[i]] = at[i];
        }
        w->t[v].element[number_at(&w->t[v], at)] = w->t[of].element[number_at(&w->t[of], source)];
    } while (next_at(extent, rank, at));
    w->t[v].plain = false;
    size_t n = (size_t)sprintf(more, ", einsum_equation: ");
    for (int i = 0; i < rank; i++) {
        more[n++] = (char)('A' + i);
    }
    n += (size_t)sprintf(more + n, "->");
    for (int i = 0; i < rank; i++) {
        more[n++] = (char)('A' + order[i]);
    }
    more[n] = '\0';
    write_layer(w, "permute", more, &of, 1, &v, 1);
}

/* Dimensions of 1 repeated, and a new one before. */
static void add_expansion(struct world *w, int of)
{
    int extent[DIMS];
    int at[DIMS] = {0};
    const int before = w->t[of].rank < DIMS && draw(w, 2);
    const int rank = w->t[of].rank + before;
    for (int i = 0; i < rank; i++) {
        const int old = i < before ? 1 : w->t[of].extent[i - before];
        extent[i] = old == 1 ? 1 << draw(w, 3) : old;
    }
    if (product(extent, rank) > ELEMENTS || product(extent, rank) == w->t[of].n) {
        return;
    }
    const int v = new_view(w, of, rank, extent);
    do {
        int source[DIMS];
        for (int i = before; i < rank; i++) {
            source[i - before] = w->t[of].extent[i - before] == 1 ? 0 : at[i];
        }
        w->t[v].element[number_at(&w->t[v], at)] = w->t[of].element[number_at(&w->t[of], source)];
    } while (next_at(extent, rank, at));
    write_layer(w, "expand", "", &of, 1, &v, 1);
}

/* count of a dimension's elements from one on, each the step-th */
static int part_of(struct world *w, int of, int dim, int from, int count, int step, bool drop)
{
    int extent[DIMS];
    int shape[DIMS];
    int at[DIMS] = {0};
    int rank = 0;
    int n = 0;
    memcpy(extent, w->t[of].extent, sizeof extent);
    extent[dim] = count;
    for (int i = 0; i < w->t[of].rank; i++) {
        if (!(drop && i == dim)) {
            shape[rank++] = extent[i];
        }
    }
    const int v = new_view(w, of, rank, shape);
    do {
        int source[DIMS];
        memcpy(source, at, sizeof source);
        source[dim] = from + step * at[dim];
        w->t[v].element[n++] = w->t[of].element[number_at(&w->t[of], source)];
    } while (next_at(extent, w->t[of].rank, at));
    return v;
}

static bool same_pieces(const struct world *w, const int *out, int n, int dim)
{
    for (int i = 1; i < n; i++) {
        if (w->t[out[i]].extent[dim] != w->t[out[0]].extent[dim]) {
            return false;
        }
    }
    return true;
}

static void add_split(struct world *w, int of)
{
    int out[4];
    int n = 0;
    const struct tensor t = w->t[of];
    const int dim = draw(w, t.rank);
    const int extent = t.extent[dim];
    if (extent < 2) {
        return;
    }
    if (extent <= 4 && extent != 3 && draw(w, 3) == 0 && t.rank > 1) {
        for (int d = dim - 1; d <= dim + 1; d++) {
            if (d >= 0 && d < t.rank && d != dim && t.extent[d] == extent) {
                return; /* the shapes would allow another dimension, too */
            }
        }
        for (int i = 0; i < extent; i++) {
            out[n++] = part_of(w, of, dim, i, 1, 1, true);
        }
        write_layer(w, "unbind", "", &of, 1, out, n);
        return;
    }
    /* sizes of any kind only of what lies as in its base, and then the end of the line */
    const bool any = w->odd || (t.plain && t.base == of && draw(w, 2));
    const int first = any ? 1 + draw(w, extent - 1) : extent / 2;
    out[n++] = part_of(w, of, dim, 0, first, 1, false);
    out[n++] = part_of(w, of, dim, first, extent - first, 1, false);
    w->t[out[0]].told = w->t[out[1]].told = !any;
    write_layer(w, same_pieces(w, out, n, dim) ? "chunk" : "split", "", &of, 1, out, n);
}

/* A slice is an operation: it reads the elements that it gives, which are a tensor of its own. */
static void add_slice(struct world *w, int of)
{
    char more[256];
    const struct tensor t = w->t[of];
    const int dim = draw(w, t.rank);
    const int extent = t.extent[dim];
    const bool any = w->odd || (t.plain && t.base == of);
    int from = 0;
    int count = extent;
    int step = 1;
    int v = 0;
    if (any) {
        from = draw(w, extent);
        count = 1 + draw(w, extent - from);
        step = count > 2 && draw(w, 3) == 0 ? 2 : 1;
        count = (count - 1) / step + 1;
    } else {
        while (count > 1 && draw(w, 3) > 0) {
            count /= 2;
        }
        from = count * draw(w, extent / count);
    }
    const char *type = "__getitem__";
    size_t n =
        (size_t)sprintf(more, ", raw_attributes: '[[Tensor(shape=(2, 3), dtype=torch.float32)");
    const int how = draw(w, 3);
    if (how == 0 && count == 1) {
        type = "select";
        v = part_of(w, of, dim, from, 1, 1, true);
        sprintf(more + n, ", %d, %d], {}]'", dim, draw(w, 2) ? from : from - extent);
    } else if (how == 1 && step == 1) {
        type = "narrow";
        v = part_of(w, of, dim, from, count, 1, false);
        sprintf(more + n, "], {dim: %d, start: %d, length: %d}]'", dim - t.rank, from, count);
    } else {
        v = part_of(w, of, dim, from, count, step, false);
        n += (size_t)sprintf(more + n, ", [");
        for (int i = 0; i < dim; i++) {
            n += (size_t)sprintf(more + n, "slice(None, None, None), ");
        }
        sprintf(more + n, "slice(%d, %d, %d), Ellipsis]], {}]'", from,
                from + (count - 1) * step + 1, step);
    }
    w->taken[t.base] = true;
    for (int i = 0; i < w->t[v].n; i++) {
        w->read[t.base][w->t[v].element[i]] = true;
        w->t[v].element[i] = i;
    }
    w->t[v].base = v;
    w->t[v].told = w->t[v].plain = true;
    w->t[v].maker = w->operations;
    w->made[w->operations][0] = v;
    w->nmade[w->operations] = 1;
    w->writes[w->operations++] = false;
    write_layer(w, type, more, &of, 1, &v, 1);
}

static void add_layer(struct world *w)
{
    const int of = pick(w);
    const int what = draw(w, 12);
    if (what < 2 || w->n + 6 > TENSORS) {
        add_operation(w);
    } else if (w->t[of].n < 2 || w->t[of].rank == 0 || !(w->odd || w->t[of].told)) {
        return;
    } else if (what < 6) {
        add_split(w, of);
    } else if (what < 8) {
        add_reshape(w, of);
    } else if (what < 10) {
        add_permutation(w, of);
    } else if (what < 11) {
        add_expansion(w, of);
    } else {
        add_slice(w, of);
    }
}

static void make_world(struct world *w)
{
    w->n = w->layers = w->operations = 0;
    w->used = 0;
    memset(w->taken, 0, sizeof w->taken);
    memset(w->read, 0, sizeof w->read);
    write(w, "model_name: random\nlayers:\n");
    for (int i = 0; i < OUTSIDE; i++) {
        const int t = random_base(w);
        if (i < OUTSIDE / 2) {
            write_layer(w, "start", "", NULL, 0, &t, 1);
        }
    }
    for (int n = 1 + draw(w, LAYERS); n > 0 && w->n + 6 < TENSORS && w->operations < LAYERS; n--) {
        add_layer(w);
    }
    add_operation(w);
}

/* ---- what must cross the border ---- */

/* A weight through views alone must be seen as one somewhere: an operation reads each. */
static uint64_t elements_of(const struct world *w)
{
    uint64_t sum = 0;
    for (int t = 0; t < w->n; t++) {
        if (w->t[t].base != t || w->t[t].maker >= 0) {
            continue;
        }
        for (int i = 0; i < w->t[t].n; i++) {
            sum += w->read[t][i];
        }
    }
    for (int o = 0; o < w->operations; o++) {
        bool taken = false;
        for (int i = 0; i < w->nmade[o]; i++) {
            taken = taken || w->taken[w->made[o][i]];
        }
        for (int i = 0; w->writes[o] && !taken && i < w->nmade[o]; i++) {
            sum += (uint64_t)w->t[w->made[o][i]].n;
        }
    }
    return sum;
}

static struct carm_sol_counts count(const struct world *w)
{
    struct carm_sol_graph *graph = NULL;
    struct carm_sol_analysis *analysis = NULL;
    fail_if(carm_sol_graph_parse(w->text, w->used, "random", &graph, &err) ||
                carm_sol_analyse(graph, &analysis, &err),
            "%s\n%s", err.text, w->text);
    const struct carm_sol_counts total = analysis->total;
    carm_sol_analysis_close(analysis);
    carm_sol_graph_close(graph);
    return total;
}

TEST(fused_is_the_union)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->seed = 0x1f83d9abfb41bd6b;
    for (int i = 0; i < GRAPHS; i++) {
        make_world(w);
        const struct carm_sol_counts total = count(w);
        fail_if(total.external != elements_of(w), "graph %d: %ju, not %ju\n%s", i,
                (uintmax_t)total.external, (uintmax_t)elements_of(w), w->text);
        assert_true(total.unfused == total.external + total.repeated + total.intermediate);
    }
    free(w);
}

/* Extents of any kind: where a part is no part of the factors that carm has, it is a lower bound. */
TEST(fused_is_never_more)
{
    int exact = 0;
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->seed = 0x5be0cd19137e2179;
    w->odd = true;
    for (int i = 0; i < GRAPHS; i++) {
        make_world(w);
        const struct carm_sol_counts total = count(w);
        fail_if(total.external > elements_of(w), "graph %d: %ju, more than %ju\n%s", i,
                (uintmax_t)total.external, (uintmax_t)elements_of(w), w->text);
        exact += total.external == elements_of(w);
    }
    print_message("exact: %d of %d\n", exact, GRAPHS);
    assert_true(exact > GRAPHS * 9 / 10);
    free(w);
}
