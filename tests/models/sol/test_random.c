/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What holds of every graph, over random ones with all kinds of layers, views and shared tensors. */
#include "models/sol/estimate.h"
#include "tests/models/random.h"
#include "tests/models/sol/build.h"
#include "tests/models/sol/reference.h"
#include "tests/unit.h"

enum { GRAPHS = 3000, LAYERS = 24, TENSORS = 96, SLOTS = 5 };

static uint32_t draw(uint64_t *seed, uint32_t n)
{
    return (uint32_t)((next_random(seed) >> 33) % n);
}

/* Tensors 0 to OUTSIDE - 1 come from nowhere or from starts, the last of them are weights. */
enum { OUTSIDE = 8, WEIGHTS = 5 };

struct random_graph {
    struct carm_sol_graph *g;
    uint64_t elements[TENSORS];
    uint32_t made; /* tensors so far */
};

static struct sol_slot draw_input(struct random_graph *r, uint64_t *seed)
{
    /* near the last one, so that chains are long; some from outside */
    uint32_t t = draw(seed, r->made);
    if (draw(seed, 2) == 0) {
        t = r->made - 1 - draw(seed, r->made < 3 ? r->made : 3);
    }
    const bool weight = (t >= WEIGHTS && t < OUTSIDE && draw(seed, 4) != 0) || draw(seed, 40) == 0;
    return weight ? WEIGHT(t, r->elements[t]) : IN(t, r->elements[t]);
}

static void add_random_layer(struct random_graph *r, uint64_t *seed)
{
    static const enum carm_sol_kind kinds[] = {
        CARM_SOL_COMPUTE, CARM_SOL_COMPUTE,   CARM_SOL_COMPUTE, CARM_SOL_VIEW, CARM_SOL_VIEW,
        CARM_SOL_SLICE,   CARM_SOL_EMBEDDING, CARM_SOL_SCATTER, CARM_SOL_MOVE, CARM_SOL_GATHER};
    const enum carm_sol_kind kind = kinds[draw(seed, sizeof kinds / sizeof *kinds)];
    struct sol_slot slots[SLOTS];
    uint32_t n = 0;
    const uint32_t inputs = 1 + draw(seed, 3);
    while (n < inputs) {
        slots[n++] = draw_input(r, seed);
    }
    for (uint32_t outputs = 1 + (draw(seed, 5) == 0); outputs > 0; outputs--) {
        uint64_t elements = 1 + draw(seed, 50);
        if (kind == CARM_SOL_VIEW && draw(seed, 3) != 0) {
            elements = slots[0].elements; /* else a split or an expand */
        }
        r->elements[r->made] = elements;
        slots[n++] = OUT(r->made, elements);
        r->made++;
    }
    const bool work = kind == CARM_SOL_COMPUTE;
    sol_build_layer(r->g, kind, draw(seed, 2) == 0, work ? draw(seed, 2000) : 0, slots, n);
}

static struct carm_sol_graph *draw_graph(uint64_t *seed)
{
    struct random_graph r = {.g = sol_build_open(LAYERS + OUTSIDE, 256, TENSORS)};
    for (uint32_t t = 0; t < OUTSIDE; t++) {
        r.elements[t] = 1 + draw(seed, 60);
        if (t < WEIGHTS && draw(seed, 3) != 0) {
            sol_kind(r.g, CARM_SOL_START, OUT(t, r.elements[t]));
        }
        r.made++;
    }
    for (uint32_t n = 1 + draw(seed, LAYERS); n > 0; n--) {
        add_random_layer(&r, seed);
    }
    return r.g;
}

/* ---- counts: each tensor's share by itself, without any order ---- */

static uint32_t base_of(const struct carm_sol_graph *g, uint32_t t)
{
    const uint32_t maker = g->producer[t];
    if (maker == UINT32_MAX || g->layers[maker].kind != CARM_SOL_VIEW) {
        return t;
    }
    return base_of(g, g->uses[g->layers[maker].uses].tensor);
}

/* Where a tensor without extents lies: a run of a space, which is its base or, behind these, the view
 * that the layer of that number splits without knowing where that lies. */
struct run {
    bool known, repeated; /* repeated: one element, expanded */
    uint32_t space;
    uint64_t from, n;
};

static struct run run_of(const struct carm_sol_graph *g, const struct carm_sol_traffic *m,
                         uint32_t t)
{
    const uint32_t maker = g->producer[t];
    const struct run unknown = {.known = false};
    if (base_of(g, t) == t) {
        return (struct run){.known = true, .space = t, .n = m->size[t]};
    }
    const struct carm_sol_layer *layer = &g->layers[maker];
    const struct carm_sol_use *out = g->uses + layer->uses + layer->inputs;
    const uint64_t in = g->uses[layer->uses].elements;
    struct run run = run_of(g, m, g->uses[layer->uses].tensor);
    if (layer->outputs == 1) {
        run.repeated = run.repeated || (in == 1 && out->elements > 1);
        return out->elements == in || (out->elements > in && in == 1) ? run : unknown;
    }
    if (out[0].elements + out[1].elements > in) {
        return unknown;
    }
    if (!run.known) {
        run = (struct run){.known = true, .space = g->ntensors + maker};
    }
    if (!run.repeated) {
        run.from += t == out[1].tensor ? out[0].elements : 0;
        run.n = m->size[t];
    }
    return run;
}

enum { SPACES = TENSORS + LAYERS + OUTSIDE, PLACES = 64 };

/* what is known to be read of one tensor */
struct footprint {
    uint64_t read[SPACES]; /* a bit for each place */
    uint64_t most;         /* of one read */
};

static void add_read(struct footprint *f, const struct run *run, uint64_t moved)
{
    if (!run->known) {
        f->most = moved > f->most ? moved : f->most;
        return;
    }
    for (uint64_t i = run->from; i < run->from + (run->repeated ? 1 : run->n); i++) {
        assert_true(i < PLACES);
        f->read[run->space] |= (uint64_t)1 << i;
    }
}

static uint64_t footprint_elements(const struct footprint *f, uint64_t size)
{
    uint64_t most = f->most;
    for (uint32_t s = 0; s < SPACES; s++) {
        const uint64_t n = (uint64_t)__builtin_popcountll(f->read[s]);
        most = n > most ? n : most;
    }
    return most < size ? most : size;
}

/* Whether an operation takes a tensor, or another output of the layer that makes it. */
static bool is_taken(const struct carm_sol_graph *g, uint32_t tensor)
{
    for (uint32_t l = 0; l < g->n; l++) {
        const struct carm_sol_layer *layer = &g->layers[l];
        for (uint32_t i = 0; carm_sol_operates(layer->kind) && i < layer->inputs; i++) {
            const uint32_t base = base_of(g, g->uses[layer->uses + i].tensor);
            if (base == tensor ||
                (g->producer[base] != UINT32_MAX && g->producer[base] == g->producer[tensor])) {
                return true;
            }
        }
    }
    return false;
}

/* adds what one tensor is charged to a footprint */
static void charge_tensor(const struct carm_sol_graph *g, const struct carm_sol_traffic *m,
                          uint32_t tensor, struct carm_sol_counts *sum)
{
    uint64_t reads = 0;
    uint64_t writes = 0;
    bool weight = false;
    struct footprint footprint = {.most = 0};
    const uint32_t maker = g->producer[tensor];
    for (uint32_t l = 0; l < g->n; l++) {
        const struct carm_sol_layer *layer = &g->layers[l];
        for (uint32_t i = 0; i < layer->inputs + layer->outputs; i++) {
            const struct carm_sol_use *use = &g->uses[layer->uses + i];
            const uint64_t moved = m->moved[layer->uses + i];
            if (base_of(g, use->tensor) != tensor) {
                continue;
            }
            weight = weight || use->role == CARM_SOL_WEIGHT;
            if (i >= layer->inputs) {
                writes += moved;
                continue;
            }
            const struct run run = run_of(g, m, use->tensor);
            const bool all = moved == use->elements;
            add_read(&footprint, all ? &run : &(struct run){.known = false}, moved);
            reads += moved;
        }
    }
    if (!weight && is_taken(g, tensor) && maker != UINT32_MAX &&
        carm_sol_operates(g->layers[maker].kind)) {
        sum->intermediate += reads + writes;
        return;
    }
    const uint64_t first = footprint_elements(&footprint, m->size[tensor]);
    sum->external += first + writes;
    sum->repeated += reads - first;
    sum->weight += weight ? first + writes : 0;
}

static void check_counts(const struct carm_sol_graph *g, const struct carm_sol_analysis *a)
{
    struct carm_sol_traffic *m = NULL;
    struct carm_sol_counts sum = {0};
    struct carm_sol_counts wanted = {0};
    assert_int_equal(carm_sol_traffic_open(g, &m, NULL), 0);
    for (uint32_t t = 0; t < g->ntensors; t++) {
        assert_int_equal(m->base[t], base_of(g, t));
        if (base_of(g, t) == t) {
            charge_tensor(g, m, t, &wanted);
        }
    }
    for (uint32_t l = 0; l < g->n; l++) {
        const struct carm_sol_counts *c = &a->layers[l];
        assert_int_equal(c->unfused, c->input + c->output);
        assert_int_equal(c->unfused, c->external + c->repeated + c->intermediate);
        assert_true(c->weight <= c->external);
        sum.macs += c->macs;
        sum.other += c->other;
        sum.unfused += c->unfused;
        sum.external += c->external;
        sum.repeated += c->repeated;
        sum.intermediate += c->intermediate;
        sum.weight += c->weight;
    }
    assert_int_equal(a->total.macs, sum.macs);
    assert_int_equal(a->total.other, sum.other);
    assert_int_equal(a->total.unfused, sum.unfused);
    assert_int_equal(a->total.unfused, a->total.input + a->total.output);
    assert_int_equal(a->total.external, sum.external);
    assert_int_equal(a->total.repeated, sum.repeated);
    assert_int_equal(a->total.intermediate, sum.intermediate);
    assert_int_equal(a->total.weight, sum.weight);
    assert_int_equal(a->total.external, wanted.external);
    assert_int_equal(a->total.repeated, wanted.repeated);
    assert_int_equal(a->total.intermediate, wanted.intermediate);
    assert_int_equal(a->total.weight, wanted.weight);
    carm_sol_traffic_close(m);
}

TEST(counts)
{
    uint64_t seed = 0x9e3779b97f4a7c15;
    for (int i = 0; i < GRAPHS; i++) {
        struct carm_sol_graph *g = draw_graph(&seed);
        struct carm_sol_analysis *a = sol_build_analyse(g);
        check_counts(g, a);
        close_opened();
    }
}

/* ---- the file's order ---- */

static bool ready(const struct carm_sol_graph *g, uint32_t layer, const bool *done)
{
    for (uint32_t i = 0; i < g->layers[layer].inputs; i++) {
        const uint32_t maker = g->producer[g->uses[g->layers[layer].uses + i].tensor];
        if (maker != UINT32_MAX && !done[maker]) {
            return false;
        }
    }
    return true;
}

/* Any other order in which the layers can run. from: [n] where the layers stood */
static void shuffle(struct carm_sol_graph *g, uint64_t *seed, uint32_t *from)
{
    struct carm_sol_layer old[LAYERS + OUTSIDE];
    uint32_t to[LAYERS + OUTSIDE];
    bool done[LAYERS + OUTSIDE] = {false};
    memcpy(old, g->layers, g->n * sizeof *old);
    for (uint32_t n = 0; n < g->n;) {
        const uint32_t l = draw(seed, g->n);
        if (!done[l] && ready(g, l, done)) {
            done[l] = true;
            to[l] = n;
            from[n++] = l;
        }
    }
    for (uint32_t n = 0; n < g->n; n++) {
        g->layers[n] = old[from[n]];
    }
    for (uint32_t t = 0; t < g->ntensors; t++) {
        g->producer[t] = g->producer[t] == UINT32_MAX ? UINT32_MAX : to[g->producer[t]];
    }
}

TEST(the_files_order_does_not_matter)
{
    uint64_t seed = 0x51ed270b35ae1ebd;
    for (int i = 0; i < GRAPHS; i++) {
        uint32_t from[LAYERS + OUTSIDE];
        struct carm_sol_graph *g = draw_graph(&seed);
        struct carm_sol_analysis *a = sol_build_analyse(g);
        shuffle(g, &seed, from);
        struct carm_sol_analysis *b = sol_build_analyse(g);
        assert_memory_equal(&a->total, &b->total, sizeof a->total);
        assert_int_equal(a->model_io, b->model_io);
        assert_int_equal(a->intermediates, b->intermediates);
        for (uint32_t l = 0; l < g->n; l++) {
            assert_int_equal(a->layers[from[l]].unfused, b->layers[l].unfused);
            assert_int_equal(a->layers[from[l]].intermediate, b->layers[l].intermediate);
            assert_int_equal(a->layers[from[l]].macs, b->layers[l].macs);
        }
        close_opened();
    }
}

/* ---- storage ---- */

static void spill(const struct carm_sol_graph *g, uint64_t capacity,
                  enum carm_sol_precision precision, enum carm_sol_policy policy, uint64_t *spilled,
                  uint64_t *total, uint64_t *peak)
{
    assert_ok(sol_spill(g, capacity, precision, policy, spilled, total, peak, &err));
}

/* elements that a layer writes of intermediates which no operation reads: they go nowhere */
static uint64_t untaken(const struct carm_sol_graph *g, uint32_t index)
{
    struct carm_sol_traffic *m = NULL;
    uint64_t sum = 0;
    const struct carm_sol_layer *layer = &g->layers[index];
    assert_int_equal(carm_sol_traffic_open(g, &m, NULL), 0);
    for (uint32_t k = layer->uses + layer->inputs; k < layer->uses + layer->inputs + layer->outputs;
         k++) {
        const uint32_t t = g->uses[k].tensor;
        bool read = false;
        for (uint32_t l = 0; l < g->n; l++) {
            const struct carm_sol_layer *other = &g->layers[l];
            for (uint32_t i = 0; carm_sol_operates(other->kind) && i < other->inputs; i++) {
                read = read || base_of(g, g->uses[other->uses + i].tensor) == t;
            }
        }
        sum += m->kind[t] == CARM_SOL_INTERMEDIATE && !read ? m->moved[k] : 0;
    }
    carm_sol_traffic_close(m);
    return sum;
}

TEST(spills)
{
    uint64_t seed = 0x2545f4914f6cdd1d;
    uint64_t some = 0;
    uint64_t differ = 0;
    for (int i = 0; i < GRAPHS; i++) {
        uint64_t is[2][LAYERS + OUTSIDE];
        uint64_t wanted[LAYERS + OUTSIDE];
        uint64_t total[2];
        uint64_t peak = 0;
        struct carm_sol_graph *g = draw_graph(&seed);
        struct carm_sol_analysis *a = sol_build_analyse(g);
        const enum carm_sol_precision precision =
            (enum carm_sol_precision)draw(&seed, CARM_SOL_PRECISIONS);
        for (int p = 0; p < 2; p++) {
            const enum carm_sol_policy policy = (enum carm_sol_policy)p;
            spill(g, 0, precision, policy, is[p], &total[p], &peak);
            for (uint32_t l = 0; l < g->n; l++) {
                assert_int_equal(is[p][l], a->layers[l].intermediate - untaken(g, l));
            }
            spill(g, peak, precision, policy, is[p], &total[p], NULL);
            assert_int_equal(total[p], 0);
            spill(g, UINT64_MAX, precision, policy, is[p], &total[p], NULL);
            assert_int_equal(total[p], 0);
        }
        const uint64_t capacity = draw(&seed, (uint32_t)peak + 1);
        for (int p = 0; p < 2; p++) {
            const enum carm_sol_policy policy = (enum carm_sol_policy)p;
            spill(g, capacity, precision, policy, is[p], &total[p], NULL);
            sol_reference_spill(g, capacity, precision, policy, wanted);
            for (uint32_t l = 0; l < g->n; l++) {
                assert_int_equal(is[p][l], wanted[l]);
                assert_true(is[p][l] <= a->layers[l].intermediate);
            }
        }
        some += total[0] > 0 && total[0] < a->total.intermediate;
        differ += total[0] != total[1];
        close_opened();
    }
    assert_true(some > GRAPHS / 2); /* the cases are worth something */
    assert_true(differ > GRAPHS / 20);
}

/* ---- estimates ---- */

static struct carm_sol_arch draw_arch(uint64_t *seed)
{
    struct carm_sol_arch a = {.name = "random", .freq_ghz = 1.0};
    a.dram_byte_per_cycle = 1.0 + draw(seed, 50);
    a.nlevels = draw(seed, 4);
    for (int p = 0; p < CARM_SOL_PRECISIONS; p++) {
        a.mac_per_cycle[p] = 1.0 + draw(seed, 300);
        a.other_per_cycle[p] = 1.0 + draw(seed, 100);
    }
    for (size_t k = 0; k < a.nlevels; k++) {
        a.levels[k].capacity = draw(seed, 300);
        a.levels[k].byte_per_cycle = draw(seed, 100);
    }
    return a;
}

static void check_finite(const struct carm_sol_estimate *e)
{
    assert_true(isfinite(e->cycles) && e->cycles >= 0.0);
    assert_true(e->cycles >= e->compute_cycles && e->cycles >= e->memory_cycles);
    assert_true(e->cycles >= e->level_cycles);
    assert_true(e->intensity >= 0.0);
    assert_true(e->mac_intensity >= 0.0);
    assert_true((e->bound == CARM_SOL_BY_NOTHING) == (e->cycles <= 0.0));
    assert_true(e->level < CARM_SOL_LEVELS_MAX && e->level >= -1);
}

static void check_sums(const struct carm_sol_result *r, bool cached)
{
    double sum[2] = {0.0, 0.0};
    for (uint32_t l = 0; l < r->n; l++) {
        for (int m = 0; m < CARM_SOL_MODELS; m++) {
            struct carm_sol_estimate one;
            carm_sol_estimate_layer(r, l, (enum carm_sol_model)m, cached, &one);
            check_finite(&one);
            if (m < 2) {
                sum[m] += one.cycles;
            }
        }
    }
    const struct carm_sol_estimate *e = cached ? r->cached : r->models;
    for (int m = 0; m < 2; m++) {
        assert_true(fabs(sum[m] - e[m].cycles) <= 1e-12 * sum[m]);
    }
}

/* in any design */
static void check_order(const struct carm_sol_result *r)
{
    const struct carm_sol_estimate *e = r->models;
    assert_true(e[CARM_SOL_PREFETCHED].cycles <= e[CARM_SOL_FUSED].cycles);
    assert_true(e[CARM_SOL_FUSED].cycles <= e[CARM_SOL_UNFUSED].cycles);
    assert_true(e[CARM_SOL_FUSED].bytes <= e[CARM_SOL_UNFUSED].bytes);
    for (int m = 0; m < CARM_SOL_MODELS; m++) {
        check_finite(&e[m]);
    }
    if (r->has_cached) {
        const struct carm_sol_estimate *c = r->cached;
        assert_true(c[CARM_SOL_PREFETCHED].cycles <= c[CARM_SOL_FUSED].cycles);
        for (int m = 0; m < CARM_SOL_MODELS; m++) {
            check_finite(&c[m]);
            assert_true(c[m].cycles >= e[m].cycles);
            assert_true(c[m].bytes >= e[m].bytes);
            assert_true(c[m].bytes <= e[CARM_SOL_UNFUSED].bytes);
        }
    }
}

static void check_no_slower(const struct carm_sol_result *fast, const struct carm_sol_result *slow)
{
    for (int m = 0; m < CARM_SOL_MODELS; m++) {
        assert_true(fast->models[m].cycles <= slow->models[m].cycles);
        assert_true(fast->cached[m].cycles <= slow->cached[m].cycles);
    }
}

TEST(estimates)
{
    uint64_t seed = 0xda942042e4dd58b5;
    for (int i = 0; i < GRAPHS; i++) {
        struct carm_sol_graph *g = draw_graph(&seed);
        struct carm_sol_analysis *a = sol_build_analyse(g);
        const struct carm_sol_arch arch = draw_arch(&seed);
        const enum carm_sol_precision precision =
            (enum carm_sol_precision)draw(&seed, CARM_SOL_PRECISIONS);
        struct carm_sol_result sums = sol_estimate(g, a, &arch, precision, false);
        struct carm_sol_result whole = sol_estimate(g, a, &arch, precision, true);
        check_order(&sums);
        check_order(&whole);
        check_sums(&sums, false);
        if (sums.has_cached) {
            check_sums(&sums, true);
        }
        check_no_slower(&whole, &sums);
        struct carm_sol_arch faster = arch;
        faster.dram_byte_per_cycle *= 1.0 + draw(&seed, 3);
        faster.mac_per_cycle[precision] *= 1.0 + draw(&seed, 3);
        for (size_t k = 0; k < arch.nlevels; k++) {
            faster.levels[k].byte_per_cycle *= 1.0 + draw(&seed, 3);
        }
        for (int as_implemented = 0; as_implemented < 2; as_implemented++) {
            struct carm_sol_result fast = sol_estimate(g, a, &faster, precision, as_implemented);
            check_no_slower(&fast, as_implemented ? &whole : &sums);
        }
        close_opened();
    }
}
