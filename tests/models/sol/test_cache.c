/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What spills from a chip of finite storage, in graphs small enough to follow by hand. */
#include "models/sol/cache.h"
#include "tests/models/sol/build.h"
#include "tests/unit.h"

enum { ROOM = 32 };

struct spill {
    uint64_t layers[ROOM], total, peak;
};

static struct spill spill_bytes(const struct carm_sol_graph *g, uint64_t capacity,
                                enum carm_sol_precision precision, enum carm_sol_policy policy)
{
    struct spill s;
    memset(&s, 0xa5, sizeof s);
    assert_ok(sol_spill(g, capacity, precision, policy, s.layers, &s.total, &s.peak, &err));
    uint64_t sum = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        sum += s.layers[i];
    }
    assert_int_equal(s.total, sum);
    return s;
}

/* at int8 an element is a byte */
static struct spill spill(const struct carm_sol_graph *g, uint64_t capacity,
                          enum carm_sol_policy policy)
{
    return spill_bytes(g, capacity, CARM_SOL_INT8, policy);
}

static struct carm_sol_graph *open_graph(void)
{
    return sol_build_open(ROOM, 4 * ROOM, 4 * ROOM);
}

/* x -> a -> b -> c -> y, 10 elements each: two tensors are alive at a time */
TEST(a_chain)
{
    struct carm_sol_graph *g = open_graph();
    for (uint32_t i = 0; i < 4; i++) {
        sol_op(g, 10, IN(i, 10), OUT(i + 1, 10));
    }
    for (int p = 0; p < 2; p++) {
        const enum carm_sol_policy policy = (enum carm_sol_policy)p;
        struct spill s = spill(g, 20, policy);
        assert_int_equal(s.total, 0);
        assert_int_equal(s.peak, 20);
        /* with room for one, every other tensor stays: a does, b goes to memory, c stays */
        s = spill(g, 19, policy);
        assert_int_equal(s.total, 20);
        assert_int_equal(s.layers[1], 10);
        assert_int_equal(s.layers[2], 10);
        s = spill(g, 9, policy);
        assert_int_equal(s.total, 60);
        s = spill(g, UINT64_MAX, policy);
        assert_int_equal(s.total, 0);
    }
}

/* a [10] is needed again after b [20] and c [20] */
TEST(a_residual)
{
    struct carm_sol_graph *g = open_graph();
    enum { X, A, B, C, D, Y };
    sol_op(g, 10, IN(X, 10), OUT(A, 10));
    sol_op(g, 20, IN(A, 10), OUT(B, 20));
    sol_op(g, 20, IN(B, 20), OUT(C, 20));
    sol_op(g, 10, IN(C, 20), OUT(D, 10));
    sol_op(g, 10, IN(D, 10), IN(A, 10), OUT(Y, 10));
    for (int p = 0; p < 2; p++) {
        const enum carm_sol_policy policy = (enum carm_sol_policy)p;
        assert_int_equal(spill(g, 50, policy).peak, 50);
        assert_int_equal(spill(g, 50, policy).total, 0);
        /* a makes room for c: written by the first layer, read again by the last */
        const struct spill s = spill(g, 40, policy);
        assert_int_equal(s.layers[0], 10);
        assert_int_equal(s.layers[4], 10);
        assert_int_equal(s.total, 20);
    }
}

/* Three tensors wait; the one that is used last but longest ago is the one that LRU throws out. */
TEST(the_policies_differ)
{
    struct carm_sol_graph *g = open_graph();
    enum { X, A, B, C, D, YA, YB, YC, YD };
    sol_op(g, 10, IN(X, 1), OUT(A, 10));
    sol_op(g, 10, IN(X, 1), OUT(B, 10));
    sol_op(g, 10, IN(X, 1), OUT(C, 10));
    sol_op(g, 1, IN(A, 10), OUT(YA, 1));
    sol_op(g, 1, IN(B, 10), OUT(YB, 1));
    sol_op(g, 1, IN(C, 10), OUT(YC, 1));
    struct spill s = spill(g, 20, CARM_SOL_LRU);
    assert_int_equal(s.peak, 30);
    assert_int_equal(s.layers[0], 10);
    assert_int_equal(s.layers[3], 10);
    assert_int_equal(s.total, 20);
    s = spill(g, 20, CARM_SOL_FARTHEST);
    assert_int_equal(s.layers[2], 10);
    assert_int_equal(s.layers[5], 10);
    assert_int_equal(s.total, 20);

    /* a, read every time, and others in between: farthest keeps what is read next */
    g = open_graph();
    sol_op(g, 10, IN(X, 1), OUT(A, 10));
    sol_op(g, 10, IN(X, 1), OUT(B, 10));
    sol_op(g, 10, IN(X, 1), OUT(C, 10));
    sol_op(g, 1, IN(A, 10), OUT(YA, 1));
    sol_op(g, 1, IN(B, 10), OUT(YB, 1));
    sol_op(g, 1, IN(A, 10), OUT(YC, 1));
    sol_op(g, 1, IN(C, 10), OUT(YD, 1));
    /* LRU: c throws out a; a comes back in place of b, b misses and has no further reader */
    s = spill(g, 20, CARM_SOL_LRU);
    assert_int_equal(s.layers[0], 10);
    assert_int_equal(s.layers[3], 10);
    assert_int_equal(s.layers[1], 10);
    assert_int_equal(s.layers[4], 10);
    assert_int_equal(s.total, 40);
    /* farthest: c is needed last and goes at once */
    s = spill(g, 20, CARM_SOL_FARTHEST);
    assert_int_equal(s.layers[2], 10);
    assert_int_equal(s.layers[6], 10);
    assert_int_equal(s.total, 20);
}

/* one tensor with three readers: written once, read three times where there is no room */
TEST(fan_out)
{
    struct carm_sol_graph *g = open_graph();
    enum { X, A, Y1, Y2, Y3 };
    sol_op(g, 10, IN(X, 10), OUT(A, 10));
    sol_op(g, 10, IN(A, 10), OUT(Y1, 10));
    sol_op(g, 10, IN(A, 10), IN(A, 10), OUT(Y2, 10)); /* reads it twice */
    sol_op(g, 10, IN(A, 10), OUT(Y3, 10));
    for (int p = 0; p < 2; p++) {
        const struct spill s = spill(g, 9, (enum carm_sol_policy)p);
        assert_int_equal(s.layers[0], 10);
        assert_int_equal(s.layers[1], 10);
        assert_int_equal(s.layers[2], 20);
        assert_int_equal(s.layers[3], 10);
        assert_int_equal(spill(g, 10, (enum carm_sol_policy)p).total, 0);
    }
}

/* larger than the chip: it goes alone, the others stay */
TEST(too_large_to_stay)
{
    struct carm_sol_graph *g = open_graph();
    enum { X, A, BIG, B, Y };
    sol_op(g, 10, IN(X, 10), OUT(A, 10));
    sol_op(g, 100, IN(A, 10), OUT(BIG, 100));
    sol_op(g, 10, IN(BIG, 100), OUT(B, 10));
    sol_op(g, 10, IN(A, 10), IN(B, 10), OUT(Y, 10));
    for (int p = 0; p < 2; p++) {
        const struct spill s = spill(g, 99, (enum carm_sol_policy)p);
        assert_int_equal(s.layers[1], 100);
        assert_int_equal(s.layers[2], 100);
        assert_int_equal(s.total, 200);
    }
}

/* A view's readers read what it looks at; a slice is a tensor of its own that was never written. */
TEST(views_and_slices)
{
    struct carm_sol_graph *g = open_graph();
    enum { X, A, AV, S, SV, Y, Z };
    sol_op(g, 40, IN(X, 40), OUT(A, 40));
    sol_kind(g, CARM_SOL_VIEW, IN(A, 40), OUT(AV, 40));
    sol_kind(g, CARM_SOL_SLICE, IN(AV, 40), OUT(S, 15));
    sol_kind(g, CARM_SOL_VIEW, IN(S, 15), OUT(SV, 15));
    sol_op(g, 15, IN(SV, 15), OUT(Y, 15));
    sol_op(g, 40, IN(AV, 40), OUT(Z, 40));
    const struct spill none = spill(g, 55, CARM_SOL_LRU);
    assert_int_equal(none.total, 0);
    assert_int_equal(none.peak, 55);
    const struct spill all = spill(g, 0, CARM_SOL_LRU);
    const uint64_t wanted[] = {40, 0, 15, 0, 15, 40};
    assert_memory_equal(all.layers, wanted, sizeof wanted);
    /* the slice goes past the chip, a stays */
    const struct spill some = spill(g, 40, CARM_SOL_LRU);
    assert_int_equal(some.layers[4], 15);
    assert_int_equal(some.total, 15);
}

/* A cache of keys that an operation scatters into does not fit: what is written is small, what its
 * reader moves is all of it. */
TEST(a_cache_of_keys)
{
    struct carm_sol_graph *g = open_graph();
    enum { CACHE, NEW, K, UPDATED, SCORES };
    sol_kind(g, CARM_SOL_START, OUT(CACHE, 1000));
    sol_kind(g, CARM_SOL_START, OUT(NEW, 5));
    sol_op(g, 5, IN(NEW, 5), OUT(K, 5));
    sol_kind(g, CARM_SOL_SCATTER, IN(CACHE, 1000), IN(K, 5), OUT(UPDATED, 1000));
    sol_matmul(g, 1000, IN(UPDATED, 1000), OUT(SCORES, 10));
    const struct spill s = spill(g, 500, CARM_SOL_FARTHEST);
    assert_int_equal(s.layers[3], 5);
    assert_int_equal(s.layers[4], 1000);
    assert_int_equal(s.total, 1005);
    assert_int_equal(spill(g, 1005, CARM_SOL_LRU).total, 0);
    assert_int_equal(spill(g, 1005, CARM_SOL_LRU).peak, 1005);
}

/* room is in bytes, and half a byte takes a whole one */
TEST(room_is_in_bytes)
{
    struct carm_sol_graph *g = open_graph();
    sol_op(g, 9, IN(0, 9), OUT(1, 9));
    sol_op(g, 9, IN(1, 9), OUT(2, 9));
    assert_int_equal(spill_bytes(g, 36, CARM_SOL_FP32, CARM_SOL_LRU).total, 0);
    assert_int_equal(spill_bytes(g, 35, CARM_SOL_FP32, CARM_SOL_LRU).total, 18);
    assert_int_equal(spill_bytes(g, 5, CARM_SOL_NVFP4, CARM_SOL_LRU).total, 0);
    assert_int_equal(spill_bytes(g, 4, CARM_SOL_NVFP4, CARM_SOL_LRU).total, 18);
    assert_int_equal(spill_bytes(g, 0, CARM_SOL_NVFP4, CARM_SOL_LRU).peak, 5);
}

/* tensors without a byte are there, even with no room */
TEST(empty_tensors)
{
    struct carm_sol_graph *g = open_graph();
    sol_op(g, 0, IN(0, 3), OUT(1, 0));
    sol_op(g, 1, IN(1, 0), OUT(2, 1));
    assert_int_equal(spill(g, 0, CARM_SOL_LRU).total, 0);
    assert_int_equal(spill(g, 0, CARM_SOL_FARTHEST).peak, 0);
}

static void refuse(struct carm_sol_graph *g, enum carm_sol_precision precision, const char *words)
{
    uint64_t layers[ROOM];
    uint64_t total = 0;
    err = (struct carm_err){""};
    assert_int_equal(sol_spill(g, 1, precision, CARM_SOL_LRU, layers, &total, NULL, &err),
                     -CARM_EFORMAT);
    fail_if(!strstr(err.text, words), "\"%s\" lacks \"%s\"", err.text, words);
}

TEST(sums_past_the_end_are_refused)
{
    struct carm_sol_graph *g = open_graph();
    sol_op(g, 1, IN(0, 1), OUT(1, INT64_MAX / 2));
    sol_op(g, 1, IN(1, 1), OUT(2, 1));
    refuse(g, CARM_SOL_FP32, "tensor tensor has more than 2^63-1 bytes");
    g = open_graph();
    sol_op(g, 1, IN(0, 1), OUT(1, INT64_MAX));
    sol_op(g, 1, IN(0, 1), OUT(2, INT64_MAX));
    sol_op(g, 1, IN(1, 1), IN(2, 1), OUT(3, 1));
    refuse(g, CARM_SOL_INT8, "alive at once");
    g = open_graph();
    sol_op(g, 1, IN(0, 1), OUT(1, INT64_MAX));
    sol_op(g, 1, IN(1, INT64_MAX), OUT(2, 1));
    refuse(g, CARM_SOL_INT8, "intermediates spill");
}
