/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulation of several cores' caches: closed forms for LRU, and what holds for any trace. */
#include <inttypes.h>

#include "models/caches/hierarchy.h"
#include "models/caches/sets.h"
#include "tests/models/caches/reference.h"
#include "tests/models/caches/simulation.h"
#include "tests/models/random.h"
#include "tests/unit.h"

enum { KIB = 1024, LINE = CARM_HIERARCHY_LINE };

/* 1 KiB direct or more, 4 KiB, 16 KiB: small, so that tests are quick */
static struct carm_hierarchy_config small(uint32_t cores)
{
    return (struct carm_hierarchy_config){
        .levels = {{1 * KIB, 2, 1}, {4 * KIB, 4, 1}, {16 * KIB, 8, cores}},
        .nlevels = 3,
        .cores = cores,
    };
}

/* One level, fully associative. */
static struct carm_hierarchy_config full(uint32_t lines)
{
    return (struct carm_hierarchy_config){
        .levels = {{(uint64_t)lines * LINE, lines, 1}}, .nlevels = 1, .cores = 1};
}

static void load(struct carm_hierarchy *h, uint32_t core, uint64_t address)
{
    carm_hierarchy_access(h, core, address, 8, CARM_ACCESS_LOAD);
}

static void store(struct carm_hierarchy *h, uint32_t core, uint64_t address)
{
    carm_hierarchy_access(h, core, address, 8, CARM_ACCESS_STORE);
}

#define REASON(c, k, r) ((int)(c).levels[k].misses[CARM_MISS_##r])

/* ---- closed forms ---- */

TEST(stream)
{
    enum { LINES = 1024, PASSES = 3 }; /* 4 times the last level */
    const struct carm_hierarchy_config config = small(1);
    struct carm_hierarchy *h = start(&config);
    for (uint64_t pass = 0; pass < PASSES; pass++) {
        for (uint64_t at = 0; at < (uint64_t)LINES * LINE; at += 8) {
            load(h, 0, at);
            store(h, 0, (UINT64_C(1) << 32) + at);
        }
    }
    const struct carm_hierarchy_counts c = finish(h);
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(c.levels[k].fills, 2 * PASSES * LINES);
        assert_int_equal(c.levels[k].writebacks, PASSES * LINES);
        assert_int_equal(REASON(c, k, COMPULSORY), 2 * LINES);
        assert_int_equal(REASON(c, k, CAPACITY), 2 * (PASSES - 1) * LINES);
        assert_int_equal(REASON(c, k, CONFLICT), 0);
        assert_int_equal(c.levels[k].wasted_bytes, 0);
        assert_true(carm_hierarchy_bytes(&c, k) == 3.0 * PASSES * LINES * LINE);
    }
    assert_int_equal(c.bytes_loaded, PASSES * LINES * LINE);
    assert_int_equal(c.bytes_stored, PASSES * LINES * LINE);
}

/* Every k-th line, 8 bytes of it: the sets that a power of two leaves out make conflicts. */
TEST(stride)
{
    enum { LINES = 12, STRIDE = 4, PASSES = 10 };
    const struct carm_hierarchy_config config = {
        .levels = {{16 * LINE, 2, 1}, {64 * LINE, 64, 1}}, .nlevels = 2, .cores = 1};
    struct carm_hierarchy *h = start(&config);
    for (uint64_t i = 0; i < (uint64_t)LINES * PASSES; i++) {
        load(h, 0, i % LINES * STRIDE * LINE);
    }
    const struct carm_hierarchy_counts c = finish(h);
    /* 12 lines fit 16, but they share 2 of the 8 sets */
    assert_int_equal(REASON(c, 0, COMPULSORY), LINES);
    assert_int_equal(REASON(c, 0, CONFLICT), LINES * (PASSES - 1));
    assert_int_equal(REASON(c, 0, CAPACITY), 0);
    assert_int_equal(c.levels[1].fills, LINES);
    assert_int_equal(c.levels[1].wasted_bytes, LINES * (LINE - 8));
    assert_int_equal(c.levels[0].wasted_bytes, LINES * PASSES * (LINE - 8));
}

/* C += A B in blocks: each block of A and B comes once for each of its products, each of C once. */
TEST(blocked_product)
{
    enum { N = 64, B = 8, BLOCKS = N / B };
    const struct carm_hierarchy_config config = full(6 * B);
    struct carm_hierarchy *h = start(&config);
    const uint64_t a = 0, b = (uint64_t)N * N * 8, c = 2 * b;
    for (uint64_t block = 0; block < (uint64_t)BLOCKS * BLOCKS * BLOCKS; block++) {
        const uint64_t bi = block / BLOCKS / BLOCKS * B;
        const uint64_t bj = block / BLOCKS % BLOCKS * B;
        const uint64_t bk = block % BLOCKS * B;
        for (uint64_t i = bi; i < bi + B; i++) {
            for (uint64_t k = bk; k < bk + B; k++) {
                load(h, 0, a + 8 * (i * N + k));
                for (uint64_t j = bj; j < bj + B; j++) {
                    load(h, 0, b + 8 * (k * N + j));
                    load(h, 0, c + 8 * (i * N + j));
                    store(h, 0, c + 8 * (i * N + j));
                }
            }
        }
    }
    const struct carm_hierarchy_counts n = finish(h);
    const uint64_t lines = B; /* of a block: its rows */
    assert_int_equal(n.levels[0].fills,
                     2 * lines * BLOCKS * BLOCKS * BLOCKS + lines * BLOCKS * BLOCKS);
    assert_int_equal(n.levels[0].writebacks, lines * BLOCKS * BLOCKS);
    assert_int_equal(n.levels[0].wasted_bytes, 0);
}

TEST(conflicting_arrays)
{
    enum { LINES = 8, SETS = 16 };
    const struct carm_hierarchy_config config = {
        .levels = {{SETS * LINE, 1, 1}}, .nlevels = 1, .cores = 1};
    struct carm_hierarchy *h = start(&config);
    for (uint64_t at = 0; at < LINES * LINE; at += 8) {
        load(h, 0, at);
        load(h, 0, at + SETS * LINE);
    }
    const struct carm_hierarchy_counts c = finish(h);
    assert_int_equal(REASON(c, 0, COMPULSORY), 2 * LINES);
    assert_int_equal(REASON(c, 0, CONFLICT), 2 * LINES * 7);
    assert_int_equal(REASON(c, 0, CAPACITY), 0);
}

/* ---- several cores ---- */

TEST(false_sharing)
{
    enum { TURNS = 100, AT_ONCE = 8 };
    const struct carm_hierarchy_config config = small(2);
    struct carm_hierarchy *h = start(&config);
    for (int i = 0; i < TURNS; i++) {
        store(h, 0, 0);
        store(h, 1, 8);
    }
    const struct carm_hierarchy_counts c = finish(h);
    assert_int_equal(REASON(c, 0, COMPULSORY), 2);
    assert_int_equal(REASON(c, 0, COHERENCE), 2 * TURNS - 2);
    assert_int_equal(REASON(c, 1, COHERENCE), 2 * TURNS - 2);
    assert_int_equal(c.invalidations, 2 * TURNS - 1);
    assert_int_equal(c.contested, 2 * TURNS - 2); /* since the second core's first */
    assert_int_equal(c.levels[2].fills, 1);       /* memory sees it once */
    assert_int_equal(c.levels[2].writebacks, 1);
    h = start(&config);
    for (int i = 0; i < TURNS; i++) { /* each keeps the line for a while */
        for (int k = 0; k < AT_ONCE; k++) {
            store(h, 0, 0);
        }
        for (int k = 0; k < AT_ONCE; k++) {
            store(h, 1, 8);
        }
    }
    const struct carm_hierarchy_counts kept = finish(h);
    assert_int_equal(REASON(kept, 0, COHERENCE), 2 * TURNS - 2);
    assert_int_equal(kept.contested, (2 * TURNS - 1) * AT_ONCE - 1);
    h = start(&config);
    for (int i = 0; i < TURNS; i++) { /* a line apart */
        store(h, 0, 0);
        store(h, 1, LINE);
    }
    const struct carm_hierarchy_counts apart = finish(h);
    assert_int_equal(REASON(apart, 0, COHERENCE), 0);
    assert_int_equal(apart.contested, 0);
}

TEST(dirty_line_is_read)
{
    const struct carm_hierarchy_config config = small(2);
    struct carm_hierarchy *h = start(&config);
    store(h, 0, 0);
    assert_int_equal(carm_hierarchy_access(h, 1, 0, 8, CARM_ACCESS_LOAD), 2);
    assert_int_equal(carm_hierarchy_access(h, 0, 0, 8, CARM_ACCESS_LOAD), 0);
    const struct carm_hierarchy_counts c = finish(h);
    assert_int_equal(c.transfers, 1);
    assert_int_equal(c.invalidations, 0);
    assert_int_equal(c.levels[1].writebacks, 1);
    assert_int_equal(c.levels[2].fills, 1);
    assert_int_equal(c.levels[2].writebacks, 1);
}

/* Each core has half of the last level's lines in use; together they fit. */
TEST(shared_last_level)
{
    enum { LINES = 128, PASSES = 4 };
    const struct carm_hierarchy_config config = small(2);
    struct carm_hierarchy *h = start(&config);
    for (uint64_t i = 0; i < (uint64_t)LINES * PASSES; i++) {
        load(h, 0, i % LINES * LINE);
        load(h, 1, (i % LINES + LINES) * LINE);
    }
    const struct carm_hierarchy_counts c = finish(h);
    assert_int_equal(c.levels[2].fills, 2 * LINES);
    assert_int_equal(c.levels[1].fills, 2 * LINES * PASSES);
}

/* ---- kinds of last levels ---- */

TEST(exclusive)
{
    enum { LINES = 20, PASSES = 5 }; /* neither level holds them, both together do */
    struct carm_hierarchy_config config = {
        .levels = {{8 * LINE, 8, 1}, {16 * LINE, 16, 1}}, .nlevels = 2, .cores = 1};
    config.last = CARM_LAST_EXCLUSIVE;
    struct carm_hierarchy *h = start(&config);
    for (uint64_t i = 0; i < (uint64_t)LINES * PASSES; i++) {
        load(h, 0, i % LINES * LINE);
    }
    struct carm_hierarchy_counts c = finish(h);
    assert_int_equal(c.levels[1].fills, LINES);
    assert_int_equal(c.levels[0].fills, LINES * PASSES);
    assert_int_equal(c.levels[0].writebacks, LINES * PASSES - 8); /* clean victims move, too */
    assert_int_equal(c.levels[1].writebacks, 0);
    config.last = CARM_LAST_NONINCLUSIVE;
    h = start(&config);
    for (uint64_t i = 0; i < (uint64_t)LINES * PASSES; i++) {
        load(h, 0, i % LINES * LINE);
    }
    c = finish(h);
    assert_int_equal(c.levels[1].fills, LINES * PASSES);
    assert_int_equal(c.levels[0].writebacks, 0);
}

/* A line that the first level keeps in use is not renewed in the last one, which replaces it. */
TEST(inclusive)
{
    enum { TURNS = 40 };
    struct carm_hierarchy_config config = {
        .levels = {{4 * LINE, 4, 1}, {8 * LINE, 8, 1}}, .nlevels = 2, .cores = 1};
    for (int inclusive = 0; inclusive < 2; inclusive++) {
        config.last = inclusive ? CARM_LAST_INCLUSIVE : CARM_LAST_NONINCLUSIVE;
        struct carm_hierarchy *h = start(&config);
        for (uint64_t i = 1; i <= TURNS; i++) {
            store(h, 0, 0);
            load(h, 0, i * LINE);
        }
        const struct carm_hierarchy_counts c = finish(h);
        /* replaced by each 8th of the others, which come back at once: 7 more lines in between */
        assert_int_equal(c.levels[1].fills, TURNS + 1 + (inclusive ? TURNS / 8 - 1 : 0));
    }
}

/* ---- replacement by a tree, non-temporal stores, prefetching ---- */

/* After 0 1 2 3 0, LRU replaces 1; the tree leads to the half that 0 is not in: 2. */
TEST(tree)
{
    for (int tree = 0; tree < 2; tree++) {
        struct carm_hierarchy_config config = full(4);
        config.tree_lru = tree;
        struct carm_hierarchy *h = start(&config);
        static const uint64_t trace[] = {0, 1, 2, 3, 0, 4};
        for (size_t i = 0; i < sizeof trace / sizeof *trace; i++) {
            load(h, 0, trace[i] * LINE);
        }
        assert_int_equal(carm_hierarchy_access(h, 0, tree ? 1 * LINE : 2 * LINE, 8, 0), 0);
        assert_int_equal(carm_hierarchy_access(h, 0, tree ? 2 * LINE : 1 * LINE, 8, 0), 1);
        carm_hierarchy_close(h);
    }
}

TEST(nontemporal)
{
    enum { LINES = 100 };
    const struct carm_hierarchy_config config = small(1);
    struct carm_hierarchy *h = start(&config);
    store(h, 0, 0);
    for (uint64_t at = 0; at < LINES * LINE; at += 16) {
        carm_hierarchy_access(h, 0, at, 16, CARM_ACCESS_STORE_NT);
    }
    carm_hierarchy_access(h, 0, LINES * LINE, 16, CARM_ACCESS_STORE_NT);
    const struct carm_hierarchy_counts c = finish(h);
    assert_int_equal(c.nt_lines, LINES);
    assert_int_equal(c.nt_partial, 1);
    assert_int_equal(c.levels[2].fills, 1);
    assert_int_equal(c.levels[2].writebacks, 1); /* the dirty copy that was thrown out */
    assert_true(carm_hierarchy_bytes(&c, 2) == (LINES + 1 + 2.0) * LINE);
    assert_true(carm_hierarchy_bytes(&c, 1) == 2.0 * LINE);
}

TEST(prefetching)
{
    enum { LINES = 640 }; /* 10 pages */
    struct carm_hierarchy_config config = small(1);
    config.streams = true;
    struct carm_hierarchy *h = start(&config);
    for (uint64_t i = 0; i < LINES; i++) {
        load(h, 0, i * LINE);
    }
    struct carm_hierarchy_counts c = finish(h);
    assert_int_equal(c.levels[2].fills, LINES); /* the same lines, sooner */
    assert_int_equal(c.levels[1].useless, 0);
    assert_int_equal(carm_hierarchy_misses(&c, 1), 3 * 10); /* that train it, in each page */
    assert_int_equal(carm_hierarchy_misses(&c, 0), LINES);
    config.streams = false;
    config.next_line = true;
    h = start(&config);
    for (uint64_t i = 0; i < LINES; i += 2) { /* and its neighbour for nothing */
        load(h, 0, i * LINE);
    }
    c = finish(h);
    assert_int_equal(c.levels[2].fills, LINES);
    assert_int_equal(c.levels[1].useless, LINES / 2);
    config.next_line = false;
    h = start(&config);
    for (uint64_t i = 0; i < LINES; i++) { /* by instructions, 2 lines ahead */
        carm_hierarchy_access(h, 0, (i + 2) * LINE, 1, CARM_ACCESS_PREFETCH);
        load(h, 0, i * LINE);
    }
    c = finish(h);
    assert_int_equal(c.prefetches, LINES);
    assert_int_equal(carm_hierarchy_misses(&c, 0), 2);
    assert_int_equal(c.levels[0].useless, 2);
    assert_int_equal(c.levels[2].fills, LINES + 2);
}

/* ---- random traces ---- */

/* Whatever several cores do: what comes in goes out, each miss has a line, no line is dirty twice. */
TEST(random_cores)
{
    for (uint64_t seed = 1; seed <= 24; seed++) {
        uint64_t x = seed * 104729;
        struct carm_hierarchy_config config = small(4);
        config.last = (enum carm_hierarchy_last)(seed % 3);
        config.tree_lru = seed % 2;
        config.next_line = config.streams = seed % 4 == 3;
        if (seed % 5 == 0) { /* two last levels */
            config.levels[1].shared_by = config.levels[2].shared_by = 2;
        }
        struct carm_hierarchy *h = start(&config);
        for (int i = 0; i < 20000; i++) {
            const uint64_t r = next_random(&x);
            carm_hierarchy_access(h, r % 4, (r >> 8) % (500 * LINE), 1U << (r >> 60) % 6,
                                  (r >> 30) % 16 == 0 ? CARM_ACCESS_STORE_NT
                                                      : (enum carm_access_kind)((r >> 34) % 2));
        }
        const struct carm_hierarchy_counts c = finish(h);
        for (size_t k = 0; k < 3; k++) {
            const struct carm_hierarchy_level_counts *l = &c.levels[k];
            assert_true(carm_hierarchy_misses(&c, k) <= l->lookups);
            assert_true(k == 0 || l->lookups <= carm_hierarchy_misses(&c, k - 1));
            assert_true(l->wasted_bytes <= l->left * LINE);
            /* but for write-backs, which bring a line in without a fill, and exclusive levels */
            assert_true(k > 0 || l->left == l->fills);
        }
        assert_int_equal(REASON(c, 2, COHERENCE) > 0, seed % 5 == 0);
        assert_true(REASON(c, 0, COHERENCE) > 0);
    }
}

/* ---- refusals ---- */

static void expect_refusal(const struct carm_hierarchy_config *config, int rc, const char *text)
{
    struct carm_hierarchy *h = NULL;
    err = (struct carm_err){""};
    assert_int_equal(carm_hierarchy_open(&h, config, &err), rc);
    assert_string_equal(err.text, text);
}

TEST(refusals)
{
    struct carm_hierarchy_config config = small(2);
    config.nlevels = 5;
    expect_refusal(&config, -CARM_EINVAL, "5 cache levels cannot be simulated: give 1 to 4");
    config = small(2);
    config.cores = 5000;
    expect_refusal(&config, -CARM_EINVAL,
                   "caches of 5000 cores cannot be simulated: give 1 to 1024");
    config = small(2);
    config.levels[1].size_bytes += 64;
    expect_refusal(&config, -CARM_EINVAL,
                   "cache level 2 has 4160 bytes in 4 ways: give whole sets of lines of 64 bytes, "
                   "4 GiB at most");
    config = small(2);
    config.levels[0] = (struct carm_hierarchy_level){768, 3, 1};
    config.tree_lru = true;
    expect_refusal(&config, -CARM_EINVAL,
                   "cache level 1 has 3 ways: a tree of bits needs a power of two, 64 at most");
    config = small(2);
    config.levels[1].shared_by = 0;
    expect_refusal(&config, -CARM_EINVAL,
                   "cache level 2 is shared by 0 cores: give a multiple of those of the level "
                   "before");
    config = small(2);
    config.buffers = 65;
    expect_refusal(&config, -CARM_EINVAL,
                   "65 write-combining buffers cannot be simulated: give at most 64");
    static const struct {
        uint32_t cores, buffers, ways,
            shared_by; /* of the levels behind the first, which two cores share */
        uint64_t bytes, levels;
        bool tree, taken;
    } limits[] = {
        {1, 64, 1, 2, 64, 4, false, true},
        {1024, 0, 64, 4, 1 << 16, 2, true, true},
        {1, 0, 16, 2, UINT64_C(1) << 32, 1, 0, 1},
        {1, 0, 16, 2, (UINT64_C(1) << 32) + 1024, 1, 0, 0},
        {0, 0, 1, 2, 64, 1, false, false},
        {1025, 0, 1, 2, 64, 1, false, false},
        {1, 0, 128, 2, 1 << 16, 1, true, false},
        {1, 0, 1, 3, 64, 2, false, false},
        {1, 0, 0, 2, 64, 1, false, false},
        {1, 0, 1, 2, 0, 1, false, false},
        {1, 0, 1, 2, 64, 0, false, false},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        config = (struct carm_hierarchy_config){.nlevels = limits[i].levels,
                                                .cores = limits[i].cores,
                                                .buffers = limits[i].buffers,
                                                .tree_lru = limits[i].tree};
        for (size_t k = 0; k < CARM_HIERARCHY_LEVELS_MAX; k++) {
            config.levels[k] = (struct carm_hierarchy_level){limits[i].bytes, limits[i].ways,
                                                             k ? limits[i].shared_by : 2};
        }
        fail_if((carm_hierarchy_check(&config, &err) == 0) != limits[i].taken, "case %zu", i);
    }
    config = small(64);
    config.memory_bytes = 10000;
    expect_refusal(&config, -CARM_ENOMEM,
                   "not enough memory to simulate the caches of 64 cores (0 MiB at most)");
}

TEST(bounded_memory)
{
    struct carm_hierarchy_config config = small(1);
    config.memory_bytes = 1 << 20;
    struct carm_hierarchy *h = start(&config);
    for (uint64_t page = 0; page < 100000; page++) {
        load(h, 0, page * 4096);
    }
    struct carm_hierarchy_counts c;
    assert_int_equal(carm_hierarchy_read(h, &c, &err), -CARM_ENOMEM);
    assert_string_equal(err.text, "the trace touches more memory than the simulation of caches can "
                                  "keep account of in 1 MiB: use a smaller problem");
    carm_hierarchy_close(h);
}

/* Counts of instructions take memory as they come: of twice the highest number, and one. */
TEST(bounded_instructions)
{
    const uint64_t room = carm_sets_bytes(1), each = sizeof(struct carm_hierarchy_counts);
    static const struct {
        uint64_t counts, less;
        uint32_t who[2];
        int rc[2];
    } cases[] = {{8, 0, {4, 8}, {0, 0}},
                 {8, 0, {4, 9}, {0, -CARM_ENOMEM}},
                 {18, 0, {4, 9}, {0, 0}},
                 {8, 1, {4, 4}, {-CARM_ENOMEM, -CARM_ENOMEM}},
                 {8, 0, {3, 7}, {0, -CARM_ENOMEM}},
                 {100, 0, {0, UINT32_MAX}, {0, -CARM_ENOMEM}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_hierarchy_config config = full(1);
        config.memory_bytes = room + cases[i].counts * each - cases[i].less;
        struct carm_hierarchy *h = start(&config);
        for (int k = 0; k < 2; k++) {
            struct carm_hierarchy_counts c;
            carm_hierarchy_by(h, cases[i].who[k]);
            assert_int_equal(carm_hierarchy_read(h, &c, &err), cases[i].rc[k]);
        }
        carm_hierarchy_close(h);
    }
}

/* A prefetch goes into the last level that there is, but for an exclusive one, which takes victims alone. */
TEST(prefetched_level)
{
    for (size_t levels = 1; levels <= 3; levels++) {
        for (int last = CARM_LAST_NONINCLUSIVE; last <= CARM_LAST_EXCLUSIVE; last++) {
            struct carm_hierarchy_config config = small(1);
            config.nlevels = levels;
            config.last = (enum carm_hierarchy_last)last;
            struct carm_hierarchy *h = start(&config);
            carm_hierarchy_access(h, 0, 0, 8, CARM_ACCESS_PREFETCH);
            carm_hierarchy_access(h, 0, LINE, 8, CARM_ACCESS_PREFETCH_L2);
            const bool first = levels == 1 || (levels == 2 && last == CARM_LAST_EXCLUSIVE);
            assert_int_equal(carm_hierarchy_access(h, 0, 0, 8, CARM_ACCESS_LOAD), 0);
            assert_int_equal(carm_hierarchy_access(h, 0, LINE, 8, CARM_ACCESS_LOAD), first ? 0 : 1);
            carm_hierarchy_close(h);
        }
    }
}

/* ---- whose lines they are ---- */

/* A loop reads lines that another one stored to, and that an exclusive last level holds: they are dirty still, and
 * their moves back and forth are the reader's. */
TEST(moved)
{
    enum { LINES = 20, PASSES = 5 };
    struct carm_hierarchy_config config = {
        .levels = {{8 * LINE, 8, 1}, {64 * LINE, 64, 1}}, .nlevels = 2, .cores = 1};
    struct carm_hierarchy_counts c;
    config.last = CARM_LAST_EXCLUSIVE;
    struct carm_hierarchy *h = start(&config);
    carm_hierarchy_by(h, 1);
    for (uint64_t i = 0; i < LINES; i++) {
        store(h, 0, i * LINE);
    }
    carm_hierarchy_by(h, 2);
    for (uint64_t i = 0; i < (uint64_t)LINES * PASSES; i++) {
        load(h, 0, i % LINES * LINE);
    }
    carm_hierarchy_read_by(h, 2, &c);
    assert_int_equal(c.levels[0].fills, LINES * PASSES);
    assert_int_equal(c.levels[0].writebacks, LINES * PASSES - 8);
    carm_hierarchy_read_by(h, 1, &c);
    assert_int_equal(c.levels[0].writebacks, LINES);
    carm_hierarchy_flush(h);
    carm_hierarchy_read_by(h, 1, &c);
    assert_int_equal(c.levels[1].writebacks, LINES); /* to memory they are the writer's */
    carm_hierarchy_close(h);
}

/* A stream of stores, every fourth line of an array, and lines that stay: each pays what it causes, also
 * where another one drives its lines out. */
TEST(whose)
{
    enum { LINES = 1024, RESIDENT = 8, PASSES = 1000 }; /* 4 times the last level */
    for (int last = CARM_LAST_NONINCLUSIVE; last <= CARM_LAST_INCLUSIVE; last++) {
        struct carm_hierarchy_config config = small(1);
        struct carm_hierarchy_counts c[4], sum, of = {.accesses = 0};
        config.last = (enum carm_hierarchy_last)last;
        struct carm_hierarchy *h = start(&config);
        carm_hierarchy_by(h, 1);
        for (uint64_t at = 0; at < (uint64_t)LINES * LINE; at += 8) {
            store(h, 0, at);
        }
        carm_hierarchy_by(h, 3);
        for (uint64_t i = 0; i < (uint64_t)LINES; i++) {
            load(h, 0, (UINT64_C(1) << 32) + 4 * i * LINE);
        }
        carm_hierarchy_by(h, 2);
        for (uint64_t i = 0; i < (uint64_t)RESIDENT * PASSES; i++) {
            load(h, 0, (UINT64_C(1) << 33) + i % RESIDENT * LINE);
        }
        carm_hierarchy_flush(h);
        assert_ok(carm_hierarchy_read(h, &sum, &err));
        of.nlevels = sum.nlevels;
        for (uint32_t i = 0; i < 4; i++) {
            carm_hierarchy_read_by(h, i, &c[i]);
            carm_hierarchy_add(&of, &c[i]);
        }
        assert_memory_equal(&of, &sum, sizeof sum);
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(c[0].levels[k].lookups, 0);
            assert_int_equal(c[1].levels[k].fills, LINES);
            assert_int_equal(c[1].levels[k].writebacks, LINES);
            assert_int_equal(c[1].levels[k].left, LINES);
            assert_int_equal(c[1].levels[k].wasted_bytes, 0);
            assert_int_equal(c[3].levels[k].fills, LINES);
            assert_int_equal(c[3].levels[k].writebacks, 0);
            assert_int_equal(c[3].levels[k].wasted_bytes, LINES * (LINE - 8));
            assert_int_equal(c[2].levels[k].fills, RESIDENT);
            assert_int_equal(REASON(c[2], k, COMPULSORY), RESIDENT);
            assert_int_equal(carm_hierarchy_misses(&c[2], k), RESIDENT);
        }
        assert_int_equal(c[2].levels[0].lookups, RESIDENT * PASSES);
        carm_hierarchy_close(h);
    }
}

/* Who makes the accesses changes nothing of their sum. */
TEST(whose_random)
{
    for (int last = CARM_LAST_NONINCLUSIVE; last <= CARM_LAST_EXCLUSIVE; last++) {
        struct carm_hierarchy_config config = small(4);
        config.last = (enum carm_hierarchy_last)last;
        config.streams = true;
        struct carm_hierarchy *one = start(&config);
        struct carm_hierarchy *many = start(&config);
        uint64_t x = 7;
        for (int i = 0; i < 100000; i++) {
            const uint64_t r = next_random(&x);
            const uint32_t core = (uint32_t)(r >> 60 & 3);
            const uint64_t at = r % (512 * LINE);
            const enum carm_access_kind kind = (enum carm_access_kind)(r >> 40 & 15);
            const enum carm_access_kind which = kind < CARM_ACCESS_KINDS ? kind : CARM_ACCESS_STORE;
            carm_hierarchy_access(one, core, at, 8, which);
            carm_hierarchy_by(many, (uint32_t)(r >> 50 & 31));
            carm_hierarchy_access(many, core, at, 8, which);
        }
        const struct carm_hierarchy_counts a = finish(one);
        const struct carm_hierarchy_counts b = finish(many);
        assert_memory_equal(&a, &b, sizeof a);
        assert_true(a.levels[1].writebacks > 0 && a.invalidations > 0 && a.nt_partial > 0);
    }
}

/* ---- random ---- */

/* Half of the accesses near the last one, so that there are hits. Writes like a program, in 8 bytes
 * mostly. */
struct random_access {
    uint64_t address;
    unsigned bytes;
    enum carm_access_kind kind;
};

static struct random_access draw(uint64_t *seed, uint64_t last, uint64_t span, bool nontemporal)
{
    const uint64_t r = next_random(seed);
    struct random_access a = {(r >> 8) % span, 8,
                              (r & 3) == 0 ? CARM_ACCESS_STORE : CARM_ACCESS_LOAD};
    if ((r & 4) != 0) {
        a.address = (last + ((r >> 40) & 127)) % span;
    }
    if ((r & 0xf0) == 0) {
        a.bytes = 1 + (unsigned)(r >> 50) % 150;
    }
    if (nontemporal && (r & 8) != 0) {
        a.kind = CARM_ACCESS_STORE_NT;
        a.bytes = (r & 0x30) == 0 ? a.bytes : 64;
        a.address = (r & 0x30) == 0 ? a.address : a.address / 64 * 64;
    }
    return a;
}

/* plant  some accesses go elsewhere. returns the number of counts that differ */
static unsigned differ(const struct carm_hierarchy_config *config, uint64_t seed, bool plant)
{
    enum { ACCESSES = 3000 };
    struct carm_hierarchy *h = start(config);
    struct reference *reference = reference_open(config);
    const uint64_t span = 32 + 64 * (seed % (REFERENCE_LINES - 8));
    uint64_t state = seed * 7919 + 1;
    uint64_t last = 0;
    for (int i = 0; i < ACCESSES; i++) {
        const struct random_access a = draw(&state, last, span, seed % 3 != 0);
        last = a.address;
        carm_hierarchy_access(h, 0, a.address + (plant && i % 64 == 0 ? 1 << 20 : 0), a.bytes,
                              a.kind);
        reference_access(reference, a.address, a.bytes, a.kind);
    }
    const struct carm_hierarchy_counts got = finish(h);
    const struct carm_hierarchy_counts want = reference_close(reference);
    unsigned wrong = got.accesses != want.accesses;
    wrong += got.bytes_loaded != want.bytes_loaded || got.bytes_stored != want.bytes_stored;
    wrong += got.nt_lines != want.nt_lines || got.nt_partial != want.nt_partial;
    for (size_t k = 0; k < config->nlevels; k++) {
        const struct carm_hierarchy_level_counts *g = &got.levels[k];
        const struct carm_hierarchy_level_counts *w = &want.levels[k];
        wrong += g->lookups != w->lookups;
        wrong += memcmp(g->misses, w->misses, sizeof g->misses) != 0;
        wrong += g->fills != w->fills;
        wrong += g->writebacks != w->writebacks;
    }
    return wrong;
}

TEST(agrees_with_the_naive_simulator)
{
    static const struct carm_hierarchy_config cases[] = {
        {.nlevels = 1, .levels = {{64, 1, 1}}},
        {.nlevels = 1, .levels = {{1024, 1, 1}}},
        {.nlevels = 1, .levels = {{960, 1, 1}}},
        {.nlevels = 1, .levels = {{1536, 8, 1}}},
        {.nlevels = 1, .levels = {{2240, 5, 1}}},
        {.nlevels = 1, .levels = {{4096, 4, 1}}},
        {.nlevels = 1, .levels = {{3072, 48, 1}}},
        {.nlevels = 1, .levels = {{8192, 128, 1}}},
        {.nlevels = 2, .levels = {{512, 2, 1}, {2048, 4, 1}}},
        {.nlevels = 2, .levels = {{768, 4, 1}, {3840, 3, 1}}},
        {.nlevels = 2, .levels = {{1024, 1, 1}, {1024, 1, 1}}},
        {.nlevels = 2, .levels = {{1024, 16, 1}, {576, 3, 1}}},
        {.nlevels = 3, .levels = {{256, 2, 1}, {768, 1, 1}, {6144, 16, 1}}},
        {.nlevels = 3, .levels = {{384, 6, 1}, {1280, 4, 1}, {4928, 7, 1}}},
    };
    unsigned found = 0;
    unsigned all = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (uint64_t seed = 1; seed <= 8; seed++) {
            struct carm_hierarchy_config config = cases[i];
            config.cores = 1;
            config.buffers = 1 + (unsigned)seed % 5;
            fail_if(differ(&config, seed * 61 + i, false),
                    "seed %" PRIu64 ", %zu levels, the first %" PRIu64 " bytes in %" PRIu32 " ways",
                    seed * 61 + i, config.nlevels, config.levels[0].size_bytes,
                    config.levels[0].ways);
            found += differ(&config, seed * 61 + i, true) > 0;
            all++;
        }
    }
    assert_int_equal(found, all);
}

/* LRU is a stack algorithm (Mattson et al. 1970): a larger fully associative cache has all that a
 * smaller one has. */
TEST(larger_ones_never_miss_more)
{
    uint64_t before = UINT64_MAX;
    for (uint32_t lines = 1; lines <= 256; lines += 1 + lines / 4) {
        const struct carm_hierarchy_config config = {
            .levels = {{lines * UINT64_C(64), lines, 1}}, .nlevels = 1, .cores = 1};
        struct carm_hierarchy *h = start(&config);
        uint64_t seed = 42;
        uint64_t last = 0;
        for (int i = 0; i < 4000; i++) {
            const struct random_access a = draw(&seed, last, 12800, false);
            last = a.address;
            carm_hierarchy_access(h, 0, a.address, a.bytes, a.kind);
        }
        const struct carm_hierarchy_counts c = finish(h);
        assert_true(c.levels[0].fills <= before);
        assert_int_equal(c.levels[0].misses[CARM_MISS_CONFLICT], 0);
        before = c.levels[0].fills;
    }
}
