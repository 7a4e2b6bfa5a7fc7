/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layouts of random views of views against the elements one by one, and slices by their calls. */
#include "models/sol/slice.h"
#include "tests/models/random.h"
#include "tests/unit.h"

enum { DIMS = 4, ELEMENTS = 4096 };

struct view {
    struct carm_sol_layout layout;
    uint64_t extents[DIMS], elements[ELEMENTS];
    unsigned rank;
    uint64_t n;
};

static uint64_t seed = 0x2f7c3a5d9b1e6807;

static uint64_t draw(uint64_t n)
{
    return (next_random(&seed) >> 33) % n;
}

static struct carm_sol_shape shape(const struct view *v)
{
    return (struct carm_sol_shape){v->extents, v->rank};
}

/* Element number f, digit by digit. */
static uint64_t place(const struct carm_sol_layout *layout, uint64_t f)
{
    uint64_t at = layout->offset;
    for (unsigned i = layout->n; i-- > 0;) {
        at += f % layout->f[i].n * layout->f[i].stride;
        f /= layout->f[i].n;
    }
    return at;
}

static void check(const struct view *v)
{
    bool seen[ELEMENTS] = {false};
    uint64_t different = 0;
    for (uint64_t f = 0; f < v->n; f++) {
        assert_int_equal(place(&v->layout, f), v->elements[f]);
        different += !seen[v->elements[f]];
        seen[v->elements[f]] = true;
    }
    const struct carm_sol_layout set = carm_sol_layout_set(&v->layout);
    assert_int_equal(carm_sol_layout_size(&v->layout), different);
    assert_int_equal(carm_sol_layout_size(&set), different);
    for (uint64_t f = 0; f < different; f++) {
        assert_true(seen[place(&set, f)]);
        assert_true(f == 0 || place(&set, f) > place(&set, f - 1));
    }
}

static uint64_t number_at(const uint64_t *extents, unsigned rank, const uint64_t *at)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < rank; i++) {
        n = n * extents[i] + at[i];
    }
    return n;
}

/* Takes element f of the new view from where each of its coordinates leads to. */
static void gather(struct view *v, const uint64_t *extents, unsigned rank, const unsigned *dim,
                   const uint64_t *from, const uint64_t *step)
{
    const struct view old = *v;
    v->rank = rank;
    v->n = 1;
    for (unsigned i = 0; i < rank; i++) {
        v->extents[i] = extents[i];
        v->n *= extents[i];
    }
    for (uint64_t f = 0; f < v->n; f++) {
        uint64_t at[DIMS] = {0};
        uint64_t rest = f;
        for (unsigned i = rank; i-- > 0;) {
            at[dim[i]] = from[i] + rest % extents[i] * step[i];
            rest /= extents[i];
        }
        v->elements[f] = old.elements[number_at(old.extents, old.rank, at)];
    }
}

static void permute(struct view *v)
{
    unsigned order[DIMS];
    uint64_t extents[DIMS];
    const uint64_t from[DIMS] = {0};
    const uint64_t step[DIMS] = {1, 1, 1, 1};
    for (unsigned i = 0; i < v->rank; i++) {
        const unsigned k = (unsigned)draw(i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (unsigned i = 0; i < v->rank; i++) {
        extents[i] = v->extents[order[i]];
    }
    if (carm_sol_layout_permute(&v->layout, shape(v), order)) {
        gather(v, extents, v->rank, order, from, step);
    }
}

static void cut(struct view *v)
{
    unsigned dims[DIMS] = {0, 1, 2, 3};
    uint64_t extents[DIMS];
    uint64_t from[DIMS] = {0};
    uint64_t step[DIMS] = {1, 1, 1, 1};
    const unsigned dim = (unsigned)draw(v->rank);
    memcpy(extents, v->extents, sizeof extents);
    from[dim] = draw(extents[dim]);
    const uint64_t most = extents[dim] - from[dim];
    step[dim] = 1 + draw(3) / 2;
    extents[dim] = 1 + draw((most - 1) / step[dim] + 1);
    if (carm_sol_layout_cut(&v->layout, shape(v), dim, from[dim], extents[dim], step[dim])) {
        gather(v, extents, v->rank, dims, from, step);
    }
}

static void expand(struct view *v)
{
    unsigned dims[DIMS] = {0, 1, 2, 3};
    uint64_t extents[DIMS];
    const uint64_t from[DIMS] = {0};
    uint64_t step[DIMS] = {1, 1, 1, 1};
    uint64_t n = 1;
    for (unsigned i = 0; i < v->rank; i++) {
        extents[i] = v->extents[i] == 1 ? 1 + draw(3) : v->extents[i];
        step[i] = v->extents[i] > 1;
        n *= extents[i];
    }
    if (n <= ELEMENTS &&
        carm_sol_layout_expand(&v->layout, shape(v), (struct carm_sol_shape){extents, v->rank})) {
        gather(v, extents, v->rank, dims, from, step);
    }
}

static void reshape(struct view *v)
{
    uint64_t left = v->n;
    v->rank = 1 + (unsigned)draw(DIMS);
    for (unsigned i = 0; i < v->rank; i++) {
        uint64_t divisor = i + 1 == v->rank ? left : 1 + draw(left);
        while (left % divisor != 0) {
            divisor--;
        }
        v->extents[i] = divisor;
        left /= divisor;
    }
}

TEST(views_of_views)
{
    unsigned grouped = 0;
    for (int i = 0; i < 20000; i++) {
        struct view v = {.rank = DIMS, .n = 1};
        for (unsigned d = 0; d < DIMS; d++) {
            v.extents[d] = 1 + draw(6);
            v.n *= v.extents[d];
        }
        v.layout = carm_sol_layout_run(0, v.n);
        for (uint64_t f = 0; f < v.n; f++) {
            v.elements[f] = f;
        }
        for (uint64_t steps = draw(7); steps > 0; steps--) {
            static void (*const change[])(struct view *) = {permute, cut, expand, reshape};
            change[draw(4)](&v);
        }
        grouped += v.layout.n > 2;
        check(&v);
    }
    assert_true(grouped > 1000);
}

TEST(slices_by_their_calls)
{
    static const struct {
        const char *type, *call;
        uint64_t out, offset, size, last; /* size 0: not told */
    } rows[] = {
        /* of [4, 6, 5] */
        {"__getitem__", "[[Tensor(shape=(4, 6, 5), dtype=torch.float32), 1], {}]", 30, 30, 30, 59},
        {"__getitem__", "[[Tensor(a), -1], {}]", 30, 90, 30, 119},
        {"__getitem__", "[[Tensor(a), slice(1, 3, None)], {}]", 60, 30, 60, 89},
        {"__getitem__", "[[Tensor(a), [slice(None, None, None), 2]], {}]", 20, 10, 20, 104},
        {"__getitem__", "[[Tensor(a), [Ellipsis, slice(None, None, 2)]], {}]", 72, 0, 72, 119 - 0},
        {"__getitem__", "[[Tensor(a), [Ellipsis, -1]], {}]", 24, 4, 24, 119},
        {"__getitem__", "[[Tensor(a), [None, 0, slice(-2, None, None)]], {}]", 10, 20, 10, 29},
        {"__getitem__", "[[Tensor(a), slice(None, None, -1)], {}]", 120, 0, 120, 119},
        {"__getitem__", "[[Tensor(a), slice(2, 0, -1)], {}]", 60, 30, 60, 89},
        {"select", "[[Tensor(a), 1, 5], {}]", 20, 25, 20, 119},
        {"select", "[[Tensor(a)], {dim: -1, index: -5}]", 24, 0, 24, 115},
        {"narrow", "[[Tensor(a), 0, 1, 2], {}]", 60, 30, 60, 89},
        {"narrow", "[[Tensor(a)], {dim: 1, start: -1, length: 1}]", 20, 25, 20, 119},
        {"slice", "[[Tensor(a), 0, 0, 3, 2], {}]", 60, 0, 60, 89},
        {"slice", "[[Tensor(a), 2], {}]", 120, 0, 120, 119},
        /* the ends of indices and ranges, which are cut to the tensor */
        {"__getitem__", "[[Tensor(a), [3, -6, 4]], {}]", 1, 94, 1, 94},
        {"__getitem__", "[[Tensor(a), slice(-9, 9, 3)], {}]", 60, 0, 60, 119},
        {"__getitem__", "[[Tensor(a), slice(1, None, 3)], {}]", 30, 30, 30, 59},
        {"__getitem__", "[[Tensor(a), slice(9, -9, -3)], {}]", 60, 0, 60, 119},
        {"__getitem__", "[[Tensor(a), slice(2, None, -2)], {}]", 60, 0, 60, 89},
        {"__getitem__", "[[Tensor(a), slice(None, 0, -2)], {}]", 60, 30, 60, 119},
        {"__getitem__", "[[Tensor(a), slice(None, -4, -1)], {}]", 90, 30, 90, 119},
        {"__getitem__", "[[Tensor(a), [0, Ellipsis, slice(4, 5, None)]], {}]", 6, 4, 6, 29},
        {"__getitem__", "[[Tensor(a), [0, 0, Ellipsis, 0]], {}]", 1, 0, 1, 0},
        {"__GETITEM__", " [ [\tTensor(b(c)) ,\n1 ] , { } ]", 30, 30, 30, 59},
        {"Select", "[[Tensor(a), 0, -4], {}]", 30, 0, 30, 29},
        {"narrow", "[[Tensor(a), -3, 4, 0], {}]", 0, 0, 0, 0},
        {"Narrow", "[[Tensor(a), 0, -4, 4], {}]", 120, 0, 120, 119},
        {"narrow", "[[Tensor(a)], {dim: 2, start: 4, length: 1}]", 24, 4, 24, 119},
        {"slice", "[[Tensor(a)], {dim: -3, start: None, end: 2, step: None}]", 60, 0, 60, 59},
        {"slice", "[[Tensor(a), 1, 5], {}]", 20, 25, 20, 119},
        {"slice", "[[Tensor(a)], {}]", 120, 0, 120, 119},
        {"slice", "[[Tensor(a), 0, None, None, 3], {}]", 60, 0, 60, 119},
        {"narrow", "[[Tensor(a), 0, 0, 2], {}]", 60, 0, 60, 59},
        {"__getitem__", "[[Tensor(a), slice(None, 2305843009213693951, 1)], {}]", 120, 0, 120, 119},
        {"__getitem__", "[[Tensor(a), slice(-2305843009213693952, 9, 1)], {}]", 120, 0, 120, 119},
        /* what does not tell */
        {"__getitem__", "[[Tensor(a), slice(None, 2305843009213693952, 1)], {}]", 120, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), slice(-2305843009213693953, 9, 1)], {}]", 120, 0, 0, 0},
        {"slice", "[[Tensor(a), 3, 0, 1], {}]", 120, 0, 0, 0},
        {"narrow", "[[Tensor(a), 3, 0, 1], {}]", 120, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), 1], {}]", 60, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), -5], {}]", 30, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), 2305843009213693952], {}]", 30, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), -2305843009213693953], {}]", 30, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), -], {}]", 30, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), x], {}]", 30, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), 1.5], {}]", 30, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), 1, 2], {}]", 5, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), [1], 2], {}]", 5, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), 1, [2]], {}]", 5, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), [1, 2], {}]", 5, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), 1, {}]", 30, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), 1], }", 30, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), 1]  {}]", 30, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), 1], {dim: 0}]", 30, 0, 0, 0},
        {"__getitem__", "[[a, 1], {}]", 30, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), slice(1, 3)], {}]", 60, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), slice(1, 3, None], {}]", 60, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), slice(1, x, None)], {}]", 60, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), slice(2, 2, None)], {}]", 0, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), slice(0, 3, -1)], {}]", 90, 0, 0, 0},
        {"select", "[[Tensor(a), [0, 1]], {}]", 30, 0, 0, 0},
        {"select", "[[Tensor(a), 0, 1, 2], {}]", 30, 0, 0, 0},
        {"select", "[[Tensor(a), None, 1], {}]", 30, 0, 0, 0},
        {"select", "[[Tensor(a), -4, 0], {}]", 30, 0, 0, 0},
        {"select", "[[Tensor(a), 0, slice(0, 1, None)], {}]", 30, 0, 0, 0},
        {"select", "[[Tensor(a)], {index: 0, dim: 0}]", 30, 0, 0, 0},
        {"select", "[[Tensor(a)], {dim 0, index: 0}]", 30, 0, 0, 0},
        {"select", "[[Tensor(a)], {dim: 0, index: x}]", 30, 0, 0, 0},
        {"narrow", "[[Tensor(a), 0, 1], {}]", 90, 0, 0, 0},
        {"narrow", "[[Tensor(a), 0, 1, None], {}]", 90, 0, 0, 0},
        {"narrow", "[[Tensor(a), 0, -5, 1], {}]", 30, 0, 0, 0},
        {"narrow", "[[Tensor(a), 0, 3, 2], {}]", 30, 0, 0, 0},
        {"narrow", "[[Tensor(a), 0, 5, -1], {}]", 30, 0, 0, 0},
        {"slice", "[[Tensor(a), 0, 0, 1, 1, 1], {}]", 30, 0, 0, 0},
        {"slice", "[[Tensor(a), 0, Ellipsis], {}]", 120, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), 4], {}]", 30, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), Tensor(b)], {}]", 30, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), [0, 1, 2, 3]], {}]", 30, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), [0, 2]], {}]", 60, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), slice(1.0, 3, None)], {}]", 60, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), slice(3, 1, None)], {}]", 60, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), slice(0, 3, 0)], {}]", 60, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), [Ellipsis, Ellipsis]], {}]", 120, 0, 0, 0},
        {"__getitem__", "[[Tensor(a, 1], {}]", 30, 0, 0, 0},
        {"__getitem__", "[[Tensor(a), 1", 30, 0, 0, 0},
        {"__getitem__", "", 30, 0, 0, 0},
        {"select", "[[Tensor(a), 3, 0], {}]", 30, 0, 0, 0},
        {"select", "[[Tensor(a), 0], {}]", 30, 0, 0, 0},
        {"select", "[[Tensor(a), 0, None], {}]", 30, 0, 0, 0},
        {"narrow", "[[Tensor(a)], {length: 2}]", 60, 0, 0, 0},
        {"narrow", "[[Tensor(a), 0, 1, 2], {dim: 0}]", 60, 0, 0, 0},
    };
    static const uint64_t extents[] = {4, 6, 5};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_sol_layout layout = carm_sol_layout_run(0, 120);
        const bool told =
            carm_sol_slice(rows[i].type, rows[i].call, (struct carm_sol_shape){extents, 3},
                           (struct carm_sol_shape){&rows[i].out, 1}, &layout);
        fail_if(told != (rows[i].size > 0), "%s %s", rows[i].type, rows[i].call);
        if (told) {
            const struct carm_sol_layout set = carm_sol_layout_set(&layout);
            assert_int_equal(set.offset, rows[i].offset);
            assert_int_equal(carm_sol_layout_size(&set), rows[i].size);
            assert_int_equal(place(&set, rows[i].size - 1), rows[i].last);
        } else {
            assert_int_equal(carm_sol_layout_size(&layout), 120); /* as it was */
        }
    }
}
