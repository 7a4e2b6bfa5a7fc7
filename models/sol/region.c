/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/region.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/heap.h"
#include "models/sol/layout.h"
#include "models/sol/slice.h"

/* A run of neighbouring elements that a read has, in grains of a space: its first grain, and its
 * end. Runs are in the order of their reads. */
struct begin {
    uint64_t first;
    uint32_t space, run;
};

struct run {
    uint64_t end;
    uint32_t read;
};

/* A space in which layouts can be compared: a base's own elements, or the elements of a view whose
 * place in its base is not known. */
struct space {
    uint64_t elements; /* number of element numbers */
    uint64_t most;     /* most different elements */
    uint64_t grain;    /* divides each run's beginning and length */
    uint64_t period;  /* number of elements after which all layouts repeat; a divisor of elements */
    uint64_t covered; /* elements that were read so far */
};

enum how { WHOLE, PLACED, SOMEWHERE };

/* Properties of a tensor that is a view. */
struct place {
    uint32_t space;  /* of PLACED */
    uint32_t layout; /* the same: index */
    uint8_t how;     /* enum how; WHOLE: the base itself, reshaped */
    bool disordered; /* the set of elements is known, their order is not */
};

struct read {
    uint32_t slot, space, layout; /* of PLACED */
    uint8_t how;
    uint64_t fresh; /* of PLACED: elements that no earlier read of its space has */
};

struct regions {
    const struct carm_sol_graph *graph;
    const struct carm_sol_traffic *traffic;
    struct carm_err *err;
    struct place *places; /* [ntensors]; of a tensor that is its own base: WHOLE */
    uint32_t *own;        /* [ntensors] index of a base's own space, or NONE */
    struct carm_sol_layout *layouts;
    size_t nlayouts, layouts_room;
    struct space *spaces;
    size_t nspaces, spaces_room;
    struct read *reads;   /* by base, in execution order */
    uint32_t *first_read; /* [ntensors + 1] */
    struct run *runs;     /* [nruns] runs of one base */
    struct begin *begins;
    uint32_t *heap;
    size_t nruns, runs_room, begins_room, heap_room;
    uint64_t work; /* number of runs so far */
};

#define NONE UINT32_MAX

/* Limits on the runs of one base and of a whole graph. Beyond them, a read's place counts as
 * unknown. */
#define RUNS_MAX ((uint64_t)1 << 22)
#define WORK_MAX ((uint64_t)1 << 24)

/* ---- places ---- */

/* The shape of a use: one dimension if it has no extents, or extents that contradict its elements.
 * room  for this dimension */
static struct carm_sol_shape shape_of(const struct regions *r, const struct carm_sol_use *use,
                                      uint64_t *room)
{
    uint64_t product = 1;
    for (unsigned i = 0; i < use->rank; i++) {
        product *= r->graph->extents[use->dims + i];
    }
    *room = use->elements;
    return product == use->elements
               ? (struct carm_sol_shape){use->rank ? r->graph->extents + use->dims : NULL,
                                         use->rank}
               : (struct carm_sol_shape){room, 1};
}

static bool same_extents(struct carm_sol_shape a, unsigned from_a, struct carm_sol_shape b,
                         unsigned from_b, unsigned n)
{
    return n == 0 || memcmp(a.extents + from_a, b.extents + from_b, n * sizeof *a.extents) == 0;
}

static int new_space(struct regions *r, uint64_t elements, uint64_t most, uint32_t *space)
{
    const struct space new = {.elements = elements, .most = most, .period = 1};
    *space = (uint32_t)r->nspaces;
    return carm_array_append(&r->spaces, &r->spaces_room, &r->nspaces, &new, sizeof new,
                             "the graph", r->err);
}

/* The space of a base's own elements. */
static int own_space(struct regions *r, uint32_t base, uint32_t *space)
{
    const uint64_t size = r->traffic->size[base];
    const int rc = r->own[base] == NONE ? new_space(r, size, size, &r->own[base]) : 0;
    *space = r->own[base];
    return rc;
}

static int put_layout(struct regions *r, const struct carm_sol_layout *layout, uint32_t space,
                      struct place *place)
{
    *place = (struct place){.how = PLACED, .space = space, .layout = (uint32_t)r->nlayouts};
    return carm_array_append(&r->layouts, &r->layouts_room, &r->nlayouts, layout, sizeof *layout,
                             "the graph", r->err);
}

/* Whether a use has all elements of its tensor, as the maker has. */
static bool seen_whole(const struct regions *r, const struct carm_sol_use *use)
{
    return use->elements == r->traffic->size[use->tensor];
}

/* The layout of a tensor as a layer uses it, for the layer's views of it. Elements in unknown order
 * get a space of their own, for all views of the layer. */
static int layout_of(struct regions *r, const struct carm_sol_use *use,
                     struct carm_sol_layout *layout, uint32_t *space)
{
    const struct place *p = &r->places[use->tensor];
    const bool whole = seen_whole(r, use);
    if (whole && p->how == WHOLE) {
        *layout = carm_sol_layout_run(0, use->elements);
        return own_space(r, r->traffic->base[use->tensor], space);
    }
    assert(p->how != PLACED || r->layouts);
    if (whole && p->how == PLACED && !p->disordered) {
        *layout = r->layouts[p->layout];
        *space = p->space;
        return 0;
    }
    const uint64_t most =
        whole && p->how == PLACED ? carm_sol_layout_size(&r->layouts[p->layout]) : use->elements;
    *layout = carm_sol_layout_run(0, use->elements);
    return new_space(r, use->elements, most, space);
}

/* ---- views ---- */

static bool is_any(const char *type, const char *const *words)
{
    while (*words && strcasecmp(type, *words) != 0) {
        words++;
    }
    return *words != NULL;
}

static bool reorders(const char *type)
{
    static const char *const words[] = {"transpose", "permute", "t", "swapaxes", "movedim", NULL};
    return is_any(type, words);
}

/* The length of an equation's rank that begins at `at`, or 0. */
static size_t rank_length(const char *at)
{
    size_t n = *at >= 'A' && *at <= 'Z';
    while (n > 0 && at[n] >= '0' && at[n] <= '9') {
        n++;
    }
    return n;
}

/* Reads "ABC->ACB". order: the input's dimension that is dimension i of the output */
static bool order_of_equation(const char *equation, unsigned rank, unsigned *order)
{
    const char *names[CARM_SOL_RANK_MAX];
    size_t lengths[CARM_SOL_RANK_MAX];
    const char *at = equation;
    for (unsigned i = 0; i < rank; i++) {
        names[i] = at;
        lengths[i] = rank_length(at);
        if (lengths[i] == 0) {
            return false;
        }
        at += lengths[i];
    }
    if (strncmp(at, "->", 2) != 0) {
        return false;
    }
    at += 2;
    for (unsigned i = 0; i < rank; i++) {
        const size_t n = rank_length(at);
        unsigned d = 0;
        while (d < rank && (n != lengths[d] || memcmp(names[d], at, n) != 0)) {
            d++;
        }
        if (n == 0 || d == rank) {
            return false;
        }
        order[i] = d;
        at += n;
    }
    return *at == '\0';
}

/* Finds the only order that the shapes allow; dimensions of 1 may be anywhere. returns false for
 * several orders */
static bool order_of_shapes(struct carm_sol_shape in, struct carm_sol_shape out, unsigned *order)
{
    bool taken[CARM_SOL_RANK_MAX] = {false};
    for (unsigned i = 0; i < out.rank; i++) {
        unsigned found = 0;
        for (unsigned d = 0; d < in.rank; d++) {
            if (!taken[d] && in.extents[d] == out.extents[i]) {
                order[i] = found == 0 ? d : order[i];
                found++;
            }
        }
        if (found == 0 || (found > 1 && out.extents[i] > 1)) {
            return false;
        }
        taken[order[i]] = true;
    }
    return true;
}

static bool is_order(const unsigned *order, struct carm_sol_shape in, struct carm_sol_shape out)
{
    bool taken[CARM_SOL_RANK_MAX] = {false};
    for (unsigned i = 0; i < in.rank; i++) {
        if (taken[order[i]] || in.extents[order[i]] != out.extents[i]) {
            return false;
        }
        taken[order[i]] = true;
    }
    return true;
}

/* Whether a type exchanges two dimensions. It changes the order even if the equation, made from
 * equal extents, does not show it. */
static bool exchanges(const char *type)
{
    static const char *const words[] = {"transpose", "t", "swapaxes", NULL};
    return is_any(type, words);
}

static bool is_kept(const unsigned *order, unsigned rank)
{
    unsigned i = 0;
    while (i < rank && order[i] == i) {
        i++;
    }
    return i == rank;
}

static bool permute(const struct regions *r, const struct carm_sol_layer *layer,
                    struct carm_sol_shape in, struct carm_sol_shape out,
                    struct carm_sol_layout *layout)
{
    unsigned order[CARM_SOL_RANK_MAX] = {0};
    if (in.rank != out.rank) {
        return false;
    }
    const bool told = order_of_equation(carm_sol_text(r->graph, layer->equation), in.rank, order) &&
                      is_order(order, in, out);
    if (!told && !order_of_shapes(in, out, order)) {
        return false;
    }
    if (in.rank > 1 && is_kept(order, in.rank) && exchanges(carm_sol_text(r->graph, layer->type))) {
        if (in.rank > 2) {
            return false;
        }
        order[0] = 1;
        order[1] = 0;
    }
    return carm_sol_layout_permute(layout, in, order);
}

/* Places a view of all elements: reshaped, or in another order. */
static int view_whole(struct regions *r, const struct carm_sol_layer *layer)
{
    const struct carm_sol_use *in = &r->graph->uses[layer->uses];
    const struct carm_sol_use *out = in + layer->inputs;
    const struct place source = r->places[in->tensor];
    struct place *place = &r->places[out->tensor];
    *place = seen_whole(r, in) ? source : (struct place){.how = SOMEWHERE};
    if (place->how == SOMEWHERE || place->disordered ||
        !reorders(carm_sol_text(r->graph, layer->type))) {
        return 0;
    }
    uint64_t rooms[2];
    struct carm_sol_layout layout;
    uint32_t space = 0;
    int rc = layout_of(r, in, &layout, &space);
    if (rc) {
        return rc;
    }
    const bool known =
        permute(r, layer, shape_of(r, in, &rooms[0]), shape_of(r, out, &rooms[1]), &layout);
    rc = put_layout(r, &layout, space, place);
    place->disordered = !known;
    return rc;
}

static int view_expanded(struct regions *r, const struct carm_sol_layer *layer)
{
    const struct carm_sol_use *in = &r->graph->uses[layer->uses];
    const struct carm_sol_use *out = in + layer->inputs;
    uint64_t rooms[2];
    struct carm_sol_layout layout;
    uint32_t space = 0;
    const int rc = layout_of(r, in, &layout, &space);
    if (rc ||
        !carm_sol_layout_expand(&layout, shape_of(r, in, &rooms[0]), shape_of(r, out, &rooms[1]))) {
        r->places[out->tensor] = (struct place){.how = SOMEWHERE};
        return rc;
    }
    return put_layout(r, &layout, space, &r->places[out->tensor]);
}

/* Whether a piece differs only in this dimension, or has all dimensions except this one. */
static bool is_piece(struct carm_sol_shape in, struct carm_sol_shape piece, unsigned dim)
{
    const unsigned after = in.rank - dim - 1;
    if (piece.rank == in.rank) {
        return same_extents(in, 0, piece, 0, dim) &&
               same_extents(in, dim + 1, piece, dim + 1, after);
    }
    return piece.rank + 1 == in.rank && same_extents(in, 0, piece, 0, dim) &&
           same_extents(in, dim + 1, piece, dim, after);
}

static uint64_t piece_extent(struct carm_sol_shape in, struct carm_sol_shape piece, unsigned dim)
{
    return piece.rank == in.rank ? piece.extents[dim] : 1;
}

/* The dimension along which the outputs are pieces; in.rank = none or several. */
static unsigned split_dimension(const struct regions *r, const struct carm_sol_layer *layer,
                                struct carm_sol_shape in)
{
    const struct carm_sol_use *out = &r->graph->uses[layer->uses + layer->inputs];
    unsigned found = in.rank;
    for (unsigned dim = 0; dim < in.rank; dim++) {
        uint64_t sum = 0;
        bool fits = true;
        for (uint32_t i = 0; fits && i < layer->outputs; i++) {
            uint64_t room = 0;
            const struct carm_sol_shape piece = shape_of(r, &out[i], &room);
            fits = is_piece(in, piece, dim);
            sum += fits ? piece_extent(in, piece, dim) : 0;
            fits = fits && sum <= in.extents[dim];
        }
        if (fits && found < in.rank) {
            return in.rank;
        }
        found = fits ? dim : found;
    }
    return found;
}

/* Places pieces of unknown position one after another in a space of their own, since no two have an element in
 * common. */
static int view_in_order(struct regions *r, const struct carm_sol_layer *layer, uint64_t most)
{
    const struct carm_sol_use *in = &r->graph->uses[layer->uses];
    const struct carm_sol_use *out = in + layer->inputs;
    uint64_t at = 0;
    uint32_t space = 0;
    int rc = new_space(r, in->elements, most, &space);
    for (uint32_t i = 0; rc == 0 && i < layer->outputs; i++) {
        const struct carm_sol_layout layout = carm_sol_layout_run(at, out[i].elements);
        at += out[i].elements;
        rc = put_layout(r, &layout, space, &r->places[out[i].tensor]);
    }
    return rc;
}

static int view_pieces(struct regions *r, const struct carm_sol_layer *layer)
{
    const struct carm_sol_use *in = &r->graph->uses[layer->uses];
    const struct carm_sol_use *out = in + layer->inputs;
    uint64_t rooms[2];
    const struct carm_sol_shape shape = shape_of(r, in, &rooms[0]);
    const unsigned dim = split_dimension(r, layer, shape);
    struct carm_sol_layout whole;
    uint32_t space = 0;
    uint64_t from = 0;
    bool known = dim < shape.rank;
    int rc = layout_of(r, in, &whole, &space);
    for (uint32_t i = 0; rc == 0 && known && i < layer->outputs; i++) {
        struct carm_sol_layout layout = whole;
        const uint64_t count = piece_extent(shape, shape_of(r, &out[i], &rooms[1]), dim);
        known = carm_sol_layout_cut(&layout, shape, dim, from, count, 1);
        from += count;
        rc = known ? put_layout(r, &layout, space, &r->places[out[i].tensor]) : 0;
    }
    return rc || known ? rc : view_in_order(r, layer, carm_sol_layout_size(&whole));
}

static bool splits(const char *type)
{
    static const char *const words[] = {"split", "chunk", "tensor_split", "unbind", NULL};
    return is_any(type, words);
}

static int place_view(struct regions *r, const struct carm_sol_layer *layer)
{
    const struct carm_sol_use *in = &r->graph->uses[layer->uses];
    const struct carm_sol_use *out = in + layer->inputs;
    uint64_t sum = 0;
    bool empty = in->elements == 0;
    for (uint32_t i = 0; i < layer->outputs; i++) {
        r->places[out[i].tensor] = (struct place){.how = SOMEWHERE};
        empty = empty || out[i].elements == 0 || out[i].elements > INT64_MAX - sum;
        sum += empty ? 0 : out[i].elements;
    }
    if (layer->outputs == 0 || empty) {
        return 0;
    }
    if (layer->outputs == 1 && out->elements == in->elements) {
        return view_whole(r, layer);
    }
    if (layer->outputs == 1 && out->elements > in->elements) {
        return view_expanded(r, layer);
    }
    const bool pieces = layer->outputs > 1 || splits(carm_sol_text(r->graph, layer->type));
    return pieces && sum <= in->elements ? view_pieces(r, layer) : 0;
}

static int place_views(struct regions *r)
{
    int rc = 0;
    for (uint32_t at = 0; rc == 0 && at < r->graph->n; at++) {
        const struct carm_sol_layer *layer = &r->graph->layers[r->graph->order[at]];
        if (layer->kind == CARM_SOL_VIEW && layer->inputs > 0 &&
            r->traffic->kind[r->traffic->base[r->graph->uses[layer->uses].tensor]] !=
                CARM_SOL_INTERMEDIATE) {
            rc = place_view(r, layer);
        }
    }
    return rc;
}

/* ---- reads ---- */

/* Places a slice's read of its source. */
static int place_slice(struct regions *r, const struct carm_sol_layer *layer, struct read *read)
{
    const struct carm_sol_use *in = &r->graph->uses[layer->uses];
    const struct carm_sol_use *out = in + layer->inputs;
    uint64_t rooms[2];
    struct carm_sol_layout layout;
    uint32_t space = 0;
    struct place place = {.how = SOMEWHERE};
    if (layer->outputs != 1 || !seen_whole(r, in)) {
        return 0;
    }
    int rc = layout_of(r, in, &layout, &space);
    if (rc == 0 &&
        carm_sol_slice(carm_sol_text(r->graph, layer->type), carm_sol_text(r->graph, layer->raw),
                       shape_of(r, in, &rooms[0]), shape_of(r, out, &rooms[1]), &layout)) {
        rc = put_layout(r, &layout, space, &place);
        *read = (struct read){
            .slot = read->slot, .how = PLACED, .space = place.space, .layout = place.layout};
    }
    return rc;
}

/* Places an input slot's read. */
static int place_read(struct regions *r, const struct carm_sol_layer *layer, uint32_t slot,
                      struct read *read)
{
    const struct carm_sol_use *use = &r->graph->uses[slot];
    const struct place *place = &r->places[use->tensor];
    *read = (struct read){.slot = slot, .how = SOMEWHERE};
    if (r->traffic->moved[slot] == use->elements && seen_whole(r, use)) {
        read->how = place->how;
        read->space = place->space;
        read->layout = place->layout;
        return 0;
    }
    const bool source = slot == layer->uses && layer->kind == CARM_SOL_SLICE;
    return source && use->elements > 0 ? place_slice(r, layer, read) : 0;
}

static bool counts(const struct regions *r, uint32_t index, uint32_t slot)
{
    return carm_sol_operates(r->graph->layers[index].kind) && !r->traffic->dead[index] &&
           r->traffic->moved[slot] > 0 &&
           r->traffic->kind[r->traffic->base[r->graph->uses[slot].tensor]] != CARM_SOL_INTERMEDIATE;
}

/* Collects the reads of each base. */
static int collect(struct regions *r)
{
    const struct carm_sol_graph *graph = r->graph;
    uint32_t *next = r->first_read;
    for (uint32_t l = 0; l < graph->n; l++) {
        const struct carm_sol_layer *layer = &graph->layers[l];
        for (uint32_t k = layer->uses; k < layer->uses + layer->inputs; k++) {
            next[r->traffic->base[graph->uses[k].tensor] + 2] += counts(r, l, k);
        }
    }
    for (uint32_t t = 2; t <= graph->ntensors + 1; t++) {
        next[t] += next[t - 1];
    }
    r->reads = calloc((size_t)next[graph->ntensors + 1] + 1, sizeof *r->reads);
    if (!r->reads) {
        return carm_sol_no_memory(r->graph->n, r->err);
    }
    int rc = 0;
    for (uint32_t at = 0; rc == 0 && at < graph->n; at++) {
        const uint32_t l = graph->order[at];
        const struct carm_sol_layer *layer = &graph->layers[l];
        for (uint32_t k = layer->uses; rc == 0 && k < layer->uses + layer->inputs; k++) {
            if (counts(r, l, k)) {
                const uint32_t base = r->traffic->base[graph->uses[k].tensor];
                rc = place_read(r, layer, k, &r->reads[next[base + 1]++]);
            }
        }
    }
    return rc;
}

/* ---- unions ---- */

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b > 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The number of elements after which a set repeats, through all of the space; `elements` = it does
 * not repeat. */
static uint64_t period_of(const struct carm_sol_layout *set, uint64_t elements)
{
    const struct carm_sol_factor *f = set->f; /* the largest stride: the others stay below it */
    return set->n > 0 && f->n * f->stride == elements ? f->stride : elements;
}

/* Adjusts grain and period of a space so that the set is runs of whole grains in one period. */
static void fit_space(struct space *s, const struct carm_sol_layout *set)
{
    uint64_t grain = gcd(s->grain, set->offset);
    for (unsigned i = 0; i < set->n; i++) {
        grain = gcd(grain, set->f[i].stride > 1 ? set->f[i].stride : set->f[i].n);
    }
    const bool run = set->n > 0 && set->f[set->n - 1].stride == 1;
    s->grain = run ? grain : 1;
    const uint64_t period = period_of(set, s->elements);
    assert(period > 0 && s->period > 0);
    const uint64_t times = period / gcd(s->period, period); /* a divisor of elements, like period */
    s->period *= times;
}

static int grow_runs(struct regions *r, size_t n)
{
    int rc =
        carm_array_grow(&r->runs, &r->runs_room, r->nruns, n, sizeof *r->runs, "the graph", r->err);
    rc = rc ? rc
            : carm_array_grow(&r->begins, &r->begins_room, r->nruns, n, sizeof *r->begins,
                              "the graph", r->err);
    return rc ? rc
              : carm_array_grow(&r->heap, &r->heap_room, r->nruns, n, sizeof *r->heap, "the graph",
                                r->err);
}

/* Adds the runs of a read in the first period of its space. If there are too many, the read's place counts as unknown.
 * returns 0 or -CARM_ENOMEM */
static int add_runs(struct regions *r, uint32_t index)
{
    const struct read *read = &r->reads[index];
    const struct space *s = &r->spaces[read->space];
    struct carm_sol_layout set = carm_sol_layout_set(&r->layouts[read->layout]);
    assert(s->grain > 0);
    const uint64_t period = period_of(&set, s->elements);
    uint64_t digits[CARM_SOL_FACTORS_MAX] = {0};
    uint64_t length = 1;
    uint64_t n = 1;
    if (period < s->elements) {
        set.f[0].n = s->period / period;
    }
    if (set.n > 0 && set.f[set.n - 1].stride == 1) {
        length = set.f[--set.n].n;
    }
    for (unsigned i = 0; i < set.n; i++) {
        n = n > RUNS_MAX || set.f[i].n > RUNS_MAX ? RUNS_MAX + 1 : n * set.f[i].n;
    }
    if (n > RUNS_MAX - r->nruns || n > WORK_MAX - r->work) {
        return 0;
    }
    const int rc = grow_runs(r, (size_t)n);
    uint64_t at = set.offset;
    for (size_t k = r->nruns; rc == 0 && k < r->nruns + n; k++) {
        r->runs[k] = (struct run){.end = (at + length) / s->grain, .read = index};
        r->begins[k] =
            (struct begin){.first = at / s->grain, .space = read->space, .run = (uint32_t)k};
        unsigned i = set.n;
        while (i > 0 && ++digits[i - 1] == set.f[i - 1].n) {
            digits[i - 1] = 0;
            at -= (set.f[i - 1].n - 1) * set.f[i - 1].stride;
            i--;
        }
        at += i > 0 ? set.f[i - 1].stride : 0;
    }
    r->nruns += rc == 0 ? (size_t)n : 0;
    r->work += n;
    return rc;
}

/* Orders by space, then by place. */
static int by_place(const void *a, const void *b)
{
    const struct begin *x = a;
    const struct begin *y = b;
    if (x->space != y->space) {
        return x->space < y->space ? -1 : 1;
    }
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Assigns each grain of a space to the first read that contains it. begin, end: of the base's runs,
 * sorted by space
 * returns the end of the space's runs */
static const struct begin *sweep_space(struct regions *r, const struct begin *begin,
                                       const struct begin *end)
{
    const uint32_t space = begin->space;
    uint32_t n = 0; /* number of runs that cover the place */
    uint64_t at = 0;
    while (n > 0 || (begin < end && begin->space == space)) {
        at = n == 0 ? begin->first : at;
        while (begin < end && begin->space == space && begin->first <= at) {
            carm_heap_put(r->heap, n++, begin++->run);
        }
        const struct run *run = &r->runs[r->heap[0]];
        if (run->end <= at) {
            carm_heap_take(r->heap, n--);
            continue;
        }
        const bool cut = begin < end && begin->space == space && begin->first < run->end;
        const uint64_t stop = cut ? begin->first : run->end;
        r->reads[run->read].fresh += stop - at;
        at = stop;
    }
    return begin;
}

/* Finds the elements of each read of a base that no earlier read has. */
static int sweep(struct regions *r, uint32_t first, uint32_t end)
{
    int rc = 0;
    r->nruns = 0;
    for (uint32_t i = first; rc == 0 && i < end; i++) {
        rc = r->reads[i].how == PLACED ? add_runs(r, i) : 0;
    }
    if (rc || r->nruns == 0) {
        return rc;
    }
    qsort(r->begins, r->nruns, sizeof *r->begins, by_place);
    for (const struct begin *at = r->begins; at < r->begins + r->nruns;) {
        at = sweep_space(r, at, r->begins + r->nruns);
    }
    return 0;
}

/* Elements of a base that are read so far with a further read: in its space, or by this read
 * alone. */
static uint64_t reach(struct regions *r, const struct read *read, uint64_t size)
{
    if (read->how == WHOLE) {
        return size;
    }
    if (read->how == SOMEWHERE) {
        return r->traffic->moved[read->slot];
    }
    struct space *s = &r->spaces[read->space];
    const uint64_t alone = carm_sol_layout_size(&r->layouts[read->layout]);
    assert(s->period > 0);
    s->covered += read->fresh * s->grain * (s->elements / s->period);
    const uint64_t all = s->covered > alone ? s->covered : alone;
    return all < s->most ? all : s->most;
}

static int charge(struct regions *r, uint32_t base, uint64_t *first)
{
    const uint64_t size = r->traffic->size[base];
    const uint32_t begin = r->first_read[base];
    const uint32_t end = r->first_read[base + 1];
    uint64_t known = 0; /* elements charged so far */
    for (uint32_t i = begin; i < end; i++) {
        if (r->reads[i].how == PLACED) {
            const struct carm_sol_layout set = carm_sol_layout_set(&r->layouts[r->reads[i].layout]);
            fit_space(&r->spaces[r->reads[i].space], &set);
        }
    }
    const int rc = sweep(r, begin, end);
    for (uint32_t i = begin; rc == 0 && i < end && known < size; i++) {
        const uint64_t all = reach(r, &r->reads[i], size);
        const uint64_t elements = all < size ? all : size;
        if (elements > known) {
            first[r->reads[i].slot] = elements - known;
            known = elements;
        }
    }
    return rc;
}

/* ---- the regions of a graph ---- */

static int open_regions(struct regions *r)
{
    const size_t n = (size_t)r->graph->ntensors;
    r->places = calloc(n + 1, sizeof *r->places);
    r->own = malloc((n + 1) * sizeof *r->own);
    r->first_read = calloc(n + 3, sizeof *r->first_read);
    if (!r->places || !r->own || !r->first_read) {
        return carm_sol_no_memory(r->graph->n, r->err);
    }
    memset(r->own, 0xff, (n + 1) * sizeof *r->own);
    return 0;
}

static void close_regions(struct regions *r)
{
    free(r->spaces);
    free(r->layouts);
    free(r->places);
    free(r->own);
    free(r->reads);
    free(r->first_read);
    free(r->runs);
    free(r->begins);
    free(r->heap);
}

int carm_sol_first_reads(const struct carm_sol_graph *graph, const struct carm_sol_traffic *traffic,
                         uint64_t **first, struct carm_err *err)
{
    struct regions r = {.graph = graph, .traffic = traffic, .err = err};
    uint64_t *found = calloc((size_t)graph->nuses + 1, sizeof *found);
    *first = NULL;
    int rc = found ? open_regions(&r) : carm_sol_no_memory(r.graph->n, r.err);
    rc = rc ? rc : place_views(&r);
    rc = rc ? rc : collect(&r);
    for (uint32_t t = 0; rc == 0 && t < graph->ntensors; t++) {
        rc = charge(&r, t, found);
    }
    close_regions(&r);
    if (rc) {
        free(found);
        return rc;
    }
    *first = found;
    return 0;
}
